/* touch.h - a slab that the system has promised becomes memory that is there, in a thread of its own.
 *
 * Linux hands out more memory than it has, and finds out at the first use.  What was not touched yet must therefore not
 * be counted on: the scheduler admits by touch_done() alone, and the first request need not wait for the whole pool. */
#ifndef TOUCH_H
#define TOUCH_H
#include "plimsoll.h"
#include <pthread.h>
#include <stdatomic.h>

struct touch {
    unsigned char *slab;
    size_t bytes;
    atomic_size_t done; /* from the front; what is before it belongs to its users alone */
    atomic_bool stop;
    bool started;
    pthread_t thread;
    pthread_mutex_t lock; /* for those who wait */
    pthread_cond_t more;
};

/* slab: zeroed memory that nobody else writes before touch_done() has passed it.  It stays the caller's, until
 * touch_close().  0, or -1: no thread could be started. */
int touch_open(struct touch *t, void *slab, size_t bytes, struct err *err);
void touch_close(struct touch *t); /* stops it; fine after a failed open, or on zeros */
size_t touch_done(struct touch *t);              /* bytes; from any thread */
size_t touch_wait(struct touch *t, size_t more); /* until more bytes than that are done, or all are */
#endif
