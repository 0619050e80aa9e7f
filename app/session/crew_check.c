/* crew_check.c - what no key alone can say: a crew whose parts fit together, with what was not said filled in. */
#include "app/session/crew_impl.h"

/* ------------------------------------------------------------------ texts with places */

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The next {word} at or after *at: true, *word is what is between the braces, and *at is behind them. */
static bool next_place(const char *text, size_t *at, const char **word, size_t *n)
{
    for (const char *brace = text + *at; (brace = strchr(brace, '{')) != NULL; brace++) {
        size_t len = 0;
        while (in_name(brace[1 + len])) len++;
        if (len == 0 || brace[1 + len] != '}') continue;
        *word = brace + 1;
        *n = len;
        *at = (size_t)(brace - text) + len + 2;
        return true;
    }
    return false;
}

static bool is_word(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

/* Each {word} of a text at node is input or one of the task's needs; task NULL: there are none. */
static int check_places(const struct crew_reading *r, int node, const char *text, const struct crew_task *task)
{
    const struct crew *c = r->crew;
    const char *word;
    size_t at = 0, n;
    while (text && next_place(text, &at, &word, &n)) {
        bool known = is_word(word, n, "input"), is_task = false;
        for (int i = 0; task && i < task->n_needs; i++) known |= is_word(word, n, c->task[task->needs[i]].name);
        for (int i = 0; i < c->n_tasks; i++) is_task |= is_word(word, n, c->task[i].name);
        int shown = (int)MIN(n, CREW_NAME);
        if (!known && is_task)
            return crew_fail(r->doc, node, "{%.*s} is not among what %s needs", shown, word, task->name);
        if (!known)
            return crew_fail(r->doc, node, "{%.*s} stands for nothing here: {input} does%s", shown, word,
                             task ? ", and the names of tasks that it needs" : "");
    }
    return 0;
}

/* ------------------------------------------------------------------ who */

static int value_of(const struct crew_reading *r, const char *key) { return crew_doc_find(r->doc, r->flow, key); }

/* The key's place where it is there, else the flow's. */
static int place_of(const struct crew_reading *r, const char *key)
{
    int value = value_of(r, key);
    return value < 0 ? r->flow : value;
}

static void fill_members(struct crew *c)
{
    int most = c->flow == FLOW_SINGLE || c->flow == FLOW_MAP ? 1 : CREW_AGENTS;
    for (int i = 0; i < c->n_agents && c->n_members < most; i++)
        if (i != c->lead) c->members[c->n_members++] = i;
    if (c->n_members == 0 && c->flow == FLOW_MAP) c->members[c->n_members++] = c->lead; /* it reduces its own */
}

static int check_who(const struct crew_reading *r)
{
    struct crew *c = r->crew;
    const char *kind = flow_kind_name(c->flow);
    bool led = c->flow == FLOW_SUPERVISOR || c->flow == FLOW_DEBATE;
    if (led && c->lead < 0) return crew_fail(r->doc, r->flow, "the kind %s lacks the key \"lead\"", kind);
    if (c->reduce && c->lead < 0)
        return crew_fail(r->doc, value_of(r, "reduce"), "reduce is for a lead, and none is named");
    if (c->flow == FLOW_SEQUENTIAL || c->flow == FLOW_GRAPH) return 0;
    if (c->n_members == 0) fill_members(c);
    for (int i = 0; i < c->n_members; i++)
        if (c->members[i] == c->lead && c->flow != FLOW_MAP)
            return crew_fail(r->doc, place_of(r, "members"), "%s leads, and is no member too", c->agent[c->lead].name);
    int least = c->flow == FLOW_DEBATE ? 2 : 1;
    if (c->n_members < least)
        return crew_fail(r->doc, place_of(r, "members"), "the kind %s takes %d or more members beside the lead", kind,
                         least);
    if ((c->flow == FLOW_SINGLE || c->flow == FLOW_MAP) && c->n_members > 1)
        return crew_fail(r->doc, place_of(r, "members"), "the kind %s takes one member", kind);
    return 0;
}

/* ------------------------------------------------------------------ tasks */

static int check_tasks(const struct crew_reading *r)
{
    const struct crew *c = r->crew;
    if (c->n_tasks == 0)
        return crew_fail(r->doc, r->flow, "the kind %s lacks the key \"tasks\"", flow_kind_name(c->flow));
    int node = r->doc->node[r->tasks].first;
    for (int i = 0; i < c->n_tasks; i++, node = r->doc->node[node].next)
        if (check_places(r, crew_doc_find(r->doc, node, "text"), c->task[i].text, &c->task[i])) return -1;
    return 0;
}

/* An edge behind one of the same task that always holds; what failed is for `failed` alone. */
static int check_edges(const struct crew_reading *r)
{
    const struct crew *c = r->crew;
    bool always[CREW_TASKS] = {false}, failed[CREW_TASKS] = {false};
    int node = r->edges < 0 ? -1 : r->doc->node[r->edges].first;
    for (int i = 0; i < c->n_edges; i++, node = r->doc->node[node].next) {
        const struct crew_edge *e = &c->edge[i];
        bool *passed = e->when == WHEN_FAILED ? failed : always;
        if (passed[e->from])
            return crew_fail(r->doc, node, "this edge is never taken: one before it always leads on from %s",
                             c->task[e->from].name);
        passed[e->from] = e->when == WHEN_ALWAYS || e->when == WHEN_FAILED;
    }
    return 0;
}

/* A task of a graph to which no way leads from the first is forgotten, or an edge is. */
static int check_reached(const struct crew_reading *r)
{
    const struct crew *c = r->crew;
    bool reached[CREW_TASKS] = {true};
    for (int round = 0; round < c->n_tasks; round++)
        for (int i = 0; i < c->n_edges; i++)
            if (c->edge[i].to >= 0 && reached[c->edge[i].from]) reached[c->edge[i].to] = true;
    int node = r->doc->node[r->tasks].first;
    for (int i = 0; i < c->n_tasks; i++, node = r->doc->node[node].next)
        if (!reached[i]) return crew_fail(r->doc, node, "no edge leads to the task %s", c->task[i].name);
    return 0;
}

/* ------------------------------------------------------------------ the whole */

/* Limits under which the flow could never come to its end. */
static int check_steps(const struct crew_reading *r)
{
    struct crew *c = r->crew;
    if (c->flow == FLOW_DEBATE && c->rounds == 0) c->rounds = 2;
    int least = c->flow == FLOW_SEQUENTIAL ? c->n_tasks
              : c->flow == FLOW_DEBATE     ? c->n_members * c->rounds + 1
              : c->flow == FLOW_MAP        ? 1 + (c->lead >= 0)
                                           : 1;
    if (c->steps >= least) return 0;
    return crew_fail(r->doc, place_of(r, "steps"), "%d steps: this flow takes %d to its end", c->steps, least);
}

int crew_check(const struct crew_reading *r)
{
    const struct crew *c = r->crew;
    if (check_who(r)) return -1;
    if (c->prompt && check_places(r, value_of(r, "prompt"), c->prompt, NULL)) return -1;
    if (c->reduce && check_places(r, value_of(r, "reduce"), c->reduce, NULL)) return -1;
    if ((c->flow == FLOW_SEQUENTIAL || c->flow == FLOW_GRAPH) && check_tasks(r)) return -1;
    if (c->flow == FLOW_GRAPH && (check_edges(r) || check_reached(r))) return -1;
    return check_steps(r);
}
