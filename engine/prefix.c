/* prefix.c - a hash table with chains through the pages, and a list through those that rest. */
#include "engine/prefix.h"
#include <errno.h>
#include <sys/random.h>

enum { NONE = -1 };

struct entry {
    bool known;
    struct sip128 hash;    /* of all tokens up to its end */
    int32_t id[KERN_PAGE]; /* its own */
    int next;              /* in its bucket */
    int older, newer;      /* in the list, while it rests */
};

struct prefix {
    int pages, buckets, resting;
    struct sip128 key, root;
    struct entry *entry;   /* (pages) */
    int *bucket;           /* (buckets) first known page, or NONE */
    int oldest, newest;
};

static bool draw_key(struct sip128 *key, struct err *err)
{
    ssize_t n;
    do n = getrandom(key, sizeof *key, 0);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *key) return true;
    err_set(err, -1, "no random key for the table of KV pages: %s", strerror(errno));
    return false;
}

static int buckets_for(int pages)
{
    int n = 1;
    while (n < pages) n *= 2;
    return n;
}

size_t prefix_bytes(int pages)
{
    return sizeof(struct prefix) + (size_t)pages * sizeof(struct entry) + (size_t)buckets_for(pages) * sizeof(int);
}

struct prefix *prefix_open(int pages, struct err *err)
{
    struct prefix *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(err, -1, "no memory for a table of KV pages");
        return NULL;
    }
    *p = (struct prefix){.pages = pages, .buckets = buckets_for(pages), .oldest = NONE, .newest = NONE};
    p->entry = calloc((size_t)pages, sizeof *p->entry);
    p->bucket = malloc((size_t)p->buckets * sizeof *p->bucket);
    bool ok = p->entry && p->bucket;
    if (!ok) err_set(err, -1, "no memory for a table of %d KV pages", pages);
    if (!ok || !draw_key(&p->key, err)) {
        prefix_close(p);
        return NULL;
    }
    for (int i = 0; i < p->buckets; i++) p->bucket[i] = NONE;
    return p;
}

void prefix_close(struct prefix *p)
{
    if (!p) return;
    free(p->entry);
    free(p->bucket);
    free(p);
}

/* ------------------------------------------------------------------ what is known */

void prefix_identify(struct prefix *p, struct sip128 identity) { p->root = identity; }
struct sip128 prefix_root(const struct prefix *p) { return p->root; }

struct sip128 prefix_chain(const struct prefix *p, struct sip128 before, const int32_t *ids)
{
    struct { struct sip128 before; int32_t id[KERN_PAGE]; } link = {.before = before};
    memcpy(link.id, ids, sizeof link.id);
    return siphash128(p->key, &link, sizeof link);
}

static int *bucket_of(const struct prefix *p, struct sip128 hash)
{
    return &p->bucket[hash.a & (uint64_t)(p->buckets - 1)];
}

int prefix_find(const struct prefix *p, struct sip128 hash, const int32_t *ids)
{
    for (int i = *bucket_of(p, hash); i != NONE; i = p->entry[i].next) {
        const struct entry *e = &p->entry[i];
        if (e->hash.a == hash.a && e->hash.b == hash.b && memcmp(e->id, ids, sizeof e->id) == 0) return i;
    }
    return NONE;
}

void prefix_learn(struct prefix *p, int page, struct sip128 hash, const int32_t *ids)
{
    struct entry *e = &p->entry[page];
    int *bucket = bucket_of(p, hash);
    assert(!e->known);
    e->known = true;
    e->hash = hash;
    memcpy(e->id, ids, sizeof e->id);
    e->next = *bucket;
    *bucket = page;
}

void prefix_forget(struct prefix *p, int page)
{
    assert(p->entry[page].known);
    int *at = bucket_of(p, p->entry[page].hash);
    while (*at != page) at = &p->entry[*at].next;
    *at = p->entry[page].next;
    p->entry[page].known = false;
}

bool prefix_knows(const struct prefix *p, int page) { return p->entry[page].known; }

bool prefix_consistent(const struct prefix *p, int page)
{
    const struct entry *e = &p->entry[page];
    return e->known && prefix_find(p, e->hash, e->id) == page;
}

/* ------------------------------------------------------------------ those that rest */

void prefix_rest(struct prefix *p, int page)
{
    struct entry *e = &p->entry[page];
    assert(e->known);
    e->older = p->newest;
    e->newer = NONE;
    *(p->newest == NONE ? &p->oldest : &p->entry[p->newest].newer) = page;
    p->newest = page;
    p->resting++;
}

void prefix_rest_before(struct prefix *p, int page, int newer)
{
    struct entry *e = &p->entry[page], *n = &p->entry[newer];
    assert(e->known);
    e->older = n->older;
    e->newer = newer;
    *(n->older == NONE ? &p->oldest : &p->entry[n->older].newer) = page;
    n->older = page;
    p->resting++;
}

void prefix_wake(struct prefix *p, int page)
{
    struct entry *e = &p->entry[page];
    *(e->older == NONE ? &p->oldest : &p->entry[e->older].newer) = e->newer;
    *(e->newer == NONE ? &p->newest : &p->entry[e->newer].older) = e->older;
    p->resting--;
}

int prefix_oldest(const struct prefix *p) { return p->oldest; }
int prefix_newer(const struct prefix *p, int page) { return p->entry[page].newer; }
int prefix_resting(const struct prefix *p) { return p->resting; }
