/* gauges.c - lines of a bar with words, and the line of speeds.  Words of rank 0 are the last to be left out. */
#include "app/tui/gauges.h"

#include <math.h>

enum { LABEL = 9, SPARK_MOST = 16 };

struct line {
    const char *label;
    struct bar_part part[BAR_PARTS];
    int parts;
    struct words words;
};

static struct bar_part *add_part(struct line *l, uint64_t size, enum hue hue, enum bar_glyph glyph)
{
    struct bar_part *p = &l->part[l->parts++];
    *p = (struct bar_part){.size = size, .hue = (uint8_t)hue, .glyph = (uint8_t)glyph};
    return p;
}

/* ------------------------------------------------------------------ memory */

enum { DEVICE_PARTS = 8 };
static const struct { const char *name; enum hue hue; enum bar_glyph glyph; } device_part[DEVICE_PARTS] = {
    {"weights", HUE_WEIGHTS, BAR_FULL}, {"KV filled", HUE_KV, BAR_DARK},    {"KV unfilled", HUE_RESERVED, BAR_LIGHT},
    {"work", HUE_WORK, BAR_MEDIUM},     {"tables", HUE_WORK, BAR_LINES},    {"context", HUE_CONTEXT, BAR_SLASH},
    {"outside", HUE_OUTSIDE, BAR_BACKSLASH}, {"free", HUE_FREE, BAR_DOT},
};
enum { WEIGHTS, KV_FILLED, KV_UNFILLED, WORK, OUTSIDE = 6, FREE = 7 };

static uint64_t add_up(const uint64_t *size, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (size_add(sum, size[i], &sum)) return UINT64_MAX;
    return sum;
}

struct device_figures { /* in units; all parts together are the whole */
    int64_t part[DEVICE_PARTS], whole;
    struct bar_unit unit;
    bool unknown;
};

static void part_word(struct words *w, const char *name, int i, int64_t n)
{
    char a[FIGURE];
    words_add(w, device_part[i].hue, 1, "%s %s", name, figure_signed(a, n))->glyph = (int8_t)device_part[i].glyph;
}

/* Each part; or but for weights and KV pool and free the sum of them; or the pool as one, too. */
enum detail { EACH, OTHERS_JOINED, POOL_JOINED, DETAILS };

static void device_words(struct words *w, const struct device_figures *f, enum detail detail)
{
    int64_t other = 0;
    char a[FIGURE], b[FIGURE];
    w->n = 0;
    if (f->unknown) words_add(w, HUE_TEXT, 0, "%s %s ours", figure_signed(a, f->whole), f->unit.name);
    else words_add(w, HUE_TEXT, 0, "%s of %s %s", figure_signed(a, f->whole - f->part[FREE]),
                   figure_signed(b, f->whole), f->unit.name);
    part_word(w, device_part[WEIGHTS].name, WEIGHTS, f->part[WEIGHTS]);
    if (detail == POOL_JOINED) part_word(w, "KV", KV_FILLED, f->part[KV_FILLED] + f->part[KV_UNFILLED]);
    for (int i = KV_FILLED; i <= KV_UNFILLED && detail != POOL_JOINED; i++)
        part_word(w, device_part[i].name, i, f->part[i]);
    for (int i = WORK; i < FREE; i++) {
        if (detail == EACH && f->part[i]) part_word(w, device_part[i].name, i, f->part[i]);
        other += f->part[i];
    }
    if (detail != EACH) part_word(w, "other", WORK, other);
    if (!f->unknown) part_word(w, device_part[FREE].name, FREE, f->part[FREE]);
}

static void without_legend(struct words *w)
{
    for (int i = 0; i < w->n; i++) w->word[i].glyph = -1;
}

/* As much detail as has room. */
static void device_fit(struct words *w, const struct device_figures *f, int room, bool legend)
{
    for (int detail = EACH; detail < DETAILS; detail++) {
        device_words(w, f, (enum detail)detail);
        if (!legend) without_legend(w);
        const int wanted = w->n;
        words_fit(w, room, 0);
        if (w->n == wanted) return;
    }
    w->n = w->n > 0 && w->word[0].rank == 0; /* the whole alone: some of the parts would not add up */
}

/* What is ours but not taken yet lies in free, too: the bar shows it as ours, and outside's number is below 0 by it. */
static void device_line(struct line *l, const struct gauge_device *d, int room, bool legend)
{
    const uint64_t late = d->outside < 0 && !d->unknown ? MIN(-(uint64_t)d->outside, d->free) : 0;
    const uint64_t bar[DEVICE_PARTS] = {d->weights, d->kv_filled, d->kv_unfilled, d->work, d->tables, d->context,
                                        d->outside > 0 && !d->unknown ? (uint64_t)d->outside : 0,
                                        d->unknown ? 0 : d->free - late};
    const uint64_t total = add_up(bar, DEVICE_PARTS);
    struct device_figures f = {.unit = bar_unit(total), .unknown = d->unknown};
    uint64_t share[DEVICE_PARTS];
    f.whole = (int64_t)bar_units(total, f.unit);
    bar_shares(bar, DEVICE_PARTS, (uint64_t)f.whole, share);
    for (int i = 0; i < DEVICE_PARTS; i++) {
        add_part(l, bar[i], device_part[i].hue, device_part[i].glyph);
        f.part[i] = (int64_t)share[i];
    }
    f.part[OUTSIDE] -= (int64_t)bar_units(late, f.unit);
    f.part[FREE] += (int64_t)bar_units(late, f.unit);
    l->label = d->label;
    device_fit(&l->words, &f, room, legend);
}

/* The words that have room; without the whole, the first of them, none. */
static void line_fit(struct line *l, int room, bool legend)
{
    if (!legend) without_legend(&l->words);
    words_fit(&l->words, room, 0);
    if (l->words.n > 0 && l->words.word[0].rank > 0) l->words.n = 0;
}

static void machine_line(struct line *l, const struct gauge_machine *m, int room, bool legend)
{
    static const char *const name[] = {"plimsoll", "others", "free"};
    const uint64_t size[] = {m->ours, m->outside, m->free};
    const enum hue hue[] = {HUE_WEIGHTS, HUE_OUTSIDE, HUE_FREE};
    const uint64_t total = add_up(size, 3);
    const struct bar_unit u = bar_unit(total);
    uint64_t share[3];
    char a[FIGURE], b[FIGURE];
    bar_shares(size, 3, bar_units(total, u), share);
    l->label = "machine";
    words_add(&l->words, HUE_DIM, 0, "%s of %s %s", figure(a, share[0] + share[1]), figure(b, bar_units(total, u)),
              u.name);
    for (int i = 0; i < 3; i++) {
        add_part(l, size[i], hue[i], (enum bar_glyph)(BAR_THICK + i));
        words_add(&l->words, hue[i], i + 1, "%s %s", name[i], figure(a, share[i]))->glyph = (int8_t)(BAR_THICK + i);
    }
    if (m->resident > 0) words_add(&l->words, HUE_DIM, 4, "resident %s", figure(a, bar_units(m->resident, u)));
    line_fit(l, room, legend);
}

enum { NOTHING = 4 }; /* added to the rank of a figure that is 0 */
enum { ROOM_PAGES = 26, ROOM_FILLED = 60 }; /* columns from which on the whole is told in more words */

static void kv_line(struct line *l, const struct gauge_kv *kv, int room, bool legend)
{
    static const struct { const char *name; enum hue hue; enum bar_glyph glyph; int rank; } part[] = {
        {"own", HUE_KV, BAR_FULL, 4},
        {"shared", HUE_SHARED, BAR_SLASH, 2},
        {"cached", HUE_SUMMARY, BAR_MEDIUM, 4},
        {"reserved", HUE_RESERVED, BAR_LIGHT, 1},
        {"free", HUE_FREE, BAR_DOT, 1},
    };
    const uint64_t size[] = {kv->own, kv->shared, kv->cached, kv->reserved, kv->free};
    char a[FIGURE], b[FIGURE];
    l->label = "KV";
    words_add(&l->words, HUE_TEXT, 0, "%s of %s%s", figure(a, add_up(size, 3) + kv->both), figure(b, add_up(size, 5)),
              room >= ROOM_FILLED ? " pages filled" : room >= ROOM_PAGES ? " pages" : "");
    for (int i = 0; i < 5; i++) {
        add_part(l, size[i], part[i].hue, part[i].glyph);
        const int rank = size[i] ? part[i].rank : part[i].rank + NOTHING; /* what there is none of goes first */
        struct word *w = words_add(&l->words, part[i].hue, rank, "%s %s", part[i].name, figure(a, size[i]));
        w->glyph = (int8_t)part[i].glyph;
        if (i != 3 || kv->both == 0) continue;
        words_add(&l->words, HUE_DIM, 5 + NOTHING, "(%s cached still)", figure(a, kv->both));
    }
    words_add(&l->words, HUE_PARKED, kv->parked ? 3 : 3 + NOTHING, "parked %s", figure(a, kv->parked));
    line_fit(l, room, legend);
}

/* ------------------------------------------------------------------ speed */

/* How many bytes of a name take at most so many columns and bytes: whole clusters. */
static int name_cut(const char *name, int columns, size_t bytes)
{
    size_t n = strlen(name), at = 0;
    while (at < n) {
        struct cluster c = surface_cluster(name + at, n - at, 0);
        if (c.columns > columns || c.bytes > bytes - at) break;
        columns -= c.columns;
        at += c.bytes;
    }
    return (int)at;
}

enum { QUEUE_NAME = 16, QUEUE_NAME_BYTES = 40 };

static void queue_word(struct words *w, const struct gauge_speed *p)
{
    char a[FIGURE], b[FIGURE], pages[FIGURE + 16] = "";
    if (p->queue_pages > 0) snprintf(pages, sizeof pages, ", %s pages", figure(b, p->queue_pages));
    if (p->queue > 0 && p->queue_first)
        words_add(w, HUE_WARN, 1, "queue %s (%.*s%s)", figure(a, (uint64_t)p->queue),
                  name_cut(p->queue_first, QUEUE_NAME, QUEUE_NAME_BYTES), p->queue_first, pages);
    else words_add(w, p->queue > 0 ? HUE_WARN : HUE_DIM, 1, "queue %s", figure(a, (uint64_t)MAX(p->queue, 0)));
}

static void gpu_word(struct words *w, const struct gauge_speed *p)
{
    char load[FIGURE] = "", heat[FIGURE] = "", power[FIGURE] = "";
    if (p->gpu_load >= 0) snprintf(load, sizeof load, " %d %%", p->gpu_load);
    if (p->gpu_celsius >= 0) snprintf(heat, sizeof heat, " %d C", p->gpu_celsius);
    if (p->gpu_watts >= 0) snprintf(power, sizeof power, " %d W", p->gpu_watts);
    if (*load || *heat || *power) words_add(w, HUE_DIM, 4, "GPU%s%s%s", load, heat, power);
}

/* How full it is, and beside that, where there is room, who fills it. */
static void server_words(struct words *w, const struct gauge_speed *p)
{
    char run[FIGURE + 8] = "", wait[FIGURE + 8] = "", back[FIGURE + 16] = "", a[FIGURE];
    const bool pool = p->server.kv_permille >= 0;
    const bool full = p->server.kv_permille >= 900 || p->server.waiting > 0 || p->server.preempted > 0;
    const enum hue hue = full ? HUE_WARN : HUE_TEXT;
    if (!p->server.there) return;
    if (p->server.running >= 0) snprintf(run, sizeof run, " run %s", figure(a, (uint64_t)p->server.running));
    if (p->server.waiting >= 0) snprintf(wait, sizeof wait, " wait %s", figure(a, (uint64_t)p->server.waiting));
    if (p->server.preempted > 0) snprintf(back, sizeof back, " preempted %s", figure(a, (uint64_t)p->server.preempted));
    if (pool) words_add(w, hue, 1, "server KV %d %%", (MIN(p->server.kv_permille, 1000) + 5) / 10);
    if (*run || *wait || *back) words_add(w, hue, pool ? 2 : 1, "%s%s%s%s", pool ? "its" : "server", run, wait, back);
}

static void speed_words(struct words *w, const struct gauge_speed *p)
{
    char a[FIGURE];
    struct word *word = words_add(w, HUE_TEXT, 0, "pre-fill %s t/s", figure_rate(a, p->prefill));
    word->past = p->prefill_past;
    word->n_past = p->past;
    word = words_add(w, HUE_TEXT, 0, "decode %s t/s", figure_rate(a, p->decode));
    word->past = p->decode_past;
    word->n_past = p->past;
    words_add(w, HUE_DIM, 2, "%s stream%s", figure(a, (uint64_t)MAX(p->streams, 0)), p->streams == 1 ? "" : "s");
    words_add(w, HUE_TEXT, 2, "first token %s", figure_seconds(a, p->first_token));
    queue_word(w, p);
    server_words(w, p);
    words_add(w, HUE_DIM, 3, "in %s", figure(a, p->tokens_in));
    words_add(w, HUE_DIM, 3, "out %s", figure(a, p->tokens_out));
    words_add(w, HUE_SHARED, 3, "reused %s", figure(a, p->reused));
    if (p->drafted > 0) words_add(w, HUE_SHARED, 4, "drafted %s", figure(a, p->drafted));
    gpu_word(w, p);
}

static void speed_draw(struct surface *s, struct box b, int row, const struct gauge_speed *p, enum glyphs glyphs)
{
    struct words w = {0};
    int spark = MIN(MAX(b.columns / 15, 5), SPARK_MOST);
    speed_words(&w, p);
    words_fit(&w, b.columns - 2, spark);
    words_draw(s, b, 1, row, &w, spark, glyphs);
}

/* ------------------------------------------------------------------ the block */

int gauges_rows(int columns, bool machine) { return columns < GAUGES_FULL ? 2 : 3 + machine; }

/* A line in a box of one row: its label, a bar of so many columns, its words. */
static void line_draw(struct surface *s, struct box b, const struct line *l, int label, int bar, enum glyphs glyphs)
{
    struct box left = {b.column, b.row, MIN(label - 1, b.columns), 1};
    surface_puts(s, left, 1, 0, l->label ? l->label : "", (struct look){.hue = HUE_HEAD});
    bar_draw(s, b, label, 0, bar, l->part, l->parts, glyphs);
    words_draw(s, b, label + bar + 1, 0, &l->words, 0, glyphs);
}

/* Columns for words beside a label and a bar, which keeps a quarter. */
static int room_for(int columns, int label) { return columns - label - 2 - columns / 4; }

/* Bars of the same length below each other: the longest words decide. */
static void lines_draw(struct surface *s, struct box b, struct line *l, int n, int label, enum glyphs glyphs)
{
    int words = 0;
    for (int i = 0; i < n; i++) words = MAX(words, words_columns(&l[i].words, 0));
    const int bar = b.columns - label - 2 - words;
    for (int i = 0; i < n; i++)
        line_draw(s, (struct box){b.column, b.row + i, b.columns, 1}, &l[i], label, bar, glyphs);
}

static void draw_short(struct surface *s, struct box b, const struct gauges *g, enum glyphs glyphs)
{
    const struct box left = {b.column, b.row, b.columns / 2, 1};
    const struct box right = {b.column + left.columns, b.row, b.columns - left.columns, 1};
    struct line device = {0}, kv = {0};
    device_line(&device, &g->device, room_for(left.columns, LABEL - 1), false);
    kv_line(&kv, &g->kv, room_for(right.columns, 4), false);
    lines_draw(s, left, &device, 1, LABEL - 1, glyphs);
    lines_draw(s, right, &kv, 1, 4, glyphs);
    if (b.rows > 1) speed_draw(s, b, 1, &g->speed, glyphs);
}

void gauges_draw(struct surface *s, struct box b, const struct gauges *g, enum glyphs glyphs)
{
    const bool legend = b.columns >= GAUGES_WIDE, full = b.columns >= GAUGES_FULL;
    struct line line[3] = {0};
    int n = 0;
    if (b.rows <= 0 || b.columns <= 0) return;
    surface_clear(s, b, (struct look){0});
    b.rows = MIN(b.rows, gauges_rows(b.columns, g->machine.there));
    if (b.columns >= GAUGES_SHORT && !full) {
        draw_short(s, b, g, glyphs);
        return;
    }
    const int room = room_for(b.columns, LABEL);
    device_line(&line[n++], &g->device, room, legend);
    if (g->machine.there && full) machine_line(&line[n++], &g->machine, room, legend);
    kv_line(&line[n++], &g->kv, room, legend);
    lines_draw(s, b, line, MIN(n, b.rows), LABEL, glyphs);
    if (full && n < b.rows) speed_draw(s, b, n, &g->speed, glyphs);
}

/* ------------------------------------------------------------------ contexts of agents */

static const struct { const char *name; enum hue hue; enum bar_glyph glyph; } context_of[CONTEXT_PARTS] = {
    [CONTEXT_SYSTEM] = {"system", HUE_SYSTEM, BAR_DARK},      [CONTEXT_PINNED] = {"pinned", HUE_PINNED, BAR_BACKSLASH},
    [CONTEXT_SUMMARY] = {"summary", HUE_SUMMARY, BAR_MEDIUM}, [CONTEXT_HISTORY] = {"history", HUE_HISTORY, BAR_FULL},
    [CONTEXT_TOOL] = {"tool results", HUE_TOOL, BAR_SLASH},   [CONTEXT_ANSWER] = {"answering", HUE_ANSWER, BAR_LINES},
    [CONTEXT_RESERVED] = {"reserved", HUE_RESERVED, BAR_LIGHT}, [CONTEXT_FREE] = {"free", HUE_FREE, BAR_DOT},
};

const char *context_part_name(enum context_part p) { return context_of[p].name; }
enum hue context_part_hue(enum context_part p) { return context_of[p].hue; }
const char *context_part_glyph(enum context_part p, enum glyphs glyphs)
{
    return bar_glyph(context_of[p].glyph, glyphs);
}

static const struct { const char *name, *sign[GLYPHS_SETS]; enum hue hue; } state_of[AGENT_STATES] = {
    [AGENT_IDLE] = {"waits", {"-", "·"}, HUE_DIM},     [AGENT_RUNS] = {"runs", {">", "▶"}, HUE_OK},
    [AGENT_TOOL] = {"tool", {"*", "◆"}, HUE_TOOL},     [AGENT_QUEUED] = {"queued", {"o", "○"}, HUE_WARN},
    [AGENT_PARKED] = {"parked", {"v", "▽"}, HUE_PARKED}, [AGENT_FAILED] = {"failed", {"!", "✗"}, HUE_ERROR},
};

const char *agent_state_name(enum agent_state s) { return state_of[s].name; }
enum hue agent_state_hue(enum agent_state s) { return state_of[s].hue; }
const char *agent_state_glyph(enum agent_state s, enum glyphs glyphs) { return state_of[s].sign[glyphs]; }

static void context_parts(struct line *l, const struct gauge_agent *a)
{
    for (int i = 0; i < CONTEXT_PARTS; i++) add_part(l, a->part[i], context_of[i].hue, context_of[i].glyph);
}

void gauges_context_bar(struct surface *s, struct box b, int column, int row, int columns,
                        const struct gauge_agent *agent, enum glyphs glyphs)
{
    struct line l = {0};
    context_parts(&l, agent);
    bar_draw(s, b, column, row, columns, l.part, l.parts, glyphs);
}

static void context_line(struct line *l, const struct gauge_agent *a)
{
    char used[FIGURE], all[FIGURE];
    context_parts(l, a);
    words_add(&l->words, HUE_TEXT, 0, "%s / %s", figure(used, add_up(a->part, CONTEXT_RESERVED)),
              figure(all, add_up(a->part, CONTEXT_PARTS)));
}

/* The bar with its figures, bars of all agents being as long as the longest figures leave room for. */
static void context_bar(struct surface *s, struct box b, const struct gauge_agent *a, int words, enum glyphs glyphs)
{
    struct line l = {0};
    context_line(&l, a);
    bar_draw(s, b, 0, 0, b.columns - words - 1, l.part, l.parts, glyphs);
    words_draw(s, b, b.columns - words, 0, &l.words, 0, glyphs);
}

void gauges_context_line(struct surface *s, struct box b, const struct gauge_agent *agent, enum glyphs glyphs)
{
    struct line l = {0};
    context_line(&l, agent);
    context_bar(s, b, agent, words_columns(&l.words, 0), glyphs);
}

static void agent_name(struct surface *s, struct box b, const struct gauge_agent *a)
{
    const int number = ((a->number % HUE_AGENTS) + HUE_AGENTS) % HUE_AGENTS;
    const struct look look = {.hue = (uint8_t)(HUE_AGENT + number), .attr = LOOK_BOLD};
    surface_puts(s, b, 0, 0, a->name ? a->name : "", look);
}

static void agent_doing(struct surface *s, struct box b, const struct gauge_agent *a, enum glyphs glyphs)
{
    const struct look look = {.hue = (uint8_t)state_of[a->state].hue};
    surface_puts(s, b, 0, 0, state_of[a->state].sign[glyphs], look);
    surface_puts(s, b, 2, 0, a->doing ? a->doing : state_of[a->state].name, look);
}

static struct box part_of(struct box b, int column, int row, int columns)
{
    return (struct box){b.column + column, b.row + row, MAX(columns, 0), 1};
}

void gauges_agents(struct surface *s, struct box b, const struct gauge_agent *agent, int n, enum glyphs glyphs)
{
    const int each = 2 * n <= b.rows ? 2 : 1, name = b.columns * 2 / 5;
    int fit = MIN(n, MAX(b.rows, 0) / each), words = 0;
    surface_clear(s, b, (struct look){0});
    if (b.columns <= 0 || b.rows <= 0) return;
    if (fit < n) fit = b.rows - 1; /* the last row counts the others */
    for (int i = 0; i < fit; i++) {
        struct line l = {0};
        context_line(&l, &agent[i]);
        words = MAX(words, words_columns(&l.words, 0));
    }
    for (int i = 0; i < fit; i++) {
        agent_name(s, part_of(b, 0, i * each, name), &agent[i]);
        if (each == 2) agent_doing(s, part_of(b, name + 1, i * each, b.columns - name - 1), &agent[i], glyphs);
        struct box bar = each == 2 ? part_of(b, 0, i * each + 1, b.columns)
                                   : part_of(b, name + 1, i * each, b.columns - name - 1);
        context_bar(s, bar, &agent[i], words, glyphs);
    }
    if (fit < n) surface_printf(s, b, 0, b.rows - 1, (struct look){.hue = HUE_DIM}, "and %d more", n - fit);
}

void gauges_context(struct surface *s, struct box b, const struct gauge_agent *agent, enum glyphs glyphs)
{
    int row = 0;
    char a[FIGURE];
    surface_clear(s, b, (struct look){0});
    for (int i = 0; i < CONTEXT_PARTS; i++) {
        const struct look look = {.hue = (uint8_t)context_of[i].hue};
        if (agent->part[i] == 0 && b.rows < CONTEXT_PARTS) continue;
        surface_puts(s, b, 0, row, context_part_glyph((enum context_part)i, glyphs), look);
        surface_puts(s, b, 2, row, context_of[i].name, look);
        figure(a, agent->part[i]);
        surface_puts(s, b, MIN(b.columns, 28) - (int)strlen(a), row++, a, look);
    }
}
