/* leave.h - the terminal as it was found, whatever ends the program.
 *
 *     leave_open()   what gives it back: a text and modes, made beforehand; handlers are set
 *     leave_arm()    from here on the terminal is ours ...
 *     leave_now()    ... and from here on it is not; from a handler, or anywhere
 *
 * SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP and SIGQUIT give it back and then do what they did before:
 * a sanitizer's report, a core dump, the handler that was there (signals.h: the session is saved; so open this after
 * it).  Ignored ones stay ignored.  SIGTSTP gives it back and stops, but for a process that no shell could continue
 * (its group is orphaned): that one goes on at once, as after SIGCONT.  SIGWINCH and SIGCONT are told by leave_woken().
 *
 * One terminal a process.  Threads: open, arm and close from one; leave_now() is async-signal-safe. */
#ifndef LEAVE_H
#define LEAVE_H
#include "plimsoll.h"
#include <termios.h>

enum { LEAVE_TEXT_MAX = 256 };
enum { LEAVE_RESIZED = 1, LEAVE_CONTINUED = 2 };

int leave_open(int in, int out, const struct termios *was, const char *text, size_t n, struct err *err);
void leave_arm(void);
void leave_now(void);
bool leave_armed(void);
void leave_close(void); /* gives it back too; the handlers are what they were */

int leave_wake_fd(void);     /* readable when leave_woken() has something to say */
unsigned leave_woken(void);  /* LEAVE_*: what happened since the last call */
#endif
