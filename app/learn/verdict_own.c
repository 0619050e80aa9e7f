/* verdict_own.c - the fold: what of a stream is remembered, and how prompts grew. */
#include "app/learn/verdict_own_impl.h"

enum { GROWS_FROM = 3 /* points that make a line */, RECENT = 30 /* seconds */ };

struct judge *judge_open(void) { return calloc(1, sizeof(struct judge)); }
void judge_close(struct judge *j) { free(j); }
int judge_failures(const struct judge *j) { return j->failures; }
bool judge_failing(const struct judge *j) { return j->failing; }

bool judge_verdict(const struct judge *j, enum judge_which which, struct verdict *v)
{
    if (j->failures == 0) return false;
    *v = which == JUDGE_FIRST ? j->first : j->last;
    return true;
}

static int64_t figure(int64_t n) { return MAX(0, MIN(n, JUDGE_FIGURE)); }

/* ------------------------------------------------------------------ agents */

static struct judge_agent *agent_of(struct judge *j, struct event_str name)
{
    const int n = event_part(name, JUDGE_NAME - 1);
    for (int i = 0; i < j->agents; i++)
        if ((int)strlen(j->agent[i].name) == n && (n == 0 || memcmp(j->agent[i].name, name.data, (size_t)n) == 0))
            return &j->agent[i];
    if (j->agents == JUDGE_AGENTS) return &j->agent[JUDGE_AGENTS - 1];
    struct judge_agent *a = &j->agent[j->agents++];
    for (int i = 0; i < n; i++) a->name[i] = name.data[i] ? name.data[i] : ' ';
    return a;
}

int judge_running(const struct judge *j)
{
    int n = 0;
    for (int i = 0; i < j->agents; i++) n += j->agent[i].runs;
    return n;
}

static void put_point(struct judge_agent *a, struct judge_point p)
{
    if (a->points == JUDGE_POINTS) memmove(a->point, a->point + 1, (size_t)--a->points * sizeof *a->point);
    a->point[a->points++] = p;
}

int64_t judge_prompt(const struct judge_agent *a) { return a->points > 0 ? a->point[a->points - 1].prompt : 0; }

/* ------------------------------------------------------------------ growth */

struct line { /* points of a line, from the newest back */
    double x[JUDGE_POINTS], y[JUDGE_POINTS];
    int n;
};

static void fit(const struct line *l, struct judge_growth *g)
{
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    for (int i = 0; i < l->n; i++) mx += l->x[i] / l->n, my += l->y[i] / l->n;
    for (int i = 0; i < l->n; i++) {
        const double dx = l->x[i] - mx, dy = l->y[i] - my;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    g->slope = xx > 0 ? xy / xx : 0;
    g->r2 = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

/* The last call of each turn (calls: each call of the last turn), as long as each has more than the one before. */
static void collect(const struct judge_agent *a, bool calls, struct line *l)
{
    const int32_t turn = a->points > 0 ? a->point[a->points - 1].turn : 0;
    l->n = 0;
    for (int i = a->points; i-- > 0;) {
        const struct judge_point *p = &a->point[i];
        if (calls && p->turn != turn) return;
        const double x = calls ? p->call : p->turn;
        if (l->n > 0 && x >= l->x[l->n - 1]) {
            if (!calls && (int32_t)x == (int32_t)l->x[l->n - 1]) continue; /* an earlier call of that turn */
            return; /* numbers that do not count up: another session's */
        }
        if (l->n > 0 && (double)p->prompt >= l->y[l->n - 1]) return;
        l->x[l->n] = x;
        l->y[l->n++] = (double)p->prompt;
    }
}

bool judge_growth_of(const struct judge_agent *a, struct judge_growth *out)
{
    struct line l;
    *out = (struct judge_growth){0};
    collect(a, false, &l);
    if (l.n < GROWS_FROM) {
        collect(a, true, &l);
        out->calls = true;
    }
    if (l.n < GROWS_FROM) return false;
    out->points = l.n;
    out->last = (int64_t)l.x[0];
    out->to = (int64_t)l.y[0];
    out->first = (int64_t)l.x[l.n - 1];
    out->from = (int64_t)l.y[l.n - 1];
    fit(&l, out);
    return out->slope > 0;
}

bool judge_growth(const struct judge *j, const char *agent, struct judge_growth *out)
{
    *out = (struct judge_growth){0};
    for (int i = 0; i < j->agents; i++)
        if (strcmp(j->agent[i].name, agent) == 0) return judge_growth_of(&j->agent[i], out);
    return false;
}

/* ------------------------------------------------------------------ the fold */

static void on_start(struct judge_agent *a, const struct event_turn_start *t)
{
    a->runs = true;
    a->max_tokens = figure(t->max_tokens);
    put_point(a, (struct judge_point){.turn = (int32_t)MIN(figure(t->turn), INT32_MAX),
                                      .call = (int32_t)MIN(figure(t->call), INT32_MAX),
                                      .prompt = figure(t->prompt_tokens)});
}

static void on_end(struct judge *j, struct judge_agent *a, const struct event_turn_end *t)
{
    static const char well[] = "completed";
    const struct event_str r = t->termination_reason;
    if (r.len == sizeof well - 1 && memcmp(r.data, well, r.len) == 0) {
        j->together = MAX(j->together, judge_running(j));
        j->failing = false;
    }
    a->runs = false;
}

static void on_carries(struct judge_agent *a, const struct event_carries *c)
{
    a->tool_tokens = figure(c->tool_tokens);
    a->frees_tokens = figure(c->frees_tokens);
    a->ctx = figure(c->ctx);
    a->reserve = figure(c->reserve_tokens);
}

static void on_memory(struct judge *j, const struct event_memory *m, double time)
{
    j->memory = (struct event_memory){
        .pool_tokens = figure(m->pool_tokens), .reserved_tokens = figure(m->reserved_tokens),
        .filled_tokens = figure(m->filled_tokens), .shared_tokens = figure(m->shared_tokens),
        .cached_tokens = figure(m->cached_tokens), .running = figure(m->running), .waiting = figure(m->waiting),
        .parked = figure(m->parked), .text_bytes = figure(m->text_bytes),
        .text_used_bytes = figure(m->text_used_bytes), .weight_bytes = figure(m->weight_bytes),
        .kv_bytes = figure(m->kv_bytes), .work_bytes = figure(m->work_bytes),
        .ceiling_bytes = figure(m->ceiling_bytes)};
    const bool old = !(time - j->fullest_at >= 0 && time - j->fullest_at <= RECENT); /* so too where it is no number */
    if (!old && j->memory.filled_tokens < j->fullest.filled_tokens) return;
    j->fullest = j->memory;
    j->fullest_at = time;
}

static void on_machine(struct judge *j, const struct event_machine *m)
{
    j->token_bytes = figure(m->token_bytes);
    j->page_tokens = figure(m->page_tokens);
    j->host_total = figure(m->total_bytes);
    j->host_free = figure(m->free_bytes);
}

static void on_context(struct judge_agent *a, const struct event_context *c)
{
    static const char refused[] = "refused";
    if (c->change.len == sizeof refused - 1 && memcmp(c->change.data, refused, c->change.len) == 0)
        a->refused = figure(c->tokens);
}

static void on_shortage(struct judge *j, const struct event_shortage *s)
{
    snprintf(j->reason, sizeof j->reason, "%.*s", event_part(s->reason, sizeof j->reason - 1), s->reason.data);
    j->shortage = (struct event_shortage){
        .turn = figure(s->turn), .needs_tokens = figure(s->needs_tokens), .has_tokens = figure(s->has_tokens),
        .prompt_tokens = figure(s->prompt_tokens), .answer_tokens = figure(s->answer_tokens),
        .needs_bytes = figure(s->needs_bytes), .has_bytes = figure(s->has_bytes),
        .weight_bytes = figure(s->weight_bytes), .kv_bytes = figure(s->kv_bytes), .work_bytes = figure(s->work_bytes)};
}

static void failed(struct judge *j)
{
    verdict_rank(&j->last);
    j->failing = true;
    if (j->failures++ == 0) j->first = j->last;
}

static void on_oom(struct judge *j, const struct judge_agent *a, const struct event_oom *o)
{
    struct event_oom in_bounds = *o;
    in_bounds.turn = figure(o->turn);
    in_bounds.page = figure(o->page);
    in_bounds.wanted_bytes = figure(o->wanted_bytes);
    in_bounds.size_bytes = figure(o->size_bytes);
    in_bounds.free_bytes = MIN(figure(o->free_bytes), in_bounds.size_bytes);
    in_bounds.hole_bytes = MIN(figure(o->hole_bytes), in_bounds.free_bytes);
    in_bounds.owners = figure(o->owners);
    in_bounds.largest_bytes = figure(o->largest_bytes);
    judge_oom(j, a, &in_bounds, &j->last);
    failed(j);
}

static void on_refusal(struct judge *j, struct judge_agent *a, const struct event_refusal *r)
{
    judge_refusal(j, a, r, &j->last);
    failed(j);
    j->reason[0] = '\0';
    a->refused = 0;
}

void judge_feed(struct judge *j, const struct event *e)
{
    struct judge_agent *a = agent_of(j, e->agent);
    switch (e->kind) {
    case EV_MEMORY: on_memory(j, &e->memory, e->time); return;
    case EV_MACHINE: on_machine(j, &e->machine); return;
    case EV_TURN_START: on_start(a, &e->turn_start); return;
    case EV_TURN_END: on_end(j, a, &e->turn_end); return;
    case EV_CARRIES: on_carries(a, &e->carries); return;
    case EV_CONTEXT: on_context(a, &e->context); return;
    case EV_SHORTAGE:
        on_shortage(j, &e->shortage);
        if (strcmp(j->reason, "open")) return;
        on_refusal(j, a, &(struct event_refusal){0}); /* nothing was opened that could refuse a turn */
        return;
    case EV_OOM: on_oom(j, a, &e->oom); return;
    case EV_REFUSAL: on_refusal(j, a, &e->refusal); return;
    default: return;
    }
}
