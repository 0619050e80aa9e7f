/* keep.h - one session's place in the store, over the keeper's thread: what a turn adds is handed over and acknowledged
 * later, or said not to be.
 *
 *     keep_save(batch) ──> keeper's thread: one commit ──> keep_poll(): saved(turn) ... or failed, and tried again with
 *                                                          the next one, in order; nothing is dropped
 *
 * Texts that are wanted back are read there too, while the caller waits.  With a screen nobody waits for a store that
 * does not answer (keeper_patience()): keep_settle() and its kin return before all is saved, and calls fail with
 * STORE_BUSY.  Work that can go on without the store is done by others then (session_aside()).  Threads: the app's. */
#ifndef KEEP_H
#define KEEP_H
#include "memory/journal.h"
#include "memory/keeper.h"

enum { KEEP_UNSAVED = 32 }; /* turns that could not be saved yet; then a turn is refused */
enum { KEEP_UNSAVED_BYTES = 128 << 20 }; /* ... or of so many bytes */

struct keep_saved {
    uint32_t turn;
    uint64_t upto;  /* the last number that it has */
    size_t records;
    uint64_t bytes;
    double seconds; /* from keep_save() until its commit was durable */
    struct err err; /* code 0: it is saved */
};

struct keep;

struct keep {
    struct keeper *keeper;
    struct store_lock lock;
    struct journal_head head;
    struct keep_job *unsaved; /* the oldest first: in the keeper's hands, or failed */
    int n_unsaved;
    uint64_t unsaved_bytes;
    bool waits;   /* the oldest found no room in the keeper's queue */
    bool leaving; /* keep_leave() */
    void (*saved)(void *self, const struct keep_saved *what); /* from keep_poll() and keep_settle() */
    void *self;
};

/* Work for the store's thread that is not waited for: done() is called by keep_poll() and its kin, of this session or
 * of another with the same keeper, and owns the task again.  0, or KEEPER_FULL: the task is the caller's still. */
struct keep_task {
    struct keeper_job base;
    struct keep *keep; /* whose it is; keep_later() sets it */
    void (*done)(struct keep *k, struct keep_task *task);
};
int keep_later(struct keep *k, struct keep_task *task, struct err *err);

/* Work for the store's thread, and wait for it.  What fn returns, KEEPER_FULL, or STORE_BUSY: fn was not called. */
int keep_call(struct keep *k, int (*fn)(struct store *s, void *arg, struct err *err), void *arg, struct err *err);

/* A new session; nothing is written yet.  0, or an error of the store's or of the system's. */
int keep_new(struct keep *k, struct keeper *keeper, const char *model, struct err *err);
/* One that is there, by the beginning of its id or "last": locked for us.  STORE_BUSY: another process has it. */
int keep_open(struct keep *k, struct keeper *keeper, const char *name, struct err *err);
/* Waits for what is being saved, tries once more what could not be, and tells; unlocks.  How many turns are lost. */
int keep_close(struct keep *k);
/* The same as far as it goes without waiting: true: nothing is on its way any more. */
bool keep_leave(struct keep *k);

/* The batch becomes the session's (and is empty after it), with a copy of k->head.  0; or it is the caller's still:
 * STORE_BUSY: KEEP_UNSAVED turns wait already, STORE_NO_MEMORY. */
int keep_save(struct keep *k, struct journal_batch *b, uint32_t turn, struct err *err);
bool keep_is_full(const struct keep *k);
void keep_poll(struct keep *k);   /* tells what has been saved; does not wait */
void keep_wait(struct keep *k);   /* until one job is done, if any is on its way */
void keep_wait_for(struct keep *k, int ms); /* the same, but so long at most */
bool keep_settle(struct keep *k); /* waits until everything was saved or failed; false: the store does not answer */
void keep_again(struct keep *k);  /* what failed is tried again, and waited for */

/* One that is not in the store yet: of what is handed over next, or of what waits to be saved.  It may be gone after
 * the next call of this file.  NULL: it is in the store, or nowhere. */
const struct buf *keep_artifact(const struct keep *k, const struct journal_batch *next, uint64_t id);
int keep_message(struct keep *k, uint64_t number, struct journal_message *m, struct buf *text, struct err *err);
#endif
