/* A model most of whose layers keep a state instead of keys and values, through the whole engine: answers are to the
 * bit what a forward pass by itself says, whoever shares what with whom, and states are counted with the KV. */
#include "engine/sched_impl.h"
#include "kernels/state.h"
#include "tests/window_rig.h"

/* Six layers keep a state, two have attention, the last is one of them. */
static const struct tiny DELTA = {.arch = "qwen35", .layers = 8, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 96,
                                  .type = KT_F32, .tied = true, .seed = 3};
static const struct tiny DELTA_Q8 = {.arch = "qwen35", .layers = 5, .embd = 64, .heads = 2, .kv_heads = 2, .ff = 64,
                                     .type = KT_Q8_0, .seed = 4};

/* The same with a mixture of experts, and one beside it that all tokens go through. */
static const struct tiny MIXED = {.arch = "qwen35moe", .layers = 4, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 32,
                                  .type = KT_Q8_0, .tied = true, .seed = 5, .experts = 5, .used = 2, .shared = 96};

/* Its value heads lie by their key heads. */
static const struct tiny NEXT = {.arch = "qwen3next", .layers = 4, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 64,
                                 .type = KT_Q8_0, .seed = 6, .experts = 4, .used = 2, .shared = 32};

/* Short convolutions, in four layers of six. */
static const struct tiny LFM = {.arch = "lfm2", .layers = 6, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                .type = KT_F32, .tied = true, .seed = 7};
static const struct tiny LFM_Q8 = {.arch = "lfm2", .layers = 4, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 64,
                                   .type = KT_Q8_0, .seed = 8};

/* ------------------------------------------------------------------ sizes */

TEST(states_are_beside_the_pool_of_tokens_and_in_the_ledger)
{
    struct engine *e = win_open(&DELTA, "cpu", KT_F16, (struct engine_config){.max_seqs = 3, .max_rows = 20});
    const struct engine_info *i = engine_local.info(e);
    const struct kern_group full = {.layers = 2, .kv_heads = 1, .head_dim = 32, .kv_type = KT_F16};
    const size_t channels = (2 * TINY_KEYS + TINY_VALUES) * TINY_STATE;
    const size_t state = 6 * sizeof(float) * ((TINY_TAPS - 1) * channels + TINY_VALUES * TINY_STATE * TINY_STATE);
    const size_t page = kern_cpu()->kv_page_bytes(&full);
    struct engine_snapshot s;
    engine_local.snapshot(e, &s);
    CHECK(i->window == 0 && i->states && i->local_window == 0 && i->local_layers == 6 && i->layers == 8);
    CHECK_EQ(s.pool_tokens, 3 * kv_pages_for(CTX) * P);
    CHECK_EQ(i->kv_bytes_per_token, page / P);
    CHECK_EQ(i->kv_local_bytes, 3 * KV_STATE_PAGES * state);
    CHECK_EQ(i->kv_bytes, kern_cpu()->slab_bytes(s.pool_tokens / P * page + i->kv_local_bytes));
    CHECK_EQ(i->ledger.bytes[LEDGER_KV], i->kv_bytes);
    engine_local.close(e);
}

/* Of a convolution they are its last values alone, and a page of them is no larger for a longer context. */
TEST(states_of_short_convolutions_are_a_few_values_of_each_channel)
{
    struct engine *e = win_open(&LFM, "cpu", KT_F16, (struct engine_config){.max_seqs = 3, .max_rows = 20});
    const struct engine_info *i = engine_local.info(e);
    const struct kern_group full = {.layers = 2, .kv_heads = 2, .head_dim = 16, .kv_type = KT_F16};
    struct engine_snapshot s;
    engine_local.snapshot(e, &s);
    CHECK(i->window == 0 && i->states && i->local_window == 0 && i->local_layers == 4 && i->layers == 6);
    CHECK_EQ(i->kv_local_bytes, 3 * KV_STATE_PAGES * 4 * (TINY_CACHE - 1) * 64 * sizeof(float));
    CHECK_EQ(i->kv_bytes_per_token, kern_cpu()->kv_page_bytes(&full) / P);
    CHECK_EQ(i->kv_bytes, kern_cpu()->slab_bytes(s.pool_tokens * i->kv_bytes_per_token + i->kv_local_bytes));
    CHECK_EQ(i->ledger.bytes[LEDGER_KV], i->kv_bytes);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ answers */

/* Under a sanitizer the last round of win_share(), or the last two. */
enum { LATER = CHECK_TSAN ? 3 : CHECK_SANITIZED ? 2 : 0 };

TEST(a_long_sequence_keeps_four_states_whatever_its_passes)
{
    static const int rows[] = {1, 3, 17, 48, 200};
    static struct win_truth t;
    uint32_t seed = 3;
    win_prompt(&seed, &t, LONG / 2 + 7);
    win_tell(&DELTA_Q8, "cpu", KT_F16, &t, 1, LONG);
    for (size_t i = 0; i < COUNT_OF(rows); i += 1 + 3 * CHECK_SANITIZED) {
        const struct engine_config cfg = {.max_seqs = 1, .max_rows = rows[i]};
        struct engine *e = win_open(&DELTA_Q8, "cpu", KT_F16, cfg);
        int id = win_submit(e, &t, t.prompt, 0);
        win_run(e);
        win_check(e, id, &t);
        const struct kv_count c = kv_group_count(e->sched->kv, 1);
        CHECK(c.pages == KV_STATE_PAGES && c.held == 0 && c.cached > 0);
        engine_local.close(e);
    }
}

TEST(agents_share_fronts_of_states_cpu_f16) { win_share(&DELTA, "cpu", KT_F16, 24 * P, LATER); }
TEST(agents_share_fronts_of_states_cpu_q8_0) { win_share(&DELTA_Q8, "cpu", KT_Q8_0, 24 * P, LATER); }
TEST(agents_share_fronts_of_a_mixture_with_states) { win_share(&MIXED, "cpu", KT_F16, 24 * P, LATER); }
TEST(agents_share_fronts_of_states_by_key_heads)
{
    if (CHECK_SANITIZED) SKIP("the steps are those of the others, which are seen");
    win_share(&NEXT, "cpu", KT_Q8_0, 24 * P, 0);
}
TEST(agents_share_fronts_of_short_convolutions) { win_share(&LFM, "cpu", KT_F16, 24 * P, LATER); }
TEST(agents_share_fronts_of_short_convolutions_q8_0)
{
    if (CHECK_SANITIZED) SKIP("the steps are those of the others, which are seen");
    win_share(&LFM_Q8, "cpu", KT_F16, 24 * P, 0);
}
TEST(agents_share_fronts_of_short_convolutions_ref_f32)
{
    if (CHECK_SANITIZED) SKIP("the steps are those of the others, which are seen");
    win_share(&LFM, "ref", KT_F32, 24 * P, 0);
}
TEST(agents_share_fronts_of_states_ref_f32) { win_share(&DELTA, "ref", KT_F32, 24 * P, LATER); }

/* Of a front the pages are known as soon as one sequence had it, and the state where it ends once the second has. */
TEST(the_third_of_one_front_shares_it_whatever_lies_behind)
{
    static struct win_truth t[SEQS];
    uint32_t seed = 8;
    int shared[SEQS];
    struct engine *e = win_open(&DELTA, "cpu", KT_F16, (struct engine_config){.max_seqs = 1, .max_rows = 64});
    for (int i = 0; i < SEQS; i++) {
        win_prompt(&seed, &t[i], FRONT + 70 + 9 * i);
        memcpy(t[i].ids, t[0].ids, FRONT * sizeof(int32_t));
        t[i].ids[FRONT] = TINY_BYTE0 + i;
    }
    win_tell(&DELTA, "cpu", KT_F16, t, SEQS, FRONT + 110);
    for (int i = 0; i < SEQS; i++) {
        int id = win_submit(e, &t[i], t[i].prompt, 0);
        win_run(e);
        shared[i] = win_check(e, id, &t[i]);
    }
    CHECK(shared[0] == 0 && shared[1] == 4 * P); /* there a pass of the first ended */
    CHECK(shared[2] == FRONT / P * P && shared[3] == FRONT / P * P);
    engine_local.close(e);
}

/* Those who wait for a front that is just computed have its state as well: only the first computes it. */
TEST(agents_that_come_together_compute_their_front_once)
{
    static struct win_truth t[SEQS];
    uint32_t seed = 9;
    int id[SEQS], shared = 0;
    struct engine *e = win_open(&DELTA, "cpu", KT_F16, (struct engine_config){.max_seqs = SEQS, .max_rows = 48});
    for (int i = 0; i < SEQS; i++) {
        win_prompt(&seed, &t[i], FRONT + 70 + 9 * i);
        memcpy(t[i].ids, t[0].ids, FRONT * sizeof(int32_t));
        t[i].ids[FRONT] = TINY_BYTE0 + i;
    }
    win_tell(&DELTA, "cpu", KT_F16, t, SEQS, FRONT + 110);
    for (int i = 0; i < SEQS; i++) id[i] = win_submit(e, &t[i], t[i].prompt, 0);
    win_run(e);
    for (int i = 0; i < SEQS; i++) shared += win_check(e, id[i], &t[i]);
    CHECK_EQ(shared, (SEQS - 1) * (FRONT / P * P));
    engine_local.close(e);
}

/* A turn begins with the one before, whether what was said is told again or left out. */
TEST(a_talk_goes_on_from_its_last_answer_and_from_its_last_question)
{
    enum { ASKED = 3 * P + 5, SAID = ASKED + 4 * P };
    static struct win_truth t, other;
    uint32_t seed = 10;
    struct engine *e = win_open(&DELTA, "cpu", KT_F16, (struct engine_config){.max_seqs = 2, .max_rows = 24});
    win_prompt(&seed, &t, ASKED);
    win_tell(&DELTA, "cpu", KT_F16, &t, 1, SAID);
    int id = win_submit(e, &t, ASKED, 0);
    win_run(e);
    CHECK_EQ(win_check(e, id, &t), 0);

    other = t; /* all of it, and more */
    win_prompt(&seed, &other, SAID + 20);
    memcpy(other.ids, t.ids, SAID * sizeof *t.ids);
    win_tell(&DELTA, "cpu", KT_F16, &other, 1, SAID + 40);
    id = win_submit(e, &other, other.prompt, 0);
    win_run(e);
    CHECK_EQ(win_check(e, id, &other), (SAID - 1) / P * P); /* the answer's last token was never computed */

    win_prompt(&seed, &other, ASKED + 20); /* without the answer */
    memcpy(other.ids, t.ids, ASKED * sizeof *t.ids);
    win_tell(&DELTA, "cpu", KT_F16, &other, 1, ASKED + 40);
    id = win_submit(e, &other, other.prompt, 0);
    win_run(e);
    CHECK_EQ(win_check(e, id, &other), ASKED / P * P);
    engine_local.close(e);
}

/* Over-commit: who is put aside is computed again, with room for its copies or without, from a state that is still
 * known if there is one. */
TEST(those_put_aside_come_back_as_they_were)
{
    enum { N = 5 * WINDOW };
    static struct win_truth t[SEQS];
    uint32_t seed = 5;
    for (int i = 0; i < SEQS; i++) win_prompt(&seed, &t[i], i ? P + 5 : 3 * WINDOW + 3);
    win_tell(&DELTA, "cpu", KT_F16, t, SEQS, N);
    for (uint64_t room = 0; room < 2; room++) {
        const struct engine_snapshot figures = win_park(&DELTA, "cpu", KT_F16, t, 26 * P, room << 22);
        CHECK(figures.recomputed > 0);
    }
    win_tell(&MIXED, "cpu", KT_F16, t, SEQS, N);
    CHECK(win_park(&MIXED, "cpu", KT_F16, t, 26 * P, 0).recomputed > 0);
    win_tell(&LFM, "cpu", KT_F16, t, SEQS, N);
    CHECK(win_park(&LFM, "cpu", KT_F16, t, 26 * P, 1 << 22).recomputed > 0);
}

/* ------------------------------------------------------------------ what is refused */

TEST(pages_beside_states_stay_in_the_engine) { win_page_stays(&DELTA, "keep a state"); }

TEST(policies_of_keys_and_values_refuse_states)
{
    for (enum naive_policy p = NAIVE_RESERVE; p < NAIVE_POLICIES; p++) {
        struct err err = {0};
        struct engine_config cfg = {.model = win_file(&DELTA), .kern = {.threads = 1}, .kv_type = KT_F16, .ctx = CTX,
                                    .max_seqs = 2, .template = -1, .naive = p};
        CHECK(!engine_local.open(&cfg, &err));
        CHECK(strstr(err.text, naive_name(p)) && strstr(err.text, "keep a state"));
    }
}

TEST(a_backend_without_such_layers_says_so)
{
    for (int conv = 0; conv < 2; conv++) {
        struct kern lacks = *kern_ref();
        struct err err = {0};
        if (conv) lacks.conv = NULL;
        else lacks.delta = NULL;
        lacks.name = "some";
        const struct engine_config cfg = {.model = win_file(conv ? &LFM : &DELTA), .kv_type = KT_F16, .ctx = CTX,
                                          .max_seqs = 2, .template = -1, .kernels = &lacks};
        CHECK(!engine_local.open(&cfg, &err));
        CHECK(strstr(err.text, "backend some has none yet: use --backend cpu"));
    }
}

CHECK_MAIN
