/* simd_avxvnni.h - the vector words of AVX2 with VNNI in 256 bits (AVX-VNNI): those of simd_avx2.h, and byte products
 * that need neither spilling nor signs. */
#ifndef SIMD_AVXVNNI_H
#define SIMD_AVXVNNI_H
#define SIMD_VNNI
#include "kernels/cpu/simd_avx2.h"

typedef struct { __m256i sum; } vacc;

/* Assembly, because gcc 12 copies the accumulator before each _mm256_dpbusd_avx_epi32 of a loop; {vex}, because the
 * same instruction of AVX-512 is another one to the processor. */
INLINE vacc vacc_dot(vacc a, vi w, vi x)
{
#if !ISA_EMULATED
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(a.sum) : "x"(w), "x"(x));
#else
    a.sum = _mm256_dpbusd_avx_epi32(a.sum, w, x);
#endif
    return a;
}
INLINE vacc vacc_dot_at(vacc a, vi w, const void *x)
{
    int32_t v;
    memcpy(&v, x, sizeof v);
    return vacc_dot(a, w, vi_set1(v));
}
INLINE vacc vacc_start(vi first) { return (vacc){first}; }
INLINE vacc vacc_spill(vacc a) { return a; }
INLINE vi vacc_end(vacc a, vi first)
{
    (void)first;
    return a.sum;
}

INLINE vi vi_pick8(const int8_t *table, vi v)
{
    const __m128i signed16 = _mm_loadu_si128((const __m128i_u *)table); /* what is flipped is the table */
    return _mm256_shuffle_epi8(vi_flip8(_mm256_broadcastsi128_si256(signed16)), v);
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
#endif
