/* How other engines run out of memory, and why this one does not: ../shared/facts/engines.md section 3 has 42 rows of
 * what their users met.  Each row that a closed ledger prevents has a test here, named for it; so have those whose
 * trouble was an error that nobody understood, where ours can be read.
 *
 * Rows about what this engine does not have, so that it cannot happen, and a test would be a fake:
 *    4  a draft model's second compute arena: no draft models; one workspace, planned before it is taken
 *   20  layers split unevenly over several cards: one device (its first half, an estimate that is off, is row 28's)
 *   32  LoRA with long prompts: no adapters, the weights are the file's
 *   36  CUDA graphs that nobody counted: no graphs on these backends (its second half, activations, is row 3's)
 *   38  draft weights that nobody counted: as row 4 (that there is always a workable budget is tested below)
 * Rows 25 and 26 (a lost user turn, a second run that fails) are with 24, 41 (parking worded as an error) with 33.
 * 29: a neighbour that takes the memory cannot be prevented by a ledger, only be seen when ours is taken, at open. */
#include "engine/fit.h"
#include "engine/hostmem.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 512, NEW = 16, KEEP = 64 };

static const struct engine_ops *const ops = &engine_local;

/* ------------------------------------------------------------------ words of the tests */

static const char *model_path(void)
{
    static const char *path;
    struct tiny t = TINY_LLAMA;
    if (!path) path = tiny_file(&t, NULL, "peers.gguf");
    return path;
}

static struct engine_config config(void)
{
    return (struct engine_config){.model = model_path(), .kernels = shim_kern(kern_cpu()), .kern = {.threads = 1},
                                  .kv_type = KT_F16, .ctx = 128, .max_seqs = 4, .max_rows = 32, .template = -1,
                                  .vram = 256 << 20};
}

static struct engine *open_one(const struct engine_config *cfg)
{
    struct err err = {0};
    shim = (struct shim){0};
    struct engine *e = ops->open(cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* Refused with these words, and nothing was taken, or even opened, for it. */
static void check_refused(const struct engine_config *cfg, int code, const char *words)
{
    struct err err = {0};
    shim = (struct shim){0};
    CHECK(!ops->open(cfg, &err));
    CHECK_EQ(err.code, code);
    if (!strstr(err.text, words)) CHECK_STR(err.text, words);
    CHECK_EQ(shim.calls, 0);
}

/* n tokens that are the same for the same `what`. */
static const int32_t *words_of(uint32_t what, int n)
{
    static int32_t ids[KEEP][MOST];
    static int next;
    int32_t *out = ids[next++ % KEEP];
    for (int i = 0; i < n; i++) out[i] = TINY_BYTE0 + tiny_below(&what, 256);
    return out;
}

static struct request asking(const int32_t *ids, int n, int max_tokens)
{
    return (struct request){.ids = ids, .n_ids = n, .max_tokens = max_tokens, .ignore_end = true,
                            .sampling = SAMPLING_GREEDY};
}

static int submit(struct engine *e, const struct request *r)
{
    int id = 0;
    struct err err = {0};
    ops->submit(e, r, &id, &err);
    CHECK_STR(err.text, "");
    return id;
}

static int submit_ids(struct engine *e, uint32_t what, int n, int max_tokens)
{
    struct request r = asking(words_of(what, n), n, max_tokens);
    return submit(e, &r);
}

/* Until nothing is left to do; how many passes that took. */
static int run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    int steps = 0;
    while (ops->step(e, ev, 64, &err) > 0) CHECK(++steps < 20000);
    CHECK_STR(err.text, "");
    return steps;
}

static enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

/* It ended with all its tokens; they are put into out, and it is dropped. */
static void take_whole(struct engine *e, int id, int max_tokens, int32_t *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(end_of(e, id), END_LENGTH);
    CHECK_EQ(atomic_load(&a->n_tokens), max_tokens);
    for (int i = 0; out && i < max_tokens; i++) out[i] = a->token[i].id;
    ops->drop(e, id);
}

static struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

/* Nothing was taken from the device after open, and all of it is in the ledger. */
static void check_taken(struct engine *e)
{
    const struct engine_info *i = ops->info(e);
    CHECK_EQ(shim.slabs, 3);
    CHECK_EQ(shim.of[SHIM_TAKE], 3);
    CHECK_EQ(shim.most, i->weight_bytes + i->work_bytes + i->kv_bytes);
    CHECK_EQ(shim.most, i->ledger.bytes[LEDGER_WEIGHTS] + i->ledger.bytes[LEDGER_KV] +
                            i->ledger.bytes[LEDGER_ACTIVATIONS] + i->ledger.bytes[LEDGER_SCRATCH] +
                            i->ledger.bytes[LEDGER_LOGITS]);
}

/* The ledger of a configuration, as the engine would have it. */
static struct ledger ledger_of(const struct engine_config *cfg)
{
    struct engine *e = open_one(cfg);
    struct ledger l = ops->info(e)->ledger;
    ops->close(e);
    return l;
}

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

/* ------------------------------------------------------------------ what does not fit is refused before it is taken */

TEST(row_06_what_does_not_fit_is_not_loaded_whatever_was_set_by_hand)
{
    struct engine_config cfg = config();
    cfg.fit = true; /* it may choose the context, not the pool that was named */
    cfg.pool_tokens = 1 << 22;
    cfg.vram = 64 << 20;
    check_refused(&cfg, ENGINE_NEVER_FITS, "KV pool 1024.0 MiB");
    cfg = config();
    cfg.fit = true;
    cfg.text_bytes = 512 << 20; /* no context is small enough for that */
    check_refused(&cfg, ENGINE_NEVER_FITS, "text 512.0 MiB");
}

TEST(row_07_what_fit_chooses_fits)
{
    uint32_t seed = 3;
    for (int round = 0; round < 25; round++) {
        struct err err = {0};
        struct engine_config cfg = config();
        cfg.fit = true;
        cfg.ctx = 64 + tiny_below(&seed, 4000);
        cfg.max_seqs = 1 + tiny_below(&seed, 8);
        cfg.max_rows = 16 + tiny_below(&seed, 600); /* a large pass counts too */
        cfg.vram = (uint64_t)(1 << 20) + (uint64_t)tiny_below(&seed, 12 << 20);
        shim = (struct shim){0};
        struct engine *e = ops->open(&cfg, &err);
        if (!e) {
            CHECK_EQ(err.code, ENGINE_NEVER_FITS);
            CHECK_EQ(shim.calls, 0);
            continue;
        }
        const struct ledger *l = &ops->info(e)->ledger;
        CHECK(shim.most + l->bytes[LEDGER_TEXT] + l->bytes[LEDGER_PARK] + l->bytes[LEDGER_TABLES] <= cfg.vram);
        check_taken(e);
        ops->close(e);
    }
}

TEST(row_08_sizes_are_those_of_the_context_that_is_used_not_of_the_trained_one)
{
    struct engine_config cfg = config();
    cfg.ctx = 64; /* of 512 that the file says */
    cfg.max_seqs = 2;
    struct engine *e = open_one(&cfg);
    const struct engine_info *i = ops->info(e);
    CHECK_EQ(i->ctx_trained, 512);
    CHECK_EQ(i->kv_bytes, kern_cpu()->slab_bytes(2 * 64 * i->kv_bytes_per_token));
    CHECK_EQ(shim.most, i->weight_bytes + i->work_bytes + i->kv_bytes);
    ops->close(e);
}

TEST(row_13_more_than_there_is_is_refused_though_malloc_would_promise_it)
{
    uint64_t have = hostmem_available();
    struct engine_config cfg = config();
    cfg.vram = UINT64_MAX;
    cfg.park_bytes = have + (64 << 20); /* malloc says yes to that; writing it would not end well */
    check_refused(&cfg, ENGINE_NEVER_FITS, "the machine has");
    cfg = config();
    cfg.text_bytes = (uint64_t)1 << 50;
    check_refused(&cfg, ENGINE_NEVER_FITS, "text");
}

static uint64_t resident(void)
{
    unsigned long long all, pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    if (!in || fscanf(in, "%llu %llu", &all, &pages) != 2) pages = 0;
    if (in) fclose(in);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

TEST(row_13_what_was_promised_on_the_host_has_been_touched)
{
    struct engine_config cfg = config();
    cfg.park_bytes = 24 << 20;
    cfg.text_bytes = 24 << 20;
    uint64_t before = resident();
    struct engine *e = open_one(&cfg);
    CHECK(resident() - before >= (uint64_t)46 << 20);
    ops->close(e);
}

TEST(row_15_and_14_caches_stay_within_what_was_taken_however_long_it_runs)
{
    struct engine_config cfg = config();
    cfg.pool_tokens = 16 * KERN_PAGE;
    cfg.text_bytes = 64 << 10;
    struct engine *e = open_one(&cfg);
    uint64_t before = 0;
    for (int i = 0; i < 400; i++) {
        int id = submit_ids(e, (uint32_t)i + 1, 90, 4); /* never the same twice: each would be kept */
        run(e);
        ops->drop(e, id);
        struct engine_snapshot s = figures(e);
        CHECK(s.cached_tokens <= s.pool_tokens && s.text_used == 0);
        if (i == 40) before = resident();
    }
    CHECK(figures(e).evicted_pages > 1500);
    CHECK(resident() <= before + (1 << 20));
    check_taken(e);
    ops->close(e);
}

TEST(row_16_nobody_gets_a_host_cache_that_he_did_not_ask_for)
{
    struct engine_config cfg = config();
    cfg.vram = 0;
    uint64_t have = hostmem_available();
    struct engine *e = open_one(&cfg);
    const struct ledger *l = &ops->info(e)->ledger;
    CHECK_EQ(l->bytes[LEDGER_PARK], 0);
    CHECK_EQ(figures(e).park_bytes, 0);
    CHECK(ledger_total(l) <= l->ceiling && l->ceiling <= have / 2 + (64 << 20)); /* what others gave back meanwhile */
    ops->close(e);
}

TEST(row_17_host_memory_is_in_the_same_books)
{
    struct engine_config cfg = config();
    cfg.park_bytes = 8 << 20;
    cfg.text_bytes = 8 << 20;
    cfg.ctx = 2048;
    cfg.max_seqs = 8;
    uint64_t before = resident();
    struct engine *e = open_one(&cfg);
    int id[8];
    for (int i = 0; i < 8; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 500, 500);
    run(e);
    for (int i = 0; i < 8; i++) take_whole(e, id[i], 500, NULL);
    const struct ledger *l = &ops->info(e)->ledger;
    uint64_t grew = resident() - before;
    CHECK(l->bytes[LEDGER_TEXT] == 8 << 20 && l->bytes[LEDGER_PARK] == 8 << 20 && l->bytes[LEDGER_TABLES] > 0);
#ifndef __SANITIZE_ADDRESS__ /* it has much of its own */
    CHECK(grew <= ledger_total(l) + (2 << 20)); /* vocabulary, stacks */
#endif
    CHECK(grew >= (uint64_t)16 << 20);
    ops->close(e);
}

TEST(row_18_the_cache_counts_not_the_weights_alone)
{
    struct engine_config cfg = config();
    struct ledger l = ledger_of(&cfg);
    cfg.vram = ledger_total(&l) - l.bytes[LEDGER_KV] / 2; /* weights fit many times over */
    CHECK(cfg.vram > l.bytes[LEDGER_WEIGHTS]);
    check_refused(&cfg, ENGINE_NEVER_FITS, "KV pool");
}

TEST(row_22_a_kind_of_model_that_is_not_known_is_not_estimated_but_refused_by_name)
{
    struct tiny t = TINY_LLAMA;
    struct engine_config cfg = config();
    t.arch = "hybrid9";
    cfg.model = tiny_file(&t, NULL, "hybrid.gguf");
    check_refused(&cfg, ENGINE_FAULT, "hybrid9");
}

static void count_progress(void *self, uint64_t done, uint64_t all)
{
    (void)done, (void)all;
    ++*(int *)self;
}

TEST(row_23_whether_it_fits_is_known_from_the_header)
{
    struct engine_config cfg = config();
    int loads = 0;
    cfg.vram = 64 << 10;
    cfg.progress = count_progress;
    cfg.progress_self = &loads;
    check_refused(&cfg, ENGINE_NEVER_FITS, "weights 0.");
    CHECK_EQ(loads, 0); /* not one weight was read */
}

TEST(row_27_the_whole_budget_can_be_used_to_the_last_byte)
{
    struct engine_config cfg = config();
    struct ledger l = ledger_of(&cfg);
    cfg.vram = ledger_total(&l) - 1;
    check_refused(&cfg, ENGINE_NEVER_FITS, "--vram allows");
    cfg.vram++;
    struct engine *e = open_one(&cfg);
    int id[4];
    for (int i = 0; i < 4; i++) id[i] = submit_ids(e, (uint32_t)i + 1, 64, 64);
    run(e);
    for (int i = 0; i < 4; i++) take_whole(e, id[i], 64, NULL);
    check_taken(e);
    ops->close(e);
}

TEST(row_28_and_20_sizes_are_computed_not_measured)
{
    struct engine_config cfg = config();
    struct ledger first = ledger_of(&cfg);
    struct engine *other = open_one(&cfg); /* who else uses the machine changes nothing */
    submit_ids(other, 1, 64, 64);
    run(other);
    cfg.kernels = NULL;
    struct err err = {0};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK_MEM(ops->info(e)->ledger.bytes, first.bytes, sizeof first.bytes);
    ops->close(e);
    check_taken(other);
    ops->close(other);
}

TEST(row_38_between_too_small_and_enough_there_is_no_gap)
{
    struct engine_config cfg = config();
    struct err err = {0};
    cfg.fit = true;
    cfg.ctx = 4 * KERN_PAGE;
    uint64_t low = 1 << 12, high = 64 << 20; /* the least budget that opens, by bisection */
    while (high - low > 1) {
        cfg.vram = low + (high - low) / 2;
        struct engine *e = ops->open(&cfg, &err);
        if (e) high = cfg.vram;
        else low = cfg.vram;
        if (e) ops->close(e);
    }
    for (int i = 0; i < 200; i++) {
        cfg.vram = high + (uint64_t)i * 131;
        struct engine *e = open_one(&cfg);
        ops->close(e);
    }
    cfg.vram = high - 1; /* and the refusal says what is needed, and with what it would do */
    struct buf fits = {0};
    cfg.fits = &fits;
    check_refused(&cfg, ENGINE_NEVER_FITS, "a smaller --ctx, --fit, or another --vram");
    CHECK(fits.data && strstr(fits.data, "what fits in"));
    buf_free(&fits);
}

/* ------------------------------------------------------------------ one bad pass, and the words for it */

TEST(row_02_after_a_first_request_that_failed_the_second_is_served)
{
    struct engine_config cfg = config();
    struct engine_event ev[64];
    struct err err = {0};
    struct engine *e = open_one(&cfg);
    int id = submit_ids(e, 1, 20, NEW), steps = 0;
    shim.fail_at = shim.calls + 3;
    while (ops->step(e, ev, 64, &err) > 0) CHECK(++steps < 10);
    CHECK_EQ(end_of(e, id), END_FAULT);
    CHECK(strstr(ops->answer(e, id)->fault, "attn"));
    CHECK_STR(err.text, ops->answer(e, id)->fault);
    id = submit_ids(e, 1, 20, NEW);
    run(e);
    take_whole(e, id, NEW, NULL);
    ops->close(e);
}

TEST(row_05_a_slab_that_could_not_be_taken_is_called_that)
{
    struct engine_config cfg = config();
    for (int slab = 0; slab < 3; slab++) {
        struct err err = {0};
        shim = (struct shim){.fail_at = 2 + slab}; /* after open */
        CHECK(!ops->open(&cfg, &err));
        CHECK(strstr(err.text, "take")); /* the backend's own words, not those of whoever stumbled next */
        CHECK_EQ(shim.slabs + shim.devices, 0);
    }
    struct kdev *d = kern_cpu()->open(&cfg.kern, NULL);
    struct err err = {0};
    CHECK(!kern_cpu()->take(d, (size_t)1 << 60, &err));
    CHECK(strstr(err.text, "1152921504606846976 bytes") && strstr(err.text, "smaller model"));
    kern_cpu()->close(d);
}

static const char *fake_root(const char *const (*file)[2], int n)
{
    static char root[600];
    snprintf(root, sizeof root, "%s", check_tmpdir());
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", root, file[i][0]);
        for (char *c = path + strlen(root) + 1; *c; c++) {
            if (*c != '/') continue;
            *c = '\0';
            mkdir(path, 0700);
            *c = '/';
        }
        FILE *out = fopen(path, "w");
        CHECK(out);
        fputs(file[i][1], out);
        fclose(out);
    }
    return root;
}

TEST(row_21_page_cache_is_not_memory_that_is_taken)
{
    static const char *const plain[][2] = {
        {"proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 100000 kB\nMemAvailable: 7000000 kB\nCached: 6900000 kB\n"}};
    static const char *const boxed[][2] = {
        {"proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 100000 kB\nMemAvailable: 7000000 kB\n"},
        {"proc/self/cgroup", "0::/box\n"},
        {"sys/fs/cgroup/box/memory.max", "2000000000\n"},
        {"sys/fs/cgroup/box/memory.current", "1900000000\n"},
        {"sys/fs/cgroup/box/memory.stat", "anon 300000000\ninactive_file 1600000000\n"}};
    CHECK_EQ(hostmem_available_in(fake_root(plain, 1)), (uint64_t)7000000 * 1024);
    CHECK_EQ(hostmem_available_in(fake_root(boxed, 5)), 1700000000); /* the file cache in it can go */
}

TEST(row_24_to_26_a_prompt_is_served_whole_or_refused_and_each_time_alike)
{
    struct engine_config cfg = config();
    struct err err = {0};
    int id;
    int32_t once[NEW], twice[NEW];
    struct engine *e = open_one(&cfg);
    const int32_t *ids = words_of(5, 300);
    struct request r = asking(ids, 300, NEW);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NEVER_FITS); /* what, how many, the limit, what to do */
    CHECK(strstr(err.text, "300 in the prompt") && strstr(err.text, "holds 128") && strstr(err.text, "--ctx"));
    r = asking(ids, 112, NEW);
    id = submit(e, &r);
    CHECK_EQ(ops->answer(e, id)->n_prompt, 112);
    CHECK_MEM(ops->answer(e, id)->prompt, ids, 112 * sizeof *ids);
    run(e);
    take_whole(e, id, NEW, once);
    id = submit(e, &r);
    run(e);
    take_whole(e, id, NEW, twice);
    CHECK_MEM(once, twice, sizeof once);
    ops->close(e);
}

TEST(row_37_the_advice_of_a_refusal_helps)
{
    struct engine_config cfg = config();
    struct err err = {0};
    cfg.ctx = 4096;
    cfg.vram = 4 << 20;
    CHECK(!ops->open(&cfg, &err));
    CHECK(strstr(err.text, "a smaller --ctx, --fit, or another --vram"));
    cfg.ctx = 256;
    ops->close(open_one(&cfg));
    cfg.ctx = 4096;
    cfg.fit = true;
    ops->close(open_one(&cfg));
    cfg.fit = false;
    cfg.vram = 64 << 20;
    ops->close(open_one(&cfg));
}

CHECK_MAIN
