/* session_view.c - a session's window a second time: to look at the call that would come next, without an event and
 * without a trace in the figures; and to go on under another limit. */
#include "app/session/session_impl.h"
#include "tools/escape.h"

enum { VIEW_LINE = 1000 }; /* bytes of a shown line, about */

int session_second_window(struct session *s, struct window **out, struct err *err)
{
    struct window *own = s->w;
    struct buf state = {0};
    window_save(own, s->vocabulary, &state);
    s->w = NULL;
    int status = state.failed ? err_set(err, EXIT_INTERNAL, "no memory for a second window") : session_window(s, err);
    if (status == EXIT_DONE && window_load(s->w, state.data, state.len, s->vocabulary, err)) {
        window_close(s->w);
        s->w = NULL;
        status = EXIT_INTERNAL;
    }
    *out = s->w;
    s->w = own;
    buf_free(&state);
    return status;
}

/* ---------------------------------------------------------------- the next call */

/* Plain bytes, escaped; a line ends behind each newline, and where it would be too long. */
static void show_text(const struct buf *plain, struct buf *out)
{
    const char *text = plain->data ? plain->data : "";
    for (size_t at = 0, end; at < plain->len; at = end) {
        const char *newline = memchr(text + at, '\n', plain->len - at);
        end = newline ? (size_t)(newline - text) + 1 : plain->len;
        bool is_long = end - at > VIEW_LINE;
        if (is_long) end = at + VIEW_LINE;
        while (is_long && end > at + VIEW_LINE - 4 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
        escape_text(text + at, end - at, out);
        if (is_long || newline) buf_puts(out, "\n");
    }
}

/* Tokens as text: what a special one is called stands in \{ }, which no escaped text has. */
static void show_tokens(const struct vocab *v, const struct ids *ids, struct buf *out)
{
    struct buf plain = {0};
    for (size_t i = 0; i < ids->n; i++) {
        const char *bytes;
        size_t n = vocab_piece(v, ids->id[i], &bytes);
        if (n > 0 && vocab_attr(v, ids->id[i]) != VOCAB_CONTROL) {
            buf_put(&plain, bytes, n);
            continue;
        }
        show_text(&plain, out);
        plain.len = 0;
        n = vocab_spelling(v, ids->id[i], &bytes);
        buf_puts(out, "\\{");
        escape_text(bytes, n, out);
        buf_puts(out, "}");
    }
    show_text(&plain, out);
    out->failed |= plain.failed;
    buf_free(&plain);
}

static int render(struct session *s, struct session_view *out, struct err *err)
{
    const struct app *a = s->a;
    const struct vocab *v = a->ops->vocab(a->engine);
    enum template_kind kind;
    struct ids ids = {0};
    if (!v || template_by_name(a->info->template, &kind))
        return err_set(err, -1, "this engine does not say how it writes a prompt");
    int rc = template_render(kind, v, NULL, s->prompt.msgs, s->prompt.n, true, &ids, NULL, 0, err);
    if (rc == 0) show_tokens(v, &ids, &out->text);
    if (rc == 0 && out->text.failed) rc = err_set(err, -1, "no memory to show the call");
    out->tokens = (int64_t)ids.n;
    ids_free(&ids);
    return rc ? -1 : 0;
}

int session_view(struct session *s, struct session_view *out, struct err *err)
{
    struct window *w;
    struct window_call c;
    *out = (struct session_view){.due = window_due(s->w)};
    if (session_second_window(s, &w, err) != EXIT_DONE) return -1;
    int rc = window_build(w, &c, err);
    if (rc == 0) rc = prompt_make(&s->prompt, turn_calls(s->a), &s->texts, c.items, c.n, err);
    if (rc == 0) rc = session_shape(s, c.answer + c.thinking, &c.tokens, err);
    if (rc == 0) rc = render(s, out, err);
    if (rc == 0) out->answer = c.answer + c.thinking;
    window_close(w);
    return rc ? -1 : 0;
}

/* ---------------------------------------------------------------- another limit */

int session_limit_answer(struct session *s, int tokens, struct err *err)
{
    int before = s->role.answer;
    struct window *w;
    if (s->a->o->answers > 0) return err_set(err, -1, "--answers says how long every answer is");
    s->role.answer = tokens;
    if (session_second_window(s, &w, err) != EXIT_DONE) {
        s->role.answer = before;
        return -1;
    }
    session_tell(s);
    window_close(s->w);
    s->w = w;
    session_remember(s);
    return 0;
}
