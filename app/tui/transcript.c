/* transcript.c - see transcript.h: what events make of entries, and the bounds. */
#include "app/tui/transcript_impl.h"
#include <inttypes.h>
#include <math.h>

enum { ENTRIES_MIN = 16 };

struct transcript *transcript_open(struct transcript_limits limits, struct err *err)
{
    struct transcript *t = calloc(1, sizeof *t);
    limits.entries = MAX(limits.entries, (size_t)ENTRIES_MIN);
    if (t) *t = (struct transcript){.limits = limits, .columns = 80, .rows = 24, .follows = true};
    else err_set(err, -1, "the conversation's view: no memory");
    return t;
}

static void entry_free(struct entry *e)
{
    buf_free(&e->head);
    buf_free(&e->text);
    shape_free(&e->shape);
}

void transcript_close(struct transcript *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->n; i++) entry_free(&t->entry[i]);
    free(t->entry);
    free(t->view);
    free(t);
}

struct entry *transcript_find(const struct transcript *t, uint64_t id)
{
    uint64_t first = t->n > 0 ? t->entry[0].id : 0; /* ids follow each other */
    return t->n > 0 && id >= first && id - first < t->n ? &t->entry[id - first] : NULL;
}

struct transcript_figures transcript_figures(const struct transcript *t)
{
    return (struct transcript_figures){t->n, t->bytes, t->left};
}

int transcript_text(const struct transcript *t, uint64_t id, struct buf *out)
{
    const struct entry *e = transcript_find(t, id);
    if (!e || e->dropped) return 1;
    buf_put(out, e->text.data, e->text.len);
    return out->failed ? -1 : 0;
}

void transcript_toggle(struct transcript *t, uint64_t id)
{
    struct entry *e = transcript_find(t, id);
    if (!e) return;
    e->unfolded = !e->unfolded;
    t->n_view = 0;
    shape_stale(e);
}

/* ------------------------------------------------------------------ bounds */

static void drop_text(struct transcript *t, struct entry *e)
{
    t->bytes -= e->text.len + e->head.len;
    e->beyond += e->text.len;
    buf_free(&e->text);
    buf_free(&e->head);
    e->dropped = true;
    t->n_view = 0;
    shape_free(&e->shape);
}

/* Some at once, so that the rest is not moved for each. */
static void drop_entries(struct transcript *t)
{
    size_t gone = 0, most = MAX(t->limits.entries / 8, (size_t)1);
    while (gone < most) { /* one that grows too: what it grows by is then an entry of its own */
        t->bytes -= t->entry[gone].text.len + t->entry[gone].head.len;
        entry_free(&t->entry[gone++]);
    }
    t->n -= gone;
    t->left += gone;
    t->n_view = 0; /* its numbers are not those of entries any more */
    memmove(t->entry, t->entry + gone, t->n * sizeof *t->entry);
    if (gone > 0 && t->n > 0) shape_stale(&t->entry[0]);
}

static void keep_bounds(struct transcript *t)
{
    for (size_t i = 0; i < 2 * t->n && t->bytes > t->limits.bytes; i++) { /* the second time: those that grow, too */
        struct entry *e = &t->entry[i % t->n];
        if (!e->dropped && (!e->open || i >= t->n)) drop_text(t, e);
    }
    if (t->n > t->limits.entries) drop_entries(t);
}

static void add_text(struct transcript *t, struct entry *e, const char *text, size_t n)
{
    size_t room = t->limits.bytes / 4, fits = e->text.len < room ? MIN(n, room - e->text.len) : 0, before = e->text.len;
    if (e->beyond > 0 || e->dropped) fits = 0; /* nothing is held behind a gap */
    buf_put(&e->text, text, fits);
    if (e->text.failed) t->failed = true;
    e->text.failed = false;
    e->beyond += n - (e->text.len - before);
    t->bytes += e->text.len - before;
}

static struct entry *add(struct transcript *t, enum entry_kind kind, int agent, int64_t turn)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct entry *entry = realloc(t->entry, cap * sizeof *entry);
        if (!entry) t->failed = true;
        if (!entry) return NULL;
        t->entry = entry;
        t->cap = cap;
    }
    t->entry[t->n] = (struct entry){.id = ++t->ids, .kind = kind, .agent = agent, .turn = turn};
    return &t->entry[t->n++];
}

/* ------------------------------------------------------------------ agents */

static int agent_of(struct transcript *t, struct event_str name)
{
    char cut[sizeof t->name[0]];
    snprintf(cut, sizeof cut, "%.*s", (int)MIN(name.len, sizeof cut - 1), name.len ? name.data : "");
    if (!*cut) snprintf(cut, sizeof cut, "plimsoll");
    for (int i = 0; i < t->agents; i++)
        if (strcmp(t->name[i], cut) == 0) return i;
    if (t->agents == TRANSCRIPT_AGENTS) return TRANSCRIPT_AGENTS - 1; /* more than any crew has */
    snprintf(t->name[t->agents], sizeof t->name[0], "%s", cut);
    t->hue[t->agents] = (uint8_t)t->agents;
    const char *copy = strrchr(cut, '/');
    for (int i = 0; copy && i < t->agents; i++)
        if (strlen(t->name[i]) == (size_t)(copy - cut) && memcmp(t->name[i], cut, (size_t)(copy - cut)) == 0)
            t->hue[t->agents] = t->hue[i];
    return t->agents++;
}

static struct entry *open_answer(const struct transcript *t, int agent)
{
    for (size_t i = t->n; i-- > 0;) {
        struct entry *e = &t->entry[i];
        if (e->kind == ENTRY_ANSWER && e->agent == agent && e->open) return e;
    }
    return NULL;
}

static struct entry *answer(struct transcript *t, int agent, int64_t turn)
{
    struct entry *e = open_answer(t, agent);
    if (!e) e = add(t, ENTRY_ANSWER, agent, turn);
    if (e) e->open = true;
    return e;
}

static void close_answer(struct entry *e)
{
    e->open = false;
    shape_stale(e);
}

/* ------------------------------------------------------------------ events */

#define STR(s) event_part((s), 200), (s).len ? (s).data : ""

__attribute__((format(printf, 4, 5))) static void note(struct transcript *t, enum entry_kind kind,
                                                       struct event_str agent, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    int who = agent.len ? agent_of(t, agent) : -1;
    struct entry *e = add(t, kind, who, 0);
    if (!e) return;
    if (who >= 0) add_text(t, e, t->name[who], strlen(t->name[who]));
    if (who >= 0) add_text(t, e, ": ", 2);
    add_text(t, e, line, strlen(line));
}

static bool is(struct event_str s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.data, word, s.len) == 0;
}

/* agent: who is asked; of a flow it may be what others said. */
static void on_user(struct transcript *t, struct event_str agent, const struct event_turn_user *e)
{
    int to = agent.len > 0 ? agent_of(t, agent) : -1;
    if (to >= 0 && !t->told[to]) to = -1;
    if (to >= 0) t->told[to] = false;
    struct entry *said = add(t, ENTRY_USER, to, e->turn);
    if (said) add_text(t, said, e->text.data, e->text.len);
}

static void on_end(struct transcript *t, int agent, const struct event_turn_end *end)
{
    struct entry *e = answer(t, agent, end->turn);
    if (!e) return;
    bool same = e->text.len + e->beyond == end->text.len &&
                (e->text.len == 0 || memcmp(e->text.data, end->text.data, e->text.len) == 0);
    if (e->dropped) e->beyond = end->text.len;
    else if (!same) { /* pieces are missing, as in a record without them */
        t->bytes -= e->text.len;
        buf_free(&e->text);
        e->beyond = 0;
        e->thinking = (struct thinking){0};
        add_text(t, e, end->text.data, end->text.len);
    }
    if (is(end->end, "cancelled") && isfinite(end->cancel_s))
        snprintf(e->end, sizeof e->end, "cancelled after %" PRId64 " token%s; its memory was free after %.0f ms",
                 end->tokens, plural(end->tokens), 1e3 * MIN(MAX(end->cancel_s, 0.0), 1e6));
    else if (is(end->end, "cancelled"))
        snprintf(e->end, sizeof e->end, "cancelled after %" PRId64 " token%s", end->tokens, plural(end->tokens));
    else if (is(end->end, "length"))
        snprintf(e->end, sizeof e->end, "cut after %" PRId64 " token%s%s", end->tokens, plural(end->tokens),
                 end->text.len > 0 && thinking_end(end->text.data, end->text.len) == end->text.len
                     ? ", while the model was thinking" : "");
    else if (!is(end->end, "stop")) snprintf(e->end, sizeof e->end, "ended: %.*s", STR(end->end));
    close_answer(e);
}

static struct entry *make_tool(struct transcript *t, struct entry *e, struct event_str name,
                               struct event_str arguments)
{
    if (!e) return NULL;
    buf_printf(&e->head, "%.*s %.*s", STR(name), STR(arguments));
    if (arguments.len > 200) buf_puts(&e->head, "...");
    if (e->head.failed) t->failed = true;
    t->bytes += e->head.len;
    return e;
}

/* The agent's newest entry, notes left aside. */
static struct entry *newest(const struct transcript *t, int agent)
{
    for (size_t i = t->n; i-- > 0;)
        if (t->entry[i].agent == agent && (t->entry[i].kind == ENTRY_ANSWER || t->entry[i].kind == ENTRY_TOOL))
            return &t->entry[i];
    return NULL;
}

static const char runs[] = "running";

/* The card of a call: what the model wrote for it is not shown as words, those before it stay. */
static struct entry *add_card(struct transcript *t, int agent, int64_t turn, struct event_str name,
                              struct event_str arguments)
{
    struct entry *said = newest(t, agent), *e = NULL;
    if (said && said->kind == ENTRY_ANSWER && transcript_is_call(said, 0)) { /* it is the card */
        t->bytes -= said->text.len;
        buf_free(&said->text);
        *said->end = '\0';
        said->beyond = 0;
        said->dropped = false;
        said->kind = ENTRY_TOOL;
        e = said;
    } else if (said && said->kind == ENTRY_ANSWER) {
        said->call = true; /* behind what was thought */
    }
    if (said) shape_free(&said->shape);
    return make_tool(t, e ? e : add(t, ENTRY_TOOL, agent, turn), name, arguments);
}

static void on_call(struct transcript *t, int agent, const struct event_call *call, double now)
{
    struct entry *e = add_card(t, agent, call->turn, call->name, call->arguments);
    if (!e) return;
    e->open = true;
    e->began = now;
    snprintf(e->end, sizeof e->end, "%s", runs);
}

/* Figures below zero are not known. */
static void put_figures(const struct event_tool *tool, const char *took, char *out, size_t room)
{
    const bool cut = tool->artifact.len > 0 || tool->left_out > 0;
    char bytes[40] = "", tokens[40] = "", rest[60] = "";
    if (tool->bytes >= 0) snprintf(bytes, sizeof bytes, "%" PRId64 " byte%s", tool->bytes, plural(tool->bytes));
    if (tool->tokens >= 0)
        snprintf(tokens, sizeof tokens, "%" PRId64 " token%s%s", tool->tokens, plural(tool->tokens),
                 cut ? " shown" : "");
    if (tool->artifact.len)
        snprintf(rest, sizeof rest, "whole text is artifact %.*s", (int)MIN(tool->artifact.len, (size_t)20),
                 tool->artifact.data);
    else if (cut) snprintf(rest, sizeof rest, "%" PRId64 " byte%s not kept", tool->left_out, plural(tool->left_out));
    const char *part[] = {took, bytes, tokens, rest};
    *out = '\0';
    for (size_t i = 0, at = 0; i < COUNT_OF(part); i++) {
        if (*part[i]) snprintf(out + at, room - at, "%s%s", at > 0 ? ", " : "", part[i]);
        at = strlen(out);
    }
}

static void on_tool(struct transcript *t, int agent, const struct event_tool *tool, double now)
{
    struct entry *e = newest(t, agent);
    char took[32] = "";
    if (e && e->kind == ENTRY_TOOL && e->open) {
        close_answer(e);
        if (now - e->began >= 0.1 && now - e->began < 1e6) snprintf(took, sizeof took, "%.1f s", now - e->began);
    } else e = make_tool(t, add(t, ENTRY_TOOL, agent, tool->turn), tool->name, tool->arguments);
    if (!e) return;
    e->failed = tool->failed;
    put_figures(tool, took, e->end, sizeof e->end);
    add_text(t, e, tool->text.data, tool->text.len);
}

/* before, what changed with its tokens, behind; or the words alone. */
static const struct change { const char *name, *before, *behind; bool alone; } changes[] = {
    {"left", "", " left the context without a summary", false},
    {"stood_in", "", " is too large for the context and stands as a line", false},
    {"dropped", "", " stands as a line from now on", false},
    {"compacted", "", " left the context for a summary", false},
    {"extracted", "", " left the context for lines out of them", false},
    {"undone", "the summary of ", " was taken back", false},
    {"summary_left", "the summary of ", " did not fit any more and left", false},
    {"in_vain", "nothing more is summed up until the context has grown", "", true},
    {"front_changed", "what every call begins with has changed, and is read again", "", true},
    {"thinking_closed", "thinking was closed: it had all its tokens", "", true},
    {"refused", "the call cannot fit, with all out that may leave", "", true},
};

static void on_context(struct transcript *t, struct event_str agent, const struct event_context *c)
{
    size_t i = 0;
    while (i < COUNT_OF(changes) && !is(c->change, changes[i].name)) i++;
    const struct change *k = i < COUNT_OF(changes) ? &changes[i] : NULL;
    if (k && k->alone) note(t, ENTRY_NOTE, agent, "%s", k->before);
    else if (k)
        note(t, ENTRY_NOTE, agent, "%s%.*s (%" PRId64 " tokens)%s", k->before, STR(c->what), c->tokens, k->behind);
    else if (is(c->change, "gone"))
        note(t, ENTRY_NOTE, agent, "%.*s is not held any more: this conversation is not saved", STR(c->what));
    else if (is(c->change, "clipped"))
        note(t, ENTRY_NOTE, agent, "clipped to %" PRId64 " tokens; %s%.*s", c->tokens,
             c->what.len ? "the whole is " : "the rest is not kept", STR(c->what));
    else
        note(t, ENTRY_NOTE, agent, "context: %.*s %.*s, %" PRId64 " message%s, %" PRId64 " token%s", STR(c->change),
             STR(c->what), c->messages, plural(c->messages), c->tokens, plural(c->tokens));
}

/* Without a reason it was the person who stopped it. */
static void on_summary(struct transcript *t, struct event_str agent, const struct event_summary *s)
{
    if (!is(s->by, "nobody"))
        note(t, ENTRY_NOTE, agent, "summary of %.*s by %.*s: %" PRId64 " item%s, %" PRId64 " token%s%s%.*s",
             STR(s->what), STR(s->by), s->items, plural(s->items), s->tokens, plural(s->tokens),
             s->reason.len ? "; " : "", STR(s->reason));
    else if (s->reason.len > 0) note(t, ENTRY_NOTE, agent, "nothing was summed up: %.*s", STR(s->reason));
    else note(t, ENTRY_NOTE, agent, "summing up was cancelled; nothing left the context");
}

static void on_flow_end(struct transcript *t, struct event_str agent, const struct event_flow *f)
{
    const char *how = is(f->change, "failed") ? "failed" : is(f->change, "cancelled") ? "was cancelled" : "ended";
    note(t, ENTRY_NOTE, agent, "%.*s %s: %.*s", STR(f->flow), how, STR(f->why));
}

static void on_stopped(struct transcript *t, struct event_str agent, const struct event_stopped *e)
{
    char more[40] = "";
    const int who = agent_of(t, agent);
    const struct entry *said = newest(t, who);
    struct entry *card = said && said->kind == ENTRY_ANSWER && said->turn == e->turn
                             ? add_card(t, who, e->turn, e->name, e->arguments) : NULL;
    if (card) snprintf(card->end, sizeof card->end, "was not called");
    if (e->more > 0) snprintf(more, sizeof more, " and %" PRId64 " more", e->more);
    note(t, ENTRY_NOTE, agent, "stopped after %" PRId64 " call%s of tools (%.*s); it wanted %.*s%s", e->calls,
         plural(e->calls), STR(e->reason), STR(e->name), more);
}

static void on_line(struct transcript *t, const struct event *e)
{
    switch (e->kind) {
    case EV_CONTEXT: on_context(t, e->agent, &e->context); return;
    case EV_SUMMARY: on_summary(t, e->agent, &e->summary); return;
    case EV_STOPPED: on_stopped(t, e->agent, &e->stopped); return;
    case EV_UNGUARDED:
        if (e->unguarded.turn == 0 && e->unguarded.off.len > 0)
            note(t, ENTRY_NOTE, e->agent, "without these guards, for teaching: %.*s", STR(e->unguarded.off));
        return;
    case EV_FLOW:
        if (e->flow.ask != 0) t->told[agent_of(t, e->flow.to)] = e->flow.parts > 0;
        if (e->flow.ask == 0) on_flow_end(t, e->agent, &e->flow);
        else note(t, ENTRY_NOTE, e->agent, "%.*s: %.*s %.*s", STR(e->flow.flow), STR(e->flow.change), STR(e->flow.to));
        return;
    case EV_RESUMED:
        note(t, ENTRY_NOTE, e->agent, "%.*s goes on after %" PRId64 " turn%s", STR(e->resumed.title), e->resumed.turns,
             plural(e->resumed.turns));
        return;
    case EV_UNDONE: note(t, ENTRY_NOTE, e->agent, "turn %" PRId64 " was taken back", e->undone.turn); return;
    case EV_SESSION_CLOSE:
        for (size_t i = 0; i < t->n; i++)
            if (t->entry[i].open) close_answer(&t->entry[i]);
        return;
    case EV_PARKED:
        if (is(e->parked.change, "parked"))
            note(t, ENTRY_NOTE, e->agent, "put aside at %" PRId64 " token%s; it goes on later", e->parked.tokens,
                 plural(e->parked.tokens));
        else note(t, ENTRY_NOTE, e->agent, "goes on");
        return;
    case EV_REFUSAL: note(t, ENTRY_ERROR, e->agent, "refused: %.*s", STR(e->refusal.text)); return;
    case EV_ERROR: note(t, ENTRY_ERROR, e->agent, "%.*s: %.*s", STR(e->error.where), STR(e->error.text)); return;
    default: return;
    }
}

/* ------------------------------------------------------------------ what no event says */

static int put_whole(struct transcript *t, enum entry_kind kind, bool head, const char *text, size_t n)
{
    t->failed = false;
    struct entry *e = add(t, kind, -1, 0);
    if (e && head) {
        buf_put(&e->head, text, MIN(n, (size_t)200));
        t->failed |= e->head.failed;
        t->bytes += e->head.len;
    } else if (e) {
        add_text(t, e, text, n);
    }
    keep_bounds(t);
    return t->failed ? -1 : 0;
}

int transcript_said(struct transcript *t, const char *text, size_t n)
{
    return put_whole(t, ENTRY_USER, false, text, n);
}

int transcript_command(struct transcript *t, const char *text, size_t n)
{
    return put_whole(t, ENTRY_OUTPUT, true, text, n);
}

int transcript_line(struct transcript *t, bool error, const char *text, size_t n)
{
    struct entry *last = t->n > 0 ? &t->entry[t->n - 1] : NULL;
    if (error) return put_whole(t, ENTRY_ERROR, false, text, n);
    if (!last || last->kind != ENTRY_OUTPUT || last->dropped) return put_whole(t, ENTRY_OUTPUT, false, text, n);
    t->failed = false;
    if (last->text.len > 0) add_text(t, last, "\n", 1);
    add_text(t, last, text, n);
    shape_stale(last);
    keep_bounds(t);
    return t->failed ? -1 : 0;
}

void transcript_name(struct transcript *t, const char *name) { agent_of(t, event_str(name)); }

void transcript_waits(struct transcript *t, const char *who, bool waits, double now)
{
    size_t i = t->n;
    if (!*who) who = "plimsoll";
    while (i > 0 && !(t->entry[i - 1].kind == ENTRY_TOOL && t->entry[i - 1].open &&
                      strcmp(t->name[t->entry[i - 1].agent], who) == 0))
        i--;
    if (i == 0) return;
    struct entry *e = &t->entry[i - 1];
    if (!e->waits) e->asked = now;
    if (!waits) e->began += MAX(now - e->asked, 0);
    e->waits = waits;
    snprintf(e->end, sizeof e->end, "%s", waits ? "waits for your answer" : runs);
    shape_stale(e);
}

void transcript_forget(struct transcript *t)
{
    for (size_t i = 0; i < t->n; i++) entry_free(&t->entry[i]);
    t->n = t->bytes = t->left = t->n_view = 0;
    memset(t->told, 0, sizeof t->told);
    t->match.id = t->top.id = 0;
    t->follows = true;
}

int transcript_event(struct transcript *t, const struct event *e)
{
    struct entry *a = NULL;
    t->failed = false;
    switch (e->kind) {
    case EV_TURN_USER: on_user(t, e->agent, &e->turn_user); break;
    case EV_TURN_START: answer(t, agent_of(t, e->agent), e->turn_start.turn); break;
    case EV_PREFILL: a = answer(t, agent_of(t, e->agent), e->prefill.turn); break;
    case EV_TEXT: a = answer(t, agent_of(t, e->agent), e->text.turn); break;
    case EV_TURN_END: on_end(t, agent_of(t, e->agent), &e->turn_end); break;
    case EV_CALL: on_call(t, agent_of(t, e->agent), &e->call, e->time); break;
    case EV_TOOL: on_tool(t, agent_of(t, e->agent), &e->tool, e->time); break;
    default: on_line(t, e); break;
    }
    if (a && e->kind == EV_PREFILL) {
        a->done = e->prefill.done;
        a->of = e->prefill.of;
        shape_stale(a);
    }
    if (a && e->kind == EV_TEXT) add_text(t, a, e->text.text.data, e->text.text.len);
    keep_bounds(t);
    return t->failed ? -1 : 0;
}
