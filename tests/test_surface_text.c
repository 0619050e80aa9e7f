/* Clusters and lines: what is shown of a text, how wide it is, and where it is wrapped. */
#include "tests/check.h"
#include "tests/surface_props.h"
#include "tests/tiny_model.h"
#include <limits.h>
#include <locale.h>
#include <wchar.h>

#define BAD "\xef\xbf\xbd"

/* ------------------------------------------------------------------ what is shown of a text */

/* A text as its clusters, "bytes:columns:shown" and a bar between two. */
static const char *clusters(const char *text, size_t n)
{
    static struct buf out;
    out.len = 0;
    buf_puts(&out, "");
    int column = 0;
    for (size_t at = 0; at < n;) {
        struct cluster c = surface_cluster(text + at, n - at, column);
        buf_printf(&out, "%s%zu:%d:%s", at ? "|" : "", c.bytes, c.columns, c.text);
        column += c.columns;
        at += c.bytes;
    }
    return out.data;
}

static void shows(const char *text, const char *want)
{
    CHECK_STR(clusters(text, strlen(text)), want);
    CHECK_STR(text_props(text, strlen(text)), NULL);
}

TEST(text_of_many_scripts_is_cut_into_what_a_person_calls_a_character)
{
    shows("ab", "1:1:a|1:1:b");
    shows("日本", "3:2:日|3:2:本");
    shows("ｆ", "3:2:ｆ");
    shows("e\u0301x", "3:1:é|1:1:x");
    shows("q\u0323\u0307", "5:1:q\u0323\u0307");
    shows("\u1112\u1161\u11ab\u1112", "9:2:\ud55c|3:2:\u1112"); /* a file's name from another system */
    shows("น้ำ", "6:1:น้|3:1:ำ");
    shows("שלום", "2:1:ש|2:1:ל|2:1:ו|2:1:ם");
    shows("بِ", "4:1:بِ");
    shows("┃█…", "3:1:┃|3:1:█|3:1:…");
    shows("\U0001f525!", "4:2:\U0001f525|1:1:!");
}

TEST(what_width_tables_disagree_on_is_its_base_or_a_replacement)
{
    shows("\U0001f468\u200d\U0001f469\u200d\U0001f467x", "18:2:\U0001f468|1:1:x");
    shows("\U0001f44d\U0001f3fd", "8:2:\U0001f44d");
    shows("\u2764\ufe0f!", "6:1:\u2764|1:1:!");
    shows("1\ufe0f\u20e3.", "7:1:1|1:1:.");
    shows("\U0001f1e9\U0001f1ea\U0001f1eb", "8:1:" BAD "|4:1:" BAD);
    shows("ते", "6:1:ते");
    shows("का", "6:1:क"); /* a vowel sign: 0 columns here, 1 there */
    shows("\u0301x", "2:1:" BAD "|1:1:x");
    shows("\u1161", "3:1:" BAD);
    shows("\u4dc0\u2630\u3248\u268a\ud7b0", "3:1:" BAD "|3:1:" BAD "|3:1:" BAD "|3:1:" BAD "|3:1:" BAD);
    shows("\U0001d300\U0001d360\U0001f3fb", "4:1:" BAD "|8:1:" BAD);
    shows("\U0001f468\u200d\U0001f469\u0301", "13:2:\U0001f468"); /* the mark is the other's */
    shows("\U0001f3fb", "4:1:" BAD);
    shows("\U0001f468\u200d\u0301", "9:2:\U0001f468\u0301"); /* nothing was joined */
    shows("\u0600x", "2:1:" BAD "|1:1:x");
    shows("\u0378\uffff", "2:1:" BAD "|3:1:" BAD);
}

TEST(what_a_terminal_would_obey_is_a_replacement)
{
    shows("\x1b[2J", "1:1:" BAD "|1:1:[|1:1:2|1:1:J");
    shows("\x1b]0;t\x07", "1:1:" BAD "|1:1:]|1:1:0|1:1:;|1:1:t|1:1:" BAD);
    shows("\x7f\x01", "1:1:" BAD "|1:1:" BAD);
    shows("\xc2\x9b" "2J\xc2\x85", "2:1:" BAD "|1:1:2|1:1:J|2:1:" BAD);
    shows("\x9b", "1:1:" BAD);
    shows("\u202ea\u2066\u2069", "3:1:" BAD "|1:1:a|3:1:" BAD "|3:1:" BAD);
    shows("\u2028\u2029", "3:1:" BAD "|3:1:" BAD);
    shows("a\U000e0041\U000e0042b", "1:1:a|8:1:" BAD "|1:1:b"); /* hidden letters: one, and it is seen */
    shows("\x1b\u0301", "1:1:" BAD "|2:1:" BAD);
    CHECK_STR(clusters("\0a", 2), "1:1:" BAD "|1:1:a");
}

TEST(what_is_never_seen_takes_no_column)
{
    shows("\u200b\u200f\u061c\ufeff\u2060", "3:0:|3:0:|2:0:|3:0:|3:0:");
    shows("co\u00adop", "1:1:c|1:1:o|2:0:|1:1:o|1:1:p");
    shows("a\u200d\u200cb", "7:1:a|1:1:b");
    shows("\u200d", "3:0:");
    shows("\u200d\u0301", "5:1:" BAD);
}

TEST(newlines_and_tabs_are_clusters_of_their_own)
{
    shows("a\tb\t\t", "1:1:a|1:3:|1:1:b|1:3:|1:4:");
    shows("a\nb", "1:1:a|1:0:|1:1:b");
    shows("a\r\nb\rc", "1:1:a|2:0:|1:1:b|1:1:" BAD "|1:1:c");
    shows("\n\u0301", "1:0:|2:1:" BAD);
    CHECK_EQ(surface_columns("a\t日\nlonger than it", 18), 6);
    CHECK_EQ(surface_columns("abc\r\n", 5), 3);
    CHECK_EQ(surface_columns("", 0), 0);
}

TEST(bytes_that_are_no_utf8_are_one_replacement_for_each_maximal_part)
{
    shows("\xe2\x82z", "2:1:" BAD "|1:1:z");
    shows("\xf0\x9f\x98", "3:1:" BAD);
    shows("\xf0\x80\x80", "1:1:" BAD "|1:1:" BAD "|1:1:" BAD);
    shows("\xed\xa0\x80", "1:1:" BAD "|1:1:" BAD "|1:1:" BAD); /* a surrogate */
    shows("\xc0\xaf\xff", "1:1:" BAD "|1:1:" BAD "|1:1:" BAD);
    shows("\xf4\x90\x80\x80", "1:1:" BAD "|1:1:" BAD "|1:1:" BAD "|1:1:" BAD);
    shows("\xe0\xa4", "2:1:" BAD);
    shows("\xc3\u0301", "1:1:" BAD "|2:1:" BAD);
}

TEST(a_flood_of_marks_is_one_cell)
{
    struct buf text = {0};
    buf_puts(&text, "Z");
    for (int i = 0; i < 100000; i++) buf_puts(&text, i % 2 ? "\u0301" : "\u0489");
    buf_puts(&text, "x");
    struct cluster c = surface_cluster(text.data, text.len, 0);
    CHECK_EQ(c.bytes, text.len - 1);
    CHECK_EQ(c.columns, 1);
    CHECK_EQ(surface_columns(text.data, text.len), 2);
    text.len = 1;
    for (int i = 0; i < 100; i++) buf_puts(&text, "\U0001d167"); /* ... of four bytes each */
    c = surface_cluster(text.data, text.len, 0);
    CHECK_EQ(c.bytes, text.len);
    CHECK_STR(c.text, "Z\U0001d167\U0001d167\U0001d167");
    text.len = 1;
    for (int i = 0; i < 100; i++) buf_puts(&text, "\u0323");
    CHECK_STR(surface_cluster(text.data, text.len, 0).text, "\u1e92\u0323\u0323\u0323\u0323");
    buf_free(&text);
}

TEST(every_character_alone_is_shown_unchanged_or_replaced)
{
    for (int32_t code = 0x20; code < 0x110000; code++) {
        char text[4];
        if (code >= 0xd800 && code < 0xe000) continue;
        size_t n = (size_t)utf8proc_encode_char(code, (uint8_t *)text);
        const char *bad = cluster_props(text, n, 0);
        struct cluster c = surface_cluster(text, n, 0);
        bool same = strlen(c.text) == n && memcmp(c.text, text, n) == 0;
        if (!bad && !same && c.columns && strcmp(c.text, BAD) != 0) bad = "itself, or a replacement";
        if (bad || c.bytes != n) check_fail(__FILE__, __LINE__, "U+%04X: %s", (unsigned)code, bad ? bad : "cut");
    }
}

/* The C library has a table of its own: another hand's, if often of another year. */
TEST(widths_are_those_of_the_c_library)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8") || wcwidth(L'日') != 2) SKIP("this system has no locale C.UTF-8");
    int agreed = 0, others = 0;
    for (int32_t code = 0x20; code < 0x110000; code++) {
        char text[4];
        if (code >= 0xd800 && code < 0xe000) continue;
        struct cluster c = surface_cluster(text, (size_t)utf8proc_encode_char(code, (uint8_t *)text), 0);
        int want = wcwidth((wchar_t)code);
        if (want < 0 || c.columns == 0 || strcmp(c.text, BAD) == 0) continue;
        agreed += c.columns == want;
        others += c.columns != want;
    }
    setlocale(LC_CTYPE, "C");
    CHECK(agreed > 200000);
    CHECK(others <= 16); /* other years */
}

/* ------------------------------------------------------------------ random text */

static const char *const piece[] = {
    "a", "b", "Word", " ", " ", "  ", "\t", "\n", "\r\n", "\r", "日", "本", "。", "é", "e\u0301", "\u0301", "\u0323",
    "\u200d", "\u200b", "\ufe0f", "\U0001f468", "\U0001f469", "\U0001f3fd", "\U0001f1e9", "\U000e0041", "\u1112",
    "\u1161", "\u11ab", "क", "\u093e", "\u094d", "ำ", "\u0600", "ש", "ب", "\u202e", "\x1b", "\xc2\x9b", "\xff", "\xe2",
    "\x82", "\xf0\x9f", "─", "\u20e3", "\U0001d167", "-", "supercalifragilistic", "\u00ad", "\u3099", "か",
};

static size_t random_text(uint32_t *seed, char *text, size_t room)
{
    int pieces = tiny_below(seed, 40);
    bool words = tiny_below(seed, 2); /* mostly words, or anything */
    size_t n = 0;
    for (int i = 0; i < pieces; i++) {
        int from = words && tiny_below(seed, 8) ? 12 : (int)COUNT_OF(piece);
        const char *p = piece[tiny_below(seed, from)];
        if (n + strlen(p) > room) break;
        memcpy(text + n, p, strlen(p));
        n += strlen(p);
    }
    return n;
}

TEST(random_text_keeps_the_rules_of_clusters)
{
    uint32_t seed = 1;
    char text[512];
    for (int round = 0; round < 20000; round++) {
        size_t n = random_text(&seed, text, sizeof text);
        CHECK_STR(text_props(text, n), NULL);
    }
}

/* In a block of its own size, so that a sanitizer sees a byte read behind it; and what stands there must not matter. */
TEST(bytes_behind_the_text_are_not_read)
{
    static const char *const tail[] = {"\u0301\u0301", "\x80\x80\x80\x80", "\n\n\n\n", "\u200d\U0001f469", "aaaa"};
    uint32_t seed = 2;
    char text[512];
    for (int round = 0; round < 2000; round++) {
        size_t n = random_text(&seed, text, sizeof text - 16);
        char *exact = malloc(n + !n);
        CHECK(exact != NULL);
        memcpy(exact, text, n);
        struct buf want = {0};
        buf_puts(&want, clusters(exact, n));
        size_t line = surface_break(exact, n, 9);
        free(exact);
        for (size_t i = 0; i < COUNT_OF(tail); i++) {
            memcpy(text + n, tail[i], strlen(tail[i]) + 1);
            CHECK_STR(clusters(text, n), want.data);
            CHECK_EQ(surface_break(text, n, 9), line);
        }
        buf_free(&want);
    }
}

/* ------------------------------------------------------------------ lines */

static void wraps(const char *text, int columns, const char *want)
{
    struct buf out = {0};
    for (size_t at = 0, n = strlen(text), k; at < n; at += k) {
        k = surface_break(text + at, n - at, columns);
        buf_puts(&out, "|");
        for (size_t i = at; i < at + k; i++) buf_puts(&out, (char[]){text[i] == '\n' ? '$' : text[i], '\0'});
    }
    CHECK_STR(out.data, want);
    CHECK_STR(break_props(text, strlen(text), columns), NULL);
    buf_free(&out);
}

TEST(lines_end_behind_blanks_or_within_a_word_that_is_longer)
{
    wraps("the quick fox", 9, "|the quick |fox");
    wraps("the quick fox", 8, "|the |quick |fox");
    wraps("one   two", 4, "|one   |two");
    wraps("supercalifragilistic x", 8, "|supercal|ifragili|stic x");
    wraps("a\n\nb\n", 8, "|a$|$|b$");
    wraps("abcd\nx", 4, "|abcd$|x"); /* no empty line between */
    wraps("abcd  \nx", 4, "|abcd  $|x");
    wraps("    indented", 8, "|    |indented");
    wraps("a\tb", 4, "|a\t|b");
    wraps("日本語日本", 5, "|日本|語日|本");
    wraps("ab 日本語x", 6, "|ab 日|本語x");
    wraps("日x", 1, "|日|x");
    wraps("ab\u0301c", 2, "|ab\u0301|c");
    wraps("abc", 0, "|a|b|c");
    wraps("abc", INT_MIN, "|a|b|c");
    wraps("abc def", INT_MAX, "|abc def");
}

TEST(random_text_is_wrapped_as_one_judges_border_by_border)
{
    uint32_t seed = 3;
    char text[512];
    for (int round = 0; round < 40000; round++) {
        size_t n = random_text(&seed, text, sizeof text);
        CHECK_STR(break_props(text, n, 1 + tiny_below(&seed, 40)), NULL);
    }
}

CHECK_MAIN
