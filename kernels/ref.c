/* ref.c - the reference backend: each step of kernels.h put together from the most obvious parts there are.
 *
 * One thread, one row after the other, no cleverness: this is what the other backends are judged by.  Weights stay in
 * the file's layout and are decoded row by row as they are used.  Inside a step all sums and intermediate values are
 * double; what the interface calls float (x, q, att, h, logits) and the normalised row, which rounding to int8 starts
 * from, is rounded to float once, when it is written down.
 *
 * A KV page:  [layer][k, v][token 0..15][kv head][head_dim]  of float, half, or blocks of Q8_0 as in a file. */
#include "kernels/ref_math.h"
#include "kernels/state.h"
#include <math.h>

struct kdev {
    bool round_activations;
};

/* ------------------------------------------------------------------ the device */

static struct kdev *ref_open(const struct kern_config *cfg, struct err *err)
{
    struct kdev *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(err, -1, "ref: out of memory at open");
        return NULL;
    }
    d->round_activations = cfg && cfg->round_activations;
    return d;
}

static void ref_close(struct kdev *d)
{
    free(d);
}

static const char *ref_describe(const struct kdev *d)
{
    if (d->round_activations) return "reference (double sums, activations rounded to int8), 1 thread";
    return "reference (double sums), 1 thread";
}

/* The number is raised when the sums below are made in another order, or pages lie otherwise. */
static const char *ref_numerics(const struct kdev *d)
{
    return d->round_activations ? "ref 1 int8 activations" : "ref 1";
}

static const char *ref_mat_kernel(const struct kdev *d, enum ktype type)
{
    const struct ktype_info *t = ktype_info(type);
    if (!t || !t->usable) return "none";
    return d->round_activations && ref_is_integer(type) ? "double sums, int8 activations" : "double sums";
}

static size_t ref_slab_bytes(size_t bytes)
{
    return bytes > SIZE_MAX - 64 ? SIZE_MAX : (size_t)size_align(MAX(bytes, 1), 64);
}

static void *ref_take(struct kdev *d, size_t bytes, struct err *err)
{
    (void)d;
    size_t whole = ref_slab_bytes(bytes);
    void *slab = whole < SIZE_MAX ? aligned_alloc(64, whole) : NULL;
    if (!slab) {
        err_set(err, -1, "ref: cannot take %zu bytes of memory; use a smaller model, context or budget", bytes);
        return NULL;
    }
    return memset(slab, 0, whole);
}

static void ref_give(struct kdev *d, void *slab, size_t bytes)
{
    (void)d, (void)bytes;
    free(slab);
}

static int ref_upload(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    (void)d, (void)st, (void)err;
    if (bytes) memcpy(dst, src, bytes);
    return 0;
}

/* All work is done when a step returns, so there is nothing to wait for. */
static int ref_fetch(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    return ref_upload(d, st, dst, src, bytes, err);
}

/* ----------------------------------------------------------------------- sizes */

static size_t ref_mat_bytes(enum ktype type, int rows, int cols)
{
    const struct ktype_info *t = ktype_info(type);
    uint64_t bytes;
    if (!t || !t->usable || rows <= 0 || cols <= 0 || cols % t->block) return 0;
    return size_mul((uint64_t)rows, ref_row_bytes(type, cols), &bytes) || bytes > SIZE_MAX ? 0 : (size_t)bytes;
}

/* K, or V, of one token in one layer: all heads. */
static size_t kv_token_bytes(const struct kern_group *g)
{
    return (size_t)g->kv_heads * ref_row_bytes(g->kv_type, g->head_dim);
}

static size_t ref_kv_page_bytes(const struct kern_group *g)
{
    uint64_t bytes;
    if (g->taps) return state_page_bytes(g);
    if (g->kv_type != KT_F32 && g->kv_type != KT_F16 && g->kv_type != KT_Q8_0) return 0;
    if (g->layers <= 0 || g->kv_heads <= 0 || g->head_dim <= 0 || g->head_dim > KERN_HEAD_MAX) return 0;
    if (g->head_dim % ktype_info(g->kv_type)->block) return 0;
    if (size_mul((uint64_t)g->layers * 2 * KERN_PAGE, kv_token_bytes(g), &bytes) || bytes > SIZE_MAX - 64) return 0;
    return (size_t)size_align(bytes, 64);
}

static size_t ref_work_bytes(const struct kern_dims *n)
{
    struct ref_work w;
    int heads = MAX(n->heads, n->kv_heads) * n->head_dim;
    int channels = (n->keys ? 2 * n->keys + n->values : 3 * n->values) * n->state_dim; /* of the widest product */
    int widest = MAX(MAX(MAX(n->embd, MAX(n->ff, n->shared)), MAX(heads, channels)), n->experts);
    size_t matmul = ref_work_cut(&w, NULL, widest, widest);
    size_t scores = (size_t)n->max_ctx * sizeof(double), sample = kern_choose_bytes(n->vocab);
    return size_align(MAX(matmul, MAX(scores, sample)), 64);
}

static void ref_share(struct kdev *d, int n, void (*work)(void *job, int first, int end, int who), void *job)
{
    (void)d;
    if (n > 0) work(job, 0, n, 0);
}

static int ref_mat_load(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    (void)d, (void)err;
    assert(row0 >= 0 && row0 % 32 == 0 && n >= 0 && n <= m->rows - row0 && (n % 32 == 0 || row0 + n == m->rows));
    size_t one = ref_row_bytes(m->type, m->cols);
    if (n) memcpy((char *)m->dev_data + (size_t)row0 * one, src, (size_t)n * one);
    return 0;
}

/* ------------------------------------------------------------------- KV memory */

enum kv_half { KV_K, KV_V };

/* One layer of a group, as the block tables of a batch reach it. */
struct kv_where {
    const struct kern_batch *b;
    const struct kern_group *g;
    int group, layer;
};

static struct kv_where kv_where(const struct kern_batch *b, const struct kern_group *g, int group, int layer)
{
    assert(group >= 0 && group < b->groups && b->groups <= KERN_GROUPS && layer >= 0 && layer < g->layers);
    return (struct kv_where){b, g, group, layer};
}

/* Where kv head `head` of the token of a row's sequence at position pos lies. */
static char *kv_at(const struct kv_where *a, enum kv_half half, int row, int pos, int head)
{
    const struct kern_batch *b = a->b;
    const struct kern_group *g = a->g;
    assert(pos >= 0 && pos / KERN_PAGE < b->stride && b->seq[row] >= 0 && b->seq[row] < b->seqs);
    int page = b->table[a->group][(size_t)b->seq[row] * (size_t)b->stride + (size_t)(pos / KERN_PAGE)];
    assert(page >= 0 && page < g->pages);
    size_t token = ((size_t)a->layer * 2 + half) * KERN_PAGE + (size_t)(pos % KERN_PAGE);
    return (char *)g->dev_slab + (size_t)page * g->page_bytes + token * kv_token_bytes(g) +
           (size_t)head * ref_row_bytes(g->kv_type, g->head_dim);
}

/* n values, a whole number of blocks, to the bytes at `at`. */
static void kv_write(char *at, enum ktype type, const double *v, int n)
{
    const struct ktype_info *t = ktype_info(type);
    for (int i = 0; i < n; i += t->block, at += t->bytes) {
        float f[32];
        for (int k = 0; k < t->block; k++) f[k] = (float)v[i + k];
        uint16_t half = quant_to_f16(f[0]);
        if (type == KT_Q8_0) quant_to_q8_0(f, (uint8_t *)at);
        else memcpy(at, type == KT_F16 ? (void *)&half : (void *)f, (size_t)t->bytes);
    }
}

/* ------------------------------------------------------------------- the steps */

static int ref_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table,
                     float scale, float *x, struct err *err)
{
    (void)d, (void)st, (void)err;
    for (int r = 0; r < b->rows; r++) {
        float *y = x + (size_t)r * (size_t)table->cols;
        assert(b->token[r] >= 0 && b->token[r] < table->rows);
        quant_decode(table->type, ref_mat_row(table, b->token[r]), y, table->cols);
        for (int i = 0; i < table->cols; i++) y[i] *= scale;
    }
    return 0;
}

/* A row as a step's products see it: normed, or as it is. */
static void ref_input(const float *x, const float *norm, int n, float eps, float *y)
{
    if (norm) ref_rms_norm(x, norm, n, eps, y);
    else memcpy(y, x, (size_t)n * sizeof *y);
}

/* What happens to each head of q and of k after its projection. */
static void finish_heads(const struct kern_attn_in *w, const float *norm, int heads, int head_dim, int pos, double *x)
{
    if (norm && w->whole) ref_norm_in_place(x, norm, heads * head_dim, w->eps);
    for (int h = 0; h < heads; h++) {
        double *head = x + (size_t)h * (size_t)head_dim;
        if (norm && !w->whole) ref_norm_in_place(head, norm, head_dim, w->eps);
        ref_rope_turn(&w->rope, pos, head);
    }
}

static int ref_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                       const struct kern_group *g, int group, int layer, const float *x, float *q, void *dev_work,
                       struct err *err)
{
    (void)st, (void)err;
    int embd = w->q.cols, wide = w->heads * g->head_dim, kv_wide = g->kv_heads * g->head_dim;
    struct kv_where at = kv_where(b, g, group, layer);
    struct ref_work s;
    assert(w->q.rows == wide && w->k.rows == kv_wide && w->v.rows == kv_wide && w->k.cols == embd && w->v.cols == embd);
    assert(w->rope.dims % 2 == 0 && w->rope.dims <= g->head_dim);
    ref_work_cut(&s, dev_work, embd, MAX(wide, kv_wide));

    for (int r = 0; r < b->rows; r++) {
        int pos = b->pos[r];
        ref_input(x + (size_t)r * (size_t)embd, w->dev_norm, embd, w->eps, s.norm);

        ref_matmul(d->round_activations, &w->q, w->dev_bq, s.norm, &s);
        finish_heads(w, w->dev_q_norm, w->heads, g->head_dim, pos, s.out);
        const double by = kern_tempered(&w->temper, pos);
        for (int i = 0; i < wide; i++) q[(size_t)r * (size_t)wide + (size_t)i] = (float)(by * s.out[i]);

        ref_matmul(d->round_activations, &w->k, w->dev_bk, s.norm, &s);
        finish_heads(w, w->dev_k_norm, g->kv_heads, g->head_dim, pos, s.out);
        kv_write(kv_at(&at, KV_K, r, pos, 0), g->kv_type, s.out, kv_wide);

        ref_matmul(d->round_activations, &w->v, w->dev_bv, s.norm, &s);
        kv_write(kv_at(&at, KV_V, r, pos, 0), g->kv_type, s.out, kv_wide);
    }
    return 0;
}

static double q_dot_k(const float *q, const struct kv_where *a, int row, int pos, int head)
{
    float k[KERN_HEAD_MAX];
    double sum = 0;
    quant_decode(a->g->kv_type, kv_at(a, KV_K, row, pos, head), k, a->g->head_dim);
    for (int i = 0; i < a->g->head_dim; i++) sum += (double)q[i] * k[i];
    return sum;
}

/* att = the v of one kv head at positions from .. pos, weighted. */
static void weighted_v(const struct kv_where *a, int row, int from, int pos, int head, const double *weights,
                       float *att)
{
    float v[KERN_HEAD_MAX];
    double sum[KERN_HEAD_MAX] = {0};
    for (int p = from; p <= pos; p++) {
        quant_decode(a->g->kv_type, kv_at(a, KV_V, row, p, head), v, a->g->head_dim);
        for (int i = 0; i < a->g->head_dim; i++) sum[i] += weights[p - from] * v[i];
    }
    for (int i = 0; i < a->g->head_dim; i++) att[i] = (float)sum[i];
}

static int ref_attn(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g,
                    int group, int layer, int heads, float scale, float softcap, const float *sinks, const float *dev_q,
                    float *dev_att, void *dev_work, struct err *err)
{
    (void)d, (void)st, (void)err;
    struct kv_where a = kv_where(b, g, group, layer);
    double *scores = dev_work;
    assert(heads % g->kv_heads == 0);

    for (int r = 0; r < b->rows; r++) {
        int pos = b->pos[r], from = g->window > 0 ? MAX(0, pos - g->window + 1) : 0;
        for (int h = 0; h < heads; h++) {
            size_t at = ((size_t)r * (size_t)heads + (size_t)h) * (size_t)g->head_dim;
            int kv_head = h / (heads / g->kv_heads);
            for (int p = from; p <= pos; p++) {
                double s = q_dot_k(dev_q + at, &a, r, p, kv_head);
                scores[p - from] = ref_softcapped(scale * s, softcap);
            }
            ref_softmax(scores, pos - from + 1, sinks ? &sinks[h] : NULL);
            weighted_v(&a, r, from, pos, kv_head, scores, dev_att + at);
        }
    }
    return 0;
}

static int ref_delta(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
                     const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
                     struct err *err)
{
    (void)st, (void)err;
    ref_delta_rows(d->round_activations, b, w, g, group, layer, x, att, dev_work);
    return 0;
}

static int ref_conv(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
                    const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
                    struct err *err)
{
    (void)st, (void)err;
    ref_conv_rows(d->round_activations, b, w, g, group, layer, x, att, dev_work);
    return 0;
}

static int ref_gate(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *x, float *att,
                    void *dev_work, struct err *err)
{
    (void)st, (void)err;
    ref_gate_rows(d->round_activations, rows, w, x, att, dev_work);
    return 0;
}

/* x += w->out, after its norm if there is one. */
static void add_out(const struct ref_work *w, int n, const float *post, float eps, float *x)
{
    if (post) ref_norm_in_place(w->out, post, n, eps);
    for (int i = 0; i < n; i++) x[i] = (float)(x[i] + w->out[i]);
}

static int ref_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *m, const float *bias,
                       const float *post, float eps, const float *y, float *x, void *dev_work, struct err *err)
{
    (void)st, (void)err;
    struct ref_work w;
    ref_work_cut(&w, dev_work, m->cols, m->rows);
    for (int r = 0; r < rows; r++) {
        ref_matmul(d->round_activations, m, bias, y + (size_t)r * (size_t)m->cols, &w);
        add_out(&w, m->rows, post, eps, x + (size_t)r * (size_t)m->rows);
    }
    return 0;
}

/* Biases from `at` on, if there are any. */
static const float *bias_at(const float *bias, int at)
{
    return bias ? bias + at : NULL;
}

/* The rows of one expert of n, their biases too; what is no mixture is the first of one. */
static struct kern_ffn expert_of(const struct kern_ffn *f, int which)
{
    const int n = MAX(f->mix.n, 1);
    struct kern_ffn one = *f;
    struct kmat *const mats[] = {&one.gate, &one.up, &one.down};
    for (size_t i = 0; i < COUNT_OF(mats); i++) {
        struct kmat *m = mats[i];
        m->rows /= n;
        m->dev_data = (char *)m->dev_data + (size_t)which * (size_t)m->rows * ref_row_bytes(m->type, m->cols);
    }
    one.dev_bg = bias_at(f->dev_bg, which * one.gate.rows);
    one.dev_bu = bias_at(f->dev_bu, which * one.up.rows);
    one.dev_bd = bias_at(f->dev_bd, which * one.down.rows);
    return one;
}

/* w->out = what one feed-forward makes of the normed row. */
static void feed(const struct kdev *d, const struct kern_ffn *f, struct ref_work *w)
{
    ref_matmul(d->round_activations, &f->gate, f->dev_bg, w->norm, w);
    ref_activations(d->round_activations, f->up.type, w->norm, f->up.cols, w->act);
    for (int i = 0; i < f->up.rows; i++) {
        const double up = ref_dot(&f->up, i, w->act, w->weights) + (f->dev_bu ? (double)f->dev_bu[i] : 0.0);
        w->mid[i] = (float)ref_gated(f->act, w->out[i], up);
    }
    ref_matmul(d->round_activations, &f->down, f->dev_bd, w->mid, w);
}

/* w->sum += what the shared expert makes of the normed row, as far as it is let. */
static void add_shared(const struct kdev *d, const struct kern_ffn *f, struct ref_work *w)
{
    const struct kern_shared *s = &f->shared;
    const struct kern_ffn one = {.gate = s->gate, .up = s->up, .down = s->down, .act = f->act};
    double let = 0;
    for (int i = 0; i < s->gate.cols; i++) let += (double)s->dev_let[i] * w->norm[i];
    feed(d, &one, w);
    for (int i = 0; i < s->down.rows; i++) w->sum[i] += w->out[i] / (1 + exp(-let));
}

/* The same of the experts that the row's logits choose. */
static void feed_mix(const struct kdev *d, const struct kern_ffn *f, struct ref_work *w)
{
    const int n = f->mix.n, embd = f->down.rows / n;
    int32_t expert[KERN_USED];
    float weight[KERN_USED];
    ref_matmul(d->round_activations, &f->mix.router, f->mix.dev_bias, w->norm, w);
    for (int i = 0; i < n; i++) w->logits[i] = (float)w->out[i];
    kern_route(w->logits, n, f->mix.used, f->mix.of_all, expert, weight);
    for (int i = 0; i < embd; i++) w->sum[i] = 0;
    for (int e = 0; e < f->mix.used; e++) {
        const struct kern_ffn one = expert_of(f, expert[e]);
        feed(d, &one, w);
        for (int i = 0; i < embd; i++) w->sum[i] += weight[e] * w->out[i];
    }
    if (f->shared.gate.cols) add_shared(d, f, w);
    memcpy(w->out, w->sum, (size_t)embd * sizeof *w->out);
}

static int ref_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *f, float *x, void *dev_work,
                   struct err *err)
{
    (void)st, (void)err;
    const int n = MAX(f->mix.n, 1), embd = f->gate.cols, ff = f->gate.rows / n;
    const int widest = MAX(MAX(embd, ff), f->shared.gate.rows);
    const struct kern_shared *s = &f->shared;
    struct ref_work w;
    assert(f->up.rows == f->gate.rows && f->up.cols == embd && f->down.rows == n * embd && f->down.cols == ff);
    assert(!f->mix.n || (f->mix.router.rows == n && f->mix.router.cols == embd && f->dev_norm && !f->dev_post));
    assert(!s->gate.cols || (f->mix.n && s->gate.cols == embd && s->up.cols == embd && s->down.rows == embd));
    assert(s->up.rows == s->gate.rows && s->down.cols == s->gate.rows);
    ref_work_cut(&w, dev_work, widest, MAX(widest, n));
    for (int r = 0; r < rows; r++) {
        float *row = x + (size_t)r * (size_t)embd;
        ref_input(row, f->dev_norm, embd, f->eps, w.norm);
        if (f->mix.n) feed_mix(d, f, &w);
        else feed(d, f, &w);
        add_out(&w, embd, f->dev_post, f->eps, row);
    }
    return 0;
}

static int ref_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
                      const struct kmat *m, float softcap, const float *x, float *logits, void *dev_work,
                      struct err *err)
{
    (void)st, (void)err;
    struct ref_work w;
    ref_work_cut(&w, dev_work, m->cols, 0); /* vocab rows go straight to the logits */
    for (int o = 0; o < b->outs; o++) {
        float *to = logits + (size_t)o * (size_t)m->rows;
        assert(b->out_row[o] >= 0 && b->out_row[o] < b->rows);
        ref_rms_norm(x + (size_t)b->out_row[o] * (size_t)m->cols, norm, m->cols, eps, w.norm);
        ref_activations(d->round_activations, m->type, w.norm, m->cols, w.act);
        for (int i = 0; i < m->rows; i++) to[i] = (float)ref_softcapped(ref_dot(m, i, w.act, w.weights), softcap);
    }
    return 0;
}

static int ref_sample(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
                      const float *logits, struct kern_choice *choice, void *dev_work, struct err *err)
{
    (void)d, (void)st, (void)err;
    for (int o = 0; o < outs; o++)
        kern_choose(&params[o], logits + (size_t)o * (size_t)vocab, vocab, dev_work, &choice[o]);
    return 0;
}

const struct kern *kern_ref(void)
{
    static const struct kern ref = {
        .name = "ref",
        .open = ref_open,
        .close = ref_close,
        .describe = ref_describe,
        .numerics = ref_numerics,
        .mat_kernel = ref_mat_kernel,
        .take = ref_take,
        .give = ref_give,
        .upload = ref_upload,
        .fetch = ref_fetch,
        .slab_bytes = ref_slab_bytes,
        .mat_bytes = ref_mat_bytes,
        .kv_page_bytes = ref_kv_page_bytes,
        .work_bytes = ref_work_bytes,
        .share = ref_share,
        .mat_load = ref_mat_load,
        .embed = ref_embed,
        .attn_in = ref_attn_in,
        .attn = ref_attn,
        .delta = ref_delta,
        .conv = ref_conv,
        .gate = ref_gate,
        .project = ref_project,
        .ffn = ref_ffn,
        .output = ref_output,
        .sample = ref_sample,
    };
    return &ref;
}
