/* sched.h - requests in, passes out: admission, batches, text.  What every maker of engine.h that runs in this process
 * shares.
 *
 *     submit -> waiting (FIFO) -> admitted when its pages are promised -> pre-fill in chunks -> one token a pass ->
 *     ended
 *
 * A pass holds one row of every sequence that generates, then pre-fill rows of the admitted in order of admission, up
 * to max_rows.  The scheduler knows nothing of weights: a runner computes the pass, and says which token each out row
 * chose.
 *
 * Admission: a request gets all the pages that prompt + max_tokens can need, less those that it shares, or waits; the
 * queue keeps its order, so a big request is not overtaken for ever.  One whose prompt begins with what a running one
 * is just computing waits for that, and those behind it need not.  What can never fit is refused at submit. */
#ifndef SCHED_H
#define SCHED_H
#include "engine/engine.h"
#include "engine/kv.h"

enum { SCHED_QUEUE = 64, SCHED_REQUESTS = 1024 };

/* One forward pass.  Slot numbers (batch.seq) stay a request's own from start to end. */
struct pass {
    struct kern_batch batch;
    const struct kern_sample *sample; /* (batch.outs) */
    struct kern_choice *choice;       /* (batch.outs) to be filled */
};

struct runner {
    void *self;
    void (*start)(void *self, int slot, const struct answer *a); /* a request was admitted to a slot; may be NULL */
    /* 0, or negative: every request in the pass ends with END_FAULT */
    int (*run)(void *self, const struct pass *p, struct err *err);
};

struct sched_config {
    const struct vocab *vocab;
    enum template_kind template;
    int ctx, max_seqs, max_rows, max_outs; /* max_rows > max_seqs, max_outs >= max_seqs */
    int groups, pages;                     /* KV pool */
    struct runner runner;
};

struct sched; /* opaque */

struct sched *sched_open(const struct sched_config *cfg, struct err *err);
void sched_close(struct sched *s);

/* The operations of engine.h, word for word. */
int sched_count_tokens(struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err);
int sched_submit(struct sched *s, const struct request *r, int *id, struct err *err);
const struct answer *sched_answer(struct sched *s, int id);
int sched_cancel(struct sched *s, int id);
void sched_drop(struct sched *s, int id);
int sched_step(struct sched *s, struct engine_event *ev, int cap, struct err *err);
void sched_snapshot(const struct sched *s, struct engine_snapshot *out); /* all but the byte figures, which it leaves */
#endif
