/* table.h - what lists of stored things are drawn with: a cell of a row, a time as an age, a size with its unit.
 *
 * Threads: pure. */
#ifndef TABLE_H
#define TABLE_H
#include "app/tui/bar.h"

/* One row of the box as a box: its text never passes it. */
static inline struct box table_row(struct box b, int row)
{
    return (struct box){b.column, b.row + row, b.columns, row >= 0 && row < b.rows ? 1 : 0};
}

/* A text (its first line) in `columns` columns of a row, from column on; one that is longer ends with a mark. */
void table_text(struct surface *s, struct box b, int column, int row, int columns, const char *text, size_t n,
                struct look look, enum glyphs glyphs);
/* Both ends of a text (one line) with a mark between them, so that it takes at most so many columns; whole where it
 * fits.  size: at least 4 more than the text has bytes. */
void table_middle(const char *text, int columns, enum glyphs glyphs, char *out, size_t size);
/* At the right of those columns; where they are not all in the box it is left out. */
void table_right(struct surface *s, struct box b, int column, int row, int columns, const char *text, struct look look);

/* A cell of the selected row: one ground and one ink from edge to edge, whatever colours the others have. */
static inline struct look table_look(bool selected, struct look plain)
{
    if (selected) plain = (struct look){.attr = plain.attr | LOOK_REVERSE};
    return plain;
}

/* "just now", "5 minutes ago", "yesterday", "3 weeks ago"; "in the future" where clocks were set back. */
const char *table_age(char out[FIGURE], int64_t now_ms, int64_t then_ms);
/* "2026-11-22 06:41", of the place where the program runs. */
const char *table_time(char out[FIGURE], int64_t ms);
/* "812 B", "1.4 MiB": two figures at least. */
const char *table_bytes(char out[FIGURE], uint64_t bytes);
#endif
