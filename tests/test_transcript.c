/* Events to entries, rows and the view; its bounds; search. */
#include "app/tui/transcript.h"
#include "tests/check.h"

static const struct transcript_limits plenty = {1 << 20, 1000, true};

static struct transcript *open_it(struct transcript_limits limits)
{
    struct transcript *t = transcript_open(limits, NULL);
    CHECK(t != NULL);
    return t;
}

static void tell(struct transcript *t, struct event e) { CHECK_EQ(transcript_event(t, &e), 0); }
static void user(struct transcript *t, const char *text)
{
    tell(t, (struct event){.kind = EV_TURN_USER, .turn_user = {.turn = 1, .text = event_str(text)}});
}
static void text(struct transcript *t, const char *agent, const char *text)
{
    tell(t, (struct event){.kind = EV_TEXT, .agent = event_str(agent), .text = {.turn = 1, .text = event_str(text)}});
}
static void end(struct transcript *t, const char *agent, const char *how, const char *text)
{
    tell(t, (struct event){.kind = EV_TURN_END, .agent = event_str(agent), .turn_end = {
        .turn = 1, .end = event_str(how), .text = event_str(text), .tokens = 7, .cancel_s = 0.004}});
}
static void tool(struct transcript *t, const char *agent, const char *text)
{
    tell(t, (struct event){.kind = EV_TOOL, .agent = event_str(agent), .tool = {
        .turn = 1, .name = event_str("search"), .arguments = event_str("{\"pattern\":\"OOM\"}"),
        .artifact = event_str("a7"), .bytes = 90000, .tokens = 31, .text = event_str(text)}});
}

static const char *screen(struct transcript *t, int columns, int rows)
{
    static struct buf out;
    struct surface s;
    CHECK_EQ(surface_open(&s, columns, rows, NULL), 0);
    CHECK_EQ(transcript_fit(t, columns, rows, false), 0);
    transcript_draw(&s, surface_all(&s), t);
    out.len = 0;
    surface_dump(&s, &out);
    surface_close(&s);
    return out.data;
}

TEST(transcript_answers_of_several_agents_grow_at_once)
{
    struct transcript *t = open_it(plenty);
    user(t, "Why?");
    text(t, "planner", "I will **loo");
    text(t, "critic", "Which");
    text(t, "planner", "k**");
    CHECK_STR(screen(t, 60, 6), "you           Why?\n\nplanner       I will look_\n\ncritic        Which_\n\n");
    end(t, "planner", "stop", "I will **look**");
    end(t, "critic", "cancelled", "Which");
    CHECK_STR(screen(t, 80, 6), "you           Why?\n\nplanner       I will look\n\ncritic        Which\n"
                                "              cancelled after 7 tokens; its memory was free after 4 ms\n");
    transcript_close(t);
}

/* Of a recorded crew: what an agent hears from others is not what the person said. */
TEST(transcript_what_is_handed_over_is_not_the_persons)
{
    struct transcript *t = open_it(plenty);
    for (int parts = 0; parts < 3; parts++) {
        tell(t, (struct event){.kind = EV_FLOW, .flow = {.flow = event_str("debate"), .change = event_str("asked"),
                                                         .ask = parts + 1, .to = event_str("ann"), .parts = parts}});
        tell(t, (struct event){.kind = EV_TURN_USER, .agent = event_str("ann"),
                               .turn_user = {.turn = 1, .text = event_str(parts ? "said by bob" : "by me")}});
    }
    tell(t, (struct event){.kind = EV_TURN_USER, .agent = event_str("ann"), .turn_user = {.text = event_str("to one")}});
    const char *shown = screen(t, 60, 20);
    if (!strstr(shown, "you           by me\n") || !strstr(shown, "you           to one\n"))
        check_fail(__FILE__, __LINE__, "%s", shown);
    const char *first = strstr(shown, "to ann        said by bob\n");
    CHECK(first && strstr(first + 1, "to ann        said by bob\n"));
    transcript_close(t);
}

TEST(transcript_narrow_names_stand_above)
{
    struct transcript *t = open_it(plenty);
    user(t, "Why does it die after an hour?");
    tell(t, (struct event){.kind = EV_PREFILL, .agent = event_str("a"), .prefill = {.turn = 1, .done = 3, .of = 9}});
    CHECK_STR(screen(t, 20, 8),
              "you\n  Why does it die\n  after an hour?\n\na\n  reads the prompt:\n    3 of 9 tokens\n\n");
    transcript_close(t);
}

TEST(transcript_results_are_cards_that_open)
{
    struct transcript *t = open_it(plenty);
    tool(t, "r", "one\ntwo\nthree\nfour\nfive\nsix\n");
    CHECK_STR(screen(t, 80, 7), "r             search {\"pattern\":\"OOM\"}\n"
                                "              | 90000 bytes, 31 tokens shown, whole text is artifact a7\n"
                                "              | one\n              | two\n              | three\n"
                                "              | four\n              | ... 2 lines more\n");
    transcript_toggle(t, transcript_at(t, 3));
    const char *open = screen(t, 80, 8);
    CHECK(strstr(open, "| six\n") && !strstr(open, "more"));
    struct buf out = {0};
    CHECK_EQ(transcript_text(t, transcript_at(t, 3), &out), 0);
    CHECK_STR(out.data, "one\ntwo\nthree\nfour\nfive\nsix\n");
    buf_free(&out);
    transcript_close(t);
}

TEST(transcript_results_say_what_is_known_of_them)
{
    struct transcript *t = open_it(plenty);
    struct event e = {.kind = EV_TOOL, .agent = event_str("r"), .tool = {
        .turn = 1, .name = event_str("list"), .arguments = event_str("{}"), .bytes = 1, .tokens = 1}};
    tell(t, e);
    CHECK_STR(screen(t, 80, 2), "r             list {}\n              | 1 byte, 1 token\n");
    e.tool.bytes = e.tool.tokens = -1;
    e.tool.artifact = event_str("a7");
    tell(t, e);
    CHECK(strstr(screen(t, 80, 5), "              list {}\n              | whole text is artifact a7\n"));
    e.tool.artifact = event_str("");
    e.tool.bytes = 9;
    e.tool.tokens = 3;
    e.tool.left_out = 6;
    tell(t, e);
    CHECK(strstr(screen(t, 80, 8), "              | 9 bytes, 3 tokens shown, 6 bytes not kept\n"));
    transcript_close(t);
}

TEST(transcript_thinking_is_folded)
{
    struct transcript *t = open_it(plenty);
    text(t, "a", "<think>first\nthis");
    CHECK_STR(screen(t, 60, 1), "a             thinks, 17 bytes_\n");
    text(t, "a", "</think>\n\nSo.");
    end(t, "a", "stop", "<think>first\nthis</think>\n\nSo.");
    CHECK_STR(screen(t, 60, 2), "a             thought, 27 bytes\n              So.\n");
    transcript_toggle(t, transcript_at(t, 0));
    CHECK(strstr(screen(t, 60, 4), "first\n") != NULL);
    transcript_close(t);
}

TEST(transcript_says_that_an_answer_was_cut)
{
    struct transcript *t = open_it(plenty);
    text(t, "a", "half an");
    end(t, "a", "length", "half an");
    text(t, "b", "<think>\nhm");
    end(t, "b", "length", "<think>\nhm");
    CHECK_STR(screen(t, 80, 6), "a             half an\n              cut after 7 tokens\n\n"
                                "b             thought, 10 bytes\n"
                                "              cut after 7 tokens, while the model was thinking\n\n");
    transcript_close(t);
}

TEST(transcript_quiet_lines_and_errors)
{
    struct transcript *t = open_it(plenty);
    text(t, "a", "x");
    end(t, "a", "stop", "x");
    tell(t, (struct event){.kind = EV_CONTEXT, .agent = event_str("a"), .context = {
        .change = event_str("left"), .what = event_str("m2-m9"), .tokens = 512}});
    tell(t, (struct event){.kind = EV_REFUSAL, .refusal = {.text = event_str("needs 9 pages")}});
    CHECK_STR(screen(t, 80, 4), "a             x\n\n"
                                "              a: m2-m9 (512 tokens) left the context without a summary\n"
                                "              refused: needs 9 pages\n");
    transcript_close(t);
}

static void line(struct transcript *t, const char *text)
{
    CHECK_EQ(transcript_line(t, false, text, strlen(text)), 0);
}

/* What a person says stays at the edge, and so does a sentence with two blanks far from its beginning. */
TEST(transcript_figures_go_on_under_their_text)
{
    struct transcript *t = open_it(plenty);
    line(t, "kv pool  4096 tokens: 0 reserved, 0 filled");
    line(t, "  writer   12 tokens alone, 340 that others share");
    line(t, "  an indented text that is longer than a row");
    line(t, "no label stands here,  as this goes on and on");
    line(t, "ends in blanks   ");
    CHECK_STR(screen(t, 34, 10), "  kv pool  4096 tokens: 0\n"
                                 "           reserved, 0 filled\n"
                                 "    writer   12 tokens alone, 340\n"
                                 "             that others share\n"
                                 "    an indented text that is\n"
                                 "    longer than a row\n"
                                 "  no label stands here,  as this\n"
                                 "  goes on and on\n"
                                 "  ends in blanks\n\n");
    user(t, "you say  this with two blanks in it, too");
    CHECK(strstr(screen(t, 34, 4), "\n  you say  this with two blanks in\n  it, too\n"));
    transcript_close(t);
}

/* The answer that is a call becomes its card, which runs until its result is there and then says how long it took. */
TEST(transcript_says_what_calls_were_wanted_when_a_turn_was_stopped)
{
    struct transcript *t = open_it(plenty);
    struct event e = {.kind = EV_STOPPED, .stopped = {.turn = 1, .reason = event_str("rounds"), .calls = 1,
                                                      .name = event_str("read")}};
    tell(t, e);
    e.stopped.more = 3;
    tell(t, e);
    CHECK_STR(screen(t, 80, 2), "              stopped after 1 call of tools (rounds); it wanted read\n"
                                "              stopped after 1 call of tools (rounds); it wanted read and 3 more\n");
    transcript_close(t);
}

/* Nor is the call that was one too many, which nobody made, shown as words. */
TEST(transcript_the_call_that_a_stop_left_is_a_card)
{
    struct transcript *t = open_it(plenty);
    const struct event e = {.kind = EV_STOPPED, .agent = event_str("a"), .stopped = {
        .turn = 1, .reason = event_str("repeats"), .calls = 2, .name = event_str("read"),
        .arguments = event_str("{}")}};
    end(t, "a", "stop", "<tool_call>{\"name\":\"read\"}</tool_call>");
    tell(t, e);
    CHECK_STR(screen(t, 80, 4), "a             read {}\n              | was not called\n\n"
                                "              a: stopped after 2 calls of tools (repeats); it wanted read\n");
    end(t, "a", "stop", "I look again.\n<tool_call>{\"name\":\"read\"}</tool_call>");
    tell(t, e);
    const char *shown = screen(t, 80, 12);
    CHECK(strstr(shown, "I look again.\n              read {}\n              | was not called\n"));
    CHECK(!strstr(shown, "tool_call"));
    tell(t, e); /* of no answer: nothing is made of what was said before */
    shown = strstr(screen(t, 80, 20), "was not called");
    CHECK(shown && (shown = strstr(shown + 1, "was not called")) && !strstr(shown + 1, "was not called"));
    transcript_close(t);
}

/* How long a person thinks is no time of the tool's, whatever clock his is by. */
TEST(transcript_a_call_took_no_time_while_it_waited_for_the_person)
{
    struct transcript *t = open_it(plenty);
    tell(t, (struct event){.kind = EV_CALL, .agent = event_str("a"), .time = 2,
                           .call = {.turn = 1, .name = event_str("list"), .arguments = event_str("{}")}});
    transcript_waits(t, "a", true, 1000);
    transcript_waits(t, "a", true, 1001); /* another question came */
    CHECK(strstr(screen(t, 80, 2), "waits for your answer"));
    transcript_waits(t, "a", false, 1004);
    transcript_waits(t, "a", false, 1009);
    CHECK(strstr(screen(t, 80, 2), "running"));
    tell(t, (struct event){.kind = EV_TOOL, .agent = event_str("a"), .time = 7.5, .tool = {
        .turn = 1, .name = event_str("list"), .arguments = event_str("{}"), .bytes = 3, .tokens = 2}});
    CHECK_STR(screen(t, 80, 2), "a             list {}\n              | 1.5 s, 3 bytes, 2 tokens\n");
    transcript_close(t);
}

TEST(transcript_a_call_is_a_card_that_runs)
{
    struct transcript *t = open_it(plenty);
    text(t, "a", "<tool_call>{\"name\":");
    CHECK(strstr(screen(t, 80, 4), "writes a call of a tool"));
    end(t, "a", "stop", "<tool_call>{\"name\":\"list\"}</tool_call>");
    tell(t, (struct event){.kind = EV_CALL, .agent = event_str("a"), .time = 2,
                           .call = {.turn = 1, .name = event_str("list"), .arguments = event_str("{}")}});
    CHECK_STR(screen(t, 80, 2), "a             list {}\n              | running\n");
    tell(t, (struct event){.kind = EV_TOOL, .agent = event_str("a"), .time = 4.5, .tool = {
        .turn = 1, .name = event_str("list"), .arguments = event_str("{}"), .bytes = 3, .tokens = 2,
        .text = event_str("b.c")}});
    CHECK_STR(screen(t, 80, 3), "a             list {}\n              | 2.5 s, 3 bytes, 2 tokens\n"
                                "              | b.c\n");
    tell(t, (struct event){.kind = EV_CALL, .agent = event_str("a"), .time = 5, /* another of the same answer */
                           .call = {.turn = 1, .name = event_str("read"), .arguments = event_str("{}")}});
    CHECK_STR(screen(t, 80, 6), "a             list {}\n              | 2.5 s, 3 bytes, 2 tokens\n"
                                "              | b.c\n              read {}\n              | running\n\n");
    transcript_close(t);
}

/* What was said to people before a call stays, and of the call only its card is seen. */
TEST(transcript_keeps_what_was_said_before_a_call)
{
    static const char *const said[] = {"I look.\n\n<tool_call>{}</tool_call>",
                                       "<think>\nHm.\n</think>\n\nI look.\n\n<tool_call>{}</tool_call>",
                                       "<think>\nHm.\n</think>\n\n<tool_call>{}</tool_call>",
                                       "I look.\n<tool_call>\n<function=list>\n</function>\n</tool_call>"};
#define LIST "              list {}\n              | running\n"
    static const char *const seen[] = {"a             I look.\n" LIST,
                                       "a             thought, 22 bytes\n              I look.\n" LIST,
                                       "a             thought, 22 bytes\n" LIST, "a             I look.\n" LIST};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct transcript *t = open_it(plenty);
        text(t, "a", said[i]);
        end(t, "a", "stop", said[i]);
        tell(t, (struct event){.kind = EV_CALL, .agent = event_str("a"), .time = 2,
                               .call = {.turn = 1, .name = event_str("list"), .arguments = event_str("{}")}});
        const char *shown = screen(t, 80, 8);
        if (strncmp(shown, seen[i], strlen(seen[i])) != 0) CHECK_STR(shown, seen[i]);
        CHECK(!strstr(shown, "tool_call"));
        transcript_close(t);
    }
#undef LIST
}

/* Nothing of a call that is being written is seen behind words, in whatever pieces it comes; what only looked like one
 * is. */
TEST(transcript_hides_a_call_that_is_being_written_behind_words)
{
    static const char *const said[] = {"I look.\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>",
                                       "I look.\n\n<function=f>\n</function>\n</tool_call>"};
    struct transcript *t;
    for (size_t k = 0; k < COUNT_OF(said); k++) {
        t = open_it(plenty);
        for (size_t i = 0; said[k][i]; i++) {
            text(t, "a", (char[]){said[k][i], '\0'});
            const char *shown = screen(t, 80, 8);
            CHECK(!strchr(shown, '<') && !strstr(shown, "function"));
            CHECK_EQ(strstr(shown, "writes a call of a tool") != NULL, i >= strlen("I look.\n\n"));
            if (i > strlen("I look.")) CHECK(strncmp(shown, "a             I look.\n", 22) == 0);
        }
        end(t, "a", "stop", said[k]); /* and none came of it */
        CHECK(strstr(screen(t, 80, 8), "function=f"));
        transcript_close(t);
    }
    t = open_it(plenty);
    text(t, "b", "One.\n<tool");
    CHECK(!strstr(screen(t, 80, 8), "<tool"));
    text(t, "b", "box>\n\nTwo.");
    const char *shown = screen(t, 80, 8);
    CHECK(strstr(shown, "<toolbox>") && strstr(shown, "Two.") && !strstr(shown, "writes a call"));
    transcript_close(t);
}

/* Without the names that events have. */
TEST(what_came_to_nothing_is_said_in_words)
{
    struct transcript *t = open_it(plenty);
    tell(t, (struct event){.kind = EV_SUMMARY, .summary = {.by = event_str("nobody"), .what = event_str("m2-m5")}});
    tell(t, (struct event){.kind = EV_CONTEXT, .context = {
        .change = event_str("in_vain"), .what = event_str("m2-m5"), .messages = 4, .tokens = 2605}});
    tell(t, (struct event){.kind = EV_FLOW, .flow = {.flow = event_str("debate"), .change = event_str("done"),
                                                     .why = event_str("judge has judged")}});
    CHECK_STR(screen(t, 90, 3),
              "              summing up was cancelled; nothing left the context\n"
              "              nothing more is summed up until the context has grown\n"
              "              debate ended: judge has judged\n");
    transcript_close(t);
}

TEST(transcript_says_what_is_parked_dropped_and_gone)
{
    struct transcript *t = open_it(plenty);
    static const char *const change[] = {"dropped", "gone"};
    for (size_t i = 0; i < 2; i++)
        tell(t, (struct event){.kind = EV_CONTEXT, .context = {
            .change = event_str(change[i]), .what = event_str("m4"), .tokens = 90}});
    tell(t, (struct event){.kind = EV_PARKED, .parked = {.change = event_str("parked"), .tokens = 7}});
    tell(t, (struct event){.kind = EV_PARKED, .parked = {.change = event_str("resumed"), .tokens = 7}});
    CHECK_STR(screen(t, 90, 4),
              "              m4 (90 tokens) stands as a line from now on\n"
              "              m4 is not held any more: this conversation is not saved\n"
              "              put aside at 7 tokens; it goes on later\n"
              "              goes on\n");
    transcript_close(t);
}

/* A record of durable events alone has no pieces. */
TEST(transcript_an_answer_without_pieces_is_there)
{
    struct transcript *t = open_it(plenty);
    end(t, "a", "stop", "whole");
    CHECK_STR(screen(t, 60, 1), "a             whole\n");
    transcript_close(t);
}

/* ------------------------------------------------------------------ the view */

static struct transcript *long_one(void)
{
    struct transcript *t = open_it(plenty);
    char line[200];
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof line, "answer %d has some words, so that it needs a row or two of a narrow view", i);
        text(t, "a", line);
        end(t, "a", "stop", line);
    }
    return t;
}

TEST(transcript_the_view_stays_on_resize_and_when_text_comes)
{
    struct transcript *t = long_one();
    CHECK(strstr(screen(t, 100, 5), "answer 29") != NULL);
    transcript_scroll(t, -15);
    CHECK(strstr(screen(t, 100, 5), "answer 10 ") != NULL);
    CHECK(!transcript_follows(t));
    static const int columns[] = {40, 200, 61, 100};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        const char *view = screen(t, columns[i], 5), *first = strstr(view, "answer");
        CHECK(first && strncmp(first, "answer 10 ", 10) == 0);
        text(t, "b", "more\nand more\n");
    }
    transcript_scroll(t, 1000);
    CHECK(strstr(screen(t, 100, 5), "and more") != NULL);
    CHECK(transcript_follows(t));
    transcript_scroll(t, -1);
    screen(t, 100, 5);
    CHECK(!transcript_follows(t));
    transcript_end(t);
    CHECK(strstr(screen(t, 100, 5), "and more") != NULL);
    transcript_close(t);
}

TEST(transcript_scrolling_shows_each_row_once)
{
    struct transcript *t = long_one();
    struct buf whole = {0}, rows = {0};
    buf_puts(&whole, screen(t, 50, 200));
    screen(t, 50, 1);
    transcript_scroll(t, -1000);
    for (int row = 0; row < 300; row++) {
        buf_puts(&rows, screen(t, 50, 1));
        if (transcript_follows(t)) break;
        transcript_scroll(t, 1);
    }
    while (whole.len > 1 && whole.data[whole.len - 2] == '\n') whole.data[--whole.len] = '\0';
    CHECK_STR(rows.data, whole.data);
    buf_free(&whole);
    buf_free(&rows);
    transcript_close(t);
}

TEST(transcript_search_goes_there_and_opens_what_is_folded)
{
    struct transcript *t = long_one();
    tool(t, "a", "1\n2\n3\n4\n5\nthe needle\n7\n");
    user(t, "last");
    screen(t, 100, 5);
    CHECK(transcript_search(t, "ANSWER 3 ", 9, true));
    CHECK(strstr(screen(t, 100, 5), "answer 3 ") != NULL);
    CHECK(!transcript_search(t, "ANSWER 3 ", 9, true));
    CHECK(transcript_search(t, "needle", 6, false));
    CHECK(strstr(screen(t, 100, 5), "the needle") != NULL);
    CHECK(!transcript_search(t, "absent", 6, true));
    int found = 0;
    while (transcript_search(t, "some words", 10, true)) found++;
    CHECK_EQ(found, 30);
    transcript_close(t);
}

/* A style or what was found parts a row; what is behind stands where it would without. */
TEST(transcript_tabs_and_marks_are_drawn_as_they_were_measured)
{
    struct transcript *t = open_it(plenty);
    end(t, "a", "stop", "`abc`\tdefghijklmnopqrstuvwxyz\n\n**a**\xcc\x82 b"); /* drawn from column 2 on */
    for (int columns = 25; columns < 40; columns++) {
        const char *shown = screen(t, columns, 6);
        CHECK(strstr(shown, "xyz\n") && strstr(shown, "\xc3\xa2 b\n"));
        if (columns >= 29) CHECK(strstr(shown, "  abc defgh") != NULL);
    }
    transcript_close(t);
    t = open_it(plenty);
    transcript_said(t, "foo\tbar\tbaz", 11);
    CHECK(strstr(screen(t, 80, 3), "foo bar baz\n") != NULL);
    CHECK(transcript_search(t, "oo", 2, true));
    CHECK(strstr(screen(t, 80, 3), "foo bar baz\n") != NULL);
    transcript_close(t);
}

/* What is found is seen, also where it begins or ends amid a letter with its mark. */
TEST(transcript_what_is_found_is_marked)
{
    static const struct { const char *query; int from, to; } each[] = {
        {"ab", 0, 2}, {"\xcc\x82", 2, 3}, {"bx", 1, 3}, {"\tc", 3, 5}, {"c", 4, 5}, {"none", 0, 0}};
    struct transcript *t = open_it(plenty);
    struct surface s;
    transcript_said(t, "abx\xcc\x82\tc", 7);
    CHECK_EQ(surface_open(&s, 80, 1, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        CHECK_EQ(transcript_search(t, each[i].query, strlen(each[i].query), true), each[i].to > 0);
        CHECK_EQ(transcript_fit(t, 80, 1, true), 0);
        transcript_draw(&s, surface_all(&s), t);
        for (int column = 0; column < 60; column++) {
            const bool in = column >= each[i].from && column < each[i].to;
            CHECK_EQ((s.cell[14 + column].look.attr & LOOK_REVERSE) != 0, in);
        }
    }
    surface_close(&s);
    transcript_close(t);
}

/* ------------------------------------------------------------------ bounds */

TEST(transcript_ten_thousand_turns_hold_the_bounds)
{
    struct transcript *t = open_it((struct transcript_limits){20000, 100, true});
    char big[900];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    for (int i = 0; i < 10000; i++) {
        user(t, big);
        text(t, "a", big);
        end(t, "a", "stop", big);
        struct transcript_figures f = transcript_figures(t);
        CHECK(f.bytes <= 20000 && f.entries <= 100);
        CHECK_EQ(f.entries + f.left, 2 * (i + 1));
    }
    transcript_scroll(t, -100000);
    const char *view = screen(t, 80, 5);
    CHECK(strstr(view, "earlier entries are in the store") != NULL);
    CHECK(strstr(view, "turn 1: 899 bytes, in the store") != NULL);
    transcript_close(t);
}

TEST(transcript_one_endless_answer_is_held_in_part)
{
    struct transcript *t = open_it((struct transcript_limits){20000, 100, false});
    for (int i = 0; i < 1000; i++) text(t, "a", "0123456789012345678901234567890123456789\n");
    CHECK_EQ(transcript_figures(t).bytes, 5000);
    CHECK(strstr(screen(t, 80, 4), "36000 bytes more, no longer held") != NULL);
    transcript_close(t);
}

TEST(transcript_an_answer_that_grows_is_dropped_last_and_stays_within_the_bounds)
{
    struct transcript *t = open_it((struct transcript_limits){4000, 100, true});
    char agent[8], *line = "0123456789012345678901234567890123456789";
    for (int i = 0; i < 600; i++) {
        snprintf(agent, sizeof agent, "a%d", i % 20);
        text(t, agent, line);
        CHECK(transcript_figures(t).bytes <= 4000);
    }
    end(t, "a0", "stop", line); /* it was dropped, so no text comes back */
    CHECK(transcript_figures(t).bytes <= 4000);
    CHECK(strstr(screen(t, 80, 200), "turn 1: 40 bytes, in the store") != NULL);
    transcript_close(t);
}

/* What a stream shows is what the whole answer shows, at any width. */
TEST(transcript_a_stream_shows_what_the_whole_does)
{
    static const char *const bits[] = {"word ", "**b** ", "\n", "- ", "```\n", "| a | b |\n", "|--|--|\n",
                                       "\xe7\x8c\xab", "<think>", "</think>\n", "\xff", "\x1b[2J",
                                       "longlonglonglonglong"};
    uint32_t seed = 3;
    for (int round = 0; round < 60; round++) {
        struct transcript *t = open_it(plenty), *u = open_it(plenty);
        struct buf all = {0}, streamed = {0};
        int columns = 10 + round * 3;
        for (int i = 0; i < 80; i++) {
            seed = seed * 1664525 + 1013904223;
            const char *bit = bits[(seed >> 16) % COUNT_OF(bits)];
            buf_puts(&all, bit);
            text(t, "a", bit);
            screen(t, i % 7 ? columns : 33, 1 + i % 9);
            if (i % 11 == 0) transcript_scroll(t, i % 2 ? 3 : -5);
        }
        end(t, "a", "stop", all.data);
        end(u, "a", "stop", all.data);
        transcript_end(t);
        buf_puts(&streamed, screen(t, columns, 40));
        CHECK_STR(streamed.data, screen(u, columns, 40));
        buf_free(&streamed);
        buf_free(&all);
        transcript_close(t);
        transcript_close(u);
    }
}

CHECK_MAIN
