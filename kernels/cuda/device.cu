/* device.cu - opening a device, its memory, copies, and the table that the object exports. */
#include "kernels/cuda/device.h"
#include <cstdio>
#include <cstring>
#include <new>

static const char *say(int code)
{
    static thread_local char text[160]; /* memory() may fail in any thread */
    const cudaError_t e = static_cast<cudaError_t>(code);
    snprintf(text, sizeof text, "%s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
    return text;
}

/* Without a driver its version is 0, and that is no error: there is none to ask for devices. */
static int devices(int *n, int *driver)
{
    *n = 0;
    cudaError_t e = cudaDriverGetVersion(driver);
    if (!e && *driver > 0) e = cudaGetDeviceCount(n);
    return static_cast<int>(e);
}

static void close_gpu(struct gpu *g)
{
    if (!g) return;
    if (g->stream) cudaStreamDestroy(g->stream);
    if (g->staging) cudaFreeHost(g->staging);
    delete g;
}

static int open_gpu(int device, struct gpu **out, struct gpu_info *info)
{
    cudaDeviceProp p;
    struct gpu *g = new (std::nothrow) gpu();
    if (!g) return static_cast<int>(cudaErrorMemoryAllocation);
    g->device = device;
    cudaError_t e = cudaSetDevice(device);
    if (!e) e = cudaGetDeviceProperties(&p, device);
    if (!e) e = cudaDriverGetVersion(&info->driver);
    if (!e) e = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    if (!e) e = cudaMallocHost(&g->staging, GPU_STAGING);
    const int rc = e ? static_cast<int>(e) : have_kernels();
    if (rc) {
        close_gpu(g);
        return rc;
    }
    snprintf(info->name, sizeof info->name, "%s", p.name);
    info->major = p.major, info->minor = p.minor, info->units = p.multiProcessorCount;
    info->memory = p.totalGlobalMem;
    *out = g;
    return 0;
}

static int memory(struct gpu *g, size_t *free_bytes, size_t *all)
{
    const int rc = choose_device(g);
    return rc ? rc : static_cast<int>(cudaMemGetInfo(free_bytes, all));
}

static int finish(struct gpu *g)
{
    return static_cast<int>(cudaStreamSynchronize(g->stream));
}

static int take(struct gpu *g, size_t bytes, void **out)
{
    *out = nullptr;
    int rc = choose_device(g);
    if (rc) return rc;
    cudaError_t e = cudaMalloc(out, bytes);
    if (e) {
        cudaGetLastError(); /* the next call would report it again */
        return static_cast<int>(e);
    }
    e = cudaMemsetAsync(*out, 0, bytes, g->stream);
    rc = e ? static_cast<int>(e) : finish(g);
    if (rc) {
        cudaFree(*out);
        *out = nullptr;
    }
    return rc;
}

static void give(struct gpu *g, void *p)
{
    finish(g);
    cudaFree(p);
}

/* By way of pinned memory, which is free again when a piece has arrived. */
static int upload(struct gpu *g, void *to, const void *from, size_t n)
{
    for (size_t at = 0; at < n;) {
        const size_t some = n - at < GPU_STAGING ? n - at : GPU_STAGING;
        int rc = finish(g);
        if (rc) return rc;
        memcpy(g->staging, static_cast<const char *>(from) + at, some);
        rc = static_cast<int>(cudaMemcpyAsync(static_cast<char *>(to) + at, g->staging, some, cudaMemcpyHostToDevice,
                                              g->stream));
        if (rc) return rc;
        at += some;
    }
    return 0;
}

static int fetch(struct gpu *g, void *to, const void *from, size_t n)
{
    for (size_t at = 0; at < n;) {
        const size_t some = n - at < GPU_STAGING ? n - at : GPU_STAGING;
        int rc = static_cast<int>(cudaMemcpyAsync(g->staging, static_cast<const char *>(from) + at, some,
                                                  cudaMemcpyDeviceToHost, g->stream));
        if (!rc) rc = finish(g);
        if (rc) return rc;
        memcpy(static_cast<char *>(to) + at, g->staging, some);
        at += some;
    }
    return n ? 0 : finish(g);
}

extern "C" const struct gpu_face *plimsoll_gpu_face(void)
{
    static const struct gpu_face face = {GPU_FACE, say,  devices,   open_gpu, close_gpu,    memory,
                                         take,     give, upload,    fetch,    run_embed,    run_norm,
                                         run_quantise,   run_mul,   run_heads, run_attn,    run_gate};
    return &face;
}
