/* forward.h - one pass of a transformer: the order in which kernels.h's steps are called, and the workspace between
 * them.
 *
 *     one slab:  x | q | att | logits | choices | the steps' own scratch
 *
 * Everything is sized at forward_plan() for the largest pass allowed; forward_run() allocates nothing.  It takes rows
 * of any sequences and knows nothing of requests.  One thread drives it. */
#ifndef FORWARD_H
#define FORWARD_H
#include "engine/ledger.h"
#include "engine/model.h"
#include "engine/sched.h"

struct forward {
    const struct model *m;
    const struct kern *k;
    struct kdev *d;
    struct kern_dims dims;
    int groups; /* 2: local layers have pages of their own (kv_groups()); 1: all layers are alike */
    struct kern_group group[2];
    size_t at_kv[2]; /* where a group's pages begin in their slab: the small group's are first */
    size_t work_bytes, kv_bytes; /* of the two slabs */
    size_t at_x, at_q, at_att, at_logits, at_choice, at_work; /* offsets in the workspace slab */
    char *dev_work;
};

/* Sizes only: pure.  pages: of the first group.  0, or -1: they overflow, or the backend has no pages of kv_type for
 * the model's heads (err says it). */
int forward_plan(struct forward *f, const struct model *m, const struct kern *k, int ctx, int max_seqs, int max_rows,
                 int max_outs, int pages, enum ktype kv_type, struct err *err);

/* The plan's bytes by class, weights included; the ceiling is left. */
void forward_ledger(const struct forward *f, struct ledger *out);

/* The slabs (work_bytes, kv_bytes) are the caller's, from k->take. */
void forward_attach(struct forward *f, struct kdev *d, void *dev_work, void *dev_kv);

/* The same pages for a pass of another size, which has a workspace of its own. */
void forward_attach_work(struct forward *f, const struct forward *pages, void *dev_work);

/* Of the largest page. */
size_t forward_page_bytes(const struct forward *f);

/* Compute a part of p, so many of its layers; its choices are filled when the last returns.  0, or negative: err says
 * which step failed. */
int forward_run(struct forward *f, const struct pass *p, struct err *err);
#endif
