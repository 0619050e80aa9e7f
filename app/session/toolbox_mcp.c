/* toolbox_mcp.c - tools that servers have (tools/mcp.h), in the toolbox. */
#include "app/app.h"
#include "app/input.h"
#include "app/signals.h"
#include "memory/forms.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_BYTES = 1 << 20 };

/* Its tools, as the program's own lists have tools. */
static int add_tools(const struct mcp *m, struct err *err)
{
    int n, rc = 0;
    const struct mcp_tool *t = mcp_tools(m, &n);
    for (int i = 0; i < n && rc == 0; i++) {
        char *schema = json_dumps(t[i].schema, JSON_COMPACT);
        if (!schema) rc = err_set(err, -1, "no memory for the tool %s", t[i].name);
        else if (tool_add(t[i].name)) rc = err_set(err, -1, "--mcp: %s is one tool too many (of all servers together)",
                                                   t[i].name);
        else rc = forms_tools_add(t[i].name, t[i].about, schema, err);
        free(schema);
    }
    return rc;
}

/* O_NONBLOCK: opening a pipe that no one writes to must not hang. */
static int read_list(struct toolbox *b, const char *file, struct err *err)
{
    struct buf text = {0};
    struct err why = {0};
    struct stat st;
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return err_set(err, -1, "--mcp: %.200s: %s", file, strerror(errno));
    int rc = fstat(fd, &st) || !S_ISREG(st.st_mode) ? err_set(&why, -1, "it is no regular file") : 0;
    if (rc == 0) rc = input_all(fd, LIST_BYTES, "it", false, &text, &why) == INPUT_OK ? 0 : -1;
    if (rc == 0) rc = mcp_read_list(text.data ? text.data : "", text.len, opts_getenv, &b->list, &why);
    buf_free(&text);
    close(fd);
    return rc ? err_set(err, -1, "--mcp: %.200s: %.240s", file, why.text) : 0;
}

int toolbox_servers(struct toolbox *b, const struct opts *o, int patience, struct err *err)
{
    const char *file = o->mcp;
    struct mcp_limits limits = MCP_LIMITS;
    struct err why = {0};
    limits.start_ms = patience;
    if (!file) return 0;
    if (read_list(b, file, err)) return -1;
    for (int i = 0; i < b->list.n; i++) {
        struct mcp *m = mcp_open(&b->list.server[i], &limits, &why);
        if (!m) return err_set(err, -1, "--mcp: %.150s: %.300s", file, why.text);
        b->server[b->n_servers++] = m;
        if (add_tools(m, err)) return -1;
    }
    return 0;
}

static struct mcp *find(const struct toolbox *b, const char *name, const char **theirs)
{
    for (int i = 0; i < b->n_servers; i++) {
        int n;
        const struct mcp_tool *t = mcp_tools(b->server[i], &n);
        for (int k = 0; k < n; k++) {
            if (strcmp(t[k].name, name) != 0) continue;
            *theirs = t[k].theirs;
            return b->server[i];
        }
    }
    return NULL;
}

static bool is_cancelled(const struct app *a) { return signals_pending() || a->trace.voice->cancelled; }

int toolbox_serve(struct app *a, struct tool_ticket *t, struct buf *out, bool *failed, struct err *err)
{
    const char *theirs = NULL;
    struct mcp *m = find(&a->toolbox, ticket_tool(t)->name, &theirs);
    int rc = ticket_check(t, err);
    if (rc == 0 && !m) rc = err_set(err, -1, "no server has %s", ticket_tool(t)->name);
    struct mcp_call *c = rc ? NULL : mcp_call_start(m, theirs, ticket_arguments(t), err);
    ticket_free(t);
    if (!c) return -1;
    while (!mcp_call_step(c, app_pause(a)))
        if (is_cancelled(a)) mcp_call_cancel(c);
    const struct buf *text = mcp_call_text(c, failed);
    buf_put(out, text->data ? text->data : "", text->len);
    const bool lost = out->failed || text->failed;
    mcp_call_close(c);
    return lost ? err_set(err, -1, "no memory for the result") : 0;
}
