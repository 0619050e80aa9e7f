/* view_artifacts.c - what a session keeps whole: the list, and one of them to read or to search.
 *
 *      Artifacts   2 of researcher, 3.0 MiB   whole, where the conversation has a part
 *        name  tool      asked for                               whole   model sees   turn  when
 *        a7    search    pattern=alloc|OOM path=build/night.log  2.9 MiB  318 tokens    14  5 minutes ago
 *        a6    document  notes.md                                 12 KiB                    yesterday */
#include "app/tui/list.h"
#include "app/tui/table.h"
#include "app/tui/typed.h"
#include "app/tui/view.h"
#include "app/tui/view_artifacts.h"
#include <inttypes.h>
#include <limits.h>

enum { HEAD_ROWS = 2 };

struct view {
    struct list list;
    uint64_t at;          /* the selected one's number, also in the next doc */
    int rows;             /* that are seen, of the last draw */
    struct doc_ask text;  /* what is read; kind DOC_NONE: nothing is, there is the list */
    char whole[24];       /* its name, without a pattern */
    struct pager pager;
    const void *of;       /* the doc that the pager is at */
    bool at_end;          /* the part that comes is shown from its end */
    struct typed find;
};

static void *open_view(void) { return calloc(1, sizeof(struct view)); }

static void close_view(void *self)
{
    struct view *v = self;
    pager_close(&v->pager);
    free(v);
}

static void ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    const struct view *v = self;
    (void)b;
    *out = v->text;
    if (v->text.kind == DOC_NONE) *out = (struct doc_ask){.kind = DOC_ARTIFACTS, .agent = in->agent};
}

static const struct doc_artifacts *list_of(const struct view *v, const struct view_in *in)
{
    return v->text.kind == DOC_NONE && in->doc && in->doc->ask.kind == DOC_ARTIFACTS ? in->doc->data : NULL;
}

/* The doc that is waited for, maybe failed; NULL: not yet. */
static const struct doc *text_doc(const struct view *v, const struct view_in *in)
{
    const struct doc *d = in->doc;
    const bool it = d && d->ask.kind == DOC_TEXT && d->ask.from == v->text.from && d->ask.agent == v->text.agent;
    return it && strcmp(d->ask.what, v->text.what) == 0 ? d : NULL;
}

static const struct doc_text *text_of(const struct view *v, const struct view_in *in)
{
    const struct doc *d = text_doc(v, in);
    return d ? d->data : NULL;
}

static void fit(struct view *v, const struct doc_artifacts *d)
{
    for (int i = 0; v->at && i < d->rows; i++)
        if (d->row[i].id == v->at) v->list.selected = i;
    list_fit(&v->list, d->rows, v->rows);
    v->at = d->rows > 0 ? d->row[v->list.selected].id : 0;
}

/* ------------------------------------------------------------------ the list */

struct columns { int tool, tools, about, abouts, bytes, tokens, turn, when; }; /* begins; -1: no room for it */

static struct columns columns_for(int width)
{
    struct columns c = {.tool = 8, .tools = width < 60 ? 8 : 12, .tokens = -1, .turn = -1, .when = -1};
    int end = width - 1; /* the last is the list's bar */
    if (width >= 100) c.when = end -= 16;
    if (width >= 76) c.turn = end -= 6;
    if (width >= 60) c.tokens = end -= 14;
    c.bytes = end -= 9;
    c.about = c.tool + c.tools;
    c.abouts = MAX(end - c.about - 1, 0);
    return c;
}

static void draw_heads(struct surface *s, struct box b, const struct columns *c)
{
    const struct look dim = {.hue = HUE_DIM};
    surface_puts(s, b, 1, 1, "name", dim);
    surface_puts(s, b, c->tool, 1, "tool", dim);
    table_text(s, b, c->about, 1, c->abouts, "asked for", 9, dim, GLYPHS_ASCII);
    table_right(s, b, c->bytes, 1, 9, "whole", dim);
    if (c->tokens >= 0) table_right(s, b, c->tokens, 1, 14, "model sees", dim);
    if (c->turn >= 0) table_right(s, b, c->turn, 1, 6, "turn", dim);
    if (c->when >= 0) surface_puts(s, b, c->when + 2, 1, "when", dim);
}

static void draw_row(struct surface *s, struct box b, int row, const struct columns *c, const struct doc_artifacts *d,
                     const struct artifacts_row *r, bool selected, enum glyphs glyphs)
{
    const struct look text = table_look(selected, (struct look){0});
    const struct look dim = table_look(selected, (struct look){.hue = HUE_DIM});
    const struct look tool = table_look(selected, (struct look){.hue = HUE_TOOL});
    char f[FIGURE], words[FIGURE + 8];
    surface_clear(s, table_row(b, row), text);
    snprintf(words, sizeof words, "a%" PRIu64, r->id);
    table_text(s, b, 1, row, c->tool - 2, words, strlen(words), table_look(selected, (struct look){.hue = HUE_CODE}),
               glyphs);
    table_text(s, b, c->tool, row, c->tools - 1, r->tool, strlen(r->tool), tool, glyphs);
    table_text(s, b, c->about, row, c->abouts, r->about, strlen(r->about), text, glyphs);
    if (r->damaged)
        table_right(s, b, c->bytes, row, 9, "damaged", table_look(selected, (struct look){.hue = HUE_ERROR}));
    else table_right(s, b, c->bytes, row, 9, table_bytes(f, r->bytes), text);
    snprintf(words, sizeof words, "%s token%s", figure(f, (uint64_t)MAX(r->tokens, 0)), r->tokens == 1 ? "" : "s");
    if (c->tokens >= 0)
        table_right(s, b, c->tokens, row, 14, r->tokens >= 0 ? words : "nothing", r->tokens >= 0 ? text : dim);
    if (c->turn >= 0 && r->turn > 0) table_right(s, b, c->turn, row, 6, figure(f, r->turn), text);
    const char *when = table_age(f, d->now_ms, r->time_ms);
    if (c->when >= 0) table_text(s, b, c->when + 2, row, 14, when, strlen(when), dim, glyphs);
}

static void draw_head(struct surface *s, struct box b, const struct doc_artifacts *d)
{
    struct words w = {0};
    char f[FIGURE], g[FIGURE];
    uint64_t bytes = 0;
    for (int i = 0; d && i < d->rows; i++)
        if (size_add(bytes, d->row[i].bytes, &bytes)) bytes = UINT64_MAX;
    words_add(&w, HUE_HEAD, 0, "Artifacts");
    if (d && d->rows > 0)
        words_add(&w, HUE_TEXT, 1, "%s, %s", figure(f, (uint64_t)d->rows), table_bytes(g, bytes));
    if (d && *d->agent) words_add(&w, HUE_TEXT, 2, "of %.40s", d->agent);
    if (d && d->left_out) words_add(&w, HUE_WARN, 3, "%s older ones are not listed", figure(f, d->left_out));
    words_add(&w, HUE_DIM, 4, "kept whole, where the conversation has a part");
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

static void draw_words(struct surface *s, struct box b, int row, const char *text, enum hue hue)
{
    const int columns = MAX(b.columns - 2, 1);
    for (size_t at = 0, n = strlen(text); at < n; row++) {
        const size_t end = at + surface_break(text + at, n - at, columns);
        surface_text(s, b, 1, row, text + at, end - at, (struct look){.hue = (uint8_t)hue}, NULL);
        at = end;
    }
}

static void draw_list(struct view *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct doc_artifacts *d = list_of(v, in);
    const struct columns c = columns_for(b.columns);
    const struct box list = {b.column, b.row + HEAD_ROWS, b.columns, MAX(b.rows - HEAD_ROWS - v->find.on, 0)};
    const bool failed = !d && in->doc && in->doc->ask.kind == DOC_ARTIFACTS && *in->doc->error;
    v->rows = MAX(list.rows, 1);
    draw_head(s, b, d);
    if (!d || d->rows == 0) {
        draw_words(s, b, HEAD_ROWS, failed ? in->doc->error : !d ? "reading the store..." :
                   "none yet: what a tool gives that is too large for the conversation, and files of /attach and "
                   "/ingest, are kept whole here once their turn is saved", failed ? HUE_ERROR : HUE_DIM);
        return;
    }
    fit(v, d);
    draw_heads(s, b, &c);
    for (int i = 0; i < list.rows && v->list.top + i < d->rows; i++) {
        const int at = v->list.top + i;
        draw_row(s, list, i, &c, d, &d->row[at], at == v->list.selected, in->glyphs);
    }
    list_bar(s, list, d->rows, v->list.top);
}

/* ------------------------------------------------------------------ a text */

static void draw_text_head(const struct view *v, struct surface *s, struct box b, const struct doc_text *t,
                           enum glyphs glyphs)
{
    struct words w = {0};
    char f[FIGURE], g[FIGURE], n[FIGURE];
    const char *name = t && *t->title ? t->title : v->text.what;
    const int names = MIN(surface_columns(name, strlen(name)), MAX(b.columns - 2, 0));
    table_text(s, b, 1, 0, names, name, strlen(name), (struct look){.hue = HUE_HEAD}, glyphs);
    if (!t) return;
    if (t->bytes == 0) words_add(&w, HUE_DIM, 0, "empty");
    else if (t->from == 0 && t->next >= t->bytes) words_add(&w, HUE_TEXT, 0, "%s, all of it", table_bytes(n, t->bytes));
    else
        words_add(&w, HUE_TEXT, 0, "bytes %s to %s of %s", figure(f, t->from), figure(g, t->next),
                  figure(n, t->bytes));
    if (t->next < t->bytes) words_add(&w, HUE_KEY, 1, "n reads on");
    if (t->from > 0) words_add(&w, HUE_KEY, 2, "p the part before");
    words_fit(&w, MAX(b.columns - names - 4, 0), 0);
    words_draw(s, b, names + 4, 0, &w, 0, GLYPHS_ASCII);
}

static void draw_text(struct view *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct doc *d = text_doc(v, in);
    const struct doc_text *t = d ? d->data : NULL;
    const struct box body = {b.column + 1, b.row + HEAD_ROWS, MAX(b.columns - 1, 0),
                             MAX(b.rows - HEAD_ROWS - v->find.on, 0)};
    draw_text_head(v, s, b, t, in->glyphs);
    if (!t) {
        draw_words(s, b, HEAD_ROWS, d && *d->error ? d->error : "reading...", d && *d->error ? HUE_ERROR : HUE_DIM);
        return;
    }
    const bool anew = v->of != t;
    const int top = v->at_end && !v->of ? INT_MAX : v->of ? v->pager.top : 0; /* the same, read again, stays */
    if (anew) pager_anew(&v->pager);
    v->of = t;
    pager_draw(&v->pager, s, body, t->text.data ? t->text.data : "", t->text.len, (struct look){0});
    if (anew && top > 0) {
        v->pager.top = top;
        surface_clear(s, body, (struct look){0});
        pager_draw(&v->pager, s, body, t->text.data ? t->text.data : "", t->text.len, (struct look){0});
    }
    v->rows = MAX(body.rows, 1);
    if (t->text.len == 0) draw_words(s, b, HEAD_ROWS, "nothing is in it", HUE_DIM);
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view *v = self;
    surface_clear(s, b, (struct look){0});
    if (v->text.kind == DOC_NONE) draw_list(v, s, b, in);
    else draw_text(v, s, b, in);
    if (v->find.on && b.rows > 0)
        typed_draw(&v->find, s, (struct box){b.column + 1, b.row + b.rows - 1, b.columns - 2, 1}, 0,
                   "lines with (a pattern):", "Enter finds, Esc leaves it");
}

/* ------------------------------------------------------------------ keys */

static void read_from(struct view *v, uint64_t from, bool at_end, struct view_out *out)
{
    v->text.kind = DOC_TEXT;
    v->text.from = from;
    v->at_end = at_end;
    v->of = NULL;
    pager_anew(&v->pager);
    out->ask = v->text;
}

static void read_whole(struct view *v, uint64_t id, const struct view_in *in, struct view_out *out)
{
    snprintf(v->whole, sizeof v->whole, "a%" PRIu64, id);
    v->text = (struct doc_ask){.agent = in->agent};
    snprintf(v->text.what, sizeof v->text.what, "%s", v->whole);
    read_from(v, 0, false, out);
}

/* Back to what this was opened from: from a pattern's lines to the whole, from there to the list. */
static void leave_text(struct view *v, const struct view_in *in, struct view_out *out)
{
    const bool lines = strcmp(v->text.what, v->whole) != 0;
    snprintf(v->text.what, sizeof v->text.what, "%s", v->whole);
    if (lines) {
        read_from(v, 0, false, out);
        return;
    }
    v->text = (struct doc_ask){0};
    v->of = NULL;
    pager_anew(&v->pager);
    out->ask = (struct doc_ask){.kind = DOC_ARTIFACTS, .agent = in->agent};
}

static bool key_find(struct view *v, const struct key *k, const struct view_in *in, struct view_out *out)
{
    const enum typed_key done = v->find.on ? typed_key(&v->find, k) : TYPED_NOT;
    if (done == TYPED_NOT) return false;
    if (done != TYPED_TAKEN || !*v->find.text) return true;
    if (v->text.kind == DOC_NONE) read_whole(v, v->at, in, out);
    snprintf(v->text.what, sizeof v->text.what, "%s /%s/", v->whole, v->find.text);
    read_from(v, 0, false, out);
    return true;
}

enum { PART = 256 << 10 }; /* about what a doc has of a text (doc.h) */

static bool key_part(struct view *v, const struct key *k, const struct doc_text *t, struct view_out *out)
{
    const bool plain = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    const bool bottom = v->pager.top >= v->pager.rows - v->rows, top = v->pager.top <= 0;
    const bool on = (plain && (k->rune == 'n' || (bottom && (k->rune == ' ' || k->rune == 'j')))) ||
                    (bottom && (k->name == KEY_PAGE_DOWN || k->name == KEY_DOWN));
    const bool back = (plain && (k->rune == 'p' || (top && (k->rune == 'b' || k->rune == 'k')))) ||
                      (top && (k->name == KEY_PAGE_UP || k->name == KEY_UP));
    const bool lines = strcmp(v->text.what, v->whole) != 0;
    if (on && t->next < t->bytes && t->next > t->from) read_from(v, t->next, false, out);
    else if (back && t->from > 0) read_from(v, lines || t->from < PART ? 0 : t->from - PART, !lines, out);
    else return plain && (k->rune == 'n' || k->rune == 'p');
    return true;
}

static bool key_text(struct view *v, const struct key *k, const struct view_in *in, struct view_out *out)
{
    const struct doc_text *t = text_of(v, in);
    const bool plain = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (k->name == KEY_ESCAPE || k->name == KEY_BACKSPACE || (plain && k->rune == 'q')) {
        leave_text(v, in, out);
        return true;
    }
    if (!t) return false;
    if (plain && k->rune == 'c') {
        buf_put(&out->copy, t->text.data ? t->text.data : "", t->text.len);
        return true;
    }
    return key_part(v, k, t, out) || pager_key(&v->pager, k, v->rows);
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view *v = self;
    const struct doc_artifacts *d = list_of(v, in);
    if (key_find(v, k, in, out)) return true;
    if (d) fit(v, d);
    const bool any = v->text.kind != DOC_NONE || (d && d->rows > 0);
    if (any && k->name == KEY_CHAR && !k->mods && k->rune == '/') {
        typed_begin(&v->find, "");
        return true;
    }
    if (v->text.kind != DOC_NONE) return key_text(v, k, in, out);
    if (!any) return false;
    if (k->name == KEY_ENTER) {
        read_whole(v, v->at, in, out);
        return true;
    }
    if (!list_key(&v->list, k, d->rows, v->rows)) return false;
    v->at = d->row[v->list.selected].id;
    return true;
}

const struct view_ops view_artifacts = {
    .title = "Artifacts",
    .keys = "Enter read  / lines with a pattern  n p parts  c copy  Esc back",
    .open = open_view,
    .close = close_view,
    .ask = ask,
    .draw = draw,
    .key = key,
};
