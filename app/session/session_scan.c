/* session_scan.c - recall without an index: out of what memory has of a session that is not saved, and out of the lines
 * of the summary in force.
 *
 * A summary is in the context already; yet of a long one a small model finds the line that it is asked for seldom, and
 * beside the question nearly always. */
#include "app/session/session_impl.h"

enum { SCAN_MOST = 8 << 20 }; /* bytes of messages, the newest: 0.3 s when it was measured */

struct texts_at_hand {
    struct remember_text *text;
    size_t n, cap;
    uint64_t left; /* bytes of messages that were not looked at */
};

static int put(struct texts_at_hand *x, enum recall_kind kind, uint64_t id, const char *text, size_t n, struct err *err)
{
    if (x->n == x->cap) {
        size_t cap = x->cap ? 2 * x->cap : 64;
        struct remember_text *p = realloc(x->text, cap * sizeof *p);
        if (!p) return err_set(err, -1, "no memory for a search");
        x->text = p;
        x->cap = cap;
    }
    x->text[x->n++] = (struct remember_text){kind, id, text, n};
    return 0;
}

/* Its items, a line each, without what marks one. */
static int put_summary(struct session *s, struct texts_at_hand *x, struct err *err)
{
    struct window_figures f;
    window_figures(s->w, &f);
    const struct text_entry *e = f.summary ? texts_get(&s->texts, f.summary, NULL) : NULL;
    int rc = 0;
    for (size_t at = 0, end; e && at < e->len && rc == 0; at = end + 1) {
        const char *newline = memchr(e->text + at, '\n', e->len - at);
        end = newline ? (size_t)(newline - e->text) : e->len;
        if (end - at > 2 && memcmp(e->text + at, "- ", 2) == 0)
            rc = put(x, RECALL_SUMMARY, e->id, e->text + at + 2, end - at - 2, err);
    }
    return rc;
}

static bool is_found(struct session *s, const struct text_entry *e)
{
    if (journal_span_has(&s->undone, e->id)) return false;
    return e->kind == JOURNAL_PIN || e->kind == JOURNAL_NOTE || session_is_said(s, e->id, e->kind);
}

static int put_messages(struct session *s, struct texts_at_hand *x, struct err *err)
{
    size_t from = s->texts.n, bytes = 0;
    int rc = session_find_undone(s, 0, err);
    for (; from > 0 && bytes + s->texts.entry[from - 1].len <= SCAN_MOST; from--) bytes += s->texts.entry[from - 1].len;
    for (size_t i = 0; i < from; i++) x->left += s->texts.entry[i].len;
    for (size_t i = from; i < s->texts.n && rc == 0; i++) {
        const struct text_entry *e = &s->texts.entry[i];
        if (is_found(s, e)) rc = put(x, RECALL_MESSAGE, e->id, e->text, e->len, err);
    }
    return rc;
}

int session_scan(struct session *s, const struct session_question *q, bool messages, struct remember_found *out,
                 struct err *err)
{
    struct texts_at_hand x = {0};
    const struct remember_query ask = {.text = q->text, .n = q->n, .k = MAX(1, MIN(q->k, RECALL_K)), .self = q->self,
                                       .wanted = q->wanted, .session = s->keep.head.id};
    int rc = put_summary(s, &x, err); /* the messages behind it: of equal ones the later comes first */
    if (rc == 0 && messages) rc = put_messages(s, &x, err);
    if (rc == 0) rc = remember_scan(x.text, x.n, &ask, out, err);
    out->unread = x.left;
    free(x.text);
    return rc ? -1 : 0;
}

/* ---------------------------------------------------------------- what the context has beside the summary */

struct line {
    struct session *s;
    const char *text;
    size_t n;
    bool there;
};

static bool look(void *self, uint64_t id)
{
    struct line *l = self;
    const struct text_entry *e = texts_get(&l->s->texts, id, NULL);
    if (e && e->kind != JOURNAL_SUMMARY) l->there |= memmem(e->text, e->len, l->text, l->n) != NULL;
    return !l->there;
}

bool session_has_line(struct session *s, const char *text, size_t n)
{
    struct line l = {s, text, n, false};
    window_each(s->w, look, &l);
    return l.there;
}
