/* test_store_beside.c - who reads the files while another wipes them, and who opens them while another checks. */
#include "memory/store_impl.h"
#include "tests/store_rig.h"
#include <signal.h>

/* ---------------------------------------------------------------- a file written anew beneath a reader */

/* Another process that has LMDB's files open and takes no lock of the store's, until it is killed. */
static pid_t a_reader(const char *dir)
{
    int ready[2];
    char byte = 'x';
    CHECK_EQ(pipe(ready), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        MDB_env *env;
        MDB_txn *txn;
        if (mdb_env_create(&env) || mdb_env_open(env, under(dir, "journal"), MDB_RDONLY, 0600)) _exit(1);
        if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) || write(ready[1], &byte, 1) != 1) _exit(2);
        for (;;) pause();
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void goes(pid_t pid)
{
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static uint64_t messages(struct store *s)
{
    struct store_stat stat;
    OK(store_stat(s, STORE_JOURNAL, &stat, &err));
    return stat.messages;
}

TEST(a_wipe_beneath_a_reader_loses_nothing)
{
    for (uint64_t n = 8; n < 10; n++) { /* the last transaction is in the one meta page, or in the other */
        const char *dir = fresh_dir();
        struct store *s = open_at(dir);
        struct stat st;
        for (uint64_t i = 0; i < n; i++) commit_message(s, ada, i, "said");
        pid_t reader = a_reader(dir);
        mode_t before = umask(0);
        OK(store_wipe(s, &err));
        umask(before);
        CHECK_EQ(messages(s), n);
        commit_message(s, ada, n, "said");
        CHECK_EQ(messages(s), n + 1);
        store_close(s);
        goes(reader);
        s = open_at(dir);
        CHECK_EQ(messages(s), n + 1);
        store_close(s);
        OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
        CHECK_EQ(stat(under(dir, "journal/lock.mdb"), &st), 0);
        CHECK_EQ(st.st_mode & 07777, 0600);
    }
}

CHECK_MAIN
