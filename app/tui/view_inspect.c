/* view_inspect.c - the next call of an agent: its parts as a list, and the one that is looked at, whole.
 *
 *     head     whose, how full, what is kept for the answer       over all columns
 *     bar      the whole context by part
 *     marks    when the oldest are summed up, what that frees; or what the last key could not do
 *     ─────────────────────────┬────────────
 *     list                     │ the part's text, its tokens, or the summary's diff: beside the list from 150 columns
 *     on, below it where there are 16 rows, else in its place with Enter */
#include "app/tui/view_inspect.h"
#include "app/tui/list.h"
#include "app/tui/view.h"
#include <inttypes.h>

enum { BESIDE = 150, BELOW_ROWS = 16, BAR_ROWS = 8, NARROW = 60, WIDE = 92, TEXT_ROWS = 7, LEAST = 8, NOTE = 160 };
enum { WHILE = 10 /* seconds after which a doc is asked for in any case */ };
enum shows { SHOWS_TEXT, SHOWS_TOKENS, SHOWS_DIFF };

/* What the figures say of an agent: while that is the same, so is its next call. */
struct stamp { int64_t agent, carried, turns, calls, running, frees, period; };

struct self {
    const struct inspect *doc; /* the last that came: only compared */
    struct stamp then;         /* when it came */
    bool ordered;              /* since */
    struct list list;
    struct pager pager;
    char name[48];      /* of the selected row, so that it stays selected when rows come and go */
    enum shows shows;
    bool reading;       /* keys move the text */
    int rows, text_rows; /* of the last draw */
    struct buf shown;   /* what the pager shows */
    struct ids ids;     /* SHOWS_TOKENS: of these */
    char note[NOTE];    /* why the last key did nothing; or nothing */
};

struct panes { struct box head, list, text; };

static struct box part_of(struct box b, int column, int row, int columns, int rows)
{
    column = MIN(MAX(column, 0), MAX(b.columns, 0));
    row = MIN(MAX(row, 0), MAX(b.rows, 0));
    return (struct box){b.column + column, b.row + row, MAX(MIN(columns, b.columns - column), 0),
                        MAX(MIN(rows, b.rows - row), 0)};
}

static struct panes panes_of(const struct self *v, struct box b, int n)
{
    const int head = b.rows >= BAR_ROWS ? 3 : b.rows > 2 ? 1 : 0, rest = b.rows - head;
    struct panes p = {.head = part_of(b, 0, 0, b.columns, head), .list = part_of(b, 0, head, b.columns, rest)};
    if (b.columns >= BESIDE) {
        const int list = b.columns * 3 / 5;
        p.list = part_of(b, 0, head, list, rest);
        p.text = part_of(b, list + 1, head, b.columns - list - 1, rest);
    } else if (b.rows >= BELOW_ROWS) {
        const int list = MIN(n + 1, rest - MAX(TEXT_ROWS, rest / 3));
        p.list = part_of(b, 0, head, b.columns, list);
        p.text = part_of(b, 0, head + list, b.columns, rest - list);
    } else if (v->reading) {
        p.text = p.list;
        p.list.rows = 0;
    }
    return p;
}

/* The doc, if it is of this view and of the one who is looked at. */
static const struct inspect *doc_of(const struct view_in *in)
{
    const struct doc *d = in->doc;
    return d && d->ask.kind == DOC_INSPECT && d->ask.agent == in->agent ? d->data : NULL;
}

/* ------------------------------------------------------------------ head */

static void add_up(const struct inspect *x, struct gauge_agent *g)
{
    uint64_t used = 0;
    *g = (struct gauge_agent){0};
    for (int i = 0; i < x->rows; i++) g->part[x->row[i].part % CONTEXT_PARTS] += x->row[i].n_ids;
    for (int i = 0; i < CONTEXT_RESERVED; i++) used += g->part[i];
    const uint64_t ctx = (uint64_t)MAX(x->ctx, 0), reserve = MIN((uint64_t)MAX(x->reserve, 0), ctx);
    g->part[CONTEXT_RESERVED] = reserve;
    g->part[CONTEXT_FREE] = ctx > reserve && ctx - reserve > used ? ctx - reserve - used : 0;
}

static void draw_title(struct surface *s, struct box b, const struct inspect *x, const struct view_in *in)
{
    struct words w = {0};
    char used[FIGURE], limit[FIGURE], kept[FIGURE], ctx[FIGURE], bytes[FIGURE];
    const bool runs = in->agent >= 0 && in->agent < in->state->agents && in->state->agent[in->agent].running > 0;
    const enum hue hue = (enum hue)(HUE_AGENT + MAX(in->agent, 0) % HUE_AGENTS);
    if (*x->agent) words_add(&w, hue, 0, "%s", x->agent);
    words_add(&w, HUE_HEAD, *x->agent ? 2 : 0, "next call");
    words_add(&w, HUE_TEXT, 1, "%s of %s tokens", figure(used, x->ids.n), figure(limit, (uint64_t)MAX(x->limit, 0)));
    if (runs) words_add(&w, HUE_OK, 3, "being answered now");
    words_add(&w, HUE_DIM, 4, "%s of %s are kept for what is written", figure(kept, (uint64_t)MAX(x->reserve, 0)),
              figure(ctx, (uint64_t)MAX(x->ctx, 0)));
    words_add(&w, HUE_DIM, 5, "%s bytes", figure(bytes, x->texts.len));
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, in->glyphs);
}

static void draw_marks(struct surface *s, struct box b, const struct inspect *x)
{
    struct words w = {0};
    char a[FIGURE], c[FIGURE];
    const int64_t used = (int64_t)x->ids.n, left = x->high - used;
    figure(a, (uint64_t)MAX(x->compact, 0));
    if (!x->compacts) {
        words_add(&w, HUE_DIM, 0, "too small for summaries: the oldest leave at %s tokens",
                  figure(c, (uint64_t)MAX(x->limit, 0)));
    } else if (x->due) {
        words_add(&w, HUE_WARN, 0, "before this call the oldest are summed up, which frees %s", a);
    } else {
        const bool narrow = b.columns < NARROW;
        words_add(&w, HUE_TEXT, 0, "%sabove %s tokens", narrow ? "summed up " : "the oldest are summed up ",
                  figure(c, (uint64_t)MAX(x->high, 0)));
        if (left > 0) words_add(&w, HUE_DIM, 2, "%s to go", figure(c, (uint64_t)left));
        if (x->compact > 0) words_add(&w, HUE_KEY, 1, "c now: frees %s", a);
    }
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 2, &w, 0, GLYPHS_ASCII);
}

static void draw_head(struct surface *s, struct box b, const struct self *v, const struct inspect *x,
                      const struct view_in *in)
{
    struct gauge_agent g;
    if (*v->note && b.rows == 1) {
        surface_puts(s, b, 1, 0, v->note, (struct look){.hue = HUE_WARN});
        return;
    }
    draw_title(s, b, x, in);
    if (b.rows < 3) return;
    add_up(x, &g);
    gauges_context_line(s, part_of(b, 1, 1, b.columns - 2, 1), &g, in->glyphs);
    if (*v->note) surface_puts(s, b, 1, 2, v->note, (struct look){.hue = HUE_WARN});
    else draw_marks(s, b, x);
}

/* ------------------------------------------------------------------ list */

/* Where each begins, in columns; 0: it is left out. */
struct columns { int name, who, turn, tokens, bytes, words, keys, end; };

static struct columns columns_of(int columns)
{
    struct columns c = {.name = 15, .end = columns};
    const bool narrow = columns < NARROW, wide = columns >= WIDE;
    c.who = narrow ? 0 : 25;
    c.turn = wide ? 36 : 0;
    c.tokens = narrow ? 22 : wide ? 41 : 36;
    c.bytes = wide ? 49 : 0;
    c.words = narrow ? 31 : wide ? 60 : 45;
    c.keys = columns - (wide ? 14 : 4);
    if (c.keys - c.words - 1 < LEAST) c.words = 0;
    if (c.keys < c.tokens + 8) c.keys = columns;
    return c;
}

static const char *keys_of(const struct inspect *x, const struct inspect_row *r, bool wide)
{
    if (r->can & INSPECT_UNPIN) return wide ? "u unpin" : "u";
    if (r->can & INSPECT_DROP) return wide ? "x drop  p pin" : "x p";
    if (r->can & INSPECT_PIN) return wide ? "        p pin" : "  p";
    const bool summary = strcmp(r->kind, "summary") == 0;
    if (summary && x->diff.len > 0) return wide ? "d diff" : "d";
    return strcmp(r->kind, "left out") == 0 && x->compact > 0 ? wide ? "c compact" : "c" : "";
}

static void draw_heads(struct surface *s, struct box b, const struct columns *c)
{
    const struct look look = {.hue = HUE_DIM};
    const int room = c->end - c->keys;
    surface_puts(s, b, 3, 0, "part", look);
    surface_puts(s, b, c->name, 0, "name", look);
    if (c->who) surface_puts(s, b, c->who, 0, "said by", look);
    if (c->turn) surface_puts(s, b, c->turn, 0, "turn", look);
    surface_puts(s, b, c->tokens + 1, 0, "tokens", look);
    if (c->bytes) surface_puts(s, b, c->bytes + 4, 0, "bytes", look);
    if (c->words) surface_puts(s, part_of(b, c->words, 0, c->keys - 1 - c->words, 1), 0, 0, "first words", look);
    surface_puts(s, part_of(b, c->keys, 0, room, 1), 0, 0, room > 4 ? "keys" : "key", look);
}

/* A field of its own box: what is longer does not run into the next. */
static void field(struct surface *s, struct box b, int column, int end, const char *text, size_t n, struct look look)
{
    surface_text(s, part_of(b, column, 0, MAX(end - column - 1, 0), 1), 0, 0, text, n, look, NULL);
}

static void draw_words(struct surface *s, struct box b, const struct columns *c, const struct inspect *x,
                       const struct inspect_row *r, struct look look)
{
    const char *text = x->texts.data + r->text, *end = text + r->len;
    if (!c->words) return;
    if (r->len == 0) {
        field(s, b, c->words, c->keys, "here the model goes on", 22, look);
        return;
    }
    while (text < end && (*text == '\n' || *text == ' ' || *text == '\r' || *text == '\t')) text++;
    field(s, b, c->words, c->keys, text, (size_t)MIN(end - text, 4096), look);
}

/* The selected row is one bar: colours of its fields would make patches of its ground. */
static struct look row_look(bool selected, enum hue hue)
{
    return list_look(selected, (struct look){.hue = (uint8_t)(selected ? HUE_TEXT : hue)});
}

static void draw_row(struct surface *s, struct box b, const struct columns *c, const struct inspect *x, int i,
                     bool selected, enum glyphs glyphs)
{
    const struct inspect_row *r = &x->row[i];
    const enum context_part part = (enum context_part)(r->part % CONTEXT_PARTS);
    const struct look plain = row_look(selected, r->line ? HUE_DIM : HUE_TEXT), dim = row_look(selected, HUE_DIM);
    const struct look hue = row_look(selected, context_part_hue(part));
    char number[FIGURE], name[80];
    surface_clear(s, b, list_look(selected, (struct look){0}));
    surface_puts(s, b, 1, 0, context_part_glyph(part, glyphs), hue);
    field(s, b, 3, c->name, r->kind, strlen(r->kind), hue);
    snprintf(name, sizeof name, "%s%s%s", r->name, *r->whole ? " " : "", r->whole);
    field(s, b, c->name, c->who ? c->who : c->tokens + 1, name, strlen(name), plain);
    if (c->who) field(s, b, c->who, c->turn ? c->turn : c->tokens + 1, r->who, strlen(r->who), plain);
    if (c->turn && r->turn) surface_printf(s, b, c->turn, 0, dim, "%4u", (unsigned)r->turn);
    surface_printf(s, b, c->tokens, 0, plain, "%7s", figure(number, r->n_ids));
    if (c->bytes) surface_printf(s, b, c->bytes, 0, dim, "%9s", figure(number, r->len));
    draw_words(s, b, c, x, r, r->len == 0 ? dim : plain);
    const char *keys = keys_of(x, r, c->end - c->keys > 4);
    surface_puts(s, part_of(b, c->keys, 0, c->end - c->keys, 1), 0, 0, keys, row_look(selected, HUE_KEY));
}

static void draw_list(struct surface *s, struct box b, struct self *v, const struct inspect *x, enum glyphs glyphs)
{
    const int rows = MAX(b.rows - 1, 0);
    const bool bar = x->rows > rows;
    const struct columns c = columns_of(b.columns - 1 - bar);
    v->rows = rows;
    list_fit(&v->list, x->rows, rows);
    if (b.rows < 1) return;
    draw_heads(s, part_of(b, 0, 0, b.columns - 1 - bar, 1), &c);
    for (int i = 0; i < rows && v->list.top + i < x->rows; i++)
        draw_row(s, part_of(b, 0, 1 + i, b.columns - bar, 1), &c, x, v->list.top + i,
                 v->list.top + i == v->list.selected, glyphs);
    list_bar(s, part_of(b, 0, 1, b.columns, rows), x->rows, v->list.top);
}

/* ------------------------------------------------------------------ what is looked at */

static void show(struct self *v, const char *text, size_t n)
{
    if (v->shown.data && v->shown.len == n && memcmp(v->shown.data, text, n) == 0) return;
    pager_close(&v->pager);
    v->shown.len = 0;
    v->shown.failed = false;
    buf_put(&v->shown, text, n);
}

/* A token a line, its id before it. */
static void show_tokens(struct self *v, const struct inspect *x, const struct inspect_row *r)
{
    const int32_t *id = x->ids.id + r->id;
    if (v->ids.n == r->n_ids && v->shown.len > 0 && memcmp(v->ids.id, id, r->n_ids * sizeof *id) == 0) return;
    pager_close(&v->pager);
    v->shown.len = v->ids.n = 0;
    v->shown.failed = v->ids.failed = false;
    for (size_t i = 0; i < r->n_ids; i++) {
        const uint32_t from = x->spell[r->id + i], to = x->spell[r->id + i + 1];
        buf_printf(&v->shown, "%8" PRId32 "  ", id[i]);
        buf_put(&v->shown, x->spelled.data + from, to - from);
        buf_puts(&v->shown, "\n");
        ids_put(&v->ids, id[i]);
    }
}

static void draw_about(struct surface *s, struct box b, const struct self *v, const struct inspect_row *r)
{
    struct words w = {0};
    char tokens[FIGURE], bytes[FIGURE];
    if (v->shows == SHOWS_DIFF) {
        words_add(&w, HUE_HEAD, 0, "what is new in the summary (+), and what has gone (-)");
    } else {
        words_add(&w, context_part_hue((enum context_part)(r->part % CONTEXT_PARTS)), 0, "%s%s%s%s",
                  v->shows == SHOWS_TOKENS ? "tokens of " : "", r->kind, *r->name ? " " : "", r->name);
        words_add(&w, HUE_TEXT, 2, "said by %s", r->who);
        words_add(&w, HUE_DIM, 1, "%s tokens", figure(tokens, r->n_ids));
        words_add(&w, HUE_DIM, 3, "%s bytes", figure(bytes, r->len));
        if (*r->whole) words_add(&w, HUE_TEXT, 4, "the whole is %s", r->whole);
        if (r->can & INSPECT_DROP)
            words_add(&w, HUE_KEY, 5, "x frees %s", figure(tokens, (uint64_t)MAX(r->frees, 0)));
    }
    if (v->reading) words_add(&w, HUE_KEY, 0, "Enter back to the list");
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

static void draw_text(struct surface *s, struct box b, bool rule, struct self *v, const struct inspect *x,
                      enum glyphs glyphs)
{
    const struct inspect_row *r = &x->row[v->list.selected];
    const int rows = MAX(b.rows - 1 - rule, 0);
    if (v->shows == SHOWS_TOKENS) show_tokens(v, x, r);
    else if (v->shows == SHOWS_DIFF) show(v, x->diff.data ? x->diff.data : "", x->diff.len);
    else if (r->len > 0) show(v, x->texts.data + r->text, r->len);
    else show(v, "Tokens that the template writes for the model to go on behind them; t shows them.", 81);
    v->text_rows = rows;
    if (b.rows < 1) return;
    if (rule)
        surface_fill(s, b, 0, 0, b.columns, bar_glyph(BAR_THIN, glyphs),
                     (struct look){.hue = v->reading ? HUE_KEY : HUE_DIM});
    draw_about(s, part_of(b, 0, rule, b.columns, 1), v, r);
    pager_draw(&v->pager, s, part_of(b, 1, 1 + rule, b.columns - 1, rows), v->shown.data ? v->shown.data : "",
               v->shown.len, (struct look){0});
}

/* ------------------------------------------------------------------ the view */

static void *inspect_open(void) { return calloc(1, sizeof(struct self)); }

static void inspect_close(void *self)
{
    struct self *v = self;
    pager_close(&v->pager);
    buf_free(&v->shown);
    ids_free(&v->ids);
    free(v);
}

static struct stamp stamp_of(const struct view_in *in)
{
    struct stamp t = {.agent = in->agent};
    if (in->agent < 0 || in->agent >= in->state->agents) return t;
    const struct state_agent *a = &in->state->agent[in->agent];
    t.carried = a->carried;
    t.turns = a->turns;
    t.calls = a->calls;
    t.running = a->running;
    t.frees = a->frees;
    t.period = (int64_t)(in->state->time / WHILE);
    return t;
}

/* A long call takes a while to be written out, so it is not asked for again and again while it stays as it is.  A doc
 * that comes is of the figures that there are then: both come in the order in which they were made. */
static void inspect_ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    struct self *v = self;
    const struct inspect *x = doc_of(in);
    const struct stamp now = stamp_of(in);
    (void)b;
    if (x && x != v->doc) {
        v->then = now;
        v->ordered = false;
    }
    v->doc = x;
    if (x && !v->ordered && memcmp(&now, &v->then, sizeof now) == 0) return;
    *out = (struct doc_ask){.kind = DOC_INSPECT, .agent = in->agent};
}

/* The row that was selected is where its name is now. */
static void find_selected(struct self *v, const struct inspect *x)
{
    v->list.selected = MIN(MAX(v->list.selected, 0), x->rows - 1);
    if (strcmp(v->name, x->row[v->list.selected].name) == 0) return;
    for (int i = 0; i < x->rows && *v->name; i++)
        if (strcmp(v->name, x->row[i].name) == 0) v->list.selected = i;
    snprintf(v->name, sizeof v->name, "%s", x->row[v->list.selected].name);
}

static void draw_none(struct surface *s, struct box b, const struct view_in *in)
{
    const bool failed = in->doc && in->doc->ask.kind == DOC_INSPECT && *in->doc->error;
    surface_puts(s, b, 1, 0, "Next call", (struct look){.hue = HUE_HEAD});
    surface_puts(s, b, 1, 2, failed ? in->doc->error : "looking ...",
                 (struct look){.hue = failed ? HUE_WARN : HUE_DIM});
    if (failed) surface_puts(s, b, 1, 4, "Tab looks at the next agent, Esc goes back.", (struct look){.hue = HUE_DIM});
}

static void inspect_draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct self *v = self;
    const struct inspect *x = doc_of(in);
    surface_clear(s, b, (struct look){0});
    if (!x || x->rows <= 0) {
        draw_none(s, b, in);
        return;
    }
    find_selected(v, x);
    const struct panes p = panes_of(v, b, x->rows);
    draw_head(s, p.head, v, x, in);
    draw_list(s, p.list, v, x, in->glyphs);
    const bool beside = p.text.column > p.list.column;
    if (beside)
        surface_fill_down(s, b, p.text.column - b.column - 1, p.text.row - b.row, p.text.rows,
                          in->glyphs == GLYPHS_UTF8 ? "│" : "|", (struct look){.hue = v->reading ? HUE_KEY : HUE_DIM});
    draw_text(s, p.text, !beside && p.list.rows > 0, v, x, in->glyphs);
}

/* ------------------------------------------------------------------ keys */

__attribute__((format(printf, 2, 3))) static void note(struct self *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->note, sizeof v->note, fmt, ap);
    va_end(ap);
}

__attribute__((format(printf, 4, 5))) static void order(struct self *v, const struct inspect *x,
                                                        struct view_out *out, const char *fmt, ...)
{
    char line[100];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    v->ordered = true;
    if (x->aside) buf_printf(&out->order, "/for %s ", x->agent);
    buf_puts(&out->order, line);
}

static void drop(struct self *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_DROP) order(v, x, out, "/drop m%" PRIu64, r->number);
    else if (r->can & INSPECT_UNPIN) note(v, "%s is pinned: u takes it out", r->name);
    else if (r->line) note(v, "%s stands as a line already", r->name);
    else if ((r->can & INSPECT_PIN) && r->frees > 0) note(v, "%s opened the last turn, which needs it: /undo", r->name);
    else if (r->can & INSPECT_PIN) note(v, "%s is no longer than the line that would stand for it", r->name);
    else note(v, "%s is no message: it cannot be dropped", r->kind);
}

static void pin(struct self *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_PIN) order(v, x, out, "/pin m%" PRIu64, r->number);
    else if (r->can & INSPECT_UNPIN) note(v, "%s is pinned already", r->name);
    else note(v, "%s is in every call as it is: there is nothing to pin", r->kind);
}

static void unpin(struct self *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_UNPIN) order(v, x, out, "/unpin %" PRIu64, r->number);
    else note(v, "only what is pinned can be unpinned");
}

static void compact(struct self *v, const struct inspect *x, struct view_out *out)
{
    if (!x->compacts) note(v, "this context is too small for summaries");
    else if (x->compact <= 0) note(v, "nothing can be summed up: all of it is front or newest");
    else order(v, x, out, "/compact");
}

static void other(struct self *v, enum shows which)
{
    v->shows = v->shows == which ? SHOWS_TEXT : which;
    v->shown.len = v->ids.n = 0;
    pager_close(&v->pager);
}

/* Keys about the selected row. */
static bool letter(struct self *v, uint32_t rune, const struct inspect *x, struct view_out *out)
{
    const struct inspect_row *r = &x->row[v->list.selected];
    switch (rune) {
    case 'x': drop(v, x, r, out); return true;
    case 'p': pin(v, x, r, out); return true;
    case 'u': unpin(v, x, r, out); return true;
    case 'c': compact(v, x, out); return true;
    case 't': other(v, SHOWS_TOKENS); return true;
    case 'd':
        if (x->diff.len > 0) other(v, SHOWS_DIFF);
        else note(v, "no summary was followed by another one yet");
        return true;
    default: return false;
    }
}

static bool inspect_key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct self *v = self;
    const struct inspect *x = doc_of(in);
    v->note[0] = '\0';
    if (k->name == KEY_TAB && in->state->agents > 0) {
        const int step = k->mods & KEY_SHIFT ? in->state->agents - 1 : 1;
        out->agent = (MAX(in->agent, 0) + step) % in->state->agents;
        return true;
    }
    if (k->name == KEY_ESCAPE && v->reading) {
        v->reading = false;
        return true;
    }
    if (!x || x->rows <= 0) return false;
    find_selected(v, x);
    if (k->name == KEY_ENTER) {
        v->reading = !v->reading;
        return true;
    }
    if (k->name == KEY_CHAR && !k->mods && letter(v, k->rune, x, out)) return true;
    if (v->reading) return pager_key(&v->pager, k, v->text_rows);
    const bool moved = list_key(&v->list, k, x->rows, v->rows);
    if (moved) snprintf(v->name, sizeof v->name, "%s", x->row[v->list.selected].name);
    return moved;
}

const struct view_ops view_inspect = {
    .title = "Context inspector",
    .keys = "x drop  p pin  u unpin  c compact  Enter text  t tokens  d diff  Tab next agent",
    .every = 1,
    .open = inspect_open, .close = inspect_close, .ask = inspect_ask, .draw = inspect_draw, .key = inspect_key,
};
