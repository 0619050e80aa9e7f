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
    uint64_t bytes;     /* that were written */
    struct buf missing; /* what is damaged, and so not in it: lines; the caller's to free */
};
int sessions_write(struct store *s, struct sessions_file *f, struct err *err);
/* Import would refuse so many bytes of it; that is told, if it is so. */
bool sessions_too_large(const struct export_options *o, uint64_t bytes);
void sessions_tell_size(const struct export_options *o, uint64_t bytes);
bool sessions_file_exists(const char *path);

enum { SESSIONS_WHAT = 300 };

/* Of the record of a crew's run: how many sessions of its agents there are; of another session 0. */
int sessions_members(struct store *s, const struct journal_head *h, size_t *n, struct err *err);
/* A session for a question: its id, its title, how much it is. */
void sessions_what(const struct journal_head *h, size_t members, char out[SESSIONS_WHAT]);

/* Of a run's record, with the sessions of its agents.  Locked for that while.  0; or STORE_BUSY: another process has it
 * open, or one of these: nothing is deleted.  *waits: it is deleted, but traces of it are
 * wiped only when other processes have closed the store. */
int sessions_delete(struct store *s, const uint8_t session[STORE_SESSION_ID], bool *waits, struct err *err);
/* For the person, behind it: what is left elsewhere.  On the app's thread. */
void sessions_tell_deleted(bool waits);

/* Is there nobody who could answer?  Then sessions_ask() puts no question, and says no for them. */
bool sessions_nobody(const struct input *in);
/* "NAME exists; overwrite it?": true is y or yes.  On stderr, the answer from in. */
__attribute__((format(printf, 2, 3))) bool sessions_ask(struct input *in, const char *fmt, ...);
#endif
