/* nvml.h - the calls of the driver's management library that say what memory a device has. */
#ifndef CUDA_NVML_H
#define CUDA_NVML_H
#include "plimsoll.h"

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_library {
    int (*device)(const char *bus, void **device);
    int (*memory)(void *device, struct nvml_memory *out);
};

/* The library's calls by their names, and its beginning; false: it lacks one, or does not begin. */
bool nvml_find(struct nvml_library *l, void *(*symbol)(const char *name));
/* Bytes of the device on this bus; false: the library does not say, or says what cannot be. */
bool nvml_free(const struct nvml_library *l, const char *bus, uint64_t *free_bytes, uint64_t *all);
#endif
