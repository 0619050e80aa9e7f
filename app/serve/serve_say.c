/* serve_say.c - answers whole, or piece by piece as server-sent events, in the words of the API that was asked
 * (struct serve_voice).
 *
 * A stream's events are made when the connection has room for them, out of the answer's text and how much of it was
 * told already: a client that reads slowly costs no memory, and gets larger pieces. */
#include "app/progress.h"
#include "app/say.h"
#include "app/serve/serve_impl.h"

/* ---------------------------------------------------------------- the end of a request */

void serve_forget(struct job *j)
{
    struct serve *s = j->s;
    int tokens = atomic_load(&j->ans->n_tokens), end = atomic_load(&j->ans->end);
    double now = progress_clock(), took = now - j->start;
    s->counts.ended[end == END_NONE ? END_CANCELLED : end]++;
    s->counts.prompt_tokens += (uint64_t)j->n_prompt;
    s->counts.cached_tokens += (uint64_t)j->ans->n_shared;
    s->counts.generated_tokens += (uint64_t)tokens;
    if (j->first > 0) serve_time(&s->counts.first_token, j->first - j->start);
    serve_time(&s->counts.whole, took);
    say_dim("%s: %d + %d tokens, %d of the prompt known, %.2f s, %s", j->voice->what,
            j->n_prompt, tokens, j->ans->n_shared, took,
            end == END_NONE || end == END_CANCELLED ? "its client left" : engine_end_name((enum engine_end)end));
    s->a->ops->drop(s->a->engine, j->id);
    j->ans = NULL;
    s->active--;
}

/* The answer is told: what its usage adds to the request's. */
static void put_over(struct job *j, const struct serve_parts *p)
{
    struct job *lead = j->lead;
    if (j->index % lead->each == 0) {
        lead->prompt_tokens += j->n_prompt;
        lead->cached_tokens += j->ans->n_shared;
    }
    lead->answer_tokens += p->tokens;
    lead->thinking_tokens += serve_thinking_tokens(j, p);
    lead->over++;
    serve_forget(j);
}

/* Of several answers each waits for the others, in their order, whichever is the first. */
static int keep_choice(struct job *j, const struct serve_parts *p)
{
    json_t *list = j->lead->choices;
    while (json_array_size(list) <= (size_t)j->index)
        if (json_array_append_new(list, json_null())) return -1;
    return json_array_set_new(list, (size_t)j->index, j->voice->choice(j, p));
}

void serve_say_whole(struct job *j)
{
    struct job *lead = j->lead;
    struct serve_parts p;
    struct api_error e;
    struct buf body = {0};
    serve_look(j, &p);
    if (serve_failure(j, &p, &e)) {
        serve_fail(lead, &e);
        return;
    }
    if (!j->plain) serve_read_calls(j, &p);
    serve_name_calls(j, &p);
    if (j->voice->whole) serve_put_json(j->voice->whole(j, &p), &body);
    else if (keep_choice(j, &p)) body.failed = true;
    serve_free_parts(&p);
    put_over(j, &p);
    const bool all = lead->over == lead->wanted;
    if (all && !body.failed && !j->voice->whole) serve_put_json(j->voice->all(lead), &body);
    if (body.failed) {
        api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
        serve_fail(lead, &e);
    } else if (all) {
        http_answer(lead->call, 200, "application/json", NULL, body.data, body.len);
    }
    buf_free(&body);
}

/* ---------------------------------------------------------------- streams */

/* j: one of them that the engine has; NULL: none. */
static void put_sign_of_life(struct job *lead, const struct job *j)
{
    const int done = j ? atomic_load_explicit(&j->ans->n_prefilled, memory_order_acquire) : 0;
    if (progress_clock() - lead->said >= SERVE_ALIVE) lead->voice->alive(lead, done);
}

static void put_end(struct job *j, struct serve_parts *p)
{
    struct job *lead = j->lead;
    serve_name_calls(j, p);
    j->voice->end(j, p);
    put_over(j, p);
    if (lead->over == lead->wanted && j->voice->close) j->voice->close(lead);
}

/* The next events of one answer, if there are any. */
static void write_on(struct job *j)
{
    struct serve_parts p;
    struct api_error e;
    serve_look(j, &p);
    if (!j->head) j->voice->begin(j, &p);
    j->head = true;
    if (p.ended && serve_failure(j, &p, &e)) {
        serve_fail(j->lead, &e);
        return;
    }
    if (p.ended && !j->plain) serve_read_calls(j, &p);
    j->voice->more(j, &p);
    if (p.ended && j->thinking == p.split.thinking.n && j->content == p.split.content.n) put_end(j, &p);
    serve_free_parts(&p);
}

/* What is new of all of them, by turns: an event is never cut by another's. */
static void write_next(struct job *lead)
{
    const struct job *live = NULL;
    for (int i = 0; i < lead->given && lead->out.len == 0 && lead->over < lead->wanted; i++) {
        struct job *j = lead->turn ? lead->turn : lead;
        lead->turn = j->peer;
        if (!j->ans) continue;
        live = j;
        write_on(j);
    }
    if (lead->out.len == 0) put_sign_of_life(lead, live);
}

long serve_more(void *self, struct http_call *c, char *to, size_t n)
{
    struct job *lead = http_own(c);
    (void)self;
    if (lead->vectors) return serve_vectors_more(lead, to, n);
    if (lead->out_at == lead->out.len) {
        lead->out.len = lead->out_at = 0;
        if (lead->over == lead->wanted) return HTTP_END;
        write_next(lead);
        if (lead->out.failed) {
            serve_drop(lead);
            return HTTP_END;
        }
        if (lead->out.len == 0) return 0;
        lead->said = progress_clock();
    }
    n = MIN(n, lead->out.len - lead->out_at);
    memcpy(to, lead->out.data + lead->out_at, n);
    lead->out_at += n;
    return (long)n;
}
