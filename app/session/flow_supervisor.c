/* flow_supervisor.c - the lead gives tasks, the members do them at once, the lead hears what came of them. */
#include "app/session/flow_impl.h"

enum { TASKS = 32 }; /* of one answer of the lead; what is beyond is left out, and it is told so */

static const char RESULTS[] = "These are the results. Give more tasks as before, or answer with the result.";

struct plan {
    int member[TASKS], n;
    struct flow_span task[TASKS];
    bool more;
};

static bool is_in(const struct plan *p, int member, struct flow_span task)
{
    for (int i = 0; i < p->n; i++) {
        bool same = p->member[i] == member && p->task[i].n == task.n;
        if (same && memcmp(p->task[i].text, task.text, task.n) == 0) return true;
    }
    return false;
}

/* The tasks of an answer, at most `most` of them; one that is there twice counts once. */
static void read_plan(const struct crew *c, const struct flow_ask *a, int most, struct plan *p)
{
    struct flow_span task;
    *p = (struct plan){0};
    for (size_t at = 0; !p->more;) {
        int m = flow_task_line(c, a->answer, a->n, &at, &task);
        if (m < 0) return;
        if (is_in(p, m, task)) continue;
        p->more = p->n == most;
        if (p->more) return;
        p->member[p->n] = m;
        p->task[p->n++] = task;
    }
}

/* A plan in the form of assets/forms/plan.txt names nobody: its steps go to the members in turn. */
static void share_plan(const struct crew *c, const struct flow_ask *a, int most, struct plan *p)
{
    struct flow_span task;
    for (size_t at = 0; flow_step_line(a->answer, a->n, &at, &task);) {
        p->more = p->n == most;
        if (p->more) return;
        p->member[p->n] = p->n % c->n_members;
        p->task[p->n++] = task;
    }
}

static void ask_lead(struct flow *f)
{
    const struct crew *c = f->crew;
    int results = f->n_asks - f->level;
    struct flow_ask *a = flow_put(f, c->lead);
    if (f->turn == 0) {
        buf_puts(&a->text, "You lead");
        for (int i = 0; i < c->n_members; i++) {
            buf_printf(&a->text, "%s %s", i ? "," : "", flow_name(f, c->members[i]));
        }
        buf_puts(&a->text, ". Give them tasks, one a line, as NAME: TASK. "
                           "Without such a line your answer is the result.");
        flow_hand_input(f, a);
    } else {
        if (flow_word(f, a, c->reduce ? c->reduce : RESULTS)) flow_hand_input(f, a);
        if (f->left_out) buf_printf(&a->text, "\nOnly the first %d of your tasks were given out.", results);
        for (int i = f->level; i < f->wave; i++) flow_hand_said(f, a, f->ask[i]);
    }
    f->turn++;
}

static void ask_worker(struct flow *f, const struct flow_ask *lead, int member, struct flow_span task)
{
    struct flow_ask *a = flow_put(f, f->crew->members[member]);
    a->about = flow_hash(task.text, task.n);
    if (f->crew->prompt && flow_word(f, a, f->crew->prompt)) flow_hand_input(f, a);
    flow_hand(f, a, &(struct flow_part){lead->agent, lead->number, "task", task.text, task.n});
}

static void supervisor_next(struct flow *f)
{
    const struct flow_ask *last = f->n_asks > 0 ? flow_last(f) : NULL;
    struct plan p;
    if (!last || !f->led) {
        ask_lead(f);
        f->led = true;
        return;
    }
    int left = f->crew->steps - f->numbered - 1; /* one is for the lead, who is to hear the results */
    read_plan(f->crew, last, MIN(TASKS, MAX(left, 0)), &p);
    if (p.n == 0 && !p.more && f->turn == 1) share_plan(f->crew, last, MIN(TASKS, MAX(left, 0)), &p);
    if (p.n == 0 && !p.more) flow_over(f, FLOW_DONE, "%s gave no more tasks", last->label);
    else if (p.n == 0) flow_over(f, FLOW_STEPS, "%d step%s made, and none is left for a task", f->made,
                               f->made == 1 ? " was" : "s were");
    f->level = f->n_asks;
    f->left_out = p.more;
    f->led = false;
    for (int i = 0; i < p.n; i++) ask_worker(f, last, p.member[i], p.task[i]);
}
const struct flow_ops flow_supervisor = {.loops = true, .next = supervisor_next};
