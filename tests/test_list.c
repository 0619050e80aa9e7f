/* Positions in lists and texts: by keys, into their bounds, and what of a text is then seen. */
#include "app/tui/list.h"
#include "tests/check.h"

static struct key named(enum key_name name) { return (struct key){.name = name, .text = ""}; }
static struct key letter(uint32_t rune) { return (struct key){.name = KEY_CHAR, .rune = rune, .text = "", .n = 1}; }

static bool list_press(struct list *l, struct key k, int n, int rows) { return list_key(l, &k, n, rows); }

TEST(list_is_brought_into_its_bounds)
{
    struct list l = {.selected = 50, .top = 90};
    list_fit(&l, 10, 4);
    CHECK_EQ(l.selected, 9);
    CHECK_EQ(l.top, 6);
    list_fit(&l, 0, 4);
    CHECK_EQ(l.selected, 0);
    CHECK_EQ(l.top, 0);
    l = (struct list){.selected = -3, .top = -7};
    list_fit(&l, 10, 0); /* a box without rows */
    CHECK_EQ(l.selected, 0);
    CHECK_EQ(l.top, 0);
    l = (struct list){.selected = 9, .top = 9};
    list_fit(&l, 10, 20); /* no empty rows below where there is something above */
    CHECK_EQ(l.top, 0);
}

TEST(list_keys_move_and_keep_the_selected_row_in_sight)
{
    struct list l = {0};
    CHECK(list_press(&l, named(KEY_UP), 100, 10));
    CHECK_EQ(l.selected, 0);
    for (int i = 0; i < 12; i++) CHECK(list_press(&l, i % 2 ? letter('j') : named(KEY_DOWN), 100, 10));
    CHECK_EQ(l.selected, 12);
    CHECK_EQ(l.top, 3);
    CHECK(list_press(&l, named(KEY_PAGE_DOWN), 100, 10));
    CHECK_EQ(l.selected, 21);
    CHECK(list_press(&l, letter('k'), 100, 10));
    CHECK_EQ(l.selected, 20);
    CHECK(list_press(&l, letter('G'), 100, 10));
    CHECK_EQ(l.selected, 99);
    CHECK_EQ(l.top, 90);
    CHECK(list_press(&l, named(KEY_DOWN), 100, 10));
    CHECK_EQ(l.selected, 99);
    CHECK(list_press(&l, named(KEY_PAGE_UP), 100, 10));
    CHECK_EQ(l.selected, 90);
    CHECK(list_press(&l, named(KEY_HOME), 100, 10));
    CHECK_EQ(l.selected, 0);
    CHECK(!list_press(&l, letter('q'), 100, 10));
    struct key ctrl = letter('j');
    ctrl.mods = KEY_CTRL;
    CHECK(!list_press(&l, ctrl, 100, 10));
    CHECK(list_press(&l, named(KEY_END), 0, 10)); /* of nothing */
    CHECK_EQ(l.selected, 0);
}

TEST(list_far_down_does_not_wrap_around)
{
    struct list l = {.selected = INT32_MAX - 1};
    CHECK(list_press(&l, named(KEY_PAGE_DOWN), INT32_MAX, 1000));
    CHECK_EQ(l.selected, INT32_MAX - 1);
}

/* ---------------------------------------------------------------- the bar */

static int bar_rows(const struct surface *s, int *first)
{
    int n = 0;
    *first = -1;
    for (int i = 0; i < s->rows; i++) {
        if (!(s->cell[(i + 1) * s->columns - 1].look.attr & LOOK_REVERSE)) continue;
        if (*first < 0) *first = i;
        n++;
    }
    return n;
}

TEST(list_bar_says_which_part_is_seen)
{
    struct surface s;
    struct err err;
    int first;
    CHECK_EQ(surface_open(&s, 10, 20, &err), 0);
    for (int n = 0; n <= 500; n += 7)
        for (int top = 0; top <= MAX(n - 20, 0); top++) {
            surface_clear(&s, surface_all(&s), (struct look){0});
            list_bar(&s, surface_all(&s), n, top);
            const int rows = bar_rows(&s, &first);
            if (n <= 20) {
                CHECK_EQ(rows, 0);
                continue;
            }
            CHECK(rows >= 1 && rows < 20);
            CHECK_EQ(first == 0, top == 0); /* at the ends only where the list is */
            CHECK_EQ(first + rows == 20, top == n - 20);
        }
    list_bar(&s, (struct box){0, 0, 10, 20}, INT32_MAX, INT32_MAX - 30);
    CHECK(bar_rows(&s, &first) >= 1);
    surface_close(&s);
}

/* ---------------------------------------------------------------- a text */

static struct surface screen;

static const char *page(struct pager *p, const char *text, size_t n)
{
    static struct buf b;
    b.len = 0;
    surface_clear(&screen, surface_all(&screen), (struct look){0});
    pager_draw(p, &screen, surface_all(&screen), text, n, (struct look){0});
    surface_dump(&screen, &b);
    return b.data;
}

TEST(pager_wraps_and_scrolls)
{
    static const char text[] = "one two three\nfour five six seven\neight\nnine\nten";
    struct pager p = {0};
    struct err err;
    CHECK_EQ(surface_open(&screen, 12, 3, &err), 0);
    CHECK_STR(page(&p, text, strlen(text)), "one two\nthree\nfour five\n");
    const struct key down = named(KEY_DOWN), end = named(KEY_END), home = named(KEY_HOME), other = named(KEY_F3);
    CHECK(pager_key(&p, &down, 3));
    CHECK_STR(page(&p, text, strlen(text)), "three\nfour five\nsix seven\n");
    CHECK(pager_key(&p, &end, 3));
    CHECK_STR(page(&p, text, strlen(text)), "eight\nnine\nten\n");
    CHECK(pager_key(&p, &down, 3));
    CHECK_STR(page(&p, text, strlen(text)), "eight\nnine\nten\n");
    CHECK(!pager_key(&p, &other, 3));
    CHECK(pager_key(&p, &home, 3));
    CHECK_EQ(p.top, 0);
    CHECK_STR(page(&p, "", 0), "\n\n\n");
    CHECK(pager_key(&p, &end, 3));
    pager_close(&p);
    surface_close(&screen);
}

TEST(pager_of_another_width_shows_the_same_place)
{
    char text[3000];
    struct pager p = {0};
    struct err err;
    const struct key down = named(KEY_PAGE_DOWN);
    for (int i = 0; i < 300; i++) snprintf(text + i * 9, sizeof text - (size_t)i * 9, "word %03d ", i);
    CHECK_EQ(surface_open(&screen, 40, 10, &err), 0);
    page(&p, text, 2700);
    for (int i = 0; i < 3; i++) pager_key(&p, &down, 10);
    char first[9];
    snprintf(first, sizeof first, "%.8s", page(&p, text, 2700));
    CHECK_EQ(surface_resize(&screen, 20, 10, &err), 0);
    CHECK(strncmp(page(&p, text, 2700), first, 8) == 0);
    pager_close(&p);
    surface_close(&screen);
}

/* Memory that was freed may come back with another text in it. */
TEST(pager_is_told_of_another_text_at_the_same_place)
{
    char text[] = "aaaa aaaa aaaa aaaa";
    struct pager p = {0};
    struct err err;
    CHECK_EQ(surface_open(&screen, 12, 3, &err), 0);
    CHECK_STR(page(&p, text, strlen(text)), "aaaa aaaa\naaaa aaaa\n\n");
    memcpy(text, "b\nb\nbbbb bbbbbbbbbb", strlen(text));
    pager_anew(&p);
    CHECK_STR(page(&p, text, strlen(text)), "b\nb\nbbbb\n");
    pager_close(&p);
    surface_close(&screen);
}

CHECK_MAIN
