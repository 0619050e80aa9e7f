/* nvml.c - a device's memory before it is opened.  CUDA itself can only be asked by a process that has a context there,
 * which takes some hundred MiB for good; the driver's management library says it to anyone (its API reference has the
 * calls: docs.nvidia.com/deploy/nvml-api).  The library is left open. */
#include "kernels/cuda/cuda.h"
#include <dlfcn.h>
#include <pthread.h>

struct memory {
    unsigned long long total, free, used;
};

typedef int init_call(void);
typedef int device_call(const char *bus, void **device);
typedef int memory_call(void *device, struct memory *out);

static struct {
    pthread_once_t once;
    device_call *device;
    memory_call *memory; /* NULL: there is no such library */
} nvml = {.once = PTHREAD_ONCE_INIT};

static void begin(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    init_call *init;
    memory_call *memory;
    if (!library) return;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml.device = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
    if (init && nvml.device && memory && init() == 0) nvml.memory = memory;
}

bool cuda_free_unopened(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    struct memory m = {0};
    void *device = NULL;
    pthread_once(&nvml.once, begin);
    if (!nvml.memory || nvml.device(bus, &device) || nvml.memory(device, &m)) return false;
    *free_bytes = m.free, *all = m.total;
    return true;
}
