/* tool_edit.c - one place in a file, told by its text, becomes another text. */
#include "tools/path.h"
#include "tools/tool.h"

/* Would it be there if its lines ended as those of a file of Windows do?  A result shows these as any other. */
static bool with_returns(const struct tool_change *e)
{
    struct buf old = {0};
    size_t at;
    for (size_t i = 0; i < e->old.n; i++) {
        const bool bare = e->old.s[i] == '\n' && (i == 0 || e->old.s[i - 1] != '\r');
        buf_put(&old, bare ? "\r\n" : e->old.s + i, bare ? 2 : 1);
    }
    bool is = !old.failed && tool_places(e->text, e->len, (struct tool_text){old.data, old.len}, &at) > 0;
    buf_free(&old);
    return is;
}

static int find(struct tool_change *e, uint64_t max, struct err *err)
{
    const char *x = e->path.s;
    if (e->old.n == 0) return err_set(err, -1, "old is empty");
    if (e->old.n == e->new.n && memcmp(e->old.s, e->new.s, e->old.n) == 0)
        return err_set(err, -1, "old and new are the same");
    int n = tool_places(e->text, e->len, e->old, &e->at);
    if (n == 0)
        return err_set(err, -1, "the text is not in %s%s", path_shown(x).text,
                       with_returns(e) ? ": its lines end with \\r\\n; write them so in old and new" : "");
    if (n > 1)
        return err_set(err, -1, "the text is %d times%s in %s; old must be in it once", n, n < 100 ? "" : " or more",
                       path_shown(x).text);
    if (e->len - e->old.n + e->new.n > max)
        return err_set(err, -1, "%s would be too large: %llu bytes are allowed", path_shown(x).text,
                       (unsigned long long)max);
    return 0;
}

static int replace(const struct tool_context *c, const struct tool_change *e, struct err *err)
{
    struct buf out = {0};
    buf_put(&out, e->text, e->at);
    buf_put(&out, e->new.s, e->new.n);
    buf_put(&out, e->text + e->at + e->old.n, e->len - e->at - e->old.n);
    int rc = out.failed ? err_set(err, -1, "out of memory")
                        : path_replace(c->workspace, e->path.s, out.data, out.len, &e->st, c->git, err);
    buf_free(&out);
    return rc;
}

int tool_edit_plan(const struct tool_context *c, const json_t *arguments, struct tool_change *e, struct err *err)
{
    *e = (struct tool_change){0};
    if (tool_arg_text(arguments, "path", &e->path, err) || tool_arg_text(arguments, "old", &e->old, err) ||
        tool_arg_text(arguments, "new", &e->new, err))
        return -1;
    e->text = tool_slurp(c->workspace, e->path.s, c->limits.file_bytes, &e->len, &e->st, err);
    if (!e->text) return -1;
    struct stat now;
    int rc = path_look(c->workspace, e->path.s, &now, c->git, err) < 0 ? -1 : find(e, c->limits.file_bytes, err);
    if (rc) free(e->text);
    return rc;
}

enum tool_verdict tool_edit(const struct tool_context *c, const json_t *arguments)
{
    struct err err;
    struct tool_change e;
    if (tool_edit_plan(c, arguments, &e, &err)) return tool_fail(c, &err);
    int rc = replace(c, &e, &err);
    free(e.text);
    if (rc) return tool_fail(c, &err);
    char line[sizeof(struct path_shown) + 40];
    int n = snprintf(line, sizeof line, "replaced 1 place in %s", path_shown(e.path.s).text);
    return tool_say(c, line, (size_t)n);
}
