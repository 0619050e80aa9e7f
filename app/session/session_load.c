/* session_load.c - going back and going on: resume, undo, fork. */
#include "app/say.h"
#include "app/session/session_impl.h"

/* ---------------------------------------------------------------- made anew from what was said */

struct replay { /* on the store's thread: what a window would be made of */
    const uint8_t *session;
    uint64_t upto;      /* numbers up to and with this one count */
    struct journal_spans out;
    struct { uint64_t id, first, last, messages; bool extract; } summary; /* id 0: none */
    struct replay_text { uint64_t id; uint8_t kind; int results; } *text;
    size_t n, cap;
    bool failed;
};

static bool on_text(void *self, uint64_t number, const struct journal_message *m)
{
    struct replay *r = self;
    if (number > r->upto) return false;
    if (m->kind == JOURNAL_MARK || journal_span_has(&r->out, number)) return true;
    if (m->kind == JOURNAL_SUMMARY) {
        r->summary.id = number;
        r->summary.first = m->first;
        r->summary.last = m->last;
        r->summary.messages = MAX(m->results, 1u);
        r->summary.extract = m->flags & JOURNAL_EXTRACT;
        return true;
    }
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct replay_text *p = realloc(r->text, cap * sizeof *p);
        r->failed = !p;
        if (!p) return false;
        r->text = p;
        r->cap = cap;
    }
    r->text[r->n++] = (struct replay_text){number, (uint8_t)m->kind, (int)MIN(m->results, (uint32_t)INT32_MAX)};
    return true;
}

static int replay(struct store *s, void *arg, struct err *err)
{
    struct replay *r = arg;
    struct journal_visit texts = {.message = on_text, .self = r};
    int rc = journal_out(s, r->session, 0, r->upto, ~0u, &r->out, err);
    if (rc == 0) rc = journal_each(s, r->session, 0, &texts, err);
    if (rc == 0 && r->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a session");
    return rc;
}

static int put_back(struct session *s, const struct replay_text *t, uint64_t summed, struct err *err)
{
    static const int kind[JOURNAL_KINDS] = {[JOURNAL_USER] = WINDOW_USER, [JOURNAL_ANSWER] = WINDOW_ANSWER,
                                            [JOURNAL_CALL] = WINDOW_CALL, [JOURNAL_RESULT] = WINDOW_RESULT,
                                            [JOURNAL_NOTE] = WINDOW_NOTE};
    switch (t->kind) {
    case JOURNAL_SYSTEM:
        s->system = t->id;
        return window_add(s->w, WINDOW_SYSTEM, t->id, err);
    case JOURNAL_TOOLS:
        s->tools = t->id;
        return window_add(s->w, WINDOW_TOOLS, t->id, err);
    case JOURNAL_PIN: return window_add(s->w, WINDOW_PINNED, t->id, err);
    case JOURNAL_THINKING:
    case JOURNAL_DOCUMENT: return 0;
    default:
        if (t->id <= summed) return 0;
        int rc = window_append(s->w, (enum window_kind)kind[t->kind], t->id, t->kind == JOURNAL_CALL ? t->results : 0, err);
        return rc == WINDOW_UNANSWERED || rc == WINDOW_BAD ? 0 : rc; /* a damaged neighbour: it goes without this one */
    }
}

/* The window as the messages up to a number make it: under the newest summary among them. */
static int rebuild(struct session *s, uint64_t upto, struct err *err)
{
    struct replay r = {.session = s->keep.head.id, .upto = upto};
    int rc = keep_call(&s->keep, replay, &r, err);
    window_close(s->w);
    s->w = NULL;
    if (rc == 0) rc = session_window(s, err);
    if (rc == 0 && r.summary.id) {
        struct window_ref ref = {r.summary.first, r.summary.last, (int64_t)r.summary.messages, 0};
        rc = window_begin(s->w, r.summary.id, &ref, r.summary.extract, err);
    }
    for (size_t i = 0; i < r.n && rc == 0; i++) rc = put_back(s, &r.text[i], r.summary.id ? r.summary.last : 0, err);
    journal_span_free(&r.out);
    free(r.text);
    return rc;
}

/* ---------------------------------------------------------------- the window after a turn */

struct slot {
    const uint8_t *session;
    uint32_t turn;
    struct buf *out;
};

static int get_slot(struct store *s, void *arg, struct err *err)
{
    struct slot *f = arg;
    return journal_window(s, f->session, f->turn, f->out, err);
}

/* Into past[], from the store if need be.  false: it is not kept any more. */
static bool have_past(struct session *s, uint32_t turn)
{
    size_t slot = turn % JOURNAL_SLOTS;
    if (s->past[slot].len > 0 && s->past_turn[slot] == turn) return true;
    if (!session_saves(s)) return false;
    s->past[slot].len = 0;
    if (keep_call(&s->keep, get_slot, &(struct slot){s->keep.head.id, turn, &s->past[slot]}, NULL)) return false;
    s->past_turn[slot] = turn;
    return true;
}

static bool find_front(void *self, uint64_t id)
{
    struct session *s = self;
    const struct text_entry *e = texts_get(&s->texts, id, NULL);
    if (e && e->kind == JOURNAL_SYSTEM) s->system = id;
    if (e && e->kind == JOURNAL_TOOLS) s->tools = id;
    return e && (e->kind == JOURNAL_SYSTEM || e->kind == JOURNAL_TOOLS || e->kind == JOURNAL_PIN); /* the front */
}

static int load(struct session *s, uint32_t turn, struct err *err)
{
    const struct buf *b = &s->past[turn % JOURNAL_SLOTS];
    s->system = s->tools = 0;
    int rc = window_load(s->w, b->data, b->len, s->vocabulary, err);
    if (rc == 0) window_each(s->w, find_front, s);
    return rc;
}

/* ---------------------------------------------------------------- resume */

static int adopt(struct session *s, struct app *a, struct err *err)
{
    struct window_figures f;
    char parent[2 * STORE_SESSION_ID + 1] = "", id[2 * STORE_SESSION_ID + 1];
    static const uint8_t none[STORE_SESSION_ID];
    int rc = 0;
    s->acknowledged = s->keep.head.next - 1;
    if (!have_past(s, s->keep.head.turns) || load(s, s->keep.head.turns, err)) rc = rebuild(s, s->acknowledged, err);
    if (rc) return EXIT_INTERNAL;
    window_figures(s->w, &f);
    journal_id_text(s->keep.head.id, id);
    if (memcmp(s->keep.head.parent, none, sizeof none) != 0) journal_id_text(s->keep.head.parent, parent);
    struct event e = {.kind = EV_RESUMED, .resumed = {
        .session = event_str(id), .title = event_str(s->keep.head.title), .turns = s->keep.head.turns,
        .tokens = f.used, .parent = event_str(parent)}};
    trace_put(&a->trace, &e);
    session_remember(s);
    s->pages.wanted = true;
    return EXIT_DONE;
}

int session_resume(struct session *s, struct app *a, const char *name, const char *system, struct err *err)
{
    *s = (struct session){.a = a};
    if (!a->keeper) return err_set(err, EXIT_USAGE, "sessions are not saved here (--no-save): none can be resumed");
    int rc = keep_open(&s->keep, a->keeper, name, err);
    if (rc) {
        s->keep = (struct keep){0};
        return rc == STORE_NOT_FOUND || rc == STORE_BUSY ? EXIT_USAGE : EXIT_INTERNAL;
    }
    session_attach(s);
    int status = session_window(s, err);
    if (status == EXIT_DONE) status = adopt(s, a, err);
    if (status == EXIT_DONE && system && session_system(s, system, strlen(system), err)) status = EXIT_REFUSED;
    return status;
}

/* ---------------------------------------------------------------- undo */

struct newest {
    struct session *s;
    uint64_t user;
};

static bool newest_user(void *self, uint64_t id)
{
    struct newest *n = self;
    const struct text_entry *e = texts_get(&n->s->texts, id, NULL);
    if (e && e->kind == JOURNAL_USER) n->user = id;
    return true;
}

/* The window after the turn before, in place of the one there is; what the user said goes to text. */
static int go_back(struct session *s, uint64_t user, struct buf *text, struct err *err)
{
    const struct text_entry *e = text ? texts_get(&s->texts, user, err) : NULL;
    if (text && !e) return -1;
    if (text) buf_put(text, e->text, e->len);
    if (text && text->failed) return err_set(err, -1, "no memory for a turn");
    return load(s, s->keep.head.turns - 1, err);
}

int session_undo(struct session *s, struct buf *text, struct err *err)
{
    uint32_t turns = s->keep.head.turns;
    struct newest newest = {.s = s};
    char what[48];
    if (turns == 0) return err_set(err, -1, "no turn is there to be taken back");
    if (!have_past(s, turns - 1))
        return err_set(err, -1, "only the last %d turns can be taken back; /fork %u goes on in a copy",
                       JOURNAL_SLOTS - 1, (unsigned)turns - 1);
    window_each(s->w, newest_user, &newest);
    if (newest.user == 0) return err_set(err, -1, "the turn is not in the context any more");
    if (go_back(s, newest.user, text, err)) return -1;
    s->keep.head.turns--;
    s->a->turns = (int)s->keep.head.turns;
    uint64_t last = s->keep.head.next - 1;
    session_mark(s, JOURNAL_UNDONE, newest.user, last);
    window_ref_name(&(struct window_ref){.first = newest.user, .last = last}, what);
    struct event e = {.kind = EV_UNDONE, .undone = {.turn = turns, .what = event_str(what)}};
    trace_put(&s->a->trace, &e);
    return session_save(s, err);
}

/* ---------------------------------------------------------------- fork */

static int write_fork(struct store *s, void *arg, struct err *err)
{
    return journal_fork(s, arg, err);
}

int session_fork(struct session *s, uint32_t turn, struct err *err)
{
    struct journal_fork f = {.turn = turn, .time_ms = session_now_ms()};
    struct app *a = s->a;
    char name[2 * STORE_SESSION_ID + 1], old[2 * STORE_SESSION_ID + 1];
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: it cannot be forked");
    if (turn > s->keep.head.turns)
        return err_set(err, -1, "there are %u turns: /fork 0 to /fork %u", (unsigned)s->keep.head.turns,
                       (unsigned)s->keep.head.turns);
    keep_again(&s->keep);
    if (s->keep.n_unsaved) return err_set(err, -1, "turns wait to be saved: it cannot be forked now");
    memcpy(f.from, s->keep.head.id, sizeof f.from);
    if (keep_call(&s->keep, write_fork, &f, err)) return -1;
    journal_id_text(f.from, old);
    journal_id_text(f.to, name);
    session_close(s);
    if (session_resume(s, a, name, NULL, err) == EXIT_DONE) return 0;
    session_close(s);
    if (session_resume(s, a, old, NULL, NULL) != EXIT_DONE) session_close(s); /* then s->w is NULL */
    return -1;
}
