/* clip_csv.c - tables as text (RFC 4180, and with tabs or semicolons): rows counted through quoted fields; the header
 * and the first rows are shown. */
#include "tools/clip_impl.h"

void clip_csv_begin(struct clip_csv *v, char delimiter)
{
    *v = (struct clip_csv){.delimiter = delimiter, .field_start = true};
}

/* A quote opens a field only at its beginning; a doubled one closes it and opens it again. */
static bool csv_byte(struct clip_csv *v, char c)
{
    bool start = v->field_start;
    v->field_start = false;
    v->in_row = true;
    if (c == '"' && (v->quoted || start)) {
        v->quoted = !v->quoted;
        v->field_start = !v->quoted;
        return false;
    }
    if (v->quoted) return false;
    v->field_start = c == v->delimiter || c == '\n';
    if (c != '\n') return false;
    v->in_row = false;
    v->rows++;
    return true;
}

size_t clip_csv_feed(struct clip_csv *v, const char *s, size_t n)
{
    size_t end = 0;
    for (size_t i = 0; i < n; i++)
        if (csv_byte(v, s[i])) end = i + 1;
    return end;
}

/* ------------------------------------------------------------------ is it a table? */

/* Rows of s that have as many delimiters as the first, which has some; 0: another row differs, or a quote is open. */
static int even_rows(const char *s, size_t n, bool end, char delimiter)
{
    struct clip_csv v;
    int rows = 0, first = 0, now = 0;
    clip_csv_begin(&v, delimiter);
    for (size_t i = 0; i < n; i++) {
        bool quoted = v.quoted;
        bool row = csv_byte(&v, s[i]) || (end && i + 1 == n);
        now += s[i] == delimiter && !quoted;
        if (!row) continue;
        if (rows++ == 0) first = now;
        if (now != first || first == 0) return 0;
        now = 0;
    }
    return rows;
}

char clip_csv_delimiter(const char *s, size_t n, bool end)
{
    static const char delimiters[] = "\t,;";
    enum { ROWS = 3 };
    for (const char *d = delimiters; *d; d++)
        if (even_rows(s, n, end, *d) >= ROWS) return *d;
    return 0;
}

/* ------------------------------------------------------------------ what is shown */

/* Whole rows if one fits, else part of the first. */
void clip_csv_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct clip *c = self;
    struct clip_part p = clip_head(c);
    struct clip_csv v;
    size_t want = (size_t)MIN(level, (uint64_t)p.len);
    clip_csv_begin(&v, c->csv.delimiter);
    size_t rows_end = clip_csv_feed(&v, p.bytes, want);
    bool all = p.end && want == p.len;
    if (all) rows_end = p.len;
    size_t n = rows_end ? rows_end : clip_border_before(p.bytes, p.len, p.end, want);
    clip_put(w, (struct clip_run){.bytes = p.bytes, .len = n});
    uint64_t shown = all ? c->csv.rows : rows_end ? v.rows : n > 0;
    clip_put_end(w, c->bytes, c->newlines, c->ends, PLACE_ROWS, c->csv.rows - shown);
    w->f->count = c->csv.rows;
    w->f->shown_count = shown;
}
