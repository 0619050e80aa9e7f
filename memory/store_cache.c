/* store_cache.c - what of the cache stays when sessions were deleted: what is of those that are still there. */
#include "memory/snapshot_impl.h"
#include "memory/store_impl.h"
#include <errno.h>

enum {
    INDEX_FRONT = 3 + STORE_SESSION_ID, /* 'K' 'R', a letter, the session: recall.h */
    PAGE = 2 * SNAP_NAME                /* identity, name: snapshot.h */
};

struct staying {
    MDB_txn *journal;
    MDB_dbi dbi;
    struct buf pages; /* PAGE bytes of each that a session which is there names; sorted */
};

static bool is_there(const struct staying *st, const uint8_t *session)
{
    struct store_key key = store_key_session(session);
    MDB_val k = {key.n, key.byte}, v;
    return mdb_get(st->journal, st->dbi, &k, &v) == 0;
}

static bool is_use(const MDB_val *k)
{
    const uint8_t *key = k->mv_data;
    return k->mv_size == SNAP_KEY && key[0] == 'K' && key[1] == 's';
}

static void add_pages(struct staying *st, const MDB_val *k, const MDB_val *v)
{
    const uint8_t *key = k->mv_data;
    struct rec r;
    if (!is_there(st, key + 2 + SNAP_NAME)) return;
    if (rec_decode(v->mv_data, v->mv_size, REC_CACHE, key, k->mv_size, &r)) return;
    for (size_t at = SNAP_USE_HEAD; at + SNAP_NAME <= r.len; at += SNAP_NAME) {
        buf_put(&st->pages, key + 2, SNAP_NAME);
        buf_put(&st->pages, (const uint8_t *)r.body + at, SNAP_NAME);
    }
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, PAGE); }

/* The lists of all sessions that are there, of whatever engine. */
static int list_pages(struct staying *st, struct store_env *cache)
{
    static const char front[] = "Ks";
    MDB_val k = {2, (void *)(uintptr_t)front}, v;
    MDB_cursor *cursor;
    MDB_txn *txn;
    int rc = mdb_txn_begin(cache->env, NULL, MDB_RDONLY, &txn);
    if (rc) return rc;
    rc = mdb_cursor_open(txn, cache->dbi, &cursor);
    if (!rc) {
        for (MDB_cursor_op op = MDB_SET_RANGE; (rc = mdb_cursor_get(cursor, &k, &v, op)) == 0; op = MDB_NEXT) {
            if (k.mv_size < 2 || memcmp(k.mv_data, front, 2) != 0) break;
            if (is_use(&k)) add_pages(st, &k, &v);
        }
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    if (st->pages.failed) return ENOMEM;
    if (st->pages.len > 0) qsort(st->pages.data, st->pages.len / PAGE, PAGE, by_bytes);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* What nobody is known to need goes: it can be made again. */
static bool stays(void *user, const MDB_val *k)
{
    const struct staying *st = user;
    const uint8_t *key = k->mv_data;
    if (is_use(k)) return is_there(st, key + 2 + SNAP_NAME);
    if (k->mv_size >= INDEX_FRONT && key[0] == 'K' && key[1] == 'R') return is_there(st, key + 3);
    return k->mv_size == SNAP_KEY && key[0] == 'K' && key[1] == 'k' && st->pages.len > 0 &&
           bsearch(key + 2, st->pages.data, st->pages.len / PAGE, PAGE, by_bytes);
}

int store_cache_sweep(struct store *s, struct err *err)
{
    struct staying st = {.dbi = s->part[STORE_JOURNAL].dbi};
    const struct store_copy copy = {&s->part[STORE_CACHE], stays, &st};
    int rc = store_env_ready(s, STORE_CACHE, err);
    if (!rc) rc = store_begin_read(s, STORE_JOURNAL, &st.journal, err);
    if (rc) return rc;
    rc = store_lmdb(err, list_pages(&st, copy.from), "read", s->dir);
    if (!rc) rc = store_env_make(s->dir, STORE_CACHE, &copy, err);
    mdb_txn_abort(st.journal);
    buf_free(&st.pages);
    return rc;
}
