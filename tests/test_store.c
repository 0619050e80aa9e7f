/* test_store.c - the folder, records, growth and limits: what is put and committed is there, in order and for its owner
 * only. */
#include "tests/store_rig.h"

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
    struct stat st;
    CHECK_EQ(stat(dir, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0755);
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

/* Who was the first to open it may be killed after each byte of its mark. */
TEST(a_store_that_was_killed_while_it_was_made_is_made)
{
    static const char whole[] = "plimsoll store 1\n";
    for (size_t n = 0; n < sizeof whole; n++) {
        const char *dir = fresh_dir();
        struct store *s;
        CHECK_EQ(mkdir(dir, 0700), 0);
        FILE *f = fopen(under(dir, "FORMAT"), "w");
        CHECK(f && fwrite(whole, 1, n, f) == n && fclose(f) == 0);
        CHECK_EQ(chmod(under(dir, "FORMAT"), 0600), 0);
        const struct store_options reading = {.read_only = true};
        if (n + 1 < sizeof whole) CHECK_EQ(store_open(&s, dir, &reading, &err), STORE_NOT_FOUND);
        store_close(open_at(dir));
        store_close(open_at(dir));
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

/* Moved it is the store still; removed it is nobody's, even if another has its name. */
TEST(nothing_is_acknowledged_into_a_store_that_was_removed)
{
    char dir[256], moved[280], journal[300];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(moved, sizeof moved, "%s.moved", dir);
    snprintf(journal, sizeof journal, "%s/journal/data.mdb", moved);
    struct store *s = open_at(dir);
    commit_message(s, ada, 0, "hello");
    CHECK_EQ(rename(dir, moved), 0);
    commit_message(s, ada, 1, "moved");
    CHECK_EQ(unlink(journal), 0);
    store_close(open_at(dir));
    store_begin(s, STORE_JOURNAL);
    put_message(s, ada, 2, "lost");
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(store_commit(s, &err), STORE_FAILED);
        check_err(STORE_FAILED, "was removed while it was open");
    }
    store_abort(s);
    check_message(s, ada, 1, "moved");
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

static void put_cached(struct store *s, const char *name, const char *text)
{
    struct store_key key = store_key_cache(name, strlen(name));
    OK(store_put(s, &key, REC_CACHE, text, strlen(text), &err));
}

TEST(a_walk_gives_one_record_at_a_call_and_goes_on_behind_damage)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key bad = store_key_cache("x2", 2);
    struct store_place p = {.part = STORE_CACHE, .key = store_key_cache("x", 1), .same = 2};
    char out[8];
    size_t n;
    store_begin(s, STORE_CACHE);
    put_cached(s, "w", "before");
    put_cached(s, "x1", "one");
    put_cached(s, "x3", "three");
    put_cached(s, "x30", "too long for out");
    put_cached(s, "x4", "");
    put_cached(s, "y", "behind");
    OK(store_commit(s, &err));
    store_close(s);
    plant(dir, "cache", &bad, "no record", 9);
    s = open_at(dir);
    OK(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err));
    CHECK_EQ(n, 3);
    CHECK_MEM(out, "one", 3);
    CHECK_EQ(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err), STORE_DAMAGED);
    CHECK_MEM(p.key.byte, bad.byte, bad.n);
    store_begin(s, STORE_CACHE); /* between two steps the store may be written to */
    put_cached(s, "x25", "new");
    OK(store_commit(s, &err));
    OK(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err));
    CHECK_MEM(out, "new", 3);
    OK(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err));
    CHECK_MEM(out, "three", 5);
    CHECK_EQ(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err), STORE_DAMAGED);
    OK(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err));
    CHECK_EQ(n, 0);
    CHECK_EQ(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err), STORE_NOT_FOUND);
    CHECK_EQ(store_next(s, &p, REC_CACHE, out, sizeof out, &n, &err), STORE_NOT_FOUND);
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

CHECK_MAIN
