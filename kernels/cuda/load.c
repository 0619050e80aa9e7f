/* load.c - the object with the CUDA kernels: beside the program, or where make install puts it; by absolute path, and
 * opened once.  The program has no other tie to CUDA. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gpu.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {"plimsoll-cuda.so", "../lib/plimsoll/plimsoll-cuda.so"};

static struct {
    pthread_mutex_t lock;
    bool tried;
    const struct gpu_face *face;
    char why[400];
} object = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A copy that was cut off: dlopen() would map what is not there, and touching that ends the program.  What is no object
 * at all is dlopen()'s to refuse.  (Linkers put the sections' table last.) */
static bool is_cut_off(const char *path)
{
    ElfW(Ehdr) h;
    struct stat st;
    uint64_t end;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool known = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read(fd, &h, sizeof h) == sizeof h &&
                 memcmp(h.e_ident, ELFMAG, SELFMAG) == 0;
    if (fd >= 0) close(fd);
    return known && (size_add(h.e_shoff, (uint64_t)h.e_shnum * h.e_shentsize, &end) || end > (uint64_t)st.st_size);
}

/* The object at `path`, or NULL and why. */
static const struct gpu_face *open_object(const char *path)
{
    if (is_cut_off(path)) {
        snprintf(object.why, sizeof object.why, "the CUDA kernels cannot be opened: their file is cut off: run make");
        return NULL;
    }
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

/* Who has no device need not be told that its kernels are missing. */
static bool shows_device(void) { return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0; }

const struct gpu_face *cuda_face(struct err *err)
{
    pthread_mutex_lock(&object.lock);
    if (!object.tried) find_object();
    object.tried = true;
    pthread_mutex_unlock(&object.lock);
    if (!object.face)
        err_set(err, shows_device() ? -1 : CUDA_NOTHING_THERE, "%s; or use --backend cpu", object.why);
    return object.face;
}
