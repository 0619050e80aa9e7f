/* keeper.c - see keeper.h. */
#include "memory/keeper.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct keeper {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct keeper_job *job[KEEPER_JOBS]; /* a ring: [first, first + ran) are done, up to first + n wait */
    int first, ran, n;
    bool closing, running;
    double since;  /* running: from then on */
    int patience;  /* ms; 0: without end */
    int fd; /* eventfd: how many are done */
};

static struct keeper_job *at(const struct keeper *k, int i)
{
    return k->job[(k->first + i) % KEEPER_JOBS];
}

/* Adds one to the eventfd; at most KEEPER_JOBS are in it, so it never blocks. */
static void tell(const struct keeper *k)
{
    uint64_t one = 1;
    while (write(k->fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *self)
{
    struct keeper *k = self;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        while (k->ran == k->n && !k->closing) pthread_cond_wait(&k->more, &k->lock);
        if (k->ran == k->n) break;
        struct keeper_job *job = at(k, k->ran);
        k->running = true;
        k->since = seconds_now();
        pthread_mutex_unlock(&k->lock);
        job->code = job->run(job, k->store, &job->err);
        pthread_mutex_lock(&k->lock);
        k->running = false;
        k->ran++;
        tell(k);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* Signals are for the thread that was there before. */
static int start(struct keeper *k)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&k->thread, NULL, work, k);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int keeper_open(struct keeper **out, struct store *s, struct err *err)
{
    struct keeper *k = calloc(1, sizeof *k);
    int rc = k ? 0 : ENOMEM;
    *out = NULL;
    if (k) {
        *k = (struct keeper){.store = s, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)};
        pthread_mutex_init(&k->lock, NULL);
        pthread_cond_init(&k->more, NULL);
        rc = k->fd < 0 ? errno : start(k);
    }
    if (rc == 0) {
        *out = k;
        return 0;
    }
    if (k && k->fd >= 0) close(k->fd);
    free(k);
    store_close(s);
    return err_set(err, KEEPER_FAILED, "the store's thread could not be started: %s", strerror(rc));
}

void keeper_close(struct keeper *k)
{
    if (!k) return;
    pthread_mutex_lock(&k->lock);
    k->closing = true;
    pthread_cond_signal(&k->more);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->more);
    pthread_mutex_destroy(&k->lock);
    store_close(k->store);
    close(k->fd);
    free(k);
}

int keeper_submit(struct keeper *k, struct keeper_job *job, struct err *err)
{
    job->code = 0;
    job->err = (struct err){0};
    pthread_mutex_lock(&k->lock);
    bool full = k->n == KEEPER_JOBS;
    if (!full) {
        k->job[(k->first + k->n++) % KEEPER_JOBS] = job;
        pthread_cond_signal(&k->more);
    }
    pthread_mutex_unlock(&k->lock);
    return full ? err_set(err, KEEPER_FULL, "%d jobs wait for the store already", KEEPER_JOBS) : 0;
}

struct keeper_job *keeper_done(struct keeper *k)
{
    struct keeper_job *job = NULL;
    uint64_t one;
    pthread_mutex_lock(&k->lock);
    if (k->ran > 0) {
        job = at(k, 0);
        k->first = (k->first + 1) % KEEPER_JOBS;
        k->ran--;
        k->n--;
    }
    pthread_mutex_unlock(&k->lock);
    while (job && read(k->fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    return job;
}

int keeper_fd(const struct keeper *k) { return k->fd; }

int keeper_pending(const struct keeper *k)
{
    struct keeper *open = (struct keeper *)k; /* the lock is no part of what is asked */
    pthread_mutex_lock(&open->lock);
    int n = k->n;
    pthread_mutex_unlock(&open->lock);
    return n;
}

void keeper_patience(struct keeper *k, int ms)
{
    pthread_mutex_lock(&k->lock);
    k->patience = ms;
    pthread_mutex_unlock(&k->lock);
}

bool keeper_stuck(const struct keeper *k)
{
    struct keeper *open = (struct keeper *)k;
    pthread_mutex_lock(&open->lock);
    bool stuck = k->running && k->patience > 0 && seconds_now() - k->since > 1e-3 * k->patience;
    pthread_mutex_unlock(&open->lock);
    return stuck;
}

/* What it reads of the store is as it was opened. */
int keeper_lock_session(struct keeper *k, const uint8_t session[STORE_SESSION_ID], struct store_lock *out,
                        struct err *err)
{
    return store_lock_session(k->store, session, out, err);
}

struct keeper_job *keeper_wait(struct keeper *k, bool (*stop)(void *), void *self)
{
    for (;;) {
        struct keeper_job *job = keeper_done(k);
        if (job || keeper_pending(k) == 0 || (stop && stop(self))) return job;
        struct pollfd p = {.fd = k->fd, .events = POLLIN};
        poll(&p, 1, stop ? 50 : -1);
    }
}
