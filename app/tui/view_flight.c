/* view_flight.c - the post-mortem of a session: whether it ended as it should, and what was going on before.
 *
 *      Post-mortem   4f2a91c0   Why does the nightly job die?
 *      It died: its program ended without closing it, after turn 12, 5 minutes ago.
 *      The KV pool was full: 3 requests waited; the first, of writer, needed 96 pages. researcher held the most: ...
 *
 *      The pool   ▕████▓▓▓░░····▏ ...          at the last figures, and over time
 *      Who held it                             owners, the largest first
 *      Last errors
 *      Before that                             a row a sample, the newest first */
#include "app/tui/list.h"
#include "app/tui/table.h"
#include "app/tui/view.h"
#include "app/tui/view_flight.h"
#include <inttypes.h>
#include <math.h>

struct view {
    struct list list; /* selected: the first row that is seen, below the head */
    int rows, seen;   /* that there are, and that are seen, of the last draw */
    const void *of;   /* the doc that this is about: another begins at its top */
};

static void *open_view(void) { return calloc(1, sizeof(struct view)); }
static void close_view(void *self) { free(self); }

static const struct doc_flight *doc_of(const struct view_in *in)
{
    return in->doc && in->doc->ask.kind == DOC_FLIGHT ? in->doc->data : NULL;
}

/* The one that there is stays; before the first the sessions' thread chooses (what: ""). */
static void ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)b;
    if (!in->doc) out->kind = DOC_FLIGHT;
}

/* ------------------------------------------------------------------ a sheet: rows below each other, scrolled */

struct sheet {
    struct surface *s;
    struct box b;
    int row;       /* of the box, of what is drawn next; above it at first */
    enum glyphs glyphs;
};

static void heading(struct sheet *h, const char *text, const char *more)
{
    h->row++; /* a blank one before it */
    int at = surface_puts(h->s, h->b, 1, h->row, text, (struct look){.hue = HUE_HEAD}) + 4;
    surface_puts(h->s, h->b, at, h->row++, more, (struct look){.hue = HUE_DIM});
}

static void wrapped(struct sheet *h, const char *text, struct look look)
{
    const int columns = MAX(h->b.columns - 2, 1);
    for (size_t at = 0, n = strlen(text); at < n;) {
        const size_t end = at + surface_break(text + at, n - at, columns);
        surface_text(h->s, h->b, 1, h->row++, text + at, end - at, look, NULL);
        at = end;
    }
}

static void pool_bar(struct sheet *h, const struct doc_flight *d)
{
    const struct postmortem_pool p = postmortem_pool(&d->sample[d->samples - 1]);
    const struct bar_part part[] = {
        {(uint64_t)p.filled, HUE_KV, BAR_FULL}, {(uint64_t)p.reserved, HUE_RESERVED, BAR_LIGHT},
        {(uint64_t)p.cached, HUE_SUMMARY, BAR_MEDIUM}, {(uint64_t)p.free, HUE_FREE, BAR_DOT}};
    static const char *const name[] = {"filled", "reserved", "cached", "free"};
    struct words w = {0};
    char f[FIGURE];
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct word *word = words_add(&w, (enum hue)part[i].hue, (int)i, "%s %s", name[i], figure(f, part[i].size));
        word->glyph = (int8_t)part[i].glyph;
    }
    words_add(&w, HUE_DIM, 9, "of %s tokens", figure(f, (uint64_t)p.all));
    bar_draw(h->s, h->b, 1, h->row++, h->b.columns - 3, part, COUNT_OF(part), h->glyphs);
    words_fit(&w, h->b.columns - 3, 0);
    words_draw(h->s, h->b, 2, h->row++, &w, 0, h->glyphs);
}

/* Figures over time, as high as their share of the largest. */
static void past(struct sheet *h, const struct doc_flight *d)
{
    static const struct { const char *name; enum hue hue; size_t at; } line[] = {
        {"filled", HUE_KV, offsetof(struct flight_sample, filled)},
        {"running", HUE_OK, offsetof(struct flight_sample, running)},
        {"waiting", HUE_WARN, offsetof(struct flight_sample, waiting)},
    };
    float value[FLIGHT_SAMPLES];
    int at = 2;
    for (size_t i = 0; i < COUNT_OF(line); i++) {
        int64_t most = 0;
        char f[FIGURE];
        for (int k = 0; k < d->samples; k++) {
            int64_t v;
            memcpy(&v, (const char *)&d->sample[k] + line[i].at, sizeof v);
            value[k] = (float)v;
            most = MAX(most, v);
        }
        const int takes = MIN(d->samples, 36), words = 24;
        if (at + words + takes > h->b.columns) {
            h->row++;
            at = 2;
        }
        surface_puts(h->s, h->b, at, h->row, line[i].name, (struct look){.hue = (uint8_t)line[i].hue});
        if (most > 0) spark_draw(h->s, h->b, at + 9, h->row, takes, value, d->samples, line[i].hue, h->glyphs);
        surface_printf(h->s, h->b, at + (most > 0 ? 10 + takes : 9), h->row, (struct look){.hue = HUE_DIM}, "%s%s",
                       most > 0 ? "to " : "none", most > 0 ? figure(f, (uint64_t)most) : "");
        at += takes + words;
    }
    h->row++;
}

/* ------------------------------------------------------------------ tables */

static void number(struct sheet *h, int *at, int columns, int64_t n)
{
    char f[FIGURE];
    *at += columns;
    table_right(h->s, h->b, *at - columns, h->row, columns, figure(f, (uint64_t)n),
                (struct look){.hue = n ? HUE_TEXT : HUE_DIM});
}

static void head(struct sheet *h, int *at, int columns, const char *name)
{
    *at += columns;
    table_right(h->s, h->b, *at - columns, h->row, columns, name, (struct look){.hue = HUE_DIM});
}

static void owners(struct sheet *h, const struct doc_flight *d)
{
    static const char *const name[] = {"tokens", "size", "shared", "ran", "waited", "parked"};
    const int names = h->b.columns < 100 ? 18 : 28, each = 10;
    heading(h, "Who held it", "the largest first");
    int at = names;
    surface_puts(h->s, h->b, 2, h->row, "agent", (struct look){.hue = HUE_DIM});
    for (size_t i = 0; i < COUNT_OF(name); i++) head(h, &at, each, name[i]);
    h->row++;
    for (int i = 0; i < d->owners; i++, h->row++) {
        const struct flight_owner *o = &d->owner[i];
        const char *who = *o->name ? o->name : "the only agent";
        char f[FIGURE];
        table_text(h->s, h->b, 2, h->row, names - 3, who, strlen(who), (struct look){0}, h->glyphs);
        at = names;
        number(h, &at, each, o->tokens);
        table_right(h->s, h->b, at, h->row, each, table_bytes(f, (uint64_t)o->bytes), (struct look){0});
        at += each;
        number(h, &at, each, o->shared);
        number(h, &at, each, o->running);
        number(h, &at, each, o->waiting);
        number(h, &at, each, o->parked);
    }
}

static void errors(struct sheet *h, const struct doc_flight *d)
{
    heading(h, "Last errors", "the newest last");
    for (int i = 0; i < d->errors; i++) {
        const struct flight_error *e = &d->error[i];
        const struct box all = h->b;
        char turn[FIGURE] = "", f[FIGURE];
        if (e->turn > 0) snprintf(turn, sizeof turn, "turn %s", figure(f, (uint64_t)e->turn));
        surface_puts(h->s, h->b, 2, h->row, e->what, (struct look){.hue = HUE_ERROR});
        table_text(h->s, h->b, 11, h->row, 11, turn, strlen(turn), (struct look){.hue = HUE_DIM}, h->glyphs);
        const int in = all.columns < 60 ? 2 : 22;
        if (in == 2) h->row++;
        h->b.column += in - 1;
        h->b.columns -= in - 1;
        const int was = h->row;
        wrapped(h, *e->text ? e->text : "(nothing more is said)", (struct look){0});
        h->b = all;
        h->row = MAX(h->row, was + 1);
    }
}

static void samples(struct sheet *h, const struct doc_flight *d)
{
    static const char *const name[] = {"ran", "waited", "parked", "filled", "reserved",
                                       "room" /* free or cached */};
    const bool wide = h->b.columns >= 76;
    const int each = h->b.columns < 60 ? 8 : h->b.columns < 100 ? 9 : 10;
    const double last = d->sample[d->samples - 1].time;
    heading(h, "Before that", "seconds before the last figures, requests, tokens of the pool");
    int at = 9;
    table_right(h->s, h->b, 1, h->row, 8, "seconds", (struct look){.hue = HUE_DIM});
    for (size_t i = 0; i < COUNT_OF(name); i++)
        if (i != 2 || wide) head(h, &at, each, name[i]);
    if (wide) surface_puts(h->s, h->b, at + 2, h->row, "held most", (struct look){.hue = HUE_DIM});
    h->row++;
    for (int i = d->samples - 1; i >= 0; i--, h->row++) {
        const struct flight_sample *s = &d->sample[i];
        const struct postmortem_pool p = postmortem_pool(s);
        const double ago = last - s->time;
        char f[FIGURE];
        snprintf(f, sizeof f, ago >= 0 && ago < 1e6 ? "%.1f" : "?", ago);
        table_right(h->s, h->b, 1, h->row, 8, f, (struct look){.hue = HUE_DIM});
        at = 9;
        number(h, &at, each, s->running);
        number(h, &at, each, s->waiting);
        if (wide) number(h, &at, each, s->parked);
        number(h, &at, each, p.filled);
        number(h, &at, each, p.reserved);
        number(h, &at, each, p.free + p.cached);
        if (wide && s->most_tokens > 0)
            table_text(h->s, h->b, at + 2, h->row, h->b.columns - at - 4, s->most, strlen(s->most),
                       (struct look){0}, h->glyphs);
    }
}

static void why(struct sheet *h, const struct verdict *v)
{
    char title[VERDICT_TEXT], about[VERDICT_TEXT];
    verdict_title(v, title);
    heading(h, title, verdict_about(v, about));
    wrapped(h, v->what, (struct look){0});
    for (int i = 0; i < v->evidences; i++) wrapped(h, v->evidence[i], (struct look){.hue = HUE_DIM});
    for (int i = 0; i < v->nexts; i++) wrapped(h, v->next[i], (struct look){.hue = HUE_DIM});
}

/* ------------------------------------------------------------------ all */

static void title(struct surface *s, struct box b, const struct doc_flight *d, enum glyphs glyphs)
{
    int at = surface_puts(s, b, 1, 0, "Post-mortem", (struct look){.hue = HUE_HEAD}) + 3;
    if (!d) return;
    at += surface_printf(s, b, at, 0, (struct look){.hue = HUE_CODE}, "%.8s", d->id) + 2;
    table_text(s, b, at, 0, b.columns - at - 1, d->title, strlen(d->title), (struct look){.attr = LOOK_BOLD}, glyphs);
}

static void draw_doc(struct sheet *h, const struct doc_flight *d)
{
    struct buf words = {0};
    char end[240], f[FIGURE];
    postmortem_end(d, end);
    wrapped(h, end, (struct look){.hue = d->end == FLIGHT_DIED ? HUE_ERROR : HUE_OK, .attr = LOOK_BOLD});
    postmortem_words(d, &words);
    wrapped(h, words.failed ? "" : words.data, (struct look){0});
    words.len = 0;
    buf_printf(&words, "begun %s, with %s", table_time(f, d->created_ms),
               *d->model ? d->model : "a model without a name");
    if (d->unread > 0) buf_printf(&words, "; %d line%s of its recorder %s not understood", d->unread,
                                   plural(d->unread), d->unread == 1 ? "is" : "are");
    wrapped(h, words.failed ? "" : words.data, (struct look){.hue = HUE_DIM});
    buf_free(&words);
    if (d->judged) why(h, &d->verdict);
    if (d->samples > 0) {
        heading(h, "The KV pool", "at the last figures, and over the time before them");
        pool_bar(h, d);
        past(h, d);
    }
    if (d->owners > 0) owners(h, d);
    if (d->errors > 0) errors(h, d);
    if (d->samples > 0) samples(h, d);
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view *v = self;
    const struct doc_flight *d = doc_of(in);
    const struct box body = {b.column, b.row + 1, b.columns, MAX(b.rows - 1, 0)};
    surface_clear(s, b, (struct look){0});
    title(s, b, d, in->glyphs);
    if (d != v->of) v->list = (struct list){0};
    v->of = d;
    struct sheet h = {s, {body.column, body.row, MAX(body.columns - 1, 0), body.rows}, -v->list.selected, in->glyphs};
    if (!d) {
        const bool failed = in->doc && *in->doc->error;
        wrapped(&h, failed ? in->doc->error : "reading the store...",
                (struct look){.hue = failed ? HUE_ERROR : HUE_DIM});
        return;
    }
    draw_doc(&h, d);
    v->rows = h.row + v->list.selected;
    v->seen = body.rows;
    const int most = MAX(v->rows - body.rows, 0);
    if (v->list.selected > most) { /* the box has grown: once more, from where its last row is at the bottom */
        v->list.selected = most;
        draw(self, s, b, in);
        return;
    }
    list_bar(s, body, v->rows, v->list.selected);
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view *v = self;
    const struct doc_flight *d = doc_of(in);
    const bool plain = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (d && k->name == KEY_ENTER && d->end != FLIGHT_OPEN_ELSEWHERE) {
        if (d->end != FLIGHT_OPEN_HERE) buf_printf(&out->order, "/resume %s", d->id);
        out->leave = true;
        return true;
    }
    if (plain && k->rune == 's') {
        out->go = VIEW_SESSIONS;
        return true;
    }
    if (plain && k->rune == 'r') {
        out->ask.kind = DOC_FLIGHT;
        if (d) snprintf(out->ask.what, sizeof out->ask.what, "%s", d->id);
        return true;
    }
    return d && list_key(&v->list, k, MAX(v->rows - v->seen, 0) + 1, v->seen);
}

const struct view_ops view_flight = {
    .title = "Post-mortem",
    .keys = "Enter resume it  s sessions  r read again",
    .open = open_view,
    .close = close_view,
    .ask = ask,
    .draw = draw,
    .key = key,
};
