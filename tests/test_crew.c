/* test_crew.c - crew files: what is read, and what is refused and where. */
#include "tests/crew_words.h"

/* ------------------------------------------------------------------ what is read */

TEST(a_crew_is_read_with_all_that_it_says)
{
    struct crew c;
    CHECK_EQ(read_crew(whole, strlen(whole), &c), 0);
    CHECK_STR(c.name, "pair-2");
    CHECK_STR(c.about, "two who write: and check");
    CHECK_EQ(c.flow, FLOW_GRAPH);
    CHECK_EQ(c.steps * 10 + c.retries, 90);
    CHECK_EQ(c.handover, 300);
    CHECK_EQ(c.n_members, 0);
    CHECK_EQ(c.lead, -1);
    CHECK_EQ(c.n_edges, 4);
    CHECK(c.edge[0].from == 1 && c.edge[0].to == -1 && c.edge[0].when == WHEN_ACCEPT && !c.edge[0].text);
    CHECK(c.edge[1].from == 1 && c.edge[1].to == 0 && c.edge[1].when == WHEN_CONTAINS);
    CHECK_STR(c.edge[1].text, "no, {input}");
    CHECK(c.edge[2].from == 0 && c.edge[2].to == 1 && c.edge[2].when == WHEN_ALWAYS);
    CHECK_EQ(c.n_tasks, 2);
    CHECK_STR(c.task[0].name, "draft");
    CHECK_STR(c.task[0].text, "{input}\n  {check}{draft} { input} {} {\"a\"");
    CHECK(c.task[0].agent == 0 && c.task[0].n_needs == 2 && c.task[0].needs[0] == 1 && c.task[0].needs[1] == 0);
    CHECK_STR(c.task[1].text, "Is this good? \303\244");
    CHECK(c.task[1].agent == 1 && c.task[1].n_needs == 0);
    crew_free(&c);
    CHECK(!c.name && !c.agent && c.n_tasks == 0);
    crew_free(&c);
}

TEST(an_agent_is_read_with_all_that_it_says)
{
    struct crew c;
    CHECK_EQ(read_crew(whole, strlen(whole), &c), 0);
    CHECK_EQ(c.n_agents, 2);
    const struct crew_agent *a = &c.agent[0], *b = &c.agent[1];
    CHECK_STR(a->name, "writer");
    CHECK_STR(a->role, "writer");
    CHECK_STR(a->system, "Write well.");
    CHECK_EQ(a->n_tools, 2);
    CHECK_STR(a->tools[0], "read");
    CHECK_STR(a->tools[1], "search");
    CHECK(a->context == 1024 && a->answer == 96 && a->rounds == 3 && a->repeats == 2 && a->pages == 40);
    CHECK(a->has_temp && a->has_top_k && a->has_top_p && a->has_min_p);
    CHECK(a->temp == 0.7 && a->top_k == 0 && a->top_p == 0.95 && a->min_p == 0);
    CHECK_STR(b->name, "critic");
    CHECK(!b->role && !b->system && b->n_tools == 0 && b->context == 0 && b->pages == 0);
    CHECK(!b->has_temp && !b->has_top_k && !b->has_top_p && !b->has_min_p);
    CHECK_EQ(crew_find(&c, "critic and", 6), 1);
    CHECK_EQ(crew_find(&c, "criti", 5), -1);
    CHECK_EQ(crew_find(&c, "", 0), -1);
    crew_free(&c);
}

TEST(what_is_not_said_is_filled_in)
{
    static const struct { const char *flow; int lead, n, first, last, rounds; } cases[] = {
        {"{kind: single}", -1, 1, 0, 0, 0},
        {"{kind: single, members: [c]}", -1, 1, 2, 2, 0},
        {"{kind: round_robin}", -1, 3, 0, 2, 0},
        {"{kind: round_robin, members: [c, a], rounds: 4, stop: DONE, stop_on_accept: true}", -1, 2, 2, 0, 4},
        {"{kind: selector}", -1, 3, 0, 2, 0},
        {"{kind: selector, lead: a}", 0, 2, 1, 2, 0},
        {"{kind: supervisor, lead: c, parallel: 7, reduce: Sum up.}", 2, 2, 0, 1, 0},
        {"{kind: map}", -1, 1, 0, 0, 0},
        {"{kind: map, lead: a}", 0, 1, 1, 1, 0},
        {"{kind: map, lead: a, members: [a], split: paragraphs}", 0, 1, 0, 0, 0},
        {"{kind: debate, lead: b, prompt: \"On {input}: {input}\"}", 1, 2, 0, 2, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[400];
        struct crew c;
        snprintf(text, sizeof text, "crew: x\n" THREE "flow: %s\n", cases[i].flow);
        if (read_crew(text, strlen(text), &c)) check_fail(__FILE__, __LINE__, "%s: %s", cases[i].flow, err.text);
        CHECK_EQ(c.lead, cases[i].lead);
        CHECK_EQ(c.n_members, cases[i].n);
        CHECK_EQ(c.members[0], cases[i].first);
        CHECK_EQ(c.members[c.n_members - 1], cases[i].last);
        CHECK_EQ(c.rounds, cases[i].rounds);
        CHECK_EQ(c.steps, 64);
        CHECK_EQ(c.retries, 1);
        CHECK(c.flow != FLOW_ROUND_ROBIN || cases[i].n == 3 || (strcmp(c.stop, "DONE") == 0 && c.stop_on_accept));
        CHECK(c.split == (strstr(cases[i].flow, "paragraphs") ? SPLIT_PARAGRAPHS : SPLIT_LINES));
        crew_free(&c);
    }
}

TEST(a_crew_of_one_may_map_and_reduce_by_itself)
{
    static const char text[] = "crew: x\nagents: [{name: a}]\nflow: {kind: map, lead: a}\n";
    struct crew c;
    CHECK_EQ(read_crew(text, strlen(text), &c), 0);
    CHECK(c.lead == 0 && c.n_members == 1 && c.members[0] == 0);
    crew_free(&c);
}

TEST(other_ends_of_lines_and_a_byte_order_mark_change_nothing)
{
    static const char text[] = "\357\273\277crew: x\r\nagents:\r\n  - name: a\r\n    system: |\r\n      One\r\n"
                               "      two\r\nflow:\r\n  kind: single\r\n";
    struct crew c;
    CHECK_EQ(read_crew(text, strlen(text), &c), 0);
    CHECK_STR(c.name, "x");
    CHECK_STR(c.agent[0].system, "One\ntwo");
    crew_free(&c);
}

/* ------------------------------------------------------------------ what is refused */

struct refused { const char *text, *says; };

/* Each begins with its place. */
static void check_refused(const struct refused *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct crew c;
        size_t place = strcspn(r[i].says, " ");
        int rc = read_crew(r[i].text, strlen(r[i].text), &c);
        bool good = rc == -1 && strncmp(err.text, "t.yaml:", 7) == 0 && strncmp(err.text + 7, r[i].says, place) == 0 &&
                    strstr(err.text, r[i].says + place + 1);
        if (!good) check_fail(__FILE__, __LINE__, "%s\n%s\nis not %s", r[i].text, rc ? err.text : "taken", r[i].says);
        CHECK(!c.agent && !c.name && c.n_tasks == 0);
        crew_free(&c);
    }
}

#define FLOW(keys) "crew: x\n" THREE "flow: {" keys "}\n"
#define AGENT(keys) "crew: x\nagents:\n  - {name: a, " keys "}\nflow: {kind: single}\n"

TEST(what_is_no_yaml_of_ours_is_refused_where_it_is)
{
    static const struct refused cases[] = {
        {"", "1:1: nothing in it"},
        {"# a comment\n", "2:1: nothing in it"},
        {"crew: x\n  agents: y\n", "2:9: no YAML: mapping values are not allowed"},
        {"crew: x\n\tagents: y\n", "2:1: no YAML: while scanning a plain scalar, found a tab character"},
        {"crew: [x\n", "2:1: no YAML: while parsing a flow sequence"},
        {"crew: \"x\n", "2:1: no YAML: while scanning a quoted scalar"},
        {"crew: \"\\q\"\n", "1:8: no YAML: while parsing a quoted scalar"},
        {"crew: &a x\n", "1:7: anchors (&) are not taken"},
        {"crew: x\nagents: &a [{name: a}]\n", "2:9: anchors (&)"},
        {"crew: x\nflow: &a {kind: single}\n", "2:7: anchors (&)"},
        {"crew: *a\n", "1:7: aliases (*) are not taken"},
        {"crew: !!str x\n", "1:7: tags (!) are not taken"},
        {"crew: ! x\n", "1:7: tags (!)"},
        {"crew: x\nagents: !l [{name: a}]\n", "2:9: tags (!)"},
        {"crew: x\nagents: !!seq [{name: a}]\n", "2:9: tags (!)"},
        {"crew: x\nflow: !!map {kind: single}\n", "2:7: tags (!)"},
        {"crew: x\nflow: {<<: {kind: single}}\n", "2:8: merges (<<)"},
        {"%YAML 1.2\n---\ncrew: x\n", "1:1: directives (%) are not taken"},
        {"# \303\244\r%TAG ! b\n", "2:1: directives (%)"},
        {"#\302\205#\342\200\250%TAG ! b\n", "3:1: directives (%)"},
        {"crew: x\n---\ncrew: y\n", "2:1: a second document"},
        {"crew: x\n...\n# end\n---\n", "4:1: a second document"},
        {"crew: x\ncrew: y\n", "2:1: the key \"crew\" is there twice: line 1"},
        {"crew: x\nagents: [{name: a, tools: [read], name: b}]\n", "2:35: the key \"name\" is there twice: line 2"},
        {"crew: x\n? [a]\n: b\n", "2:3: a key must be a word"},
        {"crew: \"a\\0b\"\n", "1:7: a control character"},
        {"crew: \"a\\e[2J\"\n", "1:7: a control character"},
        {"crew: \"a\\x7f\"\n", "1:7: a control character"},
        {"crew: \"a\\x9b\"\n", "1:7: a control character"},
        {"crew: \"a\\N\"\n", "1:7: a control character"},
        {"\"cr\\re\": x\n", "1:1: a control character"},
        {"cr\001w: x\n", "1:3: no YAML in UTF-8: control characters are not allowed"},
        {"crew: x\n# \303\244\303\244\xff\n", "2:5: no YAML in UTF-8: invalid leading UTF-8 octet"},
        {"crew: x\r\n# \300\200\n", "2:3: no YAML in UTF-8"},
        {"crew: \355\240\200\n", "1:7: no YAML in UTF-8"},
        {"- [[[[[[a]]]]]]\n", "1:8: more than 6 deep"},
    };
    check_refused(cases, COUNT_OF(cases));
}

TEST(keys_that_do_not_belong_or_lack_are_named)
{
    static const struct refused cases[] = {
        {"hello\n", "1:1: the file is made of keys and their values, \"crew: ...\""},
        {"- crew\n", "1:1: the file is made of keys"},
        {"agents: [{name: a}]\nflow: {kind: single}\n", "1:1: the file lacks the key \"crew\""},
        {"crew: x\nflow: {kind: single}\n", "1:1: the file lacks the key \"agents\""},
        {"crew: x\nagents: [{name: a}]\n", "1:1: the file lacks the key \"flow\""},
        {"crew: x\nagent: [{name: a}]\n", "2:1: the file has no key \"agent\": it is one of a task"},
        {"crew: x\nagnets: [{name: a}]\n", "2:1: the file has no key \"agnets\"; did you mean agents? (--help-crew"},
        {"crew: x\nzyzzy-\342\202\254: 1\n", "2:1: the file has no key \"zyzzy-\342\202\254\" (--help-crew"},
        {"crew: x\n\"a\\nb\": 1\n", "2:1: the file has no key \"a b\" (--help-crew"},
        {AGENT("contxt: 512"), "3:15: an agent has no key \"contxt\"; did you mean context?"},
        {AGENT("lead: a"), "3:15: an agent has no key \"lead\": it is one of flow"},
        {AGENT("allow: [shell]"), "3:15: a crew file grants nothing: allow is for the command line, --allow"},
        {"crew: x\nworkspace: /\n", "2:1: a crew file grants nothing: workspace is for the command line, --workspace"},
        {FLOW("kind: single, vram: 4G"), "3:22: a crew file grants nothing: vram is for the command line, --vram"},
        {"crew: x\nagents:\n  - {role: writer}\nflow: {kind: single}\n", "3:5: an agent lacks the key \"name\""},
        {"crew: x\nagents:\n  - writer\nflow: {kind: single}\n", "3:5: an agent is made of keys and their values"},
        {"crew: x\n" THREE "flow: single\n", "3:7: flow is made of keys and their values, \"kind: ...\""},
        {FLOW("steps: 3"), "3:7: flow lacks the key \"kind\""},
        {FLOW("kind: sngle"), "3:14: kind: \"sngle\" is not one of single|round_robin|"},
        {FLOW("kind: single, tasks: []"), "3:22: the kind single does not use tasks; it is for sequential, graph"},
        {FLOW("split: lines, kind: debate"), "3:8: the kind debate does not use split; it is for map"},
        {FLOW("kind: sequential, edges: []"), "3:26: the kind sequential does not use edges; it is for graph"},
        {FLOW("kind: graph, members: [a]"), "3:21: the kind graph does not use members; it is for single, round_robin"},
        {FLOW("kind: map, stp: 1"), "3:19: flow has no key \"stp\"; did you mean stop?"},
    };
    check_refused(cases, COUNT_OF(cases));
}

TEST(values_that_are_none_are_refused_where_they_are)
{
    static const struct refused cases[] = {
        {"crew: [x]\n" THREE "flow: {kind: single}\n", "1:7: crew is one value, not a list and not keys"},
        {"crew:\n" THREE "flow: {kind: single}\n", "1:6: crew has no value"},
        {"crew: ~\n" THREE "flow: {kind: single}\n", "1:7: crew has no value"},
        {"crew: Pair\n" THREE "flow: {kind: single}\n", "1:7: \"Pair\" is no name: a letter"},
        {"crew: 2x\n" THREE "flow: {kind: single}\n", "1:7: \"2x\" is no name"},
        {"crew: x23456789012345678901234567890ab\n" THREE "flow: {kind: single}\n", "1:7: is no name"},
        {"crew: x\nabout: |\n  a\n  b\n" THREE "flow: {kind: single}\n", "2:8: about is one line of at most 240 bytes"},
        {"crew: x\nabout: \" \\t\"\n" THREE "flow: {kind: single}\n", "2:8: about has no value"},
        {"crew: x\nagents: a\nflow: {kind: single}\n", "2:9: agents is a list"},
        {"crew: x\nagents: []\nflow: {kind: single}\n",
         "2:9: agents is a list without anything in it: at least one is needed"},
        {"crew: x\n" THREE "flow: {kind: graph, tasks: []}\n",
         "3:28: tasks is a list without anything in it: at least one is needed"},
        {"crew: x\nagents: [{name: a}, {name: b}, {name: a}]\nflow: {kind: single}\n",
         "2:39: another agent is called a too"},
        {"crew: x\nagents: [{name: done}]\nflow: {kind: single}\n", "2:17: \"done\" means something else in a flow"},
        {AGENT("role: witer"), "3:21: no role \"witer\": assistant, planner"},
        {AGENT("role: ../forms/role_writer"), "3:21: no role \"../forms/role_writer\""},
        {AGENT("system: NULL"), "3:23: system has no value"},
        {AGENT("tools: read"), "3:22: tools is a list"},
        {AGENT("tools: [read, [list]]"), "3:29: tools is one value"},
        {AGENT("tools: [red]"), "3:23: no tool \"red\"; did you mean read? (there are read, write, edit,"},
        {AGENT("tools: [teleport]"), "3:23: no tool \"teleport\" (there are read,"},
        {AGENT("tools: [read, list, read]"), "3:35: tools: \"read\" is there twice"},
        {AGENT("context: 63"), "3:24: context: \"63\" is no whole number from 64 to 16777216"},
        {AGENT("context: 16777217"), "3:24: context:"},
        {AGENT("context: 0x200"), "3:24: context: \"0x200\" is no whole number"},
        {AGENT("context: 0512"), "3:24: context: \"0512\" is no whole number"},
        {AGENT("context: 1_024"), "3:24: context:"},
        {AGENT("context: 512.0"), "3:24: context:"},
        {AGENT("context: -512"), "3:24: context:"},
        {AGENT("context: 5e2"), "3:24: context:"},
        {AGENT("context: \"512\""), "3:24: context:"},
        {AGENT("context: 99999999999999999999"), "3:24: context:"},
        {AGENT("context: 512k"), "3:24: context:"},
        {AGENT("context: {a: 1}"), "3:24: context is one value"},
        {AGENT("answer: 0"), "3:23: answer:"},
        {AGENT("answer: 512, context: 512"), "3:23: an answer of 512 tokens leaves nothing of a context of 512"},
        {AGENT("temp: hot"), "3:21: temp: \"hot\" is no number from 0 to 100"},
        {AGENT("temp: 100.1"), "3:21: temp:"},
        {AGENT("temp: .nan"), "3:21: temp:"},
        {AGENT("temp: .5"), "3:21: temp:"},
        {AGENT("temp: 1."), "3:21: temp:"},
        {AGENT("temp: 0.1.2"), "3:21: temp:"},
        {AGENT("top_p: 1.01"), "3:22: top_p: \"1.01\" is no number from 0 to 1"},
        {FLOW("kind: round_robin, stop_on_accept: yes"), "3:43: stop_on_accept: \"yes\" is neither true nor false"},
        {FLOW("kind: single, steps: 0"), "3:29: steps: \"0\" is no whole number from 1 to 10000"},
        {FLOW("kind: round_robin, handover_by: me"), "3:40: handover_by: \"me\" is not one of clip|model"},
        {FLOW("kind: single, handover_by: model"), "3:22: the kind single does not use handover_by; it is for "},
        {FLOW("kind: map, lead: a, split: words"), "3:35: split: \"words\" is not one of lines|paragraphs"},
    };
    check_refused(cases, COUNT_OF(cases));
}

TEST(names_of_nobody_are_refused_where_they_are)
{
    static const struct refused cases[] = {
        {FLOW("kind: round_robin, members: [a, d, c]"), "3:40: members: no agent is called \"d\"; did you mean a?"},
        {FLOW("kind: round_robin, members: [a, nobody]"), "3:40: members: no agent is called \"nobody\""},
        {FLOW("kind: round_robin, members: [a, c, a]"), "3:43: members: \"a\" is there twice"},
        {FLOW("kind: debate, lead: nobody"), "3:28: lead: no agent is called \"nobody\""},
        {FLOW("kind: debate, members: [a, b]"), "3:7: the kind debate lacks the key \"lead\""},
        {FLOW("kind: map, reduce: R"), "3:27: reduce is for a lead, and none is named"},
        {FLOW("kind: supervisor"), "3:7: the kind supervisor lacks the key \"lead\""},
        {FLOW("kind: debate, lead: a, members: [a, b]"), "3:40: a leads, and is no member too"},
        {FLOW("kind: debate, lead: a, members: [b]"), "3:40: the kind debate takes 2 or more members beside the lead"},
        {"crew: x\nagents: [{name: a}]\nflow: {kind: selector, lead: a}\n", "3:7: the kind selector takes 1 or more"},
        {FLOW("kind: single, members: [a, b]"), "3:31: the kind single takes one member"},
        {FLOW("kind: map, lead: a, members: [b, c]"), "3:37: the kind map takes one member"},
        {FLOW("kind: debate, lead: a, rounds: 4, steps: 8"), "3:49: 8 steps: this flow takes 9 to its end"},
        {FLOW("kind: debate, lead: a, rounds: 40"), "3:7: 64 steps: this flow takes 81 to its end"},
        {FLOW("kind: map, lead: a, steps: 1"), "3:35: 1 steps: this flow takes 2 to its end"},
        {FLOW("kind: single, prompt: \"Do {that}.\""), "3:30: {that} stands for nothing here: {input} does"},
        {FLOW("kind: single, prompt: \"{input} {Input}\""), "3:30: {Input} stands for nothing here"},
        {FLOW("kind: debate, lead: a, reduce: \"{{a}}\""), "3:39: {a} stands for nothing here"},
    };
    check_refused(cases, COUNT_OF(cases));
}

TEST(tasks_that_do_not_fit_together_are_refused_where_they_are)
{
    static const struct refused cases[] = {
        {FLOW("kind: sequential"), "3:7: the kind sequential lacks the key \"tasks\""},
        {SEQUENCE("    - {name: t, text: T}\n"), "6:7: a task lacks the key \"agent\""},
        {SEQUENCE("    - {name: t, agent: d, text: T}\n"), "6:24: agent: no agent is called \"d\""},
        {SEQUENCE("    - {name: end, agent: a, text: T}\n"), "6:14: \"end\" means something else"},
        {SEQUENCE("    - {name: input, agent: a, text: T}\n"), "6:14: \"input\" means something else"},
        {SEQUENCE("    - {name: t, agent: a, text: T}\n    - {name: t, agent: b, text: T}\n"),
         "7:14: another task is called t too"},
        {SEQUENCE("    - {name: t, agent: a, text: T, needs: [u]}\n"), "6:44: needs: no task is called \"u\""},
        {SEQUENCE("    - {name: t, agent: a, text: T, needs: [t]}\n"), "6:44: needs: t is not before t"},
        {SEQUENCE("    - {name: t, agent: a, text: T, needs: [u]}\n    - {name: u, agent: a, text: T, needs: [t]}\n"),
         "6:44: needs: u is not before t, and tasks are done in their order"},
        {SEQUENCE("    - {name: t, agent: a, text: T}\n    - {name: u, agent: a, text: T, needs: [t, t]}\n"),
         "7:47: needs: \"t\" is there twice"},
        {SEQUENCE("    - {name: t, agent: a, text: T}\n    - {name: u, agent: a, text: \"Is {t} it?\"}\n"),
         "7:33: {t} is not among what u needs"},
        {SEQUENCE("    - {name: t, agent: a, text: \"{input}{inptu}\"}\n"), "6:33: {inptu} stands for nothing here"},
        {"crew: x\n" THREE "flow:\n  kind: sequential\n  steps: 1\n  tasks:\n    - {name: t, agent: a, text: T}\n"
         "    - {name: u, agent: a, text: T}\n", "5:10: 1 steps: this flow takes 2 to its end"},
        {GRAPH("    - {from: t, to: v}\n"), "9:21: to: no task is called \"v\""},
        {GRAPH("    - {from: end, to: t}\n"), "9:14: from: no task is called \"end\""},
        {GRAPH("    - {from: t, to: [u]}\n"), "9:21: to is one value"},
        {GRAPH("    - {from: t}\n"), "9:7: an edge lacks the key \"to\""},
        {GRAPH("    - {from: t, to: u, when: never}\n"), "9:30: when: \"never\" is not one of always|contains|"},
        {GRAPH("    - {from: t, to: u, when: contains}\n"),
         "9:7: an edge with \"when: contains\" lacks the key \"text\""},
        {GRAPH("    - {from: t, to: u, text: yes}\n"), "9:30: the text of an edge is for \"when: contains\""},
        {GRAPH("    - {from: t, to: u}\n    - {from: t, to: end, when: accept}\n"), "10:7: this edge is never taken"},
        {GRAPH("    - {from: t, to: u, when: failed}\n    - {from: t, to: end}\n"
               "    - {from: t, to: u, when: failed}\n"),
         "11:7: this edge is never taken"},
        {GRAPH("    - {from: u, to: t}\n"), "7:7: no edge leads to the task u"},
        {"crew: x\n" THREE "flow:\n  kind: graph\n  tasks:\n    - {name: t, agent: a, text: T}\n"
         "    - {name: u, agent: b, text: U}\n", "7:7: no edge leads to the task u"},
    };
    check_refused(cases, COUNT_OF(cases));
}

TEST(an_error_is_one_line_that_fits_whatever_is_quoted)
{
    char text[700], name[600];
    struct crew c;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    int n = snprintf(text, sizeof text, "crew: x\n\"%.200s\\n\342\202\254\342\202\254\": 1\n", name);
    err = (struct err){0};
    CHECK_EQ(crew_read(text, (size_t)n, name, &c, &err), -1);
    CHECK(strstr(err.text, ":2:1: the file has no key \"nnnn") && strstr(err.text, "--help-crew"));
    CHECK_EQ(crew_read(text, (size_t)n, name, &c, NULL), -1);

    char cut[64]; /* 62 bytes, then one of two: the quote holds 63 and does not end within it */
    memset(cut, 'n', sizeof cut);
    memcpy(cut + 62, "\303", 2);
    struct crew_quote q = crew_quote("nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\303\244n");
    CHECK_EQ(strlen(q.s), 62);
    CHECK_MEM(q.s, cut, 62);
    CHECK_STR(crew_quote("a\n\033\177b").s, "a   b");
}

CHECK_MAIN
