/* shown.c - set when a result file under tests/gpu/ shows the CUDA kernels right on a device: then --backend auto takes
 * one that is there. */
#include "kernels/cuda/cuda.h"

bool cuda_shown(void) { return false; }
