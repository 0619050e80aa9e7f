/* doc_map.c - collects what the memory map shows: see view_map.h.  Of the engine alone, so at any moment between two
 * passes. */
#include "app/console.h"
#include "app/tui/doc.h"
#include "app/tui/view_map.h"

static void map_free(void *data)
{
    struct map *m = data;
    free(m->cell);
    free(m->segment);
    free(m);
}

static enum page_state state_of(const struct engine_cell *c)
{
    static const enum page_state state[] = {[CELL_FREE] = PAGE_FREE, [CELL_CACHED] = PAGE_CACHED,
                                            [CELL_HELD] = PAGE_HELD, [CELL_SHARED] = PAGE_SHARED};
    return c->state < COUNT_OF(state) ? state[c->state] : PAGE_FREE;
}

static void count_pages(struct map *m, const struct engine_cell *page)
{
    for (uint64_t i = 0; i < m->pages; i++) {
        m->state[state_of(&page[i])]++;
        if (page[i].state == CELL_HELD && page[i].agent < MAP_AGENTS) m->own[page[i].agent]++;
    }
}

static int fill(const struct app *a, int cells, struct map *m)
{
    m->cells = (int)MIN((uint64_t)MAX(cells, 1), m->pages);
    struct engine_cell *page = calloc((size_t)m->pages, sizeof *page);
    m->cell = calloc((size_t)m->cells, sizeof *m->cell);
    m->segment = calloc((size_t)m->cells, sizeof *m->segment);
    const bool ok = page && m->cell && m->segment;
    if (ok) {
        a->ops->page_map(a->engine, page, (int)m->pages);
        count_pages(m, page);
        a->ops->page_map(a->engine, page, m->cells);
    }
    for (int i = 0; i < m->cells && ok; i++) {
        m->cell[i] = (struct pagemap_cell){(uint8_t)state_of(&page[i]), page[i].agent, page[i].mixed};
        m->segment[i] = page[i].segment;
    }
    free(page);
    return ok ? 0 : -1;
}

void doc_map(struct console *c, struct doc *d)
{
    const struct app *a = c->a;
    struct engine_snapshot s;
    a->ops->snapshot(a->engine, &s);
    const uint64_t pages = s.pool_tokens / KERN_PAGE;
    struct map *m = pages > 0 && pages <= INT32_MAX ? calloc(1, sizeof *m) : NULL;
    if (m) *m = (struct map){.pages = pages, .page_tokens = KERN_PAGE,
                             .page_bytes = a->info->kv_bytes_per_token * KERN_PAGE,
                             .local_bytes = a->info->kv_local_bytes, .local_layers = a->info->local_layers,
                             .states = a->info->states};
    if (!m || fill(a, d->ask.cells, m)) {
        snprintf(d->error, sizeof d->error, pages ? "no memory for a map of the pool" : "the KV pool has no pages");
        if (m) map_free(m);
        return;
    }
    const uint64_t taken = m->state[PAGE_HELD] + m->state[PAGE_SHARED], reserved = s.reserved_tokens / KERN_PAGE;
    m->promised = reserved > taken ? MIN(reserved - taken, pages - taken) : 0;
    m->agents = MIN(c->team.n, MAP_AGENTS);
    for (int i = 0; i < m->agents; i++) snprintf(m->name[i], MAP_NAME, "%.39s", team_name(&c->team, i));
    d->data = m;
    d->free = map_free;
}
