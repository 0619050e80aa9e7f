/* tool_schema.c - see tool_schema.h.  Names are of letters, digits, _ and -, and need no escapes. */
#include "app/session/tool_schema.h"
#include "app/schema.h"
#include "engine/grammar.h"
#include "memory/forms_schema.h"

/* What a server's tool takes is held to as far as a grammar can say it, or (loose) is any object. */
enum { ANY_DEPTH = 2, INSIDE = 2 };

static void put_outside(const struct form_tool *t, bool loose, struct buf *out)
{
    const json_t *schema = forms_tool_schema(t);
    struct resolving r = {.root = schema, .leaves = LEAVES_UNHELD, .inside = INSIDE};
    json_t *made = loose ? NULL : schema_resolve(&r, schema);
    if (!made) made = json_pack("{s:s, s:o}", "type", "object", "additionalProperties", schema_any_value(ANY_DEPTH));
    char *text = made ? json_dumps(made, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    json_decref(made);
    free(text);
}

static void put_arguments(const struct form_tool *t, bool loose, struct buf *out)
{
    const char *comma = "";
    if (t->outside) {
        put_outside(t, loose, out);
        return;
    }
    buf_puts(out, "{\"type\":\"object\",\"required\":[");
    for (int i = 0; i < t->n_args; i++) {
        if (t->arg[i].optional) continue;
        buf_printf(out, "%s\"%s\"", comma, t->arg[i].name);
        comma = ",";
    }
    buf_puts(out, "],\"properties\":{");
    for (int i = 0; i < t->n_args; i++)
        buf_printf(out, "%s\"%s\":{\"type\":\"%s\"}", i ? "," : "", t->arg[i].name,
                   t->arg[i].is_int ? "integer" : "string");
    buf_puts(out, "},\"additionalProperties\":false}");
}

static void put_tool(const struct form_tool *t, bool loose, struct buf *out)
{
    buf_printf(out, "{\"type\":\"object\",\"required\":[\"name\",\"arguments\"],\"properties\":"
                    "{\"name\":{\"const\":\"%s\"},\"arguments\":", t->name);
    put_arguments(t, loose, out);
    buf_puts(out, "},\"additionalProperties\":false}");
}

static void put_tools(const char *const *names, int n, bool loose, struct buf *out)
{
    buf_puts(out, "{\"oneOf\":[");
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(out, ",");
        put_tool(forms_tool(names[i]), loose, out);
    }
    buf_puts(out, "]}");
}

/* Whether a grammar knows it all, and has room for it. */
static bool fits(const char *schema, size_t n)
{
    const struct grammar_limits limits = TOOL_SCHEMA_LIMITS;
    const long states = grammar_states_about(schema, n, &limits, NULL);
    return states >= 0 && states <= limits.states - limits.states / 8;
}

int tool_schema(const char *const *names, int n, struct buf *out, struct err *err)
{
    if (n < 1) return err_set(err, -1, "no tools: there is no call to describe");
    for (int i = 0; i < n; i++) {
        if (!forms_tool(names[i])) return err_set(err, -1, "there is no tool named %.60s", names[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0) return err_set(err, -1, "the tool %.60s is named twice", names[i]);
    }
    const size_t was = out->len;
    bool outside = false;
    for (int i = 0; i < n; i++) outside |= forms_tool(names[i])->outside;
    put_tools(names, n, false, out);
    if (outside && !out->failed && !fits(out->data + was, out->len - was)) {
        out->data[out->len = was] = '\0';
        put_tools(names, n, true, out);
    }
    return 0;
}
