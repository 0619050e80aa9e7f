/* window.c - the window's state: what was said, the texts of the front, events and figures. */
#include "memory/window.h"
#include "memory/forms.h"
#include "memory/window_impl.h"
#include <inttypes.h>

const char *window_part_name(enum window_part p)
{
    static const char *const name[WINDOW_PARTS] = {"system",    "tools",   "pinned",       "task",   "summary",
                                                   "reference", "history", "tool results", "request"};
    assert(p < WINDOW_PARTS);
    return name[p];
}

int window_count_items(const struct window *w, const struct window_item *items, size_t n, int64_t *out,
                       struct err *err)
{
    int64_t t = -1;
    if (w->counter.tokens(w->counter.self, items, n, &t))
        return err_set(err, WINDOW_COUNT_FAILED, "the tokens of a prompt could not be counted");
    if (t < 0 || t > WINDOW_MOST_TOKENS)
        return err_set(err, WINDOW_COUNT_FAILED, "a prompt was counted as %" PRId64 " tokens", t);
    *out = t;
    return 0;
}

int window_weigh(const struct window *w, struct window_item *it, struct err *err)
{
    int64_t t = 0;
    int rc = window_count_items(w, it, 1, &t, err);
    if (rc == 0) it->tokens = MAX(0, t - w->empty_tokens);
    return rc;
}

/* ------------------------------------------------------------------ open and close */

static int check_limits(const struct window_limits *l, struct err *err)
{
    const struct { const char *name; int64_t value, least, most; } field[] = {
        {"the context's size", l->ctx, 1, WINDOW_MOST_TOKENS},
        {"the reserve for the answer", l->answer, 1, WINDOW_MOST_TOKENS},
        {"the reserve for thinking", l->thinking, 0, WINDOW_MOST_TOKENS},
        {"the tag that ends thinking", l->closing, 0, l->thinking > 0 ? l->thinking - 1 : WINDOW_MOST_TOKENS},
        {"the size of a summary", l->summary, 0, WINDOW_MOST_TOKENS},
        {"the low mark", l->low, 1, 999},
        {"the high mark", l->high, l->low + (int64_t)1, 1000},
        {"the gain of a compaction", l->gain, 1, 999},
    };
    for (size_t i = 0; i < COUNT_OF(field); i++)
        if (field[i].value < field[i].least || field[i].value > field[i].most)
            return err_set(err, WINDOW_BAD, "%s is %" PRId64 ", not %" PRId64 " to %" PRId64, field[i].name,
                           field[i].value, field[i].least, field[i].most);
    if (l->unbounded && l->summary > 0) return err_set(err, WINDOW_BAD, "a window without a limit sums nothing up");
    return 0;
}

/* What the lines weigh that the window itself puts in, and with it the limit. */
static int measure(struct window *w, struct err *err)
{
    struct window_item request = {.part = WINDOW_REQUEST};
    struct window_item line = {.part = WINDOW_REFERENCE,
                               .ref = {UINT64_MAX - 1, UINT64_MAX, INT64_MAX, INT64_MAX}};
    bool compacts = w->l.summary > 0;
    int rc = window_count_items(w, NULL, 0, &w->empty_tokens, err);
    if (rc == 0 && compacts) rc = window_weigh(w, &request, err);
    if (rc == 0) rc = window_weigh(w, &line, err);
    if (rc) return rc;
    w->request_tokens = request.tokens;
    w->line_tokens = line.tokens;
    w->compaction = compacts ? w->request_tokens + w->l.summary + WINDOW_SLACK : 0;
    w->reserve = MAX(w->l.answer + w->l.thinking, w->compaction);
    w->limit = w->l.unbounded ? WINDOW_MOST_TOKENS : w->l.ctx - w->reserve;
    if (w->limit > 0) return 0;
    return err_set(err, WINDOW_NEVER_FITS,
                   "a context of %" PRId64 " tokens leaves none for a prompt: answer %" PRId64 " + thinking %" PRId64
                   ", compaction %" PRId64, w->l.ctx, w->l.answer, w->l.thinking, w->compaction);
}

int window_open(struct window **out, const struct window_limits *l, struct window_count count, struct err *err)
{
    *out = NULL;
    int rc = check_limits(l, err);
    if (rc) return rc;
    struct window *w = calloc(1, sizeof *w);
    if (!w) return err_set(err, WINDOW_NO_MEMORY, "no memory for a window");
    w->l = *l;
    w->counter = count;
    rc = measure(w, err);
    if (rc == 0) rc = window_room(w, &w->now, 1, err);
    if (rc) {
        window_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void window_close(struct window *w)
{
    if (!w) return;
    free(w->now.msg);
    free(w->saved.msg);
    free(w->items);
    free(w->sent);
    free(w);
}

size_t window_bytes(const struct window *w)
{
    return sizeof *w + (w->now.cap + w->saved.cap) * sizeof *w->now.msg + 2 * w->cap * sizeof *w->items;
}

static int grow_lists(struct window *w, size_t cap)
{
    if (cap <= w->cap) return 0;
    struct window_item *items = realloc(w->items, cap * sizeof *items);
    if (!items) return -1;
    w->items = items;
    struct window_item *sent = realloc(w->sent, cap * sizeof *sent);
    if (!sent) return -1;
    w->sent = sent;
    w->cap = cap;
    return 0;
}

int window_room(struct window *w, struct window_state *s, size_t n_messages, struct err *err)
{
    if (n_messages > WINDOW_MESSAGES)
        return err_set(err, WINDOW_BAD, "more than %d messages since the last call", WINDOW_MESSAGES);
    size_t cap = MAX(s->cap, (size_t)64);
    while (cap < n_messages) cap *= 2;
    bool ok = grow_lists(w, cap + WINDOW_FRONT_ITEMS + WINDOW_PARTS) == 0;
    if (ok && cap > s->cap) {
        struct window_message *msg = realloc(s->msg, cap * sizeof *msg);
        ok = msg != NULL;
        if (ok) {
            s->msg = msg;
            s->cap = cap;
        }
    }
    return ok ? 0 : err_set(err, WINDOW_NO_MEMORY, "no memory for %zu messages of a window", n_messages);
}

/* ------------------------------------------------------------------ what is said */

static void front_changed(struct window *w, const struct window_item *it)
{
    w->proposed = false;
    window_tell(w, (struct window_event){.kind = WINDOW_FRONT_CHANGED, .id = it->id, .tokens = it->tokens});
}

static size_t find_front(const struct window *w, enum window_part part, uint64_t id)
{
    size_t i = 0;
    while (i < w->n_front && (w->front[i].part != part || w->front[i].id != id)) i++;
    return i;
}

int window_add(struct window *w, enum window_part part, uint64_t id, struct err *err)
{
    struct window_item it = {.part = part, .id = id};
    if (part > WINDOW_PINNED || id == 0 || find_front(w, part, id) < w->n_front)
        return err_set(err, WINDOW_BAD, "text %" PRIu64 " cannot be added to the front", id);
    if (w->n_front == WINDOW_FRONT_ITEMS)
        return err_set(err, WINDOW_BAD, "the front has %d texts, the most it can", WINDOW_FRONT_ITEMS);
    int rc = window_weigh(w, &it, err);
    if (rc) return rc;
    size_t at = w->n_front++;
    for (; at > 0 && w->front[at - 1].part > part; at--) w->front[at] = w->front[at - 1];
    w->front[at] = it;
    front_changed(w, &it);
    return 0;
}

int window_remove(struct window *w, enum window_part part, uint64_t id, struct err *err)
{
    size_t at = find_front(w, part, id);
    if (at == w->n_front) return err_set(err, WINDOW_BAD, "text %" PRIu64 " is not in the front", id);
    struct window_item it = w->front[at];
    w->n_front--;
    memmove(w->front + at, w->front + at + 1, (w->n_front - at) * sizeof *w->front);
    front_changed(w, &it);
    return 0;
}

static int check_order(const struct window *w, enum window_kind kind, uint64_t id, int results, struct err *err)
{
    if (id <= w->last_id)
        return err_set(err, WINDOW_BAD, "message %" PRIu64 " after message %" PRIu64, id, w->last_id);
    if (kind > WINDOW_NOTE || (kind == WINDOW_CALL ? results <= 0 : results != 0))
        return err_set(err, WINDOW_BAD, "message %" PRIu64 ": kind %d with %d results", id, (int)kind, results);
    if (kind == WINDOW_RESULT && w->awaited == 0)
        return err_set(err, WINDOW_BAD, "message %" PRIu64 " is a result that nobody called for", id);
    if (kind != WINDOW_RESULT && w->awaited > 0)
        return err_set(err, WINDOW_UNANSWERED, "message %" PRIu64 " comes before %d results of the last call", id,
                       w->awaited);
    return 0;
}

int window_append(struct window *w, enum window_kind kind, uint64_t id, int results, struct err *err)
{
    static const enum window_part part[] = {
        [WINDOW_USER] = WINDOW_HISTORY, [WINDOW_ANSWER] = WINDOW_HISTORY, [WINDOW_CALL] = WINDOW_RESULTS,
        [WINDOW_RESULT] = WINDOW_RESULTS, [WINDOW_NOTE] = WINDOW_TASK};
    int rc = check_order(w, kind, id, results, err);
    if (rc == 0) rc = window_room(w, &w->now, w->now.n + 1, err);
    if (rc) return rc;
    struct window_item it = {.part = part[kind], .id = id};
    rc = window_weigh(w, &it, err);
    if (rc) return rc;
    w->now.msg[w->now.n++] = (struct window_message){.id = id, .tokens = it.tokens, .kind = (uint8_t)kind};
    w->last_id = id;
    if (kind == WINDOW_CALL) w->awaited = results;
    if (kind == WINDOW_RESULT) w->awaited--;
    return 0;
}

static int recount(struct window *w, struct window_state *s, uint64_t from, struct err *err)
{
    int rc = 0;
    for (size_t i = s->n; i-- > 0 && s->msg[i].id >= from && rc == 0;) {
        struct window_item it = {.part = WINDOW_RESULTS, .id = s->msg[i].id};
        if (s->msg[i].kind != WINDOW_CALL) continue;
        rc = window_weigh(w, &it, err);
        if (rc == 0) s->msg[i].tokens = it.tokens;
    }
    return rc;
}

int window_recount(struct window *w, uint64_t from, struct err *err)
{
    int rc = recount(w, &w->now, from, err);
    if (rc == 0 && w->can_undo) rc = recount(w, &w->saved, from, err);
    w->proposed = false;
    return rc;
}

/* ------------------------------------------------------------------ references */

void window_ref_add(struct window_ref *to, const struct window_ref *from)
{
    if (from->messages == 0) return;
    to->first = to->messages > 0 ? MIN(to->first, from->first) : from->first;
    to->last = to->messages > 0 ? MAX(to->last, from->last) : from->last;
    to->messages += from->messages;
    to->tokens += from->tokens;
}

void window_ref_name(const struct window_ref *r, char name[48])
{
    if (r->first == r->last) snprintf(name, 48, "m%" PRIu64, r->first);
    else snprintf(name, 48, "m%" PRIu64 "-%" PRIu64, r->first, r->last);
}

static bool read_number(const char **s, const char *end, uint64_t *out)
{
    const char *p = *s;
    uint64_t n = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (size_mul(n, 10, &n) || size_add(n, (uint64_t)(*p - '0'), &n)) return false;
    bool ok = p > *s;
    *s = p;
    *out = n;
    return ok;
}

bool window_ref_read(const char *name, size_t len, uint64_t *first, uint64_t *last)
{
    const char *s = name, *end = name + len;
    if (len == 0 || *s++ != 'm' || !read_number(&s, end, first)) return false;
    *last = *first;
    if (s == end) return true;
    return *s++ == '-' && read_number(&s, end, last) && s == end && *first <= *last;
}

void window_reference(const struct window_ref *r, struct buf *out)
{
    char name[48], total[24];
    window_ref_name(r, name);
    snprintf(total, sizeof total, "%" PRId64, r->tokens);
    const struct form_value v[] = {{"shown", form_text("0")}, {"total", form_text(total)}, {"id", form_text(name)},
                                   {"offset", form_text("0")}};
    if (form_render(FORM_CLIP, v, (int)COUNT_OF(v), out, NULL)) out->failed = true; /* the tests render it */
}

/* ------------------------------------------------------------------ events */

static struct window_event *event_at(struct window *w, size_t i)
{
    return &w->event[(w->first_event + i) % WINDOW_EVENTS];
}

/* Once the list is nearly full, an event joins the last of its kind; the places left suffice for one of each kind that
 * is not there yet, so none is ever lost. */
void window_tell(struct window *w, struct window_event e)
{
    e.times = 1;
    if (w->n_events >= WINDOW_EVENTS - WINDOW_EVENT_KINDS)
        for (size_t i = w->n_events; i-- > 0;) {
            struct window_event *old = event_at(w, i);
            if (old->kind != e.kind) continue;
            window_ref_add(&e.ref, &old->ref);
            e.times += old->times;
            *old = e;
            return;
        }
    assert(w->n_events < WINDOW_EVENTS);
    *event_at(w, w->n_events++) = e;
}

bool window_next_event(struct window *w, struct window_event *out)
{
    if (w->n_events == 0) return false;
    *out = *event_at(w, 0);
    w->first_event = (w->first_event + 1) % WINDOW_EVENTS;
    w->n_events--;
    return true;
}

/* ------------------------------------------------------------------ figures */

void window_figures(const struct window *w, struct window_figures *out)
{
    struct window_plan p = window_plan(w), all = p;
    struct window_list now = window_compose(w, &p, w->now.n, NULL);
    bool any;
    struct window_plan compact = window_compaction_plan(w, &any);
    all.leave = w->now.n;
    *out = (struct window_figures){
        .used = now.sum, .limit = w->limit,
        .high = window_mark(w, w->l.high), .low = window_mark(w, w->l.low),
        .answer = w->l.answer, .thinking = w->l.thinking, .compaction = w->compaction, .reserve = w->reserve,
        .by_compact = any ? MAX(0, now.sum - window_compose(w, &compact, w->now.n, NULL).sum) : 0,
        .by_clear = MAX(0, now.sum - window_compose(w, &all, w->now.n, NULL).sum),
        .by_unpin = now.part[WINDOW_PINNED], .line = w->line_tokens,
        .summed = w->now.summed, .cut = w->now.cut, .summary = w->now.summary.id,
        .extractive = w->now.extractive, .can_undo = w->can_undo, .before = w->now.before,
        .calls = w->calls, .breaks = w->breaks, .compactions = w->compactions,
        .kept_tokens = w->all_kept, .sent_tokens = w->all_sent,
    };
    memcpy(out->part, now.part, sizeof out->part);
    memcpy(out->count, now.count, sizeof out->count);
}
