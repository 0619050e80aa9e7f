/* chunk.c - the table.  Its figures are those of two cores with AVX-512 VNNI (tests/bench/SPEED.md): about 6e11
 * parameters times tokens a second; fewer rows than that allows, since deep contexts cost as well, and the longest pass
 * of a run takes half as long again as the others. */
#include "engine/chunk.h"
#include <string.h>

struct chunk {
    uint64_t parameters; /* up to so many */
    int rows;
};

static const struct chunk cpu[] = {{100000000, 256}, {300000000, 128}, {700000000, 64}, {1600000000, 24},
                                   {4000000000, 16}, {UINT64_MAX, 8}};
static const struct chunk ref[] = {{10000000, 64}, {UINT64_MAX, 8}}; /* the slow truth */

int chunk_rows(const char *backend, uint64_t parameters)
{
    const struct chunk *c = strcmp(backend, "ref") == 0 ? ref : cpu;
    while (parameters > c->parameters) c++;
    return c->rows;
}
