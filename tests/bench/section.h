/* section.h - a new section in a text like SPEED.md.  Pure. */
#ifndef BENCH_SECTION_H
#define BENCH_SECTION_H
#include "plimsoll.h"

#define SECTION_HEADING "## Figures" /* sections ("### ...") follow this line, the newest first */
#define SECTION_CHART "![Speed: ours, the peer's, and the goals](speed.svg)" /* a line of the newest that has one */

/* out: text with section, which begins with "### ", before the first one below the heading.  The chart's line is taken
 * out of the older ones: what it shows is replaced.  -1: text has no such heading, or no memory; out is to be freed. */
int section_insert(const char *text, const char *section, struct buf *out, struct err *err);
#endif
