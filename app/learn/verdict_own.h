/* verdict_own.h - why our own engine had no memory: a fold over a session's events, so that the screen, a lesson, a
 * post-mortem and a replay say the same of the same.
 *
 *     struct judge *j = judge_open();
 *     while (an event e comes) judge_feed(j, &e);      // memory, machine, turn_start, turn_end, carries, oom, ...
 *     if (judge_failures(j) > 0) judge_verdict(j, JUDGE_FIRST, &v);
 *
 * What is judged: an oom event (a policy of naive.h that failed), a shortage with its refusal, and a refusal alone.
 * Such a verdict is certain: nothing in it is guessed from words.
 *
 *     KV pool, no-limit     alone, and its prompts grew call by call    growth
 *                           alone, and did not grow                     kv
 *                           beside others: so many had fitted before,
 *                           and it has grown since                      growth
 *                           beside others: else                         concurrency
 *     KV pool, reserve                                                  static-batch
 *     KV pool, first-fit    free in all is enough                       fragmentation
 *                           it is not                                   concurrency; kv where it is alone
 *     weights (f32, reload)                                             weights
 *     activations (whole-batch)                                         activations
 *     refused: context, turn                                            context
 *              pool                                                     kv
 *              requests, host (and refused_host)                        host
 *              queue                                                    concurrency
 *              open: weights pass the ceiling alone                     weights
 *                    else with the workspace                            activations
 *                    else with the pool                                 kv
 *     refused otherwise (store, input, internal)                        not-memory
 *
 * Growth is what a line through the prompts says, from the last time that they shrank on: of the last call of each
 * turn, or, where all of that lies in one turn, of its calls.
 *
 * Events are believed no more than their reader believes them: figures may be anything, names are cut.  Owner: the
 * caller; some 80 KiB, taken at open, and nothing after it.  Threads: one at a time. */
#ifndef VERDICT_OWN_H
#define VERDICT_OWN_H
#include "app/learn/verdict.h"
#include "app/session/event.h"

enum { JUDGE_NAME = 40, JUDGE_AGENTS = 32 /* the others are judged as one */, JUDGE_POINTS = 64 /* the last ones */ };

struct judge; /* opaque */
struct judge *judge_open(void); /* NULL: no memory */
void judge_close(struct judge *j);
void judge_feed(struct judge *j, const struct event *e);

int judge_failures(const struct judge *j); /* so far */
bool judge_failing(const struct judge *j); /* the last is the last word: no turn has ended well since */
enum judge_which { JUDGE_FIRST, JUDGE_LAST };
/* The verdict as it was when that failure came.  false: there was none, and v is as it was. */
bool judge_verdict(const struct judge *j, enum judge_which which, struct verdict *v);

/* The stream ended in the middle, without a failure: what the last figures say of its death, which is at most likely.
 * CAUSE_NOT_MEMORY: they say that there was room. */
void judge_death(const struct judge *j, struct verdict *v);

/* How an agent's prompts grew ("": the only one).  false: there are fewer than three points, or they did not grow. */
struct judge_growth {
    double slope, r2;    /* tokens a turn (or call) */
    int64_t first, last; /* turns (or calls) between which */
    int64_t from, to;    /* tokens at these */
    int points;
    bool calls;          /* of one turn: first and last are its calls */
};
bool judge_growth(const struct judge *j, const char *agent, struct judge_growth *out);
#endif
