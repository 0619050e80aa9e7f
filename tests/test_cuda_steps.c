/* test_cuda_steps.c - the CUDA kernels, compiled for the host (tests/cuda_on_cpu/): every step against the reference,
 * in every order of threads, and a row's bits in any company.
 *
 * Tolerances are those of test_kernels_cpu.c, with its reasons: both sides see the same integers, and what is left are
 * float sums and exp, tanh, sin and cos of the C library (of a GPU: within 2 units in the last place by CUDA's tables,
 * which ten times the bound holds as well). */
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/lockstep.h"

enum { SHAPES = CHECK_SANITIZED ? 3 : 12, SAME_SHAPES = CHECK_SANITIZED ? 1 : 3 };

TEST(every_step_agrees_with_the_reference_in_every_order_of_threads)
{
    struct dice dice = {4};
    for (int round = 0; round < SHAPES; round++) {
        struct rig_shape s = lockstep_shape(&dice, round % 3 == 0);
        shim_order(round % 3);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

TEST(every_type_agrees_with_the_reference_in_every_place)
{
    struct dice dice = {5};
    for (size_t t = 0; t < RIG_TYPES; t += 1 + CHECK_SANITIZED) {
        enum ktype y = rig_types[t];
        struct rig_shape s = {.embd = 256, .heads = 2, .kv_heads = 1, .head_dim = 128, .ff = 512, .vocab = 70,
                              .layers = 1, .table = y, .q = y, .k = y, .v = y, .o = y, .gate = y, .up = y, .down = y,
                              .kv = t % 3 == 0 ? KT_F32 : t % 3 == 1 ? KT_F16 : KT_Q8_0, .rope = 64, .neox = true,
                              .scale = 0.09f};
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

TEST(every_step_agrees_with_the_reference_in_gemma_s_shapes)
{
    struct dice dice = {14};
    for (int which = 0; which < LOCKSTEP_GEMMAS; which += 1 + 2 * CHECK_SANITIZED) {
        struct rig_shape s = lockstep_gemma(which);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

TEST(every_step_agrees_with_the_reference_where_norms_come_late_and_q_is_tempered)
{
    struct dice dice = {16};
    for (int which = 0; which < LOCKSTEP_LATES; which++) {
        struct rig_shape s = lockstep_late(which);
        shim_order(which % 3);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

/* Seeds whose shapes are small, of many experts, and of matrices and routers of several types. */
TEST(every_step_agrees_with_the_reference_in_a_mixture_of_experts)
{
    static const struct { uint64_t seed; bool floats; } from[] = {{54, true}, {23, false}, {165, false}, {198, false}};
    for (size_t i = 0; i < COUNT_OF(from) - CHECK_SANITIZED; i++) {
        struct dice dice = {from[i].seed};
        struct rig_shape s = lockstep_mix(&dice, from[i].floats);
        s.layers = 1, s.turns = false;
        shim_order((int)i % 3);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

/* Seeds whose shapes are small, and whose shared experts are of other widths and types than the rest. */
TEST(every_step_agrees_with_the_reference_in_a_mixture_with_a_shared_expert)
{
    static const struct { uint64_t seed; bool floats; } from[] = {{172, true}, {42, false}, {276, true}, {245, false}};
    for (size_t i = 0; i < COUNT_OF(from) - CHECK_SANITIZED; i++) {
        struct dice dice = {from[i].seed};
        struct rig_shape s = lockstep_shared(&dice, from[i].floats);
        s.layers = 1, s.turns = false;
        CHECK(s.shared > 0 && s.shared != s.ff);
        shim_order((int)i % 3);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

/* Seeds whose shapes are small: mixtures and not, with sinks, biases and the act, and MXFP4 where not of floats. */
TEST(every_step_agrees_with_the_reference_in_gpt_oss_s_shapes)
{
    static const struct { uint64_t seed; bool floats; } from[] = {{387, true}, {591, true}, {64, false}, {530, false},
                                                                  {536, false}, {416, false}};
    for (size_t i = 0; i < COUNT_OF(from) - CHECK_SANITIZED; i++) {
        struct dice dice = {from[i].seed};
        struct rig_shape s = lockstep_oss(&dice, from[i].floats);
        CHECK(s.sinks && s.ffn_bias && s.act == KERN_OSS);
        s.layers = 1, s.turns = false;
        shim_order((int)i % 3);
        lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
    }
}

/* From 2^-127, of which half is no normal float, to what is no number. */
TEST(values_of_mxfp4_of_every_scale_are_those_of_its_decoder)
{
    enum { SCALES = 256, COLS = 32, BYTES = 17, ROWS = 64 };
    struct dice dice = {16};
    const struct rig_shape s = {.embd = COLS, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = 32, .vocab = SCALES,
                                .layers = 1, .table = KT_MXFP4, .kv = KT_F32};
    struct rig_model *m = rig_model(&dice, &s);
    float right[COLS];
    for (int e = 0; e < SCALES; e++)
        for (int i = 0; i < BYTES; i++)
            m->file[RIG_TABLE][e * BYTES + i] = (uint8_t)(i ? (i - 1) * 15 + e : e);
    struct rig *r = rig_open(&dice, m, kern_cuda(), NULL, ROWS, 1, ROWS);
    for (int from = 0; from < SCALES; from += ROWS) {
        struct rig_rows rows = {.n = ROWS};
        for (int i = 0; i < ROWS; i++) rows.token[i] = from + i, rows.pos[i] = i;
        const struct kern_batch b = rig_batch(r, &rows);
        rig_do(r, STEP_EMBED, 0, &b);
        for (int i = 0; i < ROWS; i++) {
            quant_decode(KT_MXFP4, m->file[RIG_TABLE] + (from + i) * BYTES, right, COLS);
            for (int c = 0; c < COLS; c++) {
                const float got = r->x[i * COLS + c], want = right[c] * 3.5f; /* as rig_do() scales it */
                CHECK(isnan(want) ? isnan(got) : got == want);
            }
        }
    }
    rig_close(r);
    rig_model_free(m);
}

/* A norm has 1024 threads at most, so that some of these have more of a row than others. */
TEST(rows_of_more_values_than_a_block_has_threads_agree_with_the_reference)
{
    struct dice dice = {15};
    struct rig_shape s = {.embd = 2500, .heads = 1, .kv_heads = 1, .head_dim = 16, .ff = 9, .vocab = 40, .layers = 1,
                          .table = KT_F16, .q = KT_F16, .k = KT_F16, .v = KT_F16, .o = KT_F16, .gate = KT_F16,
                          .up = KT_F16, .down = KT_F16, .kv = KT_F32, .scale = 0.25f, .bias = true, .post = true};
    lockstep(&dice, &s, kern_cuda(), NULL, true, 2, 1e-5);
}

/* As the reference does: a fault in one of the tokens seen is not lost, whichever lane and warp come upon it, and a
 * token of score -inf has no weight, unless it is alone, without a sink even. */
TEST(attention_over_a_token_that_is_not_a_number_or_infinite_is_that_of_the_reference)
{
    enum { ROWS = 40, DIM = 32, BADS = 3 };
    static const float bads[BADS] = {NAN, INFINITY, -INFINITY};
    struct dice dice = {6};
    struct rig_shape s = {.embd = 32, .heads = 1, .kv_heads = 1, .head_dim = DIM, .ff = 32, .vocab = 40, .layers = 1,
                          .kv = KT_F32, .scale = 0.2f};
    struct rig_model *m = rig_model(&dice, &s);
    struct rig *r = rig_open(&dice, m, kern_cuda(), NULL, ROWS, 1, ROWS);
    struct rig_rows rows = {.n = ROWS};
    for (int i = 0; i < ROWS; i++) rows.token[i] = i, rows.pos[i] = i, rows.out[i] = i;
    struct kern_batch b = rig_batch(r, &rows);
    rig_do(r, STEP_EMBED, 0, &b);
    rig_do(r, STEP_ATTN_IN, 0, &b);
    rig_do(r, STEP_ATTN, 0, &b);
    for (int i = 0; i < ROWS * DIM; i++) CHECK(isfinite(r->att[i]));
    for (int i = 0; i < 2 * BADS * ROWS; i++) {
        const int bad = i % ROWS;
        char *page = (char *)r->slab[0] + (size_t)r->table[0][bad / KERN_PAGE] * r->group[0].page_bytes;
        float *k = (float *)(void *)page + bad % KERN_PAGE, was = *k; /* dim 0 */
        *k = bads[i / ROWS % BADS];
        m->s.sinks = i >= BADS * ROWS;
        rig_do(r, STEP_ATTN, 0, &b);
        for (int at = 0; at < ROWS * DIM; at++) {
            const int row = at / DIM;
            const bool low = r->q[row * DIM] * *k < 0 && isinf(*k);
            CHECK(!isnan(r->att[at]) == (row < bad || (low && (row > 0 || m->s.sinks))));
        }
        *k = was;
    }
    rig_close(r);
    rig_model_free(m);
}

/* ------------------------------------------------------- a row's bits in any company */

enum { SEQS = 2, LEN = 70, CTX = 80 };

/* Logits of every token of every sequence, in passes whose rows are drawn; dice NULL: one token at a time. */
static float *say_all(struct rig *r, struct dice *dice)
{
    const size_t vocab = (size_t)r->model->s.vocab;
    float *logits = malloc(SEQS * LEN * vocab * sizeof *logits);
    int len[SEQS] = {0};
    CHECK(logits);
    for (int left = SEQS * LEN; left > 0;) {
        struct rig_rows rows = {0};
        for (int s = 0; s < SEQS; s++) {
            int n = dice ? dice_below(dice, 30) : left % SEQS == s;
            for (n = MIN(n, LEN - len[s]); n > 0 && rows.n < r->max_rows; n--, rows.n++) {
                rows.token[rows.n] = (s * 7919 + len[s] * 104729 + 13) % (int)vocab;
                rows.pos[rows.n] = len[s]++, rows.seq[rows.n] = s, rows.out[rows.n] = rows.n;
            }
        }
        if (!rows.n && dice) continue;
        for (int s = 0; s < SEQS && !rows.n; s++)
            if (len[s] < LEN) {
                rows = (struct rig_rows){.n = 1, .token = {(s * 7919 + len[s] * 104729 + 13) % (int)vocab},
                                         .pos = {len[s]}, .seq = {s}};
                len[s]++;
            }
        struct kern_batch b = rig_batch(r, &rows);
        rig_forward(r, &b);
        for (int i = 0; i < rows.n; i++)
            memcpy(logits + (size_t)(rows.seq[i] * LEN + rows.pos[i]) * vocab, r->logits + (size_t)i * vocab,
                   vocab * sizeof *logits);
        left -= rows.n;
    }
    return logits;
}

TEST(a_row_has_the_same_bits_alone_or_in_company_in_every_order_of_threads)
{
    struct dice dice = {7};
    const struct rig_shape mixed = {.embd = 64, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 32, .vocab = 40,
                                    .table = KT_Q8_0, .q = KT_Q8_0, .k = KT_Q8_0, .v = KT_Q8_0, .o = KT_Q8_0,
                                    .gate = KT_Q4_0, .up = KT_MXFP4, .down = KT_Q5_1, .kv = KT_F16, .scale = 0.2f,
                                    .experts = 9, .used = 3, .router = KT_F32, .act = KERN_OSS, .sinks = true,
                                    .ffn_bias = true};
    const struct rig_shape late = lockstep_late(0);
    for (int round = 0; round <= SAME_SHAPES + 1; round++) {
        struct rig_shape s = round < SAME_SHAPES ? lockstep_shape(&dice, round % 3 == 2)
                                                 : round == SAME_SHAPES ? mixed : late;
        s.window = round % 2 ? 20 + dice_below(&dice, 30) : 0;
        s.layers = 1, s.turns = false, s.post = round != 1;
        struct rig_model *m = rig_model(&dice, &s);
        const size_t size = (size_t)(SEQS * LEN * s.vocab) * sizeof(float);
        struct rig *one = rig_open(&dice, m, kern_cuda(), NULL, 1, SEQS, CTX);
        float *first = say_all(one, NULL);
        rig_close(one);
        for (int order = 0; order < 3; order++) {
            struct rig *r = rig_open(&dice, m, kern_cuda(), NULL, 2 + dice_below(&dice, 39), SEQS, CTX);
            shim_order(order);
            float *now = say_all(r, &dice);
            CHECK_MEM(first, now, size);
            free(now);
            rig_close(r);
        }
        for (size_t i = 0; i < size / sizeof(float); i++) CHECK(isfinite(first[i]));
        free(first);
        rig_model_free(m);
    }
}

enum { FEW = 4, MANY = 48, LONG = 1300, WIDE = 64 * 16 };

/* The pages of one sequence, and each head's query. */
static void fill_long(struct dice *dice, struct rig *judge, struct rig *r)
{
    for (int from = 0; from < LONG; from += MANY) {
        struct rig_rows rows = {.n = MIN(MANY, LONG - from)};
        for (int i = 0; i < rows.n; i++) rows.token[i] = (from + i) * 7 % r->model->s.vocab, rows.pos[i] = from + i;
        const struct kern_batch a = rig_batch(judge, &rows), b = rig_batch(r, &rows);
        rig_do(judge, STEP_EMBED, 0, &a), rig_do(judge, STEP_ATTN_IN, 0, &a);
        memcpy(r->x, judge->x, (size_t)(rows.n * r->model->s.embd) * sizeof(float));
        rig_do(r, STEP_ATTN_IN, 0, &b);
    }
    for (int i = 0; i < MANY * WIDE; i++) judge->q[i] = r->q[i] = dice_float(dice, 1);
}

/* Few long rows' spans are blocks' of their own, those of many are not (gpu.h: GPU_SPAN, GPU_PARTS; 64 heads and three
 * spans: 42 rows at most).  Sinks are of about as much weight as all tokens.  Tolerance: sums of 1300 terms in another
 * order. */
TEST(a_long_row_s_attention_has_the_same_bits_whoever_takes_its_spans_and_is_the_reference_s)
{
    static const int32_t at[FEW] = {LONG - 1, 1024, 512, 1023};
    for (int round = 0; round < 2 - CHECK_SANITIZED; round++) {
        struct dice dice = {13}, same = {13};
        struct rig_shape s = {.embd = 32, .heads = 64, .kv_heads = 16, .head_dim = 16, .ff = 32, .vocab = 40,
                              .layers = 1, .kv = KT_F32, .scale = 0.5f, .window = round ? 700 : 0,
                              .attn_cap = round ? 5 : 0};
        struct rig_model *m = rig_model(&dice, &s);
        for (int h = 0; h < s.heads; h++) m->more_bias[h] += 7;
        struct rig *judge = rig_open(&dice, m, kern_ref(), NULL, MANY, 1, LONG);
        struct rig *r = rig_open(&same, m, kern_cuda(), NULL, MANY, 1, LONG);
        float few[FEW * WIDE];
        fill_long(&dice, judge, r);
        for (int sinks = 0; sinks < 2; sinks++) {
            struct rig_rows rows = {.n = FEW};
            m->s.sinks = sinks;
            for (int i = 0; i < MANY; i++) rows.pos[i] = i < FEW ? at[i] : i;
            struct kern_batch a = rig_batch(judge, &rows), b = rig_batch(r, &rows);
            rig_do(judge, STEP_ATTN, 0, &a), rig_do(r, STEP_ATTN, 0, &b);
            memcpy(few, r->att, sizeof few);
            for (int i = 0; i < FEW * WIDE; i++)
                CHECK_NEAR(few[i], judge->att[i], 1e-4 * (1 + fabs((double)judge->att[i])));
            rows.n = MANY;
            b = rig_batch(r, &rows);
            rig_do(r, STEP_ATTN, 0, &b);
            CHECK_MEM(few, r->att, sizeof few);
        }
        rig_close(judge), rig_close(r);
        rig_model_free(m);
    }
}

/* ------------------------------------------------------------------- what goes wrong */

TEST(a_call_of_cuda_that_fails_is_one_line_and_leaves_nothing_taken)
{
    struct dice dice = {11};
    struct rig_shape s = {.embd = 64, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 64, .vocab = 40, .layers = 1,
                          .table = KT_Q8_0, .q = KT_Q8_0, .k = KT_Q8_0, .v = KT_Q8_0, .o = KT_Q8_0, .gate = KT_Q8_0,
                          .up = KT_Q8_0, .down = KT_Q8_0, .kv = KT_F16, .scale = 0.2f};
    const struct kern *k = kern_cuda();
    struct rig_model *m = rig_model(&dice, &s);
    int failed = 0;
    for (long at = 1;; at++) {
        struct err err = {0};
        shim_fail(at, SHIM_UNKNOWN);
        struct kdev *d = k->open(NULL, &err);
        void *slab = d ? k->take(d, 4096, &err) : NULL;
        char text[64] = "plimsoll", back[64] = "";
        int rc = slab ? k->upload(d, NULL, slab, text, sizeof text, &err) : -1;
        if (!rc) rc = k->fetch(d, NULL, back, slab, sizeof back, &err);
        if (!rc) CHECK_STR(back, "plimsoll");
        if (d) k->give(d, slab, 4096), k->close(d);
        bool all = !shim_failed();
        shim_fail(0, 0);
        CHECK_EQ(shim_bytes() + shim_kept(), 0);
        if (all) break;
        failed++;
        if (rc) {
            CHECK(strstr(err.text, "CUDA") != NULL || strstr(err.text, "device memory") != NULL);
            CHECK(strchr(err.text, '\n') == NULL);
        }
    }
    CHECK(failed > 8);
    rig_model_free(m);
}

TEST(every_call_of_a_pass_may_fail_and_says_which_step_it_was)
{
    struct dice dice = {12};
    struct rig_shape s = {.embd = 64, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 64, .vocab = 40, .layers = 1,
                          .table = KT_Q8_0, .q = KT_Q8_0, .k = KT_Q8_0, .v = KT_Q8_0, .o = KT_Q8_0, .gate = KT_Q8_0,
                          .up = KT_Q8_0, .down = KT_Q8_0, .kv = KT_F16, .scale = 0.2f, .experts = 3, .used = 2,
                          .router = KT_F32, .shared = 96, .shared_gate = KT_Q8_0, .shared_up = KT_Q8_0,
                          .shared_down = KT_Q8_0};
    const struct kern *k = kern_cuda();
    struct rig_model *m = rig_model(&dice, &s);
    struct rig *r = rig_open(&dice, m, k, NULL, 4, 1, 16);
    struct rig_rows rows = {.n = 3, .token = {1, 2, 3}, .pos = {0, 1, 2}};
    struct kern_batch b = rig_batch(r, &rows);
    float *x = rig_there(r, r->x), *q = rig_there(r, r->q), *att = rig_there(r, r->att);
    const float *post = rig_there(r, m->post);
    void *work = rig_there(r, r->work);
    const struct kern_ffn ffn = {.dev_norm = rig_there(r, m->norm), .eps = 1e-5f, .gate = r->mat[RIG_GATE],
                                 .up = r->mat[RIG_UP], .down = r->mat[RIG_DOWN], .act = KERN_SILU,
                                 .mix = {s.experts, s.used, r->mat[RIG_ROUTER], NULL, false},
                                 .shared = {r->mat[RIG_SHARED_GATE], r->mat[RIG_SHARED_UP], r->mat[RIG_SHARED_DOWN],
                                            post}};
    int failed = 0;
    for (long at = 1;; at++) {
        struct err err = {0};
        shim_fail(at, SHIM_LAUNCH_FAILURE);
        int rc = k->begin(r->d, NULL, &b, work, &err);
        if (!rc) rc = k->embed(r->d, NULL, &b, &r->mat[RIG_TABLE], 1, x, &err);
        if (!rc) rc = k->project(r->d, NULL, 3, &r->mat[RIG_O], NULL, post, 0, x, q, work, &err);
        if (!rc) rc = k->attn(r->d, NULL, &b, &r->group[0], 0, 0, s.heads, 1, 0, NULL, q, att, work, &err);
        if (!rc) rc = k->ffn(r->d, NULL, 3, &ffn, x, work, &err);
        if (!rc) rc = k->fetch(r->d, NULL, NULL, NULL, 0, &err);
        bool all = !shim_failed();
        shim_fail(0, 0);
        CHECK_EQ(rc, all ? 0 : -1);
        if (all) break;
        failed++;
        CHECK(strstr(err.text, "cudaErrorLaunchFailure") && strstr(err.text, "use --backend cpu"));
    }
    CHECK(failed > 33); /* a launch is two calls */
    rig_close(r);
    rig_model_free(m);
}

TEST(open_refuses_a_device_that_is_not_there_and_says_what_it_runs_on)
{
    const struct kern *k = kern_cuda();
    struct err err = {0};
    const struct kern_config cfg = {.device = 3};
    shim_machine(1, 13000);
    CHECK(k->open(&cfg, &err) == NULL);
    CHECK_STR(err.text, "there is no CUDA device 3: this machine has 1, counted from 0; name one by --device, or use "
                        "--backend cpu");
    struct kdev *d = k->open(NULL, &err);
    if (shim_made_up()) {
        CHECK_STR(k->describe(d), "a CPU (sm_90, 4 multiprocessors, driver 13.0), exact");
        CHECK_STR(k->numerics(d), "cuda 2 sm_90");
    }
    CHECK_STR(k->mat_kernel(d, KT_Q4_K), "cuda dp4a and mma int8, exact");
    CHECK_STR(k->mat_kernel(d, KT_F16), "cuda fp32 fma, exact");
    CHECK_STR(k->mat_kernel(d, KT_IQ3_S), "none");
    uint64_t free_bytes = 0, all = 0;
    CHECK_EQ(k->memory(d, &free_bytes, &all, &err), 0);
    CHECK(shim_made_up() ? free_bytes == all - shim_driver() : free_bytes > 0 && free_bytes <= all);
    CHECK(shim_made_up() ? k->context(d) == shim_driver() : k->context(d) > 0);
    CHECK(k->take(d, (size_t)1 << 50, &err) == NULL);
    CHECK(strstr(err.text, "cudaErrorMemoryAllocation") && strstr(err.text, "MiB are free"));
    k->close(d);
}

TEST(open_says_that_there_is_no_driver_or_no_device_or_one_without_kernels)
{
    const struct kern *k = kern_cuda();
    struct err err = {0};
    shim_machine(1, 0);
    CHECK(k->open(NULL, &err) == NULL);
    CHECK_STR(err.text, "this machine has no CUDA driver; use --backend cpu");
    shim_machine(0, 13000);
    CHECK(k->open(NULL, &err) == NULL);
    CHECK_STR(err.text, "this machine has no CUDA device; use --backend cpu");
    shim_machine(1, 13000);
    shim_arch(7);
    CHECK(k->open(NULL, &err) == NULL);
    if (shim_made_up())
        CHECK_STR(err.text, "CUDA device 0 (a CPU) is of sm_70, for which the object beside the program has no kernels: "
                            "build it with CUDA_ARCH=70 where nvcc knows that, or use --backend cpu");
    CHECK(strstr(err.text, ", for which the object beside the program has no kernels: build it with CUDA_ARCH="));
    shim_arch(9);
    shim_machine(1, 12080);
    CHECK(k->open(NULL, &err) == NULL);
    CHECK_STR(err.text, "the driver is too old: it serves CUDA 12.8, these kernels need 13.0 or later: bring it up to "
                        "date, or use --backend cpu");
    shim_machine(1, 13000);
    shim_fail(2, SHIM_UNKNOWN);
    CHECK(k->open(NULL, &err) == NULL);
    CHECK(strstr(err.text, "CUDA's driver does not answer: ") && strstr(err.text, "; use --backend cpu"));
    shim_fail(0, 0);
}

TEST(of_several_devices_the_one_with_most_memory_free_is_opened_unless_one_is_named)
{
    const struct kern *k = kern_cuda();
    struct err err = {0};
    const size_t before = shim_driver();
    if (!shim_made_up()) SKIP("asks for a machine with three devices: the shim's");
    shim_machine(3, 13000);
    shim_taken_of(0, (size_t)2 << 30), shim_taken_of(1, (size_t)1 << 30), shim_taken_of(2, (size_t)3 << 30);
    const struct kern_config best = {.device = -1}, third = {.device = 2};
    struct kdev *d = k->open(&best, &err);
    CHECK_STR(err.text, "");
    const size_t one = shim_driver();
    CHECK(one > before); /* the context of the one that was chosen, not one of each */
    k->close(d);
    d = k->open(&(struct kern_config){.device = 1}, &err);
    CHECK_EQ(shim_driver(), one);
    k->close(d);
    d = k->open(&third, &err);
    CHECK(shim_driver() > one);
    k->close(d);
    shim_management(false);
    d = k->open(&best, &err); /* nobody says: the first */
    CHECK(d);
    k->close(d);
    shim_management(true);
    for (int i = 0; i < 3; i++) shim_taken_of(i, 0);
    shim_machine(1, 13000);
}

CHECK_MAIN
