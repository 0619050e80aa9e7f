/* test_kernels_ref.c - the reference backend against a second forward pass that is written down another way, and its
 * promises: a row's bits depend on that row alone, on no page order, and on nothing outside what it may see. */
#include "kernels/kernels.h"
#include "tests/check.h"

#include <complex.h>

/* A small model of three layers in two groups: layer 0 has group 0 for itself (windowed, where a test wants it), layers
 * 1 and 2 share group 1. */
enum { EMBD = 32, HEADS = 4, KV_HEADS = 2, HEAD = 8, WIDE = HEADS * HEAD, KV_WIDE = KV_HEADS * HEAD };
enum { FF = 64, VOCAB = 50, EXPERTS = 7 };
enum { LAYERS = 3, CTX = 48, STRIDE = CTX / KERN_PAGE, SEQS = 2, PAGES = 16 };
static const int group_of[LAYERS] = {0, 1, 1}, layer_of[LAYERS] = {0, 0, 1};
static const float eps = 1e-5f;

struct shape {
    enum ktype type, kv;
    bool neox, biases, head_norms, posts, round;
    int rope_dims, window;
    double gain;
    float softcap, out_softcap, embed_scale;
    enum kern_act act;
    int used; /* of EXPERTS; 0: one feed-forward */
};

static const struct shape llama = {.type = KT_F32, .kv = KT_F32, .rope_dims = HEAD, .gain = 1, .embed_scale = 1};
static const struct shape other = {
    .type = KT_Q8_0, .kv = KT_F32, .neox = true, .biases = true, .head_norms = true, .posts = true,
    .rope_dims = HEAD - 2, .gain = 1.25, .window = 5, .softcap = 1.5f, .out_softcap = 2, .embed_scale = 3,
    .act = KERN_GELU,
};

static const struct shape mixed = {
    .type = KT_F32, .kv = KT_F32, .head_norms = true, .rope_dims = HEAD, .gain = 1, .embed_scale = 1, .used = 3,
};

/* A matrix as the backend has it and as doubles. */
struct mat {
    struct kmat m;
    double *w;
};

struct layer {
    struct kern_attn_in in;
    struct mat q, k, v, o, gate, up, down, router;
    float norm[EMBD], ffn_norm[EMBD], post[EMBD], ffn_post[EMBD], q_norm[HEAD], k_norm[HEAD];
    float bq[WIDE], bk[KV_WIDE], bv[KV_WIDE], bo[EMBD];
};

struct world {
    struct shape shape;
    const struct kern *kern;
    struct kdev *dev;
    struct kern_group group[2];
    struct layer layer[LAYERS];
    struct mat embd, output;
    float out_norm[EMBD];
    double inv_freq[HEAD / 2];
    int32_t table[2][SEQS * STRIDE];
    void *work;
    size_t work_bytes;
    uint64_t seed;
};

static double next_random(struct world *w) /* -1 .. 1 */
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(w->seed >> 33) * 0x1p-30 - 1;
}

static void random_floats(struct world *w, float *v, int n, double middle, double spread)
{
    for (int i = 0; i < n; i++) v[i] = (float)(middle + spread * next_random(w));
}

/* The file's bytes of random weights of about the size 1 / sqrt(cols). */
static void random_bytes(struct world *w, enum ktype type, int n, int cols, uint8_t *out)
{
    const struct ktype_info *t = ktype_info(type);
    float size = 1.7f / sqrtf((float)cols), v;
    for (int i = 0; i < n / t->block; i++, out += t->bytes) {
        random_floats(w, &v, 1, 0, size);
        uint16_t half = quant_to_f16(type == KT_Q8_0 ? size / 127 : v), brain;
        memcpy(&brain, (char *)&v + 2, 2);
        for (int k = 2; k < t->bytes; k++) out[k] = (uint8_t)(int)(128 + 127 * next_random(w));
        if (type == KT_F32) memcpy(out, &v, 4);
        else memcpy(out, type == KT_BF16 ? &brain : &half, 2);
    }
}

static struct mat make_mat(struct world *w, enum ktype type, int rows, int cols)
{
    struct mat a = {.m = {type, rows, cols, NULL}};
    size_t bytes = w->kern->mat_bytes(type, rows, cols), n = (size_t)rows * (size_t)cols;
    uint8_t *raw = malloc(bytes);
    float *v = malloc(n * sizeof *v);
    a.w = malloc(n * sizeof *a.w);
    a.m.dev_data = w->kern->take(w->dev, bytes, NULL);
    CHECK(bytes && raw && v && a.w && a.m.dev_data);

    random_bytes(w, type, rows * cols, cols, raw);
    for (int r = 0; r < rows; r += 32) { /* in the pieces that a loader may use */
        const uint8_t *from = raw + (size_t)r * bytes / (size_t)rows;
        CHECK_EQ(w->kern->mat_load(w->dev, &a.m, r, MIN(32, rows - r), from, NULL), 0);
    }
    quant_decode(type, raw, v, (int64_t)n);
    for (size_t i = 0; i < n; i++) a.w[i] = v[i];
    free(raw);
    free(v);
    return a;
}

static void free_mat(struct world *w, struct mat *a)
{
    w->kern->give(w->dev, a->m.dev_data, w->kern->mat_bytes(a->m.type, a->m.rows, a->m.cols));
    free(a->w);
}

static void make_layer(struct world *w, struct layer *l)
{
    const struct shape *s = &w->shape;
    float *norm[] = {l->norm, l->ffn_norm, l->post, l->ffn_post}, *bias[] = {l->bq, l->bk, l->bv, l->bo};
    static const int wide[] = {WIDE, KV_WIDE, KV_WIDE, EMBD};
    for (int i = 0; i < 4; i++) random_floats(w, norm[i], EMBD, 1, 0.5);
    for (int i = 0; i < 4; i++) random_floats(w, bias[i], wide[i], 0, 0.3);
    random_floats(w, l->q_norm, HEAD, 1, 0.4);
    random_floats(w, l->k_norm, HEAD, 1, 0.4);
    l->q = make_mat(w, s->type, WIDE, EMBD);
    l->k = make_mat(w, s->type, KV_WIDE, EMBD);
    l->v = make_mat(w, s->type == KT_Q8_0 ? KT_F16 : s->type, KV_WIDE, EMBD); /* types are mixed in real files */
    l->o = make_mat(w, s->type, EMBD, WIDE);
    const int n = s->used ? EXPERTS : 1;
    l->gate = make_mat(w, s->type, n * FF, EMBD);
    l->up = make_mat(w, s->type, n * FF, EMBD);
    l->down = make_mat(w, s->type, n * EMBD, FF);
    if (s->used) l->router = make_mat(w, KT_F32, EXPERTS, EMBD);
    l->in = (struct kern_attn_in){
        .dev_norm = l->norm, .eps = eps, .q = l->q.m, .k = l->k.m, .v = l->v.m, .heads = HEADS,
        .rope = {s->rope_dims, s->neox, w->inv_freq, s->gain},
    };
    if (s->biases) l->in.dev_bq = l->bq, l->in.dev_bk = l->bk, l->in.dev_bv = l->bv;
    if (s->head_norms) l->in.dev_q_norm = l->q_norm, l->in.dev_k_norm = l->k_norm;
}

/* The i-th page of the identity, or of another order of the pool. */
static void make_tables(struct world *w, bool shuffled)
{
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < SEQS * STRIDE; i++) w->table[g][i] = shuffled ? (i * 7 + 11 + 2 * g) % PAGES : i;
}

static struct world *make_world(struct shape shape)
{
    struct world *w = calloc(1, sizeof *w);
    struct kern_config cfg = {.round_activations = shape.round};
    struct kern_dims dims = {.embd = EMBD, .heads = HEADS, .kv_heads = KV_HEADS, .head_dim = HEAD, .ff = FF,
                             .vocab = VOCAB, .max_rows = SEQS * CTX, .max_outs = SEQS * CTX, .max_ctx = CTX,
                             .max_seqs = SEQS, .experts = shape.used ? EXPERTS : 0, .used = shape.used};
    CHECK(w != NULL);
    w->shape = shape;
    w->seed = 42;
    w->kern = kern_ref();
    w->dev = w->kern->open(&cfg, NULL);
    CHECK(w->dev != NULL);
    for (int i = 0; i < HEAD / 2; i++) w->inv_freq[i] = pow(100, -i / 4.0);
    for (int g = 0; g < 2; g++) {
        struct kern_group *k = &w->group[g];
        *k = (struct kern_group){.layers = g + 1, .kv_heads = KV_HEADS, .head_dim = HEAD, .kv_type = shape.kv,
                                 .window = g == 0 ? shape.window : 0, .pages = PAGES};
        k->page_bytes = w->kern->kv_page_bytes(k);
        k->dev_slab = w->kern->take(w->dev, PAGES * k->page_bytes, NULL);
        CHECK(k->dev_slab != NULL);
        memset(k->dev_slab, 0xff, PAGES * k->page_bytes); /* NaN in both types: what is read unwritten shows */
    }
    for (int l = 0; l < LAYERS; l++) make_layer(w, &w->layer[l]);
    random_floats(w, w->out_norm, EMBD, 1, 0.5);
    w->embd = make_mat(w, shape.type, VOCAB, EMBD);
    w->output = make_mat(w, shape.type, VOCAB, EMBD);
    make_tables(w, false);
    w->work_bytes = w->kern->work_bytes(&dims);
    w->work = w->kern->take(w->dev, w->work_bytes, NULL);
    CHECK(w->work != NULL);
    memset(w->work, 0xff, w->work_bytes);
    return w;
}

static void free_world(struct world *w)
{
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &w->layer[i];
        struct mat *all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down, &l->router};
        for (size_t k = 0; k < COUNT_OF(all); k++)
            if (all[k]->w) free_mat(w, all[k]);
    }
    free_mat(w, &w->embd);
    free_mat(w, &w->output);
    for (int g = 0; g < 2; g++) w->kern->give(w->dev, w->group[g].dev_slab, PAGES * w->group[g].page_bytes);
    w->kern->give(w->dev, w->work, w->work_bytes);
    w->kern->close(w->dev);
    free(w);
}

/* ------------------------------------------------------------ the backend's pass */

/* Rows of a pass; logits are wanted of all. */
struct rows {
    int n;
    int32_t token[SEQS * CTX], pos[SEQS * CTX], seq[SEQS * CTX], out[SEQS * CTX];
};

static void add_row(struct rows *r, int token, int pos, int seq)
{
    r->token[r->n] = token;
    r->pos[r->n] = pos;
    r->seq[r->n] = seq;
    r->out[r->n] = r->n;
    r->n++;
}

static int token_at(int seq, int pos)
{
    return (pos * 17 + seq * 29 + 3) % VOCAB;
}

static struct kern_batch batch_of(struct world *w, const struct rows *r)
{
    return (struct kern_batch){
        .rows = r->n, .token = r->token, .pos = r->pos, .seq = r->seq, .seqs = SEQS, .groups = 2,
        .table = {w->table[0], w->table[1]}, .stride = STRIDE, .outs = r->n, .out_row = r->out,
    };
}

static void forward(struct world *w, const struct rows *r, float *logits)
{
    static float x[SEQS * CTX * EMBD], q[SEQS * CTX * WIDE], att[SEQS * CTX * WIDE];
    const struct kern *k = w->kern;
    struct kern_batch b = batch_of(w, r);
    const struct shape *s = &w->shape;
    float scale = 1 / sqrtf(HEAD);
    int bad = k->embed(w->dev, NULL, &b, &w->embd.m, s->embed_scale, x, NULL);
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &w->layer[i];
        const float *bo = s->biases ? l->bo : NULL, *post = s->posts ? l->post : NULL;
        int g = group_of[i], in = layer_of[i];
        bad |= k->attn_in(w->dev, NULL, &b, &l->in, &w->group[g], g, in, x, q, w->work, NULL);
        bad |= k->attn(w->dev, NULL, &b, &w->group[g], g, in, HEADS, scale, s->softcap, NULL, q, att, w->work, NULL);
        bad |= k->project(w->dev, NULL, b.rows, &l->o.m, bo, post, eps, att, x, w->work, NULL);
        const struct kern_ffn ffn = {.dev_norm = l->ffn_norm, .eps = eps, .gate = l->gate.m, .up = l->up.m,
                                     .down = l->down.m, .act = s->act, .dev_post = s->posts ? l->ffn_post : NULL,
                                     .mix = {s->used ? EXPERTS : 0, s->used, l->router.m, NULL, false}};
        bad |= k->ffn(w->dev, NULL, b.rows, &ffn, x, w->work, NULL);
    }
    bad |= k->output(w->dev, NULL, &b, w->out_norm, eps, &w->output.m, s->out_softcap, x, logits, w->work, NULL);
    CHECK_EQ(bad, 0);
}

/* --------------------------------------------------------------- the second pass */

static void times(const struct mat *a, const double *x, const float *bias, double *y)
{
    for (int r = 0; r < a->m.rows; r++) y[r] = bias ? bias[r] : 0;
    for (int c = 0; c < a->m.cols; c++) /* column by column */
        for (int r = 0; r < a->m.rows; r++) y[r] += a->w[r * a->m.cols + c] * x[c];
}

static void normed(const double *x, const float *weight, int n, double *y)
{
    double mean = 0;
    for (int i = 0; i < n; i++) mean += x[i] * x[i] / n;
    for (int i = 0; i < n; i++) y[i] = x[i] / sqrt(mean + (double)eps) * weight[i];
}

/* The rotation as what it is: complex numbers times e^(i p f). */
static void turned(const struct world *w, int heads, const float *norm, int pos, double *x)
{
    int dims = w->shape.rope_dims, far = w->shape.neox ? dims / 2 : 1, step = w->shape.neox ? 1 : 2;
    for (double *h = x; h < x + heads * HEAD; h += HEAD) {
        if (norm) normed(h, norm, HEAD, h);
        for (int i = 0; i < dims / 2; i++) {
            double complex z = (h[i * step] + h[i * step + far] * I) * cexp(pos * w->inv_freq[i] * I) * w->shape.gain;
            h[i * step] = creal(z);
            h[i * step + far] = cimag(z);
        }
    }
}

static void rounded(enum ktype kv, double *x, int n)
{
    for (int i = 0; i < n && kv == KT_F16; i++) x[i] = quant_f16(quant_to_f16((float)x[i]));
}

static double capped(double s, float cap)
{
    return cap > 0 ? tanh(s / cap) * cap : s;
}

/* One row's attention; the softmax is divided out at the end and nothing is subtracted: scores are small here. */
static void attend(const struct world *w, int window, const double *q, const double (*k)[KV_WIDE],
                   const double (*v)[KV_WIDE], int pos, double *att)
{
    for (int h = 0; h < HEADS; h++) {
        int kv = h / 2 * HEAD;
        double sum = 0, mean[HEAD] = {0};
        for (int p = pos; p >= 0 && !(window && pos - p >= window); p--) {
            double s = 0;
            for (int i = 0; i < HEAD; i++) s += q[h * HEAD + i] * k[p][kv + i];
            double e = exp(capped(s / sqrt(HEAD), w->shape.softcap));
            for (int i = 0; i < HEAD; i++) mean[i] += e * v[p][kv + i];
            sum += e;
        }
        for (int i = 0; i < HEAD; i++) att[h * HEAD + i] = mean[i] / sum;
    }
}

/* y = the rows [first, first + rows) of a times x. */
static void times_rows(const struct mat *a, int first, int rows, const double *x, double *y)
{
    struct mat part = {.m = a->m, .w = a->w + (size_t)first * (size_t)a->m.cols};
    part.m.rows = rows;
    times(&part, x, NULL, y);
}

/* y += share * what the feed-forward number `which` makes of the normed row n. */
static void feed_one(const struct world *w, const struct layer *l, int which, double share, const double *n, double *y)
{
    double gate[FF], up[FF], down[EMBD];
    times_rows(&l->gate, which * FF, FF, n, gate);
    times_rows(&l->up, which * FF, FF, n, up);
    for (int i = 0; i < FF; i++) {
        double z = gate[i], c = z + 0.044715 * pow(z, 3);
        up[i] *= w->shape.act == KERN_SILU ? z / (1 + exp(-z)) : z / 2 * (1 + tanh(sqrt(2 / M_PI) * c));
    }
    times_rows(&l->down, which * EMBD, EMBD, up, down);
    for (int i = 0; i < EMBD; i++) y[i] += share * down[i];
}

/* As models say it: a softmax over all experts, of which the smallest are left out and the others made to sum to 1. */
static void feed_mix(const struct world *w, const struct layer *l, const double *n, double *y)
{
    double p[EXPERTS], sum = 0;
    times(&l->router, n, NULL, p);
    for (int i = 0; i < EXPERTS; i++) p[i] = exp(p[i]);
    for (int left = EXPERTS; left > w->shape.used; left--) {
        int least = 0;
        for (int i = 0; i < EXPERTS; i++)
            if (p[i] > 0 && (p[least] == 0 || p[i] < p[least])) least = i;
        p[least] = 0;
    }
    for (int i = 0; i < EXPERTS; i++) sum += p[i];
    for (int i = 0; i < EXPERTS; i++)
        if (p[i] > 0) feed_one(w, l, i, p[i] / sum, n, y);
}

static void feed(const struct world *w, const struct layer *l, double *x)
{
    double n[EMBD], y[EMBD] = {0};
    normed(x, l->ffn_norm, EMBD, n);
    if (w->shape.used) feed_mix(w, l, n, y);
    else feed_one(w, l, 0, 1, n, y);
    if (w->shape.posts) normed(y, l->ffn_post, EMBD, y);
    for (int i = 0; i < EMBD; i++) x[i] += y[i];
}

/* Layer by layer over a whole sequence of n tokens; logits (n, VOCAB). */
static void second_forward(const struct world *w, int seq, int n, double *logits)
{
    static double x[CTX][EMBD], k[CTX][KV_WIDE], v[CTX][KV_WIDE];
    for (int p = 0; p < n; p++)
        for (int i = 0; i < EMBD; i++) x[p][i] = w->embd.w[token_at(seq, p) * EMBD + i] * (double)w->shape.embed_scale;
    for (int layer = 0; layer < LAYERS; layer++) {
        const struct layer *l = &w->layer[layer];
        const struct kern_attn_in *in = &l->in;
        for (int p = 0; p < n; p++) {
            double a[EMBD], q[WIDE], att[WIDE], o[EMBD];
            normed(x[p], l->norm, EMBD, a);
            times(&l->q, a, in->dev_bq, q);
            times(&l->k, a, in->dev_bk, k[p]);
            times(&l->v, a, in->dev_bv, v[p]);
            turned(w, HEADS, in->dev_q_norm, p, q);
            turned(w, KV_HEADS, in->dev_k_norm, p, k[p]);
            rounded(w->shape.kv, k[p], KV_WIDE);
            rounded(w->shape.kv, v[p], KV_WIDE);
            attend(w, layer == 0 ? w->shape.window : 0, q, k, v, p, att);
            times(&l->o, att, w->shape.biases ? l->bo : NULL, o);
            if (w->shape.posts) normed(o, l->post, EMBD, o);
            for (int i = 0; i < EMBD; i++) x[p][i] += o[i];
            feed(w, l, x[p]);
        }
    }
    for (int p = 0; p < n; p++) {
        double a[EMBD];
        normed(x[p], w->out_norm, EMBD, a);
        times(&w->output, a, NULL, logits + p * VOCAB);
        for (int i = 0; i < VOCAB; i++) logits[p * VOCAB + i] = capped(logits[p * VOCAB + i], w->shape.out_softcap);
    }
}

/* Both passes over 40 tokens; the largest difference of a logit. */
static double passes_differ_by(struct shape shape)
{
    static float got[SEQS * CTX * VOCAB];
    static double want[CTX * VOCAB];
    struct world *w = make_world(shape);
    struct rows r = {0};
    double most = 0, size = 0;
    for (int p = 0; p < 40; p++) add_row(&r, token_at(0, p), p, 0);
    forward(w, &r, got);
    second_forward(w, 0, 40, want);
    for (int i = 0; i < 40 * VOCAB; i++) {
        most = isnan(got[i]) ? INFINITY : MAX(most, fabs(got[i] - want[i]));
        size = MAX(size, fabs(want[i]));
    }
    CHECK(size > 0.5 && size < 50);
    free_world(w);
    return most;
}

TEST(the_pass_agrees_with_a_second_one_in_each_type_of_weights)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_BF16, KT_Q8_0};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct shape s = llama;
        s.type = types[i];
        CHECK(passes_differ_by(s) < 2e-5);
    }
}

TEST(the_pass_agrees_with_a_second_one_in_each_feature)
{
    struct shape s[10];
    for (int i = 0; i < 10; i++) s[i] = llama;
    s[0].neox = true;
    s[1].rope_dims = 4;
    s[2].biases = true;
    s[3].head_norms = true;
    s[4].window = 7;
    s[5].softcap = 0.8f;
    s[6].out_softcap = 1;
    s[7].act = KERN_GELU;
    s[8].rope_dims = 0;
    s[9].posts = true;
    for (int i = 0; i < 10; i++) CHECK(passes_differ_by(s[i]) < 2e-5);
    CHECK(passes_differ_by(other) < 5e-5);
}

TEST(the_pass_agrees_with_a_second_one_with_a_mixture_of_experts)
{
    for (int used = 1; used <= EXPERTS; used++) {
        struct shape s = mixed;
        s.used = used;
        s.type = used % 2 ? KT_F32 : KT_Q8_0;
        CHECK(passes_differ_by(s) < 5e-5);
    }
}

TEST(a_row_goes_through_the_first_of_equal_experts_and_their_weights_sum_to_one)
{
    static const float logits[] = {1, 3, -INFINITY, 3, 3, 2.5f, 1};
    int32_t expert[KERN_USED];
    float weight[KERN_USED], equal[KERN_EXPERTS] = {0};
    kern_route(logits, 7, 2, false, expert, weight);
    CHECK(expert[0] == 1 && expert[1] == 3 && weight[0] == 0.5f && weight[1] == 0.5f);
    kern_route(logits, 7, 5, false, expert, weight);
    CHECK(expert[0] == 0 && expert[1] == 1 && expert[2] == 3 && expert[3] == 4 && expert[4] == 5);
    CHECK(fabs(weight[4] / weight[1] - exp(-0.5)) < 1e-7);
    kern_route(logits, 7, 7, false, expert, weight);
    CHECK(expert[2] == 2 && weight[2] == 0);
    kern_route(equal, KERN_EXPERTS, KERN_USED, false, expert, weight);
    for (int i = 0; i < KERN_USED; i++) CHECK(expert[i] == i && weight[i] == 1.0f / KERN_USED);
    const float wide[] = {-3e38f, 3e38f, 1}; /* their difference is none that a float has */
    kern_route(wide, 3, 3, false, expert, weight);
    CHECK(weight[0] == 0 && weight[1] == 1 && weight[2] == 0);
}

TEST(weights_by_the_softmax_of_all_logits_are_those_of_the_chosen_ones_and_sum_to_less)
{
    static const float logits[] = {1, 3, -INFINITY, 3, 2.5f};
    const double all = exp(1) + 2 * exp(3) + exp(2.5);
    int32_t expert[KERN_USED];
    float weight[KERN_USED], equal[KERN_EXPERTS] = {0};
    kern_route(logits, 5, 3, true, expert, weight);
    CHECK(expert[0] == 1 && expert[1] == 3 && expert[2] == 4 && weight[0] == weight[1]);
    CHECK_NEAR(weight[0], exp(3) / all, 1e-7);
    CHECK_NEAR(weight[2], exp(2.5) / all, 1e-7);
    kern_route(equal, KERN_EXPERTS, KERN_USED, true, expert, weight);
    for (int i = 0; i < KERN_USED; i++) CHECK(expert[i] == i && weight[i] == 1.0f / KERN_EXPERTS);
}

TEST(half_kv_is_rounded_when_it_is_written)
{
    struct shape s = llama;
    s.kv = KT_F16;
    CHECK(passes_differ_by(s) < 1e-3); /* a float next to a half's boundary may fall on the other side of it */
}

/* -------------------------------------------------------------------- promises */

/* Two sequences of 40 tokens in one batch, in the order of positions. */
static void company(struct rows *r)
{
    r->n = 0;
    for (int p = 0; p < 40; p++)
        for (int s = 0; s < SEQS; s++) add_row(r, token_at(s, p), p, s);
}

static void wipe_kv(struct world *w)
{
    for (int g = 0; g < 2; g++) memset(w->group[g].dev_slab, 0xff, PAGES * w->group[g].page_bytes);
}

TEST(a_row_has_the_same_bits_alone_in_company_and_in_pieces)
{
    static float together[SEQS * CTX * VOCAB], alone[SEQS * CTX * VOCAB];
    static const int cuts[] = {1, 3, 16, 40, 1, 7};
    struct rows r;
    struct world *w = NULL;
    for (size_t c = 0; c < COUNT_OF(cuts); c++) {
        struct shape s = c < 4 ? other : mixed;
        s.round = true;
        if (c == 0 || c == 4) {
            if (w) free_world(w);
            w = make_world(s);
            company(&r);
            forward(w, &r, together);
        }
        wipe_kv(w);
        for (int from = 0; from < 40; from += cuts[c]) {
            r.n = 0;
            for (int p = from; p < MIN(40, from + cuts[c]); p++) add_row(&r, token_at(1, p), p, 1);
            forward(w, &r, alone);
            for (int i = 0; i < r.n; i++)
                CHECK_MEM(alone + i * VOCAB, together + ((from + i) * SEQS + 1) * VOCAB, VOCAB * sizeof(float));
        }
    }
    free_world(w);
}

TEST(the_order_of_pages_does_not_matter)
{
    static float plain[SEQS * CTX * VOCAB], shuffled[SEQS * CTX * VOCAB];
    struct world *w = make_world(other);
    struct rows r;
    company(&r);
    forward(w, &r, plain);
    wipe_kv(w);
    make_tables(w, true);
    CHECK(w->table[0][1] != 1 && w->table[1][1] != w->table[0][1]);
    forward(w, &r, shuffled);
    CHECK_MEM(plain, shuffled, (size_t)r.n * VOCAB * sizeof *plain);
    free_world(w);
}

/* Layer 0 is windowed, so its pages that no position of the window lies on may be anything, and be given away. */
TEST(a_window_never_reads_the_pages_behind_it)
{
    static float whole[SEQS * CTX * VOCAB], last[SEQS * CTX * VOCAB];
    struct world *w = make_world(other);
    struct rows r;
    company(&r);
    forward(w, &r, whole);
    for (int page = 0; page < 2; page++) { /* positions 0 .. 31; row 39 sees 35 .. 39 */
        struct kern_group *g = &w->group[0];
        memset((char *)g->dev_slab + (size_t)w->table[0][page] * g->page_bytes, 0xff, g->page_bytes);
        w->table[0][page] = w->table[0][2];
    }
    r.n = 0;
    add_row(&r, token_at(0, 39), 39, 0);
    forward(w, &r, last);
    CHECK_MEM(last, whole + 39 * SEQS * VOCAB, VOCAB * sizeof *last);
    free_world(w);
}

TEST(logits_come_only_for_the_rows_that_want_them)
{
    static float all[SEQS * CTX * VOCAB], some[SEQS * CTX * VOCAB];
    struct world *w = make_world(llama);
    struct rows r = {0};
    for (int p = 0; p < 10; p++) add_row(&r, token_at(0, p), p, 0);
    forward(w, &r, all);
    float x[10 * EMBD];
    static const int32_t want[] = {2, 9};
    struct kern_batch b = batch_of(w, &r);
    random_floats(w, x, 10 * EMBD, 0, 1);
    CHECK_EQ(w->kern->output(w->dev, NULL, &b, w->out_norm, eps, &w->output.m, 0, x, all, w->work, NULL), 0);
    b.outs = 2;
    b.out_row = want;
    some[2 * VOCAB] = 123;
    CHECK_EQ(w->kern->output(w->dev, NULL, &b, w->out_norm, eps, &w->output.m, 0, x, some, w->work, NULL), 0);
    CHECK_MEM(some, all + 2 * VOCAB, VOCAB * sizeof *all);
    CHECK_MEM(some + VOCAB, all + 9 * VOCAB, VOCAB * sizeof *all);
    CHECK(some[2 * VOCAB] == 123);
    free_world(w);
}

CHECK_MAIN
