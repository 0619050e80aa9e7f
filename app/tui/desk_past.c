/* desk_past.c - a session that goes on is shown as it was: its messages as the events that they once were. */
#include "app/tui/desk_impl.h"
#include "app/say.h"
#include "memory/forms.h"

struct telling {
    struct bridge *b;
    struct journal_spans out;
    uint64_t from;
    struct buf call, arguments; /* the tool's name and arguments of the call that a result follows */
};

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
    e.agent = none;
    bridge_event(t->b, NEWS_PAST, &e);
}

static void note_call(struct telling *t, const struct journal_message *m)
{
    struct form_call call;
    t->call.len = t->arguments.len = 0;
    if (forms_read_call(m->text, m->len, &call, NULL)) return;
    buf_puts(&t->call, call.name);
    buf_puts(&t->arguments, call.arguments);
    forms_call_free(&call);
}

static bool on_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct telling *t = self;
    if (journal_span_has(&t->out, number)) return true;
    if (m->kind == JOURNAL_CALL) note_call(t, m);
    else tell(t, m);
    return true;
}

struct past {
    const uint8_t *session;
    struct telling *t;
};

static int read_past(struct store *s, void *arg, struct err *err)
{
    struct past *p = arg;
    struct telling *t = p->t;
    const struct journal_visit v = {.message = on_message, .self = t};
    int rc = journal_out(s, p->session, t->from, UINT64_MAX, 1u << JOURNAL_UNDONE, &t->out, err);
    return rc ? rc : journal_each(s, p->session, t->from, &v, err);
}

/* Numbers are shared with events, a dozen a turn. */
enum { NUMBERS = 8 * PAST_MESSAGES };

void desk_tell_past(struct console *c, struct bridge *b, char shown[2 * STORE_SESSION_ID + 1], uint32_t *turns)
{
    struct session *s = c->s;
    struct err err = {0};
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(s->keep.head.id, id);
    const uint32_t now = s->keep.head.turns;
    const bool same = strcmp(id, shown) == 0 && now >= *turns, nothing = now == 0 && *turns == 0;
    memcpy(shown, id, sizeof id);
    *turns = now;
    if (same || c->team.crew || !session_saves(s)) return;
    if (nothing) return; /* a new one, in place of one in which nothing was said */
    struct telling t = {.b = b, .from = s->keep.head.next > NUMBERS ? s->keep.head.next - NUMBERS : 0};
    bridge_put(b, NEWS_PAST_BEGINS, now, s->keep.head.title, strlen(s->keep.head.title));
    if (now > 0) keep_settle(&s->keep);
    if (now > 0 && keep_call(&s->keep, read_past, &(struct past){s->keep.head.id, &t}, &err))
        bridge_line(b, SAY_ERROR, false, err.text, strlen(err.text));
    journal_span_free(&t.out);
    buf_free(&t.call);
    buf_free(&t.arguments);
}
