/* bench.h - speed beside what the machine allows and what a peer reaches: the words that the files of the bench share.
 *
 *     for each model file:  ours, all tests  ->  the peer, the same tests   (in turn: both see the same minutes)
 *     for each test:        one untimed warm-up, then R repetitions: wait for quiet, probe the limits, measure
 *
 * A test is named as the peer's driver names it:
 *     ppN    pre-fill: a prompt of N tokens, one token out
 *     tgN    decode: one sequence, N steps after an untimed prompt of 16 tokens
 *     bBxN   the same with B sequences together; tok/s counts all of them */
#ifndef BENCH_H
#define BENCH_H
#include "plimsoll.h"

enum { BENCH_REPS = 64, BENCH_TESTS = 16, BENCH_LIST = 16, BENCH_PROMPT = 16 };

struct test {
    char name[24];
    bool prefill;
    int seqs, n;
};

struct spread {
    double median, min, max;
};
struct spread spread_of(double *v, int n); /* sorts v; n >= 1 */

/* What one side reached in one test. */
struct figure {
    bool there;
    struct spread rate; /* tok/s */
    double share;       /* median over repetitions: of the int8 peak (pre-fill), of the read bandwidth (decode) */
    double limit;       /* that limit, median: GOP/s, GB/s */
    double noise;       /* CPUs that other processes used meanwhile, median */
    int thrown;         /* repetitions that were too noisy and were done again */
};

struct side {
    double load_s;
    struct figure figure[BENCH_TESTS];
};

/* One model file and all that was measured with it. */
struct subject {
    char name[64], type[16], path[512];
    uint64_t file_bytes;
    struct side ours, peer;
};

struct options {
    char model[BENCH_LIST][256], type[BENCH_LIST][16];
    struct test test[BENCH_TESTS];
    int models, types, tests;
    int reps, threads;
    double wait_s; /* most seconds spent waiting for quiet, per model file and side */
    bool markdown, no_peer;
    const char *backend, *isa; /* NULL: the engine's own choice */
    char folder[384];          /* model files and the peer's driver live here */
};

/* options.c: 0, 1 (help was printed) or -1 (err says what is wrong). */
int options_read(struct options *o, int argc, char **argv, struct err *err);

/* files.c: list o's model files in s (at most cap), making those that are missing.  Their number, or -1. */
int files_ready(const struct options *o, struct subject *s, int cap, struct err *err);

/* ours.c: s->ours by way of engine_local.  about: the backend and its kernels, in words. */
int ours_measure(const struct options *o, struct subject *s, struct buf *about, struct err *err);

/* peer.c: the peer's driver is built when needed; false: err says why there is none. */
struct peer {
    char driver[512], version[64];
};
bool peer_find(struct peer *p, const struct options *o, struct err *err);
int peer_measure(struct peer *p, const struct options *o, struct subject *s, struct err *err);

/* table.c: everything that was measured, as text or as Markdown. */
void table_print(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out);

/* One line to stderr when a test is done. */
void table_progress(const char *who, const struct subject *s, const struct test *t, const struct figure *f);
#endif
