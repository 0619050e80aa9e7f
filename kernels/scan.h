/* scan.h - the source of the loops that choose.h names, and e^x for them.  Source, not interface: choose.c and rows.h
 * include it.
 *
 * Vectors are as wide as the machine that is compiled for has them.  Nothing is fused, and the order of sums is fixed
 * (16 partial sums a run, by index modulo 16, folded in halves): the same bits on every machine with IEEE doubles,
 * whatever its C library. */
#ifndef SCAN_H
#define SCAN_H
#include "kernels/choose.h"
#include <math.h>

#define SCAN_INLINE static inline __attribute__((always_inline, unused))

enum { SCAN_PARTS = 16 };

/* ------------------------------------------------------------------------ words */

/* scan_vf are floats, scan_vd half as many doubles.  The larger of two is a > b ? a : b: b where either is not a
 * number.  (Compilers do all this in the last form too, but slowly.) */
#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512 scan_vf;
typedef __m512d scan_vd;
typedef __m512i scan_vi;
SCAN_INLINE scan_vd scan_doubles(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
SCAN_INLINE scan_vf scan_larger(scan_vf a, scan_vf b) { return _mm512_max_ps(a, b); }
SCAN_INLINE scan_vd scan_larger_d(scan_vd a, scan_vd b) { return _mm512_max_pd(a, b); }
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256 scan_vf;
typedef __m256d scan_vd;
typedef __m256i scan_vi;
SCAN_INLINE scan_vd scan_doubles(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
SCAN_INLINE scan_vf scan_larger(scan_vf a, scan_vf b) { return _mm256_max_ps(a, b); }
SCAN_INLINE scan_vd scan_larger_d(scan_vd a, scan_vd b) { return _mm256_max_pd(a, b); }
#else
typedef float scan_vf __attribute__((vector_size(16)));
typedef double scan_vd __attribute__((vector_size(16)));
typedef int64_t scan_vi __attribute__((vector_size(16)));
SCAN_INLINE scan_vd scan_doubles(const float *p) { return (scan_vd){(double)p[0], (double)p[1]}; }
SCAN_INLINE scan_vf scan_larger(scan_vf a, scan_vf b)
{
    const scan_vi where = (scan_vi)(a > b);
    return (scan_vf)(((scan_vi)a & where) | ((scan_vi)b & ~where));
}
SCAN_INLINE scan_vd scan_larger_d(scan_vd a, scan_vd b)
{
    const scan_vi where = a > b;
    return (scan_vd)(((scan_vi)a & where) | ((scan_vi)b & ~where));
}
#endif

/* --------------------------------------------------------------------- 2 to the t */

enum { SCAN_LEAST = -1000 }; /* 2^t is 2^-1000 for all below, and for what is no number: nothing beside a 1 */

/* t <= 0.  t = n + f with n whole and |f| <= 1/2; the polynomial is a least-squares fit of (2^f - 1) / f, its relative
 * error 2.5e-16.  2^0 is 1 exactly. */
SCAN_INLINE scan_vd scan_exp2(scan_vd t)
{
    const scan_vd zero = {0};
    t = scan_larger_d(t, zero + SCAN_LEAST);
    const scan_vd shifted = t + 0x1.8p52, f = t - (shifted - 0x1.8p52), f2 = f * f;
    scan_vd even = f2 * 0x1.e3ead2ded9e74p-28 + 0x1.62c11d721d277p-20;
    scan_vd odd = f2 * 0x1.b673e29dcd58ap-24 + 0x1.ffcb561ae34b8p-17;
    even = even * f2 + 0x1.4309127f02e3ep-13;
    odd = odd * f2 + 0x1.5d87fe9cb2de9p-10;
    even = even * f2 + 0x1.3b2ab6fbcfd8dp-7;
    odd = odd * f2 + 0x1.c6b08d703d532p-5;
    even = even * f2 + 0x1.ebfbdff82c467p-3;
    odd = odd * f2 + 0x1.62e42fefa3a17p-1;
    even = even * f2 + 1.0;
    return (scan_vd)((scan_vi)(even + odd * f) + ((scan_vi)shifted << 52)); /* n is in shifted's low bits: times 2^n */
}

static const double scan_log2_e = 0x1.71547652b82fep+0;

/* e^x for one x <= 0; 0 from about -693 down, and where x is not a number. */
static inline double scan_exp(double x)
{
    const double t = x * scan_log2_e;
    return t > SCAN_LEAST ? scan_exp2((scan_vd){0} + t)[0] : 0.0;
}

/* ------------------------------------------------------------------------ a run */

/* 16 values of a run of which `left` are to come; what is missing is -inf. */
SCAN_INLINE const float *scan_sixteen(const float *v, int left, float *room)
{
    if (left >= SCAN_PARTS) return v;
    for (int j = 0; j < SCAN_PARTS; j++) room[j] = j < left ? v[j] : -INFINITY;
    return room;
}

SCAN_INLINE float scan_peak(const float *v, int n)
{
    enum { WIDE = sizeof(scan_vf) / sizeof(float), VECS = SCAN_PARTS / WIDE };
    scan_vf part[VECS], more;
    float lane[SCAN_PARTS], room[SCAN_PARTS];
    for (int k = 0; k < VECS; k++) part[k] = (scan_vf){0} - INFINITY;
    for (int i = 0; i < n; i += SCAN_PARTS) {
        const float *at = scan_sixteen(v + i, n - i, room);
        for (int k = 0; k < VECS; k++) {
            memcpy(&more, at + k * WIDE, sizeof more);
            part[k] = scan_larger(more, part[k]);
        }
    }
    memcpy(lane, part, sizeof lane);
    for (int half = SCAN_PARTS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) lane[j] = lane[j + half] > lane[j] ? lane[j + half] : lane[j];
    return lane[0];
}

SCAN_INLINE double scan_mass(const float *v, int n, double top, double by)
{
    enum { WIDE = sizeof(scan_vd) / sizeof(double), VECS = SCAN_PARTS / WIDE };
    scan_vd part[VECS] = {0};
    double lane[SCAN_PARTS];
    float room[SCAN_PARTS];
    for (int i = 0; i < n; i += SCAN_PARTS) {
        const float *at = scan_sixteen(v + i, n - i, room);
        for (int k = 0; k < VECS; k++) part[k] += scan_exp2((scan_doubles(at + k * WIDE) - top) * by);
    }
    memcpy(lane, part, sizeof lane);
    for (int half = SCAN_PARTS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) lane[j] += lane[j + half];
    return lane[0];
}

static void scan_peaks(void *self, const float *v, int n, float *peak)
{
    (void)self;
    for (int i = 0; i < n; i += CHOOSE_RUN) *peak++ = scan_peak(v + i, MIN(n - i, CHOOSE_RUN));
}

static void scan_masses(void *self, const float *v, int n, float top, double sharp, double *mass)
{
    (void)self;
    const double by = sharp * scan_log2_e;
    for (int i = 0; i < n; i += CHOOSE_RUN) *mass++ = scan_mass(v + i, MIN(n - i, CHOOSE_RUN), (double)top, by);
}

#define SCAN_FUNCTIONS {.peaks = scan_peaks, .masses = scan_masses}
#endif
