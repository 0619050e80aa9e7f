/* Over-commit on a real model: whoever was parked says to the bit what it would have said undisturbed, whether its
 * pages were copied to host memory or computed again. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE, SEQS = 4, PROMPT = P + 5, NEW = 5 * P };

static const struct engine_ops *const ops = &engine_local;

struct said { /* to the bit */
    struct engine_token token[NEW];
    struct engine_top top[NEW];
    char text[3 * NEW];
};

static struct engine *open_engine(const char *backend, enum ktype kv, struct engine_config cfg)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    cfg.model = tiny_file(&t, NULL, "parked.gguf");
    cfg.backend = backend;
    cfg.kern = (struct kern_config){.threads = 2};
    cfg.kv_type = kv;
    cfg.max_rows = 24;
    cfg.ctx = 8 * P;
    cfg.max_seqs = SEQS;
    cfg.template = -1;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* All four at once; what they said, and the figures at the end. */
static struct engine_snapshot run(struct engine *e, struct said *said)
{
    struct engine_event ev[64];
    struct err err = {0};
    int id[SEQS];
    static int32_t ids[PROMPT];
    uint32_t seed = 3;
    for (int i = 0; i < SEQS; i++) {
        for (int k = 0; k < PROMPT; k++) ids[k] = TINY_BYTE0 + tiny_below(&seed, 256);
        struct request r = {.ids = ids, .n_ids = PROMPT, .max_tokens = NEW, .top_n = KERN_TOP, .ignore_end = true,
                            .sampling = {.temp = 0.9f, .top_p = 0.95f, .repeat = 1.2f, .recent = -1, .seed = 7}};
        CHECK_EQ(ops->submit(e, &r, &id[i], &err), 0);
    }
    while (ops->step(e, ev, 64, &err) > 0)
        if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_STR(err.text, "");
    memset(said, 0, SEQS * sizeof *said);
    for (int i = 0; i < SEQS; i++) {
        const struct answer *a = ops->answer(e, id[i]);
        CHECK_EQ(atomic_load(&a->n_tokens), NEW);
        memcpy(said[i].token, a->token, sizeof said->token);
        memcpy(said[i].top, a->top, sizeof said->top);
        memcpy(said[i].text, a->text, atomic_load(&a->text_len));
    }
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    ops->close(e);
    return s;
}

static void compare(const char *backend, enum ktype kv)
{
    static struct said calm[SEQS], parked[SEQS];
    struct engine_snapshot s = run(open_engine(backend, kv, (struct engine_config){0}), calm);
    CHECK_EQ(s.parkings, 0);
    for (int kept = 0; kept <= 2; kept++) { /* in host memory: nothing, one sequence's pages, all */
        struct engine_config cfg = {.overcommit = true, .pool_tokens = 12 * P,
                                    .park_bytes = kept == 0 ? 0 : kept == 1 ? 45000 : 1 << 20};
        s = run(open_engine(backend, kv, cfg), parked);
        CHECK(s.parkings > 0 && s.parkings == s.resumes && s.park_used == 0);
        if (kept == 0) CHECK(s.recomputed > 0 && s.park_bytes == 0);
        if (kept == 2) CHECK_EQ(s.recomputed, 0);
        CHECK_MEM(calm, parked, sizeof calm);
    }
}

TEST(parked_cpu_f16) { compare("cpu", KT_F16); }
TEST(parked_cpu_f32) { compare("cpu", KT_F32); }
TEST(parked_ref_f16) { compare("ref", KT_F16); }

CHECK_MAIN
