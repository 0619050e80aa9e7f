/* remember_room.c - the quota of all sessions' recall index: whose index goes when it is passed.  It can be made again,
 * and is when all sessions are asked and there is room. */
#include "memory/remember_impl.h"

enum { LEAST = 4096 }; /* of less room nothing is made */

static bool note_one(void *self, uint64_t number, const struct journal_message *m)
{
    (void)number;
    (void)m;
    *(bool *)self = true;
    return false;
}

bool remember_lags(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t next)
{
    bool more = false;
    const struct journal_visit v = {.message = note_one, .self = &more};
    return journal_each(s, session, next, &v, NULL) || more;
}

/* ------------------------------------------------------------------ who goes */

struct held { /* the index of one session */
    struct recall_size size;
    size_t age; /* its place in the list of heads, of which the newest is first; SIZE_MAX: it has none */
};

static int by_age(const void *x, const void *y)
{
    const struct held *a = x, *b = y;
    return a->age != b->age ? (a->age > b->age ? -1 : 1) : 0;
}

static size_t age_of(const uint8_t *session, const struct journal_head *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(head[i].id, session, STORE_SESSION_ID) == 0) return i;
    return SIZE_MAX;
}

/* One that another process has open, or another agent, stays. */
static int let_go(struct recall *r, struct store *s, const struct held *h, uint64_t *all, struct err *err)
{
    struct store_lock lock = {0};
    if (store_lock_session(s, h->size.session, &lock, NULL)) return 0;
    store_begin(s, STORE_CACHE);
    int rc = recall_forget(r, h->size.session, err);
    if (!rc) rc = store_commit(s, err);
    if (rc) store_abort(s);
    store_unlock_session(&lock);
    if (!rc) *all -= h->size.bytes;
    return rc;
}

static int let_oldest_go(struct recall *r, struct store *s, const uint8_t *own, const struct recall_size *size,
                         size_t n, uint64_t *all, struct err *err)
{
    const uint64_t quota = recall_get_quota(r).all, most = quota - quota / 8;
    struct journal_head *head = NULL;
    struct held *held = calloc(n, sizeof *held);
    size_t heads = 0;
    if (!held) return err_set(err, STORE_NO_MEMORY, "no memory for the sizes of the recall index");
    int rc = journal_heads(s, SIZE_MAX, &head, &heads, NULL, err);
    for (size_t i = 0; i < n && !rc; i++) held[i] = (struct held){size[i], age_of(size[i].session, head, heads)};
    if (!rc) qsort(held, n, sizeof *held, by_age);
    for (size_t i = 0; i < n && !rc && *all > most; i++)
        if (memcmp(held[i].size.session, own, STORE_SESSION_ID) != 0) rc = let_go(r, s, &held[i], all, err);
    free(head);
    free(held);
    return rc;
}

int remember_room(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], bool stay, uint64_t *room,
                  struct err *err)
{
    const uint64_t quota = recall_get_quota(r).all;
    struct recall_size *size = NULL;
    uint64_t all = 0;
    size_t n = 0;
    *room = UINT64_MAX;
    if (quota == UINT64_MAX) return 0;
    int rc = recall_sizes(s, &size, &n, err);
    for (size_t i = 0; i < n; i++) all += size[i].bytes;
    if (!rc && !stay && n > 0 && (all > quota || quota - all < LEAST))
        rc = let_oldest_go(r, s, session, size, n, &all, err);
    free(size);
    *room = all < quota && quota - all >= LEAST ? quota - all : 0;
    return rc;
}
