/* test_store.c - what is put and committed is there, in order and for its owner only; what is deleted is gone. */
#include "memory/store.h"

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------------------------------------------------------------- helpers */

static struct err err;
static const uint8_t ada[STORE_SESSION_ID] = "ada's session..", bob[STORE_SESSION_ID] = "bob's session..";

#define OK(call)                                                                                        \
    do {                                                                                                \
        int ok_rc = (call);                                                                             \
        if (ok_rc) check_fail(__FILE__, __LINE__, "%s: %d, %s", #call, ok_rc, err.text);                \
    } while (0)

static void check_err(int code, const char *part)
{
    CHECK_EQ(err.code, code);
    if (!strstr(err.text, part)) CHECK_STR(err.text, part);
    CHECK(!strpbrk(err.text, "\n\r\033"));
}

/* A folder that is not there yet. */
static const char *fresh_dir(void)
{
    static char dir[256];
    static int n;
    snprintf(dir, sizeof dir, "%s/store%d", check_tmpdir(), n++);
    return dir;
}

static const char *under(const char *dir, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static struct store *open_at(const char *dir)
{
    struct store *s = NULL;
    OK(store_open(&s, dir, NULL, &err));
    return s;
}

static void put_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    struct store_key key = store_key_message(session, number);
    OK(store_put(s, &key, REC_MESSAGE, text, strlen(text), &err));
}

static void commit_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    store_begin(s, STORE_JOURNAL);
    put_message(s, session, number, text);
    OK(store_commit(s, &err));
}

static void check_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    struct store_key key = store_key_message(session, number);
    struct buf out = {0};
    OK(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err));
    CHECK_STR(out.data, text);
    buf_free(&out);
}

/* Every record that a cursor gave, and every complaint, a line each. */
static bool note_record(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    buf_printf(user, "%c%llu:%.*s\n", session[0], (unsigned long long)number, (int)r->len, (const char *)r->body);
    return true;
}

static bool note_damage(void *user, const char *line)
{
    buf_printf(user, "! %s\n", line);
    return true;
}

static void check_messages(struct store *s, const uint8_t *session, uint64_t from, const char *expected)
{
    struct buf seen = {0};
    const struct store_visit visit = {note_record, note_damage, &seen};
    OK(store_each_message(s, session, from, &visit, &err));
    CHECK_STR(seen.data ? seen.data : "", expected);
    buf_free(&seen);
}

/* Bytes put under a key past the store, as damage would. */
static void plant(const char *dir, const char *part, const struct store_key *key, const void *bytes, size_t n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k = {key->n, (void *)key->byte}, v = {n, (void *)bytes};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_open(env, under(dir, part), 0, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    CHECK_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static int in_child(int (*what)(const char *dir), const char *dir)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(what(dir));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* How many times the text occurs in an open file. */
static int occurrences_in(int fd, const char *text)
{
    struct stat st;
    int n = 0;
    CHECK_EQ(fstat(fd, &st), 0);
    size_t left = (size_t)st.st_size;
    char *bytes = malloc(left + 1);
    CHECK(bytes && pread(fd, bytes, left, 0) == st.st_size);
    for (char *at = bytes, *hit; (hit = memmem(at, left, text, strlen(text))); n++) {
        left -= (size_t)(hit + 1 - at);
        at = hit + 1;
    }
    free(bytes);
    return n;
}

/* How many times the text occurs in the files below dir. */
static int occurrences(const char *dir, const char *text)
{
    struct dirent *e;
    int n = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    while ((e = readdir(d))) {
        char path[1024];
        struct stat st;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        CHECK_EQ(lstat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            n += occurrences(path, text);
            continue;
        }
        int fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        n += occurrences_in(fd, text);
        close(fd);
    }
    closedir(d);
    return n;
}

/* ---------------------------------------------------------------- the folder */

static const char *env_both(const char *name) { return strcmp(name, "HOME") == 0 ? "/home/ada" : "/data"; }
static const char *env_home(const char *name) { return strcmp(name, "HOME") == 0 ? "/home/ada" : NULL; }
static const char *env_bad(const char *name) { return strcmp(name, "HOME") == 0 ? "" : "relative"; }

TEST(the_default_folder_is_where_the_xdg_rules_say)
{
    struct buf out = {0};
    OK(store_default_dir(env_both, &out, &err));
    CHECK_STR(out.data, "/data/plimsoll");
    buf_free(&out);
    OK(store_default_dir(env_home, &out, &err));
    CHECK_STR(out.data, "/home/ada/.local/share/plimsoll");
    buf_free(&out);
    CHECK_EQ(store_default_dir(env_bad, &out, &err), STORE_FAILED);
    check_err(STORE_FAILED, "HOME");
}

static void check_modes(const char *dir)
{
    struct dirent *e;
    struct stat st;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    CHECK_EQ(stat(dir, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0700);
    while ((e = readdir(d))) {
        char path[1024];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        CHECK_EQ(lstat(path, &st), 0);
        if (S_ISDIR(st.st_mode))
            check_modes(path);
        else if ((st.st_mode & 07777) != 0600)
            check_fail(__FILE__, __LINE__, "%s has mode %o", path, st.st_mode & 07777);
    }
    closedir(d);
}

TEST(folders_and_files_are_the_users_alone_whatever_the_umask)
{
    static const mode_t umasks[] = {0, 077, 0277};
    for (size_t i = 0; i < COUNT_OF(umasks); i++) {
        const char *dir = fresh_dir();
        struct store_lock lock;
        mode_t was = umask(umasks[i]);
        struct store *s = NULL;
        int rc = store_open(&s, dir, NULL, &err);
        if (!rc) rc = store_lock_session(s, ada, &lock, &err);
        umask(was);
        CHECK_EQ(rc, 0);
        commit_message(s, ada, 0, "hello");
        check_modes(dir);
        OK(store_delete_session(s, ada, &err));
        check_modes(dir);
        store_unlock_session(&lock);
        store_close(s);
        check_modes(dir);
    }
}

TEST(modes_that_were_loosened_are_tightened)
{
    const char *dir = fresh_dir();
    store_close(open_at(dir));
    CHECK_EQ(chmod(dir, 0755), 0);
    CHECK_EQ(chmod(under(dir, "journal/data.mdb"), 0644), 0);
    store_close(open_at(dir));
    check_modes(dir);
}

TEST(a_folder_with_other_things_in_it_is_refused_and_untouched)
{
    const char *dir = fresh_dir();
    struct store *s;
    CHECK_EQ(mkdir(dir, 0755), 0);
    close(open(under(dir, "letters.txt"), O_CREAT | O_WRONLY, 0644));
    CHECK_EQ(store_open(&s, dir, NULL, &err), STORE_FOREIGN);
    check_err(STORE_FOREIGN, "name another folder");
    CHECK(access(under(dir, "journal"), F_OK) != 0);
}

TEST(another_version_or_format_is_refused)
{
    static const char *const texts[] = {"plimsoll store 2\n", "something else\n", "plimsoll store 1", ""};
    const char *dir = fresh_dir();
    struct store *s;
    store_close(open_at(dir));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        FILE *f = fopen(under(dir, "FORMAT"), "w");
        CHECK(f && fputs(texts[i], f) >= 0 && fclose(f) == 0);
        CHECK_EQ(store_open(&s, dir, NULL, &err), STORE_FOREIGN);
        check_err(STORE_FOREIGN, i == 0 ? "another version" : "");
    }
}

TEST(links_are_not_followed)
{
    static const char *const names[] = {"", "journal", "journal/data.mdb", "cache/lock.mdb", "FORMAT", "users.lock"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char dir[300], real[512], link_path[512];
        struct store *s;
        snprintf(dir, sizeof dir, "%s", fresh_dir());
        store_close(open_at(dir));
        snprintf(real, sizeof real, "%s.real", dir);
        snprintf(link_path, sizeof link_path, "%s%s%s", dir, names[i][0] ? "/" : "", names[i]);
        CHECK_EQ(rename(link_path, real), 0);
        CHECK_EQ(symlink(real, link_path), 0);
        if (store_open(&s, dir, NULL, &err) != STORE_FOREIGN)
            check_fail(__FILE__, __LINE__, "%s: %s", names[i], err.text);
        check_err(STORE_FOREIGN, "symbolic link");
    }
}

TEST(what_another_user_owns_is_refused)
{
    const char *dir = fresh_dir();
    struct store *s;
    if (geteuid() != 0) SKIP("only root can give a file away");
    store_close(open_at(dir));
    CHECK_EQ(chown(under(dir, "journal/data.mdb"), 12345, 12345), 0);
    CHECK_EQ(store_open(&s, dir, NULL, &err), STORE_FOREIGN);
    check_err(STORE_FOREIGN, "12345");
}

static int open_as_nobody(const char *dir)
{
    struct store *s;
    if (setuid(65534)) return 99;
    return -store_open(&s, dir, NULL, &err);
}

TEST(without_permission_the_answer_says_so)
{
    if (geteuid() != 0) SKIP("needs root, to become another user");
    const char *dir = under(fresh_dir(), "inner");
    CHECK_EQ(in_child(open_as_nobody, dir), -STORE_PERMISSION);
}

/* ---------------------------------------------------------------- records */

TEST(what_was_committed_is_there_after_opening_again)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key key = store_key_piece(ada, "summary"), cached = store_key_cache("page", 4);
    struct buf out = {0};
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 0, "first");
    OK(store_put(s, &key, REC_PIECE, "short", 5, &err));
    OK(store_commit(s, &err));
    store_begin(s, STORE_CACHE);
    OK(store_put(s, &cached, REC_CACHE, "numbers", 7, &err));
    OK(store_commit(s, &err));
    store_close(s);

    s = open_at(dir);
    check_message(s, ada, 0, "first");
    OK(store_get(s, STORE_JOURNAL, &key, REC_PIECE, &out, &err));
    CHECK_STR(out.data, "short");
    buf_free(&out);
    OK(store_get(s, STORE_CACHE, &cached, REC_CACHE, &out, &err));
    CHECK_STR(out.data, "numbers");
    buf_free(&out);
    CHECK_EQ(store_get(s, STORE_JOURNAL, &cached, REC_CACHE, &out, &err), STORE_NOT_FOUND);
    store_close(s);
}

TEST(what_was_aborted_or_not_committed_is_not_there)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key key = store_key_message(ada, 0);
    struct buf out = {0};
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 0, "never");
    CHECK_EQ(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err), STORE_NOT_FOUND);
    check_err(STORE_NOT_FOUND, "message 0 of session");
    store_abort(s);
    store_begin(s, STORE_JOURNAL);
    OK(store_commit(s, &err));
    CHECK_EQ(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err), STORE_NOT_FOUND);
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 0, "never");
    store_close(s);
    s = open_at(dir);
    CHECK_EQ(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err), STORE_NOT_FOUND);
    store_close(s);
}

TEST(a_transaction_puts_replaces_and_removes_in_its_order)
{
    struct store *s = open_at(fresh_dir());
    struct store_key key = store_key_message(ada, 0), none = store_key_message(ada, 99);
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 0, "one");
    OK(store_remove(s, &key, &err));
    put_message(s, ada, 0, "two");
    put_message(s, ada, 1, "gone");
    key = store_key_message(ada, 1);
    OK(store_remove(s, &key, &err));
    OK(store_remove(s, &none, &err));
    OK(store_commit(s, &err));
    check_messages(s, ada, 0, "a0:two\n");
    store_close(s);
}

TEST(messages_come_in_their_order_and_of_their_session_only)
{
    struct store *s = open_at(fresh_dir());
    struct store_key key;
    store_begin(s, STORE_JOURNAL);
    put_message(s, bob, 0, "bob's");
    put_message(s, ada, 300, "later");
    put_message(s, ada, 2, "two");
    put_message(s, ada, 256, "middle");
    key = store_key_message(ada, 3);
    OK(store_put(s, &key, REC_EVENT, "event", 5, &err));
    for (int i = 0; i < 2; i++) {
        key = store_key_session(i ? ada : bob);
        OK(store_put(s, &key, REC_SESSION, "titled", 6, &err));
    }
    OK(store_commit(s, &err));
    check_messages(s, ada, 0, "a2:two\na3:event\na256:middle\na300:later\n");
    check_messages(s, ada, 4, "a256:middle\na300:later\n");
    check_messages(s, ada, 301, "");
    check_messages(s, bob, 0, "b0:bob's\n");

    struct buf seen = {0};
    const struct store_visit visit = {note_record, note_damage, &seen};
    OK(store_each_session(s, &visit, &err));
    CHECK_STR(seen.data, "a0:titled\nb0:titled\n");
    buf_free(&seen);
    store_close(s);
}

TEST(a_damaged_record_is_named_and_skipped)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 0; i < 6; i++) put_message(s, ada, i, "fine");
    OK(store_commit(s, &err));
    store_close(s);

    struct buf bad = {0}, moved = {0};
    struct store_key one = store_key_message(ada, 1), three = store_key_message(ada, 3);
    struct store_key four = store_key_message(ada, 4);
    CHECK_EQ(rec_encode(REC_MESSAGE, one.byte, one.n, "evil", 4, &bad), 0);
    CHECK_EQ(rec_encode(REC_MESSAGE, one.byte, one.n, "fine", 4, &moved), 0);
    bad.data[REC_HEADER] ^= 1;
    plant(dir, "journal", &one, bad.data, bad.len);
    plant(dir, "journal", &three, moved.data, moved.len);
    plant(dir, "journal", &four, "\0", 1);
    buf_free(&bad);
    buf_free(&moved);

    s = open_at(dir);
    struct buf seen = {0};
    const struct store_visit visit = {note_record, note_damage, &seen};
    OK(store_each_message(s, ada, 0, &visit, &err));
#define ADA "61646127732073657373696f6e2e2e00"
    CHECK_STR(seen.data, "a0:fine\n"
                         "! message 1 of session " ADA " is damaged: its checksum does not fit\n"
                         "a2:fine\n"
                         "! message 3 of session " ADA " is damaged: its checksum does not fit\n"
                         "! message 4 of session " ADA " is damaged: it is shorter than a header\n"
                         "a5:fine\n");
    buf_free(&seen);
    CHECK_EQ(store_get(s, STORE_JOURNAL, &one, REC_MESSAGE, &seen, &err), STORE_DAMAGED);
    check_err(STORE_DAMAGED, "message 1 of session");
    CHECK_EQ(seen.len, 0);
    store_close(s);
}

TEST(a_record_of_another_kind_is_not_given)
{
    struct store *s = open_at(fresh_dir());
    struct store_key key = store_key_message(ada, 0);
    struct buf out = {0};
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_PIECE, "x", 1, &err));
    OK(store_commit(s, &err));
    CHECK_EQ(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err), STORE_DAMAGED);
    check_err(STORE_DAMAGED, "another kind");
    store_close(s);
}

/* ---------------------------------------------------------------- growth and limits */

TEST(the_map_grows_and_nothing_that_was_put_is_lost)
{
    const char *dir = fresh_dir();
    const struct store_options small = {.map_start = {256 << 10}};
    struct store *s = NULL;
    struct store_stat before, after;
    char *text = malloc(100001);
    CHECK(text != NULL);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    OK(store_open(&s, dir, &small, &err));
    OK(store_stat(s, STORE_JOURNAL, &before, &err));
    for (uint64_t i = 0; i < 40; i += 8) {
        store_begin(s, STORE_JOURNAL);
        for (uint64_t k = i; k < i + 8; k++) {
            text[0] = (char)('A' + k);
            put_message(s, ada, k, text);
        }
        OK(store_commit(s, &err));
    }
    OK(store_stat(s, STORE_JOURNAL, &after, &err));
    CHECK_EQ(before.map_bytes, 256 << 10);
    CHECK(after.map_bytes >= 4000000);
    for (int again = 0; again < 2; again++) {
        for (uint64_t i = 0; i < 40; i++) {
            text[0] = (char)('A' + i);
            check_message(s, ada, i, text);
        }
        store_close(s);
        OK(store_open(&s, dir, &small, &err));
    }
    free(text);
    store_close(s);
}

TEST(at_the_limit_of_the_map_the_answer_is_typed_and_what_is_pending_stays)
{
    const struct store_options o = {.map_start = {128 << 10}, .map_limit = {256 << 10}};
    struct store *s = NULL;
    static char text[90001];
    struct store_key key;
    memset(text, 'y', sizeof text - 1);
    OK(store_open(&s, fresh_dir(), &o, &err));
    commit_message(s, ada, 0, "small");
    commit_message(s, ada, 1, text);
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 2, text);
    put_message(s, ada, 3, text);
    CHECK_EQ(store_commit(s, &err), STORE_MAP_FULL);
    check_err(STORE_MAP_FULL, "limit");
    CHECK_EQ(store_commit(s, &err), STORE_MAP_FULL);
    check_message(s, ada, 0, "small");
    key = store_key_message(ada, 2);
    OK(store_remove(s, &key, &err)); /* room is made in the transaction itself: what was pending is all there */
    key = store_key_message(ada, 1);
    OK(store_remove(s, &key, &err));
    store_abort(s);
    store_begin(s, STORE_JOURNAL);
    OK(store_remove(s, &key, &err));
    OK(store_commit(s, &err));
    check_messages(s, ada, 0, "a0:small\n");
    store_close(s);
}

TEST(what_is_too_big_is_refused_before_it_is_copied)
{
    struct store *s = open_at(fresh_dir());
    struct store_key key = store_key_message(ada, 0);
    store_begin(s, STORE_JOURNAL);
    CHECK_EQ(store_put(s, &key, REC_MESSAGE, "", (size_t)REC_BODY_MAX + 1, &err), STORE_TOO_BIG);
    check_err(STORE_TOO_BIG, "artifact");
    CHECK_EQ(store_put_artifact(s, ada, 1, "", STORE_ARTIFACT_MAX + 1, &err), STORE_TOO_BIG);
    OK(store_commit(s, &err));
    store_close(s);
}

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
