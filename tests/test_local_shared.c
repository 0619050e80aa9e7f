/* Prefix sharing through the whole engine: what begins like something known is not computed again, and not a bit of the
 * answer shows it. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { AGENTS = 6, FRONT = 5 * KERN_PAGE + 3, MOST = 200, NEW = 20, TURNS = 4 };

static const struct engine_ops *const ops = &engine_local;

struct said { /* to the bit */
    struct engine_token token[NEW];
    struct engine_top top[NEW];
};

static struct engine *open_engine(const char *isa, int pool, int seqs)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "shared.gguf"), .kern = {.isa = isa, .threads = 2},
                                .kv_type = KT_F16, .max_rows = 48, .ctx = 256, .max_seqs = seqs, .template = -1,
                                .pool_tokens = (uint64_t)pool};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static int submit(struct engine *e, const int32_t *ids, int n, bool fresh)
{
    struct err err = {0};
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = NEW, .top_n = KERN_TOP, .ignore_end = true,
                        .fresh = fresh,
                        .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
    int id;
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
}

/* The answer of a request that has ended, which is then dropped; how many prompt tokens it shared. */
static int take(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    CHECK_EQ(atomic_load(&a->n_prefilled), a->n_prompt);
    memset(out, 0, sizeof *out);
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
    int shared = a->n_shared;
    ops->drop(e, id);
    return shared;
}

static void random_ids(uint32_t *seed, int32_t *ids, int n)
{
    for (int i = 0; i < n; i++) ids[i] = TINY_BYTE0 + tiny_below(seed, 256);
}

TEST(shared_a_conversation_pre_fills_only_what_is_new)
{
    static int32_t ids[MOST];
    static struct said with, without;
    uint32_t seed = 1;
    int n = 37, known = 0;
    struct engine *e = open_engine(NULL, 0, 2), *plain = open_engine(NULL, 0, 2);
    random_ids(&seed, ids, n);
    for (int turn = 0; turn < TURNS; turn++) {
        int id = submit(e, ids, n, false), twin = submit(plain, ids, n, true);
        run(e);
        run(plain);
        CHECK_EQ(take(e, id, &with), known);
        CHECK_EQ(take(plain, twin, &without), 0);
        CHECK_MEM(&with, &without, sizeof with);
        int computed = n + NEW - 1; /* the last token of the answer was chosen, and not looked at yet */
        for (int i = 0; i < NEW; i++) ids[n++] = with.token[i].id;
        random_ids(&seed, ids + n, 7);
        n += 7;
        known = computed / KERN_PAGE * KERN_PAGE;
    }
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK(s.reused > 0 && s.cached_tokens > 0 && s.reserved_tokens == 0);
    CHECK_EQ(s.prefilled + s.reused, (uint64_t)(37 + 64 + 91 + 118));
    ops->close(e);
    ops->close(plain);
}

static void check_isa(const char *isa)
{
    static int32_t ids[AGENTS][MOST];
    static struct said alone[AGENTS], now;
    struct err err = {0};
    struct kdev *d = kern_cpu()->open(&(struct kern_config){.isa = isa, .threads = 1}, &err);
    if (!d) SKIP("this machine cannot: %s", err.text);
    kern_cpu()->close(d);
    uint32_t seed = 9;
    int n[AGENTS], id[AGENTS];
    random_ids(&seed, ids[0], FRONT);
    struct engine *plain = open_engine(isa, 0, 1);
    for (int a = 0; a < AGENTS; a++) {
        memcpy(ids[a], ids[0], FRONT * sizeof(int32_t));
        n[a] = FRONT + 1 + tiny_below(&seed, 40);
        random_ids(&seed, ids[a] + FRONT, n[a] - FRONT);
        id[a] = submit(plain, ids[a], n[a], true);
        run(plain);
        take(plain, id[a], &alone[a]);
    }
    ops->close(plain);
    /* Agents with one front come in company and one by one, over a pool that holds all, and one that must evict. */
    for (int round = 0; round < 6; round++) {
        struct engine *e = open_engine(isa, round % 2 ? 16 * KERN_PAGE : 0, AGENTS);
        struct engine_event ev[64];
        int shared = 0;
        for (int a = 0; a < AGENTS; a++) {
            id[a] = submit(e, ids[a], n[a], false);
            for (int steps = tiny_below(&seed, 12); steps > 0; steps--) ops->step(e, ev, 64, &err);
        }
        run(e);
        for (int a = 0; a < AGENTS; a++) {
            shared += take(e, id[a], &now);
            CHECK_MEM(&now, &alone[a], sizeof now);
        }
        CHECK(shared > 0 && shared % KERN_PAGE == 0);
        ops->close(e);
    }
}

TEST(shared_pages_change_no_bit_portable) { check_isa("portable"); }
TEST(shared_pages_change_no_bit_avx2) { check_isa("avx2"); }
TEST(shared_pages_change_no_bit_avxvnni) { check_isa("avxvnni"); }
TEST(shared_pages_change_no_bit_avx512) { check_isa("avx512"); }

TEST(shared_agents_that_come_at_once_compute_their_front_once)
{
    static int32_t ids[AGENTS][MOST];
    static struct said alone[AGENTS], now;
    uint32_t seed = 11;
    int id[AGENTS], shared = 0;
    uint64_t all = 0;
    struct engine *plain = open_engine(NULL, 0, 1), *e = open_engine(NULL, 0, AGENTS);
    random_ids(&seed, ids[0], FRONT);
    for (int a = 0; a < AGENTS; a++) {
        memcpy(ids[a], ids[0], FRONT * sizeof(int32_t));
        random_ids(&seed, ids[a] + FRONT, 30);
        id[a] = submit(plain, ids[a], FRONT + 30, true);
        run(plain);
        take(plain, id[a], &alone[a]);
        all += FRONT + 30;
    }
    for (int a = 0; a < AGENTS; a++) id[a] = submit(e, ids[a], FRONT + 30, false);
    run(e);
    for (int a = 0; a < AGENTS; a++) {
        shared += take(e, id[a], &now);
        CHECK_MEM(&now, &alone[a], sizeof now);
    }
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(shared, (AGENTS - 1) * (FRONT / KERN_PAGE * KERN_PAGE));
    CHECK_EQ(s.prefilled, all - (uint64_t)shared);
    ops->close(plain);
    ops->close(e);
}

TEST(shared_scores_are_computed_in_full)
{
    static int32_t ids[MOST];
    struct engine_event ev[64];
    struct err err = {0};
    uint32_t seed = 4;
    struct engine *e = open_engine(NULL, 0, 1);
    random_ids(&seed, ids, 100);
    for (int turn = 0; turn < 2; turn++) {
        int id;
        struct request r = {.ids = ids, .n_ids = 100, .score = true, .sampling = SAMPLING_GREEDY};
        CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
        while (ops->step(e, ev, 64, &err) > 0) continue;
        const struct answer *a = ops->answer(e, id);
        CHECK_EQ(a->n_shared, 0);
        for (int i = 1; i < 100; i++) CHECK(a->prompt_logprob[i] < 0);
        ops->drop(e, id);
    }
    ops->close(e);
}

CHECK_MAIN
