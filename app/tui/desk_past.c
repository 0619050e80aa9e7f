/* desk_past.c - a session that goes on is shown as it was: its messages as the events that they once were. */
#include "app/tui/desk_impl.h"
#include "app/say.h"
#include "memory/forms.h"

/* What an event says of a message and the message does not: of a result its figures, of an answer that a stop made of a
 * call why. */
struct told {
    bool known, failed;
    int64_t bytes, tokens, left_out, artifact;
    char stopped[24]; /* or nothing */
    int64_t calls, more;
};

struct telling {
    struct bridge *b;
    const char *agent;
    struct buf thought; /* before the answer or the call that follows */
    struct buf said, call, arguments; /* what the model said, the tool's name and arguments: of the call that a result
                                       * follows */
};

static void telling_free(struct telling *t)
{
    buf_free(&t->thought);
    buf_free(&t->said);
    buf_free(&t->call);
    buf_free(&t->arguments);
}

static struct event_str str_of(const struct buf *b) { return (struct event_str){b->data ? b->data : "", b->len}; }

static void tell(const struct telling *t, struct event e)
{
    e.agent = event_str(t->agent);
    bridge_event(t->b, NEWS_PAST, &e);
}

static void tell_end(const struct telling *t, uint32_t turn, const char *end, struct event_str text)
{
    tell(t, (struct event){.kind = EV_TURN_END, .turn_end = {
        .turn = turn, .call = 1, .end = event_str(end), .termination_reason = {"", 0}, .text = text}});
}

static void note_call(struct telling *t, const struct journal_message *m)
{
    struct form_call call;
    const struct form_text text = {m->text, m->len};
    const bool alone = t->thought.len == 0 && (forms_begins_marked(text) || forms_begins_tags(text));
    t->said.len = t->call.len = t->arguments.len = 0;
    if (!alone) buf_put(&t->said, t->thought.data, t->thought.len);
    if (!alone) buf_put(&t->said, m->text, m->len);
    t->thought.len = 0;
    if (forms_read_call_as(FORM_CALLS_ANY, m->text, m->len, &call, NULL)) return;
    buf_puts(&t->call, call.name);
    buf_puts(&t->arguments, call.arguments);
    forms_call_free(&call);
}

static void tell_answer(struct telling *t, const struct journal_message *m, const struct told *told)
{
    buf_put(&t->thought, m->text, m->len);
    tell_end(t, m->turn, m->flags & JOURNAL_CUT ? "cut short" : "stop", str_of(&t->thought));
    t->thought.len = 0;
    if (!*told->stopped) return;
    note_call(t, m);
    tell(t, (struct event){.kind = EV_STOPPED, .stopped = {
        .turn = m->turn, .reason = event_str(told->stopped), .calls = told->calls, .name = str_of(&t->call),
        .arguments = str_of(&t->arguments), .more = told->more}});
}

/* Words before a call stay words, as they did when it was made. */
static void tell_result(struct telling *t, const struct journal_message *m, const struct told *told)
{
    char artifact[24] = "";
    const bool cut = m->artifact > 0;
    if (cut) snprintf(artifact, sizeof artifact, "a%llu", (unsigned long long)m->artifact);
    if (t->said.len > 0) {
        tell_end(t, m->turn, "stop", str_of(&t->said));
        tell(t, (struct event){.kind = EV_CALL, .call = {
            .turn = m->turn, .name = str_of(&t->call), .arguments = str_of(&t->arguments)}});
    }
    t->said.len = 0;
    tell(t, (struct event){.kind = EV_TOOL, .tool = {
        .turn = m->turn, .by = {"", 0}, .name = str_of(&t->call), .arguments = str_of(&t->arguments),
        .artifact = event_str(artifact), .failed = told->failed,
        .bytes = told->known ? told->bytes : cut ? -1 : (int64_t)m->len, .tokens = told->known ? told->tokens : -1,
        .left_out = told->left_out, .text = {m->text, m->len}}});
}

static void tell_message(struct telling *t, const struct journal_message *m, const struct told *told)
{
    const struct event_str text = {m->text, m->len};
    switch (m->kind) {
    case JOURNAL_THINKING:
        t->thought.len = 0;
        buf_put(&t->thought, m->text, m->len);
        return;
    case JOURNAL_CALL: note_call(t, m); return;
    case JOURNAL_RESULT: tell_result(t, m, told); return;
    case JOURNAL_ANSWER: tell_answer(t, m, told); return;
    case JOURNAL_USER:
        tell(t, (struct event){.kind = EV_TURN_USER, .turn_user = {.turn = m->turn, .text = text}});
        return;
    default: return;
    }
}

/* Numbers are shared with events, a dozen a turn. */
enum { NUMBERS = 8 * PAST_MESSAGES };

static uint64_t from_of(const struct journal_head *h) { return h->next > NUMBERS ? h->next - NUMBERS : 0; }

/* ------------------------------------------------------------------ one agent's; a crew's: all of its run, by time */

enum { RUN_SESSIONS = 1000 };

struct place {
    int64_t time_ms;
    size_t session; /* of heads */
    uint64_t number;
    struct told told;
};

struct past {
    struct bridge *b;
    const struct team *team; /* NULL: it is one agent's session */
    struct journal_head *head;
    size_t n_heads, at;  /* at: the one that is looked through */
    struct journal_spans out;
    struct place *place; /* room for twice as many as are shown */
    size_t n, most;
    int64_t last_ms;     /* of the one that is looked through: a clock may go back, and a session does not */
    struct told tool, stop; /* what was told of a message that is still to come */
    bool behind;         /* the newest place is a result of which nothing was told before */
};

static int by_time(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    if (p->time_ms != q->time_ms) return p->time_ms > q->time_ms ? 1 : -1;
    if (p->session != q->session) return p->session > q->session ? 1 : -1;
    return (p->number > q->number) - (p->number < q->number);
}

static void keep_newest(struct past *p)
{
    if (p->n == 0) return;
    qsort(p->place, p->n, sizeof *p->place, by_time);
    const size_t gone = p->n > p->most ? p->n - p->most : 0;
    memmove(p->place, p->place + gone, (p->n - gone) * sizeof *p->place);
    p->n -= gone;
}

/* What the person said is in the run's record, what it became for each agent in theirs. */
static bool is_shown(const struct past *p, enum journal_kind kind)
{
    const bool said = kind == JOURNAL_ANSWER || kind == JOURNAL_CALL || kind == JOURNAL_RESULT ||
                      kind == JOURNAL_THINKING;
    if (!p->team) return said || kind == JOURNAL_USER;
    return journal_is_run(&p->head[p->at]) ? kind == JOURNAL_USER : said;
}

static bool note_place(void *self, uint64_t number, const struct journal_message *m)
{
    struct past *p = self;
    const struct told none = {0};
    if (!is_shown(p, m->kind) || journal_span_has(&p->out, number)) return true;
    p->last_ms = MAX(p->last_ms, m->time_ms);
    if (p->n == 2 * p->most) keep_newest(p);
    struct place *at = &p->place[p->n++];
    *at = (struct place){.time_ms = p->last_ms, .session = p->at, .number = number};
    p->behind = m->kind == JOURNAL_RESULT;
    if (p->behind && p->tool.known && p->tool.artifact == (int64_t)m->artifact) {
        at->told = p->tool;
        p->behind = false;
    }
    if (m->kind == JOURNAL_ANSWER) at->told = p->stop;
    if (m->kind != JOURNAL_CALL && m->kind != JOURNAL_THINKING) p->tool = p->stop = none;
    return true;
}

/* It stands before the call that the model made, and behind one that is ours. */
static void note_tool(struct past *p, const struct event_tool *e)
{
    uint64_t id = 0;
    if (e->artifact.len > 0 && !session_artifact_name(e->artifact.data, e->artifact.len, &id)) return;
    p->tool = (struct told){.known = true, .failed = e->failed, .bytes = e->bytes, .tokens = e->tokens,
                            .left_out = e->left_out, .artifact = (int64_t)id};
    if (!p->behind) return;
    p->place[p->n - 1].told = p->tool;
    p->tool = (struct told){0};
    p->behind = false;
}

static bool note_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct past *p = self;
    struct event e;
    if (!memmem(json, n, "\"event\":\"tool\"", 14) && !memmem(json, n, "\"event\":\"stopped\"", 17)) return true;
    if (journal_span_has(&p->out, number) || event_read(json, n, &e, NULL)) return true;
    if (e.kind == EV_TOOL) note_tool(p, &e.tool);
    if (e.kind == EV_STOPPED) {
        p->stop = (struct told){.calls = e.stopped.calls, .more = e.stopped.more};
        if (e.stopped.reason.len > 0)
            snprintf(p->stop.stopped, sizeof p->stop.stopped, "%.*s",
                     (int)MIN(e.stopped.reason.len, sizeof p->stop.stopped), e.stopped.reason.data);
    }
    event_free(&e);
    return true;
}

/* A session that an agent of now has left, for a copy of it or for another, is not what was said. */
static bool is_left(const struct team *t, const struct journal_head *h)
{
    const int i = team_find(t, h->run.agent, strlen(h->run.agent));
    return i >= 0 && memcmp(t->member[i].s.keep.head.id, h->id, sizeof h->id) != 0;
}

static int note_session(struct store *s, struct past *p, struct err *err)
{
    const struct journal_head *h = &p->head[p->at];
    const struct journal_visit v = {.message = note_place, .event = note_event, .self = p};
    p->last_ms = 0;
    p->tool = p->stop = (struct told){0};
    p->behind = false;
    int rc = journal_out(s, h->id, from_of(h), UINT64_MAX, 1u << JOURNAL_UNDONE, &p->out, err);
    if (rc == 0) rc = journal_each(s, h->id, from_of(h), &v, err);
    journal_span_free(&p->out);
    return rc;
}

/* At one moment the person spoke first. */
static void put_record_first(struct past *p)
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

static void tell_places(struct store *s, const struct past *p, struct telling *each)
{
    struct buf text = {0};
    for (size_t i = 0; i < p->n; i++) {
        const struct place *at = &p->place[i];
        struct journal_message m;
        text.len = 0;
        if (journal_get(s, p->head[at->session].id, at->number, &m, &text, NULL)) continue; /* as damaged ones are */
        tell_message(&each[at->session], &m, &at->told);
    }
    buf_free(&text);
}

static int find_heads(struct store *s, struct past *p, const struct journal_head *one, struct err *err)
{
    if (p->team) return journal_run_heads(s, p->team->run.keep.head.id, RUN_SESSIONS, &p->head, &p->n_heads, err);
    p->head = malloc(sizeof *p->head);
    if (!p->head) return err_set(err, STORE_NO_MEMORY, "no memory for what was said before");
    p->head[p->n_heads++] = *one;
    return 0;
}

struct reading { struct past p; const struct journal_head *one; };

static int read_past(struct store *s, void *arg, struct err *err)
{
    struct reading *r = arg;
    struct past *p = &r->p;
    int rc = find_heads(s, p, r->one, err);
    if (rc) return rc;
    put_record_first(p);
    struct telling *each = calloc(p->n_heads + 1, sizeof *each);
    p->most = p->team ? PAST_MESSAGES : NUMBERS; /* of one session all that are looked at */
    p->place = calloc(2 * p->most, sizeof *p->place);
    if (!each || !p->place) rc = err_set(err, STORE_NO_MEMORY, "no memory for what was said before");
    for (p->at = 0; p->at < p->n_heads && rc == 0; p->at++) {
        if (!p->team || !is_left(p->team, &p->head[p->at])) rc = note_session(s, p, err);
        name_agent(&p->head[p->at]);
        each[p->at] = (struct telling){.b = p->b, .agent = p->team ? p->head[p->at].run.agent : ""};
    }
    if (rc == 0) keep_newest(p);
    if (rc == 0) tell_places(s, p, each);
    for (size_t i = 0; i < p->n_heads && each; i++) telling_free(&each[i]);
    free(each);
    return rc;
}

static int tell_past(struct console *c, struct bridge *b, struct err *err)
{
    struct keep *k = c->team.crew ? &c->team.run.keep : &c->s->keep;
    struct reading r = {.p = {.b = b, .team = c->team.crew ? &c->team : NULL}, .one = &k->head};
    keep_settle(k);
    int rc = keep_call(k, read_past, &r, err);
    free(r.p.head);
    free(r.p.place);
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
    const uint32_t now = h ? h->turns : 0, before = *turns;
    const bool here = strcmp(id, shown) == 0, nothing = now == 0 && before == 0;
    memcpy(shown, id, sizeof id);
    *turns = now;
    if ((here && now >= before) || !h) return;
    if (nothing) return; /* a new one, in place of one in which nothing was said */
    bridge_put(b, NEWS_PAST_BEGINS, now, h->title, strlen(h->title));
    if (now > 0) rc = tell_past(c, b, &err);
    if (rc) bridge_line(b, SAY_ERROR, false, err.text, strlen(err.text));
    const struct telling t = {.b = b, .agent = ""};
    for (uint32_t turn = before; here && turn > now; turn--) /* what said so went with the conversation as it was */
        tell(&t, (struct event){.kind = EV_UNDONE, .undone = {.turn = turn, .what = {"", 0}}});
}
