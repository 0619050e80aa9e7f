/* desk.h - the thread that has the sessions while a screen is there: it obeys what the person typed, line by line, as
 * the line chat does (console.h), and tells the bridge of all that happens.
 *
 * Between two passes of the engine, and while nothing is to do, it collects the docs that views ask for.
 *
 * Threads: open and close are the screen's; all else of the sessions is this thread's alone until desk_close(). */
#ifndef DESK_H
#define DESK_H
#include "app/app.h"
#include "app/tui/bridge.h"

struct desk;

/* Starts the thread.  NULL: err.  a: opened; nobody else uses it till desk_close(). */
struct desk *desk_open(struct app *a, struct bridge *b, struct err *err);
/* The screen's thread: an agent's part in the order that the screen was told is obeyed, or (NULL, "") all of it.  One
 * that has ended meanwhile is let be, and the next one, too.  Where it was told of none, and after bridge_leave(), it is
 * whatever is obeyed.  (NULL, "") while nothing is obeyed: a file that is being indexed is not any more. */
void desk_cancel(struct desk *d, const char *agent);
int desk_close(struct desk *d); /* after bridge_leave(); waits for the sessions to be saved: the exit status */
#endif
