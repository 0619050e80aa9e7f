/* needle_talk.h - a dialogue for the needle: one fact first, then talk of other things with other facts among it; to
 * the last the fact is asked for.  Questions and answers are made here; names and values are drawn by chance. */
#ifndef NEEDLE_TALK_H
#define NEEDLE_TALK_H
#include "plimsoll.h"

enum { NEEDLE_THINGS = 12, NEEDLE_TRAITS = 7, NEEDLE_TEXT = 160 };

extern uint64_t needle_seed;

struct needle_fact {
    char said[NEEDLE_TEXT], noted[NEEDLE_TEXT]; /* by the person; by the model */
    char asked[NEEDLE_TEXT], value[24];
};

struct needle_dialogue {
    struct needle_fact needle;
    char said[NEEDLE_TEXT], noted[NEEDLE_TEXT]; /* of this turn */
    bool used[NEEDLE_THINGS][NEEDLE_TRAITS];    /* no two facts are about the same */
};

void needle_begin(struct needle_dialogue *d);          /* the first turn: the needle */
void needle_next(struct needle_dialogue *d, int turn); /* every tenth has another fact */
#endif
