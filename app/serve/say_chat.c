/* say_chat.c - answers of chat completions and of completions, in OpenAI's JSON. */
#include "app/serve/serve_impl.h"
#include "version.h"

/* ---------------------------------------------------------------- JSON */

static const char *finish_of(const struct serve_parts *p)
{
    if (p->calls > 0) return "tool_calls";
    return p->end == END_LENGTH ? "length" : "stop";
}

static json_t *usage_of(const struct job *lead)
{
    return json_pack("{s:i, s:i, s:i, s:{s:i}, s:{s:i}}", "prompt_tokens", lead->prompt_tokens, "completion_tokens",
                     lead->answer_tokens, "total_tokens", lead->prompt_tokens + lead->answer_tokens,
                     "prompt_tokens_details", "cached_tokens", lead->cached_tokens, "completion_tokens_details",
                     "reasoning_tokens", lead->thinking_tokens);
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

/* Of a completion's tokens, in lists. */
struct lists {
    json_t *tokens, *values, *tops, *offsets;
};

static size_t characters(const char *text, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((unsigned char)text[i] & 0xc0) != 0x80;
    return sum;
}

/* offset: of its text, in characters.  The first token of a prompt comes from nothing: top NULL, none. */
static void put_token(const struct job *j, int32_t id, float logprob, const struct engine_top *top, bool none,
                      size_t offset, struct lists *l)
{
    json_t *one = api_logprob(j->s->model.vocab, id, logprob, top, j->ans->top_n), *all = json_object(), *t;
    size_t k;
    json_array_foreach(json_object_get(one, "top_logprobs"), k, t) {
        const char *name = json_string_value(json_object_get(t, "token")); /* of two that look alike the likelier */
        if (name && !json_object_get(all, name)) json_object_set(all, name, json_object_get(t, "logprob"));
    }
    const char *text = json_string_value(json_object_get(one, "token"));
    if (j->ans->top_n > 0 && text && !json_object_get(all, text)) /* what came is among them, whatever its rank */
        json_object_set(all, text, json_object_get(one, "logprob"));
    json_array_append(l->tokens, json_object_get(one, "token"));
    json_array_append_new(l->values, none ? json_null() : json_incref(json_object_get(one, "logprob")));
    json_array_append_new(l->tops, none ? json_null() : json_incref(all));
    json_array_append_new(l->offsets, json_integer((json_int_t)offset));
    json_decref(all);
    json_decref(one);
}

static void put_prompt_tokens(const struct job *j, struct lists *l)
{
    const struct answer *a = j->ans;
    const char *piece;
    for (size_t i = 0, at = 0; i < (size_t)a->n_prompt; i++) { /* at: bytes of the tokens, cut of which are not shown */
        const size_t shown = MIN(at - MIN(at, j->cut), j->prompt.len), n = (size_t)a->top_n;
        struct engine_top top;
        for (size_t k = 0; a->prompt_top && k < n; k++) {
            top.id[k] = a->prompt_top[i * n + k].id;
            top.logprob[k] = a->prompt_top[i * n + k].logprob;
        }
        put_token(j, a->prompt[i], a->prompt_logprob[i], a->prompt_top ? &top : NULL, i == 0,
                  characters(j->prompt.data, shown), l);
        at += vocab_piece(j->s->model.vocab, a->prompt[i], &piece);
    }
}

/* Of the prompt, where it is wanted, and of the tokens [from, to). */
static json_t *completion_logprobs(const struct job *j, bool prompt, int from, int to)
{
    struct lists l = {json_array(), json_array(), json_array(), json_array()};
    const struct answer *a = j->ans;
    const size_t before = characters(j->prompt.data, j->prompt.len);
    if (prompt) put_prompt_tokens(j, &l);
    for (int i = from; i < to; i++)
        put_token(j, a->token[i].id, a->token[i].logprob, a->top ? &a->top[i] : NULL, false,
                  before + characters(a->text, i > 0 ? a->token[i - 1].text_end : 0), &l);
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", l.tokens, "token_logprobs", l.values, "top_logprobs", l.tops,
                     "text_offset", l.offsets);
}

/* The same for both. */
static json_t *logprobs_of(const struct job *j, bool prompt, int from, int to)
{
    if (!j->logprobs) return json_null();
    return j->kind == API_CHAT ? json_pack("{s:o}", "content", serve_logprobs(j, from, to))
                               : completion_logprobs(j, prompt, from, to);
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

/* Of a completion, behind its prompt where that is wanted. */
static json_t *text_of(const struct job *j, const struct serve_parts *p)
{
    struct buf all = {0};
    if (!j->lead->repeats) return serve_part(p, &p->split.content);
    buf_put(&all, j->prompt.data, j->prompt.len);
    buf_put(&all, p->text, p->n);
    json_t *text = all.failed ? NULL : api_text(all.data ? all.data : "", all.len);
    buf_free(&all);
    return text;
}

static json_t *choice_of(struct job *j, const struct serve_parts *p)
{
    json_t *choice = json_pack("{s:i, s:o, s:s}", "index", j->index, "logprobs",
                               logprobs_of(j, j->lead->repeats, 0, p->tokens), "finish_reason", finish_of(p));
    if (j->kind == API_CHAT) json_object_set_new(choice, "message", message_of(p));
    else json_object_set_new(choice, "text", text_of(j, p));
    return choice;
}

static json_t *all_of(struct job *lead)
{
    json_t *o = object_of(lead, false, json_incref(lead->choices));
    json_object_set_new(o, "usage", usage_of(lead));
    return o;
}

/* ---------------------------------------------------------------- streams */

static void put_event(struct job *j, json_t *o)
{
    buf_puts(&j->lead->out, "data: ");
    serve_put_json(o, &j->lead->out);
    buf_puts(&j->lead->out, "\n\n");
}

/* One choice; delta is taken (of a completion: its text). */
static void put_choice(struct job *j, json_t *delta, json_t *logprobs, const char *finish)
{
    json_t *choice = json_pack("{s:i, s:o, s:o}", "index", j->index, "logprobs", logprobs, "finish_reason",
                               finish ? json_string(finish) : json_null());
    json_object_set_new(choice, j->kind == API_CHAT ? "delta" : "text", delta);
    json_t *o = object_of(j, true, json_pack("[o]", choice));
    if (j->lead->usage) json_object_set_new(o, "usage", json_null()); /* it comes in the last */
    put_event(j, o);
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
    put_choice(j, j->kind == API_CHAT ? json_pack("{s:o}", name, text) : text,
               logprobs_of(j, false, from_token, p->tokens), NULL);
    return true;
}

/* Once it was read: until then nothing is known of its tokens. */
static bool put_prompt(struct job *j, const struct serve_parts *p)
{
    if (!j->lead->repeats || j->told_prompt || (p->tokens == 0 && !p->ended)) return false;
    j->told_prompt = true;
    put_choice(j, api_text(j->prompt.data ? j->prompt.data : "", j->prompt.len), logprobs_of(j, true, 0, 0), NULL);
    return true;
}

static bool more(struct job *j, const struct serve_parts *p)
{
    bool any = put_prompt(j, p);
    any |= put_piece(j, p, &p->split.thinking, "reasoning_content", &j->thinking);
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
    put_choice(j, none, logprobs_of(j, false, j->tokens, p->tokens), finish_of(p));
}

static void close_all(struct job *lead)
{
    if (lead->usage) {
        json_t *o = object_of(lead, true, json_array());
        json_object_set_new(o, "usage", usage_of(lead));
        put_event(lead, o);
    }
    buf_puts(&lead->out, "data: [DONE]\n\n");
}

static void failed(struct job *j, const struct api_error *e)
{
    buf_puts(&j->lead->out, "data: ");
    api_put_error(e, &j->lead->out);
    buf_puts(&j->lead->out, "\n\n");
}

#define SPOKEN                                                                                                        \
    .call = "call_", .choice = choice_of, .all = all_of, .begin = begin, .more = more, .end = end, .close = close_all, \
    .failed = failed, .type = SERVE_EVENTS, .alive = serve_put_comment
const struct serve_voice serve_chat = {.what = "chat", .name = "chatcmpl-", SPOKEN};
const struct serve_voice serve_completion = {.what = "completion", .name = "cmpl-", SPOKEN};
