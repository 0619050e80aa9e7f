/* tiny_model.c - a byte vocabulary and random weights. */
#include "tests/tiny_model.h"
#include "tests/check.h"
#include "tests/rig.h"
#include <math.h>

uint32_t tiny_random(uint32_t *state)
{
    uint64_t s = (uint64_t)*state * 747796405u + 2891336453u; /* PCG, O'Neill 2014: one 32-bit state is enough here */
    *state = (uint32_t)s;
    uint32_t w = ((*state >> ((*state >> 28) + 4)) ^ *state) * 277803737u;
    return (w >> 22) ^ w;
}

int tiny_below(uint32_t *state, int n) { return (int)(tiny_random(state) % (uint32_t)n); }

static float uniform(uint32_t *state) { return (float)(tiny_random(state) >> 8) / 8388608.0f - 1.0f; }

void tiny_vocab(struct gguf_make *m, const char *chat_template)
{
    static char bytes[256][8];
    const char *token[TINY_VOCAB] = {"<unk>", "<s>", "</s>"};
    float score[TINY_VOCAB] = {0};
    int32_t type[TINY_VOCAB] = {2, 3, 3};
    for (int i = 0; i < 256; i++) {
        snprintf(bytes[i], sizeof bytes[i], "<0x%02X>", (unsigned)i);
        token[TINY_BYTE0 + i] = bytes[i];
        type[TINY_BYTE0 + i] = 6;
    }
    token[TINY_SPACE] = "\xe2\x96\x81";
    token[TINY_SPACE + 1] = "<|im_start|>";
    token[TINY_IM_END] = "<|im_end|>";
    type[TINY_SPACE] = 1;
    type[TINY_SPACE + 1] = type[TINY_IM_END] = 3;
    gguf_make_str(m, "tokenizer.ggml.model", "llama");
    gguf_make_strs(m, "tokenizer.ggml.tokens", token, TINY_VOCAB);
    gguf_make_f32s(m, "tokenizer.ggml.scores", score, TINY_VOCAB);
    gguf_make_i32s(m, "tokenizer.ggml.token_type", type, TINY_VOCAB);
    gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 1);
    gguf_make_u32(m, "tokenizer.ggml.eos_token_id", 2);
    gguf_make_bool(m, "tokenizer.ggml.add_space_prefix", false);
    if (chat_template) gguf_make_str(m, "tokenizer.chat_template", chat_template);
}

static bool is_oss(const struct tiny *t) { return strcmp(t->arch, "gpt-oss") == 0; }

static bool is_next(const struct tiny *t) { return strcmp(t->arch, "qwen3next") == 0; }

static bool is_olmo(const struct tiny *t) { return strcmp(t->arch, "olmo2") == 0; }

static bool is_delta(const struct tiny *t) { return strncmp(t->arch, "qwen35", 6) == 0 || is_next(t); }

static bool is_lfm(const struct tiny *t) { return strcmp(t->arch, "lfm2") == 0; }
static bool convolves(const struct tiny *t, int layer) { return is_lfm(t) && layer % 3 < 2; }

/* Of lfm2 for each layer, as converters write them. */
static void kv_heads(struct gguf_make *m, const struct tiny *t)
{
    int32_t each[64];
    CHECK(t->layers <= (int)COUNT_OF(each));
    for (int i = 0; i < t->layers; i++) each[i] = convolves(t, i) ? 0 : t->kv_heads;
    gguf_make_i32s(m, "lfm2.attention.head_count_kv", each, (uint64_t)t->layers);
    gguf_make_u32(m, "lfm2.shortconv.l_cache", TINY_CACHE);
}

static void key_u32(struct gguf_make *m, const char *arch, const char *suffix, int v)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, suffix);
    gguf_make_u32(m, key, (uint32_t)v);
}

void tiny_keys(struct gguf_make *m, const struct tiny *t)
{
    char key[96];
    gguf_make_str(m, "general.architecture", t->arch);
    gguf_make_str(m, "general.name", "tiny");
    key_u32(m, t->arch, "block_count", t->layers);
    key_u32(m, t->arch, "context_length", 512);
    key_u32(m, t->arch, "embedding_length", t->embd);
    key_u32(m, t->arch, "feed_forward_length", t->ff);
    key_u32(m, t->arch, "attention.head_count", t->heads);
    if (is_lfm(t)) kv_heads(m, t);
    else key_u32(m, t->arch, "attention.head_count_kv", t->kv_heads);
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", t->arch);
    gguf_make_f32(m, key, 1e-5f);
    if (t->window) key_u32(m, t->arch, "attention.sliding_window", t->window);
    if (is_delta(t)) {
        key_u32(m, t->arch, "ssm.conv_kernel", TINY_TAPS);
        key_u32(m, t->arch, "ssm.state_size", TINY_STATE);
        key_u32(m, t->arch, "ssm.group_count", TINY_KEYS);
        key_u32(m, t->arch, "ssm.time_step_rank", TINY_VALUES);
        key_u32(m, t->arch, "ssm.inner_size", TINY_VALUES * TINY_STATE);
        key_u32(m, t->arch, "rope.dimension_count", t->embd / t->heads / 4);
    }
    static const char *const scale[] = {"embedding_scale", "residual_scale", "attention.scale", "logit_scale"};
    for (size_t i = 0; i < COUNT_OF(scale); i++) {
        snprintf(key, sizeof key, "%s.%s", t->arch, scale[i]);
        if (t->scales[i] != 0) gguf_make_f32(m, key, t->scales[i]);
    }
    if (t->temper > 0) {
        snprintf(key, sizeof key, "%s.attention.temperature_scale", t->arch);
        gguf_make_f32(m, key, t->temper);
        key_u32(m, t->arch, "rope.scaling.original_context_length", TINY_TEMPER);
    }
    if (!t->experts) return;
    key_u32(m, t->arch, "expert_count", t->experts);
    key_u32(m, t->arch, "expert_used_count", t->used);
    if (strcmp(t->arch, "llama") != 0) key_u32(m, t->arch, "expert_feed_forward_length", t->ff);
    if (t->shared) key_u32(m, t->arch, "expert_shared_feed_forward_length", t->shared);
}

static void put(struct gguf_make *m, const char *name, enum ktype type, int cols, int rows, int deep, const void *data)
{
    gguf_make_tensor(m, name, type, deep > 1 ? 3 : 2, (int64_t[]){cols, rows, deep}, data);
}

/* All other types: filled as the tests of kernels fill them. */
static void by_rig(struct gguf_make *m, const char *name, enum ktype type, int cols, int rows, int deep,
                   uint32_t *seed)
{
    struct dice d = {tiny_random(seed)};
    uint8_t *file = malloc(rig_file_bytes(type, rows * deep, cols));
    CHECK(file != NULL);
    rig_weights(&d, type, rows * deep, cols, file);
    put(m, name, type, cols, rows, deep, file);
    free(file);
}

/* Random weights whose products neither vanish nor grow: uniform, of deviation 1/sqrt(cols). */
static void matrices(struct gguf_make *m, const char *name, enum ktype type, int cols, int rows, int deep,
                     uint32_t *seed)
{
    struct buf b = {0};
    float amp = 1.7f / sqrtf((float)cols);
    if (type != KT_F32 && type != KT_F16 && type != KT_Q8_0) {
        by_rig(m, name, type, cols, rows, deep, seed);
        return;
    }
    for (int i = 0; i < rows * deep * cols; i++) {
        if (type == KT_F32) {
            float v = amp * uniform(seed);
            buf_put(&b, &v, sizeof v);
        } else if (type == KT_F16 || i % 32 == 0) { /* a half: the weight itself, or the scale of a Q8_0 block */
            uint16_t v = quant_to_f16(type == KT_F16 ? amp * uniform(seed) : amp / 127.0f);
            buf_put(&b, &v, sizeof v);
        }
        if (type == KT_Q8_0) {
            int8_t q = (int8_t)(127.0f * uniform(seed));
            buf_put(&b, &q, 1);
        }
    }
    put(m, name, type, cols, rows, deep, b.data);
    buf_free(&b);
}

static void matrix(struct gguf_make *m, const char *name, enum ktype type, int cols, int rows, uint32_t *seed)
{
    matrices(m, name, type, cols, rows, 1, seed);
}

static void vector(struct gguf_make *m, const char *name, int n, float mean, float spread, uint32_t *seed)
{
    float v[4096];
    for (int i = 0; i < n; i++) v[i] = mean + spread * uniform(seed);
    gguf_make_tensor(m, name, KT_F32, 1, (int64_t[]){n}, v);
}

/* gpt-oss's, one for each row of n experts. */
static void biases(struct gguf_make *m, const char *name, int rows, int n, uint32_t *seed)
{
    float v[4096];
    CHECK(rows * n <= (int)COUNT_OF(v));
    for (int i = 0; i < rows * n; i++) v[i] = 0.5f * uniform(seed);
    gguf_make_tensor(m, name, KT_F32, 2, (int64_t[]){rows, n}, v);
}

static bool is_phi(const struct tiny *t) { return strcmp(t->arch, "phi3") == 0; }

static const char *named(int layer, const char *suffix)
{
    static char name[64];
    snprintf(name, sizeof name, "blk.%d.%s", layer, suffix);
    return name;
}

static void shared_expert(struct gguf_make *m, const struct tiny *t, int i, uint32_t *seed)
{
    vector(m, named(i, "ffn_gate_inp_shexp.weight"), t->embd, 0, 0.3f, seed);
    matrix(m, named(i, "ffn_gate_shexp.weight"), t->type, t->embd, t->shared, seed);
    matrix(m, named(i, "ffn_up_shexp.weight"), t->type, t->embd, t->shared, seed);
    matrix(m, named(i, "ffn_down_shexp.weight"), t->type, t->shared, t->embd, seed);
}

static void feed(struct gguf_make *m, const struct tiny *t, int layer, uint32_t *seed)
{
    const struct { const char *name; int cols, rows; } part[] = {
        {"gate", t->embd, t->ff}, {"up", t->embd, t->ff}, {"down", t->ff, t->embd}};
    const bool both = is_phi(t); /* gate above up */
    char name[64];
    if (t->shared) shared_expert(m, t, layer, seed);
    snprintf(name, sizeof name, "blk.%d.ffn_gate_inp.weight", layer);
    if (t->experts) matrix(m, name, KT_F32, t->embd, t->experts, seed);
    snprintf(name, sizeof name, "blk.%d.ffn_gate_inp.bias", layer);
    if (is_oss(t)) vector(m, name, t->experts, 0, 0.5f, seed);
    for (size_t i = both; i < COUNT_OF(part); i++) {
        const int rows = both && i == 1 ? 2 * part[i].rows : part[i].rows;
        snprintf(name, sizeof name, "blk.%d.ffn_%s%s.weight", layer, part[i].name, t->experts ? "_exps" : "");
        matrices(m, name, t->type, part[i].cols, rows, MAX(t->experts, 1), seed);
        snprintf(name, sizeof name, "blk.%d.ffn_%s_exps.bias", layer, part[i].name);
        if (is_oss(t)) biases(m, name, rows, t->experts, seed);
    }
}

/* All of a layer that keeps a state, but for its feed-forward. */
static void recurrent(struct gguf_make *m, const struct tiny *t, int i, uint32_t *seed)
{
    const int inner = TINY_VALUES * TINY_STATE, channels = 2 * TINY_KEYS * TINY_STATE + inner;
    float a[TINY_VALUES];
    vector(m, named(i, "attn_norm.weight"), t->embd, 1, 0.1f, seed);
    matrix(m, named(i, "attn_qkv.weight"), t->type, t->embd, channels, seed);
    matrix(m, named(i, "attn_gate.weight"), t->type, t->embd, inner, seed);
    if (is_next(t)) {
        matrix(m, named(i, "ssm_ba.weight"), t->type, t->embd, 2 * TINY_VALUES, seed);
    } else {
        matrix(m, named(i, "ssm_beta.weight"), t->type, t->embd, TINY_VALUES, seed);
        matrix(m, named(i, "ssm_alpha.weight"), t->type, t->embd, TINY_VALUES, seed);
    }
    matrix(m, named(i, "ssm_conv1d.weight"), KT_F32, TINY_TAPS, channels, seed);
    vector(m, named(i, "ssm_dt.bias"), TINY_VALUES, 0, 1, seed);
    for (int k = 0; k < TINY_VALUES; k++) a[k] = -0.02f - 0.3f * fabsf(uniform(seed)); /* it forgets slowly */
    gguf_make_tensor(m, named(i, "ssm_a"), KT_F32, 1, (int64_t[]){TINY_VALUES}, a);
    vector(m, named(i, "ssm_norm.weight"), TINY_STATE, 1, 0.3f, seed);
    matrix(m, named(i, "ssm_out.weight"), t->type, inner, t->embd, seed);
    vector(m, named(i, "post_attention_norm.weight"), t->embd, 1, 0.1f, seed);
}

static void convolution(struct gguf_make *m, const struct tiny *t, int i, uint32_t *seed)
{
    vector(m, named(i, "attn_norm.weight"), t->embd, 1, 0.1f, seed);
    matrix(m, named(i, "shortconv.in_proj.weight"), t->type, t->embd, 3 * t->embd, seed);
    matrix(m, named(i, "shortconv.conv.weight"), KT_F32, TINY_CACHE, t->embd, seed);
    matrix(m, named(i, "shortconv.out_proj.weight"), t->type, t->embd, t->embd, seed);
    vector(m, named(i, "ffn_norm.weight"), t->embd, 1, 0.1f, seed);
}

void tiny_tensors(struct gguf_make *m, const struct tiny *t)
{
    uint32_t seed = t->seed;
    int q = t->embd, kv = t->embd / t->heads * t->kv_heads;
    matrix(m, "token_embd.weight", t->type, t->embd, TINY_VOCAB, &seed);
    vector(m, is_lfm(t) ? "token_embd_norm.weight" : "output_norm.weight", t->embd, 1, 0.1f, &seed);
    if (!t->tied) matrix(m, "output.weight", t->type, t->embd, TINY_VOCAB, &seed);
    for (int i = 0; i < t->layers; i++) {
        char name[64];
#define NAME(suffix) (snprintf(name, sizeof name, "blk.%d.%s", i, suffix), name)
        const bool state = is_delta(t) && i % 4 < 3;
        if (state || convolves(t, i)) {
            if (state) recurrent(m, t, i, &seed);
            else convolution(m, t, i, &seed);
            feed(m, t, i, &seed);
            continue;
        }
        if (!is_olmo(t)) vector(m, NAME("attn_norm.weight"), t->embd, 1, 0.1f, &seed);
        if (is_phi(t)) {
            matrix(m, NAME("attn_qkv.weight"), t->type, t->embd, q + 2 * kv, &seed);
        } else {
            matrix(m, NAME("attn_q.weight"), t->type, t->embd, is_delta(t) ? 2 * q : q, &seed);
            matrix(m, NAME("attn_k.weight"), t->type, t->embd, kv, &seed);
            matrix(m, NAME("attn_v.weight"), t->type, t->embd, kv, &seed);
        }
        if (strncmp(t->arch, "qwen2", 5) == 0 || is_oss(t)) {
            vector(m, NAME("attn_q.bias"), q, 0, 0.5f, &seed);
            vector(m, NAME("attn_k.bias"), kv, 0, 0.5f, &seed);
            vector(m, NAME("attn_v.bias"), kv, 0, 0.5f, &seed);
        }
        if (strncmp(t->arch, "qwen3", 5) == 0 || strcmp(t->arch, "gemma3") == 0 || is_lfm(t)) {
            vector(m, NAME("attn_q_norm.weight"), t->embd / t->heads, 1, 0.3f, &seed);
            vector(m, NAME("attn_k_norm.weight"), t->embd / t->heads, 1, 0.3f, &seed);
        }
        if (is_olmo(t)) {
            vector(m, NAME("attn_q_norm.weight"), q, 1, 0.3f, &seed);
            vector(m, NAME("attn_k_norm.weight"), kv, 1, 0.3f, &seed);
        }
        matrix(m, NAME("attn_output.weight"), t->type, q, t->embd, &seed);
        if (is_oss(t)) {
            vector(m, NAME("attn_output.bias"), t->embd, 0, 0.5f, &seed);
            vector(m, NAME("attn_sinks.weight"), t->heads, 0, 1, &seed);
        }
        const bool late = is_oss(t) || is_delta(t);
        if (!is_olmo(t))
            vector(m, late ? NAME("post_attention_norm.weight") : NAME("ffn_norm.weight"), t->embd, 1, 0.1f, &seed);
        feed(m, t, i, &seed);
        if (strncmp(t->arch, "gemma", 5) == 0 || is_olmo(t)) {
            vector(m, NAME("post_attention_norm.weight"), t->embd, 1, 0.3f, &seed);
            vector(m, NAME("post_ffw_norm.weight"), t->embd, 1, 0.3f, &seed);
        }
#undef NAME
    }
}

const char *tiny_file(const struct tiny *t, const char *chat_template, const char *name)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, t);
    tiny_vocab(&m, chat_template);
    tiny_tensors(&m, t);
    return gguf_make_file(&m, name);
}

const char *tiny_text_file(const char *name, const char *text) { return gguf_make_write(name, text, strlen(text)); }
