/* A row's result is a function of that row's tokens and positions only: the same bits alone or in company, for every
 * cut of the prompt, as pre-fill or as decode, on any number of threads: of each type of weights, with each type of
 * pages, in each instruction set. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { SEQS = 5, MOST = 90, NEW = 12, ROUNDS = CHECK_SANITIZED ? 1 : 4 };

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
    for (int i = 0; i < NEW; i++) CHECK(isfinite(a->token[i].logprob)); /* bits of no number would always be the same */
    memcpy(out->prompt_logprob, a->prompt_logprob, (size_t)a->n_prompt * sizeof(float));
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
}

/* All prompts through one engine; company: all at once (some joining late), else one after the other. */
static void say_all(const char *path, const char *backend, const struct kern_config *kern, enum ktype kv, int max_rows,
                    bool company, uint32_t *seed, struct said out[SEQS])
{
    struct err err = {0};
    struct engine_event ev[64];
    struct engine_config cfg = {.model = path,
                                .backend = backend,
                                .kern = *kern,
                                .kv_type = kv,
                                .max_rows = max_rows,
                                .step_rows = max_rows % 2 ? SEQS + 1 : 0, /* longer passes in several steps, or none */
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

static void check_same(const struct said *alone, const struct said *now, const char *what)
{
    for (int s = 0; s < SEQS; s++)
        if (memcmp(&alone[s], &now[s], sizeof *alone))
            check_fail(__FILE__, __LINE__, "%s: request %d, a prompt of %d tokens, has other bits", what, s,
                       n_prompt[s]);
}

/* Rows are whole blocks, and heads too where a page may be of Q8_0; the smallest that is both. */
static const char *model_of(enum ktype type, uint32_t seed)
{
    const int block = ktype_info(type)->block, embd = block > 64 ? block : 64, heads = embd > 64 ? 4 : 2;
    static const char *const arch[] = {"qwen2", "llama", "qwen3"};
    const struct tiny t = {.arch = arch[seed % 3], .layers = embd > 64 ? 1 : 2, .embd = embd,
                           .heads = heads, .kv_heads = heads / 2, .ff = block > 96 ? 2 * block : 96, .type = type,
                           .seed = seed};
    return tiny_file(&t, NULL, "rows.gguf");
}

/* One after the other on one thread, and then in company, cut by other sizes of passes, on other numbers of threads. */
static void check_pair(const char *isa, enum ktype type, enum ktype kv, uint32_t *seed)
{
    static struct said alone[SEQS], now[SEQS];
    struct kern_config cfg = {.isa = isa, .threads = 1};
    const char *path = model_of(type, 1 + (uint32_t)type);
    char what[96];
    snprintf(what, sizeof what, "%s, %s weights, %s pages", isa, ktype_info(type)->name, ktype_info(kv)->name);
    make_prompts(seed);
    say_all(path, "cpu", &cfg, kv, 256, false, seed, alone);
    for (int round = 0; round < ROUNDS; round++) {
        cfg.threads = 1 + tiny_below(seed, 4);
        say_all(path, "cpu", &cfg, kv, SEQS + 1 + tiny_below(seed, 60), round % 3 != 0, seed, now);
        check_same(alone, now, what);
    }
}

/* Each type of weights that the loader reads with each type of pages.  Under a sanitizer, unless PLIMSOLL_FULL=1, each
 * meets one type of pages in an instruction set, and the next one in the next: so all three, where there are three.
 * Threads do the same with all weights: TSan has every third type. */
static void check_isa(const char *isa, int turn)
{
    static const enum ktype pages[] = {KT_F16, KT_Q8_0, KT_F32};
    const bool all = !CHECK_SANITIZED || getenv("PLIMSOLL_FULL");
    const int n_pages = (int)COUNT_OF(pages);
    struct err err = {0};
    if (CHECK_TSAN && strcmp(isa, "avx2") != 0) SKIP("threads do the same in all instruction sets: avx2 alone");
    struct kdev *d = kern_cpu()->open(&(struct kern_config){.isa = isa, .threads = 1}, &err);
    if (!d) SKIP("this machine cannot: %s", err.text);
    kern_cpu()->close(d);
    uint32_t seed = 3;
    for (uint32_t type = 0; type < KT_END; type++) {
        const struct ktype_info *t = ktype_info(type);
        if (!t || !t->usable) continue;
        for (int k = 0; k < n_pages; k++)
            if (all || (k == turn % n_pages && !(CHECK_TSAN && type % 3))) check_pair(isa, (enum ktype)type, pages[k], &seed);
        turn++;
    }
}

TEST(rows_do_not_know_their_company_portable) { check_isa("portable", 0); }
TEST(rows_do_not_know_their_company_avx2) { check_isa("avx2", 1); }
TEST(rows_do_not_know_their_company_avxvnni) { check_isa("avxvnni", 2); }
TEST(rows_do_not_know_their_company_avx512) { check_isa("avx512", 2); }

/* Rows of one expert come together in company, and alone each is by itself. */
static void check_mixture(const char *backend, const char *arch, enum ktype type, int shared)
{
    static struct said alone[SEQS], now[SEQS];
    const struct tiny t = {.arch = arch, .layers = 2, .window = 40, .embd = 64, .heads = 2,
                           .kv_heads = 1, .ff = 64, .type = type, .seed = 9, .experts = 7, .used = 3, .shared = shared};
    struct kern_config cfg = {.threads = 1};
    uint32_t seed = 5;
    const char *path = tiny_file(&t, NULL, "mix.gguf");
    make_prompts(&seed);
    say_all(path, backend, &cfg, KT_F16, 256, false, &seed, alone);
    for (int round = 0; round < 2; round++) {
        cfg.threads = 1 + tiny_below(&seed, 4);
        say_all(path, backend, &cfg, KT_F16, SEQS + 1 + tiny_below(&seed, 60), true, &seed, now);
        check_same(alone, now, "a mixture of experts");
    }
}

TEST(rows_of_a_mixture_do_not_know_their_company)
{
    static const char *const backend[] = {"ref", "cpu"};
    for (size_t i = 0; i < COUNT_OF(backend); i++) {
        check_mixture(backend[i], "llama", KT_F32, 0);
        check_mixture(backend[i], "qwen3moe", KT_Q8_0, 0);
        check_mixture(backend[i], "gpt-oss", KT_MXFP4, 0);
        check_mixture(backend[i], "qwen2moe", KT_Q4_0, 96);
    }
}

CHECK_MAIN
