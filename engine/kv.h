/* kv.h - which sequence holds which page of attention memory, and which pages several may hold.
 *
 * The device holds one slab a layer group, cut into equal pages of KERN_PAGE tokens.  A sequence owns a row of a block
 * table, so it grows without moving:
 *
 *     slot 0   [ 3 ][ 7 ][ 1 ]  promised 4, 41 tokens          page 3, 7: refs 2 (shared)
 *     slot 1   [ 3 ][ 7 ][ 5 ]  promised 3, 48 tokens          page 9: refs 0, but known (cached)
 *
 * Three words: pool (all pages) >= reserved (promised to admitted sequences, or held by them) >= held (in a table).
 * kv_grow() cannot fail within what was promised, so a request that was promised all that it can need can finish; one
 * that was promised less must ask again with kv_promise().  A page that several sequences hold counts once.
 *
 * Prefix sharing (prefix.h).  A sequence whose prompt begins with known pages holds those instead of computing them
 * again, all but its last token, whose logits are wanted.  A known page that nobody holds stays until its room is
 * needed; the longest unused goes first, and of one sequence's pages the last.  A full page is never written again, so
 * a fork of a sequence is a second one with the same front: copy-on-write by construction.
 *
 * Whose tokens.  Each token has a kind (what it is to its agent: a number below KV_KINDS).  A page with one holder
 * counts for that holder, kind by kind; one with several counts once, as shared.
 *
 * All groups have as many pages and use the same numbers: no model that is served yet has a group with a window, whose
 * pages would end earlier than the others'.
 * Owner: struct kv owns tables and lists; the slabs are the caller's.  No allocation after kv_open().  One thread. */
#ifndef KV_H
#define KV_H
#include "engine/siphash.h"
#include "kernels/kernels.h"
#include "plimsoll.h"

enum { KV_KINDS = 5 };

struct kv; /* opaque */

/* pages: in each group's slab; slots: sequences at most; slot_pages: pages a sequence at most. NULL: err says why. */
struct kv *kv_open(int groups, int pages, int slots, int slot_pages, struct err *err);
void kv_close(struct kv *kv);
size_t kv_bytes(int pages, int slots, int slot_pages); /* host memory that open takes */

/* What all its pages depend on besides their tokens (identity.h); before any page is known. */
void kv_identify(struct kv *kv, struct sip128 identity);

static inline int kv_pages_for(int tokens) { return (tokens + KERN_PAGE - 1) / KERN_PAGE; }

/* Only the first n pages may be used so far (more later, never less); all may from open on. */
void kv_limit(struct kv *kv, int n);

struct kv_ask {
    int tokens;           /* room for these is promised */
    int most;             /* more than these will never be asked for; 0: as tokens */
    const int32_t *ids;   /* known pages of these n are held; NULL: none are shared */
    int n;
    const uint8_t *kind;  /* (most) each token's kind, as far as it has been grown to; stays until kv_drop(); NULL: 0 */
    int agent;            /* whose it is, for the page map */
    int spare;            /* pages that must be left unpromised */
    const int *first;     /* not NULL: the pages *first, *first + 1, ... all free, are taken, in this order */
};

/* Promise room to an empty slot.  *shared: how many of a->ids need not be computed, < n.  false: not now, and nothing
 * has changed. */
bool kv_admit(struct kv *kv, int slot, const struct kv_ask *a, int *shared);

/* Promise the slot room for `tokens` in all, at most its `most`.  false: not now. */
bool kv_promise(struct kv *kv, int slot, int tokens);

/* The slot shall hold `tokens` in all, at most what it was promised. */
void kv_grow(struct kv *kv, int slot, int tokens);

/* The slot's first n tokens, ids, are computed: its full pages are known from now on.  Else they stay its own. */
void kv_know(struct kv *kv, int slot, const int32_t *ids, int n);

void kv_drop(struct kv *kv, int slot); /* gives all back; an empty slot is fine */
void kv_forget(struct kv *kv);         /* no page is known any more; those in tables stay there */

/* Pages that were computed elsewhere.  ids: a text of n tokens, whole pages; the page meant is its last.
 * kv_find: its number, or -1: it is not known.
 * kv_adopt: the number of a page that is known as it from now on, and held by nobody; the caller brings its content, or
 * calls kv_disown().  The page is not known yet; those before it must be.  There is room if an admission of the whole
 * text would find it: then pages of other texts that nobody holds make way.  To the page map it is `agent`'s, all of
 * `kind`, until a sequence holds it, which knows whose and what its tokens are. */
enum { KV_NO_FRONT = -1, KV_NO_ROOM = -2 };
int kv_find(const struct kv *kv, const int32_t *ids, int n);
int kv_adopt(struct kv *kv, const int32_t *ids, int n, int agent, int kind);
void kv_disown(struct kv *kv, int page);

const int32_t *kv_table(const struct kv *kv, int group); /* (slots, kv_stride) */
int kv_stride(const struct kv *kv);

struct kv_count {
    int pages, usable, reserved, held; /* of one group; groups are alike.  usable: see kv_limit() */
    int shared, cached;        /* held by two or more; known and held by none (not in `reserved`) */
    uint64_t tokens;           /* in held pages */
    uint64_t shared_kind[KV_KINDS]; /* of these, in pages with several holders */
    uint64_t reused, evicted;  /* since open: prompt tokens that were shared, known pages whose room was taken */
    uint64_t adopted;          /* since open: pages that were computed elsewhere */
};
struct kv_count kv_count(const struct kv *kv);

/* One slot. The sum of `own` over all slots, and of shared_kind, is kv_count's tokens. */
struct kv_slot_count {
    int promised, held, tokens;  /* pages, shared ones included; tokens */
    uint64_t own[KV_KINDS]; /* tokens in pages that it holds alone */
};
struct kv_slot_count kv_slot_count(const struct kv *kv, int slot);

struct kv_page_info {
    int refs;
    bool cached;
    int agent;              /* of the last that took hold of it; -1: nobody ever */
    uint8_t kind[KV_KINDS]; /* tokens of each */
};
struct kv_page_info kv_page_info(const struct kv *kv, int page);

/* Every count made anew from tables and lists, compared with what kv_count() says: for tests.  0, or -1 and err. */
int kv_check(const struct kv *kv, struct err *err);
#endif
