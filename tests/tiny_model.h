/* tiny_model.h - GGUF files of a few kilobytes for tests: a byte vocabulary with ChatML's marks, and random models on
 * it. */
#ifndef TINY_MODEL_H
#define TINY_MODEL_H
#include "tests/gguf_make.h"

/* ids: 0 <unk>, 1 <s>, 2 </s>, 3 .. 258 the bytes, 259 U+2581 (space), 260 <|im_start|>, 261 <|im_end|> */
enum { TINY_BYTE0 = 3, TINY_SPACE = 259, TINY_IM_END = 261, TINY_VOCAB = 262 };
void tiny_vocab(struct gguf_make *m, const char *chat_template); /* NULL: no template */

struct tiny {
    const char *arch; /* "llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "qwen3next", "lfm2",
                         "phi3", "gpt-oss", "granite", "granitemoe", "mistral3", "olmo2", "gemma2" or "gemma3" */
    int layers, embd, heads, kv_heads, ff;
    enum ktype type;  /* of all matrices: any usable one; embd, heads' dims and ff are a whole number of its blocks */
    bool tied;
    uint32_t seed;
    int window;       /* attention.sliding_window; 0: no such key */
    int experts, used; /* of a mixture; ff is one expert's.  0: none */
    float scales[4];   /* granite's: embedding_scale, residual_scale, attention.scale, logit_scale; 0: no such key */
    float temper;      /* mistral3's attention.temperature_scale, from TINY_TEMPER positions on; 0: no such key */
    int shared;        /* width of the expert beside them that all tokens go through; 0: none */
};
/* Of qwen35, qwen35moe and qwen3next, whose every fourth layer has attention, the others: */
enum { TINY_KEYS = 2, TINY_VALUES = 4, TINY_STATE = 16, TINY_TAPS = 4 };
/* Of lfm2, whose every third layer has attention, the others: */
enum { TINY_CACHE = 3 };
enum { TINY_TEMPER = 24 };
#define TINY_LLAMA                                                                                        \
    ((struct tiny){.arch = "llama", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,         \
                   .type = KT_F32, .seed = 1})

void tiny_keys(struct gguf_make *m, const struct tiny *t);    /* architecture and sizes */
void tiny_tensors(struct gguf_make *m, const struct tiny *t); /* all weights, random */
const char *tiny_file(const struct tiny *t, const char *chat_template, const char *name);

/* A file with this text, in the test's folder. */
const char *tiny_text_file(const char *name, const char *text);

/* The tests' random numbers: the same everywhere. */
uint32_t tiny_random(uint32_t *state);
int tiny_below(uint32_t *state, int n); /* 0 .. n - 1 */
#endif
