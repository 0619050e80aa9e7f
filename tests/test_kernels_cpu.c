/* test_kernels_cpu.c - the CPU backend: every step against the reference, and what it says of itself.
 *
 * Tolerances.  Against the reference with rounded activations both see the same integers; what is left is this
 * backend's float sums (reference: double) of up to a few hundred terms, each rounded to 2^-24, and its own exp and
 * tanh (3 units in the last place): 1e-5 of the result's rms holds ten times that.  Against float activations the
 * int8 rounding itself shows, up to 127 steps for the largest of 32: 1 % of rms on data with outliers, 6 % is the
 * bound for a single value. In attention a score of size s carries an error of some s * 2^-24, which is a relative
 * error of its weight: 1e-4 there. With F16 pages a K or V that differs in a float's last bit may round to the next
 * half, 2^-11 away: 1e-3; with Q8_0 pages to the next integer, 1 % of the largest of its 32 away: 6 % again
 * (test_kernels_kv.c holds those pages tightly, with K and V that are the same in both). */
#include "kernels/cpu/cpu.h"
#include "tests/check.h"
#include "tests/lockstep.h"
#include <errno.h>

/* Rounds of random shapes.  A sanitizer looks at single accesses, which a few shapes show it; the bits are the plain
 * build's matter. */
enum { STEP_SHAPES = CHECK_SANITIZED ? 2 : 14 };

/* ------------------------------------------------------------ against the reference */

static void cpu_lockstep(struct dice *dice, const struct rig_shape *s, const char *isa, int threads, bool rounded,
                         int batches, double tol)
{
    const struct kern_config cfg = {.threads = threads, .isa = isa};
    lockstep(dice, s, kern_cpu(), &cfg, rounded, batches, tol);
}

TEST(every_step_agrees_with_the_reference_when_that_rounds_activations_too)
{
    struct dice dice = {4};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; round < STEP_SHAPES && rig_isa(i); round++) {
            struct rig_shape s = lockstep_shape(&dice, round % 3 == 0);
            cpu_lockstep(&dice, &s, rig_isas[i], 1 + round % 4, true, 3, 1e-5);
        }
}

TEST(every_type_agrees_with_the_reference_in_every_place)
{
    struct dice dice = {5};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (size_t t = CHECK_SANITIZED ? i % 2 : 0; t < RIG_TYPES && rig_isa(i); t += 1 + CHECK_SANITIZED) {
            enum ktype y = rig_types[t];
            struct rig_shape s = {.embd = 256, .heads = 4, .kv_heads = 2, .head_dim = 64, .ff = 512, .vocab = 70,
                                  .layers = 1, .table = y, .q = y, .k = y, .v = y, .o = y, .gate = y, .up = y,
                                  .down = y,
                                  .kv = KT_F32, .rope = 64, .neox = true, .scale = 0.125f};
            cpu_lockstep(&dice, &s, rig_isas[i], 2, true, 2, 1e-5);
        }
}

TEST(every_step_agrees_with_the_reference_in_gpt_oss_s_shapes)
{
    struct dice dice = {15};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; round < STEP_SHAPES && rig_isa(i); round++) {
            struct rig_shape s = lockstep_oss(&dice, round % 4 == 0);
            cpu_lockstep(&dice, &s, rig_isas[i], 1 + round % 4, true, 3, 1e-5);
        }
}

TEST(every_step_agrees_with_the_reference_in_gemma_s_shapes)
{
    struct dice dice = {14};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int which = 0; which < LOCKSTEP_GEMMAS && rig_isa(i); which += 1 + 2 * CHECK_SANITIZED) {
            struct rig_shape s = lockstep_gemma(which);
            cpu_lockstep(&dice, &s, rig_isas[i], 2, true, 2, 1e-5);
        }
}

TEST(every_step_agrees_with_the_reference_where_norms_come_late_and_q_is_tempered)
{
    struct dice dice = {16};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int which = 0; which < LOCKSTEP_LATES && rig_isa(i); which++) {
            struct rig_shape s = lockstep_late(which);
            cpu_lockstep(&dice, &s, rig_isas[i], 1 + which % 3, true, 3, 1e-5);
        }
}

TEST(int8_activations_cost_no_more_than_a_few_percent_of_a_single_value)
{
    struct dice dice = {6};
    for (int round = 0; round < 6; round++) {
        struct rig_shape s = lockstep_shape(&dice, false);
        s.bias = s.post = false; /* that norm makes what is added, and its errors, larger beside x */
        s.kv = KT_F16; /* activations alone: pages of integers round too */
        cpu_lockstep(&dice, &s, NULL, 2, false, 2, 0.06);
    }
}
/* ----------------------------------------------------------------- sample, odds and ends */

TEST(sample_chooses_for_each_row_what_kern_choose_would)
{
    enum { OUTS = 19, VOCAB = 20011 }; /* a row alone is shared out in three pieces */
    struct dice dice = {9};
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = 3};
    const struct kern_dims dims = {.vocab = VOCAB, .max_outs = OUTS, .max_rows = 1};
    struct kdev *d = k->open(&cfg, NULL);
    size_t size = k->work_bytes(&dims);
    void *work = rig_memory(size);
    static float logits[OUTS * VOCAB];
    static struct kern_sample params[OUTS];
    static struct kern_choice got[OUTS], right;
    static _Alignas(64) uint8_t scratch[VOCAB * 16];
    for (int i = 0; i < OUTS * VOCAB; i++) logits[i] = dice_float(&dice, 3);
    for (int i = 0; i < OUTS; i++)
        params[i] = (struct kern_sample){.temp = i % 3 ? 0.8f : 0, .top_k = i * 2, .top_p = 0.95f, .repeat = 1,
                                         .seed = 5, .step = (uint64_t)i, .top_n = i, .target = -1};
    for (int outs = 0; outs <= OUTS; outs++) {
        memset(got, 0xff, sizeof got);
        CHECK_EQ(k->sample(d, NULL, outs, VOCAB, params, logits, got, work, NULL), 0);
        for (int i = 0; i < outs; i++) {
            kern_choose(&params[i], logits + i * VOCAB, VOCAB, scratch, &right);
            CHECK_EQ(got[i].id, right.id);
            CHECK(got[i].logprob == right.logprob);
            CHECK_MEM(got[i].top_id, right.top_id, (size_t)params[i].top_n * 4);
        }
    }
    for (int i = 0; i < OUTS; i++) {
        CHECK_EQ(k->sample(d, NULL, 1, VOCAB, &params[i], logits + i * VOCAB, &right, work, NULL), 0);
        CHECK_MEM(&got[i], &right, sizeof right);
    }
    rig_release(work, size);
    k->close(d);
}

TEST(a_slab_is_zero_and_aligned_and_one_that_cannot_be_says_how_much_was_asked)
{
    const struct kern *k = kern_cpu();
    struct kdev *d = k->open(NULL, NULL);
    static const size_t sizes[] = {1, 4096, 100000, (2u << 20) - 1, 2u << 20, (6u << 20) + 5};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint8_t *slab = k->take(d, sizes[i], NULL), text[8] = "plimsoll", back[8];
        CHECK(slab && (uintptr_t)slab % 64 == 0);
        CHECK_EQ(slab[0] | slab[sizes[i] / 2] | slab[sizes[i] - 1], 0);
        CHECK_EQ(k->upload(d, NULL, slab, text, sizes[i] < 8 ? 1 : 8, NULL), 0);
        CHECK_EQ(k->fetch(d, NULL, back, slab, sizes[i] < 8 ? 1 : 8, NULL), 0);
        CHECK_EQ(back[0], 'p');
        k->give(d, slab, sizes[i]);
    }
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        struct err err = {0};
        char figure[32];
        snprintf(figure, sizeof figure, "%zu bytes", huge[i]);
        CHECK(k->take(d, huge[i], &err) == NULL);
        CHECK(strstr(err.text, figure) != NULL);
    }
    k->close(d);
}

TEST(open_says_what_it_runs_on_and_refuses_what_is_not_there)
{
    const struct kern *k = kern_cpu();
    struct err err = {0};
    struct kern_config cfg = {.threads = 1, .isa = "portable"};
    struct kdev *d = k->open(&cfg, &err);
    CHECK_STR(k->describe(d), "portable, 1 thread, not pinned");
    CHECK_STR(k->numerics(d), "cpu 3 portable"); /* on any number of threads: the bits are the same */
    CHECK_STR(k->mat_kernel(d, KT_Q4_K), "portable int8 (32 rows x 2 tokens)");
    CHECK_STR(k->mat_kernel(d, KT_F16), "portable fp32 (32 rows x 2 tokens)");
    CHECK_STR(k->mat_kernel(d, KT_IQ3_S), "none");
    CHECK_STR(k->mat_kernel(d, (enum ktype)77), "none");
    k->close(d);
    cfg.isa = "mmx";
    CHECK(k->open(&cfg, &err) == NULL);
    CHECK_STR(err.text, "no instruction set is named \"mmx\": use auto, avx512, avxvnni, avx2 or portable");
    cfg.isa = "auto";
    cfg.threads = -3;
    CHECK(k->open(&cfg, &err) == NULL);
    CHECK(strstr(err.text, "-3 threads"));
    cfg.threads = 0;
    d = k->open(&cfg, &err);
    CHECK(d && strlen(k->describe(d)) > 0);
    k->close(d);
}

CHECK_MAIN
