/* fit.c - the engine's own size functions, asked for other sizes. */
#include "engine/fit.h"
#include <math.h>

int fit_ledger(const struct fit *f, uint64_t weights, int ctx, int seqs, struct ledger *out, struct err *err)
{
    struct forward plan;
    int outs = MAX(seqs, 16), rows = MAX(f->max_rows, seqs + 1), pages, window = kv_window(f->m->window, ctx);
    if (__builtin_mul_overflow(kv_need(window, rows, ctx), seqs, &pages))
        return err_set(err, -1, "too many KV pages to count");
    if (forward_plan(&plan, f->m, f->k, ctx, seqs, rows, outs, pages, f->kv_type, err)) return -1;
    forward_ledger(&plan, out);
    struct sched_config s = {.vocab = f->vocab, .token_text = f->token_text, .ctx = ctx, .max_seqs = seqs,
                             .max_rows = rows, .max_outs = outs, .park_bytes = f->park_bytes, .strict = f->strict};
    s.groups = kv_groups(s.group, pages, window, kv_window(f->m->local_window, ctx), seqs, ctx, rows);
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

/* ------------------------------------------------------------------ for a person */

/* Bytes with the smallest context; a pool that was named stays as it is. */
static uint64_t least_of(const struct fit *f, const struct fit_asked *a)
{
    struct ledger l = {0};
    struct err err;
    if (fit_ledger(f, f->m->bytes, MIN(a->ctx, KERN_PAGE), a->seqs, &l, &err)) return ledger_under(a->needs);
    if (a->pool) l.bytes[LEDGER_KV] = a->needs->bytes[LEDGER_KV];
    l.bytes[LEDGER_NAIVE] = a->needs->bytes[LEDGER_NAIVE];
    return MIN(ledger_under(&l), ledger_under(a->needs));
}

static void put_why(const struct fit *f, const struct fit_asked *a, uint64_t least, struct buf *out)
{
    const uint64_t *bytes = a->needs->bytes, both = bytes[LEDGER_WEIGHTS] + bytes[LEDGER_CONTEXT];
    const double mib = 0x1p20;
    if (bytes[LEDGER_WEIGHTS] > f->ceiling)
        buf_printf(out, "; the weights alone are %.1f MiB", (double)bytes[LEDGER_WEIGHTS] / mib);
    else if (both > f->ceiling)
        buf_printf(out, "; weights and the device's context alone are %.1f MiB", (double)both / mib);
    else if (a->pool) buf_printf(out, "; all but the pool is %.1f MiB", (double)(least - bytes[LEDGER_KV]) / mib);
    else buf_printf(out, "; with the smallest --ctx it is still %.1f MiB", (double)least / mib);
}

/* A size for a flag, rounded up. */
static double flag_mib(uint64_t bytes) { return ceil((double)bytes / 0x1p20 * 10) / 10; }

static void put_vram(const struct fit_asked *a, uint64_t least, bool smaller, char *out, size_t n)
{
    const uint64_t needs = ledger_under(a->needs);
    const bool choose = !smaller && (a->can_fit || (a->fit && !a->pool)) && least <= a->most;
    *out = '\0';
    if (choose && (a->fit || needs > a->most))
        snprintf(out, n, "a --vram of %.1fM%s", flag_mib(least), a->fit ? "" : " with --fit");
    else if (choose) snprintf(out, n, "a --vram of %.1fM (of %.1fM with --fit)", flag_mib(needs), flag_mib(least));
    else if (needs <= a->most) snprintf(out, n, "a --vram of %.1fM", flag_mib(needs));
}

void fit_advice(const struct fit *f, const struct fit_asked *a, struct buf *out)
{
    const uint64_t least = least_of(f, a), *bytes = a->needs->bytes;
    const bool smaller = least <= f->ceiling; /* a context would do */
    const bool pool = a->pool && least - bytes[LEDGER_KV] < f->ceiling;
    const uint64_t kept = smaller ? ledger_under(a->needs) : least;
    const bool park = bytes[LEDGER_PARK] > 0 && kept - bytes[LEDGER_PARK] <= f->ceiling;
    char vram[80];
    const char *way[7];
    int n = 0;
    put_vram(a, least, smaller, vram, sizeof vram);
    if (smaller) way[n++] = "a smaller --ctx";
    if (smaller && a->can_fit) way[n++] = "--fit";
    if (pool) way[n++] = "a smaller --pool (or --ctx, where no --pool is given)";
    if (a->seqs > 1 && !a->pool && fits(f, f->m->bytes, smaller ? a->ctx : MIN(a->ctx, KERN_PAGE), 1))
        way[n++] = "fewer agents";
    if (park) way[n++] = "a smaller --park";
    if (*vram) way[n++] = vram;
    if (!smaller && !pool && !park && f->text_bytes < f->ceiling)
        way[n++] = least - bytes[LEDGER_WEIGHTS] < f->ceiling ? "a smaller model or type of it" : "a smaller model";
    if (!smaller) put_why(f, a, least, out);
    for (int i = 0; i < n; i++) buf_printf(out, "%s%s", i == 0 ? ": " : i < n - 1 ? ", " : " or ", way[i]);
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
