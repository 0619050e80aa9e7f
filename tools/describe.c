/* describe.c - what a call would do, for the person who is asked. */
#include "tools/describe.h"
#include "tools/escape.h"
#include "tools/path.h"

/* The lines of a text, each behind its mark. */
static void put_lines(const char *mark, const char *s, size_t n, size_t max, struct buf *out)
{
    size_t shown = MIN(n, max);
    while (shown < n && shown > 0 && ((unsigned char)s[shown] & 0xc0) == 0x80) shown--;
    for (size_t at = 0; at < shown;) {
        const char *nl = memchr(s + at, '\n', shown - at);
        size_t len = nl ? (size_t)(nl - s) - at : shown - at;
        buf_puts(out, mark);
        escape_text(s + at, len, out);
        buf_puts(out, "\n");
        at += len + (nl != NULL);
    }
    if (shown < n) buf_printf(out, "    (%zu bytes more are not shown)\n", n - shown);
    else if (n > 0 && s[n - 1] != '\n') buf_puts(out, "    (no newline at the end)\n");
}

static int describe_write(const struct tool_context *c, const json_t *arguments, size_t max, struct buf *out,
                          struct err *err)
{
    struct tool_text path, text;
    struct stat st;
    if (tool_arg_text(arguments, "path", &path, err) || tool_arg_text(arguments, "text", &text, err)) return -1;
    int there = path_look(c->workspace, path.s, &st, c->git, err);
    if (there < 0) return -1;
    buf_puts(out, "write ");
    escape_text(path.s, path.n, out);
    if (there) buf_printf(out, " (in place of %lld bytes)", (long long)st.st_size);
    else buf_puts(out, " (a new file)");
    const uint64_t lines = tool_lines(text.s, text.n);
    buf_printf(out, ": %llu line%s, %zu byte%s\n", (unsigned long long)lines, plural((int64_t)lines), text.n,
               plural((int64_t)text.n));
    put_lines("  + ", text.s, text.n, max, out);
    return 0;
}

/* Where the last line that an edit changes ends. */
static size_t last_changed(const struct tool_change *e, size_t start)
{
    size_t end = e->at + e->old.n;
    bool whole = e->text[end - 1] == '\n' && (e->new.n ? e->new.s[e->new.n - 1] == '\n' : e->at == start);
    if (whole) return end;
    const char *nl = memchr(e->text + end, '\n', e->len - end);
    return nl ? (size_t)(nl - e->text) + 1 : e->len;
}

static int describe_edit(const struct tool_context *c, const json_t *arguments, size_t max, struct buf *out,
                         struct err *err)
{
    struct tool_change e;
    struct buf now = {0};
    if (tool_edit_plan(c, arguments, &e, err)) return -1;
    size_t start = e.at;
    while (start > 0 && e.text[start - 1] != '\n') start--;
    size_t end = last_changed(&e, start), behind = e.at + e.old.n;
    buf_put(&now, e.text + start, e.at - start);
    buf_put(&now, e.new.s, e.new.n);
    buf_put(&now, e.text + behind, end - behind);
    buf_puts(out, "edit ");
    escape_text(e.path.s, e.path.n, out);
    buf_printf(out, ", line %llu: %zu bytes become %zu\n", (unsigned long long)tool_lines(e.text, start) + 1, e.old.n,
               e.new.n);
    put_lines("  - ", e.text + start, end - start, max, out);
    if (now.len > 0) put_lines("  + ", now.data, now.len, max, out);
    out->failed |= now.failed;
    buf_free(&now);
    free(e.text);
    return 0;
}

static void describe_other(const char *name, const json_t *arguments, size_t max, struct buf *out)
{
    const char *key;
    json_t *v;
    escape_text(name, strlen(name), out);
    buf_puts(out, "\n");
    json_object_foreach((json_t *)(uintptr_t)arguments, key, v)
    {
        char *other = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        const char *s = json_is_string(v) ? json_string_value(v) : other ? other : "";
        size_t n = json_is_string(v) ? json_string_length(v) : strlen(s), shown = MIN(n, max);
        while (shown < n && shown > 0 && ((unsigned char)s[shown] & 0xc0) == 0x80) shown--;
        out->failed |= !json_is_string(v) && !other;
        buf_puts(out, "  ");
        escape_text(key, strlen(key), out);
        buf_puts(out, ": ");
        escape_text(s, shown, out);
        buf_puts(out, "\n");
        if (shown < n) buf_printf(out, "    (%zu bytes more are not shown)\n", n - shown);
        free(other);
    }
}

int tool_describe(const struct tool_context *c, const char *name, const json_t *arguments, size_t max,
                  struct buf *out, struct err *err)
{
    size_t was = out->len;
    int rc = 0;
    if (strcmp(name, "write") == 0) rc = describe_write(c, arguments, max, out, err);
    else if (strcmp(name, "edit") == 0) rc = describe_edit(c, arguments, max, out, err);
    else describe_other(name, arguments, max, out);
    if (out->failed) rc = err_set(err, -1, "out of memory");
    if (rc && out->data) out->data[out->len = was] = '\0';
    return rc;
}
