/* quiet.c - is anybody else computing on this machine? */
#include "tests/bench/limits.h"
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* CPU seconds that all but this process have used since the machine started; < 0: not told. */
static double foreign(void)
{
    long long user, nice, system, idle, wait, irq, softirq;
    FILE *f = fopen("/proc/stat", "r");
    if (!f) return -1;
    int n = fscanf(f, "cpu %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle, &wait, &irq, &softirq);
    fclose(f);
    struct rusage own;
    if (n != 7 || getrusage(RUSAGE_SELF, &own)) return -1;
    return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK) - seconds(own.ru_utime) -
           seconds(own.ru_stime);
}

void noise_start(struct noise *n)
{
    n->foreign = foreign();
    n->at = bench_now();
}

double noise_end(const struct noise *n)
{
    double now = foreign(), passed = bench_now() - n->at;
    if (n->foreign < 0 || now < 0 || passed <= 0) return 0;
    return MAX((now - n->foreign) / passed, 0.0);
}

void quiet_wait(double *left_s)
{
    static const double look_s = 0.25;
    for (; *left_s > 0; *left_s -= look_s) {
        struct noise n;
        noise_start(&n);
        usleep((useconds_t)(look_s * 1e6));
        if (noise_end(&n) < NOISE_MOST) return;
    }
}
