/* kv.c - pages with reference counts, and a row of page numbers a slot and group.
 *
 * A page is free (on the stack), held (refs > 0), or cached (known, refs 0, resting in prefix.c's list):
 *
 *     free -- kv_grow --> held -- kv_drop, a window --> free, or if known --> cached -- kv_admit --> held
 *                                                                               '-- room is needed --> free */
#include "engine/kv_impl.h"

enum { NONE = KV_NONE };

/* ------------------------------------------------------------------ open */

size_t kv_bytes(const struct kv_config *cfg)
{
    size_t slots = (size_t)cfg->slots, row = (size_t)kv_pages_for(cfg->ctx) * sizeof(int32_t), sum = sizeof(struct kv);
    for (int g = 0; g < cfg->groups; g++)
        sum += prefix_bytes(cfg->group[g].pages) +
               (size_t)cfg->group[g].pages * (sizeof(struct kv_page) + sizeof(int)) +
               slots * (row + sizeof(struct kv_span));
    return sum + slots * sizeof(struct kv_slot);
}

int kv_groups(struct kv_group out[KERN_GROUPS], int pages, int window, int local, int seqs, int ctx, int rows)
{
    const int longest = (int)MIN((int64_t)pages * KERN_PAGE, ctx);
    const bool states = local == KV_STATES;
    out[0] = (struct kv_group){.pages = pages, .window = window};
    if (local == 0) return 1;
    out[1] = (struct kv_group){.window = states ? KERN_PAGE + 1 : local, .states = states};
    if (__builtin_mul_overflow(kv_group_need(&out[1], rows, longest), seqs, &out[1].pages)) return 0;
    return 2;
}

static bool open_pool(struct kv_pool *g, const struct kv_config *cfg, const struct kv_group *what, struct err *err)
{
    size_t pages = (size_t)what->pages, slots = (size_t)cfg->slots, cells = slots * (size_t)kv_pages_for(cfg->ctx);
    *g = (struct kv_pool){.pages = what->pages, .window = what->window, .states = what->states, .usable = what->pages,
                          .bound = INT32_MAX};
    if (g->window > 0) g->bound = kv_group_need(what, cfg->rows, INT32_MAX - KERN_PAGE);
    g->page = calloc(pages, sizeof *g->page);
    g->free_page = malloc(pages * sizeof *g->free_page);
    g->table = malloc(cells * sizeof *g->table);
    g->span = calloc(slots, sizeof *g->span);
    bool ok = g->page && g->free_page && g->table && g->span;
    if (!ok) err_set(err, -1, "no memory for the tables of %d KV pages and %d sequences", what->pages, cfg->slots);
    if (!ok || !(g->prefix = prefix_open(g->pages, err))) return false;
    for (int i = 0; i < g->pages; i++) g->page[i].agent = g->page[i].holder = NONE;
    for (int i = g->pages - 1; i >= 0; i--) kv_put_free(g, i); /* page 0 is handed out first */
    memset(g->table, 0xff, cells * sizeof *g->table);
    return true;
}

struct kv *kv_open(const struct kv_config *cfg, struct err *err)
{
    assert(cfg->groups > 0 && cfg->groups <= KERN_GROUPS && cfg->slots > 0 && cfg->ctx > 0);
    struct kv *kv = calloc(1, sizeof *kv);
    bool ok = kv && (kv->slot = calloc((size_t)cfg->slots, sizeof *kv->slot));
    if (!ok) err_set(err, -1, "no memory for a table of KV pages");
    for (int g = 0; ok && g < cfg->groups; g++) {
        assert(cfg->group[g].pages > 0 && cfg->group[g].window >= 0 && (cfg->group[g].window == 0 || cfg->rows > 0));
        ok = open_pool(&kv->group[g], cfg, &cfg->group[g], err);
    }
    if (!ok) {
        kv_close(kv);
        return NULL;
    }
    kv->groups = cfg->groups;
    kv->slots = cfg->slots;
    kv->stride = kv_pages_for(cfg->ctx);
    return kv;
}

void kv_close(struct kv *kv)
{
    if (!kv) return;
    for (int i = 0; i < KERN_GROUPS; i++) {
        struct kv_pool *g = &kv->group[i];
        prefix_close(g->prefix);
        free(g->page);
        free(g->free_page);
        free(g->table);
        free(g->span);
    }
    free(kv->slot);
    free(kv);
}

/* Pages beyond the limit are neither free nor held: they are not there yet. */
void kv_limit(struct kv *kv, int group, int n)
{
    struct kv_pool *g = &kv->group[group];
    assert(group < kv->groups && n >= 0 && n <= g->pages && (n >= g->usable || g->free == g->pages));
    for (int i = g->usable - 1; i >= n; i--) kv_take_free(g, i);
    for (int i = n - 1; i >= g->usable; i--) kv_put_free(g, i);
    g->usable = n;
}

/* ------------------------------------------------------------------ what a sequence does */

/* The rows of an empty slot keep the places [kv_first(), found) of the front, and lose all others below `end`. */
static void cut_rows(struct kv *kv, int slot, int found, int end)
{
    for (int k = 0; k < kv->groups; k++) {
        const struct kv_pool *g = &kv->group[k];
        int first = kv_first(g->window, found * KERN_PAGE);
        for (int i = 0; i < end; i++)
            if (i < first || i >= found) *kv_cell(kv, g, slot, i) = NONE;
    }
}

/* The longest front of a prompt, in pages, of which each group knows what the token after it sees; those pages are put
 * into the slot's rows, but not held yet. */
static int find_front(struct kv *kv, int slot, const struct kv_ask *a, struct sip128 *hash, int *but_states)
{
    int found = 0, end = 0, run[KERN_GROUPS] = {0}; /* known pages that follow one another up to here */
    struct sip128 next = *hash;
    bool open = true; /* a longer one may be known */
    for (int most = a->ids ? (a->n - 1) / KERN_PAGE : 0; open && end < most;) {
        const int32_t *ids = a->ids + end * KERN_PAGE;
        bool all = true, others = true;
        next = kv_chain(kv, next, ids);
        end++;
        for (int k = 0; k < kv->groups; k++) {
            const struct kv_pool *g = &kv->group[k];
            int number = prefix_find(g->prefix, next, ids);
            *kv_cell(kv, g, slot, end - 1) = number;
            run[k] = number == NONE ? 0 : run[k] + 1;
            open = open && (g->window > 0 || number != NONE);
            const bool sees = run[k] >= end - kv_first(g->window, end * KERN_PAGE);
            all = all && sees;
            others = others && (sees || g->states);
        }
        if (others) *but_states = end;
        if (!all) continue;
        found = end;
        *hash = next;
    }
    cut_rows(kv, slot, found, end);
    return found;
}

/* What a slot would have in a group, with the pages that are in its row.  *more: what that adds to the reserved. */
static struct kv_span plan_span(const struct kv *kv, const struct kv_pool *g, int slot, const struct kv_ask *a,
                                int found, int *more)
{
    int first = kv_first(g->window, found * KERN_PAGE), most = kv_pages_for(MAX(a->most, a->tokens)) - first;
    struct kv_span span = {.first = first, .end = found, .slides = g->states || most > g->bound,
                           .promised = MIN(kv_pages_for(a->tokens) - first, g->bound)};
    *more = span.promised;
    if (span.slides) return span;
    for (int i = first; i < found; i++) *more -= g->page[*kv_cell(kv, g, slot, i)].kept > 0;
    return span;
}

bool kv_admit(struct kv *kv, int slot, const struct kv_ask *a, int *shared)
{
    assert(slot >= 0 && slot < kv->slots && a->tokens > 0 && a->n <= a->tokens && (!a->most || a->most >= a->tokens));
    assert(!a->first || (kv->groups == 1 && kv->group[0].window == 0));
    struct kv_slot *s = &kv->slot[slot];
    struct kv_span span[KERN_GROUPS];
    struct sip128 hash = kv_root(kv);
    int front = 0, found = find_front(kv, slot, a, &hash, &front), most = kv_pages_for(MAX(a->most, a->tokens));
    assert(s->most == 0 && most <= kv->stride);
    for (int k = 0, more; k < kv->groups; k++) {
        const struct kv_pool *g = &kv->group[k];
        span[k] = plan_span(kv, g, slot, a, found, &more);
        if ((int64_t)kv_reserved(g) + more + a->spare[k] <= g->usable) continue;
        cut_rows(kv, slot, 0, found);
        *shared = 0;
        return false;
    }
    *shared = found * KERN_PAGE;
    *s = (struct kv_slot){.most = most, .tokens = *shared, .agent = a->agent, .kind = a->kind, .first = a->first,
                          .known = found, .front = front * KERN_PAGE, .hash = hash, .run = a->first ? *a->first : NONE};
    for (int k = 0; k < kv->groups; k++) {
        struct kv_pool *g = &kv->group[k];
        g->span[slot] = span[k];
        g->promised += span[k].promised - (span[k].slides ? 0 : found - span[k].first);
        for (int i = span[k].first; i < found; i++) kv_hold(kv, g, slot, i, *kv_cell(kv, g, slot, i));
    }
    kv->reused += (uint64_t)*shared;
    return true;
}

bool kv_promise(struct kv *kv, int slot, int tokens)
{
    int more[KERN_GROUPS];
    assert(kv->slot[slot].most > 0 && kv_pages_for(tokens) <= kv->slot[slot].most);
    for (int k = 0; k < kv->groups; k++) {
        const struct kv_pool *g = &kv->group[k];
        const struct kv_span *span = &g->span[slot];
        more[k] = MAX(MIN(kv_pages_for(tokens) - span->first, g->bound) - span->promised, 0);
        if (more[k] > 0 && kv_reserved(g) + more[k] > g->usable) return false;
    }
    for (int k = 0; k < kv->groups; k++) {
        kv->group[k].span[slot].promised += more[k];
        kv->group[k].promised += more[k];
    }
    return true;
}

/* Tokens [from, to) of the slot, all in page i of it. */
static void fill_page(struct kv *kv, struct kv_pool *g, int slot, int i, int from, int to)
{
    struct kv_slot *s = &kv->slot[slot];
    struct kv_page *p = &g->page[*kv_cell(kv, g, slot, i)];
    assert(p->refs == 1); /* nobody else: shared pages are full */
    for (int t = from; t < to; t++) {
        int kind = s->kind ? s->kind[t] : 0;
        p->kind[kind]++;
        s->own[kind] += g == kv->group;
    }
    g->tokens += (uint64_t)(to - from);
    p->fill += to - from;
}

/* Of states a pass leaves two behind: at its end, and at the end of the last page that is full then. */
static bool leaves_out(const struct kv_pool *g, int i, int tokens)
{
    return g->states && i < tokens / KERN_PAGE - 1;
}

void kv_grow(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    assert(tokens >= s->tokens && kv_pages_for(tokens) <= s->most);
    while (s->tokens < tokens) {
        int i = s->tokens / KERN_PAGE, to = MIN(tokens, (i + 1) * KERN_PAGE);
        for (int k = 0; k < kv->groups; k++) {
            struct kv_pool *g = &kv->group[k];
            if (i < g->span[slot].first) continue; /* kv_restore(): before the window */
            if (i == g->span[slot].end && leaves_out(g, i, tokens)) g->span[slot].end++;
            else if (i == g->span[slot].end) kv_take_page(kv, g, slot);
            if (*kv_cell(kv, g, slot, i) == NONE) continue;
            fill_page(kv, g, slot, i, s->tokens, to);
        }
        s->tokens = to;
    }
}

/* Tokens [from, to) of the slot, all in page i of it, are gone again. */
static void clear_page(struct kv *kv, struct kv_pool *g, int slot, int i, int from, int to)
{
    struct kv_slot *s = &kv->slot[slot];
    struct kv_page *p = &g->page[*kv_cell(kv, g, slot, i)];
    assert(p->refs == 1);
    for (int t = from; t < to; t++) {
        int kind = s->kind ? s->kind[t] : 0;
        p->kind[kind]--;
        s->own[kind] -= g == kv->group;
    }
    g->tokens -= (uint64_t)(to - from);
    p->fill -= to - from;
}

void kv_shrink(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    const int end = kv_pages_for(tokens);
    assert(tokens >= s->known * KERN_PAGE && tokens <= s->tokens);
    for (int k = 0; k < kv->groups; k++) {
        struct kv_pool *g = &kv->group[k];
        struct kv_span *span = &g->span[slot];
        assert(!g->states || tokens == s->tokens);
        for (; span->end > end; span->end--) {
            kv_let_go(kv, g, slot, span->end - 1);
            g->promised += !span->slides;
        }
        const int to = MIN(s->tokens, end * KERN_PAGE);
        if (tokens < to) clear_page(kv, g, slot, end - 1, tokens, to);
    }
    s->tokens = tokens;
}

void kv_restore(struct kv *kv, int slot, int tokens)
{
    for (int k = 0; k < kv->groups; k++) kv_slide(kv, &kv->group[k], slot, tokens);
    kv_grow(kv, slot, tokens);
}

/* A full page at place i is computed. */
static void know_page(struct kv *kv, struct kv_pool *g, int slot, int i, const int32_t *own)
{
    struct sip128 hash = kv->slot[slot].hash;
    int twin = prefix_find(g->prefix, hash, own);
    if (twin == NONE) {
        prefix_learn(g->prefix, *kv_cell(kv, g, slot, i), hash, own);
        return;
    }
    /* Another sequence computed the same at the same time: the same bits, so one page will do. */
    kv_let_go(kv, g, slot, i);
    kv_hold(kv, g, slot, i, twin);
}

void kv_know(struct kv *kv, int slot, const int32_t *ids, int n)
{
    struct kv_slot *s = &kv->slot[slot];
    assert(n <= s->tokens);
    for (; s->known < n / KERN_PAGE; s->known++) {
        const int32_t *own = ids + s->known * KERN_PAGE;
        s->hash = kv_chain(kv, s->hash, own);
        for (int k = 0; k < kv->groups; k++)
            if (s->known >= kv->group[k].span[slot].first && *kv_cell(kv, &kv->group[k], slot, s->known) != NONE)
                know_page(kv, &kv->group[k], slot, s->known, own);
    }
    for (int k = 0; k < kv->groups; k++) kv_slide(kv, &kv->group[k], slot, n);
}

void kv_keep(struct kv *kv, int slot, int tokens)
{
    for (int k = 0; k < kv->groups; k++) {
        struct kv_pool *g = &kv->group[k];
        const struct kv_span *span = &g->span[slot];
        const int i = tokens / KERN_PAGE - 1; /* the last full one */
        const int number = g->states && i >= span->first && i < span->end
                                                           ? *kv_cell(kv, g, slot, i) : NONE;
        if (number != NONE) g->page[number].stays = true;
    }
}

int kv_front(const struct kv *kv, int slot) { return kv->slot[slot].front; }

void kv_drop(struct kv *kv, int slot)
{
    for (int k = 0; k < kv->groups; k++) {
        struct kv_pool *g = &kv->group[k];
        struct kv_span *span = &g->span[slot];
        g->promised -= span->promised - (span->slides ? 0 : span->end - span->first);
        /* The last first: then it is the oldest, and goes first. */
        while (span->end > span->first) {
            const int number = *kv_cell(kv, g, slot, --span->end);
            if (number == NONE) continue;
            g->page[number].stays = true;
            kv_let_go(kv, g, slot, span->end);
        }
        *span = (struct kv_span){0};
    }
    kv->slot[slot] = (struct kv_slot){0};
}

void kv_forget(struct kv *kv)
{
    for (int k = 0; k < kv->groups; k++)
        for (int i = 0; i < kv->group[k].pages; i++)
            if (prefix_knows(kv->group[k].prefix, i)) kv_forget_page(&kv->group[k], i);
}

/* ------------------------------------------------------------------ figures */

const int32_t *kv_table(const struct kv *kv, int group)
{
    assert(group >= 0 && group < kv->groups);
    return kv->group[group].table;
}

int kv_stride(const struct kv *kv) { return kv->stride; }

struct kv_count kv_group_count(const struct kv *kv, int group)
{
    const struct kv_pool *g = &kv->group[group];
    struct kv_count c = {.pages = g->pages, .usable = g->usable, .reserved = kv_reserved(g), .held = g->held,
                         .shared = g->shared, .cached = prefix_resting(g->prefix), .tokens = g->tokens,
                         .reused = kv->reused, .evicted = g->evicted, .adopted = g->adopted};
    memcpy(c.shared_kind, g->shared_kind, sizeof c.shared_kind);
    return c;
}

struct kv_count kv_count(const struct kv *kv) { return kv_group_count(kv, 0); }

/* The last page of a sequence alone may be partly filled, so tokens follow from pages. */
struct kv_slot_count kv_slot_count(const struct kv *kv, int slot)
{
    const struct kv_slot *s = &kv->slot[slot];
    const struct kv_span *span = &kv->group[0].span[slot];
    struct kv_slot_count c = {.promised = span->promised, .held = span->end - span->first,
                              .tokens = MAX(s->tokens - span->first * KERN_PAGE, 0)};
    memcpy(c.own, s->own, sizeof c.own);
    return c;
}

int kv_would_free(const struct kv *kv, int slot, int group)
{
    const struct kv_pool *g = &kv->group[group];
    const struct kv_span *span = &g->span[slot];
    int n = span->promised;
    for (int i = span->first; !span->slides && i < span->end; i++) n -= g->page[*kv_cell(kv, g, slot, i)].kept > 1;
    return n;
}

struct kv_page_info kv_page_info(const struct kv *kv, int group, int page)
{
    const struct kv_pool *g = &kv->group[group];
    const struct kv_page *p = &g->page[page];
    struct kv_page_info i = {.refs = p->refs, .cached = p->refs == 0 && prefix_knows(g->prefix, page),
                             .agent = p->agent};
    if (p->refs > 0 || i.cached) memcpy(i.kind, p->kind, sizeof i.kind);
    return i;
}
