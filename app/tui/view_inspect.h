/* view_inspect.h - what the inspector shows: the next call of an agent, part by part, in the order in which it is sent.
 *
 * The tokens of all rows together are the call's, and their ids, joined, are its prompt. */
#ifndef VIEW_INSPECT_H
#define VIEW_INSPECT_H
#include "app/tui/gauges.h"

enum inspect_can { INSPECT_DROP = 1, INSPECT_PIN = 2, INSPECT_UNPIN = 4 }; /* what a person can do about a row */

enum { INSPECT_WHO = 40 };

struct inspect_row {
    uint8_t part;         /* enum context_part */
    bool line;            /* a line in the place of what it names */
    unsigned can;         /* enum inspect_can */
    char name[48];        /* "m12", "m3-20"; "" for what opens the answer */
    char whole[24];       /* "a7": where the whole of it is; "": it is all here */
    char kind[16];        /* "system", "tools", "pinned", "summary", "question", "answer", "tool result", ... */
    char who[INSPECT_WHO]; /* who said it: "user", "model", a tool's name */
    uint64_t number;      /* of the message or text; 0: none */
    uint32_t turn;        /* 0: before the first, or none */
    int64_t frees;        /* tokens, by dropping it; with INSPECT_DROP */
    size_t text, len;     /* in texts: what is sent of it */
    size_t id, n_ids;     /* in ids */
};

struct inspect {
    char agent[40];       /* "": the only one */
    bool aside;           /* there are several, and commands are about another one */
    struct inspect_row *row;
    int rows;
    struct buf texts, diff; /* diff: of the summary, against the one before; or nothing */
    struct ids ids;       /* of the whole prompt */
    struct buf spelled;   /* each id's bytes, escaped; special ones as the vocabulary spells them */
    uint32_t *spell;      /* (ids.n + 1) where each begins in spelled */
    int64_t ctx, limit, reserve, answer, high; /* tokens; answer: what it may have, thinking too */
    int64_t compact;      /* that a compaction would free now */
    const char *no_summaries; /* why it sums up nothing; NULL: it does */
    bool leaves, due;     /* the oldest leave where nothing is summed up; before the next call it sums up */
};
#endif
