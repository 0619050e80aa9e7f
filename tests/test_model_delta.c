/* Qwen3.5 as files say it: which layers keep a state and of what size, where q's rows and its gate's lie, a block that
 * is left where it is; what is missing or otherwise is refused by its name. */
#include "engine/kv.h"
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

#define DELTA                                                                                             \
    ((struct tiny){.arch = "qwen35", .layers = 5, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 96,        \
                   .type = KT_F32, .seed = 1})

#define NEXT                                                                                              \
    ((struct tiny){.arch = "qwen3next", .layers = 4, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 32,     \
                   .type = KT_F32, .seed = 2, .experts = 4, .used = 2, .shared = 32})

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

/* The file, with what `more` adds to its keys; then some of its bytes changed: those `skip` behind where `name` is. */
static const char *changed(const struct tiny *t, void (*more)(struct gguf_make *m), const char *name, size_t skip,
                           const void *to, size_t n)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, t);
    if (more) more(&m);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, t);
    struct buf b = gguf_make_bytes(&m);
    char *at = name ? memmem(b.data, b.len, name, strlen(name)) : NULL;
    CHECK(at || !name);
    if (name) memcpy(at + skip, to, n);
    const char *path = gguf_make_write("delta.gguf", b.data, b.len);
    buf_free(&b);
    return path;
}

static void refused_key(const char *suffix, uint32_t value, const char *word)
{
    const struct tiny t = DELTA;
    char key[64];
    snprintf(key, sizeof key, "qwen35.%s", suffix);
    const char *said = said_of(changed(&t, NULL, key, strlen(key) + 4, &value, 4), NULL);
    if (!strstr(said, word) || !strstr(said, suffix)) CHECK_STR(said, word);
}

TEST(every_fourth_layer_has_attention_and_the_others_keep_a_state)
{
    const struct tiny t = DELTA;
    struct model m = {0};
    CHECK_STR(said_of(changed(&t, NULL, NULL, 0, NULL, 0), &m), "");
    CHECK(m.local_window == KV_STATES && m.window == 0 && m.locals == 4 && m.layers == 5);
    CHECK(m.keys == TINY_KEYS && m.values == TINY_VALUES && m.state_dim == TINY_STATE && m.taps == TINY_TAPS);
    CHECK(m.rope.dims == 8 && m.rope.neox && m.head_dim == 32);
    for (int i = 0; i < 5; i++) {
        const struct model_layer *l = &m.layer[i];
        CHECK(l->local == (i != 3) && (l->delta.qkv.cols > 0) == l->local && (l->attn.q.cols > 0) != l->local);
        CHECK(l->local ? l->wo.cols == TINY_VALUES * TINY_STATE : l->let.rows == 64 && l->attn.q.rows == 64);
        CHECK(l->dev_ffn_post == NULL && l->dev_attn_post == NULL);
    }
    const int channels = (2 * TINY_KEYS + TINY_VALUES) * TINY_STATE, inner = TINY_VALUES * TINY_STATE;
    const int state = (channels + inner + 2 * TINY_VALUES) * 64 + channels * TINY_TAPS + 2 * TINY_VALUES + TINY_STATE +
                      inner * 64;
    const int attention = 2 * 64 * 64 + 2 * 32 * 64 + 64 * 64 + 2 * 32;
    CHECK_EQ(m.parameters, 4 * state + attention + 5 * (2 * 64 + 3 * 64 * 96) + 2 * TINY_VOCAB * 64 + 64);
    model_free(&m);
}

/* Of attention's first matrix each head has its rows of q, then as many of the gate. */
TEST(rows_of_q_and_of_its_gate_lie_by_turns)
{
    const struct tiny t = DELTA;
    const struct kern *k = kern_ref();
    struct err err = {0};
    struct model m = {0};
    float file[128 * 64];
    struct gguf *g = gguf_open(changed(&t, NULL, NULL, 0, NULL, 0), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, k, &err), 0);
    struct kdev *d = k->open(&(struct kern_config){0}, &err);
    void *slab = k->take(d, m.bytes, &err);
    CHECK_EQ(model_load(&m, g, k, d, slab, NULL, NULL, &err), 0);
    CHECK_EQ(gguf_read(g, gguf_tensor(g, "blk.3.attn_q.weight"), 0, file, sizeof file, &err), 0);
    for (int head = 0; head < 2; head++) {
        const size_t rows = 32 * 64 * sizeof(float);
        const float *q = m.layer[3].attn.q.dev_data, *let = m.layer[3].let.dev_data; /* ref has them as the file does */
        CHECK(memcmp(q + head * 32 * 64, file + head * 64 * 64, rows) == 0);
        CHECK(memcmp(let + head * 32 * 64, file + head * 64 * 64 + 32 * 64, rows) == 0);
    }
    k->give(d, slab, m.bytes);
    k->close(d);
    model_free(&m);
    gguf_close(g);
}

/* Of qwen3next's one matrix for both each key head has the rows of its value heads' beta, then as many of alpha. */
TEST(rows_of_beta_and_of_alpha_lie_by_turns_of_key_heads)
{
    enum { EACH = TINY_VALUES / TINY_KEYS, ROW = 64 };
    const struct tiny t = NEXT;
    const struct kern *k = kern_ref();
    struct err err = {0};
    struct model m = {0};
    float file[2 * TINY_VALUES * ROW];
    struct gguf *g = gguf_open(changed(&t, NULL, NULL, 0, NULL, 0), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, k, &err), 0);
    struct kdev *d = k->open(&(struct kern_config){0}, &err);
    void *slab = k->take(d, m.bytes, &err);
    CHECK_EQ(model_load(&m, g, k, d, slab, NULL, NULL, &err), 0);
    CHECK_EQ(gguf_read(g, gguf_tensor(g, "blk.1.ssm_ba.weight"), 0, file, sizeof file, &err), 0);
    CHECK(m.layer[1].delta.by_key && m.layer[1].delta.beta.rows == TINY_VALUES && m.shared == 32 && m.experts == 4);
    for (int head = 0; head < TINY_VALUES; head++) {
        const float *both = file + (head / EACH * 2 * EACH + head % EACH) * ROW;
        const float *beta = m.layer[1].delta.beta.dev_data, *alpha = m.layer[1].delta.alpha.dev_data;
        CHECK(memcmp(beta + head * ROW, both, ROW * sizeof *both) == 0);
        CHECK(memcmp(alpha + head * ROW, both + EACH * ROW, ROW * sizeof *both) == 0);
    }
    k->give(d, slab, m.bytes);
    k->close(d);
    model_free(&m);
    gguf_close(g);
}

TEST(files_of_qwen3next_are_held_to_their_one_matrix_and_old_ones_told_what_they_are)
{
    const struct tiny t = NEXT;
    const uint64_t shape[] = {32, 4 * TINY_VALUES};
    const char *name = "blk.2.ssm_ba.weight";
    CHECK(strstr(said_of(changed(&t, NULL, name, 6, "z", 1), NULL),
                 "tensor blk.2.ssm_ba.weight is missing; architecture qwen3next needs it"));
    CHECK(strstr(said_of(changed(&t, NULL, name, strlen(name) + 4, shape, sizeof shape), NULL),
                 "blk.2.ssm_ba.weight is 32 x 16 x 1 x 1; it must be 64 x 8"));
    /* as many letters: what was said of beta and alpha is not of it any more */
    CHECK(strstr(said_of(changed(&t, NULL, "blk.0.ssm_ba.weight", 0, "blk.0.ssm_in.weight", 19), NULL),
                 "tensor blk.0.ssm_in.weight has q, k, v and z of a key head each after the other"));
}

TEST(sizes_of_a_state_that_cannot_be_are_refused)
{
    refused_key("ssm.conv_kernel", 1, "allowed is 2 to 8");
    refused_key("ssm.conv_kernel", 9, "allowed is 2 to 8");
    refused_key("ssm.state_size", 0, "allowed is 1 to 256");
    refused_key("ssm.state_size", 257, "allowed is 1 to 256");
    refused_key("ssm.group_count", 0, "allowed is 1 to 256");
    refused_key("ssm.time_step_rank", 1, "allowed is 2 to 256");
    refused_key("ssm.time_step_rank", 1u << 31, "allowed is 2 to 256");
    refused_key("ssm.inner_size", 65, "allowed is 64");
    const struct tiny t = DELTA;
    const uint32_t three = 3;
    const char *keys = "qwen35.ssm.group_count";
    const char *said = said_of(changed(&t, NULL, keys, strlen(keys) + 4, &three, 4), NULL);
    CHECK(strstr(said, "4 value heads of a state are not a multiple of 3 key heads"));
    const struct tiny odd = {.arch = "qwen35", .layers = 5, .embd = 96, .heads = 2, .kv_heads = 1, .ff = 32,
                             .type = KT_F32, .seed = 1};
    CHECK(strstr(said_of(changed(&odd, NULL, NULL, 0, NULL, 0), NULL), "heads of 48 values, between which gates lie"));
}

TEST(weights_of_a_state_are_missed_by_their_names)
{
    static const char *const part[] = {"blk.0.attn_qkv.weight", "blk.1.attn_gate.weight", "blk.2.ssm_beta.weight",
                                       "blk.4.ssm_alpha.weight", "blk.0.ssm_conv1d.weight", "blk.0.ssm_dt.bias",
                                       "blk.0.ssm_a\1", "blk.0.ssm_norm.weight", "blk.0.ssm_out.weight",
                                       "blk.3.post_attention_norm.weight", "blk.3.attn_q_norm.weight"};
    const struct tiny t = DELTA;
    char word[96];
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        /* What ends a name in the file is how many dimensions it has. */
        snprintf(word, sizeof word, "tensor %.*s is missing; architecture qwen35 needs it",
                 (int)strcspn(part[i], "\1"), part[i]);
        CHECK(strstr(said_of(changed(&t, NULL, part[i], 6, "z", 1), NULL), word));
    }
}

/* ------------------------------------------------------------------ which layers */

static void recurrent(struct gguf_make *m, const uint8_t *layers, uint64_t n)
{
    gguf_make_array(m, "qwen35.attention.recurrent_layers", GGUF_BOOL, n, layers, n);
}
static void as_they_are(struct gguf_make *m) { recurrent(m, (uint8_t[]){1, 1, 1, 0, 1}, 5); }
static void otherwise(struct gguf_make *m) { recurrent(m, (uint8_t[]){1, 1, 0, 1, 1}, 5); }
static void too_few(struct gguf_make *m) { recurrent(m, (uint8_t[]){1, 1, 1, 0}, 4); }
static void of_numbers(struct gguf_make *m)
{
    gguf_make_i32s(m, "qwen35.attention.recurrent_layers", (int32_t[]){1, 1, 1, 0, 1}, 5);
}
static void every_fifth(struct gguf_make *m) { gguf_make_u32(m, "qwen35.full_attention_interval", 5); }
static void every_sixth(struct gguf_make *m) { gguf_make_u32(m, "qwen35.full_attention_interval", 6); }
static void all_of_them(struct gguf_make *m) { gguf_make_u32(m, "qwen35.full_attention_interval", 1); }

TEST(a_file_may_name_each_layer_and_is_held_to_it)
{
    const struct tiny t = DELTA;
    static const struct { void (*more)(struct gguf_make *m); const char *word; } file[] = {
        {as_they_are, NULL},
        {otherwise, "layer 2 does not keep a state; every 4. layer without one is supported"},
        {too_few, "has 4 elements for 5 layers"},
        {of_numbers, "an array of bool is needed"},
        {every_fifth, "blk.3.attn_qkv.weight is missing"},
        {every_sixth, "blk.3.attn_qkv.weight is missing"},
        {all_of_them, "full_attention_interval is 1: a model without states is of another architecture"}};
    for (size_t i = 0; i < COUNT_OF(file); i++) {
        const char *said = said_of(changed(&t, file[i].more, NULL, 0, NULL, 0), NULL);
        if (file[i].word ? !strstr(said, file[i].word) : *said) CHECK_STR(said, file[i].word ? file[i].word : "");
    }
    const struct tiny three = {.arch = "qwen35", .layers = 3, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 96,
                               .type = KT_F32, .seed = 1};
    CHECK(strstr(said_of(changed(&three, NULL, NULL, 0, NULL, 0), NULL), "none of its 3 layers has attention"));
}

/* ------------------------------------------------------------------ a block that guesses at further tokens */

static void one_more(struct gguf_make *m) { gguf_make_u32(m, "qwen35.nextn_predict_layers", 1); }
static void five_more(struct gguf_make *m) { gguf_make_u32(m, "qwen35.nextn_predict_layers", 5); }

TEST(a_block_behind_the_layers_is_left_where_it_is)
{
    struct tiny t = DELTA;
    struct model m = {0};
    t.layers = 4; /* of which the last is the block, and has any tensors */
    CHECK_STR(said_of(changed(&t, NULL, NULL, 0, NULL, 0), NULL), "");
    const char *said = said_of(changed(&t, five_more, NULL, 0, NULL, 0), NULL);
    CHECK(strstr(said, "nextn_predict_layers is 5; allowed is 0 to 3"));
    t.layers = 5;
    CHECK_STR(said_of(changed(&t, one_more, NULL, 0, NULL, 0), &m), "");
    CHECK(m.layers == 4 && m.locals == 3 && m.layer[3].attn.q.cols > 0);
    model_free(&m);
    CHECK(strstr(said_of(changed(&t, one_more, "blk.4.ssm_a\1", 4, "9", 1), NULL),
                 "tensor blk.9.ssm_a is not part of"));
}

CHECK_MAIN
