/* device.h - what the .cu files share: the opened device, launches, words for both compilers.  C++, not for others. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* C may name a function as a struct */
extern "C" {
#include "kernels/cuda/gpu.h"
}
#pragma GCC diagnostic pop
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <new>

/* Threads, or warps, of a kernel's blocks: a power of two.  Tests build the kernels with half and with twice as many,
 * too (GPU_BLOCK of the Makefile), so that none of them leans on its number. */
#ifndef GPU_BLOCK
#define GPU_BLOCK(n) (n)
#endif

/* The loop that follows, so many turns at once. */
#ifdef CUDA_ON_CPU
#define UNROLL(n)
#define __grid_constant__
__device__ __forceinline__ void loaded() {}
#else
#define UNROLL(n) UNROLL_PRAGMA(unroll n)
#define UNROLL_PRAGMA(...) _Pragma(#__VA_ARGS__)
/* What is loaded before this is under way, all of it, when what is behind it begins: a compiler would rather load each
 * where it is wanted, in as few registers. */
__device__ __forceinline__ void loaded() { __syncwarp(); }
#endif

enum { WARP = 32, STAGES = 4 };
constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr size_t STAGE = size_t(GPU_STAGING) / STAGES;

struct gpu {
    int device, units;          /* units: multiprocessors */
    cudaStream_t stream;
    void *staging;              /* pinned, GPU_STAGING bytes: STAGES pieces that uploads take in turn */
    cudaEvent_t taken[STAGES];  /* the last copy from the piece has been made */
    int next;
    struct gpu_blas *blas;      /* blas.cu's, or NULL */
};

static_assert(int(GPU_NO_MEMORY) == int(cudaErrorMemoryAllocation) &&
              int(GPU_OLD_DRIVER) == int(cudaErrorInsufficientDriver) &&
              int(GPU_NO_DEVICE) == int(cudaErrorNoDevice) &&
              int(GPU_NO_FUNCTION) == int(cudaErrorInvalidDeviceFunction) &&
              int(GPU_NO_KERNELS) == int(cudaErrorNoKernelImageForDevice) &&
              int(GPU_NO_LIBRARY) == int(cudaErrorSharedObjectInitFailed), "CUDA's own numbers");

/* The block's memory, as many bytes as its launch asked for.  All shared memory is got so: it has one size, known to
 * the launch. */
#ifdef CUDA_ON_CPU
#define block_memory() shim_shared()
#else
__device__ __forceinline__ unsigned char *block_memory()
{
    extern __shared__ __align__(16) unsigned char bytes_of_block[];
    return bytes_of_block;
}
#endif

/* Which device is meant is a choice of each host thread in CUDA, and one may open what another works with. */
inline int choose_device(const struct gpu *g)
{
    return static_cast<int>(cudaSetDevice(g->device));
}

template <class... P, class... A>
int launch(struct gpu *g, dim3 grid, dim3 block, size_t shared, void (*kernel)(P...), A... args)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = grid, c.blockDim = block, c.dynamicSmemBytes = shared, c.stream = g->stream;
    const int rc = choose_device(g);
    return rc ? rc : static_cast<int>(cudaLaunchKernelEx(&c, kernel, static_cast<P>(args)...));
}

__device__ __forceinline__ float half_of_bits(uint32_t bits)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
__device__ __forceinline__ float half_at(const uint8_t *p)
{
    return half_of_bits(*reinterpret_cast<const unsigned short *>(p));
}

/* 32 floats, one a lane of a warp whose lanes all take part, as integers: quant_act32()'s definition. */
struct lane_act {
    int q, ns, ns0; /* this lane's; -(sum of all), -(sum of the first 16) */
    float dx;
};
__device__ __forceinline__ lane_act quantised(float x)
{
    const bool odd = __any_sync(ALL_LANES, !(fabsf(x) < INFINITY));
    float top = fabsf(x);
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float o = __shfl_xor_sync(ALL_LANES, top, by);
        top = o > top ? o : top;
    }
    const bool none = odd || top < 0x1p-100f;
    const int q = none ? 0 : __float2int_rn(__fmul_rn(x, __fdiv_rn(127.0f, top)));
    int sum = q;
    for (int by = WARP / 4; by > 0; by /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, by);
    const int sum0 = __shfl_sync(ALL_LANES, sum, 0);
    sum += __shfl_xor_sync(ALL_LANES, sum, WARP / 2);
    return {q, -sum, -sum0, odd ? NAN : none ? 0.0f : __fdiv_rn(top, 127.0f)};
}
__device__ __forceinline__ void quantise32(float x, gpu_act *to)
{
    const unsigned lane = threadIdx.x % WARP;
    const lane_act a = quantised(x);
    to->q[lane] = static_cast<int8_t>(a.q);
    if (lane == 0) to->dx = a.dx, to->mdx = __fmul_rn(a.dx, __int2float_rn(a.ns)), to->ns = a.ns, to->ns0 = a.ns0;
}

/* c += a * b: 16 rows of bytes times 8 columns, with signs; lane 4 g + t has of a the dwords t (k = 4 t ..) of rows g
 * and g + 8, then t + 4 of both; of b the dwords t and t + 4 of column g; of c the columns 2 t and 2 t + 1 of row g,
 * then of row g + 8 (PTX: mma.m16n8k32).  Exact, so in whatever order. */
__device__ __forceinline__ void mma_32(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#ifdef CUDA_ON_CPU
    shim_mma(c, a, b, 2);
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* The same over 16 k: a: the dwords t of rows g and g + 8, b: that of column g (mma.m16n8k16). */
__device__ __forceinline__ void mma_16(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b)
{
#ifdef CUDA_ON_CPU
    const uint32_t a[4] = {a0, a1, 0, 0}, both[2] = {b, 0};
    shim_mma(c, a, both, 1);
#else
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(b));
#endif
}

/* Loads a kernel for the device that the thread has chosen: 0, or CUDA's code. */
template <class... P> int load(void (*kernel)(P...))
{
    cudaFuncAttributes a;
    return static_cast<int>(cudaFuncGetAttributes(&a, kernel));
}

/* All kernels of a file; then the table's functions, by file. */
int load_rows(void);
int load_mul(void);
int load_route(void);
int load_attn(void);
int load_sample(void);
int load_blas(void);
int load_delta(void);
int run_embed(struct gpu *g, int rows, const int32_t *token, const struct gpu_mat *table, float scale, float *x);
int run_norm(struct gpu *g, int rows, const int32_t *pick, int cols, const float *x, const float *norm, float eps,
             float *normed, struct gpu_act *act);
int run_norm_add(struct gpu *g, int rows, int cols, const float *x, const float *norm, float eps, float *y);
int run_quantise(struct gpu *g, int rows, int cols, const float *x, struct gpu_act *act);
int run_gate(struct gpu *g, size_t n, enum gpu_gate how, float *gate, const float *up, struct gpu_act *act);
int run_mul(struct gpu *g, const struct gpu_mul *m, int n);
int run_mul_mix(struct gpu *g, const struct gpu_mix *mix, bool placed, const struct gpu_mul *m, int n);
int run_heads(struct gpu *g, const struct gpu_heads *h);
int run_attn(struct gpu *g, const struct gpu_attn *a);
int run_delta(struct gpu *g, const struct gpu_delta *d);
int run_conv(struct gpu *g, const struct gpu_conv *c);
int run_let(struct gpu *g, size_t n, const float *gate, float *att);
int run_route(struct gpu *g, const struct gpu_mix *m);
int run_let_rows(struct gpu *g, int rows, int cols, const float *x, const float *w, float *let);
int run_mix(struct gpu *g, const struct gpu_mix *m, int cols, const float *y, const float *shared, const float *let,
            float *x);
int run_sample(struct gpu *g, const struct gpu_sample *s);
int run_blas(struct gpu *g, const struct gpu_mul *m, const struct gpu_room *r);
int blas_open(struct gpu *g);
void blas_close(struct gpu *g);
#endif
