/* isa_avx2.c - the kernels with AVX2, FMA and F16C.  Compiled with those instructions on; elsewhere it says NULL. */
#include "kernels/cpu/isa.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "kernels/cpu/simd_avx2.h"

/* 16 registers: alone, a token takes all 32 rows in one pass; a tile of up to 4 tokens takes 16 rows at a time. */
enum { NV_ALONE = 4, NV_TILE = 2, Q4_K_SPLIT = 9, EVEN_IN_MEMORY = false, K6_IN_ORDER = false,
       SCORE_VECS = 2, VALUE_VECS = 2 };
#include "kernels/cpu/mul.h"
#include "kernels/cpu/mul_table.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/attend.h"

MUL_ALL(1)
MUL_ALL(2)
MUL_ALL(3)
MUL_ALL(4)

const struct cpu_isa *isa_avx2(void)
{
    static const struct cpu_isa isa = {
        .name = "avx2",
        .said = "avx2 (FMA, F16C)",
        .int_name = "avx2 int8",
        .float_name = "avx2 fp32 fma",
        .tile = 4,
        .in_order = {IN_ORDER(1)},
        .mul = {MUL_ROW(1), MUL_ROW(2), MUL_ROW(3), MUL_ROW(4)},
        ROW_FUNCTIONS,
    };
    return &isa;
}
#else
const struct cpu_isa *isa_avx2(void)
{
    return NULL;
}
#endif
