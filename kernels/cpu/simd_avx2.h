/* simd_avx2.h - the vector words of AVX2 with FMA and F16C: 8 lanes.  simd.h says what they mean.  Where SIMD_VNNI is
 * defined sums of byte products are left out: simd_avxvnni.h has its own. */
#ifndef SIMD_AVX2_H
#define SIMD_AVX2_H
#include "kernels/cpu/simd.h"
#include <immintrin.h>

#define REGISTERS 16
enum { LANES = 8 };
typedef __m256 vf;
typedef __m256i vi;
typedef uint32_t vu __attribute__((vector_size(32)));
typedef int32_t vs __attribute__((vector_size(32)));

/* ---------------------------------------------------------------------- floats */

INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
INLINE vf vf_fma_at(const float *p, vf b, vf c) { return vf_fma(vf_set1(*p), b, c); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
INLINE vf vf_select_lt(vf a, vf b, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
INLINE float vf_top(vf a)
{
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
INLINE float vf_fold(vf a)
{
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
INLINE vf vf_copysign(vf magnitude, vf sign)
{
    vf bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_and_ps(bit, sign), _mm256_andnot_ps(bit, magnitude));
}
INLINE vf vf_f16(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)p)); }
INLINE vf vf_i8(const uint8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i_u *)p)));
}
INLINE vf vf_bf16(const uint8_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)p)), 16));
}
INLINE void vf_to_f16(uint8_t *p, vf v)
{
    _mm_storeu_si128((__m128i_u *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/* -------------------------------------------------------------------- integers */

INLINE vi vi_load(const uint8_t *p) { return _mm256_loadu_si256((const __m256i_u *)p); }
INLINE vi vi_set1(int32_t x) { return _mm256_set1_epi32(x); }
INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
INLINE vi vi_add8(vi a, vi b) { return _mm256_add_epi8(a, b); }
INLINE vi vi_sub8(vi a, vi b) { return _mm256_sub_epi8(a, b); }
INLINE vi vi_load4(const int8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)p)); }
INLINE vi vi_of4(vi a, const int i)
{
    switch (i) {
    case 0: return _mm256_shuffle_epi32(a, 0x00);
    case 1: return _mm256_shuffle_epi32(a, 0x55);
    case 2: return _mm256_shuffle_epi32(a, 0xaa);
    default: return _mm256_shuffle_epi32(a, 0xff);
    }
}
INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
INLINE vi vi_sll(vi a, const int n) { return (vi)((vu)a << (unsigned)n); }
INLINE vi vi_srl(vi a, const int n) { return (vi)((vu)a >> (unsigned)n); }
INLINE vi vi_srl_by(vi a, int n) { return _mm256_srlv_epi32(a, _mm256_set1_epi32(n)); }
INLINE vi vi_byte(vi a, int j) { return vi_and(vi_srl_by(a, 8 * j), vi_set1(255)); }
INLINE vi vi_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i_u *)p)); }
INLINE vi vi_pick(const uint8_t *table, vi v)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)table)), v);
}
INLINE vi vi_flip8(vi a) { return vi_xor(a, _mm256_set1_epi8(INT8_MIN)); }
INLINE vi vi_madd16(vi a, vi b) { return _mm256_madd_epi16(a, b); }
INLINE vi vi_sub16(vi a, vi b) { return _mm256_sub_epi16(a, b); }
INLINE vi vi_sra(vi a, const int n) { return (vi)((vs)a >> n); }
INLINE vf vf_from(vi a) { return _mm256_cvtepi32_ps(a); }
INLINE vf vf_of_bits(vi a) { return _mm256_castsi256_ps(a); }
INLINE vi vi_of_bits(vf a) { return _mm256_castps_si256(a); }

/* ----------------------------------------------------- sums of byte products */

#ifndef SIMD_VNNI
/* vpmaddubsw gives pairs in 16 bits and saturates, so the caller spills to 32 bits before 32767 can be passed: after 8
 * steps of 4-bit weights (2 * 15 * 127 each), 4 of 5-bit, 2 of 6-bit. */
typedef struct { __m256i pairs, sum; } vacc;

/* The same, in a register now: else gcc computes all products first, to add them up as a tree, and has no registers for
 * so many. */
INLINE __m256i settled(__m256i v)
{
    __asm__("" : "+x"(v));
    return v;
}

INLINE vacc vacc_start(vi first)
{
    (void)first; /* comes last: until then it would take a register */
    return (vacc){_mm256_setzero_si256(), _mm256_setzero_si256()};
}
INLINE vacc vacc_dot(vacc a, vi w, vi x)
{
    a.pairs = settled(_mm256_add_epi16(a.pairs, _mm256_maddubs_epi16(w, x)));
    return a;
}
INLINE vacc vacc_dot_at(vacc a, vi w, const void *x)
{
    int32_t v;
    memcpy(&v, x, sizeof v);
    return vacc_dot(a, w, vi_set1(v));
}
/* Assembly for the order: of the same instructions gcc's own is 1 to 3 % slower (Q5_K, Q6_K). */
INLINE vacc vacc_dot_swapped(vacc a, vi x, const uint8_t *w)
{
    __m256i p;
    __asm__("vpmaddubsw %2, %1, %0" : "=x"(p) : "x"(x), "m"(*(const __m256i_u *)w));
    a.pairs = settled(_mm256_add_epi16(a.pairs, p));
    return a;
}
INLINE vacc vacc_spill(vacc a)
{
    a.sum = settled(_mm256_add_epi32(a.sum, _mm256_madd_epi16(a.pairs, _mm256_set1_epi16(1))));
    a.pairs = _mm256_setzero_si256();
    return a;
}
INLINE vi vacc_end(vacc a, vi first) { return _mm256_add_epi32(vacc_spill(a).sum, first); }

enum { HIGH_TIMES = 1 }; /* 2 * 240 * 127 would not fit */

/* The flip that vacc_dot8 undoes: a compiler leaves out both. */
INLINE vi vi_pick8(const int8_t *table, vi v) { return vi_flip8(vi_pick((const uint8_t *)table, v)); }

/* Eight bits do not fit: |w - 128| times (x with the sign of w - 128), at most 2 * 128 * 127. */
INLINE vacc vacc_start8(vi first, vi less)
{
    (void)less;
    return vacc_start(first);
}
INLINE vacc vacc_dot8(vacc a, vi w, vi x)
{
    __m256i s = vi_flip8(w);
    __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(s), _mm256_sign_epi8(x, s));
    a.sum = settled(_mm256_add_epi32(a.sum, _mm256_madd_epi16(p, _mm256_set1_epi16(1))));
    return a;
}
INLINE vi vacc_end8(vacc a, vi first, vi less)
{
    (void)less;
    return _mm256_add_epi32(a.sum, first);
}
#endif

/* ----------------------------------------------------------- 32 activations */

INLINE uint32_t act_top(const float *x)
{
    const __m256i drop = _mm256_set1_epi32(INT32_MAX);
    __m256i top = _mm256_setzero_si256();
    for (int i = 0; i < 32; i += 8)
        top = _mm256_max_epu32(top, _mm256_and_si256(vi_load((const uint8_t *)(x + i)), drop));
    __m128i t = _mm_max_epu32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    t = _mm_max_epu32(t, _mm_shuffle_epi32(t, 0x4e));
    t = _mm_max_epu32(t, _mm_shuffle_epi32(t, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(t);
}

INLINE int32_t act_sum(__m256i v)
{
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
    t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1));
    return _mm_cvtsi128_si32(t);
}

INLINE void act_round(const float *x, float id, int8_t *q, int32_t *sum0, int32_t *sum1)
{
    __m256 m = _mm256_set1_ps(id);
    __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(vf_load(x), m));
    __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(vf_load(x + 8), m));
    __m256i c = _mm256_cvtps_epi32(_mm256_mul_ps(vf_load(x + 16), m));
    __m256i d = _mm256_cvtps_epi32(_mm256_mul_ps(vf_load(x + 24), m));
    /* Packing works in 128-bit halves: dwords come out as a0 b0 c0 d0 a1 b1 c1 d1. */
    __m256i p = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    p = _mm256_permutevar8x32_epi32(p, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i_u *)q, p);
    *sum0 = act_sum(_mm256_add_epi32(a, b));
    *sum1 = act_sum(_mm256_add_epi32(c, d));
}
#endif
