/* say_messages.c - answers of Anthropic's Messages API.
 *
 * A stream's head has the prompt's figures, so it is written with the first text: then it is known what was shared.
 * Until then comments say that it lives.  The input of a call comes in one piece, as calls are known at the end. */
#include "app/serve/serve_impl.h"
#include "engine/text.h"

/* ---------------------------------------------------------------- JSON */

/* Which of the request's texts ended the answer: the one that the last token completed first; NULL: none did.  An end
 * of turn is no token of the answer, and a text that was met before would have ended it then. */
static const char *stopped_by(const struct job *j, const struct serve_parts *p)
{
    const char *found = NULL, *piece;
    struct buf tail = {0};
    size_t last = 0, best = SIZE_MAX;
    for (int i = MAX(0, p->tokens - TEXT_STOP_LEN - 1); i < p->tokens; i++) { /* a token has a byte at least */
        last = vocab_piece(j->s->model.vocab, j->ans->token[i].id, &piece);
        buf_put(&tail, piece, last);
    }
    for (size_t at = 0, n; !tail.failed && tail.data && at < j->stops.len; at += n + 1) {
        const char *stop = j->stops.data + at;
        n = strlen(stop);
        const size_t behind = tail.len - last, from = behind >= n ? behind - n + 1 : 0; /* it ends in the last piece */
        const char *hit = tail.len > from ? memmem(tail.data + from, tail.len - from, stop, n) : NULL;
        if (!hit || (size_t)(hit - tail.data) + n >= best) continue;
        best = (size_t)(hit - tail.data) + n;
        found = stop;
    }
    buf_free(&tail);
    return found;
}

/* "stop_reason" and "stop_sequence" into o. */
static void put_reason(const struct job *j, const struct serve_parts *p, json_t *o)
{
    const char *stop = p->end == END_STOP && p->calls == 0 ? stopped_by(j, p) : NULL;
    const char *cut = j->filled ? "model_context_window_exceeded" : "max_tokens";
    const char *reason = p->calls > 0 ? "tool_use" : p->end == END_LENGTH ? cut : stop ? "stop_sequence" : "end_turn";
    json_object_set_new(o, "stop_reason", json_string(reason));
    json_object_set_new(o, "stop_sequence", stop ? api_text(stop, strlen(stop)) : json_null());
}

/* In their words the prompt is the sum of the first three.  p NULL: nothing came so far. */
static json_t *usage_of(const struct job *j, const struct serve_parts *p)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:{s:i}}", "input_tokens", j->n_prompt - j->ans->n_shared,
                     "cache_creation_input_tokens", 0, "cache_read_input_tokens", j->ans->n_shared, "output_tokens",
                     p ? p->tokens : 0, "output_tokens_details", "thinking_tokens",
                     p ? serve_thinking_tokens(j, p) : 0);
}

static json_t *use_of(const struct api_call *c, json_t *input)
{
    return json_pack("{s:s, s:s, s:O, s:o}", "type", "tool_use", "id", c->id, "name", c->name, "input", input);
}

/* Without what the end says; content is taken. */
static json_t *message_of(const struct job *j, json_t *content, const struct serve_parts *p)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:n, s:n, s:o}", "id", j->name, "type", "message", "role", "assistant",
                     "model", j->s->model.id, "content", content, "stop_reason", "stop_sequence", "usage",
                     usage_of(j, p));
}

static json_t *whole(struct job *j, const struct serve_parts *p)
{
    json_t *list = json_array();
    if (p->split.thinking.n > 0)
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "type", "thinking", "thinking",
                                              serve_part(p, &p->split.thinking), "signature", ""));
    if (p->split.content.n > 0)
        json_array_append_new(list, json_pack("{s:s, s:o}", "type", "text", "text", serve_part(p, &p->split.content)));
    for (int i = 0; i < p->calls; i++) json_array_append_new(list, use_of(&p->call[i], serve_input(&p->call[i])));
    json_t *o = message_of(j, list, p);
    put_reason(j, p, o);
    return o;
}

/* ---------------------------------------------------------------- streams */

static void put_delta(struct job *j, const char *type, const char *name, json_t *text)
{
    serve_put_event(j, "content_block_delta",
                    json_pack("{s:i, s:{s:s, s:o}}", "index", j->blocks - 1, "delta", "type", type, name, text));
}

static void open_block(struct job *j, enum serve_open which, json_t *block)
{
    j->open = which;
    serve_put_event(j, "content_block_start", json_pack("{s:i, s:o}", "index", j->blocks++, "content_block", block));
}

static void close_block(struct job *j)
{
    if (j->open == OPEN_THINKING) put_delta(j, "signature_delta", "signature", json_string(""));
    serve_put_event(j, "content_block_stop", json_pack("{s:i}", "index", j->blocks - 1));
    j->open = OPEN_NONE;
}

static void put_head(struct job *j)
{
    if (j->events > 0) return;
    serve_put_event(j, "message_start", json_pack("{s:o}", "message", message_of(j, json_array(), NULL)));
    serve_put_event(j, "ping", json_object());
}

static void begin(struct job *j, const struct serve_parts *p)
{
    (void)j;
    (void)p;
}

static bool put_piece(struct job *j, const struct serve_parts *p, enum serve_open which, const struct api_part *part,
                      size_t *told)
{
    const bool thinks = which == OPEN_THINKING;
    json_t *text = serve_piece(p, part, told);
    if (!text) return false;
    put_head(j);
    if (j->open != which) {
        if (j->open != OPEN_NONE) close_block(j);
        open_block(j, which, thinks ? json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking", "", "signature", "")
                                    : json_pack("{s:s, s:s}", "type", "text", "text", ""));
    }
    if (thinks) put_delta(j, "thinking_delta", "thinking", text);
    else put_delta(j, "text_delta", "text", text);
    return true;
}

/* A block is closed by the next: all of the thinking is told before any of the content. */
static bool more(struct job *j, const struct serve_parts *p)
{
    bool any = put_piece(j, p, OPEN_THINKING, &p->split.thinking, &j->thinking);
    if (j->thinking < p->split.thinking.n) return any;
    return put_piece(j, p, OPEN_CONTENT, &p->split.content, &j->content) || any;
}

static void put_call(struct job *j, const struct api_call *c)
{
    json_t *input = serve_input(c);
    struct buf text = {0};
    api_put_json(input, JSON_COMPACT, &text);
    json_decref(input);
    open_block(j, OPEN_CONTENT, use_of(c, json_object()));
    put_delta(j, "input_json_delta", "partial_json", api_text(text.data ? text.data : "", text.len));
    close_block(j);
    j->out.failed |= text.failed;
    buf_free(&text);
}

static void end(struct job *j, const struct serve_parts *p)
{
    put_head(j);
    if (j->open != OPEN_NONE) close_block(j);
    for (int i = 0; i < p->calls; i++) put_call(j, &p->call[i]);
    json_t *delta = json_object();
    put_reason(j, p, delta);
    serve_put_event(j, "message_delta", json_pack("{s:o, s:o}", "delta", delta, "usage", usage_of(j, p)));
    serve_put_event(j, "message_stop", json_object());
}

static void failed(struct job *j, const struct api_error *e)
{
    buf_puts(&j->out, "event: error\ndata: ");
    api_put_messages_error(e, &j->out);
    buf_puts(&j->out, "\n\n");
}

const struct serve_voice serve_messages = {
    .what = "messages", .name = "msg_", .call = "toolu_", .whole = whole, .begin = begin, .more = more, .end = end,
    .failed = failed, .type = SERVE_EVENTS, .alive = serve_put_comment,
};
