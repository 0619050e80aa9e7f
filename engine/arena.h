/* arena.h - memory for requests, inside one slab that is taken at start: while the engine serves, nothing is allocated.
 *
 *     struct arena a;
 *     arena_open(&a, slab, bytes);            // the slab stays the caller's, who frees it when the arena is done with
 *     float *f = arena_take(&a, n * sizeof *f);
 *     arena_give(&a, f);
 *
 * The slab is a row of blocks without gaps, each with a header of 64 bytes that says how long it and the one before it
 * are; holes are blocks too, and form a list in order of their addresses:
 *
 *     [h|answer      ][h|hole ][h|prompt][h|answer   ][h|hole                                   ]
 *
 * First fit: a take is cut from the lowest hole that is large enough, exactly, to 64 bytes; a give merges with the
 * neighbours at once.  So no byte is ever lost for good: two holes never touch, a rest too short to be a block of its
 * own does not exist, and when all is given back there is one hole, as at the start.  What can happen is that holes are
 * each too small while their sum is not; the worst case of first fit is bounded by about (most bytes in use) *
 * log2(largest / smallest block), where best fit's grows with the ratio itself (Robson, "Worst case fragmentation of
 * first fit and best fit storage allocation strategies", The Computer Journal 20, 1977).  A caller that must not fail
 * asks arena_largest(), which says exactly what a take would get.
 *
 * Cost: take, give and arena_largest() are linear in the number of holes (at most one more than blocks), the rest is
 * constant.  That is meant for a few thousand blocks, not for millions.
 * Owner: all bookkeeping is in the slab and in struct arena, which must not be copied while in use.  One thread. */
#ifndef ARENA_H
#define ARENA_H
#include "plimsoll.h"

enum { ARENA_ALIGN = 64 };

struct arena_block; /* a header */

/* The caller's to hold, not to read. */
struct arena {
    unsigned char *slab;       /* 64-byte aligned, inside the caller's memory */
    size_t bytes, used;        /* of the slab; in taken blocks, headers included */
    size_t blocks;             /* taken */
    struct arena_block *holes; /* the lowest */
};

/* mem: any memory of that many bytes, of any alignment (at most 126 bytes are lost to it).  Too small for one block, or
 * NULL and 0: an arena that has no room. */
void arena_open(struct arena *a, void *mem, size_t bytes);

/* 64-byte aligned, not zeroed; 0 bytes count as 1.  NULL: no hole is that large. */
void *arena_take(struct arena *a, size_t bytes);

/* What arena_take() gave, once; NULL is fine.  Anything else is the caller's bug, and an assertion says so. */
void arena_give(struct arena *a, void *p);

/* What one block of so many bytes costs with its header; SIZE_MAX: no arena can hold it.  An arena of exactly the sum
 * of such costs, in aligned memory, holds these blocks when nothing is given back between. */
size_t arena_need(size_t bytes);

size_t arena_bytes(const struct arena *a);   /* that can be in blocks, headers included */
size_t arena_used(const struct arena *a);    /* in taken blocks, headers included */
size_t arena_blocks(const struct arena *a);  /* taken */
size_t arena_largest(const struct arena *a); /* the largest take that would succeed now; 0: none would */

/* Every header walked, every figure counted anew: for tests.  0, or -1 and err. */
int arena_check(const struct arena *a, struct err *err);
#endif
