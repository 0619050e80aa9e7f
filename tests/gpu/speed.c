/* speed.c - pre-fill, decode and batches on the CUDA backend with models of a real shape, beside what a kernel that
 * copies gets from the device's memory.  Nothing here passes or fails by how fast it was. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/gpu/probe.h"
#include "tests/gpu/shape.h"
#include "tests/rig.h"
#include <time.h>

enum { SEQS = 16, PROMPT = 512, SHORT = 16, DEEP = 8192, REPS = 3 };
static const struct engine_ops *const ops = &engine_local;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A model that is measured. */
struct lap {
    const char *name;
    struct engine *e;
    struct dice dice;
    double copy; /* GB/s, of gpu_probe() */
    int reps;    /* how often each is measured; once where the device is made up, and with it the figures */
};

static int submit(struct lap *l, int n, int max_tokens)
{
    static int32_t ids[DEEP];
    struct err err = {0};
    int id = 0;
    for (int i = 0; i < n; i++) ids[i] = 3 + dice_below(&l->dice, ops->info(l->e)->vocab - 3);
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = max_tokens, .fresh = true, .ignore_end = true,
                        .sampling = SAMPLING_GREEDY};
    ops->submit(l->e, &r, &id, &err);
    CHECK_STR(err.text, "");
    return id;
}

static bool step(struct lap *l)
{
    struct engine_event ev[64];
    struct err err = {0};
    const int n = ops->step(l->e, ev, 64, &err);
    CHECK_STR(err.text, "");
    return n > 0;
}

static int tokens(struct lap *l, const int *id, int n, bool *begun)
{
    int sum = 0;
    *begun = true;
    for (int i = 0; i < n; i++) {
        const int has = atomic_load(&ops->answer(l->e, id[i])->n_tokens);
        sum += has, *begun &= has > 0;
    }
    return sum;
}

/* tok/s of a prompt of n tokens. */
static double prefill(struct lap *l, int n)
{
    const double start = now();
    const int id = submit(l, n, 1);
    while (step(l)) continue;
    const double seconds = now() - start;
    ops->drop(l->e, id);
    return n / seconds;
}

/* tok/s of all of `seqs` sequences together, from where each has its first token. */
static double decode(struct lap *l, int seqs, int n)
{
    int id[SEQS];
    bool begun = false;
    for (int i = 0; i < seqs; i++) id[i] = submit(l, SHORT, n + 1);
    while (!begun && step(l)) tokens(l, id, seqs, &begun);
    const int before = tokens(l, id, seqs, &begun);
    const double start = now();
    while (step(l)) continue;
    const double seconds = now() - start;
    const int made = tokens(l, id, seqs, &begun) - before;
    for (int i = 0; i < seqs; i++) ops->drop(l->e, id[i]);
    return made / seconds;
}

/* The best of some; one more is to warm up. */
static void measure(struct lap *l, int seqs, int n)
{
    double best = 0, weights = (double)ops->info(l->e)->weight_bytes;
    for (int i = 0; i <= l->reps; i++) {
        const double rate = seqs ? decode(l, seqs, n) : prefill(l, n);
        if (i > 0) best = fmax(best, rate);
    }
    if (!seqs) printf("measured: %s, pp%d: %.0f tok/s\n", l->name, n, best);
    else printf("measured: %s, b%dx%d: %.1f tok/s, weights at %.1f GB/s (%.1f %% of the copy's)\n", l->name, seqs, n,
                best, best / seqs * weights / 1e9, best / seqs * weights / 1e7 / l->copy);
}

/* One sequence of a long context: its prompt, and then its tokens. */
static void measure_deep(struct lap *l, int deep, int n)
{
    double best[2] = {0};
    for (int i = 0; i < l->reps; i++) {
        bool begun = false;
        double start = now();
        const int id = submit(l, deep, n + 1);
        while (!begun && step(l)) tokens(l, &id, 1, &begun);
        best[0] = fmax(best[0], deep / (now() - start));
        const int before = tokens(l, &id, 1, &begun);
        start = now();
        while (step(l)) continue;
        best[1] = fmax(best[1], (tokens(l, &id, 1, &begun) - before) / (now() - start));
        ops->drop(l->e, id);
    }
    printf("measured: %s, pp%d: %.0f tok/s, %d tokens after it: %.1f tok/s\n", l->name, deep, best[0], n, best[1]);
}

static void measure_model(enum ktype type, bool fast, const char *name)
{
    const bool all = !shim_made_up();
    const struct shape s = all ? SHAPE_1B(type) : SHAPE_SMALL(type);
    struct err err = {0};
    struct lap l = {.name = name, .dice = {2}, .reps = all ? REPS : 1};
    CHECK_EQ(gpu_probe(all ? (size_t)1 << 30 : 1 << 16, REPS, &l.copy), 0);
    CHECK(l.copy > 0);
    printf("measured: copying: %.1f GB/s, read and written\n", l.copy);
    struct engine_config cfg = {.model = shape_file(&s, name), .backend = "cuda", .kv_type = KT_F16,
                                .ctx = (all ? DEEP : PROMPT) + 64, .max_seqs = SEQS, .template = -1, .fast = fast};
    const double start = now();
    shim_blas_shown(fast); /* what is measured need not be shown yet */
    l.e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    printf("measured: %s: %s; %s; loaded in %.1f s\n", name, ops->info(l.e)->backend, ops->info(l.e)->kernels,
           now() - start);
    measure(&l, 0, all ? PROMPT : SHORT);
    measure(&l, 1, all ? 128 : 4);
    measure(&l, all ? 8 : 2, all ? 32 : 2);
    measure(&l, all ? SEQS : 3, all ? 32 : 2);
    measure_deep(&l, all ? DEEP : SHORT, all ? 32 : 2);
    ops->close(l.e);
}

TEST(speed_in_q8_0) { measure_model(KT_Q8_0, false, "1b-q8_0.gguf"); }
TEST(speed_in_q4_k) { measure_model(KT_Q4_K, false, "1b-q4_k.gguf"); }
TEST(speed_in_q4_k_fast) { measure_model(KT_Q4_K, true, "1b-q4_k-fast.gguf"); }

CHECK_MAIN
