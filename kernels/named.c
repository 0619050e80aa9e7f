/* named.c - the backends by their names. */
#include "kernels/cuda/cuda.h"
#include "kernels/kernels.h"

static const struct kern *kern_auto(void) { return cuda_shown(CUDA_KERNELS) ? kern_cuda() : kern_cpu(); }

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
