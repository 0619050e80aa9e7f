/* child.h - other programs that the bench starts. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H
#include "plimsoll.h"
#include <sys/types.h>

/* Start argv[0] (looked for on the path).  out: NULL: what it prints is dropped (not its stderr); else *out
 * is a pipe to read it from.  -1: err says why. */
pid_t child_start(char *const argv[], FILE **out, struct err *err);

/* Run argv to its end and give every line of its stdout to line() (without the newline).  Its exit code, or -1. */
int child_lines(char *const argv[], void (*line)(void *self, char *text), void *self, struct err *err);
#endif
