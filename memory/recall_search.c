/* recall_search.c - the question's terms, how rare each is, and the chunks that have them, best first.
 *
 * Twice over the segments: the first time counts the chunks of each term, the second reads the chosen terms' postings
 * side by side, a block of each in memory, and scores each chunk when all of it is known. */
#include "memory/recall_impl.h"

struct search {
    struct recall *r;
    const struct recall_query *q;
    struct recall_result *out;
    uint64_t terms; /* of all chunks */
    int k;
    unsigned kinds;
    struct err err; /* the last one */
};

/* ------------------------------------------------------------------ damage */

/* Notes a damaged record and lets the search go on: 0.  Other errors are the search's own. */
static int skip(struct search *s, int rc, const uint8_t *session)
{
    struct recall_result *out = s->out;
    if (rc != STORE_DAMAGED) return rc;
    if (out->damaged++ == 0) {
        out->damage = s->err;
        out->has_session = session != NULL;
        if (session) memcpy(out->session, session, STORE_SESSION_ID);
    }
    return 0;
}

/* ------------------------------------------------------------------ the question */

static void ask(void *self, const struct fold_term *t)
{
    struct search *s = self;
    s->out->left_out += !recall_ask(&s->r->question, t);
}

/* ------------------------------------------------------------------ counting */

static int is_dead(struct search *s, const struct segment *g, uint64_t doc, bool *dead)
{
    *dead = false;
    if (!g->unclean) return 0;
    int rc = recall_is_dead(s->r, s->r->ix.session, doc, dead, &s->err);
    return skip(s, rc, s->r->ix.session);
}

static int count(struct search *s, const struct segment *g, struct asked *a)
{
    struct reader *rd = &s->r->reader[0];
    bool dead;
    int rc = recall_seek(rd, s->r->store, s->r->ix.session, g, a->bytes, a->n, &s->err);
    while (rc > 0 && (rc = recall_read(rd, &s->err)) > 0) {
        int failed = is_dead(s, g, rd->now.doc, &dead);
        if (failed) return failed;
        a->docs += !dead;
    }
    return skip(s, rc, s->r->ix.session);
}

static int count_session(struct search *s)
{
    struct recall *r = s->r;
    int rc = 0;
    s->out->docs += r->ix.docs;
    s->terms += r->ix.terms;
    for (uint32_t g = 0; !rc && g < r->ix.n; g++)
        for (int i = 0; !rc && i < r->question.n; i++) rc = count(s, &r->ix.segment[g], &r->question.asked[i]);
    return rc;
}

/* ------------------------------------------------------------------ hits */

/* The chunk of this number.  0, STORE_DAMAGED: there is none, or another error. */
static int find_doc(struct recall *r, uint64_t number, struct recall_doc *out, struct err *err)
{
    struct pack *p = &r->pack;
    bool held = p->n && number >= p->doc[0].number && number <= p->doc[p->n - 1].number &&
                memcmp(p->doc[0].doc.session, r->ix.session, STORE_SESSION_ID) == 0;
    if (!held) {
        struct store_key key = recall_key('d', r->ix.session);
        struct store_place place = {STORE_CACHE, key, key.n, false};
        size_t n;
        recall_key_add(&place.key, number, 8);
        p->n = 0;
        int rc = store_next(r->store, &place, REC_CACHE, r->bytes, BLOCK, &n, err);
        if (!rc) rc = recall_pack_decode(r->bytes, n, &place.key, p, err);
        if (rc && rc != STORE_NOT_FOUND) return rc;
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->doc[i].number == number) {
            *out = p->doc[i].doc;
            return 0;
        }
    return err_set(err, STORE_DAMAGED, "chunk %llu of the recall index is missing", (unsigned long long)number);
}

static int offer(struct search *s, struct recall_hit *hit, uint64_t number)
{
    struct recall_result *out = s->out;
    if (out->n_hits == s->k && hit->score < out->hit[s->k - 1].score) return 0;
    int rc = find_doc(s->r, number, &hit->doc, &s->err);
    if (rc) return skip(s, rc, s->r->ix.session);
    recall_offer(out, s->k, hit);
    return 0;
}

/* ------------------------------------------------------------------ scoring */

/* The score of the chunk that these readers stand at; the others have not come to it. */
static bool score(const struct search *s, const bool *open, uint64_t doc, struct recall_hit *hit)
{
    const struct recall_result *out = s->out;
    *hit = (struct recall_hit){0};
    bool wanted = false;
    for (int i = 0; i < out->n_terms; i++) {
        const struct posting *p = &s->r->reader[i].now;
        if (!open[i] || p->doc != doc) continue;
        recall_weigh(out, i, p->tf, p->terms, hit);
        wanted = s->kinds >> p->kind & 1;
    }
    return wanted;
}

/* The next posting of each reader that stands at this chunk; damage ends a reader, and is noted. */
static int step(struct search *s, bool *open, uint64_t doc)
{
    for (int i = 0; i < s->out->n_terms; i++) {
        struct reader *rd = &s->r->reader[i];
        if (!open[i] || rd->now.doc != doc) continue;
        int rc = recall_read(rd, &s->err);
        open[i] = rc > 0;
        if (rc < 0) rc = skip(s, rc, s->r->ix.session);
        if (rc < 0) return rc;
    }
    return 0;
}

static int open_readers(struct search *s, const struct segment *g, bool *open)
{
    const struct recall_result *out = s->out;
    for (int i = 0; i < out->n_terms; i++) {
        struct reader *rd = &s->r->reader[i];
        int rc = recall_seek(rd, s->r->store, s->r->ix.session, g, out->term[i].bytes, out->term[i].n, &s->err);
        if (rc > 0) rc = recall_read(rd, &s->err);
        open[i] = rc > 0;
        if (rc < 0) rc = skip(s, rc, s->r->ix.session);
        if (rc < 0) return rc;
    }
    return 0;
}

static int score_segment(struct search *s, const struct segment *g)
{
    bool open[RECALL_TERMS] = {false}, dead;
    struct recall_hit hit;
    int rc = open_readers(s, g, open);
    while (!rc) {
        uint64_t doc = UINT64_MAX;
        for (int i = 0; i < s->out->n_terms; i++)
            if (open[i]) doc = MIN(doc, s->r->reader[i].now.doc);
        if (doc == UINT64_MAX) break;
        bool wanted = score(s, open, doc, &hit);
        rc = is_dead(s, g, doc, &dead);
        if (!rc && wanted && !dead) rc = offer(s, &hit, doc);
        if (!rc) rc = step(s, open, doc);
    }
    return rc;
}

static int score_session(struct search *s)
{
    int rc = 0;
    for (uint32_t g = 0; !rc && g < s->r->ix.n; g++) rc = score_segment(s, &s->r->ix.segment[g]);
    return rc;
}

/* ------------------------------------------------------------------ over sessions */

/* Does this with each session that is searched, in r->ix.  What is damaged is noted when `note` is. */
static int each_session(struct search *s, int (*what)(struct search *), bool note)
{
    struct recall *r = s->r;
    uint8_t session[STORE_SESSION_ID] = {0};
    struct store_key front = recall_key('s', s->q->session ? s->q->session : session);
    struct store_place p = {STORE_CACHE, front, s->q->session ? front.n : front.n - STORE_SESSION_ID, false};
    for (;;) {
        size_t n;
        int rc = store_next(r->store, &p, REC_CACHE, r->bytes, sizeof r->bytes, &n, &s->err);
        if (rc == STORE_NOT_FOUND) return 0;
        if (!rc) rc = recall_index_decode(r->bytes, n, &p.key, &r->ix, &s->err);
        if (!rc) {
            rc = what(s);
        } else if (rc == STORE_DAMAGED) {
            bool known = recall_key_session(&p.key, session);
            rc = note ? skip(s, rc, known ? session : NULL) : 0;
        }
        if (rc) return rc;
    }
}

int recall_search(struct recall *r, const struct recall_query *q, struct recall_result *out, struct err *err)
{
    const unsigned all = (1u << RECALL_KINDS) - 1;
    struct search s = {.r = r, .q = q, .out = out, .k = MAX(1, MIN(q->k, (int)RECALL_K))};
    s.kinds = q->kinds ? q->kinds : all;
    memset(out, 0, sizeof *out);
    r->question.n = 0;
    r->pack.n = 0;
    r->dead.n = 0;
    fold_text(q->text, q->n, ask, &s);
    int rc = each_session(&s, count_session, true);
    recall_choose(&r->question, s.terms, out);
    if (!rc && out->n_terms) rc = each_session(&s, score_session, false);
    return rc ? err_set(err, rc, "%s", s.err.text) : 0;
}
