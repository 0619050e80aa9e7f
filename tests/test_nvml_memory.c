/* What memory a device has, from a driver's library that is made up: it answers, it fails, it has not all of its calls,
 * and it says what cannot be.  Then whatever this machine has. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/nvml.h"
#include "tests/check.h"

static struct {
    int init_rc, device_rc, memory_rc;
    struct nvml_memory memory;
    const char *missing;
} lib;
static char device;

static int fake_init(void) { return lib.init_rc; }

static int fake_device(const char *bus, void **out)
{
    CHECK_STR(bus, "00000000:07:00.0");
    *out = &device;
    return lib.device_rc;
}

static int fake_memory(void *d, struct nvml_memory *out)
{
    CHECK(d == &device);
    *out = lib.memory;
    return lib.memory_rc;
}

static void *symbol(const char *name)
{
    if (lib.missing && strcmp(lib.missing, name) == 0) return NULL;
    if (strcmp(name, "nvmlInit_v2") == 0) return (void *)(uintptr_t)fake_init;
    if (strcmp(name, "nvmlDeviceGetHandleByPciBusId_v2") == 0) return (void *)(uintptr_t)fake_device;
    CHECK_STR(name, "nvmlDeviceGetMemoryInfo");
    return (void *)(uintptr_t)fake_memory;
}

static bool ask(uint64_t *free_bytes, uint64_t *all)
{
    struct nvml_library l;
    return nvml_find(&l, symbol) && nvml_free(&l, "00000000:07:00.0", free_bytes, all);
}

TEST(a_device_says_what_memory_it_has_without_being_opened)
{
    uint64_t free_bytes = 0, all = 0;
    lib.memory = (struct nvml_memory){.total = 24000, .free = 20000, .used = 4000};
    CHECK(ask(&free_bytes, &all));
    CHECK_EQ(free_bytes, 20000);
    CHECK_EQ(all, 24000);
}

TEST(what_fails_or_lacks_a_call_or_cannot_be_is_no_answer)
{
    static const char *const names[] = {"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetMemoryInfo"};
    int *const rcs[] = {&lib.init_rc, &lib.device_rc, &lib.memory_rc};
    uint64_t free_bytes = 1, all = 2;
    lib.memory = (struct nvml_memory){.total = 24000, .free = 20000, .used = 4000};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        lib.missing = names[i];
        CHECK(!ask(&free_bytes, &all));
        lib.missing = NULL;
        *rcs[i] = 3;
        CHECK(!ask(&free_bytes, &all));
        *rcs[i] = 0;
    }
    lib.memory.free = 24001;
    CHECK(!ask(&free_bytes, &all));
    CHECK(free_bytes == 1 && all == 2);
}

TEST(whatever_this_machine_has_is_asked_without_harm)
{
    uint64_t free_bytes = 0, all = 0;
    if (cuda_free_unopened("00000000:00:00.0", &free_bytes, &all)) CHECK(free_bytes <= all);
}

CHECK_MAIN
