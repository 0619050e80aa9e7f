/* state.h - where things lie in a page of states (struct kern_group with taps), on the CPU: the same for both of its
 * backends.
 *
 *     [layer]{ conv (taps - 1, channels): the oldest token's first | S (value head, dim of keys, dim of values) }
 *
 * of floats, without S where a convolution is all (keys 0); each layer's begin at a multiple of 64 bytes.  Pages follow
 * one another, page_bytes apart. */
#ifndef STATE_H
#define STATE_H
#include "kernels/kernels.h"

/* q, k and v of one token. */
static inline int state_channels(const struct kern_group *g)
{
    return (2 * g->keys + g->kv_heads) * g->head_dim;
}

static inline size_t state_conv_floats(const struct kern_group *g)
{
    return (size_t)size_align((uint64_t)(g->taps - 1) * (uint64_t)state_channels(g), 16);
}

static inline size_t state_head_floats(const struct kern_group *g)
{
    return g->keys ? (size_t)g->head_dim * (size_t)g->head_dim : 0;
}

static inline size_t state_layer_bytes(const struct kern_group *g)
{
    const size_t heads = (size_t)size_align((size_t)g->kv_heads * state_head_floats(g), 16);
    return (state_conv_floats(g) + heads) * sizeof(float);
}

/* 0: there are no such states, or they overflow. */
static inline size_t state_page_bytes(const struct kern_group *g)
{
    uint64_t bytes;
    if (g->layers <= 0 || g->taps < 2 || g->taps > KERN_TAPS) return 0;
    if (g->head_dim <= 0 || g->head_dim > KERN_HEAD_MAX || g->keys < 0 || g->kv_heads <= 0) return 0;
    if (g->keys > KERN_VALUES || g->kv_heads > (g->keys ? (int)KERN_VALUES : INT32_MAX / KERN_HEAD_MAX)) return 0;
    return size_mul((uint64_t)g->layers, state_layer_bytes(g), &bytes) || bytes > SIZE_MAX ? 0 : (size_t)bytes;
}

/* The key head of a value head. */
static inline int state_key(const struct kern_delta *w, const struct kern_group *g, int head)
{
    return w->by_key ? head / (g->kv_heads / g->keys) : head % g->keys;
}

/* What a layer has in a page. */
static inline float *state_conv(const struct kern_group *g, int page, int layer)
{
    assert(page >= 0 && page < g->pages && layer >= 0 && layer < g->layers);
    char *at = (char *)g->dev_slab + (size_t)page * g->page_bytes + (size_t)layer * state_layer_bytes(g);
    return (float *)(void *)at;
}

static inline float *state_head(const struct kern_group *g, int page, int layer, int head)
{
    return state_conv(g, page, layer) + state_conv_floats(g) + (size_t)head * state_head_floats(g);
}

/* The page of a sequence's position; -1: there is none. */
static inline int state_page(const struct kern_batch *b, int group, int seq, int pos)
{
    assert(seq >= 0 && seq < b->seqs && pos >= 0 && pos / KERN_PAGE < b->stride);
    return b->table[group][(size_t)seq * (size_t)b->stride + (size_t)(pos / KERN_PAGE)];
}
#endif
