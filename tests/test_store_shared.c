/* test_store_shared.c - several processes on one store; and what is deleted is gone from the files. */
#include "tests/store_rig.h"
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

/* ---------------------------------------------------------------- several processes */

static int lock_of_ada(const char *dir)
{
    struct store *s;
    struct store_lock lock;
    char pid[24];
    if (store_open(&s, dir, NULL, &err)) return 1;
    int rc = store_lock_session(s, ada, &lock, &err);
    if (rc == 0) return 2;
    snprintf(pid, sizeof pid, "process %ld;", (long)getppid());
    if (rc != STORE_BUSY || !strstr(err.text, pid)) return 3;
    if (store_lock_session(s, bob, &lock, &err)) return 4;
    store_unlock_session(&lock);
    store_close(s);
    return 0;
}

static int take_and_die(const char *dir)
{
    struct store *s;
    struct store_lock lock;
    if (store_open(&s, dir, NULL, &err) || store_lock_session(s, ada, &lock, &err)) return 1;
    raise(SIGKILL);
    return 2;
}

TEST(a_session_has_one_writer_and_the_second_is_told_who)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_lock lock;
    OK(store_lock_session(s, ada, &lock, &err));
    CHECK_EQ(in_child(lock_of_ada, dir), 0);
    store_unlock_session(&lock);
    CHECK_EQ(in_child(take_and_die, dir), 1000 + SIGKILL);
    OK(store_lock_session(s, ada, &lock, &err)); /* it went with the process */
    store_unlock_session(&lock);
    store_close(s);
}

static int die_reading(const char *dir)
{
    MDB_env *env;
    MDB_txn *txn;
    if (mdb_env_create(&env) || mdb_env_open(env, under(dir, "journal"), MDB_RDONLY, 0600)) return 1;
    if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn)) return 2;
    raise(SIGKILL);
    return 3;
}

TEST(readers_that_died_are_cleared)
{
    const char *dir = fresh_dir();
    struct store_stat stat;
    struct store *s = open_at(dir);
    for (int i = 0; i < 3; i++) CHECK_EQ(in_child(die_reading, dir), 1000 + SIGKILL);
    OK(store_stat(s, STORE_JOURNAL, &stat, &err));
    CHECK_EQ(stat.readers, 0);
    store_close(s);
}

static int write_much(const char *dir)
{
    const struct store_options o = {.map_start = {256 << 10}};
    static char text[50001];
    struct store *s;
    memset(text, 'z', sizeof text - 1);
    if (store_open(&s, dir, &o, &err)) return 1;
    for (uint64_t i = 0; i < 20; i++) {
        struct store_key key = store_key_message(bob, i);
        store_begin(s, STORE_JOURNAL);
        if (store_put(s, &key, REC_MESSAGE, text, sizeof text - 1, &err) || store_commit(s, &err)) return 2;
    }
    store_close(s);
    return 0;
}

TEST(another_process_grows_the_map_and_this_one_follows)
{
    const struct store_options o = {.map_start = {256 << 10}};
    for (int reads_first = 0; reads_first < 2; reads_first++) {
        const char *dir = fresh_dir();
        struct store *s = NULL;
        struct store_stat stat;
        OK(store_open(&s, dir, &o, &err));
        commit_message(s, ada, 0, "mine");
        CHECK_EQ(in_child(write_much, dir), 0);
        if (reads_first) check_messages(s, ada, 0, "a0:mine\n");
        commit_message(s, ada, 1, "mine too");
        check_messages(s, ada, 0, "a0:mine\na1:mine too\n");
        OK(store_stat(s, STORE_JOURNAL, &stat, &err));
        CHECK(stat.map_bytes >= 1000000);
        CHECK_EQ(stat.messages, 22);
        store_close(s);
    }
}

TEST(a_store_that_is_read_only_reads_and_refuses_to_write)
{
    const char *dir = fresh_dir();
    const struct store_options o = {.read_only = true};
    struct store *s = NULL;
    struct store_lock lock;
    struct store_key key = store_key_message(ada, 1);
    CHECK_EQ(store_open(&s, dir, &o, &err), STORE_NOT_FOUND);
    CHECK(access(dir, F_OK) != 0);
    s = open_at(dir);
    commit_message(s, ada, 0, "there");
    store_close(s);
    OK(store_open(&s, dir, &o, &err));
    check_messages(s, ada, 0, "a0:there\n");
    store_begin(s, STORE_JOURNAL);
    CHECK_EQ(store_put(s, &key, REC_MESSAGE, "x", 1, &err), STORE_READ_ONLY);
    store_abort(s);
    CHECK_EQ(store_lock_session(s, ada, &lock, &err), STORE_READ_ONLY);
    CHECK_EQ(store_wipe(s, &err), STORE_READ_ONLY);
    store_close(s);
}

/* 77: mounting is not allowed here. */
static int on_a_read_only_file_system(const char *dir)
{
    const struct store_options o = {.read_only = true};
    struct store *s;
    struct buf seen = {0};
    const struct store_visit visit = {note_record, note_damage, &seen};
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return 77;
    if (mount(dir, dir, NULL, MS_BIND, NULL)) return 77;
    if (mount("none", dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL)) return 77;
    if (store_open(&s, dir, NULL, &err) != STORE_READ_ONLY || !strstr(err.text, "read-only")) return 1;
    if (store_open(&s, dir, &o, &err)) return 2;
    if (store_each_message(s, ada, 0, &visit, &err) || strcmp(seen.data, "a0:there\n") != 0) return 3;
    store_close(s);
    buf_free(&seen);
    return 0;
}

TEST(on_a_read_only_file_system_a_store_is_read_and_writing_is_refused)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    commit_message(s, ada, 0, "there");
    store_close(s);
    int rc = in_child(on_a_read_only_file_system, dir);
    if (rc == 77) SKIP("needs the right to mount");
    CHECK_EQ(rc, 0);
}

/* 77: mounting is not allowed here. */
static int on_a_small_disk(const char *dir)
{
    static char text[20001];
    struct store *s;
    uint64_t n = 0;
    memset(text, 'd', sizeof text - 1);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return 77;
    if (mkdir(dir, 0700) || mount("none", dir, "tmpfs", 0, "size=1m")) return 77;
    if (store_open(&s, dir, NULL, &err)) return 1;
    for (; n < 100; n++) {
        struct store_key key = store_key_message(ada, n);
        store_begin(s, STORE_JOURNAL);
        if (store_put(s, &key, REC_MESSAGE, text, sizeof text - 1, &err)) return 2;
        if (store_commit(s, &err)) break;
    }
    if (n < 10 || n == 100 || err.code != STORE_DISK_FULL) return 3;
    store_abort(s);
    for (uint64_t i = 0; i < n; i++) {
        struct store_key key = store_key_message(ada, i);
        struct buf out = {0};
        if (store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err) || out.len != sizeof text - 1) return 4;
        buf_free(&out);
    }
    store_close(s);
    return store_check(dir, STORE_JOURNAL, 0, NULL, &err) ? 5 : 0;
}

TEST(a_small_disk_fills_and_what_was_committed_stays)
{
    int rc = in_child(on_a_small_disk, fresh_dir());
    if (rc == 77) SKIP("needs the right to mount");
    CHECK_EQ(rc, 0);
}

/* ---------------------------------------------------------------- forgetting */

#define SECRET "the combination is 4-8-15-16"

static void fill_with_secrets(struct store *s)
{
    struct store_key key;
    for (uint64_t i = 0; i < 300; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s %llu %*s", SECRET, (unsigned long long)i, (int)(i % 250), "");
        store_begin(s, STORE_JOURNAL);
        put_message(s, ada, i, text);
        put_message(s, bob, i, "an open matter");
        OK(store_commit(s, &err));
    }
    store_begin(s, STORE_JOURNAL);
    OK(store_put_artifact(s, ada, 7, SECRET, sizeof SECRET, &err)); /* so short that zstd leaves it readable */
    key = store_key_piece(ada, "summary");
    OK(store_put(s, &key, REC_PIECE, SECRET, sizeof SECRET, &err));
    key = store_key_session(ada);
    OK(store_put(s, &key, REC_SESSION, SECRET, sizeof SECRET, &err));
    OK(store_commit(s, &err));
    store_begin(s, STORE_CACHE);
    key = store_key_cache("index", 5);
    OK(store_put(s, &key, REC_CACHE, SECRET, sizeof SECRET, &err));
    OK(store_commit(s, &err));
}

TEST(a_deleted_session_leaves_nothing_in_the_files)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_stat stat;
    uint64_t n;
    fill_with_secrets(s);
    CHECK(occurrences(dir, SECRET) >= 304);
    int old = open(under(dir, "journal/data.mdb"), O_RDONLY);
    CHECK(old >= 0 && occurrences_in(old, SECRET) >= 303);
    OK(store_delete_session(s, ada, &err));
    CHECK_EQ(occurrences_in(old, SECRET), 0); /* nor in the blocks that the old file gave back */
    close(old);
    CHECK_EQ(occurrences(dir, SECRET), 0);
    CHECK_EQ(occurrences(dir, (const char *)ada), 0);
    check_messages(s, ada, 0, "");
    CHECK_EQ(store_artifact_size(s, ada, 7, &n, &err), STORE_NOT_FOUND);
    OK(store_stat(s, STORE_JOURNAL, &stat, &err));
    CHECK_EQ(stat.messages, 300);
    CHECK_EQ(stat.records, 300);
    commit_message(s, bob, 300, "life goes on");
    store_close(s);
    CHECK_EQ(occurrences(dir, SECRET), 0);
    s = open_at(dir);
    check_message(s, bob, 299, "an open matter");
    check_message(s, bob, 300, "life goes on");
    store_close(s);
}

/* Why the wipe is needed at all: if this one fails, LMDB has learned to wipe, and ours may go. */
TEST(deleting_records_alone_leaves_them_readable_in_the_file)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    fill_with_secrets(s);
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 0; i < 300; i++) {
        struct store_key key = store_key_message(ada, i);
        OK(store_remove(s, &key, &err));
    }
    OK(store_commit(s, &err));
    store_close(s);
    CHECK(occurrences(dir, SECRET) > 10);
}

static int ready[2], go[2];

static int stay_open(const char *dir)
{
    struct store *s;
    char c = 'x';
    if (store_open(&s, dir, NULL, &err)) return 1;
    if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1) return 2;
    store_close(s);
    return 0;
}

TEST(while_another_process_is_there_the_wipe_waits_for_the_next_open)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    int status;
    char c = 'x';
    fill_with_secrets(s);
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(stay_open(dir));
    CHECK_EQ(read(ready[0], &c, 1), 1);
    CHECK_EQ(store_delete_session(s, ada, &err), STORE_BUSY);
    check_err(STORE_BUSY, "wiped when they have ended");
    check_messages(s, ada, 0, "");
    store_close(s);
    CHECK(occurrences(dir, SECRET) > 10);
    CHECK_EQ(write(go[1], &c, 1), 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    s = open_at(dir);
    CHECK_EQ(occurrences(dir, SECRET), 0);
    check_message(s, bob, 7, "an open matter");
    store_close(s);
}

CHECK_MAIN
