/* model_impl.h - what the parts of a model's loader share; no one else includes it.
 *
 *     model.c       keys to sizes, names to weights
 *     model_window.c which layers see how far
 *     model_mix.c   those of a mixture of experts
 *     model_delta.c those of layers that keep a state, short convolutions among them
 *     model_rope.c  the frequencies of its rotation
 *     model_scales.c factors on what goes through it
 *     model_load.c  weights to the device */
#ifndef MODEL_IMPL_H
#define MODEL_IMPL_H
#include "engine/model.h"

/* One tensor of the file and where it goes: a matrix, or a vector of floats. */
struct model_part {
    const struct gguf_tensor *t;
    struct kmat *mat;      /* matrix, or NULL ... */
    int row, turn;         /* ... it is the tensor's rows from this one on (turn > 0: so many, then as many not) ... */
    const float **vec;     /* ... then this vector */
    size_t offset, bytes;  /* in the slab */
};

/* What sets one architecture apart from another. */
struct model_arch {
    const char *name;
    bool neox;       /* which pairs are rotated together: struct kern_rope */
    bool qkv_bias;   /* q, k and v must have biases; else they may */
    bool head_norm;  /* each head of q and of k is normalised before it is rotated */
    bool window;     /* attention.sliding_window is in force in all layers (model.h) */
    bool fused;      /* q, k and v are one tensor, gate and up too */
    bool longrope;   /* rotations for short and for long contexts, with a gain */
    bool gemma;      /* scaled embeddings, GELU, norms of what is added */
    bool oss;        /* sinks, biases everywhere, an activation of its own; YaRN's ramp ends between pairs */
    bool delta;      /* local layers keep a state, and the others' q brings a gate */
    bool by_key;     /* its value heads lie by key head, and beta and alpha are one tensor */
    bool conv;       /* layers without KV heads have a short convolution, and the output's norm has another name */
    int local;       /* the sliding window is in force in all layers but every local-th; 0: it is not so */
    int window_else; /* such a window where the file names none; 0: then there is none */
    double local_base; /* of the rotation in those layers, where the file names none; 0: it is that of the others */
    bool local_plain;  /* ... which is not scaled in those layers */
    bool late;       /* norms of what is added and none before it; q and k are normed as whole rows */
    double attn_cap, cap; /* softcaps where the file names none */
    int still;       /* every so many-th layer does not rotate; 0: all do */
    bool scaled;     /* factors on embeddings, scores, what is added, and logits, which the file says */
    bool tempered;   /* q may be, by a factor that the file says */
    bool log_gain;   /* what YaRN's gain is may be said by rope.scaling.yarn_log_multiplier */
    int big;         /* with so many layers q k is scaled by the width a head instead of the head's size */
    const char *expert_ff; /* key of an expert's width, where the feed-forward can be a mixture; NULL: it cannot */
    bool mixture;    /* ... and must be one */
    bool shared;     /* ... beside which is an expert that all tokens go through */
    bool of_all;     /* what the chosen experts give is weighed by the softmax of all, and not scaled to sum to 1 */
};

struct planner {
    struct model *m;
    const struct model_arch *arch;
    const struct gguf *g;
    const struct kern *k;
    struct err *err;
    bool *used; /* (tensors of the file) */
    int every;  /* arch->local, or what the file says */
    const int32_t *kv_each; /* (layers) KV heads of each, 0 where it has a convolution; NULL: all have some */
    int still;  /* arch->still, or 1: the file says that no layer rotates */
    int skipped; /* blocks behind the layers that are left where they are */
    int room;   /* of m->part */
};

/* The key arch.suffix in [min, max]; a missing one is `absent`, or an error if that is < 0.  0, or -1. */
int model_key_int(const struct planner *p, const char *suffix, int64_t absent, int64_t min, int64_t max, int *out);
int model_key_real(const struct planner *p, const char *suffix, double absent, double min, double max, double *out);

/* A tensor's shape; depth: matrices one after the other. */
struct model_shape {
    int64_t cols, rows, depth;
};
/* The tensor of this name with exactly this shape; NULL and *rc 0: it is absent and may be; *rc -1: an error. */
const struct gguf_tensor *model_find(struct planner *p, const char *name, struct model_shape s, bool optional, int *rc);

/* Of a tensor. */
static inline int64_t model_values(const struct gguf_tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

/* m->ff, m->experts and m->used: after the width is read. */
int model_feed(struct planner *p);

/* model_delta.c: sizes of states, after all others; a layer's weights that belong to its state. */
int model_states(struct planner *p);
int model_plan_delta(struct planner *p, int layer);
/* The same of short convolutions. */
int model_convs(struct planner *p);
int model_plan_conv(struct planner *p, int layer);
/* The tensors of a block that stands behind the layers are known, and not used. */
void model_skip_block(struct planner *p, int block);

/* A weight: a matrix, or a vector, which may be `cols` of `rows` values each one after the other; without either the
 * architecture has it not.  A matrix may be some rows of a tensor: those from `first` on of `of`; of 0: it is all of
 * it; turn: struct model_part. */
struct model_want {
    const char *name;
    struct kmat *mat;
    const float **vec;
    int rows, cols;
    bool optional;
    int first, of, turn;
};
/* A layer's; depth matrices of a tensor are one, the rows of each below those of the one before. */
int model_want_all(struct planner *p, int layer, const struct model_want *want, size_t n, int depth);

/* m->window or m->local_window. */
int model_window(struct planner *p);

/* m->rope and m->rope_local, after the sizes; and the factors of pairs, which are tensors: Llama 3's, longrope's. */
int model_rope(struct planner *p);
int model_rope_factors(struct planner *p);

/* m->embed_scale, m->norm_scale, m->temper, and which layers do not rotate; after these Granite's others. */
int model_scales(struct planner *p);
#endif
