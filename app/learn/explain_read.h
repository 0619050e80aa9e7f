/* explain_read.h - a text as a run of letters and numbers (see explain.h).
 *
 * The run has lower-case letters, digits, and of the rest only what belongs to a number (. , - between digits) or tells
 * two numbers apart (a blank, a slash).  Where something else stood, the character behind it has a mark.  So
 *
 *     (EngineCore pid=7) ValueError: 4.26 GiB KV cach        becomes  valueerror4.26gibkvcacheisneeded
 *     (EngineCore pid=7) e is needed                                  ^         ^   ^ ^   ^    ^ marks
 *
 * A line's break is a mark of its own: a word may be wrapped in the middle.  Before a line what loggers write is left
 * out: colours, times, levels, process names.  Owner: the run, until run_free().  Linear; a text of more than
 * EXPLAIN_BYTES is read at its beginning and its end. */
#ifndef EXPLAIN_READ_H
#define EXPLAIN_READ_H
#include "plimsoll.h"

enum { PREFIXES_MOST = 32 };
enum run_mark { MARK_GAP = 1, MARK_LINE = 2 }; /* before this character: something else stood; a line ended */

struct run_line { uint32_t at, line; }; /* where in the run it begins; its number in the text, from 1 */

struct run {
    char *c;       /* n characters and a NUL */
    uint8_t *mark; /* n + 1 */
    size_t n;
    struct run_line *lines; /* of lines that have a character in the run, in order */
    size_t n_lines, cap_lines;
    uint32_t last_line;     /* lines in all that was read */
    uint32_t prefix[PREFIXES_MOST]; /* of log prefixes, the letters' hashes: each stays in the run once */
    int prefixes;
};

/* 0, or -1: out of memory. */
int run_read(const char *text, size_t n, struct run *r);
void run_free(struct run *r);

/* A text in UTF-16, as shells of Windows write what is sent into a file: with its mark or, where letters of ASCII show
 * it, without.  True: out has it a byte a character, of which those beyond ASCII are 0xff, which is no letter here;
 * false: it is not, or memory ran out. */
bool run_narrow(const char *text, size_t n, struct buf *out);

/* Of a text of more than EXPLAIN_BYTES: where the end that is read begins, at a line if one begins near; else n. */
size_t run_tail(const char *text, size_t n);

/* How many lines end in these bytes; at most UINT32_MAX. */
uint32_t run_ends(const char *text, size_t n);

/* The number of the line in which position `at` of the run is. */
uint32_t run_line_of(const struct run *r, size_t at);

/* Is a line without a letter or number between these two places? */
bool run_blank_between(const struct run *r, size_t from, size_t to);

/* Line `number` of the text without its prefix, as printable ASCII in one line, cut to size: " ..." behind a word. */
void run_quote(const char *text, size_t n, uint32_t number, char *out, size_t size);

/* The lines of a text one by one; one that went through JSON has their ends written as "\n". */
struct run_lines {
    const char *text;
    size_t n;          /* set these two, the rest 0 */
    const char *s;     /* the line */
    size_t len;
    uint32_t line;     /* its number in the text, from 1 */
    size_t at, stop;   /* where the next begins, where the text's own line ends */
};
bool run_next_line(struct run_lines *l); /* false: there is none */

/* How many bytes of a line's beginning a logger wrote. */
size_t log_prefix(const char *line, size_t n);
#endif
