/* plan_text.c - a plan for a person: a table, the limits, other types, the usual formula, the command line. */
#include "app/learn/plan.h"
#include "app/models.h"
#include "app/session/strand.h"
#include "app/store_cmd.h"
#include "app/term_filter.h"
#include "app/tui/bar.h"
#include "kernels/cuda/cuda.h"

enum { LABEL = 16, SIZE = 10, BYTES = 19 };

static void put_clean(struct buf *out, const char *text) { term_filter_text(text, strlen(text), true, out); }

/* ------------------------------------------------------------------ the table */

/* Text and tables of a shape are near; so is what they are added up in. */
static void put_line(struct buf *out, const char *label, bool near, uint64_t bytes, const char *note)
{
    char number[FIGURE];
    buf_printf(out, "  %-*s%s%*s %*s", LABEL, label, near ? "~" : " ", SIZE, store_cmd_size(bytes).text, BYTES,
               figure(number, bytes));
    buf_printf(out, "%s%s\n", *note ? "   " : "", note);
}

static void put_kv(const struct plan *p, struct buf *out)
{
    char note[160], a[FIGURE], b[FIGURE], c[FIGURE];
    int n = snprintf(note, sizeof note, "%s x %s tokens, %s bytes a token", figure(a, (uint64_t)p->agents),
                     figure(b, p->agent_tokens), figure(c, p->token_bytes));
    if (p->window > 0 && p->agent_tokens < (uint64_t)p->ctx && n > 0)
        snprintf(note + n, sizeof note - (size_t)n, ": the window of %s and a pass", figure(a, (uint64_t)p->window));
    if (p->states && n > 0)
        snprintf(note + n, sizeof note - (size_t)n, ", %s for %d layers that keep a state",
                 store_cmd_size(p->local_bytes).text, p->local_layers);
    else if (p->local_layers > 0 && n > 0)
        snprintf(note + n, sizeof note - (size_t)n, ", %s for %d layers with a window of %s",
                 store_cmd_size(p->local_bytes).text, p->local_layers, figure(a, (uint64_t)p->local_window));
    put_line(out, "KV pool", false, p->ledger.bytes[LEDGER_KV], note);
}

static void put_classes(const struct plan *p, struct buf *out)
{
    const uint64_t *b = p->ledger.bytes;
    char note[160], number[FIGURE];
    put_line(out, "weights", false, b[LEDGER_WEIGHTS], "");
    put_kv(p, out);
    snprintf(note, sizeof note, "passes of %d rows: activations %s, scratch %s", p->rows,
             store_cmd_size(b[LEDGER_ACTIVATIONS]).text, store_cmd_size(b[LEDGER_SCRATCH]).text);
    put_line(out, "workspace", false, b[LEDGER_ACTIVATIONS] + b[LEDGER_SCRATCH], note);
    snprintf(note, sizeof note, "logits and choices of %d rows, %s tokens each", p->outs,
             figure(number, (uint64_t)p->vocab));
    put_line(out, "sampler", false, b[LEDGER_LOGITS], note);
    if (b[LEDGER_CONTEXT] > 0)
        put_line(out, "context", p->by_allowance, b[LEDGER_CONTEXT],
                 p->by_allowance ? "an allowance for what opening the device takes" : "what opening the device took");
}

/* On a device with memory of its own they are in the machine's, and not under the ceiling. */
static void put_host_classes(const struct plan *p, struct buf *out)
{
    const uint64_t *b = p->ledger.bytes;
    put_line(out, "text", p->by_shape, b[LEDGER_TEXT], "requests and their answers");
    put_line(out, "tables", p->by_shape, b[LEDGER_TABLES], "tokenizer, room to write prompts in, block tables");
    if (b[LEDGER_PARK] > 0) put_line(out, "parked pages", false, b[LEDGER_PARK], "");
    if (b[LEDGER_GRAMMARS] > 0) put_line(out, "grammars", p->by_shape, b[LEDGER_GRAMMARS], "strict calls of tools");
    if (b[LEDGER_STAGING] > 0) put_line(out, "staging", false, b[LEDGER_STAGING], "where a device's copies go through");
}

static void put_room(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    const uint64_t ceiling = p->ledger.ceiling;
    put_line(out, "needs", p->by_shape, p->needs, "");
    put_line(out, "ceiling", false, ceiling, p->vram ? "--vram" : p->on_device ? "nine tenths of what is free"
                                                                  : "half of what is free");
    if (p->needs <= ceiling) put_line(out, "left", p->by_shape, ceiling - p->needs, "");
    else put_line(out, "missing", p->by_shape, p->needs - ceiling, "");
    if (p->reserve > 0) put_line(out, "reserve", false, p->reserve, "free, and not to be taken");
    if (!ask->gpu) return;
    put_line(out, "driver", true, p->driver, "an allowance, beside what is free");
    buf_printf(out, "  driver: %s\n  %s: %u MiB, %s\n", plan_driver_source, ask->gpu->words, ask->gpu->mib,
               ask->gpu->source);
}

static void put_head(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    char a[FIGURE], count[MODELS_COUNT];
    put_clean(out, *p->name ? p->name : ask->engine.model ? ask->engine.model : "a model without a name");
    buf_puts(out, ": ");
    put_clean(out, p->arch);
    buf_printf(out, ", %d layers of %s, ", p->layers, figure(a, (uint64_t)p->embd));
    buf_printf(out, "%d heads of %d (%d for keys and values), %s parameters\n", p->heads, p->head_dim, p->kv_heads,
               models_count(p->parameters, count));
    if (p->experts > 0)
        buf_printf(out, "a mixture: all %d experts of a layer must be in memory, %d of them compute a token, with %s "
                   "parameters in all\n", p->experts, p->used, models_count(p->active, count));
    buf_printf(out, "types: %s%s\n", p->types, p->by_shape ? ", by shape: no file of it was read" : "");
    buf_printf(out, "for %d agent%s with %s tokens%s, on %s, keys and values in %s\n\n", p->agents,
               p->agents == 1 ? "" : "s", figure(a, (uint64_t)p->ctx), p->agents == 1 ? "" : " each", p->backend,
               ktype_info(p->kv_type)->name);
}

/* ------------------------------------------------------------------ limits */

static void put_first(const struct plan *p, struct buf *out)
{
    char a[FIGURE];
    const struct store_size needs = store_cmd_size(p->needs), ceiling = store_cmd_size(p->ledger.ceiling);
    buf_puts(out, "first limit: ");
    switch (p->cause) {
    case CAUSE_WEIGHTS: buf_puts(out, "the weights alone pass the ceiling: no context is small enough\n"); return;
    case CAUSE_ACTIVATIONS: buf_puts(out, "beside the weights there is no room for workspace and one page\n"); return;
    case CAUSE_CONCURRENCY:
        buf_printf(out, "so many at once: one agent with this context fits, %d need %s of %s\n", p->agents,
                   needs.text, ceiling.text);
        return;
    case CAUSE_HOST:
        buf_printf(out, "the machine's own memory: text, parked pages and tables need %s, half of what is free is %s\n",
                   store_cmd_size(ledger_host(&p->ledger)).text, store_cmd_size(p->ledger.host).text);
        return;
    case CAUSE_KV: buf_printf(out, "the contexts: with this one it needs %s of %s\n", needs.text, ceiling.text); return;
    default: break;
    }
    if (p->agents_limit == PLAN_MEMORY && p->one_more <= p->ledger.ceiling)
        buf_printf(out, "the machine's own memory, at %d agents with this context: their text and tables\n",
                   p->most_agents + 1);
    else if (p->agents_limit == PLAN_MEMORY)
        buf_printf(out, "memory, at %d agents with this context: %s are missing\n", p->most_agents + 1,
                   store_cmd_size(p->one_more - p->ledger.ceiling).text);
    else if (p->ctx_limit == PLAN_MEMORY)
        buf_printf(out, "memory, at contexts of more than %s tokens\n", figure(a, (uint64_t)p->most_ctx));
    else
        buf_printf(out, "the length that the model was trained for, %s tokens; memory is none\n",
                   figure(a, (uint64_t)p->ctx_trained));
}

static void put_limits(const struct plan *p, struct buf *out)
{
    char a[FIGURE], b[FIGURE];
    buf_printf(out, "\nlargest context for %d agent%s: ", p->agents, p->agents == 1 ? "" : "s");
    if (p->most_ctx == 0) buf_puts(out, "none, memory is the limit");
    else if (p->ctx_limit == PLAN_MEMORY)
        buf_printf(out, "%s tokens, memory is the limit (trained for %s)", figure(a, (uint64_t)p->most_ctx),
                   figure(b, (uint64_t)p->ctx_trained));
    else
        buf_printf(out, "%s tokens, for which the model was trained (memory would do for %s)",
                   figure(a, (uint64_t)p->most_ctx), figure(b, (uint64_t)p->memory_ctx));
    buf_printf(out, "\nmost agents with %s tokens: ", figure(a, (uint64_t)p->ctx));
    if (p->most_agents == 0) buf_puts(out, "none");
    else buf_printf(out, "%s", figure(b, (uint64_t)p->most_agents));
    buf_printf(out, ", %s\n", p->agents_limit == PLAN_MEMORY ? "memory is the limit" : "plimsoll counts no more");
    put_first(p, out);
}

/* ------------------------------------------------------------------ other types */

static const char *or_none(char out[FIGURE], int n)
{
    return n > 0 ? figure(out, (uint64_t)n) : "-";
}

static void put_rows(const struct plan *p, struct buf *out)
{
    char a[FIGURE], b[FIGURE], head[2][40];
    snprintf(head[0], sizeof head[0], "context for %d", p->agents);
    snprintf(head[1], sizeof head[1], "agents with %d", p->ctx);
    buf_printf(out, "\nother types        weights      needs  %15s  %18s\n", head[0], head[1]);
    for (int i = 0; i < p->rows_n; i++) {
        const struct plan_row *r = &p->row[i];
        buf_printf(out, "  %-12s %11s", r->name, store_cmd_size(r->weights).text);
        buf_printf(out, " %10s  %15s  %18s%s\n", store_cmd_size(r->needs).text, or_none(a, r->ctx),
                   or_none(b, r->agents), r->needs <= p->ledger.ceiling ? "" : "  does not fit");
    }
    buf_puts(out, "  (all matrices in that type but those whose rows are no whole number of blocks, vectors in F32)\n");
}

/* ------------------------------------------------------------------ the usual formula */

static void put_wrong(struct buf *out, double percent)
{
    if (percent >= 1000) buf_printf(out, "%.0f times what it takes", percent / 100 + 1);
    else buf_printf(out, "%.0f %% %s than it takes", percent < 0 ? -percent : percent, percent < 0 ? "less" : "more");
}

static void put_formula(const struct plan *p, struct buf *out)
{
    const struct plan_formula *u = &p->formula;
    buf_puts(out, "\nthe usual formula, and how wrong it is here\n");
    buf_printf(out, "  %-14s %10s          ", "weights x 1.2", store_cmd_size(u->weights).text);
    put_wrong(out, u->weights_wrong);
    buf_puts(out, ": it knows no contexts and no agents\n");
    buf_printf(out, "  %-14s %10s a token  ", "KV by width", store_cmd_size(u->token).text);
    buf_printf(out, "%.2f times the %s that one takes%s", u->token_times, store_cmd_size(p->token_bytes).text,
               p->states ? " beyond the states" : p->local_layers > 0 ? " beyond the windows" : "");
    if (p->kv_heads < p->heads) buf_printf(out, ": %d heads share the keys of %d", p->heads, p->kv_heads);
    buf_printf(out, "\n  %-14s %10s          ", "both", store_cmd_size(u->all).text);
    put_wrong(out, u->all_wrong);
    buf_puts(out, "\n");
}

/* ------------------------------------------------------------------ the command line */

static void put_vram(const struct engine_config *cfg, struct buf *out)
{
    static const char unit[] = "KMGT";
    uint64_t n = cfg->vram;
    int i = -1;
    if (cfg->vram_part > 0) {
        buf_printf(out, " --vram %g%%", 100 * cfg->vram_part);
        return;
    }
    for (; n > 0 && n % 1024 == 0 && i < 3; i++) n /= 1024;
    if (cfg->vram > 0) buf_printf(out, " --vram %llu%.*s", (unsigned long long)n, i >= 0, &unit[MAX(i, 0)]);
}

/* What is asked for beside model, agents and context. */
static void put_flags(const struct engine_config *cfg, const struct plan *p, enum ktype kv, struct buf *out)
{
    put_vram(cfg, out);
    if (kv == KT_Q8_0) buf_puts(out, " --kv-type q8_0");
    if (kv == KT_F32) buf_puts(out, " --kv-type f32");
    if (strcmp(p->backend, "cpu") != 0) buf_printf(out, " --backend %s", p->backend);
    if (p->on_device && cuda_shown(CUDA_BLAS)) buf_puts(out, cfg->fast ? " --fast" : " --exact");
    if (cfg->park_bytes > 0) buf_printf(out, " --park %llu", (unsigned long long)cfg->park_bytes);
    if (cfg->overcommit) buf_puts(out, " --overcommit");
    if (cfg->grammars > 0) buf_puts(out, " --strict-tools");
}

void plan_command(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    int ctx = p->ctx, agents = p->agents;
    enum ktype kv = p->kv_type;
    if (!p->fits && p->most_ctx > 0) ctx = p->most_ctx;
    else if (!p->fits && p->most_agents > 0) agents = p->most_agents;
    else if (!p->fits && p->rows_n > 1 && p->row[1].ctx > 0 && strncmp(p->row[1].name, "KV", 2) == 0) {
        kv = KT_Q8_0;
        ctx = p->row[1].ctx;
    } else if (!p->fits) return;
    if (agents > STRANDS) return;
    buf_puts(out, "plimsoll");
    if (agents > 1) buf_printf(out, " stress --agents %d --parallel %d", agents, agents);
    if (ask->shape) buf_puts(out, " -m FILE");
    else if (strncmp(ask->engine.model, "/proc/self/fd/", 14) != 0) { /* not the embedded one */
        buf_puts(out, " -m ");
        models_put_quoted(ask->engine.model, out);
    }
    buf_printf(out, " --ctx %d", ctx);
    put_flags(&ask->engine, p, kv, out);
}

/* What no flag of the model's own does. */
static void put_ways(const struct plan *p, struct buf *out)
{
    const bool host = p->cause == CAUSE_HOST;
    bool found = host || (!p->vram && p->needs <= p->have);
    if (host) buf_puts(out, "less of it is needed with a smaller --park, a smaller --ctx or fewer agents\n");
    else if (found) buf_puts(out, "or with --vram 100%, if nothing else needs what is free\n");
    for (int i = 1; i < p->rows_n && !found; i++) {
        found = p->row[i].needs <= p->ledger.ceiling && strncmp(p->row[i].name, "KV", 2) != 0;
        if (found) buf_printf(out, "all of it would fit with the weights in %s\n", p->row[i].name);
    }
    buf_printf(out, "the least ceiling for this model, with one agent and a page of context: %s\n",
               store_cmd_size(p->least).text);
}

static void put_start(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    struct buf line = {0};
    char a[FIGURE];
    plan_command(ask, p, &line);
    if (!p->fits) buf_puts(out, line.len > 0 ? "\nit does not fit; this would: " : "\nit does not fit");
    else if (line.len > 0) buf_puts(out, "\nstart it: ");
    if (line.len > 0) put_clean(out, line.data);
    buf_puts(out, line.len > 0 || !p->fits ? "\n" : "");
    if (line.len > 0 && strstr(line.data, " stress "))
        buf_puts(out, "          (a crew of yours: --crew FILE --parallel N in place of stress --agents N)\n");
    if (p->agents > STRANDS) buf_printf(out, "nothing of plimsoll runs more than %d agents at once\n", STRANDS);
    if (!p->fits) put_ways(p, out);
    if (p->ctx > p->ctx_trained)
        buf_printf(out, "the model was trained for contexts of %s tokens: beyond them it may talk nonsense\n",
                   figure(a, (uint64_t)p->ctx_trained));
    if (p->here > 0)
        buf_printf(out, "this machine has %s free now: less than the ceiling\n", store_cmd_size(p->here).text);
    out->failed = out->failed || line.failed;
    buf_free(&line);
}

void plan_text(const struct plan_ask *ask, const struct plan *p, struct buf *out)
{
    put_head(ask, p, out);
    put_classes(p, out);
    if (!p->on_device) put_host_classes(p, out);
    put_room(ask, p, out);
    if (p->on_device) {
        put_host_classes(p, out);
        put_line(out, "beside it", p->by_shape, ledger_host(&p->ledger), "of the machine's own memory");
    }
    put_limits(p, out);
    put_rows(p, out);
    put_formula(p, out);
    put_start(ask, p, out);
}
