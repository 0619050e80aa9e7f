/* test_cuda_fast.c - --fast on the CUDA kernels, compiled for the host (tests/cuda_on_cpu/), where a plain product
 * answers for cuBLASLt: large products are its, within their bound; small ones, and all where it is not there or not
 * shown right, are those of the exact mode, bit for bit. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/rig.h"
#include "tests/tiny_model.h"
#include <math.h>

enum { TOKENS = 40 };
static const struct engine_ops *const ops = &engine_local;

/* ------------------------------------------------------------------------- products */

static const float eps = 1e-4f;

/* x += w y0 + bias, normed by post unless that is NULL, by project(), of so many tokens. */
static void project(const struct kern *k, const struct rig_shape *s, enum ktype type, const uint8_t *file, int tokens,
                    const float *y0, const float *bias, const float *post, float *x)
{
    const struct kern_dims dims = {.embd = s->embd, .heads = s->heads, .kv_heads = s->kv_heads,
                                   .head_dim = s->head_dim, .ff = s->ff, .vocab = s->vocab, .max_rows = TOKENS,
                                   .max_outs = TOKENS, .max_ctx = 64, .max_seqs = 1};
    const int cols = s->heads * s->head_dim;
    static const int32_t zero[TOKENS];
    const struct kern_batch b = {.rows = tokens, .token = zero, .pos = zero, .seq = zero, .seqs = 1, .groups = 1,
                                 .table = {zero}, .stride = 1, .out_row = zero};
    const size_t n_x = (size_t)tokens * (size_t)s->embd * 4, n_y = (size_t)tokens * (size_t)cols * 4;
    struct err err = {0};
    shim_apart();
    struct kdev *d = k->open(NULL, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(k->ready(d, &dims, &err), 0);
    void *work = k->take(d, k->work_bytes(&dims), &err);
    struct kmat m = {type, s->embd, cols, k->take(d, k->mat_bytes(type, s->embd, cols), &err)};
    float *dx = k->take(d, n_x, &err), *dy = k->take(d, n_y, &err), *db = k->take(d, (size_t)s->embd * 4, &err);
    float *dp = k->take(d, (size_t)s->embd * 4, &err);
    int rc = k->mat_load(d, &m, 0, s->embd, file, &err);
    if (!rc) rc = k->upload(d, NULL, dx, x, n_x, &err);
    if (!rc) rc = k->upload(d, NULL, dy, y0, n_y, &err);
    if (!rc) rc = k->upload(d, NULL, db, bias, (size_t)s->embd * 4, &err);
    if (!rc && post) rc = k->upload(d, NULL, dp, post, (size_t)s->embd * 4, &err);
    if (!rc) rc = k->begin(d, NULL, &b, work, &err);
    if (!rc) rc = k->project(d, NULL, tokens, &m, db, post ? dp : NULL, eps, dy, dx, work, &err);
    if (!rc) rc = k->fetch(d, NULL, x, dx, n_x, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    k->give(d, dx, 1), k->give(d, dy, 1), k->give(d, db, 1), k->give(d, m.dev_data, 1), k->give(d, work, 1);
    k->give(d, dp, 1);
    k->close(d);
    CHECK_EQ(shim_bytes() + shim_kept() + (size_t)shim_blas_objects(), 0);
}

static size_t file_bytes(enum ktype type, int rows, int cols)
{
    const struct ktype_info *t = ktype_info((uint32_t)type);
    return (size_t)rows * (size_t)(cols / t->block) * (size_t)t->bytes;
}

/* Tokens of all magnitudes: some of them overflow a half, some are below its least. */
static void throw_tokens(struct dice *dice, float *y, int tokens, int cols)
{
    static const float scale[] = {1, 1e6f, 1e-9f, 300, 0};
    for (int t = 0; t < tokens; t++)
        for (int c = 0; c < cols; c++) y[t * cols + c] = dice_float(dice, scale[t % (int)COUNT_OF(scale)]);
}

/* The bound of blas.cu: 2^-10 of the sum of |w x| (a little more, for products of both), 2^-24 a sum of k, and what
 * rounding the result itself does; what is below 2^-14, the least half, has an error of 2^-25 instead, a weight as it
 * is and a token's value as it is scaled. */
TEST(large_products_are_within_the_bound_of_their_halves_for_every_type)
{
    static const enum ktype types[] = {KT_F16, KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1, KT_Q4_K, KT_Q5_K, KT_Q6_K,
                                       KT_MXFP4, KT_IQ4_NL, KT_IQ4_XS, KT_Q3_K, KT_Q2_K};
    enum { EMBD = 300, COLS = 256 }; /* more rows than a tile of such sizes has */
    const struct rig_shape s = {.embd = EMBD, .heads = 2, .kv_heads = 1, .head_dim = COLS / 2, .ff = 64, .vocab = 40};
    static float y0[TOKENS * COLS], x[TOKENS * EMBD], got[TOKENS * EMBD], w[EMBD * COLS], bias[EMBD];
    struct dice dice = {31};
    shim_blas_shown(true);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        uint8_t *file = malloc(file_bytes(types[i], EMBD, COLS));
        const long calls = shim_blas_calls();
        rig_weights(&dice, types[i], EMBD, COLS, file);
        quant_decode(types[i], file, w, EMBD * COLS);
        throw_tokens(&dice, y0, TOKENS, COLS);
        for (int j = 0; j < TOKENS * EMBD; j++) x[j] = dice_float(&dice, 1);
        for (int j = 0; j < EMBD; j++) bias[j] = dice_float(&dice, 1);
        memcpy(got, x, sizeof got);
        shim_order((int)i % 3);
        project(kern_cuda_fast(), &s, types[i], file, TOKENS, y0, bias, NULL, got);
        CHECK(shim_blas_calls() > calls);
        for (int t = 0; t < TOKENS; t++)
            for (int r = 0; r < EMBD; r++) {
                const double before = (double)x[t * EMBD + r], more = (double)bias[r], size = fabs(before) + fabs(more);
                double sum = before + more, top = 0, of = 0, ws = 0, xs = 0;
                for (int c = 0; c < COLS; c++) {
                    const double a = (double)w[r * COLS + c], b = (double)y0[t * COLS + c];
                    sum += a * b, of += fabs(a * b), top = fmax(top, fabs(b)), ws += fabs(a), xs += fabs(b);
                }
                const double bound = of * (0x1.01p-10 + COLS * 0x1p-24) + (size + of) * 0x1p-22 +
                                     ws * top * 0x1.01p-24 + xs * 0x1.01p-25;
                const double off = fabs((double)got[t * EMBD + r] - sum);
                if (off > bound) printf("type %d, token %d: off by %g, not %g\n", types[i], t, off, bound);
                CHECK(off <= bound);
            }
        free(file);
    }
    shim_order(0);
    shim_blas_shown(false);
}

/* What the library made, normed by double sums here. */
TEST(a_large_product_that_is_normed_is_the_norm_of_the_one_that_is_not)
{
    enum { EMBD = 75, COLS = 64 };
    const struct rig_shape s = {.embd = EMBD, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 64, .vocab = 40};
    static float y0[TOKENS * COLS], bias[EMBD], post[EMBD], sums[TOKENS * EMBD], x[TOKENS * EMBD], got[TOKENS * EMBD];
    static uint8_t file[EMBD * COLS * 4];
    struct dice dice = {33};
    const long calls = shim_blas_calls();
    shim_blas_shown(true);
    rig_weights(&dice, KT_Q8_0, EMBD, COLS, file);
    throw_tokens(&dice, y0, TOKENS, COLS);
    for (int i = 0; i < EMBD; i++) bias[i] = dice_float(&dice, 0.1f), post[i] = dice_float(&dice, 1);
    for (int i = 0; i < TOKENS * EMBD; i++) got[i] = x[i] = dice_float(&dice, 1);
    project(kern_cuda_fast(), &s, KT_Q8_0, file, TOKENS, y0, bias, NULL, sums);
    project(kern_cuda_fast(), &s, KT_Q8_0, file, TOKENS, y0, bias, post, got);
    CHECK(shim_blas_calls() >= calls + 2);
    for (int t = 0; t < TOKENS; t++) {
        double square = 0;
        for (int i = t * EMBD; i < (t + 1) * EMBD; i++) square += (double)sums[i] * (double)sums[i];
        for (int i = t * EMBD; i < (t + 1) * EMBD; i++) {
            const double more = (double)sums[i] / sqrt(square / EMBD + (double)eps) * (double)post[i % EMBD];
            CHECK_NEAR(got[i], (double)x[i] + more, (fabs((double)x[i]) + fabs(more)) * 0x1p-22);
        }
    }
    shim_blas_shown(false);
}

TEST(what_is_small_or_of_floats_or_not_shown_or_without_the_library_is_exact_bit_for_bit)
{
    enum { EMBD = 64, COLS = 64 };
    const struct rig_shape s = {.embd = EMBD, .heads = 2, .kv_heads = 1, .head_dim = 32, .ff = 64, .vocab = 40};
    static const struct way { enum ktype type; int tokens; bool shown, there; } ways[] = {
        {KT_Q8_0, 31, true, true}, {KT_F32, TOKENS, true, true}, {KT_BF16, TOKENS, true, true},
        {KT_Q8_0, TOKENS, false, true}, {KT_Q8_0, TOKENS, true, false}};
    static float y0[TOKENS * COLS], bias[EMBD], exact[TOKENS * EMBD], fast[TOKENS * EMBD];
    static uint8_t file[EMBD * COLS * 4];
    struct dice dice = {32};
    const long calls = shim_blas_calls();
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        rig_weights(&dice, ways[i].type, EMBD, COLS, file);
        throw_tokens(&dice, y0, TOKENS, COLS);
        memset(exact, 0, sizeof exact), memset(fast, 0, sizeof fast);
        shim_blas_shown(ways[i].shown), shim_blas_there(ways[i].there);
        project(kern_cuda(), &s, ways[i].type, file, ways[i].tokens, y0, bias, NULL, exact);
        project(kern_cuda_fast(), &s, ways[i].type, file, ways[i].tokens, y0, bias, NULL, fast);
        CHECK_MEM(exact, fast, sizeof exact);
    }
    CHECK_EQ(shim_blas_calls(), calls);
    shim_blas_shown(false), shim_blas_there(true);
}

/* Where company could change a logit's last bit it could change the choice of experts. */
TEST(a_mixture_of_experts_is_exact_bit_for_bit)
{
    enum { EMBD = 64 };
    const struct rig_shape s = {.embd = EMBD, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = 64, .vocab = 40,
                                .layers = 1, .gate = KT_Q8_0, .up = KT_Q8_0, .down = KT_MXFP4, .experts = 2, .used = 2,
                                .router = KT_F16, .act = KERN_OSS, .ffn_bias = true};
    static float x[TOKENS * EMBD], exact[TOKENS * EMBD];
    const struct rig_rows rows = {.n = TOKENS};
    struct dice dice = {34};
    struct rig_model *m = rig_model(&dice, &s);
    const long calls = shim_blas_calls();
    shim_blas_shown(true), shim_apart();
    rig_apart = true;
    for (int i = 0; i < TOKENS * EMBD; i++) x[i] = dice_float(&dice, 1);
    for (int fast = 0; fast < 2; fast++) {
        struct rig *r = rig_open(&dice, m, fast ? kern_cuda_fast() : kern_cuda(), NULL, TOKENS, 1, 16);
        const struct kern_batch b = rig_batch(r, &rows);
        memcpy(r->x, x, sizeof x);
        rig_do(r, STEP_FFN, 0, &b);
        if (fast) CHECK_MEM(exact, r->x, sizeof exact);
        memcpy(exact, r->x, sizeof exact);
        CHECK(r->k->fast(r->d) == fast);
        rig_close(r);
    }
    CHECK_EQ(shim_blas_calls(), calls);
    rig_apart = false;
    shim_blas_shown(false);
    rig_model_free(m);
}

/* The reference sees floats here, as the library does.  Tolerance: 2^-10 of the sums of |w x|, which are several times
 * as large as what they come to, of two products. */
TEST(a_feed_forward_by_large_products_has_its_biases_and_its_act)
{
    enum { EMBD = 64 };
    const struct rig_shape s = {.embd = EMBD, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = 96, .vocab = 40,
                                .layers = 1, .gate = KT_MXFP4, .up = KT_Q8_0, .down = KT_MXFP4, .act = KERN_OSS,
                                .ffn_bias = true};
    const struct rig_rows rows = {.n = TOKENS};
    struct dice dice = {35};
    struct rig_model *m = rig_model(&dice, &s);
    const long calls = shim_blas_calls();
    shim_blas_shown(true), shim_apart();
    struct rig *judge = rig_open(&dice, m, kern_ref(), NULL, TOKENS, 1, 16);
    rig_apart = true;
    struct rig *r = rig_open(&dice, m, kern_cuda_fast(), NULL, TOKENS, 1, 16);
    const struct kern_batch a = rig_batch(judge, &rows), b = rig_batch(r, &rows);
    for (int i = 0; i < TOKENS * EMBD; i++) judge->x[i] = r->x[i] = dice_float(&dice, 1);
    rig_do(judge, STEP_FFN, 0, &a), rig_do(r, STEP_FFN, 0, &b);
    CHECK_EQ(shim_blas_calls(), calls + 3);
    for (int i = 0; i < TOKENS * EMBD; i++)
        CHECK_NEAR(r->x[i], judge->x[i], 0.01 * (1 + fabs((double)judge->x[i])));
    rig_close(judge), rig_close(r);
    rig_apart = false;
    shim_blas_shown(false);
    rig_model_free(m);
}

/* -------------------------------------------------------------------------- engines */

static struct engine *open_engine(bool fast, struct err *err)
{
    struct tiny t = TINY_LLAMA;
    t.type = KT_Q8_0;
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "cuda.gguf"), .backend = "cuda", .fast = fast,
                                .max_rows = 64, .ctx = 128, .max_seqs = 2, .template = -1, .text_bytes = 1 << 20};
    shim_apart();
    return ops->open(&cfg, err);
}

static void serve(struct engine *e, struct engine_token *out)
{
    enum { PROMPT = 80, NEW = 4 };
    struct engine_event ev[64];
    struct err err = {0};
    int32_t ids[PROMPT];
    int id;
    for (int i = 0; i < PROMPT; i++) ids[i] = TINY_BYTE0 + i * 37 % 256;
    const struct request r = {.ids = ids, .n_ids = PROMPT, .max_tokens = NEW, .ignore_end = true,
                              .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
    CHECK_EQ(atomic_load(&ops->answer(e, id)->n_tokens), NEW);
    memcpy(out, ops->answer(e, id)->token, NEW * sizeof *out);
    ops->drop(e, id);
}

TEST(an_engine_says_which_mode_it_is_in_and_keeps_pages_apart)
{
    static const struct { bool fast, shown, there; const char *said; } rows[] = {
        {false, true, true, "), exact"},
        {true, false, true, "), exact (no device has shown --fast right)"},
        {true, true, false, "), exact (--fast: there is no libcublasLt)"},
        {true, true, true, "), fast"}};
    struct engine_name first = {{0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = {0};
        shim_blas_shown(rows[i].shown), shim_blas_there(rows[i].there);
        struct engine *e = open_engine(rows[i].fast, &err);
        CHECK_STR(err.text, "");
        const struct engine_info *info = ops->info(e);
        const char *end = strstr(info->backend, "), ");
        CHECK(end);
        CHECK_STR(end, rows[i].said);
        const bool fast = i == COUNT_OF(rows) - 1;
        CHECK(info->fast == fast);
        CHECK(!strstr(info->kernels, "cuBLASLt") == !fast);
        if (i == 0) first = info->identity;
        CHECK((memcmp(&first, &info->identity, sizeof first) == 0) == !fast);
        ops->close(e);
        CHECK_EQ(shim_bytes() + shim_kept() + (size_t)shim_blas_objects(), 0);
    }
    shim_blas_shown(false);
}

TEST(a_fast_engine_says_about_the_same_takes_its_memory_once_and_fails_in_one_line)
{
    struct err err = {0};
    struct engine_token exact[4], fast[4];
    struct engine *e = open_engine(false, &err);
    serve(e, exact);
    ops->close(e);
    shim_blas_shown(true);
    const long calls = shim_blas_calls();
    e = open_engine(true, &err);
    CHECK_STR(err.text, "");
    const long takings = shim_takings();
    for (int i = 0; i < 3; i++) serve(e, fast);
    CHECK(shim_blas_calls() > calls);
    CHECK_EQ(shim_takings(), takings);
    uint64_t device = 0;
    for (int c = 0; c < LEDGER_CONTEXT; c++) device += ops->info(e)->ledger.bytes[c];
    CHECK_EQ(device, shim_bytes());
    if (shim_made_up()) CHECK_EQ(ops->info(e)->ledger.bytes[LEDGER_CONTEXT], shim_driver());
    CHECK(ops->info(e)->ledger.bytes[LEDGER_SCRATCH] > (uint64_t)32 << 20); /* the library's workspace is in it */
    CHECK_EQ(exact[0].id, fast[0].id);
    CHECK(fabsf(exact[0].logprob - fast[0].logprob) < 0.05f); /* activations of 8 bits there, of 11 here */
    ops->close(e);
    for (long at = 1;; at += CHECK_SANITIZED ? 29 : 5) {
        struct err why = {0};
        shim_fail(at, SHIM_OUT_OF_MEMORY);
        e = open_engine(true, &why);
        const bool all = !shim_failed();
        shim_fail(0, 0);
        if (!e) CHECK(*why.text && !strchr(why.text, '\n'));
        if (e) ops->close(e);
        CHECK_EQ(shim_bytes() + shim_kept() + (size_t)shim_blas_objects(), 0);
        if (all) break;
    }
    shim_blas_shown(false);
}

/* One request while a call may fail: did it come to its end? */
static bool serve_or_fail(struct engine *e)
{
    enum { LEAST = 32 }; /* tokens that the library is asked for: GPU_BLAS_ROWS */
    static const int32_t ids[LEAST] = {TINY_BYTE0 + 3, TINY_BYTE0 + 4};
    const struct request r = {.ids = ids, .n_ids = LEAST, .max_tokens = 1, .ignore_end = true, .fresh = true,
                              .sampling = SAMPLING_GREEDY};
    struct engine_event ev[64];
    struct err why = {0};
    int id, n;
    CHECK_EQ(ops->submit(e, &r, &id, &why), 0);
    do {
        struct err now = {0};
        n = ops->step(e, ev, 64, &now);
        if (now.code) why = now;
    } while (n > 0);
    const struct answer *a = ops->answer(e, id);
    const bool well = atomic_load(&a->end) == END_LENGTH;
    if (!well) CHECK(*why.text && !strchr(why.text, '\n') && strcmp(a->fault, why.text) == 0);
    ops->drop(e, id);
    return well;
}

TEST(a_call_of_a_fast_pass_may_fail_and_the_next_request_is_served)
{
    struct err err = {0};
    int failed = 0;
    shim_blas_shown(true);
    struct engine *e = open_engine(true, &err);
    CHECK_STR(err.text, "");
    CHECK(serve_or_fail(e));
    const long calls = shim_blas_calls(), takings = shim_takings();
    for (long at = 1;; at += CHECK_SANITIZED ? 31 : 3) {
        shim_fail(at, SHIM_LAUNCH_FAILURE);
        const bool well = serve_or_fail(e), all = !shim_failed();
        shim_fail(0, 0);
        CHECK(well == all);
        failed += !well;
        if (all) break;
        if (failed % 8 == 0) CHECK(serve_or_fail(e));
    }
    CHECK(failed > 4 && shim_blas_calls() > calls);
    CHECK_EQ(shim_takings(), takings);
    ops->close(e);
    CHECK_EQ(shim_bytes() + shim_kept() + (size_t)shim_blas_objects(), 0);
    shim_blas_shown(false);
}

static size_t page; /* bytes; copies of so many are refused */

static int refuse_pages(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    if (bytes == page) return err_set(err, -1, "no page today");
    return kern_cuda_fast()->fetch(d, st, dst, src, bytes, err);
}

/* Short answers first, so that the long ones, three at once, are not expected.  How many of these ended well; the
 * others because what they had computed could not be copied. */
static int crowd(struct engine *e)
{
    int well = 0;
    for (int round = 0; round < 4; round++) {
        struct engine_event ev[64];
        struct err why = {0};
        int id[3];
        for (int i = 0; i < 3; i++) {
            const int32_t ids[] = {TINY_BYTE0 + i, TINY_BYTE0 + 9, TINY_BYTE0 + 7 * i};
            const struct request r = {.ids = ids, .n_ids = 3, .max_tokens = round < 3 ? 2 : 60, .ignore_end = true,
                                      .sampling = SAMPLING_GREEDY};
            CHECK_EQ(ops->submit(e, &r, &id[i], &why), 0);
        }
        while (ops->step(e, ev, 64, &why) > 0) continue;
        CHECK_STR(why.text, "");
        for (int i = 0; i < 3; i++) {
            const struct answer *a = ops->answer(e, id[i]);
            const bool is_well = atomic_load(&a->end) == END_LENGTH;
            well += round == 3 && is_well;
            if (!is_well) CHECK(round == 3 && strstr(a->fault, "could not be copied"));
            ops->drop(e, id[i]);
        }
    }
    return well;
}

TEST(in_fast_mode_there_are_no_drafts)
{
    struct tiny t = TINY_LLAMA;
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "cuda.gguf"), .backend = "cuda", .fast = true, .ctx = 96,
                                .max_seqs = 3, .template = -1, .drafts = 2};
    struct err err = {0};
    shim_apart();
    shim_blas_shown(true);
    CHECK(ops->open(&cfg, &err) == NULL);
    CHECK(strstr(err.text, "2 drafts: in fast mode") == err.text && strstr(err.text, "--exact"));
    cfg.drafts = 0;
    struct engine *e = ops->open(&cfg, &err);
    CHECK(e && ops->info(e)->fast && ops->info(e)->drafts == 0);
    ops->close(e);
    shim_blas_shown(false);
}

TEST(in_fast_mode_what_is_put_aside_is_copied_and_never_computed_again)
{
    struct tiny t = TINY_LLAMA;
    t.type = KT_Q8_0;
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "cuda.gguf"), .backend = "cuda", .fast = true,
                                .max_rows = 64, .ctx = 96, .max_seqs = 3, .template = -1, .text_bytes = 1 << 20,
                                .overcommit = true, .pool_tokens = 6 * KERN_PAGE};
    struct kern table = *kern_cuda_fast();
    struct engine_snapshot s;
    struct err err = {0};
    shim_apart();
    shim_blas_shown(true);
    CHECK(ops->open(&cfg, &err) == NULL);
    CHECK_EQ(err.code, ENGINE_FAULT);
    CHECK(strstr(err.text, "--park ") && strstr(err.text, "--exact"));
    cfg.park_bytes = 1 << 20;
    for (int refused = 0; refused < 2; refused++) {
        struct engine *e = ops->open(&cfg, &err);
        CHECK(e);
        page = ops->info(e)->page_bytes;
        const int well = crowd(e);
        if (refused) CHECK(well >= 1 && well < 3);
        else CHECK_EQ(well, 3);
        ops->snapshot(e, &s);
        CHECK(s.parkings > 0 || refused);
        CHECK_EQ(s.recomputed, 0);
        CHECK_EQ(s.running + s.waiting + s.parked + (int64_t)s.park_used, 0);
        ops->close(e);
        table.fetch = refuse_pages;
        cfg.kernels = &table;
    }
    shim_blas_shown(false);
}

CHECK_MAIN
