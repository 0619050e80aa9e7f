/* view_agents.c - who there is: a row each, the sum of all, and of the selected one everything. */
#include "app/tui/list.h"
#include "app/tui/view.h"
#include <math.h>

struct view_agents {
    struct list list;
    int seen;    /* whom the person looked at when it was drawn last; -1: not drawn yet */
    int rows;    /* of the list, when it was drawn last */
};

enum { WIDE = 100, PARTS_BESIDE = 90, LABEL = 10, DETAIL_ROWS = 7, DETAIL_FROM = 16 /* rows of the box */ };

/* ------------------------------------------------------------------ columns */

enum column { NAME, DOING, BAR, USED, FULL, TURNS, TOOLS, IN, OUT, RATE, FIRST, SHARED, COLUMNS };

/* The lower rank finds room first. */
static const struct { const char *head; int rank, least; } column_of[COLUMNS] = {
    [NAME] = {"agent", 0, 6},        [DOING] = {"does", 2, 0},       [BAR] = {"context", 3, 10},
    [USED] = {"tokens", 1, 13},      [FULL] = {"full in", 4, 9},     [TURNS] = {"turns", 5, 5},
    [TOOLS] = {"calls", 9, 5},       [IN] = {"tokens in", 7, 9},     [OUT] = {"in answers", 8, 10},
    [RATE] = {"tokens/s", 6, 8},     [FIRST] = {"1st token", 10, 9}, [SHARED] = {"shared", 11, 7},
};

struct table {
    int at[COLUMNS], width[COLUMNS]; /* width 0: no room */
};

static uint64_t used(const struct state_agent *a)
{
    uint64_t sum = 0;
    for (int i = 0; i < CONTEXT_RESERVED; i++) sum += a->gauge.part[i];
    return sum;
}

/* When its context is full, as the forecast has it. */
static void full_text(const struct state_agent *a, char *out, size_t n)
{
    int turn = a->growth.noted && a->ctx > 0 ? forecast_turn(&a->growth) : FORECAST_UNKNOWN;
    if (turn == FORECAST_UNKNOWN) snprintf(out, n, "-");
    else if (turn == FORECAST_NEVER) snprintf(out, n, "steady");
    else if (turn == 1) snprintf(out, n, "next turn");
    else if (turn <= 1000) snprintf(out, n, "%d turn%s", turn - 1, turn == 2 ? "" : "s");
    else snprintf(out, n, "far off");
}

static void cell_text(enum column c, const struct state_agent *a, char *out, size_t n)
{
    char x[FIGURE], y[FIGURE];
    switch (c) {
    case NAME: snprintf(out, n, "%s", a->gauge.name); break;
    case DOING: snprintf(out, n, "%s", a->gauge.doing ? a->gauge.doing : agent_state_name(a->gauge.state)); break;
    case USED:
        if (a->ctx > 0) snprintf(out, n, "%s / %s", figure(x, used(a)), figure(y, (uint64_t)a->ctx));
        else snprintf(out, n, "-");
        break;
    case FULL: full_text(a, out, n); break;
    case TURNS: snprintf(out, n, "%s", figure(x, (uint64_t)a->turns)); break;
    case TOOLS: snprintf(out, n, "%s", figure(x, (uint64_t)a->calls)); break;
    case IN: snprintf(out, n, "%s", figure(x, (uint64_t)a->tokens_in)); break;
    case OUT: snprintf(out, n, "%s", figure(x, (uint64_t)a->tokens_out)); break;
    case RATE: snprintf(out, n, "%s", isfinite(a->rate) ? figure_rate(x, a->rate) : "-"); break;
    case FIRST: snprintf(out, n, "%s", isfinite(a->first_token) ? figure_seconds(x, a->first_token) : "-"); break;
    case SHARED: snprintf(out, n, "%s", figure(x, (uint64_t)a->shared)); break;
    default: *out = '\0'; break;
    }
}

/* All together, as one more agent. */
static struct state_agent total_of(const struct state *s)
{
    struct state_agent all = {.rate = 0, .first_token = (double)NAN, .gauge.name = "all"};
    for (int i = 0; i < s->agents; i++) {
        const struct state_agent *a = &s->agent[i];
        for (int k = 0; k < CONTEXT_PARTS; k++) all.gauge.part[k] += a->gauge.part[k];
        all.ctx += a->ctx;
        all.turns += a->turns;
        all.calls += a->calls;
        all.tokens_in += a->tokens_in;
        all.tokens_out += a->tokens_out;
        all.shared += a->shared;
        if (a->gauge.state == AGENT_RUNS && isfinite(a->rate)) all.rate += a->rate;
    }
    return all;
}

/* As wide as what is in it; of what changes all the time, fixed, so that columns stand still. */
static int wanted(enum column c, const struct state *s, const struct state_agent *all, int columns)
{
    char text[64];
    int most = column_of[c].least;
    if (c == DOING) return columns >= WIDE ? 20 : columns >= 60 ? 14 : 11;
    if (c == BAR) return MAX(most, columns / 6);
    for (int i = 0; i <= s->agents; i++) {
        cell_text(c, i < s->agents ? &s->agent[i] : all, text, sizeof text);
        most = MAX(most, surface_columns(text, strlen(text)));
    }
    return c == NAME ? MIN(most, columns >= WIDE ? 20 : 12) : most;
}

static struct table table_of(const struct state *s, const struct state_agent *all, int columns)
{
    struct table t = {0};
    const int gap = columns >= WIDE ? 2 : 1;
    int left = columns - 1; /* the last is list_bar()'s */
    for (int rank = 0; rank < COLUMNS; rank++) {
        for (int c = 0; c < COLUMNS; c++) {
            if (column_of[c].rank != rank) continue;
            int width = wanted((enum column)c, s, all, columns);
            if (rank > 0 && left < width + gap) continue;
            t.width[c] = width;
            left -= width + (rank > 0 ? gap : 0);
        }
    }
    if (t.width[BAR]) t.width[BAR] += MIN(MAX(left, 0), 50);
    for (int c = 0, at = 0; c < COLUMNS; c++) {
        t.at[c] = at;
        if (t.width[c]) at += t.width[c] + gap;
    }
    return t;
}

/* ------------------------------------------------------------------ the table */

static bool is_left(enum column c) { return c == NAME || c == DOING || c == BAR; }

static void put_cell(struct surface *s, struct box b, const struct table *t, enum column c, int row, const char *text,
                     struct look look)
{
    struct box cell = {b.column + t->at[c], b.row + row, MIN(t->width[c], b.columns - t->at[c]), row < b.rows};
    int columns = surface_columns(text, strlen(text));
    surface_puts(s, cell, is_left(c) ? 0 : MAX(cell.columns - columns, 0), 0, text, look);
}

static void draw_heads(struct surface *s, struct box b, const struct table *t, int row)
{
    for (int c = 0; c < COLUMNS; c++)
        if (t->width[c]) put_cell(s, b, t, (enum column)c, row, column_of[c].head, (struct look){.hue = HUE_DIM});
}

static struct look look_of(enum column c, const struct state_agent *a, int number)
{
    if (c == NAME && number >= 0) return (struct look){(uint8_t)(HUE_AGENT + number % HUE_AGENTS), 0, LOOK_BOLD};
    if (c == DOING) return (struct look){.hue = (uint8_t)agent_state_hue(a->gauge.state)};
    if (number < 0) return (struct look){.attr = LOOK_BOLD};
    return (struct look){.hue = c == USED || c == FULL ? HUE_TEXT : HUE_DIM};
}

/* number < 0: all of them. */
static void draw_row(struct surface *s, struct box b, const struct table *t, int row, const struct state_agent *a,
                     int number, bool selected, enum glyphs glyphs)
{
    char text[64];
    surface_fill(s, b, 0, row, b.columns, " ", list_look(selected, (struct look){0}));
    for (int c = 0; c < COLUMNS; c++) {
        if (!t->width[c] || (number < 0 && (c == DOING || c == FULL || c == FIRST))) continue;
        struct look look = look_of((enum column)c, a, number);
        if (selected) look = list_look(true, (struct look){.attr = look.attr}); /* in one colour: a bar across */
        cell_text((enum column)c, a, text, sizeof text);
        if (c == BAR) {
            gauges_context_bar(s, b, t->at[c], row, t->width[c], &a->gauge, glyphs);
        } else if (c == DOING) {
            struct table behind = *t;
            behind.at[c] += 2;
            behind.width[c] -= 2;
            put_cell(s, b, t, DOING, row, agent_state_glyph(a->gauge.state, glyphs), look);
            put_cell(s, b, &behind, DOING, row, text, look);
        } else {
            put_cell(s, b, t, (enum column)c, row, text, look);
        }
    }
}

static void draw_head(struct surface *s, struct box b, const struct state *st, enum glyphs glyphs)
{
    int in[AGENT_STATES] = {0};
    struct words w = {0};
    char n[FIGURE];
    for (int i = 0; i < st->agents; i++) in[st->agent[i].gauge.state]++;
    words_add(&w, HUE_HEAD, 0, "Agents");
    words_add(&w, HUE_TEXT, 1, "%d in all", st->agents);
    for (int i = 0; i < AGENT_STATES; i++)
        if (in[i]) words_add(&w, agent_state_hue((enum agent_state)i), 2, "%d %s", in[i],
                             agent_state_name((enum agent_state)i));
    words_add(&w, HUE_DIM, 3, "engine read %s", figure(n, st->gauges.speed.tokens_in));
    words_add(&w, HUE_DIM, 3, "generated %s with ends", figure(n, st->gauges.speed.tokens_out));
    words_add(&w, HUE_DIM, 4, "%s needed no pre-fill", figure(n, st->gauges.speed.reused));
    if (st->gauges.speed.drafted > 0) words_add(&w, HUE_DIM, 5, "%s no pass", figure(n, st->gauges.speed.drafted));
    words_fit(&w, b.columns, 0);
    words_draw(s, b, 0, 0, &w, 0, glyphs);
}

/* ------------------------------------------------------------------ the selected one */

struct lines {
    struct surface *s;
    struct box b;
    int row;
    enum glyphs glyphs;
};

static void put_line(struct lines *l, const char *label, struct words *w)
{
    if (l->row >= l->b.rows) return;
    surface_puts(l->s, l->b, 0, l->row, label, (struct look){.hue = HUE_DIM});
    words_fit(w, l->b.columns - LABEL, 0);
    words_draw(l->s, l->b, LABEL, l->row++, w, 0, l->glyphs);
}

static void put_wrapped(struct lines *l, const char *label, const char *text, struct look look)
{
    struct box b = {l->b.column + LABEL, l->b.row, MAX(l->b.columns - LABEL, 0), l->b.rows};
    if (l->row < b.rows) surface_puts(l->s, l->b, 0, l->row, label, (struct look){.hue = HUE_DIM});
    for (size_t n = strlen(text), cut; n > 0 && l->row < b.rows && b.columns > 0; text += cut, n -= cut) {
        cut = surface_break(text, n, b.columns);
        surface_text(l->s, b, 0, l->row++, text, cut, look, NULL);
    }
}

static void put_parts(struct lines *l, const struct state_agent *a)
{
    struct words w = {0};
    char n[FIGURE];
    for (int i = 0; i < CONTEXT_PARTS; i++)
        if (a->gauge.part[i])
            words_add(&w, context_part_hue((enum context_part)i), i == CONTEXT_RESERVED, "%s %s",
                      i == CONTEXT_TOOL ? "tools" : context_part_name((enum context_part)i),
                      figure(n, a->gauge.part[i]));
    put_line(l, "context", &w);
}

static void put_limits(struct lines *l, const struct state_agent *a)
{
    struct words w = {0};
    char n[FIGURE];
    if (a->ctx <= 0) words_add(&w, HUE_DIM, 0, "not known before its first turn");
    else words_add(&w, HUE_TEXT, 0, "%s tokens", figure(n, (uint64_t)a->ctx));
    if (a->at_high != HIGH_REFUSES)
        words_add(&w, HUE_TEXT, 0, "the oldest %s above %s", a->at_high == HIGH_SUMS_UP ? "summed up" : "leave",
                  figure(n, (uint64_t)a->high));
    if (a->answer_max > 0) words_add(&w, HUE_TEXT, 1, "answers of %s", figure(n, (uint64_t)a->answer_max));
    else if (a->ctx > 0) words_add(&w, HUE_TEXT, 1, "answers of what is left");
    if (a->rounds > 0) words_add(&w, HUE_TEXT, 1, "%s call%s of tools a turn", figure(n, (uint64_t)a->rounds),
                                  plural(a->rounds));
    put_line(l, "limits", &w);
}

static void put_so_far(struct lines *l, const struct state_agent *a)
{
    struct words w = {0};
    char n[FIGURE];
    words_add(&w, HUE_TEXT, 0, "%s turn%s", figure(n, (uint64_t)a->turns), a->turns == 1 ? "" : "s");
    words_add(&w, HUE_TEXT, 1, "%s tokens read", figure(n, (uint64_t)a->tokens_in));
    words_add(&w, HUE_TEXT, 1, "%s in answers", figure(n, (uint64_t)a->tokens_out));
    words_add(&w, HUE_TEXT, 2, "%s call%s of tools", figure(n, (uint64_t)a->calls), a->calls == 1 ? "" : "s");
    if (*a->end) words_add(&w, a->failed ? HUE_ERROR : HUE_DIM, 1, "the last ended: %s", a->end);
    put_line(l, "so far", &w);
}

static void put_speed(struct lines *l, const struct state_agent *a)
{
    struct words w = {0};
    char n[FIGURE];
    if (isfinite(a->rate)) words_add(&w, HUE_TEXT, 0, "%s tokens/s", figure_rate(n, a->rate));
    if (isfinite(a->first_token))
        words_add(&w, HUE_TEXT, 1, "first token after %s", figure_seconds(n, a->first_token));
    if (w.n == 0) words_add(&w, HUE_DIM, 0, "known after its first answer");
    put_line(l, "speed", &w);
}

static void put_holds(struct lines *l, const struct state_agent *a)
{
    struct words w = {0};
    char n[FIGURE];
    if (a->running + a->waiting + a->parked == 0) words_add(&w, HUE_DIM, 0, "no request now");
    if (a->running) words_add(&w, HUE_OK, 0, "%s in work", figure(n, (uint64_t)a->running));
    if (a->waiting) words_add(&w, HUE_WARN, 0, "%s waiting for room", figure(n, (uint64_t)a->waiting));
    if (a->parked) words_add(&w, HUE_PARKED, 0, "%s parked", figure(n, (uint64_t)a->parked));
    if (a->shared) words_add(&w, HUE_SHARED, 1, "%s token%s in pages that others read too",
                             figure(n, (uint64_t)a->shared), plural(a->shared));
    put_line(l, "requests", &w);
}

static void put_next(struct lines *l, const struct state *st, int agent)
{
    const struct state_agent *a = &st->agent[agent];
    char words[200];
    state_forecast(st, agent, words);
    if (*words) put_wrapped(l, "forecast", words, (struct look){.hue = HUE_WARN});
    else if (a->growth.noted && forecast_turn(&a->growth) == FORECAST_NEVER)
        put_wrapped(l, "forecast", "its context does not grow", (struct look){.hue = HUE_DIM});
    else put_wrapped(l, "forecast", "known after two turns", (struct look){.hue = HUE_DIM});
}

/* What happened to it, the newest first, as much as there is room for. */
static void put_lately(struct lines *l, const struct timeline *t, int agent)
{
    char clock[FIGURE];
    const char *label = "lately";
    for (int i = t->marks - 1; i >= 0 && l->row < l->b.rows; i--) {
        if (t->mark[i].agent != agent) continue;
        surface_puts(l->s, l->b, 0, l->row, label, (struct look){.hue = HUE_DIM});
        surface_printf(l->s, l->b, LABEL, l->row, (struct look){.hue = HUE_DIM}, "%7s",
                       timeline_clock(clock, (double)t->mark[i].time));
        surface_puts(l->s, l->b, LABEL + 9, l->row++, t->mark[i].text, (struct look){0});
        label = "";
    }
}

static void draw_detail(struct surface *s, struct box b, const struct view_in *in, int agent)
{
    const struct state_agent *a = &in->state->agent[agent];
    const bool beside = b.columns >= PARTS_BESIDE && b.rows > CONTEXT_PARTS;
    struct lines l = {s, {b.column, b.row + 1, b.columns, b.rows - 1}, 0, in->glyphs};
    surface_fill(s, b, 0, 0, b.columns, bar_glyph(BAR_THIN, in->glyphs), (struct look){.hue = HUE_DIM});
    surface_printf(s, b, 2, 0, look_of(NAME, a, agent), " %s ", a->gauge.name);
    if (beside) {
        gauges_context(s, (struct box){b.column, b.row + 1, 30, CONTEXT_PARTS}, &a->gauge, in->glyphs);
        l.b.column += 34;
        l.b.columns -= 34;
    } else {
        put_parts(&l, a);
    }
    put_limits(&l, a);
    put_so_far(&l, a);
    put_speed(&l, a);
    put_holds(&l, a);
    put_next(&l, in->state, agent);
    put_lately(&l, &in->state->timeline, agent);
}

/* ------------------------------------------------------------------ the view */

static void *open_agents(void)
{
    struct view_agents *v = calloc(1, sizeof *v);
    if (v) v->seen = -1;
    return v;
}

static void ask_agents(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)b, (void)in, (void)out; /* the state has all of it */
}

static void draw_nobody(struct surface *s, struct box b)
{
    surface_puts(s, b, 0, 0, "Agents", (struct look){.hue = HUE_HEAD});
    surface_puts(s, b, 0, 2, "Nobody has been asked yet.", (struct look){0});
    surface_puts(s, b, 0, 3, "Who answers is listed here from the first", (struct look){.hue = HUE_DIM});
    surface_puts(s, b, 0, 4, "turn on; --crew NAME brings several.", (struct look){.hue = HUE_DIM});
}

static void draw_agents(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view_agents *v = self;
    const struct state *st = in->state;
    surface_clear(s, b, (struct look){0});
    if (st->agents == 0) {
        draw_nobody(s, b);
        return;
    }
    if (in->agent != v->seen) v->list.selected = in->agent;
    v->seen = in->agent;
    const struct state_agent all = total_of(st);
    const struct table t = table_of(st, &all, b.columns);
    const bool sums = st->agents > 1 && b.rows >= 6;
    const int detail = b.rows >= DETAIL_FROM ? DETAIL_ROWS : 0;
    const int room = MAX(b.rows - 2 - sums - (detail ? detail + 1 : 0), 1);
    v->rows = MIN(room, st->agents);
    list_fit(&v->list, st->agents, v->rows);
    draw_head(s, b, st, in->glyphs);
    draw_heads(s, b, &t, 1);
    struct box rows = {b.column, b.row + 2, b.columns, MIN(v->rows, MAX(b.rows - 2, 0))};
    for (int i = 0; i < rows.rows; i++) {
        int agent = v->list.top + i;
        draw_row(s, rows, &t, i, &st->agent[agent], agent, agent == v->list.selected, in->glyphs);
    }
    list_bar(s, rows, st->agents, v->list.top);
    if (sums) draw_row(s, b, &t, 2 + rows.rows, &all, -1, false, in->glyphs);
    const int below = 2 + rows.rows + sums + 1;
    const struct box rest = {b.column, b.row + below, b.columns, MAX(b.rows - below, 0)};
    struct lines next = {s, rest, 0, in->glyphs};
    if (detail) draw_detail(s, rest, in, v->list.selected);
    else put_next(&next, st, v->list.selected);
}

/* An order for the agent, where its name is one word of a command line. */
static void order(struct view_out *out, const char *command, const char *name)
{
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f) return;
    buf_printf(&out->order, *name ? "%s %s" : "%s", command, name);
}

static bool act(struct view_out *out, uint32_t rune, const struct state_agent *a)
{
    switch (rune) {
    case 'c': order(out, "/cancel", a->name); return true;
    case 'x': buf_puts(&out->order, "/cancel"); return true;
    case 'a': order(out, "/park", a->name); return true;
    case 'p': out->go = VIEW_MAP; return true;
    case 'i': out->go = VIEW_INSPECT; return true;
    default: return false;
    }
}

static bool key_agents(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view_agents *v = self;
    const struct state *st = in->state;
    if (st->agents == 0) return false;
    list_fit(&v->list, st->agents, v->rows);
    bool known = list_key(&v->list, k, st->agents, v->rows);
    const struct state_agent *a = &st->agent[v->list.selected];
    if (k->name == KEY_ENTER && !k->mods) {
        if (*a->name) order(out, "/use", a->name);
        out->leave = known = true;
    } else if (!known && k->name == KEY_CHAR && !k->mods) {
        known = act(out, k->rune, a);
    }
    if (known) out->agent = v->list.selected;
    return known;
}

const struct view_ops view_agents = {
    .title = "Agents",
    .keys = "Enter talk to it  c cancel its turn  x cancel all  a park it  p its pages  i its context",
    .open = open_agents, .close = free, .ask = ask_agents, .draw = draw_agents, .key = key_agents,
};
