/* delta.cu - layers that keep a state (struct kern_delta, struct kern_conv), and gates of attention.  A sequence's rows
 * are neighbours: blocks begin at each row, and those whose row is not the first of its sequence end at once.  Sums go
 * over a head's values in rising order, or in the fixed order of a block's reduction, whatever else is in the pass. */
#include "kernels/cuda/device.h"

enum { CONV_THREADS = GPU_BLOCK(128), HEAD_THREADS = GPU_BLOCK(128), LET_THREADS = GPU_BLOCK(128), HEAD_MAX = 256 };

/* ------------------------------------------------------------------------ sequences */

struct span {
    int row, n, seq, first; /* first: the position of its first row */
};

/* The rows from `row` on of its sequence; n 0: there are some before it. */
__device__ static span span_at(const gpu_rows &at, int row)
{
    const int seq = at.dev_seq[row];
    span s = {row, 0, seq, at.dev_pos[row]};
    if (row > 0 && at.dev_seq[row - 1] == seq) return s;
    while (row + s.n < at.rows && at.dev_seq[row + s.n] == seq) s.n++;
    return s;
}

__device__ static int page_of(const gpu_rows &at, const span &s, int pos)
{
    return at.dev_table[static_cast<size_t>(s.seq) * static_cast<size_t>(at.stride) + static_cast<size_t>(pos / 16)];
}

/* Where the state is wanted after row i of the span: -1: nowhere. */
__device__ static int stop_at(const gpu_rows &at, const span &s, int i)
{
    return i + 1 == s.n || (s.first + i) % 16 == 15 ? page_of(at, s, s.first + i) : -1;
}

template <typename STEP> __device__ static float *layer_of(const STEP &d, int page)
{
    return reinterpret_cast<float *>(d.dev_slab + static_cast<size_t>(page) * d.page_bytes + d.layer_at);
}

__device__ static float silu(float x) { return __fdiv_rn(x, __fadd_rn(1.0f, expf(-x))); }

/* ------------------------------------------------------------------------- channels */

/* A thread a channel of a sequence, over its rows; what it had before is in registers. */
__global__ void conv_kernel(const __grid_constant__ gpu_delta d)
{
    const int channels = (2 * d.keys + d.values) * d.dim, old = d.taps - 1;
    const int c = static_cast<int>(blockIdx.y * CONV_THREADS + threadIdx.x);
    const span s = span_at(d.at, static_cast<int>(blockIdx.x));
    float had[GPU_TAPS];
    if (s.n == 0 || c >= channels) return;
    const float *tail = s.first > 0 ? layer_of(d, page_of(d.at, s, s.first - 1)) : nullptr;
    for (int j = 0; j < old; j++) had[j] = tail ? tail[j * channels + c] : 0;
    for (int i = 0; i < s.n; i++) {
        const size_t at = static_cast<size_t>(s.row + i) * static_cast<size_t>(channels) + static_cast<size_t>(c);
        float sum = 0;
        had[old] = d.dev_qkv[at];
        for (int j = 0; j <= old; j++) sum = __fmaf_rn(d.dev_conv[c * d.taps + j], had[j], sum);
        d.dev_c[at] = silu(sum);
        for (int j = 0; j < old; j++) had[j] = had[j + 1];
        const int page = stop_at(d.at, s, i);
        float *to = page < 0 ? nullptr : layer_of(d, page) + c;
        for (int j = 0; to && j < old; j++) to[j * channels] = had[j];
    }
}

/* The same where a convolution is all: of b * v, and times c. */
__global__ void short_kernel(const __grid_constant__ gpu_conv d)
{
    const int old = d.taps - 1, c = static_cast<int>(blockIdx.y * CONV_THREADS + threadIdx.x);
    const span s = span_at(d.at, static_cast<int>(blockIdx.x));
    float had[GPU_TAPS];
    if (s.n == 0 || c >= d.channels) return;
    const float *tail = s.first > 0 ? layer_of(d, page_of(d.at, s, s.first - 1)) : nullptr;
    for (int j = 0; j < old; j++) had[j] = tail ? tail[j * d.channels + c] : 0;
    for (int i = 0; i < s.n; i++) {
        const size_t at = static_cast<size_t>(s.row + i) * static_cast<size_t>(d.channels), in = 3 * at;
        const float *b = d.dev_bcv + in + c;
        float sum = 0;
        had[old] = __fmul_rn(b[0], b[2 * d.channels]);
        for (int j = 0; j <= old; j++) sum = __fmaf_rn(d.dev_conv[c * d.taps + j], had[j], sum);
        d.dev_att[at + static_cast<size_t>(c)] = __fmul_rn(b[d.channels], sum);
        for (int j = 0; j < old; j++) had[j] = had[j + 1];
        const int page = stop_at(d.at, s, i);
        float *to = page < 0 ? nullptr : layer_of(d, page) + c;
        for (int j = 0; to && j < old; j++) to[j * d.channels] = had[j];
    }
}

int run_conv(struct gpu *g, const struct gpu_conv *c)
{
    const unsigned channels = static_cast<unsigned>(c->channels);
    const dim3 blocks(static_cast<unsigned>(c->at.rows), (channels + CONV_THREADS - 1) / CONV_THREADS);
    return launch(g, blocks, dim3(CONV_THREADS), 0, short_kernel, *c);
}

/* ---------------------------------------------------------------------------- heads */

/* The block's memory. */
struct head_memory {
    double sum[HEAD_THREADS / WARP < 1 ? 1 : HEAD_THREADS / WARP];
    float q[HEAD_MAX], k[HEAD_MAX], o[HEAD_MAX];
};

/* The sum of what each thread has, to all of them. */
__device__ static double sum_of_block(head_memory *m, double mine)
{
    double sum = 0;
    for (int by = WARP / 2; by > 0; by /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, by);
    __syncthreads(); /* the last one has been read */
    if (threadIdx.x % WARP == 0) m->sum[threadIdx.x / WARP] = mine;
    __syncthreads();
    for (unsigned i = 0; i < HEAD_THREADS / WARP; i++) sum += m->sum[i];
    return sum;
}

/* 1 over the root of the mean of squares, and eps. */
__device__ static double scale_of(head_memory *m, const float *x, int dim, float eps)
{
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < dim; i += HEAD_THREADS)
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return 1 / sqrt(sum_of_block(m, sum) / dim + static_cast<double>(eps));
}

/* y = x of length 1, times `times`; whole when the block has met again. */
__device__ static void to_length(head_memory *m, const float *x, int dim, float eps, double times, float *y)
{
    const double scale = scale_of(m, x, dim, eps / static_cast<float>(dim)) / sqrt(static_cast<double>(dim)) * times;
    for (int i = static_cast<int>(threadIdx.x); i < dim; i += HEAD_THREADS)
        y[i] = static_cast<float>(static_cast<double>(x[i]) * scale);
}

/* A token further, in the columns of this thread; o is whole when the block has met. */
__device__ static void delta_rule(head_memory *m, float *S, int dim, const float *v, float decay, float beta)
{
    const size_t wide = static_cast<size_t>(dim);
    for (int j = static_cast<int>(threadIdx.x); j < dim; j += HEAD_THREADS) {
        float known = 0, o = 0;
        float *s = S + j;
        for (int i = 0; i < dim; i++, s += wide) known = __fmaf_rn(*s, m->k[i], known);
        const float news = __fmul_rn(beta, __fmaf_rn(-decay, known, v[j]));
        s = S + j;
        for (int i = 0; i < dim; i++, s += wide) {
            *s = __fmaf_rn(m->k[i], news, __fmul_rn(*s, decay));
            o = __fmaf_rn(*s, m->q[i], o);
        }
        m->o[j] = o;
    }
}

/* This thread's columns of a state to another; from nullptr: there was none. */
__device__ static void copy_columns(float *to, const float *from, int dim)
{
    if (to == from) return;
    for (int j = static_cast<int>(threadIdx.x); j < dim; j += HEAD_THREADS)
        for (int i = 0; i < dim; i++) {
            const size_t at = static_cast<size_t>(i) * static_cast<size_t>(dim) + static_cast<size_t>(j);
            to[at] = from ? from[at] : 0;
        }
}

__device__ static float *head_of(const gpu_delta &d, int page, int head)
{
    const size_t each = static_cast<size_t>(d.dim) * static_cast<size_t>(d.dim);
    return layer_of(d, page) + d.heads_at + static_cast<size_t>(head) * each;
}

/* A block a value head of a sequence, a thread a column of its S. */
__global__ void head_kernel(const __grid_constant__ gpu_delta d)
{
    head_memory *m = reinterpret_cast<head_memory *>(block_memory());
    const int h = static_cast<int>(blockIdx.y), dim = d.dim, key = d.by_key ? h / (d.values / d.keys) : h % d.keys;
    const span s = span_at(d.at, static_cast<int>(blockIdx.x));
    if (s.n == 0) return;
    const size_t channels = static_cast<size_t>((2 * d.keys + d.values) * dim);
    float *S = head_of(d, page_of(d.at, s, s.first + s.n - 1), h);
    copy_columns(S, s.first > 0 ? head_of(d, page_of(d.at, s, s.first - 1), h) : nullptr, dim);
    for (int i = 0; i < s.n; i++) {
        const size_t row = static_cast<size_t>(s.row + i);
        const float *c = d.dev_c + row * channels;
        const size_t at = row * static_cast<size_t>(d.values) + static_cast<size_t>(h);
        const double x = static_cast<double>(d.dev_alpha[at]) + static_cast<double>(d.dev_dt[h]);
        const float decay = static_cast<float>(exp(static_cast<double>(d.dev_a[h]) * (x > 30 ? x : log1p(exp(x)))));
        const float beta = static_cast<float>(1 / (1 + exp(-static_cast<double>(d.dev_beta[at]))));
        to_length(m, c + key * dim, dim, d.eps, 1 / sqrt(static_cast<double>(dim)), m->q);
        to_length(m, c + (d.keys + key) * dim, dim, d.eps, 1, m->k);
        __syncthreads();
        delta_rule(m, S, dim, c + (2 * d.keys + h) * dim, decay, beta);
        __syncthreads();
        const double scale = scale_of(m, m->o, dim, d.eps);
        for (int j = static_cast<int>(threadIdx.x); j < dim; j += HEAD_THREADS) {
            const size_t to = at * static_cast<size_t>(dim) + static_cast<size_t>(j);
            const double v = static_cast<double>(m->o[j]) * scale * static_cast<double>(d.dev_head_norm[j]);
            d.dev_att[to] = __fmul_rn(silu(d.dev_z[to]), static_cast<float>(v));
        }
        const int page = stop_at(d.at, s, i);
        if (page >= 0) copy_columns(head_of(d, page, h), S, dim);
    }
}

int run_delta(struct gpu *g, const struct gpu_delta *d)
{
    const unsigned rows = static_cast<unsigned>(d->at.rows);
    const unsigned channels = static_cast<unsigned>((2 * d->keys + d->values) * d->dim);
    const dim3 blocks(rows, (channels + CONV_THREADS - 1) / CONV_THREADS);
    const int rc = launch(g, blocks, dim3(CONV_THREADS), 0, conv_kernel, *d);
    return rc ? rc : launch(g, dim3(rows, static_cast<unsigned>(d->values)), dim3(HEAD_THREADS), sizeof(head_memory),
                            head_kernel, *d);
}

/* ---------------------------------------------------------------------------- gates */

__global__ void let_kernel(size_t n, const float *gate, float *att)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * LET_THREADS + threadIdx.x;
    if (i < n) att[i] = __fdiv_rn(att[i], __fadd_rn(1.0f, expf(-gate[i])));
}

int run_let(struct gpu *g, size_t n, const float *gate, float *att)
{
    return launch(g, dim3(static_cast<unsigned>((n + LET_THREADS - 1) / LET_THREADS)), dim3(LET_THREADS), 0, let_kernel,
                  n, gate, att);
}

int load_delta(void)
{
    int rc = load(conv_kernel);
    if (!rc) rc = load(short_kernel);
    if (!rc) rc = load(head_kernel);
    return rc ? rc : load(let_kernel);
}
