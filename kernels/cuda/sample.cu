/* sample.cu - choosing tokens: choose.c's words, figure for figure, for rows that are chosen greedily, scored, or drawn
 * from whole.  Sums of a run and of a row go in its order, and e^x is scan.h's, so that the same bits come out (but for
 * log(), which is the machine's there as well).
 *
 *     change    the logits with mask, bias and penalties, where there are any     a block a row
 *     peaks     the largest of each run of 128                                    half a warp a run
 *     masses    the sum of e^x over each run                                      half a warp a run
 *     pick      the likeliest of the row, the choice, its log-probability         a block a row */
#include "kernels/cuda/device.h"

enum { RUN = 128, PARTS = 16, WARPS = GPU_BLOCK(8), THREADS = GPU_BLOCK(256), SUMMED = 1024 };
constexpr double LEAST = -1000;

/* ------------------------------------------------------------------------- e to the x */

__device__ unsigned long long bits_of(double d)
{
    return static_cast<unsigned long long>(__double_as_longlong(d));
}

__device__ double exp2_of(double t)
{
    t = t > LEAST ? t : LEAST;
    const double shifted = t + 0x1.8p52, f = t - (shifted - 0x1.8p52), f2 = f * f;
    double even = f2 * 0x1.e3ead2ded9e74p-28 + 0x1.62c11d721d277p-20;
    double odd = f2 * 0x1.b673e29dcd58ap-24 + 0x1.ffcb561ae34b8p-17;
    even = even * f2 + 0x1.4309127f02e3ep-13;
    odd = odd * f2 + 0x1.5d87fe9cb2de9p-10;
    even = even * f2 + 0x1.3b2ab6fbcfd8dp-7;
    odd = odd * f2 + 0x1.c6b08d703d532p-5;
    even = even * f2 + 0x1.ebfbdff82c467p-3;
    odd = odd * f2 + 0x1.62e42fefa3a17p-1;
    even = even * f2 + 1.0;
    return __longlong_as_double(static_cast<long long>(bits_of(even + odd * f) + (bits_of(shifted) << 52)));
}

constexpr double LOG2_E = 0x1.71547652b82fep+0;

__device__ double mass_of(float v, float top, double sharp)
{
    const double t = (static_cast<double>(v) - static_cast<double>(top)) * sharp * LOG2_E;
    if (v == top) return 1.0;
    return t > LEAST ? exp2_of(t) : 0.0;
}

/* ------------------------------------------------------------------------ rows, runs */

/* One row, as logits (own = 0) or as what mask, bias and penalties made of them (own = 1, if they did). */
struct line {
    const float *v;
    float *peak;
    double *mass;
    int n, runs;
};

__device__ line line_of(const gpu_sample &s, int out, int own)
{
    const int runs = (s.vocab + RUN - 1) / RUN;
    const size_t at = static_cast<size_t>(out), row = at * static_cast<size_t>(s.vocab);
    const size_t figures = (2 * at + static_cast<size_t>(own)) * static_cast<size_t>(runs);
    return {own && s.dev_pick[out].changed ? s.dev_value + row : s.dev_logits + row, s.dev_peak + figures,
            s.dev_mass + figures, s.vocab, runs};
}

__global__ void change_kernel(gpu_sample s)
{
    const gpu_pick &p = s.dev_pick[blockIdx.x];
    if (p.host || !p.changed) return;
    const size_t out = blockIdx.x, vocab = static_cast<size_t>(s.vocab), words = (vocab + 31) / 32;
    const float *from = s.dev_logits + out * vocab;
    const uint32_t *mask = s.dev_mask + out * words;
    float *to = s.dev_value + out * vocab;
    for (size_t i = threadIdx.x; i < vocab; i += THREADS)
        to[i] = !p.masked || (mask[i / 32] >> i % 32 & 1u) ? from[i] : -INFINITY;
    __syncthreads();
    for (int i = 0; i < p.n_bias && threadIdx.x == 0; i++)
        to[p.bias[i].id] = __fadd_rn(to[p.bias[i].id], p.bias[i].add);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < p.n_recent; i += THREADS) {
        const int32_t id = p.recent[i];
        int count = 0, before = 0;
        for (int k = 0; k < p.n_recent; k++) {
            count += p.recent[k] == id;
            before += k < i && p.recent[k] == id;
        }
        if (before) continue; /* the first of equals does it */
        const float v = to[id], again = v > 0 ? __fdiv_rn(v, p.repeat) : __fmul_rn(v, p.repeat);
        to[id] = __fsub_rn(again, __fadd_rn(__fmul_rn(static_cast<float>(count), p.frequency), p.presence));
    }
}

/* The run that this half of a warp has, from so many values on; none: left is 0. */
__device__ int run_here(const line &l, int *left)
{
    const int half = static_cast<int>(threadIdx.x) / PARTS;
    const int run = (static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.y)) * 2 + half;
    *left = run >= l.runs ? 0 : l.n - run * RUN < RUN ? l.n - run * RUN : RUN;
    return run;
}

__device__ void peaks_of(const line &l)
{
    const int part = static_cast<int>(threadIdx.x) % PARTS;
    int left;
    const int run = run_here(l, &left);
    float top = -INFINITY;
    for (int i = part; i < left; i += PARTS) {
        const float v = l.v[static_cast<size_t>(run) * RUN + static_cast<size_t>(i)];
        top = v > top ? v : top;
    }
    for (unsigned by = PARTS / 2; by > 0; by /= 2) {
        const float v = __shfl_down_sync(ALL_LANES, top, by);
        top = v > top ? v : top;
    }
    if (part == 0 && left) l.peak[run] = top;
}

/* grid (blocks of 16 runs, outs), block (32, WARPS) */
__global__ void peaks_kernel(gpu_sample s)
{
    const int out = static_cast<int>(blockIdx.y);
    if (s.dev_pick[out].host) return;
    peaks_of(line_of(s, out, 0));
    if (s.dev_pick[out].changed) peaks_of(line_of(s, out, 1));
}

/* The largest peak, to all lanes of a warp. */
__device__ float top_of(const float *peak, int runs)
{
    float top = -INFINITY;
    for (int i = static_cast<int>(threadIdx.x) % WARP; i < runs; i += WARP) top = peak[i] > top ? peak[i] : top;
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float v = __shfl_xor_sync(ALL_LANES, top, by);
        top = v > top ? v : top;
    }
    return top;
}

/* Where the peaks of a row are that is drawn from: the logits' own unless it was changed. */
__device__ const float *peaks_at(const gpu_sample &s, int out)
{
    return line_of(s, out, s.dev_pick[out].changed).peak;
}

__device__ void masses_of(const line &l, float top, double sharp)
{
    const int part = static_cast<int>(threadIdx.x) % PARTS;
    const double by = sharp * LOG2_E;
    int left;
    const int run = run_here(l, &left);
    double sum = 0;
    for (int first = 0; first < left; first += PARTS) {
        const int i = first + part;
        const float v = i < left ? l.v[static_cast<size_t>(run) * RUN + static_cast<size_t>(i)] : -INFINITY;
        if (top < INFINITY) sum += exp2_of((static_cast<double>(v) - static_cast<double>(top)) * by);
        else sum += v == top;
    }
    for (unsigned half = PARTS / 2; half > 0; half /= 2) sum += __shfl_down_sync(ALL_LANES, sum, half);
    if (part == 0 && left) l.mass[run] = sum;
}

__global__ void masses_kernel(gpu_sample s)
{
    const int out = static_cast<int>(blockIdx.y);
    const gpu_pick &p = s.dev_pick[out];
    if (p.host) return;
    const line raw = line_of(s, out, 0);
    masses_of(raw, top_of(raw.peak, raw.runs), 1);
    if (p.draws) masses_of(line_of(s, out, 1), top_of(peaks_at(s, out), raw.runs), p.sharp);
}

/* --------------------------------------------------------------------------- picking */

/* The block's memory. */
struct shared_room {
    double part[SUMMED];
    double sum;
    float value[THREADS];
    int id[THREADS];
    int found;
};

/* The runs' masses, added in their order; to all threads. */
__device__ double sum_of(const double *mass, int runs, shared_room *r)
{
    double sum = 0;
    for (int first = 0; first < runs; first += SUMMED) {
        const int n = runs - first < SUMMED ? runs - first : SUMMED;
        for (int i = static_cast<int>(threadIdx.x); i < n; i += THREADS) r->part[i] = mass[first + i];
        __syncthreads();
        for (int i = 0; i < n && threadIdx.x == 0; i++) sum += r->part[i];
        __syncthreads();
    }
    if (threadIdx.x == 0) r->sum = sum;
    __syncthreads();
    sum = r->sum;
    __syncthreads();
    return sum;
}

/* Larger, then lower id; -1 is behind all. */
__device__ bool is_better(float v, int id, float than, int than_id)
{
    return id >= 0 && (than_id < 0 || v > than || (v == than && id < than_id));
}

/* The best that is behind (v, id) in that order, id -1: of all; -1 where no possible one is left.  To all threads. */
__device__ int next_best(const line &l, float v, int id, shared_room *r)
{
    const int me = static_cast<int>(threadIdx.x);
    float best = 0;
    int best_id = -1;
    for (int i = me; i < l.n; i += THREADS) {
        const float x = l.v[i];
        const bool behind = x > -INFINITY && (id < 0 || is_better(v, id, x, i));
        if (behind && is_better(x, i, best, best_id)) best = x, best_id = i;
    }
    r->value[me] = best, r->id[me] = best_id;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && is_better(r->value[me + half], r->id[me + half], r->value[me], r->id[me]))
            r->value[me] = r->value[me + half], r->id[me] = r->id[me + half];
    }
    __syncthreads();
    const int got = r->id[0];
    __syncthreads();
    return got;
}

/* The least of the block's, to all threads. */
__device__ int least_of(int mine, shared_room *r)
{
    const int me = static_cast<int>(threadIdx.x);
    r->id[me] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && r->id[me + half] < r->id[me]) r->id[me] = r->id[me + half];
    }
    __syncthreads();
    const int least = r->id[0];
    __syncthreads();
    return least;
}

/* The first run whose peak is the top has it. */
__device__ int first_at_top(const line &l, const float *peak, float top, shared_room *r)
{
    const int me = static_cast<int>(threadIdx.x);
    int mine = l.runs;
    for (int run = me; run < l.runs && mine == l.runs; run += THREADS)
        if (peak[run] == top) mine = run;
    const int first = least_of(mine, r) * RUN;
    mine = l.n;
    for (int id = first + me; id < first + RUN && id < l.n && mine == l.n; id += THREADS)
        if (l.v[id] == top) mine = id;
    return least_of(mine, r);
}

/* Thread 0's work: the id that the number falls on. */
__device__ int drawn(const line &l, float top, double sharp, double uniform, double sum)
{
    double at = 0;
    int run = 0, id = -1;
    for (; run < l.runs - 1 && at + l.mass[run] <= uniform * sum; run++) at += l.mass[run];
    for (int i = run * RUN; i < l.n && at <= uniform * sum; i++) {
        const double m = mass_of(l.v[i], top, sharp);
        if (m > 0) id = i;
        at += m;
    }
    return id;
}

__device__ int choose(const gpu_sample &s, int out, shared_room *r)
{
    const gpu_pick &p = s.dev_pick[out];
    const line own = line_of(s, out, 1);
    const float *peak = peaks_at(s, out);
    const float top = top_of(peak, own.runs);
    if (p.target >= 0) return p.target < s.vocab ? p.target : -1;
    if (top == -INFINITY) return -1;
    if (p.draws) {
        const double sum = sum_of(own.mass, own.runs, r);
        if (threadIdx.x == 0) r->found = drawn(own, top, p.sharp, p.uniform, sum);
        __syncthreads();
        const int id = r->found;
        __syncthreads();
        if (id >= 0) return id;
    }
    return first_at_top(own, peak, top, r);
}

__device__ float raw_logprob(float logit, float top, double log_sum)
{
    if (!(logit > -INFINITY)) return -INFINITY;
    const double below = logit == top ? 0.0 : static_cast<double>(logit) - static_cast<double>(top);
    return static_cast<float>(below - log_sum);
}

/* grid (outs), block (THREADS) */
__global__ void pick_kernel(gpu_sample s)
{
    const int out = static_cast<int>(blockIdx.x);
    const gpu_pick &p = s.dev_pick[out];
    if (p.host) return;
    shared_room *r = reinterpret_cast<shared_room *>(block_memory());
    const line raw = line_of(s, out, 0);
    const float top = top_of(raw.peak, raw.runs);
    const double sum = sum_of(raw.mass, raw.runs, r), log_sum = top > -INFINITY ? log(sum) : 0;
    gpu_choice *to = s.dev_choice + out;
    int id = -1;
    for (int i = 0; i < GPU_TOP; i++) {
        if (i < p.top_n && (i == 0 || id >= 0)) id = next_best(raw, id >= 0 ? raw.v[id] : 0, id, r);
        const bool is = i < p.top_n && id >= 0;
        if (threadIdx.x == 0) {
            to->top_id[i] = is ? id : -1;
            to->top_logprob[i] = is ? raw_logprob(raw.v[id], top, log_sum) : -INFINITY;
        }
    }
    id = choose(s, out, r);
    if (threadIdx.x > 0) return;
    to->id = id;
    to->logprob = id >= 0 ? raw_logprob(raw.v[id], top, log_sum) : -INFINITY;
}

/* ------------------------------------------------------------------------------ host */

int run_sample(struct gpu *g, const struct gpu_sample *s)
{
    const unsigned outs = static_cast<unsigned>(s->outs), runs = static_cast<unsigned>((s->vocab + RUN - 1) / RUN);
    const dim3 grid((runs + 2 * WARPS - 1) / (2 * WARPS), outs), block(WARP, WARPS);
    int rc = s->changed ? launch(g, dim3(outs), dim3(THREADS), 0, change_kernel, *s) : 0;
    if (!rc) rc = launch(g, grid, block, 0, peaks_kernel, *s);
    if (!rc) rc = launch(g, grid, block, 0, masses_kernel, *s);
    return rc ? rc : launch(g, dim3(outs), dim3(THREADS), sizeof(shared_room), pick_kernel, *s);
}

int load_sample(void)
{
    int rc = load(change_kernel);
    if (!rc) rc = load(peaks_kernel);
    if (!rc) rc = load(masses_kernel);
    return rc ? rc : load(pick_kernel);
}
