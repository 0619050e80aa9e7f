/* The view of agents: as it looks (golden screens), that its digits are the state's, and what its keys ask for. */
#include "app/tui/view.h"
#include "tests/check.h"

/* ------------------------------------------------------------------ a crew, made up */

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

static void carries(struct state *s, const char *name, int64_t turn, const int64_t part[5], int64_t high)
{
    PUT(s, name, (double)turn, EV_CARRIES, carries, .turn = turn, .ctx = 2048, .system_tokens = part[0],
        .pinned_tokens = part[1], .summary_tokens = part[2], .history_tokens = part[3], .tool_tokens = part[4],
        .reserve_tokens = 312, .high_tokens = high, .frees_tokens = 420, .answer_tokens = 256, .rounds = 8);
}

static void turn(struct state *s, const char *name, int64_t n, int64_t prompt, int64_t tokens)
{
    PUT(s, name, (double)n, EV_TURN_START, turn_start, .turn = n, .call = 1, .prompt_tokens = prompt);
    PUT(s, name, (double)n, EV_TURN_END, turn_end, .turn = n, .call = 1, .end = S("stop"), .prompt_tokens = prompt,
        .tokens = tokens, .first_token_s = 0.084 * (double)n, .decode_rate = 30.6 + (double)n);
}

/* What the engine says at 6 s: the planner writes, the writer waits. */
static void sample(struct state *s, double time, int64_t written)
{
    PUT(s, "", time, EV_MEMORY, memory, .pool_tokens = 8192, .reserved_tokens = 2000, .filled_tokens = 1800,
        .shared_tokens = 220, .running = 1, .waiting = 1, .weight_bytes = 18 * MIB, .kv_bytes = 48 * MIB,
        .ceiling_bytes = 512 * MIB);
    PUT(s, "", time, EV_MACHINE, machine, .backend = S("cpu"), .page_tokens = 16, .token_bytes = 6 << 10,
        .prefilled = 40211, .generated = 6120, .reused = 8000);
    PUT(s, "planner", time, EV_HOLDING, holding, .owner = S("planner"), .running = 1, .system_tokens = 212,
        .history_tokens = 120, .shared_tokens = 220, .answer_tokens = written);
    PUT(s, "writer", time, EV_HOLDING, holding, .owner = S("writer"), .waiting = 1);
}

static void crew(struct state *s)
{
    const int64_t some[3][5] = {{212, 40, 0, 300, 0}, {212, 0, 140, 430, 218}, {212, 0, 140, 530, 318}};
    state_open(s);
    const char *const name[] = {"planner", "researcher", "critic", "writer"};
    PUT(s, "", 0, EV_SESSION_OPEN, session_open, .ctx = 2048);
    for (int i = 0; i < 4; i++) state_name(s, name[i]);
    carries(s, "planner", 1, some[0], 1640);
    turn(s, "planner", 1, 480, 33);
    for (int64_t i = 1; i <= 3; i++) {
        turn(s, "researcher", i, 700 + 100 * i, 60 + i);
        carries(s, "researcher", i, some[i - 1], 1640);
    }
    PUT(s, "researcher", 5, EV_CALL, call, .turn = 3, .name = S("search"));
    turn(s, "critic", 1, 640, 12);
    PUT(s, "critic", 5, EV_REFUSAL, refusal, .turn = 2, .text = S("too large"));
    PUT(s, "planner", 5, EV_TURN_START, turn_start, .turn = 2, .call = 1, .prompt_tokens = 552);
    sample(s, 6, 10);
    sample(s, 7, 41);
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
    struct shown t = {.state = calloc(1, sizeof *t.state), .view = view_agents.open()};
    struct err err;
    CHECK(t.state && t.view && surface_open(&t.s, columns, rows, &err) == 0);
    t.in = (struct view_in){.state = t.state, .glyphs = glyphs};
    return t;
}

static void closed(struct shown *t)
{
    view_agents.close(t->view);
    surface_close(&t->s);
    state_close(t->state);
    free(t->state);
}

static void draw(struct shown *t) { view_agents.draw(t->view, &t->s, surface_all(&t->s), &t->in); }

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

static void check_screen(int columns, int rows, enum glyphs glyphs, int agent)
{
    char name[80];
    struct shown t = opened(columns, rows, glyphs);
    struct buf out = {0};
    crew(t.state);
    t.in.agent = agent;
    draw(&t);
    surface_dump_looks(&t.s, &out);
    snprintf(name, sizeof name, "view-agents-%dx%d%s", columns, rows, glyphs == GLYPHS_ASCII ? "-ascii" : "");
    check_golden(name, &out);
    buf_free(&out);
    closed(&t);
}

TEST(golden_80x24) { check_screen(80, 24, GLYPHS_UTF8, 0); }
TEST(golden_80x24_ascii) { check_screen(80, 24, GLYPHS_ASCII, 1); }
TEST(golden_120x36) { check_screen(120, 36, GLYPHS_UTF8, 1); }
TEST(golden_120x36_ascii) { check_screen(120, 36, GLYPHS_ASCII, 3); }
TEST(golden_200x60) { check_screen(200, 60, GLYPHS_UTF8, 1); }
TEST(golden_40x10) { check_screen(40, 10, GLYPHS_UTF8, 2); }

/* ------------------------------------------------------------------ digits */

/* The row that begins with a word, as it is on the screen. */
static void row_of(const struct shown *t, const char *begins, char out[1024])
{
    struct buf all = {0};
    surface_dump(&t->s, &all);
    size_t n = strlen(begins);
    for (char *line = all.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, begins, n)) continue;
        snprintf(out, 1024, "%.*s", (int)MIN(strcspn(line, "\n"), (size_t)1023), line);
        buf_free(&all);
        return;
    }
    check_fail(__FILE__, __LINE__, "no row begins with %s", begins);
}

/* All whole numbers of a row, from its bar's end on. */
static int numbers(const char *row, int64_t out[16])
{
    int n = 0;
    const char *p = strchr(row, ']');
    CHECK(p != NULL);
    while (n < 16 && *p) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        for (out[n] = 0; (*p >= '0' && *p <= '9') || *p == ','; p++)
            if (*p != ',') out[n] = 10 * out[n] + *p - '0';
        n++;
    }
    return n;
}

TEST(digits_are_the_states_and_add_up)
{
    struct shown t = opened(200, 30, GLYPHS_ASCII);
    crew(t.state);
    draw(&t);
    char row[1024];
    int64_t n[16], sum[8] = {0}, all[16];
    const char *const name[] = {"planner", "critic"}; /* no forecast: their rows have no other numbers */
    for (int i = 0; i < 2; i++) {
        row_of(&t, name[i], row);
        int who = state_agent(t.state, name[i], strlen(name[i]));
        const struct state_agent *a = &t.state->agent[who];
        CHECK(numbers(row, n) >= 6);
        CHECK_EQ(n[0], a->ctx - (int64_t)a->gauge.part[CONTEXT_FREE] - (int64_t)a->gauge.part[CONTEXT_RESERVED]);
        CHECK_EQ(n[1], a->ctx);
        CHECK_EQ(n[2], a->turns);
        CHECK_EQ(n[3], a->calls);
        CHECK_EQ(n[4], a->tokens_in);
        CHECK_EQ(n[5], a->tokens_out);
    }
    for (int i = 0; i < t.state->agents; i++) {
        const struct state_agent *a = &t.state->agent[i];
        sum[0] += a->ctx - (int64_t)a->gauge.part[CONTEXT_FREE] - (int64_t)a->gauge.part[CONTEXT_RESERVED];
        sum[1] += a->ctx;
        sum[2] += a->turns;
        sum[3] += a->calls;
        sum[4] += a->tokens_in;
        sum[5] += a->tokens_out;
    }
    row_of(&t, "all", row);
    CHECK(numbers(row, all) >= 6);
    for (int i = 0; i < 6; i++) CHECK_EQ(all[i], sum[i]);
    closed(&t);
}

/* ------------------------------------------------------------------ keys */

static struct view_out press(struct shown *t, enum key_name name, uint32_t rune)
{
    struct view_out out = {.agent = -1};
    struct key k = {.name = name, .rune = rune};
    CHECK(view_agents.key(t->view, &k, &t->in, &out));
    return out;
}

static void check_order(struct shown *t, enum key_name name, uint32_t rune, const char *order)
{
    struct view_out out = press(t, name, rune);
    CHECK_STR(out.order.data, order);
    buf_free(&out.order);
}

TEST(keys_ask_for_commands)
{
    struct shown t = opened(80, 24, GLYPHS_UTF8);
    crew(t.state);
    draw(&t);
    CHECK_EQ(press(&t, KEY_DOWN, 0).agent, 1);
    t.in.agent = 1;
    check_order(&t, KEY_CHAR, 'c', "/cancel researcher");
    check_order(&t, KEY_CHAR, 'x', "/cancel");
    check_order(&t, KEY_CHAR, 'a', "/park researcher");
    CHECK_EQ(press(&t, KEY_CHAR, 'p').go, VIEW_MAP);
    CHECK_EQ(press(&t, KEY_CHAR, 'i').go, VIEW_INSPECT);
    struct view_out out = press(&t, KEY_ENTER, 0);
    CHECK(out.leave && out.agent == 1);
    CHECK_STR(out.order.data, "/use researcher");
    buf_free(&out.order);
    CHECK_EQ(press(&t, KEY_END, 0).agent, 3);
    CHECK_EQ(press(&t, KEY_DOWN, 0).agent, 3);
    struct key other = {.name = KEY_CHAR, .rune = 'z'}, ctrl = {.name = KEY_CHAR, .rune = 'c', .mods = KEY_CTRL};
    CHECK(!view_agents.key(t.view, &other, &t.in, &out) && !view_agents.key(t.view, &ctrl, &t.in, &out));
    t.in.agent = 2; /* chosen elsewhere */
    draw(&t);
    check_order(&t, KEY_CHAR, 'c', "/cancel critic");
    closed(&t);
}

/* Names that are no word of a command line are in none. */
TEST(the_only_agent_and_names_that_are_no_word)
{
    struct shown t = opened(80, 24, GLYPHS_UTF8);
    state_open(t.state);
    carries(t.state, "", 1, (const int64_t[]){10, 0, 0, 5, 0}, 0);
    draw(&t);
    check_order(&t, KEY_CHAR, 'c', "/cancel");
    struct view_out out = press(&t, KEY_ENTER, 0);
    CHECK(out.leave && out.order.len == 0);
    state_name(t.state, "a\n/quit");
    CHECK_EQ(press(&t, KEY_DOWN, 0).agent, 1);
    CHECK_EQ(press(&t, KEY_CHAR, 'c').order.len, 0);
    CHECK_EQ(press(&t, KEY_ENTER, 0).order.len, 0);
    closed(&t);
}

/* ------------------------------------------------------------------ whatever there is to draw */

TEST(nobody_yet)
{
    struct shown t = opened(80, 24, GLYPHS_UTF8);
    struct buf out = {0};
    struct view_out none = {.agent = -1};
    state_open(t.state);
    draw(&t);
    surface_dump(&t.s, &out);
    CHECK(strstr(out.data, "Nobody has been asked yet"));
    CHECK(!view_agents.key(t.view, &(struct key){.name = KEY_ENTER}, &t.in, &none) && none.order.len == 0);
    buf_free(&out);
    closed(&t);
}

static void check_frame(const struct surface *s, struct box b)
{
    for (int i = 0; i < s->columns * s->rows; i++) {
        int x = i % s->columns, y = i / s->columns;
        bool inside = x >= b.column && x < b.column + b.columns && y >= b.row && y < b.row + b.rows;
        if (!inside) CHECK(s->cell[i].text[0] == 'x');
    }
}

/* Many agents with names of anything, in boxes of every size: nothing is drawn beside the box. */
TEST(any_size_and_hostile_names)
{
    struct shown t = opened(120, 40, GLYPHS_UTF8);
    crew(t.state);
    state_name(t.state, "\x1b[31mred\x07");
    state_name(t.state, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e");
    state_name(t.state, "\xe2\x80\xae" "evil\xff\xfe");
    for (int i = 0; i < STATE_AGENTS; i++) {
        char name[24];
        snprintf(name, sizeof name, "worker%d", i);
        carries(t.state, name, 1, (const int64_t[]){INT64_MAX, 0, 0, INT64_MAX, INT64_MIN}, INT64_MAX);
        turn(t.state, name, 1, INT64_MAX, INT64_MAX);
    }
    for (int columns = 0; columns <= 118; columns += 1 + columns / 20) {
        for (int rows = 0; rows <= 38; rows += 1 + rows / 8) {
            struct box b = {1, 1, columns, rows};
            surface_clear(&t.s, surface_all(&t.s), (struct look){0});
            for (int i = 0; i < t.s.rows; i++) surface_fill(&t.s, surface_all(&t.s), 0, i, 120, "x", (struct look){0});
            t.in.agent = (columns * 7 + rows) % t.state->agents;
            t.in.glyphs = rows % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII;
            view_agents.draw(t.view, &t.s, b, &t.in);
            check_frame(&t.s, b);
        }
    }
    closed(&t);
}

/* The selected one is in sight, wherever it is. */
TEST(a_long_list_is_scrolled)
{
    struct shown t = opened(80, 24, GLYPHS_ASCII);
    struct buf out = {0};
    state_open(t.state);
    for (int i = 0; i < STATE_AGENTS; i++) {
        char name[24];
        snprintf(name, sizeof name, "worker%d", i);
        state_name(t.state, name);
    }
    draw(&t);
    CHECK_EQ(press(&t, KEY_END, 0).agent, STATE_AGENTS - 1);
    t.in.agent = STATE_AGENTS - 1;
    draw(&t);
    surface_dump(&t.s, &out);
    CHECK(strstr(out.data, "worker63 ") && !strstr(out.data, "worker1 "));
    buf_free(&out);
    closed(&t);
}

CHECK_MAIN
