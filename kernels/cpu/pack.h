/* pack.h - weights as the kernels want them: 32 rows of a matrix interleaved by dwords.
 *
 * A group is 32 rows and all k.  It is a run of packed blocks, one a block of the type, each of exactly 32 times the
 * file's bytes a block.  In a packed block the fields of the file's block follow one another, each for all 32 rows;
 * so one vector register holds the same 4 consecutive k (a dword) of 8 or 16 rows, and lanes are rows:
 *
 *     Q8_0   d f16[32] | 8 steps x dword[32]          step s: k = 4 s .. 4 s + 3, each byte xor 0x80 (unsigned)
 *     Q4_0   d f16[32] | 4 steps x dword[32]          nibbles as in the file: lo is step s, hi is step s + 4
 *     MXFP4  e u8[32] | 4 steps x dword[32]           the same
 *     IQ4_NL                                          as Q4_0
 *     IQ4_XS d f16[32] | high u16[32] | low dword[32] | 8 runs x 4 steps x dword[32]: each run as Q4_0's
 *     Q4_1   d f16[32] | m f16[32] | 4 x dword[32]
 *     Q5_0   d f16[32] | 5 x dword[32]: of each byte of dword i bits 0-4 are step i; above them (a: bits 5-7, b: bits
 *            6-7, c: bit 5) step 5 is a0 b1, step 6 a2 b3, step 7 a4 c3 c1, each from its top bit down
 *     Q5_1   d f16[32] | m f16[32] | 5 x dword[32]
 *     Q2_K   d f16[32] | dmin f16[32] | scales 4 x dword[32] | 16 x dword[32]: dword 8 c + s has step s of runs
 *            4 c .. 4 c + 3, from its lowest bits on
 *     Q3_K   d f16[32] | scales 3 x dword[32] | h 8 x dword[32] | 16 x dword[32]: dword 8 c + s has step s of runs
 *            4 c and 4 c + 1 (bits 0-2 and 3-5) and the two lower bits of run 4 c + 2 above; nibble c of h's dword s
 *            has run 4 c + 3, and that one's third bit above
 *     Q4_K   d f16[32] | dmin f16[32] | scales 3 x dword[32] | 32 x dword[32]: dword 8 c + s: lo is step s of run
 *            2 c, hi of run 2 c + 1
 *     Q5_K   d f16[32] | dmin f16[32] | scales 3 x dword[32] | h 8 x dword[32] | 32 x dword[32]
 *     Q6_K   d f16[32] | scales 4 x dword[32] | for each half of 128 and step s = 0..7: 3 x dword[32]: those of its
 *            runs 0, 1 and 2; the two bits above each have bits 4-5, 2-3 and 0-1 of run 3's
 *     F32    one k: float[32]       F16, BF16    one k: 16-bit[32]
 *
 * All fields are whole 64-byte lines, but for MXFP4's, whose blocks begin at multiples of 32.  Rows that are missing in
 * the last group are zeros.  Pure functions, any thread. */
#ifndef PACK_H
#define PACK_H
#include "kernels/quant.h"

/* Bytes of a group: 32 rows of cols values; 0: a type that is not packed, or cols is not a whole number of blocks.
 * Callers know that 32 rows of a file do not overflow (pack_bytes checks). */
size_t pack_group_bytes(enum ktype type, int cols);

/* Bytes of a matrix; 0 also where the sum overflows. */
size_t pack_bytes(enum ktype type, int rows, int cols);

/* n <= 32 rows, row_bytes apart in src (no alignment), to one group. */
void pack_group(enum ktype type, int n, int cols, const uint8_t *src, size_t row_bytes, uint8_t *dst);

/* Row r (0..31) of a group, as floats. */
void pack_row(enum ktype type, int cols, const uint8_t *group, int r, float *y);
#endif
