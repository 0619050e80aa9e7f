/* request.c - checks, copies and grows one request. */
#include "engine/request.h"
#include <math.h>

const char *engine_end_name(enum engine_end end)
{
    static const char *const name[] = {"none", "stop", "length", "cancelled", "no_token", "fault", "out_of_memory"};
    assert((size_t)end < COUNT_OF(name));
    return name[end];
}

/* !(a <= x) is also true for NaN: one comparison refuses both. */
static int check_range(const char *field, double x, double from, double to, struct err *err)
{
    if (from <= x && x <= to) return 0;
    return err_set(err, ENGINE_BAD_REQUEST, "%s is %g; allowed is %g to %g", field, x, from, to);
}

static int check_whole(const char *field, int64_t x, int64_t from, int64_t to, struct err *err)
{
    if (from <= x && x <= to) return 0;
    return err_set(err, ENGINE_BAD_REQUEST, "%s is %lld; allowed is %lld to %lld", field, (long long)x, (long long)from,
                   (long long)to);
}

int sampling_check(const struct sampling *s, int vocab, struct err *err)
{
    if (check_range("temperature", (double)s->temp, 0, 100, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("top-k", s->top_k, 0, INT32_MAX, err)) return ENGINE_BAD_REQUEST;
    if (check_range("top-p", (double)s->top_p, 0, 1, err)) return ENGINE_BAD_REQUEST;
    if (check_range("min-p", (double)s->min_p, 0, 1, err)) return ENGINE_BAD_REQUEST;
    if (check_range("repetition penalty", (double)s->repeat, 0.01, 100, err)) return ENGINE_BAD_REQUEST;
    if (check_range("frequency penalty", (double)s->frequency, -100, 100, err)) return ENGINE_BAD_REQUEST;
    if (check_range("presence penalty", (double)s->presence, -100, 100, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("penalty window", s->recent, RECENT_ANSWER, INT32_MAX, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("number of logit biases", s->n_bias, 0, ENGINE_MAX_BIAS, err)) return ENGINE_BAD_REQUEST;
    for (int i = 0; i < s->n_bias; i++) {
        if (check_whole("token id of a logit bias", s->bias[i].id, 0, vocab - 1, err)) return ENGINE_BAD_REQUEST;
        if (s->bias[i].add == -INFINITY) continue; /* a ban */
        if (check_range("logit bias", (double)s->bias[i].add, -1e4, 1e4, err)) return ENGINE_BAD_REQUEST;
    }
    return 0;
}

int request_check(const struct request *r, const int32_t *prompt, int n, const struct vocab *v, int embd,
                  struct err *err)
{
    struct text text;
    int least = r->score || r->pool ? 0 : 1;
    if (check_whole("max_tokens", r->max_tokens, least, r->pool ? 0 : INT32_MAX / 2, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("pool", r->pool, POOL_NONE, POOL_LAST, err)) return ENGINE_BAD_REQUEST;
    if (r->pool && embd == 0) return err_set(err, ENGINE_BAD_REQUEST, "this engine makes no vectors of prompts");
    if (check_whole("thinking", r->thinking, THINKING_OFF, INT32_MAX, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("top_n", r->top_n, 0, KERN_TOP, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("agent", r->agent, 0, ENGINE_AGENTS - 1, err)) return ENGINE_BAD_REQUEST;
    if (check_whole("number of stop strings", r->n_stop, 0, ENGINE_STOPS, err)) return ENGINE_BAD_REQUEST;
    if (n < 1) return err_set(err, ENGINE_BAD_REQUEST, "the prompt is empty: there is nothing to continue");
    for (int i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= vocab_size(v))
            return err_set(err, ENGINE_BAD_REQUEST, "prompt token %d has id %d; the vocabulary has 0 to %d", i,
                           prompt[i], vocab_size(v) - 1);
    for (int i = 0; r->ids && r->segment && i < n; i++)
        if (r->segment[i] >= SEGMENTS)
            return err_set(err, ENGINE_BAD_REQUEST, "prompt token %d is of segment %d; there are %d", i, r->segment[i],
                           SEGMENTS);
    if (text_init(&text, r->stop, r->n_stop, err)) return ENGINE_BAD_REQUEST;
    return sampling_check(&r->sampling, vocab_size(v), err);
}

/* ------------------------------------------------------------------ memory */

size_t request_token_text(const struct vocab *v)
{
    size_t most = harmony_speaks(v) || harmony_speaks_mistral(v) ? HARMONY_ADDS : 1;
    for (int32_t id = 0; id < vocab_size(v); id++) {
        const char *bytes;
        size_t n = vocab_piece(v, id, &bytes), text = 0;
        for (size_t i = 0; i < n; i++) text += (unsigned char)bytes[i] < 0x80 ? 1 : 3;
        most = MAX(most, text);
    }
    return most;
}

/* The parts of the block, in order of their alignment. */
struct layout {
    size_t ids, token, top, prompt_logprob, prompt_top, vector, kind, text, end;
};

static bool part(size_t *at, size_t *end, size_t n, size_t each)
{
    uint64_t bytes, sum;
    *at = *end;
    if (size_mul(n, each, &bytes) || size_add(*end, bytes, &sum) || sum > PTRDIFF_MAX) return false;
    *end = (size_t)size_align(sum, 8);
    return true;
}

/* Of the prompt's tokens. */
static bool keeps_tops(const struct request *r) { return r->score && r->top_n > 0; }

static bool lay_out(struct layout *l, const struct request *r, size_t n, size_t token_text, int embd)
{
    size_t answer = (size_t)MAX(r->max_tokens, 0), text;
    *l = (struct layout){.end = (size_t)size_align(sizeof(struct request_live), 8)};
    return n <= INT32_MAX && part(&l->ids, &l->end, n + answer, sizeof(int32_t)) &&
           part(&l->token, &l->end, answer, sizeof(struct engine_token)) &&
           part(&l->top, &l->end, r->top_n > 0 ? answer : 0, sizeof(struct engine_top)) &&
           part(&l->prompt_logprob, &l->end, r->score ? n : 0, sizeof(float)) &&
           part(&l->prompt_top, &l->end, keeps_tops(r) ? n * (size_t)r->top_n : 0, sizeof(struct engine_likely)) &&
           part(&l->vector, &l->end, r->pool ? (size_t)embd : 0, 3 * sizeof(float)) &&
           part(&l->kind, &l->end, n + answer, 1) && part(&text, &l->end, answer, token_text) &&
           part(&l->text, &l->end, text_room(0) + 1, 1) && (l->text = text, true);
}

size_t request_bytes(const struct request *r, size_t n, size_t token_text, int embd)
{
    struct layout l;
    return lay_out(&l, r, n, token_text, embd) ? l.end : SIZE_MAX;
}

/* request_check() has seen the request's own. */
static void begin_text(struct text *t, const struct request *r, const char *stop)
{
    const char *all[TEXT_STOPS];
    int n = 0;
    static_assert((int)TEXT_STOPS > (int)ENGINE_STOPS, "one more has room");
    for (; n < r->n_stop; n++) all[n] = r->stop[n];
    if (stop && !r->ignore_end) all[n++] = stop;
    text_init(t, all, n, NULL);
}

struct request_live *request_make(const struct request *r, const int32_t *prompt, const uint8_t *segment, int n,
                                  size_t token_text, int embd, const char *stop, void *mem)
{
    struct layout l;
    struct request_live *q = mem;
    char *at = mem;
    bool ok = lay_out(&l, r, (size_t)n, token_text, embd);
    assert(ok);
    memset(q, 0, sizeof *q);
    q->ids = (int32_t *)(void *)(at + l.ids);
    q->token = (struct engine_token *)(void *)(at + l.token);
    q->top = r->top_n > 0 ? (struct engine_top *)(void *)(at + l.top) : NULL;
    q->prompt_logprob = r->score ? (float *)(void *)(at + l.prompt_logprob) : NULL;
    q->prompt_top = keeps_tops(r) ? (struct engine_likely *)(void *)(at + l.prompt_top) : NULL;
    q->vector = r->pool ? (float *)(void *)(at + l.vector) : NULL;
    q->kind = (uint8_t *)at + l.kind;
    q->text_buf = at + l.text;
    begin_text(&q->text, r, stop);
    memcpy(q->ids, prompt, (size_t)n * sizeof *prompt);
    if (segment) memcpy(q->kind, segment, (size_t)n);
    else memset(q->kind, SEGMENT_HISTORY, (size_t)n);
    memset(q->kind + n, SEGMENT_ANSWER, (size_t)r->max_tokens);
    if (r->score) memset(q->prompt_logprob, 0, (size_t)n * sizeof *q->prompt_logprob);
    for (int i = 0; i < n * r->top_n && q->prompt_top; i++) q->prompt_top[i].id = -1; /* what is not known yet: none */
    if (r->pool) memset(q->vector, 0, (size_t)embd * sizeof *q->vector);
    q->pool = r->pool;
    q->pooled = r->pool == POOL_LAST ? n - 1 : 0;
    q->n_ids = n;
    q->park_first = -1;
    q->agent = r->agent;
    q->priority = r->priority;
    q->sampling = r->sampling;
    for (int i = 0; i < r->sampling.n_bias; i++) q->bias[i] = r->sampling.bias[i];
    q->sampling.bias = q->bias;
    q->allowed = r->allowed;
    q->score = r->score;
    q->fresh = r->fresh;
    q->no_logprobs = r->no_logprobs;
    q->ignore_end = r->ignore_end;
    draft_begin(&q->draft);
    q->text_buf[0] = '\0';
    q->a = (struct answer){.prompt = q->ids, .n_prompt = n, .text = q->text_buf, .token = q->token, .top = q->top,
                           .prompt_logprob = q->prompt_logprob, .prompt_top = q->prompt_top, .vector = q->vector,
                           .max_tokens = r->max_tokens,
                           .top_n = r->top_n};
    return q;
}

/* ------------------------------------------------------------------ growing */

void request_bound(struct request_live *q, int thinking, bool begun, const struct request_marks *marks)
{
    const bool off = thinking == THINKING_OFF;
    q->most_thinking = MAX(thinking, 0);
    q->marks = marks;
    q->decided = off ? marks->skip : marks->open;
    q->n_decided = off ? marks->n_skip : begun ? marks->n_open : 0;
    q->untold = off;
}

/* Harmony's marks close a thought, not a head: one that is begun may open the answer. */
static bool may_close(const struct request_live *q)
{
    return !q->channels.on || (q->channels.body && q->channels.kind == HARMONY_THOUGHTS);
}

/* A token more is there. */
static void look_at_thinking(struct request_live *q)
{
    const size_t len = atomic_load_explicit(&q->a.text_len, memory_order_relaxed);
    const int tokens = atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed);
    if (q->most_thinking == 0 || q->n_decided > 0) return;
    const bool inside = len > 0 && thinking_follow(&q->thinks, q->text_buf, len) == len &&
                        q->thinks.part == THINKING_INSIDE;
    if (q->thinks.part > THINKING_INSIDE) q->most_thinking = 0; /* it is over */
    if (!inside || tokens < q->most_thinking || !may_close(q)) return;
    q->decided = q->marks->close;
    q->n_decided = q->marks->n_close;
    if (q->carried) q->n_decided = strict_may(q->carried, &q->strict, q->decided, q->n_decided); /* or a call comes */
    q->most_thinking = 0;
    atomic_store_explicit(&q->a.closed, true, memory_order_release);
}

struct kern_sample request_sample(const struct request_live *q, int drafts)
{
    const struct sampling *s = &q->sampling;
    const int n = q->n_ids + drafts, all = s->recent == RECENT_ANSWER ? n - q->a.n_prompt : n;
    const int recent = s->recent < 0 ? all : MIN(s->recent, all);
    return (struct kern_sample){
        .temp = s->temp, .top_k = s->top_k, .top_p = s->top_p, .min_p = s->min_p,
        .repeat = s->repeat, .frequency = s->frequency, .presence = s->presence,
        .recent = q->ids + n - recent, .n_recent = recent,
        .bias = q->bias, .n_bias = s->n_bias, .allowed = q->allowed,
        .seed = s->seed, .step = (uint64_t)(atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed) + drafts),
        .top_n = q->a.top_n, .target = q->n_decided > drafts ? q->decided[drafts] : -1, .no_logprob = q->no_logprobs,
    };
}

static void add_text(struct request_live *q, const char *bytes, size_t n, bool last)
{
    size_t len = atomic_load_explicit(&q->a.text_len, memory_order_relaxed);
    len += text_feed(&q->text, bytes, n, q->text_buf + len);
    if (last) len += text_finish(&q->text, q->text_buf + len);
    atomic_store_explicit(&q->a.text_len, len, memory_order_release);
}

/* Stop strings do not cut a call. */
static void add_inside(struct request_live *q, const char *bytes, size_t n)
{
    int stops = q->text.n_stops;
    q->text.n_stops = 0;
    add_text(q, bytes, n, false);
    q->text.n_stops = stops;
}

static void tell(void *self, const char *bytes, size_t n, bool apart)
{
    struct request_live *q = self;
    if (q->text.stopped >= 0) return;
    if (apart || (q->carried && strict_is_whole(q->carried))) add_inside(q, bytes, n);
    else add_text(q, bytes, n, false);
}

void request_channels(struct request_live *q, const struct vocab *v, bool mistral)
{
    if (mistral) harmony_begin_mistral(&q->channels);
    else harmony_begin(&q->channels, v, q->ids, (size_t)q->a.n_prompt);
}

void request_end_prompt(struct request_live *q, int embd)
{
    for (int i = 0; i < embd && q->pool == POOL_MEAN; i++) q->vector[i] /= (float)q->a.n_prompt;
    request_end(q, END_LENGTH, NULL);
}

void request_end(struct request_live *q, enum engine_end why, const char *fault)
{
    if (q->channels.on) harmony_end(&q->channels, why == END_STOP, &(struct harmony_out){tell, q});
    if (q->text.stopped < 0) add_text(q, "", 0, true);
    if (fault) snprintf(q->a.fault, sizeof q->a.fault, "%s", fault);
    atomic_store_explicit(&q->a.end, (int)why, memory_order_release);
}

static void put_top(struct engine_top *to, const struct kern_choice *c)
{
    memcpy(to->id, c->top_id, sizeof c->top_id);
    memcpy(to->logprob, c->top_logprob, sizeof c->top_logprob);
}

void request_score(struct request_live *q, int at, const struct kern_choice *c)
{
    q->prompt_logprob[at] = c->logprob;
    for (int i = 0; i < q->a.top_n && q->prompt_top; i++)
        q->prompt_top[(size_t)at * (size_t)q->a.top_n + (size_t)i] =
            (struct engine_likely){c->top_id[i], c->top_logprob[i]};
}

void request_add(struct request_live *q, const struct kern_choice *c, const struct vocab *v)
{
    const bool rules = q->allowed || q->carried || q->sampling.n_bias > 0;
    if (c->id < 0 && !rules) {
        request_end(q, END_FAULT, "no logit is a number: damaged weights, or keys and values too large for their type "
                    "(--kv-type)");
        return;
    }
    if (c->id < 0) {
        request_end(q, END_NO_TOKEN, NULL);
        return;
    }
    if (!q->ignore_end && vocab_is_end(v, c->id)) {
        request_end(q, END_STOP, NULL);
        return;
    }
    const char *piece;
    size_t n_piece = vocab_piece(v, c->id, &piece), outside = n_piece;
    if (q->carried && !strict_accept(q->carried, &q->strict, c->id, piece, n_piece, &outside)) {
        request_end(q, END_NO_TOKEN, NULL);
        return;
    }
    int n = atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed);
    q->ids[q->n_ids++] = c->id;
    const bool decided = q->n_decided > 0; /* no stop string is seen in it */
    q->decided += decided;
    q->n_decided -= decided;
    if (decided && q->untold) n_piece = 0;
    if (decided) outside = 0;
    if (q->channels.on) harmony_token(&q->channels, v, c->id, piece, n_piece, &(struct harmony_out){tell, q});
    else add_text(q, piece, outside, false);
    if (!q->channels.on && outside < n_piece && q->text.stopped < 0) add_inside(q, piece + outside, n_piece - outside);
    size_t text_end = atomic_load_explicit(&q->a.text_len, memory_order_relaxed);
    q->token[n] = (struct engine_token){.id = c->id, .logprob = c->logprob, .text_end = (uint32_t)text_end};
    if (q->top) put_top(&q->top[n], c);
    atomic_store_explicit(&q->a.n_tokens, n + 1, memory_order_release);
    look_at_thinking(q);
    if (q->text.stopped >= 0) request_end(q, END_STOP, NULL);
    else if (n + 1 == q->a.max_tokens) request_end(q, END_LENGTH, NULL);
}
