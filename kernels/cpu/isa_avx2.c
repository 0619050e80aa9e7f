/* isa_avx2.c - the kernels with AVX2, FMA and F16C.  Compiled with those instructions on; elsewhere it says NULL. */
#include "kernels/cpu/isa.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "kernels/cpu/simd_avx2.h"

/* 16 registers: alone, a token takes all 32 rows in one pass; a tile of up to 6 tokens takes 16 rows at a time, whose
 * sums of pairs are registers.  Q6_K's are spilled after every second step, so two steps go together and need none;
 * with 5 and 6 tokens it has registers for 8 rows.  Weights of 2 to 4 tokens that do not fit the first cache are gone
 * over block by block: strips would each read them out of the second.  A chunk of several tiles (CPU_CHUNK) fits.
 *
 * Of many tiles mul_swap.h has the faster products: by a sixth to a third where weights are dear to take apart, so from
 * two or three tiles on; by little for 4 bits, and not at all for Q4_1, Q5_1 and Q8_0. */
enum { NV_SPLIT = 2, EVEN_IN_MEMORY = false, K6_IN_ORDER = false, FITS = 18 * 1024 };
#define NV_OF(type, T) ((T) == 1 ? 4 : (type) == KT_Q6_K && (T) > 4 ? 1 : 2)
#define SPLITS(type, T, bytes) ((T) > 1 && (T) <= 4 && (bytes) > FITS)
#define STEPS_TOGETHER(form) ((form) == K6 ? 2 : 1)
#include "kernels/cpu/mul.h"
#include "kernels/cpu/mul_k.h"
#include "kernels/cpu/mul_strip.h"
#include "kernels/cpu/mul_swap.h"
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
SHARED_ALL
MUL_SHARED_6
SWAP_ALL
MUL_SWAPPED(3)
MUL_SWAPPED(4)
MUL_SWAPPED(5)
MUL_SWAPPED(6)

const struct cpu_isa *isa_avx2(void)
{
    static const struct cpu_isa isa = {
        .name = "avx2",
        .said = "avx2 (FMA, F16C)",
        .int_name = "avx2 int8",
        .float_name = "avx2 fp32 fma",
        .tile = 6,
        .row_costs = {8, 16, 25, 30, 28, 28, 24}, /* tiles of 6 and 2 cost as one of 8 would */
        .in_order = {IN_ORDER(1)},
        .mul = {MUL_ROW(1), MUL_ROW(2), MUL_ROW(3), MUL_ROW(4), MUL_ROW(5), MUL_ROW(6)},
        .opens = true,
        .opener = {SWAPPER(Q4_0, 8), SWAPPER(Q5_0, 3), SWAPPER(MXFP4, 3), SWAPPER(Q4_K, 8), SWAPPER(Q5_K, 2),
                   SWAPPER(Q6_K, 2), SHARERS},
        .mul_open = {SWAPPED_ROW(3), SWAPPED_ROW(4), SWAPPED_ROW(5), SWAPPED_ROW(6), SHARED_OPENED_6},
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
