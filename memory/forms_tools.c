/* forms_tools.c - tools.json as a table, made at its first use, and calls judged by it. */
#include "memory/forms.h"
#include "memory/forms_impl.h"
#include "memory/forms_schema.h"
#include <pthread.h>

enum { MAX_TOOLS = 96 };

static struct {
    json_t *json; /* the strings live in it, for as long as the program does */
    struct form_tool tool[MAX_TOOLS];
    json_t *schema[MAX_TOOLS]; /* of those that were added */
    int n, own;
} list;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* One of "path, from:int?": false if it is not written so. */
static bool read_argument(const char *s, size_t n, struct form_arg *out)
{
    static const char integer[] = ":int";
    if (n > 0 && s[n - 1] == '?') {
        out->optional = true;
        n--;
    }
    if (n > strlen(integer) && memcmp(s + n - strlen(integer), integer, strlen(integer)) == 0) {
        out->is_int = true;
        n -= strlen(integer);
    }
    if (n == 0 || n >= sizeof out->name) return false;
    memcpy(out->name, s, n);
    for (const char *c = out->name; *c; c++)
        if ((*c < 'a' || *c > 'z') && *c != '_') return false;
    return true;
}

static bool read_arguments(struct form_tool *t, const char *line)
{
    for (const char *s = line; *s;) {
        size_t n = strcspn(s, ",");
        if (t->n_args == FORMS_TOOL_ARGS || !read_argument(s, n, &t->arg[t->n_args++])) return false;
        s += n;
        if (*s && *++s == ' ') s++;
    }
    return true;
}

/* What is not in the file, since the embedded model learned that as it is. */
static bool read_also(struct form_tool *t)
{
    static const char *const more[][2] = {{"artifact", "from:int?, to:int?, pattern?"}};
    for (size_t i = 0; i < COUNT_OF(more); i++)
        if (strcmp(t->name, more[i][0]) == 0) t->also = more[i][1];
    if (!t->also) return true;
    for (int i = 1; i < t->n_args; i++) t->arg[i].optional = true;
    return read_arguments(t, t->also);
}

static void read_list(void)
{
    struct form_text s = form_source(FORM_TOOL_LIST);
    json_error_t e = {0};
    json_t *row;
    size_t i;
    list.json = json_loadb(s.text, s.len, JSON_REJECT_DUPLICATES, &e);
    bool good = json_is_array(list.json) && json_array_size(list.json) <= MAX_TOOLS;
    json_array_foreach(list.json, i, row) {
        struct form_tool *t = &list.tool[i];
        good = good && json_unpack_ex(row, &e, JSON_STRICT, "{s:s, s:s, s:s}", "name", &t->name, "arguments",
                                      &t->arguments, "about", &t->about) == 0;
        good = good && read_arguments(t, t->arguments) && read_also(t);
        if (!good) break;
        list.n++;
    }
    list.own = list.n;
    if (good) return;
    fprintf(stderr, "plimsoll: %s, tool %d: not a list of tools: %s\n", form_file(FORM_TOOL_LIST), list.n + 1, e.text);
    abort(); /* the file is compiled in: a bug, and the tests start here */
}

const struct form_tool *forms_tools(int *n)
{
    pthread_once(&once, read_list);
    *n = list.n;
    return list.tool;
}

const struct form_tool *forms_tool(const char *name)
{
    int n;
    const struct form_tool *t = forms_tools(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0) return &t[i];
    return NULL;
}

/* ------------------------------------------------------------------ those that servers have */

int forms_tools_add(const char *name, const char *about, const char *schema, struct err *err)
{
    int n;
    forms_tools(&n);
    if (forms_tool(name)) return err_set(err, -1, "there are two tools named %s", form_quote(name).s);
    if (n == MAX_TOOLS) return err_set(err, -1, "more than %d tools", MAX_TOOLS);
    char *copy = strdup(name), *words = strdup(about);
    json_t *v = json_loads(schema, 0, NULL);
    if (!copy || !words || !json_is_object(v)) {
        free(copy);
        free(words);
        json_decref(v);
        return err_set(err, -1, "the tool %s: no memory for it, or no schema of its arguments", form_quote(name).s);
    }
    list.tool[n] = (struct form_tool){.name = copy, .about = words, .arguments = "", .outside = true};
    list.schema[n] = v;
    list.n++;
    return 0;
}

void forms_tools_forget(void)
{
    while (list.n > list.own) {
        const int i = --list.n;
        free((char *)(uintptr_t)list.tool[i].name);
        free((char *)(uintptr_t)list.tool[i].about);
        json_decref(list.schema[i]);
    }
}

const json_t *forms_tool_schema(const struct form_tool *t) { return list.schema[t - list.tool]; }

/* {"name": ..., "description": ..., "parameters": ...} */
static void put_outside(const struct form_tool *t, struct buf *out)
{
    json_t *v = json_pack("{s:s, s:s, s:O}", "name", t->name, "description", t->about, "parameters",
                          forms_tool_schema(t));
    if (v) form_json_compact(v, out);
    else out->failed = true;
    json_decref(v);
}

/* ------------------------------------------------------------------ lines */

static void put_all(const struct form_tool *t, struct buf *out)
{
    for (int i = 0; i < t->n_args; i++)
        buf_printf(out, "%s%s%s%s", i ? ", " : "", t->arg[i].name, t->arg[i].is_int ? ":int" : "",
                   t->arg[i].optional ? "?" : "");
}

int forms_tool_lines(const char *const *names, int n, bool learned, struct buf *out, struct err *err)
{
    for (int i = 0; i < n; i++)
        if (!forms_tool(names[i])) return err_set(err, -1, "no tool \"%s\"", form_quote(names[i]).s);
    for (int i = 0; i < n; i++) {
        const struct form_tool *t = forms_tool(names[i]);
        struct buf all = {0};
        if (i > 0) buf_put(out, "\n", 1);
        if (t->outside && !learned) {
            put_outside(t, out);
            continue;
        }
        if (t->outside) forms_schema_line(forms_tool_schema(t), &all);
        else if (!learned) put_all(t, &all);
        if (all.failed) out->failed = true;
        const bool known = (learned && !t->outside) || all.failed;
        struct form_value v[] = {{"name", form_text(t->name)}, {"about", form_text(t->about)},
                                 {"arguments", known ? form_text(t->arguments) : form_text_of(&all)}};
        form_put(FORM_TOOL, v, 3, out);
        buf_free(&all);
    }
    return 0;
}

/* ------------------------------------------------------------------ calls */

/* What a server's tool takes is the server's to judge, but for what it must have. */
static int check_outside(const struct form_tool *t, const json_t *arguments, struct err *err)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(forms_tool_schema(t), "required"), i, name)
        if (json_is_string(name) && !json_object_get(arguments, json_string_value(name)))
            return err_set(err, -1, "%s: the argument \"%s\" lacks", t->name, form_quote(json_string_value(name)).s);
    return 0;
}

static const struct form_arg *find_arg(const struct form_tool *t, const char *name)
{
    for (int i = 0; i < t->n_args; i++)
        if (strcmp(t->arg[i].name, name) == 0) return &t->arg[i];
    return NULL;
}

int forms_check_json(const char *name, const json_t *arguments, struct err *err)
{
    const struct form_tool *t = forms_tool(name);
    const char *key;
    json_t *value;
    if (!t) return err_set(err, -1, "no tool \"%s\"", form_quote(name).s);
    if (t->outside) return check_outside(t, arguments, err);
    for (int i = 0; i < t->n_args; i++)
        if (!t->arg[i].optional && !json_object_get(arguments, t->arg[i].name))
            return err_set(err, -1, "%s: the argument \"%s\" lacks", t->name, t->arg[i].name);
    json_object_foreach((json_t *)arguments, key, value) {
        const struct form_arg *a = find_arg(t, key);
        if (!a) return err_set(err, -1, "%s: it has no argument \"%s\"", t->name, form_quote(key).s);
        if (a->is_int ? !json_is_integer(value) : !json_is_string(value))
            return err_set(err, -1, "%s: \"%s\" must be %s", t->name, a->name, a->is_int ? "an integer" : "a text");
    }
    return 0;
}

int forms_check_call(const struct form_call *c, struct err *err)
{
    json_error_t e;
    json_t *arguments = json_loads(c->arguments, 0, &e);
    int rc = json_is_object(arguments) ? forms_check_json(c->name, arguments, err)
                                       : err_set(err, -1, "%s: the arguments are no object", form_quote(c->name).s);
    json_decref(arguments);
    return rc;
}
