/* plan.h - what a model would take and what would fit, before anything is started: from a file's header, or from the
 * shape of a model that is not here.
 *
 *     struct plan_ask ask = {.engine = {.model = "m.gguf", .max_seqs = 4, .ctx = 8192, ...}};
 *     struct plan p;
 *     if (plan_make(&ask, &p, &err) == 0) plan_text(&ask, &p, &out);
 *
 * The figures are the engine's: local_plan() runs what open() runs, so p.ledger is to the byte what info()'s ledger
 * will say, class by class.  No weights are read and no device is opened, but that one is asked how much it has free
 * when the plan is for this machine's, and whether it serves when the backend is auto.
 *
 * struct plan is plain data, copied by assignment.  Bytes are bytes.  Names in it are of others (a file's): whoever
 * shows them filters; plan_text() and plan_json() do.  Threads: any. */
#ifndef PLAN_H
#define PLAN_H
#include "app/learn/plan_gpu.h"
#include "app/learn/plan_shape.h"
#include "app/learn/verdict.h"
#include "engine/engine.h"

struct plan_ask {
    /* As engine_local's open() would be given it; max_seqs are the agents, each with a context of its own, of ctx
     * tokens.  model NULL: shape says what it is.  pool_tokens and naive are 0. */
    struct engine_config engine;
    const struct plan_shape *shape;
    struct plan_mix mix;        /* of the shape's matrices */
    const struct plan_gpu *gpu; /* as on this one, with nobody else on it; NULL: no such */
    /* As if so many bytes were free where weights and pages go; 0: what the GPU leaves, else engine.vram where that is
     * given, else what is free here now. */
    uint64_t have;
    uint64_t context; /* that opening a device takes, where none is opened; 0: PLAN_CONTEXT */
};

/* What is met first when there shall be more of it. */
enum plan_limit { PLAN_MEMORY, PLAN_TRAINED, PLAN_SLOTS /* SCHED_REQUESTS sequences */ };
const char *plan_limit_name(enum plan_limit l); /* "memory", "trained", "sequences" */

/* The same with other types. */
struct plan_row {
    char name[16];    /* "as it is", "Q4_K", "KV Q8_0" */
    uint64_t weights, needs; /* needs: under the ceiling, with the agents and contexts that were asked for */
    int ctx, agents;  /* the largest for so many agents; the most for so large a context; 0: none */
};
enum { PLAN_ROWS = 12 };

/* The formula that is passed on from mouth to mouth, and what is so here. */
struct plan_formula {
    uint64_t weights;      /* weights x 1.2: all that a model needs, it says */
    uint64_t token;        /* KV of a token: 2 x layers x width x 2 bytes, as if every head had keys of its own */
    uint64_t all;          /* weights x 1.2 + that for all tokens */
    double weights_wrong, all_wrong; /* percent more (+) or less (-) than all of it takes */
    double token_times;    /* of what a token takes */
};

struct plan {
    char name[64], arch[32], types[96];
    char backend[16];      /* "cpu", "cuda", "ref" */
    bool on_device;
    bool by_shape;         /* text and tables are near, not exact: plan_shape.h */
    uint64_t parameters, active;  /* active: what a token is computed with, fewer of a mixture alone */
    int experts, used;            /* of a mixture, in each layer; 0: it is none */
    int layers, embd, heads, kv_heads, head_dim, ff, vocab, window, ctx_trained;

    int ctx, agents, rows, outs;  /* rows of a pass; of these, how many may want logits */
    enum ktype kv_type;
    struct ledger ledger;         /* with its ceiling */
    uint64_t needs;               /* what of it is under the ceiling */
    uint64_t page_bytes, token_bytes, agent_tokens; /* agent_tokens: of the pool, for one agent */
    int local_window, local_layers;                 /* layers with a window of their own, if the context is longer */
    bool states;                                    /* those layers have none, but keep a state */
    uint64_t local_bytes;                           /* what they keep of all agents: beside those tokens, in the pool */
    bool fits;
    enum cause cause;             /* why not: WEIGHTS, ACTIVATIONS (no page fits beside them), KV, CONCURRENCY, HOST
                                   * (under the ceiling it fits; text, parked pages and tables are the machine's) */

    uint64_t total, driver;       /* of the GPU that was named; driver: an allowance (plan_gpu.h); else 0 */
    bool by_allowance;            /* so is the ledger's context: no device was asked */
    uint64_t have, reserve;       /* free before it starts, a device's context in it; of that, not to be taken */
    bool vram;                    /* the ceiling is --vram's */
    uint64_t here;                /* free on this machine now, where that is less than the ceiling; else 0 */

    int most_ctx, most_agents;    /* for so many agents; of so large a context; 0: none */
    enum plan_limit ctx_limit, agents_limit;
    int memory_ctx;               /* TRAINED: how far memory alone would go */
    uint64_t least;               /* what one agent with the shortest context would need in all */
    uint64_t one_more;            /* MEMORY: what one agent more than the most would need; within the ceiling:
                                   * the machine's own memory is what is short */

    struct plan_row row[PLAN_ROWS]; /* the first: as it is */
    int rows_n;
    struct plan_formula formula;
};

/* 0, also when it does not fit; or an enum engine_error and err: what open() would refuse but for want of memory, or
 * PLAN_NOT_RUN. */
int plan_make(const struct plan_ask *ask, struct plan *out, struct err *err);

/* For a person.  Appended. */
void plan_text(const struct plan_ask *ask, const struct plan *p, struct buf *out);
/* One JSON object and a newline.  Appended. */
void plan_json(const struct plan_ask *ask, const struct plan *p, struct buf *out);
/* "plimsoll -m m.gguf --ctx 8192": starts what was planned, its path quoted for a shell; or, if it does not fit, what
 * would be the nearest that does.  Nothing where nothing fits.  Appended. */
void plan_command(const struct plan_ask *ask, const struct plan *p, struct buf *out);
#endif
