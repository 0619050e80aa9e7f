/* named.c - the backends by their names. */
#include "kernels/kernels.h"

/* Set when a result file under tests/gpu/ shows the CUDA kernels right on a device. */
enum { SHOWN_ON_A_DEVICE = 0 };

const struct kern *kern_auto(void)
{
    struct kdev *d = SHOWN_ON_A_DEVICE ? kern_cuda()->open(NULL, NULL) : NULL;
    if (!d) return kern_cpu();
    kern_cuda()->close(d);
    return kern_cuda();
}

const struct kern *kern_named(const char *name)
{
    static const struct row {
        const char *name;
        const struct kern *(*kern)(void);
    } rows[] = {{"auto", kern_auto}, {"cpu", kern_cpu}, {"cuda", kern_cuda}, {"ref", kern_ref}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!name || strcmp(name, rows[i].name) == 0) return rows[i].kern();
    return NULL;
}
