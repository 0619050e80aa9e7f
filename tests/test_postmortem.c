/* A post-mortem of records that nobody in his right mind would write: any event with any figures and texts, lines that
 * are none, and what one session says of itself beside another. */
#include "app/learn/postmortem.h"
#include "app/session/event.h"
#include "tests/store_rig.h"
#include <jansson.h>

static uint64_t seed = 88172645463325252u;
static struct store *s;
static struct doc_flight *d;

static void save(const uint8_t id[STORE_SESSION_ID], int64_t at_ms, const struct buf *flight, const struct buf *event,
                 int events)
{
    struct journal_batch b = {0};
    struct journal_head h = {.title = "of a test", .created_ms = at_ms, .updated_ms = at_ms, .artifacts = 1,
                             .next = (uint64_t)events + 1};
    memcpy(h.id, id, sizeof h.id);
    memcpy(b.session, id, sizeof b.session);
    journal_add_piece(&b, "flight", flight->data, flight->len);
    for (int i = 0; i < events; i++) journal_add_event(&b, (uint64_t)i, event[i].data, event[i].len);
    journal_add_head(&b, &h);
    OK(journal_write(s, &b, NULL, &err));
    journal_batch_free(&b);
}

static void look(const char *what)
{
    free(d);
    CHECK((d = calloc(1, sizeof *d)) != NULL);
    d->now_ms = 2000;
    OK(postmortem_read(s, &(struct postmortem_ask){.what = what}, d, &err));
}

/* As JSON it is an object; as a text it has so many lines. */
static size_t lines_of_text(void)
{
    struct buf text = {0}, json = {0};
    size_t n = 0;
    postmortem_text(d, 80, &text);
    postmortem_json(d, &json);
    CHECK(!text.failed && !json.failed);
    for (size_t i = 0; i < text.len; i++) n += text.data[i] == '\n';
    json_t *o = json_loadb(json.data, json.len, 0, NULL);
    CHECK(o);
    json_decref(o);
    buf_free(&text);
    buf_free(&json);
    return n;
}

static void put(struct buf *out, struct event e)
{
    e.seq = 1;
    CHECK_EQ(event_write(&e, out), 0);
}

TEST(what_it_says_of_one_session_is_not_another_ones)
{
    struct buf ended = {0}, died = {0};
    OK(store_open(&s, fresh_dir(), NULL, &err));
    put(&ended, (struct event){.kind = EV_MEMORY, .memory = {.pool_tokens = 64, .waiting = 1}});
    put(&ended, (struct event){.kind = EV_MACHINE, .machine = {.queue_first = event_str("ada"), .queue_pages = 7}});
    put(&ended, (struct event){.kind = EV_SESSION_CLOSE, .session_close = {
        .termination_reason = event_str("completed")}});
    put(&died, (struct event){.kind = EV_HOLDING, .holding = {.owner = event_str("bob")}});
    save(ada, 1000, &ended, NULL, 0);
    save(bob, 900, &died, NULL, 0);
    look("");
    CHECK_EQ(d->end, FLIGHT_DIED);
    CHECK_STR(d->end_reason, "");
    CHECK_STR(d->queue_first, "");
    CHECK_EQ(d->queue_pages, 0);
    put(&ended, (struct event){.kind = EV_MEMORY, .memory = {.pool_tokens = 64}}); /* it went on */
    save(ada, 1000, &ended, NULL, 0);
    look("61646127"); /* "ada'" */
    CHECK_EQ(d->end, FLIGHT_DIED);
    CHECK_STR(d->end_reason, "");
    CHECK_EQ(d->queue_pages, 0);
    store_close(s);
    buf_free(&ended);
    buf_free(&died);
}

/* As on the screen: the tables, in which the texts are, count once. */
TEST(what_is_taken_has_the_tables)
{
    struct buf flight = {0};
    OK(store_open(&s, fresh_dir(), NULL, &err));
    put(&flight, (struct event){.kind = EV_MEMORY, .memory = {
        .pool_tokens = 64, .weight_bytes = 600, .kv_bytes = 2400, .work_bytes = 400, .text_bytes = 70,
        .ceiling_bytes = 9000}});
    put(&flight, (struct event){.kind = EV_MACHINE, .machine = {.table_bytes = 200}});
    save(ada, 1000, &flight, NULL, 0);
    look("last");
    CHECK_EQ(d->sample[0].taken, 3600);
    store_close(s);
    buf_free(&flight);
}

/* No name of an event, and no sentence that begins small. */
TEST(an_end_and_a_holder_without_a_name_are_said_in_words)
{
    struct buf flight = {0}, words = {0};
    char end[240];
    OK(store_open(&s, fresh_dir(), NULL, &err));
    put(&flight, (struct event){.kind = EV_MEMORY, .memory = {.pool_tokens = 64}});
    put(&flight, (struct event){.kind = EV_HOLDING, .holding = {.history_tokens = 9}});
    put(&flight, (struct event){.kind = EV_MACHINE});
    put(&flight, (struct event){.kind = EV_SESSION_CLOSE, .session_close = {
        .termination_reason = event_str("refused_kv")}});
    save(ada, 1000, &flight, NULL, 0);
    look("last");
    postmortem_end(d, end);
    CHECK(strstr(end, "It ended properly (a call did not fit its context or the KV pool)"));
    postmortem_words(d, &words);
    CHECK(words.data && strstr(words.data, ". The only agent held 9 of 64 tokens."));
    store_close(s);
    buf_free(&flight);
    buf_free(&words);
}

TEST(a_name_or_an_error_makes_no_lines_of_its_own)
{
    size_t lines[2];
    for (int i = 0; i < 2; i++) {
        const struct event_str text = event_str(i ? "a\nIt ended properly (completed).\r\tb"
                                                  : "a It ended properly (completed).  b");
        struct buf flight = {0}, error = {0};
        OK(store_open(&s, fresh_dir(), NULL, &err));
        put(&flight, (struct event){.kind = EV_MEMORY, .memory = {.pool_tokens = 64, .waiting = 1}});
        put(&flight, (struct event){.kind = EV_HOLDING, .holding = {.owner = text, .history_tokens = 9}});
        put(&flight, (struct event){.kind = EV_MACHINE, .machine = {.queue_first = text, .queue_pages = 7}});
        put(&error, (struct event){.kind = EV_ERROR, .error = {.text = text}});
        error.len--; /* a record has no newline */
        save(ada, 1000, &flight, &error, 1);
        look("last");
        CHECK_EQ(d->errors, 1);
        lines[i] = lines_of_text();
        store_close(s);
        buf_free(&flight);
        buf_free(&error);
    }
    CHECK_EQ(lines[1], lines[0]);
}

static int64_t any_figure(void)
{
    static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, 1, INT32_MAX, (int64_t)1 << 50, 48, 4096};
    return rig_draw(&seed, 2) ? odd[rig_draw(&seed, COUNT_OF(odd))] : (int64_t)rig_draw(&seed, 5000);
}

static struct event_str any_text(void)
{
    static const char *const each[] = {
        "", "\x1b[2J\x1b]0;x\x07", "a\nb", "refused_kv", "completed", "KV pool", "weights", "no-limit", "first-fit",
        "reserve", "open", "context", "pool", "turn", "requests", "host", "queue", "refused", "x\xc2\x9bz", "%s%n"};
    return event_str(each[rig_draw(&seed, COUNT_OF(each))]);
}

static void any_event(struct buf *out)
{
    struct event e = {.kind = (enum event_kind)rig_draw(&seed, EVENT_KINDS), .seq = any_figure(), .agent = any_text()};
    const struct event_info *info = event_info(e.kind);
    e.time = rig_draw(&seed, 2) ? (double)rig_draw(&seed, 1000) : -1e300;
    for (size_t i = 0; i < info->n_fields; i++) {
        void *at = (char *)&e + info->fields[i].at;
        switch (info->fields[i].type) {
        case EVENT_INT: *(int64_t *)at = any_figure(); break;
        case EVENT_REAL: *(double *)at = 1e308; break;
        case EVENT_STR: *(struct event_str *)at = any_text(); break;
        case EVENT_BOOL: *(bool *)at = rig_draw(&seed, 2); break;
        }
    }
    const size_t from = out->len;
    event_write(&e, out);
    if (out->len > from && rig_draw(&seed, 15) == 0) /* a byte is another */
        out->data[from + rig_draw(&seed, out->len - from)] = (char)rig_draw(&seed, 256);
}

TEST(any_records_are_told_of_within_bounds)
{
    enum { EVENTS = 60 };
    OK(store_open(&s, fresh_dir(), NULL, &err));
    for (int round = 0; round < (CHECK_SANITIZED ? 100 : 300); round++) {
        struct buf flight = {0}, event[EVENTS] = {{0}};
        for (uint64_t n = rig_draw(&seed, 300); n > 0; n--) any_event(&flight);
        for (int i = 0; i < EVENTS; i++) {
            any_event(&event[i]);
            event[i].len -= event[i].len > 0;
        }
        save(ada, 1 + (int64_t)rig_draw(&seed, 4000), &flight, event, EVENTS);
        look("");
        CHECK(d->samples <= FLIGHT_SAMPLES && d->owners <= FLIGHT_OWNERS && d->errors <= FLIGHT_ERRORS);
        CHECK(lines_of_text() < 400);
        buf_free(&flight);
        for (int i = 0; i < EVENTS; i++) buf_free(&event[i]);
    }
    store_close(s);
    free(d);
    d = NULL;
}

CHECK_MAIN
