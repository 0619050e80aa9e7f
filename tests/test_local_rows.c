/* A row's result is a function of that row's tokens and positions only: the same bits alone or in company, for every
 * cut of the prompt, as pre-fill or as decode, on any number of threads. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { SEQS = 5, MOST = 90, NEW = 12 };

struct said { /* what a request gave, to the bit */
    float prompt_logprob[MOST];
    struct engine_token token[NEW];
    struct engine_top top[NEW];
    int n;
};

static const struct engine_ops *const ops = &engine_local;
static int32_t prompt[SEQS][MOST];
static int n_prompt[SEQS];

static void make_prompts(uint32_t *seed)
{
    for (int s = 0; s < SEQS; s++) {
        n_prompt[s] = s == 0 ? 1 : 1 + tiny_below(seed, MOST);
        for (int i = 0; i < n_prompt[s]; i++) prompt[s][i] = TINY_BYTE0 + tiny_below(seed, 256);
    }
}

static int submit(struct engine *e, int s)
{
    int id;
    struct err err = {0};
    struct request r = {.ids = prompt[s],
                        .n_ids = n_prompt[s],
                        .max_tokens = NEW,
                        .sampling = SAMPLING_GREEDY,
                        .top_n = KERN_TOP,
                        .score = true,
                        .ignore_end = true};
    if (s % 2) { /* half of them by drawing: the generator must not know about company either */
        r.sampling = (struct sampling){
            .temp = 0.9f, .top_p = 0.95f, .top_k = 40, .repeat = 1.1f, .recent = 16, .seed = (uint64_t)s};
    }
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static void read_answer(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    memset(out, 0, sizeof *out);
    out->n = atomic_load(&a->n_tokens);
    CHECK_EQ(out->n, NEW);
    memcpy(out->prompt_logprob, a->prompt_logprob, (size_t)a->n_prompt * sizeof(float));
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
}

/* All prompts through one engine; company: all at once (some joining late), else one after the other. */
static void say_all(const char *path, const struct kern_config *kern, enum ktype kv, int max_rows, bool company,
                    uint32_t *seed, struct said out[SEQS])
{
    struct err err = {0};
    struct engine_event ev[64];
    struct engine_config cfg = {.model = path,
                                .kern = *kern,
                                .kv_type = kv,
                                .max_rows = max_rows,
                                .ctx = 128,
                                .max_seqs = SEQS,
                                .template = -1};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    int id[SEQS];
    for (int s = 0; s < SEQS; s++) {
        id[s] = submit(e, s);
        int steps = company ? tiny_below(seed, 4) : 1 << 20;
        while (steps-- > 0 && ops->step(e, ev, 64, &err) > 0) continue;
    }
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
    for (int s = 0; s < SEQS; s++) read_answer(e, id[s], &out[s]);
    ops->close(e);
}

static void check_same(const struct said *a, const struct said *b)
{
    for (int s = 0; s < SEQS; s++) CHECK_MEM(&a[s], &b[s], sizeof *a);
}

static void check_isa(const char *isa)
{
    static const struct {
        const char *arch;
        enum ktype type;
    } kind[] = {{"llama", KT_F32}, {"llama", KT_F16}, {"qwen2", KT_Q8_0}};
    static struct said alone[SEQS], now[SEQS];
    struct err err = {0};
    struct kern_config cfg = {.isa = isa, .threads = 1};
    struct kdev *d = kern_cpu()->open(&cfg, &err);
    if (!d) SKIP("this machine cannot: %s", err.text);
    kern_cpu()->close(d);
    uint32_t seed = 3;
    for (size_t k = 0; k < COUNT_OF(kind); k++) {
        struct tiny t = TINY_LLAMA;
        t.arch = kind[k].arch;
        t.type = kind[k].type;
        const char *path = tiny_file(&t, NULL, "rows.gguf");
        enum ktype kv = k % 2 ? KT_F32 : KT_F16;
        make_prompts(&seed);
        cfg.threads = 1;
        say_all(path, &cfg, kv, 256, false, &seed, alone);
        for (int round = 0; round < 6; round++) {
            cfg.threads = 1 + tiny_below(&seed, 4);
            say_all(path, &cfg, kv, SEQS + 1 + tiny_below(&seed, 60), round % 3 != 0, &seed, now);
            check_same(alone, now);
        }
    }
}

TEST(rows_do_not_know_their_company_portable) { check_isa("portable"); }
TEST(rows_do_not_know_their_company_avx2) { check_isa("avx2"); }
TEST(rows_do_not_know_their_company_avxvnni) { check_isa("avxvnni"); }
TEST(rows_do_not_know_their_company_avx512) { check_isa("avx512"); }

CHECK_MAIN
