/* test_recall_others.c - sessions that nobody has open come into the recall index when all sessions are asked: so much
 * at a time, and how many are left is told. */
#include "memory/remember.h"
#include "tests/journal_rig.h"

enum { MANY = 5, CHUNK_TEXT = 1000 };

static void id_of(int i, uint8_t id[STORE_SESSION_ID])
{
    memset(id, 0, STORE_SESSION_ID);
    snprintf((char *)id, STORE_SESSION_ID, "session %d", i);
}

/* Each has one message with a word that all have and one of its own; the first is the newest. */
static void fill(struct store *s)
{
    for (int i = 0; i < MANY; i++) {
        char text[CHUNK_TEXT];
        uint8_t id[STORE_SESSION_ID];
        id_of(i, id);
        struct journal_batch b = batch_of(id);
        struct journal_head h = head_of(id, "title", 100 - i);
        int n = snprintf(text, sizeof text, "zebra own%d ", i);
        memset(text + n, '.', sizeof text - (size_t)n);
        struct journal_message m = {.kind = JOURNAL_USER, .turn = 1, .text = text, .len = sizeof text};
        journal_add(&b, 1, &m);
        journal_add_event(&b, 2, "{}", 2); /* behind it: an event is in no index */
        journal_add_head(&b, &h);
        write_batch(s, &b);
    }
}

static int found(struct recall *r, struct store *s, const char *word)
{
    struct remember_found f;
    const struct remember_query q = {.text = word, .n = strlen(word), .k = RECALL_K};
    OK(remember_search(r, s, &q, &f, &err));
    int n = f.n;
    remember_free(&f);
    return n;
}

TEST(some_go_in_at_a_time_the_newest_first_until_none_is_left)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    struct remember_others o = {0};
    unsigned left = 0;
    fill(s);
    CHECK_EQ(found(r, s, "zebra"), 0);
    OK(remember_others(r, s, bob, 1, &o, &left, &err));
    CHECK_EQ(left, MANY - 1);
    CHECK_EQ(found(r, s, "own0"), 1);
    CHECK_EQ(found(r, s, "own1"), 0);
    OK(remember_others(r, s, bob, 2 * RECALL_CHUNK, &o, &left, &err));
    CHECK_EQ(left, MANY - 3);
    OK(remember_others(r, s, bob, UINT64_MAX, &o, &left, &err));
    CHECK_EQ(left, 0);
    CHECK_EQ(found(r, s, "zebra"), MANY);
    struct store_stat before, after;
    OK(store_stat(s, STORE_CACHE, &before, &err));
    OK(remember_others(r, s, bob, UINT64_MAX, &o, &left, &err)); /* nothing goes in twice */
    OK(store_stat(s, STORE_CACHE, &after, &err));
    CHECK_EQ(left, 0);
    CHECK_EQ(before.records, after.records);
    CHECK_EQ(found(r, s, "zebra"), MANY);
    recall_close(r);
    store_close(s);
}

TEST(ones_own_is_not_touched_and_one_that_is_open_elsewhere_is_left)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    struct remember_others o = {0};
    struct store_lock lock = {0};
    uint8_t own[STORE_SESSION_ID], open[STORE_SESSION_ID];
    unsigned left = 0;
    fill(s);
    id_of(0, own);
    id_of(3, open);
    OK(store_lock_session(s, open, &lock, &err));
    OK(remember_others(r, s, own, UINT64_MAX, &o, &left, &err));
    CHECK_EQ(left, 1);
    CHECK_EQ(found(r, s, "own0"), 0);
    CHECK_EQ(found(r, s, "own3"), 0);
    CHECK_EQ(found(r, s, "zebra"), MANY - 2);
    store_unlock_session(&lock);
    OK(remember_others(r, s, own, UINT64_MAX, &o, &left, &err));
    CHECK_EQ(left, 0);
    CHECK_EQ(found(r, s, "own3"), 1);
    recall_close(r);
    store_close(s);
}

/* A long text goes in over many calls, each from where the one before ended; and again when the cache is gone. */
TEST(a_long_text_goes_in_in_parts)
{
    enum { LONG = 200 << 10, PART = 256 << 10 };
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    struct remember_others o = {0};
    char *text = malloc(5 * LONG);
    uint8_t id[STORE_SESSION_ID];
    unsigned left = 1;
    int calls = 0;
    CHECK(text != NULL);
    memset(text, '.', 5 * LONG);
    memcpy(text + 5 * LONG - 20, " ending ", 8);
    id_of(0, id);
    struct journal_batch b = batch_of(id);
    struct journal_head h = head_of(id, "title", 100);
    struct journal_message m = message(JOURNAL_DOCUMENT, 1, "/a/long/file");
    store_begin(s, STORE_JOURNAL);
    OK(store_put_artifact(s, id, 1, text, 5 * LONG, &err));
    OK(store_commit(s, &err));
    m.artifact = 1;
    journal_add(&b, 1, &m);
    journal_add_head(&b, &h);
    write_batch(s, &b);
    OK(remember_others(r, s, bob, PART, &o, &left, &err));
    CHECK_EQ(left, 1);
    CHECK(o.at.bytes > 0);
    OK(store_wipe(s, &err)); /* the cache is empty: what was begun is begun again */
    for (left = 1; left > 0 && calls < 20; calls++) OK(remember_others(r, s, bob, PART, &o, &left, &err));
    CHECK_EQ(left, 0);
    CHECK(calls >= 3);
    CHECK_EQ(found(r, s, "ending"), 1);
    struct recall_stat st;
    OK(recall_stat(r, id, &st, &err));
    CHECK(st.docs >= 5 * LONG / RECALL_CHUNK);
    free(text);
    recall_close(r);
    store_close(s);
}

CHECK_MAIN
