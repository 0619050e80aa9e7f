/* A model whose attention has a window, through the whole engine: it keeps the window's pages and no others, and says
 * to the bit what the same weights and the same mask say when nothing is ever given back. */
#include "engine/forward.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE, WINDOW = 40, LONG = 10 * WINDOW, SEQS = 4, FRONT = 5 * P + 3, CTX = LONG + 8 };

static const struct engine_ops *const ops = &engine_local;

static const char *model_path(void)
{
    struct tiny t = TINY_LLAMA;
    t.window = WINDOW;
    return tiny_file(&t, NULL, "window.gguf");
}

static bool same_choice(const struct kern_choice *a, const struct kern_choice *b)
{
    return a->id == b->id && memcmp(&a->logprob, &b->logprob, sizeof a->logprob) == 0 &&
           memcmp(a->top_logprob, b->top_logprob, sizeof a->top_logprob) == 0;
}

/* ------------------------------------------------------------------ the truth: no scheduler, every page stays */

struct truth {
    int n, prompt;
    int32_t ids[CTX];            /* prompt, then what greedy choice made of it */
    struct kern_choice at[CTX];  /* after ids[i] */
};

struct lab {
    struct gguf *g;
    struct model m;
    struct forward f;
    const struct kern *k;
    struct kdev *d;
    void *weights, *work, *kv;
    int32_t table[CTX / P + 1];
};

static void lab_open(struct lab *l, const char *backend, enum ktype kv, int window)
{
    struct err err = {0};
    *l = (struct lab){.k = strcmp(backend, "ref") ? kern_cpu() : kern_ref(), .g = gguf_open(model_path(), &err)};
    CHECK_EQ(model_plan(&l->m, l->g, TINY_VOCAB, l->k, &err), 0);
    CHECK_EQ(l->m.window, WINDOW);
    l->m.window = window;
    CHECK_EQ(forward_plan(&l->f, &l->m, l->k, CTX, 1, 1, 1, CTX / P + 1, kv, &err), 0);
    l->d = l->k->open(&(struct kern_config){.threads = 1}, &err);
    l->weights = l->k->take(l->d, l->m.bytes, &err);
    l->work = l->k->take(l->d, l->f.work_bytes, &err);
    l->kv = l->k->take(l->d, l->f.kv_bytes, &err);
    CHECK_EQ(model_load(&l->m, l->g, l->k, l->d, l->weights, NULL, NULL, &err), 0);
    forward_attach(&l->f, l->d, l->work, l->kv);
    for (int i = 0; i <= CTX / P; i++) l->table[i] = i;
}

static void lab_close(struct lab *l)
{
    l->k->give(l->d, l->kv, l->f.kv_bytes);
    l->k->give(l->d, l->work, l->f.work_bytes);
    l->k->give(l->d, l->weights, l->m.bytes);
    l->k->close(l->d);
    model_free(&l->m);
    gguf_close(l->g);
}

/* One token after the other. */
static void lab_tell(struct lab *l, struct truth *t, int n)
{
    static const int32_t zero[1];
    const struct kern_sample sample = {.top_p = 1, .repeat = 1, .top_n = KERN_TOP, .target = -1};
    struct err err = {0};
    memset(t->at, 0, sizeof t->at);
    for (t->n = 0; t->n < n; t->n++) {
        int32_t pos = t->n;
        if (pos >= t->prompt) t->ids[pos] = t->at[pos - 1].id;
        struct pass p = {.batch = {.rows = 1, .token = &t->ids[pos], .pos = &pos, .seq = zero, .seqs = 1, .groups = 1,
                                   .table = {l->table}, .stride = CTX / P + 1, .outs = 1, .out_row = zero},
                         .sample = &sample, .choice = &t->at[pos], .parts = 1};
        CHECK_EQ(forward_run(&l->f, &p, &err), 0);
    }
}

static void tell(const char *backend, enum ktype kv, struct truth *t, int seqs, int n)
{
    static struct lab l;
    lab_open(&l, backend, kv, WINDOW);
    for (int i = 0; i < seqs; i++) lab_tell(&l, &t[i], n);
    lab_close(&l);
}

static void random_prompt(uint32_t *seed, struct truth *t, int n)
{
    t->prompt = n;
    for (int i = 0; i < n; i++) t->ids[i] = TINY_BYTE0 + tiny_below(seed, 256);
}

/* ------------------------------------------------------------------ the engine */

static struct engine *open_engine(const char *backend, enum ktype kv, struct engine_config cfg)
{
    struct err err = {0};
    cfg.model = model_path();
    cfg.backend = backend;
    cfg.kern = (struct kern_config){.threads = 2};
    cfg.kv_type = kv;
    cfg.template = -1;
    if (!cfg.ctx) cfg.ctx = CTX;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* Greedy, from the first n of t's tokens to its end. */
static int submit(struct engine *e, const struct truth *t, int n, int priority)
{
    struct err err = {0};
    int id;
    struct request r = {.ids = t->ids, .n_ids = n, .max_tokens = t->n - n, .top_n = KERN_TOP, .ignore_end = true,
                        .priority = priority, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

/* Until nothing is left to do; after each pass the books are right and nobody has more than it was promised. */
static void run(struct engine *e)
{
    const struct engine_info *i = ops->info(e);
    struct engine_event ev[64];
    struct engine_snapshot s;
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) {
        if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        ops->snapshot(e, &s);
        CHECK(s.reserved_tokens <= (uint64_t)s.running * i->kv_seq_tokens && s.filled_tokens <= s.reserved_tokens);
    }
    CHECK_STR(err.text, "");
    CHECK_EQ(s.reserved_tokens, 0);
}

/* What it said, and how sure it was of each, is the truth; how many prompt tokens needed no pre-fill. */
static int check(struct engine *e, int id, const struct truth *t)
{
    const struct answer *a = ops->answer(e, id);
    int n = atomic_load(&a->n_tokens);
    CHECK_EQ(n, t->n - a->n_prompt);
    for (int i = 0; i < n; i++) {
        struct kern_choice got = {.id = a->token[i].id, .logprob = a->token[i].logprob};
        memcpy(got.top_id, a->top[i].id, sizeof got.top_id);
        memcpy(got.top_logprob, a->top[i].logprob, sizeof got.top_logprob);
        if (!same_choice(&got, &t->at[a->n_prompt + i - 1]))
            check_fail(__FILE__, __LINE__, "token %d of %d after %d", i, n, a->n_prompt);
    }
    int shared = a->n_shared;
    ops->drop(e, id);
    return shared;
}

/* ------------------------------------------------------------------ tests */

TEST(a_token_sees_itself_and_the_window_less_one_before_it)
{
    static struct lab l;
    static struct truth all, some;
    uint32_t seed = 2;
    random_prompt(&seed, &all, LONG);
    some = all;
    lab_open(&l, "ref", KT_F32, 0);
    lab_tell(&l, &all, WINDOW + 8);
    lab_close(&l);
    tell("ref", KT_F32, &some, 1, WINDOW + 8);
    for (int i = 0; i < WINDOW + 8; i++) CHECK_EQ(same_choice(&all.at[i], &some.at[i]), i < WINDOW);
}

/* Ten windows long, in a pool that is as large as one sequence's promise: a quarter of what it would take in full. */
TEST(a_long_sequence_runs_in_a_pool_that_could_not_hold_it)
{
    static const int rows[] = {1, 3, 17, 48};
    static struct truth t;
    uint32_t seed = 3;
    random_prompt(&seed, &t, LONG / 2 + 7);
    tell("cpu", KT_F16, &t, 1, LONG);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine *e = open_engine("cpu", KT_F16, (struct engine_config){.max_seqs = 1, .max_rows = rows[i]});
        const struct engine_info *info = ops->info(e);
        int most = (WINDOW + info->max_rows + P - 1) / P + 1;
        struct engine_snapshot s;
        ops->snapshot(e, &s);
        CHECK(info->window == WINDOW && s.pool_tokens == info->kv_seq_tokens && s.pool_tokens < LONG / 2);
        CHECK(info->kv_seq_tokens <= (uint64_t)most * P);
        CHECK_EQ(info->kv_bytes, kern_cpu()->slab_bytes(s.pool_tokens * info->kv_bytes_per_token));
        CHECK_EQ(info->ledger.bytes[LEDGER_KV], info->kv_bytes);
        int id = submit(e, &t, t.prompt, 0);
        run(e);
        check(e, id, &t);
        ops->close(e);
    }
}

/* Agents with one front, longer than the window, all at once and one after the other, in a pool for two and one for
 * all; then each goes on from a place in what it said. */
static void share(const char *backend, enum ktype kv)
{
    enum { N = FRONT + 120 };
    static struct truth t[SEQS];
    uint32_t seed = 4;
    int id[SEQS], shared = 0, again = 0;
    if (CHECK_TSAN && !strcmp(backend, "ref")) SKIP("the reference has no threads");
    for (int i = 0; i < SEQS; i++) {
        random_prompt(&seed, &t[i], FRONT + 9 + 5 * i);
        memcpy(t[i].ids, t[0].ids, FRONT * sizeof(int32_t));
    }
    tell(backend, kv, t, SEQS, N);
    for (int round = 0; round < 4; round++) {
        struct engine *e = open_engine(backend, kv, (struct engine_config){.max_seqs = SEQS, .max_rows = 24,
                                                                           .pool_tokens = round % 2 ? 12 * P : 0});
        for (int i = 0; i < SEQS; i++) {
            id[i] = submit(e, &t[i], t[i].prompt, 0);
            if (round < 2) run(e);
        }
        run(e);
        for (int i = 0; i < SEQS; i++) shared += check(e, id[i], &t[i]);
        for (int i = SEQS - 1; i >= 0; i--) {
            id[i] = submit(e, &t[i], N - 3 - i, 0);
            if (round < 2) run(e);
        }
        run(e);
        for (int i = 0; i < SEQS; i++) again += check(e, id[i], &t[i]);
        ops->close(e);
    }
    printf("  %s: shared %d and %d tokens\n", backend, shared, again);
    CHECK(shared >= 4 * FRONT && again > SEQS * FRONT && shared % P == 0 && again % P == 0);
}

TEST(shared_windows_cpu_f16) { share("cpu", KT_F16); }
TEST(shared_windows_ref_f32) { share("ref", KT_F32); }

/* Short ones, promised too little, outgrow it; then the one that has a window full and less priority must make room.
 * Its pages are computed again, or, where there is room for the three of its nine that it still has, kept in host
 * memory. */
static void park(const char *backend, enum ktype kv)
{
    enum { N = 5 * WINDOW };
    static const unsigned room[] = {0, 2, 3};
    static struct truth t[SEQS];
    uint32_t seed = 5;
    int id[SEQS];
    if (CHECK_TSAN && !strcmp(backend, "ref")) SKIP("the reference has no threads");
    for (int i = 0; i < SEQS; i++) random_prompt(&seed, &t[i], i ? P + 5 : 3 * WINDOW + 3);
    tell(backend, kv, t, SEQS, N);
    for (size_t k = 0; k < COUNT_OF(room); k++) {
        const struct kern_group g = {.layers = 2, .kv_heads = 2, .head_dim = 16, .kv_type = kv};
        struct engine_config cfg = {.max_seqs = SEQS, .max_rows = 24, .overcommit = true, .pool_tokens = 15 * P,
                                    .park_bytes = room[k] * kern_cpu()->kv_page_bytes(&g)};
        struct engine *e = open_engine(backend, kv, cfg);
        struct engine_snapshot s;
        t[1].n = t[1].prompt + 1; /* it learns that answers are short */
        id[1] = submit(e, &t[1], t[1].prompt, 0);
        run(e);
        check(e, id[1], &t[1]);
        t[1].n = N;
        for (int i = 0; i < SEQS; i++) id[i] = submit(e, &t[i], t[i].prompt, i > 0);
        run(e);
        for (int i = 0; i < SEQS; i++) check(e, id[i], &t[i]);
        ops->snapshot(e, &s);
        printf("  room for %u pages: parked %llu times, %llu tokens computed again\n", room[k],
               (unsigned long long)s.parkings, (unsigned long long)s.recomputed);
        CHECK(s.parkings > 0 && s.parkings == s.resumes && s.park_used == 0);
        CHECK(room[k] == 3 ? s.recomputed == 0 : s.recomputed > (uint64_t)t[0].prompt / 2);
        ops->close(e);
    }
}

TEST(parked_windows_cpu_f16) { park("cpu", KT_F16); }
TEST(parked_windows_ref_f16) { park("ref", KT_F16); }

TEST(a_context_of_the_window_or_less_has_none)
{
    struct engine *e = open_engine("cpu", KT_F16, (struct engine_config){.ctx = WINDOW, .max_seqs = 2});
    CHECK(ops->info(e)->window == 0 && ops->info(e)->kv_seq_tokens == 3 * P);
    ops->close(e);
    e = open_engine("cpu", KT_F16, (struct engine_config){.ctx = WINDOW + 1, .max_seqs = 2, .max_rows = 3});
    CHECK(ops->info(e)->window == WINDOW && ops->info(e)->kv_seq_tokens == 3 * P);
    ops->close(e);
}

/* What goes on from a text needs pages that are long given back, so none is taken out or brought in; with a context
 * that has no window they are. */
TEST(pages_of_a_window_stay_in_the_engine)
{
    static char page[64 << 10], after[sizeof page];
    static struct truth t;
    uint32_t seed = 6;
    random_prompt(&seed, &t, WINDOW - 3);
    t.n = WINDOW;
    for (int ctx = WINDOW; ctx <= WINDOW + 1; ctx++) {
        const struct engine_name none = {0};
        bool keeps = ctx <= WINDOW;
        struct engine *e = open_engine("cpu", KT_F16, (struct engine_config){.ctx = ctx, .max_seqs = 1});
        const struct engine_info *i = ops->info(e);
        struct engine_snapshot s;
        struct err get = {0}, put = {0};
        int id = submit(e, &t, t.prompt, 0);
        run(e);
        ops->drop(e, id);
        CHECK(i->page_bytes <= sizeof page && (i->page_bytes > 0) == keeps);
        CHECK_EQ(memcmp(&i->identity, &none, sizeof none) != 0, keeps);
        memset(page, 0x5a, sizeof page);
        memcpy(after, page, sizeof page);
        CHECK_EQ(ops->page_get(e, t.ids, P, page, &get), keeps ? 0 : ENGINE_BAD_REQUEST);
        CHECK_EQ(memcmp(page, after, sizeof page) != 0, keeps);
        t.ids[P]++; /* a second page that is not known */
        CHECK_EQ(ops->page_put(e, t.ids, 2 * P, 0, page, &put), keeps ? 0 : ENGINE_BAD_REQUEST);
        t.ids[P]--;
        if (!keeps) CHECK(strstr(get.text, "a window of 40 tokens") && strstr(put.text, "a window of 40 tokens"));
        ops->snapshot(e, &s);
        CHECK_EQ(s.adopted_pages, keeps);
        ops->close(e);
    }
}

/* Policies about weights work; those that keep whole sequences are refused, unless the context has no window. */
TEST(policies_that_fail_keep_whole_sequences_and_refuse_a_window)
{
    for (enum naive_policy p = NAIVE_RESERVE; p < NAIVE_POLICIES; p++) {
        struct err err = {0};
        struct engine_config cfg = {.model = model_path(), .kern = {.threads = 1}, .kv_type = KT_F16, .ctx = CTX,
                                    .max_seqs = 2, .template = -1, .naive = p};
        struct engine *e = ops->open(&cfg, &err);
        CHECK_EQ(e != NULL, p == NAIVE_F32 || p == NAIVE_RELOAD);
        if (!e) CHECK(strstr(err.text, naive_name(p)) && strstr(err.text, "a window of 40 tokens"));
        if (e) ops->close(e);
        cfg.ctx = WINDOW;
        e = ops->open(&cfg, &err);
        CHECK(e);
        ops->close(e);
    }
}

CHECK_MAIN
