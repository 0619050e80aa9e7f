/* cells.h - what stands in the cells of the bench's tables.  out: CELL bytes; what was not measured is "-". */
#ifndef BENCH_CELLS_H
#define BENCH_CELLS_H
#include "tests/bench/bench.h"
#include "tests/bench/table.h"

const char *star(double noise); /* "*": others took too much of the machine; else "" */
void spread_cell(bool there, const struct spread *v, double noise, char *out);
void rate_cell(const struct figure *f, char *out);
void share_cell(const struct test *t, const struct figure *f, char *out);
void times_cell(const struct figure *a, const struct figure *b, char *out); /* how many times faster a is than b */
void name_cells(const struct subject *s, const char *test, cells row);      /* model, type, test */
#endif
