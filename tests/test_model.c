/* Hyper-parameters and tensors that would hurt: each is refused with its name before anything is taken. */
#include "app/learn/plan_shape.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <math.h>
#include <unistd.h>

static const struct engine_ops *const ops = &engine_local;

static void refuse(const char *path, const char *word)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .backend = "ref", .template = -1, .kv_type = KT_F16};
    struct engine *e = ops->open(&cfg, &err);
    if (e) check_fail(__FILE__, __LINE__, "opened, but should say %s", word);
    if (!strstr(err.text, word)) CHECK_STR(err.text, word);
    CHECK(!strchr(err.text, '\n'));
}

/* The tiny llama with one integer key replaced. */
static const char *with_key(const char *suffix, uint64_t value)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    char key[96];
    static const char *const all[] = {"block_count",         "context_length",       "embedding_length",
                                      "feed_forward_length", "attention.head_count", "attention.head_count_kv"};
    static const uint32_t usual[] = {2, 512, 64, 96, 4, 2};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    gguf_make_f32(&m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    bool replaced = false;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        snprintf(key, sizeof key, "llama.%s", all[i]);
        bool this = strcmp(suffix, all[i]) == 0;
        replaced |= this;
        if (this) gguf_make_u64(&m, key, value);
        else gguf_make_u32(&m, key, usual[i]);
    }
    snprintf(key, sizeof key, "llama.%s", suffix);
    if (!replaced) gguf_make_u64(&m, key, value);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, "key.gguf");
}

TEST(model_refuses_sizes_that_are_zero_huge_or_do_not_divide)
{
    static const struct { const char *key; uint64_t value; const char *word; } bad[] = {
        {"block_count", 0, "llama.block_count is 0"},
        {"block_count", 513, "llama.block_count is 513"},
        {"block_count", 1ull << 31, "llama.block_count"},
        {"block_count", UINT64_MAX, "llama.block_count"},
        {"block_count", 3, "blk.2.attn_norm.weight is missing"},
        {"block_count", 1, "blk.1."},
        {"embedding_length", 0, "embedding_length is 0"},
        {"embedding_length", 32, "token_embd.weight is"},
        {"feed_forward_length", 0, "feed_forward_length"},
        {"feed_forward_length", 1ull << 40, "feed_forward_length"},
        {"attention.head_count", 0, "head_count is 0"},
        {"attention.head_count", 1, "head_count_kv is 2"},
        {"attention.head_count", 7, "not a multiple"},
        {"attention.head_count_kv", 0, "head_count_kv is 0"},
        {"attention.head_count_kv", 3, "not a multiple"},
        {"attention.head_count_kv", 5, "head_count_kv is 5"},
        {"attention.key_length", 0, "key_length is 0"},
        {"attention.key_length", 100000, "key_length is 100000"},
        {"attention.key_length", 17, "even"},
        {"attention.value_length", 32, "values of 32"},
        {"rope.dimension_count", 0, "rope.dimension_count is 0"},
        {"rope.dimension_count", 64, "rope.dimension_count is 64"},
        {"rope.dimension_count", 7, "even"},
        {"context_length", 0, "context_length is 0"},
        {"attention.sliding_window", (1 << 24) + 1, "llama.attention.sliding_window is 16777217"},
        {"attention.sliding_window", 1ull << 32, "llama.attention.sliding_window"},
        {"attention.sliding_window", UINT64_MAX, "llama.attention.sliding_window"},
        {"expert_count", 8, "llama.expert_used_count is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) refuse(with_key(bad[i].key, bad[i].value), bad[i].word);
}

static const char *with_text_keys(const char *arch, const char *key, const char *text, float eps)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", arch);
    gguf_make_f32(&m, "llama.attention.layer_norm_rms_epsilon", eps);
    static const char *const all[] = {"block_count", "context_length", "embedding_length", "feed_forward_length",
                                      "attention.head_count"};
    static const uint32_t usual[] = {2, 512, 64, 96, 4};
    char name[96];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        snprintf(name, sizeof name, "llama.%s", all[i]);
        gguf_make_u32(&m, name, usual[i]);
    }
    if (key) gguf_make_str(&m, key, text);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, "text.gguf");
}

TEST(model_refuses_what_it_does_not_know_by_name)
{
    refuse(with_text_keys("mamba", NULL, NULL, 1e-5f), "architecture \"mamba\" is not supported");
    refuse(with_text_keys("ev\033[31mil", NULL, NULL, 1e-5f), "architecture \"ev?[31mil\"");
    refuse(with_text_keys("llama", "llama.rope.scaling.type", "longrope", 1e-5f), "\"longrope\"; none, linear");
    refuse(with_text_keys("llama", "llama.rope.scaling.type", "\033[2Jx", 1e-5f), "\"\\x1b[2Jx\"; none, linear");
    refuse(with_text_keys("llama", "llama.rope.freq_base", "ten", 1e-5f), "rope.freq_base");
    refuse(with_text_keys("llama", "llama.attention.sliding_window", "40", 1e-5f), "llama.attention.sliding_window");
    refuse(with_text_keys("llama", NULL, NULL, 0), "rms_epsilon is 0");
    refuse(with_text_keys("llama", NULL, NULL, -1), "rms_epsilon is -1");
    refuse(with_text_keys("llama", NULL, NULL, NAN), "rms_epsilon");
}

static const char *with_tensor(const char *name, enum ktype type, int n_dims, const int64_t *dim, const void *data)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    gguf_make_tensor(&m, name, type, n_dims, dim, data);
    return gguf_make_file(&m, "tensor.gguf");
}

/* A qwen3 whose last layer lacks the norms that are not in `last`, all of so many values. */
static const char *with_head_norms(const char *last, int64_t n)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    gguf_make_begin(&m);
    t.arch = "qwen3";
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    t.arch = "llama"; /* the tensors without norms */
    tiny_tensors(&m, &t);
    for (int i = 0; i < t.layers; i++)
        for (const char *part = "qk"; *part; part++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.attn_%c_norm.weight", i, *part);
            if (i + 1 < t.layers || strchr(last, *part)) gguf_make_tensor(&m, name, KT_F32, 1, &n, NULL);
        }
    return gguf_make_file(&m, "head_norms.gguf");
}

TEST(model_refuses_tensors_of_wrong_shape_type_or_meaning)
{
    float factor[8] = {1, 1, 1, 0, 1, 1, 1, 1};
    refuse(with_tensor("blk.0.attn_q_norm.weight", KT_F32, 1, (int64_t[]){16}, NULL),
           "blk.0.attn_q_norm.weight is not part of architecture llama");
    refuse(with_head_norms("k", 16), "blk.1.attn_q_norm.weight is missing; architecture qwen3 needs it");
    refuse(with_head_norms("q", 16), "blk.1.attn_k_norm.weight is missing");
    refuse(with_head_norms("qk", 64), "blk.0.attn_q_norm.weight is 64 x 1 x 1 x 1; it must be 16 x 1");
    refuse(with_tensor("blk.0.attn_q.bias", KT_F32, 1, (int64_t[]){63}, NULL), "blk.0.attn_q.bias is 63 x 1");
    refuse(with_tensor("blk.0.attn_k.bias", KT_Q8_1, 1, (int64_t[]){32}, NULL),
           "has type Q8_1, which is not supported");
    refuse(with_tensor("rope_freqs.weight", KT_F32, 1, (int64_t[]){8}, factor), "rope_freqs.weight[3] is 0");
    refuse(with_tensor("rope_freqs.weight", KT_F32, 1, (int64_t[]){7}, NULL), "rope_freqs.weight is 7");
    factor[3] = NAN;
    refuse(with_tensor("rope_freqs.weight", KT_F32, 1, (int64_t[]){8}, factor), "rope_freqs.weight[3]");
    float bias[64] = {0};
    bias[5] = INFINITY;
    refuse(with_tensor("blk.1.attn_q.bias", KT_F32, 1, (int64_t[]){64}, bias),
           "blk.1.attn_q.bias[5] is not a finite number");
}

TEST(model_that_does_not_fit_the_machine_is_refused_with_the_arithmetic)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct engine_config cfg = {
        .model = tiny_file(&t, NULL, "fits.gguf"), .template = -1, .kv_type = KT_F16, .pool_tokens = 1ull << 30};
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(err.text, "MiB") && strstr(err.text, "KV pool"));
    cfg.pool_tokens = 0;
    cfg.ctx = INT32_MAX;
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(err.text, "more than can be counted"));
    cfg.ctx = 64;
    struct engine *e = ops->open(&cfg, &err);
    CHECK(e);
    CHECK_EQ(ops->info(e)->ctx, 64);
    ops->close(e);
}

TEST(model_file_without_weights_or_vocabulary_is_refused)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    refuse(gguf_make_file(&m, "empty.gguf"), "token_embd.weight is missing");
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_tensors(&m, &t);
    refuse(gguf_make_file(&m, "mute.gguf"), "tokenizer.ggml.model");
}

/* What the angles are divided by: type NULL, or a factor or old key of 0: not there. */
static double divided_by(const char *type, float factor, float old)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make w;
    struct model m;
    struct err err = {0};
    gguf_make_begin(&w);
    tiny_keys(&w, &t);
    if (type) gguf_make_str(&w, "llama.rope.scaling.type", type);
    if (factor > 0) gguf_make_f32(&w, "llama.rope.scaling.factor", factor);
    if (old > 0) gguf_make_f32(&w, "llama.rope.scale_linear", old);
    gguf_make_f32(&w, "llama.rope.freq_base", 500);
    tiny_vocab(&w, NULL);
    tiny_tensors(&w, &t);
    struct gguf *g = gguf_open(gguf_make_file(&w, "linear.gguf"), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), 0);
    const double by = 1 / m.inv_freq[0];
    for (int i = 0; i < 8; i++) CHECK_NEAR(m.inv_freq[i], pow(500, -2.0 * i / 16) / by, 1e-12);
    model_free(&m);
    gguf_close(g);
    return by;
}

/* Linear scaling divides every angle: what position interpolation is.  Files of before it had a type say a factor
 * alone, or have another key. */
TEST(model_divides_rope_frequencies_by_a_linear_scale)
{
    CHECK_NEAR(divided_by("linear", 4, 0), 4, 1e-12);
    CHECK_NEAR(divided_by(NULL, 4, 0), 4, 1e-12);
    CHECK_NEAR(divided_by(NULL, 0, 8), 8, 1e-12);
    CHECK_NEAR(divided_by("linear", 4, 8), 4, 1e-12);
    CHECK_NEAR(divided_by("none", 4, 8), 1, 1e-12);
    CHECK_NEAR(divided_by(NULL, 0, 0), 1, 1e-12);
}

/* A qwen3 of heads of 16 with YaRN, and one more key. */
static const char *with_yarn(const char *key, float value)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    char name[96];
    t.arch = "qwen3";
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    gguf_make_str(&m, "qwen3.rope.scaling.type", "yarn");
    gguf_make_f32(&m, "qwen3.rope.freq_base", strstr(key, "base") ? value : 500);
    if (!strstr(key, ".factor")) gguf_make_f32(&m, "qwen3.rope.scaling.factor", 4);
    if (strstr(key, "context") || strstr(key, "dimension")) {
        snprintf(name, sizeof name, "qwen3.%s", key);
        gguf_make_u32(&m, name, (uint32_t)value);
    } else if (*key && !strstr(key, "base")) {
        snprintf(name, sizeof name, "qwen3.%s", key);
        gguf_make_f32(&m, name, value);
    }
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, "yarn.gguf");
}

static void plan_yarn(struct model *m, const char *key, float value)
{
    struct err err = {0};
    struct gguf *g = gguf_open(with_yarn(key, value), &err);
    if (model_plan(m, g, TINY_VOCAB, kern_ref(), &err)) CHECK_STR(key, err.text);
    gguf_close(g);
}

/* Of 8 pairs over 512 tokens: those that turn 32 times and more are as they were, those that do not turn once are
 * divided by 4.  (tests/fixtures has one that was judged whole.) */
TEST(model_stretches_slow_pairs_by_yarn)
{
    struct model m;
    plan_yarn(&m, "", 0);
    for (int i = 0; i < 8; i++) {
        const double plain = pow(500, -2.0 * i / 16), by = plain / m.inv_freq[i], turns = 512 * plain / (2 * M_PI);
        CHECK(by > 1 - 1e-12 && by < 4 + 1e-12);
        if (turns > 64) CHECK_NEAR(by, 1, 1e-12);
        if (turns < 0.5) CHECK_NEAR(by, 4, 1e-12);
        if (turns > 3 && turns < 12) CHECK(by > 1.01 && by < 3.99);
    }
    CHECK_NEAR(m.rope.gain, 1 + 0.1 * log(4), 1e-12);
    model_free(&m);
    plan_yarn(&m, "rope.scaling.original_context_length", 8); /* nothing turns much in that */
    CHECK_NEAR(m.inv_freq[7], pow(500, -14.0 / 16) / 4, 1e-12);
    CHECK_NEAR(m.inv_freq[2], pow(500, -4.0 / 16) / 4, 1e-12);
    model_free(&m);
    plan_yarn(&m, "rope.scaling.factor", 1);
    CHECK(m.rope.gain == 1 && m.attn_scale == 1 / sqrtf((float)m.head_dim));
    CHECK_NEAR(m.inv_freq[7], pow(500, -14.0 / 16), 1e-15);
    model_free(&m);
    refuse(with_yarn("rope.scaling.factor", 0.5f), "qwen3.rope.scaling.factor is 0.5");
    refuse(with_yarn("rope.scaling.factor", NAN), "qwen3.rope.scaling.factor");
    refuse(with_yarn("rope.scaling.original_context_length", 0), "original_context_length is 0");
    refuse(with_yarn("rope.scaling.yarn_beta_slow", 33), "yarn_beta_slow is 33; allowed is 0.001 to 32");
    refuse(with_yarn("rope.scaling.yarn_beta_fast", 0.5f), "yarn_beta_slow is 1; allowed is 0.001 to 0.5");
    refuse(with_yarn("rope.scaling.yarn_ext_factor", 0), "yarn_ext_factor is 0");
    refuse(with_yarn("rope.scaling.yarn_log_multiplier", 0.1f), "yarn_log_multiplier is 0.1");
    refuse(with_yarn("rope.scaling.attn_factor", 2), "attn_factor is 2");
    refuse(with_yarn("rope.freq_base", 1), "qwen3.rope.freq_base is 1; with yarn it must be above 1");
    refuse(with_yarn("rope.dimension_count", 8), "8 of 16 dimensions of a head are rotated");
}

/* A number below 0, a window of some layers alone, and a qwen2 or qwen3 whose window no key switches on. */
TEST(model_has_a_window_for_all_layers_or_none)
{
    static const bool pattern[] = {true, false};
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    gguf_make_raw_key(&m, "llama.attention.sliding_window", 30, 5, &(int32_t){-1}, 4); /* 5: int32 */
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    refuse(gguf_make_file(&m, "below0.gguf"), "llama.attention.sliding_window");
    t.window = 40;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    gguf_make_array(&m, "llama.attention.sliding_window_pattern", 7, 2, pattern, sizeof pattern); /* 7: bool */
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    refuse(gguf_make_file(&m, "some.gguf"), "llama.attention.sliding_window_pattern is not supported");
    for (int i = 0; i < 3; i++) {
        static const char *const arch[] = {"llama", "qwen2", "qwen3"};
        struct model got;
        t.arch = arch[i];
        struct gguf *g = gguf_open(tiny_file(&t, NULL, "window.gguf"), &err);
        CHECK_EQ(model_plan(&got, g, TINY_VOCAB, kern_ref(), &err), 0);
        CHECK_EQ(got.window, i ? 0 : 40);
        model_free(&got);
        gguf_close(g);
    }
}

static const char *growing;

static void grow_file(void *self, uint64_t done, uint64_t all)
{
    (void)self, (void)done, (void)all;
    FILE *out = fopen(growing, "ab");
    CHECK(out);
    fputc('x', out);
    fclose(out);
}

static void cut_file(void *self, uint64_t done, uint64_t all)
{
    (void)self, (void)done;
    CHECK_EQ(truncate(growing, (off_t)(all / 2)), 0);
}

TEST(model_file_that_changes_while_it_loads_is_refused)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    growing = tiny_file(&t, NULL, "grows.gguf");
    struct engine_config cfg = {
        .model = growing, .backend = "ref", .template = -1, .kv_type = KT_F16, .progress = grow_file};
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(err.text, "written while being read"));
    growing = cfg.model = tiny_file(&t, NULL, "shrinks.gguf");
    cfg.progress = cut_file;
    err = (struct err){0};
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(err.text, "shrinks.gguf"));
}

/* ------------------------------------------------------------------ Gemma */

/* A tiny one of so many layers, with one more key, "" for none. */
static struct gguf *gemma(const char *arch, int layers, int window, const char *key, bool real, float value)
{
    const struct tiny t = {.arch = arch, .layers = layers, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                           .type = KT_F32, .tied = true, .seed = 1, .window = window};
    struct gguf_make m;
    struct err err = {0};
    char name[96];
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    snprintf(name, sizeof name, "%s.%s", arch, key);
    if (*key && real) gguf_make_f32(&m, name, value);
    else if (*key) gguf_make_u32(&m, name, (uint32_t)value);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_open(gguf_make_file(&m, "gemma.gguf"), &err);
}

static void plan_gemma(struct model *m, struct gguf *g)
{
    struct err err = {0};
    if (model_plan(m, g, TINY_VOCAB, kern_ref(), &err)) CHECK_STR("", err.text);
    gguf_close(g);
}

static void refuse_gemma(struct gguf *g, const char *why)
{
    struct model m;
    struct err err = {0};
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), -1);
    if (!strstr(err.text, why)) CHECK_STR(why, err.text);
    model_free(&m);
    gguf_close(g);
}

TEST(model_knows_gemmas_local_layers_caps_and_two_rotations)
{
    struct model m;
    plan_gemma(&m, gemma("gemma2", 5, 0, "rope.freq_base", true, 500));
    CHECK(m.local_window == 4096 && m.locals == 3 && m.window == 0);
    for (int i = 0; i < 5; i++) CHECK(m.layer[i].local == (i % 2 == 0) && m.layer[i].nth == i / 2);
    CHECK(m.attn_cap == 50 && m.cap == 30 && m.act == KERN_GELU && m.embed_scale == 8 && m.attn_scale == 0.25f);
    CHECK(m.rope.neox && m.rope_local.inv_freq == m.rope.inv_freq);
    model_free(&m);
    plan_gemma(&m, gemma("gemma2", 2, 7, "attn_logit_softcapping", true, 6));
    CHECK(m.local_window == 7 && m.attn_cap == 6 && m.cap == 30);
    model_free(&m);
    plan_gemma(&m, gemma("gemma3", 13, 24, "rope.scaling.factor", true, 8));
    CHECK(m.local_window == 24 && m.locals == 11 && m.attn_cap == 0 && m.cap == 0);
    for (int i = 0; i < 13; i++) {
        const bool full = i % 6 == 5;
        CHECK(m.layer[i].local == !full && m.layer[i].nth == (full ? i / 6 : i - i / 6));
    }
    CHECK_NEAR(m.layer[5].attn.rope.inv_freq[1], pow(10000, -2.0 / 16) / 8, 1e-12);
    CHECK_NEAR(m.layer[6].attn.rope.inv_freq[1], pow(10000, -2.0 / 16), 1e-12);
    model_free(&m);
    plan_gemma(&m, gemma("gemma3", 7, 24, "rope.freq_base_swa", true, 500));
    CHECK_NEAR(m.layer[6].attn.rope.inv_freq[1], pow(500, -2.0 / 16), 1e-12);
    CHECK_NEAR(m.layer[5].attn.rope.inv_freq[1], pow(10000, -2.0 / 16), 1e-12);
    model_free(&m);
    plan_gemma(&m, gemma("gemma3", 7, 0, "rope.freq_base", true, 500)); /* none has a window: all are alike */
    CHECK(m.local_window == 0 && m.locals == 0);
    CHECK_NEAR(m.layer[6].attn.rope.inv_freq[1], pow(500, -2.0 / 16), 1e-12);
    model_free(&m);
    plan_gemma(&m, gemma("gemma3", 5, 24, "rope.freq_base_swa", true, 500)); /* all are local: one window for all */
    CHECK(m.window == 24 && m.local_window == 0 && m.locals == 0);
    CHECK_NEAR(m.layer[4].attn.rope.inv_freq[1], pow(500, -2.0 / 16), 1e-12);
    model_free(&m);
    plan_gemma(&m, gemma("gemma3", 7, 24, "attention.sliding_window_pattern", false, 6));
    model_free(&m);
    refuse_gemma(gemma("gemma3", 7, 24, "attention.sliding_window_pattern", false, 5), "pattern is 5; allowed is 6");
    refuse_gemma(gemma("gemma3", 7, 24, "rope.freq_base_swa", true, 0), "rope.freq_base_swa is 0");
    refuse_gemma(gemma("gemma2", 2, 24, "final_logit_softcapping", true, -1), "final_logit_softcapping is -1");
    refuse_gemma(gemma("gemma2", 2, 24, "attn_logit_softcapping", true, NAN), "attn_logit_softcapping");
}

/* Their reports: the two of 27B divide scores by sqrt(width / heads), the others by sqrt(head's size). */
TEST(model_scales_the_scores_of_the_largest_gemmas_by_their_width)
{
    static const struct { const char *shape; int part; } known[] = {{"gemma2-9b", 256}, {"gemma2-27b", 144},
                                                                    {"gemma3-12b", 256}, {"gemma3-27b", 168}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct err err = {0};
        struct model m;
        char path[PLAN_PATH];
        int fd;
        const struct plan_shape *s = plan_shape_find(known[i].shape, &err);
        CHECK_EQ(plan_header(s, (struct plan_mix){.type = KT_Q4_0}, &fd, path, &err), 0);
        struct gguf *g = gguf_open(path, &err);
        CHECK_EQ(model_plan(&m, g, s->vocab, kern_cpu(), &err), 0);
        CHECK_NEAR(1 / (m.attn_scale * m.attn_scale), known[i].part, 1e-3);
        model_free(&m);
        gguf_close(g);
        close(fd);
    }
}

CHECK_MAIN
