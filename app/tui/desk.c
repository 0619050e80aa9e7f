/* desk.c - see desk.h. */
#include "app/tui/desk.h"
#include "app/console.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/desk_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { IDLE_MS = 500, INDEX_MS = 10, STACK = 4 << 20, PATIENCE_MS = 400, STUCK_S = 2 };

struct desk {
    struct app *a;
    struct bridge *b;
    struct console c;
    struct desk_files files;
    pthread_t thread;
    bool stuck;         /* the store does not answer, which was said */
    double stuck_since; /* 0: it does */
    bool in_turn;       /* lines that are said are the session's, about a turn */
    int nowhere;        /* where answers go that would go to stdout */
    struct out answers; /* as it was */
    int status;
    char shown[2 * STORE_SESSION_ID + 1]; /* the session that the screen was told of last */
    uint32_t shown_turns;
    struct { pthread_t thread; bool begun; atomic_bool done; struct doc doc; } models;
    pthread_mutex_t lock; /* of what follows */
    int64_t orders, order; /* begun so far; the one that is obeyed, 0: none */
    char cancel[40];       /* an agent's name; "": none is to be cancelled */
    bool stop_index;
};

/* ------------------------------------------------------------------ what happens, to the bridge */

static void on_event(void *self, const struct event *e)
{
    bridge_event(((struct desk *)self)->b, NEWS_EVENT, e);
}

static void on_line(void *self, enum say_kind kind, const char *text, size_t n)
{
    struct desk *d = self;
    bridge_line(d->b, (int)kind, d->in_turn && kind == SAY_DIM, text, n);
}

static void tell_session(struct desk *d)
{
    char id[2 * STORE_SESSION_ID + 1] = "";
    struct buf text = {0};
    const int to = d->c.team.crew && !d->c.team.chosen ? -1 : d->c.team.current;
    if (!d->c.s) return;
    const struct journal_head *saved = desk_head(&d->c), *h = saved ? saved : &d->c.s->keep.head;
    if (saved) journal_id_text(h->id, id);
    buf_printf(&text, "%s\n%u\n%s", id, (unsigned)h->turns, h->title);
    if (!text.failed) bridge_put(d->b, NEWS_SESSION, to, text.data, text.len);
    buf_free(&text);
}

static doc_collect *const collect[DOC_KINDS] = {
    [DOC_MAP] = doc_map, [DOC_INSPECT] = doc_inspect, [DOC_SESSIONS] = doc_sessions,
    [DOC_ARTIFACTS] = doc_artifacts, [DOC_TEXT] = doc_text, [DOC_FLIGHT] = doc_flight,
};

static void *look_for_models(void *self)
{
    struct desk *d = self;
    doc_models(&d->c, &d->models.doc);
    atomic_store(&d->models.done, true); /* before it is seen: who asks then gets an answer of his own */
    bridge_doc(d->b, &d->models.doc);
    return NULL;
}

static void end_looking(struct desk *d)
{
    if (d->models.begun) pthread_join(d->models.thread, NULL);
    d->models.begun = false;
}

/* Nobody waits for it; who asks while it is on its way gets the same answer. */
static void serve_models(struct desk *d, const struct doc_ask *ask)
{
    if (d->models.begun && !atomic_load(&d->models.done)) return;
    end_looking(d);
    d->models.doc = (struct doc){.ask = *ask};
    atomic_store(&d->models.done, false);
    d->models.begun = pthread_create(&d->models.thread, NULL, look_for_models, d) == 0;
    if (d->models.begun) return;
    snprintf(d->models.doc.error, sizeof d->models.doc.error, "no thread could be started to look for models");
    bridge_doc(d->b, &d->models.doc);
}

static void serve_docs(struct desk *d)
{
    struct doc_ask ask;
    while (bridge_asked(d->b, &ask)) {
        struct doc doc = {.ask = ask};
        if (ask.kind == DOC_MODELS) {
            serve_models(d, &ask);
            continue;
        }
        if (collect[ask.kind]) collect[ask.kind](&d->c, &doc);
        else snprintf(doc.error, sizeof doc.error, "this is not there");
        bridge_doc(d->b, &doc);
    }
}

static void cancel_one(struct desk *d)
{
    char name[sizeof d->cancel];
    pthread_mutex_lock(&d->lock);
    memcpy(name, d->cancel, sizeof name);
    *d->cancel = '\0';
    pthread_mutex_unlock(&d->lock);
    if (*name) team_cancel(&d->c.team, team_find(&d->c.team, name, strlen(name)));
}

/* The sessions' indexes go on, a slice each.  idle: no session is in the middle of a turn.  True: there are more. */
static bool go_on_indexing(struct desk *d, bool idle)
{
    bool more = false;
    pthread_mutex_lock(&d->lock);
    const bool stop = idle && d->stop_index;
    if (idle) d->stop_index = false;
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < d->c.team.n; i++) {
        struct session *s = &d->c.team.member[i].s;
        if (!d->c.team.member[i].open || !s->a) continue;
        if (stop) session_index_stop(s);
        more |= session_index_on(s);
    }
    return more;
}

/* What was saved since.  Where the store does not answer, turns go on, and the person knows. */
static void look_at_store(struct desk *d)
{
    if (!d->a->keeper) return;
    team_poll(&d->c.team, false); /* and no session_poll(): it may be in the middle of a turn */
    const double now = progress_clock();
    if (!keeper_stuck(d->a->keeper)) d->stuck_since = 0;
    else if (d->stuck_since <= 0) d->stuck_since = now;
    if (!d->stuck && d->stuck_since > 0 && now - d->stuck_since >= STUCK_S) {
        say("the store takes nothing: it writes a large file, another process writes in it, or its disk is slow; up to "
            "%d turns of an agent wait in memory", KEEP_UNSAVED);
        d->stuck = true;
    }
    if (!d->stuck || keeper_pending(d->a->keeper) > 0) return;
    d->stuck = false;
    say("the store takes it again: nothing waits any more");
}

/* Called by what an order does. */
static void between(void *self)
{
    struct desk *d = self;
    cancel_one(d);
    look_at_store(d);
    go_on_indexing(d, false);
    serve_docs(d);
}

/* ------------------------------------------------------------------ what a tool asks of the person */

/* Others go on meanwhile.  false: nobody wants to know any more. */
static bool wait_for(struct desk *d, int64_t question, int *choice, struct buf *text)
{
    int ms = 0;
    while (!bridge_answered(d->b, question, ms, choice, text)) {
        cancel_one(d);
        if (signals_pending() || d->a->trace.voice->cancelled || bridge_leaving(d->b)) {
            bridge_put(d->b, NEWS_WITHDRAWN, question, "", 0);
            return false;
        }
        ms = app_pause(d->a);
    }
    return true;
}

static enum toolbox_choice approve(void *self, const char *shown, size_t n, const char *scope)
{
    struct desk *d = self;
    int choice = TOOLBOX_DENY;
    int64_t q = bridge_question(d->b, d->a->trace.voice->name, shown, n, scope, false);
    if (!wait_for(d, q, &choice, NULL)) return TOOLBOX_DENY;
    return (enum toolbox_choice)choice;
}

static bool ask(void *self, const char *question, size_t n, struct buf *answer)
{
    struct desk *d = self;
    int any = 0;
    int64_t q = bridge_question(d->b, d->a->trace.voice->name, question, n, NULL, true);
    return wait_for(d, q, &any, answer) && any && !answer->failed;
}

static bool confirm(void *self, const char *question)
{
    struct desk *d = self;
    int choice = TOOLBOX_DENY;
    int64_t q = bridge_question(d->b, "", question, strlen(question), NULL, false);
    return wait_for(d, q, &choice, NULL) && choice != TOOLBOX_DENY;
}

/* ------------------------------------------------------------------ orders */

static void turn(struct desk *d, const char *text, size_t n)
{
    size_t rest;
    if (console_names_nobody(&d->c, text, n)) return; /* nor is anything attached */
    const int i = console_addressed(&d->c, text, n, &rest);
    d->in_turn = true;
    desk_attach(&d->files, i < 0 ? d->c.s : &d->c.team.member[i].s, text, n);
    console_turn(&d->c, text, n);
    d->in_turn = false;
}

/* What was cancelled before has nothing to do with this one.  false: the screen leaves. */
static bool begin_order(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    const bool go = !bridge_leaving(d->b);
    if (go) d->order = ++d->orders;
    *d->cancel = '\0';
    for (int i = 0; i < d->c.team.n; i++) d->c.team.member[i].s.voice.cancelled = false;
    if (signals_pending() == SIGINT) signals_forget_interrupt();
    pthread_mutex_unlock(&d->lock);
    return go;
}

static void end_order(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    d->order = 0;
    if (signals_pending() == SIGINT) signals_forget_interrupt();
    pthread_mutex_unlock(&d->lock);
}

static void obey(struct desk *d, const struct buf *order)
{
    if (!begin_order(d)) return;
    bridge_put(d->b, NEWS_BEGUN, d->orders, order->data, order->len);
    if (order->len > 0 && order->data[0] == '/') console_command(&d->c, order->data, order->len);
    else if (order->len > 0) turn(d, order->data, order->len);
    end_order(d);
    if (!d->c.quit) session_settle(d->c.s);
    if (!d->c.quit) look_at_store(d);
    if (!d->c.quit) desk_tell_past(&d->c, d->b, d->shown, &d->shown_turns);
    if (!d->c.quit) tell_session(d);
    bridge_put(d->b, NEWS_DONE, d->c.quit ? -1 : bridge_waiting(d->b), "", 0);
}

/* What others do on the machine is seen, and fills neither a --trace file nor the flight recorder; so is what a remote
 * server does for others, which a step asks it. */
static void idle_sample(struct desk *d)
{
    if (d->a->info->remote) d->a->ops->step(d->a->engine, d->a->ev, APP_EVENTS, NULL);
    d->a->trace.idle = true;
    app_memory(d->a);
    d->a->trace.idle = false;
}

static void serve(struct desk *d)
{
    struct buf order = {0};
    int got = 0;
    while (!d->c.quit && got >= 0 && (!signals_pending() || signals_pending() == SIGINT)) {
        session_poll(d->c.s);
        look_at_store(d);
        const bool indexes = go_on_indexing(d, true);
        serve_docs(d);
        idle_sample(d);
        order.len = 0;
        got = bridge_next(d->b, indexes ? INDEX_MS : IDLE_MS, &order);
        if (got > 0) obey(d, &order);
    }
    buf_free(&order);
}

/* ------------------------------------------------------------------ the thread */

static void tell_open(struct desk *d)
{
    struct event e = app_opened(d->a);
    bridge_event(d->b, NEWS_EVENT, &e);
    for (int i = 0; i < d->c.team.n; i++) {
        const char *name = team_name(&d->c.team, i);
        bridge_put(d->b, NEWS_AGENT, d->c.team.crew != NULL, name, strlen(name));
    }
    d->a->trace.sampled = -1; /* the screen has not seen the last one */
    app_memory(d->a);
}

static void *run(void *self)
{
    struct desk *d = self;
    desk_files_open(&d->files, d->a);
    d->status = console_open(&d->c, d->a);
    input_open(&d->c.in, -1); /* a question goes to the screen */
    d->c.in.confirm = confirm;
    d->c.in.confirm_self = d;
    if (d->status == EXIT_DONE) {
        tell_open(d);
        desk_tell_past(&d->c, d->b, d->shown, &d->shown_turns);
        tell_session(d);
        bridge_put(d->b, NEWS_DONE, 0, "", 0);
        serve(d);
    }
    if (!d->c.quit && signals_pending() > 0 && signals_pending() != SIGINT) d->c.status = 128 + signals_pending();
    input_close(&d->c.in);
    end_looking(d);
    d->status = console_close(&d->c);
    desk_files_close(&d->files);
    bridge_put(d->b, NEWS_OVER, d->status, "", 0);
    return NULL;
}

static int start(struct desk *d, struct err *err)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    int rc = pthread_create(&d->thread, &attr, run, d);
    pthread_attr_destroy(&attr);
    return rc ? err_set(err, -1, "the sessions' thread cannot begin: %s", strerror(rc)) : 0;
}

struct desk *desk_open(struct app *a, struct bridge *b, struct err *err)
{
    struct desk *d = calloc(1, sizeof *d);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (!d || nowhere < 0) {
        err_set(err, -1, "the screen cannot be opened: %s", strerror(d ? errno : ENOMEM));
        if (nowhere >= 0) close(nowhere);
        free(d);
        return NULL;
    }
    *d = (struct desk){.a = a, .b = b, .nowhere = nowhere};
    pthread_mutex_init(&d->lock, NULL);
    d->answers = a->answers;
    out_init(&a->answers, nowhere);
    a->trace.watch = on_event;
    a->trace.watcher = d;
    a->between = between;
    a->between_self = d;
    if (a->keeper) keeper_patience(a->keeper, PATIENCE_MS);
    a->toolbox.approve = approve;
    a->toolbox.ask = ask;
    a->toolbox.self = d;
    say_divert(on_line, d);
    if (start(d, err) == 0) return d;
    desk_close(d);
    return NULL;
}

void desk_cancel(struct desk *d, const char *agent)
{
    const bool all = !agent || !*agent;
    pthread_mutex_lock(&d->lock);
    const int64_t seen = bridge_seen(d->b);
    const bool meant = d->order && (seen == 0 || seen == d->order || bridge_leaving(d->b));
    if (meant && all) signals_interrupt();
    else if (meant) snprintf(d->cancel, sizeof d->cancel, "%s", agent);
    else if (!d->order && all) d->stop_index = true;
    pthread_mutex_unlock(&d->lock);
}

int desk_close(struct desk *d)
{
    struct app *a = d->a;
    if (d->thread) pthread_join(d->thread, NULL);
    int status = d->status;
    say_divert(NULL, NULL);
    a->trace.watch = NULL;
    a->between = NULL;
    if (a->keeper) keeper_patience(a->keeper, 0);
    a->toolbox.ask = NULL; /* approve stays: it says that somebody was there */
    a->answers = d->answers;
    close(d->nowhere);
    pthread_mutex_destroy(&d->lock);
    free(d);
    return status;
}
