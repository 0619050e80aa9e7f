/* test_choose.c - the sampler: random numbers by known answers, every rule against a naive sampler, odd inputs. */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include "tests/check.h"

enum { VOCAB_MAX = 4096 };

static _Alignas(64) uint8_t scratch[VOCAB_MAX * 16];

/* Greedy and all rules off. */
static struct kern_sample plain(void)
{
    return (struct kern_sample){.top_p = 1, .repeat = 1, .target = -1};
}

static struct kern_choice choice_of(const struct kern_sample *s, const float *logits, int vocab)
{
    struct kern_choice c;
    memset(&c, 0x5a, sizeof c);
    kern_choose(s, logits, vocab, scratch, &c);
    return c;
}

static int32_t id_of(const struct kern_sample *s, const float *logits, int vocab)
{
    return choice_of(s, logits, vocab).id;
}

/* Test inputs; xorshift, so that nothing is shared with what is tested. */
static uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 24);
}

static float random_between(uint64_t *state, float low, float high)
{
    return low + (high - low) * ((float)(next_random(state) >> 8) * 0x1p-24f);
}

/* ---------------------------------------------------------------- random numbers */

/* Known answers of the Random123 library's distribution (kat_vectors, philox4x32 with 10 rounds). */
TEST(philox_gives_the_known_answers)
{
    static const struct { uint32_t counter[4], key[2], out[4]; } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        uint32_t out[4];
        philox4x32(known[i].counter, known[i].key, out);
        CHECK_MEM(out, known[i].out, sizeof out);
    }
}

TEST(uniform_numbers_take_the_upper_53_bits_and_stay_below_one)
{
    CHECK(philox_uniform(0, 0) == (double)(0x6627e8d5e169c58du >> 11) / 9007199254740992.0);
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double u = philox_uniform(i / 1000, i % 1000);
        CHECK(u >= 0 && u < 1);
        sum += u;
    }
    CHECK_NEAR(sum / 100000, 0.5, 0.0037); /* four standard deviations */
    CHECK(philox_uniform(1, 0) != philox_uniform(1ull << 32, 0));
    CHECK(philox_uniform(0, 1) != philox_uniform(0, 1ull << 32));
}

/* A flat row of 2^12 tokens reads the number's first 12 bits back. */
TEST(the_draw_lays_tokens_side_by_side_in_id_order)
{
    static float flat[4096];
    struct kern_sample s = plain();
    s.temp = 0.7f;
    for (s.step = 0; s.step < 200; s.step++) {
        s.seed = s.step * 0x9e3779b97f4a7c15u;
        CHECK_EQ(id_of(&s, flat, 4096), (int32_t)(philox_uniform(s.seed, s.step) * 4096));
    }
    s.seed = s.step = 0;
    CHECK_EQ(id_of(&s, flat, 4096), 0x662);
}

/* ------------------------------------------------------------- the naive sampler */

/* The rules once more, by whole sorted lists and arrays of probabilities, as one would explain them. */
struct naive {
    double value[VOCAB_MAX];
    bool in[VOCAB_MAX];
    int order[VOCAB_MAX], n; /* ids that may be chosen, best first */
};

static const struct naive *sorting;

static int better_first(const void *a, const void *b)
{
    int i = *(const int *)a, k = *(const int *)b;
    if (sorting->value[i] != sorting->value[k]) return sorting->value[i] > sorting->value[k] ? -1 : 1;
    return i - k;
}

static void naive_values(struct naive *w, const struct kern_sample *s, const float *logits, int vocab)
{
    for (int id = 0; id < vocab; id++) {
        float v = logits[id];
        int count = 0;
        for (int i = 0; i < s->n_bias; i++)
            if (s->bias[i].id == id) v += s->bias[i].add;
        for (int i = 0; i < s->n_recent; i++) count += s->recent[i] == id;
        if (count > 0) {
            if (v > 0) v /= s->repeat;
            else v *= s->repeat;
            v -= (float)count * s->frequency + s->presence;
        }
        w->in[id] = !isnan(v) && v != -INFINITY && (!s->allowed || (s->allowed[id / 32] & 1u << id % 32));
        w->value[id] = v;
    }
    w->n = 0;
    for (int id = 0; id < vocab; id++)
        if (w->in[id]) w->order[w->n++] = id;
    sorting = w;
    qsort(w->order, (size_t)w->n, sizeof w->order[0], better_first);
}

static double naive_part(const struct naive *w, int i, double temp)
{
    return exp((w->value[w->order[i]] - w->value[w->order[0]]) / temp);
}

static int32_t naive_choose(const struct kern_sample *s, const float *logits, int vocab)
{
    static struct naive w;
    double sum = 0, at = 0, whole = 0;
    int kept = 0;
    naive_values(&w, s, logits, vocab);
    if (w.n == 0) return -1;
    if (s->temp <= 0) return w.order[0];

    if (s->top_k > 0) w.n = MIN(w.n, s->top_k);
    for (int i = 0; i < w.n; i++) whole += naive_part(&w, i, 1);
    if (s->top_p < 1) {
        while (kept < w.n && (kept == 0 || sum < s->top_p * whole)) sum += naive_part(&w, kept++, 1);
        w.n = kept;
    }
    kept = 1;
    while (kept < w.n && (s->min_p <= 0 || naive_part(&w, kept, 1) >= s->min_p)) kept++;
    memset(w.in, 0, sizeof w.in);
    for (int i = 0; i < kept; i++) w.in[w.order[i]] = true;

    whole = 0;
    for (int i = 0; i < kept; i++) whole += naive_part(&w, i, s->temp);
    for (int id = 0; id < vocab; id++) {
        if (!w.in[id]) continue;
        at += exp((w.value[id] - w.value[w.order[0]]) / s->temp);
        if (at > whole * philox_uniform(s->seed, s->step)) return id;
    }
    return w.order[kept - 1];
}

/* One random case: any of the rules on or off, vocabularies from 1 up, smooth logits or ones with many ties. */
struct sample_case {
    struct kern_sample s;
    int vocab;
    float logits[600];
    int32_t recent[40];
    struct kern_bias bias[8];
    uint32_t allowed[19];
};

static void make_case(struct sample_case *c, uint64_t *r)
{
    c->s = plain();
    c->vocab = 1 + (int)(next_random(r) % (next_random(r) % 4 ? 40 : 599));
    bool ties = next_random(r) % 3 == 0;
    for (int i = 0; i < c->vocab; i++) {
        float v = random_between(r, -8, 8);
        c->logits[i] = ties ? floorf(v) : v;
        if (next_random(r) % 64 == 0) c->logits[i] = next_random(r) % 2 ? NAN : -INFINITY;
    }
    for (int i = 0; i < 40; i++) c->recent[i] = (int32_t)(next_random(r) % (uint32_t)(c->vocab + 2)) - 1;
    for (int i = 0; i < 8; i++) {
        c->bias[i].id = (int32_t)(next_random(r) % (uint32_t)(c->vocab + 2)) - 1;
        c->bias[i].add = next_random(r) % 8 ? random_between(r, -5, 5) : -INFINITY;
    }
    for (size_t i = 0; i < COUNT_OF(c->allowed); i++) c->allowed[i] = next_random(r) | next_random(r);

    c->s.temp = next_random(r) % 5 ? random_between(r, 0.05f, 3) : 0;
    if (next_random(r) % 2) c->s.top_k = 1 + (int)(next_random(r) % 60);
    if (next_random(r) % 2) c->s.top_p = random_between(r, -0.1f, 1);
    if (next_random(r) % 2) c->s.min_p = random_between(r, 0, 0.4f);
    if (next_random(r) % 2) {
        c->s.repeat = random_between(r, 0.5f, 2);
        c->s.frequency = random_between(r, -1, 1);
        c->s.presence = random_between(r, -1, 1);
    }
    c->s.recent = c->recent;
    c->s.n_recent = (int)(next_random(r) % 41);
    c->s.bias = c->bias;
    c->s.n_bias = (int)(next_random(r) % 9);
    c->s.allowed = next_random(r) % 3 ? NULL : c->allowed;
    c->s.seed = (uint64_t)next_random(r) << 32 | next_random(r);
    c->s.step = next_random(r);
}

TEST(every_rule_agrees_with_the_naive_sampler)
{
    static struct sample_case c;
    uint64_t r = 88172645463325252u;
    int none = 0;
    for (int round = 0; round < 30000; round++) {
        make_case(&c, &r);
        int32_t want = naive_choose(&c.s, c.logits, c.vocab);
        CHECK_EQ(id_of(&c.s, c.logits, c.vocab), want);
        none += want < 0;
    }
    CHECK(none > 0 && none < 3000); /* the cases where nothing was allowed were among them */
}

/* Any bit pattern in any place: a choice is possible and allowed, or -1.  (Sanitizers watch.) */
TEST(wild_values_give_an_allowed_token_or_none)
{
    static struct sample_case c;
    uint64_t r = 1;
    int chosen = 0;
    for (int round = 0; round < 20000; round++) {
        make_case(&c, &r);
        float *wild[] = {&c.s.temp, &c.s.top_p, &c.s.min_p, &c.s.repeat, &c.s.frequency, &c.s.presence, &c.bias[0].add};
        for (size_t i = 0; i < COUNT_OF(wild); i++) {
            uint32_t bits = next_random(&r);
            if (next_random(&r) % 2) memcpy(wild[i], &bits, sizeof bits);
        }
        for (int i = 0; i < c.vocab; i += 1 + (int)(next_random(&r) % 9)) {
            uint32_t bits = next_random(&r) % 9 ? next_random(&r) : 0x7f800000u;
            memcpy(&c.logits[i], &bits, sizeof bits);
        }
        c.s.top_k = (int)next_random(&r);
        c.s.top_n = (int)(next_random(&r) % (KERN_TOP + 1));
        int32_t id = id_of(&c.s, c.logits, c.vocab);
        CHECK(id >= -1 && id < c.vocab);
        if (id < 0) continue;
        chosen++;
        CHECK(c.logits[id] > -INFINITY);
        CHECK(!c.s.allowed || (c.allowed[id / 32] >> id % 32 & 1));
    }
    CHECK(chosen > 15000);
}

/* ------------------------------------------------------------------ distribution */

/* Chi-square of n draws against probabilities; 8 tokens are 7 degrees of freedom: above 24.3 once in a thousand. */
static double chi_square(struct kern_sample s, const float *logits, const double *p, int vocab, int n)
{
    double sum = 0;
    int count[64] = {0};
    for (s.step = 0; s.step < (uint64_t)n; s.step++) count[id_of(&s, logits, vocab)]++;
    for (int i = 0; i < vocab; i++) sum += (count[i] - n * p[i]) * (count[i] - n * p[i]) / (n * p[i]);
    return sum;
}

TEST(draws_have_the_distribution_of_the_softmax)
{
    const float logits[8] = {0.3f, -1.2f, 2.0f, 0.0f, 1.1f, -0.4f, 1.9f, 0.7f};
    const float temps[] = {0.5f, 1.0f, 2.5f};
    for (size_t t = 0; t < COUNT_OF(temps); t++) {
        struct kern_sample s = plain();
        double p[8], sum = 0;
        s.temp = temps[t];
        s.seed = 20240229;
        for (int i = 0; i < 8; i++) sum += p[i] = exp(logits[i] / temps[t]);
        for (int i = 0; i < 8; i++) p[i] /= sum;
        CHECK(chi_square(s, logits, p, 8, 20000) < 24.3);
    }
}

TEST(draws_with_another_seed_or_step_differ_and_with_the_same_do_not)
{
    float logits[64] = {0};
    struct kern_sample s = plain(), other;
    int by_seed = 0, by_step = 0;
    s.temp = 1;
    for (s.step = 0; s.step < 200; s.step++) {
        int32_t id = id_of(&s, logits, 64);
        CHECK_EQ(id_of(&s, logits, 64), id);
        other = s;
        other.seed++;
        by_seed += id_of(&other, logits, 64) == id;
        other = s;
        other.step += 1000;
        by_step += id_of(&other, logits, 64) == id;
    }
    CHECK(by_seed < 20 && by_step < 20); /* one in 64 by chance */
}

/* --------------------------------------------------------------------- each rule */

TEST(greedy_takes_the_largest_and_the_lowest_id_on_a_tie)
{
    const float logits[6] = {-3, 2, 5, NAN, 5, 1}, zeros[3] = {-0.0f, 0.0f, -0.0f};
    struct kern_sample s = plain();
    CHECK_EQ(id_of(&s, logits, 6), 2);
    CHECK_EQ(id_of(&s, zeros, 3), 0);
    s.temp = -1;
    CHECK_EQ(id_of(&s, logits, 6), 2);
    s.temp = NAN;
    CHECK_EQ(id_of(&s, logits, 6), 2);
}

TEST(nothing_allowed_is_no_choice)
{
    const float logits[3] = {1, 2, 3}, bad[3] = {NAN, -INFINITY, NAN};
    const uint32_t none[1] = {0xfffffff8u};
    struct kern_sample s = plain();
    for (s.temp = 0; s.temp < 2; s.temp++) {
        struct kern_choice c = choice_of(&s, bad, 3);
        CHECK_EQ(c.id, -1);
        CHECK(c.logprob == -INFINITY);
        s.allowed = none;
        CHECK_EQ(id_of(&s, logits, 3), -1);
        s.allowed = NULL;
    }
    CHECK_EQ(id_of(&s, logits, 0), -1);
}

TEST(infinite_logits_share_everything)
{
    const float logits[4] = {INFINITY, 3, INFINITY, -INFINITY};
    struct kern_sample s = plain();
    int seen[4] = {0};
    s.temp = 1;
    s.top_n = 4;
    for (s.step = 0; s.step < 100; s.step++) {
        struct kern_choice c = choice_of(&s, logits, 4);
        seen[c.id]++;
        CHECK_NEAR(c.logprob, -log(2), 1e-6);
        CHECK(c.top_id[0] == 0 && c.top_id[1] == 2 && c.top_id[2] == 1 && c.top_id[3] == -1);
        CHECK(c.top_logprob[2] == -INFINITY);
    }
    CHECK(seen[0] > 20 && seen[2] > 20 && seen[1] == 0 && seen[3] == 0);
    s.top_p = 0.4f;
    CHECK_EQ(id_of(&s, logits, 4), 0);
}

/* The ids that some of many draws gave, as bits. */
static uint32_t reached(struct kern_sample s, const float *logits, int vocab)
{
    uint32_t set = 0;
    for (s.step = 0; s.step < 2000; s.step++) set |= 1u << id_of(&s, logits, vocab);
    return set;
}

TEST(top_k_keeps_the_k_best_and_lower_ids_on_a_tie)
{
    const float logits[6] = {1, 2, 1, 2, 1, 0};
    static const uint32_t set[] = {0x3f, 0x02, 0x0a, 0x0b, 0x0f, 0x1f, 0x3f, 0x3f};
    struct kern_sample s = plain();
    s.temp = 2;
    for (s.top_k = 0; s.top_k < (int)COUNT_OF(set); s.top_k++) CHECK_EQ(reached(s, logits, 6), set[s.top_k]);
    const float zeros[3] = {-0.0f, 0.0f, -0.0f};
    for (s.top_k = 1; s.top_k <= 3; s.top_k++) CHECK_EQ(reached(s, zeros, 3), (1u << s.top_k) - 1);
}

TEST(top_p_keeps_the_fewest_that_reach_it_and_never_none)
{
    const float logits[4] = {logf(0.1f), logf(0.4f), logf(0.3f), logf(0.2f)};
    static const struct { float p; uint32_t set; } cases[] = {
        {-1, 0x2}, {0, 0x2}, {0.39f, 0x2}, {0.41f, 0x6}, {0.69f, 0x6}, {0.71f, 0xe}, {0.95f, 0xf}, {1, 0xf}, {7, 0xf},
    };
    struct kern_sample s = plain();
    s.temp = 1;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s.top_p = cases[i].p;
        CHECK_EQ(reached(s, logits, 4), cases[i].set);
    }
    s.top_k = 2; /* then 0.4 is 4/7 of what is left: 0.55 needs it alone */
    s.top_p = 0.55f;
    CHECK_EQ(reached(s, logits, 4), 0x2);
}

TEST(min_p_is_relative_to_the_best)
{
    const float logits[4] = {logf(0.1f), logf(0.4f), logf(0.3f), logf(0.2f)};
    static const struct { float p; uint32_t set; } cases[] = {
        {0, 0xf}, {0.24f, 0xf}, {0.26f, 0xe}, {0.51f, 0x6}, {0.76f, 0x2}, {1, 0x2}, {9, 0x2},
    };
    struct kern_sample s = plain();
    s.temp = 3; /* later in the order: it does not move the limit */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s.min_p = cases[i].p;
        CHECK_EQ(reached(s, logits, 4), cases[i].set);
    }
}

TEST(a_tiny_temperature_is_greedy_and_an_infinite_one_flat)
{
    const float logits[4] = {1, 1.0001f, 0, -5};
    struct kern_sample s = plain();
    s.temp = 1e-38f;
    CHECK_EQ(reached(s, logits, 4), 0x2);
    s.temp = INFINITY;
    CHECK_EQ(reached(s, logits, 4), 0xf);
}

TEST(penalties_count_repeat_and_presence_once_and_frequency_each_time)
{
    const float logits[3] = {4, 1, -1};
    const int32_t recent[5] = {0, 0, 0, -7, 3};
    struct kern_sample s = plain();
    s.recent = recent;
    s.n_recent = 5;
    s.repeat = 2; /* 4 -> 2, still the best: a second division would not be */
    CHECK_EQ(id_of(&s, logits, 3), 0);
    s.presence = 0.9f; /* 1.1 */
    CHECK_EQ(id_of(&s, logits, 3), 0);
    s.presence = 1.1f; /* 0.9 */
    CHECK_EQ(id_of(&s, logits, 3), 1);
    s.presence = 0;
    s.frequency = 0.3f; /* 2 - 3 * 0.3 = 1.1 */
    CHECK_EQ(id_of(&s, logits, 3), 0);
    s.frequency = 0.4f; /* 0.8 */
    CHECK_EQ(id_of(&s, logits, 3), 1);
}

TEST(repeat_multiplies_a_logit_that_is_not_above_zero)
{
    const float logits[2] = {-1, -1.5f};
    const int32_t recent[1] = {0};
    struct kern_sample s = plain();
    s.recent = recent;
    s.n_recent = 1;
    s.repeat = 1.4f;
    CHECK_EQ(id_of(&s, logits, 2), 0);
    s.repeat = 1.6f;
    CHECK_EQ(id_of(&s, logits, 2), 1);
    s.repeat = 0; /* not above 0 is off */
    CHECK_EQ(id_of(&s, logits, 2), 0);
}

TEST(bias_comes_before_the_penalties_and_cannot_lift_the_mask)
{
    const float logits[3] = {1, 3, 0};
    const struct kern_bias up[3] = {{0, 9}, {-1, 50}, {3, 50}}, both[2] = {{0, 3}, {0, 3}};
    const int32_t recent[1] = {0};
    const uint32_t allowed[1] = {0x6};
    struct kern_sample s = plain();
    s.bias = up;
    s.n_bias = 3;
    CHECK_EQ(id_of(&s, logits, 3), 0);
    s.recent = recent;
    s.n_recent = 1;
    s.repeat = 4; /* (1 + 9) / 4 is below 3; 1 / 4 + 9 would not be */
    CHECK_EQ(id_of(&s, logits, 3), 1);
    s.repeat = 1;
    s.allowed = allowed;
    CHECK_EQ(id_of(&s, logits, 3), 1);
    s.allowed = NULL;
    s.bias = both;
    s.n_bias = 2;
    CHECK_EQ(id_of(&s, logits, 3), 0); /* 1 + 3 + 3: the same id twice adds twice */
}

TEST(a_parameter_that_is_not_a_number_is_off)
{
    const float logits[3] = {1, 3, 2};
    const int32_t recent[1] = {1};
    const struct kern_bias bias[1] = {{1, NAN}};
    struct kern_sample s = plain();
    s.recent = recent;
    s.bias = bias;
    s.n_recent = s.n_bias = 1;
    s.repeat = s.frequency = s.presence = s.top_p = s.min_p = NAN;
    CHECK_EQ(id_of(&s, logits, 3), 1);
    s.temp = 1;
    CHECK_EQ(reached(s, logits, 3), 0x7);
}

/* ------------------------------------------------------------- log-probabilities */

TEST(logprobs_are_of_the_raw_logits_whatever_the_rules)
{
    const float logits[5] = {0.5f, -2, 30.25f, 31, NAN};
    const struct kern_bias bias[1] = {{3, -100}};
    const uint32_t allowed[1] = {0x3};
    struct kern_sample s = plain();
    double sum = log(exp(0.5 - 31) + exp(-2.0 - 31) + exp(30.25 - 31) + 1) + 31;
    s.bias = bias;
    s.n_bias = 1;
    struct kern_choice c = choice_of(&s, logits, 5);
    CHECK_EQ(c.id, 2);
    CHECK_NEAR(c.logprob, 30.25 - sum, 1e-6);
    s.allowed = allowed;
    s.temp = 0.1f;
    c = choice_of(&s, logits, 5);
    CHECK_EQ(c.id, 0);
    CHECK_NEAR(c.logprob, 0.5 - sum, 1e-5);
}

TEST(the_report_has_the_best_raw_tokens_in_order)
{
    enum { N = 300 };
    float logits[N];
    uint64_t r = 99;
    for (int i = 0; i < N; i++) logits[i] = floorf(random_between(&r, 0, 60)); /* some ties */
    struct kern_sample s = plain();
    double all = 0;
    for (int i = 0; i < N; i++) all += exp(logits[i] - 60.0);
    for (s.top_n = 0; s.top_n <= KERN_TOP; s.top_n++) {
        struct kern_choice c = choice_of(&s, logits, N);
        bool used[N] = {false};
        for (int k = 0; k < KERN_TOP; k++) {
            if (k >= s.top_n) {
                CHECK(c.top_id[k] == -1 && c.top_logprob[k] == -INFINITY);
                continue;
            }
            int top = -1;
            for (int i = 0; i < N; i++)
                if (!used[i] && (top < 0 || logits[i] > logits[top])) top = i;
            used[top] = true;
            CHECK_EQ(c.top_id[k], top);
            CHECK_NEAR(c.top_logprob[k], logits[top] - 60.0 - log(all), 1e-5);
        }
    }
}

TEST(a_report_longer_than_the_vocabulary_ends_in_nothing)
{
    const float logits[3] = {1, 2, -INFINITY};
    struct kern_sample s = plain();
    s.top_n = KERN_TOP + 5;
    struct kern_choice c = choice_of(&s, logits, 3);
    CHECK(c.top_id[0] == 1 && c.top_id[1] == 0);
    for (int k = 2; k < KERN_TOP; k++) CHECK_EQ(c.top_id[k], -1);
    CHECK_NEAR(exp(c.top_logprob[0]) + exp(c.top_logprob[1]), 1, 1e-6);
}

/* Rules at random, each off as often as not. */
static struct kern_sample any_rules(uint64_t *r, const uint32_t *allowed)
{
    struct kern_sample s = plain();
    if (next_random(r) % 2) s.temp = random_between(r, 0.1f, 2);
    if (next_random(r) % 2) s.top_k = (int)(next_random(r) % 40);
    if (next_random(r) % 2) s.top_p = random_between(r, 0, 1);
    if (next_random(r) % 2) s.min_p = random_between(r, 0, 0.2f);
    if (next_random(r) % 2) s.allowed = allowed;
    s.seed = next_random(r);
    return s;
}

TEST(who_does_not_ask_for_the_log_probability_gets_the_same_token)
{
    enum { N = 500 };
    float logits[N];
    uint32_t allowed[(N + 31) / 32];
    uint64_t r = 7;
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < N; i++) logits[i] = random_between(&r, -9, 9);
        for (size_t i = 0; i < COUNT_OF(allowed); i++) allowed[i] = round % 10 ? next_random(&r) : 0;
        struct kern_sample s = any_rules(&r, allowed);
        const struct kern_choice asked = choice_of(&s, logits, N);
        s.no_logprob = true;
        const struct kern_choice got = choice_of(&s, logits, N);
        CHECK_EQ(got.id, asked.id);
        CHECK(got.logprob == 0 && asked.logprob < 0);

        s.top_n = 3; /* then it is needed all the same */
        struct kern_choice with = choice_of(&s, logits, N);
        CHECK(with.id == asked.id && with.logprob == asked.logprob && with.top_logprob[2] < 0);
        s.top_n = 0;
        s.target = 5;
        with = choice_of(&s, logits, N);
        CHECK(with.id == 5 && with.logprob < 0);
    }
}

TEST(scoring_reports_and_takes_the_target)
{
    const float logits[3] = {1, 2, NAN};
    const uint32_t allowed[1] = {0x2};
    struct kern_sample s = plain();
    s.temp = 1;
    s.allowed = allowed;
    s.target = 0;
    struct kern_choice c = choice_of(&s, logits, 3);
    CHECK_EQ(c.id, 0);
    CHECK_NEAR(c.logprob, -log(1 + exp(1)), 1e-6);
    s.target = 2;
    c = choice_of(&s, logits, 3);
    CHECK(c.id == 2 && c.logprob == -INFINITY);
    s.target = 3;
    c = choice_of(&s, logits, 3);
    CHECK(c.id == -1 && c.logprob == -INFINITY);
}

CHECK_MAIN
