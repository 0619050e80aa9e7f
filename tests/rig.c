#include "tests/rig.h"
#include "kernels/cpu/isa.h"
#include "tests/check.h"
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

const enum ktype rig_types[RIG_TYPES] = {KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q4_1,
                                         KT_Q5_0, KT_Q5_1, KT_Q4_K, KT_Q5_K, KT_Q6_K, KT_MXFP4,
                                         KT_IQ4_NL, KT_IQ4_XS, KT_Q3_K, KT_Q2_K};
const char *const rig_isas[RIG_ISAS] = {"portable", "avx2", "avxvnni", "avx512"};

/* The sets that this processor lacks, as tests/emulated has them. */
static bool emulated(void)
{
#if defined(__x86_64__)
    return isa_choose("avx512", NULL) && !__builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

const struct cpu_isa *rig_isa(size_t i)
{
    const bool elsewhere = i < 2 && emulated(); /* as it is: in the program whose name does not say so */
    return elsewhere ? NULL : isa_choose(rig_isas[i], NULL);
}

/* ------------------------------------------------------------------------- dice */

uint32_t dice_roll(struct dice *d)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = d->state ^ d->state >> 31;
    return (uint32_t)((x * 0x9e3779b97f4a7c15u) >> 32);
}

int dice_below(struct dice *d, int n)
{
    return (int)(dice_roll(d) % (uint32_t)n);
}

float dice_float(struct dice *d, float scale)
{
    float sum = 0;
    for (int i = 0; i < 6; i++) sum += (float)(dice_roll(d) >> 8) * 0x1p-24f - 0.5f;
    return sum * 1.4142f * scale * (dice_below(d, 100) ? 1.0f : 10.0f);
}

/* ----------------------------------------------------------------------- memory */

static size_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* What was released, closed, for who wants as much again: the system is slow to give pages and to take them. */
enum { LEFT = 64 };
static struct {
    uint8_t *p;
    size_t whole;
} left[LEFT];
static unsigned released;

static uint8_t *take_left(size_t whole)
{
    for (int i = 0; i < LEFT; i++) {
        uint8_t *p = left[i].p;
        if (!p || left[i].whole != whole) continue;
        left[i].p = NULL;
        CHECK_EQ(mprotect(p, whole, PROT_READ | PROT_WRITE), 0);
        return p;
    }
    return NULL;
}

static uint8_t *take_new(size_t whole)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    CHECK_EQ(mprotect(p + whole, page, PROT_NONE), 0);
    return p;
}

void *rig_memory(size_t size)
{
    size_t whole = whole_pages(size);
    uint8_t *p = take_left(whole);
    if (!p) p = take_new(whole);
    memset(p, 0xff, whole);
    return p + (whole - size);
}

void rig_release(void *memory, size_t size)
{
    size_t whole = whole_pages(size), at = released++ % LEFT;
    if (!memory) return;
    if (left[at].p) munmap(left[at].p, left[at].whole + (size_t)sysconf(_SC_PAGESIZE));
    left[at].p = (uint8_t *)memory - (whole - size);
    left[at].whole = whole;
    CHECK_EQ(mprotect(left[at].p, whole, PROT_NONE), 0);
}

static float *random_floats(struct dice *d, int n, float scale, float add)
{
    float *f = rig_memory((size_t)n * sizeof *f);
    for (int i = 0; i < n; i++) f[i] = dice_float(d, scale) + add;
    return f;
}

/* ---------------------------------------------------------------------- weights */

size_t rig_file_bytes(enum ktype type, int rows, int cols)
{
    const struct ktype_info *t = ktype_info(type);
    CHECK_EQ(cols % t->block, 0);
    return (size_t)rows * (size_t)(cols / t->block) * (size_t)t->bytes;
}

/* Where a block has its scale, and its minimum (-1: none); the integers' deviation is about `spread` scales. */
static void scale_places(enum ktype type, int *d, int *m, float *spread)
{
    *d = 0;
    *m = -1;
    *spread = 74; /* Q8_0 */
    switch (type) {
    case KT_Q4_0: *spread = 4.6f; break;
    case KT_Q4_1: *m = 2, *spread = 4.6f; break;
    case KT_Q5_0: *spread = 9.2f; break;
    case KT_Q5_1: *m = 2, *spread = 9.2f; break;
    case KT_Q4_K: *m = 2, *spread = 4.6f * 32; break;
    case KT_Q5_K: *m = 2, *spread = 9.2f * 32; break;
    case KT_IQ4_NL: *spread = 69; break;
    case KT_IQ4_XS: *spread = 69 * 18.5f; break;
    case KT_Q3_K: *d = 108, *spread = 2.3f * 18.5f; break;
    case KT_Q2_K: *d = 80, *m = 82, *spread = 1.12f * 8.8f; break;
    case KT_Q6_K: *d = 208, *spread = 18.5f * 74; break;
    default: break;
    }
}

static void random_block(struct dice *d, enum ktype type, const struct ktype_info *t, float scale, uint8_t *b)
{
    int at_d, at_m;
    float spread;
    for (int i = 0; i < t->bytes; i++) b[i] = (uint8_t)(dice_roll(d) >> 24);
    if (type == KT_MXFP4) { /* values deviate by about 3 of their scales, which are powers of two */
        b[0] = (uint8_t)(127 + (int)floorf(log2f(scale / 3)) + dice_below(d, 3) - 1);
        return;
    }
    scale_places(type, &at_d, &at_m, &spread);
    float sign = dice_below(d, 4) ? 1.0f : -1.0f;
    uint16_t h = quant_to_f16(sign * scale / spread);
    memcpy(b + at_d, &h, 2);
    if (at_m < 0) return;
    /* Minima of 0..63, or Q2_K's of 0..15, that are subtracted; the others' is added. */
    const float most = type == KT_Q4_K || type == KT_Q5_K ? 32.0f : type == KT_Q2_K ? 10.8f : -1.0f;
    h = quant_to_f16(sign * 1.65f * scale / most); /* about the mean of the integers, so that y's is 0 */
    memcpy(b + at_m, &h, 2);
}

void rig_weights(struct dice *d, enum ktype type, int rows, int cols, uint8_t *file)
{
    const struct ktype_info *t = ktype_info(type);
    float scale = 1 / sqrtf((float)cols);
    size_t values = (size_t)rows * (size_t)cols;

    for (size_t i = 0; i < values; i += (size_t)t->block, file += t->bytes) {
        float f = dice_float(d, scale);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        uint16_t half = type == KT_F16 ? quant_to_f16(f) : (uint16_t)(bits >> 16);
        if (t->block > 1) random_block(d, type, t, scale, file);
        else if (type == KT_F32) memcpy(file, &f, sizeof f);
        else memcpy(file, &half, sizeof half);
    }
}

/* ------------------------------------------------------------------------ model */

static void model_mat(struct rig_model *m, struct dice *d, int which, enum ktype type, int rows, int cols)
{
    m->type[which] = type;
    m->rows[which] = rows;
    m->cols[which] = cols;
    m->file[which] = rig_memory(rig_file_bytes(type, rows, cols));
    rig_weights(d, type, rows, cols, m->file[which]);
}

static int widest(const struct rig_model *m)
{
    int most = 0;
    for (int i = 0; i < RIG_MATS; i++) most = MAX(most, m->rows[i]);
    return most;
}

struct rig_model *rig_model(struct dice *d, const struct rig_shape *s)
{
    struct rig_model *m = calloc(1, sizeof *m);
    CHECK(m);
    m->s = *s;
    model_mat(m, d, RIG_Q, s->q, s->heads * s->head_dim, s->embd);
    model_mat(m, d, RIG_K, s->k, s->kv_heads * s->head_dim, s->embd);
    model_mat(m, d, RIG_V, s->v, s->kv_heads * s->head_dim, s->embd);
    model_mat(m, d, RIG_O, s->o, s->embd, s->heads * s->head_dim);
    const int n = MAX(s->experts, 1);
    model_mat(m, d, RIG_GATE, s->gate, n * s->ff, s->embd);
    model_mat(m, d, RIG_UP, s->up, n * s->ff, s->embd);
    model_mat(m, d, RIG_DOWN, s->down, n * s->embd, s->ff);
    model_mat(m, d, RIG_TABLE, s->table, s->vocab, s->embd);
    if (s->experts) model_mat(m, d, RIG_ROUTER, s->router, s->experts, s->embd);
    if (s->shared) {
        model_mat(m, d, RIG_SHARED_GATE, s->shared_gate, s->shared, s->embd);
        model_mat(m, d, RIG_SHARED_UP, s->shared_up, s->shared, s->embd);
        model_mat(m, d, RIG_SHARED_DOWN, s->shared_down, s->embd, s->shared);
    }
    m->norm = random_floats(d, s->embd, 0.2f, 1.0f);
    m->widest = widest(m);
    m->bias = random_floats(d, m->widest, 0.5f, 0);
    struct dice other = {21};
    m->more_bias = random_floats(&other, 2 * m->widest, 0.5f, 0);
    m->head_norm = random_floats(d, s->head_dim, 0.2f, 1.0f);
    m->post = random_floats(d, s->embd, 0.3f, 0.5f);
    for (int i = 0; i < s->rope / 2; i++) {
        m->inv_freq[0][i] = pow(10000, -2.0 * i / s->rope);
        m->inv_freq[1][i] = pow(1000000, -2.0 * i / s->rope) / 8;
    }
    m->gain[0] = 1;
    m->gain[1] = 1.1875;
    return m;
}

void rig_model_free(struct rig_model *m)
{
    for (int i = 0; i < RIG_MATS; i++)
        if (m->file[i]) rig_release(m->file[i], rig_file_bytes(m->type[i], m->rows[i], m->cols[i]));
    rig_release(m->norm, (size_t)m->s.embd * sizeof(float));
    rig_release(m->post, (size_t)m->s.embd * sizeof(float));
    rig_release(m->bias, (size_t)m->widest * sizeof(float));
    rig_release(m->more_bias, (size_t)m->widest * 2 * sizeof(float));
    rig_release(m->head_norm, (size_t)m->s.head_dim * sizeof(float));
    free(m);
}

/* ---------------------------------------------------------------- memory that is apart */

bool rig_apart;
enum { GUARD = 1024 }; /* bytes of 0xff before and behind; the backend's alignment is kept */

static bool is_apart(const struct rig *r) { return rig_apart && r->k->memory; }

/* What the backend is given for `size` bytes: those at `here`, or memory of its own with the same in it (0xff, where
 * the host has none).  back: steps change it. */
static void *lend(struct rig *r, void *here, size_t size, bool back)
{
    struct err err = {0};
    if (!is_apart(r)) return here;
    CHECK(r->copies < RIG_COPIES);
    uint8_t *fill = malloc(size + 2 * GUARD), *there = r->k->take(r->d, size + 2 * GUARD, &err);
    CHECK_STR(err.text, "");
    CHECK(fill && there);
    memset(fill, 0xff, size + 2 * GUARD);
    if (here) memcpy(fill + GUARD, here, size);
    CHECK_EQ(r->k->upload(r->d, NULL, there, fill, size + 2 * GUARD, &err), 0);
    free(fill);
    r->copy[r->copies++] = (struct rig_copy){here, there + GUARD, size, back};
    return there + GUARD;
}

void *rig_there(const struct rig *r, const void *here)
{
    for (int i = 0; i < r->copies && here; i++)
        if (r->copy[i].here == here) return r->copy[i].there;
    return (void *)here;
}

/* All that steps change: there, or back. */
static void carry(struct rig *r, bool back)
{
    struct err err = {0};
    for (int i = 0; i < r->copies; i++) {
        const struct rig_copy *c = &r->copy[i];
        int code = 0;
        if (!c->back) continue;
        if (back) code = r->k->fetch(r->d, NULL, c->here, c->there, c->size, &err);
        else code = r->k->upload(r->d, NULL, c->there, c->here, c->size, &err);
        CHECK_STR(err.text, "");
        CHECK_EQ(code, 0);
    }
}

static bool untouched(struct rig *r, const uint8_t *there)
{
    static uint8_t guard[GUARD];
    memset(guard, 0, sizeof guard);
    bool same = r->k->fetch(r->d, NULL, guard, there, sizeof guard, NULL) == 0;
    for (size_t i = 0; i < sizeof guard; i++) same &= guard[i] == 0xff;
    return same;
}

/* Nobody wrote around what was lent. */
static void take_back(struct rig *r)
{
    for (int i = 0; i < r->copies; i++) {
        uint8_t *there = r->copy[i].there;
        bool same = untouched(r, there - GUARD) && untouched(r, there + r->copy[i].size);
        r->k->give(r->d, there - GUARD, r->copy[i].size + 2 * GUARD);
        CHECK(same);
    }
}

/* -------------------------------------------------------------------------- rig */

/* In pieces of a random number of groups, as a loader would. */
static void load_mat(struct rig *r, struct dice *d, int which)
{
    const struct rig_model *m = r->model;
    struct kmat *mat = &r->mat[which];
    size_t row = rig_file_bytes(m->type[which], 1, m->cols[which]);

    *mat = (struct kmat){m->type[which], m->rows[which], m->cols[which], NULL};
    r->mat_bytes[which] = r->k->mat_bytes(mat->type, mat->rows, mat->cols);
    CHECK(r->mat_bytes[which] > 0);
    mat->dev_data = is_apart(r) ? lend(r, NULL, r->mat_bytes[which], false) : rig_memory(r->mat_bytes[which]);
    for (int at = 0; at < mat->rows;) {
        int groups = 1 + dice_below(d, 4), n = MIN(32 * groups, mat->rows - at);
        CHECK_EQ(r->k->mat_load(r->d, mat, at, n, m->file[which] + (size_t)at * row, NULL), 0);
        at += n;
    }
}

static void open_pages(struct rig *r, struct dice *d, int which, int layers, int window)
{
    const struct rig_shape *s = &r->model->s;
    struct kern_group *g = &r->group[which];
    /* Pages that the first group has and the second has not: a table that is taken for the other leads out of them. */
    const int pages = r->seqs * r->stride + 20 * (r->groups - 1 - which);
    int32_t *table = malloc((size_t)pages * sizeof *table);
    *g = (struct kern_group){.layers = layers, .kv_heads = s->kv_heads, .head_dim = s->head_dim, .kv_type = s->kv,
                             .window = window, .pages = pages};
    g->page_bytes = r->k->kv_page_bytes(g);
    CHECK(table && g->page_bytes > 0);
    r->slab_bytes[which] = g->page_bytes * (size_t)pages;
    r->slab[which] = rig_memory(r->slab_bytes[which]);
    g->dev_slab = lend(r, r->slab[which], r->slab_bytes[which], true);
    r->table[which] = table;
    for (int i = 0; i < pages; i++) {
        int j = dice_below(d, i + 1);
        table[i] = table[j];
        table[j] = i;
    }
}

static void open_groups(struct rig *r, struct dice *d, int ctx)
{
    const struct rig_shape *s = &r->model->s;
    r->stride = (ctx + KERN_PAGE - 1) / KERN_PAGE + 1;
    r->groups = s->turns ? 2 : 1;
    for (int i = 0; i < r->groups; i++)
        open_pages(r, d, i, (s->layers + r->groups - 1 - i) / r->groups, i == 0 ? s->window : 0);
}

static void lend_rows(struct rig *r)
{
    const struct rig_model *m = r->model;
    const struct rig_shape *s = &m->s;
    const size_t rows = (size_t)r->max_rows, wide = (size_t)(s->heads * s->head_dim);
    lend(r, r->work, r->work_bytes, true);
    lend(r, r->x, rows * (size_t)s->embd * 4, true);
    lend(r, r->q, rows * wide * 4, true);
    lend(r, r->att, rows * wide * 4, true);
    lend(r, r->logits, rows * (size_t)s->vocab * 4, true);
    lend(r, m->norm, (size_t)s->embd * 4, false);
    lend(r, m->post, (size_t)s->embd * 4, false);
    lend(r, m->bias, (size_t)m->widest * 4, false);
    lend(r, m->more_bias, (size_t)m->widest * 2 * 4, false);
    lend(r, m->head_norm, (size_t)s->head_dim * 4, false);
}

struct rig *rig_open(struct dice *d, const struct rig_model *m, const struct kern *k, const struct kern_config *cfg,
                     int max_rows, int seqs, int ctx)
{
    const struct rig_shape *s = &m->s;
    struct rig *r = calloc(1, sizeof *r);
    struct err err = {0};
    CHECK(r && max_rows <= 64);
    *r = (struct rig){.model = m, .k = k, .max_rows = max_rows, .seqs = seqs};
    r->d = k->open(cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(r->d);
    for (int i = 0; i < RIG_MATS; i++)
        if (m->file[i]) load_mat(r, d, i);
    open_groups(r, d, ctx);
    const struct kern_dims dims = {.embd = s->embd, .heads = s->heads, .kv_heads = s->kv_heads,
                                   .head_dim = s->head_dim, .ff = s->ff, .vocab = s->vocab, .max_rows = max_rows,
                                   .max_outs = max_rows, .max_ctx = ctx, .max_seqs = seqs, .experts = s->experts,
                                   .used = s->used, .shared = s->shared};
    if (k->ready) CHECK_EQ(k->ready(r->d, &dims, &err), 0);
    r->work_bytes = k->work_bytes(&dims);
    r->work = rig_memory(r->work_bytes);
    size_t rows = (size_t)max_rows;
    r->x = rig_memory(rows * (size_t)s->embd * 4);
    r->q = rig_memory(rows * (size_t)(s->heads * s->head_dim) * 4);
    r->att = rig_memory(rows * (size_t)(s->heads * s->head_dim) * 4);
    r->logits = rig_memory(rows * (size_t)s->vocab * 4);
    r->choice = rig_memory(rows * sizeof *r->choice);
    lend_rows(r);
    return r;
}

void rig_close(struct rig *r)
{
    r->k->fetch(r->d, NULL, NULL, NULL, 0, NULL); /* nothing is under way any more in what is given back here */
    const struct rig_shape *s = &r->model->s;
    size_t rows = (size_t)r->max_rows;
    take_back(r);
    for (int i = 0; i < RIG_MATS && !is_apart(r); i++) rig_release(r->mat[i].dev_data, r->mat_bytes[i]);
    for (int i = 0; i < r->groups; i++) {
        rig_release(r->slab[i], r->slab_bytes[i]);
        free(r->table[i]);
    }
    rig_release(r->work, r->work_bytes);
    rig_release(r->x, rows * (size_t)s->embd * 4);
    rig_release(r->q, rows * (size_t)(s->heads * s->head_dim) * 4);
    rig_release(r->att, rows * (size_t)(s->heads * s->head_dim) * 4);
    rig_release(r->logits, rows * (size_t)s->vocab * 4);
    rig_release(r->choice, rows * sizeof *r->choice);
    r->k->close(r->d);
    free(r);
}

/* ------------------------------------------------------------------------ steps */

struct kern_batch rig_batch(const struct rig *r, const struct rig_rows *rows)
{
    CHECK(rows->n <= r->max_rows);
    return (struct kern_batch){.rows = rows->n, .token = rows->token, .pos = rows->pos, .seq = rows->seq,
                               .seqs = r->seqs, .groups = r->groups, .table = {r->table[0], r->table[1]},
                               .stride = r->stride, .outs = rows->n, .out_row = rows->out};
}

static struct kern_attn_in attn_weights(const struct rig *r, int group)
{
    const struct rig_model *m = r->model;
    float *norm = rig_there(r, m->norm), *bias = rig_there(r, m->bias), *head_norm = rig_there(r, m->head_norm);
    struct kern_attn_in w = {.dev_norm = m->s.bare ? NULL : norm, .eps = 1e-5f, .q = r->mat[RIG_Q], .k = r->mat[RIG_K],
                             .v = r->mat[RIG_V], .heads = m->s.heads, .whole = m->s.whole,
                             .rope = {m->s.rope, m->s.neox, m->inv_freq[group], m->gain[group]},
                             .temper = {0.3, m->s.temper}};
    if (m->s.bias) w.dev_bq = w.dev_bk = w.dev_bv = bias;
    if (m->s.qk_norm) w.dev_q_norm = w.dev_k_norm = head_norm;
    if (m->s.whole) w.dev_q_norm = w.dev_k_norm = rig_there(r, m->more_bias);
    return w;
}

void rig_do(struct rig *r, enum rig_step step, int layer, const struct kern_batch *b)
{
    const struct rig_model *m = r->model;
    const struct rig_shape *s = &m->s;
    const struct kern *k = r->k;
    const int group = layer % r->groups, in = layer / r->groups;
    const struct kern_group *g = &r->group[group];
    const struct kern_attn_in w = attn_weights(r, group);
    const float *norm = rig_there(r, m->norm), *bias = s->bias ? rig_there(r, m->bias) : NULL;
    const float *post = s->post ? rig_there(r, m->post) : NULL;
    const float *some = s->ffn_bias ? rig_there(r, m->bias) : NULL, *more = some ? rig_there(r, m->more_bias) : NULL;
    const float *sinks = s->sinks ? rig_there(r, m->more_bias) : NULL;
    const struct kern_ffn ffn = {.dev_norm = w.dev_norm, .eps = 1e-5f, .gate = r->mat[RIG_GATE], .up = r->mat[RIG_UP],
                                 .down = r->mat[RIG_DOWN], .act = s->act, .dev_post = s->experts ? NULL : post,
                                 .mix = {s->experts, s->used, r->mat[RIG_ROUTER], more, s->of_all},
                                 .shared = {r->mat[RIG_SHARED_GATE], r->mat[RIG_SHARED_UP], r->mat[RIG_SHARED_DOWN],
                                            rig_there(r, m->post)},
                                 .dev_bg = some, .dev_bu = more, .dev_bd = more ? more + m->widest : NULL};
    float *x = rig_there(r, r->x), *q = rig_there(r, r->q), *att = rig_there(r, r->att);
    float *logits = rig_there(r, r->logits);
    void *work = rig_there(r, r->work);
    struct kdev *d = r->d;
    struct err err = {0};
    int code = 0;

    memset(r->work, 0xff, r->work_bytes); /* nothing is kept there between steps */
    carry(r, false);
    if (k->begin) CHECK_EQ(k->begin(d, NULL, b, work, &err), 0);
    switch (step) {
    case STEP_EMBED: code = k->embed(d, NULL, b, &r->mat[RIG_TABLE], 3.5f, x, &err); break;
    case STEP_ATTN_IN: code = k->attn_in(d, NULL, b, &w, g, group, in, x, q, work, &err); break;
    case STEP_ATTN:
        code = k->attn(d, NULL, b, g, group, in, s->heads, s->scale, s->attn_cap, sinks, q, att, work, &err);
        break;
    case STEP_O: code = k->project(d, NULL, b->rows, &r->mat[RIG_O], bias, post, 1e-5f, att, x, work, &err); break;
    case STEP_FFN: code = k->ffn(d, NULL, b->rows, &ffn, x, work, &err); break;
    case STEP_OUTPUT:
        code = k->output(d, NULL, b, norm, 1e-5f, &r->mat[RIG_TABLE], s->out_cap, x, logits, work, &err);
        break;
    }
    if (!code) code = k->fetch(d, NULL, NULL, NULL, 0, &err); /* all is done */
    CHECK_STR(err.text, "");
    CHECK_EQ(code, 0);
    carry(r, true);
}

float *rig_result(struct rig *r, enum rig_step step, int rows, size_t *n)
{
    const struct rig_shape *s = &r->model->s;
    int wide = s->embd;
    float *at = r->x;
    if (step == STEP_ATTN_IN) at = r->q, wide = s->heads * s->head_dim;
    if (step == STEP_ATTN) at = r->att, wide = s->heads * s->head_dim;
    if (step == STEP_OUTPUT) at = r->logits, wide = s->vocab;
    *n = (size_t)rows * (size_t)wide;
    return at;
}

void rig_forward(struct rig *r, const struct kern_batch *b)
{
    rig_do(r, STEP_EMBED, 0, b);
    for (int layer = 0; layer < r->model->s.layers; layer++)
        for (int step = STEP_ATTN_IN; step <= STEP_FFN; step++) rig_do(r, (enum rig_step)step, layer, b);
    rig_do(r, STEP_OUTPUT, 0, b);
}
