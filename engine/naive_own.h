/* naive_own.h - memory of a request's own in engine_local, for two policies of naive.h.
 *
 *     RELOAD        slot 0 [ weights ]   slot 3 [ weights ]   each has its own, read from the file again
 *     WHOLE_BATCH   slot 0 [ workspace for 900 rows ]           a prompt is one pass through its own workspace
 *
 * The bytes come from the backend when a request is admitted, and go back when it ends; the scheduler has charged them
 * before.  A pass is cut where its rows change their memory; rows do not know their company, so the bits are the same.
 * RELOAD goes the way of open: gguf_open() of the same path, model_plan(), model_load(); the host memory that this
 * takes is in naive_own_bytes(), though it is taken only then.
 * Owner: the struct owns its tables, taken at open, and slabs and plans until they are given back.  One thread. */
#ifndef NAIVE_OWN_H
#define NAIVE_OWN_H
#include "engine/forward.h"

struct naive_own {
    enum naive_policy policy;
    struct forward *base; /* the engine's: its weights, workspace and KV pool */
    char *path;              /* RELOAD: the model's, as open was given it ... */
    struct gguf_stamp file;  /* ... and what lay there then */
    struct naive_slot *slot; /* (slots); NULL: another policy, and all of this does nothing */
    int slots;
    int32_t *out_row; /* (max_outs) of the piece that is computed */
};

/* Host memory for so many slots, g being the model's file; 0 for policies without own memory. */
uint64_t naive_own_bytes(enum naive_policy policy, const struct forward *f, const struct gguf *g, int slots);
/* After f was attached; g may be closed after.  0, or -1. */
int naive_own_open(struct naive_own *o, enum naive_policy policy, struct forward *f, const struct gguf *g, int slots,
                   struct err *err);
void naive_own_close(struct naive_own *o); /* before the backend is closed; one that was never opened is fine */

uint64_t naive_own_need(const struct naive_own *o, int rows); /* UINT64_MAX: it overflows */
/* 0, or enum own_error of naive_impl.h: the slot is as it was then. */
int naive_own_take(struct naive_own *o, int slot, int n_prompt, int rows, struct err *err);
void naive_own_give(struct naive_own *o, int slot);
/* forward_run() with everyone's own. */
int naive_own_run(struct naive_own *o, const struct pass *p, struct err *err);

/* F32, at open: plan m with floats instead of its own types if that fits under l's ceiling, and say so in l; else the
 * bytes that did not fit: for struct naive_config. */
uint64_t naive_widen(struct model *m, const struct kern *k, struct ledger *l);
#endif
