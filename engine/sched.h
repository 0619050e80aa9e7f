/* sched.h - requests in, passes out: admission, batches, text.  What every maker of engine.h that runs in this process
 * shares.
 *
 *     submit -> waiting -> admitted when its pages are promised -> pre-fill in chunks -> decode -> ended
 *                              ^                                          |
 *                              '-- parked, when pages run out (overcommit alone)
 *
 * A pass holds one row of every sequence that generates, then pre-fill rows of the admitted in order of admission, up
 * to step_rows.  Where nobody is in pre-fill and few generate, a sequence has rows of drafts behind its own (draft.h),
 * and gets a token more for each that was right.  While nobody generates, the first in pre-fill may have a pass of up
 * to max_rows for itself, which is computed in several steps; when its request leaves between them, the pass is given
 * up.  The scheduler knows nothing of weights: a runner computes the pass, and says which token each out row chose.
 *
 * Admission (admit.c): a request gets all the pages that prompt + max_tokens can need at once (of a group with a window
 * those of the window and a pass: kv.h), less those that it shares, or waits.  A later one that finds room may pass it,
 * SCHED_OVERTAKEN times; then all wait for it.  One whose prompt begins with what a running one is just computing waits
 * for that.  What can never fit is refused at submit.
 *
 * Over-commit (park.h): a request is promised what it is expected to need.  When a running one needs a page and there
 * is none, the last in rank is parked: its pages are copied to host memory, or dropped and computed again (a row's
 * result depends on nothing but the row, so the same bits come out).  Parked ones are resumed before anyone is
 * admitted.  The first in rank is never parked, and alone it fits the pool: it ends, and so does everyone in turn.
 *
 * Memory: requests lie in one block of text_bytes, and prompts are made in a scratch that suits the longest text which
 * can fit a context; both are taken at open, and nothing is allocated after. */
#ifndef SCHED_H
#define SCHED_H
#include "engine/draft.h"
#include "engine/engine.h"
#include "engine/kv.h"
#include "engine/strict.h"

enum { SCHED_QUEUE = 64, SCHED_REQUESTS = 1024, SCHED_OVERTAKEN = 16 };

/* Rows of a pass whose hidden states are wanted. */
struct pass_pool {
    int row, rows;
    float *vector; /* (embd) to which they are added, each by the output's norm; and room for two such behind it */
};

/* One forward pass. */
struct pass {
    struct kern_batch batch;
    const int *place;                 /* (batch.outs) whose it is: a request's own number from start to end */
    const struct kern_sample *sample; /* (batch.outs) */
    struct kern_choice *choice;       /* (batch.outs) to be filled */
    const struct pass_pool *pool;     /* (pools) */
    int pools;
    int part, parts;                  /* which part of it is to be computed, of how many; nothing else changes */
};

struct runner {
    void *self;
    /* A request was admitted; place < SCHED_REQUESTS.  May be NULL. */
    void (*start)(void *self, int place, const struct answer *a);
    /* Whether the next token of a request can be chosen by now; until then its last row is in no pass.  NULL: it always
     * can. */
    bool (*ready)(void *self, int place);
    /* A part of a pass, from the first to the last; one may be left half done.  0, or negative: every request in the
     * pass ends with END_FAULT */
    int (*run)(void *self, const struct pass *p, struct err *err);
    /* -1 and why, once nothing can be computed any more: then requests are refused.  NULL: it always can. */
    int (*lost)(void *self, struct err *err);
    /* A KV page of a group to and from host memory, page_bytes (of the largest, where groups differ); NULL: pages have
     * no content. */
    size_t page_bytes;
    int (*save_page)(void *self, int group, int page, void *host, struct err *err);
    int (*load_page)(void *self, int group, int page, const void *host, struct err *err);
    /* How many pages of a group, from the first, are backed by memory by now; with `wait` only when there are more than
     * so many, or all.  NULL: all are from the start. */
    int (*usable_pages)(void *self, int group, bool wait, int more);
    /* Memory of a request's own, for the policies RELOAD and WHOLE_BATCH of naive.h alone: its bytes (`rows` of the
     * prompt are to be computed), from the backend into a slot (0 or negative), and back. */
    uint64_t (*own_bytes)(void *self, int rows);
    int (*own_take)(void *self, int slot, int n_prompt, int rows, struct err *err);
    void (*own_give)(void *self, int slot);
};

struct sched_config {
    const struct vocab *vocab;
    size_t token_text; /* of it: sched_token_text(), which looks at every token */
    enum template_kind template;
    struct template_thoughts thoughts;
    bool heard; /* answers are text that was read elsewhere: no marks of the template are in it */
    int embd; /* values of a hidden state; 0: the runner has none to give */
    int ctx, max_seqs, max_rows, step_rows, max_outs; /* max_rows >= step_rows > max_seqs, max_outs >= max_seqs */
    int groups;                            /* KV pool */
    struct kv_group group[KERN_GROUPS];    /* windows that are below ctx, else 0 */
    uint64_t text_bytes, park_bytes;
    int drafts; /* most that a sequence has in a pass (draft.h), without states; 0: none are made */
    float row_cost[DRAFT_ROWS - 1]; /* what each row more costs then, of a pass of one */
    bool overcommit;
    bool park_copies; /* what is parked is copied, never computed again: where that might give other bits */
    struct strict_config strict; /* strict_plan() */
    struct naive_config naive;
    struct runner runner;
    bool keeps_pages;       /* pages may leave and come back: one group without a window, and the runner has save_page
                             * and load_page */
    struct sip128 identity; /* what the pages depend on, then */
};

struct sched; /* opaque */

struct sched *sched_open(const struct sched_config *cfg, struct err *err);
void sched_close(struct sched *s);

/* The operations of engine.h, word for word. */
int sched_count_tokens(struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err);
int sched_count_aside(const struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err);
int sched_submit(struct sched *s, const struct request *r, int *id, struct err *err);
const struct answer *sched_answer(struct sched *s, int id);
int sched_cancel(struct sched *s, int id);
void sched_drop(struct sched *s, int id);
int sched_step(struct sched *s, struct engine_event *ev, int cap, struct err *err);
int sched_page_get(struct sched *s, const int32_t *ids, int n, void *bytes, struct err *err);
int sched_page_put(struct sched *s, const int32_t *ids, int n, int agent, const void *bytes, struct err *err);
int sched_page_drop(struct sched *s, const int32_t *ids, int n, struct err *err);
void sched_snapshot(const struct sched *s, struct engine_snapshot *out); /* all but weight, KV and work bytes: 0 */
void sched_waits(struct sched *s, int id, struct engine_wait *out);
void sched_page_map(struct sched *s, struct engine_cell *cell, int n);
int sched_naive_ops(const struct sched *s, uint64_t from, struct naive_op *out, int n);

/* End a request that waits or runs, as a runner that hears of it elsewhere wants: why, and with END_FAULT a line whose
 * code is ENGINE_FAULT, or ENGINE_NEVER_FITS (answer's too_long).  END follows in the next step.  -1: no such, or it
 * has ended. */
int sched_end(struct sched *s, int id, enum engine_end why, const struct err *fault);

/* The most text that one token of an answer can be, and the text_bytes that suit so many sequences: two requests of ctx
 * tokens for each, and a full queue of small ones. */
size_t sched_token_text(const struct vocab *v);
uint64_t sched_text_bytes(size_t token_text, int ctx, int max_seqs);
/* The host memory that open takes, by class; the other classes are left. */
void sched_ledger(const struct sched_config *cfg, struct ledger *out);

/* Every count made anew and compared: for tests.  0, or -1 and err. */
int sched_check(const struct sched *s, struct err *err);
#endif
