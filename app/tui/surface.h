/* surface.h - a grid of cells that panels draw into, and the one place through which every text gets there.
 *
 *     text of anybody ──> surface_text(): filtered, cut into clusters, measured ──> cells ──> screen.c (only changed ones)
 *                                                                             └──> surface_dump(): golden screens
 *
 * A cell shows one cluster (a character with what combines with it) of width 1 or 2; a wide one takes the next cell too,
 * which is then CELL_COVERED.  What a terminal would obey never gets into a cell: C0 and C1 (also as UTF-8), bidi
 * controls, tags, and bytes that are no UTF-8 become U+FFFD (tab: blanks to the next multiple of 4; a newline ends the
 * row).  At most CELL_BYTES bytes of combining marks stay.  A cluster on whose width tables disagree, or of several
 * characters joined (emoji with ZWJ), is shown as its base alone, or as U+FFFD where that is not one.  A wide cluster
 * that finds one cell left is a blank there.
 *
 * Colours are what a cell is about, not a number: a theme maps them (theme.h), and a mono terminal tells them apart by
 * attributes and by the glyph that a panel chose.
 *
 * Threads: one. Errors: drawing beyond the edges is cut; nothing fails but surface_open() and surface_resize(). */
#ifndef SURFACE_H
#define SURFACE_H
#include "plimsoll.h"

enum { CELL_BYTES = 16, SURFACE_MAX = 1000 /* columns or rows */ };

enum hue { /* what it is about */
    HUE_TEXT, HUE_DIM, HUE_HEAD, HUE_CODE, HUE_WARN, HUE_ERROR, HUE_OK, HUE_KEY, HUE_USER,
    HUE_SYSTEM, HUE_PINNED, HUE_SUMMARY, HUE_HISTORY, HUE_TOOL, HUE_ANSWER, HUE_RESERVED, HUE_SHARED, HUE_FREE, HUE_PARKED,
    HUE_WEIGHTS, HUE_KV, HUE_WORK, HUE_CONTEXT, HUE_OUTSIDE,
    HUE_AGENT, /* ... + agent number mod HUE_AGENTS */
    HUE_AGENTS = 8,
    HUES = HUE_AGENT + HUE_AGENTS
};
enum { LOOK_BOLD = 1, LOOK_UNDERLINE = 2, LOOK_REVERSE = 4, LOOK_ITALIC = 8, LOOK_BLINK = 16 };

struct look {
    uint8_t hue;   /* enum hue, of the glyph */
    uint8_t ground; /* enum hue of the ground; HUE_TEXT: none */
    uint8_t attr;  /* LOOK_* */
};

enum { CELL_COVERED = 0xff };
struct cell {
    char text[CELL_BYTES]; /* UTF-8, NUL behind it if shorter; "" is a blank */
    uint8_t width;         /* 1, 2; CELL_COVERED: the second half of a wide one */
    struct look look;
};

struct surface {
    int columns, rows;
    struct cell *cell; /* rows x columns */
    int cursor_column, cursor_row; /* where the terminal's cursor is shown; -1: nowhere */
};

struct box { int column, row, columns, rows; }; /* of a surface; drawing through it is cut at its edges */

int surface_open(struct surface *s, int columns, int rows, struct err *err);
int surface_resize(struct surface *s, int columns, int rows, struct err *err); /* all blank after it */
void surface_close(struct surface *s);
struct box surface_all(const struct surface *s);
void surface_clear(struct surface *s, struct box b, struct look look);

/* One line of text from (column, row) of the box on; it ends at a newline, at `n` bytes, or at the box's edge.  Returns
 * the columns that it took.  *used (NULL: not wanted): the bytes that are shown. */
int surface_text(struct surface *s, struct box b, int column, int row, const char *text, size_t n, struct look look,
                 size_t *used);
int surface_puts(struct surface *s, struct box b, int column, int row, const char *text, struct look look);
__attribute__((format(printf, 6, 7))) int surface_printf(struct surface *s, struct box b, int column, int row,
                                                         struct look look, const char *fmt, ...);
/* n cells of one glyph of width 1, to the right or (down) below each other. */
void surface_fill(struct surface *s, struct box b, int column, int row, int n, const char *glyph, struct look look);
void surface_fill_down(struct surface *s, struct box b, int column, int row, int n, const char *glyph, struct look look);

/* ------------------------------------------------------------------ measuring, by the same rules */

/* The next cluster of n > 0 bytes of text: how many bytes it has, how many columns it takes at this column (0: it
 * shows nothing; a newline is one of its own, with 0), and what is shown of it. */
struct cluster { size_t bytes; int columns; char text[CELL_BYTES + 1]; };
struct cluster surface_cluster(const char *text, size_t n, int column);
int surface_columns(const char *text, size_t n); /* of the first line */

/* Where a line that has at most `columns` ends: at a newline (counted), behind the last blank that fits, or within a
 * word that is longer.  Bytes, at least 1 where n is. */
size_t surface_break(const char *text, size_t n, int columns);

/* ------------------------------------------------------------------ looking at it */

void surface_dump(const struct surface *s, struct buf *out); /* text, a line a row, blanks at ends cut */
/* ... and below each row that has any look but the plain one a line that says it, a letter a cell: for golden files. */
void surface_dump_looks(const struct surface *s, struct buf *out);
#endif
