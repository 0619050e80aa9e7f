/* cuda_runtime.h - the part of CUDA's runtime that kernels/cuda/ uses, on the host: the same .cu sources compile with a
 * C++ compiler that finds this header first.
 *
 * Kernels and copies wait in their stream until somebody waits for them, so that a host that reads too early, or
 * changes what a copy still has to take, gets wrong answers here as it would there.  (From pageable memory a copy to
 * the device takes its bytes at once, as CUDA says; from pinned memory it does not.)  Device memory ends where a page
 * does that nobody may touch, and is full of NaNs; with shim_device.apart the host cannot touch it at all, as it cannot
 * there.  shim_device.fail_at makes the N-th call of the runtime fail, alone or with all after it; what frees memory
 * frees it all the same, as CUDA does, and says so.  A device's context takes memory when a thread first chooses it,
 * and a kernel when it is loaded, by name or else at its first launch; both stay until the program ends.
 * One host thread at a time uses it. */
#ifndef CUDA_ON_CPU_RUNTIME_H
#define CUDA_ON_CPU_RUNTIME_H
#include "grid.h"
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#define CUDA_ON_CPU 1
#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

/* ----------------------------------------------------------------------- arithmetic */

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline int __float2int_rn(float a) { return static_cast<int>(lrintf(a)); }
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
inline long long __double_as_longlong(double d)
{
    long long i;
    memcpy(&i, &d, sizeof i);
    return i;
}
inline double __longlong_as_double(long long i)
{
    double d;
    memcpy(&d, &i, sizeof d);
    return d;
}
inline unsigned __float_as_uint(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof u);
    return u;
}
inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++) c += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
    return c;
}
/* Bytes of a, then b, by the lowest three bits of four nibbles. */
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which)
{
    const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
    unsigned all = 0;
    for (unsigned i = 0; i < 4; i++) all |= static_cast<unsigned>(both >> 8 * (which >> 4 * i & 7u) & 255u) << 8 * i;
    return all;
}
template <class T> T __ldg(const T *p) { return *p; }
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };

/* -------------------------------------------------------------------------- errors */

enum cudaError_t {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9, cudaErrorInsufficientDriver = 35, cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101, cudaErrorNoKernelImageForDevice = 209, cudaErrorSharedObjectInitFailed = 303,
    cudaErrorIllegalAddress = 700,
    cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600, cudaErrorLaunchFailure = 719, cudaErrorUnknown = 999
};

inline const char *cudaGetErrorName(cudaError_t e)
{
    switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInitializationError: return "cudaErrorInitializationError";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
    }
}
inline const char *cudaGetErrorString(cudaError_t e) { return e == cudaErrorMemoryAllocation ? "out of memory"
                                                            : e == cudaSuccess ? "no error" : "an error"; }

/* -------------------------------------------------------------------- the device */

struct shim_slab { size_t bytes, mapped; void *map; bool pinned, keyed; };
struct shim_device {
    int devices = 1, major = 9, minor = 0, version = 13000; /* version: the driver's */
    size_t memory = size_t(4) << 30;
    long fail_at = 0;                     /* the call from now that fails, from 1; 0: none */
    cudaError_t fail_as = cudaErrorUnknown;
    bool stay = false;                    /* all calls after it fail as well: the device is lost */
    bool failed = false;                  /* it has */
    size_t context = size_t(96) << 20, module = size_t(1) << 16; /* bytes that a context takes, and a kernel */
    bool apart = false;                   /* device memory is a page fault for the host */
    /* what happened */
    long calls = 0, takings = 0, launches = 0; /* takings: of memory, pinned memory, streams, events, kernels */
    long mallocs = 0;                          /* of memory alone */
    size_t taken = 0, pinned = 0, driver = 0;  /* bytes; driver: contexts and kernels */
    size_t fetched = 0;                        /* bytes that were copied to the host */
    int events = 0;
    std::set<int> contexts;
    std::set<const void *> kernels;
    std::map<const void *, shim_slab> slabs;
};
inline struct shim_device shim_device;

inline cudaError_t shim_call()
{
    struct shim_device &d = shim_device;
    d.calls++;
    if (d.fail_at <= 0) return cudaSuccess;
    if (d.fail_at > 1) {
        d.fail_at--;
        return cudaSuccess;
    }
    if (!d.stay) d.fail_at = 0;
    d.failed = true;
    return d.fail_as;
}
#define SHIM_CALL() \
    do { \
        cudaError_t shim_failed = shim_call(); \
        if (shim_failed) return shim_failed; \
    } while (0)

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount;
};

inline cudaError_t cudaGetDeviceCount(int *n)
{
    SHIM_CALL();
    if (shim_device.version < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
    *n = shim_device.devices;
    return *n ? cudaSuccess : cudaErrorNoDevice;
}
inline thread_local int shim_current; /* each host thread begins on device 0 */
inline cudaError_t cudaSetDevice(int i)
{
    SHIM_CALL();
    if (i < 0 || i >= shim_device.devices) return cudaErrorInvalidDevice;
    if (shim_device.contexts.insert(i).second) shim_device.driver += shim_device.context;
    shim_current = i;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetPCIBusId(char *id, int n, int device)
{
    SHIM_CALL();
    snprintf(id, static_cast<size_t>(n), "00000000:%02X:00.0", device);
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    SHIM_CALL();
    *p = {};
    snprintf(p->name, sizeof p->name, "a CPU");
    p->totalGlobalMem = shim_device.memory, p->sharedMemPerBlockOptin = 99 << 10;
    p->major = shim_device.major, p->minor = shim_device.minor, p->multiProcessorCount = 4;
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *v)
{
    SHIM_CALL();
    *v = shim_device.version;
    return cudaSuccess;
}
inline size_t shim_used() { return shim_device.taken + shim_device.driver; }
inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
    SHIM_CALL();
    *all = shim_device.memory;
    *free_bytes = shim_device.memory - shim_used();
    return cudaSuccess;
}

/* -------------------------------------------------------------------------- memory */

/* Memory of the device, for what runs there: by a protection key where the processor has them, which costs nothing. */
inline void shim_reach(bool may)
{
    static const int key = pkey_alloc(0, 0);
    struct shim_device &d = shim_device;
    if (!d.apart) return;
    for (auto &at : d.slabs) {
        shim_slab &s = at.second;
        if (s.pinned || s.keyed) continue;
        s.keyed = key >= 0 && !pkey_mprotect(s.map, s.mapped - 4096, PROT_READ | PROT_WRITE, key);
        if (!s.keyed) mprotect(s.map, s.mapped - 4096, may ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
    if (key >= 0) pkey_set(key, may ? 0 : PKEY_DISABLE_ACCESS);
}

inline cudaError_t shim_take(void **p, size_t bytes, bool pinned)
{
    struct shim_device &d = shim_device;
    const size_t size = (bytes + 255) / 256 * 256, mapped = (size + 4095) / 4096 * 4096 + 4096;
    if (!pinned && (bytes > d.memory || shim_used() + size > d.memory)) return cudaErrorMemoryAllocation;
    void *map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(static_cast<char *>(map) + mapped - 4096, 4096, PROT_NONE))
        return cudaErrorMemoryAllocation;
    /* Of another kind than what is before it, so that the system need not join and cut them each time that is closed
     * and opened: half of what that takes. */
    madvise(static_cast<char *>(map) + mapped - 4096, 4096, MADV_DONTDUMP);
    /* Large pages where the system has them, of which there are fewer to close and open. */
    madvise(map, mapped - 4096, MADV_HUGEPAGE);
    *p = static_cast<char *>(map) + mapped - 4096 - size;
    if (size <= size_t(64) << 20) memset(*p, 0xff, size);
    (pinned ? d.pinned : d.taken) += size;
    d.slabs[*p] = {size, mapped, map, pinned, false};
    shim_reach(false);
    return cudaSuccess;
}
inline cudaError_t shim_give(void *p, bool pinned)
{
    if (!p) return cudaSuccess;
    auto at = shim_device.slabs.find(p);
    if (at == shim_device.slabs.end() || at->second.pinned != pinned) return cudaErrorInvalidValue;
    (pinned ? shim_device.pinned : shim_device.taken) -= at->second.bytes;
    munmap(at->second.map, at->second.mapped);
    shim_device.slabs.erase(at);
    return cudaSuccess;
}
inline bool shim_is_pinned(const void *p)
{
    auto at = shim_device.slabs.upper_bound(p);
    if (at == shim_device.slabs.begin()) return false;
    --at;
    return at->second.pinned && static_cast<const char *>(p) < static_cast<const char *>(at->first) + at->second.bytes;
}

inline cudaError_t cudaMalloc(void **p, size_t bytes)
{
    shim_device.takings++;
    shim_device.mallocs++;
    SHIM_CALL();
    return shim_take(p, bytes, false);
}
inline cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    shim_device.takings++;
    SHIM_CALL();
    return shim_take(p, bytes, true);
}

/* ------------------------------------------------------------------ streams, events */

struct shim_stream {
    std::deque<std::function<void()>> todo;
    size_t begun = 0; /* of all that was ever put there */
    int device = shim_current;
};
typedef shim_stream *cudaStream_t;
struct shim_event { cudaStream_t in = nullptr; size_t behind = 0; }; /* it comes when so many have been done */
typedef shim_event *cudaEvent_t;
inline shim_stream shim_default;
inline std::vector<cudaStream_t> shim_streams;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

inline void shim_drain(cudaStream_t s, size_t until = SIZE_MAX)
{
    shim_stream *st = s ? s : &shim_default;
    if (st->todo.empty() || st->begun >= until) return;
    shim_reach(true);
    while (!st->todo.empty() && st->begun < until) {
        std::function<void()> f = std::move(st->todo.front());
        st->todo.pop_front();
        st->begun++;
        f();
    }
    shim_reach(false);
}
inline void shim_later(cudaStream_t s, std::function<void()> f)
{
    (s ? s : &shim_default)->todo.push_back(std::move(f));
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    shim_device.takings++;
    SHIM_CALL();
    *s = new shim_stream;
    shim_streams.push_back(*s);
    return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    shim_drain(s);
    for (size_t i = 0; i < shim_streams.size(); i++)
        if (shim_streams[i] == s) shim_streams.erase(shim_streams.begin() + static_cast<long>(i));
    delete s;
    SHIM_CALL();
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    shim_device.takings++;
    SHIM_CALL();
    *e = new shim_event;
    shim_device.events++;
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    shim_device.events--;
    delete e;
    SHIM_CALL();
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    SHIM_CALL();
    const shim_stream *st = s ? s : &shim_default;
    *e = {s, st->begun + st->todo.size()};
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    SHIM_CALL();
    if (e->behind) shim_drain(e->in, e->behind);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    SHIM_CALL();
    shim_drain(s);
    return cudaSuccess;
}
/* To free memory waits for all that may still use it. */
inline cudaError_t shim_free(void *p, bool pinned)
{
    shim_drain(nullptr);
    for (cudaStream_t s : shim_streams) shim_drain(s);
    const cudaError_t e = shim_give(p, pinned), failed = shim_call();
    return e ? e : failed;
}
inline cudaError_t cudaFree(void *p) { return shim_free(p, false); }
inline cudaError_t cudaFreeHost(void *p) { return shim_free(p, true); }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s)
{
    SHIM_CALL();
    if (kind == cudaMemcpyDeviceToHost) shim_device.fetched += n;
    if (kind == cudaMemcpyHostToDevice && !shim_is_pinned(from)) {
        std::vector<char> bytes(static_cast<const char *>(from), static_cast<const char *>(from) + n);
        shim_later(s, [to, bytes] { memcpy(to, bytes.data(), bytes.size()); });
    } else {
        shim_later(s, [=] { memcpy(to, from, n); });
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int v, size_t n, cudaStream_t s)
{
    SHIM_CALL();
    if (s && s->device != shim_current) return cudaErrorInvalidResourceHandle;
    shim_later(s, [=] { memset(to, v, n); });
    return cudaSuccess;
}

/* -------------------------------------------------------------------------- launches */

struct cudaFuncAttributes { int numRegs; };
inline void shim_load(const void *kernel)
{
    if (!shim_device.kernels.insert(kernel).second) return;
    shim_device.takings++;
    shim_device.driver += shim_device.module;
}
template <class... P> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, void (*kernel)(P...))
{
    SHIM_CALL();
    *a = {};
    if (shim_device.major < 8) return cudaErrorNoKernelImageForDevice;
    shim_load(reinterpret_cast<const void *>(kernel));
    return cudaSuccess;
}

enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeCooperative = 2 };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct { int cooperative; } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute *attrs = nullptr;
    unsigned numAttrs = 0;
};

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...a)
{
    const dim3 g = c->gridDim, b = c->blockDim;
    const size_t shared = c->dynamicSmemBytes;
    SHIM_CALL();
    if (!g.x || !g.y || !g.z || g.y > 65535 || g.z > 65535 || !b.x || !b.y || !b.z || b.x * b.y * b.z > 1024 ||
        shared > 48 * 1024)
        return cudaErrorInvalidConfiguration;
    if (c->stream && c->stream->device != shim_current) return cudaErrorInvalidResourceHandle;
    bool at_once = false;
    for (unsigned i = 0; i < c->numAttrs; i++)
        at_once |= c->attrs[i].id == cudaLaunchAttributeCooperative && c->attrs[i].val.cooperative;
    shim_device.launches++;
    shim_load(reinterpret_cast<const void *>(kernel));
    std::tuple<P...> args(static_cast<P>(a)...);
    shim_later(c->stream, [=] {
        grid::launch(g, b, shared, at_once, [&] { std::apply(kernel, args); });
    });
    return cudaSuccess;
}
#endif
