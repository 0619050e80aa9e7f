/* test_cuda_answers.c - the whole engine on the CUDA kernels, compiled for the host (tests/cuda_on_cpu/): the same
 * tokens as the CPU backend gives, and the same bits alone and in company.
 *
 * Tolerance between the backends: both see the same integers; float sums go in another order, and K and V, rounded to
 * half, may differ in a last bit, 2^-11 of a value.  Scores, two layers and the output make some 10 of these of a logit
 * of deviation 1: 0.01 holds that twice.  Greedy tokens are compared where the best is further ahead than that. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/tiny_model.h"
#include <pthread.h>

enum { SEQS = 3, FRONT = 2 * KERN_PAGE + 5, MOST = FRONT + 30, NEW = CHECK_SANITIZED ? 6 : 16 };
static const struct engine_ops *const ops = &engine_local;

struct prompt {
    int32_t id[MOST];
    int n;
};

static void make_prompts(uint32_t *seed, struct prompt *p)
{
    for (int s = 0; s < SEQS; s++) {
        p[s].n = FRONT + 1 + tiny_below(seed, MOST - FRONT);
        for (int i = 0; i < p[s].n; i++)
            p[s].id[i] = s > 0 && i < FRONT ? p[0].id[i] : TINY_BYTE0 + tiny_below(seed, 256);
    }
}

static struct engine *open_drafting(const char *path, const char *backend, int max_rows, int drafts)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .backend = backend, .max_rows = max_rows, .ctx = 128, .max_seqs = SEQS,
                                .template = -1, .drafts = drafts};
    shim_apart();
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static struct engine *open_engine(const char *path, const char *backend, int max_rows)
{
    return open_drafting(path, backend, max_rows, DRAFTS_NONE);
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
}

static int submit_of(struct engine *e, const struct prompt *p, float temp, const uint32_t *allowed)
{
    int id;
    struct err err = {0};
    struct request r = {.ids = p->id, .n_ids = p->n, .max_tokens = NEW, .top_n = 2, .ignore_end = true,
                        .allowed = allowed,
                        .sampling = {.temp = temp, .top_p = 0.9f, .repeat = 1, .seed = 5}};
    int rc = ops->submit(e, &r, &id, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return id;
}

static int submit(struct engine *e, const struct prompt *p, float temp) { return submit_of(e, p, temp, NULL); }

struct said {
    struct engine_token token[NEW];
    struct engine_top top[NEW];
};

static void take(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
    ops->drop(e, id);
}

static const char *model_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.type = type;
    return tiny_file(&t, NULL, "cuda.gguf");
}

/* With factors on embeddings, sums, scores and logits. */
static const char *granite_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.arch = "granite";
    t.type = type;
    memcpy(t.scales, (const float[]){1.5f, 0.6f, 0.4f, 1.25f}, sizeof t.scales);
    return tiny_file(&t, NULL, "cuda.gguf");
}

static const char *mistral_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.arch = "mistral3";
    t.type = type;
    t.temper = 0.8f;
    return tiny_file(&t, NULL, "cuda.gguf");
}

/* Of floats: a value that lies at the edge of two integers moves a tiny model's rows by more than the bound here, since
 * what it comes to is normed before it is added. */
static const char *olmo_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.arch = "olmo2";
    t.layers = 4;
    t.type = type == KT_Q8_0 ? KT_BF16 : type;
    t.window = 24;
    return tiny_file(&t, NULL, "cuda.gguf");
}

static const char *(*const made[])(enum ktype) = {model_of, granite_of, mistral_of, olmo_of};

/* ------------------------------------------------------------------------ answers */

static void check_tokens(const struct said *right, const struct said *got)
{
    for (int i = 0; i < NEW; i++) {
        const float ahead = right->top[i].logprob[0] - right->top[i].logprob[1];
        if (ahead < 0.02f) return; /* from here on they may say other things */
        CHECK_EQ(got->token[i].id, right->token[i].id);
        CHECK(fabsf(got->token[i].logprob - right->token[i].logprob) < 0.01f);
    }
}

TEST(the_greedy_tokens_are_those_of_the_cpu_backend)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_Q8_0};
    static struct prompt prompt[SEQS];
    static struct said cpu[SEQS], cuda[SEQS];
    uint32_t seed = 3;
    make_prompts(&seed, prompt);
    for (size_t t = 0; t < COUNT_OF(made) * COUNT_OF(types); t++) {
        const char *path = made[t % COUNT_OF(made)](types[t / COUNT_OF(made)]);
        struct engine *a = open_engine(path, "cpu", 16), *b = open_engine(path, "cuda", 16);
        int ia[SEQS], ib[SEQS];
        for (int s = 0; s < SEQS; s++) ia[s] = submit(a, &prompt[s], 0), ib[s] = submit(b, &prompt[s], 0);
        run(a), run(b);
        for (int s = 0; s < SEQS; s++) {
            take(a, ia[s], &cpu[s]), take(b, ib[s], &cuda[s]);
            check_tokens(&cpu[s], &cuda[s]);
        }
        ops->close(a), ops->close(b);
    }
}

/* As near as scores are, of values of deviation 1. */
TEST(vectors_of_prompts_are_those_of_the_cpu_backend)
{
    static struct prompt prompt[SEQS];
    uint32_t seed = 6;
    make_prompts(&seed, prompt);
    const char *path = model_of(KT_F16);
    struct engine *e[] = {open_engine(path, "cpu", 16), open_engine(path, "cuda", 16)};
    for (int pool = POOL_MEAN; pool <= POOL_LAST; pool++) {
        const struct request r = {.ids = prompt[0].id, .n_ids = prompt[0].n, .pool = (enum engine_pool)pool,
                                  .sampling = SAMPLING_GREEDY};
        const float *vector[2];
        for (int k = 0; k < 2; k++) {
            int id;
            CHECK_EQ(ops->submit(e[k], &r, &id, NULL), 0);
            run(e[k]);
            vector[k] = ops->answer(e[k], id)->vector;
        }
        for (int i = 0; i < ops->info(e[0])->embd; i++) CHECK_NEAR(vector[0][i], vector[1][i], 0.01);
        CHECK(fabsf(vector[0][0]) > 0 && fabsf(vector[0][1]) > 0);
    }
    ops->close(e[0]), ops->close(e[1]);
}

TEST(an_answer_has_the_same_bits_alone_and_in_company_on_shared_pages_and_in_other_cuts)
{
    static struct prompt prompt[SEQS];
    static struct said alone[SEQS], now;
    uint32_t seed = 4;
    make_prompts(&seed, prompt);
    const char *path = model_of(KT_Q8_0);
    for (int s = 0; s < SEQS; s++) {
        struct engine *e = open_engine(path, "cuda", 64);
        int id = submit(e, &prompt[s], 0.8f);
        run(e);
        take(e, id, &alone[s]);
        ops->close(e);
    }
    static const int rows[] = {SEQS + 1, 23, 64};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine *e = open_engine(path, "cuda", rows[i]);
        int id[SEQS];
        shim_order((int)i);
        for (int s = 0; s < SEQS; s++) id[s] = submit(e, &prompt[s], 0.8f);
        run(e);
        for (int s = 0; s < SEQS; s++) {
            take(e, id[s], &now);
            CHECK_MEM(&now, &alone[s], sizeof now);
        }
        ops->close(e);
    }
    shim_order(0);
}

/* Of a prompt and an answer of one letter, so that some are right, and of others, where they are not. */
TEST(an_answer_has_the_same_bits_with_drafts)
{
    static struct prompt prompt[SEQS];
    static struct said without[SEQS], with;
    struct engine_snapshot s;
    uint32_t seed = 8, letters[(TINY_VOCAB + 31) / 32] = {0};
    make_prompts(&seed, prompt);
    for (int i = 0; i < prompt[0].n; i++) prompt[0].id[i] = TINY_BYTE0 + 'a' + i % 2;
    for (int c = 'a'; c <= 'c'; c++) letters[(TINY_BYTE0 + c) / 32] |= 1u << (TINY_BYTE0 + c) % 32;
    const char *path = model_of(KT_Q8_0);
    for (int drafts = 0; drafts < 2; drafts++) {
        struct engine *e = open_drafting(path, "cuda", 64, drafts ? 5 : DRAFTS_NONE);
        int id[SEQS];
        CHECK_EQ(ops->info(e)->drafts, drafts ? 5 : 0);
        for (int i = 0; i < SEQS; i++) id[i] = submit_of(e, &prompt[i], 0.5f, letters);
        run(e);
        for (int i = 0; i < SEQS; i++) {
            take(e, id[i], drafts ? &with : &without[i]);
            if (drafts) CHECK_MEM(&with, &without[i], sizeof with);
        }
        ops->snapshot(e, &s);
        ops->close(e);
    }
    CHECK(s.drafts_right > 0 && s.drafted > s.drafts_right);
}

static void *run_there(void *e)
{
    run(e);
    return NULL;
}

/* A device is a thread's own choice in CUDA; the screen's engine is opened by one thread and stepped by another. */
TEST(a_second_device_serves_threads_that_did_not_open_it)
{
    static struct prompt prompt[SEQS];
    static struct said now;
    struct err err = {0};
    uint32_t seed = 6;
    pthread_t thread;
    make_prompts(&seed, prompt);
    if (!shim_made_up()) SKIP("asks for a machine with two devices: the shim's");
    struct engine_config cfg = {.model = model_of(KT_F16), .backend = "cuda", .kern = {.device = 1}, .max_rows = 16,
                                .ctx = 128, .max_seqs = SEQS, .template = -1};
    shim_machine(2, 13000);
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    int id = submit(e, &prompt[0], 0);
    CHECK_EQ(pthread_create(&thread, NULL, run_there, e), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    take(e, id, &now);
    ops->close(e);
    shim_machine(1, 13000);
}

CHECK_MAIN
