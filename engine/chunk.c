/* chunk.c - the table.  Its CPU's figures are those of two cores with AVX-512 VNNI (tests/bench/SPEED.md): about 6e11
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
/* Of a GPU, reckoned and not measured yet: 5e12 parameters times tokens a second, whole tiles of 8 rows. */
static const struct chunk cuda[] = {{300000000, 1024}, {700000000, 512}, {1600000000, 256}, {9000000000, 64},
                                    {UINT64_MAX, 32}};
static const struct chunk ref[] = {{10000000, 64}, {UINT64_MAX, 8}}; /* the slow truth */

int chunk_rows(const char *backend, uint64_t parameters)
{
    const struct chunk *c = strcmp(backend, "ref") == 0 ? ref : strcmp(backend, "cuda") == 0 ? cuda : cpu;
    while (parameters > c->parameters) c++;
    return c->rows;
}
