/* api_format.c - what form an answer is to have: response_format as OpenAI has it, and vLLM's structured_outputs (json,
 * json_object, choice, regex) with the names that these had before, guided_json and so on. */
#include "app/serve/api.h"

static const char format_key[] = "response_format", outputs_key[] = "structured_outputs";

/* The parts that are held here, and each one's older name. */
enum { AS_JSON, AS_OBJECT, AS_CHOICE, AS_REGEX, WAYS };
static const struct { const char *name, *older; } parts[WAYS] = {
    {"json", "guided_json"}, {"json_object", NULL}, {"choice", "guided_choice"}, {"regex", "guided_regex"}};

static int read_older(const struct api_ask *a, json_t *to[WAYS], struct api_error *e)
{
    for (int i = 0; i < WAYS; i++) {
        json_t *v = parts[i].older ? json_object_get(a->root, parts[i].older) : NULL;
        if (!api_is_given(v)) continue;
        if (to[i]) return api_fail(e, 400, "invalid_value", parts[i].older, "%s is %s.%s, which is given too",
                                   parts[i].older, outputs_key, parts[i].name);
        to[i] = v;
    }
    return 0;
}

/* What is asked for of each part, NULL where nothing is. */
static int read_parts(const struct api_ask *a, json_t *to[WAYS], struct api_error *e)
{
    json_t *o = json_object_get(a->root, outputs_key);
    memset(to, 0, WAYS * sizeof *to);
    if (api_is_given(o)) {
        if (!json_is_object(o))
            return api_fail(e, 400, "invalid_type", outputs_key, "%s is to be an object", outputs_key);
        if (api_check_keys(o, "json json_object choice regex", "disable_any_whitespace disable_fallback", false,
                           outputs_key, e))
            return -1;
        for (int i = 0; i < WAYS; i++) {
            json_t *v = json_object_get(o, parts[i].name);
            if (api_is_given(v) && !json_is_false(v)) to[i] = v;
        }
    }
    return read_older(a, to, e);
}

bool api_wants_form(const json_t *root)
{
    const json_t *f = json_object_get(root, format_key), *o = json_object_get(root, outputs_key);
    if (api_is_given(f) && strcmp(api_text_in(f, "type"), "text") != 0) return true;
    return json_object_size(o) > 0 || api_is_given(json_object_get(root, "guided_json")) ||
           api_is_given(json_object_get(root, "guided_choice")) || api_is_given(json_object_get(root, "guided_regex"));
}

/* An answer that is a call has no other form; one that may be is either. */
static bool is_call(const struct api_ask *a) { return a->tools && a->choice >= API_REQUIRED; }

static int read_format(struct api_ask *a, const json_t *f, struct api_error *e)
{
    const char *name = api_text_in(f, "type");
    const bool object = strcmp(name, "json_object") == 0;
    if (!object && strcmp(name, "json_schema") != 0)
        return api_fail(e, 400, "unsupported_value", format_key, "response_format: type \"%.40s\" is not known "
                        "here; \"text\", \"json_object\" and \"json_schema\" are", name);
    const json_t *given = json_object_get(f, "json_schema"), *schema = json_object_get(given, "schema");
    if (!object && !json_is_object(schema))
        return api_fail(e, 400, "invalid_value", format_key, "response_format.json_schema.schema is to be an object");
    if (is_call(a)) return 0;
    return api_schema_of_answer(a, object ? NULL : schema, json_is_true(json_object_get(given, "strict")), e);
}

/* An object, or one as a text. */
static int read_schema(struct api_ask *a, const json_t *v, const char *where, struct api_error *e)
{
    json_t *parsed = json_is_string(v) ? json_loads(json_string_value(v), JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *schema = json_is_string(v) ? parsed : v;
    int rc = 0;
    if (!json_is_object(schema)) rc = api_fail(e, 400, "invalid_value", where, "%s is to be a JSON Schema", where);
    else if (!is_call(a)) rc = api_schema_of_answer(a, schema, false, e);
    if (rc) snprintf(e->param, sizeof e->param, "%s", where);
    json_decref(parsed);
    return rc;
}

/* Texts to choose from, or a pattern. */
static int read_plain(struct api_ask *a, const json_t *v, bool choice, const char *where, struct api_error *e)
{
    const json_t *one;
    size_t i;
    if (choice ? !json_is_array(v) || json_array_size(v) == 0 : json_string_length(v) == 0)
        return api_fail(e, 400, "invalid_value", where, "%s is to be %s", where,
                        choice ? "a list of texts" : "a regular expression");
    if (choice)
        json_array_foreach(v, i, one)
            if (json_string_length(one) == 0)
                return api_fail(e, 400, "invalid_value", where, "%s[%zu] is to be a text, and no empty one", where, i);
    if (is_call(a)) return 0;
    if (a->tools)
        return api_fail(e, 400, "invalid_value", where, "%s leaves no place for a call: leave tools out, or say "
                        "tool_choice \"none\"", where);
    api_put_json(v, JSON_COMPACT | JSON_ENCODE_ANY, &a->schema);
    if (a->schema.failed) return api_fail(e, 500, "no_memory", where, "no memory for %s", where);
    a->whole = a->texts_form = true;
    return 0;
}

int api_read_format(struct api_ask *a, struct api_error *e)
{
    json_t *given[WAYS];
    const json_t *f = json_object_get(a->root, format_key);
    const bool format = api_is_given(f) && strcmp(api_text_in(f, "type"), "text") != 0;
    int which = -1;
    a->form = format_key;
    if (read_parts(a, given, e)) return -1;
    for (int i = 0; i < WAYS; i++) {
        if (!given[i]) continue;
        if (format || which >= 0)
            return api_fail(e, 400, "invalid_value", outputs_key, "an answer has one form: of response_format and of "
                            "json, json_object, choice and regex in structured_outputs one alone can be given");
        which = i;
    }
    if (format) return read_format(a, f, e);
    if (which < 0) return 0;
    const bool older = parts[which].older && given[which] == json_object_get(a->root, parts[which].older);
    char where[48];
    snprintf(where, sizeof where, "%s%s%s", older ? parts[which].older : outputs_key, older ? "" : ".",
             older ? "" : parts[which].name);
    a->form = older ? parts[which].older : outputs_key;
    if (which == AS_JSON) return read_schema(a, given[which], where, e);
    if (which != AS_OBJECT) return read_plain(a, given[which], which == AS_CHOICE, where, e);
    if (!json_is_true(given[which])) return api_fail(e, 400, "invalid_type", where, "%s is to be true or false", where);
    return is_call(a) ? 0 : api_schema_of_answer(a, NULL, false, e);
}
