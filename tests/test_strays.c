/* A copy or an import that is killed at any moment leaves no session and nothing that stays: its half is known for what
 * it is and goes.  A session that has lost its head is another matter: it gets one, and nothing of it is removed. */
#include "tests/export_rig.h"
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

enum { KILLS = 9, TEXTS = 10, WHOLES = 3, TEXT = 1 << 20, WHOLE = 3 << 20 };

static void noise(struct buf *out, size_t n) /* that zstd does not make smaller, of letters */
{
    while (out->len < n) {
        char c = (char)('A' + draw(26) + (draw(2) ? 32 : 0));
        buf_put(out, &c, 1);
    }
}

/* Of several commits when it is copied. */
static struct journal_head large(struct store *s)
{
    struct journal_head h = head_of(ada, TEXTS + WHOLES + 1, 3);
    struct journal_batch b = {0};
    h.artifacts = WHOLES + 1;
    journal_add_event(&b, 0, "{\"event\":\"session_open\"}", 24);
    for (uint64_t i = 1; i <= TEXTS; i++) {
        struct buf text = {0};
        noise(&text, TEXT);
        add(&b, i, (struct journal_message){.kind = i % 2 ? JOURNAL_USER : JOURNAL_ANSWER, .turn = 1 + (uint32_t)i / 4,
                                            .len = TEXT}, text.data);
        buf_free(&text);
    }
    for (uint64_t i = 1; i <= WHOLES; i++) {
        struct buf whole = {0};
        noise(&whole, WHOLE);
        add(&b, TEXTS + i, (struct journal_message){.kind = JOURNAL_DOCUMENT, .turn = 3, .artifact = i}, "a file");
        journal_add_artifact(&b, i, &whole);
    }
    write_all(s, &b, &h);
    return h;
}

static void copy_it(struct store *s, const struct buf *none)
{
    struct journal_fork f = {.turn = 3};
    (void)none;
    memcpy(f.from, ada, sizeof f.from);
    OK(journal_fork(s, &f, &err));
}

static void import_it(struct store *s, const struct buf *lines)
{
    struct journal_head h;
    OK(import(s, lines->data, lines->len, 1 << 16, &h));
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

typedef void making(struct store *s, const struct buf *lines);

/* In a process of its own, which is killed after so long. */
static void make_and_die(const char *dir, making *make, const struct buf *lines, uint64_t after_us)
{
    int begun[2];
    char byte = 'x';
    CHECK_EQ(pipe(begun), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct store *s = open_at(dir);
        if (write(begun[1], &byte, 1) != 1) _exit(1);
        make(s, lines);
        store_close(s);
        _exit(0);
    }
    CHECK_EQ(read(begun[0], &byte, 1), 1);
    usleep((useconds_t)after_us);
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    close(begun[0]);
    close(begun[1]);
}

static void put_line(void *user, const char *line) { buf_printf(user, "%s\n", line); }

struct mend {
    struct buf lines;
    struct journal_strays n;
};

static int mend(struct store *s, void *arg, struct err *e)
{
    struct mend *m = arg;
    return journal_strays(s, true, &(struct store_report){.line = put_line, .user = &m->lines}, &m->n, e);
}

static uint64_t records_of(struct store *s)
{
    struct store_stat st;
    OK(store_stat(s, STORE_JOURNAL, &st, &err));
    return st.records;
}

/* Whatever a killed one left: the session it was made of, and as many whole ones as have a head, with all they had. */
static uint64_t check_mended(const char *dir, uint64_t of_one)
{
    struct mend m = {0};
    struct store *s = open_at(dir);
    struct journal_head *heads;
    size_t n;
    OK(store_alone(s, mend, &m, &err));
    CHECK_EQ(m.n.headless + m.n.unreadable, 0);
    CHECK_EQ(m.lines.len > 0, m.n.halves > 0);
    OK(journal_heads(s, 100, &heads, &n, NULL, &err));
    CHECK(n >= 1);
    if (m.n.halves > 0) OK(store_wipe(s, &err));
    CHECK_EQ(records_of(s), n * of_one);
    free(heads);
    store_close(s);
    buf_free(&m.lines);
    return m.n.halves;
}

static void killed_anywhere(making *make, bool exported)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct journal_head h = large(s);
    struct buf lines = {0};
    uint64_t of_one = records_of(s), halves = 0, before = now_us();
    if (exported) export_to(s, &h, EXPORT_JSONL, true, &lines);
    before = now_us();
    make(s, &lines);
    uint64_t whole_us = now_us() - before;
    CHECK_EQ(records_of(s), 2 * of_one);
    store_close(s);
    for (int i = 0; i < KILLS; i++) {
        make_and_die(dir, make, &lines, draw(whole_us));
        halves += check_mended(dir, of_one);
    }
    CHECK(halves > 0); /* else nothing of this was tried */
    buf_free(&lines);
}

TEST(a_copy_that_is_killed_at_any_moment_is_whole_or_goes) { killed_anywhere(copy_it, false); }
TEST(an_import_that_is_killed_at_any_moment_is_whole_or_goes) { killed_anywhere(import_it, true); }

/* ---------------------------------------------------------------- by hand */

static struct journal_strays named(struct store *s, bool mend_too, struct buf *lines)
{
    struct journal_strays n;
    lines->len = 0;
    OK(journal_strays(s, mend_too, &(struct store_report){.line = put_line, .user = lines}, &n, &err));
    return n;
}

static void remove_head(struct store *s, const uint8_t *session)
{
    struct store_key key = store_key_session(session);
    store_begin(s, STORE_JOURNAL);
    OK(store_remove(s, &key, &err));
    OK(store_commit(s, &err));
}

TEST(a_lost_head_is_made_anew_and_the_session_says_what_it_said)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s), now;
    struct buf was = {0}, is = {0}, lines = {0};
    export_to(s, &h, EXPORT_MARKDOWN, true, &was);
    remove_head(s, ada);
    CHECK_EQ(named(s, false, &lines).headless, 1);
    CHECK(strstr(lines.data, " has lost its head: compact makes it anew from 11 messages, 2 turns\n"));
    CHECK(journal_head(s, ada, &now, &err) == STORE_NOT_FOUND); /* only named */
    CHECK_EQ(named(s, true, &lines).headless, 1);
    OK(journal_head(s, ada, &now, &err));
    CHECK_EQ(now.turns, 2);
    CHECK_EQ(now.next, h.next);
    CHECK_EQ(now.artifacts, h.artifacts);
    CHECK_EQ(now.created_ms, 1001);
    CHECK_EQ(now.updated_ms, 1011);
    CHECK_STR(now.title, "recovered");
    export_to(s, &now, EXPORT_MARKDOWN, true, &is);
    const char *old = strstr(was.data, "be kind"), *new = strstr(is.data, "be kind");
    CHECK(old && new);
    CHECK_STR(new, old);
    CHECK_EQ(named(s, true, &lines).headless, 0);
    buf_free(&was);
    buf_free(&is);
    buf_free(&lines);
    store_close(s);
}

/* One that claims more turns than there are numbers, as an import once could have it: it was refused for good. */
TEST(a_head_that_makes_no_sense_is_made_anew_and_one_of_another_version_is_left)
{
    struct store *s = open_at(fresh_dir());
    struct store_key key = store_key_session(bob);
    struct journal_head h = small(s), now;
    struct journal_batch b = {0};
    struct buf lines = {0};
    h.turns = (uint32_t)h.next;
    write_all(s, &b, &h);
    CHECK_EQ(journal_head(s, ada, &now, &err), STORE_DAMAGED);
    commit_message(s, bob, 0, "of another time");
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "{\"version\":2}", 13, &err));
    OK(store_commit(s, &err));
    CHECK_EQ(named(s, true, &lines).headless, 1);
    OK(journal_head(s, ada, &now, &err));
    CHECK_EQ(now.turns, 2);
    CHECK_EQ(now.next, h.next);
    CHECK_EQ(journal_head(s, bob, &now, &err), STORE_DAMAGED);
    CHECK_EQ(named(s, true, &lines).headless, 0);
    buf_free(&lines);
    store_close(s);
}

/* Turn 2 was taken back and none came after it; a file was brought in for a third. */
TEST(a_turn_that_was_taken_back_is_not_counted)
{
    struct store *s = open_at(fresh_dir());
    struct journal_batch b = {0};
    struct journal_head none = head_of(bob, 0, 0), now;
    struct buf lines = {0};
    add(&b, 1, (struct journal_message){.kind = JOURNAL_USER, .turn = 1}, "one");
    add(&b, 2, (struct journal_message){.kind = JOURNAL_USER, .turn = 2}, "two");
    add(&b, 3, (struct journal_message){.kind = JOURNAL_MARK, .turn = 1, .first = 2, .last = 2,
                                        .results = JOURNAL_UNDONE}, "");
    add(&b, 4, (struct journal_message){.kind = JOURNAL_CALL, .turn = 2, .results = 1}, "read");
    add(&b, 5, (struct journal_message){.kind = JOURNAL_RESULT, .turn = 2, .artifact = 9}, "read");
    write_all(s, &b, &none); /* without a head */
    CHECK_EQ(named(s, true, &lines).headless, 1);
    OK(journal_head(s, bob, &now, &err));
    CHECK_EQ(now.turns, 1);
    CHECK_EQ(now.next, 6);
    CHECK_EQ(now.artifacts, 10); /* it is lost, and its number is not another's */
    buf_free(&lines);
    store_close(s);
}

/* ---------------------------------------------------------------- of before halves were marked */

static void unpack_to(const char *path, const char *packed)
{
    static char in[1 << 14], out[1 << 18];
    FILE *f = fopen(packed, "rb");
    CHECK(f != NULL);
    size_t n = fread(in, 1, sizeof in, f);
    fclose(f);
    n = ZSTD_decompress(out, sizeof out, in, n);
    CHECK(!ZSTD_isError(n));
    f = fopen(path, "wb");
    CHECK(f && fwrite(out, 1, n, f) == n && fclose(f) == 0);
}

/* As plimsoll 22d0f6f left it (tests/fixtures/README.md). */
static const char *old_store(void)
{
    const char *dir = fresh_dir();
    char path[512];
    store_close(open_at(dir)); /* its folders and its format, which is the same */
    snprintf(path, sizeof path, "%s/journal/data.mdb", dir);
    unpack_to(path, "tests/fixtures/store-22d0f6f.mdb.zst");
    return dir;
}

enum { OLD_FILE = 5000000 }; /* bytes that were ingested; of the half there are 4 MiB and a bit */

TEST(a_half_that_an_older_plimsoll_left_is_named_and_nothing_is_lost)
{
    struct store *s = open_at(old_store());
    struct buf lines = {0}, was = {0}, is = {0};
    struct journal_head *heads;
    size_t n;
    OK(journal_heads(s, 10, &heads, &n, NULL, &err));
    CHECK_EQ(n, 1);
    CHECK_STR(heads[0].title, "Hello, the port is 8080.");
    export_to(s, heads, EXPORT_JSONL, true, &was);
    CHECK(lost.len == 0 && was.len > OLD_FILE);
    CHECK_EQ(named(s, false, &lines).headless, 1);
    CHECK(strstr(lines.data, " has lost its head: compact makes it anew from 5 messages, 1 turn\n"));
    CHECK_EQ(named(s, true, &lines).headless, 1); /* no mark says that it may go, so it stays */
    export_to(s, heads, EXPORT_JSONL, true, &is);
    check_same(&was, &is);
    free(heads);
    OK(journal_heads(s, 10, &heads, &n, NULL, &err));
    CHECK_EQ(n, 2);
    const struct journal_head *half = &heads[strcmp(heads[1].title, "recovered") == 0];
    CHECK_EQ(half->turns, 1);
    export_to(s, half, EXPORT_JSONL, true, &is);
    CHECK(strstr(is.data, "Hello, the port is 8080.") && strstr(is.data, "{\"artifact\":1,\"lost\":true}"));
    CHECK(lost.len > 0);
    free(heads);
    buf_free(&lines);
    buf_free(&was);
    buf_free(&is);
    store_close(s);
}

TEST(what_cannot_be_read_stays_as_it_is)
{
    struct store *s = open_at(fresh_dir());
    struct buf lines = {0};
    commit_message(s, bob, 3, "no message of the journal's");
    for (int write = 0; write < 2; write++) {
        CHECK_EQ(named(s, write, &lines).unreadable, 1);
        CHECK(strstr(lines.data, " has lost its head, and nothing of it can be read\n"));
        check_message(s, bob, 3, "no message of the journal's");
    }
    struct journal_message m = {.kind = JOURNAL_USER, .turn = 1, .text = "x", .len = 1};
    struct journal_batch b = {0};
    memcpy(b.session, ada, sizeof b.session);
    journal_add(&b, UINT64_MAX, &m); /* a number of nobody's */
    OK(journal_write(s, &b, NULL, &err));
    journal_batch_free(&b);
    CHECK_EQ(named(s, true, &lines).unreadable, 2);
    buf_free(&lines);
    store_close(s);
}

CHECK_MAIN
