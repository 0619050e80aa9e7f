/* avx512.h - the intrinsics of AVX-512 and VNNI that simd_avx512.h and simd_avxvnni.h are written in, each by its
 * definition in Intel's Intrinsics Guide, out of AVX2: so that their kernels can be run, and held to the bits of the
 * others, on a processor without those instructions.  Slow, and for tests alone.  What a compiler makes of the real
 * ones, and their assembly, only such a processor shows.
 *
 * It is included before everything else (-include).  gcc and clang have the type __m512 without the instructions. */
#ifndef EMULATED_AVX512_H
#define EMULATED_AVX512_H
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Macros in some compilers. */
#undef _mm512_extractf32x8_ps
#undef _mm512_cmp_ps_mask
#undef _mm512_ternarylogic_epi32
#undef _mm512_cvtps_ph
#undef _mm512_mask_blend_ps
#undef _mm512_slli_epi32
#undef _mm512_loadu_si512

#define EMU static inline __attribute__((always_inline, unused))

typedef union { __m512 v; __m256 half[2]; float f[16]; } emu_ps;
typedef union { __m512i v; __m256i half[2]; uint32_t u[16]; } emu_si;

/* ------------------------------------------------------------------ half by half */

#define EMU_1(name, to, T, from, F, half_of)                                                                           \
    EMU T name(F a)                                                                                                    \
    {                                                                                                                  \
        from x = {a};                                                                                                  \
        to r = {.half = {half_of(x.half[0]), half_of(x.half[1])}};                                                     \
        return r.v;                                                                                                    \
    }
#define EMU_2(name, U, T, half_of)                                                                                     \
    EMU T name(T a, T b)                                                                                               \
    {                                                                                                                  \
        U x = {a}, y = {b}, r = {.half = {half_of(x.half[0], y.half[0]), half_of(x.half[1], y.half[1])}};              \
        return r.v;                                                                                                    \
    }
#define EMU_FMA(name, half_of)                                                                                         \
    EMU __m512 name(__m512 a, __m512 b, __m512 c)                                                                      \
    {                                                                                                                  \
        emu_ps x = {a}, y = {b}, z = {c};                                                                              \
        emu_ps r = {.half = {half_of(x.half[0], y.half[0], z.half[0]), half_of(x.half[1], y.half[1], z.half[1])}};     \
        return r.v;                                                                                                    \
    }

EMU_2(emu_add_ps, emu_ps, __m512, _mm256_add_ps)
EMU_2(emu_sub_ps, emu_ps, __m512, _mm256_sub_ps)
EMU_2(emu_mul_ps, emu_ps, __m512, _mm256_mul_ps)
EMU_2(emu_div_ps, emu_ps, __m512, _mm256_div_ps)
EMU_2(emu_max_ps, emu_ps, __m512, _mm256_max_ps)
EMU_2(emu_min_ps, emu_ps, __m512, _mm256_min_ps)
EMU_FMA(emu_fmadd_ps, _mm256_fmadd_ps)
EMU_FMA(emu_fnmadd_ps, _mm256_fnmadd_ps)
EMU_2(emu_add_epi32, emu_si, __m512i, _mm256_add_epi32)
EMU_2(emu_sub_epi32, emu_si, __m512i, _mm256_sub_epi32)
EMU_2(emu_sub_epi16, emu_si, __m512i, _mm256_sub_epi16)
EMU_2(emu_madd_epi16, emu_si, __m512i, _mm256_madd_epi16)
EMU_2(emu_max_epu32, emu_si, __m512i, _mm256_max_epu32)
EMU_2(emu_and_si512, emu_si, __m512i, _mm256_and_si256)
EMU_2(emu_or_si512, emu_si, __m512i, _mm256_or_si256)
EMU_2(emu_srlv_epi32, emu_si, __m512i, _mm256_srlv_epi32)
EMU_2(emu_shuffle_epi8, emu_si, __m512i, _mm256_shuffle_epi8)
EMU_1(emu_cvtepi32_ps, emu_ps, __m512, emu_si, __m512i, _mm256_cvtepi32_ps)
EMU_1(emu_cvtps_epi32, emu_si, __m512i, emu_ps, __m512, _mm256_cvtps_epi32)

#define _mm512_add_ps emu_add_ps
#define _mm512_sub_ps emu_sub_ps
#define _mm512_mul_ps emu_mul_ps
#define _mm512_div_ps emu_div_ps
#define _mm512_max_ps emu_max_ps
#define _mm512_min_ps emu_min_ps
#define _mm512_fmadd_ps emu_fmadd_ps
#define _mm512_fnmadd_ps emu_fnmadd_ps
#define _mm512_add_epi32 emu_add_epi32
#define _mm512_sub_epi32 emu_sub_epi32
#define _mm512_sub_epi16 emu_sub_epi16
#define _mm512_madd_epi16 emu_madd_epi16
#define _mm512_max_epu32 emu_max_epu32
#define _mm512_and_si512 emu_and_si512
#define _mm512_or_si512 emu_or_si512
#define _mm512_srlv_epi32 emu_srlv_epi32
#define _mm512_shuffle_epi8 emu_shuffle_epi8
#define _mm512_cvtepi32_ps emu_cvtepi32_ps
#define _mm512_cvtps_epi32 emu_cvtps_epi32

/* ------------------------------------------------------- memory, constants, casts */

EMU __m512 emu_loadu_ps(const void *p)
{
    emu_ps r;
    memcpy(&r, p, sizeof r);
    return r.v;
}
EMU __m512i emu_loadu_si512(const void *p)
{
    emu_si r;
    memcpy(&r, p, sizeof r);
    return r.v;
}
EMU void emu_storeu_ps(void *p, __m512 v) { memcpy(p, &v, sizeof v); }
EMU __m512 emu_set1_ps(float x)
{
    emu_ps r = {.half = {_mm256_set1_ps(x), _mm256_set1_ps(x)}};
    return r.v;
}
EMU __m512i emu_set1_epi32(int32_t x)
{
    emu_si r = {.half = {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}};
    return r.v;
}
EMU __m512i emu_broadcast_i32x4(__m128i x)
{
    emu_si r = {.half = {_mm256_broadcastsi128_si256(x), _mm256_broadcastsi128_si256(x)}};
    return r.v;
}
EMU __m512 emu_castsi512_ps(__m512i a) { return (__m512)a; }
EMU __m512i emu_castps_si512(__m512 a) { return (__m512i)a; }
EMU __m256 emu_castps512_ps256(__m512 a)
{
    emu_ps x = {a};
    return x.half[0];
}
EMU __m256 emu_extractf32x8_ps(__m512 a, int which)
{
    emu_ps x = {a};
    return x.half[which];
}

#define _mm512_loadu_ps emu_loadu_ps
#define _mm512_loadu_si512 emu_loadu_si512
#define _mm512_storeu_ps emu_storeu_ps
#define _mm512_set1_ps emu_set1_ps
#define _mm512_setzero_ps() emu_set1_ps(0)
#define _mm512_set1_epi32 emu_set1_epi32
#define _mm512_broadcast_i32x4 emu_broadcast_i32x4
#define _mm512_castsi512_ps emu_castsi512_ps
#define _mm512_castps_si512 emu_castps_si512
#define _mm512_castps512_ps256 emu_castps512_ps256
#define _mm512_extractf32x8_ps emu_extractf32x8_ps

/* --------------------------------------------------------------- lane by lane */

EMU __m512 emu_abs_ps(__m512 a)
{
    return emu_castsi512_ps(emu_and_si512(emu_castps_si512(a), emu_set1_epi32(INT32_MAX)));
}

/* A bit a lane.  Of the 32 comparisons, the one that is asked for: less than, false of what is not a number. */
EMU __mmask16 emu_cmp_ps_mask(__m512 a, __m512 b, const int how)
{
    emu_ps x = {a}, y = {b};
    unsigned m = 0;
    if (how != _CMP_LT_OQ) __builtin_trap();
    for (int i = 0; i < 16; i++) m |= (unsigned)(x.f[i] < y.f[i]) << i;
    return (__mmask16)m;
}
EMU __m512 emu_mask_blend_ps(__mmask16 m, __m512 a, __m512 b)
{
    emu_ps x = {a}, y = {b};
    for (int i = 0; i < 16; i++)
        if (m >> i & 1) x.f[i] = y.f[i];
    return x.v;
}

/* Of each bit, what the table says of those of a, b and c, a's the highest. */
EMU __m512i emu_ternarylogic_epi32(__m512i a, __m512i b, __m512i c, const unsigned table)
{
    emu_si x = {a}, y = {b}, z = {c}, r = {0};
    for (int i = 0; i < 16; i++)
        for (unsigned j = 0; j < 32; j++)
            r.u[i] |= (table >> ((x.u[i] >> j & 1) << 2 | (y.u[i] >> j & 1) << 1 | (z.u[i] >> j & 1)) & 1) << j;
    return r.v;
}
EMU __m512i emu_slli_epi32(__m512i a, unsigned n)
{
    emu_si x = {a};
    for (int i = 0; i < 16; i++) x.u[i] = n < 32 ? x.u[i] << n : 0;
    return x.v;
}
EMU uint32_t emu_reduce_max_epu32(__m512i a)
{
    emu_si x = {a};
    uint32_t top = 0;
    for (int i = 0; i < 16; i++) top = x.u[i] > top ? x.u[i] : top;
    return top;
}

#define _mm512_abs_ps emu_abs_ps
#define _mm512_cmp_ps_mask emu_cmp_ps_mask
#define _mm512_mask_blend_ps emu_mask_blend_ps
#define _mm512_ternarylogic_epi32 emu_ternarylogic_epi32
#define _mm512_slli_epi32 emu_slli_epi32
#define _mm512_reduce_max_epu32 emu_reduce_max_epu32

/* ------------------------------------------------------- to and from other widths */

EMU __m512 emu_cvtph_ps(__m256i a)
{
    emu_ps r = {.half = {_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))}};
    return r.v;
}
EMU __m256i emu_cvtps_ph(__m512 a, const int how)
{
    emu_ps x = {a};
    if (how != (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)) __builtin_trap();
    return _mm256_setr_m128i(_mm256_cvtps_ph(x.half[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                             _mm256_cvtps_ph(x.half[1], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
EMU __m512i emu_cvtepu8_epi32(__m128i a)
{
    emu_si r = {.half = {_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a))}};
    return r.v;
}
EMU __m512i emu_cvtepi8_epi32(__m128i a)
{
    emu_si r = {.half = {_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a))}};
    return r.v;
}
EMU __m512i emu_cvtepu16_epi32(__m256i a)
{
    emu_si r = {.half = {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                         _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))}};
    return r.v;
}
EMU __m128i emu_cvtepi32_epi8(__m512i a)
{
    emu_si x = {a};
    union { __m128i v; uint8_t b[16]; } r;
    for (int i = 0; i < 16; i++) r.b[i] = (uint8_t)x.u[i];
    return r.v;
}

#define _mm512_cvtph_ps emu_cvtph_ps
#define _mm512_cvtps_ph emu_cvtps_ph
#define _mm512_cvtepi8_epi32 emu_cvtepi8_epi32
#define _mm512_cvtepu8_epi32 emu_cvtepu8_epi32
#define _mm512_cvtepu16_epi32 emu_cvtepu16_epi32
#define _mm512_cvtepi32_epi8 emu_cvtepi32_epi8

/* ------------------------------------------------------------------------- VNNI */

/* Each dword of sum gets its 4 products of unsigned bytes of w and signed ones of x, and wraps.  The products of even
 * and odd bytes, two of them together at most 255 * 256, go as 16 bits into vpmaddwd, which adds pairs in 32. */
EMU __m256i emu_vpdpbusd(__m256i sum, __m256i w, __m256i x)
{
    const __m256i w0 = _mm256_and_si256(w, _mm256_set1_epi16(255)), w1 = _mm256_srli_epi16(w, 8);
    const __m256i x0 = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), x1 = _mm256_srai_epi16(x, 8);
    return _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(w0, x0), _mm256_madd_epi16(w1, x1)));
}
EMU __m512i emu_dpbusd_epi32(__m512i sum, __m512i w, __m512i x)
{
    emu_si s = {sum}, a = {w}, b = {x};
    for (int i = 0; i < 2; i++) s.half[i] = emu_vpdpbusd(s.half[i], a.half[i], b.half[i]);
    return s.v;
}

#define _mm256_dpbusd_avx_epi32 emu_vpdpbusd
#define _mm512_dpbusd_epi32 emu_dpbusd_epi32
#endif
