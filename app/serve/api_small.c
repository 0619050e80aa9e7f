/* api_small.c - the bodies of requests that ask for no answer of the model: /api/show. */
#include "app/serve/api.h"

int api_read_show(const char *body, size_t n, const struct api_model *m, struct api_error *e)
{
    json_t *root = api_read_object(body, n, e);
    if (!root) return -1;
    json_t *name = json_object_get(root, "model"); /* older clients call it name */
    if (!api_is_given(name)) name = json_object_get(root, "name");
    int bad = api_check_keys(root, "model name verbose", "system template options", true, "the request", e) ||
              (api_is_given(name) ? api_check_model(name, API_OLLAMA_CHAT, m, e)
                                  : api_fail(e, 400, "invalid_value", "model", "model is needed: its name"));
    json_decref(root);
    return bad ? -1 : 0;
}
