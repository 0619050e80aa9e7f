/* tui.h - the face with a screen: what `plimsoll` opens in a terminal.
 *
 * Threads: tui_run() is the screen's and returns when the sessions are saved. */
#ifndef TUI_H
#define TUI_H
#include "app/app.h"

/* Is there a terminal that can be drawn on, and does nothing ask for lines?  why (NULL: not wanted) says why not, where
 * a person may wonder. */
bool tui_wanted(const struct opts *o, char why[120]);

/* The terminal of stdin and stdout as the settings want it drawn on; fills in what it is like.  0, or -1: err. */
struct ui_setup;
int tui_open_screen(const struct opts *o, struct ui_setup *setup, struct err *err);
void tui_close_screen(void);

int tui_run(struct app *a); /* an exit status; what went wrong was said on stderr */
#endif
