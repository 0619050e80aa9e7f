/* A big result is clipped and counted by the keeper's thread: other agents' turns go on meanwhile, it is the same text,
 * and who does not want it any more takes nothing of it. */
#include "app/session/session_result.h"
#include "app/session/strand.h"
#include "tests/check.h"
#include "tests/session_rig.h"
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { BYTES = 5 * RESULT_PART / 2 };

static struct engine_ops hooked; /* the fake's, but for how it counts aside */
static sem_t gate;
static atomic_int counts;        /* begun on the other thread */
static struct strands ss;
static struct buf data;
static bool ended;               /* the one that clips */
static int status, rounds;

static void lines(const char *line, size_t bytes)
{
    data.len = 0;
    for (int i = 0; data.len < bytes; i++) buf_printf(&data, "%6d %s\n", i, line);
    CHECK(!data.failed);
}

static const char *file_of(const struct buf *b)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/large.txt", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(b->data, 1, b->len, f) == b->len);
    CHECK_EQ(fclose(f), 0);
    return path;
}

/* In a minute it opens by itself: a test whose other half never comes fails, and does not hang. */
static void pass_gate(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    while (sem_timedwait(&gate, &until) && errno == EINTR) continue;
}

/* The first count is made when somebody else has gone on. */
static int count_behind_gate(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                             struct err *error)
{
    if (atomic_fetch_add(&counts, 1) == 0) pass_gate();
    return fake_ops.count_aside(e, msgs, n, out, error);
}

static void begin_hooked(bool saved)
{
    begin("be brief");
    CHECK_EQ(sem_init(&gate, 0, 0), 0);
    hooked = fake_ops;
    app.ops = &hooked;
    atomic_store(&counts, 0);
    ended = false;
    rounds = 0;
    if (saved) return;
    CHECK_EQ(session_close(&s), 0);
    keeper_close(app.keeper);
    app.keeper = NULL;
    CHECK_EQ(session_new(&s, &app, "be brief", &err), 0);
}

static void end_hooked(void)
{
    app.ops = &fake_ops;
    app.between = NULL;
    end();
    sem_destroy(&gate);
}

/* ------------------------------------------------------------------ others go on */

static void attach(void *self)
{
    status = session_attach_file(&s, self, &err);
    ended = true;
}

static void open_gate_when_it_counts(void *self)
{
    (void)self;
    while (!ended && atomic_load(&counts) == 0) app_pause(&app);
    if (!ended) rounds++;
    CHECK_EQ(sem_post(&gate), 0);
}

static void cancel_when_it_counts(void *self)
{
    (void)self;
    while (!ended && atomic_load(&counts) == 0) app_pause(&app);
    s.voice.cancelled = true;
    CHECK_EQ(sem_post(&gate), 0);
}

static void count_rounds(void *self)
{
    (void)self;
    for (; !ended; rounds++) app_pause(&app);
}

static void attach_beside(void (*other)(void *))
{
    lines("all lines are like this one", BYTES);
    const char *path = file_of(&data);
    strands_open(&ss, &app);
    OK(strands_start(&ss, attach, (void *)(uintptr_t)path, &err));
    OK(strands_start(&ss, other, NULL, &err));
    while (strands_round(&ss)) {
    }
    strands_close(&ss);
}

TEST(clip_thread_another_turn_goes_on_while_a_big_result_is_clipped)
{
    begin_hooked(true);
    hooked.count_aside = count_behind_gate;
    attach_beside(open_gate_when_it_counts);
    CHECK_EQ(rounds, 1); /* the gate was shut, so the count was under way */
    OK(status);
    CHECK_EQ(s.keep.head.artifacts, 2);
    OK(say("what is it?"));
    CHECK(strstr(fake.heard.data, "     0 all lines"));
    end_hooked();
}

TEST(clip_thread_without_a_keeper_others_go_on_between_the_parts)
{
    begin_hooked(false);
    const uint64_t artifacts = s.keep.head.artifacts;
    hooked.count_aside = NULL; /* nobody is there to do it */
    attach_beside(count_rounds);
    OK(status);
    CHECK_EQ(rounds, 4); /* 1 MiB, 1 MiB, half of one, and what is shown */
    CHECK_EQ(s.keep.head.artifacts, artifacts);
    OK(say("what is it?"));
    CHECK(strstr(fake.heard.data, "bytes are not kept]"));
    end_hooked();
}

TEST(clip_thread_in_lockstep_the_others_wait)
{
    begin_hooked(true);
    app.lockstep = true;
    attach_beside(count_rounds);
    OK(status);
    CHECK_EQ(rounds, 0);
    app.lockstep = false;
    end_hooked();
}

/* ------------------------------------------------------------------ cancelled */

static void check_nothing_of_it(uint64_t next)
{
    CHECK_EQ(status, -1);
    check_err(-1, "stopped");
    CHECK_EQ(s.keep.head.artifacts, 1);
    CHECK_EQ(s.keep.head.next, next + 1); /* the mark that says so */
    CHECK_EQ(s.batch.n_artifacts, 0);
    s.voice.cancelled = false;
    OK(say("go on"));
    CHECK(!strstr(fake.heard.data, "large.txt") && !strstr(fake.heard.data, "all lines"));
}

TEST(clip_thread_one_that_is_cancelled_takes_nothing)
{
    begin_hooked(true);
    OK(say("hello"));
    const uint64_t next = s.keep.head.next;
    hooked.count_aside = count_behind_gate;
    attach_beside(cancel_when_it_counts);
    CHECK(atomic_load(&counts) > 0);
    check_nothing_of_it(next);
    end_hooked();
}

static int wait_at_gate(struct keeper_job *job, struct store *st, struct err *e)
{
    (void)job, (void)st, (void)e;
    pass_gate();
    return 0;
}

static void forget(struct keep *k, struct keep_task *task) { (void)k, (void)task; }
static void cancel(void *self) { (void)self, s.voice.cancelled = true; }

/* The store is at something that does not end until the gate is opened: what waits for that waits for ever. */
TEST(clip_thread_one_that_waits_for_a_slow_store_can_be_cancelled)
{
    struct keep_task slow = {.base = {.run = wait_at_gate}, .done = forget};
    begin_hooked(true);
    OK(say("hello"));
    const uint64_t next = s.keep.head.next;
    lines("all lines are like this one", BYTES);
    const char *path = file_of(&data);
    OK(keep_later(&s.keep, &slow, &err));
    app.between = cancel;
    status = session_attach_file(&s, path, &err);
    app.between = NULL;
    CHECK_EQ(sem_post(&gate), 0);
    check_nothing_of_it(next);
    end_hooked();
}

TEST(clip_thread_with_a_screen_nobody_waits_for_a_store_that_does_not_answer)
{
    struct keep_task slow = {.base = {.run = wait_at_gate}, .done = forget};
    begin_hooked(true);
    OK(say("hello"));
    lines("all lines are like this one", BYTES);
    const char *path = file_of(&data);
    keeper_patience(app.keeper, 1);
    OK(keep_later(&s.keep, &slow, &err));
    OK(session_attach_file(&s, path, &err));
    keeper_patience(app.keeper, 0);
    CHECK_EQ(sem_post(&gate), 0);
    OK(say("what is it?"));
    CHECK(strstr(fake.heard.data, "     0 all lines"));
    CHECK_EQ(s.keep.n_unsaved, 0);
    end_hooked();
}

/* ------------------------------------------------------------------ the same text */

static void check_same(enum clip_kind kind, size_t tokens)
{
    struct clip_config cfg = {.counter = {result_count, &s}, .max_tokens = tokens, .kind = kind};
    const struct result_clipping what = {data.data, data.len, tokens, kind, false};
    static struct clip_figures f, at_once;
    struct buf shown = {0}, whole = {0};
    int64_t total = -1;
    OK(result_clip_big(&s, &what, &shown, &f, &total, &err));
    OK(clip_whole(&cfg, data.data, data.len, &whole, &at_once, &err));
    CHECK(shown.len == whole.len && memcmp(shown.data, whole.data, whole.len) == 0);
    CHECK(f.whole == at_once.whole && f.tokens == at_once.tokens && f.next == at_once.next);
    CHECK(f.shown_bytes == at_once.shown_bytes && f.kind == at_once.kind && f.n_ranges == at_once.n_ranges);
    CHECK_EQ(total, f.whole ? 0 : result_tokens_about(&s, &data));
    buf_free(&shown);
    buf_free(&whole);
}

static void check_all_kinds(void)
{
    lines("error: no such pier, though \xc3\xa9\xe2\x82\xac may be", RESULT_BIG);
    check_same(CLIP_AUTO, 900);
    check_same(CLIP_LOG, 900);
    check_same(CLIP_TEXT, 2 * RESULT_BIG);
    lines("a,b,\"c\",d", BYTES);
    check_same(CLIP_CSV, 300);
    check_same(CLIP_TEXT, 0);
    data.len = 0;
    for (int i = 0; data.len < BYTES; i++) buf_printf(&data, "%s{\"n\": %d, \"of\": \"piers\"}", i ? ", " : "[", i);
    buf_puts(&data, "]");
    check_same(CLIP_AUTO, 500);
}

TEST(clip_thread_the_text_is_the_one_that_is_made_at_once)
{
    begin_hooked(true);
    check_all_kinds();
    end_hooked();
    begin_hooked(false);
    check_all_kinds();
    end_hooked();
    buf_free(&data);
}

CHECK_MAIN
