/* strand.c - see strand.h. */
#include "app/session/strand.h"
#include <errno.h>
#include <pthread.h>

/* A model's JSON is read and written by recursion, 2048 deep at most: about 1 MiB; untouched pages cost nothing. */
enum { STACK = 4 << 20, JOB_MS = 20 };

enum waiting { RUNS, WAITS_ENGINE, WAITS_JOB, ENDED };

struct strand {
    struct strands *of;
    uint64_t number; /* 1, 2, ...: the order */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turned;
    bool its_turn;
    enum waiting waiting;
    struct voice *voice;
    void (*fn)(void *self);
    void *self;
    int pause_ms; /* what app_pause() returns next */
};

static _Thread_local struct strand *here;

/* ---------------------------------------------------------------- handing over */

static void hand(struct strand *t, bool to_it)
{
    pthread_mutex_lock(&t->lock);
    t->its_turn = to_it;
    pthread_cond_broadcast(&t->turned);
    while (t->its_turn == to_it) pthread_cond_wait(&t->turned, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void wait_here(enum waiting what)
{
    struct strand *t = here;
    struct app *a = t->of->a;
    t->waiting = what;
    t->voice = a->trace.voice;
    hand(t, false);
    t->waiting = RUNS; /* and strands_round() has put its voice back */
}

static void *run(void *arg)
{
    struct strand *t = arg;
    here = t;
    pthread_mutex_lock(&t->lock);
    while (!t->its_turn) pthread_cond_wait(&t->turned, &t->lock);
    pthread_mutex_unlock(&t->lock);
    t->fn(t->self);
    pthread_mutex_lock(&t->lock);
    t->waiting = ENDED;
    t->its_turn = false;
    pthread_cond_broadcast(&t->turned);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---------------------------------------------------------------- what turns call */

int app_step(struct app *a, struct err *err)
{
    if (!here) {
        if (a->between) a->between(a->between_self);
        a->n_ev = a->ops->step(a->engine, a->ev, APP_EVENTS, err);
        return a->n_ev;
    }
    wait_here(WAITS_ENGINE);
    if (a->n_ev < 0 && err) *err = a->step_err;
    return a->n_ev;
}

int app_pause(struct app *a)
{
    if (!here && a->between) a->between(a->between_self);
    if (!here) return JOB_MS;
    if (a->lockstep) return JOB_MS; /* the others wait, too */
    wait_here(WAITS_JOB);
    return here->pause_ms;
}

bool app_in_company(void) { return here && here->of->n > 1; }

/* ---------------------------------------------------------------- rounds */

void strands_open(struct strands *ss, struct app *a)
{
    *ss = (struct strands){.a = a};
}

void strands_close(struct strands *ss)
{
    assert(ss->n == 0);
    *ss = (struct strands){0};
}

int strands_start(struct strands *ss, void (*fn)(void *self), void *self, struct err *err)
{
    pthread_attr_t attr;
    if (ss->n == STRANDS) return err_set(err, -1, "%d agents answer at once, and no more can", STRANDS);
    struct strand *t = calloc(1, sizeof *t);
    if (!t) return err_set(err, -1, "no memory for another agent's turn");
    *t = (struct strand){.of = ss, .fn = fn, .self = self, .voice = ss->a->trace.voice, .number = ++ss->begun};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->turned, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    int rc = pthread_create(&t->thread, &attr, run, t);
    pthread_attr_destroy(&attr);
    if (rc) {
        pthread_mutex_destroy(&t->lock);
        pthread_cond_destroy(&t->turned);
        free(t);
        return err_set(err, -1, "another agent's turn cannot begin: %s", strerror(rc));
    }
    ss->at[ss->n++] = t;
    return 0;
}

static void take_out(struct strands *ss, int i)
{
    struct strand *t = ss->at[i];
    pthread_join(t->thread, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->turned);
    free(t);
    memmove(ss->at + i, ss->at + i + 1, (size_t)(ss->n - i - 1) * sizeof(struct strand *));
    ss->at[--ss->n] = NULL;
}

bool strands_round(struct strands *ss)
{
    struct app *a = ss->a;
    struct voice *mine = a->trace.voice;
    int engine = 0, jobs = 0;
    for (int i = 0; i < ss->n;) {
        struct strand *t = ss->at[i];
        a->trace.voice = t->voice;
        hand(t, true);
        if (t->waiting == ENDED) {
            take_out(ss, i);
            continue;
        }
        engine += t->waiting == WAITS_ENGINE;
        jobs += t->waiting == WAITS_JOB;
        i++;
    }
    a->trace.voice = mine;
    if (a->between) a->between(a->between_self);
    if (engine > 0) a->n_ev = a->ops->step(a->engine, a->ev, APP_EVENTS, &a->step_err);
    for (int i = 0; i < ss->n; i++) ss->at[i]->pause_ms = engine > 0 ? 0 : MAX(1, JOB_MS / MAX(jobs, 1));
    return ss->n > 0;
}
