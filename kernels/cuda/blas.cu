/* blas.cu - products by cuBLASLt, for --fast and many tokens: packed weights are unpacked to halves, tile by tile, and
 * multiplied with the tokens as halves.
 *
 *     weights, packed  --unpack-->  tile (k, m) halves  \
 *                                                        cublasLtMatmul --> product (n, m) floats --finish--> y
 *     x (n, k)  --halve-->  tokens (n, k) halves        /
 *
 * A token is scaled by a power of two, so that its largest value is below 1: no half overflows.  Error of a y, beside
 * the product of floats: 2^-11 of each weight and of each x, so at most 2^-10 of the sum of |w x|, and that of sums of
 * k floats in an order of the library's choice.
 *
 * The library is opened when it is first wanted; its workspace is ours.  Whether it takes device memory of its own
 * at the first product of a shape (to load a kernel) is for a device to show.  What it finds no kernel for is an
 * error. */
#include "kernels/cuda/weights.cuh"
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cstdio>
#ifndef CUDA_ON_CPU
#include <dlfcn.h>
#endif

enum { THREADS = GPU_BLOCK(256), PLANS = 32 };

/* ---------------------------------------------------------------------- the library */

#define FUNCTIONS(F) \
    F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtMatmulDescCreate) F(cublasLtMatmulDescDestroy) \
    F(cublasLtMatrixLayoutCreate) F(cublasLtMatrixLayoutDestroy) F(cublasLtMatmulPreferenceCreate) \
    F(cublasLtMatmulPreferenceDestroy) F(cublasLtMatmulPreferenceSetAttribute) F(cublasLtMatmulAlgoGetHeuristic) \
    F(cublasLtMatmul)

struct library {
#define MEMBER(f) decltype(&f) f##_;
    FUNCTIONS(MEMBER)
};

static void *symbol(const char *name)
{
#ifdef CUDA_ON_CPU
    return shim_blas_symbol(name);
#else
    char file[40];
    snprintf(file, sizeof file, "libcublasLt.so.%d", CUDART_VERSION / 1000);
    static void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : nullptr;
#endif
}

static bool find(library *l)
{
#define FIND(f) \
    l->f##_ = reinterpret_cast<decltype(&f)>(symbol(#f)); \
    if (!l->f##_) return false;
    FUNCTIONS(FIND)
    return true;
}

/* How one shape is multiplied, as the library says: asked for once, and forgotten for another that comes after many. */
struct plan {
    int m, n, k;
    cublasLtMatrixLayout_t w, x, y;
    cublasLtMatmulAlgo_t algo;
};

struct gpu_blas {
    library lib;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t how;
    cublasLtMatmulPreference_t want;
    plan plans[PLANS];
    int next;
};

static int code_of(cublasStatus_t s) { return s == CUBLAS_STATUS_SUCCESS ? 0 : static_cast<int>(cudaErrorUnknown); }

static void forget(const library &l, plan *p)
{
    if (p->w) l.cublasLtMatrixLayoutDestroy_(p->w);
    if (p->x) l.cublasLtMatrixLayoutDestroy_(p->x);
    if (p->y) l.cublasLtMatrixLayoutDestroy_(p->y);
    *p = {};
}

void blas_close(struct gpu *g)
{
    gpu_blas *b = g->blas;
    if (!b) return;
    for (plan &p : b->plans) forget(b->lib, &p);
    if (b->want) b->lib.cublasLtMatmulPreferenceDestroy_(b->want);
    if (b->how) b->lib.cublasLtMatmulDescDestroy_(b->how);
    if (b->handle) b->lib.cublasLtDestroy_(b->handle);
    delete b;
    g->blas = nullptr;
}

int blas_open(struct gpu *g)
{
    const size_t room = GPU_BLAS_SPACE;
    gpu_blas *b = new (std::nothrow) gpu_blas();
    const int rc = choose_device(g);
    if (!b || rc || !find(&b->lib)) {
        delete b;
        return rc ? rc : static_cast<int>(cudaErrorSharedObjectInitFailed);
    }
    g->blas = b;
    cublasStatus_t s = b->lib.cublasLtCreate_(&b->handle);
    if (!s) s = b->lib.cublasLtMatmulDescCreate_(&b->how, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!s) s = b->lib.cublasLtMatmulPreferenceCreate_(&b->want);
    if (!s)
        s = b->lib.cublasLtMatmulPreferenceSetAttribute_(b->want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                                         sizeof room);
    const int loaded = s ? code_of(s) : load_blas();
    if (loaded) blas_close(g);
    return loaded;
}

/* Column by column: w (m, k), x (k, n), y (m, n). */
static cublasStatus_t find_plan(gpu_blas *b, int m, int n, int k, const plan **out)
{
    for (const plan &p : b->plans)
        if (p.m == m && p.n == n && p.k == k) {
            *out = &p;
            return CUBLAS_STATUS_SUCCESS;
        }
    const library &l = b->lib;
    plan *p = &b->plans[b->next];
    cublasLtMatmulHeuristicResult_t found = {};
    int n_found = 0;
    b->next = (b->next + 1) % PLANS;
    forget(l, p);
    const uint64_t rows = static_cast<uint64_t>(m), deep = static_cast<uint64_t>(k), cols = static_cast<uint64_t>(n);
    cublasStatus_t s = l.cublasLtMatrixLayoutCreate_(&p->w, CUDA_R_16F, rows, deep, m);
    if (!s) s = l.cublasLtMatrixLayoutCreate_(&p->x, CUDA_R_16F, deep, cols, k);
    if (!s) s = l.cublasLtMatrixLayoutCreate_(&p->y, CUDA_R_32F, rows, cols, m);
    if (!s)
        s = l.cublasLtMatmulAlgoGetHeuristic_(b->handle, b->how, p->w, p->x, p->y, p->y, b->want, 1, &found, &n_found);
    if (!s && n_found < 1) s = CUBLAS_STATUS_NOT_SUPPORTED;
    if (s) {
        forget(l, p);
        return s;
    }
    p->m = m, p->n = n, p->k = k, p->algo = found.algo;
    *out = p;
    return s;
}

/* ---------------------------------------------------------------------- the kernels */

/* Groups of 32 rows from the first of the tile on; grid (parts of k, groups of the tile), block (32, 8): lanes are
 * rows, a warp has a unit. */
template <ktype TYPE> __global__ void unpack_kernel(gpu_mat w, int first, int m, unsigned short *tile)
{
    const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * WARP + lane;
    const size_t cols = static_cast<size_t>(w.cols), group = static_cast<size_t>(first) + blockIdx.y;
    const int at = static_cast<int>(blockIdx.x * (THREADS / WARP) + threadIdx.y);
    if (row >= m) return;
    tile += row;
    unpack_units<TYPE>(w.dev_data + group * group_bytes<TYPE>(cols), w.cols, lane, at,
                       static_cast<int>(gridDim.x) * (THREADS / WARP), [=](int k, float v) {
        tile[static_cast<size_t>(k) * static_cast<size_t>(m)] = __half_as_ushort(__float2half_rn(v));
    });
}

/* A block a token: the power of two above its largest value, and it in halves of that; the block's memory: THREADS
 * floats.  A token with an infinity, or what is no number, stays so. */
__global__ void halve_kernel(int cols, const float *x, float *scale, unsigned short *to)
{
    float *top = reinterpret_cast<float *>(block_memory());
    const size_t at = static_cast<size_t>(blockIdx.x) * static_cast<size_t>(cols);
    const int me = static_cast<int>(threadIdx.x);
    float mine = 0;
    for (int i = me; i < cols; i += THREADS) {
        const float a = fabsf(x[at + static_cast<size_t>(i)]);
        mine = a > mine && a < INFINITY ? a : mine;
    }
    top[me] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && top[me + half] > top[me]) top[me] = top[me + half];
    }
    __syncthreads();
    int power;
    frexpf(top[0], &power);
    power = power < 127 ? power : 127; /* 2^128 is no float; a half may be 2 as well */
    for (int i = me; i < cols; i += THREADS) {
        const size_t j = at + static_cast<size_t>(i);
        to[j] = __half_as_ushort(__float2half_rn(ldexpf(x[j], -power)));
    }
    if (me == 0) scale[blockIdx.x] = ldexpf(1.0f, power);
}

/* Rows first .. first + n - 1 of y, all tokens; grid (n / THREADS, tokens). */
__global__ void finish_kernel(gpu_mul m, int first, int n, const float *product, const float *scale)
{
    const int i = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x);
    if (i >= n) return;
    const size_t token = blockIdx.y;
    float *y = m.dev_y + token * static_cast<size_t>(m.w.rows) + static_cast<size_t>(first + i);
    float sum = product[token * static_cast<size_t>(n) + static_cast<size_t>(i)] * scale[token];
    if (m.dev_bias) sum += m.dev_bias[first + i];
    if (m.cap > 0) sum = m.cap * tanhf(sum / m.cap);
    *y = m.add ? *y + sum : sum;
}

/* ------------------------------------------------------------------------- a product */

template <ktype TYPE> static int unpack_type(struct gpu *g, const gpu_mat &w, int first, int m, unsigned short *tile)
{
    const int parts = ((w.cols + 31) / 32 + THREADS / WARP - 1) / (THREADS / WARP);
    const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>((m + WARP - 1) / WARP));
    return launch(g, grid, dim3(WARP, THREADS / WARP), 0, unpack_kernel<TYPE>, w, first / WARP, m, tile);
}

static int unpack(struct gpu *g, const gpu_mat &w, int first, int m, unsigned short *tile)
{
    switch (w.type) {
    case KT_F16: return unpack_type<KT_F16>(g, w, first, m, tile);
    case KT_Q8_0: return unpack_type<KT_Q8_0>(g, w, first, m, tile);
    case KT_Q4_0: return unpack_type<KT_Q4_0>(g, w, first, m, tile);
    case KT_Q4_1: return unpack_type<KT_Q4_1>(g, w, first, m, tile);
    case KT_Q5_0: return unpack_type<KT_Q5_0>(g, w, first, m, tile);
    case KT_Q5_1: return unpack_type<KT_Q5_1>(g, w, first, m, tile);
    case KT_MXFP4: return unpack_type<KT_MXFP4>(g, w, first, m, tile);
    case KT_Q4_K: return unpack_type<KT_Q4_K>(g, w, first, m, tile);
    case KT_Q5_K: return unpack_type<KT_Q5_K>(g, w, first, m, tile);
    case KT_Q6_K: return unpack_type<KT_Q6_K>(g, w, first, m, tile);
    case KT_IQ4_NL: return unpack_type<KT_IQ4_NL>(g, w, first, m, tile);
    case KT_IQ4_XS: return unpack_type<KT_IQ4_XS>(g, w, first, m, tile);
    case KT_Q3_K: return unpack_type<KT_Q3_K>(g, w, first, m, tile);
    case KT_Q2_K: return unpack_type<KT_Q2_K>(g, w, first, m, tile);
    default: return static_cast<int>(cudaErrorInvalidValue);
    }
}

static int multiply(struct gpu *g, const struct gpu_room *r, int m, int n, int k)
{
    const float one = 1, zero = 0;
    const plan *p = nullptr;
    gpu_blas *b = g->blas;
    cublasStatus_t s = find_plan(b, m, n, k, &p);
    if (!s)
        s = b->lib.cublasLtMatmul_(b->handle, b->how, &one, r->dev_tile, p->w, r->dev_tokens, p->x, &zero,
                                   r->dev_product, p->y, r->dev_product, p->y, &p->algo, r->dev_space, GPU_BLAS_SPACE,
                                   g->stream);
    return code_of(s);
}

int run_blas(struct gpu *g, const struct gpu_mul *m, const struct gpu_room *r)
{
    const unsigned tokens = static_cast<unsigned>(m->rows);
    int rc = launch(g, dim3(tokens), dim3(THREADS), THREADS * sizeof(float), halve_kernel, m->w.cols, m->dev_x,
                    r->dev_scale, r->dev_tokens);
    for (int first = 0; first < m->w.rows && !rc; first += r->tile_rows) {
        const int n = m->w.rows - first < r->tile_rows ? m->w.rows - first : r->tile_rows;
        rc = unpack(g, m->w, first, n, r->dev_tile);
        if (!rc) rc = multiply(g, r, n, m->rows, m->w.cols);
        if (!rc)
            rc = launch(g, dim3(static_cast<unsigned>((n + THREADS - 1) / THREADS), tokens), dim3(THREADS), 0,
                        finish_kernel, *m, first, n, r->dev_product, r->dev_scale);
    }
    return rc;
}

template <ktype... TYPES> static int load_unpacks()
{
    int rc = 0;
    ((rc = rc ? rc : load(unpack_kernel<TYPES>)), ...);
    return rc;
}

int load_blas(void)
{
    int rc = load_unpacks<KT_F16, KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1, KT_MXFP4, KT_Q4_K, KT_Q5_K, KT_Q6_K,
                          KT_IQ4_NL, KT_IQ4_XS, KT_Q3_K, KT_Q2_K>();
    if (!rc) rc = load(halve_kernel);
    return rc ? rc : load(finish_kernel);
}

#else /* the toolkit that this was built with has no cuBLASLt */
int load_blas(void) { return 0; }
int blas_open(struct gpu *) { return GPU_NO_LIBRARY; }
void blas_close(struct gpu *) {}
int run_blas(struct gpu *, const struct gpu_mul *, const struct gpu_room *) { return GPU_NO_LIBRARY; }
#endif
