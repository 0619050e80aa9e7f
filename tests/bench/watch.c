/* watch.c - what a display costs: one sequence decodes while a thread reads the engine's snapshot 60 times a second. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { HERTZ = 60 };

struct watcher {
    struct bench *b;
    atomic_bool stop;
    atomic_uint reads;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;
    struct engine_snapshot s;
    const struct timespec pause = {.tv_nsec = 1000000000 / HERTZ};
    while (!atomic_load(&w->stop)) {
        w->b->ops->snapshot(w->b->e, &s);
        atomic_fetch_add(&w->reads, 1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Tokens a second of n decode steps, watched or not. */
static int run(struct bench *b, int n, bool watched, double *rate, struct err *err)
{
    struct watcher w = {.b = b};
    pthread_t thread;
    double seconds;
    if (watched && pthread_create(&thread, NULL, watch, &w)) return err_set(err, -1, "no thread to watch with");
    while (watched && atomic_load(&w.reads) == 0) usleep(1000); /* a few steps may be over before it starts */
    int rc = ours_decode(b, 1, n, &seconds, err);
    atomic_store(&w.stop, true);
    if (watched) pthread_join(thread, NULL);
    if (!rc) *rate = n / seconds;
    return rc;
}

int watch_measure(struct bench *b, struct subject *s, struct err *err)
{
    double rate[2][BENCH_REPS], foreign[BENCH_REPS];
    int thrown = 0, n = s->plan->watch;
    struct watched *w = &s->watched;
    if (n == 0) return 0;
    if (run(b, 2, true, &rate[0][0], err)) return -1;
    for (int i = 0; i < b->o->reps;) {
        struct noise noise;
        quiet_wait(&b->wait_left);
        noise_start(&noise);
        for (int watched = 0; watched < 2; watched++)
            if (run(b, n, watched, &rate[watched][i], err)) return -1;
        foreign[i] = noise_end(&noise);
        if (foreign[i] > NOISE_MOST && thrown++ < b->o->reps) continue;
        i++;
    }
    for (int watched = 0; watched < 2; watched++) w->rate[watched] = spread_of(rate[watched], b->o->reps);
    w->noise = spread_of(foreign, b->o->reps).median;
    w->there = true;
    return 0;
}
