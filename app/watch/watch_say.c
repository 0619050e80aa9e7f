/* watch_say.c - what is said of watched servers: verdicts, a table, JSON. */
#include "app/watch/watch.h"
#include <jansson.h>
#include <math.h>

const char *watch_state_name(enum watch_state s)
{
    static const char *const name[WATCH_STATES] = {"new", "told", "mute", "down"};
    return name[s];
}

/* ---------------------------------------------------------------- figures */

const char *watch_count(char out[FIGURE], double n)
{
    if (n < 0) return strcpy(out, "-");
    return n < 10 && n != floor(n) ? figure_rate(out, n) : figure(out, (uint64_t)(n + 0.5));
}

const char *watch_part(char out[FIGURE], double part)
{
    if (part < 0) return strcpy(out, "-");
    snprintf(out, FIGURE, "%.0f%%", 100 * part);
    return out;
}

/* ---------------------------------------------------------------- verdicts */

enum { FULL = 950, HIGH = 800 /* of a thousand parts of the KV pool */, SOON_S = 300 };

/* What of each server bounds how many run at once, and what gives its KV pool more room. */
static const struct { const char *fewer, *more; } advice[SERVER_KINDS] = {
    [SERVER_OTHER] = {"a smaller number of requests at once", "more memory for its KV pool"},
    [SERVER_PLIMSOLL] = {"a smaller --parallel", "a larger --vram or --pool, or --kv-type q8_0"},
    [SERVER_VLLM] = {"a smaller --max-num-seqs", "a larger --gpu-memory-utilization, or --kv-cache-dtype fp8"},
    [SERVER_SGLANG] = {"a smaller --max-running-requests",
                       "a larger --mem-fraction-static, or --kv-cache-dtype fp8_e5m2"},
    [SERVER_LLAMA] = {"fewer slots (-np)", "a larger -c, or --cache-type-k q8_0 with --cache-type-v q8_0"},
    [SERVER_TGI] = {"a smaller --max-concurrent-requests", "a larger --max-batch-total-tokens"},
    [SERVER_OLLAMA] = {"a smaller OLLAMA_NUM_PARALLEL", "a smaller num_ctx, or OLLAMA_KV_CACHE_TYPE=q8_0"},
};

/* Of what lets more run at once. */
static const char *wider(enum server_kind k)
{
    static const char *const flag[SERVER_KINDS] = {
        [SERVER_OTHER] = "", [SERVER_PLIMSOLL] = " (--parallel)", [SERVER_VLLM] = " (--max-num-seqs)",
        [SERVER_SGLANG] = " (--max-running-requests)", [SERVER_LLAMA] = " (-np)",
        [SERVER_TGI] = " (--max-batch-total-tokens)", [SERVER_OLLAMA] = " (OLLAMA_NUM_PARALLEL)"};
    return flag[k];
}

/* Seconds until its pool is full, if it fills as in the last minute; below 0: it does not. */
static double full_in(const struct watched *s)
{
    const struct watch_sample *last = watch_last(s, 0), *from, *first = NULL;
    for (uint64_t ago = 1; (from = watch_last(s, ago)) != NULL && last->time - from->time <= WATCH_LONG_S; ago++)
        if (from->load.kv_permille >= 0) first = from;
    if (!first || last->time - first->time < WATCH_WINDOW_S) return -1;
    const double rate = (double)(last->load.kv_permille - first->load.kv_permille) / (last->time - first->time);
    return rate > 0 ? (double)(1000 - last->load.kv_permille) / rate : -1;
}

static enum watch_grave judge_ollama(const struct load *l, char *out, size_t room)
{
    const double all = (double)l->model_bytes, device = (double)l->model_device_bytes;
    if (l->model_bytes == 0) {
        snprintf(out, room, "no model is loaded");
        return WATCH_IDLE;
    }
    const bool part = device > 0 && device < all;
    snprintf(out, room, "%.1f GiB loaded, %s%.0f%% on a device; it does not tell its load%s", all / (1 << 30),
             part ? "only " : "", 100 * device / all, part ? ": a smaller num_ctx or model would fit there" : "");
    return part ? WATCH_NEAR : WATCH_FINE;
}

static enum watch_grave judge(const struct watched *s, const struct load *l, char *out, size_t room)
{
    double took;
    const double lost = watch_grew(s, LOAD_LOST, WATCH_LONG_S, &took), soon = full_in(s);
    const bool full = l->kv_permille >= FULL, waits = l->waiting > 0;
    const char *more = advice[l->kind].more, *fewer = advice[l->kind].fewer;
    const char *wait = l->waiting == 1 ? "waits" : "wait";
    if (lost > 0) {
        snprintf(out, room, "%.0f request%s lost their KV pages in the last %.0f s, to be computed again: all that run "
                 "need more than the pool; %s, or %s", lost, lost < 1.5 ? "" : "s", took, fewer, more);
        return WATCH_BAD;
    }
    if (waits && full) {
        snprintf(out, room, "%lld %s for KV memory, of which %.0f%% is taken: shorter contexts, or %s",
                 (long long)l->waiting, wait, (double)l->kv_permille / 10, more);
        return WATCH_BAD;
    }
    if (full) {
        snprintf(out, room, "%.0f%% of its KV pool is taken: the next request may have to wait; %s",
                 (double)l->kv_permille / 10, more);
        return WATCH_NEAR;
    }
    if (l->kv_permille >= HIGH / 2 && soon >= 0 && soon < SOON_S) {
        snprintf(out, room, "its KV pool is full in about %.0f s if it goes on as in the last minute; %s", soon, fewer);
        return WATCH_NEAR;
    }
    if (waits && l->running == 0) {
        snprintf(out, room, "%lld %s and none runs: the first of them may be longer than all of its KV pool, which "
                 "holds up all behind it", (long long)l->waiting, wait);
        return WATCH_NEAR;
    }
    if (waits) {
        snprintf(out, room, l->kv_permille < 0 ? "%lld %s until one of those that run has ended%s"
                 : "%lld %s: not for KV memory, but for the number that may run at once%s", (long long)l->waiting, wait,
                 wider(l->kind));
        return WATCH_NEAR;
    }
    if (l->running == 0) {
        snprintf(out, room, "idle");
        return WATCH_IDLE;
    }
    if (l->waiting < 0 || l->running < 0) {
        snprintf(out, room, "it does not tell how many %s", l->waiting < 0 ? "wait" : "run");
        return WATCH_FINE;
    }
    snprintf(out, room, "all that came run, and their memory is there");
    return WATCH_FINE;
}

enum watch_grave watch_verdict(const struct watched *s, double now, char *out, size_t room)
{
    char seconds[FIGURE];
    const struct watch_sample *last = watch_last(s, 0);
    if (s->state == WATCH_NEW) {
        snprintf(out, room, "not heard yet");
        return WATCH_IDLE;
    }
    if (s->state == WATCH_DOWN) {
        snprintf(out, room, "does not answer since %s: %s", figure_seconds(seconds, now - s->since), s->why);
        return WATCH_BAD;
    }
    if (!last) {
        snprintf(out, room, "answers, and does not tell its load: %s", s->why);
        return WATCH_NEAR;
    }
    if (s->kind == SERVER_OLLAMA) return judge_ollama(&last->load, out, room);
    return judge(s, &last->load, out, room);
}

enum watch_grave watch_of_load(const struct load *l, char *out, size_t room)
{
    enum { NOW = 1 };
    struct watch_sample one = {NOW, *l};
    const struct watched s = {.state = WATCH_TOLD, .kind = l->kind, .kept = &one, .n_kept = 1};
    return watch_verdict(&s, NOW, out, room);
}

/* ---------------------------------------------------------------- a table */

static void put_cell(struct buf *out, int columns, const char *text) { buf_printf(out, "  %*s", columns, text); }

static void put_row(const struct watched *s, double now, int columns, struct buf *out)
{
    const struct load l = watch_load(s);
    char verdict[400], text[FIGURE];
    const double first = watch_ratio(s, LOAD_FIRST_S, LOAD_FIRST_N);
    watch_verdict(s, now, verdict, sizeof verdict);
    buf_printf(out, "%-*s  %-14s", columns, s->at, s->kind == SERVER_OTHER ? "-" : server_name(s->kind));
    put_cell(out, 5, watch_part(text, l.kv_permille < 0 ? -1 : (double)l.kv_permille / 1000));
    put_cell(out, 5, watch_count(text, (double)l.running));
    put_cell(out, 5, watch_count(text, (double)l.waiting));
    put_cell(out, 7, watch_count(text, watch_rate(s, LOAD_PROMPT)));
    put_cell(out, 7, watch_count(text, watch_rate(s, LOAD_GENERATED)));
    put_cell(out, 8, first < 0 ? "-" : figure_seconds(text, first));
    put_cell(out, 5, watch_part(text, watch_ratio(s, LOAD_HITS, LOAD_ASKED)));
    put_cell(out, 5, watch_count(text, l.count[LOAD_LOST]));
    buf_printf(out, "  %s\n", verdict);
}

void watch_put_table(const struct watch *w, double now, struct buf *out)
{
    int columns = 6;
    for (int i = 0; i < w->n; i++) columns = MAX(columns, (int)strlen(w->server[i].at));
    buf_printf(out, "%-*s  %-14s  %5s  %5s  %5s  %7s  %7s  %8s  %5s  %5s  %s\n", columns, "server", "kind", "KV", "run",
               "wait", "in/s", "out/s", "first", "hit", "lost", "how it is");
    for (int i = 0; i < w->n; i++) put_row(&w->server[i], now, columns, out);
}

/* ---------------------------------------------------------------- JSON */

static void set_real(json_t *o, const char *name, double v)
{
    if (v >= 0) json_object_set_new(o, name, json_real(round(v * 1000) / 1000));
}

static void set_whole(json_t *o, const char *name, double v)
{
    if (v >= 0) json_object_set_new(o, name, json_integer((json_int_t)v));
}

static void set_load(json_t *o, const struct load *l)
{
    static const char *const count[LOAD_COUNTS] = {
        [LOAD_LOST] = "lost", [LOAD_PROMPT] = "prompt_tokens", [LOAD_GENERATED] = "generated_tokens"};
    static const char *const state[LOAD_TOKENS] = {"pool", "reserved", "filled", "cached"};
    json_t *memory = json_object(), *tokens = json_object();
    if (l->kv_permille >= 0) set_real(o, "kv", (double)l->kv_permille / 1000);
    set_whole(o, "running", (double)l->running);
    set_whole(o, "waiting", (double)l->waiting);
    for (int i = 0; i < LOAD_COUNTS; i++)
        if (count[i]) set_whole(o, count[i], l->count[i]);
    for (int i = 0; i < LOAD_TOKENS; i++) set_whole(tokens, state[i], (double)l->tokens[i]);
    for (int c = 0; c < LEDGER_CLASSES; c++) set_whole(memory, ledger_name((enum ledger_class)c), (double)l->bytes[c]);
    set_whole(memory, "ceiling", (double)l->ceiling);
    set_whole(memory, "models", (double)l->model_bytes);
    set_whole(memory, "models on devices", (double)l->model_device_bytes);
    if (json_object_size(tokens) > 0) json_object_set(o, "kv_tokens", tokens);
    if (json_object_size(memory) > 0) json_object_set(o, "memory_bytes", memory);
    json_decref(tokens);
    json_decref(memory);
}

static void put_object(const struct watched *s, double now, double time, struct buf *out)
{
    static const char *const grave[] = {"idle", "fine", "near", "bad"};
    const struct watch_sample *last = watch_last(s, 0);
    char verdict[400];
    const enum watch_grave g = watch_verdict(s, now, verdict, sizeof verdict);
    json_t *o = json_pack("{s:f, s:s, s:s}", "time", round(time * 1000) / 1000, "server", s->at, "state",
                          watch_state_name(s->state));
    if (s->kind != SERVER_OTHER) json_object_set_new(o, "kind", json_string(server_name(s->kind)));
    if (*s->model) json_object_set_new(o, "model", json_string(s->model));
    if (last) set_load(o, &last->load);
    set_real(o, "prompt_rate", watch_rate(s, LOAD_PROMPT));
    set_real(o, "generated_rate", watch_rate(s, LOAD_GENERATED));
    set_real(o, "first_token_s", watch_ratio(s, LOAD_FIRST_S, LOAD_FIRST_N));
    set_real(o, "cache_hit", watch_ratio(s, LOAD_HITS, LOAD_ASKED));
    json_object_set_new(o, "grave", json_string(grave[g]));
    json_object_set_new(o, "verdict", json_string(verdict));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
    buf_puts(out, text ? text : "");
    buf_puts(out, "\n");
    out->failed = out->failed || !text;
    free(text);
    json_decref(o);
}

void watch_put_json(const struct watch *w, double now, double time, struct buf *out)
{
    for (int i = 0; i < w->n; i++) put_object(&w->server[i], now, time, out);
}
