/* simd_portable.h - the vector words in plain C, with the compiler's own 16-byte vectors: 4 lanes.  simd.h says what
 * they mean.  fmaf is called where the machine has no such instruction, so that results are the same to the bit. */
#ifndef SIMD_PORTABLE_H
#define SIMD_PORTABLE_H
#include "kernels/cpu/simd.h"

#define REGISTERS 32 /* what a machine has is not known */
enum { LANES = 4 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
typedef int16_t vs __attribute__((vector_size(16)));
typedef uint16_t vus __attribute__((vector_size(16)));
typedef int8_t vb __attribute__((vector_size(4)));

/* ---------------------------------------------------------------------- floats */

INLINE vf vf_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf vf_set1(float x) { return (vf){x, x, x, x}; }
INLINE vf vf_zero(void) { return (vf){0, 0, 0, 0}; }
INLINE vf vf_add(vf a, vf b) { return a + b; }
INLINE vf vf_sub(vf a, vf b) { return a - b; }
INLINE vf vf_mul(vf a, vf b) { return a * b; }
INLINE vf vf_div(vf a, vf b) { return a / b; }
INLINE vf vf_of_bits(vi a) { return (vf)a; }
INLINE vi vi_of_bits(vf a) { return (vi)a; }
INLINE vf vf_blend(vi where, vf yes, vf no) { return (vf)((where & (vi)yes) | (~where & (vi)no)); }
INLINE vf vf_select_lt(vf a, vf b, vf yes, vf no) { return vf_blend(a < b, yes, no); }
INLINE vf vf_max(vf a, vf b) { return vf_blend(a > b, a, b); }
INLINE vf vf_min(vf a, vf b) { return vf_blend(a < b, a, b); }
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return (vf){__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]), __builtin_fmaf(a[2], b[2], c[2]),
                __builtin_fmaf(a[3], b[3], c[3])};
}
INLINE vf vf_fma_at(const float *p, vf b, vf c) { return vf_fma(vf_set1(*p), b, c); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return vf_fma(-a, b, c); }
INLINE vf vf_abs(vf a) { return (vf)((vi)a & INT32_MAX); }
INLINE float vf_top(vf a)
{
    float b = a[0] > a[2] ? a[0] : a[2], c = a[1] > a[3] ? a[1] : a[3];
    return b > c ? b : c;
}
INLINE float vf_fold(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
INLINE vf vf_copysign(vf magnitude, vf sign)
{
    return (vf)(((vi)magnitude & INT32_MAX) | ((vi)sign & INT32_MIN));
}

INLINE vf vf_f16(const uint8_t *p)
{
    uint16_t h[LANES];
    memcpy(h, p, sizeof h);
    return (vf){quant_f16(h[0]), quant_f16(h[1]), quant_f16(h[2]), quant_f16(h[3])};
}
INLINE vf vf_i8(const uint8_t *p)
{
    vb b;
    memcpy(&b, p, sizeof b);
    return __builtin_convertvector(b, vf);
}
INLINE vf vf_bf16(const uint8_t *p)
{
    uint16_t h[LANES];
    memcpy(h, p, sizeof h);
    return (vf)((vu){h[0], h[1], h[2], h[3]} << 16);
}
INLINE void vf_to_f16(uint8_t *p, vf v)
{
    uint16_t h[LANES] = {quant_to_f16(v[0]), quant_to_f16(v[1]), quant_to_f16(v[2]), quant_to_f16(v[3])};
    memcpy(p, h, sizeof h);
}

/* -------------------------------------------------------------------- integers */

INLINE vi vi_load(const uint8_t *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE vi vi_set1(int32_t x) { return (vi){x, x, x, x}; }
INLINE vi vi_and(vi a, vi b) { return a & b; }
INLINE vi vi_or(vi a, vi b) { return a | b; }
INLINE vi vi_add(vi a, vi b) { return (vi)((vu)a + (vu)b); }
INLINE vi vi_sub(vi a, vi b) { return (vi)((vu)a - (vu)b); }
INLINE vi vi_sll(vi a, const int n) { return (vi)((vu)a << (unsigned)n); }
INLINE vi vi_srl(vi a, const int n) { return (vi)((vu)a >> (unsigned)n); }
INLINE vi vi_srl_by(vi a, int n) { return (vi)((vu)a >> (unsigned)n); }
INLINE vi vi_byte(vi a, int j) { return vi_srl_by(a, 8 * j) & 255; }
INLINE vi vi_u8(const uint8_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
INLINE vi vi_pick(const uint8_t *table, vi v)
{
    uint8_t b[sizeof v];
    memcpy(b, &v, sizeof v);
    for (size_t i = 0; i < sizeof b; i++) b[i] = table[b[i] & 15];
    memcpy(&v, b, sizeof v);
    return v;
}
INLINE vi vi_pick8(const int8_t *table, vi v)
{
    return vi_pick((const uint8_t *)table, v) ^ vi_set1((int32_t)0x80808080);
}
INLINE vi vi_madd16(vi a, vi b) { return (vi_sll(a, 16) >> 16) * (vi_sll(b, 16) >> 16) + (a >> 16) * (b >> 16); }
INLINE vi vi_sub16(vi a, vi b) { return (vi)((vus)a - (vus)b); }
INLINE vi vi_sra(vi a, const int n) { return a >> n; }
INLINE vf vf_from(vi a) { return __builtin_convertvector(a, vf); }

/* ----------------------------------------------------- sums of byte products */

typedef struct { vi sum; } vacc;

INLINE vacc vacc_start(vi first) { return (vacc){first}; }
INLINE vacc vacc_spill(vacc a) { return a; }
INLINE vi vacc_end(vacc a, vi first)
{
    (void)first;
    return a.sum;
}

/* A product of a weight byte (0 .. 255) and an activation (-127 .. 127) fits 16 bits; a sum of two does not. */
INLINE vacc vacc_dot(vacc a, vi w, vi x)
{
    vs even = (vs)((vus)w & 255) * ((vs)((vus)x << 8) >> 8), odd = (vs)((vus)w >> 8) * ((vs)x >> 8);
    a.sum += (vi_sll((vi)even, 16) >> 16) + ((vi)even >> 16) + (vi_sll((vi)odd, 16) >> 16) + ((vi)odd >> 16);
    return a;
}
INLINE vacc vacc_dot_at(vacc a, vi w, const void *x)
{
    int32_t v;
    memcpy(&v, x, sizeof v);
    return vacc_dot(a, w, vi_set1(v));
}
INLINE vacc vacc_start8(vi first, vi less)
{
    (void)first;
    return vacc_start(less);
}
INLINE vacc vacc_dot8(vacc a, vi w, vi x) { return vacc_dot(a, w, x); }
INLINE vi vacc_end8(vacc a, vi first, vi less)
{
    (void)first;
    return vacc_end(a, less);
}

enum { HIGH_TIMES = 16 };

/* ----------------------------------------------------------- 32 activations */

INLINE uint32_t act_top(const float *x)
{
    uint32_t top = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t u;
        memcpy(&u, x + i, sizeof u);
        u &= INT32_MAX;
        top = MAX(top, u);
    }
    return top;
}

INLINE void act_round(const float *x, float id, int8_t *q, int32_t *sum0, int32_t *sum1)
{
    int32_t sum[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        float v = x[i] * id;
        q[i] = (int8_t)(int)((v + 0x1.8p23f) - 0x1.8p23f);
        sum[i / 16] += q[i];
    }
    *sum0 = sum[0];
    *sum1 = sum[1];
}
#endif
