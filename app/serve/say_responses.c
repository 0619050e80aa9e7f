/* say_responses.c - answers of OpenAI's Responses API: items, whole or as they grow.
 *
 *     {"output": [{reasoning}, {message}, {function_call}, ...]}      each where there is any
 *
 * What was thought comes as it is (reasoning_text), and nothing is stored or encrypted.  Items are named after their
 * response, and calls after their own id, so that an item has one name in all events. */
#include "app/serve/serve_impl.h"
#include <time.h>

/* What the request said is repeated in each object; one that said too much is not. */
void serve_keep_echo(struct job *j, const struct api_ask *ask)
{
    static const char *const large[] = {"instructions", "tools", "text", "tool_choice", "metadata", "user",
                                        "safety_identifier", "prompt_cache_key", "reasoning"};
    char temp[32], top_p[32];
    snprintf(temp, sizeof temp, "%.6g", (double)ask->sampling.temp); /* a float's digits, not a double's */
    snprintf(top_p, sizeof top_p, "%.6g", (double)ask->sampling.top_p);
    json_object_set_new(ask->echo, "temperature", json_real(strtod(temp, NULL)));
    json_object_set_new(ask->echo, "top_p", json_real(strtod(top_p, NULL)));
    api_put_json(ask->echo, JSON_COMPACT, &j->echo);
    if (j->echo.len <= SERVE_ECHO) return;
    for (size_t i = 0; i < COUNT_OF(large); i++) json_object_set_new(ask->echo, large[i], json_null());
    json_object_set_new(ask->echo, "tools", json_array());
    json_object_set_new(ask->echo, "tool_choice", json_string("auto"));
    json_object_set_new(ask->echo, "metadata", json_object());
    const bool failed = j->echo.failed;
    buf_free(&j->echo);
    api_put_json(ask->echo, JSON_COMPACT, &j->echo);
    j->echo.failed |= failed;
}

/* ---------------------------------------------------------------- items */

/* An item's name: front and the letters of the response's or call's own. */
static json_t *name_of(const char *front, const char *of)
{
    const char *letters = strchr(of, '_');
    return json_sprintf("%s%s", front, letters ? letters + 1 : of);
}

/* text: taken. */
static json_t *part_of(enum serve_open item, json_t *text)
{
    if (item == OPEN_THINKING) return json_pack("{s:s, s:o}", "type", "reasoning_text", "text", text);
    return json_pack("{s:s, s:o, s:[], s:[]}", "type", "output_text", "text", text, "annotations", "logprobs");
}

/* content: taken. */
static json_t *item_of(const struct job *j, enum serve_open item, const char *status, json_t *content)
{
    if (item == OPEN_THINKING)
        return json_pack("{s:o, s:s, s:s, s:[], s:o, s:n}", "id", name_of("rs_", j->name), "type", "reasoning",
                         "status", status, "summary", "content", content, "encrypted_content");
    return json_pack("{s:o, s:s, s:s, s:s, s:o}", "id", name_of("msg_", j->name), "type", "message", "role",
                     "assistant", "status", status, "content", content);
}

static json_t *call_of(const struct api_call *c, bool done)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:O, s:o}", "id", name_of("fc_", c->id), "type", "function_call", "status",
                     done ? "completed" : "in_progress", "call_id", c->id, "name", c->name, "arguments",
                     done ? json_incref(c->arguments) : json_string(""));
}

static const struct api_part *text_of(const struct serve_parts *p, enum serve_open item)
{
    return item == OPEN_THINKING ? &p->split.thinking : &p->split.content;
}

/* A message that has nothing in it is one only where nothing else is the answer. */
static bool has_message(const struct serve_parts *p)
{
    return p->split.content.n > 0 || (p->calls == 0 && p->end == END_STOP);
}

/* Of the last item whether its text was cut. */
static const char *status_of(const struct serve_parts *p, enum serve_open item)
{
    const bool last = p->calls == 0 && (item == OPEN_CONTENT || p->split.content.n == 0);
    return last && p->end != END_STOP ? "incomplete" : "completed";
}

static json_t *finished(const struct job *j, const struct serve_parts *p, enum serve_open item)
{
    return item_of(j, item, status_of(p, item), json_pack("[o]", part_of(item, serve_part(p, text_of(p, item)))));
}

static json_t *output_of(const struct job *j, const struct serve_parts *p)
{
    json_t *list = json_array();
    if (p->split.thinking.n > 0) json_array_append_new(list, finished(j, p, OPEN_THINKING));
    if (has_message(p)) json_array_append_new(list, finished(j, p, OPEN_CONTENT));
    for (int i = 0; i < p->calls; i++) json_array_append_new(list, call_of(&p->call[i], true));
    return list;
}

/* ---------------------------------------------------------------- the object */

/* What is written into a cache has a price elsewhere, which is what clients read that figure for. */
static json_t *usage_of(const struct job *j, const struct serve_parts *p)
{
    return json_pack("{s:i, s:{s:i, s:i}, s:i, s:{s:i}, s:i}", "input_tokens", j->n_prompt, "input_tokens_details",
                     "cached_tokens", j->ans->n_shared, "cache_write_tokens", 0, "output_tokens", p->tokens,
                     "output_tokens_details", "reasoning_tokens", serve_thinking_tokens(j, p), "total_tokens",
                     j->n_prompt + p->tokens);
}

/* output: taken. */
static json_t *object_of(const struct job *j, const char *status, json_t *output)
{
    static const char *const none[] = {"error", "incomplete_details", "usage", "previous_response_id", "completed_at"};
    json_t *o = json_loadb(j->echo.data, j->echo.len, JSON_ALLOW_NUL, NULL);
    json_t *own = json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:b, s:b, s:s}", "id", j->name, "object", "response",
                            "created_at", (json_int_t)j->created, "status", status, "model", j->s->model.id, "output",
                            output, "store", 0, "background", 0, "truncation", "disabled");
    for (size_t i = 0; i < COUNT_OF(none); i++) json_object_set_new(own, none[i], json_null());
    if (!o || !own || json_object_update(o, own)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(own);
    return o;
}

static json_t *whole(struct job *j, const struct serve_parts *p)
{
    const bool cut = p->end == END_LENGTH;
    json_t *o = object_of(j, cut ? "incomplete" : "completed", output_of(j, p));
    if (cut) json_object_set_new(o, "incomplete_details", json_pack("{s:s}", "reason", "max_output_tokens"));
    else json_object_set_new(o, "completed_at", json_integer((json_int_t)time(NULL)));
    json_object_set_new(o, "usage", usage_of(j, p));
    return o;
}

/* ---------------------------------------------------------------- streams */

/* o: taken. */
static void put_event(struct job *j, const char *name, json_t *o)
{
    json_object_set_new(o, "sequence_number", json_integer(j->events));
    serve_put_event(j, name, o);
}

static void put_response(struct job *j, const char *name, json_t *response)
{
    put_event(j, name, json_pack("{s:o}", "response", response));
}

/* An event about the item begun last; key: of what it brings, value: taken. */
static void put_item(struct job *j, const char *name, const char *key, json_t *value)
{
    put_event(j, name, json_pack("{s:i, s:o}", "output_index", j->blocks - 1, key, value));
}

/* The same about the text in it. */
static void put_in_item(struct job *j, const char *name, const char *key, json_t *value)
{
    const bool told = j->open == OPEN_CONTENT && json_is_string(value); /* logprobs are of no other event */
    json_t *o = json_pack("{s:i, s:i, s:o, s:o}", "output_index", j->blocks - 1, "content_index", 0, "item_id",
                          name_of(j->open == OPEN_THINKING ? "rs_" : "msg_", j->name), key, value);
    if (told) json_object_set_new(o, "logprobs", json_array());
    put_event(j, name, o);
}

static void begin(struct job *j, const struct serve_parts *p)
{
    (void)p;
    put_response(j, "response.created", object_of(j, "in_progress", json_array()));
    put_response(j, "response.in_progress", object_of(j, "in_progress", json_array()));
}

static void close_item(struct job *j, const struct serve_parts *p)
{
    const bool thinks = j->open == OPEN_THINKING;
    const struct api_part *text = text_of(p, j->open);
    if (j->open == OPEN_NONE) return;
    put_in_item(j, thinks ? "response.reasoning_text.done" : "response.output_text.done", "text", serve_part(p, text));
    put_in_item(j, "response.content_part.done", "part", part_of(j->open, serve_part(p, text)));
    put_item(j, "response.output_item.done", "item", finished(j, p, j->open));
    j->open = OPEN_NONE;
}

static void open_item(struct job *j, const struct serve_parts *p, enum serve_open item)
{
    if (j->open == item) return;
    close_item(j, p);
    j->blocks++;
    j->open = item;
    put_item(j, "response.output_item.added", "item", item_of(j, item, "in_progress", json_array()));
    put_in_item(j, "response.content_part.added", "part", part_of(item, json_string("")));
}

static bool put_piece(struct job *j, const struct serve_parts *p, enum serve_open item, size_t *told)
{
    json_t *text = serve_piece(p, text_of(p, item), told);
    if (!text) return false;
    open_item(j, p, item);
    put_in_item(j, item == OPEN_THINKING ? "response.reasoning_text.delta" : "response.output_text.delta", "delta",
                text);
    return true;
}

/* An item is whole before the next begins. */
static bool more(struct job *j, const struct serve_parts *p)
{
    const bool any = put_piece(j, p, OPEN_THINKING, &j->thinking);
    if (j->thinking < p->split.thinking.n) return any;
    return put_piece(j, p, OPEN_CONTENT, &j->content) || any;
}

static void put_call(struct job *j, const struct api_call *c)
{
    j->blocks++;
    put_item(j, "response.output_item.added", "item", call_of(c, false));
    put_event(j, "response.function_call_arguments.delta",
              json_pack("{s:i, s:o, s:O}", "output_index", j->blocks - 1, "item_id", name_of("fc_", c->id), "delta",
                        c->arguments));
    put_event(j, "response.function_call_arguments.done",
              json_pack("{s:i, s:o, s:O, s:O}", "output_index", j->blocks - 1, "item_id", name_of("fc_", c->id), "name",
                        c->name, "arguments", c->arguments));
    put_item(j, "response.output_item.done", "item", call_of(c, true));
}

static void end(struct job *j, const struct serve_parts *p)
{
    if (has_message(p)) open_item(j, p, OPEN_CONTENT);
    close_item(j, p);
    for (int i = 0; i < p->calls; i++) put_call(j, &p->call[i]);
    put_response(j, p->end == END_LENGTH ? "response.incomplete" : "response.completed", whole(j, p));
}

static void failed(struct job *j, const struct api_error *e)
{
    struct serve_parts p;
    serve_look(j, &p);
    json_t *o = object_of(j, "failed", output_of(j, &p));
    const char *code = e->status >= 500 ? "server_error" : "invalid_prompt";
    json_object_set_new(o, "error", json_pack("{s:s, s:o}", "code", code, "message",
                                              api_text(e->text, strlen(e->text))));
    json_object_set_new(o, "usage", usage_of(j, &p));
    put_response(j, "response.failed", o);
}

const struct serve_voice serve_responses = {
    .what = "response", .name = "resp_", .call = "call_", .whole = whole, .begin = begin, .more = more, .end = end,
    .failed = failed, .type = SERVE_EVENTS, .alive = serve_put_comment,
};
