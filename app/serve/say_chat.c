/* say_chat.c - answers of chat completions and of completions, in OpenAI's JSON. */
#include "app/serve/serve_impl.h"
#include "version.h"

/* ---------------------------------------------------------------- JSON */

static const char *finish_of(const struct serve_parts *p)
{
    if (p->calls > 0) return "tool_calls";
    return p->end == END_LENGTH ? "length" : "stop";
}

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

static json_t *calls_of(const struct serve_parts *p, bool chunk)
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

/* Of the tokens [from, to). */
static json_t *logprobs_of(const struct job *j, int from, int to)
{
    if (!j->logprobs) return json_null();
    return j->kind == API_CHAT ? json_pack("{s:o}", "content", serve_logprobs(j, from, to))
                               : completion_logprobs(j, from, to);
}

static json_t *message_of(const struct serve_parts *p)
{
    const bool none = p->calls > 0 && p->split.content.n == 0;
    json_t *m = json_pack("{s:s, s:o}", "role", "assistant", "content",
                          none ? json_null() : serve_part(p, &p->split.content));
    if (p->split.thinking.n > 0) json_object_set_new(m, "reasoning_content", serve_part(p, &p->split.thinking));
    if (p->calls > 0) json_object_set_new(m, "tool_calls", calls_of(p, false));
    return m;
}

static json_t *whole(struct job *j, const struct serve_parts *p)
{
    json_t *choice = json_pack("{s:i, s:o, s:s}", "index", 0, "logprobs", logprobs_of(j, 0, p->tokens), "finish_reason",
                               finish_of(p));
    if (j->kind == API_CHAT) json_object_set_new(choice, "message", message_of(p));
    else json_object_set_new(choice, "text", serve_part(p, &p->split.content));
    json_t *o = object_of(j, false, json_pack("[o]", choice));
    json_object_set_new(o, "usage", usage_of(j, p->tokens));
    return o;
}

/* ---------------------------------------------------------------- streams */

static void put_event(struct job *j, json_t *o)
{
    buf_puts(&j->out, "data: ");
    serve_put_json(o, &j->out);
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

static void begin(struct job *j, const struct serve_parts *p)
{
    (void)p;
    if (j->kind == API_CHAT)
        put_choice(j, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), json_null(), NULL);
}

static bool put_piece(struct job *j, const struct serve_parts *p, const struct api_part *part, const char *name,
                      size_t *told)
{
    json_t *text = serve_piece(p, part, told);
    const int from_token = j->tokens;
    if (!text) return false;
    j->tokens = p->tokens;
    put_choice(j, j->kind == API_CHAT ? json_pack("{s:o}", name, text) : text, logprobs_of(j, from_token, p->tokens),
               NULL);
    return true;
}

static bool more(struct job *j, const struct serve_parts *p)
{
    bool any = put_piece(j, p, &p->split.thinking, "reasoning_content", &j->thinking);
    return put_piece(j, p, &p->split.content, "content", &j->content) || any;
}

/* Its header, then its arguments: so OpenAI's clients put calls together. */
static void put_calls(struct job *j, const struct serve_parts *p)
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

static void end(struct job *j, const struct serve_parts *p)
{
    json_t *none = j->kind == API_CHAT ? json_object() : json_string("");
    if (p->calls > 0) put_calls(j, p);
    put_choice(j, none, logprobs_of(j, j->tokens, p->tokens), finish_of(p));
    if (j->usage) {
        json_t *o = object_of(j, true, json_array());
        json_object_set_new(o, "usage", usage_of(j, p->tokens));
        put_event(j, o);
    }
    buf_puts(&j->out, "data: [DONE]\n\n");
}

static void failed(struct job *j, const struct api_error *e)
{
    buf_puts(&j->out, "data: ");
    api_put_error(e, &j->out);
    buf_puts(&j->out, "\n\n");
}

const struct serve_voice serve_chat = {"chat", "chatcmpl-", "call_", whole, begin, more, end, failed,
                                       SERVE_EVENTS, serve_put_comment};
const struct serve_voice serve_completion = {"completion", "cmpl-", "call_", whole, begin, more, end, failed,
                                             SERVE_EVENTS, serve_put_comment};
