/* park.h - host memory for the KV pages of sequences that had to make room.
 *
 * A slab of page-sized places, taken and charged at open; a parked sequence's pages are a chain of places.  One thread.
 * No allocation after park_open(). */
#ifndef PARK_H
#define PARK_H
#include "plimsoll.h"

struct park {
    char *mem;  /* (places, page_bytes) */
    int *next;  /* (places) the place after this one in its chain or in the free list; -1: none */
    size_t page_bytes;
    int places, used, free; /* free: first of the free list */
};

/* As many places as `bytes` hold, none for 0.  The memory is touched here, so that the system cannot refuse it later.
 * 0, or -1: err says why. */
int park_open(struct park *p, uint64_t bytes, size_t page_bytes, struct err *err);
void park_close(struct park *p);

/* n places in a chain: the first, or -1: there are not as many (or n is 0). */
int park_take(struct park *p, int n);
void park_give(struct park *p, int first); /* the whole chain; -1 is fine */
void *park_at(const struct park *p, int place);
#endif
