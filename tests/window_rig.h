/* window_rig.h - tests of models whose attention has a window: what is true, by a forward pass that keeps every page,
 * and the engine, which does not.  Source, not interface: helpers are in all tests, and this needs the whole engine. */
#ifndef WINDOW_RIG_H
#define WINDOW_RIG_H
#include "engine/forward.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/forward_keep.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE, WINDOW = 40, LONG = 10 * WINDOW, SEQS = 4, FRONT = 5 * P + 3, CTX = LONG + 8 };

struct win_truth {
    int n, prompt;
    int32_t ids[CTX];            /* prompt, then what greedy choice made of it */
    struct kern_choice at[CTX];  /* after ids[i] */
};

struct win_lab {
    struct gguf *g;
    struct model m;
    struct forward f;
    const struct kern *k;
    struct kdev *d;
    void *weights, *work, *kv;
    int32_t table[CTX / P + 1]; /* of all groups */
};

static const char *win_file(const struct tiny *t) { return tiny_file(t, NULL, "window.gguf"); }

/* To the bit. */
static bool win_same(const struct kern_choice *a, const struct kern_choice *b)
{
    return a->id == b->id && memcmp(&a->logprob, &b->logprob, sizeof a->logprob) == 0 &&
           memcmp(a->top_logprob, b->top_logprob, sizeof a->top_logprob) == 0;
}

/* No scheduler, one thread; window: in place of the model's, 0: none. */
static void win_lab_open(struct win_lab *l, const struct tiny *t, const char *backend, enum ktype kv, int window)
{
    struct err err = {0};
    *l = (struct win_lab){.k = strcmp(backend, "ref") ? kern_cpu() : kern_ref(), .g = gguf_open(win_file(t), &err)};
    CHECK_EQ(model_plan(&l->m, l->g, TINY_VOCAB, l->k, &err), 0);
    if (l->m.local_window != KV_STATES) {
        CHECK_EQ(l->m.window + l->m.local_window, t->window);
        if (l->m.window) l->m.window = window;
        else l->m.local_window = window;
    }
    CHECK_EQ(forward_plan(&l->f, &l->m, l->k, CTX, 1, 1, 1, CTX / P + 1, kv, &err), 0);
    forward_keep_all(&l->f, CTX / P + 1);
    l->d = l->k->open(&(struct kern_config){.threads = 1}, &err);
    l->weights = l->k->take(l->d, l->m.bytes, &err);
    l->work = l->k->take(l->d, l->f.work_bytes, &err);
    l->kv = l->k->take(l->d, l->f.kv_bytes, &err);
    CHECK_EQ(model_load(&l->m, l->g, l->k, l->d, l->weights, NULL, NULL, &err), 0);
    forward_attach(&l->f, l->d, l->work, l->kv);
    for (int i = 0; i <= CTX / P; i++) l->table[i] = i;
}

static void win_lab_close(struct win_lab *l)
{
    l->k->give(l->d, l->kv, l->f.kv_bytes);
    l->k->give(l->d, l->work, l->f.work_bytes);
    l->k->give(l->d, l->weights, l->m.bytes);
    l->k->close(l->d);
    model_free(&l->m);
    gguf_close(l->g);
}

/* n tokens, one after the other. */
static void win_lab_tell(struct win_lab *l, struct win_truth *t, int n)
{
    static const int32_t zero[1];
    const struct kern_sample sample = {.top_p = 1, .repeat = 1, .top_n = KERN_TOP, .target = -1};
    struct err err = {0};
    memset(t->at, 0, sizeof t->at);
    for (t->n = 0; t->n < n; t->n++) {
        int32_t pos = t->n;
        if (pos >= t->prompt) t->ids[pos] = t->at[pos - 1].id;
        struct pass p = {.batch = {.rows = 1, .token = &t->ids[pos], .pos = &pos, .seq = zero, .seqs = 1,
                                   .groups = l->f.groups, .table = {l->table, l->table},
                                   .stride = CTX / P + 1, .outs = 1, .out_row = zero},
                         .sample = &sample, .choice = &t->at[pos], .parts = 1};
        CHECK_EQ(forward_run(&l->f, &p, &err), 0);
    }
}

static void win_tell(const struct tiny *m, const char *backend, enum ktype kv, struct win_truth *t, int seqs, int n)
{
    static struct win_lab l;
    win_lab_open(&l, m, backend, kv, WINDOW);
    for (int i = 0; i < seqs; i++) win_lab_tell(&l, &t[i], n);
    win_lab_close(&l);
}

static void win_prompt(uint32_t *seed, struct win_truth *t, int n)
{
    t->prompt = n;
    for (int i = 0; i < n; i++) t->ids[i] = TINY_BYTE0 + tiny_below(seed, 256);
}

/* ------------------------------------------------------------------ the engine */

static struct engine *win_open(const struct tiny *m, const char *backend, enum ktype kv, struct engine_config cfg)
{
    struct err err = {0};
    cfg.model = win_file(m);
    cfg.backend = backend;
    cfg.kern = (struct kern_config){.threads = 2};
    cfg.kv_type = kv;
    cfg.template = -1;
    if (!cfg.ctx) cfg.ctx = CTX;
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* Greedy, from the first n of t's tokens to its end. */
static int win_submit(struct engine *e, const struct win_truth *t, int n, int priority)
{
    struct err err = {0};
    int id;
    struct request r = {.ids = t->ids, .n_ids = n, .max_tokens = t->n - n, .top_n = KERN_TOP, .ignore_end = true,
                        .priority = priority, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(engine_local.submit(e, &r, &id, &err), 0);
    return id;
}

/* Until nothing is left to do; after each pass the books are right and nobody has more than it was promised. */
static void win_run(struct engine *e)
{
    const struct engine_info *i = engine_local.info(e);
    struct engine_event ev[64];
    struct engine_snapshot s;
    struct err err = {0};
    while (engine_local.step(e, ev, 64, &err) > 0) {
        if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        engine_local.snapshot(e, &s);
        CHECK(s.reserved_tokens <= (uint64_t)s.running * i->kv_seq_tokens && s.filled_tokens <= s.reserved_tokens);
    }
    CHECK_STR(err.text, "");
    CHECK_EQ(s.reserved_tokens, 0);
}

/* What it said, and how sure it was of each, is the truth; how many prompt tokens needed no pre-fill. */
static int win_check(struct engine *e, int id, const struct win_truth *t)
{
    const struct answer *a = engine_local.answer(e, id);
    int n = atomic_load(&a->n_tokens);
    CHECK_EQ(n, t->n - a->n_prompt);
    for (int i = 0; i < n; i++) {
        struct kern_choice got = {.id = a->token[i].id, .logprob = a->token[i].logprob};
        memcpy(got.top_id, a->top[i].id, sizeof got.top_id);
        memcpy(got.top_logprob, a->top[i].logprob, sizeof got.top_logprob);
        if (!win_same(&got, &t->at[a->n_prompt + i - 1]))
            check_fail(__FILE__, __LINE__, "token %d of %d after %d", i, n, a->n_prompt);
    }
    int shared = a->n_shared;
    engine_local.drop(e, id);
    return shared;
}
/* Agents with one front, longer than the window, one after the other and (rounds 2, 3) all at once, in one pool for all
 * and (1, 3) in one of so many tokens; then each goes on from a place in what it said. */
static void win_share(const struct tiny *m, const char *backend, enum ktype kv, uint64_t pool, int first)
{
    enum { N = FRONT + 120 };
    static struct win_truth t[SEQS];
    uint32_t seed = 4;
    int id[SEQS], shared = 0, again = 0;
    if (CHECK_TSAN && !strcmp(backend, "ref")) SKIP("the reference has no threads");
    for (int i = 0; i < SEQS; i++) {
        win_prompt(&seed, &t[i], FRONT + 9 + 5 * i);
        memcpy(t[i].ids, t[0].ids, FRONT * sizeof(int32_t));
    }
    win_tell(m, backend, kv, t, SEQS, N);
    for (int round = first; round < 4; round++) {
        struct engine *e = win_open(m, backend, kv, (struct engine_config){.max_seqs = SEQS, .max_rows = 24,
                                                                           .pool_tokens = round % 2 ? pool : 0});
        for (int i = 0; i < SEQS; i++) {
            id[i] = win_submit(e, &t[i], t[i].prompt, 0);
            if (round < 2) win_run(e);
        }
        win_run(e);
        for (int i = 0; i < SEQS; i++) shared += win_check(e, id[i], &t[i]);
        for (int i = SEQS - 1; i >= 0; i--) {
            id[i] = win_submit(e, &t[i], N - 3 - i, 0);
            if (round < 2) win_run(e);
        }
        win_run(e);
        for (int i = 0; i < SEQS; i++) again += win_check(e, id[i], &t[i]);
        engine_local.close(e);
    }
    printf("  %s: shared %d and %d tokens\n", backend, shared, again);
    CHECK(shared >= (4 - first) * FRONT && again > SEQS * FRONT / (1 + first) && shared % P == 0 && again % P == 0);
}

/* Conversations that take turns, one call at a time: how many tokens of those that each had computed were known still
 * when its turn came again, all of them or none. */
static __attribute__((unused)) int win_turns(const struct tiny *m, const char *backend, enum ktype kv,
                                             struct engine_config cfg)
{
    enum { N = 5 * WINDOW, TURN = 20, TURNS = 3 };
    static struct win_truth t[SEQS];
    uint32_t seed = 8;
    int known = 0, all = 0;
    for (int i = 0; i < SEQS; i++) win_prompt(&seed, &t[i], 2 * WINDOW + 7 * i);
    win_tell(m, backend, kv, t, SEQS, N);
    struct engine *e = win_open(m, backend, kv, cfg);
    for (int i = 0; i < SEQS * TURNS; i++) {
        struct win_truth *w = &t[i % SEQS];
        const int prompt = w->prompt + i / SEQS * TURN;
        w->n = prompt + TURN;
        int id = win_submit(e, w, prompt, 0);
        win_run(e);
        if (i >= SEQS) all += (prompt - 1) / P * P;
        known += win_check(e, id, w);
    }
    engine_local.close(e);
    CHECK(known == 0 || known == all);
    return known;
}

/* Short ones, promised too little, outgrow it in a pool of so many tokens; then one with less priority must make room.
 * What they say is the truth all the same; returned are the figures at the end. */
static __attribute__((unused)) struct engine_snapshot win_park(const struct tiny *m, const char *backend, enum ktype kv,
                                                               struct win_truth *t, uint64_t pool, uint64_t park_bytes)
{
    const struct engine_config cfg = {.max_seqs = SEQS, .max_rows = 24, .overcommit = true, .pool_tokens = pool,
                                      .park_bytes = park_bytes};
    struct engine *e = win_open(m, backend, kv, cfg);
    struct engine_snapshot s;
    int id[SEQS], n = t[1].n;
    t[1].n = t[1].prompt + 1; /* it learns that answers are short */
    id[1] = win_submit(e, &t[1], t[1].prompt, 0);
    win_run(e);
    win_check(e, id[1], &t[1]);
    t[1].n = n;
    for (int i = 0; i < SEQS; i++) id[i] = win_submit(e, &t[i], t[i].prompt, i > 0);
    win_run(e);
    for (int i = 0; i < SEQS; i++) win_check(e, id[i], &t[i]);
    engine_local.snapshot(e, &s);
    printf("  %llu bytes to park in: parked %llu times, %llu tokens computed again\n", (unsigned long long)park_bytes,
           (unsigned long long)s.parkings, (unsigned long long)s.recomputed);
    CHECK(s.parkings > 0 && s.parkings == s.resumes && s.park_used == 0);
    engine_local.close(e);
    return s;
}

/* Pages of such a model cannot leave the engine: it says so with this word. */
static __attribute__((unused)) void win_page_stays(const struct tiny *m, const char *word)
{
    static char page[64 << 10];
    static struct win_truth t;
    uint32_t seed = 6;
    struct err err = {0};
    win_prompt(&seed, &t, WINDOW + 20);
    t.n = WINDOW + 22;
    struct engine *e = win_open(m, "cpu", KT_F16, (struct engine_config){.max_seqs = 1});
    CHECK_EQ(engine_local.info(e)->page_bytes, 0);
    int id = win_submit(e, &t, t.prompt, 0);
    win_run(e);
    engine_local.drop(e, id);
    CHECK_EQ(engine_local.page_get(e, t.ids, P, page, &err), ENGINE_BAD_REQUEST);
    CHECK(strstr(err.text, word));
    engine_local.close(e);
}

/* Policies about weights work; those that keep whole sequences are refused, unless the context has no window. */
static __attribute__((unused)) void win_policies(const struct tiny *m)
{
    for (enum naive_policy p = NAIVE_RESERVE; p < NAIVE_POLICIES; p++) {
        struct err err = {0};
        struct engine_config cfg = {.model = win_file(m), .kern = {.threads = 1}, .kv_type = KT_F16, .ctx = CTX,
                                    .max_seqs = 2, .template = -1, .naive = p};
        struct engine *e = engine_local.open(&cfg, &err);
        CHECK_EQ(e != NULL, p == NAIVE_F32 || p == NAIVE_RELOAD);
        if (!e) CHECK(strstr(err.text, naive_name(p)) && strstr(err.text, "a window of 40 tokens"));
        if (e) engine_local.close(e);
        cfg.ctx = WINDOW;
        e = engine_local.open(&cfg, &err);
        CHECK(e);
        engine_local.close(e);
    }
}
#endif
