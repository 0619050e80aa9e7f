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
    int bits_at;   /* where the file has 32 top bits a row, which take the first line; 0: none */
    uint32_t flip; /* dwords xor this */
    int spans;
    struct span span[7];
    bool woven; /* Q6_K: lines from WOVEN on are woven in threes */
};

enum { WOVEN = 4, THREES = 16 };

static const struct form q8_0 = {1, {0}, 0, 0x80808080u, 1, {{2, 8, 0, 1}}, false};
static const struct form q4_0 = {1, {0}, 0, 0, 1, {{2, 4, 0, 1}}, false};
static const struct form q4_1 = {2, {0, 2}, 0, 0, 1, {{4, 4, 0, 1}}, false};
static const struct form q5_0 = {1, {0}, 2, 0, 1, {{6, 4, 1, 1}}, false};
static const struct form q5_1 = {2, {0, 2}, 4, 0, 1, {{8, 4, 1, 1}}, false};
static const struct form q4_k = {2, {0, 2}, 0, 0, 1, {{4, 35, 0, 1}}, false};
static const struct form q5_k = {2, {0, 2}, 0, 0, 1, {{4, 43, 0, 1}}, false};
/* Scales; then for each half of 128: low bits of steps 0 .. 7, of steps 8 .. 15, high bits, 3 lines a step. */
static const struct form q6_k = {1, {208}, 0, 0, 7, {{192, 4, 0, 1},
                                                     {0, 8, 4, 3}, {32, 8, 5, 3}, {128, 8, 6, 3},
                                                     {64, 8, 28, 3}, {96, 8, 29, 3}, {160, 8, 30, 3}},
                           true};

static const struct form *form_of(enum ktype type)
{
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

/* ---------------------------------------------------------------- small squares */

/* Vectors of the compiler: they become what the machine has, and every x86-64 has 16 bytes. */
typedef uint32_t dwords __attribute__((vector_size(16)));
typedef uint16_t words __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));

/* The vector of these elements of a, then b. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif
#define EVEN(a, b) PICK(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b) PICK(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

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

/* Byte i of the 16 dwords of a .. d to 16 bytes at to + 32 i. */
INLINE void put_bytes(dwords a, dwords b, dwords c, dwords d, uint8_t *to)
{
    bytes ab02 = EVEN((bytes)a, (bytes)b), cd02 = EVEN((bytes)c, (bytes)d);
    bytes ab13 = ODD((bytes)a, (bytes)b), cd13 = ODD((bytes)c, (bytes)d);
    store(to, (dwords)EVEN(ab02, cd02));
    store(to + 32, (dwords)EVEN(ab13, cd13));
    store(to + 64, (dwords)ODD(ab02, cd02));
    store(to + 96, (dwords)ODD(ab13, cd13));
}

/* The first dwords of rows r, r + 2, r + 4 and r + 6; 0 for those from n on. */
INLINE dwords first_dwords(int r, int n, const uint8_t *src, size_t stride)
{
    dwords row[4] = {{0}};
    for (int i = 0; i < 4; i++)
        if (r + 2 * i < n) row[i] = load(src + (size_t)(r + 2 * i) * stride);
    return PICK(PICK(row[0], row[1], 0, 4, 1, 5), PICK(row[2], row[3], 0, 4, 1, 5), 0, 1, 4, 5);
}

/* Top bits of 32 rows, a dword each: nibble s of row r's goes to bits 4 r .. 4 r + 3 of step s (16 bytes a step).  Two
 * rows share a byte: byte i of a dword of `even` is that of step 2 i, of `odd` that of step 2 i + 1. */
INLINE void pack_bits(int n, const uint8_t *src, size_t stride, uint8_t *dst)
{
    dwords even[4], odd[4];
    for (int i = 0; i < 4; i++) {
        dwords a = first_dwords(8 * i, n, src, stride), b = first_dwords(8 * i + 1, n, src, stride);
        even[i] = (a & 0x0f0f0f0fu) | (b & 0x0f0f0f0fu) << 4;
        odd[i] = (a >> 4 & 0x0f0f0f0fu) | (b & 0xf0f0f0f0u);
    }
    put_bytes(even[0], even[1], even[2], even[3], dst);
    put_bytes(odd[0], odd[1], odd[2], odd[3], dst + 16);
}

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

/* A step of half a Q6_K block as the file has it: low bits of runs 0 (lower nibbles) and 2, of runs 1 and 3, and two
 * high bits of each.  Woven, runs 0, 1 and 2 are bytes of their own, and run 3 is what is left of them: a kernel takes
 * three of four with one instruction. */
INLINE void weave(uint8_t *a)
{
    for (int i = 0; i < LINE; i += 16, a += 16) {
        dwords low02 = load(a), low13 = load(a + LINE), high = load(a + 2 * LINE);
        store(a, (low02 & 0x0f0f0f0fu) | (high << 4 & 0x30303030u) | (high & 0xc0c0c0c0u));
        store(a + LINE, (low13 & 0xcfcfcfcfu) | (high << 2 & 0x30303030u));
        store(a + 2 * LINE, (low02 >> 4 & 0x0f0f0f0fu) | (high & 0x30303030u) | (low13 << 2 & 0xc0c0c0c0u));
    }
}

/* One block of n rows; row r's is at src + r * stride. */
INLINE void pack_block(const struct form *f, int n, const uint8_t *src, size_t stride, uint8_t *dst)
{
    uint8_t *lines = dst + 64 * f->halves;

    for (int r = 0; r < n; r++) {
        const uint8_t *row = src + (size_t)r * stride;
        for (int h = 0; h < f->halves; h++) put16(dst + 64 * h + 2 * r, get16(row + f->half_at[h]));
    }
    if (f->bits_at) pack_bits(n, src + f->bits_at, stride, lines);
    for (int i = 0; i < f->spans; i++) pack_span(&f->span[i], f->flip, n, src, stride, lines);
    for (int i = 0; f->woven && i < THREES; i++) weave(lines + LINE * (WOVEN + 3 * i));
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
    case KT_Q4_0: pack_form(&q4_0, 18, ROWS, blocks, src, stride, dst); break;
    case KT_Q4_1: pack_form(&q4_1, 20, ROWS, blocks, src, stride, dst); break;
    case KT_Q5_0: pack_form(&q5_0, 22, ROWS, blocks, src, stride, dst); break;
    case KT_Q5_1: pack_form(&q5_1, 24, ROWS, blocks, src, stride, dst); break;
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

static uint32_t unpack_bits(const uint8_t *bits, int r)
{
    uint32_t word = 0;
    for (int s = 0; s < 8; s++) word |= ((uint32_t)bits[16 * s + r / 2] >> r % 2 * 4 & 15u) << 4 * s;
    return word;
}

/* Row r's three dwords of a step as weave() has found them, spread as packed lines are. */
static void unweave(const uint8_t *lines, int r, uint32_t *step)
{
    uint32_t a = get32(lines + 4 * r), b = get32(lines + LINE + 4 * r), c = get32(lines + 2 * LINE + 4 * r);
    step[0] = (a & 0x0f0f0f0fu) | (c << 4 & 0xf0f0f0f0u);
    step[1] = (b & 0xcfcfcfcfu) | (c >> 2 & 0x30303030u);
    step[2] = (a >> 4 & 0x03030303u) | (b >> 2 & 0x0c0c0c0cu) | (c & 0x30303030u) | (a & 0xc0c0c0c0u);
}

/* The file's block of row r. */
static void unpack_block(const struct form *f, const uint8_t *packed, int r, uint8_t *block)
{
    const uint8_t *lines = packed + 64 * f->halves;
    uint32_t woven[3 * THREES];

    if (f->woven)
        for (int i = 0; i < THREES; i++) unweave(lines + LINE * (WOVEN + 3 * i), r, woven + 3 * i);

    for (int h = 0; h < f->halves; h++) put16(block + f->half_at[h], get16(packed + 64 * h + 2 * r));
    if (f->bits_at) put32(block + f->bits_at, unpack_bits(lines, r));
    for (const struct span *s = f->span; s < f->span + f->spans; s++)
        for (int i = 0; i < s->dwords; i++) {
            const int line = s->line + i * s->step;
            uint32_t v = f->woven && line >= WOVEN ? woven[line - WOVEN] : get32(lines + LINE * line + 4 * r);
            put32(block + s->from + 4 * i, v ^ f->flip);
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
        if (f) unpack_block(f, group, r, block);
        else one = group + r * t->bytes;
        quant_decode(type, one, y + k, t->block);
    }
}
