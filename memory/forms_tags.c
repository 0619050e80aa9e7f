/* forms_tags.c - tools and calls as Qwen 3.5 and Qwen3-Coder were trained on them: see forms.h.
 *
 * A call in tags is written as the JSON of ours, and that is read: so all that is no text (no UTF-8, a NUL), a key that
 * comes twice and JSON that is too deep are refused in one place, where they are of other calls. */
#include "memory/forms.h"
#include "memory/forms_impl.h"
#include "memory/forms_schema.h"

static const char call_open[] = "<tool_call>", call_close[] = "</tool_call>";
static const char function_open[] = "<function=", function_close[] = "</function>";
static const char parameter_open[] = "<parameter=", parameter_close[] = "</parameter>";

/* ------------------------------------------------------------------ words */

/* NAME> on one line; t behind it. */
static bool skip_name(struct form_text *t, struct form_text *name)
{
    size_t n = 0;
    while (n < t->len && (unsigned char)t->text[n] >= ' ' && t->text[n] != 0x7f && t->text[n] != '<' &&
           t->text[n] != '>')
        n++;
    if (n == t->len || t->text[n] != '>') return false;
    *name = form_trim((struct form_text){t->text, n});
    *t = form_from(*t, n + 1);
    return name->len > 0;
}

/* ------------------------------------------------------------------ values */

/* Whether the value's text ends here, at a '<'; *rest: what is to be read on.  *closed: its end was not forgotten. */
static bool ends_value(struct form_text here, bool line, bool *closed, struct form_text *rest)
{
    struct form_text name, behind = here;
    *rest = here;
    if (form_skip(&behind, parameter_close)) {
        *closed = true;
        *rest = behind;
        behind = form_behind_blanks(behind);
        return form_begins(behind, parameter_open) || form_begins(behind, function_close) ||
               form_begins(behind, call_close);
    }
    if (*closed) return false;
    if (form_skip(&behind, parameter_open)) return line && skip_name(&behind, &name);
    if (!form_skip(&behind, function_close)) return false;
    behind = form_behind_blanks(behind);
    return form_begins(behind, call_close) || form_begins(behind, call_open);
}

/* Each byte is looked at a few times at most: blanks and names are before the next '<'. */
static int take_value(struct form_text *t, struct form_text *value, struct err *err)
{
    bool closed = false;
    for (size_t i = 0; i < t->len; i++) {
        const char *at = memchr(t->text + i, '<', t->len - i);
        struct form_text rest;
        if (!at) break;
        i = (size_t)(at - t->text);
        if (!ends_value(form_from(*t, i), i > 0 && at[-1] == '\n', &closed, &rest)) continue;
        *value = (struct form_text){t->text, i};
        *t = rest;
        if (value->len > 0 && *value->text == '\n') *value = form_from(*value, 1);
        if (value->len > 0 && value->text[value->len - 1] == '\n') value->len--;
        return 0;
    }
    return err_set(err, FORMS_BAD, "a parameter of the call does not end");
}

static unsigned kind_of(const json_t *v)
{
    if (!v) return 0;
    switch (json_typeof(v)) {
    case JSON_INTEGER: return FORM_INTEGER | FORM_NUMBER;
    case JSON_REAL: return FORM_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE: return FORM_BOOLEAN;
    case JSON_NULL: return FORM_NULL;
    case JSON_ARRAY: return FORM_ARRAY;
    case JSON_OBJECT: return FORM_OBJECT;
    case JSON_STRING: break; /* a text is one as it stands, with its quotes */
    }
    return 0;
}

static const char *const python[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};

static void put_value(struct form_text value, unsigned types, struct buf *out)
{
    struct form_text t = value;
    for (size_t i = 0; i < COUNT_OF(python); i++) {
        struct form_text rest = value;
        if (form_skip(&rest, python[i][0]) && form_behind_blanks(rest).len == 0) t = form_text(python[i][1]);
    }
    const bool typed = (types & ~(unsigned)FORM_STRING) != 0 && t.len > 0;
    json_t *v = NULL;
    for (int i = 0; typed && !v && i < 2; i++) /* jansson says the same without memory, which may come back */
        v = json_loadb(t.text, t.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (kind_of(v) & types) buf_put(out, t.text, t.len);
    else form_json_string(value, out);
    json_decref(v);
}

/* ------------------------------------------------------------------ reading */

static char *copy(struct form_text t)
{
    char *s = malloc(t.len + 1);
    if (!s) return NULL;
    memcpy(s, t.text, t.len);
    s[t.len] = '\0';
    return s;
}

static int put_parameter(struct form_text *t, const char *tool, const struct form_types *types, struct buf *out,
                         struct err *err)
{
    struct form_text name, value = {0};
    if (!form_skip(t, parameter_open)) return err_set(err, FORMS_BAD, "the call has something between its parameters");
    if (!skip_name(t, &name)) return err_set(err, FORMS_BAD, "a parameter of the call has no name");
    if (take_value(t, &value, err)) return FORMS_BAD;
    char *key = copy(name);
    if (!key) return err_set(err, FORMS_NO_MEMORY, "no memory");
    form_json_string(name, out);
    buf_puts(out, ":");
    put_value(value, types->of(types->self, tool, key), out);
    free(key);
    return 0;
}

/* From <function= to the end of its parameters, as {"name":...,"arguments":{...}}. */
static int put_function(struct form_text *t, const struct form_types *types, struct buf *out, struct err *err)
{
    struct form_text name;
    int rc = 0;
    if (!skip_name(t, &name)) return err_set(err, FORMS_BAD, "the call names no tool");
    char *tool = copy(name);
    if (!tool) return err_set(err, FORMS_NO_MEMORY, "no memory");
    buf_puts(out, "{\"name\":");
    form_json_string(name, out);
    buf_puts(out, ",\"arguments\":{");
    for (int n = 0; rc == 0 && !form_skip(t, function_close) && !form_begins(form_behind_blanks(*t), call_close); n++) {
        buf_puts(out, n ? "," : "");
        rc = put_parameter(t, tool, types, out, err);
    }
    buf_puts(out, "}}");
    free(tool);
    return rc;
}

bool forms_begins_tags(struct form_text t)
{
    form_skip(&t, call_open);
    return form_begins(form_behind_blanks(t), function_open);
}

bool forms_begins_marked(struct form_text t) { return form_skip(&t, call_open); }

int forms_read_tags(struct form_text *t, const struct form_types *types, struct form_call *out, struct err *err)
{
    struct form_text rest = *t;
    struct buf json = {0};
    json_error_t e = {0};
    *out = (struct form_call){0};
    form_skip(&rest, call_open);
    if (!form_skip(&rest, function_open)) return err_set(err, FORMS_BAD, "no call in tags");
    int rc = put_function(&rest, types, &json, err);
    if (rc == 0 && json.failed) rc = err_set(err, FORMS_NO_MEMORY, "no memory");
    json_t *root = rc == 0 ? json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, &e) : NULL;
    if (rc == 0 && root) rc = form_take_call(root, "arguments", out, err);
    else if (rc == 0 && !*e.text) rc = err_set(err, FORMS_NO_MEMORY, "no memory");
    else if (rc == 0) rc = err_set(err, FORMS_BAD, "the call's parameters: %s", form_quote(e.text).s);
    json_decref(root);
    buf_free(&json);
    if (rc) return rc;
    form_skip(&rest, call_close); /* or it was forgotten */
    *t = rest;
    return 0;
}

static unsigned type_of_ours(void *self, const char *tool, const char *key)
{
    const struct form_tool *t = forms_tool(tool);
    (void)self;
    if (t && t->outside)
        return forms_schema_types(json_object_get(json_object_get(forms_tool_schema(t), "properties"), key), NULL,
                                  NULL);
    for (int i = 0; t && i < t->n_args; i++)
        if (strcmp(t->arg[i].name, key) == 0) return t->arg[i].is_int ? FORM_INTEGER : FORM_STRING;
    return 0;
}

/* It ends within this word. */
static bool may_become(struct form_text t, const char *word)
{
    return t.len < strlen(word) && memcmp(t.text, word, t.len) == 0;
}

/* Whether a call begins here, at a '<'; goes_on: or may, with more text. */
static bool is_call(struct form_text here, bool line, bool goes_on)
{
    struct form_text rest = here;
    if (!form_skip(&rest, call_open)) {
        const bool begun = line && form_begins(here, function_open);
        return begun || (goes_on && (may_become(here, call_open) || (line && may_become(here, function_open))));
    }
    rest = form_behind_blanks(rest);
    return form_begins(rest, function_open) || form_begins(rest, "{") || (goes_on && may_become(rest, function_open));
}

/* Where a call in tags or in our form begins, at or behind `at`.  t.len: nowhere. */
static size_t find_call(struct form_text t, size_t at, bool goes_on)
{
    for (; at < t.len; at++) {
        const char *mark = memchr(t.text + at, '<', t.len - at);
        if (!mark) break;
        at = (size_t)(mark - t.text);
        if (is_call(form_from(t, at), at == 0 || mark[-1] == '\n', goes_on)) return at;
    }
    return t.len;
}

size_t forms_tags_begin(const char *text, size_t at, size_t len)
{
    return find_call((struct form_text){text, len}, at, true);
}

/* rest: what stands behind the first call. */
static int find_tags(struct form_text t, struct form_text *rest, struct form_call *out, struct err *err)
{
    const struct form_types ours = {type_of_ours, NULL};
    *rest = t;
    if (!forms_begins_tags(t)) return err_set(err, FORMS_OTHER, "no call of a tool");
    const int rc = forms_read_tags(rest, &ours, out, err);
    const struct form_text more = form_behind_blanks(*rest);
    const bool tool = rc || forms_begins_marked(t) || forms_tool(out->name);
    if (rc || (tool && (more.len == 0 || form_begins(more, call_open) || form_begins(more, function_open)))) return rc;
    forms_call_free(out);
    if (!tool) return err_set(err, FORMS_OTHER, "no call of a tool");
    return err_set(err, FORMS_BAD, "text after the call");
}

int form_find_tags(const char *text, size_t len, bool any, struct form_call *out, struct err *err)
{
    const struct form_text t = {text, len};
    const size_t at = find_call(t, 0, false);
    struct form_text rest;
    if (any || at == len || forms_begins_tags(form_from(t, at))) return find_tags(form_from(t, at), &rest, out, err);
    return forms_read_call(text + at, len - at, out, err);
}

int form_list_tags(struct form_text t, struct form_calls_said *l, struct err *err)
{
    struct form_text rest;
    struct form_call call = {0};
    const struct form_types ours = {type_of_ours, NULL};
    int rc = find_tags(form_from(t, find_call(t, 0, false)), &rest, &call, NULL);
    if (rc) return rc == FORMS_NO_MEMORY ? err_set(err, rc, "no memory") : FORMS_OTHER;
    size_t begin = 0;
    do {
        rc = form_calls_add(l, &call, begin, t.len - rest.len, err);
        begin = t.len - rest.len;
    } while (rc == 0 && forms_begins_tags(rest) && forms_read_tags(&rest, &ours, &call, NULL) == 0);
    return rc;
}

size_t forms_tags_end(const char *text, size_t len)
{
    const struct form_text t = {text, len};
    struct form_text rest;
    struct form_call c;
    if (len > FORMS_READ_LIMIT || find_tags(form_from(t, find_call(t, 0, false)), &rest, &c, NULL)) return 0;
    forms_call_free(&c);
    return len - rest.len;
}
