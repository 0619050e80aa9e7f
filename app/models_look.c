/* models_look.c - looking for model files in a process of its own: what it has found lies in memory that both share, so
 * that it can be ended at any moment and nothing of that is lost. */
#include "app/models.h"
#include "app/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 300 }; /* beyond its time, to end by itself; and to be gone once it was killed */

/* A header may say that it has 2 GiB of strings, and a list is not worth that.  On top of what this process has: a
 * sanitizer's own mappings count too. */
static void limit_memory(void)
{
    static const rlim_t more = (rlim_t)768 << 20;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    bool known = f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1;
    struct rlimit l;
    if (f) fclose(f);
    if (!known || getrlimit(RLIMIT_DATA, &l)) return;
    l.rlim_cur = MIN((rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more, l.rlim_max);
    setrlimit(RLIMIT_DATA, &l);
}

static _Noreturn void look(const struct models_ask *ask, struct models *m)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit_memory();
    models_find(ask, m);
    models_read(ask, m);
    _exit(0);
}

/* Whether the process at the other end was gone by then. */
static bool gone_by(int fd, double end)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    do n = poll(&p, 1, (int)ceil(fmin(fmax(1000 * (end - progress_clock()), 0), 1e6)));
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* The row at which it ended was not its fault where its time was over. */
static void note_end(struct models *m, bool late, int status)
{
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    struct models_row *r = m->n_read < m->n ? &m->row[m->n_read] : NULL;
    const char *how = late ? "it took all the time that was given" : "looking into it ended the process that did it";
    snprintf(m->stopped, sizeof m->stopped, "%s; %d of %d files were not looked into",
             late ? "time was over" : "it ended early", m->n - m->n_read, m->n);
    for (int i = m->n_read; i < m->n; i++) /* half of it may be written */
        if (m->row[i].state != MODEL_BROKEN) {
            m->row[i].state = MODEL_UNREAD;
            memset(m->row[i].arch, 0, sizeof *m->row - offsetof(struct models_row, arch));
        }
    if (r && r->state == MODEL_UNREAD) snprintf(r->why, sizeof r->why, "%s", how);
}

static int usual_order(const void *a, const void *b)
{
    static const int rank[MODEL_STATES] = {[MODEL_FITS] = 0, [MODEL_TOO_LARGE] = 1, [MODEL_UNREAD] = 2,
                                           [MODEL_SPLIT] = 3, [MODEL_UNSUPPORTED] = 4, [MODEL_BROKEN] = 5};
    const struct models_row *x = a, *y = b;
    if (x->state != y->state) return rank[x->state] - rank[y->state];
    int order = strcasecmp(x->name, y->name);
    return order ? order : strcmp(x->path, y->path);
}

struct models *models_look(const struct models_ask *ask, struct err *err)
{
    int fd[2] = {-1, -1}, status = 0;
    struct models *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) {
        err_set(err, -1, "no memory to look for models");
        return NULL;
    }
    pid_t pid = pipe2(fd, O_CLOEXEC) ? -1 : fork();
    if (pid == 0) look(ask, m);
    int error = errno;
    if (fd[1] >= 0) close(fd[1]);
    bool gone = pid > 0 && gone_by(fd[0], ask->end + 1e-3 * GRACE_MS), late = !gone;
    if (pid > 0 && late) kill(pid, SIGKILL);
    if (pid > 0 && late) gone = gone_by(fd[0], progress_clock() + 1e-3 * GRACE_MS);
    if (gone) waitpid(pid, &status, 0); /* else a disk holds it in the kernel, and us it shall not hold */
    if (fd[0] >= 0) close(fd[0]);
    if (pid < 0) {
        err_set(err, -1, "no process could be started to look for models: %s", strerror(error));
        models_free(m);
        return NULL;
    }
    note_end(m, late, status);
    qsort(m->row, (size_t)m->n, sizeof *m->row, usual_order);
    return m;
}

void models_free(struct models *m)
{
    if (m) munmap(m, sizeof *m);
}
