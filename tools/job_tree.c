/* job_tree.c - /proc/PID/stat of all processes, and who descends from whom. */
#include "tools/job_tree.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* The line is "pid (name) state ppid ..."; the name is the process's own choice and may hold anything. */
static bool parse(const char *line, struct job_process *p, char *state)
{
    const char *name = strchr(line, '('), *end = strrchr(line, ')');
    int pid, parent;
    long threads, pages;
    if (!name || !end || sscanf(line, "%d", &pid) != 1) return false;
    /* Fields 3, 4, then 20 and 24 of proc(5). */
    if (sscanf(end + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %*s %*s %ld", state,
               &parent, &threads, &pages) != 4)
        return false;
    p->pid = pid;
    p->parent = parent;
    p->threads = (uint32_t)MAX(threads, 0);
    p->bytes = (uint64_t)MAX(pages, 0) * (uint64_t)sysconf(_SC_PAGESIZE);
    p->inside = false;
    return true;
}

/* The file stat of a process or thread, below this folder. */
static bool read_stat(int dir, const char *id, struct job_process *p, char *state)
{
    char path[64], line[1024];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/stat", id) >= (int)sizeof path) return false;
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false; /* it has ended */
    ssize_t n = read(fd, line, sizeof line - 1);
    bool ok = n > 0 && fstat(fd, &st) == 0;
    close(fd);
    if (!ok) return false;
    line[n] = '\0';
    p->user = st.st_uid;
    return parse(line, p, state);
}

/* What is resident in a process whose first thread has ended and others go on: that one has no memory any more. */
static uint64_t bytes_of_threads(int proc, const char *pid)
{
    char path[64], state = 'Z';
    struct job_process thread = {0};
    snprintf(path, sizeof path, "%.40s/task", pid);
    int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir) close(fd);
    if (!dir) return 0;
    for (struct dirent *e; (state == 'Z' || state == 'X') && (e = readdir(dir));)
        if (e->d_name[0] != '.' && !read_stat(dirfd(dir), e->d_name, &thread, &state)) thread.bytes = 0;
    closedir(dir);
    return thread.bytes;
}

static bool read_one(int proc, const char *pid, struct job_process *p)
{
    char state;
    if (!read_stat(proc, pid, p, &state)) return false;
    if (state == 'Z' && p->threads > 1) p->bytes = bytes_of_threads(proc, pid);
    return true;
}

static bool room(struct job_tree *t)
{
    if (t->n < t->cap) return true;
    size_t cap = t->cap ? 2 * t->cap : 512;
    struct job_process *all = realloc(t->all, cap * sizeof *all);
    if (!all) return false;
    t->all = all;
    t->cap = cap;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct job_process *p = a, *q = b;
    return (p->pid > q->pid) - (p->pid < q->pid);
}

static const struct job_process *find(const struct job_tree *t, pid_t pid)
{
    return bsearch(&(struct job_process){.pid = pid}, t->all, t->n, sizeof *t->all, by_pid);
}

/* A parent's number is mostly the lower one: few rounds are needed. */
static void mark(struct job_tree *t, pid_t root)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < t->n; i++) {
            struct job_process *p = &t->all[i];
            const struct job_process *parent = p->inside || p->parent == root ? NULL : find(t, p->parent);
            if (p->inside || !(p->parent == root || (parent && parent->inside))) continue;
            p->inside = more = true;
            t->inside++;
            t->bytes += p->bytes;
        }
    }
}

int job_tree_look(struct job_tree *t, pid_t root)
{
    DIR *dir = opendir("/proc");
    if (!dir) return -1;
    t->n = t->inside = 0;
    t->bytes = 0;
    bool full = false;
    for (struct dirent *e; !full && (e = readdir(dir));) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        full = !room(t);
        if (!full && read_one(dirfd(dir), e->d_name, &t->all[t->n])) t->n++;
    }
    closedir(dir);
    if (t->n) qsort(t->all, t->n, sizeof *t->all, by_pid);
    mark(t, root);
    if (full) errno = ENOMEM;
    return full ? -1 : 0;
}

/* ---------------------------------------------------------------- memory without a process */

uint64_t job_tree_shared(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "Shmem: %llu", &kib) != 1) {}
    if (f) fclose(f);
    return (uint64_t)kib << 10;
}

/* One of its threads' maps, which are all the same, but for one that has ended: that has none. */
static bool maps_shared(pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false, some = false;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && !some && (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/maps", pid, e->d_name);
        FILE *f = fopen(path, "re");
        found = !f && errno == EACCES; /* it is not dumpable, and may have anything */
        while (f && !found && getline(&line, &room, f) > 0) {
            some = true;
            found = strstr(line, "s ") && strstr(line, "/dev/zero (deleted)");
        }
        if (f) fclose(f);
        some = some || found;
    }
    if (dir) closedir(dir);
    free(line);
    return found;
}

bool job_tree_has_shared(const struct job_tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->all[i].inside && maps_shared(t->all[i].pid)) return true;
    return false;
}

/* ---------------------------------------------------------------- ending */

void job_tree_kill(const struct job_tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->all[i].inside) kill(t->all[i].pid, SIGKILL);
}

/* Each number has a blank behind it, so that one that did not fit whole is known. */
void job_tree_kill_children(void)
{
    char text[4096], *rest = text, *one;
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    text[MAX(n, 0)] = '\0';
    while ((one = strsep(&rest, " ")) && rest)
        if (atoi(one) > 1) kill(atoi(one), SIGKILL);
}

void job_tree_free(struct job_tree *t)
{
    free(t->all);
    *t = (struct job_tree){0};
}
