/* local.c - engine_local: a GGUF model on one of the backends of kernels/. */
#include "engine/fit.h"
#include "engine/forward.h"
#include "engine/hostmem.h"
#include "engine/chunk.h"
#include "engine/identity.h"
#include "engine/local.h"
#include "engine/maker.h"
#include "engine/slabs.h"
#include "engine/touch.h"
#include "engine/naive_own.h"
#include "engine/pooling.h"
#include "kernels/cuda/cuda.h"

struct maker {
    struct model model;
    struct forward forward;
    struct naive_own own; /* a policy of naive.h: requests have memory of their own */
    const struct kern *k;
    struct kdev *d;
    struct slabs slabs; /* of model.bytes, forward.work_bytes, forward.kv_bytes */
    struct touch touch; /* of the pages, where the backend's memory is lazy */
};

static int run(void *self, const struct pass *p, struct err *err)
{
    struct maker *l = self;
    if (l->own.slot) return naive_own_run(&l->own, p, err);
    int rc = forward_run(&l->forward, p, err);
    return rc || p->part + 1 < p->parts ? rc : pooling_run(&l->forward, p, err);
}

static int lost(void *self, struct err *err)
{
    const struct maker *l = self;
    return l->k->lost ? l->k->lost(l->d, err) : 0;
}

static bool is_fast(const struct maker *l) { return l->k->fast && l->d && l->k->fast(l->d); }

static char *page_at(const struct kern_group *g, int page)
{
    return (char *)g->dev_slab + (size_t)page * g->page_bytes;
}

static int save_page(void *self, int group, int page, void *host, struct err *err)
{
    const struct maker *l = self;
    const struct kern_group *g = &l->forward.group[group];
    if (l->k->page_fetch) return l->k->page_fetch(l->d, g, page, host, err);
    return l->k->fetch(l->d, NULL, host, page_at(g, page), g->page_bytes, err);
}

static int load_page(void *self, int group, int page, const void *host, struct err *err)
{
    const struct maker *l = self;
    const struct kern_group *g = &l->forward.group[group];
    if (l->k->page_upload) return l->k->page_upload(l->d, g, page, host, err);
    return l->k->upload(l->d, NULL, page_at(g, page), host, g->page_bytes, err);
}

static int usable_pages(void *self, int group, bool wait, int more)
{
    struct maker *l = self;
    const int all = l->forward.group[group].pages, run = MAX(l->k->page_run, 1);
    const int wanted = MIN(more / run * run + run, all);
    const size_t page = l->forward.group[group].page_bytes, at = l->forward.at_kv[group];
    const size_t done = wait ? touch_wait(&l->touch, at + (size_t)wanted * page - 1) : touch_done(&l->touch);
    const int there = done > at ? (int)MIN((done - at) / page, (size_t)all) : 0;
    return there < all ? there / run * run : there;
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
        slabs_give(&l->slabs, l->k, l->d);
        l->k->close(l->d);
    }
    if (l) model_free(&l->model);
    free(l);
    maker_free(e);
}

/* What local_open() knows by err's code: of a device that auto chose; the CPU may serve. */
enum { DEVICE_FAILS = -100 };

static bool is_auto(const struct engine_config *cfg)
{
    return !cfg->kernels && (!cfg->backend || strcmp(cfg->backend, "auto") == 0);
}

static int device_fails(const struct maker *l, const struct engine_config *cfg, struct err *err)
{
    if (err && l->k->memory && is_auto(cfg) && err->code != CUDA_NOTHING_THERE) err->code = DEVICE_FAILS;
    return ENGINE_FAULT;
}

/* ask: what fits is to be asked of the device, if there is one. */
static int pick_backend(struct maker *l, const struct engine_config *cfg, bool ask, struct err *err)
{
    l->k = cfg->kernels ? cfg->kernels : kern_named(cfg->backend);
    if (cfg->fast && l->k == kern_cuda()) l->k = kern_cuda_fast();
    if (!l->k)
        return err_set(err, ENGINE_FAULT, "backend \"%s\" is not known; auto, cpu, cuda and ref are", cfg->backend);
    if (!l->k->memory || !ask) return 0;
    l->d = l->k->open(&cfg->kern, err);
    return l->d ? 0 : device_fails(l, cfg, err);
}

/* Bytes that may be taken where weights and pages go.  0, or -1: the device does not say. */
static int available(const struct maker *l, uint64_t *out, struct err *err)
{
    uint64_t all;
    *out = hostmem_available();
    return l->d && l->k->memory ? l->k->memory(l->d, out, &all, err) : 0;
}

/* By huge pages: the system clears one for every thread that wants it. */
enum { CLEARED = 2 << 20 };

static void clear_work(void *self, int first, int end, int who)
{
    const struct maker *l = self;
    const size_t from = (size_t)first * CLEARED, to = MIN((size_t)end * CLEARED, l->forward.work_bytes);
    (void)who;
    memset((char *)l->slabs.dev[SLABS_WORK] + from, 0, to - from);
}

static int take_slabs(struct maker *l, const struct engine_config *cfg, struct err *err)
{
    if (!l->d) l->d = l->k->open(&cfg->kern, err);
    if (!l->d) return ENGINE_FAULT;
    const size_t bytes[] = {[SLABS_WEIGHTS] = l->model.bytes, [SLABS_WORK] = l->forward.work_bytes,
                            [SLABS_KV] = l->forward.kv_bytes};
    if (slabs_take(&l->slabs, l->k, l->d, bytes, err)) return ENGINE_FAULT;
    if (l->k->ready && l->k->ready(l->d, &l->forward.dims, err)) return ENGINE_FAULT;
    if (l->k->lazy) /* the pool follows beside the first requests */
        l->k->share(l->d, (int)((l->forward.work_bytes + CLEARED - 1) / CLEARED), clear_work, l);
    return 0;
}

/* ------------------------------------------------------------------ does it fit? */

/* Where weights and pages go.  A context is there before anyone asks what is free. */
struct room {
    uint64_t free, context;
    bool device; /* of its own; the host's classes have half of what the machine has free */
};

/* Bytes that --vram allows; 0: it was not given. */
static uint64_t asked_for(const struct engine_config *cfg, const struct room *r)
{
    if (cfg->vram_part <= 0) return cfg->vram;
    if (r->free == UINT64_MAX) return r->free; /* not known: no ceiling */
    return (uint64_t)((double)(r->free + r->context) * cfg->vram_part);
}

/* Without --vram: half of the machine's memory, which others need too; of a device's, all but a tenth. */
static uint64_t ceiling_of(const struct engine_config *cfg, const struct room *r)
{
    const uint64_t all = r->device ? r->free + r->context : r->free;
    if (cfg->vram) return MIN(cfg->vram, all);
    return r->device ? all - r->free / 10 : all / 2;
}

static void ceiling_words(const struct engine_config *cfg, const struct ledger *l, const struct room *r, char *out,
                          size_t n)
{
    const double mib = (double)r->free / 0x1p20, all = (double)(r->free + r->context) / 0x1p20;
    if (cfg->vram && l->ceiling == cfg->vram) snprintf(out, n, "--vram allows %.1f MiB", (double)cfg->vram / 0x1p20);
    else if (cfg->vram && r->device) snprintf(out, n, "the device had %.1f MiB free", all);
    else if (cfg->vram) snprintf(out, n, "the machine has %.1f MiB free", mib);
    else if (r->device) snprintf(out, n, "nine tenths of the device's %.1f MiB free are allowed", mib);
    else snprintf(out, n, "half of the machine's %.1f MiB free is allowed", mib);
}

/* The device has room; the machine around it has none. */
static int refuse_host(const char *who, const struct ledger *l, struct err *err)
{
    return err_set(err, ENGINE_NEVER_FITS, "%s: text, parked pages and tables need %.1f MiB of the machine's own "
                   "memory, half of its %.1f MiB free is allowed: a smaller --ctx, or fewer agents", who,
                   (double)ledger_host(l) / 0x1p20, (double)l->host / 0x1p19);
}

static int refuse(const struct engine_config *cfg, const struct fit *f, const struct engine_info *i,
                  const struct room *room, struct err *err)
{
    const struct ledger *l = &i->ledger;
    const struct fit_asked asked = {.needs = l, .ctx = i->ctx, .seqs = i->max_seqs, .fit = cfg->fit,
                                    .can_fit = !cfg->fit && cfg->pool_tokens == 0 && cfg->naive == NAIVE_NONE,
                                    .pool = cfg->pool_tokens > 0,
                                    .most = room->device ? room->free + room->context : room->free};
    char path[GGUF_SHOWN];
    const char *who = *f->m->name ? f->m->name : gguf_show(path, sizeof path, cfg->model, strlen(cfg->model));
    struct buf words = {0}, advice = {0};
    char allowed[96];
    if (ledger_under(l) <= l->ceiling) return refuse_host(who, l, err);
    struct engine_config in_bytes = *cfg;
    in_bytes.vram = asked_for(cfg, room);
    ceiling_words(&in_bytes, l, room, allowed, sizeof allowed);
    ledger_words(l, &words);
    if (cfg->fits) fit_table(f, cfg->fits);
    if (cfg->needs) *cfg->needs = *l;
    fit_advice(f, &asked, &advice);
    err_set(err, ENGINE_NEVER_FITS, "%s: needs %.1f MiB (%s), %s%s", who, (double)ledger_under(l) / 0x1p20,
            words.data ? words.data : "", allowed, advice.data ? advice.data : "");
    buf_free(&words);
    buf_free(&advice);
    return ENGINE_NEVER_FITS;
}

/* In fast mode what is computed again may have other bits, so that the parked are copied: there is room for all, each
 * with all it can have. */
static int check_copies(const struct engine *e, const struct engine_config *cfg, struct err *err)
{
    const struct maker *l = e->own;
    const uint64_t seqs = (uint64_t)e->info.max_seqs;
    uint64_t pages = e->info.kv_seq_tokens / KERN_PAGE * seqs, bytes;
    if (!is_fast(l) || !cfg->overcommit) return 0;
    if (l->forward.groups > 1) pages += (uint64_t)l->forward.group[1].pages;
    if (!size_mul(pages, forward_page_bytes(&l->forward), &bytes) && cfg->park_bytes >= bytes) return 0;
    return err_set(err, ENGINE_FAULT, "--overcommit in fast mode copies what it puts aside: --park %.1fM or more, or "
                   "--exact, which computes again", (double)bytes / 0x1p20 + 0.1);
}

static uint64_t over_ceiling(const struct ledger *l)
{
    uint64_t all = ledger_under(l);
    return all > l->ceiling ? all - l->ceiling : 0;
}

/* The ledger of e->info's sizes with a pool of so many pages. */
static int plan_pages(struct engine *e, const struct engine_config *cfg, const struct gguf *g, int pages,
                      struct sched_config *sched, struct err *err)
{
    struct maker *l = e->own;
    struct engine_info *i = &e->info;
    const struct ledger none = {.ceiling = i->ledger.ceiling, .host = i->ledger.host,
                                .bytes = {[LEDGER_CONTEXT] = i->ledger.bytes[LEDGER_CONTEXT]}};
    if (forward_plan(&l->forward, &l->model, l->k, i->ctx, i->max_seqs, i->max_rows, maker_outs(e), pages,
                     cfg->kv_type, err))
        return -1;
    if (check_copies(e, cfg, err)) return -1;
    i->ledger = none;
    forward_ledger(&l->forward, &i->ledger);
    maker_sched_plan(e, cfg, pages, sched);
    sched->park_copies = is_fast(l);
    sched_ledger(sched, &i->ledger);
    i->ledger.bytes[LEDGER_NAIVE] += naive_own_bytes(cfg->naive, &l->forward, g, i->max_seqs);
    return 0;
}

/* Plan everything for e->info's sizes, or, with cfg->fit, for the largest context that fits.  Asking the system for the
 * memory would not tell: it promises more than there is. */
static int plan_under_ceiling(struct engine *e, const struct engine_config *given, const struct gguf *g,
                              const struct room *room, int *pages, struct sched_config *sched, struct fit *fit,
                              struct err *err)
{
    struct engine_config in_bytes = *given, *cfg = &in_bytes;
    struct maker *l = e->own;
    struct engine_info *i = &e->info;
    cfg->vram = asked_for(given, room);
    struct fit f = {.m = &l->model, .k = l->k, .kv_type = cfg->kv_type, .max_rows = i->max_rows,
                    .ceiling = ceiling_of(cfg, room), .context = room->context,
                    .host = room->device ? MAX(hostmem_available() / 2, 1) : 0, .vocab = e->vocab,
                    .token_text = sched_token_text(e->vocab), .strict = e->strict,
                    .text_bytes = cfg->text_bytes, .park_bytes = cfg->park_bytes};
    if (cfg->fit && !cfg->pool_tokens) {
        struct engine_config smaller = *cfg;
        int ctx = fit_ctx(&f, l->model.bytes, i->max_seqs, i->ctx);
        if (ctx > 0) smaller.ctx = ctx; /* else refused below, with figures */
        struct maker_model m = {.ctx = i->ctx_trained, .window = l->model.window, .local = l->model.local_window,
                                .chunk = {.rows = i->max_rows, .step_rows = i->step_rows}};
        if (maker_sizes(e, &smaller, &m, pages, err)) return ENGINE_FAULT;
    }
    i->ledger.ceiling = f.ceiling;
    i->ledger.host = f.host;
    i->ledger.bytes[LEDGER_CONTEXT] = f.context;
    if (plan_pages(e, cfg, g, *pages, sched, err)) return ENGINE_FAULT;
    /* What is beside the ceiling's room: of that policy anything; else what those who wait would have been kept. */
    const uint64_t run = i->kv_seq_tokens / KERN_PAGE * (uint64_t)i->max_seqs;
    const uint64_t least = cfg->naive == NAIVE_NO_LIMIT ? 1 : cfg->pool_tokens ? INT32_MAX : run;
    while ((uint64_t)*pages > least && over_ceiling(&i->ledger)) {
        uint64_t over = (over_ceiling(&i->ledger) - 1) / l->forward.group[0].page_bytes + 1;
        *pages -= (int)MIN(over, (uint64_t)*pages - least);
        if (plan_pages(e, cfg, g, *pages, sched, err)) return ENGINE_FAULT;
    }
    if (cfg->naive == NAIVE_F32) sched->naive.f32_refused = naive_widen(&l->model, l->k, &i->ledger);
    sched->naive.ledger = i->ledger;
    *fit = f;
    return 0;
}

/* "Q8_0: avx512 vnni int8 (32 rows x 8 tokens), F32: ...": which kernel serves which type of matrix. */
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
    i->fast = is_fast(l);
    model_types(g, i->types, sizeof i->types);
    i->layers = l->model.layers;
    i->pool = l->model.mean ? POOL_MEAN : POOL_LAST;
    i->experts = l->model.experts;
    i->experts_used = l->model.used;
    i->shared_expert = l->model.shared > 0;
    i->parameters = l->model.parameters;
    i->weight_bytes = l->k->slab_bytes(l->model.bytes);
    i->work_bytes = l->k->slab_bytes(l->forward.work_bytes);
    i->kv_bytes = l->k->slab_bytes(l->forward.kv_bytes);
    i->kv_bytes_per_token = l->forward.group[0].page_bytes / KERN_PAGE;
    if (l->forward.groups == 1) return;
    i->local_layers = l->model.locals;
    i->kv_local_bytes = (uint64_t)l->forward.group[1].pages * l->forward.group[1].page_bytes;
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
    const struct kern_group *g = l->forward.group;
    if (!l->k->numerics || cfg->naive != NAIVE_NONE || l->forward.groups > 1 || g->window > 0) return;
    sched->keeps_pages = true;
    sched->identity = identity_of(&l->model, g, l->k->numerics(l->d));
    e->info.identity = identity_name(sched->identity);
    e->info.page_bytes = g->page_bytes;
}

/* Every size, before a byte is taken.  room->free: bytes that may be taken; 0: what is free here, which is then in it.
 * 0, or ENGINE_FAULT. */
static int plan_model(struct engine *e, const struct engine_config *cfg, const struct gguf *g, struct room *room,
                      struct sched_config *sched, struct fit *fit, struct err *err)
{
    enum template_kind kind;
    int pages;
    struct maker *l = e->own = calloc(1, sizeof *l);
    if (!l) return err_set(err, ENGINE_FAULT, "no memory to open an engine");
    if (naive_check_config(cfg, true, err)) return ENGINE_FAULT;
    if (pick_backend(l, cfg, room->free == 0 || is_auto(cfg), err)) return ENGINE_FAULT;
    if (maker_vocab_open(e, cfg, g, &kind, err)) return ENGINE_FAULT;
    if (model_plan(&l->model, g, e->info.vocab, l->k, err)) return ENGINE_FAULT;
    struct maker_model m = {.ctx = l->model.ctx_trained, .window = l->model.window, .local = l->model.local_window,
                            .chunk = chunk_of(l->k->name, l->model.parameters, l->model.active)};
    if (maker_sizes(e, cfg, &m, &pages, err)) return ENGINE_FAULT;
    if (naive_check_window(cfg->naive, MAX(e->info.window, e->info.local_window), err)) return ENGINE_FAULT;
    if (e->info.states && naive_check_states(cfg->naive, err)) return ENGINE_FAULT;
    room->device = l->k->memory != NULL;
    if (l->d || !room->device) room->context = l->d && l->k->context ? l->k->context(l->d) : 0;
    if (room->free == 0 && available(l, &room->free, err)) return device_fails(l, cfg, err);
    if (plan_under_ceiling(e, cfg, g, room, &pages, sched, fit, err)) return ENGINE_FAULT;
    if (maker_drafts(e, cfg, is_fast(l), l->k->row_costs != NULL, err)) return ENGINE_FAULT;
    sched->drafts = e->info.drafts;
    model_for_ctx(&l->model, e->info.ctx);
    describe(e, g);
    e->info.embd = sched->embd = cfg->naive == NAIVE_NONE ? l->model.embd : 0;
    sched->template = kind;
    return 0;
}

/* Every refusal is spoken before a byte is taken. */
static int open_model(struct engine *e, const struct engine_config *cfg, const struct gguf *g, struct err *err)
{
    struct sched_config sched;
    struct fit fit;
    struct room room = {0};
    if (plan_model(e, cfg, g, &room, &sched, &fit, err)) return ENGINE_FAULT;
    struct maker *l = e->own;
    if (!ledger_fits(&e->info.ledger)) return refuse(cfg, &fit, &e->info, &room, err);
    if (take_slabs(l, cfg, err)) return device_fails(l, cfg, err);
    if (model_load(&l->model, g, l->k, l->d, l->slabs.dev[SLABS_WEIGHTS], cfg->progress, cfg->progress_self, err))
        return l->k->lost && l->k->lost(l->d, NULL) ? device_fails(l, cfg, err) : ENGINE_FAULT;
    forward_attach(&l->forward, l->d, l->slabs.dev[SLABS_WORK], l->slabs.dev[SLABS_KV]);
    if (l->k->lazy && touch_open(&l->touch, l->slabs.dev[SLABS_KV], l->forward.kv_bytes, err)) return ENGINE_FAULT;
    if (naive_own_open(&l->own, cfg->naive, &l->forward, g, e->info.max_seqs, err)) return ENGINE_FAULT;
    describe_device(e, g);
    maker_row_costs(&sched, l->k->row_costs ? l->k->row_costs(l->d) : NULL,
                    chunk_of(l->k->name, l->model.parameters, l->model.active).row_cost);
    name_pages(e, cfg, &sched);
    sched.runner = (struct runner){.self = l, .run = run, .lost = lost, .page_bytes = forward_page_bytes(&l->forward),
                                   .save_page = save_page, .load_page = load_page,
                                   .usable_pages = l->k->lazy ? usable_pages : NULL,
                                   .own_bytes = own_bytes, .own_take = own_take, .own_give = own_give};
    return maker_sched_open(e, &sched, err);
}

/* auto chose a device, and no device can serve. */
static bool leaves_cpu(const struct engine_config *cfg, const struct err *why)
{
    return is_auto(cfg) && (why->code == DEVICE_FAILS || why->code == CUDA_NOTHING_THERE);
}

/* Where auto chose a device that then cannot serve, the CPU does, and says why unless there is none at all. */
static struct engine *local_open(const struct engine_config *cfg, struct err *err)
{
    struct engine_config on_cpu = *cfg;
    struct err why = {0};
    struct engine *e = maker_open(cfg, open_model, local_close, &why);
    if (!e && leaves_cpu(cfg, &why)) {
        on_cpu.backend = "cpu";
        e = maker_open(&on_cpu, open_model, local_close, err);
        if (e && why.code == DEVICE_FAILS)
            snprintf(e->info.note, sizeof e->info.note, "the CPU serves, not the GPU: %.440s", why.text);
    } else if (!e && err) {
        *err = why;
    }
    return e;
}

static int plan_file(const struct engine_config *cfg, uint64_t have, uint64_t context, local_planned *then,
                     void *self, struct err *err)
{
    struct sched_config sched;
    struct fit fit;
    struct engine *e = calloc(1, sizeof *e);
    if (!e) return err_set(err, ENGINE_FAULT, "no memory to plan an engine");
    struct gguf *g = gguf_open(cfg->model, err);
    struct room room = {.free = have, .context = context};
    int rc = g ? plan_model(e, cfg, g, &room, &sched, &fit, err) : ENGINE_FAULT;
    if (!rc) rc = then(self, &e->info, &fit, room.free, err);
    gguf_close(g);
    local_close(e);
    return rc;
}

/* As local_open(). */
int local_plan(const struct engine_config *cfg, uint64_t have, uint64_t context, local_planned *then, void *self,
               struct err *err)
{
    struct engine_config on_cpu = *cfg;
    struct err why = {0};
    int rc = plan_file(cfg, have, context, then, self, &why);
    on_cpu.backend = "cpu";
    if (rc && leaves_cpu(cfg, &why)) return plan_file(&on_cpu, have, context, then, self, err);
    if (rc && err) *err = why;
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
    out->context = i->ledger.bytes[LEDGER_CONTEXT];
    if (l->k->memory(l->d, &out->free, &out->total, NULL)) out->free = out->total = 0;
    out->outside = (int64_t)(out->total - out->free) - (int64_t)(out->ours + out->context);
}

const struct engine_ops engine_local = {.name = "local", .open = local_open, .close = local_close,
                                        .memory = local_memory, MAKER_OPS};
