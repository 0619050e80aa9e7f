/* ref_delta.c - the reference backend's layers that keep a state, and gates of attention.  A state is carried on in the
 * page of a sequence's last row, token by token. */
#include "kernels/ref_math.h"
#include "kernels/state.h"
#include <math.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }

void ref_gate_rows(bool rounded, int rows, const struct kern_gate *g, const float *x, float *att, void *dev_work)
{
    struct ref_work w;
    ref_work_cut(&w, dev_work, g->mat.cols, g->mat.rows);
    for (int r = 0; r < rows; r++) {
        float *y = att + (size_t)r * (size_t)g->mat.rows;
        ref_rms_norm(x + (size_t)r * (size_t)g->mat.cols, g->dev_norm, g->mat.cols, g->eps, w.norm);
        ref_matmul(rounded, &g->mat, NULL, w.norm, &w);
        for (int i = 0; i < g->mat.rows; i++) y[i] = (float)(y[i] * sigmoid(w.out[i]));
    }
}

/* One layer of one sequence, as it is carried on.  w NULL: of a convolution alone. */
struct carried {
    const struct kern_delta *w;
    const float *conv;
    const struct kern_group *g;
    int layer, page;
};

/* Of each channel the sum over its last values, of which a token's, in, are the newest; they are the state's then. */
static void convolve(const struct carried *c, const float *in, double *out)
{
    const struct kern_group *g = c->g;
    const size_t channels = (size_t)state_channels(g), old = (size_t)(g->taps - 1);
    float *tail = state_conv(g, c->page, c->layer);
    for (size_t i = 0; i < channels; i++) {
        const float *conv = c->conv + i * (size_t)g->taps;
        out[i] = (double)conv[old] * in[i];
        for (size_t j = 0; j < old; j++) out[i] += (double)conv[j] * tail[j * channels + i];
    }
    memmove(tail, tail + channels, (old - 1) * channels * sizeof *tail);
    memcpy(tail + (old - 1) * channels, in, channels * sizeof *tail);
}

/* n values to length 1, times scale. */
static void to_length(const double *x, int n, double eps, double scale, double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    for (int i = 0; i < n; i++) y[i] = x[i] * scale / sqrt(sum + eps);
}

/* S of one head, a token further: o (dim). */
static void delta_rule(float *S, int dim, const double *q, const double *k, const double *v, double decay, double beta,
                       double *o)
{
    for (int j = 0; j < dim; j++) {
        double known = 0;
        for (int i = 0; i < dim; i++) known += decay * S[i * dim + j] * k[i];
        const double news = beta * (v[j] - known);
        o[j] = 0;
        for (int i = 0; i < dim; i++) {
            const double next = decay * S[i * dim + j] + k[i] * news;
            S[i * dim + j] = (float)next;
            o[j] += next * q[i];
        }
    }
}

/* att before it is gated: c: q, k and v of all heads. */
static void heads(const struct carried *at, const double *c, const double *beta, const double *decay, float *att)
{
    const struct kern_group *g = at->g;
    const int dim = g->head_dim, keys = g->keys;
    double q[KERN_HEAD_MAX], k[KERN_HEAD_MAX], o[KERN_HEAD_MAX];
    for (int h = 0; h < g->kv_heads; h++, att += dim) {
        const double eps = (double)at->w->eps;
        const int key = state_key(at->w, g, h);
        to_length(c + key * dim, dim, eps, 1 / sqrt(dim), q);
        to_length(c + (keys + key) * dim, dim, eps, 1, k);
        delta_rule(state_head(g, at->page, at->layer, h), dim, q, k, c + (2 * keys + h) * dim, decay[h], beta[h], o);
        ref_norm_in_place(o, at->w->dev_head_norm, dim, at->w->eps);
        for (int i = 0; i < dim; i++) att[i] = (float)o[i];
    }
}

static void one_row(bool rounded, const struct carried *at, const float *x, float *att, struct ref_work *s)
{
    const struct kern_delta *w = at->w;
    double beta[KERN_VALUES], decay[KERN_VALUES];
    ref_rms_norm(x, w->dev_norm, w->qkv.cols, w->eps, s->norm);
    ref_matmul(rounded, &w->beta, NULL, s->norm, s);
    for (int h = 0; h < w->beta.rows; h++) beta[h] = sigmoid(s->out[h]);
    ref_matmul(rounded, &w->alpha, NULL, s->norm, s);
    for (int h = 0; h < w->alpha.rows; h++)
        decay[h] = exp((double)w->dev_a[h] * softplus(s->out[h] + (double)w->dev_dt[h]));
    ref_matmul(rounded, &w->qkv, NULL, s->norm, s);
    for (int i = 0; i < w->qkv.rows; i++) s->mid[i] = (float)s->out[i];
    convolve(at, s->mid, s->sum);
    for (int i = 0; i < w->qkv.rows; i++) s->sum[i] = silu(s->sum[i]);
    heads(at, s->sum, beta, decay, att);
    ref_matmul(rounded, &w->z, NULL, s->norm, s);
    for (int i = 0; i < w->z.rows; i++) att[i] = (float)(att[i] * silu(s->out[i]));
}

/* A sequence's state from the page before its first row to the page of its last. */
static void bring(const struct carried *to, const struct kern_batch *b, int group, int row)
{
    const size_t bytes = state_layer_bytes(to->g);
    float *here = state_conv(to->g, to->page, to->layer);
    const int from = b->pos[row] > 0 ? state_page(b, group, b->seq[row], b->pos[row] - 1) : -1;
    assert(from >= 0 || b->pos[row] == 0);
    if (from < 0) memset(here, 0, bytes);
    else memmove(here, state_conv(to->g, from, to->layer), bytes);
}

/* Where row r of a batch is carried on: the state is brought there before a sequence's first row. */
static struct carried carried_at(const struct kern_batch *b, int r, const struct carried *of, int group)
{
    int last = r, first = r;
    struct carried at = *of;
    for (int i = 0; i < b->rows; i++)
        if (b->seq[i] == b->seq[r]) first = MIN(first, i), last = MAX(last, i);
    at.page = state_page(b, group, b->seq[r], b->pos[last]);
    if (r == first) bring(&at, b, group, r);
    return at;
}

/* Behind row r: if it ends a page that is there, that has the state as it is now. */
static void leave(const struct kern_batch *b, int r, const struct carried *at, int group)
{
    const int own = state_page(b, group, b->seq[r], b->pos[r]);
    if (b->pos[r] % KERN_PAGE == KERN_PAGE - 1 && own >= 0 && own != at->page)
        memcpy(state_conv(at->g, own, at->layer), state_conv(at->g, at->page, at->layer), state_layer_bytes(at->g));
}

void ref_delta_rows(bool rounded, const struct kern_batch *b, const struct kern_delta *w, const struct kern_group *g,
                    int group, int layer, const float *x, float *att, void *dev_work)
{
    const size_t embd = (size_t)w->qkv.cols, inner = (size_t)w->z.rows;
    const struct carried of = {.w = w, .conv = w->dev_conv, .g = g, .layer = layer};
    struct ref_work s;
    assert(w->qkv.rows == state_channels(g) && w->z.rows == g->kv_heads * g->head_dim && w->beta.rows == g->kv_heads);
    ref_work_cut(&s, dev_work, w->qkv.cols, w->qkv.rows);
    for (int r = 0; r < b->rows; r++) {
        const struct carried at = carried_at(b, r, &of, group);
        one_row(rounded, &at, x + (size_t)r * embd, att + (size_t)r * inner, &s);
        leave(b, r, &at, group);
    }
}

void ref_conv_rows(bool rounded, const struct kern_batch *b, const struct kern_conv *w, const struct kern_group *g,
                   int group, int layer, const float *x, float *att, void *dev_work)
{
    const size_t embd = (size_t)w->in.cols, channels = (size_t)state_channels(g);
    const struct carried of = {.conv = w->dev_conv, .g = g, .layer = layer};
    struct ref_work s;
    assert(g->keys == 0 && (size_t)w->in.rows == 3 * channels);
    ref_work_cut(&s, dev_work, w->in.cols, w->in.rows);
    for (int r = 0; r < b->rows; r++) {
        const struct carried at = carried_at(b, r, &of, group);
        float *y = att + (size_t)r * channels;
        ref_rms_norm(x + (size_t)r * embd, w->dev_norm, w->in.cols, w->eps, s.norm);
        ref_matmul(rounded, &w->in, NULL, s.norm, &s);
        for (size_t i = 0; i < channels; i++) s.mid[i] = (float)(s.out[i] * s.out[2 * channels + i]);
        convolve(&at, s.mid, s.sum);
        for (size_t i = 0; i < channels; i++) y[i] = (float)(s.out[channels + i] * s.sum[i]);
        leave(b, r, &at, group);
    }
}
