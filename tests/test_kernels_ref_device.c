/* test_kernels_ref_device.c - the reference backend's handles, sizes, rounding of activations and sample step. */
#include "kernels/kernels.h"
#include "tests/check.h"

enum { ROWS = 40, COLS = 64, VOCAB = 50 };

static float next_random(uint64_t *state) /* -1 .. 1 */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(*state >> 32) * 0x1p-31f;
}

/* ----------------------------------------------------------- rounded activations */

/* y = a x, by project() on a device that rounds activations or does not. */
static void project_with(bool round, const struct kmat *a, const float *x, float *y)
{
    const struct kern *k = kern_ref();
    struct kern_dims dims = {.embd = COLS, .heads = 1, .kv_heads = 1, .head_dim = COLS, .ff = COLS, .vocab = COLS,
                             .max_rows = 1, .max_outs = 1, .max_ctx = 1, .max_seqs = 1};
    struct kdev *d = k->open(&(struct kern_config){.round_activations = round}, NULL);
    CHECK(d != NULL);
    void *work = k->take(d, k->work_bytes(&dims), NULL);
    CHECK(work != NULL);
    memset(y, 0, (size_t)a->rows * sizeof *y);
    CHECK_EQ(k->project(d, NULL, 1, a, NULL, NULL, 0, x, y, work, NULL), 0);
    k->give(d, work, k->work_bytes(&dims));
    k->close(d);
}

/* Random weights as a file has them; the integer types used here begin a block with their one scale. */
static struct kmat make_mat(enum ktype type, uint8_t *bytes, uint64_t *seed)
{
    const struct ktype_info *t = ktype_info(type);
    for (int i = 0; i < ROWS * COLS / t->block; i++, bytes += t->bytes) {
        float v = next_random(seed);
        uint16_t half = quant_to_f16(v / 64);
        for (int k = 0; k < t->bytes; k++) bytes[k] = (uint8_t)(int)(128 + 127 * next_random(seed));
        if (type == KT_F32) memcpy(bytes, &v, 4);
        else memcpy(bytes, type == KT_BF16 ? (char *)&v + 2 : (char *)&half, 2);
    }
    return (struct kmat){type, ROWS, COLS, NULL};
}

TEST(activations_are_rounded_before_integer_types_and_only_there)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q5_0};
    uint64_t seed = 3;
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        uint8_t bytes[ROWS * COLS * 4];
        float x[COLS], weights[ROWS * COLS], exact[ROWS], rounded[ROWS];
        bool integers = ktype_info(types[t])->block > 1;
        struct kmat a = make_mat(types[t], bytes, &seed);
        a.dev_data = bytes;
        quant_decode(types[t], bytes, weights, ROWS * COLS);
        for (int i = 0; i < COLS; i++) x[i] = 2 * next_random(&seed);
        x[40] = 17; /* the second block has another scale */
        project_with(false, &a, x, exact);
        project_with(true, &a, x, rounded);

        for (int r = 0; r < ROWS; r++) {
            double sum = 0, seen = 0;
            for (int b = 0; b < COLS; b += 32) {
                int8_t q[32];
                double scale = quant_act32(x + b, q);
                for (int i = b; i < b + 32; i++) {
                    sum += (double)x[i] * weights[r * COLS + i];
                    seen += q[i - b] * scale * weights[r * COLS + i];
                }
            }
            CHECK_NEAR(exact[r], sum, 1e-5);
            CHECK_NEAR(rounded[r], integers ? seen : sum, 1e-5);
        }
        CHECK_EQ(memcmp(exact, rounded, sizeof exact) == 0, !integers);
    }
}

TEST(an_activation_that_is_not_finite_is_seen_in_the_result)
{
    static uint8_t bytes[ROWS * COLS * 4];
    uint64_t seed = 4;
    struct kmat a = make_mat(KT_Q8_0, bytes, &seed);
    float x[COLS] = {1, 2, 3}, y[ROWS];
    a.dev_data = bytes;
    x[50] = INFINITY;
    project_with(true, &a, x, y);
    for (int i = 0; i < ROWS; i++) CHECK(isnan(y[i]));
}

/* ------------------------------------------------------------- sizes and handles */

TEST(sizes_are_those_of_the_file_and_nothing_for_what_cannot_be_multiplied)
{
    const struct kern *k = kern_ref();
    CHECK_EQ(k->mat_bytes(KT_F32, 3, 5), 60);
    CHECK_EQ(k->mat_bytes(KT_Q4_K, 10, 512), 10 * 2 * 144);
    CHECK_EQ(k->mat_bytes(KT_Q4_K, 10, 500), 0);
    CHECK_EQ(k->mat_bytes(KT_Q8_1, 32, 32), 0);
    CHECK_EQ(k->mat_bytes((enum ktype)31, 32, 32), 0);
    CHECK_EQ(k->mat_bytes(KT_F32, 0, 32), 0);
    CHECK_EQ(k->mat_bytes(KT_F32, 1 << 30, 1 << 29), (size_t)1 << 61);

    struct kern_group g = {.layers = 3, .kv_heads = 2, .head_dim = 64, .kv_type = KT_F16};
    CHECK_EQ(k->kv_page_bytes(&g), 3 * 2 * KERN_PAGE * 2 * 64 * 2);
    g.kv_type = KT_F32;
    CHECK_EQ(k->kv_page_bytes(&g), 3 * 2 * KERN_PAGE * 2 * 64 * 4);
    g.kv_type = KT_Q8_0;
    CHECK_EQ(k->kv_page_bytes(&g), 3 * 2 * KERN_PAGE * 2 * 2 * 34);
    g.head_dim = 80;
    CHECK_EQ(k->kv_page_bytes(&g), 0);
    g.kv_type = KT_Q4_0;
    g.head_dim = 64;
    CHECK_EQ(k->kv_page_bytes(&g), 0);
}

TEST(a_slab_is_aligned_zeroed_and_refused_with_its_size)
{
    const struct kern *k = kern_ref();
    struct err err;
    struct kdev *d = k->open(&(struct kern_config){0}, &err);
    CHECK(d != NULL);
    char *slab = k->take(d, 1000, &err);
    CHECK(slab && (uintptr_t)slab % 64 == 0);
    for (int i = 0; i < 1000; i++) CHECK_EQ(slab[i], 0);
    CHECK_EQ(k->upload(d, NULL, slab + 10, "abc", 3, &err), 0);
    char back[3];
    CHECK_EQ(k->fetch(d, NULL, back, slab + 10, 3, &err), 0);
    CHECK_MEM(back, "abc", 3);
    k->give(d, slab, 1000);
    CHECK(k->take(d, SIZE_MAX, &err) == NULL);
    CHECK(strstr(err.text, "18446744073709551615") != NULL);
    k->close(d);
}

TEST(a_device_says_what_it_is)
{
    const struct kern *k = kern_ref();
    struct kdev *plain = k->open(&(struct kern_config){0}, NULL);
    struct kdev *round = k->open(&(struct kern_config){.round_activations = true}, NULL);
    CHECK(plain && round);
    CHECK(strcmp(k->describe(plain), k->describe(round)) != 0);
    CHECK(strcmp(k->numerics(plain), k->numerics(round)) != 0);
    CHECK_STR(k->mat_kernel(plain, KT_Q4_K), "double sums");
    CHECK_STR(k->mat_kernel(round, KT_Q4_K), "double sums, int8 activations");
    CHECK_STR(k->mat_kernel(round, KT_F16), "double sums");
    CHECK_STR(k->mat_kernel(round, KT_IQ1_S), "none");
    k->close(plain);
    k->close(round);
}

TEST(the_sample_step_chooses_for_each_row_by_its_own_rules)
{
    const struct kern *k = kern_ref();
    _Alignas(64) uint8_t work[VOCAB * 16], scratch[VOCAB * 16];
    float logits[3 * VOCAB];
    struct kern_sample s[3];
    struct kern_choice got[3], want;
    uint64_t seed = 5;
    for (int i = 0; i < 3 * VOCAB; i++) logits[i] = 4 * next_random(&seed);
    for (int i = 0; i < 3; i++) s[i] = (struct kern_sample){.top_p = 1, .repeat = 1, .target = -1, .top_n = i};
    s[1].temp = 1;
    s[2].target = 9;
    struct kdev *d = k->open(&(struct kern_config){0}, NULL);
    CHECK_EQ(k->sample(d, NULL, 3, VOCAB, s, logits, got, work, NULL), 0);
    for (int i = 0; i < 3; i++) {
        kern_choose(&s[i], logits + i * VOCAB, VOCAB, scratch, &want);
        CHECK_EQ(got[i].id, want.id);
        CHECK(got[i].logprob == want.logprob && got[i].top_id[0] == want.top_id[0]);
    }
    CHECK_EQ(got[2].id, 9);
    k->close(d);
}

CHECK_MAIN
