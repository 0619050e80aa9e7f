/* slabs.h - what an engine serves from: weights, workspace and KV pages, taken at start and held to the end.
 *
 * A device with memory of its own is asked once, for one slab of all three:
 *
 *     | weights | workspace | KV pages |       each slab_bytes() of its size, the next right behind it
 *
 * So what is taken is what the ledger says, to the byte, and the device either has room for all of it or keeps none.
 * There a part that is overrun would reach into the next: that no step does so is for the steps' tests to show, which
 * give each array a memory of its own (tests/rig.h).
 * On the host each part is a slab of its own.  There the large ones begin at a huge page's boundary, and a small one
 * takes no huge page. */
#ifndef SLABS_H
#define SLABS_H
#include "kernels/kernels.h"

enum slabs_part { SLABS_WEIGHTS, SLABS_WORK, SLABS_KV, SLABS_PARTS };

/* The caller's; zeros: nothing is taken. */
struct slabs {
    void *dev[SLABS_PARTS]; /* where each part begins */
    struct { void *dev; size_t bytes; } taken[SLABS_PARTS]; /* what give() wants; NULL: none */
};

/* bytes: of each part; all of them zeroed.  0, or -1 and err: nothing is held. */
int slabs_take(struct slabs *s, const struct kern *k, struct kdev *d, const size_t bytes[SLABS_PARTS],
               struct err *err);
void slabs_give(struct slabs *s, const struct kern *k, struct kdev *d); /* s is zeros then */
#endif
