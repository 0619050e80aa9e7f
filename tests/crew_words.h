/* crew_words.h - what both test programs of crews begin with. */
#ifndef CREW_WORDS_H
#define CREW_WORDS_H
#include "app/session/crew_impl.h"
#include "tests/check.h"

static struct err err;

static inline int read_crew(const char *text, size_t n, struct crew *out)
{
    err = (struct err){0};
    return crew_read(text, n, "t.yaml", out, &err);
}

#define THREE "agents: [{name: a}, {name: b}, {name: c}]\n"
#define SEQUENCE(tasks) "crew: x\n" THREE "flow:\n  kind: sequential\n  tasks:\n" tasks
#define GRAPH(edges) "crew: x\n" THREE "flow:\n  kind: graph\n  tasks:\n    - {name: t, agent: a, text: T}\n" \
                     "    - {name: u, agent: b, text: U}\n  edges:\n" edges

/* Every key of an agent, a graph and its parts. */
static const char whole[] =
    "crew: pair-2\n"
    "about: \"two who write: and check\"\n"
    "flow:                      # before the agents: the order of keys is free\n"
    "  kind: graph\n"
    "  steps: 9\n"
    "  retries: 0\n"
    "  handover: 300\n"
    "  edges:\n"
    "    - {from: check, to: end, when: accept}\n"
    "    - {from: check, to: draft, when: contains, text: \"no, {input}\"}\n"
    "    - {to: check, from: draft}\n"
    "    - {to: end, from: draft, when: failed}\n"
    "  tasks:\n"
    "    - name: draft\n"
    "      needs: [check, draft]\n"
    "      text: |\n"
    "        {input}\n"
    "          {check}{draft} { input} {} {\"a\"\n"
    "\n"
    "      agent: writer\n"
    "    - {name: check, agent: critic, text: 'Is this good? \303\244'}\n"
    "agents:\n"
    "  - name: writer\n"
    "    role: writer\n"
    "    system: >\n"
    "      Write\n"
    "      well.\n"
    "    tools: [read, search]\n"
    "    context: 1024\n"
    "    answer: 96\n"
    "    rounds: 3\n"
    "    repeats: 2\n"
    "    pages: 40\n"
    "    temp: 0.7\n"
    "    top_k: 0\n"
    "    top_p: 0.95\n"
    "    min_p: 0\n"
    "  - name: critic\n";
#endif
