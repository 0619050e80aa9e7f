/* store_read.c - records by key and in order; what is damaged is named and skipped. */
#include "memory/store_impl.h"

static int damaged(const void *key, size_t key_len, int why, struct err *err)
{
    char name[160];
    store_key_text(key, key_len, name);
    return err_set(err, STORE_DAMAGED, "%s is damaged: %s", name, rec_why(why));
}

int store_get(struct store *s, enum store_part part, const struct store_key *key, enum rec_kind kind, struct buf *out,
              struct err *err)
{
    MDB_val k = {key->n, (void *)key->byte}, v;
    MDB_txn *txn;
    struct rec r;
    int rc = store_begin_read(s, part, &txn, err);
    if (rc) return rc;
    int got = mdb_get(txn, s->part[part].dbi, &k, &v);
    if (got == MDB_NOTFOUND) {
        char name[160];
        store_key_text(key->byte, key->n, name);
        rc = err_set(err, STORE_NOT_FOUND, "%s is not in the store", name);
    } else if (got) {
        rc = store_lmdb(err, got, "read", s->dir);
    } else if ((got = rec_decode(v.mv_data, v.mv_size, kind, key->byte, key->n, &r)) != 0) {
        rc = damaged(key->byte, key->n, got, err);
    } else {
        buf_put(out, r.body, r.len);
        if (out->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a record of %zu bytes", r.len);
    }
    mdb_txn_abort(txn);
    return rc;
}

/* ------------------------------------------------------------------ in order */

struct range {
    struct store_key first; /* where to begin; all keys with this many of its first bytes belong: */
    size_t same, key_len;   /* and are this long */
    bool (*is_kind)(enum rec_kind kind);
};

static bool is_message(enum rec_kind kind) { return kind == REC_MESSAGE || kind == REC_EVENT; }
static bool is_session(enum rec_kind kind) { return kind == REC_SESSION; }

/* One record given, or its damage told.  false: the visitor has enough. */
static bool show(const struct range *range, MDB_val k, MDB_val v, const struct store_visit *visit)
{
    const uint8_t *key = k.mv_data;
    struct rec r;
    struct err err;
    int why = rec_decode(v.mv_data, v.mv_size, REC_ANY, key, k.mv_size, &r);
    if (!why && (k.mv_size != range->key_len || !range->is_kind(r.kind))) why = REC_WRONG_KIND;
    if (why) {
        damaged(key, k.mv_size, why, &err);
        return !visit->damaged || visit->damaged(visit->user, err.text);
    }
    size_t front = 1 + STORE_SESSION_ID;
    return visit->record(visit->user, key + 1, k.mv_size == front + 8 ? get_be(key + front, 8) : 0, &r);
}

/* Records from a key on (n = 0: from the first), in one transaction, until visit() has enough. */
static int walk(struct store *s, enum store_part part, const uint8_t *first, size_t n,
                bool (*visit)(void *self, MDB_val k, MDB_val v), void *self, struct err *err)
{
    MDB_val k = {n, (void *)(uintptr_t)first}, v;
    MDB_cursor *cursor;
    MDB_txn *txn;
    int rc = store_begin_read(s, part, &txn, err);
    if (rc) return rc;
    int got = mdb_cursor_open(txn, s->part[part].dbi, &cursor);
    if (!got) {
        got = mdb_cursor_get(cursor, &k, &v, n > 0 ? MDB_SET_RANGE : MDB_FIRST);
        while (!got && visit(self, k, v)) got = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return got && got != MDB_NOTFOUND ? store_lmdb(err, got, "read", s->dir) : 0;
}

static bool begins_with(MDB_val k, const uint8_t *front, size_t n)
{
    return k.mv_size >= n && memcmp(k.mv_data, front, n) == 0;
}

struct visit_range {
    const struct range *range;
    const struct store_visit *visit;
};

static bool visit_range(void *self, MDB_val k, MDB_val v)
{
    const struct visit_range *r = self;
    return begins_with(k, r->range->first.byte, r->range->same) && show(r->range, k, v, r->visit);
}

static int each(struct store *s, const struct range *range, const struct store_visit *visit, struct err *err)
{
    struct visit_range r = {range, visit};
    return walk(s, STORE_JOURNAL, range->first.byte, range->first.n, visit_range, &r, err);
}

int store_each_message(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t from,
                       const struct store_visit *v, struct err *err)
{
    size_t front = 1 + STORE_SESSION_ID;
    const struct range range = {store_key_message(session, from), front, front + 8, is_message};
    return each(s, &range, v, err);
}

int store_each_session(struct store *s, const struct store_visit *v, struct err *err)
{
    const struct range range = {{{'S'}, 1}, 1, 1 + STORE_SESSION_ID, is_session};
    return each(s, &range, v, err);
}

/* ------------------------------------------------------------------ one after another */

/* Whether a key lies where the walk has not been.  Damage may give keys out of order: they never lead back. */
static bool is_ahead(const struct store_place *p, const MDB_val *k)
{
    int order = memcmp(k->mv_data, p->key.byte, MIN(k->mv_size, p->key.n));
    if (order == 0) order = (k->mv_size > p->key.n) - (k->mv_size < p->key.n);
    return order > 0 || (order == 0 && !p->behind);
}

/* The cursor to the next key.  One longer than a store's is passed over: it is not ours. */
static int advance(MDB_cursor *cursor, const struct store_place *p, MDB_val *k, MDB_val *v)
{
    *k = (MDB_val){p->key.n, (void *)p->key.byte};
    int got = mdb_cursor_get(cursor, k, v, MDB_SET_RANGE);
    while (!got && (!is_ahead(p, k) || k->mv_size > STORE_KEY_MAX)) got = mdb_cursor_get(cursor, k, v, MDB_NEXT);
    if (!got && (k->mv_size < p->same || memcmp(k->mv_data, p->key.byte, p->same) != 0)) got = MDB_NOTFOUND;
    return got;
}

static int take(struct store_place *p, MDB_val k, MDB_val v, enum rec_kind kind, void *out, size_t most, size_t *n,
                struct err *err)
{
    struct rec r;
    memcpy(p->key.byte, k.mv_data, k.mv_size);
    p->key.n = k.mv_size;
    p->behind = true;
    int why = rec_decode(v.mv_data, v.mv_size, kind, p->key.byte, p->key.n, &r);
    if (!why && r.len > most) why = REC_LENGTH;
    if (why) return damaged(p->key.byte, p->key.n, why, err);
    memcpy(out, r.body, r.len);
    *n = r.len;
    return 0;
}

int store_next(struct store *s, struct store_place *p, enum rec_kind kind, void *out, size_t most, size_t *n,
               struct err *err)
{
    MDB_cursor *cursor;
    MDB_txn *txn;
    MDB_val k, v;
    int rc = store_begin_read(s, p->part, &txn, err);
    if (rc) return rc;
    int got = mdb_cursor_open(txn, s->part[p->part].dbi, &cursor);
    if (!got) {
        got = advance(cursor, p, &k, &v);
        if (!got) rc = take(p, k, v, kind, out, most, n, err);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    if (got == MDB_NOTFOUND) return err_set(err, STORE_NOT_FOUND, "there is no such record behind this one");
    return got ? store_lmdb(err, got, "read", s->dir) : rc;
}

/* ------------------------------------------------------------------ keys alone */

struct visit_key {
    const struct store_key *front;
    bool (*key)(void *user, const uint8_t *bytes, size_t n, size_t value);
    void *user;
};

static bool visit_key(void *self, MDB_val k, MDB_val v)
{
    const struct visit_key *w = self;
    return begins_with(k, w->front->byte, w->front->n) && w->key(w->user, k.mv_data, k.mv_size, v.mv_size);
}

int store_each_key(struct store *s, enum store_part part, const struct store_key *front,
                   bool (*key)(void *user, const uint8_t *bytes, size_t n, size_t value), void *user, struct err *err)
{
    struct visit_key w = {front, key, user};
    return walk(s, part, front->byte, front->n, visit_key, &w, err);
}

/* ------------------------------------------------------------------ all there is */

struct visit_entry {
    bool (*record)(void *user, const struct store_entry *e);
    void *user;
};

static bool visit_entry(void *self, MDB_val k, MDB_val v)
{
    const struct visit_entry *w = self;
    struct store_entry e = {.key = k.mv_data, .key_len = k.mv_size};
    int why = rec_decode(v.mv_data, v.mv_size, REC_ANY, e.key, e.key_len, &e.rec);
    if (why) e.why = rec_why(why);
    return w->record(w->user, &e);
}

int store_each_record(struct store *s, enum store_part part, const struct store_from *from,
                      bool (*record)(void *user, const struct store_entry *e), void *user, struct err *err)
{
    struct visit_entry w = {record, user};
    return walk(s, part, from->byte, from->n, visit_entry, &w, err);
}
