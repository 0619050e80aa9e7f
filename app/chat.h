/* chat.h - one conversation: what was said, and the rule that a turn either enters it whole or not at all.
 *
 *     refused or failed                  the conversation is as before
 *     cancelled before any text          as before: the user's turn is withdrawn
 *     cancelled in the middle            the part that was said stays, as said
 *     ended                              the user's turn and the answer stay */
#ifndef CHAT_H
#define CHAT_H
#include "app/turn.h"

struct chat {
    struct app *a;
    struct msg *msgs; /* with texts of our own; a system message, if there is one, is the first */
    int n, cap;
    struct turn_result last; /* of the last turn that was admitted; its text is empty */
    bool any;                /* there was one */
};

/* system: NULL or its text.  0, or -1: no memory. */
int chat_open(struct chat *c, struct app *a, const char *system, struct err *err);
void chat_close(struct chat *c);

void chat_clear(struct chat *c); /* forget all but the system message */
/* Put or replace the system message; n = 0: take it away. */
int chat_system(struct chat *c, const char *text, size_t n, struct err *err);
bool chat_has_system(const struct chat *c);

/* A user's turn that nobody answers. */
int chat_add_user(struct chat *c, const char *text, size_t n, struct err *err);

/* A user's turn and its answer.  An exit status: EXIT_DONE also if it was cut at its length; else err says why,
 * except for a cancelled turn (128 + the signal's number). */
int chat_ask(struct chat *c, const char *text, size_t n, struct err *err);
#endif
