/* session_recall.c - what was said long ago: found by its words, on the store's thread, and brought into the
 * conversation as the result of a recall that nobody had to ask for.
 *
 *     found ── those that tell something, each once ── not in the context already ── the best, and what comes near it */
#include "app/say.h"
#include "app/session/session_impl.h"
#include <inttypes.h>

/* ---------------------------------------------------------------- the index follows the journal */

enum {
    SLICE = 2 << 20,  /* bytes of text: between two slices turns are saved and searches made */
    OTHERS = 8 << 20  /* of sessions that are not open, before all are asked: a person waits for it */
};

struct index_task {
    struct keep_task task;
    struct session *s;
    struct remember_at at;
    uint8_t session[STORE_SESSION_ID];
};

static int open_index(struct session *s, struct store *st, struct err *err)
{
    const struct opts *o = s->a->o;
    if (s->recall) return 0;
    s->recall = recall_open(st, err);
    if (!s->recall) return STORE_NO_MEMORY;
    recall_set_quota(s->recall, (struct recall_quota){(uint64_t)o->recall_index, (uint64_t)o->recall_index_session});
    return 0;
}

static int run_index(struct keeper_job *base, struct store *st, struct err *err)
{
    struct index_task *t = (struct index_task *)base;
    int rc = open_index(t->s, st, err);
    return rc ? rc : remember_slice(t->s->recall, st, t->session, SLICE, &t->at, err);
}

/* The name of what is read, for a person. */
static const char *name_of(const struct remember_at *at)
{
    const char *slash = strrchr(at->path, '/');
    return slash && slash[1] ? slash + 1 : *at->path ? at->path : "a long result";
}

/* What the quotas leave out is said, once for each file and once for all else. */
static void tell_quotas(struct session *s)
{
    struct session_indexing *x = &s->index;
    const struct opts *o = s->a->o;
    if (x->at.over > 0 && (*x->at.over_path || !x->over_told)) {
        const char *slash = strrchr(x->at.over_path, '/');
        say("%s is not in the index: that of this session is full (--recall-index-session, %.1f MiB); the whole stays "
            "as an artifact", !*x->at.over_path ? "a long result" : slash && slash[1] ? slash + 1 : x->at.over_path,
            o->recall_index_session / 0x1p20);
        x->over_told |= !*x->at.over_path;
    }
    if (x->at.full && !x->full_told)
        say("%s%sthe recall index is full (--recall-index, %.1f MiB): what it has no room for is not found; all of it "
            "stays in the session", x->at.of > 0 ? name_of(&x->at) : "", x->at.of > 0 ? " is not wholly in: " : "",
            o->recall_index / 0x1p20);
    x->full_told = x->at.full;
}

static void tell_index(struct session *s, const struct remember_at *before, bool failed)
{
    struct session_indexing *x = &s->index;
    char text[120];
    const bool same = before->of > 0 && before->number == x->at.number;
    if (x->told && (!same || x->at.full)) {
        say_progress("");
        if (!failed && !x->at.full && before->skip != before->number)
            say_dim("[%s is in the index: /recall finds it]", name_of(before));
        x->told = false;
    }
    if (x->at.of == 0 || x->at.skip == x->at.number || x->at.full) return;
    snprintf(text, sizeof text, "indexing %.50s: %.1f of %.1f MiB, %d %% (Esc stops it)", name_of(&x->at),
             (double)x->at.bytes / 0x1p20, (double)x->at.of / 0x1p20,
             (int)(100 * ((double)x->at.bytes / (double)x->at.of)));
    say_progress(text);
    x->told = true;
}

/* What fails here is tried again by the next, and told by a search. */
static void indexed(struct keep *k, struct keep_task *task)
{
    struct index_task *t = (struct index_task *)task;
    struct session *s = t->s;
    const struct remember_at before = s->index.at;
    const bool failed = task->base.code != 0;
    (void)k;
    s->index.busy = false;
    t->at.skip = s->index.at.skip;
    s->index.at = t->at;
    free(t);
    if (!failed) tell_quotas(s);
    if (s->a->between) tell_index(s, &before, failed); /* the next slice is the screen's to begin: others come first */
    else if (s->index.at.more) session_index(s);
}

void session_index(struct session *s)
{
    if (s->index.busy || !session_saves(s) || s->a->o->recall_index < 1) return;
    struct index_task *t = calloc(1, sizeof *t);
    if (!t) return;
    *t = (struct index_task){.task = {.base = {.run = run_index}, .done = indexed}, .s = s, .at = s->index.at};
    memcpy(t->session, s->keep.head.id, sizeof t->session);
    s->index.busy = keep_later(&s->keep, &t->task, NULL) == 0;
    if (!s->index.busy) free(t);
}

bool session_index_on(struct session *s)
{
    if (s->index.at.more && !s->farewell.said) session_index(s);
    return s->index.at.more;
}

/* The mark is what takes it out; until that is read in its turn, no more of it goes in. */
bool session_index_stop(struct session *s)
{
    struct remember_at *at = &s->index.at;
    struct err err = {0};
    if (!at->more || at->of == 0 || !*at->path || at->skip == at->number) return false;
    at->skip = at->number;
    say_progress("");
    say("%s is not in the index: it was stopped at %d %%; the whole stays as an artifact", name_of(at),
        (int)(100 * ((double)at->bytes / (double)at->of)));
    session_mark(s, JOURNAL_UNDONE, at->number, at->number);
    if (session_save(s, &err)) app_error(s->a, "store", err.text);
    return true;
}

void session_close_index(struct session *s)
{
    recall_close(s->recall);
    s->recall = NULL;
    session_close_snap(s);
}

/* ---------------------------------------------------------------- searching */

struct search {
    struct session *s;
    bool as_it_is; /* the index is being made: it is searched as far as it is */
    struct remember_query q;
    struct remember_found *out;
};

static int run_search(struct store *st, void *arg, struct err *err)
{
    struct search *f = arg;
    struct session *s = f->s;
    unsigned left = 0;
    int rc = open_index(s, st, err);
    if (rc == 0 && !f->as_it_is) rc = remember_session(s->recall, st, s->keep.head.id, err);
    if (rc == 0 && !f->q.session)
        rc = remember_others(s->recall, st, s->keep.head.id, OTHERS, &s->index.others, &left, err);
    if (rc == 0) rc = remember_search(s->recall, st, &f->q, f->out, err);
    f->out->left = left;
    f->out->full = s->index.at.full || (!f->q.session && s->index.others.full);
    return rc;
}

int session_recall(struct session *s, const struct session_question *q, struct remember_found *out, struct err *err)
{
    struct search f = {.s = s, .out = out};
    *out = (struct remember_found){0};
    if (!session_saves(s) && q->everywhere)
        return err_set(err, -1, "this session is not saved, and no other is at hand: /recall WORDS searches this one");
    if (!session_saves(s)) return session_scan(s, q, true, out, err);
    if (s->a->o->recall_index < 1)
        return err_set(err, -1, "there is no recall index (--recall-index 0): nothing can be recalled");
    f.q = (struct remember_query){.text = q->text, .n = q->n, .k = MAX(1, MIN(q->k, RECALL_K)), .wanted = q->wanted,
                                  .self = q->self, .session = q->everywhere ? NULL : s->keep.head.id};
    session_settle(s); /* what was said just now counts */
    f.as_it_is = s->index.at.more || s->index.at.full; /* full: what was begun is gone on with when there is room */
    return keep_call(&s->keep, run_search, &f, err) ? -1 : 0;
}

/* ---------------------------------------------------------------- unasked */

enum { FOUND = 3 };
#define WORTH_IT 0.5 /* of the question's weight is in it: what is below is not brought in */
#define NEARLY_ALL 0.8
#define FAR_LESS 0.85 /* of the best one's */

struct window_id {
    uint64_t id;
    bool there;
};

static bool same(void *self, uint64_t id)
{
    struct window_id *w = self;
    w->there |= w->id == id;
    return !w->there;
}

static bool is_in_window(const struct session *s, enum recall_kind kind, uint64_t id)
{
    struct window_id w = {.id = id};
    if (kind == RECALL_MESSAGE) window_each(s->w, same, &w);
    return w.there;
}

/* A summary of what is asked for is no news, unless it is all that there is. */
static bool is_no_summary(void *self, const struct recall_doc *d) { return (void)self, d->kind != RECALL_SUMMARY; }

static int find(struct session *s, const char *text, size_t n, struct remember_found *out)
{
    struct session_question q = {.text = text, .n = n, .k = RECALL_K, .wanted = is_no_summary};
    if (opts_recalls_summary(s->a->o) || (!session_saves(s) && s->texts.gone.n > 0)) q.wanted = NULL;
    return opts_recalls_summary(s->a->o) ? session_scan(s, &q, false, out, NULL) : session_recall(s, &q, out, NULL);
}

/* Behind session_choose_quotes(): of what was said again lately that one is left, and leaves here. */
static void drop_known(struct session *s, struct remember_found *f)
{
    int kept = 0;
    for (int i = 0; i < f->n; i++) {
        const struct remember_quote *q = &f->quote[i];
        const char *text = f->text.data + q->at;
        bool known = q->kind == RECALL_SUMMARY ? session_has_line(s, text, q->len) : is_in_window(s, q->kind, q->id);
        if (!known) f->quote[kept++] = *q;
    }
    f->n = kept;
}

/* It is in the context once already: what half of the lines have ("is", "the") does not ask for this one. */
static bool is_singled_out(const struct remember_quote *q) { return q->matched >= NEARLY_ALL && q->rarest <= 0.5; }

/* The best ones, and no more than are of use. */
static void drop_weak(struct remember_found *f)
{
    double best = f->n > 0 ? f->quote[0].matched : 0;
    int kept = 0;
    for (int i = 0; i < f->n && kept < FOUND; i++) {
        double m = f->quote[i].matched;
        if (m < WORTH_IT || m < best / 2 || (best >= NEARLY_ALL && m < FAR_LESS * best)) continue;
        if (f->quote[i].kind == RECALL_SUMMARY && !is_singled_out(&f->quote[i])) continue;
        f->quote[kept++] = f->quote[i];
    }
    f->n = kept;
}

bool session_has_left(const struct session *s)
{
    struct window_figures f;
    window_figures(s->w, &f);
    return f.cut.messages > 0 || f.summed.messages > 0 || s->keep.head.artifacts > 1;
}

int session_recall_unasked(struct session *s, const char *text, size_t n, struct err *err)
{
    struct remember_found found;
    int rc = 0;
    if (!s->recalls || !session_has_left(s)) return 0;
    if (find(s, text, n, &found)) return 0; /* the turn goes on without */
    session_choose_quotes(s, text, n, &found);
    drop_known(s, &found);
    drop_weak(&found);
    if (found.n > 0) rc = session_recalled(s, text, n, &found, err);
    remember_free(&found);
    return rc;
}
