/* steps.c - the steps of kernels.h that are not about heads. */
#include "kernels/cpu/cpu.h"

/* ------------------------------------------------------------------------ embed */

struct embed_job {
    const struct kern_batch *b;
    const struct kmat *table;
    float scale, *x;
};

static void embed_rows(void *arg, int first, int end, int who)
{
    const struct embed_job *j = arg;
    const struct kmat *t = j->table;
    (void)who;
    for (int r = first; r < end; r++) {
        int token = j->b->token[r];
        assert(token >= 0 && token < t->rows);
        const size_t bytes = pack_group_bytes(t->type, t->cols);
        const uint8_t *group = (const uint8_t *)t->dev_data + (size_t)(token / ISA_GROUP) * bytes;
        float *x = j->x + (size_t)r * (size_t)t->cols;
        pack_row(t->type, t->cols, group, token % ISA_GROUP, x);
        for (int i = 0; i < t->cols; i++) x[i] *= j->scale;
    }
}

int cpu_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table, float scale,
              float *x, struct err *err)
{
    (void)st, (void)err;
    struct embed_job j = {b, table, scale, x};
    crew_run(d->crew, b->rows, embed_rows, &j);
    return 0;
}

/* --------------------------------------------------------------------- products */

struct post_job {
    const struct kdev *d;
    int cols;
    const float *bias, *norm;
    float eps, *y, *x;
};

static void add_rows(void *arg, int first, int end, int who)
{
    const struct post_job *j = arg;
    (void)who;
    for (int r = first; r < end; r++) {
        float *y = j->y + (size_t)r * (size_t)j->cols, *x = j->x + (size_t)r * (size_t)j->cols;
        for (int i = 0; j->bias && i < j->cols; i++) y[i] += j->bias[i];
        j->d->isa->norm(y, j->norm, j->cols, j->eps, y);
        for (int i = 0; i < j->cols; i++) x[i] += y[i];
    }
}

/* x += norm(m y + bias): a norm wants whole rows of the product, which wait in `rows`. */
static void mul_norm_add(struct kdev *d, const struct cpu_input *y, const struct kmat *m, const float *bias,
                         const float *norm, float eps, float *rows, float *x)
{
    struct post_job j = {d, m->rows, bias, norm, eps, rows, x};
    cpu_mul(d, y, &(struct cpu_out){m, rows}, 1, 0);
    crew_run(d->crew, y->rows, add_rows, &j);
}

int cpu_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *bias,
                const float *post, float eps, const float *y, float *x, void *dev_work, struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (rows <= 0) return 0;
    struct cpu_input in = cpu_input(d, rows, NULL, w->cols, y, NULL, 0, cpu_is_int(w->type), &work);
    if (!post) {
        cpu_mul_add(d, &in, w, bias, x);
        return 0;
    }
    float *sums = cpu_cut(&work, (size_t)rows * (size_t)w->rows, sizeof *sums); /* in the room of other steps' norms */
    mul_norm_add(d, &in, w, bias, post, eps, sums, x);
    return 0;
}

int cpu_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *w, float *x, void *dev_work,
            struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (rows <= 0) return 0;
    if (w->mix.n) return cpu_mix(d, rows, w, x, dev_work);
    bool any_int = cpu_is_int(w->gate.type) || cpu_is_int(w->up.type);
    struct cpu_gate g = {.in = cpu_input(d, rows, NULL, w->gate.cols, x, w->dev_norm, w->eps, any_int, &work),
                         .gate = w->gate, .up = w->up, .bias = w->dev_bg, .bias_up = w->dev_bu};
    g.out = (struct cpu_input){.rows = rows, .cols = w->down.cols, .tiles = g.in.tiles};
    cpu_gate_room(&g, cpu_is_int(w->down.type), &work);
    cpu_mul_gate(d, &g, w->act);
    if (!w->dev_post) {
        cpu_mul_add(d, &g.out, &w->down, w->dev_bd, x);
        return 0;
    }
    /* In the room of the normed rows, which are done with; where there are none there is room as if. */
    float *sums = w->dev_norm ? dev_work : cpu_cut(&work, (size_t)rows * (size_t)w->down.rows, sizeof *sums);
    assert(w->down.rows == g.in.cols && (!w->dev_norm || (const void *)g.in.x == dev_work));
    mul_norm_add(d, &g.out, &w->down, w->dev_bd, w->dev_post, w->eps, sums, x);
    return 0;
}

int cpu_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
               const struct kmat *w, float softcap, const float *x, float *logits, void *dev_work, struct err *err)
{
    (void)st, (void)err;
    uint8_t *work = dev_work;
    if (b->outs <= 0) return 0;
    for (int i = 0; i < b->outs; i++) assert(b->out_row[i] >= 0 && b->out_row[i] < b->rows);
    struct cpu_input in = cpu_input(d, b->outs, b->out_row, w->cols, x, norm, eps, cpu_is_int(w->type), &work);
    const struct cpu_out out = {w, logits};
    cpu_mul(d, &in, &out, 1, softcap);
    return 0;
}

/* ----------------------------------------------------------------------- sample */

/* A piece of a row's runs is an item: with fewer rows than threads a row is shared out instead of rows. */
enum { SCAN_PIECE = 64 * CHOOSE_RUN };

struct scan_job {
    const struct choose_scans *one;
    const float *v;
    int n;
    float top;
    double sharp;
    float *peak;  /* NULL: masses */
    double *mass;
};

static void scan_pieces(void *arg, int first, int end, int who)
{
    const struct scan_job *j = arg;
    (void)who;
    for (int i = first; i < end; i++) {
        const int at = i * SCAN_PIECE, n = MIN(SCAN_PIECE, j->n - at), run = at / CHOOSE_RUN;
        if (j->peak) j->one->peaks(NULL, j->v + at, n, j->peak + run);
        else j->one->masses(NULL, j->v + at, n, j->top, j->sharp, j->mass + run);
    }
}

static int scan_count(int n)
{
    return n / SCAN_PIECE + (n % SCAN_PIECE > 0);
}

static void crew_peaks(void *self, const float *v, int n, float *peak)
{
    const struct kdev *d = self;
    struct scan_job j = {.one = &d->isa->scans, .v = v, .n = n, .peak = peak};
    crew_run(d->crew, scan_count(n), scan_pieces, &j);
}

static void crew_masses(void *self, const float *v, int n, float top, double sharp, double *mass)
{
    const struct kdev *d = self;
    struct scan_job j = {.one = &d->isa->scans, .v = v, .n = n, .top = top, .sharp = sharp, .mass = mass};
    crew_run(d->crew, scan_count(n), scan_pieces, &j);
}

struct sample_job {
    int outs, lanes, vocab;
    const struct kern_sample *params;
    const float *logits;
    struct kern_choice *choice;
    const struct choose_scans *scans;
    uint8_t *scratch; /* (lanes, scratch_bytes) */
    size_t scratch_bytes;
};

/* Item: a lane of the scratch, which takes every lanes-th row. */
static void sample_lanes(void *arg, int first, int end, int who)
{
    const struct sample_job *j = arg;
    const size_t vocab = (size_t)j->vocab;
    (void)who;
    for (int i = first; i < end; i++)
        for (int o = i; o < j->outs; o += j->lanes)
            choose_by(j->scans, &j->params[o], j->logits + (size_t)o * vocab, j->vocab,
                      j->scratch + (size_t)i * j->scratch_bytes, &j->choice[o]);
}

int cpu_sample(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
               const float *logits, struct kern_choice *choice, void *work, struct err *err)
{
    (void)st, (void)err;
    if (2 * outs <= crew_threads(d->crew)) {
        const struct choose_scans shared = {d, crew_peaks, crew_masses};
        for (int o = 0; o < outs; o++)
            choose_by(&shared, &params[o], logits + (size_t)o * (size_t)vocab, vocab, work, &choice[o]);
        return 0;
    }
    struct sample_job j = {outs, MIN(outs, CPU_SAMPLERS), vocab, params, logits, choice, &d->isa->scans, work,
                           kern_choose_bytes(vocab)};
    crew_run(d->crew, j.lanes, sample_lanes, &j);
    return 0;
}
