/* chart.h - bars as an SVG file: ours and the peer's, and where the goals are.  Pure.
 *
 *     title
 *     lines of small text
 *     panel         a scale of its own, from 0
 *       label  ====o====|==|===   note      ours, with marks at must and good
 *              ======                       the peer's, if there is one
 *
 * The colours follow the reader's light or dark theme. */
#ifndef BENCH_CHART_H
#define BENCH_CHART_H
#include "plimsoll.h"

enum { CHART_PANELS = 4, CHART_ROWS = 16, CHART_LINES = 4 };

struct chart_row {
    char label[64], note[96];
    double ours, peer, must, good; /* in the panel's unit; 0 (or no number): not there */
};

struct chart_panel {
    char title[96];
    struct chart_row row[CHART_ROWS];
    int rows;
};

struct chart {
    char title[96], line[CHART_LINES][160];
    struct chart_panel panel[CHART_PANELS];
    int lines, panels;
};

/* Append the whole file to out; texts may hold anything (what XML or UTF-8 does not allow becomes "?").  out->failed:
 * no memory. */
void chart_write(const struct chart *c, struct buf *out);
#endif
