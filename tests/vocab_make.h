/* vocab_make.h - small vocabularies for tests and the fuzzer: a GGUF file in memory, whole or broken on purpose.
 *
 *     struct vocab_make m;
 *     vocab_make_bpe(&m, "qwen2");
 *     vocab_make_add(&m, "<|im_start|>", VOCAB_CONTROL, 0);
 *     vocab_make_merge(&m, "a", "b");                          (adds the token "ab" too)
 *     struct buf file = vocab_make_bytes(&m);                  (the caller owns it, and m's strings until then)
 *
 * Header only, and without the test harness: a fuzz target is linked to neither.  Shares no code with the loader. */
#ifndef VOCAB_MAKE_H
#define VOCAB_MAKE_H
#include "engine/vocab.h"

enum { VOCAB_MAKE_TOKENS = 800, VOCAB_MAKE_MERGES = 400, VOCAB_MAKE_ABSENT = -1000000 };

struct vocab_make {
    const char *model, *pre, *chat;               /* NULL: no such key */
    struct { const char *s; size_t n; int32_t type; float score; } token[VOCAB_MAKE_TOKENS];
    int n;
    struct gguf_str merge[VOCAB_MAKE_MERGES];
    int n_merges;
    int64_t bos, eos, unknown, eot, eom;          /* VOCAB_MAKE_ABSENT: no such key */
    int add_bos, add_space_prefix;                /* -1: no such key */
    int64_t n_types, n_scores;                    /* -1: as many as tokens; VOCAB_MAKE_ABSENT: no such key */
    enum gguf_type tokens_of, types_of, scores_of, merges_of; /* element types of the arrays */
    bool no_tokens, no_merges;
    struct buf text;                              /* what vocab_make_merge() and the byte tokens made */
    size_t used;
};

static inline void vocab_make_begin(struct vocab_make *m, const char *model)
{
    *m = (struct vocab_make){
        .model = model,
        .bos = VOCAB_MAKE_ABSENT, .eos = VOCAB_MAKE_ABSENT, .unknown = VOCAB_MAKE_ABSENT,
        .eot = VOCAB_MAKE_ABSENT, .eom = VOCAB_MAKE_ABSENT,
        .add_bos = -1, .add_space_prefix = -1, .n_types = -1, .n_scores = -1,
        .tokens_of = GGUF_STR, .types_of = GGUF_I32, .scores_of = GGUF_F32, .merges_of = GGUF_STR,
    };
}

/* A token; its id.  s has to live as long as m. */
static inline int vocab_make_put(struct vocab_make *m, const char *s, size_t n, int32_t type, float score)
{
    assert(m->n < VOCAB_MAKE_TOKENS);
    m->token[m->n].s = s;
    m->token[m->n].n = n;
    m->token[m->n].type = type;
    m->token[m->n].score = score;
    return m->n++;
}

static inline int vocab_make_add(struct vocab_make *m, const char *s, int32_t type, float score)
{
    return vocab_make_put(m, s, strlen(s), type, score);
}

/* A copy of n bytes that lives until vocab_make_bytes(). */
static inline const char *vocab_make_keep(struct vocab_make *m, const char *s, size_t n)
{
    enum { BLOCK = 1 << 16 };
    if (!m->text.data) {
        m->text.data = malloc(BLOCK);
        m->text.cap = BLOCK;
    }
    assert(m->text.data && m->used + n + 1 <= BLOCK);
    char *at = m->text.data + m->used;
    if (n > 0) memcpy(at, s, n);
    at[n] = '\0';
    m->used += n + 1;
    return at;
}

/* How byte-level BPE spells a byte: counted, not computed, so that it is no copy of the loader's formula. */
static inline const char *vocab_make_spell(struct vocab_make *m, int byte)
{
    unsigned next = 256, c = 0;
    for (int b = 0; b <= byte; b++) {
        bool shown = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        c = shown ? (unsigned)b : next++;
    }
    char utf8[2] = {(char)(c < 0x80 ? c : 0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
    return vocab_make_keep(m, utf8, c < 0x80 ? 1 : 2);
}

static inline void vocab_make_merge_raw(struct vocab_make *m, const char *s, size_t n)
{
    assert(m->n_merges < VOCAB_MAKE_MERGES);
    m->merge[m->n_merges++] = (struct gguf_str){s, n};
}

/* A merge of two spellings, and the token that it makes.  Its id. */
static inline int vocab_make_merge(struct vocab_make *m, const char *left, const char *right)
{
    char both[256];
    int n = snprintf(both, sizeof both, "%s %s", left, right);
    vocab_make_merge_raw(m, vocab_make_keep(m, both, (size_t)n), (size_t)n);
    n = snprintf(both, sizeof both, "%s%s", left, right);
    return vocab_make_put(m, vocab_make_keep(m, both, (size_t)n), (size_t)n, VOCAB_NORMAL, 0);
}

/* Ids 0..255 are the bytes. */
static inline void vocab_make_bpe(struct vocab_make *m, const char *pre)
{
    vocab_make_begin(m, "gpt2");
    m->pre = pre;
    m->n_scores = VOCAB_MAKE_ABSENT;
    for (int b = 0; b < 256; b++) vocab_make_add(m, vocab_make_spell(m, b), VOCAB_NORMAL, 0);
}

/* Ids 0..2 are <unk> <s> </s>, 3..258 the bytes. */
static inline void vocab_make_spm(struct vocab_make *m)
{
    vocab_make_begin(m, "llama");
    m->no_merges = true;
    m->unknown = vocab_make_add(m, "<unk>", VOCAB_UNKNOWN, 0);
    m->bos = vocab_make_add(m, "<s>", VOCAB_CONTROL, 0);
    m->eos = vocab_make_add(m, "</s>", VOCAB_CONTROL, 0);
    for (int b = 0; b < 256; b++) {
        char s[8];
        int n = snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        vocab_make_add(m, vocab_make_keep(m, s, (size_t)n), VOCAB_BYTE, 0);
    }
}

/* ---------------------------------------------------------------- the file */

static inline void vocab_make_int(struct buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) buf_put(b, &(uint8_t){(uint8_t)v}, 1);
}

static inline void vocab_make_str(struct buf *b, const char *s, size_t n)
{
    vocab_make_int(b, n, 8);
    buf_put(b, s, n);
}

static inline void vocab_make_key(struct buf *b, uint64_t *count, const char *key, enum gguf_type type)
{
    vocab_make_str(b, key, strlen(key));
    vocab_make_int(b, (uint64_t)type, 4);
    ++*count;
}

static inline void vocab_make_array(struct buf *b, uint64_t *count, const char *key, enum gguf_type element, uint64_t n)
{
    vocab_make_key(b, count, key, GGUF_ARRAY);
    vocab_make_int(b, (uint64_t)element, 4);
    vocab_make_int(b, n, 8);
}

static inline void vocab_make_text_key(struct buf *b, uint64_t *count, const char *key, const char *s)
{
    if (!s) return;
    vocab_make_key(b, count, key, GGUF_STR);
    vocab_make_str(b, s, strlen(s));
}

static inline void vocab_make_id_key(struct buf *b, uint64_t *count, const char *key, int64_t id)
{
    if (id == VOCAB_MAKE_ABSENT) return;
    vocab_make_key(b, count, key, id < 0 ? GGUF_I32 : GGUF_U32);
    vocab_make_int(b, (uint64_t)id, 4);
}

static inline void vocab_make_bool_key(struct buf *b, uint64_t *count, const char *key, int value)
{
    if (value < 0) return;
    vocab_make_key(b, count, key, GGUF_BOOL);
    vocab_make_int(b, (uint64_t)value, 1);
}

/* Strings, or in a file that lies about their type one byte for each. */
static inline void vocab_make_strings(struct buf *b, uint64_t *count, const char *key, enum gguf_type element,
                                      const struct vocab_make *m, bool merges)
{
    int n = merges ? m->n_merges : m->n;
    vocab_make_array(b, count, key, element, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        if (element != GGUF_STR) vocab_make_int(b, 1, 1);
        else if (merges) vocab_make_str(b, m->merge[i].data, m->merge[i].len);
        else vocab_make_str(b, m->token[i].s, m->token[i].n);
    }
}

static inline void vocab_make_numbers(struct buf *b, uint64_t *count, const struct vocab_make *m)
{
    if (m->n_types != VOCAB_MAKE_ABSENT) {
        int64_t n = m->n_types < 0 ? m->n : m->n_types;
        vocab_make_array(b, count, "tokenizer.ggml.token_type", m->types_of, (uint64_t)n);
        for (int64_t i = 0; i < n; i++)
            vocab_make_int(b, (uint64_t)(i < m->n ? m->token[i].type : 1),
                           m->types_of == GGUF_I32 || m->types_of == GGUF_U32 ? 4 : 1);
    }
    if (m->n_scores != VOCAB_MAKE_ABSENT) {
        int64_t n = m->n_scores < 0 ? m->n : m->n_scores;
        vocab_make_array(b, count, "tokenizer.ggml.scores", m->scores_of, (uint64_t)n);
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = 0;
            if (i < m->n) memcpy(&bits, &m->token[i].score, sizeof bits);
            vocab_make_int(b, bits, m->scores_of == GGUF_F32 ? 4 : 1);
        }
    }
}

static inline struct buf vocab_make_bytes(struct vocab_make *m)
{
    struct buf keys = {0}, file = {0};
    uint64_t n = 0;
    vocab_make_text_key(&keys, &n, "general.architecture", "llama");
    vocab_make_text_key(&keys, &n, "tokenizer.ggml.model", m->model);
    vocab_make_text_key(&keys, &n, "tokenizer.ggml.pre", m->pre);
    vocab_make_text_key(&keys, &n, "tokenizer.chat_template", m->chat);
    if (!m->no_tokens) vocab_make_strings(&keys, &n, "tokenizer.ggml.tokens", m->tokens_of, m, false);
    if (!m->no_merges) vocab_make_strings(&keys, &n, "tokenizer.ggml.merges", m->merges_of, m, true);
    vocab_make_numbers(&keys, &n, m);
    vocab_make_id_key(&keys, &n, "tokenizer.ggml.bos_token_id", m->bos);
    vocab_make_id_key(&keys, &n, "tokenizer.ggml.eos_token_id", m->eos);
    vocab_make_id_key(&keys, &n, "tokenizer.ggml.unknown_token_id", m->unknown);
    vocab_make_id_key(&keys, &n, "tokenizer.ggml.eot_token_id", m->eot);
    vocab_make_id_key(&keys, &n, "tokenizer.ggml.eom_token_id", m->eom);
    vocab_make_bool_key(&keys, &n, "tokenizer.ggml.add_bos_token", m->add_bos);
    vocab_make_bool_key(&keys, &n, "tokenizer.ggml.add_space_prefix", m->add_space_prefix);
    buf_puts(&file, "GGUF");
    vocab_make_int(&file, 3, 4);
    vocab_make_int(&file, 0, 8);
    vocab_make_int(&file, n, 8);
    buf_put(&file, keys.data, keys.len);
    buf_free(&keys);
    buf_free(&m->text);
    m->used = 0;
    return file;
}
#endif
