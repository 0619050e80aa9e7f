/* test_recall_text.c - where texts are cut, and what of a chunk is quoted. */
#include "tests/recall_rig.h"

/* ---------------------------------------------------------------- chunks */

/* Every byte is in a chunk, none is larger than it may be, and they overlap as they should. */
static size_t check_chunks(const char *text, size_t n, bool is_utf8)
{
    size_t at = 0, count = 0, end = 0;
    for (;;) {
        size_t next, len = recall_chunk(text + at, n - at, &next);
        count++;
        CHECK(len <= RECALL_CHUNK && len <= n - at && at <= end);
        end = at + len;
        if (is_utf8) CHECK(at == n || (text[at] & 0xc0) != 0x80);
        if (is_utf8) CHECK(end == n || (text[end] & 0xc0) != 0x80);
        if (at + next == n) break;
        CHECK(next > 0 && next <= len && len - next <= RECALL_OVERLAP && len > RECALL_CHUNK * 2 / 3 - 4);
        at += next;
    }
    CHECK_EQ(end, n);
    return count;
}

static char *filled(const char *with, size_t n)
{
    char *text = malloc(n + 1);
    CHECK(text != NULL);
    for (size_t i = 0; i < n; i++) text[i] = with[i % strlen(with)];
    text[n] = '\0';
    return text;
}

TEST(texts_are_cut_into_chunks_that_overlap)
{
    static const char *const with[] = {"word and word ", "x", "line of a log, 17\n", "a\n", " ", "é", "東京", "🚀",
                                       "\x80"};
    for (size_t i = 0; i < COUNT_OF(with); i++)
        for (size_t n = 0; n < 20000; n += n < 4000 ? 67 : 1601) {
            size_t whole = strlen(with[i]) ? n / strlen(with[i]) * strlen(with[i]) : n;
            char *text = filled(with[i], whole);
            size_t count = check_chunks(text, whole, i != 8);
            CHECK_EQ(count > 1, whole > RECALL_CHUNK);
            free(text);
        }
}

TEST(a_cut_is_behind_a_line_or_a_blank_where_there_is_one)
{
    char *text = filled("x", 3000);
    size_t next;
    CHECK_EQ(recall_chunk(text, 3000, &next), RECALL_CHUNK);
    CHECK_EQ(next, RECALL_CHUNK - RECALL_OVERLAP);
    text[1500] = ' ';
    CHECK_EQ(recall_chunk(text, 3000, &next), 1501);
    text[1480] = ' ';
    CHECK_EQ(recall_chunk(text, 3000, &next), 1501);
    CHECK_EQ(next, 1481); /* the word before is there again */
    text[1100] = '\n';
    CHECK_EQ(recall_chunk(text, 3000, &next), 1101);
    text[1100] = 'x';
    text[100] = '\n'; /* too far away */
    CHECK_EQ(recall_chunk(text, 3000, &next), 1501);
    CHECK_EQ(recall_chunk(text, RECALL_CHUNK, &next), RECALL_CHUNK);
    CHECK_EQ(next, RECALL_CHUNK);
    /* No more than is said is looked at. */
    char *exact = malloc(RECALL_CHUNK);
    memcpy(exact, text, RECALL_CHUNK);
    CHECK_EQ(recall_chunk(exact, 1 << 30, &next), 1501);
    memset(exact, 0x80, RECALL_CHUNK);
    CHECK_EQ(recall_chunk(exact, 1 << 30, &next), RECALL_CHUNK);
    CHECK(next >= RECALL_CHUNK - RECALL_OVERLAP && next < RECALL_CHUNK);
    free(exact);
    free(text);
}

TEST(random_bytes_are_cut_within_the_same_limits)
{
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        size_t n = rig_draw(&seed, 9000);
        char *text = malloc(n + 1);
        for (size_t i = 0; i < n; i++) text[i] = (char)(rig_draw(&seed, 6) ? 0x80 | rig_draw(&seed, 128) : ' ');
        check_chunks(text, n, false);
        free(text);
    }
}

/* ---------------------------------------------------------------- the window */

static struct recall_result terms(const char *const *word, const double *idf, int n)
{
    struct recall_result res = {.n_terms = n};
    for (int i = 0; i < n; i++) {
        res.term[i].n = strlen(word[i]);
        memcpy(res.term[i].bytes, word[i], strlen(word[i]));
        res.term[i].idf = idf[i];
    }
    return res;
}

static const char *window(struct recall *r, const struct recall_result *res, const char *text, size_t most)
{
    static char out[RECALL_CHUNK + 1];
    size_t at, len, n = strlen(text);
    recall_window(r, res, text, n, most, &at, &len);
    CHECK(len <= most && at <= n && len <= n - at);
    memcpy(out, text + at, len);
    out[len] = '\0';
    return out;
}

TEST(a_window_holds_the_heaviest_terms_that_fit)
{
    static const char *const word[] = {"pump", "valve", "tank", "strasse"};
    static const double idf[] = {1, 2, 4, 8};
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    struct recall_result res = terms(word, idf, 4);
    static const char text[] =
        "the pump, a pump, the pump and the pump are near; far away there are Valves and that is it; but a tank is "
        "behind it, and the end is in the Straße of another";
    CHECK_STR(window(r, &res, text, 1000), text);
    CHECK_STR(window(r, &res, text, 7), "Straße"); /* the heaviest, all its letters */
    CHECK_STR(window(r, &res, text, 4), "tank");
    CHECK(strstr(window(r, &res, text, 50), "tank") && strstr(window(r, &res, text, 50), "Straße"));
    const char *some = window(r, &res, text, 100);
    CHECK(strstr(some, "Valves") && strstr(some, "tank") && strstr(some, "Straße") && !strstr(some, "pump"));
    CHECK_STR(window(r, &res, "nothing of it is here", 12), "nothing of");
    CHECK_STR(window(r, &res, "", 12), "");
    CHECK_STR(window(r, &res, text, 0), "");
    CHECK_STR(window(r, &res, "東京都", 2), "");
    CHECK_STR(window(r, &res, "東京都", 4), "東");
    recall_close(r);
    store_close(s);
}

TEST(a_window_has_whole_characters_and_the_terms_that_it_was_made_for)
{
    static const char *const piece[] = {"w1x1 ", "w2x2.", "10.1 ", "é", "東京 ", "of ", "🚀", "x-"};
    static const char *const word[] = {"w1x1", "w2x2", "10.1"};
    static const double idf[] = {1, 1.5, 3};
    uint64_t seed = 17;
    struct store *s = open_at(fresh_dir());
    struct recall *r = recall_at(s);
    struct recall_result res = terms(word, idf, 3);
    for (int round = 0; round < 3000; round++) {
        char text[RECALL_CHUNK];
        size_t n = 0, at, len;
        while (n + 40 < sizeof text && rig_draw(&seed, 60))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                                  piece[rig_draw(&seed, COUNT_OF(piece))]);
        size_t most = 10 + rig_draw(&seed, 200);
        recall_window(r, &res, text, n, most, &at, &len);
        CHECK(len <= most && at <= n && len <= n - at && (len > 0 || n == 0));
        CHECK((at == n || (text[at] & 0xc0) != 0x80) && (at + len == n || (text[at + len] & 0xc0) != 0x80));
        struct plain_terms in = plain_fold(text + at, len), all = plain_fold(text, n);
        if (plain_tf(&all, res.term[2].bytes, res.term[2].n)) /* weighs more than the others together */
            CHECK(plain_tf(&in, res.term[2].bytes, res.term[2].n) > 0);
        plain_free(&in);
        plain_free(&all);
    }
    recall_close(r);
    store_close(s);
}

CHECK_MAIN
