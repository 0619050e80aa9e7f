/* view_sessions.c - the saved sessions: a list, newest first or as a tree of copies, and what is done with one.
 *
 *      Saved sessions   12, 3.4 MiB   newest first
 *        id        title                                  turns  last used       bytes
 *      ● 4f2a91c0  Why does the nightly job die?             12  open now      1.2 MiB
 *        77aa01be  Read the log and ...                       3  2 days ago     96 KiB
 *
 *      4f2a91c0...  plimsoll-tiny, begun 2026-11-20 10:22; a copy of 77aa01be after turn 3 */
#include "app/tui/find.h"
#include "app/tui/list.h"
#include "app/tui/table.h"
#include "app/tui/typed.h"
#include "app/tui/view.h"
#include "app/tui/view_sessions.h"

enum { HEAD_ROWS = 2, FOOT_ROWS = 3, SHORT_ID = 8, DEEPEST = 12 };

struct view {
    struct list list;
    char at[SESSIONS_ID];      /* the selected one, also in the next doc */
    bool tree;
    struct typed find, name, turn, file;
    char deleting[SESSIONS_ID]; /* asked once; "": nothing is */
    char notice[160];
    int *order;                /* (cap) rows of the doc as they are shown, `shown` of them */
    uint8_t *depth;            /* (cap) by place in order */
    int cap, shown, rows;      /* rows: that are seen, of the last draw */
};

static void *open_view(void) { return calloc(1, sizeof(struct view)); }

static void close_view(void *self)
{
    struct view *v = self;
    free(v->order);
    free(v->depth);
    free(v);
}

static void ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)b, (void)in;
    out->kind = DOC_SESSIONS;
}

static const struct doc_sessions *doc_of(const struct view_in *in)
{
    return in->doc && in->doc->ask.kind == DOC_SESSIONS ? in->doc->data : NULL;
}

/* ------------------------------------------------------------------ which rows, in which order */

static bool room_for(struct view *v, int rows)
{
    if (rows <= v->cap) return true;
    int *order = realloc(v->order, (size_t)rows * sizeof *order);
    if (order) v->order = order;
    uint8_t *depth = realloc(v->depth, (size_t)rows);
    if (depth) v->depth = depth;
    if (order && depth) v->cap = rows;
    return order && depth;
}

static bool has(const char *text, const struct typed *what)
{
    return find_text(text, strlen(text), 0, what->text, strlen(what->text)) != SIZE_MAX;
}

static bool wanted(const struct view *v, const struct sessions_row *r)
{
    return !*v->find.text || has(r->title, &v->find) || has(r->id, &v->find) || has(r->model, &v->find);
}

/* A session and its copies below it, each once: what a store says of parents may go in circles.  The rows of a doc are
 * the newest first, so children are hung in from the last on and stand newest first too. */
struct tree { int *child, *next; bool *done; };

static void walk(struct view *v, const struct tree *t, int at, int rows)
{
    int *stack = t->child + rows, depth = 0; /* (rows) of those above */
    while (at >= 0) {
        const bool is_new = !t->done[at];
        if (is_new) {
            t->done[at] = true;
            v->depth[v->shown] = (uint8_t)MIN(depth, DEEPEST);
            v->order[v->shown++] = at;
        }
        if (is_new && t->child[at] >= 0) {
            stack[depth++] = at;
            at = t->child[at];
            continue;
        }
        at = depth > 0 ? t->next[at] : -1;
        while (at < 0 && depth > 0) {
            at = t->next[stack[--depth]];
            if (depth == 0) at = -1;
        }
    }
}

static void arrange_tree(struct view *v, const struct doc_sessions *d)
{
    int *room = calloc((size_t)d->rows + 1, 3 * sizeof *room + sizeof(bool));
    if (!room) return;
    struct tree t = {.child = room, .next = room + 2 * d->rows, .done = (bool *)(room + 3 * d->rows)};
    for (int i = 0; i < d->rows; i++) t.child[i] = t.next[i] = -1;
    for (int i = d->rows - 1; i >= 0; i--) {
        const int of = d->row[i].of;
        if (of < 0 || of >= d->rows || of == i) continue;
        t.next[i] = t.child[of];
        t.child[of] = i;
    }
    for (int i = 0; i < d->rows; i++)
        if (d->row[i].of < 0 || d->row[i].of == i) walk(v, &t, i, d->rows);
    for (int i = 0; i < d->rows; i++)
        if (!t.done[i]) walk(v, &t, i, d->rows);
    free(room);
}

static void arrange(struct view *v, const struct doc_sessions *d)
{
    v->shown = 0;
    if (!d || !room_for(v, d->rows)) return;
    if (v->tree && !*v->find.text) arrange_tree(v, d);
    else
        for (int i = 0; i < d->rows; i++) {
            if (!wanted(v, &d->row[i])) continue;
            v->depth[v->shown] = d->row[i].below && !*v->find.text;
            v->order[v->shown++] = i;
        }
    for (int i = 0; *v->at && i < v->shown; i++)
        if (strcmp(d->row[v->order[i]].id, v->at) == 0) v->list.selected = i;
    list_fit(&v->list, v->shown, v->rows);
    if (v->shown > 0) snprintf(v->at, sizeof v->at, "%s", d->row[v->order[v->list.selected]].id);
}

/* ------------------------------------------------------------------ columns */

struct columns { int title, titles, turns, when, bytes, model, models, copy; }; /* begins; -1: no room for it */

static struct columns columns_for(int width, bool sized)
{
    struct columns c = {.title = 2 + SHORT_ID + 2, .turns = -1, .when = -1, .bytes = -1, .model = -1, .copy = -1};
    int end = width - 1; /* the last is the list's bar */
    if (width >= 150) c.copy = end -= 30;
    if (width >= 110) c.model = end -= c.models = 24;
    if (width >= 70 && sized) c.bytes = end -= 10;
    if (width >= 36) c.when = end -= 15;
    if (width >= 56) c.turns = end -= 7;
    c.titles = end - c.title - 1;
    return c;
}

static void draw_heads(struct surface *s, struct box b, const struct columns *c)
{
    const struct look dim = {.hue = HUE_DIM};
    surface_puts(s, b, 2, 1, "id", dim);
    surface_puts(s, b, c->title, 1, "title", dim);
    if (c->turns >= 0) table_right(s, b, c->turns, 1, 6, " turns", dim);
    if (c->when >= 0) table_text(s, b, c->when + 1, 1, 14, "last used", 9, dim, GLYPHS_ASCII);
    if (c->bytes >= 0) table_right(s, b, c->bytes, 1, 9, "size", dim);
    if (c->model >= 0) surface_puts(s, b, c->model + 1, 1, "model", dim);
    if (c->copy >= 0) surface_puts(s, b, c->copy + 1, 1, "copy of", dim);
}

static void copy_words(const struct sessions_row *r, char out[80])
{
    *out = '\0';
    if (*r->parent) snprintf(out, 80, "%.8s after turn %u", r->parent, (unsigned)r->parent_turn);
}

static void draw_title(struct surface *s, struct box b, int row, const struct columns *c, const struct sessions_row *r,
                       int depth, bool selected, enum glyphs glyphs)
{
    const int in = MIN(2 * depth, MAX(c->titles - 12, 0));
    const struct look dim = table_look(selected, (struct look){.hue = HUE_DIM});
    if (in >= 2) surface_puts(s, b, c->title + in - 2, row, glyphs == GLYPHS_ASCII ? "`-" : "└─", dim);
    const char *title = *r->title ? r->title : "(no title yet)";
    const struct look look = table_look(selected, (struct look){.hue = *r->title ? HUE_TEXT : HUE_DIM,
                                                                .attr = r->open ? LOOK_BOLD : 0});
    table_text(s, b, c->title + in + (in > 0), row, c->titles - in - (in > 0), title, strlen(title), look, glyphs);
}

static void draw_row(struct surface *s, struct box b, int row, const struct columns *c, const struct doc_sessions *d,
                     const struct sessions_row *r, int depth, bool selected, enum glyphs glyphs)
{
    const struct look text = table_look(selected, (struct look){0});
    const struct look dim = table_look(selected, (struct look){.hue = HUE_DIM});
    const struct look here = table_look(selected, (struct look){.hue = HUE_OK});
    char words[80], f[FIGURE];
    surface_clear(s, table_row(b, row), text);
    if (r->open) surface_puts(s, b, 0, row, glyphs == GLYPHS_ASCII ? "*" : "●", here);
    table_text(s, b, 2, row, SHORT_ID, r->id, SHORT_ID, table_look(selected, (struct look){.hue = HUE_CODE}), glyphs);
    draw_title(s, b, row, c, r, depth, selected, glyphs);
    if (c->turns >= 0) table_right(s, b, c->turns, row, 6, figure(f, r->turns), text);
    const char *when = r->current ? "open now" : r->open ? "open as well" : table_age(f, d->now_ms, r->updated_ms);
    if (c->when >= 0) table_text(s, b, c->when + 1, row, 14, when, strlen(when), r->open ? here : dim, glyphs);
    if (c->bytes >= 0) table_right(s, b, c->bytes, row, 9, table_bytes(f, r->bytes), text);
    if (c->model >= 0)
        table_text(s, b, c->model + 1, row, c->models - 2, r->model, strlen(r->model), dim, glyphs);
    copy_words(r, words);
    if (c->copy >= 0) table_text(s, b, c->copy + 1, row, 28, words, strlen(words), dim, glyphs);
}

/* ------------------------------------------------------------------ around the list */

static void draw_head(const struct view *v, struct surface *s, struct box b, const struct doc_sessions *d)
{
    struct words w = {0};
    char f[FIGURE], g[FIGURE];
    uint64_t bytes = 0;
    for (int i = 0; d && i < d->rows; i++)
        if (size_add(bytes, d->row[i].bytes, &bytes)) bytes = UINT64_MAX;
    words_add(&w, HUE_HEAD, 0, "Saved sessions");
    if (d && *v->find.text)
        words_add(&w, HUE_TEXT, 1, "%s of %s with \"%.40s\"", figure(f, (uint64_t)v->shown),
                  figure(g, (uint64_t)d->rows), v->find.text);
    else if (d) words_add(&w, HUE_TEXT, 1, "%s%s", d->more ? "the newest " : "", figure(f, (uint64_t)d->rows));
    if (d && d->sized && d->rows > 0) words_add(&w, HUE_TEXT, 3, "%s", table_bytes(f, bytes));
    if (d && d->rows > 0)
        words_add(&w, HUE_DIM, 4, "%s", v->tree && !*v->find.text ? "copies below what they are of"
                                                                     : "newest first");
    if (d && d->damaged) words_add(&w, HUE_ERROR, 2, "%d damaged", d->damaged);
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

static const struct sessions_row *selected(const struct view *v, const struct doc_sessions *d)
{
    return d && v->shown > 0 ? &d->row[v->order[v->list.selected]] : NULL;
}

/* All of the selected one, also where the list has no room for it. */
static void draw_detail(struct surface *s, struct box b, int row, const struct doc_sessions *d,
                        const struct sessions_row *r, enum glyphs glyphs)
{
    char f[FIGURE], g[FIGURE], age[FIGURE], copy[80];
    struct buf line = {0};
    table_text(s, b, 1, row, b.columns - 2, r->title, strlen(r->title), (struct look){.hue = HUE_HEAD}, glyphs);
    copy_words(r, copy);
    buf_printf(&line, "%.8s  %s%s%s, begun %s, last used %s", r->id, figure(f, r->turns),
               r->run ? " line" : " turn", r->turns == 1 ? "" : "s",
               table_time(g, r->created_ms), table_age(age, d->now_ms, r->updated_ms));
    if (*copy) buf_printf(&line, ", a copy of %s", copy);
    if (*r->model) buf_printf(&line, ", %s", r->model);
    if (!line.failed)
        table_text(s, b, 1, row + 1, b.columns - 2, line.data, line.len, (struct look){.hue = HUE_DIM}, glyphs);
    buf_free(&line);
}

static void draw_foot(const struct view *v, struct surface *s, struct box b, const struct doc_sessions *d,
                      enum glyphs glyphs)
{
    const int last = b.rows - 1;
    const struct sessions_row *r = selected(v, d);
    struct box row = {b.column + 1, b.row + last, b.columns - 2, 1};
    if (v->find.on) typed_draw(&v->find, s, row, 0, "find:", "Enter keeps it, Esc shows all");
    else if (v->name.on) typed_draw(&v->name, s, row, 0, "new title:", "Enter sets it, Esc leaves it");
    else if (v->turn.on) typed_draw(&v->turn, s, row, 0, "a copy as it was after turn:", "nothing: now; Esc leaves it");
    else if (v->file.on)
        typed_draw(&v->file, s, row, 0, "to the file:", "Markdown; JSON Lines where it ends in .jsonl; Esc: none");
    else if (*v->deleting && r)
        surface_printf(s, row, 0, 0, (struct look){.hue = HUE_WARN}, "delete %.8s, %u turn%s, for good?   y yes   "
                       "any other key: no", v->deleting, (unsigned)r->turns, r->turns == 1 ? "" : "s");
    else if (*v->notice)
        table_text(s, row, 0, 0, row.columns, v->notice, strlen(v->notice), (struct look){.hue = HUE_WARN}, glyphs);
    else if (d && *d->damage)
        table_text(s, row, 0, 0, row.columns, d->damage, strlen(d->damage), (struct look){.hue = HUE_ERROR}, glyphs);
    if (r && b.rows >= 10) draw_detail(s, b, last - 2, d, r, glyphs);
}

/* Why there is no row, and what would make one. */
static void draw_none(struct surface *s, struct box b, const struct view_in *in)
{
    const struct doc_sessions *d = doc_of(in);
    const struct box row = {b.column + 1, b.row + HEAD_ROWS, b.columns - 2, MAX(b.rows - HEAD_ROWS - 1, 0)};
    const char *text = "reading the store...";
    if (d && d->rows > 0) text = "none has this in its title, model or id; Esc shows all";
    else if (d) text = "none is saved yet: a session is, from its first turn on";
    else if (in->doc && *in->doc->error) text = in->doc->error;
    const struct look look = {.hue = !d && in->doc && *in->doc->error ? HUE_ERROR : HUE_DIM};
    for (size_t at = 0, n = strlen(text), line = 0; at < n && row.columns > 0; line++) {
        const size_t end = at + surface_break(text + at, n - at, row.columns);
        surface_text(s, row, 0, (int)line, text + at, end - at, look, NULL);
        at = end;
    }
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view *v = self;
    const struct doc_sessions *d = doc_of(in);
    const int foot = b.rows >= 10 ? FOOT_ROWS : 1;
    const struct box list = {b.column, b.row + HEAD_ROWS, b.columns, MAX(b.rows - HEAD_ROWS - foot, 0)};
    const struct columns c = columns_for(b.columns, d && d->sized);
    v->rows = MAX(list.rows, 1);
    arrange(v, d);
    surface_clear(s, b, (struct look){0});
    draw_head(v, s, b, d);
    if (v->shown > 0) draw_heads(s, b, &c);
    else draw_none(s, b, in);
    for (int i = 0; i < list.rows && v->list.top + i < v->shown; i++) {
        const int at = v->list.top + i;
        draw_row(s, list, i, &c, d, &d->row[v->order[at]], v->depth[at], at == v->list.selected, in->glyphs);
    }
    list_bar(s, list, v->shown, v->list.top);
    draw_foot(v, s, b, d, in->glyphs);
}

/* ------------------------------------------------------------------ keys */

static void say(struct view *v, const char *text) { snprintf(v->notice, sizeof v->notice, "%s", text); }

static void copy_after(struct view *v, const struct sessions_row *r, struct view_out *out)
{
    char *end;
    const unsigned long turn = strtoul(v->turn.text, &end, 10);
    if (!*v->turn.text) buf_puts(&out->order, "/fork");
    else if (*end || v->turn.text[0] < '0' || v->turn.text[0] > '9' || turn > r->turns)
        snprintf(v->notice, sizeof v->notice, "a number from 0 to %u, or nothing", (unsigned)r->turns);
    else buf_printf(&out->order, "/fork %lu", turn);
    out->leave = out->order.len > 0;
}

/* What came of it is said here as well: see ui.c. */
static void export_to(const char *path, struct view_out *out)
{
    static const char lines[] = ".jsonl";
    const size_t n = strlen(path), end = sizeof lines - 1;
    buf_printf(&out->order, "/export %s%s", path, n > end && strcmp(path + n - end, lines) == 0 ? "" : " md");
}

/* What is typed in the last row; false: nothing is, or it is no key for that. */
static bool key_typed(struct view *v, const struct key *k, const struct sessions_row *r, struct view_out *out)
{
    struct typed *t = v->find.on ? &v->find : v->name.on ? &v->name : v->turn.on ? &v->turn
                    : v->file.on ? &v->file : NULL;
    const enum typed_key done = t ? typed_key(t, k) : TYPED_NOT;
    if (done == TYPED_NOT) return false;
    if (t == &v->find && done == TYPED_LEFT) v->find.text[0] = '\0';
    if (t == &v->name && done == TYPED_TAKEN && *t->text) buf_printf(&out->order, "/rename %s", t->text);
    if (t == &v->turn && done == TYPED_TAKEN && r) copy_after(v, r, out);
    if (t == &v->file && done == TYPED_TAKEN && *t->text) export_to(t->text, out);
    return true;
}

static bool key_delete(struct view *v, const struct key *k, const struct sessions_row *r, struct view_out *out)
{
    if (!*v->deleting) return false;
    if (r && strcmp(r->id, v->deleting) == 0 && k->name == KEY_CHAR && !(k->mods & ~(unsigned)KEY_SHIFT) &&
        (k->rune == 'y' || k->rune == 'Y'))
        buf_printf(&out->order, "/delete %s now", r->id);
    else say(v, "it stays");
    *v->deleting = '\0';
    return true;
}

/* Commands know the session that is open alone. */
static bool is_here(struct view *v, const struct sessions_row *r, const char *what)
{
    if (!r->current)
        snprintf(v->notice, sizeof v->notice, "only the open session can be %s: Enter opens this one", what);
    return r->current;
}

static bool key_row(struct view *v, const struct key *k, const struct sessions_row *r, struct view_out *out)
{
    if (k->name == KEY_ENTER) {
        if (!r->current) buf_printf(&out->order, "/resume %s", r->id);
        out->leave = true;
        return true;
    }
    char name[SHORT_ID + sizeof ".md"];
    if (k->name != KEY_CHAR || k->mods & (KEY_CTRL | KEY_ALT)) return false;
    switch (k->rune) {
    case 'f':
        if (is_here(v, r, "copied")) typed_begin(&v->turn, "");
        return true;
    case 'r':
        if (is_here(v, r, "renamed")) typed_begin(&v->name, r->title);
        return true;
    case 'e':
        if (!is_here(v, r, "exported")) return true;
        snprintf(name, sizeof name, "%.8s.md", r->id);
        typed_begin(&v->file, name);
        return true;
    case 'x':
        if (r->open) say(v, "it is open here; resume another one first, then this one can be deleted");
        else snprintf(v->deleting, sizeof v->deleting, "%s", r->id);
        return true;
    case 'p':
        out->go = VIEW_FLIGHT;
        out->ask.kind = DOC_FLIGHT;
        snprintf(out->ask.what, sizeof out->ask.what, "%s", r->id);
        return true;
    default: return false;
    }
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view *v = self;
    const struct doc_sessions *d = doc_of(in);
    arrange(v, d);
    const struct sessions_row *r = selected(v, d);
    *v->notice = '\0';
    if (key_delete(v, k, r, out) || key_typed(v, k, r, out)) return true;
    if (k->name == KEY_ESCAPE && *v->find.text) {
        v->find.text[0] = '\0';
        return true;
    }
    if (k->name == KEY_CHAR && !k->mods && k->rune == '/') {
        typed_begin(&v->find, v->find.text);
        return true;
    }
    if (k->name == KEY_CHAR && !k->mods && k->rune == 't') {
        v->tree = !v->tree;
        return true;
    }
    if (r && key_row(v, k, r, out)) return true;
    if (!list_key(&v->list, k, v->shown, v->rows)) return false;
    if (v->shown > 0) snprintf(v->at, sizeof v->at, "%s", d->row[v->order[v->list.selected]].id);
    return true;
}

const struct view_ops view_sessions = {
    .title = "Sessions",
    .keys = "Enter resume  p post-mortem  t tree  / find  f copy  r rename  e export  x delete",
    .every = 15,
    .open = open_view,
    .close = close_view,
    .ask = ask,
    .draw = draw,
    .key = key,
};
