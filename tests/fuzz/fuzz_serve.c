/* fuzz_serve.c - what a client may send to `plimsoll serve`, and what a model may have written, cut into parts.
 *
 * covers: app/serve/api_read.c app/serve/api_messages.c app/serve/api_schema.c app/serve/api_answer.c
 *         app/serve/api_anthropic.c app/serve/api_responses.c app/serve/api_json.c app/serve/api_ollama.c
 *         app/serve/api_small.c app/serve/api_vectors.c app/serve/api_tags.c app/serve/api_thinking.c
 *         app/serve/api_begun.c app/serve/api_tools.c
 *
 * An input: one letter that says what the rest is (c: a chat's body, p: a completion's, r: a response's, m: a
 * message's, n: one whose tokens are to be counted, o and g: a chat's and a prompt's of Ollama's, w: what /api/show is
 * asked, t and d: what /tokenize and /detokenize are, v: a body for vectors of texts, of the API that the second letter
 * says; s: an answer's text), a second of which family's calls.  What must hold: a refusal has a status, a code and a
 * line; prompts are texts or ids, no more than their answers may be; messages have texts that can be read to their end,
 * and none but the last is begun; the parts of an answer that comes byte by byte only grow, and end as those of the
 * whole. */
#include "app/serve/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

/* A vocabulary, once: GGUF of the tests. */
static const struct vocab *vocab(void)
{
    static struct vocab *v;
    struct err err = {0};
    if (v) return v;
    struct gguf *g = gguf_open("tests/fixtures/llama-gqa.gguf", &err);
    must(g != NULL);
    v = vocab_open(g, &err);
    must(v != NULL);
    gguf_close(g);
    return v;
}

static unsigned sum_of(const char *text, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += (unsigned char)text[i];
    return sum;
}

static void read_prompts(const struct api_ask *a)
{
    const json_t *p, *id;
    size_t i, k;
    must(json_array_size(a->prompts) > 0 && json_array_size(a->prompts) * (size_t)a->n <= API_CHOICES);
    json_array_foreach(a->prompts, i, p) {
        must(json_is_string(p) || json_array_size(p) > 0);
        json_array_foreach(p, k, id) must(json_integer_value(id) >= 0 && json_integer_value(id) < vocab_size(vocab()));
    }
}

static void read_body(enum api_kind kind, enum form_calls calls, bool embedded, const char *text, size_t n)
{
    static const char *const stop[] = {"STOP"};
    struct api_model m = {.id = "m", .calls = calls, .embedded = embedded, .vocab = vocab(),
                          .sampling = SAMPLING_GREEDY, .stop = stop, .n_stop = 1, .ctx = 4096,
                          .thinks = calls == FORM_CALLS_HARMONY || forms_in_tags(calls)};
    struct api_ask a;
    struct api_error e = {0};
    if (api_read(&a, kind, text, n, &m, NULL, &e)) {
        api_own_words(&a, &e);
        struct buf out = {0};
        must(e.status >= 400 && e.code && *e.text && !strchr(e.text, '\n'));
        if (kind >= API_ANTHROPIC) api_put_messages_error(&e, &out);
        else if (kind >= API_OLLAMA_CHAT) api_put_ollama_error(&e, &out);
        else api_put_error(&e, &out);
        json_t *v = json_loadb(out.data, out.len, 0, NULL);
        must(v != NULL);
        json_decref(v);
        buf_free(&out);
    } else {
        unsigned sum = 0;
        must(a.plain || a.load || a.n_msgs > 0);
        for (int i = 0; i < a.n_msgs; i++) sum += sum_of(a.msgs[i].text, a.msgs[i].len);
        for (int i = 0; i < a.n_stop; i++) sum += sum_of(a.stop[i], strlen(a.stop[i]));
        sum += sum_of(a.schema.data, a.schema.len);
        for (int i = 0; i + 1 < a.n_msgs; i++) must(!a.msgs[i].begun);
        must(a.goes_on == (a.n_msgs > 0 && a.msgs[a.n_msgs - 1].begun));
        if (a.plain) read_prompts(&a);
        must(a.n >= 1 && a.n <= API_CHOICES);
        must(sampling_check(&a.sampling, vocab_size(vocab()), NULL) == 0 && sum + 1 != 0);
    }
    api_free(&a);
}

static void read_small(char which, const char *text, size_t n)
{
    const struct api_model m = {.id = "m", .vocab = vocab(), .ctx = 64};
    struct api_tokens t = {0};
    struct api_error e = {0};
    const int bad = which == 'w' ? api_read_show(text, n, &m, &e) : api_read_tokens(&t, which == 'd', text, n, &m, &e);
    must(!bad || (e.status >= 400 && e.code && *e.text && !strchr(e.text, '\n')));
    if (!bad && which == 't') must(sum_of(t.text, t.n) + 1 != 0);
    must(bad || json_array_size(t.ids) <= 64);
    for (size_t i = 0; !bad && i < json_array_size(t.ids); i++) {
        const json_int_t id = json_integer_value(json_array_get(t.ids, i));
        must(id >= 0 && id < vocab_size(vocab()));
    }
    json_decref(t.root);
}

static void read_vectors(enum api_vectors_kind kind, const char *text, size_t n)
{
    const struct api_model m = {.id = "m", .vocab = vocab(), .ctx = 64};
    struct api_vectors v;
    struct api_error e = {0};
    const int bad = api_read_vectors(&v, kind, text, n, 32, &m, &e);
    must(!bad || (e.status >= 400 && e.code && *e.text && !strchr(e.text, '\n')));
    must(bad || (v.n >= 0 && v.n <= API_INPUTS && v.dimensions >= 0 && v.dimensions <= 32));
    for (int i = 0; !bad && i < v.n; i++) {
        size_t size;
        const char *one = api_vectors_text(&v, i, &size);
        must(sum_of(one, size) + 1 != 0);
    }
    json_decref(v.root);
}

static bool any_name(void *self, const char *name)
{
    (void)self;
    return *name != '\0';
}

static unsigned any_type(void *self, const char *tool, const char *key)
{
    (void)self;
    return (unsigned char)(*tool + *key);
}

static bool grows(struct api_part was, struct api_part is)
{
    return was.n == 0 || (was.at == is.at && was.n <= is.n);
}

static void split(enum form_calls how, bool tools, const char *text, size_t n)
{
    struct api_split was = {0}, now, end;
    struct api_call call[API_CALLS];
    api_split(text, n, tools, how, true, &end);
    for (size_t k = 0; k <= n; k++) {
        api_split(text, k, tools, how, false, &now);
        must(now.thinking.at + now.thinking.n <= k && now.content.at + now.content.n <= k);
        must(now.call.n == 0 || now.call.at + now.call.n == k);
        must(grows(was.thinking, now.thinking) && grows(was.content, now.content));
        was = now;
    }
    must(grows(was.thinking, end.thinking) && (was.content.n == 0 || was.content.at == end.content.at));
    must(end.call.n > 0 || was.content.n <= end.content.n);
    const struct api_tools tools_of = {any_name, any_type, NULL};
    int got = end.call.n > 0 ? api_read_calls(text + end.call.at, end.call.n, how, &tools_of, call) : 0;
    for (int i = 0; i < got; i++) {
        json_t *v = json_loads(json_string_value(call[i].arguments), JSON_DECODE_ANY, NULL);
        json_decref(v);
    }
    api_free_calls(call, got);
    json_t *s = api_text(text, n);
    must(s != NULL && api_whole(text, n) <= n && n - api_whole(text, n) <= 3);
    json_decref(s);
}

static enum form_calls family_of(uint8_t byte)
{
    static const enum form_calls of[] = {FORM_CALLS_OWN, FORM_CALLS_LLAMA3, FORM_CALLS_HARMONY, FORM_CALLS_MISTRAL3,
                                         FORM_CALLS_MISTRAL7};
    if ((byte & 192) == 192) return FORM_CALLS_MISTRAL11;
    if ((byte & 130) == 130) return FORM_CALLS_LFM2;
    if (byte & 128) return byte & 1 ? FORM_CALLS_QWEN3_CODER : FORM_CALLS_QWEN35;
    return of[byte % COUNT_OF(of)];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 16) return 0;
    char *text = malloc(size); /* its own block: reading past the end is seen */
    must(text != NULL);
    memcpy(text, data + 2, size - 2);
    const enum form_calls how = family_of(data[1]);
    switch (data[0]) {
    case 'c': read_body(API_CHAT, how, data[1] & 16, text, size - 2); break;
    case 'p': read_body(API_COMPLETION, how, false, text, size - 2); break;
    case 'm': read_body(API_ANTHROPIC, how, data[1] & 16, text, size - 2); break;
    case 'n': read_body(API_COUNT, how, data[1] & 16, text, size - 2); break;
    case 'r': read_body(API_RESPONSES, how, data[1] & 16, text, size - 2); break;
    case 'o': read_body(API_OLLAMA_CHAT, how, data[1] & 16, text, size - 2); break;
    case 'g': read_body(API_OLLAMA_GENERATE, how, data[1] & 16, text, size - 2); break;
    case 'w':
    case 't':
    case 'd': read_small((char)data[0], text, size - 2); break;
    case 'v': read_vectors((enum api_vectors_kind)(data[1] % 3), text, size - 2); break;
    case 's': split(how, data[1] & 16, text, MIN(size - 2, (size_t)2048)); break;
    default: break;
    }
    free(text);
    return 0;
}
