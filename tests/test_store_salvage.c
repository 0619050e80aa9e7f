/* test_store_salvage.c - salvage out of files and places that are hard to read: what is behind is copied too. */
#include "tests/store_rig.h"
#include <sched.h>
#include <sys/mount.h>

static struct buf lines;

static void note_line(void *none, const char *line)
{
    (void)none;
    buf_printf(&lines, "%s\n", line);
}

static const struct store_report report = {.line = note_line};

/* The folder beside it that is salvaged to. */
static const char *beside(const char *dir)
{
    static char to[512];
    snprintf(to, sizeof to, "%s-new", dir);
    return to;
}

static const char *filled_store(void)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key key = store_key_session(ada);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "title", 5, &err));
    for (uint64_t i = 0; i < 3; i++) put_message(s, ada, i, "said");
    OK(store_commit(s, &err));
    store_close(s);
    return dir;
}

/* So many bytes, under a key that may be longer than the store's are. */
static void plant_long(const char *dir, const void *key, size_t key_len, const void *bytes, size_t n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k = {key_len, (void *)(uintptr_t)key}, v = {n, (void *)(uintptr_t)bytes};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_mapsize(env, (size_t)256 << 20), 0);
    CHECK_EQ(mdb_env_open(env, under(dir, "journal"), MDB_NOSYNC, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    CHECK_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

TEST(salvage_passes_over_a_value_that_is_longer_than_any_record)
{
    const size_t n = (size_t)66 << 20;
    const char *dir = filled_store();
    struct store_key key = store_key_message(ada, 1);
    uint64_t records, missing;
    void *zeros = calloc(1, n);
    CHECK(zeros != NULL);
    plant_long(dir, key.byte, key.n, zeros, n);
    free(zeros);
    lines.len = 0;
    OK(store_salvage(dir, beside(dir), 0, &report, &records, &missing, &err));
    CHECK_EQ(records, 3);
    CHECK_EQ(missing, 2); /* it, and the gap in the messages */
    CHECK(strstr(lines.data, "is damaged: it is larger than a record may be"));
    CHECK(strstr(lines.data, "1 messages before message 2"));
    CHECK(!strstr(lines.data, "ended early"));
    struct store *s = open_at(beside(dir));
    check_messages(s, ada, 0, "a0:said\na2:said\n");
    store_close(s);
    buf_free(&lines);
}

TEST(salvage_says_of_a_key_that_is_too_long_that_it_is)
{
    const char *dir = filled_store();
    char key[STORE_KEY_MAX + 1] = "Z";
    struct buf body = {0};
    uint64_t records, missing;
    memset(key + 1, 'z', sizeof key - 1);
    CHECK_EQ(rec_encode(REC_CACHE, key, sizeof key, "whole", 5, &body), 0);
    plant_long(dir, key, sizeof key, body.data, body.len);
    OK(store_salvage(dir, beside(dir), 0, &report, &records, &missing, &err));
    CHECK(records == 4 && missing == 1);
    CHECK(strstr(lines.data, "its key is not as long as the store's are"));
    CHECK(!strstr(lines.data, "nothing is wrong"));
    buf_free(&lines);
    buf_free(&body);
}

/* 77: mounting is not allowed here. */
static int off_a_read_only_file_system(const char *dir)
{
    uint64_t records, missing;
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return 77;
    if (mount(dir, dir, NULL, MS_BIND, NULL)) return 77;
    if (mount("none", dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL)) return 77;
    if (store_salvage(dir, beside(dir), 0, &report, &records, &missing, &err)) return 1;
    return records == 4 && missing == 0 ? 0 : 2;
}

TEST(salvage_reads_what_cannot_be_written_to)
{
    for (int locked = 1; locked >= 0; locked--) { /* the lock's file may not be there either */
        const char *dir = filled_store();
        if (!locked) CHECK_EQ(unlink(under(dir, "users.lock")), 0);
        int rc = in_child(off_a_read_only_file_system, dir);
        if (rc == 77) SKIP("needs the right to mount");
        CHECK_EQ(rc, 0);
        struct store *s = open_at(beside(dir));
        check_messages(s, ada, 0, "a0:said\na1:said\na2:said\n");
        store_close(s);
    }
}

CHECK_MAIN
