/* view_inspect.c - the next call of an agent: its parts as a list, and the one that is looked at, whole.
 *
 *     head     whose, how full, what is kept for the answer       over all columns
 *     bar      the whole context by part
 *     marks    when the oldest are summed up, what that frees; or what the last key could not do
 *     ─────────────────────────┬────────────
 *     list                     │ the part's text, its tokens, or the summary's diff: beside the list from 150 columns
 *     on, below it where there are 16 rows, else in its place with Enter */
#include "app/tui/view_inspect_impl.h"
#include <inttypes.h>

enum { BESIDE = 150, BELOW_ROWS = 16, BAR_ROWS = 8, TEXT_ROWS = 7 };
enum { WHILE = 10 /* seconds after which a doc is asked for in any case */ };

struct panes { struct box head, list, text; };

static struct panes panes_of(const struct inspect_view *v, struct box b, int n)
{
    const int head = b.rows >= BAR_ROWS ? 3 : b.rows > 2 ? 1 : 0, rest = b.rows - head;
    struct panes p = {.head = inspect_part(b, 0, 0, b.columns, head),
                      .list = inspect_part(b, 0, head, b.columns, rest)};
    if (b.columns >= BESIDE) {
        const int list = b.columns * 3 / 5;
        p.list = inspect_part(b, 0, head, list, rest);
        p.text = inspect_part(b, list + 1, head, b.columns - list - 1, rest);
    } else if (b.rows >= BELOW_ROWS) {
        const int list = MIN(n + 1, rest - MAX(TEXT_ROWS, rest / 3));
        p.list = inspect_part(b, 0, head, b.columns, list);
        p.text = inspect_part(b, 0, head + list, b.columns, rest - list);
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
    words_add(&w, HUE_DIM, 6, "%s", view_inspect.title);
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, in->glyphs);
}

static void draw_marks(struct surface *s, struct box b, const struct inspect *x)
{
    struct words w = {0};
    char a[FIGURE], c[FIGURE];
    const int64_t used = (int64_t)x->ids.n, left = x->high - used;
    figure(a, (uint64_t)MAX(x->compact, 0));
    if (x->no_summaries) {
        words_add(&w, HUE_DIM, 0, "%s", x->no_summaries);
        if (x->leaves)
            words_add(&w, HUE_DIM, 1, "the oldest leave at %s tokens", figure(c, (uint64_t)MAX(x->limit, 0)));
    } else if (x->due) {
        words_add(&w, HUE_WARN, 0, "before this call the oldest are summed up, which frees %s", a);
    } else {
        const bool narrow = b.columns < INSPECT_NARROW;
        words_add(&w, HUE_TEXT, 0, "%sabove %s tokens", narrow ? "summed up " : "the oldest are summed up ",
                  figure(c, (uint64_t)MAX(x->high, 0)));
        if (left > 0) words_add(&w, HUE_DIM, 2, "%s to go", figure(c, (uint64_t)left));
        if (x->compact > 0) words_add(&w, HUE_KEY, 1, "c now: frees %s", a);
    }
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 2, &w, 0, GLYPHS_ASCII);
}

static void draw_head(struct surface *s, struct box b, const struct inspect_view *v, const struct inspect *x,
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
    gauges_context_line(s, inspect_part(b, 1, 1, b.columns - 2, 1), &g, in->glyphs);
    if (*v->note) surface_puts(s, b, 1, 2, v->note, (struct look){.hue = HUE_WARN});
    else draw_marks(s, b, x);
}

/* ------------------------------------------------------------------ what is looked at */

static void show(struct inspect_view *v, const char *text, size_t n)
{
    if (v->shown.data && v->shown.len == n && memcmp(v->shown.data, text, n) == 0) return;
    pager_close(&v->pager);
    v->shown.len = 0;
    v->shown.failed = false;
    buf_put(&v->shown, text, n);
}

/* A token a line, its id before it. */
static void show_tokens(struct inspect_view *v, const struct inspect *x, const struct inspect_row *r)
{
    const int32_t *id = x->ids.id + r->id;
    if (v->ids.n == r->n_ids && v->shown.len > 0 && memcmp(v->ids.id, id, r->n_ids * sizeof *id) == 0) return;
    pager_close(&v->pager);
    v->shown.len = v->ids.n = 0;
    v->shown.failed = v->ids.failed = false;
    for (size_t i = 0; i < r->n_ids; i++) {
        const uint32_t from = x->spell[r->id + i], to = x->spell[r->id + i + 1];
        buf_printf(&v->shown, "%8" PRId32 "  \"", id[i]); /* a blank is seen between quotes alone */
        buf_put(&v->shown, x->spelled.data + from, to - from);
        buf_puts(&v->shown, "\"\n");
        ids_put(&v->ids, id[i]);
    }
}

static void draw_about(struct surface *s, struct box b, const struct inspect_view *v, const struct inspect_row *r)
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

static void draw_text(struct surface *s, struct box b, bool rule, struct inspect_view *v, const struct inspect *x,
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
    draw_about(s, inspect_part(b, 0, rule, b.columns, 1), v, r);
    pager_draw(&v->pager, s, inspect_part(b, 1, 1 + rule, b.columns - 1, rows), v->shown.data ? v->shown.data : "",
               v->shown.len, (struct look){0});
}

/* ------------------------------------------------------------------ the view */

static void *inspect_open(void) { return calloc(1, sizeof(struct inspect_view)); }

static void inspect_close(void *self)
{
    struct inspect_view *v = self;
    pager_close(&v->pager);
    buf_free(&v->shown);
    ids_free(&v->ids);
    free(v);
}

static struct inspect_stamp stamp_of(const struct view_in *in)
{
    struct inspect_stamp t = {.agent = in->agent};
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
    struct inspect_view *v = self;
    const struct inspect *x = doc_of(in);
    const struct inspect_stamp now = stamp_of(in);
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
static void find_selected(struct inspect_view *v, const struct inspect *x)
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
    surface_puts(s, b, 1, 0, view_inspect.title, (struct look){.hue = HUE_HEAD});
    surface_puts(s, b, 1, 2, failed ? in->doc->error : "looking ...",
                 (struct look){.hue = failed ? HUE_WARN : HUE_DIM});
    if (failed) surface_puts(s, b, 1, 4, "Tab looks at the next agent, Esc goes back.", (struct look){.hue = HUE_DIM});
}

static void inspect_draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct inspect_view *v = self;
    const struct inspect *x = doc_of(in);
    surface_clear(s, b, (struct look){0});
    if (!x || x->rows <= 0) {
        draw_none(s, b, in);
        return;
    }
    find_selected(v, x);
    const struct panes p = panes_of(v, b, x->rows);
    draw_head(s, p.head, v, x, in);
    inspect_list(s, p.list, v, x, in->glyphs);
    const bool beside = p.text.column > p.list.column;
    if (beside)
        surface_fill_down(s, b, p.text.column - b.column - 1, p.text.row - b.row, p.text.rows,
                          in->glyphs == GLYPHS_UTF8 ? "│" : "|", (struct look){.hue = v->reading ? HUE_KEY : HUE_DIM});
    draw_text(s, p.text, !beside && p.list.rows > 0, v, x, in->glyphs);
}

/* ------------------------------------------------------------------ keys */

__attribute__((format(printf, 2, 3))) static void note(struct inspect_view *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->note, sizeof v->note, fmt, ap);
    va_end(ap);
}

__attribute__((format(printf, 4, 5))) static void order(struct inspect_view *v, const struct inspect *x,
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

static void drop(struct inspect_view *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_DROP) order(v, x, out, "/drop m%" PRIu64, r->number);
    else if (r->can & INSPECT_UNPIN) note(v, "%s is pinned: u takes it out", r->name);
    else if (r->line) note(v, "%s stands as a line already", r->name);
    else if ((r->can & INSPECT_PIN) && r->frees > 0) note(v, "%s opened the last turn, which needs it: /undo", r->name);
    else if (r->can & INSPECT_PIN) note(v, "%s is no longer than the line that would stand for it", r->name);
    else note(v, "%s is no message: it cannot be dropped", r->kind);
}

static void pin(struct inspect_view *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_PIN) order(v, x, out, "/pin m%" PRIu64, r->number);
    else if (r->can & INSPECT_UNPIN) note(v, "%s is pinned already", r->name);
    else note(v, "%s is in every call as it is: there is nothing to pin", r->kind);
}

static void unpin(struct inspect_view *v, const struct inspect *x, const struct inspect_row *r, struct view_out *out)
{
    if (r->can & INSPECT_UNPIN) order(v, x, out, "/unpin %" PRIu64, r->number);
    else note(v, "only what is pinned can be unpinned");
}

static void compact(struct inspect_view *v, const struct inspect *x, struct view_out *out)
{
    if (x->no_summaries) note(v, "%s", x->no_summaries);
    else if (x->compact <= 0) note(v, "nothing can be summed up: all of it is front or newest");
    else order(v, x, out, "/compact");
}

static void other(struct inspect_view *v, enum shows which)
{
    v->shows = v->shows == which ? SHOWS_TEXT : which;
    v->shown.len = v->ids.n = 0;
    pager_close(&v->pager);
}

/* Keys about the selected row. */
static bool letter(struct inspect_view *v, uint32_t rune, const struct inspect *x, struct view_out *out)
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
    struct inspect_view *v = self;
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
