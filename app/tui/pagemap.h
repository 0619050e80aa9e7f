/* pagemap.h - the KV pool as a map: a cell a page, or several pages where the box has not as many cells.
 *
 *     KV pages  4,096 x 16 tokens x 6 KiB   2 pages a cell
 *     █ planner  █ critic  ▒ cached  ▞ shared  · free                 legend
 *     ▞▞▞▞▞▞█████████▓▓▓▓▓▓▓▓░░░░██████··········
 *     page 37: researcher, tool, ...                                  the selected cell's line
 *
 * Cell i of n is the pages from i * pages / n up to (i + 1) * pages / n: the same cut as the engine's map, which the
 * caller asks for n = pagemap_cells() cells.  An owner is its hue; with `letters` (a terminal without colours; always
 * in ASCII) a letter: A, B, ... for agents 0, 1, ... (again from A after Z).  A cell with others among its pages is
 * underlined.
 *
 * Plain figures and borrowed texts. */
#ifndef PAGEMAP_H
#define PAGEMAP_H
#include "app/tui/bar.h"

enum page_state { PAGE_FREE, PAGE_CACHED, PAGE_HELD, PAGE_SHARED, PAGE_STATES };

struct pagemap_cell {
    uint8_t state; /* enum page_state, of most of its pages */
    uint8_t agent; /* HELD: whose; CACHED: whose it was */
    bool mixed;
};

struct pagemap_agent { const char *name; int number; };

struct pagemap {
    uint64_t pages, page_tokens, page_bytes; /* bytes of one page */
    uint64_t local_bytes; /* beside them, of the pool: what layers with a window of their own keep */
    int local_layers;     /* 0: there are none */
    bool states;          /* they keep a state, and have no window */
    const struct pagemap_cell *cell;         /* (cells) */
    int cells;
    const struct pagemap_agent *agent;       /* (agents) for legend and line */
    int agents;
    int selected;      /* a cell; -1: none */
    const char *about; /* the selected one: "tool results, tokens 592-607, 1 holder"; NULL: nothing more is known */
    bool letters;
};

enum { PAGEMAP_ROWS = 3 /* title, legend, line */ };

int pagemap_cells(struct box b, uint64_t pages); /* that the map has in this box: 0 where it has no room */
uint64_t pagemap_first(const struct pagemap *m, int cell); /* page of a cell; of cell = cells: pages */
void pagemap_draw(struct surface *s, struct box b, const struct pagemap *m, enum glyphs glyphs);
#endif
