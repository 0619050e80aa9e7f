/* recall_text.c - where a text is cut into chunks, and which part of a chunk is quoted. */
#include "memory/recall_impl.h"

static bool is_inside(const uint8_t *text, size_t at) { return (text[at] & 0xc0) == 0x80; }
static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The last character border at or before `at`: three bytes back at most, for these may be no UTF-8. */
static size_t border_before(const uint8_t *text, size_t n, size_t at)
{
    for (size_t back = 0; back < 4 && back <= at; back++)
        if (at - back == n || !is_inside(text, at - back)) return at - back;
    return at;
}

static size_t border_behind(const uint8_t *text, size_t n, size_t at)
{
    for (size_t on = 0; on < 4 && at + on <= n; on++)
        if (at + on == n || !is_inside(text, at + on)) return at + on;
    return at;
}

/* ------------------------------------------------------------------ chunks */

static size_t cut(const uint8_t *text)
{
    size_t blank = 0;
    for (size_t at = RECALL_CHUNK; at > RECALL_CHUNK * 2 / 3; at--) {
        if (text[at - 1] == '\n') return at;
        if (!blank && is_blank(text[at - 1])) blank = at;
    }
    if (blank) return blank;
    for (size_t back = 0; back < 4; back++) /* a character that is whole only behind the limit goes to the next chunk */
        if (!is_inside(text, RECALL_CHUNK - back - 1)) {
            uint8_t c = text[RECALL_CHUNK - back - 1];
            size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
            return len > back + 1 ? RECALL_CHUNK - back - 1 : RECALL_CHUNK;
        }
    return RECALL_CHUNK;
}

size_t recall_chunk(const void *bytes, size_t n, size_t *next)
{
    const uint8_t *text = bytes;
    *next = n;
    if (n <= RECALL_CHUNK) return n;
    size_t end = cut(text), from = border_behind(text, end, end - RECALL_OVERLAP);
    *next = from;
    for (size_t at = from; at < end; at++)
        if (is_blank(text[at - 1])) {
            *next = at;
            break;
        }
    return end;
}

/* ------------------------------------------------------------------ the window */

struct finding { struct places *p; const struct recall_result *res; };

static void note_place(void *self, const struct fold_term *t)
{
    struct finding *f = self;
    for (int i = 0; i < f->res->n_terms; i++) {
        const struct recall_term *a = &f->res->term[i];
        if (a->n == t->n && memcmp(a->bytes, t->bytes, t->n) == 0)
            f->p->at[f->p->n++] = (struct place){t->at, t->at + t->len, i};
    }
}

/* The run of places that fits and weighs most: [*from, *to), both 0 if none fits.  Places come by their ends, and one
 * that begins before the first of a run is not in it. */
static void heaviest(const struct places *x, const struct recall_result *res, size_t most, size_t *from, size_t *to)
{
    double best = 0;
    *from = *to = 0;
    for (size_t i = 0; i < x->n; i++) {
        bool has[RECALL_TERMS] = {false};
        double weight = 0;
        size_t start = x->at[i].at;
        for (size_t j = i; j < x->n && x->at[j].end <= start + most; j++) {
            const struct place *p = &x->at[j];
            if (p->at < start || has[p->term]) continue;
            has[p->term] = true;
            weight += res->term[p->term].idf;
            if (weight <= best) continue;
            best = weight;
            *from = start;
            *to = p->end;
        }
    }
}

void recall_find_window(struct places *p, const struct recall_result *res, const void *bytes, size_t n, size_t most,
                        size_t *at, size_t *len)
{
    enum { NEAR = 24 };
    const uint8_t *text = bytes;
    struct finding f = {p, res};
    size_t from, to;
    n = MIN(n, (size_t)RECALL_CHUNK);
    most = MIN(most, n);
    p->n = 0;
    fold_text(text, n, note_place, &f);
    heaviest(p, res, most, &from, &to);
    size_t spare = most - (to - from), start = from - MIN(from, spare / 2);
    start = border_behind(text, n, MIN(start, n - most));
    for (size_t i = start; start > 0 && i <= from && i < start + NEAR; i++)
        if (is_blank(text[i - 1])) {
            start = i;
            break;
        }
    size_t end = border_before(text, n, MIN(start + most, n));
    for (size_t i = end; end < n && i >= to && i > start && i + NEAR > end; i--)
        if (is_blank(text[i])) {
            end = i;
            break;
        }
    *at = start;
    *len = end > start ? end - start : 0;
}

void recall_window(struct recall *r, const struct recall_result *res, const void *text, size_t n, size_t most,
                   size_t *at, size_t *len)
{
    recall_find_window(&r->places, res, text, n, most, at, len);
}
