/* test_snapshot.c - KV pages on disk: kept once, given back whole or not at all, and gone by age when there are too
 * many. */
#include "memory/snapshot.h"
#include "tests/store_rig.h"

enum { TOKENS = 16, BYTES = 9000, BLOCKS = 3 * 4096, MOST = 40 }; /* a record of a page takes BLOCKS */

static const uint8_t engine[SNAP_NAME] = "one engine only", other_engine[SNAP_NAME] = "some other one.";

/* A text in pages: the first `common` are those of all stories. */
struct story {
    int n;
    uint8_t name[MOST][SNAP_NAME];
    int32_t ids[MOST][TOKENS];
    uint8_t bytes[MOST][BYTES];
};

static const uint8_t *before(const struct story *t, int i) { return i ? t->name[i - 1] : engine; }

static struct snap_page page_of(const struct story *t, int i)
{
    return (struct snap_page){.name = t->name[i], .before = before(t, i), .ids = t->ids[i], .bytes = t->bytes[i]};
}

static struct story *tell(int which, int common, int n)
{
    struct story *t = calloc(1, sizeof *t);
    CHECK(t && n <= MOST);
    t->n = n;
    for (int i = 0; i < n; i++) {
        uint64_t seed = (uint64_t)(1 + i + (i < common ? 0 : 1000 * which));
        for (int k = 0; k < SNAP_NAME; k++) t->name[i][k] = (uint8_t)rig_draw(&seed, 256);
        for (int k = 0; k < TOKENS; k++) t->ids[i][k] = (int32_t)rig_draw(&seed, 5000) - 1;
        for (int k = 0; k < BYTES; k++) t->bytes[i][k] = (uint8_t)rig_draw(&seed, 256);
    }
    return t;
}

static struct snap open_snap(struct store *s, uint64_t quota)
{
    struct snap snap;
    OK(snap_open(&snap, s, engine, TOKENS, BYTES, quota, UINT64_MAX, &err));
    return snap;
}

static void put_all(struct snap *s, const struct story *t)
{
    struct snap_page page[MOST];
    for (int i = 0; i < t->n; i++) page[i] = page_of(t, i);
    OK(snap_put(s, page, t->n, &err));
}

static void use(struct snap *s, const uint8_t *session, const struct story *t)
{
    OK(snap_use(s, session, t->name, t->n, &err));
}

/* What is there of the story, a character a page. */
static const char *shape(struct snap *s, const struct story *t)
{
    static char text[MOST + 1];
    uint8_t got[BYTES];
    for (int i = 0; i < t->n; i++) {
        struct snap_page p = page_of(t, i);
        bool has;
        OK(snap_has(s, t->name[i], &has, &err));
        int rc = snap_get(s, &p, got, &err);
        CHECK_EQ(rc, has ? 0 : STORE_NOT_FOUND);
        if (has) CHECK_MEM(got, t->bytes[i], BYTES);
        text[i] = has ? 'x' : '.';
    }
    text[t->n] = '\0';
    return text;
}

static uint64_t pages_in(struct snap *s)
{
    struct snap_stat st;
    OK(snap_stat(s, &st, &err));
    return st.pages;
}

static const uint8_t ann[STORE_SESSION_ID] = "ann's session..", ben[STORE_SESSION_ID] = "ben's session..",
                     cat[STORE_SESSION_ID] = "cat's session..", dan[STORE_SESSION_ID] = "dan's session..";

/* ---------------------------------------------------------------- kept once */

TEST(two_sessions_with_one_front_keep_it_once)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 6, 10), *b = tell(2, 6, 9);
    struct snap_stat st;
    put_all(&s, a);
    use(&s, ann, a);
    put_all(&s, b);
    use(&s, ben, b);
    CHECK(s.figures.put == 13 && s.figures.there == 6);
    put_all(&s, a); /* nothing is written twice */
    CHECK(s.figures.put == 13 && s.figures.there == 16);
    OK(snap_stat(&s, &st, &err));
    CHECK(st.pages == 13 && st.sessions == 2 && st.own_pages == 13 && st.own_sessions == 2);
    CHECK(st.bytes == st.own_bytes && st.bytes > 13 * BLOCKS && st.bytes < 14 * BLOCKS);
    CHECK_STR(shape(&s, a), "xxxxxxxxxx");
    CHECK_STR(shape(&s, b), "xxxxxxxxx");
    CHECK_EQ(s.figures.got, 19);
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
}

TEST(pages_outlive_the_process)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 6, 10);
    put_all(&s, a);
    use(&s, ann, a);
    use(&s, ann, a);
    snap_close(&s);
    store_close(store);
    store = open_at(dir);
    s = open_snap(store, UINT64_MAX);
    CHECK_EQ(s.generation, 2);
    CHECK_STR(shape(&s, a), "xxxxxxxxxx");
    snap_close(&s);
    store_close(store);
    free(a);
}

TEST(another_engine_finds_nothing)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, UINT64_MAX), o;
    struct story *a = tell(1, 6, 4);
    struct snap_stat st;
    put_all(&s, a);
    use(&s, ann, a);
    OK(snap_open(&o, store, other_engine, TOKENS, BYTES, UINT64_MAX, UINT64_MAX, &err));
    CHECK_STR(shape(&o, a), "....");
    OK(snap_stat(&o, &st, &err));
    CHECK(st.pages == 4 && st.own_pages == 0 && st.own_sessions == 0 && st.own_bytes == 0);
    CHECK_EQ(o.generation, 1); /* age is of the whole store */
    snap_close(&s);
    snap_close(&o);
    store_close(store);
    free(a);
}

/* ---------------------------------------------------------------- not believed */

static void refused(struct snap *s, const struct snap_page *p, int code, const char *part)
{
    uint8_t got[BYTES] = {7};
    bool has;
    uint64_t before_ = s->figures.refused;
    CHECK_EQ(snap_get(s, p, got, &err), code);
    check_err(code, part);
    CHECK(got[0] == 7 && s->figures.refused == before_ + 1);
    OK(snap_has(s, p->name, &has, &err));
    CHECK(!has); /* and it is gone */
}

/* As somebody would find who made two texts meet in one name. */
TEST(a_page_of_another_text_under_the_same_name_is_refused)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 3);
    struct snap_page p = page_of(a, 1);
    int32_t ids[TOKENS];
    memcpy(ids, a->ids[1], sizeof ids);
    for (int i = 0; i < TOKENS; i++) {
        put_all(&s, a);
        ids[i] ^= 1 << 20;
        p.ids = ids;
        refused(&s, &p, STORE_FOREIGN, "is a KV page of another text");
        ids[i] ^= 1 << 20;
    }
    put_all(&s, a);
    p.before = a->name[2];
    refused(&s, &p, STORE_FOREIGN, "is a KV page of another text");
    put_all(&s, a);
    CHECK_STR(shape(&s, a), "xxx");
    snap_close(&s);
    /* as if one engine had two sizes */
    OK(snap_open(&s, store, engine, TOKENS, BYTES - 1, UINT64_MAX, UINT64_MAX, &err));
    p = page_of(a, 1);
    refused(&s, &p, STORE_FOREIGN, "is a KV page of another text");
    snap_close(&s);
    store_close(store);
    free(a);
}

/* The record as it lies there, to be bent. */
static void raw_record(const char *dir, const struct store_key *key, struct buf *out)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k = {key->n, (void *)key->byte}, v;
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_open(env, under(dir, "cache"), MDB_RDONLY, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    CHECK_EQ(mdb_get(txn, dbi, &k, &v), 0);
    buf_put(out, v.mv_data, v.mv_size);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static struct store_key key_of(char letter, const uint8_t *name)
{
    uint8_t bytes[1 + 2 * SNAP_NAME] = {(uint8_t)letter};
    memcpy(bytes + 1, engine, SNAP_NAME);
    memcpy(bytes + 1 + SNAP_NAME, name, SNAP_NAME);
    return store_key_cache(bytes, sizeof bytes);
}

/* A page of few bytes, so that each can be flipped: opened for each, as a process would. */
TEST(a_record_with_any_byte_flipped_is_refused)
{
    enum { SMALL = 24 };
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s;
    struct story *a = tell(1, 0, 1);
    struct snap_page p = page_of(a, 0);
    struct store_key key = key_of('k', p.name);
    struct buf raw = {0};
    OK(snap_open(&s, store, engine, TOKENS, SMALL, UINT64_MAX, UINT64_MAX, &err));
    OK(snap_put(&s, &p, 1, &err));
    snap_close(&s);
    store_close(store);
    raw_record(dir, &key, &raw);
    CHECK_EQ(raw.len, REC_HEADER + SNAP_NAME + 8 + 4 * TOKENS + SMALL);
    for (size_t i = 0; i <= raw.len; i++) { /* at last: one that is cut */
        if (i < raw.len) raw.data[i] ^= (char)(1 << i % 8);
        plant(dir, "cache", &key, raw.data, MIN(raw.len, raw.len - (i == raw.len)));
        if (i < raw.len) raw.data[i] ^= (char)(1 << i % 8);
        store = open_at(dir);
        OK(snap_open(&s, store, engine, TOKENS, SMALL, UINT64_MAX, UINT64_MAX, &err));
        refused(&s, &p, STORE_DAMAGED, "is damaged");
        snap_close(&s);
        store_close(store);
    }
    buf_free(&raw);
    free(a);
}

TEST(a_page_under_another_ones_key_is_refused)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 2);
    struct snap_page p = page_of(a, 1);
    struct store_key from = key_of('k', a->name[0]), to = key_of('k', a->name[1]);
    struct buf raw = {0};
    put_all(&s, a);
    snap_close(&s);
    store_close(store);
    raw_record(dir, &from, &raw);
    plant(dir, "cache", &to, raw.data, raw.len);
    buf_free(&raw);
    store = open_at(dir);
    s = open_snap(store, UINT64_MAX);
    refused(&s, &p, STORE_DAMAGED, "checksum");
    CHECK_STR(shape(&s, a), "x.");
    snap_close(&s);
    store_close(store);
    free(a);
}

/* ---------------------------------------------------------------- the quota */

TEST(the_longest_unused_go_first_and_of_one_session_the_last_pages)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, 24 * BLOCKS);
    struct story *a = tell(1, 4, 10), *b = tell(2, 4, 10), *c = tell(3, 4, 10);
    put_all(&s, a);
    use(&s, ann, a);
    put_all(&s, b);
    use(&s, ben, b);
    CHECK_EQ(pages_in(&s), 16);
    use(&s, ann, a); /* resumed: now ben's are the oldest */
    put_all(&s, c);
    use(&s, cat, c); /* 22 pages and the lists: under the quota */
    CHECK(pages_in(&s) == 22 && s.figures.evicted == 0);
    struct story *d = tell(4, 4, 10);
    put_all(&s, d);
    use(&s, dan, d); /* 28: down to 21, less what the lists take */
    CHECK_STR(shape(&s, b), "xxxx......"); /* the front is the others' too */
    CHECK_STR(shape(&s, a), "xxxxxxxx.."); /* then of ann's the last */
    CHECK_STR(shape(&s, c), "xxxxxxxxxx");
    CHECK_STR(shape(&s, d), "xxxxxxxxxx");
    CHECK_EQ(s.figures.evicted, 8);
    struct snap_stat st;
    OK(snap_stat(&s, &st, &err));
    CHECK(st.sessions == 3 && st.bytes <= 21 * BLOCKS); /* ben's list went with his pages */
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
    free(c);
    free(d);
}

/* However the sessions' keys lie: the front is as young as the youngest that names it. */
static void share_front(const uint8_t *early, const uint8_t *late)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 4, 10), *b = tell(2, 4, 10);
    put_all(&s, a);
    use(&s, early, a);
    put_all(&s, b);
    s.quota = 10 * BLOCKS;
    use(&s, late, b);
    CHECK_STR(shape(&s, a), "xxxx......");
    CHECK_STR(shape(&s, b), "xxxxxxxx..");
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
}

TEST(a_front_is_as_young_as_the_youngest_session_that_names_it)
{
    share_front(ann, ben);
    share_front(ben, ann);
}

TEST(what_no_session_names_any_more_goes_before_all_else)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, 16 * BLOCKS);
    struct story *a = tell(1, 2, 8), *b = tell(2, 2, 6), *c = tell(3, 0, 6);
    put_all(&s, a);
    use(&s, ann, a);
    put_all(&s, b);
    use(&s, ann, b); /* her session goes on from the front in another way */
    CHECK_STR(shape(&s, a), "xxxxxxxx");
    put_all(&s, c);
    use(&s, ben, c); /* 18: down to 14 */
    CHECK(strncmp(shape(&s, a), "xx", 2) == 0);
    CHECK_STR(shape(&s, b), "xxxxxx");
    CHECK_STR(shape(&s, c), "xxxxxx");
    CHECK(s.figures.evicted >= 4);
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
    free(c);
}

TEST(a_session_larger_than_the_quota_keeps_its_front)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_snap(store, 8 * BLOCKS);
    struct story *a = tell(1, 0, 12);
    put_all(&s, a);
    use(&s, ann, a);
    CHECK_STR(shape(&s, a), "xxxxxx......");
    CHECK_EQ(s.generation, 1);
    snap_close(&s);
    s = open_snap(store, 0); /* nothing may stay, lists neither */
    use(&s, ann, a);
    CHECK_EQ(pages_in(&s), 0);
    struct snap_stat st;
    OK(snap_stat(&s, &st, &err));
    CHECK(st.sessions == 0 && st.bytes == 0);
    snap_close(&s);
    store_close(store);
    free(a);
}

/* ---------------------------------------------------------------- the quota of one session */

static struct snap open_own(struct store *s, uint64_t quota, uint64_t own)
{
    struct snap snap;
    OK(snap_open(&snap, s, engine, TOKENS, BYTES, quota, own, &err));
    return snap;
}

TEST(a_session_over_its_own_quota_loses_its_own_last_pages_and_others_stay)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_own(store, 100 * BLOCKS, 8 * BLOCKS);
    struct story *a = tell(1, 4, 10), *b = tell(2, 4, 14), *c = tell(3, 0, 7);
    put_all(&s, a);
    use(&s, ann, a); /* ten are hers alone: down to seven, less her list */
    CHECK_STR(shape(&s, a), "xxxxxx....");
    CHECK_EQ(s.figures.evicted, 4);
    put_all(&s, c);
    use(&s, ben, c); /* seven and a list */
    CHECK_STR(shape(&s, c), "xxxxxxx");
    put_all(&s, b);
    use(&s, cat, b); /* four are ann's too, and count for neither; of her own ten six stay */
    CHECK_STR(shape(&s, b), "xxxxxxxxxx....");
    CHECK_STR(shape(&s, a), "xxxxxx....");
    CHECK_STR(shape(&s, c), "xxxxxxx");
    CHECK_EQ(s.figures.evicted, 8);
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
    free(c);
}

TEST(of_one_session_the_pages_of_the_engine_before_go_first)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_own(store, UINT64_MAX, UINT64_MAX), o;
    struct story *a = tell(1, 0, 6);
    OK(snap_open(&o, store, other_engine, TOKENS, BYTES, UINT64_MAX, 9 * BLOCKS, &err));
    put_all(&s, a);
    use(&s, ann, a);
    o.generation = s.generation;
    put_all(&o, a);
    use(&o, ann, a); /* twelve: down to seven, less two lists */
    CHECK_STR(shape(&o, a), "xxxxxx");
    CHECK_STR(shape(&s, a), "x.....");
    snap_close(&s);
    snap_close(&o);
    store_close(store);
    free(a);
}

TEST(a_quota_of_a_page_or_of_nothing_leaves_others_as_they_are)
{
    static const uint64_t quotas[] = {0, 1, 4096, BLOCKS};
    struct store *store = open_at(fresh_dir());
    struct snap s = open_own(store, UINT64_MAX, UINT64_MAX);
    struct story *a = tell(1, 2, 5), *b = tell(2, 2, 5);
    put_all(&s, a);
    use(&s, ann, a);
    snap_close(&s);
    for (size_t i = 0; i < COUNT_OF(quotas); i++) {
        s = open_own(store, UINT64_MAX, quotas[i]);
        put_all(&s, b);
        use(&s, ben, b);
        CHECK_STR(shape(&s, a), "xxxxx");
        CHECK_STR(shape(&s, b), "xx...");
        struct snap_session *list;
        uint64_t all;
        size_t n;
        OK(snap_stat_sessions(store, &list, &n, &all, &err));
        for (size_t k = 0; k < n; k++)
            if (memcmp(list[k].session, ben, sizeof ben) == 0) CHECK(list[k].own <= quotas[i]);
        free(list);
        snap_close(&s);
    }
    store_close(store);
    free(a);
    free(b);
}

TEST(each_session_has_its_figures)
{
    struct store *store = open_at(fresh_dir());
    struct snap s = open_own(store, UINT64_MAX, UINT64_MAX);
    struct story *a = tell(1, 4, 10), *b = tell(2, 4, 6);
    struct snap_session *list;
    struct snap_stat st;
    uint64_t all = 7;
    size_t n = 7;
    OK(snap_stat_sessions(store, &list, &n, &all, &err));
    CHECK(!list && n == 0 && all == 0);
    put_all(&s, a);
    use(&s, ben, a);
    put_all(&s, b);
    use(&s, ann, b);
    OK(snap_stat(&s, &st, &err));
    OK(snap_stat_sessions(store, &list, &n, &all, &err));
    CHECK(n == 2 && all == st.bytes);
    CHECK_MEM(list[0].session, ann, sizeof ann);
    CHECK(list[0].own / BLOCKS == 2 && list[0].bytes / BLOCKS == 6);
    CHECK(list[1].own / BLOCKS == 6 && list[1].bytes / BLOCKS == 10);
    free(list);
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
}

/* A session's list that cannot be believed: its pages are nobody's, and nothing else is touched. */
static void bend_list(int how, uint64_t generation)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 6), *b = tell(2, 0, 6);
    struct store_key key = key_of('s', ben);
    struct buf raw = {0};
    uint8_t body[12 + 6 * SNAP_NAME];
    put_all(&s, a);
    use(&s, ann, a);
    put_all(&s, b);
    use(&s, ben, b);
    snap_close(&s);
    store_close(store);
    put_le(body, generation, 8);
    put_le(body + 8, how == 1 ? 7 : 6, 4);
    memcpy(body + 12, b->name, 6 * SNAP_NAME);
    CHECK_EQ(rec_encode(REC_CACHE, key.byte, key.n, body, how == 2 ? 11 : sizeof body, &raw), 0);
    if (how == 0) raw.data[raw.len - 1] ^= 1;
    plant(dir, "cache", &key, raw.data, raw.len);
    store = open_at(dir);
    s = open_snap(store, 9 * BLOCKS);
    CHECK_EQ(s.generation, 1);
    use(&s, cat, a);
    CHECK_STR(shape(&s, a), "xxxxxx"); /* though ben's were used later */
    CHECK(pages_in(&s) <= 7);
    snap_close(&s);
    store_close(store);
    buf_free(&raw);
    free(a);
    free(b);
}

TEST(a_damaged_list_of_a_session_is_not_believed)
{
    bend_list(0, 2);
    bend_list(1, 2);
    bend_list(2, 2);
    bend_list(3, UINT64_MAX);
    bend_list(3, INT64_MAX); /* the next one would be no number that is believed */
}

/* ---------------------------------------------------------------- the store */

TEST(deleting_a_session_leaves_no_page_in_the_files)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 3);
    memcpy(a->bytes[2] + 100, "what only ada knows", 19);
    put_all(&s, a);
    OK(snap_use(&s, ada, a->name, 3, &err));
    CHECK(occurrences(dir, "what only ada knows") > 0);
    OK(store_delete_session(store, ada, &err));
    CHECK_EQ(occurrences(dir, "what only ada knows"), 0);
    CHECK_STR(shape(&s, a), "...");
    put_all(&s, a); /* it goes on */
    CHECK_STR(shape(&s, a), "xxx");
    snap_close(&s);
    store_close(store);
    free(a);
}

static void begin_session(struct store *store, const uint8_t *session)
{
    struct store_key key = store_key_session(session);
    store_begin(store, STORE_JOURNAL);
    OK(store_put(store, &key, REC_SESSION, "title", 5, &err));
    OK(store_commit(store, &err));
}

TEST(deleting_a_session_leaves_the_pages_that_others_use)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 2, 5), *b = tell(2, 2, 4), *c = tell(3, 0, 3), *d = tell(4, 0, 2);
    memcpy(a->bytes[2] + 100, "what only ann knows", 19);
    memcpy(a->bytes[1] + 100, "what two of them do", 19); /* a page that is kept once */
    memcpy(b->bytes[1] + 100, "what two of them do", 19);
    begin_session(store, ann);
    begin_session(store, ben);
    put_all(&s, a);
    use(&s, ann, a);
    put_all(&s, b);
    use(&s, ben, b);
    put_all(&s, c);
    use(&s, cat, c); /* who is not in the journal */
    put_all(&s, d);  /* whom nobody names */
    OK(store_delete_session(store, ann, &err));
    CHECK_EQ(occurrences(dir, "what only ann knows"), 0);
    CHECK_EQ(occurrences(dir, (const char *)ann), 0);
    CHECK_EQ(occurrences(dir, "what two of them do"), 1);
    CHECK_STR(shape(&s, a), "xx...");
    CHECK_STR(shape(&s, b), "xxxx");
    CHECK_STR(shape(&s, c), "...");
    CHECK_STR(shape(&s, d), "..");
    put_all(&s, c); /* it goes on */
    CHECK_STR(shape(&s, c), "xxx");
    snap_close(&s);
    store_close(store);
    store = open_at(dir);
    s = open_snap(store, UINT64_MAX);
    CHECK_EQ(s.generation, 2);
    CHECK_STR(shape(&s, b), "xxxx");
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
    free(c);
    free(d);
}

TEST(a_store_that_is_read_only_gives_pages_and_takes_none)
{
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 3), *b = tell(2, 0, 3);
    put_all(&s, a);
    snap_close(&s);
    store_close(store);
    OK(store_open(&store, dir, &(struct store_options){.read_only = true}, &err));
    s = open_snap(store, UINT64_MAX);
    struct snap_page p = page_of(b, 0);
    CHECK_EQ(snap_put(&s, &p, 1, &err), STORE_READ_ONLY);
    CHECK_EQ(snap_use(&s, ann, a->name, 3, &err), STORE_READ_ONLY);
    CHECK_EQ(s.generation, 0);
    p = page_of(a, 0);
    p.ids = b->ids[0];
    CHECK_EQ(snap_get(&s, &p, b->bytes[0], &err), STORE_FOREIGN); /* refused, and stays */
    CHECK_STR(shape(&s, a), "xxx");
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
}

/* A full map is the snapshot's trouble alone: nothing is left pending, and the journal goes on. */
TEST(a_full_cache_harms_nobody)
{
    struct store *store;
    OK(store_open(&store, fresh_dir(),
                  &(struct store_options){.map_start[STORE_CACHE] = 1 << 18, .map_limit[STORE_CACHE] = 1 << 18}, &err));
    struct snap s = open_snap(store, UINT64_MAX);
    struct story *a = tell(1, 0, 4), *b = tell(2, 0, 30);
    struct snap_page page[MOST];
    put_all(&s, a);
    for (int i = 0; i < b->n; i++) page[i] = page_of(b, i);
    CHECK_EQ(snap_put(&s, page, b->n, &err), STORE_MAP_FULL);
    CHECK(s.figures.put == 4 && s.figures.there == 0);
    commit_message(store, ada, 0, "still here");
    CHECK_STR(shape(&s, a), "xxxx");
    CHECK(strspn(shape(&s, b), ".") == 30); /* all or none */
    snap_close(&s);
    store_close(store);
    free(a);
    free(b);
}

TEST(sizes_have_bounds)
{
    struct store *store = open_at(fresh_dir());
    struct snap s;
    CHECK_EQ(snap_open(&s, store, engine, TOKENS, REC_BODY_MAX - 80, 1 << 20, UINT64_MAX, &err), STORE_TOO_BIG);
    CHECK_EQ(snap_open(&s, store, engine, TOKENS, SIZE_MAX - 80, 1 << 20, UINT64_MAX, &err), STORE_TOO_BIG);
    OK(snap_open(&s, store, engine, TOKENS, REC_BODY_MAX - 88, 1 << 20, UINT64_MAX, &err));
    struct snap_page none = {0};
    CHECK_EQ(snap_put(&s, &none, 2, &err), STORE_TOO_BIG);
    CHECK_EQ(snap_put(&s, &none, -1, &err), STORE_TOO_BIG);
    OK(snap_put(&s, NULL, 0, &err));
    CHECK_EQ(snap_use(&s, ann, NULL, SNAP_PAGES_MAX + 1, &err), STORE_TOO_BIG);
    OK(snap_use(&s, ann, NULL, 0, &err));
    snap_close(&s);
    store_close(store);
}

CHECK_MAIN
