/* folder.c - the names in a folder. */
#include "tools/folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct folder_entry *)a)->name, ((const struct folder_entry *)b)->name);
}

static int add(int fd, const struct dirent *d, int max, struct folder *out)
{
    struct stat st;
    if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) return 0;
    if (out->n == (size_t)max) return out->more++, 0;
    if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW)) return 0; /* it has gone since */
    if ((out->n & (out->n - 1)) == 0) { /* room for a power of two of them */
        void *p = realloc(out->entry, MAX(2 * out->n, (size_t)1) * sizeof *out->entry);
        if (!p) return -1;
        out->entry = p;
    }
    char *name = strdup(d->d_name);
    if (!name) return -1;
    out->entry[out->n++] = (struct folder_entry){name, S_ISDIR(st.st_mode), S_ISREG(st.st_mode)};
    return 0;
}

int folder_read(int fd, int max, struct folder *out)
{
    *out = (struct folder){0};
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    int rc = 0;
    for (const struct dirent *d; rc == 0 && (errno = 0, d = readdir(dir));) rc = add(fd, d, max, out);
    int why = errno;
    closedir(dir);
    if (rc || why) folder_free(out);
    else if (out->n > 1) qsort(out->entry, out->n, sizeof *out->entry, by_name);
    errno = why;
    return rc || why ? -1 : 0;
}

void folder_free(struct folder *f)
{
    for (size_t i = 0; i < f->n; i++) free(f->entry[i].name);
    free(f->entry);
    *f = (struct folder){0};
}
