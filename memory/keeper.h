/* keeper.h - the thread that owns the store: every write, compression, and search happens there, one job after another;
 * so does work on big texts that has nothing to do with the store (app/session/session_clip.c), in jobs as short.
 *
 *     app:     keeper_submit(k, &job->base) ──> [ fixed queue ] ──> keeper's thread: job->run(job, store)
 *     app:     keeper_done(k) <── [ done, in the same order ] <─────────────┘   keeper_fd() becomes readable
 *
 * A job is the caller's memory, with struct keeper_job as its first member; between submit and done it is the
 * keeper's, and nobody else may look at it.  run() holds no transaction across a wait, since store.h has none, and is
 * not interrupted.  So who submits never waits for a disk; who wants to may: keeper_wait().
 *
 * What a turn has to save is one job; it is acknowledged when that job is done with code 0, and not before: its commit
 * is durable then.
 *
 * Threads: one other thread calls these functions. */
#ifndef KEEPER_H
#define KEEPER_H
#include "memory/store.h"

struct keeper; /* opaque */

enum { KEEPER_JOBS = 64 };               /* submitted and not yet taken back by keeper_done() */
enum { KEEPER_OK = 0, KEEPER_FULL = -100, KEEPER_FAILED = -101 }; /* beside the errors of store.h */

struct keeper_job {
    int (*run)(struct keeper_job *job, struct store *s, struct err *err); /* on the keeper's thread */
    int code;       /* when it is done: what run() returned, and its line */
    struct err err;
    void *owner;    /* the caller's own */
};

/* Takes the store over, also when it fails: it is closed then.  0, or KEEPER_FAILED. */
int keeper_open(struct keeper **out, struct store *s, struct err *err);

/* Runs what was submitted to its end, then closes the store.  Jobs that were not taken back are the caller's again. */
void keeper_close(struct keeper *k); /* NULL is fine */

/* 0, or KEEPER_FULL: take some back first; the job is the caller's then. */
int keeper_submit(struct keeper *k, struct keeper_job *job, struct err *err);

struct keeper_job *keeper_done(struct keeper *k); /* the oldest that is done; NULL: none yet */
int keeper_fd(const struct keeper *k);            /* readable while keeper_done() has one: for poll() */
int keeper_pending(const struct keeper *k);       /* submitted and not taken back */

/* A job that takes longer than so many ms is one that others need not wait for: another process may have the store's
 * lock for as long as it likes.  0 (as opened): none is.  stuck: such a one runs at this moment. */
void keeper_patience(struct keeper *k, int ms);
bool keeper_stuck(const struct keeper *k);

/* A session's lock (store.h), at once: it is a file of its own, for which no job is waited. */
int keeper_lock_session(struct keeper *k, const uint8_t session[STORE_SESSION_ID], struct store_lock *out,
                        struct err *err);

/* Waits until one is done, or `stop` says true (asked every 50 ms and after each signal; NULL: never).  As done(). */
struct keeper_job *keeper_wait(struct keeper *k, bool (*stop)(void *), void *self);
#endif
