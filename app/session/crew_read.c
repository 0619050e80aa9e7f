/* crew_read.c - the tree of a crew file to a struct crew: one function for each way in which a value is written. */
#include "app/session/crew_impl.h"
#include "memory/forms.h"

#define FIELD(type, out, at) ((type *)(void *)((char *)(out) + (at)))

static const struct crew_node *node_at(const struct crew_reading *r, int node) { return &r->doc->node[node]; }

static int no_memory(const struct crew_reading *r)
{
    return err_set(r->doc->err, -1, "%.200s: no memory for it", r->doc->name);
}

/* Those of a map's keys that are rows [from, to) of its table, in the table's order. */
static int take_keys(const struct crew_reading *r, enum crew_level level, int from, int to, int map, void *out)
{
    int n;
    const struct crew_key *key = crew_keys(level, &n);
    for (int i = from; i < MIN(to, n); i++) {
        int value = crew_doc_find(r->doc, map, key[i].name);
        if (value >= 0 && key[i].take(r, &key[i], value, out)) return -1;
    }
    return 0;
}

/* ------------------------------------------------------------------ texts */

static bool is_blank(const char *s) { return s[strspn(s, " \t\n")] == '\0'; }

/* A value that is a text with something in it. */
static int check_text(const struct crew_reading *r, const struct crew_key *key, int value)
{
    static const char *const nothing[] = {"~", "null", "Null", "NULL"};
    const struct crew_node *node = node_at(r, value);
    if (node->kind != NODE_TEXT)
        return crew_fail(r->doc, value, "%s is one value, not a list and not keys", key->name);
    bool none = is_blank(node->text);
    for (size_t i = 0; node->plain && i < COUNT_OF(nothing); i++) none |= strcmp(node->text, nothing[i]) == 0;
    if (!none) return 0;
    return crew_fail(r->doc, value, "%s has no value: leave the key out, or put a text in quotes", key->name);
}

static int copy_text(const struct crew_reading *r, int value, char **out)
{
    *out = strdup(node_at(r, value)->text);
    return *out ? 0 : no_memory(r);
}

int crew_take_text(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    return check_text(r, key, value) ? -1 : copy_text(r, value, FIELD(char *, out, key->at));
}

int crew_take_line(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (check_text(r, key, value)) return -1;
    const char *s = node_at(r, value)->text;
    if (strlen(s) > CREW_LINE || strpbrk(s, "\n\t"))
        return crew_fail(r->doc, value, "%s is one line of at most %d bytes", key->name, CREW_LINE);
    return copy_text(r, value, FIELD(char *, out, key->at));
}

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return s[n] == '\0' && n <= CREW_NAME && *s >= 'a' && *s <= 'z';
}

int crew_take_name(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (check_text(r, key, value)) return -1;
    if (!is_name(node_at(r, value)->text))
        return crew_fail(r->doc, value, "\"%s\" is no name: a letter, then letters, digits, _ and -, all lower-case, "
                         "at most %d", crew_quote(node_at(r, value)->text).s, CREW_NAME);
    return copy_text(r, value, FIELD(char *, out, key->at));
}

/* ------------------------------------------------------------------ numbers and words */

/* Digits, a point, digits: so few that all is exact until the one division.  Nothing else is a number here. */
static bool parse_real(const char *s, double *out)
{
    size_t whole = strspn(s, "0123456789"), part = s[whole] == '.' ? strspn(s + whole + 1, "0123456789") : 0;
    size_t end = whole + (s[whole] == '.') + part;
    double digits = 0, scale = 1;
    if (whole == 0 || s[end] || (s[whole] == '.' && part == 0) || whole + part > 15) return false;
    for (size_t i = 0; i < end; i++) {
        if (s[i] == '.') continue;
        digits = 10 * digits + (s[i] - '0');
        if (i > whole) scale *= 10;
    }
    *out = digits / scale;
    return true;
}

/* YAML's other spellings of numbers (0x10, 1_000, 010, which is 8 to some) are refused, not guessed. */
static int take_number(const struct crew_reading *r, const struct crew_key *key, int value, bool is_int, double *out)
{
    if (check_text(r, key, value)) return -1;
    const char *s = node_at(r, value)->text;
    bool good = node_at(r, value)->plain && parse_real(s, out) && !(s[0] == '0' && s[1] && s[1] != '.');
    if (is_int) good = good && !strchr(s, '.');
    if (good && *out >= key->min && *out <= key->max) return 0;
    return crew_fail(r->doc, value, "%s: \"%s\" is no %s from %.16g to %.16g", key->name, crew_quote(s).s,
                     is_int ? "whole number" : "number", key->min, key->max);
}

static void mark_given(const struct crew_key *key, void *out)
{
    if (key->has) *FIELD(bool, out, key->has) = true;
}

int crew_take_int(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    double number;
    if (take_number(r, key, value, true, &number)) return -1;
    *FIELD(int, out, key->at) = (int)number;
    mark_given(key, out);
    return 0;
}

int crew_take_real(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (take_number(r, key, value, false, FIELD(double, out, key->at))) return -1;
    mark_given(key, out);
    return 0;
}

int crew_take_bool(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (check_text(r, key, value)) return -1;
    const char *s = node_at(r, value)->text;
    bool yes = strcmp(s, "true") == 0;
    if (!yes && strcmp(s, "false") != 0)
        return crew_fail(r->doc, value, "%s: \"%s\" is neither true nor false", key->name, crew_quote(s).s);
    *FIELD(bool, out, key->at) = yes;
    return 0;
}

/* The enums of flow, split and when count from 0, as their words do. */
int crew_take_word(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (check_text(r, key, value)) return -1;
    const char *s = node_at(r, value)->text;
    int i = 0;
    for (const char *w = key->words; *w; i++) {
        size_t n = strcspn(w, "|");
        if (strlen(s) == n && memcmp(w, s, n) == 0) {
            *FIELD(unsigned, out, key->at) = (unsigned)i;
            return 0;
        }
        w += n + (w[n] == '|');
    }
    return crew_fail(r->doc, value, "%s: \"%s\" is not one of %s", key->name, crew_quote(s).s, key->words);
}

/* ------------------------------------------------------------------ lists */

/* A list of 1 to most items. */
static int check_list(const struct crew_reading *r, const struct crew_key *key, int value, int most)
{
    const struct crew_node *node = node_at(r, value);
    if (node->kind != NODE_LIST)
        return crew_fail(r->doc, value, "%s is a list: - ONE, a line each, or [A, B]", key->name);
    if (node->n == 0)
        return crew_fail(r->doc, value, "%s is a list without anything in it: %s", key->name,
                         key->must || key->some ? "at least one is needed" : "leave it out");
    if (node->n > most) return crew_fail(r->doc, value, "%s are %d: at most %d", key->name, node->n, most);
    return 0;
}

/* Is this text in the list before this item? */
static int check_twice(const struct crew_reading *r, const struct crew_key *key, int list, int item)
{
    const char *text = node_at(r, item)->text;
    for (int i = node_at(r, list)->first; i != item; i = node_at(r, i)->next)
        if (strcmp(node_at(r, i)->text, text) == 0)
            return crew_fail(r->doc, item, "%s: \"%s\" is there twice", key->name, crew_quote(text).s);
    return 0;
}

int crew_take_role(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    if (check_text(r, key, value)) return -1;
    struct buf text = {0};
    const char *s = node_at(r, value)->text;
    bool known = forms_system(&(struct form_system){.role = s}, &text, NULL) == 0;
    buf_free(&text);
    if (!known) return crew_fail(r->doc, value, "no role \"%s\": %s", crew_quote(s).s, key->help);
    return copy_text(r, value, FIELD(char *, out, key->at));
}

static const char *tool_name(const void *tools, int i) { return ((const struct form_tool *)tools)[i].name; }

static int unknown_tool(const struct crew_reading *r, int item)
{
    int n;
    const struct form_tool *tools = forms_tools(&n);
    const char *s = node_at(r, item)->text, *near = crew_nearest(s, tool_name, tools, n);
    struct buf names = {0};
    for (int i = 0; i < n; i++) buf_printf(&names, "%s%s", i ? ", " : "", tools[i].name);
    crew_fail(r->doc, item, "no tool \"%s\"%s%s%s (there are %s)", crew_quote(s).s, near ? "; did you mean " : "",
              near ? near : "", near ? "?" : "", names.data ? names.data : "some");
    buf_free(&names);
    return -1;
}

int crew_take_tools(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew_agent *a = out;
    if (check_list(r, key, value, CREW_TOOLS)) return -1;
    a->tools = calloc((size_t)node_at(r, value)->n, sizeof *a->tools);
    if (!a->tools) return no_memory(r);
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next) {
        if (check_text(r, key, i)) return -1;
        const char *name = node_at(r, i)->text;
        if (!forms_tool(name) && !strstr(name, "__")) return unknown_tool(r, i); /* a server's is known later */
        if (check_twice(r, key, value, i)) return -1;
        if (copy_text(r, i, &a->tools[a->n_tools])) return -1;
        a->n_tools++;
    }
    return 0;
}

/* ------------------------------------------------------------------ agents */

static const char *agent_name(const void *crew, int i) { return ((const struct crew *)crew)->agent[i].name; }
static const char *task_name(const void *crew, int i) { return ((const struct crew *)crew)->task[i].name; }

/* Which of n names the text at value is; -1: none is, and the error says so. */
static int who(const struct crew_reading *r, const struct crew_key *key, int value, const char *what,
               const char *(*name)(const void *of, int i), int n)
{
    if (check_text(r, key, value)) return -1;
    const char *s = node_at(r, value)->text;
    for (int i = 0; i < n; i++)
        if (strcmp(name(r->crew, i), s) == 0) return i;
    const char *near = crew_nearest(s, name, r->crew, n);
    return crew_fail(r->doc, value, "%s: no %s is called \"%s\"%s%s%s", key->name, what, crew_quote(s).s,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int crew_take_agents(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = out;
    if (check_list(r, key, value, CREW_AGENTS)) return -1;
    c->agent = calloc((size_t)node_at(r, value)->n, sizeof *c->agent);
    if (!c->agent) return no_memory(r);
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next) {
        struct crew_agent *a = &c->agent[c->n_agents];
        if (crew_keys_check(r, LEVEL_AGENT, i)) return -1;
        c->n_agents++;
        if (take_keys(r, LEVEL_AGENT, 0, INT32_MAX, i, a)) return -1;
        int name = crew_doc_find(r->doc, i, "name");
        if (crew_find(c, a->name, strlen(a->name)) != c->n_agents - 1)
            return crew_fail(r->doc, name, "another agent is called %s too", a->name);
        if (strcmp(a->name, "done") == 0 || strcmp(a->name, "input") == 0)
            return crew_fail(r->doc, name, "\"%s\" means something else in a flow: call the agent otherwise", a->name);
        if (a->context && a->answer >= a->context)
            return crew_fail(r->doc, crew_doc_find(r->doc, i, "answer"),
                             "an answer of %d tokens leaves nothing of a context of %d", a->answer, a->context);
    }
    return 0;
}

int crew_take_agent(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    int agent = who(r, key, value, "agent", agent_name, r->crew->n_agents);
    *FIELD(int, out, key->at) = agent;
    return agent < 0 ? -1 : 0;
}

int crew_take_members(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = out;
    if (check_list(r, key, value, CREW_AGENTS)) return -1;
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next) {
        int agent = who(r, key, i, "agent", agent_name, c->n_agents);
        if (agent < 0 || check_twice(r, key, value, i)) return -1;
        c->members[c->n_members++] = agent;
    }
    return 0;
}

/* ------------------------------------------------------------------ tasks and edges */

static int take_task_name(const struct crew_reading *r, struct crew *c, int map)
{
    struct crew_task *t = &c->task[c->n_tasks];
    if (crew_keys_check(r, LEVEL_TASK, map)) return -1;
    c->n_tasks++;
    if (take_keys(r, LEVEL_TASK, 0, 1, map, t)) return -1;
    int name = crew_doc_find(r->doc, map, "name");
    if (strcmp(t->name, "input") == 0 || strcmp(t->name, "end") == 0)
        return crew_fail(r->doc, name, "\"%s\" means something else in a flow: call the task otherwise", t->name);
    for (int i = 0; i < c->n_tasks - 1; i++)
        if (strcmp(c->task[i].name, t->name) == 0)
            return crew_fail(r->doc, name, "another task is called %s too", t->name);
    return 0;
}

/* All names first: tasks of a graph may need later ones. */
int crew_take_tasks(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = out;
    if (check_list(r, key, value, CREW_TASKS)) return -1;
    c->task = calloc((size_t)node_at(r, value)->n, sizeof *c->task);
    if (!c->task) return no_memory(r);
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next)
        if (take_task_name(r, c, i)) return -1;
    struct crew_task *t = c->task;
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next)
        if (take_keys(r, LEVEL_TASK, 1, INT32_MAX, i, t++)) return -1;
    return 0;
}

int crew_take_needs(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = r->crew;
    struct crew_task *t = out;
    if (check_list(r, key, value, CREW_TASKS)) return -1;
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next) {
        int task = who(r, key, i, "task", task_name, c->n_tasks);
        if (task < 0 || check_twice(r, key, value, i)) return -1;
        if (c->flow == FLOW_SEQUENTIAL && task >= t - c->task)
            return crew_fail(r->doc, i, "needs: %s is not before %s, and tasks are done in their order",
                             c->task[task].name, t->name);
        t->needs[t->n_needs++] = task;
    }
    return 0;
}

int crew_take_task(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    int task = who(r, key, value, "task", task_name, r->crew->n_tasks);
    *FIELD(int, out, key->at) = task;
    return task < 0 ? -1 : 0;
}

int crew_take_task_or_end(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    const struct crew_node *node = node_at(r, value);
    if (node->kind != NODE_TEXT || strcmp(node->text, "end") != 0) return crew_take_task(r, key, value, out);
    *FIELD(int, out, key->at) = -1;
    return 0;
}

int crew_take_edges(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = out;
    if (check_list(r, key, value, CREW_EDGES)) return -1;
    c->edge = calloc((size_t)node_at(r, value)->n, sizeof *c->edge);
    if (!c->edge) return no_memory(r);
    for (int i = node_at(r, value)->first; i >= 0; i = node_at(r, i)->next) {
        struct crew_edge *e = &c->edge[c->n_edges];
        if (crew_keys_check(r, LEVEL_EDGE, i)) return -1;
        c->n_edges++;
        if (take_keys(r, LEVEL_EDGE, 0, INT32_MAX, i, e)) return -1;
        if (e->when == WHEN_CONTAINS && !e->text)
            return crew_fail(r->doc, i, "an edge with \"when: contains\" lacks the key \"text\"");
        if (e->when != WHEN_CONTAINS && e->text)
            return crew_fail(r->doc, crew_doc_find(r->doc, i, "text"), "the text of an edge is for \"when: contains\"");
    }
    return 0;
}

/* ------------------------------------------------------------------ the whole */

/* Its kind first, which says what its other keys may be. */
int crew_take_flow(const struct crew_reading *r, const struct crew_key *key, int value, void *out)
{
    struct crew *c = out;
    int kind = node_at(r, value)->kind == NODE_MAP ? crew_doc_find(r->doc, value, "kind") : -1;
    if (node_at(r, value)->kind == NODE_MAP && kind < 0)
        return crew_fail(r->doc, value, "%s lacks the key \"kind\"", key->name);
    if (kind >= 0 && take_keys(r, LEVEL_FLOW, 0, 1, value, c)) return -1;
    if (crew_keys_check(r, LEVEL_FLOW, value)) return -1;
    return take_keys(r, LEVEL_FLOW, 1, INT32_MAX, value, c);
}

static int read_doc(const struct crew_doc *doc, struct crew *c)
{
    struct crew_reading r = {.doc = doc, .crew = c};
    c->lead = -1;
    c->steps = 64;
    c->retries = 1;
    if (crew_keys_check(&r, LEVEL_FILE, 0) || take_keys(&r, LEVEL_FILE, 0, INT32_MAX, 0, c)) return -1;
    r.flow = crew_doc_find(doc, 0, "flow");
    r.tasks = crew_doc_find(doc, r.flow, "tasks");
    r.edges = crew_doc_find(doc, r.flow, "edges");
    return crew_check(&r);
}

int crew_read(const char *text, size_t n, const char *name, struct crew *out, struct err *err)
{
    struct crew_doc doc = {.name = name, .err = err};
    *out = (struct crew){0};
    int rc = crew_doc_read(&doc, text, n) ? -1 : read_doc(&doc, out);
    crew_doc_free(&doc);
    if (rc) crew_free(out);
    return rc;
}
