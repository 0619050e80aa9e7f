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

void serve_say_whole(struct job *j)
{
    struct serve_parts p;
    struct api_error e;
    struct buf body = {0};
    serve_look(j, &p);
    if (serve_failure(j, &p, &e)) {
        serve_forget(j);
        serve_refuse(j->s, j->call, &e);
        return;
    }
    if (!j->plain) serve_read_calls(j, &p);
    serve_name_calls(j, &p);
    serve_put_json(j->voice->whole(j, &p), &body);
    api_free_calls(p.call, p.calls);
    serve_forget(j);
    if (!body.failed) {
        http_answer(j->call, 200, "application/json", NULL, body.data, body.len);
    } else {
        api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
        serve_refuse(j->s, j->call, &e);
    }
    buf_free(&body);
}

/* ---------------------------------------------------------------- streams */

static void put_sign_of_life(struct job *j)
{
    int done = atomic_load_explicit(&j->ans->n_prefilled, memory_order_acquire);
    if (progress_clock() - j->said >= SERVE_ALIVE) j->voice->alive(j, done);
}

static void put_failure(struct job *j, const struct api_error *e)
{
    j->voice->failed(j, e);
    j->s->counts.failed++;
    j->finished = true;
}

static void put_end(struct job *j, struct serve_parts *p)
{
    serve_name_calls(j, p);
    j->voice->end(j, p);
    j->finished = true;
}

/* The next events into j->out, if there are any. */
static void write_on(struct job *j)
{
    struct serve_parts p;
    struct api_error e;
    serve_look(j, &p);
    if (!j->head) j->voice->begin(j, &p);
    j->head = true;
    if (p.ended && serve_failure(j, &p, &e)) {
        put_failure(j, &e);
        return;
    }
    if (p.ended && !j->plain) serve_read_calls(j, &p);
    bool more = j->voice->more(j, &p);
    bool told = j->thinking == p.split.thinking.n && j->content == p.split.content.n;
    if (p.ended && told) put_end(j, &p);
    else if (!more && !p.ended) put_sign_of_life(j);
    api_free_calls(p.call, p.calls);
}

long serve_more(void *self, struct http_call *c, char *to, size_t n)
{
    struct job *j = http_own(c);
    (void)self;
    if (j->vectors) return serve_vectors_more(j, to, n);
    if (j->out_at == j->out.len) {
        j->out.len = j->out_at = 0;
        if (!j->ans) return HTTP_END;
        write_on(j);
        if (j->out.len == 0) return 0;
        j->said = progress_clock();
        if (j->finished || j->out.failed) serve_forget(j);
        if (j->out.failed) return HTTP_END;
    }
    n = MIN(n, j->out.len - j->out_at);
    memcpy(to, j->out.data + j->out_at, n);
    j->out_at += n;
    return (long)n;
}
