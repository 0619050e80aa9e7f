/* learned.c - see learned.h. */
#include "app/learn/learned.h"
#include "app/opts.h"
#include "memory/store.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header[] = "plimsoll learned 1";

int learned_path(struct buf *out, struct err *err)
{
    if (store_default_dir(opts_getenv, out, err)) return -1;
    buf_puts(out, "/learned");
    return out->failed ? err_set(err, -1, "no memory") : 0;
}

/* ---------------------------------------------------------------- reading */

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < LEARNED_NAME && !s[n];
}

/* A whole number without a sign, and nothing behind it. */
static bool read_number(const char *s, int64_t most, int64_t *out)
{
    size_t n = strspn(s, "0123456789");
    if (n == 0 || n > 15 || s[n]) return false;
    *out = strtoll(s, NULL, 10);
    return *out <= most;
}

static bool read_row(char *line, struct learned_row *row)
{
    char *word[6], *save = NULL;
    int64_t v[4];
    static const int64_t most[4] = {1000, 1000, 1000000, INT64_C(1) << 48};
    int n = 0;
    for (char *w = strtok_r(line, " ", &save); w && n < 6; w = strtok_r(NULL, " ", &save)) word[n++] = w;
    if (n != 5 || !is_name(word[0])) return false;
    for (int i = 0; i < 4; i++)
        if (!read_number(word[i + 1], most[i], &v[i])) return false;
    *row = (struct learned_row){.right = (int)v[0], .of = (int)v[1], .times = (int)v[2], .last = v[3]};
    snprintf(row->name, sizeof row->name, "%s", word[0]);
    return v[0] <= v[1];
}

int learned_parse(const char *text, size_t n, struct learned *out, struct err *err)
{
    char line[160];
    int number = 0;
    *out = (struct learned){.n = 0};
    for (size_t at = 0, len; at < n; at += len + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        len = end ? (size_t)(end - text) - at : n - at;
        number++;
        bool fits = len < sizeof line && !memchr(text + at, '\0', len);
        snprintf(line, sizeof line, "%.*s", fits ? (int)len : 0, text + at);
        bool ok = fits && (number == 1 ? strcmp(line, header) == 0
                                       : out->n < LEARNED_ROWS && read_row(line, &out->row[out->n]) &&
                                             !learned_of(out, out->row[out->n].name));
        if (!ok) {
            *out = (struct learned){.n = 0};
            return err_set(err, -1, "line %d is none of a list of lessons that were played", number);
        }
        out->n += number > 1;
    }
    return number > 0 ? 0 : err_set(err, -1, "it is empty");
}

static int read_all(int fd, char *text, size_t room, size_t *n, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, -1, "it is no file of yours");
    for (*n = 0; *n < room;) {
        ssize_t got = read(fd, text + *n, room - *n);
        if (got < 0 && errno != EINTR) return err_set(err, -1, "%s", strerror(errno));
        if (got == 0) return 0;
        *n += got > 0 ? (size_t)got : 0;
    }
    return err_set(err, -1, "it is longer than %d KiB", LEARNED_FILE >> 10);
}

int learned_read(const char *path, struct learned *out, struct err *err)
{
    char text[LEARNED_FILE + 1];
    struct err why = {0};
    size_t n = 0;
    *out = (struct learned){.n = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return 0;
    int rc = fd < 0 ? err_set(&why, -1, "%s", strerror(errno)) : read_all(fd, text, sizeof text, &n, &why);
    if (fd >= 0) close(fd);
    if (rc == 0) rc = learned_parse(text, n, out, &why);
    return rc ? err_set(err, -1, "%.200s: %s", path, why.text) : 0;
}

const struct learned_row *learned_of(const struct learned *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->row[i].name, name) == 0) return &l->row[i];
    return NULL;
}

/* ---------------------------------------------------------------- writing */

/* The folders on the way to a file, for us alone. */
static void make_folders(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *s = strchr(part + 1, '/'); s; s = strchr(s + 1, '/')) {
        *s = '\0';
        mkdir(part, 0700); /* there already, or what is opened behind it says why not */
        *s = '/';
    }
}

static int write_all(int fd, const struct buf *text)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t n = write(fd, text->data + at, text->len - at);
        if (n < 0 && errno != EINTR) return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd);
}

static int put_in_place(const char *path, const struct buf *text, struct err *err)
{
    struct buf fresh = {0};
    buf_printf(&fresh, "%s.XXXXXX", path);
    if (fresh.failed || text->failed) {
        buf_free(&fresh);
        return err_set(err, -1, "no memory for what was learned");
    }
    make_folders(path);
    int fd = mkostemp(fresh.data, O_CLOEXEC), rc = fd < 0 ? -1 : write_all(fd, text);
    if (fd >= 0 && close(fd)) rc = -1;
    if (rc == 0) rc = rename(fresh.data, path);
    if (rc) {
        err_set(err, -1, "%.200s could not be written: %s", path, strerror(errno));
        if (fd >= 0) unlink(fresh.data);
    }
    buf_free(&fresh);
    return rc ? -1 : 0;
}

static struct learned_row *row_for(struct learned *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->row[i].name, name) == 0) return &l->row[i];
    if (l->n == LEARNED_ROWS) return NULL;
    struct learned_row *row = &l->row[l->n++];
    *row = (struct learned_row){.of = -1};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

int learned_note(const char *path, const char *name, int right, int of, int64_t now, struct err *err)
{
    struct learned l;
    struct buf text = {0};
    if (learned_read(path, &l, err)) return -1;
    struct learned_row *row = is_name(name) ? row_for(&l, name) : NULL;
    if (!row) return err_set(err, -1, "%.200s has no room for \"%.40s\"", path, name);
    row->right = row->of == of ? MAX(row->right, right) : right;
    row->of = of;
    row->times = MIN(row->times + 1, 1000000);
    row->last = MAX(now, 0);
    buf_printf(&text, "%s\n", header);
    for (int i = 0; i < l.n; i++)
        buf_printf(&text, "%s %d %d %d %" PRId64 "\n", l.row[i].name, l.row[i].right, l.row[i].of, l.row[i].times,
                   l.row[i].last);
    int rc = put_in_place(path, &text, err);
    buf_free(&text);
    return rc;
}
