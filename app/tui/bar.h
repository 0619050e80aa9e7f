/* bar.h - figures as bars, and the words beside them.
 *
 *     VRAM  ▕██▓▓▓▓▓░░░░░░▒▒··▏ 466 of 512 MiB  weights 18  KV filled 132  KV unfilled 252  work 64  free 46
 *           └ bar_draw()          └ words_draw(): what does not fit is left out, the most wanted stays
 *
 * Whatever is cut into parts adds up: the cells to the bar's width, and rounded numbers to the rounded whole.  Both are
 * shares by the largest remainder, so that each is less than one from what it would be exactly.  A part that is too
 * small for a cell has none: its number tells of it.
 *
 * Every part has a glyph of its own beside its hue, so that a terminal without colours tells them apart too.
 *
 * Threads: one.  Errors: none; what does not fit is cut. */
#ifndef BAR_H
#define BAR_H
#include "app/tui/surface.h"

enum glyphs { GLYPHS_ASCII, GLYPHS_UTF8, GLYPHS_SETS };

enum bar_glyph { /*                     UTF-8   ASCII */
    BAR_FULL, BAR_DARK, BAR_MEDIUM, /*  █ ▓ ▒   # = ~ */
    BAR_LIGHT, BAR_DOT,             /*  ░ ·     - .   */
    BAR_SLASH, BAR_BACKSLASH,       /*  ▞ ▚     % \   */
    BAR_LINES,                      /*  ▤       +     */
    BAR_THICK, BAR_DASHED, BAR_THIN, /* ━ ╍ ─   # = . : of a second, thin bar */
    BAR_GLYPHS
};
const char *bar_glyph(enum bar_glyph which, enum glyphs glyphs);

struct bar_part {
    uint64_t size;
    uint8_t hue, glyph; /* enum hue, enum bar_glyph */
};

enum { BAR_PARTS = 16 };

/* `whole` in n <= BAR_PARTS whole shares, as size[] are: share[0] + ... = whole exactly.  Where all sizes are 0 the
 * last part has it all. */
void bar_shares(const uint64_t *size, int n, uint64_t whole, uint64_t *share);

/* n parts in a bar of so many columns with its two ends; under 3 there is none. */
void bar_draw(struct surface *s, struct box b, int column, int row, int columns, const struct bar_part *part, int n,
              enum glyphs glyphs);

/* The last `columns` of n values, each as high as its share of the largest; a gap for what is not finite or below 0. */
void spark_draw(struct surface *s, struct box b, int column, int row, int columns, const float *value, int n,
                enum hue hue, enum glyphs glyphs);

/* ------------------------------------------------------------------ numbers */

enum { FIGURE = 32 };
const char *figure(char out[FIGURE], uint64_t n);         /* 1,412 */
const char *figure_signed(char out[FIGURE], int64_t n);   /* -1,412 */
const char *figure_rate(char out[FIGURE], double a_second); /* 1,140 or 8.5; n/a if not finite or below 0 */
const char *figure_seconds(char out[FIGURE], double seconds); /* 84 ms, 2.5 s, 3 min; n/a likewise */

/* The unit in which parts of so many bytes are shown: the same for all, so that they can be added by eye. */
struct bar_unit {
    const char *name; /* "MiB" */
    uint64_t bytes;
};
struct bar_unit bar_unit(uint64_t total);
uint64_t bar_units(uint64_t bytes, struct bar_unit u); /* rounded */

/* ------------------------------------------------------------------ words beside a bar */

enum { WORD = 96, WORDS = 24 };

struct word {
    char text[WORD];
    uint8_t hue;
    uint8_t rank;      /* the lower finds room first; of the same rank the first */
    int8_t glyph;      /* enum bar_glyph that stands before it as a legend; -1: none */
    const float *past; /* a sparkline before it, of n_past values; NULL: none.  Borrowed */
    int n_past;
};

struct words {
    struct word word[WORDS];
    int n;
};
/* Appends a word (dropped where WORDS are there) and returns it, to set what else it has; never NULL. */
__attribute__((format(printf, 4, 5))) struct word *words_add(struct words *w, enum hue hue, int rank, const char *fmt,
                                                             ...);
/* Leaves out each word that finds no room in so many columns beside those of lower rank; returns what the rest takes.
 * spark: columns of a sparkline.  Two blanks are between words. */
int words_fit(struct words *w, int columns, int spark);
int words_columns(const struct words *w, int spark); /* that all of them take */
void words_draw(struct surface *s, struct box b, int column, int row, const struct words *w, int spark,
                enum glyphs glyphs);
#endif
