/* remember_others.c - sessions that nobody has open: what of them is not in the index goes in when all are asked. */
#include "memory/remember_impl.h"

static uint64_t chunks(struct recall *r, const uint8_t session[STORE_SESSION_ID])
{
    struct recall_stat st;
    return recall_stat(r, session, &st, NULL) ? 0 : st.docs;
}

/* Whether the journal has messages that the index has not. */
static bool lags(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID])
{
    struct recall_stat st;
    return remember_lags(s, session, recall_stat(r, session, &st, NULL) ? 0 : st.next);
}

/* A slice of it, which is taken off *most.  false: something is left. */
static bool bring_up(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t *most,
                     struct remember_others *o)
{
    struct store_lock lock = {0};
    struct remember_at at = {0};
    const uint64_t before = chunks(r, session);
    if (store_lock_session(s, session, &lock, NULL)) return false;
    if (o->at.more && memcmp(o->session, session, sizeof o->session) == 0) at = o->at;
    at.stay = true; /* else each would push out the one before it */
    int rc = remember_slice(r, s, session, *most, &at, NULL);
    store_unlock_session(&lock);
    const uint64_t after = MAX(chunks(r, session), before);
    o->full |= at.full;
    *most = at.more || at.full ? 0 : *most - MIN(*most, (after - before) * RECALL_CHUNK);
    if (rc || !(at.more || at.full)) return rc == 0;
    memcpy(o->session, session, sizeof o->session);
    o->at = at;
    return false;
}

int remember_others(struct recall *r, struct store *s, const uint8_t own[STORE_SESSION_ID], uint64_t most,
                    struct remember_others *o, unsigned *left, struct err *err)
{
    struct journal_head *head = NULL;
    size_t n = 0;
    *left = 0;
    o->full = false;
    int rc = journal_heads(s, SIZE_MAX, &head, &n, NULL, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const uint8_t *id = head[i].id;
        if (journal_is_run(&head[i]) || memcmp(id, own, STORE_SESSION_ID) == 0 || !lags(r, s, id)) continue;
        if (most == 0 || !bring_up(r, s, id, &most, o)) ++*left;
    }
    free(head);
    return rc;
}
