/* Granite as files say it: four factors, heads of each layer in a list, whether anything rotates; and what it is not.
 * (tests/fixtures has models that were judged whole.) */
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <math.h>

enum { EMBED, ADDED, SCORE, LOGIT, FACTORS };
static const char *const factor[FACTORS] = {"granite.embedding_scale", "granite.residual_scale",
                                            "granite.attention.scale", "granite.logit_scale"};

#define GRANITE                                                                                            \
    ((struct tiny){.arch = "granite", .layers = 3, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,        \
                   .type = KT_F32, .seed = 1, .scales = {3, 0.5f, 0.2f, 4}})
#define GRANITE_MOE                                                                                        \
    ((struct tiny){.arch = "granitemoe", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 32,     \
                   .type = KT_F32, .seed = 1, .scales = {3, 0.5f, 0.2f, 4}, .experts = 4, .used = 2})

/* ---------------------------------------------------------------- files */

static void begin(struct gguf_make *m, const struct tiny *t)
{
    gguf_make_begin(m);
    tiny_keys(m, t);
}

static const char *finish(struct gguf_make *m, const struct tiny *t)
{
    tiny_vocab(m, NULL);
    tiny_tensors(m, t);
    return gguf_make_file(m, "granite.gguf");
}

/* Factor i is v, whatever that is. */
static const char *with_factor(int i, float v)
{
    struct tiny t = GRANITE;
    struct gguf_make m;
    t.scales[i] = 0;
    begin(&m, &t);
    gguf_make_f32(&m, factor[i], v);
    return finish(&m, &t);
}

static int plan(struct model *m, const char *path, struct err *err)
{
    *err = (struct err){0};
    struct gguf *g = gguf_open(path, err);
    CHECK(g != NULL);
    const int rc = model_plan(m, g, TINY_VOCAB, kern_ref(), err);
    gguf_close(g);
    return rc;
}

static struct model planned(const char *path)
{
    struct err err;
    struct model m;
    const int rc = plan(&m, path, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return m;
}

static void refused(const char *path, const char *word)
{
    struct err err;
    struct model m;
    CHECK_EQ(plan(&m, path, &err), -1);
    if (!strstr(err.text, word)) CHECK_STR(err.text, word);
    CHECK(!strchr(err.text, '\n'));
    model_free(&m);
}

/* ---------------------------------------------------------------- factors */

TEST(granite_has_its_factors_where_they_do_what_they_say)
{
    const struct tiny t = GRANITE;
    struct model m = planned(tiny_file(&t, NULL, "granite.gguf"));
    CHECK(m.act == KERN_SILU && !m.rope.neox && m.window == 0 && m.local_window == 0 && m.cap <= 0);
    CHECK(m.embed_scale == 6 && m.attn_scale == 0.2f && m.norm_scale == 0.25f);
    CHECK_NEAR(m.eps, 4e-5, 1e-10); /* of sums that are twice as large as the model's */
    for (int i = 0; i < t.layers; i++) CHECK(m.layer[i].attn.rope.dims == 16 && m.layer[i].attn.eps == m.eps);
    model_free(&m);
}

/* As in llama.cpp. */
TEST(granite_s_factors_that_are_missing_are_none_but_one_must_be_there)
{
    struct tiny t = GRANITE;
    t.scales[EMBED] = t.scales[ADDED] = t.scales[SCORE] = 0;
    struct model m = planned(tiny_file(&t, NULL, "granite.gguf"));
    CHECK(m.embed_scale == 1 && m.eps == 1e-5f && m.attn_scale == 0.25f && m.norm_scale == 0.25f);
    model_free(&m);
    t.scales[LOGIT] = 0;
    refused(tiny_file(&t, NULL, "granite.gguf"), "key granite.logit_scale is missing; architecture granite needs it");
    struct tiny moe = GRANITE_MOE;
    moe.scales[LOGIT] = 0;
    refused(tiny_file(&moe, NULL, "granite.gguf"), "key granitemoe.logit_scale is missing");
}

TEST(granite_s_factors_are_positive_and_of_a_size)
{
    static const float bad[] = {0, -0.0f, -1, 1e-7f, 1e7f, 3e38f};
    char word[96];
    for (int i = 0; i < FACTORS; i++) {
        for (size_t k = 0; k < COUNT_OF(bad); k++) {
            snprintf(word, sizeof word, "key %s is %g; allowed is %s", factor[i], (double)bad[k],
                     i == ADDED ? "0.001 to 1000" : "1e-06 to 1e+06");
            refused(with_factor(i, bad[k]), word);
        }
        snprintf(word, sizeof word, "key \"%s\"", factor[i]);
        refused(with_factor(i, NAN), word);
        refused(with_factor(i, INFINITY), "a finite number is needed");
        refused(with_factor(i, -INFINITY), "a finite number is needed");
        struct tiny t = GRANITE;
        struct gguf_make m;
        t.scales[i] = 0;
        begin(&m, &t);
        gguf_make_str(&m, factor[i], "0.22");
        refused(finish(&m, &t), "f32 or f64 is needed");
    }
}

/* What others say by the same keys is not theirs. */
TEST(granite_s_factors_are_granite_s_alone)
{
    const struct tiny t = TINY_LLAMA;
    struct gguf_make make;
    begin(&make, &t);
    gguf_make_f32(&make, "llama.embedding_scale", 3);
    gguf_make_f32(&make, "llama.logit_scale", 0);
    gguf_make_bool(&make, "llama.rope.scaling.finetuned", false);
    struct model m = planned(finish(&make, &t));
    CHECK(m.embed_scale == 1 && m.norm_scale == 1 && m.attn_scale == 0.25f && m.layer[0].attn.rope.dims == 16);
    model_free(&m);
}

/* The weights of the output's norm, as they are loaded. */
static void load_norm(const struct tiny *t, float *out)
{
    struct err err = {0};
    struct model m;
    const struct kern *k = kern_ref();
    struct gguf *g = gguf_open(tiny_file(t, NULL, "granite.gguf"), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, k, &err), 0);
    struct kdev *d = k->open(&(struct kern_config){0}, &err);
    void *slab = k->take(d, m.bytes, &err);
    CHECK(d && slab);
    CHECK_EQ(model_load(&m, g, k, d, slab, NULL, NULL, &err), 0);
    CHECK_EQ(k->fetch(d, NULL, out, m.dev_norm, (size_t)m.embd * sizeof *out, &err), 0);
    k->give(d, slab, m.bytes);
    k->close(d);
    model_free(&m);
    gguf_close(g);
}

TEST(granite_s_logits_are_divided_in_the_output_s_norm)
{
    struct tiny t = GRANITE;
    float divided[64], whole[64];
    load_norm(&t, divided);
    t.scales[LOGIT] = 1;
    load_norm(&t, whole);
    for (int i = 0; i < t.embd; i++) CHECK(whole[i] > 0.8f && divided[i] == whole[i] / 4);
    t.scales[LOGIT] = 4;
    t.scales[EMBED] = t.scales[SCORE] = t.scales[ADDED] = 1;
    load_norm(&t, whole);
    for (int i = 0; i < t.embd; i++) CHECK(whole[i] == divided[i]);
}

/* ---------------------------------------------------------------- as Granite 4's files have it */

/* eps 0: no such key. */
static const char *with_heads(const int32_t *each, uint64_t n, float eps)
{
    static const char *const key[] = {"block_count", "context_length", "embedding_length", "feed_forward_length",
                                      "attention.head_count"};
    const struct tiny t = GRANITE;
    const int value[] = {t.layers, 512, t.embd, t.ff, t.heads};
    struct gguf_make m;
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "granite");
    for (size_t i = 0; i < COUNT_OF(key); i++) {
        char name[64];
        snprintf(name, sizeof name, "granite.%s", key[i]);
        gguf_make_u32(&m, name, (uint32_t)value[i]);
    }
    if (eps > 0) gguf_make_f32(&m, "granite.attention.layer_norm_rms_epsilon", eps);
    gguf_make_f32(&m, factor[LOGIT], 4);
    gguf_make_i32s(&m, "granite.attention.head_count_kv", each, n);
    return finish(&m, &t);
}

TEST(heads_of_each_layer_in_a_list_are_one_number)
{
    struct model m = planned(with_heads((int32_t[]){2, 2, 2}, 3, 1e-5f));
    CHECK_EQ(m.kv_heads, 2);
    model_free(&m);
    static const char key[] = "key granite.attention.head_count_kv";
    static const struct { int32_t each[4]; uint64_t n; const char *word; } bad[] = {
        {{2, 2, 1}, 3, "[2] is 1 and the first is 2; one number for all layers is supported"},
        {{2, 0, 2}, 3, "[1] is 0 and the first is 2"},
        {{2, 2}, 2, " has 2 numbers for 3 layers; one for each is needed"},
        {{2, 2, 2, 2}, 4, " has 4 numbers for 3 layers"},
        {{0}, 0, " has 0 numbers for 3 layers"},
        {{0, 0, 0}, 3, " is 0; allowed is 1 to 4"},
        {{-2, -2, -2}, 3, " is -2; allowed is 1 to 4"},
        {{5, 5, 5}, 3, " is 5; allowed is 1 to 4"},
        {{3, 3, 3}, 3, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char word[160];
        snprintf(word, sizeof word, "%s%s", key, bad[i].word ? bad[i].word : "");
        refused(with_heads(bad[i].each, bad[i].n, 1e-5f),
                bad[i].word ? word : "4 attention heads are not a multiple of 3");
    }
    refused(with_heads((int32_t[]){2, 2, 2}, 3, 0), "key granite.attention.layer_norm_rms_epsilon is missing");
}

static const char *with_rotation(bool rotates)
{
    const struct tiny t = GRANITE;
    struct gguf_make m;
    begin(&m, &t);
    gguf_make_bool(&m, "granite.rope.scaling.finetuned", rotates);
    return finish(&m, &t);
}

TEST(granite_s_file_says_whether_it_rotates)
{
    for (int rotates = 0; rotates < 2; rotates++) {
        struct model m = planned(with_rotation(rotates));
        for (int i = 0; i < m.layers; i++) CHECK_EQ(m.layer[i].attn.rope.dims, rotates ? 16 : 0);
        model_free(&m);
    }
    const struct tiny t = GRANITE;
    struct gguf_make m;
    begin(&m, &t);
    gguf_make_str(&m, "granite.rope.scaling.finetuned", "yes");
    refused(finish(&m, &t), "a bool is needed");
}

/* ---------------------------------------------------------------- mixtures, and Mamba */

TEST(granitemoe_is_a_mixture_without_an_expert_beside_it)
{
    struct tiny t = GRANITE_MOE;
    struct model m = planned(tiny_file(&t, NULL, "granite.gguf"));
    CHECK(m.experts == 4 && m.used == 2 && m.ff == 32 && m.shared == 0 && !m.layer[0].mix.of_all);
    CHECK(m.embed_scale == 6 && m.norm_scale == 0.25f);
    model_free(&m);
    t.shared = 32;
    refused(tiny_file(&t, NULL, "granite.gguf"),
            "key granitemoe.expert_shared_feed_forward_length is 32; allowed is 0");
    t = GRANITE_MOE;
    t.experts = t.used = 0;
    refused(tiny_file(&t, NULL, "granite.gguf"), "key granitemoe.expert_count is missing");
}

TEST(granite_with_mamba_s_layers_is_refused_by_name)
{
    struct tiny t = GRANITE;
    t.arch = "granitehybrid";
    refused(tiny_file(&t, NULL, "granite.gguf"), "architecture \"granitehybrid\" is not supported; llama, ");
}

CHECK_MAIN
