/* job_guard.c - the process between: it makes the jail, starts the tool in it, watches, kills, answers. */
#include "tools/job_group.h"
#include "tools/job_impl.h"
#include "tools/job_tree.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct guard {
    struct job_request r;
    char *words;               /* the request's strings */
    char **argv;               /* into words */
    const char *workspace, *home;
    const struct job_builtin *table;
    struct jail *jail;
    pid_t tool;
    struct job_tree tree;
    uint64_t shared_before;    /* by all of the system, at the start */
    struct job_group group;
    struct job_answer answer;
};

/* ---------------------------------------------------------------- the request */

static bool read_all(int fd, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)to + done, n - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool read_request(struct guard *g)
{
    if (!read_all(JOB_SOCKET, &g->r, sizeof g->r) || g->r.size > JOB_REQUEST_MAX || g->r.argc > g->r.size) return false;
    g->words = malloc(g->r.size + 1u);
    g->argv = calloc(g->r.argc + 1u, sizeof *g->argv);
    if (!g->words || !g->argv || !read_all(JOB_SOCKET, g->words, g->r.size)) return false;
    g->words[g->r.size] = '\0';
    char *at = g->words, *end = g->words + g->r.size;
    for (uint32_t i = 0; i < g->r.argc + 2; i++, at += strlen(at) + 1) {
        if (at >= end) return false;
        if (i == 0) g->workspace = at;
        else if (i == 1) g->home = *at ? at : NULL;
        else g->argv[i - 2] = at;
    }
    return true;
}

/* ---------------------------------------------------------------- the tool */

static int run_builtin(const struct guard *g)
{
    for (const struct job_builtin *t = g->table; t && t->name; t++) {
        if (strcmp(t->name, g->argv[0]) != 0) continue;
        int status = t->run((int)g->r.argc, g->argv);
        return fflush(stdout) ? 1 : status;
    }
    dprintf(STDERR_FILENO, "no tool \"%s\"\n", g->argv[0]);
    return 127;
}

/* In the child.  What fails before the tool begins goes up the pipe; the pipe's end says that it has begun. */
_Noreturn static void be_tool(struct guard *g, int report)
{
    struct err err = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    if (g->group.procs >= 0 && write(g->group.procs, "0", 1) != 1) close(g->group.procs); /* the guard looks */
    bool failed = dup2(STDOUT_FILENO, STDERR_FILENO) < 0 && err_set(&err, JAIL_FAILED, "dup2: %s", strerror(errno));
    if (failed || jail_enter(g->jail, report, &err)) {
        ssize_t n = write(report, &err, sizeof err); /* where it still is: jail_enter moves it last */
        if (n < 0) n = write(3, &err, sizeof err);
        _exit(n == sizeof err ? 1 : 2);
    }
    environ = (char **)jail_env(g->jail);
    if (g->r.builtin) {
        close(3);
        _exit(run_builtin(g));
    }
    execvp(g->argv[0], g->argv);
    int why = errno;
    close(3);
    dprintf(STDERR_FILENO, "%s: %s\n", g->argv[0], strerror(why));
    _exit(why == ENOENT ? 127 : 126);
}

static bool refuse(struct guard *g, const struct err *err)
{
    g->answer.end = JOB_REFUSED;
    g->answer.value = err->code;
    memcpy(g->answer.text, err->text, sizeof g->answer.text);
    return false;
}

/* The kernel counts a user's threads, so those that run already are allowed too. */
static uint32_t process_limit(const struct guard *g)
{
    uint64_t n = g->r.limits.processes;
    if (!n) return 0;
    for (size_t i = 0; i < g->tree.n; i++)
        if (g->tree.all[i].user == getuid()) n += g->tree.all[i].threads;
    return (uint32_t)MIN(n, UINT32_MAX);
}

/* Until the child says that it failed, or begins the tool: going into jail may take long (jail_git.h). */
static bool has_begun(struct guard *g, int report, double began)
{
    struct pollfd p[] = {{.fd = report, .events = POLLIN}, {.fd = JOB_SOCKET, .events = POLLIN | POLLRDHUP}};
    const double end = g->r.limits.wall_ms ? began + g->r.limits.wall_ms * 1e-3 : 0;
    for (;;) {
        double left = end > 0 ? MAX(end - job_now(), 0) : 60;
        int n = poll(p, 2, (int)(MIN(left, 60) * 1e3 + 0.999));
        if (n > 0 && p[0].revents) return true;
        g->answer.end = n > 0 ? JOB_CANCELLED : JOB_TIMEOUT;
        if (n > 0 || (end > 0 && job_now() >= end)) return false;
    }
}

static bool start(struct guard *g, double began)
{
    struct err err = {0};
    const struct job_limits *l = &g->r.limits;
    if (job_tree_look(&g->tree, getpid())) {
        err_set(&err, JAIL_FAILED, "no tool can be watched: /proc: %s", strerror(errno));
        return refuse(g, &err);
    }
    g->shared_before = job_tree_shared();
    struct jail_config c = {.workspace = g->workspace, .home = g->home, .cpu_seconds = l->cpu_seconds,
                            .open_files = l->open_files, .file_bytes = l->file_bytes, .processes = process_limit(g),
                            .hold_git = g->r.hold_git};
    g->jail = jail_prepare(&c, &err);
    if (!g->jail) return refuse(g, &err);
    int ends[2];
    job_group_make("", l->tree_bytes, l->processes, &g->group);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || pipe2(ends, O_CLOEXEC) || (g->tool = fork()) < 0) {
        err_set(&err, JAIL_FAILED, "a tool cannot be started: %s", strerror(errno));
        return refuse(g, &err);
    }
    if (g->tool == 0) be_tool(g, ends[1]);
    close(ends[1]);
    bool begun = has_begun(g, ends[0], began), told = begun && read_all(ends[0], &err, sizeof err);
    close(ends[0]);
    if (!begun) return false;
    g->answer.grouped = job_group_has(&g->group, g->tool);
    return told ? refuse(g, &err) : true;
}

/* ---------------------------------------------------------------- watching */

/* Has the tool ended?  It stays a zombie until all is killed, so that its number names nobody else's group. */
static bool ended(struct guard *g)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)g->tool, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0) return false;
    g->answer.end = info.si_code == CLD_EXITED ? JOB_EXITED : JOB_SIGNALLED;
    g->answer.value = info.si_status;
    return true;
}

/* Orphans that fell to the guard and are over. */
static void reap_orphans(const struct guard *g)
{
    for (size_t i = 0; i < g->tree.n; i++) {
        const struct job_process *p = &g->tree.all[i];
        if (p->parent == getpid() && p->pid != g->tool) waitpid(p->pid, NULL, WNOHANG);
    }
}

/* The system's sum has grown by more than the tree may have, and the tree shares memory: that is taken for its own. */
static bool over_shared(const struct guard *g)
{
    const uint64_t most = g->r.limits.tree_bytes, now = job_tree_shared();
    return now > g->shared_before && now - g->shared_before > most && job_tree_has_shared(&g->tree);
}

static bool over_limit(struct guard *g)
{
    if (job_tree_look(&g->tree, getpid())) { /* nothing would hold it to its limits */
        snprintf(g->answer.text, sizeof g->answer.text, "/proc: %s", strerror(errno));
        g->answer.end = JOB_UNWATCHED;
        return true;
    }
    reap_orphans(g);
    const struct job_limits *l = &g->r.limits;
    uint32_t threads = 0;
    for (size_t i = 0; i < g->tree.n; i++) threads += g->tree.all[i].inside ? g->tree.all[i].threads : 0;
    g->answer.peak_bytes = MAX(g->answer.peak_bytes, g->tree.bytes);
    g->answer.peak_processes = MAX(g->answer.peak_processes, threads);
    if (l->tree_bytes && !g->answer.grouped && (g->tree.bytes > l->tree_bytes || over_shared(g)))
        g->answer.end = JOB_MEMORY;
    else if (l->processes && threads > l->processes) g->answer.end = JOB_PROCESSES;
    else return false;
    return true;
}

/* True: the caller says no more, so it cancels or is gone.  Wakes early when the tool ends. */
static bool told_to_stop(int child_ended, int wait_ms)
{
    struct pollfd p[] = {{.fd = JOB_SOCKET, .events = POLLIN | POLLRDHUP}, {.fd = child_ended, .events = POLLIN}};
    return poll(p, child_ended < 0 ? 1 : 2, wait_ms) > 0 && p[0].revents;
}

static void watch(struct guard *g, double began)
{
    int tool = (int)syscall(SYS_pidfd_open, g->tool, 0); /* -1: its end is seen at the next look */
    double end = g->r.limits.wall_ms ? began + g->r.limits.wall_ms * 1e-3 : 0;
    double wait = 1e-3; /* the first look comes soon: a bomb needs few milliseconds */
    for (;;) {
        double now = job_now(), left = end > 0 ? MAX(end - now, 0) : wait;
        bool stopped = told_to_stop(tool, (int)(MIN(wait, left) * 1e3 + 0.999));
        if (ended(g)) break;
        g->answer.end = stopped ? JOB_CANCELLED : JOB_TIMEOUT;
        if (stopped || (end > 0 && job_now() >= end)) break;
        now = job_now();
        if (over_limit(g)) break;
        wait = MAX(JOB_LOOK_MS * 1e-3, 4 * (job_now() - now));
    }
    if (tool >= 0) close(tool);
}

/* Whoever escapes one round by forking is a child of one that is killed, and falls to the guard: until none is left. */
static void kill_all(struct guard *g)
{
    if (g->tool > 0) kill(-g->tool, SIGKILL); /* its group at one moment, those in the middle of a fork too */
    for (;;) {
        if (job_tree_look(&g->tree, getpid()) == 0) job_tree_kill(&g->tree);
        job_tree_kill_children(); /* orphans fall to the guard, and some of them may be hidden from a look */
        while (waitpid(-1, NULL, WNOHANG) > 0) {}
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
        poll(NULL, 0, 1);
    }
}

/* None of it runs any more. */
static void end_group(struct guard *g)
{
    struct job_answer *a = &g->answer;
    uint64_t peak;
    bool killed = job_group_end(&g->group, &peak);
    if (a->grouped && peak) a->peak_bytes = peak;
    if (killed && (a->end == JOB_EXITED || a->end == JOB_SIGNALLED)) a->end = JOB_MEMORY;
}

_Noreturn void job_guard(const struct job_builtin *table)
{
    double began = job_now();
    struct guard g = {.table = table, .group = {.procs = -1}};
    prctl(PR_SET_NAME, "plimsoll-job");
    signal(SIGPIPE, SIG_IGN);
    if (syscall(SYS_close_range, 3u, ~0u, 0) || !read_request(&g)) _exit(2);
    if (start(&g, began)) watch(&g, began);
    kill_all(&g);
    end_group(&g);
    ssize_t n = send(JOB_SOCKET, &g.answer, sizeof g.answer, MSG_NOSIGNAL);
    _exit(n == sizeof g.answer ? 0 : 1);
}
