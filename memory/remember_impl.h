/* remember_impl.h - what the files of remember.h know of each other. */
#ifndef REMEMBER_IMPL_H
#define REMEMBER_IMPL_H
#include "memory/remember.h"

/* q->matched, and q->why: the terms that the hit has, and their shares. */
void remember_say_why(const struct recall_result *res, const struct recall_hit *h, struct remember_quote *q);

/* How many bytes may still go into the index of all sessions, in *room; 0: none; UINT64_MAX: it has no quota.  Unless
 * `stay`, what others have in it makes room for this session. */
int remember_room(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], bool stay, uint64_t *room,
                  struct err *err);

/* Whether the journal has messages from this number on. */
bool remember_lags(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t next);
#endif
