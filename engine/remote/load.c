/* load.c - see load.h. */
#include "engine/remote/load.h"
#include "engine/remote/hear.h"
#include "engine/remote/metrics.h"
#include <jansson.h>

#define MOST 1e15 /* of anything: what is more is no figure */

enum what { KV_USE, RUNNING, WAITING, COUNTED, POOL };

static const struct { const char *name; enum what is; enum load_count which; } known[] = {
    {"vllm:kv_cache_usage_perc", KV_USE, 0},      {"vllm:gpu_cache_usage_perc", KV_USE, 0},
    {"sglang:token_usage", KV_USE, 0},            {"llamacpp:kv_cache_usage_ratio", KV_USE, 0},
    {"vllm:num_requests_running", RUNNING, 0},    {"sglang:num_running_reqs", RUNNING, 0},
    {"llamacpp:requests_processing", RUNNING, 0}, {"tgi_batch_current_size", RUNNING, 0},
    {"vllm:num_requests_waiting", WAITING, 0},    {"sglang:num_queue_reqs", WAITING, 0},
    {"llamacpp:requests_deferred", WAITING, 0},   {"tgi_queue_size", WAITING, 0},
    {"sglang:max_total_num_tokens", POOL, 0},
    {"vllm:num_preemptions_total", COUNTED, LOAD_LOST},
    {"sglang:num_retracted_requests_total", COUNTED, LOAD_LOST},
    {"vllm:prompt_tokens_total", COUNTED, LOAD_PROMPT},
    {"sglang:prompt_tokens_total", COUNTED, LOAD_PROMPT},
    {"llamacpp:prompt_tokens_total", COUNTED, LOAD_PROMPT},
    {"tgi_request_input_length_sum", COUNTED, LOAD_PROMPT},
    {"vllm:generation_tokens_total", COUNTED, LOAD_GENERATED},
    {"sglang:generation_tokens_total", COUNTED, LOAD_GENERATED},
    {"llamacpp:tokens_predicted_total", COUNTED, LOAD_GENERATED},
    {"tgi_request_generated_tokens_sum", COUNTED, LOAD_GENERATED},
    {"vllm:prefix_cache_queries_total", COUNTED, LOAD_ASKED},
    {"vllm:prefix_cache_hits_total", COUNTED, LOAD_HITS},
    {"sglang:cached_tokens_total", COUNTED, LOAD_HITS},
    {"vllm:time_to_first_token_seconds_sum", COUNTED, LOAD_FIRST_S},
    {"vllm:time_to_first_token_seconds_count", COUNTED, LOAD_FIRST_N},
    {"sglang:time_to_first_token_seconds_sum", COUNTED, LOAD_FIRST_S},
    {"sglang:time_to_first_token_seconds_count", COUNTED, LOAD_FIRST_N},
};

static const struct load nothing = {.kv_permille = -1, .running = -1, .waiting = -1, .ceiling = -1,
                                    .model_bytes = -1, .model_device_bytes = -1};

static void begin(struct load *l)
{
    *l = nothing;
    for (int i = 0; i < LOAD_COUNTS; i++) l->count[i] = -1;
    for (int i = 0; i < LOAD_TOKENS; i++) l->tokens[i] = -1;
    for (int i = 0; i < LEDGER_CLASSES; i++) l->bytes[i] = -1;
}

static void add(int64_t *to, double v) { *to = MIN(MAX(*to, 0) + (int64_t)v, (int64_t)MOST); }

/* By the name before the colon; plimsoll serve has vLLM's names beside its own. */
static void note_kind(const struct metric *m, struct load *l)
{
    static const struct { const char *front; enum server_kind kind; } of[] = {
        {"plimsoll:", SERVER_PLIMSOLL}, {"vllm:", SERVER_VLLM}, {"sglang:", SERVER_SGLANG}, {"llamacpp:", SERVER_LLAMA},
        {"tgi_", SERVER_TGI},
    };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        const size_t n = strlen(of[i].front);
        if (m->n_name < n || memcmp(m->name, of[i].front, n) != 0) continue;
        if (l->kind == SERVER_OTHER || of[i].kind == SERVER_PLIMSOLL) l->kind = of[i].kind;
    }
    if (l->kind != SERVER_OTHER && !*l->model) metric_label(m, "model_name", l->model, sizeof l->model);
}

static void take_known(const struct metric *m, struct load *l)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (!metric_is(m, known[i].name)) continue;
        switch (known[i].is) {
        case KV_USE: l->kv_permille = MAX(l->kv_permille, (int64_t)(MIN(m->value, 1) * 1000 + 0.5)); break;
        case RUNNING: add(&l->running, m->value); break;
        case WAITING: add(&l->waiting, m->value); break;
        case POOL: add(&l->tokens[LOAD_POOL], m->value); break;
        case COUNTED: {
            double *to = &l->count[known[i].which];
            *to = MIN(MAX(*to, 0) + m->value, MOST);
        }
        }
    }
}

/* What plimsoll serve alone tells. */
static void take_own(const struct metric *m, struct load *l)
{
    static const char *const state[LOAD_TOKENS] = {"pool", "reserved", "filled", "cached"};
    char label[32];
    if (metric_is(m, "plimsoll:memory_ceiling_bytes")) l->ceiling = (int64_t)m->value;
    if (metric_is(m, "plimsoll:memory_bytes") && metric_label(m, "class", label, sizeof label))
        for (int c = 0; c < LEDGER_CLASSES; c++)
            if (strcmp(label, ledger_name((enum ledger_class)c)) == 0) add(&l->bytes[c], m->value);
    if (metric_is(m, "plimsoll:kv_tokens") && metric_label(m, "state", label, sizeof label))
        for (int i = 0; i < LOAD_TOKENS; i++)
            if (strcmp(label, state[i]) == 0) add(&l->tokens[i], m->value);
}

void load_read(const char *text, size_t n, struct load *out)
{
    struct metric m;
    begin(out);
    for (size_t at = 0; metrics_next(text, n, &at, &m);) {
        if (m.value > MOST) continue;
        note_kind(&m, out);
        take_known(&m, out);
        take_own(&m, out);
    }
    /* SGLang counts what was in the cache, and looks up every token of a prompt. */
    if (out->count[LOAD_ASKED] < 0 && out->count[LOAD_HITS] >= 0) out->count[LOAD_ASKED] = out->count[LOAD_PROMPT];
}

static double bytes_of(const json_t *row, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(row, key));
    return n > 0 ? MIN((double)n, MOST) : 0;
}

int load_read_ollama(const char *json, size_t n, struct load *out)
{
    json_t *o = json_loadb(json, n, 0, NULL);
    const json_t *list = json_object_get(o, "models");
    begin(out);
    const bool is = json_is_array(list);
    if (is) {
        out->kind = SERVER_OLLAMA;
        out->model_bytes = out->model_device_bytes = 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i), *name = json_object_get(row, "name");
        if (json_is_string(name) && !*out->model)
            hear_line(json_string_value(name), json_string_length(name), out->model, sizeof out->model);
        add(&out->model_bytes, bytes_of(row, "size"));
        add(&out->model_device_bytes, bytes_of(row, "size_vram"));
    }
    json_decref(o);
    return is ? 0 : -1;
}
