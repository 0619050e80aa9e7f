/* simd_avx512.h - the vector words of AVX-512 (F, BW, VL, DQ, VNNI): 16 lanes.  simd.h says what they
 * mean. */
#ifndef SIMD_AVX512_H
#define SIMD_AVX512_H
#include "kernels/cpu/simd.h"
#include <immintrin.h>

#define REGISTERS 32
enum { LANES = 16 };
typedef __m512 vf;
typedef __m512i vi;
typedef uint32_t vu __attribute__((vector_size(64)));
typedef int32_t vs __attribute__((vector_size(64)));

/* ---------------------------------------------------------------------- floats */

INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
/* Assembly, because of several with one p a compiler loads it first, into a register. */
INLINE vf vf_fma_at(const float *p, vf b, vf c)
{
#if !ISA_EMULATED
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
    return c;
#else
    return vf_fma(vf_set1(*p), b, c);
#endif
}
INLINE vf vf_abs(vf a) { return _mm512_abs_ps(a); }
INLINE vf vf_select_lt(vf a, vf b, vf yes, vf no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
INLINE float vf_top(vf a)
{
    __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
INLINE float vf_fold(vf a)
{
    __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
INLINE vf vf_copysign(vf magnitude, vf sign)
{
    __m512i bit = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign),
                                                         _mm512_castps_si512(magnitude), 0xca));
}
INLINE vf vf_f16(const uint8_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)p)); }
INLINE vf vf_i8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i_u *)p)));
}
INLINE vf vf_bf16(const uint8_t *p)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)p)), 16));
}
INLINE void vf_to_f16(uint8_t *p, vf v)
{
    _mm256_storeu_si256((__m256i_u *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* -------------------------------------------------------------------- integers */

INLINE vi vi_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
INLINE vi vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
INLINE vi vi_sll(vi a, const int n) { return (vi)((vu)a << (unsigned)n); }
INLINE vi vi_srl(vi a, const int n) { return (vi)((vu)a >> (unsigned)n); }
INLINE vi vi_srl_by(vi a, int n) { return _mm512_srlv_epi32(a, _mm512_set1_epi32(n)); }
INLINE vi vi_byte(vi a, int j)
{
    static const uint32_t from[4][4] = {
#define FROM(j) {0x80808000u + (j), 0x80808004u + (j), 0x80808008u + (j), 0x8080800cu + (j)}
        FROM(0), FROM(1), FROM(2), FROM(3),
#undef FROM
    };
    return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i_u *)from[j])));
}
INLINE vi vi_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i_u *)p)); }
INLINE vi vi_pick(const uint8_t *table, vi v)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i_u *)table)), v);
}
INLINE vi vi_pick8(const int8_t *table, vi v)
{
    const __m128i up = _mm_xor_si128(_mm_loadu_si128((const __m128i_u *)table), _mm_set1_epi8(INT8_MIN));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(up), v);
}
INLINE vi vi_madd16(vi a, vi b) { return _mm512_madd_epi16(a, b); }
INLINE vi vi_sub16(vi a, vi b) { return _mm512_sub_epi16(a, b); }
INLINE vi vi_sra(vi a, const int n) { return (vi)((vs)a >> n); }
INLINE vf vf_from(vi a) { return _mm512_cvtepi32_ps(a); }
INLINE vf vf_of_bits(vi a) { return _mm512_castsi512_ps(a); }
INLINE vi vi_of_bits(vf a) { return _mm512_castps_si512(a); }

/* ----------------------------------------------------- sums of byte products */

typedef struct { __m512i sum; } vacc;

/* Assembly, because gcc 12 copies the accumulator before each _mm512_dpbusd_epi32 of a loop. */
#if !ISA_EMULATED
INLINE vacc vacc_dot(vacc a, vi w, vi x)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(a.sum) : "v"(w), "v"(x));
    return a;
}
INLINE vacc vacc_dot_at(vacc a, vi w, const void *x)
{
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(a.sum) : "v"(w), "m"(*(const char(*)[4])x));
    return a;
}
#else
INLINE vacc vacc_dot(vacc a, vi w, vi x) { return (vacc){_mm512_dpbusd_epi32(a.sum, w, x)}; }
INLINE vacc vacc_dot_at(vacc a, vi w, const void *x)
{
    int32_t v;
    memcpy(&v, x, sizeof v);
    return vacc_dot(a, w, vi_set1(v));
}
#endif
INLINE vacc vacc_start(vi first) { return (vacc){first}; }
INLINE vacc vacc_spill(vacc a) { return a; }
INLINE vi vacc_end(vacc a, vi first)
{
    (void)first;
    return a.sum;
}

/* w - 128 times x: the sum starts at -128 * sum(x). */
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

/* The largest |bits| of 32 floats. */
INLINE uint32_t act_top(const float *x)
{
    __m512i drop = _mm512_set1_epi32(INT32_MAX);
    __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), drop), b = _mm512_and_si512(_mm512_loadu_si512(x + 16), drop);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(a, b));
}

/* q = nearest integers to x * id; the sums of both halves. */
INLINE void act_round(const float *x, float id, int8_t *q, int32_t *sum0, int32_t *sum1)
{
    __m512 m = _mm512_set1_ps(id);
    __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), m));
    __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), m));
    __m256i both = _mm256_setr_m128i(_mm512_cvtepi32_epi8(a), _mm512_cvtepi32_epi8(b));
    _mm256_storeu_si256((__m256i_u *)q, both);
    /* vpsadbw sums 8 unsigned bytes: 128 is added to each beforehand. */
    __m256i eights = _mm256_sad_epu8(_mm256_xor_si256(both, _mm256_set1_epi8(INT8_MIN)), _mm256_setzero_si256());
    __m256i halves = _mm256_add_epi64(eights, _mm256_shuffle_epi32(eights, 0x4e));
    *sum0 = _mm_cvtsi128_si32(_mm256_castsi256_si128(halves)) - 16 * 128;
    *sum1 = _mm_cvtsi128_si32(_mm256_extracti128_si256(halves, 1)) - 16 * 128;
}
#endif
