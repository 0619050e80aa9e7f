/* mix.c - the feed-forward of a mixture of experts.  Which rows an expert has is known on the device alone: each launch
 * has as many blocks as there may be tiles, and those without one end at once.
 *
 *     norm -> router -> route -> gate and up of places -> act -> down of places -> x += weighted sum of a row's
 *                                gate and up of rows   -> act -> down of rows    (a shared expert's, before the others)
 *
 * Experts' products are the kernels' in the fast mode, too: an expert has few rows, and where company could change a
 * logit's last bit it could change the choice of experts.  A shared one's are like any other's. */
#include "kernels/cuda/impl.h"

_Static_assert((int)GPU_EXPERTS == (int)KERN_EXPERTS && (int)GPU_USED == (int)KERN_USED, "both have the same bounds");

/* Tiles that so many rows may come to: each expert that has any has one that may not be full. */
static uint64_t most_tiles(uint64_t rows, uint64_t n, uint64_t used)
{
    const uint64_t size = (uint64_t)gpu_tile_size((int)rows), places = rows * used;
    return (places + MIN(n, places) * (size - 1)) / size;
}

bool mix_lay(int rows, const struct kern_dims *dims, struct mix_layout *l)
{
    const int n = dims->experts, used = dims->used;
    const uint64_t r = (uint64_t)rows, e = (uint64_t)dims->embd, f = (uint64_t)dims->ff, places = r * (uint64_t)used;
    const uint64_t wide = (uint64_t)dims->shared, beside = wide ? r : 0;
    const uint64_t tiles = most_tiles(r, (uint64_t)n, (uint64_t)used);
    uint64_t at = 0;
    bool fits = gpu_cut(&at, r, e, 4, &l->normed) &&
                gpu_cut(&at, MAX(r * (e / 32), places * (f / 32)), 1, sizeof(struct gpu_act), &l->act) &&
                gpu_cut(&at, places, f, 4, &l->gate) && gpu_cut(&at, places, MAX(e, f), 4, &l->up) &&
                gpu_cut(&at, r, (uint64_t)n, 4, &l->logits) && gpu_cut(&at, places, 1, 4, &l->expert) &&
                gpu_cut(&at, places, 1, 4, &l->weight) && gpu_cut(&at, places, 1, 4, &l->place) &&
                gpu_cut(&at, places, 1, 4, &l->row) && gpu_cut(&at, tiles, 1, sizeof(struct gpu_tile), &l->tile) &&
                gpu_cut(&at, beside, wide, 4, &l->shared_gate) && gpu_cut(&at, beside, wide, 4, &l->shared_up) &&
                gpu_cut(&at, beside, wide / 32, sizeof(struct gpu_act), &l->shared_act) &&
                gpu_cut(&at, beside, e, 4, &l->shared) && gpu_cut(&at, beside, 1, 4, &l->let);
    l->end = at;
    l->tiles = (int)tiles;
    return fits && places <= INT32_MAX && tiles <= INT32_MAX;
}

static int32_t *ints(struct kdev *d, uint64_t at) { return (int32_t *)(void *)(d->dev_scratch + at); }

/* A product with the first of n experts' rows of w, and all experts' biases. */
static struct gpu_mul of_expert(int rows, const struct kmat *w, const float *bias, int n, const float *x,
                                const struct gpu_act *act, float *y)
{
    struct gpu_mul m = {.w = mat_of(w), .rows = rows, .dev_x = x, .dev_act = act, .dev_y = y, .dev_bias = bias};
    m.w.rows /= n;
    assert(w->rows % n == 0 && m.w.rows % 32 == 0);
    return m;
}

/* From x to the experts of each row; the normed rows stay, in floats and, where a matrix wants them so, rounded. */
static int route(struct kdev *d, const struct kern_ffn *f, const struct gpu_mix *mix, const float *x, float *normed,
                 struct gpu_act *act, float *logits)
{
    const struct gpu_mul router = {.w = mat_of(&f->mix.router), .rows = mix->rows, .dev_x = normed, .dev_act = act,
                                   .dev_y = logits, .dev_bias = f->mix.dev_bias};
    const struct kern_shared *s = &f->shared;
    const bool floats_only = is_plain(f->mix.router.type) && is_plain(f->gate.type) && is_plain(f->up.type) &&
                             is_plain(s->gate.type) && is_plain(s->up.type);
    int code = d->face->norm(d->gpu, mix->rows, NULL, f->gate.cols, x, f->dev_norm, f->eps, normed,
                             floats_only ? NULL : act);
    if (!code) code = d->face->mul(d->gpu, &router, 1);
    return code ? code : d->face->route(d->gpu, mix);
}

/* What the shared expert makes of the normed rows, and how much of it is let through. */
static int run_shared(struct kdev *d, int rows, const struct kern_ffn *f, const struct mix_layout *l)
{
    const struct kern_shared *s = &f->shared;
    const int ff = s->gate.rows, embd = s->gate.cols;
    float *normed = floats(d, l->normed), *gate = floats(d, l->shared_gate), *up = floats(d, l->shared_up);
    struct gpu_act *act = acts(d, l->act), *rounded = acts(d, l->shared_act);
    const struct gpu_mul in[] = {mul_of(rows, &s->gate, normed, act, gate), mul_of(rows, &s->up, normed, act, up)};
    const struct gpu_mul down = mul_of(rows, &s->down, gate, rounded, floats(d, l->shared));
    assert(s->up.rows == ff && s->up.cols == embd && s->down.rows == embd && s->down.cols == ff);
    int code = d->face->let_rows(d->gpu, rows, embd, normed, s->dev_let, floats(d, l->let));
    if (!code) code = fast_mul(d, in, COUNT_OF(in));
    if (!code)
        code = d->face->gate(d->gpu, (size_t)rows * (size_t)ff, (enum gpu_gate)f->act, gate, up,
                             is_plain(s->down.type) ? NULL : rounded);
    return code ? code : fast_mul(d, &down, 1);
}

int mix_ffn(struct kdev *d, int rows, const struct kern_ffn *f, float *x, struct err *err)
{
    const int n = f->mix.n, used = f->mix.used, embd = f->gate.cols, ff = f->gate.rows / n;
    const bool beside = f->shared.gate.cols > 0;
    const struct kern_dims dims = {.embd = embd, .ff = ff, .experts = n, .used = used, .shared = f->shared.gate.rows};
    struct mix_layout l = {0};
    assert(0 < used && used <= n && n <= KERN_EXPERTS && used <= KERN_USED && !f->dev_post);
    assert(f->up.rows == n * ff && f->up.cols == embd && f->down.rows == n * embd && f->down.cols == ff);
    assert(f->mix.router.rows == n && f->mix.router.cols == embd);
    if (!mix_lay(rows, &dims, &l)) return err_set(err, -1, "a pass is too large");
    float *normed = floats(d, l.normed), *gate = floats(d, l.gate), *up = floats(d, l.up);
    struct gpu_act *act = acts(d, l.act);
    const struct gpu_mix mix = {.rows = rows, .n = n, .used = used, .tiles = l.tiles, .dev_logits = floats(d, l.logits),
                                .dev_expert = ints(d, l.expert), .dev_weight = floats(d, l.weight),
                                .dev_place = ints(d, l.place), .dev_row = ints(d, l.row),
                                .dev_tile = (struct gpu_tile *)(void *)(d->dev_scratch + l.tile),
                                .of_all = f->mix.of_all};
    const struct gpu_mul in[] = {of_expert(rows, &f->gate, f->dev_bg, n, normed, act, gate),
                                 of_expert(rows, &f->up, f->dev_bu, n, normed, act, up)};
    const struct gpu_mul down = of_expert(rows, &f->down, f->dev_bd, n, gate, act, up); /* up is done with by then */
    int code = route(d, f, &mix, x, normed, act, floats(d, l.logits));
    if (!code && beside) code = run_shared(d, rows, f, &l);
    if (!code) code = d->face->mul_mix(d->gpu, &mix, false, in, COUNT_OF(in));
    if (!code)
        code = d->face->gate(d->gpu, (size_t)rows * (size_t)used * (size_t)ff, (enum gpu_gate)f->act, gate, up,
                             is_plain(f->down.type) ? NULL : act);
    if (!code) code = d->face->mul_mix(d->gpu, &mix, true, &down, 1);
    if (!code)
        code = d->face->mix(d->gpu, &mix, embd, up, beside ? floats(d, l.shared) : NULL,
                            beside ? floats(d, l.let) : NULL, x);
    return cuda_fail(d, code, "a mixture of experts", err);
}
