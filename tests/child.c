/* child.c - see child.h. */
#include "tests/child.h"
#include "tests/check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *child_program(void)
{
    const char *path = getenv("PLIMSOLL_BIN");
    if (!path || !*path) path = "build/plimsoll";
    if (access(path, X_OK)) check_fail(__FILE__, __LINE__, "no program at %s: %s", path, strerror(errno));
    return path;
}

/* ---------------------------------------------------------------- starting */

/* Only async-signal-safe calls after fork(): the environment and arguments are made before. */
static void prepare(const char *const *args, const char *argv[CHILD_ARGS + 2])
{
    int n = 0;
    argv[n++] = child_program();
    for (; args[n - 1]; n++) {
        CHECK(n <= CHILD_ARGS);
        argv[n] = args[n - 1];
    }
    argv[n] = NULL;
}

extern char **environ;

/* term, more: "NAME=value", or NULL. */
static char **clean_environment(char *term, const char *more)
{
    static const char *const own[] = {"PLIMSOLL_", "TERM=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME="};
    static char *env[512], data[512], config[512], one_more[512];
    snprintf(data, sizeof data, "XDG_DATA_HOME=%s/data", check_tmpdir()); /* sessions are saved in the test's folder, */
    snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s/config", check_tmpdir()); /* and settings only read in it */
    size_t n = 0;
    for (char **e = environ; *e && n < COUNT_OF(env) - 5; e++) {
        bool ours = false;
        for (size_t i = 0; i < COUNT_OF(own); i++) ours = ours || strncmp(*e, own[i], strlen(own[i])) == 0;
        if (!ours) env[n++] = *e;
    }
    snprintf(one_more, sizeof one_more, "%s", more ? more : "");
    if (term) env[n++] = term;
    if (more) env[n++] = one_more;
    env[n++] = data;
    env[n++] = config;
    env[n] = NULL;
    return env;
}

static char dumb[] = "TERM=dumb";

_Noreturn static void become(const char *const *argv, char **env)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    execve(argv[0], (char *const *)(uintptr_t)argv, env);
    _exit(127);
}

void child_start_into(struct child *c, const char *const *args, const char *out_path)
{
    const char *argv[CHILD_ARGS + 2];
    int in[2], out[2], err[2];
    prepare(args, argv);
    char **env = clean_environment(dumb, NULL);
    *c = (struct child){0};
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
    if (out_path) {
        close(out[1]);
        out[1] = open(out_path, O_WRONLY | O_CLOEXEC);
        CHECK(out[1] >= 0);
    }
    fcntl(in[1], F_SETFL, O_NONBLOCK); /* a program that does not read must not hold us up */
    c->pid = fork();
    CHECK(c->pid >= 0);
    if (c->pid == 0) {
        if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0) _exit(126);
        become(argv, env);
    }
    close(in[0]), close(out[1]), close(err[1]);
    c->in = in[1], c->out = out[0], c->err = err[0];
    signal(SIGPIPE, SIG_IGN);
}

void child_start(struct child *c, const char *const *args)
{
    child_start_into(c, args, NULL);
}

static void start_at_terminal(struct child *c, const char *const *args, char **env, struct winsize *size)
{
    const char *argv[CHILD_ARGS + 2];
    int fd;
    prepare(args, argv);
    *c = (struct child){.err = -1};
    c->pid = forkpty(&fd, NULL, NULL, size);
    CHECK(c->pid >= 0);
    if (c->pid == 0) become(argv, env);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    c->in = c->out = fd;
}

void child_start_at_terminal(struct child *c, const char *const *args)
{
    start_at_terminal(c, args, clean_environment(dumb, NULL), NULL);
}

void child_start_in(struct child *c, const char *const *args, const struct child_terminal *t)
{
    static char term[80];
    struct winsize size = {.ws_col = (unsigned short)t->columns, .ws_row = (unsigned short)t->rows};
    snprintf(term, sizeof term, "TERM=%s", t->term ? t->term : "");
    start_at_terminal(c, args, clean_environment(t->term ? term : NULL, t->variable), &size);
}

/* ---------------------------------------------------------------- talking */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn static void give_up(struct child *c, const char *what)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    const char *out = c->out_text.data, *err = c->err_text.data;
    check_fail(__FILE__, __LINE__, "%s; it wrote \"%s\" and on stderr \"%s\"", what, out ? out : "", err ? err : "");
}

/* One read of *fd; at its end *fd becomes -1.  (A terminal whose other end was closed answers EIO.) */
static void take(int *fd, struct buf *b)
{
    char bytes[4096];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n > 0) buf_put(b, bytes, (size_t)n);
    else if (n == 0 || errno != EINTR) *fd = -1;
}

/* Let the child move on: read what it wrote, and write what is left for it. */
static void pump(struct child *c, int *out, int *err, const char **text, size_t *n, int ms)
{
    struct pollfd p[3] = {{.fd = *out, .events = POLLIN}, {.fd = *err, .events = POLLIN},
                          {.fd = *n > 0 ? c->in : -1, .events = POLLOUT}};
    if (poll(p, 3, ms) <= 0) return;
    if (p[0].revents) take(out, &c->out_text);
    if (p[1].revents) take(err, &c->err_text);
    if (!p[2].revents || *n == 0) return;
    ssize_t done = write(c->in, *text, MIN(*n, c->in == c->out ? 512 : 65536));
    if (done > 0) {
        *text += done;
        *n -= (size_t)done;
    } else if (errno == EPIPE) {
        *n = 0; /* it does not want to know more */
    }
}

void child_type(struct child *c, const char *text, size_t n)
{
    double start = now();
    int out = c->out, err = c->err;
    while (n > 0) {
        if (now() - start > CHILD_PATIENCE) give_up(c, "the program does not read its input");
        pump(c, &out, &err, &text, &n, 1000);
    }
}

void child_look(struct child *c, int ms)
{
    const double until = now() + 1e-3 * ms;
    const char *none = NULL;
    size_t nothing = 0;
    int out = c->out, err = c->err;
    for (double left = 1e-3 * ms; left >= 0 && (out >= 0 || err >= 0); left = until - now())
        pump(c, &out, &err, &none, &nothing, (int)(1e3 * left));
}

void child_stop_reading(struct child *c)
{
    close(c->out);
    c->out = -1;
}

void child_close_input(struct child *c)
{
    if (c->in >= 0 && c->in != c->out) close(c->in);
    if (c->in != c->out) c->in = -1;
}

void child_wait_for(struct child *c, const char *text)
{
    double start = now();
    const char *none = NULL;
    size_t nothing = 0, n = strlen(text);
    int out = c->out, err = c->err;
    for (;;) {
        char *at = c->out_text.data ? memmem(c->out_text.data, c->out_text.len, text, n) : NULL;
        if (at) { /* what comes next is looked for behind it */
            size_t used = (size_t)(at - c->out_text.data) + n;
            memmove(c->out_text.data, c->out_text.data + used, c->out_text.len - used + 1);
            c->out_text.len -= used;
            return;
        }
        if (out < 0) give_up(c, "the program ended before it said what was waited for");
        if (now() - start > CHILD_PATIENCE) give_up(c, "the program does not say what was waited for");
        pump(c, &out, &err, &none, &nothing, 1000);
    }
}

int child_end(struct child *c)
{
    const char *none = NULL;
    size_t nothing = 0;
    int out = c->out, err = c->err, status;
    double start = now();
    while (out >= 0 || err >= 0) {
        if (now() - start > CHILD_PATIENCE) give_up(c, "the program does not end");
        pump(c, &out, &err, &none, &nothing, 1000);
    }
    CHECK(waitpid(c->pid, &status, 0) == c->pid);
    child_close_input(c);
    if (c->out >= 0) close(c->out);
    if (c->err >= 0) close(c->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void child_free(struct child *c)
{
    buf_free(&c->out_text);
    buf_free(&c->err_text);
}

int child_run(struct child *c, const char *const *args, const char *in, size_t n)
{
    child_start(c, args);
    child_type(c, in, n);
    child_close_input(c);
    return child_end(c);
}
