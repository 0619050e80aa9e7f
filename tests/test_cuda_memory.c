/* test_cuda_memory.c - the whole engine on the CUDA kernels, compiled for the host (tests/cuda_on_cpu/): memory that is
 * taken once, as the ledger says, and calls that fail, each of them, once or for good. */
#include "engine/engine.h"
#include "engine/hostmem.h"
#include "tests/check.h"
#include "tests/cuda_on_cpu/shim.h"
#include "tests/tiny_model.h"

enum { PROMPT = 2 * KERN_PAGE + 5, NEW = 3, STEP = CHECK_SANITIZED ? 37 : 1 };
static const struct engine_ops *const ops = &engine_local;

static const char *model_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.type = type;
    return tiny_file(&t, NULL, "cuda.gguf");
}

static struct engine_config config(enum ktype type, const char *backend)
{
    return (struct engine_config){.model = model_of(type), .backend = backend, .max_rows = 32, .ctx = 64,
                                  .max_seqs = 2, .template = -1, .text_bytes = 1 << 20};
}

static struct engine *open_engine(const struct engine_config *cfg)
{
    struct err err = {0};
    shim_apart();
    struct engine *e = ops->open(cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(e);
    return e;
}

/* A request with some of all that sampling knows: its id, or 0 and why it was refused. */
static int submit(struct engine *e, uint32_t *seed, struct err *err)
{
    static const int32_t bias_id = TINY_BYTE0 + 7;
    const struct kern_bias bias = {bias_id, 0.5f};
    int32_t ids[PROMPT];
    int id = 0;
    for (int i = 0; i < PROMPT; i++) ids[i] = TINY_BYTE0 + tiny_below(seed, 256);
    struct request r = {.ids = ids, .n_ids = 1 + tiny_below(seed, PROMPT), .max_tokens = NEW, .ignore_end = true,
                        .top_n = tiny_below(seed, 3), .sampling = SAMPLING_GREEDY};
    if (tiny_below(seed, 2)) r.sampling.temp = 0.7f;
    if (tiny_below(seed, 2)) r.sampling.top_p = 0.8f;
    if (tiny_below(seed, 2)) r.sampling.repeat = 1.2f;
    if (tiny_below(seed, 2)) r.sampling.bias = &bias, r.sampling.n_bias = 1;
    return ops->submit(e, &r, &id, err) ? 0 : id;
}

/* Steps until there is nothing to do; the passes that failed. */
static int run(struct engine *e, struct err *err)
{
    struct engine_event ev[64];
    int failed = 0, steps = 0;
    for (int n = 1; n > 0; steps++) {
        struct err now = {0};
        n = ops->step(e, ev, 64, &now);
        if (now.code) *err = now, failed++;
        CHECK(steps < 200);
    }
    return failed;
}

static void serve(struct engine *e, uint32_t *seed)
{
    struct err err = {0};
    int id = submit(e, seed, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(run(e, &err), 0);
    CHECK_STR(err.text, "");
    CHECK_EQ(atomic_load(&ops->answer(e, id)->n_tokens), NEW);
    ops->drop(e, id);
}

/* The ledger is what is taken, to the byte, and nobody holds any of it who has ended. */
static void check_balance(struct engine *e)
{
    const struct engine_info *i = ops->info(e);
    const struct ledger *l = &i->ledger;
    struct engine_snapshot s;
    uint64_t device = 0;
    for (int c = 0; c < LEDGER_CONTEXT; c++) device += l->bytes[c];
    CHECK_EQ(shim_bytes(), device);
    if (shim_made_up()) CHECK_EQ(shim_driver(), l->bytes[LEDGER_CONTEXT]);
    CHECK_EQ(shim_bytes(), i->weight_bytes + i->work_bytes + i->kv_bytes);
    ops->snapshot(e, &s);
    CHECK_EQ(s.running + s.waiting + s.parked, 0);
    CHECK_EQ(s.reserved_tokens, 0);
}

static bool one_line(const struct err *err) { return *err->text && !strchr(err->text, '\n'); }

/* ------------------------------------------------------------------------- memory */

TEST(memory_is_taken_at_the_start_as_the_ledger_says_and_never_after)
{
    struct engine_memory before, after;
    uint32_t seed = 5;
    CHECK_EQ(shim_bytes(), 0);
    struct engine_config cfg = config(KT_Q8_0, "cuda");
    const long slabs = shim_slabs();
    struct engine *e = open_engine(&cfg);
    const struct engine_info *info = ops->info(e);
    const long takings = shim_takings();
    CHECK_EQ(shim_slabs() - slabs, 1); /* weights, workspace and pages */
    CHECK(info->on_device);
    CHECK(strstr(info->backend, "(sm_") && strstr(info->kernels, "Q8_0: cuda dp4a and mma int8, exact"));
    ops->memory(e, &before);
    for (int i = 0; i < (CHECK_SANITIZED ? 5 : 60); i++) {
        struct err err = {0};
        int id[3];
        for (int k = 0; k < 3; k++) id[k] = submit(e, &seed, &err);
        run(e, &err);
        CHECK_STR(err.text, "");
        for (int k = 0; k < 3; k++) ops->drop(e, id[k]);
    }
    ops->memory(e, &after);
    CHECK_EQ(shim_takings(), takings);
    CHECK_MEM(&before, &after, sizeof before);
    check_balance(e);
    CHECK_EQ(after.ours, shim_bytes());
    if (shim_made_up()) { /* a device of that size, not this machine, and nobody else is on it */
        CHECK_EQ(after.context, shim_driver());
        CHECK(after.context > (size_t)96 << 20); /* the context, and kernels */
        CHECK_EQ(after.total, (uint64_t)4 << 30);
        CHECK_EQ(after.free, after.total - after.ours - after.context);
        CHECK_EQ(after.outside, 0);
    }
    ops->close(e);
    CHECK_EQ(shim_bytes() + shim_kept(), 0);
    e = open_engine(&cfg); /* the context stayed, and is known from the first time */
    check_balance(e);
    ops->close(e);
}

TEST(a_share_by_vram_is_one_of_the_device)
{
    struct engine_config cfg = config(KT_F16, "cuda");
    cfg.vram_part = 0.25;
    struct engine *e = open_engine(&cfg);
    struct engine_memory m;
    ops->memory(e, &m);
    const uint64_t ceiling = ops->info(e)->ledger.ceiling;
    if (shim_made_up()) CHECK_EQ(ceiling, (uint64_t)1 << 30);
    CHECK(ceiling > (m.free + m.ours) / 5 && ceiling <= m.total / 4); /* of what is free, and that is not all */
    ops->close(e);
}

TEST(a_pass_has_the_rows_that_suit_a_device_if_nobody_says)
{
    struct engine_config cfg = config(KT_F16, "cuda");
    cfg.max_rows = 0;
    struct engine *e = open_engine(&cfg);
    CHECK_EQ(ops->info(e)->max_rows, 1024); /* chunk.c, for up to 300 million parameters */
    check_balance(e);
    ops->close(e);
}

TEST(the_ceiling_is_the_devices_and_what_lies_on_the_host_has_its_own)
{
    struct engine_config cfg = config(KT_F16, "cuda");
    struct err err = {0};
    struct engine *e = open_engine(&cfg);
    const struct ledger l = ops->info(e)->ledger;
    uint64_t device = 0;
    for (int c = 0; c <= LEDGER_CONTEXT; c++) device += l.bytes[c];
    CHECK(l.host > 0 && l.bytes[LEDGER_STAGING] > 1 << 20 && ledger_host(&l) > 0);
    CHECK_EQ(ledger_under(&l), device);
    CHECK_EQ(ledger_total(&l), device + ledger_host(&l));
    ops->close(e);

    cfg.vram = device; /* to the byte, with many times that on the host */
    cfg.text_bytes = 2 * (device + (1 << 20));
    e = open_engine(&cfg);
    CHECK_EQ(ops->info(e)->ledger.ceiling, device);
    ops->close(e);
    struct buf would = {0};
    cfg.vram = device - 1;
    cfg.fits = &would;
    CHECK(ops->open(&cfg, &err) == NULL);
    CHECK(strstr(would.data, "what fits in ") && strstr(would.data, "vllm serve NAME --tensor-parallel-size 2"));
    cfg.fits = NULL;
    buf_free(&would);
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "context ") && strstr(err.text, "--vram allows"));

    cfg.vram = 0;
    cfg.text_bytes = hostmem_available() / 4 * 3;
    CHECK(ops->open(&cfg, &err) == NULL);
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "of the machine's own memory"));
    CHECK_EQ(shim_bytes() + shim_kept(), 0);
}

/* ---------------------------------------------------------------- calls that fail */

/* Every call that opening makes fails, once or with all that come: one line, and nothing is left taken. */
static void sweep_opening(void (*fail)(long at, int code))
{
    struct engine_config cfg = config(KT_F16, "cuda");
    long at = 1;
    for (;; at += STEP) {
        struct err err = {0};
        fail(at, SHIM_OUT_OF_MEMORY);
        struct engine *e = ops->open(&cfg, &err);
        const bool all = !shim_failed();
        shim_fail(0, 0);
        CHECK(e || !all); /* what is only asked for its figures may fail */
        if (e) ops->close(e);
        CHECK_EQ(shim_bytes() + shim_kept(), 0);
        if (all) break;
        if (!e) CHECK(one_line(&err) && strstr(err.text, "cudaErrorMemoryAllocation"));
    }
    CHECK(at > 20);
}

TEST(opening_may_fail_at_every_call) { sweep_opening(shim_fail); }
TEST(opening_may_lose_the_device_at_every_call) { sweep_opening(shim_lose); }

TEST(serving_may_fail_at_every_call_and_the_next_request_is_served)
{
    struct engine_config cfg = config(KT_Q8_0, "cuda");
    struct engine *e = open_engine(&cfg);
    uint32_t seed = 8;
    int failed = 0;
    for (long at = 1;; at += STEP) {
        struct err err = {0};
        shim_fail(at, SHIM_LAUNCH_FAILURE);
        int id = submit(e, &seed, &err);
        CHECK_STR(err.text, "");
        int passes = run(e, &err);
        const bool all = !shim_failed();
        shim_fail(0, 0);
        const struct answer *a = ops->answer(e, id);
        CHECK_EQ(atomic_load(&a->end), passes ? END_FAULT : END_LENGTH);
        if (passes) CHECK(one_line(&err) && strcmp(a->fault, err.text) == 0 &&
                          strstr(err.text, "cudaErrorLaunchFailure"));
        ops->drop(e, id);
        check_balance(e);
        if (failed % 16 == 0) serve(e, &seed);
        failed += passes;
        if (all) break;
    }
    CHECK(failed > (CHECK_SANITIZED ? 4 : 50));
    serve(e, &seed);
    ops->close(e);
    CHECK_EQ(shim_bytes() + shim_kept(), 0);
}

TEST(a_device_that_is_lost_is_said_once_and_for_all_in_one_line)
{
    uint32_t seed = 9;
    int lost = 0;
    for (long at = 1;; at += 41 * STEP) {
        struct engine_config cfg = config(KT_F16, "cuda");
        struct err err = {0}, again = {0};
        struct engine_memory m;
        struct engine *e = open_engine(&cfg);
        shim_lose(at, SHIM_LAUNCH_FAILURE);
        int id = submit(e, &seed, &err), other = submit(e, &seed, &err), third = submit(e, &seed, &err);
        int passes = run(e, &err);
        const bool all = !shim_failed();
        if (!all) {
            lost++;
            CHECK(passes >= 1 && one_line(&err) && strstr(err.text, "was lost at "));
            const int ids[] = {id, other, third};
            for (int i = 0; i < 3; i++) {
                const struct answer *a = ops->answer(e, ids[i]);
                if (atomic_load(&a->end) == END_LENGTH) continue;
                CHECK_EQ(atomic_load(&a->end), END_FAULT);
                CHECK(strncmp(a->fault, err.text, sizeof a->fault - 1) == 0);
            }
            CHECK_EQ(submit(e, &seed, &again), 0);
            CHECK_EQ(again.code, ENGINE_FAULT);
            CHECK_STR(again.text, err.text);
            ops->memory(e, &m);
            CHECK_EQ(m.total, 0);
        }
        ops->drop(e, id), ops->drop(e, other), ops->drop(e, third);
        check_balance(e);
        ops->close(e);
        shim_fail(0, 0);
        CHECK_EQ(shim_bytes() + shim_kept(), 0);
        if (all) break;
    }
    CHECK(lost > 0);
}

/* ------------------------------------------------------------------------- starting */

static void refused(const char *backend, const char *why)
{
    struct err err = {0};
    struct engine_config cfg = config(KT_F16, backend);
    CHECK(ops->open(&cfg, &err) == NULL);
    CHECK(one_line(&err) && strstr(err.text, why));
    CHECK_EQ(shim_bytes() + shim_kept(), 0);
}

/* auto takes the CPU and says why, or nothing where there is nothing to say. */
static void falls_back(const char *why)
{
    uint32_t seed = 10;
    struct engine_config cfg = config(KT_F16, NULL);
    struct engine *e = open_engine(&cfg);
    const char *note = ops->info(e)->note;
    CHECK(!ops->info(e)->on_device);
    if (why) CHECK(strncmp(note, "the CPU serves, not the GPU: ", 29) == 0 && strstr(note, why) && !strchr(note, '\n'));
    else CHECK_STR(note, "");
    serve(e, &seed);
    ops->close(e);
}

TEST(auto_takes_a_device_that_was_shown_right_and_else_the_cpu)
{
    struct engine_config cfg = config(KT_F16, "auto");
    struct engine *e = open_engine(&cfg);
    CHECK(!ops->info(e)->on_device);
    CHECK_STR(ops->info(e)->note, "");
    ops->close(e);
    shim_shown(true);
    e = open_engine(&cfg);
    CHECK(ops->info(e)->on_device);
    CHECK_STR(ops->info(e)->note, "");
    ops->close(e);
    shim_shown(false);
}

TEST(a_device_that_cannot_serve_is_one_clear_line_and_auto_takes_the_cpu)
{
    shim_shown(true);
    shim_machine(1, 0);
    refused("cuda", "no CUDA driver");
    falls_back(NULL);
    shim_machine(0, 13000);
    refused("cuda", "no CUDA device");
    falls_back(NULL);
    shim_machine(1, 12080);
    refused("cuda", "the driver is too old: it serves CUDA 12.8, these kernels need 13.0");
    falls_back("the driver is too old");
    shim_machine(1, 13000);
    shim_arch(7);
    refused("cuda", shim_made_up() ? "is of sm_70, for which" : ", for which the object");
    falls_back(shim_made_up() ? "is of sm_70, for which" : ", for which the object");
    shim_arch(9);
    shim_fail(6, SHIM_OUT_OF_MEMORY);
    refused("cuda", "cudaErrorMemoryAllocation");
    shim_fail(6, SHIM_OUT_OF_MEMORY);
    falls_back("cudaErrorMemoryAllocation");
    shim_shown(false);
}

/* Somebody else takes the device between the plan and the taking, or it is lost while weights go over. */
TEST(auto_takes_the_cpu_when_the_device_fails_while_the_model_goes_there)
{
    struct engine_config cfg = config(KT_F16, "auto");
    struct err err = {0};
    int taken = 0, lost = 0;
    shim_shown(true);
    for (long at = 1;; at++) {
        (at % 2 ? shim_fail : shim_lose)(at, SHIM_OUT_OF_MEMORY);
        struct engine *e = ops->open(&cfg, &err);
        const bool all = !shim_failed();
        shim_fail(0, 0);
        if (e && !ops->info(e)->on_device) {
            CHECK(strstr(ops->info(e)->note, "cudaErrorMemoryAllocation"));
            taken += strstr(ops->info(e)->note, "cannot take ") != NULL;
            lost += strstr(ops->info(e)->note, "was lost at ") != NULL;
        }
        if (e) ops->close(e);
        CHECK_EQ(shim_bytes() + shim_kept(), 0);
        if (all) break;
    }
    CHECK(taken > 0 && lost > 0);
    shim_shown(false);
}

CHECK_MAIN
