/* recall_rig.h - corpora by chance, and recall written down plainly: every chunk folded again for every question.
 * Header only: programs that do not test recall are not linked to it. */
#ifndef RECALL_RIG_H
#define RECALL_RIG_H
#include "memory/recall.h"
#include "tests/store_rig.h"

enum { PLAIN_MAX = 1200, PLAIN_TEXT = 800 };

struct plain_doc { struct recall_doc doc; char text[PLAIN_TEXT]; size_t n; bool gone; };
struct plain { struct plain_doc doc[PLAIN_MAX]; size_t n; };

/* ---------------------------------------------------------------- feeding */

static inline struct recall *recall_at(struct store *s)
{
    struct recall *r = recall_open(s, &err);
    if (!r) check_fail(__FILE__, __LINE__, "%s", err.text);
    return r;
}

static inline void flush(struct store *s, struct recall *r, const uint8_t *session, uint64_t next)
{
    store_begin(s, STORE_CACHE);
    OK(recall_flush(r, session, next, &err));
    OK(store_commit(s, &err));
    recall_clear(r);
}

static inline void add_text(struct store *s, struct recall *r, const struct recall_doc *doc, const void *text, size_t n)
{
    int rc = recall_add(r, doc, text, n, &err);
    if (rc == RECALL_FULL) {
        flush(s, r, doc->session, 0);
        rc = recall_add(r, doc, text, n, &err);
    }
    OK(rc);
}

RIG void add(struct store *s, struct recall *r, const uint8_t *session, uint64_t id, const char *text)
{
    struct recall_doc doc = {.kind = RECALL_MESSAGE, .id = id, .len = (uint32_t)strlen(text), .when = id};
    memcpy(doc.session, session, STORE_SESSION_ID);
    add_text(s, r, &doc, text, strlen(text));
}

RIG void merge_all(struct store *s, struct recall *r, const uint8_t *session)
{
    for (int rc = 1; rc > 0;) {
        store_begin(s, STORE_CACHE);
        rc = recall_merge(r, session, &err);
        if (rc < 0) check_fail(__FILE__, __LINE__, "%s", err.text);
        OK(store_commit(s, &err));
    }
}

RIG void remove_text(struct store *s, struct recall *r, const uint8_t *session, enum recall_kind kind, uint64_t id)
{
    store_begin(s, STORE_CACHE);
    OK(recall_remove(r, session, kind, id, &err));
    OK(store_commit(s, &err));
}

RIG struct recall_stat stat_of(struct recall *r, const uint8_t *session)
{
    struct recall_stat st;
    OK(recall_stat(r, session, &st, &err));
    return st;
}

static inline struct recall_result *search(struct recall *r, const char *text, const uint8_t *session)
{
    static struct recall_result out;
    const struct recall_query q = {.text = text, .n = strlen(text), .session = session, .k = RECALL_K};
    OK(recall_search(r, &q, &out, &err));
    return &out;
}

/* ---------------------------------------------------------------- corpora */

/* Words of which a few are everywhere and most are rare. */
static inline void some_words(uint64_t *seed, int most, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (int n = (int)rig_draw(seed, (uint64_t)most + 1); n > 0 && at + 16 < room; n--) {
        uint64_t word = rig_draw(seed, 1 + rig_draw(seed, 1 + rig_draw(seed, 400)));
        at += (size_t)snprintf(text + at, room - at, word % 7 == 3 ? "%llu.%llu " : "w%llux%llu ",
                               (unsigned long long)word, (unsigned long long)word % 3);
    }
}

RIG struct plain *some_corpus(uint64_t *seed, size_t n, int most_words)
{
    struct plain *p = calloc(1, sizeof *p);
    CHECK(p && n <= PLAIN_MAX);
    for (size_t i = 0; i < n; i++) {
        struct plain_doc *d = &p->doc[p->n++];
        some_words(seed, most_words, d->text, sizeof d->text);
        d->n = strlen(d->text);
        memcpy(d->doc.session, rig_draw(seed, 3) ? ada : bob, STORE_SESSION_ID);
        d->doc.kind = (enum recall_kind)rig_draw(seed, RECALL_KINDS);
        d->doc.id = i / 3;
        d->doc.chunk = (uint32_t)i % 3;
        d->doc.at = i * 1000;
        d->doc.len = (uint32_t)d->n;
        d->doc.when = rig_draw(seed, 5);
    }
    return p;
}

/* All of it, flushed when the draw says so: at most `batch` chunks at a time. */
RIG void feed(struct store *s, struct recall *r, const struct plain *p, uint64_t *seed, size_t batch)
{
    static const uint8_t *const sessions[] = {ada, bob};
    for (size_t k = 0; k < COUNT_OF(sessions); k++) {
        size_t left = batch;
        for (size_t i = 0; i < p->n; i++) {
            const struct plain_doc *d = &p->doc[i];
            if (d->gone || memcmp(d->doc.session, sessions[k], STORE_SESSION_ID) != 0) continue;
            add_text(s, r, &d->doc, d->text, d->n);
            if (--left > 0) continue;
            flush(s, r, sessions[k], i);
            left = 1 + rig_draw(seed, batch);
        }
        flush(s, r, sessions[k], p->n);
    }
}

/* ---------------------------------------------------------------- the plain way */

struct plain_terms { uint8_t (*bytes)[FOLD_TERM_MAX]; size_t *len, n, cap; };

static inline void plain_note(void *self, const struct fold_term *t)
{
    struct plain_terms *v = self;
    if (v->n == v->cap) {
        v->cap = 2 * v->cap + 64;
        v->bytes = realloc(v->bytes, v->cap * sizeof *v->bytes);
        v->len = realloc(v->len, v->cap * sizeof *v->len);
        CHECK(v->bytes && v->len);
    }
    memcpy(v->bytes[v->n], t->bytes, t->n);
    v->len[v->n++] = t->n;
}

static inline struct plain_terms plain_fold(const char *text, size_t n)
{
    struct plain_terms v = {0};
    fold_text(text, n, plain_note, &v);
    return v;
}

static inline void plain_free(struct plain_terms *v)
{
    free(v->bytes);
    free(v->len);
}

static inline uint32_t plain_tf(const struct plain_terms *v, const uint8_t *term, size_t n)
{
    uint32_t tf = 0;
    for (size_t i = 0; i < v->n; i++) tf += v->len[i] == n && memcmp(v->bytes[i], term, n) == 0;
    return tf;
}

RIG int plain_order(const void *a, const void *b)
{
    const struct recall_hit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->doc.when != y->doc.when) return x->doc.when < y->doc.when ? 1 : -1;
    int order = memcmp(x->doc.session, y->doc.session, STORE_SESSION_ID);
    if (order) return order;
    if (x->doc.kind != y->doc.kind) return x->doc.kind < y->doc.kind ? -1 : 1;
    if (x->doc.id != y->doc.id) return x->doc.id < y->doc.id ? 1 : -1;
    return x->doc.chunk < y->doc.chunk ? -1 : 1;
}

RIG bool plain_in(const struct plain_doc *d, const struct recall_query *q)
{
    return !d->gone && (!q->session || memcmp(d->doc.session, q->session, STORE_SESSION_ID) == 0);
}

/* Each chunk's tf of each of the result's terms, and from them what recall.h says of the score.  The terms are the
 * result's own (which they are is another test's matter).  *n hits, best first. */
RIG struct recall_hit *plain_search(const struct plain *p, const struct recall_query *q,
                                    const struct recall_result *res, size_t *n)
{
    struct plain_terms *folded = calloc(p->n + 1, sizeof *folded);
    struct recall_hit *hit = calloc(p->n + 1, sizeof *hit);
    uint64_t docs = 0, terms = 0;
    *n = 0;
    CHECK(folded && hit);
    for (size_t i = 0; i < p->n; i++) {
        if (!plain_in(&p->doc[i], q)) continue;
        folded[i] = plain_fold(p->doc[i].text, p->doc[i].n);
        docs++;
        terms += folded[i].n;
    }
    CHECK_EQ(res->docs, docs);
    for (int t = 0; t < res->n_terms; t++) {
        uint64_t has = 0;
        for (size_t i = 0; i < p->n; i++) has += plain_tf(&folded[i], res->term[t].bytes, res->term[t].n) > 0;
        CHECK_EQ(res->term[t].docs, has);
        for (size_t i = 0; i < p->n; i++) {
            double tf = plain_tf(&folded[i], res->term[t].bytes, res->term[t].n);
            double mean = (double)terms / (double)docs;
            double norm = 1.2 * (0.25 + 0.75 * ((double)folded[i].n / mean));
            if (tf == 0) continue;
            hit[i].tf[t] = (uint32_t)tf;
            double idf = log(1 + ((double)docs - (double)has + 0.5) / ((double)has + 0.5));
            hit[i].share[t] = idf * tf * 2.2 / (tf + norm);
            hit[i].score += hit[i].share[t];
        }
    }
    for (size_t i = 0; i < p->n; i++) {
        bool wanted = plain_in(&p->doc[i], q) && (!q->kinds || q->kinds >> p->doc[i].doc.kind & 1);
        plain_free(&folded[i]);
        if (hit[i].score == 0 || !wanted) continue;
        hit[*n] = hit[i];
        hit[(*n)++].doc = p->doc[i].doc;
    }
    free(folded);
    qsort(hit, *n, sizeof *hit, plain_order);
    return hit;
}

RIG bool same_doc(const struct recall_doc *a, const struct recall_doc *b)
{
    return memcmp(a->session, b->session, STORE_SESSION_ID) == 0 && a->kind == b->kind && a->id == b->id &&
           a->chunk == b->chunk && a->at == b->at && a->len == b->len && a->when == b->when;
}

RIG void check_same(const struct recall_result *res, const struct recall_hit *hit, size_t n)
{
    for (int i = 0; i < res->n_hits; i++) {
        const struct recall_hit *h = &res->hit[i];
        CHECK((size_t)i < n);
        CHECK_NEAR(h->score, hit[i].score, 1e-9 * hit[i].score);
        for (int t = 0; t < res->n_terms; t++) {
            CHECK_EQ(h->tf[t], hit[i].tf[t]);
            CHECK_NEAR(h->share[t], hit[i].share[t], 1e-9 * hit[i].share[t]);
        }
        CHECK(same_doc(&h->doc, &hit[i].doc));
    }
}
#endif
