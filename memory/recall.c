/* recall.c - the table of chunks that wait, the segment that it becomes, and what is taken out again. */
#include "memory/recall_impl.h"
#include <sys/random.h>

_Static_assert((int)INDEX_BYTES >= BLOCK && (int)FAN <= RECALL_TERMS, "what r->bytes and r->reader are used for");

size_t recall_room(void) { return sizeof(struct recall); }

struct recall *recall_open(struct store *s, struct err *err)
{
    struct recall *r = take_touched(sizeof *r);
    if (!r) {
        err_set(err, STORE_NO_MEMORY, "no memory for recall: %zu bytes", sizeof *r);
        return NULL;
    }
    r->store = s;
    r->quota = (struct recall_quota){UINT64_MAX, UINT64_MAX};
    if (getrandom(r->table.seed, sizeof r->table.seed, 0) < 0)
        memset(r->table.seed, 0xa5, sizeof r->table.seed); /* then one can know it, and make it slow */
    return r;
}

void recall_close(struct recall *r) { free(r); }

void recall_set_quota(struct recall *r, struct recall_quota q) { r->quota = q; }
struct recall_quota recall_get_quota(const struct recall *r) { return r->quota; }

/* ------------------------------------------------------------------ the table */

void recall_clear(struct recall *r)
{
    struct table *t = &r->table;
    t->n_docs = t->n_terms = t->n_postings = t->n_bytes = 0;
    memset(t->slot, 0, sizeof t->slot);
}

/* Keyed, so that no text can be made whose terms all meet in one slot. */
static uint32_t hash(const struct table *t, const uint8_t *bytes, size_t n)
{
    uint64_t h = t->seed[0] ^ n;
    for (size_t i = 0; i < n; i += 8) {
        unsigned __int128 m = (unsigned __int128)(h ^ get_le(bytes + i, (int)MIN(n - i, (size_t)8))) * (t->seed[1] | 1);
        h = (uint64_t)m ^ (uint64_t)(m >> 64);
    }
    return (uint32_t)(h ^ h >> 32);
}

/* The term's place in the table; a new one has no posting (first is UINT32_MAX). */
static struct table_term *table_find(struct table *t, const struct fold_term *f)
{
    uint32_t h = hash(t, f->bytes, f->n), i = h % COUNT_OF(t->slot);
    for (; t->slot[i]; i = (i + 1) % COUNT_OF(t->slot)) {
        struct table_term *old = &t->term[t->slot[i] - 1];
        if (old->hash == h && old->n == f->n && memcmp(t->bytes + old->at, f->bytes, f->n) == 0) return old;
    }
    struct table_term *e = &t->term[t->n_terms++];
    t->slot[i] = t->n_terms;
    *e = (struct table_term){t->n_bytes, UINT32_MAX, UINT32_MAX, h, (uint8_t)f->n};
    memcpy(t->bytes + t->n_bytes, f->bytes, f->n);
    t->n_bytes += (uint32_t)f->n;
    return e;
}

static void table_add(void *self, const struct fold_term *f)
{
    struct table *t = self;
    struct table_term *e = table_find(t, f);
    uint16_t doc = (uint16_t)t->n_docs;
    t->doc[doc].terms++;
    if (e->last != UINT32_MAX && t->posting[e->last].doc == doc) {
        t->posting[e->last].tf++;
        return;
    }
    uint32_t p = t->n_postings++;
    t->posting[p] = (struct table_posting){UINT32_MAX, doc, 1};
    if (e->last == UINT32_MAX) e->first = p;
    else t->posting[e->last].next = p;
    e->last = p;
}

static bool table_has(const struct table *t, const uint8_t *session)
{
    return t->n_docs > 0 && memcmp(t->doc[0].doc.session, session, STORE_SESSION_ID) == 0;
}

int recall_add(struct recall *r, const struct recall_doc *doc, const void *text, size_t n, struct err *err)
{
    struct table *t = &r->table;
    assert(doc->kind >= 0 && doc->kind < RECALL_KINDS);
    if (n > RECALL_CHUNK)
        return err_set(err, STORE_TOO_BIG, "a chunk of %zu bytes; %d is the most", n, RECALL_CHUNK);
    if (t->n_docs > 0 && !table_has(t, doc->session)) return RECALL_FULL;
    if (t->n_docs == TABLE_DOCS || t->n_terms + CHUNK_TERMS > TABLE_TERMS ||
        t->n_postings + CHUNK_TERMS > TABLE_POSTINGS || t->n_bytes + CHUNK_GROWTH > TABLE_BYTES)
        return RECALL_FULL;
    t->doc[t->n_docs] = (struct doc){.doc = *doc};
    fold_text(text, n, table_add, t);
    t->n_docs++;
    return 0;
}

/* ------------------------------------------------------------------ the table in order */

static bool term_before(const struct table *t, uint32_t a, uint32_t b)
{
    const struct table_term *x = &t->term[a], *y = &t->term[b];
    int order = memcmp(t->bytes + x->at, t->bytes + y->at, MIN(x->n, y->n));
    return order ? order < 0 : x->n < y->n;
}

static void sift(struct table *t, uint32_t at, uint32_t n)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        uint32_t *o = t->order, value = o[at];
        if (child + 1 < n && term_before(t, o[child], o[child + 1])) child++;
        if (!term_before(t, value, o[child])) return;
        o[at] = o[child];
        o[child] = value;
    }
}

/* A heap sort: in place, and no order of terms makes it slow. */
static void table_sort(struct table *t)
{
    for (uint32_t i = 0; i < t->n_terms; i++) t->order[i] = i;
    for (uint32_t i = t->n_terms / 2; i-- > 0;) sift(t, i, t->n_terms);
    for (uint32_t n = t->n_terms; n-- > 1;) {
        uint32_t last = t->order[n];
        t->order[n] = t->order[0];
        t->order[0] = last;
        sift(t, 0, n);
    }
}

/* ------------------------------------------------------------------ flush */

int recall_load(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    struct store_key key = recall_key('s', session);
    struct store_place p = {STORE_CACHE, key, key.n, false};
    size_t n = 0;
    int rc = store_next(r->store, &p, REC_CACHE, r->bytes, sizeof r->bytes, &n, err);
    if (rc == STORE_NOT_FOUND) {
        memset(&r->ix, 0, sizeof r->ix);
        memcpy(r->ix.session, session, STORE_SESSION_ID);
        return 0;
    }
    return rc ? rc : recall_index_decode(r->bytes, n, &p.key, &r->ix, err);
}

static int write_packs(struct recall *r, struct err *err)
{
    struct table *t = &r->table;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < t->n_docs;) {
        r->pack.n = 0;
        for (; r->pack.n < PACK && i < t->n_docs; i++) {
            t->doc[i].number = r->ix.next_doc + i;
            r->ix.terms += t->doc[i].terms;
            r->pack.doc[r->pack.n++] = t->doc[i];
        }
        rc = recall_pack_put(r->store, r->ix.session, &r->pack, err);
    }
    return rc;
}

static int write_postings(struct recall *r, const struct table_term *e, struct err *err)
{
    const struct table *t = &r->table;
    int rc = recall_write_term(&r->writer, t->bytes + e->at, e->n, err);
    for (uint32_t i = e->first; !rc && i != UINT32_MAX; i = t->posting[i].next) {
        const struct doc *d = &t->doc[t->posting[i].doc];
        const struct posting p = {d->number, t->posting[i].tf, d->terms, d->doc.kind};
        rc = recall_write(&r->writer, &p, err);
    }
    return rc;
}

static int write_segment(struct recall *r, struct err *err)
{
    struct table *t = &r->table;
    struct index *ix = &r->ix;
    if (ix->n == RECALL_SEGMENTS)
        return err_set(err, STORE_TOO_BIG, "the recall index of this session is full: %d segments", RECALL_SEGMENTS);
    int rc = write_packs(r, err);
    table_sort(t);
    recall_writer_open(&r->writer, r->store, ix);
    for (uint32_t i = 0; !rc && i < t->n_terms; i++) rc = write_postings(r, &t->term[t->order[i]], err);
    if (!rc) rc = recall_writer_close(&r->writer, err);
    if (rc) return rc;
    if (r->writer.segment.blocks > 0) ix->segment[ix->n++] = r->writer.segment;
    ix->next_doc += t->n_docs;
    ix->docs += t->n_docs;
    return 0;
}

int recall_flush(struct recall *r, const uint8_t session[STORE_SESSION_ID], uint64_t next, struct err *err)
{
    assert(r->table.n_docs == 0 || table_has(&r->table, session));
    int rc = recall_load(r, session, err);
    if (!rc) rc = recall_merge_step(r, err);
    if (rc < 0) return rc;
    rc = r->table.n_docs ? write_segment(r, err) : 0;
    r->ix.next = next;
    return rc ? rc : recall_index_put(r->store, &r->ix, r->bytes, err);
}

int recall_merge(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    int rc = recall_load(r, session, err);
    if (!rc) rc = recall_merge_step(r, err);
    if (rc <= 0) return rc;
    rc = recall_index_put(r->store, &r->ix, r->bytes, err);
    return rc ? rc : 1;
}

static uint64_t index_room(const struct index *ix)
{
    uint64_t bytes = ix->docs * DOC_BYTES;
    for (uint32_t i = 0; i < ix->n; i++) bytes += ix->segment[i].bytes;
    return bytes;
}

int recall_stat(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct recall_stat *out, struct err *err)
{
    int rc = recall_load(r, session, err);
    if (rc) return rc;
    *out = (struct recall_stat){.docs = r->ix.docs, .terms = r->ix.terms, .next = r->ix.next, .segments = r->ix.n};
    for (uint32_t i = 0; i < r->ix.n; i++) {
        out->bytes += r->ix.segment[i].bytes;
        out->unclean += r->ix.segment[i].unclean;
    }
    out->room = index_room(&r->ix);
    return 0;
}

int recall_sizes(struct store *s, struct recall_size **list, size_t *n, struct err *err)
{
    struct work { struct index ix; uint8_t bytes[INDEX_BYTES]; } *w = malloc(sizeof *w);
    struct store_key front = store_key_cache("Rs", 2);
    struct store_place p = {STORE_CACHE, front, front.n, false};
    struct buf all = {0};
    int rc = w ? 0 : STORE_NO_MEMORY;
    while (!rc || rc == STORE_DAMAGED) {
        size_t len;
        rc = store_next(s, &p, REC_CACHE, w->bytes, sizeof w->bytes, &len, err);
        if (!rc) rc = recall_index_decode(w->bytes, len, &p.key, &w->ix, err);
        if (rc) continue;
        struct recall_size one = {.bytes = index_room(&w->ix)};
        memcpy(one.session, w->ix.session, sizeof one.session);
        buf_put(&all, &one, sizeof one);
    }
    free(w);
    if (rc == STORE_NOT_FOUND) rc = all.failed ? STORE_NO_MEMORY : 0;
    if (rc == STORE_NO_MEMORY) err_set(err, rc, "no memory for the sizes of the recall index");
    if (rc) buf_free(&all);
    *n = rc ? 0 : all.len / sizeof **list;
    *list = rc ? NULL : (struct recall_size *)(void *)all.data;
    return rc;
}

/* ------------------------------------------------------------------ what was removed */

static int dead_load(struct recall *r, const uint8_t *session, uint64_t n, struct err *err)
{
    struct dead *d = &r->dead;
    struct store_key key = recall_key('x', session);
    recall_key_add(&key, n, 8);
    struct store_place p = {STORE_CACHE, key, key.n, false};
    size_t len = 0;
    d->n = 0;
    memset(d->bit, 0, sizeof d->bit);
    int rc = store_next(r->store, &p, REC_CACHE, d->bit, sizeof d->bit, &len, err);
    if (rc == STORE_NOT_FOUND || (rc == 0 && len == sizeof d->bit)) {
        d->n = n + 1;
        memcpy(d->session, session, STORE_SESSION_ID);
        return 0;
    }
    return rc ? rc : err_set(err, STORE_DAMAGED, "a list of removed chunks of the recall index is damaged");
}

static bool dead_is(const struct dead *d, const uint8_t *session, uint64_t n)
{
    return d->n == n + 1 && memcmp(d->session, session, STORE_SESSION_ID) == 0;
}

int recall_is_dead(struct recall *r, const uint8_t session[STORE_SESSION_ID], uint64_t doc, bool *dead,
                   struct err *err)
{
    int rc = dead_is(&r->dead, session, doc / DEAD) ? 0 : dead_load(r, session, doc / DEAD, err);
    *dead = !rc && r->dead.bit[doc % DEAD / 8] >> doc % 8 & 1;
    return rc;
}

static int dead_put(struct recall *r, struct err *err)
{
    struct store_key key = recall_key('x', r->dead.session);
    if (r->dead.n == 0) return 0;
    recall_key_add(&key, r->dead.n - 1, 8);
    return store_put(r->store, &key, REC_CACHE, r->dead.bit, sizeof r->dead.bit, err);
}

/* Takes the chunk out of the figures and notes it; chunks come in their order. */
static int bury(struct recall *r, const struct doc *d, struct err *err)
{
    struct index *ix = &r->ix;
    int rc = 0;
    if (!dead_is(&r->dead, ix->session, d->number / DEAD)) {
        rc = dead_put(r, err);
        if (!rc) rc = dead_load(r, ix->session, d->number / DEAD, err);
    }
    if (rc) return rc;
    r->dead.bit[d->number % DEAD / 8] |= (uint8_t)(1 << d->number % 8);
    if (ix->docs == 0 || ix->terms < d->terms)
        return err_set(err, STORE_DAMAGED, "the recall index has more chunks than its figures say");
    ix->docs--;
    ix->terms -= d->terms;
    for (uint32_t i = 0; i < ix->n; i++)
        if (ix->segment[i].first <= d->number && d->number <= ix->segment[i].last) ix->segment[i].unclean = true;
    return 0;
}

/* Which chunks go. */
struct going {
    bool (*gone)(void *self, const struct recall_doc *doc);
    void *self;
};

/* The pack in r->pack, which is stored under this key, without the chunks that go.  1: it had some. */
static int strip_pack(struct recall *r, const struct going *g, const struct store_key *key, struct err *err)
{
    struct pack *p = &r->pack;
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!g->gone(g->self, &p->doc[i].doc)) {
            p->doc[kept++] = p->doc[i];
            continue;
        }
        int rc = bury(r, &p->doc[i], err);
        if (rc) return rc;
    }
    if (kept == p->n) return 0;
    p->n = kept;
    int rc = store_remove(r->store, key, err);
    if (!rc && kept) rc = recall_pack_put(r->store, r->ix.session, p, err);
    return rc ? rc : 1;
}

static int strip(struct recall *r, const struct going *g, struct err *err)
{
    struct store_key front = recall_key('d', r->ix.session);
    struct store_place p = {STORE_CACHE, front, front.n, false};
    int rc, changed = 0;
    for (;;) {
        size_t n;
        rc = store_next(r->store, &p, REC_CACHE, r->bytes, BLOCK, &n, err);
        if (!rc) rc = recall_pack_decode(r->bytes, n, &p.key, &r->pack, err);
        if (rc) break;
        rc = strip_pack(r, g, &p.key, err);
        if (rc < 0) return rc;
        changed |= rc;
    }
    return rc == STORE_NOT_FOUND ? changed : rc;
}

int recall_remove_all(struct recall *r, const uint8_t session[STORE_SESSION_ID],
                      bool (*gone)(void *self, const struct recall_doc *doc), void *self, struct err *err)
{
    if (table_has(&r->table, session)) return RECALL_FULL;
    int rc = recall_load(r, session, err);
    r->dead.n = 0;
    if (!rc) rc = strip(r, &(struct going){gone, self}, err);
    if (rc > 0) {
        rc = dead_put(r, err);
        if (!rc) rc = recall_index_put(r->store, &r->ix, r->bytes, err);
    }
    return rc;
}

static bool is_of(void *self, const struct recall_doc *doc)
{
    const struct recall_doc *text = self;
    return doc->kind == text->kind && doc->id == text->id;
}

int recall_remove(struct recall *r, const uint8_t session[STORE_SESSION_ID], enum recall_kind kind, uint64_t id,
                  struct err *err)
{
    return recall_remove_all(r, session, is_of, &(struct recall_doc){.kind = kind, .id = id}, err);
}

int recall_sweep(struct recall *r, const struct store_key *front, struct err *err)
{
    struct store_place p = {STORE_CACHE, *front, front->n, false};
    int rc;
    for (;;) {
        size_t n;
        rc = store_next(r->store, &p, REC_CACHE, r->bytes, sizeof r->bytes, &n, err);
        if (rc && rc != STORE_DAMAGED) break;
        rc = store_remove(r->store, &p.key, err);
        if (rc) return rc;
    }
    return rc == STORE_NOT_FOUND ? 0 : rc;
}

int recall_forget(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    int rc = 0;
    if (table_has(&r->table, session)) recall_clear(r);
    for (const char *letter = "sdbx"; !rc && *letter; letter++) {
        struct store_key front = recall_key(*letter, session);
        rc = recall_sweep(r, &front, err);
    }
    return rc;
}
