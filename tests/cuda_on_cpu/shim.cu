/* shim.cu - the shim's knobs, for tests in C. */
extern "C" {
#include "tests/cuda_on_cpu/shim.h"
}
#include <cuda_runtime.h>

bool shim_made_up(void)
{
    return true;
}

void shim_machine(int devices, int driver)
{
    shim_device.devices = devices;
    shim_device.driver = driver;
}

void shim_arch(int major)
{
    shim_device.major = major;
}

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

void shim_apart(void)
{
    shim_device.apart = true;
}

size_t shim_bytes(void)
{
    return shim_device.taken;
}

size_t shim_kept(void)
{
    return shim_device.pinned + shim_streams.size();
}

long shim_mallocs(void)
{
    return shim_device.mallocs;
}
