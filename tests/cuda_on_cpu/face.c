/* face.c - in test programs that have the CUDA kernels in them for the host: what the backend is given from outside. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gpu.h"
#include "tests/cuda_on_cpu/shim.h"

static bool shown[CUDA_BLAS + 1];

void shim_shown(bool yes) { shown[CUDA_KERNELS] = yes; }
void shim_blas_shown(bool yes) { shown[CUDA_BLAS] = yes; }
bool cuda_shown(enum cuda_path path) { return shown[path]; }

const struct gpu_face *cuda_face(struct err *err)
{
    (void)err;
    return plimsoll_gpu_face();
}

bool cuda_free_unopened(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    return shim_free_of(bus, free_bytes, all);
}
