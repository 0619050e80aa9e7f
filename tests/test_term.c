/* What reaches a terminal: nothing that it would obey.  And what takes long says so, in time and not before. */
#include "app/progress.h"
#include "app/term_filter.h"
#include "tests/check.h"

static void filtered(const char *bytes, size_t n, const char *wanted)
{
    struct buf whole = {0};
    term_filter_text(bytes, n, false, &whole);
    CHECK_STR(whole.data ? whole.data : "", wanted);
    for (size_t cut = 1; cut < n; cut++) { /* the same in two parts */
        struct term_filter f;
        struct buf parts = {0};
        term_filter_init(&f);
        term_filter_feed(&f, bytes, cut, &parts);
        term_filter_feed(&f, bytes + cut, n - cut, &parts);
        term_filter_end(&f, &parts);
        CHECK_STR(parts.data ? parts.data : "", wanted);
        buf_free(&parts);
    }
    buf_free(&whole);
}
#define FILTERED(bytes, wanted) filtered(bytes, sizeof bytes - 1, wanted)
#define FFFD "\xef\xbf\xbd"

TEST(term_filter_lets_text_pass)
{
    FILTERED("", "");
    FILTERED("plain\ttext\n", "plain\ttext\n");
    FILTERED("na\xc3\xafve \xe6\xbc\xa2 \xf0\x9f\x98\x80 \xc2\xa0",
             "na\xc3\xafve \xe6\xbc\xa2 \xf0\x9f\x98\x80 \xc2\xa0");
}

TEST(term_filter_makes_controls_visible)
{
    FILTERED("\x1b[31mred", "^[[31mred");
    FILTERED("a\0b", "a^@b");
    FILTERED("\r\a\b\x7f\x1f", "^M^G^H^?^_");
    FILTERED("\xc2\x9b" "31m\xc2\x80\xc2\x9f", FFFD "31m" FFFD FFFD);
    FILTERED("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", FFFD FFFD FFFD FFFD);
    FILTERED("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", /* their neighbours pass */
             "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa");
}

TEST(term_filter_replaces_what_is_no_utf8)
{
    FILTERED("\x9b" "31m", FFFD "31m"); /* C1 as one byte */
    FILTERED("\xc0\x9b", FFFD FFFD);     /* ... and in a longer disguise */
    FILTERED("\xff" "a\xe2\x82", FFFD "a" FFFD);
}

TEST(term_filter_never_lets_a_control_through_whatever_the_bytes)
{
    char bytes[700];
    uint32_t random = 7;
    for (int round = 0; round < 500; round++) {
        struct buf out = {0};
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24);
        }
        term_filter_text(bytes, sizeof bytes, false, &out);
        CHECK_EQ(text_valid_utf8(out.data, out.len), out.len);
        for (size_t i = 0; i < out.len; i++) {
            unsigned char c = (unsigned char)out.data[i];
            CHECK((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
            CHECK(c != 0xc2 || (unsigned char)out.data[i + 1] >= 0xa0);
        }
        buf_free(&out);
    }
}

TEST(term_filter_can_keep_a_text_on_one_line)
{
    struct buf out = {0};
    term_filter_text("a\nb\tc", 5, true, &out);
    CHECK_STR(out.data, "a b c");
    buf_free(&out);
}

/* ---------------------------------------------------------------- progress */

TEST(progress_says_nothing_in_the_first_second)
{
    struct progress p;
    struct buf out = {0};
    progress_start(&p, "loading", true, 100);
    progress_text(&p, 1, 10, 100.9, &out);
    CHECK_EQ(out.len, 0);
    CHECK(!p.drawn);
    progress_text(&p, 5, 10, 101.1, &out);
    CHECK(strstr(out.data, "loading [###############...............]  50 %  about 1 s left"));
    CHECK(p.drawn);
    size_t n = out.len;
    progress_text(&p, 6, 10, 101.15, &out); /* too soon after */
    CHECK_EQ(out.len, n);
    buf_free(&out);
}

TEST(progress_writes_a_line_every_few_seconds_where_no_terminal_is)
{
    struct progress p;
    struct buf out = {0};
    progress_start(&p, "reading", false, 0);
    for (int tenth = 0; tenth <= 70; tenth++) progress_text(&p, (uint64_t)tenth, 100, tenth / 10.0, &out);
    CHECK_STR(out.data, "reading: 30 %\nreading: 60 %\n");
    CHECK(!p.drawn);
    buf_free(&out);
}

TEST(progress_says_seconds_where_nobody_knows_how_far_it_is)
{
    struct progress p;
    struct buf out = {0};
    progress_start(&p, "waiting", false, 100);
    p.waits = true;
    progress_text(&p, 31, 36, 100.9, &out);
    progress_text(&p, 31, 36, 104, &out);
    CHECK_STR(out.data, "waiting: 4 s\n");
    out.len = 0;
    progress_start(&p, "waiting", true, 100);
    p.waits = true;
    progress_text(&p, 31, 36, 112, &out);
    CHECK_STR(out.data, "\r\033[Kwaiting: 12 s");
    CHECK(p.drawn);
    buf_free(&out);
}

TEST(progress_stands_odd_figures)
{
    struct progress p;
    struct buf out = {0};
    progress_start(&p, "x", true, 0);
    progress_text(&p, 3, 0, 5, &out);
    CHECK_EQ(out.len, 0);
    progress_text(&p, 9, 3, 5, &out);
    CHECK(strstr(out.data, "100 %"));
    progress_text(&p, 0, UINT64_MAX, 10, &out);
    CHECK(strstr(out.data, "  0 %"));
    buf_free(&out);
}

CHECK_MAIN
