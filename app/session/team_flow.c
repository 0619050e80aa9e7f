/* team_flow.c - a crew's flow, carried out: each ask is a turn in a session, those that may be out at once go on at
 * once, and what one hands over to another is clipped on the way. */
#include "app/progress.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/team_impl.h"
#include "app/signals.h"

enum { TASK_TITLE = 160 };

/* An ask that is out. */
struct task {
    struct task *next; /* of team.leaving */
    struct team *t;
    struct member *member; /* in whose session; NULL: in `copy` */
    struct session copy;
    struct session *s;
    char name[CREW_NAME + 13]; /* of the copy */
    struct buf message;
    /* The member's session before anything was handed over: its window, next number, tools, turns. */
    struct buf before;
    uint64_t first, tools;
    uint32_t turns;
    struct err err;
    int ask, agent, status;
    int said; /* turns of the session before it */
    struct team_try figures;
    bool done, silent;
    struct buf record; /* what it would hand over of its answer, in its own words; empty: none */
};

struct record { int ask; struct buf text; };

struct running {
    struct team *t;
    struct flow *flow;
    struct form_text input; /* its first line */
    struct task *task[STRANDS];
    int n;
    bool over;
    enum flow_end end;
    char why[240];
    int status; /* of the ask that failed last */
    struct err err;
    struct record *records; /* in the order in which they came */
    int n_records;
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
static bool is_task(const struct crew *c, const struct flow_effect *e)
{
    return c->flow == FLOW_SUPERVISOR && e->agent != c->lead;
}

static size_t quota_of(const struct crew *c, struct session *s)
{
    int64_t tokens = opts_quota(c->handover, s->a->o->handover);
    size_t room = session_room(s);
    return tokens > 0 ? MIN((size_t)tokens, room) : room;
}

/* Who gets the words of this agent next, as far as the kind of flow says it before; -1: nobody. */
static int next_of(const struct crew *c, int agent)
{
    if (agent == c->lead) return -1; /* it gives tasks, names a speaker, or has the last word */
    if (c->flow == FLOW_SUPERVISOR || c->flow == FLOW_MAP) return c->lead;
    for (int i = 0; i < c->n_tasks; i++)
        for (int k = 0; k < c->task[i].n_needs; k++)
            if (c->task[c->task[i].needs[k]].agent == agent) return c->task[i].agent;
    for (int i = 0; c->n_tasks == 0 && c->n_members > 1 && i < c->n_members; i++)
        if (c->members[i] == agent) return c->members[(i + 1) % c->n_members];
    return -1;
}

/* Before what it knows is gone: a fresh agent's session ends with its ask. */
static void ask_record(struct task *k)
{
    struct err err = {0};
    const struct crew *c = k->t->crew;
    const struct buf *said = &k->s->answer;
    int to = c->handover_by == HANDOVER_MODEL ? next_of(c, k->agent) : -1;
    if (to < 0 || k->status != EXIT_DONE || k->s->outcome.stopped || said->len == 0) return;
    size_t quota = quota_of(c, k->s);
    if (session_tokens(k->s, said->data, said->len) <= quota) return;
    if (session_record(k->s, team_name(k->t, to), quota, &k->record, &err) == 0) return;
    say_dim("[%s did not say itself what to hand over: %s]", k->s->role.name, err.text);
    buf_free(&k->record);
}

static void keep_record(struct running *r, struct task *k)
{
    if (k->record.len == 0) return;
    struct record *all = realloc(r->records, ((size_t)r->n_records + 1) * sizeof *all);
    if (!all) return; /* it is clipped */
    r->records = all;
    all[r->n_records++] = (struct record){k->ask, k->record};
    k->record = (struct buf){0};
}

/* Takes the place of what was clipped, if it is smaller.  The whole is an artifact all the same. */
static void use_record(const struct running *r, const struct task *k, const struct flow_part *p, struct buf *result)
{
    for (int i = 0; i < r->n_records; i++) {
        const struct buf *own = &r->records[i].text;
        bool whole = result->len == p->n && memcmp(result->data ? result->data : "", p->text, p->n) == 0;
        if (r->records[i].ask != p->ask || whole) continue;
        size_t clipped = session_tokens(k->s, result->data ? result->data : "", result->len);
        size_t tokens = session_tokens(k->s, own->data, own->len);
        if (tokens >= clipped) return;
        result->len = 0;
        buf_put(result, own->data, own->len);
        say_dim("[%s hands over in its own words: %zu tokens in place of %zu]", team_name(k->t, p->agent), tokens,
                clipped);
        return;
    }
}

/* What another said, in the form for that; *tokens grows by what it weighs. */
static int put_part(const struct running *r, struct task *k, const struct flow_effect *e, const struct flow_part *p,
                    size_t quota, int64_t *tokens, struct err *err)
{
    struct buf result = {0};
    uint64_t artifact = 0;
    char name[24];
    int rc = session_hand_over(k->s, p->text, p->n, quota, &result, &artifact, err);
    if (rc == 0 && !is_task(k->t->crew, e)) use_record(r, k, p, &result);
    snprintf(name, sizeof name, "a%llu", (unsigned long long)artifact);
    struct form_text id = form_text(name);
    const struct form_handover h = {
        .from = form_text(p->label), .to = form_text(team_name(k->t, e->agent)),
        .task = e->n > 0 ? first_line(e->text, e->n) : r->input,
        .result = {result.data ? result.data : "", result.len}, .artifacts = {&id, artifact ? 1 : 0}};
    size_t was = k->message.len;
    if (rc == 0 && is_task(k->t->crew, e)) buf_put(&k->message, h.result.text, h.result.len);
    else if (rc == 0) forms_handover(&h, &k->message);
    if (rc == 0 && !k->message.failed) *tokens += (int64_t)session_tokens(k->s, k->message.data + was,
                                                                          k->message.len - was);
    buf_free(&result);
    return rc;
}

static int compose(const struct running *r, struct task *k, const struct flow_effect *e, int64_t *tokens,
                   struct err *err)
{
    int others = 0, rc = 0;
    size_t quota = quota_of(k->t->crew, k->s);
    for (int i = 0; i < e->n_parts; i++) others += e->part[i].agent >= 0;
    buf_put(&k->message, e->text, e->n);
    for (int i = 0; i < e->n_parts && rc == 0; i++) {
        const struct flow_part *p = &e->part[i];
        if (k->message.len > 0) buf_puts(&k->message, "\n\n");
        if (p->agent < 0) buf_put(&k->message, p->text, p->n);
        else rc = put_part(r, k, e, p, MAX(quota / (size_t)others, (size_t)1), tokens, err);
    }
    if (rc == 0 && k->message.failed) rc = err_set(err, -1, "no memory for what is handed over");
    return rc;
}

/* ---------------------------------------------------------------- one ask */

static void tell_flow(struct team *t, struct event_flow *what)
{
    what->flow = event_str(flow_kind_name(t->crew->flow));
    struct event ev = {.kind = EV_FLOW, .flow = *what};
    trace_put(&t->a->trace, &ev);
}

static void tell_ask(const struct task *k, const struct flow_effect *e, int64_t tokens)
{
    int parts = 0;
    for (int i = 0; i < e->n_parts; i++) parts += e->part[i].agent >= 0;
    tell_flow(k->t, &(struct event_flow){
        .change = event_str(e->again ? "again" : "asked"), .ask = e->ask, .to = event_str(k->s->role.name),
        .parts = parts, .tokens = tokens, .why = event_str("")});
}

static void run_ask(void *self)
{
    struct task *k = self;
    k->t->a->trace.voice = &k->s->voice;
    k->s->silent = k->s->in_one_piece = k->silent;
    k->status = session_ask(k->s, k->message.data ? k->message.data : "", k->message.len, &k->err);
    team_settle(k->t, k->s);
    team_try_end(&k->figures, k->s, k->status, &k->err);
    ask_record(k);
    k->done = true;
}

/* Of an ask that came to nothing nothing stays: what was handed over with it goes, too. */
static void roll_back(struct task *k)
{
    bool same = k->s->keep.head.turns == k->turns, offered = k->s->tools != k->tools;
    if (same && offered && !k->before.failed) session_withdraw(k->s, &k->before, k->first);
}

static void free_copy(struct task *k)
{
    int lost = session_close(&k->copy);
    if (lost > 0) k->t->member[k->agent].lost += lost;
    free(k);
}

void team_poll(struct team *t, bool wait)
{
    for (int i = 0; i < t->n; i++) keep_poll(&t->member[i].s.keep);
    keep_poll(&t->run.keep);
    for (struct task **at = &t->leaving, *k; (k = *at) != NULL;) {
        if (!wait && !session_leave(&k->copy)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        t->n_leaving--;
        free_copy(k);
    }
}

static void leave_later(struct task *k)
{
    k->next = k->t->leaving;
    k->t->leaving = k;
    k->t->n_leaving++;
}

static void end_task(struct task *k)
{
    buf_free(&k->message);
    buf_free(&k->record);
    if (k->member) {
        roll_back(k);
        k->s->silent = k->s->in_one_piece = false;
        k->member->busy = false;
    }
    buf_free(&k->before);
    if (k->member) free(k);
    else if (k->t->a->between && !session_leave(&k->copy)) leave_later(k);
    else free_copy(k);
}

/* Its own session, as it is. */
static int take_member(struct task *k, struct member *m)
{
    k->member = m;
    k->s = &m->s;
    m->busy = true;
    m->s.voice.cancelled = false; /* of a flow before */
    window_save(k->s->w, k->s->vocabulary, &k->before);
    k->first = k->s->keep.head.next;
    k->tools = k->s->tools;
    k->turns = k->s->keep.head.turns;
    return EXIT_DONE;
}

/* A new one.  Of a map there are many copies of one agent at once: events tell them apart by the number of the ask. */
static int open_copy(struct task *k, const struct flow_effect *e, struct err *err)
{
    struct team *t = k->t;
    const struct member *m = &t->member[e->agent];
    struct session_role role = m->role;
    bool map = t->crew->flow == FLOW_MAP;
    snprintf(k->name, sizeof k->name, "%s/%d", m->role.name, e->ask);
    k->s = &k->copy;
    role.unsaved = !team_run_copy(t);
    if (map && e->agent == t->crew->members[0]) role.name = k->name;
    role.sampling.seed += (uint64_t)e->ask << 16; /* else all copies would draw the same numbers */
    int status = session_new_as(&k->copy, t->a, &role, m->system.data ? m->system.data : "", err);
    if (status == EXIT_DONE) memcpy(k->copy.keep.head.title, k->name, sizeof k->name);
    if (status == EXIT_DONE) team_run_name(t, k->name, &k->copy.keep.head);
    return status;
}

/* Several answer at once: what each says goes to stdout in one piece, when it has ended. */
static bool is_silent(const struct crew *c, int agent)
{
    return c->flow == FLOW_MAP || (c->flow == FLOW_SUPERVISOR && agent != c->lead);
}

/* An exit status: not EXIT_DONE: it could not begin; err. */
static int begin(struct running *r, const struct flow_effect *e, struct err *err)
{
    struct team *t = r->t;
    int64_t tokens = 0;
    struct task *k = calloc(1, sizeof *k);
    if (!k) return err_set(err, EXIT_INTERNAL, "no memory for another ask");
    *k = (struct task){.t = t, .ask = e->ask, .agent = e->agent, .silent = is_silent(t->crew, e->agent)};
    struct member *m = &t->member[e->agent];
    int status = e->fresh || m->busy ? open_copy(k, e, err) : take_member(k, m);
    if (status == EXIT_DONE && compose(r, k, e, &tokens, err)) status = EXIT_REFUSED;
    t->a->trace.voice = &t->a->trace.own;
    k->said = k->s->voice.turns;
    team_try_begin(t, &k->figures);
    if (status == EXIT_DONE) tell_ask(k, e, tokens);
    if (status == EXIT_DONE && strands_start(&t->strands, run_ask, k, err)) status = EXIT_REFUSED;
    if (status == EXIT_DONE) r->task[r->n++] = k;
    else end_task(k);
    return status;
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

/* ---------------------------------------------------------------- the whole */

static bool is_cancelled(const struct app *a) { return signals_pending() || a->answers.failed; }

static void cancel_voice(struct voice *v)
{
    if (!v->cancelled) v->cancelled_at = progress_clock();
    v->cancelled = true;
}

void team_cancel(struct team *t, int i)
{
    if (i < 0 || i >= t->n) return;
    cancel_voice(&t->member[i].s.voice);
    for (int k = 0; t->out && k < t->out->n; k++)
        if (t->out->task[k]->agent == i) cancel_voice(&t->out->task[k]->s->voice);
}

static void end_flow(struct running *r, const struct flow_effect *e)
{
    r->over = true;
    r->end = e->end;
    snprintf(r->why, sizeof r->why, "%s", e->why);
    for (int i = 0; i < r->n; i++) cancel_voice(&r->task[i]->s->voice);
}

static void send_asks(struct running *r)
{
    struct flow_effect e;
    while (!r->over && r->n < STRANDS && flow_next(r->flow, &e)) {
        struct err why = {0};
        if (e.kind == FLOW_OVER) {
            end_flow(r, &e);
            return;
        }
        int status = begin(r, &e, &why);
        if (status == EXIT_DONE) continue;
        r->status = status;
        r->err = why;
        flow_answer(r->flow, e.ask, FLOW_ASK_FAILED, why.text, strlen(why.text), NULL);
    }
}

/* One was cancelled by its name, and the others go on: they hear what it had said, as far as its session keeps it. */
static void hear_cancelled(struct running *r, const struct task *k)
{
    struct buf said = {0};
    if (k->s->keep.head.turns > k->turns) {
        buf_put(&said, k->s->answer.data ? k->s->answer.data : "", k->s->answer.len);
        buf_puts(&said, "\n\n");
    }
    buf_printf(&said, "[%s was cancelled]", team_name(k->t, k->agent));
    if (said.failed) flow_cancel(r->flow);
    else flow_answer(r->flow, k->ask, FLOW_SAID, said.data, said.len, NULL);
    buf_free(&said);
}

/* What came of an ask.  The flow may be over by one before it, and wants no more then; that is no error. */
static void hear(struct running *r, const struct task *k)
{
    const struct buf *text = &k->s->answer;
    if (k->status == EXIT_DONE) {
        flow_answer(r->flow, k->ask, FLOW_SAID, text->data ? text->data : "", text->len, NULL);
        return;
    }
    bool cancelled = is_cancelled(r->t->a);
    if (k->s->voice.cancelled && !cancelled && r->t->crew->flow != FLOW_SINGLE) {
        hear_cancelled(r, k);
        return;
    }
    cancelled |= k->s->voice.cancelled;
    const char *why = *k->err.text ? k->err.text : "it did not answer";
    r->status = k->status;
    r->err = k->err;
    flow_answer(r->flow, k->ask, cancelled ? FLOW_ASK_CANCELLED : FLOW_ASK_FAILED, why, strlen(why), NULL);
}

/* The flow hears what came of the asks that are over, in their order. */
static void collect(struct running *r)
{
    int left = 0, n = r->n;
    for (int i = 0; i < n; i++) {
        struct task *k = r->task[i];
        if (!k->done) {
            r->task[left++] = k;
            continue;
        }
        print(r->t->a, k);
        if (!is_cancelled(r->t->a) && !k->s->voice.cancelled)
            team_remember(r->t, k->agent, k->said, k->message.data ? k->message.data : "", k->message.len, &k->figures);
        keep_record(r, k);
        if (!r->over) hear(r, k);
        end_task(k);
    }
    r->n = left;
    if (left < n) team_run_save(r->t);
    team_poll(r->t, false);
}

/* What stands beside the asks that are out. */
static void look(struct running *r)
{
    struct engine_snapshot now;
    r->t->a->ops->snapshot(r->t->a->engine, &now);
    for (int i = 0; i < r->n; i++) team_try_look(&now, &r->task[i]->figures);
}

/* Until it is over and no ask is out: no strand is left behind. */
static void pursue(struct running *r)
{
    while (!r->over || r->n > 0) {
        if (is_cancelled(r->t->a)) flow_cancel(r->flow);
        send_asks(r);
        assert(r->over || r->n > 0); /* a flow that waits, waits for an ask */
        strands_round(&r->t->strands);
        look(r);
        collect(r);
    }
}

/* As many as the pool can be promised to with whole contexts, at most as many as the engine runs at once. */
static int parallel_of(const struct team *t)
{
    const struct engine_info *i = t->a->info;
    struct engine_snapshot snap;
    int ctx = 1, most = t->crew->parallel > 0 ? MIN(t->crew->parallel, i->max_seqs) : i->max_seqs;
    for (int m = 0; m < t->n; m++) ctx = MAX(ctx, t->member[m].role.ctx);
    t->a->ops->snapshot(t->a->engine, &snap);
    uint64_t fit = snap.pool_tokens / engine_promised(i, ctx);
    return MAX(1, MIN(MIN(most, STRANDS), (int)MIN(fit, (uint64_t)STRANDS)));
}

static int finish(struct running *r, struct err *err)
{
    struct team *t = r->t;
    size_t n;
    const char *text = flow_output(r->flow, &n);
    buf_put(&t->last, text, n);
    t->steps = flow_steps(r->flow);
    tell_flow(t, &(struct event_flow){.change = event_str(flow_end_name(r->end)), .to = event_str(""),
                                      .why = event_str(r->why)});
    say_dim("[%s: %s after %d ask%s: %s]", flow_kind_name(t->crew->flow), flow_end_name(r->end), t->steps,
            t->steps == 1 ? "" : "s", r->why);
    if (r->end == FLOW_CANCELLED) return signals_pending() ? 128 + signals_pending() : EXIT_INTERNAL;
    if (r->end == FLOW_FAILED) {
        err_set(err, -1, "%s", *r->err.text ? r->err.text : r->why);
        return r->status ? r->status : EXIT_INTERNAL;
    }
    t->a->reason = NULL; /* what was refused on the way was asked again, or gone around */
    return EXIT_DONE;
}

int team_run_flow(struct team *t, const char *input, size_t n, struct err *err)
{
    struct running r = {.t = t, .input = first_line(input, n)};
    struct voice *voice = t->a->trace.voice;
    t->last.len = 0;
    t->steps = 0;
    t->a->trace.voice = &t->a->trace.own;
    r.flow = flow_open(t->crew, input, n, parallel_of(t), err);
    int status = EXIT_USAGE;
    if (r.flow) {
        t->out = &r;
        team_run_begin(t, -1, input, n);
        pursue(&r);
        t->out = NULL;
        status = finish(&r, err);
        team_run_end(t, status == EXIT_DONE, t->last.data ? t->last.data : "", t->last.len);
        flow_close(r.flow);
    }
    for (int i = 0; i < r.n_records; i++) buf_free(&r.records[i].text);
    free(r.records);
    t->a->trace.voice = voice;
    return status;
}
