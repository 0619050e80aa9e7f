/* loop.h - the loop of a full screen: whatever is ready first, keys, the terminal, signals, another descriptor, time;
 * and a draw before it sleeps.
 *
 * Keys are drawn at once, all else at most 25 times a second.  What it calls must not wait.
 *
 * Threads: the screen's.  The screen is open (screen.h), and so are signals. */
#ifndef LOOP_H
#define LOOP_H
#include "app/tui/keys.h"
#include "app/tui/surface.h"

enum { LOOP_TICK_MS = 100 };

struct loop_ops {
    void (*key)(void *self, const struct key *k);
    void (*resize)(void *self, int columns, int rows);
    bool (*step)(void *self);      /* takes what has come; true: it is to be drawn */
    bool (*tick)(void *self);      /* true: something changes with time, and is drawn 10 times a second */
    int (*wait_ms)(void *self);    /* how long there is nothing to do, at most */
    void (*interrupt)(void *self); /* SIGINT is pending: it came from outside */
    void (*leave)(void *self);     /* the terminal is gone, or the process is to end; maybe more than once */
    bool (*over)(void *self);
    const struct surface *(*draw)(void *self);
};

struct loop {
    const struct loop_ops *ops;
    void *self;
    int fd;              /* readable when step() has something to take; -1: none */
    struct keys keys;
    bool dirty, at_once; /* something is to be drawn; without waiting for the next twenty-fifth of a second */
    int64_t drawn_ms;
    bool gone;           /* the terminal is */
    int ending;          /* the signal that ends it; 0 */
};

void loop_run(struct loop *l, const struct loop_ops *ops, void *self, int fd); /* till it is over */
#endif
