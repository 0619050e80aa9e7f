/* mcp.c - a server's program and its pipes. */
#include "tools/mcp_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { END_MS = 500, AT_ONCE = 64 << 10 };

extern char **environ;

int64_t mcp_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ starting and ending */

static bool is_named(const char *variable, const char *as)
{
    const size_t n = strcspn(as, "=");
    return strncmp(variable, as, n) == 0 && variable[n] == '=';
}

/* Ours, and its own, which count.  The texts stay where they are; NULL: no memory. */
static char **environment(char **own)
{
    size_t n = 0, n_own = 0, k = 0;
    while (environ[n]) n++;
    while (own && own[n_own]) n_own++;
    char **all = calloc(n + n_own + 1, sizeof *all);
    for (size_t i = 0; all && i < n; i++) {
        bool hidden = false;
        for (size_t j = 0; j < n_own; j++) hidden |= is_named(environ[i], own[j]);
        if (!hidden) all[k++] = environ[i];
    }
    for (size_t j = 0; all && j < n_own; j++) all[k++] = own[j];
    return all;
}

static void shut(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static int spawn_on(struct mcp *m, const int fd[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual, none;
    char **env = environment(m->c.env);
    if (!env) return ENOMEM;
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&files, fd[i], i);
    if (m->c.cwd) posix_spawn_file_actions_addchdir_np(&files, m->c.cwd);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    const int rc = posix_spawnp(&m->pid, m->c.argv[0], &files, &how, m->c.argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    free(env);
    return rc;
}

int mcp_spawn(struct mcp *m, struct err *err)
{
    int p[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) rc = pipe2(p[i], O_CLOEXEC) ? errno : 0;
    if (rc == 0) rc = spawn_on(m, (const int[]){p[0][0], p[1][1], p[2][1]});
    shut(&p[0][0]);
    shut(&p[1][1]);
    shut(&p[2][1]);
    if (rc) {
        m->pid = 0;
        shut(&p[0][1]);
        shut(&p[1][0]);
        shut(&p[2][0]);
        return err_set(err, -1, "the server %s cannot be started: %.200s: %s", m->c.name, m->c.argv[0], strerror(rc));
    }
    m->in = p[0][1], m->out = p[1][0], m->err = p[2][0];
    fcntl(m->in, F_SETFL, O_NONBLOCK);
    fcntl(m->out, F_SETFL, O_NONBLOCK);
    fcntl(m->err, F_SETFL, O_NONBLOCK);
    buf_free(&m->sent); /* what an earlier one left, also that there was no memory for it */
    buf_free(&m->got);
    m->n_sent = 0;
    m->words[0] = '\0';
    m->fault = (struct err){0};
    mcp_begin(m);
    return 0;
}

/* It ended within so many milliseconds; *status then. */
static bool ended(struct mcp *m, int ms, int *status)
{
    for (const int64_t until = mcp_now() + ms;; usleep(5000)) {
        const pid_t got = waitpid(m->pid, status, WNOHANG);
        if (got != 0) return true; /* also where somebody else waited for it */
        if (mcp_now() >= until) return false;
    }
}

/* Without its input a server is to end; the rest of its group goes with it. */
static int end_program(struct mcp *m)
{
    int status = 0;
    shut(&m->in);
    if (!ended(m, END_MS, &status)) {
        kill(-m->pid, SIGTERM);
        if (!ended(m, END_MS, &status)) {
            kill(-m->pid, SIGKILL);
            while (waitpid(m->pid, &status, 0) < 0 && errno == EINTR) {}
        }
    }
    kill(-m->pid, SIGKILL);
    shut(&m->out);
    shut(&m->err);
    m->pid = 0;
    return status;
}

void mcp_down(struct mcp *m)
{
    if (m->pid > 0) end_program(m);
    m->state = MCP_DOWN;
    while (m->calls) mcp_call_fail(m->calls, m->fault.text);
}

void mcp_fault(struct mcp *m, const char *fmt, ...)
{
    va_list ap;
    char why[200];
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    mcp_plain(why);
    if (!*m->fault.text)
        err_set(&m->fault, -1, "the server %s %s%s%s", m->c.name, why, *m->words ? "; its last words: " : "", m->words);
    mcp_down(m);
}

/* ------------------------------------------------------------------ reading and writing */

void mcp_remember(struct mcp *m, const char *s, size_t n)
{
    snprintf(m->words, sizeof m->words, "%.*s", (int)MIN(n, sizeof m->words), s);
    mcp_plain(m->words);
}

/* The last line that is not blank, of what it says beside. */
static void hear_words(struct mcp *m)
{
    char some[4096];
    ssize_t n;
    while ((n = read(m->err, some, sizeof some)) > 0) {
        size_t end = (size_t)n;
        while (end > 0 && strchr("\r\n \t", some[end - 1])) end--;
        size_t at = end;
        while (at > 0 && some[at - 1] != '\n') at--;
        if (end > at) mcp_remember(m, some + at, end - at);
    }
    if (n == 0) shut(&m->err);
}

/* Each whole line; the rest stays. */
static void hear_lines(struct mcp *m, size_t from)
{
    size_t at = 0;
    for (;;) {
        char *nl = memchr(m->got.data + from, '\n', m->got.len - from);
        if (!nl) break;
        const size_t end = (size_t)(nl - m->got.data);
        if (end - at > m->limits.message_bytes) break;
        mcp_hear(m, m->got.data + at, end - at);
        if (m->state == MCP_DOWN) return;
        at = from = end + 1;
    }
    memmove(m->got.data, m->got.data + at, m->got.len - at);
    m->got.len -= at;
}

static void say_end(struct mcp *m)
{
    int status = 0;
    if (m->err >= 0) hear_words(m);
    if (!ended(m, END_MS, &status)) mcp_fault(m, "closed its output");
    else if (WIFSIGNALED(status)) mcp_fault(m, "was ended by signal %d", WTERMSIG(status));
    else mcp_fault(m, "ended with status %d", WEXITSTATUS(status));
}

static void hear(struct mcp *m)
{
    static char some[AT_ONCE]; /* one thread at a time */
    const ssize_t n = read(m->out, some, sizeof some);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        say_end(m);
        return;
    }
    const size_t from = m->got.len;
    buf_put(&m->got, some, (size_t)n);
    if (m->got.failed) mcp_fault(m, "said more than there is memory for");
    else hear_lines(m, from);
    if (m->state != MCP_DOWN && m->got.len > m->limits.message_bytes)
        mcp_fault(m, "sent a message of more than %zu bytes", m->limits.message_bytes);
}

static void speak(struct mcp *m)
{
    const ssize_t n = write(m->in, m->sent.data + m->n_sent, m->sent.len - m->n_sent);
    if (n < 0 && errno != EAGAIN && errno != EINTR) shut(&m->in); /* what it still says tells why */
    if (n <= 0) return;
    m->n_sent += (size_t)n;
    if (m->n_sent == m->sent.len) m->n_sent = m->sent.len = 0;
}

void mcp_step(struct mcp *m, int timeout_ms)
{
    if (m->state == MCP_DOWN) return;
    const int in = m->n_sent < m->sent.len ? m->in : -1;
    struct pollfd p[3] = {{m->out, POLLIN, 0}, {m->err, POLLIN, 0}, {in, POLLOUT, 0}};
    if (poll(p, 3, timeout_ms) <= 0) return;
    if (p[1].revents) hear_words(m);
    if (p[2].revents) speak(m);
    if (m->state != MCP_DOWN && p[0].revents) hear(m);
}

void mcp_say(struct mcp *m, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    if (m->n_sent > 0) { /* so that what was written takes no room */
        memmove(m->sent.data, m->sent.data + m->n_sent, m->sent.len - m->n_sent);
        m->sent.len -= m->n_sent;
        m->n_sent = 0;
    }
    if (text) buf_printf(&m->sent, "%s\n", text);
    if (!text || m->sent.failed)
        err_set(&m->fault, -1, "the server %s: no memory for what it is to be told", m->c.name);
    json_decref(message);
    free(text);
}

/* ------------------------------------------------------------------ all of it */

struct mcp *mcp_open(const struct mcp_config *c, const struct mcp_limits *limits, struct err *err)
{
    struct mcp *m = calloc(1, sizeof *m);
    if (!m) {
        err_set(err, -1, "no memory for the server %s", c->name);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    m->limits = *limits;
    m->in = m->out = m->err = -1;
    m->c = *c;
    const int64_t until = mcp_now() + limits->start_ms;
    bool bad = mcp_spawn(m, err);
    while (!bad && m->state != MCP_READY && m->state != MCP_DOWN && mcp_now() < until)
        mcp_step(m, (int)MIN(until - mcp_now(), 100));
    if (!bad && m->state != MCP_READY) {
        if (m->state != MCP_DOWN) mcp_fault(m, "did not say its tools within %g s", limits->start_ms / 1e3);
        err_set(err, -1, "%s", m->fault.text);
        bad = true;
    }
    if (!bad) return m;
    mcp_close(m);
    return NULL;
}

const struct mcp_tool *mcp_tools(const struct mcp *m, int *n)
{
    *n = m->n_tools;
    return m->tool;
}

const char *mcp_name(const struct mcp *m) { return m->c.name; }

void mcp_close(struct mcp *m)
{
    if (!m) return;
    mcp_down(m);
    for (int i = 0; i < m->n_tools; i++) {
        free(m->tool[i].theirs);
        free(m->tool[i].about);
        json_decref(m->tool[i].schema);
    }
    buf_free(&m->sent);
    buf_free(&m->got);
    free(m);
}
