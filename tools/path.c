/* path.c - names below a workspace. */
#include "tools/path.h"
#include "tools/escape.h"
#include "tools/git_own.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 64, LEVELS = 512, LINKS = 40 /* as many as Linux follows */ };

struct path_shown path_shown(const char *path)
{
    struct path_shown s = {{0}};
    struct buf out = {0};
    escape_start(path, strlen(path), PATH_SHOWN, &out);
    snprintf(s.text, sizeof s.text, "%s", out.data ? out.data : "");
    buf_free(&out);
    return s;
}

/* ------------------------------------------------------------------ one name to a descriptor */

/* The next component in name: its length, 0 at the end.  Passes over slashes and ".". */
static size_t component(const char **at, char name[256])
{
    for (;;) {
        *at += strspn(*at, "/");
        size_t n = strcspn(*at, "/");
        if (n == 0) return 0;
        if (n > 255) return n;
        memcpy(name, *at, n);
        name[n] = '\0';
        *at += n;
        if (strcmp(name, ".") != 0) return n;
    }
}

/* A folder on the way, or what stands at its end: never through a link. */
static int step(int dir, const char *name, bool last, bool folder, int flags)
{
    struct stat st;
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    const bool link_itself = last && (flags & O_PATH) && (flags & O_NOFOLLOW);
    int why = fstat(fd, &st) ? errno : S_ISLNK(st.st_mode) && !link_itself ? ELOOP
              : folder && !S_ISDIR(st.st_mode) ? ENOTDIR : 0;
    if (!why && (!last || (flags & O_PATH))) return fd;
    close(fd);
    errno = why;
    return why ? -1 : openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether it names a folder alone: nothing or a "." stands behind its last slash. */
static bool is_of_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && (slash[1] == '\0' || strcmp(slash, "/.") == 0);
}

/* One component at a time, and no link among them: ELOOP.  ".." leads out: EXDEV. */
static int walk_plain(int root, const char *path, int flags)
{
    char name[256];
    const char *at = path;
    bool slash = is_of_folder(path);
    int dir = *path == '/' ? (errno = EXDEV, -1) : openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    size_t n = dir < 0 ? 0 : component(&at, name);
    bool stay = n == 0; /* "." and "./" are the root itself */
    while (dir >= 0 && n > 0) {
        const char *rest = at;
        char next[256];
        bool last = component(&rest, next) == 0;
        int why = n > 255 ? ENAMETOOLONG : strcmp(name, "..") == 0 ? EXDEV : 0;
        int fd = why ? -1 : step(dir, name, last, !last || slash || (flags & O_DIRECTORY), flags);
        if (!why) why = errno;
        close(dir);
        dir = fd;
        errno = why;
        n = fd < 0 ? 0 : component(&at, name);
    }
    if (!stay || dir < 0) return dir;
    int fd = openat(dir, ".", flags | O_CLOEXEC);
    close(dir);
    return fd;
}

/* A name that has links and ".." in it, made into one that has none: `done` of it, each a folder but perhaps the last,
 * and `rest` still to be gone through. */
struct names {
    char done[PATH_TEXT + 1], rest[2 * PATH_TEXT + 2];
    size_t n_done;
    int links;
    bool folder; /* what done names; "": the root */
};

static int refused(int why)
{
    errno = why;
    return -1;
}

static int go_up(struct names *n)
{
    if (n->n_done == 0) return refused(EXDEV);
    if (!n->folder) return refused(ENOTDIR);
    while (n->n_done > 0 && n->done[n->n_done - 1] != '/') n->n_done--;
    if (n->n_done > 0) n->n_done--;
    n->done[n->n_done] = '\0';
    return 0;
}

/* What a link says goes before the rest, and the link leaves `done`. */
static int go_through(struct names *n, int fd, size_t before, const char *rest)
{
    char to[PATH_TEXT + 1], both[sizeof n->rest];
    ssize_t len = readlinkat(fd, "", to, sizeof to);
    if (len < 0) return -1;
    if (++n->links > LINKS) return refused(ELOOP);
    if (len == 0) return refused(ENOENT);
    if (len == (ssize_t)sizeof to) return refused(ENAMETOOLONG);
    if (*to == '/') return refused(EXDEV);
    if (snprintf(both, sizeof both, "%.*s%s", (int)len, to, rest) > PATH_TEXT) return refused(ENAMETOOLONG);
    memcpy(n->rest, both, sizeof both);
    n->done[n->n_done = before] = '\0';
    n->folder = true;
    return 1;
}

/* 0; 1: `rest` is another now; -1. */
static int go_down(struct names *n, int root, const char *name, const char *rest)
{
    struct stat st;
    const size_t before = n->n_done, len = strlen(name);
    if (before + 1 + len > PATH_TEXT) return refused(ENAMETOOLONG);
    n->n_done += (size_t)snprintf(n->done + before, sizeof n->done - before, "%s%s", before ? "/" : "", name);
    int fd = walk_plain(root, n->done, O_PATH | O_NOFOLLOW);
    if (fd < 0) return -1;
    int rc = fstat(fd, &st);
    n->folder = rc == 0 && S_ISDIR(st.st_mode);
    if (rc == 0 && S_ISLNK(st.st_mode)) rc = go_through(n, fd, before, rest);
    const int why = errno;
    close(fd);
    errno = why;
    return rc;
}

int path_walk(int root, const char *path, int flags)
{
    char name[256];
    struct names n = {.folder = true};
    int fd = walk_plain(root, path, flags);
    if (fd >= 0 || (errno != ELOOP && errno != EXDEV) || *path == '/') return fd;
    if (strlen(path) > PATH_TEXT) return refused(ENAMETOOLONG);
    snprintf(n.rest, sizeof n.rest, "%s", path);
    const char *at = n.rest;
    for (size_t len; (len = component(&at, name)) > 0;) {
        const int rc = len > 255 ? refused(ENAMETOOLONG) : strcmp(name, "..") == 0 ? go_up(&n)
                                                                                 : go_down(&n, root, name, at);
        if (rc < 0) return -1;
        if (rc > 0) at = n.rest;
    }
    if (is_of_folder(n.rest) && !n.folder) return refused(ENOTDIR);
    return walk_plain(root, n.n_done ? n.done : ".", flags);
}

/* -1 and errno; EXDEV: it leads out. */
static int beneath(int root, const char *path, int flags)
{
#ifdef SYS_openat2
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    for (int i = 0; i < TRIES; i++) { /* EAGAIN: something was renamed while ".." was followed */
        long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0) return (int)fd;
        if (errno != EAGAIN && errno != EINTR && errno != ENOSYS && errno != EPERM) return -1;
        if (errno == ENOSYS || errno == EPERM) return path_walk(root, path, flags);
    }
    return -1;
#else
    return path_walk(root, path, flags);
#endif
}

bool path_sayable(const char *path)
{
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) return false;
    return true;
}

static int check(const char *path, struct err *err)
{
    if (!*path) return err_set(err, -1, "the path is empty");
    const bool bad = strlen(path) > PATH_TEXT || *path == '/' || !path_sayable(path);
    return bad ? err_set(err, -1, "%s is not allowed", path_shown(path).text) : 0;
}

static int cannot(const char *path, const char *what, int why, struct err *err)
{
    struct path_shown x = path_shown(path);
    bool folder = strcmp(what, "folder") == 0;
    switch (why) {
    case ENOENT: return err_set(err, -1, "no such %s: %s", folder ? what : "file", x.text);
    case ENOTDIR:
        return folder ? err_set(err, -1, "%s is not a folder", x.text) : err_set(err, -1, "no such file: %s", x.text);
    case EACCES:
    case EPERM: return err_set(err, -1, "permission denied: %s", x.text);
    case EXDEV:
    case ELOOP: return err_set(err, -1, "%s is not allowed", x.text);
    case EISDIR: return err_set(err, -1, "%s is a folder", x.text);
    case EROFS: return err_set(err, -1, "%s is read only", x.text);
    case ENOSPC:
    case EDQUOT: return err_set(err, -1, "disk full");
    default: return err_set(err, -1, "cannot %s %s: %s", folder ? "open" : what, x.text, strerror(why));
    }
}

static int not_a_file(const char *path, mode_t mode, struct err *err)
{
    const char *what = S_ISDIR(mode) ? "a folder" : S_ISLNK(mode) ? "a link, and is not written through" : "not a file";
    return err_set(err, -1, "%s is %s", path_shown(path).text, what);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Looked at before it is opened: opening a device or a pipe is an act by itself. */
int path_open_file(int root, const char *path, struct stat *st, struct err *err)
{
    if (check(path, err)) return -1;
    for (int i = 0; i < TRIES; i++) {
        struct stat seen = {0};
        int fd = beneath(root, path, O_PATH);
        if (fd < 0) return cannot(path, "open", errno, err);
        int rc = fstat(fd, &seen);
        close(fd);
        if (rc) return cannot(path, "open", errno, err);
        if (!S_ISREG(seen.st_mode)) return not_a_file(path, seen.st_mode, err);
        fd = beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (fd < 0) return cannot(path, "open", errno, err);
        if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && same_file(st, &seen)) return fd;
        close(fd); /* another one has its name now */
    }
    return err_set(err, -1, "cannot open %s: it changes all the time", path_shown(path).text);
}

int path_open_folder(int root, const char *path, struct err *err)
{
    if (check(path, err)) return -1;
    int fd = beneath(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    return fd < 0 ? cannot(path, "folder", errno, err) : fd;
}

/* ------------------------------------------------------------------ writing */

struct place { int dir; const char *name; }; /* a name in a folder */

/* Is this folder, or one that it lies in below the root, git's own: by its marks, or because its parent calls it .git?
 * What cannot be found out is. */
static bool in_git(int root, int dir)
{
    struct stat top, here, git;
    int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is = true;
    for (int i = 0; at >= 0 && i < LEVELS; i++) {
        if (fstat(root, &top) || fstat(at, &here)) break;
        is = !same_file(&top, &here);
        if (!is || git_own_folder(at)) break;
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = up;
        if (fstatat(at, ".git", &git, 0) == 0 && same_file(&git, &here)) break;
    }
    if (at >= 0) close(at);
    return is;
}

static int open_place(int root, const char *path, struct place *p, bool git, struct err *err)
{
    if (check(path, err)) return -1;
    const char *slash = strrchr(path, '/');
    p->name = slash ? slash + 1 : path;
    if (!*p->name || strcmp(p->name, ".") == 0 || strcmp(p->name, "..") == 0)
        return err_set(err, -1, "%s is a folder", path_shown(path).text);
    char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    if (!parent) return err_set(err, -1, "out of memory");
    p->dir = beneath(root, parent, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    int why = errno;
    if (p->dir < 0) cannot(why == ENOENT || why == ENOTDIR ? parent : path, "folder", why, err);
    free(parent);
    if (p->dir < 0) return -1;
    if (git || (!git_own_name(p->name) && !in_git(root, p->dir))) return 0;
    close(p->dir);
    return err_set(err, -1, "%s is not allowed: it is git's own (--allow .git)", path_shown(path).text);
}

/* 1: a file that may be replaced, 0: none, -1 */
static int look(const struct place *p, const char *path, struct stat *st, struct err *err)
{
    if (fstatat(p->dir, p->name, st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : cannot(path, "write", errno, err);
    if (!S_ISREG(st->st_mode)) return not_a_file(path, st->st_mode, err);
    if (!(st->st_mode & 0222)) return cannot(path, "write", EROFS, err);
    if (faccessat(p->dir, p->name, W_OK, AT_EACCESS)) return cannot(path, "write", errno, err);
    return 1;
}

int path_look(int root, const char *path, struct stat *st, bool git, struct err *err)
{
    struct place p;
    if (open_place(root, path, &p, git, err)) return -1;
    int rc = look(&p, path, st, err);
    close(p.dir);
    return rc;
}

static int make_beside(int dir, mode_t mode, char name[48])
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t r[2];
        if (getrandom(r, sizeof r, 0) != sizeof r) return -1;
        snprintf(name, 48, ".plimsoll-%016llx%08x", (unsigned long long)r[0], (unsigned)r[1]);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static int fill(int fd, const char *bytes, size_t n, const struct stat *old)
{
    struct stat now;
    while (n > 0) {
        ssize_t k = write(fd, bytes, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        bytes += k;
        n -= (size_t)k;
    }
    if (old) {
        if (fstat(fd, &now)) return -1;
        if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) &&
            errno != EPERM)
            return -1;
        /* Root's jail has no fchmod: the file was made with this mode, less the umask. */
        if ((now.st_mode & 0777) != (old->st_mode & 0777) && fchmod(fd, old->st_mode & 0777) && errno != ENOSYS)
            return -1;
    }
    return fsync(fd);
}

static bool unchanged(const struct place *p, const struct stat *was)
{
    struct stat now;
    return fstatat(p->dir, p->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&now, was) &&
           now.st_size == was->st_size && now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

int path_replace(int root, const char *path, const void *bytes, size_t n, const struct stat *was, bool git,
                 struct err *err)
{
    struct place p;
    struct stat old;
    char temp[48];
    if (open_place(root, path, &p, git, err)) return -1;
    int there = look(&p, path, &old, err), rc = -1;
    int fd = there < 0 ? -1 : make_beside(p.dir, there ? old.st_mode & 0777 : 0666, temp);
    if (there >= 0 && fd < 0) cannot(path, "write", errno, err);
    if (fd >= 0) {
        rc = fill(fd, bytes, n, there ? &old : NULL);
        int why = rc ? errno : 0;
        if (close(fd) && !why) why = errno;
        rc = why ? cannot(path, "write", why, err)
             : was && !unchanged(&p, was) ? err_set(err, -1, "%s was changed meanwhile", path_shown(path).text)
             : renameat(p.dir, temp, p.dir, p.name) ? cannot(path, "write", errno, err) : 0;
        if (rc) unlinkat(p.dir, temp, 0);
        if (rc == 0) fsync(p.dir); /* the new name; it is there in any case, and some file systems cannot */
    }
    close(p.dir);
    return rc;
}
