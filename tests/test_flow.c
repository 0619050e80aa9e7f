/* Flows without a model: one agent, and several who hear each other. */
#include "tests/flow_rig.h"

/* ------------------------------------------------------------------ single */

TEST(flow_single_asks_once)
{
    struct crew c = crew_of(FLOW_SINGLE, 1);
    PLAY(&c, "Hello.", "Hi.", {"1 ann: [input: Hello.]", "Hi."}, {"over done: ann has answered", NULL});
    c.prompt = "Answer {input} in {words}, {input}!";
    PLAY(&c, "a {input} b", "Hi.", {"1 ann: Answer input in {words}, input! [input: a {input} b]", "Hi."},
         {"over done: ann has answered", NULL});
}

TEST(flow_a_failed_ask_is_asked_again_and_counts)
{
    struct crew c = crew_of(FLOW_SINGLE, 1);
    c.retries = 2;
    PLAY(&c, "x", "Hi.", {"1 ann: [input: x]", "!no"}, {"2 ann again 1: [input: x]", "!no"},
         {"3 ann again 2: [input: x]", "Hi."}, {"over done: ann has answered", NULL});
    PLAY(&c, "x", "", {"1 ann: [input: x]", "!no"}, {"2 ann again 1: [input: x]", "!no"},
         {"3 ann again 2: [input: x]", "!line one\nline\x1b two"},
         {"over failed: ann failed: line one line  two", NULL});
    c.steps = 2;
    PLAY(&c, "x", "", {"1 ann: [input: x]", "!no"}, {"2 ann again 1: [input: x]", "!no"},
         {"over steps: 2 steps were made", NULL});
    c.retries = 0;
    PLAY(&c, "x", "", {"1 ann: [input: x]", "!no"}, {"over failed: ann failed: no", NULL});
}

TEST(flow_ends_when_it_or_an_ask_is_cancelled)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 2);
    c.retries = 3;
    PLAY(&c, "x", "Hi.", {"1 ann: [input: x]", "Hi."}, {"2 bob: [input: x][ann: Hi.]", "^"},
         {"over cancelled: bob was cancelled", NULL});
    PLAY(&c, "x", "Hi.", {"1 ann: [input: x]", "Hi."}, {"2 bob: [input: x][ann: Hi.]", NULL},
         {"over cancelled: it was cancelled", NULL});
    struct flow *f = flow_open(&c, "x", 1, 1, NULL);
    struct flow_effect e;
    flow_cancel(f); /* before anything was asked */
    CHECK(flow_next(f, &e) && e.kind == FLOW_OVER && e.end == FLOW_CANCELLED);
    CHECK_EQ(flow_steps(f), 0);
    flow_close(f);
}

TEST(flow_takes_no_answer_to_what_is_not_out)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 2);
    struct flow *f = flow_open(&c, NULL, 0, 1, NULL);
    struct flow_effect e;
    struct err err;
    CHECK_EQ(flow_answer(f, 1, FLOW_SAID, "a", 1, &err), -1);
    CHECK_STR(err.text, "no ask 1 is out");
    CHECK(flow_next(f, &e) && !flow_next(f, &e));
    CHECK_EQ(flow_answer(f, 2, FLOW_SAID, "a", 1, NULL), -1);
    CHECK_EQ(flow_answer(f, 1, FLOW_SAID, NULL, 0, NULL), 0);
    CHECK_EQ(flow_answer(f, 1, FLOW_SAID, "a", 1, NULL), -1); /* a second time */
    CHECK(flow_next(f, &e));
    CHECK_EQ(e.ask, 2);
    CHECK_EQ(e.n_parts, 2);
    CHECK_EQ(e.part[1].n, 0);
    CHECK_EQ(e.part[1].ask, 1);
    flow_close(f);
    flow_close(NULL);
}

/* ------------------------------------------------------------------ round_robin */

TEST(flow_round_robin_tells_each_what_the_others_said_since)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 3);
    c.rounds = 2;
    PLAY(&c, "x", "c2", {"1 ann: [input: x]", "a1"}, {"2 bob: [input: x][ann: a1]", "b1"},
         {"3 cat: [input: x][ann: a1][bob: b1]", "c1"}, {"4 ann: [bob: b1][cat: c1]", "a2"},
         {"5 bob: [cat: c1][ann: a2]", "b2"}, {"6 cat: [ann: a2][bob: b2]", "c2"},
         {"over done: 2 rounds are over", NULL});
    c.rounds = 0;
    c.steps = 4;
    c.prompt = "Talk about {input}.";
    PLAY(&c, "x", "a2", {"1 ann: Talk about input. [input: x]", "a1"},
         {"2 bob: Talk about input. [input: x][ann: a1]", "b1"},
         {"3 cat: Talk about input. [input: x][ann: a1][bob: b1]", "c1"},
         {"4 ann: Talk about input. [bob: b1][cat: c1]", "a2"}, {"over steps: 4 steps were made", NULL});
}

TEST(flow_round_robin_stops_at_the_word_or_the_verdict)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 2);
    c.stop = "FINIS";
    PLAY(&c, "FINIS", "the FINIS.", {"1 ann: [input: FINIS]", "finis"},
         {"2 bob: [input: FINIS][ann: finis]", "the FINIS."},
         {"over done: bob said the word that stops it", NULL});
    c.stop = NULL;
    PLAY(&c, "x", "FINIS", {"1 ann: [input: x]", "FINIS"}, {"2 bob: [input: x][ann: FINIS]", "^"},
         {"over cancelled: bob was cancelled", NULL});
    c.stop_on_accept = true;
    PLAY(&c, "x", "Verdict: accept\nIt is good.", {"1 ann: [input: x]", "Verdict: revise\nVerdict: accept"},
         {"2 bob: [input: x][ann: Verdict: revise\nVerdict: accept]", "Verdict: accept\nIt is good."},
         {"over done: bob accepted", NULL});
}

TEST(flow_round_robin_of_one_goes_on)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 1);
    c.rounds = 3;
    PLAY(&c, "x", "3", {"1 ann: [input: x]", "1"}, {"2 ann: Go on.", "2"}, {"3 ann: Go on.", "3"},
         {"over done: 3 rounds are over", NULL});
}

TEST(flow_round_robin_with_a_member_twice)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 3);
    c.members[2] = ANN;
    c.rounds = 2;
    PLAY(&c, "x", "a4", {"1 ann: [input: x]", "a1"}, {"2 bob: [input: x][ann: a1]", "b1"}, {"3 ann: [bob: b1]", "a2"},
         {"4 ann: Go on.", "a3"}, {"5 bob: [ann: a2][ann: a3]", "b2"}, {"6 ann: [bob: b2]", "a4"},
         {"over done: 2 rounds are over", NULL});
}

TEST(flow_round_robin_without_progress)
{
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 2);
    PLAY(&c, "x", " no\n", {"1 ann: [input: x]", "yes"}, {"2 bob: [input: x][ann: yes]", "no"},
         {"3 ann: [bob: no]", "yes\n"},
         {"4 bob: [ann: yes\n]", " no\n"}, {"over no_progress: all said again what they had said before", NULL});
    PLAY(&c, "x", "a", {"1 ann: [input: x]", "a"}, {"2 bob: [input: x][ann: a]", "1"}, {"3 ann: [bob: 1]", "a"},
         {"4 bob: [ann: a]", "2"}, {"5 ann: [bob: 2]", "a"},
         {"over no_progress: ann said the same thing 3 times", NULL});
}

CHECK_MAIN
