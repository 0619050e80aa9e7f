/* markdown.c - see markdown.h. */
#include "app/tui/markdown.h"

/* ------------------------------------------------------------------ what comes out */

static void put(struct md_out *out, const char *text, size_t n, int style)
{
    char same[64];
    memset(same, style, sizeof same);
    buf_put(&out->text, text, n);
    for (size_t i = 0; i < n; i += sizeof same) buf_put(&out->style, same, MIN(n - i, sizeof same));
    if (out->style.failed) out->text.failed = true;
}

static void put_line(struct md_out *out, size_t from, int hang)
{
    size_t n = out->text.len - from;
    put(out, "\n", 1, 0);
    if (out->n_lines == out->cap_lines) {
        size_t cap = out->cap_lines ? 2 * out->cap_lines : 32;
        struct md_line *line = realloc(out->line, cap * sizeof *line);
        if (!line) out->text.failed = true;
        if (!line) return;
        out->line = line;
        out->cap_lines = cap;
    }
    if (!out->text.failed) out->line[out->n_lines++] = (struct md_line){n, hang};
}

void md_put(struct md_out *out, const char *text, size_t n, int style, int hang)
{
    size_t from = out->text.len;
    put(out, text, n, style);
    put_line(out, from, hang);
}

void md_out_free(struct md_out *out)
{
    buf_free(&out->text);
    buf_free(&out->style);
    free(out->line);
    *out = (struct md_out){0};
}

void md_out_clear(struct md_out *out)
{
    out->text.len = out->style.len = out->n_lines = 0;
    out->text.failed = out->style.failed = false;
}

struct look md_look(unsigned style, struct look plain)
{
    if (style & MD_MARK) plain.hue = HUE_DIM;
    if (style & MD_HEAD) plain.hue = HUE_HEAD;
    if (style & MD_CODE) plain.hue = HUE_CODE;
    if (style & (MD_BOLD | MD_HEAD)) plain.attr |= LOOK_BOLD;
    if (style & MD_ITALIC) plain.attr |= LOOK_ITALIC;
    return plain;
}

/* ------------------------------------------------------------------ within a line */

enum { TICKS = 8 }; /* a longer run of ` opens nothing */
struct spans {
    const char *text;
    size_t n, at;
    bool grows;
    unsigned on[2];                  /* of * and _: 1 italic, 2 bold */
    bool no_ticks[TICKS + 1], no_end[2][3]; /* looked for once in vain: it is not further on either */
    int base;
};

static bool blank(char c) { return c == ' ' || c == '\t'; }
static bool among(const char *set, char c) { return c && strchr(set, c); }
static bool word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80);
}

static size_t run_at(const struct spans *s, size_t at)
{
    size_t n = 0;
    while (at + n < s->n && s->text[at + n] == s->text[at]) n++;
    return n;
}

/* Where a run of exactly `ticks` ` begins, from `at` on; s->n: nowhere. */
static size_t ticks_end(struct spans *s, size_t at, size_t ticks)
{
    while (!s->no_ticks[ticks] && at < s->n) {
        size_t n = s->text[at] == '`' ? run_at(s, at) : 1;
        if (s->text[at] == '`' && n == ticks) return at;
        at += n;
    }
    s->no_ticks[ticks] = true;
    return s->n;
}

static void code_span(struct spans *s, struct md_out *out)
{
    size_t ticks = run_at(s, s->at), from = s->at + ticks;
    size_t end = ticks <= TICKS ? ticks_end(s, from, ticks) : s->n;
    if (end == s->n && (!s->grows || ticks > TICKS)) {
        put(out, s->text + s->at, ticks, s->base);
        s->at = from;
        return;
    }
    put(out, s->text + from, end - from, s->base | MD_CODE);
    s->at = MIN(end + ticks, s->n);
}

static bool may_close(const struct spans *s, size_t at, size_t run)
{
    bool inside = s->text[at] == '_' && at + run < s->n && word(s->text[at + run]); /* snake_case */
    return at > 0 && !blank(s->text[at - 1]) && !inside;
}

/* Behind a letter, a digit or ) * opens nothing, though within a word CommonMark has it so: 2*3*4 and x**2 + y**2
 * would be shown as 234 and x2 + y2.  Where words are not parted by blanks it does. */
static bool may_open(const struct spans *s, size_t at, size_t run)
{
    if (at + run >= s->n || blank(s->text[at + run])) return false;
    const char before = at > 0 ? s->text[at - 1] : ' ', after = s->text[at + run];
    const bool product = (word(before) || among(")]", before)) && !((before | after) & 0x80);
    return !(s->text[at] == '_' ? word(before) : product);
}

/* Is there an end of what `size` (1 or 2) marks open before `at`? */
static bool has_end(struct spans *s, char mark, size_t at, size_t size)
{
    bool *none = &s->no_end[mark == '_'][size];
    while (!*none && at < s->n) {
        size_t run = s->text[at] == mark ? run_at(s, at) : s->text[at] == '\\' ? 2 : 1;
        if (s->text[at] == mark && run >= size && run != 3 - size && may_close(s, at, run)) return true;
        at += run;
    }
    *none = true;
    return s->grows;
}

static int style_of(const struct spans *s)
{
    unsigned on = s->on[0] | s->on[1];
    return s->base | (on & 1 ? MD_ITALIC : 0) | (on & 2 ? MD_BOLD : 0);
}

/* A run of * or _: as many of them as open or close something do so, the rest is text. */
static void marks(struct spans *s, struct md_out *out)
{
    char mark = s->text[s->at];
    unsigned *on = &s->on[mark == '_'];
    size_t run = run_at(s, s->at), left = run, end = s->at + run;
    bool opens = run <= 3 && may_open(s, s->at, run), closes = may_close(s, s->at, run);
    while (left > 0) {
        size_t size = left >= 2 ? 2 : 1;
        if (closes && left >= 2 && !(*on & 2) && (*on & 1) && !opens) size = 1;
        bool is_on = *on & (unsigned)size;
        if (!(is_on ? closes : opens && has_end(s, mark, end, size))) break;
        *on ^= (unsigned)size;
        left -= size;
    }
    put(out, s->text + s->at, left, style_of(s));
    s->at = end;
}

static void inline_text(const char *text, size_t n, bool grows, int base, struct md_out *out)
{
    struct spans s = {.text = text, .n = n, .grows = grows, .base = base};
    while (s.at < n) {
        char c = text[s.at];
        if (c == '`') {
            code_span(&s, out);
        } else if (c == '*' || c == '_') {
            marks(&s, out);
        } else {
            bool escape = c == '\\' && s.at + 1 < n && among("\\`*_{}[]<>()#+-.!|~", text[s.at + 1]);
            size_t from = s.at + escape;
            s.at = from + 1;
            while (s.at < n && !among("`*_\\", text[s.at])) s.at++;
            put(out, text + from, s.at - from, style_of(&s));
        }
    }
}

/* ------------------------------------------------------------------ lines */

struct line {
    const char *text;
    size_t n;      /* without its newline */
    size_t indent; /* blanks before it */
    bool grows;
};

static size_t count(const struct line *l, size_t at, char c)
{
    size_t n = 0;
    while (at + n < l->n && l->text[at + n] == c) n++;
    return n;
}

static bool fence_line(struct md *m, const struct line *l, struct md_out *out)
{
    char c = l->indent < l->n ? l->text[l->indent] : 0;
    size_t n = c == '`' || c == '~' ? count(l, l->indent, c) : 0, end = l->indent + n;
    if (m->fence) {
        size_t blanks = count(l, end, ' ');
        bool closes = c == m->fence && n >= (size_t)m->fence_n && end + blanks == l->n && l->indent < 4;
        put(out, l->text, l->n, closes ? MD_MARK : MD_CODE);
        if (closes) m->fence = 0;
        return true;
    }
    if (n < 3 || l->indent > 3 || (c == '`' && memchr(l->text + end, '`', l->n - end))) return false;
    put(out, l->text, l->n, MD_MARK);
    m->fence = c;
    m->fence_n = (int)n;
    return true;
}

static bool is_rule(const struct line *l)
{
    char c = l->indent < l->n ? l->text[l->indent] : 0;
    size_t marks_seen = 0;
    if (l->grows || l->indent > 3 || (c != '-' && c != '*' && c != '_')) return false;
    for (size_t i = l->indent; i < l->n; i++) {
        if (l->text[i] != c && !blank(l->text[i])) return false;
        marks_seen += l->text[i] == c;
    }
    return marks_seen >= 3;
}

static void put_rule(struct md_how how, struct md_out *out)
{
    for (int i = 0; i < MIN(how.columns, 40); i++) put(out, how.utf8 ? "─" : "-", how.utf8 ? strlen("─") : 1, MD_MARK);
}

/* Bytes of a number and its point before an item; 0: none. */
static size_t item_number(const struct line *l)
{
    size_t i = l->indent;
    while (i < l->n && i < l->indent + 9 && l->text[i] >= '0' && l->text[i] <= '9') i++;
    bool is = i > l->indent && i + 1 < l->n && (l->text[i] == '.' || l->text[i] == ')') && l->text[i + 1] == ' ';
    return is ? i + 2 - l->indent : 0;
}

/* What stands before the text of the line: its mark, put out.  Returns the bytes that it had; *hang as in md_line. */
static size_t put_mark(const struct line *l, struct md_how how, struct md_out *out, int *hang)
{
    size_t at = l->indent, number = item_number(l), room = (size_t)MAX(how.columns / 2, 0);
    bool then_blank = at + 1 < l->n && l->text[at + 1] == ' ';
    *hang = (int)MIN(at, room);
    if (then_blank && among("-*+", l->text[at])) {
        put(out, l->text, at, 0);
        put(out, how.utf8 ? "• " : "- ", how.utf8 ? strlen("• ") : 2, MD_MARK);
        *hang = (int)MIN(at + 2, room);
        return at + 2;
    }
    if (number > 0) {
        put(out, l->text, at, 0);
        put(out, l->text + at, number, MD_MARK);
        *hang = (int)MIN(at + number, room);
        return at + number;
    }
    if (at < 4 && at < l->n && l->text[at] == '>') {
        put(out, how.utf8 ? "│ " : "| ", how.utf8 ? strlen("│ ") : 2, MD_MARK);
        *hang = 2;
        return at + 1 + then_blank;
    }
    return 0;
}

static void one_line(struct md *m, const struct line *l, struct md_how how, struct md_out *out)
{
    size_t from = out->text.len, hashes = count(l, l->indent, '#'), text = l->indent + hashes;
    int hang = 0;
    if (m->middle) {
        if (m->fence) put(out, l->text, l->n, MD_CODE);
        else inline_text(l->text, l->n, l->grows, 0, out);
    } else if (fence_line(m, l, out)) {
        /* is there */
    } else if (hashes >= 1 && hashes <= 6 && l->indent < 4 && text < l->n && l->text[text] == ' ') {
        while (text < l->n && l->text[text] == ' ') text++;
        inline_text(l->text + text, l->n - text, l->grows, MD_HEAD, out);
    } else if (is_rule(l)) {
        put_rule(how, out);
    } else {
        size_t mark = put_mark(l, how, out, &hang);
        inline_text(l->text + mark, l->n - mark, l->grows, 0, out);
    }
    put_line(out, from, hang);
}

/* ------------------------------------------------------------------ tables */

struct table {
    int columns, width[MD_TABLE_COLUMNS];
    char align[MD_TABLE_COLUMNS]; /* < = > */
};

/* The line at `at`: its bytes without its newline; *next: behind that. */
static size_t line_at(const char *text, size_t n, size_t at, size_t *next)
{
    const char *newline = memchr(text + at, '\n', n - at);
    size_t end = newline ? (size_t)(newline - text) : n;
    *next = newline ? end + 1 : n;
    return end - at - (end > at && text[end - 1] == '\r');
}

static bool bar_line(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && i < 4 && text[i] == ' ') i++;
    return i < n && i < 4 && text[i] == '|';
}

/* The next cell of a row, without its blanks.  false: the row has ended.  *at begins behind the row's first bar. */
static bool next_cell(const char *row, size_t n, size_t *at, const char **cell, size_t *cell_n)
{
    size_t from = *at, to = from;
    while (to < n && row[to] != '|') to += row[to] == '\\' && to + 1 < n ? 2 : 1;
    if (from >= n) return false;
    *at = to + 1;
    while (from < to && blank(row[from])) from++;
    while (to > from && blank(row[to - 1])) to--;
    *cell = row + from;
    *cell_n = to - from;
    return to < n || *cell_n > 0;
}

static size_t first_cell(const char *row, size_t n)
{
    const char *bar = memchr(row, '|', n);
    return bar ? (size_t)(bar - row) + 1 : n;
}

/* The second row: |:---|---:| says how many columns there are, and where their text stands. */
static bool read_rule(const char *row, size_t n, struct table *t)
{
    size_t at = first_cell(row, n), cell_n;
    const char *cell;
    t->columns = 0;
    while (next_cell(row, n, &at, &cell, &cell_n)) {
        bool left = cell_n > 0 && cell[0] == ':', right = cell_n > 1 && cell[cell_n - 1] == ':';
        size_t dashes = 0;
        while (left + dashes < cell_n && cell[left + dashes] == '-') dashes++;
        if (dashes < 1 || left + dashes + right != cell_n || t->columns == MD_TABLE_COLUMNS) return false;
        t->align[t->columns++] = right ? (left ? '=' : '>') : '<';
    }
    return t->columns > 0;
}

/* A cell's text as it is shown, in `cell` alone; its columns. */
static int make_cell(const char *text, size_t n, int base, struct md_out *cell)
{
    md_out_clear(cell);
    inline_text(text, n, false, base, cell);
    return cell->text.len > 0 ? surface_columns(cell->text.data, cell->text.len) : 0;
}

static void measure_row(const char *row, size_t n, struct table *t, struct md_out *cell)
{
    size_t at = first_cell(row, n), text_n;
    const char *text;
    for (int c = 0; c < t->columns && next_cell(row, n, &at, &text, &text_n); c++)
        t->width[c] = MAX(t->width[c], make_cell(text, text_n, 0, cell));
}

static void put_blanks(struct md_out *out, int n)
{
    while (n-- > 0) put(out, " ", 1, 0);
}

static void put_row(const char *row, size_t n, const struct table *t, int base, bool utf8, struct md_out *cell,
                    struct md_out *out)
{
    size_t from = out->text.len, at = first_cell(row, n), text_n;
    for (int c = 0; c < t->columns; c++) {
        const char *text = NULL;
        bool is = next_cell(row, n, &at, &text, &text_n);
        int pad = t->width[c] - make_cell(text, is ? text_n : 0, base, cell);
        int before = t->align[c] == '>' ? pad : t->align[c] == '=' ? pad / 2 : 0;
        if (c > 0) put(out, utf8 ? " │ " : " | ", utf8 ? strlen(" │ ") : 3, MD_MARK);
        put_blanks(out, before);
        buf_put(&out->text, cell->text.data, cell->text.len);
        buf_put(&out->style, cell->style.data, cell->style.len);
        put_blanks(out, pad - before);
    }
    put_line(out, from, 0);
}

static void put_table_rule(const struct table *t, bool utf8, struct md_out *out)
{
    size_t from = out->text.len;
    for (int c = 0; c < t->columns; c++) {
        if (c > 0) put(out, utf8 ? "─┼─" : "-+-", utf8 ? strlen("─┼─") : 3, MD_MARK);
        for (int i = 0; i < t->width[c]; i++) put(out, utf8 ? "─" : "-", utf8 ? strlen("─") : 1, MD_MARK);
    }
    put_line(out, from, 0);
}

static void put_table(const char *text, size_t n, struct table *t, struct md_how how, struct md_out *out)
{
    struct md_out cell = {0};
    size_t at, next, row = 0, columns = 0;
    for (at = 0; at < n; at = next, row++) {
        size_t len = line_at(text, n, at, &next);
        if (row != 1) measure_row(text + at, len, t, &cell);
    }
    for (int c = 0; c < t->columns; c++) columns += (size_t)t->width[c] + (c > 0 ? 3 : 0);
    for (at = 0, row = 0; at < n; at = next, row++) {
        size_t len = line_at(text, n, at, &next), from = out->text.len;
        if (columns > (size_t)MAX(how.columns, 0)) {
            put(out, text + at, len, 0);
            put_line(out, from, 2);
        } else if (row == 1) {
            put_table_rule(t, how.utf8, out);
        } else {
            put_row(text + at, len, t, row == 0 ? MD_BOLD : 0, how.utf8, &cell, out);
        }
    }
    if (cell.text.failed) out->text.failed = true;
    md_out_free(&cell);
}

/* Bytes of the table that begins the text; 0: none does.  *open: more text may make one, or make it longer. */
static size_t table_bytes(const char *text, size_t n, struct table *t, bool *open)
{
    size_t next, len = line_at(text, n, 0, &next), end;
    *open = false;
    if (!bar_line(text, len) || next > MD_LINE) return 0;
    *open = next == n;
    if (next == n) return 0;
    len = line_at(text, n, next, &end);
    if (end - next > MD_LINE || !bar_line(text + next, len) || !read_rule(text + next, len, t)) {
        *open = end == n && text[end - 1] != '\n';
        return 0;
    }
    for (; end < n; end = next) {
        len = line_at(text, n, end, &next);
        if (!bar_line(text + end, len) || next > MD_TABLE) break;
    }
    size_t rest = n - end, blanks = 0;
    while (blanks < rest && text[end + blanks] == ' ') blanks++;
    *open = blanks == rest && blanks < 4; /* what follows may become a row */
    return end;
}

/* ------------------------------------------------------------------ blocks */

/* How much of a line that is too long is taken: up to a blank if there is one in its last part, never within a
 * character. */
static size_t part_of(const char *text)
{
    size_t n = MD_LINE;
    while (n > MD_LINE / 2 && text[n] != ' ') n--;
    if (text[n] == ' ') return n + 1;
    for (n = MD_LINE; n > MD_LINE - 4 && ((unsigned char)text[n] & 0xc0) == 0x80; n--) {}
    return n;
}

size_t md_block(struct md *m, const char *text, size_t n, struct md_how how, struct md_out *out, bool *settled)
{
    struct table t = {0};
    bool open = false;
    size_t table = m->fence || m->middle ? 0 : table_bytes(text, n, &t, &open);
    if (table > 0) {
        put_table(text, table, &t, how, out);
        *settled = !open || how.ended;
        return table;
    }
    size_t next, len = line_at(text, n, 0, &next);
    bool whole = text[next - 1] == '\n', part = len > MD_LINE;
    struct line l = {text, part ? part_of(text) : len, 0, !whole && !how.ended && !part};
    while (l.indent < l.n && l.text[l.indent] == ' ') l.indent++;
    one_line(m, &l, how, out);
    m->middle = part;
    *settled = how.ended || ((whole || part) && !open);
    return part ? l.n : next;
}
