/* ours.c - the engine's own figures, through the face that everybody uses. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"
#include <math.h>

/* ------------------------------------------------------------ one repetition */

void ours_random(struct bench *b, int from, int n)
{
    uint32_t vocab = (uint32_t)b->ops->info(b->e)->vocab;
    for (int i = from; i < from + n; i++) {
        b->random = b->random * 1664525u + 1013904223u;
        b->ids[i] = (int32_t)((b->random >> 8) % vocab);
    }
}

int ours_submit(struct bench *b, int n, int max_tokens, bool fresh, int *id, struct err *err)
{
    struct request r = {.ids = b->ids, .n_ids = n, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY,
                        .no_logprobs = true, .ignore_end = true, .fresh = fresh}; /* as a chat without --trace asks */
    return b->ops->submit(b->e, &r, id, err);
}

/* Seconds that all threads of this process have had of the cores. */
static double computing(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int ours_step(struct bench *b, struct err *err)
{
    static struct engine_event ev[3 * 64 + 8];
    struct err why = {0};
    double begin = bench_now(), computed = computing();
    int n = b->ops->step(b->e, ev, (int)COUNT_OF(ev), &why);
    if (b->times && b->times->n < BENCH_STEPS) {
        b->times->computing[b->times->n] = (computing() - computed) / MAX(1, b->o->threads);
        b->times->seconds[b->times->n++] = bench_now() - begin;
    }
    if (why.code) return err_set(err, -1, "a pass failed: %s", why.text);
    if (n == 0) return err_set(err, -1, "the engine stopped before the test was over");
    return 0;
}

bool ours_started(struct bench *b, int requests)
{
    for (int i = 0; i < requests; i++)
        if (atomic_load(&b->ops->answer(b->e, b->id[i])->n_tokens) == 0) return false;
    return true;
}

int ours_finish(struct bench *b, int requests, struct err *err)
{
    for (int i = 0; i < requests; i++) {
        const struct answer *a = b->ops->answer(b->e, b->id[i]);
        while (atomic_load(&a->end) == END_NONE)
            if (ours_step(b, err)) return -1;
        enum engine_end end = (enum engine_end)atomic_load(&a->end);
        if (end != END_LENGTH) return err_set(err, -1, "an answer ended by \"%s\"", engine_end_name(end));
    }
    return 0;
}

void ours_drop(struct bench *b, int requests)
{
    while (requests > 0) b->ops->drop(b->e, b->id[--requests]);
}

/* A prompt of n tokens, from submit to its one token. */
static int prefill(struct bench *b, int n, double *seconds, struct err *err)
{
    ours_random(b, 0, n);
    double begin = bench_now();
    if (ours_submit(b, n, 1, true, &b->id[0], err)) return -1;
    int rc = ours_finish(b, 1, err);
    *seconds = bench_now() - begin;
    ours_drop(b, 1);
    return rc;
}

int ours_steps(struct bench *b, int seqs, int n, double *seconds, struct err *err)
{
    int rc = 0;
    while (!rc && !ours_started(b, seqs)) rc = ours_step(b, err);
    struct engine_snapshot before, after;
    b->ops->snapshot(b->e, &before);
    double begin = bench_now();
    for (int i = 0; !rc && i < n; i++) rc = ours_step(b, err);
    *seconds = bench_now() - begin;
    b->ops->snapshot(b->e, &after);
    if (rc) return rc;
    uint64_t tokens = after.generated - before.generated, passes = after.passes - before.passes;
    if (tokens != (uint64_t)seqs * (uint64_t)n || passes != (uint64_t)n)
        return err_set(err, -1, "%llu tokens were made in %llu passes instead of %d in %d", (unsigned long long)tokens,
                       (unsigned long long)passes, seqs * n, n);
    return 0;
}

/* Every pass before that ends one prompt at least, so with
 * seqs tokens to spare none ends meanwhile. */
int ours_decode(struct bench *b, int seqs, int n, double *seconds, struct err *err)
{
    int rc = 0, sent = 0;
    while (!rc && sent < seqs) {
        ours_random(b, 0, BENCH_PROMPT);
        rc = ours_submit(b, BENCH_PROMPT, n + 1 + seqs, true, &b->id[sent], err);
        if (!rc) sent++;
    }
    if (!rc) rc = ours_steps(b, seqs, n, seconds, err);
    ours_drop(b, sent);
    return rc;
}

static int once(struct bench *b, const struct test *t, bool short_one, double *seconds, struct err *err)
{
    if (t->prefill) return prefill(b, t->n, seconds, err);
    return ours_decode(b, t->seqs, short_one ? MIN(t->n, 2) : t->n, seconds, err);
}

/* ------------------------------------------------------------------- a test */

/* Did the machine change while it was measured? */
static bool moved(double before, double after) { return fabs(before - after) > 0.2 * MAX(before, after); }

void ours_begin(struct bench *b, struct around *a)
{
    quiet_wait(&b->wait_left);
    a->limits = probe_limits(b->probe);
    noise_start(&a->noise);
}

bool ours_end(struct bench *b, struct around *a, bool reads, struct figure *f)
{
    a->foreign = noise_end(&a->noise);
    struct limits before = a->limits, after = probe_limits(b->probe);
    a->limits = (struct limits){.read = (before.read + after.read) / 2, .int8 = (before.int8 + after.int8) / 2};
    bool change = moved(before.int8, after.int8) || (reads && moved(before.read, after.read));
    if ((change || a->foreign > NOISE_MOST) && f->thrown < b->o->reps) {
        f->thrown++;
        return false;
    }
    f->moved += change;
    return true;
}

/* Which of the table's goals a test is held against; GOAL_KINDS: none. */
static enum goal_kind kind_of(const struct test *t)
{
    if (t->threads) return GOAL_KINDS;
    if (t->prefill) return t->n == GOAL_PROMPT ? GOAL_PREFILL : GOAL_KINDS;
    return t->seqs == 1 ? GOAL_ONE : t->seqs == 8 ? GOAL_EIGHT : t->seqs == 16 ? GOAL_SIXTEEN : GOAL_KINDS;
}

static struct judgement judge(const struct subject *s, const struct test *t, const struct reading *r, int n)
{
    enum goal_kind kind = kind_of(t);
    if (kind == GOAL_ONE && strcmp(s->name, BENCH_EMBEDDED) == 0) {
        double rate[BENCH_REPS];
        for (int i = 0; i < n; i++) rate[i] = r[i].rate;
        struct goal g = goal_of(spread_of(rate, n).median, GOAL_EMBEDDED, 0);
        return (struct judgement){.there = true, .stated = g, .scaled = g};
    }
    return kind == GOAL_KINDS ? (struct judgement){0} : goal_judge(s->name, s->type, kind, r, n);
}

static int run_test(struct bench *b, const struct subject *s, const struct test *t, struct figure *f, struct err *err)
{
    double rate[BENCH_REPS], share[BENCH_REPS], read[BENCH_REPS], int8[BENCH_REPS], foreign[BENCH_REPS], seconds;
    struct reading reading[BENCH_REPS];
    int reps = b->o->reps;
    if (once(b, t, true, &seconds, err)) return -1;
    for (int r = 0; r < reps;) {
        struct around a;
        ours_begin(b, &a);
        if (once(b, t, false, &seconds, err)) return -1;
        if (!ours_end(b, &a, !test_multiplies(t), f)) continue;
        rate[r] = t->seqs * t->n / seconds;
        share[r] = cost_share(&s->cost, t, seconds, &a.limits);
        reading[r] = (struct reading){.rate = rate[r], .share = share[r], .limits = a.limits};
        foreign[r] = a.foreign;
        read[r] = a.limits.read;
        int8[r++] = a.limits.int8;
    }
    f->goal = judge(s, t, reading, reps);
    f->limits = (struct limits){.read = spread_of(read, reps).median, .int8 = spread_of(int8, reps).median};
    f->rate = spread_of(rate, reps);
    f->share = spread_of(share, reps).median;
    f->limit = test_multiplies(t) ? f->limits.int8 : f->limits.read;
    f->noise = spread_of(foreign, reps).median;
    f->unsteady = 2 * f->moved > reps;
    f->there = true;
    return 0;
}

/* -------------------------------------------------------------------- a file */

struct engine_config ours_config(const struct options *o, const char *path, int threads, int ctx, int seqs)
{
    return (struct engine_config){.model = path, .backend = o->backend, .fast = o->fast, .kv_type = o->kv_type,
                                  .template = -1, .drafts = DRAFTS_NONE,
                                  .ctx = ctx, .max_seqs = seqs,
                                  .kern = {.threads = threads, .isa = o->isa, .pin = true}};
}

int ours_open(struct bench *b, const struct engine_config *cfg, struct err *err)
{
    b->ids = calloc((size_t)cfg->ctx, sizeof *b->ids);
    if (!b->ids) return err_set(err, -1, "no memory for a prompt of %d tokens", cfg->ctx);
    /* Before the engine pins this thread: the probe asks which cores there are. */
    b->probe = probe_open(cfg->kern.threads, err);
    if (b->probe) b->e = b->ops->open(cfg, err);
    if (b->e) return 0;
    ours_close(b);
    return -1;
}

void ours_close(struct bench *b)
{
    if (b->e) b->ops->close(b->e);
    probe_close(b->probe);
    free(b->ids);
    b->e = NULL;
    b->probe = NULL;
    b->ids = NULL;
}

/* Room for the longest and the widest of the tests on so many threads (0: not said by the test). */
static struct engine_config config_for(const struct options *o, const struct subject *s, int threads)
{
    const struct plan *p = s->plan;
    int ctx = 64, seqs = 8;
    for (int i = 0; i < p->tests; i++) {
        const struct test *t = &p->test[i];
        if (t->depth || t->threads != threads) continue;
        ctx = MAX(ctx, t->prefill ? t->n + 1 : BENCH_PROMPT + t->n + 1 + t->seqs);
        seqs = MAX(seqs, t->seqs);
    }
    if (threads) return ours_config(o, s->path, threads, ctx, seqs);
    if (p->agents) ctx = MAX(ctx, AGENT_FRONT + AGENT_TAIL + AGENT_ANSWER);
    if (p->agents) seqs = MAX(seqs, p->agents);
    if (p->watch || p->busy) ctx = MAX(ctx, BENCH_PROMPT + MAX(p->watch, p->busy) + 2);
    if (p->resume) ctx = MAX(ctx, TALK + TALK_TURN + 1);
    return ours_config(o, s->path, o->threads, ctx, seqs);
}

/* The pool's memory is taken beside the first passes: those are not to be measured. */
static int wait_for_pool(struct bench *b, struct err *err)
{
    struct engine_snapshot now;
    int rc = 0;
    do {
        ours_random(b, 0, BENCH_PROMPT);
        rc = ours_submit(b, BENCH_PROMPT, 1, true, &b->id[0], err);
        if (!rc) rc = ours_finish(b, 1, err);
        ours_drop(b, 1);
        b->ops->snapshot(b->e, &now);
    } while (!rc && now.usable_tokens < now.pool_tokens);
    return rc;
}

/* The tests that say so many threads (0: none), on an engine of theirs; of 0 also what is no test of speed. */
static int measure_on(struct bench *b, struct subject *s, int threads, struct buf *about, struct err *err)
{
    struct engine_config cfg = config_for(b->o, s, threads);
    if (ours_open(b, &cfg, err)) return -1;
    const struct engine_info *info = b->ops->info(b->e);
    if (about->len == 0)
        buf_printf(about, "%s, passes of at most %d rows (steps: %d); limits by %s", info->backend, info->max_rows,
                   info->step_rows, probe_isa());
    int rc = wait_for_pool(b, err);
    for (int i = 0; !rc && i < s->plan->tests; i++) {
        const struct test *t = &s->plan->test[i];
        if (t->depth || t->threads != threads) continue;
        rc = run_test(b, s, t, &s->ours.figure[i], err);
        if (!rc) report_progress("ours", s, t, &s->ours.figure[i]);
    }
    if (!rc && !threads) rc = busy_measure(b, s, err);
    if (!rc && !threads) rc = agents_measure(b, s, err);
    if (!rc && !threads) rc = watch_measure(b, s, err);
    ours_close(b);
    return rc;
}

static bool any_on(const struct plan *p, int threads)
{
    for (int i = 0; i < p->tests; i++)
        if (!p->test[i].depth && p->test[i].threads == threads) return true;
    return false;
}

int ours_measure(const struct options *o, struct subject *s, struct buf *about, struct err *err)
{
    struct bench b = {.o = o, .plan = s->plan, .ops = &engine_local, .wait_left = o->wait_s, .random = 1};
    for (int threads = 0; threads <= PROBE_THREADS; threads++)
        if ((threads == 0 || any_on(s->plan, threads)) && measure_on(&b, s, threads, about, err)) return -1;
    if (draft_measure(&b, s, err)) return -1;
    return s->smallest ? depth_measure(&b, s, err) : 0;
}
