/* hear.c - see hear.h. */
#include "engine/remote/hear.h"
#include "engine/text.h"
#include <jansson.h>
#include <strings.h>

enum { ERROR_MOST = 400 };

void hear_line(const char *text, size_t n, char *out, size_t room)
{
    size_t len = 0, at = 0;
    for (; at < n && len + 1 < room; at++) {
        const unsigned char c = (unsigned char)text[at];
        if (c > ' ' && c != 0x7f) out[len++] = text[at];
        else if (len > 0 && out[len - 1] != ' ') out[len++] = ' ';
    }
    const size_t good = text_valid_utf8(out, len);
    if (at < n && len - good < 4) len = good; /* of the last character a part had room */
    while (len > 0 && out[len - 1] == ' ') len--;
    out[len] = '\0';
}

/* why: may have their words in it. */
static void fail(struct hear *h, const char *why)
{
    char line[ERROR_MOST];
    if (h->end == HEAR_FAILED) return;
    h->end = HEAR_FAILED;
    hear_line(why, strlen(why), line, sizeof line);
    buf_puts(&h->trouble, *line ? line : "the server failed");
}

/* ---------------------------------------------------------------- errors */

static const char *text_of(const json_t *o)
{
    static const char *const names[] = {"message", "detail", "error", "msg"};
    if (json_is_string(o)) return json_string_value(o);
    if (json_is_array(o)) return text_of(json_array_get(o, 0)); /* FastAPI: a list of what is wrong */
    for (size_t i = 0; i < COUNT_OF(names) && json_is_object(o); i++) {
        const json_t *v = json_object_get(o, names[i]);
        const char *found = v ? text_of(v) : NULL;
        if (found) return found;
    }
    return NULL;
}

void hear_error(const char *body, size_t n, char *out, size_t room)
{
    json_t *o = json_loadb(body, n, JSON_DECODE_ANY, NULL);
    const char *text = o ? text_of(o) : NULL;
    if (text) hear_line(text, strlen(text), out, room);
    else hear_line(body, n, out, MIN(room, 200)); /* a page of HTML, say */
    json_decref(o);
}

static bool has_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasestr(text, words[i])) return true;
    return false;
}

bool hear_is_overflow(const char *text)
{
    static const char *const words[] = {
        "context_length_exceeded", "maximum context length", "exceeds the available context size",
        "exceed_context_size", "exceeds the maximum number of tokens", "is longer than the model's context length",
        "maximum input length is", "`inputs` tokens + `max_new_tokens`", "context length exceeded",
        "longer than the maximum model length", "exceeds the context", "exceed context", "context length is only",
        "context size has been exceeded", "prompt is too long", "prompt too long", "exceeds maximum context length",
        "exceeded max context length", "input is too long", "`inputs` must have less than", "input tokens exceed",
        "but the configured context size is", "context_window_exceeded",
    };
    return has_one_of(text, words, COUNT_OF(words));
}

bool hear_refuses_length(const char *body, size_t n)
{
    static const char *const names[] = {"code", "type"}; /* may say so where the words do not */
    json_t *o = json_loadb(body, n, JSON_DECODE_ANY, NULL);
    const json_t *error = json_object_get(o, "error");
    const char *said = o ? text_of(o) : body;
    bool is = said && hear_is_overflow(said);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *code = json_string_value(json_object_get(json_is_object(error) ? error : o, names[i]));
        is |= code && hear_is_overflow(code);
    }
    json_decref(o);
    return is;
}

bool hear_wants_no_system(const char *text)
{
    static const char *const words[] = {"system role not supported", "system role is not supported",
                                        "roles must alternate"};
    return has_one_of(text, words, COUNT_OF(words));
}

/* ---------------------------------------------------------------- a chunk's parts */

static void leave_thinking(struct hear *h, struct buf *text)
{
    if (h->thinks) buf_puts(text, "</think>\n\n");
    h->thinks = false;
}

static void leave_call(struct hear *h, struct buf *text)
{
    if (h->call) buf_puts(text, h->call_argued ? "}\n</tool_call>" : "{}}\n</tool_call>");
    h->call = 0;
}

static void say_thought(struct hear *h, const json_t *v, struct buf *text)
{
    if (json_string_length(v) == 0) return;
    leave_call(h, text);
    if (!h->thinks) buf_puts(text, "<think>\n");
    h->thinks = true;
    buf_put(text, json_string_value(v), json_string_length(v));
}

static void say_text(struct hear *h, const json_t *v, struct buf *text)
{
    const char *said = json_string_value(v);
    if (*said == '\0' || (h->call && said[strspn(said, " \t\r\n")] == '\0')) return; /* blanks do not end a call */
    leave_thinking(h, text);
    leave_call(h, text);
    buf_put(text, json_string_value(v), json_string_length(v));
}

/* Is it another one than the call under way?  Some servers count none of them. */
static bool is_new(const struct hear *h, const json_t *o, int which)
{
    const char *id = json_string_value(json_object_get(o, "id"));
    char known[sizeof h->call_id];
    snprintf(known, sizeof known, "%s", id ? id : "");
    return h->call != which + 1 || (*known && strcmp(known, h->call_id) != 0);
}

/* Its name begins a call; its arguments come in pieces of JSON's text, which stay as they are. */
static void say_call(struct hear *h, const json_t *o, int at, struct buf *text)
{
    const json_t *f = json_object_get(o, "function"), *index = json_object_get(o, "index");
    const json_t *name = json_object_get(f, "name"), *arguments = json_object_get(f, "arguments");
    const int which = json_is_integer(index) ? (int)(json_integer_value(index) & 0xffff) : at;
    if (json_string_length(name) > 0 && is_new(h, o, which)) {
        const char *id = json_string_value(json_object_get(o, "id"));
        char *quoted = json_dumps(name, JSON_ENCODE_ANY);
        leave_thinking(h, text);
        leave_call(h, text);
        buf_printf(text, "<tool_call>\n{\"name\": %s, \"arguments\": ", quoted ? quoted : "\"\"");
        free(quoted);
        h->call = which + 1;
        h->call_argued = false;
        snprintf(h->call_id, sizeof h->call_id, "%s", id ? id : "");
    }
    if (h->call != which + 1) {
        fail(h, "the server goes on with a call of a tool that it did not begin");
        return;
    }
    h->call_argued |= json_string_length(arguments) > 0 || json_is_object(arguments);
    if (json_is_string(arguments)) {
        buf_put(text, json_string_value(arguments), json_string_length(arguments));
    } else if (json_is_object(arguments)) {
        char *all = json_dumps(arguments, 0);
        if (all) buf_puts(text, all);
        free(all);
    }
}

static void take_end(struct hear *h, enum hear_end end, struct buf *text)
{
    leave_thinking(h, text);
    leave_call(h, text);
    h->end = end;
}

static void take_finish(struct hear *h, const json_t *v, struct buf *text)
{
    if (json_string_length(v) == 0 || h->end != HEAR_OPEN) return;
    const char *reason = json_string_value(v);
    if (strcmp(reason, "length") == 0 || strcmp(reason, "max_tokens") == 0) take_end(h, HEAR_LENGTH, text);
    else if (strcmp(reason, "error") == 0 || strcmp(reason, "abort") == 0) fail(h, "the server gave the answer up");
    else if (strcmp(reason, "content_filter") == 0) fail(h, "the server's filter ended the answer");
    else take_end(h, HEAR_STOP, text); /* stop, tool_calls, eos_token, stop_sequence ... */
}

static int64_t count_of(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) ? (int64_t)MAX(json_integer_value(v), 0) : -1;
}

static void take_usage(struct hear *h, const json_t *o)
{
    const int64_t prompt = count_of(o, "prompt_tokens");
    if (prompt < 0) return;
    h->counted = true;
    h->prompt_tokens = prompt;
    h->tokens = MAX(count_of(o, "completion_tokens"), 0);
    h->cached_tokens = MAX(count_of(json_object_get(o, "prompt_tokens_details"), "cached_tokens"), 0);
}

/* One of a list of parts.  What is of another kind would be lost: that is no answer. */
static void say_part(struct hear *h, const json_t *part, struct buf *text)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    const json_t *said = json_object_get(part, "text"), *thought = json_object_get(part, "thinking");
    char line[ERROR_MOST];
    if (type && strcmp(type, "text") == 0 && json_is_string(said)) {
        say_text(h, said, text);
    } else if (type && strcmp(type, "thinking") == 0 && json_is_array(thought)) {
        for (size_t i = 0; i < json_array_size(thought); i++)
            say_thought(h, json_object_get(json_array_get(thought, i), "text"), text);
    } else {
        snprintf(line, sizeof line, "the server sent a part of an answer that is no text: %.60s", type ? type : "?");
        fail(h, line);
    }
}

/* A text, or parts, which Mistral's reasoning models give: {"type": "text", "text": "..."} and
 * {"type": "thinking", "thinking": [parts that are texts]}. */
static void say_content(struct hear *h, const json_t *v, struct buf *text)
{
    if (json_is_string(v)) say_text(h, v, text);
    else if (v && !json_is_array(v) && !json_is_null(v)) fail(h, "the server sent an answer that is no text");
    for (size_t i = 0; i < json_array_size(v) && h->end != HEAR_FAILED; i++) say_part(h, json_array_get(v, i), text);
}

/* delta of a stream's chunk, message of a whole answer: the same fields. */
static void take_message(struct hear *h, const json_t *o, struct buf *text)
{
    const json_t *thought = json_object_get(o, "reasoning_content"), *calls = json_object_get(o, "tool_calls");
    if (!json_is_string(thought)) thought = json_object_get(o, "reasoning");
    if (json_is_string(thought)) say_thought(h, thought, text);
    say_content(h, json_object_get(o, "content"), text);
    for (size_t i = 0; i < json_array_size(calls) && h->end != HEAR_FAILED; i++)
        say_call(h, json_array_get(calls, i), (int)i, text);
}

static void take_object(struct hear *h, const char *bytes, size_t n, struct buf *text)
{
    json_error_t why;
    json_t *o = json_loadb(bytes, n, 0, &why);
    if (!json_is_object(o)) {
        char line[ERROR_MOST];
        snprintf(line, sizeof line, "the server sent what is no JSON object: %s", o ? "" : why.text);
        fail(h, line);
        json_decref(o);
        return;
    }
    const json_t *error = json_object_get(o, "error"), *choice = json_array_get(json_object_get(o, "choices"), 0);
    if (json_integer_value(json_object_get(choice, "index")) != 0) choice = NULL; /* one was asked for */
    if (error && !json_is_null(error)) {
        const char *said = text_of(error);
        h->end = HEAR_OPEN; /* it counts for more than an end before it */
        fail(h, said ? said : "it does not say why");
    } else {
        const json_t *message = json_object_get(choice, h->whole ? "message" : "delta");
        take_usage(h, json_object_get(o, "usage"));
        if (h->end == HEAR_OPEN) take_message(h, message, text);
        take_finish(h, json_object_get(choice, "finish_reason"), text);
    }
    json_decref(o);
}

/* ---------------------------------------------------------------- the stream */

static void end_event(struct hear *h, struct buf *text)
{
    if (h->data.len == 0 || h->said_done) {
        h->data.len = 0;
        return;
    }
    h->said_done = h->data.len == 6 && memcmp(h->data.data, "[DONE]", 6) == 0;
    if (!h->said_done) take_object(h, h->data.data, h->data.len, text);
    else if (h->end == HEAR_OPEN) take_end(h, HEAR_STOP, text); /* it says so too */
    h->data.len = 0;
}

/* "error: {...}" is no field of the standard, and what llama-server wrote in a stream where an answer failed, until
 * late in 2025. */
static void take_error(struct hear *h, const char *said, size_t n)
{
    char line[ERROR_MOST];
    hear_error(said, n, line, sizeof line);
    h->end = HEAR_OPEN;
    fail(h, line);
}

/* "data: ..." is kept, of several lines of an event joined by a line feed; other fields and comments are nothing. */
static void end_line(struct hear *h, struct buf *text)
{
    const char *s = h->line.data;
    size_t n = h->line.len;
    if (n == 0) {
        end_event(h, text);
    } else if (n >= 5 && memcmp(s, "data:", 5) == 0) {
        const size_t skip = n > 5 && s[5] == ' ' ? 6 : 5;
        if (h->data.len > 0) buf_put(&h->data, "\n", 1);
        if (h->data.len + n > HEAR_LINE) fail(h, "the server sent an event of more than 1 MiB");
        else buf_put(&h->data, s + skip, n - skip);
    } else if (n >= 6 && memcmp(s, "error:", 6) == 0) {
        take_error(h, s + 6, n - 6);
    }
    h->line.len = 0;
}

static void keep(struct hear *h, const char *bytes, size_t n)
{
    if (h->line.len + n > HEAR_LINE) fail(h, h->whole ? "the server sent an answer of more than 1 MiB in one piece"
                                                      : "the server sent a line of more than 1 MiB");
    else buf_put(&h->line, bytes, n);
}

void hear_bytes(struct hear *h, const char *bytes, size_t n, struct buf *text)
{
    static const char order[] = "\xef\xbb\xbf"; /* a mark that may stand before all of it, and is nothing */
    for (; n > 0 && h->mark < 3 && bytes[0] == order[h->mark]; bytes++, n--) h->mark++;
    if (n > 0) h->mark = 3;
    for (size_t i = 0; i < n && !h->begun; i++) {
        if (strchr(" \t\r\n", bytes[i])) continue;
        h->begun = true;
        h->whole = bytes[i] == '{';
    }
    if (h->whole) {
        keep(h, bytes, n);
        return;
    }
    while (n > 0 && h->end != HEAR_FAILED) {
        size_t len = 0;
        while (len < n && bytes[len] != '\n' && bytes[len] != '\r') len++;
        if (len > 0) h->cr = false;
        keep(h, bytes, len);
        if (len == n || h->end == HEAR_FAILED) break;
        const bool second = bytes[len] == '\n' && h->cr;
        h->cr = bytes[len] == '\r';
        if (!second) end_line(h, text);
        bytes += len + 1;
        n -= len + 1;
    }
    if (h->line.failed || h->data.failed || text->failed) fail(h, "no memory for what the server sends");
}

void hear_over(struct hear *h, struct buf *text)
{
    if (h->end == HEAR_FAILED) return;
    if (h->whole) {
        take_object(h, h->line.data ? h->line.data : "", h->line.len, text);
        h->said_done = true;
    } else {
        if (h->line.len > 0) end_line(h, text);
        end_event(h, text);
    }
    if (h->end == HEAR_OPEN) fail(h, "the server ended the answer without saying that it is whole");
    if (text->failed) fail(h, "no memory for what the server sends");
}

void hear_free(struct hear *h)
{
    buf_free(&h->line);
    buf_free(&h->data);
    buf_free(&h->trouble);
}
