/* shown.c - what result files under tests/gpu/results/ have shown right on a device (test_gpu_check.c looks).  A path
 * that none has shown is false here: then its twin runs in its place. */
#include "kernels/cuda/cuda.h"

bool cuda_shown(enum cuda_path path)
{
    static const bool shown[] = {[CUDA_KERNELS] = true, [CUDA_BLAS] = true};
    return shown[path];
}
