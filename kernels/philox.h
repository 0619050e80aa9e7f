/* philox.h - Philox4x32-10, random numbers as a function of a counter: no state, any order, the same everywhere.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.  Ten rounds; a round
 * multiplies words 0 and 2 by a constant each and swaps the halves over, and the key moves on by Weyl constants. */
#ifndef PHILOX_H
#define PHILOX_H
#include <stdint.h>

static inline void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p2 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p2 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p2;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The uniform number in [0, 1) of a seed and a step: key = seed, counter = (step, 0), the upper 53 of the 64 bits
 * that words 0 (upper) and 1 (lower) make. */
static inline double philox_uniform(uint64_t seed, uint64_t step)
{
    const uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];
    philox4x32(counter, key, word);
    return (double)(((uint64_t)word[0] << 32 | word[1]) >> 11) * 0x1p-53;
}
#endif
