/* bandwidth.c - see bandwidth.h. */
#include "app/bandwidth.h"
#include "engine/hostmem.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define MOST ((size_t)256 << 20)
#define LEAST ((size_t)32 << 20) /* less would lie in the caches */
enum { LINE = 64, STEP = 1 << 20 };
static const double seconds = 0.2;

struct reader {
    pthread_t thread;
    pthread_mutex_t *gate; /* held until all readers are there */
    uint8_t *from;
    size_t n;
    double rate;
};

static atomic_uint_fast64_t sink; /* results go here, so that no loop can be left out */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* n is a whole number of lines.  Four chains, so that loads do not wait for each other. */
static uint64_t read_all(const uint8_t *bytes, size_t n)
{
    const uint64_t *w = (const uint64_t *)(const void *)bytes;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < n / sizeof *w; i += LINE / sizeof *w) {
        a += w[i] ^ w[i + 4];
        b += w[i + 1] ^ w[i + 5];
        c += w[i + 2] ^ w[i + 6];
        d += w[i + 3] ^ w[i + 7];
    }
    return a ^ b ^ c ^ d;
}

static void *work(void *arg)
{
    struct reader *r = arg;
    double done = 0, begin, t;
    memset(r->from, 0x5a, r->n); /* else all of it would be the one page of zeros */
    pthread_mutex_lock(r->gate);
    pthread_mutex_unlock(r->gate);
    begin = now();
    do {
        for (size_t at = 0; at < r->n; at += STEP)
            atomic_fetch_add(&sink, read_all(r->from + at, MIN((size_t)STEP, r->n - at)));
        done += (double)r->n;
        t = now();
    } while (t - begin < seconds);
    r->rate = done / (t - begin);
    return NULL;
}

/* The sum of the readers' own rates: they begin and end a little apart. */
static double read_together(uint8_t *mem, size_t n, int threads)
{
    struct reader reader[BANDWIDTH_THREADS];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    size_t part = n / (size_t)threads / LINE * LINE;
    double rate = 0;
    int started = 0;
    pthread_mutex_lock(&gate);
    for (; started < threads; started++) {
        struct reader *r = &reader[started];
        *r = (struct reader){.gate = &gate, .from = mem + part * (size_t)started, .n = part};
        if (pthread_create(&r->thread, NULL, work, r)) break;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++) {
        pthread_join(reader[i].thread, NULL);
        rate += reader[i].rate;
    }
    pthread_mutex_destroy(&gate);
    return rate;
}

double bandwidth_read(int threads, struct err *err)
{
    assert(threads >= 1 && threads <= BANDWIDTH_THREADS);
    size_t n = (size_t)MIN((uint64_t)MOST, hostmem_available() / 8);
    if (n < LEAST) {
        err_set(err, -1, "not enough memory is free to measure");
        return 0;
    }
    uint8_t *mem = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED) {
        err_set(err, -1, "%zu MiB could not be had to measure with", n >> 20);
        return 0;
    }
    madvise(mem, n, MADV_HUGEPAGE); /* as weights lie */
    double rate = read_together(mem, n, threads);
    munmap(mem, n);
    if (rate <= 0) err_set(err, -1, "no thread could be started");
    return rate;
}
