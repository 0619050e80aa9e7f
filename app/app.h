/* app.h - what every face of the program shares: the options, an open engine, where answers and events go. */
#ifndef APP_H
#define APP_H
#include "app/opts.h"
#include "app/session/crew.h"
#include "app/session/toolbox.h"
#include "app/out.h"
#include "app/trace.h"
#include "engine/engine.h"
#include "memory/keeper.h"

/* The program's exit status (signals: 128 + number; 141: the reader of stdout left). */
enum {
    EXIT_DONE = 0, EXIT_INTERNAL = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3, EXIT_ENGINE = 4,
    EXIT_DENIED = 5, /* a call of a tool was denied, and nobody was there to be asked */
    EXIT_UNMET = 6   /* what a script expects is not so */
};

enum { APP_EVENTS = 256 };

struct app {
    const struct opts *o;
    const struct engine_ops *ops;
    struct engine *engine;
    const struct engine_info *info;
    struct sampling sampling; /* the seed of the first turn in it */
    enum effort effort;       /* --reasoning, where the model is told */
    uint32_t *plain;          /* --answers: a bit for each token that is text: no answer ends itself; else NULL */
    struct buf key;           /* of --remote-key-file */
    struct out answers;       /* stdout */
    struct trace trace;
    int turns;                /* admitted so far */
    char *advice;             /* lines for stderr after the one that says why it did not open; owned */
    struct crew crew;         /* of --crew; else without agents */
    struct toolbox toolbox;
    struct keeper *keeper;    /* where sessions are saved; NULL: they are not */
    struct engine_event ev[APP_EVENTS]; /* of the last pass */
    struct { char who[40]; int pages; } queue; /* a request that waits, as it was looked at last: whose, for how many */
    bool lockstep;            /* results of jobs come at the step after their call, whatever time they take */
    uint64_t tickets, serving; /* of turns that want room in the engine: given so far, and whose turn it is */
    void (*between)(void *self); /* called between two passes, and while a job is waited for; NULL: nobody */
    void *between_self;
    int n_ev;                 /* how many; < 0: it failed, as step_err says */
    struct err step_err;
    const char *reason;       /* why it ends, if not for what the exit status says: "refused_kv", ... */
};

/* What these flags ask of an engine, for one conversation; a crew, who hears of progress and what would fit are left.
 * EXIT_DONE, or EXIT_USAGE and err. */
int app_engine_config(const struct opts *o, struct engine_config *cfg, struct err *err);
/* ... and then what of it hangs on the crew (all 0: there is none): sequences at once, the context, the pool. */
void app_engine_sizes(const struct opts *o, const struct crew *c, struct engine_config *cfg);

/* Open the engine and the streams.  EXIT_DONE, or the exit status with err filled; app_close() is due in both cases. */
int app_open(struct app *a, const struct opts *o, const struct engine_ops *ops, struct err *err);

/* Say goodbye on the streams, close all, and return the exit status: `code`, or what a stream that failed makes of
 * it. */
int app_close(struct app *a, int code);

/* One pass of the engine: a->ev, and what engine_ops.step() returns.  For a turn among several (strand.h) the others
 * go on meanwhile, and it is one pass for all. */
int app_step(struct app *a, struct err *err);
/* Before a look at a job: how many ms to wait for it at most.  Others go on meanwhile (not with a->lockstep). */
int app_pause(struct app *a);
bool app_in_company(void); /* this is a turn among several that go on at once */

struct event app_opened(const struct app *a);                      /* the session_open event; it borrows from a */
void app_memory(struct app *a);                                    /* a memory event, if one is due */
void app_error(struct app *a, const char *where, const char *text); /* an error event, and the line on stderr */
int app_exit(int engine_error);                                    /* of enum engine_error: the exit status */
const char *app_refusal(int engine_error);                         /* ... and the termination_reason */
#endif
