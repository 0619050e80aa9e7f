/* job.c - the caller's side of a job: starts the guard, reads output and result. */
#include "tools/job_group.h"
#include "tools/job_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IN, OUT, SOCKET, N_ENDS };

struct job {
    pid_t guard;
    int out, socket; /* -1: at its end */
    bool over, cancelled, flooded;
    double began, deadline; /* deadline: when the guard has failed; 0: none */
    struct job_config cfg;  /* its pointers but sink and self are not used after the start */
    struct job_answer answer;
    size_t n_answer; /* bytes of it that are here */
    struct job_result result;
};

double job_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *job_end_name(enum job_end end)
{
    static const char *const name[] = {
        [JOB_EXITED] = "exited", [JOB_SIGNALLED] = "signalled", [JOB_TIMEOUT] = "timeout", [JOB_OUTPUT] = "output",
        [JOB_MEMORY] = "memory", [JOB_PROCESSES] = "processes", [JOB_CANCELLED] = "cancelled",
        [JOB_REFUSED] = "refused", [JOB_UNWATCHED] = "unwatched", [JOB_LOST] = "lost",
    };
    return name[end];
}

/* ---------------------------------------------------------------- starting */

static void shut(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* The same descriptor, above those that the spawn puts others in. */
static int above(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return up;
}

/* The whole input in a file without a name, opened again for reading alone. */
static int input(const struct job_config *cfg)
{
    if (!cfg->n_in) return above(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int fd = memfd_create("input", MFD_CLOEXEC), read_only = -1;
    if (fd < 0) return -1;
    size_t done = 0;
    while (done < cfg->n_in) {
        ssize_t n = write(fd, (const char *)cfg->in + done, cfg->n_in - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (done == cfg->n_in) read_only = above(open(path, O_RDONLY | O_CLOEXEC));
    close(fd);
    return read_only;
}

/* theirs[] is for the guard; ours are in j. */
static int make_ends(struct job *j, int theirs[N_ENDS], struct err *err)
{
    int pipe_ends[2], sockets[2];
    theirs[IN] = input(&j->cfg);
    if (pipe2(pipe_ends, O_CLOEXEC) == 0) {
        j->out = above(pipe_ends[0]);
        theirs[OUT] = above(pipe_ends[1]);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0) {
        j->socket = above(sockets[0]);
        theirs[SOCKET] = above(sockets[1]);
    }
    if (theirs[IN] >= 0 && theirs[OUT] >= 0 && theirs[SOCKET] >= 0 && j->out >= 0 && j->socket >= 0 &&
        fcntl(j->out, F_SETFL, O_NONBLOCK) == 0)
        return 0;
    return err_set(err, JAIL_FAILED, "a tool's pipes: %s", strerror(errno));
}

static int spawn(struct job *j, const int theirs[N_ENDS], struct err *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    char *const argv[] = {(char[]){"plimsoll"}, (char[]){"--jail"}, NULL}, *const env[] = {NULL};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    int rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (rc == 0) rc = posix_spawnattr_setsigmask(&attr, &none);
    if (rc == 0) rc = posix_spawnattr_setsigdefault(&attr, &all);
    for (int i = 0; i < N_ENDS && rc == 0; i++) rc = posix_spawn_file_actions_adddup2(&files, theirs[i], i);
    if (rc == 0) rc = posix_spawn(&j->guard, "/proc/self/exe", &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc ? err_set(err, JAIL_FAILED, "a tool cannot be started: %s", strerror(rc)) : 0;
}

static int make_request(const struct job_config *cfg, struct buf *b, struct err *err)
{
    struct job_request r = {.builtin = cfg->builtin, .hold_git = cfg->hold_git, .limits = cfg->limits};
    struct buf words = {0};
    buf_put(&words, cfg->workspace, strlen(cfg->workspace) + 1);
    const char *home = cfg->home ? cfg->home : "";
    buf_put(&words, home, strlen(home) + 1);
    for (; cfg->argv[r.argc]; r.argc++) buf_put(&words, cfg->argv[r.argc], strlen(cfg->argv[r.argc]) + 1);
    r.size = (uint32_t)words.len;
    bool fits = words.len <= JOB_REQUEST_MAX;
    buf_put(b, &r, sizeof r);
    buf_put(b, words.data, words.len);
    b->failed = b->failed || words.failed;
    buf_free(&words);
    if (b->failed) return err_set(err, JAIL_FAILED, "out of memory");
    return fits && r.argc ? 0 : err_set(err, JAIL_FAILED, "the command is %s", r.argc ? "too long" : "empty");
}

/* The guard reads before it does anything else, so this does not wait long. */
static int tell(struct job *j, const struct buf *request, struct err *err)
{
    for (size_t done = 0; done < request->len;) {
        ssize_t n = send(j->socket, request->data + done, request->len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return err_set(err, JAIL_FAILED, "a tool's guard: %s", strerror(errno));
        done += (size_t)n;
    }
    return 0;
}

/* The jail is tried here, where a refusal is an error of the start; the guard makes its own. */
static int try_jail(const struct job_config *cfg, struct err *err)
{
    struct jail_config c = {.workspace = cfg->workspace, .home = cfg->home};
    struct jail *jail = jail_prepare(&c, err);
    jail_free(jail);
    return jail ? 0 : -1;
}

static void prepare(void) { job_group_prepare(""); }

struct job *job_start(const struct job_config *cfg, struct err *err)
{
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    pthread_once(&prepared, prepare); /* where it cannot be, guards count */
    if (try_jail(cfg, err)) return NULL;
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        err_set(err, JAIL_FAILED, "out of memory");
        return NULL;
    }
    *j = (struct job){.out = -1, .socket = -1, .cfg = *cfg, .began = job_now()};
    if (cfg->limits.wall_ms) j->deadline = j->began + (cfg->limits.wall_ms + JOB_GRACE_MS) * 1e-3;
    int theirs[N_ENDS] = {-1, -1, -1};
    struct buf request = {0};
    bool ok = make_request(cfg, &request, err) == 0 && make_ends(j, theirs, err) == 0 && spawn(j, theirs, err) == 0;
    for (int i = 0; i < N_ENDS; i++) shut(&theirs[i]);
    ok = ok && tell(j, &request, err) == 0 && fcntl(j->socket, F_SETFL, O_NONBLOCK) == 0;
    buf_free(&request);
    if (ok) return j;
    job_close(j);
    return NULL;
}

/* ---------------------------------------------------------------- running */

static void stop(struct job *j)
{
    if (j->socket >= 0) shutdown(j->socket, SHUT_WR); /* the guard sees the end of what we say */
    double latest = job_now() + JOB_GRACE_MS * 1e-3;
    if (j->deadline == 0 || j->deadline > latest) j->deadline = latest;
}

void job_cancel(struct job *j)
{
    if (j->over || j->cancelled) return;
    j->cancelled = true;
    stop(j);
}

static void take_output(struct job *j)
{
    char bytes[16 << 10];
    ssize_t n = read(j->out, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        shut(&j->out);
        return;
    }
    size_t take = (size_t)n;
    if (j->cfg.limits.output_bytes) take = (size_t)MIN(take, j->cfg.limits.output_bytes - j->result.bytes);
    if (take && j->cfg.sink) j->cfg.sink(j->cfg.self, bytes, take);
    j->result.bytes += take;
    if (take == (size_t)n) return;
    j->flooded = true;
    shut(&j->out); /* a writer gets SIGPIPE, and the guard kills the rest */
    stop(j);
}

static void take_answer(struct job *j)
{
    ssize_t n = recv(j->socket, (char *)&j->answer + j->n_answer, sizeof j->answer - j->n_answer, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) j->n_answer += (size_t)n;
    if (n <= 0 || j->n_answer == sizeof j->answer) shut(&j->socket);
}

static void finish(struct job *j)
{
    struct job_result *r = &j->result;
    bool told = j->n_answer == sizeof j->answer;
    if (!told) kill(j->guard, SIGKILL);
    while (waitpid(j->guard, NULL, 0) < 0 && errno == EINTR) {}
    shut(&j->out);
    shut(&j->socket);
    r->end = told ? j->answer.end : JOB_LOST;
    r->value = j->answer.value;
    r->peak_bytes = j->answer.peak_bytes;
    r->grouped = j->answer.grouped;
    r->peak_processes = j->answer.peak_processes;
    r->seconds = job_now() - j->began;
    memcpy(r->text, j->answer.text, sizeof r->text);
    r->text[sizeof r->text - 1] = '\0';
    if (told && j->flooded && r->end != JOB_REFUSED) r->end = JOB_OUTPUT;
    j->over = true;
}

bool job_step(struct job *j, int timeout_ms)
{
    if (j->over) return true;
    if (j->deadline > 0) timeout_ms = timeout_ms < 0 ? 100 : MIN(timeout_ms, 100);
    struct pollfd p[] = {{.fd = j->out, .events = POLLIN}, {.fd = j->socket, .events = POLLIN}};
    int n = poll(p, 2, timeout_ms);
    if (n > 0 && p[0].revents) take_output(j);
    if (n > 0 && p[1].revents) take_answer(j);
    /* Before it is late what is there is read, however long nobody looked; but a guard that says nothing is late even
     * while output comes. */
    bool silent = n == 0 || (n > 0 && !p[1].revents && j->n_answer < sizeof j->answer);
    bool late = silent && j->deadline > 0 && job_now() > j->deadline;
    if (late || (j->out < 0 && j->socket < 0)) finish(j);
    return j->over;
}

const struct job_result *job_result(const struct job *j) { return &j->result; }

void job_close(struct job *j)
{
    if (!j) return;
    if (j->guard) {
        job_cancel(j);
        while (!job_step(j, 100)) {}
    }
    shut(&j->out);
    shut(&j->socket);
    free(j);
}
