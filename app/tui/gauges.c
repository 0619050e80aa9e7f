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
static const struct { const char *name; enum hue hue; enum bar_glyph glyph; int rank; } device_part[DEVICE_PARTS] = {
    {"weights", HUE_WEIGHTS, BAR_FULL, 1},      {"KV filled", HUE_KV, BAR_DARK, 1},
    {"KV unfilled", HUE_RESERVED, BAR_LIGHT, 2}, {"work", HUE_WORK, BAR_MEDIUM, 3},
    {"tables", HUE_WORK, BAR_LINES, 4},         {"context", HUE_CONTEXT, BAR_SLASH, 4},
    {"outside", HUE_OUTSIDE, BAR_BACKSLASH, 3}, {"free", HUE_FREE, BAR_DOT, 1},
};
enum { OUTSIDE = 6, FREE = 7 };

static uint64_t add_up(const uint64_t *size, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (size_add(sum, size[i], &sum)) return UINT64_MAX;
    return sum;
}

/* Bytes in units, rounded. */
static uint64_t units(uint64_t bytes, struct bar_unit u) { return bytes / u.bytes + (bytes % u.bytes >= u.bytes / 2); }

/* What is ours but not taken yet lies in free twice over: the bar shows it as ours, the number of outside says so. */
static void device_line(struct line *l, const struct gauge_device *d)
{
    const uint64_t late = d->outside < 0 ? -(uint64_t)d->outside : 0;
    const uint64_t outside = d->outside > 0 ? (uint64_t)d->outside : 0;
    const uint64_t bar[DEVICE_PARTS] = {d->weights, d->kv_filled, d->kv_unfilled, d->work, d->tables, d->context,
                                        d->unknown ? 0 : outside, d->unknown ? 0 : d->free - MIN(late, d->free)};
    const uint64_t total = add_up(bar, DEVICE_PARTS);
    const struct bar_unit u = bar_unit(total);
    uint64_t share[DEVICE_PARTS];
    char a[FIGURE], b[FIGURE];
    const uint64_t whole = units(total, u), hidden = units(MIN(late, d->free), u);
    bar_shares(bar, DEVICE_PARTS, whole, share);
    l->label = d->label;
    for (int i = 0; i < DEVICE_PARTS; i++) add_part(l, bar[i], device_part[i].hue, device_part[i].glyph);
    if (d->unknown) words_add(&l->words, HUE_TEXT, 0, "%s %s ours", figure(a, whole), u.name);
    else words_add(&l->words, HUE_TEXT, 0, "%s of %s %s", figure(a, whole - share[FREE]), figure(b, whole), u.name);
    for (int i = 0; i < DEVICE_PARTS; i++) {
        if (d->unknown && (i == OUTSIDE || i == FREE)) continue;
        int64_t n = (int64_t)share[i];
        if (i == OUTSIDE && hidden) n = -(int64_t)hidden;
        if (i == FREE) n += (int64_t)hidden;
        if (n == 0 && device_part[i].rank > 2) continue;
        words_add(&l->words, device_part[i].hue, device_part[i].rank, "%s %s", device_part[i].name, figure_signed(a, n))
            ->glyph = (int8_t)device_part[i].glyph;
    }
}

static void machine_line(struct line *l, const struct gauge_machine *m)
{
    static const char *const name[] = {"plimsoll", "others", "free"};
    const uint64_t size[] = {m->ours, m->outside, m->free};
    const enum hue hue[] = {HUE_WEIGHTS, HUE_OUTSIDE, HUE_FREE};
    const uint64_t total = add_up(size, 3);
    const struct bar_unit u = bar_unit(total);
    uint64_t share[3];
    char a[FIGURE], b[FIGURE];
    bar_shares(size, 3, units(total, u), share);
    l->label = "machine";
    words_add(&l->words, HUE_DIM, 0, "%s of %s %s", figure(a, share[0] + share[1]), figure(b, units(total, u)), u.name);
    for (int i = 0; i < 3; i++) {
        add_part(l, size[i], hue[i], (enum bar_glyph)(BAR_THICK + i));
        words_add(&l->words, hue[i], i + 1, "%s %s", name[i], figure(a, share[i]))->glyph = (int8_t)(BAR_THICK + i);
    }
}

static void kv_line(struct line *l, const struct gauge_kv *kv)
{
    static const struct { const char *name; enum hue hue; enum bar_glyph glyph; int rank; } part[] = {
        {"own", HUE_KV, BAR_FULL, 3},
        {"shared", HUE_SHARED, BAR_SLASH, 1},
        {"cached", HUE_SUMMARY, BAR_MEDIUM, 3},
        {"reserved", HUE_RESERVED, BAR_LIGHT, 1},
        {"free", HUE_FREE, BAR_DOT, 1},
    };
    const uint64_t size[] = {kv->own, kv->shared, kv->cached, kv->reserved, kv->free};
    char a[FIGURE], b[FIGURE];
    l->label = "KV";
    words_add(&l->words, HUE_TEXT, 0, "%s of %s pages", figure(a, add_up(size, 3)), figure(b, add_up(size, 5)));
    for (int i = 0; i < 5; i++) {
        add_part(l, size[i], part[i].hue, part[i].glyph);
        words_add(&l->words, part[i].hue, part[i].rank, "%s %s", part[i].name, figure(a, size[i]))->glyph =
            (int8_t)part[i].glyph;
    }
    words_add(&l->words, HUE_PARKED, 2, "parked %s", figure(a, kv->parked));
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
    char a[FIGURE], b[FIGURE];
    if (p->queue > 0 && p->queue_first)
        words_add(w, HUE_WARN, 1, "queue %s (%.*s, needs %s pages)", figure(a, (uint64_t)p->queue),
                  name_cut(p->queue_first, QUEUE_NAME, QUEUE_NAME_BYTES), p->queue_first, figure(b, p->queue_pages));
    else words_add(w, p->queue > 0 ? HUE_WARN : HUE_DIM, 1, "queue %s", figure(a, (uint64_t)MAX(p->queue, 0)));
}

static void gpu_words(struct words *w, const struct gauge_speed *p)
{
    if (p->gpu_load >= 0) words_add(w, HUE_DIM, 4, "GPU %d %%", p->gpu_load);
    if (p->gpu_celsius >= 0) words_add(w, HUE_DIM, 5, "%d C", p->gpu_celsius);
    if (p->gpu_watts >= 0) words_add(w, HUE_DIM, 5, "%d W", p->gpu_watts);
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
    words_add(w, HUE_DIM, 3, "in %s", figure(a, p->tokens_in));
    words_add(w, HUE_DIM, 3, "out %s", figure(a, p->tokens_out));
    words_add(w, HUE_SHARED, 3, "reused %s", figure(a, p->reused));
    gpu_words(w, p);
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

static void without_legend(struct line *l)
{
    for (int i = 0; i < l->words.n; i++) l->words.word[i].glyph = -1;
}

/* Bars of the same length below each other: the longest words decide, but a bar keeps a third of the columns. */
static void lines_draw(struct surface *s, struct box b, struct line *l, int n, int label, enum glyphs glyphs)
{
    int words = 0;
    for (int i = 0; i < n; i++) {
        if (b.columns < GAUGES_WIDE) without_legend(&l[i]);
        words = MAX(words, words_fit(&l[i].words, b.columns - label - 2 - b.columns / 3, 0));
    }
    const int bar = b.columns - label - 2 - words;
    for (int i = 0; i < n; i++)
        line_draw(s, (struct box){b.column, b.row + i, b.columns, 1}, &l[i], label, bar, glyphs);
}

void gauges_draw(struct surface *s, struct box b, const struct gauges *g, enum glyphs glyphs)
{
    struct line line[3] = {0};
    int n = 0;
    if (b.rows <= 0 || b.columns <= 0) return;
    b.rows = MIN(b.rows, gauges_rows(b.columns, g->machine.there));
    surface_clear(s, b, (struct look){0});
    device_line(&line[n++], &g->device);
    if (g->machine.there && b.columns >= GAUGES_FULL) machine_line(&line[n++], &g->machine);
    kv_line(&line[n++], &g->kv);
    if (b.columns >= GAUGES_SHORT && b.columns < GAUGES_FULL) {
        const int left = b.columns / 2;
        lines_draw(s, (struct box){b.column, b.row, left, 1}, &line[0], 1, LABEL - 1, glyphs);
        lines_draw(s, (struct box){b.column + left, b.row, b.columns - left, 1}, &line[1], 1, 4, glyphs);
        n = 1;
    } else {
        lines_draw(s, b, line, MIN(n, b.rows), LABEL, glyphs);
    }
    if (b.columns >= GAUGES_SHORT && n < b.rows) speed_draw(s, b, n, &g->speed, glyphs);
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

static void context_line(struct line *l, const struct gauge_agent *a)
{
    char used[FIGURE], all[FIGURE];
    for (int i = 0; i < CONTEXT_PARTS; i++) add_part(l, a->part[i], context_of[i].hue, context_of[i].glyph);
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
        words = MAX(words, words_fit(&l.words, b.columns, 0));
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
        surface_printf(s, b, 15, row++, look, "%13s", figure(a, agent->part[i]));
    }
}
