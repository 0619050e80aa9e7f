/* test_cuda_mix.c - mixtures of experts on the CUDA kernels, compiled for the host (tests/cuda_on_cpu/): every type's
 * products in tiles of every size, which experts a row goes through, and the gates.  (test_cuda_steps.c has whole
 * passes.) */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gpu.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/rig.h"
#include <math.h>

/* ---------------------------------------------------------------------------- products */

enum { MIX_ROWS = 20 };

/* The feed-forward of n of these rows, from `first` on. */
static void feed(struct rig *r, const float *rows, int first, int n)
{
    const struct rig_rows of = {.n = n};
    const struct kern_batch b = rig_batch(r, &of);
    memcpy(r->x, rows + first * r->model->s.embd, (size_t)(n * r->model->s.embd) * sizeof *rows);
    rig_do(r, STEP_FFN, 0, &b);
}

static struct rig_shape mix_of(enum ktype y, int experts, int used)
{
    const int cols = ktype_info((uint32_t)y)->block > 32 ? 256 : 64;
    return (struct rig_shape){.embd = cols, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = cols, .vocab = 40,
                              .layers = 1, .gate = y, .up = y, .down = y, .router = y,
                              .experts = experts, .used = used};
}

static void throw_rows(struct dice *dice, float *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = dice_float(dice, 1);
}

/* By 20 a tile has 16 places, by 6 eight (or 16), then four, two and one. */
TEST(a_mixture_of_every_type_agrees_with_the_reference_and_a_row_has_its_bits_in_tiles_of_every_size)
{
    static const int sizes[] = {6, 4, 2, 1};
    static float x[MIX_ROWS * 256], all[MIX_ROWS * 256];
    struct dice dice = {17};
    for (size_t t = 0; t < RIG_TYPES; t++) {
        struct rig_shape s = mix_of(rig_types[t], 5, 2);
        s.ffn_bias = t % 2, s.act = t % 2 ? KERN_OSS : KERN_SILU;
        if (t % 2 == 0) s.shared = 2 * s.embd, s.shared_gate = s.shared_up = s.shared_down = rig_types[t];
        const double tol = ktype_info((uint32_t)rig_types[t])->block > 1 ? 0.01 : 1e-5; /* as lockstep() has it */
        const struct kern_config rounded = {.round_activations = true};
        struct rig_model *m = rig_model(&dice, &s);
        struct rig *judge = rig_open(&dice, m, kern_ref(), &rounded, MIX_ROWS, 1, 16);
        struct rig *r = rig_open(&dice, m, kern_cuda(), NULL, MIX_ROWS, 1, 16);
        throw_rows(&dice, x, MIX_ROWS * s.embd);
        shim_order((int)t % 3);
        feed(judge, x, 0, MIX_ROWS), feed(r, x, 0, MIX_ROWS);
        for (int i = 0; i < MIX_ROWS * s.embd; i++)
            CHECK_NEAR(r->x[i], judge->x[i], tol * (1.5 + fabs((double)judge->x[i])));
        memcpy(all, r->x, (size_t)(MIX_ROWS * s.embd) * sizeof *all);
        for (int at = 0, i = 0; at < MIX_ROWS; at += sizes[i], i = MIN(i + 1, (int)COUNT_OF(sizes) - 1)) {
            feed(r, x, at, sizes[i]);
            CHECK_MEM(all + at * s.embd, r->x, (size_t)(sizes[i] * s.embd) * sizeof *all);
        }
        rig_close(judge), rig_close(r);
        rig_model_free(m);
    }
}

TEST(a_mixture_of_one_expert_has_the_bits_of_a_feed_forward)
{
    static const enum ktype some[] = {KT_F16, KT_Q8_0, KT_Q6_K, KT_MXFP4, KT_IQ4_XS, KT_Q2_K};
    static float x[MIX_ROWS * 256], mixed[MIX_ROWS * 256];
    struct dice dice = {18};
    for (size_t t = 0; t < COUNT_OF(some); t++) {
        struct rig_shape s = mix_of(some[t], 1, 1);
        s.ffn_bias = t % 2;
        struct rig_model *m = rig_model(&dice, &s);
        struct rig *r = rig_open(&dice, m, kern_cuda(), NULL, MIX_ROWS, 1, 16);
        throw_rows(&dice, x, MIX_ROWS * s.embd);
        for (int n = 1; n <= MIX_ROWS; n += 6) {
            m->s.experts = m->s.used = 1;
            feed(r, x, 0, n);
            memcpy(mixed, r->x, (size_t)(n * s.embd) * sizeof *mixed);
            m->s.experts = m->s.used = 0;
            feed(r, x, 0, n);
            CHECK_MEM(mixed, r->x, (size_t)(n * s.embd) * sizeof *mixed);
        }
        rig_close(r);
        rig_model_free(m);
    }
}

TEST(experts_of_a_matrix_lie_behind_each_other_and_workspace_for_them_is_taken_only_where_there_are_some)
{
    const struct kern *k = kern_cuda();
    struct kern_dims dims = {.embd = 256, .heads = 4, .kv_heads = 2, .head_dim = 64, .ff = 256, .vocab = 300,
                             .max_rows = 40, .max_outs = 40, .max_ctx = 128, .max_seqs = 3};
    const size_t dense = k->work_bytes(&dims);
    for (size_t t = 0; t < RIG_TYPES; t++)
        CHECK_EQ(k->mat_bytes(rig_types[t], 7 * 96, 256), 7 * k->mat_bytes(rig_types[t], 96, 256));
    dims.experts = 128, dims.used = 8;
    CHECK(k->work_bytes(&dims) > dense + (size_t)(40 * 8 * 256 * 2) * sizeof(float));
    const size_t many = k->work_bytes(&dims);
    dims.shared = 512;
    CHECK(k->work_bytes(&dims) >= many + (size_t)(40 * (2 * 512 + 256)) * sizeof(float));
    dims.embd = dims.ff = 1 << 30, dims.max_rows = 1 << 28;
    CHECK_EQ(k->work_bytes(&dims), SIZE_MAX);
    dims = (struct kern_dims){.embd = 32, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = 32, .vocab = 40,
                              .max_rows = 1 << 27, .max_outs = 1, .max_ctx = 16, .max_seqs = 1, .experts = 128,
                              .used = 32}; /* 2^32 places */
    CHECK_EQ(k->work_bytes(&dims), SIZE_MAX);
}

/* ------------------------------------------------------- which experts, in which order */

struct mix_rig {
    const struct gpu_face *face;
    struct gpu *gpu;
};

static struct mix_rig open_rig(void)
{
    struct err err = {0};
    struct gpu_info info;
    struct mix_rig r = {cuda_face(&err), NULL};
    CHECK_STR(err.text, "");
    CHECK_EQ(r.face->open(0, &r.gpu, &info), 0);
    return r;
}

static void *there(const struct mix_rig *r, const void *from, size_t n)
{
    void *dev = NULL;
    CHECK_EQ(r->face->take(r->gpu, n, &dev), 0);
    CHECK_EQ(r->face->upload(r->gpu, dev, from, n), 0);
    return dev;
}

static void back(const struct mix_rig *r, void *to, void *dev, size_t n)
{
    CHECK_EQ(r->face->fetch(r->gpu, to, dev, n), 0);
    r->face->give(r->gpu, dev);
}

/* Few values, so that many are equal, and what is no number or has no end. */
static float throw_logit(struct dice *dice)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    const int pick = dice_below(dice, 40);
    return pick < (int)COUNT_OF(odd) ? odd[pick] : 0.25f * (float)(dice_below(dice, 40) - 20);
}

enum { ROUTE_ROWS = 45, ROUTE_ALL = ROUTE_ROWS * KERN_USED, ROUTE_TILES = ROUTE_ALL };

/* Places by expert and row, and tiles of them, as gpu.h has them. */
static void check_places(const struct gpu_mix *m, const int32_t *expert, const int32_t *place, const int32_t *row,
                         const struct gpu_tile *tile)
{
    const int size = gpu_tile_size(m->rows);
    int at = 0, tiles = 0;
    for (int e = 0; e < m->n; e++) {
        const int first = at;
        for (int i = 0; i < m->rows * m->used; i++) {
            if (expert[i] != e) continue;
            CHECK_EQ(place[i], at);
            CHECK_EQ(row[at], i / m->used);
            at++;
        }
        for (int from = first; from < at; from += size, tiles++) {
            CHECK(tiles < m->tiles);
            CHECK(tile[tiles].expert == e && tile[tiles].first == from && tile[tiles].end == MIN(from + size, at));
        }
    }
    CHECK_EQ(at, m->rows * m->used);
    for (; tiles < m->tiles; tiles++) CHECK_EQ(tile[tiles].first, tile[tiles].end);
}

/* Weights are not compared bit for bit: e^x is a GPU's own. */
static void check_route(const struct mix_rig *r, struct dice *dice, int rows, int n, int used, bool of_all)
{
    static float logits[ROUTE_ROWS * KERN_EXPERTS], weight[ROUTE_ALL], right_weight[KERN_USED];
    static int32_t expert[ROUTE_ALL], place[ROUTE_ALL], row[ROUTE_ALL], right[KERN_USED];
    static struct gpu_tile tile[ROUTE_TILES];
    const size_t all = (size_t)(rows * used), floats = (size_t)(rows * n) * sizeof *logits;
    for (int i = 0; i < rows * n; i++) logits[i] = throw_logit(dice);
    for (int i = 0; i < n && rows > 2; i++) logits[n + i] = i % 2 ? 0.0f : -0.0f, logits[2 * n + i] = NAN;
    float *dev = there(r, logits, floats);
    struct gpu_mix m = {rows, n, used, rows * used, dev, there(r, row, all * 4), there(r, row, all * 4),
                        there(r, row, all * 4), there(r, row, all * 4), there(r, tile, all * sizeof *tile), of_all};
    CHECK_EQ(r->face->route(r->gpu, &m), 0);
    back(r, expert, m.dev_expert, all * 4), back(r, weight, m.dev_weight, all * 4);
    back(r, place, m.dev_place, all * 4), back(r, row, m.dev_row, all * 4);
    back(r, tile, m.dev_tile, all * sizeof *tile), back(r, logits, dev, floats);
    for (int i = 0; i < rows; i++) {
        kern_route(logits + i * n, n, used, of_all, right, right_weight);
        CHECK_MEM(right, expert + i * used, (size_t)used * sizeof *right);
        for (int j = 0; j < used; j++) {
            const float got = weight[i * used + j];
            CHECK(isnan(right_weight[j]) ? isnan(got) : fabsf(got - right_weight[j]) <= 1e-6f * right_weight[j]);
        }
    }
    check_places(&m, expert, place, row, tile);
}

TEST(rows_go_through_the_experts_that_kern_route_chooses_and_lie_by_expert_in_order_of_rows)
{
    static const int n[] = {1, 7, 33, 128, KERN_EXPERTS}, rows[] = {1, 2, 3, 8, ROUTE_ROWS};
    struct dice dice = {19};
    struct mix_rig r = open_rig();
    for (size_t i = 0; i < COUNT_OF(n); i++)
        for (size_t j = 0; j < COUNT_OF(rows); j++) {
            const int used[] = {1, MIN(n[i], 8), MIN(n[i], KERN_USED)};
            shim_order((int)(i + j) % 3);
            check_route(&r, &dice, rows[j], n[i], used[(i + j) % COUNT_OF(used)], j % 2);
        }
    r.face->close(r.gpu);
}

/* -------------------------------------------------------------------------------- gates */

/* kernels.h's own words. */
static double gated(enum kern_act act, double g, double u)
{
    if (act == KERN_SILU) return g / (1 + exp(-g)) * u;
    if (act == KERN_GELU) return 0.5 * g * (1 + tanh(sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * u;
    g = g > 7 ? 7 : g, u = u > 7 ? 7 : u < -7 ? -7 : u;
    return g / (1 + exp(-1.702 * g)) * (u + 1);
}

/* Bound: of a few roundings, and what those of the exponent do.  Of GELU below 0 it is 1 + tanh() that is small; that is
 * held by whole steps. */
TEST(gates_are_those_of_their_formulas_and_gpt_oss_s_is_clamped_and_keeps_what_is_no_number)
{
    static const float of[] = {-INFINITY, -50, -7.5f, -7, -6.75f, -1, -0.25f, 0, 0.5f, 1, 3, 6.75f, 7, 7.25f, 50,
                               INFINITY, NAN};
    enum { EACH = COUNT_OF(of), ALL = EACH * EACH };
    float gate[ALL], up[ALL], got[ALL];
    struct mix_rig r = open_rig();
    for (int i = 0; i < ALL; i++) gate[i] = of[i / EACH], up[i] = of[i % EACH];
    for (int act = KERN_SILU; act <= KERN_OSS; act++) {
        float *dev_gate = there(&r, gate, sizeof gate), *dev_up = there(&r, up, sizeof up);
        CHECK_EQ(r.face->gate(r.gpu, ALL, (enum gpu_gate)act, dev_gate, dev_up, NULL), 0);
        back(&r, got, dev_gate, sizeof got), back(&r, up, dev_up, sizeof up);
        for (int i = 0; i < ALL; i++) {
            const double right = gated((enum kern_act)act, (double)gate[i], (double)up[i]);
            if (act == KERN_GELU && gate[i] < 0) continue;
            const double bound = 1e-6 + 0x1p-22 * fmin(fabs((double)gate[i]), 100);
            if (isfinite(right)) CHECK_NEAR(got[i], right, bound * fabs(right) + 1e-30);
            else CHECK(isnan(right) ? isnan(got[i]) : (double)got[i] == right);
        }
    }
    r.face->close(r.gpu);
}

CHECK_MAIN
