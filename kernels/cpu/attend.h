/* attend.h - attention of one row over the pages of its sequence.  Source, not interface: an isa_*.c includes it after
 * rows.h.
 *
 * Chunks of 64 tokens (4 pages) at multiples of 64 positions, so that the order of sums is a function of the position
 * alone.  For each chunk and all query heads of the KV head:
 *     scores   lanes are tokens; sum over dim in rising order by fma; * scale; softcap; -inf where not seen
 *     softmax  online: m' = max(m, chunk), p = e^(s - m'), l = l * e^(m - m') + sum(p), sum folded in halves
 *     values   lanes are dims; o = o * e^(m - m'), then o = fma(p, v, o) for seen tokens in rising order
 * In Q8_0 pages k and v are integers there, and each block of 32 dims brings its scale d once a token: a score is the
 * sum over blocks, in rising order by fma, of d times the block's sum; p is rounded p * d of v's block.
 * Tokens that are not seen may be anything in memory, NaN too: their scores are replaced, not multiplied, and their
 * values are not read. */

enum {
    PAGES = ISA_CHUNK / KERN_PAGE,
    HEADS = 8, /* query heads whose state is held at a time; more go over K and V again */
    WIDE = 4,  /* of which one loop works on so many */
    VECS = ISA_CHUNK / LANES
};

struct heads {
    float o[HEADS][KERN_HEAD_MAX];
    float p[WIDE][KERN_HEAD_MAX / 32][ISA_CHUNK]; /* Q8_0: weights times the scales of V's blocks */
    float s[HEADS][ISA_CHUNK]; /* scores, then weights */
    float m[HEADS], l[HEADS], fade[HEADS];
};

/* The pages of one chunk; where it has none that is seen, some page that is. */
struct chunk {
    const uint8_t *page[PAGES], *next[PAGES];
    int lo, hi; /* tokens of it that are seen: lo <= i < hi */
};

INLINE vf load_kv(const enum ktype kv, const uint8_t *p, size_t at)
{
    if (kv == KT_Q8_0) return vf_i8(p + at);
    return kv == KT_F16 ? vf_f16(p + 2 * at) : vf_of_bits(vi_load(p + 4 * at));
}

/* Where the values of K or V begin: after the scales, of 2 bytes a block and token. */
INLINE size_t values_at(const enum ktype kv, const struct isa_attend *a)
{
    return kv == KT_Q8_0 ? (size_t)a->dim : 0;
}

/* The scales of one block of 32 dims for LANES tokens of a chunk. */
INLINE vf load_scales(const struct chunk *c, size_t off, int block, int token)
{
    return vf_f16(c->page[token / KERN_PAGE] + off + 2 * (block * KERN_PAGE + token % KERN_PAGE));
}

/* ----------------------------------------------------------------------- scores */

/* n heads (a constant) from q on: sums over dims d .. end - 1 with SCORE_VECS vectors of K. */
INLINE void dots_of(const int n, const enum ktype kv, const struct isa_attend *a, const struct chunk *c, const float *q,
                    int first, int d, int end, vf (*sum)[SCORE_VECS])
{
    UNROLL for (int h = 0; h < n; h++)
        UNROLL for (int v = 0; v < SCORE_VECS; v++) sum[h][v] = vf_zero();
    for (; d < end; d++) {
        vf k[SCORE_VECS];
        UNROLL for (int v = 0; v < SCORE_VECS; v++) {
            int token = (first + v) * LANES;
            const uint8_t *page = c->page[token / KERN_PAGE] + a->k_off + values_at(kv, a);
            k[v] = load_kv(kv, page, (size_t)(d * KERN_PAGE + token % KERN_PAGE));
        }
        UNROLL for (int h = 0; h < n; h++) {
            vf qd = vf_set1(q[h * a->dim + d]);
            UNROLL for (int v = 0; v < SCORE_VECS; v++) sum[h][v] = vf_fma(qd, k[v], sum[h][v]);
        }
    }
}

/* n heads from q on, dots with all K of the chunk. */
INLINE void scores_of(const int n, const enum ktype kv, const struct isa_attend *a, const struct chunk *c,
                      const float *q, float (*s)[ISA_CHUNK])
{
    const int step = kv == KT_Q8_0 ? 32 : a->dim;
    for (int first = 0; first < VECS; first += SCORE_VECS)
        for (int at = 0; at < a->dim; at += step) {
            vf sum[WIDE][SCORE_VECS];
            dots_of(n, kv, a, c, q, first, at, at + step, sum);
            UNROLL for (int v = 0; v < SCORE_VECS; v++) {
                int token = (first + v) * LANES;
                vf d = kv == KT_Q8_0 ? load_scales(c, a->k_off, at / 32, token) : vf_zero();
                UNROLL for (int h = 0; h < n; h++) {
                    if (kv == KT_Q8_0) sum[h][v] = vf_fma(d, sum[h][v], at ? vf_load(s[h] + token) : vf_zero());
                    vf_store(s[h] + token, sum[h][v]);
                }
            }
        }
}

/* ---------------------------------------------------------------------- softmax */

/* Lane i holds token i of the chunk. */
INLINE vf token_numbers(int first)
{
    float t[LANES];
    for (int i = 0; i < LANES; i++) t[i] = (float)(first + i);
    return vf_load(t);
}

INLINE float chunk_max(const float *s)
{
    vf m[VECS];
    float lane[LANES], top = -INFINITY;
    UNROLL for (int v = 0; v < VECS; v++) m[v] = vf_load(s + v * LANES);
    UNROLL for (int v = 1; v < VECS; v++) m[0] = vf_max(m[0], m[v]);
    vf_store(lane, m[0]);
    for (int i = 0; i < LANES; i++) top = lane[i] > top ? lane[i] : top;
    return top;
}

/* 64 -> 32 -> ... -> 1, the upper half added to the lower. */
INLINE float chunk_sum(const float *p)
{
    vf m[VECS];
    float lane[LANES];
    UNROLL for (int v = 0; v < VECS; v++) m[v] = vf_load(p + v * LANES);
    UNROLL for (int half = VECS / 2; half > 0; half /= 2)
        UNROLL for (int v = 0; v < half; v++) m[v] = vf_add(m[v], m[v + half]);
    vf_store(lane, m[0]);
    UNROLL for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

static float exp_one(float x)
{
    float lane[LANES];
    vf_store(lane, vf_exp(vf_set1(x)));
    return lane[0];
}

/* Scores of one head to weights; m, l and fade follow. */
static void soften(const struct isa_attend *a, const struct chunk *c, struct heads *st, int h)
{
    float *s = st->s[h];
    vf none = vf_set1(-INFINITY), lo = vf_set1((float)c->lo), hi = vf_set1((float)c->hi);
    vf scale = vf_set1(a->scale), cap = vf_set1(a->softcap);

    for (int v = 0; v < VECS; v++) {
        vf x = vf_mul(vf_load(s + v * LANES), scale), token = token_numbers(v * LANES);
        if (a->softcap > 0) x = vf_mul(cap, vf_tanh(vf_div(x, cap)));
        x = vf_select_lt(token, hi, vf_select_lt(token, lo, none, x), none);
        vf_store(s + v * LANES, x);
    }
    float top = chunk_max(s), m = top > st->m[h] ? top : st->m[h];
    vf mm = vf_set1(m);
    for (int v = 0; v < VECS; v++) vf_store(s + v * LANES, vf_exp(vf_sub(vf_load(s + v * LANES), mm)));
    st->fade[h] = exp_one(st->m[h] - m);
    st->l[h] = st->l[h] * st->fade[h] + chunk_sum(s);
    st->m[h] = m;
}

/* ----------------------------------------------------------------------- values */

INLINE void scale_weights(const int n, const struct isa_attend *a, const struct chunk *c, struct heads *st, int h0)
{
    for (int b = 0; b < a->dim / 32; b++)
        for (int token = 0; token < ISA_CHUNK; token += LANES) {
            vf d = load_scales(c, a->v_off, b, token);
            UNROLL for (int h = 0; h < n; h++)
                vf_store(st->p[h][b] + token, vf_mul(vf_load(st->s[h0 + h] + token), d));
        }
}

/* n heads, vecs vectors of dims (constants) from dim `at` on. */
INLINE void values_of(const int n, const int vecs, const enum ktype kv, const struct isa_attend *a,
                      const struct chunk *c, struct heads *st, int h0, int at)
{
    const size_t wide = (size_t)size_align((uint64_t)a->dim, 16);
    const size_t bytes = kv == KT_Q8_0 ? 1 : kv == KT_F16 ? 2 : 4;
    vf o[WIDE][VALUE_VECS];

    UNROLL for (int h = 0; h < n; h++) {
        vf fade = vf_set1(st->fade[h0 + h]);
        UNROLL for (int v = 0; v < vecs; v++) o[h][v] = vf_mul(vf_load(st->o[h0 + h] + at + v * LANES), fade);
    }
    for (int i = c->lo; i < c->hi; i++) {
        const uint8_t *row = c->page[i / KERN_PAGE] + a->v_off + values_at(kv, a);
        size_t first = (size_t)(i % KERN_PAGE) * wide + (size_t)at;
        vf x[VALUE_VECS];
        __builtin_prefetch(c->next[i / KERN_PAGE] + a->v_off + values_at(kv, a) + first * bytes);
        UNROLL for (int v = 0; v < vecs; v++) x[v] = load_kv(kv, row, first + (size_t)(v * LANES));
        UNROLL for (int h = 0; h < n; h++)
            UNROLL for (int v = 0; v < vecs; v++) {
                const float *p = kv == KT_Q8_0 ? st->p[h][(at + v * LANES) / 32] : st->s[h0 + h];
                o[h][v] = vf_fma(vf_set1(p[i]), x[v], o[h][v]);
            }
    }
    UNROLL for (int h = 0; h < n; h++)
        UNROLL for (int v = 0; v < vecs; v++) vf_store(st->o[h0 + h] + at + v * LANES, o[h][v]);
}

INLINE void values_all(const int n, const enum ktype kv, const struct isa_attend *a, const struct chunk *c,
                       struct heads *st, int h0)
{
    const int wide = (int)size_align((uint64_t)a->dim, 16);
    int at = 0;
    if (kv == KT_Q8_0) scale_weights(n, a, c, st, h0);
    for (; at + VALUE_VECS * LANES <= wide; at += VALUE_VECS * LANES) values_of(n, VALUE_VECS, kv, a, c, st, h0, at);
    for (; at < wide; at += LANES) values_of(n, 1, kv, a, c, st, h0, at);
}

/* -------------------------------------------------------------------- the heads */

INLINE void chunk_of(const int n, const enum ktype kv, const struct isa_attend *a, const struct chunk *c,
                     const float *q, struct heads *st, int h0)
{
    scores_of(n, kv, a, c, q + (size_t)h0 * (size_t)a->dim, st->s + h0);
    for (int h = 0; h < n; h++) soften(a, c, st, h0 + h);
    values_all(n, kv, a, c, st, h0);
}

#define CHUNK_OF(kv, n)                                                                                                \
    static void chunk_##kv##_##n(const struct isa_attend *a, const struct chunk *c, const float *q, struct heads *st,  \
                                 int h0)                                                                               \
    {                                                                                                                  \
        chunk_of(n, KT_##kv, a, c, q, st, h0);                                                                         \
    }
#define CHUNKS(kv) CHUNK_OF(kv, 1) CHUNK_OF(kv, 2) CHUNK_OF(kv, 3) CHUNK_OF(kv, 4)
CHUNKS(F32)
CHUNKS(F16)
CHUNKS(Q8_0)

static const uint8_t *page_at(const struct isa_attend *a, int page)
{
    page = MIN(MAX(page, a->from / KERN_PAGE), a->pos / KERN_PAGE); /* pages before a window may be gone */
    return a->slab + (size_t)a->table[page] * a->page_bytes;
}

static void attend_heads(const struct isa_attend *a, const float *q, int heads, float *att)
{
    static void (*const by_heads[][WIDE + 1])(const struct isa_attend *, const struct chunk *, const float *,
                                              struct heads *, int) = {
        [KT_F32] = {NULL, chunk_F32_1, chunk_F32_2, chunk_F32_3, chunk_F32_4},
        [KT_F16] = {NULL, chunk_F16_1, chunk_F16_2, chunk_F16_3, chunk_F16_4},
        [KT_Q8_0] = {NULL, chunk_Q8_0_1, chunk_Q8_0_2, chunk_Q8_0_3, chunk_Q8_0_4},
    };
    const int wide = (int)size_align((uint64_t)a->dim, 16);
    struct heads st;

    for (int h = 0; h < heads; h++) {
        memset(st.o[h], 0, (size_t)wide * sizeof st.o[h][0]);
        st.m[h] = -INFINITY;
        st.l[h] = 0;
    }
    for (int i = a->from / ISA_CHUNK; i <= a->pos / ISA_CHUNK; i++) {
        struct chunk c = {.lo = MAX(a->from - i * ISA_CHUNK, 0), .hi = MIN(a->pos + 1 - i * ISA_CHUNK, ISA_CHUNK)};
        for (int p = 0; p < PAGES; p++) {
            c.page[p] = page_at(a, i * PAGES + p);
            c.next[p] = page_at(a, (i + 1) * PAGES + p);
        }
        for (int h = 0; h < heads; h += WIDE) {
            int n = MIN(WIDE, heads - h);
            by_heads[a->kv][n](a, &c, q, &st, h);
        }
    }
    for (int h = 0; h < heads; h++)
        for (int d = 0; d < a->dim; d++) att[(size_t)h * (size_t)a->dim + (size_t)d] = st.o[h][d] / st.l[h];
}

static void row_attend(const struct isa_attend *a)
{
    for (int h = 0; h < a->heads; h += HEADS) {
        size_t at = (size_t)h * (size_t)a->dim;
        attend_heads(a, a->q + at, MIN(HEADS, a->heads - h), a->att + at);
    }
}

/* All of struct cpu_isa that rows.h and this file define. */
#define ROW_FUNCTIONS                                                                                                  \
    .norm = row_norm, .quantise = row_quantise, .gate = row_gate, .softcap = row_softcap, .head = row_head,            \
    .kv_write = row_kv_write, .attend = row_attend
