/* LFM2 as files say it: which layers have a short convolution, its weights, and the norm before the output; what is
 * missing or otherwise is refused by its name. */
#include "engine/kv.h"
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

#define LFM                                                                                               \
    ((struct tiny){.arch = "lfm2", .layers = 5, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,          \
                   .type = KT_F32, .seed = 1})

/* Of a plan; "" where all is well. */
static const char *said_of(const char *path, struct model *m)
{
    static struct err err;
    struct model own = {0};
    err = (struct err){0};
    struct gguf *g = gguf_open(path, &err);
    CHECK(g != NULL);
    model_plan(m ? m : &own, g, TINY_VOCAB, kern_ref(), &err);
    model_free(&own);
    gguf_close(g);
    CHECK(!strchr(err.text, '\n'));
    return err.text;
}

/* The file with what `more` adds to its keys and tensors; then some of its bytes changed: those `skip` behind where
 * `name` is. */
static const char *changed(void (*more)(struct gguf_make *m), const char *name, size_t skip, const void *to, size_t n)
{
    const struct tiny t = LFM;
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    if (more) more(&m);
    struct buf b = gguf_make_bytes(&m);
    char *at = name ? memmem(b.data, b.len, name, strlen(name)) : NULL;
    CHECK(at || !name);
    if (name) memcpy(at + skip, to, n);
    const char *path = gguf_make_write("lfm2.gguf", b.data, b.len);
    buf_free(&b);
    return path;
}

static void refused(const char *path, const char *word)
{
    const char *said = said_of(path, NULL);
    if (!strstr(said, word)) CHECK_STR(said, word);
}

/* KV heads of one layer, which lie behind the key, the array's type, its elements' and their number. */
static const char *with_heads(int layer, int32_t heads)
{
    const char *key = "lfm2.attention.head_count_kv";
    return changed(NULL, key, strlen(key) + 4 + 4 + 8 + 4 * (size_t)layer, &heads, 4);
}

TEST(layers_without_kv_heads_have_a_short_convolution)
{
    struct model m = {0};
    CHECK_STR(said_of(changed(NULL, NULL, 0, NULL, 0), &m), "");
    CHECK(m.local_window == KV_STATES && m.window == 0 && m.locals == 4 && m.layers == 5 && m.kv_heads == 2);
    CHECK(m.keys == 0 && m.values == 64 && m.state_dim == 1 && m.taps == TINY_CACHE);
    CHECK(m.rope.dims == 16 && m.rope.neox && m.head_dim == 16);
    for (int i = 0; i < 5; i++) {
        const struct model_layer *l = &m.layer[i];
        CHECK(l->local == (i != 2) && (l->conv.in.cols > 0) == l->local && (l->attn.q.cols > 0) != l->local);
        CHECK(l->nth == (i < 2 ? i : i == 2 ? 0 : i - 1));
        CHECK(l->delta.qkv.cols == 0 && l->let.cols == 0 && l->wo.rows == 64 && l->wo.cols == 64);
    }
    const int conv = 4 * 64 * 64 + 64 * TINY_CACHE, attention = 2 * 64 * 64 + 2 * 32 * 64 + 2 * 16;
    CHECK_EQ(m.parameters, 4 * conv + attention + 5 * (2 * 64 + 3 * 64 * 96) + 2 * TINY_VOCAB * 64 + 64);
    model_free(&m);
}

TEST(any_layers_may_have_attention_if_some_have_and_some_have_not)
{
    struct model m = {0};
    refused(with_heads(2, 0), "none of its 5 layers has attention: that is not supported");
    refused(with_heads(2, 3), "4 attention heads are not a multiple of 3 key/value heads");
    refused(with_heads(2, -1), "head_count_kv is -1; allowed is 1 to 4");
    refused(with_heads(0, 1), "head_count_kv[2] is 2 and the first is 1; one number for all layers is supported");
    /* a layer that says it has attention must bring it, and its convolution is then nobody's */
    refused(with_heads(0, 2), "tensor blk.0.attn_q.weight is missing; architecture lfm2 needs it");
    CHECK_STR(said_of(with_heads(0, 0), &m), "");
    CHECK_EQ(m.locals, 4);
    model_free(&m);
}

/* One number for all layers: that says nothing of convolutions. */
static void one_number(struct gguf_make *m, const struct tiny *t, const int32_t *each, int n)
{
    gguf_make_begin(m);
    gguf_make_str(m, "general.architecture", "lfm2");
    gguf_make_u32(m, "lfm2.block_count", (uint32_t)t->layers);
    gguf_make_u32(m, "lfm2.context_length", 512);
    gguf_make_u32(m, "lfm2.embedding_length", (uint32_t)t->embd);
    gguf_make_u32(m, "lfm2.feed_forward_length", (uint32_t)t->ff);
    gguf_make_u32(m, "lfm2.attention.head_count", (uint32_t)t->heads);
    if (each) gguf_make_i32s(m, "lfm2.attention.head_count_kv", each, (uint64_t)n);
    else gguf_make_u32(m, "lfm2.attention.head_count_kv", 2);
    gguf_make_f32(m, "lfm2.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_make_u32(m, "lfm2.shortconv.l_cache", TINY_CACHE);
    tiny_vocab(m, NULL);
    tiny_tensors(m, t);
}

TEST(what_says_nothing_of_convolutions_is_refused)
{
    static const int32_t all[] = {2, 2, 2, 2, 2}, few[] = {0, 2, 0};
    const struct tiny t = LFM;
    struct gguf_make m;
    one_number(&m, &t, NULL, 0);
    refused(gguf_make_file(&m, "lfm2.gguf"), "names no layer without KV heads: a model without convolutions");
    one_number(&m, &t, all, 5);
    refused(gguf_make_file(&m, "lfm2.gguf"), "names no layer without KV heads");
    one_number(&m, &t, few, 3);
    refused(gguf_make_file(&m, "lfm2.gguf"), "head_count_kv has 3 numbers for 5 layers; one for each is needed");
}

static void with_window(struct gguf_make *m) { gguf_make_u32(m, "lfm2.attention.sliding_window", 128); }
static void with_no_window(struct gguf_make *m) { gguf_make_u32(m, "lfm2.attention.sliding_window", 0); }

static void with_bias(struct gguf_make *m)
{
    const float v[64] = {0};
    gguf_make_tensor(m, "blk.0.shortconv.conv.bias", KT_F32, 1, (int64_t[]){64}, v);
}

static void with_colbert(struct gguf_make *m)
{
    const float v[64] = {0};
    gguf_make_tensor(m, "dense_2.weight", KT_F32, 2, (int64_t[]){64, 1}, v);
}

TEST(what_would_change_the_result_is_refused_by_name)
{
    const uint64_t shape[] = {96, 128}; /* as many values */
    const uint32_t taps[] = {1, 9, 4};
    const char *key = "lfm2.shortconv.l_cache", *in = "blk.0.shortconv.in_proj.weight";
    refused(changed(NULL, key, strlen(key) + 4, &taps[0], 4), "lfm2.shortconv.l_cache is 1; allowed is 2 to 8");
    refused(changed(NULL, key, strlen(key) + 4, &taps[1], 4), "lfm2.shortconv.l_cache is 9; allowed is 2 to 8");
    refused(changed(NULL, key, strlen(key) + 4, &taps[2], 4), "blk.0.shortconv.conv.weight is 3 x 64 x 1 x 1");
    refused(changed(NULL, key, 5, "S", 1), "key lfm2.shortconv.l_cache is missing; architecture lfm2 needs it");
    refused(changed(NULL, in, 6, "S", 1), "tensor blk.0.shortconv.in_proj.weight is missing");
    refused(changed(NULL, in, strlen(in) + 4, shape, sizeof shape), "is 96 x 128 x 1 x 1; it must be 64 x 192");
    refused(changed(NULL, "token_embd_norm.weight", 0, "T", 1), "tensor token_embd_norm.weight is missing");
    refused(changed(with_window, NULL, 0, NULL, 0), "lfm2.attention.sliding_window is 128; allowed is 0");
    CHECK_STR(said_of(changed(with_no_window, NULL, 0, NULL, 0), NULL), "");
    refused(changed(with_bias, NULL, 0, NULL, 0), "tensor blk.0.shortconv.conv.bias is not part of architecture lfm2");
    refused(changed(with_colbert, NULL, 0, NULL, 0), "tensor dense_2.weight is not part of architecture lfm2");
}

static void with_experts(struct gguf_make *m) { gguf_make_u32(m, "lfm2.expert_count", 8); }

TEST(mixtures_of_lfm2_are_refused)
{
    refused(changed(with_experts, NULL, 0, NULL, 0), "lfm2.expert_count is 8: a mixture of experts is supported in");
    refused(changed(NULL, "general.architecture", 20 + 4 + 8, "lfmx", 4), "architecture \"lfmx\" is not supported");
}

CHECK_MAIN
