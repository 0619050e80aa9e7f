/* window_compact.c - compaction: proposed, committed or given up, and undone. */
#include "memory/window_impl.h"
#include <inttypes.h>

void window_forget_undo(struct window *w)
{
    free(w->saved.msg);
    w->saved = (struct window_state){0};
    w->can_undo = false;
}

static int64_t used(const struct window *w)
{
    struct window_plan p = window_plan(w);
    return window_compose(w, &p, w->now.n, NULL).sum;
}

/* Nothing more is due until half of what is left is filled: attempts in vain become few, whatever their reason. */
static void hold(struct window *w)
{
    int64_t u = used(w);
    w->hold = u + MAX(0, w->limit - u) / 2;
}

void window_hold(struct window *w, const struct window_ref *range)
{
    hold(w);
    window_tell(w, (struct window_event){.kind = WINDOW_IN_VAIN, .ref = *range, .tokens = used(w)});
}

bool window_due(const struct window *w)
{
    int64_t u = used(w);
    return w->l.summary > 0 && !w->proposed && u > window_mark(w, w->l.high) && u > w->hold;
}

/* ------------------------------------------------------------------ propose */

/* The most that a summary may weigh as a message: its text, and what is written around such a line. */
static int64_t summary_room(const struct window *w) { return w->l.summary + w->line_tokens; }

struct window_plan window_compaction_plan(const struct window *w, bool *any)
{
    struct window_plan p = window_plan(w);
    *any = false;
    if (w->l.summary == 0) return p;
    p.summary_tokens = summary_room(w);
    *any = window_leave_more(w, &p, window_target(w, &p)) && window_gone_ref(w, &p).messages > 0;
    return p;
}

/* The list up to a message, as it stands, and the request behind it. */
static struct window_list exchange(const struct window *w, size_t upto)
{
    struct window_plan p = window_plan(w);
    struct window_list l = window_compose(w, &p, upto, w->items);
    l.items[l.n++] = (struct window_item){.part = WINDOW_REQUEST, .tokens = w->request_tokens};
    l.sum += w->request_tokens;
    return l;
}

/* The end of the last message before `end` up to which such a list is at most so large by its parts. */
static size_t longest(const struct window *w, size_t end, int64_t most)
{
    struct window_plan p = window_plan(w);
    int64_t sum = window_compose(w, &p, 0, NULL).sum + w->request_tokens;
    size_t fits = 0;
    for (size_t i = 0, next; i < end; i = next) {
        next = window_unit_end(&w->now, i);
        sum += window_unit_sum(w, &p, i, next);
        if (sum > most) break;
        fits = next;
    }
    return fits;
}

/* The longest list, of at most p->leave messages, that can be sent with room for a summary; p->leave is then its
 * length.  n = 0: there is none with something in it that would leave; p is as it was. */
static int fit_exchange(struct window *w, struct window_plan *p, struct window_list *l, int64_t *tokens,
                        struct err *err)
{
    int64_t most = w->l.ctx - w->l.summary, skew = 0;
    struct window_plan shorter = *p;
    for (shorter.leave = longest(w, p->leave, most); window_gone_ref(w, &shorter).messages > 0;
         shorter.leave = longest(w, shorter.leave, MIN(most - skew, l->sum - 1))) {
        *l = exchange(w, shorter.leave);
        int rc = window_count_items(w, l->items, l->n, tokens, err);
        if (rc) return rc;
        if (*tokens <= most) {
            *p = shorter;
            return 0;
        }
        skew = *tokens - l->sum;
    }
    *l = (struct window_list){0};
    *tokens = 0;
    return 0;
}

/* The tokens of the exchange that the last call did not have at its front. */
static int prefill(const struct window *w, const struct window_list *l, int64_t tokens, int64_t *out, struct err *err)
{
    int64_t known = 0;
    int rc = window_front_tokens(w, l->items, window_kept(w, l->items, l->n), &known, err);
    *out = MAX(0, tokens - known);
    return rc;
}

int window_propose(struct window *w, struct window_proposal *out, struct err *err)
{
    bool any;
    struct window_list l;
    struct window_proposal o = {.cut = w->now.cut, .summary = w->now.summary.id, .max_tokens = w->l.summary};
    if (w->l.summary == 0) return err_set(err, WINDOW_NO_GAIN, "this window is too small for summaries");
    if (w->proposed) return err_set(err, WINDOW_BUSY, "a compaction is under way");
    if (w->awaited > 0) return err_set(err, WINDOW_UNANSWERED, "%d results of the newest call lack", w->awaited);
    struct window_plan p = window_compaction_plan(w, &any);
    if (!any) {
        window_hold(w, &(struct window_ref){0});
        return err_set(err, WINDOW_NO_GAIN, "nothing can leave: of %" PRId64 " tokens all is front or newest", used(w));
    }
    int rc = fit_exchange(w, &p, &l, &o.tokens, err);
    if (rc == 0 && l.n > 0) rc = prefill(w, &l, o.tokens, &o.prefill, err);
    if (rc) return rc;
    o.items = l.items;
    o.n = l.n;
    o.range = window_gone_ref(w, &p);
    o.frees = used(w) - window_compose(w, &p, w->now.n, NULL).sum;
    w->proposal = p;
    w->proposed = true;
    *out = o;
    return 0;
}

/* ------------------------------------------------------------------ commit */

/* What a summary takes the place of, in tokens: what leaves, the summary before, the reference line. */
static int64_t replaced(const struct window *w)
{
    struct window_plan p = w->proposal;
    p.summary_tokens = 1;
    return used(w) - window_compose(w, &p, w->now.n, NULL).sum + 1;
}

static int check_summary(const struct window *w, int64_t tokens, size_t items, struct err *err)
{
    int64_t before = replaced(w);
    if (items == 0) return err_set(err, WINDOW_NO_GAIN, "the summary is empty");
    if (tokens > summary_room(w))
        return err_set(err, WINDOW_NO_GAIN, "the summary has %" PRId64 " tokens, the most is %" PRId64, tokens,
                       summary_room(w));
    if (tokens <= before / 1000 * (1000 - w->l.gain) + before % 1000 * (1000 - w->l.gain) / 1000) return 0;
    return err_set(err, WINDOW_NO_GAIN,
                   "the summary has %" PRId64 " tokens in place of %" PRId64 ", not smaller by %d thousandths", tokens,
                   before, w->l.gain);
}

/* A copy of the state, for undo. */
static int save(struct window *w, struct window_state *copy, struct err *err)
{
    *copy = w->now;
    copy->cap = MAX(w->now.n, (size_t)1);
    copy->last_id = w->last_id;
    copy->msg = malloc(copy->cap * sizeof *copy->msg);
    if (!copy->msg) return err_set(err, WINDOW_NO_MEMORY, "no memory to keep the state before a compaction");
    if (w->now.n > 0) memcpy(copy->msg, w->now.msg, w->now.n * sizeof *copy->msg);
    return 0;
}

int window_commit(struct window *w, uint64_t id, size_t items, bool extractive, struct err *err)
{
    if (!w->proposed) return err_set(err, WINDOW_STALE, "no compaction is under way, or what it was about has changed");
    if (id == 0) return err_set(err, WINDOW_BAD, "a summary's text has an id");
    struct window_state *s = &w->now, copy;
    struct window_ref gone = window_gone_ref(w, &w->proposal), summed = s->summed;
    window_ref_add(&summed, &s->cut);
    window_ref_add(&summed, &gone);
    struct window_item it = {.part = WINDOW_SUMMARY, .id = id, .ref = summed};
    int rc = window_weigh(w, &it, err);
    if (rc == 0) rc = check_summary(w, it.tokens, items, err);
    if (rc == 0) rc = save(w, &copy, err);
    if (rc) return rc;
    int64_t before = used(w);
    window_take_out(w, &w->proposal);
    s->before = s->summary.id;
    s->summary = it;
    s->summed = summed;
    s->cut = (struct window_ref){0};
    s->extractive = extractive;
    window_forget_undo(w);
    w->saved = copy;
    w->can_undo = true;
    w->proposed = false;
    w->compactions++;
    w->hold = 0;
    window_tell(w, (struct window_event){.kind = extractive ? WINDOW_EXTRACTED : WINDOW_COMPACTED, .ref = gone,
                                         .id = id, .tokens = before - used(w)});
    if (used(w) > window_mark(w, w->l.high)) window_hold(w, &gone);
    return 0;
}

void window_abandon(struct window *w)
{
    if (!w->proposed) return;
    struct window_ref range = window_gone_ref(w, &w->proposal);
    w->proposed = false;
    window_hold(w, &range);
}

/* ------------------------------------------------------------------ undo */

/* What was there before the commit, and what has come since. */
static int restored(struct window *w, struct window_state *out, struct err *err)
{
    const struct window_state *s = &w->now, *old = &w->saved;
    size_t first = s->n;
    while (first > 0 && s->msg[first - 1].id > old->last_id) first--;
    size_t n = old->n + (s->n - first);
    *out = *old;
    out->msg = NULL;
    out->cap = 0;
    int rc = window_room(w, out, n, err);
    if (rc) return rc;
    memcpy(out->msg, old->msg, old->n * sizeof *out->msg);
    if (s->n > first) memcpy(out->msg + old->n, s->msg + first, (s->n - first) * sizeof *out->msg);
    out->n = n;
    return 0;
}

int window_undo(struct window *w, struct err *err)
{
    struct window_state back;
    if (!w->can_undo && w->now.summary.id)
        return err_set(err, WINDOW_STALE, "what this summary took the place of is not kept: more has left since");
    if (!w->can_undo) return err_set(err, WINDOW_STALE, "no compaction is there to be undone");
    int rc = restored(w, &back, err);
    if (rc) return rc;
    struct window_event e = {.kind = WINDOW_UNDONE, .ref = w->now.summed, .id = w->now.summary.id};
    free(w->now.msg);
    w->now = back;
    window_forget_undo(w);
    w->proposed = false;
    hold(w);
    e.tokens = used(w);
    window_tell(w, e);
    return 0;
}
