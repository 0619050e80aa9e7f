/* probe.cu - small kernels that say whether the shim is what it says. */
extern "C" {
#include "tests/cuda_on_cpu/probe.h"
}
#include <cuda_runtime.h>

namespace {

/* Launches and waits. */
template <class... P, class... A> cudaError_t go(dim3 g, dim3 b, size_t shared, bool at_once, void (*k)(P...), A... a)
{
    cudaLaunchAttribute attr = {cudaLaunchAttributeCooperative, {1}};
    cudaLaunchConfig_t c;
    c.gridDim = g, c.blockDim = b, c.dynamicSmemBytes = shared;
    if (at_once) c.attrs = &attr, c.numAttrs = 1;
    cudaError_t e = cudaLaunchKernelEx(&c, k, static_cast<P>(a)...);
    return e ? e : cudaStreamSynchronize(nullptr);
}

struct slab {
    int *p = nullptr;
    explicit slab(size_t ints)
    {
        void *v = nullptr;
        if (cudaMalloc(&v, ints * sizeof(int))) abort();
        p = static_cast<int *>(v);
    }
    ~slab() { cudaFree(p); }
    slab(const slab &) = delete;
};

int *ints() { return reinterpret_cast<int *>(shim_shared()); }

__global__ void sum_by_halves(int *out)
{
    int *s = ints();
    s[threadIdx.x] = static_cast<int>(threadIdx.x + blockIdx.x);
    if (threadIdx.x >= 64 && threadIdx.x < 100) s[threadIdx.x - 64] += 0; /* some do more than others */
    for (unsigned half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && threadIdx.x + half < blockDim.x) s[threadIdx.x] += s[threadIdx.x + half];
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__global__ void no_barrier(int *out)
{
    int *s = ints();
    s[threadIdx.x] = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

__global__ void shuffles(int *wrong)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned all = 0xffffffffu;
    bool ok = __shfl_xor_sync(all, lane, 5) == (lane ^ 5);
    ok &= __shfl_sync(all, 100.0 + lane, 7) == 107.0;
    ok &= __shfl_down_sync(all, lane, 4) == (lane + 4 < 32 ? lane + 4 : lane);
    if (lane < 16) ok &= __shfl_xor_sync(0xffffu, lane, 8) == (lane ^ 8);
    else ok &= __shfl_xor_sync(0xffff0000u, lane * 3, 1) == (lane ^ 1) * 3;
    __syncwarp();
    if (!ok) atomicAdd(wrong, 1);
}

__global__ void votes(int *wrong)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned all = 0xffffffffu;
    bool ok = __ballot_sync(all, lane % 3 == 0) == 0x49249249u;
    ok &= __any_sync(all, lane == 31) && !__any_sync(all, lane == 32);
    ok &= __all_sync(all, lane >= 0) && !__all_sync(all, lane > 0);
    ok &= __match_any_sync(all, lane % 3) == 0x49249249u << lane % 3 && __popc(0x49249249u) == 11;
    if (!ok) atomicAdd(wrong, 1);
}

__global__ void count(int *n) { atomicAdd(n, 1); }

__global__ void relay(int *a, int *b)
{
    const unsigned n = gridDim.x, me = blockIdx.x;
    if (threadIdx.x == 0) a[me] = static_cast<int>(me * me);
    shim_grid_sync();
    if (threadIdx.x == 1) b[me] = a[n - 1 - me] + 1;
    shim_grid_sync();
    if (threadIdx.x == 0) a[me] = b[(me + 1) % n];
}

__global__ void read_unwritten(const float *global, int *wrong)
{
    const float shared = reinterpret_cast<float *>(shim_shared())[threadIdx.x];
    if (!(shared != shared) || !(global[threadIdx.x] != global[threadIdx.x])) atomicAdd(wrong, 1);
}

__global__ void add_one(int *p) { p[threadIdx.x] += 1; }
__global__ void half_wait()
{
    if (threadIdx.x < 16) __syncthreads();
    else __syncwarp(0xffff0000u), __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void some_leave()
{
    if (threadIdx.x < 3) return;
    __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void not_the_same()
{
    if (threadIdx.x % 2) __shfl_sync(0xffffffffu, 1, 0);
    else __ballot_sync(0xffffffffu, 1);
}
__global__ void write_at(char *p, size_t i) { p[i] = 1; }
__global__ void write_shared(size_t i) { reinterpret_cast<float *>(shim_shared())[i] = 1; }

/* A kernel's count of what was wrong. */
template <class K> int wrongs(K kernel, unsigned threads)
{
    slab wrong(1);
    *wrong.p = 0;
    if (go(dim3(2), dim3(threads), 0, false, kernel, wrong.p)) return -1;
    return *wrong.p ? -1 : 0;
}

} // namespace

int probe_barrier(void)
{
    slab out(3);
    if (go(dim3(3), dim3(100), 100 * sizeof(int), false, sum_by_halves, out.p)) return -1;
    for (int i = 0; i < 3; i++)
        if (out.p[i] != 100 * 99 / 2 + 100 * i) return -1;
    return 0;
}

int probe_shuffle(void) { return wrongs(shuffles, 96); }
int probe_vote(void) { return wrongs(votes, 64); }

int probe_atomic(void)
{
    slab n(1);
    *n.p = 0;
    return go(dim3(7, 3, 2), dim3(5, 4), 0, false, count, n.p) || *n.p != 7 * 3 * 2 * 20 ? -1 : 0;
}

int probe_grid(void)
{
    const int n = 5;
    slab a(n), b(n);
    if (go(dim3(n), dim3(33), 0, true, relay, a.p, b.p)) return -1;
    for (int i = 0; i < n; i++) {
        const int from = n - 1 - (i + 1) % n;
        if (a.p[i] != from * from + 1) return -1;
    }
    return 0;
}

int probe_order(void)
{
    const int n = 40;
    slab out(n);
    bool seen = false;
    const grid::order was = grid::thread_order;
    for (int order = 0; order < 3; order++) {
        grid::thread_order = static_cast<grid::order>(order);
        if (go(dim3(1), dim3(n), n * sizeof(int), false, no_barrier, out.p)) return -1;
        for (int i = 0; i < n; i++) seen |= out.p[i] != (i + 1) % n;
    }
    grid::thread_order = was;
    return seen ? 0 : -1;
}

int probe_poison(void)
{
    slab wrong(1), unwritten(20);
    *wrong.p = 0;
    const float *f = reinterpret_cast<const float *>(unwritten.p);
    return go(dim3(2), dim3(20), 20 * sizeof(float), false, read_unwritten, f, wrong.p) || *wrong.p ? -1 : 0;
}

int probe_later(void)
{
    cudaStream_t s;
    cudaLaunchConfig_t c;
    void *pinned = nullptr;
    int pageable[4] = {1, 2, 3, 4}, back[4] = {0, 0, 0, 0};
    slab a(4), b(4);
    if (cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) || cudaMallocHost(&pinned, 16)) return -1;
    memcpy(pinned, pageable, 16);
    c.gridDim = dim3(1), c.blockDim = dim3(4), c.stream = s;
    bool ok = !cudaMemcpyAsync(a.p, pageable, 16, cudaMemcpyHostToDevice, s) &&
              !cudaMemcpyAsync(b.p, pinned, 16, cudaMemcpyHostToDevice, s) && !cudaLaunchKernelEx(&c, add_one, a.p) &&
              !cudaMemcpyAsync(back, a.p, 16, cudaMemcpyDeviceToHost, s);
    pageable[0] = 50, static_cast<int *>(pinned)[0] = 60;
    ok &= back[0] == 0;
    ok &= !cudaStreamSynchronize(s) && back[0] == 2 && back[3] == 5 && b.p[0] == 60 && b.p[3] == 4;
    cudaStreamDestroy(s);
    cudaFreeHost(pinned);
    return ok ? 0 : -1;
}

int probe_limits(void)
{
    int *none = nullptr;
    const bool refused = go(dim3(1), dim3(1025), 0, false, add_one, none) &&
                         go(dim3(0), dim3(1), 0, false, add_one, none) &&
                         go(dim3(1, 65536), dim3(1), 0, false, add_one, none) &&
                         go(dim3(1), dim3(1), 49 * 1024, false, add_one, none);
    return refused ? 0 : -1;
}

void probe_half_barrier(void) { go(dim3(1), dim3(32), 0, false, half_wait); }
void probe_lost_lane(void) { go(dim3(1), dim3(32), 0, false, some_leave); }
void probe_mixed(void) { go(dim3(1), dim3(32), 0, false, not_the_same); }
void probe_past_end(void)
{
    slab a(64);
    go(dim3(1), dim3(1), 0, false, write_at, reinterpret_cast<char *>(a.p), size_t(256));
}
void probe_past_shared(void) { go(dim3(1), dim3(1), 40, false, write_shared, size_t(10)); }
void probe_from_host(void)
{
    shim_device.apart = true;
    slab a(4);
    if (go(dim3(1), dim3(4), 0, false, add_one, a.p)) return; /* what runs there may */
    a.p[0] = 1;
}
