/* store_stat.c - what is in the store, in figures; whether there is one, and who has it open. */
#include "memory/store_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(struct store_stat *st, enum store_part part, const MDB_val *k, const MDB_val *v)
{
    const uint8_t *key = k->mv_data;
    uint8_t letter = k->mv_size > 0 ? key[0] : 0, kind = letter;
    if (part == STORE_CACHE) kind = letter == 'K' && k->mv_size > 1 ? key[1] : 0;
    st->records++;
    st->kind[kind].records++;
    st->kind[kind].bytes += k->mv_size + v->mv_size;
    switch (letter) {
    case 'S': st->sessions++; break;
    case 'M': st->messages++; break;
    case 'P': st->pieces++; break;
    case 'a': st->artifacts++; break;
    case 'c': st->chunks++; break;
    default: break;
    }
}

/* Pages that some tree or the list of free ones holds down less those that are free again. */
static int count_all(struct store_env *e, enum store_part part, MDB_txn *txn, struct store_stat *st)
{
    MDB_cursor *cursor;
    MDB_stat tree;
    MDB_val k, v;
    int rc = mdb_stat(txn, e->dbi, &tree);
    if (rc) return rc;
    st->used_bytes = (uint64_t)tree.ms_psize * (2 + tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages);
    rc = mdb_cursor_open(txn, e->dbi, &cursor);
    if (rc) return rc;
    while ((rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0) count(st, part, &k, &v);
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* A line for each reader after the heading "    pid     thread     txnid", which is a line too. */
static int count_line(const char *line, void *user)
{
    unsigned *n = user;
    if (line[strspn(line, " ")] >= '0' && line[strspn(line, " ")] <= '9') ++*n;
    return 0;
}

int store_stat(struct store *s, enum store_part part, struct store_stat *out, struct err *err)
{
    struct store_env *e = &s->part[part];
    struct store_stat st = {0};
    struct stat file;
    char path[STORE_PATH_MAX];
    MDB_txn *txn;
    int dead, rc = store_path(path, s->dir, part == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", err);
    if (!rc) rc = store_begin_read(s, part, &txn, err);
    if (rc) return rc;
    int got = count_all(e, part, txn, &st);
    mdb_txn_abort(txn);
    if (!got) got = mdb_reader_check(e->env, &dead);
    if (!got) got = MIN(mdb_reader_list(e->env, count_line, &st.readers), 0);
    if (got) return store_lmdb(err, got, "count", s->dir);
    st.file_bytes = stat(path, &file) ? 0 : (uint64_t)file.st_size;
    st.map_bytes = e->map;
    st.map_limit = e->map_limit;
    *out = st;
    return 0;
}

/* ------------------------------------------------------------------ by session */

struct sessions {
    struct store_session_stat *of;
    size_t n, cap;
};

static struct store_session_stat *add(struct sessions *v, const uint8_t *session)
{
    if (v->n == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 64;
        struct store_session_stat *of = cap > SIZE_MAX / 2 / sizeof *of ? NULL : realloc(v->of, cap * sizeof *of);
        if (!of) return NULL;
        v->of = of;
        v->cap = cap;
    }
    struct store_session_stat *one = &v->of[v->n++];
    memset(one, 0, sizeof *one);
    memcpy(one->session, session, STORE_SESSION_ID);
    return one;
}

/* Keys come by letter and then by session: in one pass an entry for each pair, or fewer.  0, or LMDB's or an errno's.
 */
static int collect(struct sessions *v, MDB_cursor *cursor)
{
    static const char letters[] = "SMPac";
    int rc;
    MDB_val k, value;
    while ((rc = mdb_cursor_get(cursor, &k, &value, MDB_NEXT)) == 0) {
        const uint8_t *key = k.mv_data;
        if (k.mv_size < 1 + STORE_SESSION_ID || !memchr(letters, key[0], sizeof letters - 1)) continue;
        struct store_session_stat *one = v->n ? &v->of[v->n - 1] : NULL;
        if (!one || memcmp(one->session, key + 1, STORE_SESSION_ID) != 0) one = add(v, key + 1);
        if (!one) return ENOMEM;
        one->head = one->head || key[0] == 'S';
        one->messages += key[0] == 'M';
        one->bytes += k.mv_size + value.mv_size;
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int by_id(const void *a, const void *b) { return memcmp(a, b, STORE_SESSION_ID); }

/* The entries of one session become one. */
static void merge(struct sessions *v)
{
    size_t kept = 0;
    if (v->n) qsort(v->of, v->n, sizeof *v->of, by_id);
    for (size_t i = 1; i < v->n; i++) {
        struct store_session_stat *to = &v->of[kept], *from = &v->of[i];
        if (by_id(to, from) != 0) {
            v->of[++kept] = *from;
            continue;
        }
        to->head = to->head || from->head;
        to->messages += from->messages;
        to->bytes += from->bytes;
    }
    if (v->n) v->n = kept + 1;
}

int store_stat_sessions(struct store *s, struct store_session_stat **list, size_t *n, struct err *err)
{
    struct sessions v = {0};
    MDB_cursor *cursor;
    MDB_txn *txn;
    int rc = store_begin_read(s, STORE_JOURNAL, &txn, err);
    if (rc) return rc;
    int got = mdb_cursor_open(txn, s->part[STORE_JOURNAL].dbi, &cursor);
    if (!got) {
        got = collect(&v, cursor);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    if (got) {
        free(v.of);
        return store_lmdb(err, got, "count", s->dir);
    }
    merge(&v);
    *list = v.of;
    *n = v.n;
    return 0;
}

/* ------------------------------------------------------------------ from outside */

int store_exists(const char *dir, struct err *err)
{
    if (access(dir, F_OK) && errno == ENOENT) return err_set(err, STORE_NOT_FOUND, "%s: there is no store", dir);
    return store_dir_make(dir, true, err);
}

/* LMDB keeps a lock of each process on the byte of lock.mdb that has its number: who asks for the locks between two
 * bytes is told one of them.  n: how many may be looked at. */
static int users_between(int fd, off_t first, off_t last, long *pid, int n)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = last - first + 1};
    if (n == 0 || first > last || fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK) return 0;
    off_t at = lock.l_start;
    if (at < first || at > last) return 0;
    pid[0] = MAX(lock.l_pid, 0);
    int found = 1 + users_between(fd, first, at - 1, pid + 1, n - 1);
    return found + users_between(fd, at + 1, last, pid + found, n - found);
}

int store_users(const char *dir, long *pid, int n)
{
    const off_t most = (off_t)1 << 30; /* no process's number is larger */
    char path[STORE_PATH_MAX];
    if (store_path(path, dir, "journal/lock.mdb", NULL)) return 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    int found = users_between(fd, 1, most, pid, n);
    close(fd);
    return found;
}
