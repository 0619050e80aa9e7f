/* store.h - what plimsoll keeps on disk: two LMDB environments in one folder of the user's.
 *
 *     DIR/FORMAT               "plimsoll store 1"; a folder that has other things and not this is not touched
 *     DIR/journal/data.mdb     durable: sessions, messages and events in order, pieces, artifacts
 *     DIR/cache/data.mdb       what can be made again: not synced, deleted whole when it is damaged
 *     DIR/users.lock           shared by every open store and by who checks; held alone by the first who opens it,
 *                              while that one looks at the files, and by who wipes or salvages
 *     DIR/clean                what the files looked like when the last user closed them; gone while one is open
 *     DIR/sessions/ID.lock     the one writer of a session, by its process number
 *
 * Folders are 0700 and files 0600 whatever the umask says.  Links, and what another user owns, are refused.
 *
 * Each record is encoded by record.h under one of these keys; numbers in keys are big-endian, so that a cursor meets
 * them in order.  SESSION is 16 bytes:
 *
 *     'S' SESSION                      the session (its title and settings, as the caller encodes them)
 *     'M' SESSION number:8             its messages and events, from 0
 *     'P' SESSION name:1..64           its pieces: summaries, pinned blocks, task state
 *     'a' SESSION artifact:8           an artifact's head: bytes:8, CRC-32C of all of them:4 (little-endian)
 *     'c' SESSION artifact:8 chunk:4   its bytes, 16,000 to a chunk, each compressed on its own (zstd)
 *     'W'                              a session was deleted; its bytes in free pages are still to be wiped
 *     'K' name:1..128                  cache only; names that begin with 'R' are recall.h's, with 'k' and 's' snapshot.h's
 *
 * Writing: store_put() and its kin collect in memory; store_commit() makes one transaction of it all and returns when
 * it is durable (the journal's).  So no transaction is open across a wait, what was put is not lost when the map has
 * to grow or the disk is full (make room and commit again), and a reader sees nothing that is not committed.
 *
 * Thread: a store is its caller's; one thread at a time (the keeper).  No state is global.  One process must not open
 * the same folder twice: LMDB's locks are the process's.  store_open, store_check and store_salvage fork a child that
 * reads the files first; it runs nothing but the C library and LMDB. */
#ifndef STORE_H
#define STORE_H
#include "memory/record.h"

enum {
    STORE_SESSION_ID = 16,
    STORE_NAME_MAX = 64,
    STORE_CACHE_NAME_MAX = 128,
    STORE_CHUNK = 16000,       /* bytes of an artifact in one record */
    STORE_KEY_MAX = 1 + STORE_CACHE_NAME_MAX,
};
#define STORE_ARTIFACT_MAX ((uint64_t)1 << 30)
#define STORE_PENDING_MAX ((size_t)1 << 28) /* bytes put and not yet committed */

enum store_error {
    STORE_NOT_FOUND = -1,
    STORE_DAMAGED = -2,     /* a record or a whole file: recover with salvage */
    STORE_FOREIGN = -3,     /* the folder is not a store of ours, or not safe: a link, another's */
    STORE_MAP_FULL = -4,    /* the limit of the map is reached */
    STORE_DISK_FULL = -5,   /* no space, a quota, or a file-size limit */
    STORE_READ_ONLY = -6,   /* the file system, or the store was opened so */
    STORE_PERMISSION = -7,
    STORE_BUSY = -8,        /* another process holds it; the text says which */
    STORE_IO = -9,          /* a write or a sync failed: nothing is acknowledged, commit may be called again */
    STORE_TOO_BIG = -10,
    STORE_NO_MEMORY = -11,
    STORE_FAILED = -12,     /* anything else of LMDB's or the system's */
    STORE_LATE = -13        /* the child did not read it in time: nothing is known of it, and nothing was changed */
};

enum store_part { STORE_JOURNAL, STORE_CACHE, STORE_PARTS };

struct store_options {
    bool read_only;
    size_t map_start[STORE_PARTS]; /* bytes; 0: 16 MiB.  The map doubles when it is full, up to */
    size_t map_limit[STORE_PARTS]; /* bytes; 0: 64 GiB of journal, 16 GiB of cache */
    int check_seconds;             /* for the child, of each file; 0: as long as it gets on */
    /* While the child reads: how far it is, in bytes or so.  NULL: nobody asks. */
    void (*checking)(void *self, enum store_part part, uint64_t done, uint64_t all);
    void *self;
};

struct store;

/* The folder when none is named: $XDG_DATA_HOME/plimsoll, else $HOME/.local/share/plimsoll.  env is getenv or a test's
 * own.  0, or STORE_FAILED: neither is an absolute path. */
int store_default_dir(const char *(*env)(const char *name), struct buf *out, struct err *err);

/* 0 and *out, or an error and one line that says what to do.  Makes the folder when it is not there (not read-only).
 * After an unclean end, or when the files are not as they were left, a child walks them first: a journal whose tree is
 * damaged is refused and left as it is, such a cache is deleted.  The child has as long as it gets on; STORE_LATE: for
 * a minute it did not, or check_seconds were over.  STORE_BUSY: another process is alone with the folder, and was so
 * for two seconds.  A wipe that was left over is done, by who is alone. */
int store_open(struct store **out, const char *dir, const struct store_options *options, struct err *err);
void store_close(struct store *s); /* what was not committed is gone; NULL is fine */

/* ------------------------------------------------------------------ keys */

struct store_key {
    uint8_t byte[STORE_KEY_MAX];
    size_t n;
};
struct store_key store_key_session(const uint8_t session[STORE_SESSION_ID]);
struct store_key store_key_message(const uint8_t session[STORE_SESSION_ID], uint64_t number);
struct store_key store_key_piece(const uint8_t session[STORE_SESSION_ID], const char *name); /* 1 to 64 bytes */
struct store_key store_key_artifact(const uint8_t session[STORE_SESSION_ID], uint64_t artifact);
struct store_key store_key_chunk(const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint32_t chunk);
struct store_key store_key_cache(const void *name, size_t n); /* 1 to 128 bytes */

/* The piece that names a session's numbers that it never had, so that salvage calls no message lost that was not there:
 * first:8 last:8 of each span, little-endian, in order and apart. */
#define STORE_GAPS "gaps"
enum { STORE_GAP = 16 };

/* "message 12 of session 00ff..": for a line.  Any bytes are safe; the text is plain ASCII. */
void store_key_text(const void *key, size_t n, char text[160]);

/* ------------------------------------------------------------------ one writer for a session */

struct store_lock {
    int fd; /* 0: none held */
    char path[576];
};

/* 0, or STORE_BUSY: the text has the other process's number.  The lock goes with the process, however it ends. */
int store_lock_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct store_lock *out,
                       struct err *err);
void store_unlock_session(struct store_lock *lock);

/* ------------------------------------------------------------------ writing */

void store_begin(struct store *s, enum store_part part); /* only after the last was committed or aborted */
/* 0, STORE_TOO_BIG or STORE_NO_MEMORY: what was put before stays. */
int store_put(struct store *s, const struct store_key *key, enum rec_kind kind, const void *body, size_t n,
              struct err *err);
int store_remove(struct store *s, const struct store_key *key, struct err *err); /* it need not be there */

/* 0: durable (the cache's: written).  Else nothing of it is acknowledged and all of it is still pending: commit again
 * or abort.  After STORE_IO the outcome on disk is not known until the commit is made again, which is safe.
 * STORE_FAILED: also where the journal was removed meanwhile (what was committed before can still be read here). */
int store_commit(struct store *s, struct err *err);
void store_abort(struct store *s);

/* ------------------------------------------------------------------ reading */

/* The record's body is appended to out.  0, STORE_NOT_FOUND, STORE_DAMAGED (named in err), or another. */
int store_get(struct store *s, enum store_part part, const struct store_key *key, enum rec_kind kind, struct buf *out,
              struct err *err);

struct store_visit { /* neither may call the store; true: go on */
    /* number: the message's, or for store_each_session() 0 and the session's id in session. */
    bool (*record)(void *user, const uint8_t session[STORE_SESSION_ID], uint64_t number, const struct rec *r);
    bool (*damaged)(void *user, const char *line); /* which record and why it was skipped */
    void *user;
};
int store_each_message(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t from,
                       const struct store_visit *v, struct err *err);
int store_each_session(struct store *s, const struct store_visit *v, struct err *err);
/* Every key that begins like `front`, in order, and how long its value is, which is not looked at.  key() may not call
 * the store; true: go on. */
int store_each_key(struct store *s, enum store_part part, const struct store_key *front,
                   bool (*key)(void *user, const uint8_t *bytes, size_t n, size_t value), void *user, struct err *err);

/* Records in the order of their keys, one at a call and each from the newest commit: a place, not a transaction. */
struct store_place {
    enum store_part part;
    struct store_key key; /* begin here; then the key of the record that was given or found damaged */
    size_t same;          /* of its first bytes all keys have */
    bool behind;          /* the key itself was visited */
};
/* The body of the next one into out, at most `most` bytes.  0 and *n; STORE_NOT_FOUND: no more; STORE_DAMAGED (named in
 * err; also a body that is longer): the next call goes on behind it. */
int store_next(struct store *s, struct store_place *p, enum rec_kind kind, void *out, size_t most, size_t *n,
               struct err *err);

/* Every record of a part in the order of the keys, whatever it is and whatever its key is. */
enum { STORE_ANY_KEY = 511 }; /* bytes: the longest that LMDB takes */
struct store_from {
    uint8_t byte[STORE_ANY_KEY];
    size_t n; /* 0: the beginning */
};
struct store_entry { /* valid in the call only */
    const uint8_t *key;
    size_t key_len;
    const char *why; /* NULL, or why it is not believed; rec is then all zeros */
    struct rec rec;
};
/* From the first key that is not before `from` on, in one transaction, until the visitor, which may not call the store,
 * returns false.  Who does slow things with them reads a part, ends, does them and goes on: no transaction waits. */
int store_each_record(struct store *s, enum store_part part, const struct store_from *from,
                      bool (*record)(void *user, const struct store_entry *e), void *user, struct err *err);

/* ------------------------------------------------------------------ artifacts */

/* Between store_begin() and store_commit(), of the journal.  An id is used once in a session. */
int store_put_artifact(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, const void *bytes,
                       size_t n, struct err *err);
/* The same for who does not have all of it in memory: its chunks, each of STORE_CHUNK bytes but for the last, then its
 * head, which makes an artifact of them; crc is the CRC-32C of all. */
int store_put_artifact_chunk(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact,
                             uint32_t chunk, const void *bytes, size_t n, struct err *err);
int store_put_artifact_head(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t n,
                            uint32_t crc, struct err *err);
int store_artifact_size(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t *n,
                        struct err *err);
/* Appends at most n bytes from offset on (fewer at its end) to out.  No record makes it take more memory than that
 * and a chunk.  The checksum over all is compared when all was asked for. */
int store_read_artifact(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t offset,
                        size_t n, struct buf *out, struct err *err);

/* A copy of it in another session under the same id, in commits of its own (nothing may be pending). */
int store_copy_artifact(struct store *s, const uint8_t from[STORE_SESSION_ID], const uint8_t to[STORE_SESSION_ID],
                        uint64_t artifact, struct err *err);

/* ------------------------------------------------------------------ forgetting */

/* Deletes every record of the session (durable when it returns), then wipes: the journal is written anew without what
 * was deleted, the old file overwritten and unlinked, and so is the cache: what sessions that are there have in the
 * index stays, and the KV pages that one of them uses (without room for that the cache is empty then).  LMDB keeps
 * old bytes in its free pages and in the gaps of live ones, and its own compacting copy takes the gaps along; only
 * this leaves nothing in the files.
 * (Blocks that a file system copied elsewhere, snapshots and backups are out of reach.)
 * 0, or STORE_BUSY: deleted, but other processes have the store open; the wipe is done at the next open that is alone,
 * or by store_wipe().  Another error after which it is deleted, but not wiped, says so in err; the wipe is due as well.
 * Nothing may be pending. */
int store_delete_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err);
int store_wipe(struct store *s, struct err *err); /* also what "compact" is: the cache is empty then */
/* Only deletes; the wipe is then due at the next open that is alone. */
int store_drop_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err);

/* fn while no other process has the store open or can open it.  What it returns, or STORE_BUSY, STORE_READ_ONLY; it may
 * not call store_wipe() or store_delete_session(). */
int store_alone(struct store *s, int (*fn)(struct store *s, void *arg, struct err *err), void *arg, struct err *err);

/* ------------------------------------------------------------------ checking, salvaging, figures */

struct store_sum {
    uint64_t records, bytes; /* keys and values; not the room that pages and the tree take */
};
struct store_stat {
    uint64_t file_bytes, map_bytes, map_limit, used_bytes; /* used: pages that hold something */
    uint64_t records, sessions, messages, pieces, artifacts, chunks;
    unsigned readers;
    /* By a key's first byte ('M'); in the cache by its name's, which says whose it is.  What has none is under 0. */
    struct store_sum kind[256];
};
int store_stat(struct store *s, enum store_part part, struct store_stat *out, struct err *err);

struct store_session_stat {
    uint8_t session[STORE_SESSION_ID];
    bool head; /* its own record is there */
    uint64_t messages, bytes; /* bytes: of all that is under its id, keys and values */
};
/* Each session that any key of the journal names, in the order of their ids; no record is looked into.  *list is for
 * free(), NULL when there is none. */
int store_stat_sessions(struct store *s, struct store_session_stat **list, size_t *n, struct err *err);

/* 0: dir is a store.  Else why not, in store_open()'s words.  Nothing is made or changed. */
int store_exists(const char *dir, struct err *err);

/* The numbers of the processes that have the folder's journal open, at most n (0: one of another PID namespace);
 * returns how many.  For the line that says who is in the way.  Not while this process has the folder open: its locks
 * would be lost (they go with the first close of their file). */
int store_users(const char *dir, long *pid, int n);

struct store_report {
    void (*line)(void *user, const char *line); /* plain ASCII, without its newline */
    void *user;
    /* Of store_check() and store_salvage(): as in struct store_options. */
    void (*checking)(void *self, enum store_part part, uint64_t done, uint64_t all);
    void *self;
};

/* A child walks every page and record of the file; it only reads.  0: clean.  STORE_DAMAGED: lines say what; its crash
 * is damage too.  STORE_LATE: it did not get on for a minute, or took more than `seconds` (0: as many as it needs).
 * Works on a folder that another process has open, and keeps it from being wiped meanwhile; not on one that this
 * process has.  STORE_BUSY: as store_open(). */
int store_check(const char *dir, enum store_part part, int seconds, const struct store_report *report,
                struct err *err);

/* Copies every journal record that a child can read to a new store in `to` (empty or not there), and reports what is
 * missing: numbers without a message, artifacts without a part, messages without their session.  `from` is not
 * written, and may be where nothing can be.  0 and *records, also when things are missing (*missing lines were
 * reported). */
int store_salvage(const char *from, const char *to, int seconds, const struct store_report *report, uint64_t *records,
                  uint64_t *missing, struct err *err);
#endif
