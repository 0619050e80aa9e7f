/* kv_impl.h - what the parts of the table of KV pages share; no one else includes it.
 *
 *     kv.c        what a sequence does; figures
 *     kv_hold.c   what becomes of a page meanwhile
 *     kv_adopt.c  pages from elsewhere
 *     kv_check.c  the books made anew */
#ifndef KV_IMPL_H
#define KV_IMPL_H
#include "engine/kv.h"
#include "engine/prefix.h"

enum { KV_NONE = -1 };

struct kv_page {
    int refs, fill;         /* sequences that hold it; tokens in it while it is held (known and 0: adopted, and not
                             * held yet) */
    int kept;               /* of refs: those that do not slide */
    int agent;              /* of the last holder */
    bool stays;             /* of states: kv_keep() */
    int holder;             /* the slot, while refs is 1 */
    int free_at;            /* where on the stack, while it is free; else KV_NONE */
    uint8_t kind[KV_KINDS]; /* tokens of each; they stay while it is cached */
};

/* What a slot has in a group: the pages at [first, end) of its row. */
struct kv_span {
    int first, end, promised;
    bool slides; /* it may need more pages in time than it is ever promised at once */
};

struct kv_pool { /* a group */
    int pages, window, usable, free;
    bool states;
    int bound;                /* pages of a sequence at most; INT32_MAX without a window */
    int promised;             /* and not taken yet by those that do not slide; all promises of those that do */
    int held, shared, kept;   /* kept: held by one that does not slide */
    uint64_t tokens, shared_kind[KV_KINDS], evicted, adopted;
    struct prefix *prefix;
    struct kv_page *page;  /* (pages) */
    int *free_page;        /* (pages) the first `free` are */
    int32_t *table;        /* (slots, stride); KV_NONE: none, so that a wrong read is seen */
    struct kv_span *span;  /* (slots) */
};

struct kv_slot {
    int most, tokens, agent; /* pages, tokens */
    const uint8_t *kind;
    const int *first;
    int run;            /* with `first`: where the run begins */
    int known;          /* pages of it that kv_know() has seen */
    int front;          /* kv_front() */
    struct sip128 hash; /* of its tokens up to there */
    uint64_t own[KV_KINDS];
};

struct kv {
    int groups, slots, stride;
    uint64_t reused;
    struct kv_pool group[KERN_GROUPS];
    struct kv_slot *slot; /* (slots) */
};

static inline int32_t *kv_cell(const struct kv *kv, const struct kv_pool *g, int slot, int i)
{
    return &g->table[(size_t)slot * (size_t)kv->stride + (size_t)i];
}

static inline void kv_add_kinds(uint64_t *to, const struct kv_page *p)
{
    for (int k = 0; k < KV_KINDS; k++) to[k] += p->kind[k];
}
static inline int kv_reserved(const struct kv_pool *g) { return g->kept + g->promised; }

/* One chain for all groups: what it begins with, and its next link (prefix.h). */
static inline struct sip128 kv_root(const struct kv *kv) { return prefix_root(kv->group[0].prefix); }

static inline struct sip128 kv_chain(const struct kv *kv, struct sip128 before, const int32_t *ids)
{
    return prefix_chain(kv->group[0].prefix, before, ids);
}

/* The stack of free pages. */
void kv_put_free(struct kv_pool *g, int number);
void kv_take_free(struct kv_pool *g, int number);

/* A slot takes hold of a page, at place i of its row, or lets go of what it has there. */
void kv_hold(struct kv *kv, struct kv_pool *g, int slot, int i, int number);
void kv_let_go(struct kv *kv, struct kv_pool *g, int slot, int i);
void kv_take_page(struct kv *kv, struct kv_pool *g, int slot); /* at its row's end, for new tokens; it was promised */
/* The next token is number `tokens`: what it does not see any more goes.  Places without a page are passed over. */
void kv_slide(struct kv *kv, struct kv_pool *g, int slot, int tokens);

/* At least one page is free after this: if none was, of those that rest, the longest unused goes.  One does. */
void kv_need_free(struct kv_pool *g);
struct kv_page *kv_take_empty(struct kv_pool *g, int number); /* off the free stack, with nothing in it */
void kv_forget_page(struct kv_pool *g, int number);           /* known no more; free, unless it is held */
#endif
