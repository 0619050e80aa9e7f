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

/* ---------------------------------------------------------------- quotas */

enum { WORDS = 30000 }; /* bytes of a session's text, all of it different words: its index is about as large */

static void say_words(struct store *s, int i, uint64_t number)
{
    char *text = malloc(WORDS + 64);
    uint8_t id[STORE_SESSION_ID];
    id_of(i, id);
    struct journal_batch b = batch_of(id);
    struct journal_head h = head_of(id, "title", 100 - i);
    CHECK(text);
    size_t n = (size_t)snprintf(text, 64, "zebra own%d", i);
    for (int k = 0; n < WORDS; k++) n += (size_t)snprintf(text + n, 32, " w%dx%dx%d", i, (int)number, k);
    struct journal_message m = {.kind = JOURNAL_USER, .turn = 1, .text = text, .len = n};
    journal_add(&b, number, &m);
    journal_add_head(&b, &h);
    write_batch(s, &b);
    free(text);
}

static uint64_t size_of(struct store *s, int i) /* of the index; -1: of all */
{
    struct recall_size *list;
    uint8_t id[STORE_SESSION_ID];
    uint64_t bytes = 0;
    size_t n;
    id_of(MAX(i, 0), id);
    OK(recall_sizes(s, &list, &n, &err));
    for (size_t k = 0; k < n; k++)
        if (i < 0 || memcmp(list[k].session, id, sizeof id) == 0) bytes += list[k].bytes;
    free(list);
    return bytes;
}

static void bring(struct recall *r, struct store *s, int i)
{
    uint8_t id[STORE_SESSION_ID];
    id_of(i, id);
    OK(remember_session(r, s, id, &err));
}

TEST(the_index_of_the_session_used_longest_ago_goes_for_ones_own)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    struct store_lock lock = {0};
    uint8_t open[STORE_SESSION_ID];
    for (int i = 0; i < MANY; i++) say_words(s, i, 1); /* 0 is the newest */
    for (int i = 1; i < MANY; i++) bring(r, s, i);
    const uint64_t one = size_of(s, 1), quota = size_of(s, -1);
    CHECK(one > 8 * 4096);
    recall_set_quota(r, (struct recall_quota){quota, UINT64_MAX});
    id_of(4, open);
    OK(store_lock_session(s, open, &lock, &err)); /* the oldest of all, which somebody has open */
    bring(r, s, 0);
    CHECK(size_of(s, -1) <= quota);
    CHECK(size_of(s, 0) >= one / 2 && found(r, s, "own0") == 1);
    CHECK_EQ(size_of(s, 3), 0);
    CHECK(size_of(s, 1) == one && size_of(s, 2) == one);
    CHECK_EQ(size_of(s, 4), one);
    store_unlock_session(&lock);

    struct remember_others o = {0}; /* all are asked: none is pushed out for another, and what has no room is told */
    unsigned left = 0;
    for (int k = 0; k < 3; k++) OK(remember_others(r, s, bob, UINT64_MAX, &o, &left, &err));
    CHECK(left == 1 && o.full && size_of(s, 1) == one && size_of(s, 4) == one);
    recall_set_quota(r, (struct recall_quota){UINT64_MAX, UINT64_MAX}); /* with room it is made again */
    OK(remember_others(r, s, bob, UINT64_MAX, &o, &left, &err));
    CHECK(left == 0 && !o.full && found(r, s, "zebra") == MANY);
    recall_close(r);
    store_close(s);
}

TEST(an_index_that_is_full_takes_no_more_says_so_and_goes_on_when_there_is_room)
{
    static const uint64_t quotas[] = {0, 1, 4096, 40000};
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    uint8_t id[STORE_SESSION_ID];
    id_of(0, id);
    for (uint64_t k = 1; k <= 4; k++) say_words(s, 0, k);
    say_words(s, 1, 1);
    for (size_t i = 0; i < COUNT_OF(quotas); i++) {
        struct remember_at at = {0};
        recall_set_quota(r, (struct recall_quota){quotas[i], UINT64_MAX});
        for (int k = 0; k < 10 && !at.full; k++) OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
        CHECK(at.full && !at.more && at.over == 0);
        CHECK(size_of(s, 0) <= quotas[i] + 2 * WORDS && (quotas[i] >= 4096) == (size_of(s, 0) > 0));
        const uint64_t before = size_of(s, -1);
        OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
        CHECK(at.full && size_of(s, -1) == before);
    }
    recall_set_quota(r, (struct recall_quota){1 << 20, UINT64_MAX});
    bring(r, s, 0);
    CHECK_EQ(found(r, s, "w0x4x1"), 1);
    recall_set_quota(r, (struct recall_quota){4096, UINT64_MAX}); /* it is full, but nothing is left out */
    struct remember_at at = {0};
    OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
    CHECK(!at.full);
    recall_close(r);
    store_close(s);
}

static void add_file(struct store *s, int i, uint64_t number, const char *path)
{
    char text[WORDS];
    uint8_t id[STORE_SESSION_ID];
    id_of(i, id);
    struct journal_batch b = batch_of(id);
    struct journal_head h = head_of(id, "title", 100 - i);
    struct journal_message m = message(JOURNAL_DOCUMENT, 1, path);
    size_t n = (size_t)snprintf(text, sizeof text, "file%d", (int)number);
    while (n < sizeof text - 16) n += (size_t)snprintf(text + n, 16, " f%zu", n);
    m.artifact = number;
    store_begin(s, STORE_JOURNAL);
    OK(store_put_artifact(s, id, number, text, n, &err));
    OK(store_commit(s, &err));
    journal_add(&b, number, &m);
    journal_add_head(&b, &h);
    write_batch(s, &b);
}

TEST(a_session_over_its_own_quota_has_what_is_said_and_tells_which_file_it_has_not)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_open(s, &err);
    struct remember_at at = {0};
    uint8_t id[STORE_SESSION_ID];
    id_of(0, id);
    say_words(s, 1, 1);
    add_file(s, 1, 2, "/a/first.txt");
    bring(r, s, 1);
    const uint64_t others = size_of(s, 1);
    recall_set_quota(r, (struct recall_quota){UINT64_MAX, 1});
    add_file(s, 0, 1, "/a/first.txt"); /* it is begun while nothing is in */
    OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
    CHECK(at.over == 0 && found(r, s, "file1") == 1);
    add_file(s, 0, 2, "/a/second.txt");
    say_words(s, 0, 3);
    OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
    CHECK(at.over == 1 && !at.more && !at.full);
    CHECK_STR(at.over_path, "/a/second.txt");
    CHECK_EQ(found(r, s, "w0x3x1"), 1);
    OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
    CHECK_EQ(at.over, 0); /* it is told once */
    CHECK_EQ(size_of(s, 1), others);
    recall_set_quota(r, (struct recall_quota){UINT64_MAX, 0});
    OK(store_wipe(s, &err));
    at = (struct remember_at){0};
    OK(remember_slice(r, s, id, UINT64_MAX, &at, &err));
    CHECK(at.over == 2 && found(r, s, "file1") == 0 && found(r, s, "w0x3x1") == 1);
    recall_close(r);
    store_close(s);
}

CHECK_MAIN
