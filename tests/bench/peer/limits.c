/* limits.c - the limits that the peer's driver probes, by our own probe: one measure for both sides.
 *
 * Source, not a program: the driver includes a file of this name (peer.sh says how it finds this one).  The one beside
 * the driver has AVX-512 only, and so does not compile where the processor has none; and it fetches in one way, which
 * on some processors reads a third less than memory gives. */
#define noise_start probe_noise_start /* the driver has functions of these names */
#define noise_end probe_noise_end
#include "tests/bench/limits.h"
#undef noise_start
#undef noise_end
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { T_READ, T_VNNI, T_FP32 };

/* What the driver fills, for its own probe to read; ours has memory of its own. */
static char *buf;
static size_t buf_n;
static double secs;

static double now(void) { return bench_now(); }

static int cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The peer pins the thread that calls it.  The cores to probe are those that the process began with. */
static cpu_set_t cores;
__attribute__((constructor)) static void note_cores(void)
{
    sched_getaffinity(0, sizeof cores, &cores);
}

static struct probe *open_probe(int threads)
{
    cpu_set_t pinned;
    struct err err;
    sched_getaffinity(0, sizeof pinned, &pinned);
    sched_setaffinity(0, sizeof cores, &cores);
    struct probe *probe = probe_open(threads, &err);
    sched_setaffinity(0, sizeof pinned, &pinned);
    if (!probe) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return probe;
}

/* The driver asks for bandwidth first and for the others right after it: they are probed together.  Peaks of floats are
 * not probed. */
static double measure(int test, int threads)
{
    static struct probe *probe;
    static struct limits limits;
    (void)secs;
    if (!probe) probe = open_probe(threads);
    if (test == T_READ) limits = probe_limits(probe);
    return test == T_READ ? limits.read : test == T_VNNI ? limits.int8 : NAN;
}
