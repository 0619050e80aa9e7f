/* kv_check.c - the books of kv.c made anew, and compared. */
#include "engine/kv_impl.h"

enum { NONE = KV_NONE, CHECK_SLOTS = 1024 };

static int count_refs(const struct kv *kv, const struct kv_pool *g, int number, int *kept)
{
    int refs = 0;
    *kept = 0;
    for (int s = 0; s < kv->slots; s++)
        for (int i = g->span[s].first; i < g->span[s].end; i++) {
            if (*kv_cell(kv, g, s, i) != number) continue;
            refs++;
            *kept += !g->span[s].slides;
        }
    return refs;
}

/* One page against the tables, and into the counts that are made anew. */
static int check_page(const struct kv *kv, const struct kv_pool *g, int i, struct kv_count *c,
                      uint64_t (*own)[KV_KINDS], struct err *err)
{
    const struct kv_page *p = &g->page[i];
    int kept, refs = count_refs(kv, g, i, &kept), kinds = 0;
    bool known = prefix_knows(g->prefix, i);
    for (int k = 0; k < KV_KINDS; k++) kinds += p->kind[k];
    if (refs != p->refs || kept != p->kept)
        return err_set(err, -1, "page %d is in %d tables (%d keep it) and says %d (%d)", i, refs, kept, p->refs,
                       p->kept);
    if (known && !prefix_consistent(g->prefix, i)) return err_set(err, -1, "page %d is known and not found", i);
    if (refs > 0 && kinds != p->fill) return err_set(err, -1, "page %d: %d tokens, kinds of %d", i, p->fill, kinds);
    bool is_free = refs == 0 && !known && i < g->usable;
    bool listed = p->free_at != NONE;
    if (is_free != listed || (listed && g->free_page[p->free_at] != i))
        return err_set(err, -1, "page %d is %son the free stack", i, listed ? "" : "not ");
    c->held += refs > 0;
    c->reserved += kept > 0;
    c->shared += refs > 1;
    c->cached += refs == 0 && known;
    c->tokens += refs > 0 ? (uint64_t)p->fill : 0;
    if (refs > 1) kv_add_kinds(c->shared_kind, p);
    if (refs == 1 && g == kv->group) kv_add_kinds(own[p->holder], p);
    return 0;
}

static int check_sums(const struct kv_pool *g, const struct kv_count *c, const struct kv_count *said, struct err *err)
{
    int listed = 0;
    for (int i = prefix_oldest(g->prefix); i != NONE && listed <= g->pages; i = prefix_newer(g->prefix, i)) listed++;
    if (c->held != said->held || c->reserved != said->reserved || c->shared != said->shared ||
        c->cached != said->cached || c->tokens != said->tokens ||
        memcmp(c->shared_kind, said->shared_kind, sizeof said->shared_kind) != 0)
        return err_set(err, -1, "held %d %d, reserved %d %d, shared %d %d, cached %d %d, tokens %llu %llu", c->held,
                       said->held, c->reserved, said->reserved, c->shared, said->shared, c->cached, said->cached,
                       (unsigned long long)c->tokens, (unsigned long long)said->tokens);
    if (listed != c->cached || g->free + c->held + c->cached != g->usable)
        return err_set(err, -1, "%d listed of %d cached, %d free, %d held, %d usable", listed, c->cached, g->free,
                       c->held, g->usable);
    if (c->reserved > g->usable || c->held > c->reserved)
        return err_set(err, -1, "%d held, %d reserved of %d pages", c->held, c->reserved, g->usable);
    return 0;
}

/* A slot has what its tokens need, from the window of some token on that is in its last pass, within its promise. */
static int check_slot(const struct kv *kv, const struct kv_pool *g, int slot, struct kv_count *c, struct err *err)
{
    const struct kv_slot *s = &kv->slot[slot];
    const struct kv_span *span = &g->span[slot];
    int held = span->end - span->first;
    for (int i = span->first; i < span->end; i++) held -= g->states && *kv_cell(kv, g, slot, i) == NONE;
    if (held < 0 || held > span->promised || span->promised > MIN(s->most, g->bound) ||
        span->end != kv_pages_for(s->tokens) || span->first > kv_first(g->window, s->tokens))
        return err_set(err, -1, "slot %d: %d tokens in pages %d to %d of %d promised", slot, s->tokens, span->first,
                       span->end, span->promised);
    if (span->slides && s->most <= g->bound && !g->states) return err_set(err, -1, "slot %d slides and need not", slot);
    for (int i = 0; i < kv->stride; i++)
        if ((*kv_cell(kv, g, slot, i) != NONE) != (i >= span->first && i < span->end) &&
            !(g->states && *kv_cell(kv, g, slot, i) == NONE && i < kv_pages_for(s->tokens) - 1))
            return err_set(err, -1, "slot %d: place %d of its pages %d to %d", slot, i, span->first, span->end);
    c->reserved += span->slides ? span->promised : span->promised - held;
    return 0;
}

int kv_check(const struct kv *kv, struct err *err)
{
    static _Thread_local uint64_t own[CHECK_SLOTS][KV_KINDS];
    assert(kv->slots <= CHECK_SLOTS);
    memset(own, 0, (size_t)kv->slots * sizeof own[0]);
    for (int k = 0; k < kv->groups; k++) {
        const struct kv_pool *g = &kv->group[k];
        struct kv_count c = {.pages = g->pages}, said = kv_group_count(kv, k);
        for (int i = 0; i < g->pages; i++)
            if (check_page(kv, g, i, &c, own, err)) return -1;
        for (int s = 0; s < kv->slots; s++)
            if (check_slot(kv, g, s, &c, err)) return -1;
        if (check_sums(g, &c, &said, err)) return -1;
    }
    for (int s = 0; s < kv->slots; s++)
        if (memcmp(own[s], kv->slot[s].own, sizeof own[s]) != 0)
            return err_set(err, -1, "slot %d: tokens of its own", s);
    return 0;
}
