/* api_schema.c - the schemas that clients send, as the engine's grammars read them: references to definitions are put
 * in place.  What a grammar does not know stays as it is, and is refused there by its name. */
#include "app/serve/api.h"

enum { DEPTH = 24, NODES = 16384, ANY_DEPTH = 1, ANSWER_DEPTH = 3 };

struct resolving {
    const json_t *root; /* what "#/..." is looked up in */
    bool loose;         /* what no grammar can say may be left out: nobody asked that it be held to */
    int nodes;
    const char *why;
};

static json_t *stop(struct resolving *r, const char *why)
{
    if (!r->why) r->why = why;
    return NULL;
}

/* Any JSON, nested so deep at most: a grammar has an end. */
static json_t *any_value(int depth)
{
    json_t *all = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}]", "type", "string", "type", "number", "type", "boolean",
                            "type", "null");
    if (depth > 0)
        json_array_append_new(all, json_pack("{s:s, s:o}", "type", "array", "items", any_value(depth - 1)));
    if (depth > 0)
        json_array_append_new(all, json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                                             any_value(depth - 1)));
    return json_pack("{s:o}", "anyOf", all);
}

const json_t *api_look_up(const json_t *root, const char *ref)
{
    const json_t *at = root;
    if (strncmp(ref, "#/", 2) != 0) return NULL;
    for (const char *p = ref + 2; at && *p;) {
        char key[API_NAME + 1];
        size_t n = strcspn(p, "/");
        if (n >= sizeof key) return NULL;
        memcpy(key, p, n);
        key[n] = '\0';
        at = json_object_get(at, key);
        p += n + (p[n] == '/');
    }
    return at;
}

/* What a value in a schema is: in a map of properties a key is a name, and a value of an enum is no schema. */
enum kind { SCHEMA, SCHEMAS, PROPERTIES, VALUE };

static enum kind kind_under(const char *key)
{
    static const struct { const char *key; enum kind kind; } known[] = {
        {"properties", PROPERTIES}, {"items", SCHEMA}, {"additionalProperties", SCHEMA}, {"anyOf", SCHEMAS},
        {"oneOf", SCHEMAS}, {"allOf", SCHEMAS}, {"prefixItems", SCHEMAS},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].key, key) == 0) return known[i].kind;
    return VALUE;
}

static json_t *resolve(struct resolving *r, const json_t *v, int depth, enum kind kind);

static json_t *resolve_list(struct resolving *r, const json_t *v, int depth)
{
    json_t *out = json_array();
    const json_t *one;
    size_t i;
    json_array_foreach(v, i, one) {
        json_t *made = resolve(r, one, depth, SCHEMA);
        if (!made || json_array_append_new(out, made)) {
            json_decref(out);
            return stop(r, "no memory for it");
        }
    }
    return out;
}

static bool is_one_of(const char *key, const char *const *list)
{
    while (*list && strcmp(*list, key) != 0) list++;
    return *list != NULL;
}

/* Keywords that say nothing of what is valid; and those that a looser grammar leaves out.  An object without others'
 * properties is valid where these may be there. */
static bool is_left_out(const struct resolving *r, const json_t *v, const char *key)
{
    static const char *const words[] = {"discriminator", "readOnly", "writeOnly", "deprecated", "$id", "xml",
                                        "externalDocs", "example", NULL};
    static const char *const finer[] = {"format", "pattern", "minLength", "maxLength", "minimum", "maximum",
                                        "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems",
                                        "minProperties", "maxProperties", "contentEncoding", "contentMediaType", NULL};
    static const char *const definitions[] = {"$defs", "definitions", NULL};
    if (is_one_of(key, definitions)) return true; /* they were looked up */
    if (strcmp(key, "additionalProperties") == 0) return json_object_size(json_object_get(v, "properties")) > 0;
    if (strcmp(key, "required") == 0) return json_is_null(json_object_get(v, key));
    return is_one_of(key, words) || (r->loose && is_one_of(key, finer));
}

/* {"type": ["string", "null"], ...} as an anyOf of one each. */
static json_t *each_type(const json_t *v)
{
    json_t *all = json_array(), *type;
    size_t i;
    json_array_foreach(json_object_get(v, "type"), i, type) {
        const char *name = json_string_value(type);
        bool bare = name && (strcmp(name, "null") == 0 || strcmp(name, "boolean") == 0);
        json_t *one = bare ? json_object() : json_copy((json_t *)(uintptr_t)v);
        json_object_set(one, "type", type);
        json_array_append_new(all, one);
    }
    return json_pack("{s:o}", "anyOf", all);
}

static json_t *resolve_object(struct resolving *r, const json_t *v, int depth, enum kind kind)
{
    json_t *out = json_object(), *one;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)v, key, one) {
        if (kind == SCHEMA && is_left_out(r, v, key)) continue;
        json_t *made = resolve(r, one, depth, kind == SCHEMA ? kind_under(key) : SCHEMA);
        if (!made || json_object_set_new(out, key, made)) {
            json_decref(out);
            return stop(r, "no memory for it");
        }
    }
    return out;
}

static bool has_type(const json_t *v, const char *name)
{
    const json_t *type = json_object_get(v, "type");
    return json_is_string(type) && strcmp(json_string_value(type), name) == 0;
}

/* A schema that leaves open what its items or properties are: any JSON.  NULL: it is none. */
static json_t *open_schema(const json_t *v)
{
    const json_t *others = json_object_get(v, "additionalProperties");
    json_t *out;
    if (json_is_true(v) || (json_is_object(v) && json_object_size(v) == 0)) return any_value(ANY_DEPTH);
    const bool list = has_type(v, "array") && !json_object_get(v, "items") && !json_object_get(v, "prefixItems");
    const bool map = has_type(v, "object") && !json_object_get(v, "properties") &&
                     (!others || json_is_true(others) || (json_is_object(others) && json_object_size(others) == 0));
    if ((!list && !map) || !(out = json_copy((json_t *)(uintptr_t)v))) return NULL;
    json_object_set_new(out, list ? "items" : "additionalProperties", any_value(ANY_DEPTH));
    return out;
}

static json_t *resolve_schema(struct resolving *r, const json_t *v, int depth)
{
    json_t *open = open_schema(v);
    if (open) {
        json_t *made = resolve(r, open, depth, SCHEMA);
        json_decref(open);
        return made;
    }
    const json_t *ref = json_object_get(v, "$ref"), *all = json_object_get(v, "allOf");
    const bool fixed = json_object_get(v, "enum") || json_object_get(v, "const");
    if (json_is_string(ref)) {
        const json_t *to = api_look_up(r->root, json_string_value(ref));
        return to ? resolve(r, to, depth, SCHEMA) : stop(r, "it refers to a definition that is not in it");
    }
    if (json_is_array(json_object_get(v, "type")) && !fixed) {
        json_t *types = each_type(v), *made = types ? resolve(r, types, depth, SCHEMA) : stop(r, "no memory for it");
        json_decref(types);
        return made;
    }
    if (json_array_size(all) == 1 && json_is_object(json_array_get(all, 0)))
        return resolve(r, json_array_get(all, 0), depth, SCHEMA);
    return resolve_object(r, v, depth, SCHEMA);
}

/* A copy; NULL: r->why. */
static json_t *resolve(struct resolving *r, const json_t *v, int depth, enum kind kind)
{
    if (depth > DEPTH) return stop(r, "it is nested too deeply, or refers to itself");
    if (++r->nodes > NODES) return stop(r, "it is too large when its references are written out");
    if (kind == SCHEMA && (json_is_object(v) || json_is_true(v))) return resolve_schema(r, v, depth + 1);
    if (kind == PROPERTIES && json_is_object(v)) return resolve_object(r, v, depth + 1, PROPERTIES);
    if (kind == SCHEMAS && json_is_array(v)) return resolve_list(r, v, depth + 1);
    json_t *copy = json_deep_copy(v);
    return copy ? copy : stop(r, "no memory for it");
}

static int keep(struct api_ask *a, json_t *schema, const char *param, struct api_error *e)
{
    if (schema) api_put_json(schema, JSON_COMPACT, &a->schema);
    const bool bad = !schema || a->schema.failed;
    json_decref(schema);
    return bad ? api_fail(e, 500, "no_memory", param, "no memory for a schema") : 0;
}

int api_schema_of_object(struct api_ask *a, struct api_error *e)
{
    a->schema.len = 0;
    a->whole = true;
    return keep(a, json_pack("{s:s, s:o}", "type", "object", "additionalProperties", any_value(ANSWER_DEPTH)),
                "response_format", e);
}

int api_schema_of_answer(struct api_ask *a, const json_t *schema, bool strict, struct api_error *e)
{
    struct resolving r = {.root = schema, .loose = !strict};
    if (!json_is_object(schema))
        return api_fail(e, 400, "invalid_value", "response_format", "response_format.json_schema.schema is to be an "
                        "object");
    json_t *made = resolve(&r, schema, 0, SCHEMA);
    if (!made) return api_fail(e, 400, "invalid_value", "response_format", "the schema cannot be used: %s", r.why);
    a->schema.len = 0;
    a->whole = true;
    return keep(a, made, "response_format", e);
}

/* {"name": NAME, "arguments": {...}} */
static json_t *call_of(const json_t *tool, struct resolving *r)
{
    const json_t *f = json_object_get(tool, "function"), *parameters = json_object_get(f, "parameters");
    *r = (struct resolving){.root = parameters, .loose = !json_is_true(json_object_get(f, "strict"))};
    json_t *arguments = json_object_size(parameters) > 0 ? resolve(r, parameters, 0, SCHEMA)
                                                         : json_pack("{s:s, s:{}}", "type", "object", "properties");
    if (!arguments) return NULL;
    return json_pack("{s:s, s:[s,s], s:{s:{s:O}, s:o}}", "type", "object", "required", "name", "arguments",
                     "properties", "name", "const", json_object_get(f, "name"), "arguments", arguments);
}

int api_schema_of_calls(struct api_ask *a, struct api_error *e)
{
    json_t *one_of = json_array(), *t;
    struct resolving r = {0};
    size_t i;
    a->whole = a->choice == API_REQUIRED || a->choice == API_NAMED;
    json_array_foreach(a->tools, i, t) {
        const char *name = json_string_value(json_object_get(json_object_get(t, "function"), "name"));
        if (a->choice == API_NAMED && strcmp(name, a->named) != 0) continue;
        json_t *made = call_of(t, &r);
        if (made && json_array_append_new(one_of, made) == 0) continue;
        json_decref(one_of);
        if (!a->whole && !a->strict) return 0; /* calls are not held to it then */
        return api_fail(e, 400, "invalid_value", "tools", "the parameters of %.64s cannot be used: %s", name,
                        r.why ? r.why : "no memory for them");
    }
    return keep(a, json_pack("{s:o}", "oneOf", one_of), "tools", e);
}
