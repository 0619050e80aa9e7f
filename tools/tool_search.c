/* tool_search.c - lines that match a PCRE2 pattern, in a file or in the files below a folder: "src/a.c:12: text".
 *
 * Folders are walked by name; links are not followed; folders named .git, and files with a NUL byte near their
 * beginning, are passed over.  The pattern sees one line at a time, without its newline, at most LINE bytes of it;
 * SHOWN bytes around the match are given.  What was left out for a limit is said in a last line in brackets. */
#include "tools/escape.h"
#include "tools/folder.h"
#include "tools/path.h"
#include "tools/pattern.h"
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { PATTERN = 1024, LINE = 64 << 10, SHOWN = 300, BEFORE = 80, LOOK = 4096 };

struct search {
    const struct tool_context *c;
    struct pattern *pattern;
    struct buf name, out;
    uint64_t bytes, long_lines, unread;
    int64_t until; /* milliseconds */
    int matches;
    const char *cut; /* why it ended early, in brackets at its end */
    enum tool_verdict verdict;
    struct err err;
    char line[LINE];
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char late[] = "the time for a search was over";

static bool over(const struct search *s) { return s->cut || s->verdict; }

/* ------------------------------------------------------------------ one file */

static void hit(struct search *s, uint64_t number, size_t n, size_t at)
{
    size_t start = at > BEFORE && n > SHOWN ? at - BEFORE : 0, end = MIN(n, start + SHOWN);
    while (start > 0 && ((unsigned char)s->line[start] & 0xc0) == 0x80 && at - start < BEFORE + 3) start--;
    while (end < n && end > start && ((unsigned char)s->line[end] & 0xc0) == 0x80) end--;
    s->out.len = 0;
    if (s->matches++ > 0) buf_puts(&s->out, "\n");
    escape_text(s->name.data, s->name.len, &s->out);
    buf_printf(&s->out, ":%llu: %s", (unsigned long long)number, start > 0 ? "..." : "");
    buf_put(&s->out, s->line + start, end - start);
    if (end < n) buf_puts(&s->out, "...");
    s->verdict = tool_say(s->c, s->out.data, s->out.len);
    if (s->matches >= s->c->limits.matches) s->cut = "there may be more matches";
}

static void match(struct search *s, uint64_t number, size_t n)
{
    if (n > 0 && s->line[n - 1] == '\r') n--;
    size_t at;
    struct err why;
    int rc = pattern_find(s->pattern, &(struct pattern_subject){.text = s->line, .n = n}, &at, &why);
    if (rc > 0) hit(s, number, n, at);
    if (rc == PATTERN_LATE) s->cut = late;
    if (rc != PATTERN_FAILED) return;
    err_set(&s->err, -1, "the pattern is too much work: %s", why.text);
    s->verdict = TOOL_FAILED;
}

/* The lines of a block; the one at its end stays in s->line, *have bytes of it. */
static void lines(struct search *s, const char *p, size_t n, size_t *have, uint64_t *number, bool *is_long)
{
    for (const char *end = p + n; p < end && !over(s);) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t k = (size_t)((nl ? nl : end) - p), fits = MIN(k, LINE - *have);
        memcpy(s->line + *have, p, fits);
        *have += fits;
        *is_long |= fits < k;
        p = nl ? nl + 1 : end;
        if (!nl) continue;
        s->long_lines += *is_long;
        match(s, ++*number, *have);
        *have = 0;
        *is_long = false;
    }
}

static void search_file(struct search *s, int fd, off_t size)
{
    char block[LINE];
    uint64_t number = 0;
    size_t have = 0;
    bool is_long = false, first = true;
    pattern_allow(s->pattern, (uint64_t)MAX(size, 0));
    while (!over(s)) {
        ssize_t k = read(fd, block, sizeof block);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) s->unread++;
        if (k <= 0 || (first && memchr(block, 0, MIN((size_t)k, (size_t)LOOK)))) break;
        first = false;
        lines(s, block, (size_t)k, &have, &number, &is_long);
        s->bytes += (uint64_t)k;
        if (s->bytes > s->c->limits.search_bytes) s->cut = "there is more than a search may read";
        if (now_ms() > s->until) s->cut = late;
    }
    s->long_lines += is_long;
    if (have > 0 && !over(s)) match(s, number + 1, have);
}

/* ------------------------------------------------------------------ folders */

static void search_folder(struct search *s, int fd, int depth);

static void search_entry(struct search *s, int dir, const struct folder_entry *e, int depth)
{
    struct stat st;
    if ((!e->folder && !e->file) || (e->folder && strcmp(e->name, ".git") == 0)) return;
    size_t was = s->name.len;
    if (was > 0) buf_puts(&s->name, "/");
    buf_puts(&s->name, e->name);
    int fd = openat(dir, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) s->unread++;
    else if (e->folder && S_ISDIR(st.st_mode)) {
        search_folder(s, fd, depth + 1);
        fd = -1;
    } else if (e->file && S_ISREG(st.st_mode)) search_file(s, fd, st.st_size);
    if (fd >= 0) close(fd);
    s->name.len = was;
}

static void search_folder(struct search *s, int fd, int depth)
{
    struct folder f;
    int dir = depth < s->c->limits.depth ? openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir < 0 || folder_read(fd, s->c->limits.entries, &f)) {
        if (dir < 0) close(fd);
        s->unread++;
    } else {
        for (size_t i = 0; i < f.n && !over(s); i++) {
            if (now_ms() > s->until) s->cut = late;
            else search_entry(s, dir, &f.entry[i], depth);
        }
        s->unread += f.more;
        folder_free(&f);
    }
    if (dir >= 0) close(dir);
}

/* ------------------------------------------------------------------ begin and end */

static int compile(struct search *s, struct tool_text pattern)
{
    if (pattern.n == 0 || pattern.n > PATTERN || strpbrk(pattern.s, "\r\n"))
        return err_set(&s->err, -1, "a pattern is one line of 1 to %d bytes", PATTERN);
    s->pattern = pattern_open(pattern.s, pattern.n, &s->err);
    if (!s->pattern) return -1;
    pattern_until(s->pattern, s->until);
    return 0;
}

static void begin(struct search *s, const char *path)
{
    struct stat st;
    int fd = path_open_folder(s->c->workspace, path, &s->err);
    bool folder = fd >= 0;
    if (!folder && strstr(s->err.text, " is not a folder")) fd = path_open_file(s->c->workspace, path, &st, &s->err);
    if (fd < 0) {
        s->verdict = TOOL_FAILED;
        return;
    }
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/') n--;
    if (!folder || !(n == 1 && *path == '.')) buf_put(&s->name, path, n);
    if (folder) {
        search_folder(s, fd, 0);
        return;
    }
    search_file(s, fd, st.st_size);
    close(fd);
}

/* What the reader has to know of what is not there. */
static void end(struct search *s)
{
    s->out.len = 0;
    if (s->matches == 0) buf_puts(&s->out, "no match");
    if (s->cut) buf_printf(&s->out, "\n(%s)", s->cut);
    if (s->long_lines)
        buf_printf(&s->out, "\n(of %llu long lines only the first %d bytes were searched)",
                   (unsigned long long)s->long_lines, LINE);
    if (s->unread) buf_printf(&s->out, "\n(%llu names could not be searched)", (unsigned long long)s->unread);
    s->verdict = tool_say(s->c, s->out.data, s->out.len);
}

enum tool_verdict tool_search(const struct tool_context *c, const json_t *arguments)
{
    struct tool_text pattern, path;
    struct search *s = calloc(1, sizeof *s);
    if (!s) return tool_fail(c, &(struct err){.text = "out of memory"});
    s->c = c;
    s->until = now_ms() + c->limits.search_ms;
    if (tool_arg_text(arguments, "pattern", &pattern, &s->err) || tool_arg_text(arguments, "path", &path, &s->err) ||
        compile(s, pattern))
        s->verdict = TOOL_FAILED;
    else
        begin(s, path.s);
    if (s->verdict == TOOL_DONE) end(s);
    if (s->name.failed || s->out.failed) {
        err_set(&s->err, -1, "out of memory");
        s->verdict = TOOL_FAILED;
    }
    if (s->verdict == TOOL_FAILED) {
        if (s->matches > 0) tool_say(c, "\n", 1);
        tool_fail(c, &s->err);
    }
    enum tool_verdict v = s->verdict;
    pattern_close(s->pattern);
    buf_free(&s->name);
    buf_free(&s->out);
    free(s);
    return v;
}
