/* remedy.h - what a fix is called in the stack at hand, and where it is set there today.
 *
 * One table, cause x stack, for explain, for the verdict card and for the lessons' part "what the frameworks call it".
 * A row is only there if its name was found in that project's own documentation, source or issue threads; remedy_*.c
 * name them beside it.  Names change: `since` says from which version on, `mind` what is still advised and no longer
 * does anything, or where the remedy falls short.
 *
 *     const struct remedy *r[REMEDY_MOST];
 *     int n = remedy_find(CAUSE_KV, STACK_VLLM, r, REMEDY_MOST);   // the best first
 *
 * Not every cause can happen in every stack: a framework that only sends requests has no weights.  remedy_cannot() says
 * why; there is no row for it then, and the remedy is that of the stack that holds the memory.
 *
 * Texts are plain UTF-8, constant, and fit the fields of struct verdict_fix.  Threads: any. */
#ifndef REMEDY_H
#define REMEDY_H
#include "app/learn/verdict.h"

/* What of a report's figures a remedy gives back at most. */
enum remedy_frees {
    FREES_UNSAID,  /* depends on what no report says */
    FREES_GAP,     /* reserved by the allocator, not allocated */
    FREES_OUTSIDE, /* held by others on the device */
    FREES_SHARES,  /* what others have of a pool: nothing for one request that is too long for all of it */
    FREES_WHOLE,   /* what a pool that is taken whole at start could not get: nothing where it is there, and full */
    FREES_DEVICE,  /* a device's memory, at the cost of RAM: nothing for weights where it is RAM that lacks */
    FREES_FULL,    /* room in such a pool that is full: for KV nothing where it could not be had */
};

struct remedy {
    enum stack stack;
    uint32_t causes;         /* bits, REMEDY_OF(cause) */
    enum remedy_frees frees;
    const char *what;        /* words: "shorter sequences" */
    const char *how;         /* the flag, parameter or API and where it is set: "vllm serve --max-model-len 8192" */
    const char *since;       /* "vLLM 0.18": what `how` needs; NULL: nothing recent */
    const char *mind;        /* what is stale or falls short: "--swap-space: gone since 0.18"; NULL: nothing */
};
#define REMEDY_OF(c) (1u << (c))
static_assert(CAUSES <= 32, "a bit each");

enum { REMEDY_MOST = 8 }; /* rows of one cause in one stack, at most */

/* The remedies of a cause in a stack, the best first, the first cap of them into out; how many there are.
 * STACK_UNKNOWN: what helps anywhere, in words (how is ""). */
int remedy_find(enum cause c, enum stack s, const struct remedy **out, int cap);

/* Why a cause cannot happen in a stack, or has no remedy that is about memory; NULL: it can, and has one. */
const char *remedy_cannot(enum cause c, enum stack s);

/* Append the remedies of v's cause to its fixes: of the stack where it failed, then of the one that reported it, then,
 * where neither has any, in words alone.  A fix that is there already (same how) is not repeated.  frees comes from
 * v's figures ("reserved" less "allocated"; "outside") where the remedy gives that back, else -1.  `since` and `mind` go
 * behind `how` in parentheses, where they fit. */
void remedy_into(struct verdict *v);

/* For a lesson: what a cause's fix is called, a block a stack, wrapped at width columns: frameworks first, then engines,
 * then the system.  most: rows of one stack at most.  Where columns are few a stack's name has a line of its own; below
 * 24 lines are longer than the width.  Appended. */
void remedy_text(enum cause c, int most, int width, struct buf *out);

extern const struct remedy remedy_table[]; /* all of it; the test reads it */
extern const size_t remedy_rows;
#endif
