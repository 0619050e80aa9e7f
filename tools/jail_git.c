/* jail_git.c - mounts of the process's own over what is git's. */
#include "tools/jail_git.h"
#include "tools/git_own.h"
#include "tools/path.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what is git's */

/* Names from the workspace on, each ended by a NUL. */
struct look {
    struct buf folders; /* still to be looked at; the last one is next, so that a folder's own follow it at once */
    struct buf found;   /* a folder before what lies in it */
    uint64_t names;
    int n_found;
};

static int no_memory(struct err *err) { return err_set(err, -1, "no memory to look for repositories"); }

static int put_name(struct buf *list, const char *folder, const char *name, struct err *err)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    if (n > PATH_MAX)
        return err_set(err, -1, "%s: names in it are too long to look for repositories", path_shown(folder).text);
    buf_puts(list, folder);
    if (*folder) buf_puts(list, "/");
    buf_put(list, name, strlen(name) + 1);
    return list->failed ? no_memory(err) : 0;
}

static int put_found(struct look *l, const char *folder, const char *name, struct err *err)
{
    if (l->n_found++ < JAIL_GIT_MOST) return put_name(&l->found, folder, name, err);
    return err_set(err, -1, "more than %d repositories in the workspace; --allow .git opens them to commands",
                   JAIL_GIT_MOST);
}

static bool is_folder(int dir, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN) return e->d_type == DT_DIR;
    return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int look_at(struct look *l, DIR *d, const char *folder, struct git_marks *marks, struct err *err)
{
    int rc = 0;
    for (struct dirent *e; rc == 0 && (errno = 0, e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (l->names++ == JAIL_GIT_NAMES)
            return err_set(err, -1, "more than %d names in the workspace to look for repositories among; --allow .git "
                           "lets commands run without", JAIL_GIT_NAMES);
        git_marks_see(marks, e->d_name);
        if (git_own_name(e->d_name)) rc = put_found(l, folder, e->d_name, err);
        else if (is_folder(dirfd(d), e)) rc = put_name(&l->folders, folder, e->d_name, err);
    }
    return rc ? rc : errno ? err_set(err, -1, "%s: %s", path_shown(folder).text, strerror(errno)) : 0;
}

/* One that is gone is passed over, and one that may neither be listed nor entered: the command can do no more with it.
 * Of one that may only be entered, what lies in it cannot be found and yet be written; one that may only be listed can
 * be opened, and so be given other rights, if it is the command's user's: such a one is held with all that is in it. */
static int look_into(struct look *l, const char *folder, struct err *err)
{
    struct git_marks marks = {0};
    size_t folders = l->folders.len, found = l->found.len;
    int n_found = l->n_found;
    const char *name = *folder ? folder : ".";
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why = fd < 0 ? errno : 0;
    if (why == ENOENT || why == ENOTDIR || why == ELOOP) return 0;
    const bool enters = faccessat(AT_FDCWD, name, X_OK, AT_EACCESS) == 0;
    if (*folder && (why == EACCES || (!why && !enters))) {
        if (fd >= 0) close(fd);
        return fd < 0 && !enters ? 0 : put_found(l, "", folder, err);
    }
    errno = why;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        err_set(err, -1, "%s: %s", path_shown(name).text, strerror(errno));
        if (fd >= 0) close(fd);
        return -1;
    }
    int rc = look_at(l, d, folder, &marks, err);
    closedir(d);
    if (rc || !*folder || !git_marks_own(&marks)) return rc;
    l->folders.len = folders; /* it is held with all that is in it */
    l->found.len = found;
    l->n_found = n_found;
    return put_found(l, "", folder, err);
}

static int find_git(struct look *l, struct err *err)
{
    char folder[PATH_MAX] = "";
    int rc = look_into(l, folder, err);
    while (rc == 0 && l->folders.len > 0) {
        size_t at = l->folders.len - 1;
        while (at > 0 && l->folders.data[at - 1]) at--;
        snprintf(folder, sizeof folder, "%s", l->folders.data + at);
        l->folders.len = at;
        rc = look_into(l, folder, err);
    }
    return rc;
}

/* ------------------------------------------------------------------ mounts */

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

/* A copy of the mount that it lies in, from there on, is put in its place; made read only before, if that is wanted. */
static int bind_to_itself(const char *path, bool read_only)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    if (fd < 0) return -1;
    int rc = read_only ? set_mount(fd, "", AT_EMPTY_PATH, (struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY}) : 0;
    if (rc == 0) rc = (int)syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
    int why = errno;
    close(fd);
    errno = why;
    return rc;
}

/* The folders that it lies in, from the outermost on, but for those that the one before it lies in too. */
static int bind_folders(char *path, const char *before)
{
    size_t same = 0;
    while (path[same] && path[same] == before[same]) same++;
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) < same) continue; /* before has a slash there too */
        *slash = '\0';
        int rc = bind_to_itself(path, false);
        *slash = '/';
        if (rc) return -1;
    }
    return 0;
}

static int bind_all(const struct look *l)
{
    char *before = "";
    for (char *path = l->found.data, *end = path + l->found.len; path < end; path += strlen(path) + 1) {
        if (bind_folders(path, before) || bind_to_itself(path, true)) return -1;
        before = path;
    }
    return 0;
}

/* ------------------------------------------------------------------ other ways to the same files */

struct mounted { /* a line of mountinfo, as proc(5) has it: "36 35 98:0 /root /point ..." */
    int id;
    char *device, *root, *point; /* root: the path in its file system */
};

/* What proc(5) writes for a blank, a tab, a newline and a backslash. */
static char *unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned c;
        bool octal = *from == '\\' && sscanf(from + 1, "%3o", &c) == 1 && strspn(from + 1, "01234567") >= 3;
        *to = octal ? (char)c : *from;
        from += octal ? 4 : 1;
    }
    *to = '\0';
    return text;
}

static bool read_mount(char *line, struct mounted *m)
{
    char *id = strsep(&line, " ");
    strsep(&line, " ");
    m->device = strsep(&line, " ");
    m->root = strsep(&line, " ");
    m->point = strsep(&line, " ");
    if (!m->point || !line) return false;
    m->id = atoi(id);
    unescape(m->root);
    unescape(m->point);
    return true;
}

/* Which mount this name leads to: its number in mountinfo, -1 if it leads nowhere. */
static int mount_of(const char *path)
{
    char info[64], line[256];
    int id = -1, fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return -1;
    snprintf(info, sizeof info, "/proc/self/fdinfo/%d", fd);
    FILE *f = fopen(info, "re");
    while (f && id < 0 && fgets(line, sizeof line, f)) sscanf(line, "mnt_id: %d", &id);
    if (f) fclose(f);
    close(fd);
    return id;
}

/* What is left of the path behind this folder: "" or "/..."; NULL if it does not lie there. */
static const char *behind(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (n > 0 && folder[n - 1] == '/') n--;
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]) ? path + n : NULL;
}

/* Does a mount of this root show the workspace, or a part of what is git's in it? */
static bool shows(const char *root, const char *workspace, const struct look *l)
{
    const char *in = behind(root, workspace);
    if (behind(workspace, root)) return true;
    for (const char *p = l->found.data, *end = p + l->found.len; in && p < end; p += strlen(p) + 1)
        if (behind(in + 1, p)) return true;
    return false;
}

/* The first time for the workspace's own mount, which gives its device and the path in its file system; then, with
 * these, for the others.  0, or -1 and errno. */
static int each_mount(int own, char device[32], char inside[PATH_MAX], const struct look *l)
{
    char *line = NULL, here[PATH_MAX];
    size_t room = 0;
    int rc = 0;
    struct mounted m;
    FILE *f = fopen("/proc/self/mountinfo", "re");
    if (!f || !getcwd(here, sizeof here)) rc = -1;
    while (rc == 0 && getline(&line, &room, f) > 0) {
        if (!read_mount(line, &m)) continue;
        if (!l && m.id == own) {
            const char *rest = behind(here, m.point);
            snprintf(device, 32, "%s", m.device);
            snprintf(inside, PATH_MAX, "%s%s", strcmp(m.root, "/") == 0 ? "" : m.root, rest ? rest : "");
        }
        if (!l || m.id == own || strcmp(m.device, device) != 0 || !shows(m.root, inside, l)) continue;
        if (mount_of(m.point) != m.id) continue; /* another lies over it: nobody can get there */
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
        rc = (int)syscall(SYS_mount_setattr, AT_FDCWD, m.point, 0, &attr, sizeof attr);
    }
    int why = errno;
    free(line);
    if (f) fclose(f);
    errno = why;
    return rc;
}

/* Mounts lie over names, and what Landlock opens are files: by another mount of the same file system, the same .git
 * could be written.  So those are made read only; the workspace is written by the one that it is in. */
static int close_other_ways(const struct look *l)
{
    char device[32] = "", inside[PATH_MAX];
    int own = mount_of(".");
    if (own >= 0 && each_mount(own, device, inside, NULL)) return -1;
    if (own >= 0 && *device) return each_mount(own, device, inside, l);
    errno = ENOENT;
    return -1;
}

static int hold(const struct look *l, struct err *err)
{
    /* Private first: what is mounted here must not show in the namespace that this one was copied from. */
    if (own_mounts() == 0 && set_mount(AT_FDCWD, "/", 0, (struct mount_attr){.propagation = MS_PRIVATE}) == 0 &&
        close_other_ways(l) == 0 && bind_all(l) == 0)
        return 0;
    return err_set(err, -1, "this system cannot hold .git read only for commands (mount namespaces: %s); --allow .git "
                   "opens it to them", strerror(errno));
}

int jail_hold_git(struct err *err)
{
    struct look l = {0};
    int rc = find_git(&l, err);
    if (rc == 0 && l.n_found > 0) rc = hold(&l, err);
    buf_free(&l.folders);
    buf_free(&l.found);
    return rc;
}
