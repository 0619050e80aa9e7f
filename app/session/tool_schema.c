/* tool_schema.c - see tool_schema.h.  Names come from the program's own list, and need no escapes. */
#include "app/session/tool_schema.h"
#include "memory/forms.h"

static void put_arguments(const struct form_tool *t, struct buf *out)
{
    const char *comma = "";
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

static void put_tool(const struct form_tool *t, struct buf *out)
{
    buf_printf(out, "{\"type\":\"object\",\"required\":[\"name\",\"arguments\"],\"properties\":"
                    "{\"name\":{\"const\":\"%s\"},\"arguments\":", t->name);
    put_arguments(t, out);
    buf_puts(out, "},\"additionalProperties\":false}");
}

int tool_schema(const char *const *names, int n, struct buf *out, struct err *err)
{
    if (n < 1) return err_set(err, -1, "no tools: there is no call to describe");
    for (int i = 0; i < n; i++) {
        if (!forms_tool(names[i])) return err_set(err, -1, "there is no tool named %.60s", names[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0) return err_set(err, -1, "the tool %.60s is named twice", names[i]);
    }
    buf_puts(out, "{\"oneOf\":[");
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(out, ",");
        put_tool(forms_tool(names[i]), out);
    }
    buf_puts(out, "]}");
    return 0;
}
