/* session_turn.c - one turn: the person's words enter, the model is asked, its calls of tools are made, what stays is
 * saved. */
#include "app/say.h"
#include "app/session/agent.h"
#include "app/session/session_impl.h"
#include "app/signals.h"
#include "engine/thinking.h"
#include "tools/escape.h"

enum { ANSWER = 512, FAILURES = 3, SHOWN_NAME = 60, SHOWN_ARGUMENTS = 200 };

void session_withdraw(struct session *s, struct buf *before, uint64_t first)
{
    struct err err = {0};
    struct window_event untold; /* it is taken back */
    while (window_next_event(s->w, &untold)) continue;
    if (window_load(s->w, before->data, before->len, s->vocabulary, &err)) say_error("%s", err.text); /* no memory */
    else texts_cut(&s->texts, first);
    session_find_front(s); /* what was offered meanwhile is not any more */
    session_mark(s, JOURNAL_UNDONE, first, s->keep.head.next - 1);
}

/* A user's own words are not cut: what would stand as a line is refused. */
static int check_whole(struct session *s, const struct window_call *c, uint64_t user, struct err *err)
{
    struct window_figures f;
    for (size_t i = 0; i < c->n; i++) {
        const struct window_item *it = &c->items[i];
        if (it->ref.messages == 0 || it->part == WINDOW_SUMMARY) continue;
        if (it->ref.first > user || it->ref.last < user) continue;
        window_figures(s->w, &f);
        turn_short(s->a, (struct event_shortage){.reason = event_str("turn"), .needs_tokens = it->ref.tokens,
            .has_tokens = f.limit - f.part[WINDOW_SYSTEM] - f.part[WINDOW_TOOLS] - f.part[WINDOW_PINNED],
            .prompt_tokens = it->ref.tokens, .answer_tokens = f.reserve});
        return err_set(err, WINDOW_NEVER_FITS,
                       "this turn has %lld tokens: a prompt may have %lld (context %d less %lld for the answer%s), and "
                       "%lld of them are the system message and pins",
                       (long long)it->ref.tokens, (long long)f.limit, s->role.ctx, (long long)f.reserve,
                       f.compaction > f.answer ? " or a summary" : "",
                       (long long)(f.part[WINDOW_SYSTEM] + f.part[WINDOW_TOOLS] + f.part[WINDOW_PINNED]));
    }
    return 0;
}

/* An enum engine_error for what the window said. */
static int refused(struct session *s, int rc, const struct err *err)
{
    int code = rc == WINDOW_NEVER_FITS ? ENGINE_NEVER_FITS : rc == WINDOW_NO_MEMORY ? ENGINE_NO_MEMORY : ENGINE_FAULT;
    return turn_refuse(s->a, code, app_refusal(code), err);
}

static void on_closed(void *self)
{
    struct session *s = self;
    window_thinking_closed(s->w);
    session_tell(s);
}

static int call_model(struct session *s, uint64_t user, int round, struct turn_result *r, struct err *err)
{
    struct window_call c;
    int rc = window_build(s->w, &c, err);
    if (rc == 0 && round == 0) rc = check_whole(s, &c, user, err);
    if (rc == 0) session_tell(s);
    else session_tell_refused(s);
    if (rc == 0 && prompt_make(&s->prompt, turn_calls(s->a), &s->texts, c.items, c.n, err)) rc = WINDOW_NO_MEMORY;
    if (rc == 0 && session_shape(s, c.answer + c.thinking, &c.tokens, err)) rc = WINDOW_COUNT_FAILED;
    if (rc == 0 && session_check_loose(s, err)) rc = WINDOW_NO_MEMORY;
    if (rc == 0 && round == 0) s->outcome.prompt = c.tokens;
    if (rc) return refused(s, rc, err);
    session_bring_pages(s);
    int64_t most = c.answer + c.thinking, room = s->role.ctx - c.tokens;
    if (s->role.answer <= 0) most = MAX(most, MIN(ANSWER + c.thinking, room));
    const struct text_entry *said = texts_get(&s->texts, user, NULL);
    struct turn_ask ask = {.msgs = s->prompt.msgs, .n_msgs = s->prompt.n, .max_tokens = (int)most,
                           .said = {said ? said->text + s->loose.before : NULL,
                                    said ? said->len - s->loose.before : 0},
                           .round = round, .tools = session_offers_tools(s),
                           .thinking = (int)c.closes, .closed = on_closed, .self = s,
                           .ids = s->a->info->page_bytes > 0, .silent = s->silent, .grammar = session_grammar(s),
                           .sampling = &s->role.sampling};
    return turn_run(s->a, &ask, r, err);
}

/* Whether what was said stays: see the table in session.h. */
static bool stays(const struct turn_result *r)
{
    return r->end == END_STOP || r->end == END_LENGTH || (r->end == END_CANCELLED && r->text.len > 0);
}

/* In place of an answer: the call that was one too many, of which nobody else makes anything. */
static void put_stopped(const struct session *s, const struct turn_result *r, struct buf *out)
{
    struct form_calls_said calls;
    buf_printf(out, "[stopped after %d call%s of tools (%s)", s->outcome.calls, plural(s->outcome.calls),
               s->outcome.stopped);
    if (session_read_calls(s, &r->text, &calls)) {
        const struct form_call *call = &calls.v[0].call;
        buf_puts(out, ": ");
        escape_start(call->name, strlen(call->name), SHOWN_NAME, out);
        buf_puts(out, " ");
        escape_start(call->arguments, strlen(call->arguments), SHOWN_ARGUMENTS, out);
        buf_puts(out, " was not called");
        if (calls.n > 1) buf_printf(out, ", nor %zu more", calls.n - 1);
        forms_calls_free(&calls);
    }
    buf_puts(out, "]");
}

/* It stands where the answer would, on stdout: who reads that alone sees it.  With --json the event has it. */
static void show_stopped(struct session *s, const struct turn_result *r)
{
    struct out *out = &s->a->answers;
    size_t at = thinking_end(r->text.data, r->text.len); /* it was shown */
    if (s->answer.failed || (s->in_one_piece && !s->a->o->json)) return;
    if (s->a->o->json || s->silent) {
        say_dim("%s", s->answer.data);
        return;
    }
    if (at > 0 && r->text.data[at - 1] != '\n') out_put(out, "\n", 1);
    if (*s->voice.name) {
        out_put(out, s->voice.name, strlen(s->voice.name));
        out_put(out, ": ", 2);
    }
    out_put(out, s->answer.data, s->answer.len);
    out_put(out, "\n", 1);
    out_end(out);
}

/* What was thought is kept, and not carried on: from here on that before the calls is not told either. */
static int keep_answer(struct session *s, uint64_t first, const struct turn_result *r, struct err *err)
{
    if (texts_untell(&s->texts) && window_recount(s->w, first, err)) return -1;
    const char *text = r->text.data ? r->text.data : "";
    size_t at = thinking_end(text, r->text.len);
    struct journal_message thought = {.kind = JOURNAL_THINKING, .turn = s->keep.head.turns + 1, .text = text,
                                      .len = at};
    struct journal_message m = {.kind = JOURNAL_ANSWER, .flags = r->end == END_STOP ? 0 : JOURNAL_CUT,
                                .turn = s->keep.head.turns + 1, .text = text + at, .len = r->text.len - at};
    s->answer.len = 0;
    if (s->outcome.stopped) put_stopped(s, r, &s->answer);
    else buf_put(&s->answer, text + at, r->text.len - at);
    if (at > 0 && session_note(s, &thought, err) == 0) return -1;
    uint64_t id = r->text.failed ? 0 : session_note(s, &m, err);
    if (id == 0 || window_append(s->w, WINDOW_ANSWER, id, 0, err)) return -1;
    s->keep.head.turns++;
    return 0;
}

/* Number i of them is one too many. */
static void tell_stopped(struct session *s, const struct agent *g, const struct form_calls_said *calls, size_t i)
{
    const struct form_call *call = &calls->v[i].call;
    struct event e = {.kind = EV_STOPPED, .stopped = {
        .turn = s->voice.turns, .reason = event_str(agent_end_name(g->end)), .calls = g->calls,
        .name = event_str(call->name), .arguments = event_str(call->arguments),
        .more = (int64_t)(calls->n - i - 1)}};
    trace_put(&s->a->trace, &e);
}

/* Between two calls of tools: a long turn fills the window as many short ones do.  false: the person has stopped it. */
static bool make_way(struct session *s)
{
    if (window_due(s->w)) session_compact(s, NULL);
    return !session_cancelled(s);
}

/* Number i of an answer's calls: made, unless that is one too many.  *code: an engine error of what was done. */
static enum agent_effect take_call(struct session *s, struct agent *g, struct turn_result *r,
                                   const struct form_calls_said *calls, size_t i, int *code, struct err *err)
{
    const struct form_call *call = &calls->v[i].call;
    struct buf got = {0};
    if (i > 0 && !make_way(s)) return agent_on(g, &(struct agent_event){.kind = AGENT_BROKE});
    const struct agent_event said = {.kind = AGENT_SAID, .call = call->name, .arguments = call->arguments};
    enum agent_effect next = agent_on(g, &said);
    if (next != AGENT_RUN_TOOL) {
        tell_stopped(s, g, calls, i);
        if (i > 0) session_leave_calls(&r->text, calls, i);
        return next;
    }
    struct agent_event result = {.kind = AGENT_GOT};
    int rc = session_make_call(s, &r->text, calls, i, &got, &result.failed, err);
    if (rc < 0) *code = turn_refuse(s->a, ENGINE_NO_MEMORY, "refused_host", err);
    result.text = got.data;
    result.n = got.len;
    if (rc < 0 || session_cancelled(s)) result.kind = AGENT_BROKE;
    next = agent_on(g, &result);
    buf_free(&got);
    return next;
}

/* The model has answered: what the agent makes of that.  The calls of one answer are made one after the other, and are
 * from then on as if the model had said each when it had the result of the one before. */
static enum agent_effect take_answer(struct session *s, struct agent *g, struct turn_result *r, int *code,
                                     struct err *err)
{
    struct form_calls_said calls = {0};
    const struct agent_event e = {.kind = *code ? AGENT_BROKE : r->end == END_STOP ? AGENT_SAID : AGENT_CUT};
    const bool any = e.kind == AGENT_SAID && !r->text.failed && session_offers_tools(s) &&
                     session_read_calls(s, &r->text, &calls);
    enum agent_effect next = any ? AGENT_CALL_MODEL : agent_on(g, &e);
    for (size_t i = 0; i < calls.n && next == AGENT_CALL_MODEL; i++) next = take_call(s, g, r, &calls, i, code, err);
    forms_calls_free(&calls);
    return next;
}

/* The model is asked, and again as long as its answer is a call of a tool; a call that is not made is its answer. */
static int converse(struct session *s, uint64_t user, struct turn_result *r, struct err *err)
{
    struct agent g;
    int code = 0, round = 0;
    agent_begin(&g, &(struct agent_limits){s->role.rounds, s->role.repeats, FAILURES, s->a->o->off.loop});
    enum agent_effect next = agent_on(&g, &(struct agent_event){.kind = AGENT_ASKED});
    while (next == AGENT_CALL_MODEL) {
        buf_free(&r->text);
        ids_free(&r->ids);
        if (round > 0 && !make_way(s)) {
            next = agent_on(&g, &(struct agent_event){.kind = AGENT_BROKE});
            continue;
        }
        code = call_model(s, user, round++, r, err);
        s->outcome.end = code ? END_NONE : r->end;
        if (!code) s->outcome.reserved = MAX(s->outcome.reserved, (int64_t)r->n_prompt + r->max_tokens);
        next = take_answer(s, &g, r, &code, err);
    }
    s->outcome.calls = g.calls;
    if (g.end != AGENT_ANSWERED && g.end != AGENT_ENDED) s->outcome.stopped = agent_end_name(g.end);
    if (!code && g.end == AGENT_ENDED && r->end == END_STOP) { /* cancelled while the tool ran: a call is no answer */
        r->end = END_CANCELLED;
        buf_free(&r->text);
    }
    return code;
}

/* Before the model is asked: the oldest is summed up if need be (what came of it is an event; the call goes on either
 * way), and what left long ago and belongs to the question comes in. */
static int prepare(struct session *s, const char *text, size_t n, struct err *err)
{
    if (window_due(s->w)) session_compact(s, NULL);
    if (!opts_recalls(s->a->o)) return 0;
    /* What this call has no room for is looked for too; and what is brought in does not push out what was passed over
     * because it was still there. */
    window_make_room(s->w, session_has_left(s) ? (int64_t)session_room(s) / 2 : 0); /* told when the call is made */
    if (!session_has_left(s)) return 0;
    if (!opts_recalls_summary(s->a->o) && session_offer_tools(s, err)) return WINDOW_NO_MEMORY; /* to read on with */
    return session_recall_unasked(s, text, n, err) ? WINDOW_NO_MEMORY : 0;
}

/* The user's words enter and the model is asked. */
static int try_turn(struct session *s, const char *text, size_t n, struct turn_result *r, int *code, struct err *err)
{
    struct journal_message m = {.kind = JOURNAL_USER, .turn = s->keep.head.turns + 1, .text = text, .len = n};
    struct buf with_docs = {0};
    s->loose.before = s->loose.docs.len;
    if (s->loose.docs.len > 0) {
        buf_put(&with_docs, s->loose.docs.data, s->loose.docs.len);
        buf_put(&with_docs, text, n);
        m.text = with_docs.data;
        m.len = with_docs.len;
    }
    uint64_t user = with_docs.failed ? 0 : session_note(s, &m, err);
    buf_free(&with_docs);
    *code = 0;
    if (user == 0) return EXIT_INTERNAL;
    int rc = window_append(s->w, WINDOW_USER, user, 0, err);
    if (rc == 0) rc = prepare(s, text, n, err);
    if (rc) *code = refused(s, rc, err);
    if (!rc && session_cancelled(s)) {
        r->end = END_CANCELLED;
        return signals_pending() ? 128 + signals_pending() : EXIT_INTERNAL;
    }
    if (!rc) *code = converse(s, user, r, err);
    return turn_exit(*code, r);
}

static int refuse_unsaved(struct session *s, struct err *err)
{
    err_set(err, -1, "%d turns could not be saved: make room for the store, then go on (or --no-save)", KEEP_UNSAVED);
    turn_refuse(s->a, ENGINE_NO_MEMORY, "refused_store", err);
    return EXIT_REFUSED;
}

int session_ask(struct session *s, const char *text, size_t n, struct err *err)
{
    struct turn_result r = {0};
    struct buf before = {0};
    int code = 0;
    s->outcome = (struct session_outcome){0};
    session_poll(s);
    if (keep_is_full(&s->keep)) keep_again(&s->keep); /* there may be room by now */
    if (keep_is_full(&s->keep)) return refuse_unsaved(s, err);
    uint64_t first = s->keep.head.next;
    window_save(s->w, s->vocabulary, &before);
    if (before.failed) {
        buf_free(&before);
        return err_set(err, EXIT_INTERNAL, "no memory for a turn");
    }

    int status = try_turn(s, text, n, &r, &code, err);
    bool keep = !code && stays(&r);
    if (keep && keep_answer(s, first, &r, err)) {
        keep = false;
        status = EXIT_INTERNAL;
        err_set(err, -1, "no memory to keep the answer: the turn was withdrawn");
    }
    if (!keep) session_withdraw(s, &before, first);
    if (keep && s->outcome.stopped) show_stopped(s, &r);
    if (keep && !*s->keep.head.title) session_title(text, n, SESSION_TITLE, s->keep.head.title);
    if (!code && r.end == END_NO_TOKEN)
        err_set(err, -1, "the rules (--logit-bias) left no token to choose: the turn was withdrawn");
    struct err save = {0};
    if (session_save(s, &save)) app_error(s->a, "store", save.text);
    session_index(s);
    if (keep) session_keep_pages(s, &r.ids);
    if (keep) session_last_ids(s, &r.ids);
    ids_free(&r.ids);
    buf_free(&r.text);
    buf_free(&before);
    if (!code && r.n_prompt > 0) {
        s->last = r;
        s->last.text = (struct buf){0};
        s->last.ids = (struct ids){0};
        s->any = true;
    }
    return status;
}
