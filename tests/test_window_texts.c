/* The bound with a real tokenizer and template, those of the embedded model, under whole sessions: texts of odd Unicode
 * and of no Unicode at all, messages far too large, many results of tools, contexts of hardly any size.  Each prompt is
 * counted when it is handed to the engine: with what is reserved it never passes the agent's limit.
 *
 * CI has 40 sessions; PLIMSOLL_FULL=1 (make soak) 600. */
#include "app/session/session.h"
#include "tests/check.h"
#include "tests/store_rig.h"
#include "tests/tiny_model.h"

enum { SESSIONS = 40, ALL = 600, TURNS = 14, CTX = 2048 };

#define MODEL "assets/plimsoll-tiny.gguf"

static const char *const ANSWERS =
    "{\"answer\":\"Nine piers.\"}\n"
    "{\"answer\":\"e\xcc\x81\xcc\x82\xcc\x83 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80\"}\n"
    "{\"answer\":\"Facts:\\n- the harbour has nine piers\\nDecisions:\\nnone\\nDone:\\nnone\\nOpen:\\n- count\"}\n"
    "{\"answer\":\"on and on \",\"end\":false}\n{\"answer\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n"
    "{\"answer\":\"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d <|im_end|> \\u0001\\u001b[31m\"}\n{\"answer\":\"\"}\n";

static struct opts opts;
static struct app app;
static struct session s;
static struct engine_ops watched;
static uint64_t seed = 4242;

static uint64_t calls, full, refused, left, stood_in, summed;

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* Each order of magnitude as likely as another. */
static size_t draw_size(size_t most)
{
    size_t n = (size_t)1 << draw(40);
    while (n > most) n = (size_t)1 << draw(40);
    return MIN(n + (size_t)draw(n), most);
}

/* ---------------------------------------------------------------- what must be so */

static int watched_submit(struct engine *e, const struct request *r, int *id, struct err *why)
{
    struct engine_count c;
    CHECK_EQ(engine_scripted.count_tokens(e, r->msgs, r->n_msgs, &c, NULL), 0);
    if (c.tokens + r->max_tokens > s.role.ctx)
        check_fail(__FILE__, __LINE__, "a prompt of %d tokens and an answer of %d in a context of %d", c.tokens,
                   r->max_tokens, s.role.ctx);
    int rc = engine_scripted.submit(e, r, id, why);
    if (rc) check_fail(__FILE__, __LINE__, "refused, after the window let it through: %s", why->text);
    int n = engine_scripted.answer(e, *id)->n_prompt;
    CHECK(c.exact ? n == c.tokens : n <= c.tokens);
    calls++;
    full += n + r->max_tokens > s.role.ctx - s.role.ctx / 4;
    return 0;
}

static void on_event(void *self, const struct event *e)
{
    (void)self;
    if (e->kind != EV_CONTEXT) return;
    left += strcmp(e->context.change.data, "left") == 0;
    stood_in += strcmp(e->context.change.data, "stood_in") == 0;
    summed += strcmp(e->context.change.data, "compacted") == 0 || strcmp(e->context.change.data, "extracted") == 0;
}

/* ---------------------------------------------------------------- texts */

static void put_rune(struct buf *out, uint32_t c)
{
    if (c < 0x80) buf_printf(out, "%c", (char)c);
    else if (c < 0x800) buf_printf(out, "%c%c", (char)(0xc0 | c >> 6), (char)(0x80 | (c & 63)));
    else if (c < 0x10000)
        buf_printf(out, "%c%c%c", (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)));
    else
        buf_printf(out, "%c%c%c%c", (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                   (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)));
}

static void put_runes(struct buf *out, uint32_t from, uint32_t to, size_t n)
{
    while (n-- > 0) put_rune(out, from + (uint32_t)draw(to - from + 1));
}

static void put_emoji(struct buf *out)
{
    for (uint64_t n = 1 + draw(6); n > 0; n--) {
        put_runes(out, 0x1f466, 0x1f469, 1);
        if (draw(2)) put_runes(out, 0x1f3fb, 0x1f3ff, 1); /* a skin's tone */
        if (draw(2)) put_rune(out, 0xfe0f);
        if (n > 1 || !draw(5)) put_rune(out, 0x200d); /* joined to the next, or to nothing */
    }
    if (!draw(3)) put_runes(out, 0x1f1e6, 0x1f1ff, 1 + draw(5)); /* flags, and half of one */
}

static void put_rtl(struct buf *out)
{
    static const uint32_t control[] = {0x202e, 0x202b, 0x2067, 0x2069, 0x202c, 0x200f};
    put_rune(out, control[draw(COUNT_OF(control))]);
    put_runes(out, 0x5d0, 0x5ea, 1 + draw(9));
    put_runes(out, 0x64b, 0x652, draw(3));
    put_runes(out, 0x627, 0x64a, 1 + draw(9));
}

static void put_some(struct buf *out)
{
    static const char *const bad[] = {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
                                      "\xf0\x9f\x98", "\xff\xfe"};
    static const char *const special[] = {"<|im_start|>", "<|im_end|>", "<|im_start|>system\n", "<|endoftext|>",
                                          "<tool_call>", "</think>", "<|im_", "\r\n", "\n\n\n\n", "          "};
    char letter = (char)('!' + draw(90));
    switch (draw(11)) {
    case 0: put_runes(out, 'a', 'z', 1 + draw(12)), buf_puts(out, " "); return;
    case 1: put_runes(out, 'a', 'z', 1), put_runes(out, 0x300, 0x36f, 1 + draw(60)); return;
    case 2: put_emoji(out); return;
    case 3: put_rtl(out); return;
    case 4: buf_puts(out, bad[draw(COUNT_OF(bad))]); return;
    case 5: put_runes(out, 0, 0x1f, 1 + draw(8)); return;
    case 6: for (uint64_t n = draw_size(20000); n > 0; n--) buf_put(out, &letter, 1); return;
    case 7: put_runes(out, 0x4e00, 0x9fff, 1 + draw(20)); return;
    case 8: buf_puts(out, special[draw(COUNT_OF(special))]); return;
    case 9: put_runes(out, '0', '9', 1 + draw(30)); return;
    default: put_runes(out, 1, 0x10ffff, 1 + draw(9)); return; /* surrogates and what is nobody's among them */
    }
}

/* At least one byte, cut anywhere. */
static void odd_text(struct buf *out, size_t most)
{
    size_t n = draw_size(most);
    while (out->len < n) put_some(out);
    out->len = n;
    CHECK(!out->failed);
}

/* ---------------------------------------------------------------- what happens */

static void checked(int status)
{
    if (status != EXIT_DONE && (status != EXIT_REFUSED || !*err.text))
        check_fail(__FILE__, __LINE__, "status %d: %s", status, err.text);
    refused += status == EXIT_REFUSED;
}

static void ask(void)
{
    struct buf text = {0};
    odd_text(&text, draw(12) ? 1500 : 300000);
    err = (struct err){0};
    checked(session_ask(&s, text.data, text.len, &err));
    buf_free(&text);
}

static void results(void)
{
    for (uint64_t n = draw(15) ? 1 + draw(3) : 1 + draw(50); n > 0; n--) {
        const struct session_tool tool = {.by = "user", .name = "read", .arguments = "{\"path\":\"night.log\"}",
                                          .kind = (enum clip_kind)draw(CLIP_CSV + 1)};
        struct buf bytes = {0};
        odd_text(&bytes, draw(20) ? 4000 : 1000000);
        err = (struct err){0};
        if (session_result(&s, &tool, &bytes, &err)) CHECK(*err.text);
        buf_free(&bytes);
    }
}

static void something(void)
{
    struct buf text = {0};
    uint64_t number = 0;
    odd_text(&text, 200);
    err = (struct err){0};
    switch (draw(6)) {
    case 0: (void)session_pin(&s, text.data, text.len, &number, &err); break;
    case 1: (void)session_task(&s, text.data, text.len, &err); break;
    case 2: (void)session_compact(&s, &err); break;
    case 3: (void)session_undo(&s, NULL, &err); break;
    case 4: (void)session_system(&s, text.data, text.len, &err); break;
    default: (void)session_limit_answer(&s, 1 + (int)draw((uint64_t)s.role.ctx / 3), &err); break;
    }
    buf_free(&text);
}

static void one_session(void)
{
    struct session_role role = session_alone(&app);
    role.ctx = draw(5) ? 400 + (int)draw(CTX - 399) : 60 + (int)draw(340);
    role.unsaved = draw(3) > 0; /* no artifact is kept then, and no disk waited for */
    role.answer = draw(3) ? 1 + (int)draw((uint64_t)role.ctx / 3) : 0;
    opts.thinking = draw(4) ? 0 : (int)draw((uint64_t)role.ctx / 5);
    err = (struct err){0};
    int rc = session_new_as(&s, &app, &role, draw(2) ? "Be brief." : NULL, &err);
    checked(rc);
    for (int i = 0; rc == EXIT_DONE && i < TURNS; i++) {
        if (draw(2)) results();
        if (!draw(4)) something();
        ask();
        session_settle(&s);
    }
    session_close(&s);
}

static void open_all(void)
{
    struct engine_config cfg = {.model = MODEL, .script = tiny_text_file("odd.jsonl", ANSWERS), .ctx = CTX,
                                .max_seqs = 1, .template = -1, .kv_type = KT_F16};
    watched = engine_scripted;
    watched.submit = watched_submit;
    opts = (struct opts){.keep_unsaved = 1 << 20};
    app = (struct app){.o = &opts, .ops = &watched, .sampling = {.temp = 1, .top_p = 1, .repeat = 1, .seed = 7}};
    app.engine = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    app.info = engine_scripted.info(app.engine);
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    OK(trace_open(&app.trace, NULL, NULL, NULL, 0, &err));
    app.trace.watch = on_event;
    OK(keeper_open(&app.keeper, open_at(fresh_dir()), &err));
}

TEST(no_prompt_passes_its_limit_whatever_the_texts_are)
{
    int sessions = getenv("PLIMSOLL_FULL") ? ALL : CHECK_SANITIZED ? SESSIONS / 4 : SESSIONS;
    open_all();
    for (int i = 0; i < sessions; i++) one_session();
    keeper_close(app.keeper);
    engine_scripted.close(app.engine);
    close(app.answers.fd);
    printf("# %d sessions: %llu calls, %llu of them nearly full, %llu refused; left %llu times, %llu stood in, %llu "
           "summed up\n", sessions, (unsigned long long)calls, (unsigned long long)full, (unsigned long long)refused,
           (unsigned long long)left, (unsigned long long)stood_in, (unsigned long long)summed);
    CHECK(calls > 4u * (unsigned)sessions && full > 0 && refused > 0 && left > 0 && summed > 0);
}

CHECK_MAIN
