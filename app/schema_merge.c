/* schema_merge.c - what a schema says in several places, as one: by references, by allOf, beside the two, and beside a
 * choice (anyOf, oneOf), each of whose alternatives then says it.
 *
 * Where nobody asked that a schema be held to, what cannot be said as one is said by the place that comes first. */
#include "app/schema.h"

enum { PARTS = 64 };

struct merging {
    struct resolving *r;
    json_t *out;
    int before, parts;
    bool never, unknown;
};

static const char *choice_of(const json_t *v)
{
    const bool any = json_object_get(v, "anyOf"), one = json_object_get(v, "oneOf");
    return any && one ? NULL : any ? "anyOf" : one ? "oneOf" : NULL;
}

static bool is_a_word(const char *key)
{
    return schema_says_nothing(key) || strcmp(key, "$defs") == 0 || strcmp(key, "definitions") == 0;
}

static bool says_more_than(const json_t *v, const char *choice)
{
    const char *key;
    json_t *one;
    json_object_foreach((json_t *)(uintptr_t)v, key, one)
        if (strcmp(key, choice) != 0 && !is_a_word(key)) return true;
    return false;
}

bool schema_wants_merging(const json_t *v)
{
    const char *choice = choice_of(v);
    if (json_is_string(json_object_get(v, "$ref")) || json_array_size(json_object_get(v, "allOf")) > 0) return true;
    return choice && json_array_size(json_object_get(v, choice)) > 0 && says_more_than(v, choice);
}

static bool list_has(const json_t *list, const json_t *value)
{
    const json_t *one;
    size_t i;
    json_array_foreach(list, i, one)
        if (json_equal(one, value)) return true;
    return false;
}

/* Both lists' values; those of both. */
static json_t *in_either(const json_t *a, const json_t *b)
{
    json_t *all = json_copy((json_t *)(uintptr_t)a), *one;
    size_t i;
    json_array_foreach(b, i, one)
        if (!list_has(a, one)) json_array_append(all, one);
    return all;
}

static json_t *in_both(const json_t *a, const json_t *b)
{
    json_t *all = json_array(), *one;
    size_t i;
    json_array_foreach(a, i, one)
        if (list_has(b, one)) json_array_append(all, one);
    return all;
}

/* A type, or a list of some, as a list; of numbers an integer is one. */
static json_t *types_of(const json_t *v, bool integers)
{
    json_t *all = json_is_array(v) ? json_copy((json_t *)(uintptr_t)v) : json_pack("[O]", v), *integer;
    json_t *number = json_string("number");
    if (integers && list_has(all, number) && (integer = json_string("integer"))) {
        if (!list_has(all, integer)) json_array_append(all, integer);
        json_decref(integer);
    }
    json_decref(number);
    return all;
}

static json_t *types_in_both(const json_t *a, const json_t *b)
{
    json_t *of_a = types_of(a, true), *of_b = types_of(b, true), *both = in_both(of_a, of_b);
    json_t *number = json_string("number"), *integer = json_string("integer");
    size_t i;
    json_t *one;
    if (list_has(both, number)) /* which the integers are among */
        json_array_foreach(both, i, one)
            if (json_equal(one, integer)) {
                json_array_remove(both, i);
                break;
            }
    json_decref(of_a);
    json_decref(of_b);
    json_decref(number);
    json_decref(integer);
    if (json_array_size(both) != 1) return both;
    json_t *only = json_incref(json_array_get(both, 0));
    json_decref(both);
    return only;
}

/* A schema that is in all of those that `have` is of, and in this; have: borrowed. */
static json_t *both_schemas(const json_t *have, const json_t *v)
{
    if (json_equal(have, v)) return json_incref((json_t *)(uintptr_t)have);
    return json_pack("{s:[O, O]}", "allOf", have, v);
}

static json_t *both_properties(const json_t *have, const json_t *more)
{
    json_t *all = json_copy((json_t *)(uintptr_t)have), *v;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)more, name, v) {
        const json_t *was = json_object_get(all, name);
        json_object_set_new(all, name, was ? both_schemas(was, v) : json_incref(v));
    }
    return all;
}

/* What a keyword says that two places have; NULL: that is not known. */
static json_t *both(const char *key, const json_t *a, const json_t *b)
{
    static const char *const least[] = {"minimum", "exclusiveMinimum", "minLength", "minItems", NULL};
    static const char *const most[] = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", NULL};
    static const char *const schemas[] = {"items", "additionalProperties", NULL};
    const bool numbers = json_is_number(a) && json_is_number(b), lists = json_is_array(a) && json_is_array(b);
    if (strcmp(key, "properties") == 0 && json_is_object(a) && json_is_object(b)) return both_properties(a, b);
    if (strcmp(key, "required") == 0 && lists) return in_either(a, b);
    if (strcmp(key, "enum") == 0 && lists) return in_both(a, b);
    if (strcmp(key, "type") == 0) return types_in_both(a, b);
    if (schema_is_among(key, least) && numbers)
        return json_incref((json_t *)(uintptr_t)(json_number_value(a) >= json_number_value(b) ? a : b));
    if (schema_is_among(key, most) && numbers)
        return json_incref((json_t *)(uintptr_t)(json_number_value(a) <= json_number_value(b) ? a : b));
    return schema_is_among(key, schemas) ? both_schemas(a, b) : NULL;
}

/* What may not be there in `a`, which has no other properties than its own, and is in b. */
static bool is_shut_out(const json_t *a, const json_t *b)
{
    const json_t *own = json_object_get(a, "properties");
    const char *name;
    json_t *v;
    if (!json_is_false(json_object_get(a, "additionalProperties"))) return false;
    json_object_foreach(json_object_get(b, "properties"), name, v)
        if (!json_object_get(own, name)) return true;
    return false;
}

static void merge_key(struct merging *m, const char *key, json_t *v)
{
    const json_t *have = json_object_get(m->out, key);
    if (!have) {
        json_object_set(m->out, key, v);
        return;
    }
    if (json_equal(have, v) || is_a_word(key)) return;
    json_t *made = both(key, have, v);
    if (!made) m->unknown = true;
    else if (json_is_array(made) && json_array_size(made) == 0) m->never = true;
    else json_object_set(m->out, key, made);
    json_decref(made);
}

static int merge_in(struct merging *m, const json_t *part);

/* Into the definition that a reference means. */
static int merge_ref(struct merging *m, const char *ref)
{
    struct resolving *r = m->r;
    const json_t *to = schema_look_up(r->root, ref);
    int times = 0;
    if (!to) r->why = "it refers to a definition that is not in it";
    if (!to) return -1;
    for (int i = 0; i < m->before; i++) times += r->open[i] == to;
    if (times >= r->inside) {
        r->recursive = m->never = true;
        return 0;
    }
    for (int i = m->before; i < r->n_open; i++)
        if (r->open[i] == to) return merge_in(m, to);
    if (r->n_open == SCHEMA_OPEN) {
        r->why = "it is nested too deeply";
        return -1;
    }
    r->open[r->n_open++] = to;
    return merge_in(m, to);
}

static int merge_in(struct merging *m, const json_t *part)
{
    const json_t *ref = json_object_get(part, "$ref"), *all = json_object_get(part, "allOf"), *one;
    const char *key;
    json_t *v;
    size_t i;
    if (json_is_false(part)) m->never = true;
    if (!json_is_object(part)) return 0;
    if (++m->parts > PARTS || !schema_counts(m->r, 0)) {
        m->r->why = m->parts > PARTS ? "it refers to itself and says no more, or has too many parts"
                                     : "it is too large when its references are written out";
        return -1;
    }
    if (is_shut_out(m->out, part) || is_shut_out(part, m->out)) m->unknown = true;
    json_object_foreach((json_t *)(uintptr_t)part, key, v)
        if (strcmp(key, "$ref") != 0 && strcmp(key, "allOf") != 0) merge_key(m, key, v);
    if (ref && !json_is_string(ref)) m->unknown = true;
    if (json_is_string(ref) && merge_ref(m, json_string_value(ref))) return -1;
    json_array_foreach(all, i, one)
        if (merge_in(m, one)) return -1;
    return 0;
}

/* Whether a value has a type, or one of some; none given: it has. */
static bool has_type(const json_t *v, const json_t *type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object", [JSON_ARRAY] = "array", [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
        [JSON_REAL] = "number", [JSON_TRUE] = "boolean", [JSON_FALSE] = "boolean", [JSON_NULL] = "null",
    };
    const char *name = json_string_value(type);
    if (!type) return true;
    for (size_t i = 0; i < json_array_size(type); i++)
        if (has_type(v, json_array_get(type, i))) return true;
    return name && (strcmp(name, names[json_typeof(v)]) == 0 || (json_is_integer(v) && strcmp(name, "number") == 0));
}

/* Values that are told one by one are those that have one of the types, and what is said of objects and lists says
 * nothing of others. */
static void settle_values(struct merging *m)
{
    static const char *const composite[] = {"properties", "required", "additionalProperties", "items", "prefixItems",
                                            "minItems", "maxItems"};
    const json_t *type = json_object_get(m->out, "type"), *one = json_object_get(m->out, "const");
    const json_t *many = json_object_get(m->out, "enum");
    json_t *left = json_array(), *v;
    bool simple = true;
    size_t i;
    if (one) json_array_append(left, (json_t *)(uintptr_t)one);
    json_array_foreach(one ? NULL : many, i, v)
        json_array_append(left, v);
    for (i = json_array_size(left); i-- > 0;) {
        v = json_array_get(left, i);
        simple &= !json_is_object(v) && !json_is_array(v);
        if (!has_type(v, type) || (one && many && !list_has(many, v))) json_array_remove(left, i);
    }
    if (one || many) m->never |= json_array_size(left) == 0;
    if (one || many) json_object_del(m->out, "type");
    if (many) json_object_del(m->out, "enum");
    if (many && !one) json_object_set(m->out, "enum", left);
    for (i = 0; (one || many) && simple && i < COUNT_OF(composite); i++) json_object_del(m->out, composite[i]);
    json_decref(left);
}

/* {"properties": P, "anyOf": [A, B]} as {"anyOf": [{"allOf": [{"properties": P}, A]}, ...]}. */
static json_t *merge_choice(const json_t *v, const char *choice)
{
    json_t *beside = json_copy((json_t *)(uintptr_t)v), *all = json_array(), *one;
    size_t i;
    json_object_del(beside, choice);
    json_array_foreach(json_object_get(v, choice), i, one)
        json_array_append_new(all, json_pack("{s:[O, O]}", "allOf", beside, one));
    json_decref(beside);
    return json_pack("{s:o}", choice, all);
}

json_t *schema_merge(struct resolving *r, const json_t *v)
{
    const char *choice = choice_of(v);
    if (choice && !json_object_get(v, "$ref") && !json_object_get(v, "allOf")) return merge_choice(v, choice);
    struct merging m = {.r = r, .out = json_object(), .before = r->n_open};
    const int bad = merge_in(&m, v);
    if (!bad) settle_values(&m);
    if (!bad && !m.never && (!m.unknown || r->leaves != LEAVES_NOTHING)) return m.out;
    json_decref(m.out);
    return !bad && m.never ? json_false() : NULL;
}
