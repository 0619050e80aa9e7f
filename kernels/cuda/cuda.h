/* cuda.h - where the CUDA backend's device functions come from. */
#ifndef CUDA_H
#define CUDA_H
#include "plimsoll.h"

struct gpu_face;

/* The face of the object beside the program, opened once; NULL: err says why there is none.  (Tests put a face of their
 * own in its place.) */
const struct gpu_face *cuda_face(struct err *err);
#endif
