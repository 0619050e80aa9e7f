/* child.c - see child.h. */
#include "tests/bench/child.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

pid_t child_start(char *const argv[], FILE **out, struct err *err)
{
    int ends[2] = {-1, -1};
    if (out && pipe2(ends, O_CLOEXEC)) return err_set(err, -1, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_t act;
    posix_spawn_file_actions_init(&act);
    if (out) posix_spawn_file_actions_adddup2(&act, ends[1], 1);
    else posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    int code = posix_spawnp(&pid, argv[0], &act, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&act);
    if (ends[1] >= 0) close(ends[1]);
    if (out && code == 0) {
        *out = fdopen(ends[0], "r");
        if (*out) return pid;
        code = errno;
    }
    if (ends[0] >= 0) close(ends[0]);
    /* Started, but without memory to read from it: its writes fail now. */
    if (out && code && pid > 0) waitpid(pid, NULL, 0);
    return code ? err_set(err, -1, "%s could not be started: %s", argv[0], strerror(code)) : pid;
}

int child_lines(char *const argv[], void (*line)(void *self, char *text), void *self, struct err *err)
{
    FILE *out;
    pid_t pid = child_start(argv, &out, err);
    if (pid < 0) return -1;
    char *text = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&text, &cap, out)) >= 0;) {
        if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
        line(self, text);
    }
    free(text);
    fclose(out);
    int status;
    if (waitpid(pid, &status, 0) < 0) return err_set(err, -1, "%s: %s", argv[0], strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
