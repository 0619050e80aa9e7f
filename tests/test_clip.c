/* test_clip.c - clipped results by kind, as the model reads them. */
#include "tools/clip.h"

#include "tests/clip_props.h"

#include "tests/check.h"

/* ---------------------------------------------------------------- helpers */

static struct clip_figures f;

static const char *clip_n(const char *s, size_t n, size_t tokens, enum clip_kind kind)
{
    static struct buf out;
    struct clip_config cfg = {.counter = {count_bytes, NULL}, .max_tokens = tokens, .kind = kind};
    struct err err = {0};
    out.len = 0;
    CHECK_EQ(clip_whole(&cfg, s, n, &out, &f, &err), 0);
    const char *bad = clip_props(&cfg, s, n, out.data ? out.data : "", out.len, &f);
    if (bad) check_fail(__FILE__, __LINE__, "%s: %s", bad, out.data);
    return out.len ? out.data : "";
}

static const char *clip_s(const char *s, size_t tokens) { return clip_n(s, strlen(s), tokens, CLIP_AUTO); }

/* How the filter shows it. */
#define CHECK_SHOWN(bytes, want) CHECK_STR(clip_n(bytes, sizeof(bytes) - 1, 1000, CLIP_TEXT), want)

static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

#define CHECK_HAS(text, part)                                                                             \
    do {                                                                                                  \
        if (!has(text, part)) check_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%.3000s", part, text);   \
    } while (0)

/* ---------------------------------------------------------------- the filter */

TEST(what_fits_is_as_it_was)
{
    CHECK_SHOWN("", "");
    CHECK_SHOWN("plain\ttext\n", "plain\ttext\n");
    CHECK_SHOWN("\xc3\xa9\xe4\xbd\xa0\xf0\x9f\xa6\x99", "\xc3\xa9\xe4\xbd\xa0\xf0\x9f\xa6\x99");
    CHECK(f.whole && f.n_ranges == 1 && f.next == 9 && f.lines == 1 && f.kind == CLIP_TEXT);
}

#define BAD "\xef\xbf\xbd"

TEST(bytes_that_are_no_character_become_one_replacement_for_each_part)
{
    CHECK_SHOWN("a\xff" "b\xe4\xbd" "c\x80\x80", "a" BAD "b" BAD "c" BAD BAD);
    CHECK_SHOWN("\xed\xa0\x80\xf4\x90\x80\x80", BAD BAD BAD BAD BAD BAD BAD);
    CHECK_SHOWN("\xf0\x9f\xa6", BAD);
}

TEST(control_characters_are_pictures_and_colours_go)
{
    CHECK_SHOWN("a\0b\x01\x7f\x1b", "a\xe2\x90\x80" "b\xe2\x90\x81\xe2\x90\xa1\xe2\x90\x9b");
    CHECK_SHOWN("\x1b[1;31mred\x1b[0m \x1b[2Kline", "red line");
    CHECK_SHOWN("\x1b]0;title\x07", "\xe2\x90\x9b]0;title\xe2\x90\x87");
    CHECK_SHOWN("a\r\nb\rc\r", "a\nb\xe2\x90\x8d" "c\xe2\x90\x8d");
    CHECK_SHOWN("\xc2\x9b" "31m", BAD "31m");
}

TEST(text_that_hides_or_turns_other_text_is_shown_to_be_there)
{
    CHECK_SHOWN("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xf3\xa0\x81\xa1", "a" BAD "b" BAD "c" BAD);
}

/* ---------------------------------------------------------------- text */

static void lines(struct buf *b, int from, int to)
{
    for (int i = from; i <= to; i++) buf_printf(b, "line %04d of prose\n", i);
}

TEST(of_a_long_text_head_and_tail_are_whole_lines)
{
    struct buf b = {0};
    lines(&b, 1, 1000);
    const char *text = clip_n(b.data, b.len, 300, CLIP_AUTO);
    CHECK_HAS(text, "line 0001 of prose\nline 0002 of prose\n");
    CHECK_HAS(text, "\n[... 98");
    CHECK_HAS(text, " left out ...]\nline 09");
    CHECK_HAS(text, "line 1000 of prose\n");
    CHECK_EQ(f.kind, CLIP_TEXT);
    CHECK_EQ(f.n_ranges, 2);
    CHECK_EQ(f.range[0].len % 19, 0);
    CHECK_EQ(f.range[1].at % 19, 0);
    CHECK_EQ(f.next, f.range[0].len);
    CHECK(f.tokens > 250);
    buf_free(&b);
}

/* opencode#42277: it was "(no output)". */
TEST(one_huge_line_with_a_newline_behind_it_shows_its_ends)
{
    struct buf b = {0};
    buf_puts(&b, "begin ");
    for (int i = 0; i < 60000; i++) buf_puts(&b, "\xe6\xb0\xb4");
    buf_puts(&b, " end\n");
    const char *text = clip_n(b.data, b.len, 500, CLIP_AUTO);
    CHECK_HAS(text, "begin \xe6\xb0\xb4\xe6\xb0\xb4");
    CHECK_HAS(text, "\xe6\xb0\xb4[... 17");
    CHECK_HAS(text, " left out ...]\xe6\xb0\xb4");
    CHECK_HAS(text, "\xe6\xb0\xb4 end\n");
    CHECK_EQ(f.lines, 1);
    CHECK_EQ(f.left_lines, 0);
    CHECK(f.tokens > 400);
    buf_free(&b);
}

TEST(only_newlines_are_counted)
{
    char s[5000];
    memset(s, '\n', sizeof s);
    CHECK_HAS(clip_n(s, sizeof s, 100, CLIP_AUTO), " lines, ");
    CHECK_EQ(f.lines, 5000);
    CHECK(f.shown_lines > 10);
}

TEST(where_little_fits_it_is_said_shortly)
{
    const char *s = "one two three four five six seven eight nine ten";
    CHECK_STR(clip_s(s, 0), "");
    CHECK_EQ(f.left_bytes, strlen(s));
    CHECK_STR(clip_s(s, 4), "");
    CHECK_STR(clip_s(s, 5), "[...]");
    CHECK_STR(clip_s(s, 6), "[...]n");
    CHECK_STR(clip_s(s, 9), "on[...]en");
    CHECK_STR(clip_s(s, 48), s);
}

/* ---------------------------------------------------------------- logs */

static void log_of(struct buf *b, int n, int bad)
{
    for (int i = 1; i <= n; i++) {
        const char *what = i == bad - 1 ? "before it" : i == bad + 1 ? "after it" : "tick";
        if (i == bad) what = "ERROR disk full";
        buf_printf(b, "2024-05-01 10:00:00 %05d INFO %s\n", i, what);
    }
}

TEST(an_error_in_the_middle_of_a_log_is_shown_with_its_neighbours)
{
    struct buf b = {0};
    log_of(&b, 20000, 9000);
    const char *text = clip_n(b.data, b.len, 900, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_LOG);
    CHECK_EQ(f.count, 1);
    CHECK_EQ(f.shown_count, 1);
    CHECK_HAS(text, "2024-05-01 10:00:00 00001 INFO tick\n");
    CHECK_HAS(text, " lines, ");
    CHECK_HAS(text, "left out ...]\n2024-05-01 10:00:00 08999 INFO before it\n2024-05-01 10:00:00 09000 INFO ERROR "
                    "disk full\n2024-05-01 10:00:00 09001 INFO after it\n[... ");
    CHECK_HAS(text, "20000 INFO tick\n");
    CHECK_EQ(f.n_ranges, 3);
    buf_free(&b);
}

TEST(an_error_near_the_end_of_a_log_is_a_part_of_its_tail)
{
    struct buf b = {0};
    log_of(&b, 20000, 19999);
    CHECK_HAS(clip_n(b.data, b.len, 900, CLIP_AUTO), "19999 INFO ERROR disk full\n");
    CHECK_EQ(f.n_ranges, 2);
    CHECK_EQ(f.shown_count, 1);
    CHECK(f.range[1].len > f.range[0].len);
    buf_free(&b);
}

TEST(of_very_many_errors_the_first_and_the_last_are_shown)
{
    struct buf b = {0};
    for (int i = 1; i <= 9000; i++) buf_printf(&b, i % 3 ? "make: step %04d\n" : "x.c:%04d: error: no\n", i);
    const char *text = clip_n(b.data, b.len, 1000, CLIP_LOG);
    CHECK_EQ(f.count, 3000);
    CHECK_HAS(text, "x.c:0003: error: no\n");
    CHECK_HAS(text, "x.c:9000: error: no\n");
    CHECK_HAS(text, "x.c:0003: error: no\nmake: step 0004\nmake: step 0005\nx.c:0006: error: no\n");
    CHECK(f.shown_count > 12);
    buf_free(&b);
}

TEST(an_error_in_a_huge_line_is_shown_by_its_beginning)
{
    struct buf b = {0};
    for (int i = 0; i < 3000; i++) buf_puts(&b, "all is well here\n");
    buf_puts(&b, "Exception in main: ");
    for (int i = 0; i < 60000; i++) buf_puts(&b, "\xc3\xa9");
    buf_puts(&b, "\n");
    for (int i = 0; i < 3000; i++) buf_puts(&b, "all is well here\n");
    const char *text = clip_n(b.data, b.len, 1500, CLIP_LOG);
    CHECK_HAS(text, "\nException in main: \xc3\xa9\xc3\xa9");
    CHECK_HAS(text, "\xc3\xa9[... 1");
    buf_free(&b);
}

/* ---------------------------------------------------------------- JSON */

TEST(of_json_the_structure_and_the_first_items_are_shown)
{
    struct buf b = {0};
    buf_puts(&b, "{\"items\": [");
    for (int i = 0; i < 50000; i++) buf_printf(&b, "%s{\"id\": %d, \"name\": \"n%d\"}", i ? ", " : "", i, i);
    buf_puts(&b, "], \"total\": 50000, \"note\": \"");
    for (int i = 0; i < 9000; i++) buf_puts(&b, "\xe6\xb0\xb4");
    buf_puts(&b, "\"}\n");
    const char *text = clip_n(b.data, b.len, 600, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_JSON);
    CHECK_EQ(f.count, 3);
    CHECK_EQ(f.shown_count, 3);
    CHECK_HAS(text, "{\"items\": [{\"id\": 0, \"name\": \"n0\"}, {\"id\": 1, ");
    CHECK_HAS(text, "}, \"[... 4999");
    CHECK_HAS(text, " items, ");
    CHECK_HAS(text, " left out ...]\"], \"total\": 50000, \"note\": \"\xe6\xb0\xb4\xe6\xb0\xb4");
    CHECK_HAS(text, " left out ...]\"}\n");
    buf_free(&b);
}

TEST(of_an_object_with_very_many_keys_the_first_are_shown)
{
    struct buf b = {0};
    for (int i = 0; i < 20000; i++) buf_printf(&b, "%s\"key%05d\": [1, [2, {}]]", i ? ",\n" : "{", i);
    buf_puts(&b, "}");
    const char *text = clip_n(b.data, b.len, 400, CLIP_AUTO);
    CHECK_EQ(f.count, 20000);
    CHECK_HAS(text, "{\"key00000\": [");
    CHECK_HAS(text, " members, ");
    CHECK_HAS(text, " left out ...]\": \"\"}");
    buf_free(&b);
}

TEST(json_that_breaks_late_is_text)
{
    struct buf b = {0};
    buf_puts(&b, "[");
    for (int i = 0; i < 20000; i++) buf_printf(&b, "%d, ", i);
    const char *text = clip_n(b.data, b.len, 200, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_TEXT);
    CHECK_EQ(f.count, 0);
    CHECK_HAS(text, "[0, 1, 2, ");
    CHECK_HAS(text, "left out ...]");
    CHECK_HAS(text, " 19999, ");
    buf_free(&b);
}

TEST(a_line_of_json_after_another_is_text)
{
    struct buf b = {0};
    for (int i = 0; i < 2000; i++) buf_printf(&b, "{\"n\": %d}\n", i);
    clip_n(b.data, b.len, 200, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_TEXT);
    buf_free(&b);
}

/* ---------------------------------------------------------------- tables */

TEST(of_a_table_header_and_first_rows_are_shown_and_rows_counted_through_quotes)
{
    struct buf b = {0};
    buf_puts(&b, "id,name\n");
    for (int i = 1; i < 3000; i++) buf_printf(&b, "%d,\"a \"\"row\"\"\nof, two lines\"\n", i);
    const char *text = clip_n(b.data, b.len, 300, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_CSV);
    CHECK_EQ(f.count, 3000);
    CHECK_EQ(f.lines, 5999);
    CHECK_HAS(text, "id,name\n1,\"a \"\"row\"\"\nof, two lines\"\n2,");
    CHECK_HAS(text, "of, two lines\"\n[... 29");
    CHECK_HAS(text, " rows, ");
    CHECK(f.shown_count > 5 && f.shown_count < 12);
    buf_free(&b);
}

TEST(a_table_whose_quote_never_ends_is_text)
{
    struct buf b = {0};
    for (int i = 0; i < 2000; i++) buf_printf(&b, "%d\tb\tc\n", i);
    clip_n(b.data, b.len, 200, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_CSV);
    buf_puts(&b, "1\t\"open\tc\n");
    clip_n(b.data, b.len, 200, CLIP_AUTO);
    CHECK_EQ(f.kind, CLIP_TEXT);
    buf_free(&b);
}

TEST(prose_with_commas_is_no_table)
{
    clip_s("One, two.\nThree, four, five.\nSix, seven.\n", 20);
    CHECK_EQ(f.kind, CLIP_TEXT);
}

TEST(a_log_whose_sentences_have_commas_is_no_table)
{
    struct buf b = {0};
    for (int i = 0; i < 50; i++) buf_printf(&b, "2024-05-01 10:00:%02d INFO step %d done, port %d\n", i, i, 7 * i);
    clip_s(b.data, 100);
    CHECK_EQ(f.kind, CLIP_LOG);
    b.len = 0;
    buf_puts(&b, "time,level,port\n");
    for (int i = 0; i < 50; i++) buf_printf(&b, "2024-05-01 10:00:%02d,INFO,%d\n", i, 7 * i);
    clip_s(b.data, 100);
    CHECK_EQ(f.kind, CLIP_CSV);
    buf_free(&b);
}

/* ---------------------------------------------------------------- the stream */

struct counting { size_t calls, most; };

static size_t count_calls(void *self, const char *text, size_t n)
{
    struct counting *c = self;
    (void)text;
    c->calls++;
    c->most = MAX(c->most, n);
    return n / 4;
}

/* 100 MB: what is taken is what clip_room() said, and the counter is asked a few times about a little text. */
TEST(a_hundred_megabytes_pass_through_the_room_that_was_named)
{
    enum { PIECE = 64 << 10, PIECES = CHECK_SANITIZED ? 200 : 1600 }; /* more than any room, by far */
    struct counting n = {0};
    struct clip_config cfg = {.counter = {count_calls, &n}, .max_tokens = 1000, .kind = CLIP_LOG};
    struct err err = {0};
    struct buf out = {0}, piece = {0};
    struct clip *c = clip_open(&cfg, &err);
    CHECK(c && clip_room(&cfg) < 256 << 10);
    while (piece.len < PIECE) buf_puts(&piece, "12:00:00 INFO nothing to see\n");
    for (int i = 0; i < PIECES; i++) clip_feed(c, piece.data, piece.len);
    CHECK_EQ(clip_finish(c, &out, &f, &err), 0);
    clip_close(c);
    CHECK_EQ(f.bytes, piece.len * PIECES);
    CHECK_EQ(f.shown_bytes + f.left_bytes, f.bytes);
    CHECK_EQ(f.lines, f.bytes / 29);
    CHECK(f.tokens <= 1000 && f.tokens > 900);
    CHECK(n.calls <= 24 && n.most < 48 << 10);
    buf_free(&out);
    buf_free(&piece);
}

TEST(what_is_held_follows_the_tokens_and_what_the_caller_says)
{
    struct clip_config cfg = {.counter = {count_bytes, NULL}};
    size_t least = clip_room(&cfg) - CLIP_HOLD_MIN;
    cfg.max_tokens = 10000;
    CHECK_EQ(clip_room(&cfg) - least, 160000);
    cfg.hold = 100001;
    CHECK_EQ(clip_room(&cfg) - least, 100000);
    cfg.hold = SIZE_MAX;
    CHECK_EQ(clip_room(&cfg) - least, CLIP_HOLD_MAX);
    cfg.hold = 0;
    cfg.max_tokens = SIZE_MAX;
    CHECK_EQ(clip_room(&cfg) - least, CLIP_HOLD_MAX);
}

CHECK_MAIN
