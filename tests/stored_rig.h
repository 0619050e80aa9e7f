/* stored_rig.h - the words of the tests of views of stored things: a view on a surface, keys pressed, what it looks
 * like (golden screens in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed) and what it orders.  Header only. */
#ifndef STORED_RIG_H
#define STORED_RIG_H
#include "app/tui/view.h"
#include "tests/check.h"

#define STORED __attribute__((unused)) static

STORED const struct view_ops *ops;
STORED void *viewed;
STORED struct view_in in;
STORED struct view_out got;
STORED struct surface screen;

static inline void forget_out(void)
{
    buf_free(&got.order);
    buf_free(&got.copy);
    got = (struct view_out){.agent = -1};
}

static inline void open_view(const struct view_ops *which, const struct doc *doc)
{
    struct err why;
    ops = which;
    viewed = ops->open();
    CHECK(viewed != NULL);
    in = (struct view_in){.doc = doc, .glyphs = GLYPHS_UTF8};
    forget_out();
    CHECK_EQ(surface_open(&screen, 80, 24, &why), 0);
}

static inline void close_view(void)
{
    forget_out();
    ops->close(viewed);
    surface_close(&screen);
}

static inline void paint(void)
{
    screen.cursor_column = screen.cursor_row = -1;
    ops->draw(viewed, &screen, surface_all(&screen), &in);
}

/* What is on the screen, as text. */
static inline const char *shown(void)
{
    static struct buf b;
    b.len = 0;
    paint();
    surface_dump(&screen, &b);
    return b.len ? b.data : "";
}

static inline bool shows(const char *part) { return strstr(shown(), part) != NULL; }

static inline bool press(enum key_name name)
{
    const struct key k = {.name = name, .text = ""};
    forget_out();
    paint();
    return ops->key(viewed, &k, &in, &got);
}

/* Each character is a key. */
static inline bool type(const char *text)
{
    bool taken = true;
    for (; *text && taken; text++) {
        const char one[2] = {*text, '\0'};
        const struct key k = {.name = KEY_CHAR, .rune = (unsigned char)*text, .text = one, .n = 1};
        forget_out();
        paint();
        taken = ops->key(viewed, &k, &in, &got);
    }
    return taken;
}

static inline const char *ordered(void) { return got.order.len ? got.order.data : ""; }

static inline void size(int columns, int rows)
{
    struct err why;
    CHECK_EQ(surface_resize(&screen, columns, rows, &why), 0);
}

static inline void read_golden(const char *path, struct buf *into)
{
    char block[4096];
    FILE *f = fopen(path, "rb");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(into, block, n);
    fclose(f);
}

static inline void check_golden(const char *name)
{
    char path[200];
    struct buf want = {0}, is = {0};
    paint();
    surface_dump_looks(&screen, &is);
    snprintf(path, sizeof path, "tests/fixtures/screens/%s.txt", name);
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(is.data, 1, is.len, f) == is.len && fclose(f) == 0);
    }
    read_golden(path, &want);
    CHECK_STR(is.data, want.data);
    buf_free(&want);
    buf_free(&is);
}

/* The four sizes, as "NAME-80x24-utf8" and so on; at 40x10 and 120x36 in ASCII too. */
static inline void check_goldens(const char *name)
{
    static const struct { int columns, rows; enum glyphs glyphs; } at[] = {
        {80, 24, GLYPHS_UTF8}, {120, 36, GLYPHS_UTF8}, {200, 60, GLYPHS_UTF8}, {40, 10, GLYPHS_UTF8},
        {120, 36, GLYPHS_ASCII}, {40, 10, GLYPHS_ASCII},
    };
    char full[120];
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        size(at[i].columns, at[i].rows);
        in.glyphs = at[i].glyphs;
        snprintf(full, sizeof full, "%s-%dx%d-%s", name, at[i].columns, at[i].rows,
                 at[i].glyphs == GLYPHS_ASCII ? "ascii" : "utf8");
        check_golden(full);
    }
    in.glyphs = GLYPHS_UTF8;
}

/* Drawn in a box within a larger surface, at every size from nothing on: what is beside the box stays as it was. */
static inline void check_stays_in_its_box(void)
{
    static const int size_of[] = {0, 1, 2, 3, 5, 8, 12, 17, 30, 40, 61, 80, 113, 150, 210, 300};
    struct surface big;
    struct err why;
    CHECK_EQ(surface_open(&big, 310, 110, &why), 0);
    for (size_t i = 0; i < COUNT_OF(size_of); i++)
        for (int rows = 0; rows <= 100; rows = rows < 12 ? rows + 1 : rows + 22) {
            const struct box b = {3, 2, size_of[i], rows};
            for (int k = 0; k < big.columns * big.rows; k++) big.cell[k] = (struct cell){.text = "@", .width = 1};
            ops->draw(viewed, &big, b, &in);
            for (int k = 0; k < big.columns * big.rows; k++) {
                const int c = k % big.columns, r = k / big.columns;
                const bool within = c >= b.column && c < b.column + b.columns && r >= b.row && r < b.row + b.rows;
                if (!within) CHECK_STR(big.cell[k].text, "@");
            }
        }
    surface_close(&big);
}
#endif
