/* api_read.c - a request's fields, one by one. */
#include "app/serve/api.h"
#include <math.h>

int api_fail(struct api_error *e, int status, const char *code, const char *param, const char *fmt, ...)
{
    va_list ap;
    *e = (struct api_error){.status = status, .code = code, .type = "invalid_request_error"};
    if (status == 401) e->type = "authentication_error";
    if (status == 429) e->type = "rate_limit_error";
    if (status >= 500) e->type = "server_error";
    if (param) snprintf(e->param, sizeof e->param, "%s", param);
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    for (char *c = e->text; *c; c++) /* words of the client's are in it: it stays one line */
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
    return -1;
}

/* None is shorter than what takes its place. */
static const char *const responses_words[][2] = {
    {"response_format.json_schema.schema", "text.format.schema"}, {"response_format", "text.format"},
    {"reasoning_effort", "reasoning.effort"}, {"max_completion_tokens", "max_output_tokens"}, {NULL, NULL},
}, *const ollama_words[][2] = {
    {"response_format.json_schema.schema", "format"}, {"response_format", "format"}, {"reasoning_effort", "think"},
    {"repetition_penalty", "repeat_penalty"}, {"reasoning_content", "thinking"}, {"thinking_token_budget", "think"},
    {NULL, NULL},
};

static void replace(char *in, const char *was, const char *is)
{
    const size_t n_was = strlen(was), n_is = strlen(is);
    for (char *at = in; (at = strstr(at, was)); at += n_is) {
        memmove(at + n_is, at + n_was, strlen(at + n_was) + 1);
        memcpy(at, is, n_is);
    }
}

void api_own_words(const struct api_ask *a, struct api_error *e)
{
    const char *const(*words)[2] = a->kind == API_RESPONSES ? responses_words : ollama_words;
    if (!a->made) return;
    for (; (*words)[0]; words++) {
        replace(e->param, (*words)[0], (*words)[1]);
        replace(e->text, (*words)[0], (*words)[1]);
    }
    if (a->kind == API_RESPONSES && strcmp(e->param, "messages") == 0) snprintf(e->param, sizeof e->param, "input");
}

/* ---------------------------------------------------------------- plain values */

static int read_int(const json_t *root, const char *name, int least, int most, int *out, struct api_error *e)
{
    const json_t *v = json_object_get(root, name);
    if (!api_is_given(v)) return 0;
    if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > most)
        return api_fail(e, 400, "invalid_value", name, "%s is to be a whole number from %d to %d", name, least, most);
    *out = (int)json_integer_value(v);
    return 0;
}

/* ---------------------------------------------------------------- sampling */

struct number {
    const char *name;
    size_t at; /* in struct sampling */
    bool whole;
    int least; /* of a whole one: less is this much, and says the same */
};

static const struct number numbers[] = {
    {"temperature", offsetof(struct sampling, temp), false, 0},
    {"top_p", offsetof(struct sampling, top_p), false, 0},
    {"top_k", offsetof(struct sampling, top_k), true, 0},
    {"min_p", offsetof(struct sampling, min_p), false, 0},
    {"repetition_penalty", offsetof(struct sampling, repeat), false, 0},
    {"frequency_penalty", offsetof(struct sampling, frequency), false, 0},
    {"presence_penalty", offsetof(struct sampling, presence), false, 0},
    {"repeat_last_n", offsetof(struct sampling, recent), true, -1}, /* as llama-server calls it */
};

static int set_number(struct api_ask *a, const struct number *f, const json_t *v, int vocab, struct api_error *e)
{
    struct err err = {0};
    char *to = (char *)&a->sampling + f->at;
    double d = json_number_value(v);
    if (!json_is_number(v)) return api_fail(e, 400, "invalid_type", f->name, "%s is to be a number", f->name);
    if (f->whole) {
        int k = d >= -1 && d <= INT32_MAX && d == floor(d) ? (int)d : -2;
        if (k == -2)
            return api_fail(e, 400, "invalid_value", f->name, "%s is to be a whole number; %s", f->name,
                            f->least < 0 ? "0 is none, and -1 all" : "-1 or 0 is none");
        k = MAX(k, f->least);
        memcpy(to, &k, sizeof k);
    } else {
        float x = (float)d;
        memcpy(to, &x, sizeof x);
    }
    if (sampling_check(&a->sampling, vocab, &err) == 0) return 0;
    return api_fail(e, 400, "invalid_value", f->name, "%s: %s", f->name, err.text);
}

/* {"token id": what is added to its logit}. */
static int read_bias(struct api_ask *a, int vocab, struct api_error *e)
{
    json_t *map = json_object_get(a->root, "logit_bias"), *v;
    const char *key;
    if (!api_is_given(map)) return 0;
    if (!json_is_object(map) || json_object_size(map) > ENGINE_MAX_BIAS)
        return api_fail(e, 400, "invalid_value", "logit_bias", "logit_bias is to be an object of at most %d token ids "
                        "with a number each", ENGINE_MAX_BIAS);
    a->sampling.bias = a->bias;
    a->sampling.n_bias = 0;
    json_object_foreach(map, key, v) {
        char *end;
        long id = strtol(key, &end, 10);
        if (!*key || *end || id < 0 || id >= vocab || !json_is_number(v))
            return api_fail(e, 400, "invalid_value", "logit_bias", "logit_bias: \"%.40s\" is no token id from 0 to %d "
                            "with a number", key, vocab - 1);
        a->bias[a->sampling.n_bias++] = (struct kern_bias){(int32_t)id, (float)json_number_value(v)};
    }
    return 0;
}

static bool is_not(const json_t *root, const char *name, double none)
{
    const double d = json_number_value(json_object_get(root, name));
    return api_is_given(json_object_get(root, name)) && (d < none || d > none);
}

/* Where nobody says which tokens are penalised: as vLLM does, by repetition_penalty all, and by OpenAI's two those of
 * the answer.  (Where both are asked for all.)  Ollama's own has a window. */
static void choose_window(struct api_ask *a)
{
    if (a->made || api_is_given(json_object_get(a->root, "repeat_last_n"))) return;
    if (is_not(a->root, "repetition_penalty", 1)) a->sampling.recent = -1;
    else if (is_not(a->root, "frequency_penalty", 0) || is_not(a->root, "presence_penalty", 0))
        a->sampling.recent = RECENT_ANSWER;
}

static int read_sampling(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    int vocab = vocab_size(m->vocab);
    const json_t *seed = json_object_get(a->root, "seed");
    a->sampling = m->sampling;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const json_t *v = json_object_get(a->root, numbers[i].name);
        if (api_is_given(v) && set_number(a, &numbers[i], v, vocab, e)) return -1;
    }
    choose_window(a);
    if (api_is_given(seed)) {
        if (!json_is_integer(seed)) return api_fail(e, 400, "invalid_type", "seed", "seed is to be a whole number");
        a->sampling.seed = (uint64_t)json_integer_value(seed);
        a->seeded = true;
    }
    return read_bias(a, vocab, e);
}

/* ---------------------------------------------------------------- lengths, ends, log-probabilities */

static int add_stop(struct api_ask *a, const json_t *v, struct api_error *e)
{
    if (!json_is_string(v) || json_string_length(v) == 0 || strlen(json_string_value(v)) != json_string_length(v))
        return api_fail(e, 400, "invalid_value", "stop", "stop is to be a text, or a list of texts, none of them "
                        "empty");
    if (a->n_stop == ENGINE_STOPS)
        return api_fail(e, 400, "invalid_value", "stop", "stop: at most %d texts can end an answer, those of the "
                        "server's --stop among them", ENGINE_STOPS);
    a->stop[a->n_stop++] = json_string_value(v);
    return 0;
}

static int read_stop(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    const json_t *v = json_object_get(a->root, "stop"), *one;
    size_t i;
    for (int k = 0; k < m->n_stop; k++) a->stop[a->n_stop++] = m->stop[k];
    if (!api_is_given(v)) return 0;
    if (!json_is_array(v)) return add_stop(a, v, e);
    json_array_foreach(v, i, one)
        if (add_stop(a, one, e)) return -1;
    return 0;
}

static int read_logprobs(struct api_ask *a, struct api_error *e)
{
    if (a->plain) {
        int n = -1;
        if (read_int(a->root, "logprobs", 0, KERN_TOP, &n, e)) return -1;
        a->logprobs = n >= 0;
        a->top_n = MAX(n, 0);
        return 0;
    }
    if (api_read_bool(a->root, "logprobs", &a->logprobs, e) ||
        read_int(a->root, "top_logprobs", 0, KERN_TOP, &a->top_n, e))
        return -1;
    if (a->top_n > 0 && !a->logprobs)
        return api_fail(e, 400, "invalid_value", "top_logprobs", "top_logprobs needs logprobs: true");
    return 0;
}

static int read_lengths(struct api_ask *a, struct api_error *e)
{
    int older = -1;
    if (read_int(a->root, "max_tokens", a->repeats ? 0 : 1, 1 << 27, &older, e) ||
        read_int(a->root, "max_completion_tokens", 1, 1 << 27, &a->max_tokens, e))
        return -1;
    a->scores = older == 0;
    if (older > 0 && a->max_tokens && older != a->max_tokens)
        return api_fail(e, 400, "invalid_value", "max_tokens", "max_tokens and max_completion_tokens say different "
                        "numbers");
    a->max_tokens = MAX(a->max_tokens, older);
    return 0;
}

static int read_stream(struct api_ask *a, struct api_error *e)
{
    const json_t *options = json_object_get(a->root, "stream_options");
    if (api_read_bool(a->root, "stream", &a->stream, e)) return -1;
    if (!api_is_given(options)) return 0;
    if (!json_is_object(options) || !a->stream)
        return api_fail(e, 400, "invalid_value", "stream_options", "stream_options is to be an object, beside stream: "
                        "true");
    return api_check_keys(options, "include_usage include_obfuscation", "", true, "stream_options", e) ||
           api_read_bool(options, "include_usage", &a->usage, e);
}

/* ---------------------------------------------------------------- completions */

static int check_ids(const json_t *list, int vocab, const char *where, struct api_error *e)
{
    const json_t *v;
    size_t i;
    json_array_foreach(list, i, v)
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= vocab)
            return api_fail(e, 400, "invalid_value", where, "%s[%zu] is no token id from 0 to %d", where, i, vocab - 1);
    return 0;
}

static int check_prompt(const json_t *p, const char *where, int vocab, struct api_error *e)
{
    if (json_is_array(p) && json_array_size(p) > 0) return check_ids(p, vocab, where, e);
    if (json_is_string(p)) return 0;
    return api_fail(e, 400, "invalid_type", where, "%s is to be a text, a list of token ids, or a list of such prompts",
                    where);
}

static int read_prompts(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    json_t *p = json_object_get(a->root, "prompt"), *one;
    const bool list = json_is_array(p) && json_array_size(p) > 0 && !json_is_integer(json_array_get(p, 0));
    char where[32] = "prompt";
    size_t i;
    a->prompts = list ? json_incref(p) : json_pack("[O]", p ? p : json_null());
    json_array_foreach(a->prompts, i, one) {
        if (list) snprintf(where, sizeof where, "prompt[%zu]", i);
        if (check_prompt(one, where, vocab_size(m->vocab), e)) return -1;
    }
    if (!a->prompts) return api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (json_array_size(a->prompts) * (size_t)a->n <= API_CHOICES) return 0;
    return api_fail(e, 400, "invalid_value", "prompt", "%zu prompts with n of %d are more than %d answers, the most to "
                    "one request", json_array_size(a->prompts), a->n, API_CHOICES);
}

/* How many answers, and whether prompts are repeated. */
static int read_choices(struct api_ask *a, struct api_error *e)
{
    int best = 0;
    a->n = 1;
    if (read_int(a->root, "n", 1, API_CHOICES, &a->n, e) || read_int(a->root, "best_of", 1, API_CHOICES, &best, e) ||
        api_read_bool(a->root, "echo", &a->repeats, e))
        return -1;
    if (best == 0 || best == a->n) return 0;
    return api_fail(e, 400, "unsupported_value", "best_of", "best_of: only as many as n are made here; leave it out");
}

/* ---------------------------------------------------------------- fields */

enum { CHAT = 1, COMPLETION = 2, BOTH = CHAT | COMPLETION };
/* Read; passed over; only as false, null or empty; only as it is anyhow; not read, since another has its place. */
enum { READ, PASSED, OFF, FIXED, OLDER };

static const struct field {
    const char *name;
    int of, how;
} fields[] = {
    {"model", BOTH, READ}, {"messages", CHAT, READ}, {"prompt", COMPLETION, READ}, {"stream", BOTH, READ},
    {"stream_options", BOTH, READ}, {"temperature", BOTH, READ}, {"top_p", BOTH, READ}, {"top_k", BOTH, READ},
    {"min_p", BOTH, READ}, {"repetition_penalty", BOTH, READ}, {"frequency_penalty", BOTH, READ},
    {"presence_penalty", BOTH, READ}, {"repeat_last_n", BOTH, READ}, {"logit_bias", BOTH, READ},
    {"seed", BOTH, READ}, {"stop", BOTH, READ},
    {"max_tokens", BOTH, READ}, {"max_completion_tokens", CHAT, READ}, {"logprobs", BOTH, READ},
    {"top_logprobs", CHAT, READ}, {"tools", CHAT, READ}, {"tool_choice", CHAT, READ}, {"response_format", BOTH, READ},
    {"structured_outputs", BOTH, READ}, {"guided_json", BOTH, READ}, {"guided_choice", BOTH, READ},
    {"guided_regex", BOTH, READ},
    {"n", BOTH, READ}, {"best_of", COMPLETION, READ}, {"echo", COMPLETION, READ}, {"suffix", COMPLETION, OFF},
    {"user", BOTH, PASSED}, {"metadata", BOTH, PASSED}, {"store", BOTH, PASSED}, {"service_tier", BOTH, PASSED},
    {"safety_identifier", BOTH, PASSED}, {"prompt_cache_key", BOTH, PASSED}, {"prompt_cache_retention", BOTH, PASSED},
    {"parallel_tool_calls", CHAT, READ}, {"reasoning_effort", CHAT, READ}, {"chat_template_kwargs", CHAT, READ},
    {"enable_thinking", CHAT, READ}, {"thinking_token_budget", CHAT, READ}, {"thinking_budget", CHAT, READ},
    {"continue_final_message", CHAT, READ}, {"add_generation_prompt", CHAT, READ},
    {"verbosity", CHAT, FIXED}, {"modalities", CHAT, FIXED}, {"functions", CHAT, OLDER}, {"function_call", CHAT, OLDER},
};

/* The text, or the only one of a list, that such a field may be. */
static const struct { const char *name, *is; } fixed[] = {{"verbosity", "medium"}, {"modalities", "text"}};

static int check_fixed(const char *key, const json_t *v, struct api_error *e)
{
    const char *text = api_text_of(json_array_size(v) == 1 ? json_array_get(v, 0) : v);
    size_t i = 0;
    while (strcmp(fixed[i].name, key) != 0) i++;
    if (text && strcmp(text, fixed[i].is) == 0) return 0;
    return api_fail(e, 400, "unsupported_value", key, "%s: only %s is served; leave it out", key, fixed[i].is);
}

static int refuse_older(const char *key, struct api_error *e)
{
    const bool choice = strcmp(key, "function_call") == 0;
    return api_fail(e, 400, "unsupported_value", key, "%s is the older form of %s, which is to be used instead: %s; a "
                    "call comes as tool_calls, and its result goes back as a message of role tool", key,
                    choice ? "tool_choice" : "tools", choice ? "{\"type\": \"function\", \"function\": {\"name\": ...}}"
                                                             : "[{\"type\": \"function\", \"function\": {...}}, ...]");
}

static const struct field *field_of(const char *name, bool plain)
{
    const int of = plain ? COMPLETION : CHAT;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].of & of && strcmp(fields[i].name, name) == 0) return &fields[i];
    return NULL;
}

static int check_fields(const struct api_ask *a, struct api_error *e)
{
    const char *key;
    json_t *v;
    json_object_foreach(a->root, key, v) {
        const struct field *f = field_of(key, a->plain);
        if (!f && api_is_given(v))
            return api_fail(e, 400, "unknown_parameter", key, "%.60s is not known here; without it the request can be "
                            "served", key);
        if (!f || !api_is_given(v)) continue;
        bool off = json_is_false(v) || (json_is_string(v) && json_string_length(v) == 0);
        if (f->how == OFF && !off)
            return api_fail(e, 400, "unsupported_value", key, "%s is not served here; leave it out", key);
        if (f->how == FIXED && check_fixed(key, v, e)) return -1;
        if (f->how == OLDER) return refuse_older(key, e);
    }
    return 0;
}

/* Ollama's clients put ":latest" behind a name that has no tag. */
static bool is_name(const char *text, const char *name, bool tagged)
{
    const size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && (!text[n] || (tagged && strcmp(text + n, ":latest") == 0));
}

int api_check_model(const json_t *name, enum api_kind kind, const struct api_model *m, struct api_error *e)
{
    const bool ollama = kind == API_OLLAMA_CHAT || kind == API_OLLAMA_GENERATE;
    const char *text = api_text_of(name) ? api_text_of(name) : "";
    if (!api_is_given(name) || is_name(text, m->id, ollama) || is_name(text, "default", ollama)) return 0;
    return api_fail(e, 404, "model_not_found", "model", "the model \"%.100s\" is not here; this server has \"%.100s\" "
                    "(\"default\" names it too, and --alias of plimsoll serve another way)%s", text, m->id,
                    kind < API_ANTHROPIC ? "" : "; Claude Code reads names from ANTHROPIC_MODEL and "
                    "ANTHROPIC_SMALL_FAST_MODEL: set both");
}

/* From here on it is a chat. */
static int translate(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    if (a->kind == API_RESPONSES) return api_from_responses(a, e);
    if (a->kind == API_OLLAMA_CHAT || a->kind == API_OLLAMA_GENERATE) return api_from_ollama(a, m, e);
    if (a->kind < API_ANTHROPIC) return 0;
    a->fills = true; /* as their newer models do */
    json_t *chat = api_from_messages(a->root, a->kind == API_COUNT, m, e);
    json_decref(a->root);
    a->root = chat;
    return chat ? 0 : -1;
}

int api_read(struct api_ask *a, enum api_kind kind, const char *body, size_t n, const struct api_model *m,
             const struct api_memory *memory, struct api_error *e)
{
    *a = (struct api_ask){.kind = kind, .plain = kind == API_COMPLETION, .calls = m->calls};
    a->root = api_read_object(body, n, e);
    if (!a->root || translate(a, m, e) || check_fields(a, e) ||
        api_check_model(json_object_get(a->root, "model"), kind, m, e) || read_stream(a, e) || read_choices(a, e) ||
        read_lengths(a, e) ||
        read_sampling(a, m, e) || api_read_thinking(a, m, e) || read_stop(a, m, e) || read_logprobs(a, e))
        return -1;
    if (a->load) return 0;
    if (a->plain) return read_prompts(a, m, e) || api_read_format(a, e) ? -1 : 0;
    return api_read_begun(a, e) || api_read_messages(a, m, memory, e) || api_read_format(a, e) ||
                   api_check_begun(a, m, e) ? -1 : 0;
}

void api_free(struct api_ask *a)
{
    json_decref(a->root);
    json_decref(a->numbers);
    json_decref(a->names);
    json_decref(a->allowed);
    json_decref(a->echo);
    free(a->msgs);
    json_decref(a->prompts);
    buf_free(&a->schema);
    buf_free(&a->coarse);
    buf_free(&a->looser);
    buf_free(&a->texts);
    *a = (struct api_ask){0};
}
