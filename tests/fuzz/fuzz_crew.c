/* fuzz_crew.c - a crew file from anywhere.
 *
 * covers: app/session/crew.c app/session/crew_yaml.c app/session/crew_read.c app/session/crew_check.c
 *
 * What must hold: a refusal is one line that begins with the file's name, and leaves nothing; what is taken holds only
 * places that are there, names and texts as crew.h says, and is the same when read again. */
#include "app/session/crew.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_be_one_line(const struct err *err)
{
    must(strncmp(err->text, "a.yaml", 6) == 0);
    for (const char *c = err->text; *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void must_be_name(const char *s)
{
    must(s && s[0] >= 'a' && s[0] <= 'z' && strlen(s) <= CREW_NAME);
    must(s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0');
}

static void must_be_text(const char *s)
{
    must(!s || (s[0] && strlen(s) <= CREW_TEXT));
    for (const unsigned char *c = (const unsigned char *)s; c && *c; c++)
        must((*c >= 0x20 || *c == '\n' || *c == '\t') && *c != 0x7f);
}

/* Each number is under limit, and there once. */
static void must_be_indices(const int *at, int n, int limit)
{
    bool seen[MAX(CREW_AGENTS, CREW_TASKS)] = {false};
    must(n >= 0 && n <= limit);
    for (int i = 0; i < n; i++) {
        must(at[i] >= 0 && at[i] < limit && !seen[at[i]]);
        seen[at[i]] = true;
    }
}

static void must_be_agents(const struct crew *c)
{
    must(c->n_agents >= 1 && c->n_agents <= CREW_AGENTS);
    for (int i = 0; i < c->n_agents; i++) {
        const struct crew_agent *a = &c->agent[i];
        must_be_name(a->name);
        must(crew_find(c, a->name, strlen(a->name)) == i);
        must_be_text(a->role);
        must_be_text(a->system);
        must(a->n_tools >= 0 && a->n_tools <= CREW_TOOLS && (a->context == 0 || a->answer < a->context));
        must(a->temp >= 0 && a->temp <= 100 && a->top_p >= 0 && a->top_p <= 1 && a->min_p >= 0 && a->min_p <= 1);
        must(a->answer >= 0 && a->rounds >= 0 && a->repeats >= 0 && a->pages >= 0 && a->top_k >= 0);
    }
}

static void must_be_tasks(const struct crew *c)
{
    must(c->n_tasks <= CREW_TASKS && c->n_edges <= CREW_EDGES && (c->n_edges == 0 || c->flow == FLOW_GRAPH));
    for (int i = 0; i < c->n_tasks; i++) {
        const struct crew_task *t = &c->task[i];
        must_be_name(t->name);
        must(t->text && t->agent >= 0 && t->agent < c->n_agents);
        must_be_text(t->text);
        must_be_indices(t->needs, t->n_needs, c->flow == FLOW_GRAPH ? c->n_tasks : i);
    }
    for (int i = 0; i < c->n_edges; i++) {
        const struct crew_edge *e = &c->edge[i];
        must(e->from >= 0 && e->from < c->n_tasks && e->to >= -1 && e->to < c->n_tasks && e->when <= WHEN_FAILED);
        must((e->text != NULL) == (e->when == WHEN_CONTAINS));
        must_be_text(e->text);
    }
}

static void must_be_sound(const struct crew *c)
{
    bool tasks = c->flow == FLOW_SEQUENTIAL || c->flow == FLOW_GRAPH;
    must_be_name(c->name);
    must_be_text(c->about);
    must_be_text(c->stop);
    must_be_text(c->prompt);
    must_be_text(c->reduce);
    must_be_agents(c);
    must_be_tasks(c);
    must(c->flow < FLOW_KINDS && tasks == (c->n_tasks > 0) && tasks == (c->n_members == 0));
    must_be_indices(c->members, c->n_members, c->n_agents);
    must(c->lead >= -1 && c->lead < c->n_agents && c->steps >= 1 && c->retries >= 0 && c->rounds >= 0);
    must((c->flow != FLOW_SUPERVISOR && c->flow != FLOW_DEBATE) || c->lead >= 0);
    must(c->flow != FLOW_DEBATE || (c->rounds >= 1 && c->n_members >= 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct crew first, again;
    struct err err = {0};
    if (crew_read((const char *)data, size, "a.yaml", &first, &err)) {
        must_be_one_line(&err);
        must(!first.name && !first.agent && !first.task && !first.edge && first.n_agents == 0);
        return 0;
    }
    must_be_sound(&first);
    must(crew_read((const char *)data, size, "a.yaml", &again, &err) == 0);
    must(strcmp(first.name, again.name) == 0 && first.n_agents == again.n_agents && first.flow == again.flow &&
         first.n_tasks == again.n_tasks && first.steps == again.steps && first.lead == again.lead);
    crew_free(&first);
    crew_free(&again);
    return 0;
}
