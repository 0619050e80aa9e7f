/* The third judge: our logits, token for token, against HF transformers and llama.cpp (tests/fixtures/README.md). */
#include "engine/forward.h"
#include "engine/vocab.h"
#include "tests/check.h"
#include "tests/fixture_names.h"
#include "tests/forward_keep.h"
#include <math.h>

enum { ROWS = 80, CTX = 128, MAX_IDS = 256 };

/* ------------------------------------------------------------------ a model on a backend, without a scheduler */

struct lab {
    struct gguf *g;
    struct model m;
    struct forward f;
    const struct kern *k;
    struct kdev *d;
    void *weights, *work, *kv;
    int32_t table[CTX / KERN_PAGE];
};

static void lab_open(struct lab *l, const char *name, const struct kern *k, const struct kern_config *cfg,
                     enum ktype kv_type)
{
    char path[256];
    struct err err = {0};
    snprintf(path, sizeof path, "tests/fixtures/%s.gguf", name);
    *l = (struct lab){.k = k, .g = gguf_open(path, &err)};
    CHECK_STR(err.text, "");
    struct vocab *v = vocab_open(l->g, &err);
    CHECK_STR(err.text, "");
    int rc = model_plan(&l->m, l->g, vocab_size(v), k, &err);
    vocab_close(v);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    model_for_ctx(&l->m, CTX);
    CHECK_EQ(forward_plan(&l->f, &l->m, k, CTX, 1, ROWS, ROWS, CTX / KERN_PAGE, kv_type, &err), 0);
    forward_keep_all(&l->f, CTX / KERN_PAGE);
    l->d = k->open(cfg, &err);
    CHECK_STR(err.text, "");
    l->weights = k->take(l->d, l->m.bytes, &err);
    l->work = k->take(l->d, l->f.work_bytes, &err);
    l->kv = k->take(l->d, l->f.kv_bytes, &err);
    CHECK(l->weights && l->work && l->kv);
    CHECK_EQ(model_load(&l->m, l->g, k, l->d, l->weights, NULL, NULL, &err), 0);
    forward_attach(&l->f, l->d, l->work, l->kv);
    for (int i = 0; i < CTX / KERN_PAGE; i++) l->table[i] = (i * 5 + 3) % (CTX / KERN_PAGE); /* pages in no order */
    memset(l->kv, 0xff, l->f.kv_bytes); /* NaN wherever nothing was written */
}

static void lab_close(struct lab *l)
{
    l->k->give(l->d, l->kv, l->f.kv_bytes);
    l->k->give(l->d, l->work, l->f.work_bytes);
    l->k->give(l->d, l->weights, l->m.bytes);
    l->k->close(l->d);
    model_free(&l->m);
    gguf_close(l->g);
}

/* Run ids[0..n) at positions from..; logits of every row, (n, vocab), caller frees. */
static float *lab_run(struct lab *l, const int32_t *ids, int n, int from)
{
    static const int32_t zeros[ROWS];
    int32_t pos[ROWS], row[ROWS];
    struct kern_sample sample[ROWS];
    struct kern_choice choice[ROWS];
    struct err err = {0};
    for (int i = 0; i < n; i++) {
        pos[i] = from + i;
        row[i] = i;
        sample[i] = (struct kern_sample){.top_p = 1, .repeat = 1, .target = -1};
    }
    struct pass p = {.batch = {.rows = n,
                               .token = ids,
                               .pos = pos,
                               .seq = zeros,
                               .seqs = 1,
                               .groups = l->f.groups,
                               .table = {l->table, l->table},
                               .stride = CTX / KERN_PAGE,
                               .outs = n,
                               .out_row = row},
                     .sample = sample,
                     .choice = choice,
                     .parts = 1};
    CHECK_EQ(forward_run(&l->f, &p, &err), 0);
    size_t bytes = (size_t)n * (size_t)l->m.vocab * sizeof(float);
    float *logits = malloc(bytes);
    CHECK_EQ(l->k->fetch(l->d, NULL, logits, l->f.dev_work + l->f.at_logits, bytes, &err), 0);
    return logits;
}

/* ------------------------------------------------------------------ the judges' words */

struct words {
    FILE *in;
    char name[16];
};

static bool next_record(struct words *w) { return fscanf(w->in, "%15s", w->name) == 1; }

static double number(struct words *w)
{
    double x = NAN;
    CHECK_EQ(fscanf(w->in, "%lf", &x), 1);
    return x;
}

static void skip_line(struct words *w)
{
    int c;
    while ((c = fgetc(w->in)) != '\n' && c != EOF) continue;
}

static double log_prob(const float *logits, int vocab, int32_t id)
{
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < vocab; i++) max = fmax(max, (double)logits[i]);
    for (int i = 0; i < vocab; i++) sum += exp((double)logits[i] - max);
    return (double)logits[id] - max - log(sum);
}

static void check_row(struct words *w, const float *ours, int vocab, double tolerance, double *worst)
{
    double most = 0, diff = 0;
    for (int i = 0; i < vocab; i++) {
        double x = number(w);
        most = fmax(most, fabs(x));
        diff = fmax(diff, isnan((double)ours[i]) ? INFINITY : fabs(x - (double)ours[i]));
    }
    *worst = fmax(*worst, diff / most);
    if (diff > tolerance * most) check_fail(__FILE__, __LINE__, "error %.3g, allowed %.3g", diff / most, tolerance);
}

static void check_greedy(struct lab *l, int n, const float *last, const int32_t *want, int steps)
{
    const float *row = last;
    float *mine = NULL;
    for (int i = 0; i < steps; i++) {
        int32_t best = 0;
        for (int t = 1; t < l->m.vocab; t++)
            if (row[t] > row[best]) best = t;
        CHECK_EQ(best, want[i]);
        free(mine);
        row = mine = lab_run(l, &best, 1, n + i); /* one token at a time: as decode */
    }
    free(mine);
}

/* One sequence: everything the file says about it.  Returns false at the end of the file. */
struct judged {
    double tolerance, most_logit;
    double worst;
    int rows, greedy;
};

static void check_record(struct words *w, struct lab *l, const int32_t *ids, int n, const float *logits,
                         struct judged *j)
{
    int vocab = l->m.vocab;
    if (strcmp(w->name, "logits") == 0) {
        int row = (int)number(w);
        check_row(w, logits + (size_t)row * (size_t)vocab, vocab, j->tolerance, &j->worst);
        j->rows++;
    } else if (strcmp(w->name, "logprob") == 0) {
        int m = (int)number(w);
        CHECK_EQ(m, n - 1);
        for (int i = 0; i < m; i++)
            CHECK_NEAR(log_prob(logits + (size_t)i * (size_t)vocab, vocab, ids[i + 1]), number(w),
                       2 * j->tolerance * j->most_logit);
    } else if (strcmp(w->name, "greedy") == 0) {
        int32_t want[64];
        int m = (int)number(w);
        CHECK(m <= 64);
        for (int i = 0; i < m; i++) want[i] = (int32_t)number(w);
        check_greedy(l, n, logits + (size_t)(n - 1) * (size_t)vocab, want, m);
        j->greedy += m;
    } else {
        skip_line(w); /* nll follows from logprob, margin is for the maker, # is for people */
    }
}

static void judge(const char *name, const struct kern *k, const struct kern_config *cfg, enum ktype kv_type,
                  bool rounds)
{
    char path[256];
    struct lab l;
    struct judged j = {0};
    int32_t ids[MAX_IDS];
    int n = 0;
    float *logits = NULL;
    snprintf(path, sizeof path, "tests/fixtures/%s.ref", name);
    struct words w = {.in = fopen(path, "r")};
    CHECK(w.in);
    lab_open(&l, name, k, cfg, kv_type);
    while (next_record(&w)) {
        if (strcmp(w.name, "tolerance") == 0) {
            double a = number(&w), b = number(&w), c = number(&w);
            j.tolerance = fmax(kv_type == KT_F32 ? a : b, rounds ? c : 0);
        } else if (strcmp(w.name, "seq") == 0) {
            n = (int)number(&w);
            CHECK(n <= ROWS);
            for (int i = 0; i < n; i++) ids[i] = (int32_t)number(&w);
            free(logits);
            logits = lab_run(&l, ids, n, 0);
            for (int i = 0; i < n * l.m.vocab; i++) j.most_logit = fmax(j.most_logit, fabs((double)logits[i]));
        } else {
            check_record(&w, &l, ids, n, logits, &j);
        }
    }
    CHECK(j.rows >= 4 && j.greedy >= 8);
    printf("  %-14s %-8s kv %s  worst error %.2g of %.2g allowed\n", name, cfg->isa ? cfg->isa : k->name,
           kv_type == KT_F32 ? "F32" : "F16", j.worst, j.tolerance);
    free(logits);
    lab_close(&l);
    fclose(w.in);
}

/* A sanitizer sees the same code in many of them: it gets every third, others in each test. */
static void judge_all(const struct kern *k, const struct kern_config *cfg, enum ktype kv_type, bool rounds)
{
    static size_t first;
    const size_t step = CHECK_SANITIZED ? 3 : 1;
    for (size_t i = first++ % step; i < COUNT_OF(fixture); i += step) judge(fixture[i], k, cfg, kv_type, rounds);
}

TEST(the_reference_backend_agrees_with_both_judges)
{
    if (!CHECK_SANITIZED) judge_all(kern_ref(), &(struct kern_config){0}, KT_F32, false);
    judge_all(kern_ref(), &(struct kern_config){0}, KT_F16, false);
}

TEST(rounded_activations_stay_within_what_they_may_cost)
{
    judge_all(kern_ref(), &(struct kern_config){.round_activations = true}, KT_F32, true);
}

static void judge_isa(const char *isa)
{
    struct err err = {0};
    struct kern_config cfg = {.isa = isa, .threads = 2};
    struct kdev *d = kern_cpu()->open(&cfg, &err);
    if (!d) SKIP("this machine cannot: %s", err.text);
    kern_cpu()->close(d);
    if (!CHECK_SANITIZED) judge_all(kern_cpu(), &cfg, KT_F32, true); /* test_kernels_kv has all sorts of pages */
    judge_all(kern_cpu(), &cfg, KT_F16, true);
}

TEST(the_portable_code_agrees_with_both_judges) { judge_isa("portable"); }
TEST(the_avx2_code_agrees_with_both_judges) { judge_isa("avx2"); }
TEST(the_avxvnni_code_agrees_with_both_judges) { judge_isa("avxvnni"); }
TEST(the_avx512_code_agrees_with_both_judges) { judge_isa("avx512"); }

CHECK_MAIN
