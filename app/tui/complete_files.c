/* complete_files.c - see complete.h: names in folders, by the system. */
#include "app/tui/complete.h"
#include "tools/path.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKED_AT = 200000 }; /* names of one folder: a person waits for this */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct folder_entry *)a)->name, ((const struct folder_entry *)b)->name);
}

/* What no mention could attach is not offered for one. */
static bool wanted(const char *name, const char *prefix, size_t n, bool mention)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (mention && !path_sayable(name))) return false;
    return strncmp(name, prefix, n) == 0 && (name[0] != '.' || prefix[0] == '.');
}

/* A link counts as what it leads to. */
static int add(int fd, const char *name, struct folder *out)
{
    struct stat st;
    if (fstatat(fd, name, &st, 0) || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) return 0;
    char *copy = strdup(name);
    if (!copy) return -1;
    out->entry[out->n++] = (struct folder_entry){copy, S_ISDIR(st.st_mode), S_ISREG(st.st_mode)};
    return 0;
}

static int list(void *arg, bool mention, const char *folder, const char *prefix, struct folder *out)
{
    const char *name = *folder ? folder : ".";
    int fd = mention ? path_open_folder(*(int *)arg, name, NULL)
                     : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    size_t n = strlen(prefix);
    int rc = dir ? 0 : -1;
    *out = (struct folder){.entry = calloc(COMPLETE_LISTED, sizeof *out->entry)};
    if (!out->entry) rc = -1;
    const struct dirent *d;
    for (int seen = 0; rc == 0 && (d = readdir(dir)); seen++) {
        if (seen == LOOKED_AT) out->more++;
        if (seen == LOOKED_AT) break;
        if (!wanted(d->d_name, prefix, n, mention)) continue;
        if (out->n == COMPLETE_LISTED) out->more++;
        else rc = add(fd, d->d_name, out);
    }
    if (dir) closedir(dir);
    else if (fd >= 0) close(fd);
    if (rc) folder_free(out);
    else qsort(out->entry, out->n, sizeof *out->entry, by_name);
    return rc;
}

static int64_t size(void *arg, const char *path)
{
    struct stat st;
    int fd = path_open_file(*(int *)arg, path, &st, NULL);
    if (fd < 0) return -1;
    close(fd);
    return st.st_size;
}

struct complete_files complete_workspace(int *root) { return (struct complete_files){list, size, root}; }
