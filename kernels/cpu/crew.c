#include "kernels/cpu/crew.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, SPIN_NS = 50000, CLOCK_EVERY = 32 };

/* A core that others use too: see "making way" below. */
enum {
    LOOK_NS = 1000000,     /* how often a thread looks whether it was kept from its core */
    KEPT_OFF_NS = 1000000, /* ... for longer than this meanwhile */
    OFTEN = 3,             /* so often ... */
    OFTEN_NS = 40000000,   /* ... within this: somebody computes there, and is not just looking in */
    SHARED_NS = 200000000, /* for so long it then takes its core to be shared */
    TURN_NS = 1000000,     /* and works so long, less than the system gives at a time, ... */
    REST_NS = 1000000      /* ... before it leaves the core to the others for so long */
};

/* Of a thread, at some moment. */
struct look {
    int64_t clock_ns, cpu_ns; /* the clock's and the thread's own time */
    long slept;               /* how often it has slept or waited */
};

/* Its thread's own, but for what is set at the start, and its share. */
struct worker {
    _Alignas(64) atomic_uint_fast64_t share; /* of a loop's items, what nobody has taken yet: from, end */
    struct crew *crew;
    pthread_t thread;
    int who;
    int offs;                       /* how often it was kept from its core since off_ns */
    int64_t off_ns;
    struct look last;
    int64_t shared_ends, turn_ends; /* 0: the core is taken to be ours alone */
};

/* Each thread has a share of a loop, one piece of it, and takes from its front: so a thread goes over neighbouring
 * memory, and the word that says what is left is mostly in its own cache.  Who has nothing left takes from the end of
 * another's.  Taking is compare-and-swap on the share, and as long as somebody holds items the caller waits; so work
 * and job may be read without a lock by who holds some, and a worker that comes late takes nothing of a loop that is
 * over, or rightly some of the next. */
struct crew {
    _Alignas(64) atomic_uint number; /* of the loop: who waits sees it change */
    _Alignas(64) atomic_int left;    /* items not finished */
    _Alignas(64) crew_work *work;
    void *job;

    _Alignas(64) pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t wake, done, leave;  /* leave: for the end of a rest; only the crew's end signals it */
    atomic_int sleepers;               /* workers that sleep or are about to */
    atomic_bool caller_sleeps, stop;

    int threads, cores;
    bool pin, spin;
    int core[MOST]; /* (cores) thread i is pinned to core[i % cores] */
    int moved;       /* the place whose core the caller took last ... */
    int64_t settled; /* ... and until when it stays */
    bool has_caller;
    pthread_t caller; /* of the last loop */
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

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
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

/* ------------------------------------------------------------------ making way
 *
 * When another process computes on a worker's core the system switches between them every few milliseconds, mostly
 * while the worker holds items, and then all wait for it: two threads are slower than one.  So a worker that is kept
 * from its core leaves it of itself for a while, in short turns and between items, and whoever has a core goes on with
 * the loop.  The caller cannot leave; it changes places with a worker. */

static struct look look_now(int64_t now)
{
    struct rusage u; /* its times are as old as the system's last tick */
    if (getrusage(RUSAGE_THREAD, &u)) return (struct look){0};
    return (struct look){now, clock_ns(CLOCK_THREAD_CPUTIME_ID), u.ru_nvcsw};
}

/* Is this thread kept from its core time and again, though it is ready to run?  What happened since the last look is
 * not known if it slept meanwhile: who sleeps here looks afterwards. */
static bool kept_off(struct worker *w, int64_t now)
{
    if (now - w->last.clock_ns < LOOK_NS) return false;
    const struct look last = w->last, at = w->last = look_now(now);
    if (!last.clock_ns || at.slept != last.slept) return false;
    if ((at.clock_ns - last.clock_ns) - (at.cpu_ns - last.cpu_ns) < KEPT_OFF_NS) return false;
    if (now - w->off_ns > OFTEN_NS) w->offs = 0, w->off_ns = now;
    return ++w->offs >= OFTEN;
}

/* Is this worker to leave its core now? */
static bool makes_way(struct worker *w)
{
    if (!w->crew->spin) return false; /* more threads than cores: it sleeps often as it is */
    int64_t now = now_ns();
    if (kept_off(w, now)) w->shared_ends = now + SHARED_NS, w->turn_ends = now;
    if (now >= w->shared_ends) w->shared_ends = 0;
    return w->shared_ends && now >= w->turn_ends;
}

static void rest(struct crew *c, struct worker *w)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += REST_NS;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&c->lock);
    while (!atomic_load(&c->stop) && pthread_cond_timedwait(&c->leave, &c->lock, &until) == 0) continue;
    pthread_mutex_unlock(&c->lock);
    int64_t now = now_ns();
    w->last = look_now(now);
    w->turn_ends = now + TURN_NS;
}

/* --------------------------------------------------------------------- working */

struct items {
    uint32_t from, end;
};

static struct items items_of(uint64_t share)
{
    return (struct items){(uint32_t)(share >> 32), (uint32_t)share};
}

static uint64_t share_of(struct items i)
{
    return (uint64_t)i.from << 32 | i.end;
}

static uint32_t items_left(uint64_t share)
{
    const struct items i = items_of(share);
    return i.end - i.from;
}

/* The next items of a thread's own share; pieces of it, so that others can still help with the rest. */
static bool take_own(struct worker *w, struct items *taken)
{
    uint64_t share = atomic_load(&w->share);
    for (uint32_t n; (n = items_left(share));) {
        const struct items all = items_of(share);
        *taken = (struct items){all.from, all.from + MAX(n / 4, 1)};
        if (atomic_compare_exchange_weak(&w->share, &share, share_of((struct items){taken->end, all.end}))) return true;
    }
    return false;
}

/* Half of what the thread has left that has most of all. */
static bool take_from_another(struct crew *c, struct items *taken)
{
    for (;;) {
        struct worker *most = NULL;
        uint64_t share = 0;
        for (int i = 0; i < c->threads; i++) {
            const uint64_t its = atomic_load(&c->worker[i].share);
            if (items_left(its) > items_left(share)) share = its, most = &c->worker[i];
        }
        if (!most) return false;
        const struct items all = items_of(share);
        *taken = (struct items){all.end - (items_left(share) + 1) / 2, all.end};
        if (atomic_compare_exchange_strong(&most->share, &share, share_of((struct items){all.from, taken->from})))
            return true;
    }
}

/* Take and do items until none is left to take, or a worker's turn is over; then say how many were done: once, since
 * each word that two cores write costs as much as some items. */
static void work_off(struct crew *c, struct worker *w)
{
    struct items i;
    int done = 0;
    while (!(w->shared_ends && now_ns() >= w->turn_ends) && (take_own(w, &i) || take_from_another(c, &i))) {
        c->work(c->job, (int)i.from, (int)i.end, w->who);
        done += (int)(i.end - i.from);
    }
    if (done && atomic_fetch_sub(&c->left, done) == done && atomic_load(&c->caller_sleeps)) {
        pthread_mutex_lock(&c->lock);
        pthread_cond_signal(&c->done);
        pthread_mutex_unlock(&c->lock);
    }
}

/* Until the loop's number is no longer `seen`, or the crew ends.  The sleeper announces itself before it looks a
 * last time, the caller publishes before it looks for sleepers: one of them sees the other. */
static void wait_for_work(struct crew *c, struct worker *w, unsigned seen)
{
    int turn = 0;
    int64_t end = 0;
    while (atomic_load(&c->number) == seen && !atomic_load(&c->stop)) {
        if (spin_on(c, &turn, &end)) continue;
        pthread_mutex_lock(&c->lock);
        atomic_fetch_add(&c->sleepers, 1);
        while (atomic_load(&c->number) == seen && !atomic_load(&c->stop)) pthread_cond_wait(&c->wake, &c->lock);
        atomic_fetch_sub(&c->sleepers, 1);
        pthread_mutex_unlock(&c->lock);
        w->last = look_now(now_ns());
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
        c->worker[0].last = look_now(now_ns());
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    unsigned seen = 0;
    while (!atomic_load(&c->stop)) {
        wait_for_work(c, w, seen);
        seen = atomic_load(&c->number);
        work_off(c, w);
        while (makes_way(w) && !atomic_load(&c->stop)) {
            rest(c, w);
            work_off(c, w);
        }
    }
    return NULL;
}

static void core_set(const struct crew *c, int who, cpu_set_t *set)
{
    CPU_ZERO(set);
    CPU_SET((size_t)c->core[who % c->cores], set);
}

/* A thread that crews have pinned, and its cores before the first of them did. */
static _Thread_local struct pinned {
    bool is;
    cpu_set_t cores;
} pinned;

static bool is_caller(const struct crew *c)
{
    return c->has_caller && pthread_equal(c->caller, pthread_self());
}

static void pin_caller(struct crew *c)
{
    if (!c->pin || (pinned.is && is_caller(c))) return;
    cpu_set_t set;
    core_set(c, 0, &set);
    c->has_caller = true;
    c->caller = pthread_self();
    if (!pinned.is) pinned.is = pthread_getaffinity_np(c->caller, sizeof pinned.cores, &pinned.cores) == 0;
    pthread_setaffinity_np(c->caller, sizeof set, &set); /* a core that went away meanwhile: then it is not pinned */
}

/* Another crew that this thread still calls pins it again. */
static void unpin_caller(const struct crew *c)
{
    if (!pinned.is || !is_caller(c)) return;
    pthread_setaffinity_np(c->caller, sizeof pinned.cores, &pinned.cores);
    pinned.is = false;
}

/* Another core for the caller, and this one for the worker that had it, if any. */
static void change_places(struct crew *c)
{
    cpu_set_t set;
    c->moved = c->moved + 1 < c->cores ? c->moved + 1 : 1;
    int core = c->core[0];
    c->core[0] = c->core[c->moved];
    c->core[c->moved] = core;
    core_set(c, 0, &set);
    pthread_setaffinity_np(c->caller, sizeof set, &set);
    if (c->moved >= c->threads) return;
    core_set(c, c->moved, &set);
    pthread_setaffinity_np(c->worker[c->moved].thread, sizeof set, &set);
}

/* The caller has a shared core: it moves, and then stays for a while. */
static void caller_looks(struct crew *c)
{
    struct worker *w = &c->worker[0];
    if (!c->pin || !c->spin || c->cores < 2) return;
    int64_t now = now_ns();
    if (!kept_off(w, now) || now < c->settled) return;
    c->settled = now + SHARED_NS;
    change_places(c);
}

/* Where part i of n items for so many threads begins. */
static uint32_t part_of(int n, int i, int threads)
{
    return (uint32_t)((int64_t)n * i / threads);
}

void crew_run(struct crew *c, int n, crew_work *work, void *job)
{
    if (n <= 0) return;
    pin_caller(c);
    if (n == 1 || c->threads == 1) {
        work(job, 0, n, 0);
        return;
    }
    c->work = work;
    c->job = job;
    atomic_store(&c->left, n);
    for (int i = 0; i < c->threads; i++) {
        const struct items its = {part_of(n, i, c->threads), part_of(n, i + 1, c->threads)};
        atomic_store_explicit(&c->worker[i].share, share_of(its), memory_order_release);
    }
    atomic_fetch_add(&c->number, 1);
    if (atomic_load(&c->sleepers)) {
        pthread_mutex_lock(&c->lock);
        pthread_cond_broadcast(&c->wake);
        pthread_mutex_unlock(&c->lock);
    }
    work_off(c, &c->worker[0]);
    wait_for_done(c);
    caller_looks(c);
}

/* ------------------------------------------------------------ opening, closing */

/* The cores that the process may use, at most MOST of them: those of this thread, but for what a crew has done. */
static void find_cores(struct crew *c)
{
    cpu_set_t set = pinned.cores;
    if (pinned.is || sched_getaffinity(0, sizeof set, &set) == 0)
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
    pthread_cond_broadcast(&c->leave);
    pthread_mutex_unlock(&c->lock);
    for (int i = 1; i < started; i++) pthread_join(c->worker[i].thread, NULL);
}

static void free_crew(struct crew *c)
{
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->leave);
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
    pthread_condattr_t steady; /* a rest is timed by the clock that nobody sets */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&c->leave, &steady);
    pthread_condattr_destroy(&steady);
    c->worker[0] = (struct worker){.crew = c};

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
    unpin_caller(c);
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
