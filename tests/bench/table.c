/* table.c - see table.h. */
#include "tests/bench/table.h"

bool table_open(struct table *t, int cap)
{
    for (t->columns = 0; t->columns < COLUMNS && t->head[t->columns]; t->columns++) continue;
    t->cell = calloc((size_t)MAX(cap, 1), sizeof *t->cell);
    if (!t->cell) fputs("bench: no memory for a table\n", stderr);
    return t->cell;
}

cells *table_row(struct table *t) { return &t->cell[t->rows++]; }

static void print_row(const struct table *t, cells row, const int *width, bool markdown, FILE *out)
{
    fputs(markdown ? "|" : "", out);
    for (int c = 0; c < t->columns; c++) {
        if (markdown) fprintf(out, " %s |", row[c]);
        else if (c == t->columns - 1) fputs(row[c], out);
        else fprintf(out, "%-*s  ", width[c], row[c]);
    }
    fputc('\n', out);
}

static void print(const struct table *t, bool markdown, FILE *out)
{
    int width[COLUMNS] = {0};
    cells head;
    for (int c = 0; c < t->columns; c++) {
        snprintf(head[c], CELL, "%s", t->head[c]);
        width[c] = (int)strlen(head[c]);
        for (int r = 0; r < t->rows; r++) width[c] = MAX(width[c], (int)strlen(t->cell[r][c]));
    }
    print_row(t, head, width, markdown, out);
    if (markdown) {
        fputc('|', out);
        for (int c = 0; c < t->columns; c++) fputs("---|", out);
        fputc('\n', out);
    }
    for (int r = 0; r < t->rows; r++) print_row(t, t->cell[r], width, markdown, out);
}

void table_close(struct table *t, bool markdown, FILE *out)
{
    if (t->rows) {
        print(t, markdown, out);
        fputc('\n', out);
    }
    free(t->cell);
}
