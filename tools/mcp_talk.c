/* mcp_talk.c - what is said to a server, and what is made of its answers. */
#include "tools/mcp_impl.h"

enum { PAGES = 64, SCHEMA_BYTES = 64 << 10 };
static const char version[] = "2025-11-25";

/* ------------------------------------------------------------------ saying */

static json_t *request(struct mcp *m, const char *method, json_t *params)
{
    json_t *r = json_pack("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", (json_int_t)++m->last_id, "method", method);
    if (params) json_object_set_new(r, "params", params);
    return r;
}

static void notify(struct mcp *m, const char *method, json_t *params)
{
    json_t *n = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
    if (params) json_object_set_new(n, "params", params);
    mcp_say(m, n);
}

void mcp_begin(struct mcp *m)
{
    m->state = MCP_STARTING;
    m->pages = 0;
    mcp_say(m, request(m, "initialize", json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", version,
                                                  "capabilities", "clientInfo", "name", "plimsoll", "version", "1")));
    m->awaited = m->last_id;
}

static void ask_for_tools(struct mcp *m, json_t *cursor)
{
    mcp_say(m, request(m, "tools/list", cursor ? json_pack("{s:O}", "cursor", cursor) : NULL));
    m->awaited = m->last_id;
    m->state = MCP_LISTING;
}

static void send_call(struct mcp_call *c)
{
    buf_printf(&c->m->sent, "%s\n", c->line);
    free(c->line);
    c->line = NULL;
}

static void be_ready(struct mcp *m)
{
    m->state = MCP_READY;
    m->listed = true;
    for (struct mcp_call *c = m->calls; c; c = c->next)
        if (c->line) send_call(c);
}

/* ------------------------------------------------------------------ its tools */

/* SERVER__TOOL, in letters that every form of a call has; false: it would be too long. */
static bool spell_name(const struct mcp *m, const char *theirs, char out[MCP_NAME + 1])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    struct buf b = {0};
    buf_printf(&b, "%s__%s", m->c.name, theirs);
    const bool fits = !b.failed && b.len <= MCP_NAME;
    for (size_t i = 0; fits && i <= b.len; i++) out[i] = b.data[i] && !strchr(plain, b.data[i]) ? '_' : b.data[i];
    buf_free(&b);
    return fits;
}

static bool is_wanted(const struct mcp *m, const char *theirs)
{
    for (char **t = m->c.tools; t && *t; t++)
        if (strcmp(*t, theirs) == 0) return true;
    return m->c.tools == NULL;
}

/* Of a text as much as is told. */
static char *some_of(const char *s)
{
    size_t n = strlen(s);
    if (n > MCP_ABOUT)
        for (n = MCP_ABOUT; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;) n--;
    return strndup(s, n);
}

static bool is_small(const json_t *schema)
{
    char *text = json_dumps(schema, JSON_COMPACT);
    const bool small = text && strlen(text) <= SCHEMA_BYTES;
    free(text);
    return small;
}

/* One of its list; what is no tool is passed over. */
static void add_tool(struct mcp *m, const json_t *t)
{
    const char *theirs = json_string_value(json_object_get(t, "name"));
    const char *about = json_string_value(json_object_get(t, "description"));
    json_t *schema = json_object_get(t, "inputSchema");
    struct mcp_tool *to = &m->tool[m->n_tools];
    if (!about) about = json_string_value(json_object_get(t, "title"));
    if (!theirs || !*theirs || !is_wanted(m, theirs)) return;
    if (m->n_tools == MCP_TOOLS) {
        mcp_fault(m, "has more than %d tools: name those that are wanted in \"tools\", in its file", MCP_TOOLS);
        return;
    }
    if (!spell_name(m, theirs, to->name)) {
        mcp_fault(m, "has a tool whose name is too long, %.40s...", theirs);
        return;
    }
    for (int i = 0; i < m->n_tools; i++)
        if (strcmp(m->tool[i].name, to->name) == 0) {
            mcp_fault(m, "has two tools named %s", to->name);
            return;
        }
    if (json_is_object(schema) && !is_small(schema)) {
        mcp_fault(m, "says more than %d bytes of its tool %s", SCHEMA_BYTES, to->name);
        return;
    }
    to->schema = json_is_object(schema) ? json_deep_copy(schema) : json_pack("{s:s, s:{}}", "type", "object",
                                                                             "properties");
    to->theirs = strdup(theirs);
    to->about = some_of(about ? about : "");
    m->n_tools++;
    if (!to->schema || !to->theirs || !to->about) mcp_fault(m, "has tools that there is no memory for");
}

/* What was asked for by name is there. */
static bool has_all(struct mcp *m)
{
    for (char **t = m->c.tools; t && *t; t++) {
        int i = 0;
        while (i < m->n_tools && strcmp(m->tool[i].theirs, *t) != 0) i++;
        if (i < m->n_tools) continue;
        mcp_fault(m, "has no tool %.60s, which its file names", *t);
        return false;
    }
    return true;
}

static void take_tools(struct mcp *m, json_t *result)
{
    const json_t *t;
    json_t *cursor = json_object_get(result, "nextCursor");
    size_t i;
    json_array_foreach(json_object_get(result, "tools"), i, t) {
        add_tool(m, t);
        if (m->state == MCP_DOWN) return;
    }
    if (json_is_string(cursor) && ++m->pages < PAGES) ask_for_tools(m, cursor);
    else if (has_all(m)) be_ready(m);
}

/* ------------------------------------------------------------------ a call's result */

static void finish(struct mcp_call *c)
{
    struct mcp_call **at = &c->m->calls;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
    c->over = true;
}

static void put_line(struct mcp_call *c)
{
    if (c->text.len > 0 && c->text.data[c->text.len - 1] != '\n') buf_puts(&c->text, "\n");
}

void mcp_call_fail(struct mcp_call *c, const char *why)
{
    put_line(c);
    buf_printf(&c->text, "error: %s", why);
    c->failed = true;
    finish(c);
}

static void put_text(struct mcp_call *c, const json_t *s)
{
    put_line(c);
    buf_put(&c->text, json_string_value(s), json_string_length(s));
}

static const char *word(const json_t *v, const char *key, const char *otherwise)
{
    const char *s = json_string_value(json_object_get(v, key));
    return s ? s : otherwise;
}

/* Pictures and sounds are for other models: what there was is said. */
static void put_left_out(struct mcp_call *c, const char *kind, const json_t *item, size_t n)
{
    put_line(c);
    buf_printf(&c->text, "[%s %s%s%s, %zu bytes of base64, is left out]", kind, word(item, "uri", ""),
               json_object_get(item, "uri") ? ", " : "", word(item, "mimeType", "of no type"), n);
}

static void put_item(struct mcp_call *c, const json_t *item)
{
    const char *type = word(item, "type", "");
    const json_t *inner = json_object_get(item, "resource");
    if (strcmp(type, "text") == 0) put_text(c, json_object_get(item, "text"));
    else if (json_is_string(json_object_get(item, "data")))
        put_left_out(c, type, item, json_string_length(json_object_get(item, "data")));
    else if (strcmp(type, "resource_link") == 0) {
        put_line(c);
        buf_printf(&c->text, "[%s: %s]", word(item, "name", "a resource"), word(item, "uri", ""));
    } else if (json_is_string(json_object_get(inner, "text"))) {
        put_line(c);
        buf_printf(&c->text, "[%s]\n", word(inner, "uri", "a resource"));
        put_text(c, json_object_get(inner, "text"));
    } else if (inner) {
        put_left_out(c, "resource", inner, json_string_length(json_object_get(inner, "blob")));
    }
}

/* No more of it than a tool may say. */
static void cut(struct mcp_call *c)
{
    size_t n = c->m->limits.text_bytes;
    if (c->text.len <= n) return;
    while (n > 0 && ((unsigned char)c->text.data[n] & 0xc0) == 0x80) n--;
    c->text.len = n;
    put_line(c);
    buf_printf(&c->text, "error: stopped at %zu bytes of output", c->m->limits.text_bytes);
    c->failed = true;
}

static void take_result(struct mcp_call *c, const json_t *result)
{
    const json_t *content = json_object_get(result, "content"), *more = json_object_get(result, "structuredContent");
    const json_t *item;
    size_t i;
    json_array_foreach(content, i, item) {
        put_item(c, item);
        if (c->text.len > c->m->limits.text_bytes) break;
    }
    if (c->text.len == 0 && more) {
        char *text = json_dumps(more, JSON_ENCODE_ANY);
        if (text) buf_puts(&c->text, text);
        else c->text.failed = true;
        free(text);
    }
    c->failed = json_is_true(json_object_get(result, "isError"));
    cut(c);
    finish(c);
}

/* ------------------------------------------------------------------ hearing */

static void take_answer(struct mcp *m, const json_t *v, int64_t id)
{
    const json_t *fault = json_object_get(v, "error");
    json_t *result = json_object_get(v, "result");
    struct mcp_call *c = m->calls;
    while (c && (c->id != id || c->line)) c = c->next;
    if (c && fault) mcp_call_fail(c, word(fault, "message", "the server says no more"));
    else if (c) take_result(c, result);
    if (c || id != m->awaited) return; /* it was cancelled, or never asked */
    m->awaited = 0;
    if (fault) {
        mcp_fault(m, "would not start: %.100s", word(fault, "message", "it says no more"));
    } else if (m->state == MCP_STARTING) {
        notify(m, "notifications/initialized", NULL);
        if (!m->listed && json_object_get(json_object_get(result, "capabilities"), "tools")) ask_for_tools(m, NULL);
        else if (m->listed || has_all(m)) be_ready(m);
    } else if (m->state == MCP_LISTING) {
        take_tools(m, result);
    }
}

static void take_request(struct mcp *m, json_t *id, const char *method)
{
    json_t *a = json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id);
    if (strcmp(method, "ping") == 0) json_object_set_new(a, "result", json_object());
    else json_object_set_new(a, "error", json_pack("{s:i, s:s}", "code", -32601, "message", "not known here"));
    mcp_say(m, a);
}

static void take_message(struct mcp *m, const json_t *v)
{
    json_t *id = json_object_get(v, "id");
    const char *method = json_string_value(json_object_get(v, "method"));
    if (method && id && !json_is_null(id)) take_request(m, id, method);
    else if (!method && json_is_integer(id)) take_answer(m, v, json_integer_value(id));
}

void mcp_hear(struct mcp *m, const char *line, size_t n)
{
    json_t *v = json_loadb(line, n, JSON_ALLOW_NUL, NULL), *one;
    size_t i;
    if (json_is_object(v)) take_message(m, v);
    else if (!v && n > 0) mcp_remember(m, line, n);
    json_array_foreach(v, i, one) {
        if (m->state == MCP_DOWN) break;
        take_message(m, one);
    }
    json_decref(v);
}

/* ------------------------------------------------------------------ calls */

struct mcp_call *mcp_call_start(struct mcp *m, const char *theirs, const json_t *arguments, struct err *err)
{
    if (m->state == MCP_DOWN && mcp_spawn(m, err)) return NULL;
    struct mcp_call *c = calloc(1, sizeof *c);
    json_t *r = c ? request(m, "tools/call", json_pack("{s:s, s:O}", "name", theirs, "arguments", arguments)) : NULL;
    char *line = r ? json_dumps(r, JSON_COMPACT) : NULL;
    json_decref(r);
    if (!line) {
        free(c);
        err_set(err, -1, "no memory for a call");
        return NULL;
    }
    *c = (struct mcp_call){.m = m, .next = m->calls, .id = m->last_id, .line = line};
    c->until = mcp_now() + m->limits.call_ms + (m->state == MCP_READY ? 0 : m->limits.start_ms);
    m->calls = c;
    if (m->state == MCP_READY) send_call(c);
    return c;
}

bool mcp_call_step(struct mcp_call *c, int timeout_ms)
{
    const int64_t left = c->over ? 0 : c->until - mcp_now();
    char why[64];
    if (c->over) return true;
    if (left > 0) mcp_step(c->m, timeout_ms < 0 ? (int)left : (int)MIN(left, timeout_ms));
    if (c->over || c->until > mcp_now()) return c->over;
    snprintf(why, sizeof why, "stopped after %g s", c->m->limits.call_ms / 1e3);
    mcp_call_cancel(c);
    c->text.len = 0;
    buf_printf(&c->text, "error: %s", why);
    return true;
}

void mcp_call_cancel(struct mcp_call *c)
{
    if (c->over) return;
    if (!c->line)
        notify(c->m, "notifications/cancelled", json_pack("{s:I, s:s}", "requestId", (json_int_t)c->id, "reason",
                                                          "it takes too long, or nobody wants it any more"));
    mcp_call_fail(c, "cancelled");
    mcp_step(c->m, 0);
}

const struct buf *mcp_call_text(const struct mcp_call *c, bool *failed)
{
    *failed = c->failed;
    return &c->text;
}

void mcp_call_close(struct mcp_call *c)
{
    if (!c) return;
    if (!c->over) mcp_call_cancel(c);
    free(c->line);
    buf_free(&c->text);
    free(c);
}
