/* attend.h - attention of a tile of rows over the pages of their sequence.  Source, not interface: an isa_*.c includes
 * it after rows.h, and attend_tile.h after it.
 *
 * Chunks of 64 tokens (4 pages) at multiples of 64 positions, so that the order of sums is a function of the position
 * alone.  For each chunk and each query (a query head of a row; all that share the KV head):
 *     scores   lanes are tokens; sum over dim in rising order by fma; * scale; softcap; -inf where not seen
 *     softmax  online: m' = max(m, chunk), p = e^(s - m'), l = l * e^(m - m') + sum(p), sum folded in halves
 *     values   lanes are dims; o = o * e^(m - m'), then o = fma(p, v, o) for seen tokens in rising order
 * Spans of 512 tokens (8 chunks) begin anew, and are joined in rising order: with m' = max(m, span's),
 *     o = fma(span's o, e^(span's m - m'), o * e^(m - m')), and l alike
 * so that spans of one row may be summed up by several threads.  A head's sink is joined behind the last, as a score
 * without a value.
 * In Q8_0 pages k and v are integers there, and each block of 32 dims brings its scale d once a token: a score is the
 * sum over blocks, in rising order by fma, of d times the block's sum; p is rounded p * d of v's block.
 * Tokens that are not seen may be anything in memory, NaN too: their scores are replaced, not multiplied, and their
 * values are not read.
 *
 * Queries do not meet, so a loop may work on any of them together, as many as have their sums in registers.  Halves and
 * bytes become floats beside the multiplications at no cost, so what a tile gains is K and V out of the first cache.
 * All is prefetched, line by line beside scores and values: to the second cache a chunk before it is needed, to the
 * first half a chunk before; both together measured better than either.  Pages may lie anywhere, and the processor by
 * itself reads ahead inside a page of the system only.  The first line of one also waits for its address to be
 * translated, and with it all behind it: so first lines are asked for all at once, a chunk earlier still, beside the
 * softmax, which needs no memory. */

/* WIDE    queries that one loop works on at most
 * WHOLE   queries for which it takes all VECS_AT_ONCE vectors of K or V at a time; for more, half as many
 * LEAN    queries for which it can do so too where their factors need no register, and does if a->lean; 0: none
 * APART   of up to so many more than WIDE just these go by themselves; else parts are as equal as can be
 * EXPS    vectors of scores that become weights step by step together
 * LOOP    what is said to loops over dims and tokens
 * Of 16 registers 12 sums, 2 vectors of K or V and one query take 15; of 32 LEAN's sums and vectors take all. */
#if REGISTERS == 16
#define WIDE 6
#define WHOLE 2
#define LEAN 0
#define APART 2
#define EXPS 4
#define LOOP UNROLL_TWO
#else
#define WIDE 8
#define WHOLE 6
#define LEAN 7
#define APART 0
#define EXPS 1
#define LOOP
#endif

enum {
    VECS_AT_ONCE = 4,
    PAGES = ISA_CHUNK / KERN_PAGE,
    QUERIES = ISA_QUERIES, /* whose state is held at a time */
    PART = 6,              /* of more than WIDE one loop works on so many or less */
    VECS = ISA_CHUNK / LANES,
    SPAN_CHUNKS = ISA_SPAN / ISA_CHUNK,
    CACHE_LINE = 64
};

struct queries {
    _Alignas(64) float q[QUERIES * KERN_HEAD_MAX]; /* (queries, dim) */
    float o[QUERIES * (KERN_HEAD_MAX + 16)];       /* (queries, isa_part()) */
    float s[QUERIES][ISA_CHUNK];                   /* scores, then weights */
    float p[KERN_HEAD_MAX / 32][WIDE][ISA_CHUNK];  /* Q8_0: weights times the scales of V's blocks */
    float m[QUERIES], l[QUERIES], fade[QUERIES];
};

/* The pages of one chunk, those to prefetch, and those whose addresses are to be known; where it has none that is
 * seen, some page that is. */
struct chunk {
    const uint8_t *page[PAGES], *next[PAGES], *far[PAGES];
};

/* How many vectors of K or V a loop over n queries takes at a time, lean or not (constants). */
INLINE int vecs_of(const int n, const bool lean)
{
    return n > WHOLE && !lean ? VECS_AT_ONCE / 2 : VECS_AT_ONCE;
}

/* c + x times the query's value at p, which is loaded for each vector or once for all. */
INLINE vf times_at(const bool lean, const float *p, vf x, vf c)
{
    return lean ? vf_fma_at(p, x, c) : vf_fma(vf_set1(*p), x, c);
}

/* Bytes of n values of K or V, without scales. */
INLINE size_t kv_bytes(const enum ktype kv, size_t n)
{
    return kv == KT_Q8_0 ? n : kv == KT_F16 ? 2 * n : 4 * n;
}

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

/* What scores bring along at K's byte `at` of a page: V's, soon needed, to the first cache, and the next chunk's K to
 * the second.  And what values do at V's: the next K to the first, the next V to the second. */
INLINE void fetch_by_scores(const struct isa_attend *a, const struct chunk *c, int page, size_t at)
{
    __builtin_prefetch(c->page[page] + a->at.v_at + at);
    __builtin_prefetch(c->next[page] + at, 0, 2);
}

INLINE void fetch_by_values(const uint8_t *next_k, const uint8_t *next_v)
{
    __builtin_prefetch(next_k);
    __builtin_prefetch(next_v, 0, 2);
}

/* The softmax, which itself waits for no memory, has two rounds over its queries.  What query i of n brings along: in
 * the first a first line of K behind the next chunk, since such a line waits for an address to be translated, too; in
 * the second two lines of each page of the next chunk's V.  More at once keep others waiting.  (Inline: compilers leave out
 * calls of what does nothing but fetch.) */
INLINE void fetch_by_peak(const struct chunk *c, int i, int n)
{
    for (int p = i; p < PAGES; p += n) __builtin_prefetch(c->far[p], 0, 2);
}

INLINE void fetch_by_weights(const struct isa_attend *a, const struct chunk *c, int i)
{
    const size_t at = (size_t)i * 2 * CACHE_LINE;
    if (at >= KERN_PAGE * kv_bytes(a->kv, (size_t)a->dim)) return;
    for (int p = 0; p < PAGES; p++) {
        __builtin_prefetch(c->next[p] + a->at.v_at + at, 0, 2);
        __builtin_prefetch(c->next[p] + a->at.v_at + at + CACHE_LINE, 0, 2);
    }
}

/* ----------------------------------------------------------------------- scores */

/* n queries (a constant) from q on: sums over dims d .. end - 1 with vecs_of() vectors of K. */
INLINE void dots_of(const int n, const bool lean, const enum ktype kv, const struct isa_attend *a,
                    const struct chunk *c, const float *q, int first, int d, int end, vf (*sum)[VECS_AT_ONCE])
{
    const int vecs = vecs_of(n, lean);
    const size_t bytes = kv_bytes(kv, KERN_PAGE); /* of one dim */
    UNROLL for (int h = 0; h < n; h++)
        UNROLL for (int v = 0; v < vecs; v++) sum[h][v] = vf_zero();
    LOOP for (; d < end; d++) {
        vf k[VECS_AT_ONCE];
        UNROLL for (int v = 0; v < vecs; v++) {
            int token = (first + v) * LANES;
            const uint8_t *page = c->page[token / KERN_PAGE] + values_at(kv, a);
            k[v] = load_kv(kv, page, (size_t)(d * KERN_PAGE + token % KERN_PAGE));
            if (token % KERN_PAGE || (size_t)d * bytes % CACHE_LINE) continue;
            fetch_by_scores(a, c, token / KERN_PAGE, values_at(kv, a) + (size_t)d * bytes);
        }
        UNROLL for (int h = 0; h < n; h++)
            UNROLL for (int v = 0; v < vecs; v++)
                sum[h][v] = times_at(lean, q + h * a->dim + d, k[v], sum[h][v]);
    }
}

/* n queries from q on, dots with all K of the chunk. */
INLINE void scores_of(const int n, const bool lean, const enum ktype kv, const struct isa_attend *a,
                      const struct chunk *c, struct queries *st, int at)
{
    const int vecs = vecs_of(n, lean), step = kv == KT_Q8_0 ? 32 : a->dim;
    const float *q = st->q + at * a->dim;
    float (*s)[ISA_CHUNK] = st->s + at;
    for (int first = 0; first < VECS; first += vecs)
        for (int d = 0; d < a->dim; d += step) {
            vf sum[WIDE][VECS_AT_ONCE];
            dots_of(n, lean, kv, a, c, q, first, d, d + step, sum);
            UNROLL for (int v = 0; v < vecs; v++) {
                int token = (first + v) * LANES;
                vf scale = kv == KT_Q8_0 ? load_scales(c, 0, d / 32, token) : vf_zero();
                if (kv == KT_Q8_0 && token % KERN_PAGE == 0) fetch_by_scores(a, c, token / KERN_PAGE, (size_t)d);
                UNROLL for (int h = 0; h < n; h++) {
                    if (kv == KT_Q8_0) sum[h][v] = vf_fma(scale, sum[h][v], d ? vf_load(s[h] + token) : vf_zero());
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

/* What is seen of a chunk: tokens lo <= i < hi. */
struct seen {
    int lo, hi;
};

/* Dots to scores; the largest of those seen. */
INLINE float finish_scores(const struct isa_attend *a, struct seen seen, float *s)
{
    const vf scale = vf_set1(a->scale), none = vf_set1(-INFINITY);
    vf x[VECS];
    UNROLL for (int v = 0; v < VECS; v++) x[v] = vf_mul(vf_load(s + v * LANES), scale);
    if (a->softcap > 0) {
        const vf cap = vf_set1(a->softcap);
        for (int v = 0; v < VECS; v++) x[v] = vf_mul(cap, vf_tanh(vf_div(x[v], cap)));
    }
    if (seen.lo > 0 || seen.hi < ISA_CHUNK) {
        const vf lo = vf_set1((float)seen.lo), hi = vf_set1((float)seen.hi);
        for (int v = 0; v < VECS; v++) {
            vf token = token_numbers(v * LANES);
            x[v] = vf_select_lt(token, hi, vf_select_lt(token, lo, none, x[v]), none);
        }
    }
    UNROLL for (int v = 0; v < VECS; v++) vf_store(s + v * LANES, x[v]);
    UNROLL for (int v = 1; v < VECS; v++) x[0] = vf_max(x[0], x[v]);
    return vf_top(x[0]);
}

/* Scores, none of them above m, to weights; their sum, 64 -> 32 -> ... -> 1. */
INLINE float weigh(float *s, float m)
{
    const vf most = vf_set1(m);
    vf p[VECS];
    UNROLL for (int v = 0; v < VECS; v += EXPS) {
        UNROLL for (int i = v; i < v + EXPS; i++) p[i] = vf_sub(vf_load(s + i * LANES), most);
        exp_small_of(EXPS, p + v);
        UNROLL for (int i = v; i < v + EXPS; i++) vf_store(s + i * LANES, p[i]);
    }
    UNROLL for (int half = VECS / 2; half > 0; half /= 2)
        UNROLL for (int v = 0; v < half; v++) p[v] = vf_add(p[v], p[v + half]);
    return vf_fold(p[0]);
}

/* Queries first .. end - 1 from dots to weights; m, l and fade follow. */
static void soften(const struct isa_attend *a, const struct chunk *c, const struct seen *seen, struct queries *st,
                   int first, int end)
{
    for (int i = first; i < end; i++) {
        fetch_by_peak(c, i - first, end - first);
        float top = finish_scores(a, seen[i / a->heads], st->s[i]), m = top > st->m[i] ? top : st->m[i];
        st->fade[i] = st->m[i] - m;
        st->m[i] = m;
    }
    for (int i = first / LANES * LANES; i < end; i += LANES) {
        vf_store(st->fade + i, exp_small(vf_load(st->fade + i)));
    }
    for (int i = first; i < end; i++) {
        fetch_by_weights(a, c, i - first);
        st->l[i] = st->l[i] * st->fade[i] + weigh(st->s[i], st->m[i]);
    }
}

/* ----------------------------------------------------------------------- values */

INLINE int wide_of(const struct isa_attend *a)
{
    return (int)size_align((uint64_t)a->dim, 16);
}

static void fade_values(const struct isa_attend *a, struct queries *st, int first, int end)
{
    const int wide = wide_of(a);
    for (int i = first; i < end; i++) {
        const vf fade = vf_set1(st->fade[i]);
        float *o = st->o + i * isa_part(a->dim);
        if (st->fade[i] == 1) continue; /* its largest score was seen before */
        for (int d = 0; d < wide; d += LANES) vf_store(o + d, vf_mul(vf_load(o + d), fade));
    }
}

INLINE void scale_weights(const int n, const struct isa_attend *a, const struct chunk *c, struct queries *st, int at)
{
    for (int b = 0; b < a->dim / 32; b++)
        for (int token = 0; token < ISA_CHUNK; token += LANES) {
            vf d = load_scales(c, a->at.v_at, b, token);
            const uint8_t *next = c->next[token / KERN_PAGE] + 32 * b;
            if (token % KERN_PAGE == 0) fetch_by_values(next, next + a->at.v_at);
            UNROLL for (int h = 0; h < n; h++)
                vf_store(st->p[b][h] + token, vf_mul(vf_load(st->s[at + h] + token), d));
        }
}

/* n queries, vecs vectors of dims (constants) from dim d on. */
INLINE void sums_of(const int n, const bool lean, const int vecs, const enum ktype kv, const struct isa_attend *a,
                    const struct chunk *c, struct queries *st, int at, int d, struct seen seen)
{
    const size_t bytes = kv_bytes(kv, (size_t)(vecs * LANES)), line = kv_bytes(kv, (size_t)wide_of(a));
    const size_t part = (size_t)isa_part(a->dim);
    const bool fetch = kv_bytes(kv, (size_t)d) % CACHE_LINE == 0; /* else the dims before have fetched the line */
    float *to = st->o + (size_t)at * part + (size_t)d;
    vf o[WIDE][VECS_AT_ONCE];

    UNROLL for (int h = 0; h < n; h++)
        UNROLL for (int v = 0; v < vecs; v++) o[h][v] = vf_load(to + (size_t)h * part + (size_t)(v * LANES));
    for (int i = seen.lo; i < seen.hi;) {
        const int page = i / KERN_PAGE, end = MIN((page + 1) * KERN_PAGE, seen.hi);
        const size_t first = values_at(kv, a) + (size_t)(i % KERN_PAGE) * line + kv_bytes(kv, (size_t)d);
        const uint8_t *x_at = c->page[page] + a->at.v_at + first;
        const uint8_t *next_k = c->next[page] + first, *next_v = c->next[page] + a->at.v_at + first;
        /* weights of one token are ISA_CHUNK values apart, by query; d is a multiple of vecs * LANES, so that the
         * loop's blocks are constants */
        const float *p = kv == KT_Q8_0 ? st->p[d / 32][0] + i : st->s[at] + i;
        LOOP for (; i < end; i++, p++, x_at += line, next_k += line, next_v += line) {
            vf x[VECS_AT_ONCE];
            UNROLL for (int v = 0; v < vecs; v++) x[v] = load_kv(kv, x_at, (size_t)(v * LANES));
            for (size_t b = 0; fetch && b < bytes; b += CACHE_LINE) fetch_by_values(next_k + b, next_v + b);
            UNROLL for (int h = 0; h < n; h++)
                UNROLL for (int v = 0; v < vecs; v++) {
                    const int block = kv == KT_Q8_0 ? v * LANES / 32 : 0;
                    o[h][v] = times_at(lean, p + (block * WIDE + h) * ISA_CHUNK, x[v], o[h][v]);
                }
        }
    }
    UNROLL for (int h = 0; h < n; h++)
        UNROLL for (int v = 0; v < vecs; v++) vf_store(to + (size_t)h * part + (size_t)(v * LANES), o[h][v]);
}

INLINE void values_of(const int n, const bool lean, const enum ktype kv, const struct isa_attend *a,
                      const struct chunk *c, struct queries *st, int at, struct seen seen)
{
    const int wide = wide_of(a), vecs = vecs_of(n, lean);
    int d = 0;
    if (kv == KT_Q8_0) scale_weights(n, a, c, st, at);
    for (; d + vecs * LANES <= wide; d += vecs * LANES) sums_of(n, lean, vecs, kv, a, c, st, at, d, seen);
    for (; d < wide; d += LANES) sums_of(n, lean, 1, kv, a, c, st, at, d, seen);
}

/* -------------------------------------------------- for any number of queries at once */

#define PARTS_OF(kv, n) PARTS_AS(kv, n, n, false)
#define PARTS_AS(kv, name, n, lean)                                                                                    \
    static void scores_##kv##_##name(const struct isa_attend *a, const struct chunk *c, struct queries *st, int at,    \
                                     struct seen seen)                                                                 \
    {                                                                                                                  \
        (void)seen;                                                                                                    \
        scores_of(n, lean, KT_##kv, a, c, st, at);                                                                     \
    }                                                                                                                  \
    static void values_##kv##_##name(const struct isa_attend *a, const struct chunk *c, struct queries *st, int at,    \
                                     struct seen seen)                                                                 \
    {                                                                                                                  \
        values_of(n, lean, KT_##kv, a, c, st, at, seen);                                                               \
    }
#define PARTS_6(kv)                                                                                                    \
    PARTS_OF(kv, 1) PARTS_OF(kv, 2) PARTS_OF(kv, 3) PARTS_OF(kv, 4) PARTS_OF(kv, 5) PARTS_OF(kv, 6)
#define NAMES_6(what, kv)                                                                                              \
    NULL, what##_##kv##_1, what##_##kv##_2, what##_##kv##_3, what##_##kv##_4, what##_##kv##_5, what##_##kv##_6
#if WIDE == 8
#define PARTS(kv) PARTS_6(kv) PARTS_OF(kv, 7) PARTS_OF(kv, 8) PARTS_AS(kv, lean, LEAN, true)
#define PARTS_ROW(what, kv)                                                                                            \
    [KT_##kv] = {NAMES_6(what, kv), what##_##kv##_7, what##_##kv##_8, what##_##kv##_lean}
#else
#define PARTS(kv) PARTS_6(kv)
#define PARTS_ROW(what, kv) [KT_##kv] = {NAMES_6(what, kv)}
#endif
PARTS(F32)
PARTS(F16)
PARTS(Q8_0)

/* The same for any number of queries, by type of K and V and how many at a time; the last: LEAN of them, lean. */
typedef void attend_part(const struct isa_attend *a, const struct chunk *c, struct queries *st, int at,
                         struct seen seen);
static attend_part *const score_parts[][WIDE + 2] = {
    PARTS_ROW(scores, F32), PARTS_ROW(scores, F16), PARTS_ROW(scores, Q8_0)};
static attend_part *const value_parts[][WIDE + 2] = {
    PARTS_ROW(values, F32), PARTS_ROW(values, F16), PARTS_ROW(values, Q8_0)};
