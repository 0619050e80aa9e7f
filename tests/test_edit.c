/* The input: keys to text and cursor, undo, history, search, rows. */
#include "app/tui/edit.h"
#include "tests/check.h"

static struct edit *open_edit(void)
{
    struct err err = {0};
    struct edit *e = edit_open(&err);
    CHECK(e != NULL);
    return e;
}

/* The text with | where the cursor is. */
static const char *shown(const struct edit *e)
{
    static char out[4096];
    size_t n, at = edit_cursor(e);
    const char *text = edit_text(e, &n);
    CHECK(n + 2 <= sizeof out && at <= n && text[n] == '\0');
    memcpy(out, text, at);
    out[at] = '|';
    memcpy(out + at + 1, text + at, n - at + 1);
    return out;
}

static void type(struct edit *e, const char *text)
{
    for (size_t i = 0, n; text[i]; i += n) {
        n = 1;
        while (((unsigned char)text[i + n] & 0xc0) == 0x80) n++;
        CHECK_EQ(edit_type(e, text + i, n), EDIT_CHANGED);
    }
}

static void keys(struct edit *e, enum edit_key key, int times)
{
    while (times-- > 0) edit_key(e, key);
}

static void set(struct edit *e, const char *text)
{
    size_t n;
    edit_text(e, &n);
    CHECK_EQ(edit_replace(e, 0, n, text, strlen(text)), EDIT_CHANGED);
}

/* ------------------------------------------------------------------ the cursor */

TEST(edit_the_cursor_goes_by_clusters)
{
    struct edit *e = open_edit();
    set(e, "ae\xcc\x81\xe7\x8c\xab\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb.");
    keys(e, EDIT_LEFT, 2); /* over the point and the woman at the computer */
    CHECK_STR(shown(e), "ae\xcc\x81\xe7\x8c\xab|\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb.");
    keys(e, EDIT_LEFT, 2);
    CHECK_STR(shown(e), "a|e\xcc\x81\xe7\x8c\xab\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb.");
    CHECK_EQ(edit_key(e, EDIT_DELETE), EDIT_CHANGED);
    CHECK_STR(shown(e), "a|\xe7\x8c\xab\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb.");
    keys(e, EDIT_RIGHT, 2);
    CHECK_EQ(edit_key(e, EDIT_BACKSPACE), EDIT_CHANGED);
    CHECK_STR(shown(e), "a\xe7\x8c\xab|.");
    keys(e, EDIT_TEXT_START, 1);
    CHECK_EQ(edit_key(e, EDIT_LEFT), EDIT_NOTHING);
    CHECK_EQ(edit_key(e, EDIT_BACKSPACE), EDIT_NOTHING);
    edit_close(e);
}

TEST(edit_a_mark_that_joins_what_stands_before_takes_the_cursor_along)
{
    struct edit *e = open_edit();
    set(e, "ex\xcc\x81");
    keys(e, EDIT_TEXT_START, 1);
    keys(e, EDIT_RIGHT, 1);
    CHECK_EQ(edit_key(e, EDIT_DELETE), EDIT_CHANGED); /* the x with its accent */
    CHECK_STR(shown(e), "e|");
    CHECK_EQ(edit_type(e, "\xcc\x81", 2), EDIT_CHANGED);
    keys(e, EDIT_LEFT, 1);
    CHECK_STR(shown(e), "|e\xcc\x81");
    set(e, "\xcc\x81");
    keys(e, EDIT_TEXT_START, 1);
    type(e, "ex");
    CHECK_STR(shown(e), "e\xcc\x81x|");
    keys(e, EDIT_UNDO_KEY, 1); /* typed behind the mark: a step of its own */
    CHECK_STR(shown(e), "e\xcc\x81|");
    edit_close(e);
}

TEST(edit_words_and_lines)
{
    struct edit *e = open_edit();
    set(e, "find alloc_fail, in\nbuild/night.log");
    keys(e, EDIT_WORD_LEFT, 3);
    CHECK_STR(shown(e), "find alloc_fail, in\n|build/night.log");
    keys(e, EDIT_WORD_LEFT, 2);
    CHECK_STR(shown(e), "find |alloc_fail, in\nbuild/night.log");
    keys(e, EDIT_WORD_RIGHT, 1);
    CHECK_STR(shown(e), "find alloc_fail|, in\nbuild/night.log");
    keys(e, EDIT_LINE_START, 1);
    CHECK_STR(shown(e), "|find alloc_fail, in\nbuild/night.log");
    keys(e, EDIT_LINE_END, 2);
    CHECK_STR(shown(e), "find alloc_fail, in|\nbuild/night.log");
    keys(e, EDIT_TEXT_END, 1);
    CHECK_EQ(edit_key(e, EDIT_WORD_RIGHT), EDIT_NOTHING);
    edit_close(e);
}

TEST(edit_up_and_down_go_by_rows_and_keep_the_column)
{
    struct edit *e = open_edit();
    edit_width(e, 11); /* ten columns and the cursor's */
    set(e, "one two three four\nab\nlonger one");
    CHECK_EQ(edit_rows(e, 100), 4);
    CHECK_EQ(edit_rows(e, 2), 2);
    keys(e, EDIT_LEFT, 1);
    keys(e, EDIT_UP, 1);
    CHECK_STR(shown(e), "one two three four\nab|\nlonger one");
    keys(e, EDIT_UP, 1);
    CHECK_STR(shown(e), "one two three fou|r\nab\nlonger one");
    edit_close(e);
}

TEST(edit_rows_of_a_wrapped_line_are_each_reached)
{
    struct edit *e = open_edit();
    edit_width(e, 9);
    set(e, "aaaaaaaabbbbbbbbcccc"); /* no blank: rows of 8 */
    keys(e, EDIT_TEXT_START, 1);
    keys(e, EDIT_RIGHT, 3);
    keys(e, EDIT_DOWN, 1);
    CHECK_STR(shown(e), "aaaaaaaabbb|bbbbbcccc");
    keys(e, EDIT_DOWN, 1);
    CHECK_STR(shown(e), "aaaaaaaabbbbbbbbccc|c");
    CHECK_EQ(edit_key(e, EDIT_DOWN), EDIT_NOTHING);
    keys(e, EDIT_UP, 2);
    CHECK_STR(shown(e), "aaa|aaaaabbbbbbbbcccc");
    set(e, "xxxxxxxx\naaaaaaaabb");
    keys(e, EDIT_TEXT_START, 1);
    keys(e, EDIT_LINE_END, 1);
    keys(e, EDIT_DOWN, 1);
    CHECK_STR(shown(e), "xxxxxxxx\naaaaaaa|abb"); /* one more would be in the row below */
    edit_close(e);
}

/* ------------------------------------------------------------------ cuts, undo */

TEST(edit_cuts_in_a_row_are_one_and_come_back)
{
    struct edit *e = open_edit();
    set(e, "one two three");
    keys(e, EDIT_CUT_WORD_LEFT, 2);
    CHECK_STR(shown(e), "one |");
    keys(e, EDIT_YANK, 1);
    CHECK_STR(shown(e), "one two three|");
    keys(e, EDIT_TEXT_START, 1);
    keys(e, EDIT_CUT_WORD_RIGHT, 1);
    keys(e, EDIT_LINE_END, 1); /* ends the run */
    keys(e, EDIT_CUT_TO_START, 1);
    CHECK_STR(shown(e), "|");
    keys(e, EDIT_YANK, 1);
    CHECK_STR(shown(e), " two three|");
    set(e, "a\nb");
    keys(e, EDIT_TEXT_START, 1);
    keys(e, EDIT_CUT_TO_END, 2); /* the a, then the newline */
    CHECK_STR(shown(e), "|b");
    keys(e, EDIT_YANK, 1);
    CHECK_STR(shown(e), "a\n|b");
    edit_close(e);
}

TEST(edit_undo_takes_back_what_was_done_at_once)
{
    struct edit *e = open_edit();
    type(e, "hello");
    CHECK_EQ(edit_paste(e, " there,\r\nyou\rall", 16), EDIT_CHANGED);
    CHECK_STR(shown(e), "hello there,\nyou\nall|");
    type(e, "!?");
    keys(e, EDIT_CUT_WORD_LEFT, 1);
    CHECK_STR(shown(e), "hello there,\nyou\n|");
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "hello there,\nyou\nall!?|");
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "hello there,\nyou\nall|");
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "hello|");
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "|");
    CHECK_EQ(edit_key(e, EDIT_UNDO_KEY), EDIT_NOTHING);
    keys(e, EDIT_REDO_KEY, 2);
    CHECK_STR(shown(e), "hello there,\nyou\nall|");
    type(e, ".");
    CHECK_EQ(edit_key(e, EDIT_REDO_KEY), EDIT_NOTHING); /* what was done since counts */
    edit_close(e);
}

TEST(edit_undo_is_bounded_in_steps)
{
    struct edit *e = open_edit();
    for (int i = 0; i < EDIT_UNDO + 10; i++) CHECK_EQ(edit_paste(e, "x", 1), EDIT_CHANGED);
    keys(e, EDIT_UNDO_KEY, 2 * EDIT_UNDO);
    CHECK_STR(shown(e), "xxxxxxxxxx|");
    edit_close(e);
}

TEST(edit_a_paste_of_megabytes_is_one_step_and_the_limit_holds)
{
    struct edit *e = open_edit();
    size_t n = 6 << 20, len;
    char *big = malloc(n);
    CHECK(big != NULL);
    for (size_t i = 0; i < n; i++) big[i] = i % 5000000 == 4999999 ? '\n' : (char)('a' + i % 26);
    type(e, "look: ");
    CHECK_EQ(edit_paste(e, big, n), EDIT_CHANGED);
    CHECK_EQ(edit_paste(e, big, n), EDIT_CHANGED);
    CHECK_EQ(edit_paste(e, big, n), EDIT_FULL);
    CHECK_MEM(edit_text(e, &len) + 6 + n, big, n);
    CHECK_EQ(len, 2 * n + 6);
    for (int i = 0; i < 200; i++) keys(e, i % 3 ? EDIT_UP : EDIT_LEFT, 1);
    CHECK(edit_cursor(e) < len && edit_cursor(e) > len - 200 * 80);
    keys(e, EDIT_CUT_TO_START, 1);
    keys(e, EDIT_UNDO_KEY, 2);
    edit_text(e, &len);
    CHECK_EQ(len, n + 6);
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "look: |");
    free(big);
    edit_close(e);
}

/* ------------------------------------------------------------------ history, search */

static void send(struct edit *e, const char *text)
{
    struct buf out = {0};
    type(e, text);
    CHECK_EQ(edit_key(e, EDIT_ENTER), EDIT_SENT);
    CHECK_EQ(edit_take(e, &out), 0);
    CHECK_STR(out.data, text);
    CHECK_STR(shown(e), "|");
    CHECK_EQ(edit_key(e, EDIT_UNDO_KEY), EDIT_NOTHING);
    buf_free(&out);
}

TEST(edit_history_goes_back_and_comes_to_the_draft_again)
{
    struct edit *e = open_edit();
    CHECK_EQ(edit_key(e, EDIT_ENTER), EDIT_NOTHING);
    type(e, " ");
    CHECK_EQ(edit_key(e, EDIT_ENTER), EDIT_NOTHING); /* nothing but blanks */
    keys(e, EDIT_BACKSPACE, 1);
    send(e, "first");
    send(e, "second");
    send(e, "second");
    CHECK_EQ(edit_history(e), 2);
    type(e, "draft");
    keys(e, EDIT_UP, 1);
    CHECK_STR(shown(e), "second|");
    keys(e, EDIT_UP, 1);
    CHECK_STR(shown(e), "first|");
    CHECK_EQ(edit_key(e, EDIT_UP), EDIT_NOTHING);
    keys(e, EDIT_DOWN, 2);
    CHECK_STR(shown(e), "draft|");
    CHECK_EQ(edit_key(e, EDIT_DOWN), EDIT_NOTHING);
    edit_close(e);
}

TEST(edit_history_is_bounded_in_turns_and_bytes)
{
    struct edit *e = open_edit();
    char text[32];
    for (int i = 0; i < EDIT_HISTORY + 5; i++)
        CHECK_EQ(edit_remember(e, text, (size_t)snprintf(text, sizeof text, "turn %d", i)), 0);
    size_t n;
    CHECK_EQ(edit_history(e), EDIT_HISTORY);
    CHECK_STR(edit_history_text(e, 0, &n), "turn 5");
    char *big = calloc(1, EDIT_HISTORY_BYTES + 1);
    CHECK(big != NULL);
    CHECK_EQ(edit_remember(e, big, EDIT_HISTORY_BYTES + 1), -1);
    CHECK_EQ(edit_history(e), EDIT_HISTORY);
    CHECK_EQ(edit_remember(e, big, EDIT_HISTORY_BYTES), 0);
    CHECK_EQ(edit_history(e), 1);
    free(big);
    edit_close(e);
}

TEST(edit_search_finds_older_ones_and_escape_leaves_the_text)
{
    struct edit *e = open_edit();
    send(e, "Why does it die?");
    send(e, "check turn 14");
    send(e, "check again why");
    type(e, "draft");
    keys(e, EDIT_SEARCH, 1);
    CHECK_EQ(edit_type(e, "why", 3), EDIT_MOVED);
    CHECK_STR(shown(e), "draft|");
    keys(e, EDIT_SEARCH, 2); /* a third is not there: the second stays */
    CHECK_EQ(edit_key(e, EDIT_ENTER), EDIT_CHANGED);
    CHECK_STR(shown(e), "Why does it die?|");
    keys(e, EDIT_UNDO_KEY, 1);
    CHECK_STR(shown(e), "draft|");
    keys(e, EDIT_SEARCH, 1);
    edit_type(e, "check x", 7);
    keys(e, EDIT_BACKSPACE, 2);
    keys(e, EDIT_TEXT_START, 1); /* takes what was found */
    CHECK_STR(shown(e), "|check again why");
    keys(e, EDIT_SEARCH, 1);
    edit_type(e, "14", 2);
    keys(e, EDIT_ESCAPE, 1);
    CHECK_STR(shown(e), "|check again why");
    keys(e, EDIT_SEARCH, 1);
    edit_type(e, "nowhere", 7);
    CHECK_EQ(edit_key(e, EDIT_ENTER), EDIT_MOVED);
    CHECK_STR(shown(e), "|check again why");
    edit_close(e);
}

/* ------------------------------------------------------------------ drawing */

static void check_screen(const struct edit *e, int columns, int rows, int column, int row, const char *want)
{
    struct surface s;
    struct buf out = {0};
    CHECK_EQ(surface_open(&s, columns, rows, NULL), 0);
    edit_draw(&s, surface_all(&s), e);
    surface_dump(&s, &out);
    CHECK_STR(out.data, want);
    CHECK_EQ(s.cursor_column, column);
    CHECK_EQ(s.cursor_row, row);
    buf_free(&out);
    surface_close(&s);
}

TEST(edit_draws_the_rows_around_the_cursor)
{
    struct edit *e = open_edit();
    edit_width(e, 12);
    set(e, "one\ntwo\nthree is long enough\nfour");
    check_screen(e, 12, 3, 4, 2, "three is\nlong enough\nfour\n");
    keys(e, EDIT_TEXT_START, 1);
    check_screen(e, 12, 3, 0, 0, "one\ntwo\nthree is\n");
    edit_close(e);
}

TEST(edit_draws_the_search)
{
    struct edit *e = open_edit();
    edit_width(e, 20);
    send(e, "Why does it die?");
    keys(e, EDIT_SEARCH, 1);
    edit_type(e, "DIE", 3);
    check_screen(e, 20, 2, 11, 1, "Why does it die?\nsearch: DIE\n");
    edit_type(e, "x", 1);
    check_screen(e, 20, 2, 15, 1, "\nnot found: DIEx\n");
    edit_close(e);
}

/* ------------------------------------------------------------------ any keys */

/* An edit that walks from its start by clusters comes by the cursor; rows from the top hold every byte once. */
static void check_sound(struct edit *e)
{
    size_t n, at = edit_cursor(e), walked = 0;
    const char *text = edit_text(e, &n);
    CHECK(at <= n && n <= EDIT_LIMIT && text[n] == '\0');
    edit_key(e, EDIT_TEXT_START);
    for (; edit_cursor(e) < at; walked++) CHECK_EQ(edit_key(e, EDIT_RIGHT), EDIT_MOVED);
    CHECK_EQ(edit_cursor(e), at);
    for (; walked > 0; walked--) CHECK_EQ(edit_key(e, EDIT_LEFT), EDIT_MOVED);
    CHECK_EQ(edit_cursor(e), 0);
    while (edit_cursor(e) < at) edit_key(e, EDIT_RIGHT);
}

TEST(edit_any_keys_leave_it_sound_and_undo_leads_back)
{
    static const char *const bits[] = {"a", " ", "word", "\n", "\t", "e\xcc\x81", "\xcc\x81",
                                       "\xe7\x8c\xab", "\x9b", "\xff",
                                       "\xf0\x9f\x91\xa9", "\xe2\x80\x8d", "\xf0\x9f\x87\xa9", "\xd7\xa9",
                                       "\x1b[2J", "\r\n"};
    uint32_t seed = 7;
    for (int round = 0; round < 40; round++) {
        struct edit *e = open_edit();
        struct surface s;
        CHECK_EQ(surface_open(&s, 7 + round % 5, 1 + round % 4, NULL), 0);
        edit_width(e, 7 + round % 5);
        for (int i = 0; i < 120; i++) {
            seed = seed * 1664525 + 1013904223;
            const char *bit = bits[(seed >> 20) % COUNT_OF(bits)];
            uint32_t what = (seed >> 10) % 60;
            if (what < 25) edit_type(e, bit, strlen(bit));
            else if (what < 30) edit_paste(e, bit, strlen(bit));
            else edit_key(e, (enum edit_key)(what % (EDIT_ESCAPE + 1)));
            if (what % 7 == 0) edit_key(e, EDIT_ESCAPE);
            edit_draw(&s, surface_all(&s), e);
            CHECK(s.cursor_column >= 0 && s.cursor_column < s.columns && s.cursor_row >= 0 && s.cursor_row < s.rows);
        }
        edit_key(e, EDIT_ESCAPE);
        check_sound(e);
        size_t n;
        keys(e, EDIT_UNDO_KEY, EDIT_UNDO);
        edit_text(e, &n);
        CHECK_EQ(n, 0);
        surface_close(&s);
        edit_close(e);
    }
}

CHECK_MAIN
