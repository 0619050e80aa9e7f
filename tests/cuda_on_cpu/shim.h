/* shim.h - the shim as tests in C see it (shim.cu). */
#ifndef CUDA_ON_CPU_SHIM_H
#define CUDA_ON_CPU_SHIM_H
#include <stdbool.h>
#include <stddef.h>

enum { SHIM_OUT_OF_MEMORY = 2, SHIM_LAUNCH_FAILURE = 719, SHIM_UNKNOWN = 999 }; /* CUDA's numbers */

/* It answers; in tests/gpu/ a device does, which has one name, one memory and one order of threads only. */
bool shim_made_up(void);

/* The machine from now on: so many devices, a driver of this version (0: none). */
void shim_machine(int devices, int driver);

/* Its devices are sm_MAJOR0; there are kernels for 80 and up. */
void shim_arch(int major);

/* In which order the threads of a block run between two barriers: 0 forward, 1 backward, 2 mixed. */
void shim_order(int order);

/* The at-th call of the runtime from now on fails as `code`, once; 0: none does. */
void shim_fail(long at, int code);
bool shim_failed(void); /* it has */

/* From now on device memory is a page fault for the host; it is the host's, too, otherwise. */
void shim_apart(void);

size_t shim_bytes(void); /* of device memory that are taken */
size_t shim_kept(void);  /* bytes of pinned memory, and streams, that are taken */
long shim_mallocs(void); /* calls of cudaMalloc since the start */
#endif
