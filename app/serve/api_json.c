/* api_json.c - what the readers of requests ask of JSON. */
#include "app/serve/api.h"

bool api_is_given(const json_t *v) { return v && !json_is_null(v); }

const char *api_text_of(const json_t *v)
{
    const char *text = json_string_value(v);
    return text && strlen(text) == json_string_length(v) ? text : NULL;
}

const char *api_text_in(const json_t *o, const char *key)
{
    const char *text = api_text_of(json_object_get(o, key));
    return text ? text : "";
}

int api_read_bool(const json_t *o, const char *name, bool *out, struct api_error *e)
{
    const json_t *v = json_object_get(o, name);
    if (!api_is_given(v)) return 0;
    if (!json_is_boolean(v)) return api_fail(e, 400, "invalid_type", name, "%s is to be true or false", name);
    *out = json_is_true(v);
    return 0;
}

json_t *api_read_object(const char *body, size_t n, struct api_error *e)
{
    json_error_t why;
    json_t *v = json_loadb(body, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (json_is_object(v)) return v;
    if (v) api_fail(e, 400, "invalid_json", NULL, "the body is to be a JSON object");
    else api_fail(e, 400, "invalid_json", NULL, "the body is no JSON: %.160s (line %d, column %d)", why.text, why.line,
                  why.column);
    json_decref(v);
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && strncmp(at, word, n) == 0) return true;
    return false;
}

int api_check_keys(const json_t *o, const char *common, const char *known, bool off, const char *where,
                   struct api_error *e)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v) {
        char at[96];
        if (!api_is_given(v) || (off && json_is_false(v)) || has_word(common, key) || has_word(known, key)) continue;
        snprintf(at, sizeof at, "%.54s%s%.40s", where, *where ? "." : "", key);
        return api_fail(e, 400, "unknown_parameter", at, "%s is not known here; without it the request can be served",
                        at);
    }
    return 0;
}
