/* load.c - from opening the file, which is in the page cache, until a request could run: ours, the peer's, in turn. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"

static int load_ours(const struct options *o, const struct subject *s, double *seconds, struct err *err)
{
    enum { CTX = 1024, SEQS = 8 };
    struct engine_config cfg = ours_config(o, s->path, o->threads, CTX, SEQS);
    double begin = bench_now();
    struct engine *e = engine_local.open(&cfg, err);
    *seconds = bench_now() - begin;
    if (e) engine_local.close(e);
    return e ? 0 : -1;
}

int load_measure(const struct options *o, struct subject *s, struct peer *peer, struct err *err)
{
    double ours[BENCH_REPS], other[BENCH_REPS], wait_left = o->wait_s;
    if (!s->plan->load) return 0;
    for (int i = 0; i < o->reps; i++) {
        quiet_wait(&wait_left);
        if (load_ours(o, s, &ours[i], err) || (peer && peer_load(peer, o, s, &other[i], err))) return -1;
    }
    s->ours.load = (struct loading){.there = true, .s = spread_of(ours, o->reps)};
    if (peer) s->peer.load = (struct loading){.there = true, .s = spread_of(other, o->reps)};
    fprintf(stderr, "bench: %s %s load    ours  %.2f s%s", s->name, s->type, s->ours.load.s.median, peer ? "" : "\n");
    if (peer) fprintf(stderr, ", peer %.2f s\n", s->peer.load.s.median);
    return 0;
}
