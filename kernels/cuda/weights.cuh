/* weights.cuh - the packed groups of 32 rows (kernels/cpu/pack.h draws them), seen from one lane: a lane is a row.
 *
 * A block of a type is BYTES * 32 bytes.  A unit is what lies in lines of its own: one run of 32 values, two of Q4_K,
 * Q5_K and IQ4_XS, four of Q6_K, Q3_K and Q2_K.  Of a run, q() gives the 4 integers of a step s of 8 as the bytes of a
 * dword, which count from FROM, once load() has got the unit's dwords; words() gets those of two steps, s and s + 4, of
 * all runs from memory.  A value is step() * (integer - FROM) - below(), once scales() has got what they are made of
 * (load() does, too); of types with SIXTEENS d * part_scale() is the step, and m * part_min() what is below. */
#ifndef CUDA_WEIGHTS_CUH
#define CUDA_WEIGHTS_CUH
#include "kernels/cuda/device.h"

enum { LINE = 128 }; /* bytes of a line: a dword a row */

__device__ __forceinline__ uint32_t dword_at(const uint8_t *line, int lane)
{
    return *reinterpret_cast<const uint32_t *>(line + 4 * lane);
}

/* A block's scale d, or with which = 1 the minimum's. */
__device__ __forceinline__ float half_of(const uint8_t *block, int which, int lane)
{
    return half_at(block + 64 * which + 2 * lane);
}

/* --------------------------------------------------------------- types of one run a block */

template <int OF, int LINES, bool MINIMUM> struct simple {
    enum { RUNS = 1, IN_BLOCK = 1, FROM = OF };
    float d, m;
    uint32_t line[LINES];

    static __device__ __forceinline__ uint32_t at(const uint8_t *block, int i, int lane)
    {
        return dword_at(block + 64 + 64 * MINIMUM + i * LINE, lane);
    }
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned, int lane)
    {
        d = half_of(block, 0, lane);
        m = MINIMUM ? -half_of(block, 1, lane) : 0.0f;
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int i = 0; i < LINES; i++) line[i] = at(block, i, lane);
    }
    __device__ __forceinline__ float step(int) const { return d; }
    __device__ __forceinline__ float below(int) const { return m; }
};

struct bytes_q8 : simple<0, 8, false> {
    enum { BYTES = 34, HAS_MINIMUM = false };
    __device__ __forceinline__ uint32_t q(int, int s) const { return line[s] ^ 0x80808080u; }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned, int s, int lane, uint32_t (&q)[1][2])
    {
        q[0][0] = at(block, s, lane) ^ 0x80808080u, q[0][1] = at(block, s + 4, lane) ^ 0x80808080u;
    }
};

template <int OF, bool MINIMUM> struct nibbles : simple<OF, 4, MINIMUM> {
    enum { BYTES = MINIMUM ? 20 : 18, HAS_MINIMUM = MINIMUM };
    __device__ __forceinline__ uint32_t q(int, int s) const { return this->line[s % 4] >> s / 4 * 4 & 0x0f0f0f0fu; }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned, int s, int lane, uint32_t (&q)[1][2])
    {
        const uint32_t both = nibbles::at(block, s, lane);
        q[0][0] = both & 0x0f0f0f0fu, q[0][1] = both >> 4 & 0x0f0f0f0fu;
    }
};

/* Lines woven in fives. */
template <int OF, bool MINIMUM> struct fives : simple<OF, 5, MINIMUM> {
    enum { BYTES = MINIMUM ? 24 : 22, HAS_MINIMUM = MINIMUM };
    __device__ __forceinline__ uint32_t q(int, int s) const
    {
        const uint32_t *l = this->line;
        if (s < 5) return l[s] & 0x1f1f1f1fu;
        const uint32_t high = l[s == 5 ? 0 : s == 6 ? 2 : 4] >> 3 & 0x1c1c1c1cu; /* of which the step has three bits */
        if (s < 7) return high | (l[s == 5 ? 1 : 3] >> 6 & 0x03030303u);
        return high | (l[3] >> 4 & 0x02020202u) | (l[1] >> 5 & 0x01010101u);
    }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned, int s, int lane, uint32_t (&q)[1][2])
    {
        fives of;
        of.load(block, 0, lane);
        q[0][0] = s == 0 ? of.q(0, 0) : s == 1 ? of.q(0, 1) : s == 2 ? of.q(0, 2) : of.q(0, 3);
        q[0][1] = s == 0 ? of.q(0, 4) : s == 1 ? of.q(0, 5) : s == 2 ? of.q(0, 6) : of.q(0, 7);
    }
};

/* Bytes of a table of 16 that the nibbles of `which` name: of the lower ones at [0], of the upper ones at [1]. */
__device__ __forceinline__ void pick16(const uint32_t (&table)[4], uint32_t which, uint32_t (&picked)[2])
{
    const uint32_t of_eight = which & 0x77777777u, half = 0x32103210u | (which & 0x88888888u) >> 1;
    uint32_t two[2]; /* of the lower and upper nibbles of bytes 0 and 1, then of 2 and 3 */
    for (int i = 0; i < 2; i++) {
        const uint32_t low = __byte_perm(table[0], table[1], of_eight >> 16 * i);
        const uint32_t high = __byte_perm(table[2], table[3], of_eight >> 16 * i);
        two[i] = __byte_perm(low, high, half >> 16 * i);
    }
    picked[0] = __byte_perm(two[0], two[1], 0x6420u), picked[1] = __byte_perm(two[0], two[1], 0x7531u);
}

/* The values, signed, that nibbles name: MXFP4's twice as large (quant.c), and IQ4's. */
template <ktype TYPE> __device__ __forceinline__ void named(uint32_t names, uint32_t (&q)[2])
{
    if constexpr (TYPE == KT_MXFP4) {
        const uint32_t table[4] = {0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu};
        pick16(table, names, q);
    } else {
        const uint32_t table[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
        pick16(table, names, q);
    }
}

/* MXFP4 and IQ4_NL; a block begins with its scales, which of MXFP4 are a byte a row. */
template <ktype TYPE> struct named_values {
    enum { RUNS = 1, IN_BLOCK = 1, FROM = 0, HAS_MINIMUM = false, BYTES = TYPE == KT_MXFP4 ? 17 : 18 };
    float d;
    uint32_t line[4];

    static __device__ __forceinline__ uint32_t at(const uint8_t *block, int i, int lane)
    {
        return dword_at(block + (TYPE == KT_MXFP4 ? WARP : 2 * WARP) + i * LINE, lane);
    }
    /* MXFP4's is half of quant_e8m0(), which is exact: 2^-127 and what is below are no normal floats. */
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned, int lane)
    {
        if constexpr (TYPE == KT_MXFP4) {
            const uint32_t e = block[lane], bits = e < 2 ? 1u << 21 << e : (e - 1) << 23;
            d = e == 255 ? NAN : __uint_as_float(bits);
        } else {
            d = half_of(block, 0, lane);
        }
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int i = 0; i < 4; i++) line[i] = at(block, i, lane);
    }
    __device__ __forceinline__ uint32_t q(int, int s) const
    {
        uint32_t both[2];
        named<TYPE>(line[s % 4], both);
        return both[s / 4];
    }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned, int s, int lane, uint32_t (&q)[1][2])
    {
        named<TYPE>(at(block, s, lane), q[0]);
    }
    __device__ __forceinline__ float step(int) const { return d; }
    __device__ __forceinline__ float below(int) const { return 0; }
};

/* ---------------------------------------------------------- types of eight runs a block */

/* Q4_K and Q5_K: a pair of runs, with 6-bit scales and minima (quant.c draws them). */
template <bool FIVE> struct pair_of_runs {
    enum { RUNS = 2, IN_BLOCK = 4, FROM = 0, HAS_MINIMUM = true, BYTES = FIVE ? 176 : 144 };
    float d, m;
    unsigned pair;
    uint32_t scale[3], line[8], high[FIVE ? 8 : 1];

    static __device__ __forceinline__ uint32_t line_at(const uint8_t *block, unsigned which, int s, int lane)
    {
        return dword_at(block + 128 + (FIVE ? 11 : 3) * LINE + which * 8 * LINE + s * LINE, lane);
    }
    static __device__ __forceinline__ uint32_t high_at(const uint8_t *block, int s, int lane)
    {
        return FIVE ? dword_at(block + 128 + (3 + s) * LINE, lane) : 0;
    }
    static __device__ __forceinline__ uint32_t joined(uint32_t low, uint32_t high, unsigned pair, int run)
    {
        low = low >> run * 4 & 0x0f0f0f0fu;
        return FIVE ? low | (high >> (2 * pair + static_cast<unsigned>(run)) & 0x01010101u) << 4 : low;
    }
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned which, int lane)
    {
        pair = which;
        d = half_of(block, 0, lane), m = half_of(block, 1, lane);
        for (int i = 0; i < 3; i++) scale[i] = dword_at(block + 128 + i * LINE, lane);
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int s = 0; s < 8; s++) line[s] = line_at(block, which, s, lane);
        for (int s = 0; s < 8 && FIVE; s++) high[s] = high_at(block, s, lane);
    }
    __device__ __forceinline__ uint32_t q(int run, int s) const
    {
        return joined(line[s], high[FIVE ? s : 0], pair, run);
    }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned which, int s, int lane,
                                                 uint32_t (&q)[2][2])
    {
        for (int i = 0; i < 2; i++) {
            const uint32_t low = line_at(block, which, s + 4 * i, lane), top = high_at(block, s + 4 * i, lane);
            for (int run = 0; run < 2; run++) q[run][i] = joined(low, top, which, run);
        }
    }
    /* Of the first four runs the 6 bits, of the others 4 of the third dword and 2 of the first or second. */
    __device__ __forceinline__ float six(uint32_t first, int nibble, int run) const
    {
        const unsigned at = (2 * pair + static_cast<unsigned>(run)) % 4 * 8;
        const uint32_t late = (scale[2] >> at >> nibble & 15u) | (first >> at >> 6 & 3u) << 4;
        return static_cast<float>(pair < 2 ? first >> at & 63u : late);
    }
    __device__ __forceinline__ float step(int run) const { return __fmul_rn(d, six(scale[0], 0, run)); }
    __device__ __forceinline__ float below(int run) const { return __fmul_rn(m, six(scale[1], 4, run)); }
};

/* IQ4_XS: a pair of runs, with scales of 6 bits. */
struct pair_of_named {
    enum { RUNS = 2, IN_BLOCK = 4, FROM = 0, HAS_MINIMUM = false, BYTES = 136 };
    float d;
    uint32_t low, high, line[8]; /* the scales' bits, of the first run the lowest */

    static __device__ __forceinline__ uint32_t line_at(const uint8_t *block, unsigned which, int i, int lane)
    {
        return dword_at(block + 128 + LINE + which * 8 * LINE + i * LINE, lane);
    }
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned which, int lane)
    {
        d = half_of(block, 0, lane);
        high = static_cast<uint32_t>(*reinterpret_cast<const unsigned short *>(block + 64 + 2 * lane)) >> 4 * which;
        low = dword_at(block + 128, lane) >> 8 * which;
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int i = 0; i < 8; i++) line[i] = line_at(block, which, i, lane);
    }
    __device__ __forceinline__ uint32_t q(int run, int s) const
    {
        uint32_t both[2];
        named<KT_IQ4_XS>(line[4 * run + s % 4], both);
        return both[s / 4];
    }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned which, int s, int lane,
                                                 uint32_t (&q)[2][2])
    {
        for (int run = 0; run < 2; run++) named<KT_IQ4_XS>(line_at(block, which, 4 * run + s, lane), q[run]);
    }
    __device__ __forceinline__ float step(int run) const
    {
        const uint32_t six = (low >> 4 * run & 15u) | (high >> 2 * run & 3u) << 4;
        return __fmul_rn(d, static_cast<float>(static_cast<int>(six) - 32));
    }
    __device__ __forceinline__ float below(int) const { return 0; }
};

/* Q3_K and Q2_K: a half of a block, 16 values a scale; Q2_K's have minima, too. */
template <bool THREE> struct half_of_low {
    enum { RUNS = 4, IN_BLOCK = 2, FROM = THREE ? 4 : 0, HAS_MINIMUM = !THREE, BYTES = THREE ? 110 : 84 };
    float d, m;
    unsigned half;
    uint32_t scale[THREE ? 3 : 2], line[8], high[THREE ? 8 : 1];

    static __device__ __forceinline__ uint32_t line_at(const uint8_t *block, unsigned which, int s, int lane)
    {
        return dword_at(block + (THREE ? 64 + 11 * LINE : 128 + 4 * LINE) + which * 8 * LINE + s * LINE, lane);
    }
    static __device__ __forceinline__ uint32_t high_at(const uint8_t *block, int s, int lane)
    {
        return THREE ? dword_at(block + 64 + (3 + s) * LINE, lane) : 0;
    }
    static __device__ __forceinline__ uint32_t joined(uint32_t low, uint32_t high, unsigned which, int run)
    {
        if (!THREE) return low >> 2 * run & 0x03030303u;
        if (run < 2) return low >> 3 * run & 0x07070707u;
        const uint32_t nibble = high >> 4 * which;
        return run == 3 ? nibble & 0x07070707u : (low >> 6 & 0x03030303u) | (nibble >> 1 & 0x04040404u);
    }
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned which, int lane)
    {
        half = which;
        d = half_of(block, 0, lane), m = THREE ? 0.0f : half_of(block, 1, lane);
        for (unsigned i = 0; i < (THREE ? 3 : 2); i++)
            scale[i] = THREE ? dword_at(block + 64 + i * LINE, lane)
                             : dword_at(block + 128 + (2 * which + i) * LINE, lane);
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int s = 0; s < 8; s++) line[s] = line_at(block, which, s, lane);
        for (int s = 0; s < 8 && THREE; s++) high[s] = high_at(block, s, lane);
    }
    __device__ __forceinline__ uint32_t q(int run, int s) const
    {
        return joined(line[s], high[THREE ? s : 0], half, run);
    }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned which, int s, int lane,
                                                 uint32_t (&q)[4][2])
    {
        for (int i = 0; i < 2; i++) {
            const uint32_t low = line_at(block, which, s + 4 * i, lane), top = high_at(block, s + 4 * i, lane);
            for (int run = 0; run < 4; run++) q[run][i] = joined(low, top, which, run);
        }
    }
    /* Of the 16 values of a run's half: quant.c draws them. */
    __device__ __forceinline__ int part_scale(int run, int part) const
    {
        const int at = (run % 2 * 2 + part) * 8;
        if (!THREE) return static_cast<int>(scale[run / 2] >> at & 15u);
        const uint32_t low = scale[run / 2] >> at >> 4 * half & 15u;
        const uint32_t top = scale[THREE ? 2 : 0] >> at >> 2 * (2 * half + static_cast<unsigned>(run) / 2) & 3u;
        return static_cast<int>(low | top << 4) - 32;
    }
    __device__ __forceinline__ int part_min(int run, int part) const
    {
        return THREE ? 0 : static_cast<int>(scale[run / 2] >> ((run % 2 * 2 + part) * 8 + 4) & 15u);
    }
};

/* Q6_K: a half of a block, 16 values a scale. */
struct half_of_six {
    enum { RUNS = 4, IN_BLOCK = 2, FROM = 32, HAS_MINIMUM = false, BYTES = 210 };
    float d, m = 0;
    uint32_t scale[2], line[24];

    static __device__ __forceinline__ uint32_t line_at(const uint8_t *block, unsigned which, int i, int lane)
    {
        return dword_at(block + 64 + (4 + 24 * which) * LINE + i * LINE, lane);
    }
    static __device__ __forceinline__ uint32_t joined(const uint32_t *l, int run)
    {
        if (run < 3) return l[run] & 0x3f3f3f3fu;
        return (l[0] >> 2 & 0x30303030u) | (l[1] >> 4 & 0x0c0c0c0cu) | (l[2] >> 6 & 0x03030303u);
    }
    __device__ __forceinline__ void scales(const uint8_t *block, unsigned which, int lane)
    {
        d = half_of(block, 0, lane);
        for (unsigned i = 0; i < 2; i++) scale[i] = dword_at(block + 64 + (2 * which + i) * LINE, lane);
    }
    __device__ __forceinline__ void load(const uint8_t *block, unsigned which, int lane)
    {
        scales(block, which, lane);
        for (int i = 0; i < 24; i++) line[i] = line_at(block, which, i, lane);
    }
    __device__ __forceinline__ uint32_t q(int run, int s) const { return joined(line + 3 * s, run); }
    static __device__ __forceinline__ void words(const uint8_t *block, unsigned which, int s, int lane,
                                                 uint32_t (&q)[4][2])
    {
        for (int i = 0; i < 2; i++) {
            uint32_t l[3];
            for (int j = 0; j < 3; j++) l[j] = line_at(block, which, 3 * (s + 4 * i) + j, lane);
            for (int run = 0; run < 4; run++) q[run][i] = joined(l, run);
        }
    }
    /* The signed scale of the 16 values of a run's half. */
    __device__ __forceinline__ int part_scale(int run, int half) const
    {
        return static_cast<int8_t>(scale[run / 2] >> (run % 2 * 2 + half) * 8 & 255u);
    }
    __device__ __forceinline__ int part_min(int, int) const { return 0; }
};

template <ktype TYPE> struct unit_of_type;
template <> struct unit_of_type<KT_Q8_0> { typedef bytes_q8 unit; };
template <> struct unit_of_type<KT_Q4_0> { typedef nibbles<8, false> unit; };
template <> struct unit_of_type<KT_Q4_1> { typedef nibbles<0, true> unit; };
template <> struct unit_of_type<KT_Q5_0> { typedef fives<16, false> unit; };
template <> struct unit_of_type<KT_Q5_1> { typedef fives<0, true> unit; };
template <> struct unit_of_type<KT_MXFP4> { typedef named_values<KT_MXFP4> unit; };
template <> struct unit_of_type<KT_IQ4_NL> { typedef named_values<KT_IQ4_NL> unit; };
template <> struct unit_of_type<KT_IQ4_XS> { typedef pair_of_named unit; };
template <> struct unit_of_type<KT_Q2_K> { typedef half_of_low<false> unit; };
template <> struct unit_of_type<KT_Q3_K> { typedef half_of_low<true> unit; };
template <> struct unit_of_type<KT_Q4_K> { typedef pair_of_runs<false> unit; };
template <> struct unit_of_type<KT_Q5_K> { typedef pair_of_runs<true> unit; };
template <> struct unit_of_type<KT_Q6_K> { typedef half_of_six unit; };
template <ktype TYPE> using unit = typename unit_of_type<TYPE>::unit;

/* Types with a scale for 16 values: a unit has d, part_scale() and, of a minimum, m and part_min(). */
template <ktype TYPE> constexpr bool SIXTEENS = TYPE == KT_Q6_K || TYPE == KT_Q3_K || TYPE == KT_Q2_K;

/* Types whose integers have a sign of their own. */
template <ktype TYPE>
constexpr bool SIGNED = TYPE == KT_Q8_0 || TYPE == KT_MXFP4 || TYPE == KT_IQ4_NL || TYPE == KT_IQ4_XS;

/* ------------------------------------------------------------------------------- groups */

template <ktype TYPE> constexpr bool PLAIN = TYPE == KT_F32 || TYPE == KT_F16 || TYPE == KT_BF16;

/* Bytes of 32 rows and all k. */
template <ktype TYPE> __device__ __forceinline__ size_t group_bytes(size_t cols)
{
    if constexpr (PLAIN<TYPE>) return cols * (TYPE == KT_F32 ? 128 : 64);
    else return cols / (32 * unit<TYPE>::RUNS * unit<TYPE>::IN_BLOCK) * (WARP * unit<TYPE>::BYTES);
}

/* Unit number u of a group: its block, and which of that block's it is. */
template <ktype TYPE> struct unit_at {
    const uint8_t *block;
    unsigned which;
    __device__ __forceinline__ unit_at(const uint8_t *group, int u)
    {
        const unsigned n = static_cast<unsigned>(u);
        block = group + static_cast<size_t>(n / unit<TYPE>::IN_BLOCK) * (WARP * unit<TYPE>::BYTES);
        which = n % unit<TYPE>::IN_BLOCK;
    }
};

/* Value i of step s of a run as a float, rounded as quant.c rounds. */
template <ktype TYPE> __device__ __forceinline__ float value_of(const unit<TYPE> &of, int run, int s, int i)
{
    const uint32_t byte = of.q(run, s) >> i * 8 & 255u;
    const float q = static_cast<float>(SIGNED<TYPE> ? static_cast<int8_t>(byte)
                                                    : static_cast<int>(byte) - unit<TYPE>::FROM);
    float step, below;
    if constexpr (SIXTEENS<TYPE>) {
        step = __fmul_rn(of.d, static_cast<float>(of.part_scale(run, s / 4)));
        below = __fmul_rn(of.m, static_cast<float>(of.part_min(run, s / 4)));
    } else {
        step = of.step(run), below = of.below(run);
    }
    const float v = __fmul_rn(step, q);
    return unit<TYPE>::HAS_MINIMUM ? __fsub_rn(v, below) : v;
}

/* Plain floats: one k is a line of 32 values. */
template <ktype TYPE> __device__ __forceinline__ float plain_at(const uint8_t *group, size_t k, int lane)
{
    if (TYPE == KT_F32) return *reinterpret_cast<const float *>(group + k * 128 + 4 * static_cast<size_t>(lane));
    const uint8_t *p = group + k * 64 + 2 * static_cast<size_t>(lane);
    if (TYPE == KT_F16) return half_at(p);
    return __uint_as_float(static_cast<unsigned>(*reinterpret_cast<const unsigned short *>(p)) << 16);
}

/* All values of units first, first + step, ... of a lane's row, handed to put(k, value); of plain floats a unit is
 * 32 k. */
template <ktype TYPE, class PUT>
__device__ __forceinline__ void unpack_units(const uint8_t *group, int cols, int lane, int first, int step,
                                             const PUT &put)
{
    if constexpr (PLAIN<TYPE>) {
        for (int u = first; u < (cols + 31) / 32; u += step)
            for (int k = 32 * u; k < 32 * u + 32 && k < cols; k++)
                put(k, plain_at<TYPE>(group, static_cast<size_t>(k), lane));
    } else {
        enum { LONG = 32 * unit<TYPE>::RUNS };
        for (int u = first; u < cols / LONG; u += step) {
            const unit_at<TYPE> at(group, u);
            unit<TYPE> of;
            of.load(at.block, at.which, lane);
            for (int run = 0; run < unit<TYPE>::RUNS; run++)
                for (int s = 0; s < 8; s++)
                    for (int i = 0; i < 4; i++) put(u * LONG + run * 32 + s * 4 + i, value_of<TYPE>(of, run, s, i));
        }
    }
}
#endif
