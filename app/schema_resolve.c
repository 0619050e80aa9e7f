/* schema_resolve.c - the schemas that clients send, as the engine's grammars read them: references to definitions are
 * put in place.  What a grammar does not know stays as it is, and is refused there by its name. */
#include "app/schema.h"
#include "engine/grammar.h"
#include <ctype.h>
#include <math.h>

enum { DEPTH = 64, NODES = 16384, ANY_DEPTH = 1, REF_KEY = 256, PATTERN_NODES = 2000, LENGTH_HELD = 64,
       UNIQUE_HELD = 4 };

static json_t *stop(struct resolving *r, const char *why)
{
    if (!r->why) r->why = why;
    return NULL;
}

json_t *schema_any_value(int depth)
{
    json_t *all = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}]", "type", "string", "type", "number", "type", "boolean",
                            "type", "null");
    if (depth > 0)
        json_array_append_new(all, json_pack("{s:s, s:o}", "type", "array", "items", schema_any_value(depth - 1)));
    if (depth > 0)
        json_array_append_new(all, json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                                             schema_any_value(depth - 1)));
    return json_pack("{s:o}", "anyOf", all);
}

/* 64 bytes of a text count as another value. */
bool schema_counts(struct resolving *r, size_t text)
{
    r->nodes += 1 + (int)MIN(text / 64, (size_t)NODES);
    return r->nodes <= NODES;
}

/* All that a copy of v takes. */
static bool count_all(struct resolving *r, const json_t *v)
{
    const char *key;
    json_t *one;
    size_t i;
    json_array_foreach(v, i, one)
        if (!count_all(r, one)) return false;
    json_object_foreach((json_t *)(uintptr_t)v, key, one)
        if (!schema_counts(r, strlen(key)) || !count_all(r, one)) return false;
    return schema_counts(r, json_string_length(v));
}

/* One key of a JSON pointer (RFC 6901) in a fragment of a URI; -1: it is none, or too long. */
static int spell_key(const char *p, size_t n, char key[REF_KEY])
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned byte = (unsigned char)p[i];
        if (k + 1 == REF_KEY) return -1;
        if (byte == '%') {
            char hex[3] = {0};
            if (i + 2 >= n || !isxdigit((unsigned char)p[i + 1]) || !isxdigit((unsigned char)p[i + 2])) return -1;
            memcpy(hex, p + i + 1, 2);
            byte = (unsigned)strtoul(hex, NULL, 16);
            if (byte == 0) return -1;
            i += 2;
        }
        key[k++] = (char)byte;
    }
    key[k] = '\0';
    for (char *at = key; (at = strchr(at, '~')); at++) {
        if (at[1] != '0' && at[1] != '1') return -1;
        *at = at[1] == '0' ? '~' : '/';
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    }
    return 0;
}

const json_t *schema_look_up(const json_t *root, const char *ref)
{
    const json_t *at = root;
    if (strcmp(ref, "#") != 0 && strncmp(ref, "#/", 2) != 0) return NULL;
    for (const char *p = ref + MIN(strlen(ref), (size_t)2); at && *p;) {
        char key[REF_KEY], *end;
        const size_t n = strcspn(p, "/");
        if (spell_key(p, n, key)) return NULL;
        const unsigned long i = json_is_array(at) ? strtoul(key, &end, 10) : 0;
        if (json_is_array(at)) at = *key >= '0' && *key <= '9' && !*end ? json_array_get(at, i) : NULL;
        else at = json_object_get(at, key);
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

static bool has_type(const json_t *v, const char *name)
{
    const json_t *type = json_object_get(v, "type");
    return json_is_string(type) && strcmp(json_string_value(type), name) == 0;
}

static const char *const of_strings[] = {"format", "pattern", "minLength", "maxLength", NULL};
static const char *const of_numbers[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
                                         NULL};

/* A grammar holds a string to none that makes it large: to its pattern or else its format, and to lengths, beside a
 * pattern only to those that leave it small. */
static bool holds_string(const json_t *v, const char *key)
{
    const json_t *pattern = json_object_get(v, "pattern"), *format = json_object_get(v, "format");
    const json_t *length = json_object_get(v, key);
    const long nodes = json_is_string(pattern) ? grammar_pattern_nodes(json_string_value(pattern),
                                                                       json_string_length(pattern), NULL) : -1;
    const bool by_pattern = nodes >= 0 && nodes <= PATTERN_NODES;
    const bool by_format = !by_pattern && json_is_string(format) && grammar_knows_format(json_string_value(format));
    if (strcmp(key, "pattern") == 0) return by_pattern;
    if (strcmp(key, "format") == 0) return by_format;
    if (by_format || !json_is_integer(length) || json_integer_value(length) > LENGTH_HELD) return false;
    return !by_pattern || nodes * (long)(json_integer_value(length) + 1) <= PATTERN_NODES;
}

/* Multiples of what divides a thousand are told by their last digits; others make a grammar large. */
static bool holds_number(const json_t *v, const char *key)
{
    const json_t *bound = json_object_get(v, key);
    const double d = json_number_value(bound);
    if (strcmp(key, "multipleOf") == 0) return d >= 1 && d <= 1000 && d == floor(d) && 1000 % (int)d == 0;
    return json_is_number(bound) && fabs(d) < 1e15;
}

/* Of values that are told one by one, or of another type, no such word says anything. */
static bool says_nothing(const json_t *v, const char *key)
{
    const bool text = schema_is_among(key, of_strings), number = schema_is_among(key, of_numbers);
    const bool numeric = has_type(v, "integer") || has_type(v, "number");
    if (!text && !number) return false;
    if (json_object_get(v, "enum") || json_object_get(v, "const")) return true;
    return json_is_string(json_object_get(v, "type")) && (text ? !has_type(v, "string") : !numeric);
}

/* The word that lists schemas of which the value has one; NULL: there is none. */
static const char *chosen_from(const json_t *v)
{
    return json_object_get(v, "anyOf") ? "anyOf" : json_object_get(v, "oneOf") ? "oneOf" : NULL;
}

bool schema_says_nothing(const char *key)
{
    static const char *const words[] = {"title", "description", "default", "examples", "$schema", "$comment",
                                        "discriminator", "readOnly", "writeOnly", "deprecated", "$id", "xml",
                                        "externalDocs", "example", NULL};
    return schema_is_among(key, words);
}

static bool is_in_enum(const json_t *v, const json_t *value)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(v, "enum"), i, one)
        if (value && json_equal(one, value)) return true;
    return false;
}

/* Whether a list's items are few values, of which a grammar can tell which there were without being large. */
static bool holds_unique(const struct resolving *r, const json_t *v)
{
    const json_t *items = json_object_get(v, "items"), *ref = json_object_get(items, "$ref");
    if (json_is_string(ref)) items = schema_look_up(r->root, json_string_value(ref));
    const size_t n = json_array_size(json_object_get(items, "enum"));
    if (json_is_true(json_object_get(items, "nullable"))) return false; /* which becomes a choice */
    return has_type(items, "boolean") || (n > 0 && n <= UNIQUE_HELD);
}

/* Keywords that say nothing of what is valid; and those that a looser grammar leaves out.  An object without others'
 * properties is valid where these may be there. */
static bool is_left_out(const struct resolving *r, const json_t *v, const char *key)
{
    static const char *const known[] = {"type", "const", "enum", "properties", "required", "additionalProperties",
                                        "prefixItems", "items", "minItems", "maxItems", "anyOf", "oneOf", NULL};
    static const char *const never[] = {"minProperties", "maxProperties", "contentEncoding",
                                        "contentMediaType", NULL};
    static const char *const definitions[] = {"$defs", "definitions", NULL};
    if (schema_is_among(key, definitions)) return true; /* they were looked up */
    if (strcmp(key, "additionalProperties") == 0) return json_object_size(json_object_get(v, "properties")) > 0;
    if (strcmp(key, "required") == 0) return json_is_null(json_object_get(v, key));
    if (r->leaves == LEAVES_UNKNOWN && chosen_from(v) && strcmp(key, chosen_from(v)) != 0) return true;
    if (strcmp(key, "enum") == 0 && is_in_enum(v, json_object_get(v, "const"))) return true;
    if (strcmp(key, "nullable") == 0 || schema_says_nothing(key) || says_nothing(v, key)) return true;
    if (strcmp(key, "uniqueItems") == 0 && json_is_false(json_object_get(v, key))) return true;
    if (r->leaves == LEAVES_NOTHING) return false;
    if (strcmp(key, "uniqueItems") == 0) return r->leaves > LEAVES_UNHELD || !holds_unique(r, v);
    const bool text = schema_is_among(key, of_strings), number = schema_is_among(key, of_numbers);
    if (!text && !number)
        return schema_is_among(key, never) || (r->leaves == LEAVES_UNKNOWN && !schema_is_among(key, known));
    return r->leaves >= LEAVES_FINER || !(text ? holds_string(v, key) : holds_number(v, key));
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

/* {"nullable": true, ...}, OpenAPI's word, as an anyOf. */
static json_t *or_null(const json_t *v)
{
    json_t *one = json_copy((json_t *)(uintptr_t)v);
    json_object_del(one, "nullable");
    return json_pack("{s:[o, {s:s}]}", "anyOf", one, "type", "null");
}

/* Values that are told one by one need no list of their types. */
static json_t *without_type(const json_t *v)
{
    json_t *one = json_copy((json_t *)(uintptr_t)v);
    json_object_del(one, "type");
    return one;
}

/* A grammar wants to know what kind of value it is of: where the words that said so were left out, any.  v is taken. */
static json_t *of_some_kind(json_t *v)
{
    static const char *const saying[] = {"type", "const", "enum", "anyOf", "oneOf"};
    const char *meant = json_object_get(v, "properties") ? "object" : json_object_get(v, "items") ? "array" : NULL;
    for (size_t i = 0; i < COUNT_OF(saying); i++)
        if (json_object_get(v, saying[i])) return v;
    if (meant && json_object_set_new(v, "type", json_string(meant)) == 0) return v;
    json_decref(v);
    return schema_any_value(ANY_DEPTH);
}

/* A list that ends before its item number n, since there is none: without the words of others.  v is taken. */
static json_t *ends_before(json_t *v, size_t n)
{
    const json_t *least = json_object_get(v, "minItems"), *most = json_object_get(v, "maxItems");
    if (json_is_integer(least) && json_integer_value(least) > (json_int_t)n) {
        json_decref(v);
        return json_false();
    }
    json_object_del(v, "items");
    if (n == 0) json_object_del(v, "prefixItems");
    if (!json_is_integer(most) || json_integer_value(most) > (json_int_t)n)
        json_object_set_new(v, "maxItems", json_integer((json_int_t)n));
    return v;
}

/* The place of the first schema without a value; the list's length: each has one. */
static size_t first_false(const json_t *list)
{
    size_t i = 0;
    while (i < json_array_size(list) && !json_is_false(json_array_get(list, i))) i++;
    return i;
}

/* What has schemas without a value in it: without these, or false itself.  v is taken. */
static json_t *with_values(json_t *v)
{
    json_t *choice = json_object_get(v, chosen_from(v) ? chosen_from(v) : ""), *first, *one;
    const json_t *required = json_object_get(v, "required"), *properties = json_object_get(v, "properties");
    const char *name;
    void *next;
    bool never = false;
    while (choice && first_false(choice) < json_array_size(choice)) json_array_remove(choice, first_false(choice));
    if (choice) never = json_array_size(choice) == 0;
    json_object_foreach_safe((json_t *)(uintptr_t)properties, next, name, one) {
        if (!json_is_false(one)) continue;
        json_t *key = json_string(name);
        for (size_t i = 0; i < json_array_size(required); i++) never |= json_equal(json_array_get(required, i), key);
        json_decref(key);
        json_object_del((json_t *)(uintptr_t)properties, name);
    }
    if (never) {
        json_decref(v);
        return json_false();
    }
    first = json_object_get(v, "prefixItems");
    const size_t n = json_array_size(first), values = first_false(first);
    if (values < n) {
        for (size_t i = n; i-- > values;) json_array_remove(first, i);
        return ends_before(v, values);
    }
    return json_is_false(json_object_get(v, "items")) && n == 0 ? ends_before(v, 0) : v;
}

static json_t *resolve_object(struct resolving *r, const json_t *v, int depth, enum kind kind)
{
    json_t *out = json_object(), *one;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)v, key, one) {
        if (kind == SCHEMA && is_left_out(r, v, key)) continue;
        r->nodes += (int)MIN(strlen(key) / 64, (size_t)NODES);
        json_t *made = resolve(r, one, depth, kind == SCHEMA ? kind_under(key) : SCHEMA);
        const bool choice = kind == SCHEMA && r->leaves == LEAVES_UNKNOWN && strcmp(key, "oneOf") == 0;
        if (!made || json_object_set_new(out, choice ? "anyOf" : key, made)) { /* two may be so */
            json_decref(out);
            return stop(r, "no memory for it");
        }
    }
    if (kind != SCHEMA) return out;
    out = with_values(out);
    if (!json_is_object(out)) return out;
    if (json_object_size(out) > 0 || depth == 1) /* the whole: a call's arguments are an object at least */
        return r->leaves == LEAVES_UNKNOWN ? of_some_kind(out) : out;
    json_decref(out);
    return schema_any_value(ANY_DEPTH); /* a title says nothing of what it is */
}

/* A schema that leaves open what its items or properties are: any JSON.  NULL: it is none. */
static json_t *open_schema(const json_t *v)
{
    const json_t *others = json_object_get(v, "additionalProperties");
    json_t *out;
    if (json_is_true(v) || (json_is_object(v) && json_object_size(v) == 0)) return schema_any_value(ANY_DEPTH);
    const bool list = has_type(v, "array") && !json_object_get(v, "items") && !json_object_get(v, "prefixItems");
    const bool map = has_type(v, "object") && !json_object_get(v, "properties") &&
                     (!others || json_is_true(others) || (json_is_object(others) && json_object_size(others) == 0));
    if ((!list && !map) || !(out = json_copy((json_t *)(uintptr_t)v))) return NULL;
    json_object_set_new(out, list ? "items" : "additionalProperties", schema_any_value(ANY_DEPTH));
    return out;
}

/* In the definitions that it refers to, or of which it is one part among others. */
static json_t *resolve_merged(struct resolving *r, const json_t *v, int depth)
{
    const int before = r->n_open;
    json_t *one = schema_merge(r, v);
    json_t *made = one ? resolve(r, one, depth, SCHEMA) : r->why ? NULL : resolve_object(r, v, depth, SCHEMA);
    r->n_open = before;
    json_decref(one);
    return made;
}

static json_t *resolve_schema(struct resolving *r, const json_t *v, int depth)
{
    if (schema_wants_merging(v)) return resolve_merged(r, v, depth);
    json_t *open = open_schema(v);
    if (open) {
        json_t *made = resolve(r, open, depth, SCHEMA);
        json_decref(open);
        return made;
    }
    const bool fixed = json_object_get(v, "enum") || json_object_get(v, "const");
    const bool nullable = json_is_true(json_object_get(v, "nullable"));
    const bool types = json_is_array(json_object_get(v, "type"));
    if (!nullable && !types) return resolve_object(r, v, depth, SCHEMA);
    json_t *other = nullable ? or_null(v) : fixed ? without_type(v) : each_type(v);
    json_t *made = other ? resolve(r, other, depth, SCHEMA) : stop(r, "no memory for it");
    json_decref(other);
    return made;
}

static const char too_large[] = "it is too large when its references are written out";

/* A copy; NULL: r->why. */
static json_t *resolve(struct resolving *r, const json_t *v, int depth, enum kind kind)
{
    if (depth > DEPTH) return stop(r, "it is nested too deeply");
    if (!schema_counts(r, 0)) return stop(r, too_large);
    if (kind == SCHEMA && (json_is_object(v) || json_is_true(v))) return resolve_schema(r, v, depth + 1);
    if (kind == PROPERTIES && json_is_object(v)) return resolve_object(r, v, depth + 1, PROPERTIES);
    if (kind == SCHEMAS && json_is_array(v)) return resolve_list(r, v, depth + 1);
    if (!count_all(r, v)) return stop(r, too_large);
    json_t *copy = json_deep_copy(v);
    return copy ? copy : stop(r, "no memory for it");
}

json_t *schema_resolve(struct resolving *r, const json_t *schema)
{
    r->open[0] = r->root;
    r->n_open = 1;
    json_t *made = resolve(r, schema, 0, SCHEMA);
    if (!json_is_false(made)) return made;
    return stop(r, "no value is valid, or none that ends");
}
