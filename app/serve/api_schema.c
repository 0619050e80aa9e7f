/* api_schema.c - what an answer, or a call of a client's tools, is held to: schemas for the engine's grammars. */
#include "app/schema.h"
#include "app/serve/api.h"

enum { LOOSE_DEPTH = 2, ANSWER_DEPTH = 3 };

/* How many of a definition that refers to itself may be inside each other: as many of these as leave room for others in
 * a grammar (TOOL_SCHEMA_LIMITS), and one at least. */
static const int insides[] = {8, 5, 3, 2, 1};
enum { RECURSIVE_STATES = 2000, RECURSIVE_NODES = 16384 };

/* Whether a schema that was written out so may be used: one that is refused whatever its size is, too, to be refused
 * where its words are known. */
static bool has_room(const json_t *made)
{
    const struct grammar_limits limits = {.states = RECURSIVE_STATES, .nodes = RECURSIVE_NODES, .depth = GRAMMAR_DEPTH};
    struct buf text = {0};
    struct err err = {0};
    api_put_json(made, JSON_COMPACT, &text);
    const long states = text.failed ? GRAMMAR_NO_MEMORY : grammar_states_about(text.data, text.len, &limits, &err);
    buf_free(&text);
    return states == GRAMMAR_REFUSED || (states >= 0 && states <= RECURSIVE_STATES);
}

/* schema is taken. */
static int keep(struct buf *to, json_t *schema, const char *param, struct api_error *e)
{
    if (schema) api_put_json(schema, JSON_COMPACT, to);
    const bool bad = !schema || to->failed;
    json_decref(schema);
    return bad ? api_fail(e, 500, "no_memory", param, "no memory for a schema") : 0;
}

/* What was kept of calls becomes: one of these, or the answer. */
static int add_answer(struct buf *calls, const json_t *answer, struct api_error *e)
{
    json_t *was = calls->len > 0 ? json_loadb(calls->data, calls->len, 0, NULL) : NULL;
    if (calls->len == 0) return 0;
    calls->len = 0;
    return keep(calls, was ? json_pack("{s:[o, O]}", "anyOf", was, answer) : NULL, "response_format", e);
}

/* The same with less in it, unless that says the same. */
static int keep_coarse(struct api_ask *a, json_t *less, struct api_error *e)
{
    if (keep(&a->coarse, less, "response_format", e)) return -1;
    if (a->coarse.len == a->schema.len && memcmp(a->coarse.data, a->schema.data, a->schema.len) == 0) a->coarse.len = 0;
    return 0;
}

static json_t *answer_of(const json_t *schema, enum leaves leaves, const char **why)
{
    if (!schema)
        return json_pack("{s:s, s:o}", "type", "object", "additionalProperties", schema_any_value(ANSWER_DEPTH));
    for (size_t i = 0;; i++) {
        struct resolving r = {.root = schema, .leaves = leaves, .inside = insides[i]};
        json_t *made = schema_resolve(&r, schema);
        *why = r.why ? r.why : "no memory for it";
        if (i + 1 == COUNT_OF(insides) || (made && (!r.recursive || has_room(made)))) return made;
        json_decref(made);
    }
}

/* A call, or the answer. */
static int keep_either(struct api_ask *a, json_t *answer, json_t *less, struct api_error *e)
{
    if (a->schema.len == 0) buf_put(&a->schema, a->looser.data, a->looser.len); /* no grammar can say its parameters */
    if (a->coarse.len == 0) buf_put(&a->coarse, a->schema.data, a->schema.len);
    return add_answer(&a->schema, answer, e) || add_answer(&a->coarse, less, e) || add_answer(&a->looser, less, e);
}

int api_schema_of_answer(struct api_ask *a, const json_t *schema, bool strict, struct api_error *e)
{
    const char *why;
    json_t *made = answer_of(schema, strict ? LEAVES_NOTHING : LEAVES_UNHELD, &why);
    json_t *less = made && !strict ? answer_of(schema, LEAVES_UNKNOWN, &why) : json_incref(made);
    if (!made || !less) {
        json_decref(made);
        return api_fail(e, 400, "invalid_value", "response_format", "the schema cannot be used: %s", why);
    }
    a->whole = true;
    a->exact = strict;
    a->either = a->tools != NULL;
    int bad = a->either ? keep_either(a, made, less, e) : keep(&a->schema, json_incref(made), "response_format", e);
    if (!bad && !a->either && !strict) bad = keep_coarse(a, json_incref(less), e);
    json_decref(made);
    json_decref(less);
    return bad ? -1 : 0;
}

/* {"name": NAME, "arguments": {...}} */
static json_t *call_of(const json_t *tool, enum leaves leaves, int inside, struct resolving *r)
{
    const json_t *f = json_object_get(tool, "function"), *parameters = json_object_get(f, "parameters");
    const bool strict = json_is_true(json_object_get(f, "strict"));
    *r = (struct resolving){.root = parameters, .leaves = strict ? LEAVES_NOTHING : leaves,
                            .inside = inside};
    json_t *arguments = json_object_size(parameters) > 0 ? schema_resolve(r, parameters)
                                                         : json_pack("{s:s, s:{}}", "type", "object", "properties");
    if (!arguments) return NULL;
    return json_pack("{s:s, s:[s,s], s:{s:{s:O}, s:o}}", "type", "object", "required", "name", "arguments",
                     "properties", "name", "const", json_object_get(f, "name"), "arguments", arguments);
}

/* NULL: e says why. */
static json_t *calls_inside(const struct api_ask *a, enum leaves leaves, int inside, bool *recursive,
                            struct api_error *e)
{
    json_t *one_of = json_array(), *t;
    struct resolving r = {0};
    size_t i;
    *recursive = false;
    json_array_foreach(a->tools, i, t) {
        const char *name = json_string_value(json_object_get(json_object_get(t, "function"), "name"));
        if (!api_may_call(a, name)) continue;
        json_t *made = call_of(t, leaves, inside, &r);
        *recursive |= r.recursive;
        if (made && json_array_append_new(one_of, made) == 0) continue;
        json_decref(one_of);
        api_fail(e, 400, "invalid_value", "tools", "the parameters of %.64s cannot be used: %s", name,
                 r.why ? r.why : "no memory for them");
        return NULL;
    }
    return json_pack("{s:o}", "oneOf", one_of);
}

static json_t *calls_of(const struct api_ask *a, enum leaves leaves, struct api_error *e)
{
    for (size_t i = 0;; i++) {
        bool recursive;
        *e = (struct api_error){0};
        json_t *made = calls_inside(a, leaves, insides[i], &recursive, e);
        if (i + 1 == COUNT_OF(insides) || (made && (!recursive || has_room(made)))) return made;
        json_decref(made);
    }
}

/* One of the tools, with any arguments. */
static json_t *loose_calls(const struct api_ask *a)
{
    json_t *names = json_array();
    const json_t *t;
    size_t i;
    json_array_foreach(a->tools, i, t) {
        json_t *name = json_object_get(json_object_get(t, "function"), "name");
        if (api_may_call(a, json_string_value(name))) json_array_append(names, name);
    }
    return json_pack("{s:s, s:[s,s], s:{s:{s:o}, s:{s:s, s:o}}}", "type", "object", "required", "name", "arguments",
                     "properties", "name", "enum", names, "arguments", "type", "object", "additionalProperties",
                     schema_any_value(LOOSE_DEPTH));
}

int api_schema_of_calls(struct api_ask *a, struct api_error *e)
{
    a->whole = a->choice == API_REQUIRED;
    if (!a->strict && keep(&a->looser, loose_calls(a), "tools", e)) return -1;
    json_t *made = calls_of(a, LEAVES_UNHELD, e);
    if (made && keep(&a->schema, made, "tools", e)) return -1;
    if (made) return a->strict ? 0 : keep_coarse(a, calls_of(a, LEAVES_FINER, e), e);
    if (a->strict) return -1;
    *e = (struct api_error){0};
    const bool named = a->whole || a->allowed; /* held to the names alone, else to nothing */
    return named ? keep(&a->schema, loose_calls(a), "tools", e) : 0;
}
