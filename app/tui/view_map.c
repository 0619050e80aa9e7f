/* view_map.c - the KV pool page by page, live; a cursor says what a page is for.  Where the pages leave room, a table
 * says how many there are of each owner and what the words mean, and the last row what of the process is resident; else
 * that row has the totals. */
#include "app/tui/view_map.h"
#include "app/tui/view.h"
#include "engine/hostmem.h"
#include "engine/template.h"
#include <math.h>

enum { TOTALS_FROM = PAGEMAP_ROWS + 3 /* rows, from which on the totals have one */, MEANING = 95 /* columns */ };

struct self {
    int selected;
    int columns, rows, cells; /* of the last draw */
    bool empty;               /* the last Enter was on a page of nobody's */
};

static struct box map_box(struct box b)
{
    if (b.rows >= TOTALS_FROM) b.rows--;
    return b;
}

static const struct map *doc_of(const struct view_in *in)
{
    return in->doc && in->doc->ask.kind == DOC_MAP ? in->doc->data : NULL;
}

/* ------------------------------------------------------------------ drawing */

static const char *name_of(const struct map *m, int agent) { return *m->name[agent] ? m->name[agent] : "plimsoll"; }

/* The owners that have a cell; others are not worth a place in the legend. */
static int owners(const struct map *m, struct pagemap_agent out[MAP_AGENTS])
{
    bool there[MAP_AGENTS] = {false};
    int n = 0;
    for (int i = 0; i < m->cells; i++)
        if (m->cell[i].state == PAGE_HELD || m->cell[i].state == PAGE_CACHED)
            there[m->cell[i].agent % MAP_AGENTS] = true;
    for (int i = 0; i < m->agents; i++)
        if (there[i]) out[n++] = (struct pagemap_agent){name_of(m, i), i};
    return n;
}

/* What the selected cell's tokens are, and which of the pool's they are. */
static const char *about(const struct map *m, const struct pagemap *p, char out[160])
{
    static const char *const what[SEGMENTS] = {"system message", "summary", "history", "tool results", "answers"};
    const struct pagemap_cell *c = &m->cell[p->selected];
    const uint64_t first = pagemap_first(p, p->selected), last = MAX(pagemap_first(p, p->selected + 1), first + 1) - 1;
    const uint8_t segment = m->segment[p->selected];
    char from[FIGURE], to[FIGURE];
    figure(from, first * m->page_tokens);
    figure(to, last * m->page_tokens + m->page_tokens - 1);
    const bool filled = c->state != PAGE_FREE && segment < SEGMENTS;
    snprintf(out, 160, "%s%stokens %s-%s of the pool", filled ? what[segment] : "", filled ? ", " : "", from, to);
    return out;
}

static void draw_totals(struct surface *s, struct box b, const struct map *m, const struct self *v)
{
    struct words w = {0};
    char n[FIGURE];
    const struct { enum page_state state; const char *what; enum hue hue; int rank; } totals[] = {
        {PAGE_HELD, "held by one request", HUE_TEXT, 0}, {PAGE_SHARED, "shared", HUE_SHARED, 2},
        {PAGE_CACHED, "cached", HUE_SUMMARY, 3},         {PAGE_FREE, "free", HUE_FREE, 1},
    };
    if (v->empty) {
        surface_puts(s, b, 1, 0, "nobody has this page: there is nothing to inspect", (struct look){.hue = HUE_WARN});
        return;
    }
    for (size_t i = 0; i < COUNT_OF(totals); i++)
        words_add(&w, totals[i].hue, totals[i].rank, "%s %s", figure(n, m->state[totals[i].state]), totals[i].what);
    if (m->promised > 0) words_add(&w, HUE_RESERVED, 4, "%s of those promised to who runs", figure(n, m->promised));
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

static double tenths(int64_t bytes) { return hostmem_tenths((uint64_t)MAX(bytes, 0)); }

/* What the system counts, beside what the ledger does. */
static void draw_process(struct surface *s, struct box b, const struct event_machine *m)
{
    const double own = tenths(m->anonymous_bytes), ledger = tenths(m->ledger_bytes);
    struct words w = {0};
    if (m->resident_bytes <= 0) return;
    words_add(&w, HUE_TEXT, 0, "process %.1f MiB resident", tenths(m->resident_bytes));
    words_add(&w, HUE_TEXT, 1, "%.1f anonymous", own);
    words_add(&w, HUE_DIM, 2, "%.1f %s the ledger's %.1f%s", fabs(own - ledger),
              own < ledger ? "less than" : "more than", ledger, own < ledger ? ", not all touched yet" : "");
    words_add(&w, HUE_DIM, 3, "%.1f at most", tenths(m->peak_bytes));
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

/* ------------------------------------------------------------------ the table */

struct line { const char *glyph, *name, *meaning; uint64_t pages; enum hue hue; };

static void draw_line(struct surface *s, struct box b, const struct map *m, const struct line *l)
{
    const struct look plain = {0}, hue = {.hue = (uint8_t)l->hue}, dim = {.hue = HUE_DIM};
    const uint64_t unit = m->page_bytes % 1024 ? 1 : 1024;
    char n[FIGURE];
    surface_puts(s, b, 1, 0, l->glyph, hue);
    surface_puts(s, (struct box){b.column, b.row, MIN(b.columns, 17), 1}, 3, 0, l->name, hue);
    if (b.columns >= 25) surface_printf(s, b, 17, 0, plain, "%8s", figure(n, l->pages)); /* never half a number */
    if (b.columns >= 37) surface_printf(s, b, 26, 0, plain, "%11s", figure(n, l->pages * m->page_tokens));
    if (b.columns >= 50) surface_printf(s, b, 38, 0, plain, "%12s", figure(n, l->pages * (m->page_bytes / unit)));
    if (b.columns >= MEANING) surface_puts(s, b, 53, 0, l->meaning, dim);
}

/* An agent a line, or (together) all of them in one. */
static int held_lines(const struct map *m, bool together, bool letters, enum glyphs glyphs, struct line *out,
                      char letter[MAP_AGENTS][2])
{
    const char *meaning = "held by one of its requests alone";
    int n = 0;
    if (together) out[n++] = (struct line){bar_glyph(BAR_FULL, glyphs), "held", "held by one request alone",
                                           m->state[PAGE_HELD], HUE_TEXT};
    for (int i = 0; i < m->agents && !together; i++) {
        if (m->own[i] == 0) continue;
        snprintf(letter[i], 2, "%c", 'A' + i % 26);
        out[n++] = (struct line){letters || glyphs == GLYPHS_ASCII ? letter[i] : bar_glyph(BAR_FULL, glyphs),
                                 name_of(m, i), meaning, m->own[i], (enum hue)(HUE_AGENT + i % HUE_AGENTS)};
    }
    return n;
}

/* In the rows that the cells leave free; false: there are too few. */
static bool draw_table(struct surface *s, struct box b, const struct map *m, bool letters, enum glyphs glyphs)
{
    struct line line[MAP_AGENTS + 8];
    char letter[MAP_AGENTS][2], promised[120], n[FIGURE];
    const int others = 6; /* blank row, heads, and below the agents: shared, cached, free, all */
    int lines = held_lines(m, false, letters, glyphs, line, letter);
    if (lines + others > b.rows || m->agents == 0) lines = held_lines(m, true, letters, glyphs, line, letter);
    if (lines + others > b.rows) return false;
    snprintf(promised, sizeof promised, "%s of these and the cached are promised", figure(n, m->promised));
    line[lines++] = (struct line){bar_glyph(BAR_SLASH, glyphs), "shared", "held by two requests or more",
                                  m->state[PAGE_SHARED], HUE_SHARED};
    line[lines++] = (struct line){bar_glyph(BAR_MEDIUM, glyphs), "cached",
                                  "held by nobody, kept for prompts that begin so", m->state[PAGE_CACHED], HUE_SUMMARY};
    line[lines++] = (struct line){bar_glyph(BAR_DOT, glyphs), "free", m->promised ? promised : "", m->state[PAGE_FREE],
                                  HUE_FREE};
    line[lines++] = (struct line){"", "the pool", "", m->pages, HUE_HEAD};
    const struct look dim = {.hue = HUE_DIM};
    surface_puts(s, b, 3, 1, "owner", dim);
    surface_puts(s, b, 20, 1, "pages", dim);
    if (b.columns >= 37) surface_puts(s, b, 31, 1, "tokens", dim);
    if (b.columns >= 50) surface_printf(s, b, 38, 1, dim, "%12s", m->page_bytes % 1024 ? "bytes" : "KiB");
    for (int i = 0; i < lines; i++)
        draw_line(s, (struct box){b.column, b.row + 2 + i, b.columns, 1}, m, &line[i]);
    return true;
}

static void draw_none(struct surface *s, struct box b, const struct view_in *in)
{
    const bool failed = in->doc && in->doc->ask.kind == DOC_MAP && *in->doc->error;
    surface_puts(s, b, 1, 0, view_map.title, (struct look){.hue = HUE_HEAD});
    surface_puts(s, b, 1, 2, failed ? in->doc->error : "looking ...",
                 (struct look){.hue = failed ? HUE_WARN : HUE_DIM});
}

static void map_draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct self *v = self;
    struct pagemap_agent owner[MAP_AGENTS];
    char line[160];
    const struct map *m = doc_of(in);
    const struct box box = map_box(b);
    surface_clear(s, b, (struct look){0});
    if (!m || m->cells <= 0) {
        draw_none(s, b, in);
        return;
    }
    v->columns = MAX(box.columns, 1);
    v->rows = MAX(box.rows - PAGEMAP_ROWS, 1);
    v->cells = MIN(m->cells, MAX(pagemap_cells(box, m->pages), 1));
    v->selected = MIN(MAX(v->selected, 0), v->cells - 1);
    struct pagemap p = {.pages = m->pages, .page_tokens = m->page_tokens, .page_bytes = m->page_bytes,
                        .local_bytes = m->local_bytes, .local_layers = m->local_layers, .states = m->states,
                        .cell = m->cell, .cells = m->cells, .agent = owner, .agents = owners(m, owner),
                        .selected = v->selected, .letters = in->mono};
    p.about = about(m, &p, line);
    if (pagemap_cells(box, m->pages) == 0) surface_puts(s, b, 0, 0, "KV pages: no room", (struct look){0});
    else pagemap_draw(s, box, &p, in->glyphs);
    const int used = 2 + (v->cells + v->columns - 1) / v->columns;
    const struct box below = {b.column, b.row + used, b.columns, MAX(box.rows - 1 - used, 0)};
    const bool table = draw_table(s, below, m, in->mono, in->glyphs);
    const struct box last = {b.column, b.row + box.rows, b.columns, 1};
    if (box.rows < b.rows && (!table || v->empty)) draw_totals(s, last, m, v);
    else if (box.rows < b.rows) draw_process(s, last, &in->state->machine);
}

/* ------------------------------------------------------------------ keys */

static bool same_owner(const struct pagemap_cell *a, const struct pagemap_cell *b)
{
    const bool owned = a->state == PAGE_HELD || a->state == PAGE_CACHED;
    return a->state == b->state && (!owned || a->agent == b->agent);
}

/* The next cell of another owner or state, round the end. */
static int next_owner(const struct self *v, const struct map *m)
{
    for (int i = 1; i < v->cells; i++) {
        const int at = (v->selected + i) % v->cells, before = (at + v->cells - 1) % v->cells;
        if (!same_owner(&m->cell[at], &m->cell[before])) return at;
    }
    return v->selected;
}

/* Where a key moves the cursor; -1: no such key. */
static int goes_to(const struct self *v, const struct key *k, const struct map *m)
{
    const int at = v->selected, page = v->columns * MAX(v->rows - 1, 1), last = v->cells - 1;
    const bool letter = k->name == KEY_CHAR && !k->mods;
    if (k->name == KEY_LEFT || (letter && k->rune == 'h')) return MAX(at - 1, 0);
    if (k->name == KEY_RIGHT || (letter && k->rune == 'l')) return MIN(at + 1, last);
    if (k->name == KEY_UP || (letter && k->rune == 'k')) return at >= v->columns ? at - v->columns : at;
    if (k->name == KEY_DOWN || (letter && k->rune == 'j')) return at + v->columns <= last ? at + v->columns : at;
    if (k->name == KEY_PAGE_UP) return MAX(at - page, 0);
    if (k->name == KEY_PAGE_DOWN) return MIN(at + page, last);
    if (k->name == KEY_HOME || (letter && k->rune == 'g')) return 0;
    if (k->name == KEY_END || (letter && k->rune == 'G')) return last;
    return letter && k->rune == 'n' ? next_owner(v, m) : -1;
}

static bool map_key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct self *v = self;
    const struct map *m = doc_of(in);
    v->empty = false;
    if (!m || v->cells <= 0 || v->cells > m->cells) return false;
    v->selected = MIN(v->selected, v->cells - 1);
    if (k->name == KEY_ENTER) {
        const struct pagemap_cell *c = &m->cell[v->selected];
        v->empty = c->state == PAGE_FREE;
        if (v->empty) return true;
        out->go = VIEW_INSPECT;
        if (c->state != PAGE_SHARED && c->agent < in->state->agents) out->agent = c->agent;
        return true;
    }
    const int to = goes_to(v, k, m);
    if (to >= 0) v->selected = to;
    return to >= 0;
}

/* ------------------------------------------------------------------ the view */

static void *map_open(void) { return calloc(1, sizeof(struct self)); }
static void map_close(void *self) { free(self); }

static void map_ask(void *self, struct box b, const struct view_in *in, struct doc_ask *out)
{
    (void)self, (void)in;
    *out = (struct doc_ask){.kind = DOC_MAP, .cells = pagemap_cells(map_box(b), INT32_MAX)};
    if (out->cells <= 0) out->kind = DOC_NONE;
}

const struct view_ops view_map = {
    .title = "Memory map",
    .keys = "arrows move  n next owner  Enter inspect its agent",
    .every = 0.2,
    .open = map_open, .close = map_close, .ask = map_ask, .draw = map_draw, .key = map_key,
};
