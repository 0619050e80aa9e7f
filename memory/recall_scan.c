/* recall_scan.c - see recall_scan.h. */
#include "memory/recall_scan.h"
#include "memory/recall_impl.h"

struct chunk { /* that has a term of the question */
    struct recall_doc doc;
    uint32_t terms;
    size_t at; /* of its counts, one for each term asked */
};

struct recall_scan {
    struct question question;
    struct places places;
    uint64_t docs, terms; /* of all chunks */
    struct chunk *chunk;
    size_t n, cap;
    uint16_t *tf;
    size_t n_tf, cap_tf;
    unsigned left_out;
};

static_assert(CHUNK_TERMS <= UINT16_MAX, "how often a term is in a chunk");

static void ask(void *self, const struct fold_term *t)
{
    struct recall_scan *s = self;
    s->left_out += !recall_ask(&s->question, t);
}

struct recall_scan *recall_scan_open(const void *question, size_t n, struct err *err)
{
    struct recall_scan *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(err, STORE_NO_MEMORY, "no memory for a search");
        return NULL;
    }
    fold_text(question, n, ask, s);
    return s;
}

void recall_scan_close(struct recall_scan *s)
{
    if (!s) return;
    free(s->chunk);
    free(s->tf);
    free(s);
}

/* ------------------------------------------------------------------ chunks */

struct counts {
    struct recall_scan *s;
    uint32_t terms;
    uint16_t tf[RECALL_ASKED];
    bool any;
};

static void count(void *self, const struct fold_term *t)
{
    struct counts *c = self;
    const struct question *q = &c->s->question;
    c->terms++;
    for (int i = 0; i < q->n; i++)
        if (q->asked[i].n == t->n && memcmp(q->asked[i].bytes, t->bytes, t->n) == 0) {
            c->tf[i]++;
            c->any = true;
            return;
        }
}

/* Room for one more chunk and its counts. */
static int grow(struct recall_scan *s, struct err *err)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct chunk *chunk = realloc(s->chunk, cap * sizeof *chunk);
        if (!chunk) return err_set(err, STORE_NO_MEMORY, "no memory for a search");
        s->chunk = chunk;
        s->cap = cap;
    }
    if (s->n_tf + RECALL_ASKED > s->cap_tf) {
        size_t cap = 2 * s->cap_tf + RECALL_ASKED;
        uint16_t *tf = realloc(s->tf, cap * sizeof *tf);
        if (!tf) return err_set(err, STORE_NO_MEMORY, "no memory for a search");
        s->tf = tf;
        s->cap_tf = cap;
    }
    return 0;
}

int recall_scan_add(struct recall_scan *s, const struct recall_doc *doc, const void *text, size_t n, struct err *err)
{
    struct counts c = {.s = s};
    struct question *q = &s->question;
    if (n > RECALL_CHUNK) return err_set(err, STORE_TOO_BIG, "a chunk of %zu bytes to search", n);
    fold_text(text, n, count, &c);
    s->docs++;
    s->terms += c.terms;
    if (!c.any) return 0;
    if (grow(s, err)) return STORE_NO_MEMORY;
    for (int i = 0; i < q->n; i++) q->asked[i].docs += c.tf[i] > 0;
    s->chunk[s->n++] = (struct chunk){*doc, c.terms, s->n_tf};
    memcpy(s->tf + s->n_tf, c.tf, (size_t)q->n * sizeof *s->tf);
    s->n_tf += (size_t)q->n;
    return 0;
}

/* ------------------------------------------------------------------ hits */

void recall_scan_end(struct recall_scan *s, int k, struct recall_result *out)
{
    struct question *q = &s->question;
    memset(out, 0, sizeof *out);
    out->docs = s->docs;
    out->left_out = s->left_out;
    recall_choose(q, s->terms, out);
    for (size_t c = 0; c < s->n; c++) {
        const struct chunk *chunk = &s->chunk[c];
        struct recall_hit hit = {.doc = chunk->doc};
        bool any = false;
        for (int i = 0; i < q->n; i++) {
            const uint16_t tf = s->tf[chunk->at + (size_t)i];
            if (q->asked[i].at < 0 || tf == 0) continue;
            recall_weigh(out, q->asked[i].at, tf, chunk->terms, &hit);
            any = true;
        }
        if (any) recall_offer(out, MAX(1, MIN(k, (int)RECALL_K)), &hit);
    }
}

void recall_scan_window(struct recall_scan *s, const struct recall_result *res, const void *text, size_t n, size_t most,
                        size_t *at, size_t *len)
{
    recall_find_window(&s->places, res, text, n, most, at, len);
}
