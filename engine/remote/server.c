/* server.c - see server.h. */
#include "engine/remote/server.h"
#include "engine/remote/hear.h"
#include "engine/remote/load.h"
#include <jansson.h>
#include <time.h>

enum {
    LOOK_S = 15, LOAD_S = 300, LIST_MOST = 1 << 20, SHORT_MOST = 256 << 10, NAMED = 8,
    LOADING = 503, /* the HTTP status of one whose model is not there yet */
    LOADS_S = 31   /* it is asked again after 1, 2, 4, 8 and 16 seconds */
};

static const char *const names[SERVER_KINDS] = {"a server", "plimsoll serve", "vLLM", "SGLang", "llama-server", "TGI",
                                                "Ollama"};
const char *server_name(enum server_kind k) { return names[k]; }

static int64_t whole(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) && json_integer_value(v) > 0 ? (int64_t)json_integer_value(v) : 0;
}

/* ---------------------------------------------------------------- the list of models */

static enum server_kind kind_of(const json_t *row)
{
    static const struct { const char *by; enum server_kind kind; } owner[] = {
        {"plimsoll", SERVER_PLIMSOLL}, {"vllm", SERVER_VLLM}, {"sglang", SERVER_SGLANG}, {"llamacpp", SERVER_LLAMA},
        {"library", SERVER_OLLAMA},
    };
    const char *by = json_string_value(json_object_get(row, "owned_by"));
    for (size_t i = 0; by && i < COUNT_OF(owner); i++)
        if (strcmp(by, owner[i].by) == 0) return owner[i].kind;
    return SERVER_OTHER;
}

static const char *name_of(const json_t *row)
{
    const char *id = json_string_value(json_object_get(row, "id"));
    return id && *id ? id : NULL;
}

/* Names for a line of text: as many as have room, and nothing in them that is no name. */
static void list_names(const json_t *data, char *out, size_t room)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(data); i++) {
        const char *id = name_of(json_array_get(data, i));
        if (!id) continue;
        if (i == NAMED || len + strlen(id) + 8 > room) {
            snprintf(out + len, room - len, ", ...");
            return;
        }
        len += (size_t)snprintf(out + len, room - len, "%s", len ? ", " : "");
        hear_line(id, strlen(id), out + len, room - len);
        len += strlen(out + len);
    }
}

static const json_t *find_model(const json_t *data, const char *model)
{
    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *row = json_array_get(data, i);
        const char *id = name_of(row);
        if (id && (!model || strcmp(id, model) == 0)) return row;
    }
    return NULL;
}

int server_read_models(const char *json, size_t n, const char *model, struct server *out, struct err *err)
{
    char list[240];
    json_t *o = json_loadb(json, n, 0, NULL);
    const json_t *data = json_object_get(o, "data"), *row = find_model(data, model);
    const char *id = name_of(row);
    int bad = 0;
    list_names(data, list, sizeof list);
    if (!json_is_array(data))
        bad = err_set(err, ENGINE_FAULT, "what it answers is no list of models: is it OpenAI's API?");
    else if (!id && !*list) bad = err_set(err, ENGINE_FAULT, "it serves no model");
    else if (!id) bad = err_set(err, ENGINE_BAD_REQUEST, "it serves no model \"%.100s\", but %s", model, list);
    else if (!model && json_array_size(data) > 1)
        bad = err_set(err, ENGINE_BAD_REQUEST, "it serves several models, name one with --remote-model: %s", list);
    else if (strlen(id) >= sizeof out->model)
        bad = err_set(err, ENGINE_FAULT, "its model has a name of more than %zu bytes", sizeof out->model - 1);
    if (!bad) {
        *out = (struct server){.kind = kind_of(row), .ctx = whole(row, "max_model_len")};
        snprintf(out->model, sizeof out->model, "%s", id);
    }
    json_decref(o);
    return bad;
}

/* ---------------------------------------------------------------- what each has beside it */

/* The JSON object behind a path, or NULL: it has none (err is left as it was). */
static json_t *object_at(struct web *w, const char *path, const struct buf *body, int seconds)
{
    struct buf out = {0};
    long status = 0;
    json_t *o = NULL;
    if (web_fetch(w, path, body, seconds, SHORT_MOST, &out, &status, NULL) == 0 && status == 200)
        o = json_loadb(out.data ? out.data : "", out.len, 0, NULL);
    buf_free(&out);
    if (json_is_object(o)) return o;
    json_decref(o);
    return NULL;
}

static void ask_llama(struct web *w, struct server *s)
{
    json_t *o = object_at(w, "/props", NULL, LOOK_S);
    s->ctx = whole(json_object_get(o, "default_generation_settings"), "n_ctx");
    s->at_once = whole(o, "total_slots");
    json_decref(o);
}

static bool ask_tgi(struct web *w, struct server *s)
{
    json_t *o = object_at(w, "/info", NULL, LOOK_S);
    const int64_t ctx = whole(o, "max_total_tokens");
    if (ctx > 0) *s = (struct server){.kind = SERVER_TGI, .ctx = ctx, .at_once = whole(o, "max_concurrent_requests")};
    json_decref(o);
    return ctx > 0;
}

static int64_t ollama_context(struct web *w, const char *model)
{
    json_t *o = object_at(w, "/api/ps", NULL, LOOK_S);
    const json_t *rows = json_object_get(o, "models");
    int64_t ctx = 0;
    for (size_t i = 0; i < json_array_size(rows) && ctx == 0; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        if (name && strcmp(name, model) == 0) ctx = whole(row, "context_length");
    }
    json_decref(o);
    return ctx;
}

static void ask_ollama(struct web *w, struct server *s)
{
    struct buf body = {0};
    json_t *load = json_pack("{s:s, s:b}", "model", s->model, "stream", 0);
    char *text = load ? json_dumps(load, JSON_COMPACT) : NULL;
    s->ctx = ollama_context(w, s->model);
    if (text) buf_puts(&body, text);
    if (s->ctx == 0 && text && !body.failed) {
        json_decref(object_at(w, "/api/generate", &body, LOAD_S)); /* without a prompt it loads, and answers nothing */
        s->ctx = ollama_context(w, s->model);
    }
    free(text);
    json_decref(load);
    buf_free(&body);
}

/* Who it is, where the list does not say. */
static void ask_who(struct web *w, struct server *s)
{
    char model[sizeof s->model];
    memcpy(model, s->model, sizeof model);
    if (ask_tgi(w, s)) {
        memcpy(s->model, model, sizeof model);
        return;
    }
    json_t *version = object_at(w, "/api/version", NULL, LOOK_S);
    if (json_is_string(json_object_get(version, "version"))) s->kind = SERVER_OLLAMA;
    json_decref(version);
}

static int refused(struct web *w, long status, const struct buf *body, struct err *err)
{
    char why[300];
    hear_error(body->data ? body->data : "", body->len, why, sizeof why);
    if (status == 401 || status == 403)
        return err_set(err, ENGINE_BAD_REQUEST, "%s wants a key that it knows, from --remote-key-file: %s", web_at(w),
                       why);
    if (status == LOADING)
        return err_set(err, ENGINE_FAULT, "%s was asked for %d s and still loads its model, or is too busy (HTTP %ld: "
                       "%.200s): try again later", web_at(w), LOADS_S, status, why);
    return err_set(err, ENGINE_FAULT, "%s/v1/models: HTTP %ld: %s", web_at(w), status, why);
}

/* Whoever waits sees that it goes on. */
static void wait_for(const struct engine_config *cfg, int from, int seconds)
{
    static const struct timespec second = {.tv_sec = 1};
    for (int s = from; s < from + seconds; s++) {
        if (cfg->progress) cfg->progress(cfg->progress_self, (uint64_t)s, LOADS_S);
        nanosleep(&second, NULL);
    }
    if (cfg->progress) cfg->progress(cfg->progress_self, (uint64_t)(from + seconds), LOADS_S);
}

int server_look(struct web *w, const struct engine_config *cfg, struct server *out, struct err *err)
{
    const char *model = cfg->remote.model;
    struct buf body = {0};
    struct err why = {0};
    long status = 0;
    int bad = web_fetch(w, "/v1/models", NULL, LOOK_S, LIST_MOST, &body, &status, err);
    for (int s = 1, waited = 0; !bad && status == LOADING && waited < LOADS_S; waited += s, s *= 2) {
        wait_for(cfg, waited, s);
        bad = web_fetch(w, "/v1/models", NULL, LOOK_S, LIST_MOST, &body, &status, err);
    }
    if (!bad && status != 200) bad = refused(w, status, &body, err);
    else if (!bad && server_read_models(body.data ? body.data : "", body.len, model, out, &why))
        bad = err_set(err, why.code, "%s: %s", web_at(w), why.text);
    buf_free(&body);
    if (bad) return bad;
    if (out->kind == SERVER_OTHER && out->ctx == 0) ask_who(w, out);
    if (out->kind == SERVER_LLAMA) ask_llama(w, out);
    if (out->kind == SERVER_OLLAMA) ask_ollama(w, out);
    return 0;
}

/* ---------------------------------------------------------------- figures */

void server_read_metrics(const char *text, size_t n, struct engine_server *out)
{
    struct load l;
    load_read(text, n, &l);
    *out = (struct engine_server){l.kv_permille, l.running, l.waiting, (int64_t)l.count[LOAD_LOST]};
}
