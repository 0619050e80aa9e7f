/* dump.c - looking inside: the prompt's tokens, and the probabilities of the generated ones. */
#include "app/faces.h"
#include "app/say.h"
#include <jansson.h>
#include <math.h>

/* ---------------------------------------------------------------- --dump-tokens */

/* Printable ASCII and UTF-8 letters as they are; blanks, controls and stray bytes as escapes, so that each token is
 * one word. */
static void escape(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t valid = c < 0x80 ? 0 : text_valid_utf8(s + i, MIN(n - i, 4)), len = 1;
        while (valid > len && ((unsigned char)s[i + len] & 0xc0) == 0x80) len++;
        if (c == '\n') buf_puts(out, "\\n");
        else if (c == '\t') buf_puts(out, "\\t");
        else if (c == '\r') buf_puts(out, "\\r");
        else if (c == '\\') buf_puts(out, "\\\\");
        else if (c > 0x20 && c < 0x7f) buf_put(out, s + i, 1);
        else if (valid >= len && c >= 0x80 && !(c == 0xc2 && (unsigned char)s[i + 1] <= 0xa0)) buf_put(out, s + i, len);
        else for (size_t k = 0; k < len; k++) buf_printf(out, "\\x%02x", (unsigned char)s[i + k]);
        i += len;
    }
}

static int render(struct app *a, const struct buf *prompt, struct ids *ids, struct err *err)
{
    enum template_kind kind;
    struct msg msgs[ONESHOT_MESSAGES];
    int n = oneshot_messages(a, prompt, msgs);
    if (template_by_name(a->info->template, &kind)) return err_set(err, -1, "no such form: %s", a->info->template);
    return template_render(kind, a->ops->vocab(a->engine), NULL, msgs, n, true, ids, NULL, 0, err);
}

int dump_tokens_run(struct app *a)
{
    struct ids ids = {0};
    struct err err = {0};
    struct buf prompt = {0}, out = {0};
    const struct vocab *v = a->ops->vocab(a->engine);
    int status = oneshot_prompt(a, &prompt);
    if (status == EXIT_DONE && render(a, &prompt, &ids, &err)) {
        app_error(a, "turn", err.text);
        status = EXIT_INTERNAL;
    }
    for (size_t i = 0; status == EXIT_DONE && i < ids.n; i++) {
        const char *bytes;
        size_t n = vocab_spelling(v, ids.id[i], &bytes);
        buf_printf(&out, "%zu %d ", i, ids.id[i]);
        escape(bytes, n, &out);
        buf_puts(&out, "\n");
    }
    out_put(&a->answers, out.data, out.len);
    out_end(&a->answers);
    buf_free(&out);
    buf_free(&prompt);
    ids_free(&ids);
    return status;
}

/* ---------------------------------------------------------------- --dump-logprobs */

struct logprobs {
    struct app *a;
    int told;
    bool failed;
};

static json_t *json_bytes(const char *s, size_t n)
{
    struct buf b = {0};
    for (size_t i = 0; i < n;) { /* what is no UTF-8 shows as U+FFFD: the id says exactly what it is */
        size_t valid = text_valid_utf8(s + i, n - i);
        buf_put(&b, s + i, valid);
        if (i + valid < n) buf_puts(&b, "\xef\xbf\xbd");
        i += valid + (i + valid < n);
    }
    json_t *j = b.failed ? NULL : json_stringn(b.data ? b.data : "", b.len);
    buf_free(&b);
    return j;
}

/* {"id":5,"text":" a","logprob":-0.25}; a probability of zero is null. */
static json_t *json_token(const struct vocab *v, int32_t id, float logprob)
{
    const char *bytes;
    size_t n = vocab_piece(v, id, &bytes);
    if (n == 0) n = vocab_spelling(v, id, &bytes);
    json_t *j = json_object();
    int bad = json_object_set_new(j, "id", json_integer(id));
    bad |= json_object_set_new(j, "text", json_bytes(bytes, n));
    bad |= json_object_set_new(j, "logprob", isfinite(logprob) ? json_real((double)logprob) : json_null());
    if (!bad) return j;
    json_decref(j);
    return NULL;
}

static void print_token(struct logprobs *l, const struct answer *ans, int index)
{
    const struct vocab *v = l->a->ops->vocab(l->a->engine);
    json_t *line = json_object(), *top = json_array();
    int bad = json_object_set_new(line, "index", json_integer(index));
    json_t *own = json_token(v, ans->token[index].id, ans->token[index].logprob);
    bad |= json_object_update_missing(line, own);
    for (int i = 0; ans->top && i < MIN(ans->top_n, KERN_TOP) && ans->top[index].id[i] >= 0; i++)
        bad |= json_array_append_new(top, json_token(v, ans->top[index].id[i], ans->top[index].logprob[i]));
    bad |= json_object_set(line, "top", top);
    char *text = bad ? NULL : json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text) {
        out_put(&l->a->answers, text, strlen(text));
        out_put(&l->a->answers, "\n", 1);
    } else {
        l->failed = true;
    }
    free(text);
    json_decref(own);
    json_decref(top);
    json_decref(line);
}

static void on_growth(void *self, const struct answer *ans)
{
    struct logprobs *l = self;
    int n = atomic_load_explicit(&ans->n_tokens, memory_order_acquire);
    for (; l->told < n; l->told++) print_token(l, ans, l->told);
}

int dump_logprobs_run(struct app *a)
{
    struct msg msgs[ONESHOT_MESSAGES];
    struct err err = {0};
    struct buf prompt = {0};
    struct logprobs l = {.a = a};
    struct turn_result r = {0};
    int status = oneshot_prompt(a, &prompt);
    if (status == EXIT_DONE) {
        struct turn_ask ask = {.msgs = msgs, .n_msgs = oneshot_messages(a, &prompt, msgs),
                               .top_n = (int)a->o->top_logprobs, .silent = true,
                               .grew = on_growth, .self = &l};
        int code = turn_run(a, &ask, &r, &err);
        status = turn_exit(code, &r);
        if (!code && r.end == END_NO_TOKEN) err_set(&err, -1, "the rules (--logit-bias) left no token to choose");
    }
    if (status == EXIT_DONE && l.failed) {
        status = EXIT_INTERNAL;
        err_set(&err, -1, "no memory to print a token");
    }
    face_complain(a, status, &err);
    buf_free(&r.text);
    buf_free(&prompt);
    return status;
}
