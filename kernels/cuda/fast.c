/* fast.c - the mode that may give other bits in company: large products by cuBLASLt (blas.cu).
 *
 * Unless a device has shown that right, or where the library is not there, the mode is exact's, and says so. */
#include "kernels/cuda/impl.h"

enum { TILE_BYTES = 16 << 20, /* of unpacked weights, about */
       ALIGN = 256 };         /* what the library supposes of all it is given */

bool fast_lay(const struct kern_dims *n, struct room_layout *l)
{
    const uint64_t inner = (uint64_t)n->values * (uint64_t)n->state_dim;
    const uint64_t wide = MAX((uint64_t)n->heads * (uint64_t)n->head_dim, inner);
    const uint64_t tokens = (uint64_t)MAX(n->max_rows, n->max_outs);
    const uint64_t cols = MAX(MAX((uint64_t)n->embd, MAX((uint64_t)n->ff, (uint64_t)n->shared)), wide);
    uint64_t rows = MAX(MIN(TILE_BYTES / 2 / MAX(cols, 1), cols) / 32 * 32, 32), at = 0;
    bool fits = gpu_cut(&at, cols, rows, 2, &l->tile) && gpu_cut(&at, tokens, cols, 2, &l->tokens) &&
                gpu_cut(&at, tokens, 1, 4, &l->scale) && gpu_cut(&at, tokens, rows, 4, &l->product) &&
                gpu_cut(&at, 1, 1, GPU_BLAS_SPACE, &l->space);
    l->tile_rows = (int)rows;
    l->most_tokens = (int)tokens;
    l->end = at + ALIGN;
    return fits && tokens <= INT32_MAX;
}

void fast_place(struct kdev *d, uint8_t *dev_room)
{
    const struct room_layout *l = &d->lies;
    dev_room += -(uintptr_t)dev_room % ALIGN;
    d->room = (struct gpu_room){.tile_rows = l->tile_rows,
                                .dev_tile = (unsigned short *)(void *)(dev_room + l->tile),
                                .dev_tokens = (unsigned short *)(void *)(dev_room + l->tokens),
                                .dev_scale = (float *)(void *)(dev_room + l->scale),
                                .dev_product = (float *)(void *)(dev_room + l->product),
                                .dev_space = dev_room + l->space};
}

const char *fast_open(struct kdev *d)
{
    const bool wanted = d->fast;
    d->fast = false;
    if (!wanted) return "";
    if (!cuda_shown(CUDA_BLAS)) return " (no device has shown --fast right)";
    size_t before = 0, after = 0, all;
    int code = d->face->memory(d->gpu, &before, &all);
    if (!code) code = d->face->blas_open(d->gpu);
    if (!code) code = d->face->memory(d->gpu, &after, &all);
    d->fast = code == 0;
    if (!code && before > after) d->info.opening += before - after;
    if (code == GPU_NO_LIBRARY) return " (--fast: there is no libcublasLt)";
    return code ? " (--fast: libcublasLt does not start)" : "";
}

/* Weights in floats are few, and have more digits than halves.  A pass may have more rows than there is room for where
 * a policy of engine/naive.h makes it. */
static bool by_blas(const struct kdev *d, const struct gpu_mul *m)
{
    const bool halves = m->w.type != KT_F32 && m->w.type != KT_BF16;
    return d->fast && halves && m->rows >= GPU_BLAS_ROWS && m->rows <= MIN(d->lies.most_tokens, UINT16_MAX);
}

int fast_mul(struct kdev *d, const struct gpu_mul *m, int n)
{
    int code = 0;
    for (int i = 0, first; i < n && !code;) {
        for (first = i; i < n && !by_blas(d, &m[i]); i++) continue;
        if (i > first) code = d->face->mul(d->gpu, &m[first], i - first);
        if (i < n && !code) code = d->face->blas(d->gpu, &m[i++], &d->room);
    }
    return code;
}
