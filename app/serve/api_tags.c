/* api_tags.c - tools and calls of clients for models that write calls in tags (memory/forms.h), and which kinds of JSON
 * a tool's schema allows its parameters, since tags do not say. */
#include "app/serve/api.h"

void api_tags_list(enum form_calls how, const json_t *tools, struct buf *out)
{
    struct buf list = {0};
    api_put_json(tools, JSON_COMPACT | JSON_REAL_PRECISION(15), &list);
    out->failed |= list.failed;
    if (!list.failed) forms_tags_list(how, (struct form_text){list.data, list.len}, out);
    buf_free(&list);
}

void api_tags_call(const char *name, struct form_text arguments, struct buf *out)
{
    struct buf words = {0}; /* both, NUL-terminated */
    buf_put(&words, name, strlen(name) + 1);
    buf_put(&words, arguments.text, arguments.len);
    out->failed |= words.failed;
    if (!words.failed) forms_tags_call(&(struct form_call){words.data, words.data + strlen(name) + 1}, out);
    buf_free(&words);
}

/* ---------------------------------------------------------------- types */

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

/* left: how many schemas are still looked at. */
static unsigned types_in(const json_t *schema, const json_t *root, int *left)
{
    static const char *const several[] = {"anyOf", "oneOf", "allOf"};
    const json_t *type = json_object_get(schema, "type"), *ref = json_object_get(schema, "$ref"), *one;
    const json_t *value = json_object_get(schema, "const");
    unsigned types = type_named(json_string_value(type));
    size_t i;
    if (--*left < 0) return 0;
    if (json_is_string(ref)) return types_in(api_look_up(root, json_string_value(ref)), root, left);
    json_array_foreach(type, i, one) types |= type_named(json_string_value(one));
    if (json_is_true(json_object_get(schema, "nullable"))) types |= FORM_NULL;
    if (type) return types;
    if (value) types |= type_of_value(value);
    json_array_foreach(json_object_get(schema, "enum"), i, one) types |= type_of_value(one);
    for (size_t k = 0; k < COUNT_OF(several); k++)
        json_array_foreach(json_object_get(schema, several[k]), i, one) types |= types_in(one, root, left);
    if (json_object_get(schema, "properties")) types |= FORM_OBJECT;
    if (json_object_get(schema, "items")) types |= FORM_ARRAY;
    return types;
}

unsigned api_types_of(const json_t *schema, const json_t *root)
{
    int left = 256;
    return types_in(schema, root, &left);
}
