/* draft.c - what drafts bring at best and cost at worst: one sequence whose answer is the same token again and again,
 * and one whose answer is drawn of 64 tokens, which nobody can guess; each with drafts and without.
 *
 * Biases make the texts, so that they are these with random weights too, and the pass is that of any text. */
#include "tests/bench/limits.h"
#include "tests/bench/ours.h"

enum { IDS = 64 }; /* that are drawn of; the prompt is the first of them */
static_assert((int)IDS <= (int)ENGINE_MAX_BIAS && (int)IDS >= (int)BENCH_PROMPT, "all are biased");

static int submit(struct bench *b, enum drafted text, int n, struct err *err)
{
    static struct kern_bias bias[IDS];
    const int symbols = text == DRAFTED_RIGHT ? 1 : IDS;
    ours_random(b, 0, IDS);
    for (int i = 1; i < IDS; i++) b->ids[i] = (b->ids[0] + i) % b->ops->info(b->e)->vocab; /* no two alike */
    for (int i = 0; i < symbols; i++) bias[i] = (struct kern_bias){b->ids[i], 1e4F};
    struct request r = {.ids = b->ids, .n_ids = BENCH_PROMPT, .max_tokens = n, .no_logprobs = true,
                        .ignore_end = true, .fresh = true,
                        .sampling = {.temp = 100, .top_p = 1, .repeat = 1, .seed = 7, .bias = bias, .n_bias = symbols}};
    return b->ops->submit(b->e, &r, &b->id[0], err);
}

/* Tokens a second behind the first one. */
static int once(struct bench *b, enum drafted text, int n, struct drafting *d, double *rate, struct err *err)
{
    struct engine_snapshot before, after;
    int rc = submit(b, text, n + 1, err);
    if (rc) return rc;
    while (!rc && !ours_started(b, 1)) rc = ours_step(b, err);
    b->ops->snapshot(b->e, &before);
    double begin = bench_now();
    if (!rc) rc = ours_finish(b, 1, err);
    *rate = n / (bench_now() - begin);
    b->ops->snapshot(b->e, &after);
    ours_drop(b, 1);
    if (b->ops->info(b->e)->drafts == 0) return rc;
    d->per_pass[text] = n / (double)(after.passes - before.passes);
    d->tried[text] = (int)(after.drafted - before.drafted);
    d->right[text] = (int)(after.drafts_right - before.drafts_right);
    return rc;
}

/* Both texts on an engine with drafts or without. */
static int measure(struct bench *b, struct subject *s, bool drafts, struct err *err)
{
    double rate[BENCH_REPS], foreign[BENCH_REPS];
    const int n = s->plan->draft, reps = b->o->reps;
    struct drafting *d = &s->drafting;
    struct engine_config cfg = ours_config(b->o, s->path, b->o->threads, IDS + n + 2, 1);
    cfg.drafts = drafts ? 0 : DRAFTS_NONE;
    if (ours_open(b, &cfg, err)) return -1;
    int rc = 0;
    for (int text = 0; !rc && text < DRAFTED; text++) {
        rc = once(b, (enum drafted)text, MIN(n, 4), d, rate, err);
        for (int i = 0, thrown = 0; !rc && i < reps;) {
            struct noise noise;
            quiet_wait(&b->wait_left);
            noise_start(&noise);
            rc = once(b, (enum drafted)text, n, d, &rate[i], err);
            foreign[i] = noise_end(&noise);
            if (foreign[i] <= NOISE_MOST || thrown++ >= reps) i++;
        }
        if (rc) break;
        d->rate[text][drafts] = spread_of(rate, reps);
        d->noise = MAX(d->noise, spread_of(foreign, reps).median);
    }
    ours_close(b);
    return rc;
}

int draft_measure(struct bench *b, struct subject *s, struct err *err)
{
    struct drafting *d = &s->drafting;
    if (s->plan->draft == 0) return 0;
    for (int drafts = 0; drafts < 2; drafts++)
        if (measure(b, s, drafts, err)) return -1;
    d->there = true;
    fprintf(stderr, "bench: %s %s draft%d ours  %.1f tok/s, %.1f where all drafts are right, %.1f where none is\n",
            s->name, s->type, s->plan->draft, d->rate[DRAFTED_RIGHT][0].median, d->rate[DRAFTED_RIGHT][1].median,
            d->rate[DRAFTED_WRONG][1].median);
    return 0;
}
