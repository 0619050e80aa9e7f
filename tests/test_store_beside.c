/* test_store_beside.c - who reads the files while another wipes them, and who opens them while another checks. */
#include "memory/store_impl.h"
#include "tests/store_rig.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

static uint64_t messages(struct store *s)
{
    struct store_stat stat;
    OK(store_stat(s, STORE_JOURNAL, &stat, &err));
    return stat.messages;
}

/* ---------------------------------------------------------------- who waits for whom */

static struct {
    int lock;       /* another's hold on users.lock */
    short becomes;  /* what it is once somebody waits for it */
    int waits;
    bool open;      /* somebody who waits has files of LMDB's open already */
} other;

static bool has_open(const char *name)
{
    bool found = false;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        found |= strstr(path, name) != NULL;
    }
    if (d) closedir(d);
    return found;
}

static int hold(int fd, short how, bool alone)
{
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET, .l_len = alone ? 0 : 1};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* The library's wait for who is alone. */
int usleep(useconds_t us)
{
    (void)us;
    other.waits++;
    other.open |= has_open("/data.mdb");
    return hold(other.lock, other.becomes, true);
}

/* Another one has the folder for himself, until somebody waits for him. */
static void another_is_alone(const char *dir, short becomes)
{
    other.waits = 0;
    other.open = false;
    other.becomes = becomes;
    other.lock = open(under(dir, "users.lock"), O_RDWR);
    CHECK(other.lock >= 0 && hold(other.lock, F_WRLCK, true) == 0);
}

static void another_reads(const char *dir)
{
    other.lock = open(under(dir, "users.lock"), O_RDWR);
    CHECK(other.lock >= 0 && hold(other.lock, F_RDLCK, false) == 0);
}

/* One that was not closed, as after a crash; or one whose tree is damaged too. */
static const char *unclean_store(bool damaged)
{
    static const char wild[4096];
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    for (uint64_t i = 0; i < 40; i++) commit_message(s, ada, i, "said");
    store_close(s);
    CHECK_EQ(unlink(under(dir, "clean")), 0);
    int fd = open(under(dir, "journal/data.mdb"), O_RDWR);
    char page[4096];
    for (off_t at = 2 * 4096; damaged && pread(fd, page, sizeof page, at) > 0; at += 4096)
        if (memmem(page, sizeof page, "said", 4)) CHECK_EQ(pwrite(fd, wild, sizeof wild, at), sizeof wild);
    close(fd);
    return dir;
}

TEST(who_comes_while_another_checks_looks_when_that_one_has_gone)
{
    const char *dir = unclean_store(true);
    struct store *s = NULL;
    another_is_alone(dir, F_UNLCK);
    CHECK_EQ(store_open(&s, dir, NULL, &err), STORE_DAMAGED);
    check_err(STORE_DAMAGED, "the journal is damaged");
    CHECK_EQ(other.waits, 1);
    CHECK(access(under(dir, "clean"), F_OK) != 0);
    close(other.lock);
}

TEST(who_comes_while_another_checks_goes_on_beside_one_who_found_it_good)
{
    const char *dir = unclean_store(true); /* whoever looked would see that it is not */
    struct store *s = NULL;
    another_is_alone(dir, F_RDLCK);
    OK(store_open(&s, dir, NULL, &err));
    CHECK_EQ(other.waits, 1);
    store_close(s);
    close(other.lock);
}

TEST(a_writer_beside_one_who_only_reads_looks_for_himself)
{
    const char *dir = unclean_store(true);
    struct store *s = NULL;
    another_reads(dir);
    CHECK_EQ(store_open(&s, dir, NULL, &err), STORE_DAMAGED);
    close(other.lock);
    dir = unclean_store(false);
    another_reads(dir);
    OK(store_open(&s, dir, NULL, &err));
    CHECK_EQ(store_wipe(s, &err), STORE_BUSY);
    commit_message(s, ada, 40, "said");
    close(other.lock);
    OK(store_wipe(s, &err));
    check_message(s, ada, 40, "said");
    store_close(s);
}

TEST(who_reads_or_checks_waits_for_a_wipe_before_a_file_is_opened)
{
    const struct store_options o = {.read_only = true};
    const char *dir = unclean_store(false);
    struct store *s = NULL;
    another_is_alone(dir, F_UNLCK);
    OK(store_open(&s, dir, &o, &err));
    CHECK(other.waits == 1 && !other.open);
    close(other.lock);
    check_message(s, ada, 39, "said");
    store_close(s);
    another_is_alone(dir, F_UNLCK);
    OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
    CHECK_EQ(other.waits, 1);
    close(other.lock);
    CHECK_EQ(unlink(under(dir, "users.lock")), 0); /* of a store that was copied: none can wipe it that has none */
    OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
    OK(store_open(&s, dir, &o, &err));
    store_close(s);
}

/* ---------------------------------------------------------------- a session is deleted meanwhile */

static int delete_ada(const char *dir)
{
    struct store *s;
    if (store_open(&s, dir, NULL, &err)) return 1;
    int rc = store_delete_session(s, ada, &err);
    store_close(s);
    return rc == STORE_BUSY ? 0 : 2;
}

struct meanwhile {
    const char *dir;
    int rounds, rc;
};

static void on_check(void *self, enum store_part part, uint64_t done, uint64_t all)
{
    struct meanwhile *m = self;
    (void)part, (void)done, (void)all;
    if (m->rounds++ == 0) m->rc = in_child(delete_ada, m->dir);
}

static void check_deleted_later(const struct meanwhile *m)
{
    CHECK(m->rounds > 0);
    CHECK_EQ(m->rc, 0);
    CHECK(occurrences(m->dir, "said") > 0);
    struct store *s = open_at(m->dir); /* alone, and so the wipe is done */
    CHECK_EQ(messages(s), 0);
    store_close(s);
    CHECK_EQ(occurrences(m->dir, "said"), 0);
}

TEST(what_is_deleted_while_another_checks_or_reads_is_wiped_later)
{
    struct meanwhile m = {.dir = unclean_store(false)};
    const struct store_report report = {.checking = on_check, .self = &m};
    struct store *s = NULL;
    OK(store_check(m.dir, STORE_JOURNAL, 0, &report, &err));
    check_deleted_later(&m);
    m = (struct meanwhile){.dir = unclean_store(false)};
    const struct store_options o = {.read_only = true, .checking = on_check, .self = &m};
    OK(store_open(&s, m.dir, &o, &err));
    CHECK_EQ(messages(s), 0);
    store_close(s);
    check_deleted_later(&m);
}

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

/* ---------------------------------------------------------------- a map that grows beneath a reader */

static const char *grown; /* by another process, once one that has the file open is about to read it */
static pid_t tester;

static int grow(const char *dir)
{
    enum { BYTES = 8 << 20 };
    struct store *s;
    char *text = calloc(1, BYTES);
    if (!text || store_open(&s, dir, NULL, &err)) return 1;
    for (uint64_t i = 0; i < 3; i++) {
        struct store_key key = store_key_message(bob, i);
        store_begin(s, STORE_JOURNAL);
        if (store_put(s, &key, REC_MESSAGE, text, BYTES, &err) || store_commit(s, &err)) return 2;
    }
    store_close(s);
    free(text);
    return 0;
}

/* LMDB's own behind it. */
int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*real)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    void *found = dlsym(RTLD_NEXT, "mdb_txn_begin");
    const char *dir = getpid() != tester ? grown : NULL;
    memcpy(&real, &found, sizeof real);
    grown = dir ? NULL : grown;
    if (dir && in_child(grow, dir)) return ENOMEM;
    return real(env, parent, flags, txn);
}

TEST(a_map_that_another_process_grew_is_no_damage)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    commit_message(s, ada, 0, "said");
    store_close(s);
    tester = getpid();
    grown = dir;
    OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
    grown = NULL;
    s = open_at(dir);
    CHECK_EQ(messages(s), 4);
    store_close(s);
}

CHECK_MAIN
