/* shim.h - the shim as tests in C see it (shim.cu). */
#ifndef CUDA_ON_CPU_SHIM_H
#define CUDA_ON_CPU_SHIM_H
#include <stdbool.h>
#include <stddef.h>

enum { SHIM_OUT_OF_MEMORY = 2, SHIM_LAUNCH_FAILURE = 719, SHIM_UNKNOWN = 999 }; /* CUDA's numbers */

/* In which order the threads of a block run between two barriers: 0 forward, 1 backward, 2 mixed. */
void shim_order(int order);

/* The at-th call of the runtime from now on fails as `code`, once; 0: none does. */
void shim_fail(long at, int code);
bool shim_failed(void); /* it has */

void shim_driver(int version); /* 13000; 0: none */

size_t shim_bytes(void); /* of device memory that are taken */
long shim_mallocs(void); /* calls of cudaMalloc since the start */
#endif
