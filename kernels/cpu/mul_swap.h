/* mul_swap.h - products of opened weights with the operands swapped, for sets of 16 registers without sums of byte
 * products in 32 bits.  Source, not interface: mul.h says who includes it, and the order of float sums.
 *
 * Of a product of bytes the signed one may be in memory.  So weights are opened as signed bytes, and activations made
 * unsigned: x + 128.  The sum of w * (x + 128) is 128 * (sum of w) too large, which is the row's matter, known when it
 * is opened; as are its scales as floats.  Tokens share no registers then: they come one by one, each with all 32 rows,
 * and its float sums stay in registers.  The code is short too, which counts where another thread shares the core.
 *
 * An opened run of 32 is lines of a dword a row: 8 of weights | starts, -128 * (sum of w) | scales | minima, of K
 * formats.  Q6_K has a start and a scale for each sixteen, and no minimum. */

#define SWAP_BYTES(type)                                                                                               \
    (RUN + ((type) == KT_Q6_K ? 4 : (type) == KT_Q4_K || (type) == KT_Q5_K ? 3 : 2) * LINE)

/* What a weight is less than what the file has: else pairs of products would not fit 16 bits.  Where a format has a
 * minimum the sums are so many sums of x too small, which is the token's matter. */
INLINE int swap_offset(const enum form form)
{
    return form == K6 ? 32 : form == F5 || form == K5 ? 16 : form == FP4 ? 12 : 8;
}

/* ---------------------------------------------------------------------- opening */

/* A scale that whole sums times it have the bits of times(), also where it is infinite: NaN. */
INLINE vi swap_scale(vf d)
{
    return vi_of_bits(vf_add(d, vf_fma(vf_set1(LIFT), d, sink(d))));
}

/* A run's weights and starts, from byte `lane` of each line on. */
INLINE void swap_weights(const enum form form, const uint8_t *q, const uint8_t *h, const int run, int bit,
                         const int lane, uint8_t *to)
{
    const int starts = form == K6 ? 2 : 1, steps = 8 / starts;
    UNROLL for (int i = 0; i < starts; i++) {
        vi sum = vi_set1(0); /* of bytes: -128 is the least in all forms */
        UNROLL for (int s = i * steps; s < (i + 1) * steps; s++) {
            const vi w = weights(form, q, h, run, bit, s, lane);
            const vi less = vi_sub8(w, vi_set1(swap_offset(form) * 0x01010101));
            put_line(to + s * LINE + lane, less);
            sum = vi_add8(sum, less);
        }
        const vi all = vacc_end(vacc_dot(vacc_start(vi_set1(0)), vi_set1(0x01010101), sum), vi_set1(0));
        put_line(to + RUN + i * LINE + lane, vi_sub(vi_set1(0), vi_sll(all, 7)));
    }
}

INLINE void swap_block32(const enum ktype type, const uint8_t *w, const int lane, uint8_t *to)
{
    swap_weights(form32(type), quants32(type, w), NULL, 0, 0, lane, to);
    put_line(to + RUN + LINE + lane, swap_scale(scale32(type, w, lane)));
}

INLINE void swap_k45(const enum ktype type, const uint8_t *w, const int lane, uint8_t *to)
{
    const enum form form = type == KT_Q5_K ? K5 : K4;
    const uint8_t *sc = w + 128, *h = sc + 3 * LINE, *q = type == KT_Q5_K ? h + 8 * LINE : h;
    const vf d = vf_f16(w + lane / 2), dmin = vf_f16(w + 64 + lane / 2);
    vi s[2][NV_MAX], m[2][NV_MAX];
    scale_bytes(1, sc, lane, s, m);
    for (int j = 0; j < 8; j++, to += SWAP_BYTES(type)) {
        const uint8_t *pair = q + j / 2 * 8 * LINE;
        vf scale, min;
        if (j % 2) swap_weights(form, pair, h, 1, j, lane, to);
        else swap_weights(form, pair, h, 0, j, lane, to);
        scale_run(1, s[j / 4], j % 4, &d, &scale);
        scale_run(1, m[j / 4], j % 4, &dmin, &min);
        put_line(to + RUN + LINE + lane, swap_scale(scale));
        put_line(to + RUN + 2 * LINE + lane, vi_of_bits(min));
    }
}

INLINE void swap_k6(const uint8_t *w, const int lane, uint8_t *to)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *sc = w + 64 + 2 * half * LINE, *q = w + 64 + (4 + 24 * half) * LINE;
        UNROLL for (int run = 0; run < 4; run++, to += SWAP_BYTES(KT_Q6_K)) {
            swap_weights(K6, q, NULL, run, 0, lane, to);
            put_line(to + RUN + 2 * LINE + lane, vi_of_bits(scale_k6(sc, run, 0, lane)));
            put_line(to + RUN + 3 * LINE + lane, vi_of_bits(scale_k6(sc, run, 1, lane)));
        }
    }
}

INLINE void swap_block(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    for (int lane = 0; lane < LINE; lane += VB) {
        if (type == KT_Q4_K || type == KT_Q5_K) swap_k45(type, w, lane, to);
        else if (type == KT_Q6_K) swap_k6(w, lane, to);
        else swap_block32(type, w, lane, to);
    }
}

/* --------------------------------------------------------------------- products */

/* isum = a token's sums over steps first .. last - 1 of a run, from `start` on.  Four dwords of activations are loaded
 * at a time, and then put into all lanes: loads are what is short. */
INLINE void swap_steps(const enum form form, const uint8_t *run, const struct act *x, const int first, const int last,
                       const uint8_t *start, vi isum[NV_MAX])
{
    const int spill = form == K6 ? 2 : form == F5 || form == FP4 || form == K5 ? 4 : 8;
    vacc a[NV_MAX];
    vi four = vi_set1(0);
    UNROLL for (int v = 0; v < NV_MAX; v++) a[v] = vacc_start(vi_set1(0));
    UNROLL for (int s = first; s < last; s++) {
        if (s % 4 == 0) four = vi_xor(vi_load4(x->q + 4 * s), vi_set1((int32_t)0x80808080));
        const vi xs = vi_of4(four, s % 4);
        UNROLL for (int v = 0; v < NV_MAX; v++) {
            a[v] = vacc_dot_swapped(a[v], xs, run + s * LINE + v * VB);
            if ((s + 1 - first) % spill == 0 && s + 1 < last) a[v] = vacc_spill(a[v]);
        }
    }
    UNROLL for (int v = 0; v < NV_MAX; v++) isum[v] = vacc_end(a[v], vi_load(start + v * VB));
}

INLINE vf line_float(const uint8_t *line, const int v)
{
    return vf_of_bits(vi_load(line + v * VB));
}

INLINE void swap_run(const enum ktype type, const enum form form, const uint8_t *run, const struct act *x, vf *acc)
{
    const bool has_min = type == KT_Q4_K || type == KT_Q5_K;
    const uint8_t *end = run + RUN;
    const vf dx = vf_set1(x->dx), mdx = vf_set1(x->mdx);
    vi isum[NV_MAX];
    swap_steps(form, run, x, 0, 8, end, isum);
    if (has_min) {
        vi less = vi_sub(bcast32(&x->start8), vi_set1(ACT_LIFT)); /* -8 * (sum of x) */
        if (swap_offset(form) == 16) less = vi_add(less, less);
        UNROLL for (int v = 0; v < NV_MAX; v++) isum[v] = vi_sub(isum[v], less);
    }
    UNROLL for (int v = 0; v < NV_MAX; v++) {
        acc[v] = vf_fma(vf_mul(vf_from(isum[v]), line_float(end + LINE, v)), dx, acc[v]);
        if (has_min) acc[v] = vf_fma(line_float(end + 2 * LINE, v), mdx, acc[v]);
    }
}

INLINE void swap_run_k6(const uint8_t *run, const struct act *x, vf *u)
{
    const vf dx = vf_set1(x->dx);
    UNROLL for (int half = 0; half < 2; half++) {
        const uint8_t *start = run + RUN + half * LINE;
        vi isum[NV_MAX];
        swap_steps(K6, run, x, 4 * half, 4 * half + 4, start, isum);
        UNROLL for (int v = 0; v < NV_MAX; v++)
            u[v] = vf_fma(vf_mul(vf_from(isum[v]), line_float(start + 2 * LINE, v)), dx, u[v]);
    }
}

/* n blocks of Q6_K, whose d is still in the packed ones. */
INLINE void swap_token_k6(const int bytes, const uint8_t *w, const uint8_t *open, int n, const struct act *x, int T,
                          vf *acc, struct fetch *fetch)
{
    for (; n > 0; n--, w += bytes)
        for (int half = 0; half < 2; half++) {
            vf u[NV_MAX];
            UNROLL for (int v = 0; v < NV_MAX; v++) u[v] = vf_zero();
            for (int run = 0; run < 4; run++, open += SWAP_BYTES(KT_Q6_K), x += T) {
                fetch_step(fetch);
                swap_run_k6(open, x, u);
            }
            UNROLL for (int v = 0; v < NV_MAX; v++) acc[v] = vf_fma(u[v], vf_f16(w + v * VB / 2), acc[v]);
        }
}

/* n blocks times a tile of T tokens. */
INLINE void swap_tile(const enum ktype type, const int bytes, const uint8_t *w, const uint8_t *open, int n,
                      const struct act *x, int T, float *sums, struct isa_ahead ahead)
{
    const enum form form = type == KT_Q5_K ? K5 : type == KT_Q4_K ? K4 : form32(type);
    const int runs = n * runs_of(type);
    struct fetch fetch = fetch_over(ahead, runs * T);
    for (int t = 0; t < T; t++, sums += ISA_GROUP) {
        vf acc[NV_MAX];
        UNROLL for (int v = 0; v < NV_MAX; v++) acc[v] = vf_load(sums + v * LANES);
        if (type == KT_Q6_K) {
            swap_token_k6(bytes, w, open, n, x + t, T, acc, &fetch);
        } else for (int i = 0; i < runs; i++) {
            fetch_step(&fetch);
            swap_run(type, form, open + i * SWAP_BYTES(type), x + i * T + t, acc);
        }
        UNROLL for (int v = 0; v < NV_MAX; v++) vf_store(sums + v * LANES, acc[v]);
    }
}
