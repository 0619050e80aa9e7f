/* A session without one of its guards: what it sends, what it keeps, and how that ends.  Over an engine of the tests'
 * own, a byte a token, so that every figure here can be counted by hand. */
#include "app/session/agent.h"
#include "app/session/session.h"
#include "app/session/session_impl.h"
#include "app/signals.h"
#include "tests/check.h"
#include "tests/fake_engine.h"
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static struct opts opts;
static struct app app;
static struct session s;
static struct err err;
static FILE *told;

static void begin(const char *off, int ctx, const char *says, const char *system)
{
    static struct out json;
    const struct engine_info *info = fake_begin(says, ctx);
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info, .sampling = {.seed = 1000}};
    opts = (struct opts){.json = true, .no_save = true, .keep_unsaved = 1 << 20};
    err = (struct err){0};
    if (off) CHECK_EQ(guards_read(&opts.off, off, &err), 0);
    told = tmpfile();
    CHECK(told);
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    out_init(&json, fileno(told));
    CHECK_EQ(trace_open(&app.trace, &json, NULL, NULL, 0, &err), 0);
    signal(SIGINT, SIG_DFL);
    CHECK_EQ(signals_open(&err), 0);
    CHECK_EQ(session_new(&s, &app, system, &err), 0);
}

static void end(void)
{
    session_close(&s);
    close(app.answers.fd);
    fclose(told);
    buf_free(&fake.heard);
    signals_forget_interrupt();
}

static int say(const char *text)
{
    err = (struct err){0};
    return session_ask(&s, text, strlen(text), &err);
}

/* The stream so far has this. */
static bool was_told(const char *part)
{
    static char text[1 << 20];
    ssize_t n = pread(fileno(told), text, sizeof text - 1, 0);
    text[MAX(n, 0)] = '\0';
    return strstr(text, part) != NULL;
}

static void answers(int tokens) /* of a role whose answers have so many at most */
{
    session_close(&s);
    opts.max_tokens = tokens;
    CHECK_EQ(session_new(&s, &app, NULL, &err), 0);
}

/* ---------------------------------------------------------------- names */

TEST(guards_are_read_by_name_and_nothing_else)
{
    struct guards g;
    struct buf words = {0};
    CHECK_EQ(guards_read(&g, "summary,window,loop", &err), 0);
    CHECK(g.window && g.loop && g.summary && !g.clip && !g.docs && !g.share && !g.silent && !g.slice && !g.traces);
    guards_words(&g, &words);
    CHECK_STR(words.data, "window, loop, summary");
    static const char *const bad[] = {"", "windows", "window,", ",window", "window,window", "window clip", "loop",
                                      "silent,slice", "off"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK_EQ(guards_read(&g, bad[i], &err), -1);
    buf_free(&words);
}

TEST(with_every_guard_on_a_call_is_as_ever_and_nothing_is_told)
{
    begin(NULL, 4000, "fine", "be kind");
    CHECK_EQ(say("hello"), 0);
    CHECK(!fake.asked.fresh && !fake.asked.ignore_end && !fake.asked.allowed);
    CHECK_EQ(s.loose.traced, 0);
    CHECK(!was_told("\"unguarded\""));
    end();
}

TEST(a_window_without_a_limit_sums_nothing_up)
{
    struct window *w;
    begin(NULL, 4000, "fine", NULL);
    struct window_limits l = {.ctx = 4000, .answer = 100, .summary = 100, .high = 850, .low = 400, .gain = 200,
                              .unbounded = true};
    CHECK_EQ(window_open(&w, &l, (struct window_count){session_count, &s}, &err), WINDOW_BAD);
    l.summary = 0;
    CHECK_EQ(window_open(&w, &l, (struct window_count){session_count, &s}, &err), 0);
    window_close(w);
    end();
}

/* ---------------------------------------------------------------- what is sent */

TEST(without_window_the_whole_history_is_sent_until_the_engine_refuses)
{
    int turn = 0, status = 0;
    begin("window", 300, "0123456789", "be kind");
    answers(10);
    while (status == 0 && turn < 50) {
        status = say("and then the next question?");
        CHECK(strncmp(fake.heard.data, "user:and then", 13) == 0); /* the first is still there */
        turn += status == 0;
    }
    /* A turn is 28 + 11 tokens; 38 stand before the answer of the first: 38 + 39 (t - 1) <= 300. */
    CHECK_EQ(turn, 7);
    CHECK_EQ(status, EXIT_REFUSED);
    CHECK_STR(app.reason, "refused_kv");
    CHECK_EQ(s.keep.head.turns, 7); /* the one that was refused is as if it had not been */
    CHECK(!was_told("\"left\"") && was_told("\"off\":\"window\""));
    end();
    begin(NULL, 1000, "0123456789", NULL); /* with it there is no end */
    answers(10);
    for (int i = 0; i < 100; i++) CHECK_EQ(say("and then the next question?"), 0);
    CHECK(was_told("\"left\""));
    end();
}

TEST(without_window_nothing_is_summed_up)
{
    begin("window", 4000, "0123456789", NULL);
    answers(10);
    for (int i = 0; i < 200 && say("and then the next question, please?") == 0; i++) continue;
    CHECK_EQ(fake.asides, 0);
    CHECK(!was_told("\"summary\"") && strstr(app.reason, "refused_kv"));
    end();
}

TEST(slice_sends_the_last_eight_messages_and_keeps_all)
{
    char text[32];
    begin("slice", 4000, "yes", "be kind");
    for (int i = 1; i <= 4; i++) {
        snprintf(text, sizeof text, "question %d", i);
        CHECK_EQ(say(text), 0);
    }
    /* One system message and seven others: the next call has ten, of which the first three go. */
    CHECK(strncmp(fake.heard.data, "system:be kind|user:question 1|", 31) == 0);
    CHECK_EQ(say("question 5"), 0);
    CHECK_STR(fake.heard.data, "assistant:yes|user:question 2|assistant:yes|user:question 3|assistant:yes|"
                               "user:question 4|assistant:yes|user:question 5|");
    struct session_view v;
    CHECK_EQ(session_view(&s, &v, &err), -1); /* it has no vocabulary to show it in; but it counts the same */
    buf_free(&v.text);
    CHECK_EQ(s.prompt.n, GUARDS_SLICE);
    const struct text_entry *e = session_text(&s, s.system, &err);
    CHECK(e && strcmp(e->text, "be kind") == 0);
    end();
}

TEST(slice_ends_at_the_hosts_memory)
{
    int turns = 0;
    begin("slice", 4000, "yes", NULL);
    s.texts.spare = 16384;
    while (turns < 500 && say("a question that is kept for ever, though it is not sent for ever") == 0) turns++;
    CHECK(turns > 10 && turns < 200);
    CHECK_STR(app.reason, "refused_host");
    CHECK(strstr(err.text, "--keep-unsaved allows 16384") != NULL);
    CHECK_EQ((int)s.keep.head.turns, turns);
    CHECK(session_text(&s, 1, &err) != NULL); /* the first is still kept, and was not sent for long */
    CHECK(fake.a.n_prompt < 8 * 70);
    end();
}

TEST(silent_cuts_in_front_without_a_word)
{
    begin("silent", 120, "0123456789", "be kind");
    opts.max_tokens = 10;
    session_close(&s);
    CHECK_EQ(session_new(&s, &app, "be kind", &err), 0);
    CHECK_EQ(say("the secret is 4711"), 0);
    for (int i = 0; i < 5; i++) CHECK_EQ(say("and then the next question?"), 0);
    CHECK(strncmp(fake.heard.data, "system:be kind|", 15) == 0);
    CHECK(strstr(fake.heard.data, "4711") == NULL);
    CHECK(fake.a.n_prompt <= 110 && fake.a.n_prompt > 110 - 39);
    CHECK(!was_told("\"left\"") && !was_told("\"refusal\"") && !was_told("\"stood_in\""));
    end();
}

TEST(silent_cuts_one_long_message_to_its_end_and_no_character_in_two)
{
    begin("silent", 120, "0123456789", NULL);
    answers(10);
    CHECK_EQ(say("the secret is 4711. \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                 " what is the secret?"), 0);
    CHECK(strstr(fake.heard.data, "4711") == NULL);
    CHECK(strstr(fake.heard.data, " what is the secret?|") != NULL);
    CHECK(strncmp(fake.heard.data, "user:\xc3\xa4", 7) == 0);
    CHECK(fake.a.n_prompt == 110 || fake.a.n_prompt == 109);
    end();
}

TEST(silent_cuts_the_question_before_the_system_message)
{
    char text[301];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    begin("silent", 120, "0123456789", "be kind");
    opts.max_tokens = 10;
    session_close(&s);
    CHECK_EQ(session_new(&s, &app, "be kind", &err), 0);
    CHECK_EQ(say(text), 0);
    CHECK(strncmp(fake.heard.data, "system:be kind|user:xxxx", 24) == 0);
    CHECK_EQ(fake.a.n_prompt, 110);
    end();
}

/* ---------------------------------------------------------------- files and results */

static const char *file(const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/paper.txt", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static const char *lines(int n)
{
    static struct buf b;
    b.len = 0;
    for (int i = 0; i < n; i++) buf_printf(&b, "line %d of the paper\n", i);
    return b.data;
}

TEST(without_clip_a_file_enters_whole)
{
    begin("clip,window", 4000, "yes", NULL);
    CHECK_EQ(session_attach_file(&s, file(lines(100)), &err), 0);
    CHECK_EQ(say("so?"), 0);
    CHECK(strstr(fake.heard.data, lines(100)) != NULL);
    end();
    begin(NULL, 4000, "yes", NULL);
    CHECK_EQ(session_attach_file(&s, file(lines(100)), &err), 0);
    CHECK_EQ(say("so?"), 0);
    CHECK(strstr(fake.heard.data, lines(100)) == NULL && strstr(fake.heard.data, "line 0 of") != NULL);
    end();
}

TEST(without_docs_a_file_stands_before_every_turn)
{
    begin("docs,window", 4000, "yes", NULL);
    CHECK_EQ(session_attach_file(&s, file("The port is 8080.\n"), &err), 0);
    CHECK_EQ(say("so?"), 0);
    CHECK_EQ(say("and?"), 0);
    int times = 0;
    for (const char *at = fake.heard.data; (at = strstr(at, "The port is 8080.")) != NULL; at++) times++;
    CHECK_EQ(times, 2);
    CHECK(was_told("\"text\":\"so?\"")); /* the person said no more than that */
    s.texts.spare = session_host_bytes(&s);
    CHECK_EQ(say("again?"), EXIT_REFUSED);
    CHECK_STR(app.reason, "refused_host");
    end();
}

TEST(files_end_at_the_hosts_memory_too)
{
    static const char *const off[] = {"docs,window", "clip,window", "traces"};
    for (size_t i = 0; i < COUNT_OF(off); i++) {
        int files = 0;
        begin(off[i], 4000, "yes", NULL);
        s.texts.spare = 20000;
        while (files < 100 && session_attach_file(&s, file(lines(100)), &err) == 0) files++;
        CHECK(files > 3 && files < 20);
        CHECK_STR(app.reason, "refused_host");
        CHECK(was_told("\"refused_host\""));
        CHECK(session_host_bytes(&s) < 20000 + 3 * 4096); /* one more than there is room for, and no other */
        end();
    }
}

/* ---------------------------------------------------------------- what is kept */

TEST(traces_keep_every_prompt_so_they_grow_with_the_square_of_the_turns)
{
    uint64_t kept[21] = {0};
    begin("traces,window", 40000, "0123456789", NULL);
    for (int i = 1; i <= 20; i++) {
        CHECK_EQ(say("and then the next question?"), 0);
        kept[i] = s.loose.traced;
    }
    CHECK(kept[20] - kept[19] > kept[2] - kept[1]);
    CHECK(kept[20] > 3 * kept[10]); /* twice the turns, nearly four times the bytes */
    s.texts.spare = session_host_bytes(&s) + 100;
    CHECK_EQ(say("and then the next question?"), EXIT_REFUSED);
    CHECK_STR(app.reason, "refused_host");
    CHECK(strstr(err.text, "traces"));
    CHECK_EQ(say("and once more?"), EXIT_REFUSED); /* nobody clears them */
    end();
}

TEST(traces_keep_a_result_whole_though_it_enters_clipped)
{
    begin("traces", 4000, "yes", NULL);
    CHECK_EQ(session_attach_file(&s, file(lines(100)), &err), 0);
    CHECK(s.loose.traced > strlen(lines(100)));
    end();
}

/* ---------------------------------------------------------------- loops, summaries, pages, answers */

TEST(an_endless_agent_never_stops_of_itself)
{
    struct agent g;
    agent_begin(&g, &(struct agent_limits){.rounds = 2, .repeats = 1, .failures = 1, .endless = true});
    CHECK_EQ(agent_on(&g, &(struct agent_event){.kind = AGENT_ASKED}), AGENT_CALL_MODEL);
    for (int i = 0; i < 10 * AGENT_ROUNDS_MAX; i++) {
        const struct agent_event call = {.kind = AGENT_SAID, .call = "read", .arguments = "{}"};
        const struct agent_event got = {.kind = AGENT_GOT, .failed = true, .text = "no", .n = 2};
        CHECK_EQ(agent_on(&g, &call), AGENT_RUN_TOOL);
        CHECK_EQ(agent_on(&g, &got), AGENT_CALL_MODEL);
    }
    CHECK_EQ(g.calls, 10 * AGENT_ROUNDS_MAX);
    CHECK_EQ(agent_on(&g, &(struct agent_event){.kind = AGENT_SAID}), AGENT_OVER);
}

static const char *reply(const char *heard)
{
    return strstr(heard, "|user:Write the summary record") ? "I would rather not." : "0123456789";
}

TEST(without_summary_anything_is_one)
{
    for (int off = 0; off < 2; off++) {
        begin(off ? "summary" : NULL, 4000, NULL, NULL);
        fake.reply = reply;
        for (int i = 0; i < 120 && fake.asides == 0; i++)
            CHECK_EQ(say("The harbour has nine piers, said the mate."), 0);
        CHECK_EQ(fake.asides, 1);
        CHECK_EQ(say("so?"), 0);
        const struct text_entry *e = session_summary(&s, &(struct buf){0}, &err);
        CHECK(e != NULL);
        CHECK_EQ(strcmp(e->text, "I would rather not.") == 0, off); /* with it: an extract of what was said */
        CHECK_EQ(strstr(fake.heard.data, "nine piers, said the mate.") != NULL, true);
        end();
    }
}

static const char *babble(const char *heard)
{
    fake.endless = strstr(heard, "|user:Write the summary record") != NULL;
    return fake.endless ? "la " : "0123456789";
}

TEST(without_summary_one_that_never_ends_is_one_too)
{
    for (int off = 0; off < 2; off++) {
        begin(off ? "summary" : NULL, 4000, NULL, NULL);
        fake.reply = babble;
        for (int i = 0; i < 120 && fake.asides == 0; i++)
            CHECK_EQ(say("The harbour has nine piers, said the mate."), 0);
        CHECK_EQ(fake.asides, 1);
        const struct text_entry *e = session_summary(&s, &(struct buf){0}, &err);
        CHECK_EQ(e && strncmp(e->text, "la la la", 8) == 0, off);
        end();
    }
}

TEST(without_share_no_known_page_is_asked_for)
{
    begin("share", 4000, "yes", NULL);
    CHECK_EQ(say("hello"), 0);
    CHECK(fake.asked.fresh);
    end();
}

TEST(answers_have_their_length_whatever_the_model_would_end)
{
    begin(NULL, 4000, "yes", NULL);
    opts.answers = 24;
    session_close(&s);
    CHECK_EQ(session_new(&s, &app, NULL, &err), 0);
    CHECK_EQ(say("hello"), 0);
    CHECK(fake.asked.ignore_end && fake.asked.max_tokens == 24);
    CHECK_EQ(s.role.answer, 24);
    CHECK(was_told("\"answers\":24"));
    end();
}

CHECK_MAIN
