/* A million random operations on the scheduler with tiny pools.  After each one: its books are made anew
 * (sched_check()), compared with books that this test keeps by itself, and every answer is what it would be if the
 * request had run alone.  The pages are fake ones that remember what was written (fake_pages.h).
 *
 *     test_sched_random [part of a name]      SEED=n in the environment: another history */
#include "engine/sched_impl.h"
#include "tests/sched_world.h"
#include <sched.h>

/* What each history's length is divided by: under TSan one thread has no races, so a small part of it and the test of
 * threads; ASan looks at single accesses. */
enum { SLOWER = CHECK_TSAN ? 80 : CHECK_SANITIZED ? 4 : 1 };

enum { DRAIN = 3000, DRAIN_STEPS = 100000 };

/* ------------------------------------------------------------------ operations: submit */

/* A prompt: a story's front, or what another request has come to, and sometimes words of its own. */
static void make_prompt(struct world *w, struct one *q, int most)
{
    const struct one *of = &w->one[below(w, LIVE)];
    q->n = 0;
    if (of->at != FREE && of != q && !one_in(w, 3)) {
        int answered = below(w, atomic_load(&of->a->n_tokens) + 1);
        memcpy(q->ids, of->ids, (size_t)of->n * sizeof *q->ids);
        for (int i = 0; i < answered; i++) q->ids[of->n + i] = of->a->token[i].id;
        q->n = of->n + answered;
    } else {
        q->n = 1 + below(w, one_in(w, 4) ? most : 60);
        memcpy(q->ids, w->story[below(w, STORIES)], (size_t)q->n * sizeof *q->ids);
    }
    for (int more = one_in(w, 2) ? below(w, 20) : 0; more > 0 && q->n < most; more--)
        q->ids[q->n++] = TINY_BYTE0 + 'a' + below(w, 3);
    for (int i = 0; i < q->n; i++) q->segment[i] = (uint8_t)below(w, SEGMENTS);
}

/* Over-commit learns that answers are short, and then they are long. */
static int answer_length(struct world *w)
{
    if (one_in(w, 10)) return below(w, w->plan.ctx);
    return 1 + below(w, !w->plan.overcommit ? 60 : w->op % 600 < 400 ? 3 : w->plan.ctx - 20);
}

static struct request make_request(struct world *w, struct one *q)
{
    static const char *const stop[] = {"ab", "c", "dea", "ee"};
    static const char *one_stop;
    make_prompt(w, q, MIN(w->plan.ctx + 8, STORY - 1));
    q->agent = below(w, AGENTS);
    q->score = one_in(w, 8);
    q->ask = (struct fake_ask){.ids = q->ids, .n = q->n, .seed = (uint64_t)below(w, w->plan.drafts ? 4 : 2),
                               .ignore_end = one_in(w, 4), .max_tokens = answer_length(w)};
    if (q->ask.max_tokens == 0 && !q->score) q->ask.max_tokens = 1;
    if (q->score && one_in(w, 2)) q->ask.max_tokens = 0;
    q->ask.stop = one_stop = one_in(w, 4) ? stop[below(w, (int)COUNT_OF(stop))] : NULL;
    q->ask.allowed = one_in(w, 12) ? w->letters : NULL;
    struct sampling sampling = SAMPLING_GREEDY;
    sampling.seed = q->ask.seed;
    return (struct request){.ids = q->ids, .n_ids = q->n, .segment = one_in(w, 2) ? q->segment : NULL,
                            .agent = q->agent, .priority = one_in(w, 2) ? 0 : below(w, 5) - 2, .no_wait = one_in(w, 6),
                            .max_tokens = q->ask.max_tokens, .sampling = sampling, .stop = &one_stop,
                            .n_stop = one_stop ? 1 : 0, .allowed = q->ask.allowed, .top_n = one_in(w, 4) ? 3 : 0,
                            .score = q->score, .fresh = one_in(w, w->plan.overcommit ? 3 : 10),
                            .ignore_end = q->ask.ignore_end};
}

/* One field out of its range. */
static void spoil(struct world *w, struct request *r, struct one *q)
{
    switch (below(w, 12)) {
    case 0: r->agent = one_in(w, 2) ? -1 : ENGINE_AGENTS; break;
    case 1: r->max_tokens = one_in(w, 2) ? -1 : INT32_MIN; break;
    case 2: r->max_tokens = INT32_MAX; break;
    case 3: r->top_n = one_in(w, 2) ? -1 : KERN_TOP + 1; break;
    case 4: r->n_ids = one_in(w, 2) ? 0 : -1; break;
    case 5: q->ids[below(w, q->n)] = one_in(w, 2) ? -1 : TINY_VOCAB; break;
    case 6:
        r->segment = q->segment;
        q->segment[below(w, q->n)] = SEGMENTS;
        break;
    case 7: r->sampling.temp = NAN; break;
    case 8: r->n_stop = ENGINE_STOPS + 1; break;
    case 9: r->sampling.n_bias = -1; break;
    case 10: r->sampling.top_p = 1.01f; break;
    case 11: r->sampling.repeat = -INFINITY; break;
    }
}

/* Does one of so many tokens need more than a whole pool at once?  With a window: the window - 1 tokens before a pass
 * and its rows, wherever in a page they begin. */
static bool never_fits(const struct world *w, int tokens)
{
    for (int g = 0; g < w->plan.groups; g++) {
        int window = w->plan.group[g].window, pages = (tokens + KERN_PAGE - 1) / KERN_PAGE;
        int at_once = (window - 1 + w->plan.rows + KERN_PAGE - 2) / KERN_PAGE + 1;
        if ((window ? MIN(pages, at_once) : pages) > w->plan.group[g].pages) return true;
    }
    return tokens > w->plan.ctx;
}

/* May it be refused like this? */
static bool refusal_is_just(struct world *w, const struct one *q, const struct request *r, bool bad, int rc)
{
    bool never = never_fits(w, q->n + q->ask.max_tokens);
    switch (rc) {
    case ENGINE_BAD_REQUEST: return bad;
    case ENGINE_NEVER_FITS: return bad || never;
    case ENGINE_QUEUE_FULL: return w->last.waiting == SCHED_QUEUE && !r->no_wait;
    case ENGINE_NOT_NOW: return r->no_wait && !bad && !never;
    case ENGINE_NO_MEMORY: return !bad && !never && w->plan.text < 1 << 20;
    default: return false;
    }
}

static void enter(struct world *w, struct one *q, int id)
{
    HOLDS(w, id > 0 && !world_find(w, id));
    q->at = WAITS;
    q->id = id;
    q->overtaken = q->told_admitted = q->told_end = 0;
    q->may_fail = q->was_in = false;
    q->order = ++w->submitted;
    q->a = sched_answer(w->s, id);
}

static void submit(struct world *w)
{
    struct engine_snapshot now;
    struct err err = {0};
    int i = 0, id = 0;
    while (i < LIVE && w->one[i].at != FREE) i++;
    if (i == LIVE) return;
    struct one *q = &w->one[i];
    struct request r = make_request(w, q);
    bool bad = one_in(w, 15);
    if (bad) spoil(w, &r, q);
    int rc = sched_submit(w->s, &r, &id, &err);
    if (rc) {
        sched_snapshot(w->s, &now); /* I6: as it was */
        HOLDS(w, memcmp(&now, &w->last, sizeof now) == 0 && err.text[0] && rc >= ENGINE_NOT_NOW);
        if (!refusal_is_just(w, q, &r, bad, rc))
            check_fail(__FILE__, __LINE__, "op %lld: %s", (long long)w->op, err.text);
        w->refused[-rc]++;
        return;
    }
    HOLDS(w, !bad);
    enter(w, q, id);
    if (r.no_wait) world_admitted(w, id);
}

/* ------------------------------------------------------------------ the other operations */

static void cancel(struct world *w, struct one *q)
{
    if (q->at == FREE) return;
    HOLDS(w, sched_cancel(w->s, q->id) == (q->at == OVER ? -1 : 0));
    if (q->at != OVER) HOLDS(w, atomic_load(&q->a->end) == END_CANCELLED);
    q->at = OVER;
}

static void drop(struct world *w, struct one *q)
{
    if (q->at == FREE) return;
    world_check_answer(w, q);
    if (q->at != WAITS) {
        w->shared += (uint64_t)q->a->n_shared;
        w->first_time += (uint64_t)(atomic_load(&q->a->n_prefilled) - q->a->n_shared);
    }
    if (w->reading) {
        pthread_mutex_lock(w->reading);
        if (*w->shown == q->a) *w->shown = NULL;
        pthread_mutex_unlock(w->reading);
    }
    sched_drop(w->s, q->id);
    HOLDS(w, !sched_answer(w->s, q->id) && sched_cancel(w->s, q->id) == -1);
    q->at = FREE;
}

static void take_event(struct world *w, const struct engine_event *ev)
{
    struct one *q = world_find(w, ev->id);
    HOLDS(w, q && !q->told_end);
    switch (ev->kind) {
    case ENGINE_ADMITTED: HOLDS(w, q->at != WAITS && q->told_admitted++ == 0); break;
    case ENGINE_PREFILL:
        HOLDS(w, ev->of == q->n && (ev->n > 0 || w->f.half_rows > 0) && ev->n <= q->n);
        w->prefilled = ev->id;
        break;
    case ENGINE_ADVANCED: HOLDS(w, ev->n > 0); break;
    case ENGINE_PARKED:
    case ENGINE_RESUMED: HOLDS(w, w->plan.overcommit); break;
    case ENGINE_END:
        q->told_end++;
        w->ends++;
        HOLDS(w, q->told_admitted == q->was_in);
        HOLDS(w, q->at == OVER && ev->end != END_NONE && (int)ev->end == atomic_load(&q->a->end));
        HOLDS(w, ev->n == atomic_load(&q->a->n_tokens));
        world_check_answer(w, q);
        break;
    }
}

static int step(struct world *w)
{
    struct engine_event ev[256];
    struct err err = {0};
    int64_t failed = w->f.failed_runs + w->f.failed_loads;
    int n = sched_step(w->s, ev, w->plan.cap, &err);
    w->usable = world_usable(w);
    failed = w->f.failed_runs + w->f.failed_loads - failed;
    HOLDS(w, n >= 0 && n <= w->plan.cap && (!err.text[0] || failed > 0));
    for (int i = 0; i < LIVE; i++) {
        struct one *q = &w->one[i];
        if (q->at != FREE && q->at != OVER && atomic_load(&q->a->end) != END_NONE) {
            HOLDS(w, q->at == IN);
            q->may_fail = failed > 0;
            q->at = OVER;
        }
    }
    for (int i = 0; i < n; i++) take_event(w, &ev[i]);
    return n;
}

static void check_wait(struct world *w)
{
    struct one *q = &w->one[below(w, LIVE)];
    struct engine_wait why;
    if (q->at == FREE) return;
    sched_waits(w->s, q->id, &why);
    HOLDS(w, q->at != WAITS || why.what != WAIT_NOTHING);
    HOLDS(w, q->at != OVER || why.what == WAIT_NOTHING);
    HOLDS(w, why.free >= 0 && why.others >= 0 && why.after != q->id);
    if (why.what == WAIT_PAGES && !w->s->look) HOLDS(w, why.pages > why.free); /* else it would be in */
    if (why.after) HOLDS(w, world_find(w, why.after) && world_find(w, why.after)->at != OVER);
    if (why.what == WAIT_SLOT || why.what == WAIT_FRONT || why.what == WAIT_TURN) HOLDS(w, why.after);
}

/* Until step() has nothing left to do: then nobody waits, nothing is held, and every end was told. */
static void drain(struct world *w)
{
    int steps = 0;
    for (int g = 0; g < w->plan.groups; g++) w->f.group[g].there = w->plan.group[g].pages;
    while (step(w) > 0) {
        w->op++;
        world_check(w);
        HOLDS(w, ++steps < DRAIN_STEPS);
    }
    world_check(w);
    HOLDS(w, world_count(w, WAITS, -1) + world_count(w, IN, -1) == 0);
    HOLDS(w, w->last.reserved_tokens + w->last.filled_tokens == 0);
    for (int i = 0; i < LIVE; i++) HOLDS(w, w->one[i].at == FREE || w->one[i].told_end == 1);
    for (int i = 0; i < LIVE; i++) drop(w, &w->one[i]);
    world_check(w);
    HOLDS(w, w->last.text_used == 0 && w->last.park_used == 0);
}

static void any_operation(struct world *w, int submits)
{
    struct fake_pool *g = &w->f.group[below(w, w->plan.groups)];
    int what = below(w, 100);
    struct one *half = w->f.half_rows && one_in(w, 20) ? world_find(w, w->prefilled) : NULL;
    if (half && what < 50) cancel(w, half);
    else if (half) drop(w, half);
    else if (what < submits) submit(w);
    else if (what < submits + 1) cancel(w, &w->one[below(w, LIVE)]);
    else if (what < submits + 2) drop(w, &w->one[below(w, LIVE)]);
    else if (what < submits + 12) {
        struct one *q = &w->one[below(w, LIVE)];
        if (q->at == OVER && (q->told_end || one_in(w, 4))) drop(w, q);
    } else if (what < submits + 14) check_wait(w);
    else if (what < submits + 15 && g->there < g->is.pages) g->there++;
    else step(w);
}

static void operate(struct world *w, int64_t n)
{
    int submits = 20;
    for (int64_t end = w->op + n; w->op < end; w->op++) {
        any_operation(w, submits);
        world_check(w);
        if (w->op % 400 == 0) submits = one_in(w, 4) ? 60 : 2 + below(w, 20); /* a full queue, or few at a time */
        if (one_in(w, DRAIN)) drain(w);
    }
    drain(w);
}

static void finish(struct world *w)
{
    const struct engine_snapshot *s = &w->last;
    printf("  %llu requests; refused: bad %lld, never %lld, queue %lld, room %lld, not now %lld\n",
           (unsigned long long)w->submitted, (long long)w->refused[2], (long long)w->refused[3],
           (long long)w->refused[4], (long long)w->refused[5], (long long)w->refused[6]);
    printf("  %llu passes, reused %llu, evicted %llu, overtaken %lld\n", (unsigned long long)s->passes,
           (unsigned long long)s->reused, (unsigned long long)s->evicted_pages, (long long)w->most_overtaken);
    printf("  parked %llu, resumed %llu, computed again %llu, pages saved %lld, loaded %lld\n",
           (unsigned long long)s->parkings, (unsigned long long)s->resumes, (unsigned long long)s->recomputed,
           (long long)w->f.saved, (long long)w->f.loaded);
    printf("  drafted %llu, right %llu\n", (unsigned long long)s->drafted, (unsigned long long)s->drafts_right);
    printf("  parts before the last %lld, passes given up half done %lld\n", (long long)w->f.halves,
           (long long)w->f.left);
    printf("  failed: passes %lld, saves %lld, loads %lld\n", (long long)w->f.failed_runs,
           (long long)w->f.failed_saves, (long long)w->f.failed_loads);
    world_close(w);
}

/* ------------------------------------------------------------------ the histories: a million operations */

/* The history had in it what it is about. */
static void check_history(const struct world *w)
{
    const struct plan plan = w->plan;
    const struct engine_snapshot *s = &w->last;
    CHECK(w->ends > 100 && s->reused > 0 && s->evicted_pages > 0 && w->refused[2] && w->refused[3] && w->refused[6]);
    if (plan.overcommit) CHECK(s->parkings > 20 && s->resumes > 20 && (s->recomputed > 0 || plan.park_pages));
    if (plan.park_pages) CHECK(w->f.saved > 20 && w->f.loaded > 20);
    if (plan.text < 1 << 20) CHECK(w->refused[5]);
    if (plan.drafts) CHECK(s->drafts_right > 1000 && s->drafted - s->drafts_right > 1000);
    if (plan.fail_run) CHECK(w->f.failed_runs);
    if (plan.step_rows) CHECK(w->f.halves > 1000 && w->f.left > 20);
    if (plan.fail_save) CHECK(w->f.failed_saves && w->f.failed_loads);
}

static void history(const char *name, struct plan plan, int64_t ops)
{
    struct world *w = world_open(&plan, name);
    operate(w, ops / SLOWER);
    if (SLOWER < 10) check_history(w);
    finish(w);
}

static const struct plan SOUND = {.groups = 1, .group = {{.pages = 20}}, .slots = 4, .rows = 12, .outs = 6,
                                  .ctx = 160, .text = 2 << 20, .cap = 256};

TEST(random_promises_for_the_worst_case)
{
    history("worst case", SOUND, 200000);
}

TEST(random_passes_of_several_steps)
{
    struct plan p = SOUND;
    p.rows = 48;
    p.step_rows = 7;
    p.outs = 20;
    history("several steps", p, 150000);
}

/* Over-commit where everything fails now and then. */
static struct plan failing(void)
{
    struct plan p = SOUND;
    p.overcommit = true;
    p.park_pages = 30;
    p.fail_run = 300;
    p.fail_save = 40;
    p.fail_load = 60;
    return p;
}

TEST(random_passes_of_several_steps_that_fail_and_are_parked)
{
    struct plan p = failing();
    p.rows = 64;
    p.step_rows = 9;
    p.fail_save = p.fail_load = 30; /* few are parked */
    history("several steps, failures", p, 100000);
}

TEST(random_promises_of_pages_that_come_one_by_one)
{
    struct plan p = SOUND;
    p.limited = true;
    p.ctx = 200; /* more than the pool of 12 pages */
    p.group[0].pages = 12;
    p.text = 40 << 10;
    p.cap = 4;
    history("one by one", p, 150000);
}

TEST(random_overcommit_without_room_to_park)
{
    struct plan p = SOUND;
    p.overcommit = true;
    p.slots = 6;
    history("computed again", p, 150000);
}

TEST(random_overcommit_with_little_room_to_park)
{
    struct plan p = SOUND;
    p.overcommit = true;
    p.park_pages = 6;
    p.slots = 5;
    p.rows = 40;
    p.outs = 5;
    history("little room", p, 150000);
}

TEST(random_overcommit_with_all_the_room_to_park)
{
    struct plan p = SOUND;
    p.overcommit = true;
    p.park_pages = 64;
    p.group[0].pages = 14;
    p.slots = 6;
    p.rows = 7; /* pre-fill takes long, and is parked half way */
    history("all room", p, 200000);
}

TEST(random_overcommit_where_everything_fails_now_and_then)
{
    struct plan p = failing();
    p.cap = 4;
    history("failures", p, 150000);
}

/* ------------------------------------------------------------------ groups with windows */

/* A pool that does not hold the longest context, of sequences that give back what their window has left behind: each
 * needs (23 + 12 + 14) / 16 + 1 = 4 pages at most. */
static const struct plan NARROW = {.groups = 1, .group = {{.pages = 9, .window = 24}}, .slots = 4, .rows = 12,
                                   .outs = 6, .ctx = 160, .text = 2 << 20, .cap = 256};

TEST(random_promises_of_a_window)
{
    history("window", NARROW, 150000);
}

TEST(random_promises_of_layers_with_a_window_beside_others)
{
    struct plan p = NARROW;
    p.groups = 2;
    p.group[0] = (struct kv_group){.pages = 14};
    p.group[1].pages = 12;
    p.step_rows = 5;
    history("two groups", p, 100000);
}

TEST(random_windows_whose_pages_come_one_by_one)
{
    struct plan p = NARROW;
    p.limited = true;
    p.groups = 3;
    p.group[1] = (struct kv_group){.pages = 7, .window = 2};
    p.group[2] = (struct kv_group){.pages = 12, .window = 100};
    p.ctx = 220;
    p.text = 41 << 10; /* the largest request has room */
    p.cap = 4;
    history("three groups", p, 100000);
}

TEST(random_windows_with_overcommit_and_nothing_kept)
{
    struct plan p = NARROW;
    p.overcommit = true;
    p.group[0] = (struct kv_group){.pages = 16, .window = 90};
    p.slots = 6;
    history("windows computed again", p, 150000);
}

TEST(random_windows_with_overcommit_where_everything_fails_now_and_then)
{
    struct plan p = NARROW;
    p.overcommit = true;
    p.slots = 6;
    p.groups = 2;
    p.group[0] = (struct kv_group){.pages = 12};
    p.group[1] = (struct kv_group){.pages = 11, .window = 33};
    p.park_pages = 40;
    p.fail_run = 300;
    p.fail_save = 40;
    p.fail_load = 60;
    history("windows parked", p, 150000);
}

/* ------------------------------------------------------------------ drafts */

TEST(random_drafts)
{
    struct plan p = SOUND;
    p.drafts = 7;
    p.outs = 10;
    history("drafts", p, 150000);
}

TEST(random_drafts_of_many_in_small_passes)
{
    struct plan p = SOUND;
    p.drafts = 2;
    p.slots = 4;
    p.rows = 7;
    p.outs = 5; /* fewer than rows */
    history("few drafts", p, 60000);
}

TEST(random_drafts_with_overcommit_where_everything_fails_now_and_then)
{
    struct plan p = failing();
    p.drafts = 7;
    p.outs = 10;
    history("drafts, failures", p, 150000);
}

TEST(random_drafts_with_windows)
{
    struct plan p = NARROW;
    p.groups = 2;
    p.group[0] = (struct kv_group){.pages = 14};
    p.group[1].pages = 12;
    p.drafts = 5;
    p.outs = 10;
    history("drafts, windows", p, 100000);
}

/* ------------------------------------------------------------------ readers in other threads */

struct readers {
    struct sched *s;
    pthread_mutex_t lock;        /* around `shown` alone: an answer may grow while it is read, but not be dropped */
    const struct answer *shown;
    int shows;                   /* another answer may lie where the last one lay */
    atomic_bool over;
    atomic_long snapshots, answers;
};

/* Every copy is of one moment. */
static void *read_figures(void *self)
{
    struct readers *r = self;
    struct engine_snapshot s;
    uint64_t passes = 0;
    while (!atomic_load(&r->over)) {
        uint64_t tokens = 0;
        int64_t running = 0, waiting = 0, parked = 0;
        sched_snapshot(r->s, &s);
        for (int k = 0; k < SEGMENTS; k++) tokens += s.shared_segment[k];
        CHECK_EQ(tokens, s.shared_tokens);
        for (int a = 0; a < ENGINE_AGENTS; a++) {
            for (int k = 0; k < SEGMENTS; k++) tokens += s.agent[a].tokens[k];
            running += s.agent[a].running;
            waiting += s.agent[a].waiting;
            parked += s.agent[a].parked;
        }
        CHECK_EQ(tokens, s.filled_tokens);
        CHECK(s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.usable_tokens);
        CHECK(s.usable_tokens <= s.pool_tokens && s.passes >= passes);
        CHECK(running == s.running && waiting == s.waiting && parked == s.parked);
        passes = s.passes;
        atomic_fetch_add(&r->snapshots, 1);
        sched_yield();
    }
    return NULL;
}

/* What was read of an answer stays so, and is all that the counters say. */
static void *read_answers(void *self)
{
    struct readers *r = self;
    static char text[3 * FAKE_MOST];
    size_t read = 0;
    int shows = 0;
    while (!atomic_load(&r->over)) {
        pthread_mutex_lock(&r->lock);
        const struct answer *a = r->shown;
        if (r->shows != shows) read = 0;
        shows = r->shows;
        if (a) {
            int end = atomic_load(&a->end), n = atomic_load(&a->n_tokens);
            size_t len = atomic_load(&a->text_len);
            CHECK(len >= read && len < sizeof text && memcmp(text, a->text, read) == 0);
            CHECK(end == END_NONE || n <= a->max_tokens);
            for (int i = 0; i < n; i++) CHECK(a->token[i].id >= 0 && a->token[i].id < TINY_VOCAB);
            memcpy(text + read, a->text + read, len - read);
            CHECK(memchr(text, 0, len) == NULL);
            read = len;
            atomic_fetch_add(&r->answers, 1);
        }
        pthread_mutex_unlock(&r->lock);
        sched_yield();
    }
    return NULL;
}

/* Figures that change as fast as they can, first and last words of them. */
static void hammer(struct sched *s)
{
    struct request r = {.ids = (int32_t[]){TINY_BYTE0}, .n_ids = 1, .agent = ENGINE_AGENTS - 1, .max_tokens = 1,
                        .sampling = SAMPLING_GREEDY};
    int id;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(sched_submit(s, &r, &id, NULL), 0);
        sched_drop(s, id);
    }
}

TEST(random_readers_in_other_threads_see_consistent_copies)
{
    enum { OPS = CHECK_TSAN ? 6000 : 20000, EACH = 20, LEAST = 200, HAMMERED = CHECK_TSAN ? 500 : 40000 / SLOWER };
    struct plan p = SOUND;
    pthread_t thread[3];
    p.overcommit = true;
    p.park_pages = 8;
    struct world *w = world_open(&p, "readers");
    struct readers r = {.s = w->s, .lock = PTHREAD_MUTEX_INITIALIZER};
    w->reading = &r.lock;
    w->shown = &r.shown;
    for (int i = 0; i < 3; i++) CHECK_EQ(pthread_create(&thread[i], NULL, i < 2 ? read_figures : read_answers, &r), 0);
    /* At least so many operations, and until the readers had their turns too. */
    while (w->op < OPS || atomic_load(&r.snapshots) < LEAST || atomic_load(&r.answers) < LEAST) {
        for (int i = 0; i < EACH; i++, w->op++) {
            any_operation(w, 20);
            world_check(w);
        }
        const struct one *q = &w->one[below(w, LIVE)];
        if (q->at != IN || q->a == r.shown) continue;
        pthread_mutex_lock(&r.lock);
        r.shown = q->a;
        r.shows++;
        pthread_mutex_unlock(&r.lock);
    }
    drain(w);
    for (long from = atomic_load(&r.snapshots); atomic_load(&r.snapshots) < from + HAMMERED;) hammer(w->s);
    atomic_store(&r.over, true);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    finish(w);
}

CHECK_MAIN
