/* test_store_durable.c - what was acknowledged is there: after SIGKILL, after a power loss, after writes and syncs that
 * fail, on a full disk.  Two tests are turned round: a store that acknowledges too early is caught by the same means.
 *
 * LMDB's system calls pass through here: a program's own definitions go before those of its libraries.  They are
 * counted, made to fail, or written down so that the disk can be built as it was when the power went. */
#include "tests/store_rig.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 100, POWER_CUTS = 100, SECTOR = 512, TEXT_MAX = 30000 };

static const struct store_options small = {.map_start = {256 << 10}};

static uint64_t seed = 20240612;

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- the system calls */

enum { CALL_WRITE = 'w', CALL_SYNC = 's', CALL_ACK = 'a' };

static struct {
    enum { PASS, COUNT, FAIL, LOG } mode;
    int calls, fail_at, error; /* error 0: a short write */
    int failed_writes, failed_metas, failed_syncs;
    ino_t file;                /* whose calls are logged */
    struct buf log;            /* what:1 durable:1 offset:8 length:8 bytes */
} io;

static void log_call(char what, bool durable, off_t at, const void *bytes, size_t n)
{
    uint8_t head[18] = {(uint8_t)what, durable};
    put_le(head + 2, (uint64_t)at, 8);
    put_le(head + 10, n, 8);
    buf_put(&io.log, head, sizeof head);
    buf_put(&io.log, bytes, n);
}

static bool is_logged(int fd)
{
    struct stat st;
    return io.mode == LOG && fstat(fd, &st) == 0 && st.st_ino == io.file;
}

/* true: this call shall fail. */
static bool count(void)
{
    return (io.mode == COUNT || io.mode == FAIL) && ++io.calls == io.fail_at && io.mode == FAIL;
}

static ssize_t see_write(int fd, const struct iovec *v, int n, off_t at, bool moves)
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
        if (is_logged(fd)) log_call(CALL_WRITE, fcntl(fd, F_GETFL) & O_DSYNC, at + done, v[i].iov_base, (size_t)got);
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

static int see_sync(long call, int fd)
{
    if (count()) {
        io.failed_syncs++;
        errno = io.error ? io.error : EIO;
        return -1;
    }
    if (is_logged(fd)) log_call(CALL_SYNC, true, 0, "", 0);
    return (int)syscall(call, fd);
}

int fdatasync(int fd) { return see_sync(SYS_fdatasync, fd); }
int fsync(int fd) { return see_sync(SYS_fsync, fd); }

/* ---------------------------------------------------------------- turns that can be told */

static void text_of(uint64_t number, struct buf *out)
{
    size_t n = number % 9 == 5 ? TEXT_MAX - number % 1000 : 30 + number * 37 % 3000;
    out->len = 0;
    buf_printf(out, "turn %llu:", (unsigned long long)number);
    while (out->len < n) buf_printf(out, " %llu", (unsigned long long)(out->len * 17 + number));
}

static int put_turn(struct store *s, uint64_t number)
{
    struct store_key key = store_key_message(ada, number);
    struct buf text = {0};
    text_of(number, &text);
    int rc = store_put(s, &key, REC_MESSAGE, text.data, text.len, &err);
    buf_free(&text);
    return rc;
}

static int commit_turn(struct store *s, uint64_t number)
{
    store_begin(s, STORE_JOURNAL);
    int rc = put_turn(s, number);
    return rc ? rc : store_commit(s, &err);
}

struct turns {
    uint64_t n, wrong; /* turns 0 to n - 1 are there */
    struct buf text;
};

static bool see_turn(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    struct turns *t = user;
    (void)session;
    text_of(number, &t->text);
    if (number != t->n || r->len != t->text.len || memcmp(r->body, t->text.data, r->len) != 0) t->wrong++;
    t->n = number + 1;
    return true;
}

static bool see_damage(void *user, const char *line)
{
    (void)line;
    ((struct turns *)user)->wrong++;
    return true;
}

/* How many turns the store in dir has, all whole and without a gap; -1: it is damaged. */
static int64_t turns_in(const char *dir)
{
    struct turns t = {0};
    const struct store_visit visit = {see_turn, see_damage, &t};
    struct store *s = NULL;
    if (store_check(dir, STORE_JOURNAL, 0, NULL, &err) || store_open(&s, dir, &small, &err)) return -1;
    OK(store_each_message(s, ada, 0, &visit, &err));
    store_close(s);
    buf_free(&t.text);
    return t.wrong ? -1 : (int64_t)t.n;
}

/* ---------------------------------------------------------------- SIGKILL */

/* Turns from `next` on for ever, each told through the pipe; now and then bob's session is filled, or deleted, which
 * writes the whole file anew. */
static void work(const char *dir, uint64_t next, int pipe_fd, bool too_early)
{
    struct store *s = NULL;
    struct store_key key = store_key_message(bob, 0);
    if (store_open(&s, dir, &small, &err)) _exit(1);
    for (;; next++) {
        store_begin(s, STORE_JOURNAL);
        if (put_turn(s, next)) _exit(2);
        if (store_put(s, &key, REC_MESSAGE, "bob's", 5, &err)) _exit(3);
        if (too_early && write(pipe_fd, &next, sizeof next) != sizeof next) _exit(4);
        if (store_commit(s, &err)) _exit(5);
        if (!too_early && write(pipe_fd, &next, sizeof next) != sizeof next) _exit(4);
        if (next % 4 == 3 && store_delete_session(s, bob, &err)) _exit(6);
    }
}

/* Runs work() and kills it after a while.  How many turns it had acknowledged, these included. */
static uint64_t run_and_kill(const char *dir, uint64_t next, bool too_early)
{
    int end[2], status;
    uint64_t turn;
    CHECK_EQ(pipe(end), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(end[0]);
        work(dir, next, end[1], too_early);
    }
    close(end[1]);
    if (draw(4)) { /* else: perhaps while it opens */
        struct pollfd p = {end[0], POLLIN, 0};
        poll(&p, 1, 30000);
    }
    usleep((useconds_t)draw(too_early ? 3000 : 40000));
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status)) check_fail(__FILE__, __LINE__, "the child ended by itself: %d", WEXITSTATUS(status));
    while (read(end[0], &turn, sizeof turn) == sizeof turn) next = turn + 1;
    close(end[0]);
    return next;
}

TEST(after_sigkill_every_acknowledged_turn_is_there)
{
    char dir[256];
    int64_t there = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    for (int i = 0; i < KILLS; i++) {
        int64_t acknowledged = (int64_t)run_and_kill(dir, (uint64_t)there, false);
        struct store *s = NULL;
        OK(store_open(&s, dir, &small, &err)); /* makes what a child killed early had not */
        store_close(s);
        there = turns_in(dir);
        if (there < acknowledged || there > acknowledged + 1)
            check_fail(__FILE__, __LINE__, "kill %d: %lld turns are there, %lld were acknowledged: %s", i,
                       (long long)there, (long long)acknowledged, err.text);
    }
    CHECK(there > KILLS / 2); /* it did work between the kills */
}

TEST(acknowledging_before_the_commit_is_caught_by_sigkill)
{
    char dir[256];
    int64_t there = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    for (int i = 0; i < 3 * KILLS; i++) {
        int64_t acknowledged = (int64_t)run_and_kill(dir, (uint64_t)there, true);
        struct store *s = NULL;
        OK(store_open(&s, dir, &small, &err));
        store_close(s);
        there = turns_in(dir);
        CHECK(there >= 0);
        if (there < acknowledged) return;
    }
    check_fail(__FILE__, __LINE__, "no turn was lost in %d kills", 3 * KILLS);
}

/* ---------------------------------------------------------------- power loss */

/* The disk when the power goes at byte `cut` of the log: what was synced is there, of the rest each sector or not.
 * honest: syncs and O_DSYNC count; else the drive lied, which is what MDB_NOSYNC comes to.  How many turns had been
 * acknowledged by then. */
static uint64_t disk_at(size_t cut, bool honest, struct buf *disk)
{
    uint64_t acknowledged = 0;
    size_t synced = 0, at, next;
    for (at = 0; at < cut; at = next) {
        const uint8_t *p = (uint8_t *)io.log.data + at;
        next = at + 18 + get_le(p + 10, 8);
        if (p[0] == CALL_ACK) acknowledged++;
        if (p[0] == CALL_SYNC && next <= cut) synced = next;
    }
    for (at = 0; at < cut; at = next) {
        const uint8_t *p = (uint8_t *)io.log.data + at;
        size_t n = get_le(p + 10, 8), to = get_le(p + 2, 8);
        next = at + 18 + n;
        if (p[0] != CALL_WRITE) continue;
        bool durable = honest && next <= cut && (at < synced || p[1]);
        while (disk->len < to + n) buf_put(disk, "\0", 1);
        for (size_t i = 0; i < n;) { /* by sectors of the disk */
            size_t take = MIN(n - i, SECTOR - (to + i) % SECTOR);
            if (durable || draw(2)) memcpy(disk->data + to + i, p + 18 + i, take);
            i += take;
        }
    }
    return acknowledged;
}

static struct buf read_file(const char *path)
{
    struct buf out = {0};
    char part[1 << 16];
    ssize_t n;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    while ((n = read(fd, part, sizeof part)) > 0) buf_put(&out, part, (size_t)n);
    close(fd);
    return out;
}

/* Turns are committed with every write on record, then the power goes at `cuts` moments.  Losses: images in which an
 * acknowledged turn is not there, or that are damaged. */
static int losses(int cuts, bool honest)
{
    char dir[256], path[300];
    struct store *s = NULL;
    struct stat st;
    int lost = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(path, sizeof path, "%s/journal/data.mdb", dir);
    OK(store_open(&s, dir, &small, &err));
    struct buf start = read_file(path);
    CHECK_EQ(stat(path, &st), 0);
    io.file = st.st_ino;
    io.log.len = 0;
    io.mode = LOG;
    for (uint64_t i = 0; i < 40; i++) {
        OK(commit_turn(s, i));
        log_call(CALL_ACK, false, 0, "", 0);
    }
    io.mode = PASS;
    store_close(s);
    CHECK_EQ(turns_in(dir), 40);
    for (int i = 0; i < cuts; i++) {
        struct buf disk = {0};
        buf_put(&disk, start.data, start.len);
        uint64_t acknowledged = disk_at((size_t)draw(io.log.len), honest, &disk);
        int fd = open(path, O_WRONLY | O_TRUNC);
        CHECK(fd >= 0 && write(fd, disk.data, disk.len) == (ssize_t)disk.len);
        close(fd);
        int64_t there = turns_in(dir);
        lost += there < (int64_t)acknowledged || there > (int64_t)acknowledged + 1;
        buf_free(&disk);
    }
    buf_free(&start);
    buf_free(&io.log);
    return lost;
}

TEST(after_a_power_loss_every_acknowledged_turn_is_there)
{
    CHECK_EQ(losses(POWER_CUTS, true), 0);
}

TEST(syncs_that_do_nothing_are_caught_by_the_power_loss)
{
    CHECK(losses(20, false) > 5);
}

/* ---------------------------------------------------------------- failing calls */

/* One commit with its call number fail_at failing, if it has so many. */
static void fail_once(const char *dir, int fail_at, int error)
{
    struct store *s = NULL;
    int64_t before = turns_in(dir);
    CHECK(before >= 0);
    OK(store_open(&s, dir, &small, &err));
    OK(commit_turn(s, (uint64_t)before));
    io.mode = FAIL;
    io.calls = 0;
    io.fail_at = fail_at;
    io.error = error;
    int rc = commit_turn(s, (uint64_t)before + 1);
    io.mode = PASS;
    if (io.calls < fail_at) {
        CHECK_EQ(rc, 0);
    } else {
        CHECK_EQ(rc, error == ENOSPC ? STORE_DISK_FULL : STORE_IO);
        CHECK_EQ(err.code, rc);
        OK(store_commit(s, &err)); /* all of it was still pending */
    }
    store_close(s);
    CHECK_EQ(turns_in(dir), before + 2);
}

TEST(a_write_or_sync_that_fails_is_no_acknowledgement_and_loses_nothing)
{
    static const int errors[] = {EIO, ENOSPC, 0};
    char dir[256];
    for (size_t e = 0; e < COUNT_OF(errors); e++) {
        snprintf(dir, sizeof dir, "%s", fresh_dir());
        struct store *s = NULL;
        OK(store_open(&s, dir, &small, &err));
        store_close(s);
        io.failed_writes = io.failed_metas = io.failed_syncs = 0;
        for (int i = 0; i < 40; i++) fail_once(dir, 1 + i % 5, errors[e]); /* how many it has is not always the same */
        CHECK(io.failed_writes && io.failed_metas && io.failed_syncs);
    }
}

/* ---------------------------------------------------------------- a full disk */

static int fill_the_disk(const char *dir)
{
    struct rlimit all, little;
    struct store *s = NULL;
    uint64_t n = 0;
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &all)) return 1;
    little = (struct rlimit){300000, all.rlim_max};
    if (store_open(&s, dir, &small, &err) || setrlimit(RLIMIT_FSIZE, &little)) return 2;
    while (n < 1000 && commit_turn(s, n) == 0) n++;
    if (n == 0 || n == 1000 || err.code != STORE_DISK_FULL || !strstr(err.text, "make room")) return 3;
    if (store_commit(s, &err) != STORE_DISK_FULL) return 4;
    if (setrlimit(RLIMIT_FSIZE, &all)) return 5;
    if (store_commit(s, &err)) return 6; /* there is room: what was pending goes in */
    store_close(s);
    return turns_in(dir) == (int64_t)n + 1 ? 0 : 7;
}

TEST(a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again)
{
    int status;
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    pid_t pid = fork(); /* the limit is the process's */
    CHECK(pid >= 0);
    if (pid == 0) _exit(fill_the_disk(dir));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

CHECK_MAIN
