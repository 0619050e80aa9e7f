/* test_store_durable.c - what was acknowledged is there: after SIGKILL, after writes and syncs that fail, on a full
 * disk (after a power loss: test_store_power.c).  One test is turned round: a store that acknowledges too early is
 * caught by the same means.  CI kills a hundred times, 40 with a sanitizer; PLIMSOLL_FULL=1 (make soak) a thousand
 * times. */
#include "tests/durable_rig.h"
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

enum { KILLS = CHECK_SANITIZED ? 40 : 100, FAILURES = CHECK_SANITIZED ? 20 : 40 };

static uint64_t seed = 20240612;

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

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

static void kill_often(int kills)
{
    char dir[256];
    int64_t there = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    for (int i = 0; i < kills; i++) {
        int64_t acknowledged = (int64_t)run_and_kill(dir, (uint64_t)there, false);
        struct store *s = NULL;
        OK(store_open(&s, dir, &small, &err)); /* makes what a child killed early had not */
        store_close(s);
        there = turns_in(dir);
        if (there < acknowledged || there > acknowledged + 1)
            check_fail(__FILE__, __LINE__, "kill %d: %lld turns are there, %lld were acknowledged: %s", i,
                       (long long)there, (long long)acknowledged, err.text);
    }
    CHECK(there > kills / 2); /* it did work between the kills */
}

TEST(after_sigkill_every_acknowledged_turn_is_there)
{
    for (int r = 0; r < rounds(); r++) kill_often(KILLS); /* each in a new store: looking takes longer each time */
    printf("# %d kills\n", rounds() * KILLS);
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
        /* how many it has is not always the same */
        for (int i = 0; i < FAILURES; i++) fail_once(dir, 1 + i % 5, errors[e]);
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
