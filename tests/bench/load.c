/* load.c - from opening the file, which is in the page cache, until a request could run: ours, the peer's, in turn.
 *
 * Weights that are rearranged need memory of their own, and that is not equally dear at all times.  A host of virtual
 * machines may take back, after some seconds, what they have freed, and give it again page by page: then a load is
 * little else.  So each side loads twice: when what was freed before has been gone for a while, and at once again, with
 * the memory that the first load gave back.  Beside it: as much memory filled by as many threads, and nothing else.
 *
 * A repetition in which others took too much of the machine is done again, as often in all as there are repetitions. */
#include "kernels/kernels.h"
#include "tests/bench/cells.h"
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"
#include <sys/resource.h>
#include <unistd.h>

enum { GONE_S = 5, PIECE = 2 << 20 }; /* PIECE: a huge page */

struct loads {
    double s[LOADS][BENCH_REPS];
    double noise[BENCH_REPS], memory[BENCH_REPS];
};

/* CPU seconds of the processes that this one has started and that have ended. */
static double children(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u)) return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

struct watch {
    struct noise noise;
    double at, children;
};

static void watch_start(struct watch *w)
{
    w->children = children();
    w->at = bench_now();
    noise_start(&w->noise);
}

/* The peer loads in a process that this one started: not others' work.  The system counts in ticks, so that less than a
 * quarter of a second, in which a small file is loaded many times over, tells nothing: then what comes after counts. */
static double watch_end(const struct watch *w)
{
    const double least_s = 0.25, left = least_s - (bench_now() - w->at);
    if (left > 0) usleep((useconds_t)(left * 1e6));
    double others = noise_end(&w->noise), passed = bench_now() - w->at;
    return MAX(others - (children() - w->children) / passed, 0.0);
}

static void let_go(const struct options *o, double *wait_left)
{
    if (!o->quick) sleep(GONE_S);
    quiet_wait(wait_left);
}

/* bytes: of the memory that it takes, 0 if that is a device's. */
static int load_ours(const struct options *o, const struct subject *s, double *seconds, size_t *bytes,
                     struct err *err)
{
    enum { CTX = 1024, SEQS = 8 };
    struct engine_config cfg = ours_config(o, s->path, o->threads, CTX, SEQS);
    double begin = bench_now();
    struct engine *e = engine_local.open(&cfg, err);
    *seconds = bench_now() - begin;
    if (!e) return -1;
    const struct engine_info *i = engine_local.info(e);
    *bytes = i->on_device ? 0 : (size_t)(i->weight_bytes + i->work_bytes);
    engine_local.close(e);
    return 0;
}

struct filling {
    unsigned char *at;
    size_t bytes;
};

static void fill(void *self, int first, int end, int who)
{
    const struct filling *f = self;
    size_t from = (size_t)first * PIECE, to = MIN((size_t)end * PIECE, f->bytes);
    (void)who;
    memset(f->at + from, 1, to - from);
}

/* As the CPU's backend takes memory, with its threads. */
static int fill_memory(const struct options *o, size_t bytes, double *seconds, struct err *err)
{
    const struct kern *k = kern_cpu();
    struct kern_config cfg = {.threads = o->threads, .pin = true};
    struct kdev *d = k->open(&cfg, err);
    if (!d) return -1;
    double begin = bench_now();
    struct filling f = {.at = k->take(d, bytes, err), .bytes = bytes};
    if (f.at) k->share(d, (int)((bytes + PIECE - 1) / PIECE), fill, &f);
    *seconds = bench_now() - begin;
    if (f.at) k->give(d, f.at, bytes);
    k->close(d);
    return f.at ? 0 : -1;
}

/* Both loads of one side (peer NULL: ours), as repetition rep. */
static int load_side(const struct options *o, const struct subject *s, struct peer *peer, int rep, double *wait_left,
                     struct loads *l, size_t *bytes, struct err *err)
{
    struct watch w;
    int rc = 0;
    let_go(o, wait_left);
    watch_start(&w);
    for (int i = 0; !rc && i < LOADS; i++)
        rc = peer ? peer_load(peer, o, s, &l->s[i][rep], err) : load_ours(o, s, &l->s[i][rep], bytes, err);
    l->noise[rep] = watch_end(&w);
    return rc;
}

static int load_all(const struct options *o, const struct subject *s, struct peer *peer, int rep, double *wait_left,
                    struct loads *ours, struct loads *other, struct err *err)
{
    size_t bytes = 0;
    if (load_side(o, s, NULL, rep, wait_left, ours, &bytes, err)) return -1;
    if (peer && load_side(o, s, peer, rep, wait_left, other, NULL, err)) return -1;
    ours->memory[rep] = 0;
    if (bytes == 0) return 0;
    let_go(o, wait_left);
    return fill_memory(o, bytes, &ours->memory[rep], err);
}

static struct loading loading_of(struct loads *l, int reps)
{
    struct loading out = {.there = true, .memory_s = spread_of(l->memory, reps).median,
                          .noise = spread_of(l->noise, reps).median};
    for (int i = 0; i < LOADS; i++) out.s[i] = spread_of(l->s[i], reps);
    return out;
}

int load_measure(const struct options *o, struct subject *s, struct peer *peer, struct err *err)
{
    struct loads ours, other = {0};
    double wait_left = o->wait_s;
    if (!s->plan->load) return 0;
    for (int i = 0, thrown = 0; i < o->reps;) {
        if (load_all(o, s, peer, i, &wait_left, &ours, &other, err)) return -1;
        if (MAX(ours.noise[i], other.noise[i]) > NOISE_MOST && thrown++ < o->reps) continue;
        i++;
    }
    s->ours.load = loading_of(&ours, o->reps);
    if (peer) s->peer.load = loading_of(&other, o->reps);
    const struct loading *a = &s->ours.load, *b = &s->peer.load;
    fprintf(stderr, "bench: %s %s load    ours  %.2f%s s, %.2f%s again (memory %.2f)%s", s->name, s->type,
            a->s[LOAD_FRESH].median, star(a->noise), a->s[LOAD_AGAIN].median, star(a->noise), a->memory_s,
            peer ? "" : "\n");
    if (peer)
        fprintf(stderr, ", peer %.2f%s s, %.2f%s\n", b->s[LOAD_FRESH].median, star(b->noise), b->s[LOAD_AGAIN].median,
                star(b->noise));
    return 0;
}
