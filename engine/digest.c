/* digest.c - blocks into lanes, lanes into one. */
#include "engine/digest.h"
#include <endian.h>

/* Odd numbers without a pattern: nothing else is asked of them. */
static const uint64_t odd[8] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0x6a09e667f3bcc909), UINT64_C(0xbb67ae8584caa73b),
    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1),
    UINT64_C(0x9b05688c2b3e6c1f), UINT64_C(0x1f83d9abfb41bd6b),
};

void digest_begin(struct digest *d)
{
    *d = (struct digest){0};
    memcpy(d->lane, odd, sizeof d->lane);
}

static uint64_t step(uint64_t lane, const uint8_t *at, int i)
{
    uint64_t word;
    memcpy(&word, at + 8 * i, sizeof word);
    lane ^= le64toh(word);
    return (lane << 29 | lane >> 35) * odd[i];
}

/* Lanes in variables of their own, so that they stay in registers. */
static void blocks(uint64_t lane[8], const uint8_t *at, size_t n)
{
    uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3], e = lane[4], f = lane[5], g = lane[6], h = lane[7];
    for (; n > 0; n--, at += DIGEST_BLOCK) {
        a = step(a, at, 0);
        b = step(b, at, 1);
        c = step(c, at, 2);
        d = step(d, at, 3);
        e = step(e, at, 4);
        f = step(f, at, 5);
        g = step(g, at, 6);
        h = step(h, at, 7);
    }
    const uint64_t now[8] = {a, b, c, d, e, f, g, h};
    memcpy(lane, now, sizeof now);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    size_t held = (size_t)(d->bytes % DIGEST_BLOCK);
    d->bytes += n;
    if (held > 0) {
        size_t more = MIN(n, DIGEST_BLOCK - held);
        memcpy(d->held + held, at, more);
        if (held + more < DIGEST_BLOCK) return;
        blocks(d->lane, d->held, 1);
        at += more;
        n -= more;
    }
    blocks(d->lane, at, n / DIGEST_BLOCK);
    if (n % DIGEST_BLOCK) memcpy(d->held, at + n / DIGEST_BLOCK * DIGEST_BLOCK, n % DIGEST_BLOCK);
}

/* The rest is filled up with zeros; the count of bytes says where it ended. */
struct sip128 digest_end(const struct digest *d)
{
    const struct sip128 key = {odd[1], odd[2]};
    uint8_t rest[DIGEST_BLOCK] = {0};
    uint64_t all[9];
    memcpy(all, d->lane, sizeof d->lane);
    memcpy(rest, d->held, (size_t)(d->bytes % DIGEST_BLOCK));
    blocks(all, rest, 1);
    for (int i = 0; i < 8; i++) all[i] = htole64(all[i]);
    all[8] = htole64(d->bytes);
    return siphash128(key, all, sizeof all);
}
