/* replay.c - a main for a fuzz target where libFuzzer is not: gives it each file named, or each file in a folder named,
 * once.  A file's bytes lie in a block of exactly their size, so that a sanitizer sees a read past the end.
 *
 *     build/asan/tests/fuzz_gguf tests/fuzz/corpus/gguf
 *
 * Exit: 0 all read, 1 a file could not be read or there was none; a finding ends the process. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

static int replay_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return fail(path);
    uint8_t *data = malloc(size ? size : 1);
    size_t got = data ? fread(data, 1, size, f) : 0;
    fclose(f);
    if (!data || got != size) {
        free(data);
        return fail(path);
    }
    if (getenv("V")) fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

/* Files read at path, or -1.  Folders are read one level deep; a name that begins with a dot is left out. */
static int replay(const char *path, int depth)
{
    struct stat st;
    if (stat(path, &st)) return fail(path);
    if (!S_ISDIR(st.st_mode)) return replay_file(path, (size_t)st.st_size);
    if (depth > 0) return 0;

    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort), n_read = 0;
    if (n < 0) return fail(path);
    for (int i = 0; i < n; i++) {
        char inner[4096];
        int len = snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.' && n_read >= 0) {
            int one = len < (int)sizeof inner ? replay(inner, depth + 1) : -1;
            n_read = one < 0 ? -1 : n_read + one;
        }
        free(entry[i]);
    }
    free(entry);
    return n_read;
}

int main(int argc, char **argv)
{
    int n = 0;
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        int one = replay(argv[i], 0);
        if (one < 0) return 1;
        n += one;
    }
    printf("%s: %d inputs replayed\n", argv[0], n);
    return n == 0;
}
