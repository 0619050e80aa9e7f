/* team_flow.c - a crew's flow, carried out: each ask is a turn in a session, those that may be out at once go on at
 * once, and what one hands over to another is clipped on the way. */
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/team_impl.h"
#include "app/signals.h"

enum { TASK_TITLE = 160 };

/* An ask that is out. */
struct task {
    struct team *t;
    struct member *member; /* in whose session; NULL: in `copy` */
    struct session copy;
    struct session *s;
    struct buf message;
    struct err err;
    int ask, agent, status;
    int turns; /* of the session before it */
    struct team_try figures;
    bool done, silent;
};

struct running {
    struct team *t;
    struct flow *flow;
    struct form_text input; /* its first line */
    struct task *task[STRANDS];
    int n;
    bool over;
    enum flow_end end;
    struct buf why;
    int status; /* of the ask that failed last */
    struct err err;
};

/* ---------------------------------------------------------------- what is handed over */

static struct form_text first_line(const char *text, size_t n)
{
    size_t len = 0;
    while (len < n && len < TASK_TITLE && text[len] != '\n') len++;
    while (len > 0 && len < n && ((unsigned char)text[len] & 0xc0) == 0x80) len--; /* not through a character */
    return (struct form_text){text, len};
}

/* A supervisor's words to a worker are what it is to do. */
static bool is_task(const struct flow_part *p) { return strcmp(p->label, "task") == 0; }

/* What another said, in the form for that; *tokens grows by what it weighs. */
static int put_part(struct task *k, const struct flow_effect *e, const struct flow_part *p, size_t quota,
                    struct form_text about, int64_t *tokens, struct err *err)
{
    struct buf result = {0};
    uint64_t artifact = 0;
    char name[24];
    int rc = session_hand_over(k->s, p->text, p->n, quota, &result, &artifact, err);
    snprintf(name, sizeof name, "a%llu", (unsigned long long)artifact);
    struct form_text id = form_text(name);
    const struct form_handover h = {
        .from = form_text(p->label), .to = form_text(team_name(k->t, e->agent)), .task = e->n > 0 ? first_line(e->text, e->n) : about,
        .result = {result.data ? result.data : "", result.len}, .artifacts = {&id, artifact ? 1 : 0}};
    size_t was = k->message.len;
    if (rc == 0 && is_task(p)) buf_put(&k->message, h.result.text, h.result.len);
    else if (rc == 0) forms_handover(&h, &k->message);
    if (rc == 0 && !k->message.failed) *tokens += (int64_t)session_tokens(k->s, k->message.data + was,
                                                                          k->message.len - was);
    buf_free(&result);
    return rc;
}

static int compose(struct task *k, const struct flow_effect *e, struct form_text about, int64_t *tokens,
                   struct err *err)
{
    int others = 0, rc = 0;
    size_t quota = (size_t)MAX(k->t->crew->handover, 0);
    for (int i = 0; i < e->n_parts; i++) others += e->part[i].agent >= 0;
    quota = quota == 0 ? session_room(k->s) : MIN(quota, session_room(k->s));
    buf_put(&k->message, e->text, e->n);
    for (int i = 0; i < e->n_parts && rc == 0; i++) {
        const struct flow_part *p = &e->part[i];
        if (k->message.len > 0) buf_puts(&k->message, "\n\n");
        if (p->agent < 0) buf_put(&k->message, p->text, p->n);
        else rc = put_part(k, e, p, MAX(quota / (size_t)others, (size_t)1), about, tokens, err);
    }
    if (rc == 0 && k->message.failed) rc = err_set(err, -1, "no memory for what is handed over");
    return rc;
}

/* ---------------------------------------------------------------- one ask */

static void tell_flow(struct running *r, const char *change, const struct flow_effect *e, int64_t tokens,
                      const char *why)
{
    struct team *t = r->t;
    bool ask = e->kind == FLOW_ASK;
    int parts = 0;
    for (int i = 0; ask && i < e->n_parts; i++) parts += e->part[i].agent >= 0;
    struct event ev = {.kind = EV_FLOW, .flow = {
        .flow = event_str(flow_kind_name(t->crew->flow)), .change = event_str(change), .ask = e->ask,
        .to = event_str(ask ? team_name(t, e->agent) : ""), .parts = parts, .tokens = tokens,
        .why = event_str(why)}};
    trace_put(&t->a->trace, &ev);
}

static void run_ask(void *self)
{
    struct task *k = self;
    k->t->a->trace.voice = &k->s->voice;
    k->s->silent = k->silent;
    k->status = session_ask(k->s, k->message.data ? k->message.data : "", k->message.len, &k->err);
    session_settle(k->s);
    team_try_end(&k->figures, k->s, k->status, &k->err);
    k->done = true;
}

static void end_task(struct task *k)
{
    if (k->member) k->member->busy = false;
    else session_close(&k->copy);
    buf_free(&k->message);
    free(k);
}

static int open_session(struct task *k, const struct flow_effect *e, struct err *err)
{
    struct team *t = k->t;
    struct member *m = &t->member[e->agent];
    if (!e->fresh && !m->busy) {
        k->member = m;
        k->s = &m->s;
        m->busy = true;
        return EXIT_DONE;
    }
    struct session_role role = m->role;
    role.unsaved = true;
    k->s = &k->copy;
    return session_new_as(&k->copy, t->a, &role, m->system.data ? m->system.data : "", err);
}

static bool at_once(const struct crew *c) { return c->flow == FLOW_MAP || c->flow == FLOW_SUPERVISOR; }

/* 0, or -1: it could not begin; err. */
static int begin(struct running *r, const struct flow_effect *e, struct err *err)
{
    struct team *t = r->t;
    int64_t tokens = 0;
    struct task *k = calloc(1, sizeof *k);
    if (!k) return err_set(err, -1, "no memory for another ask");
    *k = (struct task){.t = t, .ask = e->ask, .agent = e->agent,
                       .silent = at_once(t->crew) && e->agent != t->crew->lead};
    int rc = open_session(k, e, err) != EXIT_DONE ? -1 : compose(k, e, r->input, &tokens, err);
    t->a->trace.voice = &t->a->trace.own;
    k->turns = k->s->voice.turns;
    team_try_begin(t, &k->figures);
    if (rc == 0) tell_flow(r, e->again ? "again" : "asked", e, tokens, "");
    if (rc == 0) rc = strands_start(&t->strands, run_ask, k, err);
    if (rc) end_task(k);
    else r->task[r->n++] = k;
    return rc;
}

/* An answer that did not go to stdout as it grew. */
static void print(struct app *a, const struct task *k)
{
    const struct buf *text = &k->s->answer;
    if (!k->silent || a->o->json || k->status != EXIT_DONE) return;
    out_put(&a->answers, k->s->role.name, strlen(k->s->role.name));
    out_put(&a->answers, ": ", 2);
    out_put(&a->answers, text->data ? text->data : "", text->len);
    if (text->len == 0 || text->data[text->len - 1] != '\n') out_put(&a->answers, "\n", 1);
    out_end(&a->answers);
}

/* The flow hears what came of the asks that are over, in their order. */
static int collect(struct running *r, struct err *err)
{
    int rc = 0, left = 0;
    for (int i = 0; i < r->n; i++) {
        struct task *k = r->task[i];
        if (!k->done) {
            r->task[left++] = k;
            continue;
        }
        const struct buf *text = &k->s->answer;
        enum flow_outcome how = k->status == EXIT_DONE ? FLOW_SAID
                                : session_cancelled(k->s) ? FLOW_ASK_CANCELLED : FLOW_ASK_FAILED;
        print(r->t->a, k);
        if (how != FLOW_ASK_CANCELLED)
            team_remember(r->t, k->agent, k->turns, k->message.data ? k->message.data : "", k->message.len, &k->figures);
        if (how != FLOW_SAID) {
            r->status = k->status;
            r->err = k->err;
        }
        if (!r->over && how == FLOW_SAID)
            rc |= flow_answer(r->flow, k->ask, how, text->data ? text->data : "", text->len, err);
        else if (!r->over) rc |= flow_answer(r->flow, k->ask, how, k->err.text, strlen(k->err.text), err);
        end_task(k);
    }
    r->n = left;
    return rc;
}

/* ---------------------------------------------------------------- the whole */

/* As many as the pool holds whole contexts of, at most as many as the engine runs at once. */
static int parallel_of(const struct team *t)
{
    const struct engine_info *i = t->a->info;
    struct engine_snapshot snap;
    int ctx = 1, most = t->crew->parallel > 0 ? MIN(t->crew->parallel, i->max_seqs) : i->max_seqs;
    for (int m = 0; m < t->n; m++) ctx = MAX(ctx, t->member[m].role.ctx);
    t->a->ops->snapshot(t->a->engine, &snap);
    uint64_t fit = snap.pool_tokens / (uint64_t)ctx;
    return MAX(1, MIN(MIN(most, STRANDS), (int)MIN(fit, (uint64_t)STRANDS)));
}

/* What stands beside the asks that are out. */
static void look(struct running *r)
{
    struct engine_snapshot now;
    r->t->a->ops->snapshot(r->t->a->engine, &now);
    for (int i = 0; i < r->n; i++) team_try_look(&now, &r->task[i]->figures);
}

static void stop_all(struct running *r)
{
    for (int i = 0; i < r->n; i++) r->task[i]->s->voice.cancelled = true;
}

static int pursue(struct running *r, struct err *err)
{
    struct flow_effect e;
    int rc = 0;
    while (rc == 0 && (!r->over || r->n > 0)) {
        while (rc == 0 && !r->over && r->n < STRANDS && flow_next(r->flow, &e)) {
            if (e.kind == FLOW_OVER) {
                r->over = true;
                r->end = e.end;
                buf_puts(&r->why, e.why);
                stop_all(r);
            } else {
                struct err why = {0};
                if (begin(r, &e, &why)) rc = flow_answer(r->flow, e.ask, FLOW_ASK_FAILED, why.text, strlen(why.text), err);
                if (*why.text) r->err = why, r->status = EXIT_REFUSED;
            }
        }
        if (signals_pending() && !r->over) flow_cancel(r->flow);
        strands_round(&r->t->strands);
        look(r);
        if (collect(r, err)) rc = -1;
    }
    return rc;
}

/* Whatever happened, no strand is left behind. */
static void drain(struct running *r)
{
    struct err err = {0};
    r->over = true;
    stop_all(r);
    while (strands_round(&r->t->strands)) {
    }
    collect(r, &err);
}

static int finish(struct running *r, struct err *err)
{
    struct team *t = r->t;
    const struct flow_effect none = {.kind = FLOW_OVER};
    size_t n;
    const char *text = flow_output(r->flow, &n);
    t->last.len = 0;
    buf_put(&t->last, text, n);
    t->steps = flow_steps(r->flow);
    tell_flow(r, flow_end_name(r->end), &none, 0, r->why.data ? r->why.data : "");
    say_dim("[%s: %s after %d asks: %s]", flow_kind_name(t->crew->flow), flow_end_name(r->end), t->steps,
            r->why.data ? r->why.data : "");
    if (r->end == FLOW_CANCELLED) return signals_pending() ? 128 + signals_pending() : EXIT_INTERNAL;
    if (r->end == FLOW_FAILED && err && !*err->text) *err = r->err;
    return r->end == FLOW_FAILED ? (r->status ? r->status : EXIT_INTERNAL) : EXIT_DONE;
}

int team_run_flow(struct team *t, const char *input, size_t n, struct err *err)
{
    struct running r = {.t = t, .input = first_line(input, n)};
    struct voice *voice = t->a->trace.voice;
    t->a->trace.voice = &t->a->trace.own;
    r.flow = flow_open(t->crew, input, n, parallel_of(t), err);
    int status = r.flow ? EXIT_DONE : EXIT_USAGE;
    if (r.flow) {
        int rc = pursue(&r, err);
        drain(&r);
        status = rc ? EXIT_INTERNAL : finish(&r, err);
        flow_close(r.flow);
    }
    buf_free(&r.why);
    t->a->trace.voice = voice;
    return status;
}
