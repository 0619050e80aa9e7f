/* store.c - opening and closing: environments, their maps, and what has to be looked at before. */
#include "memory/store_impl.h"
#include <errno.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_START ((size_t)16 << 20)
static const size_t map_limit[STORE_PARTS] = {(size_t)64 << 30, (size_t)16 << 30};

int store_lmdb(struct err *err, int rc, const char *what, const char *dir)
{
    switch (rc) {
    case MDB_SUCCESS:
        return 0;
    case MDB_NOTFOUND:
        return err_set(err, STORE_NOT_FOUND, "%s: it is not there", dir);
    case MDB_MAP_FULL:
        return err_set(err, STORE_MAP_FULL, "%s: cannot %s: the store's size limit is reached; delete sessions", dir,
                       what);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
    case MDB_BAD_TXN:
    case MDB_CURSOR_FULL:
        return err_set(err, STORE_DAMAGED, "%s: cannot %s: damaged (%s); recover with \"store salvage\"", dir, what,
                       mdb_strerror(rc));
    case MDB_PANIC: /* after a failed write of a meta page */
        return store_errno(err, EIO, what, dir);
    case MDB_READERS_FULL:
        return err_set(err, STORE_BUSY, "%s: too many readers at once; end other processes of plimsoll", dir);
    default:
        return rc > 0 ? store_errno(err, rc, what, dir)
                      : err_set(err, STORE_FAILED, "%s: cannot %s: %s", dir, what, mdb_strerror(rc));
    }
}

/* ------------------------------------------------------------------ environments */

static int open_tree(struct store_env *e)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(e->env, NULL, MDB_RDONLY, &txn);
    if (rc) return rc;
    rc = mdb_dbi_open(txn, NULL, 0, &e->dbi);
    mdb_txn_abort(txn); /* the unnamed tree's handle stays */
    return rc;
}

int store_env_open(struct store_env *e, const char *dir, enum store_part part, bool read_only, struct err *err)
{
    char path[STORE_PATH_MAX];
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | (read_only ? MDB_RDONLY : 0);
    MDB_envinfo info;
    int dead = 0, rc = store_path(path, dir, store_part_name[part], err);
    if (rc) return rc;
    if (part == STORE_CACHE) flags |= MDB_NOSYNC;
    rc = mdb_env_create(&e->env);
    if (rc) return store_lmdb(err, rc, "open it", path);
    rc = mdb_env_set_mapsize(e->env, e->map);
    if (!rc) rc = mdb_env_open(e->env, path, flags, 0600);
    if (!rc) rc = mdb_reader_check(e->env, &dead); /* slots of processes that are gone hold pages back */
    if (!rc) rc = open_tree(e);
    if (!rc) rc = mdb_env_info(e->env, &info);
    if (rc) {
        mdb_env_close(e->env);
        e->env = NULL;
        return store_lmdb(err, rc, "open it", path);
    }
    e->map = info.me_mapsize; /* a larger one may be in the file */
    return 0;
}

void store_env_close(struct store_env *e)
{
    if (e->env) mdb_env_close(e->env);
    e->env = NULL;
}

int store_env_ready(struct store *s, enum store_part part, struct err *err)
{
    return s->part[part].env ? 0 : store_env_open(&s->part[part], s->dir, part, s->read_only, err);
}

/* Whether `need` bytes more would not fit: no space, or the process's limit on a file. */
bool store_is_full(const char *dir, enum store_part part, uint64_t need)
{
    char path[STORE_PATH_MAX];
    struct statvfs vfs;
    struct rlimit limit;
    struct stat st;
    if (statvfs(dir, &vfs) == 0 && vfs.f_bavail * (uint64_t)vfs.f_frsize < need) return true;
    return store_path(path, dir, part == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", NULL) == 0 &&
           stat(path, &st) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (uint64_t)st.st_size + need;
}

/* The map doubled until `need` bytes more fit, as far as the limit and the free space go; not where a reader that was
 * killed held pages back: then there may be room without.  No transaction is open. */
int store_env_grow(struct store_env *e, const char *dir, size_t need, struct err *err)
{
    size_t map = e->map;
    int dead = 0;
    if (mdb_reader_check(e->env, &dead) == 0 && dead > 0) return 0;
    if (map >= e->map_limit) return store_lmdb(err, MDB_MAP_FULL, "grow", dir);
    do map = map > e->map_limit / 2 ? e->map_limit : 2 * map;
    while (map < e->map_limit && map - e->map < need);
    int rc = mdb_env_set_mapsize(e->env, map);
    if (rc) return store_lmdb(err, rc, "grow", dir);
    e->map = map;
    return 0;
}

int store_env_resized(struct store_env *e, struct err *err)
{
    MDB_envinfo info;
    int rc = mdb_env_set_mapsize(e->env, 0);
    if (!rc) rc = mdb_env_info(e->env, &info);
    if (!rc) e->map = info.me_mapsize;
    return store_lmdb(err, rc, "follow the growth of", "the store");
}

/* A read transaction; another process may have grown the map, or left reader slots behind. */
int store_begin_read(struct store *s, enum store_part part, MDB_txn **txn, struct err *err)
{
    struct store_env *e = &s->part[part];
    int dead, rc = store_env_ready(s, part, err);
    if (rc) return rc;
    rc = mdb_txn_begin(e->env, NULL, MDB_RDONLY, txn);
    if (rc == MDB_MAP_RESIZED) {
        rc = store_env_resized(e, err);
        if (rc) return rc;
        rc = mdb_txn_begin(e->env, NULL, MDB_RDONLY, txn);
    } else if (rc == MDB_READERS_FULL && mdb_reader_check(e->env, &dead) == 0) {
        rc = mdb_txn_begin(e->env, NULL, MDB_RDONLY, txn);
    }
    return store_lmdb(err, rc, "read", s->dir);
}

/* ------------------------------------------------------------------ opening */

/* Files that are not there are made, and nobody has them open; nothing that is there is touched. */
static int make_missing(const char *dir, struct err *err)
{
    int rc = 0;
    for (int p = 0; !rc && p < STORE_PARTS; p++) {
        char path[STORE_PATH_MAX];
        rc = store_path(path, dir, p == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", err);
        if (!rc && access(path, F_OK)) rc = store_env_make(dir, (enum store_part)p, NULL, err);
    }
    return rc;
}

static void keep_first(void *user, const char *line)
{
    struct err *first = user;
    if (!first->text[0]) err_set(first, STORE_DAMAGED, "%s", line);
}

/* The first with files that may be damaged.  Single records that are, are named and skipped whenever they are read; a
 * tree that is not whole must not be written to. */
static int look_before(const char *dir, const struct store_options *o, bool alone, struct err *err)
{
    struct err first = {0};
    const struct store_report report = {.line = keep_first, .user = &first};
    struct store_faults n;
    if (store_is_clean(dir)) return 0;
    int rc = store_look(dir, STORE_JOURNAL, o, &report, &n, err);
    if (!rc && n.structure)
        rc = err_set(err, STORE_DAMAGED, "%s: the journal is damaged (%.200s); it is left as it is: recover with "
                     "\"store salvage\"", dir, first.text);
    if (rc) return rc;
    rc = store_look(dir, STORE_CACHE, o, &report, &n, err);
    if (rc || n.structure == 0) return rc;
    if (o->read_only)
        return err_set(err, STORE_DAMAGED, "%s: the cache is damaged; it is begun anew when the store is opened for "
                       "writing", dir);
    if (!alone)
        return err_set(err, STORE_BUSY, "%s: the cache is damaged; it is begun anew when no other process reads it: "
                       "wait for that", dir);
    return store_env_make(dir, STORE_CACHE, NULL, err);
}

/* What the first user has to do before anything else. */
static int enter_first(struct store *s, const struct store_options *o, bool alone, struct err *err)
{
    int rc = o->read_only ? 0 : make_missing(s->dir, err);
    if (!rc) rc = look_before(s->dir, o, alone, err);
    if (!rc && !o->read_only) rc = store_mark_open(s->dir, err);
    return rc;
}

/* The wipe that an earlier process could not do, or did not finish. */
static int wipe_left_over(struct store *s, struct err *err)
{
    const struct store_key key = {{'W'}, 1};
    struct buf body = {0};
    char path[STORE_PATH_MAX];
    int rc = store_path(path, s->dir, "journal/new.mdb", err);
    if (!rc) rc = store_erase_file(path, err);
    if (!rc) rc = store_get(s, STORE_JOURNAL, &key, REC_WIPE, &body, err);
    buf_free(&body);
    if (rc == STORE_NOT_FOUND) return 0;
    if (rc && rc != STORE_DAMAGED) return rc;
    rc = store_wipe_alone(s, true, err);
    return rc == STORE_DISK_FULL ? 0 : rc; /* the mark stays: another time */
}

static int open_all(struct store *s, const struct store_options *o, struct err *err)
{
    int rc = store_dir_make(s->dir, o->read_only, err);
    if (rc) return rc;
    int fd = store_users_open(s->dir, o->read_only, err);
    if (fd < 0 && !(o->read_only && fd == STORE_NOT_FOUND)) return fd;
    s->users_fd = fd < 0 ? -1 : fd;
    /* Who only reads changes nothing, and so needs nobody to be away but who writes the files anew: the child reads one
     * snapshot, of one file. */
    enum store_way way = STORE_FIRST;
    if (!o->read_only) rc = store_users_enter(fd, s->dir, &way, err);
    else if (fd >= 0) rc = store_users_read(fd, s->dir, err);
    if (!rc && way != STORE_BESIDE) rc = enter_first(s, o, way == STORE_ALONE, err);
    for (int p = 0; !rc && p < STORE_PARTS; p++)
        rc = store_env_open(&s->part[p], s->dir, (enum store_part)p, o->read_only, err);
    if (!rc && way == STORE_ALONE) rc = wipe_left_over(s, err);
    if (!rc && way != STORE_BESIDE && !o->read_only) rc = store_users_share(fd, s->dir, err);
    return rc;
}

int store_open(struct store **out, const char *dir, const struct store_options *options, struct err *err)
{
    struct store_options none = {0};
    const struct store_options *o = options ? options : &none;
    struct store *s = calloc(1, sizeof *s);
    if (!s) return err_set(err, STORE_NO_MEMORY, "no memory for the store");
    int n = snprintf(s->dir, sizeof s->dir, "%s", dir);
    s->users_fd = -1;
    s->read_only = o->read_only;
    for (int p = 0; p < STORE_PARTS; p++) {
        s->part[p].map_limit = o->map_limit[p] ? o->map_limit[p] : map_limit[p];
        s->part[p].map = MIN(o->map_start[p] ? o->map_start[p] : MAP_START, s->part[p].map_limit);
    }
    /* Room for the longest name below it. */
    int rc = n > 0 && n < STORE_PATH_MAX - 64 ? open_all(s, o, err)
                                               : err_set(err, STORE_FAILED, "the store's path is empty or too long");
    if (rc) {
        for (int p = 0; p < STORE_PARTS; p++) store_env_close(&s->part[p]);
        if (s->users_fd >= 0) close(s->users_fd);
        free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void store_close(struct store *s)
{
    struct err ignored;
    if (!s) return;
    bool well = true;
    for (int p = 0; p < STORE_PARTS; p++) {
        well = well && s->part[p].env;
        if (s->part[p].env && !s->read_only && mdb_env_sync(s->part[p].env, 1)) well = false;
        store_env_close(&s->part[p]);
    }
    if (well && !s->read_only && s->users_fd >= 0 && store_users_alone(s->users_fd))
        store_mark_clean(s->dir, &ignored); /* without it the next open looks closer: no harm */
    if (s->users_fd >= 0) close(s->users_fd);
    buf_free(&s->pending);
    free(s);
}
