/* table.c - what was measured, for people: aligned text, or Markdown for SPEED.md. */
#include "tests/bench/bench.h"
#include "tests/bench/limits.h"

enum { COLUMNS = 10, CELL = 80 };

struct table {
    const char *head[COLUMNS];
    int columns, rows;
    char (*cell)[COLUMNS][CELL];
};

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

/* ------------------------------------------------------------------- layout */

static void print_row(const struct table *t, char row[COLUMNS][CELL], const int *width, bool markdown, FILE *out)
{
    fputs(markdown ? "|" : "", out);
    for (int c = 0; c < t->columns; c++) {
        if (markdown) fprintf(out, " %s |", row[c]);
        else if (c == t->columns - 1) fputs(row[c], out);
        else fprintf(out, "%-*s  ", width[c], row[c]);
    }
    fputc('\n', out);
}

static void print_table(const struct table *t, bool markdown, FILE *out)
{
    int width[COLUMNS] = {0};
    char head[COLUMNS][CELL];
    for (int c = 0; c < t->columns; c++) {
        snprintf(head[c], CELL, "%s", t->head[c]);
        width[c] = (int)strlen(head[c]);
        for (int r = 0; r < t->rows; r++) width[c] = MAX(width[c], (int)strlen(t->cell[r][c]));
    }
    print_row(t, head, width, markdown, out);
    if (markdown) {
        fputc('|', out);
        for (int c = 0; c < t->columns; c++) fputs("---|", out);
        fputc('\n', out);
    }
    for (int r = 0; r < t->rows; r++) print_row(t, t->cell[r], width, markdown, out);
}

/* -------------------------------------------------------------------- cells */

static void rate_cell(const struct figure *f, char *out)
{
    if (!f->there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.1f%s (%.1f-%.1f)", f->rate.median, f->noise > NOISE_MOST ? "*" : "", f->rate.min,
                  f->rate.max);
}

/* What a person feels of it: the wait for the first token after a fresh prompt. */
static void wait_cell(const struct test *t, const struct figure *f, char *out)
{
    if (!f->there || !t->prefill) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.1f ms", 1000 * t->n / f->rate.median);
}

static void share_cell(const struct test *t, const struct figure *f, char *out)
{
    if (!f->there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.0f %% of %.0f %s", 100 * f->share, f->limit, t->prefill ? "GOP/s" : "GB/s");
}

static void speed_row(const struct subject *s, const struct test *t, int i, bool with_peer, char row[COLUMNS][CELL])
{
    const struct figure *ours = &s->ours.figure[i], *peer = &s->peer.figure[i];
    snprintf(row[0], CELL, "%s", s->name);
    snprintf(row[1], CELL, "%s", s->type);
    snprintf(row[2], CELL, "%s", t->name);
    rate_cell(ours, row[3]);
    share_cell(t, ours, row[4]);
    wait_cell(t, ours, row[5]);
    if (!with_peer) return;
    rate_cell(peer, row[6]);
    share_cell(t, peer, row[7]);
    bool noisy = MAX(ours->noise, peer->noise) > NOISE_MOST;
    if (ours->there && peer->there)
        snprintf(row[8], CELL, "%.2f%s", ours->rate.median / peer->rate.median, noisy ? "*" : "");
    else snprintf(row[8], CELL, "-");
}

static void load_row(const struct subject *s, bool with_peer, char row[COLUMNS][CELL])
{
    snprintf(row[0], CELL, "%s", s->name);
    snprintf(row[1], CELL, "%s", s->type);
    snprintf(row[2], CELL, "%.0f", (double)s->file_bytes * 1e-6);
    snprintf(row[3], CELL, "%.2f", s->ours.load_s);
    if (with_peer) snprintf(row[4], CELL, "%.2f", s->peer.load_s);
}

void table_print(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out)
{
    int most = MAX(n * o->tests, 1);
    struct table speed = {.head = {"model", "type", "test", "ours tok/s", "share of limit", "first token", "peer tok/s",
                                   "share of limit", "ours/peer"},
                          .columns = with_peer ? 9 : 6, .cell = calloc((size_t)most, sizeof *speed.cell)};
    struct table load = {.head = {"model", "type", "file MB", "ours load s", "peer load s"},
                         .columns = with_peer ? 5 : 4, .cell = calloc((size_t)most, sizeof *load.cell)};
    if (speed.cell && load.cell) {
        for (int i = 0; i < n; i++) {
            for (int t = 0; t < o->tests; t++) speed_row(&s[i], &o->test[t], t, with_peer, speed.cell[speed.rows++]);
            load_row(&s[i], with_peer, load.cell[load.rows++]);
        }
        print_table(&speed, o->markdown, out);
        fputs("\nMedian (least-most) of the repetitions.  *: others used more than 8 % of a CPU meanwhile; compare\n"
              "nothing with it.\n\n", out);
        print_table(&load, o->markdown, out);
    } else {
        fputs("bench: no memory for a table\n", stderr);
    }
    free(speed.cell);
    free(load.cell);
}

void table_progress(const char *who, const struct subject *s, const struct test *t, const struct figure *f)
{
    char rate[CELL], share[CELL], again[32] = "";
    rate_cell(f, rate);
    share_cell(t, f, share);
    if (f->thrown) snprintf(again, sizeof again, ", %d done again", f->thrown);
    fprintf(stderr, "bench: %s %s %-7s %s  %s tok/s, %s%s\n", s->name, s->type, t->name, who, rate, share, again);
}
