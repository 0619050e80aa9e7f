/* store_check.c - a file that may be damaged is read by a child: whatever it does to the child is only a verdict. */
#include "memory/store_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the child tells, through a pipe: a letter, two lengths, then so many bytes. */
enum { TELL_LINE = 'l', TELL_BAD_RECORD = 'b', TELL_RECORD = 'r', TELL_SO_FAR = 's', TELL_END = 'e', TELL_HEAD = 9 };

enum {
    STILL = 60,              /* seconds in which nothing comes of the child: then it is given up */
    SO_FAR = 1 << 20,        /* the whole of what it reads, in its own words; each of two readings is half of it */
    RECORDS = 1 << 6,        /* between two of these, on LMDB's way through the file */
};

struct told { /* by one message; points into what was read */
    char what;
    const uint8_t *a, *b;
    size_t a_len, b_len;
};

/* ------------------------------------------------------------------ the child */

struct child {
    int fd;
    uint64_t records;
};

static void tell(const struct child *c, char what, const void *a, size_t a_len, const void *b, size_t b_len)
{
    uint8_t head[TELL_HEAD] = {(uint8_t)what};
    const void *part[3] = {head, a, b};
    const size_t size[3] = {sizeof head, a_len, b_len};
    put_le(head + 1, a_len, 4);
    put_le(head + 5, b_len, 4);
    for (int i = 0; i < 3; i++)
        for (size_t done = 0; done < size[i];) {
            ssize_t n = write(c->fd, (const char *)part[i] + done, size[i] - done);
            if (n < 0 && errno != EINTR) _exit(2); /* nobody listens */
            if (n > 0) done += (size_t)n;
        }
}

static void tell_line(void *user, const char *line) { tell(user, TELL_LINE, line, strlen(line), NULL, 0); }

/* half: 0 in the first reading, 1 in the second.  Also when it is no more than before: that it gets on is news. */
static void tell_so_far(const struct child *c, uint32_t half, uint64_t done, uint64_t all)
{
    uint8_t body[4];
    double part = all > 0 ? MIN((double)done / (double)all, 1.0) : 0;
    put_le(body, (uint32_t)((half + part) * (SO_FAR / 2)), sizeof body);
    tell(c, TELL_SO_FAR, body, sizeof body, NULL, 0);
}

static void tell_pages(void *user, uint64_t pages, uint64_t all) { tell_so_far(user, 0, pages, all); }

static bool validate(void *user, const uint8_t *key, size_t key_len, const uint8_t *value, size_t n)
{
    struct child *c = user;
    struct rec r;
    c->records++;
    int why = rec_decode(value, n, REC_ANY, key, key_len, &r);
    if (why) {
        char name[160], line[240];
        store_key_text(key, key_len, name);
        snprintf(line, sizeof line, "%s is damaged: %s", name, rec_why(why));
        tell(c, TELL_BAD_RECORD, line, strlen(line), NULL, 0);
    }
    return true;
}

/* What is longer than the other side takes is only named: else all that comes behind it would be lost with it. */
static bool send_record(void *user, const uint8_t *key, size_t key_len, const uint8_t *value, size_t n)
{
    char name[160], line[240];
    if (n > REC_HEADER + REC_BODY_MAX) {
        store_key_text(key, key_len, name);
        snprintf(line, sizeof line, "%s is damaged: %s", name, rec_why(REC_TOO_BIG));
        tell_line(user, line);
        return true;
    }
    tell(user, TELL_RECORD, key, key_len, value, n);
    return true;
}

/* As LMDB reads it, to the end: its own reading must not fall over what ours found well. */
static void walk_as_lmdb(struct child *c, MDB_txn *txn)
{
    MDB_cursor *cursor;
    MDB_dbi dbi;
    MDB_val k, v;
    uint64_t n = 0;
    uint32_t crc = 0;
    int rc = mdb_dbi_open(txn, NULL, 0, &dbi);
    if (!rc) rc = mdb_cursor_open(txn, dbi, &cursor);
    if (!rc) {
        for (; (rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0; n++) {
            crc = crc32c(crc, v.mv_data, v.mv_size);
            if (n % RECORDS == 0) tell_so_far(c, 1, n, c->records);
        }
        mdb_cursor_close(cursor);
    }
    if (rc != MDB_NOTFOUND) tell_line(c, mdb_strerror(rc));
    else if (n != c->records) tell_line(c, "LMDB reads another number of records than there are");
}

/* LMDB's transaction pins the snapshot that is walked, against writers that are about.  They may have grown the map. */
static int pin(MDB_env *env, MDB_txn **txn)
{
    for (int tries = 0;; tries++) {
        int rc = *txn ? mdb_txn_renew(*txn) : mdb_txn_begin(env, NULL, MDB_RDONLY, txn);
        if (rc != MDB_MAP_RESIZED || tries == 100) return rc;
        rc = mdb_env_set_mapsize(env, 0);
        if (rc) return rc;
    }
}

static void check_file(struct child *c, const char *dir, enum store_part part)
{
    char path[STORE_PATH_MAX];
    const struct pages_visit visit = {validate, tell_line, c, tell_pages};
    MDB_env *env;
    MDB_txn *txn = NULL;
    int rc = store_path(path, dir, part == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", NULL);
    int fd = rc ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) _exit(2);
    path[strlen(path) - strlen("/data.mdb")] = '\0';
    rc = mdb_env_create(&env);
    if (!rc) rc = mdb_env_open(env, path, MDB_RDONLY | MDB_NOTLS, 0600);
    if (!rc) rc = pin(env, &txn);
    if (rc) {
        char line[240];
        snprintf(line, sizeof line, "LMDB cannot open the file: %s", mdb_strerror(rc));
        tell_line(c, line);
        return;
    }
    int faults = 0;
    while ((faults = pages_walk(fd, mdb_txn_id(txn), &visit)) == PAGES_CHANGED) {
        mdb_txn_reset(txn);
        if (pin(env, &txn)) _exit(2);
    }
    if (faults == 0) walk_as_lmdb(c, txn);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void send_file(struct child *c, const char *dir)
{
    char path[STORE_PATH_MAX];
    const struct pages_visit visit = {send_record, tell_line, c, tell_pages};
    int rc = store_path(path, dir, "journal/data.mdb", NULL);
    int fd = rc ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) _exit(2);
    pages_walk(fd, PAGES_NEWEST, &visit);
}

/* ------------------------------------------------------------------ the parent */

struct reading {
    pid_t pid;
    int fd;
    int64_t deadline; /* ms; 0: none */
    bool late;        /* it was given up */
    struct buf got;
    size_t at; /* of the first byte in got that was not understood yet */
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int start(struct reading *r, const char *dir, int part, int seconds, struct err *err)
{
    int end[2];
    pid_t parent = getpid();
    if (pipe2(end, O_CLOEXEC)) return store_errno(err, errno, "start a child to read", dir);
    r->pid = fork();
    if (r->pid == 0) {
        const struct rlimit no_core = {0, 0};
        struct child c = {.fd = end[1]};
        close(end[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(2);
        setrlimit(RLIMIT_CORE, &no_core);
        for (int sig = 1; sig < 32; sig++) signal(sig, SIG_DFL);
        if (part < STORE_PARTS) check_file(&c, dir, (enum store_part)part);
        else send_file(&c, dir);
        tell(&c, TELL_END, NULL, 0, NULL, 0);
        _exit(0);
    }
    int error = errno;
    close(end[1]);
    if (r->pid < 0) {
        close(end[0]);
        return store_errno(err, error, "start a child to read", dir);
    }
    r->fd = end[0];
    r->deadline = seconds > 0 ? now_ms() + 1000 * (int64_t)seconds : 0;
    return 0;
}

/* One message out of what was read.  false: more bytes are needed.  A child out of its mind cannot ask for much. */
static bool understand(struct reading *r, struct told *t)
{
    size_t have = r->got.len - r->at;
    if (have < TELL_HEAD) return false;
    const uint8_t *p = (uint8_t *)r->got.data + r->at;
    *t = (struct told){(char)p[0], p + TELL_HEAD, NULL, get_le(p + 1, 4), get_le(p + 5, 4)};
    if (have - TELL_HEAD < t->a_len + t->b_len) return false;
    t->b = t->a + t->a_len;
    r->at += TELL_HEAD + t->a_len + t->b_len;
    return true;
}

/* The next message; t->what is 0 when there is none any more: the child crashed, hung or lied about a length. */
static void listen_to(struct reading *r, struct told *t)
{
    int64_t still = now_ms() + 1000 * STILL;
    while (!understand(r, t)) {
        char part[1 << 14];
        *t = (struct told){0};
        memmove(r->got.data ? r->got.data : part, r->got.data ? r->got.data + r->at : part, r->got.len - r->at);
        r->got.len -= r->at;
        r->at = 0;
        int64_t left = (r->deadline > 0 ? MIN(still, r->deadline) : still) - now_ms();
        struct pollfd p = {r->fd, POLLIN, 0};
        r->late = left <= 0;
        if (r->late || r->got.len > REC_BODY_MAX + (1 << 20)) return;
        int ready = poll(&p, 1, (int)MIN(left, 100000));
        if (ready < 0 && errno != EINTR) return;
        if (ready <= 0) continue;
        ssize_t n = read(r->fd, part, sizeof part);
        if (n == 0 || (n < 0 && errno != EINTR)) return;
        if (n > 0) buf_put(&r->got, part, (size_t)n);
        if (r->got.failed) return;
    }
}

static void finish(struct reading *r)
{
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(r->fd);
    buf_free(&r->got);
}

/* A line of the child's, made safe: its bytes may come from anywhere. */
static void pass_on(const struct store_report *report, const struct told *t)
{
    char line[240];
    size_t n = MIN(t->a_len, sizeof line - 1);
    for (size_t i = 0; i < n; i++) line[i] = (char)(t->a[i] >= 0x20 && t->a[i] < 0x7f ? t->a[i] : '?');
    line[n] = '\0';
    if (report && report->line) report->line(report->user, line);
}

static void say(const struct store_report *report, const char *line)
{
    if (report && report->line) report->line(report->user, line);
}

/* In bytes of the file, which is read so many times. */
static void pass_so_far(void (*checking)(void *self, enum store_part part, uint64_t done, uint64_t all), void *self,
                        enum store_part part, int times, const struct told *t, uint64_t size)
{
    if (!checking || t->a_len != 4) return;
    const uint64_t whole = (uint64_t)times * (SO_FAR / 2), done = MIN(get_le(t->a, 4), whole);
    checking(self, part, (uint64_t)((double)size * (double)done / (double)whole), size);
}

int store_look(const char *dir, enum store_part part, const struct store_options *o,
               const struct store_report *report, struct store_faults *out, struct err *err)
{
    struct reading r = {0};
    struct told t;
    struct store_faults n = {0};
    struct stat st;
    char path[STORE_PATH_MAX];
    int rc = store_path(path, dir, part == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", err);
    if (!rc && (access(path, R_OK) || stat(path, &st))) rc = store_errno(err, errno, "read it", path);
    if (!rc) rc = start(&r, dir, (int)part, o->check_seconds, err);
    if (rc) return rc;
    for (listen_to(&r, &t); t.what && strchr("lbs", t.what); listen_to(&r, &t)) {
        if (t.what == TELL_SO_FAR) pass_so_far(o->checking, o->self, part, 2, &t, (uint64_t)st.st_size);
        else pass_on(report, &t);
        n.structure += t.what == TELL_LINE;
        n.records += t.what == TELL_BAD_RECORD;
    }
    if (t.what != TELL_END && !r.late) {
        say(report, "reading the file ended in a crash");
        n.structure++;
    }
    finish(&r);
    *out = n;
    if (!r.late || n.structure > 0) return 0; /* what was found counts, whatever would have come */
    return err_set(err, STORE_LATE, "%s: the %s could not be looked through in time (it is not said to be damaged, and "
                   "is left as it is); is its disk slow, or another process at it?", dir, store_part_name[part]);
}

int store_check(const char *dir, enum store_part part, int seconds, const struct store_report *report, struct err *err)
{
    const struct store_options o = {.check_seconds = seconds, .checking = report ? report->checking : NULL,
                                    .self = report ? report->self : NULL};
    struct store_faults n;
    int fd = store_users_open(dir, true, err); /* no wipe changes the file beneath the child */
    if (fd < 0 && fd != STORE_NOT_FOUND) return fd;
    int rc = fd >= 0 ? store_users_read(fd, dir, err) : 0;
    if (!rc) rc = store_look(dir, part, &o, report, &n, err);
    if (fd >= 0) close(fd);
    if (rc || n.structure + n.records == 0) return rc;
    return err_set(err, STORE_DAMAGED, "%s: the %s is damaged (%llu findings, %llu of them single records); "
                   "recover with \"store salvage\"", dir, store_part_name[part],
                   (unsigned long long)(n.structure + n.records), (unsigned long long)n.records);
}

/* ------------------------------------------------------------------ salvage */

struct salvage {
    struct store *to;
    const struct store_report *report;
    uint64_t records, missing;
    int rc;
    /* what is missing, on the way through the copy */
    uint8_t session[STORE_SESSION_ID];
    uint64_t next;
};

static void missing(struct salvage *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void missing(struct salvage *v, const char *fmt, ...)
{
    char line[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    v->missing++;
    say(v->report, line);
}

/* A record of the child's, validated here: what it says is worth no more than the file. */
static int keep(struct salvage *v, const struct told *t, struct err *err)
{
    struct store_key key = {.n = t->a_len};
    struct rec r;
    char name[160];
    store_key_text(t->a, t->a_len, name);
    int why = rec_decode(t->b, t->b_len, REC_ANY, t->a, t->a_len, &r);
    if (why || t->a_len == 0 || t->a_len > STORE_KEY_MAX) {
        missing(v, "%s is damaged: %s", name, why ? rec_why(why) : "its key is not as long as the store's are");
        return 0;
    }
    memcpy(key.byte, t->a, t->a_len);
    v->records++;
    int rc = store_put(v->to, &key, r.kind, r.body, r.len, err);
    if (rc || v->to->pending.len < 8 << 20) return rc;
    rc = store_commit(v->to, err);
    if (!rc) store_begin(v->to, STORE_JOURNAL);
    return rc;
}

static int copy_what_is_read(struct salvage *v, const char *from, int seconds, struct err *err)
{
    struct reading r = {0};
    struct told t;
    struct stat st;
    char path[STORE_PATH_MAX];
    int rc = store_path(path, from, "journal/data.mdb", err);
    if (!rc && stat(path, &st)) rc = store_errno(err, errno, "read it", path);
    if (!rc) rc = start(&r, from, STORE_PARTS, seconds, err);
    if (rc) return rc;
    store_begin(v->to, STORE_JOURNAL);
    for (listen_to(&r, &t); !rc && t.what && strchr("lrs", t.what); listen_to(&r, &t)) {
        if (t.what == TELL_RECORD) {
            rc = keep(v, &t, err);
        } else if (t.what == TELL_LINE) {
            pass_on(v->report, &t);
            v->missing++;
        } else if (v->report) {
            pass_so_far(v->report->checking, v->report->self, STORE_JOURNAL, 1, &t, (uint64_t)st.st_size);
        }
    }
    if (!rc && t.what != TELL_END) missing(v, "reading the file ended early: what came after is missing");
    finish(&r);
    if (!rc) rc = store_commit(v->to, err);
    if (v->to->begun) store_abort(v->to);
    return rc;
}

/* How many of the numbers first to last were never in the session: an import passed them over. */
static uint64_t passed_over(const struct salvage *v, MDB_txn *txn, uint64_t first, uint64_t last)
{
    struct store_key key = store_key_piece(v->session, STORE_GAPS);
    MDB_val k = {key.n, key.byte}, got;
    struct rec r;
    uint64_t n = 0;
    if (mdb_get(txn, v->to->part[STORE_JOURNAL].dbi, &k, &got) ||
        rec_decode(got.mv_data, got.mv_size, REC_PIECE, key.byte, key.n, &r)) return 0;
    for (size_t at = 0; at + STORE_GAP <= r.len; at += STORE_GAP) {
        const uint64_t from = MAX(get_le(r.body + at, 8), first), to = MIN(get_le(r.body + at + 8, 8), last);
        if (from > last) break;
        if (from <= to) n += to - from + 1;
    }
    return MIN(n, last - first + 1);
}

/* In the order of the keys: all sessions' messages, each from 0 on. */
static void look_at_key(struct salvage *v, MDB_txn *txn, const MDB_val *k, const MDB_val *value)
{
    const uint8_t *key = k->mv_data;
    size_t front = 1 + STORE_SESSION_ID;
    char name[160];
    store_key_text(key, k->mv_size, name);
    if (key[0] == 'M' && k->mv_size == front + 8) {
        uint64_t number = get_be(key + front, 8);
        if (memcmp(v->session, key + 1, STORE_SESSION_ID) != 0 || v->next == 0) {
            struct store_key head = store_key_session(key + 1);
            MDB_val h = {head.n, head.byte}, got;
            memcpy(v->session, key + 1, STORE_SESSION_ID);
            v->next = 0;
            if (mdb_get(txn, v->to->part[STORE_JOURNAL].dbi, &h, &got))
                missing(v, "the session of %s is missing", name);
        }
        uint64_t lost = number > v->next ? number - v->next - passed_over(v, txn, v->next, number - 1) : 0;
        if (lost) missing(v, "%llu messages before %s are missing", (unsigned long long)lost, name);
        v->next = number + 1;
    } else if (key[0] == 'a' && k->mv_size == front + 8 && value->mv_size == REC_HEADER + 12) {
        uint64_t bytes = get_le((const uint8_t *)value->mv_data + REC_HEADER, 8), lost = 0;
        uint64_t n = (MIN(bytes, STORE_ARTIFACT_MAX) + STORE_CHUNK - 1) / STORE_CHUNK;
        for (uint32_t i = 0; i < n; i++) {
            struct store_key chunk = store_key_chunk(key + 1, get_be(key + front, 8), i);
            MDB_val c = {chunk.n, chunk.byte}, got;
            lost += mdb_get(txn, v->to->part[STORE_JOURNAL].dbi, &c, &got) != 0;
        }
        if (lost)
            missing(v, "%llu of %llu chunks of %s are missing", (unsigned long long)lost, (unsigned long long)n, name);
    }
}

static int list_missing(struct salvage *v, struct err *err)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val k, value;
    int rc = store_begin_read(v->to, STORE_JOURNAL, &txn, err);
    if (rc) return rc;
    int got = mdb_cursor_open(txn, v->to->part[STORE_JOURNAL].dbi, &cursor);
    if (!got) {
        while ((got = mdb_cursor_get(cursor, &k, &value, MDB_NEXT)) == 0) look_at_key(v, txn, &k, &value);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return got == MDB_NOTFOUND ? 0 : store_lmdb(err, got, "read", v->to->dir);
}

/* Nobody writes to it meanwhile; where nobody can, it is enough that nobody wipes it.  *fd: the lock's, or -1. */
static int salvage_alone(const char *from, int *fd, struct err *err)
{
    int got = store_users_open(from, false, err);
    const bool fixed = got == STORE_READ_ONLY || got == STORE_PERMISSION;
    if (fixed) got = store_users_open(from, true, err);
    *fd = MAX(got, -1);
    if (got < 0) return fixed && got == STORE_NOT_FOUND ? 0 : got;
    if (fixed) return store_users_read(got, from, err);
    return store_users_alone(got) ? 0 : err_set(err, STORE_BUSY, "%s: another process has it open; end it first", from);
}

int store_salvage(const char *from, const char *to, int seconds, const struct store_report *report, uint64_t *records,
                  uint64_t *n_missing, struct err *err)
{
    struct salvage v = {.report = report};
    char path[STORE_PATH_MAX];
    int rc = store_path(path, from, "journal/data.mdb", err);
    if (!rc && access(path, R_OK)) rc = store_errno(err, errno, "read it", path);
    int fd = -1;
    if (!rc) rc = salvage_alone(from, &fd, err);
    if (!rc && access(to, F_OK) == 0 && rmdir(to)) /* an empty folder is as good as none */
        rc = err_set(err, STORE_FOREIGN, "%s: is not empty; name a folder that is not there yet", to);
    if (!rc) rc = store_open(&v.to, to, NULL, err);
    if (!rc) rc = copy_what_is_read(&v, from, seconds, err);
    if (!rc) rc = list_missing(&v, err);
    store_close(v.to);
    if (fd >= 0) close(fd);
    if (rc) return rc;
    *records = v.records;
    *n_missing = v.missing;
    return 0;
}
