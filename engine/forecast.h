/* forecast.h - how long will it go well?  For the display, and for a plan before the start.
 *
 *     turn             prompt, max_tokens
 *     1 (the next)     ########++++        |
 *     2                ##########++++      |
 *     3                ############++++    |
 *     4                ##############++++  |
 *     5                ################++++|
 *     6                ##################++|++     the first that is refused: "5 turns until its context is full"
 *                      0                   ctx
 *
 * The rule: an agent is taken to grow, every turn, by the largest growth of its last FORECAST_TURNS turns; shrinking
 * counts as 0.  So a figure is rounded against us:
 *   - growth is constant: the turn named is exact;
 *   - no turn to come grows by more than the largest of the last eight: it is never later than the truth;
 *   - and none by less than that largest less s, where (turn named) * s <= largest: it is at most one turn too early.
 *     With more jitter it is too early by more, and comes right as the turn comes near.
 * What it cannot know: growth that speeds up, or a turn larger than all of the last eight (jitter may bring one, most
 * of all while few turns were noted).  The truth can then be earlier than what was named; the next note corrects it.
 * One large turn in the past makes the forecast early until it has left the ring.
 *
 * The whole: an agent whose context is full stays full (its calls are refused, and it grows no more).  The common front
 * is held once, in whole pages, as engine/kv.h shares it; how much of it an agent shares is taken from its present
 * prompt.  Every sequence is rounded up to whole pages.  With a window (`most`) a sequence that has outgrown it takes
 * that much; the common front is still counted beside it.
 *
 * Pure: nothing is allocated, everything is the caller's, any thread.  Every int may come from outside: negative counts
 * as 0 (page and seqs: as 1), and all sums of such numbers fit in the 64 bits that they are made in. */
#ifndef FORECAST_H
#define FORECAST_H
#include "plimsoll.h"
#include <limits.h>

enum { FORECAST_TURNS = 8 };

/* In place of a turn. Turns are counted from 1, the next; beyond FORECAST_NEVER - 1 they are named as that. */
enum { FORECAST_UNKNOWN = 0, FORECAST_NEVER = INT_MAX };

/* Starts as zeros; the caller sets max_tokens and ctx, and forecast_note() the rest. */
struct forecast_agent {
    int prompt;     /* tokens of the next call's prompt */
    int max_tokens; /* of its answer: a call reserves them */
    int ctx;        /* most tokens of prompt and answer together */
    bool noted;     /* prompt was set by a note */
    int growth[FORECAST_TURNS]; /* a ring: turn i's is at i % FORECAST_TURNS */
    int largest;                /* in the ring; at least 0 */
    uint64_t turns;             /* how many were put there */
    int64_t followed;           /* turns that forecast_follow() was told of */
    bool left;                  /* something left since then: what the turn grows by is not known */
};

/* A turn has passed and the next call's prompt is prompt_now tokens: what it has grown by is put in the ring.  The
 * first note of all has nothing to compare with. */
void forecast_note(struct forecast_agent *a, int prompt_now);

/* The same for who looks at a conversation at any time: after `turns` turns (0: none was asked yet, nothing is noted) a
 * call carries prompt_now.  A turn counts once it has ended, whole: what is said amid it is no growth of its own.  Of a
 * turn in which something left (prompt_now has fallen) the growth is not known, and none is put in the ring.  Fewer
 * turns than before: it was taken back or is another conversation, and is followed anew. */
void forecast_follow(struct forecast_agent *a, int64_t turns, int prompt_now);

/* Put a growth in the ring that was not seen: a plan assumes one.  The prompt stays. */
void forecast_assume(struct forecast_agent *a, int growth);

/* Tokens left until prompt + max_tokens > ctx; negative: so many too many. */
int64_t forecast_left(const struct forecast_agent *a);

/* The first turn whose call is refused because prompt + max_tokens > ctx.  FORECAST_NEVER: it does not grow.
 * FORECAST_UNKNOWN: no growth was noted yet. */
int forecast_turn(const struct forecast_agent *a);

struct forecast_pool {
    uint64_t tokens; /* of the KV pool; what is not a whole page is not counted */
    int page;        /* tokens of a page: KERN_PAGE */
    int front;       /* tokens with which all prompts begin */
    int seqs;        /* that run at once */
    int most;        /* tokens that one sequence takes of the pool at most, however long it is (engine_info's
                        kv_seq_tokens): its attention has a window; 0: all that it has */
};

/* What may run full, the gravest first. */
enum forecast_limit {
    FORECAST_CONTEXT, /* an agent's context: its call is refused */
    FORECAST_ALONE,   /* an agent's call needs more than the whole pool: refused */
    FORECAST_CALLS,   /* the calls of all (of more than seqs, the largest seqs) do not fit at once: some wait */
    FORECAST_CACHE,   /* the contexts of all do not stay in the pool between calls: some are computed again */
    FORECAST_LIMITS
};

struct forecast {
    struct forecast_at {
        int turn;  /* the first at which it is so */
        int agent; /* whose; of several in one turn, the first; -1: of all, or none */
    } at[FORECAST_LIMITS];
    enum forecast_limit first; /* the earliest turn; of several in one turn, the gravest */
    int unknown;               /* agents of unknown growth, taken not to grow: a turn named may then be too late */
};

/* n agents on one pool.  With agents of unknown growth, FORECAST_UNKNOWN stands where else FORECAST_NEVER would (unless
 * growth could not matter).  Cost: n, times the logarithm of the turns looked at; if n > seqs, also times that of the
 * largest call's pages. */
struct forecast forecast_make(const struct forecast_agent *a, int n, const struct forecast_pool *pool);

/* One line without its end in out[n], always terminated (n > 0), cut where out ends, be it amid a character.
 *     researcher: 412 tokens, 3 turns until its context (4096) is full
 *     after 2 turns the pool does not hold all calls at once: some wait; after 3 turns researcher's context is full:
 *     its call is refused */
void forecast_agent_words(const struct forecast_agent *a, const char *name, char *out, size_t n);
/* names: as the agents were; NULL, or NULL in it: they are called by number, from 1. */
void forecast_words(const struct forecast *f, const char *const *names, char *out, size_t n);
#endif
