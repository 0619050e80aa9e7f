/* play_child.h - one run of a lesson: this program as a child that is read event by event, and always ended.
 *
 * It has stdin, a pipe for its events, stderr, and nothing else of this process; its folder is the lesson's own.
 * Owner: the caller, until play_child_end().  Threads: one. */
#ifndef PLAY_CHILD_H
#define PLAY_CHILD_H
#include "plimsoll.h"
#include <sys/types.h>

enum { PLAY_ARGS = 256 };

struct play_command {
    const char *program; /* a path */
    char *argv[PLAY_ARGS];
    int argc;
    const char *folder;  /* where it runs */
    const char *input;   /* its stdin */
    bool held;           /* which does not end there: more could come, so that it waits (at most 64 KiB) */
};

struct play_child {
    pid_t pid;
    int out, err;       /* out: its events, -1: no more; err: what it said, a file in memory */
    int held;           /* our end of a stdin that is held open; -1: none is */
    struct buf line;    /* of the events, the last without its newline */
    size_t at;          /* in it: what was given already */
    double begun, heard, told; /* by progress_clock(): told: it was asked to end; 0: it was not */
    double looked;      /* when play_child_look() was called last */
    bool over, late;    /* waited for; ended by us because it took too long */
    int status;         /* of waitpid() */
};

/* 0, or -1. */
int play_child_start(struct play_child *c, const struct play_command *cmd, struct err *err);

/* The next line of its events, without its newline, until the next call; NULL: none for now, or it is longer than
 * `most`, which is passed over and counted in *wrong. */
const char *play_child_line(struct play_child *c, size_t most, size_t *n, int *wrong);

/* Reads what is there, looks whether it has ended, and whether it is to: after `limit` seconds in all, or `patience`
 * without a word.  True: something came, or it is over. */
bool play_child_look(struct play_child *c, double limit, double patience);

void play_child_kill(struct play_child *c); /* SIGKILL, as a lesson has it; it is over when play_child_look() says so */

/* Ended if it is not over (SIGTERM, after a second SIGKILL), and waited for.  tail: the last that it said on stderr,
 * `room` bytes with its NUL; NULL: not wanted. */
void play_child_end(struct play_child *c, char *tail, size_t room);
#endif
