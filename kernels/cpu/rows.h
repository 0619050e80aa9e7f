/* rows.h - what happens to single rows between the matrices.  Source, not interface: an isa_*.c includes it after
 * its simd_*.h.
 *
 * Plain loops here are left to the compiler's vectoriser: no operation in them may be contracted or reordered, so
 * they give the same bits everywhere.  Sums over a row are 16 partial sums in double (by index modulo 16), folded in
 * halves. */
#include "kernels/scan.h"
#include <math.h>

/* ------------------------------------------------------------------------- norm */

INLINE double fold16(const double *part)
{
    double sum[8];
    for (int i = 0; i < 8; i++) sum[i] = part[i] + part[i + 8];
    for (int i = 0; i < 4; i++) sum[i] += sum[i + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* Squares of floats are exact in double, so a compiler that fused them into the sum would change nothing. */
INLINE double inverse_rms(const float *x, int n, float eps)
{
    double part[16] = {0};
    int i = 0;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++) part[j] += (double)x[i + j] * (double)x[i + j];
    for (int j = 0; i + j < n; j++) part[j] += (double)x[i + j] * (double)x[i + j];
    return 1 / sqrt(fold16(part) / n + (double)eps);
}

static void row_norm(const float *x, const float *w, int n, float eps, float *y)
{
    double scale = inverse_rms(x, n, eps);
    for (int i = 0; i < n; i++) y[i] = (float)((double)x[i] * scale * (double)w[i]);
}

static void row_quantise(const float *x, int n, struct act *act, int T)
{
    for (int b = 0; b < n; b++, x += 32, act += T) {
        int32_t sum0 = 0, sum1 = 0;
        uint32_t top = act_top(x);
        float amax, dx;
        memcpy(&amax, &top, sizeof amax);
        if (top >= 0x7f800000u || amax < 0x1p-100f) { /* the two ends of quant_act32() */
            memset(act->q, 0, sizeof act->q);
            dx = top >= 0x7f800000u ? NAN : 0.0f;
        } else {
            dx = amax / 127.0f;
            act_round(x, 127.0f / amax, act->q, &sum0, &sum1);
        }
        act->dx = dx;
        act->mdx = dx * (float)-(sum0 + sum1);
        act->start128 = ACT_LIFT - 128 * (sum0 + sum1);
        act->start8 = ACT_LIFT - 8 * (sum0 + sum1);
        act->start32[0] = ACT_LIFT - 32 * sum0;
        act->start32[1] = ACT_LIFT - 32 * sum1;
    }
}

/* ------------------------------------------------------------------- functions */

/* e^x within 1.5 units in the last place for -87.3 < x < 88.3, and 0 below that.  x = n ln 2 + r with |r| <= ln 2 / 2;
 * the polynomial is that of Cephes' expf (S. Moshier).  Of n vectors (a constant), step by step: a step waits for the
 * one before it, and a processor does not look far enough ahead to find the next vector's steps. */
enum { EXPS_MOST = 4 };
INLINE void exp_small_of(const int n, vf *x)
{
    const vf round = vf_set1(0x1.8p23f);
    vf shifted[EXPS_MOST], r[EXPS_MOST], p[EXPS_MOST];
    UNROLL for (int i = 0; i < n; i++) shifted[i] = vf_fma(x[i], vf_set1(0x1.715476p+0f), round);
    UNROLL for (int i = 0; i < n; i++) r[i] = vf_fnma(vf_sub(shifted[i], round), vf_set1(0x1.62e43p-1f), x[i]);
    UNROLL for (int i = 0; i < n; i++) r[i] = vf_fnma(vf_sub(shifted[i], round), vf_set1(-0x1.05c61p-29f), r[i]);
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_fma(vf_set1(1.9875691500e-4f), r[i], vf_set1(1.3981999507e-3f));
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_fma(p[i], r[i], vf_set1(8.3334519073e-3f));
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_fma(p[i], r[i], vf_set1(4.1665795894e-2f));
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_fma(p[i], r[i], vf_set1(1.6666665459e-1f));
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_fma(p[i], r[i], vf_set1(5.0000001201e-1f));
    UNROLL for (int i = 0; i < n; i++) p[i] = vf_add(vf_fma(p[i], vf_mul(r[i], r[i]), r[i]), vf_set1(1.0f));
    UNROLL for (int i = 0; i < n; i++) { /* n is in the low bits of shifted */
        vf two_n = vf_of_bits(vi_sll(vi_add(vi_of_bits(shifted[i]), vi_set1(127)), 23));
        x[i] = vf_select_lt(x[i], vf_set1(-87.3f), vf_zero(), vf_mul(p[i], two_n));
    }
}

INLINE vf exp_small(vf x)
{
    exp_small_of(1, &x);
    return x;
}

/* The same for any x; from 88.37 on it stays at e^88.37. */
INLINE vf vf_exp(vf x)
{
    return exp_small(vf_min(vf_set1(88.37f), x));
}

/* tanh within 3 units in the last place: by e^-2|x|, near 0 by an odd polynomial (Cephes' tanhf). */
INLINE vf vf_tanh(vf x)
{
    vf a = vf_abs(x), z = vf_mul(x, x), one = vf_set1(1.0f);
    vf t = vf_exp(vf_mul(a, vf_set1(-2.0f)));
    vf far = vf_copysign(vf_div(vf_sub(one, t), vf_add(one, t)), x);
    vf p = vf_set1(-5.70498872745e-3f);
    p = vf_fma(p, z, vf_set1(2.06390887954e-2f));
    p = vf_fma(p, z, vf_set1(-5.37397155531e-2f));
    p = vf_fma(p, z, vf_set1(1.33314422036e-1f));
    p = vf_fma(p, z, vf_set1(-3.33332819422e-1f));
    return vf_select_lt(a, vf_set1(0.625f), vf_fma(vf_mul(p, z), x, x), far);
}

INLINE vf vf_silu(vf x)
{
    return vf_div(x, vf_add(vf_set1(1.0f), vf_exp(vf_sub(vf_zero(), x))));
}

/* The tanh form: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). */
INLINE vf vf_gelu(vf x)
{
    vf in = vf_mul(vf_set1(0.79788456f), vf_fma(vf_mul(vf_set1(0.044715f), vf_mul(x, x)), x, x));
    return vf_mul(vf_mul(vf_set1(0.5f), x), vf_add(vf_set1(1.0f), vf_tanh(in)));
}

INLINE vf load_some(const float *p, int n)
{
    float some[LANES] = {0};
    if (n >= LANES) return vf_load(p);
    memcpy(some, p, (size_t)n * sizeof *p);
    return vf_load(some);
}

INLINE void store_some(float *p, int n, vf v)
{
    float some[LANES];
    if (n >= LANES) {
        vf_store(p, v);
    } else {
        vf_store(some, v);
        memcpy(p, some, (size_t)n * sizeof *p);
    }
}

/* What is no number stays so. */
INLINE vf vf_oss(vf gate, vf up)
{
    const vf seven = vf_set1(7.0f), one = vf_set1(1.0f);
    vf g = vf_min(seven, gate), u = vf_max(vf_set1(-7.0f), vf_min(seven, up));
    return vf_mul(vf_div(g, vf_add(one, vf_exp(vf_mul(g, vf_set1(-1.702f))))), vf_add(u, one));
}

static void row_gate(enum kern_act act, const float *gate, const float *up, int n, float *h)
{
    for (int i = 0; i < n; i += LANES) {
        vf g = load_some(gate + i, n - i), u = load_some(up + i, n - i);
        g = act == KERN_OSS ? vf_oss(g, u) : vf_mul(act == KERN_SILU ? vf_silu(g) : vf_gelu(g), u);
        store_some(h + i, n - i, g);
    }
}

static void row_let(const float *gate, int n, float *y)
{
    const vf one = vf_set1(1.0f);
    for (int i = 0; i < n; i += LANES) {
        vf g = vf_add(one, vf_exp(vf_sub(vf_zero(), load_some(gate + i, n - i))));
        store_some(y + i, n - i, vf_div(load_some(y + i, n - i), g));
    }
}

static void row_softcap(float *y, int n, float cap)
{
    vf c = vf_set1(cap);
    for (int i = 0; i < n; i += LANES) {
        vf v = vf_tanh(vf_div(load_some(y + i, n - i), c));
        store_some(y + i, n - i, vf_mul(c, v));
    }
}

/* ------------------------------------------------------------------- heads, KV */

/* Pairs `apart` values apart, the next pair `step` behind (constants).  The angles never lie in x. */
INLINE void rotate(float *restrict x, const int apart, const int step, int n, const float *restrict c,
                   const float *restrict s)
{
    for (int i = 0; i < n; i++) {
        float a = x[i * step], b = x[i * step + apart];
        x[i * step] = a * c[i] - b * s[i];
        x[i * step + apart] = a * s[i] + b * c[i];
    }
}

static void row_head(float *x, int dim, const float *bias, const float *norm, float eps, const struct kern_rope *rope,
                     const float *turn)
{
    if (bias)
        for (int i = 0; i < dim; i++) x[i] += bias[i];
    if (norm) {
        double scale = inverse_rms(x, dim, eps);
        for (int i = 0; i < dim; i++) x[i] = (float)((double)x[i] * scale * (double)norm[i]);
    }
    if (!rope) return;
    int half = rope->dims / 2;
    if (rope->neox) rotate(x, half, 1, half, turn, turn + half);
    else rotate(x, 1, 2, half, turn, turn + half);
}

static void kv_write_f16(const float *k, const float *v, int dim, uint8_t *page_k, uint8_t *page_v, int token)
{
    uint16_t h[LANES];
    uint8_t *to_k = page_k + 2 * token, *to_v = page_v + (size_t)token * size_align((uint64_t)dim, 16) * 2;
    for (int i = 0; i < dim; i += LANES) {
        int n = MIN(LANES, dim - i);
        vf_to_f16((uint8_t *)h, load_some(k + i, n));
        for (int j = 0; j < n; j++) memcpy(to_k + (i + j) * 2 * KERN_PAGE, &h[j], 2);
        vf_to_f16((uint8_t *)h, load_some(v + i, n));
        memcpy(to_v + 2 * i, h, 2 * (size_t)n);
    }
}

/* The scales come first, (dim / 32, 16 tokens) halves: dim bytes. */
INLINE void put_scale(uint8_t *page, int block, int token, float scale)
{
    uint16_t h = quant_to_f16(scale);
    memcpy(page + 2 * (block * KERN_PAGE + token), &h, 2);
}

static void kv_write_q8_0(const float *k, const float *v, int dim, uint8_t *page_k, uint8_t *page_v, int token)
{
    uint8_t *to_k = page_k + dim + token, *to_v = page_v + dim + token * dim;
    struct act act;
    for (int b = 0; b < dim / 32; b++) {
        row_quantise(k + 32 * b, 1, &act, 1);
        put_scale(page_k, b, token, act.dx);
        for (int i = 0; i < 32; i++) to_k[(32 * b + i) * KERN_PAGE] = (uint8_t)act.q[i];
        row_quantise(v + 32 * b, 1, &act, 1);
        put_scale(page_v, b, token, act.dx);
        memcpy(to_v + 32 * b, act.q, 32);
    }
}

static void kv_write_f32(const float *k, const float *v, int dim, uint8_t *page_k, uint8_t *page_v, int token)
{
    uint8_t *to_v = page_v + (size_t)token * size_align((uint64_t)dim, 16) * 4;
    memcpy(to_v, v, (size_t)dim * 4);
    for (int i = 0; i < dim; i++) memcpy(page_k + 4 * token + i * 4 * KERN_PAGE, k + i, 4);
}

static void row_kv_write(const float *k, const float *v, int dim, enum ktype kv, uint8_t *page_k, uint8_t *page_v,
                         int token)
{
    if (kv == KT_Q8_0) kv_write_q8_0(k, v, dim, page_k, page_v, token);
    else if (kv == KT_F16) kv_write_f16(k, v, dim, page_k, page_v, token);
    else kv_write_f32(k, v, dim, page_k, page_v, token);
}

/* --------------------------------------------------------------------- states */

static void row_conv(const float *const *in, const float *w, int taps, int n, const float *times, float *y)
{
    for (int i = 0; i < n; i += LANES) {
        vf sum = vf_zero();
        for (int j = 0; j < taps; j++) sum = vf_fma(load_some(w + j * n + i, n - i), load_some(in[j] + i, n - i), sum);
        store_some(y + i, n - i, times ? vf_mul(load_some(times + i, n - i), sum) : vf_silu(sum));
    }
}

/* A token further: NV vectors of columns of S, of which the last has `last` values. */
INLINE void delta_columns(const int NV, const bool whole, int last, float *S, const struct isa_delta *t, int dim,
                          int at)
{
    const vf decay = vf_set1(t->decay), beta = vf_set1(t->beta);
    vf sum[4], news[4];
    UNROLL for (int v = 0; v < NV; v++) sum[v] = vf_zero();
    for (int i = 0; i < dim; i++)
        UNROLL for (int v = 0; v < NV; v++) {
            const float *s = S + (size_t)i * (size_t)dim + at + v * LANES;
            sum[v] = vf_fma(whole ? vf_load(s) : load_some(s, last), vf_set1(t->k[i]), sum[v]);
        }
    UNROLL for (int v = 0; v < NV; v++) {
        const float *p = t->v + at + v * LANES;
        news[v] = vf_mul(beta, vf_fnma(decay, sum[v], whole ? vf_load(p) : load_some(p, last)));
        sum[v] = vf_zero();
    }
    for (int i = 0; i < dim; i++)
        UNROLL for (int v = 0; v < NV; v++) {
            float *s = S + (size_t)i * (size_t)dim + at + v * LANES;
            const vf next = vf_fma(vf_set1(t->k[i]), news[v], vf_mul(whole ? vf_load(s) : load_some(s, last), decay));
            if (whole) vf_store(s, next);
            else store_some(s, last, next);
            sum[v] = vf_fma(next, vf_set1(t->q[i]), sum[v]);
        }
    UNROLL for (int v = 0; v < NV; v++) {
        if (whole) vf_store(t->o + at + v * LANES, sum[v]);
        else store_some(t->o + at + v * LANES, last, sum[v]);
    }
}

/* Columns are independent: so many of them as the first cache holds go through all tokens. */
static void row_delta(float *S, int dim, const struct isa_delta *token, int n)
{
    int at = 0;
    for (; at + 4 * LANES <= dim; at += 4 * LANES)
        for (int t = 0; t < n; t++) delta_columns(4, true, LANES, S, &token[t], dim, at);
    for (; at < dim; at += LANES)
        for (int t = 0; t < n; t++) delta_columns(1, false, MIN(LANES, dim - at), S, &token[t], dim, at);
}
