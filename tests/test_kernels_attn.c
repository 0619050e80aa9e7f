/* test_kernels_attn.c - attention in tiles: neighbouring rows of a sequence share what is read of K and V, and none of
 * them may notice.
 *
 * Pages are written by the instruction set's own kv_write into memory that is NaN elsewhere; page numbers that nobody
 * may look at lead to memory that ends the process.  Judges: the same row alone, over pages that hold nothing but what
 * it sees, to the bit; and a plain sum in double over the same rounded K and V, to 1e-4: scores are float sums of terms
 * of up to some hundreds, and an error in a score is a relative error of its weight. */
#include "kernels/cpu/isa.h"
#include "tests/check.h"
#include "tests/rig.h"
#include <sys/mman.h>
#include <unistd.h>

static const enum ktype kvs[] = {KT_F32, KT_F16, KT_Q8_0};

/* The slab's first run is nobody's, and may not be read.  NOWHERE is in its middle. */
enum { CTX = 1696, PAGES = CTX / KERN_PAGE, NOWHERE = 5, ROUNDS = CHECK_SANITIZED ? 40 : 300 };

/* ------------------------------------------------------------------ one sequence's pages */

/* A head's K and V at all positions, and pages with those of positions from .. end - 1. */
struct past {
    int dim;
    enum ktype kv;
    float k[CTX][KERN_HEAD_MAX], v[CTX][KERN_HEAD_MAX];
};

struct pages {
    struct isa_kv at;
    size_t size;
    int32_t table[PAGES];
};

static size_t half_bytes(enum ktype kv, int dim)
{
    return KERN_PAGE * (kv == KT_Q8_0 ? (size_t)dim / 32 * 34 : (size_t)dim * (kv == KT_F16 ? 2 : 4));
}

static void draw_past(struct dice *d, struct past *p, int dim, enum ktype kv, int n)
{
    p->dim = dim, p->kv = kv;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < dim; k++) p->k[i][k] = dice_float(d, 1), p->v[i][k] = dice_float(d, 1);
}

/* All of it that are whole pages of the system's. */
static void close_first_run(const struct isa_kv *kv)
{
    const uintptr_t system = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)kv->slab;
    const uintptr_t skip = (system - from % system) % system, end = (from + ISA_RUN * kv->page_bytes) / system * system;
    uint8_t *nowhere = isa_kv_page(kv, NOWHERE);
    CHECK(nowhere >= kv->slab + skip && (uintptr_t)nowhere + kv->head_bytes <= end);
    CHECK_EQ(mprotect(kv->slab + skip, end - from - skip, PROT_NONE), 0);
}

static struct pages write_pages(struct dice *d, const struct cpu_isa *isa, const struct past *p, int from, int end)
{
    struct pages g = {.at = {.v_at = half_bytes(p->kv, p->dim), .pages = ISA_RUN + PAGES, .head = 1}}; /* of two */
    g.at.head_bytes = g.at.v_at + half_bytes(p->kv, (p->dim + 15) / 16 * 16);
    g.at.page_bytes = (size_t)size_align(2 * g.at.head_bytes, 64);
    g.size = g.at.page_bytes * (ISA_RUN + PAGES);
    g.at.slab = rig_memory(g.size);
    close_first_run(&g.at);
    for (int i = 0; i < PAGES; i++) g.table[i] = ISA_RUN + i;
    for (int i = PAGES - 1; i > 0; i--) {
        int j = dice_below(d, i + 1), t = g.table[i];
        g.table[i] = g.table[j], g.table[j] = t;
    }
    for (int i = from; i < end; i++) {
        uint8_t *page = isa_kv_page(&g.at, g.table[i / KERN_PAGE]);
        isa->kv_write(p->k[i], p->v[i], p->dim, p->kv, page, page + g.at.v_at, i % KERN_PAGE);
    }
    for (int i = 0; i < PAGES; i++)
        if (i < from / KERN_PAGE || i > (end - 1) / KERN_PAGE) g.table[i] = NOWHERE;
    return g;
}

static void attend(const struct cpu_isa *isa, struct isa_attend a, const struct pages *g)
{
    a.at = g->at, a.table = g->table;
    isa->attend(&a);
}

static int first_seen(const struct isa_attend *a, int row)
{
    return a->window ? MAX(0, a->pos + row - a->window + 1) : 0;
}

/* --------------------------------------------------------------------------- tiles */

/* Groups of 1 to 40 heads, tiles that lie anywhere, windows of all sizes: a tile may see less than a chunk or 7. */
static struct isa_attend draw_tile(struct dice *d)
{
    static const int dims[] = {32, 64, 20, 96, 128, 48, 256, 33};
    struct isa_attend a = {.dim = dims[dice_below(d, COUNT_OF(dims))], .kv = kvs[dice_below(d, COUNT_OF(kvs))]};
    if (a.kv == KT_Q8_0) a.dim = MAX(a.dim / 32 * 32, 32);
    a.heads = dice_below(d, 8) ? 1 + dice_below(d, 9) : ISA_QUERIES + dice_below(d, 9);
    a.rows = 1 + dice_below(d, MAX(1, ISA_QUERIES / a.heads));
    a.pos = dice_below(d, dice_below(d, 4) ? 140 : CTX - a.rows);
    a.window = dice_below(d, 2) ? 0 : 1 + dice_below(d, dice_below(d, 2) ? 12 : dice_below(d, 4) ? 200 : CTX);
    a.softcap = dice_below(d, 3) ? 0 : 5;
    a.scale = 1 / sqrtf((float)a.dim);
    a.stride = (size_t)(a.heads * a.dim + dice_below(d, 2) * 24);
    a.lean = dice_below(d, 2);
    return a;
}

/* What rounding leaves of K or V. */
static void rounded(enum ktype kv, const float *x, int n, float *y)
{
    uint8_t block[34];
    for (int i = 0; i < n; i++) y[i] = kv == KT_F16 ? quant_f16(quant_to_f16(x[i])) : x[i];
    for (int i = 0; kv == KT_Q8_0 && i < n; i += 32) {
        quant_to_q8_0(x + i, block);
        quant_decode(KT_Q8_0, block, y + i, 32);
    }
}

static void check_plain_sum(const struct isa_attend *a, const struct past *past, int row, int head)
{
    const size_t at = (size_t)row * a->stride + (size_t)(head * a->dim);
    double sum = 0, most = -INFINITY, right[KERN_HEAD_MAX] = {0}, score[CTX], size = 0;
    float x[KERN_HEAD_MAX];
    for (int p = first_seen(a, row); p <= a->pos + row; p++) {
        rounded(a->kv, past->k[p], a->dim, x);
        score[p] = 0;
        for (int i = 0; i < a->dim; i++) score[p] += (double)a->q[at + (size_t)i] * x[i];
        score[p] *= a->scale;
        if (a->softcap > 0) score[p] = a->softcap * tanh(score[p] / a->softcap);
        most = fmax(most, score[p]);
    }
    for (int p = first_seen(a, row); p <= a->pos + row; p++) {
        rounded(a->kv, past->v[p], a->dim, x);
        double e = exp(score[p] - most);
        for (int i = 0; i < a->dim; i++) right[i] += e * x[i];
        sum += e;
    }
    for (int i = 0; i < a->dim; i++) size += right[i] / sum * right[i] / sum;
    size = sqrt(size / a->dim);
    for (int i = 0; i < a->dim; i++) {
        double value = right[i] / sum;
        CHECK(fabs(a->att[at + (size_t)i] - value) <= 1e-4 * (size + fabs(value)));
    }
}

/* The tile's last row is not a number in every third case: its own result only. */
static void check_tile(struct dice *d, const struct cpu_isa *isa, struct isa_attend a, struct past *past, bool spoilt)
{
    const size_t size = a.stride * (size_t)a.rows * sizeof(float), row = (size_t)(a.heads * a.dim);
    const int last = a.pos + a.rows - 1;
    float *q = rig_memory(size), *tile = rig_memory(size), *alone = rig_memory(row * sizeof(float));
    for (size_t i = 0; i < size / sizeof(float); i++) q[i] = dice_float(d, 1);
    draw_past(d, past, a.dim, a.kv, last + 1);
    if (spoilt) past->k[last][a.dim / 2] = past->v[last][a.dim - 1] = NAN;
    struct pages all = write_pages(d, isa, past, first_seen(&a, 0), last + 1);
    a.q = q, a.att = tile;
    attend(isa, a, &all);
    for (int r = 0; r < a.rows - spoilt; r++) {
        struct isa_attend one = a;
        struct pages own = write_pages(d, isa, past, first_seen(&a, r), a.pos + r + 1);
        one.rows = 1, one.pos = a.pos + r, one.q = q + (size_t)r * a.stride, one.att = alone, one.lean = !a.lean;
        attend(isa, one, &own);
        CHECK_MEM(alone, tile + (size_t)r * a.stride, row * sizeof(float));
        check_plain_sum(&a, past, r, dice_below(d, a.heads));
        rig_release(own.at.slab, own.size);
    }
    for (size_t i = 0; spoilt && i < row; i++) CHECK(isnan(tile[(size_t)(a.rows - 1) * a.stride + i]));
    for (int r = 0; r + 1 < a.rows; r++) /* between rows nothing is written: it is NaN as it came */
        for (size_t i = row; i < a.stride; i++) CHECK(isnan(tile[(size_t)r * a.stride + i]));
    rig_release(all.at.slab, all.size), rig_release(q, size), rig_release(tile, size);
    rig_release(alone, row * sizeof(float));
}

static void check_tiles(size_t which)
{
    static struct past past;
    struct dice dice = {11 + which};
    struct err err = {0};
    const struct cpu_isa *isa = rig_isa(which);
    if (!isa) SKIP("not here: %s", isa_choose(rig_isas[which], &err) ? "it is in another program" : err.text);
    for (int round = 0; round < ROUNDS; round++) check_tile(&dice, isa, draw_tile(&dice), &past, round % 3 == 0);
}

TEST(a_row_of_a_tile_has_the_bits_it_has_alone_portable) { check_tiles(0); }
TEST(a_row_of_a_tile_has_the_bits_it_has_alone_avx2) { check_tiles(1); }
TEST(a_row_of_a_tile_has_the_bits_it_has_alone_avxvnni) { check_tiles(2); }
TEST(a_row_of_a_tile_has_the_bits_it_has_alone_avx512) { check_tiles(3); }

/* Windows that end in the middle of a tile, the first and last tokens of chunks: every place of a small tile. */
TEST(every_place_of_a_tile_and_every_small_window_is_right)
{
    static struct past past;
    struct dice dice = {20};
    const struct cpu_isa *isa = isa_choose(NULL, NULL);
    for (int pos = 56; pos < 72; pos++)
        for (int window = 0; window < (CHECK_SANITIZED ? 4 : 10); window++) {
            struct isa_attend a = {.rows = 8, .heads = 3, .dim = 32, .kv = kvs[(pos + window) % 3], .pos = pos,
                                   .window = window, .scale = 0.2f, .stride = 96};
            check_tile(&dice, isa, a, &past, pos % 2);
        }
}

/* One token's score is far above all others', down to -inf: its value alone is the result, to the bit, though whole
 * chunks before it and behind it have sums of their own. */
TEST(scores_far_below_the_largest_weigh_nothing)
{
    static const float low[] = {-88, -200, -1e4f, -3e38f, -INFINITY};
    enum { POS = 199, TOP = 150, DIM = 32 };
    static struct past past;
    struct dice dice = {21};
    for (size_t i = 0; i < RIG_ISAS * 2; i++) {
        const struct cpu_isa *isa = rig_isa(i / 2);
        for (int heads = 1; heads <= 9 && isa; heads++) {
            struct isa_attend a = {.rows = 1, .heads = heads, .dim = DIM, .kv = kvs[i % 2], .pos = POS, .scale = 1,
                                   .stride = (size_t)(heads * DIM)};
            float q[9 * DIM] = {0}, att[9 * DIM];
            for (int h = 0; h < heads; h++) q[h * DIM] = 1;
            draw_past(&dice, &past, DIM, a.kv, POS + 1);
            for (int t = 0; t <= POS; t++) {
                past.k[t][0] = t == TOP ? 0 : low[t % (int)COUNT_OF(low)];
                for (int k = 0; k < DIM; k++) past.v[t][k] = t == TOP ? (float)(k % 7) : 6e4f;
            }
            struct pages g = write_pages(&dice, isa, &past, 0, POS + 1);
            a.q = q, a.att = att;
            attend(isa, a, &g);
            for (int k = 0; k < heads * DIM; k++) CHECK(att[k] == (float)(k % DIM % 7));
            rig_release(g.at.slab, g.size);
        }
    }
}

/* ------------------------------------------------------------------- spans by themselves */

/* Each span of a tile summed up by itself, in any order and what is not its own page out of reach, then joined: the
 * bits of all of them at once. */
static void check_spans(struct dice *d, const struct cpu_isa *isa, struct isa_attend a, struct past *past, bool spoilt)
{
    const int from = first_seen(&a, 0) / ISA_SPAN, n = (a.pos + a.rows - 1) / ISA_SPAN - from + 1;
    const size_t size = a.stride * (size_t)a.rows * sizeof(float);
    const size_t part = (size_t)(a.rows * a.heads * isa_part(a.dim)), row = (size_t)(a.heads * a.dim);
    float *q = rig_memory(size), *whole = rig_memory(size), *joined = rig_memory(size);
    float *parts = rig_memory((size_t)n * part * sizeof *parts);
    int order[CTX / ISA_SPAN + 1];
    for (size_t i = 0; i < size / sizeof(float); i++) q[i] = dice_float(d, 1);
    draw_past(d, past, a.dim, a.kv, a.pos + a.rows);
    if (spoilt) past->k[a.pos + a.rows - 1][0] = NAN; /* only the last row sees it */
    struct pages all = write_pages(d, isa, past, first_seen(&a, 0), a.pos + a.rows);
    a.q = q, a.att = whole;
    attend(isa, a, &all);
    rig_release(all.at.slab, all.size);
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = 0; i < n; i++) {
        int at = i + dice_below(d, n - i), span = order[at];
        order[at] = order[i];
        struct isa_attend one = a;
        one.part = parts + (size_t)span * part, one.span = from + span, one.att = NULL;
        struct pages own = write_pages(d, isa, past, MAX(first_seen(&a, 0), one.span * ISA_SPAN),
                                       MIN(a.pos + a.rows, (one.span + 1) * ISA_SPAN));
        attend(isa, one, &own);
        rig_release(own.at.slab, own.size);
    }
    a.att = joined, a.part = parts;
    isa->attend_join(&a, n);
    for (int r = 0; r < a.rows; r++)
        CHECK_MEM(whole + (size_t)r * a.stride, joined + (size_t)r * a.stride, row * sizeof(float));
    rig_release(q, size), rig_release(whole, size), rig_release(joined, size);
    rig_release(parts, (size_t)n * part * sizeof *parts);
}

TEST(spans_summed_up_by_themselves_and_joined_are_the_whole)
{
    static struct past past;
    struct dice dice = {22};
    for (size_t i = 0; i < RIG_ISAS; i++) {
        const struct cpu_isa *isa = rig_isa(i);
        for (int round = 0; isa && round < ROUNDS / 10; round++) {
            struct isa_attend a = draw_tile(&dice);
            a.pos = round % 4 ? ISA_SPAN + dice_below(&dice, CTX - ISA_SPAN - a.rows) : a.pos;
            check_spans(&dice, isa, a, &past, round % 3 == 0);
        }
    }
}

/* ------------------------------------------------------------------- tiles of a batch */

enum { SEQS = 3, LEN = 150, ROWS = 60 };

/* att of rows that attn has computed, kept by sequence and position or compared with what was kept. */
static void note(const struct rig *r, const struct rig_rows *rows, float *kept, bool keep)
{
    size_t wide = (size_t)(r->model->s.heads * r->model->s.head_dim);
    for (int i = 0; i < rows->n; i++) {
        float *at = kept + (size_t)(rows->seq[i] * LEN + rows->pos[i]) * wide;
        if (keep) memcpy(at, r->att + (size_t)i * wide, wide * sizeof *at);
        else CHECK_MEM(at, r->att + (size_t)i * wide, wide * sizeof *at);
    }
}

static void attention(struct rig *r, const struct rig_rows *rows)
{
    struct kern_batch b = rig_batch(r, rows);
    rig_do(r, STEP_EMBED, 0, &b);
    rig_do(r, STEP_ATTN_IN, 0, &b);
    rig_do(r, STEP_ATTN, 0, &b);
}

static void add_row(const struct rig *r, struct rig_rows *rows, int seq, int pos)
{
    rows->token[rows->n] = (seq * 31 + pos * 7) % r->model->s.vocab;
    rows->seq[rows->n] = seq;
    rows->pos[rows->n++] = pos;
}

/* Runs of rows of a sequence, cut by runs of another: neighbours in the batch that are none in a sequence, and
 * sequences that go on later in the same batch. */
static void mixed_batches(struct dice *d, struct rig *r, float *kept, bool alone)
{
    int len[SEQS] = {0}, left = SEQS * LEN;
    while (left > 0) {
        struct rig_rows rows = {0};
        int most = alone ? 1 : 1 + dice_below(d, ROWS);
        while (rows.n < most && left > 0) {
            int seq = alone ? left % SEQS : dice_below(d, SEQS), run = alone ? 1 : 1 + dice_below(d, 20);
            for (; run > 0 && rows.n < most && len[seq] < LEN; run--, left--) add_row(r, &rows, seq, len[seq]++);
        }
        attention(r, &rows);
        note(r, &rows, kept, alone);
    }
}

/* Rows once more, some left out: positions that rise by more than one, and that go on by one in another sequence. */
static void with_gaps(struct dice *d, struct rig *r, float *kept)
{
    struct rig_rows rows = {0};
    int seq = 0;
    for (int pos = dice_below(d, 40); pos < LEN && rows.n < ROWS; pos += dice_below(d, 3) ? 1 : 1 + dice_below(d, 9)) {
        if (dice_below(d, 3) == 0) seq = dice_below(d, SEQS);
        add_row(r, &rows, seq, pos);
    }
    attention(r, &rows);
    note(r, &rows, kept, false);
}

TEST(a_batch_may_mix_sequences_and_leave_positions_out)
{
    struct dice dice = {30};
    for (int round = 0; round < 12; round++) {
        struct rig_shape s = {.embd = 48, .kv_heads = 1 + round % 3, .head_dim = 32, .ff = 1, .vocab = 90, .layers = 1,
                              .kv = kvs[round % 3], .window = round % 2 ? 5 + dice_below(&dice, 90) : 0, .scale = 0.3f};
        s.heads = s.kv_heads * (1 + dice_below(&dice, 9));
        struct rig_model *m = rig_model(&dice, &s);
        const struct kern_config cfg = {.threads = 1 + round % 3};
        float *kept = malloc((size_t)(SEQS * LEN * s.heads * s.head_dim) * sizeof *kept);
        CHECK(kept);
        struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, ROWS, SEQS, LEN);
        mixed_batches(&dice, r, kept, true);
        memset(r->group[0].dev_slab, 0xff, r->slab_bytes[0]);
        mixed_batches(&dice, r, kept, false);
        with_gaps(&dice, r, kept);
        rig_close(r);
        rig_model_free(m);
        free(kept);
    }
}

/* ------------------------------------------------------------------- spans of a pass of few rows */

enum { LONG = 1100, SHORT = 530, STEPS = 6 };

/* Both sequences but for their ends, then passes of few rows; att of those. */
static void few_rows(struct rig *r, float *att)
{
    const size_t wide = (size_t)(r->model->s.heads * r->model->s.head_dim);
    int len[2] = {LONG, SHORT};
    for (int seq = 0; seq < 2; seq++)
        for (int pos = 0; pos < len[seq];) {
            struct rig_rows rows = {0};
            while (rows.n < ROWS && pos < len[seq]) add_row(r, &rows, seq, pos++);
            attention(r, &rows);
        }
    for (int step = 0; step < STEPS; step++) {
        struct rig_rows rows = {0};
        for (int i = 0; i <= step; i++) add_row(r, &rows, 0, len[0]++); /* 1 to 6 neighbours: tiles of several rows */
        if (step % 2) add_row(r, &rows, 1, len[1]++);
        attention(r, &rows);
        memcpy(att, r->att, (size_t)rows.n * wide * sizeof *att);
        att += (size_t)rows.n * wide;
    }
}

TEST(a_pass_of_few_rows_has_the_same_bits_whoever_takes_its_spans)
{
    struct dice dice = {31};
    for (int round = 0; round < (CHECK_SANITIZED ? 3 : 9); round++) {
        struct rig_shape s = {.embd = 32, .kv_heads = 1 + round % 3, .head_dim = 32, .ff = 1, .vocab = 90, .layers = 1,
                              .kv = kvs[round / 3], .window = round % 2 ? 0 : 400 + dice_below(&dice, 500), .scale = 0.3f};
        s.heads = s.kv_heads * (1 + dice_below(&dice, 9));
        struct rig_model *m = rig_model(&dice, &s);
        const size_t n = (size_t)(STEPS * (STEPS + 1) / 2 + STEPS / 2) * (size_t)(s.heads * s.head_dim);
        float *one = malloc(n * sizeof *one), *many = malloc(n * sizeof *many);
        CHECK(one && many);
        for (int threads = 1; threads <= 3; threads++) { /* one thread goes through whole tiles */
            struct rig *r = rig_open(&dice, m, kern_cpu(), &(struct kern_config){.threads = threads}, ROWS, 2, LONG + 40);
            few_rows(r, threads == 1 ? one : many);
            if (threads > 1) CHECK_MEM(one, many, n * sizeof *one);
            rig_close(r);
        }
        free(one), free(many);
        rig_model_free(m);
    }
}

CHECK_MAIN
