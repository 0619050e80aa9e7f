/* layout.c - rows are dealt out first, then the chat's columns. */
#include "app/tui/layout.h"
#include "app/tui/gauges.h"

/* Rows for something that is there only whole, as long as the chat keeps its own. */
static int take(int *left, int rows)
{
    if (*left - rows < LAYOUT_CHAT_ROWS) return 0;
    *left -= rows;
    return rows;
}

struct heights {
    int head, gauges, rule, chat, input, count, footer;
};

static struct heights heights_for(struct layout_wish w)
{
    struct heights h = {.input = MIN(1, w.rows)};
    int left = w.rows - h.input;
    h.gauges = take(&left, gauges_rows(w.columns, w.machine));
    h.count = take(&left, 1);
    h.footer = take(&left, 1);
    h.head = take(&left, 1);
    if (w.rows >= LAYOUT_RULES) h.rule = take(&left, 2) / 2;
    int more = MIN(MIN(w.input_rows, w.rows / 3) - 1, left - LAYOUT_CHAT_ROWS);
    if (more > 0) {
        h.input += more;
        left -= more;
    }
    h.chat = left;
    return h;
}

/* The next rows across, from *row on. */
static struct box across(int *row, int columns, int rows)
{
    struct box b = {.column = 0, .row = *row, .columns = columns, .rows = rows};
    *row += rows;
    return b;
}

/* Cuts so many columns off the chat's right side, and some for a line between. */
static void cut_right(struct box *chat, int columns, struct box *off, struct box *divide)
{
    chat->columns -= columns + LAYOUT_DIVIDE;
    *divide = (struct box){chat->column + chat->columns, chat->row, LAYOUT_DIVIDE, chat->rows};
    *off = (struct box){divide->column + LAYOUT_DIVIDE, chat->row, columns, chat->rows};
}

struct layout layout_for(struct layout_wish w)
{
    struct layout l = {0};
    w.columns = MIN(MAX(w.columns, 0), SURFACE_MAX);
    w.rows = MIN(MAX(w.rows, 0), SURFACE_MAX);
    struct heights h = heights_for(w);
    int row = 0;
    l.head = across(&row, w.columns, h.head);
    l.gauges = across(&row, w.columns, h.gauges);
    l.rule[0] = across(&row, w.columns, h.rule);
    l.chat = across(&row, w.columns, h.chat);
    l.rule[1] = across(&row, w.columns, h.rule);
    l.input = across(&row, w.columns, h.input);
    l.count = across(&row, w.columns, h.count);
    l.footer = across(&row, w.columns, h.footer);
    if (w.columns >= LAYOUT_INSPECT) cut_right(&l.chat, w.columns / 4, &l.inspect, &l.divide[1]);
    if (w.columns >= LAYOUT_SIDE) cut_right(&l.chat, MIN(24 + w.columns / 40, 30), &l.side, &l.divide[0]);
    return l;
}
