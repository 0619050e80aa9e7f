/* shown.c - what result files under tests/gpu/ have shown right on a device.  For the checks themselves, which run what
 * none has shown yet, PLIMSOLL_CUDA_UNSHOWN=blas takes that as shown. */
#include "kernels/cuda/cuda.h"

bool cuda_shown(enum cuda_path path)
{
    static const struct {
        const char *name;
        bool shown;
    } paths[] = {[CUDA_KERNELS] = {"kernels", false}, [CUDA_BLAS] = {"blas", false}};
    const char *taken = getenv("PLIMSOLL_CUDA_UNSHOWN");
    return paths[path].shown || (taken && strcmp(taken, paths[path].name) == 0);
}
