/* store_impl.h - what the files of the store know of each other. */
#ifndef STORE_IMPL_H
#define STORE_IMPL_H
#include "memory/store.h"
#include <lmdb.h>

enum { STORE_PATH_MAX = 480 };

struct store_env {
    MDB_env *env; /* NULL: not open (a failed write: it is opened again when it is next needed) */
    MDB_dbi dbi;
    size_t map, map_limit;
};

struct store {
    char dir[STORE_PATH_MAX];
    bool read_only;
    int users_fd; /* -1: a read-only store without the file */
    struct store_env part[STORE_PARTS];
    bool begun;
    enum store_part pending_part;
    struct buf pending; /* op:1 key_len:1 value_len:4 key value, one after another */
};

extern const char *const store_part_name[STORE_PARTS];

/* ---- store_dir.c: the folder, its files' modes and owners, its locks.  Errors as in store.h. */
int store_path(char path[STORE_PATH_MAX], const char *dir, const char *name, struct err *err);
int store_errno(struct err *err, int error, const char *what, const char *path); /* a typed error for an errno */
int store_dir_make(const char *dir, bool read_only, struct err *err);
/* The lock over all users: open its file (a descriptor, or an error), then be alone with it or share it. */
int store_users_open(const char *dir, bool read_only, struct err *err);
bool store_users_alone(int fd); /* false: others are there; what was shared still is */
/* As one who may write and knows that the files are good; as one who only reads, and keeps nobody but a wipe away.
 * Both wait two seconds for who is alone: STORE_BUSY. */
int store_users_share(int fd, const char *dir, struct err *err);
int store_users_read(int fd, const char *dir, struct err *err);
/* How a writer comes in: nobody else is there; others only read, so that he is the first to look at the files before he
 * writes (both then call store_users_share()); or beside one who knows that they are good.  STORE_BUSY as above. */
enum store_way { STORE_ALONE, STORE_FIRST, STORE_BESIDE };
int store_users_enter(int fd, const char *dir, enum store_way *way, struct err *err);
bool store_is_clean(const char *dir);
int store_mark_clean(const char *dir, struct err *err);
int store_mark_open(const char *dir, struct err *err);
int store_sync_dir(const char *dir, struct err *err);
int store_erase(int fd, const char *path, struct err *err); /* overwritten with zeros and synced */
int store_erase_file(const char *path, struct err *err); /* and unlinked; 0 when it is not there */

/* ---- store.c: environments */
int store_env_open(struct store_env *e, const char *dir, enum store_part part, bool read_only, struct err *err);
void store_env_close(struct store_env *e);
int store_env_ready(struct store *s, enum store_part part, struct err *err); /* opens again what a failure closed */
int store_env_resized(struct store_env *e, struct err *err); /* another process made the map larger */
bool store_is_full(const char *dir, enum store_part part, uint64_t need);
int store_env_grow(struct store_env *e, const char *dir, size_t need, struct err *err);
int store_lmdb(struct err *err, int rc, const char *what, const char *dir); /* a typed error for LMDB's */
int store_begin_read(struct store *s, enum store_part part, MDB_txn **txn, struct err *err);

/* ---- store_wipe.c: the caller is alone with the folder. */
struct store_copy {
    struct store_env *from; /* it is closed then */
    bool (*stays)(void *user, const MDB_val *key);
    void *user;
};
/* A new data.mdb in place, at once and durably: empty (NULL), or with what stays of another; and a lock.mdb of its own.
 * The part is not open here (copy->from is closed), and who has the old file open elsewhere shares nothing with it. */
int store_env_make(const char *dir, enum store_part part, const struct store_copy *copy, struct err *err);
/* keep: of the cache what belongs to sessions that are there stays; else, or if that fails (no room), it is empty. */
int store_wipe_alone(struct store *s, bool keep, struct err *err);

/* ---- store_cache.c: the cache with what belongs to sessions that are there.  The caller is alone with the folder. */
int store_cache_sweep(struct store *s, struct err *err);

/* ---- store_check.c: a file walked by a child. */
struct store_faults { /* of the file's own structure: it must not be written to; and records that are skipped */
    uint64_t structure, records;
};
int store_look(const char *dir, enum store_part part, const struct store_options *o,
               const struct store_report *report, struct store_faults *out, struct err *err);

/* ---- store_pages.c: a file of LMDB's walked page by page, without LMDB. */
struct pages_visit {
    bool (*record)(void *user, const uint8_t *key, size_t key_len, const uint8_t *value, size_t len); /* false: end */
    void (*damaged)(void *user, const char *line);
    void *user;
    void (*taken)(void *user, uint64_t pages, uint64_t all); /* now and then: so many were met; NULL: nobody asks */
};
/* Reads fd; believes nothing.  txnid: the snapshot that the caller pinned (0 in a file that was never written to), or
 * PAGES_NEWEST: the newest that is there.  0, or the number of faults found (each was reported; the rest was still
 * visited); PAGES_CHANGED, and nothing was done: writers have gone on so far that the pinned one's meta page is gone;
 * pin a newer one. */
enum { PAGES_CHANGED = -1 };
#define PAGES_NEWEST UINT64_MAX
int pages_walk(int fd, uint64_t txnid, const struct pages_visit *v);
#endif
