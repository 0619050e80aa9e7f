/* shape.c - large random models in little time: matrices of as many columns are pieces of one random sheet. */
#include "tests/gpu/shape.h"
#include "tests/check.h"
#include "tests/rig.h"
#include "tests/tiny_model.h"

/* Rows that matrices take theirs from, each beginning some rows further on. */
struct sheet {
    uint8_t *file;
    int rows, cols, next;
    size_t row_bytes;
};

static struct sheet sheet_of(struct dice *d, enum ktype type, int rows, int cols)
{
    enum { MORE = 509 };
    struct sheet s = {.rows = rows + MORE, .cols = cols, .row_bytes = rig_file_bytes(type, 1, cols)};
    s.file = malloc((size_t)s.rows * s.row_bytes);
    CHECK(s.file);
    rig_weights(d, type, s.rows, cols, s.file);
    return s;
}

static void matrix(struct gguf_make *m, const char *name, enum ktype type, struct sheet *s, int rows)
{
    const int from = s->next % (s->rows - rows + 1);
    s->next += 37;
    gguf_make_tensor(m, name, type, 2, (int64_t[]){s->cols, rows}, s->file + (size_t)from * s->row_bytes);
}

static void norm(struct gguf_make *m, const char *name, struct dice *d, int n)
{
    float *v = malloc((size_t)n * sizeof *v);
    CHECK(v);
    for (int i = 0; i < n; i++) v[i] = 1 + dice_float(d, 0.1f);
    gguf_make_tensor(m, name, KT_F32, 1, (int64_t[]){n}, v);
    free(v);
}

/* Bytes as in tiny_model.h, then words that are nothing but numbered. */
static void vocab(struct gguf_make *m, int n)
{
    enum { WORD = 16 };
    char *text = malloc((size_t)n * WORD);
    const char **token = malloc((size_t)n * sizeof *token);
    float *score = calloc((size_t)n, sizeof *score);
    int32_t *type = malloc((size_t)n * sizeof *type);
    CHECK(text && token && score && type);
    for (int i = 0; i < n; i++) {
        const int byte = i - TINY_BYTE0;
        char *word = text + (size_t)i * WORD;
        if (byte >= 0 && byte < 256) snprintf(word, WORD, "<0x%02X>", (unsigned)byte);
        else snprintf(word, WORD, i < TINY_BYTE0 ? "<%d>" : "w%d", i);
        token[i] = word;
        type[i] = i == 0 ? 2 : i < TINY_BYTE0 ? 3 : byte < 256 ? 6 : 1;
    }
    gguf_make_str(m, "tokenizer.ggml.model", "llama");
    gguf_make_strs(m, "tokenizer.ggml.tokens", token, (uint64_t)n);
    gguf_make_f32s(m, "tokenizer.ggml.scores", score, (uint64_t)n);
    gguf_make_i32s(m, "tokenizer.ggml.token_type", type, (uint64_t)n);
    gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 1);
    gguf_make_u32(m, "tokenizer.ggml.eos_token_id", 2);
    free(text), free(token), free(score), free(type);
}

static void keys(struct gguf_make *m, const struct shape *s)
{
    gguf_make_str(m, "general.architecture", "llama");
    gguf_make_str(m, "general.name", "a real shape, random weights");
    gguf_make_u32(m, "llama.block_count", (uint32_t)s->layers);
    gguf_make_u32(m, "llama.context_length", 8192);
    gguf_make_u32(m, "llama.embedding_length", (uint32_t)s->embd);
    gguf_make_u32(m, "llama.feed_forward_length", (uint32_t)s->ff);
    gguf_make_u32(m, "llama.attention.head_count", (uint32_t)s->heads);
    gguf_make_u32(m, "llama.attention.head_count_kv", (uint32_t)s->kv_heads);
    gguf_make_f32(m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_make_f32(m, "llama.rope.freq_base", 500000.0f);
}

static void tensors(struct gguf_make *m, const struct shape *s)
{
    struct dice d = {1};
    struct sheet wide = sheet_of(&d, s->type, MAX(s->vocab, s->ff), s->embd);
    struct sheet tall = sheet_of(&d, s->type, s->embd, s->ff);
    const int kv = s->embd / s->heads * s->kv_heads;
    matrix(m, "token_embd.weight", s->type, &wide, s->vocab);
    norm(m, "output_norm.weight", &d, s->embd);
    for (int i = 0; i < s->layers; i++) {
        const struct { const char *name; int rows; } mats[] = {{"attn_q", s->embd}, {"attn_k", kv}, {"attn_v", kv},
                                                               {"attn_output", s->embd}, {"ffn_gate", s->ff},
                                                               {"ffn_up", s->ff}};
        char name[64];
        for (size_t j = 0; j < COUNT_OF(mats); j++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", i, mats[j].name);
            matrix(m, name, s->type, &wide, mats[j].rows);
        }
        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", i);
        matrix(m, name, s->type, &tall, s->embd);
        snprintf(name, sizeof name, "blk.%d.attn_norm.weight", i);
        norm(m, name, &d, s->embd);
        snprintf(name, sizeof name, "blk.%d.ffn_norm.weight", i);
        norm(m, name, &d, s->embd);
    }
    free(wide.file), free(tall.file);
}

const char *shape_file(const struct shape *s, const char *name)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    keys(&m, s);
    vocab(&m, s->vocab);
    tensors(&m, s);
    return gguf_make_file(&m, name);
}
