/* api_ollama.c - Ollama's API: the body of a POST /api/chat or /api/generate as the chat completion (raw: the
 * completion) that says the same, and errors in its form.
 *
 * Its calls of tools mostly have no ids, and results name the tool, or nothing at all.  A chat's have ids, so calls get
 * one here, and a result is that of the first call before it that fits and has none yet.
 *
 * Ollama passes over what it does not know, and says so in its own log alone.  Here an option that would have changed
 * the answer is refused by its name, like every field of the other APIs: who asked for it would never find out.  What
 * is about the machine (threads, layers on a GPU, how long the model stays loaded) changes nothing, as it changes
 * nothing at an Ollama whose model is loaded. */
#include "app/serve/api.h"
#include <math.h>

static int no_memory(struct api_error *e) { return api_fail(e, 500, "no_memory", NULL, "no memory for the request"); }

/* false, "", [], {} or null: as good as not there. */
static bool is_empty(const json_t *v)
{
    return !api_is_given(v) || json_is_false(v) || (json_is_string(v) && json_string_length(v) == 0) ||
           ((json_is_array(v) || json_is_object(v)) && json_array_size(v) + json_object_size(v) == 0);
}

/* ---------------------------------------------------------------- messages */

struct reading {
    json_t *out;  /* messages of a chat */
    json_t *ids;  /* of all calls so far */
    json_t *open; /* of the assistant's last turn, without a result so far: [id, name, the client gave the id] */
    bool own;     /* the message before is the assistant's: its turn may have several (Strands writes each part so) */
    int made;     /* ids that no client gave */
    struct api_error *e;
};

/* The call that a result is of; NULL: none.  id, name: "": the client says none. */
static const char *find_call(struct reading *r, const char *id, const char *name)
{
    const char *known = json_string_value(json_object_get(r->ids, id));
    json_t *call;
    size_t i;
    json_array_foreach(r->open, i, call) {
        const char *own = json_string_value(json_array_get(call, 0));
        const char *its = json_string_value(json_array_get(call, 1));
        const bool given = json_is_true(json_array_get(call, 2));
        if (known ? strcmp(own, known) != 0 : (given && *id) || (*name && strcmp(its, name) != 0)) continue;
        known = json_string_value(json_object_get(r->ids, own)); /* which stays */
        json_array_remove(r->open, i);
        break;
    }
    return known;
}

static int put_result(struct reading *r, const json_t *m, json_t *to, size_t i)
{
    const char *name = api_text_in(m, "tool_name"), *id;
    char where[48];
    snprintf(where, sizeof where, "messages[%zu]", i);
    if (!*name) name = api_text_in(m, "name");
    id = find_call(r, api_text_in(m, "tool_call_id"), name);
    if (!id)
        return api_fail(r->e, 400, "invalid_value", where, "%s: no call in the message before is waiting for a result "
                        "with this tool_name or tool_call_id", where);
    json_object_set_new(to, "tool_call_id", json_string(id));
    return 0;
}

static int put_call(struct reading *r, const json_t *c, json_t *calls, const char *where)
{
    const json_t *f = json_object_get(c, "function"), *arguments = json_object_get(f, "arguments");
    const char *name = api_text_in(f, "name"), *given = api_text_in(c, "id");
    struct buf text = {0};
    char id[24];
    if (!api_is_name(name) || (api_is_given(arguments) && !json_is_object(arguments)))
        return api_fail(r->e, 400, "invalid_value", where, "%s: a call needs {\"function\": {\"name\": the name of a "
                        "tool, \"arguments\": an object}}", where);
    snprintf(id, sizeof id, " %d", r->made++);
    if (!*given) given = id;
    if (json_is_object(arguments)) api_put_json(arguments, JSON_COMPACT, &text);
    json_t *call = json_pack("{s:s, s:s, s:{s:s, s:s%}}", "id", given, "type", "function", "function", "name", name,
                             "arguments", text.data ? text.data : "", text.len);
    int bad = text.failed || json_array_append_new(calls, call) ||
              json_object_set_new(r->ids, given, json_string(given)) ||
              json_array_append_new(r->open, json_pack("[s, s, b]", given, name, given != id));
    buf_free(&text);
    return bad ? no_memory(r->e) : 0;
}

static int put_own(struct reading *r, const json_t *m, json_t *to, size_t i)
{
    json_t *thinking = json_object_get(m, "thinking");
    const json_t *calls = json_object_get(m, "tool_calls"), *c;
    char where[64];
    size_t k;
    snprintf(where, sizeof where, "messages[%zu].thinking", i);
    if (api_is_given(thinking) && !json_is_string(thinking))
        return api_fail(r->e, 400, "invalid_type", where, "%s is to be a text", where);
    if (api_is_given(thinking)) json_object_set(to, "reasoning_content", thinking);
    snprintf(where, sizeof where, "messages[%zu].tool_calls", i);
    if (api_is_given(calls) && !json_is_array(calls))
        return api_fail(r->e, 400, "invalid_type", where, "%s is to be a list", where);
    if (!r->own) json_array_clear(r->open);
    r->own = true;
    if (json_array_size(calls) == 0) return 0;
    json_t *list = json_array();
    if (json_object_set_new(to, "tool_calls", list)) return no_memory(r->e);
    json_array_foreach(calls, k, c) {
        snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu]", i, k);
        if (put_call(r, c, list, where)) return -1;
    }
    return 0;
}

static int put_message(struct reading *r, const json_t *m, size_t i)
{
    json_t *content = json_object_get(m, "content"), *to;
    const char *role = api_text_in(m, "role");
    char where[48];
    snprintf(where, sizeof where, "messages[%zu].images", i);
    if (!is_empty(json_object_get(m, "images")))
        return api_fail(r->e, 400, "unsupported_value", where, "%s: only texts are read here; leave it out", where);
    snprintf(where, sizeof where, "messages[%zu]", i);
    if (api_check_keys(m, "role content images", "thinking tool_calls tool_name tool_call_id name", false, where, r->e))
        return -1;
    snprintf(where, sizeof where, "messages[%zu].role", i);
    if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0 &&
        strcmp(role, "tool") != 0)
        return api_fail(r->e, 400, "invalid_value", where, "%s is to be system, user, assistant or tool", where);
    snprintf(where, sizeof where, "messages[%zu].content", i);
    if (api_is_given(content) && !json_is_string(content))
        return api_fail(r->e, 400, "invalid_type", where, "%s is to be a text", where);
    to = json_pack("{s:s, s:o}", "role", role, "content", content && json_is_string(content) ? json_incref(content)
                                                                                           : json_string(""));
    if (json_array_append_new(r->out, to)) return no_memory(r->e);
    if (strcmp(role, "assistant") == 0) return put_own(r, m, to, i);
    r->own = false;
    return strcmp(role, "tool") == 0 ? put_result(r, m, to, i) : 0;
}

/* An answer, which the model goes on with where it is the last message. */
static bool is_own(const json_t *m)
{
    return strcmp(api_text_in(m, "role"), "assistant") == 0 && !json_object_get(m, "tool_calls");
}

static int put_messages(struct api_ask *a, json_t *out, struct api_error *e)
{
    const json_t *messages = json_object_get(a->root, "messages"), *m;
    struct reading r = {.ids = json_object(), .open = json_array(), .e = e};
    size_t i;
    int bad = 0;
    r.out = json_array();
    json_object_set_new(out, "messages", r.out);
    if (api_is_given(messages) && (!json_is_array(messages) || json_array_size(messages) > API_MESSAGES))
        bad = api_fail(e, 400, "invalid_value", "messages", "messages is to be a list of at most %d messages",
                       API_MESSAGES);
    if (!bad && json_array_size(messages) == 0) a->load = "load";
    json_array_foreach(messages, i, m) {
        bad = bad || put_message(&r, m, i);
        if (bad) break;
    }
    if (!bad && is_own(json_array_get(r.out, json_array_size(r.out) - 1)) && !a->load)
        bad = json_object_set_new(out, "continue_final_message", json_true()) ? no_memory(e) : 0;
    json_decref(r.ids);
    json_decref(r.open);
    return bad;
}

/* ---------------------------------------------------------------- a prompt of /api/generate */

static int text_of(const json_t *root, const char *key, json_t **out, struct api_error *e)
{
    json_t *v = json_object_get(root, key);
    *out = json_string_length(v) > 0 ? v : NULL;
    if (!api_is_given(v) || json_is_string(v)) return 0;
    return api_fail(e, 400, "invalid_type", key, "%s is to be a text", key);
}

static int put_prompt(struct api_ask *a, json_t *out, struct api_error *e)
{
    json_t *prompt, *system, *list = json_array();
    const json_t *raw = json_object_get(a->root, "raw");
    json_object_set_new(out, "messages", list);
    if (text_of(a->root, "prompt", &prompt, e) || text_of(a->root, "system", &system, e)) return -1;
    if (api_is_given(raw) && !json_is_boolean(raw))
        return api_fail(e, 400, "invalid_type", "raw", "raw is to be true or false");
    a->plain = json_is_true(raw);
    if (!prompt) a->load = "load";
    if (a->plain && system)
        return api_fail(e, 400, "invalid_value", "system", "system: a raw prompt is all that the model is told; put it "
                        "there, or leave raw out");
    if (a->plain) {
        json_object_del(out, "messages");
        return prompt && json_object_set(out, "prompt", prompt) ? no_memory(e) : 0;
    }
    if (system) json_array_append_new(list, json_pack("{s:s, s:O}", "role", "system", "content", system));
    if (prompt) json_array_append_new(list, json_pack("{s:s, s:O}", "role", "user", "content", prompt));
    return json_array_size(list) < (size_t)(prompt != NULL) + (system != NULL) ? no_memory(e) : 0;
}

/* ---------------------------------------------------------------- options */

enum option_how {
    COPIED, /* a chat has it */
    READ,   /* put_option() knows what it is */
    HINT,   /* about the machine, or about what is forgotten where a context is full: nothing is here */
    ONLY    /* that value, which changes nothing */
};

static const struct option {
    const char *name;
    enum option_how how;
    const char *chat; /* COPIED: what a chat calls it, where that differs */
    double only;
} options[] = {
    {"temperature", COPIED, NULL, 0}, {"top_k", COPIED, NULL, 0}, {"top_p", COPIED, NULL, 0},
    {"min_p", COPIED, NULL, 0}, {"repeat_penalty", COPIED, "repetition_penalty", 0},
    {"repeat_last_n", COPIED, NULL, 0}, {"presence_penalty", COPIED, NULL, 0}, {"frequency_penalty", COPIED, NULL, 0},
    {"stop", COPIED, NULL, 0}, {"seed", READ, NULL, 0}, {"num_predict", READ, NULL, 0}, {"num_ctx", READ, NULL, 0},
    {"num_keep", HINT, NULL, 0}, {"num_batch", HINT, NULL, 0}, {"num_gpu", HINT, NULL, 0},
    {"main_gpu", HINT, NULL, 0}, {"num_thread", HINT, NULL, 0}, {"use_mmap", HINT, NULL, 0},
    {"use_mlock", HINT, NULL, 0}, {"numa", HINT, NULL, 0}, {"low_vram", HINT, NULL, 0}, {"f16_kv", HINT, NULL, 0},
    {"logits_all", HINT, NULL, 0}, {"mirostat_tau", HINT, NULL, 0}, {"mirostat_eta", HINT, NULL, 0},
    {"mirostat", ONLY, NULL, 0}, {"tfs_z", ONLY, NULL, 1}, {"typical_p", ONLY, NULL, 1},
    {"penalize_newline", ONLY, NULL, 1}, {"vocab_only", ONLY, NULL, 0}, {"embedding_only", ONLY, NULL, 0},
};

/* seed: below 0 is another each time.  num_predict: below 1 is as many as there is room for, and so is more than that;
 * Ollama refuses none, and done_reason says that it was cut. */
static int put_number(struct api_ask *a, const char *name, json_t *v, const struct api_model *m, json_t *out,
                      struct api_error *e)
{
    const double real = json_number_value(v); /* Ollama takes 10.0 for 10 */
    const bool whole = json_is_integer(v) || (json_is_real(v) && fabs(real) < 1e15 && real == floor(real));
    const json_int_t n = json_is_integer(v) ? json_integer_value(v) : whole ? (json_int_t)real : 0, most = 1 << 27;
    char where[48];
    snprintf(where, sizeof where, "options.%s", name);
    if (!whole) return api_fail(e, 400, "invalid_type", where, "%s is to be a whole number", where);
    if (strcmp(name, "seed") == 0) return n >= 0 && json_object_set_new(out, name, json_integer(n)) ? no_memory(e) : 0;
    if (strcmp(name, "num_ctx") == 0) {
        if (n <= m->ctx) return 0; /* there is room for that */
        return api_fail(e, 400, "unsupported_value", where, "%s: this server was started for %d tokens a request, and "
                        "not %lld; leave it out, or start the server with --ctx %lld", where, m->ctx, (long long)n,
                        (long long)n);
    }
    if (n > most)
        return api_fail(e, 400, "invalid_value", where, "%s is to be at most %lld", where, (long long)most);
    a->fills = true;
    return n > 0 && json_object_set_new(out, "max_tokens", json_integer(n)) ? no_memory(e) : 0;
}

static int put_option(struct api_ask *a, const char *key, json_t *v, const struct api_model *m, json_t *out,
                      struct api_error *e)
{
    char where[96];
    size_t i = 0;
    snprintf(where, sizeof where, "options.%.60s", key);
    while (i < COUNT_OF(options) && strcmp(key, options[i].name) != 0) i++;
    if (i == COUNT_OF(options))
        return api_fail(e, 400, "unknown_parameter", where, "%s is not known here; without it the request can be "
                        "served", where);
    const struct option *o = &options[i];
    if (o->how == HINT) return 0;
    if (o->how == READ) return put_number(a, key, v, m, out, e);
    if (o->how == COPIED) return json_object_set(out, o->chat ? o->chat : key, v) ? no_memory(e) : 0;
    const double is = json_is_boolean(v) ? (double)json_is_true(v) : json_number_value(v);
    if ((json_is_boolean(v) || json_is_number(v)) && is >= o->only && is <= o->only) return 0;
    return api_fail(e, 400, "unsupported_value", where, "%s is not served here; leave it out", where);
}

static int put_options(struct api_ask *a, const struct api_model *m, json_t *out, struct api_error *e)
{
    json_t *given = json_object_get(a->root, "options"), *v;
    const char *key;
    if (!api_is_given(given)) return 0;
    if (!json_is_object(given)) return api_fail(e, 400, "invalid_type", "options", "options is to be an object");
    json_object_foreach(given, key, v)
        if (api_is_given(v) && put_option(a, key, v, m, out, e)) return -1;
    return 0;
}

/* ---------------------------------------------------------------- the rest of a request */

/* Only harmony's are told how much, and cannot be told not to. */
static int put_think(const struct api_ask *a, const struct api_model *m, json_t *out, struct api_error *e)
{
    static const char key[] = "think";
    json_t *v = json_object_get(a->root, key);
    const bool off = json_is_false(v);
    if (!api_is_given(v)) return 0;
    if (!json_is_boolean(v) && !json_is_string(v))
        return api_fail(e, 400, "invalid_type", key, "think is to be true, false, \"low\", \"medium\" or \"high\"");
    if (a->plain && !off)
        return api_fail(e, 400, "unsupported_value", key, "think: what comes behind a raw prompt is one text; leave "
                        "it out");
    if (a->plain) return 0;
    if (off && m->thinks && m->calls == FORM_CALLS_HARMONY)
        return api_fail(e, 400, "unsupported_value", key, "think: whether it thinks is this model's own affair, and "
                        "cannot be forbidden; leave it out: what is thought comes apart, as thinking");
    if (off) return json_object_set_new(out, "thinking_token_budget", json_integer(0)) ? no_memory(e) : 0;
    if (!off && !m->thinks)
        return api_fail(e, 400, "unsupported_value", key, "\"%.100s\" does not support thinking; leave think out",
                        m->id);
    const bool told = json_is_string(v), harmony = m->calls == FORM_CALLS_HARMONY;
    if (!told && harmony) return 0;
    return json_object_set(out, told ? "reasoning_effort" : "enable_thinking", v) ? no_memory(e) : 0;
}

static int put_format(const struct api_ask *a, json_t *out, struct api_error *e)
{
    static const char key[] = "format";
    json_t *f = json_object_get(a->root, key), *made;
    if (!json_is_object(f) && is_empty(f)) return 0;
    if (!json_is_object(f) && strcmp(api_text_in(a->root, key), "json") != 0)
        return api_fail(e, 400, "invalid_value", key, "format is to be \"json\", or an object that is a JSON schema");
    if (a->plain)
        return api_fail(e, 400, "unsupported_value", key, "format: what comes behind a raw prompt is held to none; "
                        "leave out one of the two");
    made = json_is_object(f) ? json_pack("{s:s, s:{s:O}}", "type", "json_schema", "json_schema", "schema", f)
                             : json_pack("{s:s}", "type", "json_object");
    return json_object_set_new(out, "response_format", made) ? no_memory(e) : 0;
}

/* Seconds, or a text like "5m" or "1h30m".  The model stays loaded whatever it says: it is all that this server has,
 * and others wait for it; so it matters only where nothing else is asked, for the word of the answer. */
static int check_keep(struct api_ask *a, struct api_error *e)
{
    static const char key[] = "keep_alive";
    const json_t *v = json_object_get(a->root, key);
    const char *text = api_text_of(v);
    if (!api_is_given(v)) return 0;
    const bool number = text && *text && strpbrk(text, "0123456789") && !text[strspn(text, "0123456789.+-hmsun")];
    if (!json_is_number(v) && !number)
        return api_fail(e, 400, "invalid_value", key, "keep_alive is to be a number of seconds, or a text like \"5m\"");
    const bool none = text ? !strpbrk(text, "123456789") : !(json_number_value(v) > 0 || json_number_value(v) < 0);
    if (a->load && none) a->load = "unload";
    return 0;
}

static int put_logprobs(const struct api_ask *a, json_t *out, struct api_error *e)
{
    json_t *wanted = json_object_get(a->root, "logprobs"), *top = json_object_get(a->root, "top_logprobs");
    if (api_is_given(wanted) && !json_is_boolean(wanted))
        return api_fail(e, 400, "invalid_type", "logprobs", "logprobs is to be true or false");
    if (json_is_integer(top) && json_integer_value(top) == 0) top = NULL;
    if (api_is_given(top) && !json_is_true(wanted))
        return api_fail(e, 400, "invalid_value", "top_logprobs", "top_logprobs needs logprobs: true");
    if (!json_is_true(wanted)) return 0;
    if (a->plain) /* a completion has one number for both */
        return json_object_set_new(out, "logprobs", api_is_given(top) ? json_incref(top) : json_integer(0));
    json_object_set(out, "logprobs", wanted);
    return api_is_given(top) && json_object_set(out, "top_logprobs", top) ? no_memory(e) : 0;
}

enum { CHAT = 1, GENERATE = 2, BOTH = CHAT | GENERATE };

static const struct field {
    const char *name;
    int of;
    const char *empty; /* it may only be empty, and why; NULL: it is read, or changes nothing */
} fields[] = {
    {"model", BOTH, NULL}, {"messages", CHAT, NULL}, {"tools", CHAT, NULL}, {"prompt", GENERATE, NULL},
    {"system", GENERATE, NULL}, {"raw", GENERATE, NULL}, {"stream", BOTH, NULL}, {"format", BOTH, NULL},
    {"options", BOTH, NULL}, {"think", BOTH, NULL}, {"keep_alive", BOTH, NULL}, {"logprobs", BOTH, NULL},
    {"top_logprobs", BOTH, NULL},
    /* What to do where a context is full: here a prompt is refused before that, and an answer ends. */
    {"truncate", BOTH, NULL}, {"shift", BOTH, NULL},
    {"images", GENERATE, "only texts are read here; leave it out"},
    {"suffix", GENERATE, "nothing is filled in before a text here; leave it out"},
    {"template", BOTH, "the model's own is used; leave it out, or send the finished prompt to /api/generate with raw"},
    {"context", GENERATE, "no answer has one to go on from; send the conversation to /api/chat"},
};

static int check_fields(const struct api_ask *a, struct api_error *e)
{
    const int of = a->kind == API_OLLAMA_CHAT ? CHAT : GENERATE;
    const char *key;
    json_t *v;
    json_object_foreach(a->root, key, v) {
        size_t i = 0;
        if (!api_is_given(v)) continue;
        while (i < COUNT_OF(fields) && (strcmp(key, fields[i].name) != 0 || !(fields[i].of & of))) i++;
        if (i == COUNT_OF(fields))
            return api_fail(e, 400, "unknown_parameter", key, "%.60s is not known here; without it the request can be "
                            "served", key);
        if (fields[i].empty && !is_empty(v))
            return api_fail(e, 400, "unsupported_value", key, "%s: %s", key, fields[i].empty);
    }
    return 0;
}

int api_from_ollama(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    json_t *out = json_object(), *tools = json_object_get(a->root, "tools");
    json_t *model = json_object_get(a->root, "model"), *stream = json_object_get(a->root, "stream");
    int bad = out ? 0 : no_memory(e);
    bad = bad || check_fields(a, e) || (a->kind == API_OLLAMA_CHAT ? put_messages(a, out, e) : put_prompt(a, out, e)) ||
          put_options(a, m, out, e) || put_think(a, m, out, e) || put_format(a, out, e) || check_keep(a, e) ||
          put_logprobs(a, out, e);
    if (bad) {
        json_decref(out);
        return -1;
    }
    json_object_set_new(out, "stream", api_is_given(stream) ? json_incref(stream) : json_true());
    if (api_is_given(tools)) json_object_set(out, "tools", tools);
    if (api_is_given(model)) json_object_set(out, "model", model);
    json_decref(a->root);
    a->root = out;
    a->made = true;
    return 0;
}

int api_check_ollama_options(json_t *root, const struct api_model *m, struct api_error *e)
{
    struct api_ask a = {.root = root};
    json_t *out = json_object();
    int bad = out ? put_options(&a, m, out, e) || check_keep(&a, e) : no_memory(e);
    json_decref(out);
    return bad ? -1 : 0;
}

void api_put_ollama_error(const struct api_error *e, struct buf *out)
{
    json_t *o = json_pack("{s:o}", "error", api_text(e->text, strlen(e->text)));
    char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
    buf_puts(out, line ? line : "{\"error\":\"no memory\"}");
    free(line);
    json_decref(o);
}
