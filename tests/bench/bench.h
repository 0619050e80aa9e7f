/* bench.h - speed beside what the machine allows and what a peer reaches: the words that the files of the bench share.
 *
 *     for each model file:  ours, all tests  ->  the peer, the same tests   (in turn: both see the same minutes)
 *     for each test:        one untimed warm-up, then R repetitions: wait for quiet, probe the limits, measure, probe
 *
 * A test is named as the peer's driver names it:
 *     ppN    pre-fill: a prompt of N tokens, one token out
 *     tgN    decode: one sequence, N steps after an untimed prompt of 16 tokens
 *     bBxN   the same with B sequences together; tok/s counts all of them
 *     dDtgN  the same with one sequence after D tokens, and after 16: what attention costs
 *     sweepN b1xN, b2xN, b4xN, b8xN and b16xN, in a table of their own
 *     busyN  N steps of one sequence alone, and beside a process that computes
 *     load   from the start of opening the file until a request could run, in fresh memory and once more at once
 * and, ours only:
 *     ppNtT, tgNtT, bBxNtT  the same on T threads
 *     agentsN    N agents whose prompts begin alike: is the front computed once, and what does that save?
 *     resume     a turn that extends a conversation, against the same prompt fresh
 *     watchN     N decode steps, and N while another thread reads the engine's figures 60 times a second
 *     draftN     N tokens of one sequence with drafts (engine/draft.h) and without: of a text in which all are right,
 *                and of one in which hardly any is.  All other tests are without
 *     ledgerBxN  B sequences of N tokens, full: the ledger against what the system says of the process
 *
 * What attention and other processes cost does not depend on the type of the weights: dDtgN and busyN are measured with
 * the smallest file of each shape. */
#ifndef BENCH_H
#define BENCH_H
#include "engine/ledger.h"
#include "kernels/quant.h"
#include "plimsoll.h"
#include "tests/bench/cost.h"
#include "tests/bench/goals.h"

enum { BENCH_REPS = 64, BENCH_TESTS = 24, BENCH_LIST = 20, BENCH_PROMPT = 16, BENCH_SWEEP = 5 };
extern const int bench_sweep[BENCH_SWEEP]; /* numbers of sequences */

struct test {
    char name[24];
    bool prefill;
    bool swept; /* named by a sweep alone: shown in its table only */
    int seqs, n;
    int depth;   /* tokens before; 0: not a test of depth */
    int threads; /* 0: as many as all */
};

/* What is asked of a model file; 0: not asked for. */
struct plan {
    struct test test[BENCH_TESTS];
    int tests;
    int sweep;  /* N of sweepN */
    int busy;   /* N of busyN */
    int agents; /* N of agentsN */
    int watch;  /* N of watchN */
    int draft;  /* N of draftN */
    int weigh_seqs, weigh_ctx; /* of ledgerBxN */
    bool load, resume;
};

struct spread {
    double median, min, max;
};
struct spread spread_of(double *v, int n); /* sorts v; n >= 1 */

/* What one side reached in one test. */
struct figure {
    bool there;
    struct spread rate; /* tok/s */
    double share;       /* median over repetitions: of the int8 peak or of the read bandwidth (test_multiplies()) */
    double limit;       /* that limit, median: GOP/s, GB/s */
    double noise;       /* CPUs that other processes used meanwhile, median */
    int thrown;         /* repetitions that were disturbed, or saw the limits change, and were done again */
    int moved;          /* repetitions that saw them change, and count all the same */
    bool unsteady;      /* they are more than half of all */
    struct limits limits;  /* both, medians; the peer's: 0 */
    struct judgement goal; /* ours, where the test has goals */
};

/* dDtgN: share is of the read bandwidth, by the bytes of keys and values and by what a step takes longer than after a
 * short prompt.  busyN: */
struct beside {
    bool there;
    struct spread alone, busy; /* tok/s */
    double part;               /* busy / alone: median over repetitions */
    double noise;
};

/* The first load after a pause, and one right after it, with the memory that the first gave back (load.c). */
enum load { LOAD_FRESH, LOAD_AGAIN, LOADS };
struct loading {
    bool there;
    struct spread s[LOADS]; /* seconds */
    double noise;           /* CPUs that others used during the two, median */
    double memory_s; /* ours: as much fresh memory filled by as many threads, median; 0: not measured */
};

/* The wait for a first token (agents: for the last one's) in two ways, each repetition both. */
enum way { WAY_SHARED, WAY_FRESH, WAYS }; /* pages of a known front are used; everything is computed */
struct waits {
    bool there;
    struct spread ms[WAYS];
    int computed[WAYS]; /* prompt tokens, the same in every repetition */
    /* of all steps, in the repetitions that count: half and 99 of 100 take no longer; the longest; and the most that
     * one has computed, a thread */
    double step_half_ms, step_most_ms, step_longest_ms, step_computing_ms;
    double noise;
};

/* What a process that does nothing else holds.  RssAnon in bytes, less what it was before open(). */
struct watched {
    bool there;
    struct spread rate[2]; /* tok/s: alone, watched */
    double noise;
};

/* Tok/s of two texts, without drafts and with them; then of the last repetition: tokens a pass, drafts tried, right. */
enum drafted { DRAFTED_RIGHT, DRAFTED_WRONG, DRAFTED };
struct drafting {
    bool there;
    struct spread rate[DRAFTED][2];
    double per_pass[DRAFTED];
    int tried[DRAFTED], right[DRAFTED];
    double noise;
};

struct weight {
    bool there;
    struct ledger ledger;
    uint64_t full; /* when every sequence had filled its context */
    uint64_t heap; /* of it: what malloc took from the system, in use or not; 0: not told */
};

struct side {
    struct figure figure[BENCH_TESTS];
    struct beside beside;
    struct loading load;
};

/* One model file and all that was measured with it. */
struct subject {
    char name[64], type[16], path[512];
    const struct plan *plan;
    bool given;    /* a file that was named, not made */
    bool smallest; /* of its shape: dDtgN and busyN are measured with it */
    uint64_t file_bytes;
    struct cost cost;
    double kv_token; /* bytes of keys and values that a token has; 0: not known yet */
    int window;      /* tokens that a step sees at most; 0: all */
    double kv_local; /* the same in layers with a window of their own (kv_token is without them) */
    int local_window;
    struct side ours, peer;
    struct waits agents, resume;
    struct watched watched;
    struct drafting drafting;
    struct weight weight;
};

struct options {
    char model[BENCH_LIST][256], type[BENCH_LIST][16];
    struct plan plan, embedded; /* embedded: of the model that is in the program, which is small: more steps */
    int models, types;
    int reps, threads;
    double wait_s; /* most seconds spent waiting for quiet, per model file and side */
    bool markdown, keep, quick, no_peer;
    const char *backend, *isa; /* NULL: the engine's own choice */
    enum ktype kv_type;        /* of our pages; the peer's are F16, so with another one there is no peer */
    bool fast;                 /* a GPU's mode: fast once a device has shown that right */
    char folder[384];          /* model files and the peer's driver live here */
};
#define BENCH_EMBEDDED "plimsoll-tiny" /* its name; the file is assets/plimsoll-tiny.gguf */

/* plan.c: which limit is a test's: the int8 peak, as of a prompt, or (false) the read bandwidth? */
bool test_multiplies(const struct test *t);

/* plan.c: p is the tests of a list "pp512,tg128".  -1: err says which is none. */
int plan_read(struct plan *p, const char *list, struct err *err);

/* options.c: 0, 1 (help was printed) or -1 (err says what is wrong). */
int options_read(struct options *o, int argc, char **argv, struct err *err);

/* files.c: list o's model files in s (at most cap), making those that are missing; one that cannot be made is left out,
 * and stderr says why.  Their number, or -1: none is left, or one that was named cannot be read. */
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
int peer_load(struct peer *p, const struct options *o, const struct subject *s, double *seconds, struct err *err);

/* load.c: both sides' loads in turn, if they are asked for; peer NULL: ours only.  Reads and fills memory, and sleeps
 * for seconds, unless it is --quick. */
int load_measure(const struct options *o, struct subject *s, struct peer *peer, struct err *err);

/* rows.c: the one table of speed, beside limits, peer and goals. */
void rows_print(const struct options *o, const struct subject *s, int n, bool markdown, FILE *out);

/* Call each() for every row of that table in which others took too much of the machine; their number. */
int rows_disturbed(const struct options *o, const struct subject *s, int n, void (*each)(void *self, const char *row),
                   void *self);

/* report.c: everything that was measured, as text or as Markdown. */
void report_print(const struct options *o, const struct subject *s, int n, bool with_peer, bool markdown, FILE *out);

/* keep.c: the section (Markdown) and a chart go into tests/bench/SPEED.md, or, with a reason said, only into o->folder.
 * head: the machine and the versions, a line. */
int keep_figures(const struct options *o, const struct subject *s, int n, const char *head, const char *section,
                 int failed, struct err *err);

/* One line to stderr when a test is done. */
void report_progress(const char *who, const struct subject *s, const struct test *t, const struct figure *f);
void report_waits(const struct subject *s, const char *test, const struct waits *w);
void report_weight(const struct subject *s, const char *test, const struct weight *w);
#endif
