/* serve_tokens.c - POST /tokenize and /detokenize, as llama-server and vLLM have them. */
#include "app/serve/serve_impl.h"

/* Ids as they are written: a list of JSON would take ten times the memory. */
static void put_tokens(struct serve *s, const struct api_tokens *t, struct buf *out, struct api_error *e)
{
    const struct vocab *v = s->model.vocab;
    struct ids ids = {0};
    struct err err = {0};
    if (t->bos && vocab_adds_bos(v) && vocab_bos(v) >= 0) ids_put(&ids, vocab_bos(v));
    int rc = vocab_encode(v, NULL, t->text, t->n, t->special ? VOCAB_SPECIAL : 0, &ids, &err);
    if (rc) api_fail(e, rc == VOCAB_NO_MEMORY ? 500 : 400, "invalid_value", NULL, "the text: %s", err.text);
    buf_puts(out, "{");
    if (t->counted) buf_printf(out, "\"count\":%zu,\"max_model_len\":%d,", ids.n, s->a->info->ctx);
    buf_puts(out, "\"tokens\":[");
    for (size_t i = 0; i < ids.n; i++) buf_printf(out, "%s%d", i ? "," : "", ids.id[i]);
    buf_puts(out, "]}");
    out->failed |= ids.failed;
    ids_free(&ids);
}

/* Tokens that are no text (an end of turn) by their spelling, so that nothing that was there is missing. */
static void put_text(struct serve *s, const struct api_tokens *t, struct buf *out)
{
    const struct vocab *v = s->model.vocab;
    struct buf text = {0};
    for (size_t i = 0; i < json_array_size(t->ids); i++) {
        const int32_t id = (int32_t)json_integer_value(json_array_get(t->ids, i));
        const char *bytes;
        const bool mark = vocab_attr(v, id) == VOCAB_CONTROL;
        const size_t n = mark ? vocab_spelling(v, id, &bytes) : vocab_piece(v, id, &bytes);
        buf_put(&text, bytes, n);
    }
    json_t *all = text.failed ? NULL : api_text(text.data ? text.data : "", text.len);
    serve_put_json(json_pack("{s:O, s:o}", "content", all, "prompt", all), out); /* llama-server's word, and vLLM's */
    buf_free(&text);
}

static void answer(struct serve *s, struct http_call *c, bool back)
{
    struct api_error e = {0};
    struct api_tokens t;
    struct buf out = {0};
    size_t n;
    const char *body = http_body(c, &n);
    int bad = api_read_tokens(&t, back, body, n, &s->model, &e);
    http_forget_body(c);
    if (!bad && back) put_text(s, &t, &out);
    if (!bad && !back) put_tokens(s, &t, &out, &e);
    json_decref(t.root);
    if (!bad && e.status == 0 && out.failed) api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
    if (e.status) serve_refuse(s, c, &e);
    else http_answer(c, 200, "application/json", NULL, out.data, out.len);
    buf_free(&out);
}

void serve_tokenize(struct serve *s, struct http_call *c) { answer(s, c, false); }
void serve_detokenize(struct serve *s, struct http_call *c) { answer(s, c, true); }
