/* nvml.c - a device's memory before it is opened.  CUDA itself can only be asked by a process that has a context there,
 * which takes some hundred MiB for good; the driver's management library says it to anyone (its API reference has the
 * calls: docs.nvidia.com/deploy/nvml-api; each returns 0 where it succeeded).  The library is left open. */
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/cuda.h"
#include <dlfcn.h>
#include <pthread.h>

bool nvml_find(struct nvml_library *l, void *(*symbol)(const char *name))
{
    int (*init)(void);
    *(void **)&init = symbol("nvmlInit_v2");
    *(void **)&l->device = symbol("nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&l->memory = symbol("nvmlDeviceGetMemoryInfo");
    return init && l->device && l->memory && init() == 0;
}

bool nvml_free(const struct nvml_library *l, const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    struct nvml_memory m = {0, 0, 0};
    void *device = NULL;
    if (l->device(bus, &device) || l->memory(device, &m) || m.free > m.total) return false;
    *free_bytes = m.free, *all = m.total;
    return true;
}

static struct {
    pthread_once_t once;
    void *handle;
    struct nvml_library library;
    bool there;
} own = {.once = PTHREAD_ONCE_INIT};

static void *symbol_of_own(const char *name) { return dlsym(own.handle, name); }

static void begin(void)
{
    own.handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    own.there = own.handle && nvml_find(&own.library, symbol_of_own);
}

bool cuda_free_unopened(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    pthread_once(&own.once, begin);
    return own.there && nvml_free(&own.library, bus, free_bytes, all);
}
