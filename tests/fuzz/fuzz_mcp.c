/* fuzz_mcp.c - what a server of tools may say, and the file that names servers.
 *
 * covers: tools/mcp_talk.c tools/mcp_list.c
 *
 * An input: 'f' and a file; or lines of a server's, the first of which may answer "initialize".  What must hold: a
 * refusal has a message of one line; tools have names of plain letters, and schemas that are objects; a call's text is
 * within its bound, but for one line more. */
#include "tools/mcp_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 200, LINE = 400 };

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_be_one_line(const struct err *err)
{
    must(err->text[0] != '\0');
    for (const char *c = err->text; *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static const char *get(const char *name) { return *name == 'A' ? "a value" : NULL; }

static void read_file(const char *text, size_t n)
{
    struct mcp_list l;
    struct err err = {0};
    if (mcp_read_list(text, n, get, &l, &err)) {
        must_be_one_line(&err);
        must(l.n == 0);
        return;
    }
    must(l.n <= MCP_SERVERS);
    for (int i = 0; i < l.n; i++) must(*l.server[i].name && l.server[i].argv && *l.server[i].argv[0]);
    mcp_list_free(&l);
}

static void look_at_tools(const struct mcp *m)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    int n;
    const struct mcp_tool *t = mcp_tools(m, &n);
    must(n <= MCP_TOOLS);
    for (int i = 0; i < n; i++) {
        must(strspn(t[i].name, plain) == strlen(t[i].name) && strncmp(t[i].name, "s__", 3) == 0);
        must(strlen(t[i].about) <= MCP_ABOUT && json_is_object(t[i].schema));
    }
}

static void hear_lines(const char *text, size_t n)
{
    struct mcp *m = calloc(1, sizeof *m);
    struct err err = {0};
    json_t *none = json_object();
    bool failed;
    must(m && none);
    m->in = m->out = m->err = -1;
    m->limits = (struct mcp_limits){1000, 1000, LINE, TEXT};
    snprintf(m->c.name, sizeof m->c.name, "s");
    mcp_begin(m);
    struct mcp_call *c = mcp_call_start(m, "do", none, &err);
    must(c != NULL);
    for (size_t at = 0; at < n && m->state != MCP_DOWN;) {
        const char *nl = memchr(text + at, '\n', n - at);
        const size_t end = nl ? (size_t)(nl - text) : n;
        mcp_hear(m, text + at, end - at);
        at = end + 1;
    }
    if (m->state == MCP_DOWN) must_be_one_line(&m->fault);
    if (m->state == MCP_READY) look_at_tools(m);
    if (c->over && c->text.len > 0 && !m->fault.code) must(mcp_call_text(c, &failed)->len <= TEXT + 60 || failed);
    mcp_call_close(c);
    mcp_close(m);
    json_decref(none);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && *data == 'f') read_file((const char *)data + 1, size - 1);
    else hear_lines((const char *)data, size);
    return 0;
}
