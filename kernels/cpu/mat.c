/* mat.c - matrix products on the crew: groups of 32 matrix rows are shared out, k never is.
 *
 * A worker sums one group for up to CPU_ROWS tokens in its own scratch, tile of tokens by tile of tokens, and then puts
 * the sums where they belong.  With more tiles than one, k goes in chunks, two of whose weights fit the first cache:
 * while all tiles run over one, they fetch the next.  The float sums wait in the scratch between chunks, which changes
 * no bit. */
#include "kernels/cpu/cpu.h"

enum {
    FIRST_AHEAD = 8 * 1024, SECOND_AHEAD = 16 * 1024, /* so far ahead a lone tile fetches weights to the first cache,
                       or to the second: measured, for all types.  What lies behind a worker's share comes in vain */
    OPEN_TILES = 3, /* from so many tiles on, opening a block once for all costs less than it saves.  Of a tile of 8 at
                       most such a one has 5 tokens at least: isa->mul_open has no others */
    FIRST_TILES = 4 /* with more, their activations would push out of the first cache what was fetched early */
};

bool cpu_is_int(enum ktype type)
{
    return type != KT_F32 && type != KT_F16 && type != KT_BF16;
}

/* ------------------------------------------------------------------------ tiles */

/* Tokens are cut into tiles of as equal widths as can be; tile i begins at tile_start(i). */
static int tile_count(const struct cpu_isa *isa, int rows)
{
    return (rows + isa->tile - 1) / isa->tile;
}

static int tile_start(int rows, int tiles, int i)
{
    return (int)((int64_t)i * rows / tiles);
}

static int tile_of(int rows, int tiles, int row)
{
    return (int)((((int64_t)row + 1) * tiles + rows - 1) / rows) - 1;
}

/* ------------------------------------------------------------------- activations */

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
    const size_t cols = (size_t)in->cols, blocks = cols / 32;
    (void)who;
    for (int r = first; r < end; r++) {
        const float *raw = j->raw + (size_t)(j->pick ? j->pick[r] : r) * cols;
        if (j->norm) j->d->isa->norm(raw, j->norm, in->cols, j->eps, j->normed + (size_t)r * cols);
        else if (j->normed) memcpy(j->normed + (size_t)r * cols, raw, cols * sizeof *raw);
        if (!in->act) continue;
        int tile = tile_of(in->rows, in->tiles, r), start = tile_start(in->rows, in->tiles, tile);
        int T = tile_start(in->rows, in->tiles, tile + 1) - start;
        struct act *to = in->act + (size_t)start * blocks + (size_t)(r - start);
        j->d->isa->quantise(in->x + (size_t)r * cols, (int)blocks, to, T);
    }
}

struct cpu_input cpu_input(struct kdev *d, int rows, const int32_t *pick, int cols, const float *x, const float *norm,
                           float eps, bool any_int, uint8_t **work)
{
    struct cpu_input in = {rows, cols, tile_count(d->isa, rows), x, NULL};
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

enum mul_end { END_STORE, END_ADD, END_GATE };

struct mul_job {
    const struct kdev *d;
    const struct cpu_input *in;
    struct cpu_out out[3];
    int outs;
    enum mul_end end;
    float softcap;
    const float *bias;
    enum kern_act act;
    const struct kmat *up; /* END_GATE: the second factor */
    struct act *rounded;   /* END_GATE: where the result goes, instead of floats to out.y; or NULL */
};

static int group_count(const struct kmat *m)
{
    return (m->rows + ISA_GROUP - 1) / ISA_GROUP;
}

static const uint8_t *group_at(const struct kmat *m, int group)
{
    return (const uint8_t *)m->dev_data + (size_t)group * pack_group_bytes(m->type, m->cols);
}

/* Part i of n of so many bytes, which tile i of n fetches. */
static struct isa_ahead fetch_part(const struct kdev *d, const uint8_t *at, size_t bytes, int i, int n)
{
    const int lines = (int)(bytes / 64), first = lines / n * i + lines % n * i / n;
    const int end = lines / n * (i + 1) + lines % n * (i + 1) / n;
    const enum isa_fetch to = n > FIRST_TILES ? ISA_SECOND : d->fetch == ISA_BOTH ? ISA_BOTH : ISA_FIRST;
    return (struct isa_ahead){at + 64 * (size_t)first, end - first, to};
}

/* What a lone tile of T tokens fetches.  Types of 32 a block are read line by line in order, which a processor that
 * fetches far sees by itself; the products of one token do not hide the work of asking for it too. */
static struct isa_ahead fetch_alone(const struct kdev *d, const struct ktype_info *type, int T, const uint8_t *at,
                                    size_t bytes)
{
    const bool far = d->fetch == ISA_SECOND;
    if (far && T == 1 && type->block == 32) return (struct isa_ahead){.at = at};
    return (struct isa_ahead){at + (far ? SECOND_AHEAD : FIRST_AHEAD), (int)(bytes / 64), d->fetch};
}

/* Units of k in a chunk: as few chunks as may be, and those as even as may be, since a short one costs a call of each
 * tile all the same. */
static int even_chunk(int units, size_t unit)
{
    const int most = MAX((int)(CPU_CHUNK / unit), 1), chunks = (units + most - 1) / most;
    return (units + chunks - 1) / chunks;
}

/* acc (tokens of tiles tile0 .. tile1 - 1, 32) = their sums with one group of rows; next: the group that the caller
 * wants after it.  What tiles would each take apart is opened once for all. */
static void mul_group(const struct mul_job *j, const struct kmat *m, int group, int tile0, int tile1, float *acc,
                      uint8_t *opened, const uint8_t *next)
{
    const struct cpu_input *in = j->in;
    const struct ktype_info *type = ktype_info(m->type);
    const bool whole = in->tiles == 1;
    const int units = m->cols / type->block, acts = type->block / 32;
    const size_t unit = (size_t)ISA_GROUP * (size_t)type->bytes, cols = (size_t)in->cols;
    const uint8_t *w = group_at(m, group);
    const int start0 = tile_start(in->rows, in->tiles, tile0), end0 = tile_start(in->rows, in->tiles, tile1);
    isa_open *const open = j->d->opens && tile1 - tile0 >= OPEN_TILES ? j->d->isa->open[m->type] : NULL;
    int chunk = whole ? units : even_chunk(units, open ? (size_t)acts * ISA_OPENED : unit);
    if (!whole && !acts) chunk = (chunk + 31) / 32 * 32; /* where the kernels' partial sums end */

    memset(acc, 0, (size_t)(end0 - start0) * ISA_GROUP * sizeof *acc);
    for (int u = 0; u < units; u += chunk) {
        const int n = MIN(chunk, units - u), left = units - u - n;
        const uint8_t *at = w + (size_t)u * unit, *then = left ? at + (size_t)n * unit : next;
        const size_t then_bytes = (size_t)MIN(chunk, left ? left : units) * unit;
        if (open) open(at, n, opened);
        for (int i = tile0; i < tile1; i++) {
            const int start = tile_start(in->rows, in->tiles, i), T = tile_start(in->rows, in->tiles, i + 1) - start;
            const struct act *a = NULL;
            if (acts) a = in->act + (size_t)start * (cols / 32) + (size_t)u * (size_t)acts * (size_t)T;
            const struct isa_ahead ahead = whole ? fetch_alone(j->d, type, T, at, (size_t)n * unit)
                                                 : fetch_part(j->d, then, then_bytes, i - tile0, tile1 - tile0);
            const void *x = acts ? (const void *)a : in->x + (size_t)start * cols + (size_t)u;
            float *to = acc + (start - start0) * ISA_GROUP;
            if (open) j->d->isa->mul_open[m->type][T](at, opened, n, a, to, ahead);
            else j->d->isa->mul[m->type][T](at, n, x, cols, to, ahead);
        }
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

/* A tile's sums with one group of rows.  Rounded, they are one block of each token's activations for the next product,
 * and never floats in memory; the tokens' blocks lie one behind the other, as their sums do, and a group is whole. */
static void put_tile(const struct mul_job *j, const struct cpu_out *out, int group, int tile, float *sum,
                     const float *other)
{
    const struct cpu_input *in = j->in;
    const int at = group * ISA_GROUP, n = MIN(ISA_GROUP, out->m->rows - at);
    const int start = tile_start(in->rows, in->tiles, tile), T = tile_start(in->rows, in->tiles, tile + 1) - start;
    const size_t rows = (size_t)out->m->rows;
    if (j->rounded) {
        put_sums(j, sum, other, at, T * ISA_GROUP, sum);
        j->d->isa->quantise(sum, T, j->rounded + (size_t)start * (rows / 32) + (size_t)group * (size_t)T, 1);
        return;
    }
    for (int t = 0; t < T; t++, sum += ISA_GROUP, other += ISA_GROUP)
        put_sums(j, sum, other, at, n, out->y + (size_t)(start + t) * rows + (size_t)at);
}

static void finish_group(const struct mul_job *j, const struct cpu_out *out, int group, int who)
{
    const struct cpu_input *in = j->in;
    const int most = CPU_ROWS / j->d->isa->tile;
    struct cpu_scratch *own = &j->d->scratch[who];
    float *sum = own->acc[0], *other = own->acc[1];

    for (int tile0 = 0; tile0 < in->tiles; tile0 += most) {
        const int tile1 = MIN(tile0 + most, in->tiles), start = tile_start(in->rows, in->tiles, tile0);
        const int after = tile1 < in->tiles ? group : MIN(group + 1, group_count(out->m) - 1);
        const uint8_t *next = group_at(out->m, after);
        mul_group(j, out->m, group, tile0, tile1, sum, own->open, j->up ? group_at(j->up, group) : next);
        if (j->up) mul_group(j, j->up, group, tile0, tile1, other, own->open, next);
        for (int i = tile0; i < tile1; i++) {
            const int done = (tile_start(in->rows, in->tiles, i) - start) * ISA_GROUP;
            put_tile(j, out, group, i, sum + done, other + done);
        }
    }
}

static void mul_groups(void *arg, int first, int end, int who)
{
    const struct mul_job *j = arg;
    for (int i = first; i < end; i++) {
        const struct cpu_out *out = j->out;
        int group = i;
        while (group >= group_count(out->m)) group -= group_count(out++->m);
        finish_group(j, out, group, who);
    }
}

static void run_mul(struct mul_job *j)
{
    int groups = 0;
    for (int i = 0; i < j->outs; i++) {
        const struct kmat *m = j->out[i].m;
        assert(m->dev_data && m->rows > 0 && m->cols == j->in->cols && (j->in->act || !cpu_is_int(m->type)));
        groups += group_count(m);
    }
    crew_run(j->d->crew, groups, mul_groups, j);
}

void cpu_mul(struct kdev *d, const struct cpu_input *in, const struct cpu_out *out, int outs, float softcap)
{
    struct mul_job j = {.d = d, .in = in, .outs = outs, .end = END_STORE, .softcap = softcap};
    assert(outs > 0 && outs <= (int)COUNT_OF(j.out));
    memcpy(j.out, out, (size_t)outs * sizeof *out);
    run_mul(&j);
}

void cpu_mul_add(struct kdev *d, const struct cpu_input *in, const struct kmat *m, const float *bias, float *y)
{
    struct mul_job j = {.d = d, .in = in, .out = {{m, y}}, .outs = 1, .end = END_ADD, .bias = bias};
    run_mul(&j);
}

void cpu_mul_gate(struct kdev *d, const struct cpu_input *in, const struct kmat *gate, const struct kmat *up,
                  enum kern_act act, const struct cpu_input *out, float *h)
{
    struct mul_job j = {.d = d, .in = in, .out = {{gate, h}}, .outs = 1, .end = END_GATE, .act = act, .up = up,
                        .rounded = out->act};
    assert(out->rows == in->rows && out->tiles == in->tiles && out->cols == up->rows && (h || out->act));
    assert(up->dev_data && up->rows == gate->rows && up->cols == gate->cols && (in->act || !cpu_is_int(up->type)));
    run_mul(&j);
}
