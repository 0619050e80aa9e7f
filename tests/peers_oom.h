/* peers_oom.h - the words of test_peers_oom.c and test_peers_fit.c: a small engine on a backend that counts what is
 * taken of it, requests made of numbers, and answers that came whole. */
#ifndef PEERS_OOM_H
#define PEERS_OOM_H
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"

enum { MOST = 512, NEW = 16, KEEP = 64 };

static const struct engine_ops *const ops = &engine_local;

static inline const char *model_path(void)
{
    static const char *path;
    struct tiny t = TINY_LLAMA;
    if (!path) path = tiny_file(&t, NULL, "peers.gguf");
    return path;
}

static inline struct engine_config config(void)
{
    return (struct engine_config){.model = model_path(), .kernels = shim_kern(kern_cpu()), .kern = {.threads = 1},
                                  .kv_type = KT_F16, .ctx = 128, .max_seqs = 4, .max_rows = 32, .template = -1,
                                  .vram = 256 << 20};
}

static inline struct engine *open_one(const struct engine_config *cfg)
{
    struct err err = {0};
    shim = (struct shim){0};
    struct engine *e = ops->open(cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* Refused with these words, and nothing was taken, or even opened, for it. */
static inline void check_refused(const struct engine_config *cfg, int code, const char *words)
{
    struct err err = {0};
    shim = (struct shim){0};
    CHECK(!ops->open(cfg, &err));
    CHECK_EQ(err.code, code);
    if (!strstr(err.text, words)) CHECK_STR(err.text, words);
    CHECK_EQ(shim.calls, 0);
}

/* n tokens that are the same for the same `what`. */
static inline const int32_t *words_of(uint32_t what, int n)
{
    static int32_t ids[KEEP][MOST];
    static int next;
    int32_t *out = ids[next++ % KEEP];
    for (int i = 0; i < n; i++) out[i] = TINY_BYTE0 + tiny_below(&what, 256);
    return out;
}

static inline struct request asking(const int32_t *ids, int n, int max_tokens)
{
    return (struct request){.ids = ids, .n_ids = n, .max_tokens = max_tokens, .ignore_end = true,
                            .sampling = SAMPLING_GREEDY};
}

static inline int submit(struct engine *e, const struct request *r)
{
    int id = 0;
    struct err err = {0};
    ops->submit(e, r, &id, &err);
    CHECK_STR(err.text, "");
    return id;
}

static inline int submit_ids(struct engine *e, uint32_t what, int n, int max_tokens)
{
    struct request r = asking(words_of(what, n), n, max_tokens);
    return submit(e, &r);
}

/* Until nothing is left to do; how many passes that took. */
static inline int run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    int steps = 0;
    while (ops->step(e, ev, 64, &err) > 0) CHECK(++steps < 20000);
    CHECK_STR(err.text, "");
    return steps;
}

static inline enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

/* It ended with all its tokens; they are put into out, and it is dropped. */
static inline void take_whole(struct engine *e, int id, int max_tokens, int32_t *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(end_of(e, id), END_LENGTH);
    CHECK_EQ(atomic_load(&a->n_tokens), max_tokens);
    for (int i = 0; out && i < max_tokens; i++) out[i] = a->token[i].id;
    ops->drop(e, id);
}

static inline struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

/* Nothing was taken from the device after open, and all of it is in the ledger. */
static inline void check_taken(struct engine *e)
{
    const struct engine_info *i = ops->info(e);
    CHECK_EQ(shim.slabs, 3);
    CHECK_EQ(shim.of[SHIM_TAKE], 3);
    CHECK_EQ(shim.most, i->weight_bytes + i->work_bytes + i->kv_bytes);
    CHECK_EQ(shim.most, i->ledger.bytes[LEDGER_WEIGHTS] + i->ledger.bytes[LEDGER_KV] +
                            i->ledger.bytes[LEDGER_ACTIVATIONS] + i->ledger.bytes[LEDGER_SCRATCH] +
                            i->ledger.bytes[LEDGER_LOGITS]);
}

/* The ledger of a configuration, as the engine would have it. */
static inline struct ledger ledger_of(const struct engine_config *cfg)
{
    struct engine *e = open_one(cfg);
    struct ledger l = ops->info(e)->ledger;
    ops->close(e);
    return l;
}
#endif
