/* A conversation over an engine of this file's own: what enters it, what does not, and who is told. */
#include "app/chat.h"
#include "app/signals.h"
#include "tests/check.h"
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the engine: one request at a time, a byte a token */

enum { CTX = 100, ROOM = 256 };

struct engine {
    const char *says;    /* the answer */
    int fault_at;        /* the step that fails; 0: none */
    int interrupt_at;    /* the step in which Ctrl-C comes; 0: none */
    bool endless, mute;  /* never ends of itself; stops without an end */
    bool no_token;
    int (*refuse)(struct err *err); /* NULL: it admits */

    int steps, dropped;
    bool open, cancelled;
    struct request asked; /* its figures; pointers are not to be followed later */
    struct buf heard;     /* the messages, "role:text|" each */
    struct answer a;
    char text[ROOM];
    struct engine_token token[ROOM];
};

static struct engine fake;
static const struct engine_info info = {.maker = "fake", .template = "chatml", .ctx = CTX};

static const struct engine_info *fake_info(const struct engine *e) { return e == &fake ? &info : NULL; }
static const struct vocab *fake_vocab(const struct engine *e) { return (void)e, NULL; }
static const struct answer *fake_answer(struct engine *e, int id) { return id == 7 ? &e->a : NULL; }

static int fake_count(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    (void)e, (void)err;
    *out = (struct engine_count){.exact = true};
    for (int i = 0; i < n; i++) out->tokens += (int)msgs[i].len + 1;
    return 0;
}

static int fake_submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    struct engine_count count;
    CHECK(!e->open);
    if (e->refuse) return e->refuse(err);
    fake_count(e, r->msgs, r->n_msgs, &count, err);
    if (count.tokens + r->max_tokens > CTX)
        return err_set(err, ENGINE_NEVER_FITS, "%d + %d tokens, context %d", count.tokens, r->max_tokens, CTX);
    e->asked = *r;
    e->open = true;
    e->steps = 0;
    e->cancelled = false;
    e->a = (struct answer){.id = 7, .n_prompt = count.tokens, .max_tokens = r->max_tokens, .text = e->text,
                           .token = e->token};
    buf_free(&e->heard);
    for (int i = 0; i < r->n_msgs; i++)
        buf_printf(&e->heard, "%s:%.*s|", role_name(r->msgs[i].role), (int)r->msgs[i].len, r->msgs[i].text);
    *id = 7;
    return 0;
}

static int fake_cancel(struct engine *e, int id)
{
    CHECK_EQ(id, 7);
    e->cancelled = true;
    return 0;
}

static void fake_drop(struct engine *e, int id)
{
    CHECK_EQ(id, 7);
    e->open = false;
    e->dropped++;
}

static int end_with(struct engine *e, struct engine_event *ev, enum engine_end end)
{
    e->a.end = (int)end;
    ev[0] = (struct engine_event){.kind = ENGINE_END, .id = 7, .n = e->a.n_tokens, .end = end};
    return 1;
}

static int fake_step(struct engine *e, struct engine_event *ev, int cap, struct err *err)
{
    CHECK(cap >= 1 && e->open);
    size_t n = (size_t)e->a.n_tokens, len = strlen(e->says);
    e->steps++;
    if (e->steps == e->interrupt_at) raise(SIGINT);
    if (e->cancelled) return end_with(e, ev, END_CANCELLED);
    if (e->steps == e->fault_at) {
        e->a.end = END_FAULT;
        snprintf(e->a.fault, sizeof e->a.fault, "device lost");
        return err_set(err, ENGINE_FAULT, "device lost");
    }
    if (e->steps == 1) {
        ev[0] = (struct engine_event){.kind = ENGINE_PREFILL, .id = 7, .n = e->a.n_prompt, .of = e->a.n_prompt};
        return 1;
    }
    if (e->mute) return 0;
    if (e->no_token) return end_with(e, ev, END_NO_TOKEN);
    if (n == len && !e->endless) return end_with(e, ev, END_STOP);
    if ((int)n == e->a.max_tokens) return end_with(e, ev, END_LENGTH);
    e->text[n] = e->says[n % len];
    e->a.text_len = n + 1;
    e->a.n_tokens = (int)n + 1;
    ev[0] = (struct engine_event){.kind = ENGINE_ADVANCED, .id = 7, .n = (int)n + 1};
    return 1;
}

static void fake_snapshot(const struct engine *e, struct engine_snapshot *out)
{
    *out = (struct engine_snapshot){.pool_tokens = CTX, .running = e->open};
}

static const struct engine_ops ops = {
    .name = "fake", .info = fake_info, .vocab = fake_vocab, .count_tokens = fake_count, .submit = fake_submit,
    .answer = fake_answer, .cancel = fake_cancel, .drop = fake_drop, .step = fake_step, .snapshot = fake_snapshot,
};

/* ---------------------------------------------------------------- the rest of the program */

static struct opts opts;
static struct app app;
static struct chat chat;
static struct err err;
static int reader; /* our end of what the program calls stdout */

static void begin(const char *says, const char *system)
{
    int p[2];
    CHECK(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
    buf_free(&fake.heard);
    fake = (struct engine){.says = says};
    app = (struct app){.o = &opts, .ops = &ops, .engine = &fake, .info = &info, .sampling = {.seed = 1000}};
    err = (struct err){0};
    opts = (struct opts){0};
    reader = p[0];
    out_init(&app.answers, p[1]);
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
    CHECK_EQ(signals_open(&err), 0);
    signals_ignore_pipe();
    CHECK_EQ(chat_open(&chat, &app, system, &err), 0);
}

static int say(const char *text)
{
    err = (struct err){0};
    return chat_ask(&chat, text, strlen(text), &err);
}

/* What came out since the last call. */
static const char *shown(void)
{
    static char text[1 << 16];
    ssize_t n = read(reader, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* The conversation as "role:text|". */
static const char *said(void)
{
    static struct buf b;
    b.len = 0;
    buf_puts(&b, "");
    for (int i = 0; i < chat.n; i++)
        buf_printf(&b, "%s:%.*s|", role_name(chat.msgs[i].role), (int)chat.msgs[i].len, chat.msgs[i].text);
    return b.len ? b.data : "";
}

static void end(void)
{
    CHECK(!fake.open);
    chat_close(&chat);
    close(app.answers.fd);
    close(reader);
    buf_free(&fake.heard);
    signals_forget_interrupt();
}

/* ---------------------------------------------------------------- what enters */

TEST(chat_a_turn_and_its_answer_enter_the_conversation)
{
    begin("fine", "be kind");
    CHECK_EQ(say("how are you"), 0);
    CHECK_STR(shown(), "fine\n");
    CHECK_STR(said(), "system:be kind|user:how are you|assistant:fine|");
    CHECK_EQ(say("good"), 0);
    CHECK_STR(fake.heard.data, "system:be kind|user:how are you|assistant:fine|user:good|");
    CHECK_EQ(fake.dropped, 2);
    CHECK_EQ(chat.last.n_tokens, 4);
    CHECK_EQ(chat.last.end, END_STOP);
    end();
}

TEST(chat_an_answer_that_ends_its_line_gets_no_second_newline)
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

TEST(chat_bytes_of_any_kind_are_kept)
{
    begin("ok", NULL);
    CHECK_EQ(chat_ask(&chat, "a\0\xff", 3, &err), 0);
    CHECK_EQ(chat.msgs[0].len, 3);
    CHECK_MEM(chat.msgs[0].text, "a\0\xff", 3);
    end();
}

TEST(chat_refused_turn_leaves_the_conversation_as_it_was)
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

TEST(chat_each_refusal_has_its_exit_status)
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
    CHECK_EQ(chat.n, 0);
    CHECK_EQ(app.turns, 0);
    end();
}

TEST(chat_failed_turn_is_withdrawn_and_says_why)
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

TEST(chat_engine_that_stops_without_an_end_is_a_failure)
{
    begin("fine", NULL);
    fake.mute = true;
    CHECK_EQ(say("hello"), EXIT_ENGINE);
    CHECK(strstr(err.text, "without ending"));
    CHECK_STR(said(), "");
    end();
}

TEST(chat_no_token_left_is_an_input_error)
{
    begin("fine", NULL);
    fake.no_token = true;
    CHECK_EQ(say("hello"), EXIT_USAGE);
    CHECK(strstr(err.text, "no token"));
    CHECK_STR(said(), "");
    end();
}

/* ---------------------------------------------------------------- Ctrl-C */

TEST(chat_interrupted_answer_stays_as_far_as_it_was_said)
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

TEST(chat_interrupted_before_the_first_word_withdraws_the_turn)
{
    begin("la ", NULL);
    fake.interrupt_at = 1;
    CHECK_EQ(say("sing"), 128 + SIGINT);
    CHECK_STR(said(), "");
    CHECK_STR(shown(), "");
    signals_forget_interrupt();
    end();
}

TEST(chat_is_cancelled_when_nobody_reads_any_more)
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

TEST(chat_without_n_an_answer_may_take_what_the_context_leaves)
{
    begin("la ", NULL);
    fake.endless = true;
    CHECK_EQ(say("123456789"), 0);
    CHECK_EQ(fake.asked.max_tokens, CTX - 10);
    CHECK_EQ(chat.last.end, END_LENGTH);
    CHECK_EQ(chat.last.n_prompt + chat.last.n_tokens, CTX);
    CHECK_EQ(say("x"), EXIT_REFUSED); /* full */
    chat_clear(&chat);
    opts.max_tokens = 5;
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.max_tokens, 5);
    opts.max_tokens = CTX;
    CHECK_EQ(say("x"), EXIT_REFUSED); /* what was asked for explicitly is not made smaller */
    end();
}

TEST(chat_each_turn_draws_with_a_seed_of_its_own)
{
    begin("a", NULL);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.sampling.seed, 1000);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(fake.asked.sampling.seed, 1001);
    end();
}

TEST(chat_system_message_is_set_replaced_taken_away_and_survives_clear)
{
    begin("a", NULL);
    CHECK_EQ(say("x"), 0);
    CHECK_EQ(chat_system(&chat, "one", 3, &err), 0);
    CHECK_STR(said(), "system:one|user:x|assistant:a|");
    CHECK_EQ(chat_system(&chat, "two!", 4, &err), 0);
    CHECK_STR(said(), "system:two!|user:x|assistant:a|");
    chat_clear(&chat);
    CHECK_STR(said(), "system:two!|");
    CHECK_EQ(chat_system(&chat, "", 0, &err), 0);
    CHECK_STR(said(), "");
    CHECK_EQ(chat_system(&chat, "", 0, &err), 0);
    chat_clear(&chat);
    CHECK_STR(said(), "");
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

TEST(chat_with_json_the_events_tell_the_whole_story)
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
    CHECK_EQ(next_event(&at, &e), EV_TURN_USER);
    CHECK_EQ(e.turn_user.text.len, 13);
    event_free(&e);
    CHECK_EQ(next_event(&at, &e), EV_TURN_START);
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

CHECK_MAIN
