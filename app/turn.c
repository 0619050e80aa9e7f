/* turn.c - submit, step until the end, tell everyone. */
#include "app/turn.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "engine/thinking.h"
#include <math.h>

enum { DEFAULT_TOKENS = 512, FAULTS = 3 };

struct run {
    struct app *a;
    const struct turn_ask *ask;
    const struct answer *ans;
    struct progress bar;
    size_t shown; /* bytes of the answer's text that were told */
    size_t out;   /* ... that went to stdout */
    struct thinking thinking; /* of the answer's text */
    size_t word;  /* where its first word behind that begins, or the blanks so far end */
    bool words;   /* it has such, so that it is no call from its first byte on */
    int told;     /* tokens that went into the trace */
    int prefilled; /* of the prompt, as the trace has it; -1: anything is news */
    bool started; /* turn_start was told */
    bool named;   /* stdout has the agent's name before the text */
    bool closed;  /* who asked for a bound on its thinking was told */
    int n_prompt, n_shared, max_tokens;
    double start, first, cancel_s;
};

/* ---------------------------------------------------------------- before */

/* What -n or --answers asks for, or else what the context leaves.  If it leaves nothing, the engine's refusal will have
 * the figures. */
static int choose_max(struct app *a, const struct turn_ask *ask, int *max, struct err *err)
{
    struct engine_count count = {0};
    const int said = (int)(a->o->answers > 0 && !ask->aside ? a->o->answers : a->o->max_tokens);
    *max = ask->max_tokens ? ask->max_tokens : said;
    if (*max > 0) return 0;
    int code = a->ops->count_tokens(a->engine, ask->msgs, ask->n_msgs, &count, err);
    *max = MAX(1, MIN(DEFAULT_TOKENS, a->info->ctx - count.tokens));
    return code;
}

void turn_short(struct app *a, struct event_shortage s)
{
    struct event e = {.kind = EV_SHORTAGE, .shortage = s};
    e.shortage.turn = a->trace.voice->turns + 1;
    trace_put(&a->trace, &e);
}

/* What submit() refused, reckoned as the engine does (check_fits() of sched.c): it says it in words alone. */
static void tell_short(struct app *a, const struct turn_ask *ask, int max_tokens, int code)
{
    struct engine_count count = {0};
    struct engine_snapshot now;
    const bool memory = code == ENGINE_NEVER_FITS || code == ENGINE_NO_MEMORY || code == ENGINE_QUEUE_FULL;
    if (!memory || a->ops->count_tokens(a->engine, ask->msgs, ask->n_msgs, &count, NULL)) return;
    a->ops->snapshot(a->engine, &now);
    const int64_t need = (int64_t)count.tokens + max_tokens, pool = engine_longest(a->info, now.pool_tokens);
    struct event_shortage s = {.prompt_tokens = count.tokens, .answer_tokens = max_tokens};
    if (code == ENGINE_QUEUE_FULL) {
        s.reason = event_str("queue");
    } else if (code == ENGINE_NEVER_FITS && (need > a->info->ctx || need > pool)) {
        s.reason = event_str(need > a->info->ctx ? "context" : "pool");
        s.needs_tokens = need;
        s.has_tokens = need > a->info->ctx ? a->info->ctx : pool;
    } else {
        s.reason = event_str("requests");
        s.has_bytes = (int64_t)(now.text_bytes - now.text_used);
    }
    turn_short(a, s);
}

int turn_refuse(struct app *a, int code, const char *reason, const struct err *err)
{
    a->reason = reason;
    struct event e = {.kind = EV_REFUSAL, .refusal = {
        .turn = a->trace.voice->turns + 1, .termination_reason = event_str(a->reason), .text = event_str(err->text)}};
    trace_put(&a->trace, &e);
    return code;
}

static void announce(struct run *r)
{
    struct app *a = r->a;
    const struct msg *user = &r->ask->msgs[r->ask->n_msgs - 1];
    struct event_str text = r->ask->said.data ? r->ask->said : (struct event_str){user->text, user->len};
    struct event said = {.kind = EV_TURN_USER, .turn_user = {.turn = a->trace.voice->turns, .text = text}};
    const bool remote = a->info->remote; /* who does not say how far it is, nor whether it has begun */
    const char *what = r->ask->aside ? "summing up" : remote ? "waiting for the server" : "reading the prompt";
    progress_start(&r->bar, what, say_on_terminal() && !app_in_company(), r->start);
    r->bar.waits = remote;
    if (r->ask->aside || r->ask->round > 0) return;
    trace_put(&a->trace, &said);
}

/* Once the engine has admitted it: what is shared is known then. */
static void tell_start(struct run *r)
{
    if (r->started || r->ask->aside) return;
    r->started = true;
    r->n_shared = r->prefilled = r->ans->n_shared; /* it is known since the admission */
    struct event e = {.kind = EV_TURN_START, .turn_start = {
        .turn = r->a->trace.voice->turns, .call = r->ask->round + 1, .prompt_tokens = r->n_prompt,
        .shared_tokens = r->n_shared, .max_tokens = r->max_tokens,
        .reserved_tokens = (int64_t)r->n_prompt + r->max_tokens}};
    trace_put(&r->a->trace, &e);
}

/* ---------------------------------------------------------------- while it runs */

static void tell_tokens(struct run *r)
{
    const struct vocab *v = r->a->ops->vocab(r->a->engine);
    int n = atomic_load_explicit(&r->ans->n_tokens, memory_order_acquire);
    for (; r->a->trace.has_file && r->told < n; r->told++) {
        const struct engine_token *t = &r->ans->token[r->told];
        const char *bytes;
        size_t len = vocab_piece(v, t->id, &bytes);
        if (len == 0) len = vocab_spelling(v, t->id, &bytes);
        struct event e = {.kind = EV_TOKEN, .token = {
            .turn = r->a->trace.voice->turns, .index = r->told, .id = t->id, .text = {bytes, len},
            .logprob = (double)t->logprob}};
        trace_put(&r->a->trace, &e);
    }
}

static const char call_open[] = "<tool_call>", call_on_line[] = "\n<tool_call>";

/* Where one begins behind other text with this mark, or may when there is more; n: nowhere. */
static size_t call_behind(struct run *r, size_t at, size_t n, const char *mark)
{
    const char *text = r->ans->text;
    const size_t len = strlen(mark);
    const char *found = at < n ? memmem(text + at, n - at, mark, len) : NULL;
    size_t same = found ? 0 : MIN(n - at, len - 1);
    if (found) return r->word = (size_t)(found - text);
    while (same > 0 && memcmp(text + n - same, mark, same) != 0) same--;
    return r->word = n - same;
}

/* The same where text could say the mark: a line begins with it.  The line's end may be shown. */
static size_t call_below(struct run *r, size_t at, size_t n)
{
    r->words = true;
    const size_t end = call_behind(r, at, n, call_on_line);
    return end + (end < n);
}

/* What may go to stdout of an answer's n bytes: none of what may become a call. */
static size_t visible(struct run *r, size_t n)
{
    const char *text = r->ans->text;
    if (!r->ask->tools) return n;
    size_t start = thinking_follow(&r->thinking, text, n), at = MAX(start, r->word), same = 0;
    if (start == n) return n;
    const enum form_calls calls = turn_calls(r->a);
    if (forms_by_tokens(calls)) return call_behind(r, at, n, call_open); /* no text but a call says that */
    if (forms_in_tags(calls)) return r->word = forms_tags_begin(text, at, n);
    if (forms_in_python(calls)) {
        const size_t own = call_behind(r, at, n, call_open), list = forms_python_begin(text, at, n);
        return r->word = MIN(own, list);
    }
    if (r->words) return call_below(r, at, n);
    while (at < n && strchr(" \t\r\n", text[at])) at++;
    r->word = at;
    const char first = calls == FORM_CALLS_LLAMA3 ? '{' : forms_in_list(calls) ? '[' : '\0';
    if (at < n && first && text[at] == first) return start;
    while (at + same < n && same < sizeof call_open - 1 && text[at + same] == call_open[same]) same++;
    if (at + same == n || same == sizeof call_open - 1) return start;
    return r->thinking.part == THINKING_BEFORE ? n : call_below(r, at, n); /* it may be the tag of thinking yet */
}

static void show(struct run *r, size_t upto)
{
    if (!r->a->o->json && !r->ask->silent && upto > r->out) {
        const char *name = r->a->trace.voice->name;
        if (*name && !r->named) { /* one of several */
            out_put(&r->a->answers, name, strlen(name));
            out_put(&r->a->answers, ": ", 2);
        }
        r->named = true;
        out_put(&r->a->answers, r->ans->text + r->out, upto - r->out);
        r->out = upto;
    }
}

static void tell_text(struct run *r)
{
    struct app *a = r->a;
    size_t len = atomic_load_explicit(&r->ans->text_len, memory_order_acquire);
    if (len == r->shown) return;
    progress_end(&r->bar);
    struct event e = {.kind = EV_TEXT, .text = {
        .turn = a->trace.voice->turns, .text = {r->ans->text + r->shown, len - r->shown}}};
    trace_put(&a->trace, &e);
    show(r, visible(r, len));
    r->shown = len;
}

static void tell_closed(struct run *r)
{
    if (r->closed || !r->ask->closed || !atomic_load_explicit(&r->ans->closed, memory_order_acquire)) return;
    r->closed = true;
    r->ask->closed(r->ask->self);
}

static void tell_growth(struct run *r)
{
    if (r->first == 0 && atomic_load_explicit(&r->ans->n_tokens, memory_order_acquire) > 0) r->first = progress_clock();
    if (r->ask->aside) {
        r->shown = atomic_load_explicit(&r->ans->text_len, memory_order_acquire);
        app_memory(r->a);
        return;
    }
    tell_tokens(r);
    tell_text(r);
    tell_closed(r);
    if (r->ask->grew) r->ask->grew(r->ask->self, r->ans);
    app_memory(r->a);
}

static void tell_prefill(struct run *r, const struct engine_event *ev)
{
    struct event e = {.kind = EV_PREFILL, .prefill = {.turn = r->a->trace.voice->turns, .done = ev->n, .of = ev->of}};
    if (!r->ask->aside && ev->n != r->prefilled) trace_put(&r->a->trace, &e); /* else a step amid a pass */
    r->prefilled = ev->n;
    progress_update(&r->bar, (uint64_t)ev->n, (uint64_t)ev->of, progress_clock());
}

static void tell_parked(struct run *r, const struct engine_event *ev)
{
    bool parked = ev->kind == ENGINE_PARKED;
    struct event e = {.kind = EV_PARKED, .parked = {
        .turn = r->a->trace.voice->turns, .change = event_str(parked ? "parked" : "resumed"),
        .tokens = atomic_load(&r->ans->n_tokens)}};
    r->prefilled = -1; /* computed again, perhaps */
    if (!r->ask->aside) trace_put(&r->a->trace, &e);
}

static bool has_ended(const struct run *r)
{
    return atomic_load_explicit(&r->ans->end, memory_order_acquire) != END_NONE;
}

static void look_at_queue(struct app *a, int id)
{
    struct engine_wait w;
    a->ops->waits(a->engine, id, &w);
    if (w.what == WAIT_NOTHING) return;
    snprintf(a->queue.who, sizeof a->queue.who, "%s", a->trace.voice->name);
    a->queue.pages = w.what == WAIT_PAGES ? w.pages : 0;
}

/* Steps until the answer has its end.  -1: the engine left it without one. */
static int step_to_end(struct run *r, int id, struct err *err)
{
    struct app *a = r->a;
    bool cancelled = false;
    for (int faults = 0; !has_ended(r);) {
        if (!cancelled && (signals_pending() || a->answers.failed || a->trace.voice->cancelled)) {
            a->ops->cancel(a->engine, id);
            if (signals_pending()) r->cancel_s = progress_clock() - signals_since();
            else if (a->trace.voice->cancelled) r->cancel_s = progress_clock() - a->trace.voice->cancelled_at;
            cancelled = true;
        }
        int n = app_step(a, err);
        faults = n < 0 ? faults + 1 : 0; /* in a row: a pass of others that failed is no fault of this one */
        if (faults == FAULTS) return -1;
        if (!r->started && !r->ask->aside) look_at_queue(a, id);
        if (n == 0 && !has_ended(r)) return err_set(err, -1, "the engine stopped without ending the answer");
        for (int i = 0; i < n; i++) {
            if (a->ev[i].id == id) tell_start(r);
            if (a->ev[i].id != id) continue;
            if (a->ev[i].kind == ENGINE_PREFILL) tell_prefill(r, &a->ev[i]);
            if (a->ev[i].kind == ENGINE_PARKED || a->ev[i].kind == ENGINE_RESUMED) tell_parked(r, &a->ev[i]);
        }
        tell_growth(r);
    }
    return 0;
}

/* ---------------------------------------------------------------- after */

static const char *reason_of(const struct turn_result *res)
{
    const enum engine_end end = res->end;
    if (end == END_STOP || end == END_LENGTH) return "completed";
    if (end == END_CANCELLED) return "cancelled";
    if (end == END_OOM) return "out_of_memory";
    if (res->too_long) return app_refusal(ENGINE_NEVER_FITS);
    return end == END_NO_TOKEN ? "input_error" : "internal";
}

static void sum_up(struct run *r, struct turn_result *res)
{
    double end = progress_clock(), prefill = r->first - r->start, decode = end - r->first;
    res->n_prompt = r->n_prompt;
    res->max_tokens = r->max_tokens;
    res->n_tokens = atomic_load(&r->ans->n_tokens);
    res->cancel_s = r->cancel_s;
    res->first_s = r->first > 0 ? prefill : 0;
    res->total_s = end - r->start;
    bool read = r->first > 0 && prefill > 0, wrote = res->n_tokens > 1 && decode > 0;
    res->prefill_rate = read ? (res->n_prompt - r->n_shared) / prefill : (double)NAN;
    res->decode_rate = wrote ? (res->n_tokens - 1) / decode : (double)NAN;
    const size_t at = r->ask->aside ? thinking_end(r->ans->text, r->shown) : 0; /* no one asked for that */
    buf_put(&res->text, r->ans->text + at, r->shown - at);
    if (!r->ask->ids) return;
    int n = atomic_load(&r->ans->n_tokens);
    for (int i = 0; i < r->ans->n_prompt; i++) ids_put(&res->ids, r->ans->prompt[i]);
    for (int i = 0; i < n; i++) ids_put(&res->ids, r->ans->token[i].id);
}

static bool says_call(const struct run *r)
{
    struct form_calls_said calls;
    size_t at = thinking_end(r->ans->text, r->shown);
    if (forms_read_calls(turn_calls(r->a), r->ans->text + at, r->shown - at, &calls, NULL)) return false;
    forms_calls_free(&calls);
    return true;
}

/* Whether there are words behind the calls, which are shown from there on then. */
static bool goes_on_behind(struct run *r)
{
    const char *text = r->ans->text;
    const size_t at = thinking_end(text, r->shown);
    const size_t lists = forms_in_python(turn_calls(r->a)) ? forms_python_end(text + at, r->shown - at) : 0;
    size_t from = at + lists;
    if (lists == 0) return false;
    while (from < r->shown && strchr(" \t\r\n", text[from])) from++;
    if (from == r->shown) return false;
    r->out = from;
    return true;
}

static void tell_oom(struct run *r)
{
    const struct engine_oom *o = &r->ans->oom;
    struct event e = {.kind = EV_OOM, .oom = {
        .turn = r->a->trace.voice->turns, .policy = event_str(naive_name(o->policy)),
        .what = event_str(ledger_name(o->what)), .request = o->id, .page = o->page,
        .wanted_bytes = (int64_t)o->wanted, .size_bytes = (int64_t)o->size, .free_bytes = (int64_t)o->free,
        .hole_bytes = (int64_t)o->hole, .owners = o->owners, .largest_bytes = (int64_t)o->owner[0].bytes}};
    trace_put(&r->a->trace, &e);
}

/* Nobody is to take a part for the whole.  (A stream of events has the end's name, the full screen says it below the
 * answer, and --answers asked for it.) */
static void tell_cut(const struct run *r, const struct turn_result *res)
{
    const struct app *a = r->a;
    if (res->end != END_LENGTH || a->o->answers > 0 || say_diverted()) return;
    const bool full = res->n_prompt + res->n_tokens >= a->info->ctx;
    const bool thinks = res->text.len > 0 && thinking_end(res->text.data, res->text.len) == res->text.len;
    const bool aside = thinks && !full && !a->o->prompt && a->o->thinking <= 0; /* it is for chats, and not yet given */
    const char *more = a->o->crew ? "the crew's \"answer\" allows more" : "-n allows more";
    say("the answer was cut at %d token%s%s: %s%s", res->max_tokens, plural(res->max_tokens),
        thinks ? ", while the model was thinking" : "",
        full ? "the context is full" : more, aside ? ", --thinking N sets more aside" : "");
}

static void finish(struct run *r, struct turn_result *res, const struct err *err)
{
    struct app *a = r->a;
    progress_end(&r->bar);
    sum_up(r, res);
    if (r->ask->aside) return;
    if (!a->o->json && !r->ask->silent) {
        bool is_call = r->ask->tools && says_call(r);
        const bool words = !is_call || goes_on_behind(r); /* it only looked like one, or is not all */
        if (words) show(r, r->shown);
        bool open_line = res->text.len == 0 || res->text.data[res->text.len - 1] != '\n';
        bool answered = res->text.len > 0 || res->end == END_STOP || res->end == END_LENGTH || a->answers.terminal;
        if (open_line && answered && words) out_put(&a->answers, "\n", 1);
        out_end(&a->answers);
        tell_cut(r, res);
    }
    if (res->end == END_OOM) tell_oom(r);
    if (res->end == END_FAULT || res->end == END_OOM) {
        struct event e = {.kind = EV_ERROR, .error = {.where = event_str("turn"), .text = event_str(err->text)}};
        trace_put(&a->trace, &e);
    }
    struct event e = {.kind = EV_TURN_END, .turn_end = {
        .turn = a->trace.voice->turns, .call = r->ask->round + 1, .end = event_str(engine_end_name(res->end)),
        .termination_reason = event_str(reason_of(res)),
        .text = {res->text.data ? res->text.data : "", res->text.len},
        .prompt_tokens = res->n_prompt, .tokens = res->n_tokens, .first_token_s = res->first_s, .total_s = res->total_s,
        .prefill_rate = res->prefill_rate, .decode_rate = res->decode_rate, .cancel_s = res->cancel_s}};
    trace_put(&a->trace, &e);
}

/* Where other turns go on, no room now is room later; who asked for it first is the first to have it.  After passes
 * with nothing to do it gives up: an answer that had ended may have been dropped since the first of them. */
static int submit(struct app *a, const struct request *q, int *id, struct err *err)
{
    uint64_t mine = a->tickets++;
    int code, idle = 0;
    while (a->serving != mine) app_step(a, NULL); /* whoever is before it goes on, or gives up */
    for (;;) {
        code = a->ops->submit(a->engine, q, id, err);
        bool full = code == ENGINE_QUEUE_FULL || code == ENGINE_NO_MEMORY;
        if (!full || !app_in_company() || signals_pending() || a->trace.voice->cancelled) break;
        idle = app_step(a, NULL) > 0 ? 0 : idle + 1;
        if (idle == FAULTS) break;
    }
    a->serving++;
    return code;
}

int turn_run(struct app *a, const struct turn_ask *ask, struct turn_result *result, struct err *err)
{
    struct run r = {.a = a, .ask = ask, .start = progress_clock(), .cancel_s = (double)NAN};
    struct request q = {
        .msgs = ask->msgs, .n_msgs = ask->n_msgs, .sampling = ask->sampling ? *ask->sampling : a->sampling,
        .stop = a->o->stop, .n_stop = a->o->n_stop,
        .top_n = ask->top_n, .no_logprobs = !a->trace.has_file && a->o->top_logprobs < 0,
        .grammar = ask->grammar, .fresh = a->o->off.share,
        .ignore_end = a->o->answers > 0 && !ask->aside, .allowed = ask->aside ? NULL : a->plain,
        .thinking = ask->aside && a->info->thinks ? THINKING_OFF : ask->thinking ? ask->thinking : turn_thinking(a),
    };
    int id;
    *result = (struct turn_result){0};
    /* Else every turn would draw the same numbers, and every agent. */
    q.sampling.seed += (uint64_t)a->trace.voice->turns + ((uint64_t)a->trace.voice->agent << 32);
    q.agent = a->trace.voice->agent;
    if (ask->aside) {
        q.sampling = SAMPLING_GREEDY;
        q.n_stop = 0;
    }
    int code = choose_max(a, ask, &q.max_tokens, err);
    if (!code) code = submit(a, &q, &id, err);
    if (code && ask->aside) return code;
    if (code) {
        tell_short(a, ask, q.max_tokens, code);
        return turn_refuse(a, code, app_refusal(code), err);
    }

    if (!ask->aside) {
        a->turns += ask->round == 0;
        a->trace.voice->turns += ask->round == 0;
        a->reason = NULL;
    }
    r.ans = a->ops->answer(a->engine, id);
    assert(r.ans);
    r.n_prompt = r.ans->n_prompt;
    r.max_tokens = r.ans->max_tokens;
    announce(&r);
    int bad = step_to_end(&r, id, err);
    tell_start(&r);
    tell_growth(&r);
    result->end = bad ? END_FAULT : (enum engine_end)atomic_load(&r.ans->end);
    result->too_long = !bad && r.ans->too_long;
    bool failed = result->end == END_FAULT || result->end == END_OOM;
    const int why = result->too_long ? ENGINE_NEVER_FITS : ENGINE_FAULT;
    if (!bad && failed && *r.ans->fault) err_set(err, why, "%s", r.ans->fault);
    finish(&r, result, err);
    a->ops->drop(a->engine, id);
    app_memory(a);
    return 0;
}

enum form_calls turn_calls(const struct app *a)
{
    static const struct { const char *template; enum form_calls calls; } own[] = {
        {"llama3", FORM_CALLS_LLAMA3}, {"mistral-v3", FORM_CALLS_MISTRAL3}, {"mistral-v7", FORM_CALLS_MISTRAL7},
        {"mistral-v11", FORM_CALLS_MISTRAL11}, {"mistral-v13", FORM_CALLS_MISTRAL11},
        {"harmony", FORM_CALLS_HARMONY}, {"qwen3.5", FORM_CALLS_QWEN35}, {"qwen3-coder", FORM_CALLS_QWEN3_CODER},
        {"granite3.0", FORM_CALLS_GRANITE3}, {"granite3", FORM_CALLS_GRANITE3}, {"lfm2", FORM_CALLS_LFM2},
        {"lfm2.5", FORM_CALLS_LFM2},
    };
    enum form_calls calls = FORM_CALLS_OWN;
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const bool held = !a->o->strict_tools || own[i].calls == FORM_CALLS_HARMONY;
        if (held && strcmp(a->info->template, own[i].template) == 0) calls = own[i].calls;
    }
    const bool told = forms_by_tokens(calls) || forms_in_tags(calls) || forms_in_python(calls);
    return told && a->info->remote ? FORM_CALLS_OWN : calls; /* the server reads them, and gives JSON */
}

int turn_thinking(const struct app *a)
{
    if (a->o->no_thinking && a->info->thinks) return THINKING_OFF;
    return a->o->serve ? (int)a->o->thinking : THINKING_FREE;
}

bool turn_retells(const struct app *a)
{
    enum template_kind kind;
    return !a->info->remote && template_by_name(a->info->template, &kind) == 0 && template_retells(kind);
}

int turn_exit(int code, const struct turn_result *result)
{
    if (code) return app_exit(code);
    switch (result->end) {
    case END_FAULT: return app_exit(result->too_long ? ENGINE_NEVER_FITS : ENGINE_FAULT);
    case END_OOM: return EXIT_REFUSED;
    case END_NO_TOKEN: return EXIT_USAGE;
    case END_CANCELLED: return signals_pending() ? 128 + signals_pending() : EXIT_INTERNAL;
    default: return EXIT_DONE;
    }
}
