/* shim.h - the shim as tests in C see it (shim.cu). */
#ifndef CUDA_ON_CPU_SHIM_H
#define CUDA_ON_CPU_SHIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUDA's numbers */
enum { SHIM_OUT_OF_MEMORY = 2, SHIM_NO_KERNELS = 209, SHIM_LAUNCH_FAILURE = 719, SHIM_UNKNOWN = 999 };

/* It answers; in tests/gpu/ a device does, which has one name, one memory and one order of threads only. */
bool shim_made_up(void);

/* The machine from now on: so many devices, a driver of this version (0: none; below 13000: too old). */
void shim_machine(int devices, int driver);
void shim_memory(size_t bytes); /* of each of them: 4 GiB if nobody says */

/* Its devices are sm_MAJOR0; there are kernels for 80 and up. */
void shim_arch(int major);

/* In which order the threads of a block run between two barriers: 0 forward, 1 backward, 2 mixed. */
void shim_order(int order);

/* The at-th call of the runtime from now on fails as `code`, once; 0: none does. */
void shim_fail(long at, int code);
void shim_lose(long at, int code); /* from then on all do, until shim_fail(0, 0) */
bool shim_failed(void); /* it has */

/* --backend auto takes a device from now on, as if one had shown the kernels right, or does not. */
void shim_shown(bool yes);
void shim_blas_shown(bool yes); /* as if one had shown cuBLASLt right */
void shim_blas_there(bool yes); /* the library can be opened, or cannot */
long shim_blas_calls(void);     /* products that it made since the start */
long shim_blas_objects(void);   /* of its own that are not given back */

/* What the driver's management library says of the device on this bus, without a call of CUDA's; false: it is not
 * there.  shim_taken_of: so many bytes of that device are others'. */
bool shim_free_of(const char *bus, uint64_t *free_bytes, uint64_t *all);
void shim_management(bool there);
void shim_taken_of(int device, size_t bytes);

/* From now on device memory is a page fault for the host; it is the host's, too, otherwise. */
void shim_apart(void);

size_t shim_bytes(void); /* of device memory that are taken */
size_t shim_kept(void);  /* bytes of pinned memory, and streams and events, that are taken */
size_t shim_fetched(void); /* bytes that were copied from the device since the start */
size_t shim_driver(void); /* bytes of device memory that contexts and loaded kernels take: until the program ends */
/* How often memory was asked for since the start: the device's, pinned, for streams and events, and for a kernel that
 * was loaded (which its first launch does, if nothing did before). */
long shim_takings(void);
long shim_slabs(void); /* how often of that it was the device's */
#endif
