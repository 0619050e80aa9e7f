/* kv.c - pages with reference counts, a row of page numbers a slot, and a table of the pages that are known.
 *
 * A page is free (on the stack), held (refs > 0), or cached (known, refs 0, in the list by age):
 *
 *     free -- kv_grow --> held -- kv_drop --> free, or if known --> cached -- kv_admit --> held
 *                                                                     '---- room is needed --> free */
#include "engine/kv.h"
#include "engine/siphash.h"
#include <errno.h>
#include <sys/random.h>

enum { NONE = -1 };

struct kv_page {
    int refs, fill;        /* sequences that hold it; tokens in it while it is held */
    bool known;
    struct sip128 hash;    /* known: of all tokens up to its end */
    int32_t id[KERN_PAGE]; /* known: its own */
    int next;              /* known: in its bucket */
    int older, newer;      /* cached: in the list */
};

struct kv_slot {
    int reserved, taken, tokens;
    int known;          /* pages of it that kv_know() has seen */
    struct sip128 hash; /* of its tokens up to there */
};

struct kv {
    int groups, pages, slots, stride, buckets;
    int promised, held, shared, cached, free;
    uint64_t tokens, reused, evicted;
    struct sip128 key;
    struct kv_page *page;  /* (pages) */
    int *free_page;        /* (pages) the first `free` are */
    int *bucket;           /* (buckets) first known page, or NONE */
    int oldest, newest;    /* cached pages */
    int32_t *table;        /* (slots, stride); -1: none, so that a wrong read is seen */
    struct kv_slot *slot;
};

/* ------------------------------------------------------------------ open */

static bool draw_key(struct sip128 *key, struct err *err)
{
    ssize_t n;
    do n = getrandom(key, sizeof *key, 0);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *key) return true;
    err_set(err, -1, "no random key for the table of KV pages: %s", strerror(errno));
    return false;
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
    *kv = (struct kv){.groups = groups, .pages = pages, .slots = slots, .stride = slot_pages, .buckets = 1,
                      .oldest = NONE, .newest = NONE};
    while (kv->buckets < pages) kv->buckets *= 2;
    kv->page = calloc((size_t)pages, sizeof *kv->page);
    kv->free_page = malloc((size_t)pages * sizeof *kv->free_page);
    kv->bucket = malloc((size_t)kv->buckets * sizeof *kv->bucket);
    kv->table = malloc(cells * sizeof *kv->table);
    kv->slot = calloc((size_t)slots, sizeof *kv->slot);
    bool ok = kv->page && kv->free_page && kv->bucket && kv->table && kv->slot;
    if (!ok) err_set(err, -1, "no memory for the tables of %d KV pages and %d sequences", pages, slots);
    if (!ok || !draw_key(&kv->key, err)) {
        kv_close(kv);
        return NULL;
    }
    for (int i = 0; i < pages; i++) kv->free_page[kv->free++] = pages - 1 - i; /* page 0 is handed out first */
    for (int i = 0; i < kv->buckets; i++) kv->bucket[i] = NONE;
    memset(kv->table, 0xff, cells * sizeof *kv->table);
    return kv;
}

void kv_close(struct kv *kv)
{
    if (!kv) return;
    free(kv->page);
    free(kv->free_page);
    free(kv->bucket);
    free(kv->table);
    free(kv->slot);
    free(kv);
}

/* ------------------------------------------------------------------ pages that are known */

/* The chain's next link: over the hash before it and the tokens of one page. */
static struct sip128 chain(const struct kv *kv, struct sip128 before, const int32_t *ids)
{
    struct { struct sip128 before; int32_t id[KERN_PAGE]; } link = {.before = before};
    memcpy(link.id, ids, sizeof link.id);
    return siphash128(kv->key, &link, sizeof link);
}

static int *bucket_of(const struct kv *kv, struct sip128 hash)
{
    return &kv->bucket[hash.a & (uint64_t)(kv->buckets - 1)];
}

static int find_page(const struct kv *kv, struct sip128 hash, const int32_t *ids)
{
    for (int i = *bucket_of(kv, hash); i != NONE; i = kv->page[i].next) {
        const struct kv_page *p = &kv->page[i];
        if (p->hash.a == hash.a && p->hash.b == hash.b && memcmp(p->id, ids, sizeof p->id) == 0) return i;
    }
    return NONE;
}

static void make_known(struct kv *kv, int number, struct sip128 hash, const int32_t *ids)
{
    struct kv_page *p = &kv->page[number];
    int *bucket = bucket_of(kv, hash);
    p->known = true;
    p->hash = hash;
    memcpy(p->id, ids, sizeof p->id);
    p->next = *bucket;
    *bucket = number;
}

static void make_unknown(struct kv *kv, int number)
{
    int *at = bucket_of(kv, kv->page[number].hash);
    while (*at != number) at = &kv->page[*at].next;
    *at = kv->page[number].next;
    kv->page[number].known = false;
}

static void link_newest(struct kv *kv, int number)
{
    struct kv_page *p = &kv->page[number];
    p->older = kv->newest;
    p->newer = NONE;
    *(kv->newest == NONE ? &kv->oldest : &kv->page[kv->newest].newer) = number;
    kv->newest = number;
    kv->cached++;
}

static void unlink_cached(struct kv *kv, int number)
{
    struct kv_page *p = &kv->page[number];
    *(p->older == NONE ? &kv->oldest : &kv->page[p->older].newer) = p->newer;
    *(p->newer == NONE ? &kv->newest : &kv->page[p->newer].older) = p->older;
    kv->cached--;
}

/* ------------------------------------------------------------------ holding pages */

static void hold(struct kv *kv, int number)
{
    struct kv_page *p = &kv->page[number];
    if (p->refs == 0) {
        if (p->known) unlink_cached(kv, number);
        kv->held++;
        kv->tokens += (uint64_t)p->fill;
    }
    kv->shared += ++p->refs == 2;
}

static void let_go(struct kv *kv, int number)
{
    struct kv_page *p = &kv->page[number];
    kv->shared -= p->refs == 2;
    if (--p->refs > 0) return;
    kv->held--;
    kv->tokens -= (uint64_t)p->fill;
    if (p->known) link_newest(kv, number);
    else kv->free_page[kv->free++] = number;
}

/* A page for new tokens.  There is one: it was promised. */
static int take_page(struct kv *kv)
{
    if (kv->free == 0) {
        int oldest = kv->oldest;
        assert(oldest != NONE);
        unlink_cached(kv, oldest);
        make_unknown(kv, oldest);
        kv->free_page[kv->free++] = oldest;
        kv->evicted++;
    }
    int number = kv->free_page[--kv->free];
    kv->page[number].fill = 0;
    hold(kv, number);
    return number;
}

static int32_t *cell(const struct kv *kv, int slot, int i)
{
    return &kv->table[(size_t)slot * (size_t)kv->stride + (size_t)i];
}

bool kv_admit(struct kv *kv, int slot, int tokens, const int32_t *ids, int n, int *shared)
{
    assert(slot >= 0 && slot < kv->slots && tokens > 0 && n <= tokens);
    struct kv_slot *s = &kv->slot[slot];
    struct sip128 hash = {0}, next;
    int need = kv_pages_for(tokens), found = 0, woken = 0;
    assert(s->reserved == 0 && need <= kv->stride);
    for (int most = ids ? (n - 1) / KERN_PAGE : 0; found < most; found++, hash = next) {
        next = chain(kv, hash, ids + found * KERN_PAGE);
        int number = find_page(kv, next, ids + found * KERN_PAGE);
        if (number == NONE) break;
        *cell(kv, slot, found) = number;
        woken += kv->page[number].refs == 0;
    }
    bool fits = kv->held + kv->promised + woken + need - found <= kv->pages;
    for (int i = 0; i < found; i++) {
        if (fits) hold(kv, *cell(kv, slot, i));
        else *cell(kv, slot, i) = NONE;
    }
    *shared = fits ? found * KERN_PAGE : 0;
    if (!fits) return false;
    kv->promised += need - found;
    kv->reused += (uint64_t)*shared;
    *s = (struct kv_slot){.reserved = need, .taken = found, .tokens = *shared, .known = found, .hash = hash};
    return true;
}

void kv_grow(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    int need = kv_pages_for(tokens);
    assert(tokens >= s->tokens && need <= s->reserved);
    for (int i = s->tokens / KERN_PAGE; i < need; i++) {
        if (i == s->taken) {
            *cell(kv, slot, i) = take_page(kv);
            s->taken++;
            kv->promised--;
        }
        struct kv_page *p = &kv->page[*cell(kv, slot, i)];
        int fill = MIN(tokens - i * KERN_PAGE, KERN_PAGE);
        kv->tokens += (uint64_t)(fill - p->fill);
        p->fill = fill;
    }
    s->tokens = tokens;
}

void kv_know(struct kv *kv, int slot, const int32_t *ids, int n)
{
    struct kv_slot *s = &kv->slot[slot];
    assert(n <= s->tokens);
    for (; s->known < n / KERN_PAGE; s->known++) {
        const int32_t *own = ids + s->known * KERN_PAGE;
        int32_t *at = cell(kv, slot, s->known);
        s->hash = chain(kv, s->hash, own);
        int twin = find_page(kv, s->hash, own);
        if (twin == NONE) {
            make_known(kv, *at, s->hash, own);
            continue;
        }
        /* Another sequence computed the same at the same time: the same bits, so one page will do. */
        hold(kv, twin);
        let_go(kv, *at);
        *at = twin;
    }
}

void kv_drop(struct kv *kv, int slot)
{
    struct kv_slot *s = &kv->slot[slot];
    kv->promised -= s->reserved - s->taken;
    while (s->taken > 0) { /* the last first: it is the oldest of them then, and goes first */
        int32_t *at = cell(kv, slot, --s->taken);
        let_go(kv, *at);
        *at = NONE;
    }
    *s = (struct kv_slot){0};
}

void kv_forget(struct kv *kv)
{
    for (int i = 0; i < kv->pages; i++) {
        if (!kv->page[i].known) continue;
        make_unknown(kv, i);
        if (kv->page[i].refs > 0) continue;
        unlink_cached(kv, i);
        kv->free_page[kv->free++] = i;
    }
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
    return (struct kv_count){.pages = kv->pages, .reserved = kv->held + kv->promised, .held = kv->held,
                             .shared = kv->shared, .cached = kv->cached, .tokens = kv->tokens, .reused = kv->reused,
                             .evicted = kv->evicted};
}

static int count_refs(const struct kv *kv, int number)
{
    int refs = 0;
    for (int s = 0; s < kv->slots; s++)
        for (int i = 0; i < kv->slot[s].taken; i++) refs += *cell(kv, s, i) == number;
    return refs;
}

int kv_check(const struct kv *kv, struct err *err)
{
    struct kv_count c = {.pages = kv->pages, .reused = kv->reused, .evicted = kv->evicted}, said = kv_count(kv);
    int listed = 0, promised = 0;
    for (int i = 0; i < kv->pages; i++) {
        const struct kv_page *p = &kv->page[i];
        int refs = count_refs(kv, i);
        if (refs != p->refs) return err_set(err, -1, "page %d is in %d tables and says %d", i, refs, p->refs);
        if (p->known && find_page(kv, p->hash, p->id) != i)
            return err_set(err, -1, "page %d is known and not found", i);
        c.held += refs > 0;
        c.shared += refs > 1;
        c.cached += refs == 0 && p->known;
        c.tokens += refs > 0 ? (uint64_t)p->fill : 0;
    }
    for (int i = kv->oldest; i != NONE; i = kv->page[i].newer, listed++)
        if (kv->page[i].refs || !kv->page[i].known) return err_set(err, -1, "page %d is cached and should not be", i);
    for (int s = 0; s < kv->slots; s++) promised += kv->slot[s].reserved - kv->slot[s].taken;
    c.reserved = c.held + promised;
    if (c.held != said.held || c.shared != said.shared || c.cached != said.cached || c.tokens != said.tokens ||
        c.reserved != said.reserved || listed != c.cached)
        return err_set(err, -1, "counted held %d, shared %d, cached %d (%d in the list), reserved %d, %llu tokens; "
                       "said %d, %d, %d, %d, %llu", c.held, c.shared, c.cached, listed, c.reserved,
                       (unsigned long long)c.tokens, said.held, said.shared, said.cached, said.reserved,
                       (unsigned long long)said.tokens);
    if (c.held + c.cached + kv->free != kv->pages)
        return err_set(err, -1, "%d held + %d cached + %d free are not %d pages", c.held, c.cached, kv->free,
                       kv->pages);
    if (c.reserved > kv->pages) return err_set(err, -1, "%d pages are reserved of %d", c.reserved, kv->pages);
    return 0;
}
