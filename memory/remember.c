/* remember.c - see remember.h. */
#include "memory/remember_impl.h"
#include <inttypes.h>

enum { PART = 1 << 20, BLOCK = 256 << 10 };
enum { LATER = 2, ANEW = 3 }; /* not errors: the slice is full; all of the session has to be fed again */

struct part { /* of the journal */
    struct taken { uint64_t number; struct journal_message m; size_t at; } *taken;
    size_t n, cap;
    struct buf text;
    bool more, failed;
};

struct feed {
    struct recall *r;
    struct store *s;
    const uint8_t *session;
    struct remember_at *at;
    uint64_t left; /* bytes of this slice */
    bool first;    /* nothing went in yet: of the next text a part may be there */
    bool looked;   /* a mark was met, and so: */
    struct journal_spans out; /* what it and all behind it take back */
};

/* ------------------------------------------------------------------ changes of the index, each committed */

static int commit(struct feed *f, int rc, struct err *err)
{
    if (rc == 0) rc = store_commit(f->s, err);
    if (rc) store_abort(f->s);
    return rc;
}

static int flush(struct feed *f, uint64_t next, struct err *err)
{
    store_begin(f->s, STORE_CACHE);
    int rc = commit(f, recall_flush(f->r, f->session, next, err), err);
    if (rc == 0) recall_clear(f->r);
    return rc;
}

static int forget_text(struct feed *f, enum recall_kind kind, uint64_t id, struct err *err)
{
    store_begin(f->s, STORE_CACHE);
    return commit(f, recall_remove(f->r, f->session, kind, id, err), err);
}

static int forget_session(struct feed *f, struct err *err)
{
    recall_clear(f->r);
    store_begin(f->s, STORE_CACHE);
    return commit(f, recall_forget(f->r, f->session, err), err);
}

/* ------------------------------------------------------------------ texts */

/* All chunks of a text, or of a block of it that begins at `at`; *chunk counts on. */
static int add_text(struct feed *f, struct recall_doc doc, uint32_t *chunk, uint64_t number, const char *text, size_t n,
                    uint64_t at, struct err *err)
{
    for (size_t from = 0, next = 0; from < n; from += next) {
        size_t len = recall_chunk(text + from, n - from, &next);
        doc.chunk = *chunk;
        doc.at = at + from;
        doc.len = (uint32_t)len;
        int rc = recall_add(f->r, &doc, text + from, len, err);
        if (rc == RECALL_FULL) {
            rc = flush(f, number, err);
            if (rc == 0) rc = recall_add(f->r, &doc, text + from, len, err);
        }
        if (rc) return rc;
        ++*chunk;
    }
    f->left -= MIN(f->left, n);
    return 0;
}

/* Its artifact was begun; then its own text is in, also where of the artifact nothing had room. */
static bool goes_on(const struct feed *f, uint64_t number) { return f->at->of > 0 && f->at->number == number; }

/* Nothing is begun; what is the caller's stays, and what was left out. */
static void begin_anew(struct remember_at *at)
{
    at->number = at->bytes = at->of = 0;
    at->chunk = 0;
    at->path[0] = '\0';
    at->more = false;
}

static void name_text(char path[80], const struct taken *t, const char *text)
{
    const size_t n = t->m.kind == JOURNAL_DOCUMENT ? t->m.len : 0, most = 79;
    snprintf(path, most + 1, "%.*s", (int)MIN(n, most), text + (n > most ? n - most : 0));
}

static void begin_text(struct feed *f, uint64_t number, uint64_t size, const struct taken *t, const char *text)
{
    struct remember_at *at = f->at;
    if (goes_on(f, number)) return;
    begin_anew(at);
    at->number = number;
    at->of = size;
    name_text(at->path, t, text);
}

/* What of an artifact can be read.  One that is damaged or lost is passed over. */
static int add_artifact(struct feed *f, struct recall_doc doc, const struct taken *t, const char *text, uint64_t most,
                        struct err *err)
{
    struct buf block = {0};
    struct remember_at *at = f->at;
    uint64_t size = 0;
    struct recall_stat st;
    if (store_artifact_size(f->s, f->session, t->m.artifact, &size, NULL)) size = 0;
    size = MIN(size, most);
    const uint64_t quota = recall_get_quota(f->r).session;
    if (!goes_on(f, t->number) && (recall_stat(f->r, f->session, &st, NULL) || st.room >= quota)) {
        at->over++; /* it stays readable by name; what was begun below the quota goes in whole, in slices or not */
        name_text(at->over_path, t, text);
        return 0;
    }
    int rc = 0;
    for (begin_text(f, t->number, size, t, text); at->bytes < size && rc == 0 && at->skip != t->number;) {
        if (f->left == 0) {
            rc = LATER;
            break;
        }
        block.len = 0;
        size_t n = (size_t)MIN(size - at->bytes, (uint64_t)BLOCK);
        if (store_read_artifact(f->s, f->session, t->m.artifact, at->bytes, n, &block, NULL)) break;
        rc = add_text(f, doc, &at->chunk, t->number, block.data ? block.data : "", block.len, at->bytes, err);
        at->bytes += n;
    }
    if (rc != LATER) begin_anew(at);
    buf_free(&block);
    return rc;
}

/* ------------------------------------------------------------------ the journal, in parts */

static bool take(void *self, uint64_t number, const struct journal_message *m)
{
    struct part *p = self;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct taken *t = realloc(p->taken, cap * sizeof *t);
        p->failed = !t;
        if (!t) return false;
        p->taken = t;
        p->cap = cap;
    }
    p->taken[p->n++] = (struct taken){number, *m, p->text.len};
    buf_put(&p->text, m->text, m->len);
    p->failed |= p->text.failed;
    p->more = p->text.len >= PART || p->n >= 1024;
    return !p->failed && !p->more;
}

static bool is_found(const struct journal_message *m)
{
    enum journal_kind k = m->kind;
    if (m->flags & JOURNAL_QUOTE) return false; /* a quotation would be found before what it quotes */
    return k == JOURNAL_USER || k == JOURNAL_ANSWER || k == JOURNAL_RESULT || k == JOURNAL_SUMMARY ||
           k == JOURNAL_PIN || k == JOURNAL_NOTE;
}

/* What of it a program that was killed may have left in the index. */
static int forget_begun(struct feed *f, const struct taken *t, struct err *err)
{
    const bool document = t->m.kind == JOURNAL_DOCUMENT;
    int rc = 0;
    if (t->m.artifact)
        rc = forget_text(f, document ? RECALL_DOCUMENT : RECALL_ARTIFACT, document ? t->number : t->m.artifact, err);
    if (rc || document) return rc;
    return forget_text(f, t->m.kind == JOURNAL_SUMMARY ? RECALL_SUMMARY : RECALL_MESSAGE, t->number, err);
}

/* ------------------------------------------------------------------ marks of what was taken back */

struct marks {
    const struct journal_spans *out; /* NULL: all are looked at */
    uint64_t before;                 /* whether any of those before this number is out: */
    bool any;
    uint64_t behind;                 /* the number behind the last that was looked at */
};

static bool note_mark(void *self, uint64_t number, const struct journal_message *m)
{
    struct marks *v = self;
    if (m->kind != JOURNAL_MARK || m->results != JOURNAL_UNDONE) return true;
    v->behind = number + 1;
    v->any |= number < v->before && v->out && journal_span_has(v->out, number);
    return !v->any && (!v->out || number < v->before);
}

/* Whether a mark that came after these were fed gives back what a mark before this number took out of the index. */
static int gives_back(struct feed *f, uint64_t number, bool *does, struct err *err)
{
    struct journal_spans later = {0};
    struct marks v = {.before = number, .out = &later};
    const struct journal_visit visit = {.message = note_mark, .self = &v};
    int rc = journal_out(f->s, f->session, MAX(number, f->at->known), UINT64_MAX, 1u << JOURNAL_UNDONE, &later, err);
    if (rc == 0 && later.n > 0 && later.span[0].first < number)
        rc = journal_each(f->s, f->session, later.span[0].first, &visit, err);
    *does = v.any;
    journal_span_free(&later);
    return rc;
}

static bool is_out(void *self, const struct recall_doc *doc)
{
    return (doc->kind == RECALL_MESSAGE || doc->kind == RECALL_SUMMARY) && journal_span_has(self, doc->id);
}

/* At the first mark of a slice: all that is out leaves the index in one pass, however many marks say so. */
static int look_at_marks(struct feed *f, uint64_t number, struct err *err)
{
    struct marks all = {0};
    const struct journal_visit visit = {.message = note_mark, .self = &all};
    bool anew = false;
    int rc = gives_back(f, number, &anew, err);
    if (rc == 0) rc = journal_each(f->s, f->session, number, &visit, err);
    if (rc == 0) f->at->known = MAX(f->at->known, all.behind);
    if (rc || anew) return rc ? rc : ANEW;
    rc = journal_out(f->s, f->session, number, UINT64_MAX, 1u << JOURNAL_UNDONE, &f->out, err);
    if (rc == 0) rc = flush(f, number, err);
    if (rc) return rc;
    f->looked = true;
    store_begin(f->s, STORE_CACHE);
    return commit(f, recall_remove_all(f->r, f->session, is_out, &f->out, err), err);
}

/* A turn's files stay; one that was taken back by itself goes. */
static int undo(struct feed *f, const struct taken *t, struct err *err)
{
    struct journal_message m;
    struct buf text = {0};
    int rc = f->looked ? 0 : look_at_marks(f, t->number, err);
    if (rc || t->m.first != t->m.last || journal_span_has(&f->out, t->number)) return rc;
    if (journal_get(f->s, f->session, t->m.first, &m, &text, NULL) == 0 && m.kind == JOURNAL_DOCUMENT) {
        rc = flush(f, t->number, err);
        if (rc == 0) rc = forget_text(f, RECALL_DOCUMENT, t->m.first, err);
        f->left -= MIN(f->left, (uint64_t)BLOCK); /* a pass over the index, and there may be many marks */
    }
    buf_free(&text);
    return rc;
}

/* ------------------------------------------------------------------ message by message */

static int add_message(struct feed *f, const struct taken *t, const char *text, struct err *err)
{
    struct recall_doc doc = {.kind = t->m.kind == JOURNAL_SUMMARY ? RECALL_SUMMARY : RECALL_MESSAGE, .id = t->number,
                             .when = t->number};
    const bool further = goes_on(f, t->number), said = is_found(&t->m) && !journal_span_has(&f->out, t->number);
    uint32_t chunk = 0;
    int rc = 0;
    memcpy(doc.session, f->session, sizeof doc.session);
    if (t->m.kind == JOURNAL_MARK && t->m.results == JOURNAL_UNDONE) return undo(f, t, err);
    const bool parts = t->m.artifact || t->m.len > RECALL_CHUNK; /* a shorter one goes in whole, or not at all */
    if (parts && f->first && !further) rc = forget_begun(f, t, err);
    if (rc == 0 && said && !further) rc = add_text(f, doc, &chunk, t->number, text, t->m.len, 0, err);
    if (rc || !t->m.artifact) return rc;
    doc.kind = t->m.kind == JOURNAL_DOCUMENT ? RECALL_DOCUMENT : RECALL_ARTIFACT;
    if (doc.kind == RECALL_ARTIFACT) doc.id = t->m.artifact;
    return add_artifact(f, doc, t, text, doc.kind == RECALL_DOCUMENT ? REMEMBER_DOCUMENT : REMEMBER_ARTIFACT, err);
}

static int feed(struct feed *f, struct part *p, uint64_t from, struct err *err)
{
    struct journal_visit v = {.message = take, .self = p};
    const uint64_t begin = from;
    uint64_t last = from;
    int rc = 0;
    for (p->more = true; p->more && rc == 0;) {
        p->more = false;
        p->n = p->text.len = 0;
        rc = journal_each(f->s, f->session, from, &v, err);
        if (rc == 0 && p->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for the recall index");
        for (size_t i = 0; i < p->n && rc == 0; i++) {
            if (f->left == 0) rc = LATER;
            else rc = add_message(f, &p->taken[i], (p->text.data ? p->text.data : "") + p->taken[i].at, err);
            f->first = false;
            if (rc) break;
            from = last = p->taken[i].number + 1;
        }
    }
    f->at->more = rc == LATER;
    if (rc == 0 && last == begin) return 0; /* nothing is new: a search only reads, and waits for no other process */
    return rc && rc != LATER ? rc : flush(f, last, err);
}

/* What the session has in the index, and how much more of it there may be.  Who has nothing new pushes nobody out. */
static int begin_slice(struct feed *f, struct recall_stat *st, uint64_t *room, struct err *err)
{
    struct err ignored;
    int rc = recall_stat(f->r, f->session, st, err);
    const bool lags = rc || remember_lags(f->s, f->session, st->next);
    int measured = remember_room(f->r, f->s, f->session, f->at->stay || !lags, room, rc ? &ignored : err);
    if (rc == 0) rc = measured;
    f->at->full = rc == 0 && *room == 0 && lags;
    if (rc == 0 && *room == 0) f->at->more = false;
    return rc;
}

/* The last text may have been longer than there was room. */
static int end_slice(struct feed *f, uint64_t before, uint64_t room, struct err *err)
{
    struct recall_stat st;
    int rc = room == UINT64_MAX ? 0 : recall_stat(f->r, f->session, &st, err);
    if (rc || room == UINT64_MAX || st.room <= before || st.room - before <= room) return rc;
    return remember_room(f->r, f->s, f->session, f->at->stay, &room, err);
}

int remember_slice(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t most,
                   struct remember_at *at, struct err *err)
{
    struct feed f = {.r = r, .s = s, .session = session, .at = at, .first = !at->more};
    struct recall_stat st = {0};
    struct part p = {0};
    uint64_t room = 0;
    at->over = 0;
    int rc = begin_slice(&f, &st, &room, err);
    f.left = MAX(MIN(most, room), (uint64_t)1);
    if (rc == 0 && room == 0) return 0;
    if (rc == 0 && at->bytes > 0 && st.docs == 0) { /* the cache was begun anew meanwhile */
        begin_anew(at);
        f.first = true;
    }
    at->more = false;
    if (rc == 0) rc = feed(&f, &p, st.next, err);
    if (rc == STORE_DAMAGED || rc == ANEW) { /* all of it can be made again */
        begin_anew(at);
        f.first = f.looked = false;
        journal_span_free(&f.out);
        rc = forget_session(&f, err);
        if (rc == 0) rc = feed(&f, &p, 0, err);
    }
    if (rc == 0) rc = end_slice(&f, st.room, room, err);
    if (rc) begin_anew(at);
    if (rc) at->known = 0; /* what had to be fed again still has */
    recall_clear(r);
    journal_span_free(&f.out);
    free(p.taken);
    buf_free(&p.text);
    return rc;
}

int remember_session(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err)
{
    struct remember_at at = {0};
    int rc;
    do rc = remember_slice(r, s, session, UINT64_MAX, &at, err);
    while (rc == 0 && at.more); /* a quota has it measured in between */
    return rc;
}

/* ------------------------------------------------------------------ quotations */

/* The chunk's bytes, and where they are named.  false: they are not there any more. */
static bool read_chunk(struct store *s, const struct recall_doc *d, struct remember_quote *q, struct buf *out)
{
    struct journal_message m;
    uint64_t artifact = d->id;
    struct buf text = {0};
    bool ok = true;
    if (d->kind != RECALL_ARTIFACT) {
        ok = journal_get(s, d->session, d->id, &m, &text, NULL) == 0;
        if (ok && d->kind == RECALL_DOCUMENT) {
            artifact = m.artifact;
            snprintf(q->path, sizeof q->path, "%.*s", (int)MIN(m.len, sizeof q->path - 1), m.text);
        } else if (ok) {
            ok = d->at <= m.len && d->len <= m.len - d->at;
            if (ok) buf_put(out, m.text + d->at, d->len);
        }
    }
    if (ok && (d->kind == RECALL_ARTIFACT || d->kind == RECALL_DOCUMENT))
        ok = store_read_artifact(s, d->session, artifact, d->at, d->len, out, NULL) == 0 && out->len == d->len;
    bool whole = d->kind == RECALL_ARTIFACT || d->kind == RECALL_DOCUMENT;
    q->id = whole ? artifact : d->id;
    snprintf(q->name, sizeof q->name, "%c%" PRIu64, whole ? 'a' : 'm', q->id);
    buf_free(&text);
    return ok && !out->failed;
}

void remember_say_why(const struct recall_result *res, const struct recall_hit *h, struct remember_quote *q)
{
    double all = 0, mine = 0;
    bool told[RECALL_TERMS] = {0};
    size_t used = 0;
    q->rarest = 1;
    for (int i = 0; i < res->n_terms; i++) {
        all += res->term[i].idf;
        if (h->share[i] <= 0) continue;
        mine += res->term[i].idf;
        q->rarest = MIN(q->rarest, (double)res->term[i].docs / (double)MAX(res->docs, (uint64_t)1));
    }
    q->matched = all > 0 ? mine / all : 0;
    for (int n = 0; n < res->n_terms; n++) {
        int best = -1;
        for (int i = 0; i < res->n_terms; i++)
            if (!told[i] && h->share[i] > 0 && (best < 0 || h->share[i] > h->share[best])) best = i;
        if (best < 0) return;
        told[best] = true;
        int len = snprintf(q->why + used, sizeof q->why - used, "%s%.*s %.1f", used ? ", " : "",
                           (int)res->term[best].n, (const char *)res->term[best].bytes, h->share[best]);
        if (len < 0 || used + (size_t)len >= sizeof q->why) {
            q->why[used] = '\0';
            return;
        }
        used += (size_t)len;
    }
}

static bool seen(const struct remember_found *f, const struct recall_doc *d)
{
    for (int i = 0; i < f->n; i++) {
        const struct remember_quote *q = &f->quote[i];
        if (q->kind == d->kind && q->id == d->id && memcmp(q->session, d->session, sizeof q->session) == 0) return true;
    }
    return false;
}

static void quote(struct recall *r, struct store *s, const struct recall_result *res, const struct recall_hit *h,
                  struct remember_found *out)
{
    struct remember_quote q = {.kind = h->doc.kind, .id = h->doc.id, .score = h->score};
    struct buf chunk = {0};
    size_t at = 0, len = 0;
    if (read_chunk(s, &h->doc, &q, &chunk)) {
        recall_window(r, res, chunk.data ? chunk.data : "", chunk.len, REMEMBER_QUOTE, &at, &len);
        remember_say_why(res, h, &q);
        memcpy(q.session, h->doc.session, sizeof q.session);
        q.at = out->text.len;
        q.len = len;
        buf_put(&out->text, (chunk.data ? chunk.data : "") + at, len);
        out->quote[out->n++] = q;
    }
    buf_free(&chunk);
}

int remember_search(struct recall *r, struct store *s, const struct remember_query *q, struct remember_found *out,
                    struct err *err)
{
    struct recall_query ask = {.text = q->text, .n = q->n, .session = q->session, .k = RECALL_K};
    struct recall_result *res = calloc(1, sizeof *res);
    *out = (struct remember_found){0};
    int rc = res ? recall_search(r, &ask, res, err) : err_set(err, STORE_NO_MEMORY, "no memory for a search");
    for (int i = 0; rc == 0 && i < res->n_hits && out->n < q->k; i++) {
        const struct recall_hit *h = &res->hit[i];
        if (seen(out, &h->doc) || (q->wanted && !q->wanted(q->self, &h->doc))) continue;
        quote(r, s, res, h, out);
    }
    if (rc == 0) out->unknown = res->unknown;
    if (rc == 0 && res->damaged) snprintf(out->damage, sizeof out->damage, "%.190s", res->damage.text);
    if (rc == 0 && out->text.failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for quotations");
    if (rc) remember_free(out);
    free(res);
    return rc;
}

void remember_free(struct remember_found *f)
{
    buf_free(&f->text);
    f->n = 0;
}
