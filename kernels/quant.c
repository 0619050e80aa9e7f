/* quant.c - tensor types: their table, and each usable block decoded from its bits.
 *
 * A block is a few scales and packed integers; the drawings below show its bytes from left to right, low address
 * first.  All numbers are little-endian.  "lo" and "hi" are the nibbles of a byte: byte & 15 and byte >> 4.  Products
 * of scales and integers are done in float in the order written, so that a decoder of that order agrees to the bit. */
#include "kernels/quant.h"
#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "F32 tensors are copied as they lie: little-endian only");

static const struct ktype_info types[KT_END] = {
    [KT_F32] = {"F32", 1, 4, true},
    [KT_F16] = {"F16", 1, 2, true},
    [KT_Q4_0] = {"Q4_0", 32, 18, true},
    [KT_Q4_1] = {"Q4_1", 32, 20, true},
    [KT_Q5_0] = {"Q5_0", 32, 22, true},
    [KT_Q5_1] = {"Q5_1", 32, 24, true},
    [KT_Q8_0] = {"Q8_0", 32, 34, true},
    [KT_Q8_1] = {"Q8_1", 32, 36, false},
    [KT_Q2_K] = {"Q2_K", 256, 84, true},
    [KT_Q3_K] = {"Q3_K", 256, 110, true},
    [KT_Q4_K] = {"Q4_K", 256, 144, true},
    [KT_Q5_K] = {"Q5_K", 256, 176, true},
    [KT_Q6_K] = {"Q6_K", 256, 210, true},
    [KT_Q8_K] = {"Q8_K", 256, 292, false},
    [KT_IQ2_XXS] = {"IQ2_XXS", 256, 66, false},
    [KT_IQ2_XS] = {"IQ2_XS", 256, 74, false},
    [KT_IQ3_XXS] = {"IQ3_XXS", 256, 98, false},
    [KT_IQ1_S] = {"IQ1_S", 256, 50, false},
    [KT_IQ4_NL] = {"IQ4_NL", 32, 18, true},
    [KT_IQ3_S] = {"IQ3_S", 256, 110, false},
    [KT_IQ2_S] = {"IQ2_S", 256, 82, false},
    [KT_IQ4_XS] = {"IQ4_XS", 256, 136, true},
    [KT_I8] = {"I8", 1, 1, false},
    [KT_I16] = {"I16", 1, 2, false},
    [KT_I32] = {"I32", 1, 4, false},
    [KT_I64] = {"I64", 1, 8, false},
    [KT_F64] = {"F64", 1, 8, false},
    [KT_IQ1_M] = {"IQ1_M", 256, 56, false},
    [KT_BF16] = {"BF16", 1, 2, true},
    [KT_TQ1_0] = {"TQ1_0", 256, 54, false},
    [KT_TQ2_0] = {"TQ2_0", 256, 66, false},
    [KT_MXFP4] = {"MXFP4", 32, 17, true},
    [KT_NVFP4] = {"NVFP4", 64, 36, false},
    [KT_Q1_0] = {"Q1_0", 128, 18, false},
    [KT_Q2_0] = {"Q2_0", 64, 18, false},
};

const struct ktype_info *ktype_info(uint32_t type)
{
    return type < KT_END && types[type].name ? &types[type] : NULL;
}

/* ---------------------------------------------------------------- half, brain */

static float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* f16:  s eeeee mmmmmmmmmm   bias 15.  A NaN keeps its payload and becomes quiet, as the processors' own conversions
 * make it. */
float quant_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = (h >> 10) & 31u, man = h & 0x3ffu;

    if (exp == 31) return float_of_bits(sign | 0x7f800000u | man << 13 | (man ? 0x00400000u : 0u));
    if (exp) return float_of_bits(sign | (exp + 112) << 23 | man << 13);
    float f = (float)man * 0x1p-24f; /* subnormal: exact, and zero keeps its sign below */
    return float_of_bits(sign | bits_of_float(f));
}

uint16_t quant_to_f16(float f)
{
    uint32_t u = bits_of_float(f), sign = u >> 16 & 0x8000u, abs = u & 0x7fffffffu;

    if (abs > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (abs >> 13 & 0x3ffu));
    if (abs >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
    if (abs >= 0x38800000u) { /* normal: drop 13 bits, half to even; from 65520 on this carries into infinity */
        uint32_t even = abs >> 13 & 1u;
        return (uint16_t)(sign | ((abs - (112u << 23) + 0xfffu + even) >> 13));
    }
    if (abs < 0x33000000u) return (uint16_t)sign; /* below 2^-25: zero (2^-25 itself ties to even zero below) */
    uint32_t man = (abs & 0x7fffffu) | 0x800000u, drop = 126u - (abs >> 23), kept = man >> drop;
    uint32_t rest = man & ((1u << drop) - 1u), half = 1u << (drop - 1u);
    if (rest > half || (rest == half && (kept & 1u))) kept++;
    return (uint16_t)(sign | kept); /* a carry into bit 10 is the smallest normal: the right answer */
}

/* bf16: the upper half of a float. */
float quant_bf16(uint16_t h)
{
    return float_of_bits((uint32_t)h << 16);
}

/* e8m0: a power of two, as a float has it; 2^-127 is not normal there. */
float quant_e8m0(uint8_t e)
{
    return e == 255 ? NAN : float_of_bits(e ? (uint32_t)e << 23 : 1u << 22);
}

/* --------------------------------------------------------------- the decoders */

/* Bytes that no alignment is known of. */
static uint16_t le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

static void decode_f16(const uint8_t *src, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = quant_f16(le16(src + 2 * i));
}

static void decode_bf16(const uint8_t *src, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = quant_bf16(le16(src + 2 * i));
}

/* Q8_0, 34 bytes for 32 values:
 *     | d f16 | q0 q1 ... q31 int8 |        y[i] = q[i] * d */
static void block_q8_0(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b));
    for (int i = 0; i < 32; i++) y[i] = (float)(int8_t)b[2 + i] * d;
}

/* Q4_0, 18 bytes for 32 values.  Byte i holds value i (lo) and value i + 16 (hi), stored plus 8:
 *     | d f16 | 16..0 17..1 ... 31..15 |    y[i] = (q[i] - 8) * d */
static void block_q4_0(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b));
    for (int i = 0; i < 16; i++) {
        y[i] = (float)((b[2 + i] & 15) - 8) * d;
        y[i + 16] = (float)((b[2 + i] >> 4) - 8) * d;
    }
}

/* Q4_1, 20 bytes for 32 values, with a minimum instead of the fixed 8:
 *     | d f16 | m f16 | 16..0 ... 31..15 |  y[i] = q[i] * d + m */
static void block_q4_1(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b)), m = quant_f16(le16(b + 2));
    for (int i = 0; i < 16; i++) {
        y[i] = (float)(b[4 + i] & 15) * d + m;
        y[i + 16] = (float)(b[4 + i] >> 4) * d + m;
    }
}

/* The 5-bit integers of Q5_0 and Q5_1: nibbles as in Q4_0, and bit i of the 32-bit word h is the top bit of value i. */
static void five_bits(uint32_t h, const uint8_t *nibbles, int q[32])
{
    for (int i = 0; i < 16; i++) {
        q[i] = (nibbles[i] & 15) | (int)(h >> i & 1u) << 4;
        q[i + 16] = nibbles[i] >> 4 | (int)(h >> (i + 16) & 1u) << 4;
    }
}

/* Q5_0, 22 bytes for 32 values, stored plus 16:
 *     | d f16 | h u32 | 16..0 ... 31..15 |  y[i] = (q[i] - 16) * d */
static void block_q5_0(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b));
    int q[32];
    five_bits(le32(b + 2), b + 6, q);
    for (int i = 0; i < 32; i++) y[i] = (float)(q[i] - 16) * d;
}

/* Q5_1, 24 bytes for 32 values:
 *     | d f16 | m f16 | h u32 | 16..0 ... 31..15 |    y[i] = q[i] * d + m */
static void block_q5_1(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b)), m = quant_f16(le16(b + 2));
    int q[32];
    five_bits(le32(b + 4), b + 8, q);
    for (int i = 0; i < 32; i++) y[i] = (float)q[i] * d + m;
}

/* MXFP4 (OCP Microscaling Formats 1.0, 2023), 17 bytes for 32 values.  A nibble is a float of sign, two bits of
 * exponent and one of mantissa; the scale is a power of two, e8m0.  Byte i holds value i (lo) and value i + 16 (hi):
 *     | e u8 | 16..0 17..1 ... 31..15 |      y[i] = f[q[i]] * 2^(e - 127)       e 255: no number
 * f twice as large is whole, and half the scale is exact for all e. */
static const int8_t fp4_twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void block_mxfp4(const uint8_t *b, float *y)
{
    float d = quant_e8m0(b[0]) * 0.5f;
    for (int i = 0; i < 16; i++) {
        y[i] = (float)fp4_twice[b[1 + i] & 15] * d;
        y[i + 16] = (float)fp4_twice[b[1 + i] >> 4] * d;
    }
}

/* IQ4_NL, 18 bytes for 32 values.  A nibble names one of 16 values, closer to each other near zero; nibbles as in Q4_0:
 *     | d f16 | 16..0 17..1 ... 31..15 |     y[i] = uneven[q[i]] * d */
static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void uneven_32(const uint8_t *nibbles, float d, float *y)
{
    for (int i = 0; i < 16; i++) {
        y[i] = (float)uneven[nibbles[i] & 15] * d;
        y[i + 16] = (float)uneven[nibbles[i] >> 4] * d;
    }
}

static void block_iq4_nl(const uint8_t *b, float *y)
{
    uneven_32(b + 2, quant_f16(le16(b)), y);
}

/* IQ4_XS, 136 bytes for 256 values, 8 runs of 32 of these, each with a scale of 6 bits that is stored plus 32:
 *     | d f16 | high u16 | low 4 | nibbles 128 |          y = d * (scale[run] - 32) * uneven[q]
 * Bits 3..0 of run j's scale are nibble j of low, bits 5,4 are bits 2 j + 1 and 2 j of high; bytes 16 j .. 16 j + 15 of
 * the nibbles are its own. */
static void block_iq4_xs(const uint8_t *b, float *y)
{
    const float d = quant_f16(le16(b));
    const int high = le16(b + 2);
    for (int j = 0; j < 8; j++) {
        const int scale = (b[4 + j / 2] >> j % 2 * 4 & 15) | (high >> 2 * j & 3) << 4;
        uneven_32(b + 8 + 16 * j, d * (float)(scale - 32), y + 32 * j);
    }
}

/* The 12 bytes s that hold 8 scales and 8 minima of 6 bits for Q4_K and Q5_K.  Scale and minimum j, bits 5..0:
 *              7 6 | 5 4 3 2 1 0
 *     s[0..3]  (a) | scale 0..3          (a) bits 5,4 of scale 4..7
 *     s[4..7]  (b) | minimum 0..3        (b) bits 5,4 of minimum 4..7
 *     s[8..11] bits 3..0 of minimum 4..7 in hi, of scale 4..7 in lo */
static void scale_min(const uint8_t *s, int j, float *scale, float *min)
{
    if (j < 4) {
        *scale = (float)(s[j] & 63);
        *min = (float)(s[j + 4] & 63);
    } else {
        *scale = (float)((s[j + 4] & 15) | s[j - 4] >> 6 << 4);
        *min = (float)(s[j + 4] >> 4 | s[j] >> 6 << 4);
    }
}

/* Q4_K, 144 bytes for 256 values, 8 runs of 32 that have a scale and a minimum each:
 *     | d f16 | dmin f16 | scales 12 | nibbles 128 |
 * Bytes 32 p .. 32 p + 31 of the nibbles hold run 2 p (lo) and run 2 p + 1 (hi).
 *     y = d * scale[run] * q - dmin * min[run]
 *
 * Q5_K, 176 bytes for 256 values: the same and a fifth bit; value i of run j has it in bit j of byte i of h.
 *     | d f16 | dmin f16 | scales 12 | h 32 | nibbles 128 | */
static void runs_of_32(const uint8_t *b, const uint8_t *h, const uint8_t *nibbles, float *y)
{
    float d = quant_f16(le16(b)), dmin = quant_f16(le16(b + 2));
    for (int j = 0; j < 8; j++) {
        float scale, min;
        scale_min(b + 4, j, &scale, &min);
        scale *= d;
        min *= dmin;
        for (int i = 0; i < 32; i++) {
            int q = nibbles[j / 2 * 32 + i] >> (j & 1) * 4 & 15;
            if (h) q |= (h[i] >> j & 1) << 4;
            y[j * 32 + i] = scale * (float)q - min;
        }
    }
}

static void block_q4_k(const uint8_t *b, float *y)
{
    runs_of_32(b, NULL, b + 16, y);
}

static void block_q5_k(const uint8_t *b, float *y)
{
    runs_of_32(b, b + 16, b + 48, y);
}

/* Q6_K, 210 bytes for 256 values, 16 runs of 16 with a signed scale each, values stored plus 32:
 *     | low 128 | high 64 | scales 16 int8 | d f16 |        y[i] = d * scale[i / 16] * (q[i] - 32)
 * Each half of 128 values has 64 bytes of low and 32 of high.  For i = 0..31 of the half:
 *     value      low 4 bits       bits 5,4 from high[i]
 *     i          low[i] lo        1,0
 *     i + 32     low[i + 32] lo   3,2
 *     i + 64     low[i] hi        5,4
 *     i + 96     low[i + 32] hi   7,6 */
static void block_q6_k(const uint8_t *b, float *y)
{
    float d = quant_f16(le16(b + 208));
    for (int i = 0; i < 256; i++) {
        int half = i / 128, part = i / 32 % 4, at = i % 32;
        int low = b[64 * half + 32 * (part & 1) + at] >> (part >> 1) * 4 & 15;
        int high = b[128 + 32 * half + at] >> 2 * part & 3;
        y[i] = d * (float)(int8_t)b[192 + i / 16] * (float)((low | high << 4) - 32);
    }
}

/* The two bits of value i in Q3_K and Q2_K: run 4 h + r of 32 has bits 2 r + 1 and 2 r of bytes 32 h .. 32 h + 31. */
static int two_bits(const uint8_t *low, int i)
{
    return low[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

/* Q3_K, 110 bytes for 256 values, 16 runs of 16 with a scale of 6 bits each that is stored plus 32; values stored plus
 * 4:
 *     | high 32 | low 64 | scales 12 | d f16 |             y[i] = d * (scale[i / 16] - 32) * (q[i] - 4)
 * Of value i of run j of 32 the top bit is bit j of high[i].  Scale j:
 *     bits 3..0    lo of scales[j], j < 8; hi of scales[j - 8] from there on
 *     bits 5,4     bits 2 (j / 4) + 1 and 2 (j / 4) of scales[8 + j % 4] */
static void block_q3_k(const uint8_t *b, float *y)
{
    const uint8_t *s = b + 96;
    const float d = quant_f16(le16(b + 108));
    for (int i = 0; i < 256; i++) {
        const int j = i / 16, scale = (s[j % 8] >> j / 8 * 4 & 15) | (s[8 + j % 4] >> j / 4 * 2 & 3) << 4;
        const int q = two_bits(b + 32, i) | (b[i % 32] >> i / 32 & 1) << 2;
        y[i] = d * (float)(scale - 32) * (float)(q - 4);
    }
}

/* Q2_K, 84 bytes for 256 values, 16 runs of 16 with a scale (lo) and a minimum (hi) of 4 bits each:
 *     | scales 16 | low 64 | d f16 | dmin f16 |            y[i] = d * scale[i / 16] * q[i] - dmin * min[i / 16] */
static void block_q2_k(const uint8_t *b, float *y)
{
    const float d = quant_f16(le16(b + 80)), dmin = quant_f16(le16(b + 82));
    for (int i = 0; i < 256; i++)
        y[i] = d * (float)(b[i / 16] & 15) * (float)two_bits(b + 16, i) - dmin * (float)(b[i / 16] >> 4);
}

static void (*block_decoder(enum ktype type))(const uint8_t *, float *)
{
    switch (type) {
    case KT_Q8_0: return block_q8_0;
    case KT_Q4_0: return block_q4_0;
    case KT_Q4_1: return block_q4_1;
    case KT_Q5_0: return block_q5_0;
    case KT_Q5_1: return block_q5_1;
    case KT_MXFP4: return block_mxfp4;
    case KT_Q4_K: return block_q4_k;
    case KT_Q5_K: return block_q5_k;
    case KT_Q6_K: return block_q6_k;
    case KT_IQ4_NL: return block_iq4_nl;
    case KT_IQ4_XS: return block_iq4_xs;
    case KT_Q3_K: return block_q3_k;
    case KT_Q2_K: return block_q2_k;
    default: return NULL;
    }
}

void quant_decode(enum ktype type, const void *src, float *dst, int64_t n)
{
    const struct ktype_info *t = ktype_info(type);
    assert(t && t->usable && n >= 0 && n % t->block == 0);

    if (type == KT_F32) {
        memcpy(dst, src, (size_t)n * sizeof *dst);
    } else if (type == KT_F16) {
        decode_f16(src, dst, n);
    } else if (type == KT_BF16) {
        decode_bf16(src, dst, n);
    } else {
        void (*decode)(const uint8_t *, float *) = block_decoder(type);
        const uint8_t *b = src;
        for (int64_t i = 0; i < n; i += t->block, b += t->bytes) decode(b, dst + i);
    }
}

/* --------------------------------------------------------------- activations */

/* In float, in this order, each operation rounded to nearest even and none contracted:
 *     amax  = max |x[i]|
 *     scale = amax / 127
 *     id    = 127 / amax
 *     q[i]  = integer nearest to (x[i] * id), ties to even          (|x[i] * id| <= 127.00002, so q is in -127 .. 127)
 * Two ends are cut off so that nothing overflows and no fault hides:
 *     amax < 2^-100                     q all 0, scale 0             (127 / amax would run into infinity)
 *     any x[i] infinite or not a number q all 0, scale NaN           (the row's result is then NaN, and seen)
 * |x| of floats orders as their bits do, so amax and both ends may be found with integers. */
float quant_act32(const float *x, int8_t *q)
{
    uint32_t top = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t u = bits_of_float(x[i]) & 0x7fffffffu;
        top = MAX(top, u);
    }
    float amax = float_of_bits(top);
    if (top >= 0x7f800000u || amax < 0x1p-100f) {
        memset(q, 0, 32);
        return top >= 0x7f800000u ? NAN : 0.0f;
    }
    float id = 127.0f / amax;
    for (int i = 0; i < 32; i++) {
        float v = x[i] * id;
        q[i] = (int8_t)(int)((v + 0x1.8p23f) - 0x1.8p23f); /* a sum near 1.5 * 2^23 has no fraction bits left */
    }
    return amax / 127.0f;
}

void quant_to_q8_0(const float *x, uint8_t *block)
{
    int8_t q[32];
    uint16_t d = quant_to_f16(quant_act32(x, q));
    block[0] = (uint8_t)(d & 255);
    block[1] = (uint8_t)(d >> 8);
    memcpy(block + 2, q, sizeof q);
}
