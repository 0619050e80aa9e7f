/* Every key of the screen: what it shows, and what it asks the host for. */
#include "app/tui/ui_impl.h"
#include "tests/ui_rig.h"

#define ASKED(text) CHECK_STR(told(), text)

static void begun(const char *text) { put_news(NEWS_BEGUN, 0, text); }
static void done(void) { put_news(NEWS_DONE, 0, ""); }

static void say_things(int n)
{
    for (int i = 1; i <= n; i++) {
        char line[40];
        snprintf(line, sizeof line, "question number %d", i);
        begun(line);
        done();
    }
}

/* ------------------------------------------------------------------ sending */

TEST(send_is_an_order_and_what_is_said_is_shown_when_it_is_begun)
{
    open_live(80, 24);
    SHOWS("say something, or /command");
    press("hello there");
    SHOWS("› hello there");
    press("\r");
    ASKED("remember hello there\norder hello there\n");
    SHOWS("1 waiting: Alt-Up takes one back");
    SHOWS_NO("you");
    begun("hello there");
    SHOWS("you           hello there");
    SHOWS_NO("waiting");
    SHOWS("type on: it waits its turn");
    SHOWS("Esc cancel");
    CHECK(ui_busy(ui));
    pass(2.2);
    SHOWS("an answer is on its way for 2 s");
    done();
    CHECK(!ui_busy(ui));
    SHOWS_NO("on its way");
    SHOWS_NO("Esc cancel");
    close_ui();
}

TEST(send_of_nothing_or_blanks_is_nothing)
{
    open_live(80, 24);
    press("\r   \r");
    ASKED("");
    close_ui();
}

TEST(send_several_lines)
{
    open_live(80, 24);
    press("one" ESC "\rtwo\nthree"); /* Alt-Enter, Ctrl-J */
    SHOWS("› one\n   two\n   three\n");
    press("\r");
    ASKED("remember one\ntwo\nthree\norder one\ntwo\nthree\n");
    SHOWS_NO("three");
    close_ui();
}

TEST(send_when_too_many_wait_leaves_it_typed)
{
    open_live(80, 24);
    full = true;
    press("once more\r");
    SHOWS("32 lines wait already: this one was not sent");
    SHOWS("› once more");
    SHOWS_NO(" waiting:");
    full = false;
    told();
    press("\r");
    CHECK(strstr(told(), "order once more\n"));
    close_ui();
}

TEST(queue_lines_while_a_turn_runs_and_take_one_back)
{
    open_live(80, 24);
    begun("first");
    press("second\rthird\r");
    SHOWS("2 waiting");
    pass(3);
    SHOWS_NO("; what waits");
    ui_resize(ui, 110, 24);
    SHOWS(" s; what waits begins behind it");
    told();
    waits = "third";
    press(ALT_UP);
    ASKED("take back\n");
    SHOWS("› third");
    SHOWS("1 waiting");
    press(CTRL_U ALT_UP);
    SHOWS("nothing waits to be sent");
    put_news(NEWS_DONE, 1, "");
    SHOWS("1 waiting");
    begun("second");
    SHOWS_NO("waiting:");
    close_ui();
}

TEST(send_a_command_is_shown_as_one_with_its_lines)
{
    open_live(80, 24);
    press("/memory\r");
    begun("/memory");
    pass(3);
    SHOWS("a command runs for 3 s");
    put_line(SAY_PLAIN, false, "pool 94 pages");
    done();
    SHOWS("/memory");
    SHOWS("pool 94 pages");
    SHOWS_NO("you");
    close_ui();
}

/* ------------------------------------------------------------------ cancelling, leaving */

TEST(cancel_by_escape_or_ctrl_c_while_something_runs)
{
    open_live(80, 24);
    begun("go");
    press(ESC);
    ASKED("cancel []\n");
    SHOWS("cancelling...");
    press(CTRL_C);
    ASKED("cancel []\n");
    CHECK(ui_busy(ui));
    done();
    SHOWS_NO("cancelling...");
    press(ESC); /* nothing runs: nothing is asked */
    ASKED("");
    close_ui();
}

/* A file is indexed beside all else. */
TEST(escape_stops_what_goes_on_while_nothing_runs)
{
    open_live(80, 24);
    press("\x1b");
    ASKED("");
    put_line(SAY_PROGRESS, false, "indexing big.txt: 1.0 of 2.0 MiB, 50 % (Esc stops it)");
    SHOWS("50 % (Esc stops it)");
    press("\x1b");
    ASKED("cancel []\n");
    put_line(SAY_PROGRESS, false, "");
    press("\x1b");
    ASKED("");
    close_ui();
}

TEST(cancel_as_a_command_does_not_wait_in_the_queue)
{
    open_live(80, 24);
    put_news(NEWS_AGENT, 1, "ann");
    press("/cancel\r");
    SHOWS("nothing is running");
    begun("go");
    told();
    press("/cancel ann\r");
    ASKED("remember /cancel ann\ncancel [ann]\n");
    press("/cancel bob\r");
    SHOWS("there is no agent bob");
    ASKED("remember /cancel bob\n");
    press("/cancel\r");
    ASKED("remember /cancel\ncancel []\n");
    press("/cancellation\r"); /* another word */
    ASKED("remember /cancellation\norder /cancellation\n");
    close_ui();
}

TEST(cancel_in_the_view_of_agents_does_not_wait_in_the_queue)
{
    open_live(80, 24);
    put_news(NEWS_AGENT, 1, "ann");
    put_news(NEWS_AGENT, 1, "bob");
    begun("go");
    press(F4 DOWN "c");
    ASKED("cancel [bob]\n");
    press("x");
    ASKED("cancel []\n");
    SHOWS_NO(" waiting");
    press("a");
    ASKED("order /park bob\n");
    SHOWS("/park bob waits for the end of the answer that is on its way");
    done();
    SHOWS("/park bob waits");
    begun("/park bob");
    SHOWS_NO("/park bob waits");
    put_line(SAY_DIM, false, "parked: 64 tokens left the KV pool");
    SHOWS("parked: 64 tokens left");
    full = true;
    press("a"); /* it is not sent, and does not wait */
    SHOWS("this one was not sent");
    full = false;
    told();
    press("a");
    SHOWS("waits for the end of the command that runs");
    told();
    done();
    press("x");
    SHOWS("nothing is running");
    ASKED("");
    close_ui();
}

TEST(leave_by_a_second_ctrl_c)
{
    open_live(80, 24);
    press("half a line" CTRL_C);
    SHOWS("Ctrl-C again leaves; what is typed here is not sent");
    SHOWS("half a line");
    press("x"); /* another key between them: it is asked again */
    SHOWS_NO("again leaves");
    press(CTRL_U CTRL_C);
    SHOWS("Ctrl-C again leaves");
    ASKED("");
    press(CTRL_C);
    ASKED("leave\n");
    close_ui();
}

TEST(leave_by_ctrl_d_where_nothing_is_typed_and_nothing_runs)
{
    open_live(80, 24);
    press("ab" CTRL_A CTRL_D);
    SHOWS("› b\n");
    ASKED("");
    press(CTRL_D);
    begun("go");
    press(CTRL_D);
    SHOWS("a turn is running: Esc cancels it");
    put_question(7, "writer", "rm -r build", "", false);
    press(CTRL_D);
    SHOWS("a turn is running: Ctrl-C cancels it"); /* Esc is an answer */
    ui_question_drop(ui, 7);
    ASKED("");
    done();
    press(CTRL_D);
    ASKED("leave\n");
    close_ui();
}

TEST(suspend_and_redraw_from_everywhere)
{
    open_live(80, 24);
    press(CTRL_Z CTRL_L);
    ASKED("suspend\nredraw\n");
    press(F1 CTRL_Z CTRL_L);
    ASKED("suspend\nredraw\n");
    close_ui();
}

/* ------------------------------------------------------------------ the input */

TEST(input_paste_is_text_and_sends_nothing)
{
    open_live(80, 24);
    press(ESC "[200~first\rsecond\x1b[31m\x07" ESC "[201~");
    ASKED("");
    SHOWS("› first\n");
    SHOWS("   second\xef\xbf\xbd[31m\xef\xbf\xbd");
    press("\r");
    ASKED("remember first\nsecond\x1b[31m\x07\norder first\nsecond\x1b[31m\x07\n");
    close_ui();
}

TEST(input_history_by_up_and_by_search)
{
    open_live(80, 24);
    press("alpha one\r" "beta two\r" "alpha three\r");
    press(UP UP);
    SHOWS("› beta two");
    press(DOWN);
    SHOWS("› alpha three");
    press(CTRL_U CTRL_R "alp" CTRL_R);
    SHOWS("alpha one");
    SHOWS("Enter take  Ctrl-R older  Esc ends");
    told();
    press("\r"); /* taken into the text, not sent */
    ASKED("");
    SHOWS("› alpha one");
    press("\r");
    CHECK(strstr(told(), "order alpha one\n"));
    press(CTRL_R "bet" ESC); /* as before the search */
    SHOWS("say something");
    close_ui();
}

TEST(input_search_has_the_keys_of_an_empty_input_too)
{
    open_live(80, 24);
    press("what\r" "why?\r" "wham\r");
    press(CTRL_R "y?"); /* not for the help */
    SHOWS("why?\n");
    SHOWS_NO("this help");
    told();
    press(CTRL_D); /* takes what was found, as any key that is not the search's */
    ASKED("");
    SHOWS("› why?\n");
    press(CTRL_U "?");
    SHOWS("this help");
    close_ui();
}

TEST(input_keys_of_the_line)
{
    static const struct { const char *keys, *is; } each[] = {
        {"one two three" CTRL_W, "› one two\n"},
        {CTRL_Y, "› one two three\n"},
        {CTRL_A ">", "› >one two three\n"},
        {CTRL_E "<", "› >one two three<\n"},
        {ESC "b" "|", "› >one two |three<\n"},
        {ESC "f" "|", "› >one two |three|<\n"},
        {CTRL_A CTRL_K "x", "› x\n"},
        {"\x1f", "› \n"},       /* Ctrl-_: undo the x ... */
        {"\x1f", "› >one two |three|<\n"},
        {CTRL_E CTRL_U "new", "› new\n"},
        {ESC "[D" ESC "[D" ESC "[3~", "› nw\n"},
        {ESC "[H" "\x7f" "a" ESC "[F" "z", "› anwz\n"},
        {ESC "[1;5D" "!", "› !anwz\n"},
        {ESC "d", "› !\n"},
    };
    open_live(80, 24);
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        press(each[i].keys);
        if (strcmp(each[i].is, "› \n") == 0) SHOWS("say something");
        else SHOWS(each[i].is);
    }
    close_ui();
}

TEST(input_in_an_editor_of_its_own)
{
    open_live(80, 24);
    press("draft");
    edited = "draft\nfinished";
    press(CTRL_X);
    ASKED("editor [draft]\n");
    SHOWS("› draft\n   finished");
    press("\x1f"); /* undo */
    SHOWS("› draft\n");
    SHOWS_NO("finished");
    close_ui();
}

TEST(input_grows_with_its_text_to_a_third_of_the_rows_and_survives_resizes)
{
    open_live(80, 24);
    for (int i = 0; i < 30; i++) press("a line of some words\n");
    press("the end");
    SHOWS("the end");
    CHECK(ui->layout.input.rows <= 24 / 3 && ui->layout.input.rows > 5);
    for (int columns = 1; columns <= 130; columns += 3) {
        ui_resize(ui, columns, 1 + columns % 40);
        look();
    }
    ui_resize(ui, 80, 24);
    SHOWS("the end");
    CHECK_EQ(look()->cursor_row, ui->layout.input.row + ui->layout.input.rows - 1);
    told();
    press("\r");
    CHECK(strstr(told(), "a line of some words\nthe end\n"));
    SHOWS("say something");
    close_ui();
}

/* ------------------------------------------------------------------ completion */

static const struct command_row commands[] = {
    {"/context", NULL, COMMAND_NONE, NULL, NULL, "what is carried"},
    {"/compact", NULL, COMMAND_NONE, NULL, NULL, "sums up"},
    {"/seed", "N", COMMAND_NUMBER, NULL, NULL, "draws anew"},
    {"/use", "AGENT", COMMAND_AGENT, NULL, NULL, "speaks to"},
};
static const struct complete_name agents[] = {{"researcher", "looks things up"}, {"writer", "writes"}};
static const struct complete_source completes = {
    .command = commands, .commands = COUNT_OF(commands), .names = {[COMMAND_AGENT] = {agents, 2}}};

TEST(completion_as_far_as_choices_agree_then_through_them)
{
    open_live(80, 24);
    source = &completes;
    press("/c\t");
    SHOWS("› /co\n");
    SHOWS("/context");
    SHOWS("sums up");
    press("\t");
    SHOWS("› /co");
    const char *first = row_with("› /");
    CHECK(first && (strstr(first, "/compact") || strstr(first, "/context")));
    press("\t" SHIFT_TAB SHIFT_TAB);
    SHOWS("what is carried");
    press("\r"); /* takes the choice, and does not send */
    ASKED("");
    SHOWS_NO("what is carried");
    press("\r");
    CHECK(strstr(told(), "order /co"));
    close_ui();
}

TEST(completion_of_one_choice_is_taken_and_escape_ends_the_list)
{
    open_live(80, 24);
    source = &completes;
    press("@res\t");
    SHOWS("› @researcher");
    press(CTRL_U "/us\t" "wr\t");
    SHOWS("› /use writer");
    press(CTRL_U "/c\t");
    SHOWS("what is carried");
    begun("go");
    press(ESC); /* of the list, not of the turn */
    ASKED("");
    SHOWS_NO("what is carried");
    SHOWS("› /co");
    press(ESC);
    ASKED("cancel []\n");
    close_ui();
}

TEST(completion_says_what_is_taken_and_that_there_is_nothing)
{
    open_live(80, 24);
    source = &completes;
    press("/seed \t");
    SHOWS("takes N");
    press(CTRL_U "word\t");
    SHOWS("nothing to complete here");
    source = NULL;
    press(CTRL_U "/c\t");
    SHOWS("› /c\n");
    close_ui();
}

/* ------------------------------------------------------------------ the conversation */

TEST(scroll_by_pages_and_to_both_ends)
{
    open_live(80, 24);
    say_things(40);
    SHOWS("question number 40");
    press(PAGE_UP);
    SHOWS_NO("question number 40\n");
    SHOWS("more below: PgDn, Ctrl-End goes there");
    begun("question number 41"); /* the view stays where it is */
    SHOWS_NO("question number 41");
    press(PAGE_DOWN PAGE_DOWN);
    SHOWS("question number 41");
    SHOWS_NO("more below");
    press(CTRL_HOME);
    SHOWS("question number 1\n");
    press(CTRL_END);
    SHOWS("question number 41");
    press(PAGE_UP "now\r"); /* who sends wants to see what comes */
    SHOWS("question number 41");
    close_ui();
}

TEST(scroll_where_nothing_is_shown)
{
    const struct event_str none = {"", 0};
    for (int kind = 0; kind < 4; kind++) {
        open_live(100, 24);
        if (kind == 0) put_line(SAY_PLAIN, false, "");
        if (kind == 1) begun("");
        if (kind == 2) put_event(&(struct event){.kind = EV_TEXT, .agent = event_str("ann"), .text = {1, none}});
        if (kind == 3)
            put_event(&(struct event){.kind = EV_TURN_END, .agent = event_str("ann"), .turn_end = {
                .turn = 1, .end = event_str("stop"), .termination_reason = none, .text = none}});
        press(PAGE_UP PAGE_UP PAGE_DOWN CTRL_HOME); /* before the first look, and behind it */
        look();
        press(PAGE_UP PAGE_UP PAGE_DOWN CTRL_HOME CTRL_END);
        look();
        close_ui();
    }
}

TEST(search_finds_older_and_newer_and_says_when_there_is_none)
{
    open_live(80, 24);
    say_things(60);
    SHOWS("Enter send");
    press(CTRL_F "number 7");
    SHOWS("search: number 7");
    SHOWS("Enter next  Up before  Esc ends");
    SHOWS_NO("Enter send"); /* what is said of a key is what it does now */
    SHOWS("question number 7\n");
    press("zz");
    SHOWS("nothing found");
    press("\x7f\x7f\x7f" "2"); /* number 2: 29 to 20, 2 */
    SHOWS_NO("nothing found");
    press(ESC);
    SHOWS("say something");
    SHOWS_NO("search:");
    press("x");
    SHOWS("› x");
    close_ui();
}

TEST(search_goes_on_from_the_other_end_and_says_so)
{
    open_live(80, 24);
    say_things(1);
    press(CTRL_F "QUESTION");
    SHOWS("search: QUESTION\n");
    press("\r"); /* the only one */
    SHOWS("search: QUESTION  on from the top\n");
    SHOWS_NO("nothing found");
    press(UP);
    SHOWS("search: QUESTION  on from the end\n");
    press(ESC);
    say_things(60);
    press(CTRL_HOME CTRL_F); /* all is searched, wherever the view is */
    for (const char *at = "number 59"; *at; at++) {
        look();
        press((char[]){*at, '\0'});
    }
    SHOWS("search: number 59  on from the end\n");
    SHOWS("question number 59\n");
    press("\r" "\x7f\x7f" "60");
    SHOWS("question number 60\n");
    close_ui();
}

TEST(search_while_typing_stays_with_the_newest_that_has_it)
{
    open_live(80, 24);
    say_things(100);
    press(CTRL_F "number 9");
    SHOWS("question number 99\n");
    press(UP);
    press(UP);
    press(UP);
    press(CTRL_F); /* 95 */
    SHOWS("question number 95\n");
    press("\r"); /* newer again */
    SHOWS("question number 96\n");
    close_ui();
}

TEST(search_takes_the_first_line_of_a_paste_as_far_as_there_is_room)
{
    char long_one[UI_QUERY + 40] = ESC "[200~";
    open_live(80, 24);
    say_things(60);
    press(CTRL_F "num" ESC "[200~ber 7\rnot this" ESC "[201~");
    SHOWS("search: number 7\n");
    SHOWS("question number 7\n");
    press(ESC);
    press(CTRL_F ESC "[200~\nempty" ESC "[201~");
    CHECK_EQ(ui->n_query, 0);
    for (size_t i = strlen(long_one); strlen(long_one) < 6 + UI_QUERY - 1; i++) long_one[i] = 'x';
    strcat(long_one, "\xc3\xa9\xc3\xa9" ESC "[201~");
    press(long_one);
    CHECK_EQ(ui->n_query, UI_QUERY - 1); /* not a part of the next character */
    press("y");
    CHECK_EQ(ui->n_query, UI_QUERY);
    press("z");
    CHECK_EQ(ui->query[UI_QUERY - 1], 'y');
    look();
    ASKED("");
    close_ui();
}

TEST(browse_marks_a_row_opens_and_copies)
{
    open_live(80, 24);
    put_news(NEWS_AGENT, 0, "");
    begun("read it");
    const struct event_str none = {"", 0};
    put_event(&(struct event){.kind = EV_TOOL, .tool = {
        .turn = 1, .by = event_str("model"), .name = event_str("read"), .arguments = event_str("{}"), .artifact = none,
        .bytes = 40, .tokens = 9, .text = event_str("l1\nl2\nl3\nl4\nl5\nl6\nl7")}});
    done();
    SHOWS("3 lines more");
    press(CTRL_B);
    SHOWS("Enter folds  c copies  Esc ends");
    SHOWS_NO("Enter send");
    press("\r");
    SHOWS_NO("lines more");
    SHOWS("l7");
    press("c");
    CHECK_STR(told(), "copy [l1\nl2\nl3\nl4\nl5\nl6\nl7]\n");
    SHOWS("copied: 20 bytes");
    press("\r");
    SHOWS("3 lines more");
    for (int i = 0; i < 30; i++) press(UP);
    press("c");
    CHECK_STR(told(), "copy [read it]\n");
    copies = 4;
    press("c");
    SHOWS("copied: the first 4 of 7 bytes");
    copies = 0;
    press("c");
    SHOWS("this could not be copied");
    told();
    press("j" "k" PAGE_DOWN PAGE_UP DOWN UP "q");
    press("typed");
    SHOWS("› typed");
    close_ui();
}

TEST(browse_ends_by_escape_and_cancels_nothing)
{
    open_live(80, 24);
    begun("go");
    press(CTRL_B);
    CHECK_EQ(look()->cursor_row, -1);
    press(ESC);
    ASKED("");
    CHECK(look()->cursor_row >= 0);
    press(CTRL_B CTRL_C); /* but Ctrl-C does */
    ASKED("cancel []\n");
    close_ui();
}

TEST(agents_are_looked_at_in_turn)
{
    open_live(120, 36);
    put_news(NEWS_AGENT, 1, "ann");
    put_news(NEWS_AGENT, 1, "bob");
    put_news(NEWS_SESSION, -1, "\n0\n");
    SHOWS("crew ›");
    SHOWS("context of ann");
    press(CTRL_N);
    SHOWS("context of bob");
    press(CTRL_N);
    SHOWS("context of ann");
    put_news(NEWS_SESSION, 1, "\n0\n"); /* lines go to bob now */
    SHOWS("bob ›");
    close_ui();
}

/* ------------------------------------------------------------------ help, views */

TEST(help_has_every_key_and_scrolls)
{
    const char *keys, *help;
    open_live(120, 60);
    press("?");
    for (int i = 0; i < ui_key_rows(ui); i++) {
        ui_key_row(ui, i, &keys, &help);
        CHECK(keys && help);
        SHOWS(keys);
        SHOWS(help);
    }
    press(ESC);
    SHOWS("say something");
    press("?");
    press("?"); /* in the help it is no text either */
    press(ESC);
    press("a?");
    SHOWS("› a?");
    press(F1);
    ui_resize(ui, 80, 14);
    SHOWS("this help");
    SHOWS_NO("looks at the next agent");
    press(DOWN);
    SHOWS_NO("this help");
    press(UP);
    SHOWS("this help");
    for (int i = 0; i < 12; i++) press(PAGE_DOWN);
    SHOWS("looks at the next agent");
    for (int i = 0; i < 12; i++) press(PAGE_UP);
    SHOWS("this help");
    press("G");
    SHOWS("looks at the next agent");
    for (int columns = 1; columns < 120; columns += 3) { /* both ends are reached at any size */
        ui_resize(ui, columns, 8 + columns / 4);
        press("G");
        look();
        if (columns > 30) SHOWS("at the next agent");
        press("g");
        if (columns > 30) SHOWS("F1, ?");
    }
    ui_resize(ui, 80, 24);
    press(ESC);
    SHOWS("› a?");
    close_ui();
}

/* Rows of the bar at the right edge. */
static int bar_rows(void)
{
    const struct surface *s = look();
    int n = 0;
    for (int row = 0; row < s->rows; row++) n += (s->cell[(row + 1) * s->columns - 1].look.attr & LOOK_REVERSE) != 0;
    return n;
}

TEST(help_and_lessons_say_that_there_is_more_of_them_than_is_seen)
{
    static const struct { int columns, rows; } size[] = {{80, 24}, {60, 20}, {120, 36}};
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        int pages = 0;
        open_live(size[i].columns, size[i].rows);
        press("?");
        SHOWS_NO("looks at the next agent");
        for (; shows("PgDn more"); pages++) {
            CHECK(bar_rows() > 0 && pages < 20);
            press(PAGE_DOWN);
        }
        CHECK(pages > 0);
        SHOWS("looks at the next agent");
        press("\x1b[20~"); /* F9 */
        const bool all = shows("L18");
        CHECK_EQ(all, size[i].rows == 36);
        CHECK_EQ(bar_rows() > 1, !all); /* the marked row has the edge too */
        press("G");
        SHOWS("L18");
        close_ui();
    }
    open_live(120, 60);
    press("?");
    SHOWS_NO("PgDn more");
    CHECK_EQ(bar_rows(), 0);
    close_ui();
}

static const struct { const char *key, *alt; enum view_name view; const char *word; } views[] = {
    {F2, ESC "2", VIEW_MAP, "Memory map"}, {ESC "OR", ESC "3", VIEW_INSPECT, "Context inspector"},
    {ESC "OS", ESC "4", VIEW_AGENTS, "Agents"}, {ESC "[15~", ESC "5", VIEW_TIMELINE, "Timeline"},
    {ESC "[17~", ESC "6", VIEW_SESSIONS, "sessions"}, {ESC "[18~", ESC "7", VIEW_ARTIFACTS, "Artifacts"},
    {ESC "[19~", ESC "8", VIEW_LOG, "Log"}, {ESC "[21~", ESC "0", VIEW_MODELS, "model files"},
    {ESC "[24~", ESC "9", VIEW_FLIGHT, "Post-mortem"}, {ESC "[20~", ESC "l", VIEW_LESSONS, "Lessons"}};

/* Each view, over a session, at any size, by both its keys; Escape leads back and what is typed is still there. */
TEST(views_are_opened_and_left)
{
    struct stream s = read_stream("work");
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        if (!ui_view(views[i].view) || !ui_view(views[i].view)->open) continue;
        open_live(80, 24);
        play(&s, 120);
        press("typed");
        press(views[i].key);
        SHOWS(views[i].word);
        SHOWS("Esc chat");
        SHOWS_NO("typed");
        put_question(3, "writer", "rm -r build", "shell:rm", false); /* it is asked wherever one is */
        SHOWS("rm -r build");
        pass(2);
        press("n");
        CHECK(strstr(told(), "answer 3: "));
        for (int columns = 1; columns < 300; columns += 23) {
            ui_resize(ui, columns, 2 + columns / 3);
            look();
        }
        ui_resize(ui, 80, 24);
        pass(5);
        press(ESC);
        SHOWS("› typed");
        press(views[i].alt);
        SHOWS_NO("typed");
        press(ESC "1"); /* Alt-1: the chat */
        SHOWS("› typed");
        close_ui();
    }
    free_stream(&s);
}

TEST(keys_that_mean_nothing_do_nothing)
{
    open_live(80, 24);
    press(ESC "[2~" ESC "[25~" ESC "x" CTRL_T ESC "[1;6A" ESC "[999~");
    ASKED("");
    SHOWS("say something");
    close_ui();
}

CHECK_MAIN
