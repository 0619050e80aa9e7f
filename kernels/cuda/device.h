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

enum { WARP = 32, STAGES = 4 };
constexpr size_t STAGE = size_t(GPU_STAGING) / STAGES;

struct gpu {
    int device;
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

__device__ __forceinline__ float half_at(const uint8_t *p)
{
    return __half2float(__ushort_as_half(*reinterpret_cast<const unsigned short *>(p)));
}

/* 32 floats to integers and their scale: quant_act32()'s definition. */
__device__ __forceinline__ void quantise32(const float *x, gpu_act *to)
{
    float top = 0;
    bool odd = false;
    for (int i = 0; i < 32; i++) {
        const float a = fabsf(x[i]);
        odd |= !(a < INFINITY);
        top = a > top ? a : top;
    }
    const bool none = odd || top < 0x1p-100f;
    const float id = none ? 0.0f : __fdiv_rn(127.0f, top), dx = none ? 0.0f : __fdiv_rn(top, 127.0f);
    int sum0 = 0, sum1 = 0;
    for (int i = 0; i < 32; i++) {
        const int q = none ? 0 : __float2int_rn(__fmul_rn(x[i], id));
        to->q[i] = static_cast<int8_t>(q);
        (i < 16 ? sum0 : sum1) += q;
    }
    to->dx = odd ? NAN : dx;
    to->ns = -(sum0 + sum1);
    to->ns0 = -sum0;
    to->mdx = __fmul_rn(to->dx, __int2float_rn(to->ns));
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
int load_attn(void);
int load_sample(void);
int load_blas(void);
int run_embed(struct gpu *g, int rows, const int32_t *token, const struct gpu_mat *table, float scale, float *x);
int run_norm(struct gpu *g, int rows, const int32_t *pick, int cols, const float *x, const float *norm, float eps,
             float *normed, struct gpu_act *act);
int run_quantise(struct gpu *g, int rows, int cols, const float *x, struct gpu_act *act);
int run_gate(struct gpu *g, size_t n, bool gelu, float *gate, const float *up);
int run_mul(struct gpu *g, const struct gpu_mul *m);
int run_heads(struct gpu *g, const struct gpu_heads *h);
int run_attn(struct gpu *g, const struct gpu_attn *a);
int run_sample(struct gpu *g, const struct gpu_sample *s);
int run_blas(struct gpu *g, const struct gpu_mul *m, const struct gpu_room *r);
int blas_open(struct gpu *g);
void blas_close(struct gpu *g);
#endif
