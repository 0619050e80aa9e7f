/* session_carries.h - exactly what the next call of a session would send, cut into the parts that it is made of.
 *
 *     window's items:  system | tools | m7 | summary | m12 | m13 ...      texts: what is sent of each
 *     token ids:       |<────── the rendered prompt, as the engine gets it ──────>|<opening>|
 *
 * The ids of all parts, joined, are the whole prompt: what a template writes around a message is the message's, and the
 * tokens behind the last one, which open the answer, are a part of their own.  A token across two parts is the first's.
 *
 * Threads: the app's. */
#ifndef SESSION_CARRIES_H
#define SESSION_CARRIES_H
#include "app/session/session.h"

struct carried {
    struct window_item item;  /* of the opening: all zero */
    enum journal_kind kind;   /* of its text; 0: a line of plimsoll's own, or the opening */
    uint32_t turn;
    uint64_t artifact;        /* of a result that is not all there; 0: none */
    bool opening;
    bool opens_turn;          /* the newest turn: it cannot be dropped */
    size_t text, len;         /* in texts: what is sent */
    size_t id, n_ids;         /* in ids */
};

struct session_carries {
    struct carried *part;
    size_t n;
    struct buf texts;
    struct ids ids;
    struct window_call call;  /* its figures; no items */
};

/* The next call if the person said no more.  Nothing changes, not even while a call of this session is under way: then
 * it is what that one sends.  0, or -1: err; out is for session_carries_free() in both cases. */
int session_carries(struct session *s, struct session_carries *out, struct err *err);
void session_carries_free(struct session_carries *c);
#endif
