/* forward.c - embed, layers, output, sample, fetch. */
#include "engine/forward.h"

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
                                 .max_seqs = max_seqs};
    f->group = (struct kern_group){
        .layers = m->layers, .kv_heads = m->kv_heads, .head_dim = m->head_dim, .kv_type = kv_type,
        .window = kv_window(m->window, ctx), .pages = pages};
    f->group.page_bytes = k->kv_page_bytes(&f->group);
    if (f->group.page_bytes == 0) return refuse_kv(&f->group, err);
    uint64_t rows = (uint64_t)max_rows, outs = (uint64_t)max_outs, heads = (uint64_t)m->heads * (uint64_t)m->head_dim,
             kv;
    bool ok = place(f, &f->at_x, rows, (uint64_t)m->embd, sizeof(float)) &&
              place(f, &f->at_q, rows, heads, sizeof(float)) && place(f, &f->at_att, rows, heads, sizeof(float)) &&
              place(f, &f->at_logits, outs, (uint64_t)m->vocab, sizeof(float)) &&
              place(f, &f->at_choice, outs, 1, sizeof(struct kern_choice)) &&
              place(f, &f->at_work, 1, 1, k->work_bytes(&f->dims)) &&
              !size_mul(f->group.page_bytes, (uint64_t)pages, &kv) && kv <= PTRDIFF_MAX;
    if (!ok) return err_set(err, -1, "a workspace for %d rows and %d KV pages overflows", max_rows, pages);
    f->kv_bytes = kv;
    return 0;
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
    f->group.dev_slab = dev_kv;
}

static float *floats(const struct forward *f, size_t at) { return (float *)(void *)(f->dev_work + at); }

static int run_layer(struct forward *f, const struct kern_batch *b, int i, float scale, struct err *err)
{
    const struct kern *k = f->k;
    const struct model_layer *l = &f->m->layer[i];
    float *x = floats(f, f->at_x), *q = floats(f, f->at_q), *att = floats(f, f->at_att);
    void *work = f->dev_work + f->at_work;
    int rc = k->attn_in(f->d, NULL, b, &l->attn, &f->group, 0, i, x, q, work, err);
    if (!rc) rc = k->attn(f->d, NULL, b, &f->group, 0, i, f->m->heads, scale, 0, q, att, work, err);
    if (!rc) rc = k->project(f->d, NULL, b->rows, &l->wo, l->dev_bo, NULL, 0, att, x, work, err);
    const struct kern_ffn ffn = {l->dev_ffn_norm, f->m->eps, l->gate, l->up, l->down, KERN_SILU, NULL};
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
    float scale = m->attn_gain / __builtin_sqrtf((float)m->head_dim);

    const int first = m->layers * p->part / p->parts, end = m->layers * (p->part + 1) / p->parts;

    int rc = p->part == 0 && k->begin ? k->begin(f->d, NULL, b, work, err) : 0;
    if (!rc && p->part == 0) rc = k->embed(f->d, NULL, b, &m->embed, 1, x, err);
    for (int i = first; i < end && !rc; i++) rc = run_layer(f, b, i, scale, err);
    if (rc || end < m->layers || b->outs == 0) return rc;
    rc = k->output(f->d, NULL, b, m->dev_norm, m->eps, &m->output, 0, x, logits, work, err);
    if (!rc) rc = k->sample(f->d, NULL, b->outs, m->vocab, p->sample, logits, choice, work, err);
    return rc ? rc : k->fetch(f->d, NULL, p->choice, choice, (size_t)b->outs * sizeof *choice, err);
}
