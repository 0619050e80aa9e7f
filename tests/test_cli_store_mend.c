/* test_cli_store_mend.c - `plimsoll store salvage` and `compact`: what they make, and what they leave alone. */
#include "tests/cli_store_rig.h"
#include "memory/journal.h"
#include <sched.h>
#include <sys/mount.h>

/* ---------------------------------------------------------------- salvage */

TEST(cli_store_salvage_of_a_clean_store_is_whole)
{
    char dir[256], to[256], with_slash[300];
    struct store_key key = store_key_session(bob);
    snprintf(dir, sizeof dir, "%s", a_store());
    struct store *s = open_at(dir);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "found", 5, &err));
    OK(store_commit(s, &err));
    store_close(s);
    snprintf(to, sizeof to, "%s", fresh_dir());
    snprintf(with_slash, sizeof with_slash, "%s//", to);
    CHECK_EQ(mkdir(to, 0755), 0); /* an empty folder is as good as none */
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", with_slash), 0);
    check_has(said(), "24 records copied to ");
    check_has(said(), "; nothing is missing\nnext: look at it with plimsoll store stat --store ");
    CHECK_STR(complained(), "");
    CHECK_EQ(STORE("check", "--store", to), 0);
    CHECK_EQ(STORE("dump", "--artifacts", "--store", dir), 0);
    struct buf before = c.out_text;
    c.out_text = (struct buf){0};
    CHECK_EQ(STORE("dump", "--artifacts", "--store", to), 0);
    CHECK_STR(said(), before.data);
    buf_free(&before);
    struct stat st;
    CHECK_EQ(stat(to, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0700);
}

TEST(cli_store_salvage_lists_what_is_missing_and_leaves_the_old_one)
{
    char dir[256], to[256];
    snprintf(dir, sizeof dir, "%s", a_store());
    snprintf(to, sizeof to, "%s", fresh_dir());
    plant_damaged_message(dir);
    struct buf was = contents(under(dir, "journal/data.mdb"));
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 0);
    CHECK(strncmp(said(), "missing or damaged:\n  message 1 of session 6164", 47) == 0);
    check_has(said(), "  1 messages before message 2 of session 6164");
    check_has(said(), "  the session of message 0 of session 626f");
    check_has(said(), "22 records copied to ");
    struct buf is = contents(under(dir, "journal/data.mdb"));
    CHECK(is.len == was.len && memcmp(is.data, was.data, is.len) == 0);
    CHECK_EQ(STORE("check", "--store", to), 0);
    buf_free(&was);
    buf_free(&is);
}

TEST(cli_store_salvage_writes_over_nothing)
{
    char dir[256], to[256], partial[300];
    snprintf(dir, sizeof dir, "%s", a_store());
    snprintf(to, sizeof to, "%s", fresh_dir());
    snprintf(partial, sizeof partial, "%s.partial", to);
    CHECK_EQ(mkdir(to, 0755), 0);
    CHECK_EQ(mkdir(under(to, "photos"), 0755), 0);
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 2);
    check_complaint("is not empty; name a folder that is not there yet");
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", dir), 2);
    check_complaint("is not empty");
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", under(dir, "FORMAT")), 2);
    check_complaint("Not a directory");
    CHECK_EQ(rmdir(under(to, "photos")), 0);
    CHECK_EQ(mkdir(partial, 0755), 0);
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 2);
    check_complaint("is left over from a salvage that did not end; remove it first");
    CHECK_EQ(rmdir(partial), 0);
    CHECK_EQ(rmdir(to), 0);
    CHECK_EQ(STORE("check", "--store", dir), 0);
}

TEST(cli_store_salvage_that_fails_leaves_nothing)
{
    char dir[256], to[256], partial[300], pid[60];
    snprintf(dir, sizeof dir, "%s", a_store());
    snprintf(to, sizeof to, "%s", fresh_dir());
    snprintf(partial, sizeof partial, "%s.partial", to);
    pid_t other = stays_open(dir);
    snprintf(pid, sizeof pid, "open in process %ld; end it first", (long)other);
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 1);
    check_complaint(pid);
    goes(other);
    CHECK(access(to, F_OK) != 0 && access(partial, F_OK) != 0);
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", "/proc/self/nothing"), 1);
    check_complaint("/proc/self/nothing.partial");
}

/* A salvage of many records, stopped on its way: the new store is begun and not yet closed. */
TEST(cli_store_salvage_that_is_interrupted_leaves_nothing)
{
    char dir[256], to[256], partial[300];
    struct stat st;
    const char *const args[] = {"store", "salvage", "--store", dir, "--to", to, NULL};
    static char text[5000];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(to, sizeof to, "%s", fresh_dir());
    snprintf(partial, sizeof partial, "%s.partial", to);
    memset(text, 'x', sizeof text - 1);
    struct store *s = open_at(dir);
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 0; i < 6000; i++) put_message(s, ada, i, text);
    OK(store_commit(s, &err));
    store_close(s);
    child_free(&c);
    child_start(&c, args);
    while (access(under(partial, "FORMAT"), F_OK) && access(to, F_OK)) usleep(200);
    CHECK_EQ(kill(c.pid, SIGSTOP), 0);
    CHECK_EQ(waitpid(c.pid, NULL, WUNTRACED), c.pid);
    bool in_time = stat(under(partial, "FORMAT"), &st) == 0 && access(under(partial, "clean"), F_OK) != 0;
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    CHECK_EQ(kill(c.pid, SIGCONT), 0);
    int status = child_end(&c);
    if (!in_time) SKIP("the salvage was over before it could be stopped");
    CHECK_EQ(status, 130);
    check_complaint("interrupted");
    CHECK_STR(said(), "");
    CHECK(access(to, F_OK) != 0 && access(partial, F_OK) != 0);
    CHECK_EQ(STORE("check", "--store", dir), 0);
}

/* ---------------------------------------------------------------- compact */

TEST(cli_store_compact_gives_the_room_back)
{
    const char *dir = a_store();
    static char text[5000];
    struct stat before, after;
    struct store *s = open_at(dir);
    memset(text, 'x', sizeof text - 1);
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 10; i < 300; i++) put_message(s, bob, i, text);
    OK(store_commit(s, &err));
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 10; i < 300; i++) {
        struct store_key key = store_key_message(bob, i);
        OK(store_remove(s, &key, &err));
    }
    OK(store_commit(s, &err));
    store_close(s);
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &before), 0);
    CHECK_EQ(STORE("compact", "--store", dir), 0);
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &after), 0);
    CHECK(before.st_size > 2000000 && after.st_size < 600000);
    check_has(said(), "journal ");
    check_has(said(), " MiB -> ");
    check_has(said(), " (emptied: what was in it is made again)\n");
    CHECK_STR(complained(), "");
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    check_has(said(), "\n61646127                                    3 ");
    check_has(said(), "\ncache    empty\n");
    CHECK_EQ(STORE("check", "--store", dir), 0);
}

TEST(cli_store_compact_is_refused_while_others_have_it_open)
{
    const char *dir = a_store();
    char pids[2][60];
    pid_t one = stays_open(dir), two;
    struct buf was = contents(under(dir, "cache/data.mdb"));
    snprintf(pids[0], sizeof pids[0], "open in process %ld; end it first", (long)one);
    CHECK_EQ(STORE("compact", "--store", dir), 1);
    check_complaint(pids[0]);
    CHECK_STR(said(), "");
    two = stays_open(dir);
    CHECK_EQ(STORE("compact", "--store", dir), 1);
    check_complaint("open in processes ");
    snprintf(pids[0], sizeof pids[0], " %ld, %ld; end them first", (long)one, (long)two);
    snprintf(pids[1], sizeof pids[1], " %ld, %ld; end them first", (long)two, (long)one);
    CHECK(strstr(complained(), pids[0]) || strstr(complained(), pids[1]));
    goes(one);
    goes(two);
    struct buf is = contents(under(dir, "cache/data.mdb"));
    CHECK(is.len == was.len && memcmp(is.data, was.data, is.len) == 0);
    CHECK_EQ(STORE("compact", "--store", dir), 0);
    buf_free(&was);
    buf_free(&is);
}

/* ---------------------------------------------------------------- sessions without a head */

/* Ada has lost hers, bob is half of an import. */
static void without_heads(const char *dir)
{
    struct store *s = open_at(dir);
    const uint8_t *const id[] = {ada, bob};
    for (int i = 0; i < 2; i++) {
        const struct journal_message m = {.kind = JOURNAL_USER, .turn = 1, .text = "hello", .len = 5};
        struct journal_batch b = {0};
        memcpy(b.session, id[i], sizeof b.session);
        journal_add(&b, 1, &m);
        if (id[i] == bob) journal_add_piece(&b, "unfinished", "", 0);
        OK(journal_write(s, &b, NULL, &err));
        journal_batch_free(&b);
    }
    store_close(s);
}

#define LOST "  session 61646127732073657373696f6e2e2e00 has lost its head: "
#define HALF "  session 626f6227732073657373696f6e2e2e00 is half of a copy or an import that did not end, 1 message: "

TEST(cli_store_names_sessions_without_a_head_and_compact_mends_them)
{
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    without_heads(dir);
    CHECK_EQ(STORE("check", "--store", dir), 0);
    check_has(said(), "\n" LOST "compact makes it anew from 1 message, 1 turn\n" HALF "compact removes it\n");
    pid_t other = stays_open(dir);
    CHECK_EQ(STORE("compact", "--store", dir), 1); /* it may be the one that imports */
    goes(other);
    CHECK_EQ(STORE("compact", "--store", dir), 0);
    check_has(said(), LOST "made anew from 1 message, 1 turn\n" HALF "removed\njournal ");
    CHECK_EQ(STORE("check", "--store", dir), 0);
    CHECK_STR(said(), "journal  clean\ncache    clean\n");
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    check_has(said(), "\n1 session\n");
    struct buf file = contents(under(dir, "journal/data.mdb"));
    CHECK(memmem(file.data, file.len, "bob's session", 13) == NULL);
    buf_free(&file);
}

TEST(cli_store_salvage_mends_them_in_the_new_store_alone)
{
    char dir[256], to[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(to, sizeof to, "%s", fresh_dir());
    without_heads(dir);
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 0);
    check_has(said(), "without a head:\n" LOST "made anew from 1 message, 1 turn\n" HALF "removed\n");
    CHECK_EQ(STORE("check", "--store", to), 0);
    CHECK_STR(said(), "journal  clean\ncache    clean\n");
    CHECK_EQ(STORE("check", "--store", dir), 0);
    check_has(said(), HALF "compact removes it\n");
}

/* 77: mounting is not allowed here. */
static int where_nothing_may_be_written(const char *dir)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return 77;
    if (mount(dir, dir, NULL, MS_BIND, NULL)) return 77;
    if (mount("none", dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL)) return 77;
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    check_has(said(), "\n2 sessions\n");
    CHECK_EQ(STORE("check", "--store", dir), 0);
    CHECK_EQ(STORE("dump", "--store", dir), 0);
    check_has(said(), "\"hello\"");
    CHECK_EQ(STORE("compact", "--store", dir), 1);
    check_complaint("read-only");
    return 0;
}

TEST(cli_store_on_a_read_only_file_system_what_only_reads_works)
{
    int rc = in_child(where_nothing_may_be_written, a_store());
    if (rc == 77) SKIP("needs the right to mount");
    CHECK_EQ(rc, 0);
}

CHECK_MAIN
