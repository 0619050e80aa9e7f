/* edit_rows.c - see edit.h: borders of clusters, rows, and drawing.
 *
 * A line is looked at in pieces of about EDIT_PIECE bytes, counted from its start, so that no key walks over more. */
#include "app/tui/edit_impl.h"

/* ------------------------------------------------------------------ pieces and clusters */

/* Where piece k of the line begins: never within a character. */
static size_t piece_start(const struct page *p, size_t line, size_t k)
{
    size_t at = MIN(line + k * EDIT_PIECE, p->n);
    for (int i = 0; k > 0 && i < 3 && at < p->n && ((unsigned char)p->text[at] & 0xc0) == 0x80; i++) at++;
    return at;
}

static size_t line_start(const struct page *p, size_t at)
{
    const char *newline = at > 0 ? memrchr(p->text, '\n', at) : NULL;
    return newline ? (size_t)(newline - p->text) + 1 : 0;
}

/* The piece that has the byte `at`, or that ends there with its line; the newline is not of it. */
static void piece_at(const struct page *p, size_t at, size_t *from, size_t *to)
{
    size_t line = line_start(p, at), k = (at - line) / EDIT_PIECE;
    bool line_ends = at == p->n || p->text[at] == '\n';
    while (k > 0 && (piece_start(p, line, k) > at || (line_ends && piece_start(p, line, k) == at))) k--;
    *from = piece_start(p, line, k);
    *to = piece_start(p, line, k + 1);
    const char *newline = *to > at ? memchr(p->text + at, '\n', *to - at) : NULL;
    if (line_ends) *to = at;
    else if (newline) *to = (size_t)(newline - p->text);
}

size_t edit_next(const struct page *p, size_t at)
{
    if (at >= p->n) return p->n;
    if (p->text[at] == '\n') return at + 1;
    size_t from, to;
    piece_at(p, at, &from, &to);
    return at + surface_cluster(p->text + at, to - at, 0).bytes;
}

/* The last border before `at` (before: true), or the first one at or behind it, within at's piece. */
static size_t walk(const struct page *p, size_t in, size_t at, bool before)
{
    size_t from, to, last;
    piece_at(p, in, &from, &to);
    last = from;
    while (from < at && from < to) {
        last = from;
        from += surface_cluster(p->text + from, to - from, 0).bytes;
    }
    return before ? last : from;
}

size_t edit_prev(const struct page *p, size_t at)
{
    if (at == 0) return 0;
    return p->text[at - 1] == '\n' ? at - 1 : walk(p, at - 1, at, true);
}

size_t edit_snap(const struct page *p, size_t at)
{
    if (at >= p->n) return p->n;
    return at == 0 || p->text[at] == '\n' || p->text[at - 1] == '\n' ? at : walk(p, at, at, false);
}

/* ------------------------------------------------------------------ rows */

static struct row row_in_piece(const struct page *p, size_t from, size_t piece_to)
{
    size_t n = piece_to - from;
    return (struct row){from, n ? from + surface_break(p->text + from, n, p->columns) : from, piece_to};
}

struct row edit_row(const struct page *p, size_t at)
{
    size_t from, to;
    piece_at(p, at, &from, &to);
    struct row r = row_in_piece(p, from, to);
    while (r.to <= at && r.to < to) r = row_in_piece(p, r.to, to);
    return r;
}

bool edit_row_next(const struct page *p, struct row *r)
{
    if (r->to < r->piece_to) {
        *r = row_in_piece(p, r->to, r->piece_to);
        return true;
    }
    if (r->to >= p->n) return false;
    *r = edit_row(p, p->text[r->to] == '\n' ? r->to + 1 : r->to);
    return true;
}

bool edit_row_prev(const struct page *p, struct row *r)
{
    if (r->from == 0) return false;
    *r = edit_row(p, r->from - 1);
    return true;
}

size_t edit_row_at(const struct page *p, const struct row *r, int column)
{
    size_t at = r->from;
    for (int used = 0; at < r->to;) {
        struct cluster c = surface_cluster(p->text + at, r->piece_to - at, used);
        bool next_row = at + c.bytes == r->to && r->to < r->piece_to; /* a wrapped row's end is the start of the next */
        used += c.columns;
        if (used > column || next_row) break;
        at += c.bytes;
    }
    return at;
}

/* ------------------------------------------------------------------ drawing */

void edit_width(struct edit *e, int columns)
{
    e->columns = MAX(columns, 3) - 1; /* the cursor has a column behind the last character */
    e->goal = -1;
}

int edit_rows(const struct edit *e, int most)
{
    struct page p = edit_page(e);
    struct row r = edit_row(&p, 0);
    int rows = 1;
    while (rows < most && edit_row_next(&p, &r)) rows++;
    return MIN(rows + e->searching, most);
}

/* The first row to show, so that the cursor's is among `rows`, in their middle where the text is long. */
static struct row first_row(const struct page *p, size_t cursor, int rows)
{
    struct row r = edit_row(p, cursor), below = r;
    int n_below = 0;
    while (n_below < rows / 2 && edit_row_next(p, &below)) n_below++;
    for (int above = rows - 1 - n_below; above > 0 && edit_row_prev(p, &r);) above--;
    return r;
}

static void draw_page(struct surface *s, struct box b, const struct page *p, size_t cursor, bool show_cursor)
{
    struct row r = first_row(p, cursor, b.rows), at = edit_row(p, cursor);
    for (int row = 0; row < b.rows; row++) {
        surface_text(s, b, 0, row, p->text + r.from, r.to - r.from, (struct look){0}, NULL);
        if (show_cursor && r.from == at.from && r.to == at.to) {
            int column = surface_columns(p->text + r.from, cursor - r.from);
            s->cursor_column = b.column + MIN(column, b.columns - 1);
            s->cursor_row = b.row + row;
        }
        if (!edit_row_next(p, &r)) break;
    }
}

static void draw_search(struct surface *s, struct box b, const struct edit *e)
{
    bool none = e->n_query > 0 && e->found == SIZE_MAX;
    int column = surface_puts(s, b, 0, b.rows - 1, none ? "not found: " : "search: ",
                              (struct look){.hue = none ? HUE_WARN : HUE_DIM});
    column += surface_text(s, b, column, b.rows - 1, e->query, e->n_query, (struct look){0}, NULL);
    s->cursor_column = b.column + MIN(column, b.columns - 1);
    s->cursor_row = b.row + b.rows - 1;
}

void edit_draw(struct surface *s, struct box b, const struct edit *e)
{
    if (b.columns < 1 || b.rows < 1) return;
    surface_clear(s, b, (struct look){0});
    struct page p = edit_page(e);
    size_t cursor = e->cursor;
    if (e->searching) {
        draw_search(s, b, e);
        b.rows--;
        if (e->found != SIZE_MAX) p = (struct page){e->past[e->found].text, e->past[e->found].n, e->columns};
        cursor = MIN(cursor, p.n);
        if (e->found != SIZE_MAX) cursor = 0;
        if (b.rows < 1) return;
    }
    draw_page(s, b, &p, cursor, !e->searching);
}
