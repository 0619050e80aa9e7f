/* serve_ask.c - who may ask, what is asked for, and how it is refused. */
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include <strings.h>

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

/* Whose bodies are many texts, each of which may be as long as the context. */
static bool is_texts(const struct http_call *c)
{
    return is_under(c, "/v1/embeddings") || is_under(c, "/api/embed") || is_under(c, "/api/embeddings");
}

size_t serve_wants(void *self, struct http_call *c)
{
    const struct serve *s = self;
    struct api_error e = {0};
    if (check_asker(s, c, &e)) return 0; /* it is told so, whatever it would have sent */
    return is_texts(c) ? MAX((size_t)SERVE_BODY_TEXTS, s->body_limit) : s->body_limit;
}

static int check_body(const struct serve *s, const struct http_call *c, struct api_error *e)
{
    const char *type = http_header(c, "Content-Type"), *coding = http_header(c, "Content-Encoding");
    const bool chats = is_under(c, "/v1/chat") || is_under(c, "/v1/completions") || is_under(c, "/v1/responses") ||
                       is_under(c, "/v1/messages") || is_under(c, "/api/chat") || is_under(c, "/api/generate");
    if (http_trouble(c) == HTTP_TOO_LONG && !chats)
        return api_fail(e, 413, "request_too_large", NULL, "the body of this request is longer than %zu KiB, the most "
                        "that is read at once: send less, or in parts", http_limit(c) >> 10);
    if (http_trouble(c) == HTTP_TOO_LONG) {
        api_fail(e, 400, "context_length_exceeded", "messages", "This model's maximum context length is %d tokens. "
                 "However, the body of this request is longer than the text of so many can be. Please reduce the "
                 "length of the messages. (context_length_exceeded)", s->a->info->ctx);
        e->n_ctx = s->a->info->ctx;
        return -1;
    }
    if (http_trouble(c) == HTTP_FULL)
        return api_fail(e, 429, "server_busy", NULL, "The server holds as many requests as it has room for; try again");
    if (coding && *coding && strcasecmp(coding, "identity") != 0)
        return api_fail(e, 415, "unsupported_media_type", NULL, "Content-Encoding %.40s is not read here: send the "
                        "JSON as it is", coding);
    size_t n = sizeof type_json - 1;
    if (type && strncasecmp(type, type_json, n) == 0 && strchr("; ", type[n])) return 0;
    if (is_typeless(c, type)) return 0;
    return api_fail(e, 415, "unsupported_media_type", NULL, "Content-Type is to be application/json");
}

/* ---------------------------------------------------------------- routes */

enum route { /* those before MODELS have a body */
    CHAT, COMPLETIONS, RESPONSES, INPUT_TOKENS, MESSAGES, COUNT, OLLAMA_CHAT, GENERATE, SHOW, TOKENIZE, DETOKENIZE,
    EMBEDDINGS, OLLAMA_EMBED, OLLAMA_EMBEDDINGS,
    MODELS, MODEL, HEALTH, METRICS, TAGS, RUNNING, VERSION, HERE, TOKENIZER
};

static const struct {
    const char *method, *path;
    enum route route;
} routes[] = {
    {"POST", "/v1/chat/completions", CHAT}, {"POST", "/v1/completions", COMPLETIONS},
    {"POST", "/v1/responses", RESPONSES}, {"POST", "/v1/responses/input_tokens", INPUT_TOKENS},
    {"POST", "/v1/messages", MESSAGES},
    {"POST", "/v1/messages/count_tokens", COUNT}, {"GET", "/v1/models", MODELS},
    {"GET", "/v1/models/", MODEL}, {"GET", "/health", HEALTH}, {"GET", "/metrics", METRICS},
    {"POST", "/api/chat", OLLAMA_CHAT}, {"POST", "/api/generate", GENERATE}, {"POST", "/api/show", SHOW},
    {"GET", "/api/tags", TAGS}, {"GET", "/api/ps", RUNNING}, {"GET", "/api/version", VERSION}, {"GET", "/", HERE},
    {"GET", "/tokenizer_info", TOKENIZER},
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
    if (is_under(c, "/v1/responses"))
        return api_fail(e, 404, "not_found", NULL, "%.95s is not here: no response is stored; POST /v1/responses with "
                        "the whole conversation in input is what is served", path);
    return api_fail(e, 404, "not_found", NULL, "%.95s is not here; what is: /v1/chat/completions, /v1/completions, "
                    "/v1/responses, /v1/messages, /v1/embeddings, /v1/models, /api/chat, /api/generate, /api/embed, "
                    "/api/tags, /api/ps, /api/show, /api/version, /tokenize, /detokenize, /tokenizer_info, /health, "
                    "/metrics", path);
}

void serve_ask(void *self, struct http_call *c)
{
    struct serve *s = self;
    struct api_error e = {0};
    enum route route = HEALTH;
    char id[HTTP_ID];
    serve_id(s, "req_", id, sizeof id);
    http_put_id(c, id);
    if (http_trouble(c) == HTTP_MALFORMED) {
        api_fail(&e, 400, "malformed_request", NULL, "the request's headers do not say clearly where its body ends, or "
                 "one has a blank in its name");
        serve_refuse(s, c, &e);
        return;
    }
    if (check_asker(s, c, &e) || find_route(c, &route, &e) || (route < MODELS && check_body(s, c, &e))) {
        serve_refuse(s, c, &e);
        return;
    }
    switch (route) {
    case CHAT: serve_complete(s, c, API_CHAT); break;
    case COMPLETIONS: serve_complete(s, c, API_COMPLETION); break;
    case MESSAGES: serve_complete(s, c, API_ANTHROPIC); break;
    case COUNT: serve_count(s, c, API_COUNT); break;
    case INPUT_TOKENS: serve_count(s, c, API_RESPONSES); break;
    case RESPONSES: serve_complete(s, c, API_RESPONSES); break;
    case MODELS: serve_models(s, c, NULL); break;
    case MODEL: serve_models(s, c, http_path(c) + strlen("/v1/models/")); break;
    case HEALTH: serve_health(s, c); break;
    case METRICS: serve_metrics(s, c); break;
    case OLLAMA_CHAT: serve_complete(s, c, API_OLLAMA_CHAT); break;
    case GENERATE: serve_complete(s, c, API_OLLAMA_GENERATE); break;
    case SHOW: serve_show(s, c); break;
    case TAGS: serve_tags(s, c); break;
    case RUNNING: serve_running(s, c); break;
    case VERSION: serve_ollama_version(c); break;
    case HERE: serve_ollama_here(c); break;
    case TOKENIZE: serve_tokenize(s, c); break;
    case TOKENIZER: serve_tokenizer(s, c); break;
    case DETOKENIZE: serve_detokenize(s, c); break;
    case EMBEDDINGS: serve_vectors(s, c, VECTORS_OPENAI); break;
    case OLLAMA_EMBED: serve_vectors(s, c, VECTORS_EMBED); break;
    case OLLAMA_EMBEDDINGS: serve_vectors(s, c, VECTORS_ONE); break;
    }
}
