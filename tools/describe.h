/* describe.h - what a call would do, as lines for the person who is asked to allow it.
 *
 *     write notes.txt (a new file): 2 lines, 8 bytes      edit f, line 12: 8 bytes become 9      shell
 *       + one                                               - port = 80                            command: ls -l
 *       + two                                               + port = 443
 *
 * Every byte of the arguments is there, escaped (tools/escape.h), each line of a text on a line of its own, up to max
 * bytes of each text; then "(N bytes more are not shown)".  An edit is shown as the whole lines that it changes, as the
 * file is now: it runs only if its old text is still in the file exactly once. */
#ifndef DESCRIBE_H
#define DESCRIBE_H
#include "tools/tool.h"

/* Any tool's name, those that are not in the table too.  0; or -1, out is unchanged: the call would fail, err says why,
 * or memory ran out (out->failed). */
int tool_describe(const struct tool_context *c, const char *name, const json_t *arguments, size_t max,
                  struct buf *out, struct err *err);
#endif
