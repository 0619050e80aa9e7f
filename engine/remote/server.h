/* server.h - what is known of the server behind --remote: which program it is, the model it serves, how many tokens its
 * context holds, and its own figures of load.
 *
 * Asked when the engine is opened, by what each program offers: /v1/models (all; max_model_len of vLLM, SGLang and
 * plimsoll serve), /props (llama-server), /info (TGI), /api/ps (Ollama, whose model is loaded first, since only then is
 * its context known; options of a request do not change it on /v1).  Figures: /metrics, in Prometheus' text form, by
 * the names that each has. */
#ifndef REMOTE_SERVER_H
#define REMOTE_SERVER_H
#include "engine/engine.h"
#include "engine/remote/web.h"

enum server_kind {
    SERVER_OTHER, SERVER_PLIMSOLL, SERVER_VLLM, SERVER_SGLANG, SERVER_LLAMA, SERVER_TGI, SERVER_OLLAMA, SERVER_KINDS
};
const char *server_name(enum server_kind k); /* "vLLM", "llama-server", ... */

struct server {
    enum server_kind kind;
    char model[200];  /* as requests have to name it */
    int64_t ctx;      /* tokens of prompt and answer together; 0: it does not say */
    int64_t at_once;  /* requests that it runs at once; 0: it does not say */
};

/* Look.  cfg->remote.model: the one that was asked for, or NULL: the only one that it serves.  While it still loads its
 * model, for at most half a minute, it is asked again, and cfg->progress is called once a second.  0; or ENGINE_FAULT:
 * it does not answer as such servers do; ENGINE_BAD_REQUEST: it wants another key or name. */
int server_look(struct web *w, const struct engine_config *cfg, struct server *out, struct err *err);

/* Of the list of /v1/models: kind (OTHER where it does not tell), model and ctx.  0, or as above. */
int server_read_models(const char *json, size_t n, const char *model, struct server *out, struct err *err);

/* The figures in a text of /metrics; what it does not have is -1. */
void server_read_metrics(const char *text, size_t n, struct engine_server *out);
#endif
