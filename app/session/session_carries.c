/* session_carries.c - see session_carries.h.  A second window makes the list, so that looking leaves no trace. */
#include "app/session/session_carries.h"
#include "app/session/session_impl.h"

static int no_memory(struct err *err) { return err_set(err, -1, "no memory to show the call"); }

/* ---------------------------------------------------------------- texts */

static bool is_front(const struct window_item *it) { return it->part <= WINDOW_SUMMARY; }

/* A reference line stands in the front where it is of what left, and among the messages where it is of a call. */
static size_t front_items(const struct window_item *item, size_t n)
{
    size_t i = 0;
    while (i < n && (is_front(&item[i]) || item[i].part == WINDOW_REFERENCE)) i++;
    return i;
}

static void describe(struct session *s, struct carried *p)
{
    const bool line = p->item.ref.messages > 0 && p->item.part != WINDOW_SUMMARY;
    const struct text_entry *e = p->item.id ? texts_get(&s->texts, p->item.id, NULL) : NULL;
    if (!e) return;
    p->turn = e->turn;
    p->kind = e->kind;
    p->artifact = line ? 0 : e->artifact;
}

static int add(struct session_carries *c, const struct window_item *it, const char *text, size_t n)
{
    struct carried *p = &c->part[c->n++];
    *p = (struct carried){.text = c->texts.len, .len = n, .opening = !it};
    if (it) p->item = *it;
    buf_put(&c->texts, text, n);
    return c->texts.failed ? -1 : 0;
}

/* The messages of the front: none where all its texts are empty, and another one where tools are not in the first. */
static size_t lead(const struct session *s) { return (size_t)s->prompt.front_msgs; }

/* The message of the front that is its texts, or the tools; -1: none. */
static int lead_at(const struct prompt *p, bool tools)
{
    for (int i = 0; i < p->front_msgs; i++)
        if (p->msgs[i].tools == tools) return i;
    return -1;
}

static int add_tools(struct session *s, const struct window_item *item, size_t front, struct session_carries *c,
                     int at)
{
    for (size_t i = 0; i < front; i++) {
        const struct msg *m = &s->prompt.msgs[at];
        if (item[i].part == WINDOW_TOOLS && add(c, &item[i], m->text, m->len)) return -1;
    }
    return 0;
}

/* Each item of the front makes the system message longer: by so much it is that item's.  Tools that are a message of
 * their own come before or behind it, as that does. */
static int add_front(struct session *s, const struct window_item *item, size_t front, struct session_carries *c,
                     struct err *err)
{
    size_t before = 0;
    if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, item, front, err)) return -1;
    const int tools = lead_at(&s->prompt, true);
    if (tools == 0 && add_tools(s, item, front, c, tools)) return no_memory(err);
    for (size_t i = 0; i < front; i++) {
        if (tools >= 0 && item[i].part == WINDOW_TOOLS) continue;
        if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, item, i + 1, err)) return -1;
        const struct buf *all = &s->prompt.front;
        if (add(c, &item[i], all->len > 0 ? all->data + before : "", all->len - before)) return no_memory(err);
        before = all->len;
    }
    if (tools <= 0) return 0;
    if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, item, front, err)) return -1;
    return add_tools(s, item, front, c, tools) ? no_memory(err) : 0;
}

static int add_all(struct session *s, const struct window_item *item, size_t n, struct session_carries *c,
                   struct err *err)
{
    const size_t front = front_items(item, n);
    uint64_t newest = 0;
    c->part = calloc(n + 1, sizeof *c->part);
    if (!c->part) return no_memory(err);
    if (add_front(s, item, front, c, err)) return -1;
    if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, item, n, err)) return -1;
    for (size_t i = front; i < n; i++) {
        const struct msg *m = &s->prompt.msgs[i - front + lead(s)];
        if (add(c, &item[i], m->text, m->len)) return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) describe(s, &c->part[i]);
    for (size_t i = 0; i < n; i++)
        if (c->part[i].kind == JOURNAL_USER) newest = c->part[i].item.id;
    for (size_t i = 0; i < n; i++) c->part[i].opens_turn = newest > 0 && c->part[i].item.id == newest;
    return add(c, NULL, "", 0) ? no_memory(err) : 0;
}

/* ---------------------------------------------------------------- tokens */

struct cut { /* of a prompt's ids into its messages */
    const struct vocab *v;
    enum template_kind kind;
    const struct msg *msgs;
    int n;
    const struct ids *ids;
    size_t *end; /* (n) of each message, in ids */
    int front, tools; /* the messages that are the front's texts and its tools; -1: none */
};

static size_t begin_of(const struct cut *t, int m) { return m > 0 ? t->end[m - 1] : 0; }

static size_t piece_bytes(const struct cut *t, size_t i)
{
    const char *bytes;
    return vocab_attr(t->v, t->ids->id[i]) == VOCAB_CONTROL ? 0 : vocab_piece(t->v, t->ids->id[i], &bytes);
}

/* Messages that only follow each other (template RAW): by the bytes that tokens stand for.  A tokenizer may have put a
 * blank before the first. */
static void cut_by_bytes(const struct cut *t)
{
    size_t at = 0, bytes = 0, upto = 0, all = 0, text = 0;
    for (size_t i = 0; i < t->ids->n; i++) all += piece_bytes(t, i);
    for (int i = 0; i < t->n; i++) text += t->msgs[i].len;
    upto = all > text ? all - text : 0;
    for (int i = 0; i < t->n; i++) {
        upto += t->msgs[i].len;
        for (; at < t->ids->n && (bytes < upto || i + 1 == t->n); at++) bytes += piece_bytes(t, at);
        t->end[i] = at;
    }
}

/* The messages of a group by themselves, as far as their tokens are those of the whole. */
static int cut_group(const struct cut *t, int first, int last, size_t from, struct err *err)
{
    for (int i = first; i <= last; i++) {
        struct ids own = {0};
        size_t n = 0;
        if (template_render(t->kind, t->v, NULL, t->msgs + first, i - first + 1, false, &own, NULL, 0, err)) {
            ids_free(&own);
            return -1;
        }
        const int32_t *id = own.id, *whole = t->ids->id;
        const size_t head = template_head(t->kind, t->v, id, own.n);
        const bool begins = first > 0 && own.n > 0 && from < t->ids->n && id[0] == whole[0] && id[0] != whole[from];
        const size_t skip = head > 0 ? head : begins ? 1 : 0; /* what only the whole begins with */
        while (n + skip < own.n && from + n < t->ids->n && id[n + skip] == whole[from + n]) n++;
        t->end[i] = from + n;
        ids_free(&own);
    }
    return 0;
}

static int cut_messages(const struct cut *t, struct err *err)
{
    if (t->kind == TEMPLATE_RAW) {
        cut_by_bytes(t);
        return 0;
    }
    for (int i = 0, last; i < t->n; i = last + 1) {
        for (last = i; last + 1 < t->n && template_joins(t->kind, &t->msgs[last], &t->msgs[last + 1]);) last++;
        const size_t from = i > 0 ? t->end[i - 1] : template_head(t->kind, t->v, t->ids->id, t->ids->n);
        if (cut_group(t, i, last, from, err)) return -1;
    }
    return 0;
}

static bool is_apart(const struct cut *t, const struct carried *p)
{
    return t->tools >= 0 && p->item.part == WINDOW_TOOLS;
}

/* Where the front's tokens of its text end: the template says it of a summary, so all its text is called one. */
static int end_of_text(const struct cut *t, size_t *end, struct err *err)
{
    struct msg *msgs = malloc((size_t)t->n * sizeof *msgs);
    uint8_t *segment = malloc(t->ids->n + 1);
    struct ids ids = {0};
    int rc = msgs && segment ? 0 : no_memory(err);
    if (rc == 0) {
        memcpy(msgs, t->msgs, (size_t)t->n * sizeof *msgs);
        msgs[t->front].summary = msgs[t->front].len;
        rc = template_render(t->kind, t->v, NULL, msgs, t->n, true, &ids, segment, t->ids->n, err) ? -1 : 0;
    }
    *end = t->end[t->front];
    while (rc == 0 && *end > begin_of(t, t->front) && segment[*end - 1] != SEGMENT_SUMMARY) --*end;
    ids_free(&ids);
    free(segment);
    free(msgs);
    return rc;
}

/* The system message is of several parts: a token is that part's in which it begins, and what the template writes
 * before and behind them is the first's and the last's.  Tools that are a message of their own have its tokens. */
static int cut_front(const struct cut *t, struct carried *part, size_t front, struct err *err)
{
    const size_t from = begin_of(t, t->front), end = t->end[t->front];
    size_t text_end, all = 0, tail = 0, text = 0;
    if (end_of_text(t, &text_end, err)) return -1;
    for (size_t i = from; i < end; i++) {
        all += piece_bytes(t, i);
        if (i >= text_end) tail += piece_bytes(t, i);
    }
    for (size_t i = 0; i < front; i++) text += is_apart(t, &part[i]) ? 0 : part[i].len;
    const size_t head = all > text + tail ? all - text - tail : 0;
    size_t at = from, bytes = 0, upto = head, left = front;
    while (left > 0 && is_apart(t, &part[left - 1])) left--;
    for (size_t i = 0; i < left; i++) {
        if (is_apart(t, &part[i])) continue;
        part[i].id = at;
        upto += part[i].len;
        for (; at < end && (bytes < upto || i + 1 == left); at++) bytes += piece_bytes(t, at);
        part[i].n_ids = at - part[i].id;
    }
    return 0;
}

static void cut_tools(const struct cut *t, struct carried *part, size_t front)
{
    for (size_t i = 0; i < front; i++) {
        if (!is_apart(t, &part[i])) continue;
        part[i].id = begin_of(t, t->tools);
        part[i].n_ids = t->end[t->tools] - part[i].id;
    }
}

/* own: messages that the front is. */
static int cut(struct session_carries *c, const struct cut *t, size_t front, size_t own, struct err *err)
{
    if (cut_messages(t, err)) return -1;
    if (t->front >= 0 && cut_front(t, c->part, front, err)) return -1;
    if (t->tools >= 0) cut_tools(t, c->part, front);
    for (size_t i = front; i + 1 < c->n; i++) {
        const size_t m = i - front + own, from = m > 0 ? t->end[m - 1] : 0;
        c->part[i].id = from;
        c->part[i].n_ids = t->end[m] - from;
    }
    struct carried *opening = &c->part[c->n - 1];
    opening->id = t->n > 0 ? t->end[t->n - 1] : 0;
    opening->n_ids = c->ids.n - opening->id;
    return 0;
}

static int render(struct session *s, size_t front, struct session_carries *c, struct err *err)
{
    const struct app *a = s->a;
    struct cut t = {.v = a->ops->vocab(a->engine), .msgs = s->prompt.msgs, .n = s->prompt.n, .ids = &c->ids,
                    .front = lead_at(&s->prompt, false), .tools = lead_at(&s->prompt, true)};
    if (!t.v || template_by_name(a->info->template, &t.kind))
        return err_set(err, -1, "this engine does not say how it writes a prompt");
    int rc = template_render(t.kind, t.v, NULL, t.msgs, t.n, true, &c->ids, NULL, 0, err);
    if (rc) return -1;
    t.end = calloc((size_t)MAX(t.n, 1), sizeof *t.end);
    rc = !t.end || c->ids.failed ? no_memory(err) : cut(c, &t, front, lead(s), err);
    free(t.end);
    return rc;
}

/* ---------------------------------------------------------------- the whole */

/* As they are told: a copy. */
static struct window_item *in_order(const struct session *s, const struct window_item *item, size_t n)
{
    const bool first = forms_has_tools_first(turn_calls(s->a));
    struct window_item *told = malloc((n + 1) * sizeof *told);
    size_t k = 0;
    for (int pass = first ? 0 : 1; told && pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if (!first || (item[i].part == WINDOW_TOOLS) == (pass == 0)) told[k++] = item[i];
    return told;
}

static int carries(struct session *s, struct window *w, struct session_carries *out, struct err *err)
{
    int rc = window_build(w, &out->call, err);
    const size_t n = out->call.n;
    struct window_item *item = rc == 0 ? in_order(s, out->call.items, n) : NULL;
    out->call.items = NULL;
    if (rc == 0 && !item) rc = no_memory(err);
    if (rc == 0) rc = add_all(s, item, n, out, err);
    if (rc == 0) rc = render(s, front_items(item, n), out, err);
    free(item);
    return rc ? -1 : 0;
}

int session_carries(struct session *s, struct session_carries *out, struct err *err)
{
    struct window *w;
    *out = (struct session_carries){0};
    struct prompt own = s->prompt; /* a call that waits to be submitted is still in it */
    s->prompt = (struct prompt){0};
    int rc = session_second_window(s, &w, err) == EXIT_DONE ? 0 : -1;
    if (rc == 0) rc = carries(s, w, out, err);
    window_close(w);
    prompt_free(&s->prompt);
    s->prompt = own;
    return rc;
}

void session_carries_free(struct session_carries *c)
{
    free(c->part);
    buf_free(&c->texts);
    ids_free(&c->ids);
    *c = (struct session_carries){0};
}
