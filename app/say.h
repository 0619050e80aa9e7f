/* say.h - words for the person, on stderr: one line each, cleared of control characters, since names and texts of
 * others are in them.  Only stderr: answers have their own way (out.h). */
#ifndef SAY_H
#define SAY_H
#include "plimsoll.h"

enum say_kind { SAY_PLAIN, SAY_DIM, SAY_ERROR, SAY_PROGRESS };

/* Lines go to `line` instead (NULL: to stderr again), without their newline: the screen is somebody's.  PROGRESS: what
 * takes long, how far it is; "" when that is over.  Bars and prompts are not drawn meanwhile. */
void say_divert(void (*line)(void *self, enum say_kind kind, const char *text, size_t n), void *self);
bool say_diverted(void);
void say_progress(const char *text); /* while it is diverted */

void say_plainly(bool plain); /* no colour, and no line that is drawn over */
/* A line that stderr has no room for now is left out, and how many were is said when there is room again: who serves
 * others does not wait for the reader of its words. */
void say_never_waits(void);
bool say_on_terminal(void);   /* stderr is a terminal that may be drawn on */

__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);       /* a line */
__attribute__((format(printf, 1, 2))) void say_error(const char *fmt, ...); /* "plimsoll: ..." */
__attribute__((format(printf, 1, 2))) void say_dim(const char *fmt, ...);   /* a line beside the matter */
unsigned say_errors(void); /* that were said */
void say_bytes(const char *bytes, size_t n); /* ours, as they are: prompts and bars */
#endif
