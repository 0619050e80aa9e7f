/* say_ollama.c - answers of Ollama's API: an object, or a stream of them, one a line.
 *
 * Lines have no comments, so a stream shows that it lives by a piece of text that is empty.  A call is told in one
 * line, its arguments an object.  Durations are nanoseconds of what was measured here: load_duration is the wait until
 * the prompt began to be read (the model is loaded all the time), then prompt_eval_duration until the first token, and
 * eval_duration until the last; the rest of total_duration is what the client took to read. */
#include "app/progress.h"
#include "app/serve/serve_impl.h"
#include <time.h>

/* ---------------------------------------------------------------- JSON */

/* What every object begins with: {"model", "created_at", "done"}. */
static json_t *object_of(const struct serve *s, bool done)
{
    struct timespec now;
    struct tm day;
    char text[32] = "", all[64];
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &day)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &day);
    snprintf(all, sizeof all, "%s.%06dZ", text, (int)(now.tv_nsec / 1000));
    return json_pack("{s:s, s:s, s:b}", "model", s->model.id, "created_at", all, "done", done);
}

/* thinking and content are taken; NULL: none. */
static void put_words(enum api_kind kind, json_t *thinking, json_t *content, json_t *o)
{
    json_t *m = o;
    const bool chat = kind == API_OLLAMA_CHAT;
    if (chat) json_object_set_new(o, "message", m = json_pack("{s:s}", "role", "assistant"));
    json_object_set_new(m, chat ? "content" : "response", content ? content : json_string(""));
    if (thinking) json_object_set_new(m, "thinking", thinking);
}

static void put_calls(const struct serve_parts *p, json_t *o)
{
    json_t *list = json_array();
    for (int i = 0; i < p->calls; i++) {
        const struct api_call *c = &p->call[i];
        json_array_append_new(list, json_pack("{s:s, s:{s:i, s:O, s:o}}", "id", c->id, "function", "index", i, "name",
                                              c->name, "arguments", serve_input(c)));
    }
    json_object_set_new(json_object_get(o, "message"), "tool_calls", list);
}

static void put_logprobs(const struct job *j, int from, int to, json_t *o)
{
    if (j->logprobs && to > from) json_object_set_new(o, "logprobs", serve_logprobs(j, from, to));
}

static json_t *nanoseconds(double from, double to)
{
    return json_integer(from > 0 && to > from ? (json_int_t)((to - from) * 1e9) : 0);
}

/* How it ended, and what it took. */
static void put_figures(const struct job *j, const struct serve_parts *p, json_t *o)
{
    const double first = j->first > 0 ? j->first : j->ended, begun = j->begun > 0 ? j->begun : first;
    json_object_set_new(o, "done_reason", json_string(p->end == END_LENGTH ? "length" : "stop"));
    json_object_set_new(o, "total_duration", nanoseconds(j->start, progress_clock()));
    json_object_set_new(o, "load_duration", nanoseconds(j->start, begun));
    json_object_set_new(o, "prompt_eval_count", json_integer(j->n_prompt));
    json_object_set_new(o, "prompt_eval_duration", nanoseconds(begun, first));
    json_object_set_new(o, "eval_count", json_integer(p->tokens));
    json_object_set_new(o, "eval_duration", nanoseconds(first, j->ended));
}

static json_t *whole(struct job *j, const struct serve_parts *p)
{
    json_t *o = object_of(j->s, true);
    json_t *thinking = p->split.thinking.n > 0 ? serve_part(p, &p->split.thinking) : NULL;
    put_words(j->kind, thinking, serve_part(p, &p->split.content), o);
    if (p->calls > 0) put_calls(p, o);
    put_logprobs(j, 0, p->tokens, o);
    put_figures(j, p, o);
    return o;
}

void serve_say_loaded(struct serve *s, struct http_call *c, const struct api_ask *ask)
{
    json_t *o = object_of(s, true);
    put_words(ask->kind, NULL, NULL, o);
    json_object_set_new(o, "done_reason", json_string(ask->load));
    serve_answer_json(c, 200, o);
}

/* ---------------------------------------------------------------- streams */

static void put_line(struct job *j, json_t *o)
{
    serve_put_json(o, &j->out);
    buf_puts(&j->out, "\n");
}

static void begin(struct job *j, const struct serve_parts *p)
{
    (void)j;
    (void)p;
}

static bool put_piece(struct job *j, const struct serve_parts *p, const struct api_part *part, bool thinks,
                      size_t *told)
{
    json_t *text = serve_piece(p, part, told), *o;
    if (!text) return false;
    o = object_of(j->s, false);
    put_words(j->kind, thinks ? text : NULL, thinks ? NULL : text, o);
    put_logprobs(j, j->tokens, p->tokens, o);
    j->tokens = p->tokens;
    put_line(j, o);
    return true;
}

static bool more(struct job *j, const struct serve_parts *p)
{
    bool any = put_piece(j, p, &p->split.thinking, true, &j->thinking);
    if (j->thinking < p->split.thinking.n) return any;
    return put_piece(j, p, &p->split.content, false, &j->content) || any;
}

static void end(struct job *j, const struct serve_parts *p)
{
    json_t *o;
    if (p->calls > 0) {
        o = object_of(j->s, false);
        put_words(j->kind, NULL, NULL, o);
        put_calls(p, o);
        put_line(j, o);
    }
    o = object_of(j->s, true);
    put_words(j->kind, NULL, NULL, o);
    put_logprobs(j, j->tokens, p->tokens, o);
    put_figures(j, p, o);
    put_line(j, o);
}

static void failed(struct job *j, const struct api_error *e)
{
    api_put_ollama_error(e, &j->out);
    buf_puts(&j->out, "\n");
}

static void alive(struct job *j, int read)
{
    json_t *o = object_of(j->s, false);
    (void)read;
    put_words(j->kind, NULL, NULL, o);
    put_line(j, o);
}

#define LINES "application/x-ndjson"
#define SPOKEN                                                                                                        \
    .call = "call_", .whole = whole, .begin = begin, .more = more, .end = end, .failed = failed, .type = LINES,        \
    .alive = alive
const struct serve_voice serve_ollama_chat = {.what = "api/chat", .name = "chat_", SPOKEN};
const struct serve_voice serve_ollama_generate = {.what = "api/generate", .name = "gen_", SPOKEN};
