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

/* A header may say that it has 2 GiB of strings, and a list is not worth that; real ones need a tenth of this.  On top
 * of what this process has: a sanitizer's own mappings count too. */
static void limit_memory(void)
{
    static const rlim_t more = (rlim_t)384 << 20;
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
    if (!m->found) models_find(ask, m);
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

/* The rows that nobody has come to the end of may be half written. */
static void forget(struct models *m)
{
    for (int i = m->n - 1; i >= 0 && !m->found; i--) /* in another's stead: one at most */
        if (m->row[i].place == MODELS_NOWHERE) m->row[i] = m->row[--m->n];
    for (int i = m->n_judged; i < m->n; i++) {
        struct models_row *r = &m->row[i];
        size_t from = i < m->n_read ? offsetof(struct models_row, ctx_fits) : offsetof(struct models_row, arch);
        bool judged = r->state == MODEL_FITS || r->state == MODEL_TOO_LARGE;
        if (r->inode == 0 || (i < m->n_read && !judged && r->state != MODEL_UNREAD)) continue;
        memset((char *)r + from, 0, sizeof *r - from);
        r->state = MODEL_UNREAD;
    }
}

/* The row that was looked into last has ended the process, and the next one goes on behind it; false: it was none. */
static bool pass_over(struct models *m)
{
    int *at = m->n_read < m->n ? &m->n_read : &m->n_judged;
    if (!m->found) return false;
    forget(m);
    while (*at < m->n && m->row[*at].state != MODEL_UNREAD) ++*at;
    if (*at == m->n) return false;
    struct models_row *r = &m->row[(*at)++];
    r->state = MODEL_BROKEN;
    snprintf(r->why, sizeof r->why, "looking into it ended the process that did it");
    return true;
}

static void note_end(struct models *m, bool late)
{
    int left = 0;
    forget(m);
    for (int i = m->n_judged; i < m->n; i++) left += m->row[i].state == MODEL_UNREAD;
    if (m->found && left == 0) return; /* it had come to the end of all of them, only not to its own */
    snprintf(m->stopped, sizeof m->stopped, "%s, and %d of %d files were not looked into",
             late ? "time was over" : "it ended early", left, m->n);
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

enum outcome { DONE, LATE, DIED, FAILED };

static enum outcome look_once(const struct models_ask *ask, struct models *m, struct err *err)
{
    int fd[2] = {-1, -1}, status = 0;
    pid_t pid = pipe2(fd, O_CLOEXEC) ? -1 : fork();
    if (pid == 0) look(ask, m);
    int error = errno;
    if (fd[1] >= 0) close(fd[1]);
    bool gone = pid > 0 && gone_by(fd[0], ask->end + 1e-3 * GRACE_MS), late = !gone;
    if (pid > 0 && late) kill(pid, SIGKILL);
    if (pid > 0 && late) gone = gone_by(fd[0], progress_clock() + 1e-3 * GRACE_MS);
    if (gone) waitpid(pid, &status, 0); /* else a disk holds it in the kernel, and us it shall not hold */
    if (fd[0] >= 0) close(fd[0]);
    if (pid > 0) return late ? LATE : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DONE : DIED;
    err_set(err, -1, "no process could be started to look for models: %s", strerror(error));
    return FAILED;
}

struct models *models_look(const struct models_ask *ask, struct err *err)
{
    enum outcome end;
    struct models *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) {
        err_set(err, -1, "no memory to look for models");
        return NULL;
    }
    do end = look_once(ask, m, err);
    while (end == DIED && pass_over(m));
    if (end == FAILED) {
        models_free(m);
        return NULL;
    }
    if (end != DONE) note_end(m, end == LATE);
    qsort(m->row, (size_t)m->n, sizeof *m->row, usual_order);
    return m;
}

void models_free(struct models *m)
{
    if (m) munmap(m, sizeof *m);
}
