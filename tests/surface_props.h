/* surface_props.h - what must hold for cells, clusters and wrapped lines, whatever the text is.  For the tests and the
 * fuzz target: each gives NULL, or what does not hold. */
#ifndef SURFACE_PROPS_H
#define SURFACE_PROPS_H
#include "app/tui/surface.h"
#include "engine/text.h"
#include <utf8proc.h>

/* Text that a terminal can be given: UTF-8, nothing that it would obey, or that reorders, and nothing invisible. */
static inline bool is_harmless(const char *text, size_t n)
{
    if (text_valid_utf8(text, n) != n) return false;
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += (size_t)utf8proc_iterate((const uint8_t *)text + at, (ptrdiff_t)(n - at), &c);
        utf8proc_category_t kind = utf8proc_category(c);
        if (kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CN ||
            kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP || (c >= 0xfe00 && c <= 0xfe0f))
            return false;
    }
    return true;
}

static inline const char *cluster_props(const char *text, size_t n, int column)
{
    struct cluster c = surface_cluster(text, n, column);
    size_t len = strlen(c.text);
    if (c.bytes == 0 || c.bytes > n) return "a cluster lies within the text";
    if (text[c.bytes - 1] == '\n') return c.columns == 0 && len == 0 ? NULL : "a newline shows nothing";
    if (text[0] == '\t')
        return c.columns >= 1 && (column + c.columns) % 4 == 0 && c.columns <= 4 && len == 0 ? NULL : "a tab";
    if (c.columns < 0 || c.columns > 2 || (c.columns == 0) != (len == 0)) return "0 columns, or something to show";
    if (len == 0) return NULL;
    if (len > CELL_BYTES) return "a cluster fits into a cell";
    if (!is_harmless(c.text, len)) return "what is shown is harmless";
    struct cluster again = surface_cluster(c.text, len, column);
    if (again.bytes != len || again.columns != c.columns || strcmp(again.text, c.text) != 0)
        return "what is shown is shown unchanged";
    return NULL;
}

static inline const char *text_props(const char *text, size_t n)
{
    long long columns = 0;
    bool first = true;
    for (size_t at = 0; at < n;) {
        const char *bad = cluster_props(text + at, n - at, (int)columns);
        if (bad) return bad;
        struct cluster c = surface_cluster(text + at, n - at, (int)columns);
        at += c.bytes;
        columns += c.columns;
        if (first && (text[at - 1] == '\n' || at == n) && surface_columns(text, n) != columns)
            return "the columns of the first line are those of its clusters";
        first = first && text[at - 1] != '\n';
    }
    return NULL;
}

static inline const char *cell_props(const struct surface *s, int column, int row)
{
    const struct cell *c = &s->cell[row * s->columns + column];
    size_t len = strnlen(c->text, CELL_BYTES);
    for (size_t i = len; i < CELL_BYTES; i++)
        if (c->text[i]) return "unused bytes are 0";
    if (c->width == CELL_COVERED)
        return len == 0 && column > 0 && c[-1].width == 2 ? NULL : "only a wide cell covers the next";
    if (c->width != 1 && c->width != 2) return "a width";
    if (c->width == 2 && (column + 1 == s->columns || c[1].width != CELL_COVERED)) return "a wide cell has two";
    if (len == 0) return c->width == 1 ? NULL : "a blank is narrow";
    struct cluster shown = surface_cluster(c->text, len, 0);
    if (shown.bytes != len || shown.columns != c->width || !is_harmless(c->text, len) || strcmp(shown.text, " ") == 0)
        return "a cell shows one cluster of its width";
    return NULL;
}

static inline const char *surface_props(const struct surface *s)
{
    for (int row = 0; row < s->rows; row++)
        for (int column = 0; column < s->columns; column++) {
            const char *bad = cell_props(s, column, row);
            if (bad) return bad;
        }
    return NULL;
}

/* ------------------------------------------------------------------ lines */

static inline bool is_blank_at(const char *text, size_t at)
{
    return text[at] == ' ' || text[at] == '\t';
}

/* Judged border by border: the last place where the line may end such that what stands before it, without blanks at
 * its end, has at most `columns` (or is one cluster); where there is none the last border at all that fits. */
static inline size_t break_again(const char *text, size_t n, int columns)
{
    size_t good = 0, fits = 0, at = 0;
    int column = 0, ink = 0, width = 0;
    bool blank = false;
    while (at < n) {
        struct cluster c = surface_cluster(text + at, n - at, column);
        if (at == 0) columns = MAX(columns, c.columns);
        bool newline = text[at + c.bytes - 1] == '\n', space = c.bytes == 1 && is_blank_at(text, at);
        if (ink <= columns && at > 0) {
            fits = at;
            if ((blank && !space) || (width == 2 && c.columns == 2 && !blank && !space)) good = at;
        }
        if (newline && ink <= columns) return at + c.bytes;
        if (newline) break;
        column += c.columns;
        if (!space) ink = column;
        blank = space;
        width = c.columns;
        at += c.bytes;
    }
    if (at == n && ink <= columns) return n;
    return good ? good : fits;
}

static inline const char *break_props(const char *text, size_t n, int columns)
{
    bool begins = true; /* a line of the text, not of the wrapping */
    for (size_t at = 0, k; at < n; at += k) {
        k = surface_break(text + at, n - at, columns);
        if (k == 0 || k > n - at) return "a line ends within the text";
        if (k != break_again(text + at, n - at, columns)) return "a line ends where it should";
        if (!begins && is_blank_at(text, at) && surface_cluster(text + at, n - at, 0).bytes == 1)
            return "no line begins with the blanks between two words";
        begins = text[at + k - 1] == '\n';
        size_t ink = k - begins - (begins && k > 1 && text[at + k - 2] == '\r');
        while (ink > 0 && is_blank_at(text + at, ink - 1)) ink--;
        int room = MAX(columns, surface_cluster(text + at, n - at, 0).columns);
        if (surface_columns(text + at, ink) > room) return "a line fits";
    }
    return NULL;
}
#endif
