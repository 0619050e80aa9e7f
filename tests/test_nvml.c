/* The GPU's figures, from a driver's library that is made up: it answers, it fails, it has not all of its calls, and it
 * says what cannot be.  Then whatever this machine has. */
#include "app/nvml.h"
#include "tests/check.h"
#include <stdio.h>

static struct {
    int inits, devices, loads, init_rc, device_rc, load_rc;
    unsigned load, celsius, milliwatts;
    const char *missing;
} lib;
static char device;

static int fake_init(void)
{
    lib.inits++;
    return lib.init_rc;
}
static int fake_device(unsigned index, void **out)
{
    CHECK_EQ(index, 0);
    lib.devices++;
    *out = &device;
    return lib.device_rc;
}
static int fake_load(void *d, unsigned out[2])
{
    CHECK(d == &device);
    lib.loads++;
    out[0] = lib.load;
    out[1] = 7;
    return lib.load_rc;
}
static int fake_celsius(void *d, int sensor, unsigned *out)
{
    CHECK(d == &device && sensor == 0);
    *out = lib.celsius;
    return 0;
}
static int fake_power(void *d, unsigned *out)
{
    CHECK(d == &device);
    *out = lib.milliwatts;
    return 0;
}

static nvml_call *symbol(const char *name)
{
    static const struct { const char *name; nvml_call *call; } calls[] = {
        {"nvmlInit_v2", (nvml_call *)fake_init},
        {"nvmlDeviceGetHandleByIndex_v2", (nvml_call *)fake_device},
        {"nvmlDeviceGetUtilizationRates", (nvml_call *)fake_load},
        {"nvmlDeviceGetTemperature", (nvml_call *)fake_celsius},
        {"nvmlDeviceGetPowerUsage", (nvml_call *)fake_power},
    };
    if (lib.missing && strcmp(lib.missing, name) == 0) return NULL;
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].call;
    check_fail(__FILE__, __LINE__, "no such call is declared: %s", name);
}

static struct nvml n;
static void begin(void)
{
    memset(&lib, 0, sizeof lib);
    lib.load = 83;
    lib.celsius = 61;
    lib.milliwatts = 239500;
    n = (struct nvml){.symbol = symbol};
}

static void check_at(double now, int load, int celsius, int watts)
{
    struct nvml_figures f = {5, 5, 5};
    nvml_read_of(&n, now, &f);
    CHECK_EQ(f.load, load);
    CHECK_EQ(f.celsius, celsius);
    CHECK_EQ(f.watts, watts);
}

TEST(nvml_says_what_the_library_says)
{
    begin();
    check_at(100, 83, 61, 240);
    lib.milliwatts = 239499;
    lib.load = 100;
    lib.celsius = 0;
    check_at(101, 100, 0, 239);
    lib.milliwatts = lib.load = 0;
    check_at(102, 0, 0, 0);
}

TEST(nvml_is_asked_once_a_second)
{
    begin();
    for (int i = 0; i < 40; i++) check_at(100 + i * 0.1, 83, 61, 240);
    CHECK_EQ(lib.loads, 4);
    CHECK_EQ(lib.inits, 1);
    CHECK_EQ(lib.devices, 1);
}

TEST(nvml_that_is_not_there_is_not_asked_again)
{
    static const char *const needed[] = {"nvmlInit_v2", "nvmlDeviceGetHandleByIndex_v2"};
    for (size_t i = 0; i < 4; i++) {
        begin();
        if (i < 2) lib.missing = needed[i];
        lib.init_rc = i == 2;
        lib.device_rc = i == 3;
        check_at(100, -1, -1, -1);
        lib.missing = NULL;
        lib.init_rc = lib.device_rc = 0;
        check_at(200, -1, -1, -1);
        CHECK_EQ(lib.loads, 0);
        CHECK_EQ(lib.inits, i >= 2);
    }
}

TEST(nvml_leaves_out_what_it_does_not_know)
{
    begin();
    lib.load_rc = 3; /* not supported, as with MIG */
    check_at(100, -1, 61, 240);
    begin();
    lib.missing = "nvmlDeviceGetTemperature";
    check_at(100, 83, -1, 240);
    begin();
    lib.missing = "nvmlDeviceGetPowerUsage";
    check_at(100, 83, 61, -1);
    begin();
    lib.load = 101;
    lib.celsius = lib.milliwatts = 0xffffffff;
    check_at(100, -1, -1, -1);
    lib.load = 99; /* and what has gone wrong once may be right again */
    check_at(101.5, 99, -1, -1);
}

TEST(nvml_of_this_machine_answers_or_does_not)
{
    struct nvml_figures f = {5, 5, 5};
    nvml_read(&f);
    printf("  load %d, celsius %d, watts %d\n", f.load, f.celsius, f.watts);
    CHECK(f.load >= -1 && f.load <= 100);
    CHECK(f.celsius >= -1 && f.celsius <= 200);
    CHECK(f.watts >= -1 && f.watts <= 10000);
}

CHECK_MAIN
