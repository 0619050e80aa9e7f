/* How other engines run out of memory, and why this one does not: ../shared/facts/engines.md section 3 has 42 rows of
 * what their users met.  Each row that a closed ledger prevents has a test named for it: here those about serving, in
 * test_peers_fit.c those about what is refused, and those whose trouble was an error that nobody understood, where ours
 * can be read.
 *
 * Rows about what this engine does not have, so that it cannot happen, and a test would be a fake:
 *    4  a draft model's second compute arena: no draft models; one workspace, planned before it is taken
 *   20  layers split unevenly over several cards: one device (its first half, an estimate that is off, is row 28's)
 *   32  LoRA with long prompts: no adapters, the weights are the file's
 *   36  CUDA graphs that nobody counted: no graphs on these backends (its second half, activations, is row 3's)
 *   38  draft weights that nobody counted: as row 4 (that there is always a workable budget is tested there)
 * Rows 25 and 26 (a lost user turn, a second run that fails) are with 24, 41 (parking worded as an error) with 33.
 * 29: a neighbour that takes the memory cannot be prevented by a ledger, only be seen when ours is taken, at open. */
#include "tests/peers_oom.h"

/* ------------------------------------------------------------------ scratch that grew at run time */

static const struct sampling wild = {.temp = 1.2f, .top_k = INT32_MAX, .top_p = 0.99f, .min_p = 0.001f, .repeat = 1.2f,
                                     .frequency = 0.2f, .presence = 0.2f, .recent = -1, .seed = 4};

TEST(row_01_the_sorting_room_of_top_k_is_there_from_the_start)
{
    struct engine_config cfg = config();
    cfg.ctx = 512;
    struct engine *e = open_one(&cfg);
    for (int i = 0; i < 3; i++) {
        struct request r = asking(words_of(1, 8), 8, 500);
        r.sampling = wild;
        r.top_n = KERN_TOP;
        int id = submit(e, &r);
        run(e);
        take_whole(e, id, 500, NULL);
    }
    CHECK(shim.of[SHIM_SAMPLE] >= 1500);
    check_taken(e);
    ops->close(e);
}

TEST(row_30_all_sequences_sort_the_whole_vocabulary_in_one_pass)
{
    struct engine_config cfg = config();
    cfg.max_seqs = 20;
    struct engine *e = open_one(&cfg);
    int id[20];
    for (int i = 0; i < 20; i++) {
        struct request r = asking(words_of((uint32_t)i + 1, 4), 4, NEW);
        r.sampling = wild;
        r.top_n = KERN_TOP;
        id[i] = submit(e, &r);
    }
    run(e);
    for (int i = 0; i < 20; i++) take_whole(e, id[i], NEW, NULL);
    CHECK_EQ(shim.most_outs, 20);
    CHECK(ops->info(e)->ledger.bytes[LEDGER_LOGITS] >= 20 * TINY_VOCAB * sizeof(float));
    check_taken(e);
    ops->close(e);
}

TEST(row_39_the_largest_pre_fill_and_sampling_with_top_p_go_into_one_pass)
{
    struct engine_config cfg = config();
    struct engine *e = open_one(&cfg);
    struct engine_event ev[64];
    int id[4];
    for (int i = 0; i < 4; i++) { /* each pre-fills beside those before it, which generate already */
        struct request r = asking(words_of((uint32_t)i + 1, 100), 100, 28);
        r.sampling = wild;
        id[i] = submit(e, &r);
        for (int step = 0; step < 5; step++) ops->step(e, ev, 64, NULL);
    }
    run(e);
    CHECK_EQ(shim.most_outs, 4);
    CHECK_EQ(shim.most_rows, cfg.max_rows);
    for (int i = 0; i < 4; i++) take_whole(e, id[i], 28, NULL);
    check_taken(e);
    ops->close(e);
}

TEST(row_03_and_36_a_long_chat_needs_no_more_after_a_restart_than_turn_by_turn)
{
    static int32_t ids[MOST], built[NEW], again[NEW];
    int n = 0;
    struct engine_config cfg = config();
    cfg.ctx = 512;
    struct engine *e = open_one(&cfg);
    for (int turn = 0; turn < 10; turn++) {
        memcpy(ids + n, words_of((uint32_t)turn, 30), 30 * sizeof *ids);
        n += 30;
        struct request r = asking(ids, n, NEW);
        int id = submit(e, &r);
        run(e);
        take_whole(e, id, NEW, built);
        memcpy(ids + n, built, sizeof built);
        n += NEW;
    }
    struct ledger before = ops->info(e)->ledger;
    uint64_t taken = shim.most;
    ops->close(e);
    e = open_one(&cfg); /* all 444 tokens are new to it: in chunks, in the same workspace */
    struct request r = asking(ids, n - NEW, NEW);
    int id = submit(e, &r);
    run(e);
    take_whole(e, id, NEW, again);
    CHECK_MEM(again, built, sizeof built);
    CHECK_EQ(shim.most, taken);
    CHECK_EQ(shim.most_rows, cfg.max_rows);
    CHECK_MEM(before.bytes, ops->info(e)->ledger.bytes, sizeof before.bytes);
    check_taken(e);
    ops->close(e);
}

TEST(row_31_the_log_probabilities_of_a_whole_prompt_go_through_a_few_rows_of_logits)
{
    struct engine_config cfg = config();
    cfg.ctx = 512;
    struct engine *e = open_one(&cfg);
    struct request r = asking(words_of(3, 512), 512, 0);
    r.score = true;
    int id = submit(e, &r);
    run(e);
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(a->end, END_LENGTH);
    for (int i = 1; i < 512; i++) CHECK(a->prompt_logprob[i] < 0);
    CHECK_EQ(shim.most_outs, 16); /* of 511: what the ledger has logits for, and the work of 512 tokens cannot add to */
    CHECK(ops->info(e)->ledger.bytes[LEDGER_LOGITS] < 32 * TINY_VOCAB * sizeof(float));
    check_taken(e);
    ops->close(e);
}

TEST(row_19_a_long_context_is_filled_to_its_end_in_what_was_taken_at_open)
{
    struct engine_config cfg = config();
    cfg.ctx = 2048;
    cfg.max_seqs = 1;
    struct engine *e = open_one(&cfg);
    int id = submit_ids(e, 1, 100, 1948);
    run(e);
    take_whole(e, id, 1948, NULL);
    check_taken(e);
    ops->close(e);
}

/* ------------------------------------------------------------------ the pool is full */

TEST(row_09_by_default_every_slot_can_be_used_to_the_end)
{
    struct engine_config cfg = config();
    int id[8];
    cfg.max_seqs = 0;
    struct engine *e = open_one(&cfg);
    CHECK_EQ(ops->info(e)->max_seqs, 8);
    for (int i = 0; i < 8; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 28, 100);
    run(e);
    CHECK_EQ(shim.most_outs, 8); /* all of them at once */
    for (int i = 0; i < 8; i++) take_whole(e, id[i], 100, NULL);
    ops->close(e);
}

TEST(row_10_and_11_a_full_pool_is_waited_for_not_asked_again_and_again)
{
    struct engine_config cfg = config();
    int id[12];
    cfg.max_seqs = 8;
    cfg.pool_tokens = 128; /* for one of them at a time */
    struct engine *e = open_one(&cfg);
    for (int i = 0; i < 12; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 60, 60);
    int steps = run(e);
    CHECK(steps <= 12 * (60 / 32 + 1 + 60 + 2));
    CHECK_EQ(figures(e).passes, (uint64_t)shim.of[SHIM_EMBED]);
    for (int i = 0; i < 12; i++) take_whole(e, id[i], 60, NULL);
    CHECK_EQ(shim.failed, 0);
    ops->close(e);
}

TEST(row_12_at_the_limit_of_the_context_an_answer_ends_with_length)
{
    struct engine_config cfg = config();
    struct err err = {0};
    int id;
    struct engine *e = open_one(&cfg);
    struct request r = asking(words_of(1, 100), 100, 29);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "129 tokens (100 in the prompt, up to 29 in the answer), the context holds 128"));
    r.max_tokens = 28;
    id = submit(e, &r);
    run(e);
    take_whole(e, id, 28, NULL);
    ops->close(e);
}

TEST(row_33_and_14_a_parking_place_that_is_full_stops_nobody)
{
    static int32_t roomy[4][90], tight[4][90];
    struct engine_config cfg = config();
    int id[5];
    struct engine *e = open_one(&cfg);
    for (int i = 0; i < 4; i++) {
        id[i] = submit_ids(e, (uint32_t)i + 1, 16, 90);
        run(e);
        take_whole(e, id[i], 90, roomy[i]);
    }
    size_t page = (size_t)ops->info(e)->kv_bytes_per_token * KERN_PAGE;
    ops->close(e);
    cfg.overcommit = true;
    cfg.pool_tokens = 12 * KERN_PAGE;
    cfg.park_bytes = page + page / 2; /* one place; the half is of no use */
    e = open_one(&cfg);
    CHECK_EQ(ops->info(e)->ledger.bytes[LEDGER_PARK], cfg.park_bytes);
    int short_one = submit_ids(e, 9, 4, 1); /* makes it expect short answers */
    run(e);
    ops->drop(e, short_one);
    for (int i = 0; i < 4; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 16, 90);
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) CHECK(figures(e).park_used <= cfg.park_bytes);
    CHECK_STR(err.text, ""); /* row 41: parking is nobody's error */
    for (int i = 0; i < 4; i++) take_whole(e, id[i], 90, tight[i]);
    CHECK_MEM(tight, roomy, sizeof roomy);
    CHECK(figures(e).parkings > 0 && figures(e).recomputed > 0);
    ops->close(e);
}

TEST(row_34_what_is_admitted_is_not_thrown_out_again)
{
    struct engine_config cfg = config();
    int id[5];
    cfg.max_seqs = 5;
    cfg.pool_tokens = 4 * 128;
    struct engine *e = open_one(&cfg);
    for (int i = 0; i < 5; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 100, 28);
    while (end_of(e, id[0]) == END_NONE) {
        struct engine_event ev[64];
        ops->step(e, ev, 64, NULL);
        CHECK(figures(e).running <= 4); /* four fill the pool; the fifth waits for an end, its chunks too */
    }
    run(e);
    for (int i = 0; i < 5; i++) take_whole(e, id[i], 28, NULL);
    struct engine_snapshot s = figures(e);
    CHECK_EQ(s.prefilled, 500); /* each token of each prompt once */
    CHECK_EQ(s.parkings + s.recomputed, 0);
    ops->close(e);
}

TEST(row_35_what_can_never_be_served_is_refused_at_once_and_blocks_nobody)
{
    struct engine_config cfg = config();
    struct err err = {0};
    int id;
    cfg.pool_tokens = 64;
    struct engine *e = open_one(&cfg);
    int before = submit_ids(e, 1, 20, NEW);
    struct request r = asking(words_of(2, 60), 60, 60);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "8 KV pages") && strstr(err.text, "the whole pool has 4") && strstr(err.text, "shorten it"));
    int after = submit_ids(e, 3, 20, NEW);
    CHECK_EQ(figures(e).waiting, 2);
    run(e);
    take_whole(e, before, NEW, NULL);
    take_whole(e, after, NEW, NULL);
    ops->close(e);
}

TEST(row_40_a_long_prompt_without_room_waits_and_the_others_go_on)
{
    struct engine_config cfg = config();
    struct engine_event ev[64];
    struct engine_wait w;
    struct err err = {0};
    int id;
    cfg.pool_tokens = 10 * KERN_PAGE;
    struct engine *e = open_one(&cfg);
    int first = submit_ids(e, 1, 60, 36); /* six pages of ten */
    CHECK(ops->step(e, ev, 64, &err) > 0);
    int large = submit_ids(e, 2, 100, 20), small = submit_ids(e, 3, 8, 8);
    CHECK(ops->step(e, ev, 64, &err) > 0);
    ops->waits(e, large, &w);
    CHECK_EQ(w.what, WAIT_PAGES);
    CHECK(w.pages == 8 && w.after == first);
    struct request r = asking(words_of(4, 100), 100, 20);
    r.no_wait = true;
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NOT_NOW);
    err = (struct err){0};
    while (end_of(e, small) == END_NONE) CHECK(ops->step(e, ev, 64, &err) > 0);
    CHECK_EQ(end_of(e, first), END_NONE);
    run(e);
    CHECK_STR(err.text, "");
    take_whole(e, first, 36, NULL);
    take_whole(e, large, 20, NULL);
    take_whole(e, small, 8, NULL);
    ops->close(e);
}

CHECK_MAIN
