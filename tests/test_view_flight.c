/* The post-mortem: its words and figures by made-up recorders, and what is read of real, damaged and hostile ones. */
#include "app/console.h"
#include "app/tui/view_flight.h"
#include "tests/session_rig.h"
#include "tests/stored_rig.h"

static struct doc_flight flight;
static struct doc doc;

/* Four agents on a pool that fills. */
static void begin_flight(void)
{
    setenv("TZ", "UTC", 1);
    flight = (struct doc_flight){
        .id = "4f2a91c0d1e2f30415263748596a7b8c", .title = "Why does the nightly job die after an hour?",
        .model = "plimsoll-tiny", .now_ms = 1790000000000, .created_ms = 1790000000000 - 7200000,
        .updated_ms = 1790000000000 - 300000, .turns = 12, .end = FLIGHT_DIED, .samples = 12, .owners = 3,
        .queue_first = "writer", .queue_pages = 120, .errors = 2,
        .owner = {{.name = "researcher", .running = 1, .tokens = 40210, .shared = 2048, .bytes = 40210 * 6144ll},
                  {.name = "planner", .running = 1, .waiting = 1, .tokens = 20100, .shared = 2048,
                   .bytes = 20100 * 6144ll},
                  {.name = "critic", .waiting = 2, .tokens = 4000, .parked = 1, .bytes = 4000 * 6144ll}},
        .error = {{.turn = 11, .what = "refused", .text = "the turn needs 71,200 tokens; the pool has 65,536"},
                  {.what = "error", .text = "turn 12 is not saved yet: no space left on the device"}},
    };
    for (int i = 0; i < flight.samples; i++)
        flight.sample[i] = (struct flight_sample){
            .time = 100 + i * 2.5, .pool = 65536, .filled = 9000 + i * 5000, .reserved = 14000 + i * 4680,
            .shared = 2048, .cached = i < 5 ? 4000 : 0, .running = 2, .waiting = MAX(0, i - 8),
            .parked = i > 9, .taken = 480ll << 20, .ceiling = 512ll << 20, .most = "researcher",
            .most_tokens = 4000 + i * 3000};
    doc = (struct doc){.ask = {.kind = DOC_FLIGHT}, .data = &flight};
    open_view(&view_flight, &doc);
}

TEST(flight_looks)
{
    begin_flight();
    check_goldens("flight");
    close_view();
}

TEST(flight_of_a_session_that_ended_looks)
{
    begin_flight();
    flight.end = FLIGHT_ENDED;
    snprintf(flight.end_reason, sizeof flight.end_reason, "completed");
    flight.sample[11] = (struct flight_sample){.time = 130, .pool = 65536, .cached = 9000};
    flight.owners = flight.errors = 0;
    flight.queue_pages = 0;
    check_golden("flight-ended-80x24");
    close_view();
}

/* ---------------------------------------------------------------- words */

static void check_words(const char *part)
{
    size(200, 60);
    if (!shows(part)) check_fail(__FILE__, __LINE__, "\"%s\" is not in\n%s", part, shown());
}

TEST(flight_says_how_it_ended_and_what_was_going_on)
{
    begin_flight();
    struct flight_sample *last = &flight.sample[11];
    check_words("It died: its program ended without closing it. Saved last 5 minutes ago, after turn 12.");
    check_words("The KV pool was full: 3 requests waited; the first, of writer, needed 120 pages.");
    check_words("1 request was parked: others needed its pages.");
    check_words("researcher held the most, 40,210 of 65,536 tokens.");
    flight.queue_pages = 0;
    check_words("The KV pool was full: 3 requests waited. ");
    last->filled = last->reserved = 1000;
    check_words("The engine was busy: 3 requests waited.");
    last->waiting = 0;
    check_words("2 requests ran, and the KV pool had room.");
    last->taken = last->ceiling;
    check_words("Memory was full: 512 MiB of 512 MiB");
    last->taken = 0;
    last->running = last->parked = 0;
    check_words("Nothing ran");
    flight.end = FLIGHT_OPEN_HERE;
    check_words("It lives: it is open here.");
    flight.end = FLIGHT_OPEN_ELSEWHERE;
    snprintf(flight.where, sizeof flight.where, "session 4f is open in process 77");
    check_words("It lives: session 4f is open in process 77");
    flight.samples = flight.owners = 0;
    check_words("no figure was saved with it");
    close_view();
}

TEST(flight_has_its_verdict)
{
    begin_flight();
    flight.judged = true;
    flight.verdict = (struct verdict){.cause = CAUSE_GROWTH, .sure = SURE_GUESS, .stack = STACK_PLIMSOLL,
                                      .what = "97 % of the pool was filled"};
    verdict_evidence(&flight.verdict, "prompts grow by %d tokens a turn", 190);
    check_words("Out of memory: growth with turns");
    check_words("a guess; in plimsoll");
    check_words("97 % of the pool was filled");
    check_words("prompts grow by 190 tokens a turn");
    close_view();
}

static uint64_t number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    uint64_t n = 0;
    if (!at) check_fail(__FILE__, __LINE__, "%s is not shown", word);
    for (at += strlen(word); (*at >= '0' && *at <= '9') || *at == ',' || *at == ' '; at++)
        if (*at >= '0' && *at <= '9') n = n * 10 + (uint64_t)(*at - '0');
        else if (*at == ' ' && n) break;
    return n;
}

/* The parts that are shown are the pool, whatever a store says of them. */
TEST(flight_pool_adds_up)
{
    uint64_t chance = 4;
    begin_flight();
    size(120, 60);
    for (int i = 0; i < 300; i++) {
        struct flight_sample *last = &flight.sample[11];
        last->pool = 1 + (int64_t)rig_draw(&chance, 1 << 20);
        last->filled = (int64_t)rig_draw(&chance, 1 << 20);
        last->reserved = (int64_t)rig_draw(&chance, 1 << 20);
        last->cached = (int64_t)rig_draw(&chance, 1 << 20);
        const char *text = strstr(shown(), "The KV pool   at the last");
        CHECK(text != NULL);
        const uint64_t filled = number_before(text, " filled "), reserved = number_before(text, " reserved "),
                       kept = number_before(text, " cached "), left = number_before(text, " free ");
        CHECK_EQ(filled, MIN(last->filled, last->pool));
        CHECK(MAX(MAX(filled, reserved), MAX(kept, left)) <= (uint64_t)last->pool);
        CHECK_EQ(filled + reserved + kept + left, last->pool);
        CHECK_EQ(number_before(text, " of "), last->pool);
    }
    close_view();
}

TEST(flight_table_has_every_sample)
{
    begin_flight();
    size(120, 60);
    CHECK(shows("     0.0         2         3         1    64,000     1,480        56  researcher"));
    CHECK(shows("    27.5         2         0         0     9,000     5,000    51,536  researcher"));
    close_view();
}

/* ---------------------------------------------------------------- keys */

TEST(flight_keys)
{
    begin_flight();
    CHECK(press(KEY_ENTER));
    CHECK_STR(ordered(), "/resume 4f2a91c0d1e2f30415263748596a7b8c");
    CHECK(got.leave);
    CHECK(type("s"));
    CHECK_EQ(got.go, VIEW_SESSIONS);
    CHECK(type("r"));
    CHECK_EQ(got.ask.kind, DOC_FLIGHT);
    CHECK_STR(got.ask.what, flight.id);
    flight.end = FLIGHT_OPEN_HERE;
    press(KEY_ENTER);
    CHECK_STR(ordered(), "");
    CHECK(got.leave);
    CHECK(!press(KEY_ESCAPE));
    CHECK(!press(KEY_F6));
    struct doc_ask asked = {0};
    ops->ask(viewed, surface_all(&screen), &in, &asked);
    CHECK_EQ(asked.kind, DOC_NONE);
    in.doc = NULL;
    ops->ask(viewed, surface_all(&screen), &in, &asked);
    CHECK_EQ(asked.kind, DOC_FLIGHT);
    CHECK_STR(asked.what, "");
    CHECK(shows("reading the store"));
    close_view();
}

TEST(flight_scrolls_to_its_last_row_and_no_further)
{
    begin_flight();
    size(40, 10);
    CHECK(shows("It died"));
    CHECK(!shows("27.5"));
    for (int i = 0; i < 200; i++) press(KEY_DOWN);
    CHECK(shows("27.5"));
    press(KEY_UP);
    CHECK(!shows("27.5"));
    press(KEY_END);
    size(120, 100); /* all fits */
    CHECK(shows("It died"));
    CHECK(shows("27.5"));
    close_view();
}

TEST(flight_that_failed_says_why)
{
    const struct doc failed = {.ask = {.kind = DOC_FLIGHT}, .error = "no session begins with 77"};
    begin_flight();
    in.doc = &failed;
    CHECK(shows("no session begins with 77"));
    CHECK(!press(KEY_DOWN));
    close_view();
}

TEST(flight_of_any_figures_and_texts_stays_in_its_box)
{
    static const char part[] = "\x1b[31m\xe2\x80\xae\xf0\x9f\x91\xa8\xe2\x80\x8d\t\xff\xe6\x97\xa5\n\x9b";
    begin_flight();
    for (size_t k = 0; k + 1 < sizeof flight.error[0].text; k++)
        flight.error[0].text[k] = part[k % (sizeof part - 1)];
    memcpy(flight.title, flight.error[0].text, sizeof flight.title - 1);
    for (int i = 0; i < FLIGHT_SAMPLES; i++)
        flight.sample[i] = (struct flight_sample){.time = i % 2 ? 1e308 : -1e308, .pool = i % 3 ? FLIGHT_FIGURE : 0,
                                                  .filled = FLIGHT_FIGURE, .reserved = FLIGHT_FIGURE,
                                                  .waiting = FLIGHT_FIGURE, .most_tokens = 1};
    flight.samples = FLIGHT_SAMPLES;
    for (int i = 0; i < FLIGHT_OWNERS; i++) {
        memcpy(flight.owner[i].name, flight.error[0].text, FLIGHT_NAME - 1);
        flight.owner[i].tokens = flight.owner[i].bytes = FLIGHT_FIGURE;
    }
    flight.owners = FLIGHT_OWNERS;
    memset(flight.queue_first, 'q', FLIGHT_NAME - 1);
    check_stays_in_its_box();
    for (int i = 0; i < 9; i++) press(KEY_PAGE_DOWN);
    check_stays_in_its_box();
    close_view();
}

/* ---------------------------------------------------------------- of a real store */

static struct console c;
static struct member member;

static struct doc collected(const char *what)
{
    struct doc d = {.ask = {.kind = DOC_FLIGHT}};
    snprintf(d.ask.what, sizeof d.ask.what, "%s", what);
    session_settle(&s); /* nothing points to it any more: it can be moved, and moved back */
    member = (struct member){.s = s, .open = true};
    c = (struct console){.a = &app, .s = &member.s, .team = {.a = &app, .member = &member, .n = 1}};
    doc_flight(&c, &d);
    s = member.s;
    return d;
}

static void other_session(void)
{
    CHECK_EQ(session_new(&s, &app, NULL, &err), 0);
}

TEST(flight_of_a_session_that_was_closed_ended)
{
    char name[33];
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    journal_id_text(s.keep.head.id, name);
    struct doc d = collected(name);
    const struct doc_flight *f = d.data;
    CHECK_STR(d.error, "");
    CHECK_EQ(f->end, FLIGHT_OPEN_HERE);
    CHECK_STR(f->id, name);
    CHECK_EQ(f->turns, 1);
    doc_free(&d);
    CHECK_EQ(session_close(&s), 0);
    other_session();
    d = collected("");
    f = d.data;
    CHECK(f != NULL);
    CHECK_STR(f->id, name);
    CHECK_EQ(f->end, FLIGHT_ENDED);
    CHECK_STR(f->end_reason, "completed");
    CHECK_EQ(f->unread, 0);
    doc_free(&d);
    end();
}

/* In a child, which is gone before it closes anything. */
static int dies(const char *dir)
{
    folder = dir;
    record = good_record;
    say_what("fine");
    open_app();
    if (session_new(&s, &app, NULL, &err)) return 1;
    if (say("one") || say("two")) return 2;
    return 0;
}

TEST(flight_of_a_session_whose_program_was_killed_died)
{
    const char *dir = fresh_dir();
    CHECK_EQ(in_child(dies, dir), 0);
    folder = dir;
    open_app();
    other_session();
    struct doc d = collected("");
    const struct doc_flight *f = d.data;
    if (!f) check_fail(__FILE__, __LINE__, "%s", d.error);
    CHECK_EQ(f->end, FLIGHT_DIED);
    CHECK_EQ(f->turns, 2);
    CHECK_STR(f->title, "one");
    doc_free(&d);
    char name[33];
    snprintf(name, sizeof name, "last");
    CHECK_EQ(session_close(&s), 0);
    resume(name); /* opened and left, nothing was said: it is still the one that died */
    CHECK_EQ(session_close(&s), 0);
    other_session();
    d = collected("last");
    CHECK_EQ(((const struct doc_flight *)d.data)->end, FLIGHT_DIED);
    doc_free(&d);
    CHECK_EQ(session_close(&s), 0);
    resume("last");
    CHECK_EQ(say("three"), 0); /* it went on, and is closed */
    CHECK_EQ(session_close(&s), 0);
    other_session();
    d = collected("last");
    CHECK_EQ(((const struct doc_flight *)d.data)->end, FLIGHT_ENDED);
    doc_free(&d);
    end();
}

TEST(flight_without_another_session_says_so)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    struct doc d = collected("");
    CHECK(!d.data);
    CHECK(strstr(d.error, "no session but this one"));
    d = collected("zz");
    CHECK(!d.data);
    CHECK(*d.error);
    end();
}

/* A recorder of these lines, written past the session. */
static struct doc recorded(const char *lines, size_t n)
{
    char name[33];
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    journal_id_text(s.keep.head.id, name);
    leave();
    struct store *store = open_at(folder);
    const struct store_key key = store_key_piece(id, "flight");
    store_begin(store, STORE_JOURNAL);
    OK(store_put(store, &key, REC_PIECE, lines, n, &err));
    OK(store_commit(store, &err));
    store_close(store);
    open_app();
    other_session();
    struct doc d = collected(name);
    if (!d.data) check_fail(__FILE__, __LINE__, "%s", d.error);
    end();
    return d;
}

static void put_memory(struct buf *b, double time, int64_t filled, int64_t waiting)
{
    const struct event e = {.kind = EV_MEMORY, .time = time, .memory = {
        .pool_tokens = 1000, .filled_tokens = filled, .reserved_tokens = filled, .running = 1, .waiting = waiting,
        .weight_bytes = 10, .kv_bytes = 20, .work_bytes = 30, .text_bytes = 40, .ceiling_bytes = 500}};
    CHECK_EQ(event_write(&e, b), 0);
}

static void put_holding(struct buf *b, const char *who, int64_t tokens)
{
    const struct event e = {.kind = EV_HOLDING, .holding = {
        .owner = event_str(who), .running = 1, .system_tokens = tokens / 2, .answer_tokens = tokens - tokens / 2,
        .kv_bytes = tokens}};
    CHECK_EQ(event_write(&e, b), 0);
}

TEST(flight_lines_are_read)
{
    struct buf b = {0};
    put_memory(&b, 1, 10, 0);
    put_holding(&b, "old", 999);
    put_memory(&b, 2, 900, 3);
    put_holding(&b, "ann", 100);
    put_holding(&b, "bob", 501);
    put_holding(&b, "cid", 299);
    struct event m = {.kind = EV_MACHINE, .machine = {.backend = event_str("cpu"), .queue_first = event_str("bob"),
                                                      .queue_pages = 12}};
    CHECK_EQ(event_write(&m, &b), 0);
    struct doc d = recorded(b.data, b.len);
    const struct doc_flight *f = d.data;
    CHECK_EQ(f->end, FLIGHT_DIED);
    CHECK_EQ(f->samples, 2);
    CHECK_EQ(f->sample[1].filled, 900);
    CHECK_EQ(f->sample[1].waiting, 3);
    CHECK_EQ(f->sample[1].taken, 100);
    CHECK_STR(f->sample[0].most, "old");
    CHECK_STR(f->sample[1].most, "bob");
    CHECK_EQ(f->sample[1].most_tokens, 501);
    CHECK_EQ(f->owners, 3);
    CHECK_STR(f->owner[0].name, "bob");
    CHECK_STR(f->owner[1].name, "cid");
    CHECK_STR(f->owner[2].name, "ann");
    CHECK_EQ(f->owner[1].tokens, 299);
    CHECK_STR(f->queue_first, "bob");
    CHECK_EQ(f->queue_pages, 12);
    CHECK_EQ(f->unread, 0);
    doc_free(&d);
    buf_free(&b);
}

TEST(flight_that_goes_on_behind_an_end_has_not_ended)
{
    struct buf b = {0};
    const struct event e = {.kind = EV_SESSION_CLOSE, .session_close = {.termination_reason = event_str("cancelled")}};
    put_memory(&b, 1, 10, 0);
    CHECK_EQ(event_write(&e, &b), 0);
    struct doc d = recorded(b.data, b.len);
    CHECK_EQ(((const struct doc_flight *)d.data)->end, FLIGHT_ENDED);
    CHECK_STR(((const struct doc_flight *)d.data)->end_reason, "cancelled");
    doc_free(&d);
    put_memory(&b, 2, 10, 0);
    d = recorded(b.data, b.len);
    CHECK_EQ(((const struct doc_flight *)d.data)->end, FLIGHT_DIED);
    doc_free(&d);
    buf_free(&b);
}

TEST(flight_of_too_many_lines_keeps_the_last)
{
    struct buf b = {0};
    for (int i = 0; i < 200; i++) put_memory(&b, i, i, 0);
    for (int i = 0; i < 100; i++) {
        char who[24];
        snprintf(who, sizeof who, "agent%d", i);
        put_holding(&b, who, (i * 37) % 101);
    }
    struct doc d = recorded(b.data, b.len);
    const struct doc_flight *f = d.data;
    CHECK_EQ(f->samples, FLIGHT_SAMPLES);
    CHECK_EQ(f->sample[FLIGHT_SAMPLES - 1].filled, 199);
    CHECK_EQ(f->sample[0].filled, 200 - FLIGHT_SAMPLES);
    CHECK_EQ(f->owners, FLIGHT_OWNERS);
    for (int i = 1; i < f->owners; i++) CHECK(f->owner[i - 1].tokens >= f->owner[i].tokens);
    CHECK_EQ(f->owner[0].tokens, 100);
    doc_free(&d);
    buf_free(&b);
}

TEST(flight_lines_that_lie_are_brought_into_bounds_or_counted)
{
    struct buf b = {0};
    uint64_t chance = 12;
    put_holding(&b, "before any memory", 5);
    put_memory(&b, 1, INT64_MIN, INT64_MAX);
    put_holding(&b, "a name of more than forty bytes that is cut \xe6\x97\xa5\xe6\x97\xa5", INT64_MAX);
    buf_puts(&b, "not json\n{}\n{\"schema_version\":1}\n");
    for (int i = 0; i < 3000; i++) {
        const char any = (char)rig_draw(&chance, 256);
        buf_put(&b, &any, 1);
    }
    struct doc d = recorded(b.data, b.len);
    const struct doc_flight *f = d.data;
    CHECK_EQ(f->samples, 1);
    CHECK_EQ(f->sample[0].filled, 0);
    CHECK_EQ(f->sample[0].waiting, FLIGHT_FIGURE);
    CHECK_EQ(f->owners, 1);
    CHECK(strlen(f->owner[0].name) < FLIGHT_NAME);
    CHECK(f->unread > 3);
    open_view(&view_flight, &d);
    check_stays_in_its_box();
    size(200, 60);
    CHECK(shows("are not understood"));
    close_view();
    doc_free(&d);
    buf_free(&b);
}

static int refuse(struct err *e) { return err_set(e, ENGINE_FAULT, "the device is lost"); }

TEST(flight_has_the_sessions_last_errors)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    fake.refuse = refuse;
    for (int i = 0; i < 12; i++) CHECK_EQ(say("two"), EXIT_ENGINE);
    fake.refuse = NULL;
    CHECK_EQ(say("three"), 0);
    struct doc d = collected("last");
    const struct doc_flight *f = d.data;
    CHECK_EQ(f->errors, FLIGHT_ERRORS);
    CHECK(strstr(f->error[FLIGHT_ERRORS - 1].text, "the device is lost"));
    CHECK(f->error[FLIGHT_ERRORS - 1].turn > 0);
    doc_free(&d);
    end();
}

CHECK_MAIN
