/* list.c - see list.h. */
#include "app/tui/list.h"

void list_fit(struct list *l, int n, int rows)
{
    l->selected = MIN(MAX(l->selected, 0), MAX(n - 1, 0));
    l->top = MIN(l->top, l->selected);
    l->top = MAX(l->top, l->selected - MAX(rows, 1) + 1);
    l->top = MAX(MIN(l->top, n - MAX(rows, 1)), 0);
}

/* The row that a key goes to from row `at`; -1: no such key. */
static int goes_to(const struct key *k, int at, int n, int rows)
{
    const int last = MAX(n - 1, 0), page = MAX(rows - 1, 1), next = at < last ? at + 1 : last;
    switch (k->name) {
    case KEY_UP: return MAX(at - 1, 0);
    case KEY_DOWN: return next;
    case KEY_PAGE_UP: return MAX(at - page, 0);
    case KEY_PAGE_DOWN: return at < last - page ? at + page : last;
    case KEY_HOME: return 0;
    case KEY_END: return last;
    default: break;
    }
    if (k->name != KEY_CHAR || k->mods) return -1;
    switch (k->rune) {
    case 'k': return MAX(at - 1, 0);
    case 'j': return next;
    case 'b': return MAX(at - page, 0);
    case ' ': return at < last - page ? at + page : last;
    case 'g': return 0;
    case 'G': return last;
    default: return -1;
    }
}

bool list_key(struct list *l, const struct key *k, int n, int rows)
{
    const int to = goes_to(k, l->selected, n, rows);
    if (to < 0) return false;
    l->selected = to;
    list_fit(l, n, rows);
    return true;
}

struct look list_look(bool selected, struct look plain)
{
    if (selected) plain.attr |= LOOK_REVERSE;
    return plain;
}

void list_bar(struct surface *s, struct box b, int n, int top)
{
    if (n <= b.rows || b.rows < 3 || b.columns < 1) return;
    const int size = MIN(MAX(b.rows * b.rows / n, 1), b.rows - 2), most = b.rows - size; /* 2 or more */
    const int share = (int)((int64_t)top * most / (n - b.rows));
    const int at = top <= 0 ? 0 : top >= n - b.rows ? most : MIN(MAX(share, 1), most - 1);
    const struct look look = {.hue = HUE_DIM, .attr = LOOK_REVERSE};
    for (int i = 0; i < size; i++) surface_puts(s, b, b.columns - 1, at + i, " ", look);
}

/* ------------------------------------------------------------------ a text */

void pager_close(struct pager *p)
{
    free(p->at);
    *p = (struct pager){0};
}

/* Where the rows begin.  A text that there is no memory for has the rows that were found so far. */
static void wrap(struct pager *p, int columns)
{
    size_t cap = 0;
    free(p->at);
    p->at = NULL;
    p->rows = 0;
    p->columns = columns;
    for (size_t at = 0; at < p->n;) {
        if ((size_t)p->rows == cap) {
            cap = cap ? 2 * cap : 64;
            size_t *more = cap < SIZE_MAX / sizeof *more ? realloc(p->at, cap * sizeof *more) : NULL;
            if (!more) return;
            p->at = more;
        }
        p->at[p->rows++] = at;
        at += surface_break(p->text + at, p->n - at, columns);
    }
}

void pager_anew(struct pager *p)
{
    p->text = NULL;
    p->n = 0;
    p->rows = 0;
}

/* The row in which a byte is. */
static int row_of(const struct pager *p, size_t byte)
{
    int row = 0;
    while (row + 1 < p->rows && p->at[row + 1] <= byte) row++;
    return row;
}

void pager_draw(struct pager *p, struct surface *s, struct box b, const char *text, size_t n, struct look look)
{
    const bool another = p->text != text || p->n != n;
    p->text = text;
    p->n = n;
    if (another) p->top = 0;
    if (b.columns < 3 || b.rows < 1) return;
    if (another || p->columns != b.columns - 2) {
        const size_t byte = !another && p->top < p->rows ? p->at[p->top] : 0;
        wrap(p, b.columns - 2);
        if (!another) p->top = row_of(p, byte);
    }
    p->top = MAX(MIN(p->top, p->rows - b.rows), 0);
    for (int i = 0; i < b.rows && p->top + i < p->rows; i++) {
        const size_t at = p->at[p->top + i], end = p->top + i + 1 < p->rows ? p->at[p->top + i + 1] : n;
        surface_text(s, b, 0, i, text + at, end - at, look, NULL);
    }
    list_bar(s, b, p->rows, p->top);
}

bool pager_key(struct pager *p, const struct key *k, int rows)
{
    const int last = MAX(p->rows - rows, 0), to = goes_to(k, p->top, last + 1, rows);
    if (to < 0) return false;
    p->top = MIN(to, last);
    return true;
}
