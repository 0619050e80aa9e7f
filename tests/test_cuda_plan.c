/* test_cuda_plan.c - a plan for the CUDA backend beside the engine on its kernels, compiled for the host: what was
 * planned for the device is what is then taken of its memory, to the byte. */
#include "tests/cuda_on_cpu/shim.h"
#include "tests/plan_rig.h"

TEST(plan_says_byte_for_byte_what_a_device_gives)
{
    const int rounds = CHECK_SANITIZED ? 6 : 20;
    uint32_t seed = 31;
    int opened = 0, refused = 0;
    struct err err = {0};
    struct kdev *d = kern_cuda()->open(NULL, &err);
    CHECK_STR(err.text, "");
    plan_context = kern_cuda()->context(d);
    kern_cuda()->close(d);
    CHECK(plan_context > 0);
    for (int m = 0; m < plan_models(); m++) {
        for (int round = 0; round < rounds; round++) {
            struct engine_config cfg = plan_options(&seed);
            struct plan p;
            cfg.model = plan_model[m];
            cfg.backend = "cuda";
            cfg.ctx = MIN(cfg.ctx, 512);
            CHECK_EQ(shim_bytes(), 0);
            struct engine *e = plan_and_open(&cfg, &p);
            opened += e != NULL;
            refused += e == NULL;
            if (e) CHECK_EQ(shim_bytes(), plan_device_bytes(&p));
            if (e) CHECK(p.on_device);
            if (e) engine_local.close(e);
        }
    }
    printf("  %d opened, %d refused as foretold\n", opened, refused);
    CHECK(opened > refused && refused > 0);
}

/* For another machine's GPU no device is needed here, and none is opened. */
TEST(plan_for_a_gpu_by_name_opens_no_device)
{
    struct err err = {0};
    struct plan p;
    struct plan_ask ask = {.engine = {.model = plan_model[plan_models() - 1], .backend = "cuda", .template = -1,
                                      .kv_type = KT_F16},
                           .gpu = plan_gpu_find("rtx-4090", &err)};
    shim_machine(0, 12040);
    CHECK_EQ(plan_make(&ask, &p, &err), 0);
    CHECK_EQ(p.total, (uint64_t)24564 << 20);
    CHECK_EQ(p.have, p.total - p.driver);
    CHECK_EQ(p.ledger.bytes[LEDGER_CONTEXT], PLAN_CONTEXT);
    CHECK_EQ(p.ledger.ceiling, p.have - (p.have - PLAN_CONTEXT) / 10);
    ask.gpu = NULL;
    CHECK(plan_make(&ask, &p, &err) != 0);
    CHECK(strstr(err.text, "--backend cpu"));
    shim_machine(1, 13000);
    CHECK_EQ(plan_make(&ask, &p, &err), 0);
    CHECK_EQ(p.ledger.bytes[LEDGER_CONTEXT], shim_driver());
    CHECK(p.have > shim_driver() && p.ledger.ceiling == p.have - (p.have - shim_driver()) / 10);
    CHECK_EQ(p.reserve, p.have - p.ledger.ceiling);
    CHECK_EQ(shim_bytes(), 0);
    CHECK_EQ(shim_kept(), 0);
}

/* auto is what a session would take, under whatever ceiling: the CPU, where no device can serve. */
TEST(plan_by_auto_is_of_what_serves_here)
{
    static const uint64_t vram[] = {0, (uint64_t)1 << 30};
    struct err err = {0};
    struct plan p;
    struct plan_ask ask = {.engine = {.model = plan_model[plan_models() - 1], .backend = "auto", .template = -1,
                                      .kv_type = KT_F16}};
    shim_shown(true);
    for (size_t i = 0; i < COUNT_OF(vram); i++) {
        ask.engine.vram = vram[i];
        shim_machine(0, 13000);
        CHECK_EQ(plan_make(&ask, &p, &err), 0);
        CHECK(!p.on_device && !p.by_allowance);
        CHECK_EQ(p.ledger.bytes[LEDGER_CONTEXT], 0);
        shim_machine(1, 12080); /* the driver is too old */
        CHECK_EQ(plan_make(&ask, &p, &err), 0);
        CHECK(!p.on_device);
        shim_machine(1, 13000);
        CHECK_EQ(plan_make(&ask, &p, &err), 0);
        CHECK(p.on_device && !p.by_allowance);
        CHECK_EQ(p.ledger.bytes[LEDGER_CONTEXT], shim_driver());
        CHECK(p.have >= p.ledger.ceiling);
        CHECK_EQ(shim_bytes() + shim_kept(), 0);
    }
    shim_shown(false);
}

CHECK_MAIN
