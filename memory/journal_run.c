/* journal_run.c - the runs of crews among the sessions: found, and put together in a list. */
#include "memory/journal_impl.h"

/* ------------------------------------------------------------------ found */

struct newest {
    const char *crew;
    bool any;
    struct journal_head head;
};

static bool look(void *self, const uint8_t session[STORE_SESSION_ID], uint64_t number, const struct rec *r)
{
    struct newest *f = self;
    struct journal_head h;
    (void)number;
    if (journal_read_head(session, (const char *)r->body, r->len, &h) || !journal_is_run(&h)) return true;
    if (strcmp(h.run.crew, f->crew) != 0 || (f->any && h.updated_ms <= f->head.updated_ms)) return true;
    f->head = h;
    f->any = true;
    return true;
}

static int find_last(struct store *s, const char *crew, struct journal_head *out, struct err *err)
{
    struct newest f = {.crew = crew};
    int rc = store_each_session(s, &(struct store_visit){look, NULL, &f}, err);
    if (rc) return rc;
    if (!f.any) return err_set(err, STORE_NOT_FOUND, "no run of the crew %s is saved yet", crew);
    *out = f.head;
    return 0;
}

int journal_find_run(struct store *s, const char *prefix, const char *crew, struct journal_head *out, struct err *err)
{
    struct journal_head h;
    char id[2 * STORE_SESSION_ID + 1];
    if (strcmp(prefix, "last") == 0) return find_last(s, crew, out, err);
    int rc = journal_find(s, prefix, &h, err);
    if (rc) return rc;
    journal_id_text(h.id, id);
    if (!journal_in_run(&h))
        return err_set(err, STORE_NOT_FOUND, "session %.8s is of no crew: --resume %.8s without --crew goes on with it",
                       id, id);
    if (strcmp(h.run.crew, crew) != 0)
        return err_set(err, STORE_NOT_FOUND, "session %.8s is of the crew %s, and this is %s", id, h.run.crew, crew);
    rc = journal_head(s, h.run.id, out, err);
    if (rc != STORE_NOT_FOUND) return rc;
    return err_set(err, rc, "the record of the run that session %.8s is of was deleted: --resume %.8s without --crew "
                   "goes on with it alone", id, id);
}

/* ------------------------------------------------------------------ put together */

struct place {
    const struct journal_head *h;
    size_t at, first; /* in the list; of its run, the first */
};

static int by_run(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    const int order = memcmp(p->h->run.id, q->h->run.id, sizeof p->h->run.id);
    return order ? order : (p->at > q->at) - (p->at < q->at);
}

static int by_place(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    if (p->first != q->first) return p->first > q->first ? 1 : -1;
    if (journal_is_run(p->h) != journal_is_run(q->h)) return journal_is_run(p->h) ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

int journal_group(const struct journal_head *h, size_t n, size_t *order, bool *below)
{
    struct place *p = calloc(n + 1, sizeof *p);
    bool record = false;
    if (!p) return -1;
    for (size_t i = 0; i < n; i++) p[i] = (struct place){h + i, i, i};
    qsort(p, n, sizeof *p, by_run);
    for (size_t i = 1; i < n; i++)
        if (journal_in_run(p[i].h) && memcmp(p[i].h->run.id, p[i - 1].h->run.id, sizeof p[i].h->run.id) == 0)
            p[i].first = p[i - 1].first;
    qsort(p, n, sizeof *p, by_place);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || p[i].first != p[i - 1].first) record = journal_is_run(p[i].h);
        order[i] = p[i].at;
        below[i] = record && !journal_is_run(p[i].h);
    }
    free(p);
    return 0;
}
