/* snapshot_quota.c - which pages were not used for the longest time: pages have no age of their own on disk, it is the
 * newest generation of the sessions that name them. */
#include "memory/snapshot_impl.h"

enum { BLOCK = 4096, LEAST = 128 };

/* LMDB gives a long value whole blocks of its own; short ones share them with their keys. */
uint64_t snap_cost(size_t value) { return value > BLOCK / 2 ? size_align(value + 16, BLOCK) : LEAST + value; }

/* ------------------------------------------------------------------ what is there */

struct entry { /* a page or a session; in the order of their keys */
    uint8_t id[2 * SNAP_NAME]; /* identity, name */
    uint64_t cost, age;        /* age: the newest generation that names it; 0: none does */
    uint32_t place;            /* in the session that does, the first page is 0 */
    uint32_t sessions;         /* that name it */
    size_t session;            /* one of them: its place in the list of sessions */
};

struct list {
    struct buf entries;
    uint64_t cost;
};

static struct entry *entry_at(const struct list *l, size_t i) { return &((struct entry *)(void *)l->entries.data)[i]; }
static size_t count_of(const struct list *l) { return l->entries.len / sizeof(struct entry); }

static bool note(void *user, const uint8_t *key, size_t n, size_t value)
{
    struct list *l = user;
    struct entry e = {.cost = snap_cost(value)};
    if (n != SNAP_KEY) return true;
    memcpy(e.id, key + 2, sizeof e.id);
    buf_put(&l->entries, &e, sizeof e);
    l->cost += e.cost;
    return !l->entries.failed;
}

static int list_all(struct snap *s, char letter, struct list *out, struct err *err)
{
    struct store_key front = store_key_cache(&letter, 1);
    *out = (struct list){0};
    int rc = store_each_key(s->store, STORE_CACHE, &front, note, out, err);
    if (!rc && out->entries.failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a list of the KV pages on disk");
    if (rc) buf_free(&out->entries);
    return rc;
}

/* The names that a session uses, in s->work behind its head.  0 and *n; a record that is not one: STORE_DAMAGED. */
static int read_use(struct snap *s, const struct entry *session, uint64_t *generation, size_t *n, struct err *err)
{
    struct store_key key = snap_key('s', session->id, session->id + SNAP_NAME);
    s->work.len = 0;
    int rc = store_get(s->store, STORE_CACHE, &key, REC_CACHE, &s->work, err);
    if (s->work.failed) buf_free(&s->work);
    if (rc) return rc;
    const uint8_t *body = (const uint8_t *)s->work.data;
    size_t names = s->work.len < SNAP_USE_HEAD ? 0 : (s->work.len - SNAP_USE_HEAD) / SNAP_NAME;
    if (s->work.len != SNAP_USE_HEAD + names * SNAP_NAME || get_le(body + 8, 4) != names)
        return err_set(err, STORE_DAMAGED, "a list of a session's KV pages is not as long as it says");
    if (get_le(body, 8) >= INT64_MAX) /* nobody gets there by counting, and one more must be larger and believed */
        return err_set(err, STORE_DAMAGED, "a list of a session's KV pages is newer than it can be");
    *generation = get_le(body, 8);
    *n = names;
    return 0;
}

/* Every session that can be read: its generation becomes its age. */
static int each_use(struct snap *s, struct list *sessions,
                    void (*use)(void *user, const struct entry *session, const uint8_t *names, size_t n), void *user,
                    struct err *err)
{
    for (size_t i = 0; i < count_of(sessions); i++) {
        struct entry *e = entry_at(sessions, i);
        size_t n = 0;
        int rc = read_use(s, e, &e->age, &n, err);
        if (rc == STORE_DAMAGED || rc == STORE_NOT_FOUND) continue; /* age 0: the first to go */
        if (rc) return rc;
        if (use) use(user, e, (const uint8_t *)s->work.data + SNAP_USE_HEAD, n);
    }
    return 0;
}

int snap_newest(struct snap *s, uint64_t *generation, struct err *err)
{
    struct list sessions;
    int rc = list_all(s, 's', &sessions, err);
    if (rc) return rc;
    *generation = 0;
    rc = each_use(s, &sessions, NULL, NULL, err);
    for (size_t i = 0; i < count_of(&sessions); i++) *generation = MAX(*generation, entry_at(&sessions, i)->age);
    buf_free(&sessions.entries);
    return rc;
}

int snap_stat(struct snap *s, struct snap_stat *out, struct err *err)
{
    struct snap_stat st = {0};
    for (int i = 0; i < 2; i++) {
        struct list l;
        int rc = list_all(s, "ks"[i], &l, err);
        if (rc) return rc;
        *(i == 0 ? &st.pages : &st.sessions) = count_of(&l);
        st.bytes += l.cost;
        for (size_t k = 0; k < count_of(&l); k++) {
            const struct entry *e = entry_at(&l, k);
            if (memcmp(e->id, s->identity, SNAP_NAME) != 0) continue;
            ++*(i == 0 ? &st.own_pages : &st.own_sessions);
            st.own_bytes += e->cost;
        }
        buf_free(&l.entries);
    }
    *out = st;
    return 0;
}

/* ------------------------------------------------------------------ who goes */

static int by_id(const void *x, const void *y) { return memcmp(x, y, 2 * SNAP_NAME); }

/* The longest unused first, and of one session the last page: what is left is a front, which is of use. */
static int by_age(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->age != b->age) return a->age < b->age ? -1 : 1;
    return a->place != b->place ? (a->place > b->place ? -1 : 1) : 0;
}

static void sort_by_age(struct list *l)
{
    if (count_of(l) > 0) qsort(l->entries.data, count_of(l), sizeof(struct entry), by_age);
}

static void make_young(void *user, const struct entry *session, const uint8_t *name, size_t n)
{
    const struct list *pages = user;
    uint8_t id[2 * SNAP_NAME];
    if (count_of(pages) == 0) return;
    memcpy(id, session->id, SNAP_NAME);
    for (size_t i = 0; i < n; i++, name += SNAP_NAME) {
        memcpy(id + SNAP_NAME, name, SNAP_NAME);
        struct entry *e = bsearch(id, pages->entries.data, count_of(pages), sizeof *e, by_id);
        if (!e || e->age > session->age) continue;
        e->age = session->age;
        e->place = (uint32_t)i;
    }
}

struct going {
    uint64_t cost;     /* of what stays */
    uint64_t most;
    uint64_t age;      /* of the youngest page that went */
    uint64_t pages;
};

static int let_go(struct snap *s, char letter, const struct entry *e, struct going *g, struct err *err)
{
    struct store_key key = snap_key(letter, e->id, e->id + SNAP_NAME);
    g->cost -= e->cost;
    return store_remove(s->store, &key, err);
}

/* Pages until the rest is small enough; then the lists of sessions that have none left which another does not name too.
 * Both lists are sorted by age. */
static int let_oldest_go(struct snap *s, const struct list *pages, const struct list *sessions, struct going *g,
                         struct err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count_of(pages) && g->cost > g->most; i++) {
        rc = let_go(s, 'k', entry_at(pages, i), g, err);
        g->age = entry_at(pages, i)->age;
        g->pages++;
    }
    for (size_t i = 0; !rc && i < count_of(sessions); i++) {
        if (entry_at(sessions, i)->age >= g->age && g->cost <= g->most) break;
        rc = let_go(s, 's', entry_at(sessions, i), g, err);
    }
    return rc;
}

static int shrink(struct snap *s, struct list *pages, struct list *sessions, struct err *err)
{
    struct going g = {.cost = pages->cost + sessions->cost, .most = s->quota - s->quota / 8};
    int rc = each_use(s, sessions, make_young, pages, err);
    if (rc) return rc;
    sort_by_age(pages);
    sort_by_age(sessions);
    store_begin(s->store, STORE_CACHE);
    rc = snap_finish(s, let_oldest_go(s, pages, sessions, &g, err), err);
    if (!rc) s->figures.evicted += g.pages;
    return rc;
}

/* ------------------------------------------------------------------ whose they are */

struct owners {
    struct list *pages; /* by id */
    const struct list *sessions;
};

static const uint8_t *session_of(const struct entry *session) { return session->id + SNAP_NAME; }

static bool same_session(const struct entry *a, const struct entry *b)
{
    return memcmp(session_of(a), session_of(b), STORE_SESSION_ID) == 0;
}

/* One that names a page under two engines' names has two pages; one that names it twice in a list still has one. */
static void note_owner(void *user, const struct entry *session, const uint8_t *name, size_t n)
{
    const struct owners *o = user;
    uint8_t id[2 * SNAP_NAME];
    make_young(o->pages, session, name, n);
    if (count_of(o->pages) == 0) return;
    memcpy(id, session->id, SNAP_NAME);
    for (size_t i = 0; i < n; i++, name += SNAP_NAME) {
        memcpy(id + SNAP_NAME, name, SNAP_NAME);
        struct entry *e = bsearch(id, o->pages->entries.data, count_of(o->pages), sizeof *e, by_id);
        if (!e || (e->sessions > 0 && same_session(entry_at(o->sessions, e->session), session))) continue;
        e->sessions++;
        e->session = (size_t)(session - entry_at(o->sessions, 0));
    }
}

static void keep_entry(struct list *l, const struct entry *e)
{
    buf_put(&l->entries, e, sizeof *e);
    l->cost += e->cost;
}

/* The pages that the session alone names, and its lists, into two lists of their own. */
static int own_of(const struct list *pages, const struct list *sessions, const uint8_t *session, struct list *own_pages,
                  struct list *own_lists, struct err *err)
{
    for (size_t i = 0; i < count_of(pages); i++) {
        const struct entry *e = entry_at(pages, i);
        if (e->sessions == 1 && memcmp(session_of(entry_at(sessions, e->session)), session, STORE_SESSION_ID) == 0)
            keep_entry(own_pages, e);
    }
    for (size_t i = 0; i < count_of(sessions); i++)
        if (memcmp(session_of(entry_at(sessions, i)), session, STORE_SESSION_ID) == 0)
            keep_entry(own_lists, entry_at(sessions, i));
    return own_pages->entries.failed || own_lists->entries.failed
               ? err_set(err, STORE_NO_MEMORY, "no memory for a list of the KV pages on disk") : 0;
}

static int keep_own(struct snap *s, const uint8_t *session, struct list *pages, struct list *sessions, struct err *err)
{
    struct owners o = {pages, sessions};
    struct list own_pages = {0}, own_lists = {0};
    int rc = each_use(s, sessions, note_owner, &o, err);
    if (!rc) rc = own_of(pages, sessions, session, &own_pages, &own_lists, err);
    struct going g = {.cost = own_pages.cost + own_lists.cost, .most = s->own - s->own / 8};
    if (!rc && g.cost > s->own) {
        sort_by_age(&own_pages);
        sort_by_age(&own_lists);
        store_begin(s->store, STORE_CACHE);
        rc = snap_finish(s, let_oldest_go(s, &own_pages, &own_lists, &g, err), err);
        if (!rc) s->figures.evicted += g.pages;
    }
    buf_free(&own_pages.entries);
    buf_free(&own_lists.entries);
    return rc;
}

static int list_both(struct snap *s, struct list *pages, struct list *sessions, struct err *err)
{
    int rc = list_all(s, 'k', pages, err);
    if (rc) return rc;
    rc = list_all(s, 's', sessions, err);
    if (rc) buf_free(&pages->entries);
    return rc;
}

static void free_both(struct list *pages, struct list *sessions)
{
    buf_free(&pages->entries);
    buf_free(&sessions->entries);
}

int snap_keep_quota(struct snap *s, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    struct list pages, sessions;
    int rc = list_both(s, &pages, &sessions, err);
    if (rc) return rc;
    if (s->own < s->quota && pages.cost + sessions.cost > s->own) { /* else the whole's quota does it */
        rc = keep_own(s, session, &pages, &sessions, err);
        free_both(&pages, &sessions);
        if (!rc) rc = list_both(s, &pages, &sessions, err);
        if (rc) return rc;
    }
    if (pages.cost + sessions.cost > s->quota) rc = shrink(s, &pages, &sessions, err);
    free_both(&pages, &sessions);
    return rc;
}

/* ------------------------------------------------------------------ by session */

struct named {
    struct owners o;
    struct snap_session *of; /* an entry for each list of a session */
};

static void count_named(void *user, const struct entry *session, const uint8_t *name, size_t n)
{
    struct named *c = user;
    const size_t at = (size_t)(session - entry_at(c->o.sessions, 0));
    uint8_t id[2 * SNAP_NAME];
    memcpy(id, session->id, SNAP_NAME);
    note_owner(&c->o, session, name, n);
    for (size_t i = 0; i < n && count_of(c->o.pages) > 0; i++, name += SNAP_NAME) {
        memcpy(id + SNAP_NAME, name, SNAP_NAME);
        const struct entry *e = bsearch(id, c->o.pages->entries.data, count_of(c->o.pages), sizeof *e, by_id);
        if (e) c->of[at].bytes += e->cost;
    }
}

static int by_session(const void *a, const void *b) { return memcmp(a, b, STORE_SESSION_ID); }

static int stat_lists(struct snap *s, struct list *pages, struct list *sessions, struct snap_session *of, size_t *n,
                      struct err *err)
{
    struct named c = {.o = {pages, sessions}, .of = of};
    const size_t lists = count_of(sessions);
    for (size_t i = 0; i < lists; i++) {
        memcpy(of[i].session, session_of(entry_at(sessions, i)), STORE_SESSION_ID);
        of[i].bytes = of[i].own = entry_at(sessions, i)->cost;
    }
    int rc = each_use(s, sessions, count_named, &c, err);
    if (rc) return rc;
    for (size_t i = 0; i < count_of(pages); i++) {
        const struct entry *e = entry_at(pages, i);
        if (e->sessions == 1) of[e->session].own += e->cost;
    }
    qsort(of, lists, sizeof *of, by_session);
    *n = 0;
    for (size_t i = 0; i < lists; i++) {
        if (*n > 0 && by_session(&of[*n - 1], &of[i]) == 0) {
            of[*n - 1].bytes += of[i].bytes;
            of[*n - 1].own += of[i].own;
        } else {
            of[(*n)++] = of[i];
        }
    }
    return 0;
}

int snap_stat_sessions(struct store *store, struct snap_session **list, size_t *n, uint64_t *all, struct err *err)
{
    struct snap s = {.store = store};
    struct list pages, sessions;
    struct snap_session *of = NULL;
    *list = NULL;
    *n = 0;
    int rc = list_both(&s, &pages, &sessions, err);
    if (rc) return rc;
    *all = pages.cost + sessions.cost;
    if (count_of(&sessions) > 0) {
        of = calloc(count_of(&sessions), sizeof *of);
        rc = of ? stat_lists(&s, &pages, &sessions, of, n, err)
                : err_set(err, STORE_NO_MEMORY, "no memory for a list of the KV pages on disk");
    }
    free_both(&pages, &sessions);
    snap_close(&s);
    if (rc) free(of);
    else *list = of;
    return rc;
}
