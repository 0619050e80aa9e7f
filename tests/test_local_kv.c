/* KV pages of Q8_0 through the whole engine: not a bit of an answer depends on company, cuts, threads or shared pages;
 * half the memory, and what that costs in likelihood; heads that do not fit are refused in one line.
 *
 * What it may cost.  K and V are off by up to half a step, 1/254 of the largest of their 32: about 0.5 % of a usual
 * value.  Scores, weights and two layers make some 1 % of that; the tiny model's logits have a deviation of about 1, so
 * log-probabilities move by about 0.01.  Three times that is allowed, for a single one 15 times, and half of it for
 * their mean, where most of it must cancel. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { SEQS = 4, FRONT = 3 * KERN_PAGE + 5, MOST = FRONT + 60, NEW = 12 };

static const struct engine_ops *const ops = &engine_local;

struct said { /* what a request gave, to the bit */
    float prompt_logprob[MOST];
    struct engine_token token[NEW];
    struct engine_top top[NEW];
};

/* Heads of 32 values: two, or four that share two of K and V. */
static const char *tiny_path(int kv_heads)
{
    struct tiny t = TINY_LLAMA;
    t.embd = 64 * kv_heads, t.heads = 2 * kv_heads, t.kv_heads = kv_heads;
    return tiny_file(&t, NULL, "kv.gguf");
}

static struct engine *open_engine(const char *path, const struct kern_config *kern, enum ktype kv, int max_rows)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .kern = *kern, .kv_type = kv, .max_rows = max_rows, .ctx = 160,
                                .max_seqs = SEQS, .template = -1};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

struct prompt {
    int32_t id[MOST];
    int n;
};

/* All begin alike. */
static void make_prompts(uint32_t *seed, struct prompt *p)
{
    for (int s = 0; s < SEQS; s++) {
        p[s].n = FRONT + 1 + tiny_below(seed, MOST - FRONT);
        for (int i = 0; i < p[s].n; i++)
            p[s].id[i] = s > 0 && i < FRONT ? p[0].id[i] : TINY_BYTE0 + tiny_below(seed, 256);
    }
}

static int submit(struct engine *e, const struct prompt *p, bool score)
{
    int id;
    struct err err = {0};
    struct request r = {.ids = p->id, .n_ids = p->n, .max_tokens = NEW, .top_n = KERN_TOP, .score = score,
                        .ignore_end = true,
                        .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
}

/* The answer of a request that has ended, which is then dropped; how many prompt tokens it shared. */
static int take(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    memset(out, 0, sizeof *out);
    if (a->prompt_logprob) memcpy(out->prompt_logprob, a->prompt_logprob, (size_t)a->n_prompt * sizeof(float));
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
    int shared = a->n_shared;
    ops->drop(e, id);
    return shared;
}

/* ------------------------------------------------------------------------- bits */

/* In company, in passes of a few rows, on some threads: the same, prompts' log-probabilities too. */
static void check_company(const char *path, struct kern_config cfg, const struct prompt *p, const struct said *alone,
                          uint32_t *seed)
{
    static struct said now;
    struct engine_event ev[64];
    struct err err = {0};
    int id[SEQS];
    cfg.threads = 1 + tiny_below(seed, 4);
    struct engine *e = open_engine(path, &cfg, KT_Q8_0, SEQS + 1 + tiny_below(seed, 40));
    for (int s = 0; s < SEQS; s++) {
        id[s] = submit(e, &p[s], true);
        for (int steps = tiny_below(seed, 4); steps > 0; steps--) ops->step(e, ev, 64, &err);
    }
    run(e);
    for (int s = 0; s < SEQS; s++) {
        CHECK_EQ(take(e, id[s], &now), 0); /* scores are computed in full */
        CHECK_MEM(&now, &alone[s], sizeof now);
    }
    ops->close(e);
}

/* One after the other over pages that the first has left; then each again, over its own. */
static void check_shared(const char *path, const struct kern_config *cfg, const struct prompt *p,
                         const struct said *alone)
{
    static struct said now;
    struct engine *e = open_engine(path, cfg, KT_Q8_0, 48);
    for (int i = 0; i < 2 * SEQS; i++) {
        int s = i % SEQS, id = submit(e, &p[s], false);
        run(e);
        int shared = take(e, id, &now);
        CHECK(i == 0 ? shared == 0 : shared >= FRONT / KERN_PAGE * KERN_PAGE);
        CHECK_MEM(now.token, alone[s].token, sizeof now.token);
        CHECK_MEM(now.top, alone[s].top, sizeof now.top);
    }
    ops->close(e);
}

static void check_isa(const char *isa)
{
    static struct prompt prompt[SEQS];
    static struct said alone[SEQS];
    struct err err = {0};
    struct kern_config cfg = {.isa = isa, .threads = 1};
    if (CHECK_TSAN && strcmp(isa, "avx2") != 0) SKIP("threads do the same in all instruction sets: avx2 alone");
    struct kdev *d = kern_cpu()->open(&cfg, &err);
    if (!d) SKIP("this machine cannot: %s", err.text);
    kern_cpu()->close(d);
    uint32_t seed = 7;
    for (int kv_heads = 1; kv_heads <= 2; kv_heads++) {
        const char *path = tiny_path(kv_heads);
        make_prompts(&seed, prompt);
        struct engine *e = open_engine(path, &cfg, KT_Q8_0, 256);
        for (int s = 0; s < SEQS; s++) {
            int id = submit(e, &prompt[s], true);
            run(e);
            take(e, id, &alone[s]);
        }
        ops->close(e);
        for (int round = 0; round < 4; round++) check_company(path, cfg, prompt, alone, &seed);
        check_shared(path, &cfg, prompt, alone);
    }
}

TEST(q8_0_pages_change_no_bit_in_company_or_shared_portable) { check_isa("portable"); }
TEST(q8_0_pages_change_no_bit_in_company_or_shared_avx2) { check_isa("avx2"); }
TEST(q8_0_pages_change_no_bit_in_company_or_shared_avxvnni) { check_isa("avxvnni"); }
TEST(q8_0_pages_change_no_bit_in_company_or_shared_avx512) { check_isa("avx512"); }

/* ------------------------------------------------------------- memory and likelihood */

static void score_with(const char *backend, enum ktype kv, const struct prompt *p, struct said *out,
                       uint64_t *token_bytes)
{
    struct err err = {0};
    struct engine_config cfg = {.model = tiny_path(2), .backend = backend, .kern = {.threads = 1}, .kv_type = kv,
                                .ctx = 160, .max_seqs = SEQS, .template = -1};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    *token_bytes = ops->info(e)->kv_bytes_per_token;
    int id[SEQS];
    for (int s = 0; s < SEQS; s++) id[s] = submit(e, &p[s], true);
    run(e);
    for (int s = 0; s < SEQS; s++) take(e, id[s], &out[s]);
    ops->close(e);
}

struct drift {
    double mean, size, most; /* of the differences: their mean, the mean and the largest of their sizes */
};

static struct drift drift_of(const struct prompt *p, const struct said *a, const struct said *b)
{
    struct drift d = {0};
    int n = 0;
    for (int s = 0; s < SEQS; s++)
        for (int i = 1; i < p[s].n; i++, n++) {
            double off = (double)a[s].prompt_logprob[i] - b[s].prompt_logprob[i];
            d.mean += off, d.size += fabs(off), d.most = fmax(d.most, fabs(off));
        }
    d.mean /= n, d.size /= n;
    return d;
}

TEST(q8_0_pages_take_34_of_64_bytes_and_cost_a_percent_of_a_logit)
{
    static const char *const backends[] = {"ref", "cpu"};
    static struct prompt prompt[SEQS];
    static struct said exact[SEQS], half[SEQS], rounded[SEQS];
    uint64_t bytes[3];
    uint32_t seed = 8;
    if (CHECK_TSAN) SKIP("figures, which no thread changes");
    make_prompts(&seed, prompt);
    for (size_t b = 0; b < COUNT_OF(backends); b++) {
        score_with(backends[b], KT_F32, prompt, exact, &bytes[0]);
        score_with(backends[b], KT_F16, prompt, half, &bytes[1]);
        score_with(backends[b], KT_Q8_0, prompt, rounded, &bytes[2]);
        CHECK_EQ(bytes[2] * 64, bytes[1] * 34);
        CHECK_EQ(bytes[1] * 2, bytes[0]);
        struct drift h = drift_of(prompt, half, exact), r = drift_of(prompt, rounded, exact);
        CHECK(h.size > 0 && h.size * 5 < r.size);
        CHECK(fabs(r.mean) < 0.005 && r.size < 0.03 && r.most < 0.15);
    }
}

/* --------------------------------------------------------------------- refusals */

static void refuse(struct engine_config cfg, const char *text)
{
    struct err err = {0};
    struct tiny t = TINY_LLAMA;
    cfg.model = tiny_file(&t, NULL, "heads16.gguf");
    cfg.template = -1;
    CHECK(!ops->open(&cfg, &err));
    CHECK_EQ(err.code, ENGINE_FAULT);
    CHECK_STR(err.text, text);
}

TEST(heads_that_are_no_whole_blocks_and_types_without_pages_are_refused_by_name)
{
    static const char *const heads = "KV pages of Q8_0 take a whole number of 32 values a head, this model has 16: "
                                     "use --kv-type f16";
    refuse((struct engine_config){.kv_type = KT_Q8_0}, heads);
    refuse((struct engine_config){.kv_type = KT_Q8_0, .backend = "ref"}, heads);
    refuse((struct engine_config){.kv_type = KT_Q8_0, .fit = true}, heads);
    refuse((struct engine_config){.kv_type = KT_BF16},
           "this backend has no KV pages of BF16 for heads of 16 values: use --kv-type f16");
    refuse((struct engine_config){.kv_type = (enum ktype)1000},
           "this backend has no KV pages of this type for heads of 16 values: use --kv-type f16");
}

/* The row of the table that begins with this: contexts of 1, 4 and 16 sequences. */
static void row_of(const char *table, const char *name, int ctx[3])
{
    const char *at = strstr(table, name);
    CHECK(at);
    CHECK_EQ(sscanf(at + strlen(name), " %*f MiB %d %d %d", &ctx[0], &ctx[1], &ctx[2]), 3);
}

TEST(what_would_fit_is_told_for_q8_0_pages_too)
{
    struct buf fits = {0};
    struct err err = {0};
    struct engine_config cfg = {.model = tiny_path(2), .kern = {.threads = 1}, .kv_type = KT_F16, .max_seqs = 64,
                                .template = -1, .vram = 6 << 20, .fits = &fits};
    int half[3], rounded[3];
    CHECK(!ops->open(&cfg, &err));
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    CHECK(strstr(fits.data, "with KV in F16\n"));
    row_of(fits.data, "as in the file", half);
    row_of(fits.data, "as is, KV Q8_0", rounded);
    CHECK_EQ(half[0], 512); /* all that the model was trained for */
    CHECK_EQ(rounded[0], 512);
    CHECK(rounded[2] > half[2] * 17 / 10 && rounded[2] <= half[2] * 19 / 10 + KERN_PAGE);
    buf_free(&fits);
    cfg.kv_type = KT_Q8_0;
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(fits.data, "with KV in Q8_0\n") && !strstr(fits.data, "as is"));
    buf_free(&fits);
}

CHECK_MAIN
