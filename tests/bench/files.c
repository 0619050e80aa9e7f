/* files.c - the model files that are measured: true shapes, random weights, made once and kept in build/bench/. */
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const char maker[] = "../shared/bin/make_gguf.py";

static uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Say how large the growing file is, until the child has ended; its exit code. */
static int watch(pid_t pid, const char *name, const char *part)
{
    bool terminal = isatty(2);
    int status = 0;
    for (int turn = 1; waitpid(pid, &status, WNOHANG) == 0; turn++) {
        usleep(250000);
        if (terminal || turn % 20 == 0)
            fprintf(stderr, "%sbench: making %s: %llu MB%s", terminal ? "\r" : "", name,
                    (unsigned long long)(file_size(part) / 1000000), terminal ? "" : "\n");
    }
    if (terminal) fputs("\r\033[K", stderr);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int make_file(const struct subject *s, struct err *err)
{
    static const uint64_t room = (uint64_t)3 << 30;
    char part[sizeof s->path + 8];
    struct statvfs fs;
    if (access(maker, R_OK))
        return err_set(err, -1, "%s is not there, nor %s, which makes it: name a file with --models FILE.gguf",
                       s->path, maker);
    if (statvfs(".", &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < room)
        return err_set(err, -1, "less than 3 GiB of disk are free: no room to make %s", s->path);
    snprintf(part, sizeof part, "%s.part", s->path);
    fprintf(stderr, "bench: making %s (once)\n", s->path);
    char *const argv[] = {"python3", (char *)maker, "--shape", (char *)s->name, "--type", (char *)s->type, part, NULL};
    pid_t pid = child_start(argv, NULL, err);
    if (pid < 0) return -1;
    int code = watch(pid, s->path, part);
    if (code) {
        unlink(part);
        return err_set(err, -1, "%s ended with %d: %s was not made (a shape or type that it does not know?)", maker,
                       code, s->path);
    }
    if (rename(part, s->path)) return err_set(err, -1, "%s: %s", s->path, strerror(errno));
    return 0;
}

/* Into the page cache, so that the first to load it has no harder a task than the second. */
static int warm(struct subject *s, struct err *err)
{
    enum { CHUNK = 1 << 20 };
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    char *chunk = malloc(CHUNK);
    ssize_t n = fd < 0 || !chunk ? -1 : 1;
    while (n > 0) {
        n = read(fd, chunk, CHUNK);
        if (n > 0) s->file_bytes += (uint64_t)n;
    }
    if (n < 0) err_set(err, -1, "%s: %s", s->path, strerror(errno));
    free(chunk);
    if (fd >= 0) close(fd);
    return n < 0 ? -1 : 0;
}

static bool is_path(const char *model)
{
    size_t n = strlen(model);
    return n > 5 && strcmp(model + n - 5, ".gguf") == 0;
}

static void name_given(struct subject *s, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(s->name, sizeof s->name, "%.*s", (int)MIN(strlen(base) - 5, sizeof s->name - 1), base);
    snprintf(s->type, sizeof s->type, "as is");
    snprintf(s->path, sizeof s->path, "%s", path);
    s->given = true;
    /* One that a bench made has its goals by whatever way it comes here. */
    char *dash = strrchr(s->name, '-');
    if (!dash) return;
    *dash = '\0';
    if (goal_has(s->name, dash + 1)) snprintf(s->type, sizeof s->type, "%.15s", dash + 1);
    else *dash = '-';
}

static void name_made(struct subject *s, const struct options *o, const char *shape, const char *type)
{
    snprintf(s->name, sizeof s->name, "%.*s", (int)sizeof s->name - 1, shape);
    snprintf(s->type, sizeof s->type, "%s", type);
    snprintf(s->path, sizeof s->path, "%s/%.64s-%s.gguf", o->folder, s->name, s->type);
}

/* The tests of depth are for the smallest file of each shape. */
static void mark_smallest(struct subject *s, int n)
{
    for (int i = 0; i < n; i++) {
        s[i].smallest = true;
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(s[k].name, s[i].name) == 0 &&
                (s[k].file_bytes < s[i].file_bytes || (s[k].file_bytes == s[i].file_bytes && k < i)))
                s[i].smallest = false;
    }
}

/* Names and places of all files that are asked for, there or not; their number. */
static int list_files(const struct options *o, struct subject *s, int cap)
{
    int n = 0;
    for (int m = 0; m < o->models; m++) {
        int types = is_path(o->model[m]) ? 1 : o->types;
        for (int t = 0; t < types && n < cap; t++, n++) {
            s[n] = (struct subject){0};
            if (is_path(o->model[m])) name_given(&s[n], o->model[m]);
            else name_made(&s[n], o, o->model[m], o->type[t]);
            s[n].plan = strcmp(s[n].name, BENCH_EMBEDDED) ? &o->plan : &o->embedded;
        }
    }
    return n;
}

int files_ready(const struct options *o, struct subject *s, int cap, struct err *err)
{
    int asked = list_files(o, s, cap), n = 0;
    bool made = false;
    if (mkdir(o->folder, 0777) && errno != EEXIST) return err_set(err, -1, "%s: %s", o->folder, strerror(errno));
    for (int i = 0; i < asked; i++) {
        bool make = !s[i].given && file_size(s[i].path) == 0;
        if (make && make_file(&s[i], err)) {
            fprintf(stderr, "bench: %s %s is left out: %s\n", s[i].name, s[i].type, err->text);
            continue;
        }
        made |= make;
        s[n++] = s[i];
    }
    if (made) sync(); /* else the system writes them back while we measure */
    for (int i = 0; i < n; i++)
        if (warm(&s[i], err) || cost_read(s[i].path, &s[i].cost, err)) return -1;
    mark_smallest(s, n);
    return n ? n : err_set(err, -1, "there is no model file to measure");
}
