/* session_rig.h - the words of the tests of saved sessions: the program around one session, in a store of its own, over
 * the fake engine; leaving it and coming back; what was told, what the next call would send, and records damaged.
 * Header only, like store_rig.h, which it stands on. */
#ifndef SESSION_RIG_H
#define SESSION_RIG_H
#include "app/session/session.h"
#include "app/session/session_impl.h"
#include "app/signals.h"
#include "tests/fake_engine.h"
#include "tests/store_rig.h"
#include <inttypes.h>
#include <signal.h>

enum { CTX = 4000 };

RIG struct opts opts;
RIG struct app app;
RIG struct session s;
RIG const char *folder;
RIG FILE *told; /* --json goes here */
RIG uint64_t seed = 1234567;

static inline uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- the rest of the program */

RIG const char *(*record)(void); /* what the model answers when it is asked for a summary */
RIG char answer[1 << 15];

static inline const char *good_record(void)
{
    return "Facts:\n- the harbour has nine piers\nDecisions:\nnone\nDone:\nnone\nOpen:\n- count the ships";
}
static inline const char *garbage(void) { return "I would rather not."; }
static inline const char *too_long(void)
{
    static char text[1400];
    size_t n = (size_t)sprintf(text, "Facts:\n");
    while (n < sizeof text - 40) n += (size_t)sprintf(text + n, "- must do thing %d\n", (int)n % 1000);
    return text;
}

static inline bool asks_for_summary(const char *heard)
{
    const char *last = heard;
    for (const char *at = heard; (at = strstr(at, "|user:")) != NULL; at++) last = at;
    return strncmp(last, "|user:Write the summary record", 30) == 0;
}

static inline const char *reply(const char *heard)
{
    fake.endless = false;
    if (!asks_for_summary(heard)) return answer;
    fake.endless = !record;
    return record ? record() : "la ";
}

static inline void say_what(const char *text) { snprintf(answer, sizeof answer, "%s", text); }

static inline void open_app(void)
{
    struct store *store = open_at(folder);
    const struct engine_info *info = fake_begin(answer, CTX);
    static struct out json;
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info, .sampling = {.seed = 1000}};
    fake.reply = reply;
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 300, .json = true};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    told = tmpfile();
    CHECK(told);
    out_init(&json, fileno(told));
    CHECK_EQ(trace_open(&app.trace, &json, NULL, NULL, 0, &err), 0);
    signal(SIGINT, SIG_DFL); /* a background job of a shell's was started with it ignored */
    CHECK_EQ(signals_open(&err), 0);
    OK(keeper_open(&app.keeper, store, &err));
}

static inline void close_app(void)
{
    keeper_close(app.keeper);
    close(app.answers.fd);
    fclose(told);
    buf_free(&fake.heard);
    signals_forget_interrupt();
}

static inline void begin(const char *system)
{
    folder = fresh_dir();
    record = good_record;
    say_what("fine");
    open_app();
    err = (struct err){0};
    CHECK_EQ(session_new(&s, &app, system, &err), 0);
}

static inline void end(void)
{
    CHECK_EQ(session_close(&s), 0);
    close_app();
}

static inline int say(const char *text)
{
    err = (struct err){0};
    int status = session_ask(&s, text, strlen(text), &err);
    session_settle(&s);
    return status;
}

static inline void resume(const char *name)
{
    err = (struct err){0};
    int status = session_resume(&s, &app, name, NULL, &err);
    if (status) check_fail(__FILE__, __LINE__, "resume %s: %s", name, err.text);
}

/* As if the program had been left and started again. */
static inline void leave_and_come_back(void)
{
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(s.keep.head.id, id);
    CHECK_EQ(session_close(&s), 0);
    resume(id);
}

/* All that was written to --json so far. */
static inline const char *events(void)
{
    static struct buf b;
    char part[4096];
    ssize_t n;
    off_t at = 0;
    b.len = 0;
    while ((n = pread(fileno(told), part, sizeof part, at)) > 0) {
        buf_put(&b, part, (size_t)n);
        at += n;
    }
    return b.len ? b.data : "";
}

static inline int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++) n++;
    return n;
}

static inline bool is_saved(uint64_t number)
{
    struct journal_message m;
    struct buf text = {0};
    int rc = keep_message(&s.keep, number, &m, &text, &err);
    buf_free(&text);
    return rc == 0;
}

/* What the next call would send, without asking: the messages as the fake engine would hear them. */
static inline void next_prompt(struct buf *out)
{
    struct window_call c;
    out->len = 0;
    OK(window_build(s.w, &c, &err));
    OK(prompt_make(&s.prompt, turn_calls(s.a), &s.texts, c.items, c.n, &err));
    for (int i = 0; i < s.prompt.n; i++)
        buf_printf(out, "%s:%.*s|", role_name(s.prompt.msgs[i].role), (int)s.prompt.msgs[i].len, s.prompt.msgs[i].text);
}

static inline void check_text(uint64_t number, enum journal_kind kind, const char *text)
{
    const struct text_entry *e = session_text(&s, number, &err);
    if (!e) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_EQ(e->kind, kind);
    CHECK_STR(e->text, text);
}

/* The number of the newest message with this text, in memory or in the store. */
static inline uint64_t number_of(const char *text)
{
    for (uint64_t i = s.keep.head.next; i-- > 0;) {
        const struct text_entry *e = session_text(&s, i, NULL);
        if (e && strcmp(e->text, text) == 0) return i;
    }
    check_fail(__FILE__, __LINE__, "nobody said %s", text);
}

static inline char *long_text(char fill, size_t n)
{
    static char text[850];
    CHECK(n < sizeof text);
    memset(text, fill, n);
    for (size_t i = 9; i < n; i += 10) text[i] = ' ';
    text[n] = '\0';
    return text;
}
/* ---------------------------------------------------------------- damage */

/* Bytes put under a message's number, or the piece of a window: past the program, as damage would. */
static inline void damage(const struct store_key *key)
{
    struct buf bad = {0};
    CHECK_EQ(rec_encode(key->byte[0] == 'P' ? REC_PIECE : REC_MESSAGE, key->byte, key->n, "whatever", 8, &bad), 0);
    bad.data[REC_HEADER] ^= 1;
    plant(folder, "journal", key, bad.data, bad.len);
    buf_free(&bad);
}

RIG uint8_t id[STORE_SESSION_ID]; /* of the session that was left */

static inline void leave(void)
{
    memcpy(id, s.keep.head.id, sizeof id);
    end();
}

static inline void come_back(void)
{
    char name[2 * STORE_SESSION_ID + 1];
    journal_id_text(id, name);
    open_app();
    resume(name);
}

/* All that are kept. */
static inline void lose_windows(void)
{
    for (uint32_t t = 0; t < JOURNAL_SLOTS; t++) {
        char name[16];
        snprintf(name, sizeof name, "window.%u", t);
        struct store_key key = store_key_piece(id, name);
        damage(&key);
    }
}
#endif
