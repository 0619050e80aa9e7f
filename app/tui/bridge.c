/* bridge.c - two queues under one lock. */
#include "app/tui/bridge.h"
#include "app/say.h"
#include "app/tui/state.h"
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { ANSWERS = 8 };
enum { LOOK_BACK = 128 }; /* news among which pieces of one answer are joined */

struct order {
    struct order *next;
    struct buf text;
};

struct bridge {
    pthread_mutex_t lock;
    pthread_cond_t to_desk, to_screen; /* something for the desk; news were taken */
    int fd;
    struct news *first, *last;
    struct news *recent[LOOK_BACK]; /* the newest, as a ring; those that are taken are NULL */
    uint64_t put;
    size_t bytes, samples;
    int64_t told, seen; /* the order that is obeyed: by all news, and by those that were taken */
    struct order *order, **order_end;
    int orders;
    struct doc_ask ask[DOC_KINDS];
    int64_t questions; /* the newest one's number */
    struct { int64_t question; int choice; struct buf text; } answer[ANSWERS]; /* not yet taken; question 0: free */
    bool leave;
};

struct bridge *bridge_open(struct err *err)
{
    struct bridge *b = calloc(1, sizeof *b);
    pthread_condattr_t clock;
    if (!b) {
        err_set(err, -1, "no memory for the screen");
        return NULL;
    }
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->fd < 0) {
        err_set(err, -1, "no eventfd: %s", strerror(errno));
        free(b);
        return NULL;
    }
    b->order_end = &b->order;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&b->to_desk, &clock);
    pthread_cond_init(&b->to_screen, &clock);
    pthread_condattr_destroy(&clock);
    return b;
}

void news_free(struct news *n)
{
    free(n->block);
    buf_free(&n->text);
    doc_free(&n->doc);
    free(n);
}

static struct order *pop_order(struct bridge *b)
{
    struct order *o = b->order;
    if (!o) return NULL;
    b->order = o->next;
    if (!b->order) b->order_end = &b->order;
    b->orders--;
    return o;
}

static void order_free(struct order *o)
{
    buf_free(&o->text);
    free(o);
}

void bridge_close(struct bridge *b)
{
    if (!b) return;
    for (struct news *n = b->first, *next; n; n = next) {
        next = n->next;
        news_free(n);
    }
    for (struct order *o; (o = pop_order(b)) != NULL;) order_free(o);
    for (int i = 0; i < ANSWERS; i++) buf_free(&b->answer[i].text);
    pthread_cond_destroy(&b->to_desk);
    pthread_cond_destroy(&b->to_screen);
    pthread_mutex_destroy(&b->lock);
    close(b->fd);
    free(b);
}

/* ------------------------------------------------------------------ news: putting */

static size_t weight(const struct news *n) { return sizeof *n + n->block_bytes + n->text.len; }

static void ring(struct bridge *b)
{
    uint64_t one = 1;
    if (write(b->fd, &one, sizeof one) < 0) { /* full: it is readable already */
    }
}

/* At the end of the queue, the lock held. */
static void put_locked(struct bridge *b, struct news *n)
{
    n->next = NULL;
    if (b->last) b->last->next = n;
    else b->first = n;
    b->last = n;
    b->recent[b->put++ % LOOK_BACK] = n;
    b->bytes += weight(n);
    if (n->kind == NEWS_BEGUN) b->told = n->value;
    if (n->kind == NEWS_DONE) b->told = 0;
    ring(b);
}

static void wait_for_room(struct bridge *b)
{
    while (b->bytes > BRIDGE_BYTES && !b->leave) pthread_cond_wait(&b->to_screen, &b->lock);
}

static void put(struct bridge *b, struct news *n)
{
    pthread_mutex_lock(&b->lock);
    wait_for_room(b);
    put_locked(b, n);
    pthread_mutex_unlock(&b->lock);
}

/* Without memory a piece of news is lost, and not the session. */
static struct news *make(enum news_kind kind, int64_t value, const char *text, size_t n)
{
    struct news *news = calloc(1, sizeof *news);
    if (!news) return NULL;
    news->kind = kind;
    news->value = value;
    buf_put(&news->text, text, n);
    return news;
}

void bridge_put(struct bridge *b, enum news_kind kind, int64_t value, const char *text, size_t n)
{
    struct news *news = make(kind, value, text, n);
    if (news) put(b, news);
}

void bridge_line(struct bridge *b, int kind, bool said, const char *text, size_t n)
{
    struct news *news = make(NEWS_LINE, kind, text, n);
    if (!news) return;
    news->said = said;
    put(b, news);
}

void bridge_doc(struct bridge *b, struct doc *d)
{
    struct news *news = make(NEWS_DOC, 0, "", 0);
    if (!news) {
        doc_free(d);
        return;
    }
    news->doc = *d;
    *d = (struct doc){0};
    put(b, news);
}

/* ------------------------------------------------------------------ events */

static struct event_str *str_of(struct event *e, const struct event_field *f)
{
    return (struct event_str *)(void *)((char *)e + f->at);
}

/* A copy whose strings lie in one block. */
static bool copy_event(struct news *n, const struct event *e)
{
    const struct event_info *info = event_info(e->kind);
    size_t need = e->agent.len + 1;
    n->event = *e;
    n->event.owner = NULL;
    for (size_t i = 0; i < info->n_fields; i++)
        if (info->fields[i].type == EVENT_STR) need += str_of(&n->event, &info->fields[i])->len + 1;
    char *at = n->block = malloc(need);
    if (!at) return false;
    n->block_bytes = need;
    for (size_t i = 0; i <= info->n_fields; i++) {
        if (i < info->n_fields && info->fields[i].type != EVENT_STR) continue;
        struct event_str *s = i < info->n_fields ? str_of(&n->event, &info->fields[i]) : &n->event.agent;
        if (s->len > 0) memcpy(at, s->data, s->len);
        at[s->len] = '\0';
        s->data = at;
        at += s->len + 1;
    }
    return true;
}

static bool same_agent(const struct event *a, const struct event *b)
{
    const struct event_str x = a->agent, y = b->agent;
    return x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
}

/* What has not been taken of this answer, if nothing else of its agent came behind it. */
static struct news *joins(struct bridge *b, const struct event *e)
{
    for (uint64_t i = b->put; i > 0 && b->put - i < LOOK_BACK; i--) {
        struct news *n = b->recent[(i - 1) % LOOK_BACK];
        if (!n) return NULL;
        if (n->kind != NEWS_EVENT || !same_agent(&n->event, e)) continue;
        if (event_info(n->event.kind)->class == EVENT_SAMPLE) continue;
        return n->event.kind == e->kind ? n : NULL;
    }
    return NULL;
}

/* true: it went into what is there already. */
static bool join(struct bridge *b, const struct event *e)
{
    struct news *n = e->kind == EV_TEXT || e->kind == EV_PREFILL ? joins(b, e) : NULL;
    if (!n) return false;
    if (e->kind == EV_PREFILL) {
        n->event.prefill = e->prefill;
        return true;
    }
    if (n->event.text.turn != e->text.turn) return false;
    buf_put(&n->text, e->text.text.data, e->text.text.len);
    b->bytes += e->text.text.len;
    n->event.text.text = (struct event_str){n->text.data ? n->text.data : "", n->text.len};
    return true;
}

void bridge_event(struct bridge *b, enum news_kind kind, const struct event *e)
{
    bool sample = event_info(e->kind)->class == EVENT_SAMPLE;
    if (e->kind == EV_TOKEN) return;
    pthread_mutex_lock(&b->lock);
    wait_for_room(b);
    bool over = (kind == NEWS_EVENT && join(b, e)) || (sample && b->samples >= BRIDGE_SAMPLES);
    struct news *n = over ? NULL : make(kind, 0, "", 0);
    if (n && !copy_event(n, e)) {
        news_free(n);
        n = NULL;
    }
    if (n && e->kind == EV_TEXT) {
        buf_put(&n->text, e->text.text.data, e->text.text.len);
        n->event.text.text = (struct event_str){n->text.data ? n->text.data : "", n->text.len};
    }
    if (n) b->samples += sample;
    if (n) put_locked(b, n);
    pthread_mutex_unlock(&b->lock);
}

/* ------------------------------------------------------------------ news: taking */

int bridge_fd(const struct bridge *b) { return b->fd; }

struct news *bridge_take(struct bridge *b)
{
    uint64_t drop;
    pthread_mutex_lock(&b->lock);
    if (read(b->fd, &drop, sizeof drop) < 0) { /* nobody rang */
    }
    struct news *all = b->first;
    b->first = b->last = NULL;
    memset(b->recent, 0, sizeof b->recent);
    b->bytes = b->samples = 0;
    b->seen = b->told;
    pthread_cond_broadcast(&b->to_screen);
    pthread_mutex_unlock(&b->lock);
    return all;
}

int64_t bridge_seen(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    int64_t seen = b->seen;
    pthread_mutex_unlock(&b->lock);
    return seen;
}

/* ------------------------------------------------------------------ orders */

bool bridge_order(struct bridge *b, const char *text, size_t n)
{
    struct order *o = calloc(1, sizeof *o);
    if (o) buf_put(&o->text, text, n);
    bool taken = o && !o->text.failed;
    pthread_mutex_lock(&b->lock);
    taken = taken && b->orders < BRIDGE_ORDERS;
    if (taken) {
        *b->order_end = o;
        b->order_end = &o->next;
        b->orders++;
        pthread_cond_broadcast(&b->to_desk);
    }
    pthread_mutex_unlock(&b->lock);
    if (!taken && o) order_free(o);
    return taken;
}

bool bridge_drop_order(struct bridge *b, struct buf *text)
{
    struct order **at = &b->order, *o = NULL;
    pthread_mutex_lock(&b->lock);
    while (*at && (*at)->next) at = &(*at)->next;
    if (*at) {
        o = *at;
        *at = NULL;
        b->order_end = at;
        b->orders--;
    }
    pthread_mutex_unlock(&b->lock);
    if (!o) return false;
    buf_put(text, o->text.data, o->text.len);
    order_free(o);
    return true;
}

int bridge_waiting(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    int n = b->orders;
    pthread_mutex_unlock(&b->lock);
    return n;
}

void bridge_ask(struct bridge *b, const struct doc_ask *ask)
{
    pthread_mutex_lock(&b->lock);
    b->ask[ask->kind] = *ask;
    pthread_cond_broadcast(&b->to_desk);
    pthread_mutex_unlock(&b->lock);
}

bool bridge_asked(struct bridge *b, struct doc_ask *ask)
{
    bool any = false;
    pthread_mutex_lock(&b->lock);
    for (int k = DOC_NONE + 1; k < DOC_KINDS && !any; k++) {
        if (b->ask[k].kind == DOC_NONE) continue;
        *ask = b->ask[k];
        b->ask[k].kind = DOC_NONE;
        any = true;
    }
    pthread_mutex_unlock(&b->lock);
    return any;
}

void bridge_leave(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    b->leave = true;
    pthread_cond_broadcast(&b->to_desk);
    pthread_cond_broadcast(&b->to_screen);
    pthread_mutex_unlock(&b->lock);
}

bool bridge_leaving(struct bridge *b)
{
    pthread_mutex_lock(&b->lock);
    bool leave = b->leave;
    pthread_mutex_unlock(&b->lock);
    return leave;
}

static struct timespec in_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

static bool any_ask(const struct bridge *b)
{
    for (int k = DOC_NONE + 1; k < DOC_KINDS; k++)
        if (b->ask[k].kind != DOC_NONE) return true;
    return false;
}

int bridge_next(struct bridge *b, int ms, struct buf *text)
{
    const struct timespec until = in_ms(ms);
    int timed_out = 0;
    pthread_mutex_lock(&b->lock);
    while (!b->leave && !b->order && !any_ask(b) && !timed_out)
        timed_out = pthread_cond_timedwait(&b->to_desk, &b->lock, &until);
    bool leave = b->leave;
    struct order *o = leave ? NULL : pop_order(b);
    pthread_mutex_unlock(&b->lock);
    if (o) buf_put(text, o->text.data, o->text.len);
    if (o) order_free(o);
    return leave ? -1 : o != NULL;
}

/* ------------------------------------------------------------------ questions */

/* What is asked about is not shown as if it were whole. */
static void put_field(char *out, size_t size, const char *text)
{
    const bool whole = strlen(text) < size;
    state_text(out, whole ? size : size - 3, event_str(text));
    if (!whole) memcpy(out + strlen(out), "...", 4);
}

int64_t bridge_question(struct bridge *b, const char *who, const char *text, size_t n, const char *scope,
                        bool asks_text)
{
    struct news *news = make(NEWS_QUESTION, 0, text, n);
    pthread_mutex_lock(&b->lock);
    int64_t number = ++b->questions;
    if (news) {
        news->value = number;
        news->asks_text = asks_text;
        put_field(news->who, sizeof news->who, who);
        put_field(news->scope, sizeof news->scope, scope ? scope : "");
        put_locked(b, news);
    }
    pthread_mutex_unlock(&b->lock);
    return number;
}

void bridge_answer(struct bridge *b, int64_t question, int choice, const char *text, size_t n)
{
    pthread_mutex_lock(&b->lock);
    int i = 0; /* a free place, or that of the oldest: nobody wants to know any more */
    for (int k = 1; k < ANSWERS; k++)
        if (b->answer[k].question < b->answer[i].question) i = k;
    b->answer[i].question = question;
    b->answer[i].choice = choice;
    b->answer[i].text.len = 0;
    buf_put(&b->answer[i].text, text, n);
    pthread_cond_broadcast(&b->to_desk);
    pthread_mutex_unlock(&b->lock);
}

static int find_answer(const struct bridge *b, int64_t question)
{
    for (int i = 0; i < ANSWERS; i++)
        if (b->answer[i].question == question) return i;
    return -1;
}

int bridge_answered(struct bridge *b, int64_t question, int ms, int *choice, struct buf *text)
{
    const struct timespec until = in_ms(ms);
    int timed_out = 0;
    pthread_mutex_lock(&b->lock);
    int i = find_answer(b, question);
    while (i < 0 && !b->leave && !timed_out && ms > 0) {
        timed_out = pthread_cond_timedwait(&b->to_desk, &b->lock, &until);
        i = find_answer(b, question);
    }
    bool is = i >= 0;
    if (is) {
        *choice = b->answer[i].choice;
        if (text) buf_put(text, b->answer[i].text.data, b->answer[i].text.len);
        b->answer[i].question = 0;
        buf_free(&b->answer[i].text);
    }
    pthread_mutex_unlock(&b->lock);
    return is;
}
