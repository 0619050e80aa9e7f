/* surface.h - a grid of cells that panels draw into, and the one place through which every text gets there.
 *
 *     text of anybody ──> surface_text(): filtered, cut into clusters, measured ──> cells ──> screen.c (changed ones)
 *                                                                              └──> surface_dump(): golden screens
 *
 * A cell shows one cluster (a character with what combines with it) of width 1 or 2; a wide one takes the next cell
 * too, which is then CELL_COVERED.  Of a text that nobody vouches for a cell gets this:
 *
 *     C0, DEL, C1 (also as UTF-8), bidi embeddings, overrides and isolates,       U+FFFD
 *     line and paragraph separators, not assigned, bytes that are no UTF-8
 *     tags (U+E0000 to U+E007F)                                                   U+FFFD for a run of them
 *     tab                                                                         blanks to the next multiple of 4
 *     newline (\n, or \r\n)                                                       ends the row
 *     soft hyphen, zero-width space and joiners, bidi marks, byte order mark      nothing, 0 columns
 *     a character with combining marks (Mn)                                       both, composed (NFC) where that is
 *                                                                                 possible, at most CELL_MARKS marks
 *     several characters joined: emoji by ZWJ, skin tones, variation selectors,   the first alone: width tables
 *     keycaps, spacing marks                                                      disagree on the whole
 *     a mark without a character, flags, others on which tables disagree          U+FFFD
 *
 * What is shown of a cluster is shown unchanged when it is given as text again.  RTL letters stand in the order of the
 * text.  A wide cluster that finds one cell left is a blank there.
 *
 * Colours are what a cell is about, not a number: a theme maps them (theme.h), and a mono terminal tells them apart by
 * attributes and by the glyph that a panel chose.
 *
 * Threads: one. Errors: drawing beyond the edges is cut; nothing fails but surface_open() and surface_resize(). */
#ifndef SURFACE_H
#define SURFACE_H
#include "plimsoll.h"

enum { CELL_BYTES = 16, CELL_MARKS = 4 /* what a curses cell can hold */, SURFACE_MAX = 1000 /* columns or rows */ };

enum hue { /* what it is about */
    HUE_TEXT, HUE_DIM, HUE_HEAD, HUE_CODE, HUE_WARN, HUE_ERROR, HUE_OK, HUE_KEY, HUE_USER,
    HUE_SYSTEM, HUE_PINNED, HUE_SUMMARY, HUE_HISTORY, HUE_TOOL, HUE_ANSWER, HUE_RESERVED, HUE_SHARED, HUE_FREE,
    HUE_PARKED,
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
struct cell { /* no padding, and unused bytes are 0: cells that look the same are equal to memcmp() */
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

int surface_open(struct surface *s, int columns, int rows, struct err *err); /* 0, or -1: s is empty */
int surface_resize(struct surface *s, int columns, int rows, struct err *err); /* all blank after it; -1: as it was */
void surface_close(struct surface *s);
struct box surface_all(const struct surface *s);
void surface_clear(struct surface *s, struct box b, struct look look);

/* One line of text from (column, row) of the box on; it ends at a newline, at `n` bytes, or at the box's edge.  What
 * lies left of the box (column < 0) is cut, so a long line can be moved sideways; tabs count from the text's beginning.
 * Returns the columns that it took, from `column` on, the cut ones too (0 in a row that the box has not).
 * *used (NULL: not wanted): the bytes up to the newline, or to the first cluster that found no room. */
int surface_text(struct surface *s, struct box b, int column, int row, const char *text, size_t n, struct look look,
                 size_t *used);
int surface_puts(struct surface *s, struct box b, int column, int row, const char *text, struct look look);
/* At most 4 KiB are printed. */
__attribute__((format(printf, 6, 7))) int surface_printf(struct surface *s, struct box b, int column, int row,
                                                         struct look look, const char *fmt, ...);
/* n cells of one glyph of width 1 (another one is U+FFFD), to the right or (down) below each other. */
void surface_fill(struct surface *s, struct box b, int column, int row, int n, const char *glyph, struct look look);
void surface_fill_down(struct surface *s, struct box b, int column, int row, int n, const char *glyph,
                       struct look look);

/* ------------------------------------------------------------------ measuring, by the same rules */

/* The next cluster of n > 0 bytes of text: how many bytes it has, how many columns it takes at this column (0: it
 * shows nothing; a newline is one of its own, with 0), and what is shown of it.  Bytes at the end that may still become
 * a character are U+FFFD: who streams waits for the rest. */
struct cluster { size_t bytes; int columns; char text[CELL_BYTES + 1]; };
struct cluster surface_cluster(const char *text, size_t n, int column);
int surface_columns(const char *text, size_t n); /* of the first line */

/* Where a line that has at most `columns` ends: at a newline (counted), behind the last blank or between the last two
 * wide clusters that fit, or within a word that is longer.  Blanks that do not fit belong to the line before them (they
 * are beyond its edge), so that no line begins with the blanks between two words.  Bytes, at least 1 where n is. */
size_t surface_break(const char *text, size_t n, int columns);

/* ------------------------------------------------------------------ looking at it */

void surface_dump(const struct surface *s, struct buf *out); /* text, a line a row, blanks at ends cut */

/* For golden files: each row's text behind a blank, and below it, where any cell there has more than the plain look,
 * lines with a letter a column: '#' the hue, '@' the ground, '!' the attributes.  Letters: '.' HUE_TEXT or nothing;
 * hues 'a' HUE_DIM, 'b' HUE_HEAD, and so on, agents '0' to '7'; attributes as a number, 1 to 9 and a to v. */
void surface_dump_looks(const struct surface *s, struct buf *out);
#endif
