/* plan_shape.h - the sizes of well-known models that are not here as files.
 *
 * From a shape a GGUF header is made, as a converter would write it, in a file of memory that has no weights (a hole of
 * their size).  The engine reads it like any other, so what it says of a shape it says by the same functions.  Weights,
 * pages and workspace follow from the shape exactly.  The tokenizer does not: one of its size is made up, with as many
 * tokens and merges, and as long ones, as the real one has (measured where we had it, else as those of its kind); so
 * text and tables are near, not exact.
 *
 * Sizes are those of each model's config.json; `parameters` is the count that its publisher's files have (a tied matrix
 * that is in them twice counts once), and a test adds the shape up to the same number.  Owner: whoever opens a header
 * closes its descriptor.  Threads: any. */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H
#include "kernels/quant.h"
#include "plimsoll.h"

enum plan_words { WORDS_SPM, WORDS_LLAMA3, WORDS_QWEN2, WORDS_TEKKEN, WORDS_SMOLLM, WORDS_FALCON3 };

struct plan_shape {
    const char *name; /* "llama3.1-8b" */
    const char *arch; /* as GGUF calls it; NULL: plimsoll does not run it, and... */
    const char *why;  /* ... this is why */
    int layers, embd, heads, kv_heads, head_dim, ff, vocab;
    int ctx;          /* that it was trained for */
    int window;       /* of every layer, or of those that the architecture says; 0: none */
    bool tied;        /* the embedding is the output matrix too */
    enum plan_words words;
    uint64_t parameters;
    int experts, used; /* of a mixture; ff is one expert's.  0: none */
    int shared;        /* width of the expert beside them that all tokens go through; 0: none */
    struct plan_states {
        int keys, values, dim, taps; /* of the layers but every fourth; 0: all have attention */
        int rotated;                 /* of a head's dimensions, in those that have it */
        uint64_t attention;          /* keys 0 and taps > 0: bit i: layer i has it, and no short convolution */
    } states;
};

extern const struct plan_shape plan_shapes[];
extern const int plan_shapes_n;

/* NULL: err says which are near, or why that one cannot be run (then its code is PLAN_NOT_RUN). */
enum { PLAN_NOT_RUN = -7 };
const struct plan_shape *plan_shape_find(const char *name, struct err *err);

/* What types a shape's matrices are of.  Five names are llama.cpp's mixes, as its quantizer makes them without a
 * matrix of importance: Q6_K for the output matrix, more bits than the name says for attn_v, what stands for it in a
 * layer that keeps a state, and ffn_down (plan_header.c), and still more for the attention of 8 experts.  "mxfp4" is
 * how gpt-oss is published: experts in it, all else in Q8_0; any other is one type for all matrices.  What chooses
 * experts is F32.  A matrix whose columns are no whole number of a type's blocks gets what llama.cpp gives it
 * instead: Q8_0 for Q6_K, Q5_1 for Q5_K, Q5_0 for Q4_K, Q4_0 for Q3_K and Q2_K, IQ4_NL for IQ4_XS.  Vectors are F32. */
enum plan_how { PLAN_ONE, PLAN_Q4_K_M, PLAN_Q3_K_M, PLAN_Q2_K, PLAN_IQ4 }; /* IQ4_NL and IQ4_XS */
struct plan_mix {
    enum ktype type; /* of most */
    enum plan_how how;
};
#define PLAN_MIXES                                                                                                     \
    "f32, f16, bf16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_k_m, q4_1, q4_0, iq4_nl, iq4_xs, q3_k, q3_k_m, q2_k, mxfp4"
int plan_mix_find(const char *name, struct plan_mix *out); /* -1: none of these */

/* The name of a shape's usual one. */
const char *plan_mix_usual(const struct plan_shape *s);

/* The header: *fd is open on it, and path (of this process) leads to it.  0, or -1. */
enum { PLAN_PATH = 40 };
int plan_header(const struct plan_shape *s, struct plan_mix mix, int *fd, char path[PLAN_PATH], struct err *err);
#endif
