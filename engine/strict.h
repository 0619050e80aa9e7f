/* strict.h - calls of tools that can only come out well-formed: the grammars that requests carry, and where the answer
 * of each is.  Used by the scheduler's files alone.
 *
 *     answer      <think> ... </think>   I look.   <tool_call>  {"name":"read", ...}</tool_call>   end of turn
 *     phase       FREE                   OUTSIDE               INSIDE                             OUTSIDE
 *     may follow  everything ..................................  what the grammar allows ......  everything ...
 *
 * The mask goes on when the text that was generated so far has the opening, and off when it has the closing; then a
 * second call may come.  An opening inside the thinking that an answer begins with is none.  All is decided on the
 * bytes of tokens, so it is the same whatever stop strings hold back.  While a token might complete the opening and
 * have more behind it, those whose rest begins no call may not be chosen; one that holds a whole opening and such a
 * rest is not seen coming: it ends the answer instead (strict_accept).  A state follows from the tokens alone: parking
 * a request does not touch it.
 *
 * Of a grammar of the whole answer the first tokens are the opening's (`match` of its bytes are there), or INSIDE at
 * once where there is none; and when value and closing are complete only what ends a turn may follow (or, of a bare
 * number, more digits).
 *
 * Where calls and thoughts are marked by tokens (harmony.h) the whole answer is the grammar's, whatever is asked for:
 * it has the marks in it, and free text where that may come.  Then it is INSIDE from its first token on, and what of
 * its first message the prompt has is behind it (strict_begin).
 *
 * A grammar is compiled when the first request that carries it is submitted, and kept until its place is needed;
 * requests with the same texts share it.
 *
 * Memory: strict_open() takes all but what a schema is read into while strict_take() compiles: that is heap, at most
 * STRICT_READ bytes, given back before it returns.  strict_bytes() has both.  One thread, that of the engine. */
#ifndef STRICT_H
#define STRICT_H
#include "engine/engine.h"

enum {
    STRICT_GRAMMARS = 64,      /* that can be held at most */
    STRICT_SCHEMA = 32 << 10,  /* bytes of a schema */
    STRICT_MARK = 32,          /* bytes of an opening, a closing or a tag of thinking */
    STRICT_READ = 128 * STRICT_SCHEMA /* heap that reading one may take */
};

struct strict;  /* the grammars of one scheduler */
struct carried; /* one of them */

/* Sizes, known before anything is taken. */
struct strict_config {
    int grammars; /* 0: requests carry none, and nothing is taken */
    bool harmony; /* answers are in messages of harmony's */
    struct grammar_limits limits;
    size_t index_bytes, grammar_bytes;
    uint64_t mask_bytes;
};
/* 0, or ENGINE_FAULT: a size is out of its range. */
int strict_plan(const struct vocab *v, int grammars, bool harmony, const struct grammar_limits *limits,
                struct strict_config *out, struct err *err);
uint64_t strict_bytes(const struct strict_config *cfg, int outs); /* outs: tokens that a pass chooses at most */

/* NULL: err.  v must outlive it.  With no grammars there is nothing to open: s is NULL then, everywhere below. */
struct strict *strict_open(const struct strict_config *cfg, const struct vocab *v, int outs, struct err *err);
void strict_close(struct strict *s);

/* The grammar of a request, compiled or found, held until strict_give().  0, or: ENGINE_BAD_REQUEST, what is wrong with
 * it; ENGINE_NO_MEMORY, all places are held by requests. */
int strict_take(struct strict *s, const struct request_grammar *r, struct carried **out, struct err *err);
void strict_give(struct carried *c); /* NULL is fine */
int strict_holds(const struct strict *s); /* how often grammars are held, in all */

/* Where an answer is; all zeros: at its beginning, but for strict_begin(). */
enum strict_phase { STRICT_START, STRICT_FREE, STRICT_OUTSIDE, STRICT_INSIDE };
struct strict_state {
    uint8_t phase;       /* enum strict_phase */
    uint8_t match, skip; /* bytes of the opening, and of a tag of thinking, that the text ends with */
    struct grammar_state at; /* INSIDE */
};
/* Behind n tokens of a prompt.  false: the answer that they begin is none of the grammar's. */
bool strict_begin(const struct strict *s, const struct carried *c, const int32_t *prompt, size_t n,
                  struct strict_state *st);
/* How many of n tokens may come next, in this order, where the whole answer is the grammar's; else all. */
int strict_may(const struct carried *c, const struct strict_state *st, const int32_t *ids, int n);

/* Whether all of the answer is what was asked for, and no part of it is free text: no stop string cuts it. */
bool strict_is_whole(const struct carried *c);

bool strict_same(const struct strict_state *a, const struct strict_state *b);

/* What may come next, of what is `allowed` (NULL: all): that itself where nothing is forbidden, else a mask for the
 * choice number `out` of a pass, good until the next mask of that number. */
const uint32_t *strict_mask(struct strict *s, struct carried *c, const struct strict_state *st, const uint32_t *allowed,
                            int out);

/* A token came.  false: no call can go on with it, and st is as it was.  *outside: how many of its bytes, from the
 * first, are not inside a call. */
bool strict_accept(const struct carried *c, struct strict_state *st, int32_t id, const char *bytes, size_t n,
                   size_t *outside);
#endif
