/* store_write.c - keys; what is put waits in memory; a commit makes one transaction of it. */
#include "memory/store_impl.h"
#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>

enum { LARGE = 1 << 20 };

/* ------------------------------------------------------------------ keys */

static struct store_key key_of(char letter, const uint8_t session[STORE_SESSION_ID])
{
    struct store_key key = {.byte = {(uint8_t)letter}, .n = 1 + STORE_SESSION_ID};
    memcpy(key.byte + 1, session, STORE_SESSION_ID);
    return key;
}

static void key_add(struct store_key *key, uint64_t number, int bytes)
{
    put_be(key->byte + key->n, number, bytes);
    key->n += (size_t)bytes;
}

struct store_key store_key_session(const uint8_t session[STORE_SESSION_ID]) { return key_of('S', session); }

struct store_key store_key_message(const uint8_t session[STORE_SESSION_ID], uint64_t number)
{
    struct store_key key = key_of('M', session);
    key_add(&key, number, 8);
    return key;
}

struct store_key store_key_piece(const uint8_t session[STORE_SESSION_ID], const char *name)
{
    struct store_key key = key_of('P', session);
    size_t n = strlen(name);
    assert(n > 0 && n <= STORE_NAME_MAX);
    memcpy(key.byte + key.n, name, n);
    key.n += n;
    return key;
}

struct store_key store_key_artifact(const uint8_t session[STORE_SESSION_ID], uint64_t artifact)
{
    struct store_key key = key_of('a', session);
    key_add(&key, artifact, 8);
    return key;
}

struct store_key store_key_chunk(const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint32_t chunk)
{
    struct store_key key = key_of('c', session);
    key_add(&key, artifact, 8);
    key_add(&key, chunk, 4);
    return key;
}

struct store_key store_key_cache(const void *name, size_t n)
{
    struct store_key key = {.byte = {'K'}, .n = 1 + n};
    assert(n > 0 && n <= STORE_CACHE_NAME_MAX);
    memcpy(key.byte + 1, name, n);
    return key;
}

static void hex(const uint8_t *bytes, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void store_key_text(const void *bytes, size_t n, char text[160])
{
    const uint8_t *key = bytes;
    char id[2 * STORE_SESSION_ID + 1] = "", rest[2 * 40 + 1] = "";
    size_t front = 1 + STORE_SESSION_ID;
    if (n >= front) hex(key + 1, STORE_SESSION_ID, id);
    if (n == front && key[0] == 'S')
        snprintf(text, 160, "session %s", id);
    else if (n == front + 8 && key[0] == 'M')
        snprintf(text, 160, "message %llu of session %s", (unsigned long long)get_be(key + front, 8), id);
    else if (n == front + 8 && key[0] == 'a')
        snprintf(text, 160, "artifact %llu of session %s", (unsigned long long)get_be(key + front, 8), id);
    else if (n == front + 12 && key[0] == 'c')
        snprintf(text, 160, "chunk %llu of artifact %llu of session %s", (unsigned long long)get_be(key + front + 8, 4),
                 (unsigned long long)get_be(key + front, 8), id);
    else {
        size_t from = n > front && key[0] == 'P' ? front : 0;
        hex(key + from, MIN(n - from, (size_t)30), rest);
        if (from)
            snprintf(text, 160, "piece (hex) %s of session %s", rest, id);
        else
            snprintf(text, 160, "key (hex) %s", rest);
    }
}

/* ------------------------------------------------------------------ what is put */

enum { OP_PUT = 'p', OP_REMOVE = 'r', OP_HEAD = 6 };

void store_begin(struct store *s, enum store_part part)
{
    assert(!s->begun);
    s->begun = true;
    s->pending_part = part;
}

void store_abort(struct store *s)
{
    assert(s->begun);
    s->begun = false;
    buf_free(&s->pending);
}

/* The front of an operation; its value of n bytes follows.  On an error nothing was added. */
static int add_op(struct store *s, char op, const struct store_key *key, size_t n, struct err *err)
{
    uint8_t head[OP_HEAD] = {(uint8_t)op, (uint8_t)key->n};
    assert(s->begun && key->n > 0 && key->n <= STORE_KEY_MAX);
    if (s->read_only) return err_set(err, STORE_READ_ONLY, "%s: the store is open for reading only", s->dir);
    if (n > STORE_PENDING_MAX || s->pending.len > STORE_PENDING_MAX - n)
        return err_set(err, STORE_TOO_BIG, "more than %zu MiB in one transaction; commit in parts",
                       STORE_PENDING_MAX >> 20);
    size_t before = s->pending.len;
    put_le(head + 2, n, 4);
    buf_put(&s->pending, head, sizeof head);
    buf_put(&s->pending, key->byte, key->n);
    if (!s->pending.failed) return 0;
    s->pending.failed = false; /* buf keeps what it had */
    s->pending.len = before;
    return err_set(err, STORE_NO_MEMORY, "no memory for what is to be stored");
}

int store_put(struct store *s, const struct store_key *key, enum rec_kind kind, const void *body, size_t n,
              struct err *err)
{
    size_t before = s->pending.len;
    if (n > REC_BODY_MAX)
        return err_set(err, STORE_TOO_BIG, "a record of %zu bytes; %d is the most: make it an artifact", n,
                       REC_BODY_MAX);
    int rc = add_op(s, OP_PUT, key, REC_HEADER + n, err);
    if (rc) return rc;
    if (rec_encode(kind, key->byte, key->n, body, n, &s->pending) == 0) return 0;
    s->pending.failed = false;
    s->pending.len = before;
    return err_set(err, STORE_NO_MEMORY, "no memory for what is to be stored");
}

int store_remove(struct store *s, const struct store_key *key, struct err *err)
{
    return add_op(s, OP_REMOVE, key, 0, err);
}

/* ------------------------------------------------------------------ commit */

static int apply(const struct store *s, MDB_txn *txn, MDB_dbi dbi)
{
    int rc = 0;
    char *at = s->pending.data, *end = at ? at + s->pending.len : NULL;
    while (!rc && at < end) {
        MDB_val key = {(uint8_t)at[1], at + OP_HEAD};
        MDB_val value = {get_le((uint8_t *)at + 2, 4), at + OP_HEAD + key.mv_size};
        rc = at[0] == OP_PUT ? mdb_put(txn, dbi, &key, &value, 0) : mdb_del(txn, dbi, &key, NULL);
        if (rc == MDB_NOTFOUND && at[0] == OP_REMOVE) rc = 0;
        at += OP_HEAD + key.mv_size + value.mv_size;
    }
    return rc;
}

static int one_transaction(const struct store *s, const struct store_env *e)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(e->env, NULL, 0, &txn);
    if (rc) return rc;
    rc = apply(s, txn, e->dbi);
    if (!rc) return mdb_txn_commit(txn); /* frees it in any case */
    mdb_txn_abort(txn);
    return rc;
}

/* LMDB had a copy of each of its pages: thousands of blocks, and one behind them that somebody else took meanwhile
 * would keep all their room from the system. */
static void give_back(size_t committed)
{
#ifdef __GLIBC__
    if (committed >= LARGE) malloc_trim(0);
#else
    (void)committed;
#endif
}

/* Whoever removes a file that is open takes it from everybody but who has it open, and from him too when he ends: what
 * is committed to it then is durable nowhere.  (A file that was moved has a name; on some file systems none has a
 * number of names.) */
static int check_not_removed(const struct store *s, const struct store_env *e, struct err *err)
{
    char path[STORE_PATH_MAX];
    struct stat mine, there;
    int fd;
    if (mdb_env_get_fd(e->env, &fd) || fstat(fd, &mine) || mine.st_nlink > 0) return 0;
    int rc = store_path(path, s->dir, "journal/data.mdb", err);
    if (rc || (stat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)) return rc;
    return err_set(err, STORE_FAILED, "%s: was removed while it was open, and keeps nothing any more; export what it "
                   "had until then", s->dir);
}

int store_commit(struct store *s, struct err *err)
{
    struct store_env *e = &s->part[s->pending_part];
    int rc = store_env_ready(s, s->pending_part, err);
    assert(s->begun);
    if (!rc && s->pending_part == STORE_JOURNAL) rc = check_not_removed(s, e, err);
    while (!rc) {
        int got = one_transaction(s, e);
        if (!got) {
            size_t committed = s->pending.len;
            store_abort(s); /* nothing is pending any more */
            give_back(committed);
            return 0;
        }
        /* LMDB calls a write that was cut short EIO, which is how a disk begins to be full. */
        if ((got == EIO || got == MDB_MAP_FULL) && store_is_full(s->dir, s->pending_part, s->pending.len)) got = ENOSPC;
        if (got == MDB_MAP_FULL) {
            rc = store_env_grow(e, s->dir, 2 * s->pending.len, err);
        } else if (got == MDB_MAP_RESIZED) {
            rc = store_env_resized(e, err);
        } else {
            store_env_close(e); /* after a failed write only a fresh look at the file tells what is in it */
            rc = store_lmdb(err, got, "commit", s->dir);
        }
    }
    return rc;
}
