/* flow_tasks.c - tasks that know of each other what they need: sequential, graph. */
#include "app/session/flow_impl.h"

static const struct flow_ask *given(const struct flow *f, int task) /* what it gave last; NULL: nothing so far */
{
    for (int i = f->wave - 1; i >= 0; i--) {
        if (f->ask[i]->task == task && f->ask[i]->state == ASK_SAID) return f->ask[i];
    }
    return NULL;
}

static void ask_task(struct flow *f, int task, bool fresh)
{
    const struct crew_task *t = &f->crew->task[task];
    struct flow_ask *a = flow_put(f, t->agent);
    a->task = task;
    a->about = (uint64_t)task + 1;
    a->fresh = fresh;
    snprintf(a->label, sizeof a->label, "%s", t->name);
    if (flow_word(f, a, t->text) || t->n_needs == 0) flow_hand_input(f, a);
    for (int i = 0; i < t->n_needs; i++) {
        const struct flow_ask *of = given(f, t->needs[i]);
        if (of) flow_hand_said(f, a, of);
    }
}

/* ------------------------------------------------------------------ sequential */

static void sequential_next(struct flow *f)
{
    if (f->n_asks < f->crew->n_tasks) ask_task(f, f->n_asks, true);
    else flow_over(f, FLOW_DONE, "the last task, %s, is done", flow_last(f)->label);
}
const struct flow_ops flow_sequential = {.next = sequential_next};

/* ------------------------------------------------------------------ graph */

static bool holds(const struct crew_edge *e, const struct flow_ask *a)
{
    if (a->state == ASK_FAILED) return e->when == WHEN_FAILED;
    switch (e->when) {
    case WHEN_ALWAYS: return true;
    case WHEN_CONTAINS: return memmem(a->answer, a->n, e->text, strlen(e->text)) != NULL;
    case WHEN_ACCEPT: return flow_verdict(a->answer, a->n) == VERDICT_ACCEPT;
    case WHEN_REVISE: return flow_verdict(a->answer, a->n) == VERDICT_REVISE;
    case WHEN_FAILED: return false;
    }
    return false;
}

static const struct crew_edge *edge_from(const struct flow *f, const struct flow_ask *a)
{
    for (int i = 0; i < f->crew->n_edges; i++) {
        const struct crew_edge *e = &f->crew->edge[i];
        if (e->from == a->task && holds(e, a)) return e;
    }
    return NULL;
}

static void graph_next(struct flow *f)
{
    const struct flow_ask *a = f->n_asks > 0 ? flow_last(f) : NULL;
    const struct crew_edge *e = a ? edge_from(f, a) : NULL;
    if (!a) ask_task(f, 0, false);
    else if (e && e->to >= 0) ask_task(f, e->to, false);
    else if (e) flow_over(f, FLOW_DONE, "an edge of %s leads to the end", a->label);
    else if (a->state == ASK_FAILED) flow_over(f, FLOW_FAILED, "%s failed: %s", a->label, a->answer);
    else flow_over(f, FLOW_DONE, "no edge leads on from %s", a->label);
}
const struct flow_ops flow_graph = {.loops = true, .goes_on = true, .next = graph_next};
