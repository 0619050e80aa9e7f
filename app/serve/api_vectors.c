/* api_vectors.c - the bodies of requests for vectors of texts. */
#include "app/serve/api.h"

/* Ids would be those of the client's own tokenizer, and stand for other words here. */
static int refuse_ids(const char *where, struct api_error *e)
{
    return api_fail(e, 400, "unsupported_value", where, "%s is to be a text, or a list of texts: token ids would be "
                    "read by another vocabulary than the client's (LangChain: check_embedding_ctx_length=False)",
                    where);
}

/* Ollama takes an empty text that stands alone for no text. */
static int read_input(struct api_vectors *v, const char *name, struct api_error *e)
{
    const json_t *text;
    size_t i;
    v->input = json_object_get(v->root, name);
    v->n = json_is_array(v->input) ? (int)MIN(json_array_size(v->input), (size_t)API_INPUTS + 1) : 1;
    if (json_is_string(v->input)) {
        if (json_string_length(v->input) == 0 && v->kind != VECTORS_OPENAI) v->n = 0;
        return 0;
    }
    if (!json_is_array(v->input) || v->kind == VECTORS_ONE)
        return api_fail(e, 400, "invalid_type", name, "%s is to be a text%s", name,
                        v->kind == VECTORS_ONE ? "" : ", or a list of texts");
    if (v->n > API_INPUTS)
        return api_fail(e, 400, "invalid_value", name, "%s: %zu texts; at most %d are taken at once", name,
                        json_array_size(v->input), API_INPUTS);
    json_array_foreach(v->input, i, text)
        if (!json_is_string(text)) return refuse_ids(name, e);
    if (v->n > 0 || v->kind == VECTORS_EMBED) return 0;
    return api_fail(e, 400, "invalid_value", name, "%s: there is no text in it", name);
}

static int read_dimensions(struct api_vectors *v, int embd, struct api_error *e)
{
    static const char key[] = "dimensions";
    const json_t *d = json_object_get(v->root, key);
    if (!api_is_given(d)) return 0;
    if (!json_is_integer(d) || json_integer_value(d) < 1 || json_integer_value(d) > embd)
        return api_fail(e, 400, "invalid_value", key, "dimensions is to be a whole number from 1 to %d, what this "
                        "model's vectors have", embd);
    v->dimensions = (int)json_integer_value(d);
    return 0;
}

static int read_format(struct api_vectors *v, struct api_error *e)
{
    static const char key[] = "encoding_format";
    const char *text = api_text_in(v->root, key);
    v->base64 = strcmp(text, "base64") == 0;
    if (!api_is_given(json_object_get(v->root, key)) || v->base64 || strcmp(text, "float") == 0) return 0;
    return api_fail(e, 400, "invalid_value", key, "encoding_format is to be \"float\" or \"base64\"");
}

int api_read_vectors(struct api_vectors *v, enum api_vectors_kind kind, const char *body, size_t n, int embd,
                     const struct api_model *m, struct api_error *e)
{
    static const char *const own[] = {"input dimensions encoding_format user",
                                      "input dimensions truncate options keep_alive", "prompt options keep_alive"};
    *v = (struct api_vectors){.root = api_read_object(body, n, e), .kind = kind};
    if (!v->root) return -1;
    const json_t *name = json_object_get(v->root, "model");
    if (api_check_keys(v->root, "model", own[kind], false, "", e) ||
        api_check_model(name, kind == VECTORS_OPENAI ? API_CHAT : API_OLLAMA_CHAT, m, e) ||
        read_input(v, kind == VECTORS_ONE ? "prompt" : "input", e) || read_dimensions(v, embd, e) || read_format(v, e))
        return -1;
    return kind == VECTORS_OPENAI ? 0 : api_read_bool(v->root, "truncate", &v->cut, e) ||
                                        api_check_ollama_options(v->root, m, e) ? -1 : 0;
}

const char *api_vectors_text(const struct api_vectors *v, int i, size_t *n)
{
    const json_t *text = json_is_array(v->input) ? json_array_get(v->input, (size_t)i) : v->input;
    *n = json_string_length(text);
    return json_string_value(text);
}
