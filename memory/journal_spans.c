/* journal_spans.c - which numbers are out: spans, and the marks that say so.  A file may hold any number of marks,
 * about anything: nothing here takes more than n log n steps for them. */
#include "memory/journal_impl.h"

/* The first that does not end before this number. */
static size_t span_at(const struct journal_spans *v, uint64_t number)
{
    size_t low = 0, high = v->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (v->span[mid].last < number) low = mid + 1;
        else high = mid;
    }
    return low;
}

static bool room(struct journal_spans *v, size_t more)
{
    if (v->cap - v->n >= more) return true;
    size_t cap = MAX(v->cap ? 2 * v->cap : 16, v->n + more);
    struct journal_span *p = cap <= SIZE_MAX / sizeof *p ? realloc(v->span, cap * sizeof *p) : NULL;
    if (!p) {
        v->failed = true;
        return false;
    }
    v->span = p;
    v->cap = cap;
    return true;
}

void journal_span_add(struct journal_spans *v, uint64_t first, uint64_t last)
{
    size_t from = span_at(v, first), to;
    for (to = from; to < v->n && v->span[to].first <= last; to++) {
        first = MIN(first, v->span[to].first);
        last = MAX(last, v->span[to].last);
    }
    if (!room(v, 1)) return;
    memmove(v->span + from + 1, v->span + to, (v->n - to) * sizeof *v->span);
    v->n = v->n - (to - from) + 1;
    v->span[from] = (struct journal_span){first, last};
}

bool journal_span_has(const struct journal_spans *v, uint64_t number)
{
    size_t at = span_at(v, number);
    return at < v->n && v->span[at].first <= number;
}

void journal_span_free(struct journal_spans *v)
{
    free(v->span);
    *v = (struct journal_spans){0};
}

static int by_first(const void *a, const void *b)
{
    const struct journal_span *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

/* Spans in any order become a list of them apart. */
static void settle(struct journal_spans *v)
{
    size_t kept = 0;
    qsort(v->span, v->n, sizeof *v->span, by_first);
    for (size_t i = 1; i < v->n; i++) {
        struct journal_span *k = &v->span[kept], one = v->span[i];
        if (one.first <= k->last) k->last = MAX(k->last, one.last);
        else v->span[++kept] = one;
    }
    v->n = kept + 1;
}

/* ------------------------------------------------------------------ marks */

/* By number.  One may be taken back by a later one, so all are read before any counts. */
struct marks {
    struct journal_seen *seen;
    size_t n, cap;
    uint64_t upto;
    bool failed;
};

static bool one_mark(void *self, uint64_t number, const struct journal_message *m)
{
    struct marks *l = self;
    if (number > l->upto) return false;
    if (m->kind != JOURNAL_MARK) return true;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        struct journal_seen *p = realloc(l->seen, cap * sizeof *p);
        l->failed = !p;
        if (!p) return false;
        l->seen = p;
        l->cap = cap;
    }
    l->seen[l->n++] = (struct journal_seen){number, {m->first, m->last}, (enum journal_mark)m->results};
    return true;
}

/* The first mark that has this number or a larger one. */
static size_t mark_at(const struct journal_seen *seen, size_t n, uint64_t number)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (seen[mid].number < number) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The first mark from i on that was not taken back yet; to[n] is n. */
static size_t standing(size_t *to, size_t i)
{
    for (; to[i] != i; i = to[i]) to[i] = to[to[i]];
    return i;
}

int journal_marks_out(const struct journal_seen *seen, size_t n, unsigned marks, struct journal_spans *out)
{
    size_t *to = malloc((n + 1) * sizeof *to);
    if (!to || n == 0 || !room(out, n)) {
        free(to);
        return !to || out->failed ? -1 : 0;
    }
    for (size_t i = 0; i <= n; i++) to[i] = i;
    for (size_t i = n; i-- > 0;) {
        const struct journal_seen *m = &seen[i];
        if (to[i] != i) continue;
        if (marks & 1u << m->what) out->span[out->n++] = m->span;
        if (m->what != JOURNAL_UNDONE) continue;
        size_t k = standing(to, mark_at(seen, n, m->span.first));
        for (; k < i && seen[k].number <= m->span.last; k = standing(to, k)) to[k] = k + 1;
    }
    free(to);
    if (out->n > 0) settle(out);
    return 0;
}

int journal_out(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t from, uint64_t upto, unsigned marks,
                struct journal_spans *out, struct err *err)
{
    struct marks l = {.upto = upto};
    int rc = journal_each(s, id, from, &(struct journal_visit){.message = one_mark, .self = &l}, err);
    if (rc == 0 && (l.failed || journal_marks_out(l.seen, l.n, marks, out) || out->failed))
        rc = err_set(err, STORE_NO_MEMORY, "no memory for marks");
    free(l.seen);
    return rc;
}
