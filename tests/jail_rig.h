/* jail_rig.h - what the tests of jail and job share: a workspace beside a secret, and when they cannot run. */
#ifndef JAIL_RIG_H
#define JAIL_RIG_H
#include "tests/check.h"
#include "tools/jail.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* The folder of all that these tests make. */
static inline const char *around(void)
{
    static const char *dir;
    if (!dir) dir = check_tmpdir();
    return dir;
}

/* The folder work in it, beside a file secret. */
static inline const char *workspace(void)
{
    static char path[512], secret[512];
    snprintf(path, sizeof path, "%s/work", around());
    snprintf(secret, sizeof secret, "%s/secret", around());
    mkdir(path, 0755);
    put_file(secret, "secret");
    return path;
}

/* Ends a test where the kernel has no Landlock; in CI that is a failure. */
static inline void need_jail(void)
{
    struct err err = {0};
    if (jail_landlock(&err) >= 1) return;
    if (getenv("CI")) check_fail(__FILE__, __LINE__, "in CI: %s", err.text);
    SKIP("%s", err.text);
}
#endif
