/* mul_k.h - blocks of K formats times a tile of tokens.  Source, not interface: mul.h says who includes it, and the
 * order of sums. */

/* An opened run of 32 (mul_strip.h): its weights; of K formats, then two lines of floats, which are scales and minima,
 * or Q6_K's scales of the first sixteen and of the second. */
#define OPEN_BYTES(type) ((type) == KT_Q4_K || (type) == KT_Q5_K || (type) == KT_Q6_K ? RUN + 2 * LINE : RUN)

/* ---------------------------------------------------------------- Q4_K and Q5_K */

/* The 6-bit scales and minima from their three dwords (quant.c draws them), one a byte: [0] those of runs 0..3, [1] of
 * runs 4..7. */
INLINE void scale_bytes(const int NV, const uint8_t *sc, const int lane, vi s[2][NV_MAX], vi m[2][NV_MAX])
{
    const vi low = vi_set1(0x0f0f0f0f), top = vi_set1(0x30303030), six = vi_set1(0x3f3f3f3f);
    UNROLL for (int v = 0; v < NV; v++) {
        vi a = vi_load(sc + lane + v * VB), b = vi_load(sc + LINE + lane + v * VB);
        vi c = vi_load(sc + 2 * LINE + lane + v * VB);
        s[0][v] = vi_and(a, six);
        m[0][v] = vi_and(b, six);
        s[1][v] = vi_or(vi_and(c, low), vi_and(vi_srl(a, 2), top));
        m[1][v] = vi_or(vi_and(vi_srl(c, 4), low), vi_and(vi_srl(b, 2), top));
    }
}

/* to = d times byte j of each lane. */
INLINE void scale_run(const int NV, const vi *bytes, int j, const vf *d, vf *to)
{
    UNROLL for (int v = 0; v < NV; v++) to[v] = vf_mul(d[v], vf_from(vi_byte(bytes[v], j)));
}

/* One of a pair's two runs of 32: run j of 8, whose scales and minima are bytes j % 4 of s and m; opened, they are
 * floats behind its weights. */
INLINE void run_k45(const int T, const int NV, const enum form form, const uint8_t *q, const uint8_t *h, const int run,
                    int j, const int lane, const struct act *x, const vi *s, const vi *m, const vf *d, const vf *dmin,
                    vf_tile acc)
{
    vi_tile isum;
    vf scale[NV_MAX], sunk[NV_MAX], min[NV_MAX];
    dot_run(T, NV, form, 0, anew(NV, q), anew(NV, h), run, j, lane, x, isum);
    if (form == OPEN) {
        load_line(NV, q + RUN, lane, scale);
        load_line(NV, q + RUN + LINE, lane, min);
    } else {
        scale_run(NV, s, j % 4, d, scale);
        scale_run(NV, m, j % 4, dmin, min);
    }
    UNROLL for (int v = 0; v < NV; v++) sunk[v] = sink(scale[v]);
    UNROLL for (int t = 0; t < T; t++) {
        vf dx = vf_set1(x[t].dx), mdx = vf_set1(x[t].mdx);
        UNROLL for (int v = 0; v < NV; v++) {
            acc[t][v] = vf_fma(times(isum[t][v], scale[v], sunk[v]), dx, acc[t][v]);
            acc[t][v] = vf_fma(min[v], mdx, acc[t][v]);
        }
    }
}

/* What a block's runs have in common. */
struct head_k45 {
    vf d[2][NV_MAX], dmin[NV_MAX]; /* d: of even and of odd runs */
    vi s[2][NV_MAX], m[2][NV_MAX]; /* scale_bytes() */
};

INLINE struct head_k45 head_k45(const int NV, const enum ktype type, const uint8_t *w, const int lane)
{
    struct head_k45 b;
    load_halves(NV, w, lane, b.d[0]);
    UNROLL for (int v = 0; v < NV; v++)
        b.d[1][v] = vf_mul(b.d[0][v], vf_set1(type == KT_Q4_K ? 1.0f / HIGH_TIMES : 1));
    load_halves(NV, w + 64, lane, b.dmin);
    scale_bytes(NV, w + 128, lane, b.s, b.m);
    return b;
}

INLINE void block_k45(const int T, const int NV, const enum ktype type, const bool opened, const uint8_t *w,
                      const uint8_t *open, const int lane, const struct act *x, vf_tile acc, struct fetch *fetch)
{
    const enum form form = type == KT_Q5_K ? K5 : K4;
    const uint8_t *h = w + 128 + 3 * LINE, *q = type == KT_Q5_K ? h + 8 * LINE : h;
    const int step = OPEN_BYTES(type);

    if (opened) {
        for (int j = 0; j < 8; j++, x += T, open += step) {
            if (j % 2 == 0) fetch_step(fetch);
            run_k45(T, NV, OPEN, open, NULL, 0, 0, lane, x, NULL, NULL, NULL, NULL, acc);
        }
        return;
    }
    if (T == 1 && form == K4) see_lines(fetch, w, 8);
    const struct head_k45 b = head_k45(NV, type, w, lane);
    for (int j = 0; j < 8; j += 2, q += 8 * LINE, x += 2 * T) {
        fetch_step(fetch);
        const vi *sj = b.s[j / 4], *mj = b.m[j / 4];
        run_k45(T, NV, form, q, h, 0, j, lane, x, sj, mj, b.d[0], b.dmin, acc);
        run_k45(T, NV, form, q, h, 1, j + 1, lane, x + T, sj, mj, b.d[1], b.dmin, acc);
    }
}

/* ------------------------------------------------------------------------- Q6_K */

/* Scales of one sixteen; a dword has those of two runs. */
INLINE vf scale_k6(const uint8_t *sc, const int run, const int half, const int lane)
{
    const int up = 24 - 8 * (run % 2 * 2 + half);
    const vi s = vi_load(sc + run / 2 * LINE + lane);
    return vf_from(vi_sra(up ? vi_sll(s, up) : s, 24));
}

/* One run of 32: its halves of 16 have scales of their own, which are floats behind its weights where it is opened.
 * isum times such a one is exact as a float too: |isum| is at most 16 * 32 * 127 and the scale 128, so the product
 * stays below 2^24. */
INLINE void run_k6(const int T, const int NV, const enum form form, const uint8_t *sc, const uint8_t *q, const int run,
                   const int lane, const struct act *x, vf_tile u)
{
    UNROLL for (int half = 0; half < 2; half++) {
        vi start[ISA_TILE];
        vi_tile isum;
        vf scale[NV_MAX], sunk[NV_MAX];

        UNROLL for (int t = 0; t < T; t++) start[t] = bcast32(&x[t].start32[half]);
        dot_steps(T, NV, form, q, NULL, run, 0, 4 * half, 4 * half + 4, lane, x, start, isum);
        if (form == OPEN) load_line(NV, q + RUN + half * LINE, lane, scale);
        else UNROLL for (int v = 0; v < NV; v++) scale[v] = scale_k6(sc, run, half, lane + v * VB);
        UNROLL for (int v = 0; v < NV; v++) sunk[v] = sink(scale[v]);
        UNROLL for (int t = 0; t < T; t++) {
            vf dx = vf_set1(x[t].dx);
            UNROLL for (int v = 0; v < NV; v++)
                u[t][v] = vf_fma(times(isum[t][v], scale[v], sunk[v]), dx, u[t][v]);
        }
    }
}

/* A half's four runs for one token: all lines in order, as memory gives them fastest.  The sums of the sixteens wait,
 * for u takes them in the order of run_k6(). */
INLINE void half_k6(const int NV, const uint8_t *sc, const uint8_t *q, const int lane, const struct act *x, vf *u)
{
    vi isum[4][2][NV_MAX];
    UNROLL for (int half = 0; half < 2; half++) {
        vacc a[4][NV_MAX];
        UNROLL for (int run = 0; run < 4; run++)
            UNROLL for (int v = 0; v < NV; v++) a[run][v] = vacc_start(bcast32(&x[run].start32[half]));
        UNROLL for (int s = 4 * half; s < 4 * half + 4; s++)
            UNROLL for (int run = 0; run < 4; run++)
                UNROLL for (int v = 0; v < NV; v++) {
                    const vi w = weights(K6, q, NULL, run, 0, s, lane + v * VB);
                    a[run][v] = vacc_dot_at(a[run][v], w, x[run].q + 4 * s);
                }
        UNROLL for (int run = 0; run < 4; run++)
            UNROLL for (int v = 0; v < NV; v++)
                isum[run][half][v] = vacc_end(a[run][v], bcast32(&x[run].start32[half]));
    }
    UNROLL for (int run = 0; run < 4; run++)
        UNROLL for (int half = 0; half < 2; half++)
            UNROLL for (int v = 0; v < NV; v++) {
                const vf scale = scale_k6(sc, run, half, lane + v * VB);
                u[v] = vf_fma(times(isum[run][half][v], scale, sink(scale)), vf_set1(x[run].dx), u[v]);
            }
}

INLINE void block_k6(const int T, const int NV, const bool opened, const uint8_t *w, const uint8_t *open,
                     const int lane, const struct act *x, vf_tile acc, struct fetch *fetch)
{
    const int every = 8 / steps_of(KT_Q6_K, T);
    const bool in_order = K6_IN_ORDER && T == 1 && !opened;
    vf d[NV_MAX];
    load_halves(NV, w, lane, d);
    if (in_order) see_lines(fetch, w, 9);
    for (int half = 0; half < 2; half++) {
        vf_tile u;
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int v = 0; v < NV; v++) u[t][v] = vf_zero();
        const uint8_t *sc = w + 64 + 2 * half * LINE;
        if (in_order) {
            fetch_step(fetch);
            half_k6(NV, sc, w + 64 + (4 + 24 * half) * LINE, lane, x, u[0]);
            x += 4;
        } else UNROLL for (int run = 0; run < 4; run++, x += T) {
            if (run % every == 0) fetch_step(fetch);
            if (opened) run_k6(T, NV, OPEN, NULL, open + (4 * half + run) * OPEN_BYTES(KT_Q6_K), run, lane, x, u);
            else run_k6(T, NV, K6, sc, anew(NV, w + 64 + (4 + 24 * half) * LINE), run, lane, x, u);
        }
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int v = 0; v < NV; v++) acc[t][v] = vf_fma(u[t][v], d[v], acc[t][v]);
    }
}

/* ----------------------------------------------------------------------- IQ4_XS */

/* Scales of run j, d times them: their lower bits are nibble j of `low`, the upper two bits 2 j of `high`. */
INLINE vf scale_xs(vf d, vi low, vi high, const int j)
{
    const vi upper = vi_sll(vi_and(vi_srl_by(high, 2 * j), vi_set1(3)), 4);
    const vi six = vi_or(vi_and(vi_srl_by(low, 4 * j), vi_set1(15)), upper);
    return vf_mul(d, vf_from(vi_sub(six, vi_set1(32))));
}

/* What a block's runs have in common. */
struct head_xs {
    vf d[NV_MAX];
    vi low[NV_MAX], high[NV_MAX];
};

INLINE struct head_xs head_xs(const int NV, const uint8_t *w, const int lane)
{
    struct head_xs b;
    load_halves(NV, w, lane, b.d);
    UNROLL for (int v = 0; v < NV; v++) {
        const int at = lane + v * VB;
        b.high[v] = vi_srl(vi_of_bits(vf_bf16(w + 64 + at / 2)), 16); /* words, as vf_bf16 reads them */
        b.low[v] = vi_load(w + 128 + at);
    }
    return b;
}

/* A run's sums into acc. */
INLINE void add_scaled(const int T, const int NV, const struct act *x, const vf *scale, vi_tile isum, vf_tile acc)
{
    vf sunk[NV_MAX];
    UNROLL for (int v = 0; v < NV; v++) sunk[v] = sink(scale[v]);
    UNROLL for (int t = 0; t < T; t++) {
        const vf dx = vf_set1(x[t].dx);
        UNROLL for (int v = 0; v < NV; v++)
            acc[t][v] = vf_fma(times(isum[t][v], scale[v], sunk[v]), dx, acc[t][v]);
    }
}

/* A block times one token. */
INLINE void block_xs(const int NV, const uint8_t *w, const int lane, const struct act *x, vf_tile acc,
                     struct fetch *fetch)
{
    const struct head_xs b = head_xs(NV, w, lane);
    const uint8_t *q = w + 128 + LINE;
    for (int j = 0; j < 8; j++, q += 4 * LINE, x++) {
        vi_tile isum;
        vf scale[NV_MAX];
        if (j % 2 == 0) fetch_step(fetch);
        dot_run(1, NV, NL, 128, q, NULL, 0, 0, lane, x, isum);
        UNROLL for (int v = 0; v < NV; v++) scale[v] = scale_xs(b.d[v], b.low[v], b.high[v], j);
        add_scaled(1, NV, x, scale, isum, acc);
    }
}

/* ---------------------------------------------------------------- Q3_K and Q2_K */

/* Bytes 2 `upper` and the next of each lane, to 16 bits each. */
INLINE vi two_bytes(vi bytes, const int upper)
{
    const vi low = vi_set1(0xff), high = vi_set1(0xff0000);
    if (upper) return vi_or(vi_and(vi_srl(bytes, 16), low), vi_and(vi_srl(bytes, 8), high));
    return vi_or(vi_and(bytes, low), vi_and(vi_sll(bytes, 8), high));
}

/* The scales of both sixteens of run `run` (a constant) of a half, and Q2_K's minima; quant.c draws them. */
INLINE vi scales_k23(const enum ktype type, const uint8_t *w, int half, const int run, const int lane, vi *min)
{
    if (type == KT_Q2_K) {
        const vi both = two_bytes(vi_load(w + 128 + (2 * half + run / 2) * LINE + lane), run % 2);
        const vi four = vi_set1(0x000f000f);
        *min = vi_and(vi_srl(both, 4), four);
        return vi_and(both, four);
    }
    const uint8_t *sc = w + 64 + lane;
    const vi low = vi_and(vi_srl_by(vi_load(sc + run / 2 * LINE), 4 * half), vi_set1(0x0f0f0f0f));
    const vi high = vi_and(vi_srl_by(vi_load(sc + 2 * LINE), 4 * half + run / 2 * 2), vi_set1(0x03030303));
    return vi_sub16(two_bytes(vi_or(low, vi_sll(high, 4)), run % 2), vi_set1(0x00200020));
}

/* Less the sum of a sixteen's activations. */
INLINE int32_t less_sum(const struct act *x, const int half)
{
    return (x->start32[half] - ACT_LIFT) >> 5;
}

/* A run's sums into u, and Q2_K's of the minima into m.  Whole as they are, they need not be rounded: of a run they are
 * at most 2 * 16 * 4 * 127 times a scale of 32.  Sums of a sixteen have 16 bits. */
INLINE void run_k23(const int T, const int NV, const enum ktype type, const enum form form, const uint8_t *q,
                    const uint8_t *h, const int run, int bit, const int lane, const struct act *x, const vi *scale,
                    const vi *min, vf_tile u, vf_tile m)
{
    vi_tile isum[2];
    UNROLL for (int half = 0; half < 2; half++) {
        vi start[ISA_TILE];
        UNROLL for (int t = 0; t < T; t++) start[t] = vi_set1(type == KT_Q3_K ? 4 * less_sum(x + t, half) : 0);
        dot_steps(T, NV, form, q, h, run, bit, 4 * half, 4 * half + 4, lane, x, start, isum[half]);
    }
    UNROLL for (int t = 0; t < T; t++) {
        const vf dx = vf_set1(x[t].dx);
        const vi sums = vi_set1((int32_t)((uint32_t)less_sum(x + t, 1) << 16 | (less_sum(x + t, 0) & 0xffff)));
        UNROLL for (int v = 0; v < NV; v++) {
            const vi both = vi_or(vi_and(isum[0][t][v], vi_set1(0xffff)), vi_sll(isum[1][t][v], 16));
            u[t][v] = vf_fma(vf_from(vi_madd16(both, scale[v])), dx, u[t][v]);
            if (type == KT_Q2_K) m[t][v] = vf_fma(vf_from(vi_madd16(sums, min[v])), dx, m[t][v]);
        }
    }
}

INLINE void zero_k23(const int T, const int NV, vf_tile u)
{
    UNROLL for (int t = 0; t < T; t++)
        UNROLL for (int v = 0; v < NV; v++) u[t][v] = vf_zero();
}

/* What a block's runs come to, into acc. */
INLINE void end_k23(const int T, const int NV, const enum ktype type, const uint8_t *w, const int lane, vf_tile u,
                    vf_tile m, vf_tile acc)
{
    vf d[NV_MAX], dmin[NV_MAX];
    load_halves(NV, w, lane, d);
    if (type == KT_Q2_K) load_halves(NV, w + 64, lane, dmin);
    UNROLL for (int t = 0; t < T; t++)
        UNROLL for (int v = 0; v < NV; v++) {
            acc[t][v] = vf_fma(u[t][v], d[v], acc[t][v]);
            if (type == KT_Q2_K) acc[t][v] = vf_fma(m[t][v], dmin[v], acc[t][v]);
        }
}

/* Where the lines are that a half's runs share, and Q3_K's high bits. */
INLINE const uint8_t *low_k23(const enum ktype type, const uint8_t *w, int half)
{
    return w + (type == KT_Q2_K ? 128 + 4 * LINE : 64 + 11 * LINE) + half * 8 * LINE;
}

INLINE const uint8_t *high_k3(const uint8_t *w)
{
    return w + 64 + 3 * LINE;
}

/* A block times one token. */
INLINE void block_k23(const int NV, const enum ktype type, const uint8_t *w, const int lane, const struct act *x,
                      vf_tile acc, struct fetch *fetch)
{
    const enum form form = type == KT_Q2_K ? K2 : K3;
    vf_tile u, m;
    zero_k23(1, NV, u), zero_k23(1, NV, m);
    for (int half = 0; half < 2; half++)
        UNROLL for (int run = 0; run < 4; run++, x++) {
            const uint8_t *q = anew(NV, low_k23(type, w, half)), *h = anew(NV, high_k3(w));
            vi scale[NV_MAX], min[NV_MAX];
            if (run % 2 == 0) fetch_step(fetch);
            UNROLL for (int v = 0; v < NV; v++)
                scale[v] = scales_k23(type, w, half, run, lane + v * VB, &min[v]);
            run_k23(1, NV, type, form, q, h, run, 4 * half, lane, x, scale, min, u, m);
        }
    end_k23(1, NV, type, w, lane, u, m, acc);
}
