/* goals.h - how fast it ought to be, and how far from it a figure is.  Pure functions: any thread.
 *
 * The goals are those of one machine: two cores with 2260 GOP/s of 8-bit products, whose read bandwidth is about 51 or
 * about 85 GB/s (it has two states).  So there are two readings of each:
 *
 *     as stated   tok/s as they are against the figure of the table
 *     scaled      the table's figure times what the limits, probed beside that repetition, are of that machine's:
 *                     a prompt, 16 sequences    int8 peak / 2260
 *                     8 sequences               the lesser of int8 peak / 2260 and bandwidth / 51 or 85
 *
 * One sequence is a share of the bandwidth probed beside it, and so the same in both. */
#ifndef BENCH_GOALS_H
#define BENCH_GOALS_H
#include "tests/bench/limits.h"

enum { GOAL_PROMPT = 512 }; /* tokens of the prompt that has a goal */

enum goal_kind { GOAL_PREFILL, GOAL_ONE, GOAL_EIGHT, GOAL_SIXTEEN, GOAL_KINDS };

/* Not judged; under the least that is asked for; at least that; near the best that is known to be possible. */
enum verdict { VERDICT_NONE, VERDICT_BELOW, VERDICT_MUST, VERDICT_GOOD };
const char *verdict_name(enum verdict v); /* "", "below", "must", "good" */

/* One repetition. */
struct reading {
    double rate, share; /* tok/s; of the read bandwidth, or of the int8 peak */
    struct limits limits;
};

struct goal {
    double must, good; /* good 0: there is no more than must */
    enum verdict verdict;
    const char *state; /* of the bandwidth, where the goal depends on it: "slow", "fast"; else NULL */
};

/* Both readings; must and good are tok/s or (share) parts of the bandwidth. */
struct judgement {
    bool there, share;
    struct goal stated, scaled;
};

/* The goals of a shape ("llama3.2-1b"), type ("q4_k") and kind, judged by the median of n readings: each has goals of
 * its own, and the ones that are shown are those of the middle one.  Not there: there are none, or n is 0. */
struct judgement goal_judge(const char *shape, const char *type, enum goal_kind kind, const struct reading *r, int n);

/* A goal without a table.  More is better. */
struct goal goal_of(double value, double must, double good);

/* Does the file of this name and type have rows in the table? */
bool goal_has(const char *shape, const char *type);
int goal_shapes(void); /* rows of the table */
void goal_shape(int i, const char **shape, const char **type);

#define GOAL_ATTENTION_MUST 0.60 /* of the read bandwidth, by the bytes of keys and values */
#define GOAL_ATTENTION_GOOD 0.70
#define GOAL_ONE_THREAD 0.50 /* of two threads */
#define GOAL_EMBEDDED 1000.0 /* tok/s of one sequence, on any machine */

/* What `threads` pinned threads on as many cores may lose to another process that computes: it takes one core at most,
 * and where the system shares the cores out evenly, no more than its equal part. */
struct goal goal_beside(double part, int threads, int cores);
#endif
