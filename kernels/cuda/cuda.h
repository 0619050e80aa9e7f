/* cuda.h - what the CUDA backend is given from outside: its device functions, and words about the machine.  (Tests put
 * functions of their own in the place of these: tests/cuda_on_cpu/face.c.) */
#ifndef CUDA_H
#define CUDA_H
#include "plimsoll.h"

struct gpu_face;

/* The face of the object beside the program, opened once; NULL: err says why there is none. */
const struct gpu_face *cuda_face(struct err *err);

/* Bytes of a device's memory, without taking any of it; bus: where it sits.  false: nobody says.  Any thread. */
bool cuda_free_unopened(const char *bus, uint64_t *free_bytes, uint64_t *all);

/* Has a device shown this right?  What none has is off: its twin runs instead. */
enum cuda_path {
    CUDA_KERNELS, /* auto may choose them */
    CUDA_BLAS     /* --fast multiplies by it; else the kernels do */
};
bool cuda_shown(enum cuda_path path);

/* err's code where no device can serve because the machine has none: nobody needs to be told that.  Else, where open()
 * failed, it is -1. */
enum { CUDA_NOTHING_THERE = -2 };
#endif
