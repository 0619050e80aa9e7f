/* table.h - rows of cells for people: aligned text, or Markdown. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H
#include "plimsoll.h"

enum { COLUMNS = 10, CELL = 80 };
typedef char cells[COLUMNS][CELL];

struct table {
    const char *head[COLUMNS];
    int columns, rows;
    cells *cell; /* (cap), empty at first */
};

bool table_open(struct table *t, int cap); /* false: no memory, said on stderr */
cells *table_row(struct table *t);         /* one more */
void table_close(struct table *t, bool markdown, FILE *out); /* print it, if it has rows, and a line after it */
#endif
