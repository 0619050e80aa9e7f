/* The sessions' thread of a screen, with one agent: what it tells of orders, cancels, questions, docs and sessions. */
#include "tests/session_rig.h"
#include "tests/desk_rig.h"

static const char *replies[4]; /* what the model answers, one by one; the last again and again */
static int n_replies;
static const char *workspace;

static const char *gated_reply(const char *heard)
{
    (void)heard;
    pass_gate();
    const char *now = replies[MIN(n_replies, 3)] ? replies[MIN(n_replies, 3)] : "fine";
    n_replies++;
    return now;
}

static void open_over(const char *tools, const char *session)
{
    open_app();
    opts.model = "fake.gguf";
    opts.json = false;
    app.trace.json = NULL;
    opts.tools = tools;
    opts.workspace = workspace = tools ? check_tmpdir() : NULL;
    opts.resume = session;
    opts.max_tokens = 1000;
    fake.reply = gated_reply;
    memset(replies, 0, sizeof replies);
    n_replies = 0;
    err = (struct err){0};
    OK(toolbox_open(&app.toolbox, &app, true, &err));
    open_desk();
}

static int close_over(void)
{
    int rc = close_desk();
    toolbox_close(&app.toolbox);
    close_app();
    return rc;
}

static void start(void)
{
    folder = fresh_dir();
    open_over(NULL, NULL);
    until("done, 0 wait\n");
}

static uint32_t saved_turns(void)
{
    struct journal_head h;
    struct store *store = open_at(folder);
    int rc = journal_find(store, "last", &h, &err);
    store_close(store);
    return rc ? 0 : h.turns;
}

/* ------------------------------------------------------------------ orders */

TEST(thread_desk_tells_what_is_open_then_of_each_order)
{
    folder = fresh_dir();
    open_over(NULL, NULL);
    const char *story = until("done, 0 wait\n");
    CHECK_STR(story, "open\nagent [] 0\nsession of 0\ndone, 0 wait\n");
    order("hello");
    story = until("done, 0 wait\n");
    CHECK(strncmp(story, "begun hello\nmodel hears hello\n", 30) == 0);
    TOLD(story, "model says fine (stop)\n");
    TOLD(story, "session of 0\n");
    CHECK_EQ(close_over(), EXIT_DONE);
    CHECK_EQ(saved_turns(), 1);
}

TEST(thread_desk_obeys_in_order_and_tells_how_many_wait)
{
    start();
    gated = true;
    order("one");
    wait_till_at_gate();
    order("two");
    order("/seed");
    sem_post(&open_gate);
    TOLD(until("done, 2 wait\n"), "model hears one");
    wait_till_at_gate();
    sem_post(&open_gate);
    TOLD(until("done, 1 wait\n"), "begun two\nmodel hears two");
    TOLD(until("done, 0 wait\n"), "begun /seed\n");
    close_over();
    CHECK_EQ(saved_turns(), 2);
}

TEST(thread_desk_lines_of_commands_are_told_apart_from_those_of_turns)
{
    start();
    order("/context");
    const char *story = until("done, 0 wait\n");
    TOLD(story, "begun /context\nline ");
    TOLD_NOT(story, "(of a turn)");
    order("hello");
    TOLD(until("done, 0 wait\n"), "(of a turn) line [");
    order("/nonsense");
    TOLD(until("done, 0 wait\n"), "begun /nonsense\n");
    order("/help");
    TOLD(until("done, 0 wait\n"), "/context");
    CHECK_EQ(close_over(), EXIT_DONE);
}

TEST(thread_desk_a_fault_is_told_and_the_next_turn_goes_on)
{
    start();
    fake.fault_at = 3;
    order("hello");
    TOLD(until("done, 0 wait\n"), "device lost");
    fake.fault_at = 0;
    order("again");
    TOLD(until("done, 0 wait\n"), "model says fine (stop)");
    close_over();
}

TEST(thread_desk_quit_is_over)
{
    start();
    order("/quit");
    until("over\n");
    CHECK_EQ(status, EXIT_DONE);
    end_desk();
    toolbox_close(&app.toolbox);
    close_app();
}

/* ------------------------------------------------------------------ cancels */

TEST(thread_desk_cancel_ends_the_turn_and_not_the_next)
{
    start();
    gated = true;
    order("one");
    wait_till_at_gate();
    until("begun one\n"); /* who cancels has seen it */
    desk_cancel(d, NULL);
    gated = false;
    sem_post(&open_gate);
    const char *story = until("done, 0 wait\n");
    TOLD(story, "(cancelled)");
    order("two");
    TOLD(until("done, 0 wait\n"), "model says fine (stop)");
    close_over();
    CHECK_EQ(saved_turns(), 1);
}

TEST(thread_desk_cancel_amid_an_answer_keeps_what_was_said)
{
    start();
    replies[0] = "a longer answer than it takes";
    fake.interrupt_at = 9;
    order("one");
    TOLD(until("done, 0 wait\n"), "model says a longer (cancelled)");
    fake.interrupt_at = 0;
    order("two");
    TOLD(until("done, 0 wait\n"), "(stop)");
    close_over();
    CHECK_EQ(saved_turns(), 2);
}

/* Escape pressed just when the turn has ended is of nothing that comes later. */
TEST(thread_desk_cancel_while_nothing_runs_cancels_nothing)
{
    start();
    desk_cancel(d, "");
    order("one");
    TOLD(until("done, 0 wait\n"), "model says fine (stop)");
    close_over();
}

/* ------------------------------------------------------------------ questions */

#define WRITE(name) \
    "<tool_call>{\"name\":\"write\",\"arguments\":{\"path\":\"" name "\",\"text\":\"hello\"}}</tool_call>"

static void start_with_tools(const char *first)
{
    folder = fresh_dir();
    open_over("write,ask", NULL);
    replies[0] = first;
    until("done, 0 wait\n");
}

static bool is_there(const char *name) { return access(under(workspace, name), F_OK) == 0; }

TEST(thread_desk_question_is_answered_from_the_other_thread)
{
    start_with_tools(WRITE("yes.txt"));
    order("write it");
    TOLD(until("asks "), "model asks");
    bridge_answer(b, question, TOOLBOX_ONCE, "", 0);
    const char *story = until("done, 0 wait\n");
    TOLD(story, "tool write done");
    TOLD(story, "model says fine (stop)");
    CHECK(is_there("yes.txt"));
    close_over();
}

TEST(thread_desk_question_denied_writes_nothing)
{
    start_with_tools(WRITE("no.txt"));
    order("write it");
    until("asks ");
    bridge_answer(b, question, TOOLBOX_DENY, "", 0);
    TOLD(until("done, 0 wait\n"), "tool write failed");
    CHECK(!is_there("no.txt"));
    close_over();
}

TEST(thread_desk_question_is_withdrawn_by_a_cancel)
{
    char want[40];
    start_with_tools(WRITE("late.txt"));
    order("write it");
    until("asks ");
    desk_cancel(d, "");
    snprintf(want, sizeof want, "withdrawn %d\n", (int)question);
    until(want);
    TOLD(until("done, 0 wait\n"), "your turn was withdrawn, with its 1 call of tools; what they did stays done");
    bridge_answer(b, question, TOOLBOX_ONCE, "", 0); /* too late */
    order("and now");
    TOLD(until("done, 0 wait\n"), "(stop)");
    CHECK(!is_there("late.txt"));
    close_over();
}

TEST(thread_desk_question_for_a_text)
{
    start_with_tools("<tool_call>{\"name\":\"ask\",\"arguments\":{\"question\":\"which harbour?\"}}</tool_call>");
    order("go");
    until("model asks for words: which harbour?\n");
    bridge_answer(b, question, 1, "the old one", 11);
    until("done, 0 wait\n");
    CHECK(strstr(fake.heard.data, "the old one"));
    close_over();
}

TEST(thread_desk_leaves_while_a_question_waits)
{
    start_with_tools(WRITE("never.txt"));
    order("one");
    until("asks ");
    close_over();
    CHECK(!is_there("never.txt"));
}

/* ------------------------------------------------------------------ docs */

TEST(thread_desk_collects_docs_when_idle_and_while_a_question_waits)
{
    start_with_tools(WRITE("doc.txt"));
    CHECK(DOC_SESSIONS == 3 && DOC_ARTIFACTS == 4);
    bridge_ask(b, &(struct doc_ask){.kind = DOC_SESSIONS});
    until("doc 3\n");
    order("write it");
    until("asks ");
    bridge_ask(b, &(struct doc_ask){.kind = DOC_ARTIFACTS});
    until("doc 4\n");
    bridge_answer(b, question, TOOLBOX_DENY, "", 0);
    until("done, 0 wait\n");
    close_over();
}

/* ------------------------------------------------------------------ sessions */

TEST(thread_desk_a_resumed_session_shows_its_past)
{
    start();
    order("one");
    until("done, 0 wait\n");
    order("two");
    until("done, 0 wait\n");
    close_over();
    open_over(NULL, "last");
    const char *story = until("done, 0 wait\n");
    TOLD(story, "resumed 2\n");
    TOLD(story, "past of 2 turns: one\npast: model hears one\npast: model says fine (stop)\npast: model hears two\n");
    order("/undo");
    story = until("done, 0 wait\n");
    TOLD(story, "past of 1 turns: one\n");
    TOLD(story, "past: model hears one\n");
    TOLD(story, "past: turn 2 is taken back\n"); /* the answer to /undo */
    TOLD_NOT(story, "hears two");
    order("/clear");
    TOLD(until("done, 0 wait\n"), "past of 0 turns");
    order("/resume last");
    TOLD(until("done, 0 wait\n"), "past of 1 turns: one\npast: model hears one\n");
    order("three");
    TOLD_NOT(until("done, 0 wait\n"), "past");
    close_over();
    CHECK_EQ(saved_turns(), 2);
}

TEST(thread_desk_that_leaves_amid_a_turn_saves_what_was_said)
{
    start();
    order("one");
    until("done, 0 wait\n");
    gated = true;
    order("two");
    order("three"); /* waits: it is not obeyed any more */
    wait_till_at_gate();
    bridge_leave(b);
    desk_cancel(d, "");
    gated = false;
    sem_post(&open_gate);
    const char *story = until("over\n");
    TOLD_NOT(story, "hears three");
    CHECK_EQ(end_desk(), EXIT_DONE);
    toolbox_close(&app.toolbox);
    close_app();
    CHECK_EQ(saved_turns(), 1);
}

TEST(thread_desk_that_cannot_open_its_session_says_so_and_is_over)
{
    folder = fresh_dir();
    open_over(NULL, "no-such-session");
    TOLD(until("over\n"), "complaint");
    CHECK(end_desk() != EXIT_DONE);
    toolbox_close(&app.toolbox);
    close_app();
}

/* A tool that writes runs in a jail, in this program again. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(tool_run_jobs);
    return check_main(argc, argv);
}
