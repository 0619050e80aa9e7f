/* view_inspect_impl.h - what the files of the inspector share: view_inspect.c has the view, view_inspect_list.c its
 * list. */
#ifndef VIEW_INSPECT_IMPL_H
#define VIEW_INSPECT_IMPL_H
#include "app/tui/list.h"
#include "app/tui/view.h"
#include "app/tui/view_inspect.h"

enum { INSPECT_NARROW = 60 /* columns: under it only what is needed most is shown */, NOTE = 160 };
enum shows { SHOWS_TEXT, SHOWS_TOKENS, SHOWS_DIFF };

/* What the figures say of an agent: while that is the same, so is its next call. */
struct inspect_stamp { int64_t agent, carried, turns, calls, running, frees, period; };

struct inspect_view {
    const struct inspect *doc; /* the last that came: only compared */
    struct inspect_stamp then; /* when it came */
    bool ordered;              /* since */
    struct list list;
    struct pager pager;
    char name[48];             /* of the selected row, so that it stays selected when rows come and go */
    enum shows shows;
    bool reading;              /* keys move the text */
    int rows, text_rows;       /* of the last draw */
    struct buf shown;          /* what the pager shows */
    struct ids ids;            /* SHOWS_TOKENS: of these */
    char note[NOTE];           /* why the last key did nothing; or nothing */
};

struct box inspect_part(struct box b, int column, int row, int columns, int rows); /* of a box, and within it */
void inspect_list(struct surface *s, struct box b, struct inspect_view *v, const struct inspect *x,
                  enum glyphs glyphs);
#endif
