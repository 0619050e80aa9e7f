/* watch_screen.h - `plimsoll watch` on the full screen, until a person leaves it.
 *
 * Threads: one. */
#ifndef WATCH_SCREEN_H
#define WATCH_SCREEN_H
#include "app/watch/watch.h"

int watch_screen(struct watch *w); /* an exit status; what went wrong was said on stderr */
#endif
