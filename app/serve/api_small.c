/* api_small.c - the bodies of requests that ask for no answer of the model: /api/show, /tokenize, /detokenize. */
#include "app/serve/api.h"

int api_read_show(const char *body, size_t n, const struct api_model *m, struct api_error *e)
{
    json_t *root = api_read_object(body, n, e);
    if (!root) return -1;
    json_t *name = json_object_get(root, "model"); /* older clients call it name */
    if (!api_is_given(name)) name = json_object_get(root, "name");
    int bad = api_check_keys(root, "model name verbose", "system template options", true, "", e) ||
              (api_is_given(name) ? api_check_model(name, API_OLLAMA_CHAT, m, e)
                                  : api_fail(e, 400, "invalid_value", "model", "model is needed: its name"));
    json_decref(root);
    return bad ? -1 : 0;
}

/* {"tokens": [ids]}: no more than a request may hold, since a few bytes that name one may stand for a hundred. */
static int read_ids(struct api_tokens *t, const struct api_model *m, struct api_error *e)
{
    const int vocab = vocab_size(m->vocab);
    const json_t *v;
    size_t i;
    t->ids = json_object_get(t->root, "tokens");
    if (api_check_keys(t->root, "model", "tokens", false, "", e)) return -1;
    if (!json_is_array(t->ids))
        return api_fail(e, 400, "invalid_type", "tokens", "tokens is to be a list of token ids");
    if (json_array_size(t->ids) > (size_t)m->ctx)
        return api_fail(e, 400, "invalid_value", "tokens", "tokens: %zu of them; at most %d are taken at once",
                        json_array_size(t->ids), m->ctx);
    json_array_foreach(t->ids, i, v)
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= vocab)
            return api_fail(e, 400, "invalid_value", "tokens", "tokens[%zu] is no token id from 0 to %d", i, vocab - 1);
    return 0;
}

/* llama-server's {"content", "add_special", "parse_special"}, or vLLM's {"prompt", "add_special_tokens"}. */
static int read_text(struct api_tokens *t, struct api_error *e)
{
    const json_t *text = json_object_get(t->root, "content");
    t->special = true;
    t->counted = !text;
    t->bos = t->counted; /* what each of them does where nothing is said */
    if (t->counted) text = json_object_get(t->root, "prompt");
    if (!json_is_string(text))
        return api_fail(e, 400, "invalid_type", "content", "content is to be a text (or prompt, in vLLM's words)");
    if (api_check_keys(t->root, "model", t->counted ? "prompt add_special_tokens"
                                                    : "content add_special parse_special", false, "", e) ||
        api_read_bool(t->root, t->counted ? "add_special_tokens" : "add_special", &t->bos, e))
        return -1;
    t->text = json_string_value(text);
    t->n = json_string_length(text);
    return t->counted ? 0 : api_read_bool(t->root, "parse_special", &t->special, e);
}

int api_read_tokens(struct api_tokens *t, bool back, const char *body, size_t n, const struct api_model *m,
                    struct api_error *e)
{
    *t = (struct api_tokens){.root = api_read_object(body, n, e)};
    if (!t->root) return -1;
    const json_t *name = json_object_get(t->root, "model");
    if (api_is_given(name) && api_check_model(name, API_CHAT, m, e)) return -1;
    return back ? read_ids(t, m, e) : read_text(t, e);
}
