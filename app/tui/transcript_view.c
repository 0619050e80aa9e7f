/* transcript_view.c - see transcript.h: entries to lines and rows, the view, drawing. */
#include "app/tui/find.h"
#include "app/tui/transcript_impl.h"
#include <inttypes.h>

enum { WIDE = 60 /* columns from which names stand beside the text */, NAMES = 14, LABEL = 20 };

void shape_free(struct shape *s)
{
    md_out_free(&s->out);
    free(s->row);
    *s = (struct shape){0};
}

void shape_stale(struct entry *e) { e->shape.columns = 0; }

/* ------------------------------------------------------------------ an entry's lines */

/* What the program says, not who talks. */
static bool quiet(const struct entry *e)
{
    return e->kind == ENTRY_NOTE || e->kind == ENTRY_ERROR || e->kind == ENTRY_OUTPUT;
}

/* Columns before the text of a line that we say: its indent, and a label with two blanks behind it. */
static int label_columns(const char *line, size_t n)
{
    size_t indent = 0, at;
    n = MIN(n, 4 * LABEL);
    while (indent < n && line[indent] == ' ') indent++;
    for (at = indent; at + 1 < n && (line[at] != ' ' || line[at + 1] != ' '); at++) {}
    while (at < n && line[at] == ' ') at++;
    const int columns = surface_columns(line, at);
    return at + 1 < n && columns <= LABEL ? columns : (int)indent;
}

/* labels: wrapped lines go on under their text. */
static void put_lines(struct md_out *out, const char *text, size_t n, int style, int most, bool labels)
{
    int lines = 0;
    for (size_t at = 0; at < n; lines++) {
        const char *newline = memchr(text + at, '\n', n - at);
        size_t end = newline ? (size_t)(newline - text) : n;
        const int hang = labels ? label_columns(text + at, end - at) : 0;
        end -= end > at && text[end - 1] == '\r';
        if (most == 0 || lines < most) md_put(out, text + at, end - at, style, hang);
        at = newline ? (size_t)(newline - text) + 1 : n;
    }
    if (most == 0 || lines <= most) return;
    char more[64];
    int len = snprintf(more, sizeof more, "... %d line%s more", lines - most, plural(lines - most));
    md_put(out, more, (size_t)len, MD_MARK, 0);
}

__attribute__((format(printf, 3, 4))) static void put_said(struct md_out *out, int style, const char *fmt, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    md_put(out, line, (size_t)MIN(MAX(n, 0), (int)sizeof line - 1), style, 2);
}

/* What is, or may become, a call of a tool is not shown as words: its card has it. */
bool transcript_is_call(const struct entry *e, size_t from)
{
    static const char *const opens[] = {"<tool_call>", "<function="}; /* some forget the former */
    size_t at = from, n = e->text.len;
    const char *text = e->text.data;
    while (at < n && strchr(" \t\r\n", text[at])) at++;
    for (size_t i = 0; i < COUNT_OF(opens) && at < n; i++) {
        const size_t len = strlen(opens[i]), same = MIN(len, n - at);
        if (memcmp(text + at, opens[i], same) == 0 && (same == len || e->open)) return true;
    }
    return false;
}

/* Where what a model says before its call ends: at a line that is, or may become, one; blanks are looked at once.  The
 * text's end: it has none. */
static size_t end_before_call(const struct entry *e, size_t at)
{
    const char *text = e->text.data;
    const size_t n = e->text.len;
    while (at < n && !transcript_is_call(e, at)) {
        while (at < n && strchr(" \t\r\n", text[at])) at++;
        const char *newline = at < n ? memchr(text + at, '\n', n - at) : NULL;
        at = newline ? (size_t)(newline - text) + 1 : n;
    }
    return at;
}

static void put_answer(struct entry *e, int columns, bool utf8)
{
    struct shape *s = &e->shape;
    const char *text = e->text.data;
    size_t n = e->text.len, skip = n > 0 ? thinking_follow(&e->thinking, text, n) : 0;
    struct md_how how = {columns, utf8, !e->open};
    if (s->settled.source == 0 && skip > 0 && e->unfolded)
        put_lines(&s->out, text, skip, MD_MARK | MD_ITALIC, 0, false);
    else if (s->settled.source == 0 && skip > 0)
        put_said(&s->out, MD_MARK, "%s, %zu bytes", skip == n && e->open ? "thinks" : "thought", skip);
    const size_t whole = n;
    if (e->call || e->open) n = end_before_call(e, MAX(s->settled.source, skip));
    if (e->call && n == whole) n = skip; /* it is amid a line */
    struct md md = s->settled.md;
    bool all = true;
    for (size_t at = MAX(s->settled.source, skip); at < n;) {
        bool settled;
        at += md_block(&md, text + at, n - at, how, &s->out, &settled);
        all &= settled;
        if (!all) continue;
        s->settled.md = md;
        s->settled.source = at;
        s->settled.text = s->out.text.len;
        s->settled.lines = s->out.n_lines;
    }
    if (e->open && n < whole) put_said(&s->out, MD_MARK, "writes a call of a tool, %zu bytes", whole - n);
    if (e->open && whole == 0)
        put_said(&s->out, MD_MARK, "reads the prompt: %" PRId64 " of %" PRId64 " tokens", e->done, e->of);
}

static void put_entry(const struct transcript *t, struct entry *e, int columns)
{
    struct md_out *out = &e->shape.out;
    const char *where = t->limits.stored ? "in the store" : "no longer held";
    int style = e->kind == ENTRY_NOTE ? MD_MARK : e->kind == ENTRY_ERROR ? STYLE_ERROR : 0;
    if (e->dropped) {
        put_said(out, MD_MARK, "turn %" PRId64 ": %zu bytes, %s", e->turn, e->beyond, where);
        return;
    }
    if (e->kind == ENTRY_TOOL) {
        if (e->head.len > 0) md_put(out, e->head.data, e->head.len, e->failed ? STYLE_ERROR : STYLE_TOOL, 2);
        put_said(out, MD_MARK, "%s", e->end);
        put_lines(out, e->text.data, e->text.len, MD_MARK, e->unfolded ? 0 : TRANSCRIPT_FOLD, false);
    } else if (e->kind == ENTRY_ANSWER) {
        put_answer(e, columns, t->utf8);
    } else {
        if (e->head.len > 0) md_put(out, e->head.data, e->head.len, MD_CODE, 2);
        put_lines(out, e->text.data, e->text.len, style, 0, quiet(e));
    }
    if (e->beyond > 0) put_said(out, MD_MARK, "%zu bytes more, %s", e->beyond, where);
    if (e->kind == ENTRY_ANSWER && *e->end) put_said(out, STYLE_WARN, "%s", e->end);
}

/* ------------------------------------------------------------------ lines to rows */

static void put_row(struct transcript *t, struct shape *s, size_t at, size_t n, int indent)
{
    if (s->n_rows == s->cap_rows) {
        size_t cap = s->cap_rows ? 2 * s->cap_rows : 16;
        struct row *row = realloc(s->row, cap * sizeof *row);
        if (!row) t->failed = true;
        if (!row) return;
        s->row = row;
        s->cap_rows = cap;
    }
    s->row[s->n_rows++] = (struct row){at, n, indent};
}

static void wrap_line(struct transcript *t, struct entry *e, size_t line, size_t at, int columns)
{
    struct shape *s = &e->shape;
    size_t end = at + s->out.line[line].n;
    int first = e->kind == ENTRY_TOOL && line > 0 ? 2 : 0, hang = MIN(s->out.line[line].hang, columns / 2);
    int indent = first;
    do {
        size_t n = end > at ? surface_break(s->out.text.data + at, end - at, MAX(columns - indent, 2)) : 0;
        put_row(t, s, at, n, indent);
        at += n;
        indent = MAX(first, hang);
    } while (at < end);
}

static int text_columns(int columns) { return MAX(columns - (columns >= WIDE ? NAMES : 2), 2); }

/* The entry's rows for the view's width; of one that grows only what is not settled is made again. */
static void make_shape(struct transcript *t, struct entry *e)
{
    struct shape *s = &e->shape;
    int columns = text_columns(t->columns);
    bool same = s->columns == t->columns && s->utf8 == t->utf8;
    if (same && !e->open) return;
    if (!same) memset(&s->settled, 0, sizeof s->settled);
    s->columns = t->columns;
    s->utf8 = t->utf8;
    s->out.text.len = s->out.style.len = s->settled.text;
    s->out.n_lines = s->settled.lines;
    s->n_rows = s->settled.rows;
    size_t at = s->settled.text, line = s->settled.lines;
    put_entry(t, e, columns);
    for (; line < s->out.n_lines; line++) {
        wrap_line(t, e, line, at, columns);
        at += s->out.line[line].n + 1;
        if (line + 1 == s->settled.lines) s->settled.rows = s->n_rows;
    }
    if (s->out.text.failed) { /* what is there is shown; the next time all is made again */
        t->failed = true;
        md_out_clear(&s->out);
        s->columns = 0;
        s->n_rows = 0;
    }
}

/* ------------------------------------------------------------------ what stands above an entry's text */

static bool named(const struct transcript *t, size_t i)
{
    const struct entry *e = &t->entry[i], *p = i > 0 ? e - 1 : NULL;
    return !quiet(e) && (!p || e->kind == ENTRY_USER || quiet(p) || p->kind == ENTRY_USER || p->agent != e->agent);
}

/* A blank row (above the first entry: how many have left), and the name's where it has one of its own. */
static size_t gap(const struct transcript *t, size_t i)
{
    if (i == 0) return t->left > 0;
    return named(t, i) || quiet(&t->entry[i]) != quiet(&t->entry[i - 1]);
}

static size_t above(const struct transcript *t, size_t i)
{
    return gap(t, i) + (t->columns < WIDE && named(t, i));
}

static size_t height(struct transcript *t, size_t i)
{
    make_shape(t, &t->entry[i]);
    return above(t, i) + t->entry[i].shape.n_rows;
}

static bool back(struct transcript *t, struct shown *at)
{
    while (at->row == 0) {
        if (at->entry == 0) return false;
        at->row = height(t, --at->entry);
    }
    at->row--;
    return true;
}

static bool forward(struct transcript *t, struct shown *at)
{
    struct shown next = {at->entry, at->row + 1};
    while (next.entry < t->n && next.row >= height(t, next.entry)) next = (struct shown){next.entry + 1, 0};
    if (next.entry == t->n) return false;
    *at = next;
    return true;
}

/* ------------------------------------------------------------------ the view */

static struct place place_of(const struct transcript *t, struct shown at)
{
    const struct entry *e = &t->entry[at.entry];
    size_t head = above(t, at.entry);
    if (at.row < head) return (struct place){e->id, 0, (int)(head - at.row)};
    if (at.row - head >= e->shape.n_rows) return (struct place){e->id, 0, 0}; /* it shows nothing */
    return (struct place){e->id, e->shape.row[at.row - head].at, 0};
}

static struct shown find_place(struct transcript *t, struct place p)
{
    const struct entry *e = transcript_find(t, p.id);
    if (!e) return (struct shown){0, 0};
    struct shown at = {(size_t)(e - t->entry), 0};
    size_t rows = height(t, at.entry), head = above(t, at.entry), row = head;
    if (p.head > 0) return (struct shown){at.entry, head > (size_t)p.head ? head - (size_t)p.head : 0};
    while (row + 1 < rows && e->shape.row[row + 1 - head].at <= p.at) row++;
    at.row = rows > 0 ? MIN(row, rows - 1) : 0;
    return at;
}

static struct shown last_page(struct transcript *t, int rows)
{
    struct shown at = {t->n - 1, height(t, t->n - 1)};
    while (rows-- > 0 && back(t, &at)) {}
    return at;
}

/* Shapes that are out of the view are made again when they come into it. */
static void free_shapes(struct transcript *t)
{
    size_t first = t->n_view > 0 ? t->view[0].entry : t->n, last = t->n_view > 0 ? t->view[t->n_view - 1].entry : t->n;
    for (size_t i = 0; i < t->n; i++)
        if (i < first || i > last) shape_free(&t->entry[i].shape);
}

int transcript_fit(struct transcript *t, int columns, int rows, bool utf8)
{
    t->failed = false;
    t->columns = MAX(columns, 4);
    t->rows = rows = MIN(MAX(rows, 1), SURFACE_MAX);
    t->utf8 = utf8;
    t->n_view = 0;
    if ((size_t)rows > t->cap_view) {
        struct shown *view = realloc(t->view, (size_t)rows * sizeof *view);
        if (!view) return -1;
        t->view = view;
        t->cap_view = (size_t)rows;
    }
    if (t->n == 0) return 0;
    struct shown end = last_page(t, rows), at = t->follows ? end : find_place(t, t->top);
    if (at.entry > end.entry || (at.entry == end.entry && at.row >= end.row)) t->follows = true;
    if (t->follows) at = end;
    if (at.row >= height(t, at.entry) && !forward(t, &at)) return t->failed ? -1 : 0;
    do t->view[t->n_view++] = at;
    while (t->n_view < (size_t)rows && forward(t, &at));
    t->top = place_of(t, t->view[0]);
    free_shapes(t);
    return t->failed ? -1 : 0;
}

void transcript_scroll(struct transcript *t, int rows)
{
    if (t->n == 0) return;
    struct shown at = find_place(t, t->top);
    for (; rows < 0 && back(t, &at); rows++) {}
    for (; rows > 0 && forward(t, &at); rows--) {}
    height(t, at.entry);
    t->top = place_of(t, at);
    t->follows = false; /* the next fit finds out whether this is the end */
}

void transcript_end(struct transcript *t) { t->follows = true; }
bool transcript_follows(const struct transcript *t) { return t->follows; }

uint64_t transcript_at(const struct transcript *t, int row)
{
    return row >= 0 && (size_t)row < t->n_view ? t->entry[t->view[row].entry].id : 0;
}

/* ------------------------------------------------------------------ search */

/* The next place of the query in the entry behind (older: before) byte `from` of what it shows; SIZE_MAX: none. */
static size_t find_in(struct transcript *t, struct entry *e, size_t from, bool older)
{
    make_shape(t, e);
    const struct buf *text = &e->shape.out.text;
    size_t found = SIZE_MAX, at = older ? 0 : from;
    while (text->len > 0 && (at = find_text(text->data, text->len, at, t->query, t->n_query)) != SIZE_MAX) {
        if (!older) return at;
        if (at >= from) break;
        found = at++;
    }
    return found;
}

static size_t find_entry(struct transcript *t, struct entry *e, size_t from, bool older)
{
    bool has = find_text(e->text.data, e->text.len, 0, t->query, t->n_query) != SIZE_MAX;
    size_t found = find_in(t, e, from, older);
    if (found != SIZE_MAX || !has || e->unfolded || (e->kind != ENTRY_TOOL && e->kind != ENTRY_ANSWER)) return found;
    transcript_toggle(t, e->id);
    found = find_in(t, e, from, older);
    if (found == SIZE_MAX) transcript_toggle(t, e->id);
    return found;
}

/* From entry i on; from: a byte of what it shows. */
static bool search_from(struct transcript *t, size_t i, size_t from, bool older)
{
    t->n_view = 0;
    for (; i < t->n; i = older ? i - 1 : i + 1, from = older ? SIZE_MAX : 0) { /* 0 - 1 is beyond t->n too */
        size_t at = find_entry(t, &t->entry[i], from, older);
        if (at != SIZE_MAX) {
            t->match = t->top = (struct place){t->entry[i].id, at, 0};
            t->follows = false;
            struct shown top = find_place(t, t->top);
            for (int lines = t->rows / 3; lines > 0 && back(t, &top); lines--) {}
            t->top = place_of(t, top);
            return true;
        }
        shape_free(&t->entry[i].shape);
    }
    return false;
}

bool transcript_search(struct transcript *t, const char *query, size_t n, bool older)
{
    n = MIN(n, sizeof t->query);
    if (n != t->n_query || (n > 0 && memcmp(query, t->query, n) != 0)) t->match.id = 0;
    t->n_query = n;
    if (n > 0) memcpy(t->query, query, n);
    if (n == 0 || t->n == 0) return false;
    const struct entry *e = transcript_find(t, t->match.id);
    size_t i = e ? (size_t)(e - t->entry) : older ? t->n - 1 : find_place(t, t->top).entry;
    if (!e && older && t->n_view > 0) i = t->view[t->n_view - 1].entry;
    return search_from(t, i, !e ? (older ? SIZE_MAX : 0) : older ? t->match.at : t->match.at + 1, older);
}

bool transcript_search_around(struct transcript *t, bool older)
{
    return t->n_query > 0 && t->n > 0 && search_from(t, older ? t->n - 1 : 0, older ? SIZE_MAX : 0, older);
}

/* ------------------------------------------------------------------ drawing */

static struct look row_look(const struct entry *e, unsigned style)
{
    struct look look = {.hue = e->kind == ENTRY_USER ? HUE_USER : HUE_TEXT};
    if (style & STYLE_WARN) look.hue = HUE_WARN;
    if (style & STYLE_ERROR) look.hue = HUE_ERROR;
    if (style & STYLE_TOOL) look.hue = HUE_TOOL;
    return md_look(style, look);
}

/* Cluster by cluster, as wrap_line() measured it: a tab counts from the row's first column, and a mark belongs to the
 * letter before it, whatever style or search parts them. */
static void draw_text(struct surface *s, struct box b, int left, int y, const struct transcript *t,
                      const struct entry *e, const struct row *r)
{
    const char *text = e->shape.out.text.data, *style = e->shape.out.style.data;
    size_t end = r->at + r->n, match = find_text(text, end, r->at, t->query, t->n_query);
    int column = 0;
    for (size_t at = r->at; at < end;) {
        const struct cluster c = surface_cluster(text + at, end - at, column);
        const bool tab = text[at] == '\t';
        if (match != SIZE_MAX && at >= match + t->n_query) match = find_text(text, end, at, t->query, t->n_query);
        struct look look = row_look(e, (unsigned char)style[at]);
        if (match != SIZE_MAX && match < at + c.bytes) look.attr |= LOOK_REVERSE;
        surface_text(s, b, left + column, y, tab ? "    " : text + at, tab ? (size_t)c.columns : c.bytes, look, NULL);
        column += c.columns;
        at += c.bytes;
    }
    bool last = r + 1 == e->shape.row + e->shape.n_rows;
    if (e->open && last && e->text.len > 0) surface_puts(s, b, left + column, y, t->utf8 ? "▌" : "_", row_look(e, 0));
}

static void draw_name(struct surface *s, struct box b, int y, const struct transcript *t, const struct entry *e)
{
    bool user = e->kind == ENTRY_USER;
    const int hue = user ? HUE_USER : HUE_AGENT + t->hue[e->agent] % HUE_AGENTS;
    struct look look = {.hue = (uint8_t)hue, .attr = LOOK_BOLD};
    struct box name = b;
    if (t->columns >= WIDE) name.columns = MIN(b.columns, NAMES - 1);
    if (user && e->agent >= 0) surface_printf(s, name, 0, y, look, "to %s", t->name[e->agent]);
    else surface_puts(s, name, 0, y, user ? "you" : t->name[e->agent], look);
}

static void draw_row(struct surface *s, struct box b, int y, const struct transcript *t, struct shown at)
{
    const struct entry *e = &t->entry[at.entry];
    size_t blank = gap(t, at.entry), head = above(t, at.entry);
    int left = t->columns >= WIDE ? NAMES : 2;
    struct look dim = {.hue = HUE_DIM};
    if (at.row < blank && at.entry == 0)
        surface_printf(s, b, 0, y, dim, "%zu earlier %s %s", t->left, t->left == 1 ? "entry is" : "entries are",
                       t->limits.stored ? "in the store" : "no longer held");
    if (at.row + 1 == head && head > blank) draw_name(s, b, y, t, e);
    if (at.row < head) return;
    const struct row *r = &e->shape.row[at.row - head];
    if (at.row == head && t->columns >= WIDE && named(t, at.entry)) draw_name(s, b, y, t, e);
    if (e->kind == ENTRY_TOOL && r->indent >= 2) surface_puts(s, b, left, y, t->utf8 ? "│" : "|", dim);
    draw_text(s, b, left + r->indent, y, t, e, r);
}

void transcript_draw(struct surface *s, struct box b, const struct transcript *t)
{
    surface_clear(s, b, (struct look){0});
    for (size_t i = 0; i < t->n_view && i < (size_t)MAX(b.rows, 0); i++) draw_row(s, b, (int)i, t, t->view[i]);
}
