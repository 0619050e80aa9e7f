/* Flows without a model: tasks in their order, along edges, given out by a lead, and one for each part of an input. */
#include "tests/flow_rig.h"

/* ------------------------------------------------------------------ sequential */

static struct crew tasks_of(enum flow_kind kind) /* plan (ann), find (bob), write (ann; needs both) */
{
    static struct crew_task task[3] = {
        {.name = "plan", .agent = ANN, .text = "Plan {input}."},
        {.name = "find", .agent = BOB, .text = "Find what {plan} needs; {write} and {nothing} are not there.",
         .n_needs = 1},
        {.name = "write", .agent = ANN, .text = "Write {find} for {input}.", .needs = {1, 0}, .n_needs = 2},
    };
    struct crew c = crew_of(kind, 0);
    c.task = task;
    c.n_tasks = 3;
    return c;
}

TEST(flow_sequential_gives_each_task_what_it_needs)
{
    struct crew c = tasks_of(FLOW_SEQUENTIAL);
    PLAY(&c, "x", "w", {"1 ann fresh: Plan input. [input: x]", "p"},
         {"2 bob fresh: Find what plan needs; write and {nothing} are not there. [plan: p]", "f"},
         {"3 ann fresh: Write find for input. [input: x][find: f][plan: p]", "w"},
         {"over done: the last task, write, is done", NULL});
}

TEST(flow_sequential_repeats_and_ends)
{
    struct crew c = tasks_of(FLOW_SEQUENTIAL);
    c.retries = 1;
    PLAY(&c, "x", "p", {"1 ann fresh: Plan input. [input: x]", "!a"},
         {"2 ann fresh again 1: Plan input. [input: x]", "p"},
         {"3 bob fresh: Find what plan needs; write and {nothing} are not there. [plan: p]", "!b"},
         {"4 bob fresh again 1: Find what plan needs; write and {nothing} are not there. [plan: p]", "!c"},
         {"over failed: find failed: c", NULL});
    c.steps = 2;
    PLAY(&c, "x", "p", {"1 ann fresh: Plan input. [input: x]", "p"},
         {"2 bob fresh: Find what plan needs; write and {nothing} are not there. [plan: p]", "!b"},
         {"over steps: 2 steps were made", NULL});
    c.steps = 3; /* enough, to the last */
    PLAY(&c, "x", "same", {"1 ann fresh: Plan input. [input: x]", "same"},
         {"2 bob fresh: Find what plan needs; write and {nothing} are not there. [plan: same]", "same"},
         {"3 ann fresh: Write find for input. [input: x][find: same][plan: same]", "same"},
         {"over done: the last task, write, is done", NULL});
    PLAY(&c, "x", "p", {"1 ann fresh: Plan input. [input: x]", "p"},
         {"2 bob fresh: Find what plan needs; write and {nothing} are not there. [plan: p]", NULL},
         {"over cancelled: it was cancelled", NULL});
}

TEST(flow_part_says_whose_words_it_is_and_from_which_ask)
{
    struct crew c = tasks_of(FLOW_SEQUENTIAL);
    c.retries = 1;
    struct flow *f = flow_open(&c, "x", 1, 1, NULL);
    struct flow_effect e;
    CHECK(flow_next(f, &e));
    CHECK(e.part[0].agent == -1 && e.part[0].ask == 0);
    CHECK_EQ(flow_answer(f, 1, FLOW_ASK_FAILED, "no", 2, NULL), 0);
    CHECK(flow_next(f, &e));
    CHECK_EQ(flow_answer(f, 1, FLOW_SAID, "old", 3, NULL), -1); /* the number of the try that failed */
    CHECK_EQ(flow_answer(f, 2, FLOW_SAID, "p", 1, NULL), 0);
    CHECK(flow_next(f, &e));
    CHECK(e.part[0].agent == ANN && e.part[0].ask == 2);
    CHECK_EQ(flow_steps(f), 3);
    flow_close(f);
}

/* ------------------------------------------------------------------ graph */

/* draft (ann; needs judge), judge (bob; needs draft) and mend (cat; needs draft) */
static struct crew graph_of(const struct crew_edge *edge, int n)
{
    static struct crew_task task[3] = {
        {.name = "draft", .agent = ANN, .text = "Draft {input}.", .needs = {1}, .n_needs = 1},
        {.name = "judge", .agent = BOB, .text = "Judge.", .needs = {0}, .n_needs = 1},
        {.name = "mend", .agent = CAT, .text = "Mend.", .needs = {0}, .n_needs = 1},
    };
    static struct crew_edge copy[8];
    memcpy(copy, edge, (size_t)n * sizeof *edge);
    struct crew c = crew_of(FLOW_GRAPH, 0);
    c.task = task;
    c.n_tasks = 3;
    c.edge = copy;
    c.n_edges = n;
    return c;
}

static const struct crew_edge LOOP[] = {
    {0, 1, WHEN_ALWAYS, NULL}, {1, 0, WHEN_REVISE, NULL}, {1, -1, WHEN_ACCEPT, NULL}};

TEST(flow_graph_goes_along_the_edges_that_hold)
{
    struct crew c = graph_of(LOOP, 3);
    PLAY(&c, "x", "Verdict: accept", {"1 ann: Draft input. [input: x]", "d1"},
         {"2 bob: Judge. [draft: d1]", "Verdict: revise"},
         {"3 ann: Draft input. [input: x][judge: Verdict: revise]", "d2"},
         {"4 bob: Judge. [draft: d2]", "Verdict: accept"}, {"over done: an edge of judge leads to the end", NULL});
    PLAY(&c, "x", "well", {"1 ann: Draft input. [input: x]", "d1"}, {"2 bob: Judge. [draft: d1]", "well"},
         {"over done: no edge leads on from judge", NULL});
}

TEST(flow_graph_takes_the_first_edge_that_holds)
{
    static const struct crew_edge edge[] = {{0, 1, WHEN_CONTAINS, "long"}, {0, 2, WHEN_CONTAINS, "lo"},
                                            {0, -1, WHEN_ALWAYS, NULL},    {2, 1, WHEN_FAILED, NULL}};
    struct crew c = graph_of(edge, 4);
    PLAY(&c, "x", "j", {"1 ann: Draft input. [input: x]", "too long"}, {"2 bob: Judge. [draft: too long]", "j"},
         {"over done: no edge leads on from judge", NULL});
    PLAY(&c, "x", "m", {"1 ann: Draft input. [input: x]", "low"}, {"2 cat: Mend. [draft: low]", "m"},
         {"over done: no edge leads on from mend", NULL});
    PLAY(&c, "long", "LONG", {"1 ann: Draft input. [input: long]", "LONG"},
         {"over done: an edge of draft leads to the end", NULL});
}

TEST(flow_graph_of_a_failed_task_takes_only_that_edge)
{
    static const struct crew_edge edge[] = {
        {0, -1, WHEN_ALWAYS, NULL}, {0, 2, WHEN_FAILED, NULL}, {2, -1, WHEN_ALWAYS, NULL}};
    struct crew c = graph_of(edge, 3);
    c.retries = 1;
    PLAY(&c, "x", "m", {"1 ann: Draft input. [input: x]", "!a"}, {"2 ann again 1: Draft input. [input: x]", "!b"},
         {"3 cat: Mend.", "m"}, {"over done: an edge of mend leads to the end", NULL});
    PLAY(&c, "x", "", {"1 ann: Draft input. [input: x]", "!a"}, {"2 ann again 1: Draft input. [input: x]", "!b"},
         {"3 cat: Mend.", "!c"}, {"4 cat again 1: Mend.", "!d"}, {"over failed: mend failed: d", NULL});
}

TEST(flow_graph_that_runs_in_circles_ends)
{
    struct crew c = graph_of(LOOP, 3);
    PLAY(&c, "x", "Verdict: revise", {"1 ann: Draft input. [input: x]", "d1"},
         {"2 bob: Judge. [draft: d1]", "Verdict: revise"},
         {"3 ann: Draft input. [input: x][judge: Verdict: revise]", "d2"},
         {"4 bob: Judge. [draft: d2]", "Verdict: revise"},
         {"5 ann: Draft input. [input: x][judge: Verdict: revise]", "d3"},
         {"6 bob: Judge. [draft: d3]", "Verdict: revise"},
         {"over no_progress: judge said the same thing 3 times", NULL});
    c.steps = 3;
    PLAY(&c, "x", "d2", {"1 ann: Draft input. [input: x]", "d1"}, {"2 bob: Judge. [draft: d1]", "Verdict: revise"},
         {"3 ann: Draft input. [input: x][judge: Verdict: revise]", "d2"}, {"over steps: 3 steps were made", NULL});
}

/* One agent for two tasks: saying the same about each of them is no repeat. */
TEST(flow_graph_tells_the_tasks_of_an_agent_apart)
{
    static const struct crew_edge edge[] = {
        {0, 1, WHEN_ALWAYS, NULL}, {1, 2, WHEN_ALWAYS, NULL}, {2, 0, WHEN_ALWAYS, NULL}};
    static struct crew_task task[3];
    struct crew c = graph_of(edge, 3);
    for (int i = 0; i < 3; i++) {
        task[i] = c.task[i];
        task[i].agent = ANN;
        task[i].n_needs = 0;
    }
    c.task = task;
    c.steps = 4;
    PLAY(&c, "x", "yes", {"1 ann: Draft input. [input: x]", "yes"}, {"2 ann: Judge. [input: x]", "yes"},
         {"3 ann: Mend. [input: x]", "yes"}, {"4 ann: Draft input. [input: x]", "yes"},
         {"over steps: 4 steps were made", NULL});
}

/* ------------------------------------------------------------------ supervisor */

#define LEADS "1 lead: You lead ann, bob, cat. Give them tasks, one a line, as NAME: TASK. " \
              "Without such a line your answer is the result. "
#define RESULTS "lead: These are the results. Give more tasks as before, or answer with the result. "
#define ONLY(n) "lead: These are the results. Give more tasks as before, or answer with the result.\n" \
                "Only the first " #n " of your tasks were given out. "

static struct crew led(void)
{
    struct crew c = crew_of(FLOW_SUPERVISOR, 3);
    c.lead = LEAD;
    return c;
}

TEST(flow_supervisor_gives_tasks_until_none_is_left)
{
    struct crew c = led();
    PLAY_AT(&c, "x", 3, "All is well.", {LEADS "[input: x]", "ann: count\nbob: sum up"}, {"2 ann: [task: count]", "3"},
            {"3 bob: [task: sum up]", "short"}, {"4 " RESULTS "[ann: 3][bob: short]", "Then\n- CAT: check"},
            {"5 cat: [task: check]", "right"}, {"6 " RESULTS "[cat: right]", "All is well."},
            {"over done: lead gave no more tasks", NULL});
    PLAY(&c, "x", "4", {LEADS "[input: x]", "4"}, {"over done: lead gave no more tasks", NULL});
    c.prompt = "Do this for {input}:";
    c.reduce = "Here is what you need for {input}.";
    PLAY(&c, "x", "r", {LEADS "[input: x]", "ann: count"}, {"2 ann: Do this for input: [input: x][task: count]", "3"},
         {"3 lead: Here is what you need for input. [input: x][ann: 3]", "r"},
         {"over done: lead gave no more tasks", NULL});
}

TEST(flow_supervisor_shares_a_plan_that_names_nobody)
{
    struct crew c = led();
    PLAY_AT(&c, "x", 3, "Plan:\n1. rest", {LEADS "[input: x]", "\n plan: \n1. count\nnot this\n2.  sum up \n3.\n"},
            {"2 ann: [task: count]", "3"}, {"3 bob: [task: sum up]", "short"},
            {"4 " RESULTS "[ann: 3][bob: short]", "Plan:\n1. rest"}, {"over done: lead gave no more tasks", NULL});
    PLAY(&c, "x", "My plan:\n1. count", {LEADS "[input: x]", "My plan:\n1. count"},
         {"over done: lead gave no more tasks", NULL});
    PLAY(&c, "x", "Plan:\n- count", {LEADS "[input: x]", "Plan:\n- count"},
         {"over done: lead gave no more tasks", NULL});
}

TEST(flow_supervisor_asks_a_member_one_thing_at_a_time)
{
    struct crew c = led();
    PLAY_AT(&c, "x", 8, "r", {LEADS "[input: x]", "ann: one\nann: two\nbob: one\nann: one"},
            {"2 ann: [task: one]", "a1"}, {"4 bob: [task: one]", "b1"}, {"3 ann: [task: two]", "a2"},
            {"5 " RESULTS "[ann: a1][ann: a2][bob: b1]", "r"}, {"over done: lead gave no more tasks", NULL});
}

TEST(flow_supervisor_repeats_what_failed_behind_the_rest)
{
    struct crew c = led();
    c.retries = 1;
    PLAY_AT(&c, "x", 2, "r", {LEADS "[input: x]", "ann: a\nbob: b\ncat: c"}, {"2 ann: [task: a]", "!no"},
            {"3 bob: [task: b]", "bb"}, {"4 cat: [task: c]", "cc"}, {"5 ann again 1: [task: a]", "aa"},
            {"6 " RESULTS "[ann: aa][bob: bb][cat: cc]", "r"}, {"over done: lead gave no more tasks", NULL});
    PLAY_AT(&c, "x", 2, "ann: a\nbob: b", {LEADS "[input: x]", "ann: a\nbob: b"}, {"2 ann: [task: a]", "!no"},
            {"3 bob: [task: b]", "!nor I"}, {"4 ann again 1: [task: a]", "!no"}, {"5 bob again 1: [task: b]", "bb"},
            {"over failed: ann failed: no", NULL});
}

TEST(flow_supervisor_keeps_a_step_for_the_lead)
{
    struct crew c = led();
    c.steps = 4;
    PLAY_AT(&c, "x", 9, "ann: again", {LEADS "[input: x]", "ann: a\nbob: b\ncat: c"}, {"2 ann: [task: a]", "aa"},
            {"3 bob: [task: b]", "bb"}, {"4 " ONLY(2) "[ann: aa][bob: bb]", "ann: again"},
            {"over steps: 4 steps were made, and none is left for a task", NULL});
    c.retries = 1; /* which a repeated ask may take */
    PLAY_AT(&c, "x", 9, "ann: a\nbob: b", {LEADS "[input: x]", "ann: a\nbob: b"}, {"2 ann: [task: a]", "!no"},
            {"3 bob: [task: b]", "bb"}, {"4 ann again 1: [task: a]", "!no"}, {"over failed: ann failed: no", NULL});
    PLAY_AT(&c, "x", 9, "bb", {LEADS "[input: x]", "ann: a\nbob: b"}, {"2 ann: [task: a]", "!no"},
            {"3 bob: [task: b]", "bb"}, {"4 ann again 1: [task: a]", "aa"}, {"over steps: 4 steps were made", NULL});
}

TEST(flow_supervisor_without_progress)
{
    struct crew c = led();
    c.members[2] = BOB;
    PLAY(&c, "x", " ann: a", {"1 lead: You lead ann, bob, bob. Give them tasks, one a line, as NAME: TASK. "
         "Without such a line your answer is the result. [input: x]", "ann: a"}, {"2 ann: [task: a]", "1"},
         {"3 " RESULTS "[ann: 1]", "ann: a"}, {"4 ann: [task: a]", "2"}, {"5 " RESULTS "[ann: 2]", " ann: a"},
         {"over no_progress: lead said the same thing 3 times", NULL});
}

/* An answer with as many tasks as one likes is bounded by what a flow gives out at once, and by the steps. */
TEST(flow_supervisor_with_ten_thousand_tasks)
{
    struct crew c = led();
    struct buf plan = {0};
    struct flow_effect e;
    for (int i = 0; i < 10000; i++) buf_printf(&plan, "%d. %s: task %d\x1b\n", i, i % 2 ? "bob" : "ann", i / 2);
    for (int steps = 20; steps <= 1000; steps += 980) {
        c.steps = steps;
        struct flow *f = flow_open(&c, "x", 1, 1000, NULL);
        int most = MIN(steps - 2, 32);
        CHECK(flow_next(f, &e));
        CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, plan.data, plan.len, NULL), 0);
        for (int i = 0; i < most; i++) {
            while (flow_next(f, &e)) {}
            CHECK(e.part[0].text > plan.data + plan.len || e.part[0].text < plan.data);
            CHECK_EQ(flow_answer(f, i + 2, FLOW_SAID, "ok", 2, NULL), 0);
        }
        CHECK(flow_next(f, &e));
        CHECK(e.kind == FLOW_ASK && e.agent == LEAD && e.n_parts == most);
        CHECK(strstr(e.text, steps == 20 ? "Only the first 18 of" : "Only the first 32 of") != NULL);
        flow_close(f);
    }
    buf_free(&plan);
}

/* ------------------------------------------------------------------ map */

TEST(flow_map_asks_a_copy_for_each_part)
{
    struct crew c = crew_of(FLOW_MAP, 2);
    c.lead = LEAD;
    c.prompt = "Sum up {input}.";
    PLAY_AT(&c, "one\r\n\n  two \nthree", 2, "all", {"1 ann fresh: Sum up input. [input: one]", "1"},
            {"2 ann/1 fresh: Sum up input. [input: two]", "2"}, {"3 ann/2 fresh: Sum up input. [input: three]", "3"},
            {"4 lead fresh: Make one answer of these. [part 1: 1][part 2: 2][part 3: 3]", "all"},
            {"over done: lead has made one result of 3 parts", NULL});
    c.split = SPLIT_PARAGRAPHS;
    c.prompt = NULL;
    c.reduce = "Join.";
    PLAY(&c, "\n a\n b\n \n\n\nc\n", "all", {"1 ann fresh: [input: a\n b]", "1"}, {"2 ann/1 fresh: [input: c]", "2"},
         {"3 lead fresh: Join. [part 1: 1][part 2: 2]", "all"},
         {"over done: lead has made one result of 2 parts", NULL});
    c.reduce = "Join for {input}.";
    PLAY(&c, "a", "all", {"1 ann fresh: [input: a]", "1"},
         {"2 lead fresh: Join for input. [input: a][part 1: 1]", "all"},
         {"over done: lead has made one result of 1 parts", NULL});
    c.lead = -1;
    PLAY(&c, "a\n\nb", "1\n2", {"1 ann fresh: [input: a]", "1"}, {"2 ann/1 fresh: [input: b]", "2"},
         {"over done: all 2 parts are answered", NULL});
    c.retries = 1;
    PLAY_AT(&c, "a\n\nb", 2, "same\nsame", {"1 ann fresh: [input: a]", "!no"}, {"2 ann/1 fresh: [input: b]", "same"},
            {"3 ann fresh again 1: [input: a]", "same"}, {"over done: all 2 parts are answered", NULL});
    PLAY_AT(&c, "a\n\nb", 2, "", {"1 ann fresh: [input: a]", "!no"}, {"2 ann/1 fresh: [input: b]", "^"},
            {"over cancelled: part 2 was cancelled", NULL});
}

TEST(flow_map_refuses_an_input_that_cannot_be_done)
{
    struct crew c = crew_of(FLOW_MAP, 1);
    struct err err;
    CHECK(!flow_open(&c, " \n\t\n", 4, 1, &err));
    CHECK_STR(err.text, "the input has no parts: there is nothing in it");
    c.steps = 3;
    CHECK(!flow_open(&c, "1\n2\n3\n4", 7, 1, &err));
    CHECK_STR(err.text, "the input has more than 3 parts, and the crew makes 3 steps at most");
    c.lead = LEAD;
    CHECK(!flow_open(&c, "1\n2\n3", 5, 1, &err));
    CHECK_STR(err.text, "the input has 3 parts, which take 4 asks, and the crew makes 3 steps at most");
    c.lead = -1;
    struct flow *f = flow_open(&c, "1\n2\n3\n\n", 7, 1, &err);
    CHECK(f != NULL);
    flow_close(f);
}

TEST(flow_map_whose_repeats_take_the_steps_ends)
{
    struct crew c = crew_of(FLOW_MAP, 1);
    c.steps = 3;
    c.retries = 5;
    PLAY(&c, "a\nb", "2", {"1 ann fresh: [input: a]", "!no"}, {"2 ann/1 fresh: [input: b]", "2"},
         {"3 ann fresh again 1: [input: a]", "!no"}, {"over steps: 3 steps were made", NULL});
}

/* 70 parts: 9 groups of 7 or 8, then 2 of 4 or 5, then one; each part is in one of them, in its order. */
TEST(flow_map_reduces_in_groups)
{
    struct crew c = crew_of(FLOW_MAP, 1);
    c.lead = LEAD;
    struct buf input = {0}, said = {0};
    for (int i = 1; i <= 70; i++) buf_printf(&input, "%d\n", i);
    c.steps = 81;
    CHECK(!flow_open(&c, input.data, input.len, 1, NULL));
    c.steps = 82;
    struct flow *f = flow_open(&c, input.data, input.len, 1, NULL);
    struct flow_effect e;
    int reduces = 0;
    while (flow_next(f, &e) && e.kind == FLOW_ASK) {
        said.len = 0;
        if (e.agent == LEAD) CHECK(e.fresh && e.n_parts >= 4 - (reduces == 11) * 2 && e.n_parts <= 8);
        if (e.agent == LEAD) reduces++;
        if (reduces == 1) CHECK_STR(e.part[6].label, "part 7");
        if (reduces == 12) CHECK_STR(e.part[1].label, "parts 32-70");
        for (int i = 0; i < e.n_parts; i++) {
            if (i > 0) buf_puts(&said, " ");
            buf_put(&said, e.part[i].text, e.part[i].n);
        }
        CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, said.data, said.len, NULL), 0);
    }
    CHECK_EQ(e.end, FLOW_DONE);
    CHECK_EQ(reduces, 12);
    CHECK_EQ(flow_steps(f), 82);
    for (size_t i = 0; i < input.len; i++) input.data[i] = input.data[i] == '\n' ? ' ' : input.data[i];
    input.data[input.len - 1] = '\0';
    size_t n;
    CHECK_STR(flow_output(f, &n), input.data);
    flow_close(f);
    buf_free(&input);
    buf_free(&said);
}

CHECK_MAIN
