/* recall_merge.c - segments become one, and what was removed stays behind. */
#include "memory/recall_impl.h"

/* ------------------------------------------------------------------ which */

static int tier(const struct segment *g)
{
    int t = 0;
    while (t < TIERS && g->bytes >= (uint64_t)TIER_BYTES << 2 * t) t++;
    return t;
}

/* The places in ix of the segments to merge.  How many: FAN of a tier, one alone to be cleaned, or none. */
static int choose(const struct index *ix, uint32_t which[FAN])
{
    for (uint32_t i = 0; i < ix->n; i++)
        if (ix->segment[i].unclean) {
            which[0] = i;
            return 1;
        }
    for (int t = 0; t < TIERS; t++) {
        int n = 0;
        for (uint32_t i = 0; i < ix->n && n < FAN; i++)
            if (tier(&ix->segment[i]) == t) which[n++] = i;
        if (n == FAN) return FAN;
    }
    return 0;
}

/* ------------------------------------------------------------------ how */

/* The reader that is first in order, of those that are open; -1: none is. */
static int lowest(const struct recall *r, const int *open, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        const struct reader *a = &r->reader[i], *b = best < 0 ? NULL : &r->reader[best];
        if (open[i] <= 0) continue;
        int order = b ? memcmp(a->term, b->term, MIN(a->term_len, b->term_len)) : -1;
        if (order == 0) order = (a->term_len > b->term_len) - (a->term_len < b->term_len);
        if (order < 0 || (order == 0 && a->now.doc < b->now.doc)) best = i;
    }
    return best;
}

static int copy(struct recall *r, const struct reader *rd, struct err *err)
{
    struct writer *w = &r->writer;
    bool dead = false;
    int rc = rd->segment.unclean ? recall_is_dead(r, r->ix.session, rd->now.doc, &dead, err) : 0;
    if (rc || dead) return rc;
    if (w->term_len != rd->term_len || memcmp(w->term, rd->term, rd->term_len) != 0)
        rc = recall_write_term(w, rd->term, rd->term_len, err);
    return rc ? rc : recall_write(w, &rd->now, err);
}

static int merge(struct recall *r, const uint32_t *which, int n, struct err *err)
{
    int open[FAN] = {0}, rc = 0;
    recall_writer_open(&r->writer, r->store, &r->ix);
    for (int i = 0; i < n && rc >= 0; i++)
        rc = open[i] = recall_read_first(&r->reader[i], r->store, r->ix.session, &r->ix.segment[which[i]], err);
    for (int i; rc >= 0 && (i = lowest(r, open, n)) >= 0;) {
        rc = copy(r, &r->reader[i], err);
        if (!rc) rc = open[i] = recall_read_on(&r->reader[i], err);
    }
    return rc < 0 ? rc : recall_writer_close(&r->writer, err);
}

/* The merged ones' blocks, and when nothing removed is left the list of what was. */
static int clear_away(struct recall *r, const uint32_t *which, int n, struct err *err)
{
    struct index *ix = &r->ix;
    bool was_unclean = ix->segment[which[0]].unclean, unclean = false;
    int rc = 0;
    for (int i = n; !rc && i-- > 0;) { /* from behind: places before stay what they are */
        struct store_key front = recall_key('b', ix->session);
        recall_key_add(&front, ix->segment[which[i]].number, 4);
        rc = recall_sweep(r, &front, err);
        memmove(&ix->segment[which[i]], &ix->segment[which[i] + 1], (ix->n - which[i] - 1) * sizeof *ix->segment);
        ix->n--;
    }
    for (uint32_t i = 0; i < ix->n; i++) unclean = unclean || ix->segment[i].unclean;
    if (rc || !was_unclean || unclean) return rc;
    struct store_key front = recall_key('x', ix->session);
    return recall_sweep(r, &front, err);
}

int recall_merge_step(struct recall *r, struct err *err)
{
    uint32_t which[FAN];
    int n = choose(&r->ix, which);
    if (n == 0) return 0;
    r->dead.n = 0;
    int rc = merge(r, which, n, err);
    if (!rc) rc = clear_away(r, which, n, err);
    if (rc) return rc;
    if (r->writer.segment.blocks > 0) r->ix.segment[r->ix.n++] = r->writer.segment;
    return 1;
}
