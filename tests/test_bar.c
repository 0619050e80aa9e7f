/* Bars add up: cells to the width, shown numbers to the shown whole; words that do not fit go by their rank. */
#include "app/tui/bar.h"
#include "tests/check.h"

#include <math.h>

static uint64_t state = 88172645463325252u;
static uint64_t random_64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of any magnitude, often 0 or the largest there is. */
static uint64_t random_size(void)
{
    uint64_t r = random_64() % 16;
    return r == 0 ? 0 : r == 1 ? UINT64_MAX : random_64() >> random_64() % 64;
}

static struct surface open_surface(int columns, int rows)
{
    struct surface s;
    struct err err;
    CHECK_EQ(surface_open(&s, columns, rows, &err), 0);
    return s;
}

/* ------------------------------------------------------------------ shares */

static void check_shares(const uint64_t *size, int n, uint64_t whole)
{
    uint64_t share[BAR_PARTS], sum = 0;
    unsigned __int128 all = 0;
    bar_shares(size, n, whole, share);
    for (int i = 0; i < n; i++) all += size[i];
    for (int i = 0; i < n; i++) {
        CHECK(!size_add(sum, share[i], &sum));
        if (all == 0) continue;
        uint64_t exact = (uint64_t)((unsigned __int128)size[i] * whole / all);
        CHECK(share[i] == exact || share[i] == exact + 1);
        if ((unsigned __int128)size[i] * whole % all == 0) CHECK(share[i] == exact);
    }
    CHECK(sum == whole);
}

TEST(shares_sum_to_the_whole_and_each_is_less_than_one_off)
{
    uint64_t size[BAR_PARTS];
    for (int round = 0; round < 20000; round++) {
        int n = 1 + (int)(random_64() % BAR_PARTS);
        for (int i = 0; i < n; i++) size[i] = random_size();
        check_shares(size, n, random_64() % 4 ? random_64() % 300 : random_size());
    }
}

TEST(shares_give_what_is_left_to_the_largest_remainders)
{
    uint64_t share[3];
    bar_shares((const uint64_t[]){55, 28, 17}, 3, 10, share); /* 5.5, 2.8, 1.7 */
    CHECK_EQ(share[0], 5);
    CHECK_EQ(share[1], 3);
    CHECK_EQ(share[2], 2);
    bar_shares((const uint64_t[]){1, 1, 1}, 3, 4, share); /* the first of equals */
    CHECK_EQ(share[0], 2);
    bar_shares((const uint64_t[]){0, 0, 0}, 3, 7, share);
    CHECK_EQ(share[2], 7);
}

/* ------------------------------------------------------------------ bars */

/* The cells of row 0 that show this glyph in this hue. */
static int cells_of(const struct surface *s, const char *glyph, int hue)
{
    int n = 0;
    for (int i = 0; i < s->columns; i++)
        n += strncmp(s->cell[i].text, glyph, CELL_BYTES) == 0 && s->cell[i].look.hue == hue;
    return n;
}

TEST(a_bar_shows_each_part_in_its_share_of_cells_in_both_glyph_sets)
{
    for (int round = 0; round < 300; round++) {
        int columns = 3 + (int)(random_64() % 300), n = 1 + (int)(random_64() % 8);
        struct surface s = open_surface(columns + 5, 1);
        struct bar_part part[8];
        uint64_t size[8], share[8];
        enum glyphs glyphs = round % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII;
        for (int i = 0; i < n; i++) {
            size[i] = random_size();
            part[i] = (struct bar_part){size[i], (uint8_t)(HUE_SYSTEM + i), (uint8_t)i};
        }
        bar_draw(&s, surface_all(&s), 2, 0, columns, part, n, glyphs);
        bar_shares(size, n, (uint64_t)columns - 2, share);
        for (int i = 0; i < n; i++)
            CHECK_EQ(cells_of(&s, bar_glyph((enum bar_glyph)i, glyphs), HUE_SYSTEM + i), share[i]);
        CHECK_EQ(cells_of(&s, glyphs ? "▕" : "[", HUE_DIM), 1);
        CHECK_STR(s.cell[2 + columns - 1].text, glyphs ? "▏" : "]");
        surface_close(&s);
    }
}

TEST(glyphs_of_parts_differ_in_each_set_and_take_one_column)
{
    for (int set = 0; set < GLYPHS_SETS; set++)
        for (int i = 0; i < BAR_GLYPHS; i++) {
            const char *glyph = bar_glyph((enum bar_glyph)i, (enum glyphs)set);
            CHECK_EQ(surface_columns(glyph, strlen(glyph)), 1);
            for (int k = 0; k < i && i < BAR_THICK; k++)
                CHECK(strcmp(glyph, bar_glyph((enum bar_glyph)k, (enum glyphs)set)) != 0);
        }
}

TEST(a_sparkline_shows_the_newest_values_at_the_right_and_gaps_where_nothing_is_known)
{
    struct surface s = open_surface(10, 1);
    struct buf out = {0};
    const float value[] = {900, 0, 35, NAN, 70, -1, INFINITY, 10};
    spark_draw(&s, surface_all(&s), 1, 0, 7, value, 8, HUE_OK, GLYPHS_ASCII);
    surface_dump(&s, &out);
    CHECK_STR(out.data, " _= #  .\n"); /* 900 is no longer in sight, and 70 the top */
    buf_free(&out);
    surface_clear(&s, surface_all(&s), (struct look){0});
    spark_draw(&s, surface_all(&s), 0, 0, 5, (const float[]){0, 0}, 2, HUE_OK, GLYPHS_UTF8);
    surface_dump(&s, &out);
    CHECK_STR(out.data, "   ▁▁\n");
    buf_free(&out);
    surface_close(&s);
}

/* ------------------------------------------------------------------ numbers */

static uint64_t parsed(const char *text)
{
    uint64_t n = 0;
    for (; *text; text++)
        if (*text != ',') n = 10 * n + (uint64_t)(*text - '0');
    return n;
}

TEST(figures_read_back_are_the_figures)
{
    char out[FIGURE];
    CHECK_STR(figure(out, 0), "0");
    CHECK_STR(figure(out, 999), "999");
    CHECK_STR(figure(out, 1000), "1,000");
    CHECK_STR(figure(out, UINT64_MAX), "18,446,744,073,709,551,615");
    CHECK_STR(figure_signed(out, INT64_MIN), "-9,223,372,036,854,775,808");
    CHECK_STR(figure_signed(out, 1412), "1,412");
    for (int i = 0; i < 2000; i++) {
        uint64_t n = random_size();
        CHECK(parsed(figure(out, n)) == n);
    }
}

TEST(rates_and_times_have_as_many_digits_as_help_and_say_when_they_are_not_known)
{
    char out[FIGURE];
    CHECK_STR(figure_rate(out, 1140.4), "1,140");
    CHECK_STR(figure_rate(out, 9.96), "10");
    CHECK_STR(figure_rate(out, 8.52), "8.5");
    CHECK_STR(figure_rate(out, (double)NAN), "n/a");
    CHECK_STR(figure_rate(out, -1), "n/a");
    CHECK_STR(figure_rate(out, (double)INFINITY), "n/a");
    CHECK_STR(figure_seconds(out, 0.084), "84 ms");
    CHECK_STR(figure_seconds(out, 0.9996), "1.0 s");
    CHECK_STR(figure_seconds(out, 180), "3 min");
    CHECK_STR(figure_seconds(out, (double)NAN), "n/a");
    CHECK_STR(bar_unit(512ull << 20).name, "MiB");
    CHECK_STR(bar_unit(24ull << 30).name, "MiB");
    CHECK_STR(bar_unit(1 << 20).name, "KiB");
    CHECK_STR(bar_unit(UINT64_MAX).name, "TiB");
    CHECK_EQ(bar_units((uint64_t)116676 << 20 >> 3, (struct bar_unit){"MiB", 1 << 20}), 14585); /* and a half */
    CHECK_EQ(bar_units((1 << 20) / 2 - 1, (struct bar_unit){"MiB", 1 << 20}), 0);
}

/* ------------------------------------------------------------------ words */

TEST(words_that_find_no_room_beside_those_of_lower_rank_are_left_out)
{
    struct surface s = open_surface(60, 1);
    struct words w = {0};
    struct buf out = {0};
    words_add(&w, HUE_TEXT, 0, "%d of %d", 3, 9);
    words_add(&w, HUE_TEXT, 2, "seldom")->glyph = BAR_FULL;
    words_add(&w, HUE_TEXT, 1, "one");
    words_add(&w, HUE_TEXT, 1, "two");
    CHECK_EQ(words_fit(&w, 60, 0), 26);
    CHECK_EQ(words_columns(&w, 0), 26);
    words_draw(&s, surface_all(&s), 0, 0, &w, 0, GLYPHS_ASCII);
    surface_dump(&s, &out);
    CHECK_STR(out.data, "3 of 9  # seldom  one  two\n");
    struct words v = w;
    CHECK_EQ(words_fit(&v, 25, 0), 16);
    CHECK_EQ(v.n, 3);
    CHECK_EQ(words_fit(&v, 15, 0), 11);
    CHECK_STR(v.word[1].text, "one");
    memcpy(w.word[2].text, "rather long", 12); /* leaves its room to what is wanted less */
    CHECK_EQ(words_fit(&w, 17, 0), 11);
    CHECK_STR(w.word[1].text, "two");
    CHECK_EQ(words_fit(&w, 2, 0), 0);
    for (int i = 0; i < WORDS + 3; i++) words_add(&w, HUE_TEXT, 0, "%d", i);
    CHECK_EQ(w.n, WORDS);
    buf_free(&out);
    surface_close(&s);
}

CHECK_MAIN
