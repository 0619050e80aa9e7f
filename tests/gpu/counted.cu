/* counted.cu - CUDA's runtime between it and the kernels' object: counts what is taken, and fails when it is told to.
 *
 * Linked into a second object of the same kernels, for tests on a device, by the linker's --wrap of every function that
 * has a __wrap_ here.  It answers tests/cuda_on_cpu/shim.h there, so that tests written for the shim run unchanged. */
extern "C" {
#include "tests/cuda_on_cpu/shim.h"
}
#include <cuda_runtime.h>
#include <atomic>
#include <map>
#include <mutex>

namespace {

std::atomic<long> fail_at, mallocs;
std::atomic<int> fail_as, streams, arch{9}, devices{-1}, driver{-1}; /* devices, driver: -1 as they are */
std::atomic<bool> failed;
std::mutex lock;
std::map<const void *, size_t> taken[2]; /* device memory, pinned */

/* Is it this call that fails? */
bool fails()
{
    for (long at = fail_at; at > 0;)
        if (fail_at.compare_exchange_weak(at, at - 1)) {
            if (at == 1) failed = true;
            return at == 1;
        }
    return false;
}

cudaError_t keep(int pinned, void **p, size_t n, cudaError_t e)
{
    const std::lock_guard<std::mutex> hold(lock);
    if (!e) taken[pinned][*p] = (n + 255) / 256 * 256;
    return e;
}

void forget(int pinned, const void *p)
{
    const std::lock_guard<std::mutex> hold(lock);
    taken[pinned].erase(p);
}

size_t sum(int pinned)
{
    const std::lock_guard<std::mutex> hold(lock);
    size_t all = 0;
    for (const auto &t : taken[pinned]) all += t.second;
    return all;
}

} // namespace

/* A call that is counted: the real one, unless it fails. */
#define COUNTED(name, params, args)                                                   \
    cudaError_t __real_##name params;                                                 \
    cudaError_t __wrap_##name params                                                  \
    {                                                                                 \
        return fails() ? static_cast<cudaError_t>(fail_as.load()) : __real_##name args; \
    }

extern "C" {
COUNTED(cudaSetDevice, (int device), (device))
COUNTED(cudaGetDeviceProperties, (cudaDeviceProp * p, int device), (p, device))
COUNTED(cudaMemGetInfo, (size_t *free_bytes, size_t *all), (free_bytes, all))
COUNTED(cudaStreamSynchronize, (cudaStream_t s), (s))
COUNTED(cudaMemcpyAsync, (void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s),
        (to, from, n, kind, s))
COUNTED(cudaMemsetAsync, (void *to, int v, size_t n, cudaStream_t s), (to, v, n, s))
COUNTED(cudaLaunchKernelExC, (const cudaLaunchConfig_t *c, const void *kernel, void **args), (c, kernel, args))

cudaError_t __real_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
    mallocs++;
    return fails() ? static_cast<cudaError_t>(fail_as.load()) : keep(0, p, n, __real_cudaMalloc(p, n));
}

cudaError_t __real_cudaMallocHost(void **p, size_t n);
cudaError_t __wrap_cudaMallocHost(void **p, size_t n)
{
    return fails() ? static_cast<cudaError_t>(fail_as.load()) : keep(1, p, n, __real_cudaMallocHost(p, n));
}

cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p)
{
    forget(0, p);
    return __real_cudaFree(p);
}

cudaError_t __real_cudaFreeHost(void *p);
cudaError_t __wrap_cudaFreeHost(void *p)
{
    forget(1, p);
    return __real_cudaFreeHost(p);
}

cudaError_t __real_cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    if (fails()) return static_cast<cudaError_t>(fail_as.load());
    const cudaError_t e = __real_cudaStreamCreateWithFlags(s, flags);
    if (!e) streams++;
    return e;
}

cudaError_t __real_cudaStreamDestroy(cudaStream_t s);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t s)
{
    streams--;
    return __real_cudaStreamDestroy(s);
}

cudaError_t __real_cudaDriverGetVersion(int *v);
cudaError_t __wrap_cudaDriverGetVersion(int *v)
{
    if (fails()) return static_cast<cudaError_t>(fail_as.load());
    const cudaError_t e = __real_cudaDriverGetVersion(v);
    if (!e && driver >= 0) *v = driver;
    return e;
}

cudaError_t __real_cudaGetDeviceCount(int *n);
cudaError_t __wrap_cudaGetDeviceCount(int *n)
{
    if (fails()) return static_cast<cudaError_t>(fail_as.load());
    if (driver == 0) return cudaErrorInsufficientDriver;
    if (devices == 0) return cudaErrorNoDevice;
    const cudaError_t e = __real_cudaGetDeviceCount(n);
    if (!e && devices > 0) *n = devices;
    return e;
}

cudaError_t __real_cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel);
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel)
{
    if (fails()) return static_cast<cudaError_t>(fail_as.load());
    return arch < 8 ? cudaErrorNoKernelImageForDevice : __real_cudaFuncGetAttributes(a, kernel);
}
} // extern "C"

/* ------------------------------------------------------------------------ shim.h */

bool shim_made_up(void) { return false; }
void shim_machine(int n, int version) { devices = n, driver = version; }
void shim_arch(int major) { arch = major; }
void shim_order(int) {}
void shim_apart(void) {}

void shim_fail(long at, int code)
{
    failed = false, fail_as = code, fail_at = at;
}

bool shim_failed(void) { return failed; }
size_t shim_bytes(void) { return sum(0); }
size_t shim_kept(void) { return sum(1) + static_cast<size_t>(streams); }
long shim_mallocs(void) { return mallocs; }
