/* window_call.c - the list of one call: composed by a plan, counted, and the plan made deeper until it fits. */
#include "memory/window_impl.h"
#include <inttypes.h>

/* ------------------------------------------------------------------ plans */

size_t window_unit_end(const struct window_state *s, size_t i)
{
    for (i++; i < s->n && s->msg[i].kind == WINDOW_RESULT; i++) {}
    return i;
}

static int64_t front_tokens(const struct window *w)
{
    int64_t sum = w->empty_tokens;
    for (size_t i = 0; i < w->n_front; i++) sum += w->front[i].tokens;
    return sum;
}

int64_t window_mark(const struct window *w, int thousandths)
{
    int64_t front = front_tokens(w), room = MAX(0, w->limit - front);
    return MIN(front, w->limit) + room * thousandths / 1000;
}

struct window_plan window_plan(const struct window *w)
{
    const struct window_state *s = &w->now;
    struct window_plan p = {.anchor = SIZE_MAX, .newest = SIZE_MAX};
    p.over = p.over_kept = MAX(0, w->limit - front_tokens(w));
    for (size_t i = s->n; i-- > 0 && p.anchor == SIZE_MAX;) {
        enum window_kind kind = (enum window_kind)s->msg[i].kind;
        if (p.newest == SIZE_MAX && kind != WINDOW_NOTE && kind != WINDOW_RESULT) p.newest = i;
        if (kind == WINDOW_USER) p.anchor = i;
    }
    return p;
}

static bool is_kept(const struct window_plan *p, size_t i) { return i == p->anchor || i == p->newest; }

bool window_gone(const struct window *w, const struct window_plan *p, size_t i)
{
    if (p->leave == 0) return false;
    return w->now.msg[i].kind == WINDOW_NOTE || (i < p->leave && !is_kept(p, i));
}

/* n: there is none. */
static size_t newest_note(const struct window_state *s)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->msg[i].kind == WINDOW_NOTE) return i;
    return s->n;
}

/* The note that moves to the front, since something leaves; n: none does. */
static size_t moving_note(const struct window *w, const struct window_plan *p)
{
    return p->leave > 0 ? newest_note(&w->now) : w->now.n;
}

struct window_ref window_gone_ref(const struct window *w, const struct window_plan *p)
{
    const struct window_state *s = &w->now;
    struct window_ref ref = {0};
    size_t note = moving_note(w, p);
    for (size_t i = 0, end; i < s->n; i = end) {
        end = window_unit_end(s, i);
        if (!window_gone(w, p, i) || i == note) continue;
        for (size_t k = i; k < end; k++)
            window_ref_add(&ref, &(struct window_ref){s->msg[k].id, s->msg[k].id, 1, s->msg[k].tokens});
    }
    if (note < s->n && s->task.id) /* the note before it makes room */
        window_ref_add(&ref, &(struct window_ref){s->task.id, s->task.id, 1, s->task.tokens});
    return ref;
}

/* ------------------------------------------------------------------ lists */

static void put(struct window_list *l, struct window_item it)
{
    if (l->items) l->items[l->n] = it;
    l->n++;
    l->sum += it.tokens;
    l->part[it.part] += it.tokens;
    l->count[it.part]++;
}

static bool stands_in(const struct window *w, const struct window_plan *p, size_t i)
{
    const struct window_message *m = &w->now.msg[i];
    if (m->stub || (p->fold_newest && i == p->newest && m->kind == WINDOW_CALL)) return true;
    bool kept = i == p->anchor || (p->newest != SIZE_MAX && i >= p->newest);
    return m->kind != WINDOW_NOTE && m->tokens > MAX(w->line_tokens, kept ? p->over_kept : p->over);
}

static struct window_ref unit_ref(const struct window_state *s, size_t i, size_t end)
{
    struct window_ref ref = {0};
    for (; i < end; i++)
        window_ref_add(&ref, &(struct window_ref){s->msg[i].id, s->msg[i].id, 1, s->msg[i].tokens});
    return ref;
}

/* A call that stands as a line takes its results with it: a result whose call is not there would be an orphan. */
static void put_unit(const struct window *w, const struct window_plan *p, size_t i, size_t end, struct window_list *l)
{
    static const enum window_part part[] = {
        [WINDOW_USER] = WINDOW_HISTORY, [WINDOW_ANSWER] = WINDOW_HISTORY, [WINDOW_CALL] = WINDOW_RESULTS,
        [WINDOW_RESULT] = WINDOW_RESULTS, [WINDOW_NOTE] = WINDOW_TASK};
    const struct window_state *s = &w->now;
    if (s->msg[i].kind == WINDOW_CALL && stands_in(w, p, i)) {
        put(l, (struct window_item){.part = WINDOW_REFERENCE, .ref = unit_ref(s, i, end), .tokens = w->line_tokens});
        return;
    }
    for (; i < end; i++) {
        struct window_item it = {.part = part[s->msg[i].kind], .id = s->msg[i].id, .tokens = s->msg[i].tokens};
        if (stands_in(w, p, i)) {
            it.ref = unit_ref(s, i, i + 1);
            it.tokens = w->line_tokens;
        }
        put(l, it);
    }
}

int64_t window_unit_sum(const struct window *w, const struct window_plan *p, size_t i, size_t end)
{
    struct window_list unit = {0};
    put_unit(w, p, i, end, &unit);
    return unit.sum;
}

/* Task, summary and the reference line: what stands between the texts of the front and the messages. */
static void put_middle(const struct window *w, const struct window_plan *p, struct window_list *l)
{
    const struct window_state *s = &w->now;
    struct window_ref gone = window_gone_ref(w, p), summed = s->summed, cut = s->cut;
    struct window_item summary = s->summary, task = s->task;
    size_t note = moving_note(w, p);
    if (note < s->n)
        task = (struct window_item){.part = WINDOW_TASK, .id = s->msg[note].id, .tokens = s->msg[note].tokens};
    if (p->summary_tokens > 0) {
        summary = (struct window_item){.part = WINDOW_SUMMARY, .tokens = p->summary_tokens};
        window_ref_add(&summed, &cut);
        window_ref_add(&summed, &gone);
        cut = (struct window_ref){0};
    } else {
        window_ref_add(&cut, &gone);
        if (p->no_summary) window_ref_add(&cut, &summed);
    }
    if (task.id) put(l, task);
    summary.ref = summed;
    if ((summary.id || p->summary_tokens > 0) && !p->no_summary) put(l, summary);
    if (cut.messages > 0)
        put(l, (struct window_item){.part = WINDOW_REFERENCE, .ref = cut, .tokens = w->line_tokens});
}

struct window_list window_compose(const struct window *w, const struct window_plan *p, size_t upto,
                                  struct window_item *items)
{
    struct window_list l = {.items = items, .sum = w->empty_tokens};
    l.part[WINDOW_SYSTEM] = w->empty_tokens;
    for (size_t i = 0; i < w->n_front; i++) put(&l, w->front[i]);
    put_middle(w, p, &l);
    for (size_t i = 0, end; i < upto; i = end) {
        end = window_unit_end(&w->now, i);
        if (!window_gone(w, p, i)) put_unit(w, p, i, end, &l);
    }
    return l;
}

/* ------------------------------------------------------------------ deeper plans */

bool window_leave_more(const struct window *w, struct window_plan *p, int64_t target)
{
    const struct window_state *s = &w->now;
    size_t note = s->task.id ? s->n : newest_note(s); /* the only one: moving it would free nothing */
    int64_t sum = 0;
    bool any = false;
    for (size_t i = p->leave, end; i < s->n; i = end) {
        end = window_unit_end(s, i);
        if (is_kept(p, i) || i == note || (any && s->msg[i].kind == WINDOW_NOTE)) continue;
        p->leave = end;
        sum = any ? sum - window_unit_sum(w, p, i, end) : window_compose(w, p, s->n, NULL).sum;
        any = true;
        if (sum <= target) break;
    }
    return any;
}

/* The sum with all out that may leave. */
static int64_t floor_sum(const struct window *w, struct window_plan p)
{
    p.leave = w->now.n;
    return window_compose(w, &p, w->now.n, NULL).sum;
}

int64_t window_target(const struct window *w, const struct window_plan *p)
{
    int64_t low = window_mark(w, w->l.low), least = floor_sum(w, *p);
    return least <= low ? low : least + (w->limit - least) / 2;
}

/* The largest of the kept messages that does not stand as a line yet, and could; 0: none. */
static int64_t largest_kept(const struct window *w, const struct window_plan *p)
{
    const struct window_state *s = &w->now;
    int64_t most = 0;
    if (p->newest == SIZE_MAX) return 0;
    if (p->anchor != SIZE_MAX && !stands_in(w, p, p->anchor)) most = s->msg[p->anchor].tokens;
    bool folded = s->msg[p->newest].kind == WINDOW_CALL && stands_in(w, p, p->newest);
    for (size_t i = p->newest; i < s->n && !folded; i++)
        if (s->msg[i].kind != WINDOW_NOTE && !stands_in(w, p, i)) most = MAX(most, s->msg[i].tokens);
    return most > w->line_tokens ? most : 0;
}

static bool fold(const struct window *w, struct window_plan *p)
{
    if (p->newest == SIZE_MAX || w->now.msg[p->newest].kind != WINDOW_CALL || stands_in(w, p, p->newest)) return false;
    p->fold_newest = true;
    return true;
}

/* skew: what the whole weighs more than its parts.  What is kept is made to fit first: else all that is older would
 * leave for a message that does not fit even then. */
static bool deepen(const struct window *w, struct window_plan *p, int64_t skew)
{
    if (floor_sum(w, *p) > w->limit - skew) {
        int64_t largest = largest_kept(w, p);
        if (largest > 0) {
            p->over_kept = MAX(w->line_tokens, largest - largest / 4 - 1);
            return true;
        }
        if (fold(w, p)) return true;
    }
    if (window_leave_more(w, p, (p->leave > 0 ? w->limit : window_target(w, p)) - skew)) return true;
    if (p->no_summary || w->now.summary.id == 0) return false;
    p->no_summary = true;
    return true;
}

static int refuse(struct window *w, const struct window_list *l, int64_t exact, struct err *err)
{
    enum window_part most = WINDOW_SYSTEM;
    for (enum window_part i = WINDOW_SYSTEM; i < WINDOW_REQUEST; i++)
        if (l->part[i] > l->part[most]) most = i;
    struct window_item text = {0};
    for (size_t i = 0; i < w->n_front; i++)
        if (w->front[i].tokens >= text.tokens) text = w->front[i];
    window_tell(w, (struct window_event){.kind = WINDOW_REFUSED, .id = text.id, .tokens = exact});
    return err_set(err, WINDOW_NEVER_FITS,
                   "the prompt needs %" PRId64 " tokens with all out that may leave, and %" PRId64
                   " is the limit (context %" PRId64 " - %" PRId64 "): the largest part is %s, %" PRId64
                   " (system %" PRId64 ", tools %" PRId64 ", pinned %" PRId64 ", task %" PRId64
                   ", the newest messages %" PRId64 "); the largest text of the front is %" PRIu64 " with %" PRId64,
                   exact, w->limit, w->l.ctx, w->reserve, window_part_name(most), l->part[most],
                   l->part[WINDOW_SYSTEM], l->part[WINDOW_TOOLS], l->part[WINDOW_PINNED], l->part[WINDOW_TASK],
                   l->part[WINDOW_HISTORY] + l->part[WINDOW_RESULTS], text.id, text.tokens);
}

/* A list in w->items that was counted and fits. */
static int fit(struct window *w, struct window_plan *p, struct window_list *l, int64_t *exact, struct err *err)
{
    int64_t skew = 0;
    for (;;) {
        *l = window_compose(w, p, w->now.n, w->items);
        struct window_plan deeper = *p;
        bool can = l->sum > w->limit - skew && deepen(w, &deeper, skew);
        if (!can) { /* it may fit by its parts; or nothing else can be done, and it may fit all the same */
            int rc = window_count_items(w, l->items, l->n, exact, err);
            if (rc || *exact <= w->limit) return rc;
            skew = *exact - MIN(l->sum, w->limit);
            if (!deepen(w, &deeper, skew)) return refuse(w, l, *exact, err);
        }
        *p = deeper;
    }
}

/* ------------------------------------------------------------------ a plan becomes the state */

void window_take_out(struct window *w, const struct window_plan *p)
{
    struct window_state *s = &w->now;
    size_t note = moving_note(w, p), kept = 0;
    if (note < s->n)
        s->task = (struct window_item){.part = WINDOW_TASK, .id = s->msg[note].id, .tokens = s->msg[note].tokens};
    for (size_t i = 0, end; i < s->n; i = end) {
        end = window_unit_end(s, i);
        bool gone = window_gone(w, p, i);
        for (size_t k = i; k < end && !gone; k++) s->msg[kept++] = s->msg[k];
    }
    s->n = kept;
}

static void mark_stubs(struct window *w, const struct window_plan *p)
{
    struct window_state *s = &w->now;
    for (size_t i = 0, end; i < s->n; i = end) {
        end = window_unit_end(s, i);
        if (window_gone(w, p, i)) continue;
        if (s->msg[i].kind == WINDOW_CALL && stands_in(w, p, i)) {
            if (!s->msg[i].stub)
                window_tell(w, (struct window_event){.kind = WINDOW_STOOD_IN, .ref = unit_ref(s, i, end)});
            s->msg[i].stub = true;
            continue;
        }
        for (size_t k = i; k < end; k++) {
            if (s->msg[k].stub || !stands_in(w, p, k)) continue;
            window_tell(w, (struct window_event){.kind = WINDOW_STOOD_IN, .ref = unit_ref(s, k, k + 1)});
            s->msg[k].stub = true;
        }
    }
}

static void apply(struct window *w, const struct window_plan *p)
{
    struct window_state *s = &w->now;
    struct window_ref gone = window_gone_ref(w, p);
    mark_stubs(w, p);
    if (p->leave > 0) {
        window_take_out(w, p);
        window_tell(w, (struct window_event){.kind = WINDOW_LEFT, .ref = gone, .tokens = gone.tokens});
        window_ref_add(&s->cut, &gone);
    }
    if (p->no_summary) {
        window_tell(w, (struct window_event){.kind = WINDOW_SUMMARY_LEFT, .ref = s->summed, .id = s->summary.id,
                                             .tokens = s->summary.tokens});
        window_ref_add(&s->cut, &s->summed);
        s->summed = (struct window_ref){0};
        s->summary = (struct window_item){0};
        s->extractive = false;
        s->before = 0;
    }
    if (p->leave == 0 && !p->no_summary) return;
    w->proposed = false;
    window_forget_undo(w);
}

/* ------------------------------------------------------------------ one call */

static bool same_item(const struct window_item *a, const struct window_item *b)
{
    return a->part == b->part && a->id == b->id && a->tokens == b->tokens && a->ref.first == b->ref.first &&
           a->ref.last == b->ref.last && a->ref.messages == b->ref.messages && a->ref.tokens == b->ref.tokens;
}

size_t window_kept(const struct window *w, const struct window_item *items, size_t n)
{
    size_t kept = 0;
    while (kept < n && kept < w->n_sent && same_item(&items[kept], &w->sent[kept])) kept++;
    return kept;
}

int window_front_tokens(const struct window *w, const struct window_item *items, size_t kept, int64_t *out,
                        struct err *err)
{
    *out = kept == w->n_sent ? w->sent_tokens : 0;
    return kept == w->n_sent || kept == 0 ? 0 : window_count_items(w, items, kept, out, err);
}

static void call_made(struct window *w, const struct window_call *c)
{
    w->calls++;
    w->breaks += c->broke;
    w->all_kept += (uint64_t)c->kept_tokens;
    w->all_sent += (uint64_t)c->tokens;
    struct window_item *old = w->sent;
    w->sent = w->items;
    w->items = old;
    w->n_sent = c->n;
    w->sent_tokens = c->tokens;
    w->thinking_closed = false;
}

int window_build(struct window *w, struct window_call *out, struct err *err)
{
    struct window_plan p = window_plan(w);
    struct window_list l;
    struct window_call c = {.limit = w->limit, .answer = w->l.answer, .thinking = w->l.thinking};
    if (c.thinking > 0) c.closes = c.thinking - w->l.closing;
    if (w->awaited > 0)
        return err_set(err, WINDOW_UNANSWERED, "%d results of the newest call lack", w->awaited);
    int rc = fit(w, &p, &l, &c.tokens, err);
    if (rc) return rc;
    c.n = l.n;
    c.kept = window_kept(w, l.items, l.n);
    c.broke = c.kept < w->n_sent;
    rc = window_front_tokens(w, l.items, c.kept, &c.kept_tokens, err);
    if (rc) return rc;
    apply(w, &p);
    call_made(w, &c);
    c.items = w->sent;
    *out = c;
    return 0;
}

void window_make_room(struct window *w, int64_t tokens)
{
    struct window_plan p = window_plan(w);
    int64_t most = w->limit - tokens;
    if (w->awaited > 0 || window_compose(w, &p, w->now.n, NULL).sum <= most) return;
    bool any = window_leave_more(w, &p, MIN(window_target(w, &p), most));
    if (any && window_compose(w, &p, w->now.n, NULL).sum <= w->limit) apply(w, &p);
}

void window_thinking_closed(struct window *w)
{
    const int64_t tokens = w->l.thinking - w->l.closing;
    if (!w->thinking_closed) window_tell(w, (struct window_event){.kind = WINDOW_THINKING_CLOSED, .tokens = tokens});
    w->thinking_closed = true;
}

/* ------------------------------------------------------------------ what somebody wants out */

static size_t find_message(const struct window_state *s, uint64_t id)
{
    size_t i = 0;
    while (i < s->n && s->msg[i].id != id) i++;
    return i;
}

static int check_drop(const struct window *w, const struct window_plan *p, uint64_t id, size_t i, struct err *err)
{
    const struct window_state *s = &w->now;
    if (i == s->n) return err_set(err, WINDOW_BAD, "m%" PRIu64 " is no message that the next call carries", id);
    if (s->msg[i].kind == WINDOW_NOTE)
        return err_set(err, WINDOW_BAD, "m%" PRIu64 " is the list of tasks, which every call carries", id);
    if (i == p->anchor)
        return err_set(err, WINDOW_BAD, "m%" PRIu64 " opened the present turn, which needs it", id);
    size_t call = i;
    while (call > 0 && s->msg[call].kind == WINDOW_RESULT) call--;
    if (s->msg[i].stub || s->msg[call].stub || (call < i && stands_in(w, p, call)))
        return err_set(err, WINDOW_BAD, "m%" PRIu64 " stands as a line already", id);
    return 0;
}

int window_drop(struct window *w, uint64_t id, int64_t *freed, struct err *err)
{
    struct window_plan p = window_plan(w);
    struct window_state *s = &w->now;
    size_t i = find_message(s, id);
    int rc = check_drop(w, &p, id, i, err);
    if (rc) return rc;
    size_t end = s->msg[i].kind == WINDOW_CALL ? window_unit_end(s, i) : i + 1;
    struct window_ref ref = unit_ref(s, i, end);
    int64_t gain = window_unit_sum(w, &p, i, end) - w->line_tokens;
    if (gain <= 0)
        return err_set(err, WINDOW_NO_GAIN, "m%" PRIu64 " has %" PRId64 " tokens, and the line in its place up to %"
                       PRId64, id, ref.tokens, w->line_tokens);
    s->msg[i].stub = true;
    size_t old = w->can_undo ? find_message(&w->saved, id) : 0;
    if (w->can_undo && old < w->saved.n) w->saved.msg[old].stub = true; /* a summary taken back does not undo this */
    w->proposed = false;
    if (freed) *freed = gain;
    window_tell(w, (struct window_event){.kind = WINDOW_DROPPED, .ref = ref, .tokens = gain});
    return 0;
}

int window_clear(struct window *w, struct err *err)
{
    struct window_plan p = window_plan(w);
    if (!window_leave_more(w, &p, 0)) return err_set(err, WINDOW_NO_GAIN, "nothing is there that can leave");
    apply(w, &p);
    return 0;
}
