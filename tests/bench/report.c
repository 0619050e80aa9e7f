/* report.c - what was measured: a table for speed, for the sweep, for waits, for memory and for loading. */
#include "tests/bench/bench.h"
#include "tests/bench/limits.h"
#include "tests/bench/table.h"

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

/* -------------------------------------------------------------------- cells */

static const char *star(double noise) { return noise > NOISE_MOST ? "*" : ""; }

static void spread_cell(bool there, const struct spread *v, double noise, char *out)
{
    if (!there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.1f%s (%.1f-%.1f)", v->median, star(noise), v->min, v->max);
}

static void rate_cell(const struct figure *f, char *out) { spread_cell(f->there, &f->rate, f->noise, out); }

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

/* How many times faster a is than b. */
static void times_cell(const struct figure *a, const struct figure *b, char *out)
{
    if (!a->there || !b->there) snprintf(out, CELL, "-");
    else snprintf(out, CELL, "%.2f%s", a->rate.median / b->rate.median, star(MAX(a->noise, b->noise)));
}

static void name_cells(const struct subject *s, const char *test, cells row)
{
    snprintf(row[0], CELL, "%s", s->name);
    snprintf(row[1], CELL, "%s", s->type);
    snprintf(row[2], CELL, "%s", test);
}

static double mib(uint64_t bytes) { return (double)bytes / 0x1p20; }

/* ------------------------------------------------------------------- tables */

static void print_speed(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "ours tok/s", "share of limit", "first token"}};
    if (with_peer) {
        table.head[6] = "peer tok/s";
        table.head[7] = "share of limit";
        table.head[8] = "ours/peer";
    }
    if (!table_open(&table, n * o->tests)) return;
    for (int i = 0; i < n * o->tests; i++) {
        const struct subject *file = &s[i / o->tests];
        const struct test *t = &o->test[i % o->tests];
        const struct figure *ours = &file->ours.figure[i % o->tests], *peer = &file->peer.figure[i % o->tests];
        if (t->swept) continue;
        cells *row = table_row(&table);
        name_cells(file, t->name, *row);
        rate_cell(ours, (*row)[3]);
        share_cell(t, ours, (*row)[4]);
        wait_cell(t, ours, (*row)[5]);
        if (!with_peer) continue;
        rate_cell(peer, (*row)[6]);
        share_cell(t, peer, (*row)[7]);
        times_cell(ours, peer, (*row)[8]);
    }
    table_close(&table, o->markdown, out);
}

static int find_test(const struct options *o, int seqs, int n)
{
    char name[24];
    int i = 0;
    snprintf(name, sizeof name, "b%dx%d", seqs, n);
    while (i < o->tests && strcmp(o->test[i].name, name)) i++;
    assert(i < o->tests);
    return i;
}

static void print_sweep(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out)
{
    struct table table = {.head = {"model", "type", "sequences", "ours tok/s", "share of limit", "times 1 sequence"}};
    if (with_peer) {
        table.head[6] = "peer tok/s";
        table.head[7] = "share of limit";
        table.head[8] = "times 1 sequence";
        table.head[9] = "ours/peer";
    }
    if (!o->sweep || !table_open(&table, n * BENCH_SWEEP)) return;
    int one = find_test(o, bench_sweep[0], o->sweep);
    for (int i = 0; i < n * BENCH_SWEEP; i++) {
        const struct subject *file = &s[i / BENCH_SWEEP];
        int at = find_test(o, bench_sweep[i % BENCH_SWEEP], o->sweep);
        const struct figure *ours = &file->ours.figure[at], *peer = &file->peer.figure[at];
        cells *row = table_row(&table);
        name_cells(file, "", *row);
        snprintf((*row)[2], CELL, "%d", o->test[at].seqs);
        rate_cell(ours, (*row)[3]);
        share_cell(&o->test[at], ours, (*row)[4]);
        times_cell(ours, &file->ours.figure[one], (*row)[5]);
        if (!with_peer) continue;
        rate_cell(peer, (*row)[6]);
        share_cell(&o->test[at], peer, (*row)[7]);
        times_cell(peer, &file->peer.figure[one], (*row)[8]);
        times_cell(ours, peer, (*row)[9]);
    }
    table_close(&table, o->markdown, out);
}

static void waits_row(const struct subject *s, const char *test, const struct waits *w, cells row)
{
    name_cells(s, test, row);
    for (int way = 0; way < WAYS; way++) {
        spread_cell(w->there, &w->ms[way], w->noise, row[3 + 2 * way]);
        if (w->there) snprintf(row[4 + 2 * way], CELL, "%d", w->computed[way]);
        else snprintf(row[4 + 2 * way], CELL, "-");
    }
    if (w->there) snprintf(row[8], CELL, "%.0f", w->longest_ms);
    else snprintf(row[8], CELL, "-");
    if (!w->there) snprintf(row[7], CELL, "-");
    else snprintf(row[7], CELL, "%.2f%s", w->ms[WAY_FRESH].median / w->ms[WAY_SHARED].median, star(w->noise));
}

static void print_watched(const struct options *o, const struct subject *s, int n, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "tok/s", "with a reader at 60 Hz", "ratio"}};
    if (!table_open(&table, n)) return;
    for (int i = 0; i < n; i++) {
        const struct watched *w = &s[i].watched;
        if (!w->there) continue;
        cells *row = table_row(&table);
        name_cells(&s[i], "watch", *row);
        for (int k = 0; k < 2; k++) spread_cell(true, &w->rate[k], w->noise, (*row)[3 + k]);
        snprintf((*row)[5], CELL, "%.3f%s", w->rate[1].median / w->rate[0].median, star(w->noise));
    }
    table_close(&table, o->markdown, out);
}

static void print_waits(const struct options *o, const struct subject *s, int n, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "first token, known ms", "computed", "fresh ms", "computed",
                                   "fresh/known", "longest pass ms"}};
    char name[24];
    snprintf(name, sizeof name, "agents%d", o->agents);
    if (!table_open(&table, 2 * n)) return;
    for (int i = 0; i < n; i++) {
        if (o->agents) waits_row(&s[i], name, &s[i].agents, *table_row(&table));
        if (o->resume) waits_row(&s[i], "resume", &s[i].resume, *table_row(&table));
    }
    table_close(&table, o->markdown, out);
}

static void weight_cells(const struct weight *w, cells row)
{
    uint64_t budget = ledger_total(&w->ledger);
    double more = mib(w->full) - mib(budget), off = 100 * more / mib(budget);
    snprintf(row[3], CELL, "%.1f", mib(budget));
    snprintf(row[4], CELL, "%.1f", mib(w->full));
    snprintf(row[5], CELL, "%+.1f", more);
    if (w->heap) snprintf(row[6], CELL, "%.1f", mib(w->heap));
    else snprintf(row[6], CELL, "-");
    snprintf(row[7], CELL, "%+.2f %%", off);
    snprintf(row[8], CELL, "%s", off <= 1 && off >= -1 ? "yes" : "no");
    snprintf(row[9], CELL, "%+.2f %% of %.0f MiB", 100 * more / mib(w->ledger.ceiling), mib(w->ledger.ceiling));
}

static void print_weights(const struct options *o, const struct subject *s, int n, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "ledger MiB", "RssAnon MiB", "difference", "of it heap",
                                   "of the ledger", "within 1 %", "of the ceiling"}};
    char name[48];
    snprintf(name, sizeof name, "ledger%dx%d", o->weigh_seqs, o->weigh_ctx);
    if (!o->weigh_seqs || !table_open(&table, n)) return;
    for (int i = 0; i < n; i++) {
        cells *row = table_row(&table);
        name_cells(&s[i], name, *row);
        if (s[i].weight.there) weight_cells(&s[i].weight, *row);
        else snprintf((*row)[3], CELL, "-");
    }
    table_close(&table, o->markdown, out);
}

static void print_load(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out)
{
    struct table table = {.head = {"model", "type", "file MB", "ours load s", with_peer ? "peer load s" : NULL}};
    if (!table_open(&table, n)) return;
    for (int i = 0; i < n; i++) {
        cells *row = table_row(&table);
        name_cells(&s[i], "", *row);
        snprintf((*row)[2], CELL, "%.0f", (double)s[i].file_bytes * 1e-6);
        snprintf((*row)[3], CELL, "%.2f", s[i].ours.load_s);
        if (!with_peer) continue;
        if (s[i].peer.load_s > 0) snprintf((*row)[4], CELL, "%.2f", s[i].peer.load_s);
        else snprintf((*row)[4], CELL, "-");
    }
    table_close(&table, o->markdown, out);
}

void report_print(const struct options *o, const struct subject *s, int n, bool with_peer, FILE *out)
{
    if (o->tests) {
        print_speed(o, s, n, with_peer, out);
        print_sweep(o, s, n, with_peer, out);
    }
    print_waits(o, s, n, out);
    print_watched(o, s, n, out);
    fputs("Median (least-most) of the repetitions.  *: others used more than 8 % of a CPU meanwhile; compare\n"
          "nothing with it.\n\n", out);
    print_weights(o, s, n, out);
    print_load(o, s, n, with_peer, out);
}

/* ----------------------------------------------------------------- progress */

void report_progress(const char *who, const struct subject *s, const struct test *t, const struct figure *f)
{
    char rate[CELL], share[CELL], again[32] = "";
    rate_cell(f, rate);
    share_cell(t, f, share);
    if (f->thrown) snprintf(again, sizeof again, ", %d done again", f->thrown);
    fprintf(stderr, "bench: %s %s %-7s %s  %s tok/s, %s%s\n", s->name, s->type, t->name, who, rate, share, again);
}

void report_waits(const struct subject *s, const char *test, const struct waits *w)
{
    fprintf(stderr, "bench: %s %s %-7s ours  first token after %.1f ms, fresh %.1f ms\n", s->name, s->type, test,
            w->ms[WAY_SHARED].median, w->ms[WAY_FRESH].median);
}

void report_weight(const struct subject *s, const char *test, const struct weight *w)
{
    fprintf(stderr, "bench: %s %s %-7s ours  %.1f MiB, ledger %.1f MiB\n", s->name, s->type, test, mib(w->full),
            mib(ledger_total(&w->ledger)));
}
