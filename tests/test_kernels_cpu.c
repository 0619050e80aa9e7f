/* test_kernels_cpu.c - the CPU backend: every step against the reference, every instruction set against the others,
 * and a row's bits in any company.
 *
 * Tolerances.  Against the reference with rounded activations both see the same integers; what is left is this
 * backend's float sums (reference: double) of up to a few hundred terms, each rounded to 2^-24, and its own exp and
 * tanh (3 units in the last place): 1e-5 of the result's rms holds ten times that.  Against float activations the
 * int8 rounding itself shows, up to 127 steps for the largest of 32: 1 % of rms on data with outliers, 6 % is the
 * bound for a single value. In attention a score of size s carries an error of some s * 2^-24, which is a relative
 * error of its weight: 1e-4 there. With F16 pages a K or V that differs in a float's last bit may round to the next
 * half, 2^-11 away: 1e-3; with Q8_0 pages to the next integer, 1 % of the largest of its 32 away: 6 % again
 * (test_kernels_kv.c holds those pages tightly, with K and V that are the same in both). */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pack.h"
#include "tests/check.h"
#include "tests/lockstep.h"
#include <errno.h>

static const char *const isas[] = {"portable", "avx2", "avxvnni", "avx512"};
static const enum ktype types[] = {KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q4_1,
                                   KT_Q5_0, KT_Q5_1, KT_Q4_K, KT_Q5_K, KT_Q6_K};

/* Rounds of random shapes.  A sanitizer looks at single accesses, which a few shapes show it; the bits are the plain
 * build's matter. */
enum { STEP_SHAPES = CHECK_SANITIZED ? 2 : 14 };
enum { ROW_SHAPES = CHECK_SANITIZED ? 1 : 6, ROW_VARIANTS = CHECK_SANITIZED ? 2 : 4 };

/* NULL: not on this machine. */
static const struct cpu_isa *isa_here(size_t i)
{
    return isa_choose(isas[i], NULL);
}

/* -------------------------------------------------------------------- the layout */

TEST(a_packed_matrix_gives_back_every_row_of_the_file)
{
    struct dice dice = {1};
    static const int rows[] = {1, 31, 32, 33, 70, 96};
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            int block = ktype_info(types[t])->block, n = rows[i];
            int cols = block > 1 ? block * (1 + dice_below(&dice, 3)) : 1 + dice_below(&dice, 70);
            size_t size = rig_file_bytes(types[t], n, cols), row = rig_file_bytes(types[t], 1, cols);
            size_t group = pack_group_bytes(types[t], cols), packed = pack_bytes(types[t], n, cols);
            CHECK_EQ(group, 32 * row);
            CHECK_EQ(packed, (size_t)((n + 31) / 32) * group);
            uint8_t *file = rig_memory(size), *to = rig_memory(packed);
            float *a = rig_memory((size_t)cols * 4), *b = rig_memory((size_t)cols * 4);
            rig_weights(&dice, types[t], n, cols, file);
            for (int r = 0; r < n; r += 32)
                pack_group(types[t], MIN(32, n - r), cols, file + (size_t)r * row, row, to + (size_t)(r / 32) * group);
            for (int r = 0; r < n; r++) {
                quant_decode(types[t], file + (size_t)r * row, a, cols);
                pack_row(types[t], cols, to + (size_t)(r / 32) * group, r % 32, b);
                CHECK_MEM(a, b, (size_t)cols * 4);
            }
            for (int r = n; r < (n + 31) / 32 * 32; r++) {
                pack_row(types[t], cols, to + (size_t)(r / 32) * group, r % 32, b);
                for (int k = 0; k < cols; k++) CHECK(b[k] == 0);
            }
            rig_release(file, size), rig_release(to, packed);
            rig_release(a, (size_t)cols * 4), rig_release(b, (size_t)cols * 4);
        }
}

/* Where a type lacked its own function for some number of tokens, its kernel's name would say a smaller number. */
static void check_names(const char *isa_name, bool portable)
{
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = 1, .isa = isa_name};
    const struct cpu_isa *isa = isa_choose(isa_name, NULL);
    char tile[40];
    struct kdev *d = k->open(&cfg, NULL);
    CHECK(d && isa);
    snprintf(tile, sizeof tile, " (%d rows x %d tokens)", ISA_GROUP, isa->tile);
    for (uint32_t t = 0; t < KT_END; t++) {
        const struct ktype_info *info = ktype_info(t);
        const char *name = k->mat_kernel(d, (enum ktype)t);
        const bool is_int = t != KT_F32 && t != KT_F16 && t != KT_BF16;
        CHECK_EQ(strcmp(name, "none") != 0, info && info->usable);
        if (!info || !info->usable) continue;
        if (!strstr(name, tile) || !strstr(name, is_int ? " int8" : " fp32") ||
            (strncmp(name, "portable", 8) == 0) != portable)
            check_fail(__FILE__, __LINE__, "%s, %s weights: \"%s\"", isa_name, info->name, name);
    }
    k->close(d);
}

TEST(every_type_that_the_loader_reads_has_a_kernel_of_its_instruction_set)
{
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        if (isa_here(i)) check_names(isas[i], i == 0);
    check_names("auto", !isa_choose("avx2", NULL));
}

TEST(sizes_say_0_for_what_cannot_be_multiplied_and_do_not_wrap)
{
    const struct kern *k = kern_cpu();
    CHECK_EQ(k->mat_bytes(KT_Q8_0, 64, 96), 64 * 96 / 32 * 34);
    CHECK_EQ(k->mat_bytes(KT_Q4_K, 32, 512), 32 * 2 * 144);
    CHECK_EQ(k->mat_bytes(KT_F16, 33, 20), 64 * 20 * 2);
    CHECK_EQ(k->mat_bytes(KT_Q8_0, 64, 20), 0);
    CHECK_EQ(k->mat_bytes(KT_Q8_0, 0, 32), 0);
    CHECK_EQ(k->mat_bytes(KT_Q8_0, -1, 32), 0);
    CHECK_EQ(k->mat_bytes(KT_Q2_K, 32, 256), 0);
    CHECK_EQ(k->mat_bytes((enum ktype)1000, 32, 256), 0);
    CHECK_EQ(k->mat_bytes(KT_F32, INT32_MAX, INT32_MAX) / 4 / INT32_MAX, (size_t)INT32_MAX + 1);
    struct kern_group g = {.layers = 2, .kv_heads = 3, .head_dim = 20, .kv_type = KT_F16};
    CHECK_EQ(k->kv_page_bytes(&g), 2 * 3 * 16 * (20 + 32) * 2);
    const struct kern_dims huge = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
                                   INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 0, 0};
    CHECK_EQ(k->work_bytes(&huge), SIZE_MAX);
    const struct kern_dims many = {.embd = 32, .ff = 32, .heads = 1, .head_dim = 32, .kv_heads = 1, .max_ctx = 16,
                                   .max_seqs = 1, .max_rows = 1 << 27, .experts = KERN_EXPERTS, .used = KERN_USED};
    CHECK_EQ(k->work_bytes(&many), SIZE_MAX);
}

/* -------------------------------------------------- instruction sets, face to face */

TEST(activations_round_as_quant_act32_says_on_every_instruction_set)
{
    struct dice dice = {2};
    for (size_t i = 0; i < COUNT_OF(isas); i++) {
        const struct cpu_isa *isa = isa_here(i);
        if (!isa) continue;
        for (int round = 0; round < 3000; round++) {
            float *x = rig_memory(64 * 4);
            struct act act[2 * 3];
            for (int k = 0; k < 64; k++) x[k] = dice_float(&dice, ldexpf(1, dice_below(&dice, 60) - 30));
            if (round % 7 == 0) x[dice_below(&dice, 64)] = round % 2 ? INFINITY : NAN;
            if (round % 11 == 0) memset(x, 0, 128);
            if (round % 13 == 0)
                for (int k = 0; k < 32; k++) x[k] = (float)(dice_below(&dice, 255) - 127) * 0.5f; /* ties */
            if (round % 17 == 0)
                for (int k = 0; k < 32; k++) x[k] = dice_float(&dice, 0x1p-102f);
            isa->quantise(x, 2, act + 1, 3);
            for (int b = 0; b < 2; b++) {
                const struct act *a = &act[1 + 3 * b];
                int8_t q[32];
                float dx = quant_act32(x + 32 * b, q);
                int sum[2] = {0, 0};
                for (int k = 0; k < 32; k++) sum[k / 16] += q[k];
                CHECK_MEM(a->q, q, 32);
                CHECK(a->dx == dx || (isnan(dx) && isnan(a->dx)));
                CHECK_EQ(a->start128 - ACT_LIFT, -128 * (sum[0] + sum[1]));
                CHECK_EQ(a->start8 - ACT_LIFT, -8 * (sum[0] + sum[1]));
                CHECK_EQ(a->start32[0] - ACT_LIFT, -32 * sum[0]);
                CHECK_EQ(a->start32[1] - ACT_LIFT, -32 * sum[1]);
                CHECK(a->mdx == dx * (float)-(sum[0] + sum[1]) || isnan(dx));
            }
            rig_release(x, 64 * 4);
        }
    }
}

/* A tile of opened weights has the bits of packed ones.  acc: the sums with these. */
static void same_opened(enum ktype type, const struct cpu_isa *isa, int n, int cols, const uint8_t *w,
                        const struct act *act, const float *acc, struct isa_ahead ahead)
{
    const int blocks = cols / ktype_info(type)->block;
    const size_t bytes = (size_t)(cols / 32) * isa->opener[type].bytes;
    uint8_t *open = rig_memory(bytes);
    float sum[ISA_TILE * 32] = {0};
    isa->opener[type].open(w, blocks, open);
    isa->mul_open[type][n](w, open, blocks, act, sum, ahead);
    CHECK_MEM(acc, sum, (size_t)n * 32 * 4);
    rig_release(open, bytes);
}

/* One group times T tokens from every instruction set, tokens in tiles as each of them likes. */
static void products_of(enum ktype type, const struct cpu_isa *isa, int T, int cols, const uint8_t *w, const float *x,
                        float *acc)
{
    const struct ktype_info *t = ktype_info(type);
    for (int at = 0; at < T;) {
        int n = MIN(T - at, 1);
        while (n < ISA_TILE && at + n < T && isa->mul[type][n + 1]) n++;
        struct act *act = rig_memory((size_t)(n * (cols / 32 + 1)) * sizeof *act);
        for (int i = 0; i < n && t->block > 1; i++) isa->quantise(x + (at + i) * cols, cols / 32, act + i, n);
        const void *in = t->block > 1 ? (const void *)act : x + at * cols;
        const enum isa_fetch to = (enum isa_fetch)(T % ISA_FETCHES);
        const struct isa_ahead ahead = {w + 4096, at ? 0 : cols, to}; /* past the end of w */
        isa->mul[type][n](w, cols / t->block, in, (size_t)cols, acc + at * 32, ahead);
        if (isa->mul_open[type][n]) same_opened(type, isa, n, cols, w, act, acc + at * 32, ahead);
        rig_release(act, (size_t)(n * (cols / 32 + 1)) * sizeof *act);
        at += n;
    }
}

/* A row's first block has an infinite scale, as no good file has: what comes of it must be the same all the same. */
static void infinite_scale(enum ktype type, uint8_t *row)
{
    uint8_t *d = type == KT_Q6_K ? row + 208 : row;
    d[0] = 0, d[1] = 0x7c;
}

/* Weights and activations at the ends of their ranges too, where 16-bit sums would saturate. */
TEST(products_have_the_same_bits_on_every_instruction_set_and_in_every_tile)
{
    struct dice dice = {3};
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int round = 0; round < 12; round++) {
            enum { MOST = 8 };
            int block = ktype_info(types[t])->block, cols = block > 1 ? block * 2 : 77;
            if (round == 11 && block > 1) cols = block * (block == 32 ? 33 : 5); /* more than a first cache's share */
            size_t size = pack_bytes(types[t], 32, cols), row = rig_file_bytes(types[t], 1, cols);
            uint8_t *file = rig_memory(32 * row), *w = rig_memory(size);
            float *x = rig_memory((size_t)(MOST * cols) * 4), one[MOST * 32], other[MOST * 32];
            rig_weights(&dice, types[t], 32, cols, file);
            if (round % 4 == 1 && types[t] == KT_Q8_0)
                for (size_t i = 0; i < 32 * row; i++)
                    if (i % 34 > 1) file[i] = dice_below(&dice, 2) ? 0x80 : 0x7f;
            if (round % 4 == 2 && block > 1)
                for (size_t i = 0; i < 32 * row; i++)
                    if (i % (size_t)ktype_info(types[t])->bytes > 15 && i % 210 < 192) file[i] = 0xff;
            if (round == 5 && block > 1) infinite_scale(types[t], file + 7 * row);
            pack_group(types[t], 32, cols, file, row, w);
            for (int i = 0; i < MOST * cols; i++)
                x[i] = round % 3 ? dice_float(&dice, 1) : dice_below(&dice, 2) ? 1 : 0.999f;
            memset(one, 0, sizeof one);
            for (int i = 0; i < MOST; i++) products_of(types[t], isa_here(0), 1, cols, w, x + i * cols, one + i * 32);
            for (size_t i = 0; i < COUNT_OF(isas); i++)
                for (int T = 1; T <= MOST && isa_here(i); T++) {
                    memset(other, 0, sizeof other);
                    products_of(types[t], isa_here(i), T, cols, w, x, other);
                    CHECK_MEM(one, other, (size_t)T * 32 * 4);
                }
            rig_release(file, 32 * row), rig_release(w, size), rig_release(x, (size_t)(MOST * cols) * 4);
        }
}

/* Rows are cut into as few tiles as may be, and as even. */
TEST(what_opens_a_type_has_a_product_for_every_tile_that_may_come)
{
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (size_t t = 0; t < COUNT_OF(types) && isa_here(i); t++) {
            const struct cpu_isa *isa = isa_here(i);
            const struct isa_opener *opener = &isa->opener[types[t]];
            for (int rows = 1; opener->open && rows <= 4 * CPU_ROWS; rows++) {
                const int tiles = (rows + isa->tile - 1) / isa->tile;
                if (tiles < opener->tiles) continue;
                CHECK(isa->mul_open[types[t]][rows / tiles] && isa->mul_open[types[t]][(rows + tiles - 1) / tiles]);
            }
            CHECK(!opener->open || (size_t)ktype_info(types[t])->block / 32 * opener->bytes <= CPU_CHUNK);
        }
}

/* y (rows, m->rows) = m x, by a backend of these habits. */
static void multiply(struct kdev *d, bool opens, enum isa_fetch fetch, const struct kmat *m, int rows, const float *x,
                     float *y)
{
    uint64_t bytes;
    CHECK(!cpu_input_bytes(rows, 0, m->cols, &bytes));
    uint8_t *work = rig_memory(bytes), *left = work;
    d->opens = opens, d->fetch = fetch, d->reads_ahead = opens;
    const struct cpu_input in = cpu_input(d, rows, NULL, m->cols, x, NULL, 0, cpu_is_int(m->type), &left);
    cpu_mul(d, &in, &(struct cpu_out){m, y}, 1, 0);
    rig_release(work, bytes);
}

/* EAX of leaf 1 as such processors have it: a Milan, a Vermeer, a Trento, a Cezanne; a Genoa, a Raphael, a Bergamo; a
 * Rome, a Turin (Zen 2 and 5), an Emerald Rapids. */
TEST(a_zen_is_known_by_family_and_model)
{
    static const struct { uint32_t eax; int zen; } known[] = {
        {0x00a00f11, 3}, {0x00a20f10, 3}, {0x00a30f00, 3}, {0x00a50f00, 3}, {0x00a10f11, 4}, {0x00a60f12, 4},
        {0x00aa0f01, 4}, {0x00830f10, 0}, {0x00b00f21, 0}, {0x000c06f2, 0}};
    for (size_t i = 0; i < COUNT_OF(known); i++) CHECK_EQ(isa_zen(known[i].eax), known[i].zen);
}

/* Which of them a machine has, its processor says; here each is tried wherever its instructions are. */
TEST(what_a_processor_likes_to_fetch_and_to_open_changes_no_bit)
{
    enum { ROWS = 70, COLS = 768, MOST = 41, TRIED = CHECK_SANITIZED ? 1 : 5 };
    static const int rows[] = {24, 8, 1, 17, MOST};
    struct dice dice = {21};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (size_t t = 0; t < COUNT_OF(types) && isa_here(i); t++) {
            const struct kern_config cfg = {.threads = 2, .isa = isas[i]};
            struct kdev *d = kern_cpu()->open(&cfg, NULL);
            const size_t row = rig_file_bytes(types[t], 1, COLS), size = pack_bytes(types[t], ROWS, COLS);
            uint8_t *file = rig_memory(ROWS * row), *w = rig_memory(size);
            float *x = rig_memory(MOST * COLS * 4);
            float *one = rig_memory(MOST * ROWS * 4), *y = rig_memory(MOST * ROWS * 4);
            rig_weights(&dice, types[t], ROWS, COLS, file);
            for (int r = 0; r < ROWS; r += 32)
                pack_group(types[t], MIN(32, ROWS - r), COLS, file + (size_t)r * row, row,
                           w + (size_t)(r / 32) * pack_group_bytes(types[t], COLS));
            for (int k = 0; k < MOST * COLS; k++) x[k] = dice_float(&dice, 1);
            const struct kmat m = {types[t], ROWS, COLS, w};
            for (size_t r = 0; r < TRIED; r++) {
                multiply(d, false, ISA_FIRST, &m, rows[r], x, one);
                for (int habit = 1; habit < 2 * ISA_FETCHES; habit++) {
                    multiply(d, habit % 2, (enum isa_fetch)(habit / 2), &m, rows[r], x, y);
                    CHECK_MEM(one, y, (size_t)(rows[r] * ROWS) * 4);
                }
            }
            rig_release(file, ROWS * row), rig_release(w, size), rig_release(x, MOST * COLS * 4);
            rig_release(one, MOST * ROWS * 4), rig_release(y, MOST * ROWS * 4);
            kern_cpu()->close(d);
        }
}

/* Integer sums are the last bits of a float of 1.5 * 2^23 (isa.h), which has room for so much.  Whole scales,
 * so that every sum is a whole number that a float has. */
TEST(sums_are_exact_with_all_weights_and_activations_at_the_ends_of_their_ranges)
{
    enum { MOST = 8, COLS_MOST = 256 };
    static const uint8_t one_and_zero[4] = {0, 0x3c, 0, 0};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const struct ktype_info *info = ktype_info(types[t]);
        const bool has_min = types[t] != KT_Q8_0 && types[t] != KT_Q4_0 && types[t] != KT_Q5_0;
        const int cols = info->block;
        const size_t row = (size_t)info->bytes;
        float x[MOST * COLS_MOST], decoded[COLS_MOST], acc[MOST * 32], right[MOST * 32];
        if (cols == 1 || types[t] == KT_Q6_K) continue;
        uint8_t *file = rig_memory(32 * row), *w = rig_memory(pack_bytes(types[t], 32, cols));
        for (size_t r = 0; r < 32; r++) { /* weights of the least and the most; 6-bit scales of the most */
            uint8_t *block = file + r * row;
            memset(block, r % 2 ? 0xff : 0, row);
            if (types[t] == KT_Q8_0) memset(block, r % 2 ? 0x7f : 0x80, row);
            if (cols == 256) memset(block + 4, 0xff, 12);
            memcpy(block, one_and_zero, has_min ? 4 : 2);
        }
        for (int i = 0; i < MOST * cols; i++) x[i] = i / cols % 2 ? -127 : 127;
        for (int n = 0; n < 32 * MOST; n++) {
            double sum = 0;
            quant_decode(types[t], file + (size_t)(n % 32) * row, decoded, cols);
            for (int k = 0; k < cols; k++) sum += (double)decoded[k] * (double)x[n / 32 * cols + k];
            right[n] = (float)sum;
            CHECK((double)right[n] == sum);
        }
        pack_group(types[t], 32, cols, file, row, w);
        for (size_t i = 0; i < COUNT_OF(isas); i++)
            for (int T = 1; T <= MOST && isa_here(i); T++) {
                memset(acc, 0, sizeof acc);
                products_of(types[t], isa_here(i), T, cols, w, x, acc);
                CHECK_MEM(acc, right, (size_t)(32 * T) * sizeof *acc);
            }
        rig_release(file, 32 * row), rig_release(w, pack_bytes(types[t], 32, cols));
    }
}

/* Q6_K's scaled sums are floats.  A token's row of one block as mul.h orders it, with whole numbers in their place. */
static float sum_k6(int weight, const int8_t *scale, const float *x)
{
    float acc = 0;
    for (int half = 0; half < 2; half++) {
        float u = 0;
        for (int run = 4 * half; run < 4 * half + 4; run++) {
            int8_t q[32];
            float dx = quant_act32(x + 32 * run, q);
            for (int k0 = 0; k0 < 32; k0 += 16) {
                int sum = 0;
                for (int k = k0; k < k0 + 16; k++) sum += weight * q[k];
                u = fmaf((float)(scale[2 * run + k0 / 16] * sum), dx, u);
            }
        }
        acc += u;
    }
    return acc;
}

TEST(scaled_sums_of_q6_k_are_exact_with_all_at_the_ends_of_their_ranges)
{
    enum { COLS = 256, BYTES = 210, MOST = 8 };
    struct dice dice = {12};
    const size_t size = pack_bytes(KT_Q6_K, 32, COLS);
    uint8_t *file = rig_memory(32 * BYTES), *w = rig_memory(size);
    float *x = rig_memory(MOST * COLS * 4), acc[MOST * 32];
    for (int r = 0; r < 32; r++) { /* weights of -32 or 31, scales of -128 or 127; d is 1 */
        uint8_t *block = file + r * BYTES;
        memset(block, r % 2 ? 0xff : 0, 192);
        for (int i = 0; i < 16; i++) block[192 + i] = (r < 16 ? r / 2 % 2 : dice_below(&dice, 2)) ? 127 : 0x80;
        block[208] = 0, block[209] = 0x3c;
    }
    for (int i = 0; i < MOST * COLS; i++) { /* -127 or 127, of a scale with which sums have to be rounded */
        x[i] = 0.7f + (float)(i / COLS) * 0.1f;
        if (i / COLS == 1 || (i / COLS > 1 && !dice_below(&dice, 16))) x[i] = -x[i];
    }
    pack_group(KT_Q6_K, 32, COLS, file, BYTES, w);
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (int T = 1; T <= MOST && isa_here(i); T++) {
            memset(acc, 0, sizeof acc);
            products_of(KT_Q6_K, isa_here(i), T, COLS, w, x, acc);
            for (int n = 0; n < 32 * T; n++) {
                const int r = n % 32;
                float right = sum_k6(r % 2 ? 31 : -32, (const int8_t *)file + r * BYTES + 192, x + n / 32 * COLS);
                CHECK(acc[n] == right);
            }
        }
    rig_release(file, 32 * BYTES), rig_release(w, size), rig_release(x, MOST * COLS * 4);
}

/* In units of the last place of the right answer. */
static double ulps(float got, double right)
{
    int e;
    frexp(right, &e);
    return fabs(got - right) / ldexp(1, MAX(e - 24, -149));
}

TEST(exp_and_tanh_are_as_near_as_they_say_and_the_same_everywhere)
{
    enum { N = 4003 };
    static float x[N], one[N], y[N], first[N];
    for (size_t i = 0; i < COUNT_OF(isas); i++) {
        const struct cpu_isa *isa = isa_here(i);
        if (!isa) continue;
        for (int k = 0; k < N; k++) x[k] = (float)(k - N / 2) * 0.0437f, one[k] = 1, y[k] = x[k];
        isa->softcap(y, N, 1);
        for (int k = 0; k < N; k++) CHECK(ulps(y[k], tanh(x[k])) <= 3);
        if (i == 0) memcpy(first, y, sizeof y);
        CHECK_MEM(first, y, sizeof y);
        isa->gate(KERN_SILU, x, one, N, y); /* x / (1 + e^-x): its relative error is e^-x's and two roundings */
        for (int k = 0; k < N; k++) {
            double right = x[k] / (1 + exp(-(double)x[k]));
            CHECK(x[k] < -87 ? fabsf(y[k]) < 1e-35f : ulps(y[k], right) <= 4);
        }
    }
}

/* ------------------------------------------------------------ against the reference */

static void cpu_lockstep(struct dice *dice, const struct rig_shape *s, const char *isa, int threads, bool rounded,
                         int batches, double tol)
{
    const struct kern_config cfg = {.threads = threads, .isa = isa};
    lockstep(dice, s, kern_cpu(), &cfg, rounded, batches, tol);
}

TEST(every_step_agrees_with_the_reference_when_that_rounds_activations_too)
{
    struct dice dice = {4};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (int round = 0; round < STEP_SHAPES && isa_here(i); round++) {
            struct rig_shape s = lockstep_shape(&dice, round % 3 == 0);
            cpu_lockstep(&dice, &s, isas[i], 1 + round % 4, true, 3, 1e-5);
        }
}

TEST(every_type_agrees_with_the_reference_in_every_place)
{
    struct dice dice = {5};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (size_t t = CHECK_SANITIZED ? i % 2 : 0; t < COUNT_OF(types) && isa_here(i); t += 1 + CHECK_SANITIZED) {
            enum ktype y = types[t];
            struct rig_shape s = {.embd = 256, .heads = 4, .kv_heads = 2, .head_dim = 64, .ff = 512, .vocab = 70,
                                  .layers = 1, .table = y, .q = y, .k = y, .v = y, .o = y, .gate = y, .up = y,
                                  .down = y,
                                  .kv = KT_F32, .rope = 64, .neox = true, .scale = 0.125f};
            cpu_lockstep(&dice, &s, isas[i], 2, true, 2, 1e-5);
        }
}

TEST(every_step_agrees_with_the_reference_in_gemma_s_shapes)
{
    struct dice dice = {14};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (int which = 0; which < LOCKSTEP_GEMMAS && isa_here(i); which += 1 + 2 * CHECK_SANITIZED) {
            struct rig_shape s = lockstep_gemma(which);
            cpu_lockstep(&dice, &s, isas[i], 2, true, 2, 1e-5);
        }
}

TEST(int8_activations_cost_no_more_than_a_few_percent_of_a_single_value)
{
    struct dice dice = {6};
    for (int round = 0; round < 6; round++) {
        struct rig_shape s = lockstep_shape(&dice, false);
        s.bias = s.post = false; /* that norm makes what is added, and its errors, larger beside x */
        s.kv = KT_F16; /* activations alone: pages of integers round too */
        cpu_lockstep(&dice, &s, NULL, 2, false, 2, 0.06);
    }
}

/* ------------------------------------------------------- a row's bits in any company */

enum { SAME_SEQS = 3, SAME_LEN = 100, SAME_CTX = 112 };

/* Logits of every token of every sequence. */
struct said {
    int vocab;
    float *logits; /* (seqs, len, vocab) */
};

static int token_at(int seq, int pos, int vocab)
{
    return (seq * 7919 + pos * 104729 + 13) % vocab;
}

/* Pages that a window has left behind, and those of the future, are nobody's: their numbers must not be used. */
static void hide_pages(struct rig *r, int32_t *all, const struct rig_rows *rows)
{
    memcpy(r->table[0], all, (size_t)(r->seqs * r->stride) * sizeof *all);
    for (int s = 0; s < r->seqs; s++) {
        int first = SAME_CTX, last = -1;
        for (int i = 0; i < rows->n; i++)
            if (rows->seq[i] == s) first = MIN(first, rows->pos[i]), last = rows->pos[i];
        int seen = r->model->s.window ? MAX(0, first - r->model->s.window + 1) : 0;
        for (int p = 0; p < r->stride; p++)
            if (p < seen / KERN_PAGE || p > last / KERN_PAGE) r->table[0][s * r->stride + p] = INT32_MAX - p;
    }
}

/* Forward passes over all sequences; the rows of each batch are drawn, or (dice NULL) one token at a time. */
static struct said say_all(struct rig *r, struct dice *dice)
{
    struct said said = {r->model->s.vocab, NULL};
    int len[SAME_SEQS] = {0}, left = SAME_SEQS * SAME_LEN;
    size_t table = (size_t)(r->seqs * r->stride) * sizeof *r->table[0];
    int32_t *all = malloc(table);
    said.logits = malloc((size_t)left * (size_t)said.vocab * sizeof(float));
    CHECK(all && said.logits);
    memcpy(all, r->table[0], table);
    while (left > 0) {
        struct rig_rows rows = {0};
        int only = dice && dice_below(dice, 3) ? -1 : dice ? dice_below(dice, SAME_SEQS) : left % SAME_SEQS;
        for (int s = 0; s < SAME_SEQS; s++) {
            int n = dice ? dice_below(dice, dice_below(dice, 2) ? 3 : 40) : 1;
            if (only >= 0 && only != s) continue;
            for (n = MIN(n, SAME_LEN - len[s]); n > 0 && rows.n < r->max_rows; n--, rows.n++) {
                rows.token[rows.n] = token_at(s, len[s], said.vocab);
                rows.pos[rows.n] = len[s]++, rows.seq[rows.n] = s, rows.out[rows.n] = rows.n;
            }
        }
        if (!rows.n) continue;
        hide_pages(r, all, &rows);
        struct kern_batch b = rig_batch(r, &rows);
        rig_forward(r, &b);
        for (int i = 0; i < rows.n; i++)
            memcpy(said.logits + ((size_t)rows.seq[i] * SAME_LEN + (size_t)rows.pos[i]) * (size_t)said.vocab,
                   r->logits + (size_t)i * (size_t)said.vocab, (size_t)said.vocab * sizeof(float));
        left -= rows.n;
    }
    free(all);
    return said;
}

/* One token at a time with one thread is the measure; then batches of all kinds, 1 to 4 threads, every instruction
 * set. */
TEST(a_row_has_the_same_bits_alone_or_in_company_on_any_threads_and_instruction_set)
{
    struct dice dice = {7};
    for (int round = 0; round < ROW_SHAPES; round++) {
        struct rig_shape s = lockstep_shape(&dice, round % 3 == 2);
        if (round % 2) s.window = 20 + dice_below(&dice, 40);
        s.post = round % 3 != 1;
        struct rig_model *m = rig_model(&dice, &s);
        size_t size = (size_t)(SAME_SEQS * SAME_LEN * s.vocab) * sizeof(float);
        struct said first = {0};
        for (size_t i = COUNT_OF(isas); i-- > 0;)
            for (int variant = 0; variant < ROW_VARIANTS && isa_here(i); variant++) {
                bool alone = !first.logits;
                const struct kern_config cfg = {.threads = alone ? 1 : 1 + dice_below(&dice, 4), .isa = isas[i]};
                int most = alone ? 1 : 1 + dice_below(&dice, 40);
                struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, most, SAME_SEQS, SAME_CTX);
                struct said now = say_all(r, alone ? NULL : &dice);
                rig_close(r);
                if (alone) {
                    first = now;
                    continue;
                }
                CHECK_MEM(first.logits, now.logits, size);
                free(now.logits);
            }
        for (size_t i = 0; i < size / sizeof(float); i++) CHECK(isfinite(first.logits[i]));
        free(first.logits);
        rig_model_free(m);
    }
}

/* Enough tokens for several rounds of sums and enough cols for several chunks of k, against one token at a time. */
TEST(a_product_of_many_rows_has_the_bits_of_each_row_alone)
{
    enum { ROWS = 530, OUT = 70 };
    static const struct { enum ktype type; int cols; } cases[] = {
        {KT_Q8_0, 2240}, {KT_Q4_0, 4128}, {KT_Q4_1, 2720}, {KT_Q5_0, 2592}, {KT_Q5_1, 3104}, {KT_Q4_K, 4608},
        {KT_Q5_K, 2816}, {KT_Q6_K, 2816}, {KT_F16, 1301},  {KT_BF16, 901},  {KT_F32, 613}};
    const struct kern *k = kern_cpu();
    struct dice dice = {10};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct kern_config cfg = {.threads = 1 + (int)c % 3};
        const int cols = cases[c].cols;
        struct kmat m = {cases[c].type, OUT, cols, NULL};
        const struct kern_dims dims = {.embd = cols, .ff = cols, .max_rows = ROWS, .max_outs = 1};
        size_t file_size = rig_file_bytes(m.type, OUT, cols), size = k->mat_bytes(m.type, OUT, cols);
        size_t work_size = k->work_bytes(&dims), y_size = (size_t)ROWS * (size_t)cols * 4;
        uint8_t *file = rig_memory(file_size), *work = rig_memory(work_size);
        float *y = rig_memory(y_size), *x = rig_memory(ROWS * OUT * 4), one[OUT];
        struct kdev *d = k->open(&cfg, NULL);
        m.dev_data = rig_memory(size);
        rig_weights(&dice, m.type, OUT, cols, file);
        CHECK_EQ(k->mat_load(d, &m, 0, OUT, file, NULL), 0);
        for (int i = 0; i < ROWS * cols; i++) y[i] = dice_float(&dice, 1);
        memset(x, 0, ROWS * OUT * 4);
        CHECK_EQ(k->project(d, NULL, ROWS, &m, NULL, NULL, 0, y, x, work, NULL), 0);
        for (int r = 0; r < ROWS; r++) {
            memset(one, 0, sizeof one);
            CHECK_EQ(k->project(d, NULL, 1, &m, NULL, NULL, 0, y + (size_t)r * (size_t)cols, one, work, NULL), 0);
            CHECK_MEM(x + r * OUT, one, sizeof one);
        }
        k->close(d);
        rig_release(m.dev_data, size), rig_release(file, file_size), rig_release(work, work_size);
        rig_release(y, y_size), rig_release(x, ROWS * OUT * 4);
    }
}

/* The feed-forward step, and the same by its parts: norm, two products, gate, a product.  One thread has all groups at
 * a time, more of them than a lone tile takes of one matrix before the other; three have few. */
static void check_ffn(struct dice *dice, const struct cpu_isa *isa, int threads, const enum ktype *type, int ff,
                      int rows)
{
    enum { EMBD = 256 };
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = threads, .isa = isa->name};
    const struct kern_dims dims = {.embd = EMBD, .ff = ff, .max_rows = rows};
    const int out[] = {ff, ff, EMBD}, in[] = {EMBD, EMBD, ff};
    const size_t x_size = (size_t)(rows * EMBD) * 4, h_size = (size_t)(rows * ff) * 4, work_size = k->work_bytes(&dims);
    float *x = rig_memory(x_size), *parts = rig_memory(x_size), *normed = rig_memory(x_size);
    float *norm = rig_memory(EMBD * 4), *post = rig_memory(EMBD * 4);
    float *gate = rig_memory(h_size), *up = rig_memory(h_size);
    uint8_t *work = rig_memory(work_size), *file[3];
    struct kmat m[3];
    struct kdev *d = k->open(&cfg, NULL);
    for (int i = 0; i < 3; i++) {
        file[i] = rig_memory(rig_file_bytes(type[i], out[i], in[i]));
        rig_weights(dice, type[i], out[i], in[i], file[i]);
        m[i] = (struct kmat){type[i], out[i], in[i], rig_memory(k->mat_bytes(type[i], out[i], in[i]))};
        CHECK_EQ(k->mat_load(d, &m[i], 0, out[i], file[i], NULL), 0);
    }
    for (int i = 0; i < EMBD; i++) norm[i] = dice_float(dice, 1), post[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * EMBD; i++) x[i] = parts[i] = dice_float(dice, 1);

    const struct kern_ffn ffn = {norm, 1e-5f, m[0], m[1], m[2], dice_below(dice, 2) ? KERN_SILU : KERN_GELU,
                                 dice_below(dice, 2) ? post : NULL, {0}};
    CHECK_EQ(k->ffn(d, NULL, rows, &ffn, x, work, NULL), 0);
    for (int r = 0; r < rows; r++) isa->norm(parts + r * EMBD, norm, EMBD, 1e-5f, normed + r * EMBD);
    memset(gate, 0, h_size), memset(up, 0, h_size);
    CHECK_EQ(k->project(d, NULL, rows, &m[0], NULL, NULL, 0, normed, gate, work, NULL), 0);
    CHECK_EQ(k->project(d, NULL, rows, &m[1], NULL, NULL, 0, normed, up, work, NULL), 0);
    isa->gate(ffn.act, gate, up, rows * ff, gate);
    CHECK_EQ(k->project(d, NULL, rows, &m[2], NULL, ffn.dev_post, 1e-5f, gate, parts, work, NULL), 0);
    CHECK_MEM(x, parts, x_size);

    k->close(d);
    for (int i = 0; i < 3; i++) {
        rig_release(file[i], rig_file_bytes(type[i], out[i], in[i]));
        rig_release(m[i].dev_data, k->mat_bytes(type[i], out[i], in[i]));
    }
    rig_release(x, x_size), rig_release(parts, x_size), rig_release(normed, x_size), rig_release(norm, EMBD * 4);
    rig_release(post, EMBD * 4), rig_release(gate, h_size), rig_release(up, h_size), rig_release(work, work_size);
}

TEST(the_feed_forward_has_the_bits_of_its_parts)
{
    static const struct { enum ktype type[3]; int ff; } cases[] = {
        {{KT_Q8_0, KT_Q8_0, KT_Q8_0}, 96},  {{KT_Q4_K, KT_Q4_K, KT_Q6_K}, 512}, {{KT_Q5_0, KT_F16, KT_Q4_1}, 352},
        {{KT_F32, KT_BF16, KT_F16}, 75},    {{KT_Q4_0, KT_Q5_1, KT_F32}, 100}};
    static const int rows[] = {1, 3, 8, 9, 23, 300};
    struct dice dice = {12};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (size_t c = 0; c < COUNT_OF(cases) && isa_here(i); c++)
            for (size_t r = 0; r < COUNT_OF(rows) - CHECK_SANITIZED; r++)
                for (int threads = rows[r] > 8 ? 3 : 1; threads <= 3; threads += 2)
                    check_ffn(&dice, isa_here(i), threads, cases[c].type, cases[c].ff, rows[r]);
}

/* A projection whose result is normed, by its parts and row by row; the workspace has nothing to spare. */
static void check_post(struct dice *dice, const struct cpu_isa *isa, int threads, enum ktype type, int rows,
                       bool biased)
{
    enum { EMBD = 70, WIDE = 96 };
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = threads, .isa = isa->name};
    const struct kern_dims dims = {.embd = EMBD, .heads = 1, .head_dim = WIDE, .max_rows = rows};
    const size_t x_size = (size_t)(rows * EMBD) * 4, y_size = (size_t)(rows * WIDE) * 4;
    const size_t work_size = k->work_bytes(&dims), size = k->mat_bytes(type, EMBD, WIDE);
    uint8_t *work = rig_memory(work_size), *file = rig_memory(rig_file_bytes(type, EMBD, WIDE));
    struct kmat m = {type, EMBD, WIDE, rig_memory(size)};
    float *x = rig_memory(x_size), *y = rig_memory(y_size), *parts = rig_memory(x_size), *sums = rig_memory(x_size);
    float bias[EMBD], post[EMBD], one[EMBD], *b = biased ? bias : NULL;
    struct kdev *d = k->open(&cfg, NULL);
    rig_weights(dice, type, EMBD, WIDE, file);
    CHECK_EQ(k->mat_load(d, &m, 0, EMBD, file, NULL), 0);
    for (int i = 0; i < EMBD; i++) bias[i] = dice_float(dice, 1), post[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * WIDE; i++) y[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * EMBD; i++) x[i] = parts[i] = dice_float(dice, 1);

    memset(sums, 0, x_size);
    CHECK_EQ(k->project(d, NULL, rows, &m, b, NULL, 0, y, sums, work, NULL), 0);
    memset(work, 0xff, work_size);
    for (int r = 0; r < rows; r++) {
        float *row = parts + r * EMBD;
        memcpy(one, row, sizeof one);
        CHECK_EQ(k->project(d, NULL, 1, &m, b, post, 1e-3f, y + r * WIDE, one, work, NULL), 0);
        isa->norm(sums + r * EMBD, post, EMBD, 1e-3f, sums + r * EMBD);
        for (int i = 0; i < EMBD; i++) row[i] += sums[r * EMBD + i];
        CHECK_MEM(one, row, sizeof one);
    }
    CHECK_EQ(k->project(d, NULL, rows, &m, b, post, 1e-3f, y, x, work, NULL), 0);
    CHECK_MEM(x, parts, x_size);

    k->close(d);
    rig_release(file, rig_file_bytes(type, EMBD, WIDE)), rig_release(m.dev_data, size), rig_release(work, work_size);
    rig_release(x, x_size), rig_release(y, y_size), rig_release(parts, x_size), rig_release(sums, x_size);
}

TEST(a_projection_that_is_normed_has_the_bits_of_its_parts_and_of_each_row_alone)
{
    static const enum ktype type[] = {KT_Q8_0, KT_Q4_0, KT_F16};
    static const int rows[] = {1, 9, 300};
    struct dice dice = {13};
    for (size_t i = 0; i < COUNT_OF(isas); i++)
        for (size_t r = 0; r < COUNT_OF(rows) - CHECK_SANITIZED && isa_here(i); r++)
            for (size_t t = 0; t < COUNT_OF(type); t++)
                for (int threads = 1; threads <= 3; threads += 2)
                    check_post(&dice, isa_here(i), threads, type[t], rows[r], dice_below(&dice, 2));
}

static void check_not_a_number(enum ktype kv)
{
    struct dice dice = {8};
    struct rig_shape s = {.embd = 64, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 96, .vocab = 50, .layers = 1,
                          .table = KT_Q8_0, .q = KT_Q8_0, .k = KT_Q4_1, .v = KT_Q8_0, .o = KT_Q8_0, .gate = KT_Q5_1,
                          .up = KT_Q4_0, .down = KT_Q8_0, .kv = kv, .post = kv == KT_F16, .scale = 0.2f};
    struct rig_model *m = rig_model(&dice, &s);
    const struct kern_config cfg = {.threads = 2};
    struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, 12, 12, 16);
    struct rig_rows rows = {.n = 12};
    for (int i = 0; i < rows.n; i++) rows.seq[i] = rows.out[i] = i, rows.token[i] = i;
    struct kern_batch b = rig_batch(r, &rows);
    rig_do(r, STEP_EMBED, 0, &b);
    r->x[5 * 64 + 40] = NAN;
    r->x[7 * 64 + 1] = -INFINITY;
    for (int step = STEP_ATTN_IN; step <= STEP_OUTPUT; step++) rig_do(r, (enum rig_step)step, 0, &b);
    for (int i = 0; i < rows.n * s.vocab; i++)
        CHECK(i / s.vocab == 5 || i / s.vocab == 7 ? isnan(r->logits[i]) : isfinite(r->logits[i]));
    rig_close(r);
    rig_model_free(m);
}

TEST(a_row_that_is_not_a_number_says_so_and_spoils_no_other)
{
    static const enum ktype kv[] = {KT_F32, KT_F16, KT_Q8_0};
    for (size_t i = 0; i < COUNT_OF(kv); i++) check_not_a_number(kv[i]);
}

/* ----------------------------------------------------------------- sample, odds and ends */

TEST(sample_chooses_for_each_row_what_kern_choose_would)
{
    enum { OUTS = 19, VOCAB = 20011 }; /* a row alone is shared out in three pieces */
    struct dice dice = {9};
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = 3};
    const struct kern_dims dims = {.vocab = VOCAB, .max_outs = OUTS, .max_rows = 1};
    struct kdev *d = k->open(&cfg, NULL);
    size_t size = k->work_bytes(&dims);
    void *work = rig_memory(size);
    static float logits[OUTS * VOCAB];
    static struct kern_sample params[OUTS];
    static struct kern_choice got[OUTS], right;
    static _Alignas(64) uint8_t scratch[VOCAB * 16];
    for (int i = 0; i < OUTS * VOCAB; i++) logits[i] = dice_float(&dice, 3);
    for (int i = 0; i < OUTS; i++)
        params[i] = (struct kern_sample){.temp = i % 3 ? 0.8f : 0, .top_k = i * 2, .top_p = 0.95f, .repeat = 1,
                                         .seed = 5, .step = (uint64_t)i, .top_n = i, .target = -1};
    for (int outs = 0; outs <= OUTS; outs++) {
        memset(got, 0xff, sizeof got);
        CHECK_EQ(k->sample(d, NULL, outs, VOCAB, params, logits, got, work, NULL), 0);
        for (int i = 0; i < outs; i++) {
            kern_choose(&params[i], logits + i * VOCAB, VOCAB, scratch, &right);
            CHECK_EQ(got[i].id, right.id);
            CHECK(got[i].logprob == right.logprob);
            CHECK_MEM(got[i].top_id, right.top_id, (size_t)params[i].top_n * 4);
        }
    }
    for (int i = 0; i < OUTS; i++) {
        CHECK_EQ(k->sample(d, NULL, 1, VOCAB, &params[i], logits + i * VOCAB, &right, work, NULL), 0);
        CHECK_MEM(&got[i], &right, sizeof right);
    }
    rig_release(work, size);
    k->close(d);
}

TEST(a_slab_is_zero_and_aligned_and_one_that_cannot_be_says_how_much_was_asked)
{
    const struct kern *k = kern_cpu();
    struct kdev *d = k->open(NULL, NULL);
    static const size_t sizes[] = {1, 4096, 100000, (2u << 20) - 1, 2u << 20, (6u << 20) + 5};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint8_t *slab = k->take(d, sizes[i], NULL), text[8] = "plimsoll", back[8];
        CHECK(slab && (uintptr_t)slab % 64 == 0);
        CHECK_EQ(slab[0] | slab[sizes[i] / 2] | slab[sizes[i] - 1], 0);
        CHECK_EQ(k->upload(d, NULL, slab, text, sizes[i] < 8 ? 1 : 8, NULL), 0);
        CHECK_EQ(k->fetch(d, NULL, back, slab, sizes[i] < 8 ? 1 : 8, NULL), 0);
        CHECK_EQ(back[0], 'p');
        k->give(d, slab, sizes[i]);
    }
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        struct err err = {0};
        char figure[32];
        snprintf(figure, sizeof figure, "%zu bytes", huge[i]);
        CHECK(k->take(d, huge[i], &err) == NULL);
        CHECK(strstr(err.text, figure) != NULL);
    }
    k->close(d);
}

TEST(open_says_what_it_runs_on_and_refuses_what_is_not_there)
{
    const struct kern *k = kern_cpu();
    struct err err = {0};
    struct kern_config cfg = {.threads = 1, .isa = "portable"};
    struct kdev *d = k->open(&cfg, &err);
    CHECK_STR(k->describe(d), "portable, 1 thread, not pinned");
    CHECK_STR(k->numerics(d), "cpu 3 portable"); /* on any number of threads: the bits are the same */
    CHECK_STR(k->mat_kernel(d, KT_Q4_K), "portable int8 (32 rows x 2 tokens)");
    CHECK_STR(k->mat_kernel(d, KT_F16), "portable fp32 (32 rows x 2 tokens)");
    CHECK_STR(k->mat_kernel(d, KT_IQ3_S), "none");
    CHECK_STR(k->mat_kernel(d, (enum ktype)77), "none");
    k->close(d);
    cfg.isa = "mmx";
    CHECK(k->open(&cfg, &err) == NULL);
    CHECK_STR(err.text, "no instruction set is named \"mmx\": use auto, avx512, avxvnni, avx2 or portable");
    cfg.isa = "auto";
    cfg.threads = -3;
    CHECK(k->open(&cfg, &err) == NULL);
    CHECK(strstr(err.text, "-3 threads"));
    cfg.threads = 0;
    d = k->open(&cfg, &err);
    CHECK(d && strlen(k->describe(d)) > 0);
    k->close(d);
}

CHECK_MAIN
