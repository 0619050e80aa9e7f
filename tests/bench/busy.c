/* busy.c - one sequence decodes alone, and beside a process that computes: what does it lose? */
#include "tests/bench/hog.h"
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"

/* Tokens a second alone and beside it.  other: CPUs that anybody else used. */
static int once(struct bench *b, int n, double *alone, double *busy, double *other, struct err *err)
{
    struct hog hog = {0};
    struct noise noise;
    double seconds, begin = bench_now();
    noise_start(&noise);
    if (ours_decode(b, 1, n, &seconds, err)) return -1;
    *alone = n / seconds;
    if (hog_start(&hog, err)) return -1;
    int rc = ours_decode(b, 1, n, &seconds, err);
    double used = hog_stop(&hog);
    *busy = n / seconds;
    *other = MAX(noise_end(&noise) - used / (bench_now() - begin), 0.0);
    return rc;
}

int busy_measure(struct bench *b, struct subject *s, struct err *err)
{
    double alone[BENCH_REPS], busy[BENCH_REPS], part[BENCH_REPS], other[BENCH_REPS];
    int n = s->plan->busy, reps = b->o->reps, thrown = 0;
    struct beside *to = &s->ours.beside;
    if (n == 0 || !s->smallest) return 0;
    for (int i = 0; i < reps;) {
        quiet_wait(&b->wait_left);
        if (once(b, n, &alone[i], &busy[i], &other[i], err)) return -1;
        if (other[i] > NOISE_MOST && thrown++ < reps) continue;
        part[i] = busy[i] / alone[i];
        i++;
    }
    *to = (struct beside){.there = true, .alone = spread_of(alone, reps), .busy = spread_of(busy, reps),
                          .part = spread_of(part, reps).median, .noise = spread_of(other, reps).median};
    fprintf(stderr, "bench: %s %s busy%-3d ours  %.1f tok/s alone, %.1f beside a process that computes\n", s->name,
            s->type, n, to->alone.median, to->busy.median);
    return 0;
}
