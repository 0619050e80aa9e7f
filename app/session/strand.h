/* strand.h - turns of several agents over one engine: each is straight code on a stack of its own, and only one of them
 * runs at any moment.
 *
 *     strands_round():  strand 1 ──> until it waits | strand 2 ──> until it waits | ... | one pass of the engine
 *
 * A turn waits in app_step() (for the engine) and in app_pause() (for a job: a tool's, or the keeper's on a big
 * result): there the others go on.  They go in the order in which they began, and the engine steps when all of them
 * wait: what happens is the same in every run, but for jobs that take their time (--lockstep waits for those, too).
 *
 * A strand is a thread that holds still: control is handed over, never shared, so nothing needs a lock; and a debugger
 * and the sanitizers see what they know.  Threads: all functions from the app's thread, the others from strands. */
#ifndef STRAND_H
#define STRAND_H
#include "app/app.h"

enum { STRANDS = 64 };

struct strand;
struct strands {
    struct app *a;
    struct strand *at[STRANDS]; /* NULL: none */
    int n;                      /* alive */
    uint64_t begun;
};

/* a->strands is set until strands_close(). */
void strands_open(struct strands *ss, struct app *a);
void strands_close(struct strands *ss); /* none may be alive */

/* fn runs in the rounds to come, under a voice of its own: what a->trace.voice is when it first waits is its own then.
 * 0, or -1: STRANDS are alive, or the system has no room. */
int strands_start(struct strands *ss, void (*fn)(void *self), void *self, struct err *err);

/* Each goes on until it waits or ends.  Then, if one waits for the engine, a pass; else, if one waits for a job, it
 * may wait for real.  False: none is alive. */
bool strands_round(struct strands *ss);
#endif
