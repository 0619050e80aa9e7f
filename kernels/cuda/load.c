/* load.c - the object with the CUDA kernels: beside the program, or where make install puts it; by absolute path, and
 * opened once.  The program has no other tie to CUDA. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gpu.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

static const char *const places[] = {"plimsoll-cuda.so", "../lib/plimsoll/plimsoll-cuda.so"};

static struct {
    pthread_mutex_t lock;
    bool tried;
    const struct gpu_face *face;
    char why[400];
} object = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The object at `path`, or NULL and why. */
static const struct gpu_face *open_object(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(object.why, sizeof object.why, "the CUDA kernels cannot be opened: %s", dlerror());
        return NULL;
    }
    const struct gpu_face *(*face)(void);
    *(void **)&face = dlsym(handle, "plimsoll_gpu_face");
    if (face && face()->version == GPU_FACE) return face();
    snprintf(object.why, sizeof object.why, "the CUDA kernels beside the program are not of its version: run make");
    dlclose(handle);
    return NULL;
}

static void find_object(void)
{
    char program[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) n = 0;
    program[n] = '\0';
    char *name = strrchr(program, '/');
    if (name) name[1] = '\0';
    for (size_t i = 0; i < COUNT_OF(places) && n > 0; i++) {
        snprintf(path, sizeof path, "%s%s", program, places[i]);
        if (access(path, F_OK) != 0) continue;
        object.face = open_object(path);
        return;
    }
    snprintf(object.why, sizeof object.why, "there is no %s beside the program: make builds it where nvcc is",
             places[0]);
}

const struct gpu_face *cuda_face(struct err *err)
{
    pthread_mutex_lock(&object.lock);
    if (!object.tried) find_object();
    object.tried = true;
    pthread_mutex_unlock(&object.lock);
    if (!object.face) err_set(err, -1, "%s; or use --backend cpu", object.why);
    return object.face;
}
