/* term_filter.h - text of others on its way to a terminal: what a terminal would obey, or what would show it in another
 * order than it stands, is made visible instead.
 *
 *     C0 controls but \n and \t, and DEL       ^[ ^M ^? ...         (ESC would start a command of the terminal)
 *     C1 controls, U+0080 to U+009F            U+FFFD               (U+009B is ESC [ in one character)
 *     U+202A-202E, U+2066-2069                 U+FFFD               (bidirectional overrides, embeddings and isolates)
 *     bytes that are not UTF-8                 U+FFFD
 *
 * A stream: a character may be cut anywhere between two calls.  Threads: one filter, one thread. */
#ifndef TERM_FILTER_H
#define TERM_FILTER_H
#include "engine/text.h"
#include "plimsoll.h"

struct term_filter {
    struct text utf8;
};

void term_filter_init(struct term_filter *f);
void term_filter_feed(struct term_filter *f, const char *bytes, size_t n, struct buf *out);
void term_filter_end(struct term_filter *f, struct buf *out); /* an unfinished character comes out as U+FFFD */

/* A whole text at once; with one_line newlines and tabs are made blanks. */
void term_filter_text(const char *bytes, size_t n, bool one_line, struct buf *out);
#endif
