/* gpt-oss as files say it: what it has that no other architecture does is found, held to its shape, and missed. */
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <math.h>

#define OSS                                                                                                \
    ((struct tiny){.arch = "gpt-oss", .layers = 3, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 32,        \
                   .type = KT_MXFP4, .seed = 1, .window = 24, .experts = 4, .used = 2})

/* Of a plan, or of loading after it; "" where all is well. */
static const char *said_of(const char *path)
{
    static struct err err;
    struct model m = {0};
    const struct kern *k = kern_ref();
    err = (struct err){0};
    struct gguf *g = gguf_open(path, &err);
    CHECK(g != NULL);
    if (model_plan(&m, g, TINY_VOCAB, k, &err) == 0) {
        struct kdev *d = k->open(&(struct kern_config){0}, &err);
        void *slab = k->take(d, m.bytes, &err);
        CHECK(d && slab);
        model_load(&m, g, k, d, slab, NULL, NULL, &err);
        k->give(d, slab, m.bytes);
        k->close(d);
    }
    model_free(&m);
    gguf_close(g);
    return err.text;
}

static void refused(const char *path, const char *word)
{
    const char *said = said_of(path);
    if (!strstr(said, word)) CHECK_STR(said, word);
    CHECK(!strchr(said, '\n'));
}

TEST(oss_has_windows_by_turns_and_its_own_activation)
{
    const struct tiny t = OSS;
    struct model m;
    struct err err = {0};
    struct gguf *g = gguf_open(tiny_file(&t, NULL, "oss.gguf"), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), 0);
    CHECK_STR(err.text, "");
    CHECK(m.act == KERN_OSS && m.local_window == 24 && m.window == 0 && m.locals == 2);
    CHECK(m.layer[0].local && !m.layer[1].local && m.layer[2].local);
    CHECK(m.rope.neox && m.embed_scale == 1 && m.attn_scale == 0.25f);
    const uint64_t expert = 3 * 64 * 32 + 2 * 32 + 64, biases = 64 + 2 * 32 + 64, sinks = 4;
    const uint64_t layer = 2 * 64 + biases + sinks + 2 * 64 * 64 + 2 * 64 * 32 + 4 * 64 + 4;
    const uint64_t rest = 2 * TINY_VOCAB * 64 + 64 + 3 * layer;
    CHECK_EQ(m.parameters, rest + 3 * 4 * expert);
    CHECK_EQ(m.active, rest + 3 * 2 * expert);
    model_free(&m);
    gguf_close(g);
    CHECK_STR(said_of(tiny_file(&t, NULL, "oss.gguf")), "");
}

/* The bytes of the file with `name` in it, where `with` stands instead: a tensor that nobody asks for. */
static const char *renamed(const char *name, const char *with)
{
    const struct tiny t = OSS;
    struct buf file = {0};
    FILE *f = fopen(tiny_file(&t, NULL, "oss.gguf"), "rb");
    char bytes[4096];
    CHECK(f && strlen(name) == strlen(with));
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0;) buf_put(&file, bytes, n);
    fclose(f);
    char *at = memmem(file.data, file.len, name, strlen(name));
    CHECK(at != NULL);
    memcpy(at, with, strlen(with));
    const char *path = gguf_make_write("renamed.gguf", file.data, file.len);
    buf_free(&file);
    return path;
}

TEST(oss_without_a_part_of_it_is_refused_by_its_name)
{
    static const char *const part[][2] = {
        {"blk.0.attn_sinks.weight", "blk.0.attn_zinks.weight"},
        {"blk.1.ffn_gate_inp.bias", "blk.1.ffn_zate_inp.bias"},
        {"blk.0.ffn_gate_exps.bias", "blk.0.ffn_zate_exps.bias"},
        {"blk.2.ffn_up_exps.bias", "blk.2.ffn_zp_exps.bias"},
        {"blk.0.ffn_down_exps.bias", "blk.0.ffn_zown_exps.bias"},
        {"blk.0.attn_output.bias", "blk.0.attn_zutput.bias"},
        {"blk.1.post_attention_norm.weight", "blk.1.zost_attention_norm.weight"}};
    char word[96];
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        snprintf(word, sizeof word, "tensor %s is missing; architecture gpt-oss needs it", part[i][0]);
        refused(renamed(part[i][0], part[i][1]), word);
    }
}

TEST(oss_biases_have_one_entry_a_row_of_every_expert)
{
    struct tiny t = OSS;
    struct gguf_make m;
    const float bias[5 * 32] = {0};
    for (int what = 0; what < 3; what++) {
        const struct tiny none = {.arch = "qwen3moe", .layers = 1, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 32,
                                  .type = KT_F32, .seed = 1, .experts = 4, .used = 2};
        gguf_make_begin(&m);
        t.layers = 1;
        tiny_keys(&m, &t);
        tiny_vocab(&m, NULL);
        if (what == 0) gguf_make_tensor(&m, "blk.0.ffn_gate_exps.bias", KT_F32, 2, (int64_t[]){32, 5}, bias);
        if (what == 1) gguf_make_tensor(&m, "blk.0.ffn_gate_exps.bias", KT_F32, 1, (int64_t[]){128}, bias);
        if (what == 2) gguf_make_tensor(&m, "blk.0.ffn_gate_inp.bias", KT_F32, 1, (int64_t[]){5}, bias);
        gguf_make_tensor(&m, "blk.0.attn_sinks.weight", KT_F32, 1, (int64_t[]){4}, bias);
        gguf_make_tensor(&m, "blk.0.post_attention_norm.weight", KT_F32, 1, (int64_t[]){64}, bias);
        gguf_make_tensor(&m, "blk.0.attn_output.bias", KT_F32, 1, (int64_t[]){64}, bias);
        gguf_make_tensor(&m, "blk.0.attn_q.bias", KT_F32, 1, (int64_t[]){64}, bias);
        gguf_make_tensor(&m, "blk.0.attn_k.bias", KT_F32, 1, (int64_t[]){32}, bias);
        gguf_make_tensor(&m, "blk.0.attn_v.bias", KT_F32, 1, (int64_t[]){32}, bias);
        if (what < 2) gguf_make_tensor(&m, "blk.0.ffn_gate_inp.bias", KT_F32, 1, (int64_t[]){4}, bias);
        tiny_tensors(&m, &none);
        refused(gguf_make_file(&m, "bent.gguf"),
                what == 0 ? "blk.0.ffn_gate_exps.bias is 32 x 5 x 1 x 1; it must be 32 x 4"
                : what == 1 ? "blk.0.ffn_gate_exps.bias is 128 x 1 x 1 x 1; it must be 32 x 4"
                            : "blk.0.ffn_gate_inp.bias is 5 x 1 x 1 x 1; it must be 4 x 1");
    }
}

TEST(oss_weighs_the_chosen_experts_alone_whatever_its_key_says_otherwise)
{
    for (int way = 1; way <= 3; way++) {
        const struct tiny t = OSS;
        struct gguf_make m;
        gguf_make_begin(&m);
        tiny_keys(&m, &t);
        gguf_make_u32(&m, "gpt-oss.expert_gating_func", (uint32_t)way);
        tiny_vocab(&m, NULL);
        tiny_tensors(&m, &t);
        const char *path = gguf_make_file(&m, "way.gguf");
        if (way == 3) CHECK_STR(said_of(path), "");
        else refused(path, "key gpt-oss.expert_gating_func is");
    }
}

/* In a tensor of two dimensions every value is looked at. */
TEST(oss_refuses_a_bias_that_is_no_number_in_the_last_expert_too)
{
    const struct tiny t = OSS;
    struct err err = {0};
    const char *path = tiny_file(&t, NULL, "nan.gguf");
    struct gguf *g = gguf_open(path, &err);
    const struct gguf_tensor *bias = gguf_tensor(g, "blk.2.ffn_down_exps.bias");
    CHECK(bias && bias->dim[0] == 64 && bias->dim[1] == 4);
    float v[4 * 64], seen[4 * 64];
    struct buf file = {0};
    char bytes[4096];
    CHECK_EQ(gguf_read(g, bias, 0, v, sizeof v, &err), 0);
    gguf_close(g);
    FILE *f = fopen(path, "rb");
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0;) buf_put(&file, bytes, n);
    fclose(f);
    char *at = memmem(file.data, file.len, v, sizeof v);
    CHECK(at != NULL);
    memcpy(seen, v, sizeof v);
    seen[4 * 64 - 1] = NAN;
    memcpy(at, seen, sizeof seen);
    refused(gguf_make_write("nan.gguf", file.data, file.len), "blk.2.ffn_down_exps.bias[255] is not a finite number");
    buf_free(&file);
}

CHECK_MAIN
