/* doc_models.c - the model files of this machine: what `plimsoll models --json` says. */
#include "app/console.h"
#include "app/progress.h"
#include "app/tui/view_models.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8 << 20 /* bytes; 500 rows are some 2 MiB */, BLOCK = 1 << 16 };
static const char patience[] = "1.5"; /* that it is given; it takes 0.3 s more to end one that hangs */

extern char **environ;

const char *doc_models_program = "/proc/self/exe";

/* With stdout to fd.  -1: none was started. */
static pid_t start(const char *program, uint64_t within, int fd)
{
    char size[24], name[] = "plimsoll", verb[] = "models", json[] = "--json", time[] = "--time", by[] = "--within",
         seconds[sizeof patience];
    char *argv[] = {name, verb, json, time, seconds, within ? by : NULL, size, NULL};
    posix_spawn_file_actions_t a;
    pid_t pid = -1;
    snprintf(size, sizeof size, "%llu", (unsigned long long)within);
    snprintf(seconds, sizeof seconds, "%s", patience);
    if (posix_spawn_file_actions_init(&a)) return -1;
    bool ready = posix_spawn_file_actions_addopen(&a, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_adddup2(&a, fd, STDOUT_FILENO) == 0 &&
                 posix_spawn_file_actions_addopen(&a, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    if (!ready || posix_spawn(&pid, program, &a, NULL, argv, environ)) pid = -1;
    posix_spawn_file_actions_destroy(&a);
    return pid;
}

/* What comes until the other end is closed; false: it took too long, was too much, or there was no memory. */
static bool read_all(int fd, double end, struct buf *out)
{
    char *block = malloc(BLOCK);
    bool more = block != NULL, whole = false;
    while (more) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left = end - progress_clock();
        int ready = left > 0 ? poll(&p, 1, (int)(1000 * left) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        ssize_t n = ready > 0 ? read(fd, block, BLOCK) : -1;
        if (n > 0) buf_put(out, block, (size_t)n);
        whole = n == 0 && !out->failed;
        more = n > 0 && out->len <= MOST;
    }
    free(block);
    return whole;
}

static struct models *take(const struct buf *said)
{
    struct models *m = calloc(1, sizeof *m);
    const char *at = said->data;
    bool any = false;
    for (const char *end; m && at && (end = strchr(at, '\n')) != NULL; at = end + 1)
        any = models_take_json(m, at, (size_t)(end - at));
    if (any) return m;
    free(m);
    return NULL;
}

void doc_models_from(const char *program, uint64_t within, struct doc *d)
{
    int fd[2], status = 0;
    struct buf said = {0};
    double end = progress_clock() + 1e-3 * DOC_MODELS_MS;
    if (pipe2(fd, O_CLOEXEC)) {
        snprintf(d->error, sizeof d->error, "no pipe: %s", strerror(errno));
        return;
    }
    pid_t pid = start(program, within, fd[1]);
    close(fd[1]);
    bool whole = pid > 0 && read_all(fd[0], end, &said);
    close(fd[0]);
    if (pid > 0 && !whole) kill(pid, SIGKILL);
    if (pid > 0) waitpid(pid, &status, 0);
    if (whole) d->data = take(&said);
    if (d->data) d->free = free;
    else if (pid < 0) snprintf(d->error, sizeof d->error, "no process could be started to look for models");
    else if (!whole)
        snprintf(d->error, sizeof d->error, "looking for models took longer than %d s", DOC_MODELS_MS / 1000);
    else snprintf(d->error, sizeof d->error, "looking for models failed; try plimsoll models in a shell");
    buf_free(&said);
}

void doc_models(struct console *c, struct doc *d)
{
    struct engine_memory memory = {0};
    const struct app *a = c->a;
    a->ops->memory(a->engine, &memory);
    uint64_t within = memory.total ? MIN(memory.free + memory.ours, memory.total) : 0;
    doc_models_from(doc_models_program, within, d);
}
