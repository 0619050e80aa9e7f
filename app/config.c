/* config.c - see config.h. */
#include "app/config.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char blanks[] = " \t";

/* ---------------------------------------------------------------- the file */

int config_default_path(opts_env *env, struct buf *out)
{
    const char *config = env("XDG_CONFIG_HOME"), *home = env("HOME");
    if (config && *config == '/') buf_printf(out, "%s/plimsoll/config", config);
    else if (home && *home == '/') buf_printf(out, "%s/.config/plimsoll/config", home);
    if (out->failed) buf_free(out);
    return out->data ? 0 : -1;
}

/* Whose file it is, and what kind. */
static int check_file(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st)) return err_set(err, -1, "%.300s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return err_set(err, -1, "%.300s: not a regular file", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(err, -1, "%.300s: belongs to another user, so it is not read", path);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, -1, "%.300s: others may write to it, so it is not read; chmod go-w makes it yours alone",
                       path);
    if (st.st_size > CONFIG_MAX)
        return err_set(err, -1, "%.300s: larger than %d KiB", path, CONFIG_MAX >> 10);
    return 0;
}

/* All of fd into c->text.  The file may grow meanwhile: what counts is what was read. */
static int read_text(struct config *c, int fd, const char *path, struct err *err)
{
    size_t n = 0;
    ssize_t got;
    c->text = malloc(CONFIG_MAX + 2);
    if (!c->text) return err_set(err, -1, "%.300s: out of memory", path);
    while ((got = read(fd, c->text + n, CONFIG_MAX + 1 - n)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return err_set(err, -1, "%.300s: %s", path, strerror(errno));
        n += (size_t)got;
    }
    if (n > CONFIG_MAX) return err_set(err, -1, "%.300s: larger than %d KiB", path, CONFIG_MAX >> 10);
    if (memchr(c->text, '\0', n)) return err_set(err, -1, "%.300s: has a NUL byte in it", path);
    c->text[n] = '\0';
    c->at = c->text + (strncmp(c->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0); /* a byte order mark */
    return 0;
}

int config_read(struct config *c, const char *path, bool must, struct err *err)
{
    *c = (struct config){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not hold us up */
    if (fd < 0 && !must && (errno == ENOENT || errno == ENOTDIR)) return 0;
    if (fd < 0) return err_set(err, -1, "%.300s: %s", path, strerror(errno));
    int bad = check_file(fd, path, err) || read_text(c, fd, path, err);
    close(fd);
    if (!bad && !(c->path = strdup(path))) bad = err_set(err, -1, "%.300s: out of memory", path);
    if (bad) config_free(c);
    return bad ? -1 : 0;
}

void config_free(struct config *c)
{
    free(c->path);
    free(c->text);
    *c = (struct config){0};
}

/* ---------------------------------------------------------------- a line */

static int complain(const struct config *c, struct err *err, const char *what)
{
    return err_set(err, -1, "%.300s:%d: %s", c->path, c->line, what);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that the escape at s (behind its backslash) stands for, 1 to 255, and how long it is; else 0. */
static int unescape(const char *s, size_t *n)
{
    static const char letters[] = "nt\"\\", bytes[] = "\n\t\"\\";
    const char *letter = *s ? strchr(letters, *s) : NULL;
    *n = letter ? 1 : 3;
    if (letter) return bytes[letter - letters];
    int high = *s == 'x' ? hex_digit(s[1]) : -1, low = high < 0 ? -1 : hex_digit(s[2]);
    return low < 0 ? 0 : 16 * high + low;
}

/* The value in quotes at s, taken out of them in place; what is behind it may only be a comment. */
static int take_quoted(const struct config *c, char *s, struct err *err)
{
    char *to = s;
    const char *from = s + 1;
    while (*from != '"') {
        size_t n = 0;
        int byte = (unsigned char)*from++;
        if (!byte) return complain(c, err, "a quote is not closed on its line");
        if (byte == '\\') byte = unescape(from, &n);
        if (!byte) return complain(c, err, "in quotes, a backslash stands before n t \" \\ or xHH (not x00)");
        from += n;
        *to++ = (char)byte;
    }
    from++;
    size_t gap = strspn(from, blanks);
    if (from[gap] && (gap == 0 || from[gap] != '#'))
        return complain(c, err, "only a blank and a # comment may follow a value in quotes");
    *to = '\0';
    return 0;
}

/* Cut a value without quotes where its comment begins, or its last blanks. */
static void cut_bare(char *s)
{
    char *end = s;
    for (char *p = s; *p && !(*p == '#' && (p == s || strchr(blanks, p[-1]))); p++)
        if (!strchr(blanks, *p)) end = p + 1;
    *end = '\0';
}

/* `name = value` at s. */
static int take_line(const struct config *c, char *s, struct config_line *out, struct err *err)
{
    char *name = s;
    s += strcspn(s, " \t=#\"");
    char *name_end = s;
    s += strspn(s, blanks);
    if (*s != '=' || name_end == name) return complain(c, err, "not of the form name = value");
    s++;
    *name_end = '\0';
    s += strspn(s, blanks);
    for (const char *p = s; *p; p++)
        if (((unsigned char)*p < ' ' && !strchr(blanks, *p)) || *p == 0x7f)
            return complain(c, err, "a control character; in quotes it is written as \\xHH");
    *out = (struct config_line){.number = c->line, .name = name, .value = s};
    if (*s == '"') return take_quoted(c, s, err);
    cut_bare(s);
    return *s ? 0 : complain(c, err, "no value behind =; an empty text is \"\"");
}

int config_next(struct config *c, struct config_line *out, struct err *err)
{
    while (c->at && *c->at) {
        char *s = c->at, *end = s + strcspn(s, "\n");
        c->at = *end ? end + 1 : end;
        *end = '\0';
        if (end > s && end[-1] == '\r') end[-1] = '\0';
        c->line++;
        s += strspn(s, blanks);
        if (*s && *s != '#') return take_line(c, s, out, err) ? -1 : 1;
    }
    return 0;
}

/* ---------------------------------------------------------------- written */

static bool stands_bare(const char *value)
{
    size_t n = strlen(value);
    if (n == 0 || *value == '"' || strchr(blanks, *value) || strchr(blanks, value[n - 1])) return false;
    for (const char *p = value; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) return false;
        if (*p == '#' && (p == value || p[-1] == ' ')) return false;
    }
    return true;
}

void config_put(struct buf *out, const char *value)
{
    if (stands_bare(value)) {
        buf_puts(out, value);
        return;
    }
    buf_puts(out, "\"");
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\') buf_printf(out, "\\%c", *p);
        else if (*p == '\n') buf_puts(out, "\\n");
        else if ((unsigned char)*p < ' ' || *p == 0x7f) buf_printf(out, "\\x%02x", (unsigned char)*p);
        else buf_put(out, p, 1);
    }
    buf_puts(out, "\"");
}
