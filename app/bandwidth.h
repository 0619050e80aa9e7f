/* bandwidth.h - how fast this machine reads its memory, which is what bounds the tokens a second of one session: each
 * takes one reading of all weights. */
#ifndef BANDWIDTH_H
#define BANDWIDTH_H
#include "plimsoll.h"

enum { BANDWIDTH_THREADS = 256 };

/* Reads by that many threads at once (1 to BANDWIDTH_THREADS; fewer where not all can be started), over a buffer of at
 * most 256 MiB and an eighth of the memory that is free; about half a second.  Bytes a second, or 0 and err.  A rough
 * figure: plain loads, threads not pinned (tests/bench measures with care). */
double bandwidth_read(int threads, struct err *err);
#endif
