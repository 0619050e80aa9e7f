/* route.cu - a mixture of experts but for its products (mul.cu): which experts a row goes through, in which order the
 * products take the rows, and the sum of what comes of them.
 *
 *     route     kern_route()'s choice, figure for figure            a warp a row
 *     sort      places by expert, and the table of tiles            one block
 *     let       how much of a shared expert is let through          a warp a row
 *     add       x += weight * y, of a row's experts one by one      a thread a value
 *
 * Where a row's places are depends on the rows beside it; what is in them does not. */
#include "kernels/cuda/device.h"
#include <climits>

enum { ADD_THREADS = GPU_BLOCK(128), ROUTE_WARPS = GPU_BLOCK(4), SORT_WARPS = GPU_BLOCK(8), EACH = GPU_EXPERTS / WARP };
static_assert(int(EACH) * WARP == GPU_EXPERTS && int(GPU_USED) <= WARP, "a lane has EACH experts, and one chosen");
static_assert((SORT_WARPS + 1) * GPU_EXPERTS * sizeof(int) <= 48 << 10, "a block has no more memory unless it asks");

__device__ __forceinline__ unsigned before(int lane) { return (1u << lane) - 1; }

/* ---------------------------------------------------------------------------- choosing */

/* In the order of floats, 0 and -0 the same; below all of them what is none. */
__device__ __forceinline__ int order_of(float v)
{
    const int bits = static_cast<int>(__float_as_uint(__fadd_rn(v, 0.0f)));
    return v != v ? INT_MIN : bits < 0 ? bits ^ INT_MAX : bits;
}

/* The largest of a row's logits that is not taken, of equals the first; lane l has those of experts l, l + 32, ... */
__device__ int best_of(const int (&order)[EACH], unsigned taken, int n, int lane)
{
    long long best = LLONG_MIN;
    for (int k = 0; k < EACH; k++) {
        const int i = lane + k * WARP;
        const long long own = static_cast<long long>(order[k]) * (1ll << 32) + (GPU_EXPERTS - i);
        if (i < n && !(taken >> k & 1u) && own > best) best = own;
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const long long other = __shfl_xor_sync(ALL_LANES, best, by);
        best = other > best ? other : best;
    }
    return GPU_EXPERTS - static_cast<int>(best & INT_MAX);
}

/* The chosen experts in rising order; lane l's of them are the bits of taken. */
__device__ void put_experts(unsigned taken, int lane, int32_t *expert)
{
    int n = 0;
    for (int k = 0; k < EACH; k++) {
        const bool mine = taken >> k & 1u;
        const unsigned all = __ballot_sync(ALL_LANES, mine);
        if (mine) expert[n + __popc(all & before(lane))] = lane + k * WARP;
        n += __popc(all);
    }
    __syncwarp();
}

/* grid (rows by ROUTE_WARPS), block (32, ROUTE_WARPS). */
__global__ void route_kernel(gpu_mix m)
{
    const int lane = static_cast<int>(threadIdx.x), n = m.n, used = m.used;
    const int row = static_cast<int>(blockIdx.x) * ROUTE_WARPS + static_cast<int>(threadIdx.y);
    if (row >= m.rows) return;
    const float *logits = m.dev_logits + static_cast<size_t>(row) * static_cast<size_t>(n);
    int32_t *expert = m.dev_expert + row * used;
    int order[EACH], low = 0; /* low: the first that is not taken; where that is no number no other is larger */
    unsigned taken = 0;
    float top = 0;
    double sum = 0;
    for (int k = 0; k < EACH; k++) order[k] = lane + k * WARP < n ? order_of(logits[lane + k * WARP]) : 0;
    for (int i = 0; i < used; i++) {
        const int best = logits[low] != logits[low] ? low : best_of(order, taken, n, lane);
        if (i == 0) top = logits[best];
        if (lane == best % WARP) taken |= 1u << best / WARP;
        while (low < n && __shfl_sync(ALL_LANES, taken, low % WARP) >> low / WARP & 1u) low++;
    }
    put_experts(taken, lane, expert);
    const double own = lane < used ? exp(static_cast<double>(logits[expert[lane]]) - static_cast<double>(top)) : 0;
    double mine = own;
    for (int i = lane; m.of_all && i < n; i += WARP)
        mine = (i < WARP ? 0 : mine) + exp(static_cast<double>(logits[i]) - static_cast<double>(top));
    for (int i = 0; i < (m.of_all ? WARP : used); i++) sum += __shfl_sync(ALL_LANES, mine, i);
    if (lane < used) m.dev_weight[row * used + lane] = static_cast<float>(own / sum);
}

/* ----------------------------------------------------------------------------- sorting */

/* What of all rows' experts, in order, is a warp's. */
struct share {
    int from, to;
};
__device__ __forceinline__ share share_of(const gpu_mix &m, int warp)
{
    const int all = m.rows * m.used, each = (all + SORT_WARPS * WARP - 1) / (SORT_WARPS * WARP) * WARP;
    const int from = warp * each < all ? warp * each : all;
    return {from, all - from < each ? all : from + each};
}

/* Calls put(i, e, n) for each of a share: that is expert e, of which it is number n; seen[e] are those before. */
template <class PUT>
__device__ __forceinline__ void count_share(const gpu_mix &m, const share &s, int lane, int *seen, const PUT &put)
{
    for (int at = s.from; at < s.to; at += WARP) {
        const int i = at + lane, e = i < s.to ? m.dev_expert[i] : m.n;
        const unsigned same = __match_any_sync(ALL_LANES, e);
        const int earlier = __popc(same & before(lane));
        if (e < m.n) put(i, e, seen[e] + earlier);
        __syncwarp();
        if (e < m.n && earlier == 0) seen[e] += __popc(same);
        __syncwarp();
    }
}

/* The sum of what lanes before this one have; *all: of all lanes. */
__device__ __forceinline__ int sum_before(int own, int lane, int *all)
{
    int sum = own;
    for (int by = 1; by < WARP; by *= 2) {
        const int other = __shfl_sync(ALL_LANES, sum, lane < by ? lane : lane - by);
        sum += lane < by ? 0 : other;
    }
    *all = __shfl_sync(ALL_LANES, sum, WARP - 1);
    return sum - own;
}

/* A warp: from how many places each expert has to which is its first, and the tiles. */
__device__ void lay_tiles(const gpu_mix &m, int size, int lane, int *of)
{
    int places = 0, tiles = 0, more_places, more_tiles;
    for (int at = 0; at < m.n; at += WARP) {
        const int e = at + lane, n = e < m.n ? of[e] : 0, own = (n + size - 1) / size;
        const int first = places + sum_before(n, lane, &more_places), tile = tiles + sum_before(own, lane, &more_tiles);
        for (int i = 0; i < own; i++)
            m.dev_tile[tile + i] = {e, first + i * size, first + (i + 1 < own ? (i + 1) * size : n)};
        if (e < m.n) of[e] = first;
        places += more_places, tiles += more_tiles;
    }
    for (int i = tiles + lane; i < m.tiles; i += WARP) m.dev_tile[i] = {0, 0, 0};
}

/* One block of (32, SORT_WARPS); its memory: (SORT_WARPS + 1) * n ints. */
__global__ void sort_kernel(gpu_mix m, int size)
{
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y), me = warp * WARP + lane;
    const share mine = share_of(m, warp);
    int *seen = reinterpret_cast<int *>(block_memory()), *of = seen + SORT_WARPS * m.n, *own = seen + warp * m.n;
    for (int i = me; i < SORT_WARPS * m.n; i += SORT_WARPS * WARP) seen[i] = 0;
    __syncthreads();
    count_share(m, mine, lane, own, [](int, int, int) {});
    __syncthreads();
    for (int e = me; e < m.n; e += SORT_WARPS * WARP) {
        int n = 0;
        for (int w = 0; w < SORT_WARPS; w++) {
            const int more = seen[w * m.n + e];
            seen[w * m.n + e] = n;
            n += more;
        }
        of[e] = n;
    }
    __syncthreads();
    if (warp == 0) lay_tiles(m, size, lane, of);
    __syncthreads();
    count_share(m, mine, lane, own, [&](int i, int e, int n) {
        m.dev_place[i] = of[e] + n;
        m.dev_row[of[e] + n] = i / m.used;
    });
}

/* ------------------------------------------------------------------------------ adding */

/* grid (rows by ROUTE_WARPS), block (32, ROUTE_WARPS). */
__global__ void let_rows_kernel(int rows, int cols, const float *x, const float *w, float *let)
{
    const int row = static_cast<int>(blockIdx.x) * ROUTE_WARPS + static_cast<int>(threadIdx.y);
    if (row >= rows) return;
    const float *own = x + static_cast<size_t>(row) * static_cast<size_t>(cols);
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < cols; i += WARP)
        sum += static_cast<double>(w[i]) * static_cast<double>(own[i]);
    for (int by = WARP / 2; by > 0; by /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, by);
    if (threadIdx.x == 0) let[row] = static_cast<float>(1 / (1 + exp(-sum)));
}

/* grid (rows, values by ADD_THREADS). */
__global__ void add_kernel(gpu_mix m, int cols, const float *y, const float *shared, const float *let, float *x)
{
    const int row = static_cast<int>(blockIdx.x), col = static_cast<int>(blockIdx.y * ADD_THREADS + threadIdx.x);
    const size_t at = static_cast<size_t>(row) * static_cast<size_t>(cols) + static_cast<size_t>(col);
    float sum = 0;
    if (col >= cols) return;
    for (int i = row * m.used; i < (row + 1) * m.used; i++)
        sum = __fmaf_rn(m.dev_weight[i], y[static_cast<size_t>(m.dev_place[i]) * static_cast<size_t>(cols) +
                                           static_cast<size_t>(col)], sum);
    if (shared) sum = __fmaf_rn(let[row], shared[at], sum);
    x[at] = __fadd_rn(x[at], sum);
}

/* ---------------------------------------------------------------------------- launches */

static dim3 warps_for(int rows) { return dim3((static_cast<unsigned>(rows) + ROUTE_WARPS - 1) / ROUTE_WARPS); }

int run_route(struct gpu *g, const struct gpu_mix *m)
{
    const size_t memory = static_cast<size_t>((SORT_WARPS + 1) * m->n) * sizeof(int);
    const int rc = launch(g, warps_for(m->rows), dim3(WARP, ROUTE_WARPS), 0, route_kernel, *m);
    return rc ? rc : launch(g, dim3(1), dim3(WARP, SORT_WARPS), memory, sort_kernel, *m, gpu_tile_size(m->rows));
}

int run_let_rows(struct gpu *g, int rows, int cols, const float *x, const float *w, float *let)
{
    return launch(g, warps_for(rows), dim3(WARP, ROUTE_WARPS), 0, let_rows_kernel, rows, cols, x, w, let);
}

int run_mix(struct gpu *g, const struct gpu_mix *m, int cols, const float *y, const float *shared, const float *let,
            float *x)
{
    const unsigned wide = (static_cast<unsigned>(cols) + ADD_THREADS - 1) / ADD_THREADS;
    return launch(g, dim3(static_cast<unsigned>(m->rows), wide), dim3(ADD_THREADS), 0, add_kernel, *m, cols, y, shared,
                  let, x);
}

int load_route(void)
{
    int rc = load(route_kernel);
    if (!rc) rc = load(sort_kernel);
    if (!rc) rc = load(let_rows_kernel);
    return rc ? rc : load(add_kernel);
}
