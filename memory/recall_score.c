/* recall_score.c - which terms a search goes by, what they weigh in a chunk, and which chunks are the best. */
#include "memory/recall_impl.h"
#include <math.h>

#define K1 1.2
#define B 0.75

bool recall_ask(struct question *q, const struct fold_term *t)
{
    for (int i = 0; i < q->n; i++)
        if (q->asked[i].n == t->n && memcmp(q->asked[i].bytes, t->bytes, t->n) == 0) return true;
    if (q->n == RECALL_ASKED) return false;
    struct asked *a = &q->asked[q->n++];
    *a = (struct asked){.n = t->n, .at = -1};
    memcpy(a->bytes, t->bytes, t->n);
    return true;
}

static double idf(uint64_t n, uint64_t has)
{
    return log(1 + ((double)(n - has) + 0.5) / ((double)has + 0.5));
}

static void mark_rarest(struct question *q, int most)
{
    for (int n = 0; n < most; n++) {
        struct asked *best = NULL;
        for (int i = 0; i < q->n; i++) {
            struct asked *a = &q->asked[i];
            if (a->docs && a->at < 0 && (!best || a->docs < best->docs)) best = a;
        }
        if (best) best->at = 0;
    }
}

void recall_choose(struct question *q, uint64_t terms, struct recall_result *out)
{
    int known = 0;
    out->mean = out->docs ? (double)MAX(terms, (uint64_t)1) / (double)out->docs : 1;
    for (int i = 0; i < q->n; i++) {
        q->asked[i].docs = MIN(q->asked[i].docs, out->docs); /* damage may count one chunk twice */
        if (q->asked[i].docs) known++;
        else out->unknown++;
    }
    out->left_out += (unsigned)MAX(known - RECALL_TERMS, 0);
    mark_rarest(q, MIN(known, RECALL_TERMS));
    for (int i = 0; i < q->n; i++) {
        struct asked *a = &q->asked[i];
        if (a->at < 0) continue;
        struct recall_term *t = &out->term[out->n_terms];
        a->at = out->n_terms++;
        *t = (struct recall_term){.n = a->n, .docs = a->docs, .idf = idf(out->docs, a->docs)};
        memcpy(t->bytes, a->bytes, a->n);
    }
}

void recall_weigh(const struct recall_result *out, int i, uint32_t times, uint32_t terms, struct recall_hit *hit)
{
    double tf = times, length = terms / out->mean;
    hit->tf[i] = times;
    hit->share[i] = out->term[i].idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length));
    hit->score += hit->share[i];
}

/* Whether a comes before b. */
static bool is_better(const struct recall_hit *a, const struct recall_hit *b)
{
    const struct recall_doc *x = &a->doc, *y = &b->doc;
    if (a->score != b->score) return a->score > b->score;
    if (x->when != y->when) return x->when > y->when;
    int order = memcmp(x->session, y->session, STORE_SESSION_ID);
    if (order) return order < 0;
    if (x->kind != y->kind) return x->kind < y->kind;
    return x->id != y->id ? x->id > y->id : x->chunk < y->chunk;
}

void recall_offer(struct recall_result *out, int k, const struct recall_hit *hit)
{
    int at = out->n_hits;
    while (at > 0 && is_better(hit, &out->hit[at - 1])) at--;
    if (at == k) return;
    out->n_hits = MIN(out->n_hits + 1, k);
    memmove(&out->hit[at + 1], &out->hit[at], (size_t)(out->n_hits - 1 - at) * sizeof *hit);
    out->hit[at] = *hit;
}
