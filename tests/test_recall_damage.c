/* test_recall_damage.c - damaged, missing and made-up records of the index: named and skipped, never believed. */
#include "memory/recall_impl.h"
#include "tests/recall_rig.h"

/* ---------------------------------------------------------------- a store and its bytes */

struct raw { uint8_t key[STORE_KEY_MAX]; size_t key_len; uint8_t *value; size_t len; };

static struct world { /* a store that is closed, and how it was */
    const char *dir;
    struct plain *p;
    struct buf file;
    struct raw *raw;
    size_t n;
} w;

static const char asked[] = "w1x1 w2x2 w3x0 10.1 w30x0 w44x2 w5x2 everywhere";

/* The cache's environment, to be written to past the store. */
static MDB_env *env_open(MDB_txn **txn, MDB_dbi *dbi)
{
    MDB_env *env;
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_open(env, under(w.dir, "cache"), 0, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, txn), 0);
    CHECK_EQ(mdb_dbi_open(*txn, NULL, 0, dbi), 0);
    return env;
}

static void load_raw(void)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val k, v;
    MDB_env *env = env_open(&txn, &dbi);
    CHECK_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
        w.raw = realloc(w.raw, (w.n + 1) * sizeof *w.raw);
        struct raw *one = &w.raw[w.n++];
        *one = (struct raw){.key_len = k.mv_size, .value = malloc(v.mv_size), .len = v.mv_size};
        CHECK(one->value && k.mv_size <= sizeof one->key);
        memcpy(one->key, k.mv_data, k.mv_size);
        memcpy(one->value, v.mv_data, v.mv_size);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

/* Segments of several blocks, some with removed chunks; two sessions. */
static void make_world(void)
{
    uint64_t seed = 4;
    if (w.dir) return;
    w.dir = strdup(fresh_dir());
    struct store *s = open_at(w.dir);
    struct recall *r = recall_at(s);
    w.p = some_corpus(&seed, 1000, 30);
    for (size_t i = 0; i < w.p->n; i++) {
        struct plain_doc *d = &w.p->doc[i];
        d->n += (size_t)snprintf(d->text + d->n, sizeof d->text - d->n, " everywhere");
    }
    feed(s, r, w.p, &seed, 120);
    for (size_t i = 100; i < w.p->n; i += 200) {
        struct plain_doc *d = &w.p->doc[i];
        remove_text(s, r, d->doc.session, d->doc.kind, d->doc.id);
        for (size_t j = i - 2; j < i + 3; j++)
            if (w.p->doc[j].doc.id == d->doc.id && w.p->doc[j].doc.kind == d->doc.kind &&
                memcmp(w.p->doc[j].doc.session, d->doc.session, STORE_SESSION_ID) == 0)
                w.p->doc[j].gone = true;
    }
    CHECK(stat_of(r, ada).unclean > 0);
    recall_close(r);
    store_close(s);
    FILE *f = fopen(under(w.dir, "cache/data.mdb"), "rb");
    char piece[4096];
    CHECK(f != NULL);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) buf_put(&w.file, piece, n);
    fclose(f);
    load_raw();
    CHECK(w.n > 40);
}

static void restore(void)
{
    make_world();
    FILE *f = fopen(under(w.dir, "cache/data.mdb"), "wb");
    CHECK(f && fwrite(w.file.data, 1, w.file.len, f) == w.file.len);
    CHECK_EQ(fclose(f), 0);
}

/* ---------------------------------------------------------------- ways to be damaged */

enum damage { FLIP, CUT, SWAP, LOSE, MAKE_UP, DAMAGES };

static void put_raw(MDB_txn *txn, MDB_dbi dbi, const struct raw *at, const void *bytes, size_t n)
{
    MDB_val k = {at->key_len, (void *)at->key}, v = {n, (void *)bytes};
    CHECK_EQ(bytes ? mdb_put(txn, dbi, &k, &v, 0) : mdb_del(txn, dbi, &k, NULL), 0);
}

/* Another body of the record, with a checksum that fits. */
static void make_up(MDB_txn *txn, MDB_dbi dbi, const struct raw *one, uint64_t *seed)
{
    struct buf out = {0};
    uint8_t body[6000];
    size_t n = one->len - REC_HEADER;
    memcpy(body, one->value + REC_HEADER, n);
    for (uint64_t i = 1 + rig_draw(seed, 4); n > 0 && i > 0; i--)
        body[rig_draw(seed, MIN(n, (size_t)(i % 2 ? n : 60)))] = (uint8_t)rig_draw(seed, 256);
    if (rig_draw(seed, 4) == 0) n = rig_draw(seed, n + 1);
    CHECK_EQ(rec_encode(REC_CACHE, one->key, one->key_len, body, n, &out), 0);
    put_raw(txn, dbi, one, out.data, out.len);
    buf_free(&out);
}

static void hurt(enum damage how, const struct raw *one, uint64_t *seed)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_env *env = env_open(&txn, &dbi);
    uint8_t bytes[6000];
    CHECK(one->len > REC_HEADER && one->len < sizeof bytes);
    memcpy(bytes, one->value, one->len);
    bytes[rig_draw(seed, one->len)] ^= (uint8_t)(1 << rig_draw(seed, 8));
    const struct raw *other = &w.raw[rig_draw(seed, w.n)];
    switch (how) {
    case FLIP: put_raw(txn, dbi, one, bytes, one->len); break;
    case CUT: put_raw(txn, dbi, one, one->value, rig_draw(seed, one->len)); break;
    case SWAP: put_raw(txn, dbi, one, other->value, other->len); break;
    case LOSE: put_raw(txn, dbi, one, NULL, 0); break;
    default: make_up(txn, dbi, one, seed); break;
    }
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* ---------------------------------------------------------------- what must hold */

/* Every hit is a chunk that is there, and has what the hit says of it. */
static void check_true(const struct recall_result *res)
{
    for (int i = 0; i < res->n_hits; i++) {
        const struct recall_hit *h = &res->hit[i];
        const struct plain_doc *d = NULL;
        for (size_t j = 0; j < w.p->n && !d; j++)
            if (same_doc(&w.p->doc[j].doc, &h->doc)) d = &w.p->doc[j];
        CHECK(d && !d->gone);
        struct plain_terms v = plain_fold(d->text, d->n);
        for (int t = 0; t < res->n_terms; t++) {
            CHECK(h->tf[t] == 0 || h->tf[t] == plain_tf(&v, res->term[t].bytes, res->term[t].n));
            CHECK(h->share[t] >= 0 && (h->share[t] > 0) == (h->tf[t] > 0));
        }
        plain_free(&v);
    }
}

static void check_named(const struct recall_result *res)
{
    CHECK_EQ(res->damage.code, STORE_DAMAGED);
    CHECK(res->damage.text[0] && !strpbrk(res->damage.text, "\n\r\033"));
    CHECK(res->has_session);
}

/* Forgotten and added anew: as if nothing had been. */
static void rebuild(struct store *s, struct recall *r, const struct recall_result *before)
{
    static const uint8_t *const sessions[] = {ada, bob};
    uint64_t seed = 11;
    for (size_t i = 0; i < COUNT_OF(sessions); i++) {
        store_begin(s, STORE_CACHE);
        OK(recall_forget(r, sessions[i], &err));
        OK(store_commit(s, &err));
    }
    feed(s, r, w.p, &seed, 50);
    CHECK_MEM(before, search(r, asked, NULL), sizeof *before);
}

/* Each record of the index once, each way in turn. */
TEST(no_damaged_record_yields_a_wrong_hit)
{
    static struct recall_result before;
    uint64_t seed = 31;
    size_t seen = 0, told = 0;
    restore();
    struct store *s = open_at(w.dir);
    struct recall *r = recall_at(s);
    before = *search(r, asked, NULL);
    CHECK(before.n_hits == RECALL_K && before.damaged == 0);
    check_true(&before);
    recall_close(r);
    store_close(s);
    for (size_t i = 0; i < 2 * w.n; i++) {
        enum damage how = (enum damage)((i + i / w.n) % MAKE_UP);
        restore();
        hurt(how, &w.raw[i % w.n], &seed);
        s = open_at(w.dir);
        r = recall_at(s);
        const struct recall_result *res = search(r, asked, NULL);
        bool same = memcmp(res, &before, sizeof before) == 0;
        check_true(res);
        seen += !same;
        told += res->damaged > 0;
        if (res->damaged) check_named(res);
        else CHECK(same || how == LOSE); /* of a block in which a search begins nobody knows */
        if (i % 16 == 5) rebuild(s, r, &before);
        recall_close(r);
        store_close(s);
    }
    CHECK(seen > w.n / 4 && told > w.n / 4);
}

/* A valid record may say anything: nothing is read or written where it should not be, and every walk ends. */
TEST(made_up_records_are_survived)
{
    uint64_t seed = 13;
    for (int i = 0; i < 150; i++) {
        restore();
        for (uint64_t k = 1 + rig_draw(&seed, 3); k > 0; k--) hurt(MAKE_UP, &w.raw[rig_draw(&seed, w.n)], &seed);
        for (size_t k = 0; i % 3 == 0 && k < w.n; k++)
            if (w.raw[k].key[2] == 's') hurt(MAKE_UP, &w.raw[k], &seed);
        struct store *s = open_at(w.dir);
        struct recall *r = recall_at(s);
        struct recall_stat st;
        const struct recall_result *res = search(r, asked, NULL);
        CHECK(res->n_hits >= 0 && res->n_hits <= RECALL_K);
        for (int k = 0; k < res->n_hits; k++) CHECK(isfinite(res->hit[k].score));
        for (int k = 0; k < 8; k++) {
            store_begin(s, STORE_CACHE);
            int rc = k % 2 ? recall_merge(r, ada, &err)
                           : recall_remove(r, ada, RECALL_MESSAGE, rig_draw(&seed, 300), &err);
            CHECK(rc == 0 || rc == 1 || rc == STORE_DAMAGED || rc == STORE_TOO_BIG);
            if (rc < 0) store_abort(s);
            else OK(store_commit(s, &err));
        }
        int rc = recall_stat(r, ada, &st, &err);
        CHECK(rc == 0 || rc == STORE_DAMAGED);
        recall_close(r);
        store_close(s);
    }
}

/* Who quotes reads as many bytes as the chunk is said to have. */
TEST(a_chunk_that_is_longer_than_chunks_are_is_damage)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    struct recall_doc doc = {.kind = RECALL_MESSAGE, .id = 1, .len = RECALL_CHUNK, .when = 1};
    memcpy(doc.session, ada, sizeof doc.session);
    for (int more = 0; more < 2; more++) {
        doc.len += (uint32_t)more;
        OK(recall_add(r, &doc, "zebra", 5, &err));
        flush(s, r, ada, 2);
        const struct recall_result *res = search(r, "zebra", ada);
        CHECK_EQ(res->damaged > 0, more);
    }
    recall_close(r);
    store_close(s);
}

static const struct raw *first_of(char letter, const uint8_t *session)
{
    for (size_t i = 0; i < w.n; i++)
        if (w.raw[i].key[2] == letter && memcmp(w.raw[i].key + 3, session, STORE_SESSION_ID) == 0) return &w.raw[i];
    check_fail(__FILE__, __LINE__, "no record %c", letter);
}

TEST(changes_refuse_to_build_on_damage)
{
    uint64_t seed = 21;
    restore();
    hurt(FLIP, first_of('s', ada), &seed);
    struct store *s = open_at(w.dir);
    struct recall *r = recall_at(s);
    struct recall_stat st;
    CHECK_EQ(recall_stat(r, ada, &st, &err), STORE_DAMAGED);
    add(s, r, ada, 1, "new");
    store_begin(s, STORE_CACHE);
    CHECK_EQ(recall_flush(r, ada, 1, &err), STORE_DAMAGED);
    check_err(STORE_DAMAGED, "is damaged");
    store_abort(s);
    const struct recall_result *res = search(r, asked, ada);
    CHECK(res->n_hits == 0 && res->damaged == 1);
    CHECK_MEM(res->session, ada, STORE_SESSION_ID);
    CHECK_EQ(search(r, asked, bob)->damaged, 0);
    recall_close(r);
    store_close(s);

    restore();
    hurt(CUT, first_of('b', ada), &seed); /* of the first segment, which has removed chunks and is to be merged */
    s = open_at(w.dir);
    r = recall_at(s);
    store_begin(s, STORE_CACHE);
    CHECK_EQ(recall_merge(r, ada, &err), STORE_DAMAGED);
    store_abort(s);
    CHECK(stat_of(r, ada).unclean > 0);
    recall_close(r);
    store_close(s);

    restore();
    hurt(LOSE, first_of('b', ada), &seed);
    s = open_at(w.dir);
    r = recall_at(s);
    store_begin(s, STORE_CACHE);
    CHECK_EQ(recall_merge(r, ada, &err), STORE_DAMAGED);
    check_err(STORE_DAMAGED, "missing");
    store_abort(s);
    recall_close(r);
    store_close(s);
}

TEST(a_session_has_only_so_many_segments)
{
    static struct index ix;
    static uint8_t bytes[INDEX_BYTES];
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    memcpy(ix.session, ada, STORE_SESSION_ID);
    ix.n = ix.next_segment = RECALL_SEGMENTS;
    ix.next_doc = ix.docs = RECALL_SEGMENTS;
    for (uint32_t i = 0; i < ix.n; i++)
        ix.segment[i] = (struct segment){.number = i, .blocks = 300, .bytes = 1 << 20, .first = i, .last = i};
    store_begin(s, STORE_CACHE);
    OK(recall_index_put(s, &ix, bytes, &err));
    OK(store_commit(s, &err));
    CHECK_EQ(stat_of(r, ada).segments, RECALL_SEGMENTS);
    add(s, r, ada, 1, "one more");
    store_begin(s, STORE_CACHE);
    CHECK_EQ(recall_flush(r, ada, 1, &err), STORE_TOO_BIG);
    check_err(STORE_TOO_BIG, "512");
    store_abort(s);
    CHECK_EQ(search(r, "more", ada)->n_hits, 0);
    recall_close(r);
    store_close(s);
}

CHECK_MAIN
