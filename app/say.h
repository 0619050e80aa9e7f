/* say.h - words for the person, on stderr: one line each, cleared of control characters, since names and texts of
 * others are in them.  Only stderr: answers have their own way (out.h). */
#ifndef SAY_H
#define SAY_H
#include "plimsoll.h"

void say_plainly(bool plain); /* no colour, and no line that is drawn over */
bool say_on_terminal(void);   /* stderr is a terminal that may be drawn on */

__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);       /* a line */
__attribute__((format(printf, 1, 2))) void say_error(const char *fmt, ...); /* "plimsoll: ..." */
__attribute__((format(printf, 1, 2))) void say_dim(const char *fmt, ...);   /* a line beside the matter */
unsigned say_errors(void); /* that were said */
void say_bytes(const char *bytes, size_t n); /* ours, as they are: prompts and bars */
#endif
