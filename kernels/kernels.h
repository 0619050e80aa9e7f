/* kernels.h - the steps of a transformer's forward pass, as a table of functions that each backend fills.
 *
 *     embed -> [ attn_in -> attn -> project -> ffn ] x layers -> output -> sample -> fetch
 *                      delta      (gate before project, where attention has one)
 *                      conv
 *
 * The steps are already fused: each is what one layer really needs between two points where rows must meet, so a
 * backend may keep intermediate values in registers.  Nothing returns to the host but by fetch().
 *
 * Backends:  kern_ref()  slow, obvious, double sums: the truth that judges the others.
 *            kern_cpu()  threads and vector instructions.
 *
 * What every backend promises
 *   - But for kern_cuda_fast(): a row's result is a function of that row's tokens and positions only: the same bits
 *     alone or in company, for every cut of a prompt into batches, on any number of threads (for one backend and
 *     instruction set).
 *   - It allocates nothing after open() and ready(): weights, KV slab and workspace are slabs that the caller takes
 *     with take() and cuts up by the size functions below, which are pure and may be asked before anything is opened.
 *   - Steps are asynchronous and in order on a stream; host arrays in a batch must stay until the next fetch()
 *     returned.
 *
 * Pointers named dev_* below are device memory (for the CPU backends ordinary memory, 64-byte aligned); all else is
 * host memory.  Matrices are (rows, cols), row-major in the file, and multiply as
 * y[row] = sum over cols of w[row][col] * x[col].
 * Threads: one thread drives a kdev.  Errors: 0, or negative with err filled; after an error the batch's results are
 * undefined but the device stays usable unless the text says otherwise. */
#ifndef KERNELS_H
#define KERNELS_H
#include "kernels/quant.h"
#include "plimsoll.h"

enum { KERN_PAGE = 16, KERN_GROUPS = 4, KERN_TOP = 20, KERN_HEAD_MAX = 256, KERN_EXPERTS = 512, KERN_USED = 32,
       KERN_FEW = 8 /* rows of which row_costs() tells */ };

struct kdev;    /* an opened backend: opaque */
struct kstream; /* an order of work on it; NULL is the default one */

struct kern_config {
    int device;      /* CUDA: which one; -1: the one with most memory free */
    int threads;     /* CPU: 0 = one a core the process may run on */
    const char *isa; /* CPU: NULL or "auto", "portable", "avx2", "avxvnni", "avx512"; one it lacks is an error */
    bool pin;        /* CPU: pin each worker to its core (unpinned spinning threads lose a great deal) */
    bool round_activations; /* ref: round activations to int8 per 32 before integer-typed matrices, as the CPU backend
                               does, so that the two can be compared tightly; false: float activations */
};

/* A weight matrix in the backend's own layout.  The struct is the caller's; data was cut from a slab by mat_bytes(). */
struct kmat {
    enum ktype type;
    int rows, cols; /* cols is a whole number of the type's blocks */
    void *dev_data; /* NULL: this matrix is absent */
};

/* One layer group: layers whose KV has the same shape, type and window share pages.  A page holds KERN_PAGE tokens of
 * all layers of the group; its inside is the backend's affair.
 *
 * taps > 0: layers that keep a state instead (struct kern_delta).  Its page is what they know after the last token that
 * is in it, all that came before included, in floats: so a sequence needs the page of its last token alone, and others
 * are there to go on from.  kv_heads and head_dim are value heads and their size, keys the heads of keys; dev_slab and
 * the two after it are as ever.  With keys 0 they are layers of a convolution alone (struct kern_conv), of kv_heads *
 * head_dim channels. */
struct kern_group {
    int layers, kv_heads, head_dim;
    enum ktype kv_type; /* KT_F32, KT_F16, or KT_Q8_0 if head_dim is a whole number of its 32 */
    int window;         /* 0: attention sees all; else: the last `window` positions, own included */
    void *dev_slab;     /* pages * page_bytes */
    size_t page_bytes;  /* from kv_page_bytes() */
    int pages;
    int keys, taps; /* of states; 0: this is a group of keys and values */
};

/* Rotary position embedding.  Angle of pair i at position p is p * inv_freq[i] (scaling and Llama-3 factors already in
 * it). */
struct kern_rope {
    int dims;              /* rotated dimensions of a head, even, <= head_dim; 0: none */
    bool neox;             /* pairs are (i, i + dims/2); else (2i, 2i + 1) */
    const double *inv_freq; /* host, (dims / 2) */
    double gain;           /* what is rotated is multiplied by it, so that q k has its square; 1: it is not */
};

/* What is computed in one pass: rows of any number of sequences, each a token at a position.  Rows of one sequence are
 * in rising position order; a row sees all of its sequence at positions <= its own, those earlier in this batch
 * included. */
struct kern_batch {
    int rows;
    const int32_t *token;          /* (rows) */
    const int32_t *pos;            /* (rows) */
    const int32_t *seq;            /* (rows) which block table */
    int seqs;
    int groups;
    /* per group: (seqs, stride) page numbers; position p is in page table[g][seq * stride + p / 16].  Of states those
     * behind what goes before a sequence's first row, and of its last; others may be -1 */
    const int32_t *table[KERN_GROUPS];
    int stride;
    int outs;
    const int32_t *out_row; /* (outs) rows whose logits are wanted, rising */
};

/* What q at a position is multiplied by behind its rotation, so that scores of far positions stay as sharp as those of
 * near ones (Meta's Llama 4, 2025): 1 + beta * ln(1 + floor(position / each)).  each 0: nothing. */
struct kern_temper {
    double beta;
    int each;
};
static inline double kern_tempered(const struct kern_temper *t, int pos)
{
    return t->each > 0 ? 1 + t->beta * __builtin_log(1 + pos / t->each) : 1;
}

struct kern_attn_in {
    const float *dev_norm; /* (embd), or NULL: x is taken as it is */
    float eps;             /* of this norm and of q/k norm */
    struct kmat q, k, v;   /* (heads * head_dim, embd), (kv_heads * head_dim, embd) twice */
    const float *dev_bq, *dev_bk, *dev_bv;       /* biases or NULL */
    const float *dev_q_norm, *dev_k_norm;        /* (head_dim) per-head RMS norm weights or NULL */
    bool whole; /* ... of a row of all heads alike: (heads * head_dim), (kv_heads * head_dim), and neither is NULL */
    int heads;
    struct kern_rope rope;
    struct kern_temper temper;
};

/* Lets through what attention gives, as far as sigmoid(W norm(x)) says (Qiu et al., "Gated Attention for Large Language
 * Models", 2025). */
struct kern_gate {
    const float *dev_norm; /* (embd) */
    float eps;
    struct kmat mat; /* (heads * head_dim, embd) */
};

/* A layer that keeps a state instead of keys and values: the gated delta rule (Yang, Kautz, Hatamizadeh, "Gated Delta
 * Networks", 2024) as Qwen3-Next and Qwen3.5 have it.  Of n = norm(x):
 *
 *     c = silu(conv(Wqkv n))            each channel by itself, over its last `taps` values: sum over j of
 *                                       conv[channel][j] * value[taps - 1 - j tokens ago]; before the first they are 0
 *     q, k, v = c                       (keys, dim) twice, (values, dim); q and k of length 1, by their squares + eps,
 *                                       q then divided by sqrt(dim); value head h has those of key head h % keys, or
 *                                       by_key: of h / (values / keys)
 *     beta = sigmoid(Wbeta n),   decay = e^(a * softplus(Walpha n + dt))       a number a value head
 *     S = decay * S,   S += k (beta * (v - S^T k))^T,   o = S^T q              S (dim of keys, dim of values) a head
 *     att = headnorm(o) * silu(Wz n)    by one weight for all heads
 *
 * A state is S of all value heads and the last taps - 1 values of each channel. */
struct kern_delta {
    const float *dev_norm;    /* (embd) */
    float eps;                /* of all three norms */
    struct kmat qkv, z;       /* ((2 * keys + values) * dim, embd), (values * dim, embd) */
    struct kmat beta, alpha;  /* (values, embd) */
    const float *dev_conv;    /* (channels, taps) */
    const float *dev_dt, *dev_a; /* (values) */
    const float *dev_head_norm;  /* (dim) */
    bool by_key;                 /* value heads of one key head are neighbours */
};

/* A gated short convolution, as Liquid AI's LFM2 has it (2025): a layer whose state is the last taps - 1 values of each
 * channel's u.  Of n = norm(x):
 *
 *     b, c, v = Win n                   (channels) each
 *     u = b * v
 *     att = c * conv(u)                 each channel by itself, over its last `taps` values: as in struct kern_delta */
struct kern_conv {
    const float *dev_norm; /* (embd) */
    float eps;
    struct kmat in;        /* (3 * channels, embd) b's rows, then c's, then v's */
    const float *dev_conv; /* (channels, taps) */
};
enum { KERN_TAPS = 8, KERN_VALUES = 256 }; /* most of them; dim is at most KERN_HEAD_MAX */

/* What the gate's product g and the other's, u, come to.  KERN_OSS is gpt-oss's clamped SwiGLU (its model card, 2025):
 * with g' = min(g, 7) and u' = u kept within -7 .. 7, g' / (1 + e^(-1.702 g')) * (u' + 1). */
enum kern_act { KERN_SILU, KERN_GELU, KERN_OSS };

/* A mixture of experts: of n feed-forwards each row goes through `used`, those whose logit in the router is largest
 * (the first of equals), and what they come to is added up by the softmax of these logits alone (kern_route()), or of
 * all, where weights sum to less than one.  Expert i is rows [i * rows / n, (i + 1) * rows / n) of gate, up and down,
 * whose rows / n are multiples of 32; and those entries of their biases. */
struct kern_mix {
    int n, used;        /* 0 <= used <= n, at most KERN_EXPERTS and KERN_USED; 0 and 0: one feed-forward, no router */
    struct kmat router; /* (n, embd) */
    const float *dev_bias; /* (n) added to its logits, or NULL */
    bool of_all;           /* weights are by the softmax of all logits */
};

/* A feed-forward beside a mixture's, through which every row goes: as much of what it comes to as sigmoid(let n) says,
 * n the normed row, is added after the chosen experts' (Qwen's reports on Qwen1.5-MoE, 2024, and later). */
struct kern_shared {
    struct kmat gate, up, down; /* (ff, embd) twice, (embd, ff), of a width of its own; gate.cols 0: there is none */
    const float *dev_let;       /* (embd) */
};

struct kern_ffn {
    const float *dev_norm; /* (embd), or NULL: x is taken as it is.  A mixture has one */
    float eps;
    struct kmat gate, up, down; /* (ff, embd) twice, (embd, ff); of a mixture n times as many rows */
    enum kern_act act;          /* of all feed-forwards */
    const float *dev_post; /* (embd) norm of what the step adds, of the same eps; or NULL.  A mixture has none */
    struct kern_mix mix;
    struct kern_shared shared; /* of a mixture alone */
    const float *dev_bg, *dev_bu, *dev_bd; /* added to the three's products: as many as they have rows; or NULL */
};

/* How one row's next token is chosen.  The order is fixed and is the field's usual one:
 *   bias -> allowed mask -> penalties -> top-k -> top-p -> min-p -> temperature -> draw
 * temp <= 0 is greedy: the largest after bias, mask and penalties, lowest id on a tie.
 * Random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), key = seed,
 * counter = (step, 0); one 53-bit uniform from the first two words.  So a draw depends on nothing but logits, these
 * fields, seed and step. */
struct kern_sample {
    float temp;
    int top_k;          /* 0: off */
    float top_p, min_p; /* 1 and 0: off */
    /* 1, 0, 0: off.  repeat: logits > 0 are divided by it, others multiplied; once a token */
    float repeat, frequency, presence;
    const int32_t *recent; /* tokens that penalties look at */
    int n_recent;
    const struct kern_bias { int32_t id; float add; } *bias;
    int n_bias;
    const uint32_t *allowed; /* bit id of word id/32: may be chosen; NULL: all */
    uint64_t seed, step;
    int top_n; /* also report the N largest raw log-probabilities; <= KERN_TOP */
    int32_t target; /* >= 0: report this token's log-probability and choose it (scoring); -1: choose */
    bool no_logprob; /* without top_n and target: nobody looks at the log-probability, so it may be left at 0, which
                        spares a device its sum over the vocabulary */
};

/* What sample() leaves on the device for each out row, and fetch() brings.  Log-probabilities are of the raw logits,
 * before any rule. */
struct kern_choice {
    int32_t id; /* -1: no token was allowed */
    float logprob;
    int32_t top_id[KERN_TOP];
    float top_logprob[KERN_TOP];
};

/* Sizes that workspace depends on. */
struct kern_dims {
    int embd, heads, kv_heads, head_dim, ff, vocab;
    int max_rows, max_outs, max_ctx, max_seqs;
    int experts, used; /* 0 and 0, or those of struct kern_mix; ff is one expert's */
    int shared;        /* width of struct kern_shared's; 0: there is none */
    int keys, values, state_dim; /* of layers that keep a state; 0: there are none.  keys 0: of a convolution alone,
                                    whose channels are values * state_dim */
};

struct kern {
    const char *name;

    struct kdev *(*open)(const struct kern_config *cfg, struct err *err);
    void (*close)(struct kdev *d);
    /* One line for people: "avx512 (VNNI, BF16), 2 threads on cores 0-1". */
    const char *(*describe)(const struct kdev *d);
    /* What the bits of a result, and the inside of a KV page, depend on besides what goes in: "cpu 1 avx512" (a number
     * that is raised by hand when the same steps give other bits).  Pages are exchanged between devices that say the
     * same.  NULL: with no other. */
    const char *(*numerics)(const struct kdev *d);
    /* Which kernel multiplies a matrix of this type here: its instructions, what it multiplies as, and on the CPU how
     * many rows of the matrix and tokens it works on at a time; "avx512 vnni int8 (32 rows x 8 tokens)".  "none". */
    const char *(*mat_kernel)(const struct kdev *d, enum ktype type);
    /* (KERN_FEW - 1) What each row more, from the second on, adds to a pass of few rows of a model whose weights come
     * from memory, in hundredths of a pass of one row: as measured (tests/bench/SPEED.md), rounded, or
     * as the instruction set's file says.  NULL: not known. */
    const uint8_t *(*row_costs)(const struct kdev *d);

    /* Bytes of the device that open() itself took: a driver's context, modules; none of them come from take().  NULL:
     * there is no such. */
    size_t (*context)(const struct kdev *d);
    /* Are bits traded for speed: may a row's result depend on what else is in a pass?  NULL: never. */
    bool (*fast)(const struct kdev *d);
    /* -1: the device is lost to this process, every call from now on fails at once, and this is the line that each of
     * them says; else 0.  NULL: it cannot be lost.  From any thread. */
    int (*lost)(const struct kdev *d, struct err *err);

    /* Device memory in big slabs, 64-byte aligned (or better), zeroed.  NULL: err says how much was asked. */
    void *(*take)(struct kdev *d, size_t bytes, struct err *err);
    void (*give)(struct kdev *d, void *dev_slab, size_t bytes);
    /* Bytes of device memory that are free, and that there are.  NULL: it is the host's own.  0, or -1 and err.  From
     * any thread. */
    int (*memory)(struct kdev *d, uint64_t *free_bytes, uint64_t *all, struct err *err);
    bool lazy; /* memory from take() is there only when it has been touched: writing zeros to it does that */
    int (*upload)(struct kdev *d, struct kstream *st, void *dev_dst, const void *src, size_t bytes, struct err *err);
    /* waits for all before it */
    int (*fetch)(struct kdev *d, struct kstream *st, void *dst, const void *dev_src, size_t bytes, struct err *err);

    /* Sizes: pure, never touch a device.  slab_bytes: what take() really takes for so many, a whole number of 64; of a
     * device with memory of its own, parts of such sizes side by side in one slab take no more than that.  0 from
     * mat_bytes: the backend cannot multiply this type. */
    size_t (*slab_bytes)(size_t bytes);
    size_t (*mat_bytes)(enum ktype type, int rows, int cols);
    size_t (*kv_page_bytes)(const struct kern_group *g); /* 0: no such pages: type, head_dim, overflow */
    /* Pages lie in runs of so many, from page numbers on that are multiples of it: all that is in one lies within its
     * run's bytes; the last run has the pages that are left.  0: each by itself, at its number times page_bytes. */
    int page_run;
    /* A page to host memory and back, page_bytes of it; it may go to another place than it came from.  fetch waits for
     * all before it.  NULL: fetch() and upload() of the page's bytes do that. */
    int (*page_fetch)(struct kdev *d, const struct kern_group *g, int page, void *host, struct err *err);
    int (*page_upload)(struct kdev *d, const struct kern_group *g, int page, const void *host, struct err *err);
    /* Scratch that every step below is given as dev_work. */
    size_t (*work_bytes)(const struct kern_dims *dims);
    /* Bytes of the host's memory that open() and ready() take beside: staging, sampling.  NULL: none to speak of. */
    size_t (*host_bytes)(const struct kern_dims *dims);

    /* Once, after open() and before the first pass: these are its largest sizes.  Nothing is allocated after.  0, or
     * -1.  NULL: the backend has nothing to take. */
    int (*ready)(struct kdev *d, const struct kern_dims *dims, struct err *err);

    /* A loop shared out among the device's host threads: work(job, first, end, who) for ranges that cover 0 .. n - 1
     * once.  The caller is who 0 and works too; share() returns when all is done.  Who takes what is chance. */
    void (*share)(struct kdev *d, int n, void (*work)(void *job, int first, int end, int who), void *job);

    /* Rows [row0, row0 + n) of m from the file's bytes.  row0 is a multiple of 32; n too unless it ends the matrix.
     * Threads: many at once for different rows, as in work() of share(). */
    int (*mat_load)(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err);

    /* The steps.  x: (rows, embd) residual; q and att: (rows, heads * head_dim); logits: (outs, vocab); all float. */

    /* A pass begins: until the next begin(), steps are given this batch and this dev_work.  NULL: the backend wants
     * no word of it. */
    int (*begin)(struct kdev *d, struct kstream *st, const struct kern_batch *b, void *dev_work, struct err *err);

    /* x = rows of table (vocab, embd) by token, times scale. */
    int (*embed)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table, float scale,
                 float *dev_x, struct err *err);

    /* q = rope(q_norm(Wq norm(x) + bq)), tempered; k the same but for that and v into the pages of group g, layer
     * `layer` of it. */
    int (*attn_in)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                   const struct kern_group *g,
                   int group, int layer, const float *dev_x, float *dev_q, void *dev_work, struct err *err);

    /* att = softmax(scale * q k^T [, softcapped: cap * tanh(s / cap) if cap > 0]) v over the row's pages.  heads is a
     * multiple of kv_heads.  dev_sinks (heads): a score more of each head, without a value: it takes its part of the
     * softmax and gives nothing; NULL: there is none. */
    int (*attn)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g, int group,
                int layer, int heads, float scale, float softcap, const float *dev_sinks,
                const float *dev_q, float *dev_att, void *dev_work, struct err *err);

    /* In the place of attn_in and attn, of a group of states: att (rows, values * dim).  A sequence's rows follow one
     * another in the batch, at neighbouring positions.  Its state is taken from the page of the position before its first row, and after its
     * last row, and after every one that ends a page which is there, put into that row's page.  NULL: the backend has
     * no such layers. */
    int (*delta)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
                 const struct kern_group *g, int group, int layer, const float *dev_x, float *dev_att, void *dev_work,
                 struct err *err);

    /* The same of a convolution's layers: att (rows, channels).  NULL: the backend has none. */
    int (*conv)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
                const struct kern_group *g, int group, int layer, const float *dev_x, float *dev_att, void *dev_work,
                struct err *err);

    /* att *= sigmoid(W norm(x)); x as attn_in had it.  NULL: the backend has none. */
    int (*gate)(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *dev_x,
                float *dev_att, void *dev_work, struct err *err);

    /* x += W y + bias, bias may be NULL: the attention's way back (y = att).  dev_post (embd), if it is not NULL:
     * x += norm(W y + bias), by these weights and eps. */
    int (*project)(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *dev_bias,
                   const float *dev_post, float eps, const float *dev_y, float *dev_x,
                   void *dev_work, struct err *err);

    /* x += Wdown(act(Wgate norm(x) + bg) * (Wup norm(x) + bu)) + bd, by dev_post normed before it is added; of a
     * mixture the weighted sum of its chosen experts' in rising order of their numbers, and of the shared one's. */
    int (*ffn)(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *w, float *dev_x, void *dev_work,
               struct err *err);

    /* logits of the out rows = W norm(x), softcapped if cap > 0. */
    int (*output)(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *dev_norm, float eps,
                  const struct kmat *w,
                  float softcap, const float *dev_x, float *dev_logits, void *dev_work, struct err *err);

    /* One choice an out row.  params: (outs) host. */
    int (*sample)(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
                  const float *dev_logits,
                  struct kern_choice *dev_choice, void *dev_work, struct err *err);
};

const struct kern *kern_ref(void);
const struct kern *kern_cpu(void);
const struct kern *kern_cuda(void); /* its open() says what is missing: the object with its kernels, driver, device */
/* The same device, where a row's result may differ in its last bits with company: large products are cuBLASLt's.  As
 * exact as kern_cuda(), and describe() says so, where that is not to be had or no device has shown it right. */
const struct kern *kern_cuda_fast(void);

/* By its name: auto (or NULL), cpu, cuda, ref.  NULL: there is none of that name.  auto is what serves best here: cuda
 * where a device is, once a result file under tests/gpu/ has shown its kernels right on one (until then cpu); whoever
 * then cannot open it takes kern_cpu() and says why. */
const struct kern *kern_named(const char *name);

/* Which experts a row goes through, by its logits (n) in the router: `used` of them, in rising order, and what each
 * one's result is times: by the softmax of their logits, or of all n.  Plain C that ref and CPU share, and that a GPU's
 * router is judged by. */
void kern_route(const float *logits, int n, int used, bool of_all, int32_t *expert, float *weight);

/* The choice of one row from its logits (vocab): plain C that ref and CPU share, and that a GPU's sampler is judged by.
 * scratch: kern_choose_bytes(vocab), aligned for doubles. */
void kern_choose(const struct kern_sample *s, const float *logits, int vocab, void *scratch, struct kern_choice *out);
size_t kern_choose_bytes(int vocab); /* a whole number of 64 */
#endif
