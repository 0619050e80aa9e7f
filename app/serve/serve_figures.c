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

/* A metric's head, as both lines have it. */
static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    head(out, name, type, help);
    buf_printf(out, "%s %.15g\n", name, value);
}

static void histogram(struct buf *out, const char *name, const char *help, const struct serve_times *t)
{
    uint64_t all = 0;
    head(out, name, "histogram", help);
    for (int i = 0; i <= SERVE_STEPS; i++) {
        all += t->in[i];
        buf_printf(out, "%s_bucket{le=\"", name);
        if (i < SERVE_STEPS) buf_printf(out, "%g", serve_step[i]);
        else buf_puts(out, "+Inf");
        buf_printf(out, "\"} %llu\n", (unsigned long long)all);
    }
    buf_printf(out, "%s_sum %.6f\n%s_count %llu\n", name, t->sum, name, (unsigned long long)all);
}

static void put_requests(const struct serve_counts *n, const struct engine_snapshot *now, struct buf *out)
{
    static const char ended[] = "vllm:request_success_total", refused[] = "plimsoll:requests_refused_total";
    one(out, "vllm:num_requests_running", "gauge", "Requests that the engine computes.", (double)now->running);
    one(out, "vllm:num_requests_waiting", "gauge", "Requests that wait for room, parked ones too.",
        (double)(now->waiting + now->parked));
    head(out, ended, "counter", "Requests that ended, by how.");
    buf_printf(out, "%s{finished_reason=\"stop\"} %llu\n%s{finished_reason=\"length\"} %llu\n"
               "%s{finished_reason=\"abort\"} %llu\n", ended, (unsigned long long)n->ended[END_STOP], ended,
               (unsigned long long)n->ended[END_LENGTH], ended, (unsigned long long)n->ended[END_CANCELLED]);
    head(out, refused, "counter", "Requests that were refused, by why.");
    const struct { const char *why; uint64_t n; } reason[] = {
        {"busy", n->refused_busy}, {"context", n->refused_context}, {"memory", n->refused_memory},
        {"input", n->refused_input}, {"key", n->refused_key},
    };
    for (size_t i = 0; i < COUNT_OF(reason); i++)
        buf_printf(out, "%s{reason=\"%s\"} %llu\n", refused, reason[i].why, (unsigned long long)reason[i].n);
    one(out, "plimsoll:requests_failed_total", "counter", "Requests that the engine failed.",
        (double)n->failed);
    one(out, "plimsoll:tool_calls_total", "counter", "Calls of tools that were handed to clients.", (double)n->calls);
}

static void put_tokens(const struct serve_counts *n, const struct engine_snapshot *now, struct buf *out)
{
    one(out, "vllm:prompt_tokens_total", "counter", "Prompt tokens of requests that ended.", (double)n->prompt_tokens);
    one(out, "vllm:generation_tokens_total", "counter", "Tokens that were generated for them.",
        (double)n->generated_tokens);
    one(out, "vllm:prefix_cache_queries_total", "counter", "Prompt tokens that were looked up.",
        (double)n->prompt_tokens);
    one(out, "vllm:prefix_cache_hits_total", "counter", "... whose KV pages were known.", (double)n->cached_tokens);
    one(out, "vllm:num_preemptions_total", "counter", "Times that a request was parked.", (double)now->parkings);
    one(out, "plimsoll:passes_total", "counter", "Passes of the model, each of some rows of all that run.",
        (double)now->passes);
    one(out, "vllm:kv_cache_usage_perc", "gauge", "Part of the KV pool that is promised, 0 to 1.",
        now->pool_tokens > 0 ? (double)now->reserved_tokens / (double)now->pool_tokens : 0);
    histogram(out, "vllm:time_to_first_token_seconds", "From the request to its first token.", &n->first_token);
    histogram(out, "vllm:e2e_request_latency_seconds", "From the request to its end.", &n->whole);
}

static void put_memory(const struct serve *s, const struct engine_snapshot *now, struct buf *out)
{
    static const char bytes[] = "plimsoll:memory_bytes", kv[] = "plimsoll:kv_tokens";
    const struct ledger *l = &s->a->info->ledger;
    struct hostmem_process p;
    head(out, bytes, "gauge", "Memory by what it is for; all of it was taken at the start.");
    for (int c = 0; c < LEDGER_CLASSES; c++)
        if (l->bytes[c] > 0)
            buf_printf(out, "%s{class=\"%s\"} %llu\n", bytes, ledger_name((enum ledger_class)c),
                       (unsigned long long)l->bytes[c]);
    one(out, "plimsoll:memory_ceiling_bytes", "gauge", "What their sum cannot pass.", (double)l->ceiling);
    hostmem_process(&p);
    one(out, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", (double)p.resident);
    head(out, kv, "gauge", "Tokens of the KV pool: all, promised to requests, filled, kept for prompts to come.");
    buf_printf(out, "%s{state=\"pool\"} %llu\n%s{state=\"reserved\"} %llu\n%s{state=\"filled\"} %llu\n"
               "%s{state=\"cached\"} %llu\n", kv, (unsigned long long)now->pool_tokens, kv,
               (unsigned long long)now->reserved_tokens, kv, (unsigned long long)now->filled_tokens, kv,
               (unsigned long long)now->cached_tokens);
    one(out, "plimsoll:request_text_bytes", "gauge", "Of the room for requests' texts, what is taken.",
        (double)now->text_used);
    one(out, "plimsoll:http_connections", "gauge", "Requests that are being read or answered.",
        (double)http_calls(s->http));
    one(out, "plimsoll:http_body_bytes", "gauge", "Bodies that are held.", (double)http_held(s->http));
}

void serve_metrics(struct serve *s, struct http_call *c)
{
    struct engine_snapshot now;
    struct buf out = {0};
    s->a->ops->snapshot(s->a->engine, &now);
    put_requests(&s->counts, &now, &out);
    put_tokens(&s->counts, &now, &out);
    put_memory(s, &now, &out);
    http_answer(c, out.failed ? 500 : 200, "text/plain; version=0.0.4", NULL, out.data ? out.data : "", out.len);
    buf_free(&out);
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
    serve_answer_json(c, 200, id ? model : json_pack("{s:s, s:[o]}", "object", "list", "data", model));
}

void serve_health(struct serve *s, struct http_call *c)
{
    const bool well = s->faults == 0;
    serve_answer_json(c, well ? 200 : 503, json_pack("{s:s}", "status", well ? "ok" : "the engine failed"));
}
