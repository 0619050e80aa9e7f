/* The screen as somebody finds it who wants it to break: lines that would be lost, texts that are cut, figures and
 * sizes that nobody has. */
#include "tests/ui_rig.h"
#include <malloc.h>

/* ------------------------------------------------------------------ no line is lost */

TEST(hostile_ctrl_d_does_not_leave_before_a_line_that_was_sent)
{
    open_live(80, 24);
    press("hello\r\x04"); /* and it was not heard yet that it begins */
    CHECK(!strstr(asked.data, "leave"));
    put_news(NEWS_BEGUN, 1, "hello");
    put_news(NEWS_DONE, 0, "");
    press("\x04");
    CHECK(strstr(asked.data, "leave"));
    close_ui();
}

TEST(hostile_ctrl_c_takes_back_a_line_that_has_not_begun)
{
    open_live(80, 24);
    press("hello\r");
    waits = "hello";
    press("\x03");
    SHOWS("taken back: it had not begun");
    SHOWS("› hello");
    press("\x03");
    SHOWS("Ctrl-C again leaves; what is typed here is not sent");
    CHECK(!strstr(asked.data, "leave\n"));
    close_ui();
}

/* More was sent while the end of the line before was on its way. */
TEST(hostile_lines_that_wait_are_counted_as_they_are_sent)
{
    open_live(80, 24);
    press("one\r");
    put_news(NEWS_BEGUN, 1, "one");
    press("two\rthree\r");
    put_news(NEWS_DONE, 0, ""); /* as it was then */
    put_news(NEWS_BEGUN, 2, "two");
    SHOWS("1 waiting: Alt-Up takes one back");
    put_news(NEWS_DONE, 0, "");
    put_news(NEWS_BEGUN, 3, "three");
    SHOWS_NO("waiting: Alt-Up");
    close_ui();
}

TEST(hostile_while_it_leaves_keys_do_nothing_but_there_is_a_way_out)
{
    open_live(80, 24);
    press("typed");
    ui_leave(ui);
    SHOWS("leaving: what was said is being saved");
    asked.len = 0;
    press(" more\r\x04" ESC F2 "\x0c");
    CHECK_EQ(asked.len, 0);
    SHOWS_NO("typed more");
    SHOWS("leaving: what was said is being saved");
    press("\x03");
    SHOWS("Ctrl-C twice more ends it at once: what is not saved yet is lost");
    press("\x03");
    SHOWS("Ctrl-C again ends it at once");
    press("\x03"); /* this host cannot */
    CHECK_EQ(asked.len, 0);
    close_ui();
}

/* To close a session may take its time; what is typed then would be obeyed by nobody. */
TEST(hostile_after_quit_no_line_is_taken)
{
    open_live(80, 24);
    press("/quit\r");
    put_news(NEWS_BEGUN, 1, "/quit");
    put_news(NEWS_DONE, -1, "");
    SHOWS("leaving: what was said is being saved");
    asked.len = 0;
    press("more\r");
    CHECK_EQ(asked.len, 0);
    close_ui();
}

/* ------------------------------------------------------------------ an answer is not what was being typed */

TEST(hostile_a_question_for_words_does_not_take_what_was_being_typed)
{
    open_live(80, 24);
    press("my next li");
    pass(0);
    put_question(3, "ann", "Which colour?", "", true);
    SHOWS("Which colour?");
    press("ne\r"); /* fingers go on */
    CHECK(!asked.data || !strstr(asked.data, "answer"));
    pass(2);
    press("\x15" "blue\r");
    CHECK(strstr(asked.data, "answer 3: 1 [blue]\n"));
    SHOWS("› my next li");
    close_ui();
}

TEST(hostile_what_was_typed_comes_back_when_questions_are_withdrawn)
{
    open_live(80, 24);
    press("a line");
    put_question(3, "ann", "Which colour?", "", true);
    put_question(4, "bob", "And size?", "", true);
    put_news(NEWS_WITHDRAWN, 3, "");
    SHOWS("And size?");
    SHOWS_NO("a line");
    put_news(NEWS_WITHDRAWN, 4, "");
    SHOWS("› a line");
    close_ui();
}

/* ------------------------------------------------------------------ texts are cut between characters */

static const char *many_of(const char *character, int n)
{
    static char text[4096];
    size_t len = strlen(character);
    for (int i = 0; i < n; i++) memcpy(text + (size_t)i * len, character, len);
    text[(size_t)n * len] = '\0';
    return text;
}

#define NO_HOLES() SHOWS_NO("\xef\xbf\xbd")

TEST(hostile_texts_are_cut_between_characters)
{
    char session[1024];
    for (int shift = 0; shift < 3; shift++) {
        open_live(200, 24);
        snprintf(session, sizeof session, "%032d\n3\n%.*s%.600s", 7, shift, "abc", many_of("水", 100));
        put_news(NEWS_SESSION, 0, session);
        NO_HOLES();
        SHOWS("水水水");
        snprintf(session, sizeof session, "%.*s%.600s", shift, "abc", many_of("水", 100));
        put_news(NEWS_PAST_BEGINS, 3, session);
        put_line(SAY_PROGRESS, false, session);
        NO_HOLES();
        struct event e = {.kind = EV_ERROR, .error = {.where = event_str("x"), .text = event_str(session)}};
        struct event r = {.kind = EV_REFUSAL, .refusal = {.turn = 1, .termination_reason = event_str("refused_kv"),
                                                          .text = event_str(session)}};
        put_event(&e);
        put_event(&r);
        NO_HOLES();
        close_ui();
    }
}

TEST(hostile_what_is_asked_about_is_cut_between_characters_and_says_so)
{
    struct err err = {0};
    struct bridge *b = bridge_open(&err);
    CHECK(b != NULL);
    for (int shift = 0; shift < 3; shift++) {
        char who[100], scope[700];
        snprintf(who, sizeof who, "%.*s%.60s", shift, "abc", many_of("水", 20));
        snprintf(scope, sizeof scope, "%.*s%.600s", shift, "abc", many_of("水", 200));
        bridge_question(b, who, "?", 1, scope, false);
        struct news *n = bridge_take(b);
        CHECK(n && text_valid_utf8(n->who, strlen(n->who)) == strlen(n->who));
        CHECK_EQ(text_valid_utf8(n->scope, strlen(n->scope)), strlen(n->scope));
        CHECK(strcmp(n->scope + strlen(n->scope) - 3, "...") == 0);
        news_free(n);
    }
    bridge_question(b, "ann", "?", 1, "all of it", false);
    struct news *n = bridge_take(b);
    CHECK(n);
    CHECK_STR(n->scope, "all of it");
    news_free(n);
    bridge_close(b);
}

/* ------------------------------------------------------------------ files behind an @ */

static int64_t size_of_file(void *arg, const char *path)
{
    (void)arg;
    if (strcmp(path, "notes.txt") == 0) return 4000;
    return strcmp(path, "big.log") == 0 ? 40960 : -1;
}
static int no_list(void *arg, bool mention, const char *folder, const char *prefix, struct folder *out)
{
    (void)arg, (void)mention, (void)folder, (void)prefix, (void)out;
    return -1;
}

TEST(files_that_a_line_names_are_weighed_before_it_is_sent)
{
    const struct complete_files files = {no_list, size_of_file, NULL};
    const struct complete_source with = {.files = &files};
    open_live(120, 36);
    source = &with;
    press("look at @notes.txt");
    SHOWS("3 tokens + notes.txt (4,000 bytes, about 1,000 tokens)");
    press(" and @big.log and @nothing");
    SHOWS(" + 2 files (about 11,240 tokens)");
    press("\x15see @big.log");
    SHOWS("2 tokens + big.log (40 KiB, about 10,240 tokens)");
    press("\x15/attach @big.log");
    SHOWS_NO("big.log (");
    close_ui();
}

/* ------------------------------------------------------------------ any size */

TEST(hostile_every_view_at_sizes_that_nobody_has)
{
    static const int size[][2] = {{1, 1}, {2, 1}, {1, 30}, {20, 5}, {9, 3}, {40, 10}, {300, 100}, {39, 200}, {300, 2}};
    static const char *const go[] = {F1, F2, ESC "OR", ESC "OS", ESC "[15~", ESC "[17~", ESC "[18~", ESC "[19~",
                                     ESC "[21~", ESC "[24~"};
    struct stream s = read_stream("debate");
    open_live(80, 24);
    play(&s, 400);
    press("some text that is typed and longer than a row of most terminals\x0a" "and a second one");
    put_question(1, "ann", many_of("水 ", 500), "the scope", false);
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        ui_resize(ui, size[i][0], size[i][1]);
        for (size_t v = 0; v < COUNT_OF(go); v++) {
            press(go[v]);
            look();
            press(PAGE_DOWN);
            look();
        }
        pass(1);
        press(ESC); /* no more question, and back to the chat */
        press(ESC);
        look();
        put_question((int64_t)i + 2, "ann", many_of("a\n", 300), "", i % 2);
        look();
    }
    close_ui();
    free_stream(&s);
}

/* ------------------------------------------------------------------ figures */

TEST(hostile_figures_of_any_size_are_drawn)
{
    static const int64_t n[] = {INT64_MAX, INT64_MIN, -1, 0};
    for (size_t i = 0; i < COUNT_OF(n); i++) {
        open_live(200, 60);
        struct event carries = {.kind = EV_CARRIES, .carries = {
            .turn = n[i], .ctx = n[i], .system_tokens = n[i], .pinned_tokens = n[i], .summary_tokens = n[i],
            .history_tokens = n[i], .tool_tokens = n[i], .answer_tokens = n[i], .reserve_tokens = n[i],
            .high_tokens = n[i], .frees_tokens = n[i]}};
        put_event(&carries);
        put_news(NEWS_DONE, n[i], "");
        put_news(NEWS_SESSION, n[i] > 0 ? 70 : -5, "abc\n99999999999999999999\nt");
        token_count = n[i] == -1 ? INT64_MAX : n[i];
        press("text");
        look();
        close_ui();
    }
}

/* ------------------------------------------------------------------ memory */

static void one_turn(int i)
{
    char text[300];
    snprintf(text, sizeof text, "line %d: %.*s", i, i % 200, many_of("word ", 60));
    put_news(NEWS_BEGUN, i, text);
    struct event start = {.kind = EV_TURN_START, .turn_start = {.turn = i, .call = 1, .prompt_tokens = 100,
                                                                .max_tokens = 50}};
    struct event say = {.kind = EV_TEXT, .text = {.turn = i, .text = event_str(text)}};
    struct event end = {.kind = EV_TURN_END, .turn_end = {
        .turn = i, .call = 1, .end = event_str("stop"), .termination_reason = event_str("completed"),
        .text = event_str(text), .tokens = 20, .prompt_tokens = 100}};
    struct event memory = {.kind = EV_MEMORY, .time = i, .memory = {.pool_tokens = 4096, .filled_tokens = i % 4096}};
    put_event(&start);
    put_event(&say);
    put_event(&memory);
    put_event(&end);
    put_line(SAY_DIM, true, text);
    put_news(NEWS_DONE, 0, "");
    if (i % 50 == 0) look();
}

TEST(hostile_memory_does_not_grow_with_turns)
{
    open_live(120, 36);
    for (int i = 0; i < 11000; i++) one_turn(i);
    const size_t before = mallinfo2().uordblks;
    for (int i = 11000; i < 22000; i++) one_turn(i);
    const size_t after = mallinfo2().uordblks;
    CHECK(after < before + (1 << 20) && after < 32u << 20);
    close_ui();
}

CHECK_MAIN
