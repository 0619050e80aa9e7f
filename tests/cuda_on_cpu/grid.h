/* grid.h - a grid of blocks of threads on one processor: blocks one after the other (all at once where they wait for
 * each other), the threads of a block as fibres that take turns at barriers, shuffles and votes.
 *
 * What a GPU leaves open is varied: grid_order says in which order threads run between two barriers, and shared memory
 * is full of NaNs when a block begins.  What a GPU would hang or go wrong at ends the program with a line: a barrier
 * that not all threads reach, lanes that meet at different operations, shuffles from lanes that are not in the mask. */
#ifndef CUDA_ON_CPU_GRID_H
#define CUDA_ON_CPU_GRID_H
#include "fibre.h"
#include <cstring>
#include <emmintrin.h>
#include <functional>
#include <map>
#include <vector>

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace grid {

enum order { FORWARD, BACKWARD, MIXED };
inline order thread_order = FORWARD;

enum what { RUNS, AT_BLOCK, AT_GRID, AT_WARP, ENDED };

/* What lanes of a warp do together: all that meet must do the same. */
enum together { SYNC, EXCHANGE, VOTE, MATCH };

struct thread : fibres::fibre {
    uint3 at{};
    what state = ENDED;
    together op = SYNC;
    unsigned mask = 0;
    uint64_t gives = 0;
    uint32_t a[4] = {}, b[2] = {}; /* of a matrix product that its warp is at */
};

struct warp {
    uint64_t given[32]; /* by its lanes, when they met last */
};

struct block {
    uint3 at{};
    std::vector<thread> threads;
    std::vector<warp> warps;
    char *shared = nullptr;
};

inline std::vector<block> blocks; /* those that run: one, or a whole grid */
inline size_t shared_bytes;
inline thread *self;
inline block *mine;
inline const std::function<void()> *kernel;

[[noreturn]] inline void wrong(const block &b, const char *what)
{
    fprintf(stderr, "cuda_on_cpu: block (%u, %u, %u) of (%u, %u, %u): %s\n", b.at.x, b.at.y, b.at.z, gridDim.x,
            gridDim.y, gridDim.z, what);
    static const char *const names[] = {"run", "wait at __syncthreads", "wait for the grid", "wait for their warp",
                                        "have ended"};
    for (int state = RUNS; state <= ENDED; state++) {
        int n = 0;
        for (const thread &t : b.threads) n += t.state == state;
        if (n) fprintf(stderr, "cuda_on_cpu: %d threads %s\n", n, names[state]);
    }
    abort();
}

/* Gives up the processor until the scheduler has set RUNS again. */
inline void wait(what state)
{
    if (!self) fibres::die("a barrier outside of a kernel");
    self->state = state;
    fibres::leave(false);
}

inline void run_thread()
{
    (*kernel)();
    self->state = ENDED;
}

inline bool all_at(const block &b, what state)
{
    bool any = false;
    for (const thread &t : b.threads) {
        if (t.state != state && t.state != ENDED) return false;
        any |= t.state == state;
    }
    return any;
}

inline void let_go(block &b, what state)
{
    for (thread &t : b.threads)
        if (t.state == state) t.state = RUNS;
}

/* The lanes of the mask of thread i, once all of them are there; true: they have been let go, and read what they were
 * given before any of them meets others. */
inline bool meet(block &b, size_t i)
{
    const thread &t = b.threads[i];
    const size_t first = i / 32 * 32;
    for (size_t lane = 0; lane < 32; lane++) {
        if (!(t.mask >> lane & 1u)) continue;
        if (first + lane >= b.threads.size()) wrong(b, "a mask names lanes that the block does not have");
        const thread &o = b.threads[first + lane];
        if (o.state == ENDED) wrong(b, "lanes wait for one that has ended");
        if (o.state != AT_WARP) return false;
        if (o.mask != t.mask || o.op != t.op) wrong(b, "lanes of one warp meet at different operations");
    }
    for (size_t lane = 0; lane < 32; lane++) {
        if (!(t.mask >> lane & 1u)) continue;
        thread &o = b.threads[first + lane];
        b.warps[first / 32].given[lane] = o.gives;
        o.state = RUNS;
    }
    return true;
}

inline void run(block &b, thread &t)
{
    self = &t;
    mine = &b;
    threadIdx = t.at;
    blockIdx = b.at;
    fibres::enter(&t);
    self = nullptr;
}

/* Thread i runs, if it can, until it waits or ends; returns whether it could. */
inline bool run_if(block &b, size_t i)
{
    if (b.threads[i].state != RUNS) return false;
    run(b, b.threads[i]);
    return true;
}

/* The threads from `first` to before `end`, whole warps: those that wait for their warp go on if all of it is there. */
inline bool meet_all(block &b, size_t first, size_t end)
{
    bool any = false;
    for (size_t i = first; i < end; i++)
        if (b.threads[i].state == AT_WARP && meet(b, i)) any = true;
    return any;
}

/* A warp until it has ended or waits for more than itself; returns whether any of its threads could run. */
inline bool run_warp(block &b, size_t first)
{
    const size_t end = first + 32 < b.threads.size() ? first + 32 : b.threads.size();
    bool any = false;
    do
        for (size_t i = first; i < end; i++) any |= run_if(b, thread_order == FORWARD ? i : end - 1 - (i - first));
    while (meet_all(b, first, end));
    return any;
}

/* Every thread that can run does so until it waits or ends; returns whether any could.  Forward and backward a warp
 * goes as far as it can by itself, mixed they all go on together. */
inline bool sweep(block &b)
{
    bool any = false;
    const size_t n = b.threads.size(), warps = b.warps.size();
    if (thread_order != MIXED) {
        for (size_t i = 0; i < warps; i++) any |= run_warp(b, 32 * (thread_order == FORWARD ? i : warps - 1 - i));
    } else {
        static size_t turn;
        turn++;
        for (size_t i = 0; i < n; i++) any |= run_if(b, n % 7 == 0 ? n - 1 - i : (i * 7 + turn * 13) % n);
        any |= meet_all(b, 0, n);
    }
    if (all_at(b, AT_BLOCK)) let_go(b, AT_BLOCK), any = true;
    return any;
}

inline bool ended(const block &b)
{
    for (const thread &t : b.threads)
        if (t.state != ENDED) return false;
    return true;
}

/* What blocks have left for the next that wants as much. */
inline std::multimap<size_t, char *> shared_left;

/* Shared memory ends where a page does that nobody may touch, and is full of NaNs. */
inline void take_shared(block &b)
{
    const size_t pages = (shared_bytes + 4095) / 4096 * 4096;
    if (!shared_bytes) return;
    auto left = b.shared ? shared_left.end() : shared_left.find(shared_bytes);
    if (left != shared_left.end()) {
        b.shared = left->second;
        shared_left.erase(left);
    } else if (!b.shared) {
        void *p = mmap(nullptr, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(static_cast<char *>(p) + pages, 4096, PROT_NONE))
            fibres::die("no memory for shared memory");
        b.shared = static_cast<char *>(p) + pages - shared_bytes;
    }
    memset(b.shared, 0xff, shared_bytes);
}

inline void give_shared(block &b)
{
    if (b.shared) shared_left.insert({shared_bytes, b.shared});
    b.shared = nullptr;
}

inline void begin(block &b, unsigned number)
{
    const unsigned n = blockDim.x * blockDim.y * blockDim.z;
    b.at = {number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y};
    if (b.threads.size() < n) b.threads.resize(n);
    while (b.threads.size() > n) {
        fibres::give_stack(&b.threads.back());
        b.threads.pop_back();
    }
    b.warps.resize((n + 31) / 32);
    for (unsigned i = 0; i < n; i++) {
        thread &t = b.threads[i];
        t.at = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        t.state = RUNS;
        fibres::prepare(&t);
    }
    take_shared(b);
}

/* All blocks of a grid; together: at once, since they wait for each other. */
inline void launch(dim3 g, dim3 b, size_t shared, bool at_once, const std::function<void()> &f)
{
    gridDim = g, blockDim = b, shared_bytes = shared;
    kernel = &f;
    fibres::body = run_thread;
    const unsigned all = g.x * g.y * g.z, n = at_once ? all : 1;
    if (blocks.size() < n) blocks.resize(n);
    for (unsigned first = 0; first < all; first += n) {
        for (unsigned i = 0; i < n; i++) begin(blocks[i], first + i);
        for (bool more = true; more;) {
            bool any = false, waiting = true;
            more = false;
            for (unsigned i = 0; i < n; i++) {
                any |= sweep(blocks[i]);
                waiting &= all_at(blocks[i], AT_GRID) || ended(blocks[i]);
                more |= !ended(blocks[i]);
            }
            for (unsigned i = 0; i < n && waiting; i++) let_go(blocks[i], AT_GRID), any = true;
            if (more && !any) wrong(blocks[0], "its threads wait for each other, and none can go on");
        }
    }
    for (unsigned i = 0; i < n; i++) give_shared(blocks[i]);
}

/* All lanes of mask give a value and get those of all, to be read at once. */
inline const uint64_t *together(unsigned mask, enum together op, uint64_t gives)
{
    const size_t at = static_cast<size_t>(self - mine->threads.data()), lane = at % 32;
    if (!(mask >> lane & 1u)) wrong(*mine, "a lane is not in the mask it gives");
    self->mask = mask, self->op = op, self->gives = gives;
    wait(AT_WARP);
    return mine->warps[at / 32].given;
}

template <class T> uint64_t bits_of(T v)
{
    static_assert(sizeof(T) <= 8, "lanes exchange 8 bytes at most");
    uint64_t u = 0;
    memcpy(&u, &v, sizeof v);
    return u;
}

/* What lane `from` of the mask gave. */
template <class T> T exchange(unsigned mask, T v, unsigned from)
{
    const uint64_t *all = together(mask, EXCHANGE, bits_of(v));
    T got;
    if (!(mask >> from & 1u)) wrong(*mine, "a shuffle reads a lane that is not in the mask");
    memcpy(&got, &all[from], sizeof got);
    return got;
}

inline unsigned lane_id() { return static_cast<unsigned>(self - mine->threads.data()) % 32; }

} // namespace grid

/* -------------------------------------------------------- what kernels may call */

inline void __syncthreads() { grid::wait(grid::AT_BLOCK); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { grid::together(mask, grid::SYNC, 0); }
inline void __threadfence() {}

template <class T> T __shfl_sync(unsigned mask, T v, int from) { return grid::exchange(mask, v, unsigned(from) % 32); }
template <class T> T __shfl_xor_sync(unsigned mask, T v, int x)
{
    return grid::exchange(mask, v, (grid::lane_id() ^ unsigned(x)) % 32);
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned by)
{
    const unsigned lane = grid::lane_id();
    return grid::exchange(mask, v, lane + by < 32 ? lane + by : lane);
}

inline unsigned __ballot_sync(unsigned mask, int yes)
{
    const uint64_t *all = grid::together(mask, grid::VOTE, yes != 0);
    unsigned set = 0;
    for (unsigned i = 0; i < 32; i++) set |= unsigned(mask >> i & 1u && all[i]) << i;
    return set;
}
template <class T> unsigned __match_any_sync(unsigned mask, T v)
{
    const uint64_t *all = grid::together(mask, grid::MATCH, grid::bits_of(v));
    unsigned same = 0;
    for (unsigned i = 0; i < 32; i++) same |= unsigned(mask >> i & 1u && all[i] == grid::bits_of(v)) << i;
    return same;
}
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) == mask; }

/* The sum of the products of 16 signed bytes. */
inline int shim_dot(__m128i a, __m128i b)
{
    const __m128i low = _mm_madd_epi16(_mm_srai_epi16(_mm_unpacklo_epi8(a, a), 8),
                                       _mm_srai_epi16(_mm_unpacklo_epi8(b, b), 8));
    const __m128i high = _mm_madd_epi16(_mm_srai_epi16(_mm_unpackhi_epi8(a, a), 8),
                                        _mm_srai_epi16(_mm_unpackhi_epi8(b, b), 8));
    const __m128i four = _mm_add_epi32(low, high), two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(two) + _mm_cvtsi128_si32(_mm_srli_epi64(two, 32));
}

/* A warp's product of 16 rows and 8 columns of signed bytes, of 16 k (halves = 1) or 32 (2), by PTX's picture of who has
 * what (mma.m16n8k16, .m16n8k32; s8). */
inline void shim_mma(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int halves)
{
    const unsigned lane = grid::lane_id();
    memcpy(grid::self->a, a, sizeof a);
    memcpy(grid::self->b, b, sizeof b);
    __syncwarp();
    const grid::thread *warp = grid::self - lane;
    for (int half = 0; half < halves; half++)
        for (unsigned i = 0; i < 4; i++) {
            const grid::thread *row = warp + lane / 4 * 4, *column = warp + (2 * (lane % 4) + i % 2) * 4;
            const unsigned at = 2 * static_cast<unsigned>(half) + i / 2;
            c[i] += shim_dot(_mm_setr_epi32(int(row[0].a[at]), int(row[1].a[at]), int(row[2].a[at]), int(row[3].a[at])),
                             _mm_setr_epi32(int(column[0].b[half]), int(column[1].b[half]), int(column[2].b[half]),
                                            int(column[3].b[half])));
        }
    __syncwarp();
}

/* One thread runs at a time, so a plain read and write is atomic. */
template <class T> T atomicAdd(T *p, T v)
{
    T was = *p;
    *p = was + v;
    return was;
}
template <class T> T atomicMax(T *p, T v)
{
    T was = *p;
    if (v > was) *p = v;
    return was;
}
template <class T> T atomicCAS(T *p, T expected, T v)
{
    T was = *p;
    if (was == expected) *p = v;
    return was;
}

/* Memory of the block, as many bytes as the launch asked for. */
inline unsigned char *shim_shared() { return reinterpret_cast<unsigned char *>(grid::mine->shared); }
inline void shim_grid_sync() { grid::wait(grid::AT_GRID); }
#endif
