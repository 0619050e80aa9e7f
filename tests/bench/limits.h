/* limits.h - what this machine can do at best, at this moment: read bandwidth and peak of 8-bit products.
 *
 * Both change by themselves (clock, neighbours on the host, which memory link the cores share), so a figure is worth
 * something only beside the limits of the same second.  Threads are pinned, one a core, on the engine's cores. */
#ifndef LIMITS_H
#define LIMITS_H
#include "plimsoll.h"

struct limits {
    double read; /* GB/s (1e9), all threads, from a buffer far larger than the last-level cache */
    double int8; /* GOP/s, all threads; a multiply and an add are two */
};

enum { PROBE_THREADS = 64 }; /* at most */
struct probe; /* opaque */

struct probe *probe_open(int threads, struct err *err); /* NULL: err says why */
void probe_close(struct probe *p);
struct limits probe_limits(struct probe *p); /* takes about 220 ms */
const char *probe_isa(void);                 /* the instructions that the probes use, in words */

/* How much of the machine others use.  CPUs, 0 = quiet; 0 where the system does not tell. */
struct noise {
    double foreign, at;
};
double bench_now(void); /* seconds, monotonic */
void noise_start(struct noise *n);
double noise_end(const struct noise *n);
#define NOISE_MOST 0.08 /* CPUs: more spoils a repetition */

/* Wait until the rest of the machine is quiet, at most *left_s seconds, which it reduces by what it waited. */
void quiet_wait(double *left_s);
#endif
