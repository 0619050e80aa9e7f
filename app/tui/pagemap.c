/* pagemap.c - title, legend, cells in reading order, the selected one's line. */
#include "app/tui/pagemap.h"

static const struct { const char *name; enum hue hue; enum bar_glyph glyph; } state_of[PAGE_STATES] = {
    [PAGE_FREE] = {"free", HUE_FREE, BAR_DOT},    [PAGE_CACHED] = {"cached", HUE_SUMMARY, BAR_MEDIUM},
    [PAGE_HELD] = {"held", HUE_KV, BAR_FULL},     [PAGE_SHARED] = {"shared", HUE_SHARED, BAR_SLASH},
};

int pagemap_cells(struct box b, uint64_t pages)
{
    if (b.columns <= 0 || b.rows <= PAGEMAP_ROWS) return 0;
    uint64_t room = (uint64_t)b.columns * (uint64_t)(b.rows - PAGEMAP_ROWS);
    return (int)MIN(room, pages);
}

uint64_t pagemap_first(const struct pagemap *m, int cell)
{
    return m->cells > 0 ? (uint64_t)((unsigned __int128)m->pages * (unsigned)cell / (unsigned)m->cells) : 0;
}

static uint8_t agent_hue(int number) { return (uint8_t)(HUE_AGENT + (number % HUE_AGENTS + HUE_AGENTS) % HUE_AGENTS); }

static void owner_glyph(char out[CELL_BYTES], int number, bool letters, enum glyphs glyphs)
{
    if (letters || glyphs == GLYPHS_ASCII) snprintf(out, CELL_BYTES, "%c", 'A' + (number % 26 + 26) % 26);
    else snprintf(out, CELL_BYTES, "%s", bar_glyph(BAR_FULL, glyphs));
}

static void title(struct surface *s, struct box b, const struct pagemap *m)
{
    struct words w = {0};
    struct bar_unit u = bar_unit(m->page_bytes);
    char a[FIGURE], c[FIGURE], d[FIGURE];
    words_add(&w, HUE_HEAD, 0, "Memory map");
    words_add(&w, HUE_TEXT, 1, "KV pages");
    if (m->page_bytes % u.bytes) u = (struct bar_unit){"bytes", 1};
    words_add(&w, HUE_TEXT, 1, "%s x %s tokens x %s %s", figure(a, m->pages), figure(c, m->page_tokens),
              figure(d, m->page_bytes / u.bytes), u.name);
    if (m->local_layers > 0)
        words_add(&w, HUE_TEXT, 3, "and %.1f MiB for %d layers with a %s", (double)m->local_bytes / 0x1p20,
                  m->local_layers, m->states ? "state" : "window");
    if (m->cells > 0 && m->pages > (uint64_t)m->cells) {
        uint64_t least = m->pages / (uint64_t)m->cells, more = m->pages % (uint64_t)m->cells;
        words_add(&w, HUE_DIM, 2, "%s%s%s pages a cell", figure(a, least), more ? " to " : "",
                  more ? figure(c, least + 1) : "");
    }
    words_fit(&w, b.columns - 1, 0);
    words_draw(s, b, 1, 0, &w, 0, GLYPHS_ASCII);
}

/* An entry and its glyph; false: no room, and "..." says so. */
static bool entry(struct surface *s, struct box b, int *column, const char *glyph, const char *name, uint8_t hue)
{
    int columns = surface_columns(name, strlen(name));
    if (*column + 2 + columns > b.columns - 5) {
        surface_puts(s, b, *column, 1, "...", (struct look){.hue = HUE_DIM});
        return false;
    }
    surface_puts(s, b, *column, 1, glyph, (struct look){.hue = hue});
    surface_puts(s, b, *column + 2, 1, name, (struct look){.hue = hue});
    *column += 2 + columns + 2;
    return true;
}

/* States first: there are few of them, and agents may be many. */
static void legend(struct surface *s, struct box b, const struct pagemap *m, enum glyphs glyphs)
{
    static const enum page_state others[] = {PAGE_FREE, PAGE_CACHED, PAGE_SHARED};
    char glyph[CELL_BYTES];
    int column = 1;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (!entry(s, b, &column, bar_glyph(state_of[others[i]].glyph, glyphs), state_of[others[i]].name,
                   (uint8_t)state_of[others[i]].hue)) return;
    for (int i = 0; i < m->agents; i++) {
        owner_glyph(glyph, m->agent[i].number, m->letters, glyphs);
        if (!entry(s, b, &column, glyph, m->agent[i].name, agent_hue(m->agent[i].number))) return;
    }
}

/* A state that no table knows is free: the figures are of another room. */
static enum page_state state_at(const struct pagemap *m, int i)
{
    return m->cell[i].state < PAGE_STATES ? (enum page_state)m->cell[i].state : PAGE_FREE;
}

static void cells(struct surface *s, struct box b, const struct pagemap *m, enum glyphs glyphs)
{
    char glyph[CELL_BYTES];
    int n = MIN(m->cells, pagemap_cells(b, m->pages));
    for (int i = 0; i < n; i++) {
        const enum page_state state = state_at(m, i);
        struct look look = {.hue = (uint8_t)state_of[state].hue};
        snprintf(glyph, sizeof glyph, "%s", bar_glyph(state_of[state].glyph, glyphs));
        if (state == PAGE_HELD) owner_glyph(glyph, m->cell[i].agent, m->letters, glyphs);
        if (state == PAGE_HELD || state == PAGE_CACHED) look.hue = agent_hue(m->cell[i].agent);
        if (m->cell[i].mixed) look.attr |= LOOK_UNDERLINE;
        if (i == m->selected) look.attr |= LOOK_REVERSE;
        surface_puts(s, b, i % b.columns, 2 + i / b.columns, glyph, look);
    }
}

static const char *name_of(const struct pagemap *m, int number)
{
    for (int i = 0; i < m->agents; i++)
        if (m->agent[i].number == number) return m->agent[i].name;
    return "an agent that is gone";
}

static void selected(struct surface *s, struct box b, const struct pagemap *m)
{
    const int i = m->selected, row = b.rows - 1;
    char from[FIGURE], to[FIGURE];
    if (i < 0 || i >= m->cells) return;
    const uint64_t first = pagemap_first(m, i), last = MAX(pagemap_first(m, i + 1), first + 1) - 1;
    const enum page_state state = state_at(m, i);
    int at = 1;
    if (first == last) at += surface_printf(s, b, at, row, (struct look){0}, "page %s: ", figure(from, first));
    else at += surface_printf(s, b, at, row, (struct look){0}, "pages %s-%s: ", figure(from, first), figure(to, last));
    if (state == PAGE_HELD || state == PAGE_CACHED)
        at += surface_puts(s, b, at, row, name_of(m, m->cell[i].agent),
                           (struct look){.hue = agent_hue(m->cell[i].agent)});
    if (state == PAGE_CACHED) at += surface_puts(s, b, at, row, ", ", (struct look){0});
    if (state != PAGE_HELD) at += surface_puts(s, b, at, row, state_of[state].name, (struct look){0});
    if (m->cell[i].mixed) at += surface_puts(s, b, at, row, ", and others", (struct look){0});
    if (m->about) at += surface_puts(s, b, at, row, ", ", (struct look){0});
    if (m->about) surface_puts(s, b, at, row, m->about, (struct look){0});
}

void pagemap_draw(struct surface *s, struct box b, const struct pagemap *m, enum glyphs glyphs)
{
    surface_clear(s, b, (struct look){0});
    if (pagemap_cells(b, MAX(m->pages, 1)) == 0) return;
    title(s, b, m);
    legend(s, b, m, glyphs);
    cells(s, b, m, glyphs);
    selected(s, b, m);
}
