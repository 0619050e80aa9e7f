/* forward.c - embed, layers, output, sample, fetch. */
#include "engine/forward.h"
#include "engine/kv.h"

/* Give `bytes` of the workspace a place, 64-byte aligned. */
static bool place(struct forward *f, size_t *at, uint64_t rows, uint64_t cols, uint64_t each)
{
    uint64_t bytes, end;
    if (size_mul(rows, cols, &bytes) || size_mul(bytes, each, &bytes) || size_add(bytes, 64, &bytes)) return false;
    if (size_add(f->work_bytes, bytes & ~(uint64_t)63, &end) || end > PTRDIFF_MAX) return false;
    *at = f->work_bytes;
    f->work_bytes = end;
    return true;
}

/* The backend has no pages for these heads, or of this type. */
static int refuse_kv(const struct kern_group *g, struct err *err)
{
    const struct ktype_info *t = ktype_info(g->kv_type);
    if (t && g->head_dim % t->block)
        return err_set(err, -1, "KV pages of %s take a whole number of %d values a head, this model has %d: "
                       "use --kv-type f16", t->name, t->block, g->head_dim);
    return err_set(err, -1, "this backend has no KV pages of %s for heads of %d values: use --kv-type f16",
                   t ? t->name : "this type", g->head_dim);
}

/* What layers of a group keep. */
static void set_layers(const struct model *m, struct kern_group *g, const struct kv_group *kv, enum ktype kv_type)
{
    g->kv_heads = kv->states ? m->values : m->kv_heads;
    g->head_dim = kv->states ? m->state_dim : m->head_dim;
    g->kv_type = kv->states ? KT_F32 : kv_type;
    g->keys = kv->states ? m->keys : 0;
    g->taps = kv->states ? m->taps : 0;
}

/* Groups and their pages, which lie in one slab. */
static int plan_pages(struct forward *f, int pages, enum ktype kv_type, struct err *err)
{
    const struct model *m = f->m;
    const struct kern_dims *n = &f->dims;
    struct kv_group kv[KERN_GROUPS];
    uint64_t all = 0, bytes;
    f->groups = kv_groups(kv, pages, kv_window(m->window, n->max_ctx), kv_window(m->local_window, n->max_ctx),
                          n->max_seqs, n->max_ctx, n->max_rows);
    if (f->groups == 0) return err_set(err, -1, "more KV pages than can be counted");
    for (int g = f->groups - 1; g >= 0; g--) {
        const int layers = f->groups == 1 ? m->layers : g ? m->locals : m->layers - m->locals;
        f->group[g] = (struct kern_group){.layers = layers, .window = kv[g].window, .pages = kv[g].pages};
        set_layers(m, &f->group[g], &kv[g], kv_type);
        f->group[g].page_bytes = f->k->kv_page_bytes(&f->group[g]);
        if (f->group[g].page_bytes == 0) return refuse_kv(&f->group[g], err);
        f->at_kv[g] = all = size_align(all, 64);
        if (size_mul(f->group[g].page_bytes, (uint64_t)kv[g].pages, &bytes) || size_add(all, bytes, &all) ||
            all > PTRDIFF_MAX)
            return err_set(err, -1, "a workspace for %d rows and %d KV pages overflows", n->max_rows, pages);
    }
    f->kv_bytes = all;
    return 0;
}

int forward_plan(struct forward *f, const struct model *m, const struct kern *k, int ctx, int max_seqs, int max_rows,
                 int max_outs, int pages, enum ktype kv_type, struct err *err)
{
    *f = (struct forward){.m = m, .k = k};
    f->dims = (struct kern_dims){.embd = m->embd,
                                 .heads = m->heads,
                                 .kv_heads = m->kv_heads,
                                 .head_dim = m->head_dim,
                                 .ff = m->ff,
                                 .vocab = m->vocab,
                                 .max_rows = max_rows,
                                 .max_outs = max_outs,
                                 .max_ctx = ctx,
                                 .max_seqs = max_seqs,
                                 .experts = m->experts,
                                 .used = m->used,
                                 .shared = m->shared,
                                 .keys = m->keys,
                                 .values = m->values,
                                 .state_dim = m->state_dim};
    if (m->values && !(m->keys ? k->delta && k->gate : k->conv != NULL))
        return err_set(err, -1, "layers of this model keep a state, and backend %s has none yet: use --backend cpu",
                       k->name);
    if (plan_pages(f, pages, kv_type, err)) return -1;
    uint64_t rows = (uint64_t)max_rows, outs = (uint64_t)max_outs, heads = (uint64_t)m->heads * (uint64_t)m->head_dim;
    const uint64_t att = MAX(heads, (uint64_t)m->values * (uint64_t)m->state_dim);
    bool ok = place(f, &f->at_x, rows, (uint64_t)m->embd, sizeof(float)) &&
              place(f, &f->at_q, rows, heads, sizeof(float)) && place(f, &f->at_att, rows, att, sizeof(float)) &&
              place(f, &f->at_logits, outs, (uint64_t)m->vocab, sizeof(float)) &&
              place(f, &f->at_choice, outs, 1, sizeof(struct kern_choice)) &&
              place(f, &f->at_work, 1, 1, k->work_bytes(&f->dims));
    if (!ok) return err_set(err, -1, "a workspace for %d rows and %d KV pages overflows", max_rows, pages);
    return 0;
}

size_t forward_page_bytes(const struct forward *f)
{
    return f->groups > 1 ? MAX(f->group[0].page_bytes, f->group[1].page_bytes) : f->group[0].page_bytes;
}

void forward_ledger(const struct forward *f, struct ledger *out)
{
    out->bytes[LEDGER_WEIGHTS] = f->k->slab_bytes(f->m->bytes);
    out->bytes[LEDGER_KV] = f->k->slab_bytes(f->kv_bytes);
    out->bytes[LEDGER_ACTIVATIONS] = f->at_logits; /* x, q, att come before the logits, the steps' scratch last */
    out->bytes[LEDGER_LOGITS] = f->at_work - f->at_logits;
    out->bytes[LEDGER_SCRATCH] = f->k->slab_bytes(f->work_bytes) - f->at_work;
    out->bytes[LEDGER_STAGING] = f->k->host_bytes ? f->k->host_bytes(&f->dims) : 0;
}

void forward_attach(struct forward *f, struct kdev *d, void *dev_work, void *dev_kv)
{
    f->d = d;
    f->dev_work = dev_work;
    for (int g = 0; g < f->groups; g++) f->group[g].dev_slab = (char *)dev_kv + f->at_kv[g];
}

void forward_attach_work(struct forward *f, const struct forward *pages, void *dev_work)
{
    f->d = pages->d;
    f->dev_work = dev_work;
    f->groups = pages->groups;
    f->kv_bytes = pages->kv_bytes;
    memcpy(f->group, pages->group, sizeof f->group);
    memcpy(f->at_kv, pages->at_kv, sizeof f->at_kv);
}

static float *floats(const struct forward *f, size_t at) { return (float *)(void *)(f->dev_work + at); }

static int run_attention(struct forward *f, const struct kern_batch *b, const struct model_layer *l, int group,
                         int layer, struct err *err)
{
    const struct kern *k = f->k;
    const struct model *m = f->m;
    const struct kern_group *g = &f->group[group];
    const struct kern_gate let = {l->attn.dev_norm, m->eps, l->let};
    float *x = floats(f, f->at_x), *q = floats(f, f->at_q), *att = floats(f, f->at_att);
    void *work = f->dev_work + f->at_work;
    int rc = k->attn_in(f->d, NULL, b, &l->attn, g, group, layer, x, q, work, err);
    if (!rc)
        rc = k->attn(f->d, NULL, b, g, group, layer, m->heads, m->attn_scale, m->attn_cap, l->dev_sinks, q, att, work,
                     err);
    return rc || !l->let.cols ? rc : k->gate(f->d, NULL, b->rows, &let, x, att, work, err);
}

static int run_layer(struct forward *f, const struct kern_batch *b, int i, struct err *err)
{
    const struct kern *k = f->k;
    const struct model *m = f->m;
    const struct model_layer *l = &m->layer[i];
    const int group = f->groups > 1 && l->local, layer = f->groups > 1 ? l->nth : i;
    const struct kern_group *g = &f->group[group];
    float *x = floats(f, f->at_x), *att = floats(f, f->at_att);
    void *work = f->dev_work + f->at_work;
    int rc = l->delta.qkv.cols ? k->delta(f->d, NULL, b, &l->delta, g, group, layer, x, att, work, err)
             : l->conv.in.cols ? k->conv(f->d, NULL, b, &l->conv, g, group, layer, x, att, work, err)
                               : run_attention(f, b, l, group, layer, err);
    if (!rc) rc = k->project(f->d, NULL, b->rows, &l->wo, l->dev_bo, l->dev_attn_post, m->eps, att, x, work, err);
    const struct kern_ffn ffn = {.dev_norm = l->dev_ffn_norm, .dev_post = l->dev_ffn_post, .eps = m->eps,
                                 .gate = l->gate, .up = l->up, .down = l->down, .act = m->act,
                                 .dev_bg = l->dev_bg, .dev_bu = l->dev_bu, .dev_bd = l->dev_bd, .mix = l->mix,
                                 .shared = l->shared};
    return rc ? rc : k->ffn(f->d, NULL, b->rows, &ffn, x, work, err);
}

int forward_run(struct forward *f, const struct pass *p, struct err *err)
{
    const struct kern *k = f->k;
    const struct model *m = f->m;
    const struct kern_batch *b = &p->batch;
    assert(b->rows <= f->dims.max_rows && b->outs <= f->dims.max_outs);
    float *x = floats(f, f->at_x), *logits = floats(f, f->at_logits);
    void *work = f->dev_work + f->at_work;
    struct kern_choice *choice = (struct kern_choice *)(void *)(f->dev_work + f->at_choice);
    const int first = m->layers * p->part / p->parts, end = m->layers * (p->part + 1) / p->parts;

    int rc = p->part == 0 && k->begin ? k->begin(f->d, NULL, b, work, err) : 0;
    if (!rc && p->part == 0) rc = k->embed(f->d, NULL, b, &m->embed, m->embed_scale, x, err);
    for (int i = first; i < end && !rc; i++) rc = run_layer(f, b, i, err);
    if (rc || end < m->layers || b->outs == 0) return rc;
    rc = k->output(f->d, NULL, b, m->dev_norm, m->eps, &m->output, m->cap, x, logits, work, err);
    if (!rc) rc = k->sample(f->d, NULL, b->outs, m->vocab, p->sample, logits, choice, work, err);
    return rc ? rc : k->fetch(f->d, NULL, p->choice, choice, (size_t)b->outs * sizeof *choice, err);
}
