/* view_verdict.h - a verdict as a card: a frame over what is there, with what failed, the evidence, what it is not, and
 * the fixes, each with what it frees.
 *
 *      ┌ Out of memory: growth with turns ───────────────────────────┐
 *      │ wanted 96 KiB more; of the pool of 6 MiB are 0 B free       │
 *      │ turn 17, policy no-limit                                    │
 *      │ evidence   prompts grow by 59.5 tokens a turn since turn 1  │
 *      │ not        concurrency: no other request holds any of it    │
 *      │ fixes      1  window and summary            frees 5.58 MiB  │
 *      │            2  take the last turn back        frees 360 KiB  │
 *      │ 1-2 apply and ask again  e file  c copy  f elsewhere  Esc   │
 *      └─────────────────────────────────────────────────────────────┘
 *
 * Its texts may come from a pasted log: only a surface shows them.  It does nothing by itself: a key gives a wish.
 * Threads: the screen's; plain data, some 12 KiB. */
#ifndef VIEW_VERDICT_H
#define VIEW_VERDICT_H
#include "app/learn/explain.h"
#include "app/tui/bar.h"
#include "app/tui/keys.h"

struct card {
    bool on;
    bool own;        /* of this session: fixes that say so can be applied */
    int question;    /* explain.h: whose answer would change it most; -1: none, or it is our own */
    struct explain_answers known; /* what was answered so far */
    bool elsewhere;  /* it shows what the fix is called in other programs */
    struct verdict v;
    int top, rows, seen; /* scrolled; rows that there are, and that are seen, of the last draw */
};

void card_show(struct card *c, const struct verdict *v, bool own);
/* Within b, as small as its text lets it, at its lower edge. */
void card_draw(struct card *c, struct surface *s, struct box b, enum glyphs glyphs);

enum card_wish { CARD_NOT_ITS, CARD_NOTHING, CARD_CLOSE, CARD_APPLY, CARD_ANSWER, CARD_FILE, CARD_COPY };
/* place: of APPLY, in v.fix; of ANSWER, in the question's choices.  NOT_ITS: the key means nothing to it. */
enum card_wish card_key(struct card *c, const struct key *k, int *place);

/* All that it says, filtered, for a file or the clipboard.  Appended. */
void card_text(const struct card *c, struct buf *out);
#endif
