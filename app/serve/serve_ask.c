/* serve_ask.c - from a whole HTTP request to a request of the engine, or to a refusal. */
#include "app/progress.h"
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include <strings.h>
#include <time.h>

static const char type_json[] = "application/json";

/* ---------------------------------------------------------------- refusing */

static void count_refusal(struct serve *s, const struct api_error *e)
{
    struct serve_counts *n = &s->counts;
    if (e->status == 429) n->refused_busy++;
    else if (e->status == 401 || e->status == 403) n->refused_key++;
    else if (e->status >= 500 && e->status != 501) n->failed++; /* 501: nobody could serve it here */
    else if (strcmp(e->code, "context_length_exceeded") == 0) n->refused_context++;
    else if (strcmp(e->code, "exceeds_memory_budget") == 0) n->refused_memory++;
    else n->refused_input++;
}

/* Whose clients want errors in their own form. */
static bool is_under(const struct http_call *c, const char *path)
{
    const size_t n = strlen(path);
    return strncmp(http_path(c), path, n) == 0 && (http_path(c)[n] == '\0' || http_path(c)[n] == '/');
}

void serve_refuse(struct serve *s, struct http_call *c, const struct api_error *e)
{
    struct http_header headers[HTTP_HEADERS] = {0};
    struct buf body = {0};
    const bool anthropic = is_under(c, "/v1/messages");
    const int status = anthropic ? api_messages_status(e) : e->status;
    if (anthropic) api_put_messages_error(e, &body);
    else if (is_under(c, "/api")) api_put_ollama_error(e, &body);
    else api_put_error(e, &body);
    if (e->status == 429) {
        headers[0] = (struct http_header){"Retry-After", "1"};
        headers[1] = (struct http_header){"retry-after-ms", "1000"};
    }
    if (e->allow) headers[0] = (struct http_header){"Allow", e->allow};
    if (e->status == 401) headers[0] = (struct http_header){"WWW-Authenticate", "Bearer"};
    count_refusal(s, e);
    say_dim("%s %s: %d %s", http_method(c), http_path(c), status, e->text);
    http_answer(c, status, type_json, headers, body.data ? body.data : "", body.len);
    buf_free(&body);
}

void serve_id(struct serve *s, const char *front, char *out, size_t size)
{
    static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t number = ++s->made;
    struct sip128 h = siphash128(s->secret, &number, sizeof number);
    char text[23];
    for (int i = 0; i < 22; i++) {
        uint64_t *from = i < 11 ? &h.a : &h.b;
        text[i] = digit[*from % 62];
        *from /= 62;
    }
    text[22] = '\0';
    snprintf(out, size, "%s%s", front, text);
}

/* ---------------------------------------------------------------- who may ask */

/* As long as it takes, whatever is alike. */
static bool same_key(const struct buf *key, const char *given)
{
    size_t n = strlen(given);
    unsigned differ = n != key->len;
    for (size_t i = 0; i < key->len; i++) differ |= (unsigned)(key->data[i] ^ (i < n ? given[i] : 0));
    return differ == 0;
}

/* A page in a browser can send requests to this machine in its owner's name: under another name that leads here, and
 * with the few types that need no leave.  So names are checked, and the type. */
static bool is_local_name(const struct serve *s, const char *host)
{
    const char *const local[] = {"localhost", "127.0.0.1", "[::1]", http_host(s->http)};
    for (size_t i = 0; i < COUNT_OF(local); i++) {
        size_t n = strlen(local[i]);
        if (strncasecmp(host, local[i], n) == 0 && (host[n] == '\0' || host[n] == ':')) return true;
    }
    return false;
}

static int check_asker(const struct serve *s, const struct http_call *c, struct api_error *e)
{
    const char *host = http_header(c, "Host"), *key = http_header(c, "Authorization");
    const char *bare = http_header(c, "x-api-key");
    if (strcmp(http_path(c), "/health") == 0) return 0; /* who looks after it knows nothing of it */
    if (http_is_local(s->http) && s->key.len == 0 && (!host || !is_local_name(s, host)))
        return api_fail(e, 403, "forbidden_host", NULL, "this server is for this machine: ask it as localhost or "
                        "127.0.0.1");
    if (s->key.len == 0) return 0;
    if (key && strncasecmp(key, "Bearer ", 7) == 0 && same_key(&s->key, key + 7 + strspn(key + 7, " "))) return 0;
    if (bare && same_key(&s->key, bare)) return 0; /* as Anthropic's clients send it */
    return api_fail(e, 401, "invalid_api_key", NULL, "a key is needed: Authorization: Bearer KEY (or x-api-key: KEY), "
                    "as in the server's --key-file");
}

/* Ollama's clients (LiteLLM, curl as its manual has it) say no type, or that of a form.  A page could send that too,
 * but a browser then says whose page it is. */
static bool is_typeless(const struct http_call *c, const char *type)
{
    static const char form[] = "application/x-www-form-urlencoded";
    if (!is_under(c, "/api") || (type && strcasecmp(type, form) != 0)) return false;
    return !http_header(c, "Origin") && !http_header(c, "Referer") && !http_header(c, "Sec-Fetch-Site");
}

static int check_body(const struct serve *s, const struct http_call *c, struct api_error *e)
{
    const char *type = http_header(c, "Content-Type");
    if (http_trouble(c) == HTTP_TOO_LONG) {
        api_fail(e, 400, "context_length_exceeded", "messages", "This model's maximum context length is %d tokens. "
                 "However, the body of this request is longer than the text of so many can be. Please reduce the "
                 "length of the messages. (context_length_exceeded)", s->a->info->ctx);
        e->n_ctx = s->a->info->ctx;
        return -1;
    }
    if (http_trouble(c) == HTTP_FULL)
        return api_fail(e, 429, "server_busy", NULL, "The server holds as many requests as it has room for; try again");
    size_t n = sizeof type_json - 1;
    if (type && strncasecmp(type, type_json, n) == 0 && strchr("; ", type[n])) return 0;
    if (is_typeless(c, type)) return 0;
    return api_fail(e, 415, "unsupported_media_type", NULL, "Content-Type is to be application/json");
}

/* ---------------------------------------------------------------- the engine's request */

static int busy(const struct serve *s, struct api_error *e)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    return api_fail(e, 429, "server_busy", NULL, "The server is busy: %lld requests run and %lld wait; try again later",
                    (long long)now.running, (long long)now.waiting);
}

static int never_fits(const struct serve *s, int n_prompt, int max_tokens, struct api_error *e)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    const int ctx = s->a->info->ctx, pool = (int)MIN(now.pool_tokens, (uint64_t)INT32_MAX);
    const bool budget = (int64_t)n_prompt + max_tokens <= ctx;
    const int most = budget ? MIN(pool, ctx) : ctx;
    api_fail(e, 400, budget ? "exceeds_memory_budget" : "context_length_exceeded", "messages",
             "This model's maximum context length is %d tokens%s. However, you requested %lld tokens (%d in the "
             "messages, %d in the completion). Please reduce the length of the messages or completion. "
             "(context_length_exceeded)", most,
             budget ? " in the memory of this server" : "", (long long)n_prompt + max_tokens, n_prompt, max_tokens);
    e->n_prompt = n_prompt;
    e->n_answer = max_tokens;
    e->n_ctx = most;
    return -1;
}

int serve_refusal(const struct serve *s, int code, int n_prompt, int max_tokens, const struct err *err,
                  struct api_error *e)
{
    switch (code) {
    case ENGINE_NEVER_FITS: return never_fits(s, n_prompt, max_tokens, e);
    case ENGINE_NO_MEMORY: if (s->active == 0) return never_fits(s, n_prompt, max_tokens, e); /* fall through */
    case ENGINE_QUEUE_FULL:
    case ENGINE_NOT_NOW: return busy(s, e);
    case ENGINE_BAD_REQUEST: return api_fail(e, 400, "invalid_value", NULL, "%s", err->text);
    default: return api_fail(e, 500, "engine_failed", NULL, "%s", err->text);
    }
}

/* A completion's text as ids: nothing in it is a control token. */
static int encode_prompt(struct serve *s, struct api_ask *ask, struct api_error *e)
{
    const struct vocab *v = s->model.vocab;
    struct ids ids = {0};
    struct err err = {0};
    if (vocab_adds_bos(v) && vocab_bos(v) >= 0) ids_put(&ids, vocab_bos(v));
    int rc = vocab_encode(v, NULL, ask->prompt, ask->n_prompt, 0, &ids, &err);
    if (rc || ids.failed || ids.n == 0 || ids.n > INT32_MAX) {
        ids_free(&ids);
        return api_fail(e, rc ? 400 : ids.failed ? 500 : 400, "invalid_value", "prompt", "prompt: %s", rc ? err.text :
                        "there is nothing in it, or no memory for it");
    }
    ask->ids = ids.id;
    ask->n_ids = (int)ids.n;
    return 0;
}

static int count_prompt(struct serve *s, const struct api_ask *ask, int *n, struct api_error *e)
{
    struct engine_count count = {0};
    struct err err = {0};
    *n = ask->n_ids;
    if (ask->ids) return 0;
    if (s->a->ops->count_tokens(s->a->engine, ask->msgs, ask->n_msgs, &count, &err) == 0) {
        *n = count.tokens;
        return 0;
    }
    return api_fail(e, 400, "invalid_value", "messages", "%s", err.text);
}

static int submit(struct serve *s, struct job *j, struct api_ask *ask, struct api_error *e)
{
    struct request_grammar g = {.schema = ask->schema.data, .n_schema = ask->schema.len, .blanks = !s->model.embedded,
                                .whole = ask->whole};
    struct err err = {0};
    const bool own = ask->calls == FORM_CALLS_OWN;
    const bool no_grammar = ask->calls == FORM_CALLS_HARMONY; /* the engine says so to whom asked for one */
    if (own && (!ask->whole || j->whole_call)) { /* families with forms of their own write a call bare */
        g.open = API_CALL_OPEN;
        g.close = "</tool_call>";
    }
    if (!ask->whole) {
        g.free_open = "<think>";
        g.free_close = "</think>";
    }
    struct request r = {
        .msgs = ask->msgs, .n_msgs = ask->n_msgs, .ids = ask->ids, .n_ids = ask->n_ids, .agent = j->agent,
        .max_tokens = j->max_tokens, .sampling = ask->sampling, .stop = ask->stop, .n_stop = ask->n_stop,
        .top_n = ask->top_n, .no_logprobs = !ask->logprobs,
        .thinking = ask->whole || ask->plain ? THINKING_FREE : ask->thinking,
        .grammar = ask->schema.len > 0 && (own || ask->whole || (no_grammar && ask->strict)) ? &g : NULL,
    };
    int code = s->a->ops->submit(s->a->engine, &r, &j->id, &err);
    /* Parameters that no grammar can hold a call to: where nobody asked for that, the call is only hoped for. */
    if (code == ENGINE_BAD_REQUEST && r.grammar && !ask->whole && !ask->strict) {
        r.grammar = NULL;
        code = s->a->ops->submit(s->a->engine, &r, &j->id, &err);
    }
    if (code) {
        serve_refusal(s, code, j->n_prompt, j->max_tokens, &err, e);
        const char *whose = !r.grammar || code != ENGINE_BAD_REQUEST ? NULL : j->tools ? "tools" : "response_format";
        if (whose) snprintf(e->param, sizeof e->param, "%s", whose);
        return -1;
    }
    j->ans = s->a->ops->answer(s->a->engine, j->id);
    j->n_prompt = j->ans->n_prompt;
    return 0;
}

/* ---------------------------------------------------------------- jobs */

static int take_agent(struct serve *s)
{
    int least = 0;
    for (int i = 1; i < ENGINE_AGENTS; i++)
        if (s->agent[i] < s->agent[least]) least = i;
    s->agent[least]++;
    return least;
}

static void keep_types(struct job *j, const char *tool, const json_t *parameters)
{
    const char *key;
    json_t *p;
    json_object_foreach(json_object_get(parameters, "properties"), key, p) {
        const unsigned types = api_types_of(p, parameters);
        const char byte = (char)types;
        if ((types & ~(unsigned)FORM_STRING) == 0) continue;
        buf_put(&j->types, tool, strlen(tool) + 1);
        buf_put(&j->types, key, strlen(key) + 1);
        buf_put(&j->types, &byte, 1);
    }
}

static void keep_names(struct job *j, const struct api_ask *ask)
{
    const json_t *t;
    size_t i;
    json_array_foreach(ask->tools, i, t) {
        const json_t *f = json_object_get(t, "function");
        const char *name = json_string_value(json_object_get(f, "name"));
        buf_put(&j->names, name, strlen(name) + 1);
        if (forms_in_tags(ask->calls)) keep_types(j, name, json_object_get(f, "parameters"));
    }
    for (int k = j->s->model.n_stop; k < ask->n_stop; k++) /* behind the server's own */
        buf_put(&j->stops, ask->stop[k], strlen(ask->stop[k]) + 1);
}

static const struct serve_voice *const voice_of[API_KINDS] = {
    [API_CHAT] = &serve_chat, [API_COMPLETION] = &serve_completion,
    [API_ANTHROPIC] = &serve_messages, [API_COUNT] = &serve_messages,
    [API_RESPONSES] = &serve_responses, [API_OLLAMA_CHAT] = &serve_ollama_chat,
    [API_OLLAMA_GENERATE] = &serve_ollama_generate,
};

struct job *serve_job(struct serve *s, struct http_call *c)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    *j = (struct job){.s = s, .call = c, .agent = take_agent(s), .created = time(NULL), .start = progress_clock()};
    j->said = j->start;
    j->next = s->jobs;
    if (s->jobs) s->jobs->prev = j;
    s->jobs = j;
    http_put_own(c, j);
    return j;
}

static struct job *begin(struct serve *s, struct http_call *c, const struct api_ask *ask)
{
    struct job *j = serve_job(s, c);
    if (!j) return NULL;
    j->kind = ask->kind;
    j->voice = voice_of[ask->kind];
    j->plain = ask->plain;
    j->calls = ask->calls;
    j->stream = ask->stream;
    j->usage = ask->usage;
    j->tools = ask->tools != NULL;
    j->one_call = ask->one_call;
    j->logprobs = ask->logprobs;
    j->whole_call = ask->tools && ask->whole && ask->choice >= API_REQUIRED;
    j->max_tokens = ask->max_tokens;
    keep_names(j, ask);
    if (ask->echo) serve_keep_echo(j, ask);
    serve_id(s, j->voice->name, j->name, sizeof j->name);
    return j;
}

/* Tokens of an answer whose request does not say how many. */
static int usual_length(const struct serve *s, const struct api_ask *ask, int n_prompt)
{
    const int64_t usual = s->a->o->max_tokens > 0 ? s->a->o->max_tokens : SERVE_ANSWER;
    const int64_t left = (int64_t)s->a->info->ctx - n_prompt;
    struct engine_snapshot now;
    if (!ask->fills) return (int)MAX(1, MIN(usual, left));
    s->a->ops->snapshot(s->a->engine, &now);
    return (int)MAX(1, MIN(left, (int64_t)now.pool_tokens - n_prompt));
}

static int start(struct serve *s, struct job *j, struct api_ask *ask, struct api_error *e)
{
    if (j->names.failed || j->types.failed || j->stops.failed || j->echo.failed)
        return api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (ask->plain && !ask->ids && encode_prompt(s, ask, e)) return -1;
    if (count_prompt(s, ask, &j->n_prompt, e)) return -1;
    if (j->max_tokens == 0) j->max_tokens = usual_length(s, ask, j->n_prompt);
    if (!ask->seeded) ask->sampling.seed += s->made; /* else all would draw the same numbers */
    if (submit(s, j, ask, e)) return -1;
    s->active++;
    s->counts.requests++;
    return 0;
}

static void complete(struct serve *s, struct http_call *c, enum api_kind kind)
{
    struct api_error e = {0};
    struct api_ask ask = {0};
    struct api_memory memory = {serve_kept, s};
    size_t n;
    const char *body = http_body(c, &n);
    int bad = api_read(&ask, kind, body, n, &s->model, &memory, &e);
    http_forget_body(c);
    if (!bad && ask.load) {
        serve_say_loaded(s, c, &ask);
        api_free(&ask);
        return;
    }
    struct job *j = bad ? NULL : begin(s, c, &ask);
    if (!bad && !j) bad = api_fail(&e, 500, "no_memory", NULL, "no memory for the request");
    if (!bad) bad = start(s, j, &ask, &e);
    if (bad) api_own_words(&ask, &e);
    api_free(&ask);
    if (bad) {
        serve_refuse(s, c, &e);
        return;
    }
    if (!j->stream) return; /* its client waits */
    static const struct http_header live[HTTP_HEADERS] = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    http_stream(c, j->voice->type, live);
}

/* How long a prompt is, without running it. */
static void count(struct serve *s, struct http_call *c)
{
    struct api_error e = {0};
    struct api_ask ask = {0};
    struct buf out = {0};
    size_t size;
    int n = 0;
    const char *body = http_body(c, &size);
    int bad = api_read(&ask, API_COUNT, body, size, &s->model, &(struct api_memory){serve_kept, s}, &e);
    http_forget_body(c);
    if (!bad) bad = count_prompt(s, &ask, &n, &e);
    api_free(&ask);
    buf_printf(&out, "{\"input_tokens\":%d}", n);
    if (!bad && out.failed) bad = api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
    if (bad) serve_refuse(s, c, &e);
    else http_answer(c, 200, type_json, NULL, out.data, out.len);
    buf_free(&out);
}

void serve_left(void *self, struct http_call *c)
{
    struct serve *s = self;
    struct job *j = http_own(c);
    if (j && j->vectors) serve_vectors_left(j);
    if (!j || !j->ans) return;
    s->a->ops->cancel(s->a->engine, j->id);
    serve_forget(j);
}

void serve_gone(void *self, struct http_call *c)
{
    struct serve *s = self;
    struct job *j = http_own(c);
    if (!j) return;
    serve_left(s, c);
    s->agent[j->agent]--;
    if (j->prev) j->prev->next = j->next;
    else s->jobs = j->next;
    if (j->next) j->next->prev = j->prev;
    buf_free(&j->names);
    buf_free(&j->types);
    buf_free(&j->stops);
    buf_free(&j->echo);
    buf_free(&j->out);
    if (j->vectors) serve_vectors_free(j);
    free(j);
}

/* ---------------------------------------------------------------- routes */

enum route { /* those before MODELS have a body */
    CHAT, COMPLETIONS, RESPONSES, MESSAGES, COUNT, OLLAMA_CHAT, GENERATE, SHOW, TOKENIZE, DETOKENIZE,
    EMBEDDINGS, OLLAMA_EMBED, OLLAMA_EMBEDDINGS,
    MODELS, MODEL, HEALTH, METRICS, TAGS, RUNNING, VERSION, HERE
};

static const struct {
    const char *method, *path;
    enum route route;
} routes[] = {
    {"POST", "/v1/chat/completions", CHAT}, {"POST", "/v1/completions", COMPLETIONS},
    {"POST", "/v1/responses", RESPONSES}, {"POST", "/v1/messages", MESSAGES},
    {"POST", "/v1/messages/count_tokens", COUNT}, {"GET", "/v1/models", MODELS},
    {"GET", "/v1/models/", MODEL}, {"GET", "/health", HEALTH}, {"GET", "/metrics", METRICS},
    {"POST", "/api/chat", OLLAMA_CHAT}, {"POST", "/api/generate", GENERATE}, {"POST", "/api/show", SHOW},
    {"GET", "/api/tags", TAGS}, {"GET", "/api/ps", RUNNING}, {"GET", "/api/version", VERSION}, {"GET", "/", HERE},
    {"POST", "/tokenize", TOKENIZE}, {"POST", "/detokenize", DETOKENIZE}, {"POST", "/v1/embeddings", EMBEDDINGS},
    {"POST", "/api/embed", OLLAMA_EMBED}, {"POST", "/api/embeddings", OLLAMA_EMBEDDINGS},
};

static bool leads(const char *path, size_t i)
{
    if (routes[i].route != MODEL) return strcmp(path, routes[i].path) == 0;
    return strncmp(path, routes[i].path, strlen(routes[i].path)) == 0;
}

static int find_route(const struct http_call *c, enum route *out, struct api_error *e)
{
    const char *method = http_method(c), *path = http_path(c), *other = NULL;
    if (strcmp(method, "HEAD") == 0) method = "GET";
    if (strncmp(path, "/v1/responses/", strlen("/v1/responses/")) == 0)
        return api_fail(e, 404, "not_found", NULL, "%.95s is not here: no response is stored; POST /v1/responses with "
                        "the whole conversation in input is what is served", path);
    if (serve_ollama_refuses(path, e)) return -1;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!leads(path, i)) continue;
        *out = routes[i].route;
        if (strcmp(method, routes[i].method) == 0) return 0;
        other = routes[i].method;
    }
    if (other) {
        api_fail(e, 405, "method_not_allowed", NULL, "%.95s is to be asked with %s", path, other);
        e->allow = other;
        return -1;
    }
    return api_fail(e, 404, "not_found", NULL, "%.95s is not here; what is: /v1/chat/completions, /v1/completions, "
                    "/v1/responses, /v1/messages, /v1/embeddings, /v1/models, /api/chat, /api/generate, /api/embed, "
                    "/api/tags, /api/ps, /api/show, /api/version, /tokenize, /detokenize, /health, /metrics", path);
}

void serve_ask(void *self, struct http_call *c)
{
    struct serve *s = self;
    struct api_error e = {0};
    enum route route = HEALTH;
    if (check_asker(s, c, &e) || find_route(c, &route, &e) || (route < MODELS && check_body(s, c, &e))) {
        serve_refuse(s, c, &e);
        return;
    }
    switch (route) {
    case CHAT: complete(s, c, API_CHAT); break;
    case COMPLETIONS: complete(s, c, API_COMPLETION); break;
    case MESSAGES: complete(s, c, API_ANTHROPIC); break;
    case COUNT: count(s, c); break;
    case RESPONSES: complete(s, c, API_RESPONSES); break;
    case MODELS: serve_models(s, c, NULL); break;
    case MODEL: serve_models(s, c, http_path(c) + strlen("/v1/models/")); break;
    case HEALTH: serve_health(s, c); break;
    case METRICS: serve_metrics(s, c); break;
    case OLLAMA_CHAT: complete(s, c, API_OLLAMA_CHAT); break;
    case GENERATE: complete(s, c, API_OLLAMA_GENERATE); break;
    case SHOW: serve_show(s, c); break;
    case TAGS: serve_tags(s, c); break;
    case RUNNING: serve_running(s, c); break;
    case VERSION: serve_ollama_version(c); break;
    case HERE: serve_ollama_here(c); break;
    case TOKENIZE: serve_tokenize(s, c); break;
    case DETOKENIZE: serve_detokenize(s, c); break;
    case EMBEDDINGS: serve_vectors(s, c, VECTORS_OPENAI); break;
    case OLLAMA_EMBED: serve_vectors(s, c, VECTORS_EMBED); break;
    case OLLAMA_EMBEDDINGS: serve_vectors(s, c, VECTORS_ONE); break;
    }
}
