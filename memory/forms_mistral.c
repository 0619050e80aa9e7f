/* forms_mistral.c - tools, calls and results as models of Mistral's were trained on them: JSON with a blank behind each
 * colon and comma.  The tokens around it are the template's. */
#include "memory/forms.h"
#include "memory/forms_impl.h"
#include "memory/forms_schema.h"

static int dump_some(const char *bytes, size_t n, void *out)
{
    buf_put(out, bytes, n);
    return ((struct buf *)out)->failed ? -1 : 0;
}

void form_json_spaced_value(const json_t *v, struct buf *out)
{
    const size_t flags = JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY; /* digits as form_json_compact() */
    if (json_dump_callback(v, dump_some, out, flags)) out->failed = true;
}

/* ------------------------------------------------------------------ what the program says */

static void put_properties(const struct form_tool *t, struct buf *out)
{
    const char *comma = "";
    if (t->outside) {
        form_json_spaced_value(forms_tool_schema(t), out);
        return;
    }
    buf_puts(out, "{\"type\": \"object\", \"properties\": {");
    for (int i = 0; i < t->n_args; i++)
        buf_printf(out, "%s\"%s\": {\"type\": \"%s\"}", i ? ", " : "", t->arg[i].name,
                   t->arg[i].is_int ? "integer" : "string");
    buf_puts(out, "}, \"required\": [");
    for (int i = 0; i < t->n_args; i++) {
        if (t->arg[i].optional) continue;
        buf_printf(out, "%s\"%s\"", comma, t->arg[i].name);
        comma = ", ";
    }
    buf_puts(out, "]}");
}

int forms_mistral_tools(const char *const *names, int n, struct buf *out, struct err *err)
{
    for (int i = 0; i < n; i++)
        if (!forms_tool(names[i])) return err_set(err, -1, "no tool \"%s\"", form_quote(names[i]).s);
    buf_puts(out, "[");
    for (int i = 0; i < n; i++) {
        const struct form_tool *t = forms_tool(names[i]);
        buf_puts(out, i ? ", " : "");
        buf_puts(out, "{\"type\": \"function\", \"function\": {\"name\": ");
        form_json_string(form_text(t->name), out);
        buf_puts(out, ", \"description\": ");
        form_json_string(form_text(t->about), out);
        buf_puts(out, ", \"parameters\": ");
        put_properties(t, out);
        buf_puts(out, "}}");
    }
    buf_puts(out, "]");
    return 0;
}

void form_json_spaced(const char *json, struct buf *out)
{
    json_t *v = json_loads(json, 0, NULL);
    if (v) form_json_spaced_value(v, out);
    else out->failed = true; /* it was read before: no memory */
    json_decref(v);
}

void forms_mistral_call(const struct form_call *c, const char *id, struct buf *out)
{
    buf_puts(out, "[{\"name\": ");
    form_json_string(form_text(c->name), out);
    buf_puts(out, ", \"arguments\": ");
    form_json_spaced(c->arguments, out);
    buf_printf(out, ", \"id\": \"%s\"}]", id);
}

void forms_mistral_result(struct form_text text, const char *id, struct buf *out)
{
    buf_puts(out, "{\"content\": ");
    form_json_string(text, out);
    buf_printf(out, ", \"call_id\": \"%s\"}", id);
}

/* ------------------------------------------------------------------ what the model says */

static const char mark[] = "[TOOL_CALLS]"; /* of a vocabulary in which it is plain text */

bool form_begins_mistral(struct form_text t) { return t.len > 0 && *t.text == '['; }

/* What is a list, or NULL. */
static json_t *read_list(struct form_text t)
{
    if (t.len >= sizeof mark - 1 && memcmp(t.text, mark, sizeof mark - 1) == 0)
        t = (struct form_text){t.text + sizeof mark - 1, t.len - sizeof mark + 1};
    return json_loadb(t.text, t.len, JSON_REJECT_DUPLICATES, NULL);
}

static int take_call(json_t *call, struct form_call *out, struct err *err)
{
    json_t *id = json_object_get(call, "id");
    if (json_is_string(id)) json_object_del(call, "id");
    return form_take_call(call, "arguments", out, err);
}

/* The first of a list: a tool that there is, or the list is an answer. */
static int take_first(const json_t *list, struct form_call *out, struct err *err)
{
    struct err why = {0};
    json_t *call = json_is_array(list) ? json_array_get(list, 0) : NULL;
    int rc = call ? take_call(call, out, &why) : FORMS_OTHER;
    if (rc == FORMS_NO_MEMORY) return err_set(err, rc, "%s", why.text);
    if (rc == 0 && forms_tool(out->name)) return 0;
    forms_call_free(out);
    return err_set(err, FORMS_OTHER, "no call of a tool");
}

int form_read_mistral(struct form_text t, struct form_call *out, struct err *err)
{
    json_t *list = read_list(t);
    int rc = take_first(list, out, err);
    json_decref(list);
    return rc;
}

int form_list_mistral(struct form_text t, struct form_calls_said *l, struct err *err)
{
    struct form_call call = {0};
    json_t *list = form_begins_mistral(t) ? read_list(t) : NULL;
    int rc = take_first(list, &call, err);
    if (rc == 0) rc = form_calls_add(l, &call, 0, 0, err);
    for (size_t i = 1; rc == 0 && i < json_array_size(list); i++) {
        rc = take_call(json_array_get(list, i), &call, err);
        if (rc == 0) rc = form_calls_add(l, &call, 0, 0, err);
        else if (rc == FORMS_BAD) rc = 0;
    }
    json_decref(list);
    return rc;
}
