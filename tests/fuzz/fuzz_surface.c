/* fuzz_surface.c - any bytes as text for cells.
 *
 * covers: app/tui/surface.c app/tui/surface_measure.c
 *
 * The first bytes: columns, rows, the box, where to draw, the width of lines; the rest is the text.  What must hold is
 * in tests/surface_props.h; and the text drawn line by line leaves what lies outside of the box as it was. */
#include "tests/surface_props.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 10, FAR = 90 /* from here on a coordinate is far away */ };

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_hold(const char *bad)
{
    if (!bad) return;
    fprintf(stderr, "not so: %s\n", bad);
    abort();
}

static int coordinate(uint8_t byte)
{
    int x = (int8_t)byte;
    return x > FAR ? INT32_MAX - (x - FAR) : x < -FAR ? INT32_MIN - (x + FAR) : x;
}

static bool is_inside(struct box b, int column, int row)
{
    return column >= b.column && column - (long long)b.column < b.columns && row >= b.row &&
           row - (long long)b.row < b.rows;
}

/* A wide cell across the box's edge may have become a blank. */
static void must_be_untouched(const struct surface *s, const struct surface *was, struct box b)
{
    for (int row = 0; row < s->rows; row++)
        for (int column = 0; column < s->columns; column++) {
            const struct cell *a = &s->cell[row * s->columns + column], *o = &was->cell[row * s->columns + column];
            must(is_inside(b, column, row) || memcmp(a, o, sizeof *a) == 0 ||
                 (a->width == 1 && a->text[0] == '\0' && o->width != 1));
        }
}

/* Wide cells everywhere, beginning at an even or an odd column. */
static void fill_with_wide(struct surface *s, int from)
{
    for (int row = 0; row < s->rows; row++)
        for (int column = from; column < s->columns; column += 2)
            surface_puts(s, surface_all(s), column, row, "\xe6\x97\xa5", (struct look){.hue = HUE_DIM});
}

static void draw(struct surface *s, struct box b, const uint8_t *head, const char *text, size_t n)
{
    struct look look = {head[6] % HUES, head[7] % HUES, head[8] & 31};
    int column = coordinate(head[6]), row = coordinate(head[7]), width = head[8] & 63;
    for (size_t at = 0, k; at < n && row < INT32_MAX; at += k, row++) {
        size_t used;
        k = surface_break(text + at, n - at, width);
        int took = surface_text(s, b, column, row, text + at, k, look, &used);
        must(took >= 0 && used <= k && took <= surface_columns(text + at, k));
        must_hold(surface_props(s));
    }
    char glyph[8] = {0};
    memcpy(glyph, text, MIN(n, sizeof glyph - 1));
    row = coordinate(head[8]);
    (head[9] & 1 ? surface_fill : surface_fill_down)(s, b, column, row, coordinate(head[9]), glyph, look);
    must_hold(surface_props(s));
    if (head[9] & 2) surface_clear(s, b, look);
    must_hold(surface_props(s));
}

static void must_dump(const struct surface *s)
{
    struct buf text = {0}, looks = {0};
    surface_dump(s, &text);
    surface_dump_looks(s, &looks);
    must(text.len <= (size_t)(s->columns * s->rows) * CELL_BYTES + (size_t)s->rows && looks.len > text.len);
    for (size_t at = 0, line; at < text.len; at += line + 1) {
        line = (size_t)((char *)memchr(text.data + at, '\n', text.len - at) - (text.data + at));
        must(is_harmless(text.data + at, line) && surface_columns(text.data + at, line) <= s->columns);
    }
    buf_free(&text);
    buf_free(&looks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) return 0;
    size_t n = size - HEAD;
    char *text = malloc(n + !n); /* exactly: a byte read behind it is seen */
    must(text != NULL);
    memcpy(text, data + HEAD, n);
    must_hold(text_props(text, n));
    must_hold(break_props(text, MIN(n, 2000), data[8] & 63));
    struct surface s, was;
    must(surface_open(&s, 1 + data[0] % 40, 1 + data[1] % 12, NULL) == 0);
    must(surface_open(&was, s.columns, s.rows, NULL) == 0);
    struct box b = {coordinate(data[2]), coordinate(data[3]), coordinate(data[4]), coordinate(data[5])};
    fill_with_wide(&s, data[0] >> 7);
    fill_with_wide(&was, data[0] >> 7);
    draw(&s, b, data, text, n);
    must_be_untouched(&s, &was, b);
    must_dump(&s);
    surface_close(&s);
    surface_close(&was);
    free(text);
    return 0;
}
