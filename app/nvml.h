/* nvml.h - how busy, how warm and how hungry the first NVIDIA GPU is, where its driver's library (NVML) answers.
 *
 * The library is loaded when it is first asked; nothing of NVIDIA's is needed to build.  Where it is not there, or its
 * calls are not those that are known, it is not asked again.
 *
 * Threads: one at a time.  Errors: none; what nobody says is -1.  A call takes as long as the library takes. */
#ifndef NVML_H
#define NVML_H
#include "plimsoll.h"

struct nvml_figures { int load, celsius, watts; }; /* percent; degrees; rounded */

void nvml_read(struct nvml_figures *out); /* of at most a second ago */

/* The same with another library and clock: its calls by their names, asked for once. */
typedef void nvml_call(void);
struct nvml {
    nvml_call *(*symbol)(const char *name); /* NULL: there is no such call */
    bool asked, answers;
    double next;                /* when it may be asked again */
    struct nvml_figures last;
    void *device;
    nvml_call *call[8];
};
void nvml_read_of(struct nvml *n, double now, struct nvml_figures *out);
#endif
