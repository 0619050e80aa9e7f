/* draft.h - tokens that may come next, guessed from the text so far: speculative decoding by prompt lookup.
 *
 *     ids   ... the file src/kv.c has 571 lines ... In  the file src/kv.c | has 571 lines
 *                            ^ what it ends with was here before .......'   ^ drafts: what came then
 *
 * Who quotes a file, corrects a function, fills in JSON or repeats a figure says what stands in its context already.
 * Drafts are rows of the next pass behind the one that is certain; a row's result depends on nothing but the row,
 * and each token is chosen as it would be alone.  So a draft that is what was chosen saves a pass, one that is not
 * costs its row, and the answer is the same to the bit.  No memory is taken: drafts stand in the room of the answer,
 * their keys and values in pages that the request was promised.
 *
 * What is decided beforehand (a thought that is closed, or not to begin) is tried too, and is right.
 *
 * How many others are worth their rows is weighed: what was right lately of drafts with as long a match, against what
 * a row adds to the pass.  Whoever never repeats anything pays for a try now and then.
 *
 * Source of the way: "prompt lookup decoding" (A. Saxena, 2023), n-gram speculation of vLLM and llama.cpp.
 *
 * Pure functions of a request's own; nothing is allocated.  One thread, that of the engine. */
#ifndef DRAFT_H
#define DRAFT_H
#include "kernels/kernels.h"

enum {
    DRAFT_ROWS = KERN_FEW, /* of a pass that generates, drafts included: where more sequences run there are none */
    DRAFT_MATCH = 16,      /* tokens of a match that are looked at */
    DRAFT_RATES = 4        /* kinds of matches */
};

/* Of one request. */
struct draft {
    float rate[DRAFT_RATES]; /* how often a draft was right lately, by the length of its match */
    int kind;                /* of the match that was found last; DRAFT_RATES: there was none, they are certain */
};
void draft_begin(struct draft *d); /* nothing is known of its drafts */

/* A pass that generates, while it is made: tokens that it may be expected to give, and what it costs (1: that of a pass
 * of one row). */
struct draft_pass {
    int rows;
    double tokens, cost;
    const float *row; /* (DRAFT_ROWS - 1) what each row more costs, from the second on */
};

/* One of a row for each of n sequences, n <= DRAFT_ROWS. */
struct draft_pass draft_pass_of(int n, const float *row);

/* Where the end of ids (n) was before: the place behind the longest such match, of equals the last; 0: nowhere.
 * *match: its tokens. */
int draft_find(const int32_t *ids, int n, int *match);

/* Is a draft more worth its row, the nth (0 ..) behind a match of so many tokens?  It is in p then, which has room for
 * it (rows < DRAFT_ROWS). */
bool draft_worth(struct draft *d, int match, int nth, struct draft_pass *p);

/* One that is certain. */
void draft_sure(struct draft *d, struct draft_pass *p);

/* Of so many drafts so many, from the first, were what was chosen. */
void draft_learn(struct draft *d, int drafts, int right);
#endif
