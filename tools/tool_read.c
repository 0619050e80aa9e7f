/* tool_read.c - a file, or its lines from-to, as a stream; without the newline at its end, or the \r\n. */
#include "tools/path.h"
#include "tools/tool.h"
#include <errno.h>
#include <unistd.h>

enum { BLOCK = 64 << 10 };

struct reading {
    const struct tool_context *c;
    int64_t from, to, line; /* the line that the next byte lies in; 1 is the first */
    bool any;               /* something was given or held back: */
    char held[2];           /* what may be the end of the last line: "\n", "\r\n", or a "\r" whose "\n" may come */
    size_t n_held;
};

/* The part of a block that lies in the lines wanted: one run.  *n becomes its length. */
static const char *wanted(struct reading *r, const char *s, size_t *n)
{
    const char *end = s + *n;
    while (r->line < r->from) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        if (!nl) return *n = 0, end;
        r->line++;
        s = nl + 1;
    }
    const char *stop = s;
    while (stop < end && r->line <= r->to) {
        const char *nl = r->from == 1 && r->to == INT64_MAX ? NULL : memchr(stop, '\n', (size_t)(end - stop));
        r->line += nl != NULL;
        stop = nl ? nl + 1 : end;
    }
    *n = (size_t)(stop - s);
    return s;
}

static enum tool_verdict give(struct reading *r, const char *s, size_t n)
{
    if (n == 0) return TOOL_DONE;
    r->any = true;
    const bool goes_on = r->n_held == 1 && r->held[0] == '\r' && n == 1 && *s == '\n';
    if (!goes_on && tool_say(r->c, r->held, r->n_held)) return TOOL_STOPPED;
    if (!goes_on) r->n_held = 0;
    const bool newline = s[n - 1] == '\n', before = n > 1 && s[n - 2] == '\r';
    const size_t keep = newline && before ? 2 : newline || s[n - 1] == '\r' ? 1 : 0;
    memcpy(r->held + r->n_held, s + n - keep, keep);
    r->n_held += keep;
    return tool_say(r->c, s, n - keep);
}

/* What is there when it is opened, however fast it grows. */
static enum tool_verdict stream(struct reading *r, int fd, uint64_t left, const char *path)
{
    char block[BLOCK];
    enum tool_verdict v = TOOL_DONE;
    while (v == TOOL_DONE && left > 0 && r->line <= r->to) {
        ssize_t k = read(fd, block, (size_t)MIN(left, (uint64_t)sizeof block));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) {
            struct err err;
            err_set(&err, -1, "cannot read %s: %s", path_shown(path).text, strerror(errno));
            return tool_fail(r->c, &err);
        }
        if (k == 0) break;
        size_t n = (size_t)k;
        const char *s = wanted(r, block, &n);
        v = give(r, s, n);
        left -= (uint64_t)k;
    }
    return v;
}

enum tool_verdict tool_read(const struct tool_context *c, const json_t *arguments)
{
    struct err err;
    struct tool_text path;
    struct stat st;
    struct reading r = {.c = c, .line = 1};
    if (tool_arg_text(arguments, "path", &path, &err) || tool_arg_int(arguments, "from", 1, &r.from, &err) ||
        tool_arg_int(arguments, "to", INT64_MAX, &r.to, &err))
        return tool_fail(c, &err);
    if (r.from < 1 || r.to < r.from) {
        err_set(&err, -1, "lines are counted from 1, and from is not behind to");
        return tool_fail(c, &err);
    }
    int fd = path_open_file(c->workspace, path.s, &st, &err);
    if (fd < 0) return tool_fail(c, &err);
    enum tool_verdict v = stream(&r, fd, (uint64_t)st.st_size, path.s);
    close(fd);
    if (v == TOOL_DONE && r.n_held == 1 && *r.held == '\r') v = tool_say(c, r.held, 1); /* of no line's end */
    if (v || r.any) return v;
    if (st.st_size == 0) return tool_say(c, "(empty)", 7);
    err_set(&err, -1, "%s has no line %lld", path_shown(path.s).text, (long long)r.from);
    return tool_fail(c, &err);
}
