/* mul_strip.h - rows of packed blocks times a tile of tokens, strip by strip; and blocks opened for many tiles.
 * Source, not interface: mul.h says who includes it. */

/* ----------------------------------------------------------------------- opened */

INLINE void put_line(uint8_t *to, vi v)
{
    memcpy(to, &v, sizeof v);
}

/* One byte a weight, 8 lines a run of 32: where several tiles read them, taking them apart once for all is worth the
 * way through the first cache.  `up` is added to each, and does not overflow it.  K formats' scales and minima follow
 * as floats, as OPEN_BYTES says: six instructions less a run of each tile. */
INLINE void open_run(const enum form form, const uint8_t *q, const uint8_t *h, const int run, int bit, const int up,
                     uint8_t *to)
{
    for (int lane = 0; lane < LINE; lane += VB)
        UNROLL for (int s = 0; s < 8; s++) {
            vi w = weights(form, q, h, run, bit, s, lane);
            if (up) w = vi_add(w, vi_set1(up * 0x01010101));
            put_line(to + s * LINE + lane, w);
        }
}

INLINE void open_k45(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    const enum form form = type == KT_Q5_K ? K5 : K4;
    const uint8_t *h = w + 128 + 3 * LINE, *q = form == K5 ? h + 8 * LINE : h;
    const int step = OPEN_BYTES(type);
    for (int lane = 0; lane < LINE; lane += VB) {
        const struct head_k45 b = head_k45(1, type, w, lane);
        uint8_t *at = to + RUN + lane;
        for (int j = 0; j < 8; j++, at += step) {
            vf scale, min;
            scale_run(1, b.s[j / 4], j % 4, b.d[j % 2], &scale);
            scale_run(1, b.m[j / 4], j % 4, b.dmin, &min);
            put_line(at, vi_of_bits(scale));
            put_line(at + LINE, vi_of_bits(min));
        }
    }
    for (int j = 0; j < 8; j += 2, q += 8 * LINE, to += 2 * step) {
        open_run(form, q, h, 0, j, 0, to);
        open_run(form, q, h, 1, j + 1, 0, to + step);
    }
}

INLINE void open_k6(const uint8_t *w, uint8_t *to)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *sc = w + 64 + 2 * half * LINE, *q = w + 64 + (4 + 24 * half) * LINE;
        UNROLL for (int run = 0; run < 4; run++, to += OPEN_BYTES(KT_Q6_K)) {
            open_run(K6, q, NULL, run, 0, 0, to);
            for (int lane = 0; lane < LINE; lane += VB) {
                put_line(to + RUN + lane, vi_of_bits(scale_k6(sc, run, 0, lane)));
                put_line(to + RUN + LINE + lane, vi_of_bits(scale_k6(sc, run, 1, lane)));
            }
        }
    }
}

INLINE void open_block(const enum ktype type, const uint8_t *w, uint8_t *to)
{
    if (type == KT_Q4_K || type == KT_Q5_K) {
        open_k45(type, w, to);
    } else if (type == KT_Q6_K) {
        open_k6(w, to);
    } else {
        const int up = type == KT_Q4_0 ? 128 - 8 : type == KT_MXFP4 ? 128 - 12 : type == KT_Q5_0 ? 128 - 16 : 0;
        open_run(form32(type), quants32(type, w), NULL, 0, 0, up, to);
    }
}

/* ----------------------------------------------------------------------- strips */

/* Runs of 32 in a block. */
INLINE int runs_of(const enum ktype type)
{
    switch (type) {
    case KT_Q4_K:
    case KT_Q5_K:
    case KT_Q6_K:
    case KT_IQ4_XS:
    case KT_Q3_K:
    case KT_Q2_K: return 8;
    default: return 1;
    }
}

INLINE void acc_load(const int T, const int NV, const float *from, vf_tile acc)
{
    UNROLL for (int t = 0; t < T; t++)
        UNROLL for (int v = 0; v < NV; v++) acc[t][v] = vf_load(from + t * ISA_GROUP + v * LANES);
}

INLINE void acc_store(const int T, const int NV, float *to, vf_tile acc)
{
    UNROLL for (int t = 0; t < T; t++)
        UNROLL for (int v = 0; v < NV; v++) vf_store(to + t * ISA_GROUP + v * LANES, acc[t][v]);
}

INLINE void block_int(const int T, const int NV, const enum ktype type, const bool opened, const uint8_t *w,
                      const uint8_t *open, const int lane, const struct act *x, vf_tile acc, struct fetch *fetch)
{
    if (type == KT_Q4_K || type == KT_Q5_K) {
        block_k45(T, NV, type, opened, w, open, lane, x, acc, fetch);
    } else if (type == KT_Q6_K) {
        block_k6(T, NV, opened, w, open, lane, x, acc, fetch);
    } else if (type == KT_IQ4_XS) {
        block_xs(NV, w, lane, x, acc, fetch);
    } else if (type == KT_Q3_K || type == KT_Q2_K) {
        block_k23(NV, type, w, lane, x, acc, fetch);
    } else {
        fetch_step(fetch);
        block32(T, NV, type, opened, w, open, lane, x, acc);
    }
}

/* Rows of strip [lane / 4, lane / 4 + NV * LANES) of n packed blocks. */
INLINE void strip_int(const int T, const int NV, const enum ktype type, const bool opened, const int bytes,
                      const uint8_t *w, const uint8_t *open, int n, const struct act *x, const int lane, float *out,
                      struct isa_ahead ahead)
{
    const int runs = runs_of(type);
    struct fetch fetch = fetch_over(ahead, n * steps_of(type, T));
    vf_tile acc;
    acc_load(T, NV, out, acc);
    for (; n > 0; n--, w += bytes) {
        block_int(T, NV, type, opened, w, open, lane, x, acc, &fetch);
        x += runs * T;
        if (opened) open += runs * OPEN_BYTES(type);
    }
    acc_store(T, NV, out, acc);
}

/* All rows of n packed blocks, NV vectors of them at a time: block by block, so that memory is read in order.  For
 * where float sums do not stay in registers anyway. */
INLINE void split_int(const int T, const int NV, const enum ktype type, const bool opened, const int bytes,
                      const uint8_t *w, const uint8_t *open, int n, const struct act *x, float *out,
                      struct isa_ahead ahead)
{
    const int runs = runs_of(type);
    struct fetch fetch = fetch_over(ahead, n * steps_of(type, T) * (NV_MAX / NV));
    for (; n > 0; n--, w += bytes, x += runs * T) {
        for (int row = 0; row < ISA_GROUP; row += NV * LANES) {
            vf_tile acc;
            acc_load(T, NV, out + row, acc);
            block_int(T, NV, type, opened, w, open, 4 * row, x, acc, &fetch);
            acc_store(T, NV, out + row, acc);
        }
        if (opened) open += runs * OPEN_BYTES(type);
    }
}

INLINE vf load_float(const enum ktype type, const uint8_t *w, const int at)
{
    if (type == KT_F16) return vf_f16(w + 2 * at);
    if (type == KT_BF16) return vf_bf16(w + 2 * at);
    return vf_of_bits(vi_load(w + 4 * at));
}

/* n values of k; w is at the first of them. */
INLINE void strip_float(const int T, const int NV, const enum ktype type, const uint8_t *w, int n, const float *x,
                        size_t stride, const int row, float *out, struct isa_ahead ahead)
{
    struct fetch fetch = fetch_over(ahead, n);
    const int size = type == KT_F32 ? 4 : 2, line = ISA_GROUP * size;
    vf_tile acc;
    acc_load(T, NV, out, acc);
    for (int k0 = 0; k0 < n; k0 += 32) {
        vf_tile s;
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int v = 0; v < NV; v++) s[t][v] = vf_zero();
        for (int k = k0; k < MIN(k0 + 32, n); k++, w += line) {
            vf f[NV_MAX];
            fetch_step(&fetch);
            UNROLL for (int v = 0; v < NV; v++) f[v] = load_float(type, w, row + v * LANES);
            UNROLL for (int t = 0; t < T; t++) {
                vf xk = vf_set1(x[(size_t)t * stride + (size_t)k]);
                UNROLL for (int v = 0; v < NV; v++) s[t][v] = vf_fma(f[v], xk, s[t][v]);
            }
        }
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int v = 0; v < NV; v++) acc[t][v] = vf_add(acc[t][v], s[t][v]);
    }
    acc_store(T, NV, out, acc);
}
