/* api_harmony.c - a client's tools as gpt-oss models know tools: functions of TypeScript, out of JSON schemas.  What
 * has no short type there (oneOf, $ref, an object in an object in ...) is "any". */
#include "app/serve/api.h"

enum { DEEP = 6 };

static void put_type(const json_t *schema, int deep, struct buf *out);

static void put_words(const char *s, struct buf *out) /* of a comment: a line stays one */
{
    for (; *s; s++) buf_put(out, *s == '\n' || *s == '\r' ? " " : s, 1);
}

static bool requires(const json_t *schema, const char *name)
{
    const json_t *r;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, r)
        if (json_is_string(r) && strcmp(json_string_value(r), name) == 0) return true;
    return false;
}

static void put_default(const json_t *schema, struct buf *out)
{
    const json_t *v = json_object_get(schema, "default");
    if (!v) return;
    buf_puts(out, " // default: ");
    if (json_is_string(v) && json_object_get(schema, "enum")) put_words(json_string_value(v), out);
    else api_put_json(v, 0, out);
}

/* Each on a line of its own, with what is said of it before it. */
static void put_fields(const json_t *schema, int deep, struct buf *out)
{
    const char *name;
    json_t *p;
    json_object_foreach(json_object_get(schema, "properties"), name, p) {
        const char *about = json_string_value(json_object_get(p, "description"));
        if (about) {
            buf_puts(out, "// ");
            put_words(about, out);
            buf_puts(out, "\n");
        }
        put_words(name, out);
        buf_puts(out, requires(schema, name) ? ": " : "?: ");
        put_type(p, deep, out);
        buf_puts(out, ",");
        put_default(p, out);
        buf_puts(out, "\n");
    }
}

static void put_enum(const json_t *values, struct buf *out)
{
    const json_t *v;
    size_t i;
    json_array_foreach(values, i, v) {
        buf_puts(out, i ? " | " : "");
        api_put_json(v, 0, out);
    }
}

static void put_named(const json_t *schema, const char *type, int deep, struct buf *out)
{
    static const char *const simple[][2] = {{"string", "string"},   {"number", "number"}, {"integer", "number"},
                                            {"boolean", "boolean"}, {"null", "null"}};
    for (size_t i = 0; i < COUNT_OF(simple); i++) {
        if (strcmp(type, simple[i][0]) != 0) continue;
        buf_puts(out, simple[i][1]);
        return;
    }
    const bool fields = json_object_size(json_object_get(schema, "properties")) > 0;
    if (strcmp(type, "array") == 0) {
        put_type(json_object_get(schema, "items"), deep + 1, out);
        buf_puts(out, "[]");
    } else if (strcmp(type, "object") == 0 && fields && deep < DEEP) {
        buf_puts(out, "{\n");
        put_fields(schema, deep + 1, out);
        buf_puts(out, "}");
    } else {
        buf_puts(out, strcmp(type, "object") == 0 ? "object" : "any");
    }
}

static void put_type(const json_t *schema, int deep, struct buf *out)
{
    const json_t *type = json_object_get(schema, "type"), *values = json_object_get(schema, "enum"), *t;
    size_t i;
    if (deep > DEEP) {
        buf_puts(out, "any");
    } else if (json_array_size(values) > 0) {
        put_enum(values, out);
    } else if (json_array_size(type) > 0) {
        json_array_foreach(type, i, t) {
            buf_puts(out, i ? " | " : "");
            put_named(schema, json_is_string(t) ? json_string_value(t) : "any", deep, out);
        }
    } else {
        put_named(schema, json_is_string(type) ? json_string_value(type) : "any", deep, out);
    }
    if (json_is_true(json_object_get(schema, "nullable"))) buf_puts(out, " | null");
}

void api_harmony_tools(const json_t *tools, struct buf *out)
{
    struct buf types = {0}, arguments = {0};
    const json_t *tool;
    size_t i;
    json_array_foreach(tools, i, tool) {
        const json_t *f = json_object_get(tool, "function");
        const char *name = json_string_value(json_object_get(f, "name"));
        const char *about = json_string_value(json_object_get(f, "description"));
        arguments.len = 0;
        put_fields(json_object_get(f, "parameters"), 0, &arguments);
        forms_harmony_type(form_text(name ? name : ""), form_text(about ? about : ""),
                           (struct form_text){arguments.data ? arguments.data : "", arguments.len}, &types);
    }
    forms_harmony_types((struct form_text){types.data ? types.data : "", types.len}, out);
    out->failed |= types.failed || arguments.failed;
    buf_free(&types);
    buf_free(&arguments);
}
