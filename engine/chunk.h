/* chunk.h - how many rows a pass may have, so that it takes less than about 100 ms: a cancel, a new request or another
 * agent's next token waits for one pass at most.
 *
 * A table by backend and size of the model, never a measured time: the cut of a prompt into passes, and with it what a
 * run does, is the same on every machine. */
#ifndef CHUNK_H
#define CHUNK_H
#include <stdint.h>

/* backend: struct kern's name; one that the table lacks counts as "cpu". */
int chunk_rows(const char *backend, uint64_t parameters);
#endif
