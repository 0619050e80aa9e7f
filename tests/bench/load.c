/* load.c - from opening the file, which is in the page cache, until a request could run: ours, the peer's, in turn.
 *
 * Weights that are rearranged need memory of their own, and that is not equally dear at all times.  A host of virtual
 * machines may take back, after some seconds, what they have freed, and give it again page by page: then a load is
 * little else.  So each side loads twice: when what was freed before has been gone for a while, and at once again, with
 * the memory that the first load gave back.  Beside it: as much memory filled by as many threads, and nothing else. */
#include "kernels/kernels.h"
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"
#include <unistd.h>

enum { GONE_S = 5, PIECE = 2 << 20 }; /* PIECE: a huge page */

struct loads {
    double s[LOADS][BENCH_REPS];
    double memory[BENCH_REPS];
};

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

static int load_all(const struct options *o, const struct subject *s, struct peer *peer, int rep, double *wait_left,
                    struct loads *ours, struct loads *other, struct err *err)
{
    size_t bytes = 0;
    let_go(o, wait_left);
    for (int i = 0; i < LOADS; i++)
        if (load_ours(o, s, &ours->s[i][rep], &bytes, err)) return -1;
    if (peer) let_go(o, wait_left);
    for (int i = 0; peer && i < LOADS; i++)
        if (peer_load(peer, o, s, &other->s[i][rep], err)) return -1;
    ours->memory[rep] = 0;
    if (bytes == 0) return 0;
    let_go(o, wait_left);
    return fill_memory(o, bytes, &ours->memory[rep], err);
}

static struct loading loading_of(struct loads *l, int reps)
{
    struct loading out = {.there = true, .memory_s = spread_of(l->memory, reps).median};
    for (int i = 0; i < LOADS; i++) out.s[i] = spread_of(l->s[i], reps);
    return out;
}

int load_measure(const struct options *o, struct subject *s, struct peer *peer, struct err *err)
{
    struct loads ours, other = {0};
    double wait_left = o->wait_s;
    if (!s->plan->load) return 0;
    for (int i = 0; i < o->reps; i++)
        if (load_all(o, s, peer, i, &wait_left, &ours, &other, err)) return -1;
    s->ours.load = loading_of(&ours, o->reps);
    if (peer) s->peer.load = loading_of(&other, o->reps);
    const struct loading *a = &s->ours.load, *b = &s->peer.load;
    fprintf(stderr, "bench: %s %s load    ours  %.2f s, %.2f again (memory %.2f)%s", s->name, s->type,
            a->s[LOAD_FRESH].median, a->s[LOAD_AGAIN].median, a->memory_s, peer ? "" : "\n");
    if (peer) fprintf(stderr, ", peer %.2f s, %.2f\n", b->s[LOAD_FRESH].median, b->s[LOAD_AGAIN].median);
    return 0;
}
