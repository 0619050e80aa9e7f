/* identity.h - what the bytes of a KV page depend on, besides the tokens that it holds: in 128 bits.
 *
 *     "pages 1, 16 tokens, K/V type F16, window 0, cpu 1 avx512, model 31b8..."  ->  identity
 *     identity, tokens 0 .. 15                                                   ->  name of the first page
 *     name of a page, 16 tokens more                                             ->  name of the next
 *
 * The model's part is the digest of its file (model.h): sizes, rotation settings and frequencies, every weight.  Two
 * engines with one identity compute a page to the same bits, so that a page may pass from one to the other.
 *
 * What it cannot tell apart: model files that were built to collide in the digest (digest.h); two compilers or C
 * libraries whose sine or power function differs in the last bit (frequencies are seen as computed, the turns made of
 * them are not), which would show as a difference in the last bit of a page, not as a wrong answer.
 *
 * Names are SipHash-2-4 with 128 bits under a key that everybody knows, so that they are the same in every process and
 * can name records on disk.  Nobody meets another's name by accident; who wants to can, so whoever finds a page by its
 * name compares its tokens and the name before.  (In memory pages are found under a secret key: prefix.h.)
 * Threads: pure. */
#ifndef IDENTITY_H
#define IDENTITY_H
#include "engine/engine.h"
#include "engine/model.h"

/* Raised when the order of a forward pass changes, or what it writes to a page; kernels raise their own in numerics. */
enum { IDENTITY_VERSION = 1 };

/* m is loaded; numerics: what the backend says. */
struct sip128 identity_of(const struct model *m, const struct kern_group *g, const char *numerics);
struct engine_name identity_name(struct sip128 hash); /* its bytes, little-endian */
#endif
