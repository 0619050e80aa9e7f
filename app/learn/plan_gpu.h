/* plan_gpu.h - well-known GPUs by name: how much memory each has, as nvidia-smi shows it, and who saw that.
 *
 * A program gets less: the driver keeps some for itself that CUDA does not count, and a context takes more.  Both are
 * allowances, PLAN_DRIVER and PLAN_CONTEXT: the most that we know to have been measured, on the machine that
 * plan_driver_source names; smaller chips take less.  Threads: any. */
#ifndef PLAN_GPU_H
#define PLAN_GPU_H
#include "plimsoll.h"

struct plan_gpu {
    const char *name;   /* "rtx-4090" */
    const char *words;  /* "NVIDIA GeForce RTX 4090" */
    uint32_t mib;       /* nvidia-smi's total */
    const char *source; /* where that was seen */
};

extern const struct plan_gpu plan_gpus[];
extern const int plan_gpus_n;

#define PLAN_DRIVER ((uint64_t)640 << 20)
#define PLAN_CONTEXT ((uint64_t)555 << 20)
extern const char plan_driver_source[];

/* However it is written: "RTX 4090", "rtx4090", "NVIDIA A100-SXM4-80GB" as nvidia-smi has it.  NULL: err names those
 * that are near, or where all are. */
const struct plan_gpu *plan_gpu_find(const char *name, struct err *err);

/* What tells a name from others: its letters, digits and points, without the words that say nothing (idle, lower case,
 * ends with NULL).  Cut at n - 1 bytes; returns how many. */
size_t plan_skeleton(const char *name, const char *const *idle, char *out, size_t n);

/* Whether a name that a person typed is this one; upper case, blanks and underlines are as good.  For other tables. */
bool plan_same_name(const char *typed, const char *name);
#endif
