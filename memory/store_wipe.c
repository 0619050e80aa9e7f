/* store_wipe.c - a session forgotten: its records deleted, then the files written anew without their traces. */
#include "memory/store_impl.h"
#include <fcntl.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COPY_BATCH = 16 << 20,
    COPY_ROOM = 64 << 20 /* of the copy's map, beyond that of what is copied, which may be full to its last page */
};

/* ------------------------------------------------------------------ a file written anew */

/* What stays from the cursor on into one transaction of `to`, until it is large.  MDB_NOTFOUND: that was the last. */
static int copy_batch(const struct store_copy *c, MDB_cursor *from, MDB_cursor_op *op, MDB_env *to)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k, v;
    size_t bytes = 0;
    int rc = mdb_txn_begin(to, NULL, 0, &txn), next = 0;
    if (rc) return rc;
    rc = mdb_dbi_open(txn, NULL, 0, &dbi);
    while (!rc && bytes < COPY_BATCH) {
        next = mdb_cursor_get(from, &k, &v, *op);
        if (next) break;
        *op = MDB_NEXT;
        if (!c->stays(c->user, &k)) continue;
        bytes += k.mv_size + v.mv_size;
        rc = mdb_put(txn, dbi, &k, &v, MDB_APPEND);
    }
    if (!rc && (next == 0 || next == MDB_NOTFOUND)) {
        rc = mdb_txn_commit(txn);
        return rc ? rc : next;
    }
    mdb_txn_abort(txn);
    return rc ? rc : next;
}

static int copy_all(const struct store_copy *c, MDB_env *to)
{
    MDB_cursor *cursor;
    MDB_cursor_op op = MDB_FIRST;
    MDB_txn *txn;
    int rc = mdb_txn_begin(c->from->env, NULL, MDB_RDONLY, &txn);
    if (rc) return rc;
    rc = mdb_cursor_open(txn, c->from->dbi, &cursor);
    if (!rc) {
        while ((rc = copy_batch(c, cursor, &op, to)) == 0) continue;
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* An empty file, 0600 whatever the umask. */
static int make_empty(const char *path, struct err *err)
{
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return store_errno(err, errno, "make it", path);
    int rc = fchmod(fd, 0600) ? store_errno(err, errno, "make it", path) : 0;
    close(fd);
    return rc;
}

/* The file at path, closed and durable. */
static int write_anew(const char *dir, enum store_part part, const char *path, const struct store_copy *copy,
                      struct err *err)
{
    MDB_env *env;
    int rc = make_empty(path, err);
    if (rc) return rc;
    rc = mdb_env_create(&env);
    if (rc) return store_lmdb(err, rc, "write it", path);
    if (copy) rc = mdb_env_set_mapsize(env, copy->from->map + copy->from->map / 2 + COPY_ROOM);
    if (!rc) rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600);
    if (!rc && copy) rc = copy_all(copy, env);
    if (!rc) rc = mdb_env_sync(env, 1);
    mdb_env_close(env);
    if (rc == EIO && store_is_full(dir, part, COPY_BATCH)) rc = ENOSPC; /* a write that was cut short */
    return store_lmdb(err, rc, "write it", path);
}

/* A lock of its own for the new file: whoever still reads the old one has that one's mapped, and as long as somebody
 * has, LMDB would go on counting transactions from the old file, and then read the wrong one of the new file's meta
 * pages.  It is not synced: nothing in it has to last. */
static int new_lock(const char *folder, struct err *err)
{
    char path[STORE_PATH_MAX];
    int rc = store_path(path, folder, "lock.mdb", err);
    if (!rc && unlink(path) && errno != ENOENT) rc = store_errno(err, errno, "remove it", path);
    return rc ? rc : make_empty(path, err);
}

/* rename() puts the new file in the old one's place at once: a crash leaves one or the other, whole. */
int store_env_make(const char *dir, enum store_part part, const struct store_copy *copy, struct err *err)
{
    char folder[STORE_PATH_MAX], new_path[STORE_PATH_MAX], path[STORE_PATH_MAX];
    int rc = store_path(folder, dir, store_part_name[part], err);
    if (!rc) rc = store_path(new_path, folder, "new.mdb", err);
    if (!rc) rc = store_path(path, folder, "data.mdb", err);
    if (!rc) rc = store_erase_file(new_path, err); /* of one that did not finish */
    if (!rc) rc = write_anew(dir, part, new_path, copy, err);
    if (rc) {
        struct err ignored;
        store_erase_file(new_path, &ignored);
        return rc;
    }
    if (copy) store_env_close(copy->from);
    int old = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    rc = new_lock(folder, err); /* before the file, so that who finds the new one finds the new lock */
    if (!rc && rename(new_path, path)) rc = store_errno(err, errno, "put the new file in place of", path);
    if (!rc) rc = store_sync_dir(folder, err);
    if (!rc && old >= 0) rc = store_erase(old, path, err);
    if (old >= 0) close(old);
    return rc;
}

static bool is_no_mark(void *none, const MDB_val *k)
{
    (void)none;
    return k->mv_size != 1 || *(char *)k->mv_data != 'W';
}

int store_wipe_alone(struct store *s, bool keep, struct err *err)
{
    const struct store_copy journal = {&s->part[STORE_JOURNAL], is_no_mark, NULL};
    struct err ignored = {0};
    int rc = store_env_ready(s, STORE_JOURNAL, err);
    if (!rc && (!keep || store_cache_sweep(s, &ignored))) {
        store_env_close(&s->part[STORE_CACHE]);
        rc = store_env_make(s->dir, STORE_CACHE, NULL, err);
    }
    if (!rc) rc = store_env_make(s->dir, STORE_JOURNAL, &journal, err);
    if (!rc) rc = store_env_ready(s, STORE_JOURNAL, err);
    if (!rc) rc = store_env_ready(s, STORE_CACHE, err);
    return rc;
}

int store_alone(struct store *s, int (*fn)(struct store *s, void *arg, struct err *err), void *arg, struct err *err)
{
    struct err ignored;
    assert(!s->begun);
    if (s->read_only) return err_set(err, STORE_READ_ONLY, "%s: the store is open for reading only", s->dir);
    if (!store_users_alone(s->users_fd))
        return err_set(err, STORE_BUSY, "%s: other processes have this store open; what was deleted is wiped when they "
                       "have ended", s->dir);
    int rc = fn(s, arg, err);
    store_users_share(s->users_fd, s->dir, &ignored); /* from alone to shared: always granted */
    return rc;
}

static int wipe(struct store *s, void *keep, struct err *err) { return store_wipe_alone(s, *(bool *)keep, err); }

int store_wipe(struct store *s, struct err *err) { return store_alone(s, wipe, &(bool){false}, err); }

/* ------------------------------------------------------------------ deleting */

/* The key of every record of the session with this letter, each to be removed. */
static int remove_letter(struct store *s, MDB_txn *txn, char letter, const uint8_t session[STORE_SESSION_ID],
                         struct err *err)
{
    struct store_key key = store_key_session(session);
    size_t same = key.n;
    MDB_cursor *cursor;
    MDB_val k = {key.n, key.byte}, v;
    int rc = 0, got = mdb_cursor_open(txn, s->part[STORE_JOURNAL].dbi, &cursor);
    if (got) return store_lmdb(err, got, "read", s->dir);
    key.byte[0] = (uint8_t)letter;
    MDB_cursor_op op = MDB_SET_RANGE;
    for (; !rc && (got = mdb_cursor_get(cursor, &k, &v, op)) == 0; op = MDB_NEXT) {
        if (k.mv_size < same || k.mv_size > STORE_KEY_MAX || memcmp(k.mv_data, key.byte, same) != 0) break;
        struct store_key one = {.n = k.mv_size};
        memcpy(one.byte, k.mv_data, k.mv_size);
        rc = store_remove(s, &one, err);
    }
    mdb_cursor_close(cursor);
    return !rc && got && got != MDB_NOTFOUND ? store_lmdb(err, got, "read", s->dir) : rc;
}

int store_drop_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    static const char letters[] = "SMPac";
    const struct store_key mark = {{'W'}, 1};
    MDB_txn *txn;
    store_begin(s, STORE_JOURNAL);
    int rc = store_begin_read(s, STORE_JOURNAL, &txn, err);
    if (!rc) {
        for (const char *c = letters; *c && !rc; c++) rc = remove_letter(s, txn, *c, session, err);
        mdb_txn_abort(txn);
    }
    if (!rc) rc = store_put(s, &mark, REC_WIPE, "", 0, err);
    if (!rc) rc = store_commit(s, err);
    if (rc) store_abort(s);
    return rc;
}

int store_delete_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    struct err why = {0};
    int rc = store_drop_session(s, session, err);
    if (rc) return rc;
    rc = store_alone(s, wipe, &(bool){true}, &why);
    if (rc == STORE_BUSY) return err_set(err, rc, "%s", why.text);
    if (rc) err_set(err, rc, "the session is deleted, but its bytes stay in the files until plimsoll is started with "
                    "room to wipe them and nobody else has the store open: %.280s", why.text);
    return rc;
}
