/* states.c - layers that keep a state, and gates of attention: their products, and what delta.cu makes of them. */
#include "kernels/cuda/impl.h"
#include "kernels/state.h"

_Static_assert((int)GPU_TAPS == (int)KERN_TAPS, "both have the same bound");

/* Of a gate the channels are what it lets through, of a convolution's layer the three numbers of each of its own. */
static bool delta_lay(int rows, int embd, int channels, int inner, int values, struct delta_layout *l)
{
    const uint64_t r = (uint64_t)rows;
    uint64_t at = 0;
    bool fits = gpu_cut(&at, r, (uint64_t)embd, 4, &l->normed) &&
                gpu_cut(&at, r, (uint64_t)embd / 32, sizeof(struct gpu_act), &l->act) &&
                gpu_cut(&at, r, (uint64_t)channels, 4, &l->qkv) && gpu_cut(&at, r, (uint64_t)channels, 4, &l->c) &&
                gpu_cut(&at, r, (uint64_t)inner, 4, &l->z) && gpu_cut(&at, r, (uint64_t)values, 4, &l->beta) &&
                gpu_cut(&at, r, (uint64_t)values, 4, &l->alpha);
    l->end = at;
    return fits;
}

bool delta_most(const struct kern_dims *n, int rows, struct delta_layout *l)
{
    const int64_t inner = (int64_t)n->values * n->state_dim, channels = 2 * (int64_t)n->keys * n->state_dim + inner;
    const int64_t wide = n->keys ? MAX(channels, (int64_t)n->heads * n->head_dim) : 3 * channels;
    return wide <= INT32_MAX && delta_lay(rows, n->embd, (int)wide, (int)inner, n->values, l);
}

int cuda_delta(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
               const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
               struct err *err)
{
    struct delta_layout l = {0};
    (void)st, (void)dev_work;
    const bool whole = !is_plain(w->qkv.type) || !is_plain(w->z.type) || !is_plain(w->beta.type) ||
                       !is_plain(w->alpha.type);
    if (b->rows <= 0) return 0;
    assert(w->qkv.rows == state_channels(g) && w->z.rows == g->kv_heads * g->head_dim && layer < g->layers);
    if (!delta_lay(b->rows, w->qkv.cols, w->qkv.rows, w->z.rows, w->beta.rows, &l))
        return err_set(err, -1, "a pass is too large");
    float *normed = floats(d, l.normed);
    struct gpu_act *act = whole ? acts(d, l.act) : NULL;
    const struct gpu_delta step = {.at = rows_of(d, b, group), .dev_slab = g->dev_slab, .page_bytes = g->page_bytes,
                                   .layer_at = (size_t)layer * state_layer_bytes(g), .heads_at = state_conv_floats(g),
                                   .keys = g->keys, .values = g->kv_heads, .dim = g->head_dim, .taps = g->taps,
                                   .by_key = w->by_key,
                                   .dev_conv = w->dev_conv, .dev_dt = w->dev_dt, .dev_a = w->dev_a,
                                   .dev_head_norm = w->dev_head_norm, .eps = w->eps, .dev_qkv = floats(d, l.qkv),
                                   .dev_z = floats(d, l.z), .dev_beta = floats(d, l.beta),
                                   .dev_alpha = floats(d, l.alpha), .dev_c = floats(d, l.c), .dev_att = att};
    const struct gpu_mul in[] = {mul_of(b->rows, &w->qkv, normed, act, floats(d, l.qkv)),
                                 mul_of(b->rows, &w->z, normed, act, floats(d, l.z))};
    const struct gpu_mul small[] = {mul_of(b->rows, &w->beta, normed, act, floats(d, l.beta)),
                                    mul_of(b->rows, &w->alpha, normed, act, floats(d, l.alpha))};
    int code = d->face->norm(d->gpu, b->rows, NULL, w->qkv.cols, x, w->dev_norm, w->eps, normed, act);
    if (!code) code = fast_mul(d, in, COUNT_OF(in));
    if (!code) code = fast_mul(d, small, COUNT_OF(small));
    if (!code) code = d->face->delta(d->gpu, &step);
    return cuda_fail(d, code, "a layer that keeps a state", err);
}

int cuda_conv(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
              const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
              struct err *err)
{
    struct delta_layout l = {0};
    (void)st, (void)dev_work;
    if (b->rows <= 0) return 0;
    assert(g->keys == 0 && w->in.rows == 3 * state_channels(g) && layer < g->layers);
    if (!delta_lay(b->rows, w->in.cols, w->in.rows, 0, 0, &l)) return err_set(err, -1, "a pass is too large");
    struct gpu_act *act = is_plain(w->in.type) ? NULL : acts(d, l.act);
    const struct gpu_mul m = mul_of(b->rows, &w->in, floats(d, l.normed), act, floats(d, l.qkv));
    const struct gpu_conv step = {.at = rows_of(d, b, group), .dev_slab = g->dev_slab, .page_bytes = g->page_bytes,
                                  .layer_at = (size_t)layer * state_layer_bytes(g), .channels = state_channels(g),
                                  .taps = g->taps, .dev_conv = w->dev_conv, .dev_bcv = floats(d, l.qkv),
                                  .dev_att = att};
    int code = d->face->norm(d->gpu, b->rows, NULL, w->in.cols, x, w->dev_norm, w->eps, floats(d, l.normed), act);
    if (!code) code = fast_mul(d, &m, 1);
    if (!code) code = d->face->conv(d->gpu, &step);
    return cuda_fail(d, code, "a short convolution", err);
}

int cuda_let(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *x, float *att,
             void *dev_work, struct err *err)
{
    struct delta_layout l = {0};
    (void)st, (void)dev_work;
    if (rows <= 0) return 0;
    if (!delta_lay(rows, w->mat.cols, w->mat.rows, 0, 0, &l)) return err_set(err, -1, "a pass is too large");
    struct gpu_act *act = is_plain(w->mat.type) ? NULL : acts(d, l.act);
    const struct gpu_mul m = mul_of(rows, &w->mat, floats(d, l.normed), act, floats(d, l.qkv));
    int code = d->face->norm(d->gpu, rows, NULL, w->mat.cols, x, w->dev_norm, w->eps, floats(d, l.normed), act);
    if (!code) code = fast_mul(d, &m, 1);
    if (!code) code = d->face->let(d->gpu, (size_t)rows * (size_t)w->mat.rows, floats(d, l.qkv), att);
    return cuda_fail(d, code, "a gate of attention", err);
}
