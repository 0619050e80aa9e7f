/* ours.h - an opened engine that is being measured: what the tests of ours share. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H
#include "engine/engine.h"
#include "tests/bench/bench.h"

/* What one token costs at least, counted from the file: a step reads every weight once (the embedding table only where
 * it is the output matrix too), and multiplies with every matrix. */
struct cost {
    double bytes;  /* a step must read */
    double body;   /* multiply-adds of a token in the layers */
    double output; /* ... and of a row of logits */
};

struct bench {
    const struct options *o;
    const struct engine_ops *ops;
    struct engine *e;
    struct probe *probe;
    struct cost cost;
    double wait_left;
    uint32_t random;
    double longest; /* seconds of the longest pass since it was set to 0 */
    int32_t *ids; /* the prompt to submit: a context's tokens */
    int id[64];   /* requests of the repetition that runs */
};

/* The configuration that all of ours are opened with. */
struct engine_config ours_config(const struct options *o, const char *path, int ctx, int seqs);

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

/* watch.c: s->watched, if it is asked for. */
int watch_measure(struct bench *b, struct subject *s, struct err *err);

/* agents.c: s->agents and s->resume, as far as they are asked for. */
enum { AGENT_FRONT = 512, AGENT_TAIL = 64, AGENT_ANSWER = 32, TALK = 1024, TALK_TURN = 32 };
int agents_measure(struct bench *b, struct subject *s, struct err *err);
#endif
