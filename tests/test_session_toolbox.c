/* Tools that work on the world, in a session: offered, resumed, cancelled, and called by a model that means no good. */
#include "tests/session_rig.h"

static const char *said[4]; /* what the model answers, one by one; the last again and again */
static int n_said;

static const char *one_by_one(const char *heard)
{
    (void)heard;
    const char *now = said[MIN(n_said, 3)] ? said[MIN(n_said, 3)] : "fine";
    n_said++;
    return now;
}

static void open_with(const char *tools, bool person)
{
    open_app();
    opts.tools = tools;
    opts.max_tokens = 1000;
    fake.reply = one_by_one;
    n_said = 0;
    memset(said, 0, sizeof said);
    OK(toolbox_open(&app.toolbox, &app, person, &err));
}

static void begin_with(const char *tools, bool person)
{
    folder = fresh_dir();
    open_with(tools, person);
    CHECK_EQ(session_new(&s, &app, "be brief", &err), 0);
}

static void end_with_tools(void)
{
    CHECK_EQ(session_close(&s), 0);
    toolbox_close(&app.toolbox);
    close_app();
}

static void leave_for(const char *tools)
{
    char name[2 * STORE_SESSION_ID + 1];
    journal_id_text(s.keep.head.id, name);
    end_with_tools();
    open_with(tools, false);
    resume(name);
}

static bool offers(const char *tool)
{
    static struct buf prompt;
    char name[64];
    next_prompt(&prompt);
    snprintf(name, sizeof name, "%s(", tool);
    return strstr(prompt.data, name) != NULL;
}

TEST(toolbox_offers_what_is_on_and_the_calculator_needs_no_word)
{
    begin_with(NULL, false);
    CHECK(!session_offers_tools(&s)); /* nobody asked for tools */
    end_with_tools();
    begin_with("calculator", false);
    CHECK(offers("calculator"));
    CHECK(!offers("shell"));
    end_with_tools();
    begin_with("ask", false); /* nobody is there to be asked */
    CHECK(!offers("ask"));
    end_with_tools();
}

TEST(toolbox_a_call_is_made_and_its_result_is_read)
{
    begin_with("calculator", false);
    said[0] = "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"6*7\"}}</tool_call>";
    CHECK_EQ(say("what is it?"), 0);
    CHECK(strstr(fake.heard.data, "tool:42"));
    CHECK_EQ(s.keep.head.turns, 1);
    end_with_tools();
}

/* ---------------------------------------------------------------- several calls in one answer */

#define SUM(expression) \
    "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"" expression "\"}}</tool_call>"

TEST(toolbox_several_calls_of_one_answer_are_made_in_their_order)
{
    struct buf before = {0}, after = {0};
    begin_with("calculator", false);
    said[0] = SUM("6*7") "\n" SUM("6*") "\n" SUM("6*8");
    CHECK_EQ(say("what are they?"), 0);
    CHECK_STR(s.answer.data, "fine");
    CHECK_EQ(n_said, 2);
    CHECK_EQ(s.outcome.calls, 3);
    CHECK(strstr(fake.heard.data, "|assistant:" SUM("6*7") "|tool:42|assistant:" SUM("6*") "|tool:error: "));
    CHECK(strstr(fake.heard.data, "|assistant:" SUM("6*8") "|tool:48|"));
    CHECK_EQ(count(events(), "\"event\":\"call\""), 3);
    CHECK_EQ(count(events(), "\"event\":\"tool\""), 3);
    next_prompt(&before);
    leave_for("calculator");
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    OK(session_undo(&s, NULL, &err));
    next_prompt(&after);
    CHECK(!strstr(after.data, "6*7") && !strstr(after.data, "6*8"));
    buf_free(&before);
    buf_free(&after);
    end_with_tools();
}

TEST(toolbox_what_is_thought_and_said_before_several_calls_stands_before_the_first)
{
    begin_with("calculator", false);
    snprintf(((struct engine_info *)(uintptr_t)app.info)->template, sizeof app.info->template, "mistral-v11");
    said[0] = "<think>\nsums\n</think>\n\nI reckon.\n\n" SUM("6*7") "\n\n<think>\nnot\n\n" SUM("6*9")
              "\n\n</think>\n\n" SUM("6*8");
    CHECK_EQ(say("what are they?"), 0);
    CHECK_EQ(s.outcome.calls, 2);
    CHECK_EQ(count(events(), "\"event\":\"tool\""), 2);
    CHECK_EQ(number_of("<think>\nnot\n\n" SUM("6*9") "\n\n</think>\n\n"), number_of(SUM("6*8")) - 1);
    check_text(number_of("I reckon.\n\n" SUM("6*7")), JOURNAL_CALL, "I reckon.\n\n" SUM("6*7"));
    check_text(number_of(SUM("6*8")), JOURNAL_CALL, SUM("6*8"));
    CHECK(number_of(SUM("6*8")) > number_of("I reckon.\n\n" SUM("6*7")));
    end_with_tools();
}

TEST(toolbox_calls_of_one_answer_count_each_for_its_turns_limits)
{
    begin_with("calculator", false);
    s.role.rounds = 2;
    said[0] = SUM("6*7") SUM("6*8") SUM("6*9") SUM("6*10");
    CHECK_EQ(say("what are they?"), 0);
    CHECK_EQ(n_said, 1);
    CHECK_STR(s.answer.data, "[stopped after 2 calls of tools (rounds): calculator {\"expression\":\"6*9\"} was not "
                             "called, nor 1 more]");
    CHECK_EQ(count(events(), "\"event\":\"stopped\""), 1);
    CHECK_EQ(count(events(), "\"more\":1"), 1);
    check_text(number_of(SUM("6*9") "\n\n" SUM("6*10")), JOURNAL_ANSWER, SUM("6*9") "\n\n" SUM("6*10"));
    CHECK_EQ(say("go on"), 0);
    CHECK(strstr(fake.heard.data, "|tool:48|assistant:" SUM("6*9")));
    said[0] = SUM("7*7") SUM("7*7") SUM("7*7"); /* the same again and again */
    n_said = 0;
    s.role.rounds = 8;
    s.role.repeats = 1;
    CHECK_EQ(say("and that?"), 0);
    CHECK(strstr(s.answer.data, "[stopped after 1 call of tools (repeats): "));
    end_with_tools();
}

/* ---------------------------------------------------------------- a long turn */

static int calls, summaries_within; /* how often a summary was asked for after a call and before the answer */
static bool impatient;              /* the person does not wait for it */

static const char *adds_up(const char *heard)
{
    static char call[200];
    if (asks_for_summary(heard)) {
        summaries_within += calls > 0;
        if (impatient) raise(SIGINT);
        return good_record();
    }
    if (calls == 12) return "done";
    calls++;
    snprintf(call, sizeof call, "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"%d+%090d\"}}"
             "</tool_call>", calls, calls);
    return call;
}

/* The turn before it takes much of the window, and the calls what is left of it. */
static void begin_long_turn(void)
{
    begin_with("calculator", false);
    s.role.rounds = 12;
    opts.recall = "off";
    for (int i = 0; i < 2; i++) CHECK_EQ(say(long_text((char)('a' + i), 700)), 0);
    fake.reply = adds_up;
    calls = summaries_within = 0;
    impatient = false;
}

TEST(toolbox_a_long_turn_is_summed_up_between_its_calls)
{
    begin_long_turn();
    CHECK_EQ(count(events(), "\"summary\""), 0);
    CHECK_EQ(say("add them up"), 0);
    CHECK_EQ(calls, 12);
    CHECK(summaries_within > 0);
    CHECK(strstr(events(), "\"by\":\"model\""));
    CHECK_STR(s.answer.data, "done");
    CHECK(strstr(fake.heard.data, "the harbour has nine piers"));
    end_with_tools();
}

TEST(toolbox_a_long_turn_that_is_cancelled_while_it_is_summed_up_is_withdrawn)
{
    begin_long_turn();
    impatient = true;
    CHECK_EQ(say("add them up"), 128 + SIGINT);
    signals_forget_interrupt();
    CHECK_EQ(summaries_within, 1);
    CHECK(calls < 12);
    CHECK_EQ(s.keep.head.turns, 2);
    impatient = false;
    CHECK_EQ(say("add up the rest"), 0);
    CHECK_STR(s.answer.data, "done");
    CHECK(!strstr(fake.heard.data, "add them up"));
    end_with_tools();
}

/* ---------------------------------------------------------------- resumed */

TEST(toolbox_a_resumed_session_has_the_tools_of_this_run)
{
    begin_with(NULL, false);
    CHECK_EQ(say("hello"), 0);
    leave_for("calculator");
    CHECK(offers("calculator"));
    CHECK_EQ(say("and now"), 0);
    leave_for("calculator"); /* as it was: nothing is said twice */
    CHECK(offers("calculator"));
    CHECK_EQ(count(events(), "front_changed"), 0);
    uint64_t next = s.keep.head.next;
    leave_for(NULL);
    CHECK(!offers("calculator"));
    CHECK(s.keep.head.next >= next);
    said[0] = "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"6*7\"}}</tool_call>";
    CHECK_EQ(say("what is it?"), 0);
    CHECK(strstr(s.answer.data, "<tool_call>")); /* no tool is offered: it is an answer like any other */
    end_with_tools();
}

/* ---------------------------------------------------------------- cancelled */

static bool interrupted(void *self, const char *question, size_t n, struct buf *out)
{
    (void)self, (void)question, (void)n;
    raise(SIGINT);
    buf_puts(out, "yes");
    return true;
}

TEST(toolbox_a_turn_that_is_cancelled_in_its_tool_is_withdrawn)
{
    struct buf before = {0}, after = {0};
    begin_with("ask,calculator", true);
    app.toolbox.ask = interrupted;
    next_prompt(&before);
    said[0] = "<tool_call>{\"name\":\"ask\",\"arguments\":{\"question\":\"really?\"}}</tool_call>";
    CHECK_EQ(say("go"), 128 + SIGINT);
    CHECK_EQ(s.keep.head.turns, 0);
    CHECK_EQ(s.answer.len, 0); /* a call is no answer */
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    signals_forget_interrupt();
    said[n_said = 0] = "<tool_call>{\"name\":\"ask\",\"arguments\":{\"question\":\"really?\"}}</tool_call>" SUM("6*7");
    CHECK_EQ(say("go"), 128 + SIGINT); /* nor is the one behind it made */
    CHECK_EQ(count(events(), "\"event\":\"call\""), 2);
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    signals_forget_interrupt();
    n_said = 0;
    said[0] = "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"6*7\"}}</tool_call>";
    CHECK_EQ(say("go"), 0);
    CHECK_EQ(s.keep.head.turns, 1);
    CHECK(strstr(events(), "\"event\":\"turn_user\",\"turn\":3")); /* a number that was told is not given again, */
    CHECK(strstr(events(), "\"event\":\"tool\",\"turn\":3"));      /* and a tool's is that of its turn */
    buf_free(&before);
    buf_free(&after);
    end_with_tools();
}

CHECK_MAIN
