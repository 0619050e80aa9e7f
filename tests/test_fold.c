/* test_fold.c - text to terms: what is the same to a person is the same term. */
#include "memory/fold.h"
#include "tests/check.h"
#include <utf8proc.h>

static void note(void *self, const struct fold_term *t)
{
    buf_printf(self, "%s%.*s", ((struct buf *)self)->len ? "|" : "", (int)t->n, (const char *)t->bytes);
}

static const char *folded(const char *text, size_t n)
{
    static struct buf out;
    out.len = 0;
    if (out.data) out.data[0] = '\0';
    fold_text(text, n, note, &out);
    return out.data ? out.data : "";
}

static void rows(const char *const (*row)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK_STR(folded(row[i][0], strlen(row[i][0])), row[i][1]);
}

TEST(case_accents_and_forms_fold_to_one_term)
{
    static const char *const row[][2] = {
        {"Café", "cafe"}, {"Cafe\u0301", "cafe"}, {"CAFE", "cafe"},
        {"Straße STRASSE Stra\u1e9ee", "strasse|strasse|strasse"},
        {"İstanbul ISTANBUL istanbul ıstanbul", "istanbul|istanbul|istanbul|istanbul"},
        {"ＡＢＣ１２３", "abc123"}, {"ﬁne ﬂow", "fine|flow"}, {"x² ½", "x2|1|2"}, {"Ⅻ", "xii"},
        {"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ|σισυφοσ"}, {"ЁЛКА ёлка", "елка|елка"}, {"Å \u212b", "a|a"},
        {"Dž ǆ", "dz|dz"}, {"Zu\u0308rich ZÜRICH", "zurich|zurich"}, {"a\u0323\u0302 ậ", "a|a"},
        {"co\u00adoperate zero\u200bwidth", "cooperate|zerowidth"}, {"\U0001d400\U0001d41b", "ab"},
    };
    rows(row, COUNT_OF(row));
}

TEST(scripts_from_right_to_left_lose_their_points_and_marks_of_direction)
{
    static const char *const row[][2] = {
        {"שָׁלוֹם", "שלום"}, {"كَتَبَ", "كتب"}, {"\u202eabc\u202c \u200fשלום", "abc|שלום"}, {"٣٫٥", "٣|٥"},
    };
    rows(row, COUNT_OF(row));
}

TEST(marks_that_are_parts_of_letters_stay)
{
    static const char *const row[][2] = {
        {"कि", "कि"}, {"की", "की"}, {"क", "क"}, {"क्\u0937", "क्ष"}, {"\u0301\u20e3 a\u20e3", "a"},
    };
    rows(row, COUNT_OF(row));
    CHECK(strcmp(folded("が", 3), "か") != 0);
}

TEST(numbers_and_joined_words_are_found_by_part_and_whole)
{
    static const char *const row[][2] = {
        {"a17", "a17"}, {"3.5", "3|5|3.5"}, {"v1.2.3.", "v1|2|3|v1.2.3"}, {"build/night.log",
         "build|night|log|build/night.log"}, {"/usr/bin/", "usr|bin|usr/bin"}, {"snake_case", "snake|case|snake_case"},
        {"C:\\x dir\\x", "c|x|dir|x|dir\\x"}, {"me@x.org", "me|x|org|me@x.org"}, {"12:30", "12|30|12:30"},
        {"https://x.y", "http|x|y|x.y"}, {"a--b", "a|b"}, {"a- b", "a|b"}, {"a -b", "a|b"}, {"1,000", "1|000"},
        {"don't", "don|t"}, {"x.é", "x|e|x.e"}, {"a.東京", "a|東京"}, {"東.a.b", "東|a|b|a.b"}, {"...", ""},
        {"logs.txt", "log|txt|logs.txt"},
    };
    rows(row, COUNT_OF(row));
}

TEST(only_the_plural_of_english_words_is_stemmed)
{
    static const char *const row[][2] = {
        {"pumps Pump", "pump|pump"}, {"batteries battery", "battery|battery"}, {"valves", "valve"},
        {"bus gas glass status", "bus|gas|glass|status"}, {"shoes trees", "shoes|trees"}, {"a17s", "a17s"},
        {"cafés", "cafe"}, {"aaies", "aaies"}, {"is this", "is|thi"},
    };
    rows(row, COUNT_OF(row));
}

TEST(scripts_without_blanks_become_pairs)
{
    static const char *const row[][2] = {
        {"東京都", "東京|京都"}, {"東", "東"}, {"東京 都", "東京|都"}, {"ポンプ", "ホ\u309aン|ンフ\u309a"},
        {"ﾎﾟﾝﾌﾟ", "ホ\u309aン|ンフ\u309a"}, {"第3章", "第|3|章"}, {"GPU番号7", "gpu|番号|7"},
        {"물고기", "물고|고기"}, {"ไทย", "ไท|ทย"}, {"東、京", "東|京"}, {"\u3031", "\u3031"}, {"𠮷野家", "𠮷野|野家"},
        {"ქართული", "ქართული"}, {"မြန်မာ", "မြန်|န်မာ"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        uint8_t *want = utf8proc_NFD((const uint8_t *)row[i][1]); /* for Hangul's sake */
        CHECK_STR(folded(row[i][0], strlen(row[i][0])), (const char *)want);
        free(want);
    }
}

TEST(symbols_and_emoji_are_borders)
{
    static const char *const row[][2] = {
        {"a🚀b", "a|b"}, {"👩‍👩‍👧", ""}, {"x→y", "x|y"}, {"5€", "5"}, {"a\nb\tc\vd", "a|b|c|d"}, {"", ""}, {"  ", ""},
    };
    rows(row, COUNT_OF(row));
}

TEST(bytes_that_are_no_utf8_are_borders)
{
    CHECK_STR(folded("ab\xff" "cd", 5), "ab|cd");
    CHECK_STR(folded("ab\xc3", 3), "ab");              /* cut in a character */
    CHECK_STR(folded("\xc0\xaf" "x\xed\xa0\x80y", 7), "x|y"); /* too long a form, a surrogate */
    CHECK_STR(folded("a\0b", 3), "a|b");
    CHECK_STR(folded("\xf4\x90\x80\x80z", 5), "z");
}

/* ------------------------------------------------------------------ limits */

TEST(a_long_word_is_cut_before_a_character)
{
    char text[400];
    memset(text, 'x', sizeof text);
    CHECK_EQ(strlen(folded(text, FOLD_TERM_MAX)), FOLD_TERM_MAX);
    CHECK_EQ(strlen(folded(text, sizeof text)), FOLD_TERM_MAX);
    text[FOLD_TERM_MAX - 1] = '\xd0'; /* a letter of two bytes lies over the limit */
    text[FOLD_TERM_MAX] = '\xb6';
    CHECK_EQ(strlen(folded(text, sizeof text)), FOLD_TERM_MAX - 1);
    memset(text, 'x', sizeof text);
    text[3] = '.';
    CHECK_EQ(strlen(folded(text, FOLD_TERM_MAX)), 3 + 1 + 60 + 1 + FOLD_TERM_MAX); /* x, x and both */
    CHECK_EQ(strlen(folded(text, FOLD_TERM_MAX + 1)), 3 + 1 + 61); /* joined too long: left out */
}

TEST(marks_without_end_stay_within_a_term)
{
    char text[3000];
    size_t n = 0;
    memcpy(text, "か", 3);
    for (n = 3; n + 3 < sizeof text; n += 3) memcpy(text + n, "\u3099", 3);
    CHECK_EQ(strlen(folded(text, n)), 30);
    memcpy(text + n - 3, "か", 3);
    CHECK_EQ(strlen(folded(text, n)), 33);
}

struct places { const char *text; struct buf out; };

static void note_place(void *self, const struct fold_term *t)
{
    struct places *p = self;
    buf_printf(&p->out, "[%.*s]", (int)t->len, p->text + t->at);
}

TEST(each_term_knows_where_it_stood)
{
    struct places p = {.text = "The \u0301Pumps' log, Zu\u0308rich.x 東京都 ﬁn\u00ad. v.e\u0301"};
    fold_text(p.text, strlen(p.text), note_place, &p);
    CHECK_STR(p.out.data, "[The][Pumps][log][Zu\u0308rich][x][Zu\u0308rich.x][東京][京都][ﬁn][v][e\u0301][v.e\u0301]");
    buf_free(&p.out);
}

struct sum { size_t terms, bytes; };

static void add(void *self, const struct fold_term *t)
{
    struct sum *s = self;
    CHECK(t->n > 0 && t->n <= FOLD_TERM_MAX && !memchr(t->bytes, 0, t->n));
    for (size_t i = 0; i < t->n;) {
        int32_t c;
        ptrdiff_t len = utf8proc_iterate(t->bytes + i, (ptrdiff_t)(t->n - i), &c);
        CHECK(len > 0);
        i += (size_t)len;
    }
    s->terms++;
    s->bytes += t->n + 1;
}

/* Each character there is, many times over, alone and joined: what the table of an index reckons with. */
TEST(terms_grow_no_more_than_the_header_says)
{
    static const char *const behind[] = {"", ".", " "};
    for (int32_t c = 0; c < 0x110000; c += c == 0xd7ff ? 0x801 : 1)
        for (size_t b = 0; b < (CHECK_SANITIZED ? 1 : COUNT_OF(behind)); b++) {
            uint8_t text[64];
            size_t n = 0;
            while (n + 8 < sizeof text) {
                n += (size_t)utf8proc_encode_char(c, text + n);
                memcpy(text + n, behind[b], strlen(behind[b]));
                n += strlen(behind[b]);
            }
            struct sum s = {0};
            fold_text(text, n, add, &s);
            if (s.terms > n * FOLD_TERMS || s.bytes > n * FOLD_GROWTH)
                check_fail(__FILE__, __LINE__, "U+%04x: %zu bytes give %zu terms of %zu bytes", (unsigned)c, n,
                           s.terms, s.bytes);
        }
}

/* Folding a term again gives it back: a query may be made of terms that were shown. */
struct again { struct buf terms; };

static void keep(void *self, const struct fold_term *t) { note(&((struct again *)self)->terms, t); }

TEST(what_was_folded_stays_as_it_is)
{
    static const char text[] = "Straße Ⅻ İstanbul a17 ﬁne ΣΊΣΥΦΟΣ कि 東京 12 ＡＢＣ ЁЛКА";
    struct again one = {0};
    fold_text(text, sizeof text - 1, keep, &one);
    for (char *p = one.terms.data; *p; p++)
        if (*p == '|') *p = ' ';
    char *spaced = strdup(one.terms.data);
    for (char *p = one.terms.data; *p; p++)
        if (*p == ' ') *p = '|';
    CHECK_STR(folded(spaced, strlen(spaced)), one.terms.data);
    free(spaced);
    buf_free(&one.terms);
}

CHECK_MAIN
