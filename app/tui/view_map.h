/* view_map.h - what the memory map shows: the KV pool in cells, each of a page or several. */
#ifndef VIEW_MAP_H
#define VIEW_MAP_H
#include "app/tui/pagemap.h"

enum { MAP_AGENTS = 64, MAP_NAME = 40 };

struct map {
    uint64_t pages, page_tokens, page_bytes; /* bytes of one page */
    uint64_t local_bytes; /* as in struct pagemap */
    int local_layers;
    bool states;
    struct pagemap_cell *cell; /* (cells) */
    uint8_t *segment;          /* (cells) enum segment of most of its tokens */
    int cells;
    uint64_t state[PAGE_STATES]; /* pages, exactly: all together are `pages` */
    uint64_t promised;           /* of the free and cached ones, to requests that run */
    uint64_t own[MAP_AGENTS];    /* pages that an agent's requests hold alone */
    char name[MAP_AGENTS][MAP_NAME];
    int agents;
};
#endif
