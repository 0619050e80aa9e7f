/* desk_impl.h - what desk.c and desk_past.c share. */
#ifndef DESK_IMPL_H
#define DESK_IMPL_H
#include "app/console.h"
#include "app/tui/bridge.h"

/* What was said before in the current agent's session, as news, if it is another session than `shown` (its id) or has
 * fewer turns than it had: resumed, forked, taken back.  The newest PAST_MESSAGES of it. */
enum { PAST_MESSAGES = 1000 };
void desk_tell_past(struct console *c, struct bridge *b, char shown[2 * STORE_SESSION_ID + 1], uint32_t *turns);
bool session_saves(const struct session *s);
#endif
