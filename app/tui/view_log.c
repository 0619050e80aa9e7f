/* view_log.c - what was said beside the conversation, the newest at the bottom; it follows until a key goes up.
 *
 *      Log   214 lines, 1 error   follows
 *        0:03  the model is open: 18 MiB of weights
 *        1:12  error  /resume: no session begins with 77
 *
 * A line takes the rows that it needs.  Only those that are seen are measured: from the last one upwards. */
#include "app/tui/find.h"
#include "app/tui/list.h"
#include "app/tui/log.h"
#include "app/tui/table.h"
#include "app/tui/typed.h"
#include "app/tui/view.h"

enum { TIME = 10, NARROW = 60 /* columns, under which times are left out */ };

struct view {
    bool stays;      /* `last` does, also when there is more behind it */
    uint64_t last;   /* the line at the bottom */
    int seen, rows;  /* lines and rows of the last draw */
    struct typed find;
    uint64_t hit;    /* the line that was found; UINT64_MAX: none */
    bool missed;     /* there is no other */
};

static void *open_view(void)
{
    struct view *v = calloc(1, sizeof *v);
    if (v) v->hit = UINT64_MAX;
    return v;
}

static void close_view(void *self) { free(self); }

static void ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)b, (void)in, (void)out;
}

static uint64_t first_of(const struct log *l) { return l->lines - MIN(l->lines, (uint64_t)LOG_LINES); }

/* ------------------------------------------------------------------ one line */

static int rows_of(const struct log_line *line, int columns)
{
    const size_t n = strlen(line->text);
    int rows = 0;
    for (size_t at = 0; at < n; rows++) at += surface_break(line->text + at, n - at, columns);
    return MAX(rows, 1);
}

static const char *time_text(char out[FIGURE], double seconds)
{
    const int s = seconds >= 0 && seconds < 1e8 ? (int)seconds : 0;
    if (s < 3600) snprintf(out, FIGURE, "%d:%02d", s / 60, s % 60);
    else snprintf(out, FIGURE, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    return out;
}

/* What was looked for, within the bytes from..to of a line that are drawn in a row. */
static void mark(const struct view *v, struct surface *s, struct box b, int row, const char *text, size_t from,
                 size_t to, struct look look)
{
    const size_t m = strlen(v->find.text), n = strlen(text);
    look.attr |= LOOK_REVERSE;
    for (size_t at = 0; (at = find_text(text, n, at, v->find.text, m)) != SIZE_MAX && at < to; at += m) {
        const size_t begin = MAX(at, from), end = MIN(at + m, to);
        if (begin >= end) continue;
        surface_text(s, b, surface_columns(text + from, begin - from), row, text + begin, end - begin, look, NULL);
    }
}

static struct look look_of(const struct log_line *line)
{
    return (struct look){.hue = line->kind == LOG_DIM ? HUE_DIM : HUE_TEXT};
}

/* The box of the text, and what is before it. */
static struct box draw_front(struct surface *s, struct box b, int row, const struct log_line *line, bool hit)
{
    char f[FIGURE];
    int at = 1;
    if (hit) surface_puts(s, b, 0, row, ">", (struct look){.hue = HUE_KEY});
    if (b.columns >= NARROW) {
        table_right(s, b, at, row, TIME - 2, time_text(f, line->time), (struct look){.hue = HUE_DIM});
        at += TIME;
    }
    return (struct box){b.column + at, b.row, MAX(b.columns - at - 1, 0), b.rows};
}

static int text_columns(int columns, const struct log_line *line)
{
    const int left = columns - 2 - (columns >= NARROW ? TIME : 0);
    return MAX(left - (line->kind == LOG_ERROR ? 7 : 0), 1);
}

static int draw_line(const struct view *v, struct surface *s, struct box b, int row, const struct log_line *line,
                     bool hit)
{
    const struct look look = look_of(line);
    const size_t n = strlen(line->text);
    const int columns = text_columns(b.columns, line), top = row;
    struct box text = draw_front(s, b, row, line, hit);
    if (line->kind == LOG_ERROR) {
        surface_puts(s, text, 0, row, "error", (struct look){.hue = HUE_ERROR, .attr = LOOK_BOLD});
        text.column += 7;
        text.columns = MAX(text.columns - 7, 0);
    }
    for (size_t at = 0; at < n; row++) {
        const size_t end = at + surface_break(line->text + at, n - at, columns);
        if (row >= 0) surface_text(s, text, 0, row, line->text + at, end - at, look, NULL);
        if (row >= 0) mark(v, s, text, row, line->text, at, end, look);
        at = end;
    }
    return MAX(row - top, 1);
}

/* ------------------------------------------------------------------ all */

static void draw_head(const struct view *v, struct surface *s, struct box b, const struct log *l)
{
    struct words w = {0};
    char f[FIGURE];
    uint64_t errors = 0;
    for (uint64_t i = first_of(l); i < l->lines; i++) errors += log_at(l, i)->kind == LOG_ERROR;
    words_add(&w, HUE_HEAD, 0, "Log");
    words_add(&w, HUE_TEXT, 1, "%s line%s", figure(f, l->lines), l->lines == 1 ? "" : "s");
    if (errors) words_add(&w, HUE_ERROR, 1, "%s error%s", figure(f, errors), errors == 1 ? "" : "s");
    if (v->stays) words_add(&w, HUE_WARN, 2, "%s newer below", figure(f, l->lines - 1 - v->last));
    else words_add(&w, HUE_DIM, 3, "the newest at the bottom");
    if (l->lines > LOG_LINES) words_add(&w, HUE_DIM, 4, "the last %s are kept", figure(f, LOG_LINES));
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

/* From which line on, and how many of its rows are above the box, so that the last one ends at the bottom; where all
 * fit, from the first on. */
static uint64_t top_of(const struct log *l, uint64_t last, struct box b, int *above)
{
    int rows = 0;
    uint64_t i = last + 1;
    while (i > first_of(l) && rows < b.rows) {
        const struct log_line *line = log_at(l, --i);
        rows += rows_of(line, text_columns(b.columns, line));
    }
    *above = MAX(rows - b.rows, 0);
    return i;
}

static void draw_lines(struct view *v, struct surface *s, struct box b, const struct log *l)
{
    int above;
    const uint64_t top = top_of(l, v->last, b, &above);
    uint64_t i = top;
    for (int row = -above; row < b.rows && i < l->lines; i++)
        row += draw_line(v, s, b, row, log_at(l, i), i == v->hit && *v->find.text);
    v->seen = (int)(i - top);
    v->last = MAX(v->last, i - 1);
    if (v->last == l->lines - 1) v->stays = false;
    list_bar(s, b, (int)(l->lines - first_of(l)) + b.rows - v->seen, (int)(top - first_of(l)));
}

static void draw_foot(const struct view *v, struct surface *s, struct box b, const struct log *l)
{
    const struct box row = {b.column + 1, b.row + b.rows - 1, b.columns - 2, 1};
    const struct look dim = {.hue = HUE_DIM};
    char f[FIGURE];
    if (v->find.on) typed_draw(&v->find, s, row, 0, "find:", "Enter keeps it, Esc forgets it");
    else if (*v->find.text && v->hit == UINT64_MAX)
        surface_printf(s, row, 0, 0, dim, "no line has \"%s\"", v->find.text);
    else if (*v->find.text)
        surface_printf(s, row, 0, 0, dim, "\"%.60s\" in line %s%s   n older   N newer   Esc forgets it", v->find.text,
                       figure(f, MIN(v->hit, l->lines) + 1), v->missed ? ", and in no other there" : "");
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view *v = self;
    const struct log *l = in->log;
    const bool foot = v->find.on || *v->find.text;
    const struct box lines = {b.column, b.row + 1, b.columns, MAX(b.rows - 1 - foot, 0)};
    surface_clear(s, b, (struct look){0});
    if (b.columns < 4 || b.rows < 1) return;
    v->rows = lines.rows;
    if (!l || l->lines == 0) {
        surface_puts(s, b, 1, 0, "Log", (struct look){.hue = HUE_HEAD});
        surface_puts(s, lines, 1, 0, "nothing was said yet: errors, and what commands answer, come here",
                     (struct look){.hue = HUE_DIM});
        return;
    }
    if (!v->stays || v->last >= l->lines) v->last = l->lines - 1;
    v->last = MAX(v->last, first_of(l));
    if (lines.rows > 0) draw_lines(v, s, lines, l);
    draw_head(v, s, b, l);
    if (foot && b.rows > 1) draw_foot(v, s, b, l);
}

/* ------------------------------------------------------------------ looking for a text */

static bool line_has(const struct view *v, const struct log *l, uint64_t i)
{
    const struct log_line *line = log_at(l, i);
    return find_text(line->text, strlen(line->text), 0, v->find.text, strlen(v->find.text)) != SIZE_MAX;
}

static void go_to(struct view *v, const struct log *l, uint64_t line)
{
    v->hit = line;
    v->missed = false;
    v->last = MIN(line + (uint64_t)v->rows / 3, l->lines - 1);
    v->stays = v->last < l->lines - 1;
}

static void find_older(struct view *v, const struct log *l, uint64_t before)
{
    for (uint64_t i = MIN(before, l->lines); i > first_of(l);)
        if (line_has(v, l, --i)) {
            go_to(v, l, i);
            return;
        }
    v->missed = true;
}

static void find_newer(struct view *v, const struct log *l, uint64_t behind)
{
    for (uint64_t i = MAX(behind + 1, first_of(l)); i < l->lines; i++)
        if (line_has(v, l, i)) {
            go_to(v, l, i);
            return;
        }
    v->missed = true;
}

/* The newest that has it, as it is typed. */
static bool key_find(struct view *v, const struct key *k, const struct log *l)
{
    const enum typed_key done = v->find.on ? typed_key(&v->find, k) : TYPED_NOT;
    if (done == TYPED_NOT) return false;
    if (done == TYPED_LEFT) v->find.text[0] = '\0';
    if (done == TYPED_CHANGED) {
        v->hit = UINT64_MAX;
        find_older(v, l, l->lines);
    }
    return true;
}

static bool key_found(struct view *v, const struct key *k, const struct log *l)
{
    if (k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT)) && k->rune == '/') {
        typed_begin(&v->find, "");
        return true;
    }
    if (!*v->find.text) return false;
    if (k->name == KEY_ESCAPE) v->find.text[0] = '\0';
    else if (k->name != KEY_CHAR || k->mods & (KEY_CTRL | KEY_ALT)) return false;
    else if (k->rune == 'n' && v->hit != UINT64_MAX) find_older(v, l, v->hit);
    else if (k->rune == 'N' && v->hit != UINT64_MAX) find_newer(v, l, v->hit);
    else return false;
    return true;
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view *v = self;
    const struct log *l = in->log;
    (void)out;
    if (!l || l->lines == 0) return false;
    if (key_find(v, k, l) || key_found(v, k, l)) return true;
    const int n = (int)(l->lines - first_of(l)), seen = MAX(v->seen, 1);
    struct list at = {.selected = (int)(v->last - first_of(l))};
    if (!list_key(&at, k, n, seen)) return false;
    v->last = first_of(l) + (uint64_t)at.selected;
    v->stays = v->last < l->lines - 1;
    return true;
}

const struct view_ops view_log = {
    .title = "Log",
    .keys = "/ find  n older  N newer  g first  G newest",
    .open = open_view,
    .close = close_view,
    .ask = ask,
    .draw = draw,
    .key = key,
};
