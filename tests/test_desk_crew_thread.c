/* The sessions' thread of a screen, with a crew: for whom a line is, questions of two at once, one agent cancelled. */
#include "tests/team_rig.h"
#include "tests/desk_rig.h"

#define AGENTS "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n"
#define IN_TURN AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n"

static void by_name(const char *heard, char *out)
{
    pass_gate();
    snprintf(out, MANY_TEXT, "%s speaks", hears(heard, "I am ann") ? "ann" : "bob");
}

static void start(const char *yaml, void (*reply)(const char *heard, char *out))
{
    open_app(yaml, reply, 4000, 8, fresh_dir());
    opts.model = "fake.gguf";
    open_desk();
    const char *story = until("done, 0 wait\n");
    TOLD(story, "open\nagent [ann] 1\nagent [bob] 1\n");
    TOLD(story, "session of -1\n"); /* lines are the crew's */
}

static void finish(void)
{
    CHECK_EQ(close_desk(), EXIT_DONE);
    close_app();
}

TEST(thread_desk_a_line_is_the_crews_and_at_name_an_agents)
{
    start(IN_TURN, by_name);
    order("Hello.");
    const char *story = until("done, 0 wait\n");
    TOLD(story, "ann says ann speaks (stop)\n");
    TOLD(story, "bob says bob speaks (stop)\n");
    order("@bob and you?");
    story = until("done, 0 wait\n");
    TOLD(story, "begun @bob and you?\n");
    TOLD(story, "bob hears and you?\n");
    TOLD_NOT(story, "ann ");
    order("@nobody is here"); /* is a line like others */
    TOLD(until("done, 0 wait\n"), "ann hears @nobody is here");
    order("/use bob");
    TOLD(until("done, 0 wait\n"), "session of 1\n");
    order("to one");
    story = until("done, 0 wait\n");
    TOLD(story, "bob hears to one\n");
    TOLD_NOT(story, "ann says");
    finish();
}

TEST(thread_desk_cancel_of_one_agent)
{
    start(IN_TURN, by_name);
    gated = true;
    order("@ann hello");
    wait_till_at_gate();
    until("begun @ann hello\n");
    desk_cancel(d, "bob"); /* another one: nothing of ann's */
    sem_post(&open_gate);
    TOLD(until("done, 0 wait\n"), "ann says ann speaks (stop)\n");
    order("@ann again");
    wait_till_at_gate();
    until("begun @ann again\n");
    desk_cancel(d, "ann");
    sem_post(&open_gate);
    TOLD(until("done, 0 wait\n"), "(cancelled)\n");
    gated = false;
    order("@ann and now");
    TOLD(until("done, 0 wait\n"), "ann says ann speaks (stop)\n");
    finish();
}

#define ASK(text) "<tool_call>{\"name\":\"ask\",\"arguments\":{\"question\":\"" text "\"}}</tool_call>"

/* Two copies of one agent at once want to do something: both are asked, and each gets its own answer. */
static void both_write(const char *heard, char *out)
{
    const char *last = last_of(heard);
    if (hears(last, "tool:")) says(out, hears(last, "error") || hears(last, "not") ? "I was not let" : "I was let");
    else if (hears(last, "first part")) says(out, ASK("one?"));
    else if (hears(last, "second part")) says(out, ASK("two?"));
    else says(out, "together");
}

TEST(thread_desk_questions_of_two_at_once)
{
    open_app("crew: test\nagents:\n  - name: ann\n    system: I am ann\n    tools: [ask]\n  - name: bob\n"
             "    system: I am bob\nflow:\n  kind: map\n  members: [ann]\n  lead: bob\n",
             both_write, 4000, 8, fresh_dir());
    opts.model = "fake.gguf";
    opts.tools = "ask";
    opts.max_tokens = 200;
    toolbox_close(&app.toolbox);
    OK(toolbox_open(&app.toolbox, &app, true, &err));
    app.lockstep = false;
    open_desk();
    until("done, 0 wait\n");
    order("the first part\nthe second part");
    TOLD(until("for words: one?\n"), "ann");
    until("for words: two?\n"); /* behind it: they are asked in the order in which copies came to it */
    bridge_answer(b, posed_as("two?"), 1, "twice", 5);
    bridge_answer(b, posed_as("one?"), 1, "once", 4);
    const char *story = until("done, 0 wait\n");
    TOLD(story, "tool ask done: once\n");
    TOLD(story, "tool ask done: twice\n");
    TOLD(story, "bob says together (stop)\n");
    finish();
}

TEST(thread_desk_leaves_amid_a_crews_flow)
{
    start(IN_TURN, by_name);
    gated = true;
    order("Hello.");
    wait_till_at_gate();
    bridge_leave(b);
    desk_cancel(d, "");
    gated = false;
    sem_post(&open_gate);
    TOLD_NOT(until("over\n"), "bob hears");
    end_desk();
    close_app();
}

CHECK_MAIN
