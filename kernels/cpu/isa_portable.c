/* isa_portable.c - the kernels in plain C, for processors and machines that the others do not know.
 *
 * The same bits as the others need a fused multiply-add.  Where the compiler has no such instruction it is a call of
 * fmaf(): one a block for integer types, but one a weight for F32, F16 and BF16, which are very slow there. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd_portable.h"

enum { NV_SPLIT = 1, EVEN_IN_MEMORY = false, K6_IN_ORDER = false };
#define NV_OF(type, T) ((T) == 1 ? 2 : 1)
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
SHARED_ALL
MUL_SHARED_2

const struct cpu_isa *isa_portable(void)
{
    static const struct cpu_isa isa = {
        .name = "portable",
        .said = "portable",
        .int_name = "portable int8",
        .float_name = "portable fp32",
        .tile = 2,
        .row_costs = {90, 90, 90, 90, 90, 90, 90}, /* reckoned: it computes all the time */
        .in_order = {IN_ORDER(1)},
        .mul = {MUL_ROW(1), MUL_ROW(2)},
        .opener = {SHARERS},
        .mul_open = {SHARED_OPENED_2},
        ROW_FUNCTIONS,
    };
    return &isa;
}
