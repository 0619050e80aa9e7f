/* A model some of whose layers have a window of their own: two groups of pages, through the whole engine.  The short
 * group is never what anybody waits for, and answers are to the bit what they are when nothing is ever given back. */
#include "engine/sched_impl.h"
#include "tests/window_rig.h"

/* A full layer stands between local ones, the last is local. */
static const struct tiny GEMMA3 = {.arch = "gemma3", .layers = 8, .embd = 64, .heads = 4, .kv_heads = 1, .ff = 96,
                                   .type = KT_F32, .tied = true, .seed = 3, .window = WINDOW};
static const struct tiny GEMMA2 = {.arch = "gemma2", .layers = 3, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                   .type = KT_F32, .tied = true, .seed = 4, .window = WINDOW};

static int need(const struct engine_info *i, int tokens)
{
    return kv_need(i->local_window, i->max_rows, tokens);
}

/* ------------------------------------------------------------------ what is seen */

/* Local layers see the window, the others all: without windows the first choice that can differ does, and without the
 * full layers all would be forgotten. */
TEST(local_layers_see_their_window_and_the_others_see_all)
{
    if (CHECK_TSAN) SKIP("the reference has no threads");
    const struct tiny *models[] = {&GEMMA2, &GEMMA3};
    for (size_t k = 0; k < COUNT_OF(models); k++) {
        static struct win_lab l;
        static struct win_truth all, some, other;
        uint32_t seed = 2;
        win_prompt(&seed, &all, LONG);
        some = other = all;
        other.ids[0] ^= 1;
        win_lab_open(&l, models[k], "ref", KT_F32, 0);
        CHECK_EQ(l.f.groups, 1);
        win_lab_tell(&l, &all, 2 * WINDOW);
        win_lab_close(&l);
        win_tell(models[k], "ref", KT_F32, &some, 1, 2 * WINDOW);
        win_tell(models[k], "ref", KT_F32, &other, 1, 2 * WINDOW);
        for (int i = 0; i < 2 * WINDOW; i++) {
            CHECK_EQ(win_same(&all.at[i], &some.at[i]), i < WINDOW);
            CHECK(!win_same(&other.at[i], &some.at[i])); /* the first token is felt to the end */
        }
    }
}

/* ------------------------------------------------------------------ sizes */

TEST(a_pool_of_tokens_is_what_full_layers_keep_and_local_ones_have_room_beside_it)
{
    struct engine *e = win_open(&GEMMA3, "cpu", KT_F16, (struct engine_config){.max_seqs = 3, .max_rows = 20});
    const struct engine_info *i = engine_local.info(e);
    const struct kern_group full = {.layers = 1, .kv_heads = 1, .head_dim = 16, .kv_type = KT_F16},
                            local = {.layers = 7, .kv_heads = 1, .head_dim = 16, .kv_type = KT_F16};
    const size_t page = kern_cpu()->kv_page_bytes(&full), short_page = kern_cpu()->kv_page_bytes(&local);
    struct engine_snapshot s;
    engine_local.snapshot(e, &s);
    CHECK(i->window == 0 && i->local_window == WINDOW && i->local_layers == 7 && i->layers == 8);
    CHECK_EQ(s.pool_tokens, 3 * kv_pages_for(CTX) * P);
    CHECK_EQ(i->kv_seq_tokens, kv_pages_for(CTX) * P);
    CHECK_EQ(i->kv_bytes_per_token, page / P);
    CHECK_EQ(i->kv_local_bytes, (uint64_t)(3 * need(i, CTX)) * short_page);
    CHECK_EQ(i->kv_bytes, kern_cpu()->slab_bytes(s.pool_tokens / P * page + i->kv_local_bytes));
    CHECK_EQ(i->ledger.bytes[LEDGER_KV], i->kv_bytes);
    CHECK(2 * i->kv_local_bytes < (uint64_t)(3 * kv_pages_for(CTX)) * short_page); /* that is what all would be */
    engine_local.close(e);
}

TEST(a_context_of_the_local_window_or_less_has_one_group)
{
    struct engine *e = win_open(&GEMMA3, "cpu", KT_F16, (struct engine_config){.ctx = WINDOW, .max_seqs = 2});
    const struct engine_info *i = engine_local.info(e);
    CHECK(i->local_window == 0 && i->local_layers == 0 && i->kv_local_bytes == 0 && i->page_bytes > 0);
    engine_local.close(e);
    e = win_open(&GEMMA3, "cpu", KT_F16, (struct engine_config){.ctx = WINDOW + 1, .max_seqs = 2});
    i = engine_local.info(e);
    CHECK(i->local_window == WINDOW && i->page_bytes == 0);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ answers */

/* Ten windows long, in all kinds of passes. */
TEST(a_long_sequence_gives_back_what_local_layers_have_left_behind)
{
    static const int rows[] = {1, 3, 17, 48};
    static struct win_truth t;
    uint32_t seed = 3;
    win_prompt(&seed, &t, LONG / 2 + 7);
    win_tell(&GEMMA2, "cpu", KT_F16, &t, 1, LONG);
    for (size_t i = 0; i < (CHECK_TSAN ? 1 : COUNT_OF(rows)); i++) {
        struct engine *e = win_open(&GEMMA2, "cpu", KT_F16, (struct engine_config){.max_seqs = 1, .max_rows = rows[i]});
        int id = win_submit(e, &t, t.prompt, 0);
        win_run(e);
        win_check(e, id, &t);
        const struct kv_count c = kv_group_count(e->sched->kv, 1);
        CHECK_EQ(c.pages, need(engine_local.info(e), LONG));
        CHECK(c.evicted > 0 && c.held == 0);
        engine_local.close(e);
    }
}

/* Those who wait for their turn would be found in the one group and not in the other: nothing is taken for them. */
TEST(a_model_with_local_layers_has_room_for_those_alone_that_run)
{
    for (int kept = 0; kept < 4; kept += 3) {
        struct engine *e = win_open(&GEMMA3, "cpu", KT_F16, (struct engine_config){.max_seqs = 1, .kept_seqs = kept,
                                                                                  .max_rows = 24});
        struct engine_snapshot s;
        engine_local.snapshot(e, &s);
        CHECK_EQ(s.pool_tokens, engine_local.info(e)->kv_seq_tokens);
        engine_local.close(e);
    }
    CHECK_EQ(win_turns(&GEMMA3, "cpu", KT_F16, (struct engine_config){.max_seqs = 1, .pool_tokens = SEQS * CTX,
                                                                      .max_rows = 24}), 0);
}

/* In a pool for two the others wait for pages of the first group, and of no other. */
TEST(shared_groups_gemma3_cpu_f16) { win_share(&GEMMA3, "cpu", KT_F16, 24 * P, CHECK_TSAN ? 3 : 0); }
TEST(shared_groups_gemma2_ref_f32) { win_share(&GEMMA2, "ref", KT_F32, 24 * P, 0); }

/* Short ones, promised too little, outgrow it; then one with less priority must make room.  Its pages of both groups
 * are computed again, or kept in host memory where there is room for all. */
TEST(parked_groups_come_back_as_they_were)
{
    enum { N = 5 * WINDOW };
    static const unsigned room[] = {0, 40};
    static struct win_truth t[SEQS];
    uint32_t seed = 5;
    for (int i = 0; i < SEQS; i++) win_prompt(&seed, &t[i], i ? P + 5 : 3 * WINDOW + 3);
    win_tell(&GEMMA3, "cpu", KT_F16, t, SEQS, N);
    for (size_t k = CHECK_TSAN; k < COUNT_OF(room); k++) {
        const struct kern_group g = {.layers = 7, .kv_heads = 1, .head_dim = 16, .kv_type = KT_F16};
        const uint64_t bytes = room[k] * kern_cpu()->kv_page_bytes(&g);
        const struct engine_snapshot figures = win_park(&GEMMA3, "cpu", KT_F16, t, 26 * P, bytes);
        CHECK(room[k] ? figures.recomputed == 0 : figures.recomputed > 0);
    }
}

/* What over-commit holds back for those that run is of the first group: the others have room for all. */
TEST(local_layers_keep_nobody_out_under_overcommit)
{
    static struct win_truth t[SEQS];
    uint32_t seed = 7;
    struct engine_event ev[64];
    struct engine_snapshot s;
    struct err err = {0};
    int id[SEQS];
    int64_t most = 0;
    const struct engine_config cfg = {.max_seqs = SEQS, .max_rows = 16, .overcommit = true};
    struct engine *e = win_open(&GEMMA3, "cpu", KT_F16, cfg);
    for (int i = 0; i < SEQS; i++) {
        win_prompt(&seed, &t[i], 3 * WINDOW + i);
        t[i].n = t[i].prompt + 30;
        id[i] = win_submit(e, &t[i], t[i].prompt, 0);
    }
    while (engine_local.step(e, ev, 64, &err) > 0) {
        engine_local.snapshot(e, &s);
        most = MAX(most, s.running);
    }
    CHECK_STR(err.text, "");
    CHECK(most == SEQS && s.parkings == 0);
    for (int i = 0; i < SEQS; i++) engine_local.drop(e, id[i]);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ what is refused */

TEST(pages_of_several_groups_stay_in_the_engine) { win_page_stays(&GEMMA2, "a window of 40 tokens in some layers"); }

TEST(policies_that_keep_whole_sequences_refuse_local_windows_too) { win_policies(&GEMMA2); }

CHECK_MAIN
