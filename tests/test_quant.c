/* test_quant.c - block layouts against values that other decoders computed, conversions bit by bit, activations. */
#include "engine/gguf.h"
#include "kernels/quant.h"
#include "tests/check.h"

#include <fenv.h>

static float from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* A generator of test inputs: nothing more is asked of it than variety. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* ---------------------------------------------------------------------- types */

TEST(types_that_were_removed_or_never_existed_have_no_info)
{
    static const uint32_t none[] = {4, 5, 31, 32, 33, 36, 37, 38, KT_END, 44, 255, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(none); i++) CHECK(ktype_info(none[i]) == NULL);
    for (uint32_t t = 0; t < KT_END; t++) {
        bool removed = t == 4 || t == 5 || (t >= 31 && t <= 33) || (t >= 36 && t <= 38);
        CHECK_EQ(ktype_info(t) == NULL, removed);
    }
}

/* Bits a value of the usable types, as their makers publish them, times 10000. */
TEST(types_have_the_published_bits_a_value)
{
    static const struct { enum ktype type; const char *name; int bits; } known[] = {
        {KT_F32, "F32", 320000}, {KT_F16, "F16", 160000}, {KT_BF16, "BF16", 160000}, {KT_Q8_0, "Q8_0", 85000},
        {KT_Q4_0, "Q4_0", 45000}, {KT_Q4_1, "Q4_1", 50000}, {KT_Q5_0, "Q5_0", 55000}, {KT_Q5_1, "Q5_1", 60000},
        {KT_Q4_K, "Q4_K", 45000}, {KT_Q5_K, "Q5_K", 55000}, {KT_Q6_K, "Q6_K", 65625}, {KT_MXFP4, "MXFP4", 42500},
        {KT_IQ4_NL, "IQ4_NL", 45000}, {KT_IQ4_XS, "IQ4_XS", 42500}, {KT_Q3_K, "Q3_K", 34375},
        {KT_Q2_K, "Q2_K", 26250},
    };
    int usable = 0;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct ktype_info *t = ktype_info(known[i].type);
        CHECK(t && t->usable);
        CHECK_STR(t->name, known[i].name);
        CHECK_EQ(t->bytes * 80000 / t->block, known[i].bits);
    }
    for (uint32_t t = 0; t < KT_END; t++) usable += ktype_info(t) && ktype_info(t)->usable;
    CHECK_EQ(usable, COUNT_OF(known));
}

/* --------------------------------------------------------------- half and brain */

TEST(half_to_float_is_the_sum_of_its_bits)
{
    for (uint32_t h = 0; h < 65536; h++) {
        int exp = (int)(h >> 10 & 31), man = (int)(h & 1023);
        double sign = h >> 15 ? -1 : 1;
        float f = quant_f16((uint16_t)h);
        if (exp == 31 && man) CHECK(isnan(f));
        else if (exp == 31) CHECK(isinf(f) && (f > 0) == (sign > 0));
        else CHECK(f == sign * (exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24)) && !signbit(f) == (sign > 0));
    }
}

TEST(half_round_trips_every_value)
{
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t back = quant_to_f16(quant_f16((uint16_t)h));
        if (isnan(quant_f16((uint16_t)h))) CHECK(isnan(quant_f16(back)) && back >> 15 == h >> 15);
        else CHECK_EQ(back, h);
    }
}

/* Between two neighbouring halves the nearer one is taken, and the one with an even last bit from the exact middle. */
TEST(float_to_half_rounds_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float low = quant_f16((uint16_t)h), high = h == 0x7bff ? 65536.0f : quant_f16((uint16_t)(h + 1));
        float middle = (float)(((double)low + high) / 2);
        CHECK_EQ(quant_to_f16(middle), h + (h & 1));
        CHECK_EQ(quant_to_f16(-middle), (h + (h & 1)) | 0x8000);
        CHECK_EQ(quant_to_f16(nextafterf(middle, 0)), h);
        CHECK_EQ(quant_to_f16(nextafterf(middle, INFINITY)), h + 1);
    }
}

TEST(float_to_half_handles_the_ends)
{
    CHECK_EQ(quant_to_f16(INFINITY), 0x7c00);
    CHECK_EQ(quant_to_f16(-INFINITY), 0xfc00);
    CHECK_EQ(quant_to_f16(3e38f), 0x7c00);
    CHECK_EQ(quant_to_f16(-0.0f), 0x8000);
    CHECK_EQ(quant_to_f16(from_bits(1)), 0); /* the smallest float */
    CHECK(isnan(quant_f16(quant_to_f16(NAN))));
    CHECK_EQ(to_bits(quant_f16(0xfc01)), 0xffc02000u); /* a signalling one becomes quiet and keeps its payload */
    CHECK(isnan(quant_f16(quant_to_f16(from_bits(0x7f800001))))); /* a payload that lies in the dropped bits only */
}

TEST(brain_float_is_the_upper_half_of_a_float)
{
    CHECK(quant_bf16(0x3f80) == 1.0f);
    CHECK(quant_bf16(0xc0a0) == -5.0f);
    CHECK(quant_bf16(0x0001) == from_bits(0x10000));
    CHECK(isinf(quant_bf16(0x7f80)) && isnan(quant_bf16(0x7fc0)));
}

/* --------------------------------------------------------------------- blocks */

/* Expected values and the FNV-1a hash of all bits of the block's floats are those of the Python package `gguf`
 * (gguf.quants.dequantize) for the same bytes; scale[] are the offsets of half floats that were set to sane values. */
static const struct golden { enum ktype type; int scale[2]; float at[4]; uint64_t hash; } golden[] = {
    {KT_Q8_0, {0, -1}, {0x1.2fedp+3f, -0x1.2fedp+3f, 0x1.1655p+3f, 0x1.2654p+1f}, 0xdbf1f5c3358773d1u},
    {KT_Q4_0, {0, -1}, {0x1.665p-1f, -0x1.665p-1f, 0x1.998p-3f, -0x1.332p-1f}, 0xf4a9e3e447179d4bu},
    {KT_Q4_1, {0, 2}, {0x1.45bp-4f, 0x1.7aabp+0f, 0x1.848cp-2f, 0x1.eaecp-2f}, 0xb06ef5e796fc66a6u},
    {KT_Q5_0, {0, -1}, {0x1.1988p+0f, 0x1.ffep-2f, -0x1.4cb8p+0f, -0x1.998p-2f}, 0x086b755eb4b050bdu},
    {KT_Q5_1, {0, 2}, {0x1.9443p+0f, 0x1.28a6p-1f, 0x1.16e98p+1f, 0x1.28a6p-1f}, 0x0475efd4d56d1449u},
    {KT_Q4_K, {0, 2}, {0x1.b1b6cp+5f, 0x1.4e7ap+2f, 0x1.b8e5d8p+5f, 0x1.59bap-1f}, 0x79256a5f9a4b1eabu},
    {KT_Q5_K, {0, 2}, {0x1.c3ffep+6f, 0x1.1cc91p+7f, 0x1.f1e3bp+4f, 0x1.59bap-1f}, 0x25e37751aaaa1c08u},
    {KT_Q6_K, {208, -1}, {-0x1.c97dp+3f, 0x1.18bb4p+5f, -0x1.2fedp+6f, 0x1.4cb8p+6f}, 0xf89e357a66d7ea67u},
    {KT_IQ4_NL, {0, -1}, {0x1.6983p+3f, -0x1.4cb8p+3f, 0x1.3fecp+1f, -0x1.0989p+3f}, 0x99d14243e937a202u},
    {KT_IQ4_XS, {0, -1}, {-0x1.afb1dp+7f, -0x1.2b208p+5f, -0x1.63e9cp+5f, 0x1.ab188p+4f}, 0x70226a9795a0087du},
    {KT_Q3_K, {108, -1}, {-0x1.2654p+1f, -0x1.b97ep+2f, 0x1.998p-1f, 0x1.3fecp+3f}, 0x00efdc099d421949u},
    {KT_Q2_K, {80, 82}, {0x1.7fe8p+0f, 0x1.ffep-2f, 0x1.1064p-2f, 0x1.4f4p-6f}, 0x58bb6268155180e2u},
};

static void golden_bytes(const struct golden *g, int bytes, uint8_t *out)
{
    static const uint16_t scale[2] = {0x2e66, 0xa53d};
    for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(i * i * 7 + i * 31 + 5 + (i >> 3) * 19);
    for (int i = 0; i < 2 && g->scale[i] >= 0; i++) {
        out[g->scale[i]] = (uint8_t)scale[i];
        out[g->scale[i] + 1] = (uint8_t)(scale[i] >> 8);
    }
}

static uint64_t fnv(const float *v, int n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 32; k += 8) h = (h ^ (to_bits(v[i]) >> k & 255)) * 0x100000001b3u;
    return h;
}

TEST(blocks_decode_to_the_bits_of_another_decoder)
{
    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        const struct golden *g = &golden[i];
        const struct ktype_info *t = ktype_info(g->type);
        uint8_t bytes[2 * 256 + 1];
        float v[512];
        golden_bytes(g, t->bytes, bytes + 1); /* odd address: the file gives no alignment */
        memcpy(bytes + 1 + t->bytes, bytes + 1, (size_t)t->bytes);
        quant_decode(g->type, bytes + 1, v, 2 * t->block);
        CHECK(v[0] == g->at[0] && v[1] == g->at[1] && v[t->block / 2 + 1] == g->at[2] && v[t->block - 1] == g->at[3]);
        CHECK_EQ(fnv(v, t->block), g->hash);
        CHECK_MEM(v, v + t->block, (size_t)t->block * sizeof *v); /* the second block is the first again */
    }
}

/* Put one value's integer into a zeroed block by the published drawing, and see that only this value moves. */
static void set_nibble(uint8_t *nibbles, int i, int half, int q)
{
    nibbles[i % half] = (uint8_t)(nibbles[i % half] | q << (i < half ? 0 : 4));
}

TEST(every_value_of_q4_0_and_q5_0_has_its_own_bits)
{
    for (int i = 0; i < 32; i++) {
        uint8_t four[18] = {0x00, 0x3c}, five[22] = {0x00, 0x3c}; /* scale 1 */
        float v[32], w[32];
        set_nibble(four + 2, i, 16, 13);
        set_nibble(five + 6, i, 16, 13);
        five[2 + i / 8] = (uint8_t)(1 << i % 8);
        quant_decode(KT_Q4_0, four, v, 32);
        quant_decode(KT_Q5_0, five, w, 32);
        for (int k = 0; k < 32; k++) CHECK(v[k] == (k == i ? 5 : -8) && w[k] == (k == i ? 13 : -16));
    }
}

/* As the package says that was asked above, too, for scales in the middle, at the ends, and where 12 times it is no
 * float any more. */
TEST(mxfp4_decodes_to_the_bits_of_another_decoder_for_every_scale)
{
    static const struct { int e; float at[4]; uint64_t hash; } of[] = {
        {129, {-0x1.8p+2f, -0x1.8p+4f, 0x1.8p+3f, 0x1p+1f}, 0x8d932daf0c489035u},
        {0, {-0x1.8p-127f, -0x1.8p-125f, 0x1.8p-126f, 0x1p-128f}, 0x7898043c4663f982u},
        {1, {-0x1.8p-126f, -0x1.8p-124f, 0x1.8p-125f, 0x1p-127f}, 0xa4d9d9de5082c375u},
        {254, {-0x1.8p+127f, -INFINITY, INFINITY, 0x1p+126f}, 0x3e7358ab1ce4f8d8u},
    };
    const struct golden g = {.type = KT_MXFP4, .scale = {-1, -1}};
    uint8_t bytes[17];
    float v[32];
    golden_bytes(&g, 17, bytes);
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        bytes[0] = (uint8_t)of[i].e;
        quant_decode(KT_MXFP4, bytes, v, 32);
        CHECK(v[0] == of[i].at[0] && v[1] == of[i].at[1] && v[17] == of[i].at[2] && v[31] == of[i].at[3]);
        CHECK_EQ(fnv(v, 32), of[i].hash);
    }
    for (int e = 0; e < 255; e++) CHECK(quant_e8m0((uint8_t)e) == ldexpf(1, e - 127));
    bytes[0] = 255; /* no number, whatever it is a scale of */
    quant_decode(KT_MXFP4, bytes, v, 32);
    for (int k = 0; k < 32; k++) CHECK(isnan(v[k]));
}

TEST(every_run_of_q4_k_has_its_own_scale_and_minimum)
{
    for (int run = 0; run < 8; run++) {
        uint8_t b[144] = {0x00, 0x3c, 0x00, 0x40}; /* d 1, dmin 2 */
        int scale = 0x2b, min = 0x35, r = run % 4;
        float v[256];
        uint8_t *s = b + 4;
        if (run < 4) {
            s[r] = (uint8_t)scale;
            s[4 + r] = (uint8_t)min;
        } else {
            s[r] = (uint8_t)(scale >> 4 << 6);
            s[4 + r] = (uint8_t)(min >> 4 << 6);
            s[8 + r] = (uint8_t)((scale & 15) | (min & 15) << 4);
        }
        memset(b + 16, 0x77, 128); /* all integers 7 */
        quant_decode(KT_Q4_K, b, v, 256);
        for (int k = 0; k < 256; k++) CHECK(v[k] == (k / 32 == run ? (float)(scale * 7 - 2 * min) : 0));
    }
}

TEST(plain_floats_are_copied_and_widened)
{
    static const float f[3] = {1.5f, -0.0f, 1e-40f};
    static const uint16_t h[3] = {0x3e00, 0x8000, 0x0001}, b[3] = {0x3fc0, 0x8000, 0x7f80};
    float v[3];
    quant_decode(KT_F32, f, v, 3);
    CHECK_MEM(v, f, sizeof f);
    quant_decode(KT_F16, h, v, 3);
    CHECK(v[0] == 1.5f && v[1] == 0 && signbit(v[1]) && v[2] == 0x1p-24f);
    quant_decode(KT_BF16, b, v, 3);
    CHECK(v[0] == 1.5f && v[1] == 0 && signbit(v[1]) && isinf(v[2]));
}

/* ---------------------------------------------------------------------- files */

/* All of a tensor's values, or NULL where its type is not usable here.  The caller frees. */
static float *tensor_values(const struct gguf *g, const struct gguf_tensor *t, int64_t *n)
{
    struct err err;
    *n = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    if (!ktype_info(t->type)->usable) return NULL;
    void *raw = malloc(t->bytes);
    float *v = malloc((size_t)*n * sizeof *v);
    CHECK(raw && v);
    CHECK_EQ(gguf_read(g, t, 0, raw, t->bytes, &err), 0);
    quant_decode(t->type, raw, v, *n);
    free(raw);
    return v;
}

/* The root mean square of the error of all tensors of one type, relative to that of their values; -1: none. */
static double relative_error(const char *exact_path, const char *path, enum ktype type)
{
    struct err err;
    double error = 0, size = 0;
    struct gguf *a = gguf_open(exact_path, &err), *b = gguf_open(path, &err);
    CHECK(a && b);
    for (uint64_t i = 0; i < gguf_n_tensors(b); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(b, i), *s = gguf_tensor(a, t->name);
        int64_t n, m;
        if (t->type != type) continue;
        CHECK(s != NULL);
        float *v = tensor_values(b, t, &n), *w = tensor_values(a, s, &m);
        CHECK(v && w && n == m);
        for (int64_t k = 0; k < n; k++) {
            error += ((double)v[k] - w[k]) * ((double)v[k] - w[k]);
            size += (double)w[k] * w[k];
        }
        free(v);
        free(w);
    }
    gguf_close(a);
    gguf_close(b);
    return size > 0 ? sqrt(error / size) : -1;
}

/* Each type of n bits has an error near 2^-n of a block's largest value.  A wrong layout gives an error near 1. */
TEST(real_files_lose_as_little_as_their_types_promise)
{
    static const struct { const char *exact, *file; enum ktype type; double most; } files[] = {
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-f16.gguf", KT_F16, 0.0003},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-peer-BF16.gguf", KT_BF16, 0.002},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-q8_0.gguf", KT_Q8_0, 0.006},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-peer-Q4_0.gguf", KT_Q4_0, 0.09},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-peer-Q4_1.gguf", KT_Q4_1, 0.09},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-peer-Q5_0.gguf", KT_Q5_0, 0.045},
        {"stories260K/stories260K-f32.gguf", "stories260K/stories260K-peer-Q5_1.gguf", KT_Q5_1, 0.045},
        {"stories260K-wide/stories260K-wide-F16.gguf", "stories260K-wide/stories260K-wide-Q4_K_M.gguf", KT_Q4_K, 0.08},
        {"stories260K-wide/stories260K-wide-F16.gguf", "stories260K-wide/stories260K-wide-Q5_K_M.gguf", KT_Q5_K, 0.04},
        {"stories260K-wide/stories260K-wide-F16.gguf", "stories260K-wide/stories260K-wide-Q6_K.gguf", KT_Q6_K, 0.02},
    };
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char exact[4096], path[4096];
        snprintf(exact, sizeof exact, "%s/models/%s", vectors, files[i].exact);
        snprintf(path, sizeof path, "%s/models/%s", vectors, files[i].file);
        double error = relative_error(exact, path, files[i].type);
        CHECK(error > 0 && error < files[i].most);
    }
}

/* ---------------------------------------------------------------- activations */

TEST(activations_are_what_the_formula_says)
{
    uint64_t seed = 1;
    CHECK_EQ(fegetround(), FE_TONEAREST);
    for (int round = 0; round < 2000; round++) {
        float x[32], amax = 0, size = ldexpf(1, (int)(next_random(&seed) % 80) - 40);
        int8_t q[32];
        for (int i = 0; i < 32; i++) {
            x[i] = ((float)next_random(&seed) * 0x1p-31f - 1.0f) * size;
            amax = fmaxf(amax, fabsf(x[i]));
        }
        float scale = quant_act32(x, q), id = 127.0f / amax;
        CHECK(scale == amax / 127.0f);
        for (int i = 0; i < 32; i++) {
            CHECK_EQ(q[i], (int)nearbyintf(x[i] * id));
            CHECK_NEAR(x[i], (double)q[i] * scale, 0.5001 * scale);
        }
    }
}

TEST(activations_round_ties_to_even)
{
    float x[32] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -127};
    static const int8_t want[32] = {127, 0, 2, 2, 0, -2, -2, 126, -127};
    int8_t q[32];
    CHECK(quant_act32(x, q) == 1.0f);
    CHECK_MEM(q, want, 32);
}

TEST(activations_of_nothing_are_nothing)
{
    static const int8_t zero[32];
    const float small[] = {0.0f, -0.0f, 1e-45f, -1e-38f, 0x1.fffffep-101f};
    for (size_t k = 0; k < COUNT_OF(small); k++) {
        float x[32];
        int8_t q[32];
        memset(q, 7, sizeof q);
        for (int i = 0; i < 32; i++) x[i] = small[k];
        CHECK(quant_act32(x, q) == 0.0f);
        CHECK_MEM(q, zero, 32);
    }
}

TEST(activations_at_the_ends_of_the_float_range_stay_finite)
{
    const float ends[] = {0x1p-100f, 0x1.fffffep127f};
    for (size_t k = 0; k < COUNT_OF(ends); k++) {
        float x[32] = {0};
        int8_t q[32];
        x[3] = -ends[k];
        x[4] = ends[k] / 2;
        CHECK(quant_act32(x, q) == ends[k] / 127);
        CHECK_EQ(q[3], -127);
        CHECK_EQ(q[4], 64); /* 63.5 ties to 64 */
        CHECK_EQ(q[0], 0);
    }
}

TEST(activations_that_are_not_finite_give_a_scale_that_is_not_a_number)
{
    static const int8_t zero[32];
    const float bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        for (int at = 0; at < 32; at += 31) {
            float x[32] = {1, 2, 3};
            int8_t q[32];
            x[at] = bad[k];
            CHECK(isnan(quant_act32(x, q)));
            CHECK_MEM(q, zero, 32);
        }
    }
}

CHECK_MAIN
