/* replay_screen.h - `plimsoll replay --screen`: a recorded stream on the full screen, without a model.
 *
 * The file is read once for where its events stand and when they came (tape.h), a part at a time, while it plays; an
 * event is read again when it is shown.  Going back makes all anew from the beginning, a part at a time too, so keys
 * are obeyed at once however large the file is.  It is text of others: nothing in it is run.
 *
 * Threads: one. */
#ifndef REPLAY_SCREEN_H
#define REPLAY_SCREEN_H

int replay_screen(const char *file); /* an exit status; what went wrong was said on stderr */
#endif
