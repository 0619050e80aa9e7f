#include "kernels/cpu/crew.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, SPIN_NS = 50000, CLOCK_EVERY = 32 };

struct worker {
    struct crew *crew;
    pthread_t thread;
    int who;
};

/* A loop is published as one word, the ticket: its number in the upper half, how many items nobody has taken yet in the
 * lower.  Taking is compare-and-swap on it, so a worker that comes late can take nothing of a loop that is over; and
 * while somebody holds items the caller waits, so n, work and job may be read without a lock by who holds some. */
struct crew {
    _Alignas(64) atomic_uint_fast64_t ticket;
    _Alignas(64) atomic_int left; /* items not finished */
    _Alignas(64) int n;
    crew_work *work;
    void *job;

    _Alignas(64) pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t wake, done;
    atomic_int sleepers;               /* workers that sleep or are about to */
    atomic_bool caller_sleeps, stop;

    int threads, cores;
    bool pin, spin;
    int core[MOST];
    bool caller_pinned;
    pthread_t caller;
    cpu_set_t caller_cores;
    struct worker worker[]; /* (threads); [0] is the caller and not used */
};

/* -------------------------------------------------------------------- spinning */

static void pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One turn of a spinning loop; false when it has lasted long enough. */
static bool spin_on(const struct crew *c, int *turn, int64_t *end)
{
    if (!c->spin) return false;
    pause_core();
    if (++*turn % CLOCK_EVERY) return true;
    int64_t now = now_ns();
    if (!*end) *end = now + SPIN_NS;
    return now < *end;
}

/* --------------------------------------------------------------------- working */

static uint32_t ticket_left(uint64_t ticket)
{
    return (uint32_t)ticket;
}

/* Take and do items until none is left to take. */
static void work_off(struct crew *c, int who)
{
    uint64_t t = atomic_load(&c->ticket);
    while (ticket_left(t)) {
        uint32_t left = ticket_left(t), take = MAX(left / (4 * (uint32_t)c->threads), 1);
        if (!atomic_compare_exchange_weak(&c->ticket, &t, t - take)) continue;
        int first = c->n - (int)left;
        c->work(c->job, first, first + (int)take, who);
        if (atomic_fetch_sub(&c->left, (int)take) == (int)take && atomic_load(&c->caller_sleeps)) {
            pthread_mutex_lock(&c->lock);
            pthread_cond_signal(&c->done);
            pthread_mutex_unlock(&c->lock);
        }
        t = atomic_load(&c->ticket);
    }
}

/* Until the loop's number is no longer `seen`, or the crew ends.  The sleeper announces itself before it looks a
 * last time, the caller publishes before it looks for sleepers: one of them sees the other. */
static void wait_for_work(struct crew *c, uint64_t seen)
{
    int turn = 0;
    int64_t end = 0;
    while (atomic_load(&c->ticket) >> 32 == seen && !atomic_load(&c->stop)) {
        if (spin_on(c, &turn, &end)) continue;
        pthread_mutex_lock(&c->lock);
        atomic_fetch_add(&c->sleepers, 1);
        while (atomic_load(&c->ticket) >> 32 == seen && !atomic_load(&c->stop)) pthread_cond_wait(&c->wake, &c->lock);
        atomic_fetch_sub(&c->sleepers, 1);
        pthread_mutex_unlock(&c->lock);
    }
}

static void wait_for_done(struct crew *c)
{
    int turn = 0;
    int64_t end = 0;
    while (atomic_load(&c->left) > 0) {
        if (spin_on(c, &turn, &end)) continue;
        pthread_mutex_lock(&c->lock);
        atomic_store(&c->caller_sleeps, true);
        while (atomic_load(&c->left) > 0) pthread_cond_wait(&c->done, &c->lock);
        atomic_store(&c->caller_sleeps, false);
        pthread_mutex_unlock(&c->lock);
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    uint64_t seen = 0;
    while (!atomic_load(&c->stop)) {
        wait_for_work(c, seen);
        seen = atomic_load(&c->ticket) >> 32;
        work_off(c, w->who);
    }
    return NULL;
}

static void core_set(const struct crew *c, int who, cpu_set_t *set)
{
    CPU_ZERO(set);
    CPU_SET((size_t)c->core[who % c->cores], set);
}

static void pin_caller(struct crew *c)
{
    if (!c->pin || (c->caller_pinned && pthread_equal(c->caller, pthread_self()))) return;
    cpu_set_t set;
    core_set(c, 0, &set);
    c->caller = pthread_self();
    c->caller_pinned = pthread_getaffinity_np(c->caller, sizeof c->caller_cores, &c->caller_cores) == 0;
    pthread_setaffinity_np(c->caller, sizeof set, &set); /* a core that went away meanwhile: then it is not pinned */
}

void crew_run(struct crew *c, int n, crew_work *work, void *job)
{
    if (n <= 0) return;
    pin_caller(c);
    if (n == 1 || c->threads == 1) {
        work(job, 0, n, 0);
        return;
    }
    c->n = n;
    c->work = work;
    c->job = job;
    atomic_store(&c->left, n);
    uint64_t number = (atomic_load(&c->ticket) >> 32) + 1;
    atomic_store(&c->ticket, number << 32 | (uint32_t)n);
    if (atomic_load(&c->sleepers)) {
        pthread_mutex_lock(&c->lock);
        pthread_cond_broadcast(&c->wake);
        pthread_mutex_unlock(&c->lock);
    }
    work_off(c, 0);
    wait_for_done(c);
}

/* ------------------------------------------------------------ opening, closing */

/* The cores that the process may use, at most MOST of them. */
static void find_cores(struct crew *c)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int i = 0; i < CPU_SETSIZE && c->cores < MOST; i++)
            if (CPU_ISSET((size_t)i, &set)) c->core[c->cores++] = i;
    if (c->cores) return;
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than a cpu_set_t holds: unpinned then */
    c->cores = (int)MIN(MAX(online, 1), MOST);
    c->pin = false;
}

static void stop_workers(struct crew *c, int started)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->stop, true);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    for (int i = 1; i < started; i++) pthread_join(c->worker[i].thread, NULL);
}

static void free_crew(struct crew *c)
{
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* A worker starts on its core: pinning it from outside would race with its first loop. */
static int start_worker(struct crew *c, int who)
{
    pthread_attr_t attr;
    struct worker *w = &c->worker[who];
    *w = (struct worker){.crew = c, .who = who};
    int code = pthread_attr_init(&attr);
    if (code) return code;
    if (c->pin) {
        cpu_set_t set;
        core_set(c, who, &set);
        pthread_attr_setaffinity_np(&attr, sizeof set, &set);
    }
    code = pthread_create(&w->thread, &attr, worker_main, w);
    pthread_attr_destroy(&attr);
    return code;
}

struct crew *crew_open(int threads, bool pin, struct err *err)
{
    struct crew found = {.pin = pin};
    find_cores(&found);
    if (threads == 0) threads = found.cores;
    if (threads < 0 || threads > MOST) {
        err_set(err, -1, "%d threads were asked for: use 1 to %d, or 0 for one a core", threads, MOST);
        return NULL;
    }
    size_t size = sizeof(struct crew) + (size_t)threads * sizeof(struct worker);
    struct crew *c = aligned_alloc(64, (size_t)size_align(size, 64));
    if (!c) {
        err_set(err, -1, "out of memory for %d threads; use fewer", threads);
        return NULL;
    }
    memset(c, 0, size);
    c->pin = found.pin && threads > 1; /* one thread waits for nobody */
    c->cores = found.cores;
    memcpy(c->core, found.core, sizeof c->core);
    c->threads = threads;
    c->spin = threads <= c->cores;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->done, NULL);

    for (int i = 1; i < threads; i++) {
        int code = start_worker(c, i);
        if (!code) continue;
        stop_workers(c, i);
        free_crew(c);
        err_set(err, -1, "thread %d of %d could not be started: %s; use fewer", i + 1, threads, strerror(code));
        return NULL;
    }
    return c;
}

void crew_close(struct crew *c)
{
    if (!c) return;
    stop_workers(c, c->threads);
    if (c->caller_pinned && pthread_equal(c->caller, pthread_self()))
        pthread_setaffinity_np(c->caller, sizeof c->caller_cores, &c->caller_cores);
    free_crew(c);
}

int crew_threads(const struct crew *c)
{
    return c->threads;
}

void crew_describe(const struct crew *c, char *text, size_t size)
{
    int used = MIN(c->threads, c->cores);
    int at = snprintf(text, size, "%d thread%s%s", c->threads, c->threads == 1 ? "" : "s",
                      !c->pin ? ", not pinned" : used == 1 ? " pinned on core " : " pinned on cores ");
    for (int i = 0; c->pin && i < used && at >= 0 && (size_t)at < size; i++)
        at += snprintf(text + at, size - (size_t)at, "%s%d", i ? "," : "", c->core[i]);
}
