/* typed.h - a short text that a person types in one row: what to look for, a title, a number.
 *
 *     find: out of mem_         Enter takes it, Escape leaves it, Ctrl-U empties it
 *
 * It ends between characters when it is full; of a paste only the first line is taken.
 * Threads: one. */
#ifndef TYPED_H
#define TYPED_H
#include "app/tui/keys.h"
#include "app/tui/surface.h"

enum { TYPED = 200 /* bytes, the NUL counted */ };

struct typed {
    bool on;              /* it is being typed */
    char text[TYPED];
};

enum typed_key { TYPED_NOT, TYPED_CHANGED, TYPED_TAKEN, TYPED_LEFT };

void typed_begin(struct typed *t, const char *text); /* with this in it, which may be its own */
/* While it is on every key is its own, but for those with Ctrl and Alt that it does not know and function keys:
 * TYPED_NOT.  Taken and left end it; the text stays. */
enum typed_key typed_key(struct typed *t, const struct key *k);
/* In one row of the box, with the terminal's cursor behind it; what has no room is cut at its beginning. */
void typed_draw(const struct typed *t, struct surface *s, struct box b, int row, const char *label, const char *hint);
#endif
