/* impl.h - the opened CUDA backend, for its own files. */
#ifndef CUDA_IMPL_H
#define CUDA_IMPL_H
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gpu.h"
#include "kernels/kernels.h"
#include <stdatomic.h>

/* What sampling wants of the host: taken by ready(). */
struct sampler {
    int vocab, outs;       /* that there is room for */
    struct gpu_pick *pick; /* (outs) */
    float *logits;         /* (vocab): a row that the host chooses from ... */
    void *scratch;         /* ... and kern_choose()'s */
};

/* Where the arrays of struct gpu_room lie; end 0: there is no room. */
struct room_layout {
    uint64_t tile, tokens, scale, product, space, end;
    int tile_rows, most_tokens;
};

struct kdev {
    const struct gpu_face *face;
    struct gpu *gpu;
    struct gpu_info info;
    size_t context; /* bytes of the device that opening it took */
    char said[400], numerics[64];
    atomic_bool is_lost;
    char lost[400]; /* the one line, once is_lost says so */
    /* the pass that begin() told of, on the device */
    int32_t *dev_token, *dev_pos, *dev_seq, *dev_out, *dev_table[KERN_GROUPS];
    uint8_t *dev_scratch;
    int longest; /* tokens that the longest of its rows sees */
    struct sampler sampler;
    bool fast; /* products may be cuBLASLt's */
    struct room_layout lies; /* where their room is, behind the arrays of a pass */
    struct gpu_room room;
};

/* -1 and the line, once the device is lost. */
int cuda_lost(const struct kdev *d, struct err *err);
/* A call's code into words; 0 stays 0. */
int cuda_fail(struct kdev *d, int code, const char *doing, struct err *err);

/* count * each pieces of `size` bytes at *at, a multiple of 256, which then is behind them; false: overflow. */
static inline bool gpu_cut(uint64_t *at, uint64_t count, uint64_t each, uint64_t size, uint64_t *place)
{
    uint64_t bytes;
    *place = *at;
    return !size_mul(count, each, &bytes) && !size_mul(bytes, size, &bytes) && !size_add(bytes, 255, &bytes) &&
           !size_add(*at, bytes & ~(uint64_t)255, at);
}

static inline bool is_plain(enum ktype type) { return type == KT_F32 || type == KT_F16 || type == KT_BF16; }

_Static_assert((int)GPU_SILU == (int)KERN_SILU && (int)GPU_GELU == (int)KERN_GELU && (int)GPU_OSS == (int)KERN_OSS,
               "a gate's act goes on as it is");

static inline struct gpu_mat mat_of(const struct kmat *m)
{
    return (struct gpu_mat){m->type, m->rows, m->cols, m->dev_data};
}

/* y = w x, from the normed or rounded rows. */
static inline struct gpu_mul mul_of(int rows, const struct kmat *w, const float *x, const struct gpu_act *act, float *y)
{
    return (struct gpu_mul){.w = mat_of(w), .rows = rows, .dev_x = x, .dev_act = act, .dev_y = y};
}

/* The rows of a pass, with a group's table. */
static inline struct gpu_rows rows_of(const struct kdev *d, const struct kern_batch *b, int group)
{
    assert(group >= 0 && group < b->groups);
    return (struct gpu_rows){b->rows, d->dev_pos, d->dev_seq, d->dev_table[group], b->stride};
}

/* What lies in a step's scratch. */
static inline float *floats(struct kdev *d, uint64_t at) { return (float *)(void *)(d->dev_scratch + at); }
static inline struct gpu_act *acts(struct kdev *d, uint64_t at)
{
    return (struct gpu_act *)(void *)(d->dev_scratch + at);
}

/* mix.c: where a mixture's arrays lie in the scratch of a step of so many rows (false: overflow), of dims as to embd,
 * ff, experts, used and shared; and that step. */
struct mix_layout {
    uint64_t normed, act, gate, up, logits, expert, weight, place, row, tile, end;
    uint64_t shared_gate, shared_up, shared_act, shared, let;
    int tiles;
};
bool mix_lay(int rows, const struct kern_dims *dims, struct mix_layout *l);
int mix_ffn(struct kdev *d, int rows, const struct kern_ffn *f, float *x, struct err *err);

/* states.c: where the arrays of a layer that keeps a state lie in the scratch of a step, which a gate on attention needs
 * no more of, nor a convolution's (false: overflow); those steps. */
struct delta_layout {
    uint64_t normed, act, qkv, c, z, beta, alpha, end;
};
bool delta_most(const struct kern_dims *n, int rows, struct delta_layout *l);
int cuda_delta(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_delta *w,
               const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
               struct err *err);
int cuda_conv(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_conv *w,
              const struct kern_group *g, int group, int layer, const float *x, float *att, void *dev_work,
              struct err *err);
int cuda_let(struct kdev *d, struct kstream *st, int rows, const struct kern_gate *w, const float *x, float *att,
             void *dev_work, struct err *err);

/* Where sampling's arrays lie in a step's scratch. */
struct sampler_layout {
    uint64_t pick, mask, value, peak, mass, end;
};
bool sampler_lay(int outs, int vocab, struct sampler_layout *l);

/* fast.c: the room that products by cuBLASLt need in a pass of at most n's sizes (false: overflow), its place from
 * begin() on, and n products, of which none is of another's result, by what serves d. */
bool fast_lay(const struct kern_dims *n, struct room_layout *l);
void fast_place(struct kdev *d, uint8_t *dev_room);
int fast_mul(struct kdev *d, const struct gpu_mul *m, int n);
/* Opens the library, if d is to be fast; why it is not after all, or "". */
const char *fast_open(struct kdev *d);

/* The functions of struct kern: host_bytes, ready, sample. */
size_t sampler_host_bytes(const struct kern_dims *n);
int sampler_ready(struct kdev *d, const struct kern_dims *n, struct err *err);
void sampler_close(struct sampler *s);
int sampler_run(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
                const float *dev_logits, struct kern_choice *dev_choice, void *dev_work, struct err *err);
#endif
