/* kv.h - which sequence holds which page of attention memory.
 *
 * The device holds one slab a layer group, cut into equal pages of KERN_PAGE tokens.  A sequence owns a row of a block
 * table, so it grows without moving:
 *
 *     slot 0   [ 3 ][ 7 ][ 1 ]  reserved 4, taken 3, 41 tokens
 *     slot 1   [ 2 ][ 5 ]       reserved 2, taken 2, 32 tokens
 *
 * Three words: pool (all pages) >= reserved (promised to admitted sequences) >= taken (in a table).  kv_admit()
 * promises all the pages that a sequence can ever need, so kv_grow() cannot fail: a request that was admitted can
 * finish.
 *
 * Every group has as many pages and its own table, since groups with a window will let go of pages that the others
 * keep.
 * Owner: struct kv owns tables and lists; the slabs are the caller's.  No allocation after kv_open().  One thread. */
#ifndef KV_H
#define KV_H
#include "kernels/kernels.h"
#include "plimsoll.h"

struct kv; /* opaque */

/* pages: in each group's slab; slots: sequences at most; slot_pages: pages a sequence at most. NULL: out of memory. */
struct kv *kv_open(int groups, int pages, int slots, int slot_pages, struct err *err);
void kv_close(struct kv *kv);

static inline int kv_pages_for(int tokens) { return (tokens + KERN_PAGE - 1) / KERN_PAGE; }

bool kv_admit(struct kv *kv, int slot, int tokens); /* promise room for tokens to an empty slot; false: not now */
/* the slot shall hold `tokens` in all, at most what it was promised */
void kv_grow(struct kv *kv, int slot, int tokens);
void kv_drop(struct kv *kv, int slot);              /* gives all back; an empty slot is fine */

const int32_t *kv_table(const struct kv *kv, int group); /* (slots, kv_stride) */
int kv_stride(const struct kv *kv);

struct kv_count {
    int pages, reserved, taken; /* of one group; groups are alike */
    uint64_t tokens;            /* filled */
};
struct kv_count kv_count(const struct kv *kv);
#endif
