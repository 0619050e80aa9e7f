/* session_load.c - going back and going on: resume, undo, fork. */
#include "app/say.h"
#include "app/session/crew_impl.h"
#include "app/session/session_impl.h"

/* ---------------------------------------------------------------- made anew from what was said */

struct replay { /* on the store's thread: what a window would be made of */
    const uint8_t *session;
    uint64_t upto;      /* numbers up to and with this one count */
    struct journal_spans out;
    struct { uint64_t id, before, first, last, messages; bool extract; } summary; /* id 0: none */
    struct replay_text { uint64_t id; uint8_t kind; } *text;
    size_t n, cap;
    struct buf damaged; /* a line each, of the first */
    size_t n_damaged;
    bool failed;
};

enum { DAMAGED = 4 }; /* records that are named one by one */

static bool on_text(void *self, uint64_t number, const struct journal_message *m)
{
    struct replay *r = self;
    if (number > r->upto) return false;
    if (m->kind == JOURNAL_MARK || journal_span_has(&r->out, number)) return true;
    if (m->kind == JOURNAL_SUMMARY) {
        r->summary.before = r->summary.id;
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
    r->text[r->n++] = (struct replay_text){number, (uint8_t)m->kind};
    return true;
}

static bool on_damaged(void *self, const char *line)
{
    struct replay *r = self;
    if (r->n_damaged++ < DAMAGED) buf_printf(&r->damaged, "%s\n", line);
    return true;
}

static int replay(struct store *s, void *arg, struct err *err)
{
    struct replay *r = arg;
    struct journal_visit texts = {.message = on_text, .damaged = on_damaged, .self = r};
    int rc = journal_out(s, r->session, 0, r->upto, ~0u, &r->out, err);
    if (rc == 0) rc = journal_each(s, r->session, 0, &texts, err);
    if (rc == 0 && r->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a session");
    return rc;
}

/* The results behind a call: those that are there, so that nothing waits for a damaged one. */
static int results_of(const struct replay *r, size_t call)
{
    size_t end = call + 1;
    while (end < r->n && r->text[end].kind == JOURNAL_RESULT) end++;
    return (int)MIN(end - call - 1, (size_t)WINDOW_MESSAGES);
}

/* 0 also for what cannot stand without a neighbour that is damaged: a call without results, a result without a call. */
static int put_back(struct session *s, const struct replay *r, size_t i, struct err *err)
{
    static const int kind[JOURNAL_KINDS] = {[JOURNAL_USER] = WINDOW_USER, [JOURNAL_ANSWER] = WINDOW_ANSWER,
                                            [JOURNAL_CALL] = WINDOW_CALL, [JOURNAL_RESULT] = WINDOW_RESULT,
                                            [JOURNAL_NOTE] = WINDOW_NOTE};
    const struct replay_text *t = &r->text[i];
    bool front = t->kind == JOURNAL_SYSTEM || t->kind == JOURNAL_PIN || t->kind == JOURNAL_TOOLS;
    if (t->kind == JOURNAL_THINKING || t->kind == JOURNAL_DOCUMENT) return 0;
    if (!front && r->summary.id && t->id <= r->summary.last) return 0;
    enum window_part part = t->kind == JOURNAL_PIN     ? WINDOW_PINNED
                            : t->kind == JOURNAL_TOOLS ? WINDOW_TOOLS
                                                       : WINDOW_SYSTEM;
    int rc = front ? window_add(s->w, part, t->id, err)
                   : window_append(s->w, (enum window_kind)kind[t->kind], t->id,
                                   t->kind == JOURNAL_CALL ? results_of(r, i) : 0, err);
    if (rc == 0 && t->kind == JOURNAL_SYSTEM) s->system = t->id;
    if (rc == 0 && t->kind == JOURNAL_TOOLS) s->tools = t->id;
    return rc == WINDOW_BAD ? 0 : rc;
}

/* What the copy on disk has lost, by name. */
static void tell_damaged(struct session *s, const struct replay *r)
{
    const char *line = r->damaged.data;
    for (const char *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char text[200];
        snprintf(text, sizeof text, "%.*s", (int)(end - line), line);
        app_error(s->a, "store", text);
    }
    if (r->n_damaged > DAMAGED) say("and %zu record%s more", r->n_damaged - DAMAGED,
                                       plural((int64_t)(r->n_damaged - DAMAGED)));
}

/* The window as the messages up to a number make it: under the newest summary among them. */
static int rebuild(struct session *s, uint64_t upto, struct err *err)
{
    struct replay r = {.session = s->keep.head.id, .upto = upto};
    int rc = keep_call(&s->keep, replay, &r, err);
    window_close(s->w);
    s->w = NULL;
    s->system = s->tools = 0;
    tell_damaged(s, &r);
    say_dim("[the context is made anew from what was said]");
    if (rc == 0) rc = session_window(s, err);
    if (rc == 0 && r.summary.id) {
        struct window_ref ref = {r.summary.first, r.summary.last, (int64_t)r.summary.messages, 0};
        rc = window_begin(s->w, r.summary.id, r.summary.before, &ref, r.summary.extract, err);
    }
    for (size_t i = 0; i < r.n && rc == 0; i++) rc = put_back(s, &r, i, err);
    journal_span_free(&r.out);
    buf_free(&r.damaged);
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

void session_find_front(struct session *s)
{
    s->system = s->tools = 0;
    window_each(s->w, find_front, s);
}

static int load(struct session *s, uint32_t turn, struct err *err)
{
    const struct buf *b = &s->past[turn % JOURNAL_SLOTS];
    int rc = window_load(s->w, b->data, b->len, s->vocabulary, err);
    if (rc == 0) session_find_front(s);
    return rc;
}

static bool is_there(void *self, uint64_t id)
{
    struct session *s = self;
    struct err err = {0};
    if (texts_get(&s->texts, id, &err)) return true;
    if (err.code == STORE_NOT_FOUND) app_error(s->a, "store", err.text); /* the damaged ones are named by rebuild() */
    return false;
}

/* The window that was saved last, if there is one that can be gone on with: no call could be made with a text that is
 * lost, and no message be added behind numbers that are not there yet. */
static bool load_last(struct session *s, struct err *err)
{
    return have_past(s, s->keep.head.turns) && load(s, s->keep.head.turns, err) == 0 &&
           window_last_id(s->w) <= s->acknowledged && window_each(s->w, is_there, s);
}

/* ---------------------------------------------------------------- resume */

static void tell_resumed(struct session *s)
{
    struct window_figures f;
    char parent[2 * STORE_SESSION_ID + 1] = "", id[2 * STORE_SESSION_ID + 1];
    static const uint8_t none[STORE_SESSION_ID];
    session_figures(s, &f);
    journal_id_text(s->keep.head.id, id);
    if (memcmp(s->keep.head.parent, none, sizeof none) != 0) journal_id_text(s->keep.head.parent, parent);
    struct event e = {.kind = EV_RESUMED, .resumed = {
        .session = event_str(id), .title = event_str(s->keep.head.title), .turns = s->keep.head.turns,
        .tokens = f.used, .parent = event_str(parent)}};
    trace_put(&s->a->trace, &e);
}

static int adopt(struct session *s, struct err *err)
{
    int rc = 0;
    s->acknowledged = s->keep.head.next - 1;
    s->undone_from = s->keep.head.next;
    if (!load_last(s, err)) rc = rebuild(s, s->acknowledged, err);
    if (rc) return EXIT_INTERNAL;
    tell_resumed(s);
    session_remember(s);
    s->pages.wanted = true;
    return EXIT_DONE;
}

int session_resume(struct session *s, struct app *a, const char *name, const char *system, struct err *err)
{
    struct session_role alone = session_alone(a);
    return session_resume_as(s, a, &alone, name, system, err);
}

/* What --crew takes: of a crew that is not the program's own the person alone knows the file. */
static const char *crew_word(const char *crew)
{
    int i = 0;
    while (i < crew_builtin_count() && strcmp(crew_builtin_name(i), crew) != 0) i++;
    return i < crew_builtin_count() ? crew : "FILE";
}

/* Nobody speaks in the record of a crew's run. */
static int check_speaker(const struct keep *k, struct err *err)
{
    char id[2 * STORE_SESSION_ID + 1];
    if (!journal_is_run(&k->head)) return 0;
    journal_id_text(k->head.id, id);
    return err_set(err, STORE_NOT_FOUND, "%.8s is a run of the crew %s: --crew %s --resume %.8s goes on with it", id,
                   k->head.run.crew, crew_word(k->head.run.crew), id);
}

int session_resume_as(struct session *s, struct app *a, const struct session_role *role, const char *name,
                      const char *system, struct err *err)
{
    *s = (struct session){.a = a, .role = *role, .prompt.effort = a->effort};
    if (!a->keeper) return err_set(err, EXIT_USAGE, "sessions are not saved here (--no-save): none can be resumed");
    int rc = keep_open(&s->keep, a->keeper, name, err);
    if (rc == 0 && check_speaker(&s->keep, err)) {
        keep_close(&s->keep);
        rc = STORE_NOT_FOUND;
    }
    if (rc) {
        s->keep = (struct keep){0};
        return rc == STORE_NOT_FOUND || rc == STORE_BUSY ? EXIT_USAGE : EXIT_INTERNAL;
    }
    session_attach(s);
    int status = session_window(s, err);
    if (status == EXIT_DONE) status = adopt(s, err);
    if (status == EXIT_DONE && session_retell_tools(s, err)) status = EXIT_REFUSED;
    if (status == EXIT_DONE && system && session_system(s, system, strlen(system), err)) status = EXIT_REFUSED;
    return status;
}

/* ---------------------------------------------------------------- undo */

struct newest {
    struct session *s;
    uint64_t user;
};

/* Of the last turn: what opened an older one must not be taken for it where this one's is lost. */
static bool newest_user(void *self, uint64_t id)
{
    struct newest *n = self;
    const struct text_entry *e = texts_get(&n->s->texts, id, NULL);
    if (e && e->kind == JOURNAL_USER && e->turn == n->s->keep.head.turns) n->user = id;
    return true;
}

static bool has_text(void *self, uint64_t id)
{
    return texts_get(&((struct session *)self)->texts, id, NULL) != NULL;
}

bool session_has_texts(struct session *s) { return session_saves(s) || window_each(s->w, has_text, s); }

/* What opened the last turn may stand in the window as a line, or have left it, and is not lost by that: what was said
 * since is looked through. */
static uint64_t user_behind_a_line(struct session *s)
{
    const uint32_t turns = s->keep.head.turns;
    for (uint64_t id = s->keep.head.next - 1; id > 0; id--) {
        const struct text_entry *e = texts_get(&s->texts, id, NULL);
        if (!e || e->kind == JOURNAL_MARK || e->turn > turns) continue;
        if (e->turn < turns) break;
        if (e->kind != JOURNAL_USER) continue;
        if (session_find_undone(s, id, NULL)) break;
        if (!journal_span_has(&s->undone, id)) return id;
    }
    return 0;
}

uint64_t session_last_user(struct session *s)
{
    struct newest newest = {.s = s};
    window_each(s->w, newest_user, &newest);
    return newest.user || s->keep.head.turns == 0 ? newest.user : user_behind_a_line(s);
}

/* The window after the turn before, in place of the one there is; what the user said goes to text. */
static int go_back(struct session *s, uint64_t user, struct buf *text, struct err *err)
{
    const struct text_entry *e = text ? texts_get(&s->texts, user, err) : NULL;
    if (text && !e) return -1;
    if (text) buf_put(text, e->text, e->len);
    if (text && text->failed) return err_set(err, -1, "no memory for a turn");
    struct buf before = {0};
    window_save(s->w, s->vocabulary, &before);
    int rc = before.failed ? err_set(err, -1, "no memory to go back") : load(s, s->keep.head.turns - 1, err);
    if (rc == 0 && !session_has_texts(s)) {
        window_load(s->w, before.data, before.len, s->vocabulary, NULL);
        session_find_front(s);
        rc = err_set(err, -1, "what the context had then is gone: this session is not saved (--keep-unsaved)");
    }
    buf_free(&before);
    return rc;
}

/* What was pinned or set since goes with the turn, which is not what everybody expects. */
static void tell_front(const struct window_figures *before, const struct window *w)
{
    struct window_figures now;
    window_figures(w, &now);
    bool same = true;
    for (enum window_part p = WINDOW_SYSTEM; p <= WINDOW_PINNED; p++)
        same = same && before->count[p] == now.count[p] && before->part[p] == now.part[p];
    if (!same) say_dim("[the system message and pins are as they were then]");
}

/* The title is the one that its only turn gave, and goes with it.  One that a person gave stays. */
static bool is_titled_by_turn(struct session *s)
{
    char given[JOURNAL_TITLE + 1];
    const struct text_entry *e = s->keep.head.turns == 1 ? texts_get(&s->texts, session_last_user(s), NULL) : NULL;
    if (!e) return false;
    session_title(e->text, e->len, SESSION_TITLE, given);
    return strcmp(given, s->keep.head.title) == 0;
}

int session_undo(struct session *s, struct buf *text, struct err *err)
{
    uint32_t turns = s->keep.head.turns;
    struct window_figures before;
    struct err lost = {0};
    char what[48];
    if (turns == 0) return err_set(err, -1, "no turn is there to be taken back");
    if (!have_past(s, turns - 1))
        return err_set(err, -1, "only the last %d turns can be taken back; /fork %u goes on in a copy",
                       JOURNAL_SLOTS - 1, (unsigned)turns - 1);
    const uint64_t user = session_last_user(s);
    if (user == 0)
        return err_set(err, -1, "what was said in turn %u is lost; /fork %u goes on in a copy without it",
                       (unsigned)turns, (unsigned)turns - 1);
    const bool title_goes = is_titled_by_turn(s);
    window_figures(s->w, &before);
    if (go_back(s, user, text, err)) return -1;
    tell_front(&before, s->w);
    if (session_retell_tools(s, &lost)) say_error("tools are not offered any more: %s", lost.text);
    s->keep.head.turns--;
    if (title_goes) *s->keep.head.title = '\0';
    s->voice.turns = (int)s->keep.head.turns;
    s->a->turns = *s->role.name ? MAX(s->a->turns - 1, 0) : s->voice.turns;
    uint64_t last = s->keep.head.next - 1;
    session_mark(s, JOURNAL_UNDONE, user, last);
    window_ref_name(&(struct window_ref){.first = user, .last = last}, what);
    struct event e = {.kind = EV_UNDONE, .undone = {.turn = turns, .what = event_str(what)}};
    trace_put(&s->a->trace, &e);
    return session_save(s, err);
}

/* ---------------------------------------------------------------- back to where it stood */

static void copy_spans(const struct journal_spans *from, struct journal_spans *to)
{
    for (size_t i = 0; i < from->n; i++) journal_span_add(to, from->span[i].first, from->span[i].last);
    to->failed |= from->failed;
}

int session_hold(struct session *s, struct session_place *out, struct err *err)
{
    *out = (struct session_place){.turns = s->keep.head.turns, .user = session_last_user(s),
                                  .next = s->keep.head.next, .undone_from = s->undone_from};
    memcpy(out->session, s->keep.head.id, sizeof out->session);
    memcpy(out->title, s->keep.head.title, sizeof out->title);
    window_save(s->w, s->vocabulary, &out->window);
    copy_spans(&s->undone, &out->undone);
    if (!out->window.failed && !out->undone.failed) return 0;
    session_place_free(out);
    return err_set(err, -1, "no memory to go back");
}

void session_place_free(struct session_place *p)
{
    buf_free(&p->window);
    journal_span_free(&p->undone);
    *p = (struct session_place){0};
}

/* Its window, if all its texts can still be had. */
static int load_place(struct session *s, const struct session_place *to, struct err *err)
{
    struct buf now = {0};
    window_save(s->w, s->vocabulary, &now);
    int rc = now.failed ? err_set(err, -1, "no memory to go back")
                        : window_load(s->w, to->window.data, to->window.len, s->vocabulary, err);
    if (rc == 0 && !session_has_texts(s)) {
        window_load(s->w, now.data, now.len, s->vocabulary, NULL);
        rc = err_set(err, -1, "what the context had then is gone: this session is not saved (--keep-unsaved)");
    }
    session_find_front(s);
    buf_free(&now);
    return rc;
}

int session_return(struct session *s, const struct session_place *to, struct err *err)
{
    struct journal_spans undone = {0};
    const bool title_goes = !*s->keep.head.title || is_titled_by_turn(s);
    copy_spans(&to->undone, &undone);
    if (undone.failed || load_place(s, to, err)) {
        journal_span_free(&undone);
        return undone.failed ? err_set(err, -1, "no memory to go back") : -1;
    }
    journal_span_free(&s->undone);
    s->undone = undone;
    s->undone_from = to->undone_from;
    s->a->turns = *s->role.name ? MAX(s->a->turns + (int)to->turns - s->voice.turns, 0) : (int)to->turns;
    s->keep.head.turns = to->turns;
    if (title_goes) memcpy(s->keep.head.title, to->title, sizeof to->title);
    s->voice.turns = (int)to->turns;
    session_mark(s, JOURNAL_UNDONE, to->next, s->keep.head.next - 1);
    tell_resumed(s);
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
    struct session_role role = s->role;
    char name[2 * STORE_SESSION_ID + 1], old[2 * STORE_SESSION_ID + 1];
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: it cannot be forked");
    if (turn > s->keep.head.turns)
        return err_set(err, -1, "this session has %u turn%s: /fork 0 to /fork %u", (unsigned)s->keep.head.turns,
                       plural(s->keep.head.turns), (unsigned)s->keep.head.turns);
    keep_again(&s->keep);
    if (s->keep.n_unsaved) return err_set(err, -1, "turns wait to be saved: it cannot be forked now");
    memcpy(f.from, s->keep.head.id, sizeof f.from);
    if (keep_call(&s->keep, write_fork, &f, err)) return -1;
    journal_id_text(f.from, old);
    journal_id_text(f.to, name);
    session_close(s);
    if (session_resume_as(s, a, &role, name, NULL, err) == EXIT_DONE) return 0;
    session_close(s);
    if (session_resume_as(s, a, &role, old, NULL, NULL) != EXIT_DONE) session_close(s); /* then s->w is NULL */
    return -1;
}
