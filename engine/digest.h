/* digest.h - 128 bits that tell a model's bytes from any other's, as fast as they can be read from memory.
 *
 *     64 bytes     w0 w1 w2 w3 w4 w5 w6 w7
 *     eight lanes  lane[i] = turn(lane[i] ^ wi, 29) * an odd number        and at the end SipHash over the lanes
 *
 * Every byte counts.  A change of one word always changes its lane, since each step can be undone; changes of several
 * cancel by chance alone.  The lanes do not wait for each other, so a processor works on all of them at once: about
 * 15 GB a second on one core, where SipHash alone makes 2 to 3.  This is for accidents: who builds a file for it can
 * make it look like another.
 *
 * How the bytes are cut into digest_add() calls makes no difference.  Threads: a digest is its caller's. */
#ifndef DIGEST_H
#define DIGEST_H
#include "engine/siphash.h"

enum { DIGEST_BLOCK = 64 };

struct digest {
    uint64_t lane[8], bytes;
    uint8_t held[DIGEST_BLOCK]; /* the last bytes, not a whole block yet */
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
struct sip128 digest_end(const struct digest *d); /* of all so far; more may follow */
#endif
