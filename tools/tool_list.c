/* tool_list.c - what a folder holds: names by their bytes, one a line, folders with a slash. */
#include "tools/escape.h"
#include "tools/folder.h"
#include "tools/path.h"
#include "tools/tool.h"
#include <errno.h>

static enum tool_verdict show(const struct tool_context *c, const struct folder *f)
{
    enum tool_verdict v = f->n ? TOOL_DONE : tool_say(c, "(empty)", 7);
    struct buf line = {0};
    for (size_t i = 0; v == TOOL_DONE && i < f->n; i++) {
        line.len = 0;
        if (i > 0) buf_puts(&line, "\n");
        escape_text(f->entry[i].name, strlen(f->entry[i].name), &line);
        if (f->entry[i].folder) buf_puts(&line, "/");
        v = tool_say(c, line.data, line.len);
    }
    line.len = 0;
    if (f->more) buf_printf(&line, "\n(and %llu more)", (unsigned long long)f->more);
    if (v == TOOL_DONE) v = tool_say(c, line.data, line.len);
    struct err err;
    if (line.failed) err_set(&err, -1, "out of memory");
    if (line.failed) v = tool_fail(c, &err);
    buf_free(&line);
    return v;
}

enum tool_verdict tool_list(const struct tool_context *c, const json_t *arguments)
{
    struct err err;
    struct tool_text path;
    struct folder f;
    if (tool_arg_text(arguments, "path", &path, &err)) return tool_fail(c, &err);
    int fd = path_open_folder(c->workspace, path.s, &err);
    if (fd < 0) return tool_fail(c, &err);
    if (folder_read(fd, c->limits.entries, &f)) {
        err_set(&err, -1, "cannot read %s: %s", path_shown(path.s).text, strerror(errno));
        return tool_fail(c, &err);
    }
    enum tool_verdict v = show(c, &f);
    folder_free(&f);
    return v;
}
