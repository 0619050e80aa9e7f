/* test_kernels_isa.c - the CPU backend's kernels by themselves: the layout of packed weights, and every instruction set
 * against the others, to the bit. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pack.h"
#include "tests/check.h"
#include "tests/rig.h"

/* -------------------------------------------------------------------- the layout */

TEST(a_packed_matrix_gives_back_every_row_of_the_file)
{
    struct dice dice = {1};
    static const int rows[] = {1, 31, 32, 33, 70, 96};
    for (size_t t = 0; t < RIG_TYPES; t++)
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            int block = ktype_info(rig_types[t])->block, n = rows[i];
            int cols = block > 1 ? block * (1 + dice_below(&dice, 3)) : 1 + dice_below(&dice, 70);
            size_t size = rig_file_bytes(rig_types[t], n, cols), row = rig_file_bytes(rig_types[t], 1, cols);
            size_t group = pack_group_bytes(rig_types[t], cols), packed = pack_bytes(rig_types[t], n, cols);
            CHECK_EQ(group, 32 * row);
            CHECK_EQ(packed, (size_t)((n + 31) / 32) * group);
            uint8_t *file = rig_memory(size), *to = rig_memory(packed);
            float *a = rig_memory((size_t)cols * 4), *b = rig_memory((size_t)cols * 4);
            rig_weights(&dice, rig_types[t], n, cols, file);
            for (int r = 0; r < n; r += 32)
                pack_group(rig_types[t], MIN(32, n - r), cols, file + (size_t)r * row, row,
                           to + (size_t)(r / 32) * group);
            for (int r = 0; r < n; r++) {
                quant_decode(rig_types[t], file + (size_t)r * row, a, cols);
                pack_row(rig_types[t], cols, to + (size_t)(r / 32) * group, r % 32, b);
                CHECK_MEM(a, b, (size_t)cols * 4);
            }
            for (int r = n; r < (n + 31) / 32 * 32; r++) {
                pack_row(rig_types[t], cols, to + (size_t)(r / 32) * group, r % 32, b);
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
    for (size_t i = 0; i < RIG_ISAS; i++)
        if (rig_isa(i)) check_names(rig_isas[i], i == 0);
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
    CHECK_EQ(k->mat_bytes(KT_Q8_K, 32, 256), 0);
    CHECK_EQ(k->mat_bytes((enum ktype)1000, 32, 256), 0);
    CHECK_EQ(k->mat_bytes(KT_F32, INT32_MAX, INT32_MAX) / 4 / INT32_MAX, (size_t)INT32_MAX + 1);
    struct kern_group g = {.layers = 2, .kv_heads = 3, .head_dim = 20, .kv_type = KT_F16};
    CHECK_EQ(k->kv_page_bytes(&g), 2 * 3 * 16 * (20 + 32) * 2);
    const struct kern_dims huge = {.embd = INT32_MAX, .heads = INT32_MAX, .kv_heads = INT32_MAX,
                                   .head_dim = INT32_MAX, .ff = INT32_MAX, .vocab = INT32_MAX, .max_rows = INT32_MAX,
                                   .max_outs = INT32_MAX, .max_ctx = INT32_MAX, .max_seqs = INT32_MAX};
    CHECK_EQ(k->work_bytes(&huge), SIZE_MAX);
    const struct kern_dims many = {.embd = 32, .ff = 32, .heads = 1, .head_dim = 32, .kv_heads = 1, .max_ctx = 16,
                                   .max_seqs = 1, .max_rows = 1 << 27, .experts = KERN_EXPERTS, .used = KERN_USED};
    CHECK_EQ(k->work_bytes(&many), SIZE_MAX);
}

/* -------------------------------------------------- instruction sets, face to face */

TEST(activations_round_as_quant_act32_says_on_every_instruction_set)
{
    struct dice dice = {2};
    for (size_t i = 0; i < RIG_ISAS; i++) {
        const struct cpu_isa *isa = rig_isa(i);
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

/* Where a block has its d. */
static uint8_t *scale_of(enum ktype type, uint8_t *block)
{
    return block + (type == KT_Q6_K ? 208 : type == KT_Q3_K ? 108 : type == KT_Q2_K ? 80 : 0);
}

/* A row's first block has an infinite scale, as no good file has: what comes of it must be the same all the same. */
static void infinite_scale(enum ktype type, uint8_t *row)
{
    uint8_t *d = scale_of(type, row);
    if (type == KT_MXFP4) d[0] = 255;
    else d[0] = 0, d[1] = 0x7c;
}

/* Of a block the bytes from the sixteenth on that are neither d nor, but for Q3_K's, scales. */
static bool is_weights(enum ktype type, size_t at)
{
    const size_t end = type == KT_Q6_K ? 192 : type == KT_Q3_K ? 108 : type == KT_Q2_K ? 80 : SIZE_MAX;
    return at > 15 && at < end;
}

/* Weights and activations at both ends of their ranges too, where 16-bit sums would saturate. */
TEST(products_have_the_same_bits_on_every_instruction_set_and_in_every_tile)
{
    struct dice dice = {3};
    for (size_t t = 0; t < RIG_TYPES; t++)
        for (int round = 0; round < 12; round++) {
            enum { MOST = 8 };
            int block = ktype_info(rig_types[t])->block, cols = block > 1 ? block * 2 : 77;
            if (round == 11 && block > 1) cols = block * (block == 32 ? 33 : 5); /* more than a first cache's share */
            size_t size = pack_bytes(rig_types[t], 32, cols), row = rig_file_bytes(rig_types[t], 1, cols);
            uint8_t *file = rig_memory(32 * row), *w = rig_memory(size);
            float *x = rig_memory((size_t)(MOST * cols) * 4), one[MOST * 32], other[MOST * 32];
            rig_weights(&dice, rig_types[t], 32, cols, file);
            if (round % 4 == 1 && rig_types[t] == KT_Q8_0)
                for (size_t i = 0; i < 32 * row; i++)
                    if (i % 34 > 1) file[i] = dice_below(&dice, 2) ? 0x80 : 0x7f;
            if (round % 4 >= 2 && block > 1)
                for (size_t i = 0; i < 32 * row; i++)
                    if (is_weights(rig_types[t], i % (size_t)ktype_info(rig_types[t])->bytes))
                        file[i] = round % 4 == 2 ? 0xff : 0;
            if (round == 5 && block > 1) infinite_scale(rig_types[t], file + 7 * row);
            pack_group(rig_types[t], 32, cols, file, row, w);
            for (int i = 0; i < MOST * cols; i++)
                x[i] = round % 3 ? dice_float(&dice, 1) : dice_below(&dice, 2) ? 1 : 0.999f;
            memset(one, 0, sizeof one);
            for (int i = 0; i < MOST; i++)
                products_of(rig_types[t], rig_isa(0), 1, cols, w, x + i * cols, one + i * 32);
            for (size_t i = 0; i < RIG_ISAS; i++)
                for (int T = 1; T <= MOST && rig_isa(i); T++) {
                    memset(other, 0, sizeof other);
                    products_of(rig_types[t], rig_isa(i), T, cols, w, x, other);
                    CHECK_MEM(one, other, (size_t)T * 32 * 4);
                }
            rig_release(file, 32 * row), rig_release(w, size), rig_release(x, (size_t)(MOST * cols) * 4);
        }
}

/* Rows are cut into as few tiles as may be, and as even. */
TEST(what_opens_a_type_has_a_product_for_every_tile_that_may_come)
{
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (size_t t = 0; t < RIG_TYPES && rig_isa(i); t++) {
            const struct cpu_isa *isa = rig_isa(i);
            const struct isa_opener *opener = &isa->opener[rig_types[t]];
            isa_mul_open *const *mul = isa->mul_open[rig_types[t]];
            for (int rows = 1; opener->open && rows <= 4 * CPU_ROWS; rows++) {
                const int tiles = (rows + isa->tile - 1) / isa->tile;
                if (tiles < opener->tiles) continue;
                CHECK(mul[rows / tiles] && mul[(rows + tiles - 1) / tiles]);
            }
            CHECK(!opener->open || (size_t)ktype_info(rig_types[t])->block / 32 * opener->bytes <= CPU_CHUNK);
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
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (size_t t = 0; t < RIG_TYPES && rig_isa(i); t++) {
            const struct kern_config cfg = {.threads = 2, .isa = rig_isas[i]};
            struct kdev *d = kern_cpu()->open(&cfg, NULL);
            const size_t row = rig_file_bytes(rig_types[t], 1, COLS), size = pack_bytes(rig_types[t], ROWS, COLS);
            uint8_t *file = rig_memory(ROWS * row), *w = rig_memory(size);
            float *x = rig_memory(MOST * COLS * 4);
            float *one = rig_memory(MOST * ROWS * 4), *y = rig_memory(MOST * ROWS * 4);
            rig_weights(&dice, rig_types[t], ROWS, COLS, file);
            for (int r = 0; r < ROWS; r += 32)
                pack_group(rig_types[t], MIN(32, ROWS - r), COLS, file + (size_t)r * row, row,
                           w + (size_t)(r / 32) * pack_group_bytes(rig_types[t], COLS));
            for (int k = 0; k < MOST * COLS; k++) x[k] = dice_float(&dice, 1);
            const struct kmat m = {rig_types[t], ROWS, COLS, w};
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
    for (size_t t = 0; t < RIG_TYPES; t++) {
        const struct ktype_info *info = ktype_info(rig_types[t]);
        const bool has_min = rig_types[t] != KT_Q8_0 && rig_types[t] != KT_Q4_0 && rig_types[t] != KT_Q5_0 &&
                             rig_types[t] != KT_IQ4_NL && rig_types[t] != KT_Q3_K;
        const bool low = rig_types[t] == KT_Q3_K || rig_types[t] == KT_Q2_K; /* scales of the least and the most */
        const int cols = info->block;
        const size_t row = (size_t)info->bytes;
        float x[MOST * COLS_MOST], decoded[COLS_MOST], acc[MOST * 32], right[MOST * 32];
        if (cols == 1 || rig_types[t] == KT_Q6_K) continue;
        uint8_t *file = rig_memory(32 * row), *w = rig_memory(pack_bytes(rig_types[t], 32, cols));
        for (size_t r = 0; r < 32; r++) { /* weights of the least and the most; 6-bit scales of the most */
            uint8_t *block = file + r * row;
            memset(block, r % 2 ? 0xff : 0, row);
            if (rig_types[t] == KT_Q8_0) memset(block, r % 2 ? 0x7f : 0x80, row);
            if (cols == 256 && !low) memset(block + 4, 0xff, 12);
            memcpy(scale_of(rig_types[t], block), one_and_zero, has_min ? 4 : 2);
            if (rig_types[t] == KT_Q2_K) memcpy(block + 82, one_and_zero, 2);
        }
        for (int i = 0; i < MOST * cols; i++) x[i] = i / cols % 2 ? -127 : 127;
        for (int n = 0; n < 32 * MOST; n++) {
            double sum = 0;
            quant_decode(rig_types[t], file + (size_t)(n % 32) * row, decoded, cols);
            for (int k = 0; k < cols; k++) sum += (double)decoded[k] * (double)x[n / 32 * cols + k];
            right[n] = (float)sum;
            CHECK((double)right[n] == sum);
        }
        pack_group(rig_types[t], 32, cols, file, row, w);
        for (size_t i = 0; i < RIG_ISAS; i++)
            for (int T = 1; T <= MOST && rig_isa(i); T++) {
                memset(acc, 0, sizeof acc);
                products_of(rig_types[t], rig_isa(i), T, cols, w, x, acc);
                CHECK_MEM(acc, right, (size_t)(32 * T) * sizeof *acc);
            }
        rig_release(file, 32 * row), rig_release(w, pack_bytes(rig_types[t], 32, cols));
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
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int T = 1; T <= MOST && rig_isa(i); T++) {
            memset(acc, 0, sizeof acc);
            products_of(KT_Q6_K, rig_isa(i), T, COLS, w, x, acc);
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
    for (size_t i = 0; i < RIG_ISAS; i++) {
        const struct cpu_isa *isa = rig_isa(i);
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

CHECK_MAIN
