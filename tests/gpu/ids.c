/* ids.c - whole models on the CUDA backend and on the CPU's: the same greedy ids, near log-probabilities; and a soak
 * that leaves the device's memory as it was.  Run from a folder that has tests/fixtures and assets.
 *
 * Tolerance, of 1 + the size of a log-probability: both sides see the same weights and round activations to the same
 * integers, but for those at the edge of two, and K and V to half; from there on a rounding moves all behind it.
 * Judged by the embedded model, on which kern_ref() with rounded activations, as right as any, is 0.036 from the CPU's:
 * three times that.  (Of random weights, 0.006.)  Ids are the same there, so the margin seldom ends a row. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/fixture_names.h"
#include "tests/gpu/shape.h"
#include "tests/rig.h"
#include <jansson.h>

enum { PROMPTS = 4, LONGEST = 400, MOST = 48 };
static const float TOL = 0.1f;
static const struct engine_ops *const ops = &engine_local;

static struct engine *open_engine(const char *path, const char *backend, bool fast, int ctx)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .backend = backend, .ctx = ctx, .max_seqs = PROMPTS, .template = -1,
                                .fast = fast};
    shim_blas_shown(fast); /* what is checked need not be shown yet */
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
}

struct prompt {
    int32_t id[LONGEST];
    int n, most; /* tokens to generate */
    int32_t right[MOST]; /* what comes, if the file says it */
};

static int submit(struct engine *e, const struct prompt *p, bool score)
{
    int id = 0;
    struct err err = {0};
    struct request r = {.ids = p->id, .n_ids = p->n, .max_tokens = p->most, .top_n = 2, .score = score,
                        .ignore_end = true, .sampling = SAMPLING_GREEDY};
    ops->submit(e, &r, &id, &err);
    CHECK_STR(err.text, "");
    return id;
}

/* Answers to all prompts at once; the caller drops them. */
static void ask(struct engine *e, const struct prompt *p, int n, bool score, const struct answer **a)
{
    int id[PROMPTS];
    for (int i = 0; i < n; i++) id[i] = submit(e, &p[i], score);
    run(e);
    for (int i = 0; i < n; i++) {
        a[i] = ops->answer(e, id[i]);
        CHECK_EQ(atomic_load(&a[i]->n_tokens), p[i].most);
    }
}

/* The largest difference of log-probabilities so far, of 1 + the size of one, and how much was compared. */
struct measured {
    float worst;
    int ids, scores;
};

/* An unlikely token's log-probability is a large logit, and errs by more. */
static bool near(float cpu, float cuda, struct measured *m)
{
    const float apart = fabsf(cpu - cuda) / (1 + fabsf(cpu));
    m->worst = fmaxf(m->worst, apart);
    return apart <= TOL;
}

/* All ids up to the first that may differ: where the CPU's best is not further ahead than both may err. */
static void compare(const struct answer *cpu, const struct answer *cuda, struct measured *m)
{
    for (int i = 1; cpu->prompt_logprob && i < cpu->n_prompt; i++, m->scores++)
        if (!near(cpu->prompt_logprob[i], cuda->prompt_logprob[i], m))
            check_fail(__FILE__, __LINE__, "prompt token %d: log-probability %g, on the CPU %g", i,
                       (double)cuda->prompt_logprob[i], (double)cpu->prompt_logprob[i]);
    for (int i = 0; i < cpu->max_tokens; i++, m->ids++) {
        const float ahead = cpu->top[i].logprob[0] - cpu->top[i].logprob[1];
        const bool same = cpu->token[i].id == cuda->token[i].id;
        if (!same && ahead <= 2 * TOL * (1 + fabsf(cpu->token[i].logprob))) return;
        if (!same || !near(cpu->token[i].logprob, cuda->token[i].logprob, m))
            check_fail(__FILE__, __LINE__, "token %d: id %d (%g), on the CPU %d (%g)", i, (int)cuda->token[i].id,
                       (double)cuda->token[i].logprob, (int)cpu->token[i].id, (double)cpu->token[i].logprob);
    }
}

static void say(const char *model, const struct measured *m)
{
    printf("measured: %s: %d ids the same, %d log-probabilities of prompts, apart by %.1e of one at most\n", model,
           m->ids, m->scores, (double)m->worst);
}

/* In passes as large as they get, and (exact) in the small ones that log-probabilities of prompts take. */
static void judge(const char *path, const struct prompt *p, int n, bool fast, struct measured *m)
{
    const struct answer *cpu[PROMPTS], *cuda[PROMPTS];
    struct engine *a = open_engine(path, "cpu", false, LONGEST + MOST);
    struct engine *b = open_engine(path, "cuda", fast, LONGEST + MOST);
    const long calls = shim_blas_calls();
    if (fast && !ops->info(b)->fast) {
        ops->close(a), ops->close(b);
        SKIP("no cuBLASLt here: the fast mode is the exact one");
    }
    for (int score = 0; score <= !fast; score++) {
        ask(a, p, n, score, cpu), ask(b, p, n, score, cuda);
        for (int i = 0; i < n; i++) {
            compare(cpu[i], cuda[i], m);
            ops->drop(a, cpu[i]->id), ops->drop(b, cuda[i]->id);
        }
    }
    CHECK((shim_blas_calls() > calls) == fast);
    ops->close(a), ops->close(b);
}

/* ----------------------------------------------------------------------- fixtures */

/* "WORD N id ...": the ids of a record of a .ref file; their number, or -1: another record. */
static int ids_of(const char *line, const char *word, int32_t *out, int cap)
{
    const size_t len = strlen(word);
    char *at;
    if (strncmp(line, word, len) != 0 || line[len] != ' ') return -1;
    const long n = strtol(line + len, &at, 10);
    CHECK(n > 0 && n <= cap);
    for (long i = 0; i < n; i++) out[i] = (int32_t)strtol(at, &at, 10);
    return (int)n;
}

/* A fixture's sequences with what both judges say comes next; their number. */
static int fixture_prompts(const char *name, struct prompt *p)
{
    static char line[1 << 16];
    char path[200];
    int n = 0, got;
    snprintf(path, sizeof path, "tests/fixtures/%s.ref", name);
    FILE *f = fopen(path, "r");
    CHECK(f);
    memset(p, 0, PROMPTS * sizeof *p);
    while (n < PROMPTS && fgets(line, sizeof line, f)) {
        if ((got = ids_of(line, "seq", p[n].id, LONGEST)) > 0) p[n].n = got;
        if ((got = ids_of(line, "greedy", p[n].right, MOST)) > 0) p[n++].most = got;
    }
    fclose(f);
    CHECK(n > 0);
    return n;
}

TEST(every_fixture_gives_the_ids_that_its_judges_gave)
{
    static struct prompt p[PROMPTS];
    int ids = 0;
    for (size_t i = 0; i < COUNT_OF(fixture); i += shim_made_up() ? 4 : 1) {
        const struct answer *a[PROMPTS];
        char path[200];
        const int n = fixture_prompts(fixture[i], p);
        snprintf(path, sizeof path, "tests/fixtures/%s.gguf", fixture[i]);
        struct engine *e = open_engine(path, "cuda", false, 128);
        ask(e, p, n, false, a);
        for (int j = 0; j < n; j++)
            for (int t = 0; t < p[j].most; t++, ids++)
                if (a[j]->token[t].id != p[j].right[t])
                    check_fail(__FILE__, __LINE__, "%s, sequence %d, token %d: id %d and not %d", fixture[i], j, t,
                               (int)a[j]->token[t].id, (int)p[j].right[t]);
        ops->close(e);
    }
    printf("measured: fixtures: %d ids the same as both judges'\n", ids);
    CHECK(ids > (shim_made_up() ? 100 : 500));
}

/* --------------------------------------------------------------- the model inside */

static int embedded_prompts(struct prompt *p)
{
    json_error_t why;
    json_t *rows = json_load_file("tests/fixtures/plimsoll-tiny.json", 0, &why);
    int n = 0;
    CHECK(rows);
    memset(p, 0, PROMPTS * sizeof *p);
    for (size_t i = 0; i < json_array_size(rows) && n < PROMPTS; i += 5) {
        const json_t *ids = json_object_get(json_array_get(rows, i), "prompt");
        if (json_array_size(ids) == 0 || json_array_size(ids) > LONGEST) continue;
        p[n].n = (int)json_array_size(ids), p[n].most = shim_made_up() ? 3 : 32;
        for (int k = 0; k < p[n].n; k++) p[n].id[k] = (int32_t)json_integer_value(json_array_get(ids, (size_t)k));
        n++;
    }
    json_decref(rows);
    return n;
}

TEST(the_embedded_model_says_what_it_says_on_the_cpu)
{
    static struct prompt p[PROMPTS];
    struct measured m = {0};
    const int n = embedded_prompts(p);
    CHECK_EQ(n, PROMPTS);
    judge("assets/plimsoll-tiny.gguf", p, shim_made_up() ? 1 : n, false, &m);
    say("the embedded model", &m);
    CHECK(m.ids >= 3 && m.scores > 50);
}

/* --------------------------------------------------------------------- real shapes */

static void judge_shape(enum ktype type, bool fast, const char *name)
{
    static struct prompt p[PROMPTS];
    const struct shape s = shim_made_up() ? SHAPE_SMALL(type) : SHAPE_1B(type);
    struct dice d = {9};
    struct measured m = {0};
    for (int i = 0; i < PROMPTS; i++) {
        p[i].n = shim_made_up() ? 40 : 60 + 100 * i, p[i].most = shim_made_up() ? 4 : MOST;
        for (int k = 0; k < p[i].n; k++) p[i].id[k] = 3 + dice_below(&d, s.vocab - 3);
    }
    judge(shape_file(&s, name), p, PROMPTS, fast, &m);
    say(name, &m);
    CHECK(m.ids >= PROMPTS && (fast || m.scores > 150));
}

TEST(a_model_of_a_real_shape_in_q8_0_says_what_it_says_on_the_cpu) { judge_shape(KT_Q8_0, false, "1b-q8_0.gguf"); }
TEST(a_model_of_a_real_shape_in_q4_k_says_what_it_says_on_the_cpu) { judge_shape(KT_Q4_K, false, "1b-q4_k.gguf"); }
TEST(a_model_of_a_real_shape_in_q6_k_says_what_it_says_on_the_cpu) { judge_shape(KT_Q6_K, false, "1b-q6_k.gguf"); }
TEST(a_model_of_a_real_shape_in_mxfp4_says_what_it_says_on_the_cpu) { judge_shape(KT_MXFP4, false, "1b-mxfp4.gguf"); }
TEST(a_model_of_a_real_shape_says_about_the_same_in_the_fast_mode) { judge_shape(KT_Q4_K, true, "1b-q4_k-fast.gguf"); }

/* ---------------------------------------------------------------------------- soak */

TEST(a_soak_takes_no_device_memory)
{
    static struct prompt p[PROMPTS];
    struct engine_memory before, after;
    const size_t taken = shim_bytes() + shim_kept(); /* by a test that failed */
    const int rounds = shim_made_up() ? 3 : 150;
    const int n = fixture_prompts("llama-gqa", p);
    struct engine *e = open_engine("tests/fixtures/llama-gqa.gguf", "cuda", false, 128);
    for (int round = 0; round <= rounds; round++) {
        int id[PROMPTS];
        if (round == 1) ops->memory(e, &before); /* the first loads what the driver loads late */
        const long takings = shim_takings();
        for (int i = 0; i < PROMPTS; i++) id[i] = submit(e, &p[(i + round) % n], false);
        if (round % 3 == 2) ops->cancel(e, id[1]);
        run(e);
        for (int i = 0; i < PROMPTS; i++) ops->drop(e, id[i]);
        CHECK_EQ(shim_takings(), takings);
    }
    ops->memory(e, &after);
    CHECK_EQ(after.free, before.free);
    CHECK_EQ(after.ours, before.ours);
    printf("measured: soak: %d rounds of %d requests, free device memory the same\n", rounds, PROMPTS);
    ops->close(e);
    CHECK_EQ(shim_bytes() + shim_kept(), taken);
}

CHECK_MAIN
