/* bench.h - speed beside what the machine allows and what a peer reaches: the words that the files of the bench share.
 *
 *     for each model file:  ours, all tests  ->  the peer, the same tests   (in turn: both see the same minutes)
 *     for each test:        one untimed warm-up, then R repetitions: wait for quiet, probe the limits, measure
 *
 * A test is named as the peer's driver names it:
 *     ppN    pre-fill: a prompt of N tokens, one token out
 *     tgN    decode: one sequence, N steps after an untimed prompt of 16 tokens
 *     bBxN   the same with B sequences together; tok/s counts all of them
 *     sweepN b1xN, b2xN, b4xN, b8xN and b16xN, in a table of their own
 * and, ours only:
 *     agentsN    N agents whose prompts begin alike: is the front computed once, and what does that save?
 *     resume     a turn that extends a conversation, against the same prompt fresh
 *     watchN     N decode steps, and N while another thread reads the engine's figures 60 times a second
 *     ledgerBxN  B sequences of N tokens, full: the ledger against what the system says of the process */
#ifndef BENCH_H
#define BENCH_H
#include "engine/ledger.h"
#include "plimsoll.h"

enum { BENCH_REPS = 64, BENCH_TESTS = 24, BENCH_LIST = 16, BENCH_PROMPT = 16, BENCH_SWEEP = 5 };
extern const int bench_sweep[BENCH_SWEEP]; /* numbers of sequences */

struct test {
    char name[24];
    bool prefill;
    bool swept; /* named by a sweep alone: shown in its table only */
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

/* The wait for a first token (agents: for the last one's) in two ways, each repetition both. */
enum way { WAY_SHARED, WAY_FRESH, WAYS }; /* pages of a known front are used; everything is computed */
struct waits {
    bool there;
    struct spread ms[WAYS];
    int computed[WAYS]; /* prompt tokens, the same in every repetition */
    double longest_ms;  /* pass of all, in the repetitions that count */
    double noise;
};

/* What a process that does nothing else holds.  RssAnon in bytes, less what it was before open(). */
struct watched {
    bool there;
    struct spread rate[2]; /* tok/s: alone, watched */
    double noise;
};

struct weight {
    bool there;
    struct ledger ledger;
    uint64_t full; /* when every sequence had filled its context */
    uint64_t heap; /* of it: what malloc took from the system, in use or not; 0: not told */
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
    struct waits agents, resume;
    struct watched watched;
    struct weight weight;
};

struct options {
    char model[BENCH_LIST][256], type[BENCH_LIST][16];
    struct test test[BENCH_TESTS];
    int models, types, tests;
    int sweep;                 /* N of sweepN; 0: not asked for, as with those that follow */
    int agents;                /* N of agentsN */
    bool resume;
    int watch;                 /* N of watchN */
    int weigh_seqs, weigh_ctx; /* of ledgerBxN */
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

/* memory.c: s->weight, from a process of its own; weigh_main() is what runs there, with this program's options. */
int weigh_measure(const struct options *o, struct subject *s, struct err *err);
int weigh_main(int argc, char **argv);

/* peer.c: the peer's driver is built when needed; false: err says why there is none. */
struct peer {
    char driver[512], version[64];
};
bool peer_find(struct peer *p, const struct options *o, struct err *err);
int peer_measure(struct peer *p, const struct options *o, struct subject *s, struct err *err);

/* report.c: everything that was measured, as text or as Markdown. */
void report_print(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out);

/* One line to stderr when a test is done. */
void report_progress(const char *who, const struct subject *s, const struct test *t, const struct figure *f);
void report_waits(const struct subject *s, const char *test, const struct waits *w);
void report_weight(const struct subject *s, const char *test, const struct weight *w);
#endif
