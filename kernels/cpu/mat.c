/* mat.c - matrix products on the crew: groups of 32 matrix rows are shared out, k never is.
 *
 * A worker sums one group for up to CPU_ROWS tokens in its own scratch, tile of tokens by tile of tokens, and then puts
 * the sums where they belong.  With more tiles than one, k goes in chunks, two of whose weights fit the first cache:
 * while all tiles run over one, they fetch the next.  The float sums wait in the scratch between chunks, which changes
 * no bit. */
#include "kernels/cpu/cpu.h"

enum {
    FIRST_AHEAD = 8 * 1024, SECOND_AHEAD = 16 * 1024, ONCE_AHEAD = 3 * 1024, /* so far ahead a lone tile fetches
                       weights: measured, for all types.  What lies behind a worker's share comes in vain */
    FIRST_TILES = 4, /* with more, their activations would push out of the first cache what was fetched early */
    FEW_CHUNK = 12 * 1024, /* with no more, memory is waited for as well, and shorter chunks than CPU_CHUNK are faster */
    GATE_GROUPS = 8, GATE_ROWS = 4 /* for so few rows so many of a gate's groups follow one another before as many of
                       the other matrix; for eight rows that gains nothing */
};

bool cpu_is_int(enum ktype type)
{
    return type != KT_F32 && type != KT_F16 && type != KT_BF16;
}

/* ------------------------------------------------------------------------ tiles */

struct cpu_tiles cpu_cut_rows(const struct kdev *d, int rows)
{
    assert(rows > 0);
    const int most = d->isa->tile, n = (rows + most - 1) / most;
    return (struct cpu_tiles){n, rows / n, rows % n};
}

static int tile_start(const struct cpu_tiles *t, int tile)
{
    return tile * t->width + MIN(tile, t->wider);
}

static int tile_width(const struct cpu_tiles *t, int tile)
{
    return t->width + (tile < t->wider);
}

static int tile_of(const struct cpu_tiles *t, int row)
{
    const int wide = t->wider * (t->width + 1);
    return row < wide ? row / (t->width + 1) : t->wider + (row - wide) / t->width;
}

/* ------------------------------------------------------------------- activations */

struct act *cpu_act_at(const struct cpu_input *in, int row, int *tokens)
{
    const int tile = tile_of(&in->tiles, row), start = tile_start(&in->tiles, tile);
    *tokens = tile_width(&in->tiles, tile);
    return in->act + (size_t)start * (size_t)(in->cols / 32) + (size_t)(row - start);
}

struct input_job {
    const struct kdev *d;
    const struct cpu_input *in;
    const float *raw, *norm;
    const int32_t *pick;
    float eps;
    float *normed; /* in->x, to be written; NULL: in->x is raw */
};

static void input_rows(void *arg, int first, int end, int who)
{
    const struct input_job *j = arg;
    const struct cpu_input *in = j->in;
    const size_t cols = (size_t)in->cols;
    int tokens;
    (void)who;
    for (int r = first; r < end; r++) {
        const float *raw = j->raw + (size_t)(j->pick ? j->pick[r] : r) * cols;
        if (j->norm) j->d->isa->norm(raw, j->norm, in->cols, j->eps, j->normed + (size_t)r * cols);
        else if (j->normed) memcpy(j->normed + (size_t)r * cols, raw, cols * sizeof *raw);
        if (!in->act) continue;
        struct act *to = cpu_act_at(in, r, &tokens);
        j->d->isa->quantise(in->x + (size_t)r * cols, in->cols / 32, to, tokens);
    }
}

struct cpu_input cpu_input(struct kdev *d, int rows, const int32_t *pick, int cols, const float *x, const float *norm,
                           float eps, bool any_int, uint8_t **work)
{
    struct cpu_input in = {rows, cols, cpu_cut_rows(d, rows), x, NULL};
    struct input_job job = {d, &in, x, norm, pick, eps, NULL};
    if (norm || pick) in.x = job.normed = cpu_cut(work, (size_t)rows * (size_t)cols, sizeof *in.x);
    if (any_int) in.act = cpu_cut(work, (size_t)rows * (size_t)(cols / 32), sizeof *in.act);
    if (job.normed || any_int) crew_run(d->crew, rows, input_rows, &job);
    return in;
}

bool cpu_input_bytes(int rows, int norm_cols, int cols, uint64_t *bytes)
{
    uint64_t normed, act;
    if (size_mul((uint64_t)rows * (uint64_t)norm_cols, sizeof(float), &normed)) return true;
    if (size_mul((uint64_t)rows * (uint64_t)(cols / 32), sizeof(struct act), &act)) return true;
    return size_add(normed, act, bytes) || size_add(*bytes, 2 * 64, bytes);
}

/* ---------------------------------------------------------------------- products */

enum mul_end { END_STORE, END_ADD, END_GATE, END_MIX };

/* A matrix, and what is the same for all of its groups: they are too many, and small ones too quick, to reckon it for
 * each. */
struct factor {
    const struct kmat *m;
    int groups, units, chunk; /* chunk: so many units of k at a time */
    int acts;                 /* blocks of 32 activations a unit; 0: floats */
    size_t unit, group_bytes; /* of one group's weights: of a unit of k, of all */
    isa_open *open;           /* what tiles would each take apart is opened once for all; NULL: it is not */
};

struct mul_job {
    const struct kdev *d;
    const struct cpu_input *in;
    struct factor factor[CPU_OUTS], up; /* up: END_GATE's second */
    float *y[CPU_OUTS];
    int outs;
    enum mul_end end;
    float softcap;
    const float *bias, *bias_up; /* of the rows of all factors alike; END_GATE: the second's; or NULL */
    enum kern_act act;
    struct act *rounded; /* END_GATE: where the result goes, instead of floats to y; or NULL */
    const uint8_t *beyond; /* NULL; or where reading goes on behind group `last`, and not right behind it */
    int last;
    const int32_t *row;  /* END_MIX: of each token the row of y, to which so much of the sum is added */
    const float *weight;
};

/* Units of k in a chunk for several tiles: as few chunks as may be, and as even as may be, since a short one costs a
 * call of each tile all the same.  Of opened blocks two where they have room: beside one alone such a call is dear. */
static int even_chunk(const struct cpu_tiles *tiles, int units, size_t unit, bool opened)
{
    const bool many = tiles->n > FIRST_TILES;
    const int fit = (int)((many ? CPU_CHUNK : FEW_CHUNK) / unit), two = many && opened && 2 * unit <= CPU_OPEN ? 2 : 1;
    const int most = MAX(fit, two), chunks = (units + most - 1) / most;
    return (units + chunks - 1) / chunks;
}

static int groups_of(const struct kmat *m) { return (m->rows + ISA_GROUP - 1) / ISA_GROUP; }

static struct factor factor_of(const struct kdev *d, const struct cpu_input *in, const struct kmat *m)
{
    const struct ktype_info *type = ktype_info(m->type);
    struct factor f = {.m = m, .groups = groups_of(m), .units = m->cols / type->block,
                       .acts = type->block / 32, .unit = (size_t)ISA_GROUP * (size_t)type->bytes,
                       .group_bytes = pack_group_bytes(m->type, m->cols)};
    assert(m->dev_data && m->rows > 0 && m->cols == in->cols && (in->act || !cpu_is_int(m->type)));
    const struct isa_opener *opener = &d->isa->opener[m->type];
    f.open = d->opens && in->tiles.n >= opener->tiles ? opener->open : NULL;
    f.chunk = f.units;
    const size_t unit = f.open ? (size_t)f.acts * opener->bytes : f.unit;
    if (in->tiles.n > 1) f.chunk = even_chunk(&in->tiles, f.units, unit, f.open);
    if (in->tiles.n > 1 && !f.acts) f.chunk = (f.chunk + 31) / 32 * 32; /* where the kernels' partial sums end */
    return f;
}

static const uint8_t *group_at(const struct factor *f, int group)
{
    return (const uint8_t *)f->m->dev_data + (size_t)group * f->group_bytes;
}

/* What a lone tile of T tokens fetches.  Several tokens have a block's lines read more than once. */
static struct isa_ahead fetch_alone(const struct kdev *d, const struct factor *f, int T, const uint8_t *at)
{
    const enum isa_fetch to = d->fetch == ISA_ONCE && T > 1 ? ISA_SECOND : d->fetch;
    const int far = to == ISA_SECOND ? SECOND_AHEAD : to == ISA_ONCE ? ONCE_AHEAD : FIRST_AHEAD;
    if (d->reads_ahead && T <= d->isa->in_order[f->m->type]) return (struct isa_ahead){.at = at};
    return (struct isa_ahead){at + far, (int)(f->group_bytes / 64), to};
}

/* acc (tokens of tiles tile0 .. tile1 - 1, 32) = their sums with one group of rows; next: the group that the caller
 * wants after it, of which each tile fetches its share with the last chunk. */
static void mul_group(const struct mul_job *j, const struct factor *f, int group, int tile0, int tile1, float *acc,
                      uint8_t *opened, const uint8_t *next)
{
    const struct cpu_input *in = j->in;
    const struct cpu_tiles *tiles = &in->tiles;
    const enum ktype type = f->m->type;
    const size_t cols = (size_t)in->cols;
    const int start0 = tile_start(tiles, tile0), end0 = tile_start(tiles, tile1), parts = tile1 - tile0;
    const enum isa_fetch to = parts > FIRST_TILES ? ISA_SECOND : j->d->fetch == ISA_BOTH ? ISA_BOTH : ISA_FIRST;
    const uint8_t *at = group_at(f, group);

    memset(acc, 0, (size_t)(end0 - start0) * ISA_GROUP * sizeof *acc);
    for (int u = 0, n; u < f->units; u += n) {
        n = MIN(f->chunk, f->units - u);
        const int left = f->units - u - n;
        const uint8_t *then = left ? at + (size_t)n * f->unit : next;
        const int lines = (int)((size_t)MIN(f->chunk, left ? left : f->units) * f->unit / 64);
        const int each = (lines + parts - 1) / parts; /* of them a tile fetches */
        if (f->open) f->open(at, n, opened);
        for (int i = 0, start = start0, T; i < parts; i++, start += T) {
            T = tile_width(tiles, tile0 + i);
            struct isa_ahead ahead = {then + 64 * (size_t)(i * each), MIN(each, MAX(lines - i * each, 0)), to};
            if (tiles->n == 1) ahead = fetch_alone(j->d, f, T, at);
            const struct act *a = NULL;
            if (f->acts) a = in->act + (size_t)start * (cols / 32) + (size_t)u * (size_t)f->acts * (size_t)T;
            const void *x = a ? (const void *)a : in->x + (size_t)start * cols + (size_t)u;
            float *sums = acc + (start - start0) * ISA_GROUP;
            if (f->open) j->d->isa->mul_open[type][T](at, opened, n, a, sums, ahead);
            else j->d->isa->mul[type][T](at, n, x, cols, sums, ahead);
        }
        at += (size_t)n * f->unit;
    }
}

/* The first n sums of a token's group to y.  other: END_GATE's second factor. */
static void put_sums(const struct mul_job *j, float *sum, const float *other, int at, int n, float *y)
{
    const struct cpu_isa *isa = j->d->isa;
    if (j->end == END_GATE) {
        isa->gate(j->act, sum, other, n, y);
    } else if (j->end == END_ADD) {
        for (int i = 0; i < n; i++) y[i] += j->bias ? sum[i] + j->bias[at + i] : sum[i];
    } else {
        if (j->softcap > 0) isa->softcap(sum, n, j->softcap);
        memcpy(y, sum, (size_t)n * sizeof *y);
    }
}

static void add_weighted(const float *sum, float weight, int n, float *y)
{
    for (int i = 0; i < n; i++) y[i] += weight * sum[i];
}

/* A group's biases to the sums of T tokens. */
static void add_bias(const float *bias, int n, int T, float *sum)
{
    for (int t = 0; bias && t < T; t++, sum += ISA_GROUP)
        for (int i = 0; i < n; i++) sum[i] += bias[i];
}

/* A tile's sums with one group of rows.  Rounded, they are one block of each token's activations for the next product,
 * and never floats in memory; the tokens' blocks lie one behind the other, as their sums do, and a group is whole. */
static void put_tile(const struct mul_job *j, const struct factor *f, float *y, int group, int tile, float *sum,
                     float *other)
{
    const struct cpu_tiles *tiles = &j->in->tiles;
    const int at = group * ISA_GROUP, n = MIN(ISA_GROUP, f->m->rows - at);
    const int start = tile_start(tiles, tile), T = tile_width(tiles, tile);
    const size_t rows = (size_t)f->m->rows;
    if (j->end != END_ADD && j->bias) add_bias(j->bias + at, n, T, sum);
    if (j->bias_up) add_bias(j->bias_up + at, n, T, other);
    if (j->rounded) {
        put_sums(j, sum, other, at, T * ISA_GROUP, sum);
        j->d->isa->quantise(sum, T, j->rounded + (size_t)start * (rows / 32) + (size_t)group * (size_t)T, 1);
        return;
    }
    if (j->end == END_MIX) {
        for (int t = start; t < start + T; t++, sum += ISA_GROUP)
            add_weighted(sum, j->weight[t], n, y + (size_t)j->row[t] * rows + (size_t)at);
        return;
    }
    for (int t = 0; t < T; t++, sum += ISA_GROUP, other += ISA_GROUP)
        put_sums(j, sum, other, at, n, y + (size_t)(start + t) * rows + (size_t)at);
}

/* Sums of n groups, which are neighbours: more than one only of a lone tile. */
static void finish_groups(const struct mul_job *j, const struct factor *f, float *y, int group, int n, int who)
{
    const struct cpu_tiles *tiles = &j->in->tiles;
    const int most = CPU_ROWS / j->d->isa->tile;
    struct cpu_scratch *own = &j->d->scratch[who];
    float *sum = own->acc[0], *other = own->acc[1];

    for (int tile0 = 0; tile0 < tiles->n; tile0 += most) {
        const int tile1 = MIN(tile0 + most, tiles->n), start = tile_start(tiles, tile0);
        const int after = tile1 < tiles->n ? group : MIN(group + 1, f->groups - 1), each = j->in->rows * ISA_GROUP;
        const bool ends = j->beyond && tile1 == tiles->n && group + n > j->last;
        const uint8_t *next = ends ? j->beyond : group_at(f, after), *then = j->up.m ? group_at(&j->up, group) : next;
        for (int g = 0; g < n; g++) mul_group(j, f, group + g, tile0, tile1, sum + g * each, own->open, then);
        for (int g = 0; j->up.m && g < n; g++)
            mul_group(j, &j->up, group + g, tile0, tile1, other + g * each, own->open, next);
        for (int g = 0; g < n; g++)
            for (int i = tile0; i < tile1; i++) {
                const int done = g * each + (tile_start(tiles, i) - start) * ISA_GROUP;
                put_tile(j, f, y, group + g, i, sum + done, other + done);
            }
    }
}

/* A gate's two matrices are read by turns: for few rows, which wait for memory, in turns of some groups. */
static int groups_at_once(const struct mul_job *j, int groups)
{
    _Static_assert(GATE_GROUPS * GATE_ROWS <= CPU_ROWS, "their sums have room");
    return j->up.m && j->in->tiles.n == 1 && j->in->rows <= GATE_ROWS ? MIN(groups, GATE_GROUPS) : 1;
}

static void mul_groups(void *arg, int first, int end, int who)
{
    const struct mul_job *j = arg;
    for (int i = first, n; i < end; i += n) {
        int out = 0, group = i;
        while (group >= j->factor[out].groups) group -= j->factor[out++].groups;
        n = groups_at_once(j, end - i); /* a gate has one factor: no group of the next is among them */
        finish_groups(j, &j->factor[out], j->y[out], group, n, who);
    }
}

static void run_mul(struct mul_job *j, const struct cpu_out *out)
{
    int groups = 0;
    for (int i = 0; i < j->outs; i++) {
        j->factor[i] = factor_of(j->d, j->in, out[i].m);
        j->y[i] = out[i].y;
        groups += j->factor[i].groups;
    }
    crew_run(j->d->crew, groups, mul_groups, j);
}

void cpu_mul(struct kdev *d, const struct cpu_input *in, const struct cpu_out *out, int outs, float softcap)
{
    struct mul_job j = {.d = d, .in = in, .outs = outs, .end = END_STORE, .softcap = softcap};
    assert(outs > 0 && outs <= (int)COUNT_OF(j.factor));
    run_mul(&j, out);
}

void cpu_mul_bias(struct kdev *d, const struct cpu_input *in, const struct kmat *m, const float *bias, float *y)
{
    struct mul_job j = {.d = d, .in = in, .outs = 1, .end = END_STORE, .bias = bias};
    run_mul(&j, &(struct cpu_out){m, y});
}

void cpu_mul_add(struct kdev *d, const struct cpu_input *in, const struct kmat *m, const float *bias, float *y)
{
    struct mul_job j = {.d = d, .in = in, .outs = 1, .end = END_ADD, .bias = bias};
    run_mul(&j, &(struct cpu_out){m, y});
}

void cpu_gate_room(struct cpu_gate *g, bool rounded, uint8_t **work)
{
    const size_t values = (size_t)g->out.rows * (size_t)g->out.cols;
    if (rounded) g->out.act = cpu_cut(work, values / 32, sizeof *g->out.act);
    else g->out.x = g->h = cpu_cut(work, values, sizeof *g->h);
}

static struct mul_job gate_job(const struct kdev *d, const struct cpu_gate *g, enum kern_act act)
{
    struct mul_job j = {.d = d, .in = &g->in, .outs = 1, .end = END_GATE, .act = act, .rounded = g->out.act,
                        .bias = g->bias, .bias_up = g->bias_up, .up = factor_of(d, &g->in, &g->up)};
    assert(g->out.rows == g->in.rows && g->out.tiles.n == g->in.tiles.n && g->out.cols == g->up.rows);
    assert(g->up.rows == g->gate.rows && (g->h || g->out.act));
    return j;
}

void cpu_mul_gate(struct kdev *d, const struct cpu_gate *g, enum kern_act act)
{
    struct mul_job j = gate_job(d, g, act);
    run_mul(&j, &(struct cpu_out){&g->gate, g->h});
}

/* -------------------------------------------------------------------- a mixture's */

struct mix_job {
    const struct kdev *d;
    const struct cpu_expert *expert;
    int experts, groups; /* groups: of each of them but the last, which may be of another width */
    enum kern_act act;
    float *x;
};

/* Item: an expert's group, one expert after the other. */
static void gate_groups(void *arg, int first, int end, int who)
{
    const struct mix_job *m = arg;
    while (first < end) {
        const int which = MIN(first / m->groups, m->experts - 1), from = first - which * m->groups;
        const struct cpu_gate *g = &m->expert[which].gate;
        struct mul_job j = gate_job(m->d, g, m->act);
        j.factor[0] = factor_of(m->d, &g->in, &g->gate);
        j.y[0] = g->h;
        j.beyond = which + 1 < m->experts ? m->expert[which + 1].gate.gate.dev_data : NULL;
        j.last = j.factor[0].groups - 1;
        const int n = MIN(j.factor[0].groups - from, end - first);
        mul_groups(&j, from, from + n, who);
        first += n;
    }
}

/* Item: a group of x's columns, to which each expert's rows are added in turn, so always in the same order. */
static void mix_groups(void *arg, int first, int end, int who)
{
    const struct mix_job *m = arg;
    for (const struct cpu_expert *e = m->expert; e < m->expert + m->experts; e++) {
        struct mul_job j = {.d = m->d, .in = &e->gate.out, .outs = 1, .end = END_MIX, .row = e->row,
                            .weight = e->weight, .bias = e->bias};
        j.factor[0] = factor_of(m->d, j.in, &e->down);
        j.y[0] = m->x;
        j.last = end - 1;
        if (e + 1 < m->expert + m->experts)
            j.beyond = (const uint8_t *)e[1].down.dev_data +
                       (size_t)first * pack_group_bytes(e[1].down.type, e[1].down.cols);
        mul_groups(&j, first, end, who);
    }
}

void cpu_mul_mix(struct kdev *d, const struct cpu_expert *expert, int experts, enum kern_act act, float *x)
{
    struct mix_job m = {d, expert, experts, groups_of(&expert->gate.gate), act, x};
    crew_run(d->crew, (experts - 1) * m.groups + groups_of(&expert[experts - 1].gate.gate), gate_groups, &m);
    crew_run(d->crew, expert->down.rows / ISA_GROUP, mix_groups, &m);
}
