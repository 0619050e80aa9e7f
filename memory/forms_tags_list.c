/* forms_tags_list.c - what Qwen 3.5 and Qwen3-Coder are told of tools, and of the calls they made, as their own
 * templates have it: Qwen 3.5's tools are JSON, a line each, and Qwen3-Coder's are tags.  Templates are Python's, and
 * so are a value's True, False and None, and a list of types. */
#include "memory/forms.h"
#include "memory/forms_impl.h"

/* What models learned by heart is written as they learned it. */
static const char qwen35_head[] = "# Tools\n\nYou have access to the following functions:\n\n<tools>";
static const char coder_head[] = "# Tools\n\nYou have access to the following tools:\n\n<tools>";
static const char qwen35_rest[] =
    "\n</tools>\n\nIf you choose to call a function ONLY reply in the following format with NO suffix:\n\n<tool_call>\n"
    "<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n"
    "<parameter=example_parameter_2>\nThis is the value for the second parameter\nthat can span\nmultiple lines\n"
    "</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n"
    "- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within "
    "<tool_call></tool_call> XML tags\n";
static const char coder_rest[] =
    "\n</tools>\n\nIf you choose to call a tool ONLY reply in the following format with NO suffix:\n\n<tool_call>\n"
    "<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n"
    "<parameter=example_parameter_2>\nvalue_2\n</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n"
    "- Function calls MUST follow the specified format: the tool calling block MUST begin with an opening <tool_call> "
    "tag and end with a closing </tool_call> tag.\n";
static const char reminder[] =
    "- Required parameters MUST be specified\n"
    "- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT "
    "after\n"
    "- If there is no function call available, answer the question like normal with your current knowledge and do not "
    "tell the user about function calls\n</IMPORTANT>";

/* ------------------------------------------------------------------ values */

static void put_text(const json_t *s, struct buf *out) { buf_put(out, json_string_value(s), json_string_length(s)); }

static void put_value(const json_t *v, struct buf *out)
{
    if (json_is_string(v)) put_text(v, out);
    else if (json_is_boolean(v)) buf_puts(out, json_is_true(v) ? "True" : "False");
    else if (json_is_null(v)) buf_puts(out, "None");
    else form_json_spaced_value(v, out);
}

/* "string", or ['string', 'null'] */
static void put_type(const json_t *type, struct buf *out)
{
    const json_t *one;
    size_t i;
    if (!json_is_array(type)) {
        put_value(type, out);
        return;
    }
    buf_puts(out, "[");
    json_array_foreach(type, i, one) {
        buf_puts(out, i ? ", '" : "'");
        put_value(one, out);
        buf_puts(out, "'");
    }
    buf_puts(out, "]");
}

/* ------------------------------------------------------------------ tools as tags */

static void put_tag(const char *name, const char *close, struct buf *out)
{
    buf_puts(out, close);
    buf_puts(out, name);
    buf_puts(out, ">");
}

static void put_name(const char *name, struct buf *out)
{
    put_tag("name", "\n<", out);
    buf_puts(out, name);
    put_tag("name", "</", out);
}

static void put_about(const json_t *v, struct buf *out)
{
    const json_t *about = json_object_get(v, "description");
    if (!json_is_string(about)) return;
    const struct form_text text = form_trim((struct form_text){json_string_value(about), json_string_length(about)});
    put_tag("description", "\n<", out);
    buf_put(out, text.text, text.len);
    put_tag("description", "</", out);
}

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (; *words; words += strcspn(words, " "), words += *words == ' ')
        if (strcspn(words, " ") == n && strncmp(words, word, n) == 0) return true;
    return false;
}

/* What an object has beside these keys ("a b c"), a tag each. */
static void put_others(const json_t *object, const char *known, struct buf *out)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v) {
        if (has_word(known, key)) continue;
        put_tag(key, "\n<", out);
        put_value(v, out);
        put_tag(key, "</", out);
    }
}

static void put_parameters(const json_t *parameters, struct buf *out)
{
    const char *name;
    json_t *p;
    put_tag("parameters", "\n<", out);
    json_object_foreach(json_object_get(parameters, "properties"), name, p) {
        const json_t *type = json_object_get(p, "type");
        put_tag("parameter", "\n<", out);
        put_name(name, out);
        if (type) {
            put_tag("type", "\n<", out);
            put_type(type, out);
            put_tag("type", "</", out);
        }
        put_about(p, out);
        put_others(p, "name type description", out);
        put_tag("parameter", "\n</", out);
    }
    put_others(parameters, "type properties", out);
    put_tag("parameters", "\n</", out);
}

static void put_tool(const json_t *function, struct buf *out)
{
    const char *name = json_string_value(json_object_get(function, "name"));
    put_tag("function", "\n<", out);
    put_name(name ? name : "", out);
    put_about(function, out);
    put_parameters(json_object_get(function, "parameters"), out);
    put_others(function, "type name description parameters", out);
    put_tag("function", "\n</", out);
}

/* ------------------------------------------------------------------ lists */

void forms_tags_list(enum form_calls how, struct form_text tools, struct buf *out)
{
    const bool coder = how == FORM_CALLS_QWEN3_CODER;
    json_t *list = json_loadb(tools.text, tools.len, 0, NULL), *tool;
    size_t i;
    out->failed |= !list; /* it is ours, or was read before: no memory */
    buf_puts(out, coder ? coder_head : qwen35_head);
    json_array_foreach(list, i, tool) {
        if (coder) {
            put_tool(json_object_get(tool, "function"), out);
        } else {
            buf_puts(out, "\n");
            form_json_spaced_value(tool, out);
        }
    }
    buf_puts(out, coder ? coder_rest : qwen35_rest);
    buf_puts(out, reminder);
    json_decref(list);
}

int forms_tags_tools(enum form_calls how, const char *const *names, int n, struct buf *out, struct err *err)
{
    struct buf json = {0};
    const int rc = forms_mistral_tools(names, n, &json, err); /* as OpenAI's API has it */
    out->failed |= json.failed;
    if (rc == 0 && !json.failed) forms_tags_list(how, (struct form_text){json.data, json.len}, out);
    buf_free(&json);
    return rc;
}

/* ------------------------------------------------------------------ calls */

static void put_parameter(const char *key, const json_t *v, struct buf *out)
{
    buf_puts(out, "<parameter=");
    buf_puts(out, key);
    buf_puts(out, ">\n");
    put_value(v, out);
    buf_puts(out, "\n</parameter>\n");
}

void forms_tags_call(const struct form_call *c, struct buf *out)
{
    json_t *arguments = json_loads(c->arguments, JSON_ALLOW_NUL, NULL), *v;
    const char *key;
    buf_puts(out, "<tool_call>\n<function=");
    buf_puts(out, c->name);
    buf_puts(out, ">\n");
    json_object_foreach(arguments, key, v) put_parameter(key, v, out);
    if (!json_is_object(arguments)) buf_printf(out, "<parameter=arguments>\n%s\n</parameter>\n", c->arguments);
    buf_puts(out, "</function>\n</tool_call>");
    json_decref(arguments);
}
