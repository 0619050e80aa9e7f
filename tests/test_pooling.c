/* Vectors of prompts: the last one by HF's logits, which are the output matrix times it; the mean by the last ones of
 * all fronts; and the same bits however a prompt was computed. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/fixture_names.h"
#include "tests/tiny_model.h"
#include <math.h>

enum { P = KERN_PAGE, LONGEST = 80, LOGITS = 4096 };

static const struct engine_ops *const ops = &engine_local;

static struct engine *open_file(const char *path, const char *backend, struct engine_config cfg)
{
    struct err err = {0};
    cfg.model = path;
    cfg.backend = backend;
    cfg.kern = (struct kern_config){.threads = 2};
    cfg.kv_type = KT_F32;
    cfg.template = -1;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static int submit(struct engine *e, const int32_t *ids, int n, enum engine_pool pool)
{
    struct err err = {0};
    int id = 0;
    const struct request r = {.ids = ids, .n_ids = n, .pool = pool, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0)
        if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_STR(err.text, "");
}

/* The vector, to out; how many tokens of its prompt were known. */
static int take(struct engine *e, int id, float *out)
{
    const struct answer *a = ops->answer(e, id);
    const int known = a->n_shared;
    CHECK_EQ(atomic_load(&a->end), END_LENGTH);
    CHECK_EQ(atomic_load(&a->n_tokens), 0);
    memcpy(out, a->vector, (size_t)ops->info(e)->embd * sizeof *out);
    ops->drop(e, id);
    return known;
}

/* ------------------------------------------------------------------ what HF says */

/* The output matrix, if it is one of floats; the caller's. */
static float *matrix(const struct gguf *g)
{
    struct err err = {0};
    const struct gguf_tensor *t = gguf_tensor(g, "output.weight");
    if (!t) t = gguf_tensor(g, "token_embd.weight");
    CHECK(t);
    const size_t bytes = (size_t)(t->dim[0] * t->dim[1]) * sizeof(float);
    float *to = t->type == KT_F32 ? malloc(bytes) : NULL;
    if (to) CHECK_EQ(gguf_read(g, t, 0, to, bytes, &err), 0);
    return to;
}

struct judged {
    int n, embd;
    double divisor; /* of logits */
    int32_t ids[LONGEST];
    float x[LOGITS];
    double tolerance, worst;
    int rows;
};

static void check_row(struct judged *j, FILE *in, const float *out, int vocab)
{
    double most = 0, diff = 0;
    for (int i = 0; i < vocab; i++) {
        double want = NAN, sum = 0;
        CHECK_EQ(fscanf(in, "%lf", &want), 1);
        for (int k = 0; k < j->embd; k++) sum += (double)out[(size_t)i * (size_t)j->embd + (size_t)k] * (double)j->x[k];
        most = fmax(most, fabs(want));
        diff = fmax(diff, fabs(want - sum / j->divisor));
    }
    j->worst = fmax(j->worst, diff / most);
    j->rows++;
}

/* Granite's, which a vector does not have. */
static double divisor_of(const struct gguf *g)
{
    double out = 1;
    gguf_float(g, "granite.logit_scale", &out, NULL);
    gguf_float(g, "granitemoe.logit_scale", &out, NULL);
    return out;
}

/* The last row of every sequence that the file has; false: its output is no matrix of floats, or is capped. */
static bool judge(const char *name, const char *backend)
{
    char path[256], word[16];
    static struct judged j;
    struct err err = {0};
    int row;
    snprintf(path, sizeof path, "tests/fixtures/%s.gguf", name);
    struct gguf *g = gguf_open(path, &err);
    CHECK(g);
    float *out = strncmp(name, "gemma2", 6) ? matrix(g) : NULL;
    const double divisor = divisor_of(g);
    gguf_close(g);
    if (!out) return false;
    struct engine *e = open_file(path, backend, (struct engine_config){.ctx = 128, .max_seqs = 2, .max_rows = 24});
    snprintf(path, sizeof path, "tests/fixtures/%s.ref", name);
    FILE *in = fopen(path, "r");
    CHECK(in);
    j = (struct judged){.embd = ops->info(e)->embd, .divisor = divisor};
    CHECK(j.embd > 0 && j.embd <= LOGITS);
    while (fscanf(in, "%15s", word) == 1) {
        if (strcmp(word, "tolerance") == 0) {
            CHECK_EQ(fscanf(in, "%lf", &j.tolerance), 1);
        } else if (strcmp(word, "seq") == 0) {
            CHECK(fscanf(in, "%d", &j.n) == 1 && j.n <= LONGEST);
            for (int i = 0; i < j.n; i++) CHECK_EQ(fscanf(in, "%d", &j.ids[i]), 1);
            int id = submit(e, j.ids, j.n, POOL_LAST);
            run(e);
            take(e, id, j.x);
        } else if (strcmp(word, "logits") == 0) {
            CHECK_EQ(fscanf(in, "%d", &row), 1);
            if (row == j.n - 1) check_row(&j, in, out, ops->info(e)->vocab);
        }
        for (int c = fgetc(in); c != '\n' && c != EOF;) c = fgetc(in);
    }
    CHECK(j.rows >= 3);
    if (j.worst > j.tolerance)
        check_fail(__FILE__, __LINE__, "%s: error %.3g, allowed %.3g", name, j.worst, j.tolerance);
    fclose(in);
    free(out);
    ops->close(e);
    return true;
}

static void judge_all(const char *backend)
{
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(fixture); i++) n += judge(fixture[i], backend);
    printf("  %s: %d models\n", backend, n);
    CHECK(n >= 16);
}

TEST(the_output_of_a_last_vector_is_what_hf_says_cpu) { judge_all("cpu"); }
TEST(the_output_of_a_last_vector_is_what_hf_says_ref) { judge_all("ref"); }

/* ------------------------------------------------------------------ means, and how a prompt was computed */

enum { SEQS = 4, N = 5 * P + 3, EMBD = 64 };

static const struct tiny model = {.arch = "qwen3", .layers = 2, .embd = EMBD, .heads = 4, .kv_heads = 2, .ff = 96,
                                  .type = KT_F32, .seed = 1};

static void prompts(int32_t ids[][N], int n)
{
    uint32_t seed = 5;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < N; k++) ids[i][k] = TINY_BYTE0 + tiny_below(&seed, 256);
}

/* Of the same prompt, in passes of so many rows. */
static void alone(const char *path, int rows, const int32_t *ids, int n, enum engine_pool pool, float *out)
{
    struct engine *e = open_file(path, "cpu", (struct engine_config){.ctx = 8 * P, .max_seqs = 2, .max_rows = rows});
    int id = submit(e, ids, n, pool);
    run(e);
    take(e, id, out);
    ops->close(e);
}

TEST(a_mean_is_that_of_the_last_ones_of_all_fronts)
{
    static int32_t ids[1][N];
    double sum[EMBD] = {0};
    float x[EMBD];
    const char *path = tiny_file(&model, NULL, "mean.gguf");
    prompts(ids, 1);
    struct engine *e = open_file(path, "cpu", (struct engine_config){.ctx = 8 * P, .max_seqs = SEQS, .max_rows = 16});
    for (int n = 1; n <= N; n++) {
        int id = submit(e, ids[0], n, POOL_LAST);
        run(e);
        CHECK_EQ(take(e, id, x), (n - 1) / P * P); /* pages of the one before */
        for (int i = 0; i < EMBD; i++) sum[i] += (double)x[i];
    }
    int id = submit(e, ids[0], N, POOL_MEAN);
    run(e);
    CHECK_EQ(take(e, id, x), 0); /* every row is wanted */
    for (int i = 0; i < EMBD; i++) CHECK_NEAR(x[i], sum[i] / N, 1e-5);
    ops->close(e);
}

/* Beside requests that generate, and others like it. */
static void in_company(const char *path, int32_t ids[][N], enum engine_pool pool, float *out)
{
    struct engine *e = open_file(path, "cpu", (struct engine_config){.ctx = 8 * P, .max_seqs = SEQS, .max_rows = 24});
    struct err err = {0};
    struct engine_event ev[64];
    int id[SEQS];
    for (int i = 1; i < SEQS - 1; i++) {
        struct request r = {.ids = ids[i], .n_ids = P, .max_tokens = 4 * P, .ignore_end = true,
                            .sampling = SAMPLING_GREEDY};
        CHECK_EQ(ops->submit(e, &r, &id[i], &err), 0);
    }
    for (int i = 0; i < 3; i++) ops->step(e, ev, 64, &err);
    id[SEQS - 1] = submit(e, ids[SEQS - 1], N, pool);
    id[0] = submit(e, ids[0], N, pool);
    run(e);
    take(e, id[0], out);
    ops->close(e);
}

/* How many tokens of that prompt were computed when it was parked. */
static int run_and_see_parked(struct engine *e, int id)
{
    struct engine_event ev[64];
    struct err err = {0};
    int done = 0;
    for (int n; (n = ops->step(e, ev, 64, &err)) > 0;)
        for (int i = 0; i < n; i++)
            if (ev[i].kind == ENGINE_PARKED && ev[i].id == id) done = atomic_load(&ops->answer(e, id)->n_prefilled);
    CHECK_STR(err.text, "");
    return done;
}

/* Three that are promised little outgrow it: the last in rank makes room, half computed. */
static void parked(const char *path, int32_t ids[][N], uint64_t park_bytes, enum engine_pool pool, float *out)
{
    const struct engine_config cfg = {.ctx = 8 * P, .max_seqs = SEQS, .max_rows = 5, .overcommit = true,
                                      .pool_tokens = 19 * P, .park_bytes = park_bytes};
    struct engine *e = open_file(path, "cpu", cfg);
    struct engine_snapshot s;
    struct err err = {0};
    int id[SEQS];
    for (int i = 1; i < SEQS; i++) { /* it learns that answers are short */
        struct request r = {.ids = ids[i], .n_ids = P, .max_tokens = 1, .ignore_end = true,
                            .sampling = SAMPLING_GREEDY};
        CHECK_EQ(ops->submit(e, &r, &id[i], &err), 0);
    }
    run(e);
    for (int i = 1; i < SEQS; i++) ops->drop(e, id[i]);
    for (int i = 1; i < SEQS; i++) {
        struct request r = {.ids = ids[i], .n_ids = 2 * P, .max_tokens = 5 * P, .ignore_end = true, .priority = 1,
                            .sampling = SAMPLING_GREEDY};
        CHECK_EQ(ops->submit(e, &r, &id[i], &err), 0);
    }
    id[0] = submit(e, ids[0], N, pool);
    CHECK(run_and_see_parked(e, id[0]) > 0);
    take(e, id[0], out);
    ops->snapshot(e, &s);
    CHECK(s.parkings > 0 && s.parkings == s.resumes && (s.recomputed > 0) == (park_bytes == 0));
    ops->close(e);
}

static void same_bits(enum engine_pool pool)
{
    static int32_t ids[SEQS][N];
    float x[EMBD], y[EMBD];
    const char *path = tiny_file(&model, NULL, "bits.gguf");
    prompts(ids, SEQS);
    alone(path, 7, ids[0], N, pool, x);
    alone(path, 64, ids[0], N, pool, y);
    CHECK_MEM(x, y, sizeof x);
    in_company(path, ids, pool, y);
    CHECK_MEM(x, y, sizeof x);
    parked(path, ids, 0, pool, y);
    CHECK_MEM(x, y, sizeof x);
    parked(path, ids, 1 << 20, pool, y);
    CHECK_MEM(x, y, sizeof x);
    alone(path, 64, ids[1], N, pool, y);
    CHECK(memcmp(x, y, sizeof x) != 0);
}

TEST(a_mean_has_the_same_bits_however_it_was_computed) { same_bits(POOL_MEAN); }
TEST(a_last_one_has_the_same_bits_however_it_was_computed) { same_bits(POOL_LAST); }

/* ------------------------------------------------------------------ what there is not */

static void refuse(struct engine *e, const struct engine_ops *with, struct request r, const char *words)
{
    static const int32_t ids[] = {TINY_BYTE0};
    struct err err = {0};
    int id = 0;
    r.ids = ids;
    r.n_ids = 1;
    r.sampling = SAMPLING_GREEDY;
    CHECK_EQ(with->submit(e, &r, &id, &err), ENGINE_BAD_REQUEST);
    if (!strstr(err.text, words)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

TEST(what_is_no_request_for_a_vector_is_refused)
{
    const char *path = tiny_file(&model, NULL, "refuse.gguf");
    struct err err = {0};
    struct engine *e = open_file(path, "cpu", (struct engine_config){.ctx = 4 * P, .max_seqs = 1});
    refuse(e, ops, (struct request){.pool = POOL_LAST, .max_tokens = 1}, "max_tokens is 1; allowed is 0 to 0");
    refuse(e, ops, (struct request){.pool = (enum engine_pool)3}, "pool is 3; allowed is 0 to 2");
    refuse(e, ops, (struct request){.max_tokens = 0}, "max_tokens is 0; allowed is 1");
    ops->close(e);
    e = open_file(path, "cpu", (struct engine_config){.ctx = 4 * P, .max_seqs = 1, .naive = NAIVE_WHOLE_BATCH});
    CHECK_EQ(ops->info(e)->embd, 0);
    refuse(e, ops, (struct request){.pool = POOL_LAST}, "no vectors");
    ops->close(e);
    const char *script = tiny_text_file("script", "{\"answer\":\"Hello\"}\n");
    const struct engine_config cfg = {.model = path, .script = script, .template = -1, .kv_type = KT_F16};
    e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    refuse(e, &engine_scripted, (struct request){.pool = POOL_LAST}, "no vectors");
    engine_scripted.close(e);
}

/* Of both -1: the file says nothing. */
static const char *file_of(int type, int causal)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &model);
    if (type >= 0) gguf_make_u32(&m, "qwen3.pooling_type", (uint32_t)type);
    if (causal >= 0) gguf_make_bool(&m, "qwen3.attention.causal", causal);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &model);
    return gguf_make_file(&m, "pooling.gguf");
}

TEST(a_file_says_how_its_vectors_are_made)
{
    static const struct { int type, causal; enum engine_pool pool; } says[] = {
        {-1, -1, POOL_LAST}, {0, 1, POOL_LAST}, {1, -1, POOL_MEAN}, {3, 1, POOL_LAST}};
    static const struct { int type, causal; const char *key; } refused[] = {
        {2, -1, "qwen3.pooling_type is 2"}, {4, 1, "qwen3.pooling_type is 4"}, {5, -1, "qwen3.pooling_type is 5"},
        {1, 0, "qwen3.attention.causal is false"}};
    for (size_t i = 0; i < COUNT_OF(says); i++) {
        struct engine *e = open_file(file_of(says[i].type, says[i].causal), "cpu",
                                     (struct engine_config){.ctx = P, .max_seqs = 1});
        CHECK_EQ(ops->info(e)->pool, says[i].pool);
        CHECK_EQ(ops->info(e)->embd, EMBD);
        ops->close(e);
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct err err = {0};
        const struct engine_config cfg = {.model = file_of(refused[i].type, refused[i].causal), .backend = "cpu",
                                          .kv_type = KT_F32, .template = -1};
        CHECK(!ops->open(&cfg, &err));
        if (!strstr(err.text, refused[i].key)) check_fail(__FILE__, __LINE__, "%s: %s", refused[i].key, err.text);
    }
}

CHECK_MAIN
