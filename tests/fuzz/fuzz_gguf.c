/* fuzz_gguf.c - any bytes as a GGUF file: opened, asked everything, cut while open, closed.
 *
 * covers: engine/gguf.c engine/gguf_parse.c engine/gguf_keys.c
 *
 * The seeds are files that tests/test_gguf*.c make (GGUF_CORPUS=folder build/tests/test_gguf), less those that reach
 * nothing new. */
#include "engine/gguf.h"
#include "tests/gguf_walk.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same file is cut to half, as if it were still being written: reading on is an error then, and no crash. */
static void cut_while_open(int fd, const struct gguf *g, size_t size)
{
    struct err err = {0};
    uint8_t byte;
    uint64_t n = gguf_n_tensors(g);
    if (n == 0) return;
    const struct gguf_tensor *last = gguf_tensor_at(g, n - 1);
    walk_must(ftruncate(fd, (off_t)MIN(size / 2, last->offset)) == 0);
    walk_must(gguf_read(g, last, last->bytes - 1, &byte, 1, &err) == -1);
    walk_message(err.text);
    walk_must(gguf_unchanged(g, &err) == -1);
    walk_message(err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    struct err err = {0};
    if (fd < 0) fd = memfd_create("gguf", MFD_CLOEXEC);
    walk_must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    struct gguf *g = gguf_open(path, &err);
    if (!g) {
        walk_must(err.code == -1);
        walk_message(err.text);
        return 0;
    }
    walk(g);
    cut_while_open(fd, g, size);
    gguf_close(g);
    return 0;
}
