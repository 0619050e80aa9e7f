/* gpu.h - what the CUDA object does for the program: a plain C table of functions, over device memory and plain
 * structs.  The program opens the object at run time (cuda.c); tests link the same sources for the host.
 *
 * All functions but take, give, say and the opening are asynchronous and in order on the device's one stream.  They
 * return 0 or a code of CUDA's that say() puts into words.  Pointers named dev_* are device memory.  One thread,
 * but memory(), which is for any. */
#ifndef GPU_H
#define GPU_H
#include "kernels/quant.h"
#include <stddef.h>

enum { GPU_FACE = 11 }; /* raised when this file changes: program and object must agree */

/* Those of CUDA's codes that the program has words of its own for. */
enum gpu_code {
    GPU_NO_MEMORY = 2, GPU_OLD_DRIVER = 35, GPU_NO_FUNCTION = 98, GPU_NO_DEVICE = 100, GPU_NO_KERNELS = 209,
    GPU_NO_LIBRARY = 303
};

enum { GPU_STAGING = 1 << 20 }; /* bytes of pinned host memory that an opened device holds */

struct gpu; /* an opened device with its stream */

struct gpu_info {
    char name[256];
    int major, minor, units, driver; /* driver: 13000 is 13.0 */
    size_t memory;
    size_t opening; /* bytes of the device that modules, stream and staging took, once its context was there */
};

/* 32 activations as integer kernels want them: x ~ q * dx (the CPU backend's struct act, for a row of blocks).  An
 * array of them begins where 16 divides the address. */
struct gpu_act {
    int8_t q[32];
    float dx, mdx;   /* mdx = dx * -(sum of q) */
    int32_t ns, ns0; /* -(sum of q), -(sum of q[0..15]) */
};

/* A matrix packed by kernels/cpu/pack.h: groups of 32 rows, interleaved by dwords. */
struct gpu_mat {
    enum ktype type;
    int rows, cols;
    const uint8_t *dev_data;
};

/* A mixture of experts: a row at one of its experts is a place.  Places lie by expert, and of one expert by row.  A
 * tile is places of one expert, which a block of a product takes; it is empty where a table has room for more. */
struct gpu_tile {
    int32_t expert, first, end;
};
enum { GPU_EXPERTS = 512, GPU_USED = 32 };

/* Places that a tile has at most, in a pass of so many rows; what a product's block takes is by the same number. */
static inline int gpu_tile_size(int rows)
{
    return rows <= 2 ? rows : rows <= 4 ? 4 : rows <= 8 ? 8 : 16;
}

struct gpu_mix {
    int rows, n, used, tiles;  /* tiles: that there is room for, and that every product's grid has */
    const float *dev_logits;   /* (rows, n) */
    int32_t *dev_expert;       /* (rows, used) each row's experts, rising ... */
    float *dev_weight;         /* ... what their results are times ... */
    int32_t *dev_place;        /* ... and their places */
    int32_t *dev_row;          /* (rows * used) whose place it is */
    struct gpu_tile *dev_tile; /* (tiles) */
    bool of_all;               /* weights are by the softmax of all logits */
};

/* y = W x (+ y if add) (+ bias), softcapped if cap > 0, for `rows` tokens.  Of a mixture dev_bias has all experts'. */
struct gpu_mul {
    struct gpu_mat w;
    int rows;
    const float *dev_x;            /* (rows, cols), for float types */
    const struct gpu_act *dev_act; /* (rows, cols / 32), for the others */
    float *dev_y;                  /* (rows, w.rows) */
    const float *dev_bias;         /* or NULL */
    bool add;
    float cap;
};
enum { GPU_MULS = 3 }; /* products that a launch may have */

/* What a product by cuBLASLt takes beside, on the device: of a matrix tile_rows rows at a time (a multiple of 32). */
enum { GPU_BLAS_SPACE = 32 << 20, GPU_BLAS_ROWS = 32 }; /* bytes for the library; tokens from which it is worth it */
struct gpu_room {
    int tile_rows;
    unsigned short *dev_tile, *dev_tokens; /* halves: (cols, tile_rows), (tokens, cols) */
    float *dev_scale, *dev_product;        /* (tokens), (tokens, tile_rows) */
    void *dev_space;                       /* GPU_BLAS_SPACE bytes */
};

/* The rows of a pass, on the device. */
struct gpu_rows {
    int rows;
    const int32_t *dev_pos, *dev_seq, *dev_table; /* dev_table: (seqs, stride) of one group */
    int stride;
};

/* One layer's pages: [layer][kv head]{ K (dim, 16 tokens), V (16 tokens, dim rounded up to 16) }, as on the CPU; Q8_0:
 * each of both is d half (dim / 32, 16 tokens) | q. */
struct gpu_pages {
    uint8_t *dev_slab;
    size_t page_bytes, layer_at, head_bytes, v_at; /* where the layer begins, bytes a head, V's place behind K */
    enum ktype kv;
    int kv_heads, dim, window;
};

struct gpu_heads {
    struct gpu_rows at;
    struct gpu_pages to;
    int heads;
    float *dev_q;                /* (rows, heads * dim), in place */
    const float *dev_k, *dev_v;  /* (rows, kv_heads * dim) */
    const float *dev_bq, *dev_bk, *dev_bv, *dev_q_norm, *dev_k_norm; /* or NULL */
    float eps;
    int rope_dims;
    bool neox;
    double inv_freq[128], gain, beta; /* beta, each: struct kern_temper */
    int each;
};

struct gpu_attn {
    struct gpu_rows at;
    struct gpu_pages from;
    int heads;
    float scale, cap;
    const float *dev_sinks; /* (heads) a score more of each that has no value, or NULL */
    const float *dev_q;
    float *dev_att;
    int spans;       /* that the longest row has begun, each a block's; 0: a block has all of a row */
    float *dev_part; /* scratch: (rows, heads, spans, dim + 2) */
};
enum { GPU_SPAN = 512, GPU_PARTS = 8192 }; /* tokens; rows * heads * spans that there is room for */

/* A layer that keeps a state (struct kern_delta), after its products; a sequence's rows are neighbours. */
enum { GPU_TAPS = 8 };
struct gpu_delta {
    struct gpu_rows at;                   /* dev_table: of the group of states; -1: no page */
    uint8_t *dev_slab;
    size_t page_bytes, layer_at, heads_at; /* bytes to the layer in a page; from there floats to its first head */
    int keys, values, dim, taps;
    bool by_key;
    const float *dev_conv, *dev_dt, *dev_a, *dev_head_norm;
    float eps;
    const float *dev_qkv, *dev_z;         /* (rows, channels), (rows, values * dim) */
    const float *dev_beta, *dev_alpha;    /* (rows, values) */
    float *dev_c;                         /* scratch: (rows, channels) */
    float *dev_att;                       /* (rows, values * dim) */
};

/* The same of a convolution alone (struct kern_conv). */
struct gpu_conv {
    struct gpu_rows at;
    uint8_t *dev_slab;
    size_t page_bytes, layer_at;
    int channels, taps;
    const float *dev_conv; /* (channels, taps) */
    const float *dev_bcv;  /* (rows, 3 * channels) */
    float *dev_att;        /* (rows, channels) */
};

enum gpu_gate { GPU_SILU, GPU_GELU, GPU_OSS }; /* enum kern_act */

/* How a row is chosen (struct kern_sample has the words), of what the device can: ids are within the vocabulary, and a
 * parameter that is off is so here. */
enum { GPU_TOP = 20, GPU_BIAS = 64, GPU_RECENT = 256 };
struct gpu_pick {
    double sharp, uniform; /* draws: 1 / temperature; where the draw falls */
    float repeat, frequency, presence;
    int32_t target, top_n, n_bias, n_recent;
    bool host;    /* the host chooses: nothing is done about this row */
    bool draws;   /* one of all; else the best */
    bool masked, changed; /* by dev_mask; by that, bias or penalties */
    struct { int32_t id; float add; } bias[GPU_BIAS];
    int32_t recent[GPU_RECENT];
};

struct gpu_choice { /* struct kern_choice */
    int32_t id;
    float logprob;
    int32_t top_id[GPU_TOP];
    float top_logprob[GPU_TOP];
};

struct gpu_sample {
    int outs, vocab;
    bool changed; /* some row is */
    const float *dev_logits;        /* (outs, vocab) */
    const struct gpu_pick *dev_pick; /* (outs) */
    const uint32_t *dev_mask;       /* (outs, (vocab + 31) / 32) */
    float *dev_value, *dev_peak;    /* scratch: (outs, vocab); (outs, 2, (vocab + 127) / 128) */
    double *dev_mass;               /* scratch: as dev_peak */
    struct gpu_choice *dev_choice;  /* (outs) */
};

struct gpu_face {
    int version; /* GPU_FACE */
    int runtime; /* CUDA's version that it was built with: the driver's must not be below its first part */
    const char *(*say)(int code);
    int (*devices)(int *n, int *driver); /* driver 0: there is none */
    int (*bus)(int device, char id[32]); /* where it sits, as NVML names it */
    /* All kernels are loaded when it returns: the first launch of one takes no memory.  After GPU_NO_KERNELS or
     * GPU_NO_FUNCTION, which both mean that they are for other devices, info is filled as well. */
    int (*open)(int device, struct gpu **out, struct gpu_info *info);
    void (*close)(struct gpu *g);
    int (*alive)(struct gpu *g); /* waits; not 0: the device is lost to this process, and each call will say so */
    int (*memory)(struct gpu *g, size_t *free_bytes, size_t *all);
    int (*take)(struct gpu *g, size_t bytes, void **dev_out); /* zeroed */
    void (*give)(struct gpu *g, void *dev);
    int (*upload)(struct gpu *g, void *dev_to, const void *from, size_t n);  /* from may change when it returns */
    int (*fetch)(struct gpu *g, void *to, const void *dev_from, size_t n);   /* waits for all before it */

    /* x (rows, table.cols) = rows of the table by token, times scale. */
    int (*embed)(struct gpu *g, int rows, const int32_t *dev_token, const struct gpu_mat *table, float scale,
                 float *dev_x);
    /* normed = norm(x) of row pick[r] (NULL: r, and normed may be x); act (NULL: not wanted) = the same as integers;
     * both (rows, cols). */
    int (*norm)(struct gpu *g, int rows, const int32_t *dev_pick, int cols, const float *dev_x, const float *dev_norm,
                float eps, float *dev_normed, struct gpu_act *dev_act);
    /* y += norm(x), both (rows, cols). */
    int (*norm_add)(struct gpu *g, int rows, int cols, const float *dev_x, const float *dev_norm, float eps,
                    float *dev_y);
    int (*quantise)(struct gpu *g, int rows, int cols, const float *dev_x, struct gpu_act *dev_act);
    /* n products of as many rows, of which none is of another's result; those of one type in one launch. */
    int (*mul)(struct gpu *g, const struct gpu_mul *m, int n);
    int (*heads)(struct gpu *g, const struct gpu_heads *h);
    int (*attn)(struct gpu *g, const struct gpu_attn *a);
    /* gate = what gate and up come to, n values; act (NULL: not wanted) = the same as integers. */
    int (*gate)(struct gpu *g, size_t n, enum gpu_gate how, float *dev_gate, const float *dev_up,
                struct gpu_act *dev_act);
    int (*delta)(struct gpu *g, const struct gpu_delta *d);
    int (*conv)(struct gpu *g, const struct gpu_conv *c);
    /* att = att * sigmoid(gate), n values. */
    int (*let)(struct gpu *g, size_t n, const float *dev_gate, float *dev_att);
    /* From logits to experts, weights, places, rows and tiles: kern_route()'s choice, a row by itself. */
    int (*route)(struct gpu *g, const struct gpu_mix *m);
    /* The same for places: y has one a row, and x as well if placed, else those of the pass.  w is the first expert's,
     * of a multiple of 32 rows; the others' lie behind it. */
    int (*mul_mix)(struct gpu *g, const struct gpu_mix *mix, bool placed, const struct gpu_mul *m, int n);
    /* let (rows) = sigmoid(w x), x (rows, cols), summed in double. */
    int (*let_rows)(struct gpu *g, int rows, int cols, const float *dev_x, const float *dev_w, float *dev_let);
    /* x (rows, cols) += y (places, cols) times weight, of each row's experts in rising order; and then shared (rows,
     * cols) times let (rows), which are NULL where there is none. */
    int (*mix)(struct gpu *g, const struct gpu_mix *m, int cols, const float *dev_y, const float *dev_shared,
               const float *dev_let, float *dev_x);
    int (*sample)(struct gpu *g, const struct gpu_sample *s);
    /* mul by cuBLASLt, from dev_x, for all types but F32 and BF16; blas_open: once, before; GPU_NO_LIBRARY: there is
     * none to be found. */
    int (*blas_open)(struct gpu *g);
    int (*blas)(struct gpu *g, const struct gpu_mul *m, const struct gpu_room *r);
};

/* What the object exports. */
const struct gpu_face *plimsoll_gpu_face(void);
#endif
