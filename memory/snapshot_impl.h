/* snapshot_impl.h - what the two files of snapshot.h know of each other. */
#ifndef SNAPSHOT_IMPL_H
#define SNAPSHOT_IMPL_H
#include "memory/snapshot.h"

enum {
    SNAP_KEY = 2 + 2 * SNAP_NAME,    /* 'K', 'k' or 's', identity, name of a page or session */
    SNAP_PAGE_HEAD = SNAP_NAME + 8,  /* name before, tokens, bytes; then the tokens and the page */
    SNAP_HEAD_MAX = SNAP_PAGE_HEAD + 4 * SNAP_TOKENS_MAX,
    SNAP_USE_HEAD = 12,              /* generation, pages; then their names */
};

struct store_key snap_key(char letter, const uint8_t identity[SNAP_NAME], const uint8_t name[SNAP_NAME]);
int snap_finish(struct snap *s, int rc, struct err *err); /* commits what is pending if rc is 0, or drops it */
uint64_t snap_cost(size_t value); /* bytes of the file that a record takes */

/* snapshot_quota.c: the newest generation that any session has; and records removed until the quotas are kept. */
int snap_newest(struct snap *s, uint64_t *generation, struct err *err);
int snap_keep_quota(struct snap *s, const uint8_t session[STORE_SESSION_ID], struct err *err);
#endif
