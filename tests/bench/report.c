/* report.c - what was measured beside the one table of speed: the sweep, waits, a display's cost, memory. */
#include "tests/bench/cells.h"

static double mib(uint64_t bytes) { return (double)bytes / 0x1p20; }

/* ------------------------------------------------------------------- tables */

static int find_test(const struct plan *p, int seqs)
{
    char name[24];
    int i = 0;
    snprintf(name, sizeof name, "b%dx%d", seqs, p->sweep);
    while (i < p->tests && strcmp(p->test[i].name, name)) i++;
    assert(i < p->tests);
    return i;
}

static void sweep_row(const struct subject *s, int seqs, bool with_peer, cells row)
{
    int at = find_test(s->plan, seqs), one = find_test(s->plan, bench_sweep[0]);
    const struct figure *ours = &s->ours.figure[at], *peer = &s->peer.figure[at];
    const struct test *t = &s->plan->test[at];
    name_cells(s, "", row);
    snprintf(row[2], CELL, "%d", seqs);
    rate_cell(ours, row[3]);
    share_cell(t, ours, row[4]);
    times_cell(ours, &s->ours.figure[one], row[5]);
    if (!with_peer) return;
    rate_cell(peer, row[6]);
    share_cell(t, peer, row[7]);
    times_cell(peer, &s->peer.figure[one], row[8]);
    times_cell(ours, peer, row[9]);
}

static void print_sweep(const struct subject *s, int n, bool with_peer, bool markdown, FILE *out)
{
    struct table table = {.head = {"model", "type", "sequences", "ours tok/s", "share of limit", "times 1 sequence"}};
    if (with_peer) {
        table.head[6] = "peer tok/s";
        table.head[7] = "share of limit";
        table.head[8] = "times 1 sequence";
        table.head[9] = "ours/peer";
    }
    if (!table_open(&table, n * BENCH_SWEEP)) return;
    for (int i = 0; i < n * BENCH_SWEEP; i++) {
        const struct subject *file = &s[i / BENCH_SWEEP];
        if (file->plan->sweep) sweep_row(file, bench_sweep[i % BENCH_SWEEP], with_peer, *table_row(&table));
    }
    table_close(&table, markdown, out);
}

static void waits_row(const struct subject *s, const char *test, const struct waits *w, cells row)
{
    name_cells(s, test, row);
    for (int way = 0; way < WAYS; way++) {
        spread_cell(w->there, &w->ms[way], w->noise, row[3 + 2 * way]);
        if (w->there) snprintf(row[4 + 2 * way], CELL, "%d", w->computed[way]);
        else snprintf(row[4 + 2 * way], CELL, "-");
    }
    if (w->there) snprintf(row[8], CELL, "%.0f / %.0f / %.0f", w->step_half_ms, w->step_most_ms, w->step_longest_ms);
    else snprintf(row[8], CELL, "-");
    if (w->there) snprintf(row[9], CELL, "%.0f", w->step_computing_ms);
    else snprintf(row[9], CELL, "-");
    if (!w->there) snprintf(row[7], CELL, "-");
    else snprintf(row[7], CELL, "%.2f%s", w->ms[WAY_FRESH].median / w->ms[WAY_SHARED].median, star(w->noise));
}

static void print_watched(const struct subject *s, int n, bool markdown, FILE *out)
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
    table_close(&table, markdown, out);
}

static void print_drafts(const struct subject *s, int n, bool markdown, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "without drafts tok/s", "all right tok/s", "tokens a pass",
                                   "ratio", "hardly any right tok/s", "drafts right", "ratio"}};
    char name[24];
    if (!table_open(&table, n)) return;
    for (int i = 0; i < n; i++) {
        const struct drafting *d = &s[i].drafting;
        if (!d->there) continue;
        cells *row = table_row(&table);
        snprintf(name, sizeof name, "draft%d", s[i].plan->draft);
        name_cells(&s[i], name, *row);
        spread_cell(true, &d->rate[DRAFTED_RIGHT][0], d->noise, (*row)[3]);
        for (int text = 0; text < DRAFTED; text++) {
            const struct spread *rate = d->rate[text];
            spread_cell(true, &rate[1], d->noise, (*row)[4 + 3 * text]);
            snprintf((*row)[6 + 3 * text], CELL, "%.2f%s", rate[1].median / rate[0].median, star(d->noise));
        }
        snprintf((*row)[5], CELL, "%.1f", d->per_pass[DRAFTED_RIGHT]);
        snprintf((*row)[8], CELL, "%d of %d", d->right[DRAFTED_WRONG], d->tried[DRAFTED_WRONG]);
    }
    table_close(&table, markdown, out);
}

static void print_waits(const struct subject *s, int n, bool markdown, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "first token, known ms", "computed", "fresh ms", "computed",
                                   "fresh/known", "step ms: half, 99 %, longest", "computing, longest"}};
    char name[24];
    if (!table_open(&table, 2 * n)) return;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "agents%d", s[i].plan->agents);
        if (s[i].plan->agents) waits_row(&s[i], name, &s[i].agents, *table_row(&table));
        if (s[i].plan->resume) waits_row(&s[i], "resume", &s[i].resume, *table_row(&table));
    }
    table_close(&table, markdown, out);
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

static void print_weights(const struct subject *s, int n, bool markdown, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "ledger MiB", "RssAnon MiB", "difference", "of it heap",
                                   "of the ledger", "within 1 %", "of the ceiling"}};
    char name[48];
    if (!table_open(&table, n)) return;
    for (int i = 0; i < n; i++) {
        if (!s[i].plan->weigh_seqs) continue;
        cells *row = table_row(&table);
        snprintf(name, sizeof name, "ledger%dx%d", s[i].plan->weigh_seqs, s[i].plan->weigh_ctx);
        name_cells(&s[i], name, *row);
        if (s[i].weight.there) weight_cells(&s[i].weight, *row);
        else snprintf((*row)[3], CELL, "-");
    }
    table_close(&table, markdown, out);
}

void report_print(const struct options *o, const struct subject *s, int n, bool with_peer, bool markdown, FILE *out)
{
    rows_print(o, s, n, markdown, out);
    print_sweep(s, n, with_peer, markdown, out);
    print_waits(s, n, markdown, out);
    print_watched(s, n, markdown, out);
    print_drafts(s, n, markdown, out);
    fputs("Median (least-most) of the repetitions.  *: others used more than 8 % of a CPU meanwhile; compare\n"
          "nothing with it.  ~: the limits changed by a fifth meanwhile; its share and its goals say little.\n\n", out);
    print_weights(s, n, markdown, out);
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
