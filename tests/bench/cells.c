/* cells.c - see cells.h. */
#include "tests/bench/cells.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread spread_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    double middle = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    return (struct spread){.median = middle, .min = v[0], .max = v[n - 1]};
}

const char *star(double noise) { return noise > NOISE_MOST ? "*" : ""; }

void spread_cell(bool there, const struct spread *v, double noise, char *out)
{
    if (!there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.1f%s (%.1f-%.1f)", v->median, star(noise), v->min, v->max);
}

void rate_cell(const struct figure *f, char *out)
{
    const char *wave = f->unsteady ? "~" : "";
    if (!f->there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.1f%s%s (%.1f-%.1f)", f->rate.median, star(f->noise), wave, f->rate.min, f->rate.max);
}

void share_cell(const struct test *t, const struct figure *f, char *out)
{
    const char *what = t->depth ? "attention " : "", *unit = test_multiplies(t) ? "GOP/s" : "GB/s";
    if (!f->there) snprintf(out, CELL, "-");
    else if (t->depth && f->share <= 0) snprintf(out, CELL, "attention: too little to tell");
    else snprintf(out, CELL, "%s%.0f %% of %.0f %s", what, 100 * f->share, f->limit, unit);
}

void times_cell(const struct figure *a, const struct figure *b, char *out)
{
    if (!a->there || !b->there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.2f%s", a->rate.median / b->rate.median, star(MAX(a->noise, b->noise)));
}

void name_cells(const struct subject *s, const char *test, cells row)
{
    snprintf(row[0], CELL, "%s", s->name);
    snprintf(row[1], CELL, "%s", s->type);
    snprintf(row[2], CELL, "%s", test);
}
