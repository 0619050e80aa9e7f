/* test_kernels_kv.c - KV pages of Q8_0: their bytes, what is written, and attention over it.
 *
 * Tolerances.  The reference over a plain sum in double of the same rounded values: only the result is rounded to
 * float, so 1e-6 of rms.  The CPU backend over the reference, both with the same K and V (matrices with one weight a
 * row, so that no sum can differ): scores are float sums, an error of size s * 2^-24 in a score s of up to some tens,
 * which is a relative error of its weight: 1e-5 of rms, ten times less than F32 pages get elsewhere for K that may
 * differ too.  Q8_0 over F32 pages: each value is off by at most half a step of its block and by what rounding the
 * scale to half does to 127 steps of it; how far that can move a score, a weight and a sum is worked out value by
 * value (most_off). */
#include "kernels/cpu/isa.h"
#include "tests/check.h"
#include "tests/rig.h"

enum { ROWS = 40, SEQS = 3, CTX = 150 };
enum { K, V };
static const int dims[] = {32, 64, 96, 128, 256};

/* ------------------------------------------------------------------------ bytes */

TEST(pages_of_q8_0_take_34_of_64_bytes_of_half_pages)
{
    const struct kern *backend[] = {kern_ref(), kern_cpu()};
    for (size_t b = 0; b < COUNT_OF(backend); b++)
        for (size_t i = 0; i < COUNT_OF(dims); i++)
            for (int heads = 1; heads < 10; heads += 2) {
                struct kern_group g = {.layers = 3, .kv_heads = heads, .head_dim = dims[i], .kv_type = KT_F16};
                size_t half = backend[b]->kv_page_bytes(&g);
                CHECK_EQ(half, 3 * heads * 2 * KERN_PAGE * dims[i] * 2);
                g.kv_type = KT_Q8_0;
                CHECK_EQ(backend[b]->kv_page_bytes(&g) * 64, half * 34);
            }
}

TEST(pages_of_heads_or_types_that_do_not_work_have_no_bytes)
{
    const struct kern *backend[] = {kern_ref(), kern_cpu()};
    static const int bad[] = {INT32_MIN, -32, 0, 1, 8, 16, 31, 33, 48, 80, 255, 288, INT32_MAX};
    static const enum ktype none[] = {KT_BF16, KT_Q4_0, KT_Q8_1, KT_I8, (enum ktype)5, (enum ktype)1000};
    for (size_t b = 0; b < COUNT_OF(backend); b++) {
        struct kern_group g = {.layers = 2, .kv_heads = 2, .head_dim = 64, .kv_type = KT_Q8_0};
        CHECK(backend[b]->kv_page_bytes(&g) > 0);
        for (size_t i = 0; i < COUNT_OF(bad); i++) {
            g.head_dim = bad[i];
            CHECK_EQ(backend[b]->kv_page_bytes(&g), 0);
        }
        g.head_dim = 64;
        for (size_t i = 0; i < COUNT_OF(none); i++) {
            g.kv_type = none[i];
            CHECK_EQ(backend[b]->kv_page_bytes(&g), 0);
        }
        g = (struct kern_group){.layers = INT32_MAX, .kv_heads = INT32_MAX, .head_dim = 256, .kv_type = KT_Q8_0};
        CHECK_EQ(backend[b]->kv_page_bytes(&g), 0);
    }
}

/* ------------------------------------------------------------------ to the host and back */

static void *slab_of(struct kern_group *g)
{
    g->page_bytes = kern_cpu()->kv_page_bytes(g);
    CHECK(g->page_bytes > 0);
    return g->dev_slab = rig_memory(g->page_bytes * (size_t)g->pages);
}

/* All pages of one slab go to other places of another: each is there what it was, so none of them overlap, and nothing
 * lies before or behind the slab.  A page's bytes lie within those of its run. */
static void check_moves(struct dice *d, struct kern_group from)
{
    const struct kern *k = kern_cpu();
    struct kern_group to = from;
    const size_t page = k->kv_page_bytes(&from), all = page * (size_t)from.pages, run = (size_t)k->page_run;
    uint8_t *a = slab_of(&from), *b = slab_of(&to), *host = rig_memory(page), *back = rig_memory(page);
    uint8_t *was = rig_memory(all);
    int place[64];
    for (size_t i = 0; i < all; i++) a[i] = was[i] = (uint8_t)dice_roll(d);
    for (int i = 0; i < from.pages; i++) {
        const int at = dice_below(d, i + 1);
        place[i] = place[at], place[at] = i;
    }
    for (int i = 0; i < from.pages; i++) {
        CHECK_EQ(k->page_fetch(NULL, &from, i, host, NULL), 0);
        CHECK_EQ(k->page_upload(NULL, &to, place[i], host, NULL), 0);
    }
    for (int i = 0; i < from.pages; i++) {
        CHECK_EQ(k->page_fetch(NULL, &from, i, host, NULL), 0);
        CHECK_EQ(k->page_fetch(NULL, &to, place[i], back, NULL), 0);
        CHECK_MEM(host, back, page);
        const size_t first = (size_t)i / run * run, end = MIN(first + run, (size_t)from.pages);
        memset(a + first * page, 0, (end - first) * page);
        CHECK_EQ(k->page_fetch(NULL, &from, i, back, NULL), 0);
        for (size_t at = 0; at < page; at++) CHECK_EQ(back[at], 0);
        memcpy(a, was, all);
    }
    rig_release(was, all), rig_release(a, all), rig_release(b, all), rig_release(host, page), rig_release(back, page);
}

TEST(a_page_is_itself_wherever_it_comes_back_to_from_the_host)
{
    static const int pages[] = {1, 5, 15, 16, 17, 32, 47};
    static const enum ktype kvs[] = {KT_F32, KT_F16, KT_Q8_0};
    struct dice dice = {40};
    for (size_t i = 0; i < COUNT_OF(pages) * COUNT_OF(kvs); i++) {
        struct kern_group g = {.layers = 1 + dice_below(&dice, 3), .kv_heads = 1 + dice_below(&dice, 3),
                               .kv_type = kvs[i % COUNT_OF(kvs)], .pages = pages[i / COUNT_OF(kvs)]};
        g.head_dim = g.kv_type == KT_Q8_0 ? dims[dice_below(&dice, 3)] : 1 + dice_below(&dice, 70);
        check_moves(&dice, g);
    }
}

/* ------------------------------------------------------------------- what is written */

/* Half a step, and what rounding the scale does: it is 2^-11 of it, or 2^-25 where halves are subnormal. */
static double step_error(double largest)
{
    double d = largest / 127;
    return d * 0.5 * (1 + 1e-5) + 127 * fmax(d * 0x1p-11, 0x1p-25);
}

TEST(a_block_is_the_nearest_integers_of_its_largest_over_127)
{
    struct dice dice = {1};
    for (int round = 0; round < 4000; round++) {
        uint8_t block[34];
        float x[32], y[32], largest = 0, size = ldexpf(1, dice_below(&dice, 40) - 26);
        for (int i = 0; i < 32; i++) x[i] = dice_float(&dice, size);
        for (int i = 0; i < 32; i++) largest = fmaxf(largest, fabsf(x[i]));
        quant_to_q8_0(x, block);
        uint16_t half = quant_to_f16(largest / 127);
        CHECK_EQ(block[0] | block[1] << 8, half);
        quant_decode(KT_Q8_0, block, y, 32);
        for (int i = 0; i < 32; i++) CHECK(fabs((double)x[i] - y[i]) <= step_error(largest));
    }
}

TEST(a_block_of_zeros_is_zeros_and_one_that_is_not_finite_is_not_a_number)
{
    uint8_t block[34];
    float x[32] = {0}, y[32];
    quant_to_q8_0(x, block);
    for (int i = 0; i < 34; i++) CHECK_EQ(block[i], 0);
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        x[i * 7] = odd[i];
        quant_to_q8_0(x, block);
        quant_decode(KT_Q8_0, block, y, 32);
        for (int k = 0; k < 32; k++) CHECK(isnan(y[k]));
        x[i * 7] = 1;
    }
}

/* ---------------------------------------------------------------- two rigs, side by side */

/* Odd numbers of heads, groups of up to 9 query heads, windows, softcaps; all matrices F32. */
static struct rig_shape draw_shape(struct dice *d, int round)
{
    struct rig_shape s = {.embd = 33 + dice_below(d, 40), .kv_heads = 1 + dice_below(d, 3), .ff = 1, .vocab = 90,
                          .layers = 1 + dice_below(d, 3), .kv = KT_Q8_0};
    s.head_dim = dims[(size_t)round % COUNT_OF(dims)];
    s.heads = s.kv_heads * (1 + dice_below(d, s.head_dim > 64 ? 3 : 9));
    s.window = dice_below(d, 2) ? 0 : 1 + dice_below(d, 90);
    s.attn_cap = dice_below(d, 3) ? 0 : 5;
    s.scale = 1 / sqrtf((float)s.head_dim);
    return s;
}

/* Rows that continue some of the sequences, whose lengths are in len. */
static struct rig_rows draw_rows(struct dice *dice, const struct rig *r, int *len)
{
    struct rig_rows rows = {0};
    for (int s = 0; s < SEQS; s++) {
        int room = MIN(ROWS - rows.n, CTX - len[s]);
        for (int n = dice_below(dice, room + 1); n > 0; n--, rows.n++) {
            rows.token[rows.n] = dice_below(dice, r->model->s.vocab);
            rows.pos[rows.n] = len[s]++;
            rows.seq[rows.n] = s;
        }
    }
    return rows;
}

static void attention(struct rig *r, int layer, const struct rig_rows *rows)
{
    struct kern_batch b = rig_batch(r, rows);
    rig_do(r, STEP_EMBED, 0, &b);
    rig_do(r, STEP_ATTN_IN, layer, &b);
    rig_do(r, STEP_ATTN, layer, &b);
}

/* Judges att of rows that both have computed. */
typedef void judge(const struct rig *a, const struct rig *b, int layer, const struct rig_rows *rows);

static void side_by_side(struct dice *dice, struct rig *a, struct rig *b, int batches, judge *check)
{
    int len[SEQS] = {0}, layer = dice_below(dice, a->model->s.layers);
    for (int i = 0; i < batches; i++) {
        struct rig_rows rows = draw_rows(dice, a, len);
        if (!rows.n) continue;
        attention(a, layer, &rows);
        attention(b, layer, &rows);
        check(a, b, layer, &rows);
    }
}

static size_t att_values(const struct rig *r, const struct rig_rows *rows)
{
    return (size_t)rows->n * (size_t)(r->model->s.heads * r->model->s.head_dim);
}

static double rms(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    return sqrt(sum / (double)n);
}

static void compare(const float *right, const float *got, size_t n, double tol)
{
    double size = rms(right, n);
    CHECK(size > 1e-3 && size < 1e3);
    for (size_t i = 0; i < n; i++) CHECK(fabs((double)got[i] - right[i]) <= tol * (size + fabs((double)right[i])));
}

/* K or V of one head at a position, out of the reference's F32 pages: [layer][k, v][token][kv head][head_dim]. */
static const float *float_kv(const struct rig *r, int layer, int half, int seq, int pos, int head)
{
    const struct kern_group *g = &r->group[0];
    size_t page = (size_t)r->table[0][seq * r->stride + pos / KERN_PAGE];
    size_t token = (size_t)((layer * 2 + half) * KERN_PAGE + pos % KERN_PAGE);
    CHECK_EQ(g->kv_type, KT_F32);
    return (const float *)(const void *)((const char *)g->dev_slab + page * g->page_bytes) +
           (token * (size_t)g->kv_heads + (size_t)head) * (size_t)g->head_dim;
}

static float largest_of(const float *x)
{
    float most = 0;
    for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* ------------------------------------------------- the reference against a plain sum */

/* What Q8_0 makes of a head's values. */
static void rounded(const float *x, int n, double *y)
{
    for (int b = 0; b < n; b += 32) {
        float most = largest_of(x + b), id = 127 / most;
        double d = quant_f16(quant_to_f16(most / 127));
        for (int i = b; i < b + 32; i++) y[i] = d * nearbyintf(x[i] * id);
    }
}

/* One head of one row; nothing is subtracted before exp, as scores are small here. */
static void plain_sum(const struct rig *floats, int layer, int seq, int pos, int head, const float *q, double *att)
{
    const struct rig_shape *s = &floats->model->s;
    double sum = 0, x[KERN_HEAD_MAX];
    for (int i = 0; i < s->head_dim; i++) att[i] = 0;
    for (int p = pos; p >= 0 && !(s->window && pos - p >= s->window); p--) {
        double score = 0;
        rounded(float_kv(floats, layer, K, seq, p, head), s->head_dim, x);
        for (int i = 0; i < s->head_dim; i++) score += x[i] * q[i];
        score *= s->scale;
        double e = exp(s->attn_cap > 0 ? s->attn_cap * tanh(score / s->attn_cap) : score);
        rounded(float_kv(floats, layer, V, seq, p, head), s->head_dim, x);
        for (int i = 0; i < s->head_dim; i++) att[i] += e * x[i];
        sum += e;
    }
    for (int i = 0; i < s->head_dim; i++) att[i] /= sum;
}

static void check_plain(const struct rig *floats, const struct rig *r, int layer, const struct rig_rows *rows)
{
    const struct rig_shape *s = &r->model->s;
    float right[KERN_HEAD_MAX];
    double att[KERN_HEAD_MAX];
    for (int i = 0; i < rows->n; i++)
        for (int h = 0; h < s->heads; h++) {
            size_t at = (size_t)(i * s->heads + h) * (size_t)s->head_dim;
            plain_sum(floats, layer, rows->seq[i], rows->pos[i], h / (s->heads / s->kv_heads), r->q + at, att);
            for (int k = 0; k < s->head_dim; k++) right[k] = (float)att[k];
            compare(right, r->att + at, (size_t)s->head_dim, 1e-6);
        }
}

/* ---------------------------------------------------- Q8_0 against F32 pages */

/* The most that one value of att may be off.  |dk| <= e of its block, so a score by at most c = scale * sum |q| e, a
 * weight by a factor of e^(2 c) at most, all weights together by e^(2 c) - 1; softcaps only make that less. */
static double most_off(const struct rig *floats, int layer, int seq, int pos, int head, const float *q, int at)
{
    const struct rig_shape *s = &floats->model->s;
    double c = 0, e_v = 0, v_most = 0;
    for (int p = s->window ? MAX(0, pos - s->window + 1) : 0; p <= pos; p++) {
        const float *k = float_kv(floats, layer, K, seq, p, head), *v = float_kv(floats, layer, V, seq, p, head);
        double moved = 0;
        for (int i = 0; i < s->head_dim; i++)
            moved += s->scale * fabs((double)q[i]) * step_error(largest_of(k + i / 32 * 32));
        c = fmax(c, moved);
        e_v = fmax(e_v, step_error(largest_of(v + at / 32 * 32)));
        v_most = fmax(v_most, fabs((double)v[at]));
    }
    return e_v + (exp(2 * c) - 1) * v_most;
}

static void check_rounding(const struct rig *floats, const struct rig *r, int layer, const struct rig_rows *rows)
{
    const struct rig_shape *s = &r->model->s;
    size_t n = att_values(r, rows), wide = (size_t)s->head_dim;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int row = (int)(i / wide) / s->heads, head = (int)(i / wide) % s->heads / (s->heads / s->kv_heads);
        double off = fabs((double)r->att[i] - floats->att[i]);
        sum += off * off;
        if (i % 211) continue; /* the bound takes long: some of them */
        CHECK(off <= most_off(floats, layer, rows->seq[row], rows->pos[row], head, r->q + i / wide * wide,
                              (int)(i % wide)));
    }
    /* As errors of single values are independent, what they make together is far below the bound. */
    double off = sqrt(sum / (double)n) / rms(floats->att, n);
    CHECK(off > 1e-5 && off < 0.02);
}

/* The reference with Q8_0 pages and its twin with F32 pages, on the same model. */
static void beside_floats(uint64_t seed, judge *check)
{
    struct dice dice = {seed};
    for (int round = 0; round < 10; round++) {
        struct rig_shape s = draw_shape(&dice, round);
        s.rope = dice_below(&dice, 2) ? s.head_dim : 0, s.neox = dice_below(&dice, 2), s.bias = dice_below(&dice, 2);
        struct rig_model *m = rig_model(&dice, &s), twin = *m;
        twin.s.kv = KT_F32;
        struct rig *a = rig_open(&dice, &twin, kern_ref(), NULL, ROWS, SEQS, CTX);
        struct rig *b = rig_open(&dice, m, kern_ref(), NULL, ROWS, SEQS, CTX);
        side_by_side(&dice, a, b, 4, check);
        rig_close(a), rig_close(b);
        rig_model_free(m);
    }
}

TEST(the_reference_is_a_plain_sum_over_rounded_values) { beside_floats(2, check_plain); }
TEST(rounded_pages_are_as_near_to_float_pages_as_half_a_step_allows) { beside_floats(3, check_rounding); }

/* --------------------------------------------- instruction sets against the reference */

/* One weight a row, a power of two: K and V have the same bits however a backend sums. */
static void one_weight_a_row(struct rig_model *m, int which)
{
    size_t cols = (size_t)m->cols[which];
    memset(m->file[which], 0, rig_file_bytes(KT_F32, m->rows[which], m->cols[which]));
    for (int r = 0; r < m->rows[which]; r++) {
        float w = ldexpf(r % 2 ? -1 : 1, r % 3 - 1);
        size_t at = (size_t)r * cols + (size_t)(r * 7 + which) % cols;
        memcpy(m->file[which] + at * sizeof w, &w, sizeof w);
    }
}

static void check_cpu(const struct rig *ref, const struct rig *cpu, int layer, const struct rig_rows *rows)
{
    (void)layer;
    compare(ref->att, cpu->att, att_values(ref, rows), 1e-5);
}

static void check_bits(const struct rig *one, const struct rig *other, int layer, const struct rig_rows *rows)
{
    (void)layer;
    CHECK_MEM(one->att, other->att, att_values(one, rows) * sizeof(float));
}

static void check_isa(size_t which)
{
    struct dice dice = {4 + which};
    struct err err = {0};
    if (!rig_isa(which))
        SKIP("not here: %s", isa_choose(rig_isas[which], &err) ? "it is in another program" : err.text);
    for (int round = 0; round < (CHECK_SANITIZED ? 3 : 15); round++) {
        struct rig_shape s = draw_shape(&dice, round);
        struct rig_model *m = rig_model(&dice, &s);
        const struct kern_config cfg = {.isa = rig_isas[which], .threads = 1 + round % 3}, plain = {.isa = "portable"};
        one_weight_a_row(m, RIG_K), one_weight_a_row(m, RIG_V);
        struct rig *a = rig_open(&dice, m, kern_ref(), NULL, ROWS, SEQS, CTX);
        struct rig *b = rig_open(&dice, m, kern_cpu(), &cfg, ROWS, SEQS, CTX);
        struct rig *c = rig_open(&dice, m, kern_cpu(), &plain, ROWS, SEQS, CTX);
        struct dice same = dice;
        side_by_side(&dice, a, b, 4, check_cpu);
        memset(b->group[0].dev_slab, 0xff, b->slab_bytes[0]);
        side_by_side(&same, c, b, 4, check_bits);
        rig_close(a), rig_close(b), rig_close(c);
        rig_model_free(m);
    }
}

TEST(the_cpu_agrees_with_the_reference_portable) { check_isa(0); }
TEST(the_cpu_agrees_with_the_reference_avx2) { check_isa(1); }
TEST(the_cpu_agrees_with_the_reference_avxvnni) { check_isa(2); }
TEST(the_cpu_agrees_with_the_reference_avx512) { check_isa(3); }

/* Angles are kept from one layer to the next, whose frequencies may be others: the same places, others each time. */
TEST(rows_are_turned_by_the_frequencies_that_are_asked_for)
{
    struct dice dice = {5};
    for (int round = 0; round < 6; round++) {
        struct rig_shape s = draw_shape(&dice, round);
        s.rope = s.head_dim;
        s.kv = KT_F32;
        struct rig_model *m = rig_model(&dice, &s);
        struct rig *a = rig_open(&dice, m, kern_ref(), NULL, ROWS, SEQS, CTX);
        struct rig *b = rig_open(&dice, m, kern_cpu(), NULL, ROWS, SEQS, CTX);
        for (int time = 0; time < 5; time++) {
            struct dice same = dice;
            side_by_side(&same, a, b, 2, check_cpu);
            if (time == 2) m->s.rope /= 2;
            else if (time == 3) m->gain[0] = 1.25;
            else m->inv_freq[0][time] *= 0.7;
        }
        rig_close(a), rig_close(b);
        rig_model_free(m);
    }
}

CHECK_MAIN
