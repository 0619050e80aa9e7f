/* sessions.h - what is done with a saved session as a whole, in a chat and by `plimsoll sessions`.
 *
 * A file is written beside its name, synced, and renamed: it is there whole or not at all.  Threads: the two that take
 * a store run on the store's; sessions_ask() on the app's. */
#ifndef SESSIONS_H
#define SESSIONS_H
#include "app/input.h"
#include "memory/export.h"

enum sessions_error { /* beside the store's */
    SESSIONS_EXISTS = -300,  /* a file of that name is there */
    SESSIONS_FILE = -301,    /* it cannot be written */
    SESSIONS_STOPPED = -302  /* by a signal; nothing was written */
};

struct sessions_file {
    uint8_t session[STORE_SESSION_ID];
    struct export_options options;
    const char *path;
    bool over;          /* in place of the one that is there */
    struct buf missing; /* what is damaged, and so not in it: lines; the caller's to free */
};
int sessions_write(struct store *s, struct sessions_file *f, struct err *err);
bool sessions_file_exists(const char *path);

/* Locked for that while.  0; or STORE_BUSY: another process has it open.  *waits: it is deleted, but traces of it are
 * wiped only when other processes have closed the store. */
int sessions_delete(struct store *s, const uint8_t session[STORE_SESSION_ID], bool *waits, struct err *err);

/* "NAME exists; overwrite it?": true is y or yes.  On stderr, the answer from in. */
__attribute__((format(printf, 2, 3))) bool sessions_ask(struct input *in, const char *fmt, ...);
#endif
