/* nvml.c - NVML's calls, as its API reference has them (docs.nvidia.com/deploy/nvml-api): each returns 0 where it
 * succeeded.  The library is left open: it is asked until the program ends. */
#include "app/nvml.h"
#include "app/progress.h"
#include <dlfcn.h>

/* ---------------------------------------------------------------- the library's words */

enum { SUCCESS = 0, SENSOR_GPU = 0, FIRST = 0 };
struct utilization { unsigned gpu, memory; }; /* percent of the last period */

typedef int init_call(void);
typedef int device_call(unsigned index, void **device);
typedef int utilization_call(void *device, struct utilization *out);
typedef int temperature_call(void *device, int sensor, unsigned *celsius);
typedef int power_call(void *device, unsigned *milliwatts);

enum { INIT, DEVICE, UTILIZATION, TEMPERATURE, POWER, CALLS };
static const char *const names[CALLS] = {
    [INIT] = "nvmlInit_v2",
    [DEVICE] = "nvmlDeviceGetHandleByIndex_v2",
    [UTILIZATION] = "nvmlDeviceGetUtilizationRates",
    [TEMPERATURE] = "nvmlDeviceGetTemperature",
    [POWER] = "nvmlDeviceGetPowerUsage",
};
static_assert(CALLS <= COUNT_OF(((struct nvml *)0)->call), "room for all of them");

/* ---------------------------------------------------------------- asking */

static bool begin(struct nvml *n)
{
    for (int i = 0; i < CALLS; i++)
        if (!(n->call[i] = n->symbol(names[i])) && i <= DEVICE) return false;
    if (((init_call *)n->call[INIT])() != SUCCESS) return false;
    return ((device_call *)n->call[DEVICE])(FIRST, &n->device) == SUCCESS;
}

/* -1 where it is more than can be. */
static int sane(unsigned figure, unsigned most) { return figure <= most ? (int)figure : -1; }

static void ask(const struct nvml *n, struct nvml_figures *f)
{
    struct utilization u = {0, 0};
    unsigned celsius = 0, milliwatts = 0;
    utilization_call *load = (utilization_call *)n->call[UTILIZATION];
    temperature_call *warmth = (temperature_call *)n->call[TEMPERATURE];
    power_call *power = (power_call *)n->call[POWER];
    if (load && load(n->device, &u) == SUCCESS) f->load = sane(u.gpu, 100);
    if (warmth && warmth(n->device, SENSOR_GPU, &celsius) == SUCCESS) f->celsius = sane(celsius, 200);
    if (power && power(n->device, &milliwatts) == SUCCESS)
        f->watts = sane(milliwatts / 1000 + (milliwatts % 1000 >= 500), 10000);
}

void nvml_read_of(struct nvml *n, double now, struct nvml_figures *out)
{
    if (!n->asked) n->answers = begin(n);
    if (!n->asked || (n->answers && now >= n->next)) {
        n->last = (struct nvml_figures){-1, -1, -1};
        if (n->answers) ask(n, &n->last);
        n->next = now + 1;
    }
    n->asked = true;
    *out = n->last;
}

/* ---------------------------------------------------------------- the one that is installed */

static nvml_call *installed(const char *name)
{
    static void *library;
    if (!library) library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml_call *call = NULL;
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(&call, &symbol, sizeof call); /* POSIX has them alike; C has no conversion */
    return call;
}

void nvml_read(struct nvml_figures *out)
{
    static struct nvml n = {.symbol = installed};
    nvml_read_of(&n, progress_clock(), out);
}
