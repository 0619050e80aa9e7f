/* A mixture of experts as files say it: sizes and tensors are taken as they are meant, and what would be computed
 * otherwise, or would hurt, is refused by its name. */
#include "engine/engine.h"
#include "engine/model.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

#define MIXTURE                                                                                            \
    ((struct tiny){.arch = "llama", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 32,         \
                   .type = KT_F32, .seed = 1, .experts = 4, .used = 2})

/* The same with states, and an expert that all tokens go through. */
#define SHARED                                                                                             \
    ((struct tiny){.arch = "qwen35moe", .layers = 4, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 32,     \
                   .type = KT_F32, .seed = 1, .experts = 4, .used = 2, .shared = 40})

enum { NONE = -1 };

static void refuse(const char *path, const char *word)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .backend = "ref", .template = -1, .kv_type = KT_F16};
    struct engine *e = engine_local.open(&cfg, &err);
    if (e) check_fail(__FILE__, __LINE__, "opened, but should say %s", word);
    if (!strstr(err.text, word)) CHECK_STR(err.text, word);
    CHECK(!strchr(err.text, '\n'));
}

/* The mixture with one key more, or with another value (NONE: left out). */
static const char *with_key(struct tiny t, const char *suffix, int64_t value)
{
    struct gguf_make m;
    const struct { const char *suffix; int value; } usual[] = {{"expert_count", t.experts},
        {"expert_used_count", t.used}, {"expert_feed_forward_length", t.ff},
        {"expert_shared_feed_forward_length", t.shared}};
    char key[96];
    bool there = false;
    struct tiny dense = t;
    dense.experts = 0;
    gguf_make_begin(&m);
    tiny_keys(&m, &dense);
    for (size_t i = 0; i < COUNT_OF(usual) - !t.shared; i++) {
        const bool this = strcmp(suffix, usual[i].suffix) == 0;
        there |= this;
        snprintf(key, sizeof key, "%s.%s", t.arch, usual[i].suffix);
        if (!this) gguf_make_u32(&m, key, (uint32_t)usual[i].value);
        else if (value != NONE) gguf_make_u64(&m, key, (uint64_t)value);
    }
    snprintf(key, sizeof key, "%s.%s", t.arch, suffix);
    if (!there && *suffix) gguf_make_u64(&m, key, (uint64_t)value);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, "mix.gguf");
}

static struct tiny of_arch(const char *arch)
{
    struct tiny t = MIXTURE;
    t.arch = arch;
    return t;
}

TEST(mixtures_counts_are_held_to_what_there_is)
{
    static const struct { const char *key; int64_t value; const char *word; } bad[] = {
        {"expert_count", 513, "llama.expert_count is 513; allowed is 0 to 512"},
        {"expert_count", 1ll << 32, "llama.expert_count"},
        {"expert_count", INT64_MIN, "llama.expert_count"},
        {"expert_count", 0, "llama.expert_used_count is 2; allowed is 0"},
        {"expert_count", NONE, "llama.expert_used_count is 2; allowed is 0"},
        {"expert_count", 5, "blk.0.ffn_gate_inp.weight is 64 x 4 x 1 x 1; it must be 64 x 5"},
        {"expert_count", 512, "blk.0.ffn_gate_inp.weight is 64 x 4 x 1 x 1; it must be 64 x 512"},
        {"expert_count", 1, "llama.expert_used_count is 2; allowed is 1"},
        {"expert_used_count", 0, "llama.expert_used_count is 0; allowed is 1 to 4"},
        {"expert_used_count", 5, "llama.expert_used_count is 5; allowed is 1 to 4"},
        {"expert_used_count", INT64_MIN, "llama.expert_used_count"},
        {"expert_used_count", NONE, "llama.expert_used_count is missing; architecture llama needs it"},
    };
    struct tiny many = MIXTURE;
    for (size_t i = 0; i < COUNT_OF(bad); i++) refuse(with_key(MIXTURE, bad[i].key, bad[i].value), bad[i].word);
    many.experts = 40;
    refuse(with_key(many, "expert_used_count", 33), "expert_used_count is 33; allowed is 1 to 32");
    refuse(with_key(of_arch("qwen3moe"), "expert_count", NONE), "qwen3moe.expert_count is missing");
    refuse(with_key(of_arch("qwen3moe"), "expert_count", 0), "qwen3moe.expert_count is 0; allowed is 1 to 512");
    refuse(with_key(of_arch("qwen3moe"), "expert_feed_forward_length", NONE),
           "qwen3moe.expert_feed_forward_length is missing");
    refuse(with_key(of_arch("qwen3moe"), "expert_feed_forward_length", 1 << 21),
           "expert_feed_forward_length is 2097152");
    refuse(with_key(of_arch("qwen3"), "", 0), "qwen3.expert_count is 4: a mixture of experts is supported in");
    refuse(with_key(of_arch("gemma2"), "", 0), "gemma2.expert_count is 4");
}

TEST(the_width_of_a_shared_expert_is_held_to_what_there_is)
{
    static const struct { const char *key; int64_t value; const char *word; } bad[] = {
        {"expert_shared_feed_forward_length", NONE,
         "qwen35moe.expert_shared_feed_forward_length is missing; architecture qwen35moe needs it"},
        {"expert_shared_feed_forward_length", 0, "expert_shared_feed_forward_length is 0; allowed is 1 to 1048576"},
        {"expert_shared_feed_forward_length", 1 << 21, "is 2097152; allowed is 1 to 1048576"},
        {"expert_shared_feed_forward_length", INT64_MIN, "qwen35moe.expert_shared_feed_forward_length"},
        {"expert_shared_feed_forward_length", 41, "blk.0.ffn_gate_shexp.weight is 64 x 40 x 1 x 1; it must be 64 x 41"},
        {"expert_shared_count", 0, "qwen35moe.expert_shared_count is 0; allowed is 1"},
        {"expert_shared_count", 2, "qwen35moe.expert_shared_count is 2; allowed is 1"},
        {"expert_count", 0, "qwen35moe.expert_count is 0; allowed is 1 to 512"},
        {"expert_count", NONE, "qwen35moe.expert_count is missing"},
        {"leading_dense_block_count", 1, "qwen35moe.leading_dense_block_count is 1; allowed is 0"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) refuse(with_key(SHARED, bad[i].key, bad[i].value), bad[i].word);
    struct tiny none = SHARED;
    none.shared = 0;
    refuse(with_key(none, "expert_shared_feed_forward_length", 40), "blk.0.ffn_gate_inp_shexp.weight is missing");
    struct tiny other = of_arch("qwen3moe");
    other.shared = 40;
    refuse(with_key(other, "", 0), "qwen3moe.expert_shared_feed_forward_length is 40; allowed is 0");
    refuse(with_key(other, "expert_shared_feed_forward_length", 0),
           "blk.0.ffn_gate_inp_shexp.weight is not part of architecture qwen3moe");
}

TEST(experts_are_whole_groups_of_rows)
{
    struct tiny t = MIXTURE;
    t.ff = 48;
    refuse(tiny_file(&t, NULL, "ff.gguf"),
           "experts of 48 (key llama.feed_forward_length) on a width of 64: multiples of 32");
    t.arch = "qwen3moe";
    refuse(tiny_file(&t, NULL, "ff.gguf"), "key qwen3moe.expert_feed_forward_length");
    t.ff = 32;
    t.embd = 80;
    refuse(tiny_file(&t, NULL, "embd.gguf"), "on a width of 80: multiples of 32 are supported");
}

/* Keys of mixtures that are computed otherwise; their usual values are no news. */
TEST(mixtures_that_choose_otherwise_are_refused_by_their_keys)
{
    static const struct { const char *suffix; int same, other; } way[] = {
        {"expert_gating_func", 1, 2}, {"expert_group_count", 1, 8}, {"expert_group_used_count", 1, 4},
        {"expert_shared_count", 0, 1}, {"expert_shared_feed_forward_length", 0, 512},
        {"leading_dense_block_count", 0, 1}};
    struct tiny t = MIXTURE;
    struct gguf_make m;
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        struct err err = {0};
        struct model model;
        refuse(with_key(t, way[i].suffix, way[i].other), way[i].suffix);
        struct gguf *g = gguf_open(with_key(t, way[i].suffix, way[i].same), &err);
        CHECK_EQ(model_plan(&model, g, TINY_VOCAB, kern_ref(), &err), 0);
        model_free(&model);
        gguf_close(g);
    }
    for (int i = 0; i < 2; i++) {
        gguf_make_begin(&m);
        tiny_keys(&m, &t);
        if (i) gguf_make_f32(&m, "llama.expert_weights_scale", 2.5f);
        else gguf_make_bool(&m, "llama.expert_weights_norm", false);
        tiny_vocab(&m, NULL);
        tiny_tensors(&m, &t);
        refuse(gguf_make_file(&m, "way.gguf"), i ? "llama.expert_weights_scale is 2.5; allowed is 1"
                                                 : "llama.expert_weights_norm is false");
    }
}

/* Of qwen2moe the other way round. */
TEST(weights_that_are_parts_of_all_experts_are_qwen2moe_s_alone)
{
    for (int norm = 0; norm < 3; norm++) { /* 2: the file does not say */
        struct tiny t = of_arch("qwen2moe");
        struct gguf_make m;
        struct model model;
        struct err err = {0};
        t.shared = 96;
        gguf_make_begin(&m);
        tiny_keys(&m, &t);
        if (norm < 2) gguf_make_bool(&m, "qwen2moe.expert_weights_norm", norm);
        tiny_vocab(&m, NULL);
        tiny_tensors(&m, &t);
        const char *path = gguf_make_file(&m, "norm.gguf");
        if (norm == 1) refuse(path, "expert_weights_norm is true; weights of the chosen experts that are parts of all");
        if (norm == 1) continue;
        struct gguf *g = gguf_open(path, &err);
        CHECK_EQ(model_plan(&model, g, TINY_VOCAB, kern_ref(), &err), 0);
        CHECK(model.layer[1].mix.of_all && model.layer[1].shared.gate.rows == 96);
        CHECK_EQ(model.parameters - model.active, 2 * 2 * 3 * 64 * 32);
        model_free(&model);
        gguf_close(g);
    }
    struct tiny t = of_arch("qwen2moe");
    refuse(tiny_file(&t, NULL, "none.gguf"), "qwen2moe.expert_shared_feed_forward_length is missing");
}

TEST(mixtures_of_old_converters_are_told_what_they_are)
{
    struct tiny t = MIXTURE;
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    gguf_make_tensor(&m, "blk.0.ffn_gate.0.weight", KT_F32, 2, (int64_t[]){64, 32}, NULL);
    refuse(gguf_make_file(&m, "old.gguf"), "blk.0.ffn_gate.0.weight is one expert's");
}

/* The file's bytes where a tensor's info has its name. */
static char *info_of(struct buf *file, const char *name)
{
    char *at = memmem(file->data, file->len, name, strlen(name));
    CHECK(at != NULL);
    return at;
}

static struct buf bytes_of(const struct tiny *t)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, t);
    return gguf_make_bytes(&m);
}

TEST(tensors_of_a_mixture_are_all_there_and_in_their_shapes)
{
    static const char *const name[] = {"blk.1.ffn_gate_inp.weight", "blk.1.ffn_gate_exps.weight",
                                       "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"};
    static const int64_t shape[][4][3] = {
        {{4, 64, 1}, {128, 2, 1}, {32, 8, 1}, {2, 128, 1}},
        {{32, 64, 4}, {64, 4, 32}, {64, 128, 1}, {32, 32, 8}},
        {{32, 64, 4}, {64, 4, 32}, {64, 16, 8}, {128, 32, 2}},
        {{64, 32, 4}, {32, 4, 64}, {32, 256, 1}, {32, 64, 3}}, /* the last in the file: it may be shorter */
    };
    struct tiny t = MIXTURE;
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        struct buf file = bytes_of(&t);
        char *at = info_of(&file, name[i]), word[128];
        const size_t dims = strlen(name[i]) + 4; /* their number is before them */
        at[6] = 'x';
        snprintf(word, sizeof word, "%s is missing", name[i]);
        refuse(gguf_make_write("bent.gguf", file.data, file.len), word);
        at[6] = 'f';
        for (int k = 0; k < 4; k++) {
            const int64_t *s = shape[i][k];
            memcpy(at + dims, s, (i ? 3 : 2) * sizeof *s);
            snprintf(word, sizeof word, "%s is %lld x %lld x %lld x 1; it must be %s", name[i], (long long)s[0],
                     (long long)s[1], (long long)s[2], i == 0 ? "64 x 4" : i == 3 ? "32 x 64 x 4" : "64 x 32 x 4");
            refuse(gguf_make_write("bent.gguf", file.data, file.len), word);
        }
        buf_free(&file);
    }
}

TEST(tensors_of_a_shared_expert_are_all_there_and_in_their_shapes)
{
    static const struct { const char *name, *must; int dims; int64_t other[3][2]; } part[] = {
        {"blk.3.ffn_gate_inp_shexp.weight", "64 x 1", 1, {{60}, {63}, {0}}}, /* as many bytes, or the file ends early */
        {"blk.3.ffn_gate_shexp.weight", "64 x 40", 2, {{40, 64}, {80, 32}, {2560, 1}}},
        {"blk.3.ffn_up_shexp.weight", "64 x 40", 2, {{40, 64}, {32, 80}, {1, 2560}}},
        {"blk.3.ffn_down_shexp.weight", "40 x 64", 2, {{64, 40}, {80, 32}, {20, 128}}},
    };
    const struct tiny t = SHARED;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct buf file = bytes_of(&t);
        char *at = info_of(&file, part[i].name), word[128];
        const size_t dims = strlen(part[i].name) + 4; /* their number is before them */
        at[6] = 'x';
        snprintf(word, sizeof word, "%s is missing; architecture qwen35moe needs it", part[i].name);
        refuse(gguf_make_write("bent.gguf", file.data, file.len), word);
        at[6] = 'f';
        for (int k = 0; k < 3 && part[i].other[k][0]; k++) {
            const int64_t *s = part[i].other[k];
            memcpy(at + dims, s, (size_t)part[i].dims * sizeof *s);
            snprintf(word, sizeof word, "%s is %lld x %lld x 1 x 1; it must be %s", part[i].name, (long long)s[0],
                     part[i].dims > 1 ? (long long)s[1] : 1, part[i].must);
            refuse(gguf_make_write("bent.gguf", file.data, file.len), word);
        }
        buf_free(&file);
    }
}

TEST(a_shared_expert_is_of_its_own_width_and_computes_each_token)
{
    const struct tiny t = SHARED;
    struct err err = {0};
    struct model m;
    struct gguf *g = gguf_open(tiny_file(&t, NULL, "sizes.gguf"), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), 0);
    CHECK(m.experts == 4 && m.used == 2 && m.ff == 32 && m.shared == 40);
    CHECK_EQ(m.parameters - m.active, 4 * 2 * 3 * 64 * 32);
    const uint64_t parameters = m.parameters;
    for (int i = 0; i < 4; i++) {
        const struct kern_shared *s = &m.layer[i].shared;
        CHECK(s->gate.rows == 40 && s->up.rows == 40 && s->gate.cols == 64 && s->up.cols == 64);
        CHECK(s->down.rows == 64 && s->down.cols == 40);
    }
    model_free(&m);
    gguf_close(g);
    struct tiny alone = t;
    alone.shared = 72;
    g = gguf_open(tiny_file(&alone, NULL, "wider.gguf"), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), 0);
    CHECK_EQ(m.parameters - parameters, 4 * 3 * 64 * 32);
    model_free(&m);
    gguf_close(g);
}

/* All three dimensions count, and of what a token is computed with the chosen experts alone. */
TEST(parameters_of_a_mixture_are_those_of_all_experts)
{
    for (int i = 0; i < 2; i++) {
        struct tiny t = of_arch(i ? "qwen3moe" : "llama");
        struct err err = {0};
        struct model m;
        struct gguf *g = gguf_open(tiny_file(&t, NULL, "sizes.gguf"), &err);
        CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_ref(), &err), 0);
        const uint64_t expert = 3 * 64 * 32, norms = i ? 2 * 16 : 0;
        const uint64_t rest = 2 * TINY_VOCAB * 64 + 64 + 2 * (2 * 64 + norms + 64 * 64 * 2 + 2 * 64 * 32 + 4 * 64);
        CHECK_EQ(m.parameters, rest + 2 * 4 * expert);
        CHECK_EQ(m.active, rest + 2 * 2 * expert);
        CHECK(m.experts == 4 && m.used == 2 && m.ff == 32);
        CHECK(m.layer[1].mix.n == 4 && m.layer[1].mix.used == 2 && m.layer[1].mix.router.rows == 4);
        CHECK(m.layer[1].up.rows == 4 * 32 && m.layer[1].down.rows == 4 * 64 && m.layer[1].down.cols == 32);
        model_free(&m);
        gguf_close(g);
    }
}

CHECK_MAIN
