/* view_lessons.h - the Lessons view: the list with what was learned, and one of them being played.
 *
 *      Lessons   3 of 16 played                            a small engine of their own; yours is not touched
 *        L2   endless-chat     2/2  A chat without an end: the whole history in every call
 *
 *      L2 A chat without an end            4 of 9: The broken run
 *      text of the stage, scrolled    │  broken  ▁▂▃▄▅▆▇█✗   KV 6.0 of 6.0 MiB
 *                                     │  fixed
 *
 * A lesson's runs are children of this process (play.h) with engines of their own.  They go on while something else is
 * looked at; whoever draws beside the chat gets the curves.
 *
 * Threads: the screen's. */
#ifndef VIEW_LESSONS_H
#define VIEW_LESSONS_H
#include "app/learn/play.h"
#include "app/tui/view.h"

/* How lessons are played from now on: another program than this one, say. */
void view_lessons_config(void *self, const struct play_config *cfg);

bool view_lessons_runs(const void *self); /* a run goes on; self NULL: none does */
/* Its curves, for a box beside the conversation. */
void view_lessons_beside(const void *self, struct surface *s, struct box b, enum glyphs glyphs);
/* One line about the run, without a newline; nothing where none goes on.  Appended. */
void view_lessons_line(const void *self, enum glyphs glyphs, struct buf *out);
#endif
