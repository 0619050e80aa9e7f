/* escape.h - bytes of others as one line of plain text from which they can be told exactly.
 *
 *     \n \t \r \\         newline, tab, carriage return, backslash
 *     \x1b                every other ASCII control character, and each byte that is not UTF-8
 *     \u{202e}            what would not be seen, or would show other text in another order than it stands: controls,
 *                         marks of direction, zero-width and other ignorable characters, blanks that are not the blank,
 *                         private and unassigned characters
 *
 * All else stays as it is: letters written from right to left too, which a terminal may draw in that order.
 * Threads: any. */
#ifndef ESCAPE_H
#define ESCAPE_H
#include "plimsoll.h"

void escape_text(const char *bytes, size_t n, struct buf *out);

/* At most max of the bytes, less a character that would be cut; the rest is the mark "...". */
void escape_start(const char *bytes, size_t n, size_t max, struct buf *out);
#endif
