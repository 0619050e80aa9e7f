/* A conversation over an engine of this file's own: what enters it, what does not, and who is told. */
#include "app/session/session.h"
#include "app/signals.h"
#include "tests/check.h"
#include "tests/fake_engine.h"
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the rest of the program */

static struct opts opts;
static struct app app;
static struct session s;
static struct err err;
enum { CTX = 100 };

static int reader; /* our end of what the program calls stdout */

static void begin(const char *says, const char *system)
{
    int p[2];
    CHECK(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
    const struct engine_info *info = fake_begin(says, CTX);
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info, .sampling = {.seed = 1000}};
    err = (struct err){0};
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8};
    reader = p[0];
    out_init(&app.answers, p[1]);
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
    signal(SIGINT, SIG_DFL); /* a background job of a shell's was started with it ignored */
    CHECK_EQ(signals_open(&err), 0);
    signals_of_writes();
    CHECK_EQ(session_new(&s, &app, system, &err), 0);
}

static int say(const char *text)
{
    err = (struct err){0};
    return session_ask(&s, text, strlen(text), &err);
}

/* What came out since the last call. */
static const char *shown(void)
{
    static char text[1 << 16];
    ssize_t n = read(reader, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool add_text(void *self, uint64_t id)
{
    static const char *const role[JOURNAL_KINDS] = {[JOURNAL_SYSTEM] = "system", [JOURNAL_USER] = "user",
                                                    [JOURNAL_ANSWER] = "assistant"};
    const struct text_entry *e = session_text(&s, id, &err);
    CHECK(e && role[e->kind]);
    buf_printf(self, "%s:%.*s|", role[e->kind], (int)e->len, e->text);
    return true;
}

/* The conversation as "role:text|". */
static const char *said(void)
{
    static struct buf b;
    b.len = 0;
    window_each(s.w, add_text, &b);
    return b.len ? b.data : "";
}

static void anew(int max_tokens)
{
    session_close(&s);
    opts.max_tokens = max_tokens;
    CHECK_EQ(session_new(&s, &app, NULL, &err), 0);
}

static void end(void)
{
    CHECK(!fake.open);
    session_close(&s);
    close(app.answers.fd);
    close(reader);
    buf_free(&fake.heard);
    signals_forget_interrupt();
}

/* ---------------------------------------------------------------- what enters */

TEST(session_a_turn_and_its_answer_enter_the_conversation)
{
    begin("fine", "be kind");
    CHECK_EQ(say("how are you"), 0);
    CHECK_STR(shown(), "fine\n");
    CHECK_STR(said(), "system:be kind|user:how are you|assistant:fine|");
    CHECK_EQ(say("good"), 0);
    CHECK_STR(fake.heard.data, "system:be kind|user:how are you|assistant:fine|user:good|");
    CHECK_EQ(fake.dropped, 2);
    CHECK_EQ(s.last.n_tokens, 4);
    CHECK_EQ(s.last.end, END_STOP);
    end();
}

TEST(session_an_answer_that_ends_its_line_gets_no_second_newline)
{
    begin("a\n", NULL);
    CHECK_EQ(say("x"), 0);
    CHECK_STR(shown(), "a\n");
    fake.says = "";
    CHECK_EQ(say("x"), 0);
    CHECK_STR(shown(), "\n"); /* an empty answer is still one */
    CHECK_STR(said(), "user:x|assistant:a\n|user:x|assistant:|");
    end();
}

TEST(session_bytes_of_any_kind_are_kept)
{
    begin("ok", NULL);
    CHECK_EQ(session_ask(&s, "a\0\xff", 3, &err), 0);
    const struct text_entry *e = session_text(&s, 1, &err);
    CHECK(e && e->kind == JOURNAL_USER);
    CHECK_EQ(e->len, 3);
    CHECK_MEM(e->text, "a\0\xff", 3);
    end();
}

TEST(session_refused_turn_leaves_the_conversation_as_it_was)
{
    char big[CTX + 50];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    begin("fine", NULL);
    CHECK_EQ(say("hello"), 0);
    shown();
    CHECK_EQ(say(big), EXIT_REFUSED);
    CHECK(strstr(err.text, "context 100"));
    CHECK_STR(shown(), "");
    CHECK_STR(said(), "user:hello|assistant:fine|");
    CHECK_STR(app.reason, "refused_kv");
    CHECK_EQ(say("still there?"), 0);
    CHECK_STR(said(), "user:hello|assistant:fine|user:still there?|assistant:fine|");
    end();
}

static int bad_request(struct err *e) { return err_set(e, ENGINE_BAD_REQUEST, "top-p is nan"); }
static int no_memory(struct err *e) { return err_set(e, ENGINE_NO_MEMORY, "no memory"); }
static int queue_full(struct err *e) { return err_set(e, ENGINE_QUEUE_FULL, "8 wait"); }
static int broken(struct err *e) { return err_set(e, ENGINE_FAULT, "broken"); }

TEST(session_each_refusal_has_its_exit_status)
{
    begin("fine", NULL);
    fake.refuse = bad_request;
    CHECK_EQ(say("x"), EXIT_USAGE);
    fake.refuse = no_memory;
    CHECK_EQ(say("x"), EXIT_REFUSED);
    CHECK_STR(app.reason, "refused_host");
    fake.refuse = queue_full;
    CHECK_EQ(say("x"), EXIT_REFUSED);
    fake.refuse = broken;
    CHECK_EQ(say("x"), EXIT_ENGINE);
    CHECK_STR(err.text, "broken");
    CHECK_STR(said(), "");
    CHECK_EQ(app.turns, 0);
    end();
}

TEST(session_failed_turn_is_withdrawn_and_says_why)
{
    begin("fine", NULL);
    fake.fault_at = 4;
    CHECK_EQ(say("hello"), EXIT_ENGINE);
    CHECK_STR(err.text, "device lost");
    CHECK_STR(shown(), "fi\n");
    CHECK_STR(said(), "");
    fake.fault_at = 0;
    CHECK_EQ(say("hello"), 0);
    CHECK_STR(said(), "user:hello|assistant:fine|");
    end();
}

TEST(session_engine_that_stops_without_an_end_is_a_failure)
{
    begin("fine", NULL);
    fake.mute = true;
    CHECK_EQ(say("hello"), EXIT_ENGINE);
    CHECK(strstr(err.text, "without ending"));
    CHECK_STR(said(), "");
    end();
}

TEST(session_no_token_left_is_an_input_error)
{
    begin("fine", NULL);
    fake.no_token = true;
    CHECK_EQ(say("hello"), EXIT_USAGE);
    CHECK(strstr(err.text, "no token"));
    CHECK_STR(said(), "");
    end();
}

/* ---------------------------------------------------------------- Ctrl-C */

TEST(session_interrupted_answer_stays_as_far_as_it_was_said)
{
    begin("la ", NULL);
    fake.endless = true;
    fake.interrupt_at = 6;
    CHECK_EQ(say("sing"), 128 + SIGINT);
    CHECK(fake.steps <= 7); /* within one pass */
    CHECK_STR(shown(), "la la\n");
    CHECK_STR(said(), "user:sing|assistant:la la|");
    signals_forget_interrupt();
    fake.endless = false;
    fake.interrupt_at = 0;
    fake.says = "yes";
    CHECK_EQ(say("done?"), 0);
    CHECK_STR(fake.heard.data, "user:sing|assistant:la la|user:done?|");
    end();
}

TEST(session_interrupted_before_the_first_word_withdraws_the_turn)
{
    begin("la ", NULL);
    fake.interrupt_at = 1;
    CHECK_EQ(say("sing"), 128 + SIGINT);
    CHECK_STR(said(), "");
    CHECK_STR(shown(), "");
    signals_forget_interrupt();
    end();
}

TEST(session_is_cancelled_when_nobody_reads_any_more)
{
    begin("la ", NULL);
    fake.endless = true;
    close(reader);
    CHECK_EQ(say("sing"), EXIT_INTERNAL);
    CHECK(fake.cancelled);
    CHECK_EQ(out_status(&app.answers, "stdout", &err), 141);
    reader = open("/dev/null", O_RDONLY);
    end();
}

/* ---------------------------------------------------------------- figures */

TEST(session_without_n_an_answer_may_take_what_the_context_leaves)
{
    begin("la ", NULL);
    fake.endless = true;
    CHECK_EQ(say("123456789"), 0);
    CHECK_EQ(fake.asked.max_tokens, CTX - 10);
    CHECK_EQ(s.last.end, END_LENGTH);
    CHECK_EQ(s.last.n_prompt + s.last.n_tokens, CTX);
    CHECK_EQ(say("x"), EXIT_REFUSED); /* full */
    anew(5);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.max_tokens, 5);
    session_close(&s);
    opts.max_tokens = CTX;
    CHECK_EQ(session_new(&s, &app, NULL, &err), EXIT_REFUSED); /* what was asked for explicitly is not made smaller */
    end();
}

TEST(session_each_turn_draws_with_a_seed_of_its_own)
{
    begin("a", NULL);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.sampling.seed, 1000);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.sampling.seed, 1001);
    end();
}

TEST(session_system_message_is_set_replaced_and_taken_away)
{
    begin("a", NULL);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(session_system(&s, "one", 3, &err), 0);
    CHECK_STR(said(), "system:one|user:x|assistant:a|");
    CHECK_EQ(session_system(&s, "two!", 4, &err), 0);
    CHECK_STR(said(), "system:two!|user:x|assistant:a|");
    CHECK_STR(session_system_text(&s)->text, "two!");
    CHECK_EQ(session_system(&s, "", 0, &err), 0);
    CHECK_STR(said(), "user:x|assistant:a|");
    CHECK_EQ(session_system(&s, "", 0, &err), 0);
    CHECK(!session_system_text(&s));
    end();
}

/* ---------------------------------------------------------------- events */

static enum event_kind next_event(char **at, struct event *e)
{
    char *newline = strchr(*at, '\n');
    CHECK(newline);
    err = (struct err){0};
    if (event_read(*at, (size_t)(newline - *at), e, &err)) CHECK_STR(err.text, "");
    *at = newline + 1;
    return e->kind;
}

/* What a call carries changes around the others. */
static enum event_kind next_but_carries(char **at, struct event *e)
{
    while (next_event(at, e) == EV_CARRIES) event_free(e);
    return e->kind;
}

TEST(session_with_json_the_events_tell_the_whole_story)
{
    struct event e;
    struct buf text = {0};
    int64_t seq = 0;
    bool ended = false;
    begin("fine", NULL);
    opts.json = true;
    CHECK_EQ(trace_open(&app.trace, &app.answers, NULL, NULL, 0, &err), 0);
    CHECK_EQ(say("how\nare \"you\""), 0);
    fake.refuse = queue_full;
    CHECK_EQ(say("more"), EXIT_REFUSED);
    char *at = (char *)(uintptr_t)shown();
    CHECK_EQ(next_but_carries(&at, &e), EV_TURN_USER);
    CHECK_EQ(e.turn_user.text.len, 13);
    event_free(&e);
    CHECK_EQ(next_but_carries(&at, &e), EV_TURN_START);
    CHECK_EQ(e.turn_start.prompt_tokens + e.turn_start.max_tokens, e.turn_start.reserved_tokens);
    event_free(&e);
    while (*at) {
        enum event_kind kind = next_event(&at, &e);
        CHECK(e.seq > seq);
        seq = e.seq;
        if (kind == EV_TEXT) buf_put(&text, e.text.text.data, e.text.text.len);
        if (kind == EV_TURN_END) {
            ended = true;
            CHECK_STR(e.turn_end.end.data, "stop");
            CHECK_STR(e.turn_end.termination_reason.data, "completed");
            CHECK_STR(e.turn_end.text.data, text.data);
            CHECK_EQ(e.turn_end.tokens, 4);
        }
        if (kind == EV_REFUSAL) {
            CHECK(ended);
            CHECK_EQ(e.refusal.turn, 2);
            CHECK_STR(e.refusal.termination_reason.data, "refused_kv");
            CHECK_STR(e.refusal.text.data, "8 wait");
        }
        event_free(&e);
    }
    CHECK(ended);
    CHECK_STR(text.data, "fine");
    buf_free(&text);
    end();
}

static void note_prefill(void *self, const struct event *e)
{
    if (e->kind == EV_PREFILL) buf_printf(self, "%d/%d ", (int)e->prefill.done, (int)e->prefill.of);
}

/* A large pass is several steps, and each tells how far the prompt is. */
TEST(session_a_prompt_that_got_no_further_in_a_step_is_not_told_again)
{
    struct buf told = {0};
    char want[64];
    begin("fine", NULL);
    app.trace.watch = note_prefill, app.trace.watcher = &told;
    fake.amid = 2;
    CHECK_EQ(say("how are you"), 0);
    const int n = fake.a.n_prompt;
    snprintf(want, sizeof want, "%d/%d %d/%d ", n / 2, n, n, n);
    CHECK(n > 3);
    CHECK_STR(told.data, want);
    buf_free(&told);
    end();
}

CHECK_MAIN
