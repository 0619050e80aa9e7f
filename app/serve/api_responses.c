/* api_responses.c - a request of OpenAI's Responses API into the JSON of a chat completion, and what its answer repeats
 * of it.
 *
 * The items of `input` are finer than messages: what was thought, what was said and the calls behind it are items of
 * their own there, and one message of the assistant's here. */
#include "app/serve/api.h"

/* Of the object at `where` no fields but these ("a b c") have a value. */
static int only(const json_t *o, const char *known, const char *where, struct api_error *e)
{
    return api_check_keys(o, "", known, true, where, e);
}

/* ---------------------------------------------------------------- fields */

enum how { MADE, COPIED, PASSED, NOT_HERE };

static const struct field {
    const char *name;
    enum how how;
    const char *chat; /* COPIED: what a chat calls it, where that differs; NOT_HERE: what to do */
} fields[] = {
    {"input", MADE, NULL}, {"instructions", MADE, NULL}, {"tools", MADE, NULL}, {"tool_choice", MADE, NULL},
    {"text", MADE, NULL}, {"reasoning", MADE, NULL}, {"include", MADE, NULL}, {"stream_options", MADE, NULL},
    {"truncation", MADE, NULL}, {"store", MADE, NULL}, {"top_logprobs", MADE, NULL},
    {"model", COPIED, NULL}, {"stream", COPIED, NULL}, {"parallel_tool_calls", COPIED, NULL},
    {"max_output_tokens", COPIED, "max_completion_tokens"}, {"temperature", COPIED, NULL}, {"top_p", COPIED, NULL},
    {"top_k", COPIED, NULL}, {"min_p", COPIED, NULL}, {"repetition_penalty", COPIED, NULL},
    {"frequency_penalty", COPIED, NULL}, {"presence_penalty", COPIED, NULL}, {"logit_bias", COPIED, NULL},
    {"seed", COPIED, NULL}, {"stop", COPIED, NULL},
    {"user", PASSED, NULL}, {"metadata", PASSED, NULL}, {"service_tier", PASSED, NULL},
    {"safety_identifier", PASSED, NULL}, {"prompt_cache_key", PASSED, NULL}, {"prompt_cache_retention", PASSED, NULL},
    {"prompt_cache_options", PASSED, NULL}, {"max_tool_calls", PASSED, NULL}, {"client_metadata", PASSED, NULL},
    {"previous_response_id", NOT_HERE, "answers are not stored; send the whole conversation in input"},
    {"conversation", NOT_HERE, "conversations are not stored; send the whole of it in input"},
    {"background", NOT_HERE, "answers are not stored to be fetched later; leave it out, or ask for a stream"},
    {"prompt", NOT_HERE, "no prompts are stored here; send its text in instructions and input"},
};

static int copy_fields(const json_t *root, json_t *chat, struct api_error *e)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)root, key, v) {
        size_t i = 0;
        while (i < COUNT_OF(fields) && strcmp(fields[i].name, key) != 0) i++;
        if (!api_is_given(v)) continue;
        if (i == COUNT_OF(fields))
            return api_fail(e, 400, "unknown_parameter", key, "%.60s is not known here; without it the request can be "
                            "served", key);
        if (fields[i].how == NOT_HERE && !json_is_false(v))
            return api_fail(e, 400, "unsupported_value", key, "%s: %s", key, fields[i].chat);
        if (fields[i].how == COPIED) json_object_set(chat, fields[i].chat ? fields[i].chat : key, v);
    }
    return 0;
}

/* ---------------------------------------------------------------- input */

struct reading {
    json_t *messages;
    json_t *open;        /* the assistant's message that calls may still join (of messages); NULL: none */
    json_t *ids;         /* of the calls so far */
    struct api_error *e;
};

/* It has been thought, and neither said nor called anything so far. */
static bool only_thought(const struct reading *r)
{
    return r->open && !json_object_get(r->open, "content") && !json_object_get(r->open, "tool_calls");
}

/* Thinking that led to no word and no call is told to nobody. */
static void close_open(struct reading *r)
{
    if (only_thought(r))
        json_array_remove(r->messages, json_array_size(r->messages) - 1);
    r->open = NULL;
}

static json_t *push(struct reading *r, const char *role)
{
    json_t *m = json_pack("{s:s}", "role", role);
    return json_array_append_new(r->messages, m) ? NULL : m;
}

static int no_memory(struct api_error *e) { return api_fail(e, 500, "no_memory", NULL, "no memory for the input"); }

/* Texts, or parts of these types, as a chat has them.  NULL: e. */
static json_t *content_of(const json_t *v, const char *where, bool refusals, struct api_error *e)
{
    const json_t *part;
    json_t *list;
    size_t k;
    if (json_is_string(v)) return json_incref((json_t *)v);
    if (!json_is_array(v)) {
        api_fail(e, 400, "invalid_type", where, "%s is to be a text, or a list of parts that are texts", where);
        return NULL;
    }
    list = json_array();
    json_array_foreach(v, k, part) {
        const char *type = api_text_in(part, "type");
        const bool refusal = refusals && strcmp(type, "refusal") == 0;
        json_t *text = json_object_get(part, refusal ? "refusal" : "text");
        char at[96];
        snprintf(at, sizeof at, "%s[%zu]", where, k);
        const bool known = refusal || strcmp(type, "input_text") == 0 || strcmp(type, "output_text") == 0;
        if (!known || !json_is_string(text)) {
            api_fail(e, 400, "unsupported_value", at, "%s is of type \"%.40s\"; only texts are read here: input_text, "
                     "output_text%s", at, type, refusals ? ", refusal" : "");
        } else if (only(part, refusal ? "type refusal annotations logprobs" : "type text annotations logprobs", at,
                        e) == 0) {
            json_array_append_new(list, json_pack("{s:s, s:O}", "type", refusal ? "refusal" : "text",
                                                  refusal ? "refusal" : "text", text));
            continue;
        }
        json_decref(list);
        return NULL;
    }
    return list;
}

static int put_message(struct reading *r, const json_t *item, const char *where)
{
    static const char *const roles[] = {"user", "assistant", "system", "developer"};
    const char *role = api_text_in(item, "role");
    char at[96];
    size_t k = 0;
    if (only(item, "type role content id status phase", where, r->e)) return -1;
    while (k < COUNT_OF(roles) && strcmp(roles[k], role) != 0) k++;
    snprintf(at, sizeof at, "%s.role", where);
    if (k == COUNT_OF(roles))
        return api_fail(r->e, 400, "invalid_value", at, "%s is to be user, assistant, system or developer", at);
    snprintf(at, sizeof at, "%s.content", where);
    json_t *content = content_of(json_object_get(item, "content"), at, true, r->e);
    if (!content) return -1;
    const bool own = k == 1;
    const bool joins = own && only_thought(r);
    if (!joins) close_open(r);
    json_t *m = joins ? r->open : push(r, role);
    if (json_object_set_new(m, "content", content)) return no_memory(r->e);
    if (own) r->open = m;
    return 0;
}

static int put_call(struct reading *r, const json_t *item, const char *where)
{
    json_t *name = json_object_get(item, "name"), *id = json_object_get(item, "call_id");
    json_t *arguments = json_object_get(item, "arguments");
    if (only(item, "type call_id name arguments id status", where, r->e)) return -1;
    if (!*api_text_in(item, "call_id") || !api_is_name(api_text_in(item, "name")) || !json_is_string(arguments))
        return api_fail(r->e, 400, "invalid_value", where, "%s: a function_call needs a call_id, a name of 1 to %d "
                        "letters, digits, _, - or ., and arguments as a text", where, API_NAME);
    if (!r->open) r->open = push(r, "assistant");
    json_t *calls = json_object_get(r->open, "tool_calls");
    if (!calls && json_object_set_new(r->open, "tool_calls", calls = json_array())) return no_memory(r->e);
    if (json_array_size(calls) == API_CALLS)
        return api_fail(r->e, 400, "invalid_value", where, "%s: more than %d calls in a row", where, API_CALLS);
    json_object_set(r->ids, api_text_of(id), json_true());
    if (json_array_append_new(calls, json_pack("{s:O, s:s, s:{s:O, s:O}}", "id", id, "type", "function", "function",
                                               "name", name, "arguments", arguments)))
        return no_memory(r->e);
    return 0;
}

static int put_output(struct reading *r, const json_t *item, const char *where)
{
    char at[96];
    const char *id = api_text_in(item, "call_id");
    if (only(item, "type call_id output id status name", where, r->e)) return -1;
    snprintf(at, sizeof at, "%s.call_id", where);
    if (!json_object_get(r->ids, id))
        return api_fail(r->e, 400, "invalid_value", at, "%s is to be the call_id of a function_call before it", at);
    snprintf(at, sizeof at, "%s.output", where);
    json_t *content = content_of(json_object_get(item, "output"), at, false, r->e);
    if (!content) return -1;
    close_open(r);
    json_t *m = push(r, "tool");
    json_object_set_new(m, "tool_call_id", json_string(id));
    return json_object_set_new(m, "content", content) ? no_memory(r->e) : 0;
}

/* The texts of a list of parts of one type, with an empty line between them. */
static int put_thoughts(const json_t *list, const char *where, const char *type, struct buf *out, struct api_error *e)
{
    const json_t *part;
    size_t k;
    if (api_is_given(list) && !json_is_array(list))
        return api_fail(e, 400, "invalid_type", where, "%s is to be a list", where);
    json_array_foreach(list, k, part) {
        const json_t *text = json_object_get(part, "text");
        if (strcmp(api_text_in(part, "type"), type) != 0 || !json_is_string(text))
            return api_fail(e, 400, "unsupported_value", where, "%s[%zu] is to be {\"type\": \"%s\", \"text\": ...}",
                            where, k, type);
        buf_puts(out, out->len > 0 ? "\n\n" : "");
        buf_put(out, json_string_value(text), json_string_length(text));
    }
    return 0;
}

static int put_reasoning(struct reading *r, const json_t *item, const char *where)
{
    char at[96];
    struct buf text = {0}, summary = {0};
    const json_t *sealed = json_object_get(item, "encrypted_content");
    if (only(item, "type id status summary content encrypted_content", where, r->e)) return -1;
    snprintf(at, sizeof at, "%s.content", where);
    int bad = put_thoughts(json_object_get(item, "content"), at, "reasoning_text", &text, r->e);
    snprintf(at, sizeof at, "%s.summary", where);
    bad = bad || put_thoughts(json_object_get(item, "summary"), at, "summary_text", &summary, r->e);
    snprintf(at, sizeof at, "%s.encrypted_content", where);
    if (!bad && api_is_given(sealed) && text.len == 0)
        bad = api_fail(r->e, 400, "unsupported_value", at, "%s was not encrypted here and cannot be read; leave it "
                       "out, or send what was thought in content", at);
    const struct buf *said = text.len > 0 ? &text : &summary;
    if (!bad && said->len > 0) {
        const json_t *had = only_thought(r) ? json_object_get(r->open, "reasoning_content") : NULL;
        struct buf all = {0};
        if (had) buf_put(&all, json_string_value(had), json_string_length(had));
        buf_puts(&all, had ? "\n\n" : "");
        buf_put(&all, said->data, said->len);
        if (!had) r->open = push(r, "assistant");
        bad = all.failed || text.failed || json_object_set_new(r->open, "reasoning_content",
                                                               json_stringn(all.data, all.len));
        if (bad) no_memory(r->e);
        buf_free(&all);
    }
    buf_free(&text);
    buf_free(&summary);
    return bad ? -1 : 0;
}

static const struct {
    const char *type;
    int (*put)(struct reading *r, const json_t *item, const char *where);
} items[] = {
    {"message", put_message}, {"function_call", put_call}, {"function_call_output", put_output},
    {"reasoning", put_reasoning},
};

static int put_item(struct reading *r, const json_t *item, size_t i)
{
    char where[48];
    const bool typed = api_is_given(json_object_get(item, "type"));
    const char *type = typed ? api_text_in(item, "type") : "message";
    snprintf(where, sizeof where, "input[%zu]", i);
    if (!json_is_object(item)) return api_fail(r->e, 400, "invalid_type", where, "%s is to be an object", where);
    for (size_t k = 0; k < COUNT_OF(items); k++)
        if (strcmp(items[k].type, type) == 0) return items[k].put(r, item, where);
    if (strcmp(type, "item_reference") == 0)
        return api_fail(r->e, 400, "unsupported_value", where, "%s: no items are stored here to refer to; send the "
                        "item itself", where);
    return api_fail(r->e, 400, "unsupported_value", where, "%s is of type \"%.40s\"; message, function_call, "
                    "function_call_output and reasoning are read here", where, type);
}

static int put_input(const json_t *root, struct reading *r)
{
    const json_t *input = json_object_get(root, "input"), *item;
    json_t *instructions = json_object_get(root, "instructions");
    size_t i;
    if (api_is_given(instructions) && !json_is_string(instructions))
        return api_fail(r->e, 400, "invalid_type", "instructions", "instructions is to be a text");
    if (api_is_given(instructions))
        json_array_append_new(r->messages, json_pack("{s:s, s:O}", "role", "system", "content", instructions));
    if (json_is_string(input))
        return json_array_append_new(r->messages, json_pack("{s:s, s:O}", "role", "user", "content", input))
               ? no_memory(r->e) : 0;
    if (!json_is_array(input) || json_array_size(input) == 0 || json_array_size(input) >= API_MESSAGES)
        return api_fail(r->e, 400, "invalid_value", "input", "input is to be a text, or a list of 1 to %d items",
                        API_MESSAGES - 1);
    json_array_foreach(input, i, item)
        if (put_item(r, item, i)) return -1;
    close_open(r);
    if (json_array_size(r->messages) > 0) return 0;
    return api_fail(r->e, 400, "invalid_value", "input", "there is no message in input");
}

/* ---------------------------------------------------------------- tools */

static int put_tools(const json_t *root, json_t *chat, struct api_error *e)
{
    const json_t *tools = json_object_get(root, "tools"), *t;
    static const char *const keys[] = {"name", "description", "parameters", "strict"};
    size_t i;
    if (!api_is_given(tools)) return 0;
    if (!json_is_array(tools)) return api_fail(e, 400, "invalid_type", "tools", "tools is to be a list");
    json_t *list = json_array();
    json_object_set_new(chat, "tools", list);
    json_array_foreach(tools, i, t) {
        char where[48];
        snprintf(where, sizeof where, "tools[%zu]", i);
        if (strcmp(api_text_in(t, "type"), "function") != 0 || !api_text_of(json_object_get(t, "name")))
            return api_fail(e, 400, "unsupported_value", where, "%s is of type \"%.40s\"; only functions with a name "
                            "are served: {\"type\": \"function\", \"name\": ..., \"parameters\": {...}}", where,
                            api_text_in(t, "type"));
        if (only(t, "type name description parameters strict", where, e)) return -1;
        json_t *f = json_object();
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            if (api_is_given(json_object_get(t, keys[k]))) json_object_set(f, keys[k], json_object_get(t, keys[k]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "type", "function", "function", f));
    }
    return 0;
}

static bool has_tool(const json_t *root, const json_t *named)
{
    const json_t *t;
    size_t i;
    json_array_foreach(json_object_get(root, "tools"), i, t)
        if (strcmp(api_text_in(named, "type"), "function") == 0 &&
            strcmp(api_text_in(named, "name"), api_text_in(t, "name")) == 0)
            return true;
    return false;
}

/* As a chat has it; NULL: no memory. */
static json_t *tool_of(const json_t *named)
{
    return json_pack("{s:s, s:{s:O}}", "type", "function", "function", "name", json_object_get(named, "name"));
}

static int put_allowed(const json_t *root, const json_t *c, json_t *chat, struct api_error *e)
{
    static const char key[] = "tool_choice";
    const json_t *list = json_object_get(c, "tools"), *one;
    const char *mode = api_text_in(c, "mode");
    bool good = json_array_size(list) > 0 && (strcmp(mode, "auto") == 0 || strcmp(mode, "required") == 0);
    size_t i;
    if (only(c, "type mode tools", key, e)) return -1;
    json_array_foreach(list, i, one)
        good = good && has_tool(root, one);
    if (!good)
        return api_fail(e, 400, "invalid_value", key, "tool_choice of allowed_tools is to have a mode, \"auto\" or "
                        "\"required\", and tools: [{\"type\": \"function\", \"name\": one of tools}, ...]");
    json_t *made = json_array();
    json_array_foreach(list, i, one)
        json_array_append_new(made, tool_of(one));
    json_object_set_new(chat, key, json_pack("{s:s, s:{s:s, s:o}}", "type", "allowed_tools", "allowed_tools", "mode",
                                             mode, "tools", made));
    return json_object_get(chat, key) ? 0 : no_memory(e);
}

static int put_choice(const json_t *root, json_t *chat, struct api_error *e)
{
    json_t *c = json_object_get(root, "tool_choice");
    const char *word = api_text_of(c);
    if (!api_is_given(c)) return 0;
    if (word && (strcmp(word, "auto") == 0 || strcmp(word, "none") == 0 ||
                 (strcmp(word, "required") == 0 && json_array_size(json_object_get(root, "tools")) > 0))) {
        json_object_set(chat, "tool_choice", c);
        return 0;
    }
    if (strcmp(api_text_in(c, "type"), "allowed_tools") == 0) return put_allowed(root, c, chat, e);
    if (has_tool(root, c)) return json_object_set_new(chat, "tool_choice", tool_of(c)) ? no_memory(e) : 0;
    return api_fail(e, 400, "invalid_value", "tool_choice", "tool_choice is to be \"auto\", \"none\", \"required\" "
                    "(with tools), {\"type\": \"function\", \"name\": one of tools} or {\"type\": \"allowed_tools\", "
                    "\"mode\": ..., \"tools\": [...]}");
}

/* ---------------------------------------------------------------- the form of an answer */

static int put_text(const json_t *root, json_t *chat, struct api_error *e)
{
    json_t *text = json_object_get(root, "text"), *f = json_object_get(text, "format");
    const json_t *verbosity = json_object_get(text, "verbosity");
    if (!api_is_given(text)) return 0;
    if (!json_is_object(text) || (api_is_given(f) && !json_is_object(f)))
        return api_fail(e, 400, "invalid_type", "text", "text is to be {\"format\": {\"type\": ...}}");
    if (only(text, "format verbosity", "text", e)) return -1;
    if (api_is_given(verbosity) && strcmp(api_text_in(text, "verbosity"), "medium") != 0)
        return api_fail(e, 400, "unsupported_value", "text.verbosity", "text.verbosity: only medium is served; say in "
                        "instructions how long answers are to be");
    if (!api_is_given(f)) return 0;
    if (only(f, "type name description schema strict", "text.format", e)) return -1;
    json_t *schema = json_object_get(f, "schema"), *strict = json_object_get(f, "strict");
    json_t *made = json_pack("{s:O?}", "type", json_object_get(f, "type"));
    if (schema) json_object_set_new(made, "json_schema", json_pack("{s:O, s:b}", "schema", schema, "strict",
                                                                   json_is_true(strict)));
    json_object_set_new(chat, "response_format", made);
    return 0;
}

static int put_reasoning_effort(const json_t *root, json_t *chat, struct api_error *e)
{
    const json_t *r = json_object_get(root, "reasoning");
    if (!api_is_given(r)) return 0;
    if (!json_is_object(r)) return api_fail(e, 400, "invalid_type", "reasoning", "reasoning is to be an object");
    if (only(r, "effort summary generate_summary", "reasoning", e)) return -1; /* the thinking itself is given */
    if (api_is_given(json_object_get(r, "effort")))
        json_object_set(chat, "reasoning_effort", json_object_get(r, "effort"));
    return 0;
}

static int check_rest(const json_t *root, struct api_error *e)
{
    const json_t *include = json_object_get(root, "include"), *options = json_object_get(root, "stream_options"), *v;
    const json_t *store = json_object_get(root, "store"), *top = json_object_get(root, "top_logprobs");
    size_t i;
    if (api_is_given(include) && !json_is_array(include))
        return api_fail(e, 400, "invalid_type", "include", "include is to be a list");
    json_array_foreach(include, i, v)
        if (!api_text_of(v) || strcmp(api_text_of(v), "reasoning.encrypted_content") != 0) /* nothing is encrypted */
            return api_fail(e, 400, "unsupported_value", "include", "include[%zu]: \"%.60s\" is not served here; leave "
                            "it out", i, api_text_of(v) ? api_text_of(v) : "");
    if (api_is_given(top) && !(json_is_integer(top) && json_integer_value(top) == 0))
        return api_fail(e, 400, "unsupported_value", "top_logprobs", "top_logprobs is not served here; chat "
                        "completions have it");
    if (api_is_given(store) && !json_is_boolean(store))
        return api_fail(e, 400, "invalid_type", "store", "store is to be true or false");
    if (api_is_given(json_object_get(root, "truncation")) && strcmp(api_text_in(root, "truncation"), "disabled") != 0)
        return api_fail(e, 400, "unsupported_value", "truncation", "truncation: only \"disabled\" is served: nothing "
                        "is cut silently here; what is too long is refused with its figures");
    if (!api_is_given(options)) return 0;
    if (!json_is_object(options) || !json_is_true(json_object_get(root, "stream")))
        return api_fail(e, 400, "invalid_value", "stream_options", "stream_options is to be an object, beside stream: "
                        "true");
    v = json_object_get(options, "include_obfuscation");
    if (api_is_given(v) && !json_is_false(v))
        return api_fail(e, 400, "unsupported_value", "stream_options.include_obfuscation", "stream_options."
                        "include_obfuscation: only false is served; leave it out");
    return only(options, "include_obfuscation", "stream_options", e);
}

/* ---------------------------------------------------------------- what an answer repeats */

static json_t *echo_of(const json_t *root)
{
    static const char *const texts[] = {"instructions", "user", "safety_identifier", "prompt_cache_key"};
    json_t *parallel = json_object_get(root, "parallel_tool_calls"), *metadata = json_object_get(root, "metadata");
    json_t *tools = json_object_get(root, "tools"), *choice = json_object_get(root, "tool_choice");
    json_t *format = json_object_get(json_object_get(root, "text"), "format");
    json_t *effort = json_object_get(json_object_get(root, "reasoning"), "effort");
    json_t *most = json_object_get(root, "max_output_tokens");
    json_t *o = json_object();
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_t *v = json_object_get(root, texts[i]);
        json_object_set_new(o, texts[i], json_is_string(v) ? json_incref(v) : json_null());
    }
    json_object_set_new(o, "parallel_tool_calls", json_boolean(!json_is_false(parallel)));
    json_object_set_new(o, "metadata", json_is_object(metadata) ? json_incref(metadata) : json_object());
    json_object_set_new(o, "tools", api_is_given(tools) ? json_incref(tools) : json_array());
    json_object_set_new(o, "tool_choice", api_is_given(choice) ? json_incref(choice) : json_string("auto"));
    json_object_set_new(o, "text", json_pack("{s:o}", "format", api_is_given(format) ? json_incref(format)
                                             : json_pack("{s:s}", "type", "text")));
    json_object_set_new(o, "reasoning", json_pack("{s:O?, s:n}", "effort", effort, "summary"));
    if (!effort) json_object_set_new(json_object_get(o, "reasoning"), "effort", json_null());
    json_object_set_new(o, "max_output_tokens", most ? json_incref(most) : json_null());
    return o;
}

int api_from_responses(struct api_ask *a, struct api_error *e)
{
    json_t *chat = json_object();
    struct reading r = {.messages = json_array(), .ids = json_object(), .e = e};
    int bad = !chat || !r.messages || !r.ids ? no_memory(e) : 0;
    bad = bad || copy_fields(a->root, chat, e) || check_rest(a->root, e) || put_input(a->root, &r) ||
          put_tools(a->root, chat, e) || put_choice(a->root, chat, e) || put_text(a->root, chat, e) ||
          put_reasoning_effort(a->root, chat, e);
    if (!bad && json_object_set(chat, "messages", r.messages)) bad = no_memory(e);
    json_decref(r.messages);
    json_decref(r.ids);
    if (bad) {
        json_decref(chat);
        return -1;
    }
    a->echo = echo_of(a->root);
    json_decref(a->root);
    a->root = chat;
    a->made = true;
    return a->echo ? 0 : no_memory(e);
}
