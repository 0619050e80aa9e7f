/* attn.cu - heads to pages, and attention over pages.
 *
 * Attention: a block is one row and one query head, 4 warps; warp w takes the chunks of 32 tokens w, w + 4, ... from
 * the beginning of the sequence on (not of the window: so the order depends on positions alone), each by an online
 * softmax of its own, and warp 0 joins the four in order.  Scores: lanes are tokens; values: lanes are dims. */
#include "kernels/cuda/weights.cuh"

enum { PAGE = 16, MOST_DIM = 256, VALUES = MOST_DIM / WARP, WARPS = GPU_BLOCK(4) };

/* ---------------------------------------------------------------------------- pages */

__device__ __forceinline__ uint8_t *head_of(const gpu_pages &p, const gpu_rows &at, int row, int pos, int kv_head)
{
    const int page = at.dev_table[static_cast<size_t>(at.dev_seq[row]) * static_cast<size_t>(at.stride) +
                                  static_cast<size_t>(pos / PAGE)];
    return p.dev_slab + static_cast<size_t>(page) * p.page_bytes + p.layer_at +
           static_cast<size_t>(kv_head) * p.head_bytes;
}

/* K of one dim and token; V likewise. */
__device__ __forceinline__ float kv_value(const gpu_pages &p, const uint8_t *half, size_t at, int token, int d)
{
    if (p.kv == KT_F32) return reinterpret_cast<const float *>(half)[at];
    if (p.kv == KT_F16) return half_at(half + 2 * at);
    const float scale = half_at(half + 2 * (d / 32 * PAGE + token));
    const int8_t *q = reinterpret_cast<const int8_t *>(half) + p.dim;
    return __fmul_rn(scale, static_cast<float>(q[at]));
}
__device__ __forceinline__ float k_value(const gpu_pages &p, const uint8_t *head, int token, int d)
{
    return kv_value(p, head, static_cast<size_t>(d * PAGE + token), token, d);
}
__device__ __forceinline__ float v_value(const gpu_pages &p, const uint8_t *head, int token, int d)
{
    const size_t wide = static_cast<size_t>((p.dim + 15) / 16 * 16);
    return kv_value(p, head + p.v_at, static_cast<size_t>(token) * wide + static_cast<size_t>(d), token, d);
}

__device__ void write_floats(const gpu_pages &p, uint8_t *half, bool is_k, int token, const float *x)
{
    const int wide = (p.dim + 15) / 16 * 16;
    for (int d = static_cast<int>(threadIdx.x); d < p.dim; d += WARP) {
        const int at = is_k ? d * PAGE + token : token * wide + d;
        if (p.kv == KT_F32) reinterpret_cast<float *>(half)[at] = x[d];
        else reinterpret_cast<unsigned short *>(half)[at] = __half_as_ushort(__float2half_rn(x[d]));
    }
}

__device__ void write_integers(const gpu_pages &p, uint8_t *half, bool is_k, int token, const float *x)
{
    for (int b = static_cast<int>(threadIdx.x); b < p.dim / 32; b += WARP) {
        gpu_act act;
        quantise32(x + 32 * b, &act);
        reinterpret_cast<unsigned short *>(half)[b * PAGE + token] = __half_as_ushort(__float2half_rn(act.dx));
        for (int i = 0; i < 32; i++) {
            const int d = 32 * b + i, at = is_k ? d * PAGE + token : token * p.dim + d;
            reinterpret_cast<int8_t *>(half)[p.dim + at] = act.q[i];
        }
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
        const float c = static_cast<float>(cos(angle)), s = static_cast<float>(sin(angle));
        float *re = h.neox ? &x[i] : &x[2 * i], *im = h.neox ? &x[i + h.rope_dims / 2] : &x[2 * i + 1];
        const float a = *re, b = *im;
        *re = __fsub_rn(__fmul_rn(a, c), __fmul_rn(b, s));
        *im = __fadd_rn(__fmul_rn(a, s), __fmul_rn(b, c));
    }
    __syncwarp();
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

/* What a warp has summed up: the largest score, the sum of weights, the weighted values of its dims. */
struct state {
    float m, l, o[VALUES];
};

__device__ __forceinline__ float warp_max(float v)
{
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float o = __shfl_xor_sync(0xffffffffu, v, by);
        v = o > v ? o : v;
    }
    return v;
}
__device__ __forceinline__ float warp_sum(float v)
{
    for (int by = WARP / 2; by > 0; by /= 2) v = __fadd_rn(v, __shfl_xor_sync(0xffffffffu, v, by));
    return v;
}

/* Tokens first .. first + 31, of which from .. pos are seen. */
__device__ void chunk(const gpu_attn &a, const float *q, int row, int kv_head, int first, int from, int pos, state *st)
{
    const int lane = static_cast<int>(threadIdx.x), mine = first + lane, dim = a.from.dim;
    float score = -INFINITY;
    if (mine >= from && mine <= pos) {
        const uint8_t *head = head_of(a.from, a.at, row, mine, kv_head);
        float sum = 0;
        for (int d = 0; d < dim; d++) sum = __fmaf_rn(q[d], k_value(a.from, head, mine % PAGE, d), sum);
        score = __fmul_rn(sum, a.scale);
        if (a.cap > 0) score = __fmul_rn(a.cap, tanhf(__fdiv_rn(score, a.cap)));
    }
    const float top = warp_max(score), m = top > st->m ? top : st->m;
    /* -inf - -inf is not a number, but no weight is meant */
    const float p = score == -INFINITY ? 0.0f : expf(__fsub_rn(score, m));
    const float fade = st->m == -INFINITY ? 0.0f : expf(__fsub_rn(st->m, m));
    st->l = __fmaf_rn(st->l, fade, warp_sum(p));
    st->m = m;
    for (int i = 0; i < VALUES; i++) st->o[i] = __fmul_rn(st->o[i], fade);
    for (int t = 0; t < WARP; t++) {
        const float weight = __shfl_sync(0xffffffffu, p, t);
        const int token = first + t;
        if (token < from || token > pos) continue;
        const uint8_t *head = head_of(a.from, a.at, row, token, kv_head);
        for (int i = 0; i * WARP + lane < dim; i++)
            st->o[i] = __fmaf_rn(weight, v_value(a.from, head, token % PAGE, i * WARP + lane), st->o[i]);
    }
}

/* What the warps have, joined in order; shared: (WARPS) m, (WARPS) l, (WARPS, MOST_DIM) o.  A warp that saw no token
 * has zeros, which add nothing; one whose first score is not a number has m = -inf, too, and is seen in the result. */
__device__ void join(const float *shared, int dim, float *att)
{
    const float *l = shared + WARPS, *o = l + WARPS;
    float m = -INFINITY, sum = 0;
    for (int w = 0; w < WARPS; w++) m = shared[w] > m ? shared[w] : m;
    for (int w = 0; w < WARPS; w++) sum = __fmaf_rn(l[w], expf(__fsub_rn(shared[w], m)), sum);
    for (int d = static_cast<int>(threadIdx.x); d < dim; d += WARP) {
        float all = 0;
        for (int w = 0; w < WARPS; w++) all = __fmaf_rn(o[w * MOST_DIM + d], expf(__fsub_rn(shared[w], m)), all);
        att[d] = __fdiv_rn(all, sum);
    }
}

/* grid (rows, heads), block (32, WARPS) */
__global__ void attn_kernel(gpu_attn a)
{
    const int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y), dim = a.from.dim;
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y), pos = a.at.dev_pos[row];
    const int from = a.from.window > 0 && pos - a.from.window + 1 > 0 ? pos - a.from.window + 1 : 0;
    const size_t at = (static_cast<size_t>(row) * static_cast<size_t>(a.heads) + static_cast<size_t>(head)) *
                      static_cast<size_t>(dim);
    float *shared = reinterpret_cast<float *>(block_memory());
    state st = {-INFINITY, 0, {}};

    for (int first = warp * WARP; first <= pos; first += WARPS * WARP)
        if (first + WARP > from) chunk(a, a.dev_q + at, row, head / (a.heads / a.from.kv_heads), first, from, pos, &st);
    if (lane == 0) shared[warp] = st.m, shared[WARPS + warp] = st.l;
    for (int i = 0; i * WARP + lane < dim; i++) shared[2 * WARPS + warp * MOST_DIM + i * WARP + lane] = st.o[i];
    __syncthreads();
    if (warp == 0) join(shared, dim, a.dev_att + at);
}

int run_attn(struct gpu *g, const struct gpu_attn *a)
{
    const dim3 grid(static_cast<unsigned>(a->at.rows), static_cast<unsigned>(a->heads));
    return launch(g, grid, dim3(WARP, WARPS), (2 * WARPS + WARPS * MOST_DIM) * sizeof(float), attn_kernel, *a);
}

int load_attn(void)
{
    const int rc = load(heads_kernel);
    return rc ? rc : load(attn_kernel);
}
