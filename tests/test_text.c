/* test_text.c - the text stream: whole characters, no stop string, and the same however the stream was cut. */
#include "engine/text.h"

#include "tests/check.h"

/* ---------------------------------------------------------------- helpers */

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static struct text begin(const char *const *stops, int n)
{
    struct text t;
    struct err err = {0};
    if (text_init(&t, stops, n, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return t;
}

/* Feed bytes in pieces of at most `most` (drawn), each into a block of exactly text_room(); then finish.  Appends to
 * out; which stop ended it. */
static int stream(const char *const *stops, int n_stops, const char *bytes, size_t n, uint32_t most, uint32_t seed,
                  struct buf *out)
{
    struct text t = begin(stops, n_stops);
    for (size_t at = 0; at < n;) {
        size_t len = 1 + draw(&seed) % most;
        len = MIN(len, n - at);
        char *room = malloc(text_room(len));
        CHECK(room != NULL);
        size_t wrote = text_feed(&t, bytes + at, len, room);
        CHECK(wrote <= text_room(len));
        CHECK_EQ(text_valid_utf8(room, wrote), wrote); /* each step's output is whole characters */
        buf_put(out, room, wrote);
        free(room);
        at += len;
    }
    char end[TEXT_HOLD + 16];
    size_t wrote = text_finish(&t, end);
    CHECK(wrote <= text_room(0));
    buf_put(out, end, wrote);
    CHECK_EQ(text_finish(&t, end), 0);
    return t.stopped;
}

static const char *all(const char *bytes, size_t n)
{
    static struct buf out;
    out.len = 0;
    CHECK_EQ(stream(NULL, 0, bytes, n, 1, 1, &out), -1);
    if (out.len) out.data[out.len] = '\0';
    return out.len ? out.data : "";
}

#define BAD "\xef\xbf\xbd"
#define CHECK_SHOWN(bytes, want) CHECK_STR(all(bytes, sizeof(bytes) - 1), want)

/* ---------------------------------------------------------------- characters */

TEST(whole_characters_pass_as_they_are)
{
    CHECK_SHOWN("", "");
    CHECK_SHOWN("plain", "plain");
    CHECK_SHOWN("\xc3\xa9\xe4\xbd\xa0\xf0\x9f\xa6\x99\xf4\x8f\xbf\xbf",
                "\xc3\xa9\xe4\xbd\xa0\xf0\x9f\xa6\x99\xf4\x8f\xbf\xbf");
    CHECK_SHOWN("\xee\x80\x80\xed\x9f\xbf\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80",
                "\xee\x80\x80\xed\x9f\xbf\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80");
}

/* The Unicode Standard, section 3.9, tables 3-8 to 3-11: a maximal subpart is one U+FFFD. */
TEST(what_is_no_character_becomes_one_replacement_for_each_maximal_part)
{
    CHECK_SHOWN("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82" "A", BAD BAD BAD BAD BAD BAD BAD BAD "A");
    CHECK_SHOWN("\xed\xa0\x80\xed\xbf\xbf\xed\xaf" "A", BAD BAD BAD BAD BAD BAD BAD BAD "A");
    CHECK_SHOWN("\xf4\x91\x92\x93\xff" "A\x80\xbf" "B", BAD BAD BAD BAD BAD "A" BAD BAD "B");
    CHECK_SHOWN("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf" "A", BAD BAD BAD BAD "A");
    CHECK_SHOWN("\xc3\xc3\xa9\xf5\xc1", BAD "\xc3\xa9" BAD BAD);
}

TEST(an_unfinished_character_waits_and_is_replaced_only_at_the_end)
{
    struct text t = begin(NULL, 0);
    char out[160];
    CHECK_EQ(text_feed(&t, "a\xf0\x9f", 3, out), 1);
    CHECK_EQ(text_feed(&t, "\xa6", 1, out), 0);
    CHECK_EQ(text_feed(&t, "\x99", 1, out), 4);
    CHECK_MEM(out, "\xf0\x9f\xa6\x99", 4);
    CHECK_EQ(text_feed(&t, "\xe4\xbd", 2, out), 0);
    CHECK_EQ(text_finish(&t, out), 3);
    CHECK_MEM(out, BAD, 3);
}

TEST(the_valid_prefix_ends_before_the_first_bad_or_unfinished_character)
{
    CHECK_EQ(text_valid_utf8("", 0), 0);
    CHECK_EQ(text_valid_utf8("ab\xc3\xa9", 4), 4);
    CHECK_EQ(text_valid_utf8("ab\xc3", 3), 2);
    CHECK_EQ(text_valid_utf8("\xff" "ab", 3), 0);
    CHECK_EQ(text_valid_utf8("a\xed\xa0\x80", 4), 1);
    CHECK_EQ(text_valid_utf8("a\0b", 3), 3);
    CHECK_EQ(text_valid_utf8("a\xe0\x9f\xbf", 4), 1);
    CHECK_EQ(text_valid_utf8("\xf4\x90\x80\x80", 4), 0);
}

/* ---------------------------------------------------------------- stop strings */

static const char *until(const char *const *stops, int n_stops, const char *text, int *stopped)
{
    static struct buf out;
    out.len = 0;
    *stopped = stream(stops, n_stops, text, strlen(text), 1, 1, &out);
    return out.len ? out.data : "";
}
#define CHECK_UNTIL(text, want, which, ...)                                                       \
    do {                                                                                          \
        const char *const stops_[] = {__VA_ARGS__};                                               \
        int stopped_;                                                                             \
        CHECK_STR(until(stops_, (int)COUNT_OF(stops_), text, &stopped_), want);                   \
        CHECK_EQ(stopped_, which);                                                                \
    } while (0)

TEST(text_ends_before_a_stop_string)
{
    CHECK_UNTIL("hello STOP more", "hello ", 0, "STOP");
    CHECK_UNTIL("STOP", "", 0, "STOP");
    CHECK_UNTIL("no such", "no such", -1, "STOP");
    CHECK_UNTIL("a\nUser: b", "a", 1, "\n\n", "\nUser:");
    CHECK_UNTIL("\xe4\xbd\xa0\xe5\xa5\xbd!", "\xe4\xbd\xa0", 0, "\xe5\xa5\xbd");
}

TEST(stop_strings_that_overlap_with_themselves_are_found)
{
    CHECK_UNTIL("aaab", "a", 0, "aab");
    CHECK_UNTIL("aaaaaab", "aaaa", 0, "aab");
    CHECK_UNTIL("abababc", "ab", 0, "ababc");
    CHECK_UNTIL("xabxabcabxaby", "xabxabc", 0, "abxaby");
}

TEST(of_several_stop_strings_the_one_that_is_complete_first_counts)
{
    CHECK_UNTIL("abcd", "a", 1, "abcd", "bc");
    CHECK_UNTIL("xaab", "x", 1, "ab", "aab"); /* they end together: the one that began first */
    CHECK_UNTIL("abc", "", 0, "ab", "abc");
}

TEST(a_tail_that_may_become_a_stop_string_is_held_and_released_when_it_does_not)
{
    const char *const stops[] = {"<|end|>", "\n\n"};
    struct text t = begin(stops, 2);
    char out[160];
    CHECK_EQ(text_feed(&t, "a<|e", 4, out), 1);
    CHECK_EQ(text_feed(&t, "nd", 2, out), 0);
    CHECK_EQ(text_feed(&t, "!", 1, out), 6);
    CHECK_MEM(out, "<|end!", 6);
    CHECK_EQ(text_feed(&t, "\n", 1, out), 0);
    CHECK_EQ(text_feed(&t, "b\n", 2, out), 2);
    CHECK_MEM(out, "\nb", 2);
    CHECK_EQ(text_finish(&t, out), 1); /* the stream ends: what was held comes out */
    CHECK_MEM(out, "\n", 1);
    CHECK_EQ(t.stopped, -1);
}

TEST(after_a_stop_string_nothing_more_comes)
{
    const char *const stops[] = {"."};
    struct text t = begin(stops, 1);
    char out[160];
    CHECK_EQ(text_feed(&t, "ab.cd\xff", 6, out), 2);
    CHECK_EQ(t.stopped, 0);
    CHECK_EQ(text_feed(&t, "more\xe4", 5, out), 0);
    CHECK_EQ(text_finish(&t, out), 0);
}

TEST(a_replacement_character_can_be_a_stop_string)
{
    CHECK_UNTIL("ab\xff" "cd", "ab", 0, BAD);
    CHECK_UNTIL("ab\xe4\xbd", "ab", 0, BAD); /* only the end of the stream tells */
}

TEST(stop_strings_of_the_greatest_length_fit)
{
    char stop[TEXT_STOP_LEN + 2], text[3 * TEXT_STOP_LEN];
    memset(stop, 'a', sizeof stop);
    stop[TEXT_STOP_LEN] = '\0';
    memset(text, 'a', TEXT_STOP_LEN - 1);
    memcpy(text + TEXT_STOP_LEN - 1, "\xf0\x9f\xa6\x99", 4);
    memset(text + TEXT_STOP_LEN + 3, 'a', TEXT_STOP_LEN);
    text[2 * TEXT_STOP_LEN + 3] = '\0';
    int stopped;
    CHECK_EQ(strlen(until((const char *const[]){stop}, 1, text, &stopped)), TEXT_STOP_LEN + 3);
    CHECK_EQ(stopped, 0);
}

TEST(impossible_stop_strings_are_refused_with_their_number)
{
    char longer[TEXT_STOP_LEN + 2];
    memset(longer, 'a', sizeof longer);
    longer[TEXT_STOP_LEN + 1] = '\0';
    const char *const many[TEXT_STOPS + 1] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    struct text t;
    struct err err = {0};
    CHECK_EQ(text_init(&t, many, 10, &err), -1);
    CHECK(strstr(err.text, "10 stop strings") != NULL);
    CHECK_EQ(text_init(&t, many, 9, &err), 0);
    CHECK_EQ(text_init(&t, (const char *const[]){"a", ""}, 2, &err), -1);
    CHECK(strstr(err.text, "stop string 2 is empty") != NULL);
    CHECK_EQ(text_init(&t, (const char *const[]){longer}, 1, &err), -1);
    CHECK(strstr(err.text, "65 bytes") != NULL);
    CHECK_EQ(text_init(&t, (const char *const[]){"ok", "a\xe4\xbd"}, 2, &err), -1);
    CHECK(strstr(err.text, "stop string 2 is not UTF-8") != NULL);
    CHECK_EQ(text_init(&t, many, -1, &err), -1);
}

/* ---------------------------------------------------------------- any stream, cut anywhere */

static void random_bytes(uint32_t *state, struct buf *out)
{
    static const char *const part[] = {
        "a", "b", "ab", "aab", "\n", "<|", "|>", "x", "\xc3\xa9", "\xe4\xbd\xa0", "\xf0\x9f\xa6\x99", "\xe4", "\xbd",
        "\xf0\x9f", "\xff", "\xed\xa0\x80", "\xc3",
    };
    for (uint32_t n = draw(state) % 60; n > 0; n--) {
        if (draw(state) % 8 == 0) buf_put(out, &(char){(char)draw(state)}, 1);
        else buf_puts(out, part[draw(state) % COUNT_OF(part)]);
    }
}

/* The slow truth: the whole text sanitised, then searched from the front for what is complete first. */
static int naive(const char *const *stops, int n_stops, const struct buf *clean, size_t *length)
{
    for (size_t end = 1; end <= clean->len; end++) {
        int found = -1;
        for (int i = 0; i < n_stops; i++) {
            size_t n = strlen(stops[i]);
            if (n > end || memcmp(clean->data + end - n, stops[i], n) != 0) continue;
            if (found < 0 || n > strlen(stops[found])) found = i;
        }
        if (found < 0) continue;
        *length = end - strlen(stops[found]);
        return found;
    }
    *length = clean->len;
    return -1;
}

TEST(any_stream_cut_anywhere_gives_what_the_whole_gives)
{
    static const char *const sets[][3] = {
        {"aab"}, {"ab", "aab", "b\n"}, {"<||>", "\xc3\xa9\xc3\xa9", BAD BAD}, {"\n\n", "x"}, {NULL}};
    uint32_t state = 3;
    for (int i = 0; i < 2000; i++) {
        const char *const *stops = sets[draw(&state) % COUNT_OF(sets)];
        int n_stops = 0;
        while (n_stops < 3 && stops[n_stops]) n_stops++;
        struct buf bytes = {0}, clean = {0};
        random_bytes(&state, &bytes);
        stream(NULL, 0, bytes.data, bytes.len, 1, 1, &clean);
        CHECK_EQ(text_valid_utf8(clean.data, clean.len), clean.len);
        size_t length;
        int want = naive(stops, n_stops, &clean, &length);
        for (uint32_t most = 1; most <= 64; most *= 4) {
            struct buf got = {0};
            CHECK_EQ(stream(stops, n_stops, bytes.data, bytes.len, most, draw(&state), &got), want);
            CHECK_EQ(got.len, length);
            CHECK_MEM(got.data, clean.data, length);
            buf_free(&got);
        }
        buf_free(&bytes);
        buf_free(&clean);
    }
}

CHECK_MAIN
