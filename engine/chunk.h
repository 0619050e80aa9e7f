/* chunk.h - how many rows a pass may have, and how many of them a step may compute so that it takes less than about
 * 100 ms: a cancel or another agent's next token waits for one step at most.
 *
 * The larger a model, the fewer rows those are, and few rows wait for the weights that they all read.  So a prompt that
 * goes on while nobody generates is read in larger passes, each in several steps: some layers in each.
 *
 * A table by backend and size of the model, never a measured time: the cut of a prompt into passes, and with it what a
 * run does, is the same on every machine. */
#ifndef CHUNK_H
#define CHUNK_H
#include <stdint.h>

struct chunk {
    int rows;      /* of a pass */
    int step_rows; /* of a pass that is one step, <= rows */
    int row_cost;  /* what a row more adds to a pass of few at least, whatever struct kern's row_costs() say, in
                    * hundredths of a pass of one: weights that stay in the cache wait for nothing, and each row has
                    * experts of its own */
};

/* backend: struct kern's name; one that the table lacks counts as "cpu".  active: of the parameters, those that a row
 * is computed with; fewer of a mixture alone (struct model). */
struct chunk chunk_of(const char *backend, uint64_t parameters, uint64_t active);
#endif
