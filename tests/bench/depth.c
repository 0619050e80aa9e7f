/* depth.c - what attention costs: steps after D tokens, and after 16.
 *
 *     a repetition:  short | deep | short      attention's time = deep - the middle of the two short ones
 *
 * All of the machine's bandwidth would read the keys and values of those D tokens in some time; the share is that time
 * by attention's.  All prompts begin alike, so that each test and repetition knows what one before it has computed: a
 * deep prompt is read once, untimed. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"

enum { SLACK = 256 }; /* tokens of the pool for the short prompts, so that they drive out nothing of the deep one */

struct deep {
    const struct test *test;
    struct figure *figure;
    int32_t *prompt;
    double bytes; /* of keys and values that a step reads after the deep prompt and not after the short one */
};

/* n steps after the deep prompt. */
static int deep_steps(struct bench *b, const struct deep *d, double *seconds, struct err *err)
{
    int32_t *ids = b->ids;
    b->ids = d->prompt;
    int rc = ours_submit(b, d->test->depth, d->test->n + 2, false, &b->id[0], err);
    b->ids = ids;
    if (rc) return rc;
    rc = ours_steps(b, 1, d->test->n, seconds, err);
    ours_drop(b, 1);
    return rc;
}

/* Seconds: a deep step, and what it takes more than a short one. */
static int once(struct bench *b, const struct deep *d, double *step, double *attention, struct err *err)
{
    double before, deep, after;
    int n = d->test->n;
    if (ours_decode(b, 1, n, &before, err) || deep_steps(b, d, &deep, err) || ours_decode(b, 1, n, &after, err))
        return -1;
    *step = deep / n;
    *attention = *step - (before + after) / (2 * n);
    return 0;
}

static int repeat(struct bench *b, const struct deep *d, struct err *err)
{
    double rate[BENCH_REPS], share[BENCH_REPS], read[BENCH_REPS], foreign[BENCH_REPS], step, attention;
    struct figure *f = d->figure;
    int reps = b->o->reps;
    if (once(b, d, &step, &attention, err)) return -1;
    for (int r = 0; r < reps;) {
        struct around a;
        ours_begin(b, &a);
        if (once(b, d, &step, &attention, err)) return -1;
        bool counts = ours_end(b, &a, true, f);
        if (attention <= 0 && f->thrown < reps) {
            f->thrown += counts; /* the machine changed in the middle of it */
            counts = false;
        }
        if (!counts) continue;
        rate[r] = 1 / step;
        share[r] = attention > 0 ? d->bytes / attention * 1e-9 / a.limits.read : 0;
        foreign[r] = a.foreign;
        read[r++] = a.limits.read;
    }
    f->rate = spread_of(rate, reps);
    f->share = spread_of(share, reps).median;
    f->limit = spread_of(read, reps).median;
    f->limits.read = f->limit;
    f->noise = spread_of(foreign, reps).median;
    f->unsteady = 2 * f->moved > reps;
    struct goal g = goal_of(f->share, GOAL_ATTENTION_MUST, GOAL_ATTENTION_GOOD);
    f->goal = (struct judgement){.there = f->share > 0, .share = true, .stated = g, .scaled = g};
    f->there = true;
    return 0;
}

/* The plan's tests of depth, the shallowest first; their number. */
static int list_tests(const struct plan *p, int *at)
{
    int n = 0;
    for (int i = 0; i < p->tests; i++) {
        if (!p->test[i].depth) continue;
        int k = n++;
        for (; k > 0 && p->test[at[k - 1]].depth > p->test[i].depth; k--) at[k] = at[k - 1];
        at[k] = i;
    }
    return n;
}

/* An engine with room for the tests at[0 .. n), or for as many of them as memory allows: that number (0: nothing is
 * open), or -1. */
static int open_deepest(struct bench *b, const struct subject *s, const int *at, int n, struct err *err)
{
    const struct test *test = s->plan->test;
    int steps = 0;
    for (int i = 0; i < n; i++) steps = MAX(steps, test[at[i]].n);
    for (; n > 0; n--) {
        int deepest = test[at[n - 1]].depth;
        struct engine_config cfg = ours_config(b->o, s->path, b->o->threads, deepest + steps + 2, 1);
        cfg.pool_tokens = size_align((uint64_t)cfg.ctx, KERN_PAGE) + SLACK;
        if (ours_open(b, &cfg, err) == 0) return n;
        if (err->code != ENGINE_NEVER_FITS) return -1;
        fprintf(stderr, "bench: %s %s %s is left out: %s\n", s->name, s->type, test[at[n - 1]].name, err->text);
    }
    return 0;
}

static int run_all(struct bench *b, struct subject *s, const int *at, int n, int32_t *prompt, struct err *err)
{
    for (int i = 0; i < n; i++) {
        struct deep d = {.test = &s->plan->test[at[i]], .figure = &s->ours.figure[at[i]], .prompt = prompt};
        int depth = d.test->depth;
        d.bytes = depth_bytes(s, depth);
        fprintf(stderr, "bench: %s %s %s: reading %d tokens\n", s->name, s->type, d.test->name, depth);
        if (repeat(b, &d, err)) return -1;
        report_progress("ours", s, d.test, d.figure);
    }
    return 0;
}

/* What an open engine says of the tokens that its layers read. */
static void learn_kv(const struct engine_info *i, struct subject *s)
{
    s->kv_token = (double)i->kv_bytes_per_token;
    s->window = i->window;
    s->kv_local = s->kv_token * i->local_layers / (i->layers - i->local_layers);
    s->local_window = i->local_window;
}

static double read_bytes(const struct subject *s, int tokens)
{
    const int seen = s->window ? MIN(s->window, tokens) : tokens;
    return seen * s->kv_token + MIN(s->local_window, tokens) * s->kv_local;
}

double depth_bytes(const struct subject *s, int depth) { return read_bytes(s, depth) - read_bytes(s, BENCH_PROMPT); }

int depth_measure(struct bench *b, struct subject *s, struct err *err)
{
    int at[BENCH_TESTS], n = list_tests(s->plan, at);
    n = open_deepest(b, s, at, n, err);
    if (n <= 0) return n;
    learn_kv(b->ops->info(b->e), s);
    int most = s->plan->test[at[n - 1]].depth, rc = 0;
    int32_t *prompt = calloc((size_t)most, sizeof *prompt);
    if (prompt) {
        ours_random(b, 0, most);
        memcpy(prompt, b->ids, (size_t)most * sizeof *prompt);
        rc = run_all(b, s, at, n, prompt, err);
    } else {
        rc = err_set(err, -1, "no memory for a prompt of %d tokens", most);
    }
    free(prompt);
    ours_close(b);
    return rc;
}
