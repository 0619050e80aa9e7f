/* admit.c - who is next, what is promised, and who makes room when a promise was too small. */
#include "engine/sched_impl.h"

/* ------------------------------------------------------------------ rank */

/* 2: parked; 1: overtaken as often as may be; 0: all others. */
static int rank(const struct request_live *q)
{
    if (q->state == REQUEST_PARKED) return 2;
    return q->state == REQUEST_WAITING && q->overtaken >= SCHED_OVERTAKEN;
}

bool admit_before(const struct request_live *a, const struct request_live *b)
{
    if (rank(a) != rank(b)) return rank(a) > rank(b);
    if (rank(a) != 1 && a->priority != b->priority) return a->priority > b->priority;
    return a->submitted < b->submitted;
}

/* The next in rank after `after` (NULL: the first) of those who want in. */
static struct request_live *next_in_rank(const struct sched *s, const struct request_live *after)
{
    struct request_live *next = NULL;
    for (int i = 0; i < s->places && s->waiting + s->parked > 0; i++) {
        struct request_live *q = s->all[i];
        if (!q || (q->state != REQUEST_WAITING && q->state != REQUEST_PARKED)) continue;
        if (after && !admit_before(after, q)) continue;
        if (!next || admit_before(q, next)) next = q;
    }
    return next;
}

struct request_live *admit_first(const struct sched *s) { return next_in_rank(s, NULL); }

bool admit_must_go_first(const struct request_live *q) { return rank(q) > 0; }

/* ------------------------------------------------------------------ fronts */

/* Scores want every row, and so does a mean. */
static bool may_share(const struct sched *s, const struct request_live *q)
{
    return !q->score && q->pool != POOL_MEAN && !q->fresh && !naive_pages(s);
}

/* Tokens that both begin with, but for q's last. */
static int same_front(const struct request_live *r, const struct request_live *q)
{
    int most = MIN(r->a.n_prompt, q->a.n_prompt - 1), same = 0;
    while (same < most && r->ids[same] == q->ids[same]) same++;
    return same;
}

/* Computing the same pages twice in the same passes would take as long as waiting, and twice the room. */
const struct request_live *admit_front_of(const struct sched *s, const struct request_live *q)
{
    if (!may_share(s, q)) return NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        const struct request_live *r = s->slot[i];
        if (!r || r->computed >= r->a.n_prompt) continue;
        if (same_front(r, q) / KERN_PAGE > r->computed / KERN_PAGE) return r;
    }
    return NULL;
}

/* q waits for what r computes: a state is left where q will go on from it. */
static void leave_state(const struct sched *s, struct request_live *r, const struct request_live *q)
{
    const int at = same_front(r, q) / KERN_PAGE * KERN_PAGE;
    if (sched_has_states(s)) r->cut = r->cut > r->computed ? MIN(r->cut, at) : at;
}

/* ------------------------------------------------------------------ letting in */

/* Tokens that are promised at first: all that it can need, or what may be expected of it. */
static int promise_for(const struct sched *s, const struct request_live *q)
{
    int most = q->a.n_prompt + q->a.max_tokens;
    if (!s->cfg.overcommit) return most;
    int expected = s->answer_mean < 0 ? q->a.max_tokens / 4 : (int)MIN(s->answer_mean, (double)q->a.max_tokens);
    return MIN(most, MAX(q->n_ids, q->a.n_prompt + expected) + KERN_PAGE);
}

void admit_asks(const struct sched *s, const struct request_live *q, struct kv_ask *out)
{
    *out = (struct kv_ask){.tokens = promise_for(s, q), .most = q->a.n_prompt + q->a.max_tokens,
                           .ids = may_share(s, q) ? q->ids : NULL, .n = q->n_ids, .kind = q->kind, .agent = q->agent};
    /* What over-commit leaves to the running ones when it lets another in: the watermark.  Other groups have room. */
    if (s->cfg.overcommit && s->running > 0) out->spare[0] = MAX(s->cfg.group[0].pages / 16, 1);
}

static bool take_pages(struct sched *s, struct request_live *q, int slot, int *shared)
{
    struct kv_ask ask;
    admit_asks(s, q, &ask);
    return naive_on(s) ? naive_admit(s, q, slot, &ask, shared) : kv_admit(s->kv, slot, &ask, shared);
}

static const int32_t *row_of(const struct sched *s, const struct request_live *q, int group)
{
    return kv_table(s->kv, group) + (size_t)q->slot * (size_t)kv_stride(s->kv);
}

/* Of a group, that a sequence of so many tokens goes on with: pages before are not parked. */
static int first_page(const struct sched *s, int group, int tokens)
{
    return kv_first(s->cfg.group[group].window, tokens);
}

/* The pages of a parked request come back: those that are still known are shared, the others copied.  All are shared,
 * and nothing is copied, if another computed the same front further meanwhile. */
static void load_pages(struct sched *s, struct request_live *q, int shared)
{
    int place = q->park_first, tokens = q->high;
    struct err why = {0};
    kv_restore(s->kv, q->slot, tokens);
    for (int g = 0; g < s->cfg.groups; g++) {
        const int32_t *row = row_of(s, q, g);
        for (int i = first_page(s, g, tokens); i < kv_pages_for(tokens); i++, place = s->park.next[place]) {
            if (i < shared / KERN_PAGE) continue;
            if (!s->cfg.runner.load_page(s->cfg.runner.self, g, row[i], park_at(&s->park, place), &why)) continue;
            request_end(q, END_FAULT, why.text);
            s->trouble = why;
            return;
        }
    }
    q->computed = tokens;
}

static void resume(struct sched *s, struct request_live *q, int shared)
{
    s->parked--;
    s->resumes++;
    if (q->park_first >= 0 && q->high > shared) load_pages(s, q, shared);
    park_give(&s->park, q->park_first);
    q->park_first = -1;
}

/* false: there is no room for it now. */
static bool admit_one(struct sched *s, struct request_live *q)
{
    int slot = 0, shared;
    if (s->running == s->cfg.max_seqs) return false;
    while (s->slot[slot]) slot++;
    if (!take_pages(s, q, slot, &shared)) return false;
    bool was_parked = q->state == REQUEST_PARKED;
    s->slot[slot] = q;
    s->running++;
    q->state = REQUEST_RUNNING;
    q->slot = slot;
    q->computed = shared;
    q->cut = kv_front(s->kv, slot);
    if (!q->admitted) { /* a resumed one keeps its place */
        s->waiting--;
        q->admitted = ++s->admissions;
        q->a.n_shared = shared;
        atomic_store_explicit(&q->a.n_prefilled, shared, memory_order_release);
        q->high = shared;
        if (s->cfg.runner.start) s->cfg.runner.start(s->cfg.runner.self, q->place, &q->a);
    }
    if (was_parked) resume(s, q, shared);
    return true;
}

/* Those who came before q, and still wait, were overtaken. */
static void count_overtaken(struct sched *s, const struct request_live *q)
{
    for (int i = 0; i < s->places; i++) {
        struct request_live *r = s->all[i];
        if (r && r->state == REQUEST_WAITING && r->submitted < q->submitted) r->overtaken++;
    }
}

static bool admit_and_tell(struct sched *s, struct request_live *q, struct events *e)
{
    bool was_parked = q->state == REQUEST_PARKED;
    if (!admit_one(s, q)) return false;
    if (was_parked) {
        sched_tell(e, ENGINE_RESUMED, q);
        if (atomic_load_explicit(&q->a.end, memory_order_relaxed) != END_NONE) sched_leave(s, q);
        return true;
    }
    q->told_admitted = sched_tell(e, ENGINE_ADMITTED, q);
    count_overtaken(s, q);
    return true;
}

void admit_all(struct sched *s, struct events *e)
{
    if (!s->look) return;
    s->look = false;
    if (!naive_look(s)) return;
    struct request_live *last = NULL;
    for (struct request_live *q; !naive_closed(s) && s->running < s->cfg.max_seqs && (q = next_in_rank(s, last));) {
        bool first = rank(q) > 0;
        const struct request_live *front = first ? NULL : admit_front_of(s, q);
        if (front) {
            leave_state(s, s->slot[front->slot], q);
            last = q;
        } else if (admit_and_tell(s, q, e)) {
            last = NULL; /* someone may have been overtaken often enough by now */
        } else {
            if (first) return;
            last = q;
        }
    }
}

bool admit_now(struct sched *s, struct request_live *q)
{
    if (!naive_look(s) || next_in_rank(s, NULL) != q || admit_front_of(s, q) || !admit_one(s, q)) return false;
    count_overtaken(s, q);
    return true;
}

/* ------------------------------------------------------------------ making room */

/* The last in rank of those that run; all of them are REQUEST_RUNNING, so priority and age decide. */
static struct request_live *last_in_rank(const struct sched *s)
{
    struct request_live *last = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        if (q && (!last || admit_before(last, q))) last = q;
    }
    return last;
}

static struct request_live *next_running(const struct sched *s, const struct request_live *after)
{
    struct request_live *next = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        if (q && (!after || admit_before(after, q)) && (!next || admit_before(q, next))) next = q;
    }
    return next;
}

/* Copy its pages to host memory; without room there, or when that fails, they will be computed again (or that is its
 * end, with park_copies), and so are states, which may still be known. */
static void save_pages(struct sched *s, struct request_live *q)
{
    const struct runner *r = &s->cfg.runner;
    int pages = 0, end = kv_pages_for(q->computed);
    for (int g = 0; g < s->cfg.groups; g++) pages += end - first_page(s, g, q->computed);
    q->park_first = r->save_page && r->load_page && !sched_has_states(s) ? park_take(&s->park, pages) : -1;
    for (int g = 0, place = q->park_first; place >= 0 && g < s->cfg.groups; g++) {
        const int32_t *row = row_of(s, q, g);
        for (int i = first_page(s, g, q->computed); i < end; i++, place = s->park.next[place]) {
            struct err why;
            if (!r->save_page(r->self, g, row[i], park_at(&s->park, place), &why)) continue;
            park_give(&s->park, q->park_first);
            q->park_first = -1;
            return;
        }
    }
}

static void park(struct sched *s, struct request_live *q, struct events *e)
{
    q->high = MAX(q->high, q->computed);
    if (q->computed == q->high) save_pages(s, q); /* one that is being computed again is not worth the copy */
    if (s->cfg.park_copies && q->park_first < 0 && q->computed > 0) {
        request_end(q, END_FAULT, "its pages could not be copied when others needed them (--overcommit)");
        sched_leave(s, q);
        return;
    }
    kv_drop(s->kv, q->slot);
    s->slot[q->slot] = NULL;
    s->running--;
    s->parked++;
    s->parkings++;
    q->state = REQUEST_PARKED;
    s->look = true;
    sched_tell(e, ENGINE_PARKED, q);
}

/* From the first in rank to the last: the first is always served, since alone it fits the pool. */
void admit_make_room(struct sched *s, struct events *e)
{
    if (!s->cfg.overcommit) return;
    struct request_live *last = NULL;
    for (struct request_live *q; (q = next_running(s, last));) {
        last = q;
        while (q->state == REQUEST_RUNNING && !kv_promise(s->kv, q->slot, q->n_ids)) park(s, last_in_rank(s), e);
        if (q->state != REQUEST_RUNNING) return; /* it was the last itself */
    }
}
