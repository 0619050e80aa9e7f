/* isa_avx512.c - the kernels with AVX-512 and VNNI.  Compiled with those instructions on; elsewhere it says NULL. */
#include "kernels/cpu/isa.h"

#if ISA_EMULATED || (defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__) && defined(__FMA__) && defined(__F16C__))
#include "kernels/cpu/simd_avx512.h"

/* 32 registers: 2 vectors (all 32 rows) and up to 6 tokens leave room for weights; 7 and 8 spill the float sums,
 * which costs no more than reading the weights more often.  But for Q4_K, with two scales a run beside them: there one
 * vector is faster from 5 tokens on. */
enum { NV_SPLIT = 1, EVEN_IN_MEMORY = true, K6_IN_ORDER = true };
#define NV_OF(type, T) 2
#define SPLITS(type, T, bytes) ((type) == KT_Q4_K && (T) >= 5)
#define STEPS_TOGETHER(form) 1
#include "kernels/cpu/mul.h"
#include "kernels/cpu/mul_k.h"
#include "kernels/cpu/mul_strip.h"
#include "kernels/cpu/mul_shared.h"
#include "kernels/cpu/mul_table.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/attend.h"
#include "kernels/cpu/attend_tile.h"

MUL_ALL(1)
MUL_ALL(2)
MUL_ALL(3)
MUL_ALL(4)
MUL_ALL(5)
MUL_ALL(6)
MUL_ALL(7)
MUL_ALL(8)
SHARED_ALL
MUL_SHARED_8
OPEN_ALL
MUL_OPENED(4)
MUL_OPENED(5)
MUL_OPENED(6)
MUL_OPENED(7)
MUL_OPENED(8)

const struct cpu_isa *isa_avx512(void)
{
    static const struct cpu_isa isa = {
        .name = "avx512",
        .said = "avx512 (VNNI)",
        .int_name = "avx512 vnni int8",
        .float_name = "avx512 fp32 fma",
        .tile = 8,
        .row_costs = {5, 5, 5, 5, 5, 5, 5},
        .in_order = {IN_ORDER(4)},
        .mul = {MUL_ROW(1), MUL_ROW(2), MUL_ROW(3), MUL_ROW(4), MUL_ROW(5), MUL_ROW(6), MUL_ROW(7), MUL_ROW(8)},
        .opener = {OPENER(Q4_0, 3), OPENER(Q4_1, 3), OPENER(Q5_0, 3), OPENER(Q5_1, 3), OPENER(MXFP4, 3),
                   OPENER(Q4_K, 2), OPENER(Q5_K, 2), OPENER(Q6_K, 2), SHARERS},
        .mul_open = {OPENED_ROW(4), OPENED_ROW(5), OPENED_ROW(6), OPENED_ROW(7), OPENED_ROW(8), SHARED_OPENED_8},
        ROW_FUNCTIONS,
    };
    return &isa;
}
#else
const struct cpu_isa *isa_avx512(void)
{
    return NULL;
}
#endif
