/* A model whose attention has a window, through the whole engine: it keeps the window's pages and no others, and says
 * to the bit what the same weights and the same mask say when nothing is ever given back. */
#include "tests/window_rig.h"

static const struct tiny MODEL = {.arch = "llama", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                  .type = KT_F32, .seed = 1, .window = WINDOW};

TEST(a_token_sees_itself_and_the_window_less_one_before_it)
{
    static struct win_lab l;
    static struct win_truth all, some;
    uint32_t seed = 2;
    win_prompt(&seed, &all, LONG);
    some = all;
    win_lab_open(&l, &MODEL, "ref", KT_F32, 0);
    win_lab_tell(&l, &all, WINDOW + 8);
    win_lab_close(&l);
    win_tell(&MODEL, "ref", KT_F32, &some, 1, WINDOW + 8);
    for (int i = 0; i < WINDOW + 8; i++) CHECK_EQ(win_same(&all.at[i], &some.at[i]), i < WINDOW);
}

/* Ten windows long, in a pool that is as large as one sequence's promise: a quarter of what it would take in full. */
TEST(a_long_sequence_runs_in_a_pool_that_could_not_hold_it)
{
    static const int rows[] = {1, 3, 17, 48};
    static struct win_truth t;
    uint32_t seed = 3;
    win_prompt(&seed, &t, LONG / 2 + 7);
    win_tell(&MODEL, "cpu", KT_F16, &t, 1, LONG);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine *e = win_open(&MODEL, "cpu", KT_F16, (struct engine_config){.max_seqs = 1, .max_rows = rows[i]});
        const struct engine_info *info = engine_local.info(e);
        int most = (WINDOW + info->max_rows + P - 1) / P + 1;
        struct engine_snapshot s;
        engine_local.snapshot(e, &s);
        CHECK(info->window == WINDOW && s.pool_tokens == info->kv_seq_tokens && s.pool_tokens < LONG / 2);
        CHECK(info->kv_seq_tokens <= (uint64_t)most * P);
        CHECK_EQ(info->kv_bytes, kern_cpu()->slab_bytes(s.pool_tokens * info->kv_bytes_per_token));
        CHECK_EQ(info->ledger.bytes[LEDGER_KV], info->kv_bytes);
        CHECK_EQ(engine_promised(info, LONG), s.pool_tokens);
        CHECK_EQ(engine_promised(info, P + 1), 2 * P);
        CHECK_EQ(engine_longest(info, s.pool_tokens), info->ctx);
        CHECK_EQ(engine_longest(info, s.pool_tokens - P), s.pool_tokens - P); /* a page too few for a window in full */
        int id = win_submit(e, &t, t.prompt, 0);
        win_run(e);
        win_check(e, id, &t);
        engine_local.close(e);
    }
}

/* A crew's agents: one speaks, the others wait.  Their pages are kept as far as there is room, and keep nobody out. */
TEST(conversations_that_take_turns_are_kept_where_there_is_room)
{
    struct engine_config cfg = {.max_seqs = 1, .kept_seqs = SEQS, .max_rows = 24};
    struct engine *e = win_open(&MODEL, "cpu", KT_F16, cfg);
    const uint64_t whole = ledger_under(&engine_local.info(e)->ledger);
    const uint64_t alone = engine_local.info(e)->kv_seq_tokens, bytes = engine_local.info(e)->kv_bytes_per_token;
    struct engine_snapshot s;
    engine_local.snapshot(e, &s);
    CHECK_EQ(s.pool_tokens, SEQS * kv_pages_for(CTX) * P);
    engine_local.close(e);
    CHECK(win_turns(&MODEL, "cpu", KT_F16, cfg) > 0);
    for (int i = 0; i < 3; i++) { /* a page too little; half of it; nothing beside the one that speaks */
        const uint64_t less = i == 0 ? 1 : (s.pool_tokens - alone) * bytes / (i == 1 ? 2 : 1);
        cfg.vram = whole - less;
        e = win_open(&MODEL, "cpu", KT_F16, cfg);
        const struct engine_info *info = engine_local.info(e);
        struct engine_snapshot now;
        engine_local.snapshot(e, &now);
        CHECK(ledger_fits(&info->ledger) && info->ctx == CTX && info->kv_seq_tokens == alone);
        CHECK(now.pool_tokens < s.pool_tokens && now.pool_tokens >= alone);
        CHECK(now.pool_tokens + 2 * P + less / bytes + (4096 + 64) / bytes >= s.pool_tokens); /* no less than it must */
        engine_local.close(e);
    }
    struct err err = {0};
    cfg.vram = whole - (s.pool_tokens - alone + P) * bytes - (8 << 10);
    cfg.model = win_file(&MODEL);
    cfg.ctx = CTX;
    cfg.template = -1;
    cfg.kern.threads = 2;
    CHECK(!engine_local.open(&cfg, &err) && err.code == ENGINE_NEVER_FITS);
}

TEST(shared_windows_cpu_f16) { win_share(&MODEL, "cpu", KT_F16, 12 * P, 0); }
TEST(shared_windows_ref_f32) { win_share(&MODEL, "ref", KT_F32, 12 * P, 0); }

/* Short ones, promised too little, outgrow it; then the one that has a window full and less priority must make room.
 * Its pages are computed again, or, where there is room for the three of its nine that it still has, kept in host
 * memory. */
static void park(const char *backend, enum ktype kv)
{
    enum { N = 5 * WINDOW };
    static const unsigned room[] = {0, 2, 3};
    static struct win_truth t[SEQS];
    uint32_t seed = 5;
    if (CHECK_TSAN && !strcmp(backend, "ref")) SKIP("the reference has no threads");
    for (int i = 0; i < SEQS; i++) win_prompt(&seed, &t[i], i ? P + 5 : 3 * WINDOW + 3);
    win_tell(&MODEL, backend, kv, t, SEQS, N);
    for (size_t k = 0; k < COUNT_OF(room); k++) {
        const struct kern_group g = {.layers = 2, .kv_heads = 2, .head_dim = 16, .kv_type = kv};
        const uint64_t bytes = room[k] * kern_cpu()->kv_page_bytes(&g);
        const struct engine_snapshot figures = win_park(&MODEL, backend, kv, t, 15 * P, bytes);
        CHECK(room[k] == 3 ? figures.recomputed == 0 : figures.recomputed > (uint64_t)t[0].prompt / 2);
    }
}

TEST(parked_windows_cpu_f16) { park("cpu", KT_F16); }
TEST(parked_windows_ref_f16) { park("ref", KT_F16); }

TEST(a_context_of_the_window_or_less_has_none)
{
    struct engine *e = win_open(&MODEL, "cpu", KT_F16, (struct engine_config){.ctx = WINDOW, .max_seqs = 2});
    CHECK(engine_local.info(e)->window == 0 && engine_local.info(e)->kv_seq_tokens == 3 * P);
    engine_local.close(e);
    e = win_open(&MODEL, "cpu", KT_F16, (struct engine_config){.ctx = WINDOW + 1, .max_seqs = 2, .max_rows = 3});
    CHECK(engine_local.info(e)->window == WINDOW && engine_local.info(e)->kv_seq_tokens == 3 * P);
    engine_local.close(e);
}

/* What goes on from a text needs pages that are long given back, so none is taken out or brought in; with a context
 * that has no window they are. */
TEST(pages_of_a_window_stay_in_the_engine)
{
    static char page[64 << 10], after[sizeof page];
    static struct win_truth t;
    uint32_t seed = 6;
    win_prompt(&seed, &t, WINDOW - 3);
    t.n = WINDOW;
    for (int ctx = WINDOW; ctx <= WINDOW + 1; ctx++) {
        const struct engine_name none = {0};
        bool keeps = ctx <= WINDOW;
        struct engine *e = win_open(&MODEL, "cpu", KT_F16, (struct engine_config){.ctx = ctx, .max_seqs = 1});
        const struct engine_info *i = engine_local.info(e);
        struct engine_snapshot s;
        struct err get = {0}, put = {0};
        int id = win_submit(e, &t, t.prompt, 0);
        win_run(e);
        engine_local.drop(e, id);
        CHECK(i->page_bytes <= sizeof page && (i->page_bytes > 0) == keeps);
        CHECK_EQ(memcmp(&i->identity, &none, sizeof none) != 0, keeps);
        memset(page, 0x5a, sizeof page);
        memcpy(after, page, sizeof page);
        CHECK_EQ(engine_local.page_get(e, t.ids, P, page, &get), keeps ? 0 : ENGINE_BAD_REQUEST);
        CHECK_EQ(memcmp(page, after, sizeof page) != 0, keeps);
        t.ids[P]++; /* a second page that is not known */
        CHECK_EQ(engine_local.page_put(e, t.ids, 2 * P, 0, page, &put), keeps ? 0 : ENGINE_BAD_REQUEST);
        t.ids[P]--;
        if (!keeps) CHECK(strstr(get.text, "a window of 40 tokens") && strstr(put.text, "a window of 40 tokens"));
        engine_local.snapshot(e, &s);
        CHECK_EQ(s.adopted_pages, keeps);
        engine_local.close(e);
    }
}

TEST(policies_that_fail_keep_whole_sequences_and_refuse_a_window) { win_policies(&MODEL); }

CHECK_MAIN
