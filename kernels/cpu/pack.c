#include "kernels/cpu/pack.h"

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 32, LINE = 4 * ROWS }; /* a line: one dword of each row */

static uint16_t get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void put16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

/* ----------------------------------------------------------------------- sizes */

size_t pack_group_bytes(enum ktype type, int cols)
{
    const struct ktype_info *t = ktype_info(type);
    if (!t || !t->usable || cols <= 0 || cols % t->block) return 0;
    return (size_t)(cols / t->block) * (size_t)t->bytes * ROWS;
}

size_t pack_bytes(enum ktype type, int rows, int cols)
{
    uint64_t bytes;
    uint64_t groups = rows <= 0 ? 0 : ((uint64_t)rows + ROWS - 1) / ROWS;
    if (size_mul(groups, pack_group_bytes(type, cols), &bytes) || bytes > SIZE_MAX) return 0;
    return (size_t)bytes;
}

/* --------------------------------------------------- fields of a block, by type */

/* `dwords` dwords of the file's block from byte `from` on go to line `line` and every `step`-th behind it. */
struct span { int from, dwords, line, step; };

/* What of the file's block goes where.  The halves (d, then m) come first in the packed block, 64 bytes each; lines are
 * counted behind them. */
struct form {
    int halves, half_at[2];
    uint32_t flip; /* dwords xor this */
    int spans;
    struct span span[7];
    bool byte; /* no halves, but the file's first byte, 32 bytes of them */
    /* FIVES: lines 0 .. 4; THREES: those from the fifth on, three at a time; TOPS: those from the fourth on, three that
     * are TOPS_STEP apart at a time */
    enum { PLAIN, FIVES, THREES, TOPS } woven;
};

enum { THREES_AT = 4, THREES_END = THREES_AT + 3 * 16, TOPS_AT = 3, TOPS_STEP = 8 };

static const struct form q8_0 = {1, {0}, 0x80808080u, 1, {{2, 8, 0, 1}}, false, PLAIN};
static const struct form q4_0 = {1, {0}, 0, 1, {{2, 4, 0, 1}}, false, PLAIN};
static const struct form mxfp4 = {0, {0}, 0, 1, {{1, 4, 0, 1}}, true, PLAIN};
static const struct form q4_1 = {2, {0, 2}, 0, 1, {{4, 4, 0, 1}}, false, PLAIN};
static const struct form q5_0 = {1, {0}, 0, 1, {{2, 5, 0, 1}}, false, FIVES};
static const struct form q5_1 = {2, {0, 2}, 0, 1, {{4, 5, 0, 1}}, false, FIVES};
static const struct form q4_k = {2, {0, 2}, 0, 1, {{4, 35, 0, 1}}, false, PLAIN};
static const struct form q5_k = {2, {0, 2}, 0, 1, {{4, 43, 0, 1}}, false, PLAIN};
static const struct form iq4_xs = {2, {0, 2}, 0, 1, {{4, 33, 0, 1}}, false, PLAIN};
static const struct form q3_k = {1, {108}, 0, 2, {{96, 3, 0, 1}, {0, 24, TOPS_AT, 1}}, false, TOPS};
static const struct form q2_k = {2, {80, 82}, 0, 1, {{0, 20, 0, 1}}, false, PLAIN};
/* Scales; then for each half of 128: low bits of steps 0 .. 7, of steps 8 .. 15, high bits, 3 lines a step. */
static const struct form q6_k = {1, {208}, 0, 7, {{192, 4, 0, 1},
                                                  {0, 8, 4, 3}, {32, 8, 5, 3}, {128, 8, 6, 3},
                                                  {64, 8, 28, 3}, {96, 8, 29, 3}, {160, 8, 30, 3}},
                           false, THREES};

/* Where its lines begin. */
INLINE size_t head_bytes(const struct form *f)
{
    return f->byte ? ROWS : 64 * (size_t)f->halves;
}

static const struct form *form_of(enum ktype type)
{
    switch (type) {
    case KT_Q8_0: return &q8_0;
    case KT_Q4_0:
    case KT_IQ4_NL: return &q4_0;
    case KT_IQ4_XS: return &iq4_xs;
    case KT_MXFP4: return &mxfp4;
    case KT_Q4_1: return &q4_1;
    case KT_Q5_0: return &q5_0;
    case KT_Q5_1: return &q5_1;
    case KT_Q2_K: return &q2_k;
    case KT_Q3_K: return &q3_k;
    case KT_Q4_K: return &q4_k;
    case KT_Q5_K: return &q5_k;
    case KT_Q6_K: return &q6_k;
    default: return NULL;
    }
}

/* ---------------------------------------------------------------- small squares */

/* Vectors of the compiler: they become what the machine has, and every x86-64 has 16 bytes. */
typedef uint32_t dwords __attribute__((vector_size(16)));
typedef uint16_t words __attribute__((vector_size(16)));

/* The vector of these elements of a, then b. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif

INLINE dwords load(const uint8_t *p)
{
    dwords v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(uint8_t *p, dwords v)
{
    memcpy(p, &v, sizeof v);
}

/* The rows of a square of 4 x 4 to its columns: `line` bytes apart. */
INLINE void put_columns(dwords a, dwords b, dwords c, dwords d, uint8_t *to, size_t line)
{
    dwords ab0 = PICK(a, b, 0, 4, 1, 5), ab2 = PICK(a, b, 2, 6, 3, 7);
    dwords cd0 = PICK(c, d, 0, 4, 1, 5), cd2 = PICK(c, d, 2, 6, 3, 7);
    store(to, PICK(ab0, cd0, 0, 1, 4, 5));
    store(to + line, PICK(ab0, cd0, 2, 3, 6, 7));
    store(to + 2 * line, PICK(ab2, cd2, 0, 1, 4, 5));
    store(to + 3 * line, PICK(ab2, cd2, 2, 3, 6, 7));
}

/* --------------------------------------------------------------------- packing */

/* The dwords of a span, in squares; then those of the rows that are left. */
INLINE void pack_span(const struct span *s, uint32_t flip, int n, const uint8_t *src, size_t stride,
                      uint8_t *lines)
{
    const size_t line = (size_t)s->step * LINE;
    const int squares = s->dwords < 4 ? 0 : n / 4 * 4;
    uint8_t *to = lines + LINE * s->line;
    int r = 0;
    src += s->from;
    for (; r < squares; r += 4, src += 4 * stride, to += 16)
        for (int i = 0; i < s->dwords; i += 4) {
            const int at = MIN(i, s->dwords - 4); /* some lines twice where 4 do not divide */
            const uint8_t *p = src + 4 * at;
            put_columns(load(p) ^ flip, load(p + stride) ^ flip, load(p + 2 * stride) ^ flip,
                        load(p + 3 * stride) ^ flip, to + (size_t)at * line, line);
        }
    for (; r < n; r++, src += stride, to += 4)
        for (int i = 0; i < s->dwords; i++) put32(to + (size_t)i * line, get32(src + 4 * i) ^ flip);
}

/* Bits of mask change places with those `up` above them. */
INLINE dwords swap_bits(dwords x, unsigned up, uint32_t mask)
{
    dwords t = (x >> up ^ x) & mask;
    return x ^ t ^ t << up;
}

/* Bit 4 s + j of each dword to bit s of its byte j: the five bits of a bit's number turn round by two,
 * and each step exchanges two of them. */
INLINE dwords bits_by_byte(dwords x)
{
    x = swap_bits(x, 1, 0x22222222u);
    x = swap_bits(x, 3, 0x0a0a0a0au);
    x = swap_bits(x, 6, 0x00cc00ccu);
    return swap_bits(x, 12, 0x0000f0f0u);
}

/* A block of 5 bits as the file has it: top bits, bit k of a dword is that of value k; then low bits of steps 0 .. 3
 * (lower nibbles) and 4 .. 7.  Woven, steps 0 .. 4 are bytes of their own, and the three others what is left of them:
 * a kernel takes five of eight with one instruction. */
INLINE void weave_fives(uint8_t *a)
{
    const uint32_t low = 0x0f0f0f0fu, bit4 = 0x10101010u, bit7 = 0x80808080u, high = 0xc0c0c0c0u, mid = 0x60606060u;
    for (int i = 0; i < LINE; i += 16, a += 16) {
        const dwords top = bits_by_byte(load(a)), q0 = load(a + LINE), q1 = load(a + 2 * LINE);
        const dwords q2 = load(a + 3 * LINE), q3 = load(a + 4 * LINE);
        store(a, (q0 & low) | (top << 4 & bit4) | (q1 >> 1 & mid) | (top << 2 & bit7));
        store(a + LINE, (q1 & low) | (top << 3 & bit4) | (q1 << 2 & high) | (q3 << 1 & 0x20202020u));
        store(a + 2 * LINE, (q2 & low) | (top << 2 & bit4) | (q2 >> 1 & mid) | (top << 1 & bit7));
        store(a + 3 * LINE, (q3 & 0x2f2f2f2fu) | (top << 1 & bit4) | (q2 << 2 & high));
        store(a + 4 * LINE, (q0 >> 4 & low) | (top & (bit4 | bit7)) | (q3 >> 1 & mid));
    }
}

/* A step of half a Q6_K block as the file has it: low bits of runs 0 (lower nibbles) and 2, of runs 1 and 3, and two
 * high bits of each.  Woven, runs 0, 1 and 2 are bytes of their own, and run 3 is what is left of them: a kernel takes
 * three of four with one instruction. */
INLINE void weave_threes(uint8_t *a)
{
    for (int i = 0; i < LINE; i += 16, a += 16) {
        dwords low02 = load(a), low13 = load(a + LINE), high = load(a + 2 * LINE);
        store(a, (low02 & 0x0f0f0f0fu) | (high << 4 & 0x30303030u) | (high & 0xc0c0c0c0u));
        store(a + LINE, (low13 & 0xcfcfcfcfu) | (high << 2 & 0x30303030u));
        store(a + 2 * LINE, (low02 >> 4 & 0x0f0f0f0fu) | (high & 0x30303030u) | (low13 << 2 & 0xc0c0c0c0u));
    }
}

/* A step of a Q3_K block as the file has it: top bits of runs 0 .. 7, two bits of each of runs 0 .. 3, and of 4 .. 7.
 * Woven, the latter two have runs 0 and 1 of their half whole, from the lowest bit on, and two bits of run 2; the first
 * a nibble of each half: run 3, and the top bit of run 2.  So five operations are needed for one run of four alone. */
INLINE void weave_tops(uint8_t *a)
{
    const size_t half = TOPS_STEP * LINE;
    for (int i = 0; i < LINE; i += 16, a += 16) {
        const dwords top = load(a), q0 = load(a + half), q1 = load(a + 2 * half);
        store(a, (q0 >> 6 & 0x03030303u) | (q1 >> 2 & 0x30303030u) | (top >> 1 & 0x44444444u) |
                     (top << 1 & 0x88888888u));
        store(a + half, (q0 & 0x03030303u) | (q0 << 1 & 0x18181818u) | (q0 << 2 & 0xc0c0c0c0u) |
                            (top << 2 & 0x04040404u) | (top << 4 & 0x20202020u));
        store(a + 2 * half, (q1 & 0x03030303u) | (q1 << 1 & 0x18181818u) | (q1 << 2 & 0xc0c0c0c0u) |
                                (top >> 2 & 0x04040404u) | (top & 0x20202020u));
    }
}

/* One block of n rows; row r's is at src + r * stride. */
INLINE void pack_block(const struct form *f, int n, const uint8_t *src, size_t stride, uint8_t *dst)
{
    uint8_t *lines = dst + head_bytes(f);

    for (int r = 0; r < n; r++) {
        const uint8_t *row = src + (size_t)r * stride;
        for (int h = 0; h < f->halves; h++) put16(dst + 64 * h + 2 * r, get16(row + f->half_at[h]));
        if (f->byte) dst[r] = row[0];
    }
    for (int i = 0; i < f->spans; i++) pack_span(&f->span[i], f->flip, n, src, stride, lines);
    if (f->woven == FIVES) weave_fives(lines);
    for (int i = THREES_AT; f->woven == THREES && i < THREES_END; i += 3) weave_threes(lines + LINE * i);
    for (int i = TOPS_AT; f->woven == TOPS && i < TOPS_AT + TOPS_STEP; i++) weave_tops(lines + LINE * i);
}

/* Blocks of f, of `size` bytes each in the file. */
INLINE void pack_form(const struct form *f, int size, int n, int blocks, const uint8_t *src, size_t stride,
                      uint8_t *dst)
{
    for (; blocks > 0; blocks--, src += size, dst += ROWS * size) pack_block(f, n, src, stride, dst);
}

/* Whole groups, with code of its own for each type. */
static void pack_blocks(enum ktype type, int blocks, const uint8_t *src, size_t stride, uint8_t *dst)
{
    switch (type) {
    case KT_Q8_0: pack_form(&q8_0, 34, ROWS, blocks, src, stride, dst); break;
    case KT_Q4_0:
    case KT_IQ4_NL: pack_form(&q4_0, 18, ROWS, blocks, src, stride, dst); break;
    case KT_MXFP4: pack_form(&mxfp4, 17, ROWS, blocks, src, stride, dst); break;
    case KT_Q4_1: pack_form(&q4_1, 20, ROWS, blocks, src, stride, dst); break;
    case KT_Q5_0: pack_form(&q5_0, 22, ROWS, blocks, src, stride, dst); break;
    case KT_Q5_1: pack_form(&q5_1, 24, ROWS, blocks, src, stride, dst); break;
    case KT_IQ4_XS: pack_form(&iq4_xs, 136, ROWS, blocks, src, stride, dst); break;
    case KT_Q2_K: pack_form(&q2_k, 84, ROWS, blocks, src, stride, dst); break;
    case KT_Q3_K: pack_form(&q3_k, 110, ROWS, blocks, src, stride, dst); break;
    case KT_Q4_K: pack_form(&q4_k, 144, ROWS, blocks, src, stride, dst); break;
    case KT_Q5_K: pack_form(&q5_k, 176, ROWS, blocks, src, stride, dst); break;
    default: pack_form(&q6_k, 210, ROWS, blocks, src, stride, dst); break;
    }
}

/* Values of 4 bytes: k goes from along the row to across the rows.  In strips of a cache line. */
static void pack_f32(int n, int cols, const uint8_t *src, size_t stride, uint8_t *dst)
{
    for (int k = 0; k < cols; k += 16) {
        const struct span strip = {0, MIN(16, cols - k), 0, 1};
        pack_span(&strip, 0, n, src + 4 * (size_t)k, stride, dst + (size_t)k * LINE);
    }
}

/* Values of 2 bytes, 8 rows x 8 k at a time: two rows are woven into dwords of one k.  Then the odd edges. */
static void pack_f16(int n, int cols, const uint8_t *src, size_t stride, uint8_t *dst)
{
    const size_t line = LINE / 2;
    const int rows = n / 8 * 8, ks = cols / 8 * 8;
    for (int k0 = 0; k0 < ks; k0 += 32)
        for (int r = 0; r < rows; r += 8)
            for (int k = k0; k < MIN(k0 + 32, ks); k += 8) {
                const uint8_t *from = src + (size_t)r * stride + 2 * (size_t)k;
                uint8_t *to = dst + (size_t)k * line + 2 * r;
                dwords low[4], high[4];
                for (int i = 0; i < 4; i++, from += 2 * stride) {
                    words a = (words)load(from), b = (words)load(from + stride);
                    low[i] = (dwords)PICK(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
                    high[i] = (dwords)PICK(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
                }
                put_columns(low[0], low[1], low[2], low[3], to, line);
                put_columns(high[0], high[1], high[2], high[3], to + 4 * line, line);
            }
    for (int r = 0; r < n; r++)
        for (int k = r < rows ? ks : 0; k < cols; k++)
            put16(dst + (size_t)k * line + 2 * r, get16(src + (size_t)r * stride + 2 * (size_t)k));
}

void pack_group(enum ktype type, int n, int cols, const uint8_t *src, size_t row_bytes, uint8_t *dst)
{
    const struct ktype_info *t = ktype_info(type);
    const struct form *f = form_of(type);
    assert(n > 0 && n <= ROWS && pack_group_bytes(type, cols));

    if (n < ROWS) memset(dst, 0, pack_group_bytes(type, cols));
    if (type == KT_F32) {
        pack_f32(n, cols, src, row_bytes, dst);
    } else if (!f) {
        pack_f16(n, cols, src, row_bytes, dst);
    } else if (n == ROWS) {
        pack_blocks(type, cols / t->block, src, row_bytes, dst);
    } else {
        pack_form(f, t->bytes, n, cols / t->block, src, row_bytes, dst);
    }
}

/* ------------------------------------------------------------------- unpacking */

/* Row r's five dwords as weave_fives() has found them. */
static void unweave_fives(const uint8_t *lines, int r, uint32_t *five)
{
    uint32_t a[5], v[8];
    for (int i = 0; i < 5; i++) a[i] = get32(lines + LINE * i + 4 * r), v[i] = a[i] & 0x1f1f1f1fu;
    v[5] = (a[0] >> 3 & 0x1c1c1c1cu) | (a[1] >> 6 & 0x03030303u);
    v[6] = (a[2] >> 3 & 0x1c1c1c1cu) | (a[3] >> 6 & 0x03030303u);
    v[7] = (a[4] >> 3 & 0x1c1c1c1cu) | (a[3] >> 4 & 0x02020202u) | (a[1] >> 5 & 0x01010101u);
    five[0] = 0;
    for (int s = 0; s < 8; s++) {
        uint32_t top = v[s] >> 4 & 0x01010101u;
        five[0] |= ((top | top >> 7 | top >> 14 | top >> 21) & 15u) << 4 * s;
    }
    for (int s = 0; s < 4; s++) five[1 + s] = (v[s] & 0x0f0f0f0fu) | (v[4 + s] & 0x0f0f0f0fu) << 4;
}

/* The same of three and weave_threes(). */
static void unweave_threes(const uint8_t *lines, int r, uint32_t *three)
{
    uint32_t a = get32(lines + 4 * r), b = get32(lines + LINE + 4 * r), c = get32(lines + 2 * LINE + 4 * r);
    three[0] = (a & 0x0f0f0f0fu) | (c << 4 & 0xf0f0f0f0u);
    three[1] = (b & 0xcfcfcfcfu) | (c >> 2 & 0x30303030u);
    three[2] = (a >> 4 & 0x03030303u) | (b >> 2 & 0x0c0c0c0cu) | (c & 0x30303030u) | (a & 0xc0c0c0c0u);
}

/* The same of lines TOPS_STEP apart and weave_tops(). */
static void unweave_tops(const uint8_t *lines, int r, uint32_t *v)
{
    const size_t half = TOPS_STEP * LINE;
    const uint32_t top = get32(lines + 4 * r), q0 = get32(lines + half + 4 * r), q1 = get32(lines + 2 * half + 4 * r);
    v[0] = (q0 >> 2 & 0x01010101u) | (q0 >> 4 & 0x02020202u) | (q1 << 2 & 0x10101010u) | (q1 & 0x20202020u) |
           (top << 1 & 0x88888888u) | (top >> 1 & 0x44444444u);
    v[TOPS_STEP] = (q0 & 0x03030303u) | (q0 >> 1 & 0x0c0c0c0cu) | (q0 >> 2 & 0x30303030u) | (top << 6 & 0xc0c0c0c0u);
    v[2 * TOPS_STEP] = (q1 & 0x03030303u) | (q1 >> 1 & 0x0c0c0c0cu) | (q1 >> 2 & 0x30303030u) |
                       (top << 2 & 0xc0c0c0c0u);
}

/* The file's block of row r. */
static void unpack_block(const struct form *f, const uint8_t *packed, int r, uint8_t *block)
{
    const uint8_t *lines = packed + head_bytes(f);
    uint32_t v[THREES_END];

    for (const struct span *s = f->span; s < f->span + f->spans; s++)
        for (int i = 0; i < s->dwords; i++) {
            const int line = s->line + i * s->step;

            v[line] = get32(lines + LINE * line + 4 * r);
        }
    if (f->woven == FIVES) unweave_fives(lines, r, v);
    for (int i = THREES_AT; f->woven == THREES && i < THREES_END; i += 3) unweave_threes(lines + LINE * i, r, v + i);
    for (int i = TOPS_AT; f->woven == TOPS && i < TOPS_AT + TOPS_STEP; i++) unweave_tops(lines + LINE * i, r, v + i);

    for (int h = 0; h < f->halves; h++) put16(block + f->half_at[h], get16(packed + 64 * h + 2 * r));
    if (f->byte) block[0] = packed[r];
    for (const struct span *s = f->span; s < f->span + f->spans; s++)
        for (int i = 0; i < s->dwords; i++) put32(block + s->from + 4 * i, v[s->line + i * s->step] ^ f->flip);
}

void pack_row(enum ktype type, int cols, const uint8_t *group, int r, float *y)
{
    const struct ktype_info *t = ktype_info(type);
    const struct form *f = form_of(type);
    uint8_t block[256];
    assert(r >= 0 && r < ROWS && t->bytes <= (int)sizeof block);

    for (int k = 0; k < cols; k += t->block, group += (size_t)ROWS * (size_t)t->bytes) {
        const uint8_t *one = block;
        if (f) unpack_block(f, group, r, block);
        else one = group + r * t->bytes;
        quant_decode(type, one, y + k, t->block);
    }
}
