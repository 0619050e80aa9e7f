/* probe.cu - a kernel that copies: the bandwidth that decoding can have at most. */
extern "C" {
#include "tests/gpu/probe.h"
}
#include <cuda_runtime.h>
#include <ctime>

enum { THREADS = 256, BLOCKS = 4096 };

/* Grid-wide, 16 bytes a thread and step. */
__global__ void copy_kernel(size_t n, const float4 *from, float4 *to)
{
    const size_t step = static_cast<size_t>(gridDim.x) * THREADS;
    for (size_t i = static_cast<size_t>(blockIdx.x) * THREADS + threadIdx.x; i < n; i += step) to[i] = from[i];
}

static double now(void)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/* Four copies at once, so that what starts them counts little; seconds of one. */
static cudaError_t copies(cudaStream_t s, size_t n, const float4 *from, float4 *to, double *seconds)
{
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3(BLOCKS), c.blockDim = dim3(THREADS), c.stream = s;
    const double start = now();
    cudaError_t e = cudaSuccess;
    for (int i = 0; i < 4 && !e; i++) e = cudaLaunchKernelEx(&c, copy_kernel, n, from, to);
    if (!e) e = cudaStreamSynchronize(s);
    *seconds = (now() - start) / 4;
    return e;
}

int gpu_probe(size_t bytes, int rounds, double *gb_per_s)
{
    const size_t n = bytes / sizeof(float4);
    void *from = nullptr, *to = nullptr;
    cudaStream_t s = nullptr;
    double best = 0, seconds;
    cudaError_t e = cudaMalloc(&from, n * sizeof(float4));
    if (!e) e = cudaMalloc(&to, n * sizeof(float4));
    if (!e) e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    if (!e) e = cudaMemsetAsync(from, 1, n * sizeof(float4), s);
    for (int i = 0; i <= rounds && !e; i++) { /* the first is to warm up */
        e = copies(s, n, static_cast<const float4 *>(from), static_cast<float4 *>(to), &seconds);
        if (i > 0 && (best == 0 || seconds < best)) best = seconds;
    }
    if (s) cudaStreamDestroy(s);
    cudaFree(from);
    cudaFree(to);
    if (!e) *gb_per_s = 2.0 * static_cast<double>(n * sizeof(float4)) / best / 1e9;
    return static_cast<int>(e);
}
