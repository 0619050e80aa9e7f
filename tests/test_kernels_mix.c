/* test_kernels_mix.c - mixtures of experts on the CPU backend: against the reference and the dense step, and rows in
 * any company. */
#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include "tests/lockstep.h"

enum { MATS = 7 }; /* gate, up, down, router; a shared expert's gate, up, down */
enum { SHAPES = CHECK_SANITIZED ? 1 : 9 };

TEST(every_step_agrees_with_the_reference_with_a_mixture_of_experts)
{
    struct dice dice = {15};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; round < SHAPES && rig_isa(i); round++) {
            struct rig_shape s = lockstep_mix(&dice, round % 3 == 2);
            const struct kern_config cfg = {.threads = 1 + round % 4, .isa = rig_isas[i]};
            lockstep(&dice, &s, kern_cpu(), &cfg, true, 2, 1e-5);
        }
}

TEST(every_step_agrees_with_the_reference_with_a_shared_expert_beside_the_mixture)
{
    struct dice dice = {16};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; round < SHAPES && rig_isa(i); round++) {
            struct rig_shape s = lockstep_shared(&dice, round % 3 == 2);
            const struct kern_config cfg = {.threads = 1 + round % 4, .isa = rig_isas[i]};
            lockstep(&dice, &s, kern_cpu(), &cfg, true, 2, 1e-5);
        }
}

struct mixture {
    int embd, ff, n, used, rows;
    enum ktype type[MATS];
    int shared; /* its width; 0: there is none */
};

struct step {
    const struct kern *k;
    struct kdev *d;
    struct kern_ffn ffn;
    struct kmat mat[MATS];
    float *norm, *let;
    uint8_t *work;
    size_t work_bytes;
    struct mixture s;
};

/* The workspace has nothing to spare, as all that a rig has. */
static struct step *step_open(struct dice *dice, const struct mixture *s, const struct kern_config *cfg)
{
    const int in[MATS] = {s->embd, s->embd, s->ff, s->embd, s->embd, s->embd, s->shared};
    const int out[MATS] = {s->n * s->ff, s->n * s->ff, s->n * s->embd, s->n, s->shared, s->shared, s->embd};
    const struct kern_dims dims = {.embd = s->embd, .ff = s->ff, .max_rows = s->rows, .experts = s->n, .used = s->used,
                                   .shared = s->shared};
    struct step *t = calloc(1, sizeof *t);
    CHECK(t);
    t->k = kern_cpu();
    t->s = *s;
    t->d = t->k->open(cfg, NULL);
    CHECK(t->d);
    for (int i = 0; i < (s->shared ? MATS : 4); i++) {
        uint8_t *file = rig_memory(rig_file_bytes(s->type[i], out[i], in[i]));
        rig_weights(dice, s->type[i], out[i], in[i], file);
        t->mat[i] = (struct kmat){s->type[i], out[i], in[i], rig_memory(t->k->mat_bytes(s->type[i], out[i], in[i]))};
        CHECK_EQ(t->k->mat_load(t->d, &t->mat[i], 0, out[i], file, NULL), 0);
        rig_release(file, rig_file_bytes(s->type[i], out[i], in[i]));
    }
    t->norm = rig_memory((size_t)s->embd * sizeof *t->norm);
    t->let = rig_memory((size_t)s->embd * sizeof *t->let);
    for (int i = 0; i < s->embd; i++) t->norm[i] = dice_float(dice, 1), t->let[i] = dice_float(dice, 0.1f);
    t->work_bytes = t->k->work_bytes(&dims);
    t->work = rig_memory(t->work_bytes);
    t->ffn = (struct kern_ffn){.dev_norm = t->norm, .eps = 1e-5f, .gate = t->mat[0], .up = t->mat[1],
                               .down = t->mat[2], .mix = {s->n, s->used, t->mat[3], NULL, s->used % 4 == 0},
                               .shared = {t->mat[4], t->mat[5], t->mat[6], t->let}};
    return t;
}

static void step_run(struct step *t, const struct kern_ffn *ffn, int rows, float *x)
{
    memset(t->work, 0xff, t->work_bytes);
    CHECK_EQ(t->k->ffn(t->d, NULL, rows, ffn, x, t->work, NULL), 0);
}

static void step_close(struct step *t)
{
    t->k->close(t->d);
    for (int i = 0; i < MATS; i++)
        if (t->mat[i].dev_data)
            rig_release(t->mat[i].dev_data, t->k->mat_bytes(t->mat[i].type, t->mat[i].rows, t->mat[i].cols));
    rig_release(t->norm, (size_t)t->s.embd * sizeof *t->norm);
    rig_release(t->let, (size_t)t->s.embd * sizeof *t->let);
    rig_release(t->work, t->work_bytes);
    free(t);
}

static float *rows_of(struct dice *dice, const struct mixture *s)
{
    float *x = rig_memory((size_t)(s->rows * s->embd) * sizeof *x);
    for (int i = 0; i < s->rows * s->embd; i++) x[i] = dice_float(dice, 1);
    return x;
}

static const struct mixture kinds[] = {
    {256, 512, 3, 2, 300, {KT_Q4_K, KT_Q4_K, KT_Q6_K, KT_F32}, 0},
    {160, 96, 9, 4, 70, {KT_Q8_0, KT_Q4_0, KT_Q5_1, KT_Q8_0}, 0},
    {64, 64, 40, 8, 33, {KT_F16, KT_Q8_0, KT_BF16, KT_F16}, 0},
    {96, 32, 70, KERN_USED, 5, {KT_F32, KT_F32, KT_Q5_0, KT_F32}, 0},
    {32, 32, KERN_EXPERTS, 2, 20, {KT_Q4_1, KT_Q5_0, KT_Q8_0, KT_F32}, 0},
    {256, 256, 3, 2, 300, {KT_Q4_K, KT_Q4_K, KT_Q6_K, KT_F32, KT_Q5_K, KT_Q4_K, KT_Q4_K}, 768},
    {64, 64, 20, 8, 33, {KT_F16, KT_F32, KT_BF16, KT_F16, KT_F32, KT_Q8_0, KT_F16}, 75},
    {96, 64, 9, 4, 70, {KT_Q8_0, KT_Q4_0, KT_Q5_1, KT_Q8_0, KT_Q4_0, KT_Q8_0, KT_Q8_0}, 32},
    {32, 96, KERN_EXPERTS, 2, 20, {KT_Q4_1, KT_Q5_0, KT_Q8_0, KT_F32, KT_F32, KT_F16, KT_F32}, 1},
    {32, 32, 2, 1, 33, {KT_F16, KT_F32, KT_F32, KT_F32, KT_F32, KT_F32, KT_F16}, 1000}, /* most of all that is needed */
};
enum { KINDS = COUNT_OF(kinds) };

/* Its weight is one. */
TEST(a_mixture_of_one_expert_has_the_bits_of_the_dense_step)
{
    struct dice dice = {31};
    for (int i = 0; i < KINDS; i++) {
        struct mixture s = kinds[i];
        s.n = s.used = 1, s.shared = 0;
        struct step *t = step_open(&dice, &s, &(struct kern_config){.threads = 1 + i % 3});
        const size_t bytes = (size_t)(s.rows * s.embd) * sizeof(float);
        float *x = rows_of(&dice, &s), *y = rig_memory(bytes);
        struct kern_ffn dense = t->ffn;
        dense.mix = (struct kern_mix){0};
        for (int rows = 1; rows <= s.rows; rows = rows < 10 ? rows + 1 : rows * 2 + 3) {
            float *before = rows_of(&dice, &s);
            memcpy(x, before, bytes);
            memcpy(y, before, bytes);
            step_run(t, &t->ffn, rows, x);
            step_run(t, &dense, rows, y);
            CHECK_MEM(x, y, bytes);
            CHECK(memcmp(x, before, bytes) != 0);
            rig_release(before, bytes);
        }
        rig_release(x, bytes), rig_release(y, bytes);
        step_close(t);
    }
}

/* What rows come to with an instruction set: all at once, or each alone. */
static void say(uint64_t seed, const struct mixture *s, const struct kern_config *cfg, bool alone, float *x)
{
    struct dice dice = {seed};
    struct step *t = step_open(&dice, s, cfg);
    float *before = rows_of(&dice, s);
    memcpy(x, before, (size_t)(s->rows * s->embd) * sizeof *x);
    if (!alone) step_run(t, &t->ffn, s->rows, x);
    for (int r = 0; alone && r < s->rows; r++) step_run(t, &t->ffn, 1, x + r * s->embd);
    rig_release(before, (size_t)(s->rows * s->embd) * sizeof *x);
    step_close(t);
}

/* Of 300 rows more go to an expert than it sums up at a time; of one row each expert has a tile to itself. */
TEST(a_row_has_the_same_bits_alone_and_beside_any_number_of_others_on_every_instruction_set)
{
    for (int k = 0; k < KINDS; k++) {
        struct mixture s = kinds[k];
        if (CHECK_SANITIZED) s.rows = MIN(s.rows, 40);
        const size_t bytes = (size_t)(s.rows * s.embd) * sizeof(float);
        float *right = rig_memory(bytes), *x = rig_memory(bytes);
        say(32, &s, &(struct kern_config){.threads = 1}, true, right);
        for (size_t i = 0; i < RIG_ISAS; i++) {
            if (!rig_isa(i)) continue;
            say(32, &s, &(struct kern_config){.threads = 1 + (int)i % 3, .isa = rig_isas[i]}, false, x);
            CHECK_MEM(x, right, bytes);
        }
        rig_release(right, bytes), rig_release(x, bytes);
    }
}

TEST(a_row_of_no_numbers_is_itself_none_and_leaves_the_others_alone)
{
    struct dice dice = {33};
    for (int i = 0; i < KINDS; i++) {
        struct mixture s = kinds[i];
        s.rows = 9;
        struct step *t = step_open(&dice, &s, &(struct kern_config){.threads = 2});
        const size_t row = (size_t)s.embd * sizeof(float), bytes = (size_t)s.rows * row;
        float *x = rows_of(&dice, &s), *y = rig_memory(bytes);
        memcpy(y, x, bytes);
        for (int c = 0; c < s.embd; c++) y[4 * s.embd + c] = NAN;
        step_run(t, &t->ffn, s.rows, x);
        step_run(t, &t->ffn, s.rows, y);
        for (int c = 0; c < s.embd; c++) CHECK(isnan(y[4 * s.embd + c]));
        CHECK_MEM(x, y, 4 * row);
        CHECK_MEM(x + 5 * s.embd, y + 5 * s.embd, 4 * row);
        rig_release(x, bytes), rig_release(y, bytes);
        step_close(t);
    }
}

/* Rows of a router that are the same: the first experts, by equal parts. */
TEST(equal_experts_are_chosen_from_the_first_on)
{
    struct dice dice = {34};
    const struct mixture s = {64, 32, 6, 2, 3, {KT_F32, KT_F32, KT_F32, KT_F32}, 0};
    struct step *t = step_open(&dice, &s, &(struct kern_config){.threads = 1});
    const size_t bytes = (size_t)(s.rows * s.embd) * sizeof(float);
    float *same = rig_memory((size_t)(s.n * s.embd) * sizeof *same);
    for (int i = 0; i < s.n * s.embd; i++) same[i] = 0.25f;
    CHECK_EQ(t->k->mat_load(t->d, &t->mat[3], 0, s.n, same, NULL), 0);
    float *before = rows_of(&dice, &s), *x = rig_memory(bytes), *y = rig_memory(bytes);
    memcpy(x, before, bytes), memcpy(y, before, bytes);
    step_run(t, &t->ffn, s.rows, x);
    struct kern_ffn two = t->ffn; /* the same among the first two alone: the others' rows begin behind theirs */
    two.mix.n = two.mix.router.rows = 2;
    two.gate.rows = two.up.rows = 2 * s.ff;
    two.down.rows = 2 * s.embd;
    step_run(t, &two, s.rows, y);
    CHECK_MEM(x, y, bytes);
    CHECK(memcmp(x, before, bytes) != 0);
    rig_release(before, bytes), rig_release(x, bytes), rig_release(y, bytes);
    rig_release(same, (size_t)(s.n * s.embd) * sizeof *same);
    step_close(t);
}

CHECK_MAIN
