/* The timeline: as it looks (golden screens), that its figures are those of the samples under the cursor, and that the
 * cursor goes where keys send it. */
#include "app/tui/view.h"
#include "tests/check.h"

#include <math.h>

/* ------------------------------------------------------------------ a session, made up */

#define MIB (INT64_C(1) << 20)
#define S(text) event_str(text)

static void put(struct state *s, const char *agent, double time, struct event e)
{
    e.agent = S(agent);
    e.time = time;
    state_event(s, &e);
}

#define PUT(s, agent, time, KIND, member, ...) \
    put(s, agent, time, (struct event){.kind = KIND, .member = (struct event_##member){__VA_ARGS__}})

struct moment { int64_t filled, shared, cached, reserved, prefilled, generated; };

static void sample(struct state *s, double time, const struct moment *m, int64_t running, int64_t waiting)
{
    PUT(s, "", time, EV_MEMORY, memory, .pool_tokens = 4096, .reserved_tokens = m->reserved,
        .filled_tokens = m->filled, .shared_tokens = m->shared, .cached_tokens = m->cached, .running = running,
        .waiting = waiting, .weight_bytes = 18 * MIB, .kv_bytes = 24 * MIB, .work_bytes = 6 * MIB,
        .ceiling_bytes = 64 * MIB);
    PUT(s, "", time, EV_MACHINE, machine, .backend = S("cpu"), .page_tokens = 16, .token_bytes = 6 << 10,
        .prefilled = m->prefilled, .generated = m->generated);
}

/* Turns of two to five seconds, one after the other: pre-fill, then decode; the context grows until it is summed up. */
static void session(struct state *s)
{
    static const char *const name[] = {"planner", "researcher", "critic"};
    struct moment m = {0};
    double now = 0.5;
    state_open(s);
    PUT(s, "", 0, EV_SESSION_OPEN, session_open, .model = S("plimsoll-tiny"), .ctx = 2048);
    for (int i = 0; i < 3; i++) state_name(s, name[i]);
    for (int turn = 0; turn < 20; turn++) {
        const char *who = name[turn % 3];
        int64_t prompt = 300 + 90 * (turn % 12), tokens = 60 + 7 * turn;
        m.reserved = prompt + 256;
        m.shared = turn % 3 ? 160 : 0;
        PUT(s, who, now, EV_TURN_START, turn_start, .turn = turn / 3 + 1, .call = 1, .prompt_tokens = prompt,
            .shared_tokens = m.shared, .max_tokens = 256);
        for (m.filled = m.shared; m.filled < prompt; m.filled = MIN(m.filled + 110, prompt), now += 0.1) {
            sample(s, now, &m, 1, turn % 5 == 4);
            m.prefilled += 110;
        }
        for (int64_t i = 0; i < tokens; i += 3, now += 0.1, m.filled += 3, m.generated += 3)
            sample(s, now, &m, 1, turn % 5 == 4);
        PUT(s, who, now, EV_TURN_END, turn_end, .turn = turn / 3 + 1, .call = 1, .end = S("stop"), .tokens = tokens,
            .prompt_tokens = prompt, .decode_rate = 30);
        m.cached = MIN(m.cached + m.filled / 2, 2400);
        m.filled = m.shared = m.reserved = 0;
        sample(s, now, &m, 0, 0);
        if (turn == 11) PUT(s, who, now, EV_SUMMARY, summary, .by = S("model"), .what = S("m2-m21"), .tokens = 140);
        if (turn == 14)
            PUT(s, who, now, EV_REFUSAL, refusal, .turn = 6, .text = S("needs 310 pages, the pool has 256"));
        if (turn == 16) PUT(s, who, now, EV_TOOL, tool, .by = S("model"), .name = S("search"), .bytes = 41388,
                            .tokens = 318, .artifact = S("a7"));
        now += 0.7;
    }
}

/* ------------------------------------------------------------------ screens */

struct shown {
    struct surface s;
    struct state *state;
    struct view_in in;
    void *view;
};

static struct shown opened(int columns, int rows, enum glyphs glyphs)
{
    struct shown t = {.state = calloc(1, sizeof *t.state), .view = view_timeline.open()};
    struct err err;
    CHECK(t.state && t.view && surface_open(&t.s, columns, rows, &err) == 0);
    t.in = (struct view_in){.state = t.state, .glyphs = glyphs};
    return t;
}

static void closed(struct shown *t)
{
    view_timeline.close(t->view);
    surface_close(&t->s);
    state_close(t->state);
    free(t->state);
}

static void draw(struct shown *t) { view_timeline.draw(t->view, &t->s, surface_all(&t->s), &t->in); }

static struct view_out press(struct shown *t, enum key_name name, uint32_t rune, unsigned mods)
{
    struct view_out out = {.agent = -1};
    struct key k = {.name = name, .rune = rune, .mods = mods};
    CHECK(view_timeline.key(t->view, &k, &t->in, &out));
    draw(t);
    return out;
}

static void check_golden(const char *name, const struct buf *screen)
{
    char path[200], block[4096];
    struct buf want = {0};
    snprintf(path, sizeof path, "tests/fixtures/screens/%s.txt", name);
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(screen->data, 1, screen->len, f) == screen->len && fclose(f) == 0);
    }
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(&want, block, n);
    fclose(f);
    CHECK_STR(screen->data, want.data);
    buf_free(&want);
}

static void check_screen(int columns, int rows, enum glyphs glyphs, int back)
{
    char name[80];
    struct shown t = opened(columns, rows, glyphs);
    struct buf out = {0};
    session(t.state);
    draw(&t);
    for (int i = 0; i < back; i++) press(&t, KEY_LEFT, 0, 0);
    surface_dump_looks(&t.s, &out);
    snprintf(name, sizeof name, "view-timeline-%dx%d%s", columns, rows, glyphs == GLYPHS_ASCII ? "-ascii" : "");
    check_golden(name, &out);
    buf_free(&out);
    closed(&t);
}

TEST(golden_80x24) { check_screen(80, 24, GLYPHS_UTF8, 0); }
TEST(golden_80x24_ascii) { check_screen(80, 24, GLYPHS_ASCII, 20); }
TEST(golden_120x36) { check_screen(120, 36, GLYPHS_UTF8, 30); }
TEST(golden_120x36_ascii) { check_screen(120, 36, GLYPHS_ASCII, 0); }
TEST(golden_200x60) { check_screen(200, 60, GLYPHS_UTF8, 60); }
TEST(golden_40x10) { check_screen(40, 10, GLYPHS_UTF8, 5); }

/* ------------------------------------------------------------------ digits */

/* The row of the screen that begins with a word. */
static void row_of(const struct shown *t, const char *begins, char out[1024])
{
    struct buf all = {0};
    surface_dump(&t->s, &all);
    for (char *line = all.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, begins, strlen(begins))) continue;
        snprintf(out, 1024, "%.*s", (int)MIN(strcspn(line, "\n"), (size_t)1023), line);
        buf_free(&all);
        return;
    }
    check_fail(__FILE__, __LINE__, "no row begins with %s", begins);
}

/* The number behind a word of a row. */
static int64_t number(const char *row, const char *word)
{
    const char *p = strstr(row, word);
    int64_t n = 0;
    if (!p) check_fail(__FILE__, __LINE__, "%s is not in: %s", word, row);
    for (p += strlen(word) + 1; (*p >= '0' && *p <= '9') || *p == ','; p++)
        if (*p != ',') n = 10 * n + *p - '0';
    return n;
}

static void check_moment(const struct shown *t, const char *begins, const struct timeline_sample *m)
{
    char row[1024];
    row_of(t, begins, row);
    CHECK_EQ(number(row, "own"), m->filled - m->shared);
    CHECK_EQ(number(row, "shared"), m->shared);
    CHECK_EQ(number(row, "cached"), m->cached);
    CHECK_EQ(number(row, "reserved"), m->reserved);
    CHECK_EQ(number(row, "own") + number(row, "shared") + number(row, "cached") + number(row, "reserved") +
                 number(row, "free"), 4096);
}

TEST(digits_are_those_of_the_sample_under_the_cursor)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    session(t.state);
    const struct timeline *line = &t.state->timeline;
    draw(&t);
    check_moment(&t, "now", &line->sample[line->samples - 1]);
    for (int i = 0; i < 12; i++) press(&t, KEY_CHAR, '+', 0); /* as near as it goes: a column is a sample's time */
    press(&t, KEY_HOME, 0, 0);
    int seen = 0;
    for (int i = 0; i < 600; i++) {
        int at = timeline_at(line, i * (double)line->each);
        if (i > 0) press(&t, KEY_RIGHT, 0, 0);
        if (at < 0) continue;
        check_moment(&t, "at", &line->sample[at]);
        seen++;
    }
    CHECK(seen > 500);
    press(&t, KEY_LEFT, 0, KEY_SHIFT);
    check_moment(&t, "at", &line->sample[timeline_at(line, 589 * (double)line->each)]);
    closed(&t);
}

/* A column that stands for many samples shows the fullest of them, though it is one among ten. */
TEST(a_column_shows_when_most_was_in_use)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    char row[1024];
    state_open(t.state);
    for (int i = 0; i < 1600; i++) {
        struct moment m = {.filled = i == 804 ? 3000 : 100, .reserved = i == 804 ? 3200 : 1100};
        sample(t.state, i * 0.125, &m, 1, 0);
    }
    draw(&t);
    press(&t, KEY_LEFT, 0, 0);
    for (int i = 0; i < 120; i++) {
        row_of(&t, "at", row);
        if (number(row, "own") == 3000) break;
        press(&t, KEY_LEFT, 0, 0);
    }
    CHECK_EQ(number(row, "own"), 3000);
    CHECK_EQ(number(row, "reserved"), 200);
    CHECK_EQ(number(row, "free"), 896);
    closed(&t);
}

/* ------------------------------------------------------------------ where the cursor goes */

static bool has(const struct shown *t, const char *text)
{
    struct buf out = {0};
    surface_dump(&t->s, &out);
    bool found = strstr(out.data, text) != NULL;
    buf_free(&out);
    return found;
}

/* The text of the row that is marked as selected. */
static void selected(const struct shown *t, char out[1024])
{
    size_t n = 0;
    for (int y = 0; y < t->s.rows; y++) {
        const struct cell *row = &t->s.cell[y * t->s.columns];
        if (!(row[0].look.attr & LOOK_REVERSE)) continue;
        for (int x = 0; x < t->s.columns; x++)
            n += (size_t)snprintf(out + n, 1024 - n, "%s", *row[x].text ? row[x].text : " ");
        return;
    }
    check_fail(__FILE__, __LINE__, "no row is selected");
}

TEST(the_list_follows_the_cursor_and_leads_it)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    char row[1024];
    session(t.state);
    draw(&t);
    CHECK(has(&t, "now  "));
    selected(&t, row);
    CHECK(strstr(row, "turn 7 ended (stop): 193 tokens")); /* the newest */
    press(&t, KEY_HOME, 0, 0);
    CHECK(has(&t, "at 0:00.0"));
    selected(&t, row);
    CHECK(strstr(row, "turn 1 began: 300 tokens")); /* the last in the first column */
    press(&t, KEY_DOWN, 0, 0);
    selected(&t, row);
    CHECK(strstr(row, "turn 1 ended"));
    row_of(&t, "at", row);
    CHECK(!strstr(row, "at 0:00.0"));
    for (int i = 0; i < 40; i++) { /* to the refusal */
        selected(&t, row);
        if (strstr(row, "refused")) break;
        press(&t, KEY_CHAR, 'j', 0);
    }
    CHECK(strstr(row, "refused: needs 310 pages"));
    struct view_out out = press(&t, KEY_ENTER, 0, 0);
    CHECK_EQ(out.agent, 2);
    CHECK_EQ(out.go, VIEW_AGENTS);
    press(&t, KEY_END, 0, 0);
    CHECK(has(&t, "now  "));
    closed(&t);
}

/* One event after the other, also where several are in one column. */
TEST(every_event_can_be_reached)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    char row[1024], before[1024] = "";
    session(t.state);
    draw(&t);
    for (int i = 0; i < t.state->timeline.marks; i++) {
        if (i > 0) press(&t, KEY_UP, 0, 0);
        selected(&t, row);
        CHECK(strcmp(row, before) != 0);
        memcpy(before, row, sizeof row);
    }
    CHECK(strstr(row, "plimsoll opened plimsoll-tiny"));
    closed(&t);
}

TEST(it_follows_the_session_until_it_is_held)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    struct moment m = {.filled = 777, .reserved = 800};
    session(t.state);
    draw(&t);
    sample(t.state, 130, &m, 1, 0);
    draw(&t);
    CHECK(has(&t, "own 777"));
    press(&t, KEY_LEFT, 0, 0);
    CHECK(!has(&t, "own 777"));
    m.filled = 888;
    sample(t.state, 131, &m, 1, 0);
    draw(&t);
    CHECK(!has(&t, "own 888"));
    press(&t, KEY_RIGHT, 0, 0);
    press(&t, KEY_RIGHT, 0, 0);
    CHECK(has(&t, "now  ") && has(&t, "own 888"));
    press(&t, KEY_LEFT, 0, 0);
    CHECK(has(&t, "at "));
    press(&t, KEY_RIGHT, 0, 0);
    CHECK(has(&t, "now  "));
    closed(&t);
}

TEST(zoom)
{
    struct shown t = opened(120, 36, GLYPHS_ASCII);
    session(t.state);
    draw(&t);
    CHECK(has(&t, "a column is 1.5 s"));
    press(&t, KEY_HOME, 0, 0);
    for (int i = 0; i < 30; i++) press(&t, KEY_RIGHT, 0, 0);
    CHECK(has(&t, "at 0:45.0"));
    press(&t, KEY_CHAR, '+', 0);
    CHECK(has(&t, "a column is 750 ms") && has(&t, "at 0:45.0"));
    for (int i = 0; i < 20; i++) press(&t, KEY_CHAR, '=', 0);
    CHECK(has(&t, "a column is 125 ms") && has(&t, "at 0:45.0"));
    for (int i = 0; i < 20; i++) press(&t, KEY_CHAR, '-', 0);
    CHECK(has(&t, "a column is 1.5 s") && has(&t, "0:00.0"));
    struct view_out out = {.agent = -1};
    CHECK(!view_timeline.key(t.view, &(struct key){.name = KEY_CHAR, .rune = 'z'}, &t.in, &out));
    closed(&t);
}

/* ------------------------------------------------------------------ whatever there is to draw */

TEST(nothing_yet_and_events_alone)
{
    struct shown t = opened(80, 24, GLYPHS_UTF8);
    struct view_out out = {.agent = -1};
    state_open(t.state);
    draw(&t);
    CHECK(has(&t, "Nothing has happened yet"));
    CHECK(!view_timeline.key(t.view, &(struct key){.name = KEY_LEFT}, &t.in, &out));
    PUT(t.state, "", 1, EV_SESSION_OPEN, session_open, .model = S("tiny"), .ctx = 2048);
    draw(&t);
    CHECK(has(&t, "plimsoll opened tiny") && has(&t, "nothing was measured yet"));
    press(&t, KEY_LEFT, 0, 0);
    press(&t, KEY_UP, 0, 0);
    closed(&t);
}

/* In boxes of every size, with texts of anything and any keys, nothing is drawn beside the box. */
TEST(any_size_keys_and_hostile_texts)
{
    static const enum key_name key[] = {KEY_LEFT, KEY_RIGHT, KEY_UP, KEY_DOWN, KEY_HOME, KEY_END, KEY_PAGE_UP,
                                        KEY_ENTER};
    struct shown t = opened(120, 40, GLYPHS_UTF8);
    unsigned drawn = 1;
    session(t.state);
    state_name(t.state, "\x1b[31mred\xff\xe2\x80\xae");
    PUT(t.state, "\x1b[31mred\xff\xe2\x80\xae", 112, EV_REFUSAL, refusal,
        .text = S("\x1b]0;title\x07 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n\xff wide and so on, and on, and on"));
    for (int columns = 0; columns <= 118; columns += 1 + columns / 20) {
        for (int rows = 0; rows <= 38; rows += 1 + rows / 8) {
            struct box b = {1, 1, columns, rows};
            struct view_out out = {.agent = -1};
            for (int i = 0; i < t.s.rows; i++) surface_fill(&t.s, surface_all(&t.s), 0, i, 120, "x", (struct look){0});
            t.in.glyphs = rows % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII;
            view_timeline.draw(t.view, &t.s, b, &t.in);
            for (int i = 0; i < t.s.columns * t.s.rows; i++) {
                int x = i % t.s.columns, y = i / t.s.columns;
                bool inside = x >= 1 && x <= columns && y >= 1 && y <= rows;
                if (!inside) CHECK(t.s.cell[i].text[0] == 'x' && !t.s.cell[i].look.attr);
            }
            drawn = drawn * 1103515245u + 12345u;
            struct key k = {.name = key[drawn >> 16 & 7], .rune = drawn & 1 << 20 ? '+' : '-'};
            if (drawn >> 24 & 1) k.name = KEY_CHAR;
            view_timeline.key(t.view, &k, &t.in, &out);
        }
    }
    closed(&t);
}

CHECK_MAIN
