/* test_store_damage.c - files cut short or with bits flipped: the program lives, no record is wrong, and what can be
 * read is salvaged.
 *
 * The sweep's damage is drawn from a fixed seed; its store has sessions, messages of many sizes, artifacts, replaced
 * and removed records, so that all kinds of pages are hit. */
#include "tests/store_rig.h"
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SWEEP = CHECK_SANITIZED ? 150 : 300, MESSAGES = 120, ARTIFACT = 60000 };


static uint64_t seed = 20240611;

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- a store whose every byte can be told */

/* The one text that message `number` of a session has. */
static void text_of(const uint8_t *session, uint64_t number, struct buf *out)
{
    size_t n = number % 40 == 7 ? 9000 + number : 20 + number * 13 % 700;
    out->len = 0;
    buf_printf(out, "%.3s %llu:", (const char *)session, (unsigned long long)number);
    while (out->len < n) buf_printf(out, " %llu", (unsigned long long)(out->len * 31 + number));
}

static void artifact_bytes(uint64_t id, struct buf *out)
{
    for (uint64_t i = 0; out->len < ARTIFACT; i++) buf_printf(out, "%llx,", (unsigned long long)(i * i * (id + 77)));
    out->len = ARTIFACT;
}

static void fill(const char *dir)
{
    struct store *s = NULL;
    struct buf text = {0};
    struct store_key key;
    OK(store_open(&s, dir, NULL, &err));
    for (int k = 0; k < 2; k++) {
        const uint8_t *session = k ? bob : ada;
        key = store_key_session(session);
        store_begin(s, STORE_JOURNAL);
        OK(store_put(s, &key, REC_SESSION, "title", 5, &err));
        for (uint64_t i = 0; i < MESSAGES; i++) {
            key = store_key_message(session, i);
            OK(store_put(s, &key, REC_MESSAGE, "a draft that is replaced", 24, &err));
            key = store_key_message(session, 1000 + i);
            OK(store_put(s, &key, REC_MESSAGE, "removed again", 13, &err));
        }
        OK(store_commit(s, &err));
        for (uint64_t i = 0; i < MESSAGES; i++) {
            if (i % 10 == 0) store_begin(s, STORE_JOURNAL);
            text_of(session, i, &text);
            key = store_key_message(session, i);
            OK(store_put(s, &key, REC_MESSAGE, text.data, text.len, &err));
            key = store_key_message(session, 1000 + i);
            OK(store_remove(s, &key, &err));
            if (i % 10 == 9) OK(store_commit(s, &err));
        }
    }
    for (uint64_t id = 0; id < 2; id++) {
        text.len = 0;
        artifact_bytes(id, &text);
        store_begin(s, STORE_JOURNAL);
        OK(store_put_artifact(s, ada, id, text.data, text.len, &err));
        OK(store_commit(s, &err));
    }
    buf_free(&text);
    store_close(s);
}

/* ---------------------------------------------------------------- files */

static struct buf read_file(const char *path)
{
    struct buf out = {0};
    char part[1 << 16];
    ssize_t n;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    while ((n = read(fd, part, sizeof part)) > 0) buf_put(&out, part, (size_t)n);
    CHECK(n == 0 && !out.failed);
    close(fd);
    return out;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static void path_in(char path[512], const char *dir, const char *name) { snprintf(path, 512, "%s/%s", dir, name); }

static void remove_store(const char *dir)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    CHECK_EQ(system(command), 0);
}

/* ---------------------------------------------------------------- the sweep */

struct seen {
    const uint8_t *session;
    uint64_t records, wrong;
    struct buf text;
};

static bool is_right(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    struct seen *seen = user;
    text_of(session, number, &seen->text);
    seen->records++;
    if (r->kind != REC_MESSAGE || r->len != seen->text.len || memcmp(r->body, seen->text.data, r->len) != 0)
        seen->wrong++;
    return true;
}

/* Everything read, compared with what it must be; nothing may be wrong, anything may be missing (all: it may not). */
static uint64_t check_contents(struct store *s, bool all)
{
    struct seen seen = {0};
    struct buf out = {0}, expected = {0};
    const struct store_visit visit = {is_right, NULL, &seen};
    for (int k = 0; k < 2; k++)
        if (store_each_message(s, k ? bob : ada, 0, &visit, &err) && all)
            check_fail(__FILE__, __LINE__, "%s", err.text);
    for (uint64_t id = 0; id < 2; id++) {
        out.len = expected.len = 0;
        artifact_bytes(id, &expected);
        if (store_read_artifact(s, ada, id, 0, SIZE_MAX, &out, &err) == 0) {
            CHECK_EQ(out.len, expected.len);
            CHECK_MEM(out.data, expected.data, out.len);
        } else {
            CHECK(!all);
        }
    }
    CHECK_EQ(seen.wrong, 0);
    if (all) CHECK_EQ(seen.records, 2 * MESSAGES);
    buf_free(&seen.text);
    buf_free(&out);
    buf_free(&expected);
    return seen.records;
}

/* Half of the flips in the first pages, where they do the most. */
static void damage(struct buf *file, int i)
{
    if (i % 3 == 0) {
        file->len = (size_t)draw(file->len);
        return;
    }
    uint64_t flips = 1 + draw(i % 3 == 1 ? 1 : 40), within = i % 2 ? MIN(file->len, 3 * 4096) : file->len;
    for (uint64_t f = 0; f < flips; f++) file->data[draw(within)] ^= (char)(1 << draw(8));
}

/* Uses a store whose file may be damaged as a program would: reads all, writes, deletes.  1: it was refused. */
static int use(const char *dir)
{
    struct store *s = NULL;
    struct store_key key = store_key_message(bob, 5000);
    int rc = store_open(&s, dir, NULL, &err);
    if (rc) {
        CHECK_EQ(rc, STORE_DAMAGED);
        CHECK(strstr(err.text, "store salvage") && !strpbrk(err.text, "\n\033"));
        return 1;
    }
    check_contents(s, false);
    for (int i = 0; i < 4; i++) { /* pages that were free, and those freed here, are used */
        store_begin(s, STORE_JOURNAL);
        for (uint64_t k = 0; k < 20; k++) {
            key = store_key_message(bob, 5000 + k);
            if (i % 2) OK(store_remove(s, &key, &err));
            else OK(store_put(s, &key, REC_EVENT, "after the damage", 16, &err));
        }
        OK(store_commit(s, &err));
    }
    check_contents(s, false);
    store_close(s);
    return 0;
}

TEST(three_hundred_damaged_files_neither_kill_the_program_nor_give_a_wrong_record)
{
    char dir[256], path[512];
    int refused = 0, opened = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "journal/data.mdb");
    fill(dir);
    struct buf whole = read_file(path);
    CHECK_EQ(use(dir), 0);
    for (int i = 0; i < SWEEP; i++) {
        struct buf file = {0};
        struct stat before, after;
        buf_put(&file, whole.data, whole.len);
        damage(&file, i);
        write_file(path, file.data, file.len);
        CHECK_EQ(stat(path, &before), 0);
        if (use(dir)) {
            struct buf now = read_file(path);
            CHECK_EQ(stat(path, &after), 0);
            CHECK(now.len == file.len && memcmp(now.data, file.data, MIN(now.len, file.len)) == 0);
            CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
            buf_free(&now);
            refused++;
        } else {
            opened++;
        }
        buf_free(&file);
    }
    printf("%d refused, %d opened\n", refused, opened);
    CHECK(refused > SWEEP / 3 && opened > 0); /* the sweep meets both */
    buf_free(&whole);
    remove_store(dir);
}

/* ---------------------------------------------------------------- the check */

static void collect(void *user, const char *line) { buf_printf(user, "%s\n", line); }

static int check_journal(const char *dir, struct buf *lines)
{
    const struct store_report report = {.line = collect, .user = lines};
    lines->len = 0;
    buf_puts(lines, "");
    if (lines->data) lines->data[0] = '\0';
    return store_check(dir, STORE_JOURNAL, 0, &report, &err);
}

TEST(a_clean_store_checks_clean)
{
    struct buf lines = {0};
    struct store *s = NULL;
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    CHECK_EQ(check_journal(dir, &lines), STORE_NOT_FOUND);
    fill(dir);
    OK(check_journal(dir, &lines));
    CHECK_EQ(lines.len, 0);
    OK(store_open(&s, dir, NULL, &err));
    check_contents(s, true);
    store_close(s);
    OK(store_check(dir, STORE_CACHE, 0, NULL, &err));
    buf_free(&lines);
    remove_store(dir);
}

/* The checks of another process while this one writes, deletes and grows the map: every page changes its use. */
TEST(a_store_in_use_checks_clean_all_the_while)
{
    const struct store_options small = {.map_start = {256 << 10}};
    struct store *s = NULL;
    static char text[12000];
    int status = -1;
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    memset(text, 't', sizeof text);
    OK(store_open(&s, dir, &small, &err));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < 60; i++)
            if (store_check(dir, STORE_JOURNAL, 0, NULL, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        _exit(0);
    }
    for (int i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
        store_begin(s, STORE_JOURNAL);
        for (int k = 0; k < 12; k++) {
            struct store_key key = store_key_message(ada, draw(60));
            if (draw(3)) OK(store_put(s, &key, REC_MESSAGE, text, draw(draw(2) ? 300 : sizeof text), &err));
            else OK(store_remove(s, &key, &err));
        }
        OK(store_commit(s, &err));
    }
    CHECK_EQ(status, 0);
    store_close(s);
    OK(store_check(dir, STORE_JOURNAL, 0, NULL, &err));
    remove_store(dir);
}

/* Flips that LMDB opens without a word, each at its place in the file. */
TEST(damage_that_lmdb_does_not_see_is_named)
{
    static const struct { const char *what; size_t at; } flip[] = {
        {"last page", 16 + 120}, {"entries", 16 + 72 + 32}, {"depth", 16 + 72 + 6}, {"flags", 16 + 72 + 4},
        {"root", 16 + 72 + 40}, {"leaves", 16 + 72 + 16}, {"free root", 16 + 24 + 40}};
    struct buf lines = {0};
    char dir[256], path[512];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "journal/data.mdb");
    fill(dir);
    struct buf whole = read_file(path);
    size_t newest = get_le((uint8_t *)whole.data + 4096 + 16 + 128, 8) > get_le((uint8_t *)whole.data + 16 + 128, 8);
    for (size_t i = 0; i < COUNT_OF(flip); i++) {
        char *at = whole.data + 4096 * newest + flip[i].at;
        *at ^= 1;
        write_file(path, whole.data, whole.len);
        *at ^= 1;
        if (check_journal(dir, &lines) != STORE_DAMAGED) check_fail(__FILE__, __LINE__, "%s is believed", flip[i].what);
        CHECK(lines.len > 0);
    }
    for (size_t bit = 0; bit < 64; bit++) { /* an older transaction must not pass for the newest */
        char *at = whole.data + 4096 * newest + 16 + 128 + bit / 8;
        *at ^= (char)(1 << bit % 8);
        write_file(path, whole.data, whole.len);
        *at ^= (char)(1 << bit % 8);
        CHECK_EQ(check_journal(dir, &lines), STORE_DAMAGED);
    }
    buf_free(&whole);
    buf_free(&lines);
    remove_store(dir);
}

/* LMDB would free the page that a wrong number names, at the next write, under who uses it. */
TEST(a_page_with_anothers_number_is_named)
{
    struct store *s = NULL;
    struct store_stat figures;
    char dir[256], path[512];
    int named = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "journal/data.mdb");
    fill(dir);
    OK(store_open(&s, dir, NULL, &err));
    OK(store_stat(s, STORE_JOURNAL, &figures, &err));
    store_close(s);
    struct buf whole = read_file(path);
    for (size_t page = 2; page < whole.len / 4096; page++) {
        whole.data[4096 * page] ^= 1;
        write_file(path, whole.data, whole.len);
        whole.data[4096 * page] ^= 1;
        named += store_check(dir, STORE_JOURNAL, 0, NULL, &err) == STORE_DAMAGED;
    }
    /* Every page in use but the meta pages; what has no number is the middle of a long record, and that is damaged. */
    CHECK(named >= (int)(figures.used_bytes / 4096) - 2);
    buf_free(&whole);
    remove_store(dir);
}

static void as_lmdb(const char *dir, MDB_txn **txn, MDB_env **env, MDB_dbi *dbi)
{
    char path[512];
    path_in(path, dir, "journal");
    CHECK_EQ(mdb_env_create(env), 0);
    CHECK_EQ(mdb_env_open(*env, path, 0, 0600), 0);
    CHECK_EQ(mdb_txn_begin(*env, NULL, 0, txn), 0);
    CHECK_EQ(mdb_dbi_open(*txn, NULL, 0, dbi), 0);
}

TEST(damaged_records_do_not_keep_a_store_from_opening_and_the_check_names_them)
{
    struct store_key key = store_key_message(ada, 3);
    MDB_val k = {key.n, key.byte}, v = {9, "no record"};
    struct buf lines = {0};
    struct store *s = NULL;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    fill(dir);
    as_lmdb(dir, &txn, &env, &dbi);
    CHECK_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_EQ(check_journal(dir, &lines), STORE_DAMAGED);
    CHECK_STR(lines.data, "message 3 of session 61646127732073657373696f6e2e2e00 is damaged: it is shorter than a "
                          "header\n");
    OK(store_open(&s, dir, NULL, &err));
    CHECK_EQ(check_contents(s, false), 2 * MESSAGES - 1);
    store_close(s);
    buf_free(&lines);
    remove_store(dir);
}

TEST(a_damaged_cache_is_begun_anew)
{
    char dir[256], path[512];
    struct store_key key = store_key_cache("page", 4);
    struct store *s = NULL;
    struct buf out = {0};
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "cache/data.mdb");
    fill(dir);
    write_file(path, "this was a cache", 16);
    OK(store_open(&s, dir, NULL, &err));
    check_contents(s, true);
    CHECK_EQ(store_get(s, STORE_CACHE, &key, REC_CACHE, &out, &err), STORE_NOT_FOUND);
    store_close(s);
    remove_store(dir);
}

TEST(a_file_that_takes_too_long_to_read_is_not_called_damaged)
{
    char dir[256], path[512];
    struct buf lines = {0};
    const struct store_report report = {.line = collect, .user = &lines};
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "journal/lock.mdb");
    fill(dir);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0); /* the child's LMDB waits for this */
    CHECK_EQ(store_check(dir, STORE_JOURNAL, 1, &report, &err), STORE_LATE);
    check_err(STORE_LATE, "could not be looked through in time");
    close(fd);
    CHECK_STR(lines.data ? lines.data : "", "");
    buf_free(&lines);
    remove_store(dir);
}

/* ---------------------------------------------------------------- salvage */

TEST(salvage_copies_a_clean_store_whole)
{
    char dir[256], to[256];
    uint64_t records, missing;
    struct store *s = NULL;
    struct buf lines = {0};
    const struct store_report report = {.line = collect, .user = &lines};
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(to, sizeof to, "%s", fresh_dir());
    fill(dir);
    OK(store_salvage(dir, to, 0, &report, &records, &missing, &err));
    if (lines.len) CHECK_STR(lines.data, "");
    CHECK_EQ(missing, 0);
    CHECK_EQ(records, 2 * MESSAGES + 2 + 2 * (1 + (ARTIFACT + STORE_CHUNK - 1) / STORE_CHUNK));
    OK(store_open(&s, to, NULL, &err));
    check_contents(s, true);
    store_close(s);
    CHECK_EQ(store_salvage(dir, to, 0, &report, &records, &missing, &err), STORE_FOREIGN);
    buf_free(&lines);
    remove_store(dir);
    remove_store(to);
}

/* Each leaf and overflow page struck out in turn: the rest is salvaged, and what is not is listed. */
TEST(salvage_takes_what_is_left_and_lists_what_is_not)
{
    char dir[256], path[512], to[256];
    uint64_t least = UINT64_MAX;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    path_in(path, dir, "journal/data.mdb");
    fill(dir);
    struct buf whole = read_file(path);
    for (size_t page = 2; page < whole.len / 4096; page += 3) {
        struct buf lines = {0};
        const struct store_report report = {.line = collect, .user = &lines};
        uint64_t records, missing;
        struct store *s = NULL;
        char was[4096];
        snprintf(to, sizeof to, "%s", fresh_dir());
        memcpy(was, whole.data + 4096 * page, sizeof was);
        memset(whole.data + 4096 * page, 0xa5, sizeof was);
        write_file(path, whole.data, whole.len);
        memcpy(whole.data + 4096 * page, was, sizeof was);
        OK(store_salvage(dir, to, 0, &report, &records, &missing, &err));
        OK(store_open(&s, to, NULL, &err));
        uint64_t there = check_contents(s, false);
        store_close(s);
        if (there < 2 * MESSAGES) CHECK(missing > 0 && lines.len > 0);
        least = MIN(least, there);
        buf_free(&lines);
        remove_store(to);
    }
    CHECK(least < 2 * MESSAGES);
    buf_free(&whole);
    remove_store(dir);
}

TEST(salvage_names_a_gap_in_a_session)
{
    struct store_key gone[3] = {store_key_message(ada, 5), store_key_message(ada, 6), store_key_session(bob)};
    struct buf lines = {0};
    const struct store_report report = {.line = collect, .user = &lines};
    uint64_t records, missing;
    struct store *s = NULL;
    char dir[256], to[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(to, sizeof to, "%s", fresh_dir());
    fill(dir);
    OK(store_open(&s, dir, NULL, &err));
    store_begin(s, STORE_JOURNAL);
    for (int i = 0; i < 3; i++) OK(store_remove(s, &gone[i], &err));
    gone[0] = store_key_chunk(ada, 1, 2);
    OK(store_remove(s, &gone[0], &err));
    OK(store_commit(s, &err));
    store_close(s);
    OK(store_salvage(dir, to, 0, &report, &records, &missing, &err));
    CHECK_EQ(missing, 3);
    CHECK(strstr(lines.data, "2 messages before message 7 of session 6164"));
    CHECK(strstr(lines.data, "the session of message 0 of session 626f"));
    CHECK(strstr(lines.data, "1 of 4 chunks of artifact 1 of session 6164"));
    buf_free(&lines);
    remove_store(dir);
    remove_store(to);
}

CHECK_MAIN
