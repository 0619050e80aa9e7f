/* ask.c - see ask.h. */
#include "engine/remote/ask.h"
#include "engine/text.h"
#include <jansson.h>
#include <math.h>

/* ---------------------------------------------------------------- messages */

static void put_utf8(struct buf *out, const char *text, size_t n)
{
    while (n > 0) {
        size_t good = text_valid_utf8(text, n);
        const char *nul = memchr(text, '\0', good);
        if (nul) good = (size_t)(nul - text);
        buf_put(out, text, good);
        text += good;
        n -= good;
        if (n == 0) break;
        buf_puts(out, "\xef\xbf\xbd");
        text++;
        n--;
        while (n > 0 && ((unsigned char)*text & 0xc0) == 0x80) text++, n--; /* the rest of what was begun */
    }
}

/* Whose it is over there: only what stands before anything was said is the system's. */
static enum role side(const struct msg *m, bool front)
{
    if (m->role == ROLE_SYSTEM && front) return ROLE_SYSTEM;
    return m->role == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
}

static json_t *messages(const struct msg *msgs, int n)
{
    json_t *list = json_array();
    bool bad = !list, front = true;
    for (int i = 0; i < n && !bad;) {
        struct buf text = {0};
        front = front && msgs[i].role == ROLE_SYSTEM;
        const enum role who = side(&msgs[i], front);
        for (int first = i; i < n && side(&msgs[i], front && msgs[i].role == ROLE_SYSTEM) == who; i++) {
            const bool result = msgs[i].role == ROLE_TOOL;
            if (i > first) buf_puts(&text, "\n\n");
            if (result) buf_puts(&text, "<tool_response>\n");
            put_utf8(&text, msgs[i].text, msgs[i].len);
            if (result) buf_puts(&text, "\n</tool_response>");
        }
        json_t *content = text.failed ? NULL : json_stringn(text.data ? text.data : "", text.len);
        bad = json_array_append_new(list, json_pack("{s:s, s:o}", "role", role_name(who), "content", content)) != 0;
        buf_free(&text);
    }
    if (!bad) return list;
    json_decref(list);
    return NULL;
}

static const char *text_of(const json_t *message, const char *role)
{
    const char *is = json_string_value(json_object_get(message, "role"));
    return is && strcmp(is, role) == 0 ? json_string_value(json_object_get(message, "content")) : NULL;
}

bool remote_fold_system(struct buf *body)
{
    struct buf made = {0};
    json_t *o = json_loadb(body->data ? body->data : "", body->len, 0, NULL), *list = json_object_get(o, "messages");
    const char *system = text_of(json_array_get(list, 0), "system"), *user = text_of(json_array_get(list, 1), "user");
    char *text = NULL;
    if (system) {
        buf_puts(&made, system);
        if (user) buf_printf(&made, "\n\n%s", user);
        const char *said = made.data ? made.data : "";
        json_t *both = made.failed ? NULL : json_pack("{s:s, s:s}", "role", "user", "content", said);
        bool bad = user && json_array_remove(list, 1) != 0;
        bad |= json_array_set_new(list, 0, both) != 0;
        if (!bad) text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
    made.len = 0;
    if (text) buf_puts(&made, text);
    const bool folded = text && !made.failed;
    if (folded) {
        buf_free(body);
        *body = made;
        made = (struct buf){0};
    }
    buf_free(&made);
    free(text);
    json_decref(o);
    return folded;
}

/* ---------------------------------------------------------------- how it is sampled */

/* Servers that know more than OpenAI's fields. */
static bool knows_more(enum server_kind k)
{
    return k == SERVER_PLIMSOLL || k == SERVER_VLLM || k == SERVER_SGLANG || k == SERVER_LLAMA;
}

/* As a person wrote it: 0.7, not what the nearest float is in nine digits. */
static json_t *real(float value)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)value);
    return json_real(strtod(text, NULL));
}

static int set_sampling(json_t *o, enum server_kind kind, const struct sampling *s)
{
    int bad = json_object_set_new(o, "temperature", real(s->temp));
    bad |= json_object_set_new(o, "top_p", real(s->top_p > 0 ? s->top_p : 1e-6F));
    bad |= json_object_set_new(o, "seed", json_integer((json_int_t)(s->seed & INT64_MAX)));
    if (s->frequency != 0) bad |= json_object_set_new(o, "frequency_penalty", real(s->frequency));
    if (s->presence != 0) bad |= json_object_set_new(o, "presence_penalty", real(s->presence));
    if (!knows_more(kind)) return bad;
    if (s->top_k > 0) bad |= json_object_set_new(o, "top_k", json_integer(s->top_k));
    if (s->min_p > 0) bad |= json_object_set_new(o, "min_p", real(s->min_p));
    const char *repeat = kind == SERVER_LLAMA ? "repeat_penalty" : "repetition_penalty";
    if (s->repeat > 0 && s->repeat < 1) bad |= json_object_set_new(o, repeat, real(s->repeat));
    if (s->repeat > 1) bad |= json_object_set_new(o, repeat, real(s->repeat));
    return bad;
}

static int check(const struct request *r, struct err *err)
{
    const char *what = r->ids ? "a prompt of ready tokens" : r->top_n > 0 ? "the likeliest tokens"
                       : r->score ? "log-probabilities of a prompt" : r->allowed ? "a set of allowed tokens"
                       : r->sampling.n_bias > 0 ? "a bias of tokens" : r->grammar ? "a grammar"
                       : r->ignore_end ? "going on behind its end" : NULL;
    if (!what) return 0;
    return err_set(err, ENGINE_BAD_REQUEST, "a remote engine cannot be asked for %s", what);
}

int remote_ask(const struct server *s, const struct request *r, struct buf *body, struct err *err)
{
    if (check(r, err)) return ENGINE_BAD_REQUEST;
    json_t *list = messages(r->msgs, r->n_msgs);
    json_t *o = list ? json_pack("{s:s, s:O, s:b, s:{s:b}, s:i}", "model", s->model, "messages", list, "stream", 1,
                                 "stream_options", "include_usage", 1, "max_tokens", r->max_tokens) : NULL;
    const char *effort = r->n_msgs > 0 ? effort_name(r->msgs[0].effort) : NULL;
    const bool lacks = o && effort && json_object_set_new(o, "reasoning_effort", json_string(effort));
    const bool whole = o && !lacks && !set_sampling(o, s->kind, &r->sampling);
    char *text = whole ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(list);
    json_decref(o);
    if (text) buf_puts(body, text);
    free(text);
    if (text && !body->failed) return 0;
    return err_set(err, ENGINE_NO_MEMORY, "no memory for a request");
}
