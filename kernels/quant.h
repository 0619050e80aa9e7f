/* quant.h - the tensor types of GGUF files: their block sizes, and what a block means.
 *
 * Numbers, block sizes and bit layouts are those of the ggml project's GGUF files (each layout is drawn where it is
 * decoded, in quant.c).
 * All types that exist have a name and a size here, so that a file can be checked and a refusal can say
 * what it found; `usable` marks the ones that this build computes with.  Pure functions: any thread. */
#ifndef QUANT_H
#define QUANT_H
#ifdef __cplusplus /* the .cu files: plimsoll.h is C */
#include <stdint.h>
#else
#include "plimsoll.h"
#endif

enum ktype {
    KT_F32 = 0, KT_F16 = 1, KT_Q4_0 = 2, KT_Q4_1 = 3, KT_Q5_0 = 6, KT_Q5_1 = 7, KT_Q8_0 = 8, KT_Q8_1 = 9,
    KT_Q2_K = 10, KT_Q3_K = 11, KT_Q4_K = 12, KT_Q5_K = 13, KT_Q6_K = 14, KT_Q8_K = 15,
    KT_IQ2_XXS = 16, KT_IQ2_XS = 17, KT_IQ3_XXS = 18, KT_IQ1_S = 19, KT_IQ4_NL = 20, KT_IQ3_S = 21, KT_IQ2_S = 22,
    KT_IQ4_XS = 23,
    KT_I8 = 24, KT_I16 = 25, KT_I32 = 26, KT_I64 = 27, KT_F64 = 28, KT_IQ1_M = 29, KT_BF16 = 30,
    KT_TQ1_0 = 34, KT_TQ2_0 = 35, KT_MXFP4 = 39, KT_NVFP4 = 40, KT_Q1_0 = 41, KT_Q2_0 = 42,
    KT_END = 43
};

struct ktype_info {
    const char *name; /* "Q4_K" */
    int block;        /* values a block */
    int bytes;        /* bytes a block */
    bool usable;      /* F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 */
};

/* NULL: no such type (removed numbers included). */
const struct ktype_info *ktype_info(uint32_t type);

/* n values (a whole number of blocks) of a usable type, from the file's bytes to float.  src needs no alignment. */
void quant_decode(enum ktype type, const void *src, float *dst, int64_t n);

/* Half and brain floats, bit by bit. */
float quant_f16(uint16_t h);
uint16_t quant_to_f16(float f); /* round to nearest even; overflow gives infinity */
float quant_bf16(uint16_t h);
float quant_e8m0(uint8_t e); /* 2^(e - 127); 255: NaN */

/* Activations: 32 floats to 32 signed bytes and a scale, x[i] ~ q[i] * scale; scale = max|x| / 127, q rounded to
 * nearest even.  A block of nothing but zeros (or less than 2^-100) has scale 0; one with a NaN or an infinity has
 * scale NaN and q 0, so that the fault shows in the row's result.  The one definition that every CPU kernel shares, so
 * that all see the same integers. */
float quant_act32(const float *x, int8_t *q);

/* 32 floats to a block of Q8_0 (34 bytes): those integers, and that scale rounded to half. */
void quant_to_q8_0(const float *x, uint8_t *block);
#endif
