/* view_timeline.c - the session so far: a column of the screen for each `each` seconds, and a cursor that goes back.
 *
 *     Timeline  1:12 so far  a column is 1 s
 *      4,096 ░░░
 *            ▓▓▓   KV pool over time          struct span: which time each column stands for
 *          0 ███                              struct column: the largest of all samples in it
 *            0:00 ─── 0:16 ───
 *     marks    ^ ^
 *     decode ▁▂▃
 *     at 0:05.2  filled 1,412 ...             of the cursor's column
 *       0:05.2 planner  turn 3 began ...      marks, up to the cursor's time
 *
 * Where no sample was taken, memory is what it was before, and nothing was computed. */
#include "app/tui/list.h"
#include "app/tui/view.h"
#include <math.h>

enum part { OWN, SHARED, CACHED, RESERVED, FREE, PARTS };

struct column {
    bool there, sampled;       /* something is known of it; and a sample is in it */
    uint64_t part[PARTS];      /* tokens; all together are the pool */
    uint64_t running, waiting, parked, bytes;
    float prefill, decode;     /* NAN: none */
};

struct span { /* column i stands for [from + i * each, from + (i + 1) * each) */
    double from, each;
    int columns, last;         /* last: the column that is now */
};

struct view_timeline {
    bool live;                 /* the cursor is at the end, and goes with it */
    double cursor;             /* its time, where it is not live */
    double each;               /* that was wanted; 0: what shows the whole session */
    struct span span;          /* of the last draw */
    struct list marks;         /* selected: of the last draw, or by a key */
    int rows;
    bool by_mark;              /* the selected mark gave the cursor its time */
    struct column column[SURFACE_MAX];
};

enum { LABEL = 9, TICK = 16, FAR = 10 /* columns of a large step */ };

/* ------------------------------------------------------------------ which time is where */

/* The shortest time of a column that shows the session whole: of 1, 2, 3, 4, 6, 8, 12, ... times a sample's, so that it
 * seldom changes while the session goes on. */
static double whole_each(const struct timeline *t, int columns)
{
    double each = (double)t->each;
    for (;;) {
        if (each * (columns - 1) >= timeline_end(t)) return each;
        if (each > (double)t->each && each * 1.5 * (columns - 1) >= timeline_end(t)) return each * 1.5;
        each *= 2;
    }
}

static struct span span_of(const struct view_timeline *v, const struct timeline *t, int columns)
{
    struct span p = {.columns = MIN(MAX(columns, 2), SURFACE_MAX), .from = v->span.from};
    const double whole = whole_each(t, p.columns), end = timeline_end(t);
    p.each = v->each > 0 ? MIN(MAX(v->each, (double)t->each), whole) : whole;
    const double last = floor(end / p.each), cursor = v->live ? last : floor(v->cursor / p.each);
    double first = floor(p.from / p.each);
    if (v->live || first > cursor) first = cursor - p.columns * 3 / 4; /* room to see where it goes */
    if (cursor > first + p.columns - 1) first = cursor - p.columns + 1;
    first = MAX(MIN(first, last - p.columns + 1), 0);
    p.from = first * p.each;
    p.last = (int)MIN(last - first, (double)p.columns - 1);
    return p;
}

static int column_at(const struct span *p, double time)
{
    double i = floor((time - p->from) / p->each);
    return i < 0 ? 0 : i > p->last ? p->last : (int)i;
}

static int cursor_column(const struct view_timeline *v)
{
    return v->live ? v->span.last : column_at(&v->span, v->cursor);
}

/* ------------------------------------------------------------------ columns of samples */

static void larger(float *a, float b)
{
    if (!(*a >= b)) *a = b;
}

static uint64_t in_use(const struct column *c)
{
    return c->part[OWN] + c->part[SHARED] + c->part[CACHED] + c->part[RESERVED];
}

/* Memory is that of one moment, when most was in use: largest parts of several would not add up. */
static void join(struct column *c, const struct timeline_sample *s)
{
    const uint64_t shared = MIN(s->shared, s->filled), part = s->filled - shared;
    if (part + shared + s->cached + s->reserved >= in_use(c)) {
        c->part[OWN] = part;
        c->part[SHARED] = shared;
        c->part[CACHED] = s->cached;
        c->part[RESERVED] = s->reserved;
    }
    c->running = MAX(c->running, s->running);
    c->waiting = MAX(c->waiting, s->waiting);
    c->parked = MAX(c->parked, s->parked);
    c->bytes = MAX(c->bytes, s->bytes);
    larger(&c->prefill, s->prefill);
    larger(&c->decode, s->decode);
}

/* A sample that stands for several moments may say more than the pool has: what comes first in it is kept. */
static void within(struct column *c, uint64_t pool)
{
    uint64_t left = pool;
    for (int i = OWN; i <= RESERVED; i++) {
        c->part[i] = MIN(c->part[i], left);
        left -= c->part[i];
    }
    c->part[FREE] = left;
}

static void fill_columns(struct view_timeline *v, const struct timeline *t)
{
    const struct span *p = &v->span;
    const struct column none = {.prefill = NAN, .decode = NAN};
    int at = timeline_at(t, p->from);
    if (at >= 0 && (double)t->sample[at].time < p->from) at++; /* the one before, which the first may have to hold */
    struct timeline_sample before = at > 0 ? t->sample[at - 1] : (struct timeline_sample){0};
    bool any = at > 0;
    at = MAX(at, 0);
    for (int i = 0; i < p->columns; i++) {
        struct column *c = &v->column[i];
        *c = none;
        if (i > p->last) continue;
        for (; at < t->samples && (double)t->sample[at].time < p->from + (i + 1) * p->each; at++) {
            before = t->sample[at];
            join(c, &before);
            any = c->sampled = true;
        }
        if (any && !c->sampled) {
            join(c, &before);
            c->prefill = c->decode = NAN;
        }
        c->there = any;
        within(c, t->pool);
    }
}

/* What the figures are of: the last sample, or all of the cursor's column. */
static struct column moment_of(const struct view_timeline *v, const struct timeline *t)
{
    struct column now = {.there = true, .sampled = true, .prefill = NAN, .decode = NAN};
    if (!v->live || t->samples == 0) return v->column[cursor_column(v)];
    join(&now, &t->sample[t->samples - 1]);
    within(&now, t->pool);
    return now;
}

/* ------------------------------------------------------------------ the pool over time */

static const struct { const char *name; enum hue hue; enum bar_glyph glyph; } part_of[PARTS] = {
    [OWN] = {"own", HUE_KV, BAR_FULL},           [SHARED] = {"shared", HUE_SHARED, BAR_SLASH},
    [CACHED] = {"cached", HUE_SUMMARY, BAR_MEDIUM}, [RESERVED] = {"reserved", HUE_RESERVED, BAR_LIGHT},
    [FREE] = {"free", HUE_FREE, BAR_DOT},
};

/* The chart's top: 1, 2 or 5 and zeros, at least what is shown; at most the pool. */
static uint64_t top_of(const struct view_timeline *v, uint64_t pool)
{
    uint64_t most = 1, top = 1;
    for (int i = 0; i <= v->span.last; i++)
        if (v->column[i].there) most = MAX(most, in_use(&v->column[i]));
    for (int step = 0; top < most && top < pool; step++) top = step % 3 == 1 ? top / 2 * 5 : top * 2;
    return MAX(MIN(top, pool), 1);
}

/* One column of it, from the bottom on: what is above `top` does not happen. */
static void draw_column(struct surface *s, struct box b, int x, const struct column *c, uint64_t top,
                        enum glyphs glyphs)
{
    uint64_t size[PARTS], cells[PARTS];
    for (int i = OWN; i <= RESERVED; i++) size[i] = c->part[i];
    size[FREE] = top - MIN(in_use(c), top);
    bar_shares(size, PARTS, (uint64_t)b.rows, cells);
    for (int i = OWN, y = b.rows; i <= RESERVED; i++)
        for (uint64_t k = 0; k < cells[i]; k++)
            surface_puts(s, b, x, --y, bar_glyph(part_of[i].glyph, glyphs),
                         (struct look){.hue = (uint8_t)part_of[i].hue});
}

static void draw_chart(struct surface *s, struct box b, const struct view_timeline *v, uint64_t pool,
                       enum glyphs glyphs)
{
    const struct box plot = {b.column + LABEL, b.row, b.columns - LABEL, b.rows};
    const uint64_t top = top_of(v, pool);
    const struct look dim = {.hue = HUE_DIM};
    char n[FIGURE];
    surface_printf(s, b, 0, 0, dim, "%*s", LABEL - 1, figure(n, top));
    if (b.rows >= 5 && top % 2 == 0) surface_printf(s, b, 0, b.rows / 2, dim, "%*s", LABEL - 1, figure(n, top / 2));
    if (b.rows > 1) surface_printf(s, b, 0, b.rows - 1, dim, "%*s", LABEL - 1, "0");
    for (int i = 0; i <= v->span.last; i++)
        if (v->column[i].there) draw_column(s, plot, i, &v->column[i], top, glyphs);
}

static void draw_axis(struct surface *s, struct box b, const struct span *p, enum glyphs glyphs)
{
    const struct look dim = {.hue = HUE_DIM};
    char clock[FIGURE];
    surface_puts(s, b, 0, 0, "time", dim);
    surface_fill(s, b, LABEL, 0, b.columns - LABEL, bar_glyph(BAR_THIN, glyphs), dim);
    for (int i = 0; i + 8 <= p->columns; i += TICK)
        surface_puts(s, b, LABEL + i, 0, timeline_clock(clock, p->from + i * p->each), dim);
}

/* ------------------------------------------------------------------ marks and rates over time */

static enum hue mark_hue(uint8_t kind)
{
    switch ((enum event_kind)kind) {
    case EV_REFUSAL:
    case EV_ERROR: return HUE_ERROR;
    case EV_STOPPED:
    case EV_HOLDING: return HUE_WARN;
    case EV_SUMMARY:
    case EV_CONTEXT: return HUE_SUMMARY;
    case EV_TOOL: return HUE_TOOL;
    case EV_TURN_START: return HUE_DIM;
    default: return HUE_TEXT;
    }
}

/* A sign where something happened; '!' where it failed. */
static void draw_signs(struct surface *s, struct box b, const struct span *p, const struct timeline *t)
{
    bool failed[SURFACE_MAX] = {false};
    surface_puts(s, b, 0, 0, "events", (struct look){.hue = HUE_DIM});
    for (int i = MAX(timeline_mark_at(t, p->from), 0); i < t->marks; i++) {
        const struct timeline_mark *m = &t->mark[i];
        double at = floor(((double)m->time - p->from) / p->each);
        if (at < 0 || at >= p->columns || failed[(int)at]) continue;
        failed[(int)at] = mark_hue(m->kind) == HUE_ERROR;
        surface_puts(s, b, LABEL + (int)at, 0, failed[(int)at] ? "!" : "^",
                     (struct look){.hue = (uint8_t)mark_hue(m->kind)});
    }
}

enum { DECODE, PREFILL, BYTES, SPARKS };

static float spark_value(const struct column *c, int which)
{
    if (!c->there) return NAN;
    return which == DECODE ? c->decode : which == PREFILL ? c->prefill : (float)c->bytes;
}

static void draw_sparks(struct surface *s, struct box b, const struct view_timeline *v, enum glyphs glyphs)
{
    static const struct { const char *name; enum hue hue; } spark[SPARKS] = {
        [DECODE] = {"decode", HUE_ANSWER}, [PREFILL] = {"pre-fill", HUE_HISTORY}, [BYTES] = {"bytes", HUE_WEIGHTS}};
    float value[SURFACE_MAX];
    for (int k = 0; k < b.rows && k < SPARKS; k++) {
        for (int i = 0; i <= v->span.last; i++) value[i] = spark_value(&v->column[i], k);
        surface_puts(s, b, 0, k, spark[k].name, (struct look){.hue = HUE_DIM});
        spark_draw(s, b, LABEL, k, v->span.last + 1, value, v->span.last + 1, spark[k].hue, glyphs);
    }
}

/* The cells of the cursor's column, whatever is in them. */
static void draw_cursor(struct surface *s, struct box b, int x)
{
    for (int y = 0; y < b.rows; y++) {
        int column = b.column + LABEL + x, row = b.row + y;
        if (LABEL + x >= b.columns || column < 0 || column >= s->columns || row < 0 || row >= s->rows) continue;
        s->cell[row * s->columns + column].look.attr |= LOOK_REVERSE;
    }
}

/* ------------------------------------------------------------------ the figures of a moment */

static void put_words(struct surface *s, struct box b, int row, struct words *w, enum glyphs glyphs)
{
    words_fit(w, b.columns, 0);
    if (row < b.rows) words_draw(s, b, 0, row, w, 0, glyphs);
}

static void draw_memory(struct surface *s, struct box b, const struct view_timeline *v, const struct column *c,
                        enum glyphs glyphs)
{
    struct words w = {0};
    char n[FIGURE];
    if (v->live) words_add(&w, HUE_KEY, 0, "now");
    else words_add(&w, HUE_KEY, 0, "at %s", timeline_clock(n, v->span.from + cursor_column(v) * v->span.each));
    if (!c->there) words_add(&w, HUE_DIM, 0, "nothing was measured yet");
    for (int i = OWN; i < PARTS && c->there; i++)
        words_add(&w, part_of[i].hue, i == SHARED || i == CACHED ? 2 : 1, "%s %s", part_of[i].name,
                  figure(n, c->part[i]))->glyph = (int8_t)part_of[i].glyph;
    if (c->there) words_add(&w, HUE_DIM, 3, "tokens");
    put_words(s, b, 0, &w, glyphs);
}

static void draw_work(struct surface *s, struct box b, const struct column *c, const struct timeline *t,
                      enum glyphs glyphs)
{
    const struct bar_unit u = bar_unit(MAX(t->ceiling, c->bytes));
    struct words w = {0};
    char n[FIGURE], all[FIGURE];
    if (!c->there) return;
    words_add(&w, HUE_TEXT, 1, "%s running", figure(n, c->running));
    words_add(&w, c->waiting ? HUE_WARN : HUE_DIM, 1, "%s waiting", figure(n, c->waiting));
    if (c->parked) words_add(&w, HUE_PARKED, 1, "%s parked", figure(n, c->parked));
    if (isfinite(c->prefill)) words_add(&w, HUE_HISTORY, 2, "pre-fill %s t/s", figure_rate(n, (double)c->prefill));
    if (isfinite(c->decode)) words_add(&w, HUE_ANSWER, 0, "decode %s t/s", figure_rate(n, (double)c->decode));
    if (t->ceiling) words_add(&w, HUE_WEIGHTS, 2, "%s of %s %s, empty KV left out", figure(n, bar_units(c->bytes, u)),
                              figure(all, bar_units(t->ceiling, u)), u.name);
    else words_add(&w, HUE_WEIGHTS, 2, "%s %s, empty KV left out", figure(n, bar_units(c->bytes, u)), u.name);
    put_words(s, b, 0, &w, glyphs);
}

/* ------------------------------------------------------------------ marks */

static void draw_mark(struct surface *s, struct box b, int row, const struct timeline_mark *m, bool selected,
                      const struct state *st)
{
    const bool known = m->agent >= 0 && m->agent < st->agents;
    const int name = MIN(MAX(b.columns / 6, 8), 16);
    struct look time = {.hue = HUE_DIM}, text = {.hue = (uint8_t)mark_hue(m->kind)}, who = {.attr = LOOK_BOLD};
    char clock[FIGURE];
    if (known) who.hue = (uint8_t)(HUE_AGENT + m->agent % HUE_AGENTS);
    if (selected) time.hue = text.hue = who.hue = HUE_TEXT;
    surface_fill(s, b, 0, row, b.columns, " ", list_look(selected, (struct look){0}));
    surface_printf(s, b, 0, row, list_look(selected, time), "%8s", timeline_clock(clock, (double)m->time));
    if (known) surface_puts(s, (struct box){b.column + LABEL, b.row, MIN(name, b.columns - LABEL), b.rows}, 0, row,
                            st->agent[m->agent].gauge.name, list_look(selected, who));
    surface_puts(s, b, LABEL + name + 1, row, m->text, list_look(selected, text));
}

static void draw_marks(struct surface *s, struct box b, struct view_timeline *v, const struct view_in *in)
{
    const struct timeline *t = &in->state->timeline;
    const double end = v->span.from + (cursor_column(v) + 1) * v->span.each;
    v->rows = MAX(b.rows, 1);
    if (v->live) v->marks.selected = t->marks - 1;
    else if (!v->by_mark) v->marks.selected = MAX(timeline_mark_at(t, nextafter(end, 0)), 0);
    list_fit(&v->marks, t->marks, v->rows);
    for (int i = 0; i < b.rows && v->marks.top + i < t->marks; i++)
        draw_mark(s, b, i, &t->mark[v->marks.top + i], v->marks.top + i == v->marks.selected, in->state);
    list_bar(s, b, t->marks, v->marks.top);
}

/* ------------------------------------------------------------------ the view */

static void *open_timeline(void)
{
    struct view_timeline *v = calloc(1, sizeof *v);
    if (v) v->live = true;
    return v;
}

static void ask_timeline(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)b, (void)in, (void)out; /* the state has all of it */
}

static void draw_head(struct surface *s, struct box b, const struct view_timeline *v, const struct timeline *t,
                      enum glyphs glyphs)
{
    struct words w = {0};
    char n[FIGURE];
    words_add(&w, HUE_HEAD, 0, "Timeline");
    words_add(&w, HUE_TEXT, 1, "%s so far", timeline_clock(n, timeline_end(t)));
    words_add(&w, HUE_DIM, 2, "a column is %s", v->span.each < 60 ? figure_seconds(n, v->span.each)
                                                                 : timeline_clock(n, v->span.each));
    words_add(&w, HUE_DIM, 3, "pool of %s tokens", figure(n, t->pool));
    words_add(&w, HUE_DIM, 4, "%s event%s", figure(n, (uint64_t)t->marks), plural(t->marks));
    if (t->lost) words_add(&w, HUE_DIM, 5, "%s less important ones are forgotten", figure(n, t->lost));
    put_words(s, b, 0, &w, glyphs);
}

static void draw_nothing(struct surface *s, struct box b)
{
    surface_puts(s, b, 0, 0, "Timeline", (struct look){.hue = HUE_HEAD});
    surface_puts(s, b, 0, 2, "Nothing has happened yet.", (struct look){0});
    surface_puts(s, b, 0, 3, "Memory, speed and events of the session", (struct look){.hue = HUE_DIM});
    surface_puts(s, b, 0, 4, "are drawn here from the first turn on.", (struct look){.hue = HUE_DIM});
}

/* The next `rows` of the box, as far as there are any. */
static struct box take(struct box *b, int rows)
{
    struct box part = *b;
    part.rows = MAX(MIN(rows, b->rows), 0);
    b->row += part.rows;
    b->rows -= part.rows;
    return part;
}

static void draw_timeline(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view_timeline *v = self;
    const struct timeline *t = &in->state->timeline;
    surface_clear(s, b, (struct look){0});
    if (t->samples + t->marks == 0) {
        draw_nothing(s, b);
        return;
    }
    v->span = span_of(v, t, b.columns - LABEL);
    fill_columns(v, t);
    const bool roomy = b.rows >= 16;
    const int sparks = roomy ? SPARKS : 1, others = roomy ? 7 : 3;
    const int chart = MIN(MAX((b.rows - others - sparks) / 2, 2), 16);
    struct box rest = b, over;
    draw_head(s, take(&rest, 1), v, t, in->glyphs);
    over = rest;
    draw_chart(s, take(&rest, chart), v, t->pool, in->glyphs);
    draw_axis(s, take(&rest, 1), &v->span, in->glyphs);
    if (roomy) draw_signs(s, take(&rest, 1), &v->span, t);
    draw_sparks(s, take(&rest, sparks), v, in->glyphs);
    over.rows -= rest.rows;
    draw_cursor(s, over, cursor_column(v));
    const struct column moment = moment_of(v, t);
    draw_memory(s, take(&rest, 1), v, &moment, in->glyphs);
    if (roomy) draw_work(s, take(&rest, 1), &moment, t, in->glyphs);
    if (roomy) take(&rest, 1);
    draw_marks(s, rest, v, in);
}

/* ------------------------------------------------------------------ keys */

static void go_to(struct view_timeline *v, const struct timeline *t, int column)
{
    const double time = v->span.from + column * v->span.each;
    v->by_mark = false;
    v->live = time + v->span.each > timeline_end(t);
    v->cursor = MAX(time, 0);
}

static void zoom(struct view_timeline *v, const struct timeline *t, double by)
{
    const double whole = whole_each(t, v->span.columns), at = v->span.from + cursor_column(v) * v->span.each;
    const double each = MAX(v->span.each * by, (double)t->each);
    v->each = each >= whole ? 0 : each;
    v->span.from = MAX(at - v->span.columns / 2 * each, 0);
}

static bool mark_key(struct view_timeline *v, const struct key *k, const struct timeline *t)
{
    if (t->marks == 0 || !list_key(&v->marks, k, t->marks, v->rows)) return false;
    v->live = false;
    v->by_mark = true;
    v->cursor = (double)t->mark[v->marks.selected].time;
    return true;
}

static bool look_at(const struct view_timeline *v, const struct view_in *in, struct view_out *out)
{
    const struct timeline *t = &in->state->timeline;
    if (v->marks.selected < 0 || v->marks.selected >= t->marks) return false;
    int agent = t->mark[v->marks.selected].agent;
    if (agent < 0 || agent >= in->state->agents) return false;
    out->agent = agent;
    out->go = VIEW_AGENTS;
    return true;
}

static bool key_timeline(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view_timeline *v = self;
    const struct timeline *t = &in->state->timeline;
    const int step = k->mods & (KEY_SHIFT | KEY_CTRL) ? FAR : 1;
    if (t->samples + t->marks == 0 || v->span.columns == 0) return false;
    switch (k->name) {
    case KEY_LEFT: go_to(v, t, cursor_column(v) - step); return true;
    case KEY_RIGHT: go_to(v, t, cursor_column(v) + step); return true;
    case KEY_HOME:
        v->live = v->by_mark = false;
        v->cursor = 0;
        return true;
    case KEY_END:
        v->live = true;
        v->by_mark = false;
        return true;
    case KEY_ENTER: return look_at(v, in, out);
    default: break;
    }
    if (k->name == KEY_CHAR && !k->mods && (k->rune == '+' || k->rune == '=')) return zoom(v, t, 0.5), true;
    if (k->name == KEY_CHAR && !k->mods && (k->rune == '-' || k->rune == '_')) return zoom(v, t, 2), true;
    return mark_key(v, k, t);
}

const struct view_ops view_timeline = {
    .title = "Timeline",
    .keys = "Left Right go back and forth  Up Down events  + - zoom  End follow  Enter its agent",
    .open = open_timeline, .close = free, .ask = ask_timeline, .draw = draw_timeline, .key = key_timeline,
};
