/* session_compact.c - summing up: the model is asked, its record is merged with the one before, and what comes of it is
 * taken if it is smaller by enough; else an extract; else nothing, and nothing is lost. */
#include "app/say.h"
#include "app/session/session_impl.h"
#include "memory/summary.h"

enum {
    SOURCES = 256,   /* messages that an extract looks at: the newest of them */
    LEAST_CTX = 1024 /* tokens of a context that sums up */
};

struct compaction {
    struct window_proposal p;
    struct form_record before; /* parsed; points into `said_before` */
    struct buf said_before;
    bool has_before;
    struct form_record note;   /* the task state */
    struct summary_tasks tasks;
    bool has_tasks;
    struct turn_result asked;
    struct buf text;           /* the candidate */
    struct summary_result result;
    bool extract;
    char reason[200];          /* why it is not the model's, or not all of it */
};

/* ---------------------------------------------------------------- tokens of a text */

static int tokens_of(void *self, const char *text, size_t len, int64_t *out)
{
    struct session *s = self;
    struct engine_count empty = {0}, whole = {0};
    const struct msg none = {.role = ROLE_USER, .text = "", .len = 0};
    const struct msg m = {.role = ROLE_USER, .text = text, .len = len};
    int rc = s->a->ops->count_tokens(s->a->engine, &none, 1, &empty, NULL);
    if (rc == 0) rc = s->a->ops->count_tokens(s->a->engine, &m, 1, &whole, NULL);
    *out = MAX(0, whole.tokens - empty.tokens);
    return rc;
}

/* ---------------------------------------------------------------- what is merged */

/* The record of the summary in force.  It may be one that a damaged store has lost: then there is none. */
static void read_before(struct session *s, struct compaction *c)
{
    const struct text_entry *e = c->p.summary ? texts_get(&s->texts, c->p.summary, NULL) : NULL;
    if (!e) return;
    buf_put(&c->said_before, e->text, e->len);
    c->has_before = !c->said_before.failed && e->len > 0 &&
                    forms_read_record(c->said_before.data, c->said_before.len, &c->before, NULL) == 0;
}

/* What recall and artifact give was said before, under another number. */
static bool is_quotation(struct session *s, uint64_t result)
{
    struct form_call call;
    const struct text_entry *e = result > 0 ? texts_get(&s->texts, result - 1, NULL) : NULL;
    if (!e || e->kind != JOURNAL_CALL || forms_read_call_as(FORM_CALLS_ANY, e->text, e->len, &call, NULL))
        return false; /* whatever model said it then */
    bool quotes = strcmp(call.name, "recall") == 0 || strcmp(call.name, "artifact") == 0;
    forms_call_free(&call);
    return quotes;
}

bool session_is_said(struct session *s, uint64_t id, enum journal_kind kind)
{
    return kind == JOURNAL_USER || kind == JOURNAL_ANSWER || (kind == JOURNAL_RESULT && !is_quotation(s, id));
}

struct marks { /* on the store's thread */
    const uint8_t *session;
    uint64_t from;
    struct journal_spans *out;
};

static int read_marks(struct store *s, void *arg, struct err *err)
{
    struct marks *m = arg;
    return journal_out(s, m->session, m->from, UINT64_MAX, 1u << JOURNAL_UNDONE, m->out, err);
}

/* The turns that were taken back lie between the others, and are not to be spoken of again. */
int session_find_undone(struct session *s, uint64_t from, struct err *err)
{
    int rc = 0;
    if (from < s->undone_from) {
        rc = keep_call(&s->keep, read_marks, &(struct marks){s->keep.head.id, from, &s->undone}, err);
        if (rc == 0) s->undone_from = from;
    }
    return rc == 0 && s->undone.failed ? err_set(err, -1, "no memory for what was taken back") : rc;
}

/* The newest messages of a range, those that can still be had.  Their texts stay where they are until texts change. */
static size_t sources(struct session *s, const struct window_ref *range, struct summary_source *out, size_t cap)
{
    uint64_t id = range->last + 1;
    size_t n = 0;
    uint64_t first = range->last - range->first < 4 * SOURCES ? range->first : range->last - 4 * SOURCES;
    if (range->messages == 0) return 0;
    while (n < cap && id-- > first) {
        if (journal_span_has(&s->undone, id)) continue;
        const struct text_entry *e = texts_get(&s->texts, id, NULL);
        if (!e || !session_is_said(s, id, e->kind)) continue;
        e = texts_get(&s->texts, id, NULL); /* looking at the call before may have moved it */
        if (e) out[n++] = (struct summary_source){{e->text, e->len}, e->kind == JOURNAL_USER};
    }
    for (size_t i = 0; i < n / 2; i++) { /* the oldest first */
        struct summary_source t = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = t;
    }
    return n;
}

static const struct summary_tasks *tasks_of(const struct compaction *c) { return c->has_tasks ? &c->tasks : NULL; }

static void read_tasks(struct session *s, struct compaction *c)
{
    if (session_tasks(s, &c->note, &c->has_tasks)) return;
    if (c->has_tasks) c->tasks = (struct summary_tasks){c->note.section[RECORD_DONE], c->note.section[RECORD_OPEN]};
}

static struct summary_limit limit_of(struct session *s, const struct compaction *c)
{
    return (struct summary_limit){tokens_of, s, c->p.max_tokens};
}

/* Lines out of what was said: in place of a summary, or for what left earlier without one. */
static int extract(struct session *s, struct compaction *c, bool all, struct err *err)
{
    struct summary_source said[2 * SOURCES];
    struct summary_limit limit = limit_of(s, c);
    uint64_t first = c->p.cut.messages > 0 ? MIN(c->p.cut.first, c->p.range.first) : c->p.range.first;
    if (session_find_undone(s, first, err)) return -1;
    size_t n = sources(s, &c->p.cut, said, SOURCES);
    if (all) n += sources(s, &c->p.range, said + n, SOURCES);
    c->text.len = 0;
    return summary_extract(c->has_before ? &c->before : NULL, said, n, tasks_of(c), &limit, &c->text, &c->result, err);
}

/* What left earlier without a summary is not in the exchange: an extract of it goes before what the model says. */
static void add_cut(struct session *s, struct compaction *c)
{
    if (c->p.cut.messages == 0 || extract(s, c, false, NULL)) return;
    if (c->has_before) forms_record_free(&c->before);
    buf_free(&c->said_before);
    c->said_before = c->text;
    c->text = (struct buf){0};
    c->has_before = forms_read_record(c->said_before.data, c->said_before.len, &c->before, NULL) == 0;
}

/* ---------------------------------------------------------------- the model's */

/* A record that met its limit in its last section is one as far as its lines are whole: what repeats is there once
 * after the merge.  One that did not come to that section says nothing of what is open, and is none. */
static bool keep_whole_lines(struct compaction *c)
{
    struct form_record r;
    const char *text = c->asked.text.data, *newline = text ? memrchr(text, '\n', c->asked.text.len) : NULL;
    size_t n = newline ? (size_t)(newline - text) : 0;
    if (n == 0 || forms_read_record(text, n, &r, NULL)) return false;
    forms_record_free(&r);
    c->asked.text.len = n;
    snprintf(c->reason, sizeof c->reason, "it met its limit; the whole lines of it were taken");
    return true;
}

static int ask_model(struct session *s, struct compaction *c, struct err *err)
{
    if (s->a->o->summary && strcmp(s->a->o->summary, "extract") == 0)
        return err_set(err, -1, "--summary extract");
    if (c->p.n == 0) return err_set(err, -1, "what is to be summed up is too large for one exchange");
    if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, c->p.items, c->p.n, err)) return -1;
    struct turn_ask ask = {.msgs = s->prompt.msgs, .n_msgs = s->prompt.n, .max_tokens = (int)c->p.max_tokens,
                           .silent = true, .aside = true};
    if (turn_run(s->a, &ask, &c->asked, err)) return -1;
    if (c->asked.end == END_STOP) return 0;
    if (c->asked.end == END_LENGTH && (s->a->o->off.summary || keep_whole_lines(c))) return 0;
    return err_set(err, -1, "the summary did not come to its end: %s", engine_end_name(c->asked.end));
}

/* Without the guard: a record or none, what was said before in it or not. */
static int take_unread(struct session *s, struct compaction *c, struct err *err)
{
    const struct buf *said = &c->asked.text;
    buf_put(&c->text, said->data, said->len);
    c->result = (struct summary_result){.items = 1};
    if (c->text.failed) return err_set(err, -1, "no memory for a summary");
    return tokens_of(s, c->text.data ? c->text.data : "", c->text.len, &c->result.tokens);
}

/* What it was shown is what it was asked with: the prompt. */
static int check_said(struct session *s, struct compaction *c, struct form_record *now, struct err *err)
{
    size_t left, used = strlen(c->reason);
    struct form_text *shown = malloc(((size_t)s->prompt.n + 1) * sizeof *shown);
    if (!shown) return err_set(err, -1, "no memory for a summary");
    for (int i = 0; i < s->prompt.n; i++) shown[i] = (struct form_text){s->prompt.msgs[i].text, s->prompt.msgs[i].len};
    int rc = summary_check(now, shown, (size_t)s->prompt.n, &left, err);
    free(shown);
    if (rc == 0 && left > 0)
        snprintf(c->reason + used, sizeof c->reason - used, "%s%zu of its lines %s not said and %s left out",
                 used > 0 ? "; " : "", left, left == 1 ? "was" : "were", left == 1 ? "is" : "are");
    return rc;
}

static int merge(struct session *s, struct compaction *c, struct err *err)
{
    if (s->a->o->off.summary) return take_unread(s, c, err);
    struct form_record now;
    const struct buf *answer = &c->asked.text;
    int rc = forms_read_record(answer->data ? answer->data : "", answer->len, &now, err);
    if (rc) return rc;
    rc = check_said(s, c, &now, err);
    if (rc) {
        forms_record_free(&now);
        return rc;
    }
    add_cut(s, c);
    struct summary_source said[SOURCES];
    size_t n = session_find_undone(s, c->p.range.first, NULL) == 0 ? sources(s, &c->p.range, said, SOURCES) : 0;
    struct summary_limit limit = limit_of(s, c);
    c->text.len = 0;
    const struct form_record *before = c->has_before ? &c->before : NULL;
    rc = summary_merge(before, &now, said, n, tasks_of(c), &limit, &c->text, &c->result, err);
    forms_record_free(&now);
    return rc;
}

/* ---------------------------------------------------------------- the commit */

static int commit(struct session *s, struct compaction *c, struct err *err)
{
    struct window_figures f;
    struct journal_message m = {.kind = JOURNAL_SUMMARY, .flags = c->extract ? JOURNAL_EXTRACT : 0,
                                .turn = s->keep.head.turns, .text = c->text.data ? c->text.data : "",
                                .len = c->text.len};
    uint64_t id = s->keep.head.next;
    if (texts_put(&s->texts, id, &m, err)) return -1;
    int rc = window_commit(s->w, id, c->result.items, c->extract, err);
    texts_cut(&s->texts, id); /* as it was, or put again with its record */
    if (rc) return rc;
    window_figures(s->w, &f);
    m.first = f.summed.first;
    m.last = f.summed.last;
    m.results = (uint32_t)MIN(f.summed.messages, (int64_t)UINT32_MAX);
    return session_note(s, &m, err) == id ? 0 : -1;
}

static int by_extract(struct session *s, struct compaction *c, struct err *err)
{
    snprintf(c->reason, sizeof c->reason, "%.190s", err->text);
    c->extract = true;
    if (extract(s, c, true, err)) return -1;
    return commit(s, c, err);
}

static void tell(struct session *s, const struct compaction *c, bool done)
{
    char what[48] = "";
    struct window_figures f;
    window_figures(s->w, &f);
    const struct window_ref *ref = done ? &f.summed : &c->p.range;
    if (ref->messages > 0) window_ref_name(ref, what);
    const char *by = !done ? "nobody" : c->extract ? "extract" : "model";
    struct event e = {.kind = EV_SUMMARY, .summary = {
        .turn = s->a->trace.voice->turns + 1, .by = event_str(by), .reason = event_str(c->reason),
        .what = event_str(what),
        .prompt_tokens = c->p.tokens, .prefill_tokens = c->p.prefill, .tokens = done ? c->result.tokens : 0,
        .items = done ? (int64_t)c->result.items : 0, .dropped = done ? (int64_t)c->result.dropped : 0,
        .text = {done && c->text.data ? c->text.data : "", done ? c->text.len : 0}}};
    trace_put(&s->a->trace, &e);
    if (done)
        say_dim("[%lld message%s (%s) %s now %s of %lld tokens; /summary shows it, /undo summary brings %s back]",
                (long long)ref->messages, plural(ref->messages), what, ref->messages == 1 ? "is" : "are",
                c->extract ? "an extract" : "a summary", (long long)c->result.tokens,
                ref->messages == 1 ? "it" : "them");
    if (done && c->result.added > 0)
        say_dim("[%zu of its lines %s as you said %s: the model had left %s out]", c->result.added,
                c->result.added == 1 ? "is" : "are", c->result.added == 1 ? "it" : "them",
                c->result.added == 1 ? "it" : "them");
    if (*c->reason) say_dim("[the model's summary%s: %s]", done && !c->extract ? "" : " was not taken", c->reason);
}

static void finish(struct compaction *c)
{
    if (c->has_before) forms_record_free(&c->before);
    if (c->has_tasks) forms_record_free(&c->note);
    buf_free(&c->said_before);
    buf_free(&c->asked.text);
    buf_free(&c->text);
}

const char *session_no_summaries(const struct session *s)
{
    const struct opts *o = s->a->o;
    if (guards_no_window(&o->off)) return "nothing is summed up, nothing leaves";
    if (o->summary && strcmp(o->summary, "off") == 0) return "summaries are off (--summary off)";
    return s->role.ctx < LEAST_CTX ? "this context is too small for summaries" : NULL;
}

int session_compact(struct session *s, struct err *err)
{
    struct compaction c = {0};
    struct err why = {0};
    const char *none = session_no_summaries(s);
    if (none) return err_set(err, -1, "%s", none);
    if (window_propose(s->w, &c.p, &why)) {
        session_tell(s);
        return err_set(err, -1, "%s", why.text);
    }
    say_dim("[summing up %lld message%s: %lld tokens of prompt, about %lld of them to be read]",
            (long long)c.p.range.messages, plural(c.p.range.messages), (long long)c.p.tokens, (long long)c.p.prefill);
    read_before(s, &c);
    read_tasks(s, &c);
    int rc = ask_model(s, &c, &why);
    bool stopped = session_cancelled(s);
    if (rc == 0) rc = merge(s, &c, &why);
    if (rc == 0) rc = commit(s, &c, &why);
    if (rc && !stopped) rc = by_extract(s, &c, &why);
    if (rc) window_abandon(s->w);
    tell(s, &c, rc == 0);
    session_tell(s);
    finish(&c);
    return rc ? err_set(err, -1, "nothing was summed up: %s", stopped ? "interrupted" : why.text) : 0;
}

int session_undo_summary(struct session *s, struct err *err)
{
    struct window_figures f;
    struct buf before = {0};
    struct window_event told;
    window_figures(s->w, &f);
    window_save(s->w, s->vocabulary, &before);
    int rc = before.failed ? err_set(err, -1, "no memory to go back") : window_undo(s->w, err);
    if (rc == 0 && !session_has_texts(s)) {
        while (window_next_event(s->w, &told)) continue; /* it was not so */
        window_load(s->w, before.data, before.len, s->vocabulary, NULL);
        rc = err_set(err, -1, "what was summed up is gone: this session is not saved (--keep-unsaved)");
    }
    buf_free(&before);
    if (rc) return -1;
    session_mark(s, JOURNAL_UNCOMPACTED, f.summary, f.summary);
    session_tell(s);
    return session_save(s, err);
}

/* What every call begins with is no message; it is changed in another way. */
static int check_front(const struct session *s, uint64_t id, struct err *err)
{
    if (id > 0 && id == s->system)
        return err_set(err, -1, "m%llu is the system message: it cannot be dropped; /system TEXT changes it",
                       (unsigned long long)id);
    if (id > 0 && id == s->tools)
        return err_set(err, -1, "m%llu tells of the tools: it cannot be dropped; /tools off NAME takes one away",
                       (unsigned long long)id);
    return 0;
}

int session_drop(struct session *s, uint64_t id, struct err *err)
{
    if (check_front(s, id, err) || window_drop(s->w, id, NULL, err)) return -1;
    session_tell(s);
    return session_save(s, err);
}

const struct text_entry *session_summary(struct session *s, struct buf *diff, struct err *err)
{
    struct window_figures f;
    struct summary_change change;
    window_figures(s->w, &f);
    const struct text_entry *e = f.summary ? texts_get(&s->texts, f.summary, err) : NULL;
    const char *none = session_no_summaries(s);
    if (f.summary == 0 && none) err_set(err, -1, "nothing was summed up, nor will be: %s", none);
    else if (f.summary == 0) err_set(err, -1, "nothing was summed up yet; /compact does it");
    if (!e || f.before == 0) return e;
    struct form_text now = {e->text, e->len};
    const struct text_entry *old = texts_get(&s->texts, f.before, NULL);
    if (old && summary_diff((struct form_text){old->text, old->len}, now, diff, &change, err)) return NULL;
    return texts_get(&s->texts, f.summary, err);
}
