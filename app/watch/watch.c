/* watch.c - see watch.h. */
#include "app/watch/watch.h"
#include "engine/remote/hear.h"
#include "engine/remote/web.h"

enum { ANSWER_MOST = 4 << 20 };

enum question { ASK_METRICS, ASK_OLLAMA };

struct watch_call {
    struct web *web;
    struct web_call *going; /* NULL: none is */
    enum question question;
    double asked, next;     /* when it was asked, when it is to be again */
    struct buf body;
    bool over, too_long;
    long status;
    char why[160];
};

/* ---------------------------------------------------------------- open and close */

static int open_one(struct watched *s, const char *url, const char *key, struct err *err)
{
    struct watch_call *c = s->call = calloc(1, sizeof *c);
    s->kept = calloc(WATCH_KEPT, sizeof *s->kept);
    if (!c || !s->kept) return err_set(err, -1, "no memory to watch a server");
    c->web = web_open(url, key, err);
    if (!c->web) return -1;
    const char *at = web_at(c->web);
    if (strlen(at) >= sizeof s->at) return err_set(err, -1, "%.40s...: the address is too long", url);
    hear_line(at, strlen(at), s->at, sizeof s->at);
    return 0;
}

int watch_open(struct watch *w, char *const *urls, int n, const char *key, double every, struct err *err)
{
    *w = (struct watch){.every = every};
    if (n > WATCH_SERVERS) return err_set(err, -1, "%d servers can be watched at once, not %d", WATCH_SERVERS, n);
    for (int i = 0; i < n; i++) {
        w->n++;
        if (open_one(&w->server[i], urls[i], key, err)) return -1;
    }
    return 0;
}

void watch_close(struct watch *w)
{
    for (int i = 0; i < w->n; i++) {
        struct watched *s = &w->server[i];
        if (s->call) web_close(s->call->web);
        if (s->call) buf_free(&s->call->body);
        free(s->call);
        free(s->kept);
    }
    *w = (struct watch){0};
}

/* ---------------------------------------------------------------- one question */

static bool take_bytes(void *self, long status, const char *bytes, size_t n)
{
    struct watch_call *c = self;
    (void)status;
    c->too_long = n > ANSWER_MOST - c->body.len;
    if (!c->too_long) buf_put(&c->body, bytes, n);
    return !c->too_long && !c->body.failed;
}

static void take_end(void *self, long status, int retry_s, const char *why)
{
    struct watch_call *c = self;
    (void)retry_s;
    c->over = true;
    c->status = status;
    hear_line(why, strlen(why), c->why, sizeof c->why);
}

static void become(struct watched *s, enum watch_state state, double now, const char *why)
{
    if (s->state != state) s->since = now;
    s->state = state;
    snprintf(s->why, sizeof s->why, "%.239s", why);
}

static void ask(struct watched *s, enum question q, double now)
{
    static const struct web_ops ops = {take_bytes, take_end};
    static const char *const path[] = {"/metrics", "/api/ps"};
    struct watch_call *c = s->call;
    struct err err = {0};
    c->question = q;
    c->asked = now;
    c->over = c->too_long = false;
    c->body.len = 0;
    c->body.failed = false;
    c->going = web_begin(c->web, path[q], NULL, &ops, c, &err);
    if (c->going) return;
    become(s, WATCH_DOWN, now, err.text);
    s->rounds++;
}

static void keep(struct watched *s, const struct load *l, double now)
{
    s->kept[s->n_kept++ % WATCH_KEPT] = (struct watch_sample){now, *l};
    s->kind = l->kind;
    if (*l->model) snprintf(s->model, sizeof s->model, "%s", l->model);
    become(s, WATCH_TOLD, now, "");
}

/* What the metrics' page is instead, where it is none. */
static void take_other(struct watched *s, double now)
{
    char why[sizeof s->why];
    const long status = s->call->status;
    if (status == 401 || status == 403) snprintf(why, sizeof why, "it wants a key (--remote-key-file)");
    else if (status == 200) snprintf(why, sizeof why, "no name in its /metrics is known here");
    else if (status == 404 || status == 501)
        snprintf(why, sizeof why, "it has no /metrics: llama-server begins with --metrics to have it, SGLang with "
                 "--enable-metrics");
    else snprintf(why, sizeof why, "/metrics: HTTP %ld", status);
    become(s, WATCH_MUTE, now, why);
}

/* The answer is whole; true: another question follows. */
static bool take_answer(struct watched *s, double now)
{
    struct watch_call *c = s->call;
    struct load l = {.kind = SERVER_OTHER};
    const char *text = c->body.data ? c->body.data : "";
    const bool good = c->status == 200 && !c->too_long && !c->body.failed;
    if (c->status == 0) {
        become(s, WATCH_DOWN, now, c->too_long ? "an answer of more than 4 MiB" : c->why);
        return false;
    }
    s->heard = now;
    if (c->question == ASK_METRICS && good) load_read(text, c->body.len, &l);
    if (c->question == ASK_OLLAMA && good) load_read_ollama(text, c->body.len, &l);
    if (l.kind != SERVER_OTHER) {
        keep(s, &l, now);
        return false;
    }
    if (c->question == ASK_METRICS) take_other(s, now);
    return c->question == ASK_METRICS && c->status == 404;
}

static bool step_one(struct watch *w, struct watched *s, double now)
{
    struct watch_call *c = s->call;
    const enum watch_state before = s->state;
    if (!c->going && now < c->next) return false;
    if (!c->going) {
        c->next = now + w->every;
        ask(s, ASK_METRICS, now);
        if (!c->going) return true;
    }
    web_pump(c->web, 0);
    const bool late = !c->over && now - c->asked > WATCH_SILENCE_S;
    if (!c->over && !late) return false;
    web_end(c->going);
    c->going = NULL;
    if (late) {
        char why[80];
        snprintf(why, sizeof why, "no answer in %d seconds", WATCH_SILENCE_S);
        become(s, WATCH_DOWN, now, why);
    }
    if (late || !take_answer(s, now)) s->rounds++;
    else ask(s, ASK_OLLAMA, now);
    return late || !c->going || s->state != before;
}

bool watch_step(struct watch *w, double now)
{
    bool news = false;
    for (int i = 0; i < w->n; i++)
        if (step_one(w, &w->server[i], now)) news = true;
    return news;
}

/* ---------------------------------------------------------------- what came of it */

const struct watch_sample *watch_last(const struct watched *s, uint64_t ago)
{
    if (s->state != WATCH_TOLD || ago >= MIN(s->n_kept, (uint64_t)WATCH_KEPT)) return NULL;
    return &s->kept[(s->n_kept - 1 - ago) % WATCH_KEPT];
}

struct load watch_load(const struct watched *s)
{
    const struct watch_sample *last = watch_last(s, 0);
    struct load none;
    load_read("", 0, &none);
    return last ? last->load : none;
}

double watch_grew(const struct watched *s, enum load_count which, double seconds, double *took)
{
    const struct watch_sample *last = watch_last(s, 0), *from = last;
    double least = last ? last->load.count[which] : -1;
    *took = 0;
    if (least < 0) return -1;
    for (uint64_t ago = 1; (from = watch_last(s, ago)) != NULL; ago++) {
        if (ago > 1 && last->time - from->time > seconds + 0.5) break; /* the one before counts, however long ago */
        if (from->load.count[which] < 0 || from->load.count[which] > least) break; /* it was begun anew in between */
        least = from->load.count[which];
        *took = last->time - from->time;
    }
    return *took > 0 ? last->load.count[which] - least : -1;
}

double watch_rate(const struct watched *s, enum load_count which)
{
    double took;
    const double grew = watch_grew(s, which, WATCH_WINDOW_S, &took);
    return grew < 0 ? -1 : grew / took;
}

double watch_ratio(const struct watched *s, enum load_count of, enum load_count by)
{
    double took;
    const double up = watch_grew(s, of, WATCH_LONG_S, &took), down = watch_grew(s, by, WATCH_LONG_S, &took);
    return up < 0 || down <= 0 ? -1 : up / down;
}
