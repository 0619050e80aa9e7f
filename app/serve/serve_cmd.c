/* serve_cmd.c - the flags of `plimsoll serve`, and its loop. */
#include "app/faces.h"
#include "app/key_file.h"
#include "app/opts_table.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include "app/signals.h"
#include "app/turn.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_MS = 1000, FAULTS = 3 };
#define GOODBYE 0.5 /* seconds for clients to hear that it ends */

/* ---------------------------------------------------------------- options */

void serve_help(struct buf *out)
{
    buf_printf(out,
               "plimsoll serve: OpenAI's, Anthropic's and Ollama's HTTP API over the engine, for who speaks them\n"
               "  plimsoll serve [--host ADDRESS] [--port N] [--key-file FILE] [--alias NAME] [FLAGS]\n"
               "\n"
               "  --host ADDRESS    where to listen (127.0.0.1: this machine alone); others need --key-file\n"
               "  --port N          0 to 65535; %d by itself, 0 is any that is free\n", SERVE_PORT);
    buf_printf(out,
               "  --key-file FILE   its first line is the key that clients must send (Authorization: Bearer KEY, or\n"
               "                    x-api-key: KEY)\n"
               "  --alias NAME      what clients call the model, instead of its file's name; \"default\" names it too\n"
               "\n"
               "    export OPENAI_BASE_URL=http://127.0.0.1:%d/v1 OPENAI_API_KEY=none\n"
               "    export ANTHROPIC_BASE_URL=http://127.0.0.1:%d ANTHROPIC_API_KEY=none\n"
               "    export OLLAMA_HOST=http://127.0.0.1:%d\n"
               "\n", SERVE_PORT, SERVE_PORT, SERVE_PORT);
    buf_puts(out,
             "POST /v1/chat/completions, /v1/responses and /v1/completions, whole or as a stream, with tools,\n"
             "tool_choice, logprobs and response_format (responses: text.format, no logprobs); /v1/embeddings;\n"
             "/v1/messages and /v1/messages/count_tokens for Anthropic's clients; /api/chat, /api/generate,\n"
             "/api/embed, /api/embeddings, /api/show and GET /api/tags, /api/ps, /api/version for Ollama's;\n"
             "/tokenize, /detokenize; GET /v1/models, /tokenizer_info, /health, /metrics (Prometheus, with vLLM's\n"
             "names).  What is not known is refused by its name.\n"
             "\n");
    buf_printf(out,
               "A request is admitted only if it can finish, or waits, or is refused: 400 context_length_exceeded (it\n"
               "can never fit: trim), 429 server_busy (try again: Retry-After).  An answer has the tokens that the\n"
               "request asks for, else -n or %d; where /v1/messages or Ollama's ask for more than the context\n"
               "leaves, what it leaves.  A client that leaves gives its memory back at once.\n"
               "\n", SERVE_ANSWER);
    buf_puts(out,
             "FLAGS are plimsoll's own (plimsoll --help): --parallel says how many requests run at once (8), --ctx\n"
             "how many tokens each may have, --pool, --vram and --fit what memory there is; -n, --temp, --seed and\n"
             "their like are for requests that say nothing of it.  Nothing is saved.\n");
}

static int take_port(const char *text, int *out, struct err *err)
{
    char *end = NULL;
    long n = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    if (!end || *end || n < 0 || n > 65535)
        return err_set(err, -1, "--port: \"%.60s\" is not a whole number from 0 to 65535", text ? text : "");
    *out = (int)n;
    return 0;
}

static bool is_in_name(char c) { return c > ' ' && c < 0x7f && c != '"'; }

static int take_alias(const char *text, const char **out, struct err *err)
{
    size_t n = 0;
    while (is_in_name(text[n])) n++;
    *out = text;
    if (!text[n] && n < SERVE_MODEL) return 0;
    return err_set(err, -1, "--alias: \"%.60s\" is no name of at most %d letters, digits and signs, without blanks or "
                   "quotes", text, SERVE_MODEL - 1);
}

static bool is_one_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

static int refuse_flag(const struct opts *o, const char *name, struct err *err)
{
    struct buf whence = {0};
    opts_whence(o, name, &whence);
    err_set(err, -1, "plimsoll serve answers what its clients ask: %s does not go with it%s", name,
            whence.data ? whence.data : "");
    buf_free(&whence);
    return -1;
}

/* Flags that would do nothing are refused; in a configuration file they are for other faces.  Some would spoil what
 * clients get, wherever they come from. */
static int check_serve(const struct opts *o, struct err *err)
{
    static const char *const goes[] = {
        "--model", "--max-tokens", "--ctx", "--vram", "--fit", "--pool", "--overcommit", "--park", "--parallel",
        "--template", "--reasoning", "--thinking", "--no-thinking",
        "--temp", "--top-k", "--top-p", "--min-p", "--repeat-penalty",
        "--frequency-penalty", "--presence-penalty", "--logit-bias", "--stop", "--seed", "--threads", "--isa",
        "--backend", "--device", "--exact", "--fast", "--draft", "--no-draft", "--kv-type", "--no-pin", "--engine",
        "--script-file",
        "--no-save", "--config", "--no-config", NULL,
    };
    static const char *const never[] = {"--json", "--trace", "--naive", "--unguarded", "--answers", "--tools", NULL};
    for (int i = 0; i < o->n_said; i++) {
        const char *name = o->said[i].row->name;
        const bool by_flag = o->said[i].from == OPTS_FLAG;
        if ((by_flag && !is_one_of(name, goes)) || is_one_of(name, never))
            return refuse_flag(o, name, err);
    }
    return 0;
}

/* One of our own flags, with its value. */
static int take_own(struct opts *o, const char *flag, const char *value, struct err *err)
{
    if (strcmp(flag, "--port") == 0) return take_port(value, &o->serve_port, err);
    if (!value || !*value) return err_set(err, -1, "%s needs a value", flag);
    if (strcmp(flag, "--alias") == 0) return take_alias(value, &o->serve_alias, err);
    if (strcmp(flag, "--host") == 0) o->serve_host = value;
    else o->serve_key_file = value;
    return 0;
}

int serve_opts(struct opts *o, int argc, char *const *argv, struct err *err)
{
    static const char *const own[] = {"--host", "--port", "--key-file", "--alias"};
    struct opts said = {.serve_host = "127.0.0.1", .serve_port = SERVE_PORT};
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int n = 0, bad = rest ? 0 : err_set(err, -1, "no memory for the options");
    for (int i = 0; i < argc && !bad; i++) {
        bool is_own = false;
        for (size_t k = 0; k < COUNT_OF(own); k++) is_own |= strcmp(argv[i], own[k]) == 0;
        if (is_own) bad = take_own(&said, argv[i], i + 1 < argc ? argv[i + 1] : NULL, err);
        else if (i != 1) rest[n++] = argv[i];
        i += is_own;
    }
    if (!bad) bad = opts_parse(o, n, rest, NULL, err);
    else *o = (struct opts){.plain = true};
    if (!bad && !o->help && !o->version && !o->help_events && !o->help_crew) bad = check_serve(o, err);
    free(rest);
    o->argc = argc;
    o->argv = argv;
    o->serve = true;
    o->serve_host = said.serve_host;
    o->serve_port = said.serve_port;
    o->serve_key_file = said.serve_key_file;
    o->serve_alias = said.serve_alias;
    o->no_save = o->script = true; /* nothing of it is kept, and nobody is asked */
    return bad;
}

/* ---------------------------------------------------------------- opening */

/* "/models/qwen2.5-0.5b-instruct-q8_0.gguf" is "qwen2.5-0.5b-instruct-q8_0", if it has no other name. */
static void name_model(struct serve *s)
{
    const char *path = s->a->o->model, *slash = strrchr(path, '/');
    const char *name = s->a->o->embedded ? "plimsoll-tiny" : slash ? slash + 1 : path;
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".gguf") == 0) n -= 5;
    if (s->a->o->serve_alias) name = s->a->o->serve_alias, n = strlen(name);
    for (size_t i = 0; i < n && i + 1 < sizeof s->model_id; i++) s->model_id[i] = is_in_name(name[i]) ? name[i] : '_';
    s->model.id = *s->model_id ? s->model_id : "model";
}

static int open_serve(struct serve *s, struct err *err)
{
    static const struct http_ops ops = {serve_wants, serve_ask, serve_more, serve_left, serve_gone};
    struct app *a = s->a;
    const size_t limit = MAX((size_t)SERVE_BODY_LEAST, (size_t)a->info->ctx * SERVE_BODY_TOKEN);
    struct http_config cfg = {.host = a->o->serve_host, .port = a->o->serve_port, .connections = SERVE_CONNECTIONS,
                              .bodies_limit = SERVE_BODIES * MAX(limit, (size_t)SERVE_BODY_TEXTS),
                              .silent_s = SERVE_SILENT, .whole_s = SERVE_PATIENCE, .ops = &ops, .self = s};
    s->body_limit = limit;
    if (getrandom(&s->secret, sizeof s->secret, 0) != (ssize_t)sizeof s->secret)
        return err_set(err, EXIT_INTERNAL, "no random numbers for ids: %s", strerror(errno));
    if (a->o->serve_key_file && key_file_read("--key-file", a->o->serve_key_file, &s->key, err)) return err->code;
    name_model(s);
    s->opened = time(NULL);
    s->model.calls = turn_calls(a);
    s->model.retells = turn_retells(a);
    s->model.effort = a->effort;
    s->model.thinks = a->info->thinks || s->model.calls == FORM_CALLS_HARMONY;
    s->model.thinking = turn_thinking(a);
    s->model.embedded = a->o->embedded;
    s->model.vocab = a->ops->vocab(a->engine);
    s->model.sampling = a->sampling;
    s->model.stop = a->o->stop;
    s->model.n_stop = a->o->n_stop;
    s->model.ctx = a->info->ctx;
    serve_file_look(s);
    s->http = http_open(&cfg, err);
    if (!s->http) return EXIT_USAGE;
    if (http_is_local(s->http) || s->key.len > 0) return EXIT_DONE;
    return err_set(err, EXIT_USAGE, "--host %.100s can be reached from other machines: give a key that clients must "
                   "send, with --key-file", a->o->serve_host);
}

/* The address goes to stdout, alone: a program that chose --port 0 reads it there. */
static void say_open(struct serve *s)
{
    const struct engine_info *i = s->a->info;
    const bool six = strchr(http_host(s->http), ':') != NULL;
    struct buf at = {0};
    buf_printf(&at, "http://%s%s%s:%d/v1\n", six ? "[" : "", http_host(s->http), six ? "]" : "", http_port(s->http));
    if (at.data) out_put(&s->a->answers, at.data, at.len);
    buf_free(&at);
    say("serving %s%s: %d requests at once, each with up to %d tokens; Ctrl-C ends it", s->model.id,
        s->key.len > 0 ? ", to who has the key" : "", i->max_seqs, i->ctx);
}

/* ---------------------------------------------------------------- the loop */

/* After a pass, and now and then: who has something new? */
static void look_at_jobs(struct serve *s)
{
    double now = progress_clock();
    for (struct job *j = s->jobs, *next; j; j = next) {
        next = j->next;
        if (j->vectors) serve_vectors_look(j);
        if (j->ask) serve_go_on(j);
        if (!j->ans) continue;
        size_t len = atomic_load_explicit(&j->ans->text_len, memory_order_acquire);
        if (j->begun == 0 && atomic_load(&j->ans->n_prefilled) > 0) j->begun = MAX(j->start, s->passed);
        if (j->first == 0 && atomic_load(&j->ans->n_tokens) > 0) j->first = now;
        if (j->ended == 0 && serve_ended(j)) j->ended = now;
        if (!j->stream && serve_ended(j)) serve_say_whole(j);
        else if (j->stream && (serve_ended(j) || len != j->seen || now - j->said > SERVE_ALIVE)) http_wake(j->call);
        j->seen = len;
    }
    s->passed = now;
}

/* Requests that a failing engine left without an end: each is told. */
static void end_all(struct serve *s)
{
    struct api_error over;
    serve_shutting_down(&over);
    for (struct job *j = s->jobs; j; j = j->next) {
        if (j->vectors) serve_vectors_cancel(j);
        if (j->ask) serve_fail(j, &over); /* more of it was to come */
        if (j->ans && !serve_ended(j)) s->a->ops->cancel(s->a->engine, j->id);
    }
    look_at_jobs(s);
}

/* The engine has something to do.  What has ended may wait long for a client that reads slowly. */
static bool works(const struct serve *s)
{
    for (const struct job *j = s->jobs; j; j = j->next)
        if (j->vectors ? serve_vectors_work(j) : j->ans && !serve_ended(j)) return true;
    return false;
}

static void step(struct serve *s)
{
    struct err err = {0};
    if (!works(s)) {
        look_at_jobs(s);
        return;
    }
    int n = app_step(s->a, &err);
    if (n < 0) say_error("%s", err.text);
    s->faults = n < 0 ? s->faults + 1 : 0;
    if (n == 0 || s->faults >= FAULTS) end_all(s);
    else look_at_jobs(s);
}

/* What is under way is told that it ends, and gets a moment to hear it. */
static void say_goodbye(struct serve *s)
{
    const double until = progress_clock() + GOODBYE;
    end_all(s);
    while (http_calls(s->http) > 0 && progress_clock() < until) http_wait(s->http, 20, -1);
}

int serve_run(struct app *a)
{
    struct serve s = {.a = a};
    struct err err = {0};
    say_never_waits();
    int status = open_serve(&s, &err);
    if (status != EXIT_DONE) {
        app_error(a, "open", err.text);
    } else {
        say_open(&s);
        while (!signals_pending()) {
            http_wait(s.http, works(&s) ? 0 : IDLE_MS, signals_fd());
            step(&s);
        }
        say_goodbye(&s);
        status = 128 + signals_pending();
    }
    http_close(s.http);
    serve_kept_free(&s);
    serve_file_free(&s);
    buf_free(&s.key);
    return status;
}
