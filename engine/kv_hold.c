/* kv_hold.c - a page of the table: free, held, let go, rested.
 *
 *     free -- kv_take_page() --> held -- kv_let_go() --> free, or if known --> cached -- kv_hold() --> held */
#include "engine/kv_impl.h"

enum { NONE = KV_NONE };

void kv_put_free(struct kv_pool *g, int number)
{
    g->page[number].free_at = g->free;
    g->free_page[g->free++] = number;
}

void kv_take_free(struct kv_pool *g, int number)
{
    int at = g->page[number].free_at, last = g->free_page[--g->free];
    assert(at != NONE);
    g->free_page[at] = last;
    g->page[last].free_at = at;
    g->page[number].free_at = NONE;
}

static void sub_kinds(uint64_t *from, const struct kv_page *p)
{
    for (int k = 0; k < KV_KINDS; k++) from[k] -= p->kind[k];
}

/* Page `number` came from elsewhere; now it becomes place i of a slot, whose tokens have kinds. */
static void count_adopted(const struct kv *kv, int slot, int i, struct kv_page *p)
{
    const uint8_t *kind = kv->slot[slot].kind;
    memset(p->kind, 0, sizeof p->kind);
    for (int t = i * KERN_PAGE; t < (i + 1) * KERN_PAGE; t++) p->kind[kind ? kind[t] : 0]++;
    p->fill = KERN_PAGE;
}

/* Tokens of a page that a slot holds alone: counted in the first group. */
static void own_kinds(struct kv *kv, const struct kv_pool *g, int slot, const struct kv_page *p)
{
    if (g == kv->group) kv_add_kinds(kv->slot[slot].own, p);
}

static void disown_kinds(struct kv *kv, const struct kv_pool *g, int slot, const struct kv_page *p)
{
    if (g == kv->group) sub_kinds(kv->slot[slot].own, p);
}

void kv_hold(struct kv *kv, struct kv_pool *g, int slot, int i, int number)
{
    struct kv_page *p = &g->page[number];
    if (p->refs == 0) {
        if (prefix_knows(g->prefix, number)) {
            prefix_wake(g->prefix, number);
            if (p->fill == 0) count_adopted(kv, slot, i, p);
        }
        g->held++;
        g->tokens += (uint64_t)p->fill;
        p->holder = slot;
        own_kinds(kv, g, slot, p);
    } else if (p->refs == 1) {
        disown_kinds(kv, g, p->holder, p);
        kv_add_kinds(g->shared_kind, p);
        g->shared++;
    }
    p->refs++;
    if (!g->span[slot].slides) g->kept += p->kept++ == 0;
    p->agent = kv->slot[slot].agent;
    *kv_cell(kv, g, slot, i) = number;
}

/* Who else has it at place i?  Pages are shared as fronts: all holders have a page at the same place. */
static int other_holder(const struct kv *kv, const struct kv_pool *g, int slot, int i, int number)
{
    for (int s = 0; s < kv->slots; s++)
        if (s != slot && *kv_cell(kv, g, s, i) == number) return s;
    return NONE;
}

/* Nobody holds a known page any more.  A state that a later one has made useless is the first to go. */
static void rest(struct kv_pool *g, int number)
{
    const int oldest = prefix_oldest(g->prefix);
    if (g->states && !g->page[number].stays && oldest != NONE) prefix_rest_before(g->prefix, number, oldest);
    else prefix_rest(g->prefix, number);
}

void kv_let_go(struct kv *kv, struct kv_pool *g, int slot, int i)
{
    int number = *kv_cell(kv, g, slot, i);
    struct kv_page *p = &g->page[number];
    *kv_cell(kv, g, slot, i) = NONE;
    p->refs--;
    if (!g->span[slot].slides) g->kept -= --p->kept == 0;
    if (p->refs > 1) return;
    if (p->refs == 1) {
        p->holder = other_holder(kv, g, slot, i, number);
        assert(p->holder != NONE);
        p->agent = kv->slot[p->holder].agent;
        sub_kinds(g->shared_kind, p);
        own_kinds(kv, g, p->holder, p);
        g->shared--;
        return;
    }
    disown_kinds(kv, g, slot, p);
    p->holder = NONE;
    g->held--;
    g->tokens -= (uint64_t)p->fill;
    if (prefix_knows(g->prefix, number)) rest(g, number);
    else kv_put_free(g, number);
}

void kv_forget_page(struct kv_pool *g, int number)
{
    prefix_forget(g->prefix, number);
    if (g->page[number].refs > 0) return;
    prefix_wake(g->prefix, number);
    kv_put_free(g, number);
}

void kv_need_free(struct kv_pool *g)
{
    if (g->free > 0) return;
    int oldest = prefix_oldest(g->prefix);
    assert(oldest != NONE);
    prefix_wake(g->prefix, oldest);
    prefix_forget(g->prefix, oldest);
    kv_put_free(g, oldest);
    g->evicted++;
}

struct kv_page *kv_take_empty(struct kv_pool *g, int number)
{
    struct kv_page *p = &g->page[number];
    kv_take_free(g, number);
    p->fill = 0;
    p->stays = false;
    memset(p->kind, 0, sizeof p->kind);
    return p;
}

/* The page behind the slot's last one, so that attention reads on through memory; if it is not free, any that is. */
static int next_page(const struct kv *kv, const struct kv_pool *g, int slot)
{
    const struct kv_span *span = &g->span[slot];
    const int last = span->end > span->first && !g->states ? *kv_cell(kv, g, slot, span->end - 1) : NONE;
    if (last != NONE && last + 1 < g->pages && g->page[last + 1].free_at != NONE) return last + 1;
    return g->free_page[g->free - 1];
}

void kv_take_page(struct kv *kv, struct kv_pool *g, int slot)
{
    const struct kv_slot *s = &kv->slot[slot];
    struct kv_span *span = &g->span[slot];
    assert(g->states || span->end - span->first < span->promised);
    kv_need_free(g);
    int number = s->first ? s->run + span->end : next_page(kv, g, slot);
    kv_take_empty(g, number);
    kv_hold(kv, g, slot, span->end++, number);
    g->promised -= !span->slides;
}

void kv_slide(struct kv *kv, struct kv_pool *g, int slot, int tokens)
{
    struct kv_span *span = &g->span[slot];
    for (int from = kv_first(g->window, tokens); span->first < from; span->first++) {
        bool held = span->first < span->end;
        if (held && *kv_cell(kv, g, slot, span->first) != NONE) kv_let_go(kv, g, slot, span->first);
        if (!held) span->end++;
        if (span->slides) continue; /* it may have another */
        span->promised--;
        g->promised -= !held;
    }
}
