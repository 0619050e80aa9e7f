/* kv.h - which sequence holds which page of attention memory, and which pages several may hold.
 *
 * The device holds one slab a layer group, cut into equal pages of KERN_PAGE tokens.  A sequence owns a row of a block
 * table, so it grows without moving:
 *
 *     slot 0   [ 3 ][ 7 ][ 1 ]  reserved 4, 41 tokens          page 3, 7: refs 2 (shared)
 *     slot 1   [ 3 ][ 7 ][ 5 ]  reserved 3, 48 tokens          page 9: refs 0, but known (cached)
 *
 * Three words: pool (all pages) >= reserved (promised to admitted sequences, or held by them) >= held (in a table).
 * kv_admit() promises all the pages that a sequence can ever need, so kv_grow() cannot fail: a request that was
 * admitted can finish.  A page that several sequences hold counts once.
 *
 * Prefix sharing.  A full page whose tokens were computed is known by the chain of hashes over all tokens up to its
 * end.  A sequence whose prompt begins with known pages holds those instead of computing them again, all but its last
 * token, whose logits are wanted.  A known page that nobody holds stays until its room is needed; the longest unused
 * goes first, and of one sequence's pages the last.  The hash is SipHash-2-4 with 128 bits (Aumasson and Bernstein,
 * 2012) under a key that the process drew by chance, so that no text from outside can be made to collide; the page's
 * own tokens are compared as well.
 *
 * All groups have as many pages and use the same numbers: no model that is served yet has a group with a window, whose
 * pages would end earlier than the others'.
 * Owner: struct kv owns tables and lists; the slabs are the caller's.  No allocation after kv_open().  One thread. */
#ifndef KV_H
#define KV_H
#include "kernels/kernels.h"
#include "plimsoll.h"

struct kv; /* opaque */

/* pages: in each group's slab; slots: sequences at most; slot_pages: pages a sequence at most. NULL: err says why. */
struct kv *kv_open(int groups, int pages, int slots, int slot_pages, struct err *err);
void kv_close(struct kv *kv);

static inline int kv_pages_for(int tokens) { return (tokens + KERN_PAGE - 1) / KERN_PAGE; }

/* Promise room for `tokens` to an empty slot.  ids: the n tokens of the prompt, whose known pages it then holds;
 * NULL: share none.  *shared: how many of them need not be computed, < n.  false: not now, and nothing has changed. */
bool kv_admit(struct kv *kv, int slot, int tokens, const int32_t *ids, int n, int *shared);

/* The slot shall hold `tokens` in all, at most what it was promised. */
void kv_grow(struct kv *kv, int slot, int tokens);

/* The slot's first n tokens, ids, are computed: its full pages are known from now on.  Else they stay its own. */
void kv_know(struct kv *kv, int slot, const int32_t *ids, int n);

void kv_drop(struct kv *kv, int slot); /* gives all back; an empty slot is fine */
void kv_forget(struct kv *kv);         /* no page is known any more; those in tables stay there */

const int32_t *kv_table(const struct kv *kv, int group); /* (slots, kv_stride) */
int kv_stride(const struct kv *kv);

struct kv_count {
    int pages, reserved, held; /* of one group; groups are alike */
    int shared, cached;        /* held by two or more; known and held by none (not in `reserved`) */
    uint64_t tokens;           /* in held pages */
    uint64_t reused, evicted;  /* since open: prompt tokens that were shared, known pages whose room was taken */
};
struct kv_count kv_count(const struct kv *kv);

/* Every count made anew from tables and lists, compared with what kv_count() says: for tests.  0, or -1 and err. */
int kv_check(const struct kv *kv, struct err *err);
#endif
