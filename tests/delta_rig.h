/* delta_rig.h - one layer that keeps a state, with a gate beside it, on any backend: what its tests on the CPU and with
 * the CUDA kernels share.  Source, not interface. */
#ifndef DELTA_RIG_H
#define DELTA_RIG_H
#include "kernels/state.h"
#include "tests/check.h"
#include "tests/rig.h"
#include <math.h>

enum { ROWS = 64, SEQS = 3, STRIDE = 12, CTX = (STRIDE - 1) * KERN_PAGE, LAYERS = 2, MATS = 5 };

/* keys 0: a convolution alone, whose one matrix is in qkv's place; of the others nothing is asked. */
struct shape {
    int embd, keys, values, dim, taps;
    enum ktype type[MATS]; /* qkv, z, beta, alpha, gate */
    bool by_key;
};

/* Weights as a file has them, and vectors; the same for all backends. */
struct weights {
    struct shape s;
    int rows[MATS];
    uint8_t *file[MATS];
    float *norm, *conv, *dt, *a, *head_norm, *x; /* x: (CTX, embd) of each sequence */
};

struct world {
    const struct weights *of;
    const struct kern *k;
    struct kdev *d;
    struct kmat mat[MATS];
    struct kern_group group;
    struct kern_delta delta;
    struct kern_conv conv;
    size_t slab_bytes, work_bytes;
    uint8_t *work;
    float *x, *att;
    int32_t table[SEQS * STRIDE];
};

static float *floats(struct dice *dice, int n, float scale, float add)
{
    float *f = rig_memory((size_t)n * sizeof *f);
    for (int i = 0; i < n; i++) f[i] = dice_float(dice, scale) + add;
    return f;
}

static struct weights draw(struct dice *dice, const struct shape *s)
{
    const int channels = (2 * s->keys + s->values) * s->dim, inner = s->values * s->dim;
    struct weights w = {.s = *s, .rows = {s->keys ? channels : 3 * channels, inner, s->values, s->values, inner}};
    for (int i = 0; i < MATS; i++) {
        w.file[i] = rig_memory(rig_file_bytes(s->type[i], w.rows[i], s->embd));
        rig_weights(dice, s->type[i], w.rows[i], s->embd, w.file[i]);
    }
    w.norm = floats(dice, s->embd, 0.2f, 1);
    w.conv = floats(dice, channels * s->taps, 0.5f, 0);
    w.dt = floats(dice, s->values, 1, 0);
    w.a = floats(dice, s->values, 0.3f, 0);
    for (int i = 0; i < s->values; i++) w.a[i] = -fabsf(w.a[i]) - 0.01f;
    w.head_norm = floats(dice, s->dim, 0.2f, 1);
    w.x = floats(dice, SEQS * CTX * s->embd, 1, 0);
    return w;
}

static void undraw(struct weights *w)
{
    const struct shape *s = &w->s;
    for (int i = 0; i < MATS; i++) rig_release(w->file[i], rig_file_bytes(s->type[i], w->rows[i], s->embd));
    rig_release(w->norm, (size_t)s->embd * 4);
    rig_release(w->conv, (size_t)((2 * s->keys + s->values) * s->dim * s->taps) * 4);
    rig_release(w->dt, (size_t)s->values * 4);
    rig_release(w->a, (size_t)s->values * 4);
    rig_release(w->head_norm, (size_t)s->dim * 4);
    rig_release(w->x, (size_t)(SEQS * CTX * s->embd) * 4);
}

static struct world *open_world(const struct weights *w, const struct kern *k, const struct kern_config *cfg)
{
    const struct shape *s = &w->s;
    struct world *o = calloc(1, sizeof *o);
    struct err err = {0};
    CHECK(o);
    *o = (struct world){.of = w, .k = k, .d = k->open(cfg, &err)};
    CHECK_STR(err.text, "");
    for (int i = 0; i < MATS; i++) {
        o->mat[i] = (struct kmat){s->type[i], w->rows[i], s->embd, NULL};
        o->mat[i].dev_data = rig_memory(k->mat_bytes(s->type[i], w->rows[i], s->embd));
        CHECK_EQ(k->mat_load(o->d, &o->mat[i], 0, w->rows[i], w->file[i], &err), 0);
    }
    o->delta = (struct kern_delta){.dev_norm = w->norm, .eps = 1e-6f, .qkv = o->mat[0], .z = o->mat[1],
                                   .beta = o->mat[2], .alpha = o->mat[3], .dev_conv = w->conv, .dev_dt = w->dt,
                                   .dev_a = w->a, .dev_head_norm = w->head_norm, .by_key = s->by_key};
    o->conv = (struct kern_conv){.dev_norm = w->norm, .eps = 1e-6f, .in = o->mat[0], .dev_conv = w->conv};
    o->group = (struct kern_group){.layers = LAYERS, .kv_heads = s->values, .head_dim = s->dim, .keys = s->keys,
                                   .taps = s->taps, .kv_type = KT_F32, .pages = SEQS * STRIDE};
    o->group.page_bytes = k->kv_page_bytes(&o->group);
    CHECK(o->group.page_bytes > 0);
    o->slab_bytes = o->group.page_bytes * (size_t)o->group.pages;
    o->group.dev_slab = rig_memory(o->slab_bytes);
    const struct kern_dims dims = {.embd = s->embd, .heads = s->values, .kv_heads = 1, .head_dim = s->dim, .ff = 1,
                                   .vocab = 1, .max_rows = ROWS, .max_outs = 1, .max_ctx = CTX, .max_seqs = SEQS,
                                   .keys = s->keys, .values = s->values, .state_dim = s->dim};
    o->work_bytes = k->work_bytes(&dims);
    o->work = rig_memory(o->work_bytes);
    o->x = rig_memory((size_t)(ROWS * s->embd) * 4);
    o->att = rig_memory((size_t)(ROWS * w->rows[1]) * 4);
    memset(o->table, 0xff, sizeof o->table);
    return o;
}

static void close_world(struct world *o)
{
    const struct weights *w = o->of;
    for (int i = 0; i < MATS; i++)
        rig_release(o->mat[i].dev_data, o->k->mat_bytes(w->s.type[i], w->rows[i], w->s.embd));
    rig_release(o->group.dev_slab, o->slab_bytes);
    rig_release(o->work, o->work_bytes);
    rig_release(o->x, (size_t)(ROWS * w->s.embd) * 4);
    rig_release(o->att, (size_t)(ROWS * w->rows[1]) * 4);
    o->k->close(o->d);
    free(o);
}

/* Rows [from[s], to[s]) of each sequence, in a layer; att has them one sequence after the other.  The pages of all
 * positions are there if `all`, else those that have to be.  How many rows. */
static int step(struct world *o, const int *from, const int *to, bool all, int layer)
{
    const struct weights *w = o->of;
    const size_t embd = (size_t)w->s.embd;
    int32_t token[ROWS] = {0}, pos[ROWS], seq[ROWS];
    int n = 0;
    struct err err = {0};
    for (int s = 0; s < SEQS; s++)
        for (int p = from[s]; p < to[s]; p++, n++) {
            CHECK(n < ROWS);
            pos[n] = p, seq[n] = s;
            memcpy(o->x + (size_t)n * embd, w->x + (size_t)(s * CTX + p) * embd, embd * sizeof(float));
        }
    for (int s = 0; s < SEQS; s++)
        for (int i = 0; i < STRIDE; i++) {
            const bool needed = (from[s] > 0 && i == (from[s] - 1) / KERN_PAGE) || i == (to[s] - 1) / KERN_PAGE;
            o->table[s * STRIDE + i] = all || (needed && to[s] > from[s]) ? s * STRIDE + (7 * i + 3) % STRIDE : -1;
        }
    const struct kern_batch b = {.rows = n, .token = token, .pos = pos, .seq = seq, .seqs = SEQS, .groups = 1,
                                 .table = {o->table}, .stride = STRIDE};
    memset(o->work, 0xff, o->work_bytes);
    memset(o->att, 0xff, (size_t)(ROWS * w->rows[1]) * 4);
    if (o->k->begin) CHECK_EQ(o->k->begin(o->d, NULL, &b, o->work, &err), 0);
    if (w->s.keys)
        CHECK_EQ(o->k->delta(o->d, NULL, &b, &o->delta, &o->group, 0, layer, o->x, o->att, o->work, &err), 0);
    else CHECK_EQ(o->k->conv(o->d, NULL, &b, &o->conv, &o->group, 0, layer, o->x, o->att, o->work, &err), 0);
    CHECK_EQ(o->k->fetch(o->d, NULL, NULL, NULL, 0, &err), 0); /* it is done */
    return n;
}

static void compare(const char *what, const float *ref, const float *got, size_t n, double tol)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)ref[i] * ref[i];
    const double rms = sqrt(sum / (double)n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - ref[i]) <= tol * (rms + fabs((double)ref[i]))))
            check_fail(__FILE__, __LINE__, "%s, value %zu of %zu: %.9g is not near %.9g (rms %.3g)", what, i, n,
                       (double)got[i], (double)ref[i], rms);
}

static struct shape random_shape(struct dice *d)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_Q8_0, KT_Q4_0, KT_BF16, KT_Q5_0};
    static const int dims[] = {16, 20, 33, 48, 64, 128};
    struct shape s = {.embd = 32 * (1 + dice_below(d, 4)), .keys = 1 + dice_below(d, 3), .dim = dims[dice_below(d, 6)],
                      .taps = 2 + dice_below(d, 4)};
    s.values = s.keys * (1 + dice_below(d, 3));
    for (int i = 0; i < MATS; i++) s.type[i] = types[dice_below(d, 6)];
    s.by_key = s.taps % 2;
    return s;
}

/* Of a convolution alone: as many values as channels, of one each. */
static struct shape random_conv(struct dice *d)
{
    struct shape s = random_shape(d);
    s.keys = 0;
    s.dim = 1;
    s.values = 1 + dice_below(d, 200);
    return s;
}

/* A page of one world, as floats, of which those of a layer were written. */
static float *layer_of(const struct world *o, int page, int layer, size_t *n)
{
    *n = state_layer_bytes(&o->group) / sizeof(float);
    return state_conv(&o->group, page, layer);
}

/* What layers have in memory between the last conv value and the first head is nobody's. */
static void compare_states(const char *what, const struct world *a, const struct world *b, int page, int layer,
                           double tol)
{
    const size_t conv = (size_t)(a->group.taps - 1) * (size_t)state_channels(&a->group);
    const size_t heads = (size_t)a->group.kv_heads * state_head_floats(&a->group);
    compare(what, state_conv(&a->group, page, layer), state_conv(&b->group, page, layer), conv, tol);
    compare(what, state_head(&a->group, page, layer, 0), state_head(&b->group, page, layer, 0), heads, tol);
}

static void judge_shape(struct dice *dice, const struct shape *of, const struct kern *k, const struct kern_config *cfg)
{
    const struct shape s = *of;
    const struct kern_config rounded = {.round_activations = true};
    struct weights w = draw(dice, &s);
    struct world *a = open_world(&w, kern_ref(), &rounded), *b = open_world(&w, k, cfg);
    int from[SEQS] = {0}, to[SEQS];
    char what[120];
    snprintf(what, sizeof what, "%s, %d of %d keys %d values %d taps%s", k->name, s.dim, s.keys, s.values, s.taps,
             s.by_key ? ", by key" : "");
    for (int round = 0; round < 6; round++, memcpy(from, to, sizeof to)) {
        const bool all = dice_below(dice, 2);
        const int layer = LAYERS - 1;
        for (int i = 0; i < SEQS; i++) to[i] = from[i] + dice_below(dice, round ? 21 : 2);
        int n = step(a, from, to, all, layer);
        CHECK_EQ(step(b, from, to, all, layer), n);
        if (n) compare(what, a->att, b->att, (size_t)n * (size_t)w.rows[1], 1e-4);
        for (int i = 0; i < SEQS; i++) {
            size_t floats_of;
            if (to[i] == from[i]) continue;
            const int page = a->table[i * STRIDE + (to[i] - 1) / KERN_PAGE];
            compare_states(what, a, b, page, layer, 1e-4);
            float *right = layer_of(a, page, layer, &floats_of);
            memcpy(layer_of(b, page, layer, &floats_of), right, floats_of * sizeof *right);
        }
    }
    close_world(a), close_world(b);
    undraw(&w);
}

/* Of value heads that lie by their key heads, of which there are more and more than one. */
static const struct shape lies_by_key = {.embd = 64, .keys = 2, .values = 6, .dim = 20, .taps = 4, .by_key = true};

/* att of each sequence's first rows, computed in passes of random sizes. */
static void in_passes(struct dice *dice, struct world *o, const int *end, bool all, float *out)
{
    const size_t inner = (size_t)o->of->rows[1];
    int from[SEQS] = {0}, to[SEQS];
    for (bool more = true; more; memcpy(from, to, sizeof to)) {
        more = false;
        for (int s = 0; s < SEQS; s++) {
            const int more_of = dice_below(dice, dice_below(dice, 3) ? 3 : 21);
            to[s] = MIN(from[s] + more_of, end[s]);
            more |= to[s] < end[s];
        }
        step(o, from, to, all, 0);
        for (int s = 0, row = 0; s < SEQS; s++)
            for (int p = from[s]; p < to[s]; p++, row++)
                memcpy(out + (size_t)(s * CTX + p) * inner, o->att + (size_t)row * inner, inner * sizeof *out);
    }
}

/* What a pass leaves behind in the pages of its inside is what a sequence would have had that ended there. */
static void goes_on(struct dice *dice, const struct shape *s, const struct kern *k)
{
    struct weights w = draw(dice, s);
    struct world *o = open_world(&w, k, &(struct kern_config){.threads = 2});
    const size_t inner = (size_t)w.rows[1];
    const int none[SEQS] = {0}, far[SEQS] = {55}, third[SEQS] = {48}, end[SEQS] = {64}, second[SEQS] = {32};
    float *att = calloc(64 * inner, sizeof *att);
    CHECK(att);
    step(o, none, far, true, 0);
    step(o, far, end, true, 0);
    memcpy(att, o->att, 9 * inner * sizeof *att);                  /* rows 55 to 63 */
    step(o, third, end, false, 0);                                 /* from the page that ends at 48 */
    CHECK(memcmp(o->att + 7 * inner, att, 9 * inner * sizeof *att) == 0);
    step(o, second, third, false, 0);                              /* and that is the same from the one before it */
    step(o, third, end, false, 0);
    CHECK(memcmp(o->att + 7 * inner, att, 9 * inner * sizeof *att) == 0);
    free(att);
    close_world(o);
    undraw(&w);
}

static void judge_gate(struct dice *dice, const struct kern *k, const struct kern_config *cfg)
{
    const struct shape s = random_shape(dice);
    const struct kern_config rounded = {.round_activations = true};
    struct weights w = draw(dice, &s);
    struct world *a = open_world(&w, kern_ref(), &rounded), *b = open_world(&w, k, cfg), *both[] = {a, b};
    const int rows = 1 + dice_below(dice, 20), n = rows * w.rows[4];
    for (int i = 0; i < n; i++) a->att[i] = b->att[i] = dice_float(dice, 2);
    for (int i = 0; i < 2; i++) {
        const struct kern_gate g = {w.norm, 1e-6f, both[i]->mat[4]};
        const int32_t zero[] = {0};
        const struct kern_batch none = {.rows = 1, .token = zero, .pos = zero, .seq = zero, .seqs = SEQS,
                                        .groups = 1, .table = {both[i]->table}, .stride = STRIDE};
        if (both[i]->k->begin) CHECK_EQ(both[i]->k->begin(both[i]->d, NULL, &none, both[i]->work, NULL), 0);
        CHECK_EQ(both[i]->k->gate(both[i]->d, NULL, rows, &g, w.x, both[i]->att, both[i]->work, NULL), 0);
        CHECK_EQ(both[i]->k->fetch(both[i]->d, NULL, NULL, NULL, 0, NULL), 0);
    }
    compare(k->name, a->att, b->att, (size_t)n, 1e-4);
    close_world(a), close_world(b);
    undraw(&w);
}
#endif
