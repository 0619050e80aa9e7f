/* api_tags.c - tools and calls of clients for models that write calls in tags (memory/forms.h), and which kinds of JSON
 * a tool's schema allows its parameters, since tags do not say. */
#include "app/schema.h"
#include "app/serve/api.h"
#include "memory/forms_schema.h"

void api_tags_list(enum form_calls how, const json_t *tools, struct buf *out)
{
    struct buf list = {0};
    api_put_json(tools, JSON_COMPACT | JSON_REAL_PRECISION(15), &list);
    out->failed |= list.failed;
    if (!list.failed) forms_tags_list(how, (struct form_text){list.data, list.len}, out);
    buf_free(&list);
}

void api_tags_call(const char *name, struct form_text arguments, struct buf *out)
{
    struct buf words = {0}; /* both, NUL-terminated */
    buf_put(&words, name, strlen(name) + 1);
    buf_put(&words, arguments.text, arguments.len);
    out->failed |= words.failed;
    if (!words.failed) forms_tags_call(&(struct form_call){words.data, words.data + strlen(name) + 1}, out);
    buf_free(&words);
}

unsigned api_types_of(const json_t *schema, const json_t *root)
{
    return forms_schema_types(schema, root, schema_look_up);
}
