/* mcp_list.c - a file of servers, as clients of the protocol write it. */
#include "tools/mcp_impl.h"

struct reading {
    const char *(*get)(const char *name);
    const char *server;
    struct err *err;
};

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static int no_memory(struct reading *r) { return err_set(r->err, -1, "no memory for the server %s", r->server); }

/* ${VAR}, ${VAR:-OTHERWISE}: a text, for free().  NULL: err. */
static char *filled_in(struct reading *r, const char *key, const char *s)
{
    struct buf out = {0};
    for (const char *open; (open = strstr(s, "${")); ) {
        const char *close = strchr(open, '}'), *other = strstr(open, ":-");
        char name[64];
        if (!close) break;
        if (other > close) other = NULL;
        snprintf(name, sizeof name, "%.*s", (int)((other ? other : close) - open - 2), open + 2);
        const char *value = r->get(name);
        buf_put(&out, s, (size_t)(open - s));
        if (value) buf_puts(&out, value);
        else if (other) buf_put(&out, other + 2, (size_t)(close - other - 2));
        else {
            err_set(r->err, -1, "the server %s: %s wants the variable %.60s, which is not set", r->server, key, name);
            buf_free(&out);
            return NULL;
        }
        s = close + 1;
    }
    buf_put(&out, s, strlen(s) + 1);
    if (!out.failed) return out.data;
    no_memory(r);
    buf_free(&out);
    return NULL;
}

static char *text_at(struct reading *r, const char *key, const json_t *v)
{
    if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v))
        return filled_in(r, key, json_string_value(v));
    err_set(r->err, -1, "the server %s: %s is to be a text", r->server, key);
    return NULL;
}

/* A list of texts, behind one that is there already; NULL at its end.  NULL: err; first is taken. */
static char **texts_at(struct reading *r, const char *key, const json_t *v, char *first)
{
    size_t n = first != NULL, i;
    const json_t *one;
    char **all = calloc(json_array_size(v) + 2, sizeof *all);
    bool bad = !all || (v && !json_is_array(v));
    if (!all) no_memory(r);
    else if (bad) err_set(r->err, -1, "the server %s: %s is to be a list of texts", r->server, key);
    if (all) all[0] = first;
    json_array_foreach(v, i, one) {
        if (bad) break;
        all[n] = text_at(r, key, one);
        bad = !all[n++];
    }
    if (!bad) return all;
    for (i = 0; all && all[i]; i++) free(all[i]);
    if (!all) free(first);
    free(all);
    return NULL;
}

static char **variables(struct reading *r, const json_t *v)
{
    char **all = calloc(json_object_size(v) + 1, sizeof *all);
    const char *name;
    json_t *one;
    size_t n = 0;
    bool bad = !all || !json_is_object(v);
    if (!all) no_memory(r);
    else if (bad) err_set(r->err, -1, "the server %s: env is to be an object of texts", r->server);
    json_object_foreach((json_t *)(uintptr_t)v, name, one) {
        char *value = bad ? NULL : text_at(r, "env", one);
        struct buf b = {0};
        bad |= !value || !*name || strchr(name, '=') != NULL;
        if (value && bad) err_set(r->err, -1, "the server %s: env has a name that is none", r->server);
        if (!bad) buf_printf(&b, "%s=%s", name, value);
        free(value);
        if (!bad) all[n++] = b.data;
        if (b.failed) bad = no_memory(r) != 0;
        if (bad) break;
    }
    if (!bad) return all;
    for (size_t i = 0; all && i < n; i++) free(all[i]);
    free(all);
    return NULL;
}

static void free_texts(char **t)
{
    for (char **at = t; at && *at; at++) free(*at);
    free(t);
}

/* Of what "tools" lists "*" is all. */
static bool is_all(const json_t *v)
{
    const json_t *one;
    size_t i;
    json_array_foreach(v, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), "*") == 0) return true;
    return !v;
}

static int read_server(struct reading *r, const json_t *v, struct mcp_config *c)
{
    const json_t *command = json_object_get(v, "command"), *env = json_object_get(v, "env");
    const json_t *cwd = json_object_get(v, "cwd"), *tools = json_object_get(v, "tools");
    const size_t n = strlen(r->server);
    if (n == 0 || n > MCP_SERVER_NAME || strspn(r->server, plain) != n)
        return err_set(r->err, -1, "\"%.40s\" is no name of a server: 1 to %d letters, digits, _ and -", r->server,
                       MCP_SERVER_NAME);
    if (!json_is_object(v)) return err_set(r->err, -1, "the server %s is to be an object", r->server);
    if (!command && json_object_get(v, "url"))
        return err_set(r->err, -1, "the server %s has a url: only those with a command can be used, which speak over "
                       "stdin and stdout (npx mcp-remote URL is such a command)", r->server);
    snprintf(c->name, sizeof c->name, "%s", r->server);
    char *program = text_at(r, "command", command);
    if (!program) return -1;
    if (!(c->argv = texts_at(r, "args", json_object_get(v, "args"), program))) return -1;
    if (!*c->argv[0]) return err_set(r->err, -1, "the server %s: command is empty", r->server);
    if (env && !(c->env = variables(r, env))) return -1;
    if (cwd && !(c->cwd = text_at(r, "cwd", cwd))) return -1;
    return is_all(tools) || (c->tools = texts_at(r, "tools", tools, NULL)) ? 0 : -1;
}

int mcp_read_list(const char *text, size_t n, const char *(*get)(const char *name), struct mcp_list *out,
                  struct err *err)
{
    struct reading r = {.get = get, .err = err};
    json_error_t e;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e), *v;
    json_t *all = json_object_get(root, "mcpServers");
    int rc = 0;
    *out = (struct mcp_list){0};
    if (!all) all = json_object_get(root, "servers");
    if (!root) rc = err_set(err, -1, "line %d, column %d: %.120s", e.line, e.column, e.text);
    else if (!json_is_object(all)) rc = err_set(err, -1, "it has no object \"mcpServers\"");
    json_object_foreach(all, r.server, v) {
        if (rc) break;
        if (json_is_true(json_object_get(v, "disabled"))) continue;
        if (out->n == MCP_SERVERS) rc = err_set(err, -1, "more than %d servers", MCP_SERVERS);
        else rc = read_server(&r, v, &out->server[out->n++]);
    }
    json_decref(root);
    if (rc) mcp_list_free(out);
    if (rc && err) mcp_plain(err->text);
    return rc;
}

void mcp_list_free(struct mcp_list *l)
{
    for (int i = 0; i < l->n; i++) {
        free_texts(l->server[i].argv);
        free_texts(l->server[i].env);
        free_texts(l->server[i].tools);
        free(l->server[i].cwd);
    }
    *l = (struct mcp_list){0};
}
