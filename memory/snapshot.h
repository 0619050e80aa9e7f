/* snapshot.h - KV pages kept on disk, so that a session that is resumed need not pre-fill what it said before.
 *
 *     key in the store's cache             body (numbers little-endian), in a record of kind REC_CACHE
 *     'K' 'k' identity:16 name:16          a page: before:16 tokens:4 bytes:4 ids:4 each, the page's bytes
 *     'K' 's' identity:16 session:16       what a session used last: generation:8 pages:4 names:16 each, first to last
 *
 *     after a turn    for every whole page of prompt and answer: snap_has(), or the engine's page_get() and snap_put();
 *                     then snap_use()
 *     at a resume     for every whole page of the next prompt: snap_get() and the engine's page_put(), until one of
 *                     them says no; then snap_use()
 *
 * A page is opaque here.  Its name stands for the engine that computed it and for all tokens up to its end (the caller
 * names pages: engine.h's engine_page_name), so that sessions with one front keep it once, and another engine asks for
 * other names.  Disks decay, and somebody may want two texts to meet in a name: what is found is believed only if its
 * record is whole (record.h) and says the same name before and the same tokens.  What does not is refused, named, and
 * removed.
 *
 * Pages are stored as they are: zstd at level 1 takes 9 % off the embedded model's F16 pages and 5 % off Q8_0 ones, at
 * 0.8 GB a second; and records of one size leave room in the file that fits the next.
 *
 * The quota is on these records alone, counted as the file has them (in blocks of 4096).  When it is passed, the pages
 * that no session used for the longest time go, of one session the last first, until an eighth of the quota is free.
 * Age is by generation: each snap_use() is one, and gives it to all the pages that it names; reading writes nothing.
 * What no session names is the oldest.
 *
 * A session has a quota too: of its lists and of the pages that it alone names; what others name as well is counted
 * with the whole only.  When it is passed, that session's own pages go, those of other engines than its last one first,
 * then the last of its text, until an eighth of it is free.  Others' pages stay.
 *
 * All of it can be computed again: any error here means no more than a pre-fill.  store_delete_session(), or whoever is
 * alone with the store next, leaves only the pages that a session which is there used last.
 *
 * Thread: the store's (the keeper).  Nothing may be pending in the store when these are called, and nothing is when
 * they return: each call is a transaction of its own, or a few. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H
#include "memory/store.h"

enum { SNAP_NAME = 16, SNAP_TOKENS_MAX = 256, SNAP_PAGES_MAX = 1 << 20 };
#define SNAP_BATCH_MAX ((size_t)64 << 20) /* bytes of pages that one snap_put() takes */

struct snap_figures { /* since open */
    uint64_t put, there;     /* pages written, and not written since they were there */
    uint64_t got, refused;   /* read; damaged or another's */
    uint64_t evicted;
};

struct snap { /* the pages of one kind of engine, in one store; fields are for reading */
    struct store *store;
    uint8_t identity[SNAP_NAME];
    int tokens;   /* of a page */
    size_t bytes; /* the same */
    uint64_t quota, own; /* of all, and of one session */
    uint64_t generation;
    struct snap_figures figures;
    struct buf work;
};

/* quota: bytes of all sessions' records; own: of one session's, at most the quota counts.  0, STORE_TOO_BIG (such pages
 * do not fit a record), or another of the store's.  The store outlives it. */
int snap_open(struct snap *out, struct store *s, const uint8_t identity[SNAP_NAME], int tokens, size_t bytes,
              uint64_t quota, uint64_t own, struct err *err);
void snap_close(struct snap *s);

struct snap_page {
    const uint8_t *name, *before; /* (SNAP_NAME) before: of the page before, or of the first the identity */
    const int32_t *ids;           /* its own tokens */
    const void *bytes;
};

/* Is a record there under this name?  Without looking whether it is whole. */
int snap_has(struct snap *s, const uint8_t name[SNAP_NAME], bool *has, struct err *err);

/* Writes those that are not there, all or none.  STORE_TOO_BIG: more than SNAP_BATCH_MAX. */
int snap_put(struct snap *s, const struct snap_page *page, int n, struct err *err);

/* The page's bytes into `bytes`; name, before and ids are as the caller computed them.  0; STORE_NOT_FOUND;
 * STORE_DAMAGED or STORE_FOREIGN (whole, but another page's): it is removed, if the store can be written to. */
int snap_get(struct snap *s, const struct snap_page *page, void *bytes, struct err *err);

/* The session used these pages just now, from the first of its text on: what it used before is forgotten.  Then the
 * quota is kept.  Call it after snap_put() of a turn's pages, and after a resume. */
int snap_use(struct snap *s, const uint8_t session[STORE_SESSION_ID], const uint8_t (*name)[SNAP_NAME], int n,
             struct err *err);

struct snap_stat {
    uint64_t pages, sessions, bytes; /* of all identities */
    uint64_t own_pages, own_sessions, own_bytes;
};
int snap_stat(struct snap *s, struct snap_stat *out, struct err *err);

/* What each session has, of all engines: what it names, and of that what its quota counts.  *all: what the quota of all
 * counts.  *list is for free(), NULL when there is none; in the order of their ids. */
struct snap_session {
    uint8_t session[STORE_SESSION_ID];
    uint64_t bytes, own;
};
int snap_stat_sessions(struct store *s, struct snap_session **list, size_t *n, uint64_t *all, struct err *err);
#endif
