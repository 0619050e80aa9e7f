/* serve_vectors.c - POST /v1/embeddings, /api/embed and /api/embeddings: vectors of texts.
 *
 *     texts -> ids of all -> the engine, a few at once -> vectors in their order -> j->out -> whole, or as it comes
 *
 * A batch of any size takes no more of the engine than the requests that run at once, and goes on only as fast as its
 * client reads: what a few thousand vectors weigh is never held.  While others wait, no further text of a batch goes
 * before them. */
#include "app/progress.h"
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include "memory/base64.h"
#include <math.h>

enum {
    WHOLE = 64 << 10,    /* bytes of an answer that is written at once, at most: a longer one goes out as it is made */
    UNREAD = 1 << 20     /* bytes of it that its client has not taken yet, beyond which no more is made */
};

struct serve_vectors {
    enum api_vectors_kind kind;
    bool base64, streams;
    int dimensions, n;
    int next, told;      /* texts that the engine was given, whose vectors were written */
    struct ids ids;      /* of all texts */
    size_t *end;         /* (n) of a text's, in ids */
    int id[SERVE_TOGETHER];    /* in the engine, of text i at i % SERVE_TOGETHER */
    const struct answer *ans[SERVE_TOGETHER];
};

static struct ids_part { const int32_t *id; int n; } ids_of(const struct serve_vectors *v, int i)
{
    const size_t from = i ? v->end[i - 1] : 0;
    return (struct ids_part){v->ids.id + from, (int)(v->end[i] - from)};
}

static bool has_ended(const struct answer *a)
{
    return atomic_load_explicit(&a->end, memory_order_acquire) != END_NONE;
}

/* ---------------------------------------------------------------- texts */

/* Tokens that a text may have. */
static int longest(const struct serve *s)
{
    struct engine_snapshot now;
    s->a->ops->snapshot(s->a->engine, &now);
    return engine_longest(s->a->info, now.pool_tokens);
}

static int too_long(const struct serve *s, int i, size_t n, int most, struct api_error *e)
{
    char where[32];
    const bool budget = most < s->a->info->ctx && n <= (size_t)s->a->info->ctx;
    snprintf(where, sizeof where, "input[%d]", i);
    api_fail(e, 400, budget ? "exceeds_memory_budget" : "context_length_exceeded", where,
             "This model's maximum context length is %d tokens%s. However, %s has %zu tokens. Please reduce its "
             "length, or split it. (context_length_exceeded)", most, budget ? " in the memory of this server" : "",
             where, n);
    e->n_prompt = (int)MIN(n, (size_t)INT32_MAX);
    e->n_ctx = most;
    return -1;
}

/* Nothing in a text is a control token. */
static int encode_one(const struct serve *s, const struct api_vectors *ask, int i, int most, struct ids *ids,
                      struct api_error *e)
{
    const struct vocab *v = s->model.vocab;
    const bool bos = vocab_adds_bos(v) && vocab_bos(v) >= 0, eos = vocab_adds_eos(v);
    const size_t from = ids->n;
    struct err err = {0};
    size_t size;
    const char *text = api_vectors_text(ask, i, &size);
    if (bos) ids_put(ids, vocab_bos(v));
    if (vocab_encode(v, NULL, text, size, 0, ids, &err))
        return api_fail(e, err.code == VOCAB_NO_MEMORY ? 500 : 400, "invalid_value", "input", "input[%d]: %s", i,
                        err.text);
    const size_t room = (size_t)(most - eos);
    if (ask->cut && ids->n - from > room) ids->n = from + room;
    if (eos) ids_put(ids, vocab_eos(v));
    if (ids->failed) return api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    if (ids->n - from > (size_t)most) return too_long(s, i, ids->n - from, most, e);
    return ids->n > from ? 0 : api_fail(e, 400, "invalid_value", "input", "input[%d] is empty", i);
}

static struct serve_vectors *begin(const struct serve *s, const struct api_vectors *ask, struct api_error *e)
{
    struct serve_vectors *v = calloc(1, sizeof *v);
    const int most = longest(s);
    if (v) *v = (struct serve_vectors){.kind = ask->kind, .base64 = ask->base64, .n = ask->n,
                                       .dimensions = ask->dimensions ? ask->dimensions : s->a->info->embd,
                                       .end = calloc((size_t)ask->n + 1, sizeof *v->end)};
    int bad = v && v->end ? 0 : api_fail(e, 500, "no_memory", NULL, "no memory for the request");
    for (int i = 0; i < ask->n && !bad; i++) {
        bad = encode_one(s, ask, i, most, &v->ids, e);
        v->end[i] = v->ids.n;
    }
    if (!bad) return v;
    if (v) free(v->end);
    if (v) ids_free(&v->ids);
    free(v);
    return NULL;
}

/* ---------------------------------------------------------------- the engine */

static int submit(struct job *j, struct api_error *e)
{
    struct serve_vectors *v = j->vectors;
    const struct app *a = j->s->a;
    const struct ids_part ids = ids_of(v, v->next);
    const struct request r = {.ids = ids.id, .n_ids = ids.n, .agent = j->agent, .pool = a->info->pool,
                              .sampling = SAMPLING_GREEDY};
    const int at = v->next % SERVE_TOGETHER;
    struct err err = {0};
    int code = a->ops->submit(a->engine, &r, &v->id[at], &err);
    if (code) return serve_refusal(j->s, code, ids.n, 0, &err, e);
    v->ans[at] = a->ops->answer(a->engine, v->id[at]);
    v->next++;
    j->s->active++;
    return 0;
}

/* More texts, while there is room and nobody else waits for it.  -1: the first of all can never be, or not now. */
static int go_on(struct job *j, struct api_error *e)
{
    struct serve_vectors *v = j->vectors;
    const struct app *a = j->s->a;
    const int most = MIN((int)SERVE_TOGETHER, a->info->max_seqs);
    while (v->next < v->n && v->next - v->told < most && j->out.len - j->out_at < UNREAD) {
        if (v->next > v->told && serve_gives_way(j->s, j->agent)) return 0;
        if (submit(j, e) == 0) continue;
        const bool later = e->status == 429 && (v->next > v->told || (v->told > 0 && j->s->active > 0));
        return later ? 0 : -1;
    }
    return 0;
}

/* Text i is done with. */
static void forget(struct job *j, int i)
{
    struct serve_vectors *v = j->vectors;
    const struct answer *a = v->ans[i % SERVE_TOGETHER];
    j->s->counts.prompt_tokens += (uint64_t)a->n_prompt;
    j->s->counts.cached_tokens += (uint64_t)a->n_shared;
    j->s->a->ops->drop(j->s->a->engine, v->id[i % SERVE_TOGETHER]);
    j->s->active--;
}

/* how END_NONE: it was refused. */
static void end(struct job *j, enum engine_end how, const char *why)
{
    struct serve_vectors *v = j->vectors;
    const double took = progress_clock() - j->start;
    for (; v->told < v->next; v->told++) forget(j, v->told);
    v->n = v->next; /* no more of it */
    j->finished = true;
    if (how == END_NONE) return;
    j->s->counts.ended[how]++;
    serve_time(&j->s->counts.whole, took);
    say_dim("vectors: %d texts, %zu tokens, %.2f s, %s", v->told, v->ids.n, took, why);
}

/* ---------------------------------------------------------------- what is written */

/* What a value is divided by: of the older API of Ollama's nothing.  0: it is no vector that JSON could hold. */
static double length_of(const struct serve_vectors *v, const float *x)
{
    double sum = 0;
    for (int i = 0; i < v->dimensions; i++) sum += (double)x[i] * (double)x[i];
    if (!isfinite(sum)) return 0;
    return v->kind == VECTORS_ONE ? 1 : sqrt(sum);
}

static void put_values(const struct serve_vectors *v, const float *x, double length, struct buf *out)
{
    if (v->base64) {
        struct buf bytes = {0};
        for (int i = 0; i < v->dimensions; i++) {
            const float value = (float)((double)x[i] / length);
            buf_put(&bytes, &value, sizeof value);
        }
        buf_puts(out, "\"");
        base64_put(bytes.data ? bytes.data : "", bytes.len, out);
        buf_puts(out, "\"");
        out->failed |= bytes.failed;
        buf_free(&bytes);
        return;
    }
    for (int i = 0; i < v->dimensions; i++)
        buf_printf(out, "%c%.9g", i ? ',' : '[', (double)(float)((double)x[i] / length));
    buf_puts(out, "]");
}

static void put_head(struct job *j)
{
    static const char *const head[] = {"{\"object\":\"list\",\"data\":[", "{\"embeddings\":[", "{\"embedding\":"};
    if (!j->head) buf_puts(&j->out, head[j->vectors->kind]);
    j->head = true;
}

/* The next vector, which is there; -1: it is none. */
static int put_one(struct job *j, struct api_error *e)
{
    struct serve_vectors *v = j->vectors;
    const struct answer *a = v->ans[v->told % SERVE_TOGETHER];
    const enum engine_end how = (enum engine_end)atomic_load(&a->end);
    if (how == END_CANCELLED) return serve_shutting_down(e);
    if (how != END_LENGTH) return api_fail(e, 500, "engine_failed", NULL, "%s", a->fault);
    const double length = length_of(v, a->vector);
    if (!(length > 0))
        return api_fail(e, 500, "engine_failed", NULL, "input[%d] has a vector of no length: damaged weights, or keys "
                        "and values too large for their type (--kv-type)", v->told);
    put_head(j);
    if (v->told > 0) buf_puts(&j->out, ",");
    if (v->kind == VECTORS_OPENAI)
        buf_printf(&j->out, "{\"object\":\"embedding\",\"index\":%d,\"embedding\":", v->told);
    put_values(v, a->vector, length, &j->out);
    if (v->kind == VECTORS_OPENAI) buf_puts(&j->out, "}");
    forget(j, v->told++);
    return 0;
}

static void put_tail(struct job *j)
{
    struct serve_vectors *v = j->vectors;
    const size_t n = v->ids.n;
    put_head(j);
    if (v->kind == VECTORS_ONE) {
        buf_puts(&j->out, v->n ? "}" : "[]}");
        return;
    }
    buf_puts(&j->out, "],\"model\":");
    json_t *id = json_string(j->s->model.id);
    api_put_json(id, JSON_ENCODE_ANY, &j->out);
    json_decref(id);
    if (v->kind == VECTORS_OPENAI)
        buf_printf(&j->out, ",\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu}}", n, n);
    else
        buf_printf(&j->out, ",\"total_duration\":%lld,\"load_duration\":0,\"prompt_eval_count\":%zu}",
                   (long long)((progress_clock() - j->start) * 1e9), n);
}

/* Before anything was written the client is told; after it the answer breaks off, which no client takes for JSON. */
static void fail(struct job *j, const struct api_error *e)
{
    end(j, e->status < 500 ? END_NONE : e->status == 503 ? END_CANCELLED : END_FAULT, e->text);
    if (j->vectors->streams) {
        j->s->counts.failed++;
        j->out.len = j->out_at = 0;
        http_wake(j->call);
    } else {
        serve_refuse(j->s, j->call, e);
    }
}

void serve_vectors_look(struct job *j)
{
    struct serve_vectors *v = j->vectors;
    struct api_error e = {0};
    int bad = 0;
    if (j->finished) return;
    while (!bad && v->told < v->next && has_ended(v->ans[v->told % SERVE_TOGETHER]) && j->out.len - j->out_at < UNREAD)
        bad = put_one(j, &e);
    if (!bad) bad = go_on(j, &e);
    const bool all = !bad && v->told == v->n;
    if (all) put_tail(j);
    if (!bad && j->out.failed) bad = api_fail(&e, 500, "no_memory", NULL, "no memory for the answer");
    if (all && !bad) end(j, END_STOP, "stop");
    if (bad) {
        fail(j, &e);
        return;
    }
    if (!v->streams && j->finished) http_answer(j->call, 200, "application/json", NULL, j->out.data, j->out.len);
    else if (!v->streams && j->out.len > WHOLE) http_stream(j->call, "application/json", NULL);
    else if (v->streams) http_wake(j->call);
    v->streams |= j->out.len > WHOLE && !j->finished;
}

long serve_vectors_more(struct job *j, char *to, size_t n)
{
    n = MIN(n, j->out.len - j->out_at);
    if (n == 0) return j->finished ? HTTP_END : 0;
    memcpy(to, j->out.data + j->out_at, n);
    j->out_at += n;
    if (j->out_at >= j->out.len - j->out_at) { /* what is left is the smaller part */
        memmove(j->out.data, j->out.data + j->out_at, j->out.len - j->out_at);
        j->out.len -= j->out_at;
        j->out_at = 0;
    }
    return (long)n;
}

bool serve_vectors_work(const struct job *j)
{
    const struct serve_vectors *v = j->vectors;
    for (int i = v->told; i < v->next; i++)
        if (!has_ended(v->ans[i % SERVE_TOGETHER])) return true;
    return false;
}

void serve_vectors_cancel(struct job *j)
{
    const struct serve_vectors *v = j->vectors;
    for (int i = v->told; i < v->next; i++)
        if (!has_ended(v->ans[i % SERVE_TOGETHER])) j->s->a->ops->cancel(j->s->a->engine, v->id[i % SERVE_TOGETHER]);
}

void serve_vectors_left(struct job *j)
{
    if (j->finished) return;
    serve_vectors_cancel(j);
    end(j, END_CANCELLED, "its client left");
}

void serve_vectors_free(struct job *j)
{
    free(j->vectors->end);
    ids_free(&j->vectors->ids);
    free(j->vectors);
}

void serve_vectors(struct serve *s, struct http_call *c, enum api_vectors_kind kind)
{
    struct api_error e = {0};
    struct api_vectors ask = {0};
    struct serve_vectors *v = NULL;
    size_t n;
    const char *body = http_body(c, &n);
    int bad = s->a->info->embd > 0 ? 0 : api_fail(&e, 501, "not_implemented", NULL, "this engine makes no vectors of "
                                                  "texts: start the server with a model, plimsoll serve -m FILE.gguf");
    bad = bad || api_read_vectors(&ask, kind, body, n, s->a->info->embd, &s->model, &e);
    http_forget_body(c);
    if (!bad) v = begin(s, &ask, &e);
    json_decref(ask.root);
    struct job *j = v ? serve_job(s, c) : NULL;
    if (v && !j) api_fail(&e, 500, "no_memory", NULL, "no memory for the request");
    if (!j) {
        if (v) serve_vectors_free(&(struct job){.vectors = v});
        serve_refuse(s, c, &e);
        return;
    }
    j->vectors = v;
    s->counts.requests++;
    serve_vectors_look(j);
}
