/* A large file goes into the recall index slice by slice: turns are saved between two of them, what was begun is done
 * once, and what was stopped leaves again. */
#include "tests/check.h"
#include "tests/session_rig.h"
#include <sys/prctl.h>

enum { LINES = 90000 }; /* of 80 bytes: some 7 MB */

static char path[300];

static void write_file(void)
{
    snprintf(path, sizeof path, "%s/large.txt", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 0; i < LINES; i++) {
        const char *word = i == 100 ? "beginning" : i == LINES - 100 ? "ending" : "middle";
        fprintf(f, "%-12s line%06d all lines of this file have the same words, but for two of them...\n", word, i);
    }
    CHECK_EQ(fclose(f), 0);
}

static void on_a_screen(void *self) { (void)self; }

static void begin_file(bool screen)
{
    begin(NULL);
    write_file();
    if (screen) app.between = on_a_screen;
    OK(say("hello"));
    OK(session_ingest(&s, path, &err));
    session_settle(&s);
}

static int found(const char *word)
{
    struct remember_found f;
    struct session_question q = {.text = word, .n = strlen(word), .k = RECALL_K};
    OK(session_recall(&s, &q, &f, &err));
    const int n = f.n;
    remember_free(&f);
    return n;
}

static int stat_docs(struct store *st, void *arg, struct err *e)
{
    struct recall_stat stat;
    struct recall *r = recall_open(st, e);
    const int rc = recall_stat(r, s.keep.head.id, &stat, e);
    *(uint64_t *)arg = stat.docs;
    recall_close(r);
    return rc;
}

static uint64_t chunks(void)
{
    uint64_t n = 0;
    session_settle(&s);
    OK(keep_call(&s.keep, stat_docs, &n, &err));
    return n;
}

static int finish_index(void)
{
    int slices = 0;
    while (session_index_on(&s)) {
        session_settle(&s);
        slices++;
    }
    return slices;
}

TEST(between_two_slices_turns_are_saved_and_what_is_in_is_found)
{
    begin_file(true);
    CHECK(s.index.at.more && s.index.at.of > 0 && s.index.at.bytes < s.index.at.of);
    const uint64_t at = s.index.at.bytes;
    OK(say("a turn between them"));
    CHECK_EQ(s.acknowledged, s.keep.head.next - 1); /* durable, and the file is not yet in */
    CHECK(s.index.at.more);
    CHECK_EQ(found("beginning"), 1);
    CHECK_EQ(found("ending"), 0);
    CHECK(s.index.at.bytes >= at);
    CHECK(finish_index() >= 2);
    CHECK_EQ(found("ending"), 1);
    CHECK_EQ(found("between"), 1);
    end();
}

TEST(slices_make_the_same_index_as_one_piece_also_when_the_program_was_left_between_them)
{
    begin_file(false);
    CHECK(!s.index.at.more); /* where no screen is, nobody has to ask for the next */
    const uint64_t whole = chunks();
    end();
    begin_file(true);
    CHECK(finish_index() >= 2);
    CHECK_EQ(chunks(), whole);
    end();
    begin_file(true);
    CHECK(session_index_on(&s));
    session_settle(&s);
    CHECK(s.index.at.more);
    leave_and_come_back();
    CHECK(!s.index.at.more);
    session_index(&s);
    session_settle(&s);
    CHECK(finish_index() >= 2);
    CHECK_EQ(chunks(), whole);
    CHECK_EQ(found("beginning"), 1);
    CHECK_EQ(found("ending"), 1);
    end();
}

struct crumbs {
    bool killed; /* the program, between a result's text and its whole */
    uint64_t docs;
};

static int index_in_crumbs(struct store *st, void *arg, struct err *e)
{
    struct crumbs *c = arg;
    struct remember_at at = {0};
    struct recall_stat stat = {0};
    struct recall *r = recall_open(st, e);
    store_begin(st, STORE_CACHE);
    int rc = recall_forget(r, s.keep.head.id, e);
    if (rc == 0) rc = store_commit(st, e);
    do {
        if (rc == 0) rc = remember_slice(r, st, s.keep.head.id, 1, &at, e);
    } while (rc == 0 && at.more && !(c->killed && at.of > 0 && at.bytes == 0));
    CHECK_EQ(at.more, c->killed);
    if (rc == 0 && c->killed) rc = remember_session(r, st, s.keep.head.id, e);
    if (rc == 0) rc = recall_stat(r, s.keep.head.id, &stat, e);
    c->docs = stat.docs;
    recall_close(r);
    return rc;
}

TEST(a_slice_that_ends_between_a_result_and_its_whole_puts_neither_in_twice)
{
    begin(NULL);
    write_file();
    OK(session_attach_file(&s, path, &err));
    OK(say("what is in it"));
    session_index(&s);
    session_settle(&s);
    const uint64_t whole = chunks();
    for (int i = 0; i < 2; i++) {
        struct crumbs c = {.killed = i == 1};
        OK(keep_call(&s.keep, index_in_crumbs, &c, &err));
        CHECK_EQ(c.docs, whole);
    }
    end();
}

/* Keeps the index's writer lock from when it is told where that is. */
static void hold_index(int in, int out)
{
    char name[400] = "";
    MDB_env *env;
    MDB_txn *txn;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(in, name, sizeof name - 1) < 1 || mdb_env_create(&env) || mdb_env_open(env, name, 0, 0600) ||
        mdb_txn_begin(env, NULL, 0, &txn) || write(out, "x", 1) != 1)
        _exit(1);
    for (;;) pause();
}

TEST(a_search_with_nothing_new_waits_for_no_other_process_that_writes)
{
    int go[2], has[2];
    char name[400], c;
    CHECK(pipe(go) == 0 && pipe(has) == 0);
    const pid_t other = fork(); /* before there are threads */
    if (other == 0) hold_index(go[0], has[1]);
    CHECK(other > 0);
    begin(NULL);
    OK(say("hello"));
    CHECK_EQ(found("hello"), 1);
    const int n = snprintf(name, sizeof name, "%s/cache", folder);
    CHECK(write(go[1], name, (size_t)n) == n && read(has[0], &c, 1) == 1);
    alarm(20); /* it would wait without end */
    CHECK_EQ(found("hello"), 1);
    alarm(0);
    CHECK(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
    for (int i = 0; i < 2; i++) close(go[i]), close(has[i]);
    end();
}

TEST(what_is_stopped_is_not_in_the_index_and_the_whole_stays)
{
    struct clip_figures f;
    struct buf text = {0};
    begin_file(true);
    CHECK_EQ(found("beginning"), 1);
    CHECK(session_index_stop(&s));
    CHECK(!session_index_stop(&s)); /* it is stopped */
    finish_index();
    OK(say("behind it"));
    session_index(&s);
    session_settle(&s);
    finish_index();
    CHECK_EQ(found("beginning"), 0);
    CHECK_EQ(found("ending"), 0);
    OK(session_read_artifact(&s, 1, &(struct clip_request){.by = CLIP_BY_LINES, .from = 1, .to = 2}, &text, &f, &err));
    CHECK(strstr(text.data, "line000001"));
    buf_free(&text);
    end();
}

TEST(a_file_stays_in_the_index_when_the_turn_before_it_is_taken_back)
{
    struct buf text = {0};
    begin_file(false);
    CHECK_EQ(found("beginning"), 1);
    OK(session_undo(&s, &text, &err));
    session_index(&s);
    session_settle(&s);
    CHECK_EQ(found("hello"), 0);
    CHECK_EQ(found("beginning"), 1);
    buf_free(&text);
    end();
}

TEST(a_file_whose_reading_is_cancelled_leaves_nothing_behind)
{
    begin(NULL);
    write_file();
    OK(say("hello"));
    const uint64_t next = s.keep.head.next, artifacts = s.keep.head.artifacts;
    s.voice.cancelled = true;
    CHECK_EQ(session_ingest(&s, path, &err), -1);
    check_err(-1, "stopped");
    CHECK_EQ(s.keep.head.next, next);
    CHECK_EQ(session_attach_file(&s, path, &err), -1);
    check_err(-1, "stopped");
    CHECK_EQ(s.keep.head.artifacts, artifacts);
    s.voice.cancelled = false;
    OK(say("go on"));
    CHECK(!strstr(fake.heard.data, "large.txt"));
    end();
}

CHECK_MAIN
