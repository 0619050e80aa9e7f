/* api_tools.c - the tools of a request: what is asked of them, and how a model of each family is told of them. */
#include "app/serve/api.h"
#include "memory/forms_schema.h"

static const json_t *function_of(const json_t *tool) { return json_object_get(tool, "function"); }

const char *api_tool_name(const json_t *tool)
{
    const char *name = json_string_value(json_object_get(function_of(tool), "name"));
    return name ? name : "";
}

bool api_is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= API_NAME &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == n;
}

static int check_tool(struct api_ask *a, size_t i, const json_t *t, struct api_error *e)
{
    char where[48];
    const json_t *f = function_of(t), *about = json_object_get(f, "description");
    const json_t *parameters = json_object_get(f, "parameters");
    snprintf(where, sizeof where, "tools[%zu]", i);
    const json_t *type = json_object_get(t, "type");
    if (!json_is_string(type) || strcmp(json_string_value(type), "function") != 0 || !json_is_object(f))
        return api_fail(e, 400, "invalid_value", where, "%s is to be {\"type\": \"function\", \"function\": {...}}; "
                        "other types are not known here", where);
    if (!api_is_name(api_tool_name(t)))
        return api_fail(e, 400, "invalid_value", where, "%s: its name is to have 1 to %d letters, digits, _, - or .",
                        where, API_NAME);
    if ((about && !json_is_string(about) && !json_is_null(about)) ||
        (parameters && !json_is_object(parameters) && !json_is_null(parameters)))
        return api_fail(e, 400, "invalid_type", where, "%s: description is to be a text, and parameters an object",
                        where);
    for (size_t k = 0; k < i; k++)
        if (strcmp(api_tool_name(json_array_get(a->tools, k)), api_tool_name(t)) == 0)
            return api_fail(e, 400, "invalid_value", where, "two tools are named %s", api_tool_name(t));
    bool strict = false;
    if (api_read_bool(f, "strict", &strict, e)) return -1;
    a->strict |= strict;
    return 0;
}

static bool has_tool(const struct api_ask *a, const char *name)
{
    const json_t *t;
    size_t i;
    json_array_foreach(a->tools, i, t)
        if (*name && strcmp(api_tool_name(t), name) == 0) return true;
    return false;
}

bool api_may_call(const struct api_ask *a, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach(a->allowed, i, one)
        if (strcmp(json_string_value(one), name) == 0) return true;
    return !a->allowed;
}

/* One more that may be called. */
static int allow(struct api_ask *a, const json_t *call, struct api_error *e)
{
    if (!a->allowed) a->allowed = json_array();
    if (json_array_append_new(a->allowed, json_string(api_tool_name(call))) == 0) return 0;
    return api_fail(e, 500, "no_memory", "tool_choice", "no memory for tool_choice");
}

/* {"mode": ..., "tools": [...]}: some of the tools.  The model is told of all of them, so that what comes before its
 * answer stays the same whichever these are. */
static int read_allowed(struct api_ask *a, const json_t *c, struct api_error *e)
{
    static const char key[] = "allowed_tools", where[] = "tool_choice.allowed_tools";
    const json_t *o = json_object_get(c, key), *list = json_object_get(o, "tools"), *one;
    const char *mode = api_text_in(o, "mode");
    size_t i;
    bool good = json_array_size(list) > 0 && (strcmp(mode, "auto") == 0 || strcmp(mode, "required") == 0);
    json_array_foreach(list, i, one)
        good = good && strcmp(api_text_in(one, "type"), "function") == 0 && has_tool(a, api_tool_name(one));
    if (!good)
        return api_fail(e, 400, "invalid_value", "tool_choice", "%s is to be {\"mode\": \"auto\" or \"required\", "
                        "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": one of tools}}, ...]}", where);
    if (api_check_keys(c, "type", key, false, "tool_choice", e) || api_check_keys(o, "mode", "tools", false, where, e))
        return -1;
    json_array_foreach(list, i, one)
        if (allow(a, one, e)) return -1;
    if (mode[0] == 'r') a->choice = API_REQUIRED;
    return 0;
}

/* "auto", "none", "required", the one that is to be called, or those that may be. */
static int read_choice(struct api_ask *a, struct api_error *e)
{
    const json_t *c = json_object_get(a->root, "tool_choice");
    if (!c || json_is_null(c)) return 0;
    const char *word = json_is_string(c) ? json_string_value(c) : "";
    if (strcmp(word, "auto") == 0) return 0;
    if (strcmp(word, "none") == 0) {
        a->choice = API_NONE;
        return 0;
    }
    if (strcmp(api_text_in(c, "type"), "allowed_tools") == 0) return read_allowed(a, c, e);
    const bool named = json_is_object(c) && has_tool(a, api_tool_name(c));
    if (named || (strcmp(word, "required") == 0 && a->tools)) {
        a->choice = API_REQUIRED;
        return named ? allow(a, c, e) : 0;
    }
    return api_fail(e, 400, "invalid_value", "tool_choice", "tool_choice is to be \"auto\", \"none\", \"required\", "
                    "{\"type\": \"function\", \"function\": {\"name\": one of tools}} or {\"type\": "
                    "\"allowed_tools\", \"allowed_tools\": {...}}");
}

int api_read_tools(struct api_ask *a, struct api_error *e)
{
    json_t *tools = json_object_get(a->root, "tools"), *t;
    const json_t *parallel = json_object_get(a->root, "parallel_tool_calls");
    size_t i;
    if (parallel && !json_is_boolean(parallel) && !json_is_null(parallel))
        return api_fail(e, 400, "invalid_type", "parallel_tool_calls", "parallel_tool_calls is to be true or false");
    a->one_call = json_is_false(parallel);
    if (tools && !json_is_null(tools) && !json_is_array(tools))
        return api_fail(e, 400, "invalid_type", "tools", "tools is to be a list");
    if (json_array_size(tools) > API_TOOLS)
        return api_fail(e, 400, "invalid_value", "tools", "%zu tools; at most %d are taken", json_array_size(tools),
                        API_TOOLS);
    a->tools = json_array_size(tools) > 0 ? tools : NULL;
    json_array_foreach(a->tools, i, t)
        if (check_tool(a, i, t, e)) return -1;
    if (read_choice(a, e)) return -1;
    if (a->choice == API_NONE) a->tools = NULL;
    return a->tools ? api_schema_of_calls(a, e) : 0;
}

/* As gpt-oss models know tools: functions of TypeScript. */
static void put_harmony(const json_t *tools, struct buf *out)
{
    struct buf types = {0}, arguments = {0};
    const json_t *tool;
    size_t i;
    json_array_foreach(tools, i, tool) {
        const char *about = json_string_value(json_object_get(function_of(tool), "description"));
        arguments.len = 0;
        forms_schema_fields(json_object_get(function_of(tool), "parameters"), &arguments);
        forms_harmony_type(form_text(api_tool_name(tool)), form_text(about ? about : ""),
                           (struct form_text){arguments.data ? arguments.data : "", arguments.len}, &types);
    }
    forms_harmony_types((struct form_text){types.data ? types.data : "", types.len}, out);
    out->failed |= types.failed || arguments.failed;
    buf_free(&types);
    buf_free(&arguments);
}

static void put_tool_line(const struct api_model *m, const json_t *t, struct buf *out)
{
    const json_t *f = function_of(t);
    const char *about = json_string_value(json_object_get(f, "description"));
    struct buf arguments = {0};
    if (!m->embedded) {
        api_put_json(f, JSON_COMPACT, out);
        return;
    }
    forms_schema_line(json_object_get(f, "parameters"), &arguments);
    const struct form_value v[] = {{"name", form_text(api_tool_name(t))},
                                   {"arguments", {arguments.data ? arguments.data : "", arguments.len}},
                                   {"about", form_text(about ? about : "")}};
    if (form_render(FORM_TOOL, v, 3, out, NULL)) out->failed = true;
    out->failed |= arguments.failed;
    buf_free(&arguments);
}

void api_put_tools(const struct api_ask *a, const struct api_model *m, struct buf *out)
{
    struct buf lines = {0};
    const json_t *t;
    size_t i;
    if (forms_has_tools_apart(m->calls)) {
        if (m->calls == FORM_CALLS_HARMONY) put_harmony(a->tools, out);
        else api_put_json(a->tools, 0, out);
        return;
    }
    if (forms_in_tags(a->calls)) {
        api_tags_list(a->calls, a->tools, out);
        return;
    }
    json_array_foreach(a->tools, i, t) {
        buf_puts(&lines, i ? "\n" : "");
        put_tool_line(m, t, &lines);
    }
    const struct form_value v = {"tools", {lines.data ? lines.data : "", lines.len}};
    if (form_render(FORM_TOOLS, &v, 1, out, NULL)) out->failed = true;
    out->failed |= lines.failed;
    buf_free(&lines);
}
