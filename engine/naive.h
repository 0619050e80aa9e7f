/* naive.h - the memory policies that fail, for teaching why inference runs out of memory.
 *
 * One is chosen by name at open (engine_config.naive), never by itself.  Each does what many servers do, for real:
 * the same forward pass reads and writes the same block tables, and where memory suffices the answers are the same to
 * the bit.  What lacks is the promise: a request asks when it needs, and if there is none it dies with END_OOM and
 * struct engine_oom.  No policy passes the ceiling: what a request takes from the backend is charged before it is had.
 *
 *     RESERVE      a run of pages for the whole context, whatever it needs, in batches: nobody joins one that runs
 *     NO_LIMIT     everyone is admitted; pages are taken as tokens come, and promised to no one: so the pool may be
 *                  smaller than one context, and is as large as the ceiling leaves where not all has room
 *     FIRST_FIT    a run of exactly prompt + max_tokens, in the lowest hole that is large enough, which is split
 *     F32          weights as floats, whatever the file holds
 *     RELOAD       each request loads the weights from the model file again, beside the engine's, which stay
 *     WHOLE_BATCH  a prompt in one pass; each request has a workspace of its own for all the rows of its prompt
 *
 * In the first three no page is ever shared or known, so the pool holds free pages and owned ones alone.  The others
 * keep the sound policy's pages; with WHOLE_BATCH a request that scores is cut as ever, since each row wants an out.
 * F32 computes the same bits if every matrix multiplies as floats: a file of F32, F16 or BF16, or the ref backend
 * without rounded activations.  Else activations are no longer rounded to 8 bits, and logits differ by that rounding.
 *
 * RELOAD fails too where the file is gone, or no longer what it was at open: that is no want of memory, so the request
 * ends with END_FAULT and the file's error.
 *
 * After a failure: nobody is admitted by the policy any more.  Those whom it admitted go on by its rules (under
 * NO_LIMIT more of them may die); when the last one has ended, and in the same moment, the sound policy is in force
 * until close (who waits then and needs more than the whole pool ends with END_FAULT).  F32 is decided at open: if the
 * floats do not fit, the file's own weights are loaded, the first request fails with the figures, and the sound policy
 * follows at once.
 *
 * A model whose attention has a window below the context, if only in some layers: F32 and RELOAD alone, which are about
 * weights; the others keep whole sequences, and are refused at open.
 *
 * Not with overcommit (it parks) nor with fit.  Bytes of a scripted engine, whose pages have none, are tokens. */
#ifndef NAIVE_H
#define NAIVE_H
#include "engine/ledger.h"

enum naive_policy {
    NAIVE_NONE, /* the sound one */
    NAIVE_RESERVE, NAIVE_NO_LIMIT, NAIVE_FIRST_FIT,
    NAIVE_F32, NAIVE_RELOAD, NAIVE_WHOLE_BATCH,
    NAIVE_POLICIES
};
const char *naive_name(enum naive_policy p); /* "none", "reserve", "no-limit", ... */

enum { OOM_OWNERS = 8 };

/* Why a request died.  Bytes.  What is measured is the KV pool (what == LEDGER_KV) or all memory under the ceiling. */
struct engine_oom {
    enum naive_policy policy;
    enum ledger_class what; /* wanted for: KV, WEIGHTS, ACTIVATIONS */
    int id;                 /* the request that asked */
    int page;               /* KV: which page of its sequence was wanted first; else 0 */
    uint64_t wanted;
    /* The lowest offset at which it would fit if there were more: at + wanted > size, unless it is the backend that had
     * less than the ceiling says (answer->fault has its words). */
    uint64_t at;
    uint64_t size, free;    /* of pool or ceiling; free: in all */
    uint64_t hole, hole_at; /* the largest piece, and its offset */
    int owners;             /* in all; the largest are below, by size, then by id */
    struct engine_owner {
        int id; /* request; 0: the engine itself */
        enum ledger_class what;
        uint64_t bytes;
    } owner[OOM_OWNERS];
};

/* What the allocator did.  at: KV: an offset in the pool; else the bytes under the ceiling that were taken before
 * (TAKE, FAIL) or are after (GIVE). */
enum naive_op_kind { NAIVE_TAKE, NAIVE_GIVE, NAIVE_FAIL };
struct naive_op {
    uint64_t number; /* from 0 on */
    uint64_t at, bytes;
    int id; /* request */
    uint8_t kind, what; /* enum naive_op_kind, enum ledger_class */
};

/* What the scheduler is told (sched_config). */
struct naive_config {
    enum naive_policy policy;
    struct ledger ledger;  /* RELOAD, WHOLE_BATCH, F32: of the engine; what requests take comes on top */
    uint64_t f32_refused;  /* F32: bytes of the floats that did not fit; 0: they did */
};
#endif
