/* ours.h - an opened engine that is being measured: what the tests of ours share. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H
#include "engine/engine.h"
#include "tests/bench/bench.h"

/* Seconds of each step since n was set to 0.  computing: of the same step, by the process's clock, a thread: where the
 * host or another process took the cores meanwhile it is less. */
enum { BENCH_STEPS = 8192 };
struct times {
    int n; /* those over BENCH_STEPS are not kept */
    double seconds[BENCH_STEPS], computing[BENCH_STEPS];
};

struct bench {
    const struct options *o;
    const struct plan *plan;
    const struct engine_ops *ops;
    struct engine *e;
    struct probe *probe;
    double wait_left; /* seconds of it that may still be waited for a quiet machine */
    uint32_t random;
    struct times *times; /* NULL: nobody wants them */
    int32_t *ids; /* the prompt to submit: a context's tokens */
    int id[64];   /* requests of the repetition that runs */
};

/* The configuration that all of ours are opened with. */
struct engine_config ours_config(const struct options *o, const char *path, int threads, int ctx, int seqs);

/* Open an engine with cfg, and a probe with as many threads, beside the tokens of a context; b->ops, o and plan
 * are set.  -1: nothing is open; err->code is the engine's where it refused. */
int ours_open(struct bench *b, const struct engine_config *cfg, struct err *err);
void ours_close(struct bench *b);

/* Other tokens every time in ids[from .. from + n). */
void ours_random(struct bench *b, int from, int n);

/* Ask for max_tokens after ids[0 .. n). */
int ours_submit(struct bench *b, int n, int max_tokens, bool fresh, int *id, struct err *err);
int ours_step(struct bench *b, struct err *err);
bool ours_started(struct bench *b, int requests);        /* has each of id[0 .. requests) its first token? */
int ours_finish(struct bench *b, int requests, struct err *err); /* step until each has ended by its length */
void ours_drop(struct bench *b, int requests);

/* n passes of seqs sequences, all of them past their prompts. */
int ours_decode(struct bench *b, int seqs, int n, double *seconds, struct err *err);

/* The same of id[0 .. seqs), which were submitted and have tokens to spare; they stay. */
int ours_steps(struct bench *b, int seqs, int n, double *seconds, struct err *err);

/* Around what is measured in a repetition: begin waits for quiet and probes; end probes again, and says whether the
 * repetition counts: not when others took too much of the machine or its limits changed meanwhile (reads: the read
 * bandwidth matters too), unless f->thrown, which it counts up, has come to the repetitions asked for. */
struct around {
    struct limits limits; /* after end: the middle of before and after */
    struct noise noise;
    double foreign; /* CPUs */
};
void ours_begin(struct bench *b, struct around *a);
bool ours_end(struct bench *b, struct around *a, bool reads, struct figure *f);

/* Each measures s's, if it is asked for.  watch.c, agents.c, busy.c: on an engine with room for it; depth.c: opens its
 * own, one test after another, leaving out those that memory does not allow. */
int watch_measure(struct bench *b, struct subject *s, struct err *err);
enum { AGENT_FRONT = 512, AGENT_TAIL = 64, AGENT_ANSWER = 32, TALK = 1024, TALK_TURN = 32 };
int agents_measure(struct bench *b, struct subject *s, struct err *err);
int draft_measure(struct bench *b, struct subject *s, struct err *err); /* opens its own too */
int busy_measure(struct bench *b, struct subject *s, struct err *err);
int depth_measure(struct bench *b, struct subject *s, struct err *err);

/* Keys and values that a step behind so many tokens reads beyond those of a short one; after depth_measure(). */
double depth_bytes(const struct subject *s, int depth);
#endif
