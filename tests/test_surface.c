/* Cells: what is drawn stays inside its box, no half of a wide cell is ever left, and a dump says what is there. */
#include "tests/check.h"
#include "tests/surface_props.h"
#include "tests/tiny_model.h"
#include <limits.h>

#define BAD "\xef\xbf\xbd"

static const struct look plain = {0};

static struct surface opened(int columns, int rows)
{
    struct surface s;
    CHECK_EQ(surface_open(&s, columns, rows, NULL), 0);
    return s;
}

static void looks_like(const struct surface *s, const char *want)
{
    struct buf out = {0};
    surface_dump(s, &out);
    CHECK_STR(out.data, want);
    CHECK_STR(surface_props(s), NULL);
    buf_free(&out);
}

/* ------------------------------------------------------------------ opening */

TEST(a_surface_opens_blank_and_says_what_is_too_large)
{
    struct surface s = opened(3, 2);
    looks_like(&s, "\n\n");
    CHECK_EQ(s.cursor_column, -1);
    CHECK_EQ(s.cursor_row, -1);
    surface_puts(&s, surface_all(&s), 0, 0, "abc", plain);
    s.cursor_column = 1;
    struct err err = {0};
    CHECK_EQ(surface_resize(&s, 0, 2, &err), -1);
    CHECK_STR(err.text, "a surface of 0 columns and 2 rows; 1 to 1000 of each are possible");
    CHECK_EQ(surface_resize(&s, 2, SURFACE_MAX + 1, NULL), -1);
    CHECK_EQ(surface_resize(&s, INT_MAX, INT_MAX, NULL), -1);
    looks_like(&s, "abc\n\n"); /* as it was */
    CHECK_EQ(s.cursor_column, 1);
    CHECK_EQ(surface_resize(&s, 5, 1, NULL), 0);
    looks_like(&s, "\n");
    CHECK_EQ(s.columns, 5);
    CHECK_EQ(s.cursor_column, -1);
    surface_close(&s);
    CHECK(s.cell == NULL);
    surface_close(&s);
    CHECK_EQ(surface_open(&s, -1, 1, NULL), -1);
    CHECK(s.cell == NULL);
}

/* ------------------------------------------------------------------ text */

TEST(text_is_cut_at_the_edges_of_its_box)
{
    struct surface s = opened(10, 4);
    struct box b = {2, 1, 6, 2};
    size_t used = 99;
    CHECK_EQ(surface_text(&s, b, 0, 0, "abcdefghi", 9, plain, &used), 6);
    CHECK_EQ(used, 6);
    CHECK_EQ(surface_text(&s, b, 4, 1, "xyz", 3, plain, &used), 2);
    CHECK_EQ(used, 2);
    looks_like(&s, "\n  abcdef\n      xy\n\n");
    CHECK_EQ(surface_text(&s, b, 0, 2, "no", 2, plain, &used), 0);
    CHECK_EQ(used, 0);
    CHECK_EQ(surface_text(&s, b, 0, -1, "no", 2, plain, &used), 0);
    CHECK_EQ(surface_text(&s, b, 6, 0, "no", 2, plain, &used), 0);
    CHECK_EQ(surface_text(&s, b, INT_MAX, 0, "no", 2, plain, &used), 0);
    CHECK_EQ(surface_text(&s, b, INT_MIN, 0, "no", 2, plain, &used), 2); /* all of it left of the box */
    CHECK_EQ(surface_text(&s, b, 0, INT_MAX, "no", 2, plain, &used), 0);
    looks_like(&s, "\n  abcdef\n      xy\n\n");
    CHECK_EQ(surface_puts(&s, b, -3, 1, "123456", plain), 6); /* moved to the left */
    looks_like(&s, "\n  abcdef\n  456 xy\n\n");
    surface_close(&s);
}

TEST(a_line_of_text_ends_at_a_newline)
{
    struct surface s = opened(10, 1);
    size_t used;
    CHECK_EQ(surface_text(&s, surface_all(&s), 0, 0, "ab\r\ncd", 6, plain, &used), 2);
    CHECK_EQ(used, 2);
    looks_like(&s, "ab\n");
    CHECK_EQ(surface_text(&s, surface_all(&s), 0, 0, "\ncd", 3, plain, &used), 0);
    CHECK_EQ(used, 0);
    surface_close(&s);
}

TEST(boxes_beyond_the_surface_are_cut)
{
    struct surface s = opened(4, 2);
    CHECK_EQ(surface_puts(&s, (struct box){-2, -1, 100, 100}, 0, 1, "abcdefgh", plain), 8);
    looks_like(&s, "cdef\n\n");
    CHECK_EQ(surface_puts(&s, (struct box){INT_MAX, INT_MAX, INT_MAX, INT_MAX}, 0, 0, "x", plain), 0);
    surface_puts(&s, (struct box){INT_MIN, INT_MIN, INT_MAX, INT_MAX}, 5, 5, "x", plain);
    surface_puts(&s, (struct box){0, 0, -5, 2}, 0, 0, "x", plain);
    surface_fill(&s, (struct box){-100, 0, INT_MAX, 1}, INT_MIN, 0, INT_MAX, "x", plain);
    surface_clear(&s, (struct box){4, 0, INT_MAX, 2}, plain);
    surface_clear(&s, (struct box){0, 0, 4, INT_MIN}, plain);
    looks_like(&s, "cdef\n\n");
    surface_fill_down(&s, (struct box){0, -100, INT_MAX, INT_MAX}, 1, 0, INT_MAX, "x", plain);
    looks_like(&s, "cxef\n x\n");
    surface_close(&s);
}

TEST(a_wide_character_that_finds_one_cell_is_a_blank)
{
    struct surface s = opened(8, 3);
    struct box b = {1, 0, 5, 3};
    size_t used;
    surface_fill(&s, surface_all(&s), 0, 0, 8, "-", plain);
    CHECK_EQ(surface_text(&s, b, 0, 0, "日本語", 9, plain, &used), 5);
    CHECK_EQ(used, 6);
    CHECK_EQ(surface_text(&s, b, -1, 1, "日本", 6, plain, &used), 4); /* half of it is left of the box */
    CHECK_EQ(used, 6);
    CHECK_EQ(surface_text(&s, b, 3, 2, "a\tb", 3, plain, &used), 2); /* a tab that does not fit either */
    CHECK_EQ(used, 1);
    looks_like(&s, "-日本 --\n  本\n    a\n");
    CHECK_EQ(s.cell[1].width, 2);
    CHECK_EQ(s.cell[2].width, CELL_COVERED);
    CHECK_EQ(s.cell[5].width, 1);
    surface_close(&s);
}

TEST(half_of_a_wide_character_overwritten_leaves_a_blank)
{
    struct surface s = opened(8, 1);
    struct box all = surface_all(&s);
    surface_puts(&s, all, 0, 0, "日本語x", plain);
    surface_puts(&s, all, 1, 0, "a", plain);
    looks_like(&s, " a本語x\n");
    surface_puts(&s, all, 3, 0, "字", plain); /* the end of one, the beginning of the next */
    looks_like(&s, " a 字 x\n");
    surface_puts(&s, all, 0, 0, "日本語x", plain);
    surface_puts(&s, (struct box){2, 0, 3, 1}, 0, 0, "...", plain); /* the blank is outside of the box */
    looks_like(&s, "日... x\n");
    surface_puts(&s, all, 0, 0, "日本語x", plain);
    surface_clear(&s, (struct box){1, 0, 2, 1}, plain);
    looks_like(&s, "    語x\n");
    surface_close(&s);
}

TEST(nothing_of_a_hostile_text_reaches_a_cell)
{
    struct surface s = opened(60, 1);
    static const char text[] = "\x1b]52;c;aGk=\x07\x1b[2J\xc2\x9b\x31\x7f\u202e\u2067evil\xff\x9b\0\r\b";
    surface_text(&s, surface_all(&s), 0, 0, text, sizeof text - 1, plain, NULL);
    looks_like(&s, BAD "]52;c;aGk=" BAD BAD "[2J" BAD "1" BAD BAD BAD "evil" BAD BAD BAD BAD BAD "\n");
    surface_close(&s);
}

TEST(text_of_right_to_left_stands_in_the_order_of_its_bytes)
{
    struct surface s = opened(9, 1);
    CHECK_EQ(surface_puts(&s, surface_all(&s), 1, 0, "(שלום) ab", plain), 8);
    CHECK_STR(s.cell[2].text, "ש");
    CHECK_STR(s.cell[5].text, "ם");
    CHECK_STR(s.cell[6].text, ")");
    surface_close(&s);
}

TEST(a_cell_full_of_marks_ends_with_its_last_byte)
{
    struct surface s = opened(3, 1);
    surface_puts(&s, surface_all(&s), 0, 0, "\U00010a0f\U00010a0f\U00010a0f", plain); /* marks alone */
    looks_like(&s, BAD "\n");
    surface_puts(&s, surface_all(&s), 0, 0, "\U00010a10\U00010a0f\U00010a0f\U00010a0f\U00010a0fx", plain);
    CHECK_EQ(strnlen(s.cell[0].text, CELL_BYTES), CELL_BYTES);
    looks_like(&s, "\U00010a10\U00010a0f\U00010a0f\U00010a0fx\n");
    surface_close(&s);
}

TEST(print_and_fill_put_what_they_say)
{
    struct surface s = opened(8, 3);
    struct box b = {1, 0, 6, 3};
    CHECK_EQ(surface_printf(&s, b, 1, 0, plain, "%d of %s", 7, "12345"), 5);
    CHECK_EQ(surface_printf(&s, b, 0, 1, plain, "%5000d", 1), 6);
    surface_fill(&s, b, -2, 2, 5, "─", plain);
    surface_fill(&s, b, 3, 2, 1, "日", plain);
    surface_fill(&s, b, 4, 2, 1, "ab", plain);
    surface_fill(&s, b, 5, 2, 100, "\x1b", plain);
    surface_fill(&s, b, 0, 1, 0, "x", plain);
    surface_fill(&s, b, 0, 1, -5, "x", plain);
    looks_like(&s, "  7 of\n\n ───" BAD BAD BAD "\n");
    surface_fill_down(&s, b, 5, 1, 9, "█", plain);
    surface_fill_down(&s, b, 1, -5, 7, "│", plain);
    surface_fill_down(&s, b, 6, 0, 3, "x", plain);
    surface_fill_down(&s, b, -1, 0, 3, "x", plain);
    looks_like(&s, "  │ of\n  │   █\n ───" BAD BAD "█\n");
    surface_fill(&s, b, 0, 2, 9, "", plain);
    surface_fill(&s, b, 0, 0, 4, " ", plain);
    looks_like(&s, "     f\n  │   █\n\n");
    surface_close(&s);
}

/* ------------------------------------------------------------------ dumps */

TEST(a_dump_of_looks_says_each_in_a_line_below_its_row)
{
    struct surface s = opened(8, 4);
    struct box all = surface_all(&s);
    surface_puts(&s, all, 0, 0, "plain", plain);
    surface_puts(&s, all, 0, 1, "a", (struct look){.hue = HUE_DIM});
    surface_puts(&s, all, 1, 1, "日", (struct look){.hue = HUE_AGENT + 3, .attr = LOOK_BOLD | LOOK_BLINK});
    surface_puts(&s, all, 4, 1, "e", (struct look){.hue = HUE_OUTSIDE, .attr = 31});
    surface_fill(&s, all, 6, 2, 1, " ", (struct look){.ground = HUE_AGENT + HUE_AGENTS - 1, .attr = LOOK_ITALIC});
    struct buf out = {0};
    surface_dump_looks(&s, &out);
    CHECK_STR(out.data, " plain\n a日 e\n#a33.w\n!.hh.v\n \n@......7\n!......8\n \n");
    buf_free(&out);
    surface_close(&s);
}

TEST(cells_that_look_the_same_are_the_same_bytes)
{
    struct surface a = opened(6, 1), b = opened(6, 1);
    surface_puts(&a, surface_all(&a), 0, 0, "日本語", plain);
    surface_puts(&a, surface_all(&a), 0, 0, "a \tq\u0323", plain);
    surface_clear(&b, surface_all(&b), plain);
    surface_puts(&b, surface_all(&b), 4, 0, "q\u0323\u200d", plain);
    surface_puts(&b, surface_all(&b), 0, 0, "a", plain);
    CHECK_MEM(a.cell, b.cell, 6 * sizeof *a.cell);
    surface_close(&a);
    surface_close(&b);
}

/* ------------------------------------------------------------------ chance */

static const char *const texts[] = {
    "a", "word and word", "日本語", "a日b本c語", "\t", "x\ty", "e\u0301", "\u0301", "\U0001f468\u200d\U0001f469", "\x1b[1m",
    "\xff\xe2\x82", "", "\n", "שלום", "\u200b", "\u1112\u1161\u11ab", " ", "─", "\U000e0041",
};

/* A number about 0..n-1, at times far from it. */
static int about(uint32_t *seed, int n)
{
    static const int far[] = {INT_MIN, -1000, 1000, INT_MAX};
    return tiny_below(seed, 20) == 0 ? far[tiny_below(seed, 4)] : tiny_below(seed, n + 6) - 3;
}

static void draw_something(struct surface *s, struct box b, uint32_t *seed)
{
    const char *text = texts[tiny_below(seed, COUNT_OF(texts))];
    uint8_t hue = (uint8_t)tiny_below(seed, HUES), ground = (uint8_t)tiny_below(seed, HUES);
    struct look look = {hue, ground, (uint8_t)tiny_below(seed, 32)};
    int column = about(seed, s->columns), row = about(seed, s->rows);
    switch (tiny_below(seed, 5)) {
    case 0: surface_clear(s, b, look); break;
    case 1: surface_fill(s, b, column, row, about(seed, 9), text, look); break;
    case 2: surface_fill_down(s, b, column, row, about(seed, 9), text, look); break;
    default: surface_puts(s, b, column, row, text, look);
    }
}

static bool is_inside(struct box b, int column, int row)
{
    return column >= b.column && column - (long long)b.column < b.columns && row >= b.row &&
           row - (long long)b.row < b.rows;
}

/* Outside of the box nothing changes, but that a wide cell across its edge becomes a blank of the same look. */
static void check_outside(const struct surface *s, const struct cell *before, struct box b)
{
    for (int row = 0; row < s->rows; row++)
        for (int column = 0; column < s->columns; column++) {
            const struct cell *now = &s->cell[row * s->columns + column], *was = &before[row * s->columns + column];
            if (is_inside(b, column, row) || memcmp(now, was, sizeof *now) == 0) continue;
            CHECK(now->width == 1 && now->text[0] == '\0' && memcmp(&now->look, &was->look, sizeof now->look) == 0);
            CHECK(was->width == 2 ? is_inside(b, column + 1, row)
                                  : was->width == CELL_COVERED && is_inside(b, column - 1, row));
        }
}

TEST(random_drawing_stays_in_its_box_and_halves_no_cell)
{
    uint32_t seed = 5;
    for (int round = 0; round < 300; round++) {
        struct surface s = opened(1 + tiny_below(&seed, 14), 1 + tiny_below(&seed, 4));
        size_t size = (size_t)(s.columns * s.rows) * sizeof *s.cell;
        struct cell *before = malloc(size);
        CHECK(before != NULL);
        for (int i = 0; i < 60; i++) {
            struct box b = {about(&seed, s.columns), about(&seed, s.rows), about(&seed, s.columns),
                            about(&seed, s.rows)};
            if (tiny_below(&seed, 4) == 0) b = surface_all(&s);
            memcpy(before, s.cell, size);
            draw_something(&s, b, &seed);
            CHECK_STR(surface_props(&s), NULL);
            check_outside(&s, before, b);
        }
        free(before);
        surface_close(&s);
    }
}

/* What is measured is what is drawn: the same columns, and the same text. */
TEST(columns_measured_are_columns_drawn)
{
    uint32_t seed = 6;
    for (int round = 0; round < 2000; round++) {
        struct surface s = opened(80, 1);
        struct buf text = {0}, shown = {0}, dump = {0};
        for (int i = tiny_below(&seed, 8); i >= 0; i--) buf_puts(&text, texts[tiny_below(&seed, COUNT_OF(texts))]);
        buf_puts(&text, "");
        for (size_t at = 0, column = 0; at < text.len;) {
            struct cluster c = surface_cluster(text.data + at, text.len - at, (int)column);
            if (text.data[at] == '\n') break;
            buf_printf(&shown, "%*s", text.data[at] == '\t' ? c.columns : 0, c.text);
            column += (size_t)c.columns;
            at += c.bytes;
        }
        int took = surface_text(&s, surface_all(&s), 0, 0, text.data, text.len, plain, NULL);
        CHECK_EQ(took, surface_columns(text.data, text.len));
        while (shown.len && shown.data[shown.len - 1] == ' ') shown.len--;
        if (shown.data) shown.data[shown.len] = '\0';
        buf_puts(&shown, "\n");
        surface_dump(&s, &dump);
        CHECK_STR(dump.data, shown.data);
        buf_free(&text);
        buf_free(&shown);
        buf_free(&dump);
        surface_close(&s);
    }
}

CHECK_MAIN
