/* F20 of other programs: a store that grows because readers keep old pages, or is full.  What a reader holds back is
 * given back when it ends, however it ends; with no slot left for readers writing goes on, and it is said.  (A map that
 * is full: test_store's the_map_grows_..., at_the_limit_of_the_map_... .) */
#include "tests/store_rig.h"
#include <limits.h>
#include <signal.h>

enum { RECORDS = 40, LENGTH = 3000, ROUNDS = 60 };

static const struct store_options small = {.map_start = {256 << 10}};

static struct store *open_small(const char *dir)
{
    struct store *s = NULL;
    OK(store_open(&s, dir, &small, &err));
    return s;
}

/* The same records again and again, each time with other bytes. */
static void rewrite(struct store *s, int rounds)
{
    static char text[LENGTH + 1];
    for (int r = 0; r < rounds; r++) {
        memset(text, 'a' + r % 26, LENGTH);
        store_begin(s, STORE_JOURNAL);
        for (uint64_t i = 0; i < RECORDS; i++) put_message(s, ada, i, text);
        OK(store_commit(s, &err));
    }
}

static uint64_t file_bytes(const char *dir)
{
    struct stat st;
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &st), 0);
    return (uint64_t)st.st_size;
}

/* ---------------------------------------------------------------- readers of another process */

struct readers {
    pid_t pid;
    int in, out; /* a byte from it: it reads; a byte to it: it ends its reading, and says so */
};

/* `most` read transactions at once, or as many as there are slots. */
static void read_on(const char *dir, int most, int in, int out)
{
    enum { SLOTS = 1000 };
    static MDB_txn *txn[SLOTS];
    MDB_env *env;
    char byte = 'r';
    int n = 0;
    for (int fd = 3; fd < 256; fd++)
        if (fd != in && fd != out) close(fd); /* the store's locks would live on in them */
    if (mdb_env_create(&env) || mdb_env_open(env, under(dir, "journal"), MDB_RDONLY | MDB_NOTLS, 0600)) _exit(1);
    while (n < MIN(most, (int)SLOTS) && mdb_txn_begin(env, NULL, MDB_RDONLY, &txn[n]) == 0) n++;
    if (n == 0 || write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) _exit(2);
    while (n > 0) mdb_txn_abort(txn[--n]);
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) _exit(3);
    _exit(0);
}

static void said(const struct readers *r)
{
    char byte;
    CHECK_EQ(read(r->in, &byte, 1), 1);
}

static struct readers start_readers(const char *dir, int most)
{
    int to[2], from[2];
    struct readers r;
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    r.pid = fork();
    CHECK(r.pid >= 0);
    if (r.pid == 0) read_on(dir, most, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    r.in = from[0];
    r.out = to[1];
    said(&r);
    return r;
}

static void stop_reading(const struct readers *r)
{
    CHECK_EQ(write(r->out, "e", 1), 1);
    said(r);
}

static void kill_readers(const struct readers *r)
{
    int status;
    CHECK_EQ(kill(r->pid, SIGKILL), 0);
    CHECK_EQ(waitpid(r->pid, &status, 0), r->pid);
    CHECK(WIFSIGNALED(status));
    close(r->in);
    close(r->out);
}

/* ---------------------------------------------------------------- tests */

/* Without readers a store that says the same again stays as large as it was. */
TEST(store_f20_pages_are_used_again)
{
    const char *dir = fresh_dir();
    struct store *s = open_small(dir);
    rewrite(s, 5);
    uint64_t before = file_bytes(dir);
    rewrite(s, ROUNDS);
    CHECK(file_bytes(dir) < 2 * before);
    store_close(s);
}

TEST(store_f20_a_live_reader_holds_pages_back_as_long_as_it_reads)
{
    const char *dir = fresh_dir();
    struct store *s = open_small(dir);
    rewrite(s, 5);
    uint64_t before = file_bytes(dir);
    struct readers r = start_readers(dir, 1);
    rewrite(s, ROUNDS); /* nothing is lost, the map grows: pages of every round are kept for the one who reads */
    uint64_t held = file_bytes(dir);
    CHECK(held > before + (uint64_t)ROUNDS * RECORDS * LENGTH / 2);
    stop_reading(&r);
    rewrite(s, ROUNDS);
    CHECK(file_bytes(dir) < held + (uint64_t)4 * RECORDS * LENGTH);
    kill_readers(&r);
    store_close(s);
    OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
}

/* It never said that it ended: what it held is found when the map would have to grow. */
TEST(store_f20_a_reader_that_was_killed_holds_nothing_back)
{
    const char *dir = fresh_dir();
    struct store *s = open_small(dir);
    rewrite(s, 5);
    struct store_stat before, after;
    OK(store_stat(s, STORE_JOURNAL, &before, &err));
    struct readers r = start_readers(dir, 1);
    kill_readers(&r);
    rewrite(s, 2 * ROUNDS);
    CHECK(file_bytes(dir) <= 2 * before.map_bytes);
    store_close(s);
    s = open_small(dir);
    OK(store_stat(s, STORE_JOURNAL, &after, &err));
    CHECK_EQ(after.readers, 0);
    store_close(s);
}

TEST(store_f20_with_no_slot_left_for_a_reader_it_is_said_and_writing_goes_on)
{
    const char *dir = fresh_dir();
    struct store_key key = store_key_message(ada, 0);
    struct buf out = {0};
    struct store *s = open_small(dir), *second = NULL;
    commit_message(s, ada, 0, "there");
    struct readers r = start_readers(dir, INT_MAX);
    CHECK_EQ(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err), STORE_BUSY);
    check_err(STORE_BUSY, "too many readers at once; end other processes of plimsoll");
    commit_message(s, ada, 1, "written all the same");
    store_close(s);
    CHECK_EQ(store_open(&second, dir, &small, &err), STORE_BUSY);
    check_err(STORE_BUSY, "too many readers at once");
    stop_reading(&r);
    s = open_small(dir);
    check_messages(s, ada, 0, "a0:there\na1:written all the same\n");
    kill_readers(&r);
    buf_free(&out);
    store_close(s);
}

/* Their slots are taken back by who finds none free. */
TEST(store_f20_slots_of_readers_that_were_killed_are_free)
{
    const char *dir = fresh_dir();
    struct store *s = open_small(dir);
    commit_message(s, ada, 0, "there");
    struct readers r = start_readers(dir, INT_MAX);
    kill_readers(&r);
    check_message(s, ada, 0, "there");
    store_close(s);
}

CHECK_MAIN
