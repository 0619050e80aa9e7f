/* rows.cu - what happens to single rows between the products: embedding, norms, rounding to integers, the gate of the
 * feed-forward.  Sums go in an order that is the same for every row of as many columns. */
#include "kernels/cuda/weights.cuh"

enum { ROW_THREADS = GPU_BLOCK(128), NORM_THREADS = GPU_BLOCK(1024) < 1024 ? GPU_BLOCK(1024) : 1024 };

/* ------------------------------------------------------------------------ embedding */

/* A block a token, a thread a unit. */
template <ktype TYPE>
__global__ void embed_kernel(gpu_mat table, const int32_t *token, float scale, float *x)
{
    const size_t cols = static_cast<size_t>(table.cols), row = static_cast<size_t>(token[blockIdx.x]);
    float *to = x + blockIdx.x * cols;
    unpack_units<TYPE>(table.dev_data + row / WARP * group_bytes<TYPE>(cols), table.cols,
                       static_cast<int>(row % WARP), static_cast<int>(threadIdx.x), ROW_THREADS,
                       [=](int k, float v) { to[k] = __fmul_rn(v, scale); });
}

template <ktype TYPE>
static int embed_type(struct gpu *g, int rows, const int32_t *token, const gpu_mat *table, float scale, float *x)
{
    return launch(g, dim3(static_cast<unsigned>(rows)), dim3(ROW_THREADS), 0, embed_kernel<TYPE>, *table, token, scale,
                  x);
}

int run_embed(struct gpu *g, int rows, const int32_t *token, const struct gpu_mat *table, float scale, float *x)
{
    switch (table->type) {
    case KT_F32: return embed_type<KT_F32>(g, rows, token, table, scale, x);
    case KT_F16: return embed_type<KT_F16>(g, rows, token, table, scale, x);
    case KT_BF16: return embed_type<KT_BF16>(g, rows, token, table, scale, x);
    case KT_Q8_0: return embed_type<KT_Q8_0>(g, rows, token, table, scale, x);
    case KT_Q4_0: return embed_type<KT_Q4_0>(g, rows, token, table, scale, x);
    case KT_Q4_1: return embed_type<KT_Q4_1>(g, rows, token, table, scale, x);
    case KT_Q5_0: return embed_type<KT_Q5_0>(g, rows, token, table, scale, x);
    case KT_Q5_1: return embed_type<KT_Q5_1>(g, rows, token, table, scale, x);
    case KT_MXFP4: return embed_type<KT_MXFP4>(g, rows, token, table, scale, x);
    case KT_Q4_K: return embed_type<KT_Q4_K>(g, rows, token, table, scale, x);
    case KT_Q5_K: return embed_type<KT_Q5_K>(g, rows, token, table, scale, x);
    case KT_Q6_K: return embed_type<KT_Q6_K>(g, rows, token, table, scale, x);
    case KT_IQ4_NL: return embed_type<KT_IQ4_NL>(g, rows, token, table, scale, x);
    case KT_IQ4_XS: return embed_type<KT_IQ4_XS>(g, rows, token, table, scale, x);
    case KT_Q3_K: return embed_type<KT_Q3_K>(g, rows, token, table, scale, x);
    case KT_Q2_K: return embed_type<KT_Q2_K>(g, rows, token, table, scale, x);
    default: return static_cast<int>(cudaErrorInvalidValue);
    }
}

/* -------------------------------------------------------------------- norm, rounding */

/* The sum of what each thread of a norm's block has, to all of them, in a fixed order; the block's memory holds a
 * double a warp. */
__device__ double block_sum(double mine)
{
    double *all = reinterpret_cast<double *>(block_memory()), sum = 0;
    for (int by = WARP / 2; by > 0; by /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, by);
    if (threadIdx.x % WARP == 0) all[threadIdx.x / WARP] = mine;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / WARP; i++) sum += all[i];
    return sum;
}

/* What a row's values are to be multiplied by, for its block. */
__device__ double inverse_rms(const float *x, size_t cols, float eps)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < cols; i += blockDim.x)
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return 1 / sqrt(block_sum(sum) / static_cast<double>(cols) + static_cast<double>(eps));
}

__device__ float normed_value(float x, double scale, float norm)
{
    return static_cast<float>(static_cast<double>(x) * scale * static_cast<double>(norm));
}

__global__ void norm_kernel(const int32_t *pick, size_t cols, const float *x, const float *norm, float eps,
                            float *normed, gpu_act *act)
{
    const float *from = x + static_cast<size_t>(pick ? pick[blockIdx.x] : static_cast<int>(blockIdx.x)) * cols;
    float *to = normed + blockIdx.x * cols;
    const double scale = inverse_rms(from, cols, eps);
    for (size_t i = threadIdx.x; i < cols; i += blockDim.x) {
        const float v = normed_value(from[i], scale, norm[i]);
        to[i] = v;
        if (act) quantise32(v, &act[(blockIdx.x * cols + i) / 32]); /* whole warps: 32 divides cols then */
    }
}

__global__ void norm_add_kernel(size_t cols, const float *x, const float *norm, float eps, float *y)
{
    const float *from = x + blockIdx.x * cols;
    float *to = y + blockIdx.x * cols;
    const double scale = inverse_rms(from, cols, eps);
    for (size_t i = threadIdx.x; i < cols; i += blockDim.x)
        to[i] = __fadd_rn(to[i], normed_value(from[i], scale, norm[i]));
}

/* As many for every row of as many columns. */
static unsigned norm_threads(int cols)
{
    const unsigned most = NORM_THREADS, wide = (static_cast<unsigned>(cols) + WARP - 1) / WARP * WARP;
    return wide < most ? wide : most;
}

int run_norm(struct gpu *g, int rows, const int32_t *pick, int cols, const float *x, const float *norm, float eps,
             float *normed, struct gpu_act *act)
{
    const unsigned threads = norm_threads(cols);
    return launch(g, dim3(static_cast<unsigned>(rows)), dim3(threads), threads / WARP * sizeof(double), norm_kernel,
                  pick, static_cast<size_t>(cols), x, norm, eps, normed, act);
}

int run_norm_add(struct gpu *g, int rows, int cols, const float *x, const float *norm, float eps, float *y)
{
    const unsigned threads = norm_threads(cols);
    return launch(g, dim3(static_cast<unsigned>(rows)), dim3(threads), threads / WARP * sizeof(double), norm_add_kernel,
                  static_cast<size_t>(cols), x, norm, eps, y);
}

__global__ void quantise_kernel(size_t n, const float *x, gpu_act *act)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * ROW_THREADS + threadIdx.x;
    if (i < n) quantise32(x[i], &act[i / 32]);
}

static dim3 blocks_for(size_t n)
{
    return dim3(static_cast<unsigned>((n + ROW_THREADS - 1) / ROW_THREADS));
}

int run_quantise(struct gpu *g, int rows, int cols, const float *x, struct gpu_act *act)
{
    const size_t n = static_cast<size_t>(rows) * static_cast<size_t>(cols);
    return launch(g, blocks_for(n), dim3(ROW_THREADS), 0, quantise_kernel, n, x, act);
}

/* ------------------------------------------------------------------------------ gate */

/* What is no number stays so. */
__device__ float gated(gpu_gate how, float x, float up)
{
    if (how == GPU_SILU) return __fmul_rn(__fdiv_rn(x, __fadd_rn(1.0f, expf(-x))), up);
    if (how == GPU_OSS) {
        const float g = x > 7 ? 7.0f : x, u = up > 7 ? 7.0f : up < -7 ? -7.0f : up;
        return __fmul_rn(__fdiv_rn(g, __fadd_rn(1.0f, expf(__fmul_rn(-1.702f, g)))), __fadd_rn(u, 1.0f));
    }
    const float in = __fmul_rn(0.79788456f, __fmaf_rn(__fmul_rn(0.044715f, __fmul_rn(x, x)), x, x));
    return __fmul_rn(__fmul_rn(__fmul_rn(0.5f, x), __fadd_rn(1.0f, tanhf(in))), up);
}

__global__ void gate_kernel(size_t n, gpu_gate how, float *gate, const float *up, gpu_act *act)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * ROW_THREADS + threadIdx.x;
    if (i >= n) return;
    const float v = gated(how, gate[i], up[i]);
    gate[i] = v;
    if (act) quantise32(v, &act[i / 32]); /* whole warps: 32 divides n then */
}

int run_gate(struct gpu *g, size_t n, enum gpu_gate how, float *gate, const float *up, struct gpu_act *act)
{
    return launch(g, blocks_for(n), dim3(ROW_THREADS), 0, gate_kernel, n, how, gate, up, act);
}

/* ----------------------------------------------------------------------------- loading */

template <ktype... TYPES> static int load_embeds()
{
    int rc = 0;
    ((rc = rc ? rc : load(embed_kernel<TYPES>)), ...);
    return rc;
}

int load_rows(void)
{
    int rc = load_embeds<KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1, KT_MXFP4, KT_Q4_K,
                         KT_Q5_K, KT_Q6_K, KT_IQ4_NL, KT_IQ4_XS, KT_Q3_K, KT_Q2_K>();
    if (!rc) rc = load(norm_kernel);
    if (!rc) rc = load(norm_add_kernel);
    if (!rc) rc = load(quantise_kernel);
    return rc ? rc : load(gate_kernel);
}
