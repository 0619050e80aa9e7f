/* crew_builtin.c - the crews that are part of the program, and crews in files. */
#include "app/session/crew_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREWS(X) X(single) X(round_robin) X(selector) X(sequential) X(supervisor) X(map) X(debate) X(graph)

/* Paths are from the repository's root, where the compiler runs. */
#define CREW_BYTES(name)                                                                  \
    __asm__(".pushsection .rodata\n"                                                      \
            ".global plimsoll_crew_" #name "\n.global plimsoll_crew_end_" #name "\n"      \
            "plimsoll_crew_" #name ":\n.incbin \"assets/crews/" #name ".yaml\"\n"         \
            "plimsoll_crew_end_" #name ":\n.byte 0\n.popsection\n");                      \
    extern const char plimsoll_crew_##name[] __attribute__((visibility("hidden")));       \
    extern const char plimsoll_crew_end_##name[] __attribute__((visibility("hidden")));
CREWS(CREW_BYTES)

#define CREW_NAMED(name) #name,
static const char *const names[] = {CREWS(CREW_NAMED)};

#define CREW_ENDS(name) {plimsoll_crew_##name, plimsoll_crew_end_##name},
static const struct { const char *begin, *end; } bytes[] = {CREWS(CREW_ENDS)};

int crew_builtin_count(void) { return COUNT_OF(names); }
const char *crew_builtin_name(int i) { return names[i]; }

const char *crew_builtin_text(int i, size_t *n)
{
    *n = (size_t)(bytes[i].end - bytes[i].begin);
    return bytes[i].begin;
}

static int read_builtin(int i, struct crew *out, struct err *err)
{
    char file[CREW_NAME + 8];
    size_t n;
    const char *text = crew_builtin_text(i, &n);
    snprintf(file, sizeof file, "%s.yaml", names[i]);
    return crew_read(text, n, file, out, err);
}

void crew_builtin(struct buf *out)
{
    for (int i = 0; i < crew_builtin_count(); i++) {
        struct crew c;
        if (read_builtin(i, &c, NULL)) { /* no memory: the tests know that nothing else is amiss */
            out->failed = true;
            return;
        }
        buf_printf(out, "%-12s %s\n", names[i], c.about);
        crew_free(&c);
    }
}

/* ------------------------------------------------------------------ files */

static const char *own_name(const void *none, int i)
{
    (void)none;
    return names[i];
}

static int not_there(const char *path, struct err *err)
{
    const char *near = crew_nearest(path, own_name, NULL, crew_builtin_count());
    if (strchr(path, '/')) return err_set(err, -1, "%.200s: there is no such file", path);
    return err_set(err, -1, "%.200s: no crew of the program and no file%s%s%s", path, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

/* A regular file of at most CREW_FILE bytes; O_NONBLOCK: opening a pipe that no one writes to must not hang. */
static int read_file(const char *path, struct buf *out, struct err *err)
{
    char part[1 << 14];
    struct stat st;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return not_there(path, err);
    if (fd < 0) return err_set(err, -1, "%.200s: %s", path, strerror(errno));
    int rc = fstat(fd, &st) || !S_ISREG(st.st_mode) ? err_set(err, -1, "%.200s is no regular file", path) : 0;
    while (rc == 0 && out->len <= CREW_FILE && (n = read(fd, part, sizeof part)) > 0) {
        buf_put(out, part, (size_t)n);
        if (out->failed) rc = err_set(err, -1, "%.200s: no memory for it", path);
    }
    if (rc == 0 && n < 0) rc = err_set(err, -1, "%.200s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

int crew_load(const char *path, struct crew *out, struct err *err)
{
    struct buf text = {0};
    *out = (struct crew){0};
    for (int i = 0; i < crew_builtin_count(); i++)
        if (strcmp(names[i], path) == 0) return read_builtin(i, out, err);
    int rc = read_file(path, &text, err);
    if (rc == 0) rc = crew_read(text.data ? text.data : "", text.len, path, out, err);
    buf_free(&text);
    return rc;
}
