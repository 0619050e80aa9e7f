/* crew.h - a crew of threads that share out loops.
 *
 *     crew_run(crew, 4008, work, &job)      work(&job, first, end, who) is called for ranges that cover 0 .. 4007 once
 *
 * The caller is worker 0 and works too; crew_run returns when all of it is done.  Each worker has a share of
 * neighbouring items and takes them in rising order, large ranges first; who is done helps others from the end of
 * theirs, so a worker that another process keeps from its core delays little.  Which worker takes what is chance:
 * results must not depend on it.
 *
 * Between loops workers spin for a moment (a forward pass is some hundred loops a few microseconds apart), then
 * sleep; an idle crew uses no processor time.  With more threads than cores nobody spins.
 *
 * Pinned: worker i stays on the i-th core that the process may use.  That includes the calling thread, from its
 * first crew_run() on; it gets its old cores back in crew_close() if that runs in the same thread.  (Threads and
 * processes that a pinned thread starts inherit its one core: start them before, or from another thread.)  A crew of
 * one is not pinned: it waits for nobody.
 *
 * Where another process computes on a worker's core, that worker leaves it every other millisecond and the rest of the
 * crew goes on without it: the process costs about the half core that it has, and not the other threads' time too.  If
 * it is the caller's core, caller and worker change places.
 *
 * One thread at a time may call in.  Nothing is allocated after crew_open(). */
#ifndef CREW_H
#define CREW_H
#include "plimsoll.h"

struct crew; /* opaque */

typedef void crew_work(void *job, int first, int end, int who);

/* threads: 0 is one a core that the process may use.  NULL: err says why. */
struct crew *crew_open(int threads, bool pin, struct err *err);
void crew_close(struct crew *c);

/* n >= 0 items.  A loop of one item, or a crew of one, runs in the caller without ado. */
void crew_run(struct crew *c, int n, crew_work *work, void *job);

int crew_threads(const struct crew *c);
/* "2 threads pinned on cores 0,1" */
void crew_describe(const struct crew *c, char *text, size_t size);
#endif
