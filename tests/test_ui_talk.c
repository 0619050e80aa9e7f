/* What comes to the screen unasked: questions of agents, lines, errors, sessions; and what it says before Enter. */
#include "app/tui/ui_impl.h"
#include "app/tui/view_sessions.h"
#include "tests/ui_rig.h"

#define ASKED(text) CHECK_STR(told(), text)

static void begun(const char *text) { put_news(NEWS_BEGUN, 0, text); }
static void done(void) { put_news(NEWS_DONE, 0, ""); }

/* It is on the screen, and the person has stopped to read it. */
static void read_it(void)
{
    look();
    pass(1);
}

/* ------------------------------------------------------------------ questions */

TEST(question_is_answered_once_for_the_session_or_denied)
{
    static const struct { const char *key, *want; } each[] = {
        {"o", "answer 7: 1 []\n"}, {"y", "answer 7: 1 []\n"}, {"s", "answer 7: 2 []\n"}, {"n", "answer 7: 0 []\n"},
        {ESC, "answer 7: 0 []\n"}};
    CHECK_EQ(TOOLBOX_DENY, 0);
    CHECK_EQ(TOOLBOX_ONCE, 1);
    CHECK_EQ(TOOLBOX_SESSION, 2);
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        open_live(80, 24);
        begun("clean up");
        put_question(7, "writer", "shell\nrm -r build", "shell:rm", false);
        SHOWS("writer wants this to be done");
        SHOWS("rm -r build");
        SHOWS("o once   n no   s for this session: shell:rm");
        read_it();
        press(each[i].key);
        ASKED(each[i].want);
        SHOWS_NO("rm -r build");
        press("x");
        SHOWS("› x");
        close_ui();
    }
}

/* Who looks at the memory before he answers comes back by Esc, as the footer says, and has not answered. */
TEST(question_is_not_denied_by_the_key_that_leaves_a_view)
{
    for (int asks_text = 0; asks_text < 2; asks_text++) {
        open_live(80, 24);
        begun("clean up");
        put_question(7, "writer", "rm -r build", "", asks_text);
        read_it();
        press(F2);
        SHOWS("Esc chat");
        SHOWS("rm -r build");
        read_it();
        press(ESC);
        CHECK(!strstr(told(), "answer"));
        SHOWS("rm -r build");
        SHOWS("clean up");
        press(ESC);
        ASKED("answer 7: 0 []\n");
        close_ui();
    }
}

/* What stands above is not of the conversation any more: /undo says so itself, what asks again does not. */
TEST(turn_that_is_asked_again_is_said_to_be_taken_back)
{
    static const struct { const char *command; bool shown; } each[] = {
        {"/undo", false}, {"/retry", true}, {"/edit What is paging?", true}, {"/editor", false}};
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        open_live(80, 24);
        begun(each[i].command);
        put_event(&(struct event){.kind = EV_UNDONE, .undone = {.turn = 3, .what = event_str("m9-m12")}});
        if (each[i].shown) SHOWS("turn 3 was taken back");
        else SHOWS_NO("turn 3 was taken back");
        done();
        close_ui();
    }
}

TEST(question_without_a_scope_is_not_answered_for_the_session)
{
    open_live(80, 24);
    put_question(1, "writer", "write notes.txt", "", false);
    SHOWS("y yes, once   n no");
    SHOWS("Ctrl-C cancel");
    SHOWS_NO("Esc cancel"); /* it says no, and the turn goes on */
    read_it();
    press("s");
    ASKED("");
    SHOWS("write notes.txt");
    press("y");
    ASKED("answer 1: 1 []\n");
    close_ui();
}

TEST(question_is_not_answered_by_who_types_past_it)
{
    open_live(80, 24);
    press("oh ");
    put_question(1, "writer", "write notes.txt", "", false);
    press("y"); /* it has not even been drawn */
    ASKED("");
    look();
    for (int i = 0; i < 5; i++, now -= 0.8) press("y"); /* a key each 0.2 seconds */
    ASKED("");
    SHOWS("this was just asked");
    press(ESC);
    ASKED("answer 1: 0 []\n");
    SHOWS("› oh");
    put_question(2, "writer", "write again.txt", "", false);
    put_question(3, "writer", "write more.txt", "", false);
    read_it();
    press("y");
    ASKED("answer 2: 1 []\n");
    SHOWS("write more.txt");
    now -= 0.9;
    press("y"); /* pressed twice */
    ASKED("");
    pass(1);
    press("y");
    ASKED("answer 3: 1 []\n");
    put_question(4, "writer", "write it all.txt", "all of it", false);
    read_it();
    now -= 0.8;
    press("h");
    for (const char *letter = "ello"; *letter; letter++, now -= 0.8) press((char[2]){*letter, '\0'}); /* typed */
    ASKED("");
    read_it();
    press("o");
    ASKED("answer 4: 1 []\n");
    close_ui();
}

TEST(question_for_a_text_is_answered_in_the_input)
{
    open_live(80, 24);
    begun("go");
    press("?"); /* the help: a text is typed in the chat, so it leads there */
    put_question(4, "planner", "Which harbour?", "", true);
    SHOWS("planner asks");
    SHOWS("Which harbour?");
    press("the old" ESC "\rone\r");
    ASKED("answer 4: 1 [the old\none]\n");
    SHOWS("type on");
    put_question(5, "planner", "And when?", "", true);
    press(ESC);
    ASKED("answer 5: 0 []\n");
    close_ui();
}

TEST(question_for_a_text_is_answered_by_what_history_has)
{
    open_live(80, 24);
    press("deploy to staging\r");
    put_question(4, "planner", "Which host?", "", true);
    told();
    press(CTRL_R "dep");
    SHOWS("deploy to staging");
    press(ESC); /* ends the search, and is no answer */
    ASKED("");
    SHOWS("Which host?");
    press("my" CTRL_R "dep\r"); /* takes what was found into the input */
    ASKED("");
    SHOWS("› deploy to staging");
    press("\r");
    ASKED("answer 4: 1 [deploy to staging]\n");
    put_question(5, "planner", "And when?", "", true);
    press(CTRL_R "zzz\r" "now\r"); /* nothing was found */
    ASKED("answer 5: 1 [now]\n");
    close_ui();
}

TEST(questions_queue_and_are_withdrawn)
{
    open_live(80, 24);
    put_question(1, "ann", "first thing", "", false);
    put_question(2, "bob", "second thing", "", false);
    put_question(3, "cid", "third thing", "", false);
    SHOWS("first thing");
    SHOWS_NO("second thing");
    put_news(NEWS_WITHDRAWN, 2, "");
    read_it();
    press("y");
    ASKED("answer 1: 1 []\n");
    SHOWS("third thing");
    put_news(NEWS_WITHDRAWN, 99, ""); /* nobody's */
    put_news(NEWS_WITHDRAWN, 3, "");
    SHOWS_NO("thing\n");
    ASKED("");
    press("typed");
    SHOWS("› typed");
    close_ui();
}

TEST(question_can_be_read_whole_and_ctrl_c_cancels_what_asks)
{
    struct buf text = {0};
    open_live(60, 16);
    for (int i = 0; i < 60; i++) buf_printf(&text, "+line %d of the change\n", i);
    begun("go");
    put_question(1, "writer", text.data, "write", false);
    SHOWS("+line 0 of");
    SHOWS_NO("+line 59 of");
    read_it();
    press("G");
    pass(1);
    SHOWS("+line 59 of");
    press(CTRL_C);
    ASKED("cancel []\n");
    SHOWS("+line 59 of"); /* it is there till the turn withdraws it */
    put_news(NEWS_WITHDRAWN, 1, "");
    SHOWS_NO("+line");
    for (int columns = 1; columns < 90; columns += 2) {
        put_question(columns, "w", text.data, "x", columns % 4 == 1);
        ui_resize(ui, columns, 1 + columns / 3);
        look();
        put_news(NEWS_WITHDRAWN, columns, "");
    }
    buf_free(&text);
    close_ui();
}

/* Of all that is on the screen, without blanks, line ends and frames: a text may go over several rows. */
static bool shows_in_rows(const char *part)
{
    char all[1 << 14];
    size_t n = 0;
    for (const char *at = screen(); *at && n + 1 < sizeof all; at++) {
        if (strncmp(at, "│", 3) == 0) at += 2;
        else if (*at != ' ' && *at != '\n') all[n++] = *at;
    }
    all[n] = '\0';
    return strstr(all, part) != NULL;
}

TEST(question_says_all_that_its_keys_allow)
{
    static const char place[] = "write_file, in /srv/projects/a-rather-long-name-of-a-workspace/that-goes-on-and-on/"
                                "below-it/here";
    open_live(80, 24);
    begun("write it");
    put_question(1, "", "writes notes.txt", place, false);
    CHECK(shows_in_rows("write_file,in/srv/projects/a-rather-long-name-of-a-workspace/that-goes-on-and-on/"
                        "below-it/here"));
    SHOWS("writes notes.txt");
    ui_resize(ui, 40, 10); /* no room for all: both its ends */
    CHECK(shows_in_rows("sforthissession:write_file,in/srv/projects/"));
    CHECK(shows_in_rows("…"));
    CHECK(shows_in_rows("/below-it/here"));
    SHOWS("writes notes.txt");
    close_ui();
}

TEST(question_is_what_is_waited_for)
{
    const struct event call = {.kind = EV_CALL, .call = {.turn = 1, .name = event_str("write_file"),
                                                         .arguments = event_str("{}")}};
    open_live(80, 36);
    begun("write it");
    put_event(&call);
    pass(3);
    SHOWS("running");
    SHOWS("an answer is on its way");
    put_question(1, "", "writes notes.txt", "write_file", false);
    SHOWS_NO("running");
    SHOWS_NO("on its way");
    SHOWS("the model waits for your answer");
    read_it();
    press("o");
    SHOWS("running");
    SHOWS("an answer is on its way");
    SHOWS_NO("waits for your answer");
    close_ui();
}

TEST(question_golden)
{
    static const char *const text = "writes notes.txt (new, 3 lines)\n\n+ The bridge opens on 3 May.\n"
                                    "+ The ferry leaves at nine.\n"
                                    "+ The mast is made of oak, and was felled in the forest behind the town.";
    open_live(80, 24);
    begun("make a note of it");
    put_question(1, "writer", text, "write:notes.txt", false);
    check_golden("ui-question-80x24-utf8");
    ui_resize(ui, 40, 10);
    check_golden("ui-question-40x10-utf8");
    close_ui();
}

/* ------------------------------------------------------------------ lines */

static void keep(void *data) { (void)data; }

TEST(lines_of_a_command_are_seen_in_the_view_that_ordered_it)
{
    struct sessions_row row = {.id = "4f2a91c0", .turns = 1, .of = -1, .open = true, .current = true};
    struct doc_sessions list = {.row = &row, .rows = 1};
    struct news n = {.kind = NEWS_DOC, .doc = {.ask = {.kind = DOC_SESSIONS}, .data = &list, .free = keep}};
    open_live(80, 24);
    press("\x1b[17~"); /* F6 */
    ui_news(ui, &n);
    told();
    look();
    press("e\r");
    ASKED("order /export 4f2a91c0.md md\n");
    begun("/stats"); /* this one waited before it */
    put_line(SAY_PLAIN, false, "kv pool  1,024 tokens");
    SHOWS_NO("kv pool");
    done();
    begun("/export 4f2a91c0.md md");
    put_line(SAY_DIM, false, "written to 4f2a91c0.md");
    SHOWS("written to 4f2a91c0.md");
    put_line(SAY_ERROR, false, "the disk is full");
    SHOWS("the disk is full");
    done();
    press(ESC);
    SHOWS("written to 4f2a91c0.md"); /* and in the conversation */
    close_ui();
}

TEST(lines_that_are_cut_have_a_mark)
{
    open_live(40, 12);
    put_line(SAY_PROGRESS, false, "what takes long says how far it is, in many words");
    SHOWS("what takes long says how far it is, in…\n");
    close_ui();
    open_ui((struct ui_setup){.columns = 40, .rows = 12, .live = true});
    put_line(SAY_PROGRESS, false, "what takes long says how far it is, in many words");
    SHOWS("what takes long says how far it is, in~\n");
    close_ui();
}

TEST(lines_beside_the_conversation)
{
    open_live(80, 24);
    put_line(SAY_PLAIN, false, "a plain line");
    put_line(SAY_DIM, true, "said of a turn: events say it too");
    put_line(SAY_ERROR, true, "the store is full");
    SHOWS("a plain line");
    SHOWS_NO("said of a turn");
    SHOWS("the store is full");
    CHECK_STR(ui_last_error(ui), "the store is full");
    put_line(SAY_PROGRESS, false, "reads 512 of 2,048 tokens");
    SHOWS("reads 512 of 2,048 tokens");
    press("typed");
    SHOWS_NO("reads 512"); /* what is typed has that row */
    press(CTRL_U);
    SHOWS("reads 512");
    put_line(SAY_PROGRESS, false, "");
    SHOWS_NO("reads 512");
    close_ui();
}

TEST(session_and_what_was_said_in_it_before)
{
    char id[9];
    open_live(80, 24);
    SHOWS("not saved");
    put_news(NEWS_SESSION, 0, "5e55104a77aa\n0\nThe harbour");
    SHOWS("The harbour");
    SHOWS("new session");
    ui_session(ui, id);
    CHECK_STR(id, ""); /* nothing of it is saved yet */
    put_event(&(struct event){.kind = EV_TURN_USER, .turn_user = {1, event_str("how deep?")}});
    put_news(NEWS_SESSION, 0, "5e55104a77aa\n1\nThe harbour");
    SHOWS("session 5e55104a open");
    ui_session(ui, id);
    CHECK_STR(id, ""); /* its first turn could not be saved: nothing can be resumed */
    begun("old words");
    done();
    put_news(NEWS_PAST_BEGINS, 2, "The mast");
    SHOWS_NO("old words");
    SHOWS("goes on after 2 turns: The mast");
    struct news n = {.kind = NEWS_PAST, .event = {.kind = EV_TURN_USER, .turn_user = {1, event_str("what was it?")}}};
    ui_news(ui, &n);
    SHOWS("you           what was it?");
    put_event(&(struct event){.kind = EV_SAVED, .saved = {.turn = 1}});
    put_news(NEWS_SESSION, 0, "5e55104a77aa\n2\nThe harbour");
    SHOWS("session 5e55104a");
    ui_session(ui, id);
    CHECK_STR(id, "5e55104a");
    close_ui();
}

/* It comes as an event, which knows whose it is, and as an error of what was asked. */
TEST(session_refusal_is_said_once)
{
    open_live(80, 24);
    begun("too much");
    put_event(&(struct event){.kind = EV_REFUSAL, .refusal = {.turn = 1, .termination_reason = event_str("refused_kv"),
                                                              .text = event_str("it needs 9 pages")}});
    put_line(SAY_ERROR, false, "it needs 9 pages");
    press(ESC); /* the card has gone */
    SHOWS("refused: it needs 9 pages");
    const char *once = strstr(screen(), "it needs 9 pages");
    CHECK(once && !strstr(once + 1, "it needs 9 pages"));
    put_line(SAY_ERROR, false, "it needs 9 pages"); /* of something else, as far as is known */
    once = strstr(screen(), "it needs 9 pages");
    CHECK(once && strstr(once + 1, "it needs 9 pages"));
    CHECK_STR(ui_last_error(ui), "it needs 9 pages");
    close_ui();
}

static int freed;
static void count_free(void *data) { (void)data, freed++; }

TEST(docs_are_kept_one_of_a_kind_and_freed)
{
    freed = 0;
    open_live(80, 24);
    for (int i = 0; i < 3; i++) {
        struct news n = {.kind = NEWS_DOC, .doc = {.ask = {.kind = DOC_MODELS}, .data = &freed, .free = count_free}};
        ui_news(ui, &n);
        CHECK(n.doc.data == NULL);
        CHECK_EQ(freed, i);
    }
    close_ui();
    CHECK_EQ(freed, 3);
}

/* ------------------------------------------------------------------ before Enter */

static const struct event_carries carries = {
    .turn = 1, .ctx = 2048, .system_tokens = 100, .pinned_tokens = 20, .summary_tokens = 30, .history_tokens = 400,
    .tool_tokens = 50, .reserve_tokens = 512, .high_tokens = 1400, .frees_tokens = 300, .answer_tokens = 512};

static void put_carries(const char *agent, struct event_carries c)
{
    put_event(&(struct event){.kind = EV_CARRIES, .agent = event_str(agent), .carries = c});
}

static void check_plan(const char *words)
{
    const struct event_carries *c = &carries;
    const int64_t held = c->system_tokens + c->pinned_tokens + c->summary_tokens + c->history_tokens + c->tool_tokens;
    const char *row = row_with("this turn carries");
    const int64_t prompt = number_behind(row, "carries "), whole = number_behind(row, "= ");
    CHECK(row != NULL);
    CHECK(prompt >= held + token_count && prompt <= held + token_count + 16); /* with the marks around a message */
    CHECK_EQ(number_behind(row, "up to "), c->reserve_tokens);
    CHECK_EQ(whole, prompt + c->reserve_tokens);
    CHECK_EQ(number_behind(row, " of "), c->ctx);
    SHOWS(words);
}

TEST(plan_fits_or_is_summed_up_first_or_does_not_fit)
{
    open_live(160, 36);
    put_news(NEWS_AGENT, 0, "");
    put_carries("", carries);
    SHOWS_NO("this turn carries");
    token_count = 12;
    press("a few words");
    check_plan("12 tokens - this turn carries");
    check_plan("- fits");
    token_count = 900;
    press(" and more");
    check_plan("the oldest are summed up first, which frees about 300");
    token_count = 1500;
    press(" and more");
    check_plan("does not fit: a turn may have 1,408 here");
    token_exact = false;
    token_count = 5;
    press(" x");
    SHOWS("about 5 tokens");
    token_count = 1;
    token_exact = true;
    press("y");
    SHOWS(" 1 token -");
    token_count = -2;
    press("z");
    SHOWS(" 33 bytes");
    press(CTRL_U "/memory");
    SHOWS_NO("bytes");
    SHOWS_NO("carries ");
    close_ui();
}

/* Of the embedded model's template: a turn of 3,499 tokens is the largest that its context of 4,096 takes. */
TEST(plan_counts_what_the_template_writes)
{
    open_live(160, 36);
    put_news(NEWS_AGENT, 0, "");
    put_carries("", (struct event_carries){.ctx = 4096, .system_tokens = 30, .reserve_tokens = 562,
                                           .high_tokens = 3009, .answer_tokens = 512});
    token_frame = 5;
    token_count = 3499;
    press("a");
    SHOWS("3,499 tokens - this turn carries 3,534 + up to 562 = 4,096 of 4,096 - fits");
    token_count = 3500;
    press("b");
    SHOWS("= 4,097 of 4,096 - does not fit: a turn may have 3,499 here");
    token_frame = -1; /* not known */
    token_count = 12;
    press("c");
    SHOWS("12 tokens - this turn carries about 50 + up to 562 = 612 of 4,096 - seems to fit");
    close_ui();
}

/* What is there has to leave, and a line stands for it then. */
TEST(plan_leaves_room_for_the_line_of_what_leaves)
{
    open_live(160, 36);
    put_news(NEWS_AGENT, 0, "");
    put_carries("", (struct event_carries){.ctx = 2048, .system_tokens = 100, .history_tokens = 400,
                                           .reserve_tokens = 512, .high_tokens = 1536});
    token_count = 1300;
    press("a");
    SHOWS("- the oldest leave the context first");
    token_count = 1428; /* and 8 around it, and 100: just the room */
    press("b");
    SHOWS("- may not fit: a turn may have about 1,428 here");
    close_ui();
}

TEST(plan_is_whole_at_any_width)
{
    static const struct { int columns; const char *is; } each[] = {
        {160, " 900 tokens - this turn carries 1,508 + up to 512 = 2,020 of 2,048 - the oldest are summed up first, "
              "which frees about 300\n"},
        {120, " 900 tokens - sums up first (frees 300) - carries 1,508 + 512 of 2,048\n"},
        {80, " 900 tokens - sums up first (frees 300) - carries 1,508 + 512 of 2,048\n"},
        {60, " 900 tokens - sums up first (frees 300)\n"},
        {40, " 900 tokens - sums up first (frees 300)\n"}};
    open_live(160, 36);
    put_news(NEWS_AGENT, 0, "");
    put_carries("", carries);
    token_count = 900;
    press("words");
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        ui_resize(ui, each[i].columns, 24);
        SHOWS(each[i].is);
    }
    token_count = 1500;
    press("!");
    SHOWS(" 1,500 tokens - does not fit\n");
    ui_resize(ui, 80, 24);
    begun("before it");
    press(" and\r" "more");
    SHOWS(" 1,500 tokens - does not fit (at most 1,408)   1 waiting: Alt-Up takes one back\n");
    close_ui();
}

TEST(plan_without_a_summary_says_that_the_oldest_leave)
{
    struct event_carries c = carries;
    c.frees_tokens = 0;
    open_live(120, 36);
    put_news(NEWS_AGENT, 0, "");
    put_carries("", c);
    token_count = 1000;
    press("long");
    SHOWS("the oldest leave the context first");
    close_ui();
}

TEST(plan_is_of_the_agent_that_is_addressed)
{
    struct event_carries c = carries;
    open_live(140, 36);
    put_news(NEWS_AGENT, 1, "ann");
    put_news(NEWS_AGENT, 1, "bob");
    put_news(NEWS_SESSION, -1, "\n0\n");
    put_carries("ann", carries);
    c.ctx = 4096;
    put_carries("bob", c);
    token_count = 10;
    press("to the crew"); /* whose flow decides */
    SHOWS("10 tokens");
    SHOWS_NO("this turn carries");
    press(CTRL_U "@ann hello");
    SHOWS("of 2,048 - fits");
    press(CTRL_U "@bob hello");
    SHOWS("of 4,096 - fits");
    put_news(NEWS_SESSION, 0, "\n0\n"); /* lines go to ann */
    press(CTRL_U "hello");
    SHOWS("of 2,048 - fits");
    close_ui();
}

/* ------------------------------------------------------------------ texts of others */

static const char hostile[] = "\x1b]0;title\x07\x1b[2J\xc2\x9b" "31m\xe2\x80\xae" "evil\xe2\x80\xac\xff\xfe\r\n"
                              "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 "
                              "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e e\xcc\x81";

/* Every place where somebody's words can come: the cells are checked by each look. */
TEST(hostile_texts_in_every_place)
{
    static char huge[10240];
    memset(huge, 'w', sizeof huge - 1);
    const char *const text[] = {hostile, huge,
                                "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        char both[sizeof huge + 40];
        open_ui((struct ui_setup){.columns = 120, .rows = 36, .utf8 = i % 2, .live = true, .stored = true,
                                  .crew = text[i]});
        snprintf(both, sizeof both, "5e55104a\n1\n%s", text[i]);
        put_news(NEWS_AGENT, 1, text[i]);
        put_news(NEWS_SESSION, 0, both);
        begun(text[i]);
        put_line(SAY_PLAIN, false, text[i]);
        put_line(SAY_ERROR, false, text[i]);
        put_line(SAY_PROGRESS, false, text[i]);
        put_event(&(struct event){.kind = EV_SESSION_OPEN, .session_open = {
            .version = event_str(text[i]), .engine = event_str(text[i]), .file = event_str(text[i]),
            .model = event_str(text[i]), .arch = event_str(text[i]), .types = event_str(text[i]),
            .template = event_str(text[i]), .backend = event_str(text[i]), .kernels = event_str(text[i])}});
        put_event(&(struct event){.kind = EV_TEXT, .agent = event_str(text[i]), .text = {1, event_str(text[i])}});
        put_news(NEWS_PAST_BEGINS, 1, text[i]);
        put_question(1, text[i], text[i], text[i], i % 2);
        look();
        snprintf(both, sizeof both, ESC "[200~%s" ESC "[201~", text[i]);
        press(both);
        look();
        for (int columns = 1; columns < 250; columns += 17) {
            ui_resize(ui, columns, 1 + columns / 4);
            look();
        }
        close_ui();
    }
}

TEST(over_is_told)
{
    open_live(80, 24);
    put_news(NEWS_OVER, 3, "");
    CHECK(ui->over);
    CHECK_EQ(ui->status, 3);
    close_ui();
}

CHECK_MAIN
