/* test_remember_marks.c - what marks say of messages, as the recall index has it: taken back, given back, and many
 * numbers at once; and what a program that was killed left of a long one. */
#include "memory/remember.h"
#include "tests/journal_rig.h"
#include <dlfcn.h>

static uint64_t transactions;

/* LMDB's own behind it. */
int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*real)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    void *found = dlsym(RTLD_NEXT, "mdb_txn_begin");
    memcpy(&real, &found, sizeof real);
    CHECK(++transactions < 100000);
    return real(env, parent, flags, txn);
}

static struct store *s;
static struct recall *r;

static void begin(void)
{
    const struct journal_head h = head_of(ada, "title", 1);
    s = open_at(fresh_dir());
    write_head(s, &h);
    r = recall_open(s, &err);
    CHECK(r != NULL);
}

static void end(void)
{
    recall_close(r);
    store_close(s);
}

static void say(uint64_t number, enum journal_kind kind, const char *text)
{
    struct journal_batch b = batch_of(ada);
    struct journal_message m = message(kind, 1, text);
    journal_add(&b, number, &m);
    write_batch(s, &b);
}

static void take_back(uint64_t number, uint64_t first, uint64_t last)
{
    struct journal_batch b = batch_of(ada);
    struct journal_message m = message(JOURNAL_MARK, 1, "");
    m.results = JOURNAL_UNDONE;
    m.first = first;
    m.last = last;
    journal_add(&b, number, &m);
    write_batch(s, &b);
}

static int found(const char *word)
{
    struct remember_found f;
    const struct remember_query q = {.text = word, .n = strlen(word), .session = ada, .k = RECALL_K};
    OK(remember_search(r, s, &q, &f, &err));
    int n = f.n;
    remember_free(&f);
    return n;
}

static uint64_t chunks(void)
{
    struct recall_stat st;
    OK(recall_stat(r, ada, &st, &err));
    return st.docs;
}

static void forget(void)
{
    store_begin(s, STORE_CACHE);
    OK(recall_forget(r, ada, &err));
    OK(store_commit(s, &err));
}

/* As little as can be at a time; 1000 slices are never needed here. */
static void in_slices(void)
{
    struct remember_at at = {0};
    int n = 0;
    do OK(remember_slice(r, s, ada, 1, &at, &err));
    while (at.more && ++n < 1000);
    CHECK(!at.more);
}

static void conversation(void)
{
    say(1, JOURNAL_USER, "the first question");
    say(2, JOURNAL_ANSWER, "the first answer");
    say(3, JOURNAL_USER, "where is zanzibar");
    say(4, JOURNAL_ANSWER, "zanzibar is an island");
}

/* ---------------------------------------------------------------- taken back, and given back */

TEST(a_turn_that_a_refused_edit_put_back_is_found)
{
    begin();
    conversation();
    take_back(5, 3, 4);
    take_back(6, 5, 5);
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("zanzibar"), 2);
    CHECK_EQ(found("first"), 2);
    CHECK_EQ(chunks(), 4);
    forget();
    in_slices(); /* the one mark in one slice, the other in the next */
    CHECK_EQ(found("zanzibar"), 2);
    CHECK_EQ(chunks(), 4);
    end();
}

TEST(also_when_it_was_taken_back_before_and_as_often_as_it_is)
{
    begin();
    conversation();
    OK(remember_session(r, s, ada, &err));
    take_back(5, 3, 4);
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("zanzibar"), 0);
    CHECK_EQ(chunks(), 2);
    say(6, JOURNAL_USER, "something else");
    OK(remember_session(r, s, ada, &err));
    take_back(7, 5, 6); /* the mark, and what was tried in place of it */
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("zanzibar"), 2);
    CHECK_EQ(found("something"), 0);
    CHECK_EQ(chunks(), 4);
    take_back(8, 7, 7); /* and once more */
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("zanzibar"), 0);
    CHECK_EQ(found("something"), 1);
    CHECK_EQ(chunks(), 3);
    forget();
    in_slices();
    CHECK_EQ(found("zanzibar"), 0);
    CHECK_EQ(found("something"), 1);
    CHECK_EQ(chunks(), 3);
    end();
}

TEST(a_document_goes_by_a_mark_of_its_own_and_comes_back_by_another)
{
    struct journal_batch b = batch_of(ada);
    struct journal_message m = message(JOURNAL_DOCUMENT, 1, "atlas.txt");
    struct buf bytes = {0};
    begin();
    conversation();
    buf_puts(&bytes, "madagascar is an island too");
    m.artifact = 1;
    journal_add(&b, 5, &m);
    journal_add_artifact(&b, 1, &bytes);
    write_batch(s, &b);
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("madagascar"), 1);
    take_back(6, 3, 5); /* a turn's files stay */
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("madagascar"), 1);
    take_back(7, 5, 5);
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("madagascar"), 0);
    take_back(8, 7, 7);
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(found("madagascar"), 1);
    end();
}

/* ---------------------------------------------------------------- many at once */

TEST(a_mark_over_millions_of_numbers_takes_a_moment)
{
    const uint64_t far = 16 << 20;
    begin();
    conversation();
    take_back(far, 3, far - 1);
    for (uint64_t i = 1; i <= 2000; i++) take_back(far + i, 1 + i % 2 * 2, far - 1 - i);
    say(far + 2001, JOURNAL_USER, "behind it all");
    transactions = 0;
    OK(remember_session(r, s, ada, &err));
    CHECK(transactions < 1000);
    CHECK_EQ(found("zanzibar"), 0);
    CHECK_EQ(found("behind"), 1);
    end();
}

/* ---------------------------------------------------------------- a program that was killed */

TEST(what_was_begun_of_a_long_message_is_not_in_the_index_twice)
{
    struct recall_doc doc = {.kind = RECALL_MESSAGE, .id = 3, .when = 3};
    struct buf text = {0};
    size_t next;
    begin();
    for (int i = 0; text.len < 8 * RECALL_CHUNK; i++) buf_printf(&text, "word%d ", i);
    say(1, JOURNAL_USER, "the first question");
    say(2, JOURNAL_ANSWER, "the first answer");
    OK(remember_session(r, s, ada, &err));
    say(3, JOURNAL_USER, text.data);
    memcpy(doc.session, ada, sizeof doc.session);
    doc.len = (uint32_t)recall_chunk(text.data, text.len, &next);
    store_begin(s, STORE_CACHE);
    OK(recall_add(r, &doc, text.data, doc.len, &err));
    OK(recall_flush(r, ada, 3, &err)); /* and no further */
    OK(store_commit(s, &err));
    recall_clear(r);
    OK(remember_session(r, s, ada, &err));
    const uint64_t n = chunks();
    forget();
    OK(remember_session(r, s, ada, &err));
    CHECK_EQ(n, chunks());
    buf_free(&text);
    end();
}

CHECK_MAIN
