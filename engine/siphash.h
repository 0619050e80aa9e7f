/* siphash.h - SipHash-2-4 with 128 bits of result: a short keyed hash that nobody can make collide without its key.
 *
 * Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012); the 128-bit variant
 * is that of the authors' reference implementation.  Little-endian words.  Threads: pure. */
#ifndef SIPHASH_H
#define SIPHASH_H
#include "plimsoll.h"

struct sip128 {
    uint64_t a, b;
};

struct sip128 siphash128(struct sip128 key, const void *bytes, size_t n);
#endif
