/* cuda.c - the CUDA backend: the table of kernels.h, made of the face (gpu.h) that an object opened at run time has.
 *
 * What is plain arithmetic is here and needs no CUDA: sizes, the packing of weights (the same layout as the CPU's),
 * the layout of the workspace, words for errors.  The workspace:
 *
 *     the pass (begin): tokens, positions, sequences, out rows, block tables | fast.c's room | scratch of one step */
#include "kernels/cuda/impl.h"
#include "kernels/cpu/pack.h"
#include "kernels/state.h"

enum { DEVICES = 64 }; /* that --device may name, and the best is chosen of */

int cuda_lost(const struct kdev *d, struct err *err)
{
    return atomic_load(&d->is_lost) ? err_set(err, -1, "%s", d->lost) : 0;
}

/* A call that failed.  Was it that alone, or can this process have nothing more of the device?  Only the thread that
 * drives it asks, and it answers for all. */
int cuda_fail(struct kdev *d, int code, const char *doing, struct err *err)
{
    if (code == 0) return 0;
    if (!atomic_load(&d->is_lost) && d->face->alive(d->gpu)) {
        snprintf(d->lost, sizeof d->lost, "CUDA device %s was lost at %s: %s; start plimsoll again, or use "
                 "--backend cpu", d->info.name, doing, d->face->say(code));
        atomic_store(&d->is_lost, true);
    }
    if (cuda_lost(d, err)) return -1;
    return err_set(err, -1, "CUDA device %s: %s failed: %s; use --backend cpu", d->info.name, doing,
                   d->face->say(code));
}

/* ------------------------------------------------------------------------ opening */

static void cuda_close(struct kdev *d)
{
    if (!d) return;
    if (d->gpu) d->face->close(d->gpu);
    sampler_close(&d->sampler);
    free(d);
}

/* Of several the one with most memory free, the first of equals; where nobody says, the first. */
static int best_device(const struct gpu_face *face, int n)
{
    uint64_t most = 0, free_bytes, all;
    int best = 0;
    for (int i = 0; i < MIN(n, DEVICES) && n > 1; i++) {
        char bus[32] = "";
        if (face->bus(i, bus) || !cuda_free_unopened(bus, &free_bytes, &all) || free_bytes <= most) continue;
        most = free_bytes;
        best = i;
    }
    return best;
}

/* The driver is there, or code says what is wrong; which of n devices is meant, and is it one of them? */
static int find_device(const struct gpu_face *face, int asked, int *device, struct err *err)
{
    int n = 0, driver = 0, code = face->devices(&n, &driver);
    if (code && code != GPU_OLD_DRIVER && code != GPU_NO_DEVICE)
        return err_set(err, -1, "CUDA's driver does not answer: %s; use --backend cpu", face->say(code));
    if (driver == 0)
        return err_set(err, CUDA_NOTHING_THERE, "this machine has no CUDA driver; use --backend cpu");
    if (code == GPU_OLD_DRIVER)
        return err_set(err, -1, "the driver is too old: it serves CUDA %d.%d, these kernels need %d.0 or later: bring "
                       "it up to date, or use --backend cpu", driver / 1000, driver % 1000 / 10, face->runtime / 1000);
    if (code == GPU_NO_DEVICE || n == 0)
        return err_set(err, CUDA_NOTHING_THERE, "this machine has no CUDA device; use --backend cpu");
    if (asked >= n)
        return err_set(err, -1, "there is no CUDA device %d: this machine has %d, counted from 0; name one by "
                       "--device, or use --backend cpu", asked, n);
    *device = asked >= 0 ? asked : best_device(face, n);
    return 0;
}

static int refuse_device(const struct kdev *d, int device, int code, struct err *err)
{
    if (code == GPU_NO_KERNELS || code == GPU_NO_FUNCTION)
        return err_set(err, -1, "CUDA device %d (%s) is of sm_%d%d, for which the object beside the program has no "
                       "kernels: build it with CUDA_ARCH=%d%d where nvcc knows that, or use --backend cpu", device,
                       d->info.name, d->info.major, d->info.minor, d->info.major, d->info.minor);
    if (code == GPU_NO_MEMORY)
        return err_set(err, -1, "CUDA device %d has no memory left to be opened: %s; end what else uses it, or use "
                       "--backend cpu", device, d->face->say(code));
    return err_set(err, -1, "CUDA device %d cannot be opened: %s; use --backend cpu", device, d->face->say(code));
}

/* What the device had free before this process came to it, if that is known of the same device: a part of one
 * (multi-instance) has less than its board.  Its context stays until the process ends, so that it is seen at the first
 * opening alone. */
static size_t context_of(const struct kdev *d, int device, uint64_t before, uint64_t all_before)
{
    static _Atomic size_t seen[DEVICES];
    size_t free_bytes = 0, all = 0, took = d->info.opening;
    if (d->face->memory(d->gpu, &free_bytes, &all)) return took;
    if (all_before / 16 * 15 <= all && before > free_bytes) took = MAX(took, (size_t)(before - free_bytes));
    if (device >= DEVICES) return took;
    if (took > atomic_load(&seen[device])) atomic_store(&seen[device], took);
    return atomic_load(&seen[device]);
}

static struct kdev *open_as(const struct kern_config *cfg, bool fast, struct err *err)
{
    const struct gpu_face *face = cuda_face(err);
    int device = 0;
    char bus[32] = "";
    uint64_t before = 0, all_before = 0;
    if (!face || find_device(face, cfg ? cfg->device : -1, &device, err)) return NULL;
    struct kdev *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(err, -1, "out of memory at opening the CUDA backend");
        return NULL;
    }
    d->face = face;
    if (face->bus(device, bus) || !cuda_free_unopened(bus, &before, &all_before)) before = 0;
    int code = face->open(device, &d->gpu, &d->info);
    if (code) {
        refuse_device(d, device, code, err);
        cuda_close(d);
        return NULL;
    }
    d->fast = fast;
    const char *not_fast = fast_open(d);
    d->context = context_of(d, device, before, all_before);
    snprintf(d->said, sizeof d->said, "%s (sm_%d%d, %d multiprocessors, driver %d.%d), %s%s", d->info.name,
             d->info.major, d->info.minor, d->info.units, d->info.driver / 1000, d->info.driver % 1000 / 10,
             d->fast ? "fast" : "exact", not_fast);
    snprintf(d->numerics, sizeof d->numerics, "cuda 2 sm_%d%d%s", d->info.major, d->info.minor,
             d->fast ? " fast" : "");
    return d;
}

static struct kdev *cuda_open(const struct kern_config *cfg, struct err *err) { return open_as(cfg, false, err); }
static struct kdev *open_fast(const struct kern_config *cfg, struct err *err) { return open_as(cfg, true, err); }
static bool cuda_is_fast(const struct kdev *d) { return d->fast; }

static const char *cuda_describe(const struct kdev *d) { return d->said; }
static const char *cuda_numerics(const struct kdev *d) { return d->numerics; }
static size_t cuda_context(const struct kdev *d) { return d->context; }

static const char *cuda_mat_kernel(const struct kdev *d, enum ktype type)
{
    const struct ktype_info *t = ktype_info((uint32_t)type);
    if (!t || !t->usable) return "none";
    if (d->fast && type != KT_F32 && type != KT_BF16)
        return is_plain(type) ? "cuda fp32 fma, cuBLASLt" : "cuda dp4a and mma int8, cuBLASLt";
    return is_plain(type) ? "cuda fp32 fma, exact" : "cuda dp4a and mma int8, exact";
}

/* ------------------------------------------------------------------------- memory */

static size_t cuda_slab_bytes(size_t bytes)
{
    return bytes > SIZE_MAX / 2 ? SIZE_MAX : (size_t)size_align(MAX(bytes, 1), 512);
}

static int cuda_memory(struct kdev *d, uint64_t *free_bytes, uint64_t *all, struct err *err)
{
    size_t f = 0, a = 0;
    int code = atomic_load(&d->is_lost) ? -1 : d->face->memory(d->gpu, &f, &a);
    *free_bytes = f, *all = a;
    if (!code || cuda_lost(d, err)) return code;
    return err_set(err, -1, "CUDA device %s does not say what memory it has: %s", d->info.name, d->face->say(code));
}

static void *cuda_take(struct kdev *d, size_t bytes, struct err *err)
{
    void *slab = NULL;
    size_t free_bytes = 0, all = 0;
    if (cuda_lost(d, err)) return NULL;
    int code = d->face->take(d->gpu, cuda_slab_bytes(bytes), &slab);
    if (!code) return slab;
    if (code != GPU_NO_MEMORY) {
        cuda_fail(d, code, "taking memory", err);
        return NULL;
    }
    if (d->face->memory(d->gpu, &free_bytes, &all)) free_bytes = 0;
    err_set(err, -1, "cannot take %zu bytes (%.1f MiB) of device memory: %s, %.1f MiB are free; use a smaller model, "
            "context or budget", bytes, (double)bytes / (1 << 20), d->face->say(code), (double)free_bytes / (1 << 20));
    return NULL;
}

static void cuda_give(struct kdev *d, void *slab, size_t bytes)
{
    (void)bytes;
    if (slab) d->face->give(d->gpu, slab);
}

static int cuda_upload(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    (void)st;
    return cuda_lost(d, err) ? -1 : cuda_fail(d, d->face->upload(d->gpu, dst, src, bytes), "a copy to it", err);
}

static int cuda_fetch(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    (void)st;
    return cuda_lost(d, err) ? -1 : cuda_fail(d, d->face->fetch(d->gpu, dst, src, bytes), "a copy from it", err);
}

/* -------------------------------------------------------------------------- sizes */

static size_t kv_head_bytes(enum ktype type, int dim)
{
    const struct ktype_info *t = ktype_info((uint32_t)type);
    return (size_t)KERN_PAGE * (size_t)dim / (size_t)t->block * (size_t)t->bytes;
}

static struct gpu_pages pages_of(const struct kern_group *g, int layer)
{
    size_t k = kv_head_bytes(g->kv_type, g->head_dim);
    size_t head = k + kv_head_bytes(g->kv_type, (int)size_align((uint64_t)g->head_dim, 16));
    return (struct gpu_pages){.dev_slab = g->dev_slab,
                              .page_bytes = g->page_bytes,
                              .layer_at = (size_t)layer * (size_t)g->kv_heads * head,
                              .head_bytes = head,
                              .v_at = k,
                              .kv = g->kv_type,
                              .kv_heads = g->kv_heads,
                              .dim = g->head_dim,
                              .window = g->window};
}

static size_t cuda_kv_page_bytes(const struct kern_group *g)
{
    uint64_t bytes;
    if (g->taps) return state_page_bytes(g);
    if (g->kv_type != KT_F32 && g->kv_type != KT_F16 && g->kv_type != KT_Q8_0) return 0;
    if (g->layers <= 0 || g->kv_heads <= 0 || g->head_dim <= 0 || g->head_dim > KERN_HEAD_MAX) return 0;
    if (g->head_dim % ktype_info((uint32_t)g->kv_type)->block) return 0;
    size_t head = pages_of(g, 0).head_bytes;
    if (size_mul((uint64_t)g->layers * (uint64_t)g->kv_heads, head, &bytes)) return 0;
    return bytes > SIZE_MAX - 64 ? 0 : (size_t)size_align(bytes, 64);
}

/* Where the arrays of a pass lie. */
struct pass_layout {
    uint64_t token, pos, seq, out, table[KERN_GROUPS], end;
};

static bool lay_pass(int rows, int outs, int seqs, int stride, int groups, struct pass_layout *l)
{
    uint64_t at = 0;
    bool fits = gpu_cut(&at, (uint64_t)rows, 1, 4, &l->token) && gpu_cut(&at, (uint64_t)rows, 1, 4, &l->pos) &&
                gpu_cut(&at, (uint64_t)rows, 1, 4, &l->seq) && gpu_cut(&at, (uint64_t)outs, 1, 4, &l->out);
    for (int g = 0; g < groups && fits; g++) fits = gpu_cut(&at, (uint64_t)seqs, (uint64_t)stride, 4, &l->table[g]);
    l->end = at;
    return fits;
}

/* The scratch of one step; all of them begin with the same two. */
struct scratch {
    uint64_t normed, act, a, b, end;
};

static bool lay_scratch(int rows, int norm_cols, int act_cols, int a_cols, int b_cols, struct scratch *s)
{
    uint64_t at = 0;
    bool fits = gpu_cut(&at, (uint64_t)rows, (uint64_t)norm_cols, 4, &s->normed) &&
                gpu_cut(&at, (uint64_t)rows, (uint64_t)act_cols / 32, sizeof(struct gpu_act), &s->act) &&
                gpu_cut(&at, (uint64_t)rows, (uint64_t)a_cols, 4, &s->a) &&
                gpu_cut(&at, (uint64_t)rows, (uint64_t)b_cols, 4, &s->b);
    s->end = at;
    return fits;
}

/* What attention's spans take at most: there are those of the longest row for each row and head, if they are as many as
 * there may be (spans_of()). */
static uint64_t parts_bytes(const struct kern_dims *n)
{
    const uint64_t spans = ((uint64_t)n->max_ctx + GPU_SPAN - 1) / GPU_SPAN, heads = (uint64_t)n->heads;
    const uint64_t rows = MIN((uint64_t)MAX(n->max_rows, n->max_outs), GPU_PARTS);
    if (spans < 2) return 0;
    return MIN(rows * MIN(heads * spans, GPU_PARTS), GPU_PARTS) * (uint64_t)(n->head_dim + 2) * sizeof(float);
}

static size_t cuda_work_bytes(const struct kern_dims *n)
{
    const int rows = MAX(n->max_rows, n->max_outs), stride = n->max_ctx / KERN_PAGE + 2;
    const uint64_t inner = (uint64_t)n->values * (uint64_t)n->state_dim;
    const uint64_t wide = MAX((uint64_t)n->heads * (uint64_t)n->head_dim, inner);
    const uint64_t kv = (uint64_t)n->kv_heads * (uint64_t)n->head_dim;
    const uint64_t cols = MAX(MAX((uint64_t)n->embd, (uint64_t)n->ff), wide), most = MAX(MAX(kv, (uint64_t)n->ff), 1);
    struct pass_layout l;
    struct scratch s;
    struct sampler_layout p;
    struct mix_layout x = {0};
    struct delta_layout e = {0};
    if (cols > INT32_MAX || most > INT32_MAX) return SIZE_MAX;
    if (!lay_pass(rows, n->max_outs, MAX(n->max_seqs, 1), stride, KERN_GROUPS, &l)) return SIZE_MAX;
    if (!lay_scratch(rows, n->embd, (int)cols, (int)most, (int)most, &s)) return SIZE_MAX;
    if (!sampler_lay(n->max_outs, n->vocab, &p)) return SIZE_MAX;
    if (n->experts && !mix_lay(rows, n, &x)) return SIZE_MAX;
    if (n->values && !delta_most(n, rows, &e)) return SIZE_MAX;
    s.end = MAX(MAX(MAX(s.end, p.end), MAX(parts_bytes(n), x.end)), e.end);
    return l.end > SIZE_MAX / 2 || s.end > SIZE_MAX / 2 ? SIZE_MAX : (size_t)(l.end + s.end);
}

/* With the room for products by cuBLASLt, if these may be made. */
static size_t fast_work_bytes(const struct kern_dims *n)
{
    struct room_layout l = {0};
    size_t exact = cuda_work_bytes(n);
    uint64_t bytes;
    if (!cuda_shown(CUDA_BLAS)) return exact;
    return !fast_lay(n, &l) || size_add(exact, l.end, &bytes) || bytes > SIZE_MAX / 2 ? SIZE_MAX : (size_t)bytes;
}

static int cuda_ready(struct kdev *d, const struct kern_dims *n, struct err *err)
{
    if (d->fast && !fast_lay(n, &d->lies)) return err_set(err, -1, "a pass is too large");
    return sampler_ready(d, n, err);
}

/* ------------------------------------------------------------------------ weights */

/* The one stream is one thread's. */
static void cuda_share(struct kdev *d, int n, void (*work)(void *job, int first, int end, int who), void *job)
{
    (void)d;
    if (n > 0) work(job, 0, n, 0);
}

static int cuda_mat_load(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    const size_t group = pack_group_bytes(m->type, m->cols), row = group / 32;
    int code = 0;
    assert(group && m->dev_data && row0 >= 0 && row0 % 32 == 0 && n >= 0 && n <= m->rows - row0);
    if (cuda_lost(d, err)) return -1;
    uint8_t *packed = malloc(group);
    if (!packed) return err_set(err, -1, "out of memory at packing %zu bytes of weights", group);
    for (int r = 0; r < n && !code; r += 32) {
        pack_group(m->type, MIN(32, n - r), m->cols, (const uint8_t *)src + (size_t)r * row, row, packed);
        code = d->face->upload(d->gpu, (uint8_t *)m->dev_data + (size_t)((row0 + r) / 32) * group, packed, group);
    }
    free(packed);
    return cuda_fail(d, code, "a copy of weights", err);
}

/* -------------------------------------------------------------------------- steps */

static int cuda_begin(struct kdev *d, struct kstream *st, const struct kern_batch *b, void *dev_work, struct err *err)
{
    struct pass_layout l = {0};
    uint8_t *work = dev_work;
    (void)st;
    bool fits = lay_pass(b->rows, b->outs, b->seqs, b->stride, b->groups, &l);
    assert(fits && b->groups <= KERN_GROUPS);
    (void)fits;
    if (cuda_lost(d, err)) return -1;
    d->dev_token = (int32_t *)(void *)(work + l.token);
    d->dev_pos = (int32_t *)(void *)(work + l.pos);
    d->dev_seq = (int32_t *)(void *)(work + l.seq);
    d->dev_out = (int32_t *)(void *)(work + l.out);
    d->dev_scratch = work + l.end + d->lies.end;
    if (d->lies.end) fast_place(d, work + l.end);
    d->longest = 0;
    for (int i = 0; i < b->rows; i++) d->longest = MAX(d->longest, b->pos[i] + 1);
    const size_t rows = (size_t)b->rows * sizeof(int32_t);
    int code = d->face->upload(d->gpu, d->dev_token, b->token, rows);
    if (!code) code = d->face->upload(d->gpu, d->dev_pos, b->pos, rows);
    if (!code) code = d->face->upload(d->gpu, d->dev_seq, b->seq, rows);
    if (!code && b->outs) code = d->face->upload(d->gpu, d->dev_out, b->out_row, (size_t)b->outs * sizeof(int32_t));
    for (int g = 0; g < b->groups && !code; g++) {
        d->dev_table[g] = (int32_t *)(void *)(work + l.table[g]);
        code = d->face->upload(d->gpu, d->dev_table[g], b->table[g],
                               (size_t)b->seqs * (size_t)b->stride * sizeof(int32_t));
    }
    return cuda_fail(d, code, "the beginning of a pass", err);
}

static int cuda_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table,
                      float scale, float *x, struct err *err)
{
    const struct gpu_mat m = mat_of(table);
    (void)st;
    if (b->rows <= 0) return 0;
    return cuda_fail(d, d->face->embed(d->gpu, b->rows, d->dev_token, &m, scale, x), "the embedding", err);
}

/* What a step's products see: rows normed, or (no norm) as they are; act, unless it is NULL, has them as integers. */
static int step_input(struct kdev *d, int rows, int cols, const float *x, const float *norm, float eps, float *normed,
                      struct gpu_act *act)
{
    if (norm) return d->face->norm(d->gpu, rows, NULL, cols, x, norm, eps, normed, act);
    return act ? d->face->quantise(d->gpu, rows, cols, x, act) : 0;
}

/* q and k, which have their biases, each normed as rows of all heads: what is left to heads() is to rotate them. */
static int norm_whole(struct kdev *d, const struct kern_attn_in *w, struct gpu_heads *h, float *q, float *k)
{
    h->dev_bq = h->dev_bk = h->dev_q_norm = h->dev_k_norm = NULL;
    int code = d->face->norm(d->gpu, h->at.rows, NULL, w->q.rows, q, w->dev_q_norm, w->eps, q, NULL);
    return code ? code : d->face->norm(d->gpu, h->at.rows, NULL, w->k.rows, k, w->dev_k_norm, w->eps, k, NULL);
}

static int cuda_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                        const struct kern_group *g, int group, int layer, const float *x, float *q, void *dev_work,
                        struct err *err)
{
    const int kv = g->kv_heads * g->head_dim;
    const bool rounds = !is_plain(w->q.type) || !is_plain(w->k.type) || !is_plain(w->v.type);
    struct scratch s = {0};
    (void)st, (void)dev_work;
    if (b->rows <= 0) return 0;
    if (!lay_scratch(b->rows, w->q.cols, w->q.cols, kv, kv, &s)) return err_set(err, -1, "a pass is too large");
    float *k = floats(d, s.a), *v = floats(d, s.b);
    const float *in_x = w->dev_norm ? floats(d, s.normed) : x;
    struct gpu_act *act = rounds ? acts(d, s.act) : NULL;
    struct gpu_heads h = {.at = rows_of(d, b, group), .to = pages_of(g, layer), .heads = w->heads,
                          .dev_q = q, .dev_k = k, .dev_v = v, .dev_bq = w->dev_bq, .dev_bk = w->dev_bk,
                          .dev_bv = w->dev_bv, .dev_q_norm = w->dev_q_norm, .dev_k_norm = w->dev_k_norm,
                          .eps = w->eps, .rope_dims = w->rope.dims, .neox = w->rope.neox,
                          .gain = w->rope.gain, .beta = w->temper.beta, .each = w->temper.each};
    assert(w->rope.dims / 2 <= (int)COUNT_OF(h.inv_freq));
    if (w->rope.dims) memcpy(h.inv_freq, w->rope.inv_freq, (size_t)(w->rope.dims / 2) * sizeof h.inv_freq[0]);
    struct gpu_mul in[] = {mul_of(b->rows, &w->q, in_x, act, q), mul_of(b->rows, &w->k, in_x, act, k),
                           mul_of(b->rows, &w->v, in_x, act, v)};
    int code = step_input(d, b->rows, w->q.cols, x, w->dev_norm, w->eps, floats(d, s.normed), act);
    if (w->whole) in[0].dev_bias = w->dev_bq, in[1].dev_bias = w->dev_bk;
    if (!code) code = fast_mul(d, in, COUNT_OF(in));
    if (!code && w->whole) code = norm_whole(d, w, &h, q, k);
    if (!code) code = d->face->heads(d->gpu, &h);
    return cuda_fail(d, code, "attention's way in", err);
}

/* Spans that are a block's each (struct gpu_attn): where there is more than one, and room for all of them. */
static int spans_of(int rows, int heads, int longest)
{
    const int spans = (longest + GPU_SPAN - 1) / GPU_SPAN;
    return spans > 1 && (int64_t)rows * heads <= GPU_PARTS / spans ? spans : 0;
}

static int cuda_attn(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g,
                     int group, int layer, int heads, float scale, float softcap, const float *sinks,
                     const float *q, float *att, void *dev_work, struct err *err)
{
    const int spans = spans_of(b->rows, heads, d->longest);
    const struct gpu_attn a = {.at = rows_of(d, b, group), .from = pages_of(g, layer), .heads = heads, .scale = scale,
                               .cap = softcap, .dev_sinks = sinks, .dev_q = q, .dev_att = att, .spans = spans,
                               .dev_part = floats(d, 0)};
    (void)st, (void)dev_work;
    if (b->rows <= 0) return 0;
    return cuda_fail(d, d->face->attn(d->gpu, &a), "attention", err);
}

/* m's result is added to x: by itself, or normed, for which whole rows of it wait in sums. */
static int mul_add(struct kdev *d, struct gpu_mul *m, const float *post, float eps, float *sums, float *x)
{
    m->add = !post;
    m->dev_y = post ? sums : x;
    int code = fast_mul(d, m, 1);
    return code || !post ? code : d->face->norm_add(d->gpu, m->rows, m->w.rows, sums, post, eps, x);
}

static int cuda_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *bias,
                        const float *post, float eps, const float *y, float *x, void *dev_work, struct err *err)
{
    struct scratch s = {0};
    struct gpu_mul m = {.w = mat_of(w), .rows = rows, .dev_x = y, .dev_bias = bias};
    int code = 0;
    (void)st, (void)dev_work;
    if (rows <= 0) return 0;
    if (!lay_scratch(rows, post ? w->rows : 0, w->cols, 0, 0, &s)) return err_set(err, -1, "a pass is too large");
    if (!is_plain(w->type)) {
        m.dev_act = acts(d, s.act);
        code = d->face->quantise(d->gpu, rows, w->cols, y, acts(d, s.act));
    }
    if (!code) code = mul_add(d, &m, post, eps, floats(d, s.normed), x);
    return cuda_fail(d, code, "a projection", err);
}

static int cuda_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *f, float *x, void *dev_work,
                    struct err *err)
{
    const int embd = f->gate.cols, ff = f->gate.rows;
    struct scratch s = {0};
    (void)st, (void)dev_work;
    if (rows <= 0) return 0;
    if (f->mix.n) return mix_ffn(d, rows, f, x, err);
    assert(f->up.rows == ff && f->up.cols == embd && f->down.rows == embd && f->down.cols == ff);
    if (!lay_scratch(rows, embd, MAX(embd, ff), ff, ff, &s)) return err_set(err, -1, "a pass is too large");
    float *normed = floats(d, s.normed), *gate = floats(d, s.a), *up = floats(d, s.b);
    const float *in_x = f->dev_norm ? normed : x;
    struct gpu_act *act = acts(d, s.act), *rounded = is_plain(f->gate.type) && is_plain(f->up.type) ? NULL : act;
    struct gpu_mul down = {.w = mat_of(&f->down), .rows = rows, .dev_x = gate, .dev_act = act, .dev_bias = f->dev_bd};
    struct gpu_mul in[] = {mul_of(rows, &f->gate, in_x, rounded, gate), mul_of(rows, &f->up, in_x, rounded, up)};
    in[0].dev_bias = f->dev_bg, in[1].dev_bias = f->dev_bu;
    int code = step_input(d, rows, embd, x, f->dev_norm, f->eps, normed, rounded);
    if (!code) code = fast_mul(d, in, COUNT_OF(in));
    if (!code)
        code = d->face->gate(d->gpu, (size_t)rows * (size_t)ff, (enum gpu_gate)f->act, gate, up,
                             is_plain(f->down.type) ? NULL : act);
    if (!code) code = mul_add(d, &down, f->dev_post, f->eps, normed, x); /* these normed rows are done with */
    return cuda_fail(d, code, "the feed-forward", err);
}

static int cuda_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
                       const struct kmat *w, float softcap, const float *x, float *logits, void *dev_work,
                       struct err *err)
{
    struct scratch s = {0};
    (void)st, (void)dev_work;
    if (b->outs <= 0) return 0;
    if (!lay_scratch(b->outs, w->cols, w->cols, 0, 0, &s)) return err_set(err, -1, "a pass is too large");
    struct gpu_act *act = is_plain(w->type) ? NULL : acts(d, s.act);
    struct gpu_mul m = {.w = mat_of(w), .rows = b->outs, .dev_x = floats(d, s.normed), .dev_act = act, .dev_y = logits,
                        .cap = softcap};
    int code = d->face->norm(d->gpu, b->outs, d->dev_out, w->cols, x, norm, eps, floats(d, s.normed), act);
    if (!code) code = fast_mul(d, &m, 1);
    return cuda_fail(d, code, "the output", err);
}

/* What the two modes have in common. */
#define BOTH \
    .name = "cuda", .close = cuda_close, .describe = cuda_describe, .numerics = cuda_numerics, \
    .mat_kernel = cuda_mat_kernel, .context = cuda_context, .fast = cuda_is_fast, .lost = cuda_lost, \
    .memory = cuda_memory, .take = cuda_take, .give = cuda_give, .upload = cuda_upload, .fetch = cuda_fetch, \
    .slab_bytes = cuda_slab_bytes, .mat_bytes = pack_bytes, .kv_page_bytes = cuda_kv_page_bytes, \
    .host_bytes = sampler_host_bytes, .ready = cuda_ready, .share = cuda_share, .mat_load = cuda_mat_load, \
    .begin = cuda_begin, .embed = cuda_embed, .attn_in = cuda_attn_in, .attn = cuda_attn, .delta = cuda_delta, \
    .conv = cuda_conv, .gate = cuda_let, .project = cuda_project, \
    .ffn = cuda_ffn, .output = cuda_output, .sample = sampler_run

const struct kern *kern_cuda(void)
{
    static const struct kern exact = {BOTH, .open = cuda_open, .work_bytes = cuda_work_bytes};
    return &exact;
}

const struct kern *kern_cuda_fast(void)
{
    static const struct kern fast = {BOTH, .open = open_fast, .work_bytes = fast_work_bytes};
    return &fast;
}
