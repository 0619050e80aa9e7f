/* view_models.c - model files on this machine: a list, and what is known of the selected one.
 *
 *     6 model files, 12.3 GiB; 3 of them fit in 3.9 GiB of memory
 *      name                 size  parameters  types       fits?
 *      llama3.2:3b       1.9 GiB       3.2 B  Q4_K, Q6_K  fits, context up to 16,384
 *     ────────────────────────────────────
 *      its details, where there is room below; Enter: they have the whole box */
#include "app/tui/list.h"
#include "app/tui/view.h"
#include "app/tui/view_models.h"
#include "app/store_cmd.h"

enum { PANEL = 9, NARROW = 24 /* columns: no labels */, PANEL_FROM = 20 /* rows */, LABEL = 10, MARGIN = 1, GAP = 2 };

struct self {
    struct list list;
    bool details;
    int top, rows;   /* of the details: scrolled by, rows that they have */
    int seen;        /* rows of the list in the last box */
};

static const struct look dim = {.hue = HUE_DIM}, plain = {0}, head = {.hue = HUE_HEAD, .attr = LOOK_BOLD};

static const struct models *models_of(const struct view_in *in) { return in->doc ? in->doc->data : NULL; }

static struct look state_look(enum model_state s)
{
    static const uint8_t hue[MODEL_STATES] = {[MODEL_FITS] = HUE_OK, [MODEL_TOO_LARGE] = HUE_WARN,
                                              [MODEL_BROKEN] = HUE_ERROR, [MODEL_UNREAD] = HUE_DIM,
                                              [MODEL_UNSUPPORTED] = HUE_DIM, [MODEL_SPLIT] = HUE_DIM};
    return (struct look){.hue = hue[s]};
}

/* ------------------------------------------------------------------ cells */

/* At most so many columns of a text, with dots for the rest; or, from the right, all of it that fits. */
static void put(struct surface *s, struct box b, int column, int row, int columns, bool right, const char *text,
                struct look look)
{
    const struct box cell = {b.column + column, b.row + row, MAX(MIN(columns, b.columns - column), 0), 1};
    const int n = surface_columns(text, strlen(text));
    if (cell.columns == 0 || row >= b.rows || row < 0) return;
    surface_puts(s, cell, right ? MAX(cell.columns - n, 0) : 0, 0, text, look);
    if (n > cell.columns && cell.columns > 3) surface_puts(s, cell, cell.columns - 3, 0, "...", look);
}

/* ------------------------------------------------------------------ the list */

enum { NAME, SIZE, ARCH, PARAMETERS, TYPES, CONTEXT, PLACE, VERDICT, COLUMNS };
static const struct column {
    const char *name;
    int columns, from; /* from: the width of the box at which there is room for it */
    bool right;
} column_of[COLUMNS] = {
    [NAME] = {"name", 0, 0, false},
    [SIZE] = {"size", 9, 0, true},
    [ARCH] = {"architecture", 12, 116, false},
    [PARAMETERS] = {"parameters", 10, 76, true},
    [TYPES] = {"types", 12, 92, false},
    [CONTEXT] = {"context", 9, 128, true},
    [PLACE] = {"found by", 15, 150, false},
    [VERDICT] = {"fits?", 0, 0, false},
};
enum { SHORT = 60, SHORT_VERDICT = 13, VERDICT_LEAST = 26, NAME_LEAST = 12 };

/* The name has what it needs, and the verdict the rest: at least what it needs when all is well. */
static void widths(const struct models *m, int all, int out[COLUMNS])
{
    const int verdict = all < SHORT ? SHORT_VERDICT : VERDICT_LEAST;
    int rest = all - 2 * MARGIN, wants = NAME_LEAST;
    for (int i = 0; i < COLUMNS; i++) {
        out[i] = all >= column_of[i].from ? column_of[i].columns : 0;
        if (out[i] > 0) rest -= out[i] + GAP;
    }
    for (int i = 0; i < m->n; i++) wants = MAX(wants, surface_columns(m->row[i].name, strlen(m->row[i].name)));
    out[NAME] = MAX(MIN(wants, rest - GAP - verdict), 0);
    out[VERDICT] = MAX(rest - GAP - out[NAME], 0);
}

static const char *short_verdict(enum model_state s)
{
    static const char *const word[MODEL_STATES] = {"not read", "fits", "too large", "not supported", "one part",
                                                   "broken"};
    return word[s];
}

/* A sentence that finds no room is a word: the details have it in full. */
static void row_texts(const struct models *m, const struct models_row *r, int verdict, char text[COLUMNS][400])
{
    char count[MODELS_COUNT], number[FIGURE];
    snprintf(text[NAME], sizeof *text, "%s", r->name);
    snprintf(text[SIZE], sizeof *text, "%s", r->bytes ? store_cmd_size(r->bytes).text : "");
    snprintf(text[ARCH], sizeof *text, "%s", r->arch);
    snprintf(text[PARAMETERS], sizeof *text, "%s", models_count(r->parameters, count));
    snprintf(text[TYPES], sizeof *text, "%s", r->types);
    snprintf(text[CONTEXT], sizeof *text, "%s", r->ctx_trained ? figure(number, (uint64_t)r->ctx_trained) : "");
    snprintf(text[PLACE], sizeof *text, "%s", m->place[r->place].what);
    models_verdict(r, m->within, text[VERDICT], sizeof *text);
    if (surface_columns(text[VERDICT], strlen(text[VERDICT])) > verdict)
        snprintf(text[VERDICT], sizeof *text, "%s", short_verdict(r->state));
}

static void draw_row(struct surface *s, struct box b, int row, const int width[COLUMNS], char text[COLUMNS][400],
                     struct look look, struct look verdict)
{
    for (int i = 0, at = MARGIN; i < COLUMNS; i++) {
        if (width[i] == 0) continue;
        put(s, b, at, row, width[i], column_of[i].right, text[i], i == VERDICT ? verdict : look);
        at += width[i] + GAP;
    }
}

static bool is_ours(const struct view_in *in, const struct models_row *r)
{
    const char *file = in->state ? in->state->opened.file : ""; /* may be cut */
    return *file && strncmp(file, r->path, sizeof in->state->opened.file - 1) == 0;
}

static void draw_list(struct self *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct models *m = models_of(in);
    char text[COLUMNS][400];
    int width[COLUMNS];
    widths(m, b.columns, width);
    for (int i = 0; i < COLUMNS; i++) snprintf(text[i], sizeof *text, "%s", column_of[i].name);
    draw_row(s, b, 0, width, text, dim, dim);
    const struct box rows = {b.column, b.row + 1, b.columns, MAX(b.rows - 1, 0)};
    v->seen = rows.rows;
    list_fit(&v->list, m->n, rows.rows);
    for (int i = 0; i < rows.rows && v->list.top + i < m->n; i++) {
        const struct models_row *r = &m->row[v->list.top + i];
        const bool selected = v->list.top + i == v->list.selected;
        const struct look ground = list_look(selected, plain);
        row_texts(m, r, width[VERDICT], text);
        if (selected) surface_fill(s, rows, 0, i, rows.columns, " ", ground);
        if (is_ours(in, r)) surface_puts(s, rows, 0, i, "*", ground);
        draw_row(s, rows, i, width, text, ground, selected ? ground : state_look(r->state));
    }
    list_bar(s, rows, m->n, v->list.top);
}

/* ------------------------------------------------------------------ details */

struct writer { /* of labels and wrapped texts, from a row on that may lie above the box */
    struct surface *s;
    struct box b;
    int row;
};

__attribute__((format(printf, 4, 5)))
static void line(struct writer *w, const char *label, struct look look, const char *fmt, ...)
{
    char text[4 * MODELS_PATH + 64];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const size_t n = (size_t)MAX(MIN(len, (int)sizeof text - 1), 0);
    const int left = MARGIN + (w->b.columns < NARROW ? 0 : LABEL), columns = MAX(w->b.columns - left - MARGIN, 1);
    const struct box b = {w->b.column + left, w->b.row, MAX(w->b.columns - left, 0), w->b.rows};
    if (w->row >= 0 && left > MARGIN) surface_puts(w->s, w->b, MARGIN, w->row, label, dim);
    for (size_t at = 0, step; at < n; at += step, w->row++) {
        step = surface_break(text + at, n - at, columns);
        if (w->row >= 0) surface_text(w->s, b, 0, w->row, text + at, step, look, NULL);
    }
}

static void memory_line(struct writer *w, const struct models *m, const struct models_row *r)
{
    char a[FIGURE];
    if (r->needs_least == 0) return;
    const bool usual = r->state == MODEL_FITS;
    const bool known = m->within != UINT64_MAX;
    line(w, "memory", plain, "%s with a context of %s%s%s",
         store_cmd_size(usual ? r->needs_usual : r->needs_least).text,
         usual ? figure(a, (uint64_t)r->ctx_usual) : "a few tokens", known ? "; a new session finds " : "",
         known ? store_cmd_size(m->within).text : "");
}

/* All that is known of a row, the most wanted first; w->row is behind it. */
static void write_details(struct writer *w, const struct view_in *in, const struct models_row *r)
{
    const struct models *m = models_of(in);
    char verdict[400], a[FIGURE], count[MODELS_COUNT];
    struct buf command = {0};
    models_verdict(r, m->within, verdict, sizeof verdict);
    models_command(r, m->within, &command);
    line(w, "model", head, "%s", r->name);
    line(w, "fits?", state_look(r->state), "%s", verdict);
    if (is_ours(in, r)) line(w, "in use", plain, "this session runs it");
    if (command.len > 0) line(w, "use it", (struct look){.hue = HUE_KEY}, "%s", command.data);
    else line(w, "file", plain, "%s", r->path);
    memory_line(w, m, r);
    if (*r->arch) line(w, "kind", plain, "%s, %s parameters, trained for %s tokens", r->arch,
                       r->parameters ? models_count(r->parameters, count) : "?",
                       r->ctx_trained ? figure(a, (uint64_t)r->ctx_trained) : "?");
    if (*r->tensors) line(w, "tensors", plain, "%s", r->tensors);
    line(w, "found by", plain, "%s%s%s", m->place[r->place].what, r->bytes ? ", " : "",
         r->bytes ? store_cmd_size(r->bytes).text : "");
    if (command.len > 0) line(w, "", dim, "c copies the command line; this session keeps the model that it has");
    buf_free(&command);
}

static void draw_details(struct self *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct models *m = models_of(in);
    struct writer w = {s, b, 0};
    if (m->n == 0 || b.rows < 1) return;
    struct writer measure = {s, {0, 0, b.columns, 0}, 0};
    write_details(&measure, in, &m->row[v->list.selected]);
    v->rows = measure.row;
    v->top = MAX(MIN(v->top, v->rows - b.rows), 0);
    w.row = -v->top;
    write_details(&w, in, &m->row[v->list.selected]);
    list_bar(s, b, v->rows, v->top);
}

/* ------------------------------------------------------------------ the view */

static void draw_nothing(struct surface *s, struct box b, const struct view_in *in)
{
    const struct models *m = models_of(in);
    enum { FIRST = 4 };
    if (!m) {
        const bool failed = in->doc && *in->doc->error;
        surface_puts(s, b, MARGIN, 0, failed ? in->doc->error : "Looking for model files, for two seconds at most ...",
                     failed ? (struct look){.hue = HUE_ERROR} : dim);
        if (failed) surface_puts(s, b, MARGIN, 1, "r tries again", dim);
        return;
    }
    surface_puts(s, b, MARGIN, 0, "No model file was found.", head);
    surface_puts(s, b, MARGIN, 1, "PLIMSOLL_MODELS=FOLDER looks in others; plimsoll -m FILE takes any.", plain);
    surface_puts(s, b, MARGIN, 3, "Looked for in", dim);
    for (int i = 0; i < m->n_places; i++) {
        const struct models_place *p = &m->place[i];
        char words[MODELS_WORDS];
        put(s, b, MARGIN, FIRST + i, 17, false, p->what, plain);
        put(s, b, MARGIN + 17, FIRST + i, 17, false, models_place_words(p, words), dim);
        put(s, b, MARGIN + 34, FIRST + i, b.columns - 2 * MARGIN - 34, false, p->path, dim);
    }
}

static void draw_found(struct self *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct models *m = models_of(in);
    const bool panel = b.rows >= PANEL_FROM, note = *m->stopped && b.rows >= 6;
    const int rows = b.rows - 1 - note - (panel ? PANEL + 1 : 0);
    struct buf summary = {0};
    if (b.columns < SHORT) buf_printf(&summary, "%d model file%s", m->n, m->n == 1 ? "" : "s");
    else models_summary(m, &summary);
    put(s, b, MARGIN, 0, b.columns - 2 * MARGIN, false, summary.data ? summary.data : "", head);
    buf_free(&summary);
    draw_list(v, s, (struct box){b.column, b.row + 1, b.columns, rows}, in);
    if (panel) {
        const int at = b.rows - PANEL - 1 - note;
        surface_fill(s, b, 0, at, b.columns, bar_glyph(BAR_THIN, in->glyphs), dim);
        v->top = 0;
        draw_details(v, s, (struct box){b.column, b.row + at + 1, b.columns, PANEL}, in);
    }
    if (!note) return;
    char text[240];
    snprintf(text, sizeof text, "Not all: %s", m->stopped);
    put(s, b, MARGIN, b.rows - 1, b.columns - 2 * MARGIN, false, text, (struct look){.hue = HUE_WARN});
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct self *v = self;
    const struct models *m = models_of(in);
    list_fit(&v->list, m ? m->n : 0, MAX(v->seen, 1));
    if (!m || m->n == 0) draw_nothing(s, b, in);
    else if (v->details) draw_details(v, s, b, in);
    else draw_found(v, s, b, in);
}

static void copy_command(const struct self *v, const struct models *m, struct view_out *out)
{
    if (m && m->n > 0) models_command(&m->row[MIN(v->list.selected, m->n - 1)], m->within, &out->copy);
}

static bool scroll(struct self *v, const struct key *k)
{
    struct list l = {.selected = v->top, .top = v->top};
    if (!list_key(&l, k, MAX(v->rows, 1), 1)) return false;
    v->top = l.selected; /* drawing brings it into its bounds */
    return true;
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct self *v = self;
    const struct models *m = models_of(in);
    const bool letter = k->name == KEY_CHAR && !k->mods, back = k->name == KEY_ESCAPE || (letter && k->rune == 'q');
    if (back || (v->details && k->name == KEY_ENTER)) {
        if (v->details) v->details = false;
        else out->leave = true;
    } else if (k->name == KEY_ENTER) {
        v->details = m && m->n > 0;
        v->top = 0;
    } else if (letter && k->rune == 'c') {
        copy_command(v, m, out);
    } else if (letter && k->rune == 'r') {
        out->ask.kind = DOC_MODELS;
    } else {
        return v->details ? scroll(v, k) : list_key(&v->list, k, m ? m->n : 0, v->seen);
    }
    return true;
}

static void ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self;
    (void)b;
    (void)in;
    *out = (struct doc_ask){.kind = DOC_MODELS};
}

static void *view_open(void) { return calloc(1, sizeof(struct self)); }

const struct view_ops view_models = {
    .title = "Models", .keys = "Enter details  c copy command  r look again", .every = 0,
    .open = view_open, .close = free, .ask = ask, .draw = draw, .key = key,
};
