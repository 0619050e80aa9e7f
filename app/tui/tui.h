/* tui.h - the face with a screen: what `plimsoll` opens in a terminal.
 *
 * Threads: tui_run() is the screen's and returns when the sessions are saved. */
#ifndef TUI_H
#define TUI_H
#include "app/app.h"

/* Is there a terminal that can be drawn on, and does nothing ask for lines?  why (NULL: not wanted) says why not, where
 * a person may wonder. */
bool tui_wanted(const struct opts *o, char why[120]);

int tui_run(struct app *a); /* an exit status; what went wrong was said on stderr */
#endif
