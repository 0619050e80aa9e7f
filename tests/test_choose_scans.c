/* test_choose_scans.c - the sampler's loops over whole rows: what they say of each run, the same bits on every
 * instruction set, and rows of a large vocabulary. */
#include "kernels/choose.h"
#include "kernels/cpu/isa.h"
#include "tests/check.h"
#include "tests/rig.h"
#include <math.h>

enum { LONGEST = 700, RUNS = LONGEST / CHOOSE_RUN + 1 };

/* Logits as a model may give them, and now and then what it should not. */
static void fill(struct dice *dice, float *v, int n, bool wild)
{
    static const float odd[] = {NAN, -NAN, -INFINITY, -3e38f, -1e-40f, -0.0f, 0.0f, 1e-40f};
    for (int i = 0; i < n; i++)
        v[i] = wild && dice_below(dice, 20) == 0 ? odd[dice_below(dice, (int)COUNT_OF(odd))] : dice_float(dice, 5);
}

static float top_of(const float *v, int n)
{
    float top = -INFINITY;
    for (int i = 0; i < n; i++) top = v[i] > top ? v[i] : top;
    return top;
}

/* Rows end in memory that must not be read (rig_memory); every length, so every odd end of a run. */
TEST(a_run_has_its_largest_and_its_sum_of_masses_on_every_instruction_set)
{
    static const double sharps[] = {1, 0, 1.7, 1e30};
    struct dice dice = {1};
    for (int n = 1; n <= LONGEST; n++) {
        const size_t size = (size_t)n * sizeof(float);
        const double sharp = n % 2 ? 1 : sharps[n / 2 % 4];
        float *v = rig_memory(size), peak[RUNS], first[RUNS];
        double mass[RUNS], first_mass[RUNS];
        fill(&dice, v, n, n % 3 == 0);
        v[dice_below(&dice, n)] = 9;
        for (size_t k = 0; k < RIG_ISAS; k++) {
            const struct cpu_isa *isa = rig_isa(k);
            if (!isa) continue;
            isa->scans.peaks(NULL, v, n, peak);
            isa->scans.masses(NULL, v, n, top_of(v, n), sharp, mass);
            size_t runs = (size_t)(n + CHOOSE_RUN - 1) / CHOOSE_RUN;
            if (k == 0) memcpy(first, peak, sizeof peak), memcpy(first_mass, mass, sizeof mass);
            CHECK_MEM(first, peak, runs * sizeof *peak);
            CHECK_MEM(first_mass, mass, runs * sizeof *mass);
        }
        for (int i = 0; i < n; i += CHOOSE_RUN) {
            const int run = MIN(CHOOSE_RUN, n - i);
            double sum = 0, apart = 1e-290;
            for (int j = 0; j < run; j++) {
                if (!(v[i + j] > -INFINITY)) continue;
                double x = ((double)v[i + j] - (double)top_of(v, n)) * sharp;
                sum += exp(x);
                apart += x > -700 ? exp(x) * (16 - x) * 0x1p-52 : 0;
            }
            CHECK(first[i / CHOOSE_RUN] == top_of(v + i, run));
            CHECK_NEAR(first_mass[i / CHOOSE_RUN], sum, apart);
        }
        rig_release(v, size);
    }
}

/* Every id and log-probability of a large vocabulary, by every instruction set and by plain C. */
TEST(a_choice_is_the_same_on_every_instruction_set)
{
    enum { VOCAB = 5003, ROUNDS = CHECK_SANITIZED ? 60 : 600 };
    struct dice dice = {2};
    const size_t size = kern_choose_bytes(VOCAB);
    void *scratch = rig_memory(size);
    static float logits[VOCAB];
    static uint32_t allowed[VOCAB / 32 + 1];
    struct kern_choice want, got;
    CHECK_EQ(size % 64, 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct kern_sample s = {.top_p = 1, .repeat = 1, .target = -1, .seed = 3, .step = (uint64_t)round};
        fill(&dice, logits, VOCAB, round % 2);
        if (round % 7 == 0) logits[dice_below(&dice, VOCAB)] = INFINITY;
        for (size_t i = 0; i < COUNT_OF(allowed); i++) allowed[i] = dice_roll(&dice) & dice_roll(&dice);
        if (round % 3) s.temp = 0.2f * (float)(round % 11);
        if (round % 4 == 0) s.top_k = 1 + dice_below(&dice, 200);
        if (round % 5 == 0) s.top_p = 0.9f;
        if (round % 6 == 0) s.min_p = 0.03f;
        if (round % 8 == 0) s.allowed = allowed;
        s.top_n = round % (KERN_TOP + 1);
        kern_choose(&s, logits, VOCAB, scratch, &want);
        CHECK(want.id >= 0 && want.id < VOCAB && (!s.allowed || allowed[want.id / 32] >> want.id % 32 & 1));
        for (size_t k = 0; k < RIG_ISAS; k++) {
            const struct cpu_isa *isa = rig_isa(k);
            if (!isa) continue;
            memset(scratch, 0xff, size);
            choose_by(&isa->scans, &s, logits, VOCAB, scratch, &got);
            CHECK_MEM(&want, &got, sizeof want);
        }
    }
    rig_release(scratch, size);
}

/* The log-probability is that of exact sums: masses in long double, one by one. */
TEST(a_log_probability_is_right_to_a_floats_last_bit)
{
    enum { VOCAB = 30011 };
    struct dice dice = {3};
    static float logits[VOCAB];
    void *scratch = malloc(kern_choose_bytes(VOCAB));
    CHECK(scratch);
    for (int round = 0; round < 30; round++) {
        struct kern_sample s = {.top_p = 1, .repeat = 1, .target = dice_below(&dice, VOCAB)};
        struct kern_choice c;
        fill(&dice, logits, VOCAB, false);
        const float top = top_of(logits, VOCAB);
        long double sum = 0;
        for (int i = 0; i < VOCAB; i++) sum += expl((long double)logits[i] - (long double)top);
        kern_choose(&s, logits, VOCAB, scratch, &c);
        CHECK_EQ(c.id, s.target);
        CHECK(c.logprob == (float)((long double)logits[s.target] - (long double)top - logl(sum)));
    }
    free(scratch);
}

CHECK_MAIN
