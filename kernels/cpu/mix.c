/* mix.c - the feed-forward of a mixture of experts.
 *
 * Rows are normed, and the router says where each goes.  Then they are sorted by expert, and each expert works on its
 * own as on a pass of its own: the rows gathered, rounded, cut into tiles.  A row that is with `used` experts is there
 * as often.
 *
 *     row 0: 2, 7     row 1: 0, 2     row 2: 2, 5    ->    expert 0: row 1 | 2: rows 0, 1, 2 | 5: row 2 | 7: row 0
 *
 * A shared expert is the last of them: it has all rows, as they are. */
#include "kernels/cpu/cpu.h"
#include <math.h>

/* What is known of the rows: (rows, used) by row, then (all) = rows * used by expert. */
struct mix {
    const struct kern_ffn *w;
    const struct kdev *d;
    struct cpu_input in;
    int all, experts;
    float *logits;            /* (rows, n) */
    int32_t *chosen;          /* (rows, used) */
    float *share;             /* (rows, used) */
    int32_t *each;            /* (rows) the shared expert's: 0, 1, ... */
    float *let;               /* (rows) ... and how much of it is let through */
    int32_t *row, *place;     /* (all) whose row of x; of which of `expert` */
    float *weight;            /* (all) */
    struct cpu_expert *expert; /* (experts): those that have rows */
};

/* sigmoid(let x).  Products of floats are exact in double, so that this has the same bits however it is compiled. */
static float let_through(const float *let, const float *x, int n)
{
    double part[8] = {0}, sum = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += (double)let[i + j] * (double)x[i + j];
    for (int j = 0; i + j < n; j++) part[j] += (double)let[i + j] * (double)x[i + j];
    for (int j = 0; j < 8; j++) sum += part[j];
    return (float)(1 / (1 + exp(-sum)));
}

static bool has_shared(const struct kern_ffn *w) { return w->shared.gate.cols > 0; }

static void route_rows(void *arg, int first, int end, int who)
{
    const struct mix *m = arg;
    const int n = m->w->mix.n, used = m->w->mix.used, cols = m->in.cols;
    (void)who;
    for (int r = first; r < end; r++) {
        const size_t at = (size_t)r * (size_t)used;
        kern_route(m->logits + (size_t)r * (size_t)n, n, used, m->w->mix.of_all, m->chosen + at, m->share + at);
        if (!has_shared(m->w)) continue;
        m->each[r] = r;
        m->let[r] = let_through(m->w->shared.dev_let, m->in.x + (size_t)r * (size_t)cols, cols);
    }
}

/* A counting sort; an expert's rows rise.  begin: where its own are. */
static void sort_rows(struct mix *m, int32_t *begin)
{
    const int n = m->w->mix.n, used = m->w->mix.used;
    int32_t next[KERN_EXPERTS], place[KERN_EXPERTS];
    memset(begin, 0, (size_t)(n + 1) * sizeof *begin);
    for (int i = 0; i < m->all; i++) begin[m->chosen[i] + 1]++;
    for (int e = 0; e < n; e++) {
        place[e] = m->experts;
        m->experts += begin[e + 1] > 0;
        next[e] = begin[e];
        begin[e + 1] += begin[e];
    }
    for (int i = 0; i < m->all; i++) {
        const int e = m->chosen[i], to = next[e]++;
        m->row[to] = i / used;
        m->weight[to] = m->share[i];
        m->place[to] = place[e];
    }
}

static struct kmat expert_mat(const struct kmat *all, int n, int which)
{
    struct kmat m = {all->type, all->rows / n, all->cols, NULL};
    assert(m.rows % ISA_GROUP == 0);
    m.dev_data = (uint8_t *)all->dev_data + (size_t)which * pack_bytes(m.type, m.rows, m.cols);
    return m;
}

static const float *expert_bias(const float *all, const struct kmat *of, int which)
{
    return all ? all + (size_t)which * (size_t)of->rows : NULL;
}

static void gather_rows(void *arg, int first, int end, int who)
{
    const struct mix *m = arg;
    const size_t cols = (size_t)m->in.cols;
    int tokens;
    (void)who;
    for (int i = first; i < end; i++) {
        const struct cpu_expert *e = &m->expert[m->place[i]];
        const struct cpu_input *in = &e->gate.in;
        const int at = (int)(m->row + i - e->row);
        const float *x = m->in.x + (size_t)m->row[i] * cols;
        if (in->x) memcpy((float *)(uintptr_t)in->x + (size_t)at * cols, x, cols * sizeof *x);
        if (!in->act) continue;
        struct act *to = cpu_act_at(in, at, &tokens);
        m->d->isa->quantise(x, in->cols / 32, to, tokens);
    }
}

/* The expert that has all rows, which are there already. */
static void deal_shared(struct mix *m, struct cpu_expert *e, uint8_t **work)
{
    const struct kern_shared *s = &m->w->shared;
    *e = (struct cpu_expert){.row = m->each, .weight = m->let, .down = s->down};
    e->gate = (struct cpu_gate){.in = m->in, .gate = s->gate, .up = s->up};
    e->gate.out = (struct cpu_input){.rows = m->in.rows, .cols = s->down.cols, .tiles = m->in.tiles};
    cpu_gate_room(&e->gate, cpu_is_int(s->down.type), work);
}

/* Each expert that has rows: its matrices, and room for its rows. */
static void deal(struct mix *m, const int32_t *begin, uint8_t **work)
{
    const struct kern_ffn *w = m->w;
    const bool round = cpu_is_int(w->gate.type) || cpu_is_int(w->up.type);
    const bool plain = !cpu_is_int(w->gate.type) || !cpu_is_int(w->up.type);
    const size_t cols = (size_t)m->in.cols;
    m->expert = cpu_cut(work, (size_t)m->experts + has_shared(w), sizeof *m->expert);
    struct cpu_expert *e = m->expert;
    for (int i = 0; i < w->mix.n; i++) {
        const int rows = begin[i + 1] - begin[i];
        if (rows == 0) continue;
        *e = (struct cpu_expert){.row = m->row + begin[i], .weight = m->weight + begin[i],
                                 .down = expert_mat(&w->down, w->mix.n, i)};
        e->bias = expert_bias(w->dev_bd, &e->down, i);
        struct cpu_gate *g = &e++->gate;
        g->gate = expert_mat(&w->gate, w->mix.n, i);
        g->up = expert_mat(&w->up, w->mix.n, i);
        g->bias = expert_bias(w->dev_bg, &g->gate, i);
        g->bias_up = expert_bias(w->dev_bu, &g->up, i);
        g->in = (struct cpu_input){.rows = rows, .cols = m->in.cols, .tiles = cpu_cut_rows(m->d, rows)};
        g->out = (struct cpu_input){.rows = rows, .cols = w->down.cols, .tiles = g->in.tiles};
        if (plain) g->in.x = cpu_cut(work, (size_t)rows * cols, sizeof *g->in.x);
        if (round) g->in.act = cpu_cut(work, (size_t)rows * (cols / 32), sizeof *g->in.act);
        cpu_gate_room(g, cpu_is_int(w->down.type), work);
    }
    if (has_shared(w)) deal_shared(m, e, work);
}

static void cut_tables(struct mix *m, int rows, uint8_t **work)
{
    const size_t all = (size_t)m->all, shared = has_shared(m->w) ? (size_t)rows : 0;
    m->logits = cpu_cut(work, (size_t)rows * (size_t)m->w->mix.n, sizeof *m->logits);
    m->chosen = cpu_cut(work, all, sizeof *m->chosen);
    m->share = cpu_cut(work, all, sizeof *m->share);
    m->row = cpu_cut(work, all, sizeof *m->row);
    m->place = cpu_cut(work, all, sizeof *m->place);
    m->weight = cpu_cut(work, all, sizeof *m->weight);
    m->each = cpu_cut(work, shared, sizeof *m->each);
    m->let = cpu_cut(work, shared, sizeof *m->let);
}

int cpu_mix(struct kdev *d, int rows, const struct kern_ffn *w, float *x, void *dev_work)
{
    const struct kmat *router = &w->mix.router;
    const struct kern_shared *s = &w->shared;
    const bool any_int = cpu_is_int(router->type) || cpu_is_int(s->gate.type) || cpu_is_int(s->up.type);
    uint8_t *work = dev_work;
    int32_t begin[KERN_EXPERTS + 1];
    struct mix m = {.w = w, .d = d, .all = rows * w->mix.used};
    assert(router->rows == w->mix.n && w->down.rows == w->mix.n * w->gate.cols && !w->dev_post);
    assert(!has_shared(w) || (s->gate.cols == router->cols && s->down.rows == router->cols));
    m.in = cpu_input(d, rows, NULL, router->cols, x, w->dev_norm, w->eps, any_int, &work);
    cut_tables(&m, rows, &work);
    cpu_mul_bias(d, &m.in, router, w->mix.dev_bias, m.logits);
    crew_run(d->crew, rows, route_rows, &m);
    sort_rows(&m, begin);
    deal(&m, begin, &work);
    crew_run(d->crew, m.all, gather_rows, &m);
    cpu_mul_mix(d, m.expert, m.experts + has_shared(w), w->act, x);
    return 0;
}

/* As if each of the router's, gate's and up's types asked for floats and for rounded rows too. */
bool cpu_mix_bytes(const struct kern_dims *n, uint64_t *bytes)
{
    const uint64_t rows = (uint64_t)MAX(n->max_rows, n->max_outs), experts = (uint64_t)n->experts;
    uint64_t all, in, of_all, logits, some, lines, shared;
    *bytes = 0;
    if (n->experts <= 0) return false;
    const uint64_t blocks = (uint64_t)(n->embd / 32) + (uint64_t)(n->ff / 32);
    const uint64_t each = ((uint64_t)n->embd + (uint64_t)n->ff) * sizeof(float) + blocks * sizeof(struct act) +
                          3 * sizeof(int32_t) + 2 * sizeof(float);
    if (cpu_input_bytes((int)rows, n->embd, n->embd, &in) || size_mul(rows, (uint64_t)n->used, &all)) return true;
    if (all > INT32_MAX || size_mul(all, each, &of_all)) return true;
    if (size_mul(rows, experts * sizeof(float), &logits)) return true;
    const uint64_t shared_each = (uint64_t)n->shared * sizeof(float) + (uint64_t)(n->shared / 32) * sizeof(struct act) +
                                 sizeof(int32_t) + sizeof(float);
    if (size_mul(n->shared ? rows : 0, shared_each, &shared)) return true;
    some = (MIN(all, experts) + 1) * (sizeof(struct cpu_expert) + 4 * 64); /* each piece begins a cache line */
    lines = 9 * 64;
    return size_add(in, of_all, bytes) || size_add(*bytes, logits, bytes) || size_add(*bytes, shared, bytes) ||
           size_add(*bytes, some + lines, bytes);
}
