/* kv.c - pages with reference counts, and a row of page numbers a slot.
 *
 * A page is free (on the stack), held (refs > 0), or cached (known, refs 0, resting in prefix.c's list):
 *
 *     free -- kv_grow --> held -- kv_drop --> free, or if known --> cached -- kv_admit --> held
 *                                                                     '---- room is needed --> free */
#include "engine/kv.h"
#include "engine/prefix.h"

enum { NONE = -1 };

struct kv_page {
    int refs, fill;         /* sequences that hold it; tokens in it while it is held (known and 0: adopted, and not
                             * held yet) */
    int agent;              /* of the last holder */
    int holder;             /* the slot, while refs is 1 */
    int free_at;            /* where on the stack, while it is free; else NONE */
    uint8_t kind[KV_KINDS]; /* tokens of each; they stay while it is cached */
};

struct kv_slot {
    int promised, most, taken, tokens, agent; /* pages, pages, pages, tokens */
    const uint8_t *kind;
    const int *first;
    int run;            /* with `first`: where the run begins */
    int known;          /* pages of it that kv_know() has seen */
    struct sip128 hash; /* of its tokens up to there */
    uint64_t own[KV_KINDS];
};

struct kv {
    int groups, pages, usable, slots, stride;
    int promised, held, shared, free; /* promised: and not taken yet */
    uint64_t tokens, shared_kind[KV_KINDS], reused, evicted, adopted;
    struct prefix *prefix;
    struct kv_page *page;  /* (pages) */
    int *free_page;        /* (pages) the first `free` are */
    int32_t *table;        /* (slots, stride); -1: none, so that a wrong read is seen */
    struct kv_slot *slot;
};

/* ------------------------------------------------------------------ open */

size_t kv_bytes(int pages, int slots, int slot_pages)
{
    return sizeof(struct kv) + prefix_bytes(pages) + (size_t)pages * (sizeof(struct kv_page) + sizeof(int)) +
           (size_t)slots * ((size_t)slot_pages * sizeof(int32_t) + sizeof(struct kv_slot));
}

static void put_free(struct kv *kv, int number)
{
    kv->page[number].free_at = kv->free;
    kv->free_page[kv->free++] = number;
}

static void take_free(struct kv *kv, int number)
{
    int at = kv->page[number].free_at, last = kv->free_page[--kv->free];
    assert(at != NONE);
    kv->free_page[at] = last;
    kv->page[last].free_at = at;
    kv->page[number].free_at = NONE;
}

struct kv *kv_open(int groups, int pages, int slots, int slot_pages, struct err *err)
{
    assert(groups > 0 && groups <= KERN_GROUPS && pages > 0 && slots > 0 && slot_pages > 0);
    struct kv *kv = calloc(1, sizeof *kv);
    size_t cells = (size_t)slots * (size_t)slot_pages;
    if (!kv) {
        err_set(err, -1, "no memory for a table of KV pages");
        return NULL;
    }
    *kv = (struct kv){.groups = groups, .pages = pages, .usable = pages, .slots = slots, .stride = slot_pages};
    kv->page = calloc((size_t)pages, sizeof *kv->page);
    kv->free_page = malloc((size_t)pages * sizeof *kv->free_page);
    kv->table = malloc(cells * sizeof *kv->table);
    kv->slot = calloc((size_t)slots, sizeof *kv->slot);
    bool ok = kv->page && kv->free_page && kv->table && kv->slot;
    if (!ok) err_set(err, -1, "no memory for the tables of %d KV pages and %d sequences", pages, slots);
    if (!ok || !(kv->prefix = prefix_open(pages, err))) {
        kv_close(kv);
        return NULL;
    }
    for (int i = 0; i < pages; i++) kv->page[i].agent = kv->page[i].holder = NONE;
    for (int i = pages - 1; i >= 0; i--) put_free(kv, i); /* page 0 is handed out first */
    memset(kv->table, 0xff, cells * sizeof *kv->table);
    return kv;
}

void kv_close(struct kv *kv)
{
    if (!kv) return;
    prefix_close(kv->prefix);
    free(kv->page);
    free(kv->free_page);
    free(kv->table);
    free(kv->slot);
    free(kv);
}

/* Pages beyond the limit are neither free nor held: they are not there yet. */
void kv_limit(struct kv *kv, int n)
{
    assert(n >= 0 && n <= kv->pages && (n >= kv->usable || kv->free == kv->pages));
    for (int i = kv->usable - 1; i >= n; i--) take_free(kv, i);
    for (int i = n - 1; i >= kv->usable; i--) put_free(kv, i);
    kv->usable = n;
}

/* ------------------------------------------------------------------ holding pages */

static int32_t *cell(const struct kv *kv, int slot, int i)
{
    return &kv->table[(size_t)slot * (size_t)kv->stride + (size_t)i];
}

static void add_kinds(uint64_t *to, const struct kv_page *p)
{
    for (int k = 0; k < KV_KINDS; k++) to[k] += p->kind[k];
}

static void sub_kinds(uint64_t *from, const struct kv_page *p)
{
    for (int k = 0; k < KV_KINDS; k++) from[k] -= p->kind[k];
}

void kv_identify(struct kv *kv, struct sip128 identity) { prefix_identify(kv->prefix, identity); }

/* Page `number` came from elsewhere; now it becomes place i of a slot, whose tokens have kinds. */
static void count_adopted(struct kv *kv, int slot, int i, struct kv_page *p)
{
    const uint8_t *kind = kv->slot[slot].kind;
    memset(p->kind, 0, sizeof p->kind);
    for (int t = i * KERN_PAGE; t < (i + 1) * KERN_PAGE; t++) p->kind[kind ? kind[t] : 0]++;
    p->fill = KERN_PAGE;
}

/* `slot` takes hold of a page, at place i of its table. */
static void hold(struct kv *kv, int slot, int i, int number)
{
    struct kv_page *p = &kv->page[number];
    if (p->refs == 0) {
        if (prefix_knows(kv->prefix, number)) {
            prefix_wake(kv->prefix, number);
            if (p->fill == 0) count_adopted(kv, slot, i, p);
        }
        kv->held++;
        kv->tokens += (uint64_t)p->fill;
        p->holder = slot;
        add_kinds(kv->slot[slot].own, p);
    } else if (p->refs == 1) {
        sub_kinds(kv->slot[p->holder].own, p);
        add_kinds(kv->shared_kind, p);
        kv->shared++;
    }
    p->refs++;
    p->agent = kv->slot[slot].agent;
    *cell(kv, slot, i) = number;
}

/* Who else has it at place i?  Pages are shared as fronts: all holders have a page at the same place. */
static int other_holder(const struct kv *kv, int slot, int i, int number)
{
    for (int s = 0; s < kv->slots; s++)
        if (s != slot && i < kv->slot[s].taken && *cell(kv, s, i) == number) return s;
    return NONE;
}

/* `slot` lets go of what it has at place i. */
static void let_go(struct kv *kv, int slot, int i)
{
    int number = *cell(kv, slot, i);
    struct kv_page *p = &kv->page[number];
    *cell(kv, slot, i) = NONE;
    p->refs--;
    if (p->refs > 1) return;
    if (p->refs == 1) {
        p->holder = other_holder(kv, slot, i, number);
        assert(p->holder != NONE);
        p->agent = kv->slot[p->holder].agent;
        sub_kinds(kv->shared_kind, p);
        add_kinds(kv->slot[p->holder].own, p);
        kv->shared--;
        return;
    }
    sub_kinds(kv->slot[slot].own, p);
    p->holder = NONE;
    kv->held--;
    kv->tokens -= (uint64_t)p->fill;
    if (prefix_knows(kv->prefix, number)) prefix_rest(kv->prefix, number);
    else put_free(kv, number);
}

static void forget_page(struct kv *kv, int number)
{
    prefix_forget(kv->prefix, number);
    if (kv->page[number].refs > 0) return;
    prefix_wake(kv->prefix, number);
    put_free(kv, number);
}

/* At least one page is free after this: if none was, of those that rest, the longest unused goes.  One does. */
static void need_free(struct kv *kv)
{
    if (kv->free > 0) return;
    int oldest = prefix_oldest(kv->prefix);
    assert(oldest != NONE);
    prefix_wake(kv->prefix, oldest);
    prefix_forget(kv->prefix, oldest);
    put_free(kv, oldest);
    kv->evicted++;
}

/* Off the free stack, with nothing in it. */
static struct kv_page *take_empty(struct kv *kv, int number)
{
    struct kv_page *p = &kv->page[number];
    take_free(kv, number);
    p->fill = 0;
    memset(p->kind, 0, sizeof p->kind);
    return p;
}

/* A page for new tokens at place i of a slot.  There is one: it was promised. */
static void take_page(struct kv *kv, int slot, int i)
{
    const struct kv_slot *s = &kv->slot[slot];
    need_free(kv);
    int number = s->first ? s->run + i : kv->free_page[kv->free - 1];
    take_empty(kv, number);
    hold(kv, slot, i, number);
}

/* ------------------------------------------------------------------ what a sequence does */

/* The known pages that a prompt begins with, into the slot's table: found, but not held yet. */
static int find_front(const struct kv *kv, int slot, const struct kv_ask *a, struct sip128 *hash, int *woken)
{
    int found = 0;
    struct sip128 next;
    for (int most = a->ids ? (a->n - 1) / KERN_PAGE : 0; found < most; found++, *hash = next) {
        next = prefix_chain(kv->prefix, *hash, a->ids + found * KERN_PAGE);
        int number = prefix_find(kv->prefix, next, a->ids + found * KERN_PAGE);
        if (number == NONE) break;
        *cell(kv, slot, found) = number;
        *woken += kv->page[number].refs == 0;
    }
    return found;
}

bool kv_admit(struct kv *kv, int slot, const struct kv_ask *a, int *shared)
{
    assert(slot >= 0 && slot < kv->slots && a->tokens > 0 && a->n <= a->tokens && (!a->most || a->most >= a->tokens));
    struct kv_slot *s = &kv->slot[slot];
    struct sip128 hash = prefix_root(kv->prefix);
    int need = kv_pages_for(a->tokens), woken = 0, found = find_front(kv, slot, a, &hash, &woken);
    assert(s->promised == 0 && kv_pages_for(MAX(a->most, a->tokens)) <= kv->stride);
    int64_t wanted = (int64_t)kv->held + kv->promised + woken + need - found + a->spare;
    bool fits = wanted <= kv->usable;
    *shared = fits ? found * KERN_PAGE : 0;
    if (!fits) {
        for (int i = 0; i < found; i++) *cell(kv, slot, i) = NONE;
        return false;
    }
    *s = (struct kv_slot){.promised = need, .most = MAX(need, kv_pages_for(a->most)), .tokens = *shared,
                          .agent = a->agent, .kind = a->kind, .first = a->first, .known = found, .hash = hash,
                          .run = a->first ? *a->first : NONE};
    for (int i = 0; i < found; i++) {
        hold(kv, slot, i, *cell(kv, slot, i));
        s->taken++;
    }
    kv->promised += need - found;
    kv->reused += (uint64_t)*shared;
    return true;
}

bool kv_promise(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    int more = kv_pages_for(tokens) - s->promised;
    assert(s->promised > 0 && s->promised + more <= s->most);
    if (more <= 0) return true;
    if (kv->held + kv->promised + more > kv->usable) return false;
    s->promised += more;
    kv->promised += more;
    return true;
}

/* Tokens [from, to) of the slot, all in page i of it. */
static void fill_page(struct kv *kv, int slot, int i, int from, int to)
{
    struct kv_slot *s = &kv->slot[slot];
    struct kv_page *p = &kv->page[*cell(kv, slot, i)];
    assert(p->refs == 1); /* nobody else: shared pages are full */
    for (int t = from; t < to; t++) {
        int kind = s->kind ? s->kind[t] : 0;
        p->kind[kind]++;
        s->own[kind]++;
    }
    kv->tokens += (uint64_t)(to - from);
    p->fill += to - from;
}

void kv_grow(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    assert(tokens >= s->tokens && kv_pages_for(tokens) <= s->promised);
    while (s->tokens < tokens) {
        int i = s->tokens / KERN_PAGE, to = MIN(tokens, (i + 1) * KERN_PAGE);
        if (i == s->taken) {
            take_page(kv, slot, i);
            s->taken++;
            kv->promised--;
        }
        fill_page(kv, slot, i, s->tokens, to);
        s->tokens = to;
    }
}

void kv_know(struct kv *kv, int slot, const int32_t *ids, int n)
{
    struct kv_slot *s = &kv->slot[slot];
    assert(n <= s->tokens);
    for (; s->known < n / KERN_PAGE; s->known++) {
        const int32_t *own = ids + s->known * KERN_PAGE;
        s->hash = prefix_chain(kv->prefix, s->hash, own);
        int twin = prefix_find(kv->prefix, s->hash, own);
        if (twin == NONE) {
            prefix_learn(kv->prefix, *cell(kv, slot, s->known), s->hash, own);
            continue;
        }
        /* Another sequence computed the same at the same time: the same bits, so one page will do. */
        let_go(kv, slot, s->known);
        hold(kv, slot, s->known, twin);
    }
}

void kv_drop(struct kv *kv, int slot)
{
    struct kv_slot *s = &kv->slot[slot];
    kv->promised -= s->promised - s->taken;
    while (s->taken > 0) let_go(kv, slot, --s->taken); /* the last first: then it is the oldest, and goes first */
    *s = (struct kv_slot){0};
}

void kv_forget(struct kv *kv)
{
    for (int i = 0; i < kv->pages; i++)
        if (prefix_knows(kv->prefix, i)) forget_page(kv, i);
}

/* ------------------------------------------------------------------ pages from elsewhere */

int kv_find(const struct kv *kv, const int32_t *ids, int n)
{
    struct sip128 hash = prefix_root(kv->prefix);
    int number = NONE;
    assert(n > 0 && n % KERN_PAGE == 0);
    for (int at = 0; at < n; at += KERN_PAGE) {
        hash = prefix_chain(kv->prefix, hash, ids + at);
        number = prefix_find(kv->prefix, hash, ids + at);
        if (number == NONE) break;
    }
    return number;
}

/* One of a text's pages shall rest, `before` being the one before it: as if a sequence had dropped the text now, which
 * makes its last page the oldest. */
static void rest_after(struct kv *kv, int number, int before)
{
    if (before != NONE && kv->page[before].refs == 0) prefix_rest_before(kv->prefix, number, before);
    else prefix_rest(kv->prefix, number);
}

int kv_adopt(struct kv *kv, const int32_t *ids, int n, int agent, int kind)
{
    struct sip128 hash = prefix_root(kv->prefix);
    int before = NONE, resting = 0, last = n - KERN_PAGE;
    assert(n > 0 && n % KERN_PAGE == 0);
    for (int at = 0; at < last; at += KERN_PAGE) {
        hash = prefix_chain(kv->prefix, hash, ids + at);
        int number = prefix_find(kv->prefix, hash, ids + at);
        if (number == NONE) return KV_NO_FRONT;
        if (kv->page[number].refs == 0) {
            prefix_wake(kv->prefix, number);
            rest_after(kv, number, before);
            resting++;
        }
        before = number;
    }
    /* Whoever rests and is not of this front is older than it now: so when no page is free, the oldest is another's. */
    if (kv->held + kv->promised + resting + 1 > kv->usable) return KV_NO_ROOM;
    need_free(kv);
    int number = kv->free_page[kv->free - 1];
    struct kv_page *p = take_empty(kv, number);
    p->agent = agent;
    p->kind[kind] = KERN_PAGE;
    prefix_learn(kv->prefix, number, prefix_chain(kv->prefix, hash, ids + last), ids + last);
    rest_after(kv, number, before);
    kv->adopted++;
    return number;
}

void kv_disown(struct kv *kv, int page)
{
    assert(kv->page[page].refs == 0);
    forget_page(kv, page);
    kv->adopted--;
}

/* ------------------------------------------------------------------ figures */

const int32_t *kv_table(const struct kv *kv, int group)
{
    assert(group >= 0 && group < kv->groups);
    return kv->table;
}

int kv_stride(const struct kv *kv) { return kv->stride; }

struct kv_count kv_count(const struct kv *kv)
{
    struct kv_count c = {.pages = kv->pages, .usable = kv->usable, .reserved = kv->held + kv->promised,
                         .held = kv->held, .shared = kv->shared, .cached = prefix_resting(kv->prefix),
                         .tokens = kv->tokens, .reused = kv->reused, .evicted = kv->evicted,
                         .adopted = kv->adopted};
    memcpy(c.shared_kind, kv->shared_kind, sizeof c.shared_kind);
    return c;
}

struct kv_slot_count kv_slot_count(const struct kv *kv, int slot)
{
    const struct kv_slot *s = &kv->slot[slot];
    struct kv_slot_count c = {.promised = s->promised, .held = s->taken, .tokens = s->tokens};
    memcpy(c.own, s->own, sizeof c.own);
    return c;
}

struct kv_page_info kv_page_info(const struct kv *kv, int page)
{
    const struct kv_page *p = &kv->page[page];
    struct kv_page_info i = {.refs = p->refs, .cached = p->refs == 0 && prefix_knows(kv->prefix, page),
                             .agent = p->agent};
    if (p->refs > 0 || i.cached) memcpy(i.kind, p->kind, sizeof i.kind);
    return i;
}

/* ------------------------------------------------------------------ checks */

static int count_refs(const struct kv *kv, int number)
{
    int refs = 0;
    for (int s = 0; s < kv->slots; s++)
        for (int i = 0; i < kv->slot[s].taken; i++) refs += *cell(kv, s, i) == number;
    return refs;
}

/* One page against the tables, and into the counts that are made anew. */
static int check_page(const struct kv *kv, int i, struct kv_count *c, uint64_t (*own)[KV_KINDS], struct err *err)
{
    const struct kv_page *p = &kv->page[i];
    int refs = count_refs(kv, i), kinds = 0;
    bool known = prefix_knows(kv->prefix, i);
    for (int k = 0; k < KV_KINDS; k++) kinds += p->kind[k];
    if (refs != p->refs) return err_set(err, -1, "page %d is in %d tables and says %d", i, refs, p->refs);
    if (known && !prefix_consistent(kv->prefix, i)) return err_set(err, -1, "page %d is known and not found", i);
    if (refs > 0 && kinds != p->fill) return err_set(err, -1, "page %d: %d tokens, kinds of %d", i, p->fill, kinds);
    bool is_free = refs == 0 && !known && i < kv->usable;
    bool listed = p->free_at != NONE;
    if (is_free != listed || (listed && kv->free_page[p->free_at] != i))
        return err_set(err, -1, "page %d is %son the free stack", i, listed ? "" : "not ");
    c->held += refs > 0;
    c->shared += refs > 1;
    c->cached += refs == 0 && known;
    c->tokens += refs > 0 ? (uint64_t)p->fill : 0;
    if (refs > 1) add_kinds(c->shared_kind, p);
    if (refs == 1) add_kinds(own[p->holder], p);
    return 0;
}

static int check_sums(const struct kv *kv, const struct kv_count *c, struct err *err)
{
    struct kv_count said = kv_count(kv);
    int listed = 0;
    for (int i = prefix_oldest(kv->prefix); i != NONE && listed <= kv->pages; i = prefix_newer(kv->prefix, i)) listed++;
    if (c->held != said.held || c->reserved != said.reserved || c->shared != said.shared || c->cached != said.cached ||
        c->tokens != said.tokens || memcmp(c->shared_kind, said.shared_kind, sizeof said.shared_kind) != 0)
        return err_set(err, -1, "held %d %d, reserved %d %d, shared %d %d, cached %d %d, tokens %llu %llu", c->held,
                       said.held, c->reserved, said.reserved, c->shared, said.shared, c->cached, said.cached,
                       (unsigned long long)c->tokens, (unsigned long long)said.tokens);
    if (listed != c->cached || kv->free + c->held + c->cached != kv->usable)
        return err_set(err, -1, "%d listed of %d cached, %d free, %d held, %d usable", listed, c->cached, kv->free,
                       c->held, kv->usable);
    if (c->reserved > kv->usable) return err_set(err, -1, "%d reserved of %d pages", c->reserved, kv->usable);
    return 0;
}

/* The last page of a sequence alone may be partly filled, so its tokens follow from its pages. */
static int check_slot(const struct kv *kv, int slot, const uint64_t *own, struct kv_count *c, struct err *err)
{
    const struct kv_slot *s = &kv->slot[slot];
    if (s->taken > s->promised || s->promised > s->most || s->taken != kv_pages_for(s->tokens))
        return err_set(err, -1, "slot %d: %d tokens in %d pages of %d promised", slot, s->tokens, s->taken,
                       s->promised);
    if (memcmp(own, s->own, sizeof s->own) != 0) return err_set(err, -1, "slot %d: tokens of its own", slot);
    for (int i = s->taken; i < kv->stride; i++)
        if (*cell(kv, slot, i) != NONE) return err_set(err, -1, "slot %d has a page past its end", slot);
    c->reserved += s->promised - s->taken;
    return 0;
}

enum { CHECK_SLOTS = 1024 };

int kv_check(const struct kv *kv, struct err *err)
{
    struct kv_count c = {.pages = kv->pages};
    static _Thread_local uint64_t own[CHECK_SLOTS][KV_KINDS];
    assert(kv->slots <= CHECK_SLOTS);
    memset(own, 0, (size_t)kv->slots * sizeof own[0]);
    for (int i = 0; i < kv->pages; i++)
        if (check_page(kv, i, &c, own, err)) return -1;
    c.reserved = c.held;
    for (int s = 0; s < kv->slots; s++)
        if (check_slot(kv, s, own[s], &c, err)) return -1;
    return check_sums(kv, &c, err);
}
