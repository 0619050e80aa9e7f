/* Crews, from the person's line to what comes of it: every flow, what is handed over, failures, cancels, voices. */
#include "tests/team_rig.h"
#include <sys/mman.h>

/* ---------------------------------------------------------------- every flow */

/* Each agent says what it is, and how many user's messages it heard. */
static void by_name(const char *heard, char *out)
{
    int n = 0;
    for (const char *at = heard; (at = strstr(at, "user:")) != NULL; at++) n++;
    const char *name = hears(heard, "I am ann") ? "ann" : hears(heard, "I am bob") ? "bob" : "lea";
    snprintf(out, MANY_TEXT, "%s says %d", name, n);
}

#define AGENTS \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n" \
    "  - name: lea\n    system: I am lea\n"

TEST(team_single)
{
    begin_team("crew: test\nagents:\n  - name: ann\n    system: I am ann\nflow:\n  kind: single\n", by_name, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 ann; done");
    CHECK_STR(result(), "ann says 1");
    CHECK_EQ(line("And now?"), EXIT_DONE); /* it remembers */
    CHECK_STR(result(), "ann says 2");
    CHECK_EQ(count_events("turn_end", "agent", "ann"), 2);
    CHECK_EQ(count_events("turn_end", NULL, NULL), 2);
    CHECK_EQ(app.turns, 2);
    end_team();
}

TEST(team_round_robin)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 2\n", by_name, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 bob +1, 3 ann +1, 4 bob +1; done");
    CHECK_STR(result(), "bob says 2");
    CHECK_EQ(count_events("turn_user", "agent", "ann"), 2);
    CHECK_EQ(count_events("turn_user", "agent", "bob"), 2);
    CHECK_EQ(app.turns, 4);
    end_team();
}

static void leads(const char *heard, char *out)
{
    const char *last = last_of(heard);
    if (hears(last, "Who speaks next")) says(out, hears(last, "bob says") ? "done" : "bob");
    else by_name(heard, out);
}

TEST(team_selector)
{
    begin_team(AGENTS "flow:\n  kind: selector\n  members: [ann, bob]\n  lead: lea\n", leads, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 lea, 2 bob, 3 lea +1; done");
    CHECK_STR(result(), "bob says 1");
    end_team();
}

#define TASKS \
    "  tasks:\n    - name: find\n      agent: ann\n      text: Find it in {input}\n" \
    "    - name: write\n      agent: ann\n      needs: [find]\n      text: Write up {find}\n"

TEST(team_sequential)
{
    begin_team(AGENTS "flow:\n  kind: sequential\n" TASKS, by_name, NULL);
    CHECK_EQ(line("the sea"), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 ann +1; done");
    CHECK_STR(result(), "ann says 1"); /* each task is of an agent that begins anew */
    CHECK_EQ(app.turns, 2);
    end_team();
}

static void plans(const char *heard, char *out)
{
    if (hears(heard, "I am lea")) says(out, hears(heard, "Result:") ? "It is done." : "ann: count\nbob: sing");
    else says(out, hears(last_of(heard), "user:count") ? "three" : hears(last_of(heard), "user:sing") ? "la" : "what?");
}

TEST(team_supervisor)
{
    begin_team(AGENTS "flow:\n  kind: supervisor\n  lead: lea\n  members: [ann, bob]\n", plans, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 lea, 2 ann +1, 3 bob +1, 4 lea +2; done");
    CHECK_STR(result(), "It is done.");
    CHECK_EQ(many.most, 2); /* both at once */
    CHECK(hears(events(), "Result: three") && hears(events(), "Result: la"));
    end_team();
}

/* A worker whose name is the word for a supervisor's task is handed over like any other. */
TEST(team_an_agent_called_task_is_handed_over_as_others_are)
{
    begin_team("crew: test\nagents:\n  - name: task\n    system: I am bob\n  - name: ann\n    system: I am ann\n"
               "flow:\n  kind: round_robin\n  rounds: 1\n", by_name, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(hears(events(), "Hand-over from task to ann"));
    end_team();
}

static void maps(const char *heard, char *out)
{
    const char *last = last_of(heard), *line_at = strstr(last, "line ");
    if (hears(heard, "I am lea")) says(out, "all together");
    else snprintf(out, MANY_TEXT, "did %.6s", line_at ? line_at : "nothing");
}

#define MAP "flow:\n  kind: map\n  members: [ann]\n  lead: lea\n"

TEST(team_map)
{
    begin_team(AGENTS MAP, maps, NULL);
    CHECK_EQ(line("line 1\nline 2\nline 3"), EXIT_DONE);
    CHECK_STR(story(), "1 ann/1, 2 ann/2, 3 ann/3, 4 lea +3; done");
    CHECK_STR(result(), "all together");
    CHECK_EQ(many.most, 3);
    CHECK(hears(events(), "Result: did line 1") && hears(events(), "Result: did line 3"));
    CHECK_EQ(count_events("turn_end", "agent", "ann/2"), 1); /* copies are told apart */
    CHECK_EQ(app.turns, 4);
    end_team();
}

TEST(team_map_of_nothing_is_the_persons_mistake)
{
    begin_team(AGENTS MAP, maps, NULL);
    CHECK_EQ(line("line 1"), EXIT_DONE);
    CHECK_EQ(line("\n \n"), EXIT_USAGE);
    CHECK(hears(err.text, "no parts"));
    CHECK_STR(result(), ""); /* not what came of the flow before */
    end_team();
}

TEST(team_copies_draw_numbers_of_their_own)
{
    begin_team(AGENTS MAP, maps, NULL);
    CHECK_EQ(line("line 1\nline 2\nline 3"), EXIT_DONE); /* what is left in the engine's places tells of the last two */
    uint64_t two = many.r[1].asked.sampling.seed, three = many.r[2].asked.sampling.seed;
    CHECK(hears(many.r[1].heard.data, "line 2") && hears(many.r[2].heard.data, "line 3"));
    CHECK(two != three);
    end_team();
}

TEST(team_debate)
{
    begin_team(AGENTS "flow:\n  kind: debate\n  members: [ann, bob]\n  lead: lea\n  rounds: 1\n", by_name, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 bob +1, 3 lea +2; done");
    CHECK_STR(result(), "lea says 1");
    end_team();
}

static void revises(const char *heard, char *out)
{
    bool second = hears(last_of(heard), "draft 2");
    if (hears(heard, "I am bob")) says(out, second ? "Verdict: accept" : "Verdict: revise");
    else says(out, hears(heard, "Result: Verdict") ? "draft 2" : "draft 1");
}

TEST(team_graph)
{
    begin_team(AGENTS "flow:\n  kind: graph\n  steps: 8\n  tasks:\n"
               "    - name: draft\n      agent: ann\n      needs: [check]\n      text: Write {input} {check}\n"
               "    - name: check\n      agent: bob\n      needs: [draft]\n      text: Check {draft}\n"
               "  edges:\n    - {from: draft, to: check}\n    - {from: check, to: end, when: accept}\n"
               "    - {from: check, to: draft, when: revise}\n", revises, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 bob +1, 3 ann +1, 4 bob +1; done");
    CHECK_STR(result(), "Verdict: accept");
    end_team();
}

TEST(team_ends_at_its_steps_and_where_all_say_the_same)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  steps: 3\n", by_name, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 bob +1, 3 ann +1; steps");
    CHECK_EQ(team.steps, 3);
    end_team();
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n", maps, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(hears(story(), "; no_progress"));
    end_team();
}

/* ---------------------------------------------------------------- failures */

static struct buf heard_by[8]; /* what each request was */
static int n_heard;

static void by_name_noted(const char *heard, char *out)
{
    CHECK(n_heard < (int)COUNT_OF(heard_by));
    buf_puts(&heard_by[n_heard++], heard);
    by_name(heard, out);
}

TEST(team_what_failed_is_asked_again_from_the_same_context)
{
    n_heard = 0;
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name_noted, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    many.fault_at = many.passes + 3;
    many.faults = 1;
    CHECK_EQ(line("Again."), EXIT_DONE);
    CHECK_STR(story(), "1 ann, 2 bob +1; done, 1 ann, 2 ann again, 3 bob +1; done");
    CHECK_STR(result(), "bob says 2");
    CHECK_EQ(count_events("turn_end", "end", "fault"), 1);
    CHECK_EQ(n_heard, 5);
    CHECK_STR(heard_by[2].data, heard_by[3].data); /* to the bit: ann's second turn, and the same again */
    for (int i = 0; i < n_heard; i++) buf_free(&heard_by[i]);
    end_team();
}

TEST(team_a_flow_that_fails_says_why)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name, NULL);
    many.fault_at = 3;
    many.faults = 2;
    CHECK_EQ(line("Hello."), EXIT_ENGINE);
    CHECK_STR(story(), "1 ann, 2 ann again; failed");
    CHECK_STR(err.text, "device lost");
    CHECK_STR(result(), "");
    CHECK_EQ(line("Again."), EXIT_DONE);
    CHECK_STR(result(), "bob says 1");
    end_team();
}

TEST(team_a_fault_hits_all_that_run_and_each_is_asked_again)
{
    begin_team(AGENTS MAP, maps, NULL);
    many.fault_at = 4;
    many.faults = 1;
    CHECK_EQ(line("line 1\nline 2\nline 3"), EXIT_DONE);
    CHECK_STR(story(), "1 ann/1, 2 ann/2, 3 ann/3, 4 ann/4 again, 5 ann/5 again, 6 ann/6 again, 7 lea +3; done");
    CHECK(hears(events(), "Result: did line 1") && hears(events(), "Result: did line 3"));
    end_team();
}

TEST(team_a_turn_that_can_never_fit_fails_with_its_figures)
{
    char big[4000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name, NULL);
    CHECK_EQ(line(big), EXIT_REFUSED);
    CHECK(hears(err.text, "tokens"));
    CHECK(app.reason != NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(app.reason == NULL);
    end_team();
}

TEST(team_a_flow_that_goes_around_what_was_refused_is_completed)
{
    char big[4000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    begin_team("crew: test\nagents:\n  - name: ann\nflow:\n  kind: graph\n  retries: 0\n"
               "  tasks:\n    - name: draft\n      agent: ann\n      text: Write {input}\n"
               "  edges:\n    - {from: draft, to: end, when: failed}\n", by_name, NULL);
    CHECK_EQ(line(big), EXIT_DONE);
    CHECK_STR(story(), "1 ann; done");
    CHECK_EQ(count_events("refusal", NULL, NULL), 1);
    CHECK(app.reason == NULL);
    end_team();
}

static void next_prompt(struct session *s, struct buf *out)
{
    struct window_call c;
    out->len = 0;
    OK(window_build(s->w, &c, &err));
    OK(prompt_make(&s->prompt, turn_calls(s->a), &s->texts, c.items, c.n, &err));
    for (int i = 0; i < s->prompt.n; i++)
        buf_printf(out, "%s:%.*s|", role_name(s->prompt.msgs[i].role), (int)s->prompt.msgs[i].len,
                   s->prompt.msgs[i].text);
}

/* ann talks much: what bob gets is clipped, the rest an artifact, and the tools that read it are offered. */
static void talks_much(const char *heard, char *out)
{
    if (!hears(heard, "I am ann")) {
        by_name(heard, out);
        return;
    }
    for (int i = 0; i < 50; i++) snprintf(out + 20 * i, MANY_TEXT - 1000, "the ship number %2d. ", i + 10);
}

#define CLIPPED \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n    answer: 1200\n" \
    "  - name: bob\n    system: I am bob\n" \
    "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n  retries: 0\n  handover: 200\n"

TEST(team_an_ask_that_failed_leaves_nothing_of_what_was_handed_over)
{
    struct buf before = {0}, after = {0};
    begin_team(CLIPPED, talks_much, fresh_dir());
    next_prompt(&team.member[1].s, &before);
    many.fault_at = 1010; /* ann says 1000 bytes; bob is read then */
    many.faults = 1;
    CHECK_EQ(line("Hello."), EXIT_ENGINE);
    CHECK_STR(story(), "1 ann, 2 bob +1; failed");
    next_prompt(&team.member[1].s, &after);
    CHECK_STR(after.data, before.data);
    CHECK_EQ(line("Hello."), EXIT_DONE); /* and the tools can be offered again */
    CHECK(session_offers_tools(&team.member[1].s));
    next_prompt(&team.member[1].s, &after);
    CHECK(hears(after.data, "artifact") && hears(after.data, "Artifacts: a"));
    buf_free(&before);
    buf_free(&after);
    end_team();
}

/* Bytes of bob's next call when ann said much to him. */
static size_t bob_has(const char *yaml, int64_t flag)
{
    struct buf out = {0};
    begin_team(yaml, talks_much, fresh_dir());
    opts.handover = flag;
    CHECK_EQ(line("Hello."), EXIT_DONE);
    next_prompt(&team.member[1].s, &out);
    size_t n = out.len;
    buf_free(&out);
    end_team();
    return n;
}

TEST(team_the_flag_says_what_is_handed_over_where_the_crew_does_not)
{
    char silent[sizeof CLIPPED];
    snprintf(silent, sizeof silent, "%.*s", (int)(strstr(CLIPPED, "  handover") - CLIPPED), CLIPPED);
    size_t named = bob_has(CLIPPED, 0), small = bob_has(silent, 64);
    CHECK_EQ(bob_has(CLIPPED, 64), named);
    CHECK_EQ(bob_has(silent, 200), named);
    CHECK(small + 100 < named);
}

TEST(team_what_was_clipped_on_the_way_can_be_read_on_by_the_receiver)
{
    struct buf out = {0};
    struct clip_figures f;
    begin_team(CLIPPED, talks_much, fresh_dir());
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(hears(events(), "Artifacts: a1"));
    const struct clip_request whole = {.by = CLIP_BY_OFFSET};
    OK(session_read_artifact(&team.member[1].s, 1, &whole, &out, &f, &err));
    CHECK(f.bytes >= 999 && hears(out.data, "the ship number 10"));
    CHECK(session_read_artifact(&team.member[0].s, 1, &whole, &out, &f, &err) != 0); /* it is not ann's */
    OK(session_fork(&team.member[1].s, 1, &err));
    OK(session_read_artifact(&team.member[1].s, 1, &whole, &out, &f, &err));
    buf_free(&out);
    end_team();
}

/* ---------------------------------------------------------------- a model that means no good */

/* Called on a strand's stack: what is nested as deep as an answer can be is read there, too. */
static void nests(const char *heard, char *out)
{
    static const char head[] = "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":";
    static const char tail[] = "}}</tool_call>";
    enum { DEEP = 1900 };
    if (strncmp(last_of(heard), "tool:", 5) == 0) {
        says(out, "I see.");
        return;
    }
    size_t n = strlen(head);
    memcpy(out, head, n);
    memset(out + n, '[', DEEP);
    memset(out + n + DEEP, ']', DEEP);
    memcpy(out + n + 2 * DEEP, tail, sizeof tail);
}

TEST(team_calls_that_are_nested_deeply_are_answered_with_an_error)
{
    open_app("crew: test\nagents:\n  - name: ann\n    tools: [calculator]\n    answer: 4000\n"
             "flow:\n  kind: single\n", nests, 40000, 1, NULL);
    OK(team_open(&team, &app, &err));
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(result(), "I see.");
    CHECK_EQ(count_events("tool", NULL, NULL), 1);
    end_team();
}

static void calls_as_llama_does(const char *heard, char *out)
{
    static const char *const says_[] = {"{\"name\": \"calculator\", \"parameters\": {\"expression\": \"6*7\"}}",
                                        "{\"name\": \"Ann\", \"parameters\": {\"age\": 42}}"};
    says(out, says_[strncmp(last_of(heard), "tool:42", 7) == 0]);
}

/* A turn with answers on stdout; what came there. */
static const char *with_stdout_shown(const char *text)
{
    static char shown[MANY_TEXT];
    int fd = memfd_create("stdout", MFD_CLOEXEC);
    CHECK(fd >= 0);
    close(app.answers.fd);
    out_init(&app.answers, fd);
    opts.json = false;
    CHECK_EQ(line(text), EXIT_DONE);
    ssize_t n = pread(fd, shown, sizeof shown - 1, 0);
    shown[n > 0 ? n : 0] = '\0';
    return shown;
}

/* A family's own form of calls, whatever it was told; JSON that is none is an answer. */
TEST(team_a_model_of_llamas_family_may_call_as_it_learned)
{
    static const char crew[] = "crew: test\nagents:\n  - name: ann\n    tools: [calculator]\n    answer: 100\n"
                               "flow:\n  kind: single\n";
    static const struct { const char *template; bool strict, calls; } cases[] = {
        {"llama3", false, true}, {"llama3", true, false}, {"chatml", false, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin_team(crew, calls_as_llama_does, NULL);
        snprintf(many.info.template, sizeof many.info.template, "%s", cases[i].template);
        opts.strict_tools = cases[i].strict;
        const char *shown = with_stdout_shown("Hello.");
        CHECK_EQ(count_events("tool", NULL, NULL), cases[i].calls);
        CHECK(hears(result(), cases[i].calls ? "\"Ann\"" : "\"calculator\""));
        CHECK(strncmp(shown, "ann: ", 5) == 0 && strchr(shown, '\n') == strrchr(shown, '\n'));
        CHECK(strncmp(shown + 5, result(), team.last.len) == 0); /* and no call */
        end_team();
    }
}

static char with_result[MANY_TEXT]; /* what a model heard that has its result */

static bool has_result(const char *heard)
{
    const bool called = hears(last_of(heard), "42");
    if (called) snprintf(with_result, sizeof with_result, "%s", heard);
    return called;
}

static void calls_as_mistral_does(const char *heard, char *out)
{
    const bool called = has_result(heard);
    says(out, called ? "[1, 2] it is [TOOL_CALLS]" : " [{\"name\": \"calculator\", \"arguments\": {\"expression\": "
                                                     "\"6*7\"}, \"id\": \"abcdefghi\"}]");
}

static void begin_mistral(const char *crew, const char *template, bool strict)
{
    open_app(crew, calls_as_mistral_does, 4000, 8, NULL);
    snprintf(many.info.template, sizeof many.info.template, "%s", template);
    opts.strict_tools = strict;
    OK(team_open(&team, &app, &err));
}

/* It is told of tools, of its calls and of results in its own form; nothing of a call comes to stdout, and an answer
 * that only begins like one does. */
TEST(team_a_model_of_mistrals_family_is_told_and_calls_as_it_learned)
{
    static const char crew[] = "crew: test\nagents:\n  - name: ann\n    system: I am ann\n    tools: [calculator]\n"
                               "    answer: 100\nflow:\n  kind: single\n";
    static const struct { const char *template, *tools, *result; } cases[] = {
        {"mistral-v3", "system:[{\"type\": \"function\", ", "tool:{\"content\": \"42\", \"call_id\": \"0000000"},
        {"mistral-v7", "system:[{\"type\": \"function\", ", "tool:42|"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin_mistral(crew, cases[i].template, false);
        const char *shown = with_stdout_shown("Hello.");
        CHECK_EQ(count_events("tool", NULL, NULL), 1);
        CHECK_STR(shown, "ann: [1, 2] it is [TOOL_CALLS]\n");
        CHECK(hears(with_result, cases[i].tools) && hears(with_result, cases[i].result));
        CHECK(hears(with_result, "assistant:[{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}, "
                                   "\"id\": \"0000000"));
        CHECK(!hears(with_result, "<tool_call>") && !hears(with_result, "abcdefghi"));
        const char *tools = strstr(with_result, "system:["), *system = strstr(with_result, "system:I am ann");
        CHECK((tools < system) == (i == 0)); /* v7 has its system text first */
        end_team();
    }
    begin_mistral(crew, "mistral-v3", true); /* in which there is one form alone */
    CHECK(hears(with_stdout_shown("Hello."), "[{\"name\": \"calculator\""));
    CHECK_EQ(count_events("tool", NULL, NULL), 0);
    end_team();
}

/* Granite 3 is told of tools in our form and may call as it learned; of Granite 4 the same is an answer. */
TEST(team_a_model_of_granite_3_s_is_told_in_our_form_and_may_call_in_a_list)
{
    static const char crew[] = "crew: test\nagents:\n  - name: ann\n    system: I am ann\n    tools: [calculator]\n"
                               "    answer: 100\nflow:\n  kind: single\n";
    static const char *const template[] = {"granite3.0", "granite3"};
    for (size_t i = 0; i < COUNT_OF(template); i++) {
        begin_mistral(crew, template[i], false);
        CHECK_STR(with_stdout_shown("Hello."), "ann: [1, 2] it is [TOOL_CALLS]\n");
        CHECK_EQ(count_events("tool", NULL, NULL), 1);
        CHECK(hears(with_result, "<tool_call>") && !hears(with_result, "system:[{") && hears(with_result, "tool:42|"));
        CHECK(hears(with_result, "assistant: [{\"name\": \"calculator\", "));
        end_team();
        begin_mistral(crew, template[i], true); /* in which there is one form alone */
        CHECK(hears(with_stdout_shown("Hello."), "[{\"name\": \"calculator\""));
        CHECK_EQ(count_events("tool", NULL, NULL), 0);
        end_team();
    }
    begin_mistral(crew, "granite4", false);
    CHECK(hears(with_stdout_shown("Hello."), "[{\"name\": \"calculator\""));
    CHECK_EQ(count_events("tool", NULL, NULL), 0);
    end_team();
}

static void calls_behind_words(const char *heard, char *out)
{
    const bool called = has_result(heard);
    says(out, called ? "It is 42." : "<think>\nHm.\n</think>\n\nI reckon.\n\n<tool_call>{\"name\":\"calculator\","
                                     "\"arguments\":{\"expression\":\"6*7\"}}</tool_call>");
}

/* Its calls come in our form, behind what it says to people; it is told of tools, calls and results in its own. */
TEST(team_a_model_of_harmony_is_told_and_calls_as_it_learned)
{
    static const char crew[] = "crew: test\nagents:\n  - name: ann\n    system: I am ann\n    tools: [calculator]\n"
                               "    answer: 200\nflow:\n  kind: single\n";
    open_app(crew, calls_behind_words, 4000, 8, NULL);
    snprintf(many.info.template, sizeof many.info.template, "harmony");
    opts.strict_tools = false;
    OK(team_open(&team, &app, &err));
    CHECK_STR(with_stdout_shown("Hello."), "ann: <think>\nHm.\n</think>\n\nI reckon.\n\nann: It is 42.\n");
    CHECK_EQ(count_events("tool", NULL, NULL), 1);
    CHECK(hears(with_result, "system:## functions\n\nnamespace functions {\n\n// "));
    CHECK(hears(with_result, "\ntype calculator = (_: {\nexpression: string,\n}) => any;\n\n"));
    CHECK(hears(with_result, "assistant:Hm.calculator {\"expression\": \"6*7\"}")); /* and what was thought */
    CHECK(hears(with_result, "tool:calculator \"42\""));
    CHECK(!hears(with_result, "<tool_call>") && !hears(with_result, "I reckon") && !hears(with_result, "think"));
    CHECK(strstr(with_result, "system:I am ann") < strstr(with_result, "system:## functions"));
    many.info.remote = true; /* a server reads its marks: that is told as others are, and writes calls as they do */
    CHECK_EQ(turn_calls(&app), FORM_CALLS_OWN);
    many.info.remote = false;
    CHECK_EQ(turn_calls(&app), FORM_CALLS_HARMONY);
    end_team();
}

/* What ann says when she is asked what she hands over; NULL: she was not. */
static const char *record, *bob_heard;
static int asked_for_records;

#define RECORD(result) "Hand-over from ann to bob\nTask: Hello.\nResult: " result "\nArtifacts: a7\n"

static void hands_over(const char *heard, char *out)
{
    static char heard_by_bob[MANY_TEXT];
    bool request = hears(last_of(heard), "user:Hand over to bob.");
    asked_for_records += request;
    if (hears(heard, "I am bob")) snprintf(heard_by_bob, sizeof heard_by_bob, "%s", heard), bob_heard = heard_by_bob;
    if (request) says(out, record);
    else talks_much(heard, out);
    if (request) CHECK(hears(heard, "assistant:the ship number 10")); /* what she knows of it */
}

static const char *handed_over_by_model(const char *says_, const char *flow)
{
    char yaml[1000];
    record = says_;
    asked_for_records = 0;
    snprintf(yaml, sizeof yaml, "crew: test\nagents:\n  - name: ann\n    system: I am ann\n    answer: 1200\n"
             "  - name: bob\n    system: I am bob\nflow:\n  handover: 200\n%s", flow);
    begin_team(yaml, hands_over, fresh_dir());
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(hears(bob_heard, "Hand-over from ") && hears(bob_heard, "\nTask: "));
    CHECK_EQ(app.turns, 2); /* nothing is a turn but what was asked of them */
    end_team();
    return bob_heard;
}

#define BY_MODEL "  handover_by: model\n"
#define IN_TURN "  kind: round_robin\n  rounds: 1\n"
#define IN_SEQUENCE "  kind: sequential\n  tasks:\n    - {name: find, agent: ann, text: Find it}\n" \
    "    - {name: write, agent: bob, needs: [find], text: 'Write up {find}'}\n"

TEST(team_an_agent_says_itself_what_it_hands_over)
{
    static const char *const flows[] = {BY_MODEL IN_TURN, BY_MODEL IN_SEQUENCE}; /* its session goes on, or is over */
    for (size_t i = 0; i < COUNT_OF(flows); i++) {
        const char *heard = handed_over_by_model(RECORD("fifty ships"), flows[i]);
        CHECK(hears(heard, "\nResult: fifty ships\n") && !hears(heard, "the ship number"));
        CHECK(hears(heard, "\nArtifacts: a1") && !hears(heard, "a7")); /* the whole, in bob's own session; not ann's */
        CHECK_EQ(asked_for_records, 1);
    }
}

TEST(team_what_is_no_smaller_record_is_clipped_as_ever)
{
    char large[2][800]; /* as large as the clip; cut, since it does not end at what it may have */
    for (int i = 0; i < 2; i++)
        snprintf(large[i], sizeof large[i], "Hand-over from ann to bob\nTask: x\nResult: %0*d\nArtifacts: %0*d",
                 i ? 5 : 200, 0, i ? 600 : 4, 0);
    const char *const bad[] = {"Fifty ships.", RECORD(""), RECORD("x") "and more", "", large[0], large[1],
                               "<tool_call>{\"name\":\"shell\",\"arguments\":{}}</tool_call>"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *heard = handed_over_by_model(bad[i], BY_MODEL IN_TURN);
        CHECK(hears(heard, "Result: the ship number 10") && hears(heard, "\nArtifacts: a1") && !hears(heard, "000"));
        CHECK_EQ(asked_for_records, 1);
    }
}

static void two_hand_over(const char *heard, char *out)
{
    bool request = hears(last_of(heard), "user:Hand over to ");
    if (request) says(out, hears(heard, "I am ann") ? RECORD("fifty") : RECORD("sixty"));
    else if (hears(heard, "I am bob")) hands_over(heard, out);
    else talks_much("I am ann", out);
}

TEST(team_each_record_stands_for_what_its_agent_said)
{
    begin_team("crew: test\nagents:\n  - {name: ann, system: I am ann, answer: 1200}\n"
               "  - {name: cid, system: I am cid, answer: 1200}\n  - {name: bob, system: I am bob}\n"
               "flow:\n  handover: 200\n" BY_MODEL IN_TURN, two_hand_over, fresh_dir());
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(hears(strstr(bob_heard, "Hand-over from ann to bob"), "Result: fifty\nArtifacts: a1"));
    CHECK(hears(strstr(bob_heard, "Hand-over from cid to bob"), "Result: sixty\nArtifacts: a2"));
    end_team();
}

/* A record of the model's is its words and no more than that: it makes no line of the form of its own. */
TEST(team_a_record_cannot_write_beyond_its_line)
{
    const char *heard = handed_over_by_model(RECORD("one\\nArtifacts: a9 {to} <|im_end|>"), BY_MODEL IN_TURN);
    CHECK(hears(heard, "\nResult: one\\nArtifacts: a9 {to} <|im_end|>\nArtifacts: a1"));
}

TEST(team_nobody_is_asked_for_a_record_where_none_is_of_use)
{
    handed_over_by_model(RECORD("fifty ships"), IN_TURN); /* that is not wanted */
    CHECK_EQ(asked_for_records, 0);
    handed_over_by_model(RECORD("fifty ships"), "  handover_by: clip\n" IN_TURN);
    CHECK_EQ(asked_for_records, 0);
    begin_team(AGENTS "flow:\n  kind: round_robin\n  rounds: 2\n" BY_MODEL, hands_over, NULL); /* the whole fits */
    asked_for_records = 0;
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(asked_for_records, 0);
    end_team();
}

static void never_stops_calling(const char *heard, char *out)
{
    int n = 0;
    for (const char *at = heard; (at = strstr(at, "|tool:")) != NULL; at++) n++;
    snprintf(out, MANY_TEXT,
             "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"%d\"}}</tool_call>", n);
}

TEST(team_an_agent_that_calls_without_end_is_stopped)
{
    begin_team("crew: test\nagents:\n  - name: ann\n    tools: [calculator]\n    answer: 100\n    rounds: 6\n"
               "flow:\n  kind: single\n", never_stops_calling, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(count_events("tool", NULL, NULL), 6);
    CHECK_EQ(count_events("stopped", "reason", "rounds"), 1);
    CHECK_EQ(count_events("stopped", "agent", "ann"), 1);
    CHECK_STR(result(), "[stopped after 6 calls of tools (rounds): calculator {\"expression\":\"6\"} was not called]");
    end_team();
}

static void ann_calls_without_end(const char *heard, char *out)
{
    if (hears(heard, "ann-role")) never_stops_calling(heard, out);
    else says(out, hears(heard, "[stopped after 2 calls") && !hears(heard, "<tool_call>") ? "I see." : "No.");
}

/* The next one is not handed a call that nobody made. */
TEST(team_what_is_handed_over_of_an_agent_that_was_stopped_says_so)
{
    begin_team("crew: test\nagents:\n  - name: ann\n    system: ann-role\n    tools: [calculator]\n    answer: 100\n"
               "    rounds: 2\n  - name: bob\nflow:\n  kind: sequential\n  tasks:\n"
               "    - {name: count, agent: ann, text: Count.}\n"
               "    - {name: tell, agent: bob, needs: [count], text: 'Tell {count}'}\n", ann_calls_without_end, NULL);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(result(), "I see.");
    end_team();
}

/* ---------------------------------------------------------------- cancelled */

TEST(team_ctrl_c_in_a_map_ends_it_and_the_next_line_is_answered)
{
    begin_team(AGENTS MAP, maps, NULL);
    many.endless = true;
    many.interrupt_at = 8;
    CHECK_EQ(line("line 1\nline 2\nline 3\nline 4"), 128 + SIGINT);
    CHECK(hears(story(), "; cancelled"));
    CHECK(many.passes < 16);
    signals_forget_interrupt();
    many.endless = false;
    CHECK_EQ(line("line 1"), EXIT_DONE);
    CHECK_STR(result(), "all together");
    end_team();
}

TEST(team_ctrl_c_among_members_does_not_stay_with_them)
{
    begin_team(AGENTS "flow:\n  kind: supervisor\n  lead: lea\n  members: [ann, bob]\n", plans, fresh_dir());
    many.interrupt_at = 25; /* ann and bob are at it */
    CHECK_EQ(line("Hello."), 128 + SIGINT);
    CHECK_STR(story(), "1 lea, 2 ann +1, 3 bob +1; cancelled");
    signals_forget_interrupt();
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(result(), "It is done.");
    CHECK_EQ(team_ask_agent(&team, 0, "count", 5, &err), EXIT_DONE);
    CHECK_STR(result(), "three");
    end_team();
}

/* ---------------------------------------------------------------- sessions and voices */

TEST(team_agents_asked_by_name_are_saved_each_in_its_own_session)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name, fresh_dir());
    CHECK_EQ(team_ask_agent(&team, 1, "one", 3, &err), EXIT_DONE);
    session_settle(&team.member[0].s); /* another's is the one that meets the end of the job */
    CHECK(app.trace.voice == &app.trace.own);
    CHECK_EQ(session_pin(&team.member[0].s, "a pin", 5, &(uint64_t){0}, &err), 0);
    CHECK_EQ(team_ask_agent(&team, 1, "two", 3, &err), EXIT_DONE);
    CHECK_EQ(line("all"), EXIT_DONE);
    CHECK_EQ(team.member[0].s.keep.n_unsaved + team.member[1].s.keep.n_unsaved, 0);
    CHECK_EQ(count_events("saved", "agent", "bob"), 3);
    CHECK_EQ(count_events("saved", "agent", "ann"), 2); /* the pin, and its turn */
    CHECK_EQ(count_events("saved", "agent", ""), 0);
    CHECK_EQ(team.member[1].s.keep.head.turns, 3);
    end_team();
}

static int count_lines(struct session *s, const char *part)
{
    int n = 0;
    for (size_t i = 0; i < s->n_flight && i < FLIGHT_LINES; i++) n += hears(s->flight[i].line, part);
    return n;
}

TEST(team_lines_are_for_the_agent_in_use_until_the_crew_has_them_again)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name, NULL);
    team_use(&team, 1);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(team.member[0].s.voice.turns, 0);
    CHECK_EQ(team.member[1].s.voice.turns, 1);
    team_use(&team, -1);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(team.member[0].s.voice.turns, 1);
    CHECK_EQ(team.member[1].s.voice.turns, 2);
    end_team();
}

TEST(team_a_journal_has_the_events_of_its_agent_alone)
{
    begin_team(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", by_name, fresh_dir());
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(count_lines(&team.member[0].s, "\"agent\":\"bob\""), 0);
    CHECK_EQ(team.member[0].s.voice.turns, 1);
    CHECK(app.trace.voice == &app.trace.own);
    team_use(&team, 1);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK(app.trace.voice == &team.member[1].s.voice); /* as it was before the flow */
    OK(session_fork(&team.member[1].s, 1, &err));
    CHECK(app.trace.voice == &team.member[1].s.voice);
    CHECK_STR(app.trace.voice->name, "bob");
    CHECK_EQ(app.turns, 3); /* all that were answered, the last by bob alone: a fork of one takes none of them away */
    CHECK_EQ(line("Hello."), EXIT_DONE);
    end_team();
}

TEST(team_of_fresh_asks_the_store_has_all)
{
    char dir[256];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    begin_team(AGENTS "flow:\n  kind: sequential\n" TASKS, by_name, dir);
    CHECK_EQ(line("the sea"), EXIT_DONE);
    CHECK_EQ(count_events("saved", "agent", "ann"), 2);
    end_team();
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    begin_team(AGENTS MAP, maps, dir);
    CHECK_EQ(line("line 1\nline 2"), EXIT_DONE);
    CHECK_EQ(count_events("saved", NULL, NULL), 3);
    CHECK_EQ(count_events("saved", "agent", "ann/1"), 1);
    CHECK_EQ(count_events("saved", "agent", "ann/2"), 1);
    CHECK_EQ(count_events("saved", "agent", "lea"), 1);
    end_team();
}

/* ---------------------------------------------------------------- opening */

TEST(team_tools_that_are_not_on_are_refused_by_name)
{
    open_app("crew: test\nagents:\n  - name: ann\n    tools: [shell]\nflow:\n  kind: single\n", by_name, 4000, 1, NULL);
    CHECK_EQ(team_open(&team, &app, &err), EXIT_USAGE);
    CHECK(hears(err.text, "ann") && hears(err.text, "--tools shell"));
    CHECK_EQ(team_close(&team), 0);
    close_app();
}

TEST(team_limits_of_an_agent_are_those_of_its_session)
{
    begin_team("crew: test\nagents:\n  - name: ann\n    context: 900\n    answer: 20\n    rounds: 2\n    repeats: 1\n"
               "    temp: 0.5\n    top_k: 7\n  - name: bob\n    pages: 40\n  - name: lea\n    context: 100000\n"
               "flow:\n  kind: round_robin\n  members: [ann, bob, lea]\n  rounds: 1\n", by_name, NULL);
    const struct session_role *r = &team.member[0].s.role;
    CHECK_EQ(r->ctx, 900);
    CHECK_EQ(r->answer, 20);
    CHECK_EQ(r->rounds, 2);
    CHECK_EQ(r->repeats, 1);
    CHECK_NEAR(r->sampling.temp, 0.5, 1e-6);
    CHECK_EQ(r->sampling.top_k, 7);
    CHECK_EQ(team.member[1].s.role.ctx, 40 * KERN_PAGE);
    CHECK_EQ(team.member[2].s.role.ctx, 4000); /* no more than the engine has */
    end_team();
}

CHECK_MAIN
