/* counted.cu - CUDA's runtime between it and the kernels' object: counts what is taken, and fails when it is told to.
 *
 * Linked into a second object of the same kernels, for tests on a device, by the linker's --wrap of every function that
 * has a __wrap_ here.  It answers tests/cuda_on_cpu/shim.h there, so that tests written for the shim run unchanged. */
extern "C" {
#include "tests/cuda_on_cpu/shim.h"
}
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace {

std::atomic<long> fail_at, takings, mallocs;
std::atomic<int> fail_as, streams, events, arch{9}, devices{-1}, driver{-1}; /* devices, driver: -1 as they are */
std::atomic<bool> failed, stay;
std::atomic<size_t> fetched;
std::mutex lock;
std::map<const void *, size_t> taken[2]; /* device memory, pinned */
std::set<const void *> kernels;          /* that are loaded */

/* Is it this call that fails?  (1 stays 1 where all do that come.) */
bool fails()
{
    for (long at = fail_at; at > 0;)
        if (fail_at.compare_exchange_weak(at, at == 1 && stay ? 1 : at - 1)) {
            if (at == 1) failed = true;
            return at == 1;
        }
    return false;
}

cudaError_t failure() { return static_cast<cudaError_t>(fail_as.load()); }

void load(const void *kernel)
{
    const std::lock_guard<std::mutex> hold(lock);
    if (kernels.insert(kernel).second) takings++;
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
#define COUNTED(name, params, args)                         \
    cudaError_t __real_##name params;                       \
    cudaError_t __wrap_##name params                        \
    {                                                       \
        return fails() ? failure() : __real_##name args;    \
    }

extern "C" {
COUNTED(cudaSetDevice, (int device), (device))
COUNTED(cudaDeviceGetPCIBusId, (char *id, int n, int device), (id, n, device))
COUNTED(cudaGetDeviceProperties, (cudaDeviceProp * p, int device), (p, device))
COUNTED(cudaMemGetInfo, (size_t *free_bytes, size_t *all), (free_bytes, all))
COUNTED(cudaStreamSynchronize, (cudaStream_t s), (s))
COUNTED(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s))
COUNTED(cudaEventSynchronize, (cudaEvent_t e), (e))
COUNTED(cudaMemsetAsync, (void *to, int v, size_t n, cudaStream_t s), (to, v, n, s))

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s)
{
    if (fails()) return failure();
    if (kind == cudaMemcpyDeviceToHost) fetched += n;
    return __real_cudaMemcpyAsync(to, from, n, kind, s);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel, void **args);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel, void **args)
{
    if (fails()) return failure();
    load(kernel);
    return __real_cudaLaunchKernelExC(c, kernel, args);
}

cudaError_t __real_cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel);
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel)
{
    if (fails()) return failure();
    if (arch < 8) return cudaErrorNoKernelImageForDevice;
    load(kernel);
    return __real_cudaFuncGetAttributes(a, kernel);
}

cudaError_t __real_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
    takings++;
    mallocs++;
    return fails() ? failure() : keep(0, p, n, __real_cudaMalloc(p, n));
}

cudaError_t __real_cudaMallocHost(void **p, size_t n);
cudaError_t __wrap_cudaMallocHost(void **p, size_t n)
{
    takings++;
    return fails() ? failure() : keep(1, p, n, __real_cudaMallocHost(p, n));
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
    takings++;
    if (fails()) return failure();
    const cudaError_t e = __real_cudaStreamCreateWithFlags(s, flags);
    if (!e) streams++;
    return e;
}

cudaError_t __real_cudaStreamDestroy(cudaStream_t s);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t s)
{
    streams--;
    const cudaError_t e = __real_cudaStreamDestroy(s);
    return fails() ? failure() : e;
}

cudaError_t __real_cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags);
cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags)
{
    takings++;
    if (fails()) return failure();
    const cudaError_t e = __real_cudaEventCreateWithFlags(made, flags);
    if (!e) events++;
    return e;
}

cudaError_t __real_cudaEventDestroy(cudaEvent_t gone);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t gone)
{
    events--;
    const cudaError_t e = __real_cudaEventDestroy(gone);
    return fails() ? failure() : e;
}

cudaError_t __real_cudaDriverGetVersion(int *v);
cudaError_t __wrap_cudaDriverGetVersion(int *v)
{
    if (fails()) return failure();
    const cudaError_t e = __real_cudaDriverGetVersion(v);
    if (!e && driver >= 0) *v = driver;
    return e;
}

cudaError_t __real_cudaGetDeviceCount(int *n);
cudaError_t __wrap_cudaGetDeviceCount(int *n)
{
    if (fails()) return failure();
    if (driver >= 0 && driver < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
    if (devices == 0) return cudaErrorNoDevice;
    const cudaError_t e = __real_cudaGetDeviceCount(n);
    if (!e && devices > 0) *n = devices;
    return e;
}
} // extern "C"

/* ------------------------------------------------------------------------ cuBLASLt */

/* The kernels' object looks its functions up: what makes or gives back something, or multiplies, it finds here. */
namespace {

std::atomic<bool> blas_there{true};
std::atomic<long> blas_calls, blas_objects;
enum { BLAS_NAMES = 9 };
void *found[BLAS_NAMES];

template <int I, int OBJECTS, int CALLS, class R, class... P> R through(P... p)
{
    const R r = reinterpret_cast<R (*)(P...)>(found[I])(p...);
    if (r == CUBLAS_STATUS_SUCCESS) blas_objects += OBJECTS, blas_calls += CALLS;
    return r;
}
template <int I, int OBJECTS, int CALLS, class R, class... P> void *instead(R (*)(P...))
{
    return reinterpret_cast<void *>(&through<I, OBJECTS, CALLS, R, P...>);
}
#define INSTEAD(i, objects, calls, name) {#name, instead<i, objects, calls>(static_cast<decltype(&name)>(nullptr))}

const struct { const char *name; void *call; } instead_of[BLAS_NAMES] = {
    INSTEAD(0, 1, 0, cublasLtCreate), INSTEAD(1, -1, 0, cublasLtDestroy),
    INSTEAD(2, 1, 0, cublasLtMatmulDescCreate), INSTEAD(3, -1, 0, cublasLtMatmulDescDestroy),
    INSTEAD(4, 1, 0, cublasLtMatrixLayoutCreate), INSTEAD(5, -1, 0, cublasLtMatrixLayoutDestroy),
    INSTEAD(6, 1, 0, cublasLtMatmulPreferenceCreate), INSTEAD(7, -1, 0, cublasLtMatmulPreferenceDestroy),
    INSTEAD(8, 0, 1, cublasLtMatmul)};

} // namespace

extern "C" {
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name)
{
    if (strncmp(name, "cublasLt", 8) != 0) return __real_dlsym(handle, name);
    void *there = blas_there ? __real_dlsym(handle, name) : nullptr;
    for (int i = 0; i < BLAS_NAMES; i++)
        if (there && strcmp(name, instead_of[i].name) == 0) found[i] = there, there = instead_of[i].call;
    return there;
}
}

/* ------------------------------------------------------------------------ shim.h */

bool shim_made_up(void) { return false; }
void shim_machine(int n, int version) { devices = n, driver = version; }
void shim_arch(int major) { arch = major; }
void shim_order(int) {}
void shim_apart(void) {}

void shim_memory(size_t) {}
void shim_management(bool) {}
void shim_taken_of(int, size_t) {}

void shim_fail(long at, int code)
{
    fail_at = 0, stay = false, failed = false, fail_as = code, fail_at = at;
}

void shim_lose(long at, int code)
{
    fail_at = 0, stay = true, failed = false, fail_as = code, fail_at = at;
}

/* Of a device that is in use: nobody who wants to know it before that is among the tests. */
bool shim_free_of(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    size_t f = 0, a = 0;
    int was = 0, device = 0;
    const bool said = !cudaGetDevice(&was) && !cudaDeviceGetByPCIBusId(&device, bus) &&
                      !__real_cudaSetDevice(device) && !__real_cudaMemGetInfo(&f, &a);
    __real_cudaSetDevice(was);
    *free_bytes = f, *all = a;
    return said;
}

bool shim_failed(void) { return failed; }
size_t shim_bytes(void) { return sum(0); }
size_t shim_kept(void) { return sum(1) + static_cast<size_t>(streams + events); }
size_t shim_fetched(void) { return fetched; }
size_t shim_driver(void) { return 0; } /* only the device knows */
void shim_blas_there(bool yes) { blas_there = yes; }
long shim_blas_calls(void) { return blas_calls; }
long shim_blas_objects(void) { return blas_objects; }
long shim_takings(void) { return takings; }
long shim_slabs(void) { return mallocs; }
