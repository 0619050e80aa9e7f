/* weights.cuh - the packed groups of 32 rows (kernels/cpu/pack.h draws them), seen from one lane: a lane is a row.
 *
 * A block of a type is RUNS runs of 32 values, a run 8 steps of 4 values.  quants() gives a step's 4 integers as the
 * bytes of a dword; what they count from (8, 16, 32) is the caller's affair, so that sums may start with it. */
#ifndef CUDA_WEIGHTS_CUH
#define CUDA_WEIGHTS_CUH
#include "kernels/cuda/device.h"

enum { LINE = 128 }; /* bytes of a line: a dword a row */

template <ktype TYPE> struct form;
template <> struct form<KT_Q8_0> { enum { RUNS = 1, BYTES = 34, HALVES = 1, MINIMUM = 0, FROM = 0 }; };
template <> struct form<KT_Q4_0> { enum { RUNS = 1, BYTES = 18, HALVES = 1, MINIMUM = 0, FROM = 8 }; };
template <> struct form<KT_Q4_1> { enum { RUNS = 1, BYTES = 20, HALVES = 2, MINIMUM = 1, FROM = 0 }; };
template <> struct form<KT_Q5_0> { enum { RUNS = 1, BYTES = 22, HALVES = 1, MINIMUM = 0, FROM = 16 }; };
template <> struct form<KT_Q5_1> { enum { RUNS = 1, BYTES = 24, HALVES = 2, MINIMUM = 1, FROM = 0 }; };
template <> struct form<KT_Q4_K> { enum { RUNS = 8, BYTES = 144, HALVES = 2, MINIMUM = 1, FROM = 0 }; };
template <> struct form<KT_Q5_K> { enum { RUNS = 8, BYTES = 176, HALVES = 2, MINIMUM = 1, FROM = 0 }; };
template <> struct form<KT_Q6_K> { enum { RUNS = 8, BYTES = 210, HALVES = 1, MINIMUM = 0, FROM = 32 }; };

__device__ __forceinline__ uint32_t dword_at(const uint8_t *line, int lane)
{
    return *reinterpret_cast<const uint32_t *>(line + 4 * lane);
}

/* The scale d, or with which = 1 the minimum's, of a block. */
__device__ __forceinline__ float half_of(const uint8_t *block, int which, int lane)
{
    return half_at(block + 64 * which + 2 * lane);
}

/* Step s of lines woven in fives. */
__device__ __forceinline__ uint32_t of_fives(const uint8_t *lines, int s, int lane)
{
    if (s < 5) return dword_at(lines + s * LINE, lane) & 0x1f1f1f1fu;
    const int three = s == 5 ? 0 : s == 6 ? 2 : 4; /* the line of whose bits the step has three */
    const uint32_t high = dword_at(lines + three * LINE, lane) >> 3 & 0x1c1c1c1cu;
    if (s < 7) return high | (dword_at(lines + (three + 1) * LINE, lane) >> 6 & 0x03030303u);
    return high | (dword_at(lines + 3 * LINE, lane) >> 4 & 0x02020202u) |
           (dword_at(lines + LINE, lane) >> 5 & 0x01010101u);
}

template <ktype TYPE> __device__ __forceinline__ uint32_t quants(const uint8_t *block, int run, int s, int lane)
{
    const uint8_t *fields = block + 64 * form<TYPE>::HALVES;
    if (TYPE == KT_Q8_0) return dword_at(fields + s * LINE, lane) ^ 0x80808080u;
    if (TYPE == KT_Q4_0 || TYPE == KT_Q4_1)
        return dword_at(fields + s % 4 * LINE, lane) >> s / 4 * 4 & 0x0f0f0f0fu;
    if (TYPE == KT_Q5_0 || TYPE == KT_Q5_1) return of_fives(fields, s, lane);
    if (TYPE == KT_Q4_K)
        return dword_at(fields + (3 + run / 2 * 8 + s) * LINE, lane) >> run % 2 * 4 & 0x0f0f0f0fu;
    if (TYPE == KT_Q5_K) {
        const uint32_t low = dword_at(fields + (11 + run / 2 * 8 + s) * LINE, lane) >> run % 2 * 4 & 0x0f0f0f0fu;
        return low | (dword_at(fields + (3 + s) * LINE, lane) >> run & 0x01010101u) << 4;
    }
    /* Q6_K: run is 0..3 of each half */
    const uint8_t *lines = fields + (4 + 24 * (run / 4) + 3 * s) * LINE;
    if (run % 4 < 3) return dword_at(lines + run % 4 * LINE, lane) & 0x3f3f3f3fu;
    return (dword_at(lines, lane) >> 2 & 0x30303030u) | (dword_at(lines + LINE, lane) >> 4 & 0x0c0c0c0cu) |
           (dword_at(lines + 2 * LINE, lane) >> 6 & 0x03030303u);
}

/* Byte i of the 12 (or 16) bytes of scales of a row. */
__device__ __forceinline__ uint32_t scale_byte(const uint8_t *scales, int i, int lane)
{
    return dword_at(scales + i / 4 * LINE, lane) >> i % 4 * 8 & 255u;
}

/* Q4_K and Q5_K: the 6-bit scale and minimum of a run (quant.c draws them). */
__device__ __forceinline__ void run_scale(const uint8_t *scales, int run, int lane, float *scale, float *min)
{
    if (run < 4) {
        *scale = static_cast<float>(scale_byte(scales, run, lane) & 63u);
        *min = static_cast<float>(scale_byte(scales, run + 4, lane) & 63u);
    } else {
        const uint32_t low = scale_byte(scales, run + 4, lane);
        *scale = static_cast<float>((low & 15u) | scale_byte(scales, run - 4, lane) >> 6 << 4);
        *min = static_cast<float>(low >> 4 | scale_byte(scales, run, lane) >> 6 << 4);
    }
}

/* Q6_K: the signed scale of 16 values. */
__device__ __forceinline__ int part_scale(const uint8_t *scales, int i, int lane)
{
    return static_cast<int8_t>(scale_byte(scales, i, lane));
}

/* One value as a float, rounded as quant.c rounds. */
template <ktype TYPE> __device__ float value_of(const uint8_t *block, int k, int lane)
{
    const int run = k / 32, s = k % 32 / 4;
    const uint32_t byte = quants<TYPE>(block, run, s, lane) >> k % 4 * 8 & 255u;
    const float d = half_of(block, 0, lane);
    if (TYPE == KT_Q8_0) return __fmul_rn(static_cast<float>(static_cast<int8_t>(byte)), d);
    const float q = static_cast<float>(static_cast<int>(byte) - form<TYPE>::FROM);
    if (TYPE == KT_Q4_K || TYPE == KT_Q5_K) {
        float scale, min;
        run_scale(block + 128, run, lane, &scale, &min);
        return __fsub_rn(__fmul_rn(__fmul_rn(scale, d), q), __fmul_rn(min, half_of(block, 1, lane)));
    }
    if (TYPE == KT_Q6_K)
        return __fmul_rn(__fmul_rn(d, static_cast<float>(part_scale(block + 64, k / 16, lane))), q);
    if (form<TYPE>::MINIMUM) return __fadd_rn(__fmul_rn(q, d), half_of(block, 1, lane));
    return __fmul_rn(q, d);
}

/* Plain floats: one k is a line of 32 values. */
template <ktype TYPE> __device__ __forceinline__ float plain_at(const uint8_t *group, size_t k, int lane)
{
    if (TYPE == KT_F32) return *reinterpret_cast<const float *>(group + k * 128 + 4 * static_cast<size_t>(lane));
    const uint8_t *p = group + k * 64 + 2 * static_cast<size_t>(lane);
    if (TYPE == KT_F16) return half_at(p);
    return __uint_as_float(static_cast<unsigned>(*reinterpret_cast<const unsigned short *>(p)) << 16);
}

/* Column k of a lane's row in a group of 32 rows of a matrix of so many columns. */
template <ktype TYPE>
__device__ float packed_at(const uint8_t *data, size_t cols, size_t group, size_t k, int lane)
{
    if constexpr (TYPE == KT_F32 || TYPE == KT_F16 || TYPE == KT_BF16) {
        return plain_at<TYPE>(data + group * cols * (TYPE == KT_F32 ? 128 : 64), k, lane);
    } else {
        const size_t block = 32 * form<TYPE>::RUNS, bytes = WARP * form<TYPE>::BYTES;
        return value_of<TYPE>(data + (group * (cols / block) + k / block) * bytes, static_cast<int>(k % block), lane);
    }
}
#endif
