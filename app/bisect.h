/* bisect.h - a script that fails, run again in processes of its own: as it was, then with one thing off at a time.
 *
 * Each run is this program with the same command line, but for where it would write: it saves nothing here (a store of
 * its own, which is removed), and writes no trace.  Its ceiling and its seed are those of this run, which may have been
 * chosen for it.  A run has what rights the command line gives, or fewer; what its tools do is done again.
 * Memory: a run takes what this process has a second time, beside it.  Threads: the app's. */
#ifndef BISECT_H
#define BISECT_H
#include "app/app.h"

/* script: as it is for stdin.  begun: when it did, by progress_clock(): a run may take ten times as long, or a minute.
 * status: the exit status that it has so far.  What is found is said on stderr.  0, or -1: err says why nothing was
 * found out; a signal is such a reason. */
int bisect_run(struct app *a, const struct buf *script, double begun, int status, struct err *err);
#endif
