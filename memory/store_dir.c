/* store_dir.c - the store's folder: whose it is, its files' modes, its locks, and how it was left. */
#include "memory/store_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>

static const char format[] = "plimsoll store 1\n";
const char *const store_part_name[STORE_PARTS] = {"journal", "cache"};

int store_path(char path[STORE_PATH_MAX], const char *dir, const char *name, struct err *err)
{
    int n = snprintf(path, STORE_PATH_MAX, "%s/%s", dir, name);
    if (n > 0 && n < STORE_PATH_MAX) return 0;
    return err_set(err, STORE_FAILED, "the store's path is too long: name a shorter one");
}

int store_errno(struct err *err, int error, const char *what, const char *path)
{
    switch (error) {
    case ENOENT:
        return err_set(err, STORE_NOT_FOUND, "%s: cannot %s: it is not there", path, what);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return err_set(err, STORE_DISK_FULL, "%s: cannot %s: the disk or a limit on it is full (%s); make room", path,
                       what, strerror(error));
    case EROFS:
        return err_set(err, STORE_READ_ONLY, "%s: cannot %s: the file system is read-only", path, what);
    case EACCES:
    case EPERM:
        return err_set(err, STORE_PERMISSION, "%s: cannot %s: no permission", path, what);
    case ELOOP:
        return err_set(err, STORE_FOREIGN, "%s: is a symbolic link; the store follows none", path);
    case EIO:
        return err_set(err, STORE_IO, "%s: cannot %s: a write failed (the device, or a quota)", path, what);
    case ENOMEM:
        return err_set(err, STORE_NO_MEMORY, "%s: cannot %s: no memory", path, what);
    default:
        return err_set(err, STORE_FAILED, "%s: cannot %s: %s", path, what, strerror(error));
    }
}

int store_default_dir(const char *(*env)(const char *name), struct buf *out, struct err *err)
{
    const char *data = env("XDG_DATA_HOME"), *home = env("HOME");
    if (data && data[0] == '/')
        buf_printf(out, "%s/plimsoll", data);
    else if (home && home[0] == '/')
        buf_printf(out, "%s/.local/share/plimsoll", home);
    else
        return err_set(err, STORE_FAILED, "no place for the store: set HOME or XDG_DATA_HOME, or name a folder");
    return out->failed ? err_set(err, STORE_NO_MEMORY, "no memory") : 0;
}

/* A folder or file that is there: no link, ours, of the kind it should be; its mode made what it should be. */
static int vet(const char *path, mode_t kind, bool read_only, struct err *err)
{
    struct stat st;
    mode_t mode = kind == S_IFDIR ? 0700 : 0600;
    if (lstat(path, &st)) return store_errno(err, errno, "look at it", path);
    if (S_ISLNK(st.st_mode)) return store_errno(err, ELOOP, "", path);
    if ((st.st_mode & S_IFMT) != kind || (kind == S_IFREG && st.st_nlink != 1))
        return err_set(err, STORE_FOREIGN, "%s: is not a %s of the store's", path, kind == S_IFDIR ? "folder" : "file");
    if (st.st_uid != geteuid())
        return err_set(err, STORE_FOREIGN, "%s: belongs to another user (number %lu); name a folder of your own", path,
                       (unsigned long)st.st_uid);
    if ((st.st_mode & 07777) != mode && !read_only && chmod(path, mode))
        return store_errno(err, errno, "close it to others", path);
    return 0;
}

static int make_folder(const char *path, bool read_only, struct err *err)
{
    if (!read_only && mkdir(path, 0700) && errno != EEXIST) return store_errno(err, errno, "make it", path);
    return vet(path, S_IFDIR, read_only, err);
}

/* The folders above it, as far as they are not there; these are not ours to judge. */
static int make_parents(const char *dir, struct err *err)
{
    char path[STORE_PATH_MAX];
    snprintf(path, sizeof path, "%s", dir);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES)
            return store_errno(err, errno, "make it", path);
        *slash = '/';
    }
    return 0;
}

static int make_file(const char *path, const char *text, struct err *err)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return store_errno(err, errno, "make it", path);
    size_t n = strlen(text);
    bool well = fchmod(fd, 0600) == 0 && write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
    int error = errno;
    close(fd);
    return well ? 0 : store_errno(err, error, "write it", path);
}

static bool is_empty(const char *dir, const char *but)
{
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, but) != 0) empty = false;
    if (d) closedir(d);
    return empty;
}

static int check_format(const char *dir, bool read_only, struct err *err)
{
    char path[STORE_PATH_MAX], text[sizeof format + 1] = "";
    if (store_path(path, dir, "FORMAT", err)) return STORE_FAILED;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT) return store_errno(err, errno, "read it", path);
    if (fd < 0) {
        if (!is_empty(dir, ""))
            return err_set(err, STORE_FOREIGN, "%s: holds things that are no plimsoll store; name another folder", dir);
        if (read_only) return err_set(err, STORE_NOT_FOUND, "%s: there is no store in it", dir);
        return make_file(path, format, err);
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n == (ssize_t)sizeof format - 1 && memcmp(text, format, sizeof format - 1) == 0)
        return vet(path, S_IFREG, read_only, err);
    /* It is written before all else: who made it was killed in the middle of that, or is at it now. */
    if (n >= 0 && memcmp(text, format, (size_t)n) == 0 && is_empty(dir, "FORMAT")) {
        if (read_only) return err_set(err, STORE_NOT_FOUND, "%s: there is no store in it", dir);
        int rc = vet(path, S_IFREG, false, err);
        return rc ? rc : make_file(path, format, err);
    }
    if (n > 15 && memcmp(text, format, 15) == 0)
        return err_set(err, STORE_FOREIGN, "%s: is a store of another version of plimsoll", dir);
    return err_set(err, STORE_FOREIGN, "%s: its FORMAT is not a plimsoll store's; name another folder", dir);
}

/* LMDB would make its lock with the umask's mode, and follow a link: it is there before LMDB comes.  The data is made
 * by who is alone with the folder (store_env_make). */
static int make_part(const char *dir, const char *name, bool read_only, struct err *err)
{
    static const char *const file[] = {"data.mdb", "lock.mdb"};
    char folder[STORE_PATH_MAX], path[STORE_PATH_MAX];
    int rc = store_path(folder, dir, name, err);
    if (!rc) rc = make_folder(folder, read_only, err);
    for (int i = 0; !rc && i < 2; i++) {
        struct stat st;
        rc = store_path(path, folder, file[i], err);
        if (rc) break;
        if (lstat(path, &st) == 0)
            rc = vet(path, S_IFREG, read_only, err);
        else if (!read_only && i == 1)
            rc = make_file(path, "", err);
    }
    return rc;
}

int store_dir_make(const char *dir, bool read_only, struct err *err)
{
    char sessions[STORE_PATH_MAX];
    int rc = store_path(sessions, dir, "sessions", err);
    if (!rc && !read_only) rc = make_parents(dir, err);
    const bool made = !rc && !read_only && mkdir(dir, 0700) == 0;
    if (!rc && !read_only && !made && errno != EEXIST) rc = store_errno(err, errno, "make it", dir);
    /* One that was there may be any folder, named by mistake: until it is known to be a store its mode is not ours. */
    if (!rc) rc = vet(dir, S_IFDIR, !made, err);
    if (!rc) rc = check_format(dir, read_only, err);
    if (!rc) rc = vet(dir, S_IFDIR, read_only, err);
    if (!rc && !read_only) rc = make_folder(sessions, false, err);
    for (int p = 0; !rc && p < STORE_PARTS; p++) rc = make_part(dir, store_part_name[p], read_only, err);
    return rc;
}

/* ------------------------------------------------------------------ locks */

/* Of users.lock: byte 0 has whoever is there, byte 1 those who may write and know that the files are good.  To be alone
 * is to have ALL of it.  (Who only reads has looked for nobody: a writer beside readers alone looks himself.) */
enum { ALL = 0, THERE = 1, LOOKED = 2 };

/* Locks of the open file, not of the process and not flock(): a change from shared to alone that is refused leaves the
 * shared one as it was, and in no moment is there none. */
static int users_set(int fd, short how, int what)
{
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET, .l_start = what == LOOKED, .l_len = what != ALL};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* Whether another one has it shared; not: has it for himself. */
static bool users_looked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK;
}

int store_users_open(const char *dir, bool read_only, struct err *err)
{
    char path[STORE_PATH_MAX];
    int rc = store_path(path, dir, "users.lock", err);
    if (rc) return rc;
    int fd = open(path, (read_only ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) return store_errno(err, errno, "open it", path);
    rc = vet(path, S_IFREG, read_only, err);
    if (!rc) return fd;
    close(fd);
    return rc;
}

bool store_users_alone(int fd) { return users_set(fd, F_WRLCK, ALL) == 0; }

/* After a lock that was refused.  0: it is time to try again. */
static int users_wait(int *tries, const char *dir, struct err *err)
{
    if (errno != EAGAIN && errno != EACCES) return store_errno(err, errno, "lock it", dir);
    if (++*tries > 100)
        return err_set(err, STORE_BUSY, "%s: another process checks, wipes or salvages it; wait for that", dir);
    usleep(20000);
    return 0;
}

static int users_share(int fd, int what, const char *dir, struct err *err)
{
    int tries = 0, rc = 0;
    while (rc == 0 && users_set(fd, F_RDLCK, what)) rc = users_wait(&tries, dir, err);
    return rc;
}

int store_users_share(int fd, const char *dir, struct err *err) { return users_share(fd, ALL, dir, err); }
int store_users_read(int fd, const char *dir, struct err *err) { return users_share(fd, THERE, dir, err); }

/* Each try is a new look at who is there: who looked at the files may have ended since, or have found them damaged. */
int store_users_enter(int fd, const char *dir, enum store_way *way, struct err *err)
{
    for (int tries = 0, rc;;) {
        *way = STORE_ALONE;
        if (store_users_alone(fd)) return 0;
        const int refused = errno;
        *way = STORE_FIRST;
        if (users_set(fd, F_WRLCK, LOOKED) == 0 && users_set(fd, F_RDLCK, THERE) == 0) return 0;
        *way = STORE_BESIDE;
        if (users_looked(fd) && users_set(fd, F_RDLCK, ALL) == 0) return 0;
        errno = refused;
        rc = users_wait(&tries, dir, err);
        if (rc) return rc;
    }
}

static void holder(int fd, char text[24])
{
    ssize_t n = pread(fd, text, 23, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strspn(text, "0123456789")] = '\0';
    if (!text[0]) strcpy(text, "unknown");
}

/* The file may be unlinked by its last holder between our open and our lock: then it is another file, or none. */
static bool still_there(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

int store_lock_session(struct store *s, const uint8_t session[STORE_SESSION_ID], struct store_lock *out,
                       struct err *err)
{
    struct store_lock lock = {0};
    char id[2 * STORE_SESSION_ID + 1], pid[24];
    for (int i = 0; i < STORE_SESSION_ID; i++) snprintf(id + 2 * i, 3, "%02x", session[i]);
    snprintf(lock.path, sizeof lock.path, "%s/sessions/%s.lock", s->dir, id);
    if (s->read_only) return err_set(err, STORE_READ_ONLY, "%s: the store is open for reading only", s->dir);
    for (;;) {
        lock.fd = open(lock.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock.fd < 0) return store_errno(err, errno, "lock the session", lock.path);
        if (flock(lock.fd, LOCK_EX | LOCK_NB)) {
            int error = errno;
            holder(lock.fd, pid);
            close(lock.fd);
            if (error != EWOULDBLOCK) return store_errno(err, error, "lock the session", lock.path);
            return err_set(err, STORE_BUSY, "session %s is open in process %s; end it there first", id, pid);
        }
        if (still_there(lock.fd, lock.path)) break;
        close(lock.fd);
    }
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (fchmod(lock.fd, 0600) || ftruncate(lock.fd, 0) || pwrite(lock.fd, pid, (size_t)n, 0) != n) {
        int rc = store_errno(err, errno, "write it", lock.path);
        store_unlock_session(&lock);
        return rc;
    }
    *out = lock;
    return 0;
}

void store_unlock_session(struct store_lock *lock)
{
    if (lock->fd > 0) {
        unlink(lock->path);
        close(lock->fd);
    }
    *lock = (struct store_lock){0};
}

/* ------------------------------------------------------------------ how it was left */

/* Size, time and number of both data files: another file under the same name, a copy, a truncation show. */
static int describe(const char *dir, char text[256])
{
    int n = 0;
    for (int p = 0; p < STORE_PARTS; p++) {
        char path[STORE_PATH_MAX];
        struct stat st;
        int m = snprintf(path, sizeof path, "%s/%s/data.mdb", dir, store_part_name[p]);
        if (m < 0 || m >= (int)sizeof path || stat(path, &st)) return -1;
        n += snprintf(text + n, 256 - (size_t)n, "%s %lld %lld.%09ld %llu\n", store_part_name[p], (long long)st.st_size,
                      (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    }
    return n;
}

bool store_is_clean(const char *dir)
{
    char path[STORE_PATH_MAX], was[256] = "", is[256] = "";
    if (store_path(path, dir, "clean", NULL)) return false;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t n = read(fd, was, sizeof was - 1);
    close(fd);
    return n > 0 && describe(dir, is) == n && memcmp(was, is, (size_t)n) == 0;
}

int store_mark_clean(const char *dir, struct err *err)
{
    char path[STORE_PATH_MAX], text[256];
    int rc = store_path(path, dir, "clean", err);
    if (rc) return rc;
    unlink(path);
    if (describe(dir, text) < 0) return store_errno(err, errno, "look at the files of", dir);
    return make_file(path, text, err);
}

int store_mark_open(const char *dir, struct err *err)
{
    char path[STORE_PATH_MAX];
    int rc = store_path(path, dir, "clean", err);
    if (rc) return rc;
    if (unlink(path) && errno != ENOENT) return store_errno(err, errno, "remove it", path);
    return store_sync_dir(dir, err); /* before the first write: an unclean end must show */
}

int store_sync_dir(const char *dir, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return store_errno(err, errno, "open it", dir);
    int rc = fsync(fd) ? store_errno(err, errno, "sync it", dir) : 0;
    close(fd);
    return rc;
}

int store_erase(int fd, const char *path, struct err *err)
{
    static const char zeros[1 << 16];
    struct stat st;
    int rc = fstat(fd, &st) ? store_errno(err, errno, "look at it", path) : 0;
    for (off_t at = 0; !rc && at < st.st_size; at += (off_t)sizeof zeros) {
        size_t n = (size_t)MIN((off_t)sizeof zeros, st.st_size - at);
        if (pwrite(fd, zeros, n, at) != (ssize_t)n) rc = store_errno(err, errno, "overwrite it", path);
    }
    if (!rc && fsync(fd)) rc = store_errno(err, errno, "sync it", path);
    return rc;
}

int store_erase_file(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : store_errno(err, errno, "open it", path);
    int rc = store_erase(fd, path, err);
    close(fd);
    if (!rc && unlink(path)) rc = store_errno(err, errno, "remove it", path);
    return rc;
}
