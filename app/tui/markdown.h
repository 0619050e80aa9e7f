/* markdown.h - answers as models write them, with their marks made into looks, while they stream.
 *
 *     "## Why\n- **two** `pages`\n"  ──md_block()──>  "Why"           head
 *                                                     "• two pages"   mark, bold, code; wrapped lines hang by 2
 *
 * Known: headings, lists, quotes, rules, fences, code spans, bold and italic within a line, and tables that fit the
 * width (others stay as they were written).  All else is text.  Block by block: a block is a line (a part of one that
 * has more than MD_LINE bytes) or a table; one is settled when no further text can change it, so that a stream has only
 * its last block made again.  A mark that has no partner yet counts in a line that still grows, and is text in one
 * that has ended.
 *
 * Work is bounded by MD_LINE and MD_TABLE a block, whatever the text.  Nothing is filtered here: surface.h does that.
 *
 * Owner: the caller, of both buffers.  Threads: pure.  Errors: no memory sets out->text.failed. */
#ifndef MARKDOWN_H
#define MARKDOWN_H
#include "app/tui/surface.h"

enum { MD_LINE = 4096, MD_TABLE = 16384 /* bytes */, MD_TABLE_COLUMNS = 16 };

enum { MD_BOLD = 1, MD_ITALIC = 2, MD_CODE = 4, MD_HEAD = 8, MD_MARK = 16 /* bullets, borders, fences */ };

struct md { /* between blocks; all zeros before the first */
    char fence; /* ` or ~: inside one that began with so many */
    int fence_n;
    bool middle; /* of a line of more than MD_LINE bytes */
};

struct md_line {
    size_t n;    /* bytes of text, and of style; the newline behind them is not counted */
    int hang;    /* columns that its wrapped rows are moved in by */
};

struct md_out {
    struct buf text;  /* lines, each with a newline */
    struct buf style; /* MD_*, one for each byte of text */
    struct md_line *line;
    size_t n_lines, cap_lines;
};

struct md_how {
    int columns; /* that a table and a rule may have */
    bool utf8;   /* marks beyond ASCII */
    bool ended;  /* no text comes behind this */
};

/* The first block of n > 0 bytes of text, appended to out; *m is then the state behind it.  Returns its bytes, its last
 * newline counted.  *settled: as above. */
size_t md_block(struct md *m, const char *text, size_t n, struct md_how how, struct md_out *out, bool *settled);
void md_put(struct md_out *out, const char *text, size_t n, int style, int hang); /* a line as it is */
void md_out_free(struct md_out *out);
void md_out_clear(struct md_out *out); /* keeps its memory */

struct look md_look(unsigned style, struct look plain); /* of a byte, in a text whose look is plain */
#endif
