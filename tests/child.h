/* child.h - running a program as a user does: over pipes, or at a terminal of its own.
 *
 * Everything that waits gives up, and fails the test, after CHILD_PATIENCE seconds: long enough for a sanitizer on a
 * busy machine, so that only a program that hangs meets it. */
#ifndef CHILD_H
#define CHILD_H
#include "plimsoll.h"
#include <sys/types.h>

enum { CHILD_PATIENCE = 60, CHILD_ARGS = 40 };

const char *child_program(void); /* $PLIMSOLL_BIN, else build/plimsoll; its absence fails the test */

struct child {
    pid_t pid;
    int in, out, err; /* our ends of its pipes; at a terminal all one */
    struct buf out_text, err_text;
};

/* Start child_program() with these arguments (NULL ends them), and environment TERM=dumb, no PLIMSOLL_ variables. */
void child_start(struct child *c, const char *const *args);
void child_start_into(struct child *c, const char *const *args, const char *file); /* stdout is this file */
void child_start_at_terminal(struct child *c, const char *const *args);

/* At a terminal of this kind and size; with one variable more. */
struct child_terminal {
    const char *term; /* TERM; NULL: not set */
    int columns, rows;
    const char *variable; /* "NAME=value"; NULL: none */
};
void child_start_in(struct child *c, const char *const *args, const struct child_terminal *t);
void child_look(struct child *c, int ms); /* reads what it writes in that time */

void child_type(struct child *c, const char *text, size_t n);
void child_close_input(struct child *c);
void child_stop_reading(struct child *c); /* our end of its stdout is closed (at a terminal: it is hung up) */
void child_wait_for(struct child *c, const char *text); /* until what it wrote since the last such call has it */
int child_end(struct child *c); /* reads to the end; its exit status, or 1000 + the signal that ended it */
void child_free(struct child *c);

/* All of it: start, give it `in`, end.  The texts are in c, for child_free(). */
int child_run(struct child *c, const char *const *args, const char *in, size_t n);
#endif
