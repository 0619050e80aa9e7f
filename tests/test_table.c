/* What lists are drawn with: cells that end where they must, ages, sizes; and a text that is typed in one row. */
#include "app/tui/table.h"
#include "app/tui/typed.h"
#include "tests/check.h"

static struct surface screen;

static void begin(int columns, int rows)
{
    struct err err;
    CHECK_EQ(surface_open(&screen, columns, rows, &err), 0);
}

static const char *row(int which)
{
    static struct buf b;
    static char text[400];
    b.len = 0;
    surface_dump(&screen, &b);
    const char *at = b.data;
    for (int i = 0; i < which; i++) at = strchr(at, '\n') + 1;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
    return text;
}

/* ---------------------------------------------------------------- cells */

TEST(table_middle_keeps_both_ends)
{
    static const struct { const char *text, *utf8, *ascii; int columns; } cut[] = {
        {"harbour", "harbour", "harbour", 7}, {"harbour", "ha…our", "ha~our", 6}, {"harbour", "h…r", "h~r", 3},
        {"harbour", "…r", "~r", 2}, {"harbour", "…", "~", 1}, {"日本語", "日本語", "日本語", 6},
        {"日本語", "日…語", "日~語", 5}, {"日本語", "…語", "~語", 4}, {"", "", "", 1},
    };
    char out[40];
    for (size_t i = 0; i < COUNT_OF(cut); i++) {
        table_middle(cut[i].text, cut[i].columns, GLYPHS_UTF8, out, sizeof out);
        CHECK_STR(out, cut[i].utf8);
        CHECK(surface_columns(out, strlen(out)) <= cut[i].columns);
        table_middle(cut[i].text, cut[i].columns, GLYPHS_ASCII, out, sizeof out);
        CHECK_STR(out, cut[i].ascii);
    }
}

TEST(table_text_ends_with_a_mark_where_it_is_cut)
{
    static const struct { const char *text, *utf8, *ascii; int columns; } cell[] = {
        {"harbour", "harbour |", "harbour |", 7}, {"harbour", "harbo…  |", "harbo~  |", 6},
        {"har\nbour", "har     |", "har     |", 6}, {"日本語", "日 …    |", "日 ~    |", 4},
        {"日本語", "日本…   |", "日本~   |", 5},   {"日本語", "日本語  |", "日本語  |", 6},
    };
    begin(20, 1);
    for (size_t i = 0; i < COUNT_OF(cell); i++)
        for (int set = 0; set < GLYPHS_SETS; set++) {
            const struct box b = surface_all(&screen);
            const char *want = set == GLYPHS_ASCII ? cell[i].ascii : cell[i].utf8;
            surface_clear(&screen, b, (struct look){0});
            surface_puts(&screen, b, surface_columns(want, strlen(want)) - 1, 0, "|", (struct look){0});
            table_text(&screen, b, 0, 0, cell[i].columns, cell[i].text, strlen(cell[i].text), (struct look){0},
                       (enum glyphs)set);
            CHECK_STR(row(0), want);
        }
    surface_close(&screen);
}

TEST(table_numbers_are_whole_or_not_there)
{
    begin(10, 1);
    const struct box b = {2, 0, 6, 1};
    table_right(&screen, b, 0, 0, 6, "1,234", (struct look){0});
    CHECK_STR(row(0), "   1,234");
    surface_clear(&screen, surface_all(&screen), (struct look){0});
    table_right(&screen, b, 2, 0, 6, "1,234", (struct look){0}); /* its columns are not all in the box */
    CHECK_STR(row(0), "");
    table_right(&screen, b, 0, 0, 4, "1,234", (struct look){0}); /* it is wider than its columns */
    CHECK_STR(row(0), "");
    surface_close(&screen);
}

/* ---------------------------------------------------------------- words for figures */

TEST(table_ages)
{
    static const struct { int64_t ms; const char *words; } age[] = {
        {-3600000, "in the future"}, {-1000, "just now"}, {0, "just now"}, {59999, "just now"},
        {60000, "1 minute ago"}, {3599999, "59 minutes ago"}, {3600000, "1 hour ago"}, {86399999, "23 hours ago"},
        {86400000, "yesterday"}, {2 * 86400000ll, "2 days ago"}, {7 * 86400000ll, "1 week ago"},
        {364 * 86400000ll, "52 weeks ago"}, {365 * 86400000ll, "1 year ago"}, {INT64_MAX, "9999 years ago"},
    };
    char out[FIGURE];
    for (size_t i = 0; i < COUNT_OF(age); i++) CHECK_STR(table_age(out, age[i].ms, 0), age[i].words);
    CHECK_STR(table_age(out, INT64_MAX, INT64_MIN), "9999 years ago");
    CHECK_STR(table_age(out, INT64_MIN, INT64_MAX), "in the future");
}

TEST(table_sizes)
{
    static const struct { uint64_t bytes; const char *words; } size[] = {
        {0, "0 B"}, {999, "999 B"}, {1000, "1.0 KiB"}, {1023, "1.0 KiB"}, {1536, "1.5 KiB"}, {10000, "9.8 KiB"},
        {10240, "10 KiB"}, {1 << 20, "1.0 MiB"}, {1ull << 40, "1.0 TiB"}, {UINT64_MAX, "16 EiB"},
    };
    char out[FIGURE];
    for (size_t i = 0; i < COUNT_OF(size); i++) CHECK_STR(table_bytes(out, size[i].bytes), size[i].words);
}

TEST(table_times_of_any_number)
{
    char out[FIGURE];
    setenv("TZ", "UTC", 1);
    CHECK_STR(table_time(out, 1790000000000), "2026-09-21 14:13");
    CHECK(strlen(table_time(out, INT64_MAX)) < FIGURE);
    CHECK(strlen(table_time(out, INT64_MIN)) < FIGURE);
}

/* ---------------------------------------------------------------- a typed text */

static enum typed_key press(struct typed *t, enum key_name name, unsigned mods, const char *text)
{
    const struct key k = {.name = name, .mods = mods, .text = text, .n = strlen(text),
                          .rune = (unsigned char)*text};
    return typed_key(t, &k);
}

TEST(typed_text_grows_and_shrinks_by_characters)
{
    struct typed t = {0};
    typed_begin(&t, "old");
    CHECK(t.on);
    CHECK_EQ(press(&t, KEY_CHAR, KEY_CTRL, "u"), TYPED_CHANGED);
    CHECK_STR(t.text, "");
    CHECK_EQ(press(&t, KEY_BACKSPACE, 0, ""), TYPED_CHANGED);
    press(&t, KEY_CHAR, 0, "a");
    press(&t, KEY_CHAR, KEY_SHIFT, "日");
    press(&t, KEY_CHAR, 0, "é");
    CHECK_STR(t.text, "a日é");
    press(&t, KEY_BACKSPACE, 0, "");
    press(&t, KEY_BACKSPACE, 0, "");
    CHECK_STR(t.text, "a");
    press(&t, KEY_PASTE, 0, "bc\nd");
    CHECK_STR(t.text, "abc");
    CHECK_EQ(press(&t, KEY_CHAR, KEY_CTRL, "c"), TYPED_NOT);
    CHECK_EQ(press(&t, KEY_CHAR, KEY_ALT, "x"), TYPED_NOT);
    CHECK_EQ(press(&t, KEY_F6, 0, ""), TYPED_NOT);
    CHECK_EQ(press(&t, KEY_DOWN, 0, ""), TYPED_CHANGED); /* the list behind it stays where it is */
    CHECK(t.on);
    CHECK_EQ(press(&t, KEY_ENTER, 0, ""), TYPED_TAKEN);
    CHECK(!t.on);
    CHECK_STR(t.text, "abc");
    typed_begin(&t, t.text);
    CHECK_STR(t.text, "abc");
    CHECK_EQ(press(&t, KEY_ESCAPE, 0, ""), TYPED_LEFT);
    CHECK(!t.on);
}

TEST(typed_text_that_is_full_ends_between_characters)
{
    struct typed t = {0};
    char big[1000];
    for (int i = 0; i + 3 < (int)sizeof big; i += 3) memcpy(big + i, "日", 4);
    typed_begin(&t, "x");
    press(&t, KEY_PASTE, 0, big);
    CHECK_EQ(strlen(t.text), 1 + (TYPED - 2) / 3 * 3);
    const size_t full = strlen(t.text);
    press(&t, KEY_CHAR, 0, "語");
    CHECK_EQ(strlen(t.text), full);
}

TEST(typed_text_shows_its_end_and_the_cursor_behind_it)
{
    struct typed t = {0};
    begin(20, 2);
    typed_begin(&t, "abc");
    typed_draw(&t, &screen, (struct box){1, 1, 18, 1}, 0, "find:", "a hint that has no room");
    CHECK_STR(row(1), " find: abc");
    CHECK_EQ(screen.cursor_column, 10);
    CHECK_EQ(screen.cursor_row, 1);
    typed_begin(&t, "abcdefghijklmnopqrstuvwxyz");
    surface_clear(&screen, surface_all(&screen), (struct look){0});
    typed_draw(&t, &screen, (struct box){1, 1, 18, 1}, 0, "find:", "");
    CHECK_STR(row(1), " find: pqrstuvwxyz");
    CHECK_EQ(screen.cursor_column, 18);
    typed_begin(&t, "");
    surface_clear(&screen, surface_all(&screen), (struct look){0});
    typed_draw(&t, &screen, (struct box){1, 1, 18, 1}, 0, "find:", "a hint");
    CHECK_STR(row(1), " find:    a hint");
    surface_close(&screen);
}

CHECK_MAIN
