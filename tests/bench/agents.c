/* agents.c - what known pages save: many agents with one front, and a conversation that goes on. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"

/* One repetition, both ways. */
struct run {
    double seconds[WAYS];
    int computed[WAYS];
};

static uint64_t prefilled(struct bench *b)
{
    struct engine_snapshot now;
    b->ops->snapshot(b->e, &now);
    return now.prefilled;
}

/* These count work, not speed: another number is a fault of the engine, and the run fails. */
static int check(const char *what, enum way way, int computed, int want, struct err *err)
{
    if (computed == want) return 0;
    return err_set(err, -1, "%s%s: %d prompt tokens were computed instead of %d", what,
                   way == WAY_FRESH ? ", fresh" : "", computed, want);
}

/* ------------------------------------------------------------------- agents */

static int submit_agents(struct bench *b, int agents, bool fresh, int *sent, struct err *err)
{
    ours_random(b, 0, AGENT_FRONT);
    for (*sent = 0; *sent < agents; ++*sent) {
        ours_random(b, AGENT_FRONT, AGENT_TAIL);
        if (ours_submit(b, AGENT_FRONT + AGENT_TAIL, AGENT_ANSWER, fresh, &b->id[*sent], err)) return -1;
    }
    return 0;
}

static int ask_agents(struct bench *b, int agents, enum way way, struct run *r, struct err *err)
{
    int sent, want = way == WAY_FRESH ? agents * (AGENT_FRONT + AGENT_TAIL) : AGENT_FRONT + agents * AGENT_TAIL;
    uint64_t before = prefilled(b);
    double begin = bench_now();
    int rc = submit_agents(b, agents, way == WAY_FRESH, &sent, err);
    while (!rc && !ours_started(b, sent)) rc = ours_step(b, err);
    r->seconds[way] = bench_now() - begin;
    if (!rc) rc = ours_finish(b, sent, err);
    ours_drop(b, sent);
    r->computed[way] = (int)(prefilled(b) - before);
    return rc ? rc : check("agents", way, r->computed[way], want, err);
}

static int agents_once(struct bench *b, bool short_one, struct run *r, struct err *err)
{
    int agents = short_one ? 1 : b->plan->agents;
    if (ask_agents(b, agents, WAY_SHARED, r, err)) return -1;
    return ask_agents(b, agents, WAY_FRESH, r, err);
}

/* ------------------------------------------------------------------- resume */

/* A conversation of `talk` tokens, its end generated; the prompt that goes on from it is in ids afterwards. */
static int hold_talk(struct bench *b, int talk, struct err *err)
{
    int n = talk - AGENT_ANSWER;
    ours_random(b, 0, n);
    if (ours_submit(b, n, AGENT_ANSWER, false, &b->id[0], err)) return -1;
    int rc = ours_finish(b, 1, err);
    const struct answer *a = b->ops->answer(b->e, b->id[0]);
    for (int i = 0; !rc && i < AGENT_ANSWER; i++) b->ids[n + i] = a->token[i].id;
    ours_drop(b, 1);
    ours_random(b, talk, TALK_TURN);
    return rc;
}

static int ask_turn(struct bench *b, int talk, enum way way, struct run *r, struct err *err)
{
    /* The answer's last token was never a row, and only whole pages are known. */
    int known = way == WAY_FRESH ? 0 : (talk - 1) / KERN_PAGE * KERN_PAGE;
    uint64_t before = prefilled(b);
    double begin = bench_now();
    if (ours_submit(b, talk + TALK_TURN, 1, way == WAY_FRESH, &b->id[0], err)) return -1;
    int rc = ours_finish(b, 1, err);
    r->seconds[way] = bench_now() - begin;
    ours_drop(b, 1);
    r->computed[way] = (int)(prefilled(b) - before);
    return rc ? rc : check("resume", way, r->computed[way], talk + TALK_TURN - known, err);
}

static int resume_once(struct bench *b, bool short_one, struct run *r, struct err *err)
{
    int talk = short_one ? 2 * AGENT_ANSWER : TALK;
    if (hold_talk(b, talk, err)) return -1;
    if (ask_turn(b, talk, WAY_SHARED, r, err)) return -1;
    return ask_turn(b, talk, WAY_FRESH, r, err);
}

/* -------------------------------------------------------------- repetitions */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static void sum_up_times(struct times *p, struct waits *w)
{
    if (p->n == 0) return;
    qsort(p->seconds, (size_t)p->n, sizeof *p->seconds, by_size);
    qsort(p->computing, (size_t)p->n, sizeof *p->computing, by_size);
    w->step_half_ms = 1000 * p->seconds[p->n / 2];
    w->step_most_ms = 1000 * p->seconds[(p->n - 1) * 99 / 100];
    w->step_longest_ms = 1000 * p->seconds[p->n - 1];
    w->step_computing_ms = 1000 * p->computing[p->n - 1];
}

static int repeat(struct bench *b, int (*once)(struct bench *, bool, struct run *, struct err *), struct waits *w,
                  struct err *err)
{
    double ms[WAYS][BENCH_REPS], foreign[BENCH_REPS];
    struct run r;
    int reps = b->o->reps, thrown = 0, kept = 0;
    if (once(b, true, &r, err)) return -1;
    for (int i = 0; i < reps;) {
        struct noise noise;
        quiet_wait(&b->wait_left);
        noise_start(&noise);
        b->times->n = kept;
        if (once(b, false, &r, err)) return -1;
        foreign[i] = noise_end(&noise);
        if (foreign[i] > NOISE_MOST && thrown++ < reps) continue;
        for (int way = 0; way < WAYS; way++) ms[way][i] = 1000 * r.seconds[way];
        kept = b->times->n;
        i++;
    }
    sum_up_times(b->times, w);
    for (int way = 0; way < WAYS; way++) {
        w->ms[way] = spread_of(ms[way], reps);
        w->computed[way] = r.computed[way];
    }
    w->noise = spread_of(foreign, reps).median;
    w->there = true;
    return 0;
}

static int measure(struct bench *b, struct subject *s, struct err *err)
{
    char name[24];
    if (b->plan->agents) {
        if (repeat(b, agents_once, &s->agents, err)) return -1;
        snprintf(name, sizeof name, "agents%d", b->plan->agents);
        report_waits(s, name, &s->agents);
    }
    if (!b->plan->resume) return 0;
    if (repeat(b, resume_once, &s->resume, err)) return -1;
    report_waits(s, "resume", &s->resume);
    return 0;
}

int agents_measure(struct bench *b, struct subject *s, struct err *err)
{
    b->times = calloc(1, sizeof *b->times);
    if (!b->times) return err_set(err, -1, "no memory for the times of steps");
    int rc = measure(b, s, err);
    free(b->times);
    b->times = NULL;
    return rc;
}
