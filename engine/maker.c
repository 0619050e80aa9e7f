/* maker.c - the shared part of engine_local, engine_scripted and engine_remote. */
#include "engine/maker.h"
#include "engine/hostmem.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

struct engine *maker_open(const struct engine_config *cfg,
                          int (*open)(struct engine *, const struct engine_config *, const struct gguf *, struct err *),
                          void (*close)(struct engine *), struct err *err)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e) {
        err_set(err, ENGINE_FAULT, "no memory to open an engine");
        return NULL;
    }
    struct gguf *g = gguf_open(cfg->model, err);
    int rc = g ? open(e, cfg, g, err) : ENGINE_FAULT;
    gguf_close(g);
#ifdef __GLIBC__
    malloc_trim(0); /* what reading the file took goes back to the system: the ledger does not count it */
#endif
    if (rc == 0) return e;
    close(e);
    return NULL;
}

void maker_free(struct engine *e)
{
    sched_close(e->sched);
    vocab_close(e->vocab);
    free(e);
}

int maker_vocab_open(struct engine *e, const struct engine_config *cfg, const struct gguf *g, enum template_kind *kind,
                     struct err *err)
{
    e->vocab = vocab_open(g, err);
    if (!e->vocab) return ENGINE_FAULT;
    e->info.vocab = vocab_size(e->vocab);
    if (cfg->template < 0) {
        if (template_detect(g, e->vocab, kind, err)) return ENGINE_FAULT;
    } else {
        *kind = (enum template_kind)cfg->template;
        if (template_check(*kind, e->vocab, err)) return ENGINE_FAULT;
    }
    const bool harmony = *kind == TEMPLATE_HARMONY;
    if (strict_plan(e->vocab, cfg->grammars, harmony, &cfg->grammar_limits, &e->strict, err)) return ENGINE_FAULT;
    snprintf(e->info.template, sizeof e->info.template, "%s", template_name(*kind));
    if (!harmony) e->thoughts = template_thoughts(g);
    e->info.thinks = e->thoughts.tags;
    return 0;
}

int maker_sizes(struct engine *e, const struct engine_config *cfg, const struct maker_model *m, int *pages,
                struct err *err)
{
    struct engine_info *i = &e->info;
    i->ctx_trained = m->ctx;
    i->ctx = cfg->ctx > 0 ? cfg->ctx : MIN(m->ctx, 4096);
    i->max_seqs = cfg->max_seqs > 0 ? cfg->max_seqs : 8;
    i->max_rows = MAX(cfg->max_rows > 0 ? cfg->max_rows : m->chunk.rows, i->max_seqs + 1);
    int step = cfg->step_rows > 0 ? cfg->step_rows : cfg->max_rows > 0 ? cfg->max_rows : m->chunk.step_rows;
    i->step_rows = MIN(MAX(step, i->max_seqs + 1), i->max_rows);
    if (i->ctx > 1 << 27 || i->max_seqs > SCHED_REQUESTS || i->max_rows > 1 << 20)
        return err_set(err, ENGINE_FAULT, "%d sequences of %d tokens in passes of %d are more than can be counted",
                       i->max_seqs, i->ctx, i->max_rows);
    i->window = kv_window(m->window, i->ctx);
    i->states = m->local == KV_STATES;
    i->local_window = i->states ? 0 : kv_window(m->local, i->ctx);
    int need = kv_need(i->window, i->max_rows, i->ctx);
    i->kv_seq_tokens = (uint64_t)need * KERN_PAGE;
    /* Each sequence rounds up to whole pages by itself, unless the pool's size was named. */
    uint64_t n = cfg->pool_tokens ? (cfg->pool_tokens - 1) / KERN_PAGE + 1 : (uint64_t)need * (uint64_t)i->max_seqs;
    const bool kept = cfg->pool_tokens == 0 && cfg->kept_seqs > 0 && !i->states && i->local_window == 0;
    if (kept) n = MAX(n, (uint64_t)kv_pages_for(i->ctx) * (uint64_t)cfg->kept_seqs);
    if (n > INT32_MAX / KERN_PAGE)
        return err_set(err, ENGINE_FAULT, "a KV pool of %llu pages is more than can be counted", (unsigned long long)n);
    *pages = (int)n;
    return 0;
}

uint64_t engine_promised(const struct engine_info *i, int64_t tokens)
{
    const uint64_t whole = size_align((uint64_t)MAX(tokens, 1), KERN_PAGE);
    return i->kv_seq_tokens > 0 ? MIN(whole, i->kv_seq_tokens) : whole;
}

int engine_longest(const struct engine_info *i, uint64_t pool_tokens)
{
    return engine_promised(i, i->ctx) <= pool_tokens ? i->ctx : (int)MIN(pool_tokens, (uint64_t)i->ctx);
}

int maker_outs(const struct engine *e) { return MAX(e->info.max_seqs, 16); }

void maker_sched_plan(const struct engine *e, const struct engine_config *cfg, int pages, struct sched_config *out)
{
    *out = (struct sched_config){.vocab = e->vocab,
                                 .token_text = sched_token_text(e->vocab),
                                 .ctx = e->info.ctx,
                                 .max_seqs = e->info.max_seqs,
                                 .max_rows = e->info.max_rows,
                                 .step_rows = e->info.step_rows,
                                 .max_outs = maker_outs(e),
                                 .park_bytes = cfg->park_bytes,
                                 .overcommit = cfg->overcommit,
                                 .strict = e->strict,
                                 .thoughts = e->thoughts,
                                 .naive = {.policy = cfg->naive}};
    const int local = e->info.states ? KV_STATES : e->info.local_window;
    out->groups = kv_groups(out->group, pages, e->info.window, local, e->info.max_seqs, e->info.ctx,
                            e->info.max_rows); /* as forward_plan() had it, which did not refuse */
    out->text_bytes = cfg->text_bytes ? cfg->text_bytes
                                      : sched_text_bytes(out->token_text, e->info.ctx, e->info.max_seqs);
}

/* A row's bits are the same in any company but in fast mode; a state knows no way back; a policy that fails is shown
 * pass by pass. */
int maker_drafts(struct engine *e, const struct engine_config *cfg, bool fast, bool known, struct err *err)
{
    const char *why = fast ? "in fast mode a token may have other bits beside them (--exact)"
                      : e->info.states ? "this model's layers keep a state, from which no way leads back"
                      : cfg->naive != NAIVE_NONE ? "a memory policy that fails on purpose is shown pass by pass" : NULL;
    if (why && cfg->drafts > 0) return err_set(err, ENGINE_FAULT, "%d drafts: %s: leave them out", cfg->drafts, why);
    if (why || cfg->drafts == DRAFTS_NONE || (cfg->drafts == 0 && !known)) return 0;
    e->info.drafts = cfg->drafts > 0 ? MIN(cfg->drafts, DRAFT_ROWS - 1) : DRAFT_ROWS - 1;
    return 0;
}

void maker_row_costs(struct sched_config *out, const uint8_t *costs, int least)
{
    enum { ASKED_FOR = 5 }; /* hundredths, where it is not known and drafts are made all the same */
    for (int i = 0; i < DRAFT_ROWS - 1; i++) out->row_cost[i] = (float)MAX(costs ? costs[i] : ASKED_FOR, least) / 100;
}

int maker_sched_open(struct engine *e, const struct sched_config *cfg, struct err *err)
{
    e->sched = sched_open(cfg, err);
    return e->sched ? 0 : ENGINE_FAULT;
}

int maker_end_token(const struct vocab *v, const char *path, int32_t *out, struct err *err)
{
    *out = vocab_eos(v);
    for (int32_t id = 0; *out < 0 && id < vocab_size(v); id++)
        if (vocab_is_end(v, id)) *out = id;
    return *out >= 0 && vocab_is_end(v, *out)
               ? 0
               : err_set(err, ENGINE_FAULT, "%s: the vocabulary has no token that ends a turn", path);
}

/* ------------------------------------------------------------------ operations */

const struct engine_info *maker_info(const struct engine *e) { return &e->info; }
const struct vocab *maker_vocab(const struct engine *e) { return e->vocab; }
const struct answer *maker_answer(struct engine *e, int id) { return sched_answer(e->sched, id); }
int maker_cancel(struct engine *e, int id) { return sched_cancel(e->sched, id); }
void maker_drop(struct engine *e, int id) { sched_drop(e->sched, id); }

int maker_count_tokens(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    return sched_count_tokens(e->sched, msgs, n, out, err);
}

int maker_count_aside(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    return sched_count_aside(e->sched, msgs, n, out, err);
}

int maker_submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    return sched_submit(e->sched, r, id, err);
}

int maker_step(struct engine *e, struct engine_event *ev, int cap, struct err *err)
{
    return sched_step(e->sched, ev, cap, err);
}

int maker_page_get(struct engine *e, const int32_t *ids, int n, void *bytes, struct err *err)
{
    return sched_page_get(e->sched, ids, n, bytes, err);
}

int maker_page_put(struct engine *e, const int32_t *ids, int n, int agent, const void *bytes, struct err *err)
{
    return sched_page_put(e->sched, ids, n, agent, bytes, err);
}

int maker_page_drop(struct engine *e, const int32_t *ids, int n, struct err *err)
{
    return sched_page_drop(e->sched, ids, n, err);
}

void maker_snapshot(const struct engine *e, struct engine_snapshot *out)
{
    sched_snapshot(e->sched, out);
    out->weight_bytes = e->info.weight_bytes;
    out->kv_bytes = e->info.kv_bytes;
    out->work_bytes = e->info.work_bytes;
    out->server = ENGINE_SERVER_UNKNOWN;
}

void maker_memory(const struct engine *e, struct engine_memory *out)
{
    uint64_t available = hostmem_available();
    *out = (struct engine_memory){.total = hostmem_total(), .ours = ledger_total(&e->info.ledger)};
    if (out->total) out->free = MIN(available, out->total);
    out->outside = (int64_t)(out->total - out->free) - (int64_t)out->ours;
}

void maker_waits(struct engine *e, int id, struct engine_wait *out) { sched_waits(e->sched, id, out); }

int maker_naive_ops(const struct engine *e, uint64_t from, struct naive_op *out, int n)
{
    return sched_naive_ops(e->sched, from, out, n);
}

void maker_page_map(struct engine *e, struct engine_cell *cell, int n) { sched_page_map(e->sched, cell, n); }
