/* goals.c - see goals.h. */
#include "tests/bench/goals.h"

static const double peak_int8 = 2260;
static const double band[2] = {51, 85}, band_middle = 68; /* GB/s; from the middle on it is the fast state */

enum state { SLOW, FAST };
static enum state state_of(const struct limits *l) { return l->read < band_middle ? SLOW : FAST; }

struct pair {
    double must, good;
};

/* One: shares; a "good" one is five points above. */
struct target {
    const char *shape, *type;
    struct pair prefill;
    double one[2];
    struct pair eight[2], sixteen;
};

static const double one_good = 0.05;

static const struct target target[] = {
    {"llama3.2-1b", "q8_0", {550, 640}, {0.92, 0.85}, {{240, 265}, {320, 370}}, {430, 490}},
    {"llama3.2-1b", "q4_0", {540, 620}, {0.90, 0.83}, {{360, 400}, {360, 400}}, {420, 470}},
    {"llama3.2-1b", "q4_k", {460, 530}, {0.88, 0.82}, {{340, 380}, {340, 380}}, {360, 400}},
    {"qwen2.5-0.5b", "q8_0", {1300, 1500}, {0.87, 0.80}, {{560, 640}, {700, 800}}, {880, 1020}},
    {"qwen2.5-0.5b", "q4_0", {1280, 1480}, {0.85, 0.76}, {{740, 860}, {740, 860}}, {900, 1050}},
    {"qwen2.5-0.5b", "q4_k", {1150, 1320}, {0.85, 0.75}, {{690, 800}, {690, 800}}, {850, 980}},
};

const char *verdict_name(enum verdict v)
{
    static const char *const name[] = {"", "below", "must", "good"};
    return name[v];
}

int goal_shapes(void) { return (int)COUNT_OF(target); }

void goal_shape(int i, const char **shape, const char **type)
{
    *shape = target[i].shape;
    *type = target[i].type;
}

static const struct target *find(const char *shape, const char *type)
{
    for (size_t i = 0; i < COUNT_OF(target); i++)
        if (strcmp(target[i].shape, shape) == 0 && strcmp(target[i].type, type) == 0) return &target[i];
    return NULL;
}

bool goal_has(const char *shape, const char *type) { return find(shape, type); }

struct goal goal_of(double value, double must, double good)
{
    enum verdict v = value < must ? VERDICT_BELOW : good > 0 && value >= good ? VERDICT_GOOD : VERDICT_MUST;
    return (struct goal){.must = must, .good = good, .verdict = v};
}

struct goal goal_beside(double part, int threads, int cores)
{
    double even = MIN(1.0, (double)cores / (threads + 1)), least = MIN(even, (double)(threads - 1) / threads);
    return goal_of(part, least > 0 ? least : even, even);
}

/* ---------------------------------------------------------------- a reading */

/* The goals as the table has them, for the state that the bandwidth is in. */
static struct pair stated_pair(const struct target *t, enum goal_kind kind, const struct limits *l)
{
    enum state state = state_of(l);
    switch (kind) {
    case GOAL_PREFILL: return t->prefill;
    case GOAL_ONE: return (struct pair){t->one[state], t->one[state] + one_good};
    case GOAL_EIGHT: return t->eight[state];
    default: return t->sixteen;
    }
}

static double scale(enum goal_kind kind, const struct limits *l)
{
    double int8 = l->int8 / peak_int8, read = l->read / band[state_of(l)];
    if (kind == GOAL_ONE) return 1;
    return kind == GOAL_EIGHT ? MIN(int8, read) : int8;
}

/* How much of its goal each repetition reached, in rising order of that. */
struct reached {
    double part;
    struct pair goal;
    bool good;
    enum state state;
};

static int compare(const void *a, const void *b)
{
    const struct reached *x = a, *y = b;
    return (x->part > y->part) - (x->part < y->part);
}

/* The middle one decides; of an even number the lower of the two. */
static struct goal judge(const struct target *t, enum goal_kind kind, const struct reading *r, int n, bool scaled)
{
    struct reached reached[64];
    n = MIN(n, (int)COUNT_OF(reached));
    for (int i = 0; i < n; i++) {
        struct pair p = stated_pair(t, kind, &r[i].limits);
        double by = scaled ? scale(kind, &r[i].limits) : 1, value = kind == GOAL_ONE ? r[i].share : r[i].rate;
        p = (struct pair){p.must * by, p.good * by};
        reached[i] = (struct reached){.part = value / p.must, .goal = p, .good = value >= p.good,
                                      .state = state_of(&r[i].limits)};
    }
    qsort(reached, (size_t)n, sizeof *reached, compare);
    const struct reached *m = &reached[(n - 1) / 2];
    enum verdict v = m->part < 1 ? VERDICT_BELOW : m->good ? VERDICT_GOOD : VERDICT_MUST;
    const char *state = kind == GOAL_ONE || kind == GOAL_EIGHT ? m->state == SLOW ? "slow" : "fast" : NULL;
    return (struct goal){.must = m->goal.must, .good = m->goal.good, .verdict = v, .state = state};
}

struct judgement goal_judge(const char *shape, const char *type, enum goal_kind kind, const struct reading *r, int n)
{
    const struct target *t = find(shape, type);
    if (!t || n < 1) return (struct judgement){0};
    return (struct judgement){.there = true, .share = kind == GOAL_ONE, .stated = judge(t, kind, r, n, false),
                              .scaled = judge(t, kind, r, n, true)};
}
