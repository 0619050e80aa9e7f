/* delta.c - layers that keep a state, and gates of attention.  Products are mat.c's; then channels are shared out, and
 * then, but where a convolution is all, the heads of each sequence, whose tokens follow one another.  state.h has the
 * states' layout. */
#include "kernels/cpu/cpu.h"
#include "kernels/state.h"
#include <math.h>

enum { BLOCK = 64, /* channels of an item */ TOKENS = 16 /* of a head at a time: their q, k and o are on the stack */ };

/* Rows of one sequence, which are neighbours, and the pages where its state comes from (-1: it begins) and goes to. */
struct span {
    int row, n, from, to;
};

struct delta_job {
    const struct kdev *d;
    const struct kern_batch *b;
    const struct kern_delta *w; /* NULL: a convolution is all */
    const struct kern_group *g;
    int group, layer, spans;
    struct span *span; /* (spans) */
    const float *dev_conv; /* (channels, taps) */
    float *qkv, *conv; /* (rows, channels): before and after */
    float *bcv;        /* NULL, or (rows, 3 * channels): qkv is to be b * v, and after is c times the sum */
    float *z;          /* (rows, values * dim) */
    float *beta, *alpha; /* (rows, values) */
    float *att;        /* (rows, values * dim) */
};

static void cut_spans(struct delta_job *j)
{
    const struct kern_batch *b = j->b;
    for (int r = 0, n; r < b->rows; r += n) {
        for (n = 1; r + n < b->rows && b->seq[r + n] == b->seq[r]; n++) assert(b->pos[r + n] == b->pos[r] + n);
        struct span *s = &j->span[j->spans++];
        *s = (struct span){.row = r, .n = n, .from = -1};
        if (b->pos[r] > 0) s->from = state_page(b, j->group, b->seq[r], b->pos[r] - 1);
        s->to = state_page(b, j->group, b->seq[r], b->pos[r] + n - 1);
        assert(s->to >= 0 && (s->from >= 0 || b->pos[r] == 0));
    }
}

/* Rows from `at` of a span on up to the next after which its state is wanted, and where: that of a page's end, if the
 * page is there, or of its last row. */
static int next_stop(const struct delta_job *j, const struct span *s, int at, int *page)
{
    const struct kern_batch *b = j->b;
    *page = s->to;
    for (int r = at; r + 1 < s->n; r++) {
        const int pos = b->pos[s->row + r];
        const int own = pos % KERN_PAGE == KERN_PAGE - 1 ? state_page(b, j->group, b->seq[s->row], pos) : -1;
        if (own < 0) continue;
        *page = own;
        return r + 1 - at;
    }
    return s->n - at;
}

/* ---------------------------------------------------------------------- channels */

/* A block of channels of one sequence. */
struct block {
    const struct delta_job *j;
    const struct span *s;
    int at, n;                            /* channels */
    float w[KERN_TAPS * BLOCK];           /* (taps, n): across */
    float old[KERN_TAPS][BLOCK];          /* (taps - 1) rows of n: of the tokens before its rows */
};

/* What the channels had at row r of the span; those before it are -1 and less. */
static const float *channels_at(const struct block *k, int r)
{
    const struct delta_job *j = k->j;
    if (r < 0) return k->old[j->g->taps - 1 + r];
    return j->qkv + (size_t)(k->s->row + r) * (size_t)state_channels(j->g) + k->at;
}

static void read_old(struct block *k)
{
    const struct kern_group *g = k->j->g;
    for (int i = 0; i < g->taps - 1; i++) {
        const int at = i * state_channels(g) + k->at;
        if (k->s->from < 0) memset(k->old[i], 0, sizeof k->old[i]);
        else memcpy(k->old[i], state_conv(g, k->s->from, k->j->layer) + at, (size_t)k->n * sizeof(float));
    }
}

/* The last taps - 1 values up to row r. */
static void write_old(const struct block *k, int r, int page)
{
    const struct kern_group *g = k->j->g;
    float *to = state_conv(g, page, k->j->layer) + k->at;
    for (int i = 0; i < g->taps - 1; i++, to += state_channels(g))
        memcpy(to, channels_at(k, r - (g->taps - 2) + i), (size_t)k->n * sizeof *to);
}

/* The block's b of a row; c and v lie each `channels` further on. */
static const float *bcv_at(const struct block *k, int r)
{
    return k->j->bcv + (size_t)(k->s->row + r) * 3 * (size_t)state_channels(k->j->g) + k->at;
}

/* What is convolved: one product of two numbers, the same bits however it is computed. */
static void multiply(const struct block *k)
{
    const int channels = state_channels(k->j->g);
    float *u = k->j->qkv + (size_t)k->s->row * (size_t)channels + k->at;
    for (int r = 0; r < k->s->n; r++, u += channels) {
        const float *b = bcv_at(k, r), *v = b + 2 * channels;
        for (int i = 0; i < k->n; i++) u[i] = b[i] * v[i];
    }
}

static void convolve(const struct block *k)
{
    const struct delta_job *j = k->j;
    const int taps = j->g->taps, channels = state_channels(j->g);
    const float *in[KERN_TAPS];
    float *to = j->conv + (size_t)k->s->row * (size_t)channels + k->at;
    for (int r = 0; r < k->s->n; r++, to += channels) {
        for (int i = 0; i < taps; i++) in[i] = channels_at(k, r - (taps - 1) + i);
        j->d->isa->conv(in, k->w, taps, k->n, j->bcv ? bcv_at(k, r) + channels : NULL, to);
    }
}

/* Item: a block, of all sequences. */
static void channel_blocks(void *arg, int first, int end, int who)
{
    const struct delta_job *j = arg;
    const int taps = j->g->taps;
    struct block k = {.j = j};
    (void)who;
    for (int item = first; item < end; item++) {
        k.at = item * BLOCK;
        k.n = MIN(BLOCK, state_channels(j->g) - k.at);
        for (int c = 0; c < k.n; c++)
            for (int i = 0; i < taps; i++) k.w[i * k.n + c] = j->dev_conv[(k.at + c) * taps + i];
        for (k.s = j->span; k.s < j->span + j->spans; k.s++) {
            if (j->bcv) multiply(&k);
            read_old(&k);
            convolve(&k);
            for (int r = 0, page; r < k.s->n;) {
                r += next_stop(j, k.s, r, &page);
                write_old(&k, r - 1, page);
            }
        }
    }
}

/* ------------------------------------------------------------------------- heads */

/* Both are numbers of a head and a token: in double, once for all instruction sets. */
static float decay_of(float a, float dt, float alpha)
{
    const double x = (double)alpha + (double)dt, soft = x > 30 ? x : log1p(exp(x));
    return (float)exp((double)a * soft);
}

static float beta_of(float x) { return (float)(1 / (1 + exp(-(double)x))); }

struct head {
    const struct delta_job *j;
    const struct span *s;
    int head;
    float *S;
    float q_norm[KERN_HEAD_MAX], k_norm[KERN_HEAD_MAX]; /* weights by which norm() gives the lengths that are wanted */
};

/* Up to TOKENS rows from r of the span on. */
static void few_tokens(const struct head *h, int r, int n)
{
    const struct delta_job *j = h->j;
    const struct kern_group *g = j->g;
    const struct cpu_isa *isa = j->d->isa;
    const int dim = g->head_dim, keys = g->keys, values = g->kv_heads, key = state_key(j->w, g, h->head);
    const float eps = j->w->eps / (float)dim;
    _Alignas(64) float q[TOKENS][KERN_HEAD_MAX], k[TOKENS][KERN_HEAD_MAX];
    struct isa_delta token[TOKENS];
    for (int t = 0; t < n; t++) {
        const size_t row = (size_t)(h->s->row + r + t);
        const float *c = j->conv + row * (size_t)state_channels(g);
        isa->norm(c + key * dim, h->q_norm, dim, eps, q[t]);
        isa->norm(c + (keys + key) * dim, h->k_norm, dim, eps, k[t]);
        const size_t at = row * (size_t)values + (size_t)h->head;
        token[t] = (struct isa_delta){.q = q[t], .k = k[t], .v = c + (2 * keys + h->head) * dim,
                                      .decay = decay_of(j->w->dev_a[h->head], j->w->dev_dt[h->head], j->alpha[at]),
                                      .beta = beta_of(j->beta[at]), .o = j->att + at * (size_t)dim};
    }
    isa->delta(h->S, dim, token, n);
    for (int t = 0; t < n; t++) {
        isa->norm(token[t].o, j->w->dev_head_norm, dim, j->w->eps, token[t].o);
        isa->gate(KERN_SILU, j->z + (token[t].o - j->att), token[t].o, dim, token[t].o);
    }
}

static void one_head(const struct head *h)
{
    const struct delta_job *j = h->j;
    const struct span *s = h->s;
    const size_t bytes = state_head_floats(j->g) * sizeof(float);
    if (s->from < 0) memset(h->S, 0, bytes);
    else if (s->from != s->to) memcpy(h->S, state_head(j->g, s->from, j->layer, h->head), bytes);
    for (int r = 0, page; r < s->n;) {
        const int stop = r + next_stop(j, s, r, &page);
        for (int n; r < stop; r += n) {
            n = MIN(TOKENS, stop - r);
            few_tokens(h, r, n);
        }
        if (page != s->to) memcpy(state_head(j->g, page, j->layer, h->head), h->S, bytes);
    }
}

/* Item: a value head of a sequence. */
static void heads(void *arg, int first, int end, int who)
{
    const struct delta_job *j = arg;
    const int dim = j->g->head_dim, values = j->g->kv_heads;
    struct head h = {.j = j};
    (void)who;
    for (int i = 0; i < dim; i++) {
        h.q_norm[i] = 1 / (float)dim; /* 1 / sqrt(dim) is the length's, and again q's own */
        h.k_norm[i] = 1 / sqrtf((float)dim);
    }
    for (int item = first; item < end; item++) {
        h.s = &j->span[item / values];
        h.head = item % values;
        h.S = state_head(j->g, h.s->to, j->layer, h.head);
        one_head(&h);
    }
}

/* ------------------------------------------------------------------------- steps */

int cpu_delta(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
              const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
              struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (b->rows <= 0) return 0;
    const size_t rows = (size_t)b->rows;
    const bool any_int = cpu_is_int(w->qkv.type) || cpu_is_int(w->z.type) || cpu_is_int(w->beta.type) ||
                         cpu_is_int(w->alpha.type);
    assert(w->qkv.rows == state_channels(g) && w->z.rows == g->kv_heads * g->head_dim && layer < g->layers);
    assert(w->beta.rows == g->kv_heads && w->alpha.rows == g->kv_heads);
    struct cpu_input in = cpu_input(d, b->rows, NULL, w->qkv.cols, x, w->dev_norm, w->eps, any_int, &work);
    struct delta_job j = {.d = d, .b = b, .w = w, .g = g, .group = group, .layer = layer, .dev_conv = w->dev_conv,
                          .att = att};
    j.span = cpu_cut(&work, rows, sizeof *j.span);
    j.qkv = cpu_cut(&work, rows * (size_t)w->qkv.rows, sizeof *j.qkv);
    j.conv = cpu_cut(&work, rows * (size_t)w->qkv.rows, sizeof *j.conv);
    j.z = cpu_cut(&work, rows * (size_t)w->z.rows, sizeof *j.z);
    j.beta = cpu_cut(&work, rows * (size_t)w->beta.rows, sizeof *j.beta);
    j.alpha = cpu_cut(&work, rows * (size_t)w->alpha.rows, sizeof *j.alpha);
    cut_spans(&j);
    const struct cpu_out out[] = {{&w->qkv, j.qkv}, {&w->z, j.z}, {&w->beta, j.beta}, {&w->alpha, j.alpha}};
    cpu_mul(d, &in, out, (int)COUNT_OF(out), 0);
    crew_run(d->crew, (state_channels(g) + BLOCK - 1) / BLOCK, channel_blocks, &j);
    crew_run(d->crew, j.spans * g->kv_heads, heads, &j);
    return 0;
}

int cpu_conv(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
             const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
             struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (b->rows <= 0) return 0;
    const size_t rows = (size_t)b->rows, channels = (size_t)state_channels(g);
    assert(g->keys == 0 && (size_t)w->in.rows == 3 * channels && layer < g->layers);
    struct cpu_input in = cpu_input(d, b->rows, NULL, w->in.cols, x, w->dev_norm, w->eps, cpu_is_int(w->in.type),
                                    &work);
    struct delta_job j = {.d = d, .b = b, .g = g, .group = group, .layer = layer, .dev_conv = w->dev_conv, .conv = att};
    j.span = cpu_cut(&work, rows, sizeof *j.span);
    j.bcv = cpu_cut(&work, rows * 3 * channels, sizeof *j.bcv);
    j.qkv = cpu_cut(&work, rows * channels, sizeof *j.qkv);
    cut_spans(&j);
    cpu_mul(d, &in, &(struct cpu_out){&w->in, j.bcv}, 1, 0);
    crew_run(d->crew, (state_channels(g) + BLOCK - 1) / BLOCK, channel_blocks, &j);
    return 0;
}

struct let_job {
    const struct kdev *d;
    const float *gate;
    float *att;
    int wide;
};

static void let_rows(void *arg, int first, int end, int who)
{
    const struct let_job *j = arg;
    (void)who;
    for (int r = first; r < end; r++) {
        const size_t at = (size_t)r * (size_t)j->wide;
        j->d->isa->let(j->gate + at, j->wide, j->att + at);
    }
}

int cpu_let(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *x, float *att,
            void *dev_work, struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (rows <= 0) return 0;
    struct cpu_input in = cpu_input(d, rows, NULL, w->mat.cols, x, w->dev_norm, w->eps, cpu_is_int(w->mat.type), &work);
    float *gate = cpu_cut(&work, (size_t)rows * (size_t)w->mat.rows, sizeof *gate);
    struct let_job j = {d, gate, att, w->mat.rows};
    cpu_mul(d, &in, &(struct cpu_out){&w->mat, gate}, 1, 0);
    crew_run(d->crew, rows, let_rows, &j);
    return 0;
}

bool cpu_delta_bytes(const struct kern_dims *n, uint64_t *bytes)
{
    const uint64_t rows = (uint64_t)MAX(n->max_rows, 1), dim = (uint64_t)n->state_dim, values = (uint64_t)n->values;
    const uint64_t channels = (2 * (uint64_t)n->keys + values) * dim, wide = (uint64_t)n->heads * (uint64_t)n->head_dim;
    uint64_t input, own;
    *bytes = 0;
    if (!values) return false;
    if (channels > INT32_MAX || cpu_input_bytes(n->max_rows, n->embd, n->embd, &input)) return true;
    const uint64_t floats = n->keys ? MAX(2 * channels + values * dim + 2 * values, wide) : 4 * channels;
    if (size_mul(rows, floats * sizeof(float) + sizeof(struct span), &own)) return true;
    return size_add(own, input, bytes) || size_add(*bytes, 6 * 64, bytes);
}
