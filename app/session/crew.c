/* crew.c - a crew as it lies in memory: who is who, and its end. */
#include "app/session/crew_impl.h"

static const struct { const char *name, *about; } kinds[FLOW_KINDS] = {
    [FLOW_SINGLE] = {"single", "one agent answers once"},
    [FLOW_ROUND_ROBIN] = {"round_robin", "members speak in turn: until stop, stop_on_accept, rounds, steps"},
    [FLOW_SELECTOR] = {"selector", "the lead says who speaks next, or whom the last one named does"},
    [FLOW_SEQUENTIAL] = {"sequential", "tasks one after the other, each with what it needs of those before"},
    [FLOW_SUPERVISOR] = {"supervisor", "the lead gives work, lines \"member: task\", and is told what came of it"},
    [FLOW_MAP] = {"map", "each part of the input goes to a fresh copy of the member; a lead reduces the answers"},
    [FLOW_DEBATE] = {"debate", "members answer each other for some rounds; the lead judges"},
    [FLOW_GRAPH] = {"graph", "from the first task along the edges"},
};

const char *flow_kind_name(enum flow_kind k) { return kinds[k].name; }
const char *crew_kind_about(enum flow_kind k) { return kinds[k].about; }

int crew_find(const struct crew *c, const char *agent, size_t n)
{
    for (int i = 0; i < c->n_agents; i++)
        if (strlen(c->agent[i].name) == n && memcmp(c->agent[i].name, agent, n) == 0) return i;
    return -1;
}

static void free_agent(struct crew_agent *a)
{
    for (int i = 0; i < a->n_tools; i++) free(a->tools[i]);
    free(a->tools);
    free(a->name);
    free(a->role);
    free(a->system);
}

void crew_free(struct crew *c)
{
    for (int i = 0; i < c->n_agents; i++) free_agent(&c->agent[i]);
    for (int i = 0; i < c->n_tasks; i++) {
        free(c->task[i].name);
        free(c->task[i].text);
    }
    for (int i = 0; i < c->n_edges; i++) free(c->edge[i].text);
    free(c->agent);
    free(c->task);
    free(c->edge);
    free(c->name);
    free(c->about);
    free(c->stop);
    free(c->prompt);
    free(c->reduce);
    *c = (struct crew){0};
}
