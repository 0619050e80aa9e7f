/* test_cuda_sample.c - choosing tokens on the CUDA kernels, compiled for the host (tests/cuda_on_cpu/): bit for bit
 * what kern_choose() chooses, for any logits and in every order of threads; and what comes over the bus for it. */
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/rig.h"
#include <math.h>

enum { OUTS = 5, MOST = 5000, RECENT = 300, ROUNDS = CHECK_SANITIZED ? 12 : 150 };

struct setup {
    struct kdev *d;
    int vocab;
    float *dev_logits;
    struct kern_choice *dev_choice;
    void *work;
};

static struct setup open_setup(int vocab)
{
    const struct kern *k = kern_cuda();
    const struct kern_dims dims = {.embd = 32, .heads = 1, .kv_heads = 1, .head_dim = 32, .ff = 32, .vocab = vocab,
                                   .max_rows = OUTS, .max_outs = OUTS, .max_ctx = 16, .max_seqs = 1};
    struct err err = {0};
    struct setup s = {.vocab = vocab};
    shim_apart();
    s.d = k->open(NULL, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(k->ready(s.d, &dims, &err), 0);
    s.work = k->take(s.d, k->work_bytes(&dims), &err);
    s.dev_logits = k->take(s.d, (size_t)OUTS * (size_t)vocab * sizeof(float), &err);
    s.dev_choice = k->take(s.d, OUTS * sizeof *s.dev_choice, &err);
    CHECK_STR(err.text, "");
    return s;
}

static void close_setup(struct setup *s)
{
    const struct kern *k = kern_cuda();
    k->give(s->d, s->work, 1), k->give(s->d, s->dev_logits, 1), k->give(s->d, s->dev_choice, 1);
    k->close(s->d);
    CHECK_EQ(shim_bytes() + shim_kept(), 0);
}

static void sample(struct setup *s, const float *logits, const struct kern_sample *params, struct kern_choice *out)
{
    const struct kern *k = kern_cuda();
    static const int32_t zero[OUTS];
    const struct kern_batch b = {.rows = 1, .token = zero, .pos = zero, .seq = zero, .seqs = 1, .groups = 1,
                                 .table = {zero}, .stride = 1, .outs = OUTS, .out_row = zero};
    struct err err = {0};
    int rc = k->upload(s->d, NULL, s->dev_logits, logits, (size_t)OUTS * (size_t)s->vocab * sizeof *logits, &err);
    if (!rc) rc = k->begin(s->d, NULL, &b, s->work, &err);
    if (!rc) rc = k->sample(s->d, NULL, OUTS, s->vocab, params, s->dev_logits, s->dev_choice, s->work, &err);
    if (!rc) rc = k->fetch(s->d, NULL, out, s->dev_choice, OUTS * sizeof *out, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
}

static void check(struct setup *s, const float *logits, const struct kern_sample *params)
{
    struct kern_choice got[OUTS], right;
    void *scratch = aligned_alloc(64, kern_choose_bytes(s->vocab));
    sample(s, logits, params, got);
    for (int o = 0; o < OUTS; o++) {
        memset(&right, 0, sizeof right);
        kern_choose(&params[o], logits + (size_t)o * (size_t)s->vocab, s->vocab, scratch, &right);
        CHECK_EQ(got[o].id, right.id);
        CHECK_MEM(&got[o], &right, sizeof right);
    }
    free(scratch);
}

/* ------------------------------------------------------------------ what is thrown at it */

/* Of a row: smooth, in few steps (ties), with what is no number or infinite, or nothing but that. */
static void throw_logits(struct dice *dice, float *v, int n)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e38f, -1e38f};
    const int kind = dice_below(dice, 6), which = dice_below(dice, (int)COUNT_OF(odd));
    for (int i = 0; i < n; i++) {
        v[i] = dice_float(dice, 1) * 4;
        if (kind == 1) v[i] = (float)(int)v[i];
        if (kind == 2 && dice_below(dice, 7) == 0) v[i] = odd[dice_below(dice, (int)COUNT_OF(odd))];
        if (kind == 3 || (kind == 4 && dice_below(dice, 40))) v[i] = odd[which];
    }
}

struct thrown {
    int32_t recent[RECENT];
    struct kern_bias bias[80];
    uint32_t allowed[MOST / 32 + 1];
};

static struct kern_sample throw_sample(struct dice *dice, struct thrown *t, int vocab, bool there)
{
    struct kern_sample s = {.temp = dice_below(dice, 2) ? 0.3f + (float)dice_below(dice, 10) / 5 : 0, .top_p = 1,
                            .repeat = 1, .recent = t->recent, .bias = t->bias, .seed = (uint64_t)dice_below(dice, 99),
                            .step = (uint64_t)dice_below(dice, 99), .target = -1};
    for (int i = 0; i < RECENT; i++) t->recent[i] = dice_below(dice, vocab + 2) - 1;
    for (int i = 0; i < (int)COUNT_OF(t->bias); i++)
        t->bias[i] = (struct kern_bias){dice_below(dice, vocab + 2) - 1, i % 9 == 8 ? NAN : dice_float(dice, 1) * 3};
    for (size_t i = 0; i < COUNT_OF(t->allowed); i++) t->allowed[i] = dice_below(dice, 3) ? dice_roll(dice) : 0;
    if (dice_below(dice, 3) == 0) s.top_n = dice_below(dice, KERN_TOP + 1);
    if (dice_below(dice, 5) == 0) s.target = dice_below(dice, vocab + 1);
    if (dice_below(dice, 3) == 0) s.allowed = t->allowed;
    if (dice_below(dice, 3) == 0) s.n_bias = dice_below(dice, there ? 60 : 80);
    if (dice_below(dice, 2)) s.n_recent = dice_below(dice, there ? 256 : RECENT), s.repeat = 1.3f;
    if (dice_below(dice, 3) == 0) s.frequency = dice_below(dice, 9) ? 0.4f : NAN, s.presence = 0.2f;
    if (!there && dice_below(dice, 2)) s.top_k = 1 + dice_below(dice, 60);
    if (!there && dice_below(dice, 2)) s.top_p = 0.9f;
    if (!there && dice_below(dice, 4) == 0) s.min_p = 0.05f;
    return s;
}

TEST(any_row_is_chosen_from_as_kern_choose_does_in_every_order_of_threads)
{
    static const int sizes[] = {1, 15, 16, 127, 128, 129, 1000, 2049, MOST};
    static float logits[OUTS * MOST];
    static struct thrown thrown[OUTS];
    struct dice dice = {21};
    int drawn = 0;
    for (size_t z = 0; z < COUNT_OF(sizes); z++) {
        struct setup s = open_setup(sizes[z]);
        for (int round = 0; round < ROUNDS / (sizes[z] > 500 ? 4 : 1); round++) {
            struct kern_sample params[OUTS];
            shim_order(round % 3);
            for (int o = 0; o < OUTS; o++) {
                throw_logits(&dice, logits + (size_t)o * (size_t)sizes[z], sizes[z]);
                params[o] = throw_sample(&dice, &thrown[o], sizes[z], o % 2);
                drawn += o % 2 && params[o].temp > 0;
            }
            check(&s, logits, params);
        }
        close_setup(&s);
    }
    shim_order(0);
    CHECK(drawn > ROUNDS);
}

/* A vocabulary of more runs than are summed up at once. */
TEST(a_row_of_a_large_vocabulary_is_chosen_from_as_kern_choose_does)
{
    enum { LARGE = CHECK_SANITIZED ? 140001 : 152064 };
    struct dice dice = {22};
    float *logits = malloc((size_t)OUTS * LARGE * sizeof *logits);
    struct setup s = open_setup(LARGE);
    CHECK(logits);
    for (int i = 0; i < OUTS * LARGE; i++) logits[i] = dice_float(&dice, 1) * 2;
    const int32_t recent[] = {5, 9, 5, LARGE - 1};
    struct kern_sample params[OUTS];
    for (int o = 0; o < OUTS; o++)
        params[o] = (struct kern_sample){.temp = o < 3 ? (float)o : 0, .top_p = 1, .repeat = 1.1f, .recent = recent,
                                         .n_recent = 4, .seed = 7, .step = 30 + (uint64_t)o, .target = -1, .top_n = o};
    check(&s, logits, params);
    close_setup(&s);
    free(logits);
}

TEST(what_the_device_chooses_comes_over_as_choices_alone)
{
    enum { VOCAB = 1000 };
    struct setup s = open_setup(VOCAB);
    struct kern_choice got[OUTS];
    struct kern_sample params[OUTS];
    static float logits[OUTS * VOCAB];
    const size_t choices = OUTS * sizeof(struct kern_choice), row = VOCAB * sizeof(float);
    for (int o = 0; o < OUTS; o++)
        params[o] = (struct kern_sample){.temp = o == 1, .top_p = 1, .repeat = 1, .target = o == 2 ? 7 : -1};
    size_t before = shim_fetched();
    sample(&s, logits, params, got);
    CHECK_EQ(shim_fetched() - before, choices);
    params[3].temp = 1, params[3].top_k = 40;
    params[4].temp = 0, params[4].top_k = 40; /* greedy all the same */
    before = shim_fetched();
    sample(&s, logits, params, got);
    CHECK_EQ(shim_fetched() - before, choices + row);
    close_setup(&s);
}

CHECK_MAIN
