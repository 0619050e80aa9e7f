/* explain_loads.h - weights that one process loaded more than once, with requests between (see explain.h).
 *
 * Loads are told apart by what stands between them: a progress bar's many lines, and ranks that load side by side, are
 * one.  A server's banner begins a new process, and so does a runner's, of which each has its own; after an unload
 * nothing is held.  Lines that name their process count for it alone; of others, so many loads as there are workers
 * are one each.  Loads that name the model count for that; those that do not must be one more. */
#ifndef EXPLAIN_LOADS_H
#define EXPLAIN_LOADS_H
#include "app/learn/explain_read.h"

enum { LOADS_LINES = 6 };

struct loads {
    int n;                      /* 0: none was repeated */
    uint32_t line[LOADS_LINES]; /* of the first of them */
};

/* Of each of these lines of the text (ascending) what was loaded again before it. */
void loads_before(const char *text, size_t n, const uint32_t *line, int lines, struct loads *out);
#endif
