/* keep.c - figures worth keeping: a section at its place in SPEED.md, and the chart beside it.
 *
 * A run that was disturbed, that was only a quick look, or that lacks a row of the goals' table replaces nothing: what
 * it has goes into the folder of the model files, from where a person may take it all the same. */
#include "tests/bench/bench.h"
#include "tests/bench/chart.h"
#include "tests/bench/section.h"
#include <errno.h>
#include <unistd.h>

static const char speed_md[] = "tests/bench/SPEED.md", speed_svg[] = "tests/bench/speed.svg";

/* ------------------------------------------------------------------ the chart */

static const struct subject *find(const struct subject *s, int n, const char *shape, const char *type)
{
    for (int i = 0; i < n; i++)
        if (strcmp(s[i].name, shape) == 0 && strcmp(s[i].type, type) == 0) return &s[i];
    return NULL;
}

/* The plan's test that is held against goals of this kind: its place, or -1. */
static int find_kind(const struct subject *s, enum goal_kind kind)
{
    static const int seqs[GOAL_KINDS] = {1, 1, 8, 16};
    for (int i = 0; i < s->plan->tests; i++) {
        const struct test *t = &s->plan->test[i];
        if (s->ours.figure[i].there && s->ours.figure[i].goal.there && !t->depth && !t->threads && !t->swept &&
            t->prefill == (kind == GOAL_PREFILL) && t->seqs == seqs[kind])
            return i;
    }
    return -1;
}

static void chart_row(const struct subject *s, enum goal_kind kind, struct chart_row *r)
{
    int at = find_kind(s, kind);
    snprintf(r->label, sizeof r->label, "%.40s %.15s", s->name, s->type);
    if (at < 0) return;
    const struct figure *ours = &s->ours.figure[at], *peer = &s->peer.figure[at];
    const struct goal *g = &ours->goal.scaled;
    double unit = ours->goal.share ? ours->rate.median / ours->share : 1; /* tok/s that all of the bandwidth would be */
    char times[24] = "";
    *r = (struct chart_row){.ours = ours->rate.median, .must = g->must * unit, .good = g->good * unit};
    if (peer->there) r->peer = peer->rate.median;
    if (peer->there) snprintf(times, sizeof times, "%.1f x peer, ", r->ours / r->peer);
    snprintf(r->label, sizeof r->label, "%.40s %.15s", s->name, s->type);
    snprintf(r->note, sizeof r->note, "%.0f tok/s, %s%.0f %% of %.0f %s: %s", r->ours, times, 100 * ours->share,
             ours->limit, test_multiplies(&s->plan->test[at]) ? "GOP/s" : "GB/s", verdict_name(g->verdict));
}

/* The least and the most of the limits beside all figures. */
static void limits_line(const struct subject *s, int n, char *out, size_t size)
{
    struct limits least = {1e9, 1e9}, most = {0, 0};
    for (int i = 0; i < n; i++)
        for (int t = 0; t < s[i].plan->tests; t++) {
            const struct figure *f = &s[i].ours.figure[t];
            if (!f->there || s[i].plan->test[t].threads || s[i].plan->test[t].depth) continue;
            least = (struct limits){MIN(least.read, f->limits.read), MIN(least.int8, f->limits.int8)};
            most = (struct limits){MAX(most.read, f->limits.read), MAX(most.int8, f->limits.int8)};
        }
    snprintf(out, size, "Limits of the machine, probed beside each figure: read bandwidth %.0f to %.0f GB/s, int8 peak "
                        "%.0f to %.0f GOP/s", least.read, most.read, least.int8, most.int8);
}

static void draw(const struct subject *s, int n, const char *head, struct chart *c)
{
    static const char *const title[GOAL_KINDS] = {"A prompt of 512 tokens, tok/s", "One sequence, tok/s",
                                                  "8 sequences together, tok/s", "16 sequences together, tok/s"};
    *c = (struct chart){0};
    snprintf(c->title, sizeof c->title, "plimsoll on the CPU: ours, llama.cpp's, and the goals");
    snprintf(c->line[c->lines++], sizeof c->line[0], "%s", head);
    limits_line(s, n, c->line[c->lines++], sizeof c->line[0]);
    snprintf(c->line[c->lines++], sizeof c->line[0],
             "must, good: the goals for 2260 GOP/s and 51 or 85 GB/s, scaled to those limits");
    for (int kind = 0; kind < GOAL_KINDS; kind++) {
        struct chart_panel *p = &c->panel[c->panels++];
        snprintf(p->title, sizeof p->title, "%s", title[kind]);
        for (int i = 0; i < MIN(goal_shapes(), CHART_ROWS); i++) {
            const char *shape, *type;
            goal_shape(i, &shape, &type);
            const struct subject *file = find(s, n, shape, type);
            if (file) chart_row(file, (enum goal_kind)kind, &p->row[p->rows++]);
        }
    }
}

/* -------------------------------------------------------------- worth keeping? */

static void add_name(void *self, const char *row)
{
    struct buf *names = self;
    buf_printf(names, "%s%s", names->len ? ", " : "", row);
}

/* Rows of the goals' table that were not measured: their number, and the first of them. */
static int count_missing(const struct subject *s, int n, char *first, size_t size)
{
    static const char *const what[GOAL_KINDS] = {"pp512", "one sequence", "8 sequences", "16 sequences"};
    int missing = 0;
    for (int i = 0; i < goal_shapes(); i++) {
        const char *shape, *type;
        goal_shape(i, &shape, &type);
        const struct subject *file = find(s, n, shape, type);
        for (int kind = 0; kind < GOAL_KINDS; kind++) {
            if (file && find_kind(file, (enum goal_kind)kind) >= 0) continue;
            if (missing++ == 0) snprintf(first, size, "%s %s %s", shape, type, what[kind]);
        }
    }
    return missing;
}

/* Empty: nothing speaks against it. */
static void why_not(const struct options *o, const struct subject *s, int n, int failed, struct buf *why)
{
    struct buf rows = {0};
    char first[96];
    int missing = count_missing(s, n, first, sizeof first);
    if (o->quick) buf_puts(why, "it was only a quick look; ");
    if (o->no_peer) buf_puts(why, "the peer was not asked; ");
    if (o->kv_type != KT_F16) buf_printf(why, "its pages were %s, not F16; ", ktype_info(o->kv_type)->name);
    if (failed) buf_puts(why, "some of it failed; ");
    if (missing) buf_printf(why, "%d of the %d rows with goals are missing (%s ...); ", missing,
                            goal_shapes() * GOAL_KINDS, first);
    rows_disturbed(o, s, n, add_name, &rows);
    if (rows.len) buf_printf(why, "others took part of the machine (*) in %s; ", rows.data);
    buf_free(&rows);
}

/* ------------------------------------------------------------------- files */

/* Whole or not at all. */
static int write_file(const char *path, const struct buf *text, struct err *err)
{
    char part[512];
    if (text->failed) return err_set(err, -1, "no memory for %s", path);
    if (snprintf(part, sizeof part, "%s.new", path) >= (int)sizeof part)
        return err_set(err, -1, "%.60s...: too long a path", path);
    FILE *f = fopen(part, "w");
    if (!f) return err_set(err, -1, "%s: %s", part, strerror(errno));
    bool ok = fwrite(text->data, 1, text->len, f) == text->len;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(part, path) == 0) return 0;
    err_set(err, -1, "%s: %s", path, strerror(errno));
    unlink(part);
    return -1;
}

static int read_file(const char *path, struct buf *text, struct err *err)
{
    char chunk[4096];
    FILE *f = fopen(path, "r");
    if (!f) return err_set(err, -1, "%s: %s: start the bench from the repository's root", path, strerror(errno));
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_put(text, chunk, n);
    int rc = ferror(f) || text->failed ? err_set(err, -1, "%s could not be read", path) : 0;
    fclose(f);
    return rc;
}

static int replace(const char *section, const struct buf *svg, struct err *err)
{
    struct buf old = {0}, new = {0};
    int rc = read_file(speed_md, &old, err);
    if (!rc) rc = section_insert(old.data ? old.data : "", section, &new, err);
    if (!rc) rc = write_file(speed_svg, svg, err);
    if (!rc) rc = write_file(speed_md, &new, err);
    buf_free(&old);
    buf_free(&new);
    return rc;
}

int keep_figures(const struct options *o, const struct subject *s, int n, const char *head, const char *section,
                 int failed, struct err *err)
{
    char path[448];
    static struct chart chart;
    struct buf svg = {0}, text = {0}, why = {0};
    draw(s, n, head, &chart);
    chart_write(&chart, &svg);
    buf_puts(&text, section);
    snprintf(path, sizeof path, "%s/section.md", o->folder);
    int rc = write_file(path, &text, err);
    snprintf(path, sizeof path, "%s/speed.svg", o->folder);
    if (!rc) rc = write_file(path, &svg, err);
    why_not(o, s, n, failed, &why);
    if (!rc && !why.len) rc = replace(section, &svg, err);
    if (!rc && !why.len) fprintf(stderr, "bench: kept in %s and %s\n", speed_md, speed_svg);
    if (!rc && why.len)
        fprintf(stderr, "bench: not kept in %s: %.*s.  What there is lies in %s/section.md and speed.svg\n", speed_md,
                (int)why.len - 2, why.data, o->folder);
    buf_free(&svg);
    buf_free(&text);
    buf_free(&why);
    return rc;
}
