/* chunk.c - the table.  Its CPU's figures are those of two cores with AVX-512 VNNI (tests/bench/SPEED.md): about 6e11
 * parameters times tokens a second; fewer rows than that allows, since deep contexts cost as well, and the longest pass
 * of a run takes half as long again as the others.  64 rows are eight tiles: from there on products gain nothing from
 * more, and a new request should not wait for seconds.
 *
 * A mixture computes what a row's experts have, but a pass reads nearly all: of 128 experts, 8 a row, 64 rows give each
 * four.  So its passes are of as many rows as a few seconds allow; and a step of few rows reads more with each: 16 of
 * Qwen 3 30B-A3B's wait for 64 % of its experts' 17 GB, eight for 40. */
#include "engine/chunk.h"
#include <string.h>

struct line {
    uint64_t active; /* up to so many */
    struct chunk chunk;
};

static const struct line cpu[] = {{100000000, {256, 256, 44}}, {300000000, {128, 128, 0}}, {700000000, {64, 64, 0}},
                                  {1600000000, {64, 24, 0}}, {4000000000, {64, 16, 0}}, {9000000000, {64, 8, 0}},
                                  {UINT64_MAX, {32, 8, 0}}};
static const struct line cpu_mix[] = {{100000000, {256, 256, 70}}, {300000000, {256, 128, 70}},
                                      {700000000, {256, 64, 70}}, {1600000000, {256, 16, 70}},
                                      {4000000000, {256, 8, 70}}, {16000000000, {128, 8, 70}},
                                      {UINT64_MAX, {64, 8, 70}}};
/* Of a GPU, reckoned and not measured yet: 5e12 parameters times tokens a second, whole tiles of 8 rows. */
static const struct line cuda[] = {{300000000, {1024, 1024, 0}}, {700000000, {512, 512, 0}},
                                   {1600000000, {256, 256, 0}}, {9000000000, {64, 64, 0}}, {UINT64_MAX, {32, 32, 0}}};
static const struct line ref[] = {{10000000, {64, 64, 0}}, {UINT64_MAX, {8, 8, 0}}}; /* the slow truth */

struct chunk chunk_of(const char *backend, uint64_t parameters, uint64_t active)
{
    const struct line *l = active < parameters ? cpu_mix : cpu;
    if (strcmp(backend, "ref") == 0) l = ref;
    if (strcmp(backend, "cuda") == 0) l = cuda;
    while (active > l->active) l++;
    return l->chunk;
}
