/* The verdict card: as it looks (golden screens), when it comes and when it only says that there is one, what its keys
 * order, and what a pasted log is told to be. */
#include "app/tui/ui_impl.h"
#include "tests/ui_rig.h"

#define ASKED(text) CHECK_STR(told(), text)
#define F11 ESC "[23~"

enum { TOKEN = 6144, PAGE = 16 * TOKEN };

static void event_of(const char *agent, struct event e)
{
    e.agent = event_str(agent);
    put_event(&e);
}

static void turn(const char *agent, int64_t number, int64_t prompt, bool ends)
{
    put_news(NEWS_BEGUN, 0, "why does the nightly job die?");
    event_of(agent, (struct event){.kind = EV_CARRIES, .carries = {
        .ctx = 4096, .tool_tokens = 318, .frees_tokens = 700, .reserve_tokens = 40}});
    event_of(agent, (struct event){.kind = EV_TURN_START, .turn_start = {
        .turn = number, .call = 1, .prompt_tokens = prompt, .max_tokens = 200}});
    if (!ends) return;
    event_of(agent, (struct event){.kind = EV_TURN_END, .turn_end = {
        .turn = number, .call = 1, .end = event_str("stop"), .termination_reason = event_str("completed"),
        .text = event_str("It needs 4,310 pages, and the pool has 4,096.")}});
    put_news(NEWS_DONE, 0, "");
}

static void machine(void)
{
    event_of("", (struct event){.kind = EV_SESSION_OPEN, .session_open = {
        .model = event_str("plimsoll-tiny"), .backend = event_str("avx512, 2 threads"), .ctx = 4096,
        .engine = event_str("local"), .file = event_str("model.gguf")}});
    event_of("", (struct event){.kind = EV_MEMORY, .memory = {
        .pool_tokens = 4096, .weight_bytes = 6 << 20, .kv_bytes = 4096 * TOKEN, .work_bytes = 4 << 20,
        .ceiling_bytes = 64 << 20}});
    event_of("", (struct event){.kind = EV_MACHINE, .machine = {
        .backend = event_str("cpu"), .page_tokens = 16, .token_bytes = TOKEN}});
}

/* Five turns that grow, and the sixth finds no page. */
static void fails(const char *agent)
{
    machine();
    for (int64_t t = 1; t <= 6; t++) turn(agent, t, 640 * t, t < 6);
    told();
    event_of(agent, (struct event){.kind = EV_OOM, .oom = {
        .turn = 6, .policy = event_str("no-limit"), .what = event_str("KV pool"), .request = 6, .page = 256,
        .wanted_bytes = PAGE, .size_bytes = 256 * PAGE, .owners = 1, .largest_bytes = 256 * PAGE}});
    event_of(agent, (struct event){.kind = EV_TURN_END, .turn_end = {
        .turn = 6, .call = 1, .end = event_str("out_of_memory"), .termination_reason = event_str("out_of_memory"),
        .prompt_tokens = 3840}});
    put_news(NEWS_DONE, 0, "");
}

/* It is on the screen, and the person has read it. */
static void read_it(void)
{
    look();
    pass(1);
}

static void open_failed(int columns, int rows)
{
    open_live(columns, rows);
    fails("");
    read_it();
}

/* ------------------------------------------------------------------ as it looks */

static void golden(int columns, int rows, bool utf8)
{
    char name[80];
    open_ui((struct ui_setup){.columns = columns, .rows = rows, .utf8 = utf8, .live = true, .mono = !utf8});
    fails("");
    snprintf(name, sizeof name, "verdict-%dx%d-%s", columns, rows, utf8 ? "utf8" : "ascii");
    check_golden(name);
    close_ui();
}

TEST(card_looks)
{
    golden(80, 24, true);
    golden(120, 36, true);
    golden(200, 60, true);
    golden(40, 10, true);
    golden(120, 36, false);
    golden(40, 10, false);
}

TEST(card_says_what_else_it_is_called_and_comes_back)
{
    open_failed(120, 36);
    press("f");
    SHOWS("LangGraph");
    check_golden("verdict-elsewhere-120x36");
    press("f");
    SHOWS("evidence   prompts grow by 640.0 tokens a turn");
    close_ui();
}

TEST(card_scrolls_to_its_last_row_where_it_is_low)
{
    open_failed(80, 24);
    SHOWS("PgDn more");
    SHOWS_NO("figures ");
    for (int i = 0; i < 6; i++) press(PAGE_DOWN);
    SHOWS("figures ");
    SHOWS_NO("policy no-limit\n");
    for (int i = 0; i < 6; i++) press(PAGE_UP);
    SHOWS("turn 6, policy no-limit");
    close_ui();
}

/* ------------------------------------------------------------------ keys */

TEST(card_keys_apply_the_fix_and_ask_again)
{
    static const struct { const char *what, *want; } each[] = {
        {"window and summary", "order /compact\norder why does the nightly job die?\n"},
        {"take the last turn back", "order /undo\norder why does the nightly job die?\n"},
        {"max_tokens 200 to 100", "order /limit answer 100\norder why does the nightly job die?\n"},
        {"reserve before it runs", "order why does the nightly job die?\n"},
    };
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        open_failed(120, 50);
        const char *row = row_with(each[i].what), *number = row ? strpbrk(row, "123456789") : NULL;
        CHECK(number);
        const char key[2] = {*number, '\0'};
        press(key);
        ASKED(each[i].want);
        SHOWS_NO("Out of memory");
        close_ui();
    }
}

TEST(card_leaves_it_to_the_person_which_result_is_dropped)
{
    open_failed(120, 50);
    const char *row = row_with("drop results of tools"), *number = row ? strpbrk(row, "123456789") : NULL;
    CHECK(number);
    const char key[2] = {*number, '\0'};
    press(key);
    CHECK_EQ(ui->view, VIEW_INSPECT);
    SHOWS("d drops what is marked");
    close_ui();
}

TEST(card_of_a_crews_agent_gives_its_orders_for_that_agent)
{
    open_live(120, 50);
    put_news(NEWS_AGENT, 1, "researcher");
    fails("researcher");
    read_it();
    SHOWS("turn 6 of researcher, policy no-limit");
    press("1");
    ASKED("order /for researcher /compact\norder why does the nightly job die?\n");
    close_ui();
}

TEST(card_is_not_obeyed_by_who_types_past_it)
{
    open_live(120, 36);
    fails("");
    look();
    press("1");
    ASKED("");
    SHOWS("read it, then press its key");
    SHOWS("Out of memory: growth with turns");
    pass(1);
    press("x"); /* the beginning of a text */
    SHOWS_NO("Out of memory: growth");
    SHOWS("› x");
    press("1");
    ASKED("");
    SHOWS("› x1");
    close_ui();
}

TEST(card_keys_are_those_of_what_is_seen_and_of_rows_that_are_out_of_sight)
{
    open_failed(120, 50);
    press("f");
    SHOWS_NO("apply"); /* the fixes are not in sight */
    press("1");
    ASKED("");
    SHOWS("f back");
    press("f");
    SHOWS("apply, ask again");
    close_ui();
    open_failed(40, 10);
    SHOWS("apply");
    SHOWS("Esc close");
    SHOWS("PgDn more");
    close_ui();
}

TEST(card_waits_for_who_is_typing_and_f11_shows_it)
{
    open_live(120, 36);
    press("half a sent");
    fails("");
    SHOWS_NO("Out of memory: growth");
    SHOWS("F11 says why, and what helps: growth with turns");
    press(F11);
    SHOWS("Out of memory: growth with turns");
    press(ESC);
    SHOWS_NO("Out of memory: growth");
    SHOWS("half a sent");
    ASKED("");
    press(F11);
    press(F11); /* the same key closes it */
    SHOWS_NO("Out of memory: growth");
    press(CTRL_U "/explain\r"); /* without F keys */
    SHOWS("Out of memory: growth with turns");
    ASKED("remember /explain\n");
    close_ui();
}

TEST(card_goes_when_the_next_turn_begins)
{
    open_failed(120, 36);
    put_news(NEWS_BEGUN, 0, "/memory");
    SHOWS("Out of memory: growth");
    put_news(NEWS_BEGUN, 0, "something else");
    SHOWS_NO("Out of memory: growth");
    close_ui();
}

/* Its fixes would take back, or ask again, what has been asked since. */
TEST(card_of_a_turn_before_the_last_can_be_read_and_not_applied)
{
    open_failed(120, 50);
    turn("", 7, 300, true);
    told();
    press(F11);
    SHOWS("Out of memory: growth with turns");
    SHOWS_NO("apply, ask again");
    for (char key[2] = "1"; *key <= '9'; ++*key) press(key);
    ASKED("");
    SHOWS("Out of memory: growth with turns");
    close_ui();
}

/* By hand the turn was taken back, or the conversation is another: an undo of the card's would take one more. */
TEST(card_of_a_turn_that_is_gone_can_be_read_and_not_applied)
{
    const struct event gone[] = {
        {.kind = EV_UNDONE, .undone = {.turn = 6, .what = event_str("m11-m12")}},
        {.kind = EV_RESUMED, .resumed = {.session = event_str("1"), .title = event_str("Ships"), .turns = 3}},
    };
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        open_failed(120, 50);
        SHOWS("apply, ask again");
        event_of("", gone[i]);
        SHOWS_NO("Out of memory: growth with turns");
        press(F11);
        SHOWS("Out of memory: growth with turns");
        SHOWS_NO("apply, ask again");
        for (char key[2] = "1"; *key <= '9'; ++*key) press(key);
        ASKED("");
        close_ui();
    }
}

TEST(card_does_not_come_for_what_is_no_want_of_memory)
{
    open_live(120, 36);
    machine();
    event_of("", (struct event){.kind = EV_REFUSAL, .refusal = {
        .turn = 1, .termination_reason = event_str("input_error"), .text = event_str("temperature is out of range")}});
    SHOWS_NO("Not a want of memory");
    press(F11);
    SHOWS("Not a want of memory"); /* but can be asked for */
    close_ui();
    open_live(120, 36);
    press(F11);
    SHOWS("no turn lacked memory; F11 explains a log that is pasted here");
    close_ui();
}

TEST(card_of_a_recorded_stream_says_why_and_does_nothing)
{
    open_ui((struct ui_setup){.columns = 120, .rows = 50, .utf8 = true});
    fails("");
    SHOWS_NO("Out of memory: growth");
    press(F11);
    SHOWS("Out of memory: growth with turns");
    SHOWS_NO("apply, ask again");
    press("1");
    ASKED("");
    SHOWS("Out of memory: growth with turns");
    close_ui();
}

TEST(card_is_copied_whole)
{
    open_failed(80, 24);
    press("c");
    const char *text = told();
    CHECK(strncmp(text, "copy [Out of memory: growth with turns\n", 39) == 0);
    CHECK(strstr(text, "figures   wanted 96 KiB"));
    CHECK(strstr(text, "What that is called elsewhere:"));
    press("e"); /* this host has no place for files */
    SHOWS("it could not be written");
    close_ui();
}

/* ------------------------------------------------------------------ a log that is pasted */

static void paste(const char *text)
{
    struct buf b = {0};
    buf_printf(&b, "\x1b[200~%s\x1b[201~", text);
    press(b.data);
    buf_free(&b);
}

TEST(pasted_log_is_recognised_and_explained_by_a_key)
{
    open_live(120, 50);
    paste("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of "
          "79.20 GiB of which 3.81 GiB is free. Of the allocated memory 71.45 GiB is allocated by PyTorch, and "
          "1.67 GiB is reserved by PyTorch but unallocated.");
    SHOWS("F11 explains this log, Enter sends it: memory ran out there (");
    ui_resize(ui, 40, 50); /* the keys are seen wherever the rest is cut */
    SHOWS("F11 explains this log, Enter sends it:…\n");
    ui_resize(ui, 120, 50);
    press(F11);
    SHOWS("Out of memory: ");
    SHOWS("20 GiB");
    SHOWS("in PyTorch");
    SHOWS("ask        When does it happen");
    SHOWS("1  while the model loads");
    SHOWS("1-4 answer"); /* no fix of another program's can be applied here */
    press("1");
    ASKED("");
    SHOWS("Out of memory: the model's weights are too big");
    SHOWS_NO("When does it happen"); /* it is known now */
    press("9");
    SHOWS("Out of memory: ");
    press(ESC);
    SHOWS_NO("Out of memory: ");
    SHOWS("torch.OutOfMemoryError");
    close_ui();
}

TEST(pasted_text_that_is_no_report_is_let_be)
{
    open_live(120, 36);
    paste("please write a poem about the memory of the sea, in four lines, without a rhyme");
    SHOWS_NO("F11 explains this log");
    press(F11);
    SHOWS("nothing in this text says why memory ran out");
    close_ui();
}

TEST(what_leaves_the_card_has_nothing_that_a_terminal_would_obey)
{
    static struct card c;
    struct buf text = {0};
    const struct verdict v = {.cause = CAUSE_KV, .what = "\x1b[2J and \xc2\x9b" "1m", .where = "\xe2\x80\xae of \rx"};
    card_show(&c, &v, false);
    card_text(&c, &text);
    CHECK(strstr(text.data, "  ^[[2J and \xef\xbf\xbd" "1m\n"));
    CHECK(!strpbrk(text.data, "\x1b\r") && !strstr(text.data, "\xc2\x9b") && !strstr(text.data, "\xe2\x80\xae"));
    CHECK(strstr(text.data, "elsewhere:\n\n"));
    buf_free(&text);
}

/* ------------------------------------------------------------------ any text, any box */

TEST(card_of_any_text_stays_in_its_box)
{
    static const char part[] = "\x1b[31m\xe2\x80\xae\xf0\x9f\x91\xa8\xe2\x80\x8d\t\xff\xe6\x97\xa5\n\x9b word";
    static struct card c;
    struct surface s;
    struct err err;
    struct verdict v = {.cause = CAUSE_KV, .figures = VERDICT_FIGURES, .evidences = VERDICT_LINES,
                        .nots = VERDICT_LINES, .fixes = VERDICT_FIXES, .nexts = VERDICT_LINES};
    for (size_t i = 0; i + 1 < VERDICT_TEXT; i++) {
        v.what[i] = v.where[i] = part[i % (sizeof part - 1)];
        for (int k = 0; k < VERDICT_LINES; k++) v.evidence[k][i] = v.next[k][i] = v.fix[k].what[i] = v.what[i];
    }
    card_show(&c, &v, true);
    CHECK_EQ(surface_open(&s, 210, 70, &err), 0);
    for (int columns = 0; columns <= 200; columns += columns < 20 ? 1 : 13)
        for (int rows = 0; rows <= 60; rows += rows < 12 ? 1 : 9) {
            const struct box b = {3, 2, columns, rows};
            for (int i = 0; i < s.columns * s.rows; i++) s.cell[i] = (struct cell){.text = "@", .width = 1};
            card_draw(&c, &s, b, GLYPHS_UTF8);
            for (int i = 0; i < s.columns * s.rows; i++) {
                const int x = i % s.columns - b.column, y = i / s.columns - b.row;
                if (x < 0 || y < 0 || x >= columns || y >= rows) CHECK_STR(s.cell[i].text, "@");
            }
        }
    surface_close(&s);
}

CHECK_MAIN
