/* peer.c - the peer's figures: its driver is another program, whose lines are read.
 *
 *     INFO version=b1 model=x.gguf ... load_s=0.52 ...
 *     RES model=x.gguf threads=2 ... test=tg128 fa=1 median=68.2 min=67.9 max=68.8 bw=0.70 ... rd=51.2 i8=2210 ... */
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/hog.h"
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"
#include <unistd.h>

static void keep_line(void *self, char *text)
{
    struct peer *p = self;
    snprintf(p->driver, sizeof p->driver, "%s%s", *text == '/' || *text == '.' ? "" : "./", text);
}

bool peer_find(struct peer *p, const struct options *o, struct err *err)
{
    static const char script[] = "tests/bench/peer.sh";
    *p = (struct peer){0};
    if (access(script, R_OK)) {
        err_set(err, -1, "%s is not here: start the bench from the repository's root", script);
        return false;
    }
    char *const argv[] = {"sh", (char *)script, (char *)o->folder, NULL};
    int code = child_lines(argv, keep_line, p, err);
    if (code == 0 && p->driver[0]) return true;
    if (code >= 0) err_set(err, -1, "without a peer");
    return false;
}

/* The text after " key=" up to the next blank; "" if there is none. */
static const char *word(const char *line, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    *out = '\0';
    for (const char *at = strchr(line, ' '); at; at = strchr(at, ' ')) {
        at++;
        if (strncmp(at, key, n) || at[n] != '=') continue;
        snprintf(out, size, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
        break;
    }
    return out;
}

static double value(const char *line, const char *key)
{
    char text[64];
    return strtod(word(line, key, text, sizeof text), NULL);
}

/* ---------------------------------------------------------------- one call */

/* The driver's arguments; tests "": it only loads. */
struct call {
    const char *tests;
    int reps;
    double wait_s;
};

/* What a call's lines go to. */
struct reader {
    struct peer *p;
    struct subject *s;
    struct figure *extra; /* of the test named extra_name, beside s's plan; or NULL */
    const char *extra_name;
    double load_s;
};

static void read_figure(const struct reader *r, const char *line)
{
    char name[64];
    word(line, "test", name, sizeof name);
    const struct plan *p = r->s->plan;
    struct test t = {0};
    struct figure *f = NULL;
    for (int i = 0; i < p->tests; i++)
        if (strcmp(p->test[i].name, name) == 0 && !r->s->peer.figure[i].there) {
            t = p->test[i];
            f = &r->s->peer.figure[i];
        }
    if (r->extra_name && strcmp(r->extra_name, name) == 0) f = r->extra;
    if (!f) return;
    *f = (struct figure){.there = value(line, "median") > 0,
                         .rate = {value(line, "median"), value(line, "min"), value(line, "max")},
                         .share = value(line, test_multiplies(&t) ? "int8" : "bw"),
                         .limit = value(line, test_multiplies(&t) ? "i8" : "rd"),
                         .noise = value(line, "noise"), .thrown = (int)value(line, "thrown")};
    if (f->there && r->s->cost.experts > 0 && t.n > 0) { /* its driver takes all experts for those that compute */
        const struct limits l = {.read = f->limit, .int8 = f->limit};
        f->share = cost_share(&r->s->cost, &t, (double)t.seqs * t.n / f->rate.median, &l);
    }
    if (f->there && f != r->extra && !t.depth) report_progress("peer", r->s, &t, f);
}

static void read_line(void *self, char *text)
{
    struct reader *r = self;
    if (strncmp(text, "RES ", 4) == 0 && r->s) read_figure(r, text);
    if (strncmp(text, "INFO version=", 13) == 0) {
        r->load_s = value(text, "load_s");
        word(text, "version", r->p->version, sizeof r->p->version);
    }
}

static int run(const struct options *o, const char *path, const struct call *c, struct reader *r, struct err *err)
{
    char threads[16], reps[16], wait[32];
    snprintf(threads, sizeof threads, "%d", o->threads);
    snprintf(reps, sizeof reps, "%d", c->reps);
    snprintf(wait, sizeof wait, "%g", c->wait_s);
    char *const argv[] = {r->p->driver, "-m", (char *)path, "-t", threads, "-r",     reps, "-fa",
                          "1",          "-wait", wait,      "-tests", (char *)c->tests,  NULL};
    int code = child_lines(argv, read_line, r, err);
    if (code > 0) err_set(err, -1, "the peer ended with %d on %s", code, path);
    return code ? -1 : 0;
}

/* ------------------------------------------------------------------- tests */

static int short_tests(struct peer *p, const struct options *o, struct subject *s, struct err *err)
{
    struct buf tests = {0};
    for (int i = 0; i < s->plan->tests; i++) {
        const struct test *t = &s->plan->test[i];
        if (!t->depth && !t->threads) buf_printf(&tests, "%s%s", tests.len ? "," : "", t->name);
    }
    struct call c = {.tests = tests.data, .reps = o->reps, .wait_s = o->wait_s};
    struct reader r = {.p = p, .s = s};
    int rc = tests.failed ? err_set(err, -1, "no memory") : tests.len ? run(o, s->path, &c, &r, err) : 0;
    buf_free(&tests);
    return rc;
}

/* It reads each deep prompt anew in every repetition and before: so none that would take minutes, and once each.  The
 * share is that of attention, as ours is. */
enum { DEEPEST = 4096 };

static int deep_test(struct peer *p, const struct options *o, struct subject *s, int at, struct err *err)
{
    const struct test *t = &s->plan->test[at];
    struct figure *deep = &s->peer.figure[at], brief = {0};
    char name[32], both[64];
    snprintf(name, sizeof name, "d%dtg%d", BENCH_PROMPT, t->n);
    snprintf(both, sizeof both, "%s,%s", name, t->name);
    struct call c = {.tests = both, .reps = 1, .wait_s = o->wait_s};
    struct reader r = {.p = p, .s = s, .extra = &brief, .extra_name = name};
    if (run(o, s->path, &c, &r, err)) return -1;
    double attention = deep->there && brief.there ? 1 / deep->rate.median - 1 / brief.rate.median : 0;
    deep->share = attention > 0 ? depth_bytes(s, t->depth) / attention * 1e-9 / deep->limit : 0;
    if (deep->there) report_progress("peer", s, t, deep);
    return 0;
}

/* Beside the other process every repetition is noisy, and so done twice: the second counts. */
static int busy_test(struct peer *p, const struct options *o, struct subject *s, struct err *err)
{
    struct figure alone = {0}, busy = {0};
    struct hog hog = {0};
    char name[32];
    snprintf(name, sizeof name, "tg%d", s->plan->busy);
    struct call quiet = {.tests = name, .reps = o->reps, .wait_s = o->wait_s}, loud = {.tests = name, .reps = 1};
    struct reader r = {.p = p, .s = s, .extra = &alone, .extra_name = name};
    if (run(o, s->path, &quiet, &r, err)) return -1;
    if (hog_start(&hog, err)) return -1;
    r.extra = &busy;
    int rc = run(o, s->path, &loud, &r, err);
    hog_stop(&hog);
    if (rc || !alone.there || !busy.there) return rc;
    s->peer.beside = (struct beside){.there = true, .alone = alone.rate, .busy = busy.rate,
                                     .part = busy.rate.median / alone.rate.median, .noise = alone.noise};
    fprintf(stderr, "bench: %s %s busy%-3d peer  %.1f tok/s alone, %.1f beside a process that computes\n", s->name,
            s->type, s->plan->busy, alone.rate.median, busy.rate.median);
    return 0;
}

int peer_measure(struct peer *p, const struct options *o, struct subject *s, struct err *err)
{
    if (short_tests(p, o, s, err)) return -1;
    for (int i = 0; i < s->plan->tests; i++) {
        int depth = s->plan->test[i].depth;
        if (depth && depth <= DEEPEST && s->smallest && deep_test(p, o, s, i, err)) return -1;
    }
    return s->plan->busy && s->smallest ? busy_test(p, o, s, err) : 0;
}

int peer_load(struct peer *p, const struct options *o, const struct subject *s, double *seconds, struct err *err)
{
    struct call c = {.tests = "", .reps = 1};
    struct reader r = {.p = p, .load_s = -1};
    if (run(o, s->path, &c, &r, err)) return -1;
    *seconds = r.load_s;
    return r.load_s >= 0 ? 0 : err_set(err, -1, "the peer did not say how long it loaded %s", s->path);
}
