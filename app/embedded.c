/* embedded.c - the file's bytes as read-only data, and a file in memory made of them. */
#include "app/embedded.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".global embedded_model\n"
        "embedded_model:\n"
        ".incbin \"assets/plimsoll-tiny.gguf\"\n"
        ".global embedded_model_end\n"
        "embedded_model_end:\n"
        ".byte 0\n"
        ".popsection\n");

const char *embedded_open(int *fd, struct err *err)
{
    static char name[40];
    size_t size = (size_t)(embedded_model_end - embedded_model), done = 0;
    *fd = memfd_create("plimsoll-tiny.gguf", MFD_CLOEXEC);
    while (*fd >= 0 && done < size) {
        ssize_t n = write(*fd, embedded_model + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (*fd < 0 || done < size) {
        err_set(err, -1, "the embedded model needs %zu bytes of memory: %s; give a model file with -m", size,
                strerror(errno));
        if (*fd >= 0) close(*fd);
        *fd = -1;
        return NULL;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", *fd);
    return name;
}
