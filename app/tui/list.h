/* list.h - positions in something longer than its box: a list with a selected row, a text that is scrolled.
 *
 * Pure: it knows how many rows there are and how many are seen, not what is in them.  Threads: any. */
#ifndef LIST_H
#define LIST_H
#include "app/tui/keys.h"
#include "app/tui/surface.h"

struct list {
    int selected, top; /* rows from 0; top: the first that is seen */
};

/* `n` rows, of which `rows` are seen: both positions into their bounds, the selected one in sight.  n 0: selected 0. */
void list_fit(struct list *l, int n, int rows);

/* Up, down, page up, page down, home, end, and j k g G as in pagers.  false: another key.  list_fit() is due. */
bool list_key(struct list *l, const struct key *k, int n, int rows);

/* The ground of a selected row, over the whole box, before its text is drawn; and a mark where there are no colours. */
struct look list_look(bool selected, struct look plain);

/* A column at the box's right edge that shows which part is seen; nothing where all of it is. */
void list_bar(struct surface *s, struct box b, int n, int top);

/* A text that is scrolled: rows are what surface_break() makes of it at a width. */
struct pager {
    int top;
    int columns, rows; /* of the last draw; rows: that the text has */
    size_t *at;        /* (rows) where each begins; owned */
    const char *text;  /* borrowed: what `at` is of */
    size_t n;
};
void pager_close(struct pager *p);
/* The text in the box; another text than before begins at its first row, the same in another width at the row that it
 * was at.  It is known by its place and size: who puts another text there says so by pager_anew(). */
void pager_draw(struct pager *p, struct surface *s, struct box b, const char *text, size_t n, struct look look);
void pager_anew(struct pager *p);
bool pager_key(struct pager *p, const struct key *k, int rows);
#endif
