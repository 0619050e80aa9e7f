/* serve_figures.c - GET /health, /v1/models and /metrics.
 *
 * Metrics are Prometheus text (version 0.0.4).  Those named vllm: are vLLM's, by name and meaning, so that boards made
 * for it show these too; those named plimsoll: are what nobody else tells: who holds which byte, who was refused. */
#include "app/serve/serve_impl.h"
#include "engine/hostmem.h"

const double serve_step[SERVE_STEPS] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

void serve_time(struct serve_times *t, double seconds)
{
    int i = 0;
    while (i < SERVE_STEPS && seconds > serve_step[i]) i++;
    t->in[i]++;
    t->sum += seconds;
}

/* ---------------------------------------------------------------- metrics */

/* vLLM's have the model's name, by which its boards choose; ours need none. */
struct page {
    struct buf out;
    char model[2 * SERVE_MODEL + 20]; /* model_name="..." */
};

static void begin_page(struct page *p, const char *model)
{
    size_t n = (size_t)snprintf(p->model, sizeof p->model, "model_name=\"");
    p->out = (struct buf){0};
    for (const char *c = model; *c && n + 4 < sizeof p->model; c++) { /* a name has neither quotes nor line ends */
        if (*c == '\\') p->model[n++] = '\\';
        p->model[n++] = *c;
    }
    snprintf(p->model + n, sizeof p->model - n, "\"");
}

/* A line's front: the name, `more` of it, and its labels, of which `own` is one, or "". */
static void put_name(struct page *p, const char *name, const char *more, const char *own)
{
    const char *model = strncmp(name, "vllm:", 5) == 0 ? p->model : "", *comma = *own && *model ? "," : "";
    buf_printf(&p->out, "%s%s", name, more);
    if (*own || *model) buf_printf(&p->out, "{%s%s%s}", own, comma, model);
    buf_puts(&p->out, " ");
}

/* One of several that a label tells apart. */
static void put_of(struct page *p, const char *name, const char *label, const char *value, uint64_t n)
{
    char own[80];
    snprintf(own, sizeof own, "%s=\"%s\"", label, value);
    put_name(p, name, "", own);
    buf_printf(&p->out, "%llu\n", (unsigned long long)n);
}

/* A metric's head, as both lines have it. */
static void head(struct page *p, const char *name, const char *type, const char *help)
{
    buf_printf(&p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct page *p, const char *name, const char *type, const char *help, double value)
{
    head(p, name, type, help);
    put_name(p, name, "", "");
    buf_printf(&p->out, "%.15g\n", value);
}

static void histogram(struct page *p, const char *name, const char *help, const struct serve_times *t)
{
    uint64_t all = 0;
    head(p, name, "histogram", help);
    for (int i = 0; i <= SERVE_STEPS; i++) {
        char le[32] = "le=\"+Inf\"";
        if (i < SERVE_STEPS) snprintf(le, sizeof le, "le=\"%g\"", serve_step[i]);
        all += t->in[i];
        put_name(p, name, "_bucket", le);
        buf_printf(&p->out, "%llu\n", (unsigned long long)all);
    }
    put_name(p, name, "_sum", "");
    buf_printf(&p->out, "%.6f\n", t->sum);
    put_name(p, name, "_count", "");
    buf_printf(&p->out, "%llu\n", (unsigned long long)all);
}

static void put_requests(const struct serve_counts *n, const struct engine_snapshot *now, struct page *p)
{
    static const char ended[] = "vllm:request_success_total", refused[] = "plimsoll:requests_refused_total";
    one(p, "vllm:num_requests_running", "gauge", "Requests that the engine computes.", (double)now->running);
    one(p, "vllm:num_requests_waiting", "gauge", "Requests that wait for room, parked ones too.",
        (double)(now->waiting + now->parked));
    head(p, ended, "counter", "Requests that ended, by how.");
    put_of(p, ended, "finished_reason", "stop", n->ended[END_STOP]);
    put_of(p, ended, "finished_reason", "length", n->ended[END_LENGTH]);
    put_of(p, ended, "finished_reason", "abort", n->ended[END_CANCELLED]);
    head(p, refused, "counter", "Requests that were refused, by why.");
    const struct { const char *why; uint64_t n; } reason[] = {
        {"busy", n->refused_busy}, {"context", n->refused_context}, {"memory", n->refused_memory},
        {"input", n->refused_input}, {"key", n->refused_key},
    };
    for (size_t i = 0; i < COUNT_OF(reason); i++) put_of(p, refused, "reason", reason[i].why, reason[i].n);
    one(p, "plimsoll:requests_failed_total", "counter", "Requests that the engine failed.",
        (double)n->failed);
    one(p, "plimsoll:tool_calls_total", "counter", "Calls of tools that were handed to clients.", (double)n->calls);
}

static void put_tokens(const struct serve_counts *n, const struct engine_snapshot *now, struct page *p)
{
    one(p, "vllm:prompt_tokens_total", "counter", "Prompt tokens of requests that ended.", (double)n->prompt_tokens);
    one(p, "vllm:generation_tokens_total", "counter", "Tokens that were generated for them.",
        (double)n->generated_tokens);
    one(p, "vllm:prefix_cache_queries_total", "counter", "Prompt tokens that were looked up.",
        (double)n->prompt_tokens);
    one(p, "vllm:prefix_cache_hits_total", "counter", "... whose KV pages were known.", (double)n->cached_tokens);
    one(p, "vllm:num_preemptions_total", "counter", "Times that a request was parked.", (double)now->parkings);
    one(p, "plimsoll:passes_total", "counter", "Passes of the model, each of some rows of all that run.",
        (double)now->passes);
    one(p, "vllm:spec_decode_num_draft_tokens_total", "counter", "Tokens that were tried beside a next one (--draft).",
        (double)now->drafted);
    one(p, "vllm:spec_decode_num_accepted_tokens_total", "counter", "... that were what was chosen.",
        (double)now->drafts_right);
    one(p, "vllm:kv_cache_usage_perc", "gauge", "Part of the KV pool that is promised, 0 to 1.",
        now->pool_tokens > 0 ? (double)now->reserved_tokens / (double)now->pool_tokens : 0);
    histogram(p, "vllm:time_to_first_token_seconds", "From the request to its first token.", &n->first_token);
    histogram(p, "vllm:e2e_request_latency_seconds", "From the request to its end.", &n->whole);
}

static void put_memory(const struct serve *s, const struct engine_snapshot *now, struct page *p)
{
    static const char bytes[] = "plimsoll:memory_bytes", kv[] = "plimsoll:kv_tokens";
    const struct ledger *l = &s->a->info->ledger;
    struct hostmem_process process;
    head(p, bytes, "gauge", "Memory by what it is for; all of it was taken at the start.");
    for (int c = 0; c < LEDGER_CLASSES; c++)
        if (l->bytes[c] > 0) put_of(p, bytes, "class", ledger_name((enum ledger_class)c), l->bytes[c]);
    one(p, "plimsoll:memory_ceiling_bytes", "gauge", "What their sum cannot pass.", (double)l->ceiling);
    hostmem_process(&process);
    one(p, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", (double)process.resident);
    head(p, kv, "gauge", "Tokens of the KV pool: all, promised to requests, filled, kept for prompts to come.");
    put_of(p, kv, "state", "pool", now->pool_tokens);
    put_of(p, kv, "state", "reserved", now->reserved_tokens);
    put_of(p, kv, "state", "filled", now->filled_tokens);
    put_of(p, kv, "state", "cached", now->cached_tokens);
    one(p, "plimsoll:request_text_bytes", "gauge", "Of the room for requests' texts, what is taken.",
        (double)now->text_used);
    one(p, "plimsoll:http_connections", "gauge", "Requests that are being read or answered.",
        (double)http_calls(s->http));
    one(p, "plimsoll:http_body_bytes", "gauge", "Bodies that are held.", (double)http_held(s->http));
}

void serve_metrics(struct serve *s, struct http_call *c)
{
    struct engine_snapshot now;
    struct page p;
    begin_page(&p, s->model.id);
    s->a->ops->snapshot(s->a->engine, &now);
    put_requests(&s->counts, &now, &p);
    put_tokens(&s->counts, &now, &p);
    put_memory(s, &now, &p);
    const struct buf *out = &p.out;
    http_answer(c, out->failed ? 500 : 200, "text/plain; version=0.0.4", NULL, out->data ? out->data : "", out->len);
    buf_free(&p.out);
}

/* ---------------------------------------------------------------- models, health */

void serve_answer_json(struct http_call *c, int status, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) http_answer(c, status, "application/json", NULL, text, strlen(text));
    else http_answer(c, 500, "application/json", NULL, "{}", 2);
    free(text);
    json_decref(o);
}

void serve_models(struct serve *s, struct http_call *c, const char *id)
{
    const struct engine_info *i = s->a->info;
    struct api_error e;
    if (id && strcmp(id, s->model.id) != 0 && strcmp(id, "default") != 0) {
        api_fail(&e, 404, "model_not_found", "model", "the model \"%.100s\" is not here; this server has \"%.100s\"",
                 id, s->model.id);
        serve_refuse(s, c, &e);
        return;
    }
    json_t *model = json_pack("{s:s, s:s, s:I, s:s, s:i, s:{s:i, s:I, s:I, s:s, s:s, s:i, s:I}}", "id", s->model.id,
                              "object", "model", "created", (json_int_t)s->opened, "owned_by", "plimsoll",
                              "max_model_len", i->ctx, "meta", "n_ctx_train", i->ctx_trained, "n_params",
                              (json_int_t)i->parameters, "size", (json_int_t)i->weight_bytes, "types", i->types,
                              "template", i->template, "parallel", i->max_seqs, "default_max_tokens",
                              (json_int_t)(s->a->o->max_tokens > 0 ? s->a->o->max_tokens : SERVE_ANSWER));
    json_object_set_new(model, "type", json_string("model")); /* in Anthropic's words */
    json_object_set_new(model, "display_name", json_string(s->model.id));
    json_object_set_new(model, "created_at", serve_day(s->opened));
    json_object_set_new(model, "lifecycle", json_string("active"));
    json_object_set_new(model, "max_input_tokens", json_integer(i->ctx));
    json_object_set_new(model, "max_tokens", json_integer(i->ctx));
    serve_answer_json(c, 200, id ? model : json_pack("{s:s, s:[o], s:b, s:s, s:s}", "object", "list", "data", model,
                                                     "has_more", 0, "first_id", s->model.id, "last_id", s->model.id));
}

void serve_health(struct serve *s, struct http_call *c)
{
    const bool well = s->faults == 0;
    serve_answer_json(c, well ? 200 : 503, json_pack("{s:s}", "status", well ? "ok" : "the engine failed"));
}
