/* surface.c - the grid: what is put into it stays inside the box, and no wide cell is ever half there. */
#include "app/tui/surface.h"
#include <limits.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

_Static_assert(sizeof(struct cell) == CELL_BYTES + 4, "cells are compared as bytes");

/* ------------------------------------------------------------------ cells */

static struct cell *cell_at(const struct surface *s, int column, int row)
{
    return &s->cell[(size_t)row * (size_t)s->columns + (size_t)column];
}

static void make_blank(struct cell *c, struct look look)
{
    *c = (struct cell){.width = 1, .look = look};
}

/* Before the columns from..end of this row are overwritten: the other half of a wide cell there becomes a blank. */
static void part_wide(struct surface *s, int from, int end, int row)
{
    struct cell *c = cell_at(s, 0, row);
    if (from > 0 && c[from].width == CELL_COVERED) make_blank(&c[from - 1], c[from - 1].look);
    if (end < s->columns && c[end].width == CELL_COVERED) make_blank(&c[end], c[end].look);
}

/* The part of a box that the surface has: from.column <= column < end_column, the same of rows. */
struct part { int column, end_column, row, end_row; };

static int clamp(long long x, int most) { return (int)MAX(0, MIN(x, most)); }

static struct part part_of(const struct surface *s, struct box b)
{
    return (struct part){clamp(b.column, s->columns), clamp((long long)b.column + b.columns, s->columns),
                         clamp(b.row, s->rows), clamp((long long)b.row + b.rows, s->rows)};
}

/* A cluster of one or two columns whose first is `column` of the surface; where a part of it is outside, a blank. */
static void put(struct surface *s, const struct part *p, long long column, int row, const char *text, int width,
                struct look look)
{
    bool whole = column >= p->column && column + width <= p->end_column;
    int from = MAX(clamp(column, p->end_column), p->column), end = clamp(column + width, p->end_column);
    if (from >= end) return;
    part_wide(s, from, end, row);
    for (int i = from; i < end; i++) make_blank(cell_at(s, i, row), look);
    if (!whole || strcmp(text, " ") == 0) return;
    struct cell *c = cell_at(s, from, row);
    memcpy(c->text, text, strnlen(text, CELL_BYTES));
    if (width == 1) return;
    c->width = 2;
    c[1].width = CELL_COVERED;
}

/* ------------------------------------------------------------------ the surface */

int surface_open(struct surface *s, int columns, int rows, struct err *err)
{
    *s = (struct surface){.cursor_column = -1, .cursor_row = -1};
    return surface_resize(s, columns, rows, err);
}

int surface_resize(struct surface *s, int columns, int rows, struct err *err)
{
    if (columns < 1 || rows < 1 || columns > SURFACE_MAX || rows > SURFACE_MAX)
        return err_set(err, -1, "a surface of %d columns and %d rows; 1 to %d of each are possible", columns, rows,
                       SURFACE_MAX);
    struct cell *cell = calloc((size_t)columns * (size_t)rows, sizeof *cell);
    if (!cell) return err_set(err, -1, "no memory for a surface of %d columns and %d rows", columns, rows);
    free(s->cell);
    *s = (struct surface){columns, rows, cell, -1, -1};
    surface_clear(s, surface_all(s), (struct look){0});
    return 0;
}

void surface_close(struct surface *s)
{
    free(s->cell);
    *s = (struct surface){.cursor_column = -1, .cursor_row = -1};
}

struct box surface_all(const struct surface *s) { return (struct box){0, 0, s->columns, s->rows}; }

void surface_clear(struct surface *s, struct box b, struct look look)
{
    struct part p = part_of(s, b);
    for (int row = p.row; row < p.end_row && p.column < p.end_column; row++) {
        part_wide(s, p.column, p.end_column, row);
        for (int column = p.column; column < p.end_column; column++) make_blank(cell_at(s, column, row), look);
    }
}

/* ------------------------------------------------------------------ drawing */

/* A row of the box as one of the surface; -1: the box, or the surface, has it not. */
static int row_of(const struct part *p, struct box b, int row)
{
    long long at = (long long)b.row + row;
    return at >= p->row && at < p->end_row ? (int)at : -1;
}

int surface_text(struct surface *s, struct box b, int column, int row, const char *text, size_t n, struct look look,
                 size_t *used)
{
    struct part p = part_of(s, b);
    int line = row_of(&p, b, row), took = 0;
    long long left = (long long)b.column + column, room = MIN((long long)b.columns - column, INT_MAX / 2);
    size_t at = 0;
    while (line >= 0 && at < n && took < room) {
        struct cluster c = surface_cluster(text + at, n - at, took);
        if (text[at + c.bytes - 1] == '\n') break;
        bool fits = took + c.columns <= room;
        int width = text[at] == '\t' ? 1 : c.columns, end = fits ? took + c.columns : (int)room;
        if (width > 0)
            for (int i = took; i < end; i += width) put(s, &p, left + i, line, c.text, width, look);
        took = end;
        if (!fits) break;
        at += c.bytes;
    }
    if (used) *used = at;
    return took;
}

int surface_puts(struct surface *s, struct box b, int column, int row, const char *text, struct look look)
{
    return surface_text(s, b, column, row, text, strlen(text), look, NULL);
}

int surface_printf(struct surface *s, struct box b, int column, int row, struct look look, const char *fmt, ...)
{
    char line[4096 + 1];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return n < 0 ? 0 : surface_puts(s, b, column, row, line, look);
}

/* Every cell of the box b that is in its own box `from` too, counted in that one. */
static void fill(struct surface *s, struct box b, struct box from, const char *glyph, struct look look)
{
    struct part p = part_of(s, b);
    struct cluster c = {.columns = 1};
    if (glyph[0]) c = surface_cluster(glyph, strlen(glyph), 0);
    const char *text = c.columns == 1 && glyph[c.bytes] == '\0' ? c.text : replacement;
    long long left = (long long)b.column + from.column, top = (long long)b.row + from.row;
    int first = clamp(MAX(left, p.column), p.end_column), end = clamp(left + from.columns, p.end_column);
    int first_row = clamp(MAX(top, p.row), p.end_row), end_row = clamp(top + from.rows, p.end_row);
    for (int row = first_row; row < end_row; row++)
        for (int column = first; column < end; column++) put(s, &p, column, row, text, 1, look);
}

void surface_fill(struct surface *s, struct box b, int column, int row, int n, const char *glyph, struct look look)
{
    fill(s, b, (struct box){column, row, n, 1}, glyph, look);
}

void surface_fill_down(struct surface *s, struct box b, int column, int row, int n, const char *glyph,
                       struct look look)
{
    fill(s, b, (struct box){column, row, 1, n}, glyph, look);
}

/* ------------------------------------------------------------------ looking at it */

static void dump_row(const struct surface *s, int row, struct buf *out)
{
    size_t blanks = 0;
    for (int column = 0; column < s->columns; column++) {
        const struct cell *c = cell_at(s, column, row);
        if (c->width == CELL_COVERED) continue;
        if (c->text[0] == '\0') {
            blanks++;
            continue;
        }
        for (; blanks > 0; blanks--) buf_puts(out, " ");
        buf_put(out, c->text, strnlen(c->text, CELL_BYTES));
    }
    buf_puts(out, "\n");
}

void surface_dump(const struct surface *s, struct buf *out)
{
    for (int row = 0; row < s->rows; row++) dump_row(s, row, out);
}

static char hue_letter(uint8_t hue)
{
    _Static_assert(HUE_AGENT <= 26 + 1, "a letter for each hue");
    if (hue == HUE_TEXT) return '.';
    return (char)(hue < HUE_AGENT ? 'a' + hue - 1 : '0' + (hue - HUE_AGENT) % HUE_AGENTS);
}

static char look_letter(struct look look, char kind)
{
    if (kind == '!') return ".123456789abcdefghijklmnopqrstuv"[look.attr & 31];
    return hue_letter(kind == '#' ? look.hue : look.ground);
}

static void dump_look(const struct surface *s, int row, char kind, struct buf *out)
{
    char line[SURFACE_MAX + 2];
    size_t n = 0;
    for (int column = 0; column < s->columns; column++) {
        line[column] = look_letter(cell_at(s, column, row)->look, kind);
        if (line[column] != '.') n = (size_t)column + 1;
    }
    if (n == 0) return;
    buf_put(out, &kind, 1);
    buf_put(out, line, n);
    buf_puts(out, "\n");
}

void surface_dump_looks(const struct surface *s, struct buf *out)
{
    for (int row = 0; row < s->rows; row++) {
        buf_puts(out, " ");
        dump_row(s, row, out);
        for (const char *kind = "#@!"; *kind; kind++) dump_look(s, row, *kind, out);
    }
}
