/* device.cu - opening a device, its memory, copies, and the table that the object exports. */
#include "kernels/cuda/device.h"
#include <cstdio>
#include <cstring>

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
    choose_device(g);
    blas_close(g);
    for (cudaEvent_t e : g->taken)
        if (e) cudaEventDestroy(e);
    if (g->stream) cudaStreamDestroy(g->stream);
    if (g->staging) cudaFreeHost(g->staging);
    delete g;
}

static int memory(struct gpu *g, size_t *free_bytes, size_t *all)
{
    const int rc = choose_device(g);
    return rc ? rc : static_cast<int>(cudaMemGetInfo(free_bytes, all));
}

static int bus(int device, char id[32])
{
    return static_cast<int>(cudaDeviceGetPCIBusId(id, 32, device));
}

/* A kernel that is loaded at its first launch takes device memory then; all are loaded here. */
static int load_kernels()
{
    int rc = load_rows();
    if (!rc) rc = load_mul();
    if (!rc) rc = load_route();
    if (!rc) rc = load_delta();
    if (!rc) rc = load_attn();
    return rc ? rc : load_sample();
}

static int begin_device(struct gpu *g, struct gpu_info *info)
{
    cudaDeviceProp p;
    cudaError_t e = cudaSetDevice(g->device);
    if (!e) e = cudaGetDeviceProperties(&p, g->device);
    if (!e) e = cudaDriverGetVersion(&info->driver);
    if (e) return static_cast<int>(e);
    snprintf(info->name, sizeof info->name, "%s", p.name);
    info->major = p.major, info->minor = p.minor, info->units = p.multiProcessorCount;
    info->memory = p.totalGlobalMem;
    g->units = p.multiProcessorCount;
    e = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    if (!e) e = cudaMallocHost(&g->staging, GPU_STAGING);
    for (int i = 0; i < STAGES && !e; i++) e = cudaEventCreateWithFlags(&g->taken[i], cudaEventDisableTiming);
    return e ? static_cast<int>(e) : load_kernels();
}

static int open_gpu(int device, struct gpu **out, struct gpu_info *info)
{
    size_t before = 0, after = 0, all;
    struct gpu *g = new (std::nothrow) gpu();
    if (!g) return static_cast<int>(cudaErrorMemoryAllocation);
    g->device = device;
    int rc = memory(g, &before, &all);
    if (!rc) rc = begin_device(g, info);
    if (!rc) rc = memory(g, &after, &all);
    if (rc) {
        cudaGetLastError(); /* the next opening would report it again */
        close_gpu(g);
        return rc;
    }
    info->opening = before > after ? before - after : 0;
    *out = g;
    return 0;
}

static int finish(struct gpu *g)
{
    return static_cast<int>(cudaStreamSynchronize(g->stream));
}

/* An error that stays is reported by every call; one that was a call's own is forgotten here, and what the pass before
 * it has left under way is done: no copy still reads a piece of the staging whose event could not be set. */
static int alive(struct gpu *g)
{
    cudaGetLastError();
    const int rc = choose_device(g);
    return rc ? rc : finish(g);
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

/* By way of pinned memory, a piece of it after the other: only who wants to write where a copy may still read waits. */
static int upload(struct gpu *g, void *to, const void *from, size_t n)
{
    int rc = choose_device(g);
    for (size_t at = 0; at < n && !rc;) {
        const size_t some = n - at < STAGE ? n - at : STAGE;
        char *stage = static_cast<char *>(g->staging) + static_cast<size_t>(g->next) * STAGE;
        cudaError_t e = cudaEventSynchronize(g->taken[g->next]);
        if (!e) memcpy(stage, static_cast<const char *>(from) + at, some);
        if (!e) e = cudaMemcpyAsync(static_cast<char *>(to) + at, stage, some, cudaMemcpyHostToDevice, g->stream);
        if (!e) e = cudaEventRecord(g->taken[g->next], g->stream);
        rc = static_cast<int>(e);
        g->next = (g->next + 1) % STAGES;
        at += some;
    }
    return rc;
}

/* All that is under way may use the pinned memory: it is waited for first. */
static int fetch(struct gpu *g, void *to, const void *from, size_t n)
{
    int rc = finish(g);
    for (size_t at = 0; at < n && !rc;) {
        const size_t some = n - at < STAGES * STAGE ? n - at : STAGES * STAGE;
        rc = static_cast<int>(cudaMemcpyAsync(g->staging, static_cast<const char *>(from) + at, some,
                                                  cudaMemcpyDeviceToHost, g->stream));
        if (!rc) rc = finish(g);
        if (!rc) memcpy(static_cast<char *>(to) + at, g->staging, some);
        at += some;
    }
    return rc;
}

extern "C" const struct gpu_face *plimsoll_gpu_face(void)
{
    static const struct gpu_face face = {
        GPU_FACE, CUDART_VERSION, say,          devices,      bus,     open_gpu,  close_gpu, alive,    memory,
        take,     give,           upload,       fetch,        run_embed, run_norm, run_norm_add, run_quantise, run_mul,
        run_heads, run_attn,      run_gate,     run_delta,    run_conv,   run_let, run_route, run_mul_mix,
        run_let_rows, run_mix,    run_sample,   blas_open,    run_blas};
    return &face;
}
