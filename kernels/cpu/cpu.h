/* cpu.h - the CPU backend's own parts: what its files share.
 *
 *     cpu.c     the table; opening, memory, weights        mat.c     matrix products on the crew
 *     steps.c   embed ... sample                           attn.c    what happens to heads, KV pages and attention
 *     mix.c     mixtures of experts                        delta.c   layers that keep a state; gates of attention
 *     isa.h     instruction sets    pack.h  weights' layout    crew.h  threads */
#ifndef CPU_H
#define CPU_H
#include "kernels/cpu/crew.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/pack.h"
#include "kernels/kernels.h"

enum {
    CPU_ROWS = 256,     /* token rows that a thread sums up at a time: 32 KB of sums */
    CPU_CHUNK = 18 * 1024, /* bytes of weights that several tiles go over, one after the other */
    CPU_OPEN = 20 * 1024,  /* ... and of opened ones at most: two blocks of a K format */
    CPU_OUTS = 4,       /* products of one input */
    CPU_SAMPLERS = 8    /* rows that sample() works on at a time: that many scratches are in the workspace */
};

/* What one worker needs beside the workspace; taken at open. */
struct cpu_scratch {
    _Alignas(64) float acc[2][CPU_ROWS * ISA_GROUP];
    _Alignas(64) uint8_t open[CPU_OPEN];
};

/* The angles of a pass's first rows: the same in each of its layers, and dear beside a small layer. */
enum { CPU_TURNS = 64 };
struct cpu_turns {
    double freq[KERN_HEAD_MAX / 2], gain; /* of which they are, (dims / 2) */
    int dims;                       /* 0: none is known */
    int pos[CPU_TURNS];             /* of each row; -1: not known */
    float turn[CPU_TURNS][KERN_HEAD_MAX];
};

struct kdev {
    const struct cpu_isa *isa;
    enum isa_fetch fetch; /* isa_fetches() */
    bool reads_ahead;     /* isa_reads_ahead() */
    bool opens;           /* isa->opens or isa_opens() */
    bool lean;            /* isa_lean() */
    struct crew *crew;
    struct cpu_turns *turns;
    struct cpu_scratch *scratch; /* (threads) */
    size_t scratch_bytes;
    char said[2048], numerics[32];
    char kernel[KT_END][48]; /* mat_kernel()'s words by type; "": there is none */
};

/* ------------------------------------------------------------------- workspace */

/* The next count pieces of size bytes, on a cache line of its own. */
static inline void *cpu_cut(uint8_t **work, size_t count, size_t size)
{
    void *p = *work;
    *work += size_align(count * size, 64);
    return p;
}

/* ------------------------------------------------------------- matrix products */

/* Token rows cut into n tiles as even as can be: the first `wider` have width + 1 of them, the others width. */
struct cpu_tiles {
    int n, width, wider;
};

/* Rows of activations as products want them: int8 tile by tile for integer types, floats for the others. */
struct cpu_input {
    int rows, cols;
    struct cpu_tiles tiles;
    const float *x;  /* (rows, cols) */
    struct act *act; /* (tile, block of 32, token of the tile); NULL if no matrix of the step is of an integer type */
};

/* y (rows, m->rows) = m x */
struct cpu_out {
    const struct kmat *m;
    float *y;
};

bool cpu_is_int(enum ktype type);

struct cpu_tiles cpu_cut_rows(const struct kdev *d, int rows);
/* Where the first block of a row's activations goes, and how many tokens its tile has. */
struct act *cpu_act_at(const struct cpu_input *in, int row, int *tokens);

/* So many rows of x, one at least (those that pick names, if it is not NULL), normed if norm is not NULL, and rounded
 * if any_int; what is made goes to new workspace. */
struct cpu_input cpu_input(struct kdev *d, int rows, const int32_t *pick, int cols, const float *x, const float *norm,
                           float eps, bool any_int, uint8_t **work);

/* The most that it takes of the workspace, for any cols up to these; true: overflow. */
bool cpu_input_bytes(int rows, int norm_cols, int cols, uint64_t *bytes);

/* Up to CPU_OUTS products of one input; softcap > 0 is laid on all of them. */
void cpu_mul(struct kdev *d, const struct cpu_input *in, const struct cpu_out *out, int outs, float softcap);
/* y = m x + bias, bias may be NULL. */
void cpu_mul_bias(struct kdev *d, const struct cpu_input *in, const struct kmat *m, const float *bias, float *y);
/* y += m x + bias, bias may be NULL. */
void cpu_mul_add(struct kdev *d, const struct cpu_input *in, const struct kmat *m, const float *bias, float *y);
/* act(gate x + bias) * (up x + bias_up), biases may be NULL, where the next product wants it: rounded to out.act if
 * that is there, else to h. */
struct cpu_gate {
    struct cpu_input in, out;
    struct kmat gate, up;
    const float *bias, *bias_up;
    float *h; /* out.x, to be written */
};
void cpu_gate_room(struct cpu_gate *g, bool rounded, uint8_t **work); /* for out, in new workspace */
void cpu_mul_gate(struct kdev *d, const struct cpu_gate *g, enum kern_act act);

/* An expert, and the tokens that go through it: what comes out of down is added to these rows of x, so much of it. */
struct cpu_expert {
    struct cpu_gate gate;
    struct kmat down;
    const float *bias; /* of down, or NULL */
    const int32_t *row;
    const float *weight;
};
/* All of them, one at least, in the order that they have; all but the last are of the same sizes. */
void cpu_mul_mix(struct kdev *d, const struct cpu_expert *expert, int experts, enum kern_act act, float *x);

/* ------------------------------------------------------------------------ steps */

size_t cpu_kv_page_bytes(const struct kern_group *g);
int cpu_page_fetch(struct kdev *d, const struct kern_group *g, int page, void *host, struct err *err);
int cpu_page_upload(struct kdev *d, const struct kern_group *g, int page, const void *host, struct err *err);
/* Workspace that cpu_attn() takes at most; true: overflow. */
bool cpu_attn_bytes(const struct kern_dims *dims, uint64_t *bytes);

int cpu_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                const struct kern_group *g, int group, int layer, const float *x, float *q, void *work,
                struct err *err);
int cpu_attn(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g, int group,
             int layer, int heads, float scale, float softcap, const float *sinks, const float *q, float *att,
             void *work, struct err *err);
int cpu_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table, float scale,
              float *x, struct err *err);
int cpu_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *bias,
                const float *post, float eps, const float *y, float *x, void *work, struct err *err);
int cpu_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *w, float *x, void *work,
            struct err *err);
/* mix.c: the same of a mixture, and the workspace that it takes at most; true: overflow. */
int cpu_mix(struct kdev *d, int rows, const struct kern_ffn *w, float *x, void *work);
bool cpu_mix_bytes(const struct kern_dims *dims, uint64_t *bytes);
/* delta.c: and the workspace that these three take at most; true: overflow. */
int cpu_delta(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
              const struct kern_group *g, int group, int layer, const float *x, float *att, void *work,
              struct err *err);
int cpu_conv(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
             const struct kern_group *g, int group, int layer, const float *x, float *att, void *work, struct err *err);
int cpu_let(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *x, float *att,
            void *work, struct err *err);
bool cpu_delta_bytes(const struct kern_dims *dims, uint64_t *bytes);
int cpu_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
               const struct kmat *w, float softcap, const float *x, float *logits, void *work, struct err *err);
int cpu_sample(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
               const float *logits, struct kern_choice *choice, void *work, struct err *err);
#endif
