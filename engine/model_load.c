/* model_load.c - the bytes of a model's tensors to the device, as fast as memory.
 *
 * Matrices are cut into runs of rows, which the backend's threads take one by one: each reads a run piece by piece into
 * a stage of its own, where it stays in the cache, digests it, and has the backend put it where it belongs.
 *
 *     file  --pread-->  stage, 256 KiB a thread  --mat_load-->  slab
 *
 * A run is as long as a huge page of the slab, so that two threads seldom want the same one at the same time: the
 * system clears it for each of them. */
#include "engine/model_impl.h"
#include <math.h>
#include <stdatomic.h>

enum { STAGE = 8 << 20, PIECE = 256 << 10, RUN = 2 << 20, RUNS = 64 };

struct run {
    const struct model_part *part;
    int row, rows;
    struct sip128 digest; /* of the file's bytes */
};

struct loader {
    const struct gguf *g;
    const struct model *m;
    const struct kern *k;
    struct kdev *d;
    unsigned char *stage;
    size_t stage_bytes, piece_bytes; /* the stage has room for one piece or more */
    void (*progress)(void *, uint64_t, uint64_t);
    void *self;
    uint64_t all;
    atomic_uint_fast64_t done;
    struct digest digest; /* of what was read */
    struct err *err;
    struct run run[RUNS];
    int runs;
    atomic_int next; /* run that nobody has taken */
    atomic_bool failed;
};

/* What the file says before its tensors: sizes, rotation, names.  A page of attention memory depends on most of it. */
static int digest_head(struct loader *l)
{
    uint64_t all = gguf_head_bytes(l->g);
    for (uint64_t at = 0, n; at < all; at += n) {
        n = MIN(all - at, (uint64_t)l->stage_bytes);
        if (gguf_read_head(l->g, at, l->stage, (size_t)n, l->err)) return -1;
        digest_add(&l->digest, l->stage, (size_t)n);
    }
    return 0;
}

/* Bytes of a row in the file. */
static size_t file_row(const struct model_part *p)
{
    const struct ktype_info *info = ktype_info(p->t->type);
    return (size_t)(p->t->dim[0] / info->block) * (size_t)info->bytes;
}

/* What it is of its tensor. */
static uint64_t part_bytes(const struct model_part *p)
{
    return p->mat ? (uint64_t)p->mat->rows * file_row(p) : p->t->bytes;
}

/* Bytes of a row as floats, if that is how it is to be held and the file has another type; else 0. */
static size_t wide_row(const struct model_part *p)
{
    return p->mat->type == p->t->type ? 0 : (size_t)p->mat->cols * sizeof(float);
}

/* Rows that so many bytes hold: whole groups of 32, one at least. */
static int rows_in(size_t bytes, size_t row)
{
    return (int)MAX(bytes / row / 32 * 32, 32);
}

/* Rows [row, row + n) of the matrix; of a tensor's rows by turns some, some not. */
static int read_rows(const struct loader *l, const struct model_part *part, int row, int n, unsigned char *to,
                     struct err *err)
{
    const size_t bytes = file_row(part);
    for (int some; n > 0; row += some, n -= some, to += (size_t)some * bytes) {
        const int turn = part->turn, at = part->row + (turn ? row / turn * 2 * turn + row % turn : row);
        some = turn ? MIN(n, turn - row % turn) : n;
        if (gguf_read(l->g, part->t, (uint64_t)at * bytes, to, (size_t)some * bytes, err)) return -1;
    }
    return 0;
}

static int load_piece(struct loader *l, struct run *r, int row, int n, unsigned char *stage, struct digest *digest,
                      struct err *err)
{
    const struct model_part *part = r->part;
    const size_t bytes = file_row(part), all = (size_t)n * bytes;
    unsigned char *src = stage;
    if (read_rows(l, part, row, n, src, err)) return -1;
    digest_add(digest, src, all);
    if (wide_row(part)) {
        src += size_align(all, 64);
        quant_decode(part->t->type, stage, (float *)(void *)src, (int64_t)n * part->mat->cols);
    }
    if (l->k->mat_load(l->d, part->mat, row, n, src, err)) return -1;
    atomic_fetch_add(&l->done, all);
    return 0;
}

static void tell_progress(const struct loader *l)
{
    if (l->progress) l->progress(l->self, atomic_load(&l->done), l->all);
}

/* Of several that fail the first may say why. */
static void load_run(struct loader *l, struct run *r, unsigned char *stage, bool tell)
{
    const int step = rows_in(PIECE - 64, file_row(r->part) + wide_row(r->part));
    struct digest digest;
    struct err err = {0};
    digest_begin(&digest);
    for (int at = 0; at < r->rows; at += step) {
        if (load_piece(l, r, r->row + at, MIN(step, r->rows - at), stage, &digest, &err)) {
            if (!atomic_exchange(&l->failed, true) && l->err) *l->err = err;
            return;
        }
        if (tell) tell_progress(l);
    }
    r->digest = digest_end(&digest);
}

/* Each item is a piece's room in the stage: who has it takes runs until there are none. */
static void load_runs(void *self, int first, int end, int who)
{
    struct loader *l = self;
    for (int i = first; i < end; i++)
        while (!atomic_load(&l->failed)) {
            int next = atomic_fetch_add(&l->next, 1);
            if (next >= l->runs) break;
            load_run(l, &l->run[next], l->stage + (size_t)i * l->piece_bytes, who == 0);
        }
}

/* What was cut so far.  Which thread read what is chance; the digest sees the runs in their order. */
static int flush_runs(struct loader *l)
{
    atomic_store(&l->next, 0);
    l->k->share(l->d, (int)MIN(l->stage_bytes / l->piece_bytes, RUNS), load_runs, l);
    if (atomic_load(&l->failed)) return -1;
    for (int i = 0; i < l->runs; i++) digest_add(&l->digest, &l->run[i].digest, sizeof l->run[i].digest);
    l->runs = 0;
    tell_progress(l);
    return 0;
}

static int load_mat(struct loader *l, const struct model_part *part)
{
    const int rows = part->mat->rows, step = rows_in(RUN, file_row(part));
    for (int r = 0; r < rows; r += step) {
        l->run[l->runs++] = (struct run){.part = part, .row = r, .rows = MIN(step, rows - r)};
        if (l->runs == RUNS && flush_runs(l)) return -1;
    }
    return 0;
}

static int load_vec(struct loader *l, const struct model_part *part)
{
    int64_t n = model_values(part->t);
    float *floats = (float *)(void *)(l->stage + size_align(part->t->bytes, 64));
    if (gguf_read(l->g, part->t, 0, l->stage, (size_t)part->t->bytes, l->err)) return -1;
    digest_add(&l->digest, l->stage, (size_t)part->t->bytes);
    quant_decode(part->t->type, l->stage, floats, n);
    if (part->vec == &l->m->dev_norm && l->m->norm_scale != 1)
        for (int64_t i = 0; i < n; i++) floats[i] *= l->m->norm_scale;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(floats[i]))
            return err_set(l->err, -1, "%s: tensor %s[%lld] is not a finite number", gguf_shown(l->g), part->t->name,
                           (long long)i);
    atomic_fetch_add(&l->done, part->t->bytes);
    return l->k->upload(l->d, NULL, (float *)(uintptr_t)*part->vec, floats, (size_t)n * sizeof(float), l->err);
}

/* Rows go in groups of 32, so a piece holds at least that many of the widest. */
static size_t piece_size(const struct model *m)
{
    size_t most = PIECE;
    for (int i = 0; i < m->n_parts; i++)
        if (m->part[i].mat) most = MAX(most, 32 * (file_row(&m->part[i]) + wide_row(&m->part[i])) + 64);
    return (size_t)size_align(most, 64);
}

/* The stage holds a piece, and a vector twice (file's type, float). */
static size_t stage_size(const struct model *m)
{
    size_t most = MAX(STAGE, piece_size(m));
    for (int i = 0; i < m->n_parts; i++) {
        const struct gguf_tensor *t = m->part[i].t;
        if (!m->part[i].vec) continue;
        most = MAX(most, (size_t)size_align(t->bytes, 64) + (size_t)model_values(t) * sizeof(float));
    }
    return (size_t)size_align(most, 64);
}

uint64_t model_stage_bytes(const struct model *m) { return stage_size(m); }

/* Vectors first: they are small, and their numbers are looked at. */
static int load_parts(struct loader *l, struct model *m, char *dev_slab)
{
    for (int i = 0; i < m->n_parts; i++) {
        struct model_part *part = &m->part[i];
        l->all += part_bytes(part);
        if (part->mat) part->mat->dev_data = dev_slab + part->offset;
        else *part->vec = (const float *)(const void *)(dev_slab + part->offset);
    }
    for (int i = 0; i < m->n_parts; i++)
        if (m->part[i].vec && load_vec(l, &m->part[i])) return -1;
    for (int i = 0; i < m->n_parts; i++)
        if (m->part[i].mat && load_mat(l, &m->part[i])) return -1;
    return flush_runs(l);
}

int model_load(struct model *m, const struct gguf *g, const struct kern *k, struct kdev *d, void *dev_slab,
               void (*progress)(void *self, uint64_t done, uint64_t all), void *self, struct err *err)
{
    struct loader l = {.g = g, .m = m, .k = k, .d = d, .progress = progress, .self = self, .err = err,
                       .stage_bytes = stage_size(m), .piece_bytes = piece_size(m)};
    l.stage = aligned_alloc(64, l.stage_bytes);
    if (!l.stage) return err_set(err, -1, "no memory for %zu bytes to load through", l.stage_bytes);
    digest_begin(&l.digest);
    int rc = digest_head(&l);
    if (!rc) rc = load_parts(&l, m, dev_slab);
    free(l.stage);
    digest_add(&l.digest, m->inv_freq, (size_t)m->n_freq * sizeof *m->inv_freq);
    if (m->rope.gain != 1) digest_add(&l.digest, &m->rope.gain, sizeof m->rope.gain); /* else as before there was one */
    m->digest = digest_end(&l.digest);
    if (m->tied) m->output = m->embed;
    return rc ? rc : gguf_unchanged(g, err);
}
