/* turn.c - submit, step until the end, tell everyone. */
#include "app/turn.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "memory/forms.h"
#include <math.h>

enum { DEFAULT_TOKENS = 512, EVENTS = 64, FAULTS = 3 };

struct run {
    struct app *a;
    const struct turn_ask *ask;
    const struct answer *ans;
    struct progress bar;
    size_t shown; /* bytes of the answer's text that were told */
    size_t out;   /* ... that went to stdout */
    int told;     /* tokens that went into the trace */
    bool started; /* turn_start was told */
    double start, first, cancel_s;
};

/* ---------------------------------------------------------------- before */

/* What -n asks for, or else what the context leaves.  If it leaves nothing, the engine's refusal will have the
 * figures. */
static int choose_max(struct app *a, const struct turn_ask *ask, int *max, struct err *err)
{
    struct engine_count count = {0};
    *max = ask->max_tokens ? ask->max_tokens : (int)a->o->max_tokens;
    if (*max > 0) return 0;
    int code = a->ops->count_tokens(a->engine, ask->msgs, ask->n_msgs, &count, err);
    *max = MAX(1, MIN(DEFAULT_TOKENS, a->info->ctx - count.tokens));
    return code;
}

int turn_refuse(struct app *a, int code, const char *reason, const struct err *err)
{
    a->reason = reason;
    struct event e = {.kind = EV_REFUSAL, .refusal = {
        .turn = a->turns + 1, .termination_reason = event_str(a->reason), .text = event_str(err->text)}};
    trace_put(&a->trace, &e);
    return code;
}

static void announce(struct run *r)
{
    struct app *a = r->a;
    const struct msg *user = &r->ask->msgs[r->ask->n_msgs - 1];
    struct event said = {.kind = EV_TURN_USER, .turn_user = {.turn = a->turns, .text = {user->text, user->len}}};
    progress_start(&r->bar, r->ask->aside ? "summing up" : "reading the prompt", say_on_terminal(), r->start);
    if (r->ask->aside || r->ask->round > 0) return;
    trace_put(&a->trace, &said);
}

/* Once the engine has admitted it: what is shared is known then. */
static void tell_start(struct run *r)
{
    if (r->started || r->ask->aside) return;
    r->started = true;
    struct event e = {.kind = EV_TURN_START, .turn_start = {
        .turn = r->a->turns, .call = r->ask->round + 1, .prompt_tokens = r->ans->n_prompt, .shared_tokens = r->ans->n_shared,
        .max_tokens = r->ans->max_tokens, .reserved_tokens = (int64_t)r->ans->n_prompt + r->ans->max_tokens}};
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
            .turn = r->a->turns, .index = r->told, .id = t->id, .text = {bytes, len}, .logprob = (double)t->logprob}};
        trace_put(&r->a->trace, &e);
    }
}

/* What may go to stdout of an answer's n bytes: none while it may become a call. */
static size_t visible(const struct run *r, size_t n)
{
    static const char call[] = "<tool_call>";
    size_t front = 0, same = 0;
    if (!r->ask->tools) return n;
    while (front < n && strchr(" \t\r\n", r->ans->text[front])) front++;
    while (front + same < n && same < sizeof call - 1 && r->ans->text[front + same] == call[same]) same++;
    return front + same == n || same == sizeof call - 1 ? 0 : n;
}

static void show(struct run *r, size_t upto)
{
    if (!r->a->o->json && !r->ask->silent && upto > r->out) {
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
        .turn = a->turns, .text = {r->ans->text + r->shown, len - r->shown}}};
    trace_put(&a->trace, &e);
    show(r, visible(r, len));
    r->shown = len;
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
    if (r->ask->grew) r->ask->grew(r->ask->self, r->ans);
    app_memory(r->a);
}

static void tell_prefill(struct run *r, const struct engine_event *ev)
{
    struct event e = {.kind = EV_PREFILL, .prefill = {.turn = r->a->turns, .done = ev->n, .of = ev->of}};
    if (!r->ask->aside) trace_put(&r->a->trace, &e);
    progress_update(&r->bar, (uint64_t)ev->n, (uint64_t)ev->of, progress_clock());
}

static bool has_ended(const struct run *r)
{
    return atomic_load_explicit(&r->ans->end, memory_order_acquire) != END_NONE;
}

/* Steps until the answer has its end.  -1: the engine left it without one. */
static int step_to_end(struct run *r, int id, struct err *err)
{
    struct app *a = r->a;
    struct engine_event ev[EVENTS];
    bool cancelled = false;
    for (int faults = 0; !has_ended(r);) {
        if (!cancelled && (signals_pending() || a->answers.failed)) {
            a->ops->cancel(a->engine, id);
            if (signals_pending()) r->cancel_s = progress_clock() - signals_since();
            cancelled = true;
        }
        int n = a->ops->step(a->engine, ev, EVENTS, err);
        if (n < 0 && ++faults == FAULTS) return -1;
        if (n == 0 && !has_ended(r)) return err_set(err, -1, "the engine stopped without ending the answer");
        for (int i = 0; i < n; i++) {
            if (ev[i].id == id) tell_start(r);
            if (ev[i].kind == ENGINE_PREFILL && ev[i].id == id) tell_prefill(r, &ev[i]);
        }
        tell_growth(r);
    }
    return 0;
}

/* ---------------------------------------------------------------- after */

static const char *reason_of(enum engine_end end)
{
    if (end == END_STOP || end == END_LENGTH) return "completed";
    if (end == END_CANCELLED) return "cancelled";
    if (end == END_OOM) return "out_of_memory";
    return end == END_NO_TOKEN ? "input_error" : "internal";
}

static void sum_up(struct run *r, struct turn_result *res)
{
    double end = progress_clock(), prefill = r->first - r->start, decode = end - r->first;
    res->n_prompt = r->ans->n_prompt;
    res->max_tokens = r->ans->max_tokens;
    res->n_tokens = atomic_load(&r->ans->n_tokens);
    res->cancel_s = r->cancel_s;
    res->first_s = r->first > 0 ? prefill : 0;
    res->total_s = end - r->start;
    bool read = r->first > 0 && prefill > 0, wrote = res->n_tokens > 1 && decode > 0;
    res->prefill_rate = read ? (res->n_prompt - r->ans->n_shared) / prefill : (double)NAN;
    res->decode_rate = wrote ? (res->n_tokens - 1) / decode : (double)NAN;
    buf_put(&res->text, r->ans->text, r->shown);
}

static void finish(struct run *r, struct turn_result *res, const struct err *err)
{
    struct app *a = r->a;
    progress_end(&r->bar);
    sum_up(r, res);
    if (r->ask->aside) return;
    if (!a->o->json && !r->ask->silent) {
        struct form_call call;
        bool is_call = r->ask->tools && r->out == 0 && forms_read_call(r->ans->text, r->shown, &call, NULL) == 0;
        if (is_call) forms_call_free(&call);
        else show(r, r->shown); /* it only looked like one */
        bool open_line = r->shown == 0 || r->ans->text[r->shown - 1] != '\n';
        bool answered = r->shown > 0 || res->end == END_STOP || res->end == END_LENGTH || a->answers.terminal;
        if (open_line && answered && !is_call) out_put(&a->answers, "\n", 1);
        out_end(&a->answers);
    }
    if (res->end == END_FAULT || res->end == END_OOM) {
        struct event e = {.kind = EV_ERROR, .error = {.where = event_str("turn"), .text = event_str(err->text)}};
        trace_put(&a->trace, &e);
    }
    struct event e = {.kind = EV_TURN_END, .turn_end = {
        .turn = a->turns, .call = r->ask->round + 1, .end = event_str(engine_end_name(res->end)),
        .termination_reason = event_str(reason_of(res->end)), .text = {r->ans->text, r->shown},
        .prompt_tokens = res->n_prompt, .tokens = res->n_tokens, .first_token_s = res->first_s, .total_s = res->total_s,
        .prefill_rate = res->prefill_rate, .decode_rate = res->decode_rate, .cancel_s = res->cancel_s}};
    trace_put(&a->trace, &e);
}

int turn_run(struct app *a, const struct turn_ask *ask, struct turn_result *result, struct err *err)
{
    struct run r = {.a = a, .ask = ask, .start = progress_clock(), .cancel_s = (double)NAN};
    struct request q = {
        .msgs = ask->msgs, .n_msgs = ask->n_msgs, .sampling = a->sampling, .stop = a->o->stop, .n_stop = a->o->n_stop,
        .top_n = ask->top_n,
    };
    int id;
    *result = (struct turn_result){0};
    q.sampling.seed += (uint64_t)a->turns; /* else every turn would draw the same numbers */
    if (ask->aside) {
        q.sampling = SAMPLING_GREEDY;
        q.n_stop = 0;
    }
    int code = choose_max(a, ask, &q.max_tokens, err);
    if (!code) code = a->ops->submit(a->engine, &q, &id, err);
    if (code) return ask->aside ? code : turn_refuse(a, code, app_refusal(code), err);

    if (!ask->aside) {
        a->turns += ask->round == 0;
        a->reason = NULL;
    }
    r.ans = a->ops->answer(a->engine, id);
    assert(r.ans);
    announce(&r);
    int bad = step_to_end(&r, id, err);
    tell_start(&r);
    tell_growth(&r);
    result->end = bad ? END_FAULT : (enum engine_end)atomic_load(&r.ans->end);
    bool failed = result->end == END_FAULT || result->end == END_OOM;
    if (!bad && failed && *r.ans->fault) err_set(err, ENGINE_FAULT, "%s", r.ans->fault);
    finish(&r, result, err);
    a->ops->drop(a->engine, id);
    app_memory(a);
    return 0;
}

int turn_exit(int code, const struct turn_result *result)
{
    if (code) return app_exit(code);
    switch (result->end) {
    case END_FAULT: return EXIT_ENGINE;
    case END_OOM: return EXIT_REFUSED;
    case END_NO_TOKEN: return EXIT_USAGE;
    case END_CANCELLED: return signals_pending() ? 128 + signals_pending() : EXIT_INTERNAL;
    default: return EXIT_DONE;
    }
}
