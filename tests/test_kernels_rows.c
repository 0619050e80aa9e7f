/* test_kernels_rows.c - the CPU backend: a row has the same bits alone and in any company, on any number of threads and
 * on every instruction set. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pack.h"
#include "tests/check.h"
#include "tests/lockstep.h"

/* Rounds of random shapes: as few as test_kernels_cpu.c has under a sanitizer, for its reason. */
enum { ROW_SHAPES = CHECK_SANITIZED ? 1 : 6, ROW_VARIANTS = CHECK_SANITIZED ? 2 : 4 };

/* ------------------------------------------------------- a row's bits in any company */

enum { SAME_SEQS = 3, SAME_LEN = 100, SAME_CTX = 112 };

/* Logits of every token of every sequence. */
struct said {
    int vocab;
    float *logits; /* (seqs, len, vocab) */
};

static int token_at(int seq, int pos, int vocab)
{
    return (seq * 7919 + pos * 104729 + 13) % vocab;
}

/* Pages that a window has left behind, and those of the future, are nobody's: their numbers must not be used. */
static void hide_pages(struct rig *r, int32_t *all, const struct rig_rows *rows)
{
    memcpy(r->table[0], all, (size_t)(r->seqs * r->stride) * sizeof *all);
    for (int s = 0; s < r->seqs; s++) {
        int first = SAME_CTX, last = -1;
        for (int i = 0; i < rows->n; i++)
            if (rows->seq[i] == s) first = MIN(first, rows->pos[i]), last = rows->pos[i];
        int seen = r->model->s.window ? MAX(0, first - r->model->s.window + 1) : 0;
        for (int p = 0; p < r->stride; p++)
            if (p < seen / KERN_PAGE || p > last / KERN_PAGE) r->table[0][s * r->stride + p] = INT32_MAX - p;
    }
}

/* Forward passes over all sequences; the rows of each batch are drawn, or (dice NULL) one token at a time. */
static struct said say_all(struct rig *r, struct dice *dice)
{
    struct said said = {r->model->s.vocab, NULL};
    int len[SAME_SEQS] = {0}, left = SAME_SEQS * SAME_LEN;
    size_t table = (size_t)(r->seqs * r->stride) * sizeof *r->table[0];
    int32_t *all = malloc(table);
    said.logits = malloc((size_t)left * (size_t)said.vocab * sizeof(float));
    CHECK(all && said.logits);
    memcpy(all, r->table[0], table);
    while (left > 0) {
        struct rig_rows rows = {0};
        int only = dice && dice_below(dice, 3) ? -1 : dice ? dice_below(dice, SAME_SEQS) : left % SAME_SEQS;
        for (int s = 0; s < SAME_SEQS; s++) {
            int n = dice ? dice_below(dice, dice_below(dice, 2) ? 3 : 40) : 1;
            if (only >= 0 && only != s) continue;
            for (n = MIN(n, SAME_LEN - len[s]); n > 0 && rows.n < r->max_rows; n--, rows.n++) {
                rows.token[rows.n] = token_at(s, len[s], said.vocab);
                rows.pos[rows.n] = len[s]++, rows.seq[rows.n] = s, rows.out[rows.n] = rows.n;
            }
        }
        if (!rows.n) continue;
        hide_pages(r, all, &rows);
        struct kern_batch b = rig_batch(r, &rows);
        rig_forward(r, &b);
        for (int i = 0; i < rows.n; i++)
            memcpy(said.logits + ((size_t)rows.seq[i] * SAME_LEN + (size_t)rows.pos[i]) * (size_t)said.vocab,
                   r->logits + (size_t)i * (size_t)said.vocab, (size_t)said.vocab * sizeof(float));
        left -= rows.n;
    }
    free(all);
    return said;
}

/* One token at a time with one thread is the measure; then batches of all kinds, 1 to 4 threads, every instruction
 * set. */
TEST(a_row_has_the_same_bits_alone_or_in_company_on_any_threads_and_instruction_set)
{
    struct dice dice = {7};
    for (int round = 0; round <= ROW_SHAPES; round++) {
        struct rig_shape s = round < ROW_SHAPES ? lockstep_shape(&dice, round % 3 == 2) : lockstep_late(0);
        if (round % 2) s.window = 20 + dice_below(&dice, 40);
        s.post = round % 3 != 1;
        struct rig_model *m = rig_model(&dice, &s);
        size_t size = (size_t)(SAME_SEQS * SAME_LEN * s.vocab) * sizeof(float);
        struct said first = {0};
        for (size_t i = RIG_ISAS; i-- > 0;)
            for (int variant = 0; variant < ROW_VARIANTS && rig_isa(i); variant++) {
                bool alone = !first.logits;
                const struct kern_config cfg = {.threads = alone ? 1 : 1 + dice_below(&dice, 4), .isa = rig_isas[i]};
                int most = alone ? 1 : 1 + dice_below(&dice, 40);
                struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, most, SAME_SEQS, SAME_CTX);
                struct said now = say_all(r, alone ? NULL : &dice);
                rig_close(r);
                if (alone) {
                    first = now;
                    continue;
                }
                CHECK_MEM(first.logits, now.logits, size);
                free(now.logits);
            }
        for (size_t i = 0; i < size / sizeof(float); i++) CHECK(isfinite(first.logits[i]));
        free(first.logits);
        rig_model_free(m);
    }
}

/* Enough tokens for several rounds of sums and enough cols for several chunks of k, against one token at a time. */
TEST(a_product_of_many_rows_has_the_bits_of_each_row_alone)
{
    enum { ROWS = 530, OUT = 70 };
    static const struct { enum ktype type; int cols; } cases[] = {
        {KT_Q8_0, 2240}, {KT_Q4_0, 4128}, {KT_Q4_1, 2720}, {KT_Q5_0, 2592}, {KT_Q5_1, 3104}, {KT_Q4_K, 4608},
        {KT_Q5_K, 2816}, {KT_Q6_K, 2816}, {KT_F16, 1301},  {KT_BF16, 901},  {KT_F32, 613}};
    const struct kern *k = kern_cpu();
    struct dice dice = {10};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct kern_config cfg = {.threads = 1 + (int)c % 3};
        const int cols = cases[c].cols;
        struct kmat m = {cases[c].type, OUT, cols, NULL};
        const struct kern_dims dims = {.embd = cols, .ff = cols, .max_rows = ROWS, .max_outs = 1};
        size_t file_size = rig_file_bytes(m.type, OUT, cols), size = k->mat_bytes(m.type, OUT, cols);
        size_t work_size = k->work_bytes(&dims), y_size = (size_t)ROWS * (size_t)cols * 4;
        uint8_t *file = rig_memory(file_size), *work = rig_memory(work_size);
        float *y = rig_memory(y_size), *x = rig_memory(ROWS * OUT * 4), one[OUT];
        struct kdev *d = k->open(&cfg, NULL);
        m.dev_data = rig_memory(size);
        rig_weights(&dice, m.type, OUT, cols, file);
        CHECK_EQ(k->mat_load(d, &m, 0, OUT, file, NULL), 0);
        for (int i = 0; i < ROWS * cols; i++) y[i] = dice_float(&dice, 1);
        memset(x, 0, ROWS * OUT * 4);
        CHECK_EQ(k->project(d, NULL, ROWS, &m, NULL, NULL, 0, y, x, work, NULL), 0);
        for (int r = 0; r < ROWS; r++) {
            memset(one, 0, sizeof one);
            CHECK_EQ(k->project(d, NULL, 1, &m, NULL, NULL, 0, y + (size_t)r * (size_t)cols, one, work, NULL), 0);
            CHECK_MEM(x + r * OUT, one, sizeof one);
        }
        k->close(d);
        rig_release(m.dev_data, size), rig_release(file, file_size), rig_release(work, work_size);
        rig_release(y, y_size), rig_release(x, ROWS * OUT * 4);
    }
}

/* The feed-forward step, and the same by its parts: norm, two products, gate, a product.  One thread has all groups at
 * a time, more of them than a lone tile takes of one matrix before the other; three have few. */
static void check_ffn(struct dice *dice, const struct cpu_isa *isa, int threads, const enum ktype *type, int ff,
                      int rows)
{
    enum { EMBD = 256 };
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = threads, .isa = isa->name};
    const struct kern_dims dims = {.embd = EMBD, .ff = ff, .max_rows = rows};
    const int out[] = {ff, ff, EMBD}, in[] = {EMBD, EMBD, ff};
    const size_t x_size = (size_t)(rows * EMBD) * 4, h_size = (size_t)(rows * ff) * 4, work_size = k->work_bytes(&dims);
    float *x = rig_memory(x_size), *parts = rig_memory(x_size), *normed = rig_memory(x_size);
    float *norm = rig_memory(EMBD * 4), *post = rig_memory(EMBD * 4);
    float *gate = rig_memory(h_size), *up = rig_memory(h_size);
    uint8_t *work = rig_memory(work_size), *file[3];
    struct kmat m[3];
    struct kdev *d = k->open(&cfg, NULL);
    for (int i = 0; i < 3; i++) {
        file[i] = rig_memory(rig_file_bytes(type[i], out[i], in[i]));
        rig_weights(dice, type[i], out[i], in[i], file[i]);
        m[i] = (struct kmat){type[i], out[i], in[i], rig_memory(k->mat_bytes(type[i], out[i], in[i]))};
        CHECK_EQ(k->mat_load(d, &m[i], 0, out[i], file[i], NULL), 0);
    }
    for (int i = 0; i < EMBD; i++) norm[i] = dice_float(dice, 1), post[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * EMBD; i++) x[i] = parts[i] = dice_float(dice, 1);

    const struct kern_ffn ffn = {.dev_norm = norm, .eps = 1e-5f, .gate = m[0], .up = m[1], .down = m[2],
                                 .act = dice_below(dice, 2) ? KERN_SILU : KERN_GELU,
                                 .dev_post = dice_below(dice, 2) ? post : NULL};
    CHECK_EQ(k->ffn(d, NULL, rows, &ffn, x, work, NULL), 0);
    for (int r = 0; r < rows; r++) isa->norm(parts + r * EMBD, norm, EMBD, 1e-5f, normed + r * EMBD);
    memset(gate, 0, h_size), memset(up, 0, h_size);
    CHECK_EQ(k->project(d, NULL, rows, &m[0], NULL, NULL, 0, normed, gate, work, NULL), 0);
    CHECK_EQ(k->project(d, NULL, rows, &m[1], NULL, NULL, 0, normed, up, work, NULL), 0);
    isa->gate(ffn.act, gate, up, rows * ff, gate);
    CHECK_EQ(k->project(d, NULL, rows, &m[2], NULL, ffn.dev_post, 1e-5f, gate, parts, work, NULL), 0);
    CHECK_MEM(x, parts, x_size);

    k->close(d);
    for (int i = 0; i < 3; i++) {
        rig_release(file[i], rig_file_bytes(type[i], out[i], in[i]));
        rig_release(m[i].dev_data, k->mat_bytes(type[i], out[i], in[i]));
    }
    rig_release(x, x_size), rig_release(parts, x_size), rig_release(normed, x_size), rig_release(norm, EMBD * 4);
    rig_release(post, EMBD * 4), rig_release(gate, h_size), rig_release(up, h_size), rig_release(work, work_size);
}

TEST(the_feed_forward_has_the_bits_of_its_parts)
{
    static const struct { enum ktype type[3]; int ff; } cases[] = {
        {{KT_Q8_0, KT_Q8_0, KT_Q8_0}, 96},  {{KT_Q4_K, KT_Q4_K, KT_Q6_K}, 512}, {{KT_Q5_0, KT_F16, KT_Q4_1}, 352},
        {{KT_F32, KT_BF16, KT_F16}, 75},    {{KT_Q4_0, KT_Q5_1, KT_F32}, 100}};
    static const int rows[] = {1, 3, 8, 9, 23, 300};
    struct dice dice = {12};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (size_t c = 0; c < COUNT_OF(cases) && rig_isa(i); c++)
            for (size_t r = 0; r < COUNT_OF(rows) - CHECK_SANITIZED; r++)
                for (int threads = rows[r] > 8 ? 3 : 1; threads <= 3; threads += 2)
                    check_ffn(&dice, rig_isa(i), threads, cases[c].type, cases[c].ff, rows[r]);
}

/* A projection whose result is normed, by its parts and row by row; the workspace has nothing to spare. */
static void check_post(struct dice *dice, const struct cpu_isa *isa, int threads, enum ktype type, int rows,
                       bool biased)
{
    enum { EMBD = 70, WIDE = 96 };
    const struct kern *k = kern_cpu();
    const struct kern_config cfg = {.threads = threads, .isa = isa->name};
    const struct kern_dims dims = {.embd = EMBD, .heads = 1, .head_dim = WIDE, .max_rows = rows};
    const size_t x_size = (size_t)(rows * EMBD) * 4, y_size = (size_t)(rows * WIDE) * 4;
    const size_t work_size = k->work_bytes(&dims), size = k->mat_bytes(type, EMBD, WIDE);
    uint8_t *work = rig_memory(work_size), *file = rig_memory(rig_file_bytes(type, EMBD, WIDE));
    struct kmat m = {type, EMBD, WIDE, rig_memory(size)};
    float *x = rig_memory(x_size), *y = rig_memory(y_size), *parts = rig_memory(x_size), *sums = rig_memory(x_size);
    float bias[EMBD], post[EMBD], one[EMBD], *b = biased ? bias : NULL;
    struct kdev *d = k->open(&cfg, NULL);
    rig_weights(dice, type, EMBD, WIDE, file);
    CHECK_EQ(k->mat_load(d, &m, 0, EMBD, file, NULL), 0);
    for (int i = 0; i < EMBD; i++) bias[i] = dice_float(dice, 1), post[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * WIDE; i++) y[i] = dice_float(dice, 1);
    for (int i = 0; i < rows * EMBD; i++) x[i] = parts[i] = dice_float(dice, 1);

    memset(sums, 0, x_size);
    CHECK_EQ(k->project(d, NULL, rows, &m, b, NULL, 0, y, sums, work, NULL), 0);
    memset(work, 0xff, work_size);
    for (int r = 0; r < rows; r++) {
        float *row = parts + r * EMBD;
        memcpy(one, row, sizeof one);
        CHECK_EQ(k->project(d, NULL, 1, &m, b, post, 1e-3f, y + r * WIDE, one, work, NULL), 0);
        isa->norm(sums + r * EMBD, post, EMBD, 1e-3f, sums + r * EMBD);
        for (int i = 0; i < EMBD; i++) row[i] += sums[r * EMBD + i];
        CHECK_MEM(one, row, sizeof one);
    }
    CHECK_EQ(k->project(d, NULL, rows, &m, b, post, 1e-3f, y, x, work, NULL), 0);
    CHECK_MEM(x, parts, x_size);

    k->close(d);
    rig_release(file, rig_file_bytes(type, EMBD, WIDE)), rig_release(m.dev_data, size), rig_release(work, work_size);
    rig_release(x, x_size), rig_release(y, y_size), rig_release(parts, x_size), rig_release(sums, x_size);
}

TEST(a_projection_that_is_normed_has_the_bits_of_its_parts_and_of_each_row_alone)
{
    static const enum ktype type[] = {KT_Q8_0, KT_Q4_0, KT_F16};
    static const int rows[] = {1, 9, 300};
    struct dice dice = {13};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (size_t r = 0; r < COUNT_OF(rows) - CHECK_SANITIZED && rig_isa(i); r++)
            for (size_t t = 0; t < COUNT_OF(type); t++)
                for (int threads = 1; threads <= 3; threads += 2)
                    check_post(&dice, rig_isa(i), threads, type[t], rows[r], dice_below(&dice, 2));
}

static void check_not_a_number(enum ktype kv)
{
    struct dice dice = {8};
    struct rig_shape s = {.embd = 64, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 96, .vocab = 50, .layers = 1,
                          .table = KT_Q8_0, .q = KT_Q8_0, .k = KT_Q4_1, .v = KT_Q8_0, .o = KT_Q8_0, .gate = KT_Q5_1,
                          .up = KT_Q4_0, .down = KT_Q8_0, .kv = kv, .post = kv == KT_F16, .scale = 0.2f};
    struct rig_model *m = rig_model(&dice, &s);
    const struct kern_config cfg = {.threads = 2};
    struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, 12, 12, 16);
    struct rig_rows rows = {.n = 12};
    for (int i = 0; i < rows.n; i++) rows.seq[i] = rows.out[i] = i, rows.token[i] = i;
    struct kern_batch b = rig_batch(r, &rows);
    rig_do(r, STEP_EMBED, 0, &b);
    r->x[5 * 64 + 40] = NAN;
    r->x[7 * 64 + 1] = -INFINITY;
    for (int step = STEP_ATTN_IN; step <= STEP_OUTPUT; step++) rig_do(r, (enum rig_step)step, 0, &b);
    for (int i = 0; i < rows.n * s.vocab; i++)
        CHECK(i / s.vocab == 5 || i / s.vocab == 7 ? isnan(r->logits[i]) : isfinite(r->logits[i]));
    rig_close(r);
    rig_model_free(m);
}

TEST(a_row_that_is_not_a_number_says_so_and_spoils_no_other)
{
    static const enum ktype kv[] = {KT_F32, KT_F16, KT_Q8_0};
    for (size_t i = 0; i < COUNT_OF(kv); i++) check_not_a_number(kv[i]);
}

CHECK_MAIN
