/* kv.h - which sequence holds which page of attention memory, and which pages several may hold.
 *
 * The device holds one slab a layer group, cut into equal pages of KERN_PAGE tokens.  A sequence owns a row of a block
 * table a group, so it grows without moving:
 *
 *     slot 0   [ 3 ][ 7 ][ 1 ]  promised 4, 41 tokens          page 3, 7: refs 2 (shared)
 *     slot 1   [ 3 ][ 7 ][ 5 ]  promised 3, 48 tokens          page 9: refs 0, but known (cached)
 *     slot 2   [   ][   ][ 8 ][ 2 ]  promised 3, 60 tokens     in a group with a window of 20
 *
 * Three words: pool (all pages) >= reserved (promised to admitted sequences, or held by them) >= held (in a table).
 * kv_grow() cannot fail within what was promised, so a request that was promised all that it can need can finish; one
 * that was promised less must ask again with kv_promise().  A page that several sequences hold counts once.
 *
 * Windows.  In a group with a window a token sees itself and the window - 1 before it.  Pages that lie wholly before
 * the window of the next token leave the sequence as soon as that token is next (kv_know()): a long sequence is
 * promised no more than kv_need() says, and takes a new page for one that it gave back.  Such a sequence slides; one
 * that will never need as many keeps to its promise as in a group without a window, but that what it gives back is
 * promised no more.
 *
 *     reserved = pages held by sequences that do not slide + what they may still take + promises of those that slide
 *
 * The pages that a sliding one holds count within its promise, shared or not: whoever it shares them with may hold them
 * still when it has left them behind and takes new ones.
 *
 * Prefix sharing (prefix.h).  A sequence whose prompt begins with known pages holds those instead of computing them
 * again, all but its last token, whose logits are wanted; of a group with a window those pages suffice that the first
 * token to be computed sees.  A known page that nobody holds stays until its room is needed; the longest unused goes
 * first, and of one sequence's pages the last.  A full page is never written again, so a fork of a sequence is a second
 * one with the same front: copy-on-write by construction.
 *
 * States.  In a group of states (struct kern_group) a page is what layers know after its last token.  A sequence has
 * the page of its last token and the one before, if that was the end of a pass: in between its places are empty, and it
 * goes on from either.  A pass leaves two pages behind, so that is where prompts can be shared.  One that was left
 * behind is of little use when a later one is there: it is the first to go when room is needed, unless kv_keep() said
 * that others may begin there; what a sequence has when it ends is worth as much.  Such a sequence slides, and counts
 * with KV_STATE_PAGES.
 *
 * Whose tokens.  Each token has a kind (what it is to its agent: a number below KV_KINDS).  A page with one holder
 * counts for that holder, kind by kind; one with several counts once, as shared.
 *
 * Several groups (kv_groups()).  The first is that of the layers which see most; the others have room for all that can
 * run at once, so pages of the first are what is scarce, and what figures for people are about.
 *
 * Owner: struct kv owns tables and lists; the slabs are the caller's.  No allocation after kv_open().  One thread. */
#ifndef KV_H
#define KV_H
#include "engine/siphash.h"
#include "kernels/kernels.h"
#include "plimsoll.h"

enum { KV_KINDS = 5, KV_STATE_PAGES = 4, KV_STATES = -1 /* in the place of a window: of kv_groups() */ };

struct kv; /* opaque */

struct kv_group {
    int pages;  /* in its slab */
    int window; /* 0: a token sees all before it; else itself and the window - 1 before it */
    bool states; /* then the window is KERN_PAGE + 1: a page, and what comes before its first token */
};

struct kv_config {
    int groups;
    struct kv_group group[KERN_GROUPS];
    int rows;  /* of one sequence in a pass, at most; groups without windows do not ask */
    int slots; /* sequences at most */
    int ctx;   /* tokens a sequence at most */
};

struct kv *kv_open(const struct kv_config *cfg, struct err *err); /* NULL: err says why */
void kv_close(struct kv *kv);
size_t kv_bytes(const struct kv_config *cfg); /* host memory that open takes */

/* What all its pages depend on besides their tokens (identity.h); before any page is known. */
void kv_identify(struct kv *kv, struct sip128 identity);

static inline int kv_pages_for(int tokens) { return (tokens + KERN_PAGE - 1) / KERN_PAGE; }

/* A window as it matters to sequences of at most ctx tokens: none, where none is ever longer. */
static inline int kv_window(int window, int ctx) { return window < ctx ? window : 0; }

/* The first page that a token at position `tokens` sees. */
static inline int kv_first(int window, int tokens)
{
    return window > 0 && tokens >= window ? (tokens - window + 1) / KERN_PAGE : 0;
}

/* Pages of a group that a sequence of so many tokens holds at most at once.  A pass of `rows` rows is about window - 1
 * tokens before them and the rows themselves, which may begin and end amid a page. */
static inline int kv_need(int window, int rows, int tokens)
{
    int64_t all = kv_pages_for(tokens), seen = (int64_t)window + rows - 1;
    return (int)(window > 0 ? MIN(all, (seen - 1 + KERN_PAGE - 1) / KERN_PAGE + 1) : all);
}

/* The same of a group. */
static inline int kv_group_need(const struct kv_group *g, int rows, int tokens)
{
    return g->states ? MIN(kv_pages_for(tokens), KV_STATE_PAGES) : kv_need(g->window, rows, tokens);
}

/* The groups of a model with a window (0: none) in some of its layers, and a shorter one, `local` (0: none), in the
 * others: so many pages for those, and for these what `seqs` sequences of at most ctx tokens need in passes of `rows`
 * rows.  local KV_STATES: they keep states.  How many groups; 0: more pages than can be counted. */
int kv_groups(struct kv_group out[KERN_GROUPS], int pages, int window, int local, int seqs, int ctx, int rows);

/* Only the first n pages of a group may be used so far (more later, never less); all may from open on. */
void kv_limit(struct kv *kv, int group, int n);

struct kv_ask {
    int tokens;           /* room for these is promised */
    int most;             /* more than these will never be asked for; 0: as tokens */
    const int32_t *ids;   /* known pages of these n are held; NULL: none are shared */
    int n;
    const uint8_t *kind;  /* (most) each token's kind, as far as it has been grown to; stays until kv_drop(); NULL: 0 */
    int agent;            /* whose it is, for the page map */
    int spare[KERN_GROUPS]; /* pages of each group that must be left unpromised */
    const int *first;     /* not NULL: the pages *first, *first + 1, ... all free, are taken, in this order; of the one
                             group, which has no window */
};

/* Promise room to an empty slot.  *shared: how many of a->ids need not be computed, < n.  false: not now, and nothing
 * has changed. */
bool kv_admit(struct kv *kv, int slot, const struct kv_ask *a, int *shared);

/* Promise the slot room for `tokens` in all, at most its `most`.  false: not now. */
bool kv_promise(struct kv *kv, int slot, int tokens);

/* The slot shall hold `tokens` in all, at most what it was promised, and in groups with windows at most a pass's rows
 * more than kv_know() was told of. */
void kv_grow(struct kv *kv, int slot, int tokens);

/* Less again: the slot holds `tokens`, at least those of which kv_know() was told; pages behind them are as before
 * kv_grow(): promised, and not taken.  Not of states, which know no way back. */
void kv_shrink(struct kv *kv, int slot, int tokens);

/* The same for tokens that need no pass, however many: the caller brings what is in their pages.  In groups with
 * windows these begin at kv_first(window, tokens). */
void kv_restore(struct kv *kv, int slot, int tokens);

/* The slot's first n tokens, ids, are computed, and the next to be so is n: its full pages are known from now on (else
 * they stay its own), and those that token n does not see are given back. */
void kv_know(struct kv *kv, int slot, const int32_t *ids, int n);

/* Of states: who begins with the slot's first `tokens` tokens, in whole pages, may go on from there; nothing, if their
 * last page is not in its row. */
void kv_keep(struct kv *kv, int slot, int tokens);

/* So many tokens of what the slot was admitted with are known but for their states: if it leaves one there, the next
 * may share them.  Never less than were shared. */
int kv_front(const struct kv *kv, int slot);

void kv_drop(struct kv *kv, int slot); /* gives all back; an empty slot is fine */
void kv_forget(struct kv *kv);         /* no page is known any more; those in tables stay there */

/* Pages that were computed elsewhere, in a table of one group without a window: what goes on from a text sees all its
 * pages, and no others.  ids: a text of n tokens, whole pages; the page meant is its last.
 * kv_find: its number, or -1: it is not known.
 * kv_adopt: the number of a page that is known as it from now on, and held by nobody; the caller brings its content, or
 * calls kv_disown().  The page is not known yet; those before it must be.  There is room if an admission of the whole
 * text would find it: then pages of other texts that nobody holds make way.  To the page map it is `agent`'s, all of
 * `kind`, until a sequence holds it, which knows whose and what its tokens are.
 * kv_release: the page's room is free now, and it is not known any more; what goes on from it is of no use until it is
 * known again.  KV_UNKNOWN, or KV_HELD: a sequence has it in its table. */
enum { KV_NO_FRONT = -1, KV_NO_ROOM = -2, KV_UNKNOWN = -3, KV_HELD = -4 };
int kv_find(const struct kv *kv, const int32_t *ids, int n);
int kv_adopt(struct kv *kv, const int32_t *ids, int n, int agent, int kind);
void kv_disown(struct kv *kv, int page);
int kv_release(struct kv *kv, const int32_t *ids, int n);

const int32_t *kv_table(const struct kv *kv, int group); /* (slots, kv_stride) */
int kv_stride(const struct kv *kv);

struct kv_count {
    int pages, usable, reserved, held; /* usable: see kv_limit() */
    int shared, cached;        /* held by two or more; known and held by none (not in `reserved`) */
    uint64_t tokens;           /* in held pages */
    uint64_t shared_kind[KV_KINDS]; /* of these, in pages with several holders */
    uint64_t reused, evicted;  /* since open: prompt tokens that were shared, known pages whose room was taken */
    uint64_t adopted;          /* since open: pages that were computed elsewhere */
};
struct kv_count kv_count(const struct kv *kv);                  /* of the first group */
struct kv_count kv_group_count(const struct kv *kv, int group); /* `reused` is of all */

/* One slot in the first group.  The sum of `own` over all slots, and of shared_kind, is kv_count's tokens. */
struct kv_slot_count {
    int promised, held, tokens;  /* pages, shared ones included; tokens in them */
    uint64_t own[KV_KINDS]; /* tokens in pages that it holds alone */
};
struct kv_slot_count kv_slot_count(const struct kv *kv, int slot);
int kv_would_free(const struct kv *kv, int slot, int group); /* pages less reserved, if it were dropped */

struct kv_page_info {
    int refs;
    bool cached;
    int agent;              /* of the last that took hold of it; -1: nobody ever */
    uint8_t kind[KV_KINDS]; /* tokens of each */
};
struct kv_page_info kv_page_info(const struct kv *kv, int group, int page);

/* Every count made anew from tables and lists, compared with what kv_count() says: for tests.  0, or -1 and err. */
int kv_check(const struct kv *kv, struct err *err);
#endif
