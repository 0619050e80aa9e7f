/* play_child.c - see play_child.h. */
#include "app/learn/play_child.h"
#include "app/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 1 << 16, LOOK_MS = 10 };

static const double grace = 1;

/* ---------------------------------------------------------------- start */

extern char **environ;

/* The environment less our variables: a run is what its flags say; and what it prints for people is as wide as lessons
 * are.  Its strings are borrowed. */
static char **plain_environment(void)
{
    static const char ours[] = "PLIMSOLL_";
    static char columns[] = "COLUMNS=76";
    size_t n = 0, left = 0;
    while (environ[n]) n++;
    char **env = calloc(n + 2, sizeof *env);
    for (size_t i = 0; env && i < n; i++)
        if (strncmp(environ[i], ours, sizeof ours - 1) != 0 && strncmp(environ[i], "COLUMNS=", 8) != 0)
            env[left++] = environ[i];
    if (env) env[left] = columns;
    return env;
}

static int input_file(const char *text, struct err *err)
{
    int fd = memfd_create("script", MFD_CLOEXEC);
    size_t at = 0, len = strlen(text);
    while (fd >= 0 && at < len) {
        ssize_t n = write(fd, text + at, len - at);
        if (n < 0 && errno != EINTR) break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && at == len && lseek(fd, 0, SEEK_SET) == 0) return fd;
    err_set(err, -1, "no room for a lesson's script: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

/* A pipe, whose other end *held keeps open. */
static int input_pipe(const char *text, int *held, struct err *err)
{
    int ends[2];
    size_t len = strlen(text);
    if (pipe2(ends, O_CLOEXEC)) return err_set(err, -1, "no pipe for a lesson's script: %s", strerror(errno));
    bool fits = fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && write(ends[1], text, len) == (ssize_t)len &&
                write(ends[1], "\n", 1) == 1; /* else its last line is none yet */
    *held = ends[1];
    if (fits) return ends[0];
    close(ends[0]);
    return err_set(err, -1, "a lesson's script is too long to be held open");
}

/* stdin, stdout, stderr, a folder; signals as at the start of a program. */
static int spawn(pid_t *pid, const struct play_command *cmd, char **env, int in, int out, int err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, ours;
    sigemptyset(&none);
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    int rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (rc == 0) rc = posix_spawnattr_setsigmask(&attr, &none);
    if (rc == 0) rc = posix_spawnattr_setsigdefault(&attr, &ours);
    if (rc == 0) rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (rc == 0) rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (rc == 0) rc = posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    if (rc == 0) rc = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (rc == 0) rc = posix_spawn_file_actions_addchdir_np(&files, cmd->folder);
    if (rc == 0) rc = posix_spawn(pid, cmd->program, &files, &attr, cmd->argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

int play_child_start(struct play_child *c, const struct play_command *cmd, struct err *err)
{
    *c = (struct play_child){.out = -1, .err = -1, .held = -1, .over = true};
    int ends[2] = {-1, -1}, in = cmd->held ? input_pipe(cmd->input, &c->held, err) : input_file(cmd->input, err);
    if (in < 0) {
        play_child_end(c, NULL, 0);
        return -1;
    }
    char **env = plain_environment();
    c->err = memfd_create("said", MFD_CLOEXEC);
    bool ready = env && c->err >= 0 && pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
    int rc = ready ? spawn(&c->pid, cmd, env, in, ends[1], c->err) : errno;
    free(env);
    close(in);
    if (ends[1] >= 0) close(ends[1]);
    c->out = ends[0];
    c->begun = c->heard = c->looked = progress_clock();
    c->over = rc != 0;
    if (rc == 0) return 0;
    play_child_end(c, NULL, 0);
    return err_set(err, -1, "a run of the lesson cannot begin: %s", strerror(rc));
}

/* ---------------------------------------------------------------- reading */

static void stop_reading(struct play_child *c)
{
    if (c->out >= 0) close(c->out);
    c->out = -1;
}

static bool read_part(struct play_child *c)
{
    char part[PART];
    if (c->out < 0) return false;
    ssize_t n = read(c->out, part, sizeof part);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (n <= 0) {
        stop_reading(c);
        return false;
    }
    if (c->at > 0) {
        memmove(c->line.data, c->line.data + c->at, c->line.len - c->at);
        c->line.len -= c->at;
        c->at = 0;
    }
    buf_put(&c->line, part, (size_t)n);
    c->heard = progress_clock();
    return true;
}

const char *play_child_line(struct play_child *c, size_t most, size_t *n, int *wrong)
{
    char *line = c->line.data ? c->line.data + c->at : NULL;
    size_t left = c->line.len - c->at;
    char *end = line ? memchr(line, '\n', left) : NULL;
    if (!end) {
        if (left > most || c->line.failed) { /* what follows of it, up to its end, is no event either */
            buf_free(&c->line);
            c->at = 0;
            ++*wrong;
        }
        return NULL;
    }
    *n = (size_t)(end - line);
    c->at += *n + 1;
    return line;
}

static void wait_for(struct play_child *c)
{
    pid_t done = c->over ? 0 : waitpid(c->pid, &c->status, WNOHANG);
    if (done == c->pid || (done < 0 && errno == ECHILD)) c->over = true;
}

bool play_child_look(struct play_child *c, double limit, double patience)
{
    double now = progress_clock(), away = now - c->looked;
    c->looked = now;
    if (away > MAX(patience / 2, 1)) { /* we were stopped ourselves (Ctrl-Z), and it with us: that is not its time */
        c->begun += away;
        c->heard += away;
    }
    bool was_over = c->over, came = read_part(c);
    wait_for(c);
    if (c->over && c->out >= 0) came |= read_part(c);
    if (!c->over && c->told == 0 && (now - c->begun > limit || now - c->heard > patience)) {
        c->late = true;
        c->told = now;
        kill(c->pid, SIGTERM);
    } else if (!c->over && c->told > 0 && now - c->told > grace) {
        kill(c->pid, SIGKILL);
    }
    return came || c->over != was_over;
}

void play_child_kill(struct play_child *c)
{
    if (!c->over) kill(c->pid, SIGKILL);
}

/* ---------------------------------------------------------------- the end */

static void read_tail(int fd, char *tail, size_t room)
{
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)room - 1 ? size - ((off_t)room - 1) : 0;
    ssize_t n = size > 0 ? pread(fd, tail, room - 1, from) : 0;
    tail[n > 0 ? n : 0] = '\0';
}

void play_child_end(struct play_child *c, char *tail, size_t room)
{
    stop_reading(c);
    if (!c->over) kill(c->pid, SIGTERM);
    for (double since = progress_clock(); !c->over; wait_for(c)) {
        if (progress_clock() - since > grace) kill(c->pid, SIGKILL);
        poll(NULL, 0, LOOK_MS);
    }
    if (tail && room > 0) {
        tail[0] = '\0';
        if (c->err >= 0) read_tail(c->err, tail, room);
    }
    if (c->err >= 0) close(c->err);
    if (c->held >= 0) close(c->held);
    c->err = c->held = -1;
    buf_free(&c->line);
    c->at = 0;
}
