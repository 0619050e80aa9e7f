/* test_local_idle.c - an engine that has nothing to do uses no processor time, before its first request and after. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time of all threads over 2 s of the clock: it does not grow with what others do on the machine.  One thread
 * that spun or looked about would take 2 s of it. */
static void check_idle(void)
{
    double before = cpu_seconds();
    sleep(2);
    CHECK(cpu_seconds() - before < 0.02);
}

TEST(an_idle_engine_takes_no_processor_time)
{
    const struct engine_ops *ops = &engine_local;
    const struct tiny t = TINY_LLAMA;
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "idle.gguf"), .ctx = 64, .max_seqs = 2, .template = -1,
                                .kern = {.pin = true}};
    int32_t ids[20];
    int id;
    for (int i = 0; i < 20; i++) ids[i] = TINY_BYTE0 + i;
    struct request r = {.ids = ids, .n_ids = 20, .max_tokens = 20, .sampling = SAMPLING_GREEDY, .ignore_end = true};
    struct engine *e = ops->open(&cfg, NULL);
    CHECK(e);
    check_idle();
    CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
    while (atomic_load(&ops->answer(e, id)->end) == END_NONE) {
        static struct engine_event ev[16];
        struct err err = {0};
        ops->step(e, ev, 16, &err);
        CHECK_EQ(err.code, 0);
    }
    check_idle();
    ops->close(e);
}

CHECK_MAIN
