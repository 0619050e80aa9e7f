/* ref_math.c - see ref_math.h. */
#include "kernels/ref_math.h"
#include <math.h>

bool ref_is_integer(enum ktype type)
{
    return type != KT_F32 && type != KT_F16 && type != KT_BF16;
}

size_t ref_row_bytes(enum ktype type, int cols)
{
    const struct ktype_info *t = ktype_info(type);
    return (size_t)(cols / t->block) * (size_t)t->bytes;
}

static void *cut(void *slab, size_t *at, size_t n, size_t size)
{
    void *p = slab ? (char *)slab + *at : NULL;
    *at += size_align(n * size, 64);
    return p;
}

size_t ref_work_cut(struct ref_work *w, void *slab, int cols, int out)
{
    size_t at = 0;
    w->norm = cut(slab, &at, (size_t)cols, sizeof *w->norm);
    w->act = cut(slab, &at, (size_t)cols, sizeof *w->act);
    w->weights = cut(slab, &at, (size_t)cols, sizeof *w->weights);
    w->out = cut(slab, &at, (size_t)out, sizeof *w->out);
    w->mid = cut(slab, &at, (size_t)out, sizeof *w->mid);
    w->sum = cut(slab, &at, (size_t)out, sizeof *w->sum);
    w->logits = cut(slab, &at, KERN_EXPERTS, sizeof *w->logits);
    return at;
}

void ref_rms_norm(const float *x, const float *weight, int n, float eps, float *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * x[i];
    double scale = 1 / sqrt(sum / n + (double)eps);
    for (int i = 0; i < n; i++) y[i] = (float)(x[i] * scale * weight[i]);
}

void ref_norm_in_place(double *x, const float *weight, int n, float eps)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    double scale = 1 / sqrt(sum / n + (double)eps);
    for (int i = 0; i < n; i++) x[i] *= scale * weight[i];
}

void ref_activations(bool rounded, enum ktype type, const float *x, int n, double *y)
{
    if (rounded && ref_is_integer(type)) {
        int8_t q[32];
        for (int b = 0; b < n; b += 32) {
            double scale = quant_act32(x + b, q);
            for (int i = 0; i < 32; i++) y[b + i] = q[i] * scale;
        }
    } else {
        for (int i = 0; i < n; i++) y[i] = x[i];
    }
}

const void *ref_mat_row(const struct kmat *m, int row)
{
    return (const char *)m->dev_data + (size_t)row * ref_row_bytes(m->type, m->cols);
}

double ref_dot(const struct kmat *m, int row, const double *act, float *weights)
{
    double sum = 0;
    quant_decode(m->type, ref_mat_row(m, row), weights, m->cols);
    for (int i = 0; i < m->cols; i++) sum += weights[i] * act[i];
    return sum;
}

void ref_matmul(bool rounded, const struct kmat *m, const float *bias, const float *x, struct ref_work *w)
{
    ref_activations(rounded, m->type, x, m->cols, w->act);
    for (int r = 0; r < m->rows; r++) w->out[r] = ref_dot(m, r, w->act, w->weights) + (bias ? (double)bias[r] : 0.0);
}

void ref_rope_turn(const struct kern_rope *rope, int pos, double *x)
{
    for (int i = 0; i < rope->dims / 2; i++) {
        double angle = pos * rope->inv_freq[i], c = rope->gain * cos(angle), s = rope->gain * sin(angle);
        double *re = rope->neox ? &x[i] : &x[2 * i], *im = rope->neox ? &x[i + rope->dims / 2] : &x[2 * i + 1];
        double turned = *re * c - *im * s;
        *im = *re * s + *im * c;
        *re = turned;
    }
}

double ref_softcapped(double x, float cap)
{
    return cap > 0 ? cap * tanh(x / cap) : x;
}

double ref_gated(enum kern_act act, double gate, double up)
{
    const double z = act == KERN_OSS && gate > 7 ? 7 : gate; /* what is no number stays */
    switch (act) {
    case KERN_SILU: return z / (1 + exp(-z)) * up;
    case KERN_GELU: return 0.5 * z * (1 + tanh(0.79788456080286535588 * (z + 0.044715 * z * z * z))) * up;
    default: return z / (1 + exp(-1.702 * z)) * ((up > 7 ? 7 : up < -7 ? -7 : up) + 1);
    }
}

void ref_softmax(double *v, int n, const float *sink)
{
    double top = v[0], sum = 0;
    for (int i = 1; i < n; i++) top = MAX(top, v[i]);
    if (sink) top = MAX(top, (double)*sink);
    for (int i = 0; i < n; i++) sum += v[i] = exp(v[i] - top);
    if (sink) sum += exp((double)*sink - top);
    for (int i = 0; i < n; i++) v[i] /= sum;
}
