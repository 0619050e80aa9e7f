#include "kernels/cpu/pack.h"

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

/* What of the file's block goes where.  The halves (d, then m) come first in the packed block, 64 bytes each; lines are
 * counted behind them. */
struct form {
    int halves, half_at[2];
    int from, dwords, line; /* dwords of the file's block from byte `from` go to line `line` and on ... */
    uint32_t flip;          /* ... xor this */
    int bits_at;            /* where the file has 32 top bits a row, which take the first line; 0: none */
};

static const struct form *form_of(enum ktype type)
{
    static const struct form q8_0 = {1, {0}, 2, 8, 0, 0x80808080u, 0};
    static const struct form q4_0 = {1, {0}, 2, 4, 0, 0, 0};
    static const struct form q4_1 = {2, {0, 2}, 4, 4, 0, 0, 0};
    static const struct form q5_0 = {1, {0}, 6, 4, 1, 0, 2};
    static const struct form q5_1 = {2, {0, 2}, 8, 4, 1, 0, 4};
    static const struct form q4_k = {2, {0, 2}, 4, 35, 0, 0, 0};
    static const struct form q5_k = {2, {0, 2}, 4, 43, 0, 0, 0};
    static const struct form q6_k = {1, {208}, 192, 4, 0, 0, 0}; /* and what q6_from() says */
    switch (type) {
    case KT_Q8_0: return &q8_0;
    case KT_Q4_0: return &q4_0;
    case KT_Q4_1: return &q4_1;
    case KT_Q5_0: return &q5_0;
    case KT_Q5_1: return &q5_1;
    case KT_Q4_K: return &q4_k;
    case KT_Q5_K: return &q5_k;
    case KT_Q6_K: return &q6_k;
    default: return NULL;
    }
}

/* Q6_K's low and high bits: 48 lines behind the scales.  Step s of a half takes 3 of them, from these bytes of the
 * file's block. */
static void q6_from(int half, int step, int from[3])
{
    from[0] = 64 * half + 4 * step;
    from[1] = 64 * half + 32 + 4 * step;
    from[2] = 128 + 32 * half + 4 * step;
}

enum { Q6_LINES = 4 }; /* the scales' */

/* --------------------------------------------------------------------- packing */

/* Top bits of 32 rows: nibble s of row r's word goes to bits 4 r .. 4 r + 3 of step s (16 bytes a step). */
static void pack_bits(const uint32_t word[ROWS], uint8_t *dst)
{
    for (int s = 0; s < 8; s++) {
        uint64_t lo = 0, hi = 0;
        for (int r = 0; r < 16; r++) {
            lo |= (uint64_t)(word[r] >> 4 * s & 15u) << 4 * r;
            hi |= (uint64_t)(word[r + 16] >> 4 * s & 15u) << 4 * r;
        }
        memcpy(dst + 16 * s, &lo, 8);
        memcpy(dst + 16 * s + 8, &hi, 8);
    }
}

static void pack_q6(const uint8_t *src, uint8_t *to)
{
    for (int i = 0; i < 16; i++, to += 3 * LINE) {
        int from[3];
        q6_from(i / 8, i % 8, from);
        for (int part = 0; part < 3; part++) put32(to + LINE * part, get32(src + from[part]));
    }
}

/* One block of n rows; row r's is at src + r * stride. */
static void pack_block(enum ktype type, const struct form *f, int n, const uint8_t *src, size_t stride, uint8_t *dst)
{
    uint8_t *lines = dst + 64 * f->halves;
    uint32_t bits[ROWS] = {0};

    for (int r = 0; r < n; r++, src += stride) {
        for (int h = 0; h < f->halves; h++) put16(dst + 64 * h + 2 * r, get16(src + f->half_at[h]));
        if (f->bits_at) bits[r] = get32(src + f->bits_at);
        uint8_t *to = lines + LINE * f->line + 4 * r;
        const uint8_t *from = src + f->from;
        for (int i = 0; i < f->dwords; i++) put32(to + LINE * i, get32(from + 4 * i) ^ f->flip);
        if (type == KT_Q6_K) pack_q6(src, lines + LINE * Q6_LINES + 4 * r);
    }
    if (f->bits_at) pack_bits(bits, lines);
}

/* Values of 4 bytes: k goes from along the row to across the rows.  In strips of 16 k, so that lines stay in the
 * cache. */
static void pack_f32(int n, int cols, const uint8_t *src, size_t stride, uint8_t *dst)
{
    for (int k0 = 0; k0 < cols; k0 += 16)
        for (int r = 0; r < n; r++)
            for (int k = k0; k < MIN(k0 + 16, cols); k++)
                put32(dst + (size_t)k * LINE + 4 * r, get32(src + (size_t)r * stride + 4 * (size_t)k));
}

/* Values of 2 bytes: a square of 2 rows x 2 k at a time, then what is left of an odd edge. */
static void pack_f16(int n, int cols, const uint8_t *src, size_t stride, uint8_t *dst)
{
    for (int k0 = 0; k0 + 1 < cols; k0 += 32)
        for (int r = 0; r + 1 < n; r += 2)
            for (int k = k0; k < MIN(k0 + 32, cols - 1); k += 2) {
                const uint8_t *from = src + (size_t)r * stride + 2 * (size_t)k;
                uint32_t a = get32(from), b = get32(from + stride);
                uint8_t *to = dst + (size_t)k * (LINE / 2) + 2 * r;
                put32(to, (a & 0xffffu) | b << 16);
                put32(to + LINE / 2, a >> 16 | (b & 0xffff0000u));
            }
    for (int r = 0; r < n; r++)
        for (int k = r == n - 1 && n % 2 ? 0 : cols - cols % 2; k < cols; k++)
            put16(dst + (size_t)k * (LINE / 2) + 2 * r, get16(src + (size_t)r * stride + 2 * (size_t)k));
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
    } else {
        for (int k = 0; k < cols; k += t->block, src += t->bytes, dst += ROWS * t->bytes)
            pack_block(type, f, n, src, row_bytes, dst);
    }
}

/* ------------------------------------------------------------------- unpacking */

static uint32_t unpack_bits(const uint8_t *bits, int r)
{
    uint32_t word = 0;
    for (int s = 0; s < 8; s++) word |= ((uint32_t)bits[16 * s + r / 2] >> r % 2 * 4 & 15u) << 4 * s;
    return word;
}

/* The file's block of row r. */
static void unpack_block(enum ktype type, const struct form *f, const uint8_t *packed, int r, uint8_t *block)
{
    const uint8_t *lines = packed + 64 * f->halves, *from = lines + LINE * f->line + 4 * r;

    for (int h = 0; h < f->halves; h++) put16(block + f->half_at[h], get16(packed + 64 * h + 2 * r));
    if (f->bits_at) put32(block + f->bits_at, unpack_bits(lines, r));
    for (int i = 0; i < f->dwords; i++) put32(block + f->from + 4 * i, get32(from + LINE * i) ^ f->flip);
    if (type != KT_Q6_K) return;
    from = lines + LINE * Q6_LINES + 4 * r;
    for (int i = 0; i < 16; i++, from += 3 * LINE) {
        int at[3];
        q6_from(i / 8, i % 8, at);
        for (int part = 0; part < 3; part++) put32(block + at[part], get32(from + LINE * part));
    }
}

void pack_row(enum ktype type, int cols, const uint8_t *group, int r, float *y)
{
    const struct ktype_info *t = ktype_info(type);
    const struct form *f = form_of(type);
    uint8_t block[256];
    assert(r >= 0 && r < ROWS && t->bytes <= (int)sizeof block);

    for (int k = 0; k < cols; k += t->block, group += (size_t)ROWS * (size_t)t->bytes) {
        const uint8_t *one = block;
        if (f) unpack_block(type, f, group, r, block);
        else one = group + r * t->bytes;
        quant_decode(type, one, y + k, t->block);
    }
}
