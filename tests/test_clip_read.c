/* test_clip_read.c - reading on in a result that is stored whole. */
#include "tools/clip.h"

#include "tests/clip_props.h"

#include "tests/check.h"

/* ---------------------------------------------------------------- helpers */

static struct clip_figures f;
static struct err err;
static size_t most_read;

static int get(void *self, uint64_t at, char *out, size_t n, struct err *e)
{
    const struct buf *b = self;
    if (!b->data) return err_set(e, -1, "artifact 7 is damaged");
    CHECK(n > 0 && at + n <= b->len);
    memcpy(out, b->data + at, n);
    most_read = MAX(most_read, n);
    return 0;
}

static int read_rc(struct buf *b, size_t tokens, struct clip_request r, struct buf *out)
{
    struct clip_config cfg = {.counter = {count_bytes, NULL}, .max_tokens = tokens};
    struct clip_source s = {get, b, b->len};
    err = (struct err){0};
    return clip_read(&cfg, &s, &r, out, &f, &err);
}

/* What is read; it is judged: the ranges are the original's, and add up. */
static const char *read_on(struct buf *b, size_t tokens, struct clip_request r)
{
    static struct buf out;
    out.len = 0;
    if (read_rc(b, tokens, r, &out)) check_fail(__FILE__, __LINE__, "%s", err.text);
    struct ref ref = ref_filter(b->data, b->len);
    const char *bad = bad_ranges(&ref, out.data ? out.data : "", &f);
    for (int i = 1; i < f.n_ranges && !bad; i++) {
        uint64_t pos = f.range[i - 1].at + f.range[i - 1].len, lines = clip_props_lines(b->data, pos, f.range[i].at);
        bad = not_a_mark(out.data, f.range[i - 1].out + f.range[i - 1].out_len, f.range[i].out, pos,
                         f.range[i].at - pos, lines);
    }
    ref_free(&ref);
    if (bad) check_fail(__FILE__, __LINE__, "%s: %s", bad, out.data);
    CHECK(out.len <= tokens && f.tokens == out.len);
    CHECK_EQ(f.shown_bytes + f.left_bytes, b->len);
    CHECK_EQ(f.bytes, b->len);
    return out.len ? out.data : "";
}

static struct clip_request bytes(uint64_t from, uint64_t to)
{
    return (struct clip_request){.by = CLIP_BY_OFFSET, .from = from, .to = to};
}

static struct clip_request lines(uint64_t from, uint64_t to)
{
    return (struct clip_request){.by = CLIP_BY_LINES, .from = from, .to = to};
}

static struct clip_request text(const char *pattern, uint64_t from)
{
    return (struct clip_request){.by = CLIP_BY_TEXT, .from = from, .pattern = pattern, .pattern_len = strlen(pattern)};
}

static struct clip_request regex(const char *pattern, uint64_t from)
{
    struct clip_request r = text(pattern, from);
    r.by = CLIP_BY_REGEX;
    return r;
}

static struct buf numbered(int n)
{
    struct buf b = {0};
    for (int i = 1; i <= n; i++) buf_printf(&b, "line %05d\n", i);
    return b;
}

static void refused(struct buf *b, struct clip_request r, const char *why)
{
    struct buf out = {0};
    buf_puts(&out, "x");
    CHECK_EQ(read_rc(b, 100, r, &out), -1);
    CHECK_EQ(out.len, 1);
    if (!strstr(err.text, why)) check_fail(__FILE__, __LINE__, "not \"%s\": %s", why, err.text);
    buf_free(&out);
}

/* ---------------------------------------------------------------- by offset */

TEST(from_an_offset_as_much_as_fits_is_read_in_whole_lines)
{
    struct buf b = numbered(9000);
    CHECK_STR(read_on(&b, 35, bytes(11 * 4000, 0)), "line 04001\nline 04002\nline 04003\n");
    CHECK_EQ(f.next, 11 * 4003);
    CHECK_STR(read_on(&b, 35, bytes(11 * 4000 + 5, 11 * 4001)), "04001\n");
    CHECK_EQ(f.next, 11 * 4001);
    CHECK_STR(read_on(&b, 35, bytes(11 * 9000, 0)), "");
    CHECK_EQ(f.next, b.len);
    CHECK_STR(read_on(&b, 0, bytes(22, 0)), "");
    CHECK_EQ(f.next, 22);
    buf_free(&b);
}

TEST(an_offset_within_a_character_means_the_next_one)
{
    struct buf b = {0};
    buf_puts(&b, "a\xe6\xb0\xb4\x1b[31mb\r\nc");
    CHECK_STR(read_on(&b, 50, bytes(2, 0)), "b\nc");
    CHECK_EQ(f.range[0].at, 4);
    CHECK_STR(read_on(&b, 50, bytes(6, 0)), "b\nc");
    CHECK_EQ(f.range[0].at, 9);
    CHECK_STR(read_on(&b, 50, bytes(11, 0)), "c");
    CHECK_STR(read_on(&b, 50, bytes(0, 3)), "a");
    CHECK_EQ(f.next, 1);
    buf_free(&b);
}

/* By `next` alone all of it is read: nothing is lost and nothing comes twice. */
TEST(reading_on_and_on_gives_the_whole)
{
    static const char *const part[] = {"\xe6\xb0\xb4", "word ", "\n", "\r\n", "\x1b[1m", "\xf0\x9f", "\xff", "\r"};
    struct buf b = {0}, all = {0};
    for (uint32_t i = 0, x = 1; i < 40000; i++) buf_puts(&b, part[(x = x * 1664525u + 1013904223u) >> 8 & 7]);
    for (uint64_t at = 0; at < b.len; at = f.next) {
        struct buf out = {0};
        CHECK_EQ(read_rc(&b, 3001, bytes(at, 0), &out), 0);
        CHECK(f.next > at);
        buf_put(&all, out.data, out.len);
        buf_free(&out);
    }
    struct ref ref = ref_filter(b.data, b.len);
    CHECK_EQ(all.len, ref.text.len);
    CHECK_MEM(all.data, ref.text.data, all.len);
    ref_free(&ref);
    buf_free(&all);
    buf_free(&b);
}

/* ---------------------------------------------------------------- by line */

TEST(lines_are_read_by_their_numbers)
{
    struct buf b = numbered(9000);
    most_read = 0;
    CHECK_STR(read_on(&b, 100, lines(5000, 5001)), "line 05000\nline 05001\n");
    CHECK_STR(read_on(&b, 100, lines(1, 1)), "line 00001\n");
    CHECK_STR(read_on(&b, 100, lines(9000, 9999)), "line 09000\n");
    CHECK_EQ(f.next, b.len);
    CHECK_STR(read_on(&b, 25, lines(8000, 0)), "line 08000\nline 08001\n");
    CHECK_EQ(f.next, 8001 * 11);
    CHECK(most_read <= CLIP_READ);
    buf_free(&b);
}

TEST(the_last_line_needs_no_newline)
{
    struct buf b = {0};
    buf_puts(&b, "one\ntwo");
    CHECK_STR(read_on(&b, 100, lines(2, 2)), "two");
    CHECK_STR(read_on(&b, 100, lines(1, 0)), "one\ntwo");
    refused(&b, lines(3, 0), "line 3 lies behind the end");
    buf_free(&b);
}

/* ---------------------------------------------------------------- by pattern */

TEST(lines_with_a_text_are_read_with_marks_between)
{
    struct buf b = numbered(9000);
    CHECK_STR(read_on(&b, 300, text("0500", 0)),
              "line 00500\n[... 4499 lines, 49489 bytes from offset 5500 left out ...]\nline 05000\n"
              "line 05001\nline 05002\nline 05003\nline 05004\nline 05005\nline 05006\nline 05007\nline 05008\n"
              "line 05009\n");
    CHECK_EQ(f.count, 11);
    CHECK_EQ(f.shown_count, 11);
    CHECK_EQ(f.next, b.len);
    CHECK_STR(read_on(&b, 24, text("0500", 20000)), "line 05000\nline 05001\n");
    CHECK_EQ(f.count, 10);
    CHECK_EQ(f.shown_count, 2);
    CHECK_EQ(f.next, 5001 * 11);
    CHECK_STR(read_on(&b, 100, text("no such", 0)), "");
    CHECK_EQ(f.count, 0);
    CHECK_EQ(f.next, b.len);
    CHECK_STR(read_on(&b, 0, text("0500", 0)), "");
    CHECK_EQ(f.count, 11);
    CHECK_EQ(f.next, 0);
    buf_free(&b);
}

TEST(lines_that_a_pattern_matches)
{
    struct buf b = {0};
    buf_puts(&b, "Alpha 12\r\nbeta\n\ngamma 7\xff\nAlpha\n");
    CHECK_STR(read_on(&b, 300, regex("^Alpha( \\d+)?$", 0)),
              "Alpha 12\n[... 3 lines, 15 bytes from offset 10 left out ...]\nAlpha\n");
    CHECK_STR(read_on(&b, 300, regex("(?i)^(ALPHA \\d|BETA)", 0)), "Alpha 12\nbeta\n");
    CHECK_STR(read_on(&b, 300, regex("^$", 0)), "\n");
    CHECK_STR(read_on(&b, 300, regex("\\d(?=.$|$)", 12)), "");
    CHECK_STR(read_on(&b, 300, regex("amma", 12)), "gamma 7\xef\xbf\xbd\n");
    buf_free(&b);
}

/* A needle in every place of a line without end, at the borders of blocks too. */
TEST(a_text_in_an_endless_line_is_shown_with_what_is_round_it)
{
    for (size_t at = CLIP_READ - 40; at < CLIP_READ + 40; at++) {
        struct buf b = {0};
        while (b.len < 3 * CLIP_READ) buf_puts(&b, "\xe6\xb0\xb4 ");
        memcpy(b.data + at, "\"needle\"", 8);
        const char *found = read_on(&b, 2000, at % 2 ? text("needle", 0) : regex("ne+dle", 0));
        CHECK(strstr(found, "needle") != NULL);
        CHECK(strlen(found) > CLIP_EXCERPT / 2);
        CHECK_EQ(f.count, 1);
        CHECK_EQ(f.shown_count, 1);
        CHECK_EQ(f.next, b.len);
        buf_free(&b);
    }
}

TEST(more_matches_than_are_kept_are_counted_and_read_on)
{
    struct buf b = numbered(1000);
    uint64_t at = 0;
    int reads = 0;
    for (; at < b.len; at = f.next, reads++) {
        read_on(&b, 100000, text("line", at));
        CHECK_EQ(f.count, 1000 - (uint64_t)reads * CLIP_MATCHES);
        CHECK(f.shown_count == CLIP_MATCHES || f.next == b.len);
    }
    CHECK_EQ(reads, 8);
    buf_free(&b);
}

/* ---------------------------------------------------------------- what is refused */

TEST(what_is_no_range_or_pattern_is_refused_with_the_reason)
{
    struct buf b = numbered(10);
    static char longer[CLIP_PATTERN + 2];
    memset(longer, 'x', CLIP_PATTERN + 1);
    refused(&b, bytes(111, 0), "offset 111 lies behind the end: there are 110 bytes");
    refused(&b, bytes(50, 40), "no range");
    refused(&b, lines(0, 4), "the first line is 1");
    refused(&b, lines(4, 3), "no range");
    refused(&b, lines(11, 0), "line 11 lies behind the end");
    refused(&b, text("", 0), "1 to 1024 bytes");
    refused(&b, text(longer, 0), "1 to 1024 bytes");
    refused(&b, text("x", 111), "lies behind the end");
    refused(&b, regex("a(b", 0), "no pattern, at its byte 3");
    refused(&b, regex("\\C", 0), "no pattern");
    buf_free(&b);
}

TEST(a_pattern_that_takes_too_much_work_is_refused)
{
    struct buf b = {0};
    for (int i = 0; i < 2000; i++) buf_puts(&b, "a");
    refused(&b, regex("(a+)+b|(a|aa)+$c", 0), "cannot be matched");
    buf_free(&b);
}

/* From no place is it too much: there are many. */
TEST(a_pattern_that_takes_too_much_work_over_all_places_is_refused)
{
    struct buf b = {0};
    for (int i = 0; i < CLIP_READ; i++) buf_puts(&b, "a");
    refused(&b, regex("[^x]{0,420}[^x]{0,420}[xy]", 0), "cannot be matched at offset 0: match limit exceeded");
    buf_free(&b);
    while (b.len < 64 * CLIP_READ) buf_puts(&b, "aaaaaaaaaaaaaaa"); /* few steps, and each of them long */
    refused(&b, regex("[^x]*+[xy]", 0), "match limit exceeded");
    buf_free(&b);
}

TEST(a_plain_pattern_may_read_as_much_as_there_is)
{
    struct buf b = {0};
    while (b.len < 8 << 20) buf_puts(&b, "sensible words are followed by, of course, punctuation.\n");
    buf_puts(&b, "hello!");
    CHECK_STR(read_on(&b, 300, regex("\\w+o[!?]", 0)), "hello!");
    buf_free(&b);
}

TEST(what_the_store_says_is_passed_on)
{
    struct buf none = {.len = 100};
    refused(&none, bytes(0, 0), "artifact 7 is damaged");
    refused(&none, lines(2, 0), "artifact 7 is damaged");
    refused(&none, text("x", 0), "artifact 7 is damaged");
}

TEST(an_empty_whole_is_read_as_nothing)
{
    struct buf b = {0};
    CHECK_STR(read_on(&b, 10, bytes(0, 0)), "");
    CHECK_STR(read_on(&b, 10, lines(1, 0)), "");
    CHECK_STR(read_on(&b, 10, regex("^", 0)), "");
    CHECK(f.whole);
}

CHECK_MAIN
