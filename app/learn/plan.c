/* plan.c - the figures. */
#include "app/learn/plan.h"
#include "engine/chunk.h"
#include "engine/hostmem.h"
#include "engine/local.h"
#include <unistd.h>

const char *plan_limit_name(enum plan_limit l)
{
    static const char *const name[] = {"memory", "trained", "sequences"};
    assert((size_t)l < COUNT_OF(name));
    return name[l];
}

/* ------------------------------------------------------------------ how much there is */

static uint64_t context_for(const struct plan_ask *ask) { return ask->context ? ask->context : PLAN_CONTEXT; }

/* Bytes that may be taken; 0: of this machine, which local_plan() asks. */
static uint64_t room_for(const struct plan_ask *ask, struct plan *p)
{
    const struct engine_config *cfg = &ask->engine;
    if (ask->gpu) {
        p->total = (uint64_t)ask->gpu->mib << 20;
        p->driver = PLAN_DRIVER;
    }
    if (ask->have > 0) return ask->have;
    return ask->gpu ? p->total - p->driver - context_for(ask) : cfg->vram_part > 0 ? 0 : cfg->vram;
}

/* What this machine has itself, if that is less than was planned with. */
static uint64_t less_here(const struct plan *p)
{
    uint64_t here = hostmem_available();
    return !p->on_device && here < p->ledger.ceiling ? here : 0;
}

/* ------------------------------------------------------------------ what fits */

static uint64_t needs_of(const struct fit *f, uint64_t weights, int ctx, int agents)
{
    struct ledger l;
    return fit_ledger(f, weights, ctx, agents, &l, NULL) ? UINT64_MAX : ledger_under(&l);
}

static void add_row(struct plan *p, const struct fit *f, const char *name, uint64_t weights)
{
    struct plan_row *r = &p->row[p->rows_n];
    if (weights == 0 || p->rows_n == PLAN_ROWS) return;
    *r = (struct plan_row){.weights = f->k->slab_bytes(weights), .needs = needs_of(f, weights, p->ctx, p->agents),
                           .ctx = fit_ctx(f, weights, p->agents, p->ctx_trained),
                           .agents = fit_seqs(f, weights, p->ctx, SCHED_REQUESTS)};
    snprintf(r->name, sizeof r->name, "%s", name);
    p->rows_n++;
}

static void compare_types(struct plan *p, const struct fit *f)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_Q8_0, KT_Q6_K, KT_Q5_K, KT_Q4_K, KT_Q4_0};
    struct fit q8_0 = *f;
    q8_0.kv_type = KT_Q8_0;
    add_row(p, f, "as it is", f->m->bytes);
    if (f->kv_type != KT_Q8_0 && p->head_dim % ktype_info(KT_Q8_0)->block == 0)
        add_row(p, &q8_0, "KV in Q8_0", f->m->bytes);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        add_row(p, f, ktype_info(types[i])->name, model_bytes_as(f->m, f->k, types[i]));
}

static void find_limits(struct plan *p, const struct fit *f)
{
    p->most_ctx = p->row[0].ctx;
    p->most_agents = p->row[0].agents;
    p->ctx_limit = p->most_ctx >= p->ctx_trained ? PLAN_TRAINED : PLAN_MEMORY;
    p->agents_limit = p->most_agents >= SCHED_REQUESTS ? PLAN_SLOTS : PLAN_MEMORY;
    p->least = needs_of(f, f->m->bytes, MIN(p->ctx_trained, KERN_PAGE), 1);
    if (p->agents_limit == PLAN_MEMORY) p->one_more = needs_of(f, f->m->bytes, p->ctx, p->most_agents + 1);
    if (p->ctx_limit == PLAN_TRAINED) p->memory_ctx = fit_ctx(f, f->m->bytes, p->agents, MODEL_MAX_CTX);
}

/* What is in the way: each line takes away what the one before had room for. */
static enum cause why_not(const struct plan *p, const struct fit *f)
{
    if (p->fits) return CAUSE_UNKNOWN;
    if (p->needs <= f->ceiling) return CAUSE_HOST; /* of a device alone: else all is under the ceiling */
    if (p->ledger.bytes[LEDGER_WEIGHTS] > f->ceiling) return CAUSE_WEIGHTS;
    if (fit_ctx(f, f->m->bytes, 1, KERN_PAGE) == 0) return CAUSE_ACTIVATIONS;
    return p->agents > 1 && needs_of(f, f->m->bytes, p->ctx, 1) <= f->ceiling ? CAUSE_CONCURRENCY : CAUSE_KV;
}

/* ------------------------------------------------------------------ the usual formula */

static double more_percent(double said, double is) { return is > 0 ? 100 * (said / is - 1) : 0; }

static void reckon(struct plan *p, const struct fit *f)
{
    struct plan_formula *u = &p->formula;
    uint64_t tokens = (uint64_t)p->ctx * (uint64_t)p->agents, kv;
    u->weights = f->m->bytes + f->m->bytes / 5;
    u->token = 2 * (uint64_t)p->layers * (uint64_t)p->embd * 2;
    if (size_mul(u->token, tokens, &kv) || size_add(u->weights, kv, &u->all)) u->all = UINT64_MAX;
    u->weights_wrong = more_percent((double)u->weights, (double)p->needs);
    u->token_times = (double)u->token / (double)p->token_bytes;
    u->all_wrong = more_percent((double)u->all, (double)p->needs);
}

/* ------------------------------------------------------------------ all together */

static void take_model(struct plan *p, const struct engine_info *info, const struct model *m)
{
    memcpy(p->name, info->name, sizeof p->name);
    memcpy(p->arch, info->arch, sizeof p->arch);
    memcpy(p->types, info->types, sizeof p->types);
    p->on_device = info->on_device;
    p->parameters = info->parameters;
    p->active = m->active;
    p->experts = m->experts;
    p->used = m->used;
    p->layers = m->layers;
    p->embd = m->embd;
    p->heads = m->heads;
    p->kv_heads = m->kv_heads;
    p->head_dim = m->head_dim;
    p->ff = m->ff;
    p->vocab = m->vocab;
    p->window = m->window;
    p->ctx_trained = m->ctx_trained;
}

/* have is without what opening a device takes, which is under the ceiling; made: it is --vram's, of no machine. */
static void take_sizes(struct plan *p, const struct engine_info *info, const struct fit *f, uint64_t have, bool made)
{
    p->ctx = info->ctx;
    p->agents = info->max_seqs;
    p->rows = info->max_rows;
    p->outs = MAX(info->max_seqs, 16);
    p->kv_type = f->kv_type;
    p->ledger = info->ledger;
    p->needs = ledger_under(&info->ledger);
    p->page_bytes = info->kv_bytes_per_token * KERN_PAGE;
    p->token_bytes = info->kv_bytes_per_token;
    p->agent_tokens = info->kv_seq_tokens;
    p->local_window = info->local_window;
    p->local_layers = info->local_layers;
    p->states = info->states;
    p->local_bytes = info->kv_local_bytes;
    p->fits = ledger_fits(&p->ledger);
    p->have = made ? p->ledger.ceiling : have + f->context;
    p->reserve = p->have - p->ledger.ceiling; /* the ceiling is never above */
}

struct making {
    const struct plan_ask *ask;
    struct plan *p;
    bool made;
};

static int take(void *self, const struct engine_info *info, const struct fit *fit, uint64_t have, struct err *err)
{
    struct making *m = self;
    struct plan *p = m->p;
    struct fit f = *fit;
    (void)err;
    f.max_rows = m->ask->engine.max_rows;
    if (f.max_rows <= 0) f.max_rows = chunk_of(f.k->name, f.m->parameters, f.m->active).rows;
    snprintf(p->backend, sizeof p->backend, "%s", f.k->name);
    take_model(p, info, f.m);
    take_sizes(p, info, &f, have, m->made);
    compare_types(p, &f);
    find_limits(p, &f);
    p->cause = why_not(p, &f);
    p->here = less_here(p);
    reckon(p, &f);
    return 0;
}

/* Then a device that is there has been opened. */
static bool is_auto(const struct engine_config *cfg)
{
    return !cfg->kernels && (!cfg->backend || strcmp(cfg->backend, "auto") == 0);
}

int plan_make(const struct plan_ask *ask, struct plan *out, struct err *err)
{
    struct engine_config cfg = ask->engine;
    struct making m = {.ask = ask, .p = out};
    char path[PLAN_PATH];
    int fd = -1;
    *out = (struct plan){.by_shape = ask->shape != NULL, .vram = cfg.vram > 0 || cfg.vram_part > 0};
    if (cfg.naive != NAIVE_NONE || cfg.pool_tokens > 0)
        return err_set(err, ENGINE_FAULT, "a plan is of the sound memory policy, and of whole contexts");
    if (ask->shape && plan_header(ask->shape, ask->mix, &fd, path, err)) return ENGINE_FAULT;
    if (ask->shape) cfg.model = path;
    const uint64_t have = room_for(ask, out);
    m.made = have > 0 && !ask->have && !ask->gpu;
    int rc = local_plan(&cfg, have, context_for(ask), take, &m, err);
    out->by_allowance = have > 0 && out->on_device && !ask->context && !is_auto(&cfg);
    if (fd >= 0) close(fd);
    return rc;
}
