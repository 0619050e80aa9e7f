/* Flows without a model: one agent, and several who hear each other. */
#include "app/session/flow_impl.h"
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
    CHECK(flow_next(f, &e));
    flow_cancel(f);
    CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, "a", 1, NULL), -1); /* it was out, and is of no use now */
    size_t n;
    CHECK_STR(flow_output(f, &n), "");
    flow_close(f);
    f = flow_open(&c, "x", 1, 1, NULL);
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

/* ------------------------------------------------------------------ selector */

#define WHO "Who speaks next? Answer with one name: ann, bob, cat. Answer done if nothing is left to say. "

TEST(flow_selector_asks_the_lead_who_speaks)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    c.lead = LEAD;
    PLAY(&c, "x", "a1", {"1 lead: " WHO "[input: x]", "I take Cat, then bob."}, {"2 cat: [input: x]", "c1"},
         {"3 lead: " WHO "[cat: c1]", "ann"}, {"4 ann: [input: x][cat: c1]", "a1"},
         {"5 lead: " WHO "[ann: a1]", "cat\nDone."}, {"over done: lead says it is done", NULL});
}

TEST(flow_selector_falls_back_on_the_rule)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    c.lead = LEAD;
    c.steps = 7;
    PLAY(&c, "x", "c1", {"1 lead: " WHO "[input: x]", "nobody"}, {"2 ann: [input: x]", "ask cat"},
         {"3 lead: " WHO "[ann: ask cat]", ""}, {"4 cat: [input: x][ann: ask cat]", "c1"},
         {"5 lead: " WHO "[cat: c1]", "\x01\xff"}, {"6 ann: [cat: c1]", "!no"}, {"over failed: ann failed: no", NULL});
}

TEST(flow_selector_by_rule_alone)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    c.rounds = 2;
    PLAY(&c, "cat", "a2", {"1 ann: [input: cat]", "ann says: CAT, what do you say?"},
         {"2 cat: [input: cat][ann: ann says: CAT, what do you say?]", "I, cat, am not a concat."},
         {"3 ann: [cat: I, cat, am not a concat.]", "a2"},
         {"4 bob: [input: cat][ann: ann says: CAT, what do you say?][cat: I, cat, am not a concat.][ann: a2]", "!"},
         {"over failed: bob failed: ", NULL});
    c.stop = "c2";
    PLAY(&c, "x", "c2", {"1 ann: [input: x]", "a"}, {"2 bob: [input: x][ann: a]", "b"},
         {"3 cat: [input: x][ann: a][bob: b]", "ann"}, {"4 ann: [bob: b][cat: ann]", "cat"},
         {"5 cat: [ann: cat]", "c2"}, {"over done: cat said the word that stops it", NULL});
}

TEST(flow_selector_counts_speeches_alone_as_words)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    c.lead = LEAD;
    c.rounds = 2;
    PLAY(&c, "x", "6", {"1 lead: " WHO "[input: x]", "ann"}, {"2 ann: [input: x]", "1"},
         {"3 lead: " WHO "[ann: 1]", "ann"}, {"4 ann: Go on.", "2"}, {"5 lead: " WHO "[ann: 2]", "ann"},
         {"6 ann: Go on.", "3"}, {"7 lead: " WHO "[ann: 3]", "ann"}, {"8 ann: Go on.", "4"},
         {"9 lead: " WHO "[ann: 4]", "ann"}, {"10 ann: Go on.", "5"}, {"11 lead: " WHO "[ann: 5]", "bob"},
         {"12 bob: [input: x][ann: 1][ann: 2][ann: 3][ann: 4][ann: 5]", "6"}, {"over done: 2 rounds are over", NULL});
    PLAY(&c, "x", "1", {"1 lead: " WHO "[input: x]", "ann"}, {"2 ann: [input: x]", "1"},
         {"3 lead: " WHO "[ann: 1]", "ann"}, {"4 ann: Go on.", "1"}, {"5 lead: " WHO "[ann: 1]", "ann"},
         {"6 ann: Go on.", "1"}, {"over no_progress: ann said the same thing 3 times", NULL});
}

/* What the lead says when it chooses is no speech of its own. */
TEST(flow_selector_whose_lead_is_a_member)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    c.lead = ANN;
    c.rounds = 1;
    PLAY(&c, "x", "b2", {"1 ann: " WHO "[input: x]", "bob"}, {"2 bob: [input: x]", "b1"},
         {"3 ann: " WHO "[bob: b1]", "bob, not ann"}, {"4 bob: Go on.", "ann"}, {"5 ann: " WHO "[bob: ann]", "ann"},
         {"6 ann: [input: x][bob: b1][bob: ann]", "b2"}, {"over done: 1 rounds are over", NULL});
    c.rounds = 0;
    c.steps = 6;
    PLAY(&c, "x", "bob", {"1 ann: " WHO "[input: x]", "bob"}, {"2 bob: [input: x]", "b1"},
         {"3 ann: " WHO "[bob: b1]", "bob"}, {"4 bob: Go on.", "b2"}, {"5 ann: " WHO "[bob: b2]", "ann"},
         {"6 ann: [input: x][bob: b1][bob: b2]", "bob"}, {"over steps: 6 steps were made", NULL});
}

/* ------------------------------------------------------------------ debate */

#define JUDGE "lead fresh: Judge what was said. Give the final answer. "

TEST(flow_debate_goes_its_rounds_and_is_judged)
{
    struct crew c = crew_of(FLOW_DEBATE, 2);
    c.lead = LEAD;
    c.rounds = 2;
    PLAY(&c, "x", "ann", {"1 ann: [input: x]", "a1"}, {"2 bob: [input: x][ann: a1]", "b1"}, {"3 ann: [bob: b1]", "a2"},
         {"4 bob: [ann: a2]", "b2"}, {"5 " JUDGE "[input: x][ann: a2][bob: b2]", "ann"},
         {"over done: lead has judged", NULL});
    c.rounds = 0;
    c.reduce = "Who is right about {input}?";
    PLAY(&c, "x", "j", {"1 ann: [input: x]", "a"}, {"2 bob: [input: x][ann: a]", "b"},
         {"3 lead fresh: Who is right about input? [input: x][ann: a][bob: b]", "j"},
         {"over done: lead has judged", NULL});
}

TEST(flow_debate_that_stands_still_is_judged_at_once)
{
    struct crew c = crew_of(FLOW_DEBATE, 2);
    c.lead = LEAD;
    c.rounds = 9;
    PLAY(&c, "x", "j", {"1 ann: [input: x]", "a"}, {"2 bob: [input: x][ann: a]", "b"}, {"3 ann: [bob: b]", "a"},
         {"4 bob: [ann: a]", "b"}, {"5 " JUDGE "[input: x][ann: a][bob: b]", "j"},
         {"over done: lead has judged", NULL});
    c.steps = 4;
    PLAY(&c, "x", "b", {"1 ann: [input: x]", "a"}, {"2 bob: [input: x][ann: a]", "b"}, {"3 ann: [bob: b]", "a"},
         {"4 bob: [ann: a]", "b"}, {"over steps: 4 steps were made", NULL});
    c.members[1] = ANN; /* against itself: it is heard once */
    c.rounds = 1;
    PLAY(&c, "x", "j", {"1 ann: [input: x]", "a"}, {"2 ann: Go on.", "b"}, {"3 " JUDGE "[input: x][ann: b]", "j"},
         {"over done: lead has judged", NULL});
}

/* ------------------------------------------------------------------ what an answer says */

static int named(const char *text)
{
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    return flow_named(&c, text, strlen(text), -1);
}

TEST(flow_reads_names_as_whole_words_in_any_case)
{
    CHECK_EQ(named("bob"), BOB);
    CHECK_EQ(named("**BOB**, then ann"), BOB);
    CHECK_EQ(named("@cat's turn"), CAT);
    CHECK_EQ(named("(ann)"), ANN);
    CHECK_EQ(named("annbob bobby bob_ bob-cat xcat cat9 caté \xc3\xa9"
                   "cat"), -1);
    CHECK_EQ(named("lead, dan"), -1); /* no members */
    CHECK_EQ(named(""), -1);
    CHECK_EQ(named("\x01\x02" "bob\x03"), BOB);
    struct crew c = crew_of(FLOW_SELECTOR, 3);
    CHECK_EQ(flow_named(&c, "bob\0cat", 7, BOB), CAT); /* not bob; a NUL is no end */
    CHECK_EQ(flow_named(&c, "bob", 2, -1), -1);        /* not behind the end */
}

static enum flow_verdict verdict(const char *text) { return flow_verdict(text, strlen(text)); }

TEST(flow_reads_the_first_line_that_is_a_verdict)
{
    CHECK_EQ(verdict("Verdict: accept"), VERDICT_ACCEPT);
    CHECK_EQ(verdict("Well.\r\n  verdict : Accept.\r\nmore"), VERDICT_ACCEPT);
    CHECK_EQ(verdict("**Verdict:** revise"), VERDICT_REVISE);
    CHECK_EQ(verdict("Verdict: perhaps\n- Verdict: revise\nVerdict: accept"), VERDICT_REVISE);
    CHECK_EQ(verdict("Verdict: accepted"), VERDICT_NONE);
    CHECK_EQ(verdict("My Verdict: accept"), VERDICT_NONE);
    CHECK_EQ(verdict("Verdict accept"), VERDICT_NONE);
    CHECK_EQ(verdict("Verdictaccept"), VERDICT_NONE);
    CHECK_EQ(verdict("Verdict:\naccept"), VERDICT_NONE);
    CHECK_EQ(verdict("accept"), VERDICT_NONE);
    CHECK_EQ(verdict(""), VERDICT_NONE);
    CHECK_EQ(flow_verdict("Verdict: accept", 13), VERDICT_NONE);
}

TEST(flow_reads_done_on_a_line_of_its_own)
{
    static const char *const yes[] = {"done", "  - DONE.\t", "x\n**done**\ny", "\n\ndone!"};
    static const char *const no[] = {"", "I am done", "done it", "undone", "done\x01", "do\nne"};
    for (size_t i = 0; i < COUNT_OF(yes); i++) CHECK(flow_says_line(yes[i], strlen(yes[i]), "done"));
    for (size_t i = 0; i < COUNT_OF(no); i++) CHECK(!flow_says_line(no[i], strlen(no[i]), "done"));
}

TEST(flow_reads_task_lines)
{
    struct crew c = crew_of(FLOW_SUPERVISOR, 3);
    static const char text[] = "Plan:\n1. Ann: read a.txt \n- bob : write: it\n  2) **cat:** `look`\nbobby: no\n"
                               "lead: no\ncat:\ncat:  \t\n> @CAT: \x01\xff\nask ann: no\nann, bob: no\nann - no";
    static const struct { int member; const char *task; } want[] = {
        {ANN, "read a.txt"}, {BOB, "write: it"}, {CAT, "`look`"}, {CAT, "\x01\xff"},
    };
    size_t at = 0;
    struct flow_span task;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        CHECK_EQ(flow_task_line(&c, text, sizeof text - 1, &at, &task), want[i].member);
        CHECK_EQ(task.n, strlen(want[i].task));
        CHECK_MEM(task.text, want[i].task, task.n);
    }
    CHECK_EQ(flow_task_line(&c, text, sizeof text - 1, &at, &task), -1);
}

/* ------------------------------------------------------------------ size */

TEST(flow_takes_ten_megabytes_and_hands_them_on_without_a_copy)
{
    enum { N = 10 << 20 };
    struct crew c = crew_of(FLOW_ROUND_ROBIN, 3);
    char *big = malloc(N);
    CHECK(big != NULL);
    for (size_t i = 0; i < N; i++) big[i] = (char)(i * 2654435761u >> 13);
    c.stop = "this word is not in it";
    c.stop_on_accept = true;
    struct flow *f = flow_open(&c, big, N, 1, NULL);
    struct flow_effect e;
    const char *first = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK(flow_next(f, &e) && e.kind == FLOW_ASK);
        CHECK_EQ(e.n_parts, i + 1);
        for (int p = 0; p <= i; p++) CHECK(e.part[p].n == N && e.part[p].text != big);
        CHECK_MEM(e.part[i].text, big, N);
        if (i == 1) first = e.part[1].text;
        if (i == 2) CHECK(e.part[1].text == first);
        CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, big, N, NULL), 0);
    }
    flow_close(f);
    free(big);
}

TEST(flow_hands_over_the_newest_of_many_words)
{
    struct crew c = crew_of(FLOW_SELECTOR, 2);
    c.lead = LEAD;
    c.steps = 1000;
    struct flow *f = flow_open(&c, "x", 1, 1, NULL);
    struct flow_effect e;
    char said[32];
    int speeches = 0;
    while (speeches < 40) { /* ann alone speaks */
        CHECK(flow_next(f, &e));
        if (e.agent != LEAD) CHECK_EQ(e.agent, ANN);
        snprintf(said, sizeof said, e.agent == LEAD ? "ann" : "speech %d", e.agent == LEAD ? 0 : ++speeches);
        CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, said, strlen(said), NULL), 0);
    }
    CHECK(flow_next(f, &e));
    CHECK_EQ(flow_answer(f, e.ask, FLOW_SAID, "bob", 3, NULL), 0);
    CHECK(flow_next(f, &e) && e.agent == BOB);
    CHECK_EQ(e.n_parts, 1 + 32);
    CHECK_STR(e.part[1].text, "speech 9");
    CHECK_STR(e.part[32].text, "speech 40");
    flow_close(f);
}

CHECK_MAIN
