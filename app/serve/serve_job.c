/* serve_job.c - from a request that was read to the engine's, and the jobs that these are.
 *
 * A request may want several answers (n, a list of prompts).  The engine has a few of them at once, and the next when
 * one is over: so no request takes more of its queue than others, and while others wait no further answer goes before
 * them. */
#include "app/progress.h"
#include "app/serve/serve_impl.h"
#include <time.h>

/* ---------------------------------------------------------------- the engine's request */

static int busy(const struct serve *s, bool full, struct api_error *e)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    if (full)
        return api_fail(e, 429, "server_busy", NULL, "The server is busy: the %lld requests that it has take all the "
                        "room for prompts and answers; try again later", (long long)now.text_requests);
    return api_fail(e, 429, "server_busy", NULL, "The server is busy: %lld requests run and %lld wait; try again later",
                    (long long)now.running, (long long)now.waiting);
}

static int never_fits(const struct serve *s, int n_prompt, int max_tokens, struct api_error *e)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    const int ctx = s->a->info->ctx;
    const bool budget = (int64_t)n_prompt + max_tokens <= ctx;
    const int most = budget ? engine_longest(s->a->info, now.pool_tokens) : ctx;
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
    case ENGINE_NOT_NOW: return busy(s, code == ENGINE_NO_MEMORY, e);
    case ENGINE_BAD_REQUEST: return api_fail(e, 400, "invalid_value", NULL, "%s", err->text);
    default: return api_fail(e, 500, "engine_failed", NULL, "%s", err->text);
    }
}

/* Prompt i of a completion as ids: nothing in a text is a control token. */
static int encode_prompt(const struct serve *s, const struct api_ask *ask, int i, struct ids *ids, struct api_error *e)
{
    const struct vocab *v = s->model.vocab;
    const json_t *p = json_array_get(ask->prompts, (size_t)i), *id;
    struct err err = {0};
    size_t k;
    int rc = 0;
    if (json_is_string(p) && vocab_adds_bos(v) && vocab_bos(v) >= 0) ids_put(ids, vocab_bos(v));
    if (json_is_string(p))
        rc = vocab_encode(v, NULL, json_string_value(p), json_string_length(p), 0, ids, &err);
    else
        json_array_foreach(p, k, id) ids_put(ids, (int32_t)json_integer_value(id));
    if (ids->failed) return api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (!rc && ids->n > 0 && ids->n <= INT32_MAX) return 0;
    return api_fail(e, 400, "invalid_value", "prompt", "prompt: %s", rc ? err.text : "there is nothing in it");
}

/* How long the prompt of answer `index` is; of a text its ids too. */
static int count_prompt(const struct serve *s, const struct api_ask *ask, int index, struct ids *ids, int *n,
                        struct api_error *e)
{
    struct engine_count count = {0};
    struct err err = {0};
    if (ask->plain) {
        if (encode_prompt(s, ask, index / ask->n, ids, e)) return -1;
        *n = (int)ids->n;
        return 0;
    }
    if (s->a->ops->count_tokens(s->a->engine, ask->msgs, ask->n_msgs, &count, &err) == 0) {
        *n = count.tokens;
        return 0;
    }
    return api_fail(e, 400, "invalid_value", "messages", "%s", err.text);
}

/* Parameters that no grammar can hold a call to: where nobody asked for that it is held to less of them; one that must
 * come, or may be of some tools alone, to the tools' names, and else it is only hoped for. */
static int submit_held(struct serve *s, struct request *r, struct request_grammar *g, struct api_ask *ask, int *id,
                       struct err *err)
{
    struct buf *less[] = {&ask->coarse, &ask->looser};
    int code = s->a->ops->submit(s->a->engine, r, id, err);
    for (int i = 0; i < (ask->whole || ask->allowed ? 2 : 1); i++) {
        if (code != ENGINE_BAD_REQUEST || !r->grammar || less[i]->len == 0) continue;
        g->schema = less[i]->data;
        g->n_schema = less[i]->len;
        code = s->a->ops->submit(s->a->engine, r, id, err);
        if (code) continue;
        buf_free(&ask->schema); /* the request's other answers are held to the same, and nothing is tried again */
        ask->schema = *less[i];
        *less[i] = (struct buf){0};
    }
    if (code != ENGINE_BAD_REQUEST || !r->grammar || ask->whole || ask->strict || ask->allowed) return code;
    r->grammar = NULL;
    code = s->a->ops->submit(s->a->engine, r, id, err);
    if (code == 0) buf_free(&ask->schema);
    return code;
}

static int submit(struct serve *s, struct job *j, const struct ids *ids, struct api_error *e)
{
    struct api_ask *ask = j->lead->ask;
    struct request_grammar g = {.schema = ask->schema.data, .n_schema = ask->schema.len, .blanks = !s->model.embedded,
                                .whole = ask->whole, .either = ask->either, .plain = ask->texts_form};
    struct err err = {0};
    const bool harmony = ask->calls == FORM_CALLS_HARMONY, in_tags = harmony || ask->calls == FORM_CALLS_OWN;
    if (in_tags && ask->tools && !ask->either) { /* families with forms of their own write a call bare */
        g.open = API_CALL_OPEN;
        g.close = "</tool_call>";
    }
    if (!ask->whole) {
        g.free_open = "<think>";
        g.free_close = "</think>";
    }
    struct request r = {
        .msgs = ask->msgs, .n_msgs = ask->n_msgs, .ids = ids->id, .n_ids = (int)ids->n, .agent = j->agent,
        .max_tokens = j->max_tokens, .sampling = ask->sampling, .stop = ask->stop, .n_stop = ask->n_stop,
        .top_n = ask->top_n, .no_logprobs = !ask->logprobs,
        .score = ask->scores || (ask->repeats && ask->logprobs),
        .thinking = (ask->whole && !harmony) || ask->plain ? THINKING_FREE : ask->thinking,
        .grammar = ask->schema.len > 0 && (in_tags || ask->whole) ? &g : NULL,
    };
    r.sampling.seed += ask->seeded ? (uint64_t)(j->index % ask->n) : ++s->drawn; /* else all would draw the same */
    const int code = submit_held(s, &r, &g, ask, &j->id, &err);
    if (code) {
        serve_refusal(s, code, j->n_prompt, j->max_tokens, &err, e);
        const char *whose = ask->plain && e->n_ctx > 0 ? "prompt" : !r.grammar || code != ENGINE_BAD_REQUEST ? NULL
                            : j->lead->tools ? "tools" : ask->form;
        if (whose) snprintf(e->param, sizeof e->param, "%s", whose);
        const size_t used = strlen(e->text);
        if (whose && r.grammar && (ask->strict || ask->exact))
            snprintf(e->text + used, sizeof e->text - used,
                     " (without \"strict\" what no grammar can say is left out)");
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

static void link_job(struct serve *s, struct job *j)
{
    j->next = s->jobs;
    if (s->jobs) s->jobs->prev = j;
    s->jobs = j;
}

struct job *serve_job(struct serve *s, struct http_call *c)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    *j = (struct job){.s = s, .call = c, .agent = take_agent(s), .created = time(NULL), .start = progress_clock()};
    j->said = j->start;
    j->lead = j;
    link_job(s, j);
    http_put_own(c, j);
    return j;
}

/* ask is taken, once there is a job. */
static struct job *begin(struct serve *s, struct http_call *c, struct api_ask *ask)
{
    struct job *j = serve_job(s, c);
    if (!j) return NULL;
    j->ask = ask;
    j->kind = ask->kind;
    j->voice = voice_of[ask->kind];
    j->plain = ask->plain;
    j->calls = ask->calls;
    j->stream = ask->stream;
    j->usage = ask->usage;
    j->tools = ask->tools != NULL;
    j->one_call = ask->one_call;
    j->logprobs = ask->logprobs;
    j->repeats = ask->repeats;
    const bool bare = ask->calls != FORM_CALLS_HARMONY; /* which has channels, whatever is asked for */
    j->whole_call = bare && ask->tools && ask->whole && ask->choice >= API_REQUIRED;
    j->either = bare && ask->either;
    j->each = ask->n;
    j->wanted = ask->n * (ask->plain ? (int)json_array_size(ask->prompts) : 1);
    if (j->voice->choice) j->choices = json_array();
    keep_names(j, ask);
    if (ask->echo) serve_keep_echo(j, ask);
    serve_id(s, j->voice->name, j->name, sizeof j->name);
    return j;
}

/* A further answer to the same request; what all share stays with the lead. */
static struct job *make_peer(const struct job *lead)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    *j = (struct job){.s = lead->s, .call = lead->call, .lead = lead->lead, .kind = lead->kind, .voice = lead->voice,
                      .plain = lead->plain, .calls = lead->calls, .stream = lead->stream, .tools = lead->tools,
                      .one_call = lead->one_call, .logprobs = lead->logprobs, .whole_call = lead->whole_call,
                      .either = lead->either, .agent = lead->agent, .index = lead->given, .created = lead->created,
                      .start = lead->start};
    memcpy(j->name, lead->name, sizeof j->name);
    return j;
}

static void free_job(struct job *j)
{
    buf_free(&j->names);
    buf_free(&j->types);
    buf_free(&j->stops);
    buf_free(&j->echo);
    buf_free(&j->prompt);
    buf_free(&j->out);
    json_decref(j->choices);
    if (j->vectors) serve_vectors_free(j);
    free(j);
}

static void let_go(struct job *lead)
{
    if (!lead->ask) return;
    api_free(lead->ask);
    free(lead->ask);
    lead->ask = NULL;
    http_forget_body(lead->call); /* what was made of it is about as large */
}

/* ---------------------------------------------------------------- answers, one after another */

/* The most tokens that an answer may have.  Where that is all that there is room for it is promised like any other
 * length; with next to no room nothing is made less, and the request is refused with its figures: its client is to
 * trim, and not to go on with a few words. */
static int longest_answer(const struct serve *s, const struct api_ask *ask, int n_prompt)
{
    const int64_t usual = s->a->o->max_tokens > 0 ? s->a->o->max_tokens : SERVE_ANSWER;
    const int64_t left = (int64_t)s->a->info->ctx - n_prompt;
    struct engine_snapshot now;
    if (ask->scores || (ask->max_tokens > 0 && !ask->fills)) return ask->max_tokens;
    if (!ask->fills) return (int)MAX(1, MIN(usual, left));
    s->a->ops->snapshot(s->a->engine, &now);
    const int room = engine_longest(s->a->info, now.pool_tokens) - n_prompt;
    if (ask->max_tokens == 0) return MAX(1, room);
    return room < SERVE_ROOM ? ask->max_tokens : MIN(ask->max_tokens, room);
}

/* The prompt that its answer repeats: a vocabulary may have put a blank in front of a text. */
static void keep_prompt(struct job *j, const struct ids *ids)
{
    const struct job *lead = j->lead;
    const json_t *p = json_array_get(lead->ask->prompts, (size_t)(j->index / lead->each));
    const char *piece;
    for (size_t i = 0; i < ids->n; i++) {
        const size_t n = vocab_piece(j->s->model.vocab, ids->id[i], &piece);
        buf_put(&j->prompt, piece, n);
    }
    if (!json_is_string(p) || j->prompt.failed || j->prompt.len != json_string_length(p) + 1) return;
    j->cut = 1;
    memmove(j->prompt.data, j->prompt.data + 1, --j->prompt.len);
}

/* The engine is given the next answer of the lead's request. */
static int give(struct job *lead, struct api_error *e)
{
    struct serve *s = lead->s;
    struct job *j = lead->given == 0 ? lead : make_peer(lead), *last = lead;
    struct ids ids = {0};
    int bad = j ? 0 : api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (!bad) bad = count_prompt(s, lead->ask, lead->given, &ids, &j->n_prompt, e);
    if (!bad && lead->repeats) keep_prompt(j, &ids);
    if (!bad && j->prompt.failed) bad = api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (!bad) {
        j->max_tokens = longest_answer(s, lead->ask, j->n_prompt);
        j->filled = j->max_tokens < lead->ask->max_tokens;
        bad = submit(s, j, &ids, e);
    }
    ids_free(&ids);
    if (bad && j && j != lead) free_job(j);
    if (bad) return -1;
    s->active++;
    while (last->peer) last = last->peer;
    if (j != lead) {
        last->peer = j;
        link_job(s, j);
    }
    if (++lead->given == lead->wanted) let_go(lead);
    return 0;
}

bool serve_gives_way(const struct serve *s, int agent)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    return now.waiting > now.agent[agent].waiting;
}

/* A request of several prompts is refused for any of them before the first is begun. */
static int check_lengths(const struct job *lead, struct api_error *e)
{
    const struct serve *s = lead->s;
    const struct api_ask *ask = lead->ask;
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    for (int i = 0; i < lead->wanted && lead->wanted > lead->each; i += lead->each) {
        struct ids ids = {0};
        int n, bad = count_prompt(s, ask, i, &ids, &n, e);
        ids_free(&ids);
        if (bad) return -1;
        const int most = longest_answer(s, ask, n);
        if ((int64_t)n + most <= engine_longest(s->a->info, now.pool_tokens)) continue;
        never_fits(s, n, most, e);
        snprintf(e->param, sizeof e->param, "prompt[%d]", i / lead->each);
        return -1;
    }
    return 0;
}

void serve_go_on(struct job *lead)
{
    const int most = MIN((int)SERVE_TOGETHER, lead->s->a->info->max_seqs);
    struct api_error e = {0};
    while (lead->ask && lead->given - lead->over < most) {
        const bool has = lead->given > lead->over;
        if (has && serve_gives_way(lead->s, lead->agent)) return;
        if (give(lead, &e) == 0) continue;
        if (e.status != 429 || (!has && lead->s->active == 0)) serve_fail(lead, &e);
        return;
    }
}

void serve_drop(struct job *lead)
{
    let_go(lead);
    for (struct job *j = lead; j; j = j->peer) {
        if (!j->ans) continue;
        lead->s->a->ops->cancel(lead->s->a->engine, j->id);
        serve_forget(j);
    }
    lead->over = lead->wanted;
}

void serve_fail(struct job *lead, const struct api_error *e)
{
    if (lead->stream) {
        lead->voice->failed(lead, e); /* it may tell of the answer so far */
        lead->s->counts.failed++;
    }
    serve_drop(lead);
    if (lead->stream) http_wake(lead->call);
    else serve_refuse(lead->s, lead->call, e);
}

/* ---------------------------------------------------------------- a request */

static int start(struct serve *s, struct job *j, struct api_error *e)
{
    if (j->names.failed || j->types.failed || j->stops.failed || j->echo.failed || (j->voice->choice && !j->choices))
        return api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (check_lengths(j, e) || give(j, e)) return -1;
    s->counts.requests++;
    return 0;
}

void serve_complete(struct serve *s, struct http_call *c, enum api_kind kind)
{
    struct api_error e = {0};
    struct api_ask *ask = calloc(1, sizeof *ask);
    struct api_memory memory = {serve_kept, s};
    size_t n;
    const char *body = http_body(c, &n);
    int bad = ask ? api_read(ask, kind, body, n, &s->model, &memory, &e) : -1;
    if (!bad && ask->load) {
        serve_say_loaded(s, c, ask);
        api_free(ask);
        free(ask);
        return;
    }
    struct job *j = bad ? NULL : begin(s, c, ask);
    if (!ask || (!bad && !j)) bad = api_fail(&e, 500, "no_memory", NULL, "no memory for the request");
    if (!bad) bad = start(s, j, &e);
    if (bad && ask) api_own_words(ask, &e);
    if (bad && j) {
        let_go(j);
    } else if (bad && ask) {
        api_free(ask);
        free(ask);
    }
    if (bad) {
        http_forget_body(c);
        serve_refuse(s, c, &e);
        return;
    }
    if (!j->stream) return; /* its client waits */
    static const struct http_header live[HTTP_HEADERS] = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    http_stream(c, j->voice->type, live);
}

void serve_count(struct serve *s, struct http_call *c, enum api_kind kind)
{
    struct api_error e = {0};
    struct api_ask ask = {0};
    struct buf out = {0};
    size_t size;
    int n = 0;
    const char *body = http_body(c, &size);
    int bad = api_read(&ask, kind, body, size, &s->model, &(struct api_memory){serve_kept, s}, &e);
    http_forget_body(c);
    if (!bad) bad = count_prompt(s, &ask, 0, NULL, &n, &e);
    if (bad) api_own_words(&ask, &e);
    api_free(&ask);
    buf_puts(&out, kind == API_RESPONSES ? "{\"object\":\"response.input_tokens\"," : "{");
    buf_printf(&out, "\"input_tokens\":%d}", n);
    if (!bad && out.failed) bad = api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
    if (bad) serve_refuse(s, c, &e);
    else http_answer(c, 200, "application/json", NULL, out.data, out.len);
    buf_free(&out);
}

void serve_left(void *self, struct http_call *c)
{
    struct job *j = http_own(c);
    (void)self;
    if (!j) return;
    if (j->vectors) serve_vectors_left(j);
    else serve_drop(j);
}

void serve_gone(void *self, struct http_call *c)
{
    struct serve *s = self;
    struct job *j = http_own(c);
    if (!j) return;
    serve_left(s, c);
    s->agent[j->agent]--;
    for (struct job *peer; j; j = peer) {
        peer = j->peer;
        if (j->prev) j->prev->next = j->next;
        else s->jobs = j->next;
        if (j->next) j->next->prev = j->prev;
        free_job(j);
    }
}
