/* attn.cu - heads to pages, and attention over pages.
 *
 * Attention: positions are cut into spans of GPU_SPAN, and those into chunks of 32 tokens.  A block takes one row and
 * up to four query heads that share their keys and values; its warps are tracks: track w takes the chunks w,
 * w + TRACKS, ... of a span, by an online softmax of its own.  The tracks are joined in order, and so are the spans: by
 * the block that has them all, or, where rows are few and long, a span is a block's and a second kernel joins them,
 * with the same bits.  So the order depends on positions alone.  Scores: lanes are tokens; values: pairs of dims. */
#include "kernels/cuda/weights.cuh"

enum { PAGE = 16, MOST_DIM = 256, MOST_TRACKS = 8, /* for what they share to fit */
       TRACKS = GPU_BLOCK(8) < MOST_TRACKS ? GPU_BLOCK(8) : MOST_TRACKS, CHUNKS = GPU_SPAN / WARP, TILE = 4 };

/* ---------------------------------------------------------------------------- pages */

__device__ __forceinline__ uint8_t *head_of(const gpu_pages &p, const gpu_rows &at, int row, int pos, int kv_head)
{
    const int page = at.dev_table[static_cast<size_t>(at.dev_seq[row]) * static_cast<size_t>(at.stride) +
                                  static_cast<size_t>(pos / PAGE)];
    return p.dev_slab + static_cast<size_t>(page) * p.page_bytes + p.layer_at +
           static_cast<size_t>(kv_head) * p.head_bytes;
}

/* V's dims of a token, with what is between them and the next token's. */
__device__ __forceinline__ int wide_of(const gpu_pages &p) { return (p.dim + 15) / 16 * 16; }

/* Value `at` of a half of a page, which is of dim d and a token. */
template <ktype KV>
__device__ __forceinline__ float kv_value(const uint8_t *half, int dim, int at, int token, int d)
{
    if (KV == KT_F32) return reinterpret_cast<const float *>(half)[at];
    if (KV == KT_F16) return half_at(half + 2 * static_cast<size_t>(at));
    const float scale = half_at(half + 2 * static_cast<size_t>(d / 32 * PAGE + token));
    return __fmul_rn(scale, static_cast<float>(reinterpret_cast<const int8_t *>(half)[dim + at]));
}

/* Values `at`, which is even, and at + 1. */
struct two {
    float x, y;
};
template <ktype KV> __device__ __forceinline__ two kv_pair(const uint8_t *half, int dim, int at, int token, int d)
{
    if (KV == KT_F32) return {kv_value<KV>(half, dim, at, token, d), kv_value<KV>(half, dim, at + 1, token, d)};
    if (KV == KT_F16) {
        const uint32_t both = *reinterpret_cast<const uint32_t *>(half + 2 * static_cast<size_t>(at));
        return {half_of_bits(both & 0xffffu), half_of_bits(both >> 16)};
    }
    const unsigned both = *reinterpret_cast<const unsigned short *>(half + dim + at);
    const float scale = half_at(half + 2 * static_cast<size_t>(d / 32 * PAGE + token));
    return {__fmul_rn(scale, static_cast<float>(static_cast<int8_t>(both & 255u))),
            __fmul_rn(scale, static_cast<float>(static_cast<int8_t>(both >> 8)))};
}

__device__ void write_floats(const gpu_pages &p, uint8_t *half, bool is_k, int token, const float *x)
{
    const int wide = wide_of(p);
    for (int d = static_cast<int>(threadIdx.x); d < p.dim; d += WARP) {
        const int at = is_k ? d * PAGE + token : token * wide + d;
        if (p.kv == KT_F32) reinterpret_cast<float *>(half)[at] = x[d];
        else reinterpret_cast<unsigned short *>(half)[at] = __half_as_ushort(__float2half_rn(x[d]));
    }
}

__device__ void write_integers(const gpu_pages &p, uint8_t *half, bool is_k, int token, const float *x)
{
    for (int d = static_cast<int>(threadIdx.x); d < p.dim; d += WARP) { /* 32 divides dim */
        const lane_act a = quantised(x[d]);
        const int at = is_k ? d * PAGE + token : token * p.dim + d;
        reinterpret_cast<int8_t *>(half)[p.dim + at] = static_cast<int8_t>(a.q);
        if (threadIdx.x == 0)
            reinterpret_cast<unsigned short *>(half)[d / 32 * PAGE + token] = __half_as_ushort(__float2half_rn(a.dx));
    }
}

/* ---------------------------------------------------------------------------- heads */

/* Bias, norm and rotation of one head: from, which may be x, to x, both (dim); a warp does it. */
__device__ void finish_head(const gpu_heads &h, int dim, const float *from, const float *bias, const float *norm,
                            bool turn, int pos, float *x)
{
    const int lane = static_cast<int>(threadIdx.x);
    double sum = 0;
    for (int d = lane; d < dim; d += WARP) {
        const float v = bias ? __fadd_rn(from[d], bias[d]) : from[d];
        x[d] = v;
        sum += static_cast<double>(v) * static_cast<double>(v);
    }
    if (norm) {
        for (int by = WARP / 2; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
        const double scale = 1 / sqrt(sum / dim + static_cast<double>(h.eps));
        for (int d = lane; d < dim; d += WARP)
            x[d] = static_cast<float>(static_cast<double>(x[d]) * scale * static_cast<double>(norm[d]));
    }
    __syncwarp();
    for (int i = lane; turn && i < h.rope_dims / 2; i += WARP) {
        const double angle = pos * h.inv_freq[i];
        const float c = static_cast<float>(h.gain * cos(angle)), s = static_cast<float>(h.gain * sin(angle));
        float *re = h.neox ? &x[i] : &x[2 * i], *im = h.neox ? &x[i + h.rope_dims / 2] : &x[2 * i + 1];
        const float a = *re, b = *im;
        *re = __fsub_rn(__fmul_rn(a, c), __fmul_rn(b, s));
        *im = __fadd_rn(__fmul_rn(a, s), __fmul_rn(b, c));
    }
    __syncwarp();
}

__device__ void temper_head(const gpu_heads &h, int dim, int pos, float *q)
{
    const float by = static_cast<float>(1 + h.beta * log(1.0 + pos / h.each));
    for (int d = static_cast<int>(threadIdx.x); d < dim; d += WARP) q[d] = __fmul_rn(q[d], by);
}

/* grid (rows, heads + 2 * kv_heads), a warp; the block's memory: a head. */
__global__ void heads_kernel(gpu_heads h)
{
    const int row = static_cast<int>(blockIdx.x), dim = h.to.dim, kv = h.to.kv_heads;
    const int pos = h.at.dev_pos[row];
    int head = static_cast<int>(blockIdx.y);
    if (head < h.heads) {
        float *q = h.dev_q + (static_cast<size_t>(row) * static_cast<size_t>(h.heads) + static_cast<size_t>(head)) *
                                 static_cast<size_t>(dim);
        finish_head(h, dim, q, h.dev_bq ? h.dev_bq + head * dim : nullptr, h.dev_q_norm, h.rope_dims > 0, pos, q);
        if (h.each > 0) temper_head(h, dim, pos, q);
        return;
    }
    head -= h.heads;
    const bool is_k = head < kv;
    if (!is_k) head -= kv;
    float *x = reinterpret_cast<float *>(block_memory());
    const float *from = (is_k ? h.dev_k : h.dev_v) +
                        (static_cast<size_t>(row) * static_cast<size_t>(kv) + static_cast<size_t>(head)) *
                            static_cast<size_t>(dim);
    const float *bias = is_k ? h.dev_bk : h.dev_bv;
    finish_head(h, dim, from, bias ? bias + head * dim : nullptr, is_k ? h.dev_k_norm : nullptr,
                is_k && h.rope_dims > 0, pos, x);
    uint8_t *half = head_of(h.to, h.at, row, pos, head) + (is_k ? 0 : h.to.v_at);
    if (h.to.kv == KT_Q8_0) write_integers(h.to, half, is_k, pos % PAGE, x);
    else write_floats(h.to, half, is_k, pos % PAGE, x);
}

int run_heads(struct gpu *g, const struct gpu_heads *h)
{
    const dim3 grid(static_cast<unsigned>(h->at.rows), static_cast<unsigned>(h->heads + 2 * h->to.kv_heads));
    return launch(g, grid, dim3(WARP), static_cast<size_t>(h->to.dim) * sizeof(float), heads_kernel, *h);
}

/* ------------------------------------------------------------------------- attention */

__device__ __forceinline__ float warp_max(float v)
{
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float o = __shfl_xor_sync(ALL_LANES, v, by);
        v = o > v ? o : v;
    }
    return v;
}
__device__ __forceinline__ float warp_sum(float v)
{
    for (int by = WARP / 2; by > 0; by /= 2) v = __fadd_rn(v, __shfl_xor_sync(ALL_LANES, v, by));
    return v;
}

/* What tokens have been summed up to, of one head: the largest score, the sum of weights, the weighted values of a
 * lane's dims.  Of none: m is -inf, the rest 0.  One whose first score is not a number has m = -inf, too, and is seen
 * in l. */
template <int PAIRS> struct state {
    float m, l, o[2 * PAIRS];
};

/* Two such sums as one: x = was * x + is * x of the other.  -inf - -inf is not a number, but no weight is meant. */
struct weights {
    float m, was, is;
};
__device__ __forceinline__ weights weigh(float m, float other)
{
    const float top = other > m ? other : m;
    const float was = m == -INFINITY ? 0.0f : expf(__fsub_rn(m, top));
    return {top, was, other == -INFINITY ? 0.0f : expf(__fsub_rn(other, top))};
}
__device__ __forceinline__ float weighed(const weights &w, float x, float other)
{
    return __fmaf_rn(other, w.is, __fmul_rn(x, w.was));
}

/* A head's sink joins behind the last span, as one of one token whose value is 0: what sums of values are times, and
 * what they are divided by.  Times 1 where there is none, which changes nothing. */
struct ending {
    float fade, l;
};
__device__ __forceinline__ ending end_of(const float *sinks, int head, float m, float l)
{
    if (!sinks) return {1.0f, l};
    const weights by = weigh(m, sinks[head]);
    return {by.was, weighed(by, l, 1.0f)};
}

/* What a block has of one row: n heads from the first on, tokens from .. pos. */
struct task {
    int row, kv_head, first_head, n, from, pos;
};

/* The block's memory, in floats: the heads' q; a weight a token, track and head; what the tracks have. */
struct shared_floats {
    float *q, *weight, *m, *l, *o;
    int dim, q_step;
};
__host__ __device__ inline int floats_of_q(int dim) { return (dim + 7) / 8 * 8; }
template <int HEADS> __host__ __device__ inline size_t floats_of_block(int dim)
{
    return static_cast<size_t>(HEADS * (floats_of_q(dim) + TRACKS * (WARP + 2 + dim)));
}
template <int HEADS> __device__ __forceinline__ shared_floats shared_of(int dim)
{
    float *q = reinterpret_cast<float *>(block_memory());
    float *weight = q + HEADS * floats_of_q(dim), *m = weight + TRACKS * HEADS * WARP;
    return {q, weight, m, m + TRACKS * HEADS, m + 2 * TRACKS * HEADS, dim, floats_of_q(dim)};
}

/* q * k of 32 tokens, a lane a token, summed in rising d from 0. */
template <ktype KV, int HEADS>
__device__ __forceinline__ void scores(const shared_floats &sh, const uint8_t *head, int token, float (&sum)[HEADS])
{
    enum { BATCH = 16 };
    int d = 0;
    for (; d + BATCH <= sh.dim; d += BATCH) {
        float k[BATCH];
        for (int i = 0; i < BATCH; i++) k[i] = kv_value<KV>(head, sh.dim, (d + i) * PAGE + token, token, d);
        loaded();
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < BATCH; i += 4) {
                const float4 q = *reinterpret_cast<const float4 *>(sh.q + h * sh.q_step + d + i);
                sum[h] = __fmaf_rn(q.x, k[i], sum[h]);
                sum[h] = __fmaf_rn(q.y, k[i + 1], sum[h]);
                sum[h] = __fmaf_rn(q.z, k[i + 2], sum[h]);
                sum[h] = __fmaf_rn(q.w, k[i + 3], sum[h]);
            }
    }
    for (; d < sh.dim; d++) {
        const float k = kv_value<KV>(head, sh.dim, d * PAGE + token, token, d);
        for (int h = 0; h < HEADS; h++) sum[h] = __fmaf_rn(sh.q[h * sh.q_step + d], k, sum[h]);
    }
}

/* Weights times values of the tokens at .. end of one page, of which V is given; the others' weights are 0, and their
 * values may be anything. */
template <ktype KV, int HEADS, int PAIRS>
__device__ __forceinline__ void values(const gpu_attn &a, const uint8_t *v, int at, int end, const float *weight,
                                       state<PAIRS> (&st)[HEADS])
{
    enum { BATCH = 8 / PAIRS };
    const int dim = a.from.dim, wide = wide_of(a.from), lane = static_cast<int>(threadIdx.x);
    for (int first = at / BATCH * BATCH; first <= end; first += BATCH) {
        two of[BATCH][PAIRS];
        for (int i = 0; i < BATCH; i++)
            for (int k = 0; k < PAIRS; k++) {
                /* d + 1 may be behind the last one: that is in the token's room, and nobody reads what it comes to */
                const int t = first + i, d = 2 * lane + 2 * WARP * k;
                const bool is = t >= at && t <= end && d < dim;
                of[i][k] = is ? kv_pair<KV>(v, dim, t * wide + d, t, d) : two{0, 0};
            }
        loaded();
        for (int i = 0; i < BATCH; i++)
            for (int h = 0; h < HEADS; h++) {
                const float p = weight[h * WARP + first + i];
                for (int k = 0; k < PAIRS; k++) {
                    st[h].o[2 * k] = __fmaf_rn(p, of[i][k].x, st[h].o[2 * k]);
                    st[h].o[2 * k + 1] = __fmaf_rn(p, of[i][k].y, st[h].o[2 * k + 1]);
                }
            }
    }
}

/* Tokens first .. first + 31, of which from .. pos are seen, at least one. */
template <ktype KV, int HEADS, int PAIRS>
__device__ __forceinline__ void chunk(const gpu_attn &a, const task &k, const shared_floats &sh, int first,
                                      state<PAIRS> (&st)[HEADS])
{
    const int lane = static_cast<int>(threadIdx.x), mine = first + lane;
    const int lo = first > k.from ? first : k.from, hi = first + WARP - 1 < k.pos ? first + WARP - 1 : k.pos;
    const int token = mine < lo ? lo : mine > hi ? hi : mine; /* one that is seen, for who has none */
    const uint8_t *head = head_of(a.from, a.at, k.row, token, k.kv_head);
    float *weight = sh.weight + static_cast<int>(threadIdx.y) * HEADS * WARP;
    float sum[HEADS] = {};

    scores<KV, HEADS>(sh, head, token % PAGE, sum);
    for (int h = 0; h < HEADS; h++) {
        float score = __fmul_rn(sum[h], a.scale);
        if (a.cap > 0) score = __fmul_rn(a.cap, tanhf(__fdiv_rn(score, a.cap)));
        if (token != mine) score = -INFINITY;
        const float top = warp_max(score), m = top > st[h].m ? top : st[h].m;
        const float p = score == -INFINITY ? 0.0f : expf(__fsub_rn(score, m));
        const float fade = st[h].m == -INFINITY ? 0.0f : expf(__fsub_rn(st[h].m, m));
        st[h].l = __fmaf_rn(st[h].l, fade, warp_sum(p));
        st[h].m = m;
        for (int i = 0; i < 2 * PAIRS; i++) st[h].o[i] = __fmul_rn(st[h].o[i], fade);
        weight[h * WARP + lane] = p;
    }
    __syncwarp();
    for (int page = 0; page < WARP / PAGE; page++) {
        /* the page's first lane has it, if any token of the page is seen */
        const unsigned long long at = __shfl_sync(ALL_LANES, reinterpret_cast<unsigned long long>(head), page * PAGE);
        const int begin = first + page * PAGE, end = begin + PAGE - 1;
        values<KV, HEADS, PAIRS>(a, reinterpret_cast<const uint8_t *>(at) + a.from.v_at,
                                 (lo > begin ? lo : begin) - begin, (hi < end ? hi : end) - begin,
                                 weight + page * PAGE, st);
    }
    __syncwarp();
}

/* What the tracks have of head h, joined in order; by one warp. */
template <int HEADS, int PAIRS>
__device__ __forceinline__ state<PAIRS> join(const shared_floats &sh, int h)
{
    state<PAIRS> all = {-INFINITY, 0, {}};
    for (int w = 0; w < TRACKS; w++) {
        const int at = w * HEADS + h;
        const weights by = weigh(all.m, sh.m[at]);
        all.m = by.m;
        all.l = weighed(by, all.l, sh.l[at]);
        for (int i = 0; i < 2 * PAIRS; i++) {
            const int d = 2 * static_cast<int>(threadIdx.x) + 2 * WARP * (i / 2) + i % 2;
            if (d < sh.dim) all.o[i] = weighed(by, all.o[i], sh.o[at * sh.dim + d]);
        }
    }
    return all;
}

/* All tracks through one span; of warp h's head what it comes to. */
template <ktype KV, int HEADS, int PAIRS>
__device__ __forceinline__ state<PAIRS> span_of(const gpu_attn &a, const task &k, const shared_floats &sh, int span)
{
    const int lane = static_cast<int>(threadIdx.x), track = static_cast<int>(threadIdx.y);
    state<PAIRS> st[HEADS], all = {-INFINITY, 0, {}};
    for (int h = 0; h < HEADS; h++) st[h] = all;
    for (int c = track; c < CHUNKS; c += TRACKS) {
        const int first = span * GPU_SPAN + c * WARP;
        if (first <= k.pos && first + WARP > k.from) chunk<KV, HEADS, PAIRS>(a, k, sh, first, st);
    }
    for (int h = 0; h < HEADS; h++) {
        const int at = track * HEADS + h;
        if (lane == 0) sh.m[at] = st[h].m, sh.l[at] = st[h].l;
        for (int i = 0; i < 2 * PAIRS; i++) {
            const int d = 2 * lane + 2 * WARP * (i / 2) + i % 2;
            if (d < sh.dim) sh.o[at * sh.dim + d] = st[h].o[i];
        }
    }
    __syncthreads();
    if (track < HEADS) all = join<HEADS, PAIRS>(sh, track);
    __syncthreads();
    return all;
}

/* grid (rows, kv heads * tiles of their heads, spans or 1), block (32, TRACKS) */
template <ktype KV, int HEADS, int PAIRS>
__global__ void __launch_bounds__(WARP *TRACKS) attn_kernel(const __grid_constant__ gpu_attn a)
{
    static_assert(TRACKS >= HEADS, "a warp joins a head");
    const int share = a.heads / a.from.kv_heads, tiles = (share + HEADS - 1) / HEADS, dim = a.from.dim;
    const int tile = static_cast<int>(blockIdx.y) % tiles, row = static_cast<int>(blockIdx.x);
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int pos = a.at.dev_pos[row], seen = pos - a.from.window + 1, kv_head = static_cast<int>(blockIdx.y) / tiles;
    const int left = share - tile * HEADS;
    const task k = {row, kv_head, kv_head * share + tile * HEADS, left < HEADS ? left : HEADS,
                    a.from.window > 0 && seen > 0 ? seen : 0, pos};
    const int first = a.spans ? static_cast<int>(blockIdx.z) : k.from / GPU_SPAN;
    const int last = a.spans ? first : pos / GPU_SPAN;
    const shared_floats sh = shared_of<HEADS>(dim);
    if (a.spans && (first < k.from / GPU_SPAN || first > pos / GPU_SPAN)) return;

    const size_t at = static_cast<size_t>(row) * static_cast<size_t>(a.heads) + static_cast<size_t>(k.first_head);
    for (int h = warp; h < HEADS; h += TRACKS)
        for (int d = lane; d < dim; d += WARP)
            sh.q[h * sh.q_step + d] = h < k.n ? a.dev_q[(at + static_cast<size_t>(h)) * static_cast<size_t>(dim) +
                                                        static_cast<size_t>(d)] : 0.0f;
    __syncthreads();
    state<PAIRS> all = {-INFINITY, 0, {}};
    for (int span = first; span <= last; span++) {
        const state<PAIRS> s = span_of<KV, HEADS, PAIRS>(a, k, sh, span);
        const weights by = weigh(all.m, s.m);
        all.m = by.m;
        all.l = weighed(by, all.l, s.l);
        for (int i = 0; i < 2 * PAIRS; i++) all.o[i] = weighed(by, all.o[i], s.o[i]);
    }
    if (warp >= k.n) return;
    const size_t head = at + static_cast<size_t>(warp);
    float *to = a.spans ? a.dev_part + (head * static_cast<size_t>(a.spans) + static_cast<size_t>(first)) *
                                           static_cast<size_t>(dim + 2)
                        : a.dev_att + head * static_cast<size_t>(dim);
    if (a.spans && lane == 0) to[dim] = all.m, to[dim + 1] = all.l;
    /* reckoned anew, for which fewer registers spill than for k's head kept till here */
    const int nth = static_cast<int>(head - static_cast<size_t>(blockIdx.x) * static_cast<size_t>(a.heads));
    const ending e = end_of(a.spans ? nullptr : a.dev_sinks, nth, all.m, all.l);
    for (int i = 0; i < 2 * PAIRS; i++) {
        const int d = 2 * lane + 2 * WARP * (i / 2) + i % 2;
        if (d < dim) to[d] = a.spans ? all.o[i] : __fdiv_rn(__fmul_rn(all.o[i], e.fade), e.l);
    }
}

/* The spans of a row and head, joined as the block joins them that has them all; grid (rows, heads), a warp. */
__global__ void join_kernel(const __grid_constant__ gpu_attn a)
{
    const int row = static_cast<int>(blockIdx.x), dim = a.from.dim, pos = a.at.dev_pos[row];
    const int seen = pos - a.from.window + 1, from = a.from.window > 0 && seen > 0 ? seen : 0;
    const size_t head = static_cast<size_t>(row) * static_cast<size_t>(a.heads) + blockIdx.y;
    const size_t step = static_cast<size_t>(dim + 2);
    const float *part = a.dev_part + head * static_cast<size_t>(a.spans) * step;
    for (int d = static_cast<int>(threadIdx.x); d < dim; d += WARP) {
        float m = -INFINITY, l = 0, o = 0;
        for (int s = from / GPU_SPAN; s <= pos / GPU_SPAN; s++) {
            const float *of = part + static_cast<size_t>(s) * step;
            const weights by = weigh(m, of[dim]);
            m = by.m;
            l = weighed(by, l, of[dim + 1]);
            o = weighed(by, o, of[d]);
        }
        const ending e = end_of(a.dev_sinks, static_cast<int>(blockIdx.y), m, l);
        a.dev_att[head * static_cast<size_t>(dim) + static_cast<size_t>(d)] = __fdiv_rn(__fmul_rn(o, e.fade), e.l);
    }
}

template <ktype KV, int HEADS, int PAIRS> static int attn_tile(struct gpu *g, const struct gpu_attn *a)
{
    const int share = a->heads / a->from.kv_heads, tiles = (share + HEADS - 1) / HEADS;
    const dim3 grid(static_cast<unsigned>(a->at.rows), static_cast<unsigned>(a->from.kv_heads * tiles),
                    static_cast<unsigned>(a->spans ? a->spans : 1));
    const int rc = launch(g, grid, dim3(WARP, TRACKS), floats_of_block<HEADS>(a->from.dim) * sizeof(float),
                          attn_kernel<KV, HEADS, PAIRS>, *a);
    if (rc || !a->spans) return rc;
    return launch(g, dim3(grid.x, static_cast<unsigned>(a->heads)), dim3(WARP), 0, join_kernel, *a);
}

template <ktype KV, int HEADS> static int attn_heads(struct gpu *g, const struct gpu_attn *a)
{
    if (a->from.dim <= 64) return attn_tile<KV, HEADS, 1>(g, a);
    return a->from.dim <= 128 ? attn_tile<KV, HEADS, 2>(g, a) : attn_tile<KV, HEADS, 4>(g, a);
}

template <ktype KV> static int attn_type(struct gpu *g, const struct gpu_attn *a)
{
    return a->heads == a->from.kv_heads ? attn_heads<KV, 1>(g, a) : attn_heads<KV, TILE>(g, a);
}

int run_attn(struct gpu *g, const struct gpu_attn *a)
{
    if (a->from.kv == KT_F32) return attn_type<KT_F32>(g, a);
    return a->from.kv == KT_F16 ? attn_type<KT_F16>(g, a) : attn_type<KT_Q8_0>(g, a);
}

template <int HEADS, ktype... KV> static int load_tiles()
{
    int rc = 0;
    ((rc = rc ? rc : load(attn_kernel<KV, HEADS, 1>), rc = rc ? rc : load(attn_kernel<KV, HEADS, 2>),
      rc = rc ? rc : load(attn_kernel<KV, HEADS, 4>)), ...);
    return rc;
}

int load_attn(void)
{
    int rc = load(heads_kernel);
    if (!rc) rc = load(join_kernel);
    if (!rc) rc = load_tiles<1, KT_F32, KT_F16, KT_Q8_0>();
    return rc ? rc : load_tiles<TILE, KT_F32, KT_F16, KT_Q8_0>();
}
