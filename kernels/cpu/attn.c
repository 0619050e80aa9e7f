/* attn.c - what happens to heads: projection, rotation, the KV pages, and attention over them.
 *
 * A KV page:  [layer][kv head]{ K (head_dim, 16 tokens), V (16 tokens, head_dim rounded up to 16) }
 *     F32, F16   of float or half
 *     Q8_0       each of K and V is  d half (head_dim / 32, 16 tokens) | q int8 (as above)
 * A slab has its pages in runs of 16, and a run is [layer][kv head][page], so that a head's K and V of neighbouring
 * pages are neighbours: of pages by themselves, 4 KiB a head (64 dims in F16), two cores read half to four fifths of
 * what they read in order, of runs 88 to 94 % (SPEED.md).  The last run has the pages that are left.  Outside of the
 * slab a page is as it is drawn above.
 * K lies across tokens so that one vector holds the same dim of 8 or 16 tokens, and scores need no sum across lanes.
 * So do the scales of both, as weights are multiplied by V's before they meet its integers. */
#include "kernels/cpu/cpu.h"
#include "kernels/state.h"
#include <math.h>

/* ------------------------------------------------------------------------ pages */

/* Bytes of 16 tokens of a head of so many values, a whole number of the type's blocks. */
static size_t head_bytes(enum ktype type, size_t dim)
{
    const struct ktype_info *t = ktype_info(type);
    return KERN_PAGE * dim / (size_t)t->block * (size_t)t->bytes;
}

/* Bytes of K and of V of one head of one layer. */
static size_t k_bytes(const struct kern_group *g)
{
    return head_bytes(g->kv_type, (size_t)g->head_dim);
}

static size_t v_bytes(const struct kern_group *g)
{
    return head_bytes(g->kv_type, (size_t)size_align((uint64_t)g->head_dim, 16));
}

static struct isa_kv kv_of(const struct kern_group *g, int layer, int kv_head)
{
    return (struct isa_kv){.slab = g->dev_slab, .page_bytes = g->page_bytes, .head_bytes = k_bytes(g) + v_bytes(g),
                           .v_at = k_bytes(g), .head = (size_t)layer * (size_t)g->kv_heads + (size_t)kv_head,
                           .pages = g->pages};
}

size_t cpu_kv_page_bytes(const struct kern_group *g)
{
    uint64_t bytes;
    if (g->taps) return state_page_bytes(g);
    if (g->kv_type != KT_F32 && g->kv_type != KT_F16 && g->kv_type != KT_Q8_0) return 0;
    if (g->head_dim % ktype_info(g->kv_type)->block) return 0;
    if (g->layers <= 0 || g->kv_heads <= 0 || g->head_dim <= 0 || g->head_dim > KERN_HEAD_MAX) return 0;
    if (size_mul((uint64_t)g->layers * (uint64_t)g->kv_heads, k_bytes(g) + v_bytes(g), &bytes)) return 0;
    return bytes > SIZE_MAX - 64 ? 0 : (size_t)size_align(bytes, 64);
}

int cpu_page_fetch(struct kdev *d, const struct kern_group *g, int page, void *host, struct err *err)
{
    struct isa_kv kv = kv_of(g, 0, 0);
    const size_t heads = (size_t)g->layers * (size_t)g->kv_heads;
    uint8_t *to = host;
    (void)d, (void)err;
    assert(page >= 0 && page < g->pages);
    if (g->taps) {
        memcpy(host, state_conv(g, page, 0), g->page_bytes);
        return 0;
    }
    for (; kv.head < heads; kv.head++, to += kv.head_bytes) memcpy(to, isa_kv_page(&kv, page), kv.head_bytes);
    memset(to, 0, g->page_bytes - heads * kv.head_bytes);
    return 0;
}

int cpu_page_upload(struct kdev *d, const struct kern_group *g, int page, const void *host, struct err *err)
{
    struct isa_kv kv = kv_of(g, 0, 0);
    const size_t heads = (size_t)g->layers * (size_t)g->kv_heads;
    const uint8_t *from = host;
    (void)d, (void)err;
    assert(page >= 0 && page < g->pages);
    if (g->taps) {
        memcpy(state_conv(g, page, 0), host, g->page_bytes);
        return 0;
    }
    for (; kv.head < heads; kv.head++, from += kv.head_bytes) memcpy(isa_kv_page(&kv, page), from, kv.head_bytes);
    return 0;
}

static const int32_t *table_of(const struct kern_batch *b, int group, int row)
{
    assert(b->seq[row] >= 0 && b->seq[row] < b->seqs && b->pos[row] >= 0 && b->pos[row] / KERN_PAGE < b->stride);
    return b->table[group] + (size_t)b->seq[row] * (size_t)b->stride;
}

static void check_group(const struct kern_batch *b, const struct kern_group *g, int group, int layer)
{
    assert(group >= 0 && group < b->groups && b->groups <= KERN_GROUPS && layer >= 0 && layer < g->layers);
    assert(g->head_dim > 0 && g->head_dim <= KERN_HEAD_MAX && g->kv_heads > 0);
    (void)b, (void)g, (void)group, (void)layer;
}

/* ---------------------------------------------------------------------- attn_in */

struct heads_job {
    const struct kdev *d;
    const struct kern_batch *b;
    const struct kern_attn_in *w;
    const struct kern_group *g;
    int group, layer;
    float *q, *k, *v;
};

/* cos, then sin, of all pairs at a position; in double, since positions are large numbers of turns. */
static void turn_at(const struct kern_rope *rope, int pos, float *turn)
{
    int half = rope->dims / 2;
    for (int i = 0; i < half; i++) {
        double angle = pos * rope->inv_freq[i];
        turn[i] = (float)(rope->gain * cos(angle));
        turn[half + i] = (float)(rope->gain * sin(angle));
    }
}

/* For other frequencies than before, or another gain, nothing is known. */
static void turns_of(struct cpu_turns *t, const struct kern_rope *rope)
{
    const size_t bytes = (size_t)rope->dims / 2 * sizeof *t->freq;
    const bool same = t->dims == rope->dims && memcmp(&t->gain, &rope->gain, sizeof t->gain) == 0;
    if (rope->dims == 0 || (same && memcmp(t->freq, rope->inv_freq, bytes) == 0)) return;
    t->dims = rope->dims;
    t->gain = rope->gain;
    memcpy(t->freq, rope->inv_freq, bytes);
    for (int i = 0; i < CPU_TURNS; i++) t->pos[i] = -1;
}

/* Row r's angles, in own where there are more rows than are kept. */
static const float *turn_of(struct cpu_turns *t, const struct kern_rope *rope, int r, int pos, float *own)
{
    if (r < CPU_TURNS && t->pos[r] == pos) return t->turn[r];
    float *turn = r < CPU_TURNS ? t->turn[r] : own;
    turn_at(rope, pos, turn);
    if (r < CPU_TURNS) t->pos[r] = pos;
    return turn;
}

static void finish_heads(const struct heads_job *j, float *x, int heads, const float *bias, const float *norm,
                         const float *turn)
{
    const int dim = j->g->head_dim;
    const struct kern_rope *rope = turn ? &j->w->rope : NULL;
    if (norm && j->w->whole) {
        for (int i = 0; bias && i < heads * dim; i++) x[i] += bias[i];
        j->d->isa->norm(x, norm, heads * dim, j->w->eps, x);
        bias = norm = NULL;
    }
    if (!bias && !norm && !rope) return;
    for (int h = 0; h < heads; h++)
        j->d->isa->head(x + (size_t)h * (size_t)dim, dim, bias ? bias + h * dim : NULL, norm, j->w->eps, rope, turn);
}

static void temper_row(const struct kern_temper *t, int pos, float *q, size_t n)
{
    const float by = (float)kern_tempered(t, pos);
    for (size_t i = 0; t->each > 0 && i < n; i++) q[i] *= by;
}

static void finish_rows(void *arg, int first, int end, int who)
{
    const struct heads_job *j = arg;
    const struct kern_attn_in *w = j->w;
    const struct kern_group *g = j->g;
    const size_t q_wide = (size_t)w->heads * (size_t)g->head_dim, wide = (size_t)g->kv_heads * (size_t)g->head_dim;
    float own[KERN_HEAD_MAX];
    (void)who;

    for (int r = first; r < end; r++) {
        float *k = j->k + (size_t)r * wide, *v = j->v + (size_t)r * wide;
        int pos = j->b->pos[r], page = table_of(j->b, j->group, r)[pos / KERN_PAGE];
        assert(page >= 0 && page < g->pages);

        const float *turn = w->rope.dims ? turn_of(j->d->turns, &w->rope, r, pos, own) : NULL;
        finish_heads(j, j->q + (size_t)r * q_wide, w->heads, w->dev_bq, w->dev_q_norm, turn);
        temper_row(&w->temper, pos, j->q + (size_t)r * q_wide, q_wide);
        finish_heads(j, k, g->kv_heads, w->dev_bk, w->dev_k_norm, turn);
        finish_heads(j, v, g->kv_heads, w->dev_bv, NULL, NULL);
        for (int h = 0; h < g->kv_heads; h++) {
            const struct isa_kv kv = kv_of(g, j->layer, h);
            uint8_t *page_k = isa_kv_page(&kv, page);
            j->d->isa->kv_write(k + (size_t)h * (size_t)g->head_dim, v + (size_t)h * (size_t)g->head_dim, g->head_dim,
                                g->kv_type, page_k, page_k + kv.v_at, pos % KERN_PAGE);
        }
    }
}

int cpu_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                const struct kern_group *g, int group, int layer, const float *x, float *q, void *dev_work,
                struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (b->rows <= 0) return 0;
    const bool any_int = cpu_is_int(w->q.type) || cpu_is_int(w->k.type) || cpu_is_int(w->v.type);
    check_group(b, g, group, layer);
    assert(w->q.rows == w->heads * g->head_dim && w->k.rows == g->kv_heads * g->head_dim && w->v.rows == w->k.rows);
    assert(w->rope.dims >= 0 && w->rope.dims % 2 == 0 && w->rope.dims <= g->head_dim);

    struct cpu_input in = cpu_input(d, b->rows, NULL, w->q.cols, x, w->dev_norm, w->eps, any_int, &work);
    struct heads_job j = {d, b, w, g, group, layer, q, NULL, NULL};
    j.k = cpu_cut(&work, (size_t)b->rows * (size_t)w->k.rows, sizeof *j.k);
    j.v = cpu_cut(&work, (size_t)b->rows * (size_t)w->v.rows, sizeof *j.v);
    const struct cpu_out out[] = {{&w->q, q}, {&w->k, j.k}, {&w->v, j.v}};
    cpu_mul(d, &in, out, (int)COUNT_OF(out), 0);
    turns_of(d->turns, &w->rope);
    crew_run(d->crew, b->rows, finish_rows, &j);
    return 0;
}

/* ------------------------------------------------------------------------- attn */

enum {
    TILE_MOST = 16, /* a pass of few rows is still to be shared out */
    SPLIT_ROWS = 8, /* most rows of a pass whose spans are shared out, */
    SPLIT_ITEMS = 16 /* if its tiles are fewer than so many a thread */
};

/* A tile whose spans are items of their own. */
struct attn_split {
    int row, rows, from, spans; /* from: its first span */
    int at, row_at;             /* spans of the tiles before it, and those times their rows */
};

struct attn_job {
    const struct kdev *d;
    const struct kern_batch *b;
    const struct kern_group *g;
    int group, layer, heads; /* heads: query heads of one kv head */
    int tile;                /* a power of two: rows that attend() takes at a time */
    float scale, softcap;
    const float *sinks; /* (all query heads), or NULL */
    const float *q;
    float *att;
    struct attn_split split[SPLIT_ROWS + 1]; /* (splits), and what all of them come to */
    int splits;
    float *part; /* (kv head, tile, its spans, its rows, head, isa_part()) */
    int *left;   /* (kv head, tile): spans that nobody has summed up yet; who does the last joins them */
};

/* Rows of a tile: neighbours of one sequence at positions of one multiple of j->tile, so that it is known of each row
 * by itself whether one begins with it.  0: it lies inside. */
static int tile_rows(const struct attn_job *j, int row)
{
    const struct kern_batch *b = j->b;
    int n = 1;
    if (row > 0 && b->pos[row] % j->tile && b->seq[row - 1] == b->seq[row] && b->pos[row - 1] + 1 == b->pos[row])
        return 0;
    while (row + n < b->rows && (b->pos[row] + n) % j->tile && b->seq[row + n] == b->seq[row] &&
           b->pos[row + n] == b->pos[row] + n)
        n++;
    return n;
}

/* Rows of a kv head, over all that they see. */
static struct isa_attend attend_rows(const struct attn_job *j, int kv_head, int row, int rows)
{
    const struct kern_group *g = j->g;
    const size_t wide = (size_t)j->heads * (size_t)g->head_dim; /* values of one kv head's queries */
    const size_t at = ((size_t)row * (size_t)g->kv_heads + (size_t)kv_head) * wide;
    return (struct isa_attend){
        .q = j->q + at,
        .att = j->att + at,
        .stride = wide * (size_t)g->kv_heads,
        .rows = rows,
        .heads = j->heads,
        .dim = g->head_dim,
        .kv = g->kv_type,
        .at = kv_of(g, j->layer, kv_head),
        .table = table_of(j->b, j->group, row),
        .pos = j->b->pos[row],
        .window = g->window,
        .scale = j->scale,
        .softcap = j->softcap,
        .sinks = j->sinks ? j->sinks + kv_head * j->heads : NULL,
        .lean = j->d->lean,
    };
}

/* Item: a kv head and a row; all rows of a head follow one another, so that its K and V stay in the cache.  The first
 * row of a tile stands for all of it; false: this is another. */
static bool item_of(const struct attn_job *j, int item, struct isa_attend *a)
{
    const int row = item % j->b->rows, rows = tile_rows(j, row);
    if (rows == 0) return false;
    *a = attend_rows(j, item / j->b->rows, row, rows);
    return true;
}

static void attend_items(void *arg, int first, int end, int who)
{
    const struct attn_job *j = arg;
    struct isa_attend now = {0}, then;
    (void)who;
    for (int i = first; i < end; i++) {
        if (!item_of(j, i, &then)) continue;
        now.then = &then;
        if (now.rows) j->d->isa->attend(&now);
        now = then;
    }
    now.then = NULL;
    if (now.rows) j->d->isa->attend(&now);
}

/* ----------------------------------------------------------------- spans shared out */

/* Spans that some row of a tile sees, from the first of them on. */
static int spans_of(const struct attn_job *j, int row, int rows, int *from)
{
    const int pos = j->b->pos[row], window = j->g->window; /* a tile lies within one span */
    *from = window > 0 ? MAX(0, pos - window + 1) / ISA_SPAN : 0;
    return (pos + rows - 1) / ISA_SPAN - *from + 1;
}

/* The tiles of a pass of few rows.  Are they few, and is there more than one span of any?  Each thread has as many spans
 * then and goes over neighbouring ones, and who is done takes of who is not: where each has as many tiles, too, since
 * threads are seldom equally fast. */
static bool cut_spans(struct attn_job *j)
{
    const struct kern_batch *b = j->b;
    const int threads = crew_threads(j->d->crew);
    if (b->rows > SPLIT_ROWS || threads == 1) return false;
    for (int row = 0; row < b->rows;) {
        struct attn_split *s = &j->split[j->splits++];
        s->row = row;
        s->rows = tile_rows(j, row);
        s->spans = spans_of(j, row, s->rows, &s->from);
        s[1] = (struct attn_split){.at = s->at + s->spans, .row_at = s->row_at + s->spans * s->rows};
        row += s->rows;
    }
    const int tiles = j->splits * j->g->kv_heads;
    return j->split[j->splits].at > j->splits && tiles < SPLIT_ITEMS * threads;
}

/* Item: a kv head, a tile, a span of it.  Returns which tile. */
static int span_of(const struct attn_job *j, int item, struct isa_attend *a)
{
    const struct attn_split *all = j->split + j->splits, *s = all - 1;
    const int head = item / all->at, at = item % all->at;
    while (s->at > at) s--;
    *a = attend_rows(j, head, s->row, s->rows);
    a->span = s->from + at - s->at;
    a->part = j->part + ((size_t)head * (size_t)all->row_at + (size_t)(s->row_at + (at - s->at) * s->rows)) *
                            (size_t)j->heads * (size_t)isa_part(a->dim);
    return head * j->splits + (int)(s - j->split);
}

/* The last to be done with a span of a tile finds the others' sums in memory. */
static void one_span(const struct attn_job *j, struct isa_attend *a, int tile)
{
    const struct attn_split *s = j->split + tile % j->splits;
    j->d->isa->attend(a);
    if (__atomic_sub_fetch(&j->left[tile], 1, __ATOMIC_ACQ_REL)) return;
    a->part -= (size_t)(a->span - s->from) * (size_t)(s->rows * j->heads) * (size_t)isa_part(a->dim);
    j->d->isa->attend_join(a, s->spans);
}

static void attend_spans(void *arg, int first, int end, int who)
{
    const struct attn_job *j = arg;
    struct isa_attend now, then;
    int tile = span_of(j, first, &now);
    (void)who;
    for (int i = first + 1, next; i < end; i++, now = then, tile = next) {
        next = span_of(j, i, &then);
        now.then = &then;
        one_span(j, &now, tile);
    }
    now.then = NULL;
    one_span(j, &now, tile);
}

bool cpu_attn_bytes(const struct kern_dims *n, uint64_t *bytes)
{
    const uint64_t spans = (uint64_t)MAX(n->max_ctx, 0) / ISA_SPAN + 1, rows = (uint64_t)MIN(n->max_rows, SPLIT_ROWS);
    uint64_t part = (uint64_t)isa_part(n->head_dim) * sizeof(float), left;
    if (size_mul((uint64_t)n->heads * rows, part, &part) || size_mul(part, spans, &part)) return true;
    if (size_mul((uint64_t)n->kv_heads * rows, sizeof(int), &left)) return true;
    return size_add(part, left + 2 * 64, bytes);
}

int cpu_attn(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g, int group,
             int layer, int heads, float scale, float softcap, const float *sinks, const float *q, float *att,
             void *dev_work, struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    check_group(b, g, group, layer);
    assert(heads > 0 && heads % g->kv_heads == 0);
    struct attn_job j = {.d = d, .b = b, .g = g, .group = group, .layer = layer, .heads = heads / g->kv_heads,
                         .tile = 1, .scale = scale, .softcap = softcap, .sinks = sinks, .q = q, .att = att};
    while (2 * j.tile * j.heads <= ISA_QUERIES && j.tile < TILE_MOST) j.tile *= 2;
    if (!cut_spans(&j)) {
        crew_run(d->crew, b->rows * g->kv_heads, attend_items, &j);
        return 0;
    }
    const struct attn_split *all = j.split + j.splits;
    j.part = cpu_cut(&work, (size_t)all->row_at * (size_t)heads * (size_t)isa_part(g->head_dim), sizeof *j.part);
    j.left = cpu_cut(&work, (size_t)(g->kv_heads * j.splits), sizeof *j.left);
    for (int i = 0; i < g->kv_heads * j.splits; i++) j.left[i] = j.split[i % j.splits].spans;
    crew_run(d->crew, g->kv_heads * all->at, attend_spans, &j);
    return 0;
}
