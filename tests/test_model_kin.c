/* Architectures that are llama but for a few things, as files say them: Ministral 3, OLMo 2 and 3.  What is refused,
 * and where what a key says ends up.  (tests/fixtures has models that were judged whole.) */
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <math.h>

#define KIN(name) \
    {.arch = name, .layers = 5, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96, .type = KT_F32, .seed = 1}

/* ---------------------------------------------------------------- files */

/* A key more, of the architecture; the list ends with one without a name. */
struct more {
    const char *key;
    enum { FLOAT, NUMBER, TEXT, BOOLS } type;
    double value;     /* BOOLS: how many */
    const char *text; /* BOOLS: a letter each, y is true */
};

static void put_bools(struct gguf_make *m, const char *key, const char *letters, size_t n)
{
    bool each[64];
    for (size_t i = 0; i < n; i++) each[i] = letters[i] == 'y';
    gguf_make_array(m, key, GGUF_BOOL, n, each, n);
}

static const char *with(const struct tiny *t, const struct more *more)
{
    struct gguf_make m;
    char key[96];
    gguf_make_begin(&m);
    tiny_keys(&m, t);
    for (; more->key; more++) {
        snprintf(key, sizeof key, "%s.%s", t->arch, more->key);
        if (more->type == FLOAT) gguf_make_f32(&m, key, (float)more->value);
        else if (more->type == NUMBER) gguf_make_u32(&m, key, (uint32_t)more->value);
        else if (more->type == BOOLS) put_bools(&m, key, more->text, (size_t)more->value);
        else gguf_make_str(&m, key, more->text);
    }
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, t);
    return gguf_make_file(&m, "kin.gguf");
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

static struct model planned(const struct tiny *t, const struct more *more)
{
    struct err err;
    struct model m;
    const int rc = plan(&m, with(t, more), &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return m;
}

static void refused(const struct tiny *t, const struct more *more, const char *word)
{
    struct err err;
    struct model m;
    CHECK_EQ(plan(&m, with(t, more), &err), -1);
    if (!strstr(err.text, word)) CHECK_STR(err.text, word);
    CHECK(!strchr(err.text, '\n'));
    model_free(&m);
}

#define KEYS(...) ((const struct more[]){__VA_ARGS__, {0}})
#define NO_KEYS ((const struct more[]){{0}})

/* ---------------------------------------------------------------- Ministral 3 */

static const struct tiny mistral = KIN("mistral3");
#define YARN {"rope.scaling.type", TEXT, 0, "yarn"}, {"rope.scaling.factor", FLOAT, 16, NULL}, \
             {"rope.scaling.original_context_length", NUMBER, 64, NULL}

TEST(mistral3_tempers_q_from_the_original_context_on)
{
    struct model m = planned(&mistral, KEYS(YARN, {"attention.temperature_scale", FLOAT, 0.1, NULL}));
    for (int i = 0; i < m.layers; i++) {
        const struct kern_temper *t = &m.layer[i].attn.temper;
        CHECK_EQ(t->each, 64);
        CHECK_NEAR(t->beta, 0.1, 1e-8);
        CHECK(kern_tempered(t, 0) == 1 && kern_tempered(t, 63) == 1);
        CHECK_NEAR(kern_tempered(t, 64), 1 + 0.1 * log(2), 1e-8);
        CHECK_NEAR(kern_tempered(t, 64 * 16 + 63), 1 + 0.1 * log(17), 1e-8);
    }
    CHECK(!m.rope.neox && m.act == KERN_SILU && !m.layer[0].attn.whole);
    model_free(&m);
}

/* As today's converters write Mistral Small 3: no temperature, or 0, no YaRN. */
TEST(mistral3_without_a_temperature_is_a_llama)
{
    for (int zero = 0; zero < 2; zero++) {
        struct model m = planned(&mistral, zero ? KEYS({"attention.temperature_scale", FLOAT, 0, NULL}) : NO_KEYS);
        CHECK(m.temper.each == 0 && kern_tempered(&m.layer[4].attn.temper, 1 << 20) == 1);
        CHECK(m.rope.gain == 1 && m.attn_scale == 0.25f);
        model_free(&m);
    }
    struct tiny t = mistral;
    t.window = 100;
    struct model m = planned(&t, NO_KEYS);
    CHECK_EQ(m.window, 100);
    model_free(&m);
}

TEST(mistral3_has_a_temperature_of_a_size_and_one_length)
{
    static const struct { double scale; const char *word; } bad[] = {
        {-0.1, "mistral3.attention.temperature_scale is -0.1; allowed is 0 to 100"},
        {101, "temperature_scale is 101; allowed is 0 to 100"}, {NAN, "a finite number is needed"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refused(&mistral, KEYS({"attention.temperature_scale", FLOAT, bad[i].scale, NULL}), bad[i].word);
    refused(&mistral, KEYS({"attention.temperature_scale", TEXT, 0, "0.1"}), "f32 or f64 is needed");
    refused(&mistral, KEYS(YARN, {"attention.temperature_scale", FLOAT, 0.1, NULL},
                           {"attention.temperature_length", NUMBER, 65, NULL}),
            "mistral3.attention.temperature_length is 65; allowed is 64");
    struct model m = planned(&mistral, KEYS(YARN, {"attention.temperature_scale", FLOAT, 0.1, NULL},
                                            {"attention.temperature_length", NUMBER, 64, NULL}));
    CHECK_EQ(m.temper.each, 64);
    model_free(&m);
    m = planned(&mistral, KEYS({"attention.temperature_scale", FLOAT, 0.1, NULL})); /* no original context: all */
    CHECK_EQ(m.temper.each, 512);
    model_free(&m);
    refused(&mistral, KEYS({"attention.temperature_scale", FLOAT, 0.1, NULL},
                           {"rope.scaling.original_context_length", NUMBER, 0, NULL}), "original_context_length is 0");
}

TEST(yarn_s_gain_is_what_a_file_s_log_multiplier_leaves_of_it)
{
    static const struct { double times, gain; } of[] = {{0, 1.2772588722239782}, {1, 1}, {0.5, 1.121751143713058}};
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct model m = planned(&mistral, KEYS(YARN, {"rope.scaling.yarn_log_multiplier", FLOAT, of[i].times, NULL}));
        CHECK_NEAR(m.rope.gain, of[i].gain, 1e-9);
        model_free(&m);
    }
    refused(&mistral, KEYS(YARN, {"rope.scaling.yarn_log_multiplier", FLOAT, -1, NULL}), "yarn_log_multiplier is -1");
}

/* transformers' attention_factor, which converters pass on. */
TEST(yarn_s_gain_may_be_named_if_it_is_that_one)
{
    struct tiny t = mistral;
    const char *const key = "rope.scaling.yarn_attn_factor";
    static const double right[] = {1.2772588722239782, 1};
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        struct model m = planned(&t, KEYS(YARN, {key, FLOAT, right[i], NULL}));
        CHECK_NEAR(m.rope.gain, 1.2772588722239782, 1e-12);
        model_free(&m);
    }
    refused(&t, KEYS(YARN, {key, FLOAT, 1.2773, NULL}),
            "mistral3.rope.scaling.yarn_attn_factor is 1.2773; allowed is 1, and 1.27726, what a factor of 16 comes "
            "to");
    refused(&t, KEYS(YARN, {key, FLOAT, 1.27726, NULL}, {"rope.scaling.yarn_log_multiplier", FLOAT, 1, NULL}),
            "yarn_attn_factor is 1.27726; allowed is 1, and 1, what a factor of 16 comes to");
    refused(&t, KEYS(YARN, {key, FLOAT, 0, NULL}), "yarn_attn_factor is 0; allowed is 0.001 to 1000");
}

TEST(mistral3_with_experts_is_refused)
{
    struct tiny t = mistral;
    t.experts = 4, t.used = 2;
    refused(&t, NO_KEYS, "key mistral3.expert_count is 4: a mixture of experts is supported in the architectures");
}

/* What others say by the same keys is not theirs, as in llama.cpp. */
TEST(a_temperature_is_mistral3_s_alone)
{
    struct tiny t = KIN("qwen3");
    t.temper = 0.5f;
    struct model m = planned(&t, NO_KEYS);
    CHECK_EQ(m.temper.each, 0);
    model_free(&m);
}

/* ---------------------------------------------------------------- OLMo 2 and 3 */

static const struct tiny olmo = KIN("olmo2");

TEST(olmo2_has_norms_of_what_is_added_and_none_before_it)
{
    struct model m = planned(&olmo, NO_KEYS);
    CHECK(m.rope.neox && m.act == KERN_SILU && m.window == 0 && m.local_window == 0 && m.embed_scale == 1);
    for (int i = 0; i < m.layers; i++) {
        const struct model_layer *l = &m.layer[i];
        CHECK(l->attn.whole && !l->local && l->attn.rope.inv_freq == m.inv_freq);
    }
    const uint64_t matrices = 64 * (64 + 32 + 32 + 64 + 3 * 96), norms = 64 + 32 + 64 + 64; /* of a layer */
    CHECK_EQ(m.parameters, 2 * 64 * TINY_VOCAB + 64 + 5 * (matrices + norms));
    model_free(&m);
}

/* A norm of one head's size is another model's: llama.cpp and transformers have none of these in OLMo. */
TEST(olmo2_with_norms_of_heads_is_refused)
{
    struct gguf_make m;
    float ones[64];
    for (int i = 0; i < 64; i++) ones[i] = 1;
    gguf_make_begin(&m);
    tiny_keys(&m, &olmo);
    tiny_vocab(&m, NULL);
    gguf_make_tensor(&m, "blk.0.attn_norm.weight", KT_F32, 1, (int64_t[]){64}, ones);
    tiny_tensors(&m, &olmo);
    struct err err;
    struct model got;
    CHECK_EQ(plan(&got, gguf_make_file(&m, "kin.gguf"), &err), -1);
    CHECK(strstr(err.text, "tensor blk.0.attn_norm.weight is not part of architecture olmo2"));
    model_free(&got);
    struct tiny t = olmo;
    t.arch = "qwen3"; /* its norms are a head's */
    gguf_make_begin(&m);
    tiny_keys(&m, &olmo);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    CHECK_EQ(plan(&got, gguf_make_file(&m, "kin.gguf"), &err), -1);
    CHECK(strstr(err.text, "tensor blk.0.attn_q_norm.weight is 16 x 1 x 1 x 1; it must be 64 x 1"));
    model_free(&got);
}

/* Every fourth layer sees all, and alone is scaled. */
TEST(olmo3_has_a_window_and_no_yarn_on_all_layers_but_the_fourth)
{
    const struct more *const as[] = {
        KEYS(YARN, {"rope.freq_base", FLOAT, 500, NULL}),
        KEYS(YARN, {"rope.freq_base", FLOAT, 500, NULL}, {"attention.sliding_window_pattern", BOOLS, 5, "yyyny"}),
        KEYS(YARN, {"rope.freq_base", FLOAT, 500, NULL}, {"attention.sliding_window_pattern", NUMBER, 4, NULL}),
        KEYS(YARN, {"rope.freq_base", FLOAT, 500, NULL}, {"rope.freq_base_swa", FLOAT, 100, NULL})};
    struct tiny t = olmo;
    t.window = 24;
    for (size_t k = 0; k < COUNT_OF(as); k++) {
        struct model m = planned(&t, as[k]);
        CHECK(m.window == 0 && m.local_window == 24 && m.locals == 4);
        for (int i = 0; i < m.layers; i++) {
            const struct model_layer *l = &m.layer[i];
            CHECK_EQ(l->local, i != 3);
            CHECK_NEAR(l->attn.rope.gain, i == 3 ? 1.2772588722239782 : 1, 1e-12);
            const double base = k == 3 && i != 3 ? 100 : 500, factor = i == 3 ? 16 : 1;
            CHECK_NEAR(l->attn.rope.inv_freq[7], pow(base, -14.0 / 16) / factor, 1e-9);
        }
        model_free(&m);
    }
}

TEST(olmo3_with_windows_on_other_layers_is_refused)
{
    static const char key[] = "attention.sliding_window_pattern";
    struct tiny t = olmo;
    t.window = 24;
    refused(&t, KEYS({key, BOOLS, 5, "yyyyn"}),
            "olmo2.attention.sliding_window_pattern[3] is true: a window on all layers but every 4-th is supported");
    refused(&t, KEYS({key, BOOLS, 5, "nyyny"}), "pattern[0] is false");
    refused(&t, KEYS({key, BOOLS, 4, "yyyn"}), "pattern has 4 values for 5 layers; one for each is needed");
    refused(&t, KEYS({key, BOOLS, 0, ""}), "pattern has 0 values for 5 layers");
    refused(&t, KEYS({key, NUMBER, 3, NULL}), "pattern is 3; allowed is 4");
    refused(&t, KEYS({key, TEXT, 0, "yyyny"}), "an integer is needed");
    t.window = 0; /* OLMo 2's says nothing of windows that is in force */
    struct model m = planned(&t, KEYS({key, BOOLS, 5, "nnnnn"}));
    CHECK_EQ(m.local_window, 0);
    model_free(&m);
}

CHECK_MAIN
