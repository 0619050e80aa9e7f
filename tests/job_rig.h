/* job_rig.h - what the tests of jobs share: starting one, stepping to its end, and the processes that it named. */
#ifndef JOB_RIG_H
#define JOB_RIG_H
#include "tests/jail_rig.h"
#include "tools/job.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static struct buf shown;

static inline void sink(void *self, const char *bytes, size_t n) { buf_put(self, bytes, n); }

static inline struct job *begin(struct job_config cfg)
{
    need_jail();
    struct err err = {0};
    buf_free(&shown);
    if (!cfg.workspace) cfg.workspace = workspace();
    if (!cfg.self) cfg.self = &shown;
    cfg.sink = sink;
    if (!cfg.limits.wall_ms) cfg.limits.wall_ms = 30000;
    struct job *j = job_start(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(j);
    return j;
}

static inline struct job_result end(struct job *j)
{
    while (!job_step(j, 1000)) {}
    struct job_result r = *job_result(j);
    job_close(j);
    if (r.end == JOB_REFUSED) fprintf(stderr, "refused: %s\n", r.text);
    return r;
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(text) ARGV("sh", "-c", text)

static inline struct job_result shell(const char *text, struct job_limits limits)
{
    return end(begin((struct job_config){.argv = SHELL(text), .limits = limits}));
}

/* The process that a tool named in this file of the workspace. */
static inline pid_t named(const char *file)
{
    char path[600], text[32] = "";
    snprintf(path, sizeof path, "%s/%s", workspace(), file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) text[0] = '\0';
    if (fd >= 0) close(fd);
    return text[0] && strchr(text, '\n') ? atoi(text) : 0;
}

static inline void forget(const char *file)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", workspace(), file);
    unlink(path);
}

/* Waits until it is gone; one that is only a zombie of somebody else's is gone. */
static inline bool gone(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        if (kill(pid, 0) && errno == ESRCH) return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}
#endif
