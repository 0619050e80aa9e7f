/* durable_rig.h - turns that can be told, written to a store whose system calls pass through here: a program's own
 * definitions go before those of its libraries.  They are counted, made to fail, or written down so that the disk can
 * be built as it was when the power went.  Included by one file of a test program, as interpose.h is. */
#ifndef DURABLE_RIG_H
#define DURABLE_RIG_H
#include "tests/store_rig.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { FULL = 10, TEXT_MAX = 30000, ARTIFACT = 60000 };

RIG const struct store_options small = {.map_start = {256 << 10}};

/* CI has a tenth of what make soak has (PLIMSOLL_FULL=1). */
static inline int rounds(void) { return getenv("PLIMSOLL_FULL") ? FULL : 1; }

/* ---------------------------------------------------------------- the system calls */

enum { CALL_WRITE = 'w', CALL_SYNC = 's', CALL_RENAME = 'r', CALL_FOLDER = 'f', CALL_ACK = 'a', CALL_GONE = 'g' };

static struct {
    enum { PASS, COUNT, FAIL, LOG } mode;
    int calls, fail_at, error; /* error 0: a short write */
    int failed_writes, failed_metas, failed_syncs;
    const char *folder;        /* what is done to its *.mdb is logged */
    bool nosync;               /* every environment of LMDB's is opened with MDB_NOSYNC */
    struct buf log;            /* what:1 durable:1 file:8 offset:8 length:8 bytes */
    int logged;
} io;

enum { LOG_HEAD = 26 };

static inline void log_call(char what, bool durable, ino_t file, off_t at, const void *bytes, size_t n)
{
    uint8_t head[LOG_HEAD] = {(uint8_t)what, durable};
    put_le(head + 2, file, 8);
    put_le(head + 10, (uint64_t)at, 8);
    put_le(head + 18, n, 8);
    buf_put(&io.log, head, sizeof head);
    buf_put(&io.log, bytes, n);
    io.logged++;
}

static inline void log_ack(char what) { log_call(what, false, 0, 0, "", 0); }

/* Which file of the folder it is; 0: none.  An old one keeps its number when another takes its name. */
static inline ino_t logged(int fd)
{
    char link[40], path[300];
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = io.mode == LOG ? readlink(link, path, sizeof path - 1) : -1;
    if (n < 0 || fstat(fd, &st)) return 0;
    path[n] = '\0';
    size_t front = strlen(io.folder);
    bool ours = strncmp(path, io.folder, front) == 0 && path[front] == '/' && strstr(path + front, ".mdb");
    return ours ? st.st_ino : 0;
}

static inline bool is_folder(int fd)
{
    struct stat a, b;
    return io.mode == LOG && fstat(fd, &a) == 0 && stat(io.folder, &b) == 0 && a.st_ino == b.st_ino;
}

/* true: this call shall fail. */
static inline bool count(void)
{
    return (io.mode == COUNT || io.mode == FAIL) && ++io.calls == io.fail_at && io.mode == FAIL;
}

static inline ssize_t see_write(int fd, const struct iovec *v, int n, off_t at, bool moves)
{
    struct iovec one = v[0];
    if (count()) {
        if (fcntl(fd, F_GETFL) & O_DSYNC) io.failed_metas++; /* LMDB opens the file once more for these */
        else io.failed_writes++;
        errno = io.error;
        if (io.error) return -1;
        one.iov_len /= 2;
        n = 1;
        v = &one;
    }
    if (moves) at = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    ssize_t done = 0;
    for (int i = 0; i < n; i++) {
        ssize_t got = syscall(SYS_pwrite64, fd, v[i].iov_base, v[i].iov_len, at + done);
        if (got < 0) return -1;
        ino_t file = logged(fd);
        if (file) log_call(CALL_WRITE, fcntl(fd, F_GETFL) & O_DSYNC, file, at + done, v[i].iov_base, (size_t)got);
        done += got;
    }
    if (moves) syscall(SYS_lseek, fd, at + done, SEEK_SET);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    struct iovec v = {(void *)bytes, n};
    return see_write(fd, &v, 1, at, false);
}

ssize_t writev(int fd, const struct iovec *v, int n) { return see_write(fd, v, n, 0, true); }

static inline int see_sync(long call, int fd)
{
    if (count()) {
        io.failed_syncs++;
        errno = io.error ? io.error : EIO;
        return -1;
    }
    ino_t file = logged(fd);
    int rc = (int)syscall(call, fd);
    if (file) log_call(CALL_SYNC, true, file, 0, "", 0);
    else if (is_folder(fd)) log_call(CALL_FOLDER, true, 0, 0, "", 0);
    return rc;
}

int fdatasync(int fd) { return see_sync(SYS_fdatasync, fd); }
int fsync(int fd) { return see_sync(SYS_fsync, fd); }

int rename(const char *from, const char *to)
{
    struct stat st;
    bool ours = io.mode == LOG && strncmp(to, io.folder, strlen(io.folder)) == 0 && stat(from, &st) == 0;
    int rc = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (ours && rc == 0) log_call(CALL_RENAME, false, st.st_ino, 0, "", 0);
    return rc;
}

int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
    int (*next)(MDB_env *, const char *, unsigned, mdb_mode_t);
    *(void **)&next = dlsym(RTLD_NEXT, "mdb_env_open");
    return next(env, path, flags | (io.nosync ? MDB_NOSYNC : 0), mode);
}

/* ---------------------------------------------------------------- turns that can be told */

static inline void text_of(uint64_t number, struct buf *out)
{
    size_t n = number % 9 == 5 ? TEXT_MAX - number % 1000 : 30 + number * 37 % 3000;
    out->len = 0;
    buf_printf(out, "turn %llu:", (unsigned long long)number);
    while (out->len < n) buf_printf(out, " %llu", (unsigned long long)(out->len * 17 + number));
}

static inline bool has_artifact(uint64_t number) { return number % 9 == 7; }

/* Several chunks, each too long for a page however it is compressed. */
static inline void artifact_of(uint64_t number, struct buf *out)
{
    out->len = 0;
    for (uint64_t i = 0; out->len < ARTIFACT; i++)
        buf_printf(out, "%llx,", (unsigned long long)((i + 1) * (number + 77) * 0x9e3779b97f4a7c15u));
    out->len = ARTIFACT;
}

static inline int put_turn(struct store *s, uint64_t number)
{
    struct store_key key = store_key_message(ada, number);
    struct buf text = {0};
    text_of(number, &text);
    int rc = store_put(s, &key, REC_MESSAGE, text.data, text.len, &err);
    if (!rc && has_artifact(number)) {
        artifact_of(number, &text);
        rc = store_put_artifact(s, ada, number, text.data, text.len, &err);
    }
    buf_free(&text);
    return rc;
}

static inline int commit_turn(struct store *s, uint64_t number)
{
    store_begin(s, STORE_JOURNAL);
    int rc = put_turn(s, number);
    return rc ? rc : store_commit(s, &err);
}

struct turns {
    uint64_t n, wrong; /* turns 0 to n - 1 are there */
    struct buf text;
};

static inline bool see_turn(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    struct turns *t = user;
    (void)session;
    text_of(number, &t->text);
    if (number != t->n || r->len != t->text.len || memcmp(r->body, t->text.data, r->len) != 0) t->wrong++;
    t->n = number + 1;
    return true;
}

static inline bool see_damage(void *user, const char *line)
{
    (void)line;
    ((struct turns *)user)->wrong++;
    return true;
}

/* Each turn's artifact is there with the turn, and goes with it. */
static inline void see_artifacts(struct store *s, struct turns *t)
{
    struct buf got = {0};
    for (uint64_t i = 0; i <= t->n + 1; i++) {
        got.len = 0;
        int rc = store_read_artifact(s, ada, i, 0, SIZE_MAX, &got, &err);
        if (!has_artifact(i) || i >= t->n) {
            t->wrong += rc != STORE_NOT_FOUND;
            continue;
        }
        artifact_of(i, &t->text);
        t->wrong += rc || got.len != t->text.len || memcmp(got.data, t->text.data, got.len) != 0;
    }
    buf_free(&got);
}

static inline bool count_record(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    (void)session, (void)number, (void)r;
    ++*(int *)user;
    return true;
}

/* How many turns the store in dir has, all whole and without a gap; -1: it is damaged.  *bobs (NULL: not asked): how
 * many messages bob's session has. */
static inline int64_t look_into(const char *dir, int *bobs)
{
    struct turns t = {0};
    const struct store_visit visit = {see_turn, see_damage, &t}, his = {count_record, NULL, bobs};
    struct store *s = NULL;
    if (store_check(dir, STORE_JOURNAL, 0, NULL, &err) || store_open(&s, dir, &small, &err)) return -1;
    OK(store_each_message(s, ada, 0, &visit, &err));
    see_artifacts(s, &t);
    if (bobs) OK(store_each_message(s, bob, 0, &his, &err));
    store_close(s);
    buf_free(&t.text);
    return t.wrong ? -1 : (int64_t)t.n;
}

static inline int64_t turns_in(const char *dir) { return look_into(dir, NULL); }
#endif
