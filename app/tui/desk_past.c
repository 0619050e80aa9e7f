/* desk_past.c - a session that goes on is shown as it was: its messages as the events that they once were. */
#include "app/tui/desk_impl.h"
#include "app/say.h"
#include "memory/forms.h"

struct telling {
    struct bridge *b;
    const char *agent;
    struct buf call, arguments; /* the tool's name and arguments of the call that a result follows */
};

static void telling_free(struct telling *t)
{
    buf_free(&t->call);
    buf_free(&t->arguments);
}

static void tell(struct telling *t, const struct journal_message *m)
{
    const struct event_str text = {m->text, m->len}, none = {"", 0};
    struct event e = {0};
    char artifact[24] = "";
    switch (m->kind) {
    case JOURNAL_USER:
        e = (struct event){.kind = EV_TURN_USER, .turn_user = {.turn = m->turn, .text = text}};
        break;
    case JOURNAL_ANSWER:
        e = (struct event){.kind = EV_TURN_END, .turn_end = {
            .turn = m->turn, .call = 1, .end = event_str(m->flags & JOURNAL_CUT ? "cut short" : "stop"),
            .termination_reason = none, .text = text}};
        break;
    case JOURNAL_RESULT:
        if (m->artifact) snprintf(artifact, sizeof artifact, "a%llu", (unsigned long long)m->artifact);
        e = (struct event){.kind = EV_TOOL, .tool = {
            .turn = m->turn, .by = none, .name = {t->call.data ? t->call.data : "", t->call.len},
            .arguments = {t->arguments.data ? t->arguments.data : "", t->arguments.len},
            .artifact = event_str(artifact), .bytes = (int64_t)m->len, .text = text}};
        break;
    default: return;
    }
    e.agent = event_str(t->agent);
    bridge_event(t->b, NEWS_PAST, &e);
}

static void note_call(struct telling *t, const struct journal_message *m)
{
    struct form_call call;
    t->call.len = t->arguments.len = 0;
    if (forms_read_call_as(FORM_CALLS_ANY, m->text, m->len, &call, NULL)) return;
    buf_puts(&t->call, call.name);
    buf_puts(&t->arguments, call.arguments);
    forms_call_free(&call);
}

static void tell_message(struct telling *t, const struct journal_message *m)
{
    if (m->kind == JOURNAL_CALL) note_call(t, m);
    else tell(t, m);
}

/* Numbers are shared with events, a dozen a turn. */
enum { NUMBERS = 8 * PAST_MESSAGES };

static uint64_t from_of(const struct journal_head *h) { return h->next > NUMBERS ? h->next - NUMBERS : 0; }

/* ------------------------------------------------------------------ one agent's */

struct past {
    const struct journal_head *head;
    struct journal_spans out;
    struct telling t;
};

static bool on_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct past *p = self;
    if (!journal_span_has(&p->out, number)) tell_message(&p->t, m);
    return true;
}

static int read_past(struct store *s, void *arg, struct err *err)
{
    struct past *p = arg;
    const struct journal_visit v = {.message = on_message, .self = p};
    const uint64_t from = from_of(p->head);
    int rc = journal_out(s, p->head->id, from, UINT64_MAX, 1u << JOURNAL_UNDONE, &p->out, err);
    return rc ? rc : journal_each(s, p->head->id, from, &v, err);
}

static int tell_one(struct session *s, struct bridge *b, struct err *err)
{
    struct past p = {.head = &s->keep.head, .t = {.b = b, .agent = ""}};
    keep_settle(&s->keep);
    int rc = keep_call(&s->keep, read_past, &p, err);
    journal_span_free(&p.out);
    telling_free(&p.t);
    return rc;
}

/* ------------------------------------------------------------------ a crew's: all sessions of its run, by time */

enum { RUN_SESSIONS = 1000 };

struct place {
    int64_t time_ms;
    size_t session; /* of heads */
    uint64_t number;
};

struct run_past {
    struct bridge *b;
    const struct team *team;
    struct journal_head *head;
    size_t n_heads, at;  /* at: the one that is looked through */
    struct journal_spans out;
    struct place *place; /* room for 2 * PAST_MESSAGES */
    size_t n;
    int64_t last_ms;     /* of the one that is looked through: a clock may go back, and a session does not */
};

static int by_time(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    if (p->time_ms != q->time_ms) return p->time_ms > q->time_ms ? 1 : -1;
    if (p->session != q->session) return p->session > q->session ? 1 : -1;
    return (p->number > q->number) - (p->number < q->number);
}

static void keep_newest(struct run_past *p, size_t most)
{
    if (p->n == 0) return;
    qsort(p->place, p->n, sizeof *p->place, by_time);
    const size_t gone = p->n > most ? p->n - most : 0;
    memmove(p->place, p->place + gone, (p->n - gone) * sizeof *p->place);
    p->n -= gone;
}

/* What the person said is in the run's record, what it became for each agent in theirs. */
static bool is_shown(const struct journal_head *h, enum journal_kind kind)
{
    if (journal_is_run(h)) return kind == JOURNAL_USER;
    return kind == JOURNAL_ANSWER || kind == JOURNAL_CALL || kind == JOURNAL_RESULT;
}

static bool note_place(void *self, uint64_t number, const struct journal_message *m)
{
    struct run_past *p = self;
    if (!is_shown(&p->head[p->at], m->kind) || journal_span_has(&p->out, number)) return true;
    p->last_ms = MAX(p->last_ms, m->time_ms);
    if (p->n == 2 * (size_t)PAST_MESSAGES) keep_newest(p, PAST_MESSAGES);
    p->place[p->n++] = (struct place){p->last_ms, p->at, number};
    return true;
}

/* A session that an agent of now has left, for a copy of it or for another, is not what was said. */
static bool is_left(const struct team *t, const struct journal_head *h)
{
    const int i = team_find(t, h->run.agent, strlen(h->run.agent));
    return i >= 0 && memcmp(t->member[i].s.keep.head.id, h->id, sizeof h->id) != 0;
}

static int note_session(struct store *s, struct run_past *p, struct err *err)
{
    const struct journal_head *h = &p->head[p->at];
    const struct journal_visit v = {.message = note_place, .self = p};
    p->last_ms = 0;
    int rc = journal_out(s, h->id, from_of(h), UINT64_MAX, 1u << JOURNAL_UNDONE, &p->out, err);
    if (rc == 0) rc = journal_each(s, h->id, from_of(h), &v, err);
    journal_span_free(&p->out);
    return rc;
}

/* At one moment the person spoke first. */
static void put_record_first(struct run_past *p)
{
    for (size_t i = 1; i < p->n_heads; i++) {
        const struct journal_head first = p->head[0];
        if (!journal_is_run(&p->head[i])) continue;
        p->head[0] = p->head[i];
        p->head[i] = first;
        return;
    }
}

/* Of a map's parts the agent's name alone: so many are long over. */
static void name_agent(struct journal_head *h)
{
    char *copy = strchr(h->run.agent, '/');
    if (copy) *copy = '\0';
}

static void tell_places(struct store *s, const struct run_past *p, struct telling *each)
{
    struct buf text = {0};
    for (size_t i = 0; i < p->n; i++) {
        const struct place *at = &p->place[i];
        struct journal_message m;
        text.len = 0;
        if (journal_get(s, p->head[at->session].id, at->number, &m, &text, NULL)) continue; /* as damaged ones are */
        tell_message(&each[at->session], &m);
    }
    buf_free(&text);
}

static int read_run(struct store *s, void *arg, struct err *err)
{
    struct run_past *p = arg;
    int rc = journal_run_heads(s, p->team->run.keep.head.id, RUN_SESSIONS, &p->head, &p->n_heads, err);
    if (rc) return rc;
    put_record_first(p);
    struct telling *each = calloc(p->n_heads + 1, sizeof *each);
    p->place = calloc(2 * (size_t)PAST_MESSAGES, sizeof *p->place);
    if (!each || !p->place) rc = err_set(err, STORE_NO_MEMORY, "no memory for what was said before");
    for (p->at = 0; p->at < p->n_heads && rc == 0; p->at++) {
        if (!is_left(p->team, &p->head[p->at])) rc = note_session(s, p, err);
        name_agent(&p->head[p->at]);
        each[p->at] = (struct telling){.b = p->b, .agent = p->head[p->at].run.agent};
    }
    if (rc == 0) keep_newest(p, PAST_MESSAGES);
    if (rc == 0) tell_places(s, p, each);
    for (size_t i = 0; i < p->n_heads && each; i++) telling_free(&each[i]);
    free(each);
    return rc;
}

static int tell_run(struct team *t, struct bridge *b, struct err *err)
{
    struct run_past p = {.b = b, .team = t};
    keep_settle(&t->run.keep);
    int rc = keep_call(&t->run.keep, read_run, &p, err);
    free(p.head);
    free(p.place);
    return rc;
}

/* ------------------------------------------------------------------ whichever it is */

const struct journal_head *desk_head(const struct console *c)
{
    const struct keep *k = c->team.crew ? &c->team.run.keep : &c->s->keep;
    return k->keeper ? &k->head : NULL;
}

void desk_tell_past(struct console *c, struct bridge *b, char shown[2 * STORE_SESSION_ID + 1], uint32_t *turns)
{
    const struct journal_head *h = desk_head(c);
    struct err err = {0};
    char id[2 * STORE_SESSION_ID + 1] = "";
    int rc = 0;
    if (h) journal_id_text(h->id, id);
    const uint32_t now = h ? h->turns : 0;
    const bool same = strcmp(id, shown) == 0 && now >= *turns, nothing = now == 0 && *turns == 0;
    memcpy(shown, id, sizeof id);
    *turns = now;
    if (same || !h) return;
    if (nothing) return; /* a new one, in place of one in which nothing was said */
    bridge_put(b, NEWS_PAST_BEGINS, now, h->title, strlen(h->title));
    if (now > 0) rc = c->team.crew ? tell_run(&c->team, b, &err) : tell_one(c->s, b, &err);
    if (rc) bridge_line(b, SAY_ERROR, false, err.text, strlen(err.text));
}
