/* mul_shared.h - types whose tiles share their functions: IQ4_NL and IQ4_XS, Q3_K and Q2_K.  Source, not interface:
 * mul.h says who includes it, and the order of float sums.
 *
 * A lone token, which memory keeps waiting, has a function of each type's own.  Several read runs that are opened, by
 * functions that are given T: 4, 2 and 1 tokens at a time, the same for both IQ4.  Where mat.c has not opened a block
 * for several tiles it is opened here, once a tile.  So a type more costs little code, and little time to compile.
 *
 * An opened run of 32 is lines of a dword a row: 8 of unsigned weights (IQ4's 128 too large, Q3_K's 4) | scales |
 * minima, of Q2_K.  Scales are floats of IQ4, and of the others whole numbers, which two sixteens have each its own of:
 * pairs of 16 bits, as are the minima. */
#define SHARED_BYTES(type) (RUN + ((type) == KT_Q2_K ? 2 : 1) * LINE)

/* ----------------------------------------------------------------------- opened */

INLINE void shared_nl(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    for (int j = 0; j < runs_of(type); j++, to += SHARED_BYTES(type)) {
        open_run(NL, type == KT_IQ4_NL ? quants32(type, w) : w + 128 + (1 + 4 * j) * LINE, NULL, 0, 0, 0, to);
        for (int lane = 0; lane < LINE; lane += VB) {
            const struct head_xs b = type == KT_IQ4_XS ? head_xs(1, w, lane) : (struct head_xs){0};
            const vf scale = type == KT_IQ4_NL ? scale32(type, w, lane) : scale_xs(b.d[0], b.low[0], b.high[0], j);
            put_line(to + RUN + lane, vi_of_bits(scale));
        }
    }
}

INLINE void shared_k23(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    for (int half = 0; half < 2; half++)
        UNROLL for (int run = 0; run < 4; run++, to += SHARED_BYTES(type)) {
            open_run(type == KT_Q2_K ? K2 : K3, low_k23(type, w, half), high_k3(w), run, 4 * half, 0, to);
            for (int lane = 0; lane < LINE; lane += VB) {
                vi min;
                put_line(to + RUN + lane, scales_k23(type, w, half, run, lane, &min));
                if (type == KT_Q2_K) put_line(to + RUN + LINE + lane, min);
            }
        }
}

/* One block's runs. */
INLINE void shared_block(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    if (type == KT_Q3_K || type == KT_Q2_K) shared_k23(type, w, to);
    else shared_nl(type, w, to);
}

/* N of a tile's T tokens, which x is at the first of, times some rows of opened runs: IQ4's. */
INLINE void shared_rows_iq4(const int N, const int NV, const uint8_t *open, int runs, const struct act *x, const int T,
                            const int row, float *out)
{
    vf_tile acc;
    acc_load(N, NV, out + row, acc);
    for (; runs > 0; runs--, x += T, open += SHARED_BYTES(KT_IQ4_XS)) {
        vi_tile isum;
        vf scale[NV_MAX];
        dot_run(N, NV, F8, 128, open, NULL, 0, 0, 4 * row, x, isum);
        load_line(NV, open + RUN, 4 * row, scale);
        add_scaled(N, NV, x, scale, isum, acc);
    }
    acc_store(N, NV, out + row, acc);
}

/* The same of one block of Q3_K or Q2_K. */
INLINE void shared_rows_k23(const int N, const int NV, const enum ktype type, const uint8_t *w, const uint8_t *open,
                            const struct act *x, const int T, const int row, float *out)
{
    vf_tile acc, u, m;
    acc_load(N, NV, out + row, acc);
    zero_k23(N, NV, u), zero_k23(N, NV, m);
    for (int j = 0; j < 8; j++, x += T, open += SHARED_BYTES(type)) {
        vi scale[NV_MAX], min[NV_MAX];
        UNROLL for (int v = 0; v < NV; v++) {
            scale[v] = vi_load(open + RUN + 4 * row + v * VB);
            if (type == KT_Q2_K) min[v] = vi_load(open + RUN + LINE + 4 * row + v * VB);
        }
        run_k23(N, NV, type, OPEN, open, NULL, 0, 0, 4 * row, x, scale, min, u, m);
    }
    end_k23(N, NV, type, w, 4 * row, u, m, acc);
    acc_store(N, NV, out + row, acc);
}

enum { SHARED_RUNS = 8 }; /* at once: with 4 tokens' activations they leave room in a first cache of 32 KiB */

/* All rows of n opened runs times N of a tile's T tokens. */
INLINE void shared_rows(const int N, const enum ktype type, const uint8_t *w, const uint8_t *open, int n,
                        const struct act *x, const int T, float *out)
{
    for (int row = 0; row < ISA_GROUP; row += NV_OF(type, N) * LANES) {
        if (type == KT_Q3_K || type == KT_Q2_K) shared_rows_k23(N, NV_OF(type, N), type, w, open, x, T, row, out);
        else shared_rows_iq4(N, NV_OF(type, N), open, n, x, T, row, out);
    }
}

/* n <= SHARED_RUNS opened runs times T tokens; of Q3_K and Q2_K they are one block's, which is packed at w. */
INLINE void shared_tile(const enum ktype type, const uint8_t *w, const uint8_t *open, int n, const struct act *x, int T,
                        float *acc)
{
    int t = 0;
    for (; t + 4 <= T; t += 4) shared_rows(4, type, w, open, n, x + t, T, acc + t * ISA_GROUP);
    if (t + 2 <= T) {
        shared_rows(2, type, w, open, n, x + t, T, acc + t * ISA_GROUP);
        t += 2;
    }
    if (t < T) shared_rows(1, type, w, open, n, x + t, T, acc + t * ISA_GROUP);
}

/* Both IQ4 are the same once they are opened. */
static __attribute__((noinline)) void shared_tile_iq4(const uint8_t *open, int n, const struct act *x, int T,
                                                      float *acc)
{
    shared_tile(KT_IQ4_XS, NULL, open, n, x, T, acc);
}

/* n packed blocks of `bytes` each times T tokens; opened, or NULL. */
INLINE void shared_blocks(const enum ktype type, isa_open *opener, const int bytes, const uint8_t *w,
                          const uint8_t *opened, int n, const struct act *x, int T, float *acc, struct isa_ahead ahead)
{
    const int runs = runs_of(type), most = SHARED_RUNS / runs;
    struct fetch fetch = fetch_over(ahead, (n + most - 1) / most);
    __attribute__((aligned(64))) uint8_t open[SHARED_RUNS * SHARED_BYTES(type)];
    for (int blocks; n > 0; n -= blocks, w += blocks * bytes, x += blocks * runs * T) {
        blocks = MIN(n, most);
        fetch_step(&fetch);
        if (!opened) opener(w, blocks, open);
        const uint8_t *at = opened ? opened : open;
        if (type == KT_IQ4_NL || type == KT_IQ4_XS) shared_tile_iq4(at, blocks * runs, x, T, acc);
        else shared_tile(type, w, at, blocks * runs, x, T, acc);
        if (opened) opened += blocks * runs * SHARED_BYTES(type);
    }
}
