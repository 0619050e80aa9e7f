/* isa_avxvnni.c - the kernels with AVX2, FMA, F16C and AVX-VNNI.  Compiled with those instructions on; elsewhere it
 * says NULL. */
#include "kernels/cpu/isa.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && (defined(__AVXVNNI__) || ISA_EMULATED)
#include "kernels/cpu/simd_avxvnni.h"

/* 16 registers: alone, a token takes all 32 rows in one pass; a tile takes 8 rows at a time, since with 6 tokens the
 * integer sums and float sums of more would not stay in registers.  7 and 8 spill, and still beat reading the weights
 * twice. */
enum { NV_SPLIT = 1, EVEN_IN_MEMORY = false, K6_IN_ORDER = false };
#define NV_OF(type, T) ((T) == 1 ? 4 : 1)
#define SPLITS(type, T, bytes) false
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
MUL_OPENED(5)
MUL_OPENED(6)
MUL_OPENED(7)
MUL_OPENED(8)

const struct cpu_isa *isa_avxvnni(void)
{
    static const struct cpu_isa isa = {
        .name = "avxvnni",
        .said = "avxvnni (AVX2, FMA, F16C, VNNI)",
        .int_name = "avx vnni int8",
        .float_name = "avx2 fp32 fma",
        .tile = 8,
        .row_costs = {6, 8, 12, 15, 14, 14, 12}, /* reckoned: half of what AVX2 takes, whose products are twice as long */
        .in_order = {IN_ORDER(1)},
        .mul = {MUL_ROW(1), MUL_ROW(2), MUL_ROW(3), MUL_ROW(4), MUL_ROW(5), MUL_ROW(6), MUL_ROW(7), MUL_ROW(8)},
        .opener = {OPENER(Q4_0, 3), OPENER(Q4_1, 3), OPENER(Q5_0, 3), OPENER(Q5_1, 3), OPENER(MXFP4, 3),
                   OPENER(Q4_K, 3), OPENER(Q5_K, 3), OPENER(Q6_K, 3), SHARERS},
        .mul_open = {OPENED_ROW(5), OPENED_ROW(6), OPENED_ROW(7), OPENED_ROW(8), SHARED_OPENED_8},
        ROW_FUNCTIONS,
    };
    return &isa;
}
#else
const struct cpu_isa *isa_avxvnni(void)
{
    return NULL;
}
#endif
