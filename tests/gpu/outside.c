/* outside.c - in tests of whole engines on an opened object: what the backend is given from outside but that object, as
 * tests/cuda_on_cpu/face.c gives it to those that have the kernels in them. */
#include "kernels/cuda/cuda.h"
#include "tests/cuda_on_cpu/shim.h"

static bool shown[CUDA_BLAS + 1];

void shim_shown(bool yes) { shown[CUDA_KERNELS] = yes; }
void shim_blas_shown(bool yes) { shown[CUDA_BLAS] = yes; }
bool cuda_shown(enum cuda_path path) { return shown[path]; }

bool cuda_free_unopened(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    return shim_free_of(bus, free_bytes, all);
}
