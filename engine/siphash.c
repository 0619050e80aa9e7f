/* siphash.c - four words, two rounds a word of input, four at each end. */
#include "engine/siphash.h"
#include <endian.h>

struct state {
    uint64_t v[4];
};

static uint64_t turn(uint64_t x, int by) { return x << by | x >> (64 - by); }

static void rounds(struct state *s, int n)
{
    uint64_t *v = s->v;
    while (n-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = turn(v[1], 13) ^ v[0];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] = turn(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = turn(v[1], 17) ^ v[2];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] = turn(v[2], 32);
    }
}

static void absorb(struct state *s, uint64_t word)
{
    s->v[3] ^= word;
    rounds(s, 2);
    s->v[0] ^= word;
}

static uint64_t give(struct state *s, uint64_t mark, int at)
{
    s->v[at] ^= mark;
    rounds(s, 4);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

struct sip128 siphash128(struct sip128 key, const void *bytes, size_t n)
{
    struct state s = {{key.a ^ UINT64_C(0x736f6d6570736575), key.b ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                       key.a ^ UINT64_C(0x6c7967656e657261), key.b ^ UINT64_C(0x7465646279746573)}};
    const unsigned char *at = bytes;
    uint64_t word, last = (uint64_t)n << 56;
    for (size_t left = n; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        absorb(&s, le64toh(word));
    }
    for (size_t i = 0; i < n % 8; i++) last |= (uint64_t)at[i] << (8 * i);
    absorb(&s, last);
    struct sip128 out;
    out.a = give(&s, 0xee, 2);
    out.b = give(&s, 0xdd, 1);
    return out;
}
