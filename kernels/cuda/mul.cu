/* mul.cu - matrix products: a block takes 32 rows of a matrix and some tokens.
 *
 * k is cut into PARTS, always the same for the same number of columns; each is summed by itself, and the parts' sums
 * are added in order.  So a row's result depends on that row alone: not on the tokens beside it, nor on the tile, nor
 * on how many warps the parts are shared by.
 *
 *     integers: acc = fma(isum, dw * dx, acc) a run of 32, isum exact; a minimum: acc = fma(-m, dx * -sum x, acc)
 *     floats:   per 32 k: s = fma(w, x, s) in rising k from 0, then acc = acc + s
 *
 * Few tokens: lanes are rows, and isum is by dp4a.  From five on it is by tensor cores, 16 rows and 8 tokens at a time:
 * it is exact, so the same, and what is done with it is as well.
 *
 * Of a mixture of experts a block takes a tile from a table that route.cu made: an expert's rows, and its tokens. */
#include "kernels/cuda/weights.cuh"

enum { PARTS = 16, TILE = 16, DEPTH = 2 };

/* ---------------------------------------------------------------------- activations */

/* A run of 32 of a token, as three loads get it.  Places are counted in runs, by int: 2^31 of them would be a pass of 350
 * GiB, with their floats. */
struct rounded {
    int q[8];
    float dx, mdx;
    int ns, ns0;
};
static_assert(sizeof(gpu_act) == 48, "three loads of 16 bytes");

__device__ __forceinline__ rounded act_at(const gpu_act *x)
{
    const int4 *from = reinterpret_cast<const int4 *>(x);
    const int4 a = from[0], b = from[1], c = from[2];
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, __uint_as_float(static_cast<unsigned>(c.x)),
            __uint_as_float(static_cast<unsigned>(c.y)), c.z, c.w};
}

/* ------------------------------------------------------------------------ a part of k */

/* A unit with a scale for 16 times one token's: it is summed by itself, then times d. */
template <ktype TYPE>
__device__ __forceinline__ float times_sixteens(const unit<TYPE> &w, const rounded (&x)[4], float acc)
{
    enum { FROM = unit<TYPE>::FROM, MINIMUM = unit<TYPE>::HAS_MINIMUM };
    float u = 0, below = 0;
    for (int run = 0; run < 4; run++) {
        const int ns0 = x[run].ns0, ns1 = x[run].ns - ns0;
        int sum0 = FROM * ns0, sum1 = FROM * ns1;
        for (int s = 0; s < 4; s++) sum0 = __dp4a(static_cast<int>(w.q(run, s)), x[run].q[s], sum0);
        for (int s = 4; s < 8; s++) sum1 = __dp4a(static_cast<int>(w.q(run, s)), x[run].q[s], sum1);
        u = __fmaf_rn(__int2float_rn(w.part_scale(run, 0) * sum0 + w.part_scale(run, 1) * sum1), x[run].dx, u);
        if (MINIMUM)
            below = __fmaf_rn(__int2float_rn(w.part_min(run, 0) * ns0 + w.part_min(run, 1) * ns1), x[run].dx, below);
    }
    acc = __fmaf_rn(u, w.d, acc);
    return MINIMUM ? __fmaf_rn(below, w.m, acc) : acc;
}

/* A unit of the row times one token's: into acc, a run after the other. */
template <ktype TYPE>
__device__ __forceinline__ float times(const unit<TYPE> &w, const rounded (&x)[unit<TYPE>::RUNS], float acc)
{
    if constexpr (SIXTEENS<TYPE>) return times_sixteens<TYPE>(w, x, acc);
    else for (int run = 0; run < unit<TYPE>::RUNS; run++) {
        int sum = unit<TYPE>::FROM * x[run].ns;
        for (int s = 0; s < 8; s++) sum = __dp4a(static_cast<int>(w.q(run, s)), x[run].q[s], sum);
        acc = __fmaf_rn(__int2float_rn(sum), __fmul_rn(w.step(run), x[run].dx), acc);
        if (unit<TYPE>::HAS_MINIMUM) acc = __fmaf_rn(w.below(run), x[run].mdx, acc);
    }
    return acc;
}

template <int RUNS>
__device__ __forceinline__ void load_acts(rounded (&x)[RUNS], const gpu_mul &m, int token_at, int u)
{
    for (int run = 0; run < RUNS; run++) x[run] = act_at(m.dev_act + token_at + u * RUNS + run);
}

/* Units from .. to - 1 of k.  So many of them are under way at once: it is the memory that is waited for. */
template <ktype TYPE, int TOK> struct part {
    static __device__ __forceinline__ void sum(const gpu_mul &m, const uint8_t *group, int lane,
                                               const int (&token)[TOK], int from, int to, float (&acc)[TOK])
    {
        enum { RUNS = unit<TYPE>::RUNS, AT_ONCE = RUNS > 2 || (RUNS > 1 && TOK > 1) ? 1 : DEPTH };
        enum { EARLY = TOK == 1 && RUNS == 1 }; /* activations, too: where they leave registers for it */
        const int blocks = m.w.cols / 32;
        for (int first = from; first < to; first += AT_ONCE) {
            unit<TYPE> w[AT_ONCE];
            rounded early[EARLY ? AT_ONCE : 1][RUNS];
            for (int i = 0; i < AT_ONCE; i++) {
                if (first + i >= to) continue;
                const unit_at<TYPE> at(group, first + i);
                w[i].load(at.block, at.which, lane);
                if (EARLY) load_acts(early[EARLY ? i : 0], m, token[0] * blocks, first + i);
            }
            loaded();
            for (int i = 0; i < AT_ONCE; i++) {
                if (first + i >= to) continue;
                for (int t = 0; t < TOK; t++) {
                    rounded late[RUNS];
                    if (!EARLY) load_acts(late, m, token[t] * blocks, first + i);
                    acc[t] = times<TYPE>(w[i], EARLY ? early[EARLY ? i : 0] : late, acc[t]);
                }
            }
        }
    }
    static __host__ __device__ int units(int cols) { return cols / (32 * unit<TYPE>::RUNS); }
};

/* The same for plain floats: units of 32 k, the last one as long as there are. */
template <ktype TYPE, int TOK> struct plain_part {
    static __device__ __forceinline__ void sum(const gpu_mul &m, const uint8_t *group, int lane,
                                               const int (&token)[TOK], int from, int to, float (&acc)[TOK])
    {
        const int cols = m.w.cols;
        for (int u = from; u < to; u++) {
            const int end = 32 * u + 32 < cols ? 32 * u + 32 : cols;
            float s[TOK] = {};
            UNROLL(8)
            for (int k = 32 * u; k < end; k++) {
                const float w = plain_at<TYPE>(group, static_cast<size_t>(k), lane);
                for (int t = 0; t < TOK; t++)
                    s[t] = __fmaf_rn(w, m.dev_x[static_cast<size_t>(token[t]) * static_cast<size_t>(cols) +
                                                static_cast<size_t>(k)], s[t]);
            }
            for (int t = 0; t < TOK; t++) acc[t] = __fadd_rn(acc[t], s[t]);
        }
    }
    static __host__ __device__ int units(int cols) { return (cols + 31) / 32; }
};
template <int TOK> struct part<KT_F32, TOK> : plain_part<KT_F32, TOK> {};
template <int TOK> struct part<KT_F16, TOK> : plain_part<KT_F16, TOK> {};
template <int TOK> struct part<KT_BF16, TOK> : plain_part<KT_BF16, TOK> {};

/* -------------------------------------------------------------------------- the kernel */

/* Products of one launch: as many tokens, the same type. */
struct products {
    gpu_mul m[GPU_MULS];
    int groups[GPU_MULS]; /* of 32 rows; all blocks of the grid's y are of one of them */
    const gpu_tile *tile; /* of a mixture: a block's of the grid's x; else NULL */
    int tiles;            /* of them */
    const int32_t *row;   /* the row of x that a place has; NULL: the place's own */
};

/* The parts' sums, `step` floats apart, added in order. */
__device__ __forceinline__ float sum_of(const float *parts, int step)
{
    float v[PARTS];
    for (int i = 0; i < PARTS; i++) v[i] = parts[i * step];
    for (int i = 1; i < PARTS; i++) v[0] = __fadd_rn(v[0], v[i]);
    return v[0];
}

/* The tokens, or places of a mixture, that a block is for.  MIX is the kernels' parameter, not a branch, which would
 * cost the dense ones registers and make some of them spill; what these know of a tile is not kept in one, either. */
template <bool MIX> __device__ __forceinline__ gpu_tile tile_of(const products &all, int size)
{
    if constexpr (MIX) return all.tile[blockIdx.x];
    else return {0, static_cast<int>(blockIdx.x) * size, 0};
}
template <bool MIX> __device__ __forceinline__ int end_of(const gpu_mul &m, const gpu_tile &tile)
{
    return MIX ? tile.end : m.rows;
}

/* The row of x that a token has. */
template <bool MIX> __device__ __forceinline__ int row_of(const products &all, int token)
{
    if constexpr (MIX) return all.row ? all.row[token] : token;
    else return token;
}

/* 32 rows of the matrix, or of the tile's expert's. */
template <ktype TYPE, bool MIX>
__device__ __forceinline__ const uint8_t *weights_of(const gpu_mul &m, const gpu_tile &tile, int group)
{
    size_t at = static_cast<size_t>(group);
    if constexpr (MIX) at += static_cast<size_t>(tile.expert) * static_cast<size_t>(m.w.rows / WARP);
    return m.w.dev_data + at * group_bytes<TYPE>(static_cast<size_t>(m.w.cols));
}

/* The matrix that block y of the grid is of, and its group of that. */
__device__ __forceinline__ const gpu_mul &product_of(const products &all, int *group)
{
    int which = 0;
    *group = static_cast<int>(blockIdx.y);
    while (*group >= all.groups[which]) *group -= all.groups[which++];
    return all.m[which];
}

__device__ __forceinline__ int part_at(int units, int p)
{
    return static_cast<int>(static_cast<long long>(units) * p / PARTS);
}

/* An expert's biases lie behind the others', as its rows do.  Which it is is read again, for it not to be kept until
 * then. */
template <bool MIX>
__device__ __forceinline__ void put(const products &all, const gpu_mul &m, int token, int row, float sum)
{
    float *y = m.dev_y + static_cast<size_t>(token) * static_cast<size_t>(m.w.rows) + row;
    if (m.dev_bias) sum = __fadd_rn(sum, m.dev_bias[MIX ? all.tile[blockIdx.x].expert * m.w.rows + row : row]);
    if (m.cap > 0) sum = __fmul_rn(m.cap, tanhf(__fdiv_rn(sum, m.cap)));
    *y = m.add ? __fadd_rn(*y, sum) : sum;
}

/* grid (tiles, groups), for there may be more tiles than 65535; block (32, warps); the block's memory: PARTS * TOK * 32
 * floats. */
template <ktype TYPE, int TOK, bool MIX>
__global__ void __launch_bounds__(WARP *PARTS) mul_kernel(const __grid_constant__ products all)
{
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int warps = static_cast<int>(blockDim.y);
    int group, token[TOK]; /* behind the last one: the last one again, which nobody writes down */
    const gpu_mul &m = product_of(all, &group);
    const gpu_tile tile = tile_of<MIX>(all, TOK);
    const int first = tile.first;
    if (MIX && first == tile.end) return;
    const uint8_t *w = weights_of<TYPE, MIX>(m, tile, group);
    const int units = part<TYPE, TOK>::units(m.w.cols), row = group * WARP + lane;
    float *sums = reinterpret_cast<float *>(block_memory());

    for (int t = 0; t < TOK; t++) {
        const int at = first + t;
        token[t] = row_of<MIX>(all, at < end_of<MIX>(m, tile) ? at : end_of<MIX>(m, tile) - 1);
    }
    for (int p = warp; p < PARTS; p += warps) {
        float acc[TOK] = {};
        part<TYPE, TOK>::sum(m, w, lane, token, part_at(units, p), part_at(units, p + 1), acc);
        for (int t = 0; t < TOK; t++) sums[(p * TOK + t) * WARP + lane] = acc[t];
    }
    __syncthreads();
    for (int t = warp; t < TOK && first + t < end_of<MIX>(m, tile) && row < m.w.rows; t += warps)
        put<MIX>(all, m, first + t, row, sum_of(sums + t * WARP + lane, TOK * WARP));
}

/* ------------------------------------------------------------------------- tensor cores */

/* A lane of the picture at mma_32(): g is its row and token, t its dword and, doubled, its first column. */
struct place {
    int g, t;
};

/* Rows g, g + 8, g + 16, g + 24 of a unit. */
template <ktype TYPE> struct four_rows {
    enum { RUNS = unit<TYPE>::RUNS };
    unit<TYPE> scale[4];
    uint32_t word[4][RUNS][2]; /* by row, run, step t or t + 4: signed */

    __device__ __forceinline__ void load(const unit_at<TYPE> &at, const place &l)
    {
        for (int i = 0; i < 4; i++) {
            scale[i].scales(at.block, at.which, l.g + 8 * i);
            unit<TYPE>::words(at.block, at.which, l.t, l.g + 8 * i, word[i]);
        }
        for (int i = 0; i < 4 && unit<TYPE>::FROM > 0; i++) /* no byte carries into the next */
            for (int run = 0; run < RUNS; run++)
                for (int k = 0; k < 2; k++)
                    word[i][run][k] = (word[i][run][k] + (128u - unit<TYPE>::FROM) * 0x01010101u) ^ 0x80808080u;
    }
};

/* Eight tokens' run: of token g the dwords t and t + 4; of tokens 2 t and 2 t + 1 what integers are worth. */
struct eight_tokens {
    uint32_t b[2];
    float dx[2], mdx[2];
    int ns[2], ns0[2];
};
template <bool MINIMUM>
__device__ __forceinline__ eight_tokens tokens_of(const gpu_act *mine, const gpu_act *const (&scale)[2], const place &l)
{
    const uint32_t *q = reinterpret_cast<const uint32_t *>(mine->q);
    return {{q[l.t], q[l.t + 4]},
            {scale[0]->dx, scale[1]->dx},
            {MINIMUM ? scale[0]->mdx : 0.0f, MINIMUM ? scale[1]->mdx : 0.0f},
            {MINIMUM ? scale[0]->ns : 0, MINIMUM ? scale[1]->ns : 0},
            {MINIMUM ? scale[0]->ns0 : 0, MINIMUM ? scale[1]->ns0 : 0}};
}

/* One run: 32 rows times 8 tokens, into acc[row i][token of two]. */
template <ktype TYPE>
__device__ __forceinline__ void mma_run(const four_rows<TYPE> &w, int run, const float (&step)[4],
                                        const float (&below)[4], const eight_tokens &x, float (&acc)[4][2])
{
    int c[2][4] = {};
    for (int half = 0; half < 2; half++) {
        const int i = 2 * half;
        const uint32_t a[4] = {w.word[i][run][0], w.word[i + 1][run][0], w.word[i][run][1], w.word[i + 1][run][1]};
        mma_32(c[half], a, x.b);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            const float sum = __int2float_rn(c[i / 2][i % 2 * 2 + j]);
            acc[i][j] = __fmaf_rn(sum, __fmul_rn(step[i], x.dx[j]), acc[i][j]);
            if (unit<TYPE>::HAS_MINIMUM) acc[i][j] = __fmaf_rn(below[i], x.mdx[j], acc[i][j]);
        }
}

/* The same of scales for 16, into what the unit comes to, and its minima do. */
template <ktype TYPE>
__device__ __forceinline__ void mma_run_of_sixteens(const four_rows<TYPE> &w, int run, const eight_tokens &x,
                                                    float (&u)[4][2], float (&below)[4][2])
{
    int c[2][2][4] = {}; /* by 16 of the run, rows */
    for (int k = 0; k < 2; k++)
        for (int half = 0; half < 2; half++)
            mma_16(c[k][half], w.word[2 * half][run][k], w.word[2 * half + 1][run][k], x.b[k]);
    for (int i = 0; i < 4; i++) {
        const unit<TYPE> &of = w.scale[i];
        const int scale0 = of.part_scale(run, 0), scale1 = of.part_scale(run, 1);
        const int min0 = of.part_min(run, 0), min1 = of.part_min(run, 1);
        for (int j = 0; j < 2; j++) {
            const int at = i % 2 * 2 + j;
            u[i][j] = __fmaf_rn(__int2float_rn(scale0 * c[0][i / 2][at] + scale1 * c[1][i / 2][at]), x.dx[j], u[i][j]);
            if (unit<TYPE>::HAS_MINIMUM)
                below[i][j] = __fmaf_rn(__int2float_rn(min0 * x.ns0[j] + min1 * (x.ns[j] - x.ns0[j])), x.dx[j],
                                        below[i][j]);
        }
    }
}

/* A unit of 32 rows times 8 * EIGHTS tokens; mine: by eight, token g's activations; scale: those of 2 t and 2 t + 1. */
template <ktype TYPE, int EIGHTS>
__device__ __forceinline__ void mma_unit(const four_rows<TYPE> &w, const gpu_act *x, const int (&mine)[EIGHTS],
                                         const int (&scale)[EIGHTS][2], const place &l, float (&acc)[EIGHTS][4][2])
{
    float u[EIGHTS][4][2] = {}, under[EIGHTS][4][2] = {}; /* of scales for 16 */
    for (int run = 0; run < unit<TYPE>::RUNS; run++) {
        float step[4] = {}, below[4] = {};
        if constexpr (!SIXTEENS<TYPE>)
            for (int i = 0; i < 4; i++) step[i] = w.scale[i].step(run), below[i] = w.scale[i].below(run);
        for (int n = 0; n < EIGHTS; n++) {
            const gpu_act *const of[2] = {x + scale[n][0] + run, x + scale[n][1] + run};
            const eight_tokens e = tokens_of<unit<TYPE>::HAS_MINIMUM>(x + mine[n] + run, of, l);
            if constexpr (SIXTEENS<TYPE>) mma_run_of_sixteens<TYPE>(w, run, e, u[n], under[n]);
            else mma_run<TYPE>(w, run, step, below, e, acc[n]);
        }
    }
    if constexpr (SIXTEENS<TYPE>)
        for (int n = 0; n < EIGHTS; n++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++) {
                    float &sum = acc[n][i][j];
                    sum = __fmaf_rn(u[n][i][j], w.scale[i].d, sum);
                    if (unit<TYPE>::HAS_MINIMUM) sum = __fmaf_rn(under[n][i][j], w.scale[i].m, sum);
                }
}

/* Floats that are between a token's sums and the next's: so that no two lanes are in one bank's way. */
enum { PITCH = 36 };

/* grid (tiles, groups), block (32, warps); the block's memory: PARTS * 8 * EIGHTS * PITCH floats. */
template <ktype TYPE, int EIGHTS, bool MIX>
__global__ void __launch_bounds__(WARP *PARTS) mma_kernel(const __grid_constant__ products all)
{
    enum { TOKENS = 8 * EIGHTS, AT_ONCE = unit<TYPE>::RUNS > 1 ? 1 : DEPTH };
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int warps = static_cast<int>(blockDim.y);
    const place l = {lane / 4, lane % 4};
    int group, mine[EIGHTS], scale[EIGHTS][2];
    const gpu_mul &m = product_of(all, &group);
    const gpu_tile tile = tile_of<MIX>(all, TOKENS);
    const int first = tile.first;
    if (MIX && first == tile.end) return;
    const uint8_t *w = weights_of<TYPE, MIX>(m, tile, group);
    const int units = part<TYPE, 1>::units(m.w.cols), blocks = m.w.cols / 32, row = group * WARP + lane;
    float *sums = reinterpret_cast<float *>(block_memory());

    for (int n = 0; n < EIGHTS; n++) { /* behind the last token: that one again */
        const int at = first + 8 * n, last = end_of<MIX>(m, tile) - 1;
        mine[n] = row_of<MIX>(all, at + l.g < last ? at + l.g : last) * blocks;
        for (int j = 0; j < 2; j++)
            scale[n][j] = row_of<MIX>(all, at + 2 * l.t + j < last ? at + 2 * l.t + j : last) * blocks;
    }
    for (int p = warp; p < PARTS; p += warps) {
        const int to = part_at(units, p + 1);
        float acc[EIGHTS][4][2] = {};
        for (int from = part_at(units, p); from < to; from += AT_ONCE) {
            four_rows<TYPE> rows[AT_ONCE];
            for (int i = 0; i < AT_ONCE; i++)
                if (from + i < to) rows[i].load(unit_at<TYPE>(w, from + i), l);
            loaded();
            for (int i = 0; i < AT_ONCE; i++)
                if (from + i < to)
                    mma_unit<TYPE, EIGHTS>(rows[i], m.dev_act + (from + i) * unit<TYPE>::RUNS, mine, scale, l, acc);
        }
        for (int n = 0; n < EIGHTS; n++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++)
                    sums[((p * TOKENS) + 8 * n + 2 * l.t + j) * PITCH + l.g + 8 * i] = acc[n][i][j];
    }
    __syncthreads();
    for (int t = warp; t < TOKENS && first + t < end_of<MIX>(m, tile) && row < m.w.rows; t += warps)
        put<MIX>(all, m, first + t, row, sum_of(sums + t * PITCH + lane, TOKENS * PITCH));
}

/* ------------------------------------------------------------------------------ launches */

static unsigned groups_of(const products &all)
{
    unsigned groups = 0;
    for (int n : all.groups) groups += static_cast<unsigned>(n);
    return groups;
}

/* Few blocks: more warps of each, for enough loads to be under way; none that would have no unit. */
static dim3 block_of(const struct gpu *g, unsigned blocks, int units)
{
    const unsigned want = GPU_BLOCK(blocks >= 4 * static_cast<unsigned>(g->units) ? 8u : 16u);
    const unsigned parts = PARTS, most = units < PARTS ? static_cast<unsigned>(units) : parts;
    return dim3(WARP, want < most ? want : most);
}

template <int SIZE> static unsigned tiles_of(const products &all)
{
    return static_cast<unsigned>(all.tile ? all.tiles : (all.m[0].rows + SIZE - 1) / SIZE);
}

template <ktype TYPE, int TOK> static int mul_tile(struct gpu *g, const products &all)
{
    const unsigned tiles = tiles_of<TOK>(all), groups = groups_of(all);
    const int units = part<TYPE, TOK>::units(all.m[0].w.cols);
    return launch(g, dim3(tiles, groups), block_of(g, tiles * groups, units), PARTS * TOK * WARP * sizeof(float),
                  all.tile ? mul_kernel<TYPE, TOK, true> : mul_kernel<TYPE, TOK, false>, all);
}

template <ktype TYPE, int EIGHTS> static int mma_tile(struct gpu *g, const products &all)
{
    const unsigned tiles = tiles_of<8 * EIGHTS>(all), groups = groups_of(all);
    const int units = part<TYPE, 1>::units(all.m[0].w.cols);
    return launch(g, dim3(tiles, groups), block_of(g, tiles * groups, units), PARTS * 8 * EIGHTS * PITCH * sizeof(float),
                  all.tile ? mma_kernel<TYPE, EIGHTS, true> : mma_kernel<TYPE, EIGHTS, false>, all);
}

/* A block takes gpu_tile_size(rows) tokens, or more. */
template <ktype TYPE> static int mul_type(struct gpu *g, const products &all)
{
    const int size = gpu_tile_size(all.m[0].rows);
    if (size == 1) return mul_tile<TYPE, 1>(g, all);
    if (size == 2) return mul_tile<TYPE, 2>(g, all);
    if (size == 4) return mul_tile<TYPE, 4>(g, all);
    if constexpr (PLAIN<TYPE>) return mul_tile<TYPE, TILE>(g, all);
    else return size == 8 ? mma_tile<TYPE, 1>(g, all) : mma_tile<TYPE, 2>(g, all);
}

static int mul_same(struct gpu *g, const products &all)
{
    switch (all.m[0].w.type) {
    case KT_F32: return mul_type<KT_F32>(g, all);
    case KT_F16: return mul_type<KT_F16>(g, all);
    case KT_BF16: return mul_type<KT_BF16>(g, all);
    case KT_Q8_0: return mul_type<KT_Q8_0>(g, all);
    case KT_Q4_0: return mul_type<KT_Q4_0>(g, all);
    case KT_Q4_1: return mul_type<KT_Q4_1>(g, all);
    case KT_Q5_0: return mul_type<KT_Q5_0>(g, all);
    case KT_Q5_1: return mul_type<KT_Q5_1>(g, all);
    case KT_MXFP4: return mul_type<KT_MXFP4>(g, all);
    case KT_Q4_K: return mul_type<KT_Q4_K>(g, all);
    case KT_Q5_K: return mul_type<KT_Q5_K>(g, all);
    case KT_Q6_K: return mul_type<KT_Q6_K>(g, all);
    case KT_IQ4_NL: return mul_type<KT_IQ4_NL>(g, all);
    case KT_IQ4_XS: return mul_type<KT_IQ4_XS>(g, all);
    case KT_Q3_K: return mul_type<KT_Q3_K>(g, all);
    case KT_Q2_K: return mul_type<KT_Q2_K>(g, all);
    default: return static_cast<int>(cudaErrorInvalidValue);
    }
}

/* With `of` for what the launches have in common. */
static int mul_all(struct gpu *g, const products &of, const gpu_mul *m, int n)
{
    int rc = 0;
    for (int i = 0; i < n && !rc;) {
        products all = of;
        const int first = i;
        for (; i < n && i - first < GPU_MULS && m[i].w.type == m[first].w.type; i++) {
            all.m[i - first] = m[i];
            all.groups[i - first] = (m[i].w.rows + WARP - 1) / WARP;
        }
        rc = mul_same(g, all);
    }
    return rc;
}

int run_mul(struct gpu *g, const struct gpu_mul *m, int n)
{
    return mul_all(g, {}, m, n);
}

int run_mul_mix(struct gpu *g, const struct gpu_mix *mix, bool placed, const struct gpu_mul *m, int n)
{
    products of = {};
    of.tile = mix->dev_tile, of.tiles = mix->tiles, of.row = placed ? nullptr : mix->dev_row;
    return mul_all(g, of, m, n);
}

template <ktype TYPE, bool MIX> static int load_type()
{
    int rc = load(mul_kernel<TYPE, 1, MIX>);
    if (!rc) rc = load(mul_kernel<TYPE, 2, MIX>);
    if (!rc) rc = load(mul_kernel<TYPE, 4, MIX>);
    if constexpr (PLAIN<TYPE>) return rc ? rc : load(mul_kernel<TYPE, TILE, MIX>);
    else return rc ? rc : (rc = load(mma_kernel<TYPE, 1, MIX>)) ? rc : load(mma_kernel<TYPE, 2, MIX>);
}

template <ktype... TYPES> static int load_types()
{
    int rc = 0;
    ((rc = rc ? rc : (rc = load_type<TYPES, false>()) ? rc : load_type<TYPES, true>()), ...);
    return rc;
}

int load_mul(void)
{
    return load_types<KT_F32, KT_F16, KT_BF16, KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1, KT_MXFP4, KT_Q4_K,
                      KT_Q5_K, KT_Q6_K, KT_IQ4_NL, KT_IQ4_XS, KT_Q3_K, KT_Q2_K>();
}
