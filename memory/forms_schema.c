/* forms_schema.c - arguments of a tool that come as a JSON Schema, as models of different families are told of them. */
#include "memory/forms_schema.h"
#include "memory/forms_impl.h"

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
    else form_json_spaced_value(v, out);
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
        form_json_spaced_value(v, out);
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

void forms_schema_fields(const json_t *parameters, struct buf *out) { put_fields(parameters, 0, out); }

void forms_schema_line(const json_t *parameters, struct buf *out)
{
    const char *name, *comma = "";
    json_t *p;
    json_object_foreach(json_object_get(parameters, "properties"), name, p) {
        const char *type = json_string_value(json_object_get(p, "type"));
        const bool must = requires(parameters, name), is_int = type && strcmp(type, "integer") == 0;
        buf_printf(out, "%s%s%s%s%s", comma, name, is_int || !must ? ":" : "", is_int ? "int" : must ? "" : "text",
                   must ? "" : "?");
        comma = ", ";
    }
}

/* ------------------------------------------------------------------ which kinds a value may be of */

static unsigned type_named(const char *name)
{
    static const struct { const char *name; unsigned type; } known[] = {
        {"string", FORM_STRING}, {"integer", FORM_INTEGER}, {"number", FORM_NUMBER}, {"boolean", FORM_BOOLEAN},
        {"null", FORM_NULL}, {"array", FORM_ARRAY}, {"object", FORM_OBJECT},
    };
    for (size_t i = 0; name && i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, name) == 0) return known[i].type;
    return 0;
}

static unsigned type_of_value(const json_t *v)
{
    static const unsigned types[] = {
        [JSON_OBJECT] = FORM_OBJECT, [JSON_ARRAY] = FORM_ARRAY, [JSON_STRING] = FORM_STRING,
        [JSON_INTEGER] = FORM_INTEGER, [JSON_REAL] = FORM_NUMBER, [JSON_TRUE] = FORM_BOOLEAN,
        [JSON_FALSE] = FORM_BOOLEAN, [JSON_NULL] = FORM_NULL,
    };
    return types[json_typeof(v)];
}

struct looking { /* left: how many schemas are still looked at */
    const json_t *root;
    const json_t *(*look_up)(const json_t *root, const char *ref);
    int left;
};

static unsigned types_in(const json_t *schema, struct looking *l)
{
    static const char *const several[] = {"anyOf", "oneOf", "allOf"};
    const json_t *type = json_object_get(schema, "type"), *ref = json_object_get(schema, "$ref"), *one;
    const json_t *value = json_object_get(schema, "const");
    unsigned types = type_named(json_string_value(type));
    size_t i;
    if (--l->left < 0) return 0;
    if (json_is_string(ref)) return l->look_up ? types_in(l->look_up(l->root, json_string_value(ref)), l) : 0;
    json_array_foreach(type, i, one) types |= type_named(json_string_value(one));
    if (json_is_true(json_object_get(schema, "nullable"))) types |= FORM_NULL;
    if (type) return types;
    if (value) types |= type_of_value(value);
    json_array_foreach(json_object_get(schema, "enum"), i, one) types |= type_of_value(one);
    for (size_t k = 0; k < COUNT_OF(several); k++)
        json_array_foreach(json_object_get(schema, several[k]), i, one) types |= types_in(one, l);
    if (json_object_get(schema, "properties")) types |= FORM_OBJECT;
    if (json_object_get(schema, "items")) types |= FORM_ARRAY;
    return types;
}

unsigned forms_schema_types(const json_t *schema, const json_t *root,
                            const json_t *(*look_up)(const json_t *root, const char *ref))
{
    struct looking l = {root, look_up, 256};
    return types_in(schema, &l);
}
