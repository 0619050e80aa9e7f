/* pooling.c - a row fetched, normed, added. */
#include "engine/pooling.h"
#include <math.h>

/* factor: what the norm's weights are too large by. */
static void add_normed(float *vector, const float *x, const float *norm, int n, float eps, float factor)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    const double scale = 1 / sqrt(sum / n + (double)eps) / (double)factor;
    for (int i = 0; i < n; i++) vector[i] += (float)((double)x[i] * scale * (double)norm[i]);
}

static int add_rows(const struct forward *f, const struct pass_pool *pool, struct err *err)
{
    const struct model *m = f->m;
    const size_t embd = (size_t)m->embd, bytes = embd * sizeof(float);
    float *row = pool->vector + embd, *norm = row + embd;
    int rc = f->k->fetch(f->d, NULL, norm, m->dev_norm, bytes, err);
    for (int i = 0; i < pool->rows && !rc; i++) {
        const char *x = f->dev_work + f->at_x + (size_t)(pool->row + i) * bytes;
        rc = f->k->fetch(f->d, NULL, row, x, bytes, err);
        if (!rc) add_normed(pool->vector, row, norm, m->embd, m->eps, m->norm_scale);
    }
    return rc;
}

int pooling_run(const struct forward *f, const struct pass *p, struct err *err)
{
    for (int i = 0; i < p->pools; i++)
        if (add_rows(f, &p->pool[i], err)) return -1;
    return 0;
}
