/* shim.cu - the shim's knobs, for tests in C. */
extern "C" {
#include "tests/cuda_on_cpu/shim.h"
}
#include <cuda_runtime.h>

void shim_order(int order)
{
    grid::thread_order = static_cast<grid::order>(order);
}

void shim_fail(long at, int code)
{
    shim_device.fail_at = at;
    shim_device.fail_as = static_cast<cudaError_t>(code);
    shim_device.failed = false;
}

bool shim_failed(void)
{
    return shim_device.failed;
}

void shim_driver(int version)
{
    shim_device.driver = version;
}

size_t shim_bytes(void)
{
    return shim_device.taken;
}

long shim_mallocs(void)
{
    return shim_device.mallocs;
}
