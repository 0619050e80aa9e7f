/* api_anthropic.c - Anthropic's Messages API: a request as the chat completion that says the same, and errors in its
 * form.
 *
 * Messages of one role that follow each other are one turn.  Its texts are put together: an assistant's as they are,
 * others with an empty line between.  Results of tools stand before a turn's text, as messages of their own; one that
 * is_error begins with "Error: ".  Marks for caching are passed over: what prompts begin with is shared by itself. */
#include "app/serve/api.h"

enum { USER = 1, ASSISTANT = 2, SYSTEM = 4 };

struct reading {
    json_t *out; /* messages of a chat */
    json_t *ids; /* of the calls so far */
    int role;    /* of the turn that is read; 0: none yet */
    bool said;   /* it has a text, be it empty */
    struct buf text, thought;
    json_t *calls;
    struct api_error *e;
};

/* Every key is one of these ("a b c"), or one that all objects here may have, or null. */
static int check_keys(const json_t *o, const char *known, const char *where, struct api_error *e)
{
    return api_check_keys(o, "type cache_control", known, false, where, e);
}

/* ---------------------------------------------------------------- turns */

/* The turn that was read, as one message.  A system text of nothing is none. */
static void end_turn(struct reading *r)
{
    const char *role = r->role == USER ? "user" : r->role == ASSISTANT ? "assistant" : "system";
    if ((r->said && (r->role == USER || r->text.len > 0)) || r->role == ASSISTANT) {
        json_t *m = json_pack("{s:s, s:s%}", "role", role, "content", r->text.data ? r->text.data : "", r->text.len);
        if (r->thought.len > 0)
            json_object_set_new(m, "reasoning_content", json_stringn(r->thought.data, r->thought.len));
        if (json_array_size(r->calls) > 0) json_object_set_new(m, "tool_calls", json_copy(r->calls));
        r->text.failed |= json_array_append_new(r->out, m) != 0;
    }
    r->text.len = r->thought.len = 0;
    r->said = false;
    json_array_clear(r->calls);
}

static int put_text(const json_t *text, const char *where, const char *between, struct buf *out, struct api_error *e)
{
    if (!json_is_string(text)) return api_fail(e, 400, "invalid_type", where, "%s is to be a text", where);
    if (out->len > 0 && json_string_length(text) > 0) buf_puts(out, between);
    buf_put(out, json_string_value(text), json_string_length(text));
    return 0;
}

/* ---------------------------------------------------------------- blocks */

static int read_text(struct reading *r, const json_t *b, const char *where)
{
    const json_t *cited = json_object_get(b, "citations");
    if (api_is_given(cited) && json_array_size(cited) > 0)
        return api_fail(r->e, 400, "unsupported_value", where, "%s.citations: sources are not told to the model here",
                        where);
    r->said = true;
    return put_text(json_object_get(b, "text"), where, r->role == ASSISTANT ? "" : "\n\n", &r->text, r->e);
}

static int read_thinking(struct reading *r, const json_t *b, const char *where)
{
    const json_t *signature = json_object_get(b, "signature"); /* ours is empty, and another's says nothing here */
    if (api_is_given(signature) && !json_is_string(signature))
        return api_fail(r->e, 400, "invalid_type", where, "%s.signature is to be a text", where);
    return put_text(json_object_get(b, "thinking"), where, "\n", &r->thought, r->e);
}

/* What only Anthropic's servers can read: a conversation that was begun there goes on without it. */
static int pass_redacted(struct reading *r, const json_t *b, const char *where)
{
    if (json_is_string(json_object_get(b, "data"))) return 0;
    return api_fail(r->e, 400, "invalid_type", where, "%s.data is to be a text", where);
}

static int read_use(struct reading *r, const json_t *b, const char *where)
{
    const char *id = api_text_in(b, "id"), *name = api_text_in(b, "name");
    const json_t *input = json_object_get(b, "input"), *caller = json_object_get(b, "caller");
    struct buf text = {0};
    if (!*id || !api_is_name(name) || !json_is_object(input))
        return api_fail(r->e, 400, "invalid_value", where, "%s: a tool_use needs an id, the name of a tool and an "
                        "input that is an object", where);
    if (api_is_given(caller) && strcmp(api_text_in(caller, "type"), "direct") != 0)
        return api_fail(r->e, 400, "unsupported_value", where, "%s.caller: only \"direct\" is known here", where);
    if (json_array_size(r->calls) == API_CALLS)
        return api_fail(r->e, 400, "invalid_value", where, "%s: an assistant's turn has more than %d calls", where,
                        API_CALLS);
    api_put_json(input, JSON_COMPACT, &text);
    json_t *call = json_pack("{s:s, s:s, s:{s:s, s:s%}}", "id", id, "type", "function", "function", "name", name,
                             "arguments", text.data ? text.data : "", text.len);
    r->text.failed |= text.failed || json_array_append_new(r->calls, call) != 0 ||
                      json_object_set_new(r->ids, id, json_true()) != 0;
    buf_free(&text);
    return 0;
}

static int put_result(struct reading *r, const json_t *content, const char *where, struct buf *out)
{
    const json_t *part;
    size_t k;
    if (!api_is_given(content)) return 0;
    if (json_is_string(content)) return put_text(content, where, "", out, r->e);
    if (!json_is_array(content))
        return api_fail(r->e, 400, "invalid_type", where, "%s is to be a text, or a list of text blocks", where);
    struct buf all = {0};
    json_array_foreach(content, k, part) {
        char at[96];
        snprintf(at, sizeof at, "%.70s[%zu]", where, k);
        int bad = strcmp(api_text_in(part, "type"), "text") != 0
                  ? api_fail(r->e, 400, "unsupported_value", at, "%s is of type \"%.40s\"; only texts are read here",
                             at, api_text_in(part, "type"))
                  : check_keys(part, "text", at, r->e) ||
                    put_text(json_object_get(part, "text"), at, "\n\n", &all, r->e);
        if (!bad) continue;
        buf_free(&all);
        return -1;
    }
    buf_put(out, all.data, all.len);
    out->failed |= all.failed;
    buf_free(&all);
    return 0;
}

static int read_result(struct reading *r, const json_t *b, const char *where)
{
    const char *id = api_text_in(b, "tool_use_id");
    const json_t *wrong = json_object_get(b, "is_error");
    struct buf text = {0};
    char at[96];
    snprintf(at, sizeof at, "%.80s.tool_use_id", where);
    if (!*id || !json_object_get(r->ids, id))
        return api_fail(r->e, 400, "invalid_value", at, "%s is to be the id of a tool_use in a message before", at);
    snprintf(at, sizeof at, "%.80s.is_error", where);
    if (api_is_given(wrong) && !json_is_boolean(wrong))
        return api_fail(r->e, 400, "invalid_type", at, "%s is to be true or false", at);
    snprintf(at, sizeof at, "%.80s.content", where);
    if (json_is_true(wrong)) buf_puts(&text, "Error: ");
    int bad = put_result(r, json_object_get(b, "content"), at, &text);
    json_t *m = bad ? NULL : json_pack("{s:s, s:s, s:s%}", "role", "tool", "tool_call_id", id, "content",
                                       text.data ? text.data : "", text.len);
    if (!bad) r->text.failed |= text.failed || json_array_append_new(r->out, m) != 0;
    buf_free(&text);
    return bad;
}

static const struct block {
    const char *type, *keys;
    int of; /* whose turns may have it */
    int (*read)(struct reading *r, const json_t *b, const char *where);
} blocks[] = {
    {"text", "text citations", USER | ASSISTANT | SYSTEM, read_text},
    {"thinking", "thinking signature", ASSISTANT, read_thinking},
    {"redacted_thinking", "data", ASSISTANT, pass_redacted},
    {"tool_use", "id name input caller", ASSISTANT, read_use},
    {"tool_result", "tool_use_id content is_error", USER, read_result},
};

/* A text, or a list of blocks. */
static int read_content(struct reading *r, const json_t *content, const char *where)
{
    const json_t *b;
    size_t k;
    if (json_is_string(content)) {
        r->said = true;
        return put_text(content, where, r->role == ASSISTANT ? "" : "\n\n", &r->text, r->e);
    }
    if (!json_is_array(content) || (json_array_size(content) == 0 && r->role != ASSISTANT))
        return api_fail(r->e, 400, "invalid_type", where, "%s is to be a text, or a list of blocks", where);
    json_array_foreach(content, k, b) {
        const char *type = api_text_in(b, "type");
        char at[96];
        size_t i = 0;
        snprintf(at, sizeof at, "%.70s[%zu]", where, k);
        while (i < COUNT_OF(blocks) && (strcmp(type, blocks[i].type) != 0 || !(blocks[i].of & r->role))) i++;
        if (i == COUNT_OF(blocks))
            return api_fail(r->e, 400, "unsupported_value", at, "%s is of type \"%.40s\", which is not read here in "
                            "this place; texts are, tool_use and thinking of the assistant, and tool_result", at, type);
        if (check_keys(b, blocks[i].keys, at, r->e) || blocks[i].read(r, b, at)) return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- all messages */

static int read_message(struct reading *r, const json_t *m, size_t i)
{
    const char *role = api_text_in(m, "role");
    char where[64];
    const int is = strcmp(role, "user") == 0 ? USER : strcmp(role, "assistant") == 0 ? ASSISTANT
                   : strcmp(role, "system") == 0 ? SYSTEM : 0;
    snprintf(where, sizeof where, "messages[%zu].role", i);
    if (is == 0) return api_fail(r->e, 400, "invalid_value", where, "%s is to be user or assistant", where);
    if (is != r->role && r->role != 0) end_turn(r);
    r->role = is;
    snprintf(where, sizeof where, "messages[%zu]", i);
    if (check_keys(m, "role content", where, r->e)) return -1;
    snprintf(where, sizeof where, "messages[%zu].content", i);
    return read_content(r, json_object_get(m, "content"), where);
}

/* begun: the last turn is the assistant's, who is to go on with it. */
static int read_turns(struct reading *r, const json_t *body, bool *begun)
{
    const json_t *messages = json_object_get(body, "messages"), *system = json_object_get(body, "system"), *m;
    const size_t n = json_array_size(messages);
    size_t i;
    if (n == 0 || n > API_MESSAGES)
        return api_fail(r->e, 400, "invalid_value", "messages", "messages is to be a list of 1 to %d messages",
                        API_MESSAGES);
    r->role = api_is_given(system) ? SYSTEM : 0;
    if (api_is_given(system) && !(json_is_array(system) && json_array_size(system) == 0) &&
        read_content(r, system, "system"))
        return -1;
    json_array_foreach(messages, i, m)
        if (read_message(r, m, i)) return -1;
    *begun = r->role == ASSISTANT;
    end_turn(r);
    return 0;
}

static json_t *messages_of(const json_t *body, bool *begun, struct api_error *e)
{
    struct reading r = {.out = json_array(), .ids = json_object(), .calls = json_array(), .e = e};
    int bad = read_turns(&r, body, begun);
    if (!bad && (r.text.failed || r.thought.failed))
        bad = api_fail(e, 500, "no_memory", NULL, "no memory for the messages");
    json_decref(r.ids);
    json_decref(r.calls);
    buf_free(&r.text);
    buf_free(&r.thought);
    if (!bad) return r.out;
    json_decref(r.out);
    return NULL;
}

/* ---------------------------------------------------------------- tools */

static int check_tool(const json_t *t, const char *where, struct api_error *e)
{
    const char *type = api_text_in(t, "type");
    const json_t *callers = json_object_get(t, "allowed_callers");
    if (api_is_given(json_object_get(t, "type")) && strcmp(type, "custom") != 0)
        return api_fail(e, 400, "unsupported_value", where, "%s is of type \"%.60s\", which Anthropic's servers or "
                        "models bring; here tools have a name and an input_schema", where, type);
    if (!json_is_object(json_object_get(t, "input_schema")))
        return api_fail(e, 400, "invalid_type", where, "%s.input_schema is to be an object", where);
    if (json_is_true(json_object_get(t, "defer_loading")))
        return api_fail(e, 400, "unsupported_value", where, "%s.defer_loading: all tools are told at once here", where);
    if (api_is_given(callers) && !(json_array_size(callers) == 1 && json_is_string(json_array_get(callers, 0)) &&
                               strcmp(json_string_value(json_array_get(callers, 0)), "direct") == 0))
        return api_fail(e, 400, "unsupported_value", where, "%s.allowed_callers: only \"direct\" is known here", where);
    /* eager_input_streaming says how soon pieces come, and nothing of what is in them. */
    return check_keys(t, "name description input_schema strict defer_loading allowed_callers eager_input_streaming",
                      where, e);
}

static int put_tools(const json_t *body, json_t *out, struct api_error *e)
{
    static const char *const names[][2] = {{"name", "name"}, {"description", "description"},
                                           {"input_schema", "parameters"}, {"strict", "strict"}};
    const json_t *tools = json_object_get(body, "tools"), *t;
    size_t i;
    if (!api_is_given(tools)) return 0;
    if (!json_is_array(tools)) return api_fail(e, 400, "invalid_type", "tools", "tools is to be a list");
    json_t *list = json_array();
    json_object_set_new(out, "tools", list);
    json_array_foreach(tools, i, t) {
        char where[48];
        json_t *f = json_object();
        snprintf(where, sizeof where, "tools[%zu]", i);
        json_array_append_new(list, json_pack("{s:s, s:o}", "type", "function", "function", f));
        if (check_tool(t, where, e)) return -1;
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            json_t *v = json_object_get(t, names[k][0]);
            if (api_is_given(v)) json_object_set(f, names[k][1], v);
        }
    }
    return 0;
}

static bool has_tool(const json_t *body, const char *name)
{
    const json_t *t;
    size_t i;
    json_array_foreach(json_object_get(body, "tools"), i, t)
        if (!name || strcmp(api_text_in(t, "name"), name) == 0) return true;
    return false;
}

static int put_choice(const json_t *body, json_t *out, struct api_error *e)
{
    static const char key[] = "tool_choice", parallel[] = "tool_choice.disable_parallel_tool_use";
    static const char *const words[][2] = {{"auto", "auto"}, {"none", "none"}, {"any", "required"}};
    const json_t *c = json_object_get(body, key), *one = json_object_get(c, "disable_parallel_tool_use");
    const char *type = api_text_in(c, "type"), *name = api_text_in(c, "name");
    const bool tool = strcmp(type, "tool") == 0;
    size_t i = 0;
    if (!api_is_given(c)) return 0;
    while (i < COUNT_OF(words) && strcmp(type, words[i][0]) != 0) i++;
    if (i == COUNT_OF(words) && !(tool && has_tool(body, name)))
        return api_fail(e, 400, "invalid_value", key, "tool_choice is to be an object whose type is auto, any, none, "
                        "or tool beside a name that is one of tools");
    if (strcmp(type, "any") == 0 && !has_tool(body, NULL))
        return api_fail(e, 400, "invalid_value", key, "tool_choice: there are no tools of which any could be called");
    if (check_keys(c, tool ? "name disable_parallel_tool_use" : "disable_parallel_tool_use", key, e)) return -1;
    if (api_is_given(one) && !json_is_boolean(one))
        return api_fail(e, 400, "invalid_type", parallel, "%s is to be true or false", parallel);
    if (json_is_true(one)) json_object_set_new(out, "parallel_tool_calls", json_false());
    json_object_set_new(out, key, tool ? json_pack("{s:s, s:{s:s}}", "type", "function", "function", "name", name)
                                       : json_string(words[i][1]));
    return 0;
}

/* ---------------------------------------------------------------- the rest of a request */

static int put_stops(const json_t *body, const struct api_model *m, json_t *out, struct api_error *e)
{
    static const char key[] = "stop_sequences";
    json_t *list = json_object_get(body, key), *v;
    size_t i;
    if (!api_is_given(list)) return 0;
    bool good = json_is_array(list);
    json_array_foreach(list, i, v)
        good = good && json_string_length(v) > 0 && strlen(json_string_value(v)) == json_string_length(v);
    if (!good)
        return api_fail(e, 400, "invalid_value", key, "%s is to be a list of texts, none of them empty", key);
    if (json_array_size(list) > (size_t)(ENGINE_STOPS - m->n_stop))
        return api_fail(e, 400, "invalid_value", key, "%s: at most %d texts can end an answer here", key,
                        ENGINE_STOPS - m->n_stop);
    json_object_set(out, "stop", list);
    return 0;
}

/* Whether it thinks is the model's: "adaptive" asks for that, as does who says nothing.  Harmony's cannot be kept from
 * it, so that there "disabled" is the same. */
static int put_thinking(const json_t *body, const struct api_model *m, json_t *out, struct api_error *e)
{
    static const char key[] = "thinking";
    const json_t *t = json_object_get(body, key);
    const char *type = api_text_in(t, "type");
    if (!api_is_given(t)) return 0;
    const bool harmony = m->calls == FORM_CALLS_HARMONY, enabled = strcmp(type, "enabled") == 0;
    const json_t *budget = json_object_get(t, "budget_tokens");
    if (enabled && (!json_is_integer(budget) || json_integer_value(budget) < 1 || json_integer_value(budget) > 1 << 27))
        return api_fail(e, 400, "invalid_value", "thinking.budget_tokens", "thinking.budget_tokens is to be a whole "
                        "number from 1 to %d", 1 << 27);
    if (!enabled && strcmp(type, "adaptive") != 0 && strcmp(type, "disabled") != 0)
        return api_fail(e, 400, "invalid_value", key, "thinking is to be an object whose type is enabled, adaptive or "
                        "disabled");
    if (api_is_given(json_object_get(t, "display")) && strcmp(api_text_in(t, "display"), "summarized") != 0)
        return api_fail(e, 400, "unsupported_value", "thinking.display", "thinking.display: what is thought is told "
                        "here; leave it out");
    if (enabled) json_object_set_new(out, "thinking_token_budget", json_integer(json_integer_value(budget)));
    if (type[0] == 'd' && !harmony) json_object_set_new(out, "thinking_token_budget", json_integer(0));
    return check_keys(t, type[0] == 'd' ? "" : enabled ? "display budget_tokens" : "display", key, e);
}

static int put_config(const json_t *body, const struct api_model *m, json_t *out, struct api_error *e)
{
    static const char key[] = "output_config", level[] = "output_config.effort", form[] = "output_config.format";
    const json_t *c = json_object_get(body, key), *effort = json_object_get(c, "effort");
    const json_t *format = json_object_get(c, "format");
    json_t *schema = json_object_get(format, "schema");
    enum effort known;
    if (!api_is_given(c)) return 0;
    if (!json_is_object(c)) return api_fail(e, 400, "invalid_type", key, "%s is to be an object", key);
    if (check_keys(c, "effort format", key, e)) return -1;
    const bool told = api_is_given(effort) && m->calls == FORM_CALLS_HARMONY;
    if (api_is_given(effort) && !told && strcmp(api_text_in(c, "effort"), "high") != 0) /* as who leaves it out */
        return api_fail(e, 400, "unsupported_value", level, "%s: this model is not told how much to think, so that "
                        "only high is served, as much as it likes; leave it out (CLAUDE_CODE_EFFORT_LEVEL=high of "
                        "Claude Code)", level);
    if (told && effort_by_name(api_text_in(c, "effort"), &known))
        return api_fail(e, 400, "invalid_value", level, "%s is to be low, medium or high", level);
    if (told) json_object_set_new(out, "reasoning_effort", json_string(api_text_in(c, "effort")));
    if (!api_is_given(format)) return 0;
    if (strcmp(api_text_in(format, "type"), "json_schema") != 0 || !json_is_object(schema))
        return api_fail(e, 400, "unsupported_value", form, "%s is to be {\"type\": \"json_schema\", \"schema\": {...}}",
                        form);
    if (check_keys(format, "schema", form, e)) return -1;
    json_object_set_new(out, "response_format", json_pack("{s:s, s:{s:s, s:b, s:O}}", "type", "json_schema",
                                                          "json_schema", "name", "answer", "strict", 1, "schema",
                                                          schema));
    return 0;
}

/* By this word the tool runner of Anthropic's SDK knows that it is to send the whole conversation each time, which it
 * does then by itself. */
static const char no_thread[] = "thread_unsupported_request";

enum { COPIED = 1, READ = 2, PASSED = 4, COUNTED = 8 }; /* COUNTED: count_tokens has it too */
static const struct { const char *name; int how; } fields[] = {
    {"model", COPIED | COUNTED}, {"messages", READ | COUNTED}, {"system", READ | COUNTED}, {"tools", READ | COUNTED},
    {"tool_choice", READ | COUNTED}, {"thinking", READ | COUNTED}, {"output_config", READ | COUNTED},
    {"max_tokens", COPIED}, {"stream", COPIED}, {"stop_sequences", READ}, {"temperature", COPIED}, {"top_p", COPIED},
    {"top_k", COPIED}, {"min_p", COPIED}, {"repetition_penalty", COPIED}, {"frequency_penalty", COPIED},
    {"presence_penalty", COPIED}, {"logit_bias", COPIED}, {"seed", COPIED}, {"metadata", PASSED},
    {"service_tier", PASSED}, {"cache_control", PASSED | COUNTED}, {"context_management", READ | COUNTED},
};

/* Claude Code says in each request that no thinking is to be cleared, which is how it is.  (What a model is told of its
 * thoughts is its template's.) */
static int check_management(const json_t *body, struct api_error *e)
{
    static const char key[] = "context_management";
    const json_t *edits = json_object_get(json_object_get(body, key), "edits"), *one;
    size_t i;
    bool none = json_array_size(edits) > 0 && json_object_size(json_object_get(body, key)) == 1;
    json_array_foreach(edits, i, one)
        none = none && strcmp(api_text_in(one, "type"), "clear_thinking_20251015") == 0 &&
               strcmp(api_text_in(one, "keep"), "all") == 0 && json_object_size(one) == 2;
    if (none || !api_is_given(json_object_get(body, key))) return 0;
    return api_fail(e, 400, "unsupported_value", key, "%s: only clear_thinking_20251015 that keeps all is served: what "
                    "is sent is what the model is told (CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1 of Claude Code)", key);
}

static int copy_fields(const json_t *body, bool counts, json_t *out, struct api_error *e)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)body, key, v) {
        size_t i = 0;
        if (!api_is_given(v)) continue;
        while (i < COUNT_OF(fields) && strcmp(key, fields[i].name) != 0) i++;
        if (strcmp(key, "thread") == 0)
            return api_fail(e, 400, no_thread, key, "thread: no conversation is kept here to go on from; send the "
                            "whole of it in messages");
        if (i == COUNT_OF(fields) || (counts && !(fields[i].how & COUNTED)))
            return api_fail(e, 400, "unknown_parameter", key, "%.60s is not known here; without it the request can be "
                            "served", key);
        if (fields[i].how & COPIED) json_object_set(out, key, v);
    }
    if (counts || api_is_given(json_object_get(body, "max_tokens"))) return 0;
    return api_fail(e, 400, "invalid_value", "max_tokens", "max_tokens is needed: the most tokens that the answer may "
                    "have");
}

json_t *api_from_messages(const json_t *body, bool counts, const struct api_model *m, struct api_error *e)
{
    json_t *out = json_object(), *messages;
    bool begun = false;
    if (!copy_fields(body, counts, out, e) && !check_management(body, e) && !put_thinking(body, m, out, e) &&
        !put_config(body, m, out, e) && !put_stops(body, m, out, e) && !put_tools(body, out, e) &&
        !put_choice(body, out, e) && (messages = messages_of(body, &begun, e))) {
        if (!begun || json_object_set_new(out, "continue_final_message", json_true()) == 0)
            if (json_object_set_new(out, "messages", messages) == 0) return out;
        api_fail(e, 500, "no_memory", NULL, "no memory for the messages");
    }
    json_decref(out);
    return NULL;
}

/* ---------------------------------------------------------------- errors */

static const char *error_type(int status)
{
    static const struct { int status; const char *type; } types[] = {
        {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
        {413, "request_too_large"}, {429, "rate_limit_error"}, {529, "overloaded_error"},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].status == status) return types[i].type;
    return status >= 500 ? "api_error" : "invalid_request_error";
}

int api_messages_status(const struct api_error *e)
{
    return e->n_ctx > 0 && e->n_prompt == 0 ? 413 : e->status; /* a body that was not read */
}

void api_put_messages_error(const struct api_error *e, struct buf *out)
{
    char text[sizeof e->text];
    const char *whose = strcmp(e->code, "exceeds_memory_budget") == 0 ? " in the memory of this server" : "";
    snprintf(text, sizeof text, "%s", e->text);
    if (e->n_ctx > 0 && e->n_prompt == 0)
        snprintf(text, sizeof text, "prompt is too long: the body of this request is longer than the text of %d "
                 "tokens, the maximum, can be", e->n_ctx);
    else if (e->n_ctx > 0 && e->n_prompt < e->n_ctx)
        snprintf(text, sizeof text, "input length and `max_tokens` exceed context limit: %d + %d > %d%s, decrease "
                 "input length or `max_tokens` and try again", e->n_prompt, e->n_answer, e->n_ctx, whose);
    else if (e->n_ctx > 0)
        snprintf(text, sizeof text, "prompt is too long: %d tokens > %d maximum%s", e->n_prompt, e->n_ctx, whose);
    json_t *o = json_pack("{s:s, s:{s:s, s:o}}", "type", "error", "error", "type", error_type(api_messages_status(e)),
                          "message", api_text(text, strlen(text)));
    if (strcmp(e->code, no_thread) == 0)
        json_object_set_new(json_object_get(o, "error"), "details",
                            json_pack("{s:s, s:[s]}", "error_code", no_thread, "unsupported", e->param));
    char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
    buf_puts(out, line ? line : "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no memory\"}}");
    free(line);
    json_decref(o);
}
