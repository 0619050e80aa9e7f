/* local.c - engine_local: a GGUF model on one of the backends of kernels/. */
#include "engine/fit.h"
#include "engine/forward.h"
#include "engine/hostmem.h"
#include "engine/chunk.h"
#include "engine/identity.h"
#include "engine/local.h"
#include "engine/maker.h"
#include "engine/touch.h"
#include "engine/naive_own.h"

struct maker {
    struct model model;
    struct forward forward;
    struct naive_own own; /* a policy of naive.h: requests have memory of their own */
    const struct kern *k;
    struct kdev *d;
    void *weights, *work, *kv; /* device slabs: model.bytes, forward.work_bytes, forward.kv_bytes */
    struct touch touch; /* of kv, where the backend's memory is lazy */
};

static int run(void *self, const struct pass *p, struct err *err)
{
    struct maker *l = self;
    return l->own.slot ? naive_own_run(&l->own, p, err) : forward_run(&l->forward, p, err);
}

static char *page_at(const struct maker *l, int page)
{
    return (char *)l->kv + (size_t)page * l->forward.group.page_bytes;
}

/* There is one group. */
static int save_page(void *self, int group, int page, void *host, struct err *err)
{
    const struct maker *l = self;
    (void)group;
    return l->k->fetch(l->d, NULL, host, page_at(l, page), l->forward.group.page_bytes, err);
}

static int load_page(void *self, int group, int page, const void *host, struct err *err)
{
    const struct maker *l = self;
    (void)group;
    return l->k->upload(l->d, NULL, page_at(l, page), host, l->forward.group.page_bytes, err);
}

static int usable_pages(void *self, int group, bool wait, int more)
{
    struct maker *l = self;
    (void)group;
    size_t page = l->forward.group.page_bytes;
    return (int)((wait ? touch_wait(&l->touch, ((size_t)more + 1) * page - 1) : touch_done(&l->touch)) / page);
}

static uint64_t own_bytes(void *self, int rows) { return naive_own_need(&((struct maker *)self)->own, rows); }

static int own_take(void *self, int slot, int n_prompt, int rows, struct err *err)
{
    return naive_own_take(&((struct maker *)self)->own, slot, n_prompt, rows, err);
}

static void own_give(void *self, int slot) { naive_own_give(&((struct maker *)self)->own, slot); }

static void local_close(struct engine *e)
{
    if (!e) return;
    struct maker *l = e->own;
    if (l) touch_close(&l->touch);
    if (l) naive_own_close(&l->own);
    if (l && l->d) {
        if (l->kv) l->k->give(l->d, l->kv, l->forward.kv_bytes);
        if (l->work) l->k->give(l->d, l->work, l->forward.work_bytes);
        if (l->weights) l->k->give(l->d, l->weights, l->model.bytes);
        l->k->close(l->d);
    }
    if (l) model_free(&l->model);
    free(l);
    maker_free(e);
}

/* ask: what fits is to be asked of the device, if there is one. */
static int pick_backend(struct maker *l, const struct engine_config *cfg, bool ask, struct err *err)
{
    l->k = cfg->kernels ? cfg->kernels : kern_named(cfg->backend);
    if (!l->k)
        return err_set(err, ENGINE_FAULT, "backend \"%s\" is not known; auto, cpu, cuda and ref are", cfg->backend);
    if (!l->k->memory || !ask) return 0;
    l->d = l->k->open(&cfg->kern, err);
    return l->d ? 0 : ENGINE_FAULT;
}

/* Bytes that may be taken where weights and pages go.  0, or -1: the device does not say. */
static int available(const struct maker *l, uint64_t *out, struct err *err)
{
    uint64_t all;
    *out = hostmem_available();
    return l->d && l->k->memory ? l->k->memory(l->d, out, &all, err) : 0;
}

static int take_slabs(struct maker *l, const struct engine_config *cfg, struct err *err)
{
    if (!l->d) l->d = l->k->open(&cfg->kern, err);
    if (!l->d) return ENGINE_FAULT;
    l->weights = l->k->take(l->d, l->model.bytes, err);
    if (l->weights) l->work = l->k->take(l->d, l->forward.work_bytes, err);
    if (l->work) l->kv = l->k->take(l->d, l->forward.kv_bytes, err);
    if (l->kv && l->k->lazy) memset(l->work, 0, l->forward.work_bytes); /* the pool follows beside the first requests */
    return l->kv ? 0 : ENGINE_FAULT;
}

/* ------------------------------------------------------------------ does it fit? */

/* Bytes that --vram allows; 0: it was not given. */
static uint64_t asked_for(const struct engine_config *cfg, uint64_t have)
{
    if (cfg->vram_part <= 0) return cfg->vram;
    return have == UINT64_MAX ? have : (uint64_t)((double)have * cfg->vram_part); /* not known: no ceiling */
}

/* Without --vram: half of the machine's memory, which others need too; of a device's, all but a tenth. */
static uint64_t allowed_of(const struct maker *l, uint64_t have)
{
    return l->k->memory ? have - have / 10 : have / 2;
}

static void ceiling_words(const struct engine_config *cfg, uint64_t ceiling, uint64_t have, char *out, size_t n)
{
    const bool half = ceiling == have / 2;
    if (cfg->vram && ceiling == cfg->vram) snprintf(out, n, "--vram allows %.1f MiB", (double)ceiling / 0x1p20);
    else if (cfg->vram) snprintf(out, n, "the machine has %.1f MiB free", (double)have / 0x1p20);
    else if (half) snprintf(out, n, "half of the machine's %.1f MiB free is allowed", (double)have / 0x1p20);
    else snprintf(out, n, "nine tenths of the device's %.1f MiB free are allowed", (double)have / 0x1p20);
}

static int refuse(const struct engine_config *cfg, const struct fit *f, const struct ledger *l, uint64_t have,
                  struct err *err)
{
    const char *who = *f->m->name ? f->m->name : cfg->model;
    struct buf words = {0};
    char allowed[96];
    struct engine_config in_bytes = *cfg;
    in_bytes.vram = asked_for(cfg, have);
    ceiling_words(&in_bytes, l->ceiling, have, allowed, sizeof allowed);
    ledger_words(l, &words);
    if (cfg->fits) fit_table(f, cfg->fits);
    if (cfg->needs) *cfg->needs = *l;
    err_set(err, ENGINE_NEVER_FITS, "%s: needs %.1f MiB (%s), %s: a smaller --ctx, --fit, or another --vram",
            who, (double)ledger_total(l) / 0x1p20, words.data ? words.data : "", allowed);
    buf_free(&words);
    return ENGINE_NEVER_FITS;
}

static uint64_t over_ceiling(const struct ledger *l)
{
    uint64_t all = ledger_total(l);
    return all > l->ceiling ? all - l->ceiling : 0;
}

/* The ledger of e->info's sizes with a pool of so many pages. */
static int plan_pages(struct engine *e, const struct engine_config *cfg, const struct gguf *g, int pages,
                      struct sched_config *sched, struct err *err)
{
    struct maker *l = e->own;
    struct engine_info *i = &e->info;
    const uint64_t ceiling = i->ledger.ceiling;
    if (forward_plan(&l->forward, &l->model, l->k, i->ctx, i->max_seqs, i->max_rows, maker_outs(e), pages,
                     cfg->kv_type, err))
        return -1;
    i->ledger = (struct ledger){.ceiling = ceiling};
    forward_ledger(&l->forward, &i->ledger);
    maker_sched_plan(e, cfg, pages, sched);
    sched_ledger(sched, &i->ledger);
    i->ledger.bytes[LEDGER_NAIVE] += naive_own_bytes(cfg->naive, &l->forward, g, i->max_seqs);
    return 0;
}

/* Plan everything for e->info's sizes, or, with cfg->fit, for the largest context that fits.  Asking the system for the
 * memory would not tell: it promises more than there is. */
static int plan_under_ceiling(struct engine *e, const struct engine_config *given, const struct gguf *g, uint64_t have,
                              int *pages, struct sched_config *sched, struct fit *fit, struct err *err)
{
    struct engine_config in_bytes = *given, *cfg = &in_bytes;
    struct maker *l = e->own;
    struct engine_info *i = &e->info;
    cfg->vram = asked_for(given, have);
    struct fit f = {.m = &l->model, .k = l->k, .kv_type = cfg->kv_type, .max_rows = i->max_rows,
                    .ceiling = cfg->vram ? MIN(cfg->vram, have) : allowed_of(l, have), .vocab = e->vocab,
                    .token_text = sched_token_text(e->vocab), .strict = e->strict,
                    .text_bytes = cfg->text_bytes, .park_bytes = cfg->park_bytes};
    if (cfg->fit && !cfg->pool_tokens) {
        struct engine_config smaller = *cfg;
        int ctx = fit_ctx(&f, l->model.bytes, i->max_seqs, i->ctx);
        if (ctx > 0) smaller.ctx = ctx; /* else refused below, with figures */
        struct maker_model m = {.ctx = i->ctx_trained, .window = l->model.window, .rows = i->max_rows};
        if (maker_sizes(e, &smaller, &m, pages, err)) return ENGINE_FAULT;
    }
    i->ledger.ceiling = f.ceiling;
    if (plan_pages(e, cfg, g, *pages, sched, err)) return ENGINE_FAULT;
    while (cfg->naive == NAIVE_NO_LIMIT && *pages > 1 && over_ceiling(&i->ledger)) {
        uint64_t over = (over_ceiling(&i->ledger) - 1) / l->forward.group.page_bytes + 1;
        *pages -= (int)MIN(over, (uint64_t)*pages - 1);
        if (plan_pages(e, cfg, g, *pages, sched, err)) return ENGINE_FAULT;
    }
    if (cfg->naive == NAIVE_F32) sched->naive.f32_refused = naive_widen(&l->model, l->k, &i->ledger);
    sched->naive.ledger = i->ledger;
    *fit = f;
    return 0;
}

/* "Q8_0: avx512 vnni, F32: ...": which kernel serves which type of matrix. */
static void list_kernels(const struct maker *l, const struct gguf *g, char *out, size_t n)
{
    bool seen[KT_END] = {false};
    size_t at = 0;
    for (uint64_t i = 0; i < gguf_n_tensors(g) && at < n; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        if (t->n_dims < 2 || seen[t->type]) continue;
        seen[t->type] = true;
        at += (size_t)snprintf(out + at, n - at, "%s%s: %s", at ? ", " : "", ktype_info(t->type)->name,
                               l->k->mat_kernel(l->d, t->type));
    }
}

/* What needs no device. */
static void describe(struct engine *e, const struct gguf *g)
{
    struct engine_info *i = &e->info;
    const struct maker *l = e->own;
    snprintf(i->maker, sizeof i->maker, "local");
    snprintf(i->arch, sizeof i->arch, "%s", l->model.arch);
    snprintf(i->name, sizeof i->name, "%s", l->model.name);
    snprintf(i->backend, sizeof i->backend, "%s", l->k->name);
    i->on_device = l->k->memory != NULL;
    model_types(g, i->types, sizeof i->types);
    i->layers = l->model.layers;
    i->parameters = l->model.parameters;
    i->weight_bytes = l->k->slab_bytes(l->model.bytes);
    i->work_bytes = l->k->slab_bytes(l->forward.work_bytes);
    i->kv_bytes = l->k->slab_bytes(l->forward.kv_bytes);
    i->kv_bytes_per_token = l->forward.group.page_bytes / KERN_PAGE;
}

static void describe_device(struct engine *e, const struct gguf *g)
{
    const struct maker *l = e->own;
    snprintf(e->info.backend, sizeof e->info.backend, "%s", l->k->describe(l->d));
    list_kernels(l, g, e->info.kernels, sizeof e->info.kernels);
}

/* Pages of this engine may be kept elsewhere, unless they are those of a policy, which knows none, or of a group with a
 * window, which does not keep its front. */
static void name_pages(struct engine *e, const struct engine_config *cfg, struct sched_config *sched)
{
    const struct maker *l = e->own;
    const struct kern_group *g = &l->forward.group;
    if (!l->k->numerics || cfg->naive != NAIVE_NONE || g->window > 0) return;
    sched->keeps_pages = true;
    sched->identity = identity_of(&l->model, g, l->k->numerics(l->d));
    e->info.identity = identity_name(sched->identity);
    e->info.page_bytes = g->page_bytes;
}

/* Every size, before a byte is taken.  *have: bytes that may be taken; 0: what is free here, which is then in it.  0,
 * or ENGINE_FAULT. */
static int plan_model(struct engine *e, const struct engine_config *cfg, const struct gguf *g, uint64_t *have,
                      struct sched_config *sched, struct fit *fit, struct err *err)
{
    enum template_kind kind;
    int pages;
    struct maker *l = e->own = calloc(1, sizeof *l);
    if (!l) return err_set(err, ENGINE_FAULT, "no memory to open an engine");
    if (naive_check_config(cfg, true, err)) return ENGINE_FAULT;
    if (pick_backend(l, cfg, *have == 0, err) || maker_vocab_open(e, cfg, g, &kind, err)) return ENGINE_FAULT;
    if (model_plan(&l->model, g, e->info.vocab, l->k, err)) return ENGINE_FAULT;
    struct maker_model m = {.ctx = l->model.ctx_trained, .window = l->model.window,
                            .rows = chunk_rows(l->k->name, l->model.parameters)};
    if (maker_sizes(e, cfg, &m, &pages, err)) return ENGINE_FAULT;
    if (naive_check_window(cfg->naive, e->info.window, err)) return ENGINE_FAULT;
    if (*have == 0 && available(l, have, err)) return ENGINE_FAULT;
    if (plan_under_ceiling(e, cfg, g, *have, &pages, sched, fit, err)) return ENGINE_FAULT;
    describe(e, g);
    sched->template = kind;
    return 0;
}

/* Every refusal is spoken before a byte is taken. */
static int open_model(struct engine *e, const struct engine_config *cfg, const struct gguf *g, struct err *err)
{
    struct sched_config sched;
    struct fit fit;
    uint64_t have = 0;
    if (plan_model(e, cfg, g, &have, &sched, &fit, err)) return ENGINE_FAULT;
    struct maker *l = e->own;
    if (ledger_total(&e->info.ledger) > fit.ceiling) return refuse(cfg, &fit, &e->info.ledger, have, err);
    if (take_slabs(l, cfg, err)) return ENGINE_FAULT;
    if (model_load(&l->model, g, l->k, l->d, l->weights, cfg->progress, cfg->progress_self, err)) return ENGINE_FAULT;
    forward_attach(&l->forward, l->d, l->work, l->kv);
    if (l->k->lazy && touch_open(&l->touch, l->kv, l->forward.kv_bytes, err)) return ENGINE_FAULT;
    if (naive_own_open(&l->own, cfg->naive, &l->forward, g, e->info.max_seqs, err)) return ENGINE_FAULT;
    describe_device(e, g);
    name_pages(e, cfg, &sched);
    sched.runner = (struct runner){.self = l, .run = run, .page_bytes = l->forward.group.page_bytes,
                                   .save_page = save_page, .load_page = load_page,
                                   .usable_pages = l->k->lazy ? usable_pages : NULL,
                                   .own_bytes = own_bytes, .own_take = own_take, .own_give = own_give};
    return maker_sched_open(e, &sched, err);
}

static struct engine *local_open(const struct engine_config *cfg, struct err *err)
{
    return maker_open(cfg, open_model, local_close, err);
}

int local_plan(const struct engine_config *cfg, uint64_t have, local_planned *then, void *self, struct err *err)
{
    struct sched_config sched;
    struct fit fit;
    struct engine *e = calloc(1, sizeof *e);
    if (!e) return err_set(err, ENGINE_FAULT, "no memory to plan an engine");
    struct gguf *g = gguf_open(cfg->model, err);
    int rc = g ? plan_model(e, cfg, g, &have, &sched, &fit, err) : ENGINE_FAULT;
    if (!rc) rc = then(self, &e->info, &fit, have, err);
    gguf_close(g);
    local_close(e);
    return rc;
}

/* Of a device: text, parked pages and tables are the host's. */
static void local_memory(const struct engine *e, struct engine_memory *out)
{
    const struct maker *l = e->own;
    const struct engine_info *i = &e->info;
    if (!l->k->memory) {
        maker_memory(e, out);
        return;
    }
    *out = (struct engine_memory){.ours = i->weight_bytes + i->kv_bytes + i->work_bytes};
    if (l->k->memory(l->d, &out->free, &out->total, NULL)) out->free = out->total = 0;
    out->outside = (int64_t)(out->total - out->free) - (int64_t)out->ours;
}

const struct engine_ops engine_local = {.name = "local", .open = local_open, .close = local_close,
                                        .memory = local_memory, MAKER_OPS};
