/* The sessions' thread of a screen, with a crew: for whom a line is, questions of two at once, one agent cancelled. */
#include "tests/team_rig.h"
#include "tests/desk_rig.h"
#include "app/tui/view_models.h"
#include <lmdb.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
    order("@nobody is here"); /* a slip: all would hear it */
    story = until("done, 0 wait\n");
    TOLD(story, "there is no agent nobody (ann, bob), nor a file: nobody was asked");
    TOLD_NOT(story, "hears");
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

/* Looking for models takes its time, and a turn does not wait for it. */
TEST(thread_desk_answers_while_models_are_looked_for)
{
    static char program[300];
    snprintf(program, sizeof program, "%s/slow", check_tmpdir());
    FILE *f = fopen(program, "w");
    CHECK(f && fputs("#!/bin/sh\nexec sleep 1\n", f) >= 0 && fclose(f) == 0 && chmod(program, 0700) == 0);
    doc_models_program = program;
    start(IN_TURN, by_name);
    for (int i = 0; i < 2; i++) { /* the second ask has the first one's answer */
        bridge_ask(b, &(struct doc_ask){.kind = DOC_MODELS});
        order("Hello.");
        TOLD_NOT(until("done, 0 wait\n"), "doc 7");
    }
    TOLD_NOT(until("doc 7\n"), "doc 7\ndoc 7");
    bridge_ask(b, &(struct doc_ask){.kind = DOC_MODELS});
    finish(); /* amid the next */
    doc_models_program = "/proc/self/exe";
}

/* ------------------------------------------------------------------ another process holds the store's writer lock */

static struct { pid_t pid; int go[2], has[2]; } other;

/* Begun before there are threads; it takes the lock when it is told to, and keeps it till it is killed. */
static void begin_other(const char *folder)
{
    char path[300], c;
    MDB_env *env;
    MDB_txn *txn;
    CHECK(pipe(other.go) == 0 && pipe(other.has) == 0);
    other.pid = fork();
    if (other.pid != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof path, "%s/journal", folder);
    if (read(other.go[0], &c, 1) != 1 || mdb_env_create(&env) || mdb_env_open(env, path, 0, 0600) ||
        mdb_txn_begin(env, NULL, 0, &txn) || write(other.has[1], "x", 1) != 1)
        _exit(1);
    for (;;) pause();
}

static void hold(void)
{
    char c;
    CHECK(write(other.go[1], "x", 1) == 1 && read(other.has[0], &c, 1) == 1);
}

static void release(void)
{
    kill(other.pid, SIGKILL);
    waitpid(other.pid, NULL, 0);
    for (int i = 0; i < 2; i++) close(other.go[i]), close(other.has[i]);
}

static int lines_with(const char *story, const char *part)
{
    int n = 0;
    for (const char *at = story; (at = strstr(at, part)) != NULL; at++) n++;
    return n;
}

/* Agents, fresh ones too, answer to the end of their flow and of the next; what they said is saved when the lock is
 * free, all of it. */
TEST(thread_desk_a_crew_begins_and_ends_while_nothing_can_be_saved)
{
    const char *folder = fresh_dir();
    begin_other(folder);
    open_app(AGENTS "flow:\n  kind: map\n  members: [ann]\n  lead: bob\n", by_name, 4000, 8, folder);
    opts.model = "fake.gguf";
    open_desk();
    until("done, 0 wait\n");
    hold();
    bool said_so = false;
    for (int i = 0; i < 2; i++) {
        order("the first part\nthe second part");
        const char *story = until("done, 0 wait\n");
        CHECK_EQ(lines_with(story, "says ann speaks (stop)\n"), 2);
        TOLD(story, "bob says bob speaks (stop)\n");
        TOLD_NOT(story, "saved ");
        said_so |= strstr(story, "the store takes nothing") != NULL;
    }
    if (!said_so) until("the store takes nothing");
    bridge_ask(b, &(struct doc_ask){.kind = DOC_SESSIONS}); /* it says that it cannot look, and holds nobody up */
    until("doc 3\n");
    order("@ann alone");
    TOLD(until("done, 0 wait\n"), "ann says ann speaks (stop)\n");
    release();
    until("the store takes it again");
    order("/quit");
    until("over\n");
    CHECK_EQ(end_desk(), EXIT_DONE);
    struct store *s;
    struct journal_head *heads;
    size_t n;
    keeper_close(app.keeper);
    app.keeper = NULL;
    s = open_at(folder);
    OK(journal_heads(s, 100, &heads, &n, NULL, &err));
    CHECK_EQ(n, 8); /* the run, ann alone, of each flow two copies of ann and one of bob */
    for (size_t i = 0; i < n; i++) CHECK(heads[i].turns > 0);
    free(heads);
    store_close(s);
    close_app();
}

CHECK_MAIN
