/* talk.h - one request over there, from its admission to its end: what was asked, what has been said, as tokens of our
 * own vocabulary, and another try where the server is busy or not there.
 *
 *     struct talk *t = talk_begin(web, vocab, &body, max_tokens, &no_system);
 *     talk_look(t);                       // after each web_pump(): what is due is done
 *     talk_next(t, &id)                   // the next token, if it is known
 *     talk_end(t);
 *
 * Text comes in pieces as the server likes; each is encoded by itself, so that its tokens spell it, if not always with
 * the ids that the server chose.  At most max_tokens of them are kept.  Threads: web's. */
#ifndef REMOTE_TALK_H
#define REMOTE_TALK_H
#include "engine/engine.h"
#include "engine/remote/hear.h"
#include "engine/remote/web.h"

/* The last of them comes half a minute after the first where the server does not say when. */
enum { TALK_TRIES = 6 };

struct talk {
    int id;           /* the engine's */
    struct hear hear; /* usage, once it has ended */
    enum engine_end end; /* END_STOP, END_LENGTH or END_FAULT, once it is known; tokens may be left */
    struct err why;      /* END_FAULT: ENGINE_FAULT, or ENGINE_NEVER_FITS: too long for the server's model */

    struct web *web;
    const struct vocab *vocab;
    struct web_call *call;
    struct buf body, said, refusal; /* what was asked; text without ids yet; the body of an error */
    struct ids ids;
    size_t next;
    bool *no_system;
    int max_tokens, tries;
    uint64_t bytes;  /* that came of the answer */
    double moved;    /* when its last word came */
    double again_at; /* another try is due then; 0: none is */
    double ended_at; /* the model had said its last; 0: not yet */
    bool over;       /* the call is */
};

/* The body is taken over (and empty after).  no_system: the server is known to want no system message, or found to be
 * so: then the body is made anew and sent again.  It outlives the talk.  NULL: no memory. */
struct talk *talk_begin(struct web *w, const struct vocab *v, struct buf *body, int max_tokens, bool *no_system);
void talk_end(struct talk *t);
void talk_look(struct talk *t);
bool talk_next(struct talk *t, int32_t *id);
static inline bool talk_has_next(const struct talk *t) { return t->next < t->ids.n; }
#endif
