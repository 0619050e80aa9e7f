/* simd.h - the words that the kernels are written in.  Each instruction set defines all of them (simd_avx512.h,
 * simd_avxvnni.h, simd_avx2.h, simd_portable.h), and each isa_*.c compiles the same kernels with its own.
 *
 *     vf    LANES floats                     vi    LANES 32-bit integers, or 4 * LANES bytes
 *     vacc  LANES running 32-bit sums of products of bytes
 *
 * Every word is exactly defined, so that kernels give the same bits in all of them:
 *     vf_fma(a, b, c) = a * b + c and vf_fnma(a, b, c) = c - a * b, rounded once
 *     vf_fma_at(p, b, c): vf_fma(the float at p in all lanes, b, c), without an instruction to load it where one can do
 *     vf_max(a, b) = a > b ? a : b and vf_min(a, b) = a < b ? a : b: the second when either is not a number
 *     vf_select_lt(a, b, yes, no) = a < b ? yes : no
 *     vf_top(a): the largest lane (any lane where one is not a number)
 *     vf_fold(a): the sum of the lanes, the upper half added to the lower until one is left
 *     vf_f16, vf_bf16, vf_to_f16: LANES 16-bit floats in memory; to f16 rounds to nearest even
 *     vf_i8: LANES signed bytes in memory
 *     vf_from(vi): integers to floats; vf_of_bits, vi_of_bits: the same bits
 *     vacc_dot(a, w, x): each lane adds its 4 products of unsigned bytes of w and signed bytes of x (-127 .. 127).
 *         The sum starts with vacc_start(first) and is read with vacc_end(a, first), `first` being the same: some take
 *         it at once, others at the end.  Between, vacc_spill() after every 2 steps if w < 64, 4 if w < 32; none is
 *         needed for 8 steps if w < 16
 *     vacc_dot_at(a, w, p): vacc_dot with the dword of activations at p in all lanes
 *     vacc_start8(first, less), vacc_dot8, vacc_end8(a, first, less): the same for any w, less = first - 128 * sum of
 *         all x, and the sum is of (w - 128) * x
 *     vacc_dot_swapped(a, x, w): unsigned bytes of x and the signed ones in memory at w; w from -8 on counts as w < 16
 *         above, from -16 on as w < 32, from -32 on as w < 64
 *     vi_load4(p), vi_of4(v, i): four dwords in memory, dword i of these in all lanes; vi_add8, vi_sub8: of bytes
 *         (these six, with vi_xor, are AVX2's alone: mul_swap.h)
 *     vi_srl_by: vi_srl by a number that is no constant
 *     vi_u8: LANES unsigned bytes in memory
 *     vi_pick(table, v): each byte of v, which are 0..15, becomes that byte of the table
 *     vi_pick8(table, v): the same of signed bytes, each 128 larger: as vacc_dot8 takes them
 *     vi_madd16(a, b): each lane adds both products of its signed 16 bits; vi_sub16: of 16 bits
 *     vi_byte(v, j): byte j (0..3) of each lane
 *     REGISTERS: vectors that the set has names for
 *     HIGH_TIMES: how many times as large vacc_dot may have upper nibbles: 16, as they lie, or 1
 *     act_top, act_round: the two halves of quant_act32() (kernels/quant.h), to the bit */
#ifndef SIMD_H
#define SIMD_H
#include "kernels/quant.h"
#include "plimsoll.h"

#define INLINE static inline __attribute__((always_inline, unused))

/* Loops over tokens, vectors and steps are unrolled whole: their arrays are meant to be registers, and their counters
 * immediate operands.  UNROLL_TWO: two at a time.  Not where a sanitizer runs along or a set is emulated: it would turn
 * each unrolled function into a small book. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || ISA_EMULATED
#define UNROLL
#define UNROLL_TWO
#elif defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNROLL
#define UNROLL_TWO
#else
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_TWO _Pragma("clang loop unroll_count(2)")
#endif
#else
#define UNROLL _Pragma("GCC unroll 32")
#define UNROLL_TWO _Pragma("GCC unroll 2")
#endif
#endif
