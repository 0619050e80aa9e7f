/* shim.cu - the shim's knobs, for tests in C. */
extern "C" {
#include "tests/cuda_on_cpu/shim.h"
}
#include <cublasLt.h>
#include <cuda_runtime.h>

bool shim_made_up(void)
{
    return true;
}

void shim_machine(int devices, int driver)
{
    shim_device.devices = devices;
    shim_device.version = driver;
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
    shim_device.stay = false;
    shim_device.failed = false;
}

void shim_lose(long at, int code)
{
    shim_fail(at, code);
    shim_device.stay = true;
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
    return shim_device.pinned + shim_streams.size() + static_cast<size_t>(shim_device.events);
}

static bool management = true;
static std::map<int, size_t> others;

void shim_management(bool there)
{
    management = there;
}

void shim_taken_of(int device, size_t bytes)
{
    others[device] = bytes;
}

bool shim_free_of(const char *bus, uint64_t *free_bytes, uint64_t *all)
{
    int device;
    if (!management || sscanf(bus, "00000000:%X:00.0", reinterpret_cast<unsigned *>(&device)) != 1) return false;
    *all = shim_device.memory;
    *free_bytes = shim_device.memory - shim_used() - others[device];
    return true;
}

void shim_blas_there(bool yes)
{
    shim_blas.there = yes;
}

long shim_blas_calls(void)
{
    return shim_blas.calls;
}

long shim_blas_objects(void)
{
    return shim_blas.open;
}

size_t shim_fetched(void)
{
    return shim_device.fetched;
}

size_t shim_driver(void)
{
    return shim_device.driver;
}

void shim_memory(size_t bytes)
{
    shim_device.memory = bytes;
}

long shim_takings(void)
{
    return shim_device.takings;
}

long shim_slabs(void)
{
    return shim_device.mallocs;
}
