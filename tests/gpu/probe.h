/* probe.h - what a device's memory gives (probe.cu), to judge speed by. */
#ifndef GPU_PROBE_H
#define GPU_PROBE_H
#include <stddef.h>

/* GB/s (1e9), bytes read and written, of a kernel that copies `bytes` on the device that the thread has chosen, the
 * best of `rounds`.  0, or CUDA's code. */
int gpu_probe(size_t bytes, int rounds, double *gb_per_s);
#endif
