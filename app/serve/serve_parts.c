/* serve_parts.c - an answer in its parts, as far as it came: what every API's voice speaks of. */
#include "app/serve/serve_impl.h"

bool serve_ended(const struct job *j)
{
    return j->ans && atomic_load_explicit(&j->ans->end, memory_order_acquire) != END_NONE;
}

static bool is_tool(void *self, const char *name)
{
    const struct job *j = ((const struct job *)self)->lead;
    for (size_t at = 0; at < j->names.len; at += strlen(j->names.data + at) + 1)
        if (strcmp(j->names.data + at, name) == 0) return true;
    return false;
}

static unsigned type_of(void *self, const char *tool, const char *key)
{
    const struct job *j = ((const struct job *)self)->lead;
    if (j->types.len == 0) return FORM_STRING;
    for (const char *at = j->types.data, *end = at + j->types.len; at < end;) {
        const char *name = at, *parameter = name + strlen(name) + 1;
        at = parameter + strlen(parameter) + 2;
        if (strcmp(name, tool) == 0 && strcmp(parameter, key) == 0) return (unsigned char)at[-1];
    }
    return FORM_STRING;
}

/* LFM2 may speak behind its calls: that is content as well, in a line of its own where something was said before
 * them. */
static void take_words_behind(struct serve_parts *p)
{
    const struct api_part *c = &p->split.call;
    struct api_part *content = &p->split.content;
    size_t at = forms_python_end(p->text + c->at, c->n);
    while (at > 0 && at < c->n && strchr(" \t\r\n", p->text[c->at + at])) at++;
    if (at == 0 || at == c->n) return;
    if (content->n == 0) {
        *content = (struct api_part){c->at + at, c->n - at};
        return;
    }
    buf_put(&p->joined, p->text, content->at + content->n);
    buf_puts(&p->joined, "\n");
    buf_put(&p->joined, p->text + c->at + at, c->n - at);
    if (p->joined.failed) return; /* the words before them are there */
    p->text = p->joined.data;
    content->n = p->joined.len - content->at;
}

void serve_read_calls(struct job *j, struct serve_parts *p)
{
    enum form_calls how = j->whole_call || j->either ? FORM_CALLS_ANY : j->calls;
    const struct api_tools tools = {is_tool, type_of, j};
    const struct api_part *c = &p->split.call;
    p->calls = c->n > 0 ? api_read_calls(p->text + c->at, c->n, how, &tools, p->call) : 0;
    if (p->calls == 0) { /* it only began like one */
        p->split.content.n = p->n - p->split.content.at;
        return;
    }
    p->said = (struct form_text){p->text + c->at, c->n};
    if (forms_in_python(how)) take_words_behind(p);
    if (j->one_call && p->calls > 1) {
        api_free_calls(p->call + 1, p->calls - 1);
        p->calls = 1;
        p->cut = true;
    }
}

void serve_name_calls(struct job *j, struct serve_parts *p)
{
    for (int i = 0; i < p->calls; i++) serve_id(j->s, j->voice->call, p->call[i].id, sizeof p->call[i].id);
    if (p->calls > 0 && !p->cut) serve_keep(j->s, p->call, p->calls, p->said.text, p->said.len);
    j->s->counts.calls += (uint64_t)p->calls;
}

void serve_free_parts(struct serve_parts *p)
{
    api_free_calls(p->call, p->calls);
    buf_free(&p->joined);
}

/* Of an answer that is a call or a value of a schema: it begins as a call does, or is not as long yet. */
static bool may_be_call(const char *text, size_t n)
{
    static const char front[] = "{\"name\":";
    return memcmp(text, front, MIN(n, sizeof front - 1)) == 0;
}

void serve_look(struct job *j, struct serve_parts *p)
{
    *p = (struct serve_parts){.text = j->ans->text, .ended = serve_ended(j)};
    p->end = (enum engine_end)atomic_load_explicit(&j->ans->end, memory_order_acquire);
    p->n = atomic_load_explicit(&j->ans->text_len, memory_order_acquire);
    p->tokens = atomic_load_explicit(&j->ans->n_tokens, memory_order_acquire);
    if (j->plain) p->split.content.n = p->n;
    else if (j->either ? may_be_call(p->text, p->n) : j->whole_call) p->split.call.n = p->n;
    else if (j->either) p->split.content.n = p->n;
    else api_split(p->text, p->n, j->tools, j->calls, p->ended, &p->split);
}

int serve_thinking_tokens(const struct job *j, const struct serve_parts *p)
{
    const struct api_split *s = &p->split;
    const size_t end = s->content.n > 0 || s->call.n == 0 ? s->content.at : s->call.at;
    int n = 0;
    if (s->thinking.n == 0) return 0;
    while (n < p->tokens && (n == 0 ? 0 : j->ans->token[n - 1].text_end) < end) n++;
    return n;
}

int serve_shutting_down(struct api_error *e)
{
    return api_fail(e, 503, "shutting_down", NULL, "The server is shutting down");
}

int serve_failure(const struct job *j, const struct serve_parts *p, struct api_error *e)
{
    switch (p->end) {
    case END_STOP:
    case END_LENGTH: return 0;
    case END_NO_TOKEN: return api_fail(e, 400, "no_token_left", NULL, "logit_bias and schema left no token to choose");
    case END_CANCELLED: return serve_shutting_down(e);
    default: return api_fail(e, 500, "engine_failed", NULL, "%s", j->ans->fault);
    }
}

void serve_put_json(json_t *o, struct buf *out)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(o);
}

void serve_put_event(struct job *j, const char *name, json_t *o)
{
    json_object_set_new(o, "type", json_string(name));
    buf_printf(&j->out, "event: %s\ndata: ", name);
    serve_put_json(o, &j->out);
    buf_puts(&j->out, "\n\n");
    j->events++;
}

void serve_put_comment(struct job *j, int read)
{
    buf_printf(&j->out, ": %d of %d prompt tokens read\n\n", read, j->n_prompt);
}

/* A model may have written a text that is no object: then it is its one member. */
json_t *serve_input(const struct api_call *c)
{
    json_t *v = json_loadb(json_string_value(c->arguments), json_string_length(c->arguments), JSON_ALLOW_NUL, NULL);
    if (json_is_object(v)) return v;
    json_decref(v);
    return json_pack("{s:O}", "arguments", c->arguments);
}

json_t *serve_logprobs(const struct job *j, int from, int to)
{
    json_t *list = json_array();
    for (int i = from; i < to; i++) {
        const struct engine_token *t = &j->ans->token[i];
        const struct engine_top *top = j->ans->top ? &j->ans->top[i] : NULL;
        json_array_append_new(list, api_logprob(j->s->model.vocab, t->id, t->logprob, top, j->ans->top_n));
    }
    return list;
}

json_t *serve_part(const struct serve_parts *p, const struct api_part *part)
{
    return api_text(p->text + part->at, part->n);
}

json_t *serve_piece(const struct serve_parts *p, const struct api_part *part, size_t *told)
{
    size_t n = MIN(part->n - *told, (size_t)SERVE_PIECE);
    const char *from = p->text + part->at + *told;
    if (!p->ended || *told + n < part->n) n = api_whole(from, n);
    if (n == 0) return NULL;
    *told += n;
    return api_text(from, n);
}
