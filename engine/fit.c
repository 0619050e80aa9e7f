/* fit.c - the engine's own size functions, asked for other sizes. */
#include "engine/fit.h"

int fit_ledger(const struct fit *f, uint64_t weights, int ctx, int seqs, struct ledger *out, struct err *err)
{
    struct forward plan;
    int outs = MAX(seqs, 16), rows = MAX(f->max_rows, seqs + 1), pages, window = kv_window(f->m->window, ctx);
    if (__builtin_mul_overflow(kv_need(window, rows, ctx), seqs, &pages))
        return err_set(err, -1, "too many KV pages to count");
    if (forward_plan(&plan, f->m, f->k, ctx, seqs, rows, outs, pages, f->kv_type, err)) return -1;
    forward_ledger(&plan, out);
    struct sched_config s = {.vocab = f->vocab, .token_text = f->token_text, .ctx = ctx, .max_seqs = seqs,
                             .max_rows = rows, .max_outs = outs, .groups = 1,
                             .group = {{.pages = pages, .window = window}}, .park_bytes = f->park_bytes,
                             .strict = f->strict};
    s.text_bytes = f->text_bytes ? f->text_bytes : sched_text_bytes(f->token_text, ctx, seqs);
    sched_ledger(&s, out);
    out->ceiling = f->ceiling;
    out->host = f->host;
    out->bytes[LEDGER_CONTEXT] = f->context;
    out->bytes[LEDGER_WEIGHTS] = f->k->slab_bytes(weights);
    return 0;
}

static bool fits(const struct fit *f, uint64_t weights, int ctx, int seqs)
{
    struct ledger l = {0};
    struct err err;
    return fit_ledger(f, weights, ctx, seqs, &l, &err) == 0 && ledger_fits(&l);
}

int fit_ctx(const struct fit *f, uint64_t weights, int seqs, int most)
{
    if (fits(f, weights, most, seqs)) return most;
    int lo = 0, hi = kv_pages_for(most); /* lo pages fit (or are none), hi pages do not */
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        if (fits(f, weights, middle * KERN_PAGE, seqs)) lo = middle;
        else hi = middle;
    }
    return lo * KERN_PAGE;
}

int fit_seqs(const struct fit *f, uint64_t weights, int ctx, int most)
{
    int lo = 0, hi = most + 1; /* lo sequences fit (or are none), hi do not */
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        if (fits(f, weights, ctx, middle)) lo = middle;
        else hi = middle;
    }
    return lo;
}

static void put_row(const struct fit *f, const char *name, uint64_t weights, struct buf *out)
{
    static const int seqs[] = {1, 4, 16};
    buf_printf(out, "  %-14s %9.1f MiB", name, (double)weights / 0x1p20);
    for (size_t i = 0; i < COUNT_OF(seqs); i++) {
        int ctx = fit_ctx(f, weights, seqs[i], MAX(f->m->ctx_trained, KERN_PAGE));
        if (ctx > 0) buf_printf(out, " %13d", ctx);
        else buf_printf(out, " %13s", "-");
    }
    buf_puts(out, "\n");
}

void fit_table(const struct fit *f, struct buf *out)
{
    static const enum ktype types[] = {KT_F16, KT_Q8_0, KT_Q4_K};
    struct fit q8_0 = *f;
    q8_0.kv_type = KT_Q8_0;
    buf_printf(out, "what fits in %.1f MiB: the largest context, in tokens, with KV in %s\n",
               (double)f->ceiling / 0x1p20, ktype_info(f->kv_type)->name);
    buf_puts(out, "  weights                         1 sequence   4 sequences  16 sequences\n");
    put_row(f, "as in the file", f->m->bytes, out);
    if (f->kv_type != KT_Q8_0 && f->m->head_dim % ktype_info(KT_Q8_0)->block == 0)
        put_row(&q8_0, "as is, KV Q8_0", f->m->bytes, out);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        uint64_t weights = model_bytes_as(f->m, f->k, types[i]);
        if (weights > 0) put_row(f, ktype_info(types[i])->name, weights, out);
    }
    if (f->k->memory) /* a device of its own: another engine may take several */
        buf_puts(out, "  a model is on one device here; over several: llama-server -m FILE -ngl 99 --split-mode layer,\n"
                      "  or from its original files: vllm serve NAME --tensor-parallel-size 2\n");
}
