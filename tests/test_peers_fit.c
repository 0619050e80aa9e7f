/* test_peers_fit.c - more rows of how other engines run out of memory (test_peers_oom.c has the list and the rest):
 * what does not fit is refused before it is taken; one bad pass ends nothing else; the words for it can be read. */
#include "engine/fit.h"
#include "engine/hostmem.h"
#include "tests/peers_oom.h"
#include <sys/stat.h>
#include <unistd.h>

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
    for (int round = 0; round < (CHECK_SANITIZED ? 12 : 25); round++) {
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
    struct hostmem_process p;
    hostmem_process(&p);
    return p.anonymous;
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
        if (i <= 100 || s.usable_tokens < s.pool_tokens) before = MAX(before, resident()); /* systems take idle pages back */
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
    check_refused(&cfg, ENGINE_NEVER_FITS, "; with the smallest --ctx it is still ");
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

static const char *refused_with(const struct engine_config *cfg)
{
    static struct err err;
    shim = (struct shim){0};
    CHECK(!ops->open(cfg, &err));
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    return err.text;
}

/* The size behind these words, in bytes. */
static uint64_t advised(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    CHECK(at);
    char *end;
    const double mib = strtod(at + strlen(before), &end);
    CHECK_EQ(*end, 'M');
    return (uint64_t)(mib * 0x1p20);
}

TEST(row_37_the_advice_of_a_refusal_helps)
{
    struct engine_config cfg = config();
    cfg.ctx = 4096;
    cfg.vram = 4 << 20;
    const char *text = refused_with(&cfg);
    CHECK(strstr(text, "4.0 MiB: a smaller --ctx, --fit, fewer agents or a --vram of "));
    const uint64_t vram = advised(text, "a --vram of ");
    struct engine_config other = cfg;
    other.ctx = 256;
    ops->close(open_one(&other));
    other = cfg;
    other.fit = true;
    ops->close(open_one(&other));
    other = cfg;
    other.max_seqs = 1;
    ops->close(open_one(&other));
    other = cfg;
    other.vram = vram;
    ops->close(open_one(&other));
}

TEST(row_37_where_no_context_is_small_enough_no_other_is_advised)
{
    struct engine_config cfg = config();
    struct ledger l = ledger_of(&cfg);
    cfg.vram = l.bytes[LEDGER_WEIGHTS] - 1;
    const char *text = refused_with(&cfg);
    CHECK(strstr(text, "; the weights alone are ") && strstr(text, " or a smaller model"));
    CHECK(!strstr(text, "--ctx") && !strstr(text, "--park") && !strstr(text, "--pool"));
    cfg.vram = advised(text, "(of ");
    const uint64_t whole = advised(text, "a --vram of ");
    cfg.fit = true;
    ops->close(open_one(&cfg)); /* that is the least, with --fit */
    cfg.vram -= 1 << 18;
    text = refused_with(&cfg);
    CHECK(strstr(text, "; with the smallest --ctx it is still ") && !strstr(text, "--fit"));
    cfg.vram = advised(text, "a --vram of ");
    ops->close(open_one(&cfg));
    cfg.fit = false;
    cfg.vram = whole;
    ops->close(open_one(&cfg));
}

TEST(row_37_what_was_set_by_hand_is_named_where_that_is_it)
{
    struct engine_config cfg = config();
    cfg.pool_tokens = 1 << 20;
    cfg.vram = 64 << 20;
    const char *text = refused_with(&cfg);
    CHECK(strstr(text, "; all but the pool is ") && strstr(text, ": a smaller --pool (or --ctx,"));
    CHECK(!strstr(text, "--fit") && !strstr(text, "model or type"));
    cfg = config();
    cfg.overcommit = true;
    cfg.park_bytes = 128 << 20;
    cfg.vram = 64 << 20;
    text = refused_with(&cfg);
    CHECK(strstr(text, ": a smaller --park or a --vram of ") && !strstr(text, "a smaller --ctx"));
    cfg.park_bytes = 8 << 20;
    ops->close(open_one(&cfg));
    cfg.text_bytes = UINT64_MAX / 4; /* no machine has that, and no model makes it less */
    text = refused_with(&cfg);
    CHECK(!strstr(text, "a --vram of") && !strstr(text, "a smaller"));
}

CHECK_MAIN
