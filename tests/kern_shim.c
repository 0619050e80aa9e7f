/* kern_shim.c - the table's functions, each a count and the real one. */
#include "tests/kern_shim.h"
#include <pthread.h>

struct shim shim;
static const struct kern *real;

const char *shim_name(enum shim_call c)
{
    static const char *const name[] = {"open", "take", "upload", "fetch", "mat_load", "embed", "attn_in", "attn",
                                       "project", "ffn", "output", "sample"};
    return name[c];
}

/* Weights are loaded by many threads at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool count(enum shim_call c, bool watched)
{
    shim.calls++;
    shim.of[c]++;
    shim.watched += watched;
    if (shim.fail_at == 0 || shim.calls < shim.fail_at || (shim.calls > shim.fail_at && !shim.stay)) return false;
    if (shim.failed++ == 0) {
        shim.what = c;
        shim.what_watched = watched;
    }
    return true;
}

static bool fails(enum shim_call c, bool watched, struct err *err)
{
    pthread_mutex_lock(&lock);
    const bool told = count(c, watched);
    const long call = shim.calls;
    pthread_mutex_unlock(&lock);
    if (told) err_set(err, -1, "%s, call %ld, was told to fail", shim_name(c), call);
    return told;
}

static void see(const struct kern_batch *b)
{
    shim.most_rows = MAX(shim.most_rows, b->rows);
    shim.most_outs = MAX(shim.most_outs, b->outs);
    if (shim.pass) shim.pass(b);
}

/* ------------------------------------------------------------------ device and memory */

static struct kdev *shim_open(const struct kern_config *cfg, struct err *err)
{
    struct kdev *d = fails(SHIM_OPEN, false, err) ? NULL : real->open(cfg, err);
    shim.devices += d != NULL;
    return d;
}

static void shim_close(struct kdev *d)
{
    shim.devices -= d != NULL;
    real->close(d);
}

static void *shim_take(struct kdev *d, size_t bytes, struct err *err)
{
    void *slab = fails(SHIM_TAKE, false, err) ? NULL : real->take(d, bytes, err);
    if (!slab) return NULL;
    shim.slabs++;
    shim.taken += real->slab_bytes(bytes);
    shim.most = MAX(shim.most, shim.taken);
    return slab;
}

static void shim_give(struct kdev *d, void *slab, size_t bytes)
{
    if (slab) {
        shim.slabs--;
        shim.taken -= real->slab_bytes(bytes);
    }
    real->give(d, slab, bytes);
}

static int shim_upload(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    if (fails(SHIM_UPLOAD, bytes == shim.watch, err)) return -1;
    return real->upload(d, st, dst, src, bytes, err);
}

static int shim_fetch(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    if (fails(SHIM_FETCH, bytes == shim.watch, err)) return -1;
    return real->fetch(d, st, dst, src, bytes, err);
}

static int shim_page_fetch(struct kdev *d, const struct kern_group *g, int page, void *host, struct err *err)
{
    if (fails(SHIM_FETCH, g->page_bytes == shim.watch, err)) return -1;
    return real->page_fetch(d, g, page, host, err);
}

static int shim_page_upload(struct kdev *d, const struct kern_group *g, int page, const void *host, struct err *err)
{
    if (fails(SHIM_UPLOAD, g->page_bytes == shim.watch, err)) return -1;
    return real->page_upload(d, g, page, host, err);
}

static int shim_mat_load(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    if (fails(SHIM_MAT_LOAD, false, err)) return -1;
    return real->mat_load(d, m, row0, n, src, err);
}

/* ------------------------------------------------------------------ steps */

static int shim_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table,
                      float scale, float *x, struct err *err)
{
    see(b);
    if (fails(SHIM_EMBED, false, err)) return -1;
    return real->embed(d, st, b, table, scale, x, err);
}

static int shim_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                        const struct kern_group *g, int group, int layer, const float *x, float *q, void *work,
                        struct err *err)
{
    if (fails(SHIM_ATTN_IN, false, err)) return -1;
    return real->attn_in(d, st, b, w, g, group, layer, x, q, work, err);
}

static int shim_attn(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_group *g,
                     int group, int layer, int heads, float scale, float softcap, const float *sinks,
                     const float *q, float *att, void *work, struct err *err)
{
    if (fails(SHIM_ATTN, false, err)) return -1;
    return real->attn(d, st, b, g, group, layer, heads, scale, softcap, sinks, q, att, work, err);
}

static int shim_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *bias,
                        const float *post, float eps, const float *y, float *x, void *work, struct err *err)
{
    if (fails(SHIM_PROJECT, false, err)) return -1;
    return real->project(d, st, rows, w, bias, post, eps, y, x, work, err);
}

static int shim_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *w, float *x, void *work,
                    struct err *err)
{
    if (fails(SHIM_FFN, false, err)) return -1;
    return real->ffn(d, st, rows, w, x, work, err);
}

static int shim_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
                       const struct kmat *w, float softcap, const float *x, float *logits, void *work, struct err *err)
{
    if (fails(SHIM_OUTPUT, false, err)) return -1;
    return real->output(d, st, b, norm, eps, w, softcap, x, logits, work, err);
}

static int shim_sample(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
                       const float *logits, struct kern_choice *choice, void *work, struct err *err)
{
    if (fails(SHIM_SAMPLE, false, err)) return -1;
    return real->sample(d, st, outs, vocab, params, logits, choice, work, err);
}

const struct kern *shim_kern(const struct kern *k)
{
    static struct kern table;
    real = k;
    table = *k;
    table.open = shim_open;
    table.close = shim_close;
    table.take = shim_take;
    table.give = shim_give;
    table.upload = shim_upload;
    table.fetch = shim_fetch;
    if (k->page_fetch) table.page_fetch = shim_page_fetch;
    if (k->page_upload) table.page_upload = shim_page_upload;
    table.mat_load = shim_mat_load;
    table.embed = shim_embed;
    table.attn_in = shim_attn_in;
    table.attn = shim_attn;
    table.project = shim_project;
    table.ffn = shim_ffn;
    table.output = shim_output;
    table.sample = shim_sample;
    return &table;
}
