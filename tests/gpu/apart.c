/* apart.c - in step tests that run on an opened object: device memory is out of the host's reach, on the shim too. */
#include "tests/cuda_on_cpu/shim.h"
#include "tests/rig.h"

__attribute__((constructor)) static void set_apart(void)
{
    rig_apart = true;
    shim_apart();
}
