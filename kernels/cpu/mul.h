/* mul.h - packed weights times activations: the inner loops of every matrix product.  Source, not interface: an
 * isa_*.c includes it after its simd_*.h, and then
 *
 *     mul_k.h      the K formats, as the end of this file has those of 32 a block
 *     mul_strip.h  rows and blocks gone over; floats; blocks opened for many tiles
 *     mul_swap.h   another way of opened blocks, of AVX2 alone
 *     mul_shared.h types whose tiles share their functions
 *     mul_table.h  all of it by type and tokens
 *
 * Lanes are rows (pack.h).  A function takes T tokens (a constant) and goes over the 32 rows in strips of NV
 * vectors, so that NV * T integer sums and NV * T float sums fit the registers.  Weights are unsigned, activations
 * signed; the offset of a format (8, 12, 16, 32, 128) is undone by starting the integer sum at -offset * sum(x).
 *
 * The order of a row's float sum is the same for every T, strip, chunk of k and instruction set:
 *     acc = 0; for blocks in rising k:   acc = fma(isum * dw, dx, acc), isum exact, isum * dw rounded once
 *         with a minimum:          then acc = fma(m, dx * sum(x), acc); K formats fma(dmin * m, dx * -sum(x), acc)
 *         Q6_K, a half of 128:     u = fma(isum * scale, dx, u) over its 8 sixteens, then acc = fma(u, d, acc);
 *                                  what is in the first place is exact
 *         Q3_K and Q2_K, a block:  u = fma(s, dx, u) over its 8 runs, s the exact sum of both sixteens' isum * scale,
 *                                  then acc = fma(u, d, acc); the same of minima, min * -sum(x), by dmin
 *     floats: per 32 k: s = fma(w, x, s) in rising k from 0, then acc = acc + s
 *
 * Integer sums start ACT_LIFT higher (isa.h), so that their bits are those of the float LIFT + isum: isum * dw is one
 * fma, with -LIFT * dw computed once for all tokens, where it would be a conversion and a product. */

#define LIFT 0x1.8p23f /* the float whose bits are ACT_LIFT */

enum { NV_MAX = 32 / LANES, VB = 4 * LANES /* bytes of a vector */, LINE = 4 * ISA_GROUP /* a dword of each row */,
       RUN = 8 * LINE /* an opened run of 32 */ };

typedef vf vf_tile[ISA_TILE][NV_MAX];
typedef vi vi_tile[ISA_TILE][NV_MAX];

/* ---------------------------------------------------------------------- pieces */

INLINE vi bcast32(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return vi_set1(v);
}

/* Lines still to be fetched ahead of their use, some at each of a call's equal steps: one by one to the second cache or
 * for once, else in pairs. */
struct fetch {
    const uint8_t *at;
    uint32_t due, each; /* lines or pairs, in 65536ths: owed by now, and more with each step */
    enum isa_fetch to;
};

INLINE struct fetch fetch_over(struct isa_ahead ahead, int steps)
{
    const bool singly = ahead.to == ISA_SECOND || ahead.to == ISA_ONCE;
    const int lines = singly ? ahead.lines : (ahead.lines + 1) / 2;
    uint64_t all = (uint64_t)lines << 16, n = (uint64_t)MAX(steps, 1);
    return (struct fetch){ahead.at, 0, (uint32_t)((all + n - 1) / n), ahead.to};
}

/* As few instructions a line as may be: where another thread shares the core, they are what is short.  The first lines
 * of a page (of 4096 bytes) are asked for a page early: a processor that fetches ahead by itself stops at its end, and
 * begins the next when it sees them.  To the second cache alone is Zen 4's way: it reads faster with lines asked for
 * one by one, and, where none is, without instructions for that either. */
INLINE void fetch_step(struct fetch *f)
{
    if (!f->each) return;
    f->due += f->each;
    if (f->to == ISA_SECOND) {
        for (; f->due >> 16; f->due -= 1 << 16, f->at += 64) __builtin_prefetch(f->at, 0, 2);
        return;
    }
    if (f->to == ISA_ONCE) {
        for (; f->due >> 16; f->due -= 1 << 16, f->at += 64) __builtin_prefetch(f->at, 0, 0);
        return;
    }
    const uint8_t *end = f->at + (size_t)(f->due >> 16) * 128;
    f->due &= 0xffff;
    for (const uint8_t *p = f->at; p < end; p += 128) {
        __builtin_prefetch(p, 0, 3);
        __builtin_prefetch(p + 64, 0, 3);
    }
    if (f->to == ISA_BOTH)
        for (const uint8_t *p = f->at + ISA_FURTHER, *last = end + ISA_FURTHER; p < last; p += 128) {
            __builtin_prefetch(p, 0, 2);
            __builtin_prefetch(p + 64, 0, 2);
            if ((uintptr_t)p % 4096 < 128)
                UNROLL for (int line = 0; line < 4; line++) __builtin_prefetch(p + 4096 + 64 * line, 0, 2);
        }
    f->at = end;
}

/* Where nothing is fetched ahead, the processor has to see for itself that lines are read in order.  A K block's first
 * are not: scales are read as they are needed. */
INLINE void see_lines(const struct fetch *f, const uint8_t *p, const int lines)
{
    if (f->each) return;
    UNROLL for (int i = 0; i < lines; i++) __builtin_prefetch(p + 64 * i, 0, 3);
}

/* In so many steps a block's lines are fetched.  52 at once are more than the processor keeps under way: where much is
 * computed meanwhile, few at a time arrive sooner; for few tokens of AVX-512, which only wait for them, they do not. */
INLINE int steps_of(const enum ktype type, const int T)
{
    if (type == KT_Q6_K) return K6_IN_ORDER && T < 4 ? 2 : 8;
    return type == KT_Q4_K || type == KT_Q5_K || type == KT_IQ4_XS || type == KT_Q3_K || type == KT_Q2_K ? 4 : 1;
}

/* The same pointer, which the compiler no longer knows to be the same: else it keeps what one run has loaded for the
 * next that reads it too, and has to put it on the stack for that.  It does take two of these for one, if they are not
 * volatile, which is right where a step has no more than two vectors: not all of them go to the stack then. */
INLINE const uint8_t *anew(const int NV, const uint8_t *p)
{
    if (NV > 2) __asm__ volatile("" : "+r"(p));
    else __asm__("" : "+r"(p));
    return p;
}

/* How the bytes of a step are got from memory.  q: the first line of quants; h: high bits of K5 and K3.  A kernel must
 * fit the processor's cache for code with room to spare: the runs of K formats are a loop over pairs (K4, K5) or halves
 * (K6, K3, K2), and only what is inside is unrolled.  OPEN: as open_TYPE() has put them, for instruction sets whose
 * sums of byte products have 32 bits, and for weights below 16. */
enum form { F8, F4, F5, FP4, NL, K4, K5, K6, K3, K2, OPEN };

/* MXFP4's values, times 2, 12 too large. */
static const uint8_t fp4_up[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* IQ4's. */
static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* Weights of step s (0..7), rows from byte `lane` of a line on.  run, a constant: which of a K format's pair (0, 1) or
 * half (0..3), K4's of run 1 HIGH_TIMES as large; bit: K5's in h, and where K3's nibble begins. */
INLINE vi weights(const enum form form, const uint8_t *q, const uint8_t *h, const int run, int bit, const int s,
                  const int lane)
{
    const vi low = vi_set1(0x0f0f0f0f);
    switch (form) {
    case F8:
    case OPEN: return vi_load(q + s * LINE + lane);
    case F4:
    case NL:
    case FP4: {
        vi w = vi_load(q + s % 4 * LINE + lane);
        w = vi_and(s < 4 ? w : vi_srl(w, 4), low);
        return form == FP4 ? vi_pick(fp4_up, w) : form == NL ? vi_pick8(uneven, w) : w;
    }
    case F5: {
        const uint8_t *at = q + lane;
        const int three = s == 5 ? 0 : s == 6 ? 2 : 4; /* the line of whose bits the step has three */
        if (s < 5) return vi_and(vi_load(at + s * LINE), vi_set1(0x1f1f1f1f));
        vi w = vi_and(vi_srl(vi_load(at + three * LINE), 3), vi_set1(0x1c1c1c1c));
        if (s < 7) return vi_or(vi_and(vi_srl(vi_load(at + (three + 1) * LINE), 6), vi_set1(0x03030303)), w);
        w = vi_or(vi_and(vi_srl(vi_load(at + 3 * LINE), 4), vi_set1(0x02020202)), w);
        return vi_or(vi_and(vi_srl(vi_load(at + LINE), 5), vi_set1(0x01010101)), w);
    }
    case K4:
    case K5: {
        vi w = vi_load(q + s * LINE + lane);
        if (form == K4 && run && HIGH_TIMES == 16) return vi_and(w, vi_set1((int32_t)0xf0f0f0f0));
        w = vi_and(run ? vi_srl(w, 4) : w, low);
        if (form == K4) return w;
        vi top = vi_sll(vi_srl_by(vi_load(h + s * LINE + lane), bit), 4);
        return vi_or(w, vi_and(top, vi_set1(0x10101010)));
    }
    case K2: return vi_and(vi_srl(vi_load(q + s * LINE + lane), 2 * run), vi_set1(0x03030303));
    case K3: {
        const uint8_t *at = q + s * LINE + lane, *high = h + s * LINE + lane;
        if (run < 2) return vi_and(vi_srl(vi_load(at), 3 * run), vi_set1(0x07070707));
        if (run == 3) return vi_and(vi_srl_by(vi_load(high), bit), vi_set1(0x07070707));
        const vi w = vi_and(vi_srl_by(vi_load(high), bit + 1), vi_set1(0x04040404));
        return vi_or(w, vi_and(vi_srl(vi_load(at), 6), vi_set1(0x03030303)));
    }
    default: { /* K6: q is the half's first line */
        const uint8_t *at = q + 3 * s * LINE + lane;
        if (run < 3) return vi_and(vi_load(at + run * LINE), vi_set1(0x3f3f3f3f));
        vi w = vi_and(vi_srl(vi_load(at), 2), vi_set1(0x30303030));
        w = vi_or(vi_and(vi_srl(vi_load(at + LINE), 4), vi_set1(0x0c0c0c0c)), w);
        return vi_or(vi_and(vi_srl(vi_load(at + 2 * LINE), 6), vi_set1(0x03030303)), w);
    }
    }
}

/* isum = sum over steps first .. last - 1 of weights times activations; it starts at start[t].  A lone token's odd
 * steps have sums of their own, since each product waits for the one before it.  Activations are operands in memory
 * for a lone vector; and, where an isa_*.c says EVEN_IN_MEMORY (its vacc_dot8 is vacc_dot then), in each second step of
 * a tile: an instruction less a token for a load more; in all steps loads could be what is short. */
INLINE void dot_steps(const int T, const int NV, const enum form form, const uint8_t *q, const uint8_t *h,
                      const int run, int bit, const int first, const int last, const int lane,
                      const struct act *x, const vi *start, vi_tile isum)
{
    const int spill = form == K6 ? 2 : form == F5 || form == FP4 || form == K5 ? 4 : 8;
    const int chains = T * NV <= 2 ? 2 : 1, together = STEPS_TOGETHER(form);
    const bool wide = form == F8 || form == NL; /* weights of 8 bits, which are signed */
    vacc a[2][ISA_TILE][NV_MAX];

    UNROLL for (int c = 0; c < chains; c++)
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int v = 0; v < NV; v++) {
                if (c) a[c][t][v] = vacc_start(vi_set1(0));
                else if (wide) a[c][t][v] = vacc_start8(vi_set1(ACT_LIFT), start[t]);
                else a[c][t][v] = vacc_start(start[t]);
            }
    UNROLL for (int s0 = first; s0 < last; s0 += together) {
        vi w[8][NV_MAX];
        UNROLL for (int i = 0; i < together; i++)
            UNROLL for (int v = 0; v < NV; v++) w[i][v] = weights(form, q, h, run, bit, s0 + i, lane + v * VB);
        UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int s = s0; s < s0 + together; s++) {
                const int c = s % chains;
                const bool in_memory = (NV == 1 && !wide) || (EVEN_IN_MEMORY && T > 2 && s % 2 == 0);
                const void *at = x[t].q + 4 * s;
                vi xs = bcast32(at);
                UNROLL for (int v = 0; v < NV; v++) {
                    if (in_memory) a[c][t][v] = vacc_dot_at(a[c][t][v], w[s - s0][v], at);
                    else if (wide) a[c][t][v] = vacc_dot8(a[c][t][v], w[s - s0][v], xs);
                    else a[c][t][v] = vacc_dot(a[c][t][v], w[s - s0][v], xs);
                    if ((s + 1 - first) % spill == 0 && s + 1 < last) a[c][t][v] = vacc_spill(a[c][t][v]);
                }
            }
    }
    UNROLL for (int t = 0; t < T; t++)
        UNROLL for (int v = 0; v < NV; v++) {
            if (wide) isum[t][v] = vacc_end8(a[0][t][v], vi_set1(ACT_LIFT), start[t]);
            else isum[t][v] = vacc_end(a[0][t][v], start[t]);
            if (chains == 2) isum[t][v] = vi_add(isum[t][v], vacc_end(a[1][t][v], vi_set1(0)));
        }
}

/* Where the integer sums start with weights that are `offset` (a constant) too large. */
INLINE vi start_of(const int offset, const struct act *x)
{
    if (offset == 0) return vi_set1(ACT_LIFT);
    if (offset == 128) return bcast32(&x->start128);
    if (offset == 8) return bcast32(&x->start8);
    if (offset == 12) {
        const vi eight = bcast32(&x->start8);
        return vi_add(eight, vi_sra(vi_sub(eight, vi_set1(ACT_LIFT)), 1));
    }
    return vi_sub(vi_sll(bcast32(&x->start8), 1), vi_set1(ACT_LIFT)); /* 16 */
}

/* All 8 steps of a run. */
INLINE void dot_run(const int T, const int NV, const enum form form, const int offset, const uint8_t *q,
                    const uint8_t *h, const int run, int bit, const int lane, const struct act *x, vi_tile isum)
{
    vi start[ISA_TILE];
    UNROLL for (int t = 0; t < T; t++) start[t] = start_of(offset, x + t);
    dot_steps(T, NV, form, q, h, run, bit, 0, 8, lane, x, start, isum);
}

/* isum * d, rounded once; isum as dot_run() leaves it, sunk = sink(d). */
INLINE vf times(vi isum, vf d, vf sunk)
{
    return vf_fma(vf_of_bits(isum), d, sunk);
}

/* What times() takes off again.  It is exact, for no scale has more than 17 bits. */
INLINE vf sink(vf d)
{
    return vf_mul(d, vf_set1(-LIFT));
}

/* Scales that are powers of two, halved for weights that are doubled: quant_e8m0() * 0.5, and infinite for NaN. */
INLINE vf load_e8m0(const uint8_t *p)
{
    return vf_mul(vf_max(vf_of_bits(vi_sll(vi_u8(p), 23)), vf_set1(0x1p-127f)), vf_set1(0.5f));
}

INLINE void load_halves(const int NV, const uint8_t *p, const int lane, vf *d)
{
    UNROLL for (int v = 0; v < NV; v++) d[v] = vf_f16(p + lane / 2 + v * VB / 2);
}

/* Floats, one a row, of a line of an opened run. */
INLINE void load_line(const int NV, const uint8_t *line, const int lane, vf *to)
{
    UNROLL for (int v = 0; v < NV; v++) to[v] = vf_of_bits(vi_load(line + lane + v * VB));
}

/* ------------------------------------------------------ formats of 32 a block */

INLINE enum form form32(const enum ktype type)
{
    switch (type) {
    case KT_Q8_0: return F8;
    case KT_MXFP4: return FP4;
    case KT_IQ4_NL: return NL;
    default: return type == KT_Q5_0 || type == KT_Q5_1 ? F5 : F4;
    }
}

/* Where the quants of a packed block begin. */
INLINE const uint8_t *quants32(const enum ktype type, const uint8_t *w)
{
    return w + (type == KT_Q4_1 || type == KT_Q5_1 ? 128 : type == KT_MXFP4 ? 32 : 64);
}

/* A packed block's scales. */
INLINE vf scale32(const enum ktype type, const uint8_t *w, const int lane)
{
    return type == KT_MXFP4 ? load_e8m0(w + lane / 4) : vf_f16(w + lane / 2);
}

/* w: the packed block; open: its opened weights, if it is (a constant), 128 too large as Q8_0's are where the format
 * has no minimum; x: its T activations. */
INLINE void block32(const int T, const int NV, const enum ktype type, const bool opened, const uint8_t *w,
                    const uint8_t *open, const int lane, const struct act *x, vf_tile acc)
{
    const bool has_min = type == KT_Q4_1 || type == KT_Q5_1;
    const enum form form = form32(type);
    const int offset = has_min ? 0 : form == F8 || form == NL || opened ? 128 : form == FP4 ? 12 : form == F5 ? 16 : 8;
    const uint8_t *q = quants32(type, w);
    vi_tile isum;
    vf d[NV_MAX], sunk[NV_MAX], m[NV_MAX];

    if (opened) dot_run(T, NV, OPEN, offset, open, NULL, 0, 0, lane, x, isum);
    else dot_run(T, NV, form, offset, q, NULL, 0, 0, lane, x, isum);
    UNROLL for (int v = 0; v < NV; v++) {
        d[v] = scale32(type, w, lane + v * VB);
        sunk[v] = sink(d[v]);
    }
    if (has_min) load_halves(NV, w + 64, lane, m);
    UNROLL for (int t = 0; t < T; t++) {
        vf dx = vf_set1(x[t].dx), mdx = vf_set1(x[t].mdx);
        UNROLL for (int v = 0; v < NV; v++) {
            acc[t][v] = vf_fma(times(isum[t][v], d[v], sunk[v]), dx, acc[t][v]);
            if (has_min) acc[t][v] = vf_fnma(m[v], mdx, acc[t][v]);
        }
    }
}
