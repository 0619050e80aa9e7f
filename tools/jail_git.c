/* jail_git.c - mounts of the process's own over .git. */
#include "tools/jail_git.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = write(fd, text, strlen(text));
    int why = errno;
    close(fd);
    errno = why;
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* A namespace of mounts; who may not have one gets it in a namespace of users, where it is who it was. */
static int own_mounts(void)
{
    char uids[64], gids[64];
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWNS) == 0) return 0;
    if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS)) return -1;
    snprintf(uids, sizeof uids, "%u %u 1\n", uid, uid);
    snprintf(gids, sizeof gids, "%u %u 1\n", gid, gid);
    if (put_file("/proc/self/setgroups", "deny")) return -1;
    return put_file("/proc/self/uid_map", uids) || put_file("/proc/self/gid_map", gids) ? -1 : 0;
}

static int set_mount(int fd, const char *path, unsigned flags, struct mount_attr attr)
{
    return (int)syscall(SYS_mount_setattr, fd, path, AT_RECURSIVE | flags, &attr, sizeof attr);
}

/* A copy of the mount that .git lies in, from there on, made read only before it is put in its place. */
static int bind_read_only(void)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, ".git",
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    if (fd < 0) return -1;
    int rc = set_mount(fd, "", AT_EMPTY_PATH, (struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY});
    if (rc == 0) rc = (int)syscall(SYS_move_mount, fd, "", AT_FDCWD, ".git", MOVE_MOUNT_F_EMPTY_PATH);
    int why = errno;
    close(fd);
    errno = why;
    return rc;
}

int jail_hold_git(struct err *err)
{
    struct stat st;
    if (lstat(".git", &st) ? errno == ENOENT : S_ISLNK(st.st_mode)) return 0;
    /* Private first: what is mounted here must not show in the namespace that this one was copied from. */
    if (own_mounts() == 0 && set_mount(AT_FDCWD, "/", 0, (struct mount_attr){.propagation = MS_PRIVATE}) == 0 &&
        bind_read_only() == 0)
        return 0;
    return err_set(err, -1, "this system cannot hold .git read only for commands (mount namespaces: %s); --allow .git "
                   "opens it to them", strerror(errno));
}
