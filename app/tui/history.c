/* history.c - see history.h. */
#include "app/tui/history.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ a record */

static void put_record(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') buf_puts(out, "\\n");
        else if (c == '\\') buf_puts(out, "\\\\");
        else if (c < 0x20 || c == 0x7f) buf_printf(out, "\\x%02x", c);
        else buf_put(out, &c, 1);
    }
    buf_puts(out, "\n");
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape at s, behind its backslash, stands for; *n: how long it is.  -1: none. */
static int unescape(const char *s, size_t left, size_t *n)
{
    *n = 1;
    if (left > 0 && s[0] == 'n') return '\n';
    if (left > 0 && s[0] == '\\') return '\\';
    *n = 3;
    if (left < 3 || s[0] != 'x') return -1;
    int high = hex_digit(s[1]), low = hex_digit(s[2]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/* The text of a line of n bytes.  false: it is none, or too long to be one of ours (or there is no memory). */
static bool take_record(const char *line, size_t n, struct buf *out)
{
    out->len = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) return false;
        if (c == '\\') {
            size_t used;
            int byte = unescape(line + i + 1, n - i - 1, &used);
            if (byte < 0) return false;
            c = (unsigned char)byte;
            i += used;
        }
        buf_put(out, &c, 1);
    }
    return n > 0 && out->len <= HISTORY_TEXT && !out->failed;
}

/* ------------------------------------------------------------------ the file */

static int complain(const struct history *h, struct err *err, const char *what)
{
    return err_set(err, -1, "the input's history, %.300s: %s", h->path, what);
}

int history_open(struct history *h, opts_env *env, bool saves, struct err *err)
{
    const char *state = env("XDG_STATE_HOME"), *home = env("HOME");
    struct buf path = {0};
    *h = (struct history){.most = HISTORY_MOST, .saves = saves};
    if (state && *state == '/') buf_printf(&path, "%s/plimsoll/history", state);
    else if (home && *home == '/') buf_printf(&path, "%s/.local/state/plimsoll/history", home);
    else return err_set(err, -1, "no history of the input: neither XDG_STATE_HOME nor HOME is an absolute path");
    if (path.failed) {
        buf_free(&path);
        return err_set(err, -1, "no history of the input: out of memory");
    }
    h->path = path.data;
    return 0;
}

void history_close(struct history *h)
{
    free(h->path);
    *h = (struct history){0};
}

static int check_file(const struct history *h, int fd, struct stat *st, struct err *err)
{
    if (fstat(fd, st)) return complain(h, err, strerror(errno));
    if (!S_ISREG(st->st_mode)) return complain(h, err, "not a regular file");
    if (st->st_uid != geteuid()) return complain(h, err, "belongs to another user");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return complain(h, err, "others may write to it, so it is not used; chmod 600 makes it yours alone");
    return 0;
}

/* A link is refused: what replaces the file when it is trimmed would take the link's place. */
static int open_file(const struct history *h, int flags, struct stat *st, struct err *err)
{
    int fd = open(h->path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 && errno == ELOOP) return complain(h, err, "not a regular file");
    if (fd < 0) {
        int why = errno;
        complain(h, err, strerror(why));
        errno = why;
        return -1;
    }
    if (!check_file(h, fd, st, err)) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* The whole lines among the last `most` bytes. */
static int read_lines(const struct history *h, int fd, off_t size, struct buf *out, struct err *err)
{
    off_t from = size > (off_t)h->most ? size - (off_t)h->most - 1 : 0;
    char part[1 << 14];
    for (ssize_t got = 1; got > 0 && from + (off_t)out->len < size;) {
        got = pread(fd, part, MIN(sizeof part, (size_t)(size - from) - out->len), from + (off_t)out->len);
        if (got < 0 && errno != EINTR) return complain(h, err, strerror(errno));
        if (got > 0) buf_put(out, part, (size_t)got);
        if (got < 0) got = 1;
        if (out->failed) return complain(h, err, "out of memory");
    }
    const char *first = from > 0 && out->len > 0 ? memchr(out->data, '\n', out->len) : NULL;
    const char *last = out->len > 0 ? memrchr(out->data, '\n', out->len) : NULL;
    size_t cut = from == 0 ? 0 : first ? (size_t)(first - out->data) + 1 : out->len;
    out->len = last ? (size_t)(last - out->data) + 1 : 0;
    if (cut > 0 && cut <= out->len) memmove(out->data, out->data + cut, out->len - cut);
    out->len -= MIN(cut, out->len);
    return 0;
}

/* Where the newest lines begin, at most EDIT_HISTORY of them and `most` bytes. */
static size_t newest(const struct buf *lines, size_t most)
{
    size_t at = lines->len;
    for (int n = 0; n < EDIT_HISTORY && at > 0; n++) {
        const char *before = at > 1 ? memrchr(lines->data, '\n', at - 1) : NULL;
        size_t from = before ? (size_t)(before - lines->data) + 1 : 0;
        if (lines->len - from > most) break;
        at = from;
    }
    return at;
}

int history_load(const struct history *h, struct edit *e, struct err *err)
{
    struct buf lines = {0}, text = {0};
    struct stat st;
    struct err why = {0};
    if (!h->path) return 0;
    int fd = open_file(h, O_RDONLY, &st, &why);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : err_set(err, -1, "%s", why.text);
    int rc = read_lines(h, fd, st.st_size, &lines, err);
    for (size_t at = rc ? lines.len : newest(&lines, h->most), end; at < lines.len; at = end + 1) {
        end = (size_t)((const char *)memchr(lines.data + at, '\n', lines.len - at) - lines.data);
        if (take_record(lines.data + at, end - at, &text) && edit_remember(e, text.data, text.len)) text.failed = true;
    }
    if (text.failed) rc = complain(h, err, "out of memory");
    buf_free(&lines);
    buf_free(&text);
    close(fd);
    return rc;
}

/* ------------------------------------------------------------------ writing */

static void make_folders(const char *path)
{
    char *copy = strdup(path);
    for (char *p = copy ? strchr(copy + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(copy, 0700); /* what cannot be made is said by who opens the file */
        *p = '/';
    }
    free(copy);
}

static int lock(const struct history *h, int fd, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += 5) {
        if (errno != EWOULDBLOCK && errno != EINTR) return complain(h, err, strerror(errno));
        if (ms >= HISTORY_PATIENCE_MS) return complain(h, err, "another program has it locked");
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* The file that has the name now, locked: one that was replaced while its lock was waited for is nobody's. */
static int open_locked(const struct history *h, struct stat *st, struct err *err)
{
    for (int tries = 0; tries < 100; tries++) {
        struct stat named;
        int fd = open_file(h, O_RDWR | O_APPEND | O_CREAT, st, err);
        if (fd < 0) return -1;
        if (lock(h, fd, err)) {
            close(fd);
            return -1;
        }
        if (lstat(h->path, &named) == 0 && named.st_ino == st->st_ino && named.st_dev == st->st_dev &&
            fstat(fd, st) == 0)
            return fd;
        close(fd);
    }
    return complain(h, err, "it is replaced again and again");
}

static int write_whole(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return -1;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

/* All or nothing of it: a disk that is full leaves no half of a record.  A last line that was never ended gets a byte
 * that no record has, so that it stays no record. */
static int append(const struct history *h, int fd, off_t size, const struct buf *line, struct err *err)
{
    struct buf all = {0};
    char last = '\n';
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1) return complain(h, err, strerror(errno));
    if (last != '\n') buf_puts(&all, "\x18\n");
    buf_put(&all, line->data, line->len);
    int rc = all.failed ? complain(h, err, "out of memory") : 0;
    if (rc == 0 && write_whole(fd, all.data, all.len)) {
        rc = complain(h, err, strerror(errno));
        if (ftruncate(fd, size)) rc = -1; /* the torn line is passed over */
    }
    buf_free(&all);
    return rc;
}

/* The newest half and the new line, as a file that takes the name of the locked one. */
static int trim(const struct history *h, int fd, off_t size, const struct buf *line, struct err *err)
{
    struct buf lines = {0}, name = {0};
    buf_printf(&name, "%s.new", h->path);
    int rc = name.failed ? complain(h, err, "out of memory") : read_lines(h, fd, size, &lines, err);
    if (rc == 0) unlink(name.data); /* of one that was killed: who has the lock is alone */
    int to = rc ? -1 : open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t from = rc ? 0 : newest(&lines, h->most / 2);
    buf_put(&lines, line->data, line->len);
    if (rc == 0 && lines.failed) rc = complain(h, err, "out of memory");
    if (rc == 0 && (to < 0 || write_whole(to, lines.data + from, lines.len - from) || rename(name.data, h->path)))
        rc = complain(h, err, strerror(errno));
    if (rc && to >= 0) unlink(name.data);
    if (to >= 0) close(to);
    buf_free(&lines);
    buf_free(&name);
    return rc;
}

int history_add(const struct history *h, const char *text, size_t n, struct err *err)
{
    struct buf line = {0};
    struct stat st;
    if (!h->path || !h->saves || n == 0 || n > HISTORY_TEXT) return 0;
    put_record(&line, text, n);
    make_folders(h->path);
    int fd = line.failed ? complain(h, err, "out of memory") : open_locked(h, &st, err), rc = fd < 0 ? -1 : 0;
    if (rc == 0 && (st.st_mode & 077) && fchmod(fd, 0600)) rc = complain(h, err, strerror(errno));
    if (rc == 0 && (uint64_t)st.st_size + line.len > h->most) rc = trim(h, fd, st.st_size, &line, err);
    else if (rc == 0) rc = append(h, fd, st.st_size, &line, err);
    if (fd >= 0) close(fd);
    buf_free(&line);
    return rc;
}
