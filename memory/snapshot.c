/* snapshot.c - pages into records and back. */
#include "memory/snapshot_impl.h"

struct store_key snap_key(char letter, const uint8_t identity[SNAP_NAME], const uint8_t name[SNAP_NAME])
{
    uint8_t bytes[SNAP_KEY - 1] = {(uint8_t)letter};
    memcpy(bytes + 1, identity, SNAP_NAME);
    memcpy(bytes + 1 + SNAP_NAME, name, SNAP_NAME);
    return store_key_cache(bytes, sizeof bytes);
}

int snap_finish(struct snap *s, int rc, struct err *err)
{
    if (!rc) rc = store_commit(s->store, err);
    if (rc) store_abort(s->store);
    return rc;
}

static size_t body_bytes(const struct snap *s) { return SNAP_PAGE_HEAD + 4 * (size_t)s->tokens + s->bytes; }

int snap_open(struct snap *out, struct store *store, const uint8_t identity[SNAP_NAME], int tokens, size_t bytes,
              uint64_t quota, uint64_t own, struct err *err)
{
    struct snap s = {.store = store, .tokens = tokens, .bytes = bytes, .quota = quota, .own = own};
    assert(tokens > 0 && tokens <= SNAP_TOKENS_MAX && bytes > 0);
    memcpy(s.identity, identity, SNAP_NAME);
    if (bytes > REC_BODY_MAX || body_bytes(&s) > REC_BODY_MAX)
        return err_set(err, STORE_TOO_BIG, "KV pages of %zu bytes do not fit a record of the store: they are not kept",
                       bytes);
    int rc = snap_newest(&s, &s.generation, err);
    if (!rc) *out = s;
    return rc;
}

void snap_close(struct snap *s) { buf_free(&s->work); }

/* ------------------------------------------------------------------ one record */

static void put_ids(uint8_t *at, const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++) put_le(at + 4 * i, (uint32_t)ids[i], 4);
}

/* A page's body as it has to be, up to the bytes of the page itself, into SNAP_HEAD_MAX bytes: how long that is. */
static size_t make_head(const struct snap *s, const struct snap_page *p, uint8_t *head)
{
    memcpy(head, p->before, SNAP_NAME);
    put_le(head + SNAP_NAME, (uint32_t)s->tokens, 4);
    put_le(head + SNAP_NAME + 4, s->bytes, 4);
    put_ids(head + SNAP_PAGE_HEAD, p->ids, s->tokens);
    return SNAP_PAGE_HEAD + 4 * (size_t)s->tokens;
}

static bool found_key(void *user, const uint8_t *key, size_t n, size_t value)
{
    (void)key;
    (void)value;
    if (n == SNAP_KEY) *(bool *)user = true;
    return false;
}

int snap_has(struct snap *s, const uint8_t name[SNAP_NAME], bool *has, struct err *err)
{
    struct store_key key = snap_key('k', s->identity, name);
    *has = false;
    return store_each_key(s->store, STORE_CACHE, &key, found_key, has, err);
}

static int put_page(struct snap *s, const struct snap_page *p, struct err *err)
{
    uint8_t head[SNAP_HEAD_MAX];
    struct store_key key = snap_key('k', s->identity, p->name);
    s->work.len = 0;
    buf_put(&s->work, head, make_head(s, p, head));
    buf_put(&s->work, p->bytes, s->bytes);
    if (s->work.failed) {
        buf_free(&s->work);
        return err_set(err, STORE_NO_MEMORY, "no memory for a KV page of %zu bytes", s->bytes);
    }
    return store_put(s->store, &key, REC_CACHE, s->work.data, s->work.len, err);
}

int snap_put(struct snap *s, const struct snap_page *page, int n, struct err *err)
{
    uint64_t all;
    int rc = 0, new = 0;
    if (n < 0 || size_mul((uint64_t)n, body_bytes(s), &all) || all > SNAP_BATCH_MAX)
        return err_set(err, STORE_TOO_BIG, "%d KV pages of %zu bytes at once; %zu MiB are the most", n, s->bytes,
                       SNAP_BATCH_MAX >> 20);
    store_begin(s->store, STORE_CACHE);
    for (int i = 0; !rc && i < n; i++) {
        bool has;
        rc = snap_has(s, page[i].name, &has, err);
        if (rc || has) continue;
        rc = put_page(s, &page[i], err);
        new++;
    }
    rc = snap_finish(s, rc, err);
    if (rc) return rc;
    s->figures.put += (uint64_t)new;
    s->figures.there += (uint64_t)(n - new);
    return 0;
}

/* What cannot be believed has no business in a cache: the next snapshot writes it anew. */
static int refuse(struct snap *s, const struct store_key *key, int rc)
{
    struct err ignored;
    s->figures.refused++;
    store_begin(s->store, STORE_CACHE);
    snap_finish(s, store_remove(s->store, key, &ignored), &ignored); /* a read-only store keeps it, and refuses again */
    return rc;
}

int snap_get(struct snap *s, const struct snap_page *page, void *bytes, struct err *err)
{
    uint8_t head[SNAP_HEAD_MAX];
    char name[160];
    struct store_key key = snap_key('k', s->identity, page->name);
    size_t n = make_head(s, page, head);
    s->work.len = 0;
    int rc = store_get(s->store, STORE_CACHE, &key, REC_CACHE, &s->work, err);
    if (s->work.failed) buf_free(&s->work);
    if (rc == STORE_DAMAGED) return refuse(s, &key, rc);
    if (rc) return rc;
    if (s->work.len != body_bytes(s) || memcmp(s->work.data, head, n) != 0) {
        store_key_text(key.byte, key.n, name);
        return refuse(s, &key, err_set(err, STORE_FOREIGN, "%s is a KV page of another text or engine", name));
    }
    memcpy(bytes, s->work.data + n, s->bytes);
    s->figures.got++;
    return 0;
}

/* ------------------------------------------------------------------ what a session uses */

int snap_use(struct snap *s, const uint8_t session[STORE_SESSION_ID], const uint8_t (*name)[SNAP_NAME], int n,
             struct err *err)
{
    uint8_t head[SNAP_USE_HEAD];
    struct store_key key = snap_key('s', s->identity, session);
    if (n < 0 || n > SNAP_PAGES_MAX)
        return err_set(err, STORE_TOO_BIG, "a session of %d KV pages; %d are the most", n, SNAP_PAGES_MAX);
    put_le(head, s->generation + 1, 8);
    put_le(head + 8, (uint32_t)n, 4);
    s->work.len = 0;
    buf_put(&s->work, head, sizeof head);
    buf_put(&s->work, name, (size_t)n * SNAP_NAME);
    if (s->work.failed) {
        buf_free(&s->work);
        return err_set(err, STORE_NO_MEMORY, "no memory for the names of %d KV pages", n);
    }
    store_begin(s->store, STORE_CACHE);
    int rc = store_put(s->store, &key, REC_CACHE, s->work.data, s->work.len, err);
    rc = snap_finish(s, rc, err);
    if (rc) return rc;
    s->generation++;
    return snap_keep_quota(s, session, err);
}
