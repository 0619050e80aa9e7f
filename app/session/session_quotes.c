/* session_quotes.c - of what a search found, the quotations that tell something, each once. */
#include "app/session/session_impl.h"

enum { TERMS = 1024 }; /* of a question; a quotation has fewer: FOLD_TERMS for each of its bytes */

static_assert(REMEMBER_QUOTE * FOLD_TERMS < TERMS, "all terms of a quotation");

struct terms {
    uint64_t v[TERMS]; /* hashes, sorted */
    size_t n;
    size_t label;      /* bytes of "Noted:" at the front: no term of it is here */
};

static void add_term(void *self, const struct fold_term *t)
{
    struct terms *all = self;
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < t->n; i++) h = (h ^ t->bytes[i]) * 0x100000001b3u;
    if (t->at >= all->label && all->n < TERMS) all->v[all->n++] = h;
}

static int compare(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

static size_t label_of(const char *text, size_t n)
{
    size_t end = 0;
    while (end < n && (unsigned char)text[end] > ' ') end++;
    return end > 0 && text[end - 1] == ':' ? end : 0;
}

static void read_terms(const char *text, size_t n, size_t label, struct terms *out)
{
    out->n = 0;
    out->label = label;
    fold_text(text, n, add_term, out);
    qsort(out->v, out->n, sizeof *out->v, compare);
}

static bool are_in(const struct terms *few, const struct terms *all)
{
    for (size_t i = 0; i < few->n; i++)
        if (!bsearch(&few->v[i], all->v, all->n, sizeof *all->v, compare)) return false;
    return true;
}

struct quotes {
    struct remember_found *f;
    struct terms question, whole[RECALL_K], bare[RECALL_K]; /* bare: without the label */
};

/* The message, if it is one of this session's that can be had. */
static const struct text_entry *message(struct session *s, const struct remember_quote *q)
{
    bool mine = q->kind == RECALL_MESSAGE && memcmp(q->session, s->keep.head.id, sizeof q->session) == 0;
    return mine ? texts_get(&s->texts, q->id, NULL) : NULL;
}

static bool is_persons(struct session *s, const struct remember_quote *q)
{
    const struct text_entry *e = message(s, q);
    return e && e->kind == JOURNAL_USER;
}

const char *session_quote_speaker(struct session *s, const struct remember_quote *q)
{
    const struct text_entry *e = message(s, q);
    if (!e || e->len != q->len) return NULL;
    return e->kind == JOURNAL_USER ? "user" : e->kind == JOURNAL_ANSWER ? "assistant" : NULL;
}

/* Whether quotation i says nothing that k does not say; of two that say the same the person's stays, or the better. */
static bool is_less(struct session *s, const struct quotes *x, int i, int k)
{
    if (!are_in(&x->bare[i], &x->whole[k])) return false;
    if (!are_in(&x->bare[k], &x->whole[i])) return true;
    bool mine = is_persons(s, &x->f->quote[i]), theirs = is_persons(s, &x->f->quote[k]);
    return mine == theirs ? i > k : theirs;
}

void session_choose_quotes(struct session *s, const char *question, size_t n, struct remember_found *f)
{
    struct quotes *x = malloc(sizeof *x);
    bool out[RECALL_K] = {false};
    if (!x) return; /* all of them, then */
    x->f = f;
    read_terms(question, n, 0, &x->question);
    for (int i = 0; i < f->n; i++) {
        const struct remember_quote *q = &f->quote[i];
        const char *text = f->text.data + q->at;
        read_terms(text, q->len, 0, &x->whole[i]);
        read_terms(text, q->len, label_of(text, q->len), &x->bare[i]);
        out[i] = are_in(&x->bare[i], &x->question);
    }
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->n && !out[i]; k++) out[i] = k != i && !out[k] && is_less(s, x, i, k);
    int kept = 0;
    for (int i = 0; i < f->n; i++)
        if (!out[i]) f->quote[kept++] = f->quote[i];
    f->n = kept;
    free(x);
}
