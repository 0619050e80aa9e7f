/* The screen as a whole, from recorded streams: as it looks (golden screens), and its digits against the events.
 *
 * Golden screens lie in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed. */
#include "tests/ui_rig.h"

#define MIB (INT64_C(1) << 20)

/* ------------------------------------------------------------------ golden screens */

struct size { int columns, rows; bool utf8; };
static const struct size sizes[] = {{80, 24, true},  {120, 36, true},  {200, 60, true}, {40, 10, true},
                                    {80, 24, false}, {120, 36, false}, {40, 10, false}};

static void open_size(const struct size *z, const char *crew)
{
    open_ui((struct ui_setup){.columns = z->columns, .rows = z->rows, .utf8 = z->utf8, .mono = !z->utf8, .live = true,
                              .stored = true, .crew = crew});
}

static void check_sized(const char *what, const struct size *z)
{
    char name[100];
    snprintf(name, sizeof name, "ui-%s-%dx%d-%s", what, z->columns, z->rows, z->utf8 ? "utf8" : "ascii");
    check_golden(name);
}

static void name_crew(void)
{
    put_news(NEWS_AGENT, 1, "researcher");
    put_news(NEWS_AGENT, 1, "writer");
    put_news(NEWS_SESSION, -1, "00ff12ab34cd\n1\n");
}

/* seq: of work.jsonl, where `what` is so. */
static void work_golden(const char *what, int seq, const char *typed)
{
    struct stream s = read_stream("work");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        open_size(&sizes[i], NULL);
        put_news(NEWS_AGENT, 0, "");
        put_news(NEWS_SESSION, 0, "5e55104a77\n3\nwhat does the ship need?");
        play(&s, seq);
        if (typed) press(typed);
        check_sized(what, &sizes[i]);
        close_ui();
    }
    free_stream(&s);
}

TEST(golden_welcome) { work_golden("welcome", 8, NULL); }
TEST(golden_an_answer_streams) { work_golden("streams", 20, NULL); }
TEST(golden_a_tool_was_called_and_its_result_clipped) { work_golden("tool", 44, NULL); }
TEST(golden_summed_up_and_cancelled_and_a_line_is_typed)
{
    work_golden("cancelled", 152, "and now to something else,\nwith a second line");
}

TEST(golden_a_crew_answers_at_once)
{
    struct stream s = read_stream("crew");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        open_size(&sizes[i], "map");
        name_crew();
        put_news(NEWS_BEGUN, 0, "The bridge opens on 3 May.\nThe ferry leaves at nine.");
        play(&s, 53);
        check_sized("crew", &sizes[i]);
        close_ui();
    }
    free_stream(&s);
}

/* ------------------------------------------------------------------ the mode */

/* Of a device, first in the head and so at every width; the CPU has but one. */
TEST(the_mode_of_a_device_is_in_the_head)
{
    static const struct { const char *backend, *mode, *head; } rows[] = {
        {"cuda", "fast", " plimsoll  fast  tiny "}, {"cuda", "exact", " plimsoll  exact  tiny "},
        {"cuda", "", " plimsoll  tiny "}, /* a stream of a version that did not tell */
        {"cpu", "exact", " plimsoll  tiny "}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int columns = 40; columns <= 120; columns += 40) {
            open_live(columns, 24);
            put_event(&(struct event){.kind = EV_SESSION_OPEN, .session_open = {
                .model = event_str("tiny"), .backend = event_str("a GPU"), .mode = event_str(rows[i].mode)}});
            put_event(&(struct event){.kind = EV_MACHINE, .machine = {.backend = event_str(rows[i].backend)}});
            CHECK(row_with(rows[i].head));
            close_ui();
        }
}

/* ------------------------------------------------------------------ digits */

struct told { /* the newest of each kind */
    struct event_memory memory;
    struct event_machine machine;
    struct { char name[40]; struct event_carries carries; } agent[4];
    int agents;
};

static void note(struct told *t, const struct event *e)
{
    if (e->kind == EV_MEMORY) t->memory = e->memory;
    if (e->kind == EV_MACHINE) t->machine = e->machine;
    if (e->kind != EV_CARRIES) return;
    const char *slash = e->agent.len > 0 ? memchr(e->agent.data, '/', e->agent.len) : NULL;
    const int len = (int)(slash ? (size_t)(slash - e->agent.data) : e->agent.len);
    int i = 0;
    char name[40];
    snprintf(name, sizeof name, "%.*s", len, e->agent.data);
    while (i < t->agents && strcmp(t->agent[i].name, name) != 0) i++;
    CHECK(i < 4);
    memcpy(t->agent[i].name, name, sizeof name);
    t->agent[i].carries = e->carries;
    t->agents = MAX(t->agents, i + 1);
}

static int64_t carried(const struct event_carries *c)
{
    return c->system_tokens + c->pinned_tokens + c->summary_tokens + c->history_tokens + c->tool_tokens;
}

static bool near(int64_t a, int64_t b) { return a - b <= 1 && b - a <= 1; }

/* Bytes: each class, their sum, and the ceiling. */
static void check_budget(const struct told *t)
{
    static const char *const words[] = {"weights ", "KV filled ", "KV unfilled ", "work ", "tables ", " free "};
    const struct event_memory *m = &t->memory;
    const char *row = row_with("budget");
    const int64_t whole = number_behind(row, " of ");
    int64_t sum = 0, filled = (m->filled_tokens + m->cached_tokens) * t->machine.token_bytes;
    const int64_t bytes[] = {m->weight_bytes, filled, m->kv_bytes - filled, m->work_bytes, t->machine.table_bytes,
                             m->ceiling_bytes - m->weight_bytes - m->kv_bytes - m->work_bytes - t->machine.table_bytes};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const int64_t n = MAX(number_behind(row, words[i]), 0); /* a part of 0 is not told */
        CHECK(near(n, (bytes[i] + MIB / 2) / MIB));
        sum += n;
    }
    CHECK_EQ(sum, whole);
    CHECK_EQ(whole, m->ceiling_bytes / MIB);
    CHECK_EQ(number_behind(row_with("machine "), " of "), (t->machine.total_bytes + MIB / 2) / MIB);
}

/* Pages: the pool's, those of each state, and that they are all. */
static void check_pages(const struct told *t)
{
    const struct event_memory *m = &t->memory;
    const int64_t page = t->machine.page_tokens;
    const char *row = row_with("pages filled");
    const int64_t own = number_behind(row, "own "), shared = number_behind(row, "shared "),
                  cached = number_behind(row, "cached "), reserved = number_behind(row, "reserved "),
                  open = number_behind(row, " free ");
    CHECK_EQ(own + shared + cached + reserved + open, m->pool_tokens / page);
    CHECK_EQ(number_behind(row, " of "), m->pool_tokens / page);
    CHECK(near(own, (m->filled_tokens - m->shared_tokens) / page) && near(shared, m->shared_tokens / page));
    const char *still = strstr(row, "cached still)"); /* of what is promised */
    const int64_t both = still ? number_behind(row, "(") : 0, promised = m->reserved_tokens - m->filled_tokens;
    CHECK(near(reserved, promised / page)); /* as the ledger has it, whatever is cached */
    const int64_t left = m->pool_tokens - m->filled_tokens - promised;
    CHECK(near(cached, MIN(m->cached_tokens, left) / page));
    if (still) CHECK(near(cached + both, m->cached_tokens / page));
}

static void check_speed(const struct told *t)
{
    const char *row = row_with("pre-fill");
    CHECK_EQ(number_behind(row, " in "), t->machine.prefilled + t->machine.reused);
    CHECK_EQ(number_behind(row, " out "), t->machine.generated);
    CHECK_EQ(number_behind(row, "reused "), t->machine.reused);
    CHECK_EQ(number_behind(row, "queue "), t->memory.waiting);
    if (t->memory.running > 0) CHECK(strstr(row, t->memory.running == 1 ? "1 stream" : "streams"));
}

/* The agent that is looked at: its parts are its context, and what it carries is as it was told. */
static void check_context(const struct told *t, int agent)
{
    static const char *const words[] = {"system", "pinned", "summary", "history", "tool results"};
    const struct event_carries *c = &t->agent[agent].carries;
    const int64_t is[] = {c->system_tokens, c->pinned_tokens, c->summary_tokens, c->history_tokens, c->tool_tokens};
    const char *all = strstr(screen(), "context of");
    int64_t sum = 0;
    CHECK(all != NULL);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        CHECK_EQ(number_behind(all, words[i]), is[i]);
        sum += is[i];
    }
    sum += number_behind(all, "answering") + number_behind(all, "reserved") + number_behind(all, "free ");
    CHECK_EQ(sum, c->ctx);
}

/* "612 / 2,048" below its name: what it carries and what it has written, of its context. */
static void check_side(const struct told *t, int agent)
{
    const struct event_carries *c = &t->agent[agent].carries;
    char ctx[FIGURE], n[FIGURE], want[64];
    figure(ctx, (uint64_t)c->ctx);
    snprintf(want, sizeof want, " / %s", ctx);
    if (t->memory.running == 0) /* else an answer grows in it, too */
        snprintf(want, sizeof want, "%s / %s", figure(n, (uint64_t)carried(c)), ctx);
    SHOWS(want);
}

static bool sample_ends(const struct stream *s, int i)
{
    if (s->event[i].kind != EV_HOLDING && s->event[i].kind != EV_MACHINE) return false;
    return i + 1 == s->n || s->event[i + 1].kind != EV_HOLDING;
}

/* Behind each sample of a stream: the figures on the screen are those of its events. */
static int check_digits(const char *name, const char *crew, int columns, int rows, bool bytes)
{
    struct stream s = read_stream(name);
    struct told t = {0};
    int looks = 0;
    open_ui((struct ui_setup){.columns = columns, .rows = rows, .utf8 = true, .live = true, .crew = crew});
    if (crew) name_crew();
    for (int i = 0; i < s.n; i++) {
        play_one(&s.event[i]);
        note(&t, &s.event[i]);
        if (!sample_ends(&s, i) || t.agents == 0) continue;
        if (bytes) check_budget(&t);
        check_pages(&t);
        check_speed(&t);
        check_side(&t, 0);
        if (rows > 30) check_context(&t, 0);
        looks++;
    }
    close_ui();
    free_stream(&s);
    return looks;
}

TEST(digits_of_a_crew_at_every_sample_are_the_ledgers)
{
    CHECK(check_digits("crew", "map", 200, 60, true) > 25);
    CHECK(check_digits("crew", "map", 180, 36, true) > 25);
}

TEST(digits_of_a_session_with_tools_and_a_summary_are_the_events)
{
    CHECK(check_digits("work", NULL, 200, 60, false) > 6);
}

/* Any figures: the parts that are shown add up to the whole that is shown. */
TEST(digits_of_figures_by_hand_add_up_at_every_width)
{
    uint64_t seed = 12345;
    for (int round = 0; round < 60; round++) {
        struct told t = {0};
        int64_t r[8];
        for (int i = 0; i < 8; i++) r[i] = (int64_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 34);
        t.memory = (struct event_memory){.pool_tokens = 16 * (1000 + r[0] % 9000), .weight_bytes = r[1] % 4000 * MIB,
                                         .work_bytes = r[2] % 300 * MIB, .running = r[7] % 3};
        t.memory.kv_bytes = t.memory.pool_tokens * 6144;
        t.memory.filled_tokens = 16 * (r[3] % 400);
        t.memory.shared_tokens = 16 * (r[4] % 400) % (t.memory.filled_tokens + 16);
        t.memory.shared_tokens = MIN(t.memory.shared_tokens, t.memory.filled_tokens);
        t.memory.reserved_tokens = t.memory.filled_tokens + 16 * (r[5] % 300);
        t.memory.cached_tokens = MIN(16 * (r[7] % 9000), t.memory.pool_tokens - t.memory.filled_tokens);
        t.memory.ceiling_bytes = t.memory.weight_bytes + t.memory.kv_bytes + t.memory.work_bytes + 9 * MIB;
        t.memory.ceiling_bytes += r[6] % 900 * MIB;
        t.memory.ceiling_bytes -= t.memory.ceiling_bytes % MIB;
        t.machine = (struct event_machine){.backend = {"cpu", 3}, .page_tokens = 16, .token_bytes = 6144,
                                           .table_bytes = 3 * MIB, .total_bytes = 64 * 1024 * MIB, .gpu_load = -1,
                                           .gpu_celsius = -1, .gpu_watts = -1, .prefilled = r[1], .generated = r[2],
                                           .reused = r[3]};
        open_live(220, 40);
        put_event(&(struct event){.kind = EV_MEMORY, .time = 1, .memory = t.memory});
        put_event(&(struct event){.kind = EV_MACHINE, .time = 1, .machine = t.machine});
        check_pages(&t);
        check_speed(&t);
        if (t.memory.ceiling_bytes < 9000 * MIB) check_budget(&t);
        for (int columns = 40; columns < 220; columns += 7) {
            ui_resize(ui, columns, 30);
            look();
        }
        close_ui();
    }
}

CHECK_MAIN
