/* session_record.c - what an agent itself would hand over, asked aside: nothing of it enters its conversation. */
#include "app/session/session_impl.h"

enum { FRAME = 160, LEAST = 24 }; /* tokens of its other lines, the task among them; fewer in all are no record */

/* The call that would come next, with the request behind it. */
static int build(struct session *s, struct form_text to, struct msg **msgs, int *n, struct buf *request,
                 struct err *err)
{
    struct window *w;
    struct window_call c;
    if (session_second_window(s, &w, err) != EXIT_DONE) return -1;
    int rc = window_build(w, &c, err);
    if (rc == 0) rc = prompt_make(&s->prompt, turn_calls(s->a), &s->texts, c.items, c.n, err);
    window_close(w);
    if (rc) return -1;
    forms_handover_request(to, request);
    *n = s->prompt.n + 1;
    *msgs = calloc((size_t)*n, sizeof **msgs);
    if (!*msgs || request->failed) return err_set(err, -1, "no memory for a hand-over");
    memcpy(*msgs, s->prompt.msgs, (size_t)s->prompt.n * sizeof **msgs);
    (*msgs)[s->prompt.n] = (struct msg){.role = ROLE_USER, .text = request->data, .len = request->len};
    return 0;
}

static int read_record(const struct turn_result *r, struct buf *out, struct err *err)
{
    struct form_handover h;
    const char *text = r->text.data ? r->text.data : "";
    if (r->end != END_STOP || r->text.failed)
        return err_set(err, -1, "it did not come to its end: %s", engine_end_name(r->end));
    if (forms_read_handover(text, r->text.len, &h, err)) return -1;
    buf_put(out, h.result.text, h.result.len);
    forms_handover_free(&h);
    return out->failed ? err_set(err, -1, "no memory for a hand-over") : 0;
}

int session_record(struct session *s, const char *to, size_t tokens, struct buf *out, struct err *err)
{
    struct msg *msgs = NULL;
    struct turn_result r = {0};
    struct buf request = {0};
    struct engine_count count = {0};
    int n = 0, rc = build(s, form_text(to), &msgs, &n, &request, err);
    if (rc == 0 && s->a->ops->count_tokens(s->a->engine, msgs, n, &count, err)) rc = -1;
    size_t most = MIN(tokens, (size_t)s->role.ctx) + FRAME, room = (size_t)MAX(0, s->role.ctx - count.tokens);
    if (rc == 0 && room < LEAST) rc = err_set(err, -1, "no room for a hand-over");
    struct turn_ask ask = {.msgs = msgs, .n_msgs = n, .max_tokens = (int)MIN(most, room), .silent = true,
                           .aside = true};
    if (rc == 0 && turn_run(s->a, &ask, &r, err)) rc = -1;
    if (rc == 0) rc = read_record(&r, out, err);
    buf_free(&r.text);
    buf_free(&request);
    free(msgs);
    return rc;
}
