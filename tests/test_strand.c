/* Turns of several agents over one engine: who goes on when, who waits for what, and what is whose. */
#include "app/session/strand.h"
#include "app/signals.h"
#include "app/turn.h"
#include "tests/many_engine.h"
#include <fcntl.h>
#include <unistd.h>

static struct opts opts;
static struct app app;
static struct strands ss;
static struct err err;

static void echo(const char *heard, char *out) { snprintf(out, MANY_TEXT, "<%.20s>", heard); }

static void open_app(int seats)
{
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 100};
    app = (struct app){.o = &opts, .ops = &many_ops, .engine = &many, .info = many_begin(echo, 1000, seats)};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
    signal(SIGINT, SIG_DFL); /* a background job of a shell's was started with it ignored */
    CHECK_EQ(signals_open(&err), 0);
    strands_open(&ss, &app);
}

static void close_app(void)
{
    strands_close(&ss);
    close(app.answers.fd);
    many_end();
    signals_forget_interrupt();
}

static int run_all(void)
{
    int rounds = 0;
    while (strands_round(&ss)) CHECK(++rounds < 100000);
    return rounds;
}

/* ------------------------------------------------------------------ steps by hand */

/* What the strands did, a letter each; a strand's own steps are told by `script`: e waits for the engine, j for a job,
 * anything else is written down. */
struct walker {
    const char *script;
    struct voice voice;
    int paused; /* what app_pause() said last */
};
static char diary[256];

static void note(char c)
{
    size_t n = strlen(diary);
    CHECK(n + 1 < sizeof diary);
    diary[n] = c;
    diary[n + 1] = '\0';
}

static void walk(void *self)
{
    struct walker *w = self;
    app.trace.voice = &w->voice;
    for (const char *c = w->script; *c; c++) {
        if (*c == 'e') app_step(&app, NULL);
        else if (*c == 'j') w->paused = app_pause(&app);
        else note(*c);
        if (app.trace.voice != &w->voice) note('!');
    }
}

static void start(struct walker *w, const char *script)
{
    *w = (struct walker){.script = script, .paused = -1};
    CHECK_EQ(strands_start(&ss, walk, w, &err), 0);
}

TEST(strand_turns_go_in_the_order_in_which_they_began)
{
    struct walker w[3];
    open_app(1);
    diary[0] = '\0';
    start(&w[0], "aeaeaea");
    start(&w[1], "bb");     /* ends while the others wait */
    start(&w[2], "cec");
    CHECK_STR(diary, "");   /* nothing before the first round */
    CHECK(strands_round(&ss));
    CHECK_STR(diary, "abbc");
    CHECK_EQ(ss.n, 2);
    CHECK(strands_round(&ss));
    CHECK_STR(diary, "abbcac");
    CHECK_EQ(ss.n, 1);
    start(&w[1], "d");      /* one that comes later goes last */
    CHECK(strands_round(&ss));
    CHECK_STR(diary, "abbcacad");
    CHECK(!strands_round(&ss));
    CHECK_STR(diary, "abbcacada");
    CHECK(!strands_round(&ss));
    close_app();
}

TEST(strand_keeps_its_voice_and_gives_the_callers_back)
{
    struct walker w[3];
    open_app(1);
    diary[0] = '\0';
    struct voice mine = {.name = "mine"};
    app.trace.voice = &mine;
    for (int i = 0; i < 3; i++) start(&w[i], "ejejeje");
    run_all();
    CHECK_STR(diary, ""); /* nobody met another's */
    CHECK(app.trace.voice == &mine);
    close_app();
}

TEST(strand_engine_steps_once_for_all_and_only_if_one_waits_for_it)
{
    struct walker w[3];
    open_app(1);
    start(&w[0], "e");
    start(&w[1], "e");
    start(&w[2], "j");
    strands_round(&ss);
    CHECK_EQ(many.passes, 1);
    run_all();
    CHECK_EQ(w[2].paused, 0); /* the engine worked: there is nothing to wait for */
    start(&w[0], "j");
    start(&w[1], "j");
    run_all();
    CHECK_EQ(many.passes, 1);
    CHECK_EQ(w[0].paused, 10); /* both waits together are no longer than one */
    close_app();
}

TEST(strand_many_jobs_wait_without_a_busy_loop)
{
    struct walker w[STRANDS];
    open_app(1);
    for (int i = 0; i < STRANDS; i++) start(&w[i], "j");
    run_all();
    for (int i = 0; i < STRANDS; i++) CHECK(w[i].paused >= 1);
    close_app();
}

TEST(strand_lockstep_waits_for_jobs)
{
    struct walker w[2];
    open_app(1);
    diary[0] = '\0';
    app.lockstep = true;
    start(&w[0], "ajaja");
    start(&w[1], "b");
    CHECK(!strands_round(&ss));
    CHECK_STR(diary, "aaab");
    CHECK_EQ(w[0].paused, 20);
    close_app();
}

TEST(strand_refuses_more_than_there_may_be)
{
    struct walker w[STRANDS + 1];
    open_app(1);
    for (int i = 0; i < STRANDS; i++) start(&w[i], "ee");
    CHECK_EQ(strands_start(&ss, walk, &w[STRANDS], &err), -1);
    CHECK(strstr(err.text, "64 agents"));
    run_all();
    start(&w[0], "e"); /* there is room again */
    run_all();
    close_app();
}

TEST(strand_alone_is_not_in_company_and_nobody_needs_a_strand)
{
    open_app(1);
    CHECK(!app_in_company());
    CHECK_EQ(app_pause(&app), 20);
    CHECK_EQ(app_step(&app, NULL), 0);
    CHECK_EQ(many.passes, 1);
    close_app();
}

/* ------------------------------------------------------------------ turns */

struct talker {
    struct voice voice;
    char text[32], answer[64];
    int max_tokens, code, company;
    enum engine_end end;
    struct err err;
};

static void talk(void *self)
{
    struct talker *t = self;
    struct turn_result r;
    app.trace.voice = &t->voice;
    t->company = app_in_company();
    const struct msg m = {.role = ROLE_USER, .text = t->text, .len = strlen(t->text)};
    const struct turn_ask ask = {.msgs = &m, .n_msgs = 1, .max_tokens = t->max_tokens};
    t->code = turn_run(&app, &ask, &r, &t->err);
    t->end = r.end;
    snprintf(t->answer, sizeof t->answer, "%.*s", (int)r.text.len, r.text.data ? r.text.data : "");
    buf_free(&r.text);
    CHECK(app.trace.voice == &t->voice);
}

static void ask(struct talker *t, int n)
{
    for (int i = 0; i < n; i++) {
        t[i] = (struct talker){.voice = {.name = "one", .agent = i}, .max_tokens = 60};
        snprintf(t[i].text, sizeof t[i].text, "line %d", i);
        CHECK_EQ(strands_start(&ss, talk, &t[i], &err), 0);
    }
}

static void check_answered(const struct talker *t, int n)
{
    for (int i = 0; i < n; i++) {
        char want[64];
        snprintf(want, sizeof want, "<user:line %d|>", i);
        CHECK_EQ(t[i].code, 0);
        CHECK_STR(t[i].answer, want);
        CHECK_EQ(t[i].end, END_STOP);
    }
}

TEST(strand_turns_are_answered_side_by_side)
{
    struct talker t[5];
    open_app(3);
    ask(t, 5);
    run_all();
    check_answered(t, 5);
    CHECK(t[0].company && t[4].company);
    CHECK_EQ(many.most, 3);
    CHECK(many.passes < 3 * 15);
    CHECK_EQ(app.turns, 5);
    ask(t, 1);
    run_all();
    CHECK(!t[0].company);
    close_app();
}

TEST(strand_what_is_full_now_is_room_later)
{
    for (int memory = 0; memory < 2; memory++) {
        for (int room = 1; room <= 3; room++) {
            struct talker t[9];
            open_app(2);
            many.room = room; /* the place of an answer that ended is free when its turn has dropped it */
            many.room_is_memory = memory;
            ask(t, 9);
            run_all();
            check_answered(t, 9);
            CHECK(many.refused > 0);
            close_app();
        }
    }
}

static void talk_again_after_a_job(void *self)
{
    struct talker *t = self;
    talk(&t[0]);
    app_pause(&app);
    talk(&t[1]);
}

/* The first wants to go on while the second, behind it in the order, has the only place. */
TEST(strand_waits_for_the_answer_of_one_behind_it_to_be_dropped)
{
    struct talker t[3];
    open_app(2);
    many.room = 1;
    for (int i = 0; i < 3; i++) {
        t[i] = (struct talker){.voice.name = "", .max_tokens = 60};
        snprintf(t[i].text, sizeof t[i].text, "line %d", i);
    }
    CHECK_EQ(strands_start(&ss, talk_again_after_a_job, t, &err), 0);
    CHECK_EQ(strands_start(&ss, talk, &t[2], &err), 0);
    run_all();
    check_answered(t, 3);
    close_app();
}

TEST(strand_where_there_never_is_room_all_are_refused)
{
    struct talker t[4];
    open_app(2);
    many.room = 0;
    ask(t, 4);
    CHECK(run_all() < 100);
    for (int i = 0; i < 4; i++) CHECK_EQ(t[i].code, ENGINE_QUEUE_FULL);
    close_app();
}

TEST(strand_a_pass_that_fails_ends_those_in_it_and_no_other)
{
    struct talker t[6];
    open_app(3);
    many.fault_at = 3;
    many.faults = 1;
    ask(t, 6);
    run_all();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(t[i].code, 0);
        CHECK_EQ(t[i].end, END_FAULT);
        CHECK_STR(t[i].err.text, "device lost");
    }
    for (int i = 3; i < 6; i++) CHECK_EQ(t[i].end, END_STOP);
    close_app();
}

TEST(strand_others_faults_are_not_counted_against_one_that_waits)
{
    struct talker t[8];
    open_app(1);
    ask(t, 8);
    for (int faults = 0, round = 1; strands_round(&ss); round++) { /* the first pass of each of the first seven */
        if (round % 2 || faults == 7) continue;
        many.fault_at = many.passes + 1;
        many.faults = 1;
        faults++;
    }
    for (int i = 0; i < 7; i++) CHECK_EQ(t[i].end, END_FAULT);
    CHECK_EQ(t[7].end, END_STOP);
    close_app();
}

TEST(strand_ctrl_c_ends_all_within_a_few_passes)
{
    struct talker t[6];
    open_app(3);
    many.endless = true;
    many.interrupt_at = 5;
    ask(t, 6);
    run_all();
    CHECK(many.passes < 5 + 6);
    for (int i = 0; i < 6; i++) CHECK_EQ(t[i].end, END_CANCELLED);
    close_app();
}

TEST(strand_one_is_cancelled_and_the_others_go_on)
{
    struct talker t[3];
    open_app(3);
    ask(t, 3);
    for (int i = 0; i < 4; i++) CHECK(strands_round(&ss));
    t[1].voice.cancelled = true;
    run_all();
    CHECK_EQ(t[1].end, END_CANCELLED);
    CHECK_EQ(t[0].end, END_STOP);
    CHECK_EQ(t[2].end, END_STOP);
    close_app();
}

TEST(strand_each_agent_draws_numbers_of_its_own)
{
    struct talker t[2];
    open_app(2);
    app.sampling.seed = 7;
    ask(t, 2);
    strands_round(&ss);
    CHECK_EQ(many.r[0].asked.sampling.seed, 7);
    CHECK_EQ(many.r[1].asked.sampling.seed, 7 + (UINT64_C(1) << 32));
    CHECK_EQ(many.r[1].asked.agent, 1);
    run_all();
    close_app();
}

CHECK_MAIN
