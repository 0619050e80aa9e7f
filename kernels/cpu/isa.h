/* isa.h - what one instruction set does for the steps: a table of functions over single rows and packed groups of rows.
 *
 * The same source (mul*.h, rows.h, attend*.h) is compiled four times, so all tables give the same bits for the same
 * arguments; they differ in speed.  Nothing here knows of threads. */
#ifndef ISA_H
#define ISA_H
#include "kernels/choose.h"
#include "kernels/kernels.h"

/* 1 in a build for tests alone: what AVX-512 and VNNI do is done by AVX2, slowly (tests/emulated/avx512.h), so that
 * their kernels can be judged on every machine. */
#ifndef ISA_EMULATED
#define ISA_EMULATED 0
#endif

enum {
    ISA_GROUP = 32, /* matrix rows that lie interleaved: pack.h */
    ISA_TILE = 8,   /* most tokens that one call of a mul works on */
    ISA_CHUNK = 64, /* tokens of one step of the online softmax */
    ISA_SPAN = 512, /* tokens whose sums are joined with those of the spans before: who is to join them is not asked */
    ISA_RUN = 16,   /* pages whose insides lie head by head (attn.c); a power of two */
    ISA_QUERIES = 32 /* most query heads times rows that attend() works on at a time */
};

/* 32 activations as integer kernels want them: x ~ q * dx.  A tile of T tokens keeps block b of its token t
 * at [b * T + t]. */
struct act {
    int8_t q[32];
    float dx;     /* the scale of quant_act32() */
    float mdx;    /* dx * -(sum of q), for formats with a minimum */
    int32_t start128, start8; /* ACT_LIFT - 128 (8) * (sum of q): undoes the offset of Q8_0 (Q4_0) */
    int32_t start32[2];       /* ACT_LIFT - 32 * (sum of q[0..15], q[16..31]), for Q6_K, Q3_K, Q2_K */
};

/* Where sums of byte products start: the bits of the float 1.5 * 2^23, whose last bit counts one.  So the bits of
 * ACT_LIFT + i are those of 1.5 * 2^23 + i for |i| < 2^22, and 32 products are at most 32 * 255 * 127 < 2^20. */
enum { ACT_LIFT = 0x4b400000 };

/* Where lines are fetched to ahead of their use: to the first cache, to the second, to the first and those ISA_FURTHER
 * bytes further on to the second, or to the first and past the second, as what is read once (prefetchnta). */
enum isa_fetch { ISA_FIRST, ISA_SECOND, ISA_BOTH, ISA_ONCE, ISA_FETCHES };
enum { ISA_FURTHER = 8 * 1024 };

/* So many cache lines from `at` on, or one more.  They need not exist: to fetch what is not there is no error. */
struct isa_ahead {
    const uint8_t *at;
    int lines;
    enum isa_fetch to;
};

/* acc[t][32] += one packed group of rows times T tokens, over n units of k.
 *   integer types: n blocks of the type; x: struct act of the tile; stride is not used
 *   float types:   n values of k, a multiple of 32 unless the row ends there; x: float, token t at x + t * stride
 * ahead: what to fetch into the cache meanwhile, spread over the call. */
typedef void isa_mul(const uint8_t *w, int n, const void *x, size_t stride, float *acc, struct isa_ahead ahead);

/* n packed blocks of an integer type taken apart, once for several tiles. */
typedef void isa_open(const uint8_t *w, int n, uint8_t *to);
struct isa_opener {
    isa_open *open; /* NULL: a type whose weights are bytes as they are, or gain nothing by it */
    uint16_t bytes; /* of a run of 32 values, opened */
    uint8_t tiles;  /* from so many on it costs less than it saves */
};

/* The same as isa_mul, bit for bit, of blocks that isa_open has opened; w: the packed ones, some of whose scales may
 * still be read. */
typedef void isa_mul_open(const uint8_t *w, const uint8_t *open, int n, const struct act *x, float *acc,
                          struct isa_ahead ahead);

/* Where K and V of one head of one layer lie.  attn.c draws it. */
struct isa_kv {
    uint8_t *slab;
    size_t page_bytes, head_bytes, v_at; /* of all heads of a page; of one: K, and V so far behind it */
    size_t head;                         /* layer * kv heads + kv head */
    int pages;                           /* of the slab */
};

_Static_assert((ISA_RUN & (ISA_RUN - 1)) == 0, "a page's place in its run is a mask");
static inline uint8_t *isa_kv_page(const struct isa_kv *kv, int page)
{
    const int in = page & (ISA_RUN - 1), first = page - in, run = MIN(ISA_RUN, kv->pages - first);
    return kv->slab + (size_t)first * kv->page_bytes + (kv->head * (size_t)run + (size_t)in) * kv->head_bytes;
}

/* Rows at neighbouring positions of one sequence, and one KV head: all query heads that share it.  rows is 1, or rows *
 * heads <= ISA_QUERIES. */
struct isa_attend {
    const float *q;           /* (rows, heads, dim), a row's first value `stride` behind the one's before */
    float *att;               /* the same */
    size_t stride;
    int rows, heads, dim;
    enum ktype kv;            /* of K and V: KT_F32, KT_F16 or KT_Q8_0 */
    struct isa_kv at;
    const int32_t *table;
    int pos, window;          /* of the first row; a row sees the last `window` positions, 0: all */
    float scale, softcap;
    const float *sinks;       /* (heads) a score more of each query that has no value, or NULL */
    bool lean;                /* isa_lean() */
    const struct isa_attend *then; /* what comes next: its first keys are fetched; or NULL */
    float *part;              /* NULL; or (rows, heads, isa_part()): not att, but what is summed up of `span` alone */
    int span;                 /* positions from span * ISA_SPAN on, of which some row sees one */
};

/* Floats of what is known of a query after some tokens: sum of weighted values (dim rounded up to 16) | sum of
 * weights | largest score, and room to a multiple of 16. */
static inline int isa_part(int dim)
{
    return (dim + 15) / 16 * 16 + 16;
}

/* A token and a head of a layer that keeps a state (struct kern_delta): q and k have their lengths. */
struct isa_delta {
    const float *q, *k, *v; /* (dim) */
    float decay, beta;
    float *o; /* (dim) */
};

struct cpu_isa {
    const char *name;                 /* "avx512" */
    const char *said;                 /* for describe() */
    const char *int_name, *float_name; /* for mat_kernel() */
    int tile;                         /* tokens are worked on in tiles of so many or less */
    uint8_t row_costs[KERN_FEW - 1];  /* struct kern's */
    uint8_t in_order[KT_END]; /* lone tiles of so many tokens or less read a group's lines once, in order, and compute
                               * so little to each that a processor may do better left alone */
    isa_mul *mul[KT_END][ISA_TILE + 1]; /* by type and tokens; NULL where there is none */
    bool opens; /* on every processor; else isa_opens() says it */
    struct isa_opener opener[KT_END];
    isa_mul_open *mul_open[KT_END][ISA_TILE + 1]; /* for the tokens that one of opener.tiles and more may have */

    /* y = x * w / rms(x), sums in double. */
    void (*norm)(const float *x, const float *w, int n, float eps, float *y);
    /* n blocks of 32 values to act[b * T]. */
    void (*quantise)(const float *x, int n, struct act *act, int T);
    /* h = act(gate) * up; KERN_OSS as struct kern_ffn's says */
    void (*gate)(enum kern_act act, const float *gate, const float *up, int n, float *h);
    /* y = y * sigmoid(gate) */
    void (*let)(const float *gate, int n, float *y);
    /* y = silu(sum over j of w[j][i] * in[j][i]), in rising j by fma; w: (taps, n).  times not NULL: y = times * sum */
    void (*conv)(const float *const *in, const float *w, int taps, int n, const float *times, float *y);
    /* n tokens, one after the other; S: (dim of keys, dim of values).  Sums are over dim, in rising order by fma:
     *     known = S^T k,   news = beta * (v - decay * known),   S = fma(k, news, S * decay),   o = S^T q */
    void (*delta)(float *S, int dim, const struct isa_delta *token, int n);
    /* y = cap * tanh(y / cap) */
    void (*softcap)(float *y, int n, float cap);
    /* One head after its projection, in place: + bias, norm, rotation; each may be NULL.  turn: (dims / 2) cos, then
     * sin. */
    void (*head)(float *x, int dim, const float *bias, const float *norm, float eps, const struct kern_rope *rope,
                 const float *turn);
    /* One token's k and v of one head to a page; token is 0..15 in it. */
    void (*kv_write)(const float *k, const float *v, int dim, enum ktype kv, uint8_t *page_k, uint8_t *page_v,
                     int token);
    void (*attend)(const struct isa_attend *a);
    /* att from parts: n spans that follow one another, from a->part on.  The same bits as attend() of all of them. */
    void (*attend_join)(const struct isa_attend *a, int n);
    struct choose_scans scans;
};

/* NULL: not compiled for this machine.  They may be called only where the processor has the instructions:
 * isa_choose(). */
const struct cpu_isa *isa_avx512(void);
const struct cpu_isa *isa_avxvnni(void);
const struct cpu_isa *isa_avx2(void);
const struct cpu_isa *isa_portable(void);

/* Which Zen a processor of AMD's is, by EAX of CPUID's leaf 1: 3, 4, or 0 for all others.  Both are family 0x19; of its
 * models 0x10 to 0x1f and those from 0x60 on are Zen 4. */
int isa_zen(uint32_t eax);

/* How this processor reads memory fastest.  Measured: Zen 5 and what is not known ISA_FIRST; Zen 4 ISA_SECOND, where
 * the first costs up to a third of the bandwidth; Zen 3 ISA_ONCE for one token, 2 to 6 points of a plain read more than
 * ISA_SECOND, which is better for two and what several get; Emerald Rapids, and so all of Intel's, ISA_BOTH, a tenth to
 * a fifth faster than the first two. */
enum isa_fetch isa_fetches(void);

/* Whether lines that are read in order had better not be asked for at all: measured on Zen 4, where that costs 4 to
 * 27 % of the bandwidth.  On Zen 3 products read up to a third faster with asking. */
bool isa_reads_ahead(void);

/* Whether several tiles had better read opened weights: measured on Emerald Rapids, where taking them apart keeps the
 * products' own units busy.  Zen has others for it. */
bool isa_opens(void);

/* Whether fewer instructions are worth more loads: measured for attention on Emerald Rapids, 5 to 10 % faster.  Not
 * measured on Zen; Zen 5 should have no more loads a cycle than such a loop takes. */
bool isa_lean(void);

/* By name; NULL or "auto" is the best that processor and operating system have.  NULL: err says what is missing. */
const struct cpu_isa *isa_choose(const char *name, struct err *err);
#endif
