/* tool_write.c - a whole file. */
#include "tools/path.h"
#include "tools/tool.h"

enum tool_verdict tool_write(const struct tool_context *c, const json_t *arguments)
{
    struct err err;
    struct tool_text path, text;
    char line[sizeof(struct path_shown) + 80];
    if (tool_arg_text(arguments, "path", &path, &err) || tool_arg_text(arguments, "text", &text, &err))
        return tool_fail(c, &err);
    if (text.n > c->limits.file_bytes) {
        err_set(&err, -1, "the text is too large: %zu bytes, and %llu are allowed", text.n,
                (unsigned long long)c->limits.file_bytes);
        return tool_fail(c, &err);
    }
    if (path_replace(c->workspace, path.s, text.s, text.n, NULL, c->git, &err)) return tool_fail(c, &err);
    uint64_t lines = tool_lines(text.s, text.n);
    int n = snprintf(line, sizeof line, "wrote %llu line%s, %zu byte%s to %s", (unsigned long long)lines,
                     lines == 1 ? "" : "s", text.n, text.n == 1 ? "" : "s", path_shown(path.s).text);
    return tool_say(c, line, (size_t)n);
}
