/* serve_say.c - answers as JSON: whole, or piece by piece as server-sent events.
 *
 * A stream's events are made when the connection has room for them, out of the answer's text and how much of it was
 * told already: a client that reads slowly costs no memory, and gets larger pieces. */
#include "app/progress.h"
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include "version.h"

enum { PIECE = 4096 };

bool serve_ended(const struct job *j)
{
    return j->ans && atomic_load_explicit(&j->ans->end, memory_order_acquire) != END_NONE;
}

/* ---------------------------------------------------------------- an answer's parts */

struct parts {
    const char *text;
    size_t n;
    int tokens;
    bool ended;
    enum engine_end end;
    struct api_split split;
    struct api_call call[API_CALLS]; /* once it has ended */
    int calls;
};

static bool is_tool(void *self, const char *name)
{
    const struct job *j = self;
    for (size_t at = 0; at < j->names.len; at += strlen(j->names.data + at) + 1)
        if (strcmp(j->names.data + at, name) == 0) return true;
    return false;
}

static void read_calls(struct job *j, struct parts *p)
{
    enum form_calls how = j->whole_call ? FORM_CALLS_ANY : j->s->model.calls;
    const struct api_part *c = &p->split.call;
    p->calls = c->n > 0 ? api_read_calls(p->text + c->at, c->n, how, is_tool, j, p->call) : 0;
    if (p->calls == 0) { /* it only began like one */
        p->split.content.n = p->n - p->split.content.at;
        return;
    }
    if (j->one_call && p->calls > 1) {
        api_free_calls(p->call + 1, p->calls - 1);
        p->calls = 1;
    }
}

/* Once an answer: its calls get their ids, by which the client sends them back. */
static void name_calls(struct job *j, struct parts *p)
{
    for (int i = 0; i < p->calls; i++) serve_id(j->s, "call_", p->call[i].id, sizeof p->call[i].id);
    if (p->calls > 0) serve_keep(j->s, p->call[0].id, p->text + p->split.call.at, p->split.call.n);
    j->s->counts.calls += (uint64_t)p->calls;
}

/* As far as it came; with the calls once it has ended.  api_free_calls() is due. */
static void look(struct job *j, struct parts *p)
{
    *p = (struct parts){.text = j->ans->text, .ended = serve_ended(j)};
    p->end = (enum engine_end)atomic_load_explicit(&j->ans->end, memory_order_acquire);
    p->n = atomic_load_explicit(&j->ans->text_len, memory_order_acquire);
    p->tokens = atomic_load_explicit(&j->ans->n_tokens, memory_order_acquire);
    if (j->kind == API_COMPLETION) p->split.content.n = p->n;
    else if (j->whole_call) p->split.call.n = p->n;
    else api_split(p->text, p->n, j->tools, j->s->model.calls, p->ended, &p->split);
}

static const char *finish_of(const struct parts *p)
{
    if (p->calls > 0) return "tool_calls";
    return p->end == END_LENGTH ? "length" : "stop";
}

/* What the engine could not do; 0: it did it. */
static int failure(const struct job *j, const struct parts *p, struct api_error *e)
{
    switch (p->end) {
    case END_STOP:
    case END_LENGTH: return 0;
    case END_NO_TOKEN: return api_fail(e, 400, "no_token_left", NULL, "logit_bias and schema left no token to choose");
    case END_CANCELLED: return api_fail(e, 503, "shutting_down", NULL, "The server is shutting down");
    default: return api_fail(e, 500, "engine_failed", NULL, "%s", j->ans->fault);
    }
}

/* ---------------------------------------------------------------- JSON */

static json_t *usage_of(const struct job *j, int tokens)
{
    return json_pack("{s:i, s:i, s:i, s:{s:i}}", "prompt_tokens", j->n_prompt, "completion_tokens", tokens,
                     "total_tokens", j->n_prompt + tokens, "prompt_tokens_details", "cached_tokens", j->ans->n_shared);
}

/* The object around choices, an array that it takes. */
static json_t *object_of(const struct job *j, bool chunk, json_t *choices)
{
    const char *name = j->kind == API_COMPLETION ? "text_completion" : chunk ? "chat.completion.chunk"
                       : "chat.completion";
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "id", j->name, "object", name, "created",
                     (json_int_t)j->created, "model", j->s->model.id, "system_fingerprint",
                     "plimsoll-" PLIMSOLL_VERSION, "choices", choices);
}

static json_t *calls_of(const struct parts *p, bool chunk)
{
    json_t *list = json_array();
    for (int i = 0; i < p->calls; i++) {
        const struct api_call *c = &p->call[i];
        json_t *o = json_pack("{s:s, s:s, s:{s:O, s:O}}", "id", c->id, "type", "function", "function", "name", c->name,
                              "arguments", c->arguments);
        if (chunk) json_object_set_new(o, "index", json_integer(i));
        json_array_append_new(list, o);
    }
    return list;
}

/* Of the tokens [from, to). */
static json_t *chat_logprobs(const struct job *j, int from, int to)
{
    json_t *list = json_array();
    for (int i = from; i < to; i++) json_array_append_new(list, api_logprob(j->s->model.vocab, j->ans, i));
    return json_pack("{s:o}", "content", list);
}

static json_t *completion_logprobs(const struct job *j, int from, int to)
{
    json_t *tokens = json_array(), *values = json_array(), *tops = json_array(), *offsets = json_array();
    for (int i = from; i < to; i++) {
        json_t *one = api_logprob(j->s->model.vocab, j->ans, i), *top = json_object(), *t;
        size_t k;
        json_array_foreach(json_object_get(one, "top_logprobs"), k, t)
            json_object_set(top, json_string_value(json_object_get(t, "token")), json_object_get(t, "logprob"));
        json_array_append(tokens, json_object_get(one, "token"));
        json_array_append(values, json_object_get(one, "logprob"));
        json_array_append_new(tops, top);
        json_array_append_new(offsets, json_integer(i > 0 ? (json_int_t)j->ans->token[i - 1].text_end : 0));
        json_decref(one);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", values, "top_logprobs", tops,
                     "text_offset", offsets);
}

static json_t *logprobs_of(const struct job *j, int from, int to)
{
    if (!j->logprobs) return json_null();
    return j->kind == API_CHAT ? chat_logprobs(j, from, to) : completion_logprobs(j, from, to);
}

static json_t *part_text(const struct parts *p, const struct api_part *part)
{
    return api_text(p->text + part->at, part->n);
}

static json_t *message_of(const struct parts *p)
{
    const bool none = p->calls > 0 && p->split.content.n == 0;
    json_t *m = json_pack("{s:s, s:o}", "role", "assistant", "content",
                          none ? json_null() : part_text(p, &p->split.content));
    if (p->split.thinking.n > 0) json_object_set_new(m, "reasoning_content", part_text(p, &p->split.thinking));
    if (p->calls > 0) json_object_set_new(m, "tool_calls", calls_of(p, false));
    return m;
}

static void put_dump(json_t *o, struct buf *out)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(o);
}

/* ---------------------------------------------------------------- the end of a request */

void serve_forget(struct job *j)
{
    struct serve *s = j->s;
    int tokens = atomic_load(&j->ans->n_tokens), end = atomic_load(&j->ans->end);
    double now = progress_clock(), took = now - j->start;
    s->counts.ended[end == END_NONE ? END_CANCELLED : end]++;
    s->counts.prompt_tokens += (uint64_t)j->n_prompt;
    s->counts.cached_tokens += (uint64_t)j->ans->n_shared;
    s->counts.generated_tokens += (uint64_t)tokens;
    if (j->first > 0) serve_time(&s->counts.first_token, j->first - j->start);
    serve_time(&s->counts.whole, took);
    say_dim("%s: %d + %d tokens, %d of the prompt known, %.2f s, %s", j->kind == API_CHAT ? "chat" : "completion",
            j->n_prompt, tokens, j->ans->n_shared, took,
            end == END_NONE || end == END_CANCELLED ? "its client left" : engine_end_name((enum engine_end)end));
    s->a->ops->drop(s->a->engine, j->id);
    j->ans = NULL;
    s->active--;
}

void serve_say_whole(struct job *j)
{
    struct parts p;
    struct api_error e;
    struct buf body = {0};
    look(j, &p);
    if (failure(j, &p, &e)) {
        serve_forget(j);
        serve_refuse(j->s, j->call, &e);
        return;
    }
    if (j->kind == API_CHAT) read_calls(j, &p);
    name_calls(j, &p);
    json_t *choice = json_pack("{s:i, s:o, s:s}", "index", 0, "logprobs", logprobs_of(j, 0, p.tokens), "finish_reason",
                               finish_of(&p));
    if (j->kind == API_CHAT) json_object_set_new(choice, "message", message_of(&p));
    else json_object_set_new(choice, "text", part_text(&p, &p.split.content));
    json_t *o = object_of(j, false, json_pack("[o]", choice));
    json_object_set_new(o, "usage", usage_of(j, p.tokens));
    put_dump(o, &body);
    api_free_calls(p.call, p.calls);
    serve_forget(j);
    if (!body.failed) {
        http_answer(j->call, 200, "application/json", NULL, body.data, body.len);
    } else {
        api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
        serve_refuse(j->s, j->call, &e);
    }
    buf_free(&body);
}

/* ---------------------------------------------------------------- streams */

static void put_event(struct job *j, json_t *o)
{
    buf_puts(&j->out, "data: ");
    put_dump(o, &j->out);
    buf_puts(&j->out, "\n\n");
}

/* One choice; delta is taken (of a completion: its text). */
static void put_choice(struct job *j, json_t *delta, json_t *logprobs, const char *finish)
{
    json_t *choice = json_pack("{s:i, s:o, s:o}", "index", 0, "logprobs", logprobs, "finish_reason",
                               finish ? json_string(finish) : json_null());
    json_object_set_new(choice, j->kind == API_CHAT ? "delta" : "text", delta);
    put_event(j, object_of(j, true, json_pack("[o]", choice)));
}

/* What is new of a part, in whole characters; *told: how much of it was told, and then is. */
static bool put_piece(struct job *j, const struct parts *p, const struct api_part *part, const char *name, size_t *told)
{
    size_t n = MIN(part->n - *told, (size_t)PIECE);
    const char *from = p->text + part->at + *told;
    if (!p->ended || *told + n < part->n) n = api_whole(from, n);
    if (n == 0) return false;
    json_t *text = api_text(from, n);
    const int from_token = j->tokens;
    *told += n;
    j->tokens = p->tokens;
    put_choice(j, j->kind == API_CHAT ? json_pack("{s:o}", name, text) : text, logprobs_of(j, from_token, p->tokens),
               NULL);
    return true;
}

/* Its header, then its arguments: so OpenAI's clients put calls together. */
static void put_calls(struct job *j, const struct parts *p)
{
    json_t *list = calls_of(p, true), *c;
    size_t i;
    json_array_foreach(list, i, c) {
        json_t *function = json_object_get(c, "function");
        json_t *arguments = json_incref(json_object_get(function, "arguments"));
        json_object_set_new(function, "arguments", json_string(""));
        put_choice(j, json_pack("{s:[O]}", "tool_calls", c), json_null(), NULL);
        put_choice(j, json_pack("{s:[{s:i, s:{s:o}}]}", "tool_calls", "index", (int)i, "function", "arguments",
                                arguments), json_null(), NULL);
    }
    json_decref(list);
}

static void put_end(struct job *j, struct parts *p)
{
    json_t *none = j->kind == API_CHAT ? json_object() : json_string("");
    name_calls(j, p);
    if (p->calls > 0) put_calls(j, p);
    put_choice(j, none, logprobs_of(j, j->tokens, p->tokens), finish_of(p));
    if (j->usage) {
        json_t *o = object_of(j, true, json_array());
        json_object_set_new(o, "usage", usage_of(j, p->tokens));
        put_event(j, o);
    }
    buf_puts(&j->out, "data: [DONE]\n\n");
    j->finished = true;
}

static void put_failure(struct job *j, const struct api_error *e)
{
    buf_puts(&j->out, "data: ");
    api_put_error(e, &j->out);
    buf_puts(&j->out, "\n\n");
    j->s->counts.failed++;
    j->finished = true;
}

/* A comment, which clients pass over, and proxies take for life. */
static void put_sign_of_life(struct job *j)
{
    int done = atomic_load_explicit(&j->ans->n_prefilled, memory_order_acquire);
    if (progress_clock() - j->said < SERVE_ALIVE) return;
    buf_printf(&j->out, ": %d of %d prompt tokens read\n\n", done, j->n_prompt);
}

/* The next events into j->out, if there are any. */
static void write_on(struct job *j)
{
    struct parts p;
    struct api_error e;
    look(j, &p);
    if (!j->head && j->kind == API_CHAT)
        put_choice(j, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), json_null(), NULL);
    j->head = true;
    if (p.ended && failure(j, &p, &e)) {
        put_failure(j, &e);
        return;
    }
    if (p.ended && j->kind == API_CHAT) read_calls(j, &p);
    bool more = put_piece(j, &p, &p.split.thinking, "reasoning_content", &j->thinking);
    more |= put_piece(j, &p, &p.split.content, "content", &j->content);
    bool told = j->thinking == p.split.thinking.n && j->content == p.split.content.n;
    if (p.ended && told) put_end(j, &p);
    else if (!more && !p.ended) put_sign_of_life(j);
    api_free_calls(p.call, p.calls);
}

long serve_more(void *self, struct http_call *c, char *to, size_t n)
{
    struct job *j = http_own(c);
    (void)self;
    if (j->out_at == j->out.len) {
        j->out.len = j->out_at = 0;
        if (!j->ans) return HTTP_END;
        write_on(j);
        if (j->out.len == 0) return 0;
        j->said = progress_clock();
        if (j->finished || j->out.failed) serve_forget(j);
        if (j->out.failed) return HTTP_END;
    }
    n = MIN(n, j->out.len - j->out_at);
    memcpy(to, j->out.data + j->out_at, n);
    j->out_at += n;
    return (long)n;
}
