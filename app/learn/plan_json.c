/* plan_json.c - a plan as one JSON object; bytes are integers. */
#include "app/learn/plan.h"
#include "app/term_filter.h"
#include <jansson.h>

enum { SCHEMA = 1 };

static void set(json_t *o, const char *key, uint64_t n)
{
    json_object_set_new(o, key, json_integer((json_int_t)MIN(n, (uint64_t)INT64_MAX)));
}

/* Names are of others. */
static void set_text(json_t *o, const char *key, const char *text)
{
    struct buf b = {0};
    term_filter_text(text, strlen(text), true, &b);
    json_object_set_new(o, key, json_string(b.data ? b.data : ""));
    buf_free(&b);
}

static json_t *model_of(const struct plan *p)
{
    json_t *o = json_object();
    set_text(o, "name", p->name);
    set_text(o, "architecture", p->arch);
    set_text(o, "types", p->types);
    json_object_set_new(o, "by_shape", json_boolean(p->by_shape));
    set(o, "parameters", p->parameters);
    if (p->experts > 0) {
        set(o, "experts", (uint64_t)p->experts);
        set(o, "experts_used", (uint64_t)p->used);
        set(o, "parameters_active", p->active);
    }
    set(o, "layers", (uint64_t)p->layers);
    set(o, "width", (uint64_t)p->embd);
    set(o, "heads", (uint64_t)p->heads);
    set(o, "kv_heads", (uint64_t)p->kv_heads);
    set(o, "head_dim", (uint64_t)p->head_dim);
    set(o, "ffn", (uint64_t)p->ff);
    set(o, "vocabulary", (uint64_t)p->vocab);
    set(o, "window", (uint64_t)p->window);
    set(o, "context_trained", (uint64_t)p->ctx_trained);
    return o;
}

static json_t *ledger_of(const struct plan *p)
{
    static const char *const key[] = {"weights", "kv_pool", "activations", "scratch", "logits", "context", "text",
                                      "parked", "tables", "grammars", "staging", "policy"};
    json_t *o = json_object();
    _Static_assert(COUNT_OF(key) == LEDGER_CLASSES, "one for each class");
    for (int c = 0; c < LEDGER_CLASSES; c++) set(o, key[c], p->ledger.bytes[c]);
    return o;
}

static json_t *rows_of(const struct plan *p)
{
    json_t *all = json_array();
    for (int i = 0; i < p->rows_n; i++) {
        const struct plan_row *r = &p->row[i];
        json_t *o = json_object();
        set_text(o, "as", r->name);
        set(o, "weights", r->weights);
        set(o, "needs", r->needs);
        set(o, "largest_context", (uint64_t)r->ctx);
        set(o, "most_agents", (uint64_t)r->agents);
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *formula_of(const struct plan *p)
{
    const struct plan_formula *u = &p->formula;
    json_t *o = json_object();
    set(o, "weights", u->weights);
    json_object_set_new(o, "weights_wrong_percent", json_real(u->weights_wrong));
    set(o, "kv_token", u->token);
    json_object_set_new(o, "kv_token_times", json_real(u->token_times));
    set(o, "both", u->all);
    json_object_set_new(o, "both_wrong_percent", json_real(u->all_wrong));
    return o;
}

static void set_asked(json_t *o, const struct plan *p)
{
    set_text(o, "backend", p->backend);
    set(o, "agents", (uint64_t)p->agents);
    set(o, "context", (uint64_t)p->ctx);
    set_text(o, "kv_type", ktype_info(p->kv_type)->name);
    set(o, "rows", (uint64_t)p->rows);
}

static void set_room(json_t *o, const struct plan_ask *ask, const struct plan *p)
{
    set(o, "needs", p->needs);
    set(o, "needs_least", p->least);
    set(o, "ceiling", p->ledger.ceiling);
    set(o, "free", p->have);
    set(o, "reserve", p->reserve);
    set(o, "kv_token", p->token_bytes);
    set(o, "kv_page", p->page_bytes);
    set(o, "kv_agent_tokens", p->agent_tokens);
    if (p->local_layers > 0) {
        set(o, "local_layers", (uint64_t)p->local_layers);
        if (p->states) json_object_set_new(o, "local_states", json_true());
        else set(o, "local_window", (uint64_t)p->local_window);
        set(o, "kv_local", p->local_bytes);
    }
    json_object_set_new(o, "fits", json_boolean(p->fits));
    if (!p->fits) set_text(o, "cause", cause_name(p->cause));
    if (p->here > 0) set(o, "free_here", p->here);
    if (!ask->gpu) return;
    set_text(o, "gpu", ask->gpu->name);
    set(o, "gpu_total", p->total);
    set(o, "driver_allowance", p->driver);
    set_text(o, "gpu_source", ask->gpu->source);
}

static void set_limits(json_t *o, const struct plan *p)
{
    set(o, "largest_context", (uint64_t)p->most_ctx);
    set_text(o, "largest_context_limit", plan_limit_name(p->ctx_limit));
    if (p->ctx_limit == PLAN_TRAINED) set(o, "memory_context", (uint64_t)p->memory_ctx);
    set(o, "most_agents", (uint64_t)p->most_agents);
    set_text(o, "most_agents_limit", plan_limit_name(p->agents_limit));
}

void plan_json(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    struct buf command = {0};
    json_t *o = json_object();
    set(o, "schema_version", SCHEMA);
    json_object_set_new(o, "model", model_of(p));
    set_asked(o, p);
    json_object_set_new(o, "ledger", ledger_of(p));
    set_room(o, ask, p);
    set_limits(o, p);
    json_object_set_new(o, "other_types", rows_of(p));
    json_object_set_new(o, "usual_formula", formula_of(p));
    plan_command(ask, p, &command);
    if (command.len > 0) set_text(o, "command", command.data);
    char *text = json_dumps(o, JSON_COMPACT);
    if (text && !command.failed) buf_printf(out, "%s\n", text);
    else out->failed = true;
    free(text);
    json_decref(o);
    buf_free(&command);
}
