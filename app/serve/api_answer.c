/* api_answer.c - what a model wrote, cut into thinking, content and calls; errors and log-probabilities as JSON. */
#include "app/serve/api.h"

static const char call_open[] = API_CALL_OPEN, call_close[] = "</tool_call>";
static const char think_open[] = "<think>", think_close[] = "</think>";

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static size_t skip_blanks(const char *text, size_t at, size_t n)
{
    while (at < n && is_blank(text[at])) at++;
    return at;
}

/* ---------------------------------------------------------------- text */

/* Bytes of the character at text[0], n >= 1; 0: it is none; -1: it may become one with more bytes.  (RFC 3629.) */
static int character(const char *text, size_t n)
{
    unsigned char b = (unsigned char)text[0];
    int len = b < 0x80 ? 1 : b >= 0xc2 && b < 0xe0 ? 2 : b >= 0xe0 && b < 0xf0 ? 3 : b >= 0xf0 && b < 0xf5 ? 4 : 0;
    for (int i = 1; i < len; i++) {
        if ((size_t)i == n) return -1;
        unsigned char c = (unsigned char)text[i];
        unsigned char least = i == 1 && b == 0xe0 ? 0xa0 : i == 1 && b == 0xf0 ? 0x90 : 0x80;
        unsigned char most = i == 1 && b == 0xed ? 0x9f : i == 1 && b == 0xf4 ? 0x8f : 0xbf;
        if (c < least || c > most) return 0;
    }
    return len;
}

size_t api_whole(const char *bytes, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++)
        if (character(bytes + n - k, k) < 0) return n - k;
    return n;
}

json_t *api_text(const char *bytes, size_t n)
{
    struct buf clean = {0};
    for (size_t i = 0; i < n;) {
        int len = character(bytes + i, n - i);
        if (len > 0) buf_put(&clean, bytes + i, (size_t)len);
        else buf_puts(&clean, "\xef\xbf\xbd");
        i += len > 0 ? (size_t)len : 1;
    }
    json_t *s = clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.len);
    buf_free(&clean);
    return s;
}

/* ---------------------------------------------------------------- parts */

/* How many bytes at the end of text may be a beginning of word. */
static size_t tail_of(const char *text, size_t n, const char *word)
{
    size_t len = strlen(word), k = MIN(len - 1, n);
    while (k > 0 && memcmp(text + n - k, word, k) != 0) k--;
    return k;
}

/* Where a call may begin at or behind `at`; n: nowhere so far. */
static size_t find_call(const char *text, size_t at, size_t n, enum form_calls how)
{
    if (forms_in_tags(how)) return forms_tags_begin(text, at, n);
    const size_t list = forms_in_python(how) ? forms_python_begin(text, at, n) : n;
    const char *mark = memmem(text + at, n - at, call_open, sizeof call_open - 1);
    size_t first = skip_blanks(text, at, n);
    if (how == FORM_CALLS_LLAMA3 && first < n && text[first] == '{') return first;
    if (forms_in_list(how) && first < n && text[first] == '[') return first;
    return MIN(mark ? (size_t)(mark - text) : n - tail_of(text + at, n - at, call_open), list);
}

/* Where the content begins; n: not yet. */
static size_t split_thinking(const char *text, size_t n, bool ended, struct api_part *thinking)
{
    size_t begin = skip_blanks(text, 0, n), same = 0, len = sizeof think_open - 1;
    while (begin + same < n && same < len && text[begin + same] == think_open[same]) same++;
    if (same < len) return begin + same == n && !ended ? n : 0; /* it may become the tag */
    size_t from = skip_blanks(text, begin + len, n);
    const char *close = memmem(text + from, n - from, think_close, sizeof think_close - 1);
    size_t to = close ? (size_t)(close - text) : n;
    if (!close && !ended) to -= tail_of(text + from, n - from, think_close);
    while (to > from && is_blank(text[to - 1])) to--; /* they are thinking only when more follows */
    *thinking = (struct api_part){from, to - from};
    return close ? skip_blanks(text, (size_t)(close - text) + sizeof think_close - 1, n) : n;
}

void api_split(const char *text, size_t n, bool tools, enum form_calls how, bool ended, struct api_split *out)
{
    *out = (struct api_split){0};
    size_t at = split_thinking(text, n, ended, &out->thinking), end = tools ? find_call(text, at, n, how) : n;
    if (tools && end < n) out->call = (struct api_part){end, n - end};
    while (tools && end > at && is_blank(text[end - 1])) end--; /* blanks before a call are the call's */
    if (tools && out->call.n > 0) out->call = (struct api_part){end, n - end};
    if (tools && ended && out->call.n == 0) end = n;
    out->content = (struct api_part){at, end - at};
}

/* ---------------------------------------------------------------- calls */

/* tools: it must be one of these; NULL: whatever it is named. */
static int take_call(json_t *v, const struct api_tools *tools, struct api_call *out)
{
    json_t *name = json_object_get(v, "name"), *arguments = json_object_get(v, "arguments");
    if (!arguments) arguments = json_object_get(v, "parameters");
    if (!json_is_string(name) || json_string_length(name) == 0 ||
        (tools && !tools->known(tools->self, json_string_value(name))))
        return -1;
    char *text = json_is_string(arguments) ? strdup(json_string_value(arguments))
                 : json_is_object(arguments) ? json_dumps(arguments, JSON_COMPACT) : NULL;
    if (!text) return -1;
    *out = (struct api_call){.name = json_incref(name), .arguments = json_string(text)};
    free(text);
    if (out->arguments) return 0;
    api_free_calls(out, 1);
    return -1;
}

void api_free_calls(struct api_call *c, int n)
{
    for (int i = 0; i < n; i++) {
        json_decref(c[i].name);
        json_decref(c[i].arguments);
        c[i] = (struct api_call){0};
    }
}

/* A JSON value at text + *at, and *at behind it.  NULL: none. */
static json_t *next_value(const char *text, size_t *at, size_t n)
{
    json_error_t why;
    json_t *v = json_loadb(text + *at, n - *at, JSON_DISABLE_EOF_CHECK, &why);
    if (v) *at += (size_t)why.position;
    return v;
}

static bool skip_word(const char *text, size_t *at, size_t n, const char *word)
{
    size_t len = strlen(word), from = skip_blanks(text, *at, n);
    if (n - from < len || memcmp(text + from, word, len) != 0) return false;
    *at = from + len;
    return true;
}

/* One in tags at text + *at, and *at behind it. */
static int take_tags(const char *text, size_t *at, size_t n, const struct api_tools *tools, struct api_call *out)
{
    *out = (struct api_call){0};
    const struct form_types types = {tools->type, tools->self};
    struct form_text t = {text + *at, n - *at};
    const bool marked = forms_begins_marked(t);
    struct form_call c;
    if (forms_read_tags(&t, &types, &c, NULL)) return -1;
    *at = n - t.len;
    if (marked || tools->known(tools->self, c.name))
        *out = (struct api_call){.name = json_string(c.name), .arguments = json_string(c.arguments)};
    forms_call_free(&c);
    if (out->name && out->arguments) return 0;
    api_free_calls(out, 1);
    return -1;
}

/* As Python writes them, whatever stands around them. */
static int take_python(const char *text, size_t n, enum form_calls how, struct api_call *out)
{
    struct form_calls_said l;
    int got = 0;
    if (forms_read_calls(how, text, n, &l, NULL)) return 0;
    bool bad = l.n > API_CALLS;
    for (size_t i = 0; i < l.n && !bad; i++) {
        const struct form_call *c = &l.v[i].call;
        out[got++] = (struct api_call){.name = json_string(c->name), .arguments = json_string(c->arguments)};
        bad = !out[i].name || !out[i].arguments;
    }
    forms_calls_free(&l);
    if (!bad) return got;
    api_free_calls(out, got);
    return 0;
}

int api_read_calls(const char *text, size_t n, enum form_calls how, const struct api_tools *tools, struct api_call *out)
{
    size_t at = 0;
    int got = 0;
    bool bare = false, bad = false;
    if (forms_in_python(how) && forms_python_end(text, n) > 0) return take_python(text, n, how, out);
    while (skip_blanks(text, at, n) < n && got < API_CALLS && !bad) {
        if (forms_in_tags(how) && forms_begins_tags((struct form_text){text + at, n - at})) {
            bad = take_tags(text, &at, n, tools, &out[got]);
            got += !bad;
            continue;
        }
        bool marked = skip_word(text, &at, n, call_open);
        bare = !marked;
        if (bare && (how == FORM_CALLS_OWN || forms_by_tokens(how) || forms_in_tags(how) ||
                     forms_in_python(how) || got > 0)) break;
        json_t *v = next_value(text, &at, n), *one;
        size_t i;
        if (json_is_array(v) && bare) {
            json_array_foreach(v, i, one) {
                bad = bad || got == API_CALLS || take_call(one, tools, &out[got]);
                got += !bad;
            }
        } else {
            bad = !v || take_call(v, bare ? tools : NULL, &out[got]);
            got += !bad;
        }
        json_decref(v);
        if (marked && !bad) bad = !skip_word(text, &at, n, call_close);
    }
    if (!bad && skip_blanks(text, at, n) == n) return got;
    api_free_calls(out, got);
    return 0;
}

/* ---------------------------------------------------------------- the rest */

static int put_some(const char *bytes, size_t n, void *out)
{
    buf_put(out, bytes, n);
    return ((struct buf *)out)->failed ? -1 : 0;
}

void api_put_json(const json_t *v, size_t flags, struct buf *out)
{
    if (json_dump_callback(v, put_some, out, flags | JSON_ENCODE_ANY)) out->failed = true;
}

static json_t *token_object(const struct vocab *v, int32_t id, float logprob)
{
    const char *bytes;
    size_t n = vocab_piece(v, id, &bytes);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer((unsigned char)bytes[i]));
    return json_pack("{s:o, s:f, s:o}", "token", api_text(bytes, n), "logprob", (double)logprob, "bytes", list);
}

json_t *api_logprob(const struct vocab *v, int32_t id, float logprob, const struct engine_top *top, int n)
{
    json_t *o = token_object(v, id, logprob), *list = json_array();
    for (int k = 0; k < n && top && top->id[k] >= 0; k++)
        json_array_append_new(list, token_object(v, top->id[k], top->logprob[k]));
    json_object_set_new(o, "top_logprobs", list);
    return o;
}

void api_put_error(const struct api_error *e, struct buf *out)
{
    json_t *body = json_pack("{s:o, s:s, s:o, s:s}", "message", api_text(e->text, strlen(e->text)), "type", e->type,
                             "param", *e->param ? api_text(e->param, strlen(e->param)) : json_null(), "code", e->code);
    if (body && e->n_ctx > 0) {
        if (e->n_prompt > 0) json_object_set_new(body, "n_prompt_tokens", json_integer(e->n_prompt));
        json_object_set_new(body, "n_ctx", json_integer(e->n_ctx));
    }
    json_t *o = json_pack("{s:o}", "error", body);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    buf_puts(out, text ? text : "{\"error\":{\"message\":\"no memory\",\"type\":\"server_error\"}}");
    free(text);
    json_decref(o);
}
