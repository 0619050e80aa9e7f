/* signals.h - Ctrl-C, termination and hang-up as facts to ask for, not as jumps.
 *
 * A handler only sets a flag and makes signals_fd() readable, so that a wait for input or for room in a pipe ends
 * too, whichever thread the system chose to run the handler on.  Who sees an interrupt pending acts on it and forgets
 * it; the third one that nobody acted on ends the process at once with status 130, so there is always a way out.
 *
 * Signals that were ignored when the program started (nohup, a shell's background job) stay ignored.  SIGPIPE and
 * SIGXFSZ are ignored: a reader that left, and a limit of a file's size (ulimit -f), show as errors of write().
 * Threads: any may ask. */
#ifndef SIGNALS_H
#define SIGNALS_H
#include "plimsoll.h"

int signals_open(struct err *err);     /* once, after the engine was opened: until then Ctrl-C just ends the program */
/* Called before the third interrupt ends the process, from the handler: async-signal-safe.  NULL: nobody. */
void signals_before_exit(void (*fn)(void));
void signals_of_writes(void);          /* at the start */
int signals_fd(void);                  /* readable while something is pending; -1 before signals_open() */
int signals_pending(void);             /* 0, SIGINT, SIGTERM or SIGHUP; those that end the program first */
double signals_since(void);            /* when the first of them came, by progress_clock(); 0: nothing is pending */
void signals_interrupt(void);          /* as if Ctrl-C came, however often; any thread */
void signals_forget_interrupt(void);   /* SIGINT was acted on */
void signals_settle(void);             /* signals_fd() was readable and nothing is pending: it is not, from here on */
_Noreturn void signals_exit(void);     /* what the third interrupt does */
#endif
