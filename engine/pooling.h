/* pooling.h - vectors of prompts (embeddings): the hidden states that a pass left, each by the output's norm, added to
 * the vectors of the requests that want them.
 *
 *     x (rows, embd), as the last layer left it -> a row to the host -> norm -> vector += it
 *
 * The norm is the output's, in double precision on the host: the same bits whatever the backend's own is made of.  Rows
 * are added one after another in the order of their tokens, so a vector does not depend on how its prompt was cut into
 * passes.  Source of the two ways: llama.cpp's pooling types MEAN and LAST, by their names in GGUF (pooling_type).
 *
 * Nothing is allocated: a request brings the room (struct pass_pool).  One thread, that which drives the passes. */
#ifndef POOLING_H
#define POOLING_H
#include "engine/forward.h"

/* After forward_run() of p's last part: 0, or negative: err says what could not be copied. */
int pooling_run(const struct forward *f, const struct pass *p, struct err *err);
#endif
