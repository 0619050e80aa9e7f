/* rows.c - the one table: what was measured, its share of the limit, the peer's beside it, and the goals. */
#include "tests/bench/cells.h"
#include <unistd.h>

enum { OURS = 3, SHARE, PEER, PEER_SHARE, RATIO, SCALED, STATED, LINES = BENCH_TESTS + 1 + LOADS };

struct line {
    cells cell;
    struct judgement goal;
    double noise;
};

static void goal_cell(bool share, const struct goal *g, char *out)
{
    double by = share ? 100 : 1;
    const char *unit = share ? " %" : "", *name = verdict_name(g->verdict);
    const char *comma = g->state ? ", " : "", *state = g->state ? g->state : "";
    if (g->good > 0)
        snprintf(out, CELL, "%.0f / %.0f%s%s%s: %s", by * g->must, by * g->good, unit, comma, state, name);
    else snprintf(out, CELL, "%.0f%s: %s", by * g->must, unit, name);
}

static void goal_cells(struct line *l)
{
    if (!l->goal.there) return;
    goal_cell(l->goal.share, &l->goal.scaled, l->cell[SCALED]);
    goal_cell(l->goal.share, &l->goal.stated, l->cell[STATED]);
}

static struct line *begin(struct line *l, const struct subject *s, const char *test)
{
    *l = (struct line){0};
    name_cells(s, test, l->cell);
    for (int c = OURS; c < COLUMNS; c++) snprintf(l->cell[c], CELL, "-");
    return l;
}

static struct judgement both(struct goal g, bool share)
{
    return (struct judgement){.there = true, .share = share, .stated = g, .scaled = g};
}

/* ----------------------------------------------------------- kinds of lines */

/* The same on as many threads as all: of decoding whatever the number of steps. */
static const struct figure *twin(const struct subject *s, const struct test *t)
{
    const struct plan *p = s->plan;
    for (int i = 0; i < p->tests; i++) {
        const struct test *u = &p->test[i];
        if (u->threads || u->depth || u->prefill != t->prefill || u->seqs != t->seqs) continue;
        if (s->ours.figure[i].there && (!t->prefill || u->n == t->n)) return &s->ours.figure[i];
    }
    return NULL;
}

static void test_line(const struct subject *s, int at, struct line *l)
{
    const struct test *t = &s->plan->test[at];
    const struct figure *ours = &s->ours.figure[at], *peer = &s->peer.figure[at];
    begin(l, s, t->name);
    rate_cell(ours, l->cell[OURS]);
    share_cell(t, ours, l->cell[SHARE]);
    rate_cell(peer, l->cell[PEER]);
    share_cell(t, peer, l->cell[PEER_SHARE]);
    times_cell(ours, peer, l->cell[RATIO]);
    l->goal = ours->goal;
    l->noise = MAX(ours->noise, peer->noise);
    const struct figure *all = t->threads ? twin(s, t) : NULL;
    if (all && ours->there) {
        double part = ours->rate.median / all->rate.median;
        size_t n = strlen(l->cell[SHARE]);
        snprintf(l->cell[SHARE] + n, CELL - n, "; %.0f %% of all threads", 100 * part);
        if (t->threads == 1) l->goal = both(goal_of(part, GOAL_ONE_THREAD, 0), true);
        l->noise = MAX(l->noise, all->noise);
    }
    goal_cells(l);
}

static void beside_cells(const struct beside *b, char *rate, char *share)
{
    if (!b->there) return;
    spread_cell(true, &b->busy, b->noise, rate);
    snprintf(share, CELL, "%.0f %% of %.1f alone", 100 * b->part, b->alone.median);
}

static void beside_line(const struct subject *s, int threads, struct line *l)
{
    const struct beside *ours = &s->ours.beside, *peer = &s->peer.beside;
    char name[24];
    snprintf(name, sizeof name, "busy%d", s->plan->busy);
    begin(l, s, name);
    beside_cells(ours, l->cell[OURS], l->cell[SHARE]);
    beside_cells(peer, l->cell[PEER], l->cell[PEER_SHARE]);
    l->noise = MAX(ours->noise, peer->noise);
    if (ours->there && peer->there)
        snprintf(l->cell[RATIO], CELL, "%.2f%s", ours->busy.median / peer->busy.median, star(l->noise));
    if (ours->there) l->goal = both(goal_beside(ours->part, threads, (int)sysconf(_SC_NPROCESSORS_ONLN)), true);
    goal_cells(l);
}

static void load_cells(const struct loading *load, enum load which, double bytes, char *seconds, char *speed)
{
    const struct spread *v = &load->s[which];
    if (!load->there) return;
    snprintf(seconds, CELL, "%.2f%s s (%.2f-%.2f)", v->median, star(load->noise), v->min, v->max);
    if (v->median <= 0) return;
    int n = snprintf(speed, CELL, "%.1f GB/s", bytes * 1e-9 / v->median);
    if (which == LOAD_FRESH && load->memory_s > 0)
        snprintf(speed + n, (size_t)(CELL - n), "; its memory alone %.2f s", load->memory_s);
}

/* The goal is the peer's own figure. */
static void load_line(const struct subject *s, enum load which, struct line *l)
{
    const struct loading *ours = &s->ours.load, *peer = &s->peer.load;
    const double mine = ours->s[which].median, other = peer->s[which].median;
    begin(l, s, which == LOAD_FRESH ? "load" : "load again");
    load_cells(ours, which, (double)s->file_bytes, l->cell[OURS], l->cell[SHARE]);
    load_cells(peer, which, (double)s->file_bytes, l->cell[PEER], l->cell[PEER_SHARE]);
    l->noise = MAX(ours->noise, peer->noise);
    if (!ours->there || !peer->there) return;
    snprintf(l->cell[RATIO], CELL, "%.2f%s", other / mine, star(l->noise));
    l->goal = both(goal_of(-mine, -other, 0), false);
    for (int c = SCALED; c <= STATED; c++)
        snprintf(l->cell[c], CELL, "%.2f s: %s", other, verdict_name(l->goal.scaled.verdict));
}

/* All of a file's; their number. */
static int lines_of(const struct subject *s, int threads, struct line *l)
{
    int n = 0;
    for (int i = 0; i < s->plan->tests; i++) {
        const struct test *t = &s->plan->test[i];
        if (!t->swept && (!t->depth || s->smallest)) test_line(s, i, &l[n++]);
    }
    if (s->plan->busy && s->smallest) beside_line(s, threads, &l[n++]);
    for (int i = 0; s->plan->load && i < LOADS; i++) load_line(s, (enum load)i, &l[n++]);
    return n;
}

/* ------------------------------------------------------------------ the table */

static void print_tally(const char *what, const int *of, FILE *out)
{
    fprintf(out, "%s: %d good, %d must, %d below.\n", what, of[VERDICT_GOOD], of[VERDICT_MUST], of[VERDICT_BELOW]);
}

void rows_print(const struct options *o, const struct subject *s, int n, bool markdown, FILE *out)
{
    struct table table = {.head = {"model", "type", "test", "ours tok/s", "share of limit", "peer tok/s",
                                   "share of limit", "ours/peer", "goal, scaled", "goal, as stated"}};
    int scaled[VERDICT_GOOD + 1] = {0}, stated[VERDICT_GOOD + 1] = {0};
    if (!table_open(&table, n * LINES)) return;
    for (int i = 0; i < n; i++) {
        struct line line[LINES];
        int lines = lines_of(&s[i], o->threads, line);
        for (int k = 0; k < lines; k++) {
            memcpy(*table_row(&table), line[k].cell, sizeof line[k].cell);
            if (!line[k].goal.there) continue;
            scaled[line[k].goal.scaled.verdict]++;
            stated[line[k].goal.stated.verdict]++;
        }
    }
    table_close(&table, markdown, out);
    print_tally("Goals, scaled to the limits probed beside each repetition", scaled, out);
    if (markdown) fputc('\n', out);
    print_tally("Goals as stated, for 2260 GOP/s and 51 or 85 GB/s", stated, out);
    fputc('\n', out);
}

int rows_disturbed(const struct options *o, const struct subject *s, int n, void (*each)(void *self, const char *row),
                   void *self)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        struct line line[LINES];
        int lines = lines_of(&s[i], o->threads, line);
        for (int k = 0; k < lines; k++) {
            char name[3 * CELL];
            if (line[k].noise <= NOISE_MOST) continue;
            snprintf(name, sizeof name, "%.79s %.79s %.79s", line[k].cell[0], line[k].cell[1], line[k].cell[2]);
            each(self, name);
            found++;
        }
    }
    return found;
}
