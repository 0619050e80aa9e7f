/* layout.h - where what is: a pure function of the size.
 *
 *     head     one row: crew, model, device, session
 *     gauges   2 to 4 rows (gauges.h)
 *     ────────────────────────────────────┬─────────
 *     chat                                 │ side: the agents    (and beside it, from 180 columns: inspect)
 *     ────────────────────────────────────┴─────────
 *     input    1 row or more
 *     count    one row: what this turn will carry
 *     footer   one row: keys
 *
 * Thresholds.  Columns: the side is there from 100 on, inspect from 180 on; the gauges' form is gauges.h's matter.
 * Rows: chat keeps at least 3; from what is left come, in this order and each whole or not at all, gauges, count,
 * footer, head; the two rules from 20 rows on.  The input grows as its text does, to a third of the rows.  At 40x10 all
 * is there but rules and side; in less the last of that order goes first.
 *
 * A box that is not there has 0 columns or 0 rows.  Boxes never overlap, and lie within the size. */
#ifndef LAYOUT_H
#define LAYOUT_H
#include "app/tui/surface.h"

enum { LAYOUT_SIDE = 100, LAYOUT_INSPECT = 180, LAYOUT_RULES = 20, LAYOUT_CHAT_ROWS = 3, LAYOUT_DIVIDE = 3 };

struct layout_wish {
    int columns, rows; /* of the terminal; 0 or less is a terminal without room */
    int input_rows;    /* that its text takes at this width; under 1 counts as 1 */
    bool machine;      /* the gauges have a bar for the machine's memory too */
};

struct layout {
    struct box head, gauges, chat, side, inspect, input, count, footer;
    struct box rule[2];    /* rows across: above the chat, below it */
    struct box divide[2];  /* left of the side, of inspect: LAYOUT_DIVIDE columns, the middle one for a line */
};

struct layout layout_for(struct layout_wish wish);
#endif
