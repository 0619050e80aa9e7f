/* mul.cu - matrix products: a block of 8 warps takes 32 rows of the matrix and up to 8 tokens.
 *
 * Lanes are rows.  A warp sums one eighth of k, always the same for the same number of columns, and the eight sums are
 * added in order; so a row's result depends on that row alone: not on the tokens beside it, nor on the tile.
 *
 *     integers: acc = fma(isum, dw * dx, acc) a block or run, isum exact; a minimum: acc = fma(-m, dx * -sum x, acc)
 *     floats:   per 32 k: s = fma(w, x, s) in rising k from 0, then acc = acc + s */
#include "kernels/cuda/weights.cuh"

enum { WARPS = GPU_BLOCK(8), TILE = 8 };

/* --------------------------------------------------------------------- a warp's part */

__device__ __forceinline__ int act_dword(const gpu_act *x, int s)
{
    return *reinterpret_cast<const int *>(x->q + 4 * s);
}

/* Runs of one block; x: the activations of the block's first run, by token (stride blocks apart). */
template <ktype TYPE, int TOK>
__device__ __forceinline__ void block_of(const uint8_t *w, int lane, const gpu_act *const (&x)[TOK], float (&acc)[TOK])
{
    const float d = half_of(w, 0, lane);
    for (int run = 0; run < form<TYPE>::RUNS; run++) {
        int sum[TOK];
        for (int t = 0; t < TOK; t++) sum[t] = form<TYPE>::FROM * x[t][run].ns;
        for (int s = 0; s < 8; s++) {
            const int q = static_cast<int>(quants<TYPE>(w, run, s, lane));
            for (int t = 0; t < TOK; t++) sum[t] = __dp4a(q, act_dword(&x[t][run], s), sum[t]);
        }
        float scale = d, min = 0;
        if (TYPE == KT_Q4_K || TYPE == KT_Q5_K) {
            run_scale(w + 128, run, lane, &scale, &min);
            scale = __fmul_rn(d, scale);
            min = __fmul_rn(half_of(w, 1, lane), min);
        } else if (form<TYPE>::MINIMUM) {
            min = -half_of(w, 1, lane);
        }
        for (int t = 0; t < TOK; t++) {
            acc[t] = __fmaf_rn(__int2float_rn(sum[t]), __fmul_rn(scale, x[t][run].dx), acc[t]);
            if (form<TYPE>::MINIMUM) acc[t] = __fmaf_rn(min, x[t][run].mdx, acc[t]);
        }
    }
}

/* Q6_K has a scale for 16: a half of 128 is summed by itself, then times d. */
template <int TOK>
__device__ __forceinline__ void block_of_q6(const uint8_t *w, int lane, const gpu_act *const (&x)[TOK],
                                            float (&acc)[TOK])
{
    const float d = half_of(w, 0, lane);
    for (int half = 0; half < 2; half++) {
        float u[TOK] = {};
        for (int run = 4 * half; run < 4 * half + 4; run++) {
            const int scale0 = part_scale(w + 64, 2 * run, lane), scale1 = part_scale(w + 64, 2 * run + 1, lane);
            int sum0[TOK], sum1[TOK];
            for (int t = 0; t < TOK; t++) sum0[t] = 32 * x[t][run].ns0, sum1[t] = 32 * (x[t][run].ns - x[t][run].ns0);
            for (int s = 0; s < 8; s++) {
                const int q = static_cast<int>(quants<KT_Q6_K>(w, run, s, lane));
                for (int t = 0; t < TOK; t++) {
                    int *sum = s < 4 ? &sum0[t] : &sum1[t];
                    *sum = __dp4a(q, act_dword(&x[t][run], s), *sum);
                }
            }
            for (int t = 0; t < TOK; t++)
                u[t] = __fmaf_rn(__int2float_rn(scale0 * sum0[t] + scale1 * sum1[t]), x[t][run].dx, u[t]);
        }
        for (int t = 0; t < TOK; t++) acc[t] = __fmaf_rn(u[t], d, acc[t]);
    }
}

/* Units from .. to - 1 of k: blocks of the type. */
template <ktype TYPE, int TOK> struct part {
    static __device__ void sum(const gpu_mul &m, const uint8_t *group, int lane, const int (&token)[TOK], int from,
                               int to, float (&acc)[TOK])
    {
        const size_t blocks = static_cast<size_t>(m.w.cols) / 32, runs = form<TYPE>::RUNS;
        for (int u = from; u < to; u++) {
            const uint8_t *w = group + static_cast<size_t>(u) * (WARP * form<TYPE>::BYTES);
            const gpu_act *x[TOK];
            for (int t = 0; t < TOK; t++)
                x[t] = m.dev_act + static_cast<size_t>(token[t]) * blocks + static_cast<size_t>(u) * runs;
            if constexpr (TYPE == KT_Q6_K) block_of_q6<TOK>(w, lane, x, acc);
            else block_of<TYPE, TOK>(w, lane, x, acc);
        }
    }
    static __host__ __device__ int units(int cols) { return cols / (32 * form<TYPE>::RUNS); }
};

/* The same for plain floats: units of 32 k, the last one as long as there are. */
template <ktype TYPE, int TOK> struct plain_part {
    static __device__ void sum(const gpu_mul &m, const uint8_t *group, int lane, const int (&token)[TOK], int from,
                               int to, float (&acc)[TOK])
    {
        const int cols = m.w.cols;
        for (int u = from; u < to; u++) {
            float s[TOK] = {};
            for (int k = 32 * u; k < 32 * u + 32 && k < cols; k++) {
                const float w = plain_at<TYPE>(group, static_cast<size_t>(k), lane);
                for (int t = 0; t < TOK; t++)
                    s[t] = __fmaf_rn(w, m.dev_x[static_cast<size_t>(token[t]) * static_cast<size_t>(cols) +
                                                static_cast<size_t>(k)], s[t]);
            }
            for (int t = 0; t < TOK; t++) acc[t] = __fadd_rn(acc[t], s[t]);
        }
    }
    static __host__ __device__ int units(int cols) { return (cols + 31) / 32; }
};
template <int TOK> struct part<KT_F32, TOK> : plain_part<KT_F32, TOK> {};
template <int TOK> struct part<KT_F16, TOK> : plain_part<KT_F16, TOK> {};
template <int TOK> struct part<KT_BF16, TOK> : plain_part<KT_BF16, TOK> {};

/* Bytes of 32 rows and all k. */
template <ktype TYPE> __device__ __forceinline__ size_t group_bytes(int cols)
{
    if constexpr (TYPE == KT_F32) return static_cast<size_t>(cols) * 128;
    else if constexpr (TYPE == KT_F16 || TYPE == KT_BF16) return static_cast<size_t>(cols) * 64;
    else return static_cast<size_t>(cols / (32 * form<TYPE>::RUNS)) * (WARP * form<TYPE>::BYTES);
}

/* -------------------------------------------------------------------------- the kernel */

__device__ __forceinline__ void put(const gpu_mul &m, int token, int row, float sum)
{
    float *y = m.dev_y + static_cast<size_t>(token) * static_cast<size_t>(m.w.rows) + row;
    if (m.dev_bias) sum = __fadd_rn(sum, m.dev_bias[row]);
    if (m.cap > 0) sum = __fmul_rn(m.cap, tanhf(__fdiv_rn(sum, m.cap)));
    *y = m.add ? __fadd_rn(*y, sum) : sum;
}

/* grid (tiles, groups), for there may be more tiles than 65535; block (32, WARPS); the block's memory: WARPS * TOK * 32
 * floats. */
template <ktype TYPE, int TOK> __global__ void mul_kernel(gpu_mul m)
{
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int group = static_cast<int>(blockIdx.y), first = static_cast<int>(blockIdx.x) * TOK;
    const uint8_t *w = m.w.dev_data + static_cast<size_t>(group) * group_bytes<TYPE>(m.w.cols);
    const int units = part<TYPE, TOK>::units(m.w.cols);
    float *sums = reinterpret_cast<float *>(block_memory());
    float acc[TOK] = {};
    int token[TOK]; /* behind the last one: the last one again, which nobody writes down */

    for (int t = 0; t < TOK; t++) token[t] = first + t < m.rows ? first + t : m.rows - 1;
    part<TYPE, TOK>::sum(m, w, lane, token, static_cast<int>(static_cast<long long>(units) * warp / WARPS),
                         static_cast<int>(static_cast<long long>(units) * (warp + 1) / WARPS), acc);
    for (int t = 0; t < TOK; t++) sums[(warp * TOK + t) * WARP + lane] = acc[t];
    __syncthreads();
    const int row = group * WARP + lane;
    for (int t = warp; t < TOK && first + t < m.rows && row < m.w.rows; t += WARPS) {
        float sum = sums[t * WARP + lane];
        for (int i = 1; i < WARPS; i++) sum = __fadd_rn(sum, sums[(i * TOK + t) * WARP + lane]);
        put(m, first + t, row, sum);
    }
}

template <ktype TYPE, int TOK> static int mul_tile(struct gpu *g, const struct gpu_mul *m)
{
    const dim3 grid(static_cast<unsigned>((m->rows + TOK - 1) / TOK),
                    static_cast<unsigned>((m->w.rows + WARP - 1) / WARP));
    return launch(g, grid, dim3(WARP, WARPS), WARPS * TOK * WARP * sizeof(float), mul_kernel<TYPE, TOK>, *m);
}

template <ktype TYPE> static int mul_type(struct gpu *g, const struct gpu_mul *m)
{
    if (m->rows == 1) return mul_tile<TYPE, 1>(g, m);
    if (m->rows == 2) return mul_tile<TYPE, 2>(g, m);
    return m->rows <= 4 ? mul_tile<TYPE, 4>(g, m) : mul_tile<TYPE, TILE>(g, m);
}

int run_mul(struct gpu *g, const struct gpu_mul *m)
{
    switch (m->w.type) {
    case KT_F32: return mul_type<KT_F32>(g, m);
    case KT_F16: return mul_type<KT_F16>(g, m);
    case KT_BF16: return mul_type<KT_BF16>(g, m);
    case KT_Q8_0: return mul_type<KT_Q8_0>(g, m);
    case KT_Q4_0: return mul_type<KT_Q4_0>(g, m);
    case KT_Q4_1: return mul_type<KT_Q4_1>(g, m);
    case KT_Q5_0: return mul_type<KT_Q5_0>(g, m);
    case KT_Q5_1: return mul_type<KT_Q5_1>(g, m);
    case KT_Q4_K: return mul_type<KT_Q4_K>(g, m);
    case KT_Q5_K: return mul_type<KT_Q5_K>(g, m);
    case KT_Q6_K: return mul_type<KT_Q6_K>(g, m);
    default: return static_cast<int>(cudaErrorInvalidValue);
    }
}

template <ktype... TYPES> static int load_types()
{
    int rc = 0;
    ((rc = rc ? rc : load(mul_kernel<TYPES, 1>), rc = rc ? rc : load(mul_kernel<TYPES, 2>),
      rc = rc ? rc : load(mul_kernel<TYPES, 4>), rc = rc ? rc : load(mul_kernel<TYPES, TILE>)), ...);
    return rc;
}

int load_mul(void)
{
    return load_types<KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1, KT_Q4_K, KT_Q5_K,
                      KT_Q6_K>();
}
