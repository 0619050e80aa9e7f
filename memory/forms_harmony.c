/* forms_harmony.c - tools, calls and results as gpt-oss models were trained on them: tools are functions of TypeScript,
 * a call is a name and JSON with a blank behind each colon and comma, a result a JSON text.  What stands around them
 * ("# Tools", "functions.", the marks) is the template's; a name that the model made up stays one word. */
#include "memory/forms.h"
#include "memory/forms_impl.h"
#include "memory/forms_schema.h"

enum { NAME = 64 }; /* bytes of a tool's name that are told */

void forms_harmony_type(struct form_text name, struct form_text about, struct form_text arguments, struct buf *out)
{
    buf_puts(out, "// ");
    for (size_t i = 0; i < about.len; i++) {
        buf_put(out, about.text + i, 1);
        if (about.text[i] == '\n') buf_puts(out, "// ");
    }
    buf_puts(out, "\ntype ");
    buf_put(out, name.text, name.len);
    buf_puts(out, arguments.len > 0 ? " = (_: {\n" : " = (");
    buf_put(out, arguments.text, arguments.len);
    buf_puts(out, arguments.len > 0 ? "}) => any;\n\n" : ") => any;\n\n");
}

void forms_harmony_types(struct form_text types, struct buf *out)
{
    buf_puts(out, "## functions\n\nnamespace functions {\n\n");
    buf_put(out, types.text, types.len);
    buf_puts(out, "} // namespace functions");
}

int forms_harmony_tools(const char *const *names, int n, struct buf *out, struct err *err)
{
    struct buf types = {0}, arguments = {0};
    for (int i = 0; i < n; i++)
        if (!forms_tool(names[i])) return err_set(err, -1, "no tool \"%s\"", form_quote(names[i]).s);
    for (int i = 0; i < n; i++) {
        const struct form_tool *t = forms_tool(names[i]);
        arguments.len = 0;
        if (t->outside) forms_schema_fields(forms_tool_schema(t), &arguments);
        for (int k = 0; k < t->n_args; k++)
            buf_printf(&arguments, "%s%s: %s,\n", t->arg[k].name, t->arg[k].optional ? "?" : "",
                       t->arg[k].is_int ? "number" : "string");
        forms_harmony_type(form_text(t->name), form_text(t->about), form_text_of(&arguments), &types);
    }
    forms_harmony_types(form_text_of(&types), out);
    out->failed |= types.failed || arguments.failed;
    buf_free(&types);
    buf_free(&arguments);
    return 0;
}

size_t forms_harmony_name(struct form_text name, struct buf *out)
{
    const size_t n = MIN(name.len, (size_t)NAME);
    for (size_t i = 0; i < n; i++) {
        const char c = name.text[i];
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf_put(out, good || c == '-' || c == '.' ? &c : "_", 1);
    }
    buf_puts(out, n > 0 ? " " : "");
    return n;
}

size_t forms_harmony_call(const struct form_call *c, struct buf *out)
{
    const size_t n = forms_harmony_name(form_text(c->name), out);
    form_json_spaced(c->arguments, out);
    return n;
}

void forms_harmony_result(struct form_text text, struct buf *out) { form_json_string(text, out); }
