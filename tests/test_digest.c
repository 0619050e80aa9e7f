/* The digest of a model's bytes: every byte counts, wherever it lies and however the bytes are cut. */
#include "engine/digest.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { MOST = 5 * DIGEST_BLOCK + 7 };

static struct sip128 of(const void *bytes, size_t n)
{
    struct digest d;
    digest_begin(&d);
    digest_add(&d, bytes, n);
    return digest_end(&d);
}

static bool same(struct sip128 x, struct sip128 y) { return x.a == y.a && x.b == y.b; }

static void fill(uint8_t *bytes, uint32_t seed)
{
    for (int i = 0; i < MOST; i++) bytes[i] = (uint8_t)tiny_random(&seed);
}

TEST(digest_does_not_see_how_the_bytes_are_cut)
{
    uint8_t bytes[MOST];
    uint32_t seed = 3;
    fill(bytes, 1);
    for (int round = 0; round < 2000; round++) {
        struct digest d;
        size_t n = (size_t)tiny_below(&seed, MOST + 1);
        digest_begin(&d);
        for (size_t at = 0, step; at < n; at += step) {
            step = (size_t)tiny_below(&seed, round % 2 ? 9 : 200);
            step = MIN(n - at, step);
            digest_add(&d, bytes + at, step);
            if (step % 3 == 0) digest_end(&d); /* looking changes nothing */
        }
        CHECK(same(digest_end(&d), of(bytes, n)));
    }
}

TEST(digest_changes_with_every_bit_and_every_length)
{
    uint8_t bytes[MOST];
    fill(bytes, 2);
    struct sip128 before = of(bytes, MOST), last = of(bytes, 0);
    for (int bit = 0; bit < 8 * MOST; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(!same(of(bytes, MOST), before));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    memset(bytes, 0, sizeof bytes);
    for (size_t n = 1; n <= MOST; n++) { /* zeros at the end are bytes too */
        struct sip128 now = of(bytes, n);
        CHECK(!same(now, last));
        last = now;
    }
}

/* Weights differ in signs, that is in top bits, and two of them in one lane must not cancel; nor may words that change
 * places. */
TEST(digest_sees_two_changes_in_one_lane)
{
    uint8_t bytes[MOST], other[MOST];
    fill(bytes, 4);
    struct sip128 before = of(bytes, MOST);
    for (int i = 7; i < 4 * DIGEST_BLOCK; i += 8)
        for (int k = i + DIGEST_BLOCK; k < 5 * DIGEST_BLOCK; k += DIGEST_BLOCK) {
            memcpy(other, bytes, MOST);
            other[i] ^= 0x80;
            other[k] ^= 0x80;
            CHECK(!same(of(other, MOST), before));
            memcpy(other + i - 7, bytes + k - 7, 8);
            memcpy(other + k - 7, bytes + i - 7, 8);
            CHECK(!same(of(other, MOST), before));
        }
}

CHECK_MAIN
