/* prefix.h - the KV pages whose content is known: found by what they hold, kept by age while nobody holds them.
 *
 * A full page is known by the chain of hashes over all tokens up to its end, so that equal pages after different ones
 * are different.  The hash is SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012) under a key that the process
 * drew by chance, so that no text from outside can be made to collide; the page's own tokens are compared as well.
 * The chain begins with the engine's identity (identity.h): model, K/V type, rope, instruction set.
 *
 * Pages are numbers, 0 .. pages - 1; who holds them is kv.c's affair.  No allocation after open.  One thread. */
#ifndef PREFIX_H
#define PREFIX_H
#include "engine/siphash.h"
#include "kernels/kernels.h"
#include "plimsoll.h"

struct prefix; /* opaque */

struct prefix *prefix_open(int pages, struct err *err); /* NULL: err says why */
void prefix_close(struct prefix *p);
size_t prefix_bytes(int pages); /* host memory that open takes */

/* What the chain begins with; {0} until something is set, which only a table that knows no page may be told. */
void prefix_identify(struct prefix *p, struct sip128 identity);
struct sip128 prefix_root(const struct prefix *p);

/* The chain's next link: the hash of what `before` stands for, followed by one page of tokens. */
struct sip128 prefix_chain(const struct prefix *p, struct sip128 before, const int32_t *ids);

int prefix_find(const struct prefix *p, struct sip128 hash, const int32_t *ids); /* the page, or -1 */
void prefix_learn(struct prefix *p, int page, struct sip128 hash, const int32_t *ids); /* one that is not known */
void prefix_forget(struct prefix *p, int page);                                       /* one that is */
bool prefix_knows(const struct prefix *p, int page);
bool prefix_consistent(const struct prefix *p, int page); /* known, and found where it should be: for tests */

/* Known pages that nobody holds rest, in a list by age. */
void prefix_rest(struct prefix *p, int page); /* as the newest */
void prefix_rest_before(struct prefix *p, int page, int newer); /* one older than `newer`, which rests */
void prefix_wake(struct prefix *p, int page);
int prefix_oldest(const struct prefix *p);  /* -1: none rests */
int prefix_newer(const struct prefix *p, int page); /* the next in the list, or -1 */
int prefix_resting(const struct prefix *p); /* how many */
#endif
