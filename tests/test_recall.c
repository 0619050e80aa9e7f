/* test_recall.c - what was added is found, best first and with its reasons; what was removed is not. */
#include "tests/recall_rig.h"

/* ---------------------------------------------------------------- scores */

static void ask_both(struct recall *r, const struct plain *p, uint64_t *seed)
{
    static const uint8_t *const sessions[] = {NULL, ada, bob};
    static struct recall_result res;
    char text[400];
    size_t n;
    some_words(seed, 12, text, sizeof text);
    const struct recall_query q = {.text = text,
                                   .n = strlen(text),
                                   .session = sessions[rig_draw(seed, 3)],
                                   .kinds = rig_draw(seed, 2) ? (unsigned)rig_draw(seed, 16) : 0,
                                   .k = (int)rig_draw(seed, 40)};
    OK(recall_search(r, &q, &res, &err));
    CHECK_EQ(res.damaged, 0);
    struct recall_hit *hit = plain_search(p, &q, &res, &n);
    CHECK_EQ(res.n_hits, MIN(n, (size_t)MAX(1, MIN(q.k, (int)RECALL_K))));
    check_same(&res, hit, n);
    free(hit);
}

TEST(scores_and_ranks_are_those_of_the_formula)
{
    uint64_t seed = 20261;
    for (int round = 0; round < (CHECK_SANITIZED ? 4 : 12); round++) {
        struct store *s = open_at(fresh_dir());
        struct recall *r = recall_at(s);
        struct plain *p = some_corpus(&seed, 1 + rig_draw(&seed, 500), 1 + (int)rig_draw(&seed, 80));
        feed(s, r, p, &seed, 1 + rig_draw(&seed, 60));
        for (int i = 0; i < 40; i++) ask_both(r, p, &seed);
        for (int gone = 0; gone < 30; gone++) {
            struct plain_doc *d = &p->doc[rig_draw(&seed, p->n)];
            remove_text(s, r, d->doc.session, d->doc.kind, d->doc.id);
            for (size_t i = 0; i < p->n; i++)
                if (p->doc[i].doc.id == d->doc.id && p->doc[i].doc.kind == d->doc.kind &&
                    memcmp(p->doc[i].doc.session, d->doc.session, STORE_SESSION_ID) == 0)
                    p->doc[i].gone = true;
            ask_both(r, p, &seed);
        }
        merge_all(s, r, ada);
        merge_all(s, r, bob);
        CHECK_EQ(stat_of(r, ada).unclean + stat_of(r, bob).unclean, 0);
        for (int i = 0; i < 20; i++) ask_both(r, p, &seed);
        free(p);
        recall_close(r);
        store_close(s);
    }
}

/* Figures worked out by hand, so that the plain way is not wrong in the same way. */
TEST(a_score_is_what_one_works_out_by_hand)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    add(s, r, ada, 1, "pump pump valve");
    add(s, r, ada, 2, "valve");
    add(s, r, ada, 3, "tank and more");
    add(s, r, ada, 4, "");
    flush(s, r, ada, 5);
    const struct recall_result *res = search(r, "PUMP nothing", ada);
    CHECK_EQ(res->n_hits, 1);
    CHECK_EQ(res->n_terms, 1);
    CHECK_EQ(res->unknown, 1);
    CHECK_EQ(res->docs, 4);
    CHECK_NEAR(res->mean, 7.0 / 4, 0);
    CHECK_EQ(res->hit[0].doc.id, 1);
    CHECK_EQ(res->hit[0].tf[0], 2);
    CHECK_NEAR(res->term[0].idf, 1.2039728043259361, 1e-15); /* ln(1 + 3.5 / 1.5) */
    CHECK_NEAR(res->hit[0].score, 1.3785264822765366, 1e-12); /* * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 12 / 7)) */
    res = search(r, "valve", ada);
    CHECK_EQ(res->n_hits, 2);
    CHECK_EQ(res->hit[0].doc.id, 2); /* the shorter one */
    recall_close(r);
    store_close(s);
}

TEST(of_equal_hits_the_newest_comes_first)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    for (uint64_t i = 0; i < 100; i++) add(s, r, ada, i * 37 % 100, "the same words");
    flush(s, r, ada, 100);
    const struct recall_result *res = search(r, "same", ada);
    CHECK_EQ(res->n_hits, RECALL_K);
    for (int i = 0; i < RECALL_K; i++) CHECK_EQ(res->hit[i].doc.id, 99 - i);
    recall_close(r);
    store_close(s);
}

/* ---------------------------------------------------------------- feeding */

TEST(many_small_batches_give_what_one_gives)
{
    uint64_t seed = 77;
    struct store *s = open_at(fresh_dir()), *t = open_at(fresh_dir());
    struct recall *r = recall_at(s), *q = recall_at(t);
    struct plain *p = some_corpus(&seed, 700, 30);
    static struct recall_result one;
    feed(s, r, p, &seed, 3);
    feed(t, q, p, &seed, 1000);
    CHECK(stat_of(r, ada).segments <= 12); /* of about 300: they are merged as they come */
    CHECK_EQ(stat_of(q, ada).segments, 1);
    CHECK_EQ(stat_of(r, ada).docs, stat_of(q, ada).docs);
    CHECK_EQ(stat_of(r, ada).terms, stat_of(q, ada).terms);
    for (int i = 0; i < 100; i++) {
        char text[400];
        some_words(&seed, 40, text, sizeof text);
        one = *search(r, text, i % 2 ? ada : NULL);
        CHECK_MEM(&one, search(q, text, i % 2 ? ada : NULL), sizeof one);
    }
    free(p);
    recall_close(r);
    recall_close(q);
    store_close(s);
    store_close(t);
}

TEST(how_far_the_index_goes_is_kept_with_it)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct recall *r = recall_at(s);
    CHECK_EQ(stat_of(r, ada).next, 0);
    add(s, r, ada, 41, "one fact");
    flush(s, r, ada, 42);
    flush(s, r, ada, 43); /* a message without a text */
    CHECK_EQ(stat_of(r, ada).next, 43);
    CHECK_EQ(stat_of(r, ada).docs, 1);
    CHECK_EQ(stat_of(r, bob).next, 0);
    recall_close(r);
    store_close(s);
    s = open_at(dir);
    r = recall_at(s);
    CHECK_EQ(stat_of(r, ada).next, 43);
    CHECK_EQ(search(r, "fact", ada)->n_hits, 1);
    recall_close(r);
    store_close(s);
}

TEST(what_was_not_committed_is_not_found_and_can_be_flushed_again)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    add(s, r, ada, 1, "one fact");
    CHECK_EQ(search(r, "fact", ada)->n_hits, 0);
    store_begin(s, STORE_CACHE);
    OK(recall_flush(r, ada, 2, &err));
    CHECK_EQ(search(r, "fact", ada)->n_hits, 0);
    store_abort(s);
    CHECK_EQ(stat_of(r, ada).next, 0);
    flush(s, r, ada, 2);
    CHECK_EQ(search(r, "fact", ada)->n_hits, 1);
    flush(s, r, ada, 3); /* the table is empty now */
    CHECK_EQ(search(r, "fact", ada)->n_hits, 1);
    recall_close(r);
    store_close(s);
}

TEST(the_table_takes_one_session_and_no_more_than_it_holds)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    struct recall_doc doc = {.kind = RECALL_DOCUMENT};
    char text[RECALL_CHUNK + 1];
    memset(text, 'x', sizeof text);
    memcpy(doc.session, bob, sizeof doc.session);
    CHECK_EQ(recall_add(r, &doc, text, sizeof text, &err), STORE_TOO_BIG);
    check_err(STORE_TOO_BIG, "1601");
    add(s, r, ada, 1, "one");
    CHECK_EQ(recall_add(r, &doc, text, 5, &err), RECALL_FULL);
    store_begin(s, STORE_CACHE);
    CHECK_EQ(recall_remove(r, ada, RECALL_MESSAGE, 1, &err), RECALL_FULL);
    store_abort(s);
    flush(s, r, ada, 2);
    recall_close(r);
    store_close(s);
}

/* Chunks of words by chance, each of `len` letters of the first `letters`, until the table is full: how many it took,
 * which are then there. */
static uint64_t fill_table(struct store *s, struct recall *r, size_t len, uint64_t letters)
{
    struct recall_doc doc = {.kind = RECALL_DOCUMENT, .session = "a session alone"};
    uint64_t seed = 5, n = 0, terms = 0;
    char text[RECALL_CHUNK];
    for (int rc = 0;;) {
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = i % (len + 1) == len ? ' ' : (char)('a' + rig_draw(&seed, letters));
        rc = recall_add(r, &doc, text, sizeof text, &err);
        if (rc == RECALL_FULL) break;
        OK(rc);
        n++;
        terms += (sizeof text + len) / (len + 1);
    }
    flush(s, r, doc.session, 1);
    CHECK_EQ(stat_of(r, doc.session).docs, n);
    CHECK_EQ(stat_of(r, doc.session).terms, terms);
    return n;
}

TEST(each_part_of_the_table_has_its_limit)
{
    static const struct { size_t len; uint64_t letters, least, most; } row[] = {
        {4, 26, 80, 102},   /* words of four letters, nearly all new: terms */
        {2, 26, 120, 200},  /* few words, about 370 in each chunk: postings */
        {60, 26, 300, 340}, /* long words: their bytes */
        {60, 1, 512, 512},  /* one word: chunks */
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct store *s = open_at(fresh_dir());
        struct recall *r = recall_at(s);
        uint64_t n = fill_table(s, r, row[i].len, row[i].letters);
        if (n < row[i].least || n > row[i].most)
            check_fail(__FILE__, __LINE__, "words of %zu letters: %llu chunks", row[i].len, (unsigned long long)n);
        recall_close(r);
        store_close(s);
    }
}

/* Characters that grow most when they are folded (test_fold.c looks for them): within the table, whatever they are. */
TEST(texts_that_grow_when_they_are_folded_stay_within_the_table)
{
    static const char *const worst[] = {"\u3316", "\ufdfa", "\u3316.", "a.", "\u3316 ", "x "};
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    for (int i = 0; i < 600; i++) {
        struct recall_doc doc = {.kind = RECALL_DOCUMENT, .id = (uint64_t)i};
        char text[RECALL_CHUNK];
        size_t n = 0, len = strlen(worst[i % 6]);
        while (n + len <= sizeof text) {
            memcpy(text + n, worst[i % 6], len);
            n += len;
        }
        add_text(s, r, &doc, text, n);
    }
    flush(s, r, (const uint8_t[STORE_SESSION_ID]){0}, 0);
    CHECK_EQ(stat_of(r, (const uint8_t[STORE_SESSION_ID]){0}).docs, 600);
    CHECK_EQ(search(r, "x", NULL)->term[0].docs, 100);
    recall_close(r);
    store_close(s);
}

/* ---------------------------------------------------------------- sessions, removing */

TEST(another_session_changes_nothing_in_one)
{
    uint64_t seed = 3;
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    static struct recall_result before;
    struct plain *p = some_corpus(&seed, 300, 30);
    for (size_t i = 0; i < p->n; i++) memcpy(p->doc[i].doc.session, ada, STORE_SESSION_ID);
    feed(s, r, p, &seed, 30);
    before = *search(r, "w1x1 w2x2 w40x1 10.1", ada);
    CHECK(before.n_hits > 10);
    for (size_t i = 0; i < p->n; i++) memcpy(p->doc[i].doc.session, bob, STORE_SESSION_ID);
    feed(s, r, p, &seed, 30);
    CHECK_MEM(&before, search(r, "w1x1 w2x2 w40x1 10.1", ada), sizeof before);
    CHECK_EQ(search(r, "w1x1", NULL)->docs, 600);
    store_begin(s, STORE_CACHE);
    OK(recall_forget(r, bob, &err));
    OK(store_commit(s, &err));
    CHECK_MEM(&before, search(r, "w1x1 w2x2 w40x1 10.1", ada), sizeof before);
    CHECK_EQ(search(r, "w1x1", bob)->docs, 0);
    CHECK_EQ(search(r, "w1x1", NULL)->docs, 300);
    free(p);
    recall_close(r);
    store_close(s);
}

/* In how many records of the cache the text lies. */
static int records_with(struct store *s, const char *text)
{
    struct store_place p = {.part = STORE_CACHE, .key = {{'K'}, 1}, .same = 1};
    uint8_t body[20000];
    size_t n;
    int found = 0;
    while (store_next(s, &p, REC_CACHE, body, sizeof body, &n, &err) == 0)
        found += memmem(body, n, text, strlen(text)) || memmem(p.key.byte, p.key.n, text, strlen(text));
    return found;
}

TEST(a_removed_text_leaves_at_the_merge)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    char text[100];
    for (uint64_t i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "common words%llu %s", (unsigned long long)i, i % 50 == 7 ? "saffron" : "");
        add(s, r, ada, i, text);
        if (i % 20 == 19) flush(s, r, ada, i + 1);
    }
    CHECK_EQ(search(r, "saffron", ada)->n_hits, 4);
    CHECK(records_with(s, "saffron") > 0);
    for (uint64_t i = 7; i < 200; i += 50) remove_text(s, r, ada, RECALL_MESSAGE, i);
    remove_text(s, r, ada, RECALL_MESSAGE, 5000);  /* is not there */
    remove_text(s, r, ada, RECALL_ARTIFACT, 8);    /* of another kind */
    CHECK_EQ(search(r, "saffron", ada)->n_hits, 0);
    CHECK_EQ(search(r, "words57", ada)->n_hits, 0);
    CHECK_EQ(search(r, "common", ada)->term[0].docs, 196);
    CHECK_EQ(stat_of(r, ada).docs, 196);
    CHECK(stat_of(r, ada).unclean > 0);
    merge_all(s, r, ada);
    CHECK_EQ(stat_of(r, ada).unclean, 0);
    CHECK_EQ(records_with(s, "saffron"), 0);
    CHECK_EQ(records_with(s, "Rx"), 0);
    CHECK_EQ(search(r, "common", ada)->term[0].docs, 196);
    CHECK_EQ(stat_of(r, ada).next, 200);
    for (uint64_t i = 0; i < 200; i++) remove_text(s, r, ada, RECALL_MESSAGE, i);
    merge_all(s, r, ada);
    CHECK_EQ(stat_of(r, ada).segments, 0);
    CHECK_EQ(records_with(s, "R"), 1); /* the figures */
    add(s, r, ada, 7, "saffron again");
    flush(s, r, ada, 201);
    CHECK_EQ(search(r, "saffron", ada)->n_hits, 1);
    recall_close(r);
    store_close(s);
}

/* More chunks than one record of removed ones has room for. */
TEST(a_text_of_many_chunks_is_removed_whole)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    for (uint32_t i = 0; i < 17000; i++) {
        struct recall_doc doc = {.kind = RECALL_DOCUMENT, .id = i % 1000 == 999 ? 2 : 1, .chunk = i};
        memcpy(doc.session, ada, sizeof doc.session);
        add_text(s, r, &doc, "a short one", 11);
    }
    flush(s, r, ada, 1);
    remove_text(s, r, ada, RECALL_DOCUMENT, 1);
    for (int merged = 0; merged < 2; merged++) {
        const struct recall_result *res = search(r, "short", ada);
        CHECK_EQ(res->damaged, 0);
        CHECK_EQ(res->term[0].docs, 17);
        CHECK_EQ(res->n_hits, 17);
        for (int i = 0; i < 17; i++) CHECK_EQ(res->hit[i].doc.chunk, 1000 * i + 999);
        merge_all(s, r, ada);
    }
    recall_close(r);
    store_close(s);
}

TEST(forgetting_a_session_leaves_no_record_of_it)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    add(s, r, ada, 1, "saffron");
    add(s, r, ada, 2, "saffron");
    flush(s, r, ada, 3);
    remove_text(s, r, ada, RECALL_MESSAGE, 1);
    add(s, r, ada, 3, "saffron in the table");
    store_begin(s, STORE_CACHE);
    OK(recall_forget(r, ada, &err));
    OK(store_commit(s, &err));
    CHECK_EQ(records_with(s, "R"), 0);
    flush(s, r, ada, 0);
    CHECK_EQ(search(r, "saffron", ada)->n_hits, 0);
    recall_close(r);
    store_close(s);
}

TEST(a_cache_that_was_deleted_is_filled_again_to_the_same)
{
    uint64_t seed = 8;
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    static struct recall_result before;
    struct plain *p = some_corpus(&seed, 300, 40);
    feed(s, r, p, &seed, 7);
    before = *search(r, "w1x1 w2x2 w30x0 w77x2", NULL);
    CHECK_EQ(before.n_hits, RECALL_K);
    OK(store_delete_session(s, bob, &err));
    recall_clear(r);
    CHECK_EQ(stat_of(r, ada).next, 0);
    CHECK_EQ(search(r, "w1x1", NULL)->docs, 0);
    feed(s, r, p, &seed, 100);
    CHECK_MEM(&before, search(r, "w1x1 w2x2 w30x0 w77x2", NULL), sizeof before);
    free(p);
    recall_close(r);
    store_close(s);
}

TEST(deleting_a_session_leaves_the_index_of_the_others)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct recall *r = recall_at(s);
    const struct store_key head[] = {store_key_session(ada), store_key_session(bob)};
    store_begin(s, STORE_JOURNAL);
    for (int i = 0; i < 2; i++) OK(store_put(s, &head[i], REC_SESSION, "title", 5, &err));
    OK(store_commit(s, &err));
    add(s, r, ada, 1, "saffronade in the pantry");
    flush(s, r, ada, 2);
    add(s, r, bob, 1, "zebra in the pantry");
    flush(s, r, bob, 2);
    CHECK(occurrences(dir, "saffronade") > 0);
    OK(store_delete_session(s, ada, &err));
    CHECK_EQ(occurrences(dir, "saffronade"), 0);
    CHECK_EQ(occurrences(dir, (const char *)ada), 0);
    CHECK_EQ(search(r, "pantry zebra", NULL)->n_hits, 1);
    CHECK_EQ(search(r, "zebra", bob)->n_hits, 1);
    CHECK_EQ(stat_of(r, bob).next, 2);
    CHECK_EQ(stat_of(r, ada).next, 0);
    CHECK_EQ(search(r, "saffronade", NULL)->unknown, 1);
    recall_close(r);
    OK(store_drop_session(s, ada, &err)); /* a wipe that is due is done at the next open, in the same way */
    store_close(s);
    s = open_at(dir);
    r = recall_at(s);
    CHECK_EQ(search(r, "zebra", bob)->n_hits, 1);
    recall_close(r);
    store_close(s);
}

/* ---------------------------------------------------------------- questions */

TEST(of_too_many_terms_the_rarest_are_asked)
{
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    struct buf text = {0};
    for (int i = 0; i < 60; i++) { /* t0 is in 60 chunks, t59 in one */
        buf_printf(&text, "t%d ", i);
        add(s, r, ada, (uint64_t)i, "");
    }
    for (int i = 0; i < 60; i++) {
        struct buf one = {0};
        for (int t = 0; t <= i; t++) buf_printf(&one, "t%d ", t);
        add(s, r, ada, (uint64_t)i + 100, one.data);
        buf_free(&one);
    }
    flush(s, r, ada, 1);
    const struct recall_result *res = search(r, text.data, ada);
    CHECK_EQ(res->n_terms, RECALL_TERMS);
    CHECK_EQ(res->left_out, 60 - RECALL_TERMS);
    for (int t = 0; t < RECALL_TERMS; t++) CHECK_EQ(res->term[t].docs, RECALL_TERMS - t);
    for (int i = 60; i < 1000; i++) buf_printf(&text, "t%d t%d ", i, i);
    res = search(r, text.data, ada);
    CHECK_EQ(res->unknown, RECALL_ASKED - 60);
    CHECK_EQ(res->left_out, 60 - RECALL_TERMS + 2 * (1000 - RECALL_ASKED));
    CHECK_EQ(search(r, "", ada)->n_hits, 0);
    CHECK_EQ(search(r, "t0 t0 T0", ada)->n_terms, 1);
    buf_free(&text);
    recall_close(r);
    store_close(s);
}

TEST(a_hit_of_any_writing_is_found_by_any_other)
{
    static const char *const pair[][2] = {
        {"Die Straße nach İzmir", "STRASSE IZMIR"}, {"três cafés", "Tres Cafe\u0301"}, {"東京都の水道", "京都"},
        {"see build/Night.log", "night"}, {"pressure was 3.5 bar", "3.5"}, {"ＧＰＵ Ａ１７", "gpu a17"},
        {"three pumps failed", "which pump"}, {"물고기를 잡다", "물고기"},
    };
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    for (size_t i = 0; i < COUNT_OF(pair); i++) add(s, r, ada, i, pair[i][0]);
    flush(s, r, ada, 8);
    for (size_t i = 0; i < COUNT_OF(pair); i++) {
        const struct recall_result *res = search(r, pair[i][1], ada);
        CHECK(res->n_hits >= 1);
        CHECK_EQ(res->hit[0].doc.id, i);
    }
    recall_close(r);
    store_close(s);
}

/* ---------------------------------------------------------------- size */

TEST(twenty_thousand_chunks_are_fed_merged_and_searched)
{
    uint64_t seed = 99;
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    for (uint64_t i = 0; i < 20000; i++) {
        char text[900];
        int at = snprintf(text, sizeof text, "everywhere rare%llu ", (unsigned long long)i);
        some_words(&seed, 60, text + at, sizeof text - (size_t)at);
        add(s, r, ada, i, text);
    }
    flush(s, r, ada, 20000);
    merge_all(s, r, ada);
    struct recall_stat st = stat_of(r, ada);
    CHECK_EQ(st.docs, 20000);
    CHECK(st.segments < 20);
    CHECK(st.bytes < (uint64_t)20000 * 500);
    for (uint64_t i = 0; i < 20000; i += 1371) {
        char text[60];
        snprintf(text, sizeof text, "everywhere rare%llu", (unsigned long long)i);
        const struct recall_result *res = search(r, text, i % 2 ? ada : NULL);
        CHECK_EQ(res->damaged, 0);
        CHECK_EQ(res->term[0].docs, 20000);
        CHECK_EQ(res->term[1].docs, 1);
        CHECK_EQ(res->hit[0].doc.id, i);
        CHECK(res->hit[0].share[1] > 100 * res->hit[0].share[0]); /* what is everywhere weighs next to nothing */
    }
    recall_close(r);
    store_close(s);
}

CHECK_MAIN
