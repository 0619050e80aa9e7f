/* crowd.h - many clients who ask an engine for everything that can be asked, for tests and the soak.
 *
 *     clients -> submit, cancel, drop -> engine -> answers -> a writer thread -> a pipe -> a reader thread
 *
 * The writer is what stdout is to a program: it takes what is new of each answer by offset, and sleeps in write() when
 * nobody reads the pipe.  What the clients do depends on the seed and on the engine alone, so the same history can be
 * run with readers that read and with readers that stall, and must be the same to the last figure.
 *
 * Nobody starves.  A request is admitted after at most CROWD_BEFORE others: those that waited when it came (the queue
 * holds 64, it is one of them), and those that overtake it, 16 at most.  Each of these ends within its rows, and every
 * pass computes one row at least of those that run; so without over-commit it waits for at most
 * (CROWD_BEFORE + max_seqs) * ctx passes. */
#ifndef CROWD_H
#define CROWD_H
#include "engine/engine.h"

enum { CROWD_CLIENTS = 64, CROWD_BEFORE = 63 + 16 };

struct crowd_plan {
    const struct engine_ops *ops;
    struct engine *e; /* stays the caller's */
    int vocab;        /* prompts are made of tokens 0 .. vocab - 1 */
    uint64_t pool_tokens;
    uint32_t seed;
    bool overcommit;
};

struct crowd_sum {
    uint64_t submitted, finished, cancelled, dropped; /* dropped: by a client that did not wait for the end */
    uint64_t refused[7];                              /* by -enum engine_error */
    uint64_t rounds, passes, most_before, most_passes; /* most: that a request waited for */
};

struct crowd; /* opaque */

struct crowd *crowd_open(const struct crowd_plan *plan); /* ends the program when there is no memory or no thread */
void crowd_stall(struct crowd *c, bool stalled);         /* nobody reads the pipe; at first somebody does */
/* Some clients act, then one step.  NULL, or what is wrong, in words. */
const char *crowd_round(struct crowd *c);
/* Steps until nothing is left to do, then all answers are dropped: everything must have been given back. */
const char *crowd_drain(struct crowd *c);
const struct crowd_sum *crowd_sum(const struct crowd *c);
uint64_t crowd_written(const struct crowd *c); /* bytes that went into the pipe so far */
void crowd_close(struct crowd *c);
#endif
